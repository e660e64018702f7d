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
from typing import Any, Self

import msgspec

from mnemic.actors.brief.compose import with_notices
from mnemic.actors.protocol.ambient_messages import (
    Brief,
    Briefed,
    CaptureProgress,
    Drained,
    DrainSpool,
    GetCaptureProgress,
    Occasion,
    QuarantineRetried,
    Queued,
    QueueTranscripts,
    RetryQuarantined,
)
from mnemic.actors.protocol.capture.messages import CaptureTranscript, Forget, Forgotten, Recover
from mnemic.actors.protocol.changes import ScopeRef
from mnemic.actors.protocol.errors import ActorFailed, BadInput, MnemicError, ModelError, RuntimeFault, StoreError
from mnemic.actors.protocol.events import DOCUMENT_FORMATS
from mnemic.actors.protocol.knowledge.messages import UpdateFacts
from mnemic.actors.protocol.meaning.messages import DescribeEncoder, EmbedPending, EmbedProgress
from mnemic.actors.protocol.message import MemoryId, format_id, ids_bytes
from mnemic.actors.protocol.recall.messages import GetMemories, Memory
from mnemic.actors.protocol.scopes import normalize_scope_path
from mnemic.actors.protocol.shape.messages import BindPending, BindProgress, RetryBinding
from mnemic.actors.protocol.store.messages import Committed, Count, Counts, Rebuild
from mnemic.runtime.api.correct import CorrectionVerbs
from mnemic.runtime.api.erase import ErasureVerbs
from mnemic.runtime.api.lock import LockVerbs
from mnemic.runtime.api.reports import (
    CaptureReport,
    Status,
    capture_status,
    engine_problems,
    loss_sentence,
    unbound_warning,
)
from mnemic.runtime.api.sleep import SleepVerbs
from mnemic.runtime.api.transfer import TransferVerbs
from mnemic.runtime.api.verbs import Progress, fields_as_parameters
from mnemic.runtime.minds.homes import expand_home
from mnemic.runtime.minds.projects import PassedOver, resolve_scope
from mnemic.runtime.minds.run_dir import RunDir, settings_edited
from mnemic.runtime.version import __version__

_log = logging.getLogger("mnemic.runtime.api.mind")

DRAIN_LOCK = "drain.lock"
"""Held, in the folder where a home's processes meet, by the one that takes in what its hooks kept: two at once would
each count how often a text occurred, and not see what the other counts."""
DRAIN_TIMEOUT_S = 600.0
"""How long one part may take: it may be a single result of a tool, as long as there are any."""

_HOOK_DRAIN_S = 0.25  # a hook waits a second in all
_FAILURE_ANSWER_US = 80_000  # the hook waits for 100 ms, and what comes later nobody reads
_UPDATES_ANSWER_US = 20_000  # the hook waits for 30 ms, and what is told is kept before it is
_HOOK_ANSWER_US = 900_000  # every other hook waits for a second
_MAX_MALFORMED_LINES = 20  # all are counted
_NOT_NATIVE = "native code is not built: NumPy scans instead, slower"
_SETTINGS_EDITED = (
    "settings: mnemic.toml was edited, and process {0} works on with what it read before; kill -HUP {0} ends that"
)


