"""Extracts subject-relation-object triples from English text by patterns, without a model.

Precision goes before recall: a clause is read where its subject stands at its start (``I``, ``we``, ``my dog``, ``the
session token``, a name, something written like code), its verb right after it, and the verb is one of
`mnemic.algorithms.text.clauses` or ``is``. Wishes, and what may or should be, say nothing. ``He`` and ``it`` are not
resolved, so they say nothing either. What is denied keeps its ``not``, and what held once is said to have: ``was``,
``used``. What says half alone is left out (``the only module``, that reads the clock; ``is compatible``, with what?).

Of 100 of the triples found in the documents of sixty Python packages and in this project's, read by hand, 91 said what
their sentence said; of 60 found in LoCoMo, 56 did. The others say a part that does not stand alone (``anyio is
asynchronous networking``, and concurrency library). One turn of LoCoMo in eleven has any.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from mnemic.algorithms.text.clauses import (
    COMPLEMENT_VERBS,
    COMPLEMENT_WORDS,
    CONTRAST_PREPOSITIONS,
    COPULA_PARTICLES,
    FIRST_PERSON_PREDICATES,
    HEDGES,
    LEADING_MODIFIERS,
    LEMMAS,
    NON_OBJECT_WORDS,
    OBJECT_TERMINATORS,
    PARTICIPLE_PREPOSITIONS,
    PRONOUNS,
    RELATION_SYNONYMS,
    RELATIVE_PRONOUNS,
    REQUIRED_PARTICLES,
    SENTENCE_OPENERS,
    STATIVE_VERBS,
    TIME_NOUNS,
    VAGUE_NOUNS,
    Clause,
    clauses,
    is_adverb,
    is_participle,
)
from mnemic.algorithms.text.keyphrases import LOW_CONTENT_WORDS, STOP_WORDS

MAX_CHARS = 8_000
"""Characters of a text that are looked at."""
MAX_SUBJECT_WORDS = 4
"""Words of a subject, without its article."""
MAX_OBJECT_WORDS = 8
"""Words of an object; what is longer is cut off there."""


class Triple(NamedTuple):
    """One thing that is said of another."""

    subject: str
    """What it is said of; of ``my dog`` it is ``ines's dog`` where Ines speaks."""
    relation: str
    """A verb as a dictionary lists it, with the word that belongs to it; ``not`` before it denies, after ``is``."""
    object: str
    """What it stands in that relation to."""


_NAME = re.compile(r"[A-Z][\w.+#-]*|[a-z](?:\w*(?:[./]\w+)+|[^\W_]*_\w+)(?:\(\))?")
_NAME_LIKE = re.compile(r".*[A-Z\d_./]")
_WORD = re.compile(r"\w")
_BE = frozenset(("am", "is", "are", "was", "were"))
_NOT = frozenset(("not", "never"))
_ARTICLES = frozenset(("a", "an", "the"))


def triples(text: str, speaker: str | None) -> list[Triple]:
    """The triples that a text says, in order, each once; takes about a hundred microseconds for a turn.

    Args:
        text: what was said.
        speaker: who says ``I`` in it; ``None`` where that is not known, and ``I`` then says nothing.
    """
    found = (one for clause in clauses(text[:MAX_CHARS]) if (one := _triple(clause, speaker)))
    return list(dict.fromkeys(found))


def _triple(clause: Clause, speaker: str | None) -> Triple | None:
    low = [word.lower() for word in clause.words]
    first = next((place for place, word in enumerate(low) if word not in SENTENCE_OPENERS), len(low))
    whose = {"my": f"{speaker}'s" if speaker else "my"}
    for subject, after in _subjects(clause.words, low, first, speaker):
        ourselves = low[first] in ("i", "we")
        base = ourselves or low[after - 1].endswith("s")
        words = [whose.get(word, word) for word in low[after:]]
        if said := _predicate(words, clause, ourselves=ourselves, base=base):
            return Triple(subject, *said)
    return None


