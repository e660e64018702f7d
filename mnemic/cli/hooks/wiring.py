"""Installs and removes Mnemic's hooks, MCP entry and instructions in the assistants' configurations.

Below stand `mnemic.hooks`, which knows the hosts, and `mnemic.runtime`, which knows the home; beside it stands
`mnemic.cli.hooks.self_test`, which proves that what was wired works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.protocol.ambient_messages import Queued
from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import MnemicError
from mnemic.hooks.hosts.codex.trust import list_codex_hooks
from mnemic.hooks.hosts.codex.wiring import with_trusted_hooks
from mnemic.hooks.wire.commands import Wiring, make_wiring
from mnemic.hooks.wire.host import HostTranscripts, existing_transcripts
from mnemic.hooks.wire.hosts import HOSTS, select_hosts
from mnemic.hooks.wire.record import InstallRecord
from mnemic.hooks.wire.status import recorded_wiring
from mnemic.hooks.wire.wiring import FileChange, apply, diff_of, plan_install, plan_uninstall
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.capture.hook_files import install_hook_files, required_hook_files
from mnemic.runtime.client.launcher import ensure_running
from mnemic.runtime.minds.homes import mind_folder
from mnemic.runtime.serve.drainer import notify_queued

__all__ = ["HostChanges", "WiringResult", "backfill", "install", "uninstall"]

_TRUST = (
    "Codex runs a hook only once you trust it: start `codex`, type /hooks, look at those of mnemic-hook and trust them"
)
_RESTART = "sessions that are open go on as they were; new ones have it"


class HostChanges(msgspec.Struct, kw_only=True):
    """What becomes, or became, of one host's configuration."""

    name: str
    """The host."""
    changes: list[FileChange]
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
                "change": change.action,
                "diff": list(diff_of(change)),
                "backup": self.backups.get(str(change.path)),
            }
            for change in self.changes
        ]
        return {"files": files, "notes": self.notes, "failed": self.failed or None}


class WiringResult(msgspec.Struct, kw_only=True):
    """What an install or an uninstall does, or did."""

    hosts: list[HostChanges]
    """Of each host."""
    absent_hosts: dict[str, str]
    """Hosts that are not here, and how that was seen."""
    executables: list[Path] = msgspec.field(default_factory=list)
    """What is put into the home's ``bin``."""
    transcripts: list[HostTranscripts] = msgspec.field(default_factory=list)
    """The transcripts that the hosts have kept from before."""
    new_key_path: Path | None = None
    """The key of the mind that is made, or was made, for what hooks keep."""

    @property
    def changed(self) -> bool:
        """Whether anything is not as it is to be."""
        return bool(self.executables) or any(one.action != "unchanged" for host in self.hosts for one in host.changes)


def install(
    home: Path,
    names: Sequence[str],
    environment: Mapping[str, str],
    clock: Clock,
    *,
    mind: str,
    recall_prompts: bool,
    write: bool,
) -> WiringResult:
    """Wire hosts: plan all of it, and then, where that is asked for, write it.

    Of several hosts, one that cannot be wired is as it was and says why, and keeps no other from it.

    Raises:
        InvalidValue: there is no such host, or no configuration can hold the home's path.
        BadConfiguration: a file of the one host that is named cannot be changed; none is.
        StoreError: the home cannot be written.
    """
    wiring = make_wiring(home, environment, mind=mind, recall_prompts=recall_prompts)
    hosts, left_out = select_hosts(names, environment)
    record = InstallRecord(wiring.home, clock)
    wired = WiringResult(hosts=[HostChanges(name=host.name, changes=[]) for host in hosts], absent_hosts=left_out)
    alone = len(names) == 1 and "all" not in names
    for one, host in zip(wired.hosts, hosts, strict=True):
        with _collecting_failure(one, alone):
            one.changes = plan_install(one.name, host.file_edits(wiring), wiring, record)
            one.notes = host.notes(wiring)
    if all(one.failed for one in wired.hosts):
        return wired
    wired.executables = [file.path for file in required_hook_files(wiring.home) if not file.is_installed]
    folder = mind_folder(wiring.home, mind)
    wired.new_key_path = None if folder.path.is_dir() else folder.key
    if write:
        install_hook_files(wiring.home, mind, clock)
    for one in wired.hosts:
        if not one.failed:
            with _collecting_failure(one, alone):
                _wire(one, wiring, record, clock, write=write)
    done = [host for one, host in zip(wired.hosts, hosts, strict=True) if not one.failed]
    wired.transcripts = existing_transcripts(done, environment)
    return wired


