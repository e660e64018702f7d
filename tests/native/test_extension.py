"""The extension module itself: what it refuses, that it lets other threads run, and that its stub is true."""

from __future__ import annotations

import ast
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

from tests.paths import ROOT
from tests.waiting import BOUND_S

native = pytest.importorskip("mnemic._native", reason="the native extension is not built")

STUB = ROOT / "mnemic" / "_native.pyi"


def test_the_stub_lists_exactly_what_is_there() -> None:
    promised = {
        node.name for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert promised == {name for name in vars(native) if not name.startswith("__")}


def test_a_row_has_the_same_bits_whatever_lies_beside_it() -> None:
    *rows, query = coded(50, 384, seed=3)
    together = native.score_vectors(*rows, query, None, 50)
    alone = [native.score_vectors(*(part[row : row + 1] for part in rows), query, None, 1)[0] for row in range(50)]
    assert together.tobytes() == np.array(alone).tobytes()


def test_rows_that_no_memory_holds_are_an_error_that_can_be_caught() -> None:
    with pytest.raises(MemoryError):
        native.quantise(np.empty((1 << 50, 0), np.float32))
    with pytest.raises(ValueError, match="a hypervector has at least one word"):
        native.hamming_distances(np.empty((1 << 50, 0), np.uint64), np.empty(0, np.uint64))


def test_other_threads_run_while_it_scans() -> None:
    # With a switch interval longer than the test, this thread gives way only where the extension lets go of the GIL.
    arrays_of_rows = coded(5_000, 384)
    scanning, seen = False, []
    go = threading.Event()

    def look() -> None:
        go.wait(timeout=BOUND_S)
        seen.append(scanning)

    other = threading.Thread(target=look)
    other.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        go.set()
        for _ in range(2_000):
            scanning = True
            native.score_vectors(*arrays_of_rows, None, 5_000)
            scanning = False
            if seen:
                break
    finally:
        sys.setswitchinterval(interval)
        other.join(timeout=BOUND_S)
    assert seen == [True]


def coded(rows: int, dimensions: int, seed: int = 1) -> tuple[Any, ...]:
    """Vectors, their codes and scales, and a query."""
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((rows, dimensions)).astype(np.float32)
    return vectors, *native.quantise(vectors), random.standard_normal(dimensions).astype(np.float32)


def test_codes_of_other_types_shapes_and_layouts_are_refused() -> None:
    vectors, codes, scales, query = coded(70, 6)
    mask = np.zeros(2, np.uint64)
    for wrong in (
        (vectors.astype(np.float64), codes, scales, query, None),
        (vectors, codes.view(np.uint8), scales, query, None),
        (vectors, codes, scales[:, None], query, None),
        (vectors, codes, scales, query, mask.view(np.int64)),
        (vectors, codes, scales, query, np.zeros(70, np.bool_)),
    ):
        with pytest.raises(TypeError):
            native.score_vectors(*wrong, 5)
    for given_arrays, message in (
        ((vectors[:, ::2], codes[:, :3], scales, query[:3], None), "vectors are not C-contiguous"),
        ((vectors, np.asfortranarray(codes), scales, query, None), "codes are not C-contiguous"),
        ((vectors, codes, np.repeat(scales, 2)[::2], query, None), "scales are not contiguous"),
        ((vectors, codes, scales, np.repeat(query, 2)[::2], None), "the query is not contiguous"),
        ((vectors, codes, scales, query, np.repeat(mask, 2)[::2]), "the mask is not contiguous"),
        ((vectors, codes, scales, query, mask[:1]), "a mask of 1 words is not one bit for each of 70 rows"),
        ((vectors, codes, scales, query[:5], None), "6 columns and the query 5"),
        ((vectors, codes[:69], scales, query, None), "not of the same rows"),
        ((vectors, codes, scales[:69], query, None), "not of the same rows"),
    ):
        with pytest.raises(ValueError, match=message):
            native.score_vectors(*given_arrays, 5)
    with pytest.raises(OverflowError):
        native.score_vectors(vectors, codes, scales, query, None, -1)
    with pytest.raises(ValueError, match="65537 dimensions are more than 65536"):
        native.score_vectors(*coded(1, 65_537), None, 5)


@given(
    vectors=arrays.arrays(np.float32, st.tuples(st.integers(0, 70), st.integers(0, 5)), elements=st.floats(width=32)),
    seed=st.integers(0, 2**32 - 1),
    words=st.none() | arrays.arrays(np.uint64, st.integers(0, 3)),
    exact=st.integers(0, 2**64 - 1),
)
def test_whatever_numbers_come_there_is_an_answer_or_a_value_error(
    vectors: Any, seed: int, words: Any, exact: int
) -> None:
    random = np.random.default_rng(seed)
    codes = random.integers(-128, 128, vectors.shape).astype(np.int8)
    scales = random.standard_normal(len(vectors)).astype(np.float32)
    query = vectors[0] if len(vectors) and seed % 2 else random.standard_normal(vectors.shape[1]).astype(np.float32)
    for look in (
        lambda: native.quantise(vectors)[1],
        lambda: native.score_vectors(vectors, codes, scales, query, words, exact),
    ):
        try:
            found = look()
        except ValueError:
            continue
        assert found.dtype == np.float32


def test_every_instruction_set_gives_the_same_codes_and_chooses_the_same_rows() -> None:
    program = """if True:
        import hashlib, numpy as np, mnemic._native as native
        digest = hashlib.sha256()
        for rows, dimensions in ((1, 1), (63, 31), (300, 385), (2000, 70)):
            random = np.random.default_rng(rows)
            vectors = random.integers(-99, 99, (rows, dimensions)).astype(np.float32) / 64
            query = random.integers(-99, 99, dimensions).astype(np.float32) / 64
            codes, scales = native.quantise(vectors)
            codes[random.random(codes.shape) < 0.01] = -128
            mask = random.integers(0, 2**64, -(-rows // 64), np.uint64)
            for allowed in (None, mask):
                parts = [codes, scales, native.score_vectors(vectors, codes, scales, query, allowed, 7)]
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
