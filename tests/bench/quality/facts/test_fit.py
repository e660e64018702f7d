"""What recall weighs validity by can be fitted anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mnemic.algorithms.knowledge.assertion import RATES
from mnemic.algorithms.knowledge.rivals import COEFFICIENTS, pair_features, same_slot
from mnemic.bench.quality.facts.fit import _logistic, _rates, fit_rows
from mnemic.bench.quality.facts_bench import run
from tests.bench.quality.test_recall_sizes import write_talks

SAID = (
    ("lead", "gridlock", "first", "Samira leads gridlock"),
    ("lead", "gridlock", "change", "Nadia leads gridlock now"),
    ("port", "moss", "first", "moss listens on 8080"),
    ("port", "moss", "change", "moss listens on 9090 these days"),
    ("port", "moss", "not asserted", "could moss listen on 7070?"),
)


def write_changes(path: Path) -> Path:
    """A file of quiet changes with one world."""
    statements = [
        {
            "id": f"a0/{number}",
            "session": f"a0/day-{number}",
            "role": "user",
            "said_at": f"2024-02-0{number + 1}T14:45:02Z",
            "text": text,
            "label": {"attribute": attribute, "subject": subject, "kind": kind},
        }
        for number, (attribute, subject, kind, text) in enumerate(SAID)
    ]
    questions = [
        {"question": question, "kind": "now", "attribute": attribute, "subject": subject}
        | {"gold": [gold], "stale": [], "trap": []}
        for question, attribute, subject, gold in (
            ("who leads gridlock?", "lead", "gridlock", "a0/1"),
            ("which port does moss have?", "port", "moss", "a0/3"),
        )
    ]
    world = {"world": "a0", "half": "a", "dense": False, "statements": statements, "questions": questions}
    path.write_text(json.dumps({"worlds": [world]}), "utf-8")
    return path


def test_a_regression_finds_the_curve_that_its_data_were_drawn_from() -> None:
    drawn = np.random.default_rng(1)
    features = drawn.normal(size=(40_000, 2)) * [1.0, 3.0] + [0.5, -2.0]
    true = np.array([-0.5, 1.5, 0.4])
    truth = drawn.random(len(features)) < 1 / (1 + np.exp(-true[0] - features @ true[1:]))
    assert_allclose(_logistic(features, truth), true, atol=0.1)


def test_what_recall_gives_a_pair_follows_from_its_features_and_coefficients() -> None:
    cosines, lengths = np.array([[1.0, 0.7], [0.7, 1.0]]), np.array([30, 60])
    cosine, squared, length = (each[0, 1] for each in pair_features(cosines, lengths))
    odds = np.dot(COEFFICIENTS, [1.0, cosine, squared, length])
    assert same_slot(cosines, lengths)[0, 1] == pytest.approx(1 / (1 + np.exp(-odds)))


def test_rates_are_counted_by_the_rule_of_succession(tmp_path: Path) -> None:
    rows = {row["status"]: row for row in _rates(write_changes(tmp_path / "changes.json"))}
    assert rows.keys() == RATES.keys()
    assert (rows["asserted"]["statements"], rows["asserted"]["fitted"]) == (4, 5 / 6)
    assert (rows["asked"]["statements"], rows["asked"]["fitted"]) == (1, 1 / 3)
    assert all(row["fitted"] == 0.5 for row in rows.values() if not row["statements"])


def test_it_wants_both_files() -> None:
    with pytest.raises(ValueError, match="needs a file of quiet changes and one of LoCoMo's"):
        list(run(fit=True))


@pytest.mark.system
def test_pairs_of_real_minds_are_fitted_and_judged_by_made_lives(tmp_path: Path) -> None:
    rows = list(fit_rows(write_changes(tmp_path / "changes.json"), write_talks(tmp_path / "talks.json")))
    found = [row for row in rows if row["what"] == "coefficient of a pair"]
    assert [row["in use"] for row in found] == list(COEFFICIENTS)
    assert all(0 < row["of one slot"] < row["pairs"] for row in found)
    assert np.isfinite([row["fitted"] for row in found]).all()
    judged = [row for row in rows if row["what"] == "pairs of made lives"]
    assert sum(row["pairs"] for row in judged) > 10_000
    middle = [row for row in judged if 0.05 <= row["given_from"] < 0.8]
    assert all(abs(row["given"] - row["true"]) < 0.15 for row in middle)  # what is in use holds where it was not fitted
