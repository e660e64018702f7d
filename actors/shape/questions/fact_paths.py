"""Relates two names over several facts, and follows the same relations from a third: analogies that no column holds.

Facts are edges from subject to object, gone along either way; a name that is made of another ("capital of Norway",
"Ines's sister") is joined to it. A path is a sequence of relations. How much a path says is the probability that a
walk along it from A, each time to any that the relation leads to, ends at B; how probable an answer is follows from
the same walk from C. (N. Lao and W. Cohen, "Relational retrieval using a combination of path-constrained random
walks", Machine Learning 81, 2010.)
"""

from __future__ import annotations

import re
from typing import NamedTuple

from mnemic.actors.shape.fillers import ShapeSearch
from mnemic.actors.shape.messages import Answer

MAX_HOPS = 3
"""A path has at most so many relations."""
_MAX_PATHS, _MAX_REACHED, _MAX_EDGES = 512, 256, 50_000
"""So many paths of a length are followed, the most specific first; one that leads to more names says nothing. After so
many edges the search is given up."""
_LEAST_PROBABLE = 0.01
"""What a walk ends at less probably is no answer."""
_MAX_IDS = 5
_MADE_OF = re.compile(r"(?P<part>[^,]+?) of (?:the )?(?P<whole>.+)|(?P<owner>.+?)['’]s (?P<thing>.+)")
_ARROW = {True: "", False: "of "}

Relation = tuple[str, bool]
"""A relation, and whether it is gone along from subject to object."""
Path = tuple[Relation, ...]


class _Edge(NamedTuple):
    relation: Relation
    to: str
    """The name it leads to."""
    place: int
    """The record of the fact; -1 where the names themselves say it."""


class _Walk(NamedTuple):
    """Where a walk may be."""

    probability: dict[str, float]
    places: dict[str, tuple[int, ...]]
    """The facts that lead to each name."""


class PathAnswers(NamedTuple):
    """What following the paths comes to."""

    answers: list[Answer]
    """The most probable first."""
    places: list[int]
    """The facts that say so, those of the best answer first."""


class FactGraph:
    """The facts that are looked through, as a graph of names in lower case."""

    def __init__(self, looking: ShapeSearch) -> None:
        """Read them."""
        self._looking = looking
        places = looking.visible("fact")
        which, terms = looking.index.records["fact"].terms_of(places)
        told: list[dict[str, str]] = [{} for _ in places]
        for role in ("subject", "relation", "object"):
            own = looking.index.of_role(role, terms)
            for place, name in zip(which[own].tolist(), looking.term_names(terms[own]), strict=True):
                told[place][role] = name
        self._edges: dict[str, list[_Edge]] = {}
        self._gone = 0
        for place, one in zip(places.tolist(), told, strict=True):
            if len(one) == 3 and all(one.values()):
                self._join(one["subject"].lower(), one["relation"].lower(), one["object"].lower(), place)
        for name in list(self._edges):
            made = _MADE_OF.fullmatch(name)
            if made:
                whole, part = (made["whole"], made["part"]) if made["whole"] else (made["owner"], made["thing"])
                self._join(whole, part, name, -1)

    def __contains__(self, name: str) -> bool:
        return name in self._edges

    def _join(self, subject: str, relation: str, object_: str, place: int) -> None:
        self._edges.setdefault(subject, []).append(_Edge((relation, True), object_, place))
        self._edges.setdefault(object_, []).append(_Edge((relation, False), subject, place))

    def paths(self, first: str, second: str) -> dict[Path, float]:
        """The shortest paths from one name to another, and how probably a walk along each ends there."""
        level = {(): _Walk({first: 1.0}, {first: ()})}  # type: dict[Path, _Walk]
        self._gone = 0
        for _ in range(MAX_HOPS):
            level = self._longer(level, first)
            found = {path: walk.probability[second] for path, walk in level.items() if second in walk.probability}
            if found:
                return found
        return {}

    def follow(self, path: Path, start: str) -> _Walk:
        """Where a walk along a path ends."""
        walk, self._gone = _Walk({start: 1.0}, {start: ()}), 0
        for relation in path:
            walk = self._steps(walk, start).get(relation, _Walk({}, {}))
        return walk

    def _longer(self, level: dict[Path, _Walk], start: str) -> dict[Path, _Walk]:
        longer = {
            (*path, relation): further
            for path, walk in level.items()
            for relation, further in self._steps(walk, start).items()
            if len(further.probability) <= _MAX_REACHED
        }
        kept = sorted(longer, key=lambda path: (len(longer[path].probability), path))[:_MAX_PATHS]
        return {path: longer[path] for path in kept}

    def _steps(self, walk: _Walk, start: str) -> dict[Relation, _Walk]:
        """Where each relation leads from where a walk may be; not back to where it started."""
        found: dict[Relation, _Walk] = {}
        for name, probability in walk.probability.items():
            ways: dict[Relation, dict[str, int]] = {}
            edges = self._edges.get(name, [])
            self._gone += len(edges)
            for edge in edges if self._gone <= _MAX_EDGES else ():
                if edge.to != start:
                    ways.setdefault(edge.relation, {}).setdefault(edge.to, edge.place)
            for relation, ends in ways.items():
                further = found.setdefault(relation, _Walk({}, {}))
                for end, place in ends.items():
                    further.probability[end] = further.probability.get(end, 0.0) + probability / len(ends)
                    further.places.setdefault(end, (*walk.places[name], *((place,) if place >= 0 else ())))
        return found

    def solve(self, first: str, second: str, third: str, k: int) -> PathAnswers:
        """What stands to C as B to A; nothing where no path joins these, or it leads nowhere from C."""
        paths = self.paths(first, second)
        total = sum(paths.values())
        found: dict[str, list[tuple[float, Path, tuple[int, ...]]]] = {}
        for path, share in paths.items():
            walk = self.follow(path, third)
            for name, probability in walk.probability.items():
                found.setdefault(name, []).append((share / total * probability, path, walk.places[name]))
        ranked = sorted(found.items(), key=lambda one: (-sum(part for part, _, _ in one[1]), one[0]))
        answers, places = [], dict[int, None]()
        for name, ways in ranked[:k]:
            probability = sum(part for part, _, _ in ways)
            own = dict.fromkeys(place for _, _, along in sorted(ways, key=lambda one: -one[0]) for place in along)
            if probability < _LEAST_PROBABLE or not own:  # what names say of each other alone, no memory says
                continue
            rows = dict.fromkeys(self._looking.index.records["fact"].row[list(own)].tolist())
            places |= own
            answers.append(
                Answer(
                    role=path_name(max(ways)[1]),
                    filler=name,
                    confidence=round(min(1.0, probability), 6),
                    support=len(rows),
                    memories=tuple(self._looking.snapshot.ids_of(list(rows)[:_MAX_IDS])),
                )
            )
        return PathAnswers(answers, list(places))


def path_name(path: Path) -> str:
    """A path in words: ``live in, is in``; a relation that is gone along from object to subject is ``of …``."""
    return ", ".join(f"{_ARROW[forward]}{relation}" for relation, forward in path)
