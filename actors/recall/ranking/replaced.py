"""What recall takes over from the statements of memories: which of them were replaced, and what contradicts.

Beside `mnemic.actors.recall.ranking.validity`, which weighs likelihoods anew for each question; here is what is kept,
as the knowledge actor graded it or somebody settled it. Above stands `mnemic.actors.recall.recaller`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from mnemic.actors.protocol.events import to_text
from mnemic.actors.protocol.recall.messages import FactRef
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.algorithms.text.terms import fold_letters

_LEAST_TERMS = 2  # of a question, that a clause holds which is asked for


class Succession(NamedTuple):
    """One memory that stands for another one, since it replaced what that says."""

    older: int
    """Row of the memory whose statement holds no more."""
    heir: int
    """Row of the one that stands for it."""
    at: int
    """World time since when, microseconds."""
    probability: float
    """How probably."""


class Replacements(NamedTuple):
    """What is kept of some memories."""

    replaced: dict[int, list[FactRef]]
    """By row, what stands for statements of it."""
    contradicts: dict[int, list[FactRef]]
    """By row, what contradicts statements of it, and is not settled."""
    successions: list[Succession]
    """Of those that say little else, or nothing else that is asked for."""
    apart: list[tuple[int, int]]
    """Rows of memories that somebody said do not exclude each other, or are not about the same."""


def read_replacements(rows: Sequence[int], at: int, snapshot: Snapshot, terms: Collection[str] = ()) -> Replacements:
    """What is kept of some memories.

    Args:
        at: the world time that is asked for, microseconds: what was replaced later counts as not replaced.
        terms: stems of the question's words: of a memory that says more, the clause that holds them is asked for.
    """
    found = Replacements({}, {}, [], [])
    suspects = snapshot.graded_rows(rows)
    if not suspects:
        return found
    # Here: in a mind without facts, and where nothing was replaced, recalls do without what reads them.
    from mnemic.actors.knowledge.facts import begins, fact_ref, is_mostly, make_facts, open_pairs, replacements

    own = snapshot.statements_of(suspects)
    pairs = snapshot.pairs_of([one.number for one in own])
    others = {number for pair in pairs for number in (pair.older, pair.newer)} - {one.number for one in own}
    known = {one.number: one for one in (*own, *snapshot.heirs(sorted(others)))}
    waiting, over = set(open_pairs(pairs, snapshot)), replacements(pairs)
    facts = make_facts(own, at, snapshot, pairs)
    for one, fact in zip(own, facts, strict=True):
        if fact.state == "replaced" and fact.replaced_by is not None:
            found.replaced.setdefault(one.row, []).append(fact.replaced_by)
    for pair in pairs:
        older, newer = known.get(pair.older), known.get(pair.newer)
        if older is None or newer is None:
            continue
        if pair in waiting:
            found.contradicts.setdefault(older.row, []).append(fact_ref(pair, older, newer))
            found.contradicts.setdefault(newer.row, []).append(fact_ref(pair, newer, older))
        elif pair.verdict and not pair.replaced:
            found.apart.append((older.row, newer.row))
        elif pair in over.get(pair.replaced, ()):
            gone, heir = known[pair.replaced], known[pair.heir]
            is_asked = is_mostly([gone.said.clause], gone.text) or _holds_all(gone.said.clause, gone.text, terms)
            if begins(heir) <= at and is_asked:
                probability = 1.0 if pair.verdict else pair.probability
                found.successions.append(Succession(gone.row, heir.row, begins(heir), probability))
    return found


def _holds_all(clause: tuple[int, int], text: bytes, terms: Collection[str]) -> bool:
    """Whether a clause holds two of some terms, and all of them that the text holds."""
    inside = fold_letters(to_text(text[slice(*clause)]))
    held = [term for term in terms if term in fold_letters(to_text(text))]
    return len(held) >= _LEAST_TERMS and all(term in inside for term in held)
