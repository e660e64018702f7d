"""What procedures tell of the next session's steps is counted from the fourth time on."""

from __future__ import annotations

from typing import Any

from mnemic.bench.quality.question_sets import QuestionSet
from mnemic.bench.quality.sleep.steps import step_rows


def session(number: int) -> list[dict[str, Any]]:
    """One in which a file is edited and its tests are run."""
    calls = (("Edit", "file_path: src/a.py"), ("Bash", "command: pytest tests"))
    about = {"scope": "shop", "session": f"s{number}", "kind": "tool_call", "role": "assistant"}
    return [
        about | {"id": f"{number}.{n}", "said_at": f"2026-11-0{number + 1}T10:00:0{n}Z", "tool": tool, "text": text}
        for n, (tool, text) in enumerate(calls)
    ]


def test_what_was_done_three_times_is_told_before_the_fourth_and_what_came_most_often_before_the_second() -> None:
    turns = [turn for number in range(5) for turn in session(number)]
    (row,) = step_rows(QuestionSet(name="shop", turns=turns, questions=()))
    assert row == {"what": "steps", "set": "shop", "sessions": 4, "steps": 4, "told": 2, "most_often": 4}


def test_where_no_tools_are_used_there_is_no_row() -> None:
    turn = {"scope": "shop", "session": "s", "id": "1", "role": "user", "said_at": "2026-11-01T10:00:00Z", "text": "Hi"}
    assert list(step_rows(QuestionSet(name="shop", turns=[turn], questions=()))) == []
