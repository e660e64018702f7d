"""Analogies over facts are asked of a drawn world whose truth is known, at each distance and by both ways."""

from __future__ import annotations

import pytest

from mnemic.bench.quality.shape.fact_analogies import analogy_rows, make_world, questions


@pytest.mark.parametrize("seed", [0, 1])
def test_a_question_asks_for_what_the_world_says(seed: int) -> None:
    world = make_world(seed, people=20)
    asked = questions(world, 10, seed)
    assert [one.distance for one in asked] == [1] * 10 + [2] * 10 + [3] * 10
    assert all(one.right and len({*one.names}) == 3 for one in asked)
    direct = {
        (name.lower(), end.lower()) for facts in world.facts.values() for name, ends in facts.items() for end in ends
    }
    for one in asked[:10]:
        assert (one.names[0].lower(), one.names[1].lower()) in direct
        assert all((one.names[2].lower(), right) in direct for right in one.right)
    assert make_world(seed, people=20) == world


def test_each_distance_has_a_row_for_each_way() -> None:
    rows = list(analogy_rows(0, 5))
    assert [(row["facts between"], row["by"]) for row in rows] == [
        (distance, by) for distance in (1, 2, 3) for by in ("shape --analogy", "hypervectors")
    ]
    assert all(row["right"] >= 0.8 for row in rows if row["by"] == "shape --analogy")
    assert all(0 <= row["right"] <= 1 for row in rows)