@contextmanager
def _collecting_failure(one: HostChanges, alone: bool) -> Iterator[None]:
    """Let one host's failure be told beside what became of the others, unless it is alone."""
    try:
        yield
    except MnemicError as error:
        if alone:
            raise
        one.changes, one.notes, one.failed = [], [], f"{error} {error.remedy_text}"


def _wire(one: HostChanges, wiring: Wiring, record: InstallRecord, clock: Clock, *, write: bool) -> None:
    changes = any(change.action != "unchanged" for change in one.changes)
    if write:
        done = apply(one.name, one.changes, wiring, record, install=True)
        one.backups = {str(path): backup for path, backup in done if backup}
    if one.name == "codex":
        try:
            _trust_codex_hooks(one, wiring, record, clock, write=write)
        except MnemicError as error:  # they are wired, and their user can still trust them
            one.notes.append(f"{_TRUST} ({error})")
    if changes:
        one.notes.append(_RESTART)


def uninstall(
    home: Path, names: Sequence[str], environment: Mapping[str, str], clock: Clock, *, write: bool
) -> WiringResult:
    """Take back what was wired by this home; of a host that cannot be taken back, it is said why.

    Raises:
        InvalidValue: there is no such host.
        BadConfiguration: what was wired is not known.
        StoreError: the home cannot be written.
    """
    base = make_wiring(home, environment)
    record = InstallRecord(base.home, clock)
    select_hosts(names, environment)  # says which is unknown
    wired = WiringResult(hosts=[], absent_hosts={})
    for host in HOSTS.values() if "all" in names else [HOSTS[name] for name in dict.fromkeys(names)]:
        known = record.hosts.get(host.name)
        wiring = recorded_wiring(base, known)
        one = HostChanges(name=host.name, changes=[])
        try:
            one.changes = plan_uninstall(host.name, host.file_edits(wiring), wiring, record)
            if write:
                done = apply(host.name, one.changes, wiring, record, install=False)
                one.backups = {str(path): backup for path, backup in done if backup}
        except MnemicError as error:
            if known is None:
                continue  # a file that is broken, of a host that was never wired
            one.failed = f"{error} {error.remedy_text}"
        if known is not None or any(change.action != "unchanged" for change in one.changes):
            wired.hosts.append(one)
    return wired


def backfill(
    home: Path,
    mind_name: str,
    kept: Sequence[HostTranscripts],
    clock: Clock,
    opened: Callable[[], AbstractContextManager[Mind]],
) -> Queued:
    """Have transcripts taken in, in the background, by the home's process, which is started for it.

    Raises:
        MnemicError: it cannot be done now; a second install takes it up.
    """
    ensure_running(home, clock)
    with opened() as mind:
        queued = mind.queue_transcripts([path for one in kept for path in one.paths])
    notify_queued(home, mind_name)
    return queued


def _trust_codex_hooks(one: HostChanges, wiring: Wiring, record: InstallRecord, clock: Clock, *, write: bool) -> None:
    """Mark Codex's hooks as trusted, where Codex can be asked what it calls them."""
    if not write:  # Codex writes to its own folder when it is asked
        if any(change.action != "unchanged" for change in one.changes):
            one.notes.append("Codex runs no hook that is not trusted: --apply marks these as trusted in config.toml")
        return
    seen = list_codex_hooks(wiring.environment, clock)
    if seen is None:
        one.notes.append(f"{_TRUST}; with `codex` in $PATH, --apply does it")
        return
    untrusted = {hook.key: hook.hash for hook in seen if not hook.trusted}
    if not untrusted:
        return
    files = with_trusted_hooks(HOSTS["codex"].file_edits(wiring), untrusted)
    changes = plan_install("codex", files, wiring, record)
    done = apply("codex", changes, wiring, record, install=True)
    before = {str(change.path): change.before for change in one.changes}
    for path, backup in done:
        if backup and before.get(str(path)) is not None:
            one.backups.setdefault(str(path), backup)
    one.changes = [
        msgspec.structs.replace(change, before=before.get(str(change.path), change.before)) for change in changes
    ]
    still = [hook.event for hook in list_codex_hooks(wiring.environment, clock) or () if not hook.trusted]
    one.notes.append(f"{_TRUST} (not yet: {', '.join(still)})" if still else "Codex trusts these hooks now")
