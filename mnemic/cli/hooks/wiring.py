"""Installs and removes Mnemic's hooks, MCP entry and instructions in the assistants' configurations.

Below stand `mnemic.hooks.wire`, which knows the hosts, and `mnemic.runtime`, which knows the home; above are the
commands (`mnemic.cli.hooks.commands`), which print what comes back, or put it into words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from mnemic.actors.capture.messages import Queued
from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import MnemicError
from mnemic.hooks.wire.codex_trust import list_codex_hooks, with_trusted_hooks
from mnemic.hooks.wire.commands import Wiring, make_wiring
from mnemic.hooks.wire.host import Host, HostTranscripts, existing_transcripts, unread_sessions
from mnemic.hooks.wire.hosts import named_hosts, select_hosts
from mnemic.hooks.wire.record import HostInstall, InstallRecord
from mnemic.hooks.wire.status import BOTH_WAYS, examine_host, recorded_wiring
from mnemic.hooks.wire.versions import ask_version, untried_note
from mnemic.hooks.wire.wiring import (
    FileChange,
    apply_install,
    apply_uninstall,
    diff_of,
    parts_of,
    plan_install,
    plan_uninstall,
)
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.capture.hook_files import built_hook, install_hook_files, required_hook_files
from mnemic.runtime.client.launcher import ensure_running
from mnemic.runtime.files.programs import find_program
from mnemic.runtime.minds.homes import mind_folder
from mnemic.runtime.serve.drainer import notify_queued

_TRUST = (
    "Codex runs a hook only once you trust it: start `codex`, type /hooks, look at those of mnemic-hook and trust them"
)
_TRUST_BY_HAND = f"{_TRUST}; with `codex` in $PATH, an install does it"
_RESTART = "sessions that are open go on as they were; new ones have it"


class FileResult(msgspec.Struct, frozen=True):
    """What becomes, or became, of one file."""

    path: str
    """The file."""
    change: str
    """``made``, ``changed``, ``removed`` or ``unchanged``."""
    parts: list[str]
    """What of Mnemic's is put into it, or taken out, in a few words each."""
    diff: list[str]
    """The lines of a unified diff."""
    backup: str | None
    """The name of what was in it, under ``backups`` in the home."""


class HostResult(msgspec.Struct):
    """What becomes, or became, of one host's configuration."""

    title: str
    """As its users know it."""
    files: list[FileResult] = msgspec.field(default_factory=list)
    """Its files."""
    notes: list[str] = msgspec.field(default_factory=list)
    """What its user has to know."""
    by_plugin: bool = False
    """Whether nothing is written because its plugin is enabled, which does all of it."""
    other_home: str | None = None
    """The home that it fills so far, where that is another one."""
    untried: str = ""
    """What of it no test has run, where its version may be one of those."""
    allow: list[str] | None = None
    """What it may do by MCP from then on beyond its own project; ``None`` where that stays."""
    failed: str | None = None
    """Why its files are as they were."""


