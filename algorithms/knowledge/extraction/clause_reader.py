"""Reads what one clause states: a draft for each of its values, and which of them is the old and which the new.

Above it stands `mnemic.algorithms.knowledge.extraction.sentence_reader`; below it
`mnemic.algorithms.knowledge.extraction.clause_values`. What a clause leaves out (``my tablet does``, ``plastic in the
yellow one``) is taken from the clause before.
"""

from __future__ import annotations

from mnemic.algorithms.knowledge.extraction.clause_parts import RELATIVES, Part, find_verb
from mnemic.algorithms.knowledge.extraction.clause_values import Value, values
from mnemic.algorithms.knowledge.extraction.clauses import Clause, Draft, Reading
from mnemic.algorithms.knowledge.extraction.noun_phrases import OF_WORDS, is_time, noun_end, skip_leading
from mnemic.algorithms.knowledge.extraction.sentences import (
    BASE,
    BE,
    BELIEF,
    DETERMINER,
    HAVE,
    ING,
    OBJECT,
    PARTICIPLE,
    PREPOSITION,
    REPORT,
    SUBJECT,
    Sentence,
    word_set,
)
from mnemic.algorithms.knowledge.extraction.verb_groups import (
    COULD,
    DENIED,
    GOING,
    MIGHT,
    PASSIVE,
    PERFECT,
    SHOULD,
    WANTED,
    WAS,
    WOULD,
    read_group,
)
from mnemic.algorithms.knowledge.slots import kinds_of_name

WISHED_WORDS = word_set("""
help helpful happier happy nice lovely great good better glad cool wonderful handy love like appreciate prefer ideal
""")
"""Words that with ``would`` say that something is wished."""
PRAISE = word_set("""
fine good great ok okay right nice cool perfect fast quick lovely wonderful awesome fun funny weird strange odd true
correct wrong sorry glad happy sure ready done welcome amazing brilliant sweet easy hard cute beautiful fair late early
tired bad terrible awful crazy interesting exciting kind better worse close enough clear here there back
""")
"""What is said of a mood, or to be kind, and states nothing."""
_VAGUE = word_set("""
question help problem issue look chance doubt clue thing things way lot sense fun sorry rest same ages while bit course
time idea luck
""")
_NOBODY = word_set("nobody none no neither")
_MOOD_VERBS = word_set("be sound look seem feel make")
_COURTESIES = word_set("thank sound look seem appreciate")
_MOOD_SUBJECTS: tuple[list[str], ...] = ([], ["that"], ["this"], ["it"], ["i"], ["we"], ["there"])
_REQUESTS = word_set("ask tell remind urge beg")
_WANTING = word_set("want like love prefer need wish")
_CONTRASTS = (("instead", "of"), ("rather", "than"), ("in", "place"))
_SWAPS = {
    "replace": ("with", "by"),
    "swap": ("for", "with"),
    "substitute": ("with",),
    **dict.fromkeys(("trade", "exchange", "leave", "ditch", "drop", "abandon"), ("for",)),
}
"""Verbs that name the old as their object, and the new after one of these words."""
_YIELDING = frozenset(
    (
        "make way for",
        "give way to",
        "replace by",
        "replace with",
        "swap for",
        "swap with",
        "exchange for",
        "exchange with",
        "rename to",
        "rename into",
    )
)
"""Relations whose subject is the old one, and the value the new: ``A has made way for B``, ``A was replaced by B``."""
_TAKING = frozenset(("take place of", "replace"))
"""Relations whose subject is the new one, and the value the old: ``B took the place of A``."""
_ROLES = word_set("boss captain chair ceo cto lead leader maintainer manager owner president secretary treasurer")
_LIST_WORDS = word_set("and or plus nor")
_NO_CONTRASTS = word_set("sure yet even that just bad really")
_NO_ITEMS = word_set("so all such honestly good")


def read_clause(reading: Reading, clause: Clause) -> None:
    """Add what a clause states to it."""
    sentence, group = reading.sentence, clause.group
    words = sentence.words
    low, high = clause.subject
    end = clause.part.end
    if group.lemma == "be" and words[low:high] == ["there"]:
        _read_existence(sentence, clause)
        return
    contrast = next((at for at in range(group.end, end - 1) if (words[at], words[at + 1]) in _CONTRASTS), end)
    clause.is_closed = contrast < end
    found, denied = values(sentence, group, contrast)
    denied = denied or bool(group.flags & DENIED) or clause.part.link == "nor" or (low < high and words[low] in _NOBODY)
    if not found:
        _read_bare(reading, clause, denied)
    elif not _states_nothing(reading, clause, found) and not _read_wish(reading, clause, found):
        _add_drafts(sentence, clause, found, contrast, denied)


