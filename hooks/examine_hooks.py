"""The doctor's look at the hooks: the executable, and each host's wiring. It changes nothing and fires no trial."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from mnemic.actors.contract import Clock
from mnemic.hooks.commands import wiring_for
from mnemic.hooks.hosts import HOSTS
from mnemic.hooks.wiring_host import Host
from mnemic.hooks.wiring_record import Record
from mnemic.hooks.wiring_status import HostStatus, look_at, wired_as
from mnemic.runtime.checks import Check
from mnemic.runtime.homes import folder_of, naming
from mnemic.runtime.hook_files import hook_files

__all__ = ["executable_state", "wiring_checks"]


def wiring_checks(
    home: Path, environment: Mapping[str, str], clock: Clock, arrived: Mapping[str, str] | None = None
) -> Iterator[Check]:
    """How each host is wired that is here or was wired.

    Args:
        arrived: the last trial event of each host that reached the store, where that is known.

    Raises:
        BadConfiguration: what was wired is not known.
    """
    record, base = Record(home, clock), wiring_for(home, environment)
    if record.hosts:
        yield executable_state(home)
    for name, host in HOSTS.items():
        status = look_at(host, wired_as(base, record.hosts.get(name)), clock)
        if name in record.hosts or status.wired:
            yield _check(host, status, name in (arrived or {}))
        elif status.here:
            told = f"{host.title} is here, and nothing of it is remembered by itself"
            yield Check(f"hooks {name}", "advice", told, status.remedy)


def executable_state(home: Path) -> Check:
    """Whether what hooks call is there, and is the one that this Mnemic would put there."""
    files = hook_files(home)
    again = f"mnemic hooks install --assistant all --apply{naming(folder_of(home, 'default'))}"
    called = next(file for file in files if file.path.name == "mnemic-hook")
    if not os.access(called.path, os.X_OK):
        told = f"{called.path} is missing: hooks are silent, and keep nothing"
        return Check("hook executable", "wrong", told, f"{again} puts it there again.")
    stale = [file.path.name for file in files if not file.there]
    if stale:
        told = f"{', '.join(stale)} in {called.path.parent} comes from another Mnemic than this one"
        return Check("hook executable", "advice", told, f"{again} renews it.")
    slow = any(file.path.suffix == ".py" for file in files)
    told = f"{called.path}{' starts Python, slower: Rust built none' if slow else ''}"
    return Check("hook executable", "ok", told)


def _check(host: Host, status: HostStatus, arrived: bool) -> Check:
    lacks = status.lacking
    if status.wrong or lacks:
        told = "; ".join([*status.wrong, *([f"not as they were installed: {', '.join(lacks)}"] if lacks else [])])
        state: Literal["advice", "wrong"] = "wrong" if status.wrong or not status.wired else "advice"
        return Check(f"hooks {host.name}", state, told, status.remedy)
    proof = "a trial event arrived" if arrived else "`mnemic hooks status` proves it by a trial"
    return Check(f"hooks {host.name}", "ok", f"{host.title}: {len(status.events)} events, MCP; {proof}")
