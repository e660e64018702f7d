"""Wiring assistants: the verbs behind `mnemic hooks` and `mnemic uninstall`. They print nothing and ask nobody.

Below stand `mnemic.hooks`, which knows the hosts, and `mnemic.runtime`, which knows the home.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.contract import Clock
from mnemic.actors.errors import MnemicError
from mnemic.hooks.backfill import Kept, kept_by
from mnemic.hooks.codex_trust import hooks_seen
from mnemic.hooks.codex_wiring import trusting
from mnemic.hooks.commands import Wiring, wiring_for
from mnemic.hooks.hosts import HOSTS, chosen_hosts
from mnemic.hooks.wiring import Change, apply, diff_of, plan_install, plan_uninstall
from mnemic.hooks.wiring_host import Host
from mnemic.hooks.wiring_record import Record
from mnemic.hooks.wiring_status import HostStatus, fire, look_at, wired_as
from mnemic.mind import Mind
from mnemic.runtime.hook_files import hook_files, install_hook_files
from mnemic.runtime.keys import run_name
from mnemic.runtime.meeting import Meeting
from mnemic.runtime.starting import reach

__all__ = ["HostChanges", "Wired", "backfill", "install", "statuses", "uninstall"]

_TRUST = (
    "Codex runs a hook only once you trust it: start `codex`, type /hooks, look at those of mnemic-hook and trust them"
)
_ARRIVES_S, _POLL_S = 20.0, 0.05
_RESTART = "sessions that are open go on as they were; new ones have it"


class HostChanges(msgspec.Struct, kw_only=True):
    """What becomes, or became, of one host's configuration."""

    name: str
    """The host."""
    changes: list[Change]
    """Its files."""
    backups: dict[str, str] = msgspec.field(default_factory=dict)
    """By path: the name of what was in it, under ``backups`` in the home."""
    notes: list[str] = msgspec.field(default_factory=list)
    """What its user has to know."""
    failed: str = ""
    """Why it is as it was."""

    def view(self) -> dict[str, Any]:
        """As JSON."""
        files = [
            {
                "path": str(change.path),
                "change": change.what,
                "diff": list(diff_of(change)),
                "backup": self.backups.get(str(change.path)),
            }
            for change in self.changes
        ]
        return {"files": files, "notes": self.notes, "failed": self.failed or None}


class Wired(msgspec.Struct, kw_only=True):
    """What an install or an uninstall does, or did."""

    hosts: list[HostChanges]
    """Of each host."""
    left_out: dict[str, str]
    """Hosts that are not here, and how that was seen."""
    executables: list[Path]
    """What is put into the home's ``bin``."""
    kept: list[Kept]
    """The transcripts that the hosts have kept from before."""

    @property
    def changed(self) -> bool:
        """Whether anything is not as it is to be."""
        return bool(self.executables) or any(one.what != "unchanged" for host in self.hosts for one in host.changes)


def install(
    home: Path,
    names: Sequence[str],
    environment: Mapping[str, str],
    clock: Clock,
    *,
    mind: str,
    recall_prompts: bool,
    write: bool,
) -> Wired:
    """Wire hosts: plan all of it, and then, where that is asked for, write it.

    Raises:
        InvalidValue: there is no such host, or no configuration can hold the home's path.
        BadConfiguration: a file is not what its host reads; nothing is written.
        StoreError: the home or a configuration cannot be written.
    """
    wiring = wiring_for(home, environment, mind=mind, recall_prompts=recall_prompts)
    hosts, left_out = chosen_hosts(names, environment)
    record = Record(wiring.home, clock)
    planned = [
        HostChanges(
            name=host.name,
            changes=plan_install(host.name, host.files(wiring), wiring, record),
            notes=host.notes(wiring),
        )
        for host in hosts
    ]
    executables = [file.path for file in hook_files(wiring.home) if not file.there] if hosts else []
    wired = Wired(hosts=planned, left_out=left_out, executables=executables, kept=kept_by(hosts, environment))
    if write and hosts:
        install_hook_files(wiring.home, mind, clock)
    for one in planned:
        changes = any(change.what != "unchanged" for change in one.changes)
        if write:
            done = apply(one.name, one.changes, wiring, record, install=True)
            one.backups = {str(path): backup for path, backup in done if backup}
        if one.name == "codex":
            _trust(one, wiring, record, clock, write=write)
        if changes:
            one.notes.append(_RESTART)
    return wired


