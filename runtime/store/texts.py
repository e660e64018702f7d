"""Stored texts: deduplicated, compressed where long, and the form that goes into the word index."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import apsw

from mnemic.actors.kernel.events import to_text

_PACK_FROM_BYTES = 512  # below, deflate's own header and the lost time outweigh what it saves
_PACKED_MORE_BYTES = 512  # deflate's tables come before what they pack
_UNUSED = " AND ".join(
    f"NOT EXISTS (SELECT 1 FROM {table} x WHERE x.text = texts.id)"
    for table in ("memories", "aside", "originals", "log")
)


def store_text(connection: apsw.Connection, text: bytes, digest: Callable[..., bytes]) -> int:
    """Keep a text, or find the equal one that is kept; returns its row."""
    name = digest(b"text", text)
    found = connection.execute("SELECT id FROM texts WHERE digest = ?", (name,)).get
    if found is not None:
        return int(found)
    packed = zlib.compress(text, 6) if len(text) >= _PACK_FROM_BYTES else text
    is_packed = len(packed) < len(text)
    connection.execute(
        "INSERT INTO texts(digest, size, packed, body) VALUES(?, ?, ?, ?)",
        (name, len(text), int(is_packed), packed if is_packed else text),
    )
    return connection.last_insert_rowid()


def load_text(connection: apsw.Connection, row: int) -> bytes:
    """The text of a row of ``texts``, as it was given."""
    packed, body = next(connection.execute("SELECT packed, body FROM texts WHERE id = ?", (row,)))
    return zlib.decompress(body) if packed else bytes(body)


def text_prefix(connection: apsw.Connection, row: int, limit: int) -> tuple[bytes, int]:
    """The start of a text, cut between two characters, and how long the whole is; no more of it is read."""
    size, packed = next(connection.execute("SELECT size, packed FROM texts WHERE id = ?", (row,)))
    if not limit:  # to zlib that is no limit
        return b"", size
    with connection.blob_open("main", "texts", "body", row, False) as blob:
        body = blob.read(min(blob.length(), limit + _PACKED_MORE_BYTES))
    text = zlib.decompressobj().decompress(body, limit) if packed else body[:limit]
    if len(text) == size:
        return text, size
    end = len(text)
    while end and text[end - 1] & 0xC0 == 0x80:  # a byte that continues a character
        end -= 1
    whole = end and _utf8_length(text[end - 1]) == len(text) - end + 1
    return text if whole else text[: max(0, end - 1)], size


def drop_text_if_unused(connection: apsw.Connection, row: int) -> None:
    """Delete a text that nothing has any more."""
    connection.execute(f"DELETE FROM texts WHERE id = ? AND {_UNUSED}", (row,))


def drop_unused_texts(connection: apsw.Connection) -> None:
    """Delete all texts that nothing has any more."""
    connection.execute(f"DELETE FROM texts WHERE {_UNUSED}")


def to_index_text(text: bytes) -> str:
    """The text as the word index gets it: lone surrogates and NUL, which SQLite's text cannot hold, replaced.

    Raises:
        ValueError: it is no UTF-8, surrogates passed; the message does not hold the text.
    """
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        try:
            decoded = to_text(text).encode("utf-8", "replace").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"the text is no UTF-8 at byte {error.start}") from None
    return decoded.replace("\0", " ")


def _utf8_length(first: int) -> int:
    """How many bytes a character has, by its first one."""
    return 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
