"""One call of an assistant by MCP: who asks, of which mind and project, and what they may be told.

Tools, resources and the prompt are functions of a `Call`; `mnemic.runtime.serve.mcp.tools` above lists them. Below is
`mnemic.runtime.serve.mcp.access`, with the rights.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import MindMissing, SwitchedOff, UnknownScope
from mnemic.actors.kernel.scope_paths import ScopeRef, Scopes, suggest_scopes
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.capture.allow_deny import Patterns
from mnemic.runtime.engine.reports import Progress
from mnemic.runtime.minds.projects import NO_SCOPE
from mnemic.runtime.serve.mcp.access import Access
from mnemic.runtime.serve.open_minds import OpenMinds
from mnemic.runtime.serve.server_control import ServerControl, run_in_thread

_CAPTURES = ("memory_capture",)
_TELLS_NOTHING = ("memory_forget", "memory_sleep", "memory_status", "status")
"""Tools and resources that tell no memory; all others are refused where recall is switched off."""
_UNKNOWN_SCOPE = "no memory is in this folder's project ({path}) yet"
"""The first time that the store can tell: no memory was said before it."""
_UNKNOWN_DEFAULT = (
    "no memory is in the project of mnemic serve's folder ({path}), which counts since this caller has named none"
    " (header Mnemic-Folder)"
)
_NO_FOLDER = "this caller has named no folder, and so no project"
_EVERYTHING = "scope='*' looks through everything"

T = TypeVar("T")


class Caller(NamedTuple):
    """Who asks."""

    mind: str = "default"
    """Name of the mind."""
    folder: str | None = None
    """Where the assistant works, if it is known: what finds the project."""
    session: str = "mcp"
    """Names what it captures."""
    switched_off: str = ""
    """What is switched off where it was started: ``capture``, ``recall``, ``both``, or nothing."""
    is_default_folder: bool = False
    """Whether it named no folder, so that the one in which `mnemic serve` was started counts."""
    wired: str = ""
    """The assistant that it was wired for, as ``hooks install`` names it; its rights are kept by that name."""


CURRENT_CALLER: ContextVar[Caller] = ContextVar("CALLER", default=Caller())  # noqa: B039 - it cannot be changed
"""Whose request this is; the SDK hands it on with each message."""


@dataclass
class Call:
    """One call, while its mind is open."""

    mind: Mind
    caller: Caller
    assistant: str
    """What the assistant calls itself."""
    clock: Clock
    started_s: float
    """When it came, by the clock's monotonic time."""
    progress: Progress | None
    """Told how far the work is, where somebody wants to know."""
    make_access: Callable[[Mind, Caller], Access]
    """Finds what a caller may do in a mind."""

    @cached_property
    def access(self) -> Access:
        """What the caller may do."""
        return self.make_access(self.mind, self.caller)

    @property
    def took_ms(self) -> float:
        """How long it has taken so far, milliseconds."""
        return 1e3 * (self.clock.monotonic_s() - self.started_s)

    @property
    def is_private(self) -> bool:
        """Whether nothing of the session is kept."""
        return self.caller.switched_off == "capture"

    @property
    def asking(self) -> dict[str, Any]:
        """Who asks, as `Mind.recall` and `Mind.shape` take it."""
        asking = {"assistant": self.assistant, "asking_session": self.caller.session, "private": self.is_private}
        return asking | {"progress": self.progress}

    def note_delivery(self, parts: Sequence[DeliveredSpan], *, named: bool = False) -> None:
        """Keep that the assistant was given memories, where it was given any; see `Mind.note_delivery`."""
        if parts:
            self.mind.note_delivery(self.assistant, self.caller.session, parts, named=named)

    def resolve_scope(self, named: str | list[str] | None) -> tuple[Scopes, str, str | None]:
        """The scope to look through, how it was found, and, where nothing is known of it, what to say.

        Raises:
            OwnersChoice: it is not for this caller.
        """
        if named is not None:
            self.access.check_question([named] if isinstance(named, str) else named)
            return named if isinstance(named, str) else tuple(named), "named", None
        folder = self.caller.folder
        path, place = (None, NO_SCOPE) if folder is None else self.mind.folder_scope(folder)
        if path is not None:
            return path, self.how_found(place), None
        return place.path, "unknown", self.unknown_scope(place)

    def how_found(self, place: ScopeRef) -> str:
        """How the scope of the caller's project was found."""
        return f"{place.found} (folder of mnemic serve)" if self.caller.is_default_folder else place.found

    def unknown_scope(self, place: ScopeRef) -> str:
        """What to say where nothing is known of the caller's project."""
        unknown = _UNKNOWN_DEFAULT if self.caller.is_default_folder else _UNKNOWN_SCOPE
        why = _NO_FOLDER if self.caller.folder is None else unknown.format(path=place.path or "none")
        return f"{why}; {_EVERYTHING}" if self.access.can_read("*") else why

    def without_others(self, error: UnknownScope) -> UnknownScope:
        """An error whose suggestion is no project of others: the name that is near may be one."""
        if self.access.can_read("*"):
            return error
        paths = (one.path for one in self.mind.scopes().scopes if self.access.can_read(one.path))
        near = suggest_scopes(error.operands["scope"], paths)
        remedy = f"{near}`memory_status` lists the scopes that you may read"
        return UnknownScope(scope=error.operands["scope"], near=near, remedy=remedy)


