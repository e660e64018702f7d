"""Injects faults into a command at the calls by which it changes files; ``shim.c`` is compiled when a bench starts.

The compiled shim is preloaded by the dynamic linker (``LD_PRELOAD``), which Linux alone has in this form. Above stands
`mnemic.bench.faults.write_calls`.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

FAULTS = {
    "kill": "killed by SIGKILL in place of the call",
    "torn": "killed after half of a write, or after all of another call",
    "eio": "the call fails with EIO, once",
    "quota": "the call fails with EDQUOT, once, if it needs room",
    "full": "from the call on, what needs room fails with ENOSPC; the first write is cut short instead",
}
"""What may happen at a call; the shim knows these names."""
_RECORD_BYTES = 4096
_HEAD = struct.Struct("<QQ")


class ShimRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a shim wrote down of one run."""

    calls: int
    """How many calls changed files below the folder, in the process and all that it started."""
    hit: str | None
    """The name of the call that a fault was injected into; ``None`` where there was none."""


class Shim:
    """A compiled shim."""

    def __init__(self, library: Path) -> None:
        self._library = library

    def environment(self, record: Path, folder: Path, fault: str = "", at: int = 0) -> dict[str, str]:
        """The variables that have a process counted, and one of its calls fail; `record` is made anew.

        Args:
            record: the file that the shim writes to, outside of `folder`.
            folder: calls that change files below it are counted.
            fault: one of `FAULTS`.
            at: the number of the call, from 1 on; 0 for none.
        """
        record.write_bytes(bytes(_RECORD_BYTES))
        return {
            "LD_PRELOAD": str(self._library),
            "MNEMIC_FAULT_RECORD": str(record),
            "MNEMIC_FAULT_FOLDER": str(folder.resolve()),
            "MNEMIC_FAULT_KIND": fault,
            "MNEMIC_FAULT_AT": str(at),
        }


def read_record(record: Path) -> ShimRecord:
    """What the shim wrote down, also of a process that was killed."""
    content = record.read_bytes()
    calls, injected = _HEAD.unpack_from(content)
    name = content[_HEAD.size :].split(b"\0", 1)[0].decode()
    return ShimRecord(calls=calls, hit=name if injected else None)


def why_no_shim() -> str | None:
    """Why no fault can be injected on this machine; ``None`` where it can."""
    if sys.platform != "linux":
        return "faults are injected by a preloaded library, on Linux alone"
    if shutil.which("cc") is None:
        return "there is no C compiler `cc` to build the shim that injects faults"
    return None


def build_shim(folder: Path) -> Shim:
    """Compile the shim into a folder.

    Raises:
        ValueError: the compiler refuses it.
    """
    library = folder / "shim.so"
    with as_file(files("mnemic.bench.faults") / "shim.c") as source:
        command = ["cc", "-O1", "-Wall", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"cc does not compile the shim that injects faults: {done.stderr.strip()}")
    return Shim(library)
