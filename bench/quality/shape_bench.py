"""The shape bench: structural search compared with recall by meaning, by words and by both.

Over the example project and, with ``--data FILE``, over LoCoMo's conversations. Parts: ``questions`` of structure, each
asked by shape, and as a sentence by meaning, by BM25, by their fusion and by the recall as it is (where what was said
next is asked for, the fusion also has the turn after each of its hits taken by hand); ``recall``, LoCoMo's own
questions with structure and without; ``roles``, what each role adds to a question by shape; ``cues``, patterns that are
partly wrong (`mnemic.bench.quality.shape.partial_cues`); ``alike``, events of one kind, found by each other
(`mnemic.bench.quality.shape.alike`); ``here``, what is done next, and what helps against a failure
(`mnemic.bench.quality.shape.here`); ``analogies``, over facts that sentences say
(`mnemic.bench.quality.shape.fact_analogies`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.events import DEFAULT_KINDS, KINDS
from mnemic.actors.recall.messages import Memory, Recall, Recalled, SignalName
from mnemic.actors.shape.messages import ListRoles, RolesListed, Shape, Shaped
from mnemic.bench.harness.homes import MIND_NAME, actors_of
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.metrics import any_at, reciprocal_rank
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.harness.statistics import paired_test
from mnemic.bench.quality.locomo import RankedHit, convert, evaluate, mean, read_questions
from mnemic.bench.quality.question_sets import developers_set
from mnemic.bench.quality.shape.alike import alike_rows
from mnemic.bench.quality.shape.fact_analogies import analogy_rows
from mnemic.bench.quality.shape.here import hint_rows, mend_rows, next_rows
from mnemic.bench.quality.shape.partial_cues import cue_rows
from mnemic.bench.quality.shape.shape_questions import (
    Claim,
    StructuralQuestion,
    claim_questions,
    example_questions,
    following,
    known_fillers,
    observations,
    tool_questions,
)
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader

Part = Literal["questions", "recall", "roles", "cues", "alike", "here", "analogies"]
DEPTH = 100
"""Hits asked for."""
_RECALL_DEPTH = 300
_CLAIMS = 200  # of LoCoMo's, where no number is given
_ANALOGIES = 100
_MAIN = "about"
_FUSED: tuple[SignalName, ...] = ("dense", "lexical", "session")
_ALL: tuple[SignalName, ...] = (*_FUSED, "structural", "answer", "validity", "use")
_BY_WORDS: dict[str, tuple[SignalName, ...]] = {
    "meaning": ("dense",),
    "BM25": ("lexical",),
    "fused": _FUSED,
    "recall": _ALL,
}


class _CapturedMind(NamedTuple):
    name: str
    """What it is made of."""
    actors: Supervisor
    memories: list[Memory]
    """All that is in it, in the order it was kept."""
    claims: list[Claim]
    """What is known to be said in it."""


def run(
    *,
    data: Path | None = None,
    questions: int | None = None,
    parts: tuple[Part, ...] = ("questions", "recall", "roles", "cues", "alike", "here", "analogies"),
    developers: Path | None = None,
    labels: Path | None = None,
    failures: Path | None = None,
    seed: int = 0,
) -> Iterator[Row]:
    """Run the parts on the example, and on LoCoMo where its file is given; partly wrong cues on developers', too.

    Args:
        labels: a folder with ``example.json`` and ``locomo.json``, events that are alike; without it there is no part
            ``alike``.
        failures: a folder with sessions in which calls fail, and their labels, for what helps and the hints of it.

    Raises:
        ValueError: the data set is none of LoCoMo's.
        OSError, KeyError: it cannot be read, or is none.
    """
    with tempfile.TemporaryDirectory(prefix="mnemic-shape-") as folder:
        with as_file(files("mnemic") / "example") as example:
            yield from _measured(Path(folder) / "example", "example", example, example, parts, questions, seed, labels)
        if data is not None:
            corpus = Path(folder) / "corpus.jsonl"
            corpus.write_text("".join(json.dumps(line) + "\n" for line in convert(data)), "utf-8")
            yield from _measured(Path(folder) / "locomo", "LoCoMo", corpus, data, parts, questions, seed, labels)
        if "analogies" in parts:
            yield from analogy_rows(seed, _ANALOGIES if questions is None else questions)
        if failures is not None and "here" in parts:
            home = Path(folder) / "failures"
            home.mkdir(mode=0o700)
            run_mnemic(home, "capture", failures / "sessions")
            yield from next_rows(home, "failures")
            yield from mend_rows(home, failures)
            with actors_of(home) as actors:
                yield from hint_rows(home, failures, actors)
        if developers is not None and not {"cues", "here"}.isdisjoint(parts):
            home, corpus = Path(folder) / "developers", Path(folder) / "developers.jsonl"
            turns = developers_set(developers, held=False).turns
            corpus.write_text("".join(json.dumps(line) + "\n" for line in turns), "utf-8")
            home.mkdir(mode=0o700)
            run_mnemic(home, "capture", corpus)
            if "cues" in parts:
                with actors_of(home) as actors:
                    yield from cue_rows(home, "developers", actors, seed)
            if "here" in parts:
                yield from next_rows(home, "developers")


def _measured(
    home: Path,
    name: str,
    source: Path,
    data: Path,
    parts: Sequence[Part],
    limit: int | None,
    seed: int,
    labels: Path | None,
) -> Iterator[Row]:
    home.mkdir(mode=0o700)
    run_mnemic(home, "capture", source)
    found, keys = open_mind(home, MIND_NAME)
    reader = open_reader(found.store, keys)
    try:
        with reader.snapshot() as snapshot:
            memories = snapshot.load_memories([int(row) for row in snapshot.memory_columns(0).row])
    finally:
        reader.close()
    claims = (example_questions if data.is_dir() else observations)(data, memories)
    every = max(1, round(len(claims) / (limit or _CLAIMS)))
    with actors_of(home) as actors:
        mind = _CapturedMind(name, actors, memories, claims)
        if "questions" in parts:
            yield from _questions(mind, [*claim_questions(claims, memories, every), *tool_questions(memories)])
        if "recall" in parts and not data.is_dir():
            yield from _recalls(mind, data, limit)
        if "roles" in parts:
            yield from _roles(mind, claims[::every])
        if "cues" in parts:
            yield from cue_rows(home, name, actors, seed)
        if "here" in parts and data.is_dir():  # in LoCoMo nobody uses a tool
            yield from next_rows(home, name)
        if "alike" in parts and labels is not None:
            yield from alike_rows(home, labels / f"{name.lower()}.json", name, actors, others=not data.is_dir())


# --- questions -------------------------------------------------------------------------------------------------------


def _questions(mind: _CapturedMind, asked: Sequence[StructuralQuestion]) -> Iterator[Row]:
    """A row for each kind of question and each way of asking it."""
    known = {memory.id: memory for memory in mind.memories}
    after = following(mind.memories)
    for what in dict.fromkeys(one.kind for one in asked):
        of_it = [one for one in asked if one.kind == what]
        kinds = KINDS if "tool" in of_it[0].pattern or "file" in of_it[0].pattern else DEFAULT_KINDS
        shaped = [_shape(mind.actors, one.pattern) for one in of_it]
        ways = {"shape": [[hit.id for hit in one.hits] for one in shaped]}
        for name, signals in _BY_WORDS.items():
            ways[name] = [_recall(mind.actors, one.text, signals, kinds) for one in of_it]
        for name, signals in (("meaning", _BY_WORDS["meaning"]), ("fused", _FUSED)) if of_it[0].about else ():
            found = [_recall(mind.actors, one.about, signals, kinds) for one in of_it]
            ways[f"{name}, and the turn after each"] = [
                [after[memory] for memory in one if memory in after] for one in found
            ]
        ranks = {
            name: np.array([reciprocal_rank(ids, one.relevant) for ids, one in zip(given, of_it, strict=True)])
            for name, given in ways.items()
        }
        for name, given in ways.items():
            row: Row = {"what": what, "of": mind.name, "by": name, "questions": len(of_it)}
            for k in (1, 5, 10):
                row[f"any@{k}"] = float(
                    np.mean([any_at(ids, one.relevant, k) for ids, one in zip(given, of_it, strict=True)])
                )
            row["mrr"] = float(ranks[name].mean())
            if name != "shape":
                row["shape_minus_this_mrr"], row["p"] = paired_test(ranks["shape"], ranks[name], seed=1, rounds=2000)
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
    right = [one is not None and one.filler == wanted.answer for one, wanted in zip(best, asked, strict=True)]
    confidence = [0.0 if one is None else one.confidence for one in best]
    return {"answer_right": float(np.mean(right)), "answer_confidence": float(np.mean(confidence))}


def _filler(memory: Memory, role: str) -> str:
    """What a memory's own fields say fills a role."""
    if role == "who":
        return (memory.speaker or memory.role).lower()
    return "" if memory.said_at is None else str(np.datetime64(memory.said_at, "us").astype("datetime64[D]"))


