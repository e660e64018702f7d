"""Whether a write-ahead log still holds what was written to it, so that no damage is taken over into a store's file.

SQLite proves a log when it opens one that nobody has open, and leaves out what follows damage. While a log is open it
trusts it: a checkpoint would copy a damaged page into the store's file, where nothing tells it from a right one until
it is read. So `mnemic.runtime.store.schema` has each checkpoint proved first, by the checksums of SQLite's file format
(https://www.sqlite.org/fileformat2.html#walformat, section 4.2). A checkpoint copies of each page the newest frame
alone: damage to an older one does no harm to whoever has the log open.

There a checksum goes on from that of the frame before, which that frame's header has: so each frame is proved by
itself, and many at once. The checksum is linear modulo 2³²: (s0, s1) becomes M (s0, s1) + (x0, x0 + x1) with each pair
of words, M = (1 1; 1 2), so the one of a frame is a product with powers of M.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_BIG_ENDIAN_MAGIC = b"\x37\x7f\x06\x83"
"""What a log begins with whose checksums read words from their high byte on."""
_FRAMES_AT_ONCE = 256


def first_damaged_frame(log: Path, index: bytes, page_bytes: int, after: int, last: int) -> int | None:
    """The first frame of a write-ahead log that is not as it was written, and that no later one of its page replaces.

    ``None`` where there is none. Where a checksum was damaged, and not what it is of, the next frame's shows it, since
    that goes on from the right one; of the last frame it is not known, and it is named.

    Args:
        log: the log's file.
        index: SQLite's index of it, as `mnemic.runtime.store.index_file` reads it.
        page_bytes: size of the store's pages.
        after: the frames behind this one are looked at, counted from 1, and `last` is the last of them.

    Raises:
        OSError: the file cannot be read.
    """
    if after >= last:
        return None
    before = min(after, 1)  # the frame before is read too: the checksum it should have is what the next goes on from
    after -= before
    frame_bytes = _FRAME_HEADER_BYTES + page_bytes
    numbers = _page_numbers(index)[after:last]
    sound = np.zeros(last - after + 1, bool)  # and one that is none
    follows = sound.copy()  # whether its checksum goes on from what that of the frame before should be
    page_weights, seed_weights = _weights(page_bytes)
    with log.open("rb") as file:
        words = np.dtype(">u4" if file.read(4) == _BIG_ENDIAN_MAGIC else "<u4")
        file.seek(_HEADER_BYTES + (after - 1) * frame_bytes + 16 if after else _HEADER_BYTES - 8)
        seed = file.read(8)  # the checksum that the next frame's goes on from
        right = _words(np.frombuffer(seed, np.uint8).reshape(-1, 8), np.dtype(">u4"))
        file.seek(_HEADER_BYTES + after * frame_bytes)
        for first in range(0, last - after, _FRAMES_AT_ONCE):
            content = file.read(min(_FRAMES_AT_ONCE, last - after - first) * frame_bytes)
            whole = len(content) // frame_bytes
            if not whole:  # the file is shorter than the log was
                break
            frames = np.frombuffer(content, np.uint8, whole * frame_bytes).reshape(whole, frame_bytes)
            kept = frames[:, 16:_FRAME_HEADER_BYTES]
            seeds = np.concatenate([np.frombuffer(seed, np.uint8).reshape(-1, 8), kept])[:whole]
            own, stored = np.einsum("fw,cw->fc", _words(frames, words), page_weights), _words(kept, np.dtype(">u4"))
            found = own + _words(seeds, np.dtype(">u4")) @ seed_weights
            right = np.concatenate([right, found])
            these = slice(first, first + whole)
            follows[these] = (own + right[:whole] @ seed_weights == stored).all(axis=1)
            sound[these] = (found == stored).all(axis=1) | follows[these]
            seed, right = kept[-1].tobytes(), found[-1:]
    sound[:-1] |= follows[1:]
    for frame in np.flatnonzero(~sound[:-1]):
        if frame >= before and not (sound[frame:-1] & (numbers[frame:] == numbers[frame])).any():
            return after + int(frame) + 1
    return None


def _page_numbers(index: bytes) -> NDArray[np.uint32]:
    """Which page each frame holds. The frame says so too, but that may be what was damaged.

    Of each 32 KiB of an index, the first half has numbers, in this machine's byte order (section 2.3 of the same page);
    the very first begins with a header of 136 bytes.
    """
    return np.frombuffer(index, np.uint32).reshape(-1, 8192)[:, :4096].ravel()[34:]


def _words(content: NDArray[np.uint8], order: np.dtype[np.uint32]) -> NDArray[np.uint32]:
    return np.ascontiguousarray(content).view(order).astype(np.uint32, copy=False)


@functools.cache
def _weights(page_bytes: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """What each word of a frame, ``(2, 6 + page_bytes / 4) uint32``, and of the checksum before, adds to its own.

    The words of a frame's header that its checksum does not cover add nothing. One row for each half of the checksum:
    NumPy multiplies integers without BLAS, eight times as slowly where it goes down columns.
    """
    pairs = (8 + page_bytes) // 8
    page = np.empty((2 * pairs, 2), np.uint32)
    a, b, d = 1, 0, 1  # (a b; b d), a power of M
    for pair in reversed(range(pairs)):
        page[2 * pair] = (a + b) % 2**32, (b + d) % 2**32
        page[2 * pair + 1] = b, d
        a, b, d = (a + b) % 2**32, (a + 2 * b) % 2**32, (b + 2 * d) % 2**32
    uncovered = (_FRAME_HEADER_BYTES - 8) // 4
    page = np.insert(page, [2] * uncovered, 0, axis=0)
    return np.ascontiguousarray(page.T), np.array([[a, b], [b, d]], np.uint32)
