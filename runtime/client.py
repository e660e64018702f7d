"""The client of a home's process: finds it, starts it where there is none, and asks it as one asks a supervisor.

A request carries its own trace, from which the keys of what it writes follow. So one whose answer was lost, because
the process was replaced or killed, is sent again to the next one, and what it wrote is not written twice. Nothing
heavy is imported here: a command that finds the process running is quick.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mnemic.actors.errors import ActorStopped, EngineLost, NewerProcess, NotServed, OlderProcess, StoreReadOnly
from mnemic.runtime.keys import run_name
from mnemic.runtime.meeting import PROTOCOL, Card, Meeting
from mnemic.runtime.reports import SocietyReport
from mnemic.runtime.wire import decode, decode_error, encode, path_of

if TYPE_CHECKING:
    from mnemic.actors.contract import Clock

__all__ = ["Leaving", "RemoteSociety", "Unreadable", "call", "drain", "reach", "wait_dead", "wait_gone"]

_log = logging.getLogger("mnemic.client")

_START_TIMEOUT_S = 60.0
_DIES_S = 0.3
_NOTICES_S = 2.0  # that its engine is gone
_LEAVES_S = 12.0  # a process that was told to leave is gone within 10
_POLL_S = 0.02
_PATIENCE_S = 30.0  # beyond the time that the process itself has for an answer
_LONGEST_S = 600.0  # where only the process knows how long it may take
_REPLACED = 5  # so often one request goes to another process before it is given up
_COMMAND = (sys.executable, "-P", "-m", "mnemic", "serve", "--on-demand")  # -P: no module of a folder one is in
_LOST = (ConnectionError, http.client.HTTPException, FileNotFoundError)

T = TypeVar("T")


class RemoteSociety:
    """The actors of one mind, in the home's process."""

    def __init__(self, home: Path, mind: str, create: bool, clock: Clock) -> None:
        """Make a client; nothing is asked yet.

        Args:
            create: whether the mind is made where there is none.
        """
        self._home = home
        self._headers = {
            "Mnemic-Protocol": str(PROTOCOL),
            "Mnemic-Mind": mind,
            "Mnemic-Create": str(int(create)),
            "Content-Type": "application/json",
        }
        self._clock = clock
        self._trace = f"c{run_name()}"
        self._number = 0
        self._numbering = threading.Lock()

    def ask(
        self,
        message: Any,
        timeout_s: float | None = None,
        progress: Callable[[int, int | None], None] | None = None,
        trace: str | None = None,
        *,
        idle: bool = False,
    ) -> Any:
        """Send a message and wait for its answer; see `mnemic.runtime.supervisor.Supervisor.ask`.

        Args:
            timeout_s: the process's own setting where absent.

        Raises: what the process answers with; `NotServed` where none can be had.
        """
        headers = {"Mnemic-Trace": trace or self._name()}
        if timeout_s is not None:
            headers["Mnemic-Timeout"] = repr(timeout_s)
        if idle:
            headers["Mnemic-Idle"] = "1"
        if progress is not None:
            headers["Accept"] = "application/x-ndjson"
        return self._request(decode, "POST", f"/api/{path_of(message)}", encode(message), headers, progress)

    def tell(self, message: Any, trace: str | None = None) -> None:
        """Send a message that nobody answers."""
        headers = {"Mnemic-Trace": trace or self._name()}
        self._request(_nothing, "POST", f"/api/tell/{path_of(message)}", encode(message), headers)

    def report(self) -> SocietyReport:
        """How the actors are."""
        return self._request(lambda answer: msgspec.convert(answer, SocietyReport), "GET", "/api/report")

    def replay(self) -> int:
        """Send dead letters again; returns how many."""
        return self._request(lambda answer: int(answer["replayed"]), "POST", "/api/replay")

    def release(self) -> list[str]:
        """Make quarantined actors anew; returns which."""
        return self._request(lambda answer: [str(one) for one in answer["released"]], "POST", "/api/release")

    def process(self) -> dict[str, Any]:
        """What the process says of itself."""
        return self._request(lambda answer: {**answer}, "GET", "/healthz")

    def stop(self) -> None:
        """Nothing: the process goes on for whoever else needs it."""

    # --- inside ------------------------------------------------------------------------------------------------------

    def _name(self) -> str:
        with self._numbering:
            self._number += 1
            return f"{self._trace}-{self._number}"

    def _request(
        self,
        read: Callable[[Any], T],
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] = MappingProxyType({}),
        progress: Callable[[int, int | None], None] | None = None,
    ) -> T:
        """Ask a process, or the next one.

        Args:
            read: what the JSON of the answer stands for.
        """
        why = ""
        given = headers.get("Mnemic-Timeout")
        limit_s = _LONGEST_S if given is None else float(given) + _PATIENCE_S
        for _ in range(_REPLACED):
            card = reach(self._home, self._clock)
            try:
                answer = call(card.http, method, path, body, {**self._headers, **headers}, progress, limit_s)
                return _understood(read, answer)
            except Leaving as error:
                why = str(error)
                wait_gone(self._home, card, self._clock)
            except (ActorStopped, EngineLost) as error:  # does the process leave, or get itself another engine?
                why = str(error).rstrip(".")
                if not wait_gone(self._home, card, self._clock, _NOTICES_S):
                    raise
            except _LOST as error:  # it was killed, or has just left: another one takes the same request
                why = type(error).__name__
                wait_dead(card, self._clock)
            except TimeoutError:
                why = f"it said nothing for {limit_s:g} s"
                raise NotServed(home=str(self._home), why=why, log=_log_of(self._home)) from None
            except OlderProcess as error:
                drain(card, "an older process")
                wait_gone(self._home, card, self._clock)
                why = str(error)
            except Unreadable:
                why = "what it answers cannot be read"
                raise NotServed(home=str(self._home), why=why, log=_log_of(self._home)) from None
            except NewerProcess:
                raise NewerProcess(home=str(self._home), theirs=card.protocol, ours=PROTOCOL, pid=card.pid) from None
            _log.warning("the process of the home did not answer %s (%s): asking again", path, why)
        said = _last_words(Meeting(self._home))
        why = f"{_REPLACED} of them went before they answered ({why}{f'; the last said: {said}' if said else ''})"
        raise NotServed(home=str(self._home), why=why, log=_log_of(self._home))


