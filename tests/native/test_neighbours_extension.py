"""The function for neighbours at the extension's own boundary: no array crashes it, every set gives the same."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.waiting import BOUND_S

native = pytest.importorskip("mnemic._native", reason="the native extension is not built")

NUMBERS = st.sampled_from([-(2**70), -1, 0, 1, 3, 2**31, 2**62, 2**63 - 1, 2**64])
CODES = """
import numpy as np
import mnemic._native as native
random = np.random.default_rng(1)
codes = random.integers(-127, 128, (400, 70)).astype(np.int8)
scales, groups = random.random(400, np.float32) / 127, random.integers(-1, 2, 400).astype(np.int32)
found = native.code_neighbours(codes, scales, groups, np.arange(0, 400, 3), 5, np.zeros(400, np.float32), 2)
print(native.instruction_set(), hash(b"".join(part.tobytes() for part in found)))
"""


@st.composite
def anything(draw: st.DrawFn, kind: str) -> Any:
    """An array of a type or, now and then, of another; of any small shape, in any order, of any small values."""
    kind = draw(st.sampled_from([kind] * 8 + [">f4", "<i8"]))
    size = draw(st.sampled_from([3, 3, 3, 3, 0, 4]))
    shape = (size, 2) if kind == "|i1" else draw(arrays.array_shapes(min_dims=1, max_dims=1, min_side=size, max_side=4))
    array = np.random.default_rng(draw(st.integers(0, 99))).integers(-1, 4, shape).astype(kind)
    if kind == "<f4" and draw(st.booleans()):
        array = np.minimum(np.abs(array), 1)
    layout = draw(st.sampled_from(["plain", "plain", "plain", "turned", "strided", "frozen"]))
    if layout == "turned":
        array = np.asfortranarray(array)
    elif layout == "strided":
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    elif layout == "frozen":
        array.setflags(write=False)
    return array


@given(
    anything("|i1"), anything("<f4"), anything("<i4"), anything("<i8"), st.none() | anything("<f4"), NUMBERS, NUMBERS
)
def test_whatever_comes_there_is_an_answer_or_an_error_that_can_be_caught(
    codes: Any, scales: Any, groups: Any, rows: Any, bounds: Any, k: int, threads: int
) -> None:
    with suppress(TypeError, ValueError, OverflowError, MemoryError):
        found = native.code_neighbours(codes, scales, groups, rows, k, bounds, threads)
        assert found[0].shape == found[1].shape == (len(rows), k)
        assert ((found[0] >= -1) & (found[0] < len(codes))).all()


def test_codes_in_the_order_of_columns_are_refused_not_misread() -> None:
    scales, groups = np.ones(3, np.float32), np.zeros(3, np.int32)
    with pytest.raises(ValueError, match="codes are not C-contiguous"):
        native.code_neighbours(np.asfortranarray(np.ones((3, 2), np.int8)), scales, groups, np.arange(3), 1, None, 1)


def test_every_instruction_set_gives_the_same_bits() -> None:
    told = {}
    for name in ("", "avx512", "avxvnni", "avx2", "portable"):
        environment = {**os.environ, "MNEMIC_INSTRUCTIONS": name, "PYTHONHASHSEED": "0"}
        ran = subprocess.run(
            [sys.executable, "-c", CODES], env=environment, capture_output=True, text=True, timeout=BOUND_S, check=False
        )
        if "is not what this processor has" not in ran.stderr:
            assert ran.returncode == 0, ran.stderr
            used, bits = ran.stdout.split()
            told[used] = bits
    assert "portable" in told
    assert len(set(told.values())) == 1