class Answerer:
    """Answers calls, each in a thread, while the mind of its caller is open."""

    def __init__(
        self,
        minds: OpenMinds,
        server_control: ServerControl,
        clock: Clock,
        setting: Callable[[str], Any],
        allowed: Callable[[str], Collection[str]],
    ) -> None:
        """Answer nobody yet.

        Args:
            setting: the value of one, as it is in force.
            allowed: the rights that an assistant of a name was given when it was wired.
        """
        self._clock = clock
        self._minds = minds
        self._server_control = server_control
        self._setting = setting
        self._allowed = allowed

    async def answer(
        self,
        name: str,
        verb: Callable[[Call], T],
        assistant: str,
        report: Callable[[int, int | None], Awaitable[None]] | None = None,
    ) -> T:
        """Answer the current caller.

        Args:
            name: of the tool, the resource or the prompt.
            verb: what it does.
            report: told how far it is.
        """
        caller, started_s = CURRENT_CALLER.get(), self._clock.monotonic_s()

        def held(progress: Progress | None) -> T:
            _check_switched_off(name, caller.switched_off)
            try:
                with self._server_control.track_request(name), self._minds.use(caller.mind, create=True) as mind:
                    call = Call(mind, caller, assistant, self._clock, started_s, progress, self._access)
                    try:
                        return verb(call)
                    except UnknownScope as error:
                        raise call.without_others(error) from None
            except MindMissing as error:  # what other minds are called is nothing for an assistant
                raise MindMissing(mind=caller.mind, home=error.operands["home"]) from None

        return await run_in_thread(held, report)

    def _access(self, mind: Mind, caller: Caller) -> Access:
        given = self._allowed(caller.wired) if caller.wired else ()
        return Access(
            cache(lambda: "" if caller.folder is None else mind.folder_scope(caller.folder)[0]),
            {*self._setting("mcp.allow"), *given},
            lambda scope: self._is_shared(mind, scope),
            lambda scope: any(one.path == scope for one in mind.scopes().scopes),
        )

    def _is_shared(self, mind: Mind, scope: str) -> bool:
        # A folder's name is its maker's choice: what fits a pattern by that alone is nothing the owner has shared.
        if scope == "*":  # which is no scope that a pattern could name
            return False
        return Patterns(self._setting("mcp.share")).matches([scope], []) and not any(
            one.path == scope and one.has_folder_name for one in mind.scopes().scopes
        )


def _check_switched_off(name: str, off: str) -> None:
    """Refuse what the user of a session has switched off.

    Raises:
        SwitchedOff: that is it.
    """
    if name in _CAPTURES and off in ("capture", "both"):
        raise SwitchedOff(what="nothing of it is captured")
    if name not in (*_CAPTURES, *_TELLS_NOTHING) and off in ("recall", "both"):
        raise SwitchedOff(what="nothing is told to it")
