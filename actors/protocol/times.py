"""Times as people write them: ISO 8601 in, microseconds since 1970 UTC inside, ISO 8601 out."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from mnemic.actors.protocol.errors import BadTime, InvalidValue

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DAY_US = 86_400_000_000
_MONTHS = re.compile(r"(\d{4})(?:-(\d{2}))?")


def is_ahead(at: int | None, now: int) -> bool:
    """Whether a time that somebody else names is no time at which anything was said: it lies more than a day ahead, and
    no two clocks that are right differ by that. What claims it would be the newest for ever, so it counts as undated.

    Args:
        at, now: microseconds since 1970 UTC.
    """
    return at is not None and at > now + _DAY_US


def day_of(at: int) -> date:
    """The day of a time, microseconds since 1970 UTC; what no calendar holds is at its end."""
    return date.fromordinal(min(max(_EPOCH.toordinal() + at // _DAY_US, 1), date.max.toordinal()))


def parse_time(text: str) -> int:
    """Read ISO 8601; without an offset it is UTC, without a time of day it is midnight.

    Raises:
        BadTime: it is no such time.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        raise BadTime(value=text) from None


def parse_days(name: str, text: str) -> tuple[int, int] | None:
    """Read a range of days: ``2026-05-01..2026-05-07``, or a whole month or year, ``2026-05``.

    Args:
        name: what it is given for.

    Returns:
        Its start and the first time after it, microseconds since 1970 UTC; ``None`` where it is no range.

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