def _states_nothing(reading: Reading, clause: Clause, found: list[Value]) -> bool:
    """Whether a clause is small talk, a request, or tells the listener about himself."""
    sentence, group = reading.sentence, clause.group
    words = sentence.words
    who = words[clause.subject[0] : clause.subject[1]]
    said = words[found[0].start : found[0].end]
    is_supposed = reading.is_conditional and group.lemma != "be" and not group.flags & (COULD | MIGHT)
    tells_listener = who == ["you"] and clause.forced is None and not sentence.asked
    if tells_listener and not is_supposed and not group.flags & (WANTED | SHOULD):
        return True
    if not said or said[-1] in _VAGUE or (group.lemma in _COURTESIES and who in ([], ["that"], ["it"], ["this"])):
        return True
    if group.lemma in _REQUESTS and "to" in words[group.end : clause.part.end]:
        reading.is_command = True
        return True
    if group.lemma not in _MOOD_VERBS or who not in _MOOD_SUBJECTS:
        return False
    if said[0] in PRAISE and len(said) <= 2 and not found[0].tie:
        return True
    return who == ["that"] and clause.forced is None and not any(one[0].isdigit() for one in said)


def _read_wish(reading: Reading, clause: Clause, found: list[Value]) -> bool:
    """Whether a clause wishes that something be done, which is then read: ``I want the frame replaced``."""
    sentence, group = reading.sentence, clause.group
    words, kinds = sentence.words, sentence.kinds
    end, value = clause.part.end, found[0]
    owner = value.start - bool(kinds[value.start - 1] & DETERMINER)
    if group.flags & WOULD and group.lemma == "be" and words[value.start] in WISHED_WORDS:
        to = next((at for at in range(value.start, min(end - 1, value.start + 3)) if words[at] == "to"), 0)
        clause.subject = clause.subject if not to else (clause.subject[0],) * 2  # "it would be nice to have"
    elif group.flags & WANTED and len(found) == 1 and group.lemma in _WANTING:
        to = value.end if sentence.has(value.end, "to") and value.end + 1 < end else 0
        to = to if to and kinds[to + 1] & (BASE | BE | HAVE) else 0
        clause.subject = clause.subject if not to else (owner, to)  # "I want my son to learn"
    else:
        to = 0
    if to:
        clause.group = read_group(sentence, to + 1, end).adds(WANTED)
        read_clause(reading, clause)
        return True
    if not group.flags & WANTED or len(found) != 1 or value.end - value.start < 2 or not kinds[owner] & DETERMINER:
        return False
    done = next((at for at in (value.end - 2, value.end - 1) if at > value.start and _is_done(sentence, at)), 0)
    if done:
        clause.drafts.append(Draft(Value(done, value.end, ""), "be", False, (owner, done)))
    return bool(done)


def _is_done(sentence: Sentence, place: int) -> bool:
    kind = sentence.kinds[place]
    return bool(kind & PARTICIPLE and not kind & BASE) or sentence.words[place] == "gone"


def _add_drafts(sentence: Sentence, clause: Clause, found: list[Value], contrast: int, denied: bool) -> None:
    """The drafts of the values of a clause, the old paired with the new."""
    words, kinds = sentence.words, sentence.kinds
    group, end = clause.group, clause.part.end
    is_be = group.lemma == "be" and not group.flags & PASSIVE
    for one in found:
        relation = one.tie or "be" if is_be else f"{group.lemma} {one.tie}".strip()
        clause.drafts.append(Draft(one, relation, denied, one.moved or clause.subject))
    first = clause.drafts[0]
    if is_be and len(found) == 1 and _is_role(sentence, clause, first.value):
        first.subject, first.value = (first.value.start, first.value.end), Value(*clause.subject, "")
        return
    if group.lemma in _SWAPS and len(found) == 1 and not first.value.moved and not group.flags & PASSIVE:
        at = next((at for at in range(first.value.end, end) if words[at] in _SWAPS[group.lemma]), end)
        start, until = _named(sentence, at + 1, end)
        if until > start and not is_time(sentence, start, end):
            new = Draft(Value(start, until, words[at]), f"{group.lemma} {words[at]}", denied, clause.subject)
            new.replaced, first.is_old = first, True
            clause.drafts.append(new)
    _add_old(sentence, clause, first)
    ties = [draft.value.tie.rpartition(" ")[2] for draft in clause.drafts]
    if set(ties) in ({"from", "to"}, {"from", "into"}):
        old, new = clause.drafts[ties.index("from")], clause.drafts[1 - ties.index("from")]
        old.is_old, new.replaced = True, old
    if contrast < end:
        at = contrast + 2
        while at < end and kinds[at] & PREPOSITION:
            at += 1
        start, until = _named(sentence, at, end)
        if until > start and not kinds[start] & (PARTICIPLE | ING):
            first.replaced = Draft(Value(start, until, first.value.tie), first.relation, True, first.subject)
            clause.drafts.append(first.replaced)


