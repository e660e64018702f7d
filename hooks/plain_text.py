"""Plain text: one file is one session, and every paragraph of it a note."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from mnemic.actors.errors import SourceUnreadable
from mnemic.actors.events import Event, Malformed
from mnemic.hooks.jsonl import ASSISTANT
from mnemic.hooks.lines import Raw

__all__ = ["TextSource", "paragraphs"]

# A line's end and the blank lines after it; atomic, or "\r\n" would count as two line ends.
SPACE = b" \t\r\n"
BLANK = re.compile(rb"(?>\r\n|\n|\r)(?:[ \t]*(?>\r\n|\n|\r))+")


class TextSource:
    """An opened text file; fulfils `mnemic.actors.ports.Source`.

    The file is read whole before its first note, so that one that is no UTF-8 leaves nothing behind. What has no name
    (standard input) is known by its content, so that two such texts are two sessions.
    """

    format = "text"

    def __init__(self, session: str | None, raw: Raw) -> None:
        self._session = session
        self._raw = raw
        self.size_bytes = raw.size_bytes
        self.position_bytes = 0

    def __iter__(self) -> Iterator[Event | Malformed]:
        data = b"".join(self._raw)
        try:
            data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise SourceUnreadable(path=self._raw.path, why=f"byte {error.start} is no UTF-8") from None
        session = self._session or f"stdin-{hashlib.sha256(data).hexdigest()[:16]}"
        for note in paragraphs(data):
            start = self.position_bytes
            self.position_bytes += len(note)
            yield Event(
                assistant=ASSISTANT,
                session=session,
                kind="note",
                role="user",
                text=note,
                source_id=f"byte {start}",
            )

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()


def paragraphs(data: bytes) -> Iterator[bytes]:
    """Cut text after its blank lines. The pieces, joined, are the text; what is blank at its ends goes to its ends."""
    start = len(data) - len(data.lstrip(SPACE))
    cut = 0
    for gap in BLANK.finditer(data, start, len(data.rstrip(SPACE))):
        yield data[cut : gap.end()]
        cut = gap.end()
    if cut < len(data):
        yield data[cut:]
