"""What capture and status report, how numbers are told in it, and what the verbs need from above."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.capture.messages import CaptureProgress
from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.kernel.times import to_iso
from mnemic.actors.store.messages import Counts, LostTransactions
from mnemic.runtime.engine.reports import ActorSystemReport
from mnemic.runtime.spool.files import Backlog, Losses, measure_backlog, read_losses

STALE_S = 600.0
"""What waits for longer than so is not on its way any more."""


def pluralize(number: int, one: str, many: str = "") -> str:
    """A number and what it counts; `many` where the plural is not formed as of most nouns."""
    regular = f"{one[:-1]}ies" if one.endswith("y") and one[-2] not in "aeou" else f"{one}s"
    return f"{number} {one if number == 1 else many or regular}"


def made_way_lines(made_way: Mapping[str, str], why: str, command: Callable[..., str]) -> Iterator[str]:
    """Which projects have another path from now on, and by which command of the mind's they get the old one back."""
    for was, now in sorted(made_way.items()):
        yield f"{was} is {now} from now on: {why}"
        yield f"  if both are one project: {command('scope', 'merge', now, was)}"


def format_size(size_bytes: int) -> str:
    """A number of bytes."""
    if size_bytes < 1000:
        return pluralize(size_bytes, "byte")
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 1e5 else f"{size_bytes / 1e3:.1f} kB"


def engine_problems(home: Path) -> list[str]:
    """Why no process can serve a home: its settings cannot be read, or name an engine that is not installed."""
    from mnemic.runtime.engine.settings import load_asked_settings  # here: whoever asks a process loads no actors

    try:
        if load_asked_settings(home / "mnemic.toml")["runtime.engine"] != "ray":
            return []
    except MnemicError as error:
        return [f"{error} {error.remedy_text}"]
    from mnemic.runtime.engine.ray.local import ray_missing  # here: it takes a while to load

    missing = ray_missing()
    return [] if missing is None else [f"no process can serve this home: {missing} {missing.remedy_text}"]


@dataclass(frozen=True, slots=True)
class HostPorts:
    """The readers of the hosts' files, handed in when the parts are put together."""

    find_sources: Callable[[str, str], tuple[Sequence[str], int]]
    """What a file or folder stands for, read as a format, and how many notes beside it are left."""
    hook_reply: Callable[..., bytes]
    """What a hook prints, as its host takes it; see `mnemic.hooks.read.hook_reply.hook_reply`."""


class CaptureReport(msgspec.Struct, kw_only=True):
    """What a capture did."""

    new: int = 0
    """Memories kept now for the first time; found by their words from then on."""
    known: int = 0
    """Events that had been captured before."""
    differing: int = 0
    """Of those, events whose id was kept before with another text; the first text stands."""
    malformed: int = 0
    """Lines that could not be read."""
    malformed_lines: list[tuple[str, int, str]]
    """The first of them: file, line, reason."""
    unknown_fields: dict[str, int] = msgspec.field(default_factory=dict)
    """Fields of JSON Lines that mean nothing here, by name, and how many lines have them."""
    elsewhere: int = 0
    """Of the known, events that are in another scope than the one asked for; they stay there."""
    retired: int = 0
    """Of the known, events whose memories were forgotten; they stay so."""
    erased: int = 0
    """Events whose memories were erased; they are not kept again."""
    left_out: int = 0
    """Events of projects or kinds of session that the settings leave out."""
    files: int = 0
    """Files read to their end."""
    documents: int = 0
    """Of them, Markdown files and folders of notes."""
    formats: list[str] = msgspec.field(default_factory=list)
    """The formats they were read as, each once."""
    notes_left: int = 0
    """Markdown files that lie beside transcripts in a folder that was named, and were not taken in."""
    failed: list[tuple[str, str]]
    """Transcripts that could not be read, and why."""
    scopes: list[str]
    """Scopes that got new memories."""
    made_way: dict[str, str] = msgspec.field(default_factory=dict)
    """Projects that had only their folder's name, which a ``.mnemic.toml`` names: that path, and their path now."""
    embedded: int = 0
    """Memories of the mind that are found by their meaning too."""
    pending: int = 0
    """Memories that are not, yet."""
    partly: int = 0
    """Memories of which only the first part is found by meaning."""
    meaning_error: str | None = None
    """Why there is no meaning, where the model cannot be used."""
    meaning_off: bool = False
    """True where the settings want none."""
    bound: int = 0
    """Memories of the mind that are found by their shape too."""
    unbound: int = 0
    """Memories that wait for it."""
    unread: int = 0
    """Memories that have no shape, or one without facts or roles of your own, since reading or binding them failed."""
    shape_error: str | None = None
    """Why they do, where nothing could be bound."""
    facts_error: str | None = None
    """Why what memories state could not be read."""

    @property
    def is_partial(self) -> bool:
        """Whether something of what was named could not be read or kept."""
        return bool(self.failed or self.malformed)


