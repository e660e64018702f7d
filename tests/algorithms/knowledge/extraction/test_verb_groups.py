"""A group of verbs is read as the verb that carries the sense, and how it is said."""

from __future__ import annotations

import pytest

from mnemic.algorithms.knowledge.extraction import verb_groups
from mnemic.algorithms.knowledge.extraction.sentences import sentences
from mnemic.algorithms.knowledge.extraction.verb_groups import read_group

NAMES = (
    *("WILL", "WOULD", "COULD", "MIGHT", "SHOULD", "MUST", "OBLIGED", "WANTED", "DENIED", "NO_LONGER", "STOPPED"),
    *("WAS", "USED_TO", "PERFECT", "PASSIVE", "GOING"),
)


@pytest.mark.parametrize(
    ("text", "lemma", "flags", "rest"),
    [
        ("I use vim", "use", "", "vim"),
        ("I used vim", "use", "WAS", "vim"),
        ("I am here", "be", "", "here"),
        ("I'm using vim", "use", "GOING", "vim"),
        ("I was called Bo", "call", "WAS PASSIVE", "bo"),
        ("I've got a dog", "have", "PERFECT", "a dog"),
        ("I have had it", "have", "PERFECT", "it"),
        ("I'd seen it", "see", "WAS", "it"),
        ("I don't really use it", "use", "DENIED", "it"),
        ("I will not have it", "have", "WILL DENIED", "it"),
        ("I'm going to use it", "use", "WILL", "it"),
        ("I'm about to leave it", "leave", "WILL", "it"),
        ("I plan to use it", "use", "WILL", "it"),
        ("I want to use it", "use", "WANTED", "it"),
        ("I'd like to use it", "use", "WOULD WANTED", "it"),
        ("I'd rather use it", "use", "WOULD WANTED", "it"),
        ("I ought to use it", "use", "SHOULD", "it"),
        ("I have to use it", "use", "OBLIGED", "it"),
        ("I might use it", "use", "MIGHT", "it"),
        ("I used to use it", "use", "WAS USED_TO", "it"),
        ("I stopped using it", "use", "STOPPED WAS", "it"),
        ("I quit smoking", "quit", "STOPPED", "smoking"),
        ("I keep using it", "use", "", "it"),
        ("I'm thinking of buying it", "buy", "MIGHT GOING", "it"),
        ("I got married in May", "marry", "WAS PASSIVE", "in may"),
        ("I could have been there", "be", "COULD", "there"),
    ],
)
def test_the_verb_that_carries_the_sense_is_found(text: str, lemma: str, flags: str, rest: str) -> None:
    one = next(sentences(text))
    group = read_group(one, 1, len(one.words))
    assert group.lemma == lemma
    assert " ".join(one.words[group.end :]) == rest
    assert [name for name in NAMES if group.flags & getattr(verb_groups, name)] == flags.split()


def test_a_group_gains_flags() -> None:
    one = next(sentences("I use vim"))
    assert read_group(one, 1, 3).adds(verb_groups.DENIED).flags == verb_groups.DENIED
