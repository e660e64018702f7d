"""Doctor checks of the running actors of a mind: failures, undelivered messages, the last sleep, embeddings.

It starts no process: what one that runs says of itself is all there is to see.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.protocol.errors import MnemicError
from mnemic.runtime.client.unix_http import call
from mnemic.runtime.doctor.checks import Check, pluralize
from mnemic.runtime.engine.reports import ActorHealth, ActorSystemReport
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo

__all__ = ["ServedMind", "check_actors", "check_embeddings", "find_served_mind"]

_OPENING_S = 60.0  # the first who asks about a mind waits until it is open: on Ray, until its actors have processes
_WATCH_S = 10.0
_POLL_S = 0.1
_LOST = (OSError, http.client.HTTPException)


class ServedMind:
    """A mind in the process that serves it now; nothing here starts another one."""

    def __init__(self, card: ServerInfo, mind: str) -> None:
        self._card = card
        self._headers = {"Mnemic-Protocol": str(PROTOCOL), "Mnemic-Mind": mind, "Mnemic-Create": "0"}

    def report(self) -> ActorSystemReport:
        """How its actors are."""
        return msgspec.convert(self._call("GET", "/api/report"), ActorSystemReport)

    def release(self) -> str:
        """Have actors that were set aside made anew; returns what was done."""
        return f"released {', '.join(self._call('POST', '/api/release')['released']) or 'nobody'}"

    def replay(self) -> str:
        """Send dead letters again; returns what was done."""
        return f"sent {pluralize(self._call('POST', '/api/replay')['replayed'], 'message')} again"

    def _call(self, method: str, target: str) -> Any:
        return call(self._card.http_socket, method, target, b"", self._headers, limit_s=_OPENING_S)


def find_served_mind(home: Path, mind: str) -> ServedMind | None:
    """The process of a home, if there is one that answers."""
    card = RunDir(home).read_info()
    well = card is not None and card.is_alive() and card.protocol == PROTOCOL and card.state == "ready"
    return ServedMind(card, mind) if card is not None and well else None


# --- its actors ------------------------------------------------------------------------------------------------------


def check_actors(served: ServedMind) -> Iterator[Check]:
    """Whether an actor was set aside, whether messages wait to be sent again, and how the last night was."""
    try:
        report = served.report()
    except (MnemicError, *_LOST) as error:
        why = str(error) if isinstance(error, MnemicError) else type(error).__name__
        remedy = "See to what is wrong above; serve.log of the home says more."
        yield Check("actors", "wrong", f"the process does not say how they are: {why}", remedy)
        return
    yield _actors(report.actors)
    yield _dead_letters(report)
    yield _last_sleep(report)


def _actors(actors: list[ActorHealth]) -> Check:
    aside = [
        f"{one.actor} was set aside after {pluralize(one.failures, 'failure')}: {one.cause}"
        for one in actors
        if one.quarantined
    ]
    if aside:
        return Check("actors", "wrong", "; ".join(aside), "Mend the cause; --repair has them made anew.", True)
    failed = [
        f"{one.actor} failed {pluralize(one.failures, 'time')}, last: {one.cause}" for one in actors if one.failures
    ]
    if failed:
        return Check(
            "actors", "advice", f"{'; '.join(failed)}", "They were made anew; serve.log of the home says more."
        )
    return Check("actors", "ok", f"{len(actors)} are well")


def _dead_letters(report: ActorSystemReport) -> Check:
    letters = report.last_dead_letters
    if not letters:
        return Check("letters", "ok", "every message was delivered")
    last = letters[-1]
    told = (
        f"{pluralize(len(letters), 'message')} not delivered, the last {last.message} for {last.actor} ({last.reason})"
    )
    if any(letter.replayable for letter in letters):
        return Check("letters", "advice", told, "--repair sends again what can be.", True)
    return Check("letters", "advice", told, "None can be sent again; serve.log of the home says more.")


def _last_sleep(report: ActorSystemReport) -> Check:
    night = report.night
    if night is None:
        return Check("night", "ok", "there was none since the process started")
    told = f"{night.run}: {pluralize(night.changes, 'change')}"
    if night.finished:
        return Check("night", "ok", f"{told}, finished")
    return Check("night", "advice", f"{told}, not finished", "It goes on when nobody wants anything.")


# --- how far meaning is ----------------------------------------------------------------------------------------------


def check_embeddings(waiting: Callable[[], int], served: bool, able: bool) -> Iterator[Check]:
    """How far meaning lags behind words, and, where a process is at it, whether it catches up.

    Args:
        waiting: counts the memories that have no meaning yet.
        served: whether a process serves.
        able: whether there is a model.
    """
    left = waiting()
    told = f"{pluralize(left, 'memory waits', 'memories wait')} to be embedded"
    if not left:
        yield Check("meaning", "ok", "every memory is embedded")
    elif not able:
        yield Check("meaning", "advice", told, "Words find them; see to the model.")
    elif not served:
        remedy = "The next `mnemic capture` finishes it, or an assistant's session does."
        yield Check("meaning", "advice", told, remedy)
    else:
        pause = threading.Event()
        now = left
        for _ in range(round(_WATCH_S / _POLL_S)):
            pause.wait(_POLL_S)
            now = waiting()
            if now < left:
                break
        if now < left:
            yield Check("meaning", "advice", f"{told}, and they become fewer", "Wait: the process is at it.")
        else:
            remedy = "See to the actors; `mnemic serve` takes over from a process that hangs."
            yield Check("meaning", "wrong", f"{told}, and none was in {_WATCH_S:g} s", remedy)
