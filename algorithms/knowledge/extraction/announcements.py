"""Reads what a sentence without a verb announces: ``From now on Postgres``, ``Postgres instead of SQLite``.

Only a well-known name counts, which says itself what it is. Above it stands
`mnemic.algorithms.knowledge.extraction.sentence_reader`, below it `mnemic.algorithms.knowledge.slots`.
"""

from __future__ import annotations

from mnemic.algorithms.knowledge.extraction.clause_parts import Part
from mnemic.algorithms.knowledge.extraction.clause_reader import Clause, Draft, Reading
from mnemic.algorithms.knowledge.extraction.clause_values import Value
from mnemic.algorithms.knowledge.extraction.sentences import MARK
from mnemic.algorithms.knowledge.extraction.verb_groups import VerbGroup
from mnemic.algorithms.knowledge.slots import noun_of_name

_CUES = (
    ("from", "now", "on"),
    ("from", "today", "on"),
    ("as", "of", "now"),
    ("as", "of", "today"),
    ("starting", "today"),
    ("starting", "now"),
    ("now",),
)
_CONTRASTS = (("instead", "of"), ("rather", "than"), ("not",), ("no", "longer"))
_MOST_WORDS = 12


def read_announcement(reading: Reading) -> None:
    """Add the clause of a sentence that only says which name counts from now on, and which no more."""
    sentence = reading.sentence
    places = [at for at, kind in enumerate(sentence.kinds) if not kind & MARK]
    if sentence.asked or not 2 <= len(places) <= _MOST_WORDS:
        return
    words = [sentence.words[at] for at in places]
    low, high, cues = 0, len(words), 0
    for cue in _CUES:
        if tuple(words[low : low + len(cue)]) == cue:
            low, cues = low + len(cue), cues + 1
        elif tuple(words[high - len(cue) : high]) == cue:
            high, cues = high - len(cue), cues + 1
    places_of = ((at, one) for at in range(low + 1, high) for one in _CONTRASTS)
    contrast = next((((at, len(one)) for at, one in places_of if tuple(words[at : at + len(one)]) == one)), None)
    ends = (low, high) if contrast is None else (low, contrast[0])
    new = _named(reading, places, *ends)
    if new is None or not (cues or contrast):
        return
    low_at, high_at = places[0], places[-1] + 1
    clause = Clause(
        Part(low_at, high_at, "", ""),
        low_at,
        high_at,
        (low_at, low_at),
        VerbGroup(low_at, low_at, "be", 0, low_at),
        reading.forced,
        reading.rule,
    )
    draft = Draft(new, "be", False, clause.subject)
    clause.drafts.append(draft)
    old = None if contrast is None else _named(reading, places, sum(contrast), high)
    if old is not None:
        draft.replaced = Draft(old, "be", True, clause.subject)
        clause.drafts.append(draft.replaced)
    reading.clauses.append(clause)


def _named(reading: Reading, places: list[int], low: int, high: int) -> Value | None:
    """The well-known name that some words are; ``None`` where they are more or something else."""
    if low >= high:
        return None
    start, end = places[low], places[high - 1] + 1
    sentence = reading.sentence
    written = sentence.text[sentence.starts[start] : sentence.ends[end - 1]]
    return Value(start, end, "") if noun_of_name(written) else None
