"""How what `mnemic hooks` did, or would do, is printed: as lines for a person, as JSON for a program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnemic.cli.hooks.wiring import HostChanges, Wired
from mnemic.cli.output import counted, sized
from mnemic.hooks.wire.status import HostStatus
from mnemic.hooks.wire.wiring import diff_of

__all__ = ["status_lines", "status_view", "wired_lines", "wired_view"]


def wired_view(wired: Wired, write: bool) -> dict[str, Any]:
    """What an install or an uninstall did, or would do, as JSON."""
    return {
        "applied": write,
        "hosts": {one.name: one.view() for one in wired.hosts},
        "left_out": wired.left_out,
        "made": None if wired.made is None else str(wired.made),
        "executables": [str(path) for path in wired.executables],
        "transcripts": {
            one.assistant: {"files": len(one.paths), "size_bytes": one.size_bytes, "minutes": round(one.minutes, 1)}
            for one in wired.kept
        },
    }


def wired_lines(wired: Wired, write: bool, home: Path, verb: str) -> Iterator[str]:
    """The same for a person.

    Args:
        verb: ``install`` or ``uninstall``.
    """
    for host in wired.hosts:
        yield from _host_lines(host, write, home, "wired" if verb == "install" else "undone")
    yield from (f"{name}: left out: {why}" for name, why in wired.left_out.items())
    if not wired.hosts:
        yield "no assistant was found" if verb == "install" else "no assistant is wired"
        return
    if wired.made:
        did = "made" if write else "would make"
        yield f"{did} the mind that they fill; its key is {wired.made}: keep a copy elsewhere"
    if wired.executables:
        did = "put" if write else "would put"
        yield f"{did} into {wired.executables[0].parent}: {', '.join(path.name for path in wired.executables)}"
    if not wired.changed:
        if not any(host.failed for host in wired.hosts):
            yield "nothing to do: it is all there already" if verb == "install" else "nothing to do"
    elif not write:
        yield "nothing was written; --apply does it"
    for one in wired.kept:
        minutes = f"about {max(1, round(one.minutes))} min" if one.minutes >= 1 else "under a minute"
        files = counted(len(one.paths), "transcript") if one.assistant != "opencode" else "a database of sessions"
        yield f"{one.assistant} has {files} from before: {sized(one.size_bytes)}, {minutes} in the background"


def _host_lines(host: HostChanges, write: bool, home: Path, done: str) -> Iterator[str]:
    for change in host.changes:
        if change.what == "unchanged":
            yield f"{host.name}: {change.path}: nothing changes"
            continue
        yield f"{host.name}: {change.path}: {change.what if write else f'would be {change.what}'}"
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
        "here": status.here,
        "wired": status.wired,
        "events": status.events,
        "mcp": status.mcp,
        "instructions": status.instructions or None,
        "trial": status.trial or None,
        "asked": status.asked or None,
        "asked_ms": status.asked_ms,
        "wrong": status.wrong,
        "notes": status.notes,
    }


def status_lines(status: HostStatus) -> Iterator[str]:
    """The same for a person."""
    if status.wired:
        good = ", ".join(event for event, state in status.events.items() if state == "wired")
        number = sum(state == "wired" for state in status.events.values())
        yield f"{status.name}: {number} of {len(status.events)} events wired{f' ({good})' if good else ''}"
        if status.lacking:
            yield f"  not as they were installed: {', '.join(status.lacking)} -> {status.remedy}"
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
