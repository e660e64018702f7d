"""Finding texts that quote others: any 16 bytes in a row in common, by hashed runs. No I/O.

Below `mnemic.runtime.transfer.erase` and `mnemic.runtime.transfer.import_history`. Runs are told apart by 64 bits of a
hash: of a million runs that are looked for in a gigabyte, a wrong one is found once in ten thousand times, and costs a
question its words.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["QUOTE_BYTES", "find_quotes"]

QUOTE_BYTES = 16
_BATCH_BYTES = 1 << 20
_SEPARATOR = b"\xff" * QUOTE_BYTES  # in no UTF-8
_FILTER_BITS = 26
_SHIFT = np.uint64(64 - _FILTER_BITS)
_HASH_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))

Name = TypeVar("Name", bound=Hashable)


def find_quotes(candidates: Iterable[tuple[Name, bytes]], gone: Callable[[], Iterable[bytes]]) -> set[Name]:
    """Names of the candidates that hold `QUOTE_BYTES` bytes in a row which a text that goes has.

    Args:
        candidates: texts by name; read once, one at a time.
        gone: gives the same texts each time; read twice where a candidate may share something with them.
    """
    going = np.zeros(1 << _FILTER_BITS, bool)
    for batch in _batches(gone()):
        going[_run_hashes(batch) >> _SHIFT] = True
    names: list[Name] = []
    shared: list[NDArray[np.uint64]] = []
    for name, text in candidates:
        runs = _run_hashes(text)
        runs = runs[going[runs >> _SHIFT]]
        if len(runs):
            names.append(name)
            shared.append(runs)
    if not names:
        return set()
    table = np.unique(np.concatenate(shared))
    there = np.zeros(1 << _FILTER_BITS, bool)
    there[table >> _SHIFT] = True
    quoted = np.zeros(len(table), bool)
    for batch in _batches(gone()):
        runs = _run_hashes(batch)
        runs = runs[there[runs >> _SHIFT]]
        places = np.minimum(np.searchsorted(table, runs), len(table) - 1)
        quoted[places[table[places] == runs]] = True
    return {name for name, runs in zip(names, shared, strict=True) if quoted[np.searchsorted(table, runs)].any()}


def _run_hashes(text: bytes) -> NDArray[np.uint64]:
    """A hash of each run of a text, ``(n,) uint64``."""
    count = len(text) - QUOTE_BYTES + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    halves = np.ndarray(count + 8, "<u8", text, strides=(1,))
    mixed = halves[:count] * _HASH_MULTIPLIERS[0] ^ (halves[8:] * _HASH_MULTIPLIERS[1] + (halves[8:] >> np.uint64(29)))
    mixed ^= mixed >> np.uint64(32)
    return mixed * _HASH_MULTIPLIERS[0]


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
