"""Tells whether two statements of one thing cannot both hold, by what they say and by short tables.

Above it stands `mnemic.algorithms.knowledge.replacement`, below it `mnemic.algorithms.knowledge.slots`.
"""

from __future__ import annotations

import re

from mnemic.algorithms.knowledge.entities.keys import ABBREVIATIONS
from mnemic.algorithms.knowledge.extraction.clause_values import CHANGES
from mnemic.algorithms.knowledge.extraction.sentences import ARTICLE, BASE, CLOCK_WORDS, KINDS, UNITS_OF_TIME, word_set
from mnemic.algorithms.knowledge.said import (
    BECOMING,
    Said,
    asserts,
    clause_of,
    is_preposition,
    is_speaker,
    normal_value,
    parts,
    sentence_of,
    verb_of,
    words_of,
)
from mnemic.algorithms.knowledge.slots import (
    QUALIFIERS,
    are_alike,
    are_bare_names,
    are_equal_amounts,
    are_of_two_kinds,
    are_of_two_ranges,
    are_versions,
    is_slot,
    kinds_of_name,
    noun_of_name,
    sort_of,
)

_LIGHT = word_set("be have do get give go keep make put take")  # verbs that say little: much is had and taken
_SHIFTS = word_set("move shift change go rise drop fall grow raise lower increase reduce cut extend push")
_DAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")
_SINCE = re.compile(r"(?:\bha(?:s|ve)|['’](?:s|ve)|\bjust|\bnow|\bfinally|\brecently)\b", re.IGNORECASE)
_ONE_PLACE = frozenset(("live in", "live at", "work at", "work for", "host in", "host on", "deploy to"))
"""Relations of which who speaks has one value at a time."""
_AT = ("in", "on", "at", "through")  # what follows is a place, and no target of a change
_USING = frozenset(
    ("use", "run on", "on", "host on", "deploy to", "move to", "switch to", "migrate to", "go with", "choose")
)
"""Relations between us and what we use."""
_SIDE_BY_SIDE = frozenset(("language",))
"""Kinds of which many use several at a time: who switches to one may keep another."""
_PORT = re.compile(r"[,;(]\s*(?:(?:listening\s+)?(?:on|at)\s+)?(?:port|version)\s+v?\d[\w.]*", re.IGNORECASE)
_TAIL = re.compile(
    r"[,;(]\s*(?:with\b.*|(?:(?:running|hosted|listening)\s+)?(?:on|at)\s+(?:localhost\b|[a-z][\w-]*(?:\d|[.:/]\w)\S*|\d+\.\d\S*))",
    re.DOTALL | re.IGNORECASE,
)
"""Tells beside a value on which host and with what it is, and not for what: ``postgres 16, on db.internal``."""
_CONTRACTED = re.compile(r"(?<!n)['’](?:ve|re|m|d|ll|s)$")  # "we've"
_DECIDED = re.compile(r"\W*(?:decision|decided)\b", re.IGNORECASE)
_LABELS = word_set("""
decision decided note update fyi reminder recap record correction fix info status reply summary answer ps
""")
_FILLERS = (
    CLOCK_WORDS
    | UNITS_OF_TIME
    | word_set("""
more time least most record recap usual btw remember tomorrow yesterday last longer repo repository project codebase
""")
)


def contradict(older: Said, newer: Said) -> str:
    """Tell which rule tells that a later statement leaves no room for an earlier one, both asserted; ``""``: none."""
    old, new = older.statement, newer.statement
    if old.speaker != new.speaker and KINDS.get(old.subject.partition(" ")[0].lower(), 0) & ARTICLE:
        return ""  # "the office day" of each is another
    if not older.subject or not newer.subject or not new.single:
        return ""
    was, now = set(normal_value(old.value).split()), set(normal_value(new.value).split())
    is_same = was <= now or now <= was or not old.single
    is_same = is_same or are_equal_amounts(old.value, new.value)
    is_same = is_same or (not newer.cue and are_of_two_ranges(old.value, new.value))
    rule = "several" if not old.single and _is_only_one(older) and _by_kind(older, newer) else ""
    if old.single and older.subject == newer.subject:
        rule = (was == now and _by_denial(older, newer)) or ("" if is_same else _by_value(older, newer))
    if not rule and not is_same:
        rule = _by_kind(older, newer)
    return rule if rule and asserts(older) and asserts(newer) else ""


