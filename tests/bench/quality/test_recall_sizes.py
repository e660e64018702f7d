"""Every question counts at every size, minds are as large as they are said to be, and chatter is drawn as it says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.quality.asking import RULES
from mnemic.bench.quality.locomo import convert
from mnemic.bench.quality.recall_bench import run
from mnemic.bench.quality.recall_sizes import draw_chatter
from tests.drawn import drawn_lines

THINGS = ("kettle", "violin", "harbour")


def write_talks(path: Path) -> Path:
    """A file of LoCoMo's form: three conversations of one session each, about another thing each."""
    samples: list[dict[str, Any]] = []
    for number, thing in enumerate(THINGS):
        texts = (f"The {thing} is old.", f"We sold the {thing}, Bob.")
        conversation = {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1": [
                {"speaker": speaker, "dia_id": f"D1:{place}", "text": text}
                for place, (speaker, text) in enumerate(zip(("Ann", "Bob"), texts, strict=True), 1)
            ],
            "session_1_date_time": f"1:56 pm on {number + 1} May, 2023",
        }
        asked = {"question": f"How old is the {thing}?", "evidence": ["D1:1"], "category": 4}
        samples.append({"sample_id": f"conv-{number}", "conversation": conversation, "qa": [asked]})
    path.write_text(json.dumps(samples), "utf-8")
    return path


@pytest.mark.system
def test_all_questions_are_asked_in_minds_of_each_size_and_drawn(tmp_path: Path) -> None:
    plot = tmp_path / "plot.svg"
    rows = list(run(locomo=write_talks(tmp_path / "talks.json"), sizes=(9, 6), plot=plot))
    sizes = [(row["conversations"], row["memories"]) for row in rows[:: len(RULES)]]
    assert sizes == [(1, 2), (2, 4), (3, 6), (3, 6), (3, 9)]
    assert [row["rule"] for row in rows] == len(sizes) * list(RULES)
    assert {row["questions"] for row in rows} == {len(THINGS)}
    assert all(row["mrr"] == 1.0 for row in rows if row["rule"] == "words alone" and row["memories"] <= 6)
    lines = drawn_lines(plot)
    assert len(lines) == 9  # three rules by three metrics
    assert all(len(points) == len(sizes) for points in lines.values())


def test_a_mind_is_not_less_than_what_it_holds(tmp_path: Path) -> None:
    path = write_talks(tmp_path / "talks.json")
    with pytest.raises(ValueError, match="a mind of 5 memories has no room for the 6 turns"):
        list(run(locomo=path, sizes=(5, 9)))


@pytest.mark.parametrize("count", [0, 1, 100])
def test_chatter_has_the_words_days_and_speakers_of_the_conversations(tmp_path: Path, count: int) -> None:
    turns = list(convert(write_talks(tmp_path / "talks.json")))
    chatter = draw_chatter(turns, count, seed=1)
    assert chatter == draw_chatter(turns, count, seed=1)
    assert len({turn["id"] for turn in chatter}) == len(chatter) == count
    words = Counter(word for turn in turns for word in turn["text"].split())
    assert {word for turn in chatter for word in turn["text"].split()} <= words.keys()
    assert {len(turn["text"].split()) for turn in chatter} <= {len(turn["text"].split()) for turn in turns}
    for field, known in (("speaker", {"Ann", "Bob"}), ("scope", {"chatter"}), ("role", {"user", "assistant"})):
        assert {turn[field] for turn in chatter} <= known
    assert {turn["said_at"][:10] for turn in chatter} <= {turn["said_at"][:10] for turn in turns}
    assert max(Counter(turn["session"] for turn in chatter).values(), default=0) <= 22
