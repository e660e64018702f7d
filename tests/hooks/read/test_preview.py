"""A preview counts what the readers give, a source and a format at a time, and shows how far it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.times import UTC_ZONE
from mnemic.hooks.read.preview import MOST_REASONS, CapturePreview, preview_sources
from tests.hooks.imports.exports import gpt_conversation, gpt_message, gpt_pier, zipped
from tests.processes.faces import lines, turn

Shown = list[tuple[str, int, int | None]]


def preview(*sources: Path, format: str = "auto", shown: Shown | None = None) -> CapturePreview:
    into: Shown = [] if shown is None else shown
    return preview_sources(map(str, sources), format, lambda *said: into.append(said), UTC_ZONE)


def test_a_folder_is_told_a_format_at_a_time(tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", turn("an otter", said_at="2026-05-02T10:00:00Z"), turn("a heron"))
    lines(tmp_path / "below.jsonl", turn("a pier", said_at="2026-05-01T10:00:00Z"), turn("  "))
    codex = {"timestamp": "2026-05-03T10:00:00Z", "type": "session_meta", "payload": {"id": "s"}}
    lines(tmp_path / "c.jsonl", codex)
    (tmp_path / "left.md").write_text("words")
    told = preview(tmp_path)
    assert told.notes_left == 1
    jsonl, other = told.sources
    assert (jsonl.format, jsonl.files, jsonl.conversations, jsonl.memories) == ("jsonl", 2, 1, 3)
    assert (jsonl.first, jsonl.last, jsonl.undated) == ("2026-05-01T10:00:00Z", "2026-05-02T10:00:00Z", 1)
    assert jsonl.text_bytes == len("an ottera herona pier")
    assert (other.format, other.files, other.memories, other.first) == ("codex", 1, 0, None)


def test_what_cannot_be_read_is_counted_and_the_first_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(turn("an otter")) + "\n" + "{\n" * 9)
    (one,) = preview(path).sources
    assert (one.memories, one.unreadable, len(one.reasons)) == (1, 9, MOST_REASONS)
    assert [(file, number) for file, number, _ in one.reasons] == [(str(path), 2 + n) for n in range(MOST_REASONS)]


def test_one_that_cannot_be_opened_is_raised_alone_and_told_among_others(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable):
        preview(tmp_path / "gone")
    told = preview(tmp_path / "gone", lines(tmp_path / "a.jsonl", turn("an otter")))
    assert [path for path, _ in told.failed] == [str(tmp_path / "gone")]
    assert [one.memories for one in told.sources] == [1]


def test_progress_grows_to_the_length_of_what_is_read_of_all_sources(tmp_path: Path) -> None:
    many = [gpt_conversation(gpt_message(f"m{n}", "user", "x" * 40), own_id=f"c{n}") for n in range(600)]
    files = {"conversations.json": many, "photo.bin": bytes(range(256)) * 400}
    shown: Shown = []
    small = zipped(tmp_path / "b.zip", {"conversations.json": [gpt_pier()]})
    preview(zipped(tmp_path / "a.zip", files), small, shown=shown)
    done = [read for _, read, _ in shown]
    assert done == sorted(done)
    assert len(done) > 4
    what, read, total = shown[-1]
    assert (what, read) == ("read", total)
