"""Analogies over facts that sentences say, by how many facts lie between the pair: how often the answer is right, how
sure it says it is, and what hypervectors make of it.

A small world is told in sentences, some of them unsaid and some people in two places: who lives where, who works for
whom, which city is the capital of what, who uses what and on which machine that runs. The facts are those that the
product reads out of the sentences. Beside it each name is the bundle of its bound relations and objects, and what they
lead to permuted, as far as the pair is apart; the answer is the name nearest to A, B and C bound together (P. Kanerva,
"What we mean when we say 'What's the dollar of Mexico?'", AAAI Fall Symposium 2010).
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.shape.fillers import ShapeSearch
from mnemic.actors.shape.messages import Shape, Shaped
from mnemic.actors.shape.shape_index import ShapeIndex
from mnemic.bench.harness.homes import MIND_NAME, actors_of
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.harness.statistics import paired_test
from mnemic.hd.codebook import draw_hypervector
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader

Codes = NDArray[np.uint64]
Facts = dict[str, list[tuple[str, str]]]
"""Of each subject its relations and objects, in lower case."""

_SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ra", "se", "ti", "vo", "zu")
_PATTERNS: dict[str, tuple[str, ...]] = {
    "lives": ("{0} lives in {1}.",),
    "works": ("{0} works at {1}.",),
    "based": ("{0} is based in {1}.",),
    "country": ("{0} is in {1}.", "{0} is in {1}, by the way."),
    "uses": ("{0} uses {1}.",),
    "runs": ("{0} runs on {1}.",),
}
_ROUTES: tuple[tuple[str, ...], ...] = (
    *(("lives",), ("works",), ("uses",), ("country",), ("runs",)),
    *(("lives", "country"), ("works", "based"), ("uses", "runs"), ("works", "uses"), ("based", "country")),
    *(("works", "based", "country"), ("works", "uses", "runs")),
)
_UNSAID, _TWICE = 0.1, 0.15


class World(NamedTuple):
    """What is so, and what is said of it."""

    facts: dict[str, dict[str, list[str]]]
    """By relation, of each name what it leads to; what is unsaid is not in it."""
    sentences: list[str]
    """What is said."""


def make_world(seed: int, people: int = 60) -> World:
    """Draw a world.

    Args:
        people: how many; of all else there are fewer.
    """
    draw = random.Random(seed)
    names = _names(draw)
    kinds = {"person": people, "city": 20, "country": 8, "firm": 15, "tool": 10, "server": 8}
    things = {kind: [next(names) for _ in range(count)] for kind, count in kinds.items()}
    ends = {
        "lives": ("person", "city"),
        "works": ("person", "firm"),
        "based": ("firm", "city"),
        "country": ("city", "country"),
        "uses": ("firm", "tool"),
        "runs": ("tool", "server"),
    }
    facts: dict[str, dict[str, list[str]]] = {}
    said = []
    for relation, (source, target) in ends.items():
        own = facts.setdefault(relation, {})
        for name in things[source]:
            if draw.random() < _UNSAID:
                continue
            count = 2 if relation in ("lives", "uses") and draw.random() < _TWICE else 1
            own[name] = draw.sample(things[target], count)
            said += [draw.choice(_PATTERNS[relation]).format(name, one) for one in own[name]]
    draw.shuffle(said)
    return World(facts, said)


def _names(draw: random.Random) -> Iterator[str]:
    seen = set()
    while True:
        name = "".join(draw.choice(_SYLLABLES) for _ in range(3)).capitalize()
        if name not in seen:
            seen.add(name)
            yield name


class Question(NamedTuple):
    """A is to B as C is to what?"""

    names: tuple[str, str, str]
    """The three."""
    right: frozenset[str]
    """What is right, in lower case."""
    distance: int
    """How many facts lie between A and B."""


def questions(world: World, count: int, seed: int) -> list[Question]:
    """Draw questions, as many of each distance."""
    draw = random.Random(seed)
    found: list[Question] = []
    for distance in (1, 2, 3):
        routes = [one for one in _ROUTES if len(one) == distance]
        asked: dict[tuple[str, str, str], Question] = {}
        while len(asked) < count:
            route = draw.choice(routes)
            first, third = draw.sample(sorted(world.facts[route[0]]), 2)
            ends, right = _reached(world, route, first), _reached(world, route, third)
            if ends and right:
                names = (first, draw.choice(sorted(ends)), third)
                asked[names] = Question(names, frozenset(one.lower() for one in right), distance)
        found += asked.values()
    return found


def _reached(world: World, route: tuple[str, ...], name: str) -> set[str]:
    reached = {name}
    for relation in route:
        reached = {end for one in reached for end in world.facts[relation].get(one, ())}
    return reached


def analogy_rows(seed: int, count: int) -> Iterator[Row]:
    """A row for each distance and way."""
    world = make_world(seed)
    asked = questions(world, count, seed)
    with tempfile.TemporaryDirectory(prefix="mnemic-facts-") as folder:
        home, corpus = Path(folder) / "home", Path(folder) / "said.jsonl"
        lines = [
            {"id": str(number), "session": f"s{number // 5}", "role": "user", "speaker": "Teller", "text": text}
            for number, text in enumerate(world.sentences)
        ]
        corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        home.mkdir(mode=0o700)
        run_mnemic(home, "capture", corpus)
        with actors_of(home) as actors:
            given = [_answered(actors.ask(Shape(analogy=one.names, k=1, observe=False))) for one in asked]
        vectors = _Vectors(home)
        by_vectors = [vectors.answer(one) for one in asked]
    for distance in (1, 2, 3):
        own = [place for place, one in enumerate(asked) if one.distance == distance]
        right = np.array([given[place][0] in asked[place].right for place in own], np.float64)
        sure = np.array([given[place][1] for place in own])
        other = np.array([by_vectors[place] in asked[place].right for place in own], np.float64)
        row: Row = {"what": "analogies over facts", "of": "a drawn world"}
        row |= {"facts between": distance, "questions": len(own)}
        told = np.array([bool(given[place][0]) for place in own])
        row |= {"by": "shape --analogy", "right": float(right.mean()), "told": float(told.mean())}
        row |= {"confidence": float(sure.mean()), "brier": float(np.mean((sure - right) ** 2))}
        yield row
        row = {
            "what": row["what"],
            "of": row["of"],
            "facts between": distance,
            "questions": len(own),
            "by": "hypervectors",
        }
        row["right"] = float(other.mean())
        row["shape_minus_this"], row["p"] = paired_test(right, other, seed=1, rounds=4_000)
        yield row


def _answered(shaped: object) -> tuple[str, float]:
    assert isinstance(shaped, Shaped)
    return (shaped.answers[0].filler, shaped.answers[0].confidence) if shaped.answers else ("", 0.0)


class _Vectors:
    """Each name as a hypervector of what is said of it."""

    def __init__(self, home: Path) -> None:
        folder, keys = open_mind(home, MIND_NAME)
        recall, self._shapes = RecallIndex(), ShapeIndex(keys.seed)
        self._facts: Facts = {}
        with closing(open_reader(folder.store, keys)) as reader, reader.snapshot() as snapshot:
            recall.sync(snapshot, None)
            self._shapes.sync(snapshot, recall.columns)
            looking = ShapeSearch(self._shapes, snapshot, np.ones(len(recall.columns.row), np.bool_))
            for place in looking.visible("fact").tolist():
                told = {pair.role: str(pair.filler).lower() for _, pair in looking.pairs("fact", place)}
                self._facts.setdefault(told["subject"], []).append((told["relation"], told["object"]))
        assert self._shapes.encoders is not None
        self._space, self._algebra = self._shapes.encoders.space, self._shapes.algebra
        self._names = sorted({*self._facts, *(end for own in self._facts.values() for _, end in own)})
        self._codes = np.stack([self._drawn("name", one) for one in self._names])
        self._bundles: dict[tuple[str, int], Codes] = {}

    def answer(self, question: Question) -> str:
        """The name nearest to what A, B and C bound together point to."""
        first, second, third = (one.lower() for one in question.names)
        depth = question.distance
        apart = self._algebra.permute(self._drawn("name", second)[None], depth - 1)[0]
        bound = self._bundle(first, depth) ^ self._bundle(third, depth) ^ apart
        back = self._algebra.permute(bound[None], 1 - depth)[0]
        alike = self._algebra.similarity(self._codes, back)
        alike[[self._names.index(one) for one in (first, second, third) if one in self._names]] = -1.0
        return self._names[int(np.argmax(alike))]

    def _drawn(self, kind: str, name: str) -> Codes:
        return draw_hypervector(self._space, kind, name)

    def _bundle(self, name: str, depth: int) -> Codes:
        """The facts of a name; of what they lead to the facts, permuted once for each fact between."""
        if (name, depth) not in self._bundles:
            own = []
            for relation, end in self._facts.get(name, ()):
                further = self._algebra.permute(self._bundle(end, depth - 1)[None], 1)[0] if depth > 1 else None
                led = self._drawn("name", end) if further is None else further
                own.append(self._drawn("relation", relation) ^ led)
            tie = self._drawn("tie", f"{name} {depth}")
            self._bundles[name, depth] = self._algebra.bundle(np.stack(own), tie) if own else tie
        return self._bundles[name, depth]
