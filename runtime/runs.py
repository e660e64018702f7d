"""Runs: which texts quote others, sixteen bytes or more in a row.

Pure, below `mnemic.runtime.erasing`. Runs are told apart by 64 bits of a hash: of a million runs that are looked for in
a gigabyte, a wrong one is found once in ten thousand times, and costs a line of the log its words.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["RUN_BYTES", "quoting"]

RUN_BYTES = 16
_BATCH_BYTES = 1 << 20
_BETWEEN = b"\xff" * RUN_BYTES  # in no UTF-8
_FILTER_BITS = 22
_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))

Name = TypeVar("Name", bound=Hashable)


def quoting(candidates: Iterable[tuple[Name, bytes]], gone: Iterable[bytes], staying: Iterable[bytes]) -> set[Name]:
    """Names of the candidates that hold sixteen bytes in a row which what goes has, and nothing that stays.

    Args:
        candidates: texts by name; all of them are held at once.
        gone: texts; read once.
        staying: texts; read once, and only where a candidate shares something with what goes.
    """
    names: list[Name] = []
    owners: list[NDArray[np.int64]] = []
    hashes: list[NDArray[np.uint64]] = []
    for name, text in candidates:
        found = np.unique(_runs(text))
        owners.append(np.full(len(found), len(names)))
        hashes.append(found)
        names.append(name)
    if not any(len(one) for one in hashes):
        return set()
    every, owner = np.concatenate(hashes), np.concatenate(owners)
    table = np.unique(every)
    marked = np.zeros(len(table), bool)
    there = np.zeros(1 << _FILTER_BITS, bool)
    there[table >> np.uint64(64 - _FILTER_BITS)] = True
    for batch in _batches(gone):
        marked[_places(batch, table, there)] = True
    if marked.any():
        for batch in _batches(staying):
            marked[_places(batch, table, there)] = False
    return {names[number] for number in np.unique(owner[marked[np.searchsorted(table, every)]])}


def _runs(text: bytes) -> NDArray[np.uint64]:
    """A hash of each run of a text, ``(n,) uint64``."""
    count = len(text) - RUN_BYTES + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    halves = np.ndarray(count + 8, "<u8", text, strides=(1,))
    mixed = halves[:count] * _ODD[0] ^ (halves[8:] * _ODD[1] + (halves[8:] >> np.uint64(29)))
    mixed ^= mixed >> np.uint64(32)
    return mixed * _ODD[0]


def _places(text: bytes, table: NDArray[np.uint64], there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where in a sorted table the runs of a text are."""
    runs = _runs(text)
    runs = runs[there[runs >> np.uint64(64 - _FILTER_BITS)]]
    places = np.searchsorted(table, runs)
    places[places == len(table)] = 0
    found: NDArray[np.int64] = places[table[places] == runs]
    return found


def _batches(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Texts joined, so that short ones cost little, by what no run of theirs holds."""
    waiting: list[bytes] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= _BATCH_BYTES:
            yield _BETWEEN.join(waiting)
            waiting, size = [], 0
    if waiting:
        yield _BETWEEN.join(waiting)
