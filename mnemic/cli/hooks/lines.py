"""Formats the results of `mnemic hooks` as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnemic.cli.hooks.wiring import HostChanges, WiringResult
from mnemic.cli.output import format_size, pluralize
from mnemic.hooks.wire.status import HostStatus
from mnemic.hooks.wire.wiring import diff_of

__all__ = ["status_lines", "status_view", "wiring_lines", "wiring_view"]


def wiring_view(wired: WiringResult, write: bool) -> dict[str, Any]:
    """What an install or an uninstall did, or would do, as JSON."""
    return {
        "applied": write,
        "hosts": {one.name: one.view() for one in wired.hosts},
        "left_out": wired.absent_hosts,
        "made": None if wired.new_key_path is None else str(wired.new_key_path),
        "executables": [str(path) for path in wired.executables],
        "transcripts": {
            one.assistant: {"files": len(one.paths), "size_bytes": one.size_bytes, "minutes": round(one.minutes, 1)}
            for one in wired.transcripts
        },
    }


def wiring_lines(wired: WiringResult, write: bool, home: Path, verb: str) -> Iterator[str]:
    """The same for a person.

    Args:
        verb: ``install`` or ``uninstall``.
    """
    for host in wired.hosts:
        yield from _host_lines(host, write, home, "wired" if verb == "install" else "undone")
    yield from (f"{name}: left out: {why}" for name, why in wired.absent_hosts.items())
    if not wired.hosts:
        yield "no assistant was found" if verb == "install" else "no assistant is wired"
        return
    if wired.new_key_path:
        did = "made" if write else "would make"
        yield f"{did} the mind that they fill; its key is {wired.new_key_path}: keep a copy elsewhere"
    if wired.executables:
        did = "put" if write else "would put"
        yield f"{did} into {wired.executables[0].parent}: {', '.join(path.name for path in wired.executables)}"
    if not wired.changed:
        if not any(host.failed for host in wired.hosts):
            yield "nothing to do: it is all there already" if verb == "install" else "nothing to do"
    elif not write:
        yield "nothing was written; --apply does it"
    for one in wired.transcripts:
        minutes = f"about {max(1, round(one.minutes))} min" if one.minutes >= 1 else "under a minute"
        files = pluralize(len(one.paths), "transcript") if one.assistant != "opencode" else "a database of sessions"
        yield f"{one.assistant} has {files} from before: {format_size(one.size_bytes)}, {minutes} in the background"


def _host_lines(host: HostChanges, write: bool, home: Path, done: str) -> Iterator[str]:
    for change in host.changes:
        if change.action == "unchanged":
            yield f"{host.name}: {change.path}: nothing changes"
            continue
        yield f"{host.name}: {change.path}: {change.action if write else f'would be {change.action}'}"
        if not write:
            yield from (f"  {line}" for line in diff_of(change))
        elif str(change.path) in host.backups:
            yield f"  what was there: {home / 'backups' / host.backups[str(change.path)]}"
    if host.failed:
        yield f"{host.name}: not {done}: {host.failed}"
    yield from (f"{host.name}: {note}" for note in host.notes)


def status_view(status: HostStatus) -> dict[str, Any]:
    """How a host is wired, as JSON."""
    return {
        "here": status.installed,
        "wired": status.wired,
        "events": status.events,
        "mcp": status.mcp,
        "instructions": status.instructions or None,
        "trial": status.trial or None,
        "asked": status.reply_check or None,
        "asked_ms": status.reply_ms,
        "wrong": status.problems,
        "notes": status.notes,
    }


def status_lines(status: HostStatus) -> Iterator[str]:
    """The same for a person."""
    if status.wired:
        good = ", ".join(event for event, state in status.events.items() if state == "wired")
        number = sum(state == "wired" for state in status.events.values())
        yield f"{status.name}: {number} of {len(status.events)} events wired{f' ({good})' if good else ''}"
        if status.missing_parts:
            yield f"  not as they were installed: {', '.join(status.missing_parts)} -> {status.remedy}"
    elif status.problems:
        yield f"{status.name}: whether it is wired cannot be seen"
    else:
        yield f"{status.name}: not wired{'' if status.installed else ', and not here'}"
    yield from (f"  wrong: {why}" for why in status.problems)
    yield from (f"  {note}" for note in status.notes)
    if status.trial == "arrived":
        yield "  a trial event went through its command and reached the store"
    elif status.trial:
        yield f"  wrong: the trial event: {status.trial}"
    if status.reply_check == "answered":
        yield f"  asked as at a session's start, and answered in {status.reply_ms:.0f} ms"
    elif status.reply_check:
        yield f"  wrong: asked as at a session's start: {status.reply_check}"
