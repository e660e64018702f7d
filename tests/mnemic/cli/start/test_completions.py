"""Shells complete `mnemic`: real ones, with the file that setup puts where they look, and it goes with an uninstall."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.cli.start.completions import SHELLS, script
from tests.processes.faces import Outcome
from tests.waiting import BOUND_S

Command = Callable[..., Outcome]

FILES = {
    "bash": ".local/share/bash-completion/completions/mnemic",
    "zsh": ".local/share/zsh/site-functions/_mnemic",
    "fish": ".config/fish/completions/mnemic.fish",
}
BASH = """\
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
compopt() { printf '%s\\n' "$*"; }
complete -p mnemic >/dev/null
_mnemic_completion mnemic
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """\
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -D; print REA''DY"
zpty -r -m shell said '*READY*'
zpty -w -n shell $'mnemic hooks install curs\\t'
zpty -r -m shell said '*cursor*'
print -r -- "${said##*mnemic}"
zpty -d shell
"""


@pytest.fixture
def usual(user: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, with the home as the one that is meant where none is named."""
    monkeypatch.setenv("MNEMIC_HOME", str(home))
    return user


def in_shell(*words: str, home: Path) -> list[str]:
    """What a shell prints that finds `mnemic`."""
    path = os.pathsep.join([os.path.dirname(sys.executable), "/usr/bin", "/bin"])
    environment = {"PATH": path, "MNEMIC_HOME": str(home), "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=BOUND_S)
    return done.stdout.split("\n")[:-1]


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"there is no {shell} here")


def installed(shell: str, usual: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert command("setup", "--yes", "--no-backfill").code == 0
    return usual / FILES[shell]


@needs("bash")
@pytest.mark.system
def test_bash_completes_commands_options_minds_assistants_and_paths(
    usual: Path, home: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = installed("bash", usual, command, monkeypatch)

    def completed(*words: str) -> list[str]:
        return in_shell("bash", "--norc", "-c", BASH, "bash", str(file), "mnemic", *words, home=home)

    assert completed("rec") == ["recall"]
    assert completed("hooks", "install", "cu") == ["cursor"]
    assert completed("--mind", "") == ["default"]
    assert completed("recall", "--mind", "x") == [""]
    assert completed("help", "unl") == ["unlock"]
    assert completed("capture", "/etc/pas") == ["-o", "default", ""]  # bash itself completes files then,
    assert completed("export", "/et") == ["-o", "dirnames", ""]  # and folders


@needs("fish")
@pytest.mark.system
def test_fish_completes_with_what_each_command_does(
    usual: Path, home: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = installed("fish", usual, command, monkeypatch)
    assert file.is_file()
    copy = shutil.copy(file, home / "mnemic.fish")
    asks = f"source '{copy}'; complete -C 'mnemic rec'; complete -C 'mnemic hooks install cu'"
    assert in_shell("fish", "--no-config", "-c", asks, home=home) == [
        "recall\tFind the memories that matter.",
        "cursor",
    ]


@needs("zsh")
@pytest.mark.system
def test_zsh_completes_once_the_folder_is_in_its_fpath(
    usual: Path, home: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = installed("zsh", usual, command, monkeypatch)
    folder = home / "functions"
    folder.mkdir()
    shutil.copy(file, folder)
    assert "hooks install cursor" in "".join(in_shell("zsh", "-f", "-c", ZSH, "zsh", str(folder), home=home))


@pytest.mark.parametrize("shell", SHELLS)
def test_setup_names_the_file_writes_it_once_and_an_uninstall_removes_it(
    usual: Path, command: Command, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    file = usual / FILES[shell]
    assert f"completions for {shell}: ~/{FILES[shell]}" in command("setup").out
    assert not file.exists()
    done = command("setup", "--yes", "--no-backfill")
    assert f"written: completions for {shell}" in done.out
    assert ("fpath=" in done.out) is (shell == "zsh")  # which looks into no folder of a user's by itself
    assert file.read_text("utf-8") == script(shell) == command("completions", shell).out
    assert command("completions").out == script(shell)
    before = file.stat()
    assert "completions" not in command("setup", "--yes", "--no-backfill").out
    assert file.stat() == before
    file.write_text(f"{script(shell)}# of another version\n", "utf-8")
    assert command("setup", "--yes", "--no-backfill", "--json").json["completions"]["change"] == "changed"
    assert file.read_text("utf-8") == script(shell)
    assert str(file) in command("uninstall").out
    assert file.exists()
    assert command("uninstall", "--yes", "--json").json["completions"] == [str(file)]
    assert not file.exists()


def test_a_zsh_that_looks_there_already_needs_no_line(
    usual: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/zsh")
    (usual / ".zshrc").write_text("fpath=(~/.local/share/zsh/site-functions $fpath)\n", "utf-8")
    assert command("setup", "--yes", "--no-backfill", "--json").json["completions"]["note"] == ""


def test_somebody_elses_file_stays(usual: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")
    file = usual / FILES["bash"]
    file.parent.mkdir(parents=True)
    file.write_text("complete -W 'a b' mnemic\n", "utf-8")
    assert command("setup", "--yes", "--no-backfill", "--json").json["completions"]["change"] == "unchanged"
    assert command("uninstall", "--yes", "--json").json["completions"] == []
    assert file.read_text("utf-8") == "complete -W 'a b' mnemic\n"


def test_a_file_that_cannot_be_written_is_told_and_all_else_is_done(
    usual: Path, home: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/fish")
    (usual / ".config").write_text("a file where the folder should be\n", "utf-8")
    done = command("setup", "--yes", "--no-backfill")
    assert done.code == 1
    assert "completions for fish were not written: " in done.out
    assert (home / "minds" / "default").is_dir()


@pytest.mark.parametrize("shell", ["", "/bin/dash"])
def test_another_shell_and_another_home_get_none(
    usual: Path, home: Path, command: Command, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("SHELL", shell)
    assert command("setup", "--json").json["completions"] is None
    refused = command("completions")
    assert (refused.code, "name one of bash, zsh, fish" in refused.err) == (2, True)
    monkeypatch.setenv("SHELL", "/bin/bash")
    assert command("setup", "--home", home.parent / "other", "--json").json["completions"] is None
