"""What recall takes over from the statements of memories: which of them were replaced, and what contradicts.

Beside `mnemic.actors.recall.ranking.validity`, which weighs likelihoods anew for each question; here is what is kept,
as the knowledge actor graded it or somebody settled it. Above stands `mnemic.actors.recall.recaller`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from mnemic.actors.kernel.events import to_text
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.knowledge.queries import PairRecord, StatementRecord
from mnemic.actors.recall.messages import FactRef
from mnemic.algorithms.text.terms import fold_letters

_LEAST_TERMS = 2  # of a question, that a clause holds which is asked for by more than its subject or its value
_MOST_SUCCESSORS = 8  # that stand for each other in turn
_ASKING = frozenset(
    ("activ", "current", "do", "have", "latest", "long", "mani", "much", "name", "new", "now", "run", "use")
)
"""Stems that name nothing that is asked for."""


class Succession(NamedTuple):
    """One memory that stands for another one, since it replaced what that says."""

    older: int
    """Row of the memory whose statement holds no more."""
    successor: int
    """Row of the one that stands for it."""
    at: int
    """World time since when, microseconds."""
    probability: float
    """How probably."""
    is_named: bool = False
    """Whether a question names its subject and nothing else: what stands for the older one is the answer."""


class Replacements(NamedTuple):
    """What is kept of some memories."""

    replaced: dict[int, list[FactRef]]
    """By row, what stands for statements of it."""
    contradicts: dict[int, list[FactRef]]
    """By row, what contradicts statements of it, and is not settled."""
    successions: list[Succession]
    """Of those that say little else, or nothing else that is asked for."""
    likely: list[Succession]
    """Of what contradicts, and is not settled, the newer as successor of the older: as likely as not it holds now."""
    apart: list[tuple[int, int]]
    """Rows of memories that somebody said do not exclude each other, or are not about the same."""
    about: set[frozenset[bytes]]
    """Pairs of ids of memories whose statements replace or contradict each other, where both say little else, or
    nothing else that is asked for."""


def read_replacements(rows: Sequence[int], at: int, snapshot: Snapshot, terms: Collection[str] = ()) -> Replacements:
    """What is kept of some memories.

    Args:
        at: the world time that is asked for, microseconds: what was replaced later counts as not replaced.
        terms: stems of the question's words: of a memory that says more, the clause that holds them is asked for.
    """
    found = Replacements({}, {}, [], [], [], set())
    suspects = snapshot.graded_rows(rows)
    if not suspects:
        return found
    # Here: in a mind without facts, and where nothing was replaced, recalls do without what reads them.
    from mnemic.actors.knowledge.facts import begins, fact_ref, make_facts, open_pairs, replacements

    own = snapshot.statements_of(suspects)
    clauses = Counter(row for row, _ in {(one.row, one.said.clause) for one in own})
    pairs = _all_pairs([one.number for one in own], snapshot)
    others = {number for pair in pairs for number in (pair.older, pair.newer)} - {one.number for one in own}
    known = {one.number: one for one in (*own, *snapshot.successors(sorted(others)))}
    waiting, over = set(open_pairs(pairs, snapshot)), replacements(pairs)
    facts = make_facts(own, at, snapshot, pairs)
    for one, fact in zip(own, facts, strict=True):
        if fact.state == "replaced" and fact.replaced_by is not None:
            found.replaced.setdefault(one.row, []).append(_with_words(fact.replaced_by, one, clauses))
    for pair in pairs:
        older, newer = known.get(pair.older), known.get(pair.newer)
        if older is None or newer is None:
            continue
        if _is_asked(older, terms) and _is_asked(newer, terms):
            found.about.add(frozenset((older.memory, newer.memory)))
        if pair in waiting:
            for one, other in ((older, newer), (newer, older)):
                ref = _with_words(fact_ref(pair, one, other), one, clauses)
                found.contradicts.setdefault(one.row, []).append(ref)
            is_heard = newer.role in ("user", older.role)  # an assistant's word takes nothing from its user's
            if is_heard and older.said_at < newer.said_at and begins(newer) <= at and _is_asked(older, terms):
                found.likely.append(Succession(older.row, newer.row, begins(newer), pair.probability))
        elif pair.verdict and not pair.replaced:
            found.apart.append((older.row, newer.row))
        elif pair in over.get(pair.replaced, ()):
            gone, successor = known[pair.replaced], known[pair.successor]
            if begins(successor) <= at and _is_asked(gone, terms):
                probability = 1.0 if pair.verdict else pair.probability
                is_named = _names_subject(gone, terms) and successor.said.modality != "ended"
                found.successions.append(Succession(gone.row, successor.row, begins(successor), probability, is_named))
    for refs in (*found.replaced.values(), *found.contradicts.values()):
        refs.sort(key=lambda ref: -_count_held(ref.of, terms))
    return found


def _with_words(ref: FactRef, one: StatementRecord, clauses: Counter[int]) -> FactRef:
    """Return what stands for a statement or contradicts it, with its words where its memory says more."""
    from mnemic.actors.knowledge.facts import is_mostly

    if is_mostly([one.said.clause], one.text) and clauses[one.row] < 2:
        return ref
    return msgspec.structs.replace(ref, of=one.text[slice(*one.said.clause)])


def _count_held(clause: bytes, terms: Collection[str]) -> int:
    letters = fold_letters(to_text(clause))
    return sum(_is_held(term, letters) for term in terms)


def _is_held(stem: str, letters: str) -> bool:
    return stem in letters or (stem.endswith("i") and f"{stem[:-1]}y" in letters)  # "Sentry" has the stem "sentri"


def _all_pairs(numbers: Sequence[int], snapshot: Snapshot) -> list[PairRecord]:
    """The pairs of some statements, and those of their successors in turn: the last one stands above all."""
    from mnemic.actors.knowledge.facts import replacements

    pairs: dict[tuple[int, int], PairRecord] = {}
    seen, waiting = set[int](), list(numbers)
    for _ in range(_MOST_SUCCESSORS):
        pairs |= {(one.older, one.newer): one for one in snapshot.pairs_of(waiting)}
        seen.update(waiting)
        over = replacements(pairs.values())
        waiting = sorted({one.successor for some in over.values() for one in some} - seen)
        if not waiting:
            break
    return sorted(pairs.values())


def _is_asked(gone: StatementRecord, terms: Collection[str]) -> bool:
    """Say whether a statement is what a question is after in its memory: it is most of that and the question names
    nothing beside it, or it holds the terms.

    It holds all terms that the text holds, and two of them, or one in its subject or its value.
    """
    from mnemic.actors.knowledge.facts import is_mostly

    text, clause = (fold_letters(to_text(one)) for one in (gone.text, gone.text[slice(*gone.said.clause)]))
    if is_mostly([gone.said.clause], gone.text):
        asked = [term for term in _written(terms) if term not in _ASKING and _is_held(term, text)]
        return not asked or any(_is_held(term, clause) for term in asked)
    held = [term for term in _written(terms) if term in text]
    if not held or any(term not in clause for term in held):
        return False
    named = _subject_of(gone) + " " + fold_letters(to_text(gone.text[slice(*gone.said.value)]))
    return len(held) >= _LEAST_TERMS or held[0] in named


def _names_subject(gone: StatementRecord, terms: Collection[str]) -> bool:
    """Whether all that a question names is the subject of a statement, and its verb: ``which database do we use``."""
    named = [term for term in _written(terms) if term not in _ASKING and term not in gone.said.relation]
    return bool(named) and all(term in _subject_of(gone) for term in named)


def _subject_of(one: StatementRecord) -> str:
    return f"{fold_letters(to_text(one.text[slice(*one.said.subject_span)]))} {one.said.subject}"


def _written(terms: Collection[str]) -> list[str]:
    """Terms, each once, and the words that some are short for: ``db`` is written ``database`` elsewhere."""
    from mnemic.algorithms.knowledge.entities.keys import ABBREVIATIONS

    return list(dict.fromkeys(ABBREVIATIONS.get(term, term) for term in terms))
