"""A statement with what decides about it, and the words of it that are compared with those of others.

Above stand `mnemic.algorithms.knowledge.contradiction` and `mnemic.algorithms.knowledge.replacement`; below it the
words of change of `mnemic.algorithms.knowledge.assertion`. English only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from mnemic.algorithms.knowledge.assertion import NOW_WORDS, RATES, TAKEN_OVER, status
from mnemic.algorithms.knowledge.extraction.sentences import (
    CLOCK_WORDS,
    KINDS,
    PAST_AUX,
    PREPOSITION,
    word_set,
)
from mnemic.algorithms.knowledge.extraction.statements import Statement
from mnemic.algorithms.knowledge.slots import noun_of_name

BECOMING = {"become": "be", "turn into": "be"}
"""Relations that tell how something came to be what it is."""
_ASSERTING = 0.9  # the rate of what is asserted or changed, and of nothing else
_UNSURE = ("asked", "quoted", "hypothetical", "passing", "past")  # of a sentence, each of whose clauses shares in it
_NO_CHANGE = frozenset(("still", "already", "currently"))  # say that something holds, and not that it came to
_OWNING = word_set("a an the my our your his her its their")
_STEPS = word_set("raise rise fall lower increase reduce cut extend")
_WORD = re.compile(r"\w+(?:[-./:_'’&+#@]\w+)*[+#%]*")
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|\n")


class Said(NamedTuple):
    """A statement with what decides about it."""

    statement: Statement
    subject: str
    """The normal key of its subject (`mnemic.algorithms.knowledge.entities.keys.subject_key`); ``""``: not known."""
    text: str
    """The whole text of its memory."""
    said_at: int
    """Microseconds."""
    cue: str = ""
    """The words of its clause that tell of a change (``now``, ``moved``); ``""`` where none do."""
    instead_of: str = ""
    """The value that the same text names as the one that it takes the place of; ``""`` where it names none."""


def read_said(text: str, said_at: int, found: Sequence[Statement], subjects: Sequence[str]) -> list[Said]:
    """The statements of a text with what decides about them.

    Args:
        said_at: microseconds.
        found: what `mnemic.algorithms.knowledge.extraction.statements` found in it, all of it, in its order.
        subjects: of each the normal key of its subject.
    """
    olds = ["" if one.replaces is None else found[one.replaces].value for one in found]
    return [
        Said(one, key or _implied(one), text, said_at, change_cue(text, one), old)
        for one, key, old in zip(found, subjects, olds, strict=True)
    ]


def _implied(one: Statement) -> str:
    """The key of what a well-known name says itself to be, where no subject is named: ``from now on Postgres``."""
    is_told = one.relation == "be" and (not one.subject or (one.modality == "asserted" and not one.negative))
    is_open = one.subject.lower() in ("", "it") and is_told
    return noun_of_name(one.value) if is_open else ""


def change_cue(text: str, statement: Statement) -> str:
    """The words of a statement's clause that tell of a change; ``""`` where none do."""
    clause = text[statement.clause_start : statement.clause_end]
    for pattern in (TAKEN_OVER, NOW_WORDS):
        for match in pattern.finditer(clause):
            if match.group().lower() not in _NO_CHANGE:
                return match.group().lower()
    relation = statement.relation or ""
    verb, _, tie = relation.partition(" ")
    is_step = tie.endswith("to") and (verb in _STEPS or tie in ("up to", "down to"))
    return relation if is_step or relation in BECOMING else ""


def normal_value(value: str) -> str:
    """A value in lower case, without the marks around its words, articles and possessives; equal ones are one."""
    words = words_of(value)
    first = next((place for place, word in enumerate(words) if word not in _OWNING), len(words) - 1)
    return " ".join(words[first:])


def value_name(value: str) -> str:
    """The normal form of the only name in a value, before any preposition; of the value where it has none or several.

    >>> value_name("one small SQLite file"), value_name("daemon called ledgerd"), value_name("two weeks")
    ('sqlite', 'ledgerd', 'two weeks')
    """
    head = value.split()[: len(parts(value)[0]) or 1]
    if len(head) > 1 and head[-2] in ("called", "named"):
        return normal_value(head[-1])
    capitals = [at for at, word in enumerate(head) if word[0].isupper() or (at and word[0].isdigit())]
    if not capitals or len(capitals) != capitals[-1] - capitals[0] + 1 or not head[capitals[0]][0].isupper():
        return normal_value(value)
    name = normal_value(" ".join(head[capitals[0] : capitals[-1] + 1]))
    return normal_value(value) if name.rstrip("s") in CLOCK_WORDS else name


def asserts(said: Said) -> bool:
    """Say whether no cue of clause and sentence says that this is asked, planned, past and so on."""
    clause = clause_of(said)
    if any(KINDS.get(word, 0) & PAST_AUX for word in words_of(clause)):
        return False  # "the mill house was heated by coal"
    return RATES[status(clause)] >= _ASSERTING and status(sentence_of(said)) not in _UNSURE


def is_speaker(subject: str) -> bool:
    """Say whether a key is of who speaks (``I``, ``we``), of whom much is said with the same verb."""
    return subject.startswith("@") and "'s " not in subject


def verb_of(said: Said) -> str:
    """The verb of a statement."""
    return (said.statement.relation or "").partition(" ")[0]


def clause_of(said: Said) -> str:
    """The clause of a statement, as it is written."""
    return said.text[said.statement.clause_start : said.statement.clause_end]


def sentence_of(said: Said) -> str:
    """The sentence that a statement stands in; what else a turn says has a fate of its own."""
    start, end = said.statement.clause_start, said.statement.clause_end
    begun = max((one.end() for one in _SENTENCE_END.finditer(said.text, 0, start)), default=0)
    after = _SENTENCE_END.search(said.text, max(start, end - 1))
    return said.text[begun : after.end() if after else len(said.text)].strip()


def parts(value: str) -> tuple[list[str], list[str]]:
    """The words of a value before its first preposition, and from there on."""
    words = words_of(value)
    place = next((at for at in range(1, len(words)) if is_preposition(words[at])), len(words))
    return words[:place], words[place:]


def is_preposition(word: str) -> bool:
    """Say whether a word ties a thing to what stands before it."""
    return word == "to" or bool(KINDS.get(word, 0) & PREPOSITION)


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(text.lower())
