"""Cuts the values out of a JSON list of any length, one at a time, so that only one of them is ever held.

Each is given as bytes, for `mnemic.hooks.read.lines.parse`: what is wrong inside of one harms no other, and a lone
surrogate stays what it is. The standard library parses a document as a whole only; the streaming parsers for Python
give up at the first fault, change lone surrogates, and hold a string of any length.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from mnemic.hooks.read.lines import BOM, InvalidInput

CHUNK_BYTES = 1 << 20
MOST_VALUE_BYTES = 1 << 26
"""How long one value, such as a conversation, may be: as Python's objects it takes up to twenty times as much."""
_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FILLER = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+', re.DOTALL)
"""What stands before the next bracket, whole strings included."""
_STRING_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_KEY_OR_BRACKET = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)(?:"(\s*+:)?|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A bracket, or a string, which may be cut off at the end: else each quote in it were looked at to the end again."""
_BLANK = b" \t\r\n,\0"
_NO_OBJECT = "not a JSON object"


def chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of a stream, piece by piece, as UTF-8 without a byte order mark; UTF-16 is known by its mark."""
    chunk = stream.read(CHUNK_BYTES)
    if not chunk.startswith(_UTF16_BOMS):
        chunk = chunk.removeprefix(BOM)
        while chunk:
            yield chunk
            chunk = stream.read(CHUNK_BYTES)
        return
    decode = codecs.getincrementaldecoder("utf-16")("surrogatepass").decode
    while chunk:
        yield decode(chunk).encode("utf-8", "surrogatepass")
        chunk = stream.read(CHUNK_BYTES)


def values(pieces: Iterable[bytes], most_bytes: int = MOST_VALUE_BYTES) -> Iterator[bytes | InvalidInput]:
    """The objects and lists in a JSON list, each whole; of a document that is one object, that. What cannot be one of
    them is told in their place. It is read to its end, and never more than `most_bytes` of it and two pieces are held.
    """
    held = bytearray()
    rest = b""
    depth = base = -1  # no bracket yet; then 1 inside of a list, else 0
    in_string = strays = is_long = False
    for piece in pieces:
        data, at, start = rest + piece, 0, 0
        rest = b""
        while at < len(data):
            if in_string:
                found = _STRING_REST.match(data, at)
                if found is None:
                    at = len(data)
                    if (at - len(data.rstrip(b"\\"))) % 2:  # what it escapes comes with the next piece
                        at -= 1
                    rest = data[at:]
                    break
                at, in_string = found.end(), False
                continue
            found = _FILLER.match(data, at)
            assert found is not None  # it matches nothing, too
            end = found.end()
            if depth <= base:
                strays = strays or bool(data[at:end].strip(_BLANK))
                start = end
            at = end + 1
            mark = data[end : end + 1]
            if mark == b'"':
                in_string = True
                strays = strays or depth <= base
            elif mark in (b"[", b"{"):
                if base < 0:
                    base = depth = 1 if mark == b"[" else 0
                    if base:
                        start = at
                        continue
                if depth == base and strays:
                    yield InvalidInput(_NO_OBJECT)
                    strays = False
                depth += 1
            elif depth < base or base < 0:  # a bracket too many
                strays = strays or bool(mark)
            elif mark:
                depth -= 1
                if depth == base:
                    held += b"" if is_long else data[start:at]
                    is_long = is_long or len(held) > most_bytes
                    yield InvalidInput(f"it is longer than {most_bytes:,} bytes") if is_long else bytes(held)
                    held.clear()
                    is_long, start = False, at
        if depth > base >= 0 and not is_long:
            held += data[start:at]
            is_long = len(held) > most_bytes
    if base < 0:
        yield InvalidInput("it holds no JSON")
    elif depth > base:
        yield InvalidInput("the file ends in the middle of it")
    elif strays:
        yield InvalidInput(_NO_OBJECT)
    elif base and depth == base:
        yield InvalidInput("the file ends before its list does")


def has_key(head: bytes, names: Iterable[str]) -> str | None:
    """Which of these names is the first that an object in a list has as a key, or the document that is one object."""
    wanted = {name.encode(): name for name in names}
    depth = 0
    base = 2 if head.lstrip().startswith(b"[") else 1
    for found in _KEY_OR_BRACKET.finditer(head):
        if found[1] is None:
            depth += 1 if found[0] in b"[{" else -1
        elif found[2] and depth == base and found[1] in wanted:
            return wanted[found[1]]
    return None
