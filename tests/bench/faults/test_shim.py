"""The shim counts the calls that change files below a folder, in children too, and hits just the one it is told."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mnemic.bench.faults.shim import FAULTS, Shim, ShimRecord, read_record

WRITER = """
import os, sys
folder = sys.argv[1]
file = os.open(f"{folder}/new", os.O_WRONLY | os.O_CREAT, 0o600)
for number in range(3):
    try:
        print(os.write(file, b"0123456789"), flush=True)
    except OSError as error:
        print(-error.errno, flush=True)
os.fsync(file)
os.rename(f"{folder}/new", f"{folder}/named")
os.unlink(f"{folder}/named") if len(sys.argv) > 2 else None
open("/dev/null", "w").write("it is not in the folder")
"""
"""Changes files of a folder by six calls (seven, where it is told more): open, three writes, fsync, rename."""
WRITES = (2, 3, 4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def attacked(
    shim: Shim, folder: Path, fault: str = "", at: int = 0, *more: str
) -> tuple[subprocess.CompletedProcess[str], ShimRecord]:
    record = folder.with_name("record")
    environment = shim.environment(record, folder, fault, at)
    command = [sys.executable, "-I", "-c", WRITER, str(folder), *more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done, read_record(record)


def test_every_call_that_changes_a_file_of_the_folder_is_counted_and_no_other(shim: Shim, folder: Path) -> None:
    assert attacked(shim, folder)[1] == ShimRecord(calls=6, hit=None)
    (folder / "named").unlink()
    assert attacked(shim, folder, "", 0, "unlinks")[1].calls == 7


def test_a_relative_path_is_taken_from_the_working_folder(shim: Shim, folder: Path) -> None:
    record = folder.with_name("record")
    for cwd, path in ((folder.parent, folder.name), (folder, ".")):
        command = [sys.executable, "-I", "-c", WRITER, path]
        subprocess.run(command, cwd=cwd, env=shim.environment(record, folder), capture_output=True, check=True)
        assert read_record(record).calls == 6


def test_a_child_is_counted_with_its_parent(shim: Shim, folder: Path) -> None:
    record = folder.with_name("record")
    children = (
        f"import subprocess, sys; [subprocess.run([sys.executable, '-I', '-c', {WRITER!r}, sys.argv[1]]) for _ in 'ab']"
    )
    command = [sys.executable, "-I", "-c", children, str(folder)]
    subprocess.run(command, env=shim.environment(record, folder), capture_output=True, check=True)
    assert read_record(record).calls == 12


@pytest.mark.parametrize("at", range(1, 7))
@pytest.mark.parametrize("fault", ["kill", "torn"])
def test_a_kill_hits_at_its_call_and_what_was_before_is_there(shim: Shim, folder: Path, fault: str, at: int) -> None:
    done, record = attacked(shim, folder, fault, at)
    assert done.returncode == -signal.SIGKILL
    assert record.calls == at
    assert record.hit is not None
    written = sum(at > write for write in WRITES) * 10
    if fault == "torn" and at in WRITES:
        written += 5
    named = fault == "torn" and at == 6
    exists = at > 1 or fault == "torn"
    assert (folder / "named").exists() == named
    assert (folder / "new").exists() == (exists and not named)
    if exists:
        assert (folder / ("named" if named else "new")).stat().st_size == written


@pytest.mark.parametrize(("fault", "told"), [("eio", errno.EIO), ("quota", errno.EDQUOT)])
def test_a_call_that_fails_once_is_told_and_the_next_one_goes_on(
    shim: Shim, folder: Path, fault: str, told: int
) -> None:
    done, record = attacked(shim, folder, fault, 3)
    assert done.stdout.split() == ["10", str(-told), "10"]
    assert (record.calls, record.hit) == (6, "write")
    assert (folder / "named").stat().st_size == 20


def test_a_full_disk_takes_half_of_a_write_and_nothing_more_that_needs_room(shim: Shim, folder: Path) -> None:
    done, record = attacked(shim, folder, "full", 3)
    assert done.stdout.split() == ["10", "5", str(-errno.ENOSPC)]
    assert record.hit == "write"
    assert "No space left on device" in done.stderr
    assert (folder / "new").stat().st_size == 15


def test_what_needs_no_room_is_not_refused_by_a_full_disk(shim: Shim, folder: Path) -> None:
    path = folder / "there"
    path.write_bytes(bytes(20))
    program = (
        "import os, sys; file = os.open(sys.argv[1], os.O_WRONLY); os.write(file, b'x' * 20); os.unlink(sys.argv[1])"
    )
    record = folder.with_name("record")
    environment = shim.environment(record, folder, "full", 1)
    subprocess.run([sys.executable, "-I", "-c", program, str(path)], env=environment, check=True)
    assert read_record(record) == ShimRecord(calls=2, hit=None)
    assert not path.exists()


def test_an_undisturbed_run_hits_nothing(shim: Shim, folder: Path) -> None:
    for fault in FAULTS:
        (folder / "named").unlink(missing_ok=True)
        done, record = attacked(shim, folder, fault, 100)
        assert (done.returncode, record.hit) == (0, None)
