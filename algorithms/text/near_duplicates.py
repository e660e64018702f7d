"""Tells by a fingerprint which texts say the same: near-duplicates that differ in nothing but how they are set.

Above stands `mnemic.actors.index.folding`, which folds the hits of a recall. Two texts say the same where they are
equal letter for letter, but for Unicode's forms of a letter (composed or not, full width), quotation marks straight or
curly, white space within lines, a full stop at the end, and the capital at the beginning. Where a text names a time, in
any language that is known here, it says the same only on the same day.

So nothing folds because it is alike. Shingles and their resemblance (Broder 1997, "On the resemblance and containment
of documents") and the cosine of embeddings put "port 5432" next to "port 5433"; and of rules for what tells nothing
(articles, greetings, commas, the place of a clause, contractions, number words, capitals) each was found to hide a
different fact: "the password is Hunter", "We stop, if it fails restart", "She's paid for it", "ports 80,443". It is an
equivalence, so groups depend neither on order nor on chance. Measured on labelled pairs
(``tests/fixtures/near-duplicates.jsonl``; docs/decisions/0013-recall.md).
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from hashlib import blake2b

from mnemic.algorithms.text.languages.table import WITH_SPACES
from mnemic.algorithms.text.terms import has_no_spaces, split_words, stop_words

_MOST_CHARS = 1 << 14  # a longer text says the same as its equal alone
_FORMS = str.maketrans("’‘ʼ“”„«»\u00a0\u202f", '\'\'\'"""""  ') | {
    code: code - 0xFEE0  # of full width
    for code in range(0xFF01, 0xFF5F)
}
_BLANKS = re.compile(r"(?<=\S)[ \t]+")
"""White space inside a line; at its beginning it may mean something, in code."""
_FULL_STOP = re.compile(r"(?<=[^\W_])\.$")
_FIRST_WORD = re.compile(r"[^\W\d_]+(?=[\s,;:]|$)")
_DATE = re.compile(r"\d(?:st|nd|rd|th)\b|\b\d{1,2}[./-]\d{1,2}\b")
_TIME_TEXT = """
now currently later next soon ago today tonight tomorrow morning noon afternoon evening night weekend mon tue tues wed
weds thu thur thurs fri sat sun jetzt nun bald nächste nächsten nächster kommende kommenden heute morgen abend nacht
mittag ahora luego
pronto próximo próxima hoy mañana tarde noche agora logo breve próximo próxima hoje amanhã manhã noite depois maintenant
bientôt prochain prochaine aujourd hui demain matin soir nuit midi
"""


def _time_words() -> frozenset[str]:
    found = set(split_words(_TIME_TEXT))
    for language in WITH_SPACES:
        if (dates := language.dates) is not None:
            named = [*dates.months, *dates.weekdays, *dates.units, *dates.spans]
            found |= {word for text in named for word in split_words(text)}
            found |= {word for text in dates.days_back for word in split_words(text)} - stop_words(language)
    return frozenset(found)


_TIME = _time_words()
"""Words that mean something else where they are said on another day, without their accents."""


def fingerprint(text: str, said_on: date) -> bytes:
    """16 bytes that are equal for texts that say the same.

    Args:
        said_on: the day: "tomorrow" is another one each day.
    """
    said = plain_form(text)
    if names_a_time(said):
        said = f"{said_on.isoformat()} {said}"
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def plain_form(text: str) -> str:
    """A text as all have it that are set in another way."""
    if len(text) > _MOST_CHARS:
        return text
    plain = unicodedata.normalize("NFC", text).translate(_FORMS).strip()
    plain = "\n".join(_BLANKS.sub(" ", line).rstrip() for line in plain.split("\n"))
    first = _FIRST_WORD.match(plain)
    if first and first[0][1:] == first[0][1:].lower() and "\n" not in plain:
        plain = plain[0].lower() + plain[1:]
    return _FULL_STOP.sub("", plain)


def names_a_time(text: str) -> bool:
    """Whether what a text says may hang on the day: always where no spaces tell its words."""
    start = text[:_MOST_CHARS]
    return has_no_spaces(start) or bool(_DATE.search(start)) or not _TIME.isdisjoint(split_words(start))