def uninstall(home: Path, names: Sequence[str], environment: Mapping[str, str], clock: Clock, *, write: bool) -> Wired:
    """Take back what was wired by this home; of a host that cannot be taken back, it is said why.

    Raises:
        InvalidValue: there is no such host.
        BadConfiguration: what was wired is not known.
        StoreError: the home cannot be written.
    """
    base = wiring_for(home, environment)
    record = Record(base.home, clock)
    chosen_hosts(names, environment)  # says which is unknown
    wired = Wired(hosts=[], left_out={}, executables=[], kept=[])
    for host in HOSTS.values() if "all" in names else [HOSTS[name] for name in dict.fromkeys(names)]:
        known = record.hosts.get(host.name)
        wiring = wired_as(base, known)
        one = HostChanges(name=host.name, changes=[])
        try:
            one.changes = plan_uninstall(host.name, host.files(wiring), wiring, record)
            if write:
                done = apply(host.name, one.changes, wiring, record, install=False)
                one.backups = {str(path): backup for path, backup in done if backup}
        except MnemicError as error:
            if known is None:
                continue  # a file that is broken, of a host that was never wired
            one.failed = f"{error} {error.remedy_text}"
        if known is not None or any(change.what != "unchanged" for change in one.changes):
            wired.hosts.append(one)
    return wired


def statuses(
    home: Path,
    names: Sequence[str],
    environment: Mapping[str, str],
    clock: Clock,
    opened: Callable[[str], AbstractContextManager[Mind]],
    *,
    trial: bool = True,
) -> list[HostStatus]:
    """How hosts are wired; each that is, is proved by a trial event through its own command.

    Args:
        opened: opens a mind by its name.

    Raises:
        InvalidValue: there is no such host.
        BadConfiguration: what was wired is not known.
    """
    base = wiring_for(home, environment)
    record = Record(base.home, clock)
    chosen_hosts(names, environment)
    found = []
    for host in HOSTS.values() if "all" in names else [HOSTS[name] for name in dict.fromkeys(names)]:
        wiring = wired_as(base, record.hosts.get(host.name))
        status = look_at(host, wiring, clock)
        if trial and status.wired:
            status.trial = _tried(host, wiring, clock, opened)
        found.append(status)
    return found


def backfill(home: Path, kept: Sequence[Kept], clock: Clock, opened: Callable[[], AbstractContextManager[Mind]]) -> Any:
    """Have transcripts taken in, in the background, by the home's process, which is started for it.

    Raises:
        MnemicError: it cannot be done now; a second install takes it up.
    """
    reach(home, clock)
    with opened() as mind:
        return mind.queue([path for one in kept for path in one.paths])


def _trust(one: HostChanges, wiring: Wiring, record: Record, clock: Clock, *, write: bool) -> None:
    """Mark Codex's hooks as trusted, where Codex can be asked what it calls them."""
    if not write:  # Codex writes to its own folder when it is asked
        if any(change.what != "unchanged" for change in one.changes):
            one.notes.append("Codex runs no hook that is not trusted: --apply marks these as trusted in config.toml")
        return
    seen = hooks_seen(wiring.environment, clock)
    if seen is None:
        one.notes.append(f"{_TRUST}; with `codex` in $PATH, --apply does it")
        return
    untrusted = {hook.key: hook.hash for hook in seen if not hook.trusted}
    if not untrusted:
        return
    files = trusting(HOSTS["codex"].files(wiring), untrusted)
    changes = plan_install("codex", files, wiring, record)
    done = apply("codex", changes, wiring, record, install=True)
    before = {str(change.path): change.before for change in one.changes}
    for path, backup in done:
        if backup and before.get(str(path)) is not None:
            one.backups.setdefault(str(path), backup)
    one.changes = [
        msgspec.structs.replace(change, before=before.get(str(change.path), change.before)) for change in changes
    ]
    still = [hook.event for hook in hooks_seen(wiring.environment, clock) or () if not hook.trusted]
    one.notes.append(f"{_TRUST} (not yet: {', '.join(still)})" if still else "Codex trusts these hooks now")


def _serves(home: Path) -> bool:
    card = Meeting(home).card()
    return card is not None and card.alive()


def _tried(host: Host, wiring: Wiring, clock: Clock, opened: Callable[[str], AbstractContextManager[Mind]]) -> str:
    nonce = run_name()
    why = fire(host, wiring, nonce)
    if why:
        return why
    pause, until = threading.Event(), clock.monotonic_s() + _ARRIVES_S
    try:
        with opened(wiring.mind) as mind:
            while mind.waiting().checks.get(host.name) != nonce:
                if clock.monotonic_s() > until:
                    return "it ran, and nothing of it reached the store"
                if not _serves(wiring.home):  # a process that serves takes it in by itself
                    mind.drain(transcripts=False)
                pause.wait(_POLL_S)
    except MnemicError as error:
        return f"whether it arrived is not known: {error}"
    return "arrived"