def kind_slot(said: Said) -> str:
    """The noun of the kind whose place a statement fills with a well-known name; ``""`` where it fills none.

    ``The database is Postgres``, ``we use Postgres``, ``we moved to Postgres``.
    """
    one, relation = said.statement, said.statement.relation or ""
    noun = noun_of_name(one.value)
    is_told = noun != "" and one.modality == "asserted" and not one.negative
    is_told = is_told and (said.subject == "@we" and relation in _USING) | (said.subject == noun and _is_be(relation))
    return noun if is_told else ""


def _is_be(relation: str) -> bool:
    return BECOMING.get(relation, relation) == "be"


def _by_kind(older: Said, newer: Said) -> str:
    """Say whether both tell which one of a well-known kind is used, at least one of them in so many words.

    ``The database is SQLite`` and ``we moved to Postgres`` have two subjects, and are about one thing.
    """
    noun = kind_slot(newer)
    is_told = noun in (older.subject, newer.subject) or (newer.statement.relation or "").endswith(" to")
    if not noun or noun != kind_slot(older) or not is_told:
        return ""
    if not are_alike(older.statement.value, newer.statement.value) or not _are_as_wide(older, newer):
        return ""
    if noun in _SIDE_BY_SIDE and noun not in (older.subject, newer.subject):
        return "several"
    return "same kind" if newer.cue else "same kind, no cue"


def _is_only_one(said: Said) -> bool:
    """Say whether of several values that are told at once no other is of the same kind: ``Postgres and Redis``."""
    noun = noun_of_name(said.statement.value)
    return noun != "" and sum(noun_of_name(word) == noun for word in words_of(clause_of(said))) == 1


def _by_denial(older: Said, newer: Said) -> str:
    """Say whether one of two statements denies what the other says of something named."""
    old, new = older.statement, newer.statement
    is_denial = old.negative != new.negative and old.relation == new.relation and sort_of(old.value) == "name"
    return "denied" if is_denial and _are_as_wide(older, newer) else ""


def _by_value(older: Said, newer: Said) -> str:
    """Say whether two statements tell two values of one thing."""
    if older.statement.negative or newer.statement.negative:
        return ""
    return _by_words(older, newer) or _by_sort(older, newer)


def _are_as_wide(older: Said, newer: Said, *, strict: bool = True) -> bool:
    """Whether two statements hold for the same: ``in staging``, ``on weekends`` or ``for the queue`` stands in both.

    Args:
        strict: whether what stands in one of them alone may be such a thing.
    """
    if _qualified(older) != _qualified(newer):
        return False
    both = all(_TAIL.search(sentence_of(one)) for one in (older, newer))  # hosts of two things may differ
    was, now = (_besides(one, with_tail=both) for one in (older, newer))
    return was == now or (not strict and not (was and now))


def _besides(said: Said, *, with_tail: bool) -> frozenset[str]:
    """The words of a sentence up to the end of a clause that are none of its subject, relation and value: what it is
    for, where, when.

    Args:
        with_tail: whether a host and what it goes with count too.
    """
    one = said.statement
    sentence, clause = sentence_of(said), clause_of(said)
    end = sentence.find(clause) + len(clause)
    value_end = end - (said.statement.clause_end - said.statement.end)
    tail = _PORT.sub(" ", sentence[value_end:end])
    told = words_of(sentence[:value_end] + (tail if with_tail else _TAIL.sub(" ", tail)))
    told = [_CONTRACTED.sub("", word) for word in told]
    if not one.single:  # what stands beside it is told in its own right
        told = [word for word in told if not kinds_of_name(word)]
    named = {*words_of(f"{one.subject} {one.relation or ''} {one.value}"), *said.subject.split(), *_FILLERS, *_LABELS}
    return frozenset(word for word in told if KINDS.get(word, 0) in (0, BASE)) - named


