"""A host's version: asked of its program, bounded, and said where no test has run that one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mnemic.hooks.hosts.opencode_database import UNTRIED
from mnemic.hooks.wire import versions
from mnemic.hooks.wire.hosts import HOSTS
from mnemic.hooks.wire.versions import HostVersion, ask_version, ask_versions, untried_note, version_notes
from mnemic.runtime.files.programs import find_program
from tests.paths import ROOT

NPM = {
    "claude-code": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini-cli": "@google/gemini-cli",
    "opencode": "opencode-ai",
}
"""What each host is called in the npm registry."""


def program(folder: Path, name: str, script: str) -> dict[str, str]:
    """A program in a folder of its own, and the environment in which it is found."""
    (folder / "bin").mkdir(exist_ok=True)
    path = folder / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return {"HOME": str(folder), "PATH": f"{folder / 'bin'}:/usr/bin:/bin"}


def test_the_tests_run_the_versions_that_the_table_names() -> None:
    installed = dict(re.findall(r"(\S+)@(\d[\w.-]*)", (ROOT / "Makefile").read_text("utf-8")))
    assert {name: host.tested for name, host in HOSTS.items() if host.tested} == {
        name: installed[package] for name, package in NPM.items()
    }
    assert not HOSTS["cursor"].tested


@pytest.mark.parametrize("name", NPM)
def test_docs_name_the_versions_that_the_tests_run(name: str) -> None:
    told = f"## {HOSTS[name].title} {HOSTS[name].tested}\n"
    assert told in (ROOT / "docs" / "capture.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("2.1.197 (Claude Code)", "2.1.197"),
        ("codex-cli 0.169.0", "0.169.0"),
        ("opencode v2.0.12", "2.0.12"),
        ("0.0.0-beta-19381", "0.0.0-beta-19381"),
        ("a warning\n0.61.0", "0.61.0"),
    ],
)
def test_a_version_is_found_in_what_a_program_prints(tmp_path: Path, printed: str, version: str) -> None:
    asked = ask_version(HOSTS["codex"], program(tmp_path, "codex", f"printf '%s\\n' '{printed}'"))
    assert asked == HostVersion(version=version)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 3", "`codex --version` ended with 3"),
        ("echo words", "`codex --version` printed none"),
        ("exec sleep 60", "`codex --version` did not end within 0.05 s"),
    ],
)
def test_a_program_that_does_not_say_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    monkeypatch.setattr(versions, "_ANSWERS_S", 0.05 if "sleep" in script else 30.0)
    assert ask_version(HOSTS["codex"], program(tmp_path, "codex", script)) == HostVersion(why=why)


def test_a_program_that_cannot_be_run_says_why(tmp_path: Path) -> None:
    here = program(tmp_path, "codex", "")
    (tmp_path / "bin" / "codex").write_text("#!/nowhere/sh\n")
    assert ask_version(HOSTS["codex"], here).why == "`codex --version` could not be run (No such file or directory)"
    assert ask_version(HOSTS["gemini-cli"], here).why == "there is no gemini in $PATH"


def test_it_is_asked_with_nothing_to_read_and_not_in_the_folder_that_this_runs_in(tmp_path: Path) -> None:
    here = program(tmp_path, "codex", 'cat > "$HOME/read"; pwd > "$HOME/where"; echo 1.2.3')
    assert ask_version(HOSTS["codex"], here).version == "1.2.3"
    assert (tmp_path / "read").read_bytes() == b""
    assert (tmp_path / "where").read_text() == "/\n"


def test_no_program_of_the_folder_that_this_runs_in_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "codex", "touch ran; echo 1.2.3")
    monkeypatch.chdir(tmp_path / "bin")
    for path in (".", "", ":", "./", "../bin", ":/usr/bin"):
        assert find_program("codex", {"PATH": path}) is None
    assert find_program("codex", {}) is None
    assert find_program("codex", {"PATH": f".:{tmp_path / 'bin'}"}) == str(tmp_path / "bin" / "codex")


def test_those_that_are_here_and_that_a_test_runs_are_asked(tmp_path: Path) -> None:
    here = program(tmp_path, "codex", "echo 0.169.0")
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".claude").mkdir()
    assert ask_versions(HOSTS.values(), here) == {
        "claude-code": HostVersion(why="there is no claude in $PATH"),
        "codex": HostVersion(version="0.169.0"),
    }
    assert ask_versions([], here) == {}


def test_a_version_that_no_test_has_run_is_said_and_the_tested_one_is_not() -> None:
    codex = HOSTS["codex"]
    assert version_notes(codex, HostVersion(version=codex.tested)) == []
    (told,) = version_notes(codex, HostVersion(version="9.9.9"))
    assert told == "its version is 9.9.9, which no test has run: they run 0.169.0"
    (told,) = version_notes(codex, HostVersion(why="there is no codex in $PATH"))
    assert told == "its version is not known: there is no codex in $PATH (the tests run 0.169.0)"


@pytest.mark.parametrize(
    ("version", "is_second"),
    [("1.18.33", False), ("1.19.0", False), ("0.15.31", False), ("2.0.12", True), ("0.0.0-beta-19381", True)],
)
def test_of_opencode_2_it_is_said_what_was_tried(version: str, is_second: bool) -> None:
    assert (UNTRIED in version_notes(HOSTS["opencode"], HostVersion(version=version))) is is_second
    assert untried_note(HOSTS["opencode"], HostVersion(version=version)) == (UNTRIED if is_second else "")
    assert untried_note(HOSTS["codex"], HostVersion(version=version)) == ""
    unknown = HostVersion(why="it is not in $PATH")
    assert untried_note(HOSTS["opencode"], unknown) == UNTRIED
    assert version_notes(HOSTS["opencode"], unknown)[1:] == [UNTRIED]
