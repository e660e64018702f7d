"""By their names: which files are transcripts, and which look like sessions and are counted and named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mnemic.hooks.read.formats import find_sources
from mnemic.hooks.read.names import looks_like_session, unread_sentence

GEMINI = {"sessionId": "s", "projectHash": "p", "messages": []}


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("rollout-2026.jsonl.gz", True),
        ("a.jsonl.bak", True),
        ("rollout-2025.json", True),
        ("session-1.json", True),
        ("opencode.db.old", True),
        ("sessions-index.json", False),
        ("opencode.db-wal", False),
        ("notes.md", False),
        ("a.json", False),
    ],
)
def test_what_looks_like_a_session_is_told_by_its_name(name: str, looks: bool) -> None:
    assert looks_like_session(name) is looks


def test_a_folder_names_what_looks_like_a_session_and_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for name in ("a.jsonl", "below/b.jsonl.gz", "rollout-1.json", "other.json", "below/opencode.db"):
        (tmp_path / name).write_text("{}\n")
    (tmp_path / "session-1-aaaaaaaa.json").write_text(json.dumps(GEMINI))
    (tmp_path / "session-of-mine.json").write_text('{"name": "mine"}')
    (tmp_path / "c.jsonl.gz").symlink_to(tmp_path / "a.jsonl")
    found = find_sources(str(tmp_path), "auto")
    assert [os.path.relpath(path, tmp_path) for path in found.paths] == [
        *("a.jsonl", "below/opencode.db", "session-1-aaaaaaaa.json"),
    ]
    assert [os.path.relpath(path, tmp_path) for path in found.unread] == [
        *("below/b.jsonl.gz", "rollout-1.json", "session-of-mine.json"),
    ]


def test_the_first_are_named_and_the_rest_counted() -> None:
    assert unread_sentence(["/a"]) == "1 file looks like a session and is not read: /a"
    told = unread_sentence(["/a", "/b", "/c", "/d", "/e"])
    assert told == "5 files look like sessions and are not read: /a, /b, /c, and 2 more"
