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

from typing import Literal, NamedTuple

from mnemic.algorithms.knowledge.assertion import status
from mnemic.algorithms.knowledge.contradiction import contradict
from mnemic.algorithms.knowledge.extraction.sentences import BASE, CLOCK_WORDS, DETERMINER, KINDS, word_set
from mnemic.algorithms.knowledge.said import (
    Said,
    clause_of,
    is_preposition,
    is_speaker,
    normal_value,
    value_name,
    verb_of,
    words_of,
)
from mnemic.algorithms.knowledge.slots import kinds_of_name, noun_of_name, sort_of

_OVER = word_set("""
abandoned dead decommissioned deprecated gone history legacy obsolete outdated removed retired scrapped superseded
uninstalled used
""")
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
_TIMING = ("last", "longer", "more")  # tell when, and name nothing


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
    "same kind": Graded("replaced", 0.96, 'it names another {noun}, and "{cue}"'),
    "same kind, no cue": Graded("conflict", 0.75, "it names another {noun}, and no word tells of a change"),
    "several": Graded("conflict", 0.75, "it names another {noun}, and both may be in use"),
    "denied": Graded("conflict", 0.80, "one denies what the other says"),
    "same words, no cue": Graded("conflict", 0.80, "it says another value of the same, and no word tells of a change"),
    "moved from work": Graded("conflict", 0.70, 'it tells another place of the same subject, and "{cue}"'),
}
"""With about their share of right pairs; "moved" was right in 20 of 20, all of homes. No attribute was held back."""


def told_as_over(said: Said) -> str:
    """What a statement tells as ended or replaced, as it is written; ``""`` where it tells none."""
    one = said.statement
    if one.negative or one.modality not in ("asserted", "ended"):
        return ""
    if said.instead_of:
        return said.instead_of if one.modality == "asserted" else ""
    if one.modality == "ended" and one.value.lower() in _OVER:
        is_named = said.subject and not KINDS.get(one.subject.partition(" ")[0].lower(), 0) & DETERMINER
        return one.subject if is_named and not is_speaker(said.subject) else ""
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
    if newer.said_at <= older.said_at or old.modality not in ("asserted", "temporary"):
        return None
    if over := ended_value(newer):
        return None if old.negative else _named_as_over(older, newer, over)
    if old.modality != "asserted":  # "for now" says itself that it may end, and only by what is named that is sure
        return None
    if newer.instead_of or new.modality != "asserted" or not (rule := contradict(older, newer)):
        return None
    return RULES[rule]._replace(why=RULES[rule].why.format(cue=newer.cue, noun=noun_of_name(new.value)))


def _named_as_over(older: Said, newer: Said, over: str) -> Graded | None:
    """Whether the later one names the value of the earlier one, of a subject that the earlier one names too."""
    was = normal_value(older.statement.value)
    if was != over and not _is_named_in(older, newer, over) and not _has_served(older, newer, over):
        return None
    if (newer.instead_of and was == normal_value(newer.statement.value)) or status(clause_of(newer)) == "passing":
        return None
    return RULES["handover" if newer.instead_of else "ended"] if _shares_subject(older, newer) else None


def _is_named_in(older: Said, newer: Said, over: str) -> bool:
    """Whether what is over is a part of a value: of a name more is told (``an old Peugeot``)."""
    is_name = sort_of(told_as_over(newer)) == "name" and verb_of(newer) not in _LEAVING
    if is_name and value_name(older.statement.value) == over:
        return True
    return not is_speaker(newer.subject) and _is_part(older, newer, over)


def _has_served(older: Said, newer: Said, over: str) -> bool:
    """Whether what is over did what the earlier one tells: ``CircleCI runs pytest``, ``we dropped CircleCI``.

    Of one who uses it besides others it has to tell what for: ``the spare key went from Karin to Jonas``.
    """
    if normal_value(older.statement.subject) != over or not is_served(older):
        return False
    if not _is_own(newer, over):
        return bool(_about(newer, over))
    return verb_of(newer) in _ENDING or (verb_of(newer) == "move" and newer.subject == "@we")


def _is_own(newer: Said, over: str) -> bool:
    """Whether what a statement tells of is not named by its subject, which is who speaks or is over itself."""
    return not newer.subject or is_speaker(newer.subject) or normal_value(newer.statement.subject) == over


def _about(newer: Said, over: str) -> set[str]:
    """The words of a statement that name what it is about, besides what is over and what came in its place."""
    one, told = newer.statement, words_of(clause_of(newer))
    if not _is_own(newer, over):
        told = [*words_of(newer.text[one.clause_start : one.start]), *newer.subject.split()]
    # what names a thing is a word of no class, or besides that only a verb's base form ("house")
    return {word for word in told if KINDS.get(word, 0) in (0, BASE)}.difference(
        words_of(one.value),
        words_of(newer.instead_of),
        words_of(one.relation or ""),
        over.split(),
        CLOCK_WORDS,
        _TIMING,
    )


def is_served(said: Said) -> bool:
    """Whether what a statement tells is done by its subject for others, so that it is over once that is."""
    return said.subject != "" and not is_speaker(said.subject) and verb_of(said) in _SERVING


def _is_part(older: Said, newer: Said, over: str) -> bool:
    """Whether a value begins or ends with one that is over, and both are of one kind: ``SQLite in WAL mode``."""
    kind, count = sort_of(newer.instead_of or newer.statement.value)[:4], len(over.split())
    written = older.statement.value.split()
    parts = " ".join(written[:count]), " ".join(written[-count:])
    return any(normal_value(one) == over and sort_of(one)[:4] == kind for one in parts)


def _shares_subject(older: Said, newer: Said) -> bool:
    """Whether both are of one subject, or the older one names all that the newer one is about."""
    over = ended_value(newer)
    is_same, is_own = older.subject == newer.subject != "", _is_own(newer, over)
    about, theirs = _about(newer, over), set(words_of(clause_of(older)))
    before = newer.text[: newer.statement.clause_start].rstrip()
    if normal_value(newer.statement.subject) == over and before[-1:] not in ("", ".", "!", "?", ":"):
        return False  # "atlas has no queue any more, Kafka is gone"
    if (is_same and not is_own) or (is_own and not about and _ends_everywhere(older, newer)):
        return True
    if is_same or not about <= theirs:
        return about <= theirs
    key = (older if is_own else newer).subject
    return key != "" and key[0] != "@" and set(key.split()) <= set(words_of(clause_of(newer))) & theirs


def _ends_everywhere(older: Said, newer: Said) -> bool:
    """Whether what is over is so for whatever it was used: ``we dropped Render``, ``SQLite has made way for Postgres``.

    What one person gives up others keep: that has to be said of something of his own.
    """
    one = newer.statement
    after = set(words_of(newer.text[one.end : one.clause_end])).difference((one.relation or "").split())
    is_name = sort_of(told_as_over(newer)) == "name" or verb_of(newer) == "rename"
    # "we moved from Lyon" ends nothing that others have there
    is_tool = verb_of(newer) == "move" and bool(kinds_of_name(told_as_over(newer)))
    after -= {"to", "into"} if is_tool else set()
    if not is_name or not (is_tool or verb_of(newer) in _ENDING) or any(map(is_preposition, after)):
        return False  # "MongoDB has replaced Postgres under billing"
    is_ours = newer.subject == "@we" or (newer.subject != "" and newer.subject[0] != "@")
    return is_ours or (older.statement.speaker == one.speaker and older.subject.startswith("@"))
