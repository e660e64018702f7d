"""Cuts English text into sentences of words that keep their place in the text and know their classes.

Above it stands `mnemic.algorithms.knowledge.extraction.clause_parts`. Unlike `mnemic.algorithms.text.clauses`, which
leaves out what is not asserted, it keeps questions, conditions and reports. Fenced code, quoted lines (``>``), table
rows and shell prompts are left out; an inline code span is one word. What stands within quotation marks is one word
where it is a name, and a sentence of its own where somebody is said to have said it; else it is left out.

One table tells all classes of a word, since looking into thirty sets for each word would cost more than all the rest. A
word that is in no class is taken for a noun, an adjective or a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


# The classes, one bit each; a word may be of several. Plain integers: the operators of enum.Flag take ten times as
# long, and each word is tested twenty times.
SUBJECT, OBJECT, ARTICLE, DETERMINER, PREPOSITION, PARTICLE, JOIN, UNDER = (1 << bit for bit in range(8))
BE, HAVE, DO, MODAL, PAST_AUX, NOT, ADVERB, OPENER = (1 << bit for bit in range(8, 16))
BASE, THIRD, PAST, PARTICIPLE, ING, REPORT, BELIEF, WISH = (1 << bit for bit in range(16, 24))
TIME, MARK, END = (1 << bit for bit in range(24, 27))
# SUBJECT: a pronoun before its verb; OBJECT: after it; JOIN: may join clauses or things of one rank; UNDER: begins a
# clause that depends on another; OPENER: may stand before all; THIRD: "runs"; REPORT, BELIEF, WISH: verbs of saying,
# thinking, wishing; TIME: says when, and ends a value; MARK: punctuation within a sentence; END: after it.
AUX = BE | HAVE | DO | MODAL
FINITE = BASE | THIRD | PAST
VERB = FINITE | PARTICIPLE | ING

# of a verb marked with an asterisk the last letter is doubled: "planned"
_REGULAR = """
abandon accept access ache achieve add admire adopt affect agree aim allocate allow alternate announce answer appear
apply approve archive argue arrange arrive ask assign assume attach attend audit average avoid await babysit bake ban*
bark base batch bathe believe belong benchmark bill block bloom boil book borrow bother bounce brew brush bump bundle
cache call camp cancel cap* care carry cause celebrate chair change charge chase chat* cheat check claim clash clean
clear click climb clone close coach code collect color combine commit* commute compile complain complete concern
configure confirm connect consider consist contain continue contract control convert cook copy count cover crash crave
creak create cross cry cycle dance date debug* decide declare decline decommission default defer* define delay
delegate delete deliver demand deny depend deploy deprecate describe design detect develop dial die disable discover
discuss dislike ditch divide divorce double doubt download draft drain drift drip* drop* dry dump duplicate earn edit
email emit* employ enable encourage encrypt end enforce enjoy enrol enroll enter escalate escape establish evaluate
exceed exchange exclude execute exist exit expand expect expire explain explore export expose express extend face fail
favor favour feature fetch fill filter finish fix flash flow flush focus follow force fork format* forward foster fry
fuel garden gather generate grade graduate grant grep* grill group guarantee guess guide handle happen harvest hash
hate head heat help hesitate hike hire hope host house hover hunt identify ignore implement import improve include
increase index inform inherit inject insist install instruct intend introduce invest invite invoke involve issue itch
iterate jog* join juggle jump kick kill knit* label lack land last launch leak lean learn lease lecture license like
limit limp link lint list listen live load lock log* look love lower mail maintain manage map* mark marry match matter
measure mention mentor merge migrate mind mirror miss mix mock monitor moult mount move mow mute name need note notice
observe occupy occur* offer open operate optimise optimize orchestrate order organise organize originate own pack page
paginate paint park parse pass patch pause peak perform persist phone pick pin* ping pipe place plan* plant play plug*
point polish poll port post postpone power practice practise pray predict prefer* preheat preload prepare present
preserve prevent print process produce promise prompt propose protect prove provide provision proxy prune publish pull
pump purge purr push query question queue raise range rank rate rattle reach react realise realize rebase receive
reckon recommend record recruit recycle redact redirect reduce refactor refer* refuse register rehearse reject relate
release relocate rely remain remember remind remove rename render renew rent repair repeat replace replicate reply
report request require rerun rescue reserve reside resign resist resolve respect respond restart restore restrict
resume retire retry return reuse review roast roll rotate round route row rust sail sanitize save scale scan* scare
schedule score scrap* scrape screen scroll search seed seem select separate serialize serve settle sew shard share
shift ship* shop* shout sign signal simulate ski skip* slice slow smoke snapshot snore snow solve sort sound source
space spawn specify spill sponsor sprout squash squeak stage stall start state stay step* stink stop* store stream
stress stretch struggle stub study stutter sublet* subscribe sue suffer suggest suit summarise summarize sunset*
supply support suppose surprise survive suspect suspend swap* switch sync tag* talk target taste tax tend test text
thank throttle tick tidy tie time toast toggle total touch trace track trade train transfer* transform translate
transport travel treat trigger trim* trip* truncate trust try tune turn tutor tweak type unify uninstall unmute unpack
unsubscribe update upgrade upload use vacuum validate value vary view visit volunteer vote wait walk wander want warn
wash waste watch water weigh welcome whistle whitelist wire wish wonder work worry wrap* yearn yield zip*
"""
_IRREGULAR = """
arise arose arisen|awake awoke awoken|bear bore born|beat beat beaten|become became become|begin began begun
bend bent bent|bet bet bet|bind bound bound|bite bit bitten|bleed bled bled|blow blew blown|break broke broken
breed bred bred|bring brought brought|build built built|burn burnt burnt|buy bought bought|catch caught caught
choose chose chosen|come came come|cost cost cost|cut cut cut|deal dealt dealt|dig dug dug|draw drew drawn
dream dreamt dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed fed|feel felt felt
fight fought fought|find found found|fit fit fit|fly flew flown|forget forgot forgotten|freeze froze frozen
get got gotten|give gave given|go went gone|grow grew grown|hang hung hung|hear heard heard|hide hid hidden
hit hit hit|hold held held|hurt hurt hurt|keep kept kept|know knew known|lay laid laid|lead led led|leave left left
lend lent lent|let let let|lie lay lain|light lit lit|lose lost lost|make made made|mean meant meant|meet met met
override overrode overridden|oversee oversaw overseen|pay paid paid|put put put|quit quit quit|read read read
rebuild rebuilt rebuilt|reset reset reset|rewrite rewrote rewritten|ride rode ridden|ring rang rung|rise rose risen
run ran run|say said said|see saw seen|sell sold sold|send sent sent|set set set|shake shook shaken|shine shone shone
shoot shot shot|show showed shown|shrink shrank shrunk|shut shut shut|sing sang sung|sink sank sunk|sit sat sat
sleep slept slept|smell smelt smelt|speak spoke spoken|spell spelt spelt|spend spent spent|spin spun spun
split split split|stand stood stood|steal stole stolen|stick stuck stuck|swear swore sworn|sweep swept swept
swim swam swum|swing swung swung|take took taken|teach taught taught|tell told told|think thought thought
throw threw thrown|undergo underwent undergone|understand understood understood|upset upset upset|wake woke woken
wear wore worn|win won won|write wrote written
"""
_REPORT = """
say tell claim mention insist report argue warn announce state promise suggest explain confirm swear note complain write
"""
_BELIEF = "think believe guess reckon assume suspect know remember mean bet suppose realise realize notice figure feel"
_WISH = "want wish hope"

_WORDS: dict[int, str] = {
    SUBJECT: """i we you he she it they this that these those there nobody everybody everyone someone somebody anyone
        nothing everything something who one mine ours none neither both""",
    OBJECT: "me us him them myself ourselves himself herself itself themselves yourself you it",
    ARTICLE | DETERMINER: "a an the",
    DETERMINER: """my our your his her its their this that these those some any no each every both all another many few
        several whose either neither which two three four five six seven eight nine ten eleven twelve""",
    PREPOSITION: """about above across after before against along around as at behind below beneath beside between
        beyond by down during except for from in inside into like near of off on onto opposite out outside over past
        per round since than through throughout till to toward towards under until up upon via with within without""",
    PARTICLE: "up off out over down away back along through around together apart aside",
    JOIN: "and or but so because although though whereas while yet nor plus then",
    UNDER: """if when whenever unless until till before after since once as whether where which who whose that
        supposing assuming provided while how why what""",
    BE: "am is are was were be been being 's 'm 're ain't isn't aren't wasn't weren't isnt arent wasnt werent",
    HAVE: "have has had having 've haven't hasn't hadn't",
    DO: "do does did don't doesn't didn't dont doesnt didnt",
    MODAL: """will would can could may might must shall should ought cannot 'll 'd won't wouldn't can't couldn't mustn't
        shouldn't mightn't shan't needn't wont cant wouldnt couldnt shouldnt i'll""",
    PAST_AUX: "was were had did wasn't weren't hadn't didn't wasnt werent didnt",
    NOT: """not never no nobody none neither isn't aren't wasn't weren't haven't hasn't hadn't don't doesn't didn't
        won't wouldn't can't cannot couldn't mustn't shouldn't mightn't shan't needn't ain't nothing isnt arent wasnt
        werent dont doesnt didnt wont cant wouldnt couldnt shouldnt""",
    ADVERB: """already just recently finally always also really still now currently usually often actually mostly only
        even ever probably basically simply normally sometimes never not all both then too likely maybe perhaps quite
        rather pretty very so almost nearly again first mainly once either exactly roughly about around somehow
        though however well anyway instead lately nowadays meanwhile twice soon""",
    TIME: """now today tonight tomorrow yesterday currently anymore again instead already yet too ago daily weekly
        monthly yearly nowadays lately recently soon someday anyway though either everywhere afterwards then though
        please meanwhile twice thrice temporarily""",
    OPENER: """well yes yeah no ok okay oh btw fyi hey hi hello hmm so and but also then honestly actually sorry right
        please plus anyway look listen nope yep yup thanks note reminder update ah alright now""",
    MARK: ', ; : ( ) [ ] — – … - -- " “ ” „',
    END: ". ! ? \n",
}


