"""Bits are packed and unpacked without loss, and what is no hypervector is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from mnemic.hd.packing import pack, unpack
from tests import oracle


@given(arrays.arrays(np.uint64, st.tuples(st.integers(0, 5), st.integers(1, 20))))
def test_what_is_unpacked_is_packed_again(vectors: NDArray[np.uint64]) -> None:
    unpacked = unpack(vectors)
    assert unpacked.dtype == np.bool_
    assert np.array_equal(unpacked, oracle.bits_of(vectors))
    assert np.array_equal(pack(unpacked), vectors)
    assert pack(unpacked).dtype == np.uint64
    for vector in vectors[:1]:
        assert np.array_equal(pack(unpack(vector)), vector)


def test_bits_and_words_of_other_types_and_shapes_are_refused() -> None:
    for wrong_bits in (np.zeros(63, np.bool_), np.zeros(0, np.bool_), np.zeros(64, np.uint8), np.zeros((), np.bool_)):
        with pytest.raises(ValueError, match="bits must be bool, their number a multiple of 64, not"):
            pack(wrong_bits)
    for wrong_words in (np.zeros((2, 0), np.uint64), np.zeros(2, np.uint8), np.uint64(3)[()]):
        with pytest.raises(ValueError, match="vectors must be uint64 of at least one word, not"):
            unpack(np.asarray(wrong_words))
