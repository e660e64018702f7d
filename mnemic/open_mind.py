"""Opens a mind: with its actors in this process, or by way of the process that serves its home.

Nothing heavy is imported before it is needed: a command that asks a running process loads neither NumPy nor SQLite.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemic.actors.kernel.errors import NotServed
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.reports import HostPorts
from mnemic.runtime.minds.homes import expand_home

if TYPE_CHECKING:
    from mnemic.actors.kernel.contract import Clock
    from mnemic.runtime.engine.reports import ActorSystemPort


def open_here(
    home: str | os.PathLike[str],
    mind: str = "default",
    *,
    engine: str = "embedded",
    clock: Clock | None = None,
    seed: bytes | None = None,
    passphrase: str | None = None,
    create: bool,
    asked_only: bool = False,
) -> Mind:
    """Open a mind in this process; see `mnemic.open`. Without `create`, one that is not there is `MindMissing`.

    Args:
        asked_only: see `mnemic.compose.open_actor_system`.
    """
    from mnemic.compose import engine_factory, open_actor_system
    from mnemic.runtime.clock import SystemClock

    folder, clock = expand_home(Path(home)), clock or SystemClock()
    make_engine = engine_factory(engine, clock)

    def actor_system(passphrase: str | None, create: bool = False) -> ActorSystemPort:
        return open_actor_system(
            folder,
            mind,
            make_engine,
            clock=clock,
            seed=seed,
            create=create,
            passphrase=passphrase,
            asked_only=asked_only,
        )

    return mind_over(actor_system(passphrase, create), folder, mind, reopen=actor_system, passphrase=passphrase)


def open_served(home: Path, mind: str, clock: Clock, *, create: bool) -> Mind | None:
    """Open a mind in the process that serves its home; ``None`` where no process does."""
    from mnemic.runtime.client.client import RemoteActorSystem
    from mnemic.runtime.client.launcher import ensure_running

    try:
        ensure_running(home, clock, start=False)
    except NotServed:
        return None
    actor_system = RemoteActorSystem(home, mind, create, clock)
    return mind_over(actor_system, home, mind, actor_system.server_info)


def mind_over(
    actor_system: ActorSystemPort,
    home: Path,
    name: str,
    process: Callable[[], dict[str, Any] | None] = lambda: None,
    reopen: Callable[[str | None], ActorSystemPort] | None = None,
    passphrase: str | None = None,
) -> Mind:
    """A mind over actors that run, with what knows the hosts; the arguments are `Mind`'s."""
    ports = HostPorts(find_sources=_find_sources, hook_reply=_hook_reply)
    return Mind(actor_system, home, name, ports, process, reopen, passphrase)


def _find_sources(path: str, format: str) -> tuple[Sequence[str], int]:
    from mnemic.hooks.read.formats import find_sources

    found = find_sources(path, format)
    return found.paths, found.notes_left


def _hook_reply(*given: Any) -> bytes:
    from mnemic.hooks.read.hook_reply import hook_reply

    return hook_reply(*given)
