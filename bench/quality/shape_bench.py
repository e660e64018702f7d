"""The shape bench: structural search compared with recall by meaning, by words and by both.

Questions of structure over the example project and, with ``--data FILE``, over LoCoMo's conversations: each is asked by
shape, and as a sentence by meaning, by BM25, by their fusion and by the recall as it is. Where what was said next is
asked for, the fusion also has the turn after each of its hits taken by hand. Parts: ``questions``, and of
`mnemic.bench.quality.shape_ablation` ``recall`` (what structure adds to it) and ``roles`` (what each role carries).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mnemic.actors.protocol.events import DEFAULT_KINDS, KINDS
from mnemic.actors.protocol.messages import Memory, Recall, Recalled, SignalName
from mnemic.actors.protocol.ports import Source
from mnemic.actors.protocol.shape_messages import Shape, Shaped
from mnemic.bench.harness.metrics import any_at, paired_test, reciprocal_rank
from mnemic.bench.harness.processes import COMMAND
from mnemic.bench.quality.locomo import convert
from mnemic.bench.quality.shape_ablation import measure_ablation
from mnemic.bench.quality.shape_questions import (
    Claim,
    StructuralQuestion,
    claim_questions,
    example_questions,
    observations,
    tool_questions,
)
from mnemic.bench.quality.shape_roles import measure_roles
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.actor_system import start_actor_system
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.read.reader import open_reader

__all__ = ["PARTS", "CapturedMind", "run"]

PARTS = ("questions", "recall", "roles")
DEPTH = 100
"""Hits asked for."""
_CLAIMS = 200  # of LoCoMo's, where no number is given
_BY_WORDS: dict[str, tuple[SignalName, ...]] = {
    "meaning": ("dense",),
    "BM25": ("lexical",),
    "fused": ("dense", "lexical", "session"),
    "recall": ("dense", "lexical", "session", "structural"),
}


class CapturedMind(NamedTuple):
    """A captured mind, as the parts need it."""

    name: str
    """What it is made of."""
    home: Path
    """Its home."""
    actor_system: Supervisor
    """Its actors."""
    memories: list[Memory]
    """All that is in it, in the order it was kept."""
    claims: list[Claim]
    """What is known to be said in it."""


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the parts on the example, and on LoCoMo where its file is given.

    Raises:
        ValueError: there is no such part, or the data set is none of LoCoMo's.
        OSError, KeyError: it cannot be read, or is none.
    """
    parts = arguments.parts or PARTS
    if unknown := [part for part in parts if part not in PARTS]:
        raise ValueError(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="mnemic-shape-") as folder:
        with as_file(files("mnemic") / "example") as example:
            _capture(Path(folder) / "example", example)
            rows += _measured(Path(folder) / "example", "example", example, parts, arguments.questions)
        if arguments.data is not None:
            corpus = Path(folder) / "corpus.jsonl"
            corpus.write_text("".join(json.dumps(line) + "\n" for line in convert(arguments.data)), "utf-8")
            _capture(Path(folder) / "locomo", corpus)
            rows += _measured(Path(folder) / "locomo", "LoCoMo", arguments.data, parts, arguments.questions)
    return rows


def _measured(
    home: Path, name: str, data: Path, parts: Sequence[str], questions: int | None
) -> Iterator[dict[str, Any]]:
    found, keys = open_mind(home, "default")
    reader = open_reader(found.store, keys)
    actor_system = start_actor_system(found, keys, Settings(), SystemClock(), opener=_no_transcripts, code="bench")
    try:
        with reader.snapshot() as snapshot:
            memories = snapshot.load_memories([int(row) for row in snapshot.memory_columns(0).row])
            claims = (example_questions if data.is_dir() else observations)(data, memories)
            mind = CapturedMind(name, home, actor_system, memories, claims)
            every = max(1, round(len(claims) / (questions or _CLAIMS)))
            asked = [*claim_questions(claims, memories, every), *tool_questions(memories)]
            if "questions" in parts:
                yield from _questions(mind, asked)
            if "recall" in parts and not data.is_dir():
                yield from measure_ablation(snapshot, keys.seed, data, questions)
            if "roles" in parts:
                yield from measure_roles(snapshot, keys.seed, claims, name)
    finally:
        actor_system.stop()
        reader.close()


