"""The bits bench on next to nothing: every figure has its competitor beside it, and what is not there is named."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from mnemic.bench.speed import bits_bench
from mnemic.hd.algebra import NATIVE, default_algebra

TASKS = {
    "nearest 10",
    "nearest 10 of 1,000",
    "bundle 15",
    "bundle 1,000",
    "bind 1,000",
    "rotate 1,000",
}


def run(hypervectors: int = 1000, rounds: int = 1) -> list[dict[str, Any]]:
    return list(bits_bench.run(hypervectors=hypervectors, rounds=rounds))


@pytest.mark.system
def test_each_instruction_set_is_measured_beside_numpy_or_named_as_left_out() -> None:
    rows = run()
    done: dict[str, set[str]] = {}
    for row in rows:
        if "state" in row:
            assert row["state"] == "skipped", row["why"]
            assert row["why"]
        else:
            assert 0 < row["best_ms"] <= row["p50_ms"]
            assert row["n"] == 3
        done.setdefault(row["of"], set()).add(row["what"])
    for instructions in ("avx512", "avxvnni", "avx2", "portable"):
        assert done[f"mnemic, native-{instructions}"] in (TASKS, {"all"})
    if NATIVE:
        assert done["mnemic, native-portable"] == done["competitor: NumPy"] == TASKS
        assert done["baseline: reading alone"] == {"nearest 10"}
    there = find_spec("torch") and find_spec("torchhd")
    assert done["competitor: torchhd"] == (TASKS - {"nearest 10"} if there else {"all"})


def test_what_it_compares_with_gives_the_same_answers() -> None:
    vectors, query = bits_bench._draw(1000)
    algebra = default_algebra()
    distances = algebra.distances(vectors, query[None])[:, 0]  # of equally near ones NumPy's may choose another
    assert (
        distances[bits_bench._nearest(vectors, query)].tolist()
        == algebra.cleanup(vectors, query[None], 10)[1][0].tolist()
    )
    assert bits_bench._bundle(vectors[:15]).tobytes() == algebra.bundle(vectors[:15], query).tobytes()
    assert bits_bench._rotate(vectors).tobytes() == algebra.permute(vectors, bits_bench.SHIFT).tobytes()


def test_too_few_are_refused() -> None:
    with pytest.raises(ValueError, match="1000 hypervectors or more"):
        run(hypervectors=999)
