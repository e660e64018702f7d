"""A memory is surely about a prompt where many rare words are shared, whatever else the prompt holds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.brief.relevance import LEAST_COSINE, LEAST_COVERAGE, LEAST_RARITY, is_rare_key, is_relevant, rarity

RARITIES = {"pier": 8.0, "otter": 8.0, "tide": 4.0}


@pytest.mark.parametrize(
    ("cosine", "held", "expected"),
    [
        (0.9, {"pier", "otter", "tide"}, True),
        (0.9, {"pier", "otter"}, True),
        (LEAST_COSINE, {"pier", "otter"}, True),
        (LEAST_COSINE - 0.01, {"pier", "otter"}, False),
        (None, {"pier", "otter", "tide"}, False),  # nobody knows yet what it means
        (0.9, {"pier", "tide"}, False),  # 12 nats are too few
        (0.9, set(), False),
        (0.9, {"heron"}, False),
    ],
)
def test_it_takes_cosine_and_rare_words_together(cosine: float | None, held: set[str], expected: bool) -> None:
    assert is_relevant(cosine, RARITIES, held) is expected


def test_few_of_many_rare_words_are_too_few() -> None:
    many = {f"word{number}": 8.0 for number in range(10)}
    assert not is_relevant(0.9, many, {"word0", "word1", "word2"})
    assert is_relevant(0.9, many, set(list(many)[:6]))


@given(memories=st.integers(0, 10**6), share=st.floats(0, 1))
def test_a_word_is_the_rarer_the_fewer_hold_it(memories: int, share: float) -> None:
    holding = int(share * memories)
    assert rarity(memories, holding) >= 0
    assert math.isfinite(rarity(memories, holding))
    assert rarity(memories, holding) >= rarity(memories, min(memories, holding + 1))


@given(
    cosine=st.floats(-1, 1),
    rarities=st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 20), max_size=8),
    held=st.sets(st.sampled_from("abcdefghi")),
)
def test_what_is_sure_is_above_all_three_thresholds_and_stays_so_with_more_words_held(
    cosine: float, rarities: dict[str, float], held: set[str]
) -> None:
    shared = math.fsum(weight for term, weight in rarities.items() if term in held)
    if is_relevant(cosine, rarities, held):
        assert cosine >= LEAST_COSINE
        assert shared >= LEAST_RARITY - 1e-9
        assert shared >= LEAST_COVERAGE * math.fsum(rarities.values()) - 1e-9
        assert is_relevant(cosine, rarities, held | set(rarities))


@pytest.mark.parametrize(
    ("memories", "holding", "expected"),
    [
        *((20, [5, 9], True), (20, [6, 9], False), (80, [8], True), (80, [9], False), (9_000, [8], True)),
        *((9_000, [9, 40], False), (20, [0, 2], False), (0, [], False)),
    ],
)
def test_a_key_is_rare_where_hardly_any_memory_holds_its_rarest_word(
    memories: int, holding: list[int], expected: bool
) -> None:
    assert is_rare_key(memories, holding) is expected
