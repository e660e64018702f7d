"""Proves an assistant's wiring by firing a trial event and asking as at a session's start.

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
from mnemic.hooks.wire.commands import Wiring, make_wiring
from mnemic.hooks.wire.host import Host
from mnemic.hooks.wire.hosts import HOSTS, select_hosts
from mnemic.hooks.wire.record import InstallRecord
from mnemic.hooks.wire.status import (
    HostStatus,
    capture_blockers,
    examine_host,
    recorded_wiring,
    request_trial_reply,
    send_trial_event,
)
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.keys.keys import random_id
from mnemic.runtime.minds.run_dir import RunDir, ServerInfo

__all__ = ["check_hosts"]

_ARRIVES_S, _POLL_S = 20.0, 0.25
_MAX_QUESTIONS = 3  # a process that has just been started may need longer for the first than a hook waits


def check_hosts(
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
    base = make_wiring(home, environment)
    record = InstallRecord(base.home, clock)
    select_hosts(names, environment)
    found = []
    for host in HOSTS.values() if "all" in names else [HOSTS[name] for name in dict.fromkeys(names)]:
        wiring = recorded_wiring(base, record.hosts.get(host.name))
        status = examine_host(host, wiring, clock)
        if trial and status.wired and not capture_blockers(wiring, clock):
            nonce = random_id()
            status.trial = _trial_event(host, wiring, clock, opened, nonce)
            if status.trial == "arrived":
                status.reply_check, status.reply_ms = _trial_question(host, wiring, clock, nonce)
        found.append(status)
    return found


def _trial_event(
    host: Host, wiring: Wiring, clock: Clock, opened: Callable[[str], AbstractContextManager[Mind]], nonce: str
) -> str:
    """Fire an event and look for it in the store."""
    why = send_trial_event(host, wiring, nonce)
    if why:
        return why
    pause, until = threading.Event(), clock.monotonic_s() + _ARRIVES_S
    try:
        with opened(wiring.mind) as mind:
            while mind.capture_progress().checks.get(host.name) != nonce:
                if clock.monotonic_s() > until:
                    return "it ran, and nothing of it reached the store"
                if _live_server(wiring.home) is None:  # a process that serves takes it in by itself
                    mind.drain_spool(transcripts=False)
                pause.wait(_POLL_S)
    except MnemicError as error:
        return f"whether it arrived is not known: {error}"
    return "arrived"


def _trial_question(host: Host, wiring: Wiring, clock: Clock, nonce: str) -> tuple[str, float | None]:
    """Ask as at a session's start: where a process serves, it is this process that has to answer.

    Returns what came of it, and how many milliseconds the answer took.
    """
    why = ""
    for _ in range(_MAX_QUESTIONS):
        card, begun_s = _live_server(wiring.home), clock.monotonic_s()
        why, pid = request_trial_reply(host, wiring, nonce)
        took_ms = round(1e3 * (clock.monotonic_s() - begun_s), 1)
        if pid is not None and (card is None or card.state != "ready" or card.pid == pid):
            return "answered", took_ms
        if pid is not None and card is not None:
            why = f"process {card.pid}, which serves the home, did not take part; serve.log says more"
    return why, None


def _live_server(home: Path) -> ServerInfo | None:
    """The card of the process that serves a home."""
    card = RunDir(home).read_info()
    return card if card is not None and card.is_alive() else None
