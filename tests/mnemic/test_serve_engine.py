"""The engine that serves a home: the one its settings name, whoever starts the process; one that is missing is told."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import NotServed
from mnemic.runtime.api.lock import server_info
from mnemic.runtime.client.launcher import ensure_running
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind
from mnemic.runtime.minds.run_dir import RunDir
from mnemic.runtime.version import install_command
from tests.paths import built_hook
from tests.processes.faces import COMMAND, Outcome, run, start
from tests.processes.hosted import tool_call
from tests.processes.serving import Assistant, gone, info_of, ready
from tests.waiting import BOUND_S, until

CLOCK = SystemClock()
NOT_THERE = "The engine 'ray' cannot be used: the package ray is not installed."
INSTALL = f"Install it with `{install_command('mnemic[ray]')}`"


def set_engine(home: Path, engine: str, more: str = "") -> None:
    """Have the settings of a home name an engine."""
    kept = (home / "mnemic.toml").read_text("utf-8").partition("[runtime]")[0]
    (home / "mnemic.toml").write_text(f'{kept}[runtime]\nengine = "{engine}"\n{more}', "utf-8")


@pytest.fixture
def without_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no process that the test starts be able to import Ray."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['ray'] = None\n", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))


# --- Ray is not installed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [("--on-demand",), ("--engine", "ray")])
def test_a_process_that_is_to_serve_on_a_ray_that_is_missing_says_what_to_do(
    home: Path, without_ray: None, options: tuple[str, ...]
) -> None:
    if "ray" not in options:
        set_engine(home, "ray")
    ended = run("serve", *options, "--home", home)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"mnemic: {NOT_THERE} {INSTALL}, or use the embedded engine")
    assert RunDir(home).read_info() is None


@pytest.mark.system
def test_the_option_serves_where_the_engine_that_the_settings_name_is_missing(home: Path, without_ray: None) -> None:
    set_engine(home, "ray")
    process = start("serve", "--engine", "embedded", "--home", home)
    try:
        assert ready(home).engine == "embedded"
        checks = {one["name"]: one for one in run("doctor", "--home", home, "--json").json["checks"]}
        assert checks["engine"]["state"] == "wrong"
    finally:
        process.kill()
        process.communicate()


def test_status_doctor_and_mnemic_alone_tell_a_missing_ray(
    home: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Outcome]
) -> None:
    assert command("remember", "the otter is well", "--home", home).code == 0
    set_engine(home, "ray")
    monkeypatch.setitem(sys.modules, "ray", None)
    status = command("status", "--home", home, "--json").json
    assert status["actor_system"]["engine"] == "embedded", "it works alone"
    assert [one for one in status["degraded"] if one.startswith(f"no process can serve this home: {NOT_THERE}")]
    assert NOT_THERE in command("--home", home).out
    check = next(one for one in command("doctor", "--home", home, "--json").json["checks"] if one["name"] == "engine")
    assert (check["state"], check["detail"]) == ("wrong", f"no process can serve this home: {NOT_THERE}")
    assert check["remedy"].startswith(INSTALL)


@pytest.mark.system
def test_while_ray_is_missing_hooks_lose_nothing_and_commands_work_alone(home: Path, without_ray: None) -> None:
    assert run("remember", "the otter is well", "--home", home).code == 0
    set_engine(home, "ray")
    (home / "bin").mkdir()
    serve = [*COMMAND, "serve", "--on-demand", "--home", str(home)]
    (home / "bin" / "hook.json").write_text(json.dumps({"serve": serve}), "utf-8")
    about = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": str(home), "prompt": "the otter sleeps"}
    kept = subprocess.run(
        [built_hook(), "claude-code", "prompt", "--home", str(home)],
        input=json.dumps(about).encode(),
        capture_output=True,
        timeout=BOUND_S,
        check=True,
    )
    assert (kept.stdout, kept.stderr) == (b"", b"")
    assert (home / "run" / "hook-start").exists(), "it tried to have somebody read what it kept"
    with pytest.raises(NotServed, match="does not start: The engine 'ray' cannot be used"):
        ensure_running(home, CLOCK)
    found = run("recall", "otter", "--scope", "*", "--home", home, "--json").json["hits"]
    assert {hit["text"] for hit in found} == {"the otter is well", "the otter sleeps"}
    assert info_of(home) is None


def test_the_status_of_a_locked_mind_tells_a_missing_ray_too(
    home: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Outcome]
) -> None:
    create_mind(home, "default", CLOCK, passphrase="correct horse battery")
    set_engine(home, "ray")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert f"degraded: no process can serve this home: {NOT_THERE}" in command("status", "--home", home).out


@pytest.mark.system
def test_a_process_that_is_told_to_change_to_a_missing_ray_serves_on_and_says_so(home: Path, without_ray: None) -> None:
    process = start("serve", "--home", home)
    try:
        info = ready(home)
        assert (info.pid, info.engine) == (process.pid, "embedded")
        set_engine(home, "ray")
        os.kill(info.pid, signal.SIGHUP)
        until(lambda: bool((server_info(home, "default") or {})["degraded"]))
        assert run("remember", "the otter is well", "--home", home).code == 0
        told = f"degraded: the settings were not reloaded: {NOT_THERE} {INSTALL}"
        assert told in run("status", "--home", home).out
        assert ready(home).pid == process.pid
    finally:
        process.kill()
        process.communicate()


@pytest.mark.system
def test_what_the_command_line_chose_stays_when_the_settings_change(home: Path, without_ray: None) -> None:
    process = start("serve", "--engine", "embedded", "--home", home)
    try:
        before = ready(home).settings
        set_engine(home, "ray")
        os.kill(process.pid, signal.SIGHUP)
        until(lambda: (info := info_of(home)) is not None and info.settings != before)
        assert (ready(home).pid, (server_info(home, "default") or {})["degraded"]) == (process.pid, [])
        found = json.loads(run("doctor", "--json", "--home", home).out)["checks"]
        (check,) = [one for one in found if one["name"] == "engine"]
        assert check["detail"] == f"no process can serve this home after the one that does: {NOT_THERE}"
    finally:
        process.kill()
        process.communicate()


# --- Ray is there ----------------------------------------------------------------------------------------------------

on_ray = [
    pytest.mark.system,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
]


@pytest.fixture
def ray_named(home: Path) -> Path:
    """A home whose settings name Ray."""
    set_engine(home, "ray", "idle_exit_s = 5.0\nsleep_after_s = 1.0\n")
    return home


class TestOnRay:
    pytestmark = on_ray

    def test_what_an_assistant_starts_serves_on_the_engine_of_the_settings_and_leaves_when_idle(
        self, ray_named: Path
    ) -> None:
        with Assistant(ray_named, allow="read-all") as assistant:
            assistant.tool(tool_call(2, "memory_capture", text="an otter"))
            info = ready(ray_named)
            assert (info.engine, info.mode) == ("ray", "on-demand")
            status = assistant.tool(tool_call(3, "memory_status"))
            assert status["process"]["engine"] == "ray"
        until(lambda: info_of(ray_named) is None)
        until(lambda: gone(info.pid))
        assert list((ray_named / "run").glob("ray-*")) == []
        alone = run("recall", "otter", "--home", ray_named, "--json").json
        assert [hit["text"] for hit in alone["hits"]] == ["an otter"]
        assert info_of(ray_named) is None, "a command that works alone starts no Ray"

    def test_the_foreground_follows_the_settings_until_an_option_says_otherwise(self, home: Path) -> None:
        set_engine(home, "ray")
        process = start("serve", "--home", home)
        try:
            assert (ready(home).engine, ready(home).pid) == ("ray", process.pid)
            assert (server_info(home, "default") or {})["engine"] == "ray"
            set_engine(home, "embedded")
            os.kill(process.pid, signal.SIGHUP)
            until(lambda: (info := info_of(home)) is not None and (info.engine, info.state) == ("embedded", "ready"))
            assert ready(home).pid == process.pid, "it started itself again"
            set_engine(home, "ray")
            process.terminate()
            assert process.wait(BOUND_S) == 0
        finally:
            process.kill()
            process.communicate()
        process = start("serve", "--engine", "embedded", "--home", home)
        try:
            assert ready(home).engine == "embedded"
        finally:
            process.kill()
            process.communicate()
