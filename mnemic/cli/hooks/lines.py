"""Formats the results of `mnemic hooks` as text for a person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mnemic.cli.hooks.wiring import HostResult, WiringResult
from mnemic.hooks.wire.status import HostStatus
from mnemic.runtime.api.reports import format_size, pluralize

__all__ = ["status_lines", "wiring_lines", "wiring_view"]


def wiring_view(result: WiringResult) -> dict[str, Any]:
    """What an install or an uninstall did, or would do, as JSON."""
    kept = {
        name: {"files": len(one.paths), "size_bytes": one.size_bytes, "minutes": round(one.minutes, 1)}
        for name, one in result.transcripts.items()
    }
    return {**msgspec.to_builtins(result), "transcripts": kept}


def wiring_lines(result: WiringResult, home: Path, verb: str) -> Iterator[str]:
    """The same for a person.

    Args:
        verb: ``install`` or ``uninstall``.
    """
    for name, host in result.hosts.items():
        yield from _host_lines(name, host, home, result.applied)
        if host.failed:
            yield f"{name}: not {'wired' if verb == 'install' else 'undone'}: {host.failed}"
        yield from (f"{name}: {note}" for note in host.notes)
    yield from (f"{name}: left out: {why}" for name, why in result.left_out.items())
    if not result.hosts:
        yield "no assistant was found" if verb == "install" else "no assistant is wired"
        return
    if result.made:
        did = "made" if result.applied else "would make"
        yield f"{did} the mind that they fill; its key is {result.made}: keep a copy elsewhere"
    if result.executables:
        paths = [Path(path) for path in result.executables]
        did = "put" if result.applied else "would put"
        yield f"{did} into {paths[0].parent}: {', '.join(path.name for path in paths)}"
    changed = any(file.change != "unchanged" for host in result.hosts.values() for file in host.files)
    if not changed and not result.executables:
        if not result.has_failed:
            yield "nothing to do: it is all there already" if verb == "install" else "nothing to do"
    elif not result.applied:
        yield "nothing was written; --apply does it"
    for name, one in result.transcripts.items():
        minutes = f"about {max(1, round(one.minutes))} min" if one.minutes >= 1 else "under a minute"
        files = pluralize(len(one.paths), "transcript") if name != "opencode" else "a database of sessions"
        yield f"{name} has {files} from before: {format_size(one.size_bytes)}, {minutes} in the background"


def _host_lines(name: str, host: HostResult, home: Path, applied: bool) -> Iterator[str]:
    for file in host.files:
        if file.change == "unchanged":
            yield f"{name}: {file.path}: nothing changes"
            continue
        yield f"{name}: {file.path}: {file.change if applied else f'would be {file.change}'}"
        yield from (f"  {line}" for line in (() if applied else file.diff))
        if applied and file.backup:
            yield f"  what was there: {home / 'backups' / file.backup}"


def status_lines(status: HostStatus) -> Iterator[str]:
    """The same for a person."""
    if status.wired:
        good = ", ".join(event for event, state in status.events.items() if state == "wired")
        number = sum(state == "wired" for state in status.events.values())
        yield f"{status.name}: {number} of {len(status.events)} events wired{f' ({good})' if good else ''}"
        if status.missing_parts:
            yield f"  not as they were installed: {', '.join(status.missing_parts)} -> {status.remedy}"
    elif status.wrong:
        yield f"{status.name}: whether it is wired cannot be seen"
    else:
        yield f"{status.name}: not wired{'' if status.here else ', and not here'}"
    yield from (f"  wrong: {why}" for why in status.wrong)
    yield from (f"  {note}" for note in status.notes)
    if status.trial == "arrived":
        yield "  a trial event went through its command and reached the store"
    elif status.trial:
        yield f"  wrong: the trial event: {status.trial}"
    if status.asked == "answered":
        yield f"  asked as at a session's start, and answered in {status.asked_ms:.0f} ms"
    elif status.asked:
        yield f"  wrong: asked as at a session's start: {status.asked}"
