"""Reads what is announced: ``From now on Postgres``, ``Postgres instead of SQLite``, ``make it last 24 hours``.

Without a verb only a well-known name counts, which says itself what it is. Above it stands
`mnemic.algorithms.knowledge.extraction.sentence_reader`, below it `mnemic.algorithms.knowledge.slots`.
"""

from __future__ import annotations

import re

from mnemic.algorithms.knowledge.entities.keys import subject_key
from mnemic.algorithms.knowledge.extraction.clause_parts import Part
from mnemic.algorithms.knowledge.extraction.clause_values import Value
from mnemic.algorithms.knowledge.extraction.clauses import Clause, Draft, Reading
from mnemic.algorithms.knowledge.extraction.sentences import BASE, DETERMINER, MARK, PREPOSITION, Sentence
from mnemic.algorithms.knowledge.extraction.verb_groups import VerbGroup
from mnemic.algorithms.knowledge.slots import is_slot, noun_of_name, sort_of

_CUES = tuple(
    tuple(one.split())
    for one in ("from now on", "from today on", "as of now", "as of today", "starting today", "starting now", "now")
)
_CONTRASTS = (("instead", "of"), ("rather", "than"), ("not",), ("no", "longer"))
_MOST_WORDS = 12
_MOST_LABELLED = 5
_WITHIN = ("of", "per")  # tie what belongs to a value
_LABEL = re.compile(r"((?:[\w'’-]+ ){0,3}[\w'’-]+)\W{0,4}:\W{0,4}([^\s,;()][^,;()\n]*)")


def read_announcement(reading: Reading) -> None:
    """Add the clause of a sentence that only says which name counts from now on, and which no more."""
    sentence = reading.sentence
    places = [at for at, kind in enumerate(sentence.kinds) if not kind & MARK]
    if sentence.asked or not 2 <= len(places) <= _MOST_WORDS:
        return
    words = [sentence.words[at] for at in places]
    found = ((at, one) for at in range(1, len(words)) for one in _CONTRASTS)
    contrast = next(((at, len(one)) for at, one in found if tuple(words[at : at + len(one)]) == one), None)
    low, high, cues = 0, len(words) if contrast is None else contrast[0], 0
    for cue in _CUES:
        if tuple(words[low : low + len(cue)]) == cue:
            low, cues = low + len(cue), cues + 1
        elif tuple(words[max(low, high - len(cue)) : high]) == cue:
            high, cues = high - len(cue), cues + 1
    new = _named(reading, places, low, high)
    if new is None or not (cues or contrast):
        return
    first, last = places[0], places[-1] + 1
    nobody, verb = (first, first), VerbGroup(first, first, "be", 0, first)
    clause = Clause(Part(first, last, "", ""), first, last, nobody, verb, reading.forced, reading.rule)
    draft = Draft(new, "be", False, clause.subject)
    clause.drafts.append(draft)
    old = None if contrast is None else _named(reading, places, sum(contrast), len(words))
    if old is not None:
        draft.replaced = Draft(old, "be", True, clause.subject)
        clause.drafts.append(draft.replaced)
    reading.clauses.append(clause)


def read_label(reading: Reading) -> None:
    """Add the clause of a sentence that only names a place with one value and fills it: ``Database: Postgres 16``."""
    sentence = reading.sentence
    places = [at for at, kind in enumerate(sentence.kinds) if not kind & MARK]
    label = _LABEL.match(sentence.text, sentence.starts[places[0]]) if places else None
    if sentence.asked or label is None or not is_slot(subject_key(label[1], None, "user")):
        return
    named = [at for at in places if sentence.ends[at] <= label.end(1)]
    value = [at for at in places if label.start(2) <= sentence.starts[at] and sentence.ends[at] <= label.end(2)]
    if not named or not 1 <= len(value) <= _MOST_LABELLED:
        return
    tie = next((at for at in value[1:] if sentence.kinds[at] & PREPOSITION and sentence.words[at] not in _WITHIN), 0)
    value = [at for at in value if not tie or at < tie]  # "30 s for the queue"
    if not sort_of(sentence.text[sentence.starts[value[0]] : sentence.ends[value[-1]]]):
        return
    first, last = places[0], places[-1] + 1
    verb = VerbGroup(first, first, "be", 0, first)
    clause = Clause(Part(first, last, "", ""), first, last, (first, first), verb, reading.forced, reading.rule)
    clause.drafts.append(Draft(Value(value[0], value[-1] + 1, ""), "be", False, (named[0], named[-1] + 1)))
    reading.clauses.append(clause)
    reading.is_command = False  # "port" and "cache" are verbs as well


def _named(reading: Reading, places: list[int], low: int, high: int) -> Value | None:
    """The well-known name that some words are; ``None`` where they are more or something else."""
    if low >= high:
        return None
    start, end = places[low], places[high - 1] + 1
    sentence = reading.sentence
    written = sentence.text[sentence.starts[start] : sentence.ends[end - 1]]
    return Value(start, end, "") if noun_of_name(written) else None


def made_to(sentence: Sentence, part: Part, start: int) -> int:
    """The verb of what somebody is to bring about, where its value is a number: ``make the lease last 24 hours``."""
    words, kinds = sentence.words, sentence.kinds
    if words[start] != "make" or start + 1 >= part.end or not kinds[start + 1] & DETERMINER or part.link:
        return 0
    places = range(start + 2, part.end - 1)
    return next((at for at in places if kinds[at] & BASE and words[at + 1][0].isdigit()), 0)
