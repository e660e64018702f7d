"""Reads a sentence part by part: commands and idle words drop out, clauses are read, what binds them is noted.

Above it stands `mnemic.algorithms.knowledge.extraction.statements`; below it
`mnemic.algorithms.knowledge.extraction.clause_reader`, `mnemic.algorithms.knowledge.extraction.questions_and_reports`.
What status a clause has is decided after all of it is read (`mnemic.algorithms.knowledge.extraction.clause_status`),
for its cues may come last.
"""

from __future__ import annotations

from mnemic.algorithms.knowledge.extraction.announcements import made_to, read_announcement, read_label
from mnemic.algorithms.knowledge.extraction.clause_parts import IF_WORDS, Part, find_verb, is_adverb, parts
from mnemic.algorithms.knowledge.extraction.clause_reader import WISHED_WORDS, read_clause, read_verbless
from mnemic.algorithms.knowledge.extraction.clauses import Clause, Reading
from mnemic.algorithms.knowledge.extraction.noun_phrases import is_time, skip_openers, subject
from mnemic.algorithms.knowledge.extraction.questions_and_reports import (
    REPORTING,
    asks_for_unnamed,
    content,
    is_inverted,
    read_question,
)
from mnemic.algorithms.knowledge.extraction.sentences import (
    ADVERB,
    AUX,
    BASE,
    DETERMINER,
    DO,
    FINITE,
    JOIN,
    LEMMAS,
    MARK,
    NOT,
    OBJECT,
    PARTICIPLE,
    PAST,
    PREPOSITION,
    REPORT,
    SUBJECT,
    THIRD,
    TIME,
    UNDER,
    Sentence,
    word_set,
)
from mnemic.algorithms.knowledge.extraction.verb_groups import (
    COULD,
    DENIED,
    MIGHT,
    NO_LONGER,
    SHOULD,
    USED_TO,
    WANTED,
    WAS,
    WILL,
    WOULD,
    VerbGroup,
    read_group,
)

_IDLE_CONDITIONS = (["i", "remember"], ["i", "recall"], ["i", "understand"], ["you", "ask"])
_SCOPES = word_set("when whenever once until till before after as where since how why what provided while")
"""What begins a clause that only tells the time, the place or the way of another one."""
_SUPPOSING = word_set("suppose supposing imagine assume assuming say")
_KNOWING = word_set("know wonder wondering sure tell idea clue remember")  # what stands before a question within
_CHECKING = word_set("check see ask test verify decide")  # what stands before something to be found out
_WORDS_BEFORE_IF = 4
_LINKS_OF_RANK = word_set("and or but")
_NOTING = word_set("note remember fyi")
_INVERTED_CONDITIONS = word_set("should were had")  # "Should the demo fail, …"
_IDIOM_WORDS = word_set("case believe far")
_PERSONS = word_set("i we he she they it you")


def read_sentence(sentence: Sentence) -> Reading:
    """What the clauses of a sentence state, without their status."""
    reading = Reading(sentence)
    if sentence.quoted:
        reading.force("quoted", "quotation")
    words = sentence.words
    first = skip_openers(sentence, 0, len(words))
    if first >= len(words) or asks_for_unnamed(sentence, first):
        return reading
    if words[first] in ("according", "per") or sentence.has(first, "from", "what"):
        reading.force("quoted", "according to")
    _mark_idioms(sentence)
    queue = parts(sentence)
    conditions = [part for part in queue if part.link in IF_WORDS or part.link.endswith(" if")]
    idle = any(part.link == "if" and words[part.start : part.start + 2] in _IDLE_CONDITIONS for part in conditions)
    reading.is_conditional = bool(conditions) and not idle
    reading.is_what_if = queue[0].link == "what if" if queue else False
    queue.reverse()
    while queue:
        part = queue.pop()
        after = queue[-1] if queue else None
        if part.link not in ("which", "who", "whose"):
            queue.extend(reversed(_read_part(reading, part, after)))
    if not reading.clauses and not reading.is_command:
        read_announcement(reading)
    if not reading.clauses:
        read_label(reading)
    last = reading.clauses[-1] if reading.clauses else None
    if last and reading.pending and reading.pending[0].start >= last.part.end:
        last.high = max(last.high, reading.pending[-1].end)
    return reading


