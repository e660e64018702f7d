"""The transcripts from before: found where each host keeps them, counted, the newest first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnemic.hooks.wire.host import existing_transcripts, unread_sessions
from mnemic.hooks.wire.hosts import HOSTS

PLACES = {
    "claude-code": [".claude/projects/-home-ada/a.jsonl", ".claude/projects/-home-ada/a/subagents/agent-1.jsonl"],
    "codex": [
        ".codex/sessions/2026/11/21/rollout-1.jsonl",
        ".codex/archived_sessions/rollout-0.jsonl",
        ".codex/sessions/2026/11/02/rollout-2.jsonl.zst",
    ],
    "gemini-cli": [".gemini/tmp/shelf/chats/session-1.jsonl", ".gemini/tmp/shelf/chats/session-0.json"],
    "opencode": [".local/share/opencode/opencode.db", ".local/share/opencode/opencode-stable.db"],
    "cursor": [],
}


def lay(folder: Path, places: list[str]) -> None:
    for number, place in enumerate(places):
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 600_000 * (number + 1))
        os.utime(path, (number, number))


@pytest.mark.parametrize("name", HOSTS)
def test_a_hosts_transcripts_are_found_and_counted_the_newest_first(tmp_path: Path, name: str) -> None:
    lay(tmp_path, PLACES[name])
    (tmp_path / ".claude" / "projects" / "-home-ada" / "memory").mkdir(parents=True)
    found = existing_transcripts([HOSTS[name]], {"HOME": str(tmp_path)})
    if not PLACES[name]:
        assert found == []
        return
    (kept,) = found
    assert [path for path, _ in kept.paths] == [str(tmp_path / place) for place in reversed(PLACES[name])]
    assert {format for _, format in kept.paths} == {name}
    assert kept.size_bytes == 600_000 * sum(range(1, len(PLACES[name]) + 1))
    assert kept.minutes == pytest.approx(kept.size_bytes / 600_000 / 60)


def test_a_host_that_has_kept_nothing_is_not_named(tmp_path: Path) -> None:
    assert existing_transcripts(HOSTS.values(), {"HOME": str(tmp_path)}) == []
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    (tmp_path / ".claude" / "projects" / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    assert existing_transcripts(HOSTS.values(), {"HOME": str(tmp_path)}) == []


UNREAD = {
    "claude-code": [".claude/projects/-home-ada/a.jsonl.gz"],
    "codex": [".codex/archived_sessions/rollout-0.json", ".codex/sessions/2025/04/rollout-1.json"],
    "gemini-cli": [".gemini/tmp/shelf/chats/below/b.jsonl.bak"],
    "opencode": [".local/share/opencode/opencode.db.old"],
    "cursor": [],
}


@pytest.mark.parametrize("name", HOSTS)
def test_what_looks_like_a_session_beside_them_and_is_not_read_is_named(tmp_path: Path, name: str) -> None:
    lay(tmp_path, [*PLACES[name], *UNREAD[name], ".claude/projects/-home-ada/sessions-index.json"])
    (tmp_path / ".local" / "share" / "opencode").mkdir(parents=True, exist_ok=True)
    (tmp_path / ".local" / "share" / "opencode" / "opencode.db-wal").touch()
    found = unread_sessions([HOSTS[name]], {"HOME": str(tmp_path)})
    assert found == ({name: [str(tmp_path / place) for place in UNREAD[name]]} if UNREAD[name] else {})
    kept = existing_transcripts([HOSTS[name]], {"HOME": str(tmp_path)})
    assert [len(one.paths) for one in kept] == ([len(PLACES[name])] if PLACES[name] else [])