def _is_role(sentence: Sentence, clause: Clause, value: Value) -> bool:
    """Say whether a clause says of somebody that he is the one of a role: ``Anna is the maintainer``."""
    words, (low, high) = sentence.words, clause.subject
    is_named = low < high and all(sentence.is_capital(at) and not sentence.kinds[at] for at in range(low, high))
    return is_named and words[value.start - 1] in ("the", "our") and words[value.start] in _ROLES


def _add_old(sentence: Sentence, clause: Clause, first: Draft) -> None:
    """Add what something takes the place of, where the one is the subject of a clause and the other its value."""
    group, (low, high) = clause.group, clause.subject
    if group.lemma == "rename" and first.value.moved:
        low, high = first.value.moved
    if low >= high or len(clause.drafts) > 1:
        return
    is_done = bool(group.flags & PASSIVE or first.value.moved)
    is_yielding = first.relation in _YIELDING and is_done == (group.lemma not in ("make", "give"))
    if is_yielding and sentence.kinds[high - 1] & (SUBJECT | OBJECT) == 0:
        old = Draft(Value(low, high, ""), first.relation, first.negative, (low, low), is_old=True)
        first.replaced = old
        clause.drafts.insert(0, old)
    elif first.relation in _TAKING and not is_done and not first.value.moved and group.flags & (WAS | PERFECT):
        value = first.value
        if _is_name(sentence, low, high) and _is_name(sentence, value.start, value.end):
            first.is_old, first.subject = True, (low, low)
            relation, of = f"{group.lemma} by", (value.start, value.end)
            clause.drafts.append(Draft(Value(low, high, "by"), relation, first.negative, of, replaced=first))


def _is_name(sentence: Sentence, start: int, end: int) -> bool:
    """Whether words are written as a name is: without an article, and with a capital or in no table."""
    before = sentence.kinds[start - 1] if start else 0
    if (before | sentence.kinds[start]) & DETERMINER:
        return False
    return all(sentence.is_capital(at) or not sentence.kinds[at] for at in range(start, end))


def _named(sentence: Sentence, place: int, end: int) -> tuple[int, int]:
    """What is named from a word on: its first word and the one after its last."""
    start, _ = skip_leading(sentence, min(place, end), end)
    return start, noun_end(sentence, start, end)


def _read_existence(sentence: Sentence, clause: Clause) -> None:
    """``There is a bakery on our street``: the street has one."""
    words, kinds = sentence.words, sentence.kinds
    end = clause.part.end
    start, denied = skip_leading(sentence, clause.group.end, end)
    until = noun_end(sentence, start, end, OF_WORDS, 0)
    if until <= start or until >= end or not kinds[until] & PREPOSITION or is_time(sentence, until + 1, end):
        return
    relative = next((at for at in range(until + 2, end) if words[at] in RELATIVES), end)
    last = noun_end(sentence, until + 1, relative)
    if last > until + 1:
        denied = denied or bool(clause.group.flags & DENIED)
        clause.drafts.append(Draft(Value(start, until, ""), "have", denied, (until + 1, last)))


def _read_bare(reading: Reading, clause: Clause, denied: bool) -> None:
    """A clause whose verb is all that it says (``the tap drips``), or that leaves that out (``my tablet does``)."""
    sentence, group = reading.sentence, clause.group
    kinds = sentence.kinds
    low, high = clause.subject
    end = clause.part.end
    start, until = group.word, group.end
    if group.lemma in ("be", "have", "do"):
        before = reading.clauses[-2] if len(reading.clauses) > 1 else None
        if before and before.drafts and until >= end and not sentence.has(end, ","):
            last = before.drafts[-1]
            clause.drafts.append(Draft(last.value, last.relation, denied, (low, high)))
        return
    is_named = low < high and (
        kinds[low] & DETERMINER or sentence.is_capital(low) or kinds_of_name(" ".join(sentence.words[low:high]))
    )
    if not is_named or (high == low + 1 and kinds[low] & SUBJECT):
        return
    if kinds[start] & (REPORT | BELIEF) or group.flags & WANTED:
        return
    if until < end and kinds[until] & OBJECT and not kinds[until] & PREPOSITION:
        return
    if until < end and kinds[until] & PREPOSITION and (until + 1 == end or kinds[until + 1] & OBJECT):
        until = min(until + 2, end)
    relation = "be" if group.flags & (PASSIVE | GOING) else None
    clause.drafts.append(Draft(Value(start, until, ""), relation, denied, (low, high)))


