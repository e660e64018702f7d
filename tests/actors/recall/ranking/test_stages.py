"""The stages of a recall hand on arrays: what is spread over all memories, and which of them speak."""

from __future__ import annotations

import numpy as np
import pytest

from mnemic.actors.recall.ranking.stages import Ranking, has_signal, spread
from mnemic.algorithms.retrieval.calibration import FULL

VISIBLE = np.array([True, True, True, False])


def test_what_is_not_among_the_best_gets_the_least_of_them_and_never_more_than_nothing() -> None:
    assert spread(np.array([0.5, -0.2]), np.array([2, 0]), VISIBLE).tolist() == [-0.2, -0.2, 0.5, 0.0]
    assert spread(np.array([0.5, 0.2]), np.array([2, 0]), VISIBLE).tolist() == [0.2, 0.0, 0.5, 0.0]
    assert spread(np.zeros(0), np.zeros(0, np.int64), VISIBLE).tolist() == [0.0] * 4


def test_without_meaning_those_speak_that_score_and_are_ranked() -> None:
    scores = np.array([1.0, 0.0, 2.0, 3.0])
    assert has_signal(scores, None, VISIBLE).tolist() == [True, False, True, False]


def test_a_hit_tells_the_base_each_share_and_what_it_took_over() -> None:
    shares = {"dense": np.array([1.0, 0.5]), "lexical": np.array([0.25, 0.0])}
    ranking = Ranking(np.array([7, 3]), np.array([0.0, 0.1]), shares, None, FULL)
    why, score = ranking.explain(1)
    assert why == {"base": FULL.intercept, "dense": FULL.slope * 0.5, "lexical": 0.0, "prior": FULL.slope * 0.1}
    assert score == pytest.approx(FULL.probability(0.6))
    assert "prior" not in ranking.explain(0)[0]
