"""`mnemic status` for a mind locked by a passphrase: what can be known without its key.

Below are `mnemic.runtime.spool.pending`, which looks at the spool from outside, and `mnemic.runtime.client.client`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mnemic.actors.protocol.errors import NotServed
from mnemic.cli.output import format_size, pluralize, process_line
from mnemic.runtime.minds.homes import locked_error, mind_folder
from mnemic.runtime.spool.pending import measure_backlog, read_losses
from mnemic.runtime.version import __version__

if TYPE_CHECKING:
    from mnemic.actors.protocol.contract import Clock

__all__ = ["locked_status"]


def locked_status(home: Path, mind: str, clock: Clock) -> tuple[dict[str, Any], list[str]]:
    """As JSON, and as lines for a person.

    Raises:
        MnemicError: the home's process answers with it.
    """
    folder, process = mind_folder(home, mind), _server_info(home, mind, clock)
    waits, lost = measure_backlog(folder.spool, {}), read_losses(folder.spool)
    error = locked_error(folder)
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
    lines += [process_line(process) if process else "no process serves it", f"on disk {format_size(size)}"]
    if waits.files:
        waiting = f"{format_size(waits.size_bytes)} in {pluralize(waits.files, 'file')} of the spool"
        lines.append(f"hooks: {waiting}; what of it is not taken in yet is kept until the mind is unlocked")
    if lost.lost:
        lines.append(f"hooks: {pluralize(lost.lost, 'event')} could not be written and were lost")
    return view, [*lines, f"locked: {error} {error.remedy_text}"]


def _server_info(home: Path, mind: str, clock: Clock) -> dict[str, Any] | None:
    from mnemic.runtime.client.client import RemoteActorSystem
    from mnemic.runtime.client.launcher import ensure_running

    try:
        ensure_running(home, clock, start=False)
    except NotServed:
        return None
    return RemoteActorSystem(home, mind, False, clock).server_info()
