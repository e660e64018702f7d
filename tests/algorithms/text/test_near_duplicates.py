"""Texts that say the same have one fingerprint, and none that says anything else has it."""

from __future__ import annotations

import json
import unicodedata
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.text.near_duplicates import fingerprint, names_a_time
from tests.paths import ROOT

DAY = date(2026, 3, 18)
PAIRS = [json.loads(line) for line in (ROOT / "tests/fixtures/near-duplicates.jsonl").read_text("utf-8").splitlines()]
"""What ought to be folded (``same``), what says the same in other words (``paraphrase``), and near misses
(``different``), some of them found by attacking a rule that knew which words tell nothing."""
GIVEN_UP = {"contraction", "article", "filler", "number form", "order"}
"""Forms of the same that no rule tells from something else."""

WORDS_TEXT = """
deploy the worker Postgres Redis port 5432 10 minutes not never before after Maya we is was tests fail src/a.py foo_bar
userId main ask keep red
"""
WORDS = st.sampled_from(WORDS_TEXT.split())
SENTENCES = st.lists(WORDS, min_size=2, max_size=8).map(" ".join)


def says_the_same(one: str, other: str) -> bool:
    return fingerprint(one, DAY) == fingerprint(other, DAY)


@pytest.mark.parametrize("held", [False, True])
def test_no_near_miss_is_taken_for_the_same(held: bool) -> None:
    pairs = [one for one in PAIRS if one["held"] is held]
    told = {label: [one for one in pairs if one["label"] == label] for label in ("same", "different", "paraphrase")}
    assert min(len(told["same"]), len(told["different"])) >= 30
    assert [one for one in told["different"] if says_the_same(one["a"], one["b"])] == []
    assert [one for one in told["paraphrase"] if says_the_same(one["a"], one["b"])] == []
    found = {one["why"] for one in told["same"] if says_the_same(one["a"], one["b"])}
    assert {"identical", "unicode form"} <= found
    assert found.isdisjoint(GIVEN_UP)


def test_texts_of_different_pairs_are_the_same_only_where_their_words_are() -> None:
    texts = sorted({text for one in PAIRS for text in (one["a"], one["b"])})
    groups: dict[bytes, set[str]] = {}
    for text in texts:
        groups.setdefault(fingerprint(text, DAY), set()).add(text)
    apart = {(one["a"], one["b"]) for one in PAIRS if one["label"] != "same"}
    assert [group for group in groups.values() for a, b in apart if {a, b} <= group] == []


@given(SENTENCES)
def test_how_a_sentence_is_set_tells_nothing(sentence: str) -> None:
    assert says_the_same(sentence, f"  {sentence.replace(' ', chr(160), 1)}.\n")
    assert says_the_same(sentence, unicodedata.normalize("NFD", sentence))
    if sentence.split()[0].isalpha() and sentence.split()[0].islower():
        assert says_the_same(sentence, sentence[0].upper() + sentence[1:])


@given(SENTENCES, st.data())
def test_one_word_more_less_or_other_is_something_else(sentence: str, data: st.DataObject) -> None:
    words = sentence.split()
    place = data.draw(st.integers(0, len(words) - 1))
    word = data.draw(WORDS.filter(lambda word: word != words[place]))
    rest = [*words[:place], *words[place + 1 :]]
    for other in (rest, [*rest[:place], word, *rest[place:]], [*words[:place], word, *words[place:]]):
        assert not says_the_same(sentence, " ".join(other))


@given(st.text(), st.text(st.sampled_from("ab,.?!\n \t-'\ud800Ă’5%"), max_size=30))
def test_any_text_has_one(text: str, odd: str) -> None:
    for one in (text, odd):
        assert len(fingerprint(one, DAY)) == 16
        assert says_the_same(one, one)


@pytest.mark.parametrize("text", ["?", ".", "...", "the", "please", "Thanks!", "\ud800", '""', "’"])
def test_a_text_of_little_is_not_the_same_as_another_such(text: str) -> None:
    assert not any(says_the_same(text, other) for other in ["ok", "no", "run it", "??", "thank you", "a", "", " "])


@pytest.mark.parametrize(
    "text",
    [
        "see you tomorrow",
        "the site is down now",
        "We meet on Friday",
        "Deadline is Fri",
        "back in 2 days",
        "2 weeks later",
        "it is due on the 5th",
        "Meeting on 12/05",
        "we sail in May",
        "Wir deployen morgen",
        "demain on livre",
        "Nos vemos el miércoles",
        "明天上线",
    ],
)
def test_what_hangs_on_the_day_is_something_else_on_another_day(text: str) -> None:
    assert names_a_time(text)
    assert fingerprint(text, DAY) == fingerprint(f" {text}", DAY) != fingerprint(text, DAY + timedelta(days=7))


@pytest.mark.parametrize("text", ["The gate code is 4411", "Wir nutzen Postgres", "use ruff for linting"])
def test_what_holds_on_any_day_is_the_same_on_each(text: str) -> None:
    assert fingerprint(text, DAY) == fingerprint(text, DAY + timedelta(days=400))


def test_code_and_very_long_texts_are_the_same_as_their_equals_alone() -> None:
    code = "if ready:\n    start()\nstop()"
    assert says_the_same(code, f"{code}\n")
    assert not says_the_same(code, "if ready:\n    start()\n    stop()")
    assert not says_the_same(code, code.capitalize())
    long = "We deploy from main and say so. " * 1000
    assert says_the_same(long, long)
    assert not says_the_same(long, long.strip())