def _subjects(words: Sequence[str], low: Sequence[str], first: int, speaker: str | None) -> Iterator[tuple[str, int]]:
    """What the subject may be, and where the verb is then; the shortest first."""
    head = low[first] if first < len(low) else ""
    if head == "i" and speaker:
        yield speaker, first + 1
    elif head == "we":
        yield "we", first + 1
    elif head in ("my", "our", "the") and (head != "my" or speaker):
        start = first + 1 + (low[first + 1 : first + 2] in (["own"], ["only"]))
        for end in range(start + 1, min(start + 1 + MAX_SUBJECT_WORDS, len(words))):
            thing = low[start:end]
            if thing[-1] in HEDGES or (thing[-1] in STOP_WORDS and thing[-1] != "of") or is_adverb(thing[-1]):
                return
            whole = thing[-1] != "of" and not thing[-1].endswith(("'s", "’s", "s'", "s’"))
            if whole and thing[-1] not in LOW_CONTENT_WORDS and VAGUE_NOUNS.isdisjoint(thing):
                yield (f"{speaker}'s " if head == "my" else "") + " ".join(thing), end
    elif first < len(words) and not any(head in those for those in (STOP_WORDS, LOW_CONTENT_WORDS, VAGUE_NOUNS)):
        if LEMMAS.get(head) == head or is_adverb(head):
            return  # at the start of a sentence it is no name: "Fix the build", "Automatically works"
        end = first
        while end < min(first + 3, len(words)) and _NAME.fullmatch(words[end]) and low[end] not in STOP_WORDS:
            end += 1
        if end > first:
            yield " ".join(low[first:end]), end


def _predicate(words: Sequence[str], clause: Clause, *, ourselves: bool, base: bool) -> tuple[str, str] | None:
    """Relation and object of what follows a subject.

    Args:
        words: the last words of the clause, lower case.
        clause: the clause.
        ourselves: whether the subject is ``I`` or ``we``.
        base: whether a verb as the dictionary lists it goes with the subject.
    """
    denied, place = _skip_adverbs(words, 0, clause)
    if place >= len(words):
        return None
    verb, after = words[place], place + 1
    past = verb in ("was", "were", "had", "did")
    if verb in _BE:
        more, after = _skip_adverbs(words, after, clause)
        denied = denied or more
        rest = words[after:]
        if not rest or not rest[0].endswith(("ing", "in'")):
            return _copula_predicate(rest, clause, "was" if past else "is", denied, ourselves)
        if past or rest[0] not in LEMMAS:
            return None  # what went on then, what goes on just now, or a noun that looks like it
        verb, after = rest[0], after + 1
    elif verb in ("have", "has", "had", "do", "does", "did"):
        more, then = _skip_adverbs(words, after, clause)
        helps = then < len(words) and words[then] in LEMMAS and not words[then].endswith("ing")
        if verb[0] == "h" and helps and words[then] not in ("need", "run", "plan"):
            denied, verb, after = denied or more, words[then], then + 1
        elif verb[0] == "d" and more and helps:
            denied, verb, after = True, words[then], then + 1
        elif verb[0] == "d":
            return None
    elif verb not in LEMMAS or verb.endswith("ing") or (verb == LEMMAS[verb] and not base):
        return None
    else:
        past = verb != LEMMAS[verb] and not verb.endswith("s")
    if verb == "like" and not ourselves and not denied:
        return None  # "tools like ruff"
    lemma, rest = LEMMAS[verb], words[after:]
    particle = next(
        (one for one in REQUIRED_PARTICLES.get(lemma, ("",)) if rest[: len(one.split())] == one.split()), None
    )
    if particle is None:
        return None
    if lemma in ("want", "need") and "to" in rest:
        return None  # of another one
    relation = STATIVE_VERBS[lemma] if past and lemma in STATIVE_VERBS else lemma
    if particle not in _ARTICLES and lemma != "have":
        rest, relation = rest[len(particle.split()) :], f"{relation} {particle}".strip()
    relation = RELATION_SYNONYMS.get(relation, relation)
    whole, between = relation in ("decide to", "plan to"), CONTRAST_PREPOSITIONS.get(lemma, frozenset())
    object_ = _object(rest, clause, whole=whole, half=relation in COMPLEMENT_VERBS, between=between)
    return (f"not {relation}" if denied else relation, object_) if object_ else None


