"""Dates are the more alike the nearer they are, from one day to two years, anywhere in the calendar."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.hd.encoders import RecordEncoder, canonical
from tests.hd.spaces import NOISE, similarities, space

ENCODERS = RecordEncoder(space())
STEPS = (0, 1, 3, 7, 30, 90, 365, 730)


@given(st.dates(date(1, 1, 1), date(9990, 1, 1)))
@example(date(1, 1, 1))
@example(date(1970, 1, 1))
@example(date(2026, 5, 1))
def test_nearer_days_are_more_alike(day: date) -> None:
    falling = similarities(ENCODERS, "date", [(day + timedelta(step)).isoformat() for step in STEPS])
    assert falling[0] == 1
    assert all(former > latter for former, latter in pairwise(falling))
    expected = [np.mean([max(0, 1 - step / scale) for scale in (1, 7, 61, 730)]) for step in STEPS]
    assert falling == pytest.approx(expected, abs=NOISE)


def test_the_day_before_is_as_alike_as_the_day_after() -> None:
    _, before, after = similarities(ENCODERS, "date", ["2026-05-01", "2026-04-30", "2026-05-02"])
    assert before == pytest.approx(after, abs=NOISE)


def test_the_first_and_the_last_day_have_hypervectors() -> None:
    assert ENCODERS.encode_fillers("date", ["0001-01-01", "9999-12-31"]).shape == (2, 160)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2026-05-01", "2026-05-01"),
        (" 2026-05-01 ", "2026-05-01"),
        ("20260501", "2026-05-01"),
        ("2026-05-01T23:30", "2026-05-01"),
        ("2026-05-01T23:30:00Z", "2026-05-01"),
        ("2026-05-01T23:30-05:00", "2026-05-01"),
        ("2026-05-01 00:30+02:00", "2026-05-01"),
        ("2024-02-29", "2024-02-29"),
    ],
)
def test_a_day_has_one_form_and_a_moment_is_the_day_it_is_written_with(given: str, kept: str) -> None:
    assert canonical("date", given) == canonical("date", kept) == kept


@given(st.datetimes())
def test_the_form_of_any_moment_is_its_own_form(moment: object) -> None:
    kept = canonical("date", str(moment))
    assert canonical("date", kept) == kept


@pytest.mark.parametrize(
    "given",
    [
        *("", "today", "2026-13-01", "2026-02-30", "1.5.2026", "2026-05", "?"),
        *("2026-W18", "2026-W18-5", "2026-05-01x10:00", "1" * 5000, "2026-05-01T10:00 CET", "2026-05-01T25:00"),
    ],
)
def test_what_is_no_day_is_told_what_is_expected(given: str) -> None:
    said = "a day is expected, as in 2026-05-01|there is no such (day|time)"
    with pytest.raises(ValueError, match=said) as refused:
        canonical("date", given)
    assert len(str(refused.value)) < 250
    with pytest.raises(ValueError, match=said):
        ENCODERS.encode_fillers("date", [given])
