"""Reads for which days a clause says that something holds: ``until 2 Nov``, ``since Monday``, ``for the next 3 weeks``.

Above it stands `mnemic.algorithms.knowledge.extraction.statements`; the names of months, weekdays and numbers are those
of `mnemic.algorithms.text.languages.en`. English only: of other languages nothing is found.

Days are half-open: the first on which it holds, and the first on which it does no longer. ``until D`` leaves D out;
``through D``, ``from A to B`` and ``until the end of D`` take it in, to its last day where D is a month or a year.
Weeks run Monday to Monday. A day without a year is the one that the words leave: the last one after ``since``, the
next one after ``until``, the nearest after ``from``. What no calendar can tell (``since spring``, ``until the budget is
approved``) and mere dates of events (``on 12 May``, ``by June``) say nothing here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Literal, NamedTuple

from mnemic.algorithms.text.languages.en import ENGLISH

Side = Literal["last", "next", "nearest"]
"""Which of the days that a name may mean, as seen from the day on which it was said."""
_Days = tuple[date, date]

_NAMES = ENGLISH.dates
assert _NAMES is not None  # English has them
_MONTHS, _WEEKDAYS, _COUNTS, _UNITS = _NAMES.months, _NAMES.weekdays, _NAMES.counts, _NAMES.units
_EARLIEST, _LATEST = date(3, 1, 1), date(9990, 1, 1)  # so far from the ends of the calendar every sum exists
_MAX_COUNT = 500  # units ahead


def _any(words: object) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))  # type: ignore[call-overload]


_MONTH = rf"(?:{_any(_MONTHS)})\b\.?"
_WEEKDAY = rf"(?:{_any(_WEEKDAYS)})\b"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?\b"
_YEAR = r"(?:19|20)\d\d\b(?![-:.]\d)"
_NAMED = "|".join(
    (
        r"\d{4}-\d\d-\d\d\b",
        r"\d{4}-\d\d\b",
        rf"(?:(?:next |last |this )?{_WEEKDAY},? )?(?:the )?{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?",
        rf"(?:{_WEEKDAY},? )?{_MONTH} (?:the )?{_DAY}(?![:.]\d)(?:,? {_YEAR})?",
        rf"{_MONTH},? (?:of )?{_YEAR}",
        rf"(?:next |last |this )?(?:{_MONTH}|{_WEEKDAY})",
        _YEAR,
        r"the \d{1,2}(?:st|nd|rd|th)\b",
        r"today\b|tomorrow\b|yesterday\b|now\b|tonight\b|this morning\b",
        r"(?:next|last|this|the) (?:week|month|year)\b",
    )
).replace(" ", r"\ ")  # the phrases are written with free spaces
_ANY_YEAR = re.compile(r"\d{4}")
_ANY_MONTH = re.compile(rf"\b{_MONTH}", re.IGNORECASE)
_COUNT = rf"(?:{_any(_COUNTS)}|\d{{1,3}})"
_PHRASE = rf"""\b(?:
    from\ (?:the\ )?(?P<a>{_NAMED}|\d{{1,2}})\ ?(?:to|until|till|through|-|–)\ ?
        (?:(?:the\ )?end\ of\ )?(?P<b>{_NAMED})
    |(?!from\ \d{{4}}(?!-|\ on))(?P<start>since|from|as\ of|effective
            |starting(?:\ on|\ from|\ in)?|beginning(?:\ on|\ in)?)
        \ (?:the\ (?:start|beginning)\ of\ )?(?P<first>{_NAMED})(?:\ (?:on(?:wards?)?|onwards?|forward)\b(?!\ the\b))?
    |(?P<stop>until|till|til|up\ to|through)\ (?P<end>(?:the\ (?:very\ )?)?end\ of\ )?
        (?P<last>{_NAMED}|(?<=end\ of\ )(?:week|month|year)\b)
    |(?:for|over|during)\ the\ (?:next|coming)\ (?:(?P<count>{_COUNT})\ )?(?P<unit>{_any(_UNITS)})
    |(?P<now>this\ (?:week|month)(?!'s)|today(?!['’]s))
    )(?!\w)(?!:\d|\ ?[ap]m\b)"""
TRIGGERS = frozenset(
    [
        "since",
        "from",
        "as",
        "starting",
        "beginning",
        "effective",
        "until",
        "till",
        "til",
        "up",
        "through",
        "for",
        "over",
        "during",
        "this",
        "today",
    ]
)
"""One of these words stands in each phrase: a text without them need not be searched."""


class DayPhrase(NamedTuple):
    """Words of a text that say for which days something holds."""

    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last one."""
    match: re.Match[str]
    """What the phrase is made of."""

    @property
    def is_range(self) -> bool:
        """Whether it names two days, from the first to the last."""
        return bool(self.match["a"])

    def days(self, said_on: date, *, past: bool = False) -> tuple[date | None, date | None]:
        """The first day, and the day after the last one; ``None`` for what is not told.

        Args:
            said_on: the day on which it was said.
            past: whether it is told of a time that is over, so that ``until March`` is the last March.
        """
        return _days(self.match, said_on, past) if _EARLIEST <= said_on <= _LATEST else (None, None)


