"""A home that calls a hook in Python, as 0.2.0 made them without cargo, has the built one keep its events."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mnemic.runtime.capture import python_hook
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind
from tests.paths import built_hook
from tests.waiting import BOUND_S

EVENT = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": "/", "prompt": "the otter sleeps"}


def test_it_becomes_the_built_hook_and_keeps_what_it_is_given(tmp_path: Path) -> None:
    built_hook()
    home = tmp_path / "home"
    mind = create_mind(home, "default", SystemClock())
    command = [sys.executable, "-m", "mnemic.runtime.capture.python_hook", "claude-code", "prompt", "--home", str(home)]
    subprocess.run(command, input=json.dumps(EVENT).encode(), check=True, timeout=BOUND_S)
    assert list((mind.path / "spool").glob("*.spool"))


def test_where_none_was_built_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(SystemExit, match="mnemic-hook"):
        python_hook.main()
