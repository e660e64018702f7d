"""Who quotes what goes: found for any texts, as trying every run of sixteen bytes finds it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.transfer import quote_finder
from mnemic.runtime.transfer.quote_finder import SHINGLE_BYTES, find_quotes

PIECES = st.sampled_from([b"the otter ", b"sleeps in the ", b"harbour", b"\x00\xff", b"a"])
TEXTS = st.lists(st.one_of(st.lists(PIECES, max_size=6).map(b"".join), st.binary(max_size=40)), max_size=5)


def runs(texts: list[bytes]) -> set[bytes]:
    return {text[n : n + SHINGLE_BYTES] for text in texts for n in range(len(text) - SHINGLE_BYTES + 1)}


@pytest.mark.parametrize("at_once", [quote_finder._AT_ONCE, 1])
@given(TEXTS, TEXTS, TEXTS)
def test_those_that_hold_what_only_the_gone_had_are_named_and_no_others(
    at_once: int, candidates: list[bytes], gone: list[bytes], staying: list[bytes]
) -> None:
    alone = runs(gone) - runs(staying)
    expected = {number for number, text in enumerate(candidates) if runs([text]) & alone}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quote_finder, "_AT_ONCE", at_once)
        assert find_quotes(enumerate(candidates), lambda: gone, lambda: staying) == expected


def test_a_run_is_found_wherever_it_lies_in_more_than_one_batch() -> None:
    filler = [bytes([n % 251]) * 70_000 for n in range(40)]
    mark = b"0123456789abcdef"
    for place in (0, 19, 39):
        gone = [*filler[:place], b"xx" + mark, *filler[place:]]
        some = [("a", mark), ("b", mark[:-1]), ("c", b"")]
        assert find_quotes(some, lambda: gone, lambda: filler) == {"a"}  # noqa: B023
        assert find_quotes([("a", mark)], lambda: gone, lambda: [*filler, mark]) == set()  # noqa: B023


def test_what_stays_is_not_read_where_nothing_is_shared() -> None:
    read: list[str] = []

    def staying() -> Iterator[bytes]:
        read.append("it is read")
        yield b"z" * 99

    assert find_quotes([("a", b"y" * 99)], lambda: [b"x" * 99], staying) == set()
    assert read == []
    assert find_quotes([("a", b"x" * 99)], lambda: [b"x" * 99], staying) == {"a"}
    assert read != []


def test_what_is_held_does_not_grow_with_what_is_looked_through() -> None:
    """A year of session starts: 28 MB of texts took 2.7 GB."""
    drawn = np.random.default_rng(1)
    mark = b"0123456789abcdef"

    def candidates() -> Iterator[tuple[int, bytes]]:
        for number in range(3000):
            yield number, drawn.integers(97, 122, 2000, np.uint8).tobytes() + mark * (number == 7)

    tracemalloc.start()
    try:
        assert find_quotes(candidates(), lambda: [mark], lambda: [b"z" * 99]) == {7}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 << quote_finder._FILTER_BITS  # the filters alone, not 6 MB of texts at 90 bytes for each
