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
from itertools import pairwise
from pathlib import Path

import msgspec

from mnemic.actors.kernel.times import day_of
from mnemic.actors.recall.messages import Memory
from mnemic.actors.shape.messages import UNKNOWN
from mnemic.algorithms.text.keyphrases import key_phrases

_CLAIMED = re.compile(r"D\d+:\d+")
_PHRASES = 5  # of a memory are bound, unless a setting says otherwise


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
    after = following(memories)
    claimed = {claim.memory.id: claim.text for claim in reversed(claims)}
    turn = {"kind": "turn"}
    for memory, text in ((claim.memory, claim.text) for claim in claims[::every]):
        if memory.kind != "turn" or memory.said_at is None:
            continue
        who, day = (memory.speaker or memory.role).lower(), day_of(memory.said_at, memory.utc_offset_min)
        itself = frozenset({memory.id})
        nobody = re.sub(rf"\b{re.escape(memory.speaker or '')}\b", "someone", text, flags=re.IGNORECASE)
        nobody, said = nobody if memory.speaker else text, turn | {"who": who, "about": text}
        asking = turn | {"about": nobody, "who": UNKNOWN}
        yield StructuralQuestion("who said it", asking, f"Who said this: {nobody}", itself, "who", who)
        asking, words = turn | {"about": text, "date": UNKNOWN}, f"When was this said: {text}"
        yield StructuralQuestion("when it was said", asking, words, itself, "date", day.isoformat())
        yield StructuralQuestion("what somebody said", said, f"What did {who} say about this: {text}", itself)
        words = f"What did {who} say on {day:%B} {day.day}, {day.year} about this: {text}"
        yield StructuralQuestion("what somebody said on a day", said | {"date": day.isoformat()}, words, itself)
        if memory.id not in after:
            continue
        right, asking = frozenset({after[memory.id]}), turn | {"previous": text}
        words = f"What was said right after this: {text}"
        yield StructuralQuestion("what was said next", asking, words, right, about=text)
        if before := claimed.get(after.get(after[memory.id], b"")):
            asking, words = asking | {"next": before}, f"What was said after this: {text} And before this: {before}"
            yield StructuralQuestion("what was said between", asking, words, right, about=text)


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


def following(memories: Sequence[Memory]) -> dict[bytes, bytes]:
    """Each turn's next one in its conversation."""
    turns = [memory for memory in memories if memory.kind == "turn" and memory.said_at is not None]
    turns.sort(key=lambda memory: (memory.session, memory.said_at, memory.id))
    return {one.id: after.id for one, after in pairwise(turns) if one.session == after.session}


def known_fillers(claims: Sequence[Claim], memories: Sequence[Memory]) -> list[dict[str, str]]:
    """What a person could know of each claim's memory: a filler by role, words where the role is of meaning."""
    after = following(memories)
    claimed = {claim.memory.id: claim.text for claim in reversed(claims)}
    before = {after[one]: text for one, text in claimed.items() if one in after}
    speakers: dict[str, set[str]] = {}
    for one in memories:
        speakers.setdefault(one.session, set()).update([one.speaker] if one.speaker else [])
    known = []
    for memory, text in ((claim.memory, claim.text) for claim in claims):
        others = sorted(speakers[memory.session] - {memory.speaker})
        said = set(key_phrases(memory.text, _PHRASES))
        fillers = {
            "about": text,
            "who": memory.speaker or memory.role,
            "to": others[0] if others else {"user": "assistant", "assistant": "user"}.get(memory.role, ""),
            "project": memory.scope,
            "branch": memory.branch or "",
            "kind": memory.kind,
            "topic": next((phrase for phrase in key_phrases(text, _PHRASES) if phrase in said), ""),
            "size": str(len(memory.text.split())),
            "previous": before.get(memory.id, ""),
            "next": claimed.get(after.get(memory.id, b""), ""),
        }
        if memory.said_at is not None:
            moment = datetime.fromtimestamp(memory.said_at / 1e6 + 60 * memory.utc_offset_min, UTC)
            fillers |= {"date": moment.date().isoformat(), "hour": str(moment.hour), "weekday": f"{moment:%A}".lower()}
        known.append({role: filler for role, filler in fillers.items() if filler})
    return known
