"""Capture filter: drops events of pauses, ignored sessions, and projects or session kinds that settings exclude.

Hooks look by themselves whether they are to be silent (docs/spool.md). What they kept all the same, and what
transcripts tell, is asked here before anything of it reaches the store: `mnemic.actors.capture.drain` and
`mnemic.actors.capture.transcripts` stand above. What somebody hands over himself is asked for the settings alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from mnemic.actors.capture.changes import SetSessionMode
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import Setting
from mnemic.actors.kernel.errors import CapturePaused, LeftOut
from mnemic.actors.kernel.events import Event, HookRecord, escape_surrogates
from mnemic.actors.kernel.ports import PauseSpan
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.kernel.snapshot import SnapshotSource
from mnemic.actors.kernel.times import to_iso

SessionMode = Literal["", "headless", "subagent"]

SETTINGS = (
    Setting(
        "capture.allow",
        (),
        "patterns",
        "Only these projects are captured, by scope or by folder (docs/pause.md); empty is all.",
    ),
    Setting("capture.deny", (), "patterns", "These projects are not captured; they win over those allowed."),
    Setting(
        "capture.leave_out",
        (),
        "-",
        "Kinds of session that are not captured: headless (nobody sits in front of it), subagents.",
        choices=("headless", "subagents"),
    ),
)
"""What a user may say of it."""


def is_paused_at(spans: Iterable[PauseSpan], at: int) -> bool:
    """Whether a moment, in microseconds, lies in a pause; each is half-open."""
    return any(since <= at and (until is None or at < until) for since, until in spans)


def session_mode(event: Event) -> SessionMode:
    """How the session of an event is held; a headless session's subagent is a subagent."""
    return "subagent" if event.subagent else "headless" if event.headless else ""


def root_session(session: str) -> str:
    """The conversation that a session belongs to: a subagent's is ``<session>/<agent>``."""
    return session.partition("/")[0]


def session_mode_changes(events: Iterable[Event]) -> list[Change]:
    """What says how the sessions of these events are held, each once; nothing where somebody sits in front of it."""
    found = {(event.assistant, event.session): mode for event in events if (mode := session_mode(event))}
    return [
        SetSessionMode(assistant=str(escape_surrogates(assistant)), session=str(escape_surrogates(session)), mode=mode)
        for (assistant, session), mode in found.items()
    ]


