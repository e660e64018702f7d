"""The command `mnemic completions`, and the file by which a shell completes `mnemic`: put where it looks by itself.

The scripts are Click's: at each Tab they start `mnemic`, so what they offer is what this version has. No file that a
shell reads at its start is edited.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from click.shell_completion import ShellComplete, get_completion_class

from mnemic.actors.kernel.errors import MnemicError
from mnemic.cli.context import cli
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.keys.keys import replace_private
from mnemic.runtime.minds.homes import default_home, expand_home

SHELLS = ("bash", "zsh", "fish")
"""Shells that can be told what to complete."""

_MARK = "# Written by `mnemic setup`; `mnemic uninstall` removes it."


class CompletionFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file that one shell reads to complete `mnemic`."""

    shell: str
    """Which."""
    path: str
    """Where it looks."""
    change: str
    """What becomes, or became, of it: ``made``, ``changed`` or ``unchanged``."""
    note: str = ""
    """The line that has zsh look there, which its user has to put into ``.zshrc`` above what calls compinit."""
    failed: str = ""
    """Why it could not be written."""


@cli.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completions(shell: str | None) -> None:
    """Print what has a shell complete `mnemic`. `mnemic setup` puts it where your shell looks; this is for others.

    The shell is the one of $SHELL, unless it is named.
    """
    named = shell or _own_shell(os.environ)
    if named is None:
        raise click.UsageError(f"$SHELL is none that can be completed for: name one of {', '.join(SHELLS)}")
    click.echo(script(named), nl=False)


def script(shell: str) -> str:
    """What a shell reads to complete `mnemic`."""
    kind = get_completion_class(shell)
    assert kind is not None
    # Of the base class: Bash's own starts one first, to see that it is not older than 4.4.
    first, rest = ShellComplete.source(kind(cli, {}, "mnemic", "_MNEMIC_COMPLETE")).split("\n", 1)
    return f"{first}\n{_MARK}\n{rest}" if first.startswith("#") else f"{_MARK}\n{first}\n{rest}"  # zsh reads the first


def install_completions(home: Path, environment: Mapping[str, str], *, write: bool) -> CompletionFile | None:
    """Have the user's own shell complete `mnemic`; ``None`` where that is nothing that can be done here.

    It goes with the home that is meant where none is named. A file of that name that is somebody else's stays.
    """
    shell = _own_shell(environment)
    if shell is None or not is_usual_home(home, environment):
        return None
    path, wanted, failed = _path(shell, environment), script(shell).encode(), ""
    held = _read(path)
    ours = held is None or _MARK.encode() in held
    change = "made" if held is None else "changed" if ours and held != wanted else "unchanged"
    if write and change != "unchanged":
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_private(path, wanted)
        except OSError as error:
            failed = str(write_error(path, error))
    note = _zsh_note(path, environment) if shell == "zsh" and change != "unchanged" else ""
    return CompletionFile(shell=shell, path=str(path), change=change, note=note, failed=failed)


def remove_completions(home: Path, environment: Mapping[str, str], *, write: bool) -> list[Path]:
    """Take away what has shells complete `mnemic`, where that was for this home; returns the files.

    Raises:
        StoreReadOnly: one cannot be removed.
    """
    if not environment.get("HOME") or not is_usual_home(home, environment):
        return []
    paths = [path for path in (_path(shell, environment) for shell in SHELLS) if _MARK.encode() in (_read(path) or b"")]
    for path in paths if write else ():
        try:
            path.unlink()
        except OSError as error:
            raise write_error(path, error) from error
    return paths


def _own_shell(environment: Mapping[str, str]) -> str | None:
    name = Path(environment.get("SHELL", "")).name
    return name if name in SHELLS and environment.get("HOME") else None


def is_usual_home(home: Path, environment: Mapping[str, str]) -> bool:
    """Whether a home is the one that is meant where none is named."""
    try:
        return expand_home(default_home(environment)) == home.absolute()
    except MnemicError:
        return False


def _path(shell: str, environment: Mapping[str, str]) -> Path:
    """Where a shell looks: bash by bash-completion, zsh once the folder is in its ``fpath``."""
    user = Path(environment["HOME"])

    def base(variable: str, usual: str) -> Path:
        given = environment.get(variable, "")
        return Path(given) if os.path.isabs(given) else user / usual

    if shell == "fish":
        return base("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "mnemic.fish"
    data = base("XDG_DATA_HOME", ".local/share")
    bash = data / "bash-completion" / "completions" / "mnemic"
    return bash if shell == "bash" else data / "zsh" / "site-functions" / "_mnemic"


def _zsh_note(path: Path, environment: Mapping[str, str]) -> str:
    """The line that has zsh look into a folder, where nothing in its settings names the folder."""
    settings = Path(environment.get("ZDOTDIR") or environment["HOME"]) / ".zshrc"
    if "zsh/site-functions" in (_read(settings) or b"").decode("utf-8", "replace"):
        return ""
    return f"fpath=({shlex.quote(str(path.parent))} $fpath)"


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:  # not there, or out of reach: then it cannot be written either, and that is said
        return None


def as_view(file: CompletionFile | None) -> dict[str, Any] | None:
    """As JSON."""
    return None if file is None else dict(msgspec.to_builtins(file))
