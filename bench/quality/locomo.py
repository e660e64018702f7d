"""The LoCoMo data set: converts its conversations, reads its questions, scores a recall by them.

The data (snap-research/LoCoMo, CC BY-NC 4.0) is for measuring only and never ships: a path to it is given. Above stand
the benches that ask its questions, and others that rank.

A file is a list of conversations. Each has a ``sample_id``, a ``conversation`` (two speakers, ``session_<n>`` lists of
turns with ``session_<n>_date_time`` beside them) and ``qa``, questions whose ``evidence`` names turns: ``D8:6`` is the
sixth turn of the eighth session. Some evidence is malformed ("D8:6; D9:17", "D:11:26") or names no turn that is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mnemic.bench.harness.metrics import any_at, distinct, ndcg_at, reciprocal_rank

METRICS = ("any@1", "any@5", "any@10", "mrr", "ndcg@10", "turn_any@10")
"""What is measured: over sessions, except for the last."""

_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


class RankedHit(msgspec.Struct, frozen=True):
    """One hit of a recall, as the bench needs it."""

    session: str
    """Its session, as `convert` named it."""
    source_id: str | None
    """The ``id`` that `convert` gave it."""


class Question(msgspec.Struct, frozen=True):
    """One question and where its answer is."""

    conversation: str
    """The conversation it is about, such as ``conv-26``; its scope is ``locomo/conv-26``."""
    text: str
    """The question."""
    category: int
    """1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial."""
    sessions: frozenset[str]
    """The sessions that hold its evidence, never empty."""
    turns: frozenset[str]
    """The turns that are its evidence, by the ids `convert` gives them, never empty."""


def convert(path: Path) -> Iterator[dict[str, Any]]:
    """Read a LoCoMo file as generic JSON Lines: one turn a line, sessions in their order.

    A turn's session is ``conv-26/session_1``, its id ``conv-26/D1:3`` (unique in the file), its scope
    ``locomo/conv-26``. The first speaker is the user and the second the assistant, as in a conversation with one; the
    names are kept as `speaker`. A session's date stands for its first turn, in UTC since none is named, and each later
    turn is said a minute after the one before. A shared picture is told by its caption, after the text, as the
    dataset's own prompts do; the web search that found the picture is not part of the conversation and is left out.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not LoCoMo's JSON.
        KeyError: a field of it is missing.
    """
    for sample in _samples(path):
        name, talk = sample["sample_id"], sample["conversation"]
        for number in _session_numbers(talk):
            began = _parse_date(talk[f"session_{number}_date_time"])
            for place, turn in enumerate(talk[f"session_{number}"]):
                yield {
                    "session": f"{name}/session_{number}",
                    "role": "user" if turn["speaker"] == talk["speaker_a"] else "assistant",
                    "text": _turn_text(turn),
                    "speaker": turn["speaker"],
                    "said_at": (began + timedelta(minutes=place)).isoformat(),
                    "scope": f"locomo/{name}",
                    "id": f"{name}/{turn['dia_id']}",
                    "kind": "turn",
                }


def read_questions(path: Path) -> list[Question]:
    """Read the questions of a LoCoMo file, with their evidence resolved to the names that `convert` gives.

    What can be read of malformed evidence is kept; a question that no turn could be found for is left out.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not LoCoMo's JSON.
        KeyError: a field of it is missing.
    """
    kept = []
    for sample in _samples(path):
        name, talk = sample["sample_id"], sample["conversation"]
        session_of = {
            turn["dia_id"]: f"{name}/session_{number}"
            for number in _session_numbers(talk)
            for turn in talk[f"session_{number}"]
        }
        for asked in sample["qa"]:
            named = (pair for evidence in asked.get("evidence") or () for pair in _EVIDENCE.findall(evidence))
            found = {turn for session, said in named if (turn := f"D{session}:{said}") in session_of}
            if found:
                sessions = frozenset(session_of[turn] for turn in found)
                turns = frozenset(f"{name}/{turn}" for turn in found)
                kept.append(Question(name, asked["question"], asked["category"], sessions, turns))
    return kept


def score(hits: Sequence[RankedHit], question: Question) -> dict[str, float]:
    """Measure one answer, best hit first; the keys are `METRICS`. A gold session that no hit is of counts as missed."""
    sessions = distinct(hit.session for hit in hits)
    turns = [hit.source_id for hit in hits]
    return {
        "any@1": any_at(sessions, question.sessions, 1),
        "any@5": any_at(sessions, question.sessions, 5),
        "any@10": any_at(sessions, question.sessions, 10),
        "mrr": reciprocal_rank(sessions, question.sessions),
        "ndcg@10": ndcg_at(sessions, question.sessions, 10),
        "turn_any@10": any_at(turns, question.turns, 10),
    }


def evaluate(recall: Callable[[str], Sequence[RankedHit]], asked: Sequence[Question]) -> list[dict[str, float]]:
    """Ask every question once, in order, and `score` each answer.

    The recall should give at least as many hits as ten distinct sessions need; MRR is of what it gives.
    """
    return [score(recall(question.text), question) for question in asked]


def mean(scores: Sequence[dict[str, float]]) -> dict[str, float]:
    """The averages of some scores, by metric."""
    return {metric: float(np.mean([one[metric] for one in scores])) for metric in METRICS}


def _samples(path: Path) -> list[dict[str, Any]]:
    samples = json.loads(path.read_bytes())
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise ValueError(f"{path} is not a list of conversations")
    return samples


def _session_numbers(talk: dict[str, Any]) -> list[int]:
    """Numbers of the sessions that have turns; the file dates some that have none."""
    return sorted(int(match[1]) for key in talk if (match := _SESSION.fullmatch(key)))


def _parse_date(written: str) -> datetime:
    """Read ``1:56 pm on 8 May, 2023``."""
    return datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _turn_text(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shares {caption}]" if caption else str(turn["text"])


# --- measures of a ranking: a sequence of names, best first, without repeats -----------------------------------------
