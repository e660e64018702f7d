"""Finding texts that quote others: any 16 bytes in a row in common, by hashed shingles. No I/O.

Pure, below `mnemic.runtime.transfer.erase`. Runs are told apart by 64 bits of a hash: of a million runs that are looked
for in a gigabyte, a wrong one is found once in ten thousand times, and costs a line of the log its words.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["SHINGLE_BYTES", "find_quotes"]

SHINGLE_BYTES = 16
_BATCH_BYTES = 1 << 20
_AT_ONCE = 1 << 22  # so many runs that may be shared are held at once: about 200 MB
_SEPARATOR = b"\xff" * SHINGLE_BYTES  # in no UTF-8
_FILTER_BITS = 26
_SHIFT = np.uint64(64 - _FILTER_BITS)
_HASH_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))

Name = TypeVar("Name", bound=Hashable)
Texts = Callable[[], Iterable[bytes]]
"""Gives the same texts each time."""


def find_quotes(candidates: Iterable[tuple[Name, bytes]], gone: Texts, staying: Texts) -> set[Name]:
    """Names of the candidates that hold sixteen bytes in a row which what goes has, and nothing that stays.

    What is held grows with what may be shared, and that is bounded: where there is more, the texts are read again.

    Args:
        candidates: texts by name; read once, one at a time.
        gone: texts; read twice where a candidate may share something with them.
        staying: texts; read only where a candidate does.
    """
    going = np.zeros(1 << _FILTER_BITS, bool)
    for batch in _batches(gone()):
        going[_shingle_hashes(batch) >> _SHIFT] = True
    found: set[Name] = set()
    names: list[Name] = []
    shared: list[NDArray[np.uint64]] = []
    count = 0
    for name, text in candidates:
        runs = _shingle_hashes(text)
        runs = np.unique(runs[going[runs >> _SHIFT]])
        if len(runs):
            names.append(name)
            shared.append(runs)
            count += len(runs)
        if count >= _AT_ONCE:
            found |= _unshared_quotes(names, shared, gone, staying)
            names, shared, count = [], [], 0
    return found | _unshared_quotes(names, shared, gone, staying)


def _unshared_quotes(names: list[Name], shared: list[NDArray[np.uint64]], gone: Texts, staying: Texts) -> set[Name]:
    """Names of those that have a run which what goes has, and nothing that stays."""
    if not names:
        return set()
    table, places = np.unique(np.concatenate(shared), return_inverse=True)
    marked = np.zeros(len(table), bool)
    there = np.zeros(1 << _FILTER_BITS, bool)
    there[table >> _SHIFT] = True
    for batch in _batches(gone()):
        marked[_table_positions(batch, table, there)] = True
    if marked.any():
        for batch in _batches(staying()):
            marked[_table_positions(batch, table, there)] = False
    starts = np.cumsum([0, *(len(one) for one in shared[:-1])])
    quotes = np.logical_or.reduceat(marked[places], starts)
    return {name for name, is_quoting in zip(names, quotes, strict=True) if is_quoting}


def _shingle_hashes(text: bytes) -> NDArray[np.uint64]:
    """A hash of each run of a text, ``(n,) uint64``."""
    count = len(text) - SHINGLE_BYTES + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    halves = np.ndarray(count + 8, "<u8", text, strides=(1,))
    mixed = halves[:count] * _HASH_MULTIPLIERS[0] ^ (halves[8:] * _HASH_MULTIPLIERS[1] + (halves[8:] >> np.uint64(29)))
    mixed ^= mixed >> np.uint64(32)
    return mixed * _HASH_MULTIPLIERS[0]


def _table_positions(text: bytes, table: NDArray[np.uint64], there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where in a sorted table the runs of a text are."""
    runs = _shingle_hashes(text)
    runs = runs[there[runs >> _SHIFT]]
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
            yield _SEPARATOR.join(waiting)
            waiting, size = [], 0
    if waiting:
        yield _SEPARATOR.join(waiting)