def _questions(mind: CapturedMind, asked: Sequence[StructuralQuestion]) -> Iterator[dict[str, Any]]:
    """A row for each kind of question and each way of asking it."""
    known = {memory.id: memory for memory in mind.memories}
    following = _following(mind.memories)
    for what in dict.fromkeys(one.kind for one in asked):
        of_it = [one for one in asked if one.kind == what]
        kinds = KINDS if "tool" in of_it[0].pattern or "file" in of_it[0].pattern else DEFAULT_KINDS
        shaped = [_shape(mind.actor_system, one.pattern) for one in of_it]
        ways: dict[str, list[list[bytes]]] = {"shape": [[hit.id for hit in one.hits] for one in shaped]}
        for name, signals in _BY_WORDS.items():
            ways[name] = [_recall(mind.actor_system, one.text, signals, kinds) for one in of_it]
        if of_it[0].about:
            found = [_recall(mind.actor_system, one.about, _BY_WORDS["fused"], kinds) for one in of_it]
            ways["fused, and the turn after each"] = [
                [following[memory] for memory in one if memory in following] for one in found
            ]
        ranks = {
            name: np.array([reciprocal_rank(ids, one.relevant) for ids, one in zip(given, of_it, strict=True)])
            for name, given in ways.items()
        }
        for name, given in ways.items():
            row: dict[str, Any] = {"what": what, "of": mind.name, "by": name, "questions": len(of_it)}
            for k in (1, 5, 10):
                row[f"any@{k}"] = float(
                    np.mean([any_at(ids, one.relevant, k) for ids, one in zip(given, of_it, strict=True)])
                )
            row["mrr"] = float(ranks[name].mean())
            if name != "shape":
                paired = paired_test(ranks["shape"], ranks[name], seed=1, rounds=2000)
                row |= {"shape_minus_this_mrr": paired.difference, "p": paired.p}
            if of_it[0].role:
                row |= _answers(name, of_it, given, shaped, known)
            yield row


def _answers(
    name: str,
    asked: Sequence[StructuralQuestion],
    given: Sequence[Sequence[bytes]],
    shaped: Sequence[Shaped],
    known: dict[bytes, Memory],
) -> dict[str, float]:
    """How often what fills the role is right: what is decoded, or what the best hit of another way has."""
    if name != "shape":
        filled = [_filler(known[ids[0]], one.role) if ids else "" for ids, one in zip(given, asked, strict=True)]
        return {"answer_right": float(np.mean([got == one.answer for got, one in zip(filled, asked, strict=True)]))}
    best = [
        next((one for one in shape.answers if one.role == wanted.role), None)
        for shape, wanted in zip(shaped, asked, strict=True)
    ]
    return {
        "answer_right": float(
            np.mean([one is not None and one.filler == wanted.answer for one, wanted in zip(best, asked, strict=True)])
        ),
        "answer_confidence": float(np.mean([0.0 if one is None else one.confidence for one in best])),
    }


def _filler(memory: Memory, role: str) -> str:
    """What a memory's own fields say fills a role."""
    if role == "who":
        return (memory.speaker or memory.role).lower()
    return "" if memory.said_at is None else str(np.datetime64(memory.said_at, "us").astype("datetime64[D]"))


def _following(memories: Sequence[Memory]) -> dict[bytes, bytes]:
    """Each turn's next one in its conversation."""
    turns = sorted(
        (one for one in memories if one.kind == "turn" and one.said_at is not None),
        key=lambda memory: (memory.session, memory.said_at, memory.id),
    )
    return {one.id: after.id for one, after in pairwise(turns) if one.session == after.session}


def _shape(actor_system: Supervisor, pattern: dict[str, str]) -> Shaped:
    answer = actor_system.ask(Shape(pattern=pattern, k=DEPTH, observe=False))
    assert isinstance(answer, Shaped)
    return answer


def _recall(
    actor_system: Supervisor, query: str, signals: tuple[SignalName, ...], kinds: tuple[str, ...]
) -> list[bytes]:
    answer = actor_system.ask(Recall(query=query, k=DEPTH, signals=signals, kinds=kinds, observe=False))
    assert isinstance(answer, Recalled)
    return [hit.id for hit in answer.hits]


def _capture(home: Path, source: Path) -> None:
    home.mkdir(mode=0o700)
    command = [*COMMAND, "capture", str(source), "--home", str(home), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"mnemic capture failed: {done.stdout} {done.stderr}")


def _no_transcripts(path: str, format: str) -> Source:
    raise ValueError("this bench captures by the command")
