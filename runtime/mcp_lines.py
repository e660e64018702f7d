r"""Lines of JSON-RPC as an assistant sends them, so that the SDK can read all of it.

The SDK's JSON reader refuses a line that holds half a surrogate pair, and nobody is answered. Real transcripts hold
such halves, so each one is written out (as the six characters ``\ud83d``, the way the answers write it) before the
SDK sees the line.
"""

from __future__ import annotations

import json
import re
from asyncio import StreamReader
from typing import Any

from mnemic.actors.events import printable
from mnemic.runtime.meeting import LINE_BYTES

__all__ = ["LINE_BYTES", "LineTooLong", "Lines", "mend"]

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_PART_BYTES = 1 << 16


class LineTooLong(Exception):
    """A line was longer than is read; it was skipped, and the next one can be."""


class Lines:
    """Reads lines of any length, up to a longest one, from a stream whose own buffer stays small."""

    def __init__(self, reader: StreamReader, longest_bytes: int = LINE_BYTES) -> None:
        self._reader = reader
        self._longest_bytes = longest_bytes
        self._buffer = bytearray()

    async def next(self, longest_bytes: int | None = None) -> bytes | None:
        """The next line, with its end; ``None`` at the end of the stream, where half a line is none.

        Raises:
            LineTooLong: it is longer than `longest_bytes`, or than any line may be.
            ConnectionError: the stream broke.
        """
        longest_bytes = longest_bytes or self._longest_bytes
        searched, skipping = 0, False
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._buffer[: end + 1])
                del self._buffer[: end + 1]
                if skipping or len(line) > longest_bytes:
                    raise LineTooLong
                return line
            searched = len(self._buffer)
            if searched > longest_bytes:
                skipping, searched = True, 0
                self._buffer.clear()
            part = await self._reader.read(_PART_BYTES)
            if not part:
                return None
            self._buffer += part


def mend(line: bytes) -> bytes:
    """A line of JSON without lone surrogates; one that has none, or is no JSON, as it is."""
    if not _SURROGATE.search(line):
        return line
    try:
        return json.dumps(_printable(json.loads(line))).encode() + b"\n"
    except (ValueError, RecursionError):  # the SDK's to refuse
        return line


def _printable(value: Any) -> Any:
    if isinstance(value, dict):
        return {printable(name): _printable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return printable(value)