def _mark_idioms(sentence: Sentence) -> None:
    """Make marks of words that state nothing, and a condition of ``in case``."""
    words, kinds = sentence.words, sentence.kinds
    if _IDIOM_WORDS.isdisjoint(words):
        return
    for place in range(len(words) - 3):
        if words[place] == "case" and sentence.has(place - 1, "in"):
            words[place], kinds[place], kinds[place - 1] = "if", UNDER, ADVERB
        length = 0
        if words[place] == "believe" and sentence.has(place, "believe", "it", "or", "not"):
            length = 4
        elif words[place] == "as" and sentence.has(place, "as", "far", "as", "i"):
            length = 6 if words[place + 4 : place + 5] in (["can"], ["could"]) else 5
        for idle in range(place, min(place + length, len(words))):
            kinds[idle] = MARK


def _read_part(reading: Reading, part: Part, after: Part | None) -> list[Part]:
    """Read a part; what of it is to be read as parts of their own.

    Args:
        after: the part that comes next.
    """
    sentence = reading.sentence
    words, kinds = sentence.words, sentence.kinds
    start = skip_openers(sentence, part.start, part.end)
    if start >= part.end:
        reading.pending.append(part)
        return []
    if words[start] == "as" and (sentence.has(part.end - 2, "put", "it") or kinds[part.end - 1] & REPORT):
        reading.quote_all()  # "as Piet put it"
        return []
    if rest := _supposed(reading, part, start):
        return [rest]
    if words[start] in _NOTING and find_verb(sentence, start + 1, part.end) > start + 1:
        return [Part(start + 1, part.end, part.link, part.mark)]  # "Note that", "Remember that"
    if verb := made_to(sentence, part, start):
        return _read_with_verb(reading, part._replace(start=start + 1), start + 1, verb, after)
    if _is_told(reading, part, start, after):
        return []
    if kinds[start] & AUX and is_inverted(reading, part, start):
        is_condition = words[start] in _INVERTED_CONDITIONS and not sentence.asked
        rest = read_question(reading, part, start)
        if is_condition and after is not None and after.mark == ",":
            reading.is_conditional, reading.is_inverted = True, False
            for clause in reading.clauses:
                clause.forced = None
        return [rest] if rest else []
    joined = part.link == "and" and not part.mark and bool(reading.pending)
    joined = joined and reading.pending[-1].end == part.start - 1
    verb = find_verb(sentence, start, part.end, joined=joined)
    depends = part.link in IF_WORDS | _SCOPES or part.link.endswith(" if") or part.link.startswith("as ")
    if verb >= 0 and depends and (begun := _second_clause(sentence, verb, part)):
        return [part._replace(end=begun), Part(begun, part.end, "", ",")]
    head = kinds[start]
    if head & FINITE and not head & AUX and (verb == start or (head & (THIRD | PAST) and not head & BASE)):
        verb = _verb_of_start(sentence, start, part.end)
    if verb < 0:
        read_verbless(reading, part, after)
        return []
    if verb == start and _is_aside(reading, part, start):
        reading.pending.append(part)
        return []
    return _read_with_verb(reading, part, start, verb, after)


def _supposed(reading: Reading, part: Part, start: int) -> Part | None:
    """What somebody is to suppose, as a condition: ``say the train is late``."""
    sentence = reading.sentence
    start += 2 if sentence.has(start, "let", "'s") else 0
    if reading.clauses or start + 1 >= part.end or sentence.words[start] not in _SUPPOSING:
        return None
    if not sentence.kinds[start + 1] & (SUBJECT | DETERMINER):
        return None
    reading.is_conditional = True
    return Part(start + 1, part.end, "if", part.mark)


def _is_told(reading: Reading, part: Part, start: int, after: Part | None) -> bool:
    """Whether a part tells somebody to do something: ``run the tests``, ``don't forget the milk``."""
    sentence = reading.sentence
    words, kinds = sentence.words, sentence.kinds
    head, following = kinds[start], kinds[start + 1] if start + 1 < part.end else 0
    if words[start] in ("let", "lets", "let's") or (head & DO and head & NOT and following & BASE):
        reminds = sentence.has(start + 1, "forget") and after is not None and after.link == "that"
        reading.is_command = reading.is_command or not reminds
        return True
    if not head & BASE or head & (AUX | PAST) or not (part.link in _LINKS_OF_RANK or part.link in ("", "so")):
        return False
    tells = bool(following & (DETERMINER | OBJECT | PREPOSITION)) or sentence.has(start + 1, "sure")
    if sentence.has(start + 1, "no", "longer") or (part.link == "and" and _continues(reading)):
        return False  # "Support no longer answers"
    if not tells or (following & PREPOSITION and find_verb(sentence, start + 1, part.end) > 0):
        return False
    reading.is_command = True
    return True