def read_verbless(reading: Reading, part: Part, after: Part | None) -> None:
    """A part without a verb: a further value of the clause before it, a contrast to it, or nothing.

    Args:
        after: the part that comes next.
    """
    reading.pending.append(part)
    sentence = reading.sentence
    clause = reading.clauses[-1] if reading.clauses else None
    if reading.is_command or clause is None:
        return
    if not clause.drafts:
        if clause.group.end >= clause.part.end and part.mark and clause.subject[1] > clause.subject[0]:
            clause.high = part.end  # "has, believe it or not, a view"
            clause.group, clause.part = clause.group._replace(end=part.start), clause.part._replace(end=part.end)
            read_clause(reading, clause)
    elif sentence.has(part.start, "not"):
        _add_contrast(sentence, clause, part)
    elif not clause.is_closed and part.mark in ("", ","):
        item = _item(sentence, clause, part, after)
        if item is not None and _add_item(sentence, clause, part, *item):
            reading.pending.pop()


def _add_contrast(sentence: Sentence, clause: Clause, part: Part) -> None:
    """``8080, not 8000``."""
    place = part.start + 1
    while place < part.end and sentence.kinds[place] & PREPOSITION:
        place += 1
    start, until = _named(sentence, place, part.end)
    if until > start and sentence.words[start] not in _NO_CONTRASTS:
        last = clause.drafts[-1]
        last.replaced = Draft(Value(start, until, last.value.tie), last.relation, True, last.subject)
        clause.drafts.append(last.replaced)
        clause.high = part.end


def _item(sentence: Sentence, clause: Clause, part: Part, after: Part | None) -> tuple[tuple[int, int], int] | None:
    """Whose value a part holds that may be one of a list, and where it begins; ``None`` where it is none."""
    words, kinds = sentence.words, sentence.kinds
    start = part.start
    while start < part.end and words[start] in ("also", "even", "then", "both"):
        start += 1
    if start >= part.end:
        return None
    listed_before = (
        part.mark == ","
        and after is not None
        and after.link in ("and", "or")
        and not after.mark
        and find_verb(sentence, after.start, after.end) < 0
    )
    if part.link in _LIST_WORDS or (part.link == "but" and words[start] == "no") or listed_before:
        return clause.subject, start
    if part.mark != ",":
        return None
    named = bool(kinds[start] & (DETERMINER | SUBJECT)) or sentence.is_capital(start)
    tie = clause.drafts[-1].value.tie.rpartition(" ")[2]
    if tie:  # "her cousin in 2027"
        gap = words.index(tie, start + 1, part.end) if tie in words[start + 1 : part.end] else 0
        return ((start, gap), gap) if gap and (named or gap == start + 1) else None
    gap = next(
        (
            one
            for one in range(start + 1, part.end)
            if kinds[one] & DETERMINER and not kinds[one - 1] & (DETERMINER | PREPOSITION)
        ),
        0,
    )  # "my daughter her bike"
    has_subject = clause.subject[1] > clause.subject[0]
    return ((start, gap), gap) if gap and named and has_subject and clause.group.lemma != "be" else None


def _add_item(sentence: Sentence, clause: Clause, part: Part, owner: tuple[int, int], place: int) -> bool:
    """Whether a part holds a further value of the relation of a clause, which is then added."""
    words, kinds = sentence.words, sentence.kinds
    last = clause.drafts[-1]
    tie = last.value.tie
    while place < part.end and (kinds[place] & PREPOSITION or words[place] == "to"):
        if words[place] not in ("about", "around", "with", "to") and words[place] not in tie.split():
            return False  # "moved to Graz, for love"
        place += 1
    start, denied = skip_leading(sentence, place, part.end)
    until = noun_end(sentence, start, part.end)
    if until <= start or words[start] in _NO_ITEMS or words[start] in _VAGUE:
        return False
    if (not tie and is_time(sentence, start, part.end)) or (
        kinds[start] & (SUBJECT | OBJECT) and not kinds[start] & DETERMINER
    ):
        return False
    after = last.value.end
    if after < clause.part.end and kinds[after] & PREPOSITION and words[after] in words[start:until]:
        end = noun_end(sentence, last.value.start, clause.part.end)  # "takes 11 on A and 4 on B"
        last.value = last.value._replace(end=max(end, after))
    if owner == clause.subject:
        last.single = False
    clause.drafts.append(
        Draft(Value(start, until, tie), last.relation, last.negative or denied, owner, single=owner != clause.subject)
    )
    clause.high = part.end
    return True
