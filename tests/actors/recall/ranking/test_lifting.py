"""Whatever was replaced stands below what stands for it, and nothing else changes its place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.recall.ranking.lifting import lift_all, lift_successors
from mnemic.actors.recall.ranking.replaced import Replacements, Succession

MEMORIES = 8


def kept(successions: list[Succession], likely: list[Succession] | None = None) -> Replacements:
    return Replacements({}, {}, successions, likely or [], [], set())


def lift(of: Replacements, scores: list[float], **asked: Any) -> tuple[list[float], list[int]]:
    """The scores after all lifts, where every memory speaks and is looked through, and which were lifted."""
    index: Any = SimpleNamespace(columns=SimpleNamespace(row=np.arange(len(scores)) + 1))
    now, all_of = np.array(scores), np.ones(len(scores), bool)
    lifted = lift_successors(index, of, now, all_of.copy(), all_of, **asked)
    return now.tolist(), lifted.tolist()


@st.composite
def successions(draw: st.DrawFn) -> list[Succession]:
    """Some, each of an earlier memory by a later one, at any time."""
    pairs = draw(st.lists(st.tuples(st.integers(1, MEMORIES), st.integers(1, MEMORIES)), max_size=12))
    return [
        Succession(min(pair), max(pair), draw(st.integers(0, 3)), 1.0, draw(st.booleans()))
        for pair in pairs
        if pair[0] != pair[1]
    ]


@given(successions(), st.lists(st.integers(-3, 3), min_size=MEMORIES, max_size=MEMORIES), st.booleans())
def test_no_replaced_memory_stands_above_its_heir_in_any_chain(
    given_: list[Succession], scores: list[int], now: bool
) -> None:
    after, lifted = lift(kept(given_), [float(one) for one in scores], now=now)
    assert all(after[one.successor - 1] > after[one.older - 1] for one in given_)
    assert {place: after[place] for place in range(MEMORIES) if place not in lifted} == {
        place: scores[place] for place in range(MEMORIES) if place not in lifted
    }


def test_what_contradicts_is_lifted_only_where_now_is_asked_for() -> None:
    of = kept([], [Succession(1, 2, 0, 0.8)])
    assert lift(of, [0.5, 0.1]) == ([0.5, 0.1], [])
    (older, newer), lifted = lift(of, [0.5, 0.1], now=True)
    assert newer > older
    assert lifted == [1]


def test_what_stands_for_all_that_is_named_stands_first_where_now_is_asked_for() -> None:
    of = kept([Succession(2, 3, 0, 1.0, is_named=True)])
    assert np.argmax(lift(of, [0.9, 0.5, 0.1], now=True)[0]) == 2
    assert np.argmax(lift(of, [0.9, 0.5, 0.1])[0]) == 0
    assert lift(of, [0.2, 0.5, 0.9], now=True)[0] == [0.2, 0.5, 0.9], "it stands there already"


@st.composite
def corrections(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Some memories, each once and in their order, and the later one that corrects each."""
    old = sorted(draw(st.sets(st.integers(0, MEMORIES - 2), max_size=4)))
    return old, [draw(st.integers(one + 1, MEMORIES - 1)) for one in old]


@given(successions(), corrections(), st.lists(st.integers(-3, 3), min_size=MEMORIES, max_size=MEMORIES), st.booleans())
def test_neither_a_corrected_nor_a_replaced_memory_stands_above_what_stands_for_it(
    given_: list[Succession], corrected: tuple[list[int], list[int]], scores: list[int], now: bool
) -> None:
    old, new = (np.array(one, np.int64) for one in corrected)
    columns = SimpleNamespace(row=np.arange(MEMORIES) + 1, said_at=np.arange(MEMORIES))
    index: Any = SimpleNamespace(columns=columns, superseded=lambda as_of: (old, new))
    after, all_of = np.array(scores, np.float64), np.ones(MEMORIES, bool)
    lift_all(index, kept(given_), None, after, all_of.copy(), all_of, np.inf, successors=True, now=now)
    assert all(after[newer] > after[older] for older, newer in zip(*corrected, strict=True))
    assert all(after[one.successor - 1] > after[one.older - 1] for one in given_)
