"""Messages of the consolidator, and of the nights that it left: have one, list them, show one, take some back.

What a night derives is in
`mnemic.actors.sleep.changes`.
"""

from __future__ import annotations

import msgspec

from mnemic.actors.kernel.events import to_text
from mnemic.actors.kernel.message import Id, Message, Text, Time, Verb
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.sleep.changes import DigestKind, NightReason, StageReport


class Sleep(Verb["NightReport"], frozen=True, kw_only=True):
    """Consolidate while nobody asks for anything, for a bounded while. While its report says that it is not finished
    and time is left, the same night is asked for again: for more of it, and for a report of all of it so far. So
    `Preempt` comes through.
    """

    run: str
    """Name of the night; what is written in it carries it."""
    seed: bytes = b""
    """What chance depends on this night, 32 bytes; it follows from the mind's seed and the store's number."""
    budget_s: float
    """At most so long, seconds."""
    reason: NightReason = "idle"
    """Why it is had."""
    stages: tuple[str, ...] = ()
    """These stages alone; empty for those that the settings name."""
    dry_run: bool = False
    """Whether it says what it would change, and changes nothing."""
    again: bool = False
    """Whether it derives anew what was taken back, though nothing was captured since."""


class Preempt(Message, frozen=True, kw_only=True):
    """Somebody asks for something: finish the step and stop."""

    run: str
    """The night that is to end."""


class NightReport(Message, frozen=True, kw_only=True):
    """Answer to `Sleep`: what the night did so far."""

    run: str
    """The night."""
    steps: tuple[str, ...]
    """Stages that changed something, in order, by name."""
    changes: int
    """How many changes it made."""
    finished: bool
    """Whether nothing is left to do until something new is captured."""
    stages: tuple[StageReport, ...] = ()
    """What each stage did, in order; of those that the night has not come to, nothing."""
    behind: int = 0
    """How much is left of the stage it is in."""
    ended: bool = False
    """Whether its time was used up."""
    number: int | None = None
    """Its number among nights; absent as long as it derived nothing."""


class ListNights(Verb["NightsListed"], frozen=True, kw_only=True):
    """List the nights that changed something, the newest first."""

    k: int = 30
    """At most so many."""


class NightView(Message, frozen=True, kw_only=True):
    """A night as it is listed."""

    id: int
    """Its number, from 1."""
    run: str
    """Its name."""
    at: Time
    """When it began."""
    reason: str
    """Why it began: ``idle`` where nobody wanted anything, ``asked`` where its owner did."""
    ended_at: Time | None
    """When it ended; absent where it was broken off."""
    why: str
    """Why it ended: ``finished``, ``time``, ``woken``, ``failed``; empty where it was broken off."""
    undone_at: Time | None
    """When it was taken back, if it was."""
    stages: tuple[StageReport, ...]
    """What each stage did."""


class NightsListed(Message, frozen=True, kw_only=True):
    """Answer to `ListNights`."""

    nights: tuple[NightView, ...]
    """The newest first."""


class ShowNight(Verb["NightShown"], frozen=True, kw_only=True):
    """Show what a night changed, each change in words."""

    id: int
    """Its number."""
    k: int = 200
    """At most so many changes."""


class NightChange(Message, frozen=True, kw_only=True):
    """One item that a night made, or that made way at it."""

    stage: str
    """The stage."""
    what: str
    """What it is of, in words."""
    did: str
    """``made``, ``changed`` or ``ended``."""
    quotes: tuple[str, ...]
    """The most telling of what it points to, three at most: how the stretches begin, in the words of memories."""
    sources: int
    """How many stretches it points to."""


class NightShown(Message, frozen=True, kw_only=True):
    """Answer to `ShowNight`."""

    night: NightView
    """The night."""
    changes: tuple[NightChange, ...]
    """What it changed, stage by stage; nothing of a night that was taken back."""
    total: int
    """How many changes there are."""


class UndoNights(Verb["NightsUndone"], frozen=True, kw_only=True):
    """Take back a night and every later one: what they made goes, and what made way stands again."""

    id: int | None = None
    """Number of the first one; the newest where absent."""


class NightsUndone(Message, frozen=True, kw_only=True):
    """Answer to `UndoNights`."""

    nights: tuple[int, ...]
    """Numbers of those that were taken back, the newest first."""


