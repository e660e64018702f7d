"""Rows of communities of conversations, on a small file, and what they are measured by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.bench.quality.communities.mind import k_means, purity
from mnemic.bench.quality.communities_bench import run

LABELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)
BOATS = [f"The {part} of the dinghy is to be mended before the tide turns." for part in ("sail", "rudder", "mast")]
BREAD = [f"The {part} of the bakery is full of warm rye bread." for part in ("oven", "window", "counter")]


@given(LABELS)
def test_purity_is_the_share_of_the_most_frequent_class_of_each_group(pairs: list[tuple[int, int]]) -> None:
    labels, classes = (np.array(one, np.int64) for one in zip(*pairs, strict=True))
    most = sum(max(pairs.count((label, one)) for one in range(5)) for label in range(5))
    assert purity(labels, classes) == pytest.approx(most / len(pairs))
    assert purity(classes, classes) == 1


@pytest.mark.parametrize("clusters", [1, 3, 6])
def test_k_means_finds_groups_that_are_far_apart(clusters: int) -> None:
    random = np.random.default_rng(clusters)
    centres = np.eye(8, dtype=np.float32)[:clusters]
    vectors = np.repeat(centres, 7, axis=0) + random.normal(0, 0.02, (7 * clusters, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = k_means(vectors, clusters, random)
    planted = np.repeat(np.arange(clusters), 7)
    assert purity(labels, planted) == purity(planted, labels) == 1


def test_k_means_of_equal_vectors_is_one_cluster() -> None:
    assert k_means(np.ones((3, 1), np.float32), 3, np.random.default_rng(0)).tolist() == [0, 0, 0]


@pytest.mark.system
@pytest.mark.skipif(not NATIVE, reason="the native extension is not built")
def test_topics_stand_beside_clusters_and_sessions_and_placing_beside_the_mean(tmp_path: Path) -> None:
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([_conversation("conv-1", BOATS), _conversation("conv-2", BREAD)]), "utf-8")
    rows = list(run(parts=("memories",), data=file))
    together = [row for row in rows if row["what"] == "what belongs together" and "by" in row]
    assert [(row["of"], row["by"].split(":")[0]) for row in together] == [
        (of, by) for of in ("own scopes", "one scope") for by in ("topics", "baseline", "baseline")
    ]
    assert all(row["conversation_purity"] == 1 for row in together if row["by"] == "topics")
    assert all(row["pairs"] == 2 for row in together)
    placed = [row for row in rows if row["what"] == "new memories placed"]
    assert [row["of"].split(":")[0] for row in placed] == ["nearest mean vector", "nearest prototype, without a model"]


def test_without_a_file_it_is_said_that_conversations_are_left_out() -> None:
    (row,) = run(parts=("memories",))
    assert row["state"] == "skipped"


def _conversation(name: str, texts: list[str]) -> dict[str, Any]:
    """Two sessions of three turns each, and a question that a turn of each answers."""
    talk: dict[str, Any] = {"speaker_a": "Ann", "speaker_b": "Bob"}
    for session in (1, 2):
        talk[f"session_{session}_date_time"] = f"1:56 pm on {session} May, 2023"
        talk[f"session_{session}"] = [
            {"speaker": speaker, "dia_id": f"D{session}:{place}", "text": f"{text} Day {session}."}
            for place, (speaker, text) in enumerate(zip(("Ann", "Bob", "Ann"), texts, strict=True), 1)
        ]
    asked = {"question": "What is it?", "answer": "this", "category": 1, "evidence": ["D1:1", "D2:1"]}
    return {"sample_id": name, "conversation": talk, "qa": [asked]}
