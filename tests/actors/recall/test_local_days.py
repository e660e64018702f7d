"""A day that a question names is its owner's: it finds what they would say was said that day, in any zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.times import DAY_US, MINUTE_US, day_end, local_day
from mnemic.actors.recall.messages import Recall
from mnemic.actors.recall.ranking.day_signal import day_nearness, days_in_question
from tests.clocks import ManualClock, NamedZone
from tests.harness import ActorHarness, turns

SWITCHES = {
    "America/Los_Angeles": ("2025-03-09T10:00Z", "2025-11-02T09:00Z"),
    "America/Sao_Paulo": ("2018-11-04T03:00Z", "2018-02-18T02:00Z"),  # at midnight
    "America/St_Johns": ("2010-03-14T03:31Z", "2010-11-07T02:31Z"),  # a minute past midnight
    "Asia/Kathmandu": ("1985-12-31T18:30Z", "1986-06-01T00:00Z"),  # moved once, by a quarter of an hour
    "Asia/Kolkata": ("2025-03-30T01:00Z", "2025-10-26T01:00Z"),
    "Australia/Lord_Howe": ("2025-10-04T15:30Z", "2025-04-05T15:00Z"),  # by half an hour
    "Europe/Berlin": ("2025-03-30T01:00Z", "2025-10-26T01:00Z"),
    "Pacific/Apia": ("2011-12-30T10:00Z", "2011-04-02T14:00Z"),  # without its 30 December
    "Pacific/Auckland": ("2025-09-27T14:00Z", "2025-04-05T14:00Z"),
    "UTC": ("2025-03-30T01:00Z", "2025-10-26T01:00Z"),
}
"""Ten zones, and when their clocks go forward and back, or two times where they never do."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def us(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def owner_day(at: int, zone: str) -> date:
    """The day that somebody in the zone would name, by Python's own calendar."""
    return (EPOCH + timedelta(microseconds=at)).astimezone(ZoneInfo(zone)).date()


@given(
    zone=st.sampled_from(sorted(SWITCHES)),
    switch=st.integers(0, 1),
    minutes=st.lists(st.integers(-3 * 1440, 3 * 1440), min_size=1, max_size=12),
    asked=st.integers(-3, 3),
)
def test_a_day_named_finds_what_its_owner_would_say_was_said_that_day(
    zone: str, switch: int, minutes: list[int], asked: int
) -> None:
    named, at = NamedZone(zone), us(datetime.fromisoformat(SWITCHES[zone][switch]))
    said = [at + each * MINUTE_US for each in minutes]
    local_at = np.array([each + named.utc_offset_min(each) * MINUTE_US for each in said])
    day = owner_day(at, zone) + timedelta(days=asked)
    today = local_day(at + 400 * DAY_US, named)
    question = f"what did we repair on {day.day} {day:%B} {day.year}?"
    near = day_nearness(days_in_question(question, today, local_at), local_at)
    assert [one == 1.0 for one in near] == [owner_day(each, zone) == day for each in said]
    for each in said:
        own = local_day(each, named)
        if zone != "America/St_Johns":  # where an hour of Saturday comes after a minute of Sunday
            assert day_end(own - timedelta(days=1), named) <= each < day_end(own, named)
        yesterday = days_in_question("what did we repair yesterday?", own + timedelta(days=1), local_at)
        assert [one.first for one in yesterday] == [own]


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Kathmandu", "Pacific/Auckland"])
def test_a_question_finds_the_evening_of_the_day_it_names(tmp_path: Path, zone: str) -> None:
    info, named = ZoneInfo(zone), NamedZone(zone)
    evenings = [datetime(2025, 2, day, 18, tzinfo=info) for day in (2, 3, 4)]
    mornings = [datetime(2025, 2, day, 8, tzinfo=info) for day in (12, 13, 14)]
    clock = ManualClock(us(datetime(2025, 2, 15, 9, tzinfo=info)), named)
    with ActorHarness(tmp_path, clock=clock) as mind:
        for moment in (*evenings, *mornings):
            mind.keep("We repaired the winch.", said_at=us(moment), session=f"{moment:%d}", kind="turn")

        def found(query: str) -> list[str]:
            return [hit.session for hit in mind.recall(query, signals=("structural",)).hits][:1]

        assert found("what did we repair on 3 February 2025") == ["03"]
        assert found("what did we repair on 4 February 2025") == ["04"]
        assert found("what did we repair yesterday?") == ["14"]
        day = mind.ask(
            Recall(query="winch", since=day_end(date(2025, 2, 2), named), until=day_end(date(2025, 2, 3), named))
        )
        assert [hit.session for hit in day.hits] == ["03"]


def test_a_memory_said_elsewhere_keeps_the_day_it_was_said_on_there(tmp_path: Path) -> None:
    """Two at one moment: one by the clock of whoever asks, one on the other side of the world."""
    at = us(datetime(2025, 2, 3, 20, tzinfo=UTC))
    clock = ManualClock(at + 10 * DAY_US, NamedZone("America/Los_Angeles"))
    with ActorHarness(tmp_path, clock=clock) as mind:
        mind.keep("We repaired the winch.", said_at=at, session="here")
        mind.keep("We repaired the winch there.", said_at=at, session="there", utc_offset_min=780)
        for day, session in ((3, "here"), (4, "there")):
            hits = mind.recall(f"what was repaired on {day} February 2025", signals=("structural",)).hits
            assert hits[0].session == session


def test_every_memory_has_the_offset_of_its_clock_and_a_changed_zone_changes_none(tmp_path: Path) -> None:
    clock = ManualClock(us(datetime(2025, 7, 1, tzinfo=UTC)), NamedZone("America/Los_Angeles"))
    winter = us(datetime(2025, 1, 15, tzinfo=UTC))
    sources = {
        "t": [
            *turns(["by the machine"], said_at=winter),
            *turns(["undated"]),
            *turns(["by its own"], said_at=winter, utc_offset_min=330),
            *turns(["on the wall"], said_at=winter, is_local=True),
        ]
    }

    def kept() -> list[tuple[str, int | None, int]]:
        rows = mind.look(lambda now: now.load_memories(now.memory_columns(0).row.tolist()))
        return [(one.text, one.said_at, one.utc_offset_min) for one in rows]

    with ActorHarness(tmp_path, clock=clock, sources=sources) as mind:
        mind.take("t")
        first = kept()
    assert first == [
        ("by the machine", winter, -480),
        ("undated", None, -420),
        ("by its own", winter, 330),
        ("on the wall", winter + 480 * MINUTE_US, -480),
    ]
    moved = ManualClock(clock.now_us(), NamedZone("Asia/Kolkata"))
    with ActorHarness(tmp_path, clock=moved, sources=sources) as mind:
        mind.take("t")
        assert kept() == first, "what is captured again adds nothing"
