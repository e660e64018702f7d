"""Finds what an English text names: persons, projects, services, tools, files, places, by rules without a model.

Precision goes before recall. Names are told by their capitals, their marks or their shape (``Nadia Keller``,
``session_ttl``, ``src/auth/login.py``), by the noun beside them (``a service called ledger``), and a closed list of
nouns is read after ``my``, ``our`` and ``the`` (``our staging server``). At the start of a sentence, where each word
has a capital, one counts only where more than the capital tells that it is a name. Nothing is resolved: ``she`` is no
mention, nor is ``her sister``.

Of 60 mentions read by hand, a third each from a developer's conversation, from short statements about people and
projects and from LoCoMo without the names of who speaks, 58 named something in particular (the others: a button's
label, and a verb before a language), and the kind was right wherever it was told. Of the subjects of 2,466 labelled
statements that are written with a capital it finds 93 %, of 4,015 that are not (``moss needs Python 3.9``) 29 %: a
project with the name of a plain noun is found only where the text says so. Half of the persons are a ``thing`` in one
text alone; other texts tell more.

Above it stands whoever keeps the entities of a mind, with the keys of `mnemic.algorithms.knowledge.entities.keys` and
the links of `mnemic.algorithms.knowledge.entities.aliases`; below it `mnemic.algorithms.knowledge.entities.name_kinds`,
`mnemic.algorithms.knowledge.entities.names`, `mnemic.algorithms.knowledge.entities.nouns` and the sentences of
`mnemic.algorithms.knowledge.extraction.sentences`, without fenced code and quoted lines.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from mnemic.algorithms.knowledge.entities.name_kinds import kind_after, kind_before, kind_of
from mnemic.algorithms.knowledge.entities.names import (
    FUNCTION,
    MAX_NAME_WORDS,
    TITLES,
    bare,
    bare_end,
    is_at_start,
    is_name,
    is_ordinary,
    is_told,
    name_end,
)
from mnemic.algorithms.knowledge.entities.nouns import (
    CAPITAL_TOOLS,
    CLASS_NOUNS,
    DEFINITE_HEADS,
    EXTENSIONS,
    FOLDERS,
    HEADS,
    KIN_NAMES,
    ORDINARY,
    TOOLS,
    Kind,
)
from mnemic.algorithms.knowledge.extraction.sentences import (
    DETERMINER,
    MARK,
    PARTICIPLE,
    PAST,
    THIRD,
    Sentence,
    sentences,
    word_set,
)
from mnemic.algorithms.text.keyphrases import LOW_CONTENT_WORDS, STOP_WORDS

MAX_CHARS = 8_000
"""Characters of a text that are looked at."""


class Mention(NamedTuple):
    """One place where a text names something."""

    name: str
    """As it is written, without article, possessive or marks."""
    start: int
    """Offset of the name in the text; `name` is what stands there."""
    end: int
    """Offset after it."""
    kind: Kind
    """What the words tell it is; ``thing`` where they tell nothing."""


_AFTER_NOUN = FUNCTION | MARK | THIRD | PAST | PARTICIPLE
_NOUN_FOLLOWS = word_set("my our the called named") | TOOLS | KIN_NAMES
_SKIPPED = word_set("own new current present existing whole entire")  # "our new server"
_OF_PERSONS = word_set("best big little younger older elder")  # "my little sister"
_OF_OTHERS = LOW_CONTENT_WORDS | STOP_WORDS | word_set("favourite favorite former previous second")  # "my last job"
_FILE = re.compile(r"(?=[^.]*[A-Za-z_]|\.)[\w.@+-]*\.([A-Za-z]\w{0,9})")
_PATH = re.compile(r"(?:~|\.{1,2})?/?(?:[\w.@+-]+/)*[\w.@+-]+/?")
_IDENTIFIER = re.compile(r"_*[A-Za-z][^\W_]*_\w+|[A-Z][A-Z\d]*-\d+")
_CODE = re.compile(r"((?=_*[A-Za-z])\w[\w.-]+|--?[a-z][\w-]*)(?:\(.*\)|=\S+)?")
_VERSION = re.compile(r"v?\d{1,3}(?:\.\d++)+\w*|v\d{1,3}|\d{1,3}")
_SERVICE_PARTS = word_set("api app cli db bot daemon gateway lib proxy queue repo sdk server service ui web worker")


def mentions(text: str) -> list[Mention]:
    """What a text names, in order, each time it does; takes about a hundred microseconds for a turn.

    One name has one kind in a text: the first that its words tell anywhere. No two mentions overlap.
    """
    finder = _Finder(text[:MAX_CHARS])
    for sentence in sentences(finder.text):
        finder.read(sentence)
    return finder.found()


class _Finder:
    """The mentions of one text, sentence by sentence."""

    __slots__ = ("_doubtful", "_found", "_kinds", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: list[Mention] = []
        self._doubtful: list[Mention] = []  # at the start of a sentence, where the capital tells nothing
        self._kinds: dict[str, Kind] = {}

    def read(self, sentence: Sentence) -> None:
        """Find what a sentence names."""
        text, words, kinds, ends = self.text, sentence.words, sentence.kinds, sentence.ends
        skip = 0
        for place, start in enumerate(sentence.starts):
            word = words[place]
            if place < skip or kinds[place] & MARK:
                continue
            written = text[start : ends[place]]
            if written == word and word.isalpha():
                if word in _NOUN_FOLLOWS:
                    skip = self._noun(sentence, place)
            elif start and text[start - 1] in '`"“':
                self._marked(sentence, place, written, text[start - 1])
            elif not self._shaped(written, start) and written != word:
                skip = self._name(sentence, place)

    def found(self) -> list[Mention]:
        """All mentions in order."""
        named = {one.name.lower() for one in self._found} if self._doubtful else set()
        named |= {one.partition(" ")[0] for one in named}
        text = self.text
        for one in self._doubtful:
            low = one.name.lower()
            if low in named and f" {low} " not in text:
                self._found.append(one)
        kinds = self._kinds
        for name in [name for name, kind in kinds.items() if kind == "person" and " " in name]:
            kinds.setdefault(name.partition(" ")[0], "person")
        self._found.sort(key=_start)
        return [
            one if one.kind != "thing" else one._replace(kind=kinds.get(one.name.lower(), "thing"))
            for one in self._found
        ]

    def _add(self, start: int, end: int, kind: Kind) -> None:
        name = self.text[start:end]
        if kind != "thing":
            self._kinds.setdefault(name.lower(), kind)
        self._found.append(Mention(name, start, end, kind))

    def _marked(self, sentence: Sentence, place: int, written: str, mark: str) -> None:
        """A name in code marks or quotation marks."""
        start = sentence.starts[place]
        called = place > 0 and sentence.words[place - 1] in ("called", "named")
        if mark != "`":
            parts = written.split()
            titled = written[:1].isupper() and all(part[0].isupper() or len(part) < 5 for part in parts)
            if called or (titled and (len(parts) > 2 or not all(part.lower() in ORDINARY for part in parts))):
                article = len(parts[0]) + 1 if len(parts) > 1 and parts[0].lower() in ("a", "an", "the") else 0
                self._add(start + article, start + len(written), kind_before(sentence, place))
        elif not self._shaped(written, start, coded=True) and (match := _CODE.fullmatch(written)):
            low = match[1].lower()
            kind: Kind = "tool" if low in TOOLS else kind_before(sentence, place)
            if kind == "thing":
                kind = kind_after(sentence, place + 1)
            self._add(start, start + match.end(1), kind)

    def _shaped(self, written: str, start: int, *, coded: bool = False) -> bool:
        """Whether what is written has the shape of a path, a file's name, an identifier, or of no name at all."""
        if written.isalpha():
            return False
        if written.endswith(("'s", "’s")):
            written = written[:-2]
        if "://" in written or "@" in written[1:] or "\\" in written:
            return True
        kind: Kind = "thing"
        if "/" in written:
            if not _PATH.fullmatch(written) or not any(map(str.isalpha, written)):
                return True
            head, _, tail = written.strip("/").rpartition("/")
            named = _FILE.fullmatch(tail)
            if (
                not (written[0] in "/~." or coded or head.count("/") or head in FOLDERS)
                and not (named and named[1] in EXTENSIONS)
            ) or (head.isupper() or not head):
                return True  # "and/or", "TCP/IP"
            kind = "file"
        elif (match := _FILE.fullmatch(written)) and match[1].lower() in EXTENSIONS:
            is_tool = match[1] == "js" and written[0].isupper()  # "Node.js"
            kind = "tool" if is_tool else "file"
        elif "-" in written and (part := written.rpartition("-")[2]) in _SERVICE_PARTS:
            kind = CLASS_NOUNS.get(part, "service")
        elif not _IDENTIFIER.fullmatch(written):
            return False
        self._add(start, start + len(written), kind)
        return True

    def _name(self, sentence: Sentence, place: int) -> int:
        """Read the name with capitals that may begin at a place; where to go on."""
        words, starts = sentence.words, sentence.starts
        at_start = is_at_start(sentence, place)
        if words[place] in _NOUN_FOLLOWS and words[place] not in TOOLS:
            return self._noun(sentence, place)
        if (at_start and is_ordinary(sentence, place)) or not is_name(sentence, place):
            return place + 1
        end = name_end(sentence, place)
        first = place
        if end - place > 1 and (words[place] in TITLES or (at_start and CLASS_NOUNS.get(words[place]) == "person")):
            first += 1
        kind = "person" if first > place else kind_of(sentence, first, end)
        if end - place > 1 and words[place] == "project":
            first, kind = place + 1, "project"
        low = bare(words[end - 1])
        last = bare_end(sentence, end - 1)
        if end - place == 1:
            if len(low) < 2 or low in HEADS or low[1] == "-" or (low[1] == "." and len(low) == 3):
                return place + 1  # "X-ray", "J.K"
            if low in CAPITAL_TOOLS:
                kind = "tool"
        if kind in ("tool", "thing") and end < len(words) and starts[end] - last == 1:
            match = _VERSION.fullmatch(words[end])
            if match and (kind == "tool" or "." in words[end]):
                last, end = sentence.ends[end], end + 1
        if at_start and end - place == 1 and kind != "tool" and not is_told(sentence, place, kind):
            self._doubtful.append(Mention(self.text[starts[first] : last], starts[first], last, kind))
        else:
            self._add(starts[first], last, kind)
        return end

    def _noun(self, sentence: Sentence, place: int) -> int:
        """Read what ``my``, ``our``, ``the``, ``called`` or a tool's name begins at a place; where to go on."""
        words, kinds, starts, ends = sentence.words, sentence.kinds, sentence.starts, sentence.ends
        word, after = words[place], place + 1
        if word in ("called", "named"):
            kind = kind_before(sentence, after)
            named = after < len(words) and not kinds[after] and words[after].isalpha() and sentence.is_plain(after)
            if kind == "thing" or not named or words[after] in ORDINARY or words[place - 1] not in CLASS_NOUNS:
                return after
            self._add(starts[after], ends[after], kind)
            return after + 1
        if word in KIN_NAMES:
            if not (place and kinds[place - 1] & DETERMINER):
                self._add(starts[place], ends[place], "person")
            return after
        if word in TOOLS:
            if after < len(words) and starts[after] - ends[place] == 1 and _VERSION.fullmatch(words[after]):
                self._add(starts[place], ends[after], "tool")
                return after + 1
            self._add(starts[place], ends[place], "tool")
            return after
        return self._role(sentence, after, definite=word == "the")

    def _role(self, sentence: Sentence, first: int, *, definite: bool) -> int:
        """Read what ``the``, ``my`` or ``our`` before a place is said of; where to go on."""
        words, kinds = sentence.words, sentence.kinds
        while first < len(words) and words[first] in _SKIPPED:
            first += 1
        end = first
        while end < min(first + MAX_NAME_WORDS, len(words)):
            word, kind = words[end], kinds[end]
            if kind & MARK or (kind & _AFTER_NOUN and end > first and not word.endswith("'s")):
                break
            is_owner = bare(word) != word
            if sentence.is_capital(end) and bare(word) not in HEADS and is_name(sentence, end):
                break  # "our designer Nadia"
            if kind & FUNCTION and not is_owner:
                return first
            end += 1
            if is_owner:
                break
        if end == first:
            return first
        head = bare(words[end - 1])
        if definite and head not in DEFINITE_HEADS and not (head == "team" and end - first > 1):
            return first
        told = HEADS.get(head)
        refused = [word for word in words[first : end - 1] if word in _OF_OTHERS or word.isdigit()]
        if told is None or any(told != "person" or word not in _OF_PERSONS for word in refused):
            return first
        self._add(sentence.starts[first], bare_end(sentence, end - 1), told)
        return end


def _start(mention: Mention) -> int:
    return mention.start