# --- recall and roles ------------------------------------------------------------------------------------------------


def _recalls(mind: _CapturedMind, data: Path, limit: int | None) -> Iterator[Row]:
    """LoCoMo's own questions without structure and with it; those it answers otherwise once more apart."""
    asked = read_questions(data)
    asked = asked[:: max(1, len(asked) // limit)] if limit else asked

    def by(signals: tuple[SignalName, ...]) -> Callable[[str], list[RankedHit]]:
        def recall(query: str) -> list[RankedHit]:
            answer = mind.actors.ask(Recall(query=query, k=_RECALL_DEPTH, signals=signals, observe=False))
            assert isinstance(answer, Recalled)
            return [RankedHit(hit.session, hit.source_id) for hit in answer.hits]

        return recall

    without, scores = evaluate(by(_FUSED), asked), evaluate(by(_ALL), asked)
    yield {"what": "recall", "with": "meaning, words", "questions": len(asked), **mean(without)}
    row: Row = {"what": "recall", "with": "and days named, by shape", "questions": len(asked), **mean(scores)}
    for metric in ("mrr", "any@5", "turn_any@10"):
        one, other = (np.array([each[metric] for each in both]) for both in (scores, without))
        row[f"gain_{metric}"], row[f"p_{metric}"] = paired_test(one, other, seed=1, rounds=4000)
    changed = [number for number, both in enumerate(zip(scores, without, strict=True)) if both[0] != both[1]]
    row["answered_otherwise"] = len(changed)
    if changed:
        row["their_mrr_without"] = mean([without[number] for number in changed])["mrr"]
        row["their_mrr"] = mean([scores[number] for number in changed])["mrr"]
    yield row


def _roles(mind: _CapturedMind, claims: Sequence[Claim]) -> Iterator[Row]:
    """A row for all roles together, and one for each: alone, beside ``about``, and left out of all."""
    listed = mind.actors.ask(ListRoles())
    assert isinstance(listed, RolesListed)
    names = {view.name for view in listed.roles}
    fillers = known_fillers(claims, mind.memories)
    known = [{role: filler for role, filler in one.items() if role in names} for one in fillers]

    def ranks(places: Sequence[int], keep: Callable[[str], bool]) -> NDArray[np.float64]:
        found = []
        for place in places:
            pattern = {role: filler for role, filler in known[place].items() if keep(role)}
            hits = _shape(mind.actors, pattern).hits if pattern else ()
            found.append(reciprocal_rank([hit.id for hit in hits], {claims[place].memory.id}))
        return np.array(found)

    everything = ranks(range(len(claims)), lambda role: True)
    main = ranks(range(len(claims)), lambda role: role == _MAIN)
    mrr = {"mrr": float(everything.mean()), f"{_MAIN}_mrr": float(main.mean())}
    yield {"what": "roles", "of": mind.name, "asked": "all", "memories": len(claims), **mrr}
    for view in listed.roles:
        having = [place for place, one in enumerate(known) if view.name in one]
        if not having:
            continue
        alone = ranks(having, lambda role, name=view.name: role == name)  # type: ignore[misc]
        beside = ranks(having, lambda role, name=view.name: role in (name, _MAIN))  # type: ignore[misc]
        without = ranks(having, lambda role, name=view.name: role != name)  # type: ignore[misc]
        row = {
            "what": "roles",
            "of": mind.name,
            "asked": view.name,
            "memories": len(having),
            "alone_mrr": float(alone.mean()),
            f"with_{_MAIN}_mrr": float(beside.mean()),
        }
        row[f"adds_to_{_MAIN}"], row["p"] = paired_test(beside, main[having], seed=1, rounds=2000)
        row["adds_to_all"], row["p_all"] = paired_test(everything[having], without, seed=1, rounds=2000)
        yield row


def _shape(actors: Supervisor, pattern: dict[str, str]) -> Shaped:
    answer = actors.ask(Shape(pattern=pattern, k=DEPTH, observe=False))
    assert isinstance(answer, Shaped)
    return answer


def _recall(actors: Supervisor, query: str, signals: tuple[SignalName, ...], kinds: Any) -> list[bytes]:
    answer = actors.ask(Recall(query=query, k=DEPTH, signals=signals, kinds=kinds, observe=False))
    assert isinstance(answer, Recalled)
    return [hit.id for hit in answer.hits]