def reach(home: Path, clock: Clock, *, start: bool = True, ready: bool = False) -> Card:
    """The card of the process that serves a home; it is started where there is none.

    Args:
        start: whether to start one.
        ready: whether to wait until it answers; else it may still be getting ready, and takes requests all the same.

    Raises:
        NotServed: there is none, or none could be started.
    """
    meeting = Meeting(home)
    card = _listening(meeting)
    if card is None and not start:
        raise NotServed(home=str(home), why="none is running", log=_log_of(home))
    if card is None:
        card = _start(meeting, clock)
    if ready:
        card = _answering(meeting, card, clock)
    return card


def call(
    path: str,
    method: str,
    target: str,
    body: bytes,
    headers: dict[str, str],
    progress: Callable[[int, int | None], None] | None = None,
    limit_s: float = _LONGEST_S,
) -> Any:
    """One request over a Unix socket; returns the JSON of the answer.

    Args:
        limit_s: how long it may say nothing.

    Raises:
        TimeoutError: it said nothing for so long.
        MnemicError: what the process answers with.
        ConnectionError, http.client.HTTPException, FileNotFoundError: there is no answer, or half of one.
        Unreadable: the answer is none of a home's process.
    """
    with closing(_Connection(path, limit_s)) as connection:
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        if response.getheader("Content-Type", "").startswith("application/x-ndjson"):
            return _streamed(response, progress)
        value = _understood(json.loads, response.read() or b"null")
        if response.status == 503 and isinstance(value, dict) and value.get("code") == "draining":
            raise Leaving("it is leaving")
        if response.status >= 400:
            raise decode_error(value)
        return value


def _streamed(response: http.client.HTTPResponse, progress: Callable[[int, int | None], None] | None) -> Any:
    for line in response:
        value = _understood(_object, line)
        if "progress" in value:
            if progress is not None:
                progress(*value["progress"])
        elif "error" in value:
            raise decode_error(value["error"])
        elif "answer" in value:
            return value["answer"]
    raise http.client.IncompleteRead(b"")


def _understood(read: Callable[[Any], T], answer: Any) -> T:
    """What an answer stands for.

    Raises:
        Unreadable: whoever reads it expects something else.
    """
    try:
        return read(answer)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Unreadable(type(error).__name__) from None


def _object(line: bytes) -> dict[str, Any]:
    return {**json.loads(line)}


def _nothing(_: Any) -> None:
    return None


class Unreadable(ValueError):
    """What was answered is nothing that a home's process says."""


class Leaving(ConnectionError):
    """The process has been told to leave, and takes nothing more."""


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("mnemic", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.connect(self._path)  # without a timeout: with one, a full queue would be an error and no wait
        except BaseException:
            self.sock.close()
            raise
        self.sock.settimeout(self.timeout)


# --- starting --------------------------------------------------------------------------------------------------------


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
        said = _last_words(meeting)
        why = f"it was started and said: {said}" if said else "it was started and did not come up"
        raise NotServed(home=str(meeting.home), why=why, log=_log_of(meeting.home))


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


def _last_words(meeting: Meeting) -> str:
    """What a process that was started on demand said last of what went wrong."""
    try:
        said = meeting.errors_path.read_text("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return said[-1].removeprefix("mnemic: ") if said and not said[-1].startswith("serving ") else ""


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
        except _LOST:
            card = reach(meeting.home, clock)
        except Unreadable:
            break
    raise NotServed(home=str(meeting.home), why="it does not get ready", log=_log_of(meeting.home))


def drain(card: Card, reason: str) -> None:
    """Ask a process to finish and leave; one that is gone has done so."""
    body = json.dumps({"reason": reason, "protocol": PROTOCOL}).encode()
    try:
        call(card.http, "POST", "/api/drain", body, {"Content-Type": "application/json"})
    except _LOST as error:
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


def _log_of(home: Path) -> str:
    return str(home / "serve.log")
