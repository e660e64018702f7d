"""The brief bench: a short run, and what its rows say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.speed import brief_bench
from mnemic.bench.speed.brief_bench import SMALL_TALK, measure_prompt_recall, measure_updates, run


@pytest.mark.system
def test_a_short_run_tells_the_same_with_a_process_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brief_bench, "_REQUESTS", 3)
    monkeypatch.setattr(brief_bench, "_COMMANDS", 2)
    rows = list(run(memories=200, no_model=True))
    assert [row["what"] for row in rows] == [
        "session start, a process up",
        *("baseline: true", "prompt hook, keeps alone", "prompt hook, asks for updates"),
        "session start, no process",
        "competitor: python -c pass",
    ]
    assert [row["n"] for row in rows] == [3, 3, 3, 3, 2, 2]
    assert rows[0]["answer_bytes"] == rows[4]["answer_bytes"] > 500
    assert [row.get("goal_p95_ms") for row in rows] == [20, None, None, None, 300, None]
    assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in rows)


@pytest.mark.system
def test_updates_are_counted_for_sessions_that_run_beside_the_next_one_or_stay_open(tmp_path: Path) -> None:
    said = ("Decision: our database is SQLite.", "Good morning.", "Decision: our database becomes Postgres 17.")
    sessions = [
        {
            "id": f"s{number}",
            "assistant": "claude-code",
            "turns": [turn(f"s{number}-1", f"2026-03-0{number + 2}", text)],
        }
        for number, text in enumerate(said)
    ]
    made = {"project": "tide", "sessions": sessions, "questions": []}
    (tmp_path / "tide.json").write_text(json.dumps(made), "utf-8")
    beside, left = measure_updates(tmp_path)
    assert (beside["sessions"], beside["days"], beside["updates"]) == (3, 3, 1)
    assert beside["tokens_a_day"] == left["tokens_a_day"] > 0
    assert (left["updates"], left["of"]) == (1, "every session left open")


def turn(id: str, day: str, text: str) -> dict[str, Any]:
    return {"id": id, "at": f"{day}T09:00:00Z", "role": "user", "kind": "turn", "text": text}


# --- what is told beside prompts, on a file of LoCoMo's structure, made up here ---------------------------------------


def talk(name: str, first: str, question: str) -> dict[str, Any]:
    turns = [first, *(f"filler{name} says number{name}{number} of nothing{number}" for number in range(150))]
    session = [{"speaker": "Ida", "dia_id": f"D1:{number}", "text": text} for number, text in enumerate(turns, 1)]
    return {
        "sample_id": f"conv-{name}",
        "conversation": {
            "speaker_a": "Ida",
            "speaker_b": "Oto",
            "session_1_date_time": "1:00 pm on 1 March, 2024",
            "session_1": session,
        },
        "qa": [{"question": question, "evidence": ["D1:1"], "category": 4}],
    }


@pytest.mark.system
def test_what_is_right_is_told_and_what_nobody_knows_is_not(tmp_path: Path) -> None:
    file = tmp_path / "made-up.json"
    talks = [
        talk("1", "The pottery kiln cracked the green glaze vase.", "Which kiln cracked the green glaze vase?"),
        talk("2", "My sister rows a red wooden dinghy.", "Who rows a red wooden dinghy?"),
    ]
    file.write_text(json.dumps(talks), "utf-8")
    rows = {row["of"]: row for row in measure_prompt_recall(file)}
    assert list(rows) == [
        *("all conversations", "conv-1", "conv-2"),
        *("questions about another conversation", "small talk"),
    ]
    assert (rows["all conversations"]["prompts"], rows["all conversations"]["told_something"]) == (2, 1)
    assert rows["all conversations"]["right_session"] == 1
    assert rows["questions about another conversation"]["told_something"] == 0
    assert (rows["small talk"]["prompts"], rows["small talk"]["told_something"]) == (2 * len(SMALL_TALK), 0)


@pytest.mark.parametrize("text", ["{}", "[", "[{}]"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "none.json"
    file.write_text(text, "utf-8")
    with pytest.raises((ValueError, KeyError)):
        list(measure_prompt_recall(file))
