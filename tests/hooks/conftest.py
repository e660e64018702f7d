"""Readings of transcripts as tables: what the tests of readers compare."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.actors.kernel.events import Event, MalformedLine, to_text
from mnemic.hooks import open_transcript
from tests.paths import FIXTURES

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write lines (objects, or raw bytes) to a file and give its path."""

    def put(*lines: object, name: str = "session.jsonl") -> str:
        path = tmp_path / name
        path.write_bytes(
            b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
        )
        return str(path)

    return put


@pytest.fixture
def transcripts() -> Path:
    """The folder of real transcripts."""
    return FIXTURES / "transcripts"


@pytest.fixture
def read() -> Callable[..., list[Event | MalformedLine]]:
    """Everything a transcript yields."""

    def everything(path: object, format: str = "auto") -> list[Event | MalformedLine]:
        source = open_transcript(str(path), format)
        try:
            return list(source)
        finally:
            source.close()

    return everything


@pytest.fixture
def table(read: Callable[..., list[Event | MalformedLine]]) -> Callable[..., list[str]]:
    """A transcript as rows: ``kind role [tool] [outcome] | beginning of the text``, newlines as ``⏎``."""

    def rows(path: object, format: str = "auto") -> list[str]:
        found = []
        for event in read(path, format):
            if isinstance(event, MalformedLine):
                found.append(f"malformed {event.line} | {event.why}")
            else:
                head = " ".join(part for part in (event.kind, event.role, event.tool, event.outcome) if part)
                found.append(f"{head} | {to_text(event.text)[:44]}".replace("\n", "⏎").rstrip(" "))
        return found

    return rows