def _lemma_forms(lemma: str, *, double: bool) -> tuple[str, str, str]:
    """The third person, the past and the form in ``ing`` of a regular verb."""
    stem = lemma + lemma[-1] if double else lemma
    if lemma.endswith("y") and lemma[-2] not in "aeiou":
        return lemma[:-1] + "ies", lemma[:-1] + "ied", lemma + "ing"
    third = lemma + ("es" if lemma.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")
    if lemma.endswith("ie"):
        return third, lemma + "d", lemma[:-2] + "ying"
    if lemma.endswith("e") and not lemma.endswith("ee"):
        return third, lemma + "d", lemma[:-1] + "ing"
    return third, stem + "ed", stem + "ing"


_DOUBLED = word_set(
    "begin bet cut dig fit forget get hit let put quit reset run set shut sit spin split swim upset win"
)


def _tables() -> tuple[dict[str, int], dict[str, str]]:
    kinds: dict[str, int] = {}
    lemmas: dict[str, str] = {}

    def put(word: str, kind: int, lemma: str) -> None:
        kinds[word] = kinds.get(word, 0) | kind
        lemmas.setdefault(word, lemma)

    irregular = [one.split() for one in _IRREGULAR.replace("\n", "|").split("|") if one]
    for lemma, past, participle in irregular:
        third, regular, ing = _lemma_forms(lemma, double=lemma in _DOUBLED)
        for word, kind in ((lemma, BASE), (past, PAST), (participle, PARTICIPLE), (third, THIRD), (ing, ING)):
            put(word, kind, lemma)
        if lemma in ("burn", "dream", "smell", "spell", "hang", "light", "shine"):
            put(regular, PAST | PARTICIPLE, lemma)
    known = {lemma for lemma, _, _ in irregular}
    for written in _REGULAR.split():
        lemma = written.rstrip("*")
        if lemma in known:
            continue
        third, past, ing = _lemma_forms(lemma, double=written.endswith("*"))
        for word, kind in ((lemma, BASE), (past, PAST | PARTICIPLE), (third, THIRD), (ing, ING)):
            put(word, kind, lemma)
    for word, lemma in (("cancelled", "cancel"), ("travelled", "travel"), ("labelled", "label"), ("got", "get")):
        put(word, PAST | PARTICIPLE, lemma)
    for word, lemma in (("cancelling", "cancel"), ("travelling", "travel"), ("labelling", "label")):
        put(word, ING, lemma)
    for lemma_list, kind in ((_REPORT, REPORT), (_BELIEF, BELIEF), (_WISH, WISH)):
        wanted = frozenset(lemma_list.split())
        for word, lemma in lemmas.items():
            if lemma in wanted:
                kinds[word] |= kind
    for kind, listed in _WORDS.items():
        words = listed.split() if kind != END else [".", "!", "?", "\n"]
        for word in words:
            kinds[word] = kinds.get(word, 0) | kind
    for word, lemma in (("has", "have"), ("had", "have"), ("have", "have"), ("having", "have"), ("'ve", "have")):
        lemmas[word] = lemma
    for word in ("am", "is", "are", "was", "were", "been", "being", "'m", "'re"):
        lemmas[word] = "be"
    for word in ("do", "does", "did", "done", "doing"):
        lemmas[word] = "do"
    kinds |= {"done": PARTICIPLE, "doing": ING}
    return kinds, lemmas


KINDS, LEMMAS = _tables()
"""Each word, lower case, to its classes; each form of a verb to the one that a dictionary lists."""
PLURALS = word_set("people children kids folks men women police mice data criteria team staff family")
"""Words without an ``s`` that a verb in its base form may follow."""
CLOCK_WORDS = word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays week weeks month months year years day days night nights weekend weekends morning mornings evening
    evenings afternoon afternoons spring summer autumn winter fall quarter sprint term semester moment january
    february march april june july august september october november december noon midnight lunch
    """
)
"""Nouns that say when."""
UNITS_OF_TIME = word_set("second seconds minute minutes hour hours day days week weeks month months year years")
"""What time is counted in."""

MAX_WORDS = 120
"""Words of a sentence; a longer one is read in pieces, so that what takes the square of it stays small."""
_REPORTED_WORDS = 5  # so many words after a verb of saying, a quotation is what was said
_LABEL_WORDS = 4  # fewer than so many before a colon are who said it: ``Priya: "…"``

_NOT_PROSE = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|^[ \t]*(?:>|\||\$ )[^\n]*$|^(?: {4}|\t)[^\n]*$", re.DOTALL | re.MULTILINE
)
_MAY_NOT_BE_PROSE = re.compile(r"```|~~~|[>|]|\$ |\n(?: {4}|\t)|\A(?: {4}|\t)")
_TOKEN = re.compile(
    r"`+(?P<code>[^`\n]{1,200})`+"
    r"|[\"“](?P<name>[^\"“”\n.!?]{1,40})[\"”]"
    r"|[\"“](?P<quote>[^\"“”\n]{1,400})[\"”]"
    r"|['’](?:m|s|re|ve|ll|d)(?!\w)"
    # a word: dots, commas and colons within numbers and paths belong to it, and apostrophes within words
    r"|(?:[^\s,;:!?()\[\]{}<>\"“”„…—–`*'’.]++|\.(?=[^\s.!?)\"”'’,;:*`…])|(?<=\d)[,:](?=\d)|:(?=//)"
    r"|['’](?=\w)(?!(?:m|s|re|ve|ll|d)(?!\w))|(?<=s)['’](?=\s\w))+"
    r"|(?P<mark>[.!?]+|[,;:()\[\]—–…\"“”„]|\n)"
)
_NEXT_WORD = re.compile(r"\s*([\w'’.-]+)")
_YEAR_AFTER = re.compile(r",? \d")
_ABBREVIATIONS = word_set("mr mrs ms dr st e.g i.e approx vs prof no nr jr sr inc ca cf fig vol")
_IS_AFTER = word_set("it he she that there here what who where how when this everything nobody everyone let")
_VARIABLE_WORDS = word_set("a may")
_VARIABLE = VERB | BE  # classes that a word has in some places only
_MONTH_AFTER = word_set("in of on since until till by from before after during late early mid next last this")


class Sentence:
    """A sentence, word by word: four lists of the same length."""

    __slots__ = ("asked", "ends", "kinds", "quoted", "starts", "text", "words")

    def __init__(self, text: str, *, quoted: bool = False) -> None:
        self.text = text
        """The whole text."""
        self.words: list[str] = []
        """Lower case, with straight apostrophes; ``'s`` of a verb stands alone, that of an owner does not."""
        self.starts: list[int] = []
        """Offset of each word in the text."""
        self.ends: list[int] = []
        """Offset after it."""
        self.kinds: list[int] = []
        """Its classes: `SUBJECT` and the others of this module."""
        self.asked = False
        """Whether it ends in a question mark."""
        self.quoted = quoted
        """Whether it stands in quotation marks and somebody is said to have said it."""

    def has(self, place: int, *words: str) -> bool:
        """Whether these words stand there."""
        return place >= 0 and self.words[place : place + len(words)] == [*words]

    def is_capital(self, place: int) -> bool:
        """Whether a word begins with a capital."""
        return self.text[self.starts[place]].isupper()

    def is_plain(self, place: int) -> bool:
        """Whether a word is of small letters alone."""
        return self.words[place].isalpha() and self.text[self.starts[place] : self.ends[place]].islower()


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text, in order, without those that hold no word."""
    prose = text
    if _MAY_NOT_BE_PROSE.search(text):
        prose = _NOT_PROSE.sub(lambda match: "\n" * len(match[0]), text)
    yield from _sentences(text, prose, 0, quoted=False)


def _sentences(whole: str, text: str, offset: int, *, quoted: bool) -> Iterator[Sentence]:
    """The sentences of a stretch of the whole text that begins at an offset."""
    now = Sentence(whole, quoted=quoted)
    words, kinds, starts, ends = now.words, now.kinds, now.starts, now.ends
    known = KINDS.get
    quotes: list[tuple[int, int]] = []
    said_at = -_REPORTED_WORDS  # the word at which a verb of saying stood last
    for match in _TOKEN.finditer(text):
        group = match.lastgroup
        start, end = match.span()
        if group is None:
            word = match[0].lower()
            if "’" in word:
                word = word.replace("’", "'")
            kind = known(word, 0)
            if kind:
                if word == "'s" and words and _is_owner(words[-1], kinds[-1], text, end):
                    words[-1] += "'s"
                    ends[-1] = offset + end
                    kinds[-1] = DETERMINER
                    continue
                if words and (kind & _VARIABLE or word in _VARIABLE_WORDS):
                    kind = _kind_there(word, kind, words[-1], kinds[-1], text, start, end)
                if kind & REPORT:
                    said_at = len(words)
            elif word[-1] == "'":
                kind = DETERMINER
        elif group == "mark":
            word, kind = match[0], MARK
            if word[0] in ".!?\n":
                if word == "." and words and _is_short(words[-1]):
                    continue
                kind = END
        elif group == "quote" or (group == "name" and _is_quote(match[0], words, said_at)):
            label = 0 < len(words) < _LABEL_WORDS and words[-1] == ":"
            if label or not words or len(words) - said_at < _REPORTED_WORDS:
                quotes.append(match.span(group))
            said_at = max(said_at, 0) if label else said_at
            word, kind = '"', MARK
        else:
            word, kind = match[group].strip().lower(), 0
            if not word:
                continue
            start = match.start(group) + len(match[group]) - len(match[group].lstrip())
            end = match.start(group) + len(match[group].rstrip())
        if kind == END or len(words) >= MAX_WORDS:
            now.asked = kind == END and "?" in word
            if words:
                yield now
            for first, last in quotes if said_at >= 0 else ():
                yield from _sentences(whole, text[first:last], offset + first, quoted=True)
            now, quotes, said_at = Sentence(whole, quoted=quoted), [], -_REPORTED_WORDS
            words, kinds, starts, ends = now.words, now.kinds, now.starts, now.ends
            if kind == END:
                continue
        words.append(word)
        kinds.append(kind)
        starts.append(offset + start)
        ends.append(offset + end)
    if words:
        yield now
    for first, last in quotes if said_at >= 0 else ():
        yield from _sentences(whole, text[first:last], offset + first, quoted=True)


def _kind_there(word: str, kind: int, before: str, before_kind: int, text: str, start: int, end: int) -> int:
    """The classes of a word that depend on where it stands."""
    if kind & VERB and not kind & AUX and text[start].isupper() and not before_kind & MARK:
        return 0  # a name: "Python and React"
    if word == "a" and text[start] == "A" and not before_kind & MARK:
        return 0  # "16 A", "plan A"
    if word == "am" and before[0].isdigit():
        return 0
    if word == "may" and (
        before in _MONTH_AFTER
        or before[0].isdigit()
        or _YEAR_AFTER.match(text, end)
        or (text[start].isupper() and not text[start : start + 2].isupper() and not before_kind & SUBJECT)
    ):
        return 0
    return kind


def _is_owner(before: str, kind: int, text: str, end: int) -> bool:
    """Whether ``'s`` after a word makes it an owner, and is no ``is``."""
    if before in _IS_AFTER or kind & (MARK | NOT):
        return False
    after = _NEXT_WORD.match(text, end)
    if after is None:
        return False
    word = after[1].lower()
    kind = KINDS.get(word, 0)
    if kind & (DETERMINER | PREPOSITION | NOT) or word[0].isdigit():
        return False
    return not (kind & (PARTICIPLE | ING | ADVERB) and not kind & (BASE | THIRD))


def _is_short(word: str) -> bool:
    """Whether a full stop after a word ends no sentence."""
    return word in _ABBREVIATIONS or (len(word) == 1 and word != "i" and word.isalpha())


def _is_quote(written: str, words: list[str], said_at: int) -> bool:
    """Whether a short stretch in quotation marks is what somebody said, and no name."""
    return written.count(" ") > 1 and (not words or words[-1] in (":", ",") or len(words) - said_at < _REPORTED_WORDS)
