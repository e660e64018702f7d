"""A digest stays in its budget, covers what is said again and again, and is the same in whatever order hashes come."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.sleep.digest import LEAST_TERMS, Sentence, covering_sentences, digest_sentences

_TALK = [
    "The booking API listens on port 8443 in production. Lukas reviews every change to it.",
    "I fixed the booking API today, the port was wrong. The weather is lovely over here.",
    "Lukas reviews the booking API on Thursdays, before we deploy it to production.",
]
_SENTENCES = st.lists(
    st.builds(
        lambda size, terms, stands: Sentence(0, 0, size, frozenset(terms), stands),
        st.integers(20, 300),
        st.frozensets(st.sampled_from("abcdefghij"), max_size=8),
        st.booleans(),
    ),
    max_size=7,
)


def test_what_is_said_once_in_passing_is_not_in_a_digest() -> None:
    sentences = digest_sentences(_TALK)
    told = [_TALK[one.text].encode()[one.start : one.stop].decode() for one in _chosen(sentences, 250)]
    assert "Lukas reviews the booking API on Thursdays, before we deploy it to production." in told
    assert not any("weather" in one for one in told)


def test_a_sentence_that_says_little_is_in_no_digest() -> None:
    more = [
        "Three things stand out.",
        "Should Lukas review the booking API before we deploy it to production?",
        "It makes Lukas review the booking API before we deploy it to production.",
    ]
    sentences = digest_sentences([*_TALK, *more])
    assert [one.stands for one in sentences[-3:]] == [False] * 3
    chosen = _chosen(sentences, 10_000)
    assert chosen
    assert all(len(one.terms) >= LEAST_TERMS and one.stands for one in chosen)


def test_equal_sentences_count_once() -> None:
    assert len(digest_sentences(["The same sentence, once more."] * 3)) == 1


def test_nothing_gives_nothing() -> None:
    assert covering_sentences([], 1000) == []
    assert covering_sentences(digest_sentences(["A single sentence that nothing repeats."]), 1000) == []


def test_a_sentence_is_found_by_its_bytes() -> None:
    text = "Grüße aus Köln, sagt Žofia. Die Grüße kommen von Herzen, sagt sie."
    for one in digest_sentences([text]):
        assert text.encode()[one.start : one.stop].decode() in text


@given(_SENTENCES, st.integers(0, 1500))
def test_it_stays_in_its_budget_and_each_adds_something(sentences: list[Sentence], budget: int) -> None:
    chosen = covering_sentences(sentences, budget)
    assert sum(sentences[place].cost_bytes for place in chosen) <= budget
    covered: set[str] = set()
    for place in chosen:
        assert not sentences[place].terms <= covered
        covered |= sentences[place].terms


@given(_SENTENCES)
def test_the_lazy_choice_is_the_greedy_one(sentences: list[Sentence]) -> None:
    budget = 10_000  # room for all: what fits depends on what came before
    assert covering_sentences(sentences, budget) == _greedy(sentences)


def _chosen(sentences: list[Sentence], budget: int) -> list[Sentence]:
    return [sentences[place] for place in covering_sentences(sentences, budget)]


def _greedy(sentences: list[Sentence]) -> list[int]:
    """The same by looking at all of them at each step."""
    holding = {term: sum(term in one.terms for one in sentences) for term in set().union(*(s.terms for s in sentences))}
    weights = {t: (n - 1) * math.log1p(len(sentences) / n) for t, n in holding.items() if n > 1}
    covered: set[str] = set()
    chosen: list[int] = []
    for _ in itertools.repeat(None, len(sentences)):
        gains = [
            (-math.fsum(weights[t] for t in sorted(one.terms - covered) if t in weights) / one.cost_bytes**0.7, place)
            for place, one in enumerate(sentences)
            if place not in chosen and one.stands
        ]
        best, place = min(gains, default=(0.0, 0))
        if best >= 0:
            break
        chosen.append(place)
        covered |= sentences[place].terms
    return chosen
