"""Table of the assistants that Mnemic can be installed in, and which of them this machine has."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from mnemic.actors.protocol.errors import InvalidValue
from mnemic.hooks.hosts.claude_code.wiring import CLAUDE_CODE
from mnemic.hooks.hosts.codex.wiring import CODEX
from mnemic.hooks.hosts.cursor.wiring import CURSOR
from mnemic.hooks.hosts.gemini_cli.wiring import GEMINI_CLI
from mnemic.hooks.hosts.opencode.wiring import OPENCODE
from mnemic.hooks.wire.commands import ASSISTANTS
from mnemic.hooks.wire.host import Host

__all__ = ["HOSTS", "absence_reason", "named_hosts", "select_hosts"]

HOSTS: dict[str, Host] = {host.name: host for host in (CLAUDE_CODE, CODEX, GEMINI_CLI, CURSOR, OPENCODE)}
"""By name."""


def named_hosts(names: Sequence[str]) -> list[Host]:
    """The hosts of these names; every one for ``all``.

    Raises:
        InvalidValue: there is no such host.
    """
    unknown = next((name for name in names if name not in (*ASSISTANTS, "all")), None)
    if unknown is not None:
        near = difflib.get_close_matches(unknown, ASSISTANTS, n=1)
        raise InvalidValue(
            name="--assistant",
            value=unknown,
            why=f"no assistant is known by that name{f' (did you mean {near[0]}?)' if near else ''}",
            expected=f"one of {', '.join(ASSISTANTS)}, or all",
        )
    return [host for name, host in HOSTS.items() if name in names or "all" in names]


def select_hosts(names: Sequence[str], environment: Mapping[str, str]) -> tuple[list[Host], dict[str, str]]:
    """The hosts that are meant: those named, or for ``all`` those that are here; and why others were left out.

    Raises:
        InvalidValue: there is no such host.
    """
    hosts = named_hosts(names)
    absent = {host.name: why for host in hosts if (why := absence_reason(host, environment)) and host.name not in names}
    return [host for host in hosts if host.name not in absent], absent


def absence_reason(host: Host, environment: Mapping[str, str]) -> str:
    """Why a host seems not to be here; empty where it is."""
    folder = host.folder(environment)
    if folder.is_dir() or shutil.which(host.program, path=environment.get("PATH", "")):
        return ""
    return f"there is no {_short(folder, environment)}, and no {host.program} in $PATH"


def _short(folder: Path, environment: Mapping[str, str]) -> str:
    home = Path(environment["HOME"])
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
