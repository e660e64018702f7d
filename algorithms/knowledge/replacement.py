"""Decides whether a later statement takes the place of an earlier one by itself, contradicts it, or neither.

What is taken for replaced is stored and shown, so it has to be right nearly always. Likeness in meaning is not enough
for that: two statements as near to each other tell another attribute of the same person as often as not, and what is
fitted on some attributes fails on others. So words decide. Either the later text names the old value itself as ended or
replaced ("moved from A to B", "no longer A", "A instead of B"), or it says the same of the same subject in the same
words, with another value and a word of change ("closes at nine now"). A little less than that is a conflict, which a
person settles. No vector is needed; where there is one, it finds a few conflicts more.

What it gives up: changes told in other words than what they change, which are most of them. English only.
docs/decisions/0019-what-holds-now.md says how it was judged, and the facts bench measures it (docs/benches.md). Above
stands `mnemic.actors.knowledge`; below it the words of change of `mnemic.algorithms.knowledge.assertion`, and
`mnemic.algorithms.knowledge.rivals`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from mnemic.algorithms.knowledge.assertion import _NOW, _TAKEN_OVER, RATES, status
from mnemic.algorithms.knowledge.extraction.clause_values import CHANGES
from mnemic.algorithms.knowledge.extraction.sentences import ARTICLE, BASE, KINDS, PAST_AUX, PREPOSITION, word_set
from mnemic.algorithms.knowledge.extraction.statements import Statement
from mnemic.algorithms.knowledge.rivals import same_slot

SLOT = 0.7
"""How probably two statements of one subject fill one slot, at least, that a word of change makes a conflict."""
_ASSERTING = 0.9  # the rate of what is asserted or changed, and of nothing else
_NO_CHANGE = frozenset(("still", "already", "currently"))  # say that something holds, and not that it came to
_OWNING = word_set("a an the my our your his her its their")
_LIGHT = word_set("be have do get give go keep make put take")  # verbs that say little: much is had and taken
_BECOMING = {"become": "be", "turn into": "be"}
_WORD = re.compile(r"\w+(?:[-./:_'’&+#]\w+)*[+#%]*")


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


class Graded(NamedTuple):
    """What a later statement makes of an earlier one, how probably it took its place, and why, for a reader."""

    verdict: Literal["replaced", "conflict"]
    probability: float
    why: str


RULES = {
    "handover": Graded("replaced", 0.99, "it names the old value, and what came in its place"),
    "ended": Graded("replaced", 0.98, "it says that this is over"),
    "same words": Graded("replaced", 0.97, 'it says the same of the same subject, and "{cue}"'),
    "same words, no cue": Graded("conflict", 0.80, "it says another value of the same, and no word tells of a change"),
    "same slot": Graded("conflict", 0.70, 'it probably tells the same of the same subject, and "{cue}"'),
}
"""With about their share of right pairs; of "same slot" it is .82, in made lives .59. No attribute was held back."""


def read_said(text: str, said_at: int, found: Sequence[Statement], subjects: Sequence[str]) -> list[Said]:
    """The statements of a text with what decides about them.

    Args:
        said_at: microseconds.
        found: what `mnemic.algorithms.knowledge.extraction.statements` found in it, all of it, in its order.
        subjects: of each the normal key of its subject.
    """
    olds = ["" if one.replaces is None else found[one.replaces].value for one in found]
    return [
        Said(one, key, text, said_at, change_cue(text, one), old)
        for one, key, old in zip(found, subjects, olds, strict=True)
    ]


def change_cue(text: str, statement: Statement) -> str:
    """The words of a statement's clause that tell of a change; ``""`` where none do."""
    clause = text[statement.clause_start : statement.clause_end]
    for pattern in (_TAKEN_OVER, _NOW):
        for match in pattern.finditer(clause):
            if match.group().lower() not in _NO_CHANGE:
                return match.group().lower()
    return statement.relation if statement.relation in _BECOMING else ""


def normal_value(value: str) -> str:
    """A value in lower case, without the marks around its words, articles and possessives; equal ones are one."""
    words = _words(value)
    while len(words) > 1 and words[0] in _OWNING:
        words = words[1:]
    return " ".join(words)


def ended_value(said: Said) -> str:
    """The normal form of the value that a statement tells as ended or replaced; ``""`` where it tells none.

    Only such statements are graded against older ones of another subject, which have to name this value.
    """
    one = said.statement
    if one.negative or one.modality not in ("asserted", "ended"):
        return ""
    if said.instead_of:
        return normal_value(said.instead_of) if one.modality == "asserted" else ""
    return normal_value(one.value) if one.modality == "ended" else ""


def grade(older: Said, newer: Said, cosine: float | None) -> Graded | None:
    """What a later statement makes of an earlier one; ``None`` where it leaves it as it is.

    Takes a microsecond for statements of two subjects, some twenty for those of one. Of several statements of the later
    memory the most probable counts: ``moved from A to B`` tells both that ``A`` has ended and that ``B`` holds now.

    Args:
        cosine: between the vectors of their memories; ``None`` where one has none, and then fewer are a conflict.
    """
    old, new = older.statement, newer.statement
    if newer.said_at <= older.said_at or old.modality != "asserted" or old.negative:
        return None
    if over := ended_value(newer):
        return _named_as_over(older, newer, over)
    if not older.subject or older.subject != newer.subject or newer.instead_of or new.modality != "asserted":
        return None
    if old.speaker != new.speaker and KINDS.get(old.subject.partition(" ")[0].lower(), 0) & ARTICLE:
        return None  # "the office day" of each is another
    was, now = set(normal_value(old.value).split()), set(normal_value(new.value).split())
    is_single = old.single and new.single and not new.negative
    if not is_single or was <= now or now <= was or not (_asserts(older) and _asserts(newer)):
        return None
    rule = _by_words(older, newer) or _by_slot(older, newer, cosine)
    return RULES[rule]._replace(why=RULES[rule].why.format(cue=newer.cue)) if rule else None


