"""The Python API: a `Mind` with all verbs, over actors in this process or in the server process.

Every verb is a message to an actor, by way of the actor system: the actors in this process (`mnemic.compose`), or those
in the home's process, found by `mnemic.runtime.client.client`. Nothing heavy is imported here, for the second way's
sake.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from mnemic.actors.brief.compose import with_notices
from mnemic.actors.brief.messages import Brief, Briefed, Occasion
from mnemic.actors.capture.forget_messages import Forget, Forgotten, Recover
from mnemic.actors.kernel.errors import InvalidValue, MnemicError, ModelError, ModelOff, RuntimeFault, StoreError
from mnemic.actors.kernel.message import MemoryId, format_id, ids_bytes
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.meaning.messages import MODEL_OFF, DescribeEncoder
from mnemic.actors.recall.messages import GetMemories, Memory
from mnemic.actors.store.messages import Count, Rebuild
from mnemic.runtime.api.correct import CorrectionVerbs
from mnemic.runtime.api.erase import ErasureVerbs
from mnemic.runtime.api.lock import LockVerbs
from mnemic.runtime.api.reports import Status, capture_status, engine_problems, loss_sentence, unbound_warning
from mnemic.runtime.api.sleep import SleepVerbs
from mnemic.runtime.api.transfer import TransferVerbs
from mnemic.runtime.api.verbs import Progress, fields_as_parameters
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import expand_home
from mnemic.runtime.minds.projects import PassedOver, resolve_scope
from mnemic.runtime.minds.run_dir import settings_edited
from mnemic.runtime.version import __version__

_log = logging.getLogger("mnemic.runtime.api.mind")

_HOOK_DRAIN_S = 0.25  # a hook waits a second in all
_FAILURE_ANSWER_US = 80_000  # the hook waits for 100 ms, and what comes later nobody reads
_UPDATES_ANSWER_US = 20_000  # the hook waits for 30 ms, and what is told is kept before it is
_HOOK_ANSWER_US = 900_000  # every other hook waits for a second
_NOT_NATIVE = "native code is not built: NumPy scans instead, slower"
_SETTINGS_EDITED = (
    "settings: mnemic.toml was edited, and process {0} works on with what it read before; kill -HUP {0} ends that"
)


def _answer_by(message: Brief, came_us: int | None) -> int | None:
    """Tell when a hook waits no longer; ``None`` where it is not known that one waits."""
    since_us = SystemClock().now_us() if came_us is None else came_us
    if message.updates_only:
        return since_us + _UPDATES_ANSWER_US
    if message.occasion == "tool-failed":
        return since_us + _FAILURE_ANSWER_US
    return None if came_us is None else since_us + _HOOK_ANSWER_US


class Mind(SleepVerbs, CorrectionVerbs, ErasureVerbs, TransferVerbs, LockVerbs):
    """One memory, open. Close it, or use it in a ``with`` block."""

    def close(self) -> None:
        """Let go of it; what was acknowledged is kept, and what waits to be embedded is taken up the next time."""
        self.actor_system.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def get(self, ids: Iterable[MemoryId]) -> tuple[Memory, ...]:
        """Give memories whole, in the order asked for.

        Args:
            ids: of each the 16 bytes, the UUID or its text, here as in every verb.

        Raises:
            NoSuchMemory: one of them is not there.
            InvalidValue: one of them is no id.
        """
        answer = self._ask(GetMemories(ids=ids_bytes(ids)))
        return answer.memories

    def forget(self, ids: Iterable[MemoryId], reason: str = "") -> Forgotten:
        """Hide memories from recall from now on, all or none. Nothing is lost: `recover` takes it back.

        Args:
            reason: why, kept with them.

        Raises:
            NoSuchMemory: one of them is not there; none was forgotten.
            InvalidValue: none is named, one is no id, or the reason is too long.
        """
        return self._ask(Forget(ids=ids_bytes(ids), reason=reason))

    def recover(self, ids: Iterable[MemoryId]) -> Forgotten:
        """Take back that memories were forgotten, all or none: they are as if it had never been said.

        Raises:
            NoSuchMemory: one of them is not there; nothing was changed.
            InvalidValue: none is named, or one is no id.
        """
        return self._ask(Recover(ids=ids_bytes(ids)))

    def undo_command(self, ids: Iterable[MemoryId]) -> str:
        """The command that takes back that memories were forgotten, whichever home the shell is set to."""
        return self.command("forget", "--undo", *(str(format_id(one)) for one in ids_bytes(ids)))

    def folder_scope(self, folder: str, passed_over: PassedOver | None = None) -> tuple[str | None, ScopeRef]:
        """The scope of a folder's project: its path, if anything was captured there, and how it was found.

        Args:
            passed_over: told of the nearest ``.mnemic.toml`` that its owner did not confirm, and that says nothing so.
        """
        place = self.folder_place(folder, passed_over)
        return self._find_scope_path(place), place

    def folder_place(self, folder: str, passed_over: PassedOver | None = None) -> ScopeRef:
        """What a folder's project is, whether anything is known of it or not; `passed_over` as in `folder_scope`."""
        return self._resolve_scope(None, folder, passed_over=passed_over)

    def _resolve_scope(self, scope: str | None, folder: str | None, **more: Any) -> ScopeRef:
        def is_project(project: str) -> bool:
            return self._find_scope_path(ScopeRef(path="", project=project, found="git")) is not None

        return resolve_scope(scope, folder, home=self._home, is_project=is_project, **more)

    @fields_as_parameters(Brief, "place", "notices")
    def brief(self, occasion: Occasion = "session-start", *, scope: ScopeRef | str, **asked: Any) -> Briefed:
        """Say what an assistant should know unasked; see `mnemic.actors.brief.messages.Brief` for what each
        argument means.

        Args:
            scope: where it works; a project that is not known has nothing to tell.

        Raises:
            InvalidValue: the scope is none.
        """
        place = scope if isinstance(scope, ScopeRef) else resolve_scope(scope, None)
        return self._ask(Brief(occasion=occasion, place=place, **asked))

    def hook_reply(
        self,
        assistant: str,
        event: str,
        cwd: str | None,
        payload: bytes,
        unkept: bool = False,
        updates_only: bool = False,
        came_us: int | None = None,
    ) -> bytes:
        """What a hook is to print: what the assistant should know now, as its host takes it.

        What hooks have kept by now is taken in first, as far as that is quick: a session may have ended just now.

        Args:
            assistant: the host, as its hooks are wired.
            event: what its adapter calls the event.
            cwd: the folder it works in.
            payload: what the host gave the hook, byte for byte.
            unkept: whether the session's shell has switched the capture off.
            updates_only: whether a prompt is told nothing but what replaced something that its session was told.
            came_us: when a hook asked, microseconds: it waits for a moment alone. Absent, a session's start has time.
        """

        def tell(message: Brief) -> Briefed:
            return self._brief_after_drain(msgspec.structs.replace(message, answer_by=_answer_by(message, came_us)))

        told_first = self._notices(unkept=unkept)
        given = (assistant, event, cwd, payload, self._resolve_scope, tell, told_first)
        return self._ports.hook_reply(*given, updates_only)

    def session_briefing(self, place: ScopeRef, *, assistant: str, session: str, unkept: bool = False) -> Briefed:
        """What an assistant without hooks is told when its user asks for it: all that a session's start hook tells.

        Args:
            place: where it works.
            unkept: whether the session's shell has switched the capture off.
        """
        notices = self._notices(unkept=unkept)
        asked = Brief(place=place, assistant=assistant, session=session, repeat=True, notices=notices)
        briefed = self._brief_after_drain(asked)
        text = with_notices(briefed.text, notices)  # where nothing else is told, they are
        return msgspec.structs.replace(briefed, text=text)

    def rebuild(self, *, meaning: bool = False, progress: Callable[[int, int | None], None] | None = None) -> int:
        """Make what is derived again from the log; with `meaning`, vectors too. Returns the store's number."""
        answer = self._ask(Rebuild(meaning=meaning), timeout_s=24 * 3600.0, progress=progress)
        return answer.seq

    def fork(self, home: str | os.PathLike[str], mind: str = "default", *, at_seq: int | None = None) -> None:
        """Copy this mind, as it was after transaction `at_seq`, into another home or under another name.

        Raises:
            MindLocked: this object was not told the passphrase of the mind, and nobody is there to ask.
            MindExists, InvalidValue, StoreError: nothing was made.
        """
        from mnemic.runtime.minds.ask_passphrase import keys_for  # here: it loads SQLite
        from mnemic.runtime.minds.homes import fork_mind
        from mnemic.runtime.store.store import Store

        folder, keys = keys_for(self._home, self._name, passphrase=self._passphrase)
        store = Store.open(folder.store, keys)
        try:
            fork_mind(store, folder, keys, expand_home(Path(home)), mind, at_seq)
        finally:
            store.close()

    def status(self) -> Status:
        """What there is, and how it is."""
        from mnemic.runtime.api.views import usage_view

        counts = self._ask(Count(), idle=True)
        encoder = None
        degraded = [] if counts.scan != "numpy" else [_NOT_NATIVE]
        try:
            named = self._ask(DescribeEncoder(), idle=True)
            encoder = f"{named.encoder.implementation} {named.encoder.model[:12]}"
        except ModelOff:
            encoder = MODEL_OFF
        except (ModelError, RuntimeFault) as error:
            degraded.append(f"meaning: {error} {error.remedy_text}")
        if counts.pending and encoder != MODEL_OFF:
            degraded.append(f"meaning: {counts.pending} memories are found by their words only so far")
        awaited = counts.pending if encoder not in (None, MODEL_OFF) else 0  # what waits for its meaning first was said
        unbound = counts.unbound - awaited
        if unbound > 0:
            degraded.append(f"shape: {unbound} memories wait to be bound as they are now")
        if counts.unread:
            degraded.append(f"shape: {unbound_warning(counts.unread)}")
        degraded += [f"store: {loss_sentence(one)}; `mnemic doctor` says what to do" for one in counts.lost]
        report = self.actor_system.report()
        degraded += [f"store: nothing new is kept: {report.log_damage}"] if report.log_damage else []
        degraded += [f"{actor.actor} was set aside: {actor.cause}" for actor in report.actors if actor.quarantined]
        process = self._server_info()
        if process is None:
            degraded += engine_problems(self._home)
        else:
            degraded += process["degraded"]
            if not process["degraded"] and settings_edited(process.get("settings", ""), self._home):
                degraded.append(_SETTINGS_EDITED.format(process["pid"]))
        folder = self._home / "minds" / self._name
        now_us = SystemClock().now_us()  # hooks have no other clock
        capture = capture_status(folder / "spool", self.capture_progress(), now_us)
        paused = self.paused()
        degraded += [*([] if paused is None else [paused.sentence()]), *self._warnings.values(), *capture.warnings()]
        unwritable = self._unwritable()
        degraded += [] if unwritable is None else [f"store: nothing new is kept: {unwritable}"]
        files = folder.glob("store.db*")
        return Status(
            home=str(self._home),
            mind=self._name,
            version=__version__,
            counts=counts,
            use=usage_view(self.use()),
            store_bytes=sum(file.stat().st_size for file in files),
            encoder=encoder,
            instructions=None if counts.scan == "numpy" else counts.scan.removeprefix("native-"),
            paused=None if paused is None else paused.view(),
            capture=capture,
            actor_system=report,
            process=process,
            degraded=degraded,
        )

    def status_view(self) -> dict[str, Any]:
        """`status` as JSON, for an assistant: it pays for every word, so projects are not told week by week."""
        view = msgspec.to_builtins(self.status())
        assert isinstance(view, dict)
        for project in view["use"]["projects"]:
            del project["weeks"]
        return view

    def catch_up(
        self,
        what: Literal["spool", "shape", "communities", "facts"],
        more: Callable[[], bool],
        progress: Progress | None = None,
    ) -> list[str]:
        """Do what waits before a question is asked, unless nothing can be written.

        What goes wrong keeps no question from being answered: its answer says it.

        Args:
            what: what to do; ``spool`` takes in what hooks kept, and ``shape`` is left to the home's process if any.
            more: asked before each bounded step whether there is time for it.

        Returns what went wrong, a sentence, or nothing.
        """
        if self._unwritable() is not None:
            return []
        try:
            if what == "spool":
                self.drain_spool(more, transcripts=False)
            elif what == "communities":
                self.update_communities("asked", progress, more)
            elif what == "facts":
                self.update_facts(progress, more)
            elif what != "shape":
                raise InvalidValue(
                    name="what to catch up with",
                    value=what,
                    why="there is none of that name",
                    expected="spool, shape, communities or facts",
                )
            elif self._server_info() is None and more():
                self.bind(progress, more)
        except InvalidValue:
            raise
        except MnemicError as error:
            named = "what hooks kept could not be taken in" if what == "spool" else what
            sentence = f"{named}: {error} {error.remedy_text}"
            if what != "facts":  # which recalls do not need
                self._warnings[what] = sentence
            return [sentence]
        self._warnings.pop(what, None)
        return []

    def _brief_after_drain(self, message: Brief) -> Briefed:
        clock = SystemClock()
        if message.occasion == "tool-failed" or message.updates_only:  # who asks waits for a moment alone
            return self._ask(message)
        until_s = clock.monotonic_s() + _HOOK_DRAIN_S
        try:
            self.drain_spool(lambda: clock.monotonic_s() < until_s, transcripts=False)
        except (StoreError, RuntimeFault) as error:  # it comes again; an assistant waits for what is known so far
            _log.warning("what hooks kept was not taken in: %s", error.code, extra={"code": error.code})
        return self._ask(message)
