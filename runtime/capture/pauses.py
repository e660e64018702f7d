"""Pauses: when a mind captures nothing by itself; a small file that hooks read before they write.

``minds/NAME/pauses`` has a line for each, the newest last: the time from which it holds and the first at which it does
not, in microseconds since 1970 UTC, ``-`` where nobody has said. Hooks read its last line before they write
(docs/spool.md), so no key is needed to pause, and none to be paused. It is written whole, by a rename.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel.errors import PausesUnreadable, StoreReadOnly
from mnemic.actors.kernel.ports import PauseSpan
from mnemic.actors.kernel.times import to_iso, to_local_minute
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.files.atomic_replace import LOCKS_UNSUPPORTED, write_error
from mnemic.runtime.files.writable import unwritable_reason
from mnemic.runtime.keys.keys import replace_private
from mnemic.runtime.minds.homes import MindFolder, mind_folder, mind_options, missing_mind

CAPTURE_OFF_NOTICE = "Nothing of this session is captured: MNEMIC_OFF is set where it was started."
"""What is said where the shell of a session has switched the capture off."""


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """A pause that holds."""

    since: int
    """World time from which it holds, microseconds."""
    until: int | None
    """World time at which it ends by itself; ``None`` where somebody has to resume."""
    read_error: str = ""
    """Why the file could not be read or understood, where that is all that is known: hooks keep nothing then."""
    mind_options: str
    """What has the command that ends it mean this mind; see `mnemic.runtime.minds.homes.mind_options`."""

    def view(self) -> dict[str, Any]:
        """As JSON."""
        return {"since": to_iso(self.since), "until": to_iso(self.until), "told": self.sentence()}

    def sentence(self) -> str:
        """That it holds, for whoever might believe that the memory is listening."""
        ending = f"nothing is captured. `mnemic resume{self.mind_options}` ends that."
        if self.read_error:
            return f"The memory is paused, because {self.read_error}: {ending[:-1]}, or says what is in the way."
        ends = "until somebody resumes" if self.until is None else f"until {_local_minute(self.until)}"
        return f"The memory is paused, since {_local_minute(self.since)} and {ends}: {ending}"


def current_pause(mind: Path, now: int) -> Pause | None:
    """The pause that holds in a mind's folder; ``None`` where none does. What cannot be read pauses, as for a hook.

    Args:
        now: world time, microseconds.
    """
    folder = MindFolder(mind)
    try:
        spans, bad = _read(folder.pauses)
    except OSError as error:
        unread = f"{folder.pauses} cannot be read ({error.strerror})"
        return Pause(since=now, until=None, read_error=unread, mind_options=mind_options(folder))
    if not spans or not _is_active(spans[-1], now):
        return None
    since, until = spans[-1]
    unread = f"{folder.pauses} is damaged" if bad else ""
    return Pause(since=since, until=until, read_error=unread, mind_options=mind_options(folder))


def read_pauses(mind: Path) -> list[PauseSpan]:
    """All pauses of a mind, the oldest first.

    Raises:
        PausesUnreadable: they cannot be read. Who then took all for paused would let go of what hooks have kept.
    """
    path = MindFolder(mind).pauses
    try:
        return _read(path)[0]
    except OSError as error:
        raise PausesUnreadable(path=str(path), why=error.strerror or type(error).__name__) from error


def pause(home: Path, mind: str, now: int, for_us: int | None) -> Pause:
    """Pause a mind from now on; one that is paused stays so from when it was, and ends as this says.

    Args:
        for_us: for how long, microseconds; ``None`` until somebody resumes.

    Raises:
        MindMissing: there is no such mind.
        PausesUnreadable: the pauses before cannot be read; to write them anew would forget them.
        StoreReadOnly, DiskFull: it cannot be written; nothing was changed.
    """
    until = None if for_us is None else now + for_us
    with _lock_pauses(home, mind) as folder:
        spans = read_pauses(folder.path)
        since = now
        if spans and _is_active(spans[-1], now):
            since = min(spans.pop()[0], now)
        _write(folder, [*spans, (since, until)])
    return Pause(since=since, until=until, mind_options=mind_options(folder))


def resume(home: Path, mind: str, now: int) -> Pause | None:
    """End the pause that holds; returns what it was, ``None`` where none held.

    Raises: as `pause`.
    """
    with _lock_pauses(home, mind) as folder:
        held = current_pause(folder.path, now)
        if held is None:
            return None
        spans = read_pauses(folder.path)
        since = min(spans.pop()[0] if spans and _is_active(spans[-1], now) else held.since, now)
        _write(folder, [*spans, (since, now)])
    return held


def session_notices(mind: Path, now: int, *, unkept: bool = False) -> tuple[str, ...]:
    """What the start of a session has to say, so that nobody believes it is remembered.

    Args:
        unkept: whether the session's own shell has switched the capture off.
    """
    held, unwritable = current_pause(mind, now), unwritable_reason(mind)
    told = (
        None if held is None else held.sentence(),
        CAPTURE_OFF_NOTICE if unkept else None,
        None if unwritable is None else f"Nothing of this session is captured: {unwritable}.",
    )
    return tuple(one for one in told if one is not None)


def _local_minute(at: int) -> str | None:
    """A time as its owner's clock shows it; as its number where no calendar holds it."""
    try:
        return to_local_minute(at, SystemClock())
    except OverflowError:
        return to_iso(at)


def _is_active(span: PauseSpan, now: int) -> bool:
    """Whether the newest pause holds; as a hook sees it, whatever happened to the clock since it was written."""
    return span[1] is None or now < span[1]


def _read(path: Path) -> tuple[list[PauseSpan], bool]:
    """The pauses, and whether the newest line is none: it then stands for one since the file was written.

    Raises:
        OSError: there is a file, and it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            lines = [line for line in file.read().split(b"\n") if line.strip()]
            written_at = os.fstat(file.fileno()).st_mtime_ns // 1000
    except FileNotFoundError:
        return [], False
    spans = [_span(line) for line in lines]
    bad = bool(spans) and spans[-1] is None
    sound = [span for span in spans if span is not None]
    return ([*sound, (written_at, None)] if bad else sound), bad


def _span(line: bytes) -> PauseSpan | None:
    words = line.split()
    if len(words) != 2 or not words[0].isdigit() or not (words[1] == b"-" or words[1].isdigit()):
        return None
    return int(words[0]), None if words[1] == b"-" else int(words[1])


def _write(folder: MindFolder, spans: list[PauseSpan]) -> None:
    path = folder.pauses
    lines = (f"{since} {'-' if until is None else until}\n" for since, until in spans)
    try:
        replace_private(path, "".join(lines).encode())
    except OSError as error:
        raise write_error(path, error) from error


@contextmanager
def _lock_pauses(home: Path, mind: str) -> Iterator[MindFolder]:
    """Held while the file is read and written anew: two who do so at once would lose one's pause."""
    folder = mind_folder(home, mind)
    try:
        descriptor = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise missing_mind(home, mind) from None
    except OSError as error:
        raise StoreReadOnly(path=str(folder.path), why=error.strerror or type(error).__name__) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in LOCKS_UNSUPPORTED:
                raise StoreReadOnly(path=str(folder.path), why=error.strerror or type(error).__name__) from error
        yield folder
    finally:
        os.close(descriptor)