def _is_aside(reading: Reading, part: Part, start: int) -> bool:
    """Whether a participle only adds to what stands before: ``, counted from today``."""
    kinds = reading.sentence.kinds
    head = kinds[start]
    is_participle = bool(head & PARTICIPLE) and not head & BASE
    follows = start + 1 < part.end and bool(kinds[start + 1] & (PREPOSITION | TIME))
    return bool(reading.clauses) and part.mark == "," and not part.link and is_participle and follows


def _second_clause(sentence: Sentence, verb: int, part: Part) -> int:
    """Where a clause begins that a condition is followed by without a mark; 0 where none does."""
    words, kinds = sentence.words, sentence.kinds
    for place in range(verb + 1, part.end - 1):
        kind, before, after = kinds[place], kinds[place - 1], kinds[place + 1]
        if words[place] in _PERSONS and after & (FINITE | AUX) and not before & PREPOSITION:
            return place
        if before & (DETERMINER | PREPOSITION | JOIN | AUX):
            continue
        if kind & DETERMINER and place > verb + 1 and find_verb(sentence, place, part.end) > place:
            return place
        if not kind and after & (THIRD | AUX) and sentence.is_capital(place):
            return place
    return 0


def _verb_of_start(sentence: Sentence, start: int, end: int) -> int:
    """The verb of a part whose first word may be one: ``Support no longer answers``, ``deploys happen``."""
    words, kinds = sentence.words, sentence.kinds
    place = start + 1
    while place < end and (is_adverb(words[place], kinds[place]) or words[place] in ("no", "longer")):
        place += 1
    head, after = kinds[start], kinds[place] if place < end else 0
    if head & (THIRD | PAST) and not head & BASE:
        is_noun = after & (AUX | THIRD) or (head & THIRD and after & FINITE and not after & (PREPOSITION | DETERMINER))
        return place if is_noun and after & (FINITE | AUX) else start
    for later in range(place, min(place + 3, end)):
        kind = kinds[later]
        if kind & (DETERMINER | PREPOSITION | OBJECT | MARK):
            break
        if kind & AUX or (kind & THIRD and not kind & NOT and later + 1 < end and not kinds[later + 1] & AUX):
            return later
    return start


def _continues(reading: Reading) -> bool:
    """Whether a verb in its base form may go on with what the clause before says of its subject."""
    if reading.is_command or not reading.clauses:
        return False
    before = reading.clauses[-1]
    words = reading.sentence.words[before.subject[0] : before.subject[1]]
    if before.group.flags & (WILL | WOULD | COULD | MIGHT | SHOULD | WANTED | USED_TO):
        return True
    return bool(words) and (words[-1] in ("i", "we", "they", "you") or words[-1].endswith("s"))


def _read_with_verb(reading: Reading, part: Part, start: int, verb: int, after: Part | None) -> list[Part]:
    """Read a part that has a verb of its own."""
    sentence = reading.sentence
    who = subject(sentence, part.start, verb)
    group = _with_adverbs(sentence, read_group(sentence, verb, part.end), max(who[1], start), verb)
    if who[1] <= who[0]:
        if _is_imperative(reading, part, start, verb):
            return []
        who = _shared_subject(reading, part, who)
    words = sentence.words
    if reading.is_command and (
        part.link in IF_WORDS | _SCOPES or (part.link == "and" and words[who[0] : who[1]] == ["you"])
    ):
        return []
    low = reading.pending[0].start if reading.pending else part.start
    clause = Clause(part, low, part.end, who, group, reading.forced, reading.rule)
    if not _bind(reading, clause, verb):
        return []
    _merge_subject(reading, clause)
    reading.pending.clear()
    if reading.is_until:
        clause.scope, reading.is_until = "until", False
    said = content(reading, clause, after)
    if said is not None:
        return [said] if said.end > said.start else []
    reading.clauses.append(clause)
    read_clause(reading, clause)
    return []


def _with_adverbs(sentence: Sentence, group: VerbGroup, start: int, verb: int) -> VerbGroup:
    """The group with what stands between subject and verb: ``no longer``, ``never``."""
    for place in range(start, verb):
        if sentence.has(place, "no", "longer"):
            group = group.adds(NO_LONGER)
        elif sentence.words[place] == "never":
            group = group.adds(DENIED)
    return group