def describe_rules(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What the settings leave out, a phrase each."""
    allow, deny, kinds = (settings[f"capture.{name}"] for name in ("allow", "deny", "leave_out"))
    told = [f"all projects but {', '.join(allow)}"] if allow else []
    told += [f"the projects {', '.join(deny)}"] if deny else []
    names = {"headless": "headless sessions", "subagents": "sessions of subagents"}
    return (*told, *(names[kind] for kind in kinds))


class CaptureFilter:
    """Says what is left out. Call `begin` at the start of each message: what it looks at may have changed since."""

    def __init__(
        self,
        snapshots: SnapshotSource,
        pauses: Callable[[], Sequence[PauseSpan]],
        is_ignored_folder: Callable[[str | None], bool],
        is_allowed: Callable[[Sequence[str], Sequence[str]], bool],
        settings: Mapping[str, Any],
    ) -> None:
        """Leave nothing out yet.

        Args:
            pauses: reads all pauses of the mind, or raises `PausesUnreadable`; not asked before it matters.
            is_ignored_folder: whether the project of a folder has asked that nothing of it be remembered by itself.
            is_allowed: whether the settings let a project in, by its scopes and by its folders.
            settings: those in force.
        """
        self._snapshots = snapshots
        self._pauses = pauses
        self._is_ignored_folder = is_ignored_folder
        self._is_allowed = is_allowed
        self._kinds = frozenset(settings["capture.leave_out"])
        self._names_projects = bool(settings["capture.allow"] or settings["capture.deny"])
        self.rule_texts = describe_rules(settings)
        """What the settings leave out, a phrase each."""
        self._spans: tuple[PauseSpan, ...] | None = None  # not read yet
        self._projects: dict[tuple[ScopeRef | str, str | None], bool] = {}
        self._sessions: dict[tuple[str, str], bool] = {}

    def clear_cache(self) -> None:
        """Look anew."""
        self._spans = None
        self._projects.clear()
        self._sessions.clear()

    def is_paused(self, at: int) -> bool:
        """Whether the memory was paused at a moment.

        Raises:
            PausesUnreadable: nobody can tell.
        """
        return is_paused_at(self._known_pauses(), at)

    def _known_pauses(self) -> tuple[PauseSpan, ...]:
        if self._spans is None:
            self._spans = tuple(self._pauses())
        return self._spans

    def excludes_session_kind(self, event: Event) -> bool:
        """Whether the settings leave out such sessions."""
        return (event.headless and "headless" in self._kinds) or (event.subagent and "subagents" in self._kinds)

    def excludes_project(self, place: ScopeRef | str, folder: str | None) -> bool:
        """Whether the settings leave out a project.

        Args:
            place: where it belongs; a text where that cannot be told, and only the folder counts.
            folder: the folder, where one is known.
        """
        if not self._names_projects:
            return False
        known = self._projects.get((place, folder))
        if known is None:
            known = self._projects[place, folder] = not self._is_allowed(*self._project_names(place, folder))
        return known

    def check_allowed(self, places: Sequence[tuple[ScopeRef, str | None]], now: int) -> None:
        """Refuse what an assistant hands over itself, where it would not be captured either.

        Args:
            places: where it goes, and where the assistant works: each with its folder, where one is known.

        Raises:
            CapturePaused: the memory is paused.
            LeftOut: the settings leave the project out.
            PausesUnreadable: nobody can tell whether it is paused.
        """
        for since, until in self._known_pauses():
            if is_paused_at([(since, until)], now):
                raise CapturePaused(ends="" if until is None else f" until {to_iso(until // 1_000_000 * 1_000_000)}")
        for place, folder in places:
            if self.excludes_project(place, folder):
                raise LeftOut(scope=place.path)

    def excludes_record(self, record: HookRecord, place_of: Callable[[str | None], ScopeRef]) -> bool:
        """Whether nothing may be kept of what a hook kept, whatever it says.

        Args:
            place_of: finds where a folder belongs.
        """
        return self.is_paused(record.at) or (
            self._names_projects and self.excludes_project(place_of(record.cwd), record.cwd)
        )

    def excludes_transcript_event(
        self, event: Event, place: ScopeRef | str, at: int | None, *, by_itself: bool
    ) -> bool:
        """Whether what a transcript tells is left out.

        Args:
            at: when it happened, as far as the transcript says.
            by_itself: whether nobody asked for it.
        """
        if self.excludes_session_kind(event) or self.excludes_project(place, event.cwd):
            return True
        if not by_itself:
            return False
        return (
            (at is not None and self.is_paused(at))
            or self._is_ignored_folder(event.cwd)
            or self._is_ignored_session(event)
        )

    def _is_ignored_session(self, event: Event) -> bool:
        """Whether the session of an event was to be left alone."""
        name = str(escape_surrogates(event.assistant)), str(escape_surrogates(root_session(event.session)))
        known = self._sessions.get(name)
        if known is None:
            with self._snapshots.snapshot() as snapshot:
                known = self._sessions[name] = snapshot.is_session_ignored(*name)
        return known

    def _project_names(self, place: ScopeRef | str, folder: str | None) -> tuple[list[str], list[str]]:
        """The scopes and the folders that a project may be named by: a scope that was renamed has two names."""
        scopes: list[str] = []
        folders = [] if folder is None else [folder]
        if isinstance(place, ScopeRef):
            scopes.append(place.path)
            if place.project is not None:
                folders.append(place.project)
                with self._snapshots.snapshot() as snapshot:
                    named = snapshot.scope_path_of(place)
                scopes += [] if named is None or named == place.path else [named]
        return scopes, folders