class ListDigests(Verb["DigestsListed"], frozen=True, kw_only=True):
    """Give digests: of a project, of its conversations or of its topics, as sentences of their memories."""

    of: DigestKind = "project"
    """What they are of: ``project``, ``session`` or ``topic``."""
    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them."""
    k: int = 10
    """At most so many digests, those of what was spoken of last first."""
    sentences: int = 12
    """At most so many sentences of each, the most telling ones, in the order they were said."""


class DigestSentence(Message, frozen=True, kw_only=True):
    """A sentence of a digest."""

    memory: Id
    """Id of the memory it stands in."""
    data: Text = msgspec.field(name="text")
    """The sentence, as it stands there."""
    start_byte: int
    """Where."""
    at: Time
    """When it was said, else kept."""
    role: str
    """Who said it."""
    speaker: str | None
    """Name of who spoke."""
    replaced: bool = False
    """Whether a later statement took the place of something that it says."""

    @property
    def text(self) -> str:
        """The same as text; a lone surrogate comes back as one."""
        return to_text(self.data)


class Digest(Message, frozen=True, kw_only=True):
    """A digest."""

    of: str
    """What it is of, in words."""
    scope: str
    """The scope's path."""
    memories: int
    """How many memories it is of."""
    night: int
    """Number of the night that made it."""
    sentences: tuple[DigestSentence, ...]
    """In the order they were said."""


class DigestsListed(Message, frozen=True, kw_only=True):
    """Answer to `ListDigests`."""

    digests: tuple[Digest, ...]
    """Those of what was spoken of last first."""
    last_night: str
    """``never`` where none derived anything yet, ``undone`` where the newest was taken back, else ``stands``."""


class ListProcedures(Verb["DerivedListed"], frozen=True, kw_only=True):
    """Give what is done again and again in projects, where a package has a stage of that name, ``procedures``."""

    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them."""
    k: int = 12
    """At most so many, those that weigh most first."""


class ListDerived(ListProcedures, frozen=True, kw_only=True):
    """Give what nights derived by a stage: each thing in words, with how the memories begin that it rests on."""

    stage: str
    """Name of the stage."""


class DerivedView(Message, frozen=True, kw_only=True):
    """A thing that a stage derived."""

    of: str
    """What it is of, in words."""
    text: str
    """What the stage says of it; empty where it says nothing."""
    scope: str
    """The scope's path; empty where it is of none."""
    night: int
    """Number of the night that made it."""
    memories: tuple[Id, ...]
    """Ids of the memories that it rests on."""
    quotes: tuple[str, ...]
    """How the stretches of these begin, three at most."""


class DerivedListed(Message, frozen=True, kw_only=True):
    """Answer to `ListDerived` and to `ListProcedures`."""

    stage: str
    """The stage."""
    derived: tuple[DerivedView, ...]
    """What weighs most first."""
    last_night: str
    """``never`` where none derived anything yet, ``undone`` where the newest was taken back, else ``stands``."""


class ShowProfile(Verb["ProfileShown"], frozen=True, kw_only=True):
    """Give what users said of themselves that is to last: what they like and avoid, where they live and work."""

    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them."""
    k: int = 20
    """At most so many, those said in most projects and conversations first."""


class ProfileEntry(Message, frozen=True, kw_only=True):
    """One thing that a user said of themselves."""

    memory: Id
    """Id of the memory that says so last."""
    data: Text = msgspec.field(name="text")
    """The clause, as it stands there."""
    start_byte: int
    """Where."""
    at: Time
    """When it was said last, else kept."""
    first_at: Time
    """When it was said first."""
    speaker: str | None
    """Name of who spoke."""
    conversations: int
    """In how many conversations it was said."""
    projects: int
    """In how many scopes."""
    scope: str
    """Path of the scope of that memory."""

    @property
    def text(self) -> str:
        """The same as text; a lone surrogate comes back as one."""
        return to_text(self.data)


class ProfileShown(Message, frozen=True, kw_only=True):
    """Answer to `ShowProfile`."""

    entries: tuple[ProfileEntry, ...]
    """Those said in most projects and conversations first."""
    last_night: str
    """``never`` where none derived anything yet, ``undone`` where the newest was taken back, else ``stands``."""
