"""Unpacks transcripts that a host keeps compressed, as a stream: Codex packs old rollouts with Zstandard.

A file of a few bytes can unpack to terabytes, so what is given is bounded by the packed length, as in a zip file.
"""

from __future__ import annotations

import errno
import io
import sys
from typing import BinaryIO, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SUFFIX = ".zst"
ZSTD_BEGINNING = b"\x28\xb5\x2f\xfd"
MOST_RATIO = 200
"""How much a transcript may unpack to, by its packed length; real ones come to 20."""
_FREE_BYTES = 1 << 20


class _Unpacked(io.RawIOBase):
    """The bytes of a packed stream. Both are closed together."""

    def __init__(self, stream: BinaryIO, size_bytes: int) -> None:
        self._stream = stream
        self._unpacked = zstd.ZstdFile(stream)
        self._most_bytes = self._left_bytes = MOST_RATIO * size_bytes + _FREE_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        into = memoryview(cast(bytearray, buffer))
        try:
            data = self._unpacked.read(len(into))
        except zstd.ZstdError:
            raise OSError(errno.EIO, "it is damaged: its compression (Zstandard) cannot be undone") from None
        except EOFError:
            raise OSError(errno.EIO, "it ends in the middle: its compression (Zstandard) lacks its end") from None
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            most = f"{self._most_bytes:,} bytes, {MOST_RATIO} times its size"
            raise OSError(errno.EFBIG, f"it unpacks to more than {most}, as no transcript does")
        into[: len(data)] = data
        return len(data)

    def close(self) -> None:
        super().close()
        self._unpacked.close()
        self._stream.close()


def unpack(stream: BinaryIO, size_bytes: int) -> BinaryIO:
    """The stream itself, or what it holds where that is compressed.

    Reading raises `OSError` where it is damaged, ends early, or holds more than any transcript does.
    """
    beginning = stream.read(len(ZSTD_BEGINNING))
    stream.seek(0)
    if beginning != ZSTD_BEGINNING:
        return stream
    return cast(BinaryIO, io.BufferedReader(_Unpacked(stream, size_bytes)))
