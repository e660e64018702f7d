"""The embed bench, run small: every encoder is timed and compared, and what is not installed is named."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.bench.speed.embed_bench import paragraphs, run

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return list(run(rounds=1, texts=5))


def test_every_encoder_is_timed_compared_and_held_to_its_goal(rows: list[dict[str, Any]]) -> None:
    ours = {"native-int8", "native-float32", "numpy-float32"} if NATIVE else {"numpy-float32"}
    for what in ("load", "a query of 17 tokens", "32 windows of 128 tokens"):
        measured = {row["by"] for row in rows if row["what"] == what and "median_ms" in row}
        assert measured >= ours
    agreements = [row for row in rows if row["what"] == "agreement" and "worst_cosine" in row]
    assert {row["by"] for row in agreements} >= ours - {"numpy-float32"}
    assert all(row["texts"] == 5 and row["met"] for row in agreements if "goal" in row)


def test_the_competitors_are_measured_in_the_same_run_or_named_as_not_installed(rows: list[dict[str, Any]]) -> None:
    timed = {row["by"]: row for row in rows if row["what"] == "a query of 17 tokens"}
    assert {"onnxruntime int8", "onnxruntime float32", "torch float32, eager"} <= timed.keys()
    if all(importlib.util.find_spec(name) for name in ("torch", "transformers", "onnx", "onnxruntime")):
        assert all(row["of_onnxruntime_int8"] > 0 for row in timed.values())
    else:
        assert "pip install 'mnemic[bench]'" in timed["onnxruntime int8"]["why"]


def test_a_cross_encoder_is_timed_by_every_encoder(rows: list[dict[str, Any]]) -> None:
    taken = {row["by"]: row["median_ms"] for row in rows if row["what"] == "20 pairs of 128 tokens, read again"}
    assert set(taken) == ({"native-int8", "native-float32", "numpy-float32"} if NATIVE else {"numpy-float32"})


def test_there_are_two_thousand_real_texts() -> None:
    texts = paragraphs(2000)
    assert len(texts) == len(set(texts)) == 2000
    assert min(len(text) for text in texts) >= 10
