"""Disks of their own for tests: a small one that only one process and its children see, full or read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest


def own_disk(folder: Path, size: str = "2m") -> list[str]:
    """What stands before a command that is to see an empty disk at a folder; where none can be mounted, the test is
    skipped.
    """
    folder.mkdir()
    shell = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size={size} none "$0" && exec "$@"', str(folder)]
    try:
        subprocess.run([*shell, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    return shell


def bound_by_permissions() -> list[str]:
    """What stands before a command that is to be refused what a file's mode forbids, which root is not."""
    if os.geteuid():
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everything, and there is no setpriv to take that from a command")
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


def fill_up(folder: Path) -> Path:
    """Take what room a disk has; returns the file that has it."""
    taken = folder / "taken"
    with suppress(OSError), taken.open("ab", buffering=0) as file:
        while file.write(bytes(512)):
            pass
    return taken
