"""Names topics by key phrases: what many of a topic's texts say and the other topics' do not.

The weight is class-based TF-IDF (Grootendorst 2022, BERTopic: Neural topic modeling with a class-based TF-IDF
procedure) with texts counted in the place of occurrences: the share of a topic's texts that say the phrase, times
``log(1 + a / f)``, where `a` is how many texts a topic has on average and `f` how many texts of all topics say it. So a
phrase that several texts say stands before one that one text repeats, and what all topics say comes last. Candidates
are those of `mnemic.algorithms.text.keyphrases`, and the single words of these; as there, two words count half as much
again as one, here from the second text on.

What it gives up: synonyms are not joined, and what is not English is only named as well as its stop words are known
(`ignored`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from mnemic.algorithms.text.keyphrases import key_phrases

_OF_A_TEXT = 16  # more than a paragraph has
_LEAST_LETTERS = 4  # of a word alone: a shorter one said in passing cannot be told from one that matters
_LENGTH_BONUS = 1.5


def topic_phrases(topics: Sequence[Sequence[str]], most: int, ignored: Collection[str] = ()) -> list[tuple[str, ...]]:
    """Name each of some topics by at most so many phrases of one or two words, lower case, the most telling first.

    No two phrases of a topic share a word. The same texts give the same phrases, in whatever order they come.

    Args:
        topics: of each the texts that tell what it is about.
        ignored: words, lower case, that are no topic's: names of speakers, stop words of other languages.
    """
    counts = [Counter(phrase for text in texts for phrase in _said(text, ignored)) for texts in topics]
    everywhere: Counter[str] = Counter()
    for count in counts:
        everywhere.update(count)
    average = sum(map(len, topics)) / max(1, len(topics))
    named = []
    for texts, count in zip(topics, counts, strict=True):
        weights = {phrase: _weight(phrase, said, everywhere[phrase], average) for phrase, said in count.items()}
        ranked = sorted(weights, key=lambda phrase: (-weights[phrase] / len(texts), -phrase.count(" "), phrase))
        named.append(_without_repeats(ranked, most))
    return named


def _said(text: str, ignored: Collection[str]) -> set[str]:
    """The phrases of a text and their words, each once."""
    found = set()
    for phrase in key_phrases(text, _OF_A_TEXT):
        words = [word for word in dict.fromkeys(phrase.split()) if word not in ignored]
        if words:
            found.add(" ".join(words))
            found.update(word for word in words if len(word) >= _LEAST_LETTERS)
    return found


def _weight(phrase: str, said: int, everywhere: int, average: float) -> float:
    bonus = _LENGTH_BONUS if said > 1 and " " in phrase else 1.0
    return bonus * said * math.log1p(average / everywhere)


def _without_repeats(ranked: Sequence[str], most: int) -> tuple[str, ...]:
    chosen: list[str] = []
    words: set[str] = set()
    for phrase in ranked:
        if len(chosen) >= most:
            break
        if words.isdisjoint(phrase.split()):
            chosen.append(phrase)
            words.update(phrase.split())
    return tuple(chosen)
