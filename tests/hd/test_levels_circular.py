"""Hours and days of the week are alike by how near they are round the clock and the week."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mnemic.hd.encoders import RecordEncoder, canonical
from mnemic.hd.levels import WEEKDAYS
from tests.hd.spaces import NOISE, similarities, space

ENCODERS = RecordEncoder(space())


@pytest.mark.parametrize("hour", range(24))
def test_an_hour_is_less_alike_the_farther_off_in_both_directions(hour: int) -> None:
    later = similarities(ENCODERS, "hour", [str((hour + step) % 24) for step in range(13)])
    earlier = similarities(ENCODERS, "hour", [str((hour - step) % 24) for step in range(13)])
    for falling in (later, earlier):
        assert falling[0] == 1
        assert all(former > latter - NOISE for former, latter in pairwise(falling))
        assert falling[1] == pytest.approx(0.56, abs=NOISE)
        assert falling[3] == pytest.approx(0.33, abs=NOISE)
        assert falling[12] == pytest.approx(0, abs=NOISE)


@pytest.mark.parametrize("day", range(7))
def test_a_day_of_the_week_is_less_alike_the_farther_off_round_the_week(day: int) -> None:
    falling = similarities(ENCODERS, "weekday", [WEEKDAYS[(day + step) % 7] for step in range(4)])
    assert falling == pytest.approx([1, 0.36, 0.21, 0.07], abs=NOISE)
    backwards = similarities(ENCODERS, "weekday", [WEEKDAYS[(day - step) % 7] for step in range(4)])
    assert backwards == pytest.approx(falling, abs=NOISE)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        *((str(hour), str(hour)) for hour in range(24)),
        ("07", "7"),
        ("14:30", "14"),
        ("23:59:59", "23"),
        (" 2 PM ", "14"),
        ("2pm", "14"),
        ("1 am", "1"),
        ("12 am", "0"),
        ("12pm", "12"),
        ("11:05 am", "11"),
    ],
)
def test_an_hour_has_one_form(given: str, kept: str) -> None:
    assert canonical("hour", given) == canonical("hour", kept) == kept


@pytest.mark.parametrize("given", ["", "24", "-1", "noon", "0 pm", "13 pm", "14:60", "1.5", "٣", "?"])
def test_what_is_no_hour_is_told_what_is_expected(given: str) -> None:
    with pytest.raises(ValueError, match="an hour is from 0 to 23"):
        canonical("hour", given)


@pytest.mark.parametrize("role", ["hour", "weekday"])
def test_what_is_none_is_not_told_at_length(role: str) -> None:
    with pytest.raises(ValueError, match="not 'noon noon ") as refused:
        canonical(role, "noon " * 10_000)
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize("day", WEEKDAYS)
def test_a_day_of_the_week_is_known_by_its_first_letters(day: str) -> None:
    for given in (day, day[:3], day[:4].upper(), f" {day.title()} "):
        assert canonical("weekday", given) == day


@pytest.mark.parametrize("given", ["", "mo", "someday", "mondays", "1", "?"])
def test_what_is_no_day_of_the_week_is_told_what_is_expected(given: str) -> None:
    with pytest.raises(ValueError, match="a day of the week is expected"):
        canonical("weekday", given)
