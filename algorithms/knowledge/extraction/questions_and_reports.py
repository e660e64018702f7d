"""Reads what is asked, and tells what somebody says, thinks or hopes from that he does: the statement is what follows.

Above it stands `mnemic.algorithms.knowledge.extraction.sentence_reader`; below it
`mnemic.algorithms.knowledge.extraction.clause_reader`. A question is told by its order of words too, for many have no
mark (``does the 14 tram stop at Schottentor``). One that names no value (``where does it live?``) states nothing, and
neither does a request (``could you rename that?``). What others say or think is quoted; what the speaker thinks is
asserted, and what he thought and corrects is denied.
"""

from __future__ import annotations

from mnemic.algorithms.knowledge.extraction.clause_parts import Part, find_verb, is_adverb
from mnemic.algorithms.knowledge.extraction.clause_reader import PRAISE, read_clause
from mnemic.algorithms.knowledge.extraction.clauses import Clause, Reading
from mnemic.algorithms.knowledge.extraction.modality import Modality
from mnemic.algorithms.knowledge.extraction.sentences import (
    ADVERB,
    AUX,
    BASE,
    BE,
    DETERMINER,
    DO,
    FINITE,
    HAVE,
    ING,
    LEMMAS,
    MARK,
    MODAL,
    NOT,
    OBJECT,
    PARTICIPLE,
    PREPOSITION,
    SUBJECT,
    VERB,
    Sentence,
    word_set,
)
from mnemic.algorithms.knowledge.extraction.verb_groups import (
    COULD,
    DENIED,
    GOING,
    MIGHT,
    PASSIVE,
    SHOULD,
    WANTED,
    WAS,
    WILL,
    VerbGroup,
    read_group,
)

SURE_WORDS = word_set("sure certain glad afraid confident positive convinced happy sorry")
"""What somebody is who knows something, which then follows."""
_QUESTION_WORDS = word_set("what who where why how which whose whom when")
_NEVER_FIRST = word_set("'s 'll 'd 're 'm 've be been")
_THINGS = word_set("that this it both these those")  # "do that" tells somebody to do something
_OF_MEMORY = word_set("know remember mind")


def asks_for_unnamed(sentence: Sentence, first: int) -> bool:
    """Whether a sentence that begins with this word asks for what it does not name."""
    words, kinds = sentence.words, sentence.kinds
    if words[first] not in _QUESTION_WORDS or sentence.has(first, "what", "if"):
        return False
    after = kinds[first + 1] if first + 1 < len(words) else MARK
    return sentence.asked or bool(after & AUX) or words[first] in ("which", "whose", "how")


def is_inverted(reading: Reading, part: Part, start: int) -> bool:
    """Whether a part whose first word is an auxiliary asks, its subject coming after it."""
    sentence = reading.sentence
    words, kinds = sentence.words, sentence.kinds
    if start + 1 >= part.end or words[start] in _NEVER_FIRST:
        return False
    auxiliary, after = kinds[start], kinds[start + 1]
    if auxiliary & HAVE and not sentence.asked and not after & SUBJECT:
        return False
    if words[start] in ("do", "don't"):
        return sentence.asked or bool(after & SUBJECT and words[start + 1] not in _THINGS)
    if sentence.asked:
        return True
    if part.link in ("and", "or", "but") and not reading.is_inverted:
        return bool(after & SUBJECT and not after & DETERMINER)
    if after & (SUBJECT | DETERMINER) or auxiliary & DO or sentence.is_capital(start + 1):
        return True
    if words[start + 1][0].isdigit():
        return True
    long_enough = part.end - start > 3 and words[start + 1] not in PRAISE  # "is great" leaves its subject out
    return not after and bool(auxiliary & MODAL or (auxiliary & BE and long_enough))


def read_question(reading: Reading, part: Part, start: int) -> Part | None:
    """Read an inverted part; what is left to be read, where it only asks whether somebody knows it."""
    sentence = reading.sentence
    words, kinds = sentence.words, sentence.kinds
    reading.pending.clear()
    reading.is_inverted = True
    if part.link == "but" and reading.clauses:
        reading.clauses[-1].drafts.clear()  # "Maybe I'm blind, but is"
    auxiliary, first = kinds[start], start + 1
    if (words[first] == "you" and auxiliary & MODAL) or words[start] == "shall":
        reading.is_command = True
        return None
    first += words[first] == "not"
    end = _subject_end(sentence, first, part.end, auxiliary)
    if end >= part.end and reading.clauses:  # "don't you?"
        reading.is_inverted = False
        return None
    is_sure = auxiliary & BE and end < part.end and words[end] in SURE_WORDS
    if is_sure and find_verb(sentence, end + 1, part.end) > end + 1:  # "are you sure the fuse is"
        reading.force("asked", "question")
        return Part(end + 1, part.end, "", "")
    group = _group(sentence, start, end, part.end)
    if group is None or (group.lemma in _OF_MEMORY and words[first] == "you" and group.end >= part.end):
        return None
    group = group.adds(DENIED if auxiliary & NOT else 0)
    clause = Clause(part, part.start, part.end, (first, end), group, "asked", "question")
    reading.clauses.append(clause)
    read_clause(reading, clause)
    return None


