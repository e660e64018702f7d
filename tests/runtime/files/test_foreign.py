"""A file below a folder is read only where it is in there, and only up to a length."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnemic.runtime.files.foreign import read_below


def test_a_file_below_a_folder_is_read_and_the_folder_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "inside" / "deep").mkdir(parents=True)
    (tmp_path / "inside" / "deep" / "file").write_bytes(b"four")
    (tmp_path / "link").symlink_to(tmp_path / "inside")
    assert read_below(str(tmp_path / "link"), "deep/file", 4) == b"four"
    with pytest.raises(OSError, match="it is longer than 3 bytes"):
        read_below(str(tmp_path / "link"), "deep/file", 3)


@pytest.mark.parametrize(
    "path", ["", "/", "file/", "../outside", "./file", "folder/file", "link", "folder", "pipe", "deep", "absent"]
)
def test_what_leads_out_of_the_folder_or_is_no_file_is_refused(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    (inside / "file").write_bytes(b"in")
    (tmp_path / "outside").write_bytes(b"out")
    (inside / "link").symlink_to(tmp_path / "outside")
    (inside / "folder").symlink_to(inside)
    os.mkfifo(inside / "pipe")
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    with pytest.raises(OSError, match="Errno"):
        read_below(str(inside), path, 10)
    assert len(os.listdir("/proc/self/fd") if before else []) == len(before), "nothing stays open"
