"""Clauses are what a text asserts, whole, in order, each with what parts it from the next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.text.clauses import Clause, clauses


def asserted(text: str) -> list[str]:
    return [" ".join(one.words) for one in clauses(text) if one.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We use vim, and Anna uses nano.", ["We use vim", "Anna uses nano"]),
        ("I like it because it works", ["I like it", "it works"]),
        ("I hope that it works, the build is green", ["I hope", "the build is green"]),
        ("It fails if a is b and c is d", ["It fails"]),
        ("It costs 12,000 euros: a lot", ["It costs 12,000 euros", "a lot"]),
        ("See calendar.py:18 and https://a.example/b?c=1.", ["See calendar.py:18", "https://a.example/b?c=1"]),
        ("**Read** [the page](https://a.example) at <https://b.example>", ["Read the page at https://b.example"]),
        ("I don't. I can’t. It isn't.", ["I do not", "I can not", "It is not"]),
        ("> quoted\n    code\n$ ls\n- said", ["said"]),
        ("Does it? If it does, run. It does.", ["It does"]),
        ("", []),
    ],
)
def test_what_is_asserted_is_found(text: str, expected: list[str]) -> None:
    assert asserted(text) == expected


def test_a_clause_knows_what_parts_it_from_the_next() -> None:
    assert list(clauses("We use vim that starts, so it works.")) == [
        Clause(("We", "use", "vim"), "that"),
        Clause((), "so"),
        Clause(("it", "works"), ""),
    ]


@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_of_any_text_clauses_are_words(text: str) -> None:
    for one in clauses(text):
        assert all(word and not word.isspace() for word in one.words)


def test_a_run_of_blanks_is_one_blank() -> None:
    words = [one.words for one in clauses("We use a" + " \t" * 4_000 + "crane for the port.")]
    assert words == [("We", "use", "a", "crane", "for", "the", "port")]
