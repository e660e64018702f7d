"""The stages that settle which memories say the same, so that a recall has one of them stand for all.

Which texts say the same is `mnemic.algorithms.text.near_duplicates`; memories are one group where they are, besides, of
one scope, kind, speaker, branch and outcome, as in `mnemic.actors.index.folding`, which goes by these groups. The
first stage keeps a hash of each memory, a block of rows at a time, the second finds equal ones. Nothing is deleted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.folding import said_alike
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.sleep.changes import SourceSpan
from mnemic.actors.sleep.effects import RecallEffect, encode_effect
from mnemic.actors.sleep.stages import Derivation

_BLOCK = 64  # rows
_SHARDS = 64  # what is said again changes one part of the groups, and not all
_MOST_ALIKE = 1024  # of what is said more often, later copies make a further group
_HASHED = np.dtype([("row", "<i8"), ("hash", "<u8")])


class Fingerprints:
    """A hash of what each memory says."""

    name: ClassVar[str] = "fingerprints"
    version: ClassVar[int] = 1

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All blocks of rows."""
        return {b"rows:%d" % block: stamp for block, stamp in snapshot.row_blocks(_BLOCK).items()}

    def read(self, key: bytes, snapshot: Snapshot) -> list[tuple[int, bytes]]:
        """The rows of a block, each with what tells it from others."""
        rows = snapshot.rows_in_block(_BLOCK, int(key.partition(b":")[2]))
        return [
            (row, repr((memory.scope, *said_alike(memory))).encode("utf-8", "backslashreplace"))
            for row, memory in zip(rows, snapshot.load_memories(rows), strict=True)
        ]

    def plan(self, state: Sequence[tuple[int, bytes]]) -> Derivation:
        """Their hashes."""
        hashed = np.array(
            [(row, int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "little")) for row, said in state],
            _HASHED,
        )
        return Derivation(hashed.tobytes(), tuple(SourceSpan(row, 0, 0) for row, _ in state))


class Duplicates:
    """Groups of memories that say the same."""

    name: ClassVar[str] = "duplicates"
    version: ClassVar[int] = 1
    effect: ClassVar[RecallEffect] = "fold"

    def __init__(self) -> None:
        self._parts: Mapping[bytes, NDArray[Any]] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """The parts that hold such a group: hashes are dealt out among 64, and of one hash copies by their number."""
        values = snapshot.derived_values(Fingerprints.name)
        hashed = np.frombuffer(b"".join(values[key] for key in sorted(values)), _HASHED)
        hashed = hashed[np.lexsort((hashed["row"], hashed["hash"]))]
        starts = np.flatnonzero(np.append(True, hashed["hash"][1:] != hashed["hash"][:-1])[: len(hashed)])
        sizes = np.diff(starts, append=len(hashed))
        number = (np.arange(len(hashed)) - np.repeat(starts, sizes)) // _MOST_ALIKE
        left = np.repeat(sizes, sizes) - number * _MOST_ALIKE
        part = (hashed["hash"] % _SHARDS).astype(np.int64) + _SHARDS * number
        self._parts = {
            b"alike:%d:%d" % (one % _SHARDS, one // _SHARDS): hashed[(part == one) & (left > 1)]
            for one in np.unique(part[left > 1]).tolist()
        }
        return {key: hashlib.sha256(of.tobytes()).digest()[:16] for key, of in self._parts.items()}

    def read(self, key: bytes, snapshot: Snapshot) -> NDArray[Any]:
        """Rows with their hashes, those with equal ones together, the oldest first."""
        return self._parts[key]

    def plan(self, state: NDArray[Any]) -> Derivation:
        """The groups."""
        _, first, sizes = np.unique(state["hash"], return_index=True, return_counts=True)
        groups = sorted(zip(first.tolist(), sizes.tolist(), strict=True), key=lambda one: int(state["row"][one[0]]))
        rows = [int(row) for at, size in groups for row in state["row"][at : at + size]]
        return Derivation(
            encode_effect(tuple(size for _, size in groups)), tuple(SourceSpan(row, 0, 0) for row in rows)
        )
