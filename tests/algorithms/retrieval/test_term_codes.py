"""The numbers of terms follow from the terms alone; a checksum tells what is kept from what is not."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.retrieval.term_codes import (
    CHECKSUM_MASK,
    CODE_BYTES,
    checksum_share,
    encode_terms,
    term_number,
)


def test_a_number_is_the_same_in_every_store_and_version() -> None:
    assert (term_number("tea"), term_number("")) == (83688873334859, 274220907289053)


@given(st.lists(st.text(max_size=8), max_size=20))
def test_a_text_is_kept_by_its_numbers_and_their_counts(terms: list[str]) -> None:
    encoded = encode_terms(terms)
    parts = [encoded.codes[start : start + CODE_BYTES] for start in range(0, len(encoded.codes), CODE_BYTES)]
    counts = Counter({int.from_bytes(part[:6], "little"): part[6] for part in parts})
    assert counts == Counter(map(term_number, terms))
    assert len(parts) == len(set(terms))
    assert encoded.words == len(terms)


@pytest.mark.parametrize(("count", "told"), [(255, [255]), (256, [255, 1]), (510, [255, 255])])
def test_a_term_that_occurs_often_stands_again_for_each_255_times(count: int, told: list[int]) -> None:
    encoded = encode_terms(["tea"] * count)
    assert [encoded.codes[at] for at in range(6, len(encoded.codes), CODE_BYTES)] == told


@given(st.integers(1, 1 << 40), st.lists(st.text(max_size=3)), st.lists(st.text(max_size=3)))
def test_a_checksum_tells_what_is_kept_and_where(row: int, one: list[str], other: list[str]) -> None:
    mine, theirs = (encode_terms(terms).codes for terms in (one, other))
    assert 0 <= checksum_share(row, mine) <= CHECKSUM_MASK
    if mine != theirs:
        assert checksum_share(row, mine) != checksum_share(row, theirs)
        kept = checksum_share(row, mine) + checksum_share(row + 1, theirs)
        swapped = checksum_share(row, theirs) + checksum_share(row + 1, mine)
        assert (kept - swapped) & CHECKSUM_MASK