def _group(sentence: Sentence, start: int, after: int, end: int) -> VerbGroup | None:
    """The verb of a question, whose subject ends before `after`; ``None`` where it has none."""
    words, kinds = sentence.words, sentence.kinds
    auxiliary = kinds[start]
    place = after
    while place < end and is_adverb(words[place], kinds[place]) and not kinds[place] & VERB:
        place += 1
    word, kind = (words[place], kinds[place]) if place < end else ("", 0)
    is_main = word != "" and bool(
        (auxiliary & (DO | MODAL) and (kind & (BASE | HAVE | DO | BE) or not kind))
        or (auxiliary & HAVE and kind & (PARTICIPLE | BE))
        or (auxiliary & BE and kind & (ING | PARTICIPLE) and word != "being")
    )
    if is_main and (kind & (BE | HAVE) or word == "do"):
        return read_group(sentence, place, end)
    if is_main:
        is_passive = auxiliary & BE and kind & PARTICIPLE
        return VerbGroup(start, place + 1, LEMMAS.get(word, word), PASSIVE if is_passive else 0, place)
    if auxiliary & (BE | HAVE):
        return VerbGroup(start, after, "be" if auxiliary & BE else "have", 0, start)
    return None


def _subject_end(sentence: Sentence, first: int, end: int, auxiliary: int) -> int:
    """The word after the subject of a question."""
    words, kinds = sentence.words, sentence.kinds
    if first < end and kinds[first] & SUBJECT and not kinds[first] & DETERMINER:
        return first + 1
    nouns = 0
    for place in range(first, end):
        kind, word = kinds[place], words[place]
        after_noun = nouns and not kinds[place - 1] & PREPOSITION
        if word.endswith(("'s", "'")):
            nouns = 0
        elif kind & DETERMINER:
            if after_noun:
                return place
        elif after_noun:
            if _begins_predicate(sentence, place, first, end, auxiliary):
                return place
            nouns += 1
        elif not kind & PREPOSITION:
            nouns += 1
    return end - 1 if auxiliary & BE and nouns > 1 else end


def _begins_predicate(sentence: Sentence, place: int, first: int, end: int, auxiliary: int) -> bool:
    """Whether a word after a noun belongs to the subject of a question no more."""
    word, kind = sentence.words[place], sentence.kinds[place]
    after = sentence.kinds[place + 1] if place + 1 < end else 0
    if kind & ADVERB and not kind & VERB:
        return True
    if auxiliary & (DO | MODAL):
        return bool(kind & BASE and not (after & BASE and not after & PREPOSITION))
    if auxiliary & HAVE:
        return bool(kind & (PARTICIPLE | BE)) or is_adverb(word, kind)
    if word[0].isdigit():
        return bool(sentence.kinds[first] & DETERMINER)
    is_verb = bool(kind & (ING | NOT)) or bool(kind & PARTICIPLE and not kind & BASE)
    return is_verb or (bool(kind & PREPOSITION) and word != "of") or is_adverb(word, kind)


THOUGHT = "thought"
"""The link of a part that its speaker thought once: what comes after it may correct it."""
REPORTING = word_set("""
say tell claim mention insist report argue warn announce state promise suggest explain confirm swear complain
recommend predict
""")
"""Verbs of saying."""
_SAYING = word_set(
    "say tell mention claim insist recommend predict"
)  # they quote what no clause tells, too: "says 30 degrees"
_HEARING = word_set("hear read understand learn")
_THINKING = word_set("think believe reckon guess suspect assume")
_KNOWING = word_set("know remember mean bet suppose realise realize notice figure feel see find") | _THINKING
_ABOUT = word_set("you to that everyone here")
_PONDERING = word_set("hear wonder doubt")
_CONTENT_LINKS = ("that", "how")
_WORDS_BEFORE_THAT = 4  # "wrote back to us that"
_TAG_WORDS = 4  # at most so many words stand after a comma in ", says Anna"


