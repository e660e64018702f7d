"""A file of LongMemEval's form becomes sets of haystacks and questions; another file is refused in a sentence.

All text here is made up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.quality import longmemeval
from mnemic.bench.quality.longmemeval import longmemeval_sets


def entry(name: str, **more: Any) -> dict[str, Any]:
    """One question whose haystack has two conversations, of which the second answers."""
    told = [
        [{"role": "user", "content": "The kiln is old."}, {"role": "assistant", "content": "Is it?"}],
        [
            {"role": "user", "content": f"The {name} cost 40 crowns.", "has_answer": True},
            {"role": "assistant", "content": "  "},
            {"role": "assistant", "content": "That is cheap.", "has_answer": False},
        ],
    ]
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": f"What did the {name} cost?",
        "answer": "40 crowns",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_sessions": told,
        "answer_session_ids": ["s2"],
    } | more


def write_longmemeval(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text(json.dumps(entries, indent=1), "utf-8")
    return path


def test_each_haystack_is_a_scope_of_its_own(tmp_path: Path) -> None:
    (of,) = longmemeval_sets(write_longmemeval(tmp_path / "m.json", entry("boat"), entry("violin")), 100)
    assert of.name == "longmemeval"
    assert [turn["id"] for turn in of.turns[:4]] == ["boat/s1/0", "boat/s1/1", "boat/s2/0", "boat/s2/2"]
    assert of.turns[2] == {
        "session": "boat/s2",
        "scope": "longmemeval/boat",
        "said_at": "2023-05-21T10:00:00+00:00",
        "id": "boat/s2/0",
        "role": "user",
        "kind": "turn",
        "text": "The boat cost 40 crowns.",
    }
    boat, violin = of.questions
    assert (boat.sessions, boat.answers, boat.scope) == ({"boat/s2"}, {"boat/s2/0"}, "longmemeval/boat")
    assert (violin.kind, violin.part) == ("single-session-user", "violin")


def test_sets_hold_so_many_turns_and_no_question_to_abstain_from(tmp_path: Path) -> None:
    names = ("a", "b_abs", "c", "d")
    path = write_longmemeval(tmp_path / "m.json", *map(entry, names))
    assert [[one.part for one in of.questions] for of in longmemeval_sets(path, 8)] == [["a", "c"], ["d"]]
    assert [[one.part for one in of.questions] for of in longmemeval_sets(path, 1)] == [["a"], ["c"], ["d"]]
    assert [[one.part for one in of.questions] for of in longmemeval_sets(path, 100, 2)] == [["a", "c"]]


def test_a_conversation_that_comes_twice_is_taken_once(tmp_path: Path) -> None:
    once = entry("boat")
    fields = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
    twice = entry("boat", **{name: once[name] + once[name][:1] for name in fields})
    one, other = (
        list(longmemeval_sets(write_longmemeval(tmp_path / name, each), 100))
        for name, each in (("one", once), ("other", twice))
    )
    assert one == other


@pytest.mark.parametrize("chars", [1, 7, 100_000])
def test_a_file_is_read_in_pieces_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chars: int) -> None:
    monkeypatch.setattr(longmemeval, "_CHUNK_CHARS", chars)
    path = write_longmemeval(tmp_path / "m.json", entry("boät"), entry("violin"))
    (of,) = longmemeval_sets(path, 100)
    assert [one.part for one in of.questions] == ["boät", "violin"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "is not a list of questions"),
        ("{}", "is not a list of questions"),
        ("[3]", "is not a list of questions"),
        ("[]", "asks nothing that can be measured"),
        ('[{"question_id": "a"', "ends in the middle of a question"),
        ('[{"question_id": "a"}]', "is not LongMemEval's: KeyError"),
        (json.dumps([entry("a_abs")]), "asks nothing that can be measured"),
        (json.dumps([entry("a", answer_session_ids=["s9"])]), "answered by no conversation of its haystack"),
        (json.dumps([entry("a", haystack_dates=["2023/05/20 (Sat) 02:21"])]), "is not LongMemEval's: ValueError"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "other.json").write_text(content, "utf-8")
    with pytest.raises(ValueError, match=why):
        list(longmemeval_sets(tmp_path / "other.json", 100))
