"""The files that `mnemic hooks export` writes: the same as an install's, but for paths; and the launcher in them."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.hooks.wire.commands import make_wiring
from mnemic.hooks.wire.exports import PLUGIN_PLACE, Kind, bundle, plan_export, plugin_files
from mnemic.hooks.wire.host import INSTRUCTIONS
from mnemic.hooks.wire.hosts import HOSTS
from mnemic.hooks.wire.wiring import plan_install, write_all
from mnemic.runtime.minds.homes import default_home, expand_home
from mnemic.runtime.serve.mcp.orders import ORDERS
from mnemic.runtime.serve.mcp.tools import INSTRUCTIONS as MCP_INSTRUCTIONS
from tests.paths import ROOT
from tests.processes.faces import git_project

LAUNCHER = ROOT / PLUGIN_PLACE / "launcher.sh"
AGAIN = "mnemic hooks export claude-code-plugin . --apply"
STARTS = ("hook", "claude-code", "session-start", "--ask")


def started(*arguments: str, given: bytes = b"{}", **variables: str) -> subprocess.CompletedProcess[bytes]:
    """The launcher, run as Claude Code's shell does."""
    command = ["sh", str(LAUNCHER), *arguments]
    return subprocess.run(command, input=given, capture_output=True, env={"PATH": "/usr/bin:/bin"} | variables)