def content(reading: Reading, clause: Clause, after: Part | None) -> Part | None:
    """What a clause says somebody says or thinks, to be read next; ``None`` where it is no such clause.

    An empty part tells that the next one is that.

    Args:
        clause: not yet one of the reading's.
        after: the part that comes next.
    """
    sentence, group, part = reading.sentence, clause.group, clause.part
    words, kinds = sentence.words, sentence.kinds
    lemma = group.lemma
    nothing = Part(part.end, part.end, "", "")
    that_follows = after is not None and after.link == "that"
    if lemma == "be" and not group.flags & (GOING | PASSIVE):
        return _of_certainty(sentence, clause, that_follows)
    if lemma == "have" and sentence.has(group.end, "it") and that_follows:  # "rumour has it that"
        reading.force("quoted", "hearsay")
        return nothing
    reads = lemma == "read" and after is not None and after.mark == ":"
    hears = lemma in _HEARING and that_follows
    tells = lemma in REPORTING and words[group.end : group.end + 1] != ["goodbye"]
    tells = tells or (lemma == "write" and that_follows)
    turns_out = lemma == "turn" and sentence.has(group.end, "out")
    hopes = lemma in ("hope", "wish")
    if not (reads or hears or tells or turns_out or hopes or lemma in _KNOWING or lemma in _PONDERING):
        return None
    place = _skip_listeners(sentence, group.end, part.end) + turns_out
    if lemma == "say" and place + 1 < part.end and words[place] == "to" and kinds[place + 1] & BASE:
        clause.forced, clause.rule = "quoted", "report"
        clause.group, clause.subject = read_group(sentence, place + 1, part.end), (part.start, part.start)
        return None
    inner = find_verb(sentence, place, part.end) if place < part.end else -1
    is_whole = inner > place and inner + 1 < part.end
    at_end = place >= part.end or (that_follows and (hears or tells) and place + _WORDS_BEFORE_THAT >= part.end)
    follows = (
        after is not None
        and at_end
        and (reads or after.link in _CONTENT_LINKS or (after.mark == ":" and lemma in REPORTING))
    )
    who = words[clause.subject[0] : clause.subject[1]]
    own = who in (["i"], ["we"]) and not (lemma == "tell" and group.flags & PASSIVE)
    if not is_whole and not follows:
        return _without_content(reading, clause, place, own=own)
    modality: Modality | None = None
    link = ""
    if hopes:
        modality = "wished"
    elif lemma in ("wonder", "doubt"):
        modality = "asked" if lemma == "wonder" else "hypothetical"
    elif hears or lemma == "hear" or (not own and (tells or reads or (lemma in _THINKING and who != ["you"]))):
        modality = "quoted"
    elif lemma in _THINKING and group.flags & WAS:
        link = THOUGHT
    if modality is not None:
        reading.force(modality, "report" if modality == "quoted" else lemma)
    return Part(place, part.end, link, part.mark) if is_whole else nothing


def _of_certainty(sentence: Sentence, clause: Clause, that_follows: bool) -> Part | None:
    """What somebody is sure of, glad of, afraid of."""
    group, part = clause.group, clause.part
    for place in range(group.end, min(group.end + 3, part.end)):
        if sentence.words[place] in SURE_WORDS:
            if find_verb(sentence, place + 1, part.end) > place + 1 and not group.flags & DENIED:
                return Part(place + 1, part.end, "", part.mark)
            if place + 1 == part.end and that_follows:
                return Part(part.end, part.end, "", "")
    return None


def _skip_listeners(sentence: Sentence, place: int, end: int) -> int:
    """The first word after those that say to whom something is said."""
    words, kinds = sentence.words, sentence.kinds
    while place < end:
        word, kind = words[place], kinds[place]
        after = kinds[place + 1] if place + 1 < end else 0
        is_listener = word in _ABOUT or (kind & OBJECT and not kind & SUBJECT)
        if not is_listener and not (kind & ADVERB and not kind & DETERMINER):
            break
        if (word == "to" and not after & OBJECT) or (word == "you" and after & (FINITE | AUX)):
            break
        place += 1
    return place


def _without_content(reading: Reading, clause: Clause, place: int, *, own: bool) -> Part | None:
    """What a verb of saying does after which no clause stands: ``told me to run``, ``, says Anna``."""
    group, part = clause.group, clause.part
    if group.lemma not in REPORTING:
        return None
    if reading.sentence.has(place, "to") and place < part.end:
        reading.is_command = True  # "Priya told me to run the tests"
    if reading.clauses and part.mark and part.end - part.start <= _TAG_WORDS:
        reading.quote_all()
        return Part(part.end, part.end, "", "")
    if group.lemma in _SAYING and not own and not group.flags & (SHOULD | WILL | COULD | MIGHT | WANTED):
        clause.forced, clause.rule = "quoted", "report"
    return None
