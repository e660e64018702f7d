"""Looks at the actors of a mind in the process that serves it, and at how far meaning lags behind words.

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
from mnemic.runtime.doctor.checks import Check, counted
from mnemic.runtime.engine.reports import ActorHealth, SocietyReport
from mnemic.runtime.minds.run_dir import PROTOCOL, Card, Meeting

__all__ = ["Served", "meaning", "serving", "society"]

_OPENING_S = 60.0  # the first who asks about a mind waits until it is open: on Ray, until its actors have processes
_WATCH_S = 10.0
_POLL_S = 0.1
_LOST = (OSError, http.client.HTTPException)


class Served:
    """A mind in the process that serves it now; nothing here starts another one."""

    def __init__(self, card: Card, mind: str) -> None:
        self._card = card
        self._headers = {"Mnemic-Protocol": str(PROTOCOL), "Mnemic-Mind": mind, "Mnemic-Create": "0"}

    def report(self) -> SocietyReport:
        """How its actors are."""
        return msgspec.convert(self._call("GET", "/api/report"), SocietyReport)

    def release(self) -> str:
        """Have actors that were set aside made anew; returns what was done."""
        return f"released {', '.join(self._call('POST', '/api/release')['released']) or 'nobody'}"

    def replay(self) -> str:
        """Send dead letters again; returns what was done."""
        return f"sent {counted(self._call('POST', '/api/replay')['replayed'], 'message')} again"

    def _call(self, method: str, target: str) -> Any:
        return call(self._card.http, method, target, b"", self._headers, limit_s=_OPENING_S)


def serving(home: Path, mind: str) -> Served | None:
    """The process of a home, if there is one that answers."""
    card = Meeting(home).card()
    well = card is not None and card.alive() and card.protocol == PROTOCOL and card.state == "ready"
    return Served(card, mind) if card is not None and well else None


# --- its actors ------------------------------------------------------------------------------------------------------


def society(served: Served) -> Iterator[Check]:
    """Whether an actor was set aside, whether messages wait to be sent again, and how the last night was."""
    try:
        report = served.report()
    except (MnemicError, *_LOST) as error:
        why = str(error) if isinstance(error, MnemicError) else type(error).__name__
        remedy = "See to what is wrong above; serve.log of the home says more."
        yield Check("actors", "wrong", f"the process does not say how they are: {why}", remedy)
        return
    yield _actors(report.actors)
    yield _letters(report)
    yield _night(report)


def _actors(actors: list[ActorHealth]) -> Check:
    aside = [
        f"{one.actor} was set aside after {counted(one.failures, 'failure')}: {one.cause}"
        for one in actors
        if one.quarantined
    ]
    if aside:
        return Check("actors", "wrong", "; ".join(aside), "Mend the cause; --repair has them made anew.", True)
    failed = [
        f"{one.actor} failed {counted(one.failures, 'time')}, last: {one.cause}" for one in actors if one.failures
    ]
    if failed:
        return Check(
            "actors", "advice", f"{'; '.join(failed)}", "They were made anew; serve.log of the home says more."
        )
    return Check("actors", "ok", f"{len(actors)} are well")


def _letters(report: SocietyReport) -> Check:
    letters = report.last_dead_letters
    if not letters:
        return Check("letters", "ok", "every message was delivered")
    last = letters[-1]
    told = f"{counted(len(letters), 'message')} not delivered, the last {last.message} for {last.actor} ({last.reason})"
    if any(letter.replayable for letter in letters):
        return Check("letters", "advice", told, "--repair sends again what can be.", True)
    return Check("letters", "advice", told, "None can be sent again; serve.log of the home says more.")


def _night(report: SocietyReport) -> Check:
    night = report.night
    if night is None:
        return Check("night", "ok", "there was none since the process started")
    told = f"{night.run}: {counted(night.changes, 'change')}"
    if night.finished:
        return Check("night", "ok", f"{told}, finished")
    return Check("night", "advice", f"{told}, not finished", "It goes on when nobody wants anything.")


# --- how far meaning is ----------------------------------------------------------------------------------------------


def meaning(waiting: Callable[[], int], served: bool, able: bool) -> Iterator[Check]:
    """How far meaning lags behind words, and, where a process is at it, whether it catches up.

    Args:
        waiting: counts the memories that have no meaning yet.
        served: whether a process serves.
        able: whether there is a model.
    """
    left = waiting()
    told = f"{counted(left, 'memory waits', 'memories wait')} to be embedded"
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
