"""The numbers of terms follow from the terms alone, and their sums can be had from what is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.retrieval.term_codes import (
    CHECKSUM_MASK,
    CODE_BYTES,
    checksum_share,
    decode_total,
    encode_terms,
    term_number,
)


def test_a_number_is_the_same_in_every_store_and_version() -> None:
    assert (term_number("tea"), term_number("")) == (83688873334859, 274220907289053)


@given(st.lists(st.text(max_size=8), max_size=20))
def test_a_text_is_kept_by_its_numbers_in_order_and_their_sum_is_found_again(terms: list[str]) -> None:
    encoded = encode_terms(terms)
    parts = [encoded.codes[start : start + CODE_BYTES] for start in range(0, len(encoded.codes), CODE_BYTES)]
    numbers = [number for part in parts for number in [int.from_bytes(part[:6], "little")] * part[6]]
    assert numbers == sorted(map(term_number, terms))
    assert encoded.words == len(terms)
    assert sum(numbers) == encoded.total == decode_total(encoded.codes) == decode_total(encoded.codes + b"rest!")
    assert encode_terms(terms[::-1]) == encoded


def test_a_term_that_occurs_often_stands_again_for_each_255_times() -> None:
    encoded = encode_terms(["tea"] * 511)
    assert [encoded.codes[at] for at in range(6, len(encoded.codes), CODE_BYTES)] == [255, 255, 1]
    assert encoded.total == decode_total(encoded.codes) == 511 * term_number("tea")


@given(st.integers(1, 1 << 40), st.integers(0, 1 << 60), st.integers(0, 1 << 60))
def test_shares_of_the_checksum_add_up_and_tell_rows_apart(row: int, one: int, other: int) -> None:
    assert 0 <= checksum_share(row, one) <= CHECKSUM_MASK
    both = checksum_share(row, one) + checksum_share(row, other)
    assert both & CHECKSUM_MASK == checksum_share(row, one + other)
    if one != other:
        swapped = checksum_share(row, other) + checksum_share(row + 1, one)
        assert (checksum_share(row, one) + checksum_share(row + 1, other) - swapped) & CHECKSUM_MASK
