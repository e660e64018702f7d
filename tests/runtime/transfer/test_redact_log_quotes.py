"""Who quotes what goes: found for any texts, as trying every run of sixteen bytes finds it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.transfer import redact_log
from mnemic.runtime.transfer.redact_log import QUOTE_BYTES, find_quotes

PIECES = st.sampled_from([b"the otter ", b"sleeps in the ", b"harbour", b"\x00\xff", b"a"])
TEXTS = st.lists(st.one_of(st.lists(PIECES, max_size=6).map(b"".join), st.binary(max_size=40)), max_size=5)


def runs(texts: list[bytes]) -> set[bytes]:
    return {text[n : n + QUOTE_BYTES] for text in texts for n in range(len(text) - QUOTE_BYTES + 1)}


@given(TEXTS, TEXTS)
def test_those_that_hold_what_the_gone_had_are_named_and_no_others(candidates: list[bytes], gone: list[bytes]) -> None:
    expected = {number for number, text in enumerate(candidates) if runs([text]) & runs(gone)}
    assert find_quotes(enumerate(candidates), lambda: gone) == expected


def test_a_run_is_found_wherever_it_lies_in_more_than_one_batch() -> None:
    filler = [bytes([n % 251]) * 70_000 for n in range(40)]
    mark = b"0123456789abcdef"
    for place in (0, 19, 39):
        gone = [*filler[:place], b"xx" + mark, *filler[place:]]
        some = [("a", mark), ("b", mark[:-1]), ("c", b"")]
        assert find_quotes(some, lambda: gone) == {"a"}  # noqa: B023


def test_what_is_held_does_not_grow_with_what_is_looked_through() -> None:
    drawn = np.random.default_rng(1)
    mark = b"0123456789abcdef"

    def candidates() -> Iterator[tuple[int, bytes]]:
        for number in range(3000):
            yield number, drawn.integers(97, 122, 2000, np.uint8).tobytes() + mark * (number == 7)

    tracemalloc.start()
    try:
        assert find_quotes(candidates(), lambda: [mark]) == {7}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 << redact_log._FILTER_BITS  # the filters alone, not 6 MB of texts at 90 bytes for each
