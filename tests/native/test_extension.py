"""The extension module itself: what it refuses, that it lets other threads run, and that its stub is true."""

from __future__ import annotations

import ast
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

native = pytest.importorskip("mnemic._native", reason="the native extension is not built")

STUB = Path(__file__).parents[2] / "mnemic" / "_native.pyi"


def test_the_stub_lists_exactly_what_is_there() -> None:
    promised = {node.name for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert promised == {name for name in vars(native) if not name.startswith("__")}


def test_other_types_and_dimensions_are_a_type_error() -> None:
    with pytest.raises(TypeError):
        native.inner_products(np.zeros((2, 3)), np.zeros(3, np.float32))
    with pytest.raises(TypeError):
        native.inner_products(np.zeros(3, np.float32), np.zeros(3, np.float32))


def test_arrays_that_do_not_fit_or_are_strided_are_a_value_error() -> None:
    square = np.zeros((4, 4), np.float32)
    with pytest.raises(ValueError, match="4 columns and the query 3"):
        native.inner_products(square, square[0, :3])
    with pytest.raises(ValueError, match="vectors are not C-contiguous"):
        native.inner_products(square[:, :2], square[0, :2])
    with pytest.raises(ValueError, match="the query is not contiguous"):
        native.inner_products(square, np.zeros(8, np.float32)[::2])


def test_a_row_has_the_same_bits_whatever_lies_beside_it() -> None:
    random = np.random.default_rng(3)
    vectors = random.standard_normal((50, 384)).astype(np.float32)
    query = random.standard_normal(384).astype(np.float32)
    together = native.inner_products(vectors, query)
    alone = [native.inner_products(vectors[row : row + 1], query)[0] for row in range(50)]
    assert together.tobytes() == np.array(alone).tobytes()


def test_other_threads_run_while_it_scans() -> None:
    # With a switch interval longer than the test, this thread gives way only where the extension lets go of the GIL.
    vectors, query = np.ones((5_000, 384), np.float32), np.ones(384, np.float32)
    scanning, seen = False, []
    go = threading.Event()

    def look() -> None:
        go.wait(timeout=30)
        seen.append(scanning)

    other = threading.Thread(target=look)
    other.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        go.set()
        for _ in range(2_000):
            scanning = True
            native.inner_products(vectors, query)
            scanning = False
            if seen:
                break
    finally:
        sys.setswitchinterval(interval)
        other.join(timeout=30)
    assert seen == [True]