def _copula_predicate(
    words: Sequence[str], clause: Clause, be: str, denied: bool, ourselves: bool
) -> tuple[str, str] | None:
    """What is said with ``is``: what something is, is called, is in; not how somebody feels at the moment."""
    particle = next((one for one in COPULA_PARTICLES if list(words[: len(one.split())]) == one.split()), "")
    if ourselves and not particle and not (words and words[0] in FIRST_PERSON_PREDICATES):
        return None
    if (ourselves and particle in ("in", "at", "on", "due")) or (words and words[0] in HEDGES):
        return None
    rest = words[len(particle.split()) :]
    _, place = _skip_adverbs(words, 0, clause)
    if not particle and place < len(words) and is_participle(words[place]):
        particle = " ".join(words[place : place + 2])
        if be == "was" or words[place + 1 : place + 2] == [] or words[place + 1] not in PARTICIPLE_PREPOSITIONS:
            return None  # what was done to it
        rest = words[place + 2 :]
    object_ = _object(rest, clause, half=not particle)
    relation = " ".join([be, *["not"] * denied, particle]).strip()
    return (relation, object_) if object_ else None


def _skip_adverbs(words: Sequence[str], place: int, clause: Clause) -> tuple[bool, int]:
    """Whether it is denied from a place on, and where what comes after the adverbs there is."""
    denied = False
    while place < len(words):
        denies = words[place] in _NOT or list(words[place : place + 2]) == ["no", "longer"]
        if not denies and not is_adverb(_written(words, place, clause)):
            break
        denied = denied or denies
        place += 1 + (words[place] == "no")
    return denied, place


def _object(
    words: Sequence[str],
    clause: Clause,
    *,
    whole: bool = False,
    half: bool = False,
    between: Collection[str] = (),
) -> str:
    """What stands at the start of these words, without its article; ``""`` where nothing does that says anything.

    Args:
        whole: whether all of them are it.
        half: whether a word alone says only half where more belongs to it: ``is compatible`` (with what?), ``keeps
            booleans`` (as what?). A name, or what has an article, says all.
        between: words that do not end it where another thing comes after them: ``tabs over spaces``.
    """
    start = 0
    while start < len(words) and words[start] in LEADING_MODIFIERS:
        start += 1
    end = _object_end(words, start, len(words) if whole else start)
    if words[end : end + 1] and words[end] in between and _is_thing(words[end + 1 :]):
        end = _object_end(words, start, end + 2)
    if end == start + 1 and words[start].endswith("ing") and words[end : end + 1] != ["not"]:
        end = _object_end(words, start, end + 1)  # what is done, and to what: "reading about tides"
    said = list(words[start:end])
    if not said or said[0] in NON_OBJECT_WORDS or said[-1] == "of" or not PRONOUNS.isdisjoint(said):
        return ""
    after = words[end] if end < len(words) else clause.separator
    article = any(word in _ARTICLES or word == "our" for word in words[:start]) or said[0].endswith("'s")
    if half and after in COMPLEMENT_WORDS and not article and not _NAME_LIKE.match(_written(words, start, clause)):
        return ""
    if after in RELATIVE_PRONOUNS and not {"the", "only"}.isdisjoint(words[:start]):
        return ""  # which one it is stands there: "the module that reads the clock"
    if after in ("ago", "later"):
        del said[-2:]  # "two days"
    if after in COMPLEMENT_WORDS and len(said) > 1 and said[-1].endswith(("ed", "en")) and is_participle(said[-1]):
        said.pop()  # "a package written", in Python
    while said and (said[-1] in STOP_WORDS or said[-1] == "first" or is_adverb(said[-1])):
        said.pop()
    if not said or said[-1] in VAGUE_NOUNS or all(word in LOW_CONTENT_WORDS or word in STOP_WORDS for word in said):
        return ""
    return " ".join(said).strip("'’.*_[]{}<>")


def _object_end(words: Sequence[str], start: int, safe: int) -> int:
    """Where an object that starts there ends; no word before `safe` ends it."""
    stop = min(start + MAX_OBJECT_WORDS, len(words))
    ends = (
        place for place in range(start, stop) if words[place] in OBJECT_TERMINATORS or not _WORD.search(words[place])
    )
    return next((place for place in ends if place >= safe), stop)


def _is_thing(words: Sequence[str]) -> bool:
    """Whether something is named at the start of these words, and no time."""
    first = next((word for word in words if word not in LEADING_MODIFIERS), "")
    ends = first in OBJECT_TERMINATORS or first in NON_OBJECT_WORDS or first in PRONOUNS or first in LOW_CONTENT_WORDS
    return bool(first) and not ends and TIME_NOUNS.isdisjoint(words[:3])


def _written(words: Sequence[str], place: int, clause: Clause) -> str:
    """A word as it is written in the clause whose last words these are."""
    return clause.words[place - len(words)]
