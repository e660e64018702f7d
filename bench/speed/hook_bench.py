"""The hook bench: how long an assistant waits for our hook, beside `true`.

Each is a whole process, from the moment that it is started to its end, its event written into a pipe meanwhile, as a
host does it. They take turns, so that whatever else the machine does hits all alike. In the end the spool is read: what
was written and cannot be opened, or is another text, fails the bench.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mnemic.actors.kernel.events import HookRecord
from mnemic.bench.harness.homes import MIND_NAME
from mnemic.bench.harness.measure import Row, goal, quantiles, skipped
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.spool.spool import Spool

EXECUTABLE = Path(sys.executable).parent / "mnemic-hook"
"""Where the executable is installed: beside `mnemic`."""
SIZES = (2_000, 1_000_000)
"""Events, in bytes: an ordinary one, and one with a long tool result."""
WHOLE = 50_000_000
"""A tool result that nobody expects, in bytes."""
TURNS = 20
"""How often all take their turn in a round; with long events, a third as often."""
_OWN, _TRUE = "mnemic-hook", "baseline: true"
_GOAL_MS, _GOAL_MIB, _GOAL_WHOLE_S, _GOAL_SIZE_MB = 5.0, 16.0, 1.0, 3.0
_BECOME_HEIR = 36  # PR_SET_CHILD_SUBREAPER


def run(*, rounds: int = 15) -> Iterator[Row]:
    """Fire events."""
    with tempfile.TemporaryDirectory(prefix="mnemic-hook-") as folder:
        home = Path(folder) / "home"
        create_mind(home, MIND_NAME, SystemClock())
        yield from _rows(home, rounds * TURNS)


def _rows(home: Path, turns: int) -> Iterator[Row]:
    if not EXECUTABLE.exists():
        yield {"what": "all"} | skipped(_OWN, f"{EXECUTABLE} was not built")
        return
    size_mb = EXECUTABLE.stat().st_size / 1e6
    yield {"what": "executable", "of": _OWN, "mb": size_mb} | goal("mb", size_mb, _GOAL_SIZE_MB)
    hook = (str(EXECUTABLE), "claude-code", "tool", "--home", str(home))
    fired = _FiredEvents(home)
    for size, count in zip(SIZES, (turns, max(1, turns // 3)), strict=False):
        commands: dict[str, Sequence[str]] = {_TRUE: (shutil.which("true") or "true",), _OWN: hook}
        taken_ms: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(count):
            for name, command in commands.items():
                payload = b"" if name == _TRUE else fired.next_event(size)
                taken_ms[name].append(run_hook(command, payload))
        for name, each_ms in taken_ms.items():
            times = quantiles(each_ms)
            row = {"what": "event", "event_bytes": size, "of": name, **times}
            yield row | (goal("ms", times["p95_ms"], _GOAL_MS) if name == _OWN else {})
    taken_s = run_hook(hook, fired.next_event(WHOLE)) / 1e3
    yield {"what": "event", "event_bytes": WHOLE, "of": _OWN, "s": taken_s} | goal("s", taken_s, _GOAL_WHOLE_S)
    for size in (*SIZES, WHOLE):
        about = {"what": "peak resident memory", "event_bytes": size}
        try:
            mib = peak_mib(hook, fired.next_event(size))
        except (OSError, AttributeError) as error:  # no such call: this is not Linux
            yield about | skipped(_OWN, f"nobody counts it here ({error})")
        else:
            yield about | {"of": _OWN, "mib": mib} | (goal("mib", mib, _GOAL_MIB) if size != WHOLE else {})
    yield fired.verify_spool()


class _FiredEvents:
    """The events that were fired; each is another text, so that what comes back can be told apart."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._sizes: list[int] = []

    def next_event(self, size: int) -> bytes:
        """The next event, of so many bytes."""
        self._sizes.append(size)
        return event(len(self._sizes) - 1, size, str(self._home))

    def verify_spool(self) -> Row:
        """What the spool holds of them."""
        folder, keys = open_mind(self._home, MIND_NAME)
        spool, offsets = Spool(folder.spool, keys.spool_private, SystemClock()), dict[bytes, int]()
        whole, others = set[int](), 0
        while (part := spool.read(offsets, 100, 1 << 26)) is not None:
            offsets[part.file] = part.offset
            for record in part.records:
                number = self._number(record) if isinstance(record, HookRecord) else None
                if number is None or number in whole:
                    others += 1
                else:
                    whole.add(number)
        lost = len(self._sizes) - len(whole)
        state = "ok" if not lost and not others else "failed"
        return {"what": "what is kept", "state": state, "events": len(self._sizes), "lost": lost, "other": others}

    def _number(self, record: HookRecord) -> int | None:
        number = int(json.loads(record.payload)["number"])
        return number if record.payload == event(number, self._sizes[number], str(self._home)) else None


def event(number: int, size: int, cwd: str) -> bytes:
    """An event as a host writes it: so many bytes of JSON, another text for each number."""
    fields = {"session_id": f"session-{number % 7}", "cwd": cwd, "number": number, "tool_response": ""}
    frame = json.dumps(fields).encode()
    line = f"{number} the quick brown fox jumps over the lazy dog\\n".encode()
    room = size - len(frame)
    return frame[:-2] + (line * (room // len(line) + 1))[: room - 1].rstrip(b"\\").ljust(room, b".") + frame[-2:]


def run_hook(command: Sequence[str], payload: bytes) -> float:
    """Milliseconds from the start of a process to its end."""
    none = subprocess.DEVNULL
    start = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=none, stderr=none) as process:
        assert process.stdin is not None
        process.stdin.write(payload)  # and not `communicate`, which writes 4 KB at a time
    taken_ms = (time.perf_counter() - start) * 1000
    if process.returncode:
        raise ValueError(f"{command[0]} ended with {process.returncode}")
    return taken_ms


def peak_mib(command: Sequence[str], payload: bytes) -> float:
    """The most that a process had resident, in MiB, by the kernel's own account.

    It is charged with what its parent had resident when it was started, and this one has much. So a shell starts it and
    leaves, and who inherits it is told what it had.

    Raises:
        OSError, AttributeError: this system does not tell.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_BECOME_HEIR, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    try:
        reading, writing = os.pipe()
        with open(writing, "wb") as pipe:
            with open(reading, "rb") as source:
                script = 'exec 3<&0; "$@" <&3 >/dev/null 2>&1 & echo $!'
                shell = ["/bin/sh", "-c", script, "sh", *command]
                started = subprocess.run(shell, stdin=source, stdout=subprocess.PIPE, check=True)
            pipe.write(payload)
        _, _, used = os.wait4(int(started.stdout), 0)
    finally:
        libc.prctl(_BECOME_HEIR, 0, 0, 0, 0)
    return used.ru_maxrss / 1024
