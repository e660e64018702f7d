"""A process that aborts leaves no image of its memory, where the system would write one."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mnemic.runtime.keys.keys import disable_core_dumps
from tests.processes.faces import start
from tests.processes.hosted import tool_call
from tests.processes.serving import Assistant, ready
from tests.waiting import BOUND_S, until

SECRET = "the tea is in the blue tin behind the flour"
LIMITS = "import resource; print(*resource.getrlimit(resource.RLIMIT_CORE)); "


def allow_cores() -> None:
    """In a child: the largest cores that may be."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def limits_after(code: str) -> tuple[int, int]:
    """The limits of a process that was allowed cores and ran this."""
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}; {LIMITS}"],
        preexec_fn=allow_cores,
        capture_output=True,
        text=True,
        check=True,
        timeout=BOUND_S,
    )
    soft, hard = map(int, ended.stdout.split())
    return soft, hard


def test_cores_are_limited_to_less_than_the_least_and_whoever_looks_for_a_fault_can_allow_them() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    least = 1 if hard == resource.RLIM_INFINITY else min(1, hard)
    assert limits_after("from mnemic.runtime.keys.keys import disable_core_dumps; disable_core_dumps()") == (
        least,
        hard,
    )
    raised = f"import resource; resource.setrlimit(resource.RLIMIT_CORE, ({hard}, {hard}))"
    assert limits_after(f"from mnemic.runtime.keys.keys import disable_core_dumps; disable_core_dumps(); {raised}") == (
        hard,
        hard,
    )


def test_where_none_may_be_anyway_that_stays() -> None:
    none = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))"
    assert limits_after(f"{none}; from mnemic.runtime.keys.keys import disable_core_dumps; disable_core_dumps()") == (
        0,
        0,
    )


def test_it_can_be_said_twice() -> None:
    before = resource.getrlimit(resource.RLIMIT_CORE)
    try:
        disable_core_dumps()
        disable_core_dumps()
        assert resource.getrlimit(resource.RLIMIT_CORE)[0] in (0, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.mark.system
def test_a_process_that_serves_leaves_no_core_when_it_aborts(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    process = start("serve", "--engine", "embedded", "--home", home, cwd=folder, preexec_fn=allow_cores)
    try:
        assert ready(home).pid == process.pid
        with Assistant(home, tmp_path) as assistant:
            assistant.tool(tool_call(2, "memory_capture", text=SECRET))
            process.send_signal(signal.SIGABRT)
            assert process.wait(BOUND_S) == -signal.SIGABRT
    finally:
        process.kill()
        process.communicate()
    assert list(folder.iterdir()) == []


def test_a_command_that_works_alone_leaves_no_core_when_it_aborts(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    process = start("capture", "-", "--no-meaning", "--home", home, cwd=folder, preexec_fn=allow_cores)
    try:
        assert process.stdin is not None
        process.stdin.write(b'{"session": "s", "role": "user", "text": "%s"}\n' % SECRET.encode())
        process.stdin.flush()
        until((home / "minds" / "default" / "key").exists)
        os.kill(process.pid, signal.SIGABRT)
        assert process.wait(BOUND_S) == -signal.SIGABRT
    finally:
        process.kill()
        process.communicate()
    assert list(folder.iterdir()) == []