def day_phrases(text: str) -> Iterator[DayPhrase]:
    """The phrases of a text, in order."""
    for match in _phrase().finditer(text):
        yield DayPhrase(match.start(), match.end(), match)


@functools.cache
def _phrase() -> re.Pattern[str]:
    """Made when it is first asked for: that takes 5 ms."""
    return re.compile(_PHRASE, re.IGNORECASE | re.VERBOSE | re.ASCII)  # so that matches are in the tables in lower case


def _days(match: re.Match[str], said_on: date, past: bool) -> tuple[date | None, date | None]:
    if match["a"]:
        return _range(match["a"], match["b"], said_on, past)
    if match["start"]:
        since = match["start"].lower() == "since"
        named = _named(match["first"], said_on, "last" if since or past else "nearest")
        return (named[0] if named else None), None
    if match["stop"]:
        named = _named(match["last"], said_on, "last" if past else "next")
        inclusive = match["end"] or match["stop"].lower() == "through"
        return None, named[bool(inclusive)] if named else None
    if match["unit"]:
        last = _later(said_on, match["count"], _UNITS[match["unit"].lower()])
        return (said_on, last) if last is not None else (None, None)
    return _now(match["now"], said_on)


def _now(written: str, said_on: date) -> _Days:
    if written.lower().endswith("week"):
        monday = said_on - timedelta(days=said_on.weekday())
        return monday, monday + timedelta(days=7)
    if written.lower().endswith("month"):
        return _month(said_on.year, said_on.month)
    return said_on, said_on + timedelta(days=1)


def _next_year(days: _Days) -> _Days:
    moved = [one.replace(year=one.year + 1, day=min(one.day, 28) if one.month == 2 else one.day) for one in days]
    return moved[0], moved[1]


def _later(day: date, written: str | None, unit: str) -> date | None:
    count = 1 if written is None else _COUNTS.get(written.lower()) or int(written)
    if not 0 < count <= _MAX_COUNT:
        return None
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = day.month - 1 + count * (12 if unit == "year" else 1)
    year, month = day.year + months // 12, months % 12 + 1
    return date(year, month, min(day.day, (_month(year, month)[1] - timedelta(days=1)).day)) if year < 9999 else None


def _range(first: str, last: str, said_on: date, past: bool) -> tuple[date | None, date | None]:
    side: Side = "last" if past else "nearest"
    has_year = _ANY_YEAR.search(last) is not None
    end = _named(last, said_on, side)
    if end is None:
        return None, None
    if first.isdigit() and len(first) < 3:  # "from 3 to 14 May"
        year, month = end[0].year, end[0].month
        start = _valid(lambda: date(year, month, int(first)), 1)
    else:
        start = _named(first, said_on, side)
        if start is not None and not _EARLIEST <= start[0] <= _LATEST:
            return None, None
        if start is not None and start[0] >= end[1] and not has_year:  # "from October to March"
            end = _named(last, start[0], "next") or end
    if start is None or start[0] >= end[1] or not _EARLIEST <= start[0] <= end[1] <= _LATEST:
        return None, None
    if not past and end[1] <= said_on and not has_year and _ANY_MONTH.search(last):
        start, end = _next_year(start), _next_year(end)  # told of as coming
    return start[0], end[1]


