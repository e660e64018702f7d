"""A file of LoCoMo's structure becomes generic lines, and questions whose gold names those lines.

All text here is made up.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.quality.locomo import METRICS, Question, RankedHit, convert, evaluate, mean, read_questions, score


def turn(speaker: str, dia_id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"speaker": speaker, "dia_id": dia_id, "text": text, **more}


MADE_UP: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ida",
            "speaker_b": "Oto",
            "session_10_date_time": "12:09 am on 1 March, 2024",
            "session_10": [turn("Oto", "D10:1", "Late already.")],
            "session_2_date_time": "11:59 pm on 29 February, 2024",
            "session_2": [
                turn("Oto", "D2:1", "The kiln is hot.", blip_caption="a photo of a kiln", query="pottery kiln"),
                turn("Ida", "D2:2", "Then the glaze can wait."),
            ],
            "session_3_date_time": "1:00 pm on 2 March, 2024",
        },
        "qa": [
            {"question": "What is hot?", "answer": "the kiln", "evidence": ["D2:1"], "category": 4},
            {"question": "Who waits, and when?", "evidence": ["D2:2; D10:1"], "category": 1},
            {"question": "Oddly written?", "evidence": ["D:10:1", "D"], "category": 2},
            {"question": "Not there?", "evidence": ["D2:9"], "category": 5},
            {"question": "No evidence?", "evidence": [], "category": 3},
        ],
    },
    {
        "sample_id": "conv-2",
        "conversation": {
            "speaker_a": "Una",
            "speaker_b": "Ida",
            "session_1_date_time": "9:05 am on 7 May, 2023",
            "session_1": [turn("Una", "D1:1", "A new boat."), turn("Ida", "D1:2", "Which colour?")],
        },
        "qa": [{"question": "What is new?", "evidence": ["D1:1"], "category": 4}],
    },
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "made-up.json"
    path.write_text(json.dumps(MADE_UP), encoding="utf-8")
    return path


def test_every_turn_is_one_generic_line_with_sessions_in_their_order(file: Path) -> None:
    lines = list(convert(file))
    assert [line["id"] for line in lines] == [
        "conv-1/D2:1",
        "conv-1/D2:2",
        "conv-1/D10:1",
        "conv-2/D1:1",
        "conv-2/D1:2",
    ]
    assert lines[1] == {
        "session": "conv-1/session_2",
        "role": "user",
        "text": "Then the glaze can wait.",
        "speaker": "Ida",
        "said_at": "2024-03-01T00:00:00+00:00",
        "scope": "locomo/conv-1",
        "id": "conv-1/D2:2",
        "kind": "turn",
    }
    assert [line["role"] for line in lines] == ["assistant", "user", "assistant", "user", "assistant"]


def test_a_shared_picture_is_told_by_its_caption_alone(file: Path) -> None:
    assert next(convert(file))["text"] == "The kiln is hot. [shares a photo of a kiln]"


def test_the_hour_after_midnight_is_the_days_first(file: Path) -> None:
    said = {line["id"]: line["said_at"] for line in convert(file)}
    assert said["conv-1/D2:1"] == "2024-02-29T23:59:00+00:00"
    assert said["conv-1/D10:1"] == "2024-03-01T00:09:00+00:00"


def test_evidence_is_read_where_it_can_be(file: Path) -> None:
    read = read_questions(file)
    assert [question.text for question in read] == [
        "What is hot?",
        "Who waits, and when?",
        "Oddly written?",
        "What is new?",
    ]
    assert read[1].turns == {"conv-1/D2:2", "conv-1/D10:1"}
    assert read[1].sessions == {"conv-1/session_2", "conv-1/session_10"}
    assert read[2].turns == {"conv-1/D10:1"}


def test_gold_names_lines_that_the_converter_gives(file: Path) -> None:
    lines = list(convert(file))
    for question in read_questions(file):
        assert question.turns <= {line["id"] for line in lines}
        assert question.sessions <= {line["session"] for line in lines}
        assert {line["scope"] for line in lines if line["id"] in question.turns} == {f"locomo/{question.conversation}"}


def test_a_hit_of_the_gold_session_counts_before_its_gold_turn() -> None:
    question = Question("c", "?", 4, frozenset({"c/session_2"}), frozenset({"c/D2:5"}))
    hits = [RankedHit("c/session_1", "c/D1:1"), RankedHit("c/session_1", "c/D1:2"), RankedHit("c/session_2", "c/D2:1")]
    measured = score(hits, question)
    assert tuple(measured) == METRICS
    assert (measured["any@1"], measured["any@5"], measured["mrr"], measured["turn_any@10"]) == (0.0, 1.0, 0.5, 0.0)
    assert score([*hits, RankedHit("c/session_2", "c/D2:5")], question)["turn_any@10"] == 1.0


def test_hits_that_the_bench_did_not_name_take_a_place_each() -> None:
    question = Question("c", "?", 4, frozenset({"s"}), frozenset({"t"}))
    strangers = [RankedHit("other", None)] * 10
    measured = score([*strangers, RankedHit("s", "t")], question)
    assert measured["any@5"] == 1.0
    assert measured["turn_any@10"] == 0.0
    assert score([*strangers[1:], RankedHit("s", "t")], question)["turn_any@10"] == 1.0


def test_every_question_is_scored_and_averaged(file: Path) -> None:
    def recall(text: str) -> Sequence[RankedHit]:
        return [RankedHit("conv-1/session_2", "conv-1/D2:1")] if text != "What is new?" else []

    scores = evaluate(recall, read_questions(file))
    assert [one["mrr"] for one in scores] == [1.0, 1.0, 0.0, 0.0]
    assert mean(scores)["any@1"] == 0.5
    assert mean(scores[3:]) == dict.fromkeys(METRICS, 0.0)


def test_a_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="conversations"):
        list(convert(path))
