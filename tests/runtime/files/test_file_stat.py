"""A transcript has changed where its file has, or what its database still keeps beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnemic.actors.kernel.ports import FileStat
from mnemic.runtime.files.file_stat import stat_transcript


def written(path: Path, size_bytes: int, at_s: int) -> Path:
    path.write_bytes(bytes(size_bytes))
    os.utime(path, (at_s, at_s))
    return path


def test_a_file_is_as_long_and_as_old_as_it_is(tmp_path: Path) -> None:
    assert stat_transcript(str(written(tmp_path / "a#b", 7, 100))) == FileStat(7, 100_000_000)


def test_a_database_is_measured_with_its_log_whichever_session_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "opencode.db", 7, 100)
    assert stat_transcript(f"{path}#ses_1") == FileStat(7, 100_000_000)
    written(tmp_path / "opencode.db-wal", 5, 200)
    assert stat_transcript(f"{path}#ses_1") == stat_transcript(str(path)) == FileStat(12, 200_000_000)


@pytest.mark.parametrize("path", ["/nowhere/a", "/nowhere/a#b", "", "a\0b", "/etc/passwd/x"])
def test_what_is_not_there_has_no_extent(path: str) -> None:
    assert stat_transcript(path) is None


def test_what_is_there_and_no_regular_file_is_empty(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert stat_transcript(str(tmp_path)) == stat_transcript(str(tmp_path / "pipe")) == FileStat(0, 0)
