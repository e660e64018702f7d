"""Which days a question names, and which it only seems to name."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.text.days import MAX_CHARS, MAX_RANGES, DateRange, extract_dates
from mnemic.algorithms.text.languages.language import Language
from mnemic.algorithms.text.languages.table import BY_CODE, WITH_SPACES

TODAY = date(2026, 11, 22)  # a Sunday
KNOWN = (date(2026, 9, 1), date(2026, 11, 20))


def _days(text: str, known: tuple[date, date] = KNOWN) -> list[tuple[str, str]]:
    return [(str(first), str(last)) for first, last in extract_dates(text, TODAY, *known)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What broke on 2026-10-18?", "2026-10-18", "2026-10-18"),
        ("what was decided in 2026-10?", "2026-10-01", "2026-10-31"),
        ("What did Ann say on 7 July, 2023?", "2023-07-07", "2023-07-07"),
        ("on the 2nd of February 2024", "2024-02-02", "2024-02-02"),
        ("on Oct. 13th", "2026-10-13", "2026-10-13"),
        ("the October 13, 2023 talk", "2023-10-13", "2023-10-13"),
        ("Sept 2 2025", "2025-09-02", "2025-09-02"),
        ("in February 2024", "2024-02-01", "2024-02-29"),
        ("last may", "2026-05-01", "2026-05-31"),
        ("at the beginning of october", "2026-10-01", "2026-10-10"),
        ("in early February 2024", "2024-02-01", "2024-02-10"),
        ("mid-October", "2026-10-11", "2026-10-20"),
        ("late february 2024", "2024-02-21", "2024-02-29"),
        ("as of 10 march, which one was it", "2026-03-10", "2026-03-10"),
        ("what happened in May?", "2026-05-01", "2026-05-31"),
        ("the summer of 2023", "2023-01-01", "2023-12-31"),
        ("10 may 2023", "2023-05-10", "2023-05-10"),
        ("what did we do yesterday?", "2026-11-21", "2026-11-21"),
        ("the day before yesterday", "2026-11-20", "2026-11-20"),
        ("this morning", "2026-11-22", "2026-11-22"),
        ("last night", "2026-11-21", "2026-11-21"),
        ("last Tuesday", "2026-11-17", "2026-11-17"),
        ("last Sunday", "2026-11-15", "2026-11-15"),
        ("on Sunday", "2026-11-22", "2026-11-22"),
        ("this week", "2026-11-16", "2026-11-22"),
        ("last week", "2026-11-09", "2026-11-15"),
        ("last weekend", "2026-11-14", "2026-11-15"),
        ("this month", "2026-11-01", "2026-11-22"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("three days ago", "2026-11-19", "2026-11-19"),
        ("2 weeks ago", "2026-11-05", "2026-11-11"),
        ("ten days ago", "2026-11-12", "2026-11-12"),
        ("what was said on 10.11.2026?", "2026-11-10", "2026-11-10"),
        ("1.2.2025", "2025-02-01", "2025-02-01"),
        ("It was 31.12.1999.", "1999-12-31", "1999-12-31"),
        ("(05.6.2026)", "2026-06-05", "2026-06-05"),
        ("hace dos semanas", "2026-11-05", "2026-11-11"),
        ("hace 3 dias", "2026-11-19", "2026-11-19"),
        ("ocho dias atras", "2026-11-14", "2026-11-14"),
        ("há duas semanas", "2026-11-05", "2026-11-11"),
        ("faz doze dias", "2026-11-10", "2026-11-10"),
        ("vor zwei Wochen", "2026-11-05", "2026-11-11"),
        ("vor zwölf Tagen", "2026-11-10", "2026-11-10"),
        ("vor einem Monat", "2026-10-08", "2026-11-07"),
        ("il y a deux semaines", "2026-11-05", "2026-11-11"),
        ("il y a un mois", "2026-10-08", "2026-11-07"),
        ("il y a sept jours", "2026-11-15", "2026-11-15"),
    ],
)
def test_days_are_read_as_people_write_them(text: str, first: str, last: str) -> None:
    assert _days(text) == [(first, last)]


@pytest.mark.parametrize(
    ("code", "text", "first", "last"),
    [
        ("de", "Was war am 5. Mai 2023?", "2023-05-05", "2023-05-05"),
        ("de", "am 05.06.2026", "2026-06-05", "2026-06-05"),
        ("de", "der 3. Maerz", "2026-03-03", "2026-03-03"),
        ("de", "im Februar 2024", "2024-02-01", "2024-02-29"),
        ("de", "Ende Mai", "2026-05-01", "2026-05-31"),
        ("de", "vorgestern", "2026-11-20", "2026-11-20"),
        ("de", "Gestern Abend", "2026-11-21", "2026-11-21"),
        ("de", "vor zwei Wochen", "2026-11-05", "2026-11-11"),
        ("de", "vor 3 Tagen", "2026-11-19", "2026-11-19"),
        ("de", "letzten Dienstag", "2026-11-17", "2026-11-17"),
        ("de", "am Sonntag", "2026-11-22", "2026-11-22"),
        ("de", "letzte Woche", "2026-11-09", "2026-11-15"),
        ("de", "am vergangenen Wochenende", "2026-11-14", "2026-11-15"),
        ("de", "diesen Monat", "2026-11-01", "2026-11-22"),
        ("es", "el 5 de mayo de 2023", "2023-05-05", "2023-05-05"),
        ("es", "el 05/06/2026", "2026-06-05", "2026-06-05"),
        ("es", "en febrero del 2024", "2024-02-01", "2024-02-29"),
        ("es", "anteayer", "2026-11-20", "2026-11-20"),
        ("es", "hace tres dias", "2026-11-19", "2026-11-19"),
        ("es", "hace once meses", "2025-12-12", "2026-01-11"),
        ("es", "dos semanas atrás", "2026-11-05", "2026-11-11"),
        ("es", "hace un par de semanas", "2026-11-05", "2026-11-11"),
        ("es", "la semana pasada", "2026-11-09", "2026-11-15"),
        ("es", "el mes pasado", "2026-10-01", "2026-10-31"),
        ("es", "el fin de semana pasado", "2026-11-14", "2026-11-15"),
        ("es", "el lunes pasado", "2026-11-16", "2026-11-16"),
        ("es", "este año", "2026-01-01", "2026-12-31"),
        ("pt", "no dia 5 de maio de 2023", "2023-05-05", "2023-05-05"),
        ("pt", "em 1º de março", "2026-03-01", "2026-03-01"),
        ("pt", "em marco de 2025", "2025-03-01", "2025-03-31"),
        ("pt", "anteontem", "2026-11-20", "2026-11-20"),
        ("pt", "há três dias", "2026-11-19", "2026-11-19"),
        ("pt", "duas semanas atrás", "2026-11-05", "2026-11-11"),
        ("pt", "no mês passado", "2026-10-01", "2026-10-31"),
        ("pt", "na segunda-feira passada", "2026-11-16", "2026-11-16"),
        ("pt", "neste fim de semana", "2026-11-21", "2026-11-22"),
        ("fr", "le 5 mai 2023", "2023-05-05", "2023-05-05"),
        ("fr", "le 1er fevrier", "2026-02-01", "2026-02-01"),
        ("fr", "en août", "2026-08-01", "2026-08-31"),
        ("fr", "fin d'avril", "2026-04-01", "2026-04-30"),
        ("fr", "avant-hier", "2026-11-20", "2026-11-20"),
        ("fr", "aujourd’hui", "2026-11-22", "2026-11-22"),
        ("fr", "il y a trois jours", "2026-11-19", "2026-11-19"),
        ("fr", "la semaine dernière", "2026-11-09", "2026-11-15"),
        ("fr", "l'an dernier", "2025-01-01", "2025-12-31"),
        ("fr", "lundi dernier", "2026-11-16", "2026-11-16"),
        ("fr", "e\u0301te\u0301, le 3 de\u0301cembre 2025", "2025-12-03", "2025-12-03"),
    ],
)
def test_days_are_read_in_other_languages_alone_or_among_all(code: str, text: str, first: str, last: str) -> None:
    own = BY_CODE[code]
    for spoken in ([own], [own, *WITH_SPACES], [own, *reversed(WITH_SPACES)]):
        found = extract_dates(text, TODAY, *KNOWN, dict.fromkeys(spoken))
        assert [(str(span.first), str(span.last)) for span in found] == [(first, last)]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        *(("de", "seit dem 5. Mai"), ("de", "bis Ende März"), ("de", "ab Juni 2025"), ("de", "der Mai war schön")),
        *(
            ("es", "desde finales de mayo"),
            ("es", "a partir del 5 de mayo"),
            ("es", "pan con mayo"),
            ("es", "5 marzos"),
        ),
        *(("pt", "desde o dia 5 de maio"), ("pt", "até março de 2025"), ("pt", "na segunda versão"), ("pt", "o maio")),
        *(("fr", "depuis le 5 mai"), ("fr", "jusqu'en mars"), ("fr", "à partir d’avril"), ("fr", "la planète Mars")),
        ("en", "on 5/6/2026"),
    ],
)
def test_a_bound_or_another_word_is_no_day_in_any_language(code: str, text: str) -> None:
    own = BY_CODE[code]
    for spoken in ([own], [own, *WITH_SPACES], [own, *reversed(WITH_SPACES)]):
        assert extract_dates(text, TODAY, *KNOWN, dict.fromkeys(spoken)) == []


@pytest.mark.parametrize("language", WITH_SPACES, ids=[one.code for one in WITH_SPACES])
def test_every_word_of_a_table_is_read(language: Language) -> None:
    words = language.dates
    assert words is not None
    for names, most in ((words.months, 12), (words.weekdays, 7)):
        assert set(names.values()) == set(range(most == 12, most + (most == 12)))
    for month, number in words.months.items():
        (span,) = extract_dates(f"{month} 2025", TODAY, *KNOWN, [language])
        assert (span.first.month, span.last.month, span.first.year) == (number, number, 2025)
    for phrase, back in words.days_back.items():
        (span,) = extract_dates(f"{phrase}?", TODAY, *KNOWN, [language])
        assert span == DateRange(TODAY - timedelta(days=back), TODAY - timedelta(days=back))
    assert set(words.units.values()) == {"day", "week", "month", "year"}
    assert set(words.spans.values()) == {"weekend", "week", "month", "year"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Which database did we choose?",
        "you may 10 times",
        "they march 5 abreast",
        "may it work",
        "the 31st of June 2026",
        "version v2026-05-01",
        "on 5/6/2026",
        "2026-13-01",
        "since June",
        "from 3 October 2026 on",
        "until the early October 2026",
        "in 1024 bytes",
        "999999 days ago",
        "the mayor of Juneau",
        "release 10.11.2026.1",
        "v10.11.2026 and 1.10.11.2026",
        "10.11.20260 and 10.11.1026",
        "10.13.2026 and 32.1.2026 and 0.0.2026",
        "10.11.2026-beta",
        "since 10.11.2026",
        "hace dos",
    ],
)
def test_what_could_be_something_else_or_only_bounds_a_time_names_no_day(text: str) -> None:
    assert _days(text) == []


def test_a_day_without_a_year_is_meant_in_each_year_there_is() -> None:
    assert _days("on 5 May", (date(2023, 12, 30), date(2025, 1, 2))) == [
        ("2023-05-05", "2023-05-05"),
        ("2024-05-05", "2024-05-05"),
        ("2025-05-05", "2025-05-05"),
    ]
    assert len(_days("on 5 May", (date(1, 1, 1), date(2025, 1, 2)))) == 4


def test_a_leap_day_is_meant_only_in_the_years_that_have_it() -> None:
    assert _days("on 29 February", (date(2023, 1, 1), date(2026, 1, 1))) == [("2024-02-29", "2024-02-29")]


def test_each_day_named_counts_once_and_the_longer_reading_wins() -> None:
    named = _days("Between 3 June 2026 and June 2026, or on 2026-06-03?")
    assert sorted(named) == [("2026-06-01", "2026-06-30"), ("2026-06-03", "2026-06-03")]


@given(st.dates(date(1000, 1, 1), date(9999, 12, 31)))
def test_every_day_is_found_in_each_of_its_spellings(day: date) -> None:
    spellings = (
        day.isoformat(),
        f"{day.day} {day:%B} {day.year}",
        f"{day:%b} {day.day}, {day.year}",
        f"{day:%d.%m}.{day.year}",
        f"{day.day}.{day.month}.{day.year}",
    )
    for text in spellings if 1900 <= day.year < 2100 else spellings[:1]:
        assert extract_dates(f"What was said on {text}?", TODAY, *KNOWN) == [DateRange(day, day)]


@given(st.text(), st.dates(), st.dates(), st.timedeltas(timedelta(0), timedelta(days=4000)))
def test_any_text_at_any_time_names_days_in_their_order(text: str, today: date, first: date, more: timedelta) -> None:
    latest = min(date.max - timedelta(days=1), first) + min(more, date.max - first)
    for span in extract_dates(f"{text} yesterday, a year ago, last month, 5 May", today, first, max(first, latest)):
        assert span.first <= span.last


def test_of_a_pasted_log_no_day_is_asked_for() -> None:
    log = [f"2026-{month:02}-{day:02} ERROR" for month in range(1, 13) for day in range(1, 11)]
    first, last = date(2026, 1, 1), date(2026, 12, 31)
    assert extract_dates("\n".join(log), last, first, last) == []
    assert len(extract_dates("\n".join(log[:MAX_RANGES]), last, first, last)) == MAX_RANGES
    assert extract_dates("x " * MAX_CHARS + log[0], last, first, last) == []


@pytest.mark.parametrize("language", WITH_SPACES, ids=lambda one: one.code)
def test_no_pattern_does_without_a_digit_or_a_word_that_is_looked_for_first(language: Language) -> None:
    dates = language.dates
    assert dates is not None
    for pattern in (*dates.dates, *dates.ago, *dates.last, *dates.this, *dates.on_weekday, *dates.last_weekday):
        assert re.search(r"\{(month|unit|span|weekday|day|number|year)\}", pattern), pattern
