"""Does a probe for near subjects and relations find changes that equal subjects miss?

Subject and relation of each statement are bound into one hypervector, and earlier statements of its scope that are near
are graded as if they were of one subject. The codes are of letters (`mnemic.hd.letters`), or projections of the
embeddings of the words; beside them stands the plain way, the product of both cosines. What is found is judged as
`mnemic.bench.quality.facts.replacement_scores` judges what equal subjects find. Above stands
`mnemic.bench.quality.facts_bench`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.meaning.messages import EmbedQuery, QueryEmbedded
from mnemic.algorithms.knowledge.replacement import grade
from mnemic.algorithms.knowledge.said import Said
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.statistics import wilson_interval
from mnemic.bench.quality.facts.change_sets import ChangeSet
from mnemic.bench.quality.facts.replacement_scores import changes_of, is_right, read_turn
from mnemic.hd.algebra import default_algebra
from mnemic.hd.encoders import Projection
from mnemic.hd.letters import SpellingEncoder
from mnemic.hd.space import Space
from mnemic.runtime.engine.supervisor import Supervisor

Likeness = Callable[[Sequence[str]], NDArray[np.float64]]
"""Of some names, ``(n, n)``: how alike each two are, 0 to 1."""

LEVELS = (0.3, 0.5, 0.7)
"""A pair less alike than this is none."""


def probe_rows(about: Row, of: ChangeSet, actors: Supervisor) -> Iterator[Row]:
    """For each way and level, how many more pairs are graded, how many of them rightly, and what changes they find.

    Args:
        about: what each row begins with.
        actors: embeds names.
    """
    read = sorted(((turn, said) for turn in of.turns for said in read_turn(turn)), key=lambda one: one[1].said_at)
    by_scope: dict[str, list[tuple[str, Said]]] = defaultdict(list)
    for turn, said in read:
        if said.subject and said.statement.relation:
            by_scope[turn["scope"]].append((turn["id"], said))
    changes = len(changes_of(of, sorted({asked.slot[0] for asked in of.questions})))
    for name, likeness in _ways(actors).items():
        found: dict[float, list[tuple[str, str, bool]]] = {level: [] for level in LEVELS}
        for said_there in by_scope.values():
            _grade_near(of, said_there, likeness, found)
        for level, pairs in found.items():
            graded = {(older, newer): right for older, newer, right in pairs}
            right = [pair for pair, is_so in graded.items() if is_so]
            low, high = wilson_interval(len(right), len(graded))
            row = about | {"what": "near subjects", "by": name, "level": level}
            row |= {"pairs": len(graded), "right": len(right)}
            told = {(of.slots[older], of.told[older].value, of.told[newer].value) for older, newer in right}
            yield row | {"precision_low": low, "precision_high": high, "changes": changes, "found": len(told)}


def _grade_near(
    of: ChangeSet,
    said_there: Sequence[tuple[str, Said]],
    likeness: Likeness,
    found: dict[float, list[tuple[str, str, bool]]],
) -> None:
    """Grade what is near in one scope, and of two subjects, into what was found at each level."""
    subjects = sorted({said.subject for _, said in said_there})
    relations = sorted({said.statement.relation or "" for _, said in said_there})
    alike_subjects, alike_relations = likeness(subjects), likeness(relations)
    subject_at = {name: place for place, name in enumerate(subjects)}
    relation_at = {name: place for place, name in enumerate(relations)}
    whose = np.array([subject_at[said.subject] for _, said in said_there])
    which = np.array([relation_at[said.statement.relation or ""] for _, said in said_there])
    for place, (newer_id, newer) in enumerate(said_there):
        alike = alike_subjects[whose[place], whose[:place]] * alike_relations[which[place], which[:place]]
        alike[whose[:place] == whose[place]] = 0.0
        for other in np.flatnonzero(alike >= LEVELS[0]).tolist():
            older_id, older = said_there[other]
            graded = grade(older, newer._replace(subject=older.subject))
            if graded is None or older_id == newer_id or graded.verdict != "replaced":
                continue
            right = is_right(of, older_id, older, newer_id, newer)
            for level in LEVELS:
                if alike[other] >= level:
                    found[level].append((older_id, newer_id, right))


def _ways(actors: Supervisor) -> dict[str, Likeness]:
    """Ways of telling how alike names are; of a bound pair the likeness is the product of that of its parts."""
    kept: dict[str, NDArray[np.float64]] = {}

    def embedded(names: Sequence[str]) -> NDArray[np.float64]:
        for name in names:
            if name not in kept:
                answer = actors.ask(EmbedQuery(text=name))
                assert isinstance(answer, QueryEmbedded)
                kept[name] = np.frombuffer(answer.vector, np.float32).astype(np.float64)
        return np.stack([kept[name] for name in names])

    def spelt(names: Sequence[str]) -> NDArray[np.float64]:
        codes = letters.encode(names)
        return np.stack([letters.similarities(codes, name) for name in names])

    def projected(names: Sequence[str]) -> NDArray[np.float64]:
        vectors = embedded(names).astype(np.float32)
        space = Space(seed=bytes(32), roles=("who",), model="bench", embedding_dimensions=vectors.shape[1])
        codes = Projection(space).project(vectors, algebra)
        return np.maximum(0.0, np.stack([algebra.similarity(codes, one) for one in codes]))

    def cosine(names: Sequence[str]) -> NDArray[np.float64]:
        vectors = embedded(names)
        return np.maximum(0.0, vectors @ vectors.T)

    algebra = default_algebra()
    letters = SpellingEncoder(Space(seed=bytes(32), roles=("who",)), algebra)
    return {"hypervectors of letters": spelt, "hypervectors of meaning": projected, "cosines": cosine}
