"""What the tests of commands share: a user's folder, empty."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def user(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, empty, and no assistant's program in sight; the home is elsewhere, and no hook starts it."""
    folder = tmp_path / "a user's $folder"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "MNEMIC_OFF",
    ):
        monkeypatch.delenv(name, raising=False)
    (home / "run").mkdir(mode=0o700)
    stamp = home / "run" / "hook-start"
    stamp.touch()
    os.utime(stamp, (stamp.stat().st_mtime - 20, stamp.stat().st_mtime - 20))  # so lately that no hook starts another
    return folder
