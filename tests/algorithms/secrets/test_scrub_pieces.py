"""Whatever finds the secrets: scrubbing twice is scrubbing once, marks stay, and the work grows with the text alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.algorithms.secrets.rules import REDACTION_MARK
from mnemic.algorithms.secrets.scrub import Finding, merge_overlapping, redaction_mark, scrub_pieces, split_at_marks

ROUNDS = 11
Find = Callable[[bytes], list[Finding]]

PATTERNS = [
    *(rb"\bab", rb"a+", rb"^.", rb".$", rb"(?m)^\S+", rb"b(?=a)", rb"(?<!a)b", rb"\B\w", rb"[^ ]b", rb"\]?secret"),
    *(rb"a[^\n]*b", rb"\n", rb"\[", rb"\W\w", rb"x: [a-z]*", rb"]", rb"(?s).{7}"),
]
TEXTS = st.lists(
    st.sampled_from(
        [b"a", b"b", b"ab", b" ", b"\n", b"[secret: x]", b"[secret: ", b"[secret", b"x", b"]", b"[", b"\xc3"]
    ),
    max_size=30,
).map(b"".join)


def finder(*patterns: bytes) -> Find:
    """Takes every match of some expressions for a secret, each expression a type."""
    compiled = [re.compile(pattern) for pattern in patterns]

    def find(piece: bytes) -> list[Finding]:
        return merge_overlapping(
            Finding(*match.span(), rank, f"k{rank}")
            for rank, each in enumerate(compiled)
            for match in each.finditer(piece)
            if match[0]
        )

    return find


def scrub(text: bytes, find: Find) -> tuple[bytes, tuple[tuple[str, int], ...]]:
    return scrub_pieces(text, split_at_marks(text), find)


FINDERS = st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=3).map(lambda patterns: finder(*patterns))


@given(text=TEXTS, find=FINDERS)
@example(text=b"", find=finder(rb"a"))
def test_scrubbing_twice_is_scrubbing_once_whatever_finds_the_secrets(text: bytes, find: Find) -> None:
    once, _ = scrub(text, find)
    twice, found = scrub(once, find)
    assert (twice, found) == (once, ())
    assert twice is once


@given(text=TEXTS, find=FINDERS)
def test_each_piece_is_scrubbed_as_a_text_of_its_own_and_the_marks_between_them_stay(text: bytes, find: Find) -> None:
    each = [part if number % 2 else scrub(part, find)[0] for number, part in enumerate(split_at_marks(text))]
    assert scrub(text, find)[0] == b"".join(each)


@given(text=TEXTS, find=FINDERS)
def test_every_secret_is_counted_and_nothing_is_left_that_was_not_there(text: bytes, find: Find) -> None:
    scrubbed, found = scrub(text, find)
    marks = Counter(re.findall(REDACTION_MARK, scrubbed))
    assert marks - Counter(re.findall(REDACTION_MARK, text)) == Counter(
        {redaction_mark(kind): count for kind, count in found}
    )
    left, at = re.split(REDACTION_MARK, scrubbed), 0
    for part in left:
        at = text.index(part, at) + len(part)


@given(text=TEXTS, find=FINDERS)
def test_no_byte_is_gone_through_more_often_than_there_are_rounds(text: bytes, find: Find) -> None:
    asked = 0

    def counted(piece: bytes) -> list[Finding]:
        nonlocal asked
        asked += len(piece)
        return find(piece)

    scrub(text, counted)
    assert asked <= ROUNDS * len(text)


def test_a_text_without_any_comes_back_as_the_same_object() -> None:
    text = b"[secret: x] and nothing else"
    assert scrub(text, lambda piece: []) == (text, ())
    assert scrub(text, lambda piece: [])[0] is text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (b"one abababab two", b"one [secret: k0][secret: k0][secret: k0][secret: k0] two"),
        # After six rounds the rest of the word is taken, and the words around it stay.
        (b"one " + b"ab" * 500 + b" two", b"one " + b"[secret: k0]" * 7 + b" two"),
    ],
)
def test_a_row_of_secrets_that_hide_one_another_is_taken_with_the_word_at_most(text: bytes, left: bytes) -> None:
    assert scrub(text, finder(rb"\bab"))[0] == left


def test_where_words_hide_one_another_the_line_is_taken_and_where_lines_do_the_rest() -> None:
    first_word = finder(rb"^ ?\S+")
    words = b"\n".join([b"a " * 20, b"b"])
    assert scrub(words, first_word)[0] == b"[secret: k0]" * 9 + b"\nb"
    first_line = finder(rb"^\n?[^\n]+")
    assert scrub(b"a\n" * 20, first_line)[0] == b"[secret: k0]" * 11