def _answer_by(message: Brief, came_us: int | None) -> int | None:
    """Tell when a hook waits no longer; ``None`` where it is not known that one waits."""
    from mnemic.runtime.clock import SystemClock

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

    # --- verbs -------------------------------------------------------------------------------------------------------

    def capture(
        self,
        sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        format: str = "auto",
        scope: str | None = None,
        embed: bool = True,
        progress: Progress | None = None,
    ) -> CaptureReport:
        """Take in transcripts and notes: files, folders of them, or ``-`` for standard input. Twice is once.

        Args:
            format: ``auto``, or one of `mnemic.hooks.read.formats.FORMATS`: a host's, another program's, ``git``,
                ``jsonl``, ``markdown``, ``text``.
            scope: the scope they belong to; where absent, each event's own or its folder's project.
            embed: whether to wait until everything is found by meaning too; where nothing is new, a home's process is
                left to it.

        Returns the counts. A transcript that cannot be read, or at which an actor fails, is in `failed`, unless it is
        the only one.

        Raises:
            BadInput, ActorFailed: the scope is none, or the only source cannot be read.
            StoreError: what was committed before is kept.
        """
        if scope is not None:
            normalize_scope_path(scope)  # one that is none is said once, not of every file
        given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
        report = CaptureReport(malformed_lines=[], failed=[], scopes=[])
        paths: list[str] = []
        folders: list[str | None] = []
        for named in given:
            source = os.fspath(named)
            found_in, left = self._ports.find_sources(source, format)
            report.notes_left += left
            paths += found_in
            folders += [os.path.abspath(source) if os.path.isdir(source) else None] * len(found_in)
        sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]
        for number, path in enumerate(paths):

            def show(position: int, size: int | None, number: int = number) -> None:
                sizes[number] = size or sizes[number]
                if progress is not None:
                    progress("words", sum(sizes[:number]) + position, sum(sizes))

            try:
                self._capture_one(path, format, scope, folders[number], report, show)
            except (BadInput, ActorFailed) as error:
                if len(paths) == 1:
                    raise
                report.failed.append((path, str(error)))
        report.scopes = sorted(set(report.scopes))
        found = self._embed_new(report, progress) if embed else None
        if embed and (report.new or self._server_info() is None):  # not only what waits: the settings may have changed
            try:
                self.bind(progress)
            except (BadInput, RuntimeFault) as error:
                report.shape_error = f"{error} {error.remedy_text}"
            try:
                self._until_done(UpdateFacts(), "facts", progress)
            except (BadInput, RuntimeFault) as error:
                report.facts_error = f"{error} {error.remedy_text}"
        counts = self.counts()  # once: it takes the longer the larger the mind is
        found = found or EmbedProgress(done=counts.embedded, pending=counts.pending, partly=counts.partly)
        report.embedded, report.pending, report.partly = found.done, found.pending, found.partly
        report.bound, report.unbound, report.unread = counts.bound, counts.unbound, counts.unread
        return report

    def drain_spool(
        self, more: Callable[[], bool] = lambda: True, *, transcripts: bool = True, idle: bool = False
    ) -> Drained:
        """Take in what hooks kept, and transcripts that are due, until nothing is left. Twice is once.

        Args:
            more: asked before each bounded part, at most some hundred records long, whether there is time for it.
            transcripts: whether transcripts are taken too.
            idle: whether it is nobody's wish, as long as nothing comes.

        Returns the counts of all parts; `more` in it says whether something is left. Where another process takes in
        what this home's hooks kept at this moment, nothing is done.

        Raises:
            StoreError, RuntimeFault: what was taken in before is kept, and the rest comes again.
        """
        held = None
        if self._server_info() is None:
            meeting = RunDir(self._home)
            meeting.prepare()
            held = meeting.acquire_lock(DRAIN_LOCK)
            if held is None:
                return Drained()
        try:
            total = Drained(more=True)
            while total.more and more():
                part = self._ask(DrainSpool(transcripts=transcripts), DRAIN_TIMEOUT_S, idle=idle)
                counted = ("records", "new", "known", "quarantined", "left_out", "torn")
                sums = {name: getattr(total, name) + getattr(part, name) for name in counted}
                total = msgspec.structs.replace(part, **sums)
                idle = idle and not part.more
            return total
        finally:
            if held is not None:
                os.close(held)

    def drain_before_question(self, more: Callable[[], bool]) -> None:
        """Take in what hooks kept before a question is asked, where no process does; a trouble with it keeps no
        question from being answered, and is said in the answer. Where nothing can be written, nothing is taken in, and
        the answer says that.

        Args:
            more: as in `drain`.
        """
        if self._unwritable() is not None:
            return
        try:
            self.drain_spool(more, transcripts=False)
        except MnemicError as error:
            self._drain_warnings = [f"what hooks kept could not be taken in: {error} {error.remedy_text}"]

    def queue_transcripts(self, transcripts: Iterable[tuple[str | os.PathLike[str], str]]) -> Queued:
        """Have transcripts taken in, in the background, the newest first; those that were, and did not change, are not.

        Args:
            transcripts: each with the name of its format, as in `capture`.
        """
        paths = tuple((os.path.abspath(path), format) for path, format in transcripts)
        return self._ask(QueueTranscripts(paths=paths))

    def capture_progress(self) -> CaptureProgress:
        """What hooks kept: what of it was taken in, what could not be understood, which transcripts wait."""
        return self._ask(GetCaptureProgress(), idle=True)

    def retry_quarantined(self) -> QuarantineRetried:
        """Try again what could not be understood, and queue the transcripts that could not be read."""
        total = QuarantineRetried(readmitted=0, after=0, queued=0, more=True)
        while total.more:
            part = self._ask(RetryQuarantined(after=total.after))
            total = msgspec.structs.replace(part, readmitted=total.readmitted + part.readmitted)
        return total

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
        """Say what an assistant should know unasked; see `mnemic.actors.protocol.ambient_messages.Brief` for what each
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

    def embed(self, progress: Progress | None = None) -> EmbedProgress:
        """Wait until every memory is found by its meaning.

        Raises:
            ModelError: the model cannot be used.
        """
        return self._until_done(EmbedPending(), "meaning", progress)

    def bind(self, progress: Progress | None = None) -> BindProgress:
        """Wait until every memory is found by its shape; those that wait for their meaning first are not waited for."""
        return self._until_done(BindPending(), "shape", progress)

    def bind_before_question(self, more: Callable[[], bool]) -> None:
        """Bind what is to be bound before a question is asked by shape, where no process does.

        What is left then, or what goes wrong with it, is said in the answer.

        Args:
            more: asked before each bounded step whether there is time for it.
        """
        if self._server_info() is not None or self._unwritable() is not None:
            return
        try:
            while more():
                answer = self._ask(BindPending())
                if not answer.pending:
                    return
        except MnemicError as error:
            self._drain_warnings = [*self._drain_warnings, f"shape: {error} {error.remedy_text}"]

    def rebind_failed(self, progress: Progress | None = None) -> int:
        """Bind again the memories of which something could not be bound: what reads them may have been mended.

        Returns of how many that is so now.
        """
        self._ask(RetryBinding())
        self.bind(progress)
        return self.counts().unread

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

    def counts(self) -> Counts:
        """Count what is there."""
        return self._ask(Count())

    def status(self) -> Status:
        """What there is, and how it is."""
        from mnemic.runtime.api.views import usage_view
        from mnemic.runtime.clock import SystemClock

        counts = self._ask(Count(), idle=True)
        encoder = None
        degraded = [] if counts.scan != "numpy" else [_NOT_NATIVE]
        try:
            named = self._ask(DescribeEncoder(), idle=True)
            encoder = f"{named.encoder.implementation} {named.encoder.model[:12]}"
        except (ModelError, RuntimeFault) as error:
            degraded.append(f"meaning: {error} {error.remedy_text}")
        if counts.pending:
            degraded.append(f"meaning: {counts.pending} memories are found by their words only so far")
        unbound = counts.unbound - (counts.pending if encoder else 0)  # what waits for its meaning first was said
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
        degraded += [*([] if paused is None else [paused.sentence()]), *self._drain_warnings, *capture.warnings()]
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

    def embed_in_background(self) -> None:
        """Embed what waits in the background, after whoever asks meanwhile."""
        self.actor_system.tell(Committed(seq=self.counts().seq))

    # --- inside ------------------------------------------------------------------------------------------------------

    def _brief_after_drain(self, message: Brief) -> Briefed:
        from mnemic.runtime.clock import SystemClock

        clock = SystemClock()
        if message.occasion == "tool-failed" or message.updates_only:  # who asks waits for a moment alone
            return self._ask(message)
        until_s = clock.monotonic_s() + _HOOK_DRAIN_S
        try:
            self.drain_spool(lambda: clock.monotonic_s() < until_s, transcripts=False)
        except (StoreError, RuntimeFault) as error:  # it comes again; an assistant waits for what is known so far
            _log.warning("what hooks kept was not taken in: %s", error.code, extra={"code": error.code})
        return self._ask(message)

    def _capture_one(
        self,
        path: str,
        format: str,
        scope: str | None,
        folder: str | None,
        report: CaptureReport,
        show: Callable[[int, int | None], None],
    ) -> None:
        named, path = (
            path,
            path if path == "-" else os.path.abspath(path),
        )  # whoever reads it may work in another folder
        skip, done = 0, False
        while not done:
            taken = self._ask(CaptureTranscript(path=path, format=format, scope=scope, folder=folder, skip=skip))
            skip, done = taken.taken, taken.done
            report.new += taken.new
            report.known += taken.known
            report.differing += taken.differing
            report.elsewhere += taken.in_other_scope
            report.retired += taken.retired
            report.erased += taken.erased
            report.left_out += taken.left_out
            report.malformed += len(taken.malformed)
            room = _MAX_MALFORMED_LINES - len(report.malformed_lines)
            report.malformed_lines += [(named, line, why) for line, why in taken.malformed[:room]]
            for name, lines in taken.unknown_fields:
                report.unknown_fields[name] = report.unknown_fields.get(name, 0) + lines
            report.scopes += taken.scopes
            report.made_way |= {one.path: one.to for one in taken.made_way}
            show(taken.position_bytes, taken.size_bytes)
        report.files += 1
        report.documents += taken.format in DOCUMENT_FORMATS
        report.formats = sorted({*report.formats, taken.format})

    def _embed_new(self, report: CaptureReport, progress: Progress | None) -> EmbedProgress | None:
        """Wait for the meaning of what is new, or of what was left; ``None`` where nothing waits, or none can be."""
        if not report.new and (self._server_info() is not None or not self.counts().pending):
            return None  # what waits is somebody else's, and the process embeds it
        try:
            return self.embed(progress)
        except (ModelError, RuntimeFault) as error:
            report.meaning_error = f"{error} {error.remedy_text}"
            return None
