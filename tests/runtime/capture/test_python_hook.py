"""What the hook in Python does where what it needs is not there; all else, `hook_contract.py` tests for both hooks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind
from mnemic.runtime.spool.files import read_losses
from tests.paths import PYTHON_HOOK
from tests.waiting import BOUND_S

HEAVY = {"numpy", "apsw", "click", "mcp", "ray", "starlette", "torch", "uvicorn"}


def test_it_loads_nothing_that_is_slow_to_load() -> None:
    code = f"import sys, {PYTHON_HOOK[-1]}; print(*set({sorted(HEAVY)}).intersection(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=BOUND_S, check=True
    )
    assert loaded.stdout.split() == []


def test_a_loss_that_cannot_even_be_counted_is_no_error(tmp_path: Path) -> None:
    mind = create_mind(tmp_path, "default", SystemClock())
    mind.spool_config.unlink()
    mind.losses.unlink()
    command = [*PYTHON_HOOK, "codex", "tool", "--home", str(tmp_path)]
    mind.losses.mkdir()
    done = subprocess.run(command, input=b"a payload", capture_output=True, timeout=BOUND_S, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
    mind.losses.rmdir()
    assert read_losses(mind.spool).lost == 0
