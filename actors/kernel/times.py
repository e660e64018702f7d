"""Times and days as people write them: ISO 8601 in, microseconds since 1970 UTC inside, ISO 8601 out.

A day is a person's day: what names no offset is by the clock on the wall, in the zone of whoever says it. A memory
keeps the offset that it was said by, so its day stays when the machine's zone changes (docs/decisions/0034-days.md).
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import NamedTuple, Protocol

from mnemic.actors.kernel.errors import BadTime, InvalidValue

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
DAY_US = 86_400_000_000
MINUTE_US = 60_000_000
MINUTES_A_DAY = 1440
_MONTHS = re.compile(r"(\d{4})(?:-(\d{2}))?")


def is_ahead(at: int | None, now: int) -> bool:
    """Whether a time that somebody else names is no time at which anything was said: it lies more than a day ahead, and
    no two clocks that are right differ by that. What claims it would be the newest for ever, so it counts as undated.

    Args:
        at, now: microseconds since 1970 UTC.
    """
    return at is not None and at > now + DAY_US


class Zone(Hashable, Protocol):
    """Where a clock hangs on the wall: the machine's zone, or one that a test hands in."""

    def utc_offset_min(self, at_us: int) -> int:
        """Minutes east of UTC that its clock shows at a time, microseconds since 1970 UTC."""


class FixedZone:
    """A zone whose clock is never moved."""

    def __init__(self, utc_offset_min: int = 0) -> None:
        self._utc_offset_min = utc_offset_min

    def utc_offset_min(self, at_us: int) -> int:
        """The same minutes at any time."""
        return self._utc_offset_min


UTC_ZONE = FixedZone()
"""What is told by it is the same on every machine."""


class WrittenTime(NamedTuple):
    """A time as it was written."""

    at: int
    """Microseconds since 1970, of UTC where `is_local` is false, else as a clock on the wall shows them."""
    utc_offset_min: int | None
    """Minutes east of UTC that were written. ``None`` for an offset of zero: programs store any time so."""
    is_local: bool
    """Whether no offset was written."""


def day_of(at: int, utc_offset_min: int) -> date:
    """The day of a time by a clock on the wall; what no calendar holds is at its end.

    Args:
        at: microseconds since 1970 UTC.
        utc_offset_min: minutes east of UTC of the clock.
    """
    days = _EPOCH.toordinal() + (at + utc_offset_min * MINUTE_US) // DAY_US
    return date.fromordinal(min(max(days, 1), date.max.toordinal()))


def local_day(at: int, zone: Zone) -> date:
    """The day of a time, microseconds since 1970 UTC, in a zone."""
    return day_of(at, zone.utc_offset_min(at))


def day_end(day: date, zone: Zone) -> int:
    """When the day after a day begins in a zone, microseconds since 1970 UTC."""
    return from_local((day.toordinal() - _EPOCH.toordinal() + 1) * DAY_US, zone)


def from_local(local_us: int, zone: Zone) -> int:
    """World time at which a clock on the wall shows a time, microseconds since 1970 UTC.

    Of two such times it is the earlier one. A time that the clock skips counts by the offset before it was moved.

    Args:
        local_us: microseconds since 1970 as the clock shows them.
    """
    before, after = (zone.utc_offset_min(local_us + side) for side in (-DAY_US, DAY_US))
    for offset in sorted({before, after}, reverse=True):
        at = local_us - offset * MINUTE_US
        if zone.utc_offset_min(at) == offset:
            return at
    return local_us - before * MINUTE_US


def read_time(text: str) -> WrittenTime:
    """Read ISO 8601; without a time of day it is midnight.

    Raises:
        ValueError, OverflowError: it is no such time.
    """
    moment = datetime.fromisoformat(text.strip())
    at = (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // _MICROSECOND
    offset = moment.utcoffset()
    minutes = None if not offset else offset // timedelta(minutes=1)
    return WrittenTime(at, minutes, offset is None)


def offset_in(text: str) -> int | None:
    """The offset of a time that was written, as `WrittenTime` has it."""
    try:
        return read_time(text).utc_offset_min
    except (ValueError, OverflowError):
        return None


def parse_time(text: str, zone: Zone) -> int:
    """Read ISO 8601 as microseconds since 1970 UTC; without an offset it is local.

    Raises:
        BadTime: it is no such time.
    """
    try:
        written = read_time(text)
        return from_local(written.at, zone) if written.is_local else written.at
    except (ValueError, OverflowError):
        raise BadTime(value=text) from None


def parse_days(name: str, text: str) -> tuple[int, int] | None:
    """Read a range of days: ``2026-05-01..2026-05-07``, or a whole month or year, ``2026-05``.

    Args:
        name: what it is given for.

    Returns:
        Its start and the first time after it, microseconds since 1970 as a clock on the wall shows them; ``None``
        where it is no range.

    Raises:
        InvalidValue: it looks like a range, and has an end that is no date, or ends before it begins.
    """
    first, dots, last = (part.strip() for part in text.partition(".."))
    if not dots and not _MONTHS.fullmatch(first):
        return None
    try:
        since, until = (_days(first)[0], _days(last if dots else first)[1])
        why = "" if since < until else "it ends before it begins"
    except (ValueError, OverflowError):
        why = "it is no range of dates"
    if why:
        expected = "a day, a month, or a range, such as 2026-05-01, 2026-05 or 2026-05-01..2026-05-07"
        raise InvalidValue(name=name, value=text, why=why, expected=expected)
    return _start(since), _start(until)


def _days(text: str) -> tuple[date, date]:
    """The first day of a year, a month or a day, and the first one after it."""
    found = _MONTHS.fullmatch(text)
    if found is None:
        day = date.fromisoformat(text)
        return day, day + timedelta(days=1)
    year, month = int(found[1]), found[2]
    beyond = date(year, int(month or 12), 28) + timedelta(days=4)
    return date(year, int(month or 1), 1), beyond.replace(day=1)


def _start(day: date) -> int:
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) - _EPOCH) // _MICROSECOND


def to_iso(at: int | None) -> str | None:
    """Write microseconds since 1970 as ISO 8601 in UTC, to the second where it is whole.

    A time that no calendar holds (before year 1, after year 9999) is written as its number.
    """
    if at is None:
        return None
    try:
        return (_EPOCH + timedelta(microseconds=at)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return str(at)


def to_local_iso(at: int, zone: Zone) -> str:
    """Write microseconds since 1970 as ISO 8601 of a zone, to the second; ``Z`` stands for an offset of zero.

    Raises:
        OverflowError: no calendar holds it.
    """
    offset = timedelta(minutes=zone.utc_offset_min(at))
    local = (_EPOCH + timedelta(microseconds=at)).astimezone(timezone(offset))
    return local.isoformat(timespec="seconds").replace("+00:00", "Z")


def to_local_minute(at: int, zone: Zone) -> str:
    """Write microseconds since 1970 as a clock on the wall shows them, to the minute: ``2026-09-21 18:17``.

    Raises:
        OverflowError: no calendar holds it.
    """
    local = _EPOCH + timedelta(microseconds=at, minutes=zone.utc_offset_min(at))
    return local.isoformat(sep=" ", timespec="minutes")[:16]
