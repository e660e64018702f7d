"""Opens a mind: with its actors in this process, or by way of the process that serves its home.

Nothing heavy is imported before it is needed: a command that asks a running process loads neither NumPy nor SQLite.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemic.actors.protocol.errors import NotServed
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.ports import HostPorts
from mnemic.runtime.files.paths import expanded

if TYPE_CHECKING:
    from mnemic.actors.protocol.contract import Clock
    from mnemic.runtime.engine.reports import SocietyPort

__all__ = ["mind_over", "open_here", "open_served"]


def open_here(
    home: str | os.PathLike[str],
    mind: str = "default",
    *,
    engine: str = "embedded",
    clock: Clock | None = None,
    seed: bytes | None = None,
    passphrase: str | None = None,
    create: bool,
) -> Mind:
    """Open a mind in this process; see `mnemic.open`. Without `create`, one that is not there is `MindMissing`."""
    from mnemic.compose import engine_named, open_society
    from mnemic.runtime.clock import SystemClock

    folder, clock = expanded(Path(home)), clock or SystemClock()
    make_engine = engine_named(engine, clock)

    def society(passphrase: str | None, create: bool = False) -> SocietyPort:
        return open_society(folder, mind, make_engine, clock=clock, seed=seed, create=create, passphrase=passphrase)

    return mind_over(society(passphrase, create), folder, mind, reopen=society, passphrase=passphrase)


def open_served(home: Path, mind: str, clock: Clock, *, create: bool) -> Mind | None:
    """Open a mind in the process that serves its home; ``None`` where no process does."""
    from mnemic.runtime.client.client import RemoteSociety
    from mnemic.runtime.client.launcher import reach

    try:
        reach(home, clock, start=False)
    except NotServed:
        return None
    society = RemoteSociety(home, mind, create, clock)
    return mind_over(society, home, mind, society.process)


def mind_over(
    society: SocietyPort,
    home: Path,
    name: str,
    process: Callable[[], dict[str, Any] | None] = lambda: None,
    reopen: Callable[[str | None], SocietyPort] | None = None,
    passphrase: str | None = None,
) -> Mind:
    """A mind over actors that run, with what knows the hosts; the arguments are `Mind`'s."""
    ports = HostPorts(find_transcripts=_find_transcripts, hook_reply=_hook_reply)
    return Mind(society, home, name, ports, process, reopen, passphrase)


def _find_transcripts(path: str) -> Sequence[str]:
    from mnemic.hooks.read.formats import find_transcripts

    return find_transcripts(path)


def _hook_reply(*given: Any) -> bytes:
    from mnemic.hooks.read.hook_reply import hook_answer

    return hook_answer(*given)
