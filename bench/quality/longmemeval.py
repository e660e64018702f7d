"""The LongMemEval data set (D. Wu et al., 2024): each question has a haystack of conversations of its own.

Its three files (oracle, S and M) have one form: a list of questions, each with ``question_id``, ``question_type``,
``question``, ``haystack_session_ids``, ``haystack_dates`` and ``haystack_sessions`` (lists of turns: ``role``,
``content`` and, where a turn holds the answer, ``has_answer``), and ``answer_session_ids``. The data is for measuring
only and never ships: a path to it is given. M has gigabytes, so a file is read a question at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mnemic.bench.quality.question_sets import LabelledQuestion, QuestionSet

_ABSTENTION = "_abs"  # at the end of the id of a question that its haystack does not answer
_CHUNK_CHARS = 1 << 20
_GAP = " \t\r\n,"


def longmemeval_sets(path: Path, most_turns: int, most_questions: int | None = None) -> Iterator[QuestionSet]:
    """Read a file as sets that a mind can hold: each question's haystack is a scope of its own.

    Questions to abstain from are left out. A conversation is named by its question and its own id, a turn by its place
    in it as well; turns that say nothing are left out, and of a conversation that comes twice the second.

    Args:
        most_turns: of a set; a haystack that has more is a set by itself.
        most_questions: as many of the first ones.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not LongMemEval's JSON, or no question can be asked.
    """
    turns: list[dict[str, Any]] = []
    questions: list[LabelledQuestion] = []
    count = 0
    for entry in _entries(path):
        try:
            if str(entry["question_id"]).endswith(_ABSTENTION):
                continue
            haystack = list(_turns(entry))
            asked = _question(entry, haystack)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not LongMemEval's: {error!r} in question {count + 1}") from error
        if questions and len(turns) + len(haystack) > most_turns:
            yield QuestionSet(name="longmemeval", turns=turns, questions=questions)
            turns, questions = [], []
        turns += [turn for turn, _ in haystack]
        questions.append(asked)
        count += 1
        if count == most_questions:
            break
    if not questions:
        raise ValueError(f"{path} asks nothing that can be measured")
    yield QuestionSet(name="longmemeval", turns=turns, questions=questions)


def _turns(entry: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """The turns of a haystack, each with whether it holds the answer."""
    name, seen = entry["question_id"], set()
    dated = zip(entry["haystack_session_ids"], entry["haystack_dates"], entry["haystack_sessions"], strict=True)
    for session, date, said in dated:
        if session in seen:
            continue
        seen.add(session)
        began = _date(date)
        for place, turn in enumerate(said):
            if not turn["content"].strip():
                continue
            told = {
                "session": f"{name}/{session}",
                "scope": f"longmemeval/{name}",
                "said_at": (began + timedelta(minutes=place)).isoformat(),
                "id": f"{name}/{session}/{place}",
                "role": "user" if turn["role"] == "user" else "assistant",
                "kind": "turn",
                "text": turn["content"],
            }
            yield told, bool(turn.get("has_answer"))


def _question(entry: dict[str, Any], haystack: list[tuple[dict[str, Any], bool]]) -> LabelledQuestion:
    name = entry["question_id"]
    sessions = frozenset(f"{name}/{one}" for one in entry["answer_session_ids"])
    if not sessions & {turn["session"] for turn, _ in haystack}:
        raise ValueError(f"{name} is answered by no conversation of its haystack")
    return LabelledQuestion(
        question=entry["question"],
        kind=entry["question_type"],
        answers=frozenset(turn["id"] for turn, answers in haystack if answers),
        scope=f"longmemeval/{name}",
        part=name,
        sessions=sessions,
    )


def _date(written: str) -> datetime:
    """Read ``2023/05/20 (Sat) 02:21``."""
    day, _, rest = written.partition(" (")
    return datetime.strptime(f"{day} {rest.partition(') ')[2]}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a list, one by one.

    Raises:
        OSError: the file cannot be read.
        ValueError: it holds no list of objects.
    """
    decoder = json.JSONDecoder()
    with path.open(encoding="utf-8") as file:
        text = file.read(_CHUNK_CHARS).lstrip()
        if text[:1] != "[":
            raise ValueError(f"{path} is not a list of questions")
        text = text[1:]
        while True:
            text = text.lstrip(_GAP)
            try:
                if text[:1] == "]":
                    return
                entry, end = decoder.raw_decode(text)
            except ValueError:
                more = file.read(max(_CHUNK_CHARS, len(text)))  # twice as much, so that it is read anew seldom
                if not more:
                    raise ValueError(f"{path} ends in the middle of a question, or is no JSON") from None
                text += more
                continue
            if not isinstance(entry, dict):
                raise ValueError(f"{path} is not a list of questions")
            yield entry
            text = text[end:]
