"""What a person writes as a time is read, and what is read is written so that it is read again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import BadTime, InvalidValue
from mnemic.actors.kernel.times import (
    MINUTE_US,
    UTC_ZONE,
    from_local,
    offset_in,
    parse_days,
    parse_time,
    read_time,
    to_iso,
    to_local_iso,
    to_local_minute,
)
from tests.clocks import NamedZone

SECOND = 1_000_000
DAY = 86_400 * SECOND
FIRST = -62_135_596_800 * SECOND  # 0001-01-01
LAST = 253_402_300_800 * SECOND - 1  # the last microsecond of 9999


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01", 0),
        ("1970-01-02", DAY),
        ("1970-01-01T00:00:01", SECOND),
        ("1970-01-01 00:00:01", SECOND),
        ("1970-01-01T00:00:01Z", SECOND),
        ("1970-01-01T02:00:01+02:00", SECOND),
        ("1969-12-31T19:00:00-05:00", 0),
        (" 1970-01-01T00:00:00.000001 ", 1),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("19700102", DAY),
        ("0001-01-01", FIRST),
        ("9999-12-31T23:59:59.999999", LAST),
    ],
)
def test_a_time_is_read_as_it_is_written(text: str, at: int) -> None:
    assert parse_time(text, UTC_ZONE) == at


@pytest.mark.parametrize(
    "text", ["", " ", "yesterday", "2026-13-01", "2026-02-30", "24:00", "2026-11-21T25:00", "1e9", "\0", "\ud800", "0"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadTime) as caught:
        parse_time(text, UTC_ZONE)
    assert caught.value.operands == {"value": text}
    assert caught.value.__suppress_context__


@given(st.integers(FIRST, LAST))
def test_what_is_written_is_read_again(at: int) -> None:
    written = to_iso(at)
    assert written is not None
    assert written.endswith("Z")
    assert parse_time(written, UTC_ZONE) == at


zones = st.timedeltas(timedelta(hours=-23, minutes=-59), timedelta(hours=23, minutes=59)).map(
    lambda offset: timezone(timedelta(minutes=offset // timedelta(minutes=1)))
)


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones))
def test_any_offset_is_read(moment: datetime) -> None:
    at = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert parse_time(moment.isoformat(), UTC_ZONE) == at


def test_a_time_without_an_offset_is_utc() -> None:
    assert parse_time("2026-11-21T14:05:00", UTC_ZONE) == parse_time("2026-11-21T14:05:00+00:00", UTC_ZONE)


def test_whole_seconds_are_written_short_and_none_stays_none() -> None:
    assert to_iso(0) == "1970-01-01T00:00:00Z"
    assert to_iso(1) == "1970-01-01T00:00:00.000001Z"
    assert to_iso(None) is None


@pytest.mark.parametrize("at", [FIRST - 1, LAST + 1, 2**63 - 1, -(2**63), 10**30])
def test_a_time_that_no_calendar_holds_is_written_as_its_number(at: int) -> None:
    assert to_iso(at) == str(at)


@pytest.mark.parametrize(
    ("text", "first", "beyond"),
    [
        ("2026-05-01..2026-05-07", "2026-05-01", "2026-05-08"),
        ("2026-05", "2026-05-01", "2026-06-01"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        ("2025-12", "2025-12-01", "2026-01-01"),
        ("2026", "2026-01-01", "2027-01-01"),
        ("2025..2026-03-15", "2025-01-01", "2026-03-16"),
    ],
)
def test_a_range_of_days_has_its_last_day_and_not_the_one_after(text: str, first: str, beyond: str) -> None:
    assert parse_days("it", text) == (parse_time(first, UTC_ZONE), parse_time(beyond, UTC_ZONE))


@pytest.mark.parametrize("text", ["2026-05-01", "yesterday", "", "20260501"])
def test_what_is_no_range_of_days_is_none(text: str) -> None:
    assert parse_days("it", text) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2026-13", "it is no range of dates"),
        ("..2026-05-01", "it is no range of dates"),
        ("2026-05-01..soon", "it is no range of dates"),
        ("9999", "it is no range of dates"),
        ("2026-05-02..2026-05-01", "it ends before it begins"),
    ],
)
def test_a_range_that_is_none_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        parse_days("it", text)


@given(st.sampled_from(["America/Los_Angeles", "Australia/Lord_Howe", "Pacific/Apia"]), st.integers(0, 2 * 10**9))
def test_what_a_clock_showed_is_found_again_and_of_two_times_the_earlier(name: str, at_s: int) -> None:
    zone, at = NamedZone(name), at_s * 1_000_000
    local_us = at + zone.utc_offset_min(at) * MINUTE_US
    found = from_local(local_us, zone)
    assert found + zone.utc_offset_min(found) * MINUTE_US == local_us
    assert found <= at
    assert parse_time(to_local_iso(at, zone), UTC_ZONE) == at
    assert to_local_minute(at, zone) == to_local_iso(at, zone)[:16].replace("T", " ")


def test_a_time_that_the_clock_skips_counts_by_the_offset_before() -> None:
    zone = NamedZone("America/Los_Angeles")
    skipped = parse_time("2025-03-09T02:30", zone)
    assert to_local_iso(skipped, zone) == "2025-03-09T03:30:00-07:00"
    assert to_local_iso(parse_time("2018-11-04", NamedZone("America/Sao_Paulo")), UTC_ZONE) == "2018-11-04T03:00:00Z"


@pytest.mark.parametrize(
    ("text", "offset_min", "is_local"),
    [
        ("2025-02-03", None, True),
        ("2025-02-03T18:00:00+05:45", 345, False),
        ("2025-02-03T18:00:00-03:30", -210, False),
        ("2025-02-03T18:00:00Z", None, False),
        ("2025-02-03T18:00:00+00:00", None, False),
    ],
)
def test_an_offset_of_zero_tells_when_and_not_where(text: str, offset_min: int | None, is_local: bool) -> None:
    written = read_time(text)
    assert (written.utc_offset_min, written.is_local) == (offset_min, is_local)
    assert offset_in(text) == offset_min
    assert offset_in("no time") is None
