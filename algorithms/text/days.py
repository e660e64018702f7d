"""Extracts the dates that a question names ("last Tuesday", "in May", ISO 8601).

Above it stands `mnemic.actors.recall.day_signal`; below it nothing. English, and ISO 8601 in any language:
``7 July 2023``, ``Oct. 13th``, ``in May``, ``2026-10-18``, ``yesterday``, ``two weeks ago``, ``last Tuesday``. What
could as well be something else is left alone ("you may 10 times", "5/6/2026", "march on"), and so is a day that only
bounds a time ("since June"), for it tells nothing of how near an answer was said.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

_MONTHS = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6} | {"a couple of": 2}
_WORDS = frozenset({"may", "march", "mar"})  # they are other words, too, where no year and no capital says otherwise
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_IN = r"\b(?P<in>(?:in|of|during|last|this|early|late|mid)[ -])"
_ABSOLUTE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>\d{4})-(?P<number>\d\d)-(?P<day>\d\d)\b",
        r"\b(?P<year>(?:19|20)\d\d)-(?P<number>\d\d)\b(?!-)",
        rf"\b{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?",
        rf"\b{_MONTH} {_DAY}(?![:.]\d)(?:,? {_YEAR})?",
        rf"\b{_MONTH},? (?:of )?{_YEAR}",
        rf"{_IN}{_MONTH}",
        rf"{_IN}{_YEAR}",
    )
)
_UNTIL_NOW = re.compile(r"\b(?:since|until|till|from)(?: the| early| late)* $", re.IGNORECASE)
_AGO = re.compile(rf"\b(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)}) (?P<unit>day|week|month|year)s? ago\b", re.IGNORECASE)
_RELATIVE_DAY = re.compile(
    r"\b(?:(?P<day>the day before yesterday|yesterday|last night|today|tonight|this (?:morning|afternoon|evening))"
    r"|(?P<which>last|this)(?: past)? (?P<unit>weekend|week|month|year)"
    rf"|(?:last|on|this past) (?P<weekday>{'|'.join(_WEEKDAYS)}))\b",
    re.IGNORECASE,
)
_EARLIEST, _LATEST = date(3, 1, 1), date(9998, 1, 1)  # nearer to its ends, the calendar may lack what is named
MAX_CHARS = 4_000  # characters: a log that is pasted into a question is no question
MAX_RANGES = 16  # of more days none is what is asked for
_MOST_YEARS = 4  # a day without a year is one of so many years' at most, the latest


class DateRange(NamedTuple):
    """Some days, the first and the last included."""

    first: date
    last: date


def extract_dates(text: str, today: date, earliest: date, latest: date) -> list[DateRange]:
    """The days that a text names, in order of the patterns, each span once; none where it names none, or too many.

    A day without a year is meant in each of the years in question. A day that no calendar has names none.

    Args:
        today: what ``yesterday`` is told from; within two years of the calendar's ends, nothing is.
        earliest: the first day in question.
        latest: the last one.
    """
    text = text[:MAX_CHARS]
    years = range(max(earliest.year, latest.year - _MOST_YEARS + 1), latest.year + 1)
    found: list[DateRange] = []
    taken: list[tuple[int, int]] = []
    for pattern in _ABSOLUTE:
        for match in pattern.finditer(text):
            if any(match.start() < stop and start < match.end() for start, stop in taken):
                continue
            taken.append(match.span())
            if not _UNTIL_NOW.search(text, max(0, match.start() - 24), match.start()):
                found += _spans(match, years)
    if _EARLIEST <= today <= _LATEST:
        for match in _AGO.finditer(text):
            found += _ago(match, today)
        for match in _RELATIVE_DAY.finditer(text):
            found += _relative_day(match, today)
    named = list(dict.fromkeys(found))
    return named if len(named) <= MAX_RANGES else []


def _spans(match: re.Match[str], years: range) -> Iterator[DateRange]:
    parts = match.groupdict()
    name, number = parts.get("month"), parts.get("number")
    if name and name.lower() in _WORDS and not (parts.get("year") or parts.get("in") or name[0].isupper()):
        return
    month = _MONTHS[name.lower()] if name else int(number or 0)
    for year in [int(parts["year"])] if parts.get("year") else years:
        if parts.get("day"):
            yield from _span(year, month, int(parts["day"]), 1)
        elif month:
            yield from _span(year, month, 1, calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 1)
        else:
            yield DateRange(date(year, 1, 1), date(year, 12, 31))


def _span(year: int, month: int, day: int, days: int) -> Iterator[DateRange]:
    try:
        first = date(year, month, day)
    except ValueError:  # the 31st of June
        return
    yield DateRange(first, first + timedelta(days=days - 1))


def _ago(match: re.Match[str], today: date) -> Iterator[DateRange]:
    """Days ago are exact; of the larger units what people call that, half a unit before and after."""
    written, unit = match["count"].lower(), match["unit"].lower()
    count = int(written) if written.isdigit() else _COUNTS[written]
    days, slack = {"day": (1, 0), "week": (7, 3), "month": (30, 15), "year": (365, 180)}[unit]
    try:
        middle = today - timedelta(days=days * count)
        yield DateRange(middle - timedelta(days=slack), min(today, middle + timedelta(days=slack)))
    except OverflowError:  # before there was a calendar
        return


def _relative_day(match: re.Match[str], today: date) -> Iterator[DateRange]:
    monday = today - timedelta(days=today.weekday())
    if match["day"]:
        back = {"the day before yesterday": 2, "yesterday": 1, "last night": 1}.get(match["day"].lower(), 0)
        day = today - timedelta(days=back)
        yield DateRange(day, day)
    elif match["weekday"]:
        back = (today.weekday() - _WEEKDAYS[match["weekday"].lower()]) % 7
        if not back and not match[0].lower().startswith("on"):
            back = 7
        day = today - timedelta(days=back)
        yield DateRange(day, day)
    else:
        unit, last = match["unit"].lower(), match["which"].lower() == "last"
        if unit == "week":
            first = monday - timedelta(days=7 * last)
            yield DateRange(first, first + timedelta(days=6))
        elif unit == "weekend":
            saturday = monday + timedelta(days=5 - 7 * last)
            yield DateRange(saturday, saturday + timedelta(days=1))
        elif unit == "month":
            ends = today.replace(day=1) - timedelta(days=1)
            first = ends.replace(day=1) if last else today.replace(day=1)
            yield DateRange(first, ends if last else today)
        else:
            year = today.year - last
            yield DateRange(date(year, 1, 1), date(year, 12, 31))
