"""Exporting by the command line, and what an install, a setup and a status make of an enabled plugin."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.runtime.version import __version__
from tests.processes.faces import Outcome
from tests.processes.users import everything

Command = Callable[..., Outcome]


@pytest.fixture
def plugin(user: Path) -> Path:
    """Settings of Claude Code in which the plugin is enabled."""
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"enabledPlugins": {"mnemic@mnemic": True}}), "utf-8")
    return settings


def test_a_plugin_is_shown_then_written_and_then_there(command: Command, user: Path) -> None:
    folder = user / "exported"
    shown = command("hooks", "export", "claude-code-plugin", folder)
    assert shown.code == 0
    assert "marketplace.json: would be made" in shown.out
    assert "nothing was written; --apply does it; --diff shows every line of it" in shown.out
    assert not folder.exists()
    assert '+      "command": "sh",' in command("hooks", "export", "claude-code-plugin", folder, "--diff").out
    done = command("hooks", "export", "claude-code-plugin", folder, "--apply")
    assert done.code == 0
    assert "next: `claude plugin marketplace add '" in done.out
    assert json.loads((folder / "plugins/claude-code/.claude-plugin/plugin.json").read_text())["name"] == "mnemic"
    again = command("hooks", "export", "claude-code-plugin", folder, "--apply")
    assert again.out == "nothing to do: it is all there already\n"


def test_a_bundle_is_written_with_this_version(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "mnemic.mcpb"
    done = command("hooks", "export", "mcpb", path, "--apply", "--json")
    assert [(one["path"], one["change"]) for one in done.json["files"]] == [(str(path), "made")]
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("manifest.json"))["version"] == __version__
    assert command("hooks", "export", "mcpb", tmp_path / "mnemic.zip", "--apply").code == 2


def test_an_agents_md_that_cannot_be_one_is_named_and_nothing_is_written(command: Command, tmp_path: Path) -> None:
    refused = command("hooks", "export", "agents-md", tmp_path, "--apply")
    assert refused.code == 2
    assert str(tmp_path) in refused.err
    assert everything(tmp_path) == {}


def test_an_install_of_all_leaves_to_the_plugin_what_it_does(
    command: Command, user: Path, home: Path, plugin: Path
) -> None:
    before = everything(user)
    done = command("hooks", "install", "--apply", "--no-backfill", "--home", home)
    assert done.code == 0
    assert "claude-code: nothing changes, its plugin does all of it" in done.out
    assert everything(user) == before
    assert (home / "bin" / "mnemic-hook").exists()
    assert (home / "minds" / "default").is_dir()
    status = command("hooks", "status", "claude-code", "--home", home, "--json")
    told = status.json["hosts"]["claude-code"]
    assert (status.code, told["plugin"], told["wired"], told["state"], told["wrong"]) == (0, True, False, "ok", [])
    assert "claude-code: wired by its plugin" in command("hooks", "status", "claude-code", "--home", home).out
    alone = command("--home", home)
    assert "wired: Claude Code" in alone.out
    checks = {one["name"]: one for one in command("doctor", "--home", home, "--json").json["checks"]}
    assert checks["hooks claude-code"]["detail"] == "Claude Code: by its plugin"


def test_without_what_hooks_call_the_plugin_is_told_to_keep_nothing(
    command: Command, user: Path, home: Path, plugin: Path
) -> None:
    status = command("hooks", "status", "claude-code", "--home", home, "--json")
    told = status.json["hosts"]["claude-code"]
    assert (status.code, told["state"]) == (1, "wrong")
    assert told["remedy"].startswith("mnemic setup --yes")


def test_setup_prepares_the_home_and_writes_no_settings(command: Command, user: Path, home: Path, plugin: Path) -> None:
    before = everything(user)
    done = command("setup", "--yes", "--no-backfill", "--home", home)
    assert done.code == 0
    assert "Claude Code  by its plugin" in done.out
    assert everything(user) == before
    assert (home / "bin" / "mnemic-hook").exists()


def test_whoever_names_it_wires_it_and_is_told_that_it_is_there_twice(
    command: Command, user: Path, home: Path, plugin: Path
) -> None:
    done = command("hooks", "install", "claude-code", "--apply", "--no-backfill", "--home", home)
    assert done.code == 0
    assert "its plugin is enabled too" in done.out
    again = command("hooks", "install", "all", "--apply", "--no-backfill", "--home", home)
    assert "claude-code: nothing changes" in again.out
    assert "its plugin does all of it" not in again.out


def test_a_plugin_that_is_switched_off_does_nothing(command: Command, user: Path, home: Path, plugin: Path) -> None:
    plugin.write_text(json.dumps({"enabledPlugins": {"mnemic@mnemic": False, "other@mnemic": True}}), "utf-8")
    shown = command("hooks", "install", "--home", home)
    assert "claude-code: would be wired" in shown.out
