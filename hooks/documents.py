"""Transcripts that are one JSON document each. Below `mnemic.hooks.formats`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mnemic.actors.errors import SourceUnreadable
from mnemic.actors.events import Event, Malformed
from mnemic.hooks.lines import Bad, Json, Raw, parse

__all__ = ["DocumentSource", "document_in"]


class DocumentSource:
    """An opened document; fulfils `mnemic.actors.ports.Source`. It is read whole before its first event."""

    def __init__(
        self, format: str, raw: Raw, belongs: Callable[[Json], bool], events: Callable[[Json], Iterable[Event | Bad]]
    ) -> None:
        self.format = format
        self.size_bytes = raw.size_bytes
        self.position_bytes = 0
        self._raw = raw
        self._belongs = belongs
        self._events = events

    def __iter__(self) -> Iterator[Event | Malformed]:
        data = b"".join(self._raw)
        try:
            document = document_in(data)
        except Bad as bad:
            raise SourceUnreadable(path=self._raw.path, why=str(bad)) from None
        if not self._belongs(document):
            raise SourceUnreadable(path=self._raw.path, why=f"it is no document of {self.format}")
        self.position_bytes = len(data)
        for number, found in enumerate(self._events(document), 1):
            yield Malformed(line=number, why=str(found)) if isinstance(found, Bad) else found

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()


def document_in(data: bytes) -> Json:
    """The JSON object that the bytes are. Raises `Bad`."""
    document = parse(data + b"\n", first=True)
    if document is None:
        raise Bad("it is empty")
    return document