def _named(written: str, said_on: date, side: Side) -> _Days | None:
    """The days that a name means, half-open; ``None`` where the calendar has none."""
    words = re.findall(r"\d+|[a-z]+", written.lower())
    numbers = [one for one in words if one.isdigit()]
    year = next((int(one) for one in numbers if len(one) == 4), None)
    month = next((_MONTHS[one] for one in words if one in _MONTHS), None)
    day = next((int(one) for one in numbers if len(one) < 3), None)
    if re.match(r"\d{4}-", written):
        parts = [int(one) for one in numbers]
        return _valid(lambda: date(*parts), 1) if len(parts) == 3 else _valid_month(parts[0], parts[1])
    if day is not None and month is not None:
        months, days = month, day
        return _of_years(lambda one: _valid(lambda: date(one, months, days), 1), year, said_on, side)
    if month is not None:
        named = month
        if words[0] in ("next", "last"):
            side = "next" if words[0] == "next" else "last"
        return _of_years(lambda one: _month(one, named), year, said_on, side)
    if year is not None:
        return (date(year, 1, 1), date(year + 1, 1, 1))
    if day is not None:
        return _of_months(day, said_on, "next" if side == "nearest" else side)
    return _spoken(words, said_on, side)


def _spoken(words: list[str], said_on: date, side: Side) -> _Days | None:
    """Names told from the day on which they are said: ``next week``, ``Monday``, ``tomorrow``."""
    weekday = next((_WEEKDAYS[one] for one in words if one in _WEEKDAYS), None)
    if weekday is not None:
        back = (said_on.weekday() - weekday) % 7 or 7
        is_past = words[0] == "last" or (side == "last" and words[0] != "next")
        found = said_on - timedelta(days=back) if is_past else said_on + timedelta(days=7 - back if back < 7 else 7)
        return found, found + timedelta(days=1)
    if words[-1] in ("week", "month", "year"):
        step = {"next": 1, "last": -1}.get(words[0], 0)
        if words[-1] == "year":
            return date(said_on.year + step, 1, 1), date(said_on.year + step + 1, 1, 1)
        if words[-1] == "month":
            months = said_on.month - 1 + step
            return _month(said_on.year + months // 12, months % 12 + 1)
        monday = said_on + timedelta(days=7 * step - said_on.weekday())
        return monday, monday + timedelta(days=7)
    found = said_on + timedelta(days={"tomorrow": 1, "yesterday": -1}.get(words[-1], 0))
    return found, found + timedelta(days=1)


def _of_years(of: Callable[[int], _Days | None], year: int | None, said_on: date, side: Side) -> _Days | None:
    if year is not None:
        return of(year)
    near = (of(one) for one in (said_on.year - 1, said_on.year, said_on.year + 1))
    return _chosen([one for one in near if one], said_on, side)


def _of_months(day: int, said_on: date, side: Side) -> _Days | None:
    """A day of this month, of the one before or of the next one."""
    first = said_on.replace(day=1)
    months = ((first - timedelta(days=1)), first, first + timedelta(days=32))
    near = (_valid(functools.partial(date, one.year, one.month, day), 1) for one in months)
    return _chosen([one for one in near if one], said_on, side)


def _chosen(days: list[_Days], said_on: date, side: Side) -> _Days | None:
    if side == "last":
        days = [one for one in days if one[0] <= said_on]
    elif side == "next":
        days = [one for one in days if one[1] > said_on]
    return min(days, key=lambda one: abs((one[0] - said_on).days), default=None)


def _month(year: int, month: int) -> _Days:
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _valid_month(year: int, month: int) -> _Days | None:
    return _month(year, month) if 1 <= month <= 12 and 1 <= year < 9999 else None


def _valid(day: Callable[[], date], length: int) -> _Days | None:
    try:
        first = day()
        return first, first + timedelta(days=length)
    except (ValueError, OverflowError):  # the 31st of June
        return None