def _named_as_over(older: Said, newer: Said, over: str) -> Graded | None:
    """Whether the later one names the value of the earlier one, of a subject that the earlier one names too."""
    was = normal_value(older.statement.value)
    if was != over and (_is_speaker(newer.subject) or not _is_part(older, newer, over)):
        return None
    if (newer.instead_of and was == normal_value(newer.statement.value)) or status(_clause(newer)) == "passing":
        return None
    return RULES["handover" if newer.instead_of else "ended"] if _shares_subject(older, newer) else None


def _is_part(older: Said, newer: Said, over: str) -> bool:
    """Whether a value begins or ends with one that is over, and both are of one kind: ``SQLite in WAL mode``."""
    kind, count = _kind(newer.instead_of or newer.statement.value)[:4], len(over.split())
    written = older.statement.value.split()
    parts = " ".join(written[:count]), " ".join(written[-count:])
    return any(normal_value(one) == over and _kind(one)[:4] == kind for one in parts)


def _shares_subject(older: Said, newer: Said) -> bool:
    """Whether both are of one subject, or the older one names all that the newer one is about."""
    is_same = older.subject == newer.subject != ""
    is_own = not newer.subject or _is_speaker(newer.subject)  # "we replaced A with B in marmot"
    if is_same and not is_own:
        return True
    one, clause, theirs = newer.statement, _words(_clause(newer)), set(_words(_clause(older)))
    told = clause if is_own else [*_words(newer.text[one.clause_start : one.start]), *newer.subject.split()]
    # what names a thing is a word of no class, or besides that only a verb's base form ("house")
    about = {word for word in told if KINDS.get(word, 0) in (0, BASE)}.difference(
        _words(one.value), _words(newer.instead_of)
    )
    if is_same or not about <= theirs:
        return about <= theirs
    key = (older if is_own else newer).subject
    return key != "" and key[0] != "@" and set(key.split()) <= set(clause) & theirs


def _by_words(older: Said, newer: Said) -> str:
    """Whether both say the same of their subject but for the value.

    A verb that says little (``is``, ``has``, ``is in``) has many values, and so has what the speaker does: there they
    have to be of one kind.
    """
    relation, before = newer.statement.relation or "", older.statement.relation or ""
    verb = relation.partition(" ")[0]
    is_change = verb in CHANGES and relation not in _BECOMING  # "switched to the cello" ends no other switch
    if not before or _BECOMING.get(relation, relation) != _BECOMING.get(before, before) or is_change:
        return ""
    is_light = before in _LIGHT or _is_preposition(verb)
    (was, was_at), (now, now_at) = _parts(older.statement.value), _parts(newer.statement.value)
    if was == now or (was_at != now_at and not is_light):  # "logging in harbor" and "logging in moss" are two things
        return ""
    is_loose = is_light or _is_speaker(newer.subject)
    is_alike = _kind(older.statement.value) == _kind(newer.statement.value) != ""
    if newer.cue:
        return "same words" if is_alike or not is_loose else ""
    return "same words, no cue" if is_alike and not is_loose else ""


def _by_slot(older: Said, newer: Said, cosine: float | None) -> str:
    """Whether meaning makes it probable that both tell the same of their subject, and a word tells of a change."""
    if cosine is None or not newer.cue or _is_speaker(newer.subject):
        return ""
    cosines, lengths = np.array([[1.0, cosine], [cosine, 1.0]]), np.array([len(older.text), len(newer.text)])
    return "same slot" if same_slot(cosines, lengths)[0, 1] >= SLOT else ""


def _asserts(said: Said) -> bool:
    """Whether no cue of clause and text says that this is asked, planned, past and so on."""
    clause = _clause(said)
    if any(KINDS.get(word, 0) & PAST_AUX for word in _words(clause)):
        return False  # "the mill house was heated by coal"
    return min(RATES[status(clause)], RATES[status(said.text)]) >= _ASSERTING


def _is_speaker(subject: str) -> bool:
    """Whether a key is of who speaks (``I``, ``we``), of whom much is said with the same verb."""
    return subject.startswith("@") and "'s " not in subject


def _clause(said: Said) -> str:
    return said.text[said.statement.clause_start : said.statement.clause_end]


def _parts(value: str) -> tuple[list[str], list[str]]:
    """The words of a value before its first preposition, and from there on."""
    words = _words(value)
    place = next((at for at in range(1, len(words)) if _is_preposition(words[at])), len(words))
    return words[:place], words[place:]


def _is_preposition(word: str) -> bool:
    return word == "to" or bool(KINDS.get(word, 0) & PREPOSITION)


def _kind(value: str) -> str:
    """What sort of thing a value is: a name, or a number of something; ``""`` for what can be told neither way."""
    if value[:1].isupper() or value[:1] in ("#", "`"):
        return "name"
    if any(map(str.isdigit, value)):
        return " ".join(["number", *(one for one in _words(value) if not any(map(str.isdigit, one)))])
    return ""


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
