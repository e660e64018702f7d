"""Times as people write them on a command line: ISO 8601, ``yesterday``, ``2w``, ``last tuesday``, ``3 Nov 2025``.

What is no ISO 8601 is read by `dateparser`, in English. A time without an offset is local, as `git log --since` has it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import BadTime
from mnemic.actors.kernel.times import Zone, parse_time

_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)(.*)", re.DOTALL)
_ISO_WEEK = re.compile(r"\d{4}-?w\d{2}(-?\d)?")
_TIME_OF_DAY = re.compile(r"\d{1,2}(?::\d{2}){0,2}(?:\s?[ap]m)?")
_SPAN = re.compile(r"(\d+)\s*([a-z]+)(?:\s+ago)?")
_NO_DATE = re.compile(r"\d{1,3}|.*(?<!\d)\d{1,2}[./-]\d{1,2}(?![\d:]).*|q\d.*")
"""What a parser would make something of, and two people two things: ``12``, ``01/02/2026``, ``1-2``, ``Q3 2026``."""


class TimeParam(click.ParamType):  # type: ignore[type-arg]
    """A time as people write it; a command gets microseconds since 1970 UTC.

    Args:
        clock: what ``yesterday`` is counted from.
    """

    name = "time"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return self._read(value)[0] if isinstance(value, str) else int(value)

    def end_of(self, since: Any, until: Any) -> int | None:
        """Tell when what both ends of a range name is over, where both name the same day, week, month or year; else
        ``None``.
        """
        if not isinstance(since, str) or not isinstance(until, str):
            return None
        first, last = self._read(since), self._read(until)
        return last[1] if first == last else None

    def _read(self, value: str) -> tuple[int, int | None]:
        now_us = self._clock.now_us()
        now = datetime(1970, 1, 1) + timedelta(microseconds=now_us, minutes=self._clock.utc_offset_min(now_us))
        return parse_local_span(value, now, self._clock)


def parse_local_span(text: str, now: datetime, zone: Zone) -> tuple[int, int | None]:
    """Read a time as people write it.

    Args:
        now: local, without an offset; what ``yesterday`` is counted from.
        zone: that a time without an offset is in.

    Returns:
        Microseconds since 1970 UTC; and where it names a day, a week, a month or a year, when that is over.

    Raises:
        BadTime: it is none, or one that two people would read as two.
    """
    said = " ".join(text.split()).lower()
    day = _DAY.fullmatch(said)
    if day is not None:
        said = f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}{day[4]}"
    try:
        moment = datetime.fromisoformat(said.upper())
        week = _ISO_WEEK.fullmatch(said)
        is_date = len(said) <= len("2026-09-01") or week is not None
        period = "time" if not is_date else "day" if week is None or week[1] else "week"
    except ValueError:
        moment, period = _read_words(text, said, now) if day is None else _read_day(text, day, now)
    try:
        return parse_time(moment.isoformat(), zone), _end_of(moment, period, zone)
    except BadTime:
        raise BadTime(value=text) from None


def _end_of(moment: datetime, period: str, zone: Zone) -> int | None:
    """Tell when what begins at a time is over; ``None`` where that is a time itself, or no calendar holds its end."""
    try:
        if period == "day":
            end = moment + timedelta(days=1)
        elif period == "week":
            end = moment + timedelta(days=7)
        elif period == "month":
            end = (moment + timedelta(days=31)).replace(day=1)
        elif period == "year":
            end = moment.replace(year=moment.year + 1)
        else:
            return None
    except (OverflowError, ValueError):
        return None
    return parse_time(end.isoformat(), zone)


def _read_day(text: str, day: re.Match[str], now: datetime) -> tuple[datetime, str]:
    """A day in figures and a time of day as people write it: ``2026-09-01 5pm``, ``2026-9-1T5:00``, ``2026-09-01Z``."""
    try:
        date = datetime(int(day[1]), int(day[2]), int(day[3]))
    except ValueError:
        raise BadTime(value=text) from None
    rest = day[4].removeprefix("t").strip()
    if rest == "z":
        return date.replace(tzinfo=UTC), "day"
    if not _TIME_OF_DAY.fullmatch(rest):
        raise BadTime(value=text)
    return datetime.combine(date, _read_words(text, f"today {rest}", now)[0].timetz()), "time"


def _read_words(text: str, said: str, now: datetime) -> tuple[datetime, str]:
    if not said or _NO_DATE.fullmatch(said):
        raise BadTime(value=text)
    from dateparser.date import DateDataParser

    span = _SPAN.fullmatch(said)
    if span is not None and span[2] == "w":
        said = f"{span[1]} weeks ago"
    parser = DateDataParser(
        languages=["en"],
        settings={
            "RELATIVE_BASE": now,
            "PREFER_DATES_FROM": "past",
            "PREFER_DAY_OF_MONTH": "current" if span else "first",
            "RETURN_TIME_AS_PERIOD": True,
        },
    )
    found = parser.get_date_data(said)
    if found is None or found.date_obj is None:
        raise BadTime(value=text)
    period = "day" if span is not None and found.period in ("week", "month", "year") else found.period
    moment: datetime = found.date_obj
    return _start_of(moment, period), period


def _start_of(moment: datetime, period: str) -> datetime:
    """Tell when what a text names begins: a day at midnight, a week on Monday, a month on its first; a time stays."""
    if period == "time":
        return moment
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "week":
        return midnight - timedelta(days=midnight.weekday())
    if period == "month":
        return midnight.replace(day=1)
    return midnight.replace(month=1, day=1) if period == "year" else midnight
