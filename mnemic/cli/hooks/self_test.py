"""How assistants are wired, proved by trials: an event has to reach the store, and a question to be answered.

Above stands the command; `mnemic.cli.hooks.wiring`, beside it, does the wiring, and `mnemic.hooks.wire.status` looks at
it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import MnemicError
from mnemic.hooks.wire.commands import Wiring, wiring_for
from mnemic.hooks.wire.host import Host
from mnemic.hooks.wire.hosts import HOSTS, chosen_hosts
from mnemic.hooks.wire.record import Record
from mnemic.hooks.wire.status import HostStatus, ask, fire, look_at, silenced, wired_as
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.keys.keys import run_name
from mnemic.runtime.minds.run_dir import Card, Meeting

__all__ = ["statuses"]

_ARRIVES_S, _POLL_S = 20.0, 0.25
_QUESTIONS = 3  # a process that has just been started may need longer for the first than a hook waits


def statuses(
    home: Path,
    names: Sequence[str],
    environment: Mapping[str, str],
    clock: Clock,
    opened: Callable[[str], AbstractContextManager[Mind]],
    *,
    trial: bool = True,
) -> list[HostStatus]:
    """How hosts are wired; each that is, and can work, is proved by trials through its own commands.

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
        if trial and status.wired and not silenced(wiring, clock):
            nonce = run_name()
            status.trial = _arrived(host, wiring, clock, opened, nonce)
            if status.trial == "arrived":
                status.asked, status.asked_ms = _answered(host, wiring, clock, nonce)
        found.append(status)
    return found


def _arrived(
    host: Host, wiring: Wiring, clock: Clock, opened: Callable[[str], AbstractContextManager[Mind]], nonce: str
) -> str:
    """Fire an event and look for it in the store."""
    why = fire(host, wiring, nonce)
    if why:
        return why
    pause, until = threading.Event(), clock.monotonic_s() + _ARRIVES_S
    try:
        with opened(wiring.mind) as mind:
            while mind.waiting().checks.get(host.name) != nonce:
                if clock.monotonic_s() > until:
                    return "it ran, and nothing of it reached the store"
                if _serving(wiring.home) is None:  # a process that serves takes it in by itself
                    mind.drain(transcripts=False)
                pause.wait(_POLL_S)
    except MnemicError as error:
        return f"whether it arrived is not known: {error}"
    return "arrived"


def _answered(host: Host, wiring: Wiring, clock: Clock, nonce: str) -> tuple[str, float | None]:
    """Ask as at a session's start: where a process serves, it is this process that has to answer.

    Returns what came of it, and how many milliseconds the answer took.
    """
    why = ""
    for _ in range(_QUESTIONS):
        card, begun_s = _serving(wiring.home), clock.monotonic_s()
        why, pid = ask(host, wiring, nonce)
        took_ms = round(1e3 * (clock.monotonic_s() - begun_s), 1)
        if pid is not None and (card is None or card.state != "ready" or card.pid == pid):
            return "answered", took_ms
        if pid is not None and card is not None:
            why = f"process {card.pid}, which serves the home, did not take part; serve.log says more"
    return why, None


def _serving(home: Path) -> Card | None:
    """The card of the process that serves a home."""
    card = Meeting(home).card()
    return card if card is not None and card.alive() else None