def _is_imperative(reading: Reading, part: Part, start: int, verb: int) -> bool:
    """Whether a part without a subject of its own tells somebody to do something."""
    head = reading.sentence.kinds[start]
    if not head & BASE or head & AUX:
        return False
    goes_on = part.link in _LINKS_OF_RANK and _continues(reading)
    if verb == start and not goes_on and (not head & PAST or not reading.clauses):
        reading.is_command = True
        reading.pending.clear()
        return True
    return reading.is_command and (part.link in _LINKS_OF_RANK or not part.link)


def _shared_subject(reading: Reading, part: Part, nobody: tuple[int, int]) -> tuple[int, int]:
    """The subject of a part that has none: that of the clause before, or what stands before a comma."""
    sentence, pending = reading.sentence, reading.pending
    if reading.clauses:
        return reading.clauses[-1].subject
    if pending and not part.link and sentence.kinds[pending[-1].start] & (DETERMINER | SUBJECT):
        return subject(sentence, pending[0].start, pending[0].end)  # "My wife, a vet, works"
    return nobody


def _bind(reading: Reading, clause: Clause, verb: int) -> bool:
    """Note what the link of a clause makes of it; ``False`` where it then states nothing."""
    part, link = clause.part, clause.part.link
    sentence = reading.sentence
    words = sentence.words
    who = words[clause.subject[0] : clause.subject[1]]
    before = words[max(0, part.start - _WORDS_BEFORE_IF) : part.start]
    if link == "whether" or link in IF_WORDS or link.endswith(" if"):
        if not _KNOWING.isdisjoint(before):
            _drop_before(reading, part)
            clause.forced, clause.rule = "asked", "whether"
            reading.is_conditional = False
            return True
        if link == "whether" or not _CHECKING.isdisjoint(before):
            return False
        if words[part.start : part.start + 2] in _IDLE_CONDITIONS or sentence.has(part.start, "push", "comes"):
            return False
        if sentence.has(part.start, "only"):
            reading.force("wished", "if only")
            clause.forced, clause.rule = "wished", "if only"
        elif reading.clauses and _wishes(sentence, reading.clauses[-1]):
            reading.clauses[-1].drafts.clear()
            clause.forced, clause.rule = "wished", "would be good if"
        return not (who == ["you"] and words[verb] in ("like", "want", "can", "could"))
    if link == "as" and LEMMAS.get(words[verb]) in REPORTING and who not in (["i"], ["we"]):
        reading.quote_all()
        return False
    if link not in _SCOPES and not link.startswith(("as ", "even")):
        return True
    if link == "while" and (who == ["you"] or sentence.has(part.end - 2, "at", "it")):
        return False  # "while you're here", "while I was at it"
    if link == "while" or (link == "when" and clause.group.flags & WAS):
        clause.scope = link
        return True
    if link in ("until", "till"):
        if not reading.clauses:
            reading.is_until = True
        elif reading.clauses[-1].high >= part.start - 2:
            reading.clauses[-1].scope = "until"
    return False


def _drop_before(reading: Reading, part: Part) -> None:
    """Drop what the clause right before states, which only asks what comes."""
    if reading.clauses and reading.clauses[-1].part.end >= part.start - 1:
        reading.clauses[-1].drafts.clear()


def _wishes(sentence: Sentence, clause: Clause) -> bool:
    """Whether a clause says that it would be good if something were so."""
    group = clause.group
    said = sentence.words[group.end : clause.part.end]
    return bool(group.flags & (WOULD | WANTED)) and (group.lemma in WISHED_WORDS or not WISHED_WORDS.isdisjoint(said))


def _merge_subject(reading: Reading, clause: Clause) -> None:
    """Add to a subject what stands before its ``and``: ``Felicitas and I share``."""
    part, sentence = clause.part, reading.sentence
    low, high = clause.subject
    if part.link != "and" or part.mark or not reading.pending or high <= low:
        return
    before = reading.pending[-1]
    is_near = before.end == part.start - 1 and before.end - before.start <= 5
    is_frame = is_time(sentence, before.start, before.end) or sentence.kinds[before.start] & PREPOSITION
    if is_near and not is_frame:
        clause.subject = (subject(sentence, before.start, before.end)[0], high)