class WiringResult(msgspec.Struct, kw_only=True):
    """What an install or an uninstall does, or did."""

    applied: bool
    """Whether it was done, not only shown."""
    hosts: dict[str, HostResult] = msgspec.field(default_factory=dict)
    """By name."""
    left_out: dict[str, str] = msgspec.field(default_factory=dict)
    """Hosts that are not here, and how that was seen."""
    made: str | None = None
    """The key of the mind that is made, or was made, for what hooks keep."""
    executables: list[str] = msgspec.field(default_factory=list)
    """What is put into the home's ``bin``."""
    transcripts: dict[str, HostTranscripts] = msgspec.field(default_factory=dict)
    """The transcripts that the hosts have kept from before."""
    unread_files: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Files of the hosts that look like sessions, and that no reader takes."""

    @property
    def has_failed(self) -> bool:
        """Whether a host is as it was and should not be."""
        return any(host.failed for host in self.hosts.values())

    @property
    def is_done_in_part(self) -> bool:
        """Whether something is as it should be, if only what a host may do."""
        return any(not host.failed or host.allow is not None for host in self.hosts.values())


def install(
    home: Path,
    names: Sequence[str],
    environment: Mapping[str, str],
    clock: Clock,
    *,
    mind: str,
    recall_prompts: bool = False,
    recall_failures: bool | None = None,
    allow: Sequence[str] | None,
    keep: bool = False,
    write: bool,
) -> WiringResult:
    """Wire hosts: plan all of it, and then, where that is asked for, write it.

    Of several hosts, one that cannot be wired is as it was and says why, and keeps no other from it. What one that is
    wired may do is changed first: no file of its own keeps its owner from taking that back.

    Args:
        recall_failures: whether Claude Code is told what helped, once a call failed; as it was, where absent.
        allow: what they may do by MCP beyond their own project; what each was allowed before, where absent.
        keep: whether one that is wired goes on filling the mind that it fills, and is told what it is told.

    Raises:
        HookNotBuilt: no cargo built the hook; nothing was written.
        InvalidValue: there is no such host, or no configuration can hold the home's path.
        BadConfiguration: a file of the one host that is named cannot be changed; none is.
        StoreError: the home cannot be written.
    """
    wiring = make_wiring(home, environment, mind=mind, recall_prompts=recall_prompts)
    hosts, left_out = select_hosts(names, environment)
    record = InstallRecord(wiring.home, clock)
    found = {host.name: HostResult(title=host.title) for host in hosts}
    kept = {one.assistant: one for one in existing_transcripts(hosts, environment)}
    result = WiringResult(applied=write, hosts=found, left_out=left_out, transcripts=kept)
    if allow is not None:
        _change_rights(named_hosts(names), tuple(allow), record, result, write)
    alone = len(names) == 1 and "all" not in names and not any(host.allow is not None for host in result.hosts.values())
    planned: dict[str, list[FileChange]] = {}
    wirings: dict[str, Wiring] = {}
    for host in hosts:
        known = record.hosts.get(host.name)
        has_plugin = host.has_plugin(environment)
        if has_plugin and known is None and host.name not in names:
            result.hosts[host.name].by_plugin = True
            continue
        rights = tuple(allow or ()) if known is None or allow is not None else known.allow
        failures = not (known is not None and known.without_failures) if recall_failures is None else recall_failures
        own = _as_wired(wiring, known) if keep else wiring
        wirings[host.name] = msgspec.structs.replace(own, allow=rights, recall_failures=failures)
        with _collecting_failure(result.hosts[host.name], alone):
            built_hook()
            planned[host.name] = plan_install(host, wirings[host.name])
            seen = examine_host(host, wirings[host.name], clock, installed=host.name in record.hosts, ask_codex=False)
            result.hosts[host.name].other_home = seen.other_home
            if host.name == "opencode":
                result.hosts[host.name].untried = untried_note(host, ask_version(host, environment))
            notes = host.notes(wiring, host.folder(environment))
            result.hosts[host.name].notes = [*notes, BOTH_WAYS] if has_plugin else notes
    if not planned and (result.has_failed or not any(one.by_plugin for one in result.hosts.values())):
        return result
    result.executables = [str(file.path) for file in required_hook_files(wiring.home) if not file.is_installed]
    folder = mind_folder(wiring.home, mind)
    result.made = None if folder.path.is_dir() else str(folder.key)
    if write:
        install_hook_files(wiring.home, mind, clock)
    for host in hosts:
        if host.name in planned:
            one, rights, is_new = result.hosts[host.name], wirings[host.name].allow, host.name not in record.hosts
            with _collecting_failure(one, alone):
                _wire(host, planned[host.name], one, wirings[host.name], record, write)
                one.allow = list(rights) if is_new and rights else one.allow
    result.unread_files = unread_sessions(hosts, environment)
    return result


def _as_wired(wiring: Wiring, known: HostInstall | None) -> Wiring:
    """What is to be wired, with the mind and what is told of a host that is."""
    if known is None:
        return wiring
    return msgspec.structs.replace(wiring, mind=known.mind, recall_prompts=known.recall_prompts)


def is_wired(home: Path, names: Sequence[str], environment: Mapping[str, str], clock: Clock) -> bool:
    """Whether all of these hosts were wired to a home before, or by their plugin."""
    hosts, _ = select_hosts(names, environment)
    wired = InstallRecord(home.absolute(), clock).hosts
    return all(host.name in wired or (host.name not in names and host.has_plugin(environment)) for host in hosts)


def _change_rights(
    hosts: Sequence[Host], rights: tuple[str, ...], record: InstallRecord, result: WiringResult, write: bool
) -> None:
    """Have wired hosts do no more and no less than that by MCP, in one write, whatever becomes of their files."""
    for host in hosts:
        known = record.hosts.get(host.name)
        if known is not None and known.allow != rights:
            result.hosts.setdefault(host.name, HostResult(title=host.title)).allow = list(rights)
            known.allow = rights
    if write and any(host.allow is not None for host in result.hosts.values()):
        record.save()


@contextmanager
def _collecting_failure(result: HostResult, alone: bool) -> Iterator[None]:
    """Let one host's failure be told beside what became of the others, unless it is alone."""
    try:
        yield
    except MnemicError as error:
        if alone:
            raise
        result.files, result.notes, result.failed = [], [], f"{error} {error.remedy_text}"