def _qualified(said: Said) -> frozenset[str]:
    """The words of its sentence that tell for which of several a statement holds, and a label before it."""
    sentence = sentence_of(said)
    before = sentence.partition(clause_of(said))[0]
    label = words_of(before.rpartition(":")[0])
    named = words_of(f"{said.statement.subject} {said.statement.value}")
    words = {ABBREVIATIONS.get(word, word) for word in words_of(sentence) if word not in named} & QUALIFIERS
    return frozenset(words | {word for word in label if KINDS.get(word, 0) in (0, BASE)}) - _LABELS


def _by_words(older: Said, newer: Said) -> str:
    """Say whether both say the same of their subject but for the value.

    A verb that says little (``is``, ``has``, ``is in``) has many values, and so has what the speaker does: there they
    have to be of one kind.
    """
    relation, before = newer.statement.relation or "", older.statement.relation or ""
    verb = relation.partition(" ")[0]
    # "switched to the cello" ends no other switch
    is_change = verb in CHANGES and relation not in BECOMING and relation.rpartition(" ")[2] not in _AT
    if not before or BECOMING.get(relation, relation) != BECOMING.get(before, before) or is_change:
        return ""
    is_light = before in _LIGHT or is_preposition(verb)
    (was, was_at), (now, now_at) = parts(older.statement.value), parts(newer.statement.value)
    sorts = {sort_of(one.statement.value) for one in (older, newer)}
    is_number = newer.cue and len(sorts) == 1 and sorts.pop().startswith("number")
    if was == now or (was_at != now_at and not (is_light or is_number)):
        return ""  # "logging in harbor" and "logging in moss" are two things
    is_loose = is_light or is_speaker(newer.subject)
    values = older.statement.value, newer.statement.value
    is_bare = is_slot(newer.subject) and are_bare_names(*values) and not _are_known(older, newer)
    is_alike = are_alike(*values) or is_bare
    if newer.cue:
        is_sure = is_alike or (not is_loose and not are_of_two_kinds(older.statement.value, newer.statement.value))
        return "same words" if is_sure and _qualified(older) == _qualified(newer) else ""
    if not is_alike or (is_loose and not _holds_one(older, newer)):
        return ""
    return "same words, no cue" if _are_as_wide(older, newer, strict=is_loose) else ""


def _are_known(older: Said, newer: Said) -> bool:
    return all(kinds_of_name(one.statement.value) for one in (older, newer))


def _holds_one(older: Said, newer: Said) -> bool:
    """Say whether what both tell has one value at a time, though its verb says little or is said of a speaker."""
    relation = newer.statement.relation or ""
    if is_slot(newer.subject) or are_versions(older.statement.value, newer.statement.value):
        return True
    if not is_speaker(newer.subject):
        return _are_known(older, newer)
    is_decided = relation == "use" and all(_DECIDED.match(sentence_of(one)) for one in (older, newer))
    return relation in _ONE_PLACE or (_are_known(older, newer) and (is_decided or relation == "prefer"))


def _by_sort(older: Said, newer: Said) -> str:
    """Say whether a subject has moved to a place, a time or a number, where a value of the same sort was told of it."""
    one, old = newer.statement, older.statement
    verb, before = verb_of(newer), verb_of(older)
    if verb not in _SHIFTS or not (one.relation or "").endswith(" to") or not newer.cue or before in CHANGES:
        return ""
    days = [{word.rstrip("s") for word in normal_value(each.value).split()} & _DAYS for each in (old, one)]
    is_state = before in _LIGHT or is_preposition((old.relation or "").rpartition(" ")[2])
    if all(days) or (is_state and sort_of(old.value) == sort_of(one.value) != "" and any(map(str.isdigit, one.value))):
        return "moved"
    is_place = (
        verb == "move" and _SINCE.search(clause_of(newer)) and all(sort_of(each.value) == "name" for each in (old, one))
    )
    if not is_place or before not in ("live", "work", "sit", "stay", "base"):
        return ""
    return "moved" if before == "live" else "moved from work"
