"""Generates structural questions with known answers: who said it, when, after what, with which tool.

Above stands `mnemic.bench.quality.shape_bench`, which asks them by shape and by words; below it the fields of the
memories alone, which say what is right. A *claim* is how a person would put what a memory is about, in other words than
its own: LoCoMo's observations, and the questions that come with the example project.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mnemic.actors.protocol.messages import Memory

__all__ = [
    "ASKED_FILLER",
    "Claim",
    "StructuralQuestion",
    "claim_questions",
    "example_questions",
    "observations",
    "tool_questions",
]

ASKED_FILLER = "?"
"""The filler that asks."""
_CLAIMED = re.compile(r"D\d+:\d+")


class Claim(msgspec.Struct, frozen=True):
    """What a memory is about, in somebody's words."""

    memory: Memory
    """The memory."""
    text: str
    """The words."""


class StructuralQuestion(msgspec.Struct, frozen=True):
    """One question, by shape and by words."""

    kind: str
    """What kind of question it is."""
    pattern: dict[str, str]
    """By shape."""
    text: str
    """By words, as a person would ask a recall."""
    relevant: frozenset[bytes]
    """The memories that answer it."""
    role: str = ""
    """The role that is asked for, where one is."""
    answer: str = ""
    """What fills it."""
    about: str = ""
    """Words for the memory before the one that answers, where that is how it is asked for."""


def observations(path: Path, memories: Sequence[Memory]) -> list[Claim]:
    """The claims of a LoCoMo file, each about the first turn that it names, in the order of the file.

    Args:
        memories: its turns, captured as `mnemic.bench.quality.locomo.convert` gives them.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not LoCoMo's JSON.
        KeyError: a field of it is missing.
    """
    named = {memory.source_id: memory for memory in memories}
    claims = []
    for sample in json.loads(path.read_bytes()):
        for session in sample.get("observation", {}).values():
            for text, evidence in (one for said in session.values() for one in said):
                found = _CLAIMED.search(str(evidence))
                memory = named.get(f"{sample['sample_id']}/{found[0]}") if found else None
                if memory is not None:
                    claims.append(Claim(memory, text))
    return claims


def example_questions(folder: Path, memories: Sequence[Memory]) -> list[Claim]:
    """The questions of the example project, each about the first memory that answers it.

    Raises:
        OSError, ValueError, KeyError: they cannot be read.
    """
    claims = []
    for asked in json.loads((folder / "questions.json").read_text("utf-8")):
        answer = asked["answer_contains"].encode()
        for memory in memories:
            if memory.kind == "turn" and memory.session == asked["answer_session"] and answer in memory.data:
                claims.append(Claim(memory, asked["question"]))
                break
    return claims


def claim_questions(
    claims: Sequence[Claim], memories: Sequence[Memory], every: int = 1
) -> Iterator[StructuralQuestion]:
    """Questions that every so many-th claim gives: who, when, what somebody said, what stood before or between.

    Args:
        memories: all memories, which say what is beside what.
    """
    turns = [memory for memory in memories if memory.kind == "turn" and memory.said_at is not None]
    turns.sort(key=lambda memory: (memory.session, memory.said_at, memory.id))
    place = {memory.id: number for number, memory in enumerate(turns)}
    claimed = {claim.memory.id: claim.text for claim in reversed(claims)}
    for claim in claims[::every]:
        memory, number = claim.memory, place.get(claim.memory.id)
        if number is None or memory.said_at is None:
            continue
        who, day = (memory.speaker or memory.role).lower(), datetime.fromtimestamp(memory.said_at / 1e6, UTC).date()
        itself = frozenset({memory.id})
        nobody = _without(claim.text, memory.speaker)
        turn = {"kind": "turn"}
        yield StructuralQuestion(
            "who said it", turn | {"about": nobody, "who": ASKED_FILLER}, f"Who said this: {nobody}", itself, "who", who
        )
        yield StructuralQuestion(
            "when it was said",
            turn | {"about": claim.text, "date": ASKED_FILLER},
            f"When was this said: {claim.text}",
            itself,
            "date",
            day.isoformat(),
        )
        yield StructuralQuestion(
            "what somebody said",
            turn | {"who": who, "about": claim.text},
            f"What did {who} say about this: {claim.text}",
            itself,
        )
        yield StructuralQuestion(
            "what somebody said on a day",
            turn | {"who": who, "date": day.isoformat(), "about": claim.text},
            f"What did {who} say on {day:%B} {day.day}, {day.year} about this: {claim.text}",
            itself,
        )
        after = _neighbour(turns, number, 1)
        if after is None:
            continue
        yield StructuralQuestion(
            "what was said next",
            turn | {"previous": claim.text},
            f"What was said right after this: {claim.text}",
            frozenset({after.id}),
            about=claim.text,
        )
        second = _neighbour(turns, number, 2)
        if second is not None and second.id in claimed:
            yield StructuralQuestion(
                "what was said between",
                turn | {"previous": claim.text, "next": claimed[second.id]},
                f"What was said after this: {claim.text} And before this: {claimed[second.id]}",
                frozenset({after.id}),
                about=claim.text,
            )


def tool_questions(memories: Sequence[Memory]) -> Iterator[StructuralQuestion]:
    """Questions about calls of tools: how they ended, and which files they touched."""
    ended: dict[tuple[str, str], set[bytes]] = {}
    touched: dict[str, set[bytes]] = {}
    for memory in memories:
        if memory.tool and memory.outcome:
            ended.setdefault((memory.tool, memory.outcome), set()).add(memory.id)
        for file in memory.files:
            touched.setdefault(file.rpartition("/")[2], set()).add(memory.id)
    for (tool, outcome), right in sorted(ended.items()):
        text = f"Which calls of {tool} {'failed' if outcome == 'failed' else 'went well'}?"
        yield StructuralQuestion("how a tool ended", {"tool": tool, "outcome": outcome}, text, frozenset(right))
    for file, right in sorted(touched.items()):
        yield StructuralQuestion("what touched a file", {"file": file}, f"What was done to {file}?", frozenset(right))


def _neighbour(turns: Sequence[Memory], number: int, steps: int) -> Memory | None:
    """The turn so many steps on in the same conversation."""
    there = number + steps
    return turns[there] if there < len(turns) and turns[there].session == turns[number].session else None


def _without(text: str, speaker: str | None) -> str:
    return re.sub(rf"\b{re.escape(speaker)}\b", "someone", text, flags=re.IGNORECASE) if speaker else text
