"""The commands that hosts run: they survive every path, run in the shells that hosts take, and are silent when gone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.hooks.wire.commands import ASSISTANTS, Wiring, event_in_command, make_wiring
from tests.waiting import BOUND_S

PLACES = [
    "plain",
    "two words",
    "it's",
    'say "hi"',
    "$HOME",
    "${HOME}x",
    "a`id`b",
    "a\\b",
    "ünï ✓",
    "{env:HOME}",
    "-n",
    "a;b&c|d>e",
]
SHELLS = [shell for shell in ("sh", "bash", "zsh", "fish") if shutil.which(shell)]
ECHO = '#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done\ncat\necho noise >&2\nexit 3\n'


def wiring(home: Path, mind: str = "default") -> Wiring:
    return make_wiring(home, {"HOME": str(home.parent)}, mind=mind)


def install(home: Path, content: str = ECHO) -> None:
    (home / "bin").mkdir(parents=True)
    for name in ("mnemic-hook", "mnemic"):
        (home / "bin" / name).write_text(content, "utf-8")
        (home / "bin" / name).chmod(0o700)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("place", PLACES)
def test_a_hooks_command_survives_every_path(tmp_path: Path, place: str, shell: str) -> None:
    home = tmp_path / place / "home"
    install(home)
    one = wiring(home, "work")
    command = one.hook_command("codex", "prompt")
    ran = subprocess.run([shell, "-c", command], input=b"payload", capture_output=True, check=False, timeout=BOUND_S)
    assert ran.stdout.decode().splitlines() == [
        *("codex", "prompt", "--updates", "--home", str(home), "--mind", "work", "payload")
    ]
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert event_in_command(command, "codex") == "prompt"
    assert event_in_command(command, "cursor") is None
    assert one.calls_this_home(command)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_missing_executable_takes_all_input_and_says_nothing(tmp_path: Path, shell: str) -> None:
    command = wiring(tmp_path / "it's gone").hook_command("claude-code", "tool")
    ran = subprocess.run(
        [shell, "-c", command], input=b"x" * (1 << 20), capture_output=True, check=True, timeout=BOUND_S
    )
    assert (ran.stdout, ran.stderr) == (b"", b"")


@pytest.mark.parametrize("shell", SHELLS)
def test_one_that_cannot_be_run_is_silent_too(tmp_path: Path, shell: str) -> None:
    install(tmp_path / "home", "#!/nowhere/python\n")
    command = wiring(tmp_path / "home").hook_command("claude-code", "tool")
    ran = subprocess.run([shell, "-c", command], input=b"x", capture_output=True, check=False, timeout=BOUND_S)
    assert (ran.returncode, ran.stdout) == (0, b"")


@pytest.mark.parametrize("place", PLACES)
def test_the_mcp_servers_command_survives_every_path_without_a_shell(tmp_path: Path, place: str) -> None:
    home = tmp_path / place / "home"
    install(home)
    words = wiring(home).mcp_argv("codex")
    assert wiring(home).calls_this_home("\n".join(words))
    ran = subprocess.run(words, input=b"", capture_output=True, check=False, timeout=BOUND_S)
    assert ran.stdout.decode().splitlines() == ["mcp", "--assistant", "codex", "--home", str(home)]


def test_a_home_is_not_taken_for_another_whose_path_it_ends(tmp_path: Path) -> None:
    inner, outer = Wiring(home=Path("/a"), environment={}), Wiring(home=Path("/x/a"), environment={})
    command = outer.hook_command("codex", "prompt")
    assert outer.calls_this_home(command)
    assert not inner.calls_this_home(command)


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_somebody_elses_command_is_not_taken_for_a_hook(assistant: str) -> None:
    for command in (
        None,
        3,
        "",
        "mnemic-hook",
        f"~/bin/my-mnemic-hook {assistant} prompt now",
        f"echo {assistant} prompt ",
    ):
        assert event_in_command(command, assistant) is None


def test_a_home_that_no_configuration_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="not UTF-8"):
        make_wiring(tmp_path / "\udcff", {"HOME": "/root"})
    with pytest.raises(InvalidValue, match="configured"):
        make_wiring(tmp_path, {})
    for place in ("a$b", "{env:HOME}"):
        with pytest.raises(InvalidValue, match="for which assistants put something else"):
            wiring(tmp_path / place).check_path()