class CaptureStatus(msgspec.Struct, kw_only=True):
    """What hooks wrote and nobody has taken in yet, and what became of the rest."""

    backlog: Backlog
    """What waits in the spool."""
    waits_s: float | None
    """For how long the oldest of it waits; ``None`` where nothing does."""
    losses: Losses
    """What will not be taken in."""
    records: int
    """Records of hooks taken in so far."""
    torn: int
    """Places of the spool that held no whole record."""
    quarantined: int
    """Records that could not be understood, and are quarantined."""
    scrubbed: dict[str, int]
    """Secrets taken out of texts, by type."""
    left_out: tuple[str, ...] = ()
    """What the settings leave out, a phrase each."""
    transcripts: int
    """Transcripts that wait to be taken in."""
    transcripts_bytes: int
    """How long they are together."""
    transcripts_later: int
    """Transcripts of sessions that may still be going on."""
    transcripts_failed: int
    """Transcripts that could not be read; at most 20 are counted."""

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield f"hooks: {pluralize(self.records, 'record')} taken in"
        if self.waits_s is not None:
            yield f"  {format_size(self.backlog.size_bytes)} wait in the spool, for {self.waits_s:.0f} s"
        if self.torn:
            yield f"  {pluralize(self.torn, 'place')} of the spool held no whole record"
        if self.left_out:
            yield f"  left out by the settings: {'; '.join(self.left_out)}"
        if self.scrubbed:
            kinds = ", ".join(f"{kind} {count}" for kind, count in self.scrubbed.items())
            yield f"  secrets taken out: {kinds}"
        if self.transcripts or self.transcripts_later:
            size = format_size(self.transcripts_bytes)
            yield f"  transcripts to take in: {self.transcripts} now ({size}), {self.transcripts_later} later"

    def warnings(self) -> Iterator[str]:
        """What is not as it should be, a sentence each."""
        if self.waits_s is not None and self.waits_s > STALE_S:
            size, minutes = format_size(self.backlog.size_bytes), round(self.waits_s / 60)
            yield f"hooks: {size} that they kept have waited for {minutes} minutes; `mnemic doctor` says why"
        if self.losses.lost:
            when = "" if self.losses.lost_at is None else f", the last at {to_iso(self.losses.lost_at)}"
            yield f"hooks: {pluralize(self.losses.lost, 'event')} could not be written and were lost{when}"
        for files, what in (
            (self.losses.foreign, "of another key, not taken in"),
            (self.losses.quarantined, "held what cannot be opened"),
            (self.backlog.unreadable, "cannot be read"),
        ):
            if files:
                yield f"hooks: {pluralize(len(files), 'spool file')} {what}"
        if self.quarantined:
            yield f"hooks: {pluralize(self.quarantined, 'record')} could not be understood; `mnemic doctor` shows them"
        if self.transcripts_failed:
            yield f"transcripts: {self.transcripts_failed} could not be read; `mnemic doctor` shows them"


class Status(msgspec.Struct, kw_only=True):
    """What there is, and how it is."""

    home: str
    """The home's folder."""
    mind: str
    """The mind's name."""
    version: str
    """Version of Mnemic."""
    counts: Counts
    """What is there."""
    use: dict[str, Any]
    """Memories, bytes and tokens given to assistants, by project and by week; see `mnemic.runtime.api.views`."""
    store_bytes: int
    """The store's files on disk."""
    encoder: str | None
    """Which code and weights embed, where the model can be used; ``off`` where the settings want none."""
    instructions: str | None
    """The instruction set that native code uses; ``None`` where NumPy computes."""
    paused: dict[str, Any] | None = None
    """The pause that holds: `since` and `until` when, and `told` in a sentence; ``None`` where none does."""
    capture: CaptureStatus
    """What hooks kept: what waits, and what became of it."""
    actor_system: ActorSystemReport
    """How the actors are, and where they run."""
    process: dict[str, Any] | None
    """What the home's process says of itself; ``None`` where the command worked alone."""
    degraded: list[str]
    """What is missing, and what that means, a sentence each."""


def capture_status(spool: Path, waiting: CaptureProgress, now: int) -> CaptureStatus:
    """Look at a mind's spool, beside what its store knows.

    Args:
        now: world time, microseconds.
    """
    found = measure_backlog(spool, waiting.offsets)
    oldest_at = found.oldest_at if waiting.oldest_at is None or found.oldest_at is None else waiting.oldest_at
    return CaptureStatus(
        backlog=found,
        waits_s=None if oldest_at is None else max(0.0, (now - oldest_at) / 1e6),
        losses=read_losses(spool),
        records=waiting.records,
        torn=waiting.torn,
        quarantined=waiting.quarantined_count,
        scrubbed=waiting.scrubbed,
        left_out=waiting.left_out,
        transcripts=waiting.transcripts,
        transcripts_bytes=waiting.transcripts_bytes,
        transcripts_later=waiting.transcripts_later,
        transcripts_failed=len(waiting.transcripts_failed),
    )


def loss_sentence(lost: LostTransactions) -> str:
    """What is said of transactions that are missing, or may be, and what may have taken them."""
    if not lost.count:
        after = "" if lost.since is None else f" after {to_iso(lost.since)}"
        return f"whether transactions{after} are missing is not known: its high-water mark was damaged"
    are = "its last transaction is" if lost.count == 1 else f"its last {lost.count} transactions are"
    after = "" if lost.since is None else f"after {to_iso(lost.since)} and "
    cause = (
        "the machine was started anew since then, as after a power cut, and the disk did not have them yet"
        if lost.power_cut
        else "its write-ahead log was damaged, or older files were put in its place"
    )
    return f"{are} missing, committed {after}up to {to_iso(lost.until)}: {cause}"


def unbound_warning(number: int) -> str:
    """What is said where something of so many memories could not be bound."""
    return (
        f"{pluralize(number, 'memory has', 'memories have')} no facts, no roles of your own, or no shape at"
        " all, since what reads them failed (mnemic.log or serve.log in the home says why); once it is mended,"
        " `mnemic doctor --repair` binds them again"
    )
