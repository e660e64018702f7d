"""A question that names a day finds what was said near it, whatever its words; any other is answered as before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.kernel.times import day_of
from mnemic.actors.recall.messages import Recalled
from mnemic.actors.recall.ranking.day_signal import WEIGHT, day_nearness, days_in_question
from mnemic.actors.shape.messages import BindPending, BindProgress
from mnemic.algorithms.text.days import DateRange
from tests.clocks import ManualClock
from tests.harness import ActorHarness

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
WORDS = ("dense", "lexical", "session")
SAID = ("2026-03-19", "2026-03-18", "2026-03-10", "2026-02-18", "2025-03-18")


def us(day: str) -> int:
    return int(datetime.fromisoformat(f"{day}T10:00:00+00:00").timestamp() * 1e6)


def bind(actor_system: ActorHarness) -> None:
    bound = actor_system.ask(BindPending())
    while isinstance(bound, BindProgress) and bound.pending:
        bound = actor_system.ask(BindPending())
    assert isinstance(bound, BindProgress)


def days_of(recalled: Recalled) -> list[str]:
    return [f"{datetime.fromtimestamp((hit.said_at or 0) / 1e6, UTC):%Y-%m-%d}" for hit in recalled.hits]


def near(spans: Sequence[DateRange], days: Sequence[str] = SAID) -> list[float]:
    """The nearness of memories that were said on some days."""
    return day_nearness(spans, np.array([us(day) for day in days])).tolist()


def span(first: str, last: str = "") -> DateRange:
    return DateRange(date.fromisoformat(first), date.fromisoformat(last or first))


def keep(actor_system: ActorHarness, days: Sequence[str] = SAID) -> None:
    for day in days:
        actor_system.keep("the crane was mended", said_at=us(day), session=f"of {day}")
    actor_system.embed()


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    """The same said on five days, bound."""
    clock = ManualClock(int(NOW.timestamp() * 1e6))
    with ActorHarness(tmp_path_factory.mktemp("harbour"), clock=clock) as actor_system:
        keep(actor_system)
        bind(actor_system)
        yield actor_system


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What was mended yesterday?", "2026-03-19"),
        ("What was mended on 18 March 2026?", "2026-03-18"),
        ("What was mended on 2026-03-10?", "2026-03-10"),
        ("What was mended in February 2026?", "2026-02-18"),
        ("What was mended in March 2025?", "2025-03-18"),
        ("What was mended last month?", "2026-02-18"),
        ("What was mended two days ago?", "2026-03-18"),
    ],
)
def test_what_was_said_near_the_day_named_comes_first_and_the_hit_says_why(
    harbour: ActorHarness, question: str, first: str
) -> None:
    recalled = harbour.recall(question)
    assert days_of(recalled)[0] == first
    assert recalled.hits[0].why["structural"] > WEIGHT / 2
    assert recalled.degraded == ()


def test_a_question_that_names_no_day_is_answered_as_without_the_signal(harbour: ActorHarness) -> None:
    for question in ("What was mended?", "Is the crane mended since March 2025?", "You may 10 times"):
        recalled = harbour.recall(question)
        assert recalled == harbour.recall(question, signals=(*WORDS, "validity"))
        assert all("structural" not in hit.why for hit in recalled.hits)


def test_the_nearer_the_day_the_more_it_counts_and_from_a_week_on_not_at_all() -> None:
    days = ("2026-03-18", "2026-03-19", "2026-03-16", "2026-03-24", "2026-03-25", "2027-03-18", "2016-03-18")
    assert near([span("2026-03-18")], days=days) == pytest.approx([1, 6 / 7, 5 / 7, 1 / 7, 0, 0, 0])


def test_days_that_nothing_was_said_near_lift_nothing(harbour: ActorHarness) -> None:
    assert near([span("2019-07-01")]) == [0.0] * 5
    assert near([span("0001-01-01"), span("9999-12-31")]) == [0.0] * 5
    plain = harbour.recall("What was mended on 1 July 2019?", signals=WORDS)
    assert days_of(harbour.recall("What was mended on 1 July 2019?")) == days_of(plain)


def test_of_several_days_the_nearest_counts() -> None:
    one, other = near([span("2026-03-10")]), near([span("2025-03-18")])
    assert near([span("2026-03-10"), span("2025-03-18")]) == [max(a, b) for a, b in zip(one, other, strict=True)]


def test_a_month_is_all_of_its_days() -> None:
    march = near([span("2026-03-01", "2026-03-31")], days=("2026-03-01", "2026-03-31", "2026-04-01", "2026-02-20"))
    assert march == pytest.approx([1, 1, 6 / 7, 0])


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_time_is_of_some_day(said: int) -> None:
    (found,) = day_nearness([span("2026-03-18")], np.array([said])).tolist()
    assert 0 <= found <= 1


def test_a_scope_and_a_time_stay_exact(harbour: ActorHarness) -> None:
    recalled = harbour.recall("What was mended yesterday?", until=us("2026-03-01"))
    assert set(days_of(recalled)) == {"2026-02-18", "2025-03-18"}
    assert harbour.recall("What was mended yesterday?", until=us("2020-01-01")).hits == ()


def test_yesterday_is_told_from_the_time_that_is_asked_as_of(harbour: ActorHarness) -> None:
    at = int(harbour.clock.now_us())
    assert days_of(harbour.recall("What was mended yesterday?", as_of=at))[0] == "2026-03-19"
    assert days_in_question("yesterday", date(2026, 3, 11), np.array([us("2026-03-01")])) == [span("2026-03-10")]


def test_two_minds_of_the_same_memories_give_a_day_the_same_scores(tmp_path: Path) -> None:
    """Whatever codebooks their keys draw, and whether anything is bound."""
    answers = []
    for name in ("one", "other"):
        with ActorHarness(tmp_path / name, clock=ManualClock(int(NOW.timestamp() * 1e6))) as actor_system:
            keep(actor_system)
            if name == "one":
                bind(actor_system)
            found = actor_system.recall("What was mended on 18 March 2026?")
            answers.append([(hit.session, hit.score, hit.why) for hit in found.hits])
    assert answers[0] == answers[1]


def test_asked_alone_it_finds_what_is_near_and_nothing_where_no_day_is_named(harbour: ActorHarness) -> None:
    alone = harbour.recall("on 10 March 2026", signals=("structural",))
    assert days_of(alone)[0] == "2026-03-10"
    assert "2025-03-18" not in days_of(alone)
    assert harbour.recall("the crane", signals=("structural",)).hits == ()


def test_a_scope_that_holds_nothing_names_no_day() -> None:
    assert days_in_question("yesterday", date(2026, 3, 11), np.zeros(0, np.int64)) == []


def test_a_span_of_more_than_a_season_counts_for_nothing() -> None:
    said = np.array([us("2026-03-01")])
    assert days_in_question("what changed in 2025 or last year?", date(2026, 3, 11), said) == []
    assert days_in_question("what changed in May 2025?", date(2026, 3, 11), said) == [span("2025-05-01", "2025-05-31")]


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_times_that_no_calendar_holds_are_no_trouble(now: int, said: int) -> None:
    for one in days_in_question("yesterday, on 5 May and last month", day_of(now, 0), np.array([said])):
        assert one.first <= one.last


def test_scopes_are_looked_through_alone(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, clock=ManualClock(int(NOW.timestamp() * 1e6))) as actor_system:
        for path, day in (("a", "2026-03-19"), ("b", "2026-03-18")):
            place = ScopeRef(path=path, project=None, found="named")
            actor_system.keep("the crane was mended", said_at=us(day), session=path, place=place)
        actor_system.embed()
        bind(actor_system)
        assert days_of(actor_system.recall("yesterday", scope="b")) == ["2026-03-18"]