def program(path: Path, text: str) -> Path:
    """An executable of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o700)
    return path


# --- what is written -------------------------------------------------------------------------------------------------


def test_the_plugin_in_the_repository_is_the_one_that_is_made_now() -> None:
    stale = [str(one.path) for one in plan_export("claude-code-plugin", ROOT, "0") if one.action != "unchanged"]
    assert stale == [], f"write it anew: {AGAIN}"
    held = {str(path.relative_to(ROOT / PLUGIN_PLACE)) for path in (ROOT / PLUGIN_PLACE).rglob("*") if path.is_file()}
    assert held == {*plugin_files()}


def test_its_hooks_are_those_of_an_install_and_no_path_of_this_machine_is_in_them(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path / "home", {"HOME": str(tmp_path)})
    text = "".join(plugin_files().values())
    for place in (str(ROOT), str(tmp_path), os.environ["HOME"] + "/", sys.prefix):
        assert place not in text
    made = json.loads(plugin_files()["hooks/hooks.json"])["hooks"]
    installed = {
        edit.path[-1]: edit.handler
        for file in HOSTS["claude-code"].file_edits(wiring)
        for edit in file.edits
        if hasattr(edit, "handler")
    }
    assert made.keys() == installed.keys()
    for event, ((handler,),) in ((name, [one["hooks"] for one in groups]) for name, groups in made.items()):
        assert handler["timeout"] == installed[event]["timeout"]
        assert ("--ask" in handler["command"]) == ("--ask" in installed[event]["command"])


def test_the_mcp_server_and_an_instructions_file_ask_a_model_for_the_same(tmp_path: Path) -> None:
    (change,) = plan_export("agents-md", tmp_path / "AGENTS.md", "1")
    written = " ".join((change.after or b"").decode().split())
    assert ORDERS in written
    assert ORDERS in MCP_INSTRUCTIONS
    for text in (written, MCP_INSTRUCTIONS):
        assert "memory_capture" not in text.replace(ORDERS, ""), "nothing beside it says when to keep"
        assert "memory_recall" not in text.replace(ORDERS, "")


def test_a_folder_that_is_another_marketplace_is_refused(tmp_path: Path) -> None:
    held = tmp_path / ".claude-plugin" / "marketplace.json"
    held.parent.mkdir()
    for text in ('{"name": "theirs"}', "[]", "no JSON"):
        held.write_text(text, "utf-8")
        with pytest.raises(InvalidValue, match="another marketplace"):
            plan_export("claude-code-plugin", tmp_path, "1.0.0")


def test_a_bundle_is_the_same_bytes_each_time_and_says_that_mnemic_has_to_be_installed(tmp_path: Path) -> None:
    assert bundle("1.2.3") == bundle("1.2.3")
    with zipfile.ZipFile(io.BytesIO(bundle("1.2.3"))) as archive:
        assert archive.namelist() == ["manifest.json", "server/launcher.sh"]
        manifest = json.loads(archive.read("manifest.json"))
        assert archive.read("server/launcher.sh") == LAUNCHER.read_bytes()
    assert (manifest["version"], manifest["manifest_version"]) == ("1.2.3", "0.3")
    assert "Mnemic has to be installed on this machine" in manifest["long_description"]
    with pytest.raises(InvalidValue, match="it ends otherwise"):
        plan_export("mcpb", tmp_path / "bundle.zip", "1.2.3")


@pytest.mark.parametrize("before", ["", "# Ours\n\nBe brief.\n", "# Ours\r\n", "no end of line"])
def test_the_block_is_put_once_and_leaves_the_rest(tmp_path: Path, before: str) -> None:
    path = tmp_path / "AGENTS.md"
    if before:
        path.write_bytes(before.encode())
    write_all(plan_export("agents-md", path, "0"))
    once = path.read_bytes()
    assert once.startswith(before.encode())
    assert INSTRUCTIONS.strip() in once.decode().replace("\r\n", "\n")
    (again,) = plan_export("agents-md", path, "0")
    assert again.action == "unchanged"


@pytest.mark.parametrize("way", ["the file", "a folder", "in a repository of dotfiles", "without a repository"])
def test_a_link_that_leads_out_of_a_repository_is_refused_by_its_real_path(tmp_path: Path, way: str) -> None:
    outside, repository = tmp_path / "outside", tmp_path / "repository"
    outside.mkdir()
    repository.mkdir()
    if way != "without a repository":
        git_project(repository)
    git_project(tmp_path if way == "in a repository of dotfiles" else outside)
    (outside / "rc").write_text("export PATH\n")
    path = repository / "AGENTS.md"
    if way == "a folder":
        (repository / "docs").symlink_to(outside)
        path = repository / "docs" / "rc"
    else:
        path.symlink_to(outside / "rc")
    with pytest.raises(InvalidValue, match=f"leads to {outside / 'rc'}, out of {repository}"):
        plan_export("agents-md", path, "0")


def test_a_link_that_is_put_there_after_the_plan_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "repository" / "AGENTS.md"
    path.parent.mkdir()
    plan = plan_export("agents-md", path, "0")
    path.symlink_to(tmp_path / "made")
    with pytest.raises(InvalidValue, match="a link leads to"):
        write_all(plan)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("kind", ["claude-code-plugin", "mcpb"])
def test_nor_do_other_exports_leave_where_they_are_written(tmp_path: Path, kind: Kind) -> None:
    repository = git_project(tmp_path / "repository")
    (tmp_path / "outside").mkdir()
    for name in ("plugins", "out", "a.mcpb"):
        (repository / name).symlink_to(tmp_path / "outside" / "at")
    for path in [repository / "a.mcpb"] if kind == "mcpb" else [repository, repository / "out"]:
        with pytest.raises(InvalidValue, match=f"out of {repository}"):
            plan_export(kind, path, "0")


def test_links_within_a_repository_and_on_the_way_to_it_are_followed(tmp_path: Path) -> None:
    repository = git_project(tmp_path / "disk" / "repository")
    (tmp_path / "code").symlink_to(tmp_path / "disk")
    (repository / "docs").mkdir()
    (repository / "docs" / "agents.md").touch()
    (repository / "AGENTS.md").symlink_to("docs/agents.md")
    write_all(plan_export("agents-md", tmp_path / "code" / "repository" / "AGENTS.md", "0"))
    assert (repository / "AGENTS.md").is_symlink()
    assert INSTRUCTIONS.strip() in (repository / "docs" / "agents.md").read_text()
    write_all(plan_export("claude-code-plugin", tmp_path / "code" / "repository", "0"))
    assert (repository / PLUGIN_PLACE / "launcher.sh").is_file()


# --- the launcher ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [STARTS, ("hook", "claude-code", "prompt"), ("hook", "claude-code", "tool")])
def test_where_mnemic_is_not_set_up_a_hook_ends_well_and_only_a_sessions_start_says_so(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    ran = started(*arguments, given=b"x" * 200_000, HOME=str(tmp_path))
    assert (ran.returncode, ran.stderr) == (0, b"")
    if arguments == STARTS:
        told = json.loads(ran.stdout)["systemMessage"]
        assert "install it, then run `mnemic setup`" in told
    else:
        assert ran.stdout == b""


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_hook_is_handed_over_with_its_home_and_never_fails(tmp_path: Path, code: int) -> None:
    home = tmp_path / "the memory's $home"
    program(home / "bin" / "mnemic-hook", f'printf "%s|" "$@"; cat; echo wrong >&2; exit {code}')
    ran = started(*STARTS, given=b'{"a": 1}', MNEMIC_HOME=str(home), HOME=str(tmp_path))
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.decode() == f'claude-code|session-start|--ask|--home|{home}|{{"a": 1}}'


def test_where_an_install_wired_the_assistant_the_plugins_hook_stands_back(tmp_path: Path) -> None:
    home = tmp_path / "a home"
    program(home / "bin" / "mnemic-hook", "echo told; cat >/dev/null")
    variables = {"MNEMIC_HOME": str(home), "HOME": str(tmp_path)}
    moved = variables | {"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}
    assert started(*STARTS, **variables).stdout == b"told\n"
    changes = plan_install(HOSTS["claude-code"], make_wiring(home, variables))
    write_all(changes)
    assert started(*STARTS, **variables).stdout == b""
    assert started(*STARTS, **moved).stdout == b"told\n"
    write_all([msgspec.structs.replace(one, before=one.after, after=b"{}") for one in changes])
    assert started(*STARTS, **variables).stdout == b"told\n"


@pytest.mark.parametrize(
    "variables",
    [
        *({}, {"XDG_DATA_HOME": "{}/data"}, {"MNEMIC_HOME": "{}/own"}, {"MNEMIC_HOME": "~/own"}, {"MNEMIC_HOME": ""}),
        *({"XDG_DATA_HOME": "."}, {"XDG_DATA_HOME": "data"}),
    ],
)
def test_it_finds_the_home_that_the_command_finds(
    tmp_path: Path, variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"HOME": str(tmp_path)} | {name: value.format(tmp_path) for name, value in variables.items()}
    for name in ("HOME", "XDG_DATA_HOME", "MNEMIC_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    home = expand_home(default_home(given))
    program(home / "bin" / "mnemic-hook", "echo found; cat >/dev/null")
    assert started(*STARTS, **given).stdout == b"found\n"


@pytest.mark.parametrize("home", [".", ".m", "a/home", "..", "~else/home"])
def test_a_home_that_is_no_absolute_path_is_refused_and_nothing_in_the_working_folder_is_run(
    tmp_path: Path, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    for place in (work / home, work / "mnemic", work / ".local", work):
        for name in ("mnemic", "mnemic-hook"):
            program(place / "bin" / name, "echo hijacked; cat >/dev/null")
    program(tmp_path / ".local" / "bin" / "mnemic", "echo own")
    monkeypatch.chdir(work)
    for variables in ({"MNEMIC_HOME": home, "HOME": str(tmp_path)}, {"HOME": "."}):
        ran = started(*STARTS, **variables)
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert "is no absolute path" in json.loads(ran.stdout)["systemMessage"]
        assert started("hook", "claude-code", "prompt", **variables).stdout == b""
        ran = started("mcp", **variables)
        assert (ran.returncode, ran.stdout) == (1, b"")
        assert b"is no absolute path" in ran.stderr


def test_a_program_of_the_working_folder_is_no_server_though_the_path_leads_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "work" / "mnemic", "echo hijacked")
    program(tmp_path / ".local" / "bin" / "mnemic", "echo own")
    monkeypatch.chdir(tmp_path / "work")
    assert started("mcp", HOME=str(tmp_path), PATH=".::/usr/bin:/bin").stdout == b"own\n"


def test_the_server_is_the_homes_else_the_one_in_the_path_else_the_users_own(tmp_path: Path) -> None:
    places: dict[str, Any] = {
        "home": tmp_path / "home" / "bin" / "mnemic",
        "path": tmp_path / "path" / "mnemic",
        "own": tmp_path / ".local" / "bin" / "mnemic",
    }
    for name, place in places.items():
        program(place, f'echo {name} "$@" "$MNEMIC_HOME"')
    variables = {
        "HOME": str(tmp_path),
        "MNEMIC_HOME": str(tmp_path / "home"),
        "PATH": f"{tmp_path / 'path'}:/usr/bin:/bin",
    }
    for name, place in places.items():
        ran = started("mcp", "--mind", "work", **variables)
        assert ran.stdout.decode().split() == [name, "mcp", "--mind", "work", variables["MNEMIC_HOME"]]
        shutil.move(place, tmp_path / f"no {name}")
    ran = started("mcp", **variables)
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert ran.stderr.startswith(b"Mnemic is not set up on this machine")


def test_a_variable_that_a_host_left_as_it_is_names_no_home(tmp_path: Path) -> None:
    program(tmp_path / ".local" / "bin" / "mnemic", 'echo "<$MNEMIC_HOME>"')
    assert started("mcp", HOME=str(tmp_path), MNEMIC_HOME="${user_config.home}").stdout == b"<>\n"
