"""The machine's clock knows the offset at any time, and the zone that the machine is in now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.clock import SystemClock
from tests.clocks import NamedZone

CLOCK = SystemClock()


@pytest.fixture
def own_zone() -> Iterator[pytest.MonkeyPatch]:
    """A test may set TZ; afterwards it is as before."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch
    time.tzset()


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("zone", "at", "offset_min"),
    [
        ("America/Los_Angeles", "2025-03-09T09:59:59Z", -480),
        ("America/Los_Angeles", "2025-03-09T10:00:00Z", -420),
        ("Asia/Kathmandu", "1985-01-01T00:00:00Z", 330),
        ("Asia/Kathmandu", "2025-01-01T00:00:00Z", 345),
        ("Australia/Lord_Howe", "2025-01-01T00:00:00Z", 660),
        ("Pacific/Apia", "2011-12-30T09:59:59Z", -600),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", 840),
        ("UTC", "2025-01-01T00:00:00Z", 0),
    ],
)
def test_the_offset_is_that_of_the_time_asked_for(
    own_zone: pytest.MonkeyPatch, zone: str, at: str, offset_min: int
) -> None:
    own_zone.setenv("TZ", zone)
    assert CLOCK.utc_offset_min(us(at)) == offset_min == NamedZone(zone).utc_offset_min(us(at))


def test_a_zone_that_changes_counts_at_once(own_zone: pytest.MonkeyPatch) -> None:
    at = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
    for zone, offset_min in (("Asia/Tokyo", 540), ("America/St_Johns", -210)):
        own_zone.setenv("TZ", zone)
        assert CLOCK.utc_offset_min(at) == offset_min


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_time_that_no_calendar_holds_has_an_offset(at: int) -> None:
    assert CLOCK.utc_offset_min(at) == 0
