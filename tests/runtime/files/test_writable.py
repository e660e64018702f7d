"""A folder that cannot be written is said to be so, and why, without writing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from mnemic.runtime.files.writable import unwritable_reason
from tests.disks import bound_by_permissions, fill_up, own_disk
from tests.runtime.building import child, finish


def test_of_a_folder_that_can_be_written_or_is_not_there_nothing_is_said(tmp_path: Path) -> None:
    assert unwritable_reason(tmp_path) is None
    assert unwritable_reason(tmp_path / "none") is None
    assert list(tmp_path.iterdir()) == [], "it looks, and writes nothing"


def print_reason(folder: str) -> None:
    """In a process: say why a folder cannot be written."""
    print(json.dumps(unwritable_reason(Path(folder))))


def test_what_its_mode_forbids(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    said = finish(child("runtime.files.test_writable:print_reason", tmp_path, before=bound_by_permissions()))
    tmp_path.chmod(0o755)
    assert json.loads(said) == f"you may not write to {tmp_path}"


def fill_and_remount(folder: str) -> None:
    """In a process that has a disk of its own: say what is said of it empty, full, and read-only."""
    disk = Path(folder)
    said = [unwritable_reason(disk)]
    taken = fill_up(disk)
    said.append(unwritable_reason(disk))
    taken.unlink()
    said.append(unwritable_reason(disk))
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    said.append(unwritable_reason(disk))
    print(json.dumps(said))


def test_a_full_disk_and_a_read_only_one(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    before = own_disk(disk)
    empty, full, freed, read_only = json.loads(
        finish(child("runtime.files.test_writable:fill_and_remount", disk, before=before))
    )
    assert (empty, freed) == (None, None)
    assert full == f"the disk that holds {disk} is full"
    assert read_only == f"{disk} is on a read-only file system"
