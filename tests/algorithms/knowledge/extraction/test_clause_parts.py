"""A sentence falls into parts at its joints, and what stands around a word tells whether it is the verb of one."""

from __future__ import annotations

import pytest

from mnemic.algorithms.knowledge.extraction.clause_parts import find_verb, is_adverb, parts
from mnemic.algorithms.knowledge.extraction.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it runs and it stops", [" it runs", "and it stops"]),
        ("It is 43 and a half", [" it is 43 and a half"]),
        ("between 8 and 10", [" between 8 and 10"]),
        ("we stay until the flat is ready", [" we stay", "until the flat is ready"]),
        ("we stay until Monday", [" we stay until monday"]),
        ("ever since May the box runs", [" ever since may the box runs"]),
        ("Tom says that it rains", [" tom says", "that it rains"]),
        ("a balcony that faces south", [" a balcony that faces south"]),
        ("what if it rains", ["what if it rains"]),
        ("the cat, which sleeps, eats", [" the cat", "which sleeps", " eats"]),
        ("so the gateway talks", ["so the gateway talks"]),
        ("it is so slow", [" it is so slow"]),
        (", ;", []),
    ],
)
def test_a_sentence_falls_into_parts_at_its_joints(text: str, expected: list[str]) -> None:
    found = [one for sentence in sentences(text) for one in parts(sentence)]
    words = next(iter(sentences(text))).words
    assert [f"{one.link} {' '.join(words[one.start : one.end])}" for one in found] == expected


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("My build takes 11 minutes", "takes"),
        ("The test runs take an hour", "take"),
        ("The tests run on CI", "run"),
        ("Support no longer answers letters", "answers"),
        ("The box rented by Ann is red", "is"),
        ("The flat we rent has three rooms", "has"),
        ("The box that runs CI has a fan", "has"),
        ("In the release notes it says so", "says"),
        ("Version 3 drops support for it", "drops"),
        ("I quuxed the box", "quuxed"),
        ("My cat quuxes the box", "quuxes"),
        ("the red box in the shed", ""),
    ],
)
def test_the_verb_is_found_among_nouns_that_look_like_verbs(text: str, verb: str) -> None:
    one = next(sentences(text))
    place = find_verb(one, 0, len(one.words))
    assert (one.words[place] if place >= 0 else "") == verb


def test_a_verb_may_agree_with_two_that_are_joined() -> None:
    one = next(sentences("Ben live next door"))
    assert find_verb(one, 0, 4) == -1
    assert find_verb(one, 0, 4, joined=True) == 1


@pytest.mark.parametrize(
    ("word", "expected"), [("quickly", True), ("family", False), ("read-only", False), ("fly", False)]
)
def test_an_adverb_is_told_by_its_end(word: str, expected: bool) -> None:
    assert is_adverb(word, 0) is expected
