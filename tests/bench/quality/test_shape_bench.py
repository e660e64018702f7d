"""Questions of structure are made from what is known, asked both ways, and judged by the memories' own fields.

All text here is made up, but for the example project's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.recall.messages import Memory
from mnemic.actors.shape.messages import UNKNOWN
from mnemic.bench.quality.shape.shape_questions import (
    Claim,
    StructuralQuestion,
    claim_questions,
    example_questions,
    known_fillers,
    observations,
    tool_questions,
)
from mnemic.bench.quality.shape_bench import run
from tests import built

US = 1_000_000
DAY_US = 86_400 * US


def memory(number: int, text: str, **more: Any) -> Memory:
    fields: dict[str, Any] = {
        "id": bytes([number]) * 16,
        "source_id": f"conv-1/D1:{number}",
        "speaker": "Ida" if number % 2 else "Oto",
        "session": "one",
        "scope": "w/p",
        "said_at": number * 60 * US,
    }
    return built.memory(text, **(fields | more))


TALK = [memory(number, f"turn {number}") for number in range(1, 5)]


def made(claims: list[Claim], what: str, every: int = 1) -> list[StructuralQuestion]:
    return [one for one in claim_questions(claims, TALK, every) if one.kind == what]


def test_claims_are_of_the_turns_that_the_file_names(tmp_path: Path) -> None:
    file = tmp_path / "made-up.json"
    said = {"Ida": [["Ida has a kiln.", "D1:1"], ["Gone.", "D9:9"]], "Oto": [["Oto rows.", ["D1:2", "D1:3"]]]}
    file.write_text(
        json.dumps([{"sample_id": "conv-1", "observation": {"session_1_observation": said}}, {"sample_id": "x"}])
    )
    assert [(claim.memory.source_id, claim.text) for claim in observations(file, TALK)] == [
        ("conv-1/D1:1", "Ida has a kiln."),
        ("conv-1/D1:2", "Oto rows."),
    ]


def test_who_is_asked_for_without_the_name_and_when_by_the_day() -> None:
    claims = [Claim(TALK[0], "Ida says that idas are rare, says Ida.")]
    (who,) = made(claims, "who said it")
    assert who.pattern == {
        "kind": "turn",
        "about": "someone says that idas are rare, says someone.",
        "who": UNKNOWN,
    }
    assert (who.role, who.answer, who.relevant) == ("who", "ida", {TALK[0].id})
    assert "Ida" not in who.text
    (when,) = made(claims, "when it was said")
    assert (when.role, when.answer) == ("date", "1970-01-01")
    (said,) = made(claims, "what somebody said on a day")
    assert "January 1, 1970" in said.text
    assert said.pattern["date"] == "1970-01-01"


def test_what_comes_next_is_of_the_same_conversation_and_between_needs_two_claims() -> None:
    claims = [Claim(TALK[0], "a"), Claim(TALK[2], "c"), Claim(TALK[3], "d")]
    assert [(one.about, one.relevant) for one in made(claims, "what was said next")] == [
        ("a", {TALK[1].id}),
        ("c", {TALK[3].id}),
    ]
    (between,) = made(claims, "what was said between")
    assert between.pattern == {"kind": "turn", "previous": "a", "next": "c"}
    assert between.relevant == {TALK[1].id}
    assert len(made(claims, "who said it", every=2)) == 2


def test_calls_are_asked_for_by_how_they_ended_and_by_what_they_touched() -> None:
    calls = [
        memory(5, "ran", kind="tool_result", tool="Bash", outcome="failed"),
        memory(6, "ran", kind="tool_result", tool="Bash", outcome="ok", files=("/a/b.py",)),
        memory(7, "wrote", kind="tool_call", tool="Write", files=("/c/b.py", "/d.py")),
    ]
    asked = {one.text: one for one in tool_questions(calls)}
    assert {text: one.relevant for text, one in asked.items()} == {
        "Which calls of Bash failed?": {calls[0].id},
        "Which calls of Bash went well?": {calls[1].id},
        "What was done to b.py?": {calls[1].id, calls[2].id},
        "What was done to d.py?": {calls[2].id},
    }
    assert asked["Which calls of Bash failed?"].pattern == {"tool": "Bash", "outcome": "failed"}


def test_what_is_known_of_a_claim_is_its_memory_and_the_claims_beside_it() -> None:
    first, third, _ = known_fillers([Claim(TALK[0], "a"), Claim(TALK[1], "b"), Claim(TALK[3], "d")], TALK)
    assert first["next"] == "b"
    assert "previous" not in first
    assert third["previous"] == "a"
    assert (first["who"], first["to"], first["date"], first["hour"]) == ("Ida", "Oto", "1970-01-01", "0")


def test_the_example_is_asked_for_what_its_questions_are_about(tmp_path: Path) -> None:
    asked = {"question": "How many?", "answer_session": "one", "answer_contains": "turn 3"}
    other = {"question": "Where?", "answer_session": "two", "answer_contains": "turn 3"}
    (tmp_path / "questions.json").write_text(json.dumps([asked, other]))
    assert [(claim.memory.id, claim.text) for claim in example_questions(tmp_path, TALK)] == [(TALK[2].id, "How many?")]


def talk(name: str, texts: list[str]) -> dict[str, Any]:
    turns = [
        {"speaker": ("Ida", "Oto")[place % 2], "dia_id": f"D{session}:{place + 1}", "text": text}
        for session in (1, 2)
        for place, text in enumerate(texts[session - 1 :: 2])
    ]
    said = {"Ida": [["Ida said of the kiln that it is hot.", "D1:1"]], "Oto": [["Oto has a boat.", "D2:2"]]}
    return {
        "sample_id": name,
        "conversation": {
            "speaker_a": "Ida",
            "speaker_b": "Oto",
            "session_1_date_time": "1:00 pm on 1 March, 2024",
            "session_1": [turn for turn in turns if turn["dia_id"].startswith("D1")],
            "session_2_date_time": "1:00 pm on 2 June, 2024",
            "session_2": [turn for turn in turns if turn["dia_id"].startswith("D2")],
        },
        "observation": {"session_1_observation": said},
        "qa": [
            {"question": "What did Ida say on 1 March, 2024?", "evidence": ["D1:1"], "category": 4},
            {"question": "What is red?", "evidence": ["D2:2"], "category": 4},
            {"question": "What happened in June 2024?", "evidence": ["D2:1"], "category": 2},
        ],
    }


@pytest.mark.system
def test_a_whole_run_gives_every_part_for_the_example_and_for_a_file(tmp_path: Path) -> None:
    texts = ["The kiln is hot.", "The glaze cracked.", "Then it can wait.", "My boat is red.", "I see.", "It floats."]
    file = tmp_path / "made-up.json"
    file.write_text(json.dumps([talk("conv-1", texts)]), "utf-8")
    rows = list(run(data=file, questions=3))
    by = {(row["of"], row["what"], row["by"]): row for row in rows if "by" in row}
    assert {of for of, _, _ in by} == {"example", "LoCoMo", "a drawn world"}
    assert {way for _, _, way in by} >= {"shape", "meaning", "BM25", "fused", "recall"}
    ended = {way: by["example", "how a tool ended", way]["mrr"] for way in ("shape", "meaning", "BM25", "fused")}
    assert ended["shape"] > 0.9 > max(ended["meaning"], ended["BM25"], ended["fused"])
    assert all(0.0 <= row["mrr"] <= 1.0 for row in rows if "mrr" in row)
    recall = [row["with"] for row in rows if row["what"] == "recall"]
    assert recall == ["meaning, words", "and days named, by shape"]
    assert rows[[row.get("with") for row in rows].index("and days named, by shape")]["answered_otherwise"] <= 3
    asked = {row["asked"] for row in rows if row["what"] == "roles" and row["of"] == "example"}
    assert asked >= {"all", "who", "date", "about", "project", "kind"}
    assert not any(value != value for row in rows for value in row.values() if isinstance(value, float))
