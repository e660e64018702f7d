"""Times as people write them on a command line."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import BadTime
from mnemic.actors.kernel.times import UTC_ZONE, parse_time
from mnemic.cli.terminal.dates import parse_local_span

NOW = datetime(2026, 11, 27, 17, 30)  # a Friday


def local(text: str) -> datetime:
    return datetime.fromtimestamp(parse_local_span(text, NOW, UTC_ZONE)[0] / 1e6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yesterday", datetime(2026, 11, 26)),
        ("today", datetime(2026, 11, 27)),
        ("2w", datetime(2026, 11, 13)),
        ("2 weeks ago", datetime(2026, 11, 13)),
        ("3d", datetime(2026, 11, 24)),
        ("1 month ago", datetime(2026, 10, 27)),
        ("2h", datetime(2026, 11, 27, 15, 30)),
        ("2026-9-1", datetime(2026, 9, 1)),
        ("2026-9-1 14:05", datetime(2026, 9, 1, 14, 5)),
        ("2026-9-1T5:00", datetime(2026, 9, 1, 5)),
        ("2026-09-01 5pm", datetime(2026, 9, 1, 17)),
        ("2026-09-01Z", datetime(2026, 9, 1)),
        ("2026-09-01", datetime(2026, 9, 1)),
        ("last tuesday", datetime(2026, 11, 24)),
        ("Last Tuesday", datetime(2026, 11, 24)),
        ("last month", datetime(2026, 10, 1)),
        ("last week", datetime(2026, 11, 16)),
        ("this week", datetime(2026, 11, 23)),
        ("2026-W36", datetime(2026, 8, 31)),
        ("2026-w36-3", datetime(2026, 9, 2)),
        ("september", datetime(2026, 9, 1)),
        ("2026-09", datetime(2026, 9, 1)),
        ("2025", datetime(2025, 1, 1)),
        ("3 Nov 2025", datetime(2025, 11, 3)),
        ("yesterday 14:00", datetime(2026, 11, 26, 14)),
    ],
)
def test_a_time_is_read_as_people_write_it(text: str, expected: datetime) -> None:
    assert local(text) == expected


@pytest.mark.parametrize("text", ["2026-09-21T18:17:13.608Z", "2026-09-21T20:17:13.608+02:00", "2026-09-21t18:17:13z"])
def test_a_time_with_an_offset_is_what_it_says(text: str) -> None:
    assert parse_local_span(text, NOW, UTC_ZONE)[0] == parse_time(text.upper(), UTC_ZONE)


@pytest.mark.parametrize(
    "text",
    [
        *("", "12", "deflaut", "soon enough", "2w x", "Q3 2026", "2026-13-01", "2026-02-30", "2026-09-01 noonish"),
        *("01/02/2026", "01-02-2026", "1-2-2026", "1/2", "01/02", "1.2", "1.2.2026", "1/2 5pm"),
    ],
)
def test_what_is_no_time_or_could_be_two_is_refused(text: str) -> None:
    with pytest.raises(BadTime):
        parse_local_span(text, NOW, UTC_ZONE)


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2200, 1, 1)))
def test_what_a_day_is_written_as_is_read_back(moment: datetime) -> None:
    unpadded = f"{moment.year}-{moment.month}-{moment.day}"
    assert local(unpadded) == datetime(moment.year, moment.month, moment.day)


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2026-09-01", 24),
        ("2026-9-1", 24),
        ("20260901", 24),
        ("2026-09-01Z", 24),
        ("yesterday", 24),
        ("last tuesday", 24),
        ("2w", 24),
        ("2026-02", 28 * 24),
        ("2026-W36", 7 * 24),
        ("2026w36", 7 * 24),
        ("2026-W36-3", 24),
        ("2026W363", 24),
        ("2026-W36-3T05:00", None),
        ("last week", 7 * 24),
        ("1 week ago", 24),
        ("september", 30 * 24),
        ("2025", 365 * 24),
        ("2026-09-01 5pm", None),
        ("2026-09-01T00:00", None),
        ("2h", None),
        ("9999-12-31", None),
    ],
)
def test_what_names_a_day_a_week_a_month_or_a_year_says_when_it_is_over(text: str, hours: int | None) -> None:
    start, end = parse_local_span(text, NOW, UTC_ZONE)
    assert (None if end is None else (end - start) / 3_600e6) == hours
