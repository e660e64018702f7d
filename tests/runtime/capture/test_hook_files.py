"""What hosts start: put into the home whole, started from anywhere, and silent where Python is gone."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mnemic.errors import HookNotBuilt, InvalidValue
from mnemic.runtime.capture import hook_files as module
from mnemic.runtime.capture.hook_files import install_hook_files, remove_hook_files, required_hook_files
from mnemic.runtime.clock import SystemClock
from tests.paths import HOOK
from tests.processes.serving import ready
from tests.waiting import BOUND_S

CLOCK = SystemClock()
pytestmark = pytest.mark.skipif(not HOOK.exists(), reason=f"{HOOK} is not built")


@pytest.fixture(params=["plain", 'it\'s $a "folder"'])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param / "home"


def spooled(home: Path, mind: str = "default") -> int:
    return sum(path.stat().st_size for path in (home / "minds" / mind / "spool").glob("*.spool"))


def fire(home: Path, *more: str) -> subprocess.CompletedProcess[bytes]:
    (home / "run").mkdir(mode=0o700, exist_ok=True)
    (home / "run" / "hook-start").touch()  # a process was started just now, as far as the hook knows
    command = [home / "bin" / "mnemic-hook", "claude-code", "prompt", "--home", home, *more]
    payload = b'{"session_id": "s", "prompt": "hello"}'
    return subprocess.run(command, input=payload, capture_output=True, check=False, timeout=BOUND_S, cwd="/")


def test_where_no_cargo_built_the_hook_nothing_is_written_and_rust_is_named(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(place / "gone" / "python"))
    with pytest.raises(HookNotBuilt, match="no cargo built it") as refused:
        install_hook_files(place, "default", CLOCK)
    assert "Install Rust" in refused.value.remedy_text
    assert not place.exists()


def test_the_built_hook_is_copied_and_works(place: Path) -> None:
    install_hook_files(place, "work", CLOCK)
    assert not (place / "bin" / "mnemic-hook").is_symlink()
    ran = fire(place, "--mind", "work")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert spooled(place, "work") > 0


def test_they_are_their_users_alone_and_a_second_time_writes_nothing(place: Path) -> None:
    before = os.umask(0o022)
    try:
        assert install_hook_files(place, "default", CLOCK) != []
    finally:
        os.umask(before)
    assert install_hook_files(place, "default", CLOCK) == []
    assert all(file.is_installed for file in required_hook_files(place))
    for path in (place / "bin", *(place / "bin").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_one_that_differs_is_replaced_whole_while_the_old_one_may_run(place: Path) -> None:
    install_hook_files(place, "default", CLOCK)
    hook = place / "bin" / "mnemic-hook"
    hook.write_bytes(b"older")
    with hook.open("rb") as running:
        assert install_hook_files(place, "default", CLOCK) == [hook]
        assert running.read() == b"older"


def test_it_says_what_a_hook_starts_by_itself(place: Path) -> None:
    install_hook_files(place, "default", CLOCK)
    started = json.loads((place / "bin" / "hook.json").read_bytes())
    python = os.path.abspath(sys.executable)
    assert started == {
        "serve": [python, "-I", "-m", "mnemic", "serve", "--on-demand", "--home", str(place)],
        "answer": [python, "-I", "-m", "mnemic.session_start"],
    }


def test_where_users_have_packages_of_their_own_they_are_not_left_out(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.site, "ENABLE_USER_SITE", True)
    install_hook_files(place, "default", CLOCK)
    started = json.loads((place / "bin" / "hook.json").read_bytes())
    for command in (*started.values(), (place / "bin" / "mnemic").read_text("utf-8").split()):
        assert {"-E", "-P"} <= set(command)
        assert "-I" not in command


def test_nothing_that_the_environment_has_python_import_is_run(home: Path, tmp_path: Path) -> None:
    install_hook_files(home, "default", CLOCK)
    foreign, ran = tmp_path / "foreign", tmp_path / "ran"
    foreign.mkdir()
    (foreign / "sitecustomize.py").write_text(f"print('foreign')\nopen({str(ran)!r}, 'a').close()\n", "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(foreign)}

    def told(*command: object, given: bytes = b"") -> bytes:
        words = list(map(str, command))
        return subprocess.run(
            words, input=given, stdout=-1, check=True, timeout=BOUND_S, cwd="/", env=environment
        ).stdout

    hook = (home / "bin" / "mnemic-hook", "claude-code", "session-start", "--ask", "--home", home)
    answer = json.loads((home / "bin" / "hook.json").read_bytes())["answer"]
    assert b"foreign" not in told(*hook, given=b'{"session_id": "s", "source": "startup"}')
    assert ready(home).mode == "on-demand"
    assert told(*answer) == b""
    assert told(home / "bin" / "mnemic", "--version").startswith(b"mnemic, version ")
    assert not ran.exists()


def test_the_command_for_mcp_is_this_mnemic(place: Path) -> None:
    install_hook_files(place, "default", CLOCK)
    ran = subprocess.run(
        [place / "bin" / "mnemic", "--version"], capture_output=True, check=True, timeout=BOUND_S, cwd="/"
    )
    assert ran.stdout.startswith(b"mnemic, version ")


def test_a_mind_that_is_there_stays_and_one_that_is_not_is_made(place: Path) -> None:
    install_hook_files(place, "default", CLOCK)
    key = (place / "minds" / "default" / "key").read_bytes()
    install_hook_files(place, "default", CLOCK)
    install_hook_files(place, "other", CLOCK)
    assert (place / "minds" / "default" / "key").read_bytes() == key
    assert (place / "minds" / "other" / "spool.json").exists()
    with pytest.raises(InvalidValue):
        install_hook_files(place, "../x", CLOCK)


def test_removing_takes_all_of_it_and_nothing_else(place: Path) -> None:
    install_hook_files(place, "default", CLOCK)
    (place / "bin" / "mine").write_text("", "utf-8")
    removed = remove_hook_files(place)
    assert {path.name for path in removed} >= {"mnemic-hook", "mnemic", "hook.json"}
    assert [path.name for path in (place / "bin").iterdir()] == ["mine"]
    (place / "bin" / "mine").unlink()
    assert remove_hook_files(place) == []
    assert not (place / "bin").exists()
