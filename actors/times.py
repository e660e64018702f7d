"""Times as people write them: ISO 8601 in, microseconds since 1970 UTC inside, ISO 8601 out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mnemic.actors.errors import BadTime

__all__ = ["parse_time", "to_iso"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


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
