"""Finding the process that serves a home, starting it where there is none, and seeing one off.

Below stands `mnemic.runtime.client.unix_http`; above stand `mnemic.runtime.client.client` and
`mnemic.runtime.client.mcp_pipe`.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.actors.protocol.errors import NotServed, NotStarted, StoreReadOnly
from mnemic.runtime.client.unix_http import LOST, Unreadable, call
from mnemic.runtime.minds.run_dir import PROTOCOL, Card, Meeting

if TYPE_CHECKING:
    from mnemic.actors.protocol.contract import Clock

__all__ = ["drain", "last_words", "log_of", "reach", "wait_dead", "wait_gone"]

_log = logging.getLogger("mnemic.starting")

_START_TIMEOUT_S = 60.0
_DIES_S = 0.3
_LEAVES_S = 12.0  # a process that was told to leave is gone within 10
_POLL_S = 0.02
_TOLD = "mnemic: "  # so the command begins an error of its own, which says what to do
_COMMAND = (sys.executable, "-P", "-m", "mnemic", "serve", "--on-demand")  # -P: no module of a folder one is in


def reach(home: Path, clock: Clock, *, start: bool = True, ready: bool = False) -> Card:
    """The card of the process that serves a home; it is started where there is none.

    Args:
        start: whether to start one.
        ready: whether to wait until it answers; else it may still be getting ready, and takes requests all the same.

    Raises:
        NotServed: there is none, or none could be started; `NotStarted` where it said why.
    """
    meeting = Meeting(home)
    card = _listening(meeting)
    if card is None and not start:
        raise NotServed(home=str(home), why="none is running", log=log_of(home))
    if card is None:
        card = _start(meeting, clock)
    if ready:
        card = _answering(meeting, card, clock)
    return card


def _listening(meeting: Meeting) -> Card | None:
    """The card of a process that takes connections."""
    card = meeting.card()
    if card is None:
        return None
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        try:
            probe.connect(card.http)
        except OSError:
            return None
    return card


def _start(meeting: Meeting, clock: Clock) -> Card:
    """Start the process; of many who do so at once, one does, and the others find it."""
    meeting.prepare()
    with _held(meeting):
        card = _listening(meeting)
        if card is not None:
            return card
        process = _spawn(meeting)
        # A pipe may outlive the process by days: it must not keep its remains.
        threading.Thread(target=process.wait, daemon=True, name="mnemic-started").start()
        until = clock.monotonic_s() + _START_TIMEOUT_S
        pause = threading.Event()
        ended = False
        while clock.monotonic_s() < until:
            card = _listening(meeting)
            if card is not None:
                return card
            if ended:  # and looked at once more since: it ends by itself where somebody else serves
                break
            ended = process.poll() is not None
            pause.wait(_POLL_S)
        if not ended:
            process.kill()
        said = last_words(meeting)
        if _last_line(meeting).startswith(_TOLD):
            raise NotStarted(home=str(meeting.home), said=said)
        why = f"it was started and said: {said}" if said else "it was started and did not come up"
        raise NotServed(home=str(meeting.home), why=why, log=log_of(meeting.home))


def _spawn(meeting: Meeting) -> subprocess.Popen[bytes]:
    try:
        meeting.errors_path.unlink(missing_ok=True)  # whoever leaves may still write into the one before
        with open(os.open(meeting.errors_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as errors:
            return subprocess.Popen(
                [*_COMMAND, "--home", str(meeting.home)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                cwd="/",
            )
    except OSError as error:
        raise StoreReadOnly(path=str(meeting.errors_path), why=error.strerror or type(error).__name__) from error


def last_words(meeting: Meeting) -> str:
    """What a process that was started on demand said last of what went wrong, without the full stop."""
    said = _last_line(meeting)
    return "" if said.startswith("serving ") else said.removeprefix(_TOLD).removesuffix(".")


def _last_line(meeting: Meeting) -> str:
    try:
        said = meeting.errors_path.read_text("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return said[-1] if said else ""


@contextmanager
def _held(meeting: Meeting) -> Iterator[None]:
    """Be the only one who starts a process."""
    descriptor = meeting.hold("start.lock", wait=True)
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)


def _answering(meeting: Meeting, card: Card, clock: Clock) -> Card:
    until = clock.monotonic_s() + _START_TIMEOUT_S
    while clock.monotonic_s() < until:
        try:
            call(card.http, "GET", "/healthz", b"", {})
            return meeting.card() or card
        except LOST:
            card = reach(meeting.home, clock)
        except Unreadable:
            break
    raise NotServed(home=str(meeting.home), why="it does not get ready", log=log_of(meeting.home))


def drain(card: Card, reason: str) -> None:
    """Ask a process to finish and leave; one that is gone has done so."""
    body = json.dumps({"reason": reason, "protocol": PROTOCOL}).encode()
    try:
        call(card.http, "POST", "/api/drain", body, {"Content-Type": "application/json"})
    except LOST as error:
        _log.info("process %s left before it was asked to (%s)", card.pid, type(error).__name__)
    except Unreadable:
        _log.warning("process %s was asked to leave, and what it answers cannot be read", card.pid)


def wait_gone(home: Path, card: Card, clock: Clock, limit_s: float = _LEAVES_S) -> bool:
    """Wait until a process that leaves has taken its card away, or the card says something else; returns whether."""
    meeting, pause = Meeting(home), threading.Event()
    until = clock.monotonic_s() + limit_s
    while meeting.card() == card:
        if clock.monotonic_s() > until:
            return False
        pause.wait(_POLL_S)
    return True


def wait_dead(card: Card, clock: Clock) -> None:
    """Wait, briefly, until a process that broke off is gone: while it ends, its sockets still take connections."""
    pause, until = threading.Event(), clock.monotonic_s() + _DIES_S
    while card.alive() and clock.monotonic_s() < until:
        pause.wait(_POLL_S)


def log_of(home: Path) -> str:
    """Where the process writes its log."""
    return str(home / "serve.log")
