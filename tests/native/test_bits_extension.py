"""The functions for packed bits at the extension's own boundary: no array crashes them, every set gives the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.waiting import BOUND_S

native = pytest.importorskip("mnemic._native", reason="the native extension is not built")

NUMBERS = st.sampled_from([-(2**70), -(2**63), -(2**31), -1, 0, 1, 2, 77, 2**31, 2**63 - 1, 2**64, 2**70])


@st.composite
def anything(draw: st.DrawFn) -> Any:
    """An array that a function may take or not: of the right type mostly, of any small shape, in any order."""
    kind = draw(st.sampled_from(["<u8", "<u8", "<u8", "<i4", "<i4", ">u8", "<i8", "<i8", "|i1", "|i1", "?"]))
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4))
    if kind == "<i4":
        shape = (*shape[:-1], shape[-1] * 64 + draw(st.sampled_from([0, 0, 0, 1])))
    elif kind == "|i1" and draw(st.booleans()):
        shape = (64, *shape[1:])
    array = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 2, shape).astype(kind)
    if kind == "|i1":
        array = 2 * array - 1
    elif kind == "<i8" and draw(st.booleans()):
        array = np.sort(array, axis=-1)
    layout = draw(st.sampled_from(["plain", "plain", "plain", "turned", "strided", "frozen", "unaligned"]))
    if layout == "turned":
        array = np.asfortranarray(array)
    elif layout == "strided":
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    elif layout == "frozen":
        array.setflags(write=False)
    elif layout == "unaligned":
        array = np.frombuffer(bytearray(b"?" + array.tobytes()), array.dtype, offset=1).reshape(shape)
    return array


@given(st.lists(anything(), min_size=3, max_size=3), NUMBERS, st.booleans())
def test_whatever_comes_there_is_an_answer_or_an_error_that_can_be_caught(
    given_arrays: list[Any], number: int, same: bool
) -> None:
    a, b, c = given_arrays
    if same:
        c = a
    for call in (
        lambda: native.hamming_distances(a, b),
        lambda: native.hamming_nearest(a, b, number),
        lambda: native.bind_bits(a, b, c),
        lambda: native.rotate_bits(a, number, c),
        lambda: native.bundle_bits(a, b),
        lambda: native.count_bits(a, number, c),
        lambda: native.majority_bits(a, number, b),
        lambda: native.hamming_distances_of(a, b),
        lambda: native.bundle_groups(a, b, c),
        lambda: native.bundle_groups(a, b, a, c),
        lambda: native.bind_groups(a, b),
        lambda: native.bind_groups(a, b, c),
        lambda: native.Planes(a).project(b, c),
    ):
        before = [array.copy() for array in given_arrays]
        try:
            call()
        except (TypeError, ValueError, OverflowError):
            assert all(np.array_equal(was, array) for was, array in zip(before, given_arrays, strict=True))


def test_arrays_in_the_order_of_columns_are_refused_not_misread() -> None:
    vectors = np.arange(6, dtype=np.uint64).reshape(2, 3)
    turned, one = np.asfortranarray(vectors), np.zeros(3, np.uint64)
    for call in (
        lambda: native.hamming_distances(turned, one),
        lambda: native.hamming_nearest(turned, one, 1),
        lambda: native.bundle_bits(turned, one),
        lambda: native.count_bits(turned, 1, np.zeros(192, np.int32)),
        lambda: native.rotate_bits(turned, 1, vectors),
        lambda: native.bind_bits(turned, vectors, np.zeros_like(vectors)),
        lambda: native.hamming_distances_of(turned, vectors),
        lambda: native.bundle_groups(turned, np.array([0, 2]), vectors[:1]),
        lambda: native.bind_groups(turned, np.array([0, 2])),
    ):
        with pytest.raises(ValueError, match="vectors: not C-contiguous and aligned"):
            call()
    with pytest.raises(ValueError, match="out: not C-contiguous and aligned"):
        native.rotate_bits(vectors, 1, turned)
    with pytest.raises(ValueError, match="queries: not C-contiguous and aligned"):
        native.hamming_distances_of(vectors, turned)
    with pytest.raises(ValueError, match="ties: not C-contiguous and aligned"):
        native.bundle_groups(vectors, np.array([0, 1, 2]), turned)
    strided = np.array([0, 0, 2, 0])[::2]
    with pytest.raises(ValueError, match="offsets: not C-contiguous and aligned"):
        native.bind_groups(vectors, strided)
    with pytest.raises(ValueError, match="rows: not C-contiguous and aligned"):
        native.bind_groups(vectors, np.array([0, 2]), strided)
    normals = np.ones((64, 2), np.int8)
    with pytest.raises(ValueError, match="normals: not C-contiguous and aligned"):
        native.Planes(np.asfortranarray(normals))
    with pytest.raises(ValueError, match="embeddings: not C-contiguous and aligned"):
        native.Planes(normals).project(np.asfortranarray(normals), np.zeros(1, np.uint64))
    with pytest.raises(ValueError, match="others: not C-contiguous and aligned"):
        native.bind_bits(vectors, turned, np.zeros_like(vectors))


def test_groups_planes_and_embeddings_that_are_none_are_refused_with_what_is_wrong() -> None:
    vectors = np.zeros((3, 2), np.uint64)
    with pytest.raises(ValueError, match="offsets must rise from 0 to 3"):
        native.bind_groups(vectors, np.array([0, 2]))
    with pytest.raises(ValueError, match="row 3 is none of 3"):
        native.bind_groups(vectors, np.array([0, 2]), np.array([0, 3]))
    with pytest.raises(ValueError, match="words of the ties: 2 given, 4 expected"):
        native.bundle_groups(vectors, np.array([0, 1, 3]), vectors[:1])
    with pytest.raises(ValueError, match="a hypervector has at least one word"):
        native.bind_groups(np.zeros((3, 0), np.uint64), np.array([0, 3]))
    with pytest.raises(ValueError, match="planes: 63 given, 64 expected"):
        native.Planes(np.ones((63, 2), np.int8))
    with pytest.raises(ValueError, match="a plane has at least one value"):
        native.Planes(np.ones((64, 0), np.int8))
    planes = native.Planes(np.ones((64, 2), np.int8))
    with pytest.raises(ValueError, match="embeddings of 3 values, where 2 are expected"):
        planes.project(np.ones((2, 3), np.int8), np.zeros(1, np.uint64))
    with pytest.raises(ValueError, match="words of the tie: 2 given, 1 expected"):
        planes.project(np.ones((2, 2), np.int8), np.zeros(2, np.uint64))


def test_what_is_written_may_not_be_what_is_read() -> None:
    vectors = np.zeros((2, 3), np.uint64)
    with pytest.raises(TypeError, match="borrowed"):
        native.rotate_bits(vectors, 1, vectors)
    with pytest.raises(TypeError, match="borrowed"):
        native.bind_bits(vectors, vectors[:1], vectors)
    with pytest.raises(TypeError, match="not writeable"):
        native.rotate_bits(vectors, 1, np.broadcast_to(np.uint64(0), (2, 3)))


def test_every_instruction_set_gives_the_same_bits() -> None:
    program = """if True:
        import hashlib, numpy as np, mnemic._native as native
        from mnemic.hd.algebra import PackedAlgebra
        algebra = PackedAlgebra(True)
        digest = hashlib.sha256()
        for rows, words in ((0, 1), (1, 1), (7, 3), (64, 9), (249, 17), (1000, 160)):
            random = np.random.default_rng(rows)
            vectors, tie = (random.integers(0, 2**64, shape, np.uint64) for shape in ((rows, words), words))
            vectors[rows // 2 :] &= vectors[: rows - rows // 2]
            counters = np.zeros(64 * words, np.int32)
            native.count_bits(vectors, 3, counters)
            parts = [algebra.bind(vectors, tie), algebra.permute(vectors, 77)]
            parts += [counters, native.majority_bits(counters, 3 * rows, tie)]
            parts += [algebra.bundle(vectors, tie), algebra.bundle(vectors[:100], tie)]
            parts += [algebra.similarity(vectors, tie), *algebra.cleanup(vectors, tie[None], 50)]
            offsets, half = np.array([0, 0, rows // 2, rows]), random.integers(0, max(rows, 1), rows)
            ties = random.integers(0, 2**64, (3, words), np.uint64)
            parts += [algebra.bundle_groups(vectors, offsets, ties), algebra.bind_groups(vectors, offsets)]
            parts += [algebra.bundle_groups(vectors, offsets, ties, half), algebra.distances(vectors, ties)]
            parts += [algebra.distances(vectors, random.integers(0, 2**64, (9, words), np.uint64))]
            normals = random.choice(np.array([-1, 1], np.int8), (64 * words, 5 + rows % 100))
            embeddings = random.integers(-127, 128, (rows % 50, normals.shape[1])).astype(np.int8)
            parts += [algebra.project(embeddings // span, normals, tie) for span in (1, 100)]
            for part in parts:
                digest.update(part.tobytes())
        print(native.instruction_set(), digest.hexdigest())
    """
    answers = {}
    for name in ("avx512", "avxvnni", "avx2", "portable"):
        environment = {**os.environ, "MNEMIC_INSTRUCTIONS": name}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
        if done.returncode:
            assert f'MNEMIC_INSTRUCTIONS is "{name}", which is not what this processor has' in done.stderr
        else:
            used, answers[name] = done.stdout.split()
            assert used == name
    assert "portable" in answers
    assert len(set(answers.values())) == 1, answers


def test_other_threads_run_while_it_searches() -> None:
    # With a switch interval longer than the test, this thread gives way only where the extension lets go of the GIL.
    vectors = np.zeros((20_000, 160), np.uint64)
    searching, seen = False, []
    go = threading.Event()

    def look() -> None:
        go.wait(timeout=BOUND_S)
        seen.append(searching)

    other = threading.Thread(target=look)
    other.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        go.set()
        for _ in range(2_000):
            searching = True
            native.hamming_nearest(vectors, vectors[0], 3)
            searching = False
            if seen:
                break
    finally:
        sys.setswitchinterval(interval)
        other.join(timeout=BOUND_S)
    assert seen == [True]
