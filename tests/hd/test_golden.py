"""Hypervectors are the same on every machine and in every process: these bits were drawn once, and are kept.

``python -m tests.hd.test_golden > tests/golden/hypervectors.json`` makes the file anew; then `mnemic.hd.space.VERSION`
has to grow, so that what is bound is bound again.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.hd.algebra import BACKENDS, NATIVE, algebra_named
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.records import Pair
from mnemic.hd.space import VERSION
from tests.hd.spaces import space
from tests.paths import ROOT
from tests.waiting import BOUND_S

GOLDEN = ROOT / "tests" / "golden" / "hypervectors.json"
FILLERS = {
    "who": ["ada lovelace", "\u00e9\u4e2d\U0001f600", "\ud800"],
    "file": ["docs/README.md"],
    "size": ["0", "1", "300", "123456.5", "-7"],
    "date": ["0001-01-01", "1970-01-01", "2026-05-01", "9999-12-31"],
    "hour": ["0", "14", "23"],
    "weekday": ["monday", "sunday"],
}


def made(algebra: str) -> dict[str, object]:
    """Digests of hypervectors of each kind, and the first words of some."""
    encoders = RecordEncoder(space(12), algebra_named(algebra))
    # Whole numbers, from no generator: they are what they are everywhere.
    embeddings = np.array([[(7 * row + 5 * column) % 23 - 11 for column in range(12)] for row in range(4)], np.float32)
    pairs = [Pair(role, filler, shift) for shift, (role, some) in enumerate(FILLERS.items()) for filler in some]
    pairs += [Pair("about", embeddings[0]), Pair("next", embeddings[1])]
    records = [(), *(tuple(pairs[:count]) for count in (1, 2, 3, 12, len(pairs)))]
    return {
        "version": VERSION,
        "stamp": space(12, roles=("who", "size", "about")).stamp,
        "roles": _digest(np.stack([encoders.role_vector(role) for role in FILLERS])),
        **{f"filler {role}": _digest(encoders.encode_fillers(role, some)) for role, some in FILLERS.items()},
        "meanings": _digest(encoders.project_embeddings(embeddings)),
        "pairs": _digest(encoders.encode_pairs(pairs)),
        "records": _digest(encoders.encode_records(records)),
        "ada": [f"{word:016x}" for word in encoders.encode_fillers("who", ["ada lovelace"])[0, :4].tolist()],
    }


def _digest(vectors: NDArray[np.uint64]) -> str:
    return hashlib.sha256(vectors.astype("<u8").tobytes()).hexdigest()


@pytest.mark.parametrize(
    "algebra", [pytest.param(name, marks=[pytest.mark.torch] if name == "torch" else []) for name in BACKENDS]
)
def test_hypervectors_are_those_that_were_kept(algebra: str) -> None:
    if algebra == "native" and not NATIVE:
        pytest.skip("the native extension is not built")
    if algebra == "torch":
        pytest.importorskip("torchhd", reason="torchhd is another backend; install mnemic[torch] for this test")
    assert made(algebra) == json.loads(GOLDEN.read_bytes())


@pytest.mark.parametrize("hash_seed", ["0", "1", "4294967295"])
def test_hypervectors_are_the_same_in_another_process(hash_seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.hd.test_golden"],
        capture_output=True,
        check=True,
        timeout=BOUND_S,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    assert json.loads(done.stdout) == json.loads(GOLDEN.read_bytes())


if __name__ == "__main__":
    print(json.dumps(made("numpy"), indent=1))
