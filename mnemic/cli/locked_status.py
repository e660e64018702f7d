"""What `mnemic status` says of a mind that is locked: what can be known without its key.

Below are `mnemic.runtime.spool.pending`, which looks at the spool from outside, and `mnemic.runtime.client.client`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mnemic.actors.protocol.errors import NotServed
from mnemic.cli.output import counted, process_line, sized
from mnemic.runtime.minds.homes import folder_of, locked
from mnemic.runtime.spool.pending import backlog, losses
from mnemic.runtime.version import __version__

if TYPE_CHECKING:
    from mnemic.actors.protocol.contract import Clock

__all__ = ["locked_status"]


def locked_status(home: Path, mind: str, clock: Clock) -> tuple[dict[str, Any], list[str]]:
    """As JSON, and as lines for a person.

    Raises:
        MnemicError: the home's process answers with it.
    """
    folder, process = folder_of(home, mind), _process(home, mind, clock)
    waits, lost = backlog(folder.spool, {}), losses(folder.spool)
    error = locked(folder)
    size = sum(file.stat().st_size for file in folder.path.glob("store.db*"))
    view = {
        "home": str(home),
        "mind": mind,
        "version": __version__,
        "locked": True,
        "store_bytes": size,
        "capture": {"backlog": msgspec.to_builtins(waits), "losses": msgspec.to_builtins(lost)},
        "process": process,
        "degraded": [f"{error} {error.remedy_text}"],
    }
    lines = [f"mind {mind!r} in {home}, Mnemic {__version__}"]
    lines += [process_line(process) if process else "no process serves it", f"on disk {sized(size)}"]
    if waits.files:
        waiting = f"{sized(waits.size_bytes)} in {counted(waits.files, 'file')} of the spool"
        lines.append(f"hooks: {waiting}; what of it is not taken in yet is kept until the mind is unlocked")
    if lost.lost:
        lines.append(f"hooks: {counted(lost.lost, 'event')} could not be written and were lost")
    return view, [*lines, f"locked: {error} {error.remedy_text}"]


def _process(home: Path, mind: str, clock: Clock) -> dict[str, Any] | None:
    from mnemic.runtime.client.client import RemoteSociety
    from mnemic.runtime.client.launcher import reach

    try:
        reach(home, clock, start=False)
    except NotServed:
        return None
    return RemoteSociety(home, mind, False, clock).process()
