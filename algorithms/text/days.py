"""Extracts the dates that a question names ("last Tuesday", "in May", ISO 8601).

Above it stands `mnemic.actors.recall.ranking.day_signal`; below it the languages' words and patterns
(`mnemic.algorithms.text.languages`): ``7 July 2023``, ``Oct. 13th``, ``im Mai``, ``ayer``, ``il y a deux semaines``,
``last Tuesday``. ISO 8601, ``10.11.2026`` (dots: the day before the month) and so many units ago
(``hace dos semanas``) are read in any of them. What could as well be something else is left alone ("you may 10 times",
"5/6/2026" in English, "march on"), and so is a day that only bounds a time ("since June"), for it tells nothing of how
near an answer was said.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from typing import Any, NamedTuple

from mnemic.algorithms.text.languages.en import ENGLISH
from mnemic.algorithms.text.languages.language import DateWords, Language
from mnemic.algorithms.text.languages.table import WITH_SPACES
from mnemic.algorithms.text.terms import fold

_IN_ANY_LANGUAGE = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?P<year>\d{4})-(?P<number>\d\d)-(?P<day>\d\d)\b",
        r"\b(?P<year>(?:19|20)\d\d)-(?P<number>\d\d)\b(?!-)",
        r"(?<![\w.])(?P<day>\d{1,2})\.(?P<number>\d{1,2})\.(?P<year>(?:19|20)\d\d)(?![\w-]|\.\d)",
    )
)
_ENDS = re.compile(r"\s*(?:$|[^\w\s])")
_BOUND_CHARS = 24  # before a day, where what makes it a bound may begin
_EARLIEST, _LATEST = date(3, 1, 1), date(9998, 1, 1)  # nearer to its ends, the calendar may lack what is named
MAX_CHARS = 4_000  # characters: a log that is pasted into a question is no question
MAX_RANGES = 16  # of more days none is what is asked for
_MOST_YEARS = 4  # a day without a year is one of so many years' at most, the latest


class DateRange(NamedTuple):
    """Some days, the first and the last included."""

    first: date
    last: date


def extract_dates(
    text: str, today: date, earliest: date, latest: date, languages: Iterable[Language] = (ENGLISH,)
) -> list[DateRange]:
    """The days that a text names, in order of the patterns, each span once; none where it names none, or too many.

    A day without a year is meant in each of the years in question. A day that no calendar has names none.

    Args:
        today: what ``yesterday`` is told from; within two years of the calendar's ends, nothing is.
        earliest: the first day in question.
        latest: the last one.
        languages: those that the text may name days in, its own first: of that alone ``5/6/2026`` is read. So many
            units ago are read in all: a question of three words hardly tells its language.
    """
    text = fold(text[:MAX_CHARS])
    languages = tuple(languages)
    if not _may_name_days(text, languages):
        return []
    years = range(max(earliest.year, latest.year - _MOST_YEARS + 1), latest.year + 1)
    spoken = [_compile(one.dates) for one in languages if one.dates is not None]
    by = {pattern: words for words in reversed(spoken) for pattern in (*words.absolute, *words.relative)}
    known = [pattern for words in spoken for pattern in words.absolute]
    known = [one for one in known if "number" not in one.groupindex or by[one] is spoken[0]]  # day and month, or else
    found: list[DateRange] = []
    for match in _matches(text, [*_IN_ANY_LANGUAGE, *sorted(known, key=_vagueness)]):
        words = by.get(match.re)
        if any(_is_bound(match, one) for one in spoken) or (words is not None and _is_other_word(match, words)):
            continue
        found += _spans(match, years, {} if words is None else words.words["month"], _part_of_month(match, words))
    if _EARLIEST <= today <= _LATEST:
        relative = [pattern for words in spoken for pattern in words.relative]
        for match in _matches(text, [*relative, *_ago_in_any_language()]):
            words = by.get(match.re) or _ago_in_any_language()[match.re]
            found += _relative(match, words.relative[match.re], words.words, today)
    named = list(dict.fromkeys(found))
    return named if len(named) <= MAX_RANGES else []


def _may_name_days(text: str, languages: Iterable[Language]) -> bool:
    """Whether a text holds a digit, or a word that the patterns of a language cannot do without: few questions do, and
    to compile the patterns takes longer than all else that is looked up of them.
    """
    lower = text.lower()
    if any(letter.isdigit() for letter in lower):
        return True
    spoken = dict.fromkeys(one.dates for one in (*languages, *WITH_SPACES) if one.dates is not None)
    return any(word in lower for dates in spoken for word in _telling_words(dates))


@cache
def _telling_words(dates: DateWords) -> tuple[str, ...]:
    """Of each pattern without digits one of these is a part, without accents."""
    of = (dates.months, dates.days_back, dates.units, dates.spans, dates.weekdays)
    return tuple({fold(word).lower() for words in of for word in words})


class _Patterns(NamedTuple):
    """What a language names days by, compiled, without accents."""

    absolute: tuple[re.Pattern[str], ...]
    relative: dict[re.Pattern[str], str]
    """Each with the field of `DateWords` that it is of."""
    bounds: re.Pattern[str]
    also_words: frozenset[str]
    parts: re.Pattern[str]
    """What stands right before a month and means a part of it."""
    words: dict[str, dict[str, Any]]
    """What the words mean that a group of that name matches."""


@cache
def _compile(dates: DateWords) -> _Patterns:
    known: dict[str, Mapping[str, Any]] = {
        "month": dates.months,
        "weekday": dates.weekdays,
        "count": dates.counts,
        "unit": dates.units,
        "span": dates.spans,
        "phrase": dates.days_back,
    }
    words = {name: {fold(word): meant for word, meant in of.items()} for name, of in known.items()}
    groups = {
        name: "|".join(map(re.escape, sorted(of, key=len, reverse=True))) + (r"|\d{1,3}" if name == "count" else "")
        for name, of in words.items()
    }
    groups |= {"day": r"\d{1,2}", "number": r"\d{1,2}", "year": r"(?:19|20)\d\d", "in": fold(dates.month_prepositions)}

    def pattern(written: str) -> re.Pattern[str]:
        written = fold(written).replace("{month}", r"{month}\b\.?").replace("{year}", r"{year}\b")
        for name, group in groups.items():
            written = written.replace(f"{{{name}}}", f"(?P<{name}>{group})")
        return re.compile(rf"\b(?:{written})(?!\w)", re.IGNORECASE)

    relative = {pattern("{phrase}"): "days_back"}
    for field in ("ago", "last", "this", "last_weekday", "on_weekday"):
        relative |= {pattern(one): field for one in getattr(dates, field)}
    bounds = re.compile(rf"\b(?:{fold(dates.bounds)}) ?$", re.IGNORECASE)
    parts = re.compile(rf"\b({'|'.join(dates.month_parts) or '(?!)'})(?: the)?[ -]*$", re.IGNORECASE)
    words["part"] = {fold(word): meant for word, meant in dates.month_parts.items()}
    return _Patterns(tuple(map(pattern, dates.dates)), relative, bounds, dates.also_words, parts, words)


@cache
def _ago_in_any_language() -> dict[re.Pattern[str], _Patterns]:
    """The patterns of so many units before today, each with the words of its language."""
    spoken = [_compile(one.dates) for one in WITH_SPACES if one.dates is not None]
    return {pattern: words for words in spoken for pattern, field in words.relative.items() if field == "ago"}


def _vagueness(pattern: re.Pattern[str]) -> tuple[bool, bool, bool]:
    """Days come before months, and months before years, in whichever language."""
    return "day" not in pattern.groupindex, "in" in pattern.groupindex, "month" not in pattern.groupindex


def _matches(text: str, patterns: Iterable[re.Pattern[str]]) -> Iterator[re.Match[str]]:
    """Where patterns match, one after the other, each stretch of the text once."""
    taken = bytearray(len(text))  # by character
    for pattern in patterns:
        for match in pattern.finditer(text):
            start, stop = match.span()
            if not any(taken[start:stop]):
                taken[start:stop] = b"\x01" * (stop - start)
                yield match


def _is_bound(match: re.Match[str], words: _Patterns) -> bool:
    return words.bounds.search(match.string, max(0, match.start() - _BOUND_CHARS), match.start()) is not None


def _is_other_word(match: re.Match[str], words: _Patterns) -> bool:
    """Whether its month may be another word, and nothing says that it is one."""
    parts = match.groupdict()
    name = parts.get("month") or ""
    if name.lower() not in words.also_words or parts.get("year") or parts.get("in") or name[0].isupper():
        return False
    is_day_first = bool(parts.get("day")) and match.start("day") < match.start("month")
    return not (is_day_first and _ENDS.match(match.string, match.end()))  # "of 10 may 2 fail" names no day


def _part_of_month(match: re.Match[str], words: _Patterns | None) -> tuple[int, int]:
    """The first and the last day of a month that is named: of all of it, or of the part that a word before it means."""
    if words is None or not match.groupdict().get("month"):
        return 1, 31
    at = match.start("month")
    part = words.parts.search(match.string, max(0, at - _BOUND_CHARS), at)
    return (1, 31) if part is None else words.words["part"][part[1].lower()]


def _spans(match: re.Match[str], years: range, months: Mapping[str, int], part: tuple[int, int]) -> Iterator[DateRange]:
    parts = match.groupdict()
    month = months[parts["month"].lower()] if parts.get("month") else int(parts.get("number") or 0)
    for year in [int(parts["year"])] if parts.get("year") else years:
        if parts.get("day"):
            yield from _span(year, month, int(parts["day"]), 1)
        elif month:
            last = min(part[1], calendar.monthrange(year, month)[1]) if 1 <= month <= 12 else part[0]
            yield from _span(year, month, part[0], last - part[0] + 1)
        else:
            yield DateRange(date(year, 1, 1), date(year, 12, 31))


def _span(year: int, month: int, day: int, days: int) -> Iterator[DateRange]:
    try:
        first = date(year, month, day)
    except ValueError:  # the 31st of June
        return
    yield DateRange(first, first + timedelta(days=days - 1))


def _relative(match: re.Match[str], field: str, words: Mapping[str, Mapping[str, Any]], today: date) -> list[DateRange]:
    """What a stretch of a question means that is told from today.

    Args:
        field: of `DateWords`, whose pattern it matches.
    """
    parts: dict[str, Any] = {name: words[name].get(written.lower()) for name, written in match.groupdict().items()}
    if field == "ago":
        return _ago(parts["count"] or int(match["count"]), parts["unit"], today)
    if field in ("this", "last"):
        return [_whole(parts["span"], field == "last", today)]
    back = parts["phrase"] if field == "days_back" else (today.weekday() - parts["weekday"]) % 7
    if field == "last_weekday" and not back:
        back = 7
    day = today - timedelta(days=back)
    return [DateRange(day, day)]


def _ago(count: int, unit: str, today: date) -> list[DateRange]:
    """Days ago are exact; of the larger units what people call that, half a unit before and after."""
    days, slack = {"day": (1, 0), "week": (7, 3), "month": (30, 15), "year": (365, 180)}[unit]
    try:
        middle = today - timedelta(days=days * count)
        return [DateRange(middle - timedelta(days=slack), min(today, middle + timedelta(days=slack)))]
    except OverflowError:  # before there was a calendar
        return []


def _whole(span: str, is_last: bool, today: date) -> DateRange:
    """The week, weekend, month or year of today, or the one before it."""
    monday = today - timedelta(days=today.weekday())
    if span == "week":
        first = monday - timedelta(days=7 * is_last)
        return DateRange(first, first + timedelta(days=6))
    if span == "weekend":
        saturday = monday + timedelta(days=5 - 7 * is_last)
        return DateRange(saturday, saturday + timedelta(days=1))
    if span == "month":
        ends = today.replace(day=1) - timedelta(days=1)
        first = ends.replace(day=1) if is_last else today.replace(day=1)
        return DateRange(first, ends if is_last else today)
    year = today.year - is_last
    return DateRange(date(year, 1, 1), date(year, 12, 31))
