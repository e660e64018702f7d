"""A question that names a day finds what was said near it, whatever its words; any other is answered as before."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.actors.protocol.changes import ScopeRef
from mnemic.actors.protocol.messages import Recalled
from mnemic.actors.protocol.shape_messages import BindPending, BindProgress
from mnemic.actors.protocol.snapshot import Columns
from mnemic.actors.recall.day_signal import WEIGHT, day_nearness, days_in_question
from mnemic.actors.shape.shape_index import ShapeIndex
from mnemic.algorithms.text.days import DateRange
from mnemic.hd.algebra import default_algebra
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.query import RecordVectors
from mnemic.hd.records import Pair
from mnemic.hd.space import Space
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


class Index:
    """Episodes of a fixed space, said on some days, as `ShapeIndex` holds them."""

    def __init__(self, days: Sequence[str], more: int = 8) -> None:
        space = Space(seed=bytes(range(32)))
        self.encoders = RecordEncoder(space)
        self.algebra = default_algebra()
        extra = [(Pair("topic", f"thing {number}"), Pair("file", f"{number}.py")) for number in range(more // 2)]
        records = [(Pair("date", day), *(pair for pairs in extra for pair in pairs)) for day in days]
        vectors = self.encoders.encode_records(records).reshape(len(days), space.words)
        self.codes = RecordVectors.from_vectors(vectors, np.array([len(record) for record in records], np.int64))
        self.position = np.arange(len(days))
        self.records = {"episode": self}

    def visible(self, memories: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.flatnonzero(memories)


def looked(
    spans: Sequence[DateRange], visible: Sequence[bool] | None = None, days: Sequence[str] = SAID
) -> list[float]:
    """The nearness of memories that were said on some days."""
    columns = Columns(*(np.arange(len(days)) + 1 for _ in Columns._fields))
    shown = np.ones(len(days), np.bool_) if visible is None else np.array(visible)
    return day_nearness(spans, cast(ShapeIndex, Index(days)), columns, shown).tolist()


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
        assert recalled == harbour.recall(question, signals=WORDS)
        assert all("structural" not in hit.why for hit in recalled.hits)


def test_the_nearer_the_day_the_more_it_counts_and_from_a_month_on_not_at_all() -> None:
    days = ("2026-03-18", "2026-03-19", "2026-03-21", "2026-03-28", "2026-05-18", "2027-03-18", "2016-03-18")
    near = looked([span("2026-03-18")], days=days)
    assert near[:4] == sorted(near[:4], reverse=True)
    assert near[0] > 0.9
    assert 0.3 < near[1] < 0.8
    assert near[4:] == [0.0, 0.0, 0.0]


def test_days_that_nothing_was_said_near_lift_nothing(harbour: ActorHarness) -> None:
    assert looked([span("2019-07-01")]) == [0.0] * 5
    assert looked([span("0001-01-01"), span("9999-12-31")]) == [0.0] * 5
    plain = harbour.recall("What was mended on 1 July 2019?", signals=WORDS)
    assert days_of(harbour.recall("What was mended on 1 July 2019?")) == days_of(plain)


def test_of_several_days_the_nearest_counts() -> None:
    one, other = looked([span("2026-03-10")]), looked([span("2025-03-18")])
    assert looked([span("2026-03-10"), span("2025-03-18")]) == [max(a, b) for a, b in zip(one, other, strict=True)]


def test_a_month_is_all_of_its_days() -> None:
    march = looked([span("2026-03-01", "2026-03-31")])
    assert min(march[:3]) > 0.8
    assert march[3] < 0.6
    assert march[4] == 0.0


def test_what_is_not_looked_through_has_no_nearness() -> None:
    near = looked([span("2026-03-18")], [True, False, True, False, False])
    assert np.isnan(near).tolist() == [False, True, False, True, True]
    whole = looked([span("2026-03-18")])
    assert [near[0], near[2]] == [whole[0], whole[2]]
    assert np.isnan(looked([span("2026-03-18")], [False] * 5)).all()


def test_a_scope_and_a_time_stay_exact(harbour: ActorHarness) -> None:
    recalled = harbour.recall("What was mended yesterday?", until=us("2026-03-01"))
    assert set(days_of(recalled)) == {"2026-02-18", "2025-03-18"}
    assert harbour.recall("What was mended yesterday?", session="nobody's").hits == ()


def test_yesterday_is_told_from_the_time_that_is_asked_as_of(harbour: ActorHarness) -> None:
    at = int(harbour.clock.now_us())
    assert days_of(harbour.recall("What was mended yesterday?", as_of=at))[0] == "2026-03-19"
    assert days_in_question("yesterday", us("2026-03-11"), np.array([us("2026-03-01")])) == [span("2026-03-10")]


def test_memories_that_wait_to_be_bound_are_found_by_their_words_and_that_is_said(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, clock=ManualClock(int(NOW.timestamp() * 1e6))) as actor_system:
        actor_system.encoder.gate = threading.Semaphore(0)  # nothing gets its meaning, and is bound only then
        for day in SAID[:2]:
            actor_system.keep("the crane was mended", said_at=us(day), session=day)
        recalled = actor_system.recall("Which crane on 18 March 2026?", signals=("lexical", "structural"))
        assert len(recalled.hits) == 2
        assert recalled.degraded == (
            "structure: 2 of the memories looked through are not bound yet; the day named does not count for them",
        )


def test_records_too_full_to_be_read_say_nothing() -> None:
    full = Index(["2026-03-18"] * 3, more=2000)
    columns = Columns(*(np.arange(3) + 1 for _ in Columns._fields))
    assert (
        day_nearness([span("2026-03-18")], cast(ShapeIndex, full), columns, np.ones(3, np.bool_)).tolist() == [0.0] * 3
    )


def test_with_the_role_left_out_the_words_answer_and_that_is_said(tmp_path: Path) -> None:
    clock = ManualClock(int(NOW.timestamp() * 1e6))
    with ActorHarness(tmp_path, clock=clock, **{"binder.leave_out": ("date",)}) as actor_system:
        keep(actor_system)
        bind(actor_system)
        question = "What was mended on 18 March 2026?"
        recalled = actor_system.recall(question)
        assert days_of(recalled) == days_of(actor_system.recall(question, signals=WORDS))
        assert len(recalled.hits) == 5
        assert any(one.startswith("structure: 5 of the memories") for one in recalled.degraded)


def test_asked_alone_it_finds_what_is_near_and_nothing_where_no_day_is_named(harbour: ActorHarness) -> None:
    alone = harbour.recall("on 10 March 2026", signals=("structural",))
    assert days_of(alone)[0] == "2026-03-10"
    assert "2025-03-18" not in days_of(alone)
    assert harbour.recall("the crane", signals=("structural",)).hits == ()


def test_a_scope_that_holds_nothing_names_no_day() -> None:
    assert days_in_question("yesterday", us("2026-03-11"), np.zeros(0, np.int64)) == []


def test_a_span_of_more_than_a_season_counts_for_nothing() -> None:
    said = np.array([us("2026-03-01")])
    assert days_in_question("what changed in 2025 or last year?", us("2026-03-11"), said) == []
    assert days_in_question("what changed in May 2025?", us("2026-03-11"), said) == [span("2025-05-01", "2025-05-31")]


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_times_that_no_calendar_holds_are_no_trouble(now: int, said: int) -> None:
    for one in days_in_question("yesterday, on 5 May and last month", now, np.array([said])):
        assert one.first <= one.last


def test_scopes_are_looked_through_alone(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, clock=ManualClock(int(NOW.timestamp() * 1e6))) as actor_system:
        for path, day in (("a", "2026-03-19"), ("b", "2026-03-18")):
            place = ScopeRef(path=path, project=None, found="named")
            actor_system.keep("the crane was mended", said_at=us(day), session=path, place=place)
        actor_system.embed()
        bind(actor_system)
        assert days_of(actor_system.recall("yesterday", scope="b")) == ["2026-03-18"]
