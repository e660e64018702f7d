"""Decides whether a later statement takes the place of an earlier one by itself, contradicts it, or neither.

What is taken for replaced is stored and shown, so it has to be right nearly always. Likeness in meaning is not enough
for that: two statements as near to each other tell another attribute of the same person as often as not, and what is
fitted on some attributes fails on others. So words decide. Either the later text names the old value itself as ended or
replaced ("moved from A to B", "no longer A", "A instead of B"), which ends what that did for others as well, or it says
the same of the same subject in the same words, with another value and a word of change ("closes at nine now"), or has
it moved to a value of the same sort ("the stand-up has moved to 10:15"). A little less than that is a conflict, which a
person settles. No vector is needed.

What it gives up: changes told in other words than what they change, which are most of them. English only.
docs/decisions/0020-stored-changes.md says how it was judged, and the facts bench measures it (docs/benches.md). Above
stands `mnemic.actors.knowledge`; below it the words of change of `mnemic.algorithms.knowledge.assertion`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from mnemic.algorithms.knowledge.assertion import NOW_WORDS, RATES, TAKEN_OVER, status
from mnemic.algorithms.knowledge.extraction.clause_values import CHANGES
from mnemic.algorithms.knowledge.extraction.sentences import (
    ARTICLE,
    BASE,
    CLOCK_WORDS,
    DETERMINER,
    KINDS,
    PAST_AUX,
    PREPOSITION,
    word_set,
)
from mnemic.algorithms.knowledge.extraction.statements import Statement

_ASSERTING = 0.9  # the rate of what is asserted or changed, and of nothing else
_NO_CHANGE = frozenset(("still", "already", "currently"))  # say that something holds, and not that it came to
_OWNING = word_set("a an the my our your his her its their")
_LIGHT = word_set("be have do get give go keep make put take")  # verbs that say little: much is had and taken
_OVER = word_set("abandoned dead decommissioned deprecated gone removed retired scrapped uninstalled used")
"""What is said of something that is over itself: ``Memcached is retired``."""
_SERVING = word_set("""
build cache check collect deliver deploy handle hold host keep manage monitor process queue render route run schedule
send serve store test track watch
""")
"""What a tool or a service does for those who use it: it does so no more once they use another."""
_ENDING = word_set("""
abandon be cancel decommission deprecate ditch drop exchange get give kick make migrate need phase remove rename
replace retire say scrap substitute sunset swap switch take throw trade uninstall unsubscribe use
""")
"""Verbs of use and replacement, after which a tool or a service does for somebody no more what it did."""
_LEAVING = word_set("go leave live move quit work")  # who leaves a place or a company ends nothing that is said of it
_SHIFTS = word_set("move shift change go rise drop fall grow raise lower increase reduce cut extend push")
_STEPS = word_set("raise rise fall lower increase reduce cut extend")
_DAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")
_SINCE = re.compile(r"(?:\bha(?:s|ve)|['’](?:s|ve)|\bjust|\bnow|\bfinally|\brecently)\b", re.IGNORECASE)
_TIMING = ("last", "longer")  # tell when, and name nothing
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
    "moved": Graded("replaced", 0.97, 'it tells another value of the same sort of the same subject, and "{cue}"'),
    "same words, no cue": Graded("conflict", 0.80, "it says another value of the same, and no word tells of a change"),
    "moved from work": Graded("conflict", 0.70, 'it tells another place of the same subject, and "{cue}"'),
}
"""With about their share of right pairs; "moved" was right in 20 of 20, all of homes. No attribute was held back."""


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
    for pattern in (TAKEN_OVER, NOW_WORDS):
        for match in pattern.finditer(clause):
            if match.group().lower() not in _NO_CHANGE:
                return match.group().lower()
    relation = statement.relation or ""
    verb, _, tie = relation.partition(" ")
    is_step = tie.endswith("to") and (verb in _STEPS or tie in ("up to", "down to"))
    return relation if is_step or relation in _BECOMING else ""


def normal_value(value: str) -> str:
    """A value in lower case, without the marks around its words, articles and possessives; equal ones are one."""
    words = _words(value)
    first = next((place for place, word in enumerate(words) if word not in _OWNING), len(words) - 1)
    return " ".join(words[first:])


def value_name(value: str) -> str:
    """The normal form of the only name in a value, before any preposition; of the value where it has none or several.

    >>> value_name("one small SQLite file"), value_name("daemon called ledgerd"), value_name("two weeks")
    ('sqlite', 'ledgerd', 'two weeks')
    """
    head = value.split()[: len(_parts(value)[0]) or 1]
    if len(head) > 1 and head[-2] in ("called", "named"):
        return normal_value(head[-1])
    capitals = [at for at, word in enumerate(head) if word[0].isupper() or (at and word[0].isdigit())]
    if not capitals or len(capitals) != capitals[-1] - capitals[0] + 1 or not head[capitals[0]][0].isupper():
        return normal_value(value)
    name = normal_value(" ".join(head[capitals[0] : capitals[-1] + 1]))
    return normal_value(value) if name.rstrip("s") in CLOCK_WORDS else name


def told_as_over(said: Said) -> str:
    """What a statement tells as ended or replaced, as it is written; ``""`` where it tells none."""
    one = said.statement
    if one.negative or one.modality not in ("asserted", "ended"):
        return ""
    if said.instead_of:
        return said.instead_of if one.modality == "asserted" else ""
    if one.modality == "ended" and one.value.lower() in _OVER:
        is_named = said.subject and not KINDS.get(one.subject.partition(" ")[0].lower(), 0) & DETERMINER
        return one.subject if is_named and not _is_speaker(said.subject) else ""
    return one.value if one.modality == "ended" else ""


def ended_value(said: Said) -> str:
    """The normal form of the value that a statement tells as ended or replaced; ``""`` where it tells none.

    Only such statements are graded against older ones of another subject, which have to name this value.
    """
    return normal_value(told_as_over(said))


def grade(older: Said, newer: Said) -> Graded | None:
    """What a later statement makes of an earlier one; ``None`` where it leaves it as it is.

    Takes a microsecond for statements of two subjects, some twenty for those of one. Of several statements of the later
    memory the most probable counts: ``moved from A to B`` tells both that ``A`` has ended and that ``B`` holds now.
    """
    old, new = older.statement, newer.statement
    if newer.said_at <= older.said_at or old.modality not in ("asserted", "temporary") or old.negative:
        return None
    if over := ended_value(newer):
        return _named_as_over(older, newer, over)
    if old.modality != "asserted":  # "for now" says itself that it may end, and only by what is named that is sure
        return None
    if not older.subject or older.subject != newer.subject or newer.instead_of or new.modality != "asserted":
        return None
    if old.speaker != new.speaker and KINDS.get(old.subject.partition(" ")[0].lower(), 0) & ARTICLE:
        return None  # "the office day" of each is another
    was, now = set(normal_value(old.value).split()), set(normal_value(new.value).split())
    is_single = old.single and new.single and not new.negative
    if not is_single or was <= now or now <= was or not (_asserts(older) and _asserts(newer)):
        return None
    rule = _by_words(older, newer) or _by_sort(older, newer)
    return RULES[rule]._replace(why=RULES[rule].why.format(cue=newer.cue)) if rule else None


def _named_as_over(older: Said, newer: Said, over: str) -> Graded | None:
    """Whether the later one names the value of the earlier one, of a subject that the earlier one names too."""
    was = normal_value(older.statement.value)
    if was != over and not _is_named_in(older, newer, over) and not _has_served(older, newer, over):
        return None
    if (newer.instead_of and was == normal_value(newer.statement.value)) or status(_clause(newer)) == "passing":
        return None
    return RULES["handover" if newer.instead_of else "ended"] if _shares_subject(older, newer) else None


def _is_named_in(older: Said, newer: Said, over: str) -> bool:
    """Whether what is over is a part of a value: of a name more is told (``an old Peugeot``)."""
    is_name = told_as_over(newer)[:1].isupper() and _relation(newer) not in _LEAVING
    if is_name and value_name(older.statement.value) == over:
        return True
    return not _is_speaker(newer.subject) and _is_part(older, newer, over)


def _has_served(older: Said, newer: Said, over: str) -> bool:
    """Whether what is over did what the earlier one tells: ``CircleCI runs pytest``, ``we dropped CircleCI``.

    Of one who uses it besides others it has to tell what for: ``the spare key went from Karin to Jonas``.
    """
    if normal_value(older.statement.subject) != over or not is_served(older):
        return False
    if not _is_own(newer, over):
        return bool(_about(newer, over))
    return _relation(newer) in _ENDING or (_relation(newer) == "move" and newer.subject == "@we")


def _is_own(newer: Said, over: str) -> bool:
    """Whether what a statement tells of is not named by its subject, which is who speaks or is over itself."""
    return not newer.subject or _is_speaker(newer.subject) or normal_value(newer.statement.subject) == over


def _about(newer: Said, over: str) -> set[str]:
    """The words of a statement that name what it is about, besides what is over and what came in its place."""
    one, told = newer.statement, _words(_clause(newer))
    if not _is_own(newer, over):
        told = [*_words(newer.text[one.clause_start : one.start]), *newer.subject.split()]
    # what names a thing is a word of no class, or besides that only a verb's base form ("house")
    return {word for word in told if KINDS.get(word, 0) in (0, BASE)}.difference(
        _words(one.value), _words(newer.instead_of), _words(one.relation or ""), over.split(), CLOCK_WORDS, _TIMING
    )


def is_served(said: Said) -> bool:
    """Whether what a statement tells is done by its subject for others, so that it is over once that is."""
    return said.subject != "" and not _is_speaker(said.subject) and _relation(said) in _SERVING


def _relation(said: Said) -> str:
    """The verb of a statement."""
    return (said.statement.relation or "").partition(" ")[0]


def _is_part(older: Said, newer: Said, over: str) -> bool:
    """Whether a value begins or ends with one that is over, and both are of one kind: ``SQLite in WAL mode``."""
    kind, count = _kind(newer.instead_of or newer.statement.value)[:4], len(over.split())
    written = older.statement.value.split()
    parts = " ".join(written[:count]), " ".join(written[-count:])
    return any(normal_value(one) == over and _kind(one)[:4] == kind for one in parts)


def _shares_subject(older: Said, newer: Said) -> bool:
    """Whether both are of one subject, or the older one names all that the newer one is about."""
    over = ended_value(newer)
    is_same, is_own = older.subject == newer.subject != "", _is_own(newer, over)
    about, theirs = _about(newer, over), set(_words(_clause(older)))
    before = newer.text[: newer.statement.clause_start].rstrip()
    if normal_value(newer.statement.subject) == over and before[-1:] not in ("", ".", "!", "?", ":"):
        return False  # "atlas has no queue any more, Kafka is gone"
    if (is_same and not is_own) or (is_own and not about and _ends_everywhere(older, newer)):
        return True
    if is_same or not about <= theirs:
        return about <= theirs
    key = (older if is_own else newer).subject
    return key != "" and key[0] != "@" and set(key.split()) <= set(_words(_clause(newer))) & theirs


def _ends_everywhere(older: Said, newer: Said) -> bool:
    """Whether what is over is so for whatever it was used: ``we dropped Render``, ``SQLite has made way for Postgres``.

    What one person gives up others keep: that has to be said of something of his own.
    """
    one = newer.statement
    after = set(_words(newer.text[one.end : one.clause_end])).difference((one.relation or "").split())
    is_name = told_as_over(newer)[:1].isupper() or _relation(newer) == "rename"
    if not is_name or _relation(newer) not in _ENDING or any(map(_is_preposition, after)):
        return False  # "MongoDB has replaced Postgres under billing"
    is_ours = newer.subject == "@we" or (newer.subject != "" and newer.subject[0] != "@")
    return is_ours or (older.statement.speaker == one.speaker and older.subject.startswith("@"))


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


def _by_sort(older: Said, newer: Said) -> str:
    """Whether a subject has moved to a place, a time or a number, where a value of the same sort was told of it."""
    one, old = newer.statement, older.statement
    verb, before = _relation(newer), _relation(older)
    if verb not in _SHIFTS or not (one.relation or "").endswith(" to") or not newer.cue or before in CHANGES:
        return ""
    days = [{word.rstrip("s") for word in normal_value(each.value).split()} & _DAYS for each in (old, one)]
    is_state = before in _LIGHT or _is_preposition((old.relation or "").rpartition(" ")[2])
    if all(days) or (is_state and _kind(old.value) == _kind(one.value) != "" and any(map(str.isdigit, one.value))):
        return "moved"
    is_place = (
        verb == "move" and _SINCE.search(_clause(newer)) and all(_kind(each.value) == "name" for each in (old, one))
    )
    if not is_place or before not in ("live", "work", "sit", "stay", "base"):
        return ""
    return "moved" if before == "live" else "moved from work"


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