def _wire(
    host: Host,
    changes: list[FileChange],
    result: HostResult,
    wiring: Wiring,
    record: InstallRecord,
    write: bool,
) -> None:
    """Write what is planned for one host, or only say it."""
    backups: dict[str, str] = {}
    changes_any = any(change.action != "unchanged" for change in changes)
    if write:
        backups = apply_install(host, changes, wiring, record)
    if host.name == "codex" and not write and changes_any:  # asked for its hooks, Codex writes to its own folder
        marks = "Codex runs no hook that is not trusted: --apply marks these as trusted in config.toml"
        can_ask = find_program("codex", wiring.environment) is not None
        result.notes.append(marks if can_ask else _TRUST_BY_HAND)
    elif host.name == "codex" and write:
        try:
            trusted, note = _trust_codex_hooks(host, wiring, record, backups)
            before = {change.path: change.before for change in changes}
            changes = [
                msgspec.structs.replace(one, before=before.get(one.path, one.before)) for one in trusted or changes
            ]
            result.notes += [note] if note else []
        except MnemicError as error:  # they are wired, and their user can still trust them
            result.notes.append(f"{_TRUST} ({error})")
    result.notes += [_RESTART] if changes_any else []
    result.files = _file_results(host, changes, backups)


def _trust_codex_hooks(
    host: Host, wiring: Wiring, record: InstallRecord, backups: dict[str, str]
) -> tuple[list[FileChange], str]:
    """Mark Codex's hooks as trusted, where Codex can be asked what it calls them; says what is left to do."""
    seen = list_codex_hooks(wiring.environment)
    if seen is None:
        return [], _TRUST_BY_HAND
    untrusted = {hook.key: hook.hash for hook in seen if not hook.trusted}
    if not untrusted:
        return [], ""
    changes = plan_install(host, wiring, with_trusted_hooks(host.file_edits(wiring), untrusted))
    backups |= apply_install(host, changes, wiring, record, untrusted)
    still = [hook.event for hook in list_codex_hooks(wiring.environment) or () if not hook.trusted]
    return changes, f"{_TRUST} (not yet: {', '.join(still)})" if still else "Codex trusts these hooks now"


def uninstall(
    home: Path, names: Sequence[str], environment: Mapping[str, str], clock: Clock, *, write: bool
) -> WiringResult:
    """Take back what was wired by this home, and what hosts may do first; of one that stays wired, it is said why.

    Raises:
        InvalidValue: there is no such host.
        BadConfiguration: what was wired is not known.
        StoreError: the home cannot be written.
    """
    base = make_wiring(home, environment)
    record = InstallRecord(base.home, clock)
    result = WiringResult(applied=write)
    _change_rights(named_hosts(names), (), record, result, write)
    for host in named_hosts(names):
        known = record.hosts.get(host.name)
        one = result.hosts.get(host.name, HostResult(title=host.title))
        try:
            changes = plan_uninstall(host, recorded_wiring(base, known), record)
            kept = apply_uninstall(host, changes, record) if write else {}
            one.files = _file_results(host, changes, kept)
        except MnemicError as error:
            if known is None:
                continue  # a file that is broken, of a host that was never wired
            one.failed = f"{error} {error.remedy_text}"
        if known is not None or any(file.change != "unchanged" for file in one.files):
            result.hosts[host.name] = one
    return result


def _file_results(host: Host, changes: list[FileChange], backups: Mapping[str, str]) -> list[FileResult]:
    return [
        FileResult(
            path=str(change.path),
            change=change.action,
            parts=parts_of(change, host.name),
            diff=list(diff_of(change)),
            backup=backups.get(str(change.path)),
        )
        for change in changes
    ]


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
