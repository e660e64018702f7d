"""What a store takes on disk for the vectors of a model as large as the default one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mnemic.actors.meaning.changes import AddEncoder, AddVectors, EmbeddedWindows
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import ENCODER, apply, id_of

DIMENSIONS = 384
ROOM = 1 << 20


def embedded(*numbers: int) -> AddVectors:
    meanings = tuple(EmbeddedWindows(memory=id_of(n), spans=((0, 5),), covered=5, total=26) for n in numbers)
    return AddVectors(encoder=ENCODER, meanings=meanings, vectors=bytes(4 * DIMENSIONS * len(numbers)))


def test_a_mind_of_sixty_memories_takes_less_than_a_megabyte(store: Store, path: Path) -> None:
    texts = np.random.default_rng(1).bytes(60 * 64)
    said = [texts[64 * n : 64 * n + 64].hex().encode() for n in range(60)]  # 7.7 kB
    apply(store, AddEncoder(encoder=ENCODER, dimensions=DIMENSIONS), *map(added, range(1, 61), said))
    apply(store, embedded(*range(1, 61)))
    store.close()
    taken = sum(one.stat().st_size for one in path.parent.glob(f"{path.name}*"))
    assert 120 * 64 + 60 * 4 * DIMENSIONS < taken < ROOM


def test_vectors_of_many_memories_take_little_more_than_their_bytes(store: Store, path: Path) -> None:
    apply(store, AddEncoder(encoder=ENCODER, dimensions=DIMENSIONS), *map(added, range(1, 2001)))
    store.checkpoint()
    before = path.stat().st_size
    for first in range(1, 2001, 250):
        apply(store, embedded(*range(first, first + 250)))
    store.close()
    assert path.stat().st_size - before < 1.2 * 2000 * 4 * DIMENSIONS
