"""Compressed transcripts: read as what they hold, within bounds, and said to be damaged where they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, to_text
from mnemic.hooks import open_transcript
from mnemic.hooks.read import packed
from mnemic.hooks.read.formats import find_transcripts
from tests.hooks.conftest import Write

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def rollout(*texts: str) -> bytes:
    header = {"timestamp": "2026-11-10T10:00:00Z", "type": "session_meta", "payload": {"id": "t", "cwd": "/pier"}}
    said = [{"type": "event_msg", "payload": {"type": "user_message", "message": text}} for text in texts]
    return b"".join(
        json.dumps({"timestamp": "2026-11-10T10:00:01Z", **line}).encode() + b"\n" for line in [header, *said]
    )


def pack(folder: Path, data: bytes, name: str = "rollout-1.jsonl.zst") -> Path:
    path = folder / name
    path.write_bytes(zstd.compress(data))
    return path


@pytest.mark.parametrize("name", ["rollout-1.jsonl.zst", "renamed"])
def test_a_packed_rollout_tells_what_the_rollout_tells(read: Any, write: Write, tmp_path: Path, name: str) -> None:
    data = rollout("The valve is a DN50.", "It was mended.")
    plain = write(data, name="rollout-1.jsonl")
    path = pack(tmp_path, data, name)
    assert read(path) == read(path, "codex") == read(plain)
    assert [to_text(one.text) for one in read(path)] == ["The valve is a DN50.", "It was mended."]


def test_progress_counts_what_is_packed(tmp_path: Path) -> None:
    path = pack(tmp_path, rollout(*(f"{number} valves" for number in range(4000))))
    source = open_transcript(str(path), "auto")
    seen = [source.position_bytes for _ in source]
    source.close()
    assert seen == sorted(seen)
    assert source.position_bytes == source.size_bytes == path.stat().st_size


def test_a_folder_stands_for_its_packed_rollouts_too(tmp_path: Path) -> None:
    path = pack(tmp_path, rollout("x"))
    assert find_transcripts(str(tmp_path)) == [str(path)]


def test_frames_that_follow_each_other_are_one_transcript(read: Any, tmp_path: Path) -> None:
    path = tmp_path / "rollout-1.jsonl.zst"
    head, *rest = rollout("one", "two").splitlines(keepends=True)
    path.write_bytes(zstd.compress(head) + zstd.compress(b"".join(rest)))
    assert [to_text(one.text) for one in read(path)] == ["one", "two"]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: data[:-20], "it ends in the middle"),
        (lambda data: data[:4] + b"\xff" * (len(data) - 4), "it is damaged"),
        (lambda data: data[:4], "it ends in the middle"),
    ],
)
def test_one_that_is_damaged_or_cut_off_says_so(read: Any, tmp_path: Path, spoil: Any, why: str) -> None:
    path = pack(tmp_path, rollout("x" * 100))
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(SourceUnreadable, match=why):
        read(path)


def test_one_that_unpacks_to_more_than_any_transcript_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "_FREE_BYTES", 1000)
    path = pack(tmp_path, rollout("kept") + b" " * 4_000_000)
    most = 200 * path.stat().st_size + 1000
    source = open_transcript(str(path), "codex")
    with pytest.raises(SourceUnreadable, match=f"it unpacks to more than {most:,} bytes, 200 times its size"):
        list(source)
    source.close()


def test_what_only_has_the_name_is_read_as_it_stands(read: Any, write: Write) -> None:
    (found,) = read(write(rollout("plain"), name="rollout-1.jsonl.zst"))
    assert isinstance(found, Event)
    assert to_text(found.text) == "plain"
