"""Changes that nights make: what they derive from memories, that they began and ended, and that they were taken back.

Part of the closed list in `mnemic.actors.kernel.changes`. A night derives *items*: a value under a key of a stage,
made from memories and pointing into them, with no words of its own. Each item says at which night it was made and at
which it made way, so a night is taken back by letting go of what it made and having stand again what made way. That a
night began and that it was taken back is logged; items are not, and can be made again.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemic.actors.kernel.message import ChangeBase

NightReason = Literal["idle", "asked"]
"""Why a night began: nobody wanted anything, or its owner wanted it."""
NightEnd = Literal["finished", "time", "woken"]
"""Why it ended: nothing was left to do, its time was used up, or somebody wanted something."""
DigestKind = Literal["project", "session", "topic"]
"""What a digest is of."""
DIGEST_STAGES: dict[DigestKind, str] = {
    "project": "project-digests",
    "session": "session-digests",
    "topic": "topic-digests",
}
"""The stage that makes digests of a kind. Their keys are ``kind:…:scope``, numbers."""
PROFILE_STAGE = "profile"
"""The stage that finds what lasts of the person."""
NIGHTS_KEPT = 30
"""So many of the newest nights can be taken back; of older ones what made way is gone."""


class SourceSpan(msgspec.Struct, frozen=True, array_like=True):
    """A stretch of a memory."""

    row: int
    """The memory's row."""
    start: int
    """Its first byte in the memory's text."""
    stop: int
    """The byte after its last."""


class DerivedItem(msgspec.Struct, frozen=True, array_like=True):
    """What a stage derives under one key."""

    key: bytes
    """What it is of, without words: numbers, or a hash."""
    stamp: bytes
    """What tells the state of its sources: under an equal stamp nothing would be derived anew."""
    value: bytes
    """What the stage made of them, as MessagePack of a type of its own, without words."""
    sources: tuple[SourceSpan, ...] = ()
    """Where in memories it points to, in its order. Once one of these is erased the whole item is."""


class BeginNight(ChangeBase, frozen=True, kw_only=True, tag="begin_night"):
    """Say that a night works on what is kept by now; it gets the next number. Nothing where one of its name began."""

    run: str
    """Its name."""
    reason: NightReason
    """Why it began."""


class KeepDerived(ChangeBase, frozen=True, kw_only=True, tag="keep_derived"):
    """Keep what a stage of a night derived, in place of what stood under the same keys.

    Nothing where the store was made anew since the sources were read; of `restamped` alone where the night did not
    begin, or was taken back.
    """

    generation: int
    """The store's generation when they were read."""
    run: str
    """Name of the night."""
    stage: str
    """The stage."""
    items: tuple[DerivedItem, ...] = ()
    """What it derived."""
    ended: tuple[bytes, ...] = ()
    """Keys under which nothing stands any more."""
    restamped: tuple[tuple[bytes, bytes], ...] = ()
    """Keys of which the same was derived from other sources, and the state of these."""


class KeepVerdict(ChangeBase, frozen=True, kw_only=True, tag="keep_verdict"):
    """Say whether what a stage derived passed its exam in a night: recalls go by it, or by nothing of the stage.

    Nothing where that night did not begin, or was taken back.
    """

    run: str
    """Name of the night."""
    stage: str
    """The stage."""
    effect: Literal["weigh", "fold"]
    """What its items do to recalls; see `mnemic.actors.sleep.effects`."""
    night: int
    """Number of the newest night that it derived anything in."""
    questions: int
    """How many were asked."""
    passed: bool
    """Whether recalls go by what stands after that night."""
    why: str
    """What the exam found."""


class StageReport(msgspec.Struct, frozen=True):
    """What one stage did in one night."""

    stage: str
    """Its name."""
    changes: int = 0
    """How many items it made or ended."""
    took_us: int = 0
    """How long it worked, microseconds."""
    note: str = ""
    """What else there is to say of it: why it failed, what it waits for, why it was taken back; without words of
    memories."""
    state: str = ""
    """``done`` where nothing is left to do, ``failed`` where it could not go on; else the night did not come so far."""


class EndNight(ChangeBase, frozen=True, kw_only=True, tag="end_night"):
    """Say how a night ended; nothing where none of its name began. A night that is resumed ends anew."""

    run: str
    """Its name."""
    why: NightEnd
    """Why it ended."""
    stages: tuple[StageReport, ...]
    """What each stage did, in order: of one told before, more."""


class TakeBackNights(ChangeBase, frozen=True, kw_only=True, tag="take_back_nights"):
    """Take back a night and every later one: as if they had never been.

    Nothing is derived from then on, unless it is asked for once more, until something new is captured.
    """

    night: int
    """Number of the first one."""
    last_row: int = 0
    """Row of the newest memory then; the store writes it."""
