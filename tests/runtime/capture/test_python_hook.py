"""What the hook in Python reads, and does where what it needs is gone; `hook_contract.py` tests the rest of both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.capture.python_hook import branch_of, read_input, session_and_folder
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


def test_what_the_host_never_ends_is_what_came_of_it_in_time() -> None:
    reader, writer = os.pipe()
    with open(reader, "rb"), open(writer, "wb", buffering=0) as host:
        host.write(b"an event")
        assert read_input(reader, 0.05) == (b"an event", True)
        assert read_input(reader, 0.05) == (b"", True)


def test_what_breaks_off_is_not_all() -> None:
    folder = os.open("/", os.O_RDONLY)
    try:
        assert read_input(folder) == (b"", False)
    finally:
        os.close(folder)


def test_of_a_folder_whose_name_no_system_takes_the_branch_is_the_one_around_what_may_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    asked: list[object] = []
    look = os.path.isfile
    monkeypatch.setattr(os.path, "isfile", lambda path: asked.append(path) or look(path))
    assert branch_of(os.fsencode(tmp_path) + b"/a" * 10_000) == b"main"
    assert len(asked) <= 2048


@given(st.binary(max_size=300))
def test_any_bytes_route_somewhere(payload: bytes) -> None:
    session, folder = session_and_folder(payload)
    assert isinstance(session, bytes)
    assert folder


@given(st.binary(max_size=300))
def test_what_follows_the_fields_changes_nothing(rest: bytes) -> None:
    assert session_and_folder(b'{"session_id":"s","cwd":"/p","' + rest) == (b"s", b"/p")


def test_what_is_nested_deeper_than_anybody_needs_costs_the_fields_behind_it_alone() -> None:
    deep = b'{"session_id":"s","deep":' + b"[" * 200_000 + b"]" * 200_000 + b',"cwd":"/p"}'
    assert session_and_folder(deep) == (b"s", os.getcwdb())


def test_bytes_that_are_no_utf_8_and_half_pairs_come_back() -> None:
    payload = b'{"session_id":"\xff\\udcfe","cwd":"/\\ud83d \\udcfe"}'
    assert session_and_folder(payload) == (b"\xff\xfe", b"/\xed\xa0\xbd \xfe")
