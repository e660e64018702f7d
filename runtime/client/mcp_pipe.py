"""`mnemic mcp`: relays MCP between stdio and the server process, and survives the server's restarts.

It knows of MCP only what it takes to survive the process: it remembers the handshake and what has not been answered,
and says both again to the next process. It imports neither the SDK nor a model, so an assistant finds it at once.
"""

from __future__ import annotations

import json
import logging
import select
import socket
import struct
import threading
from collections.abc import Iterable
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemic.actors.kernel.errors import MnemicError, NotServed
from mnemic.runtime.client.launcher import REPLACED, ensure_running, wait_exited, wait_replaced
from mnemic.runtime.client.unix_http import ServerDraining
from mnemic.runtime.client.wire import decode_error
from mnemic.runtime.files.foreign import parse_toml
from mnemic.runtime.minds.run_dir import LINE_BYTES, PROTOCOL, ServerInfo, not_served

if TYPE_CHECKING:
    from mnemic.actors.kernel.contract import Clock

_log = logging.getLogger("mnemic.mcp")

_MAX_ATTEMPTS = 10  # so often one request goes to another process before it is answered with an error
_PARSE_ERROR, _INVALID_REQUEST, _INTERNAL_ERROR = -32700, -32600, -32603  # JSON-RPC 2.0
_REPLAY_ID = "mnemic-again"  # the id of an `initialize` whose answer the assistant has
_ASK_TIMEOUT_S = 60.0  # where the settings do not say; their module would bring NumPy
_ANSWER_GRACE_S = 30.0  # beyond the time that the process itself has for an answer
_FLUSH_TIMEOUT_S = 5.0  # for what the process still has to say of lines that carried no id


class Pipe:
    """Between an assistant and the home's process."""

    def __init__(
        self,
        home: Path,
        mind: str,
        folder: str,
        clock: Clock,
        said: RawIOBase,
        off: str = "",
        assistant: str = "",
    ) -> None:
        """Make a pipe; `run` opens it.

        Args:
            folder: where the assistant works.
            said: takes the lines for the assistant.
            off: what is switched off where it was started; see `mnemic.runtime.minds.projects.disabled_by_environment`.
            assistant: what ``hooks install`` calls it, where it was wired so: its rights are kept by that name.
        """
        self._home = home
        self._limit_s = _ask_timeout_s(home) + _ANSWER_GRACE_S
        self._preface: dict[str, Any] = {"protocol": PROTOCOL, "mind": mind, "folder": folder, "session": None}
        self._preface |= {"off": off} if off else {}
        self._preface |= {"assistant": assistant} if assistant else {}
        self._clock = clock
        self._said = said
        self._saying = threading.Lock()  # over what is written to the assistant
        self._sending = threading.Lock()  # over what is written to the process, and to which one
        self._state = threading.Condition()  # over all below
        self._socket: socket.socket | None = None
        self._handshake: list[bytes] = []  # `initialize` and the notification after it, as they came
        self._unanswered: dict[str, tuple[bytes, int]] = {}  # by id: the line, and how often a process was given it
        self._met = False
        self._closed = False

    def run(self, lines: Iterable[bytes]) -> None:
        """Pass on what the assistant says, line by line, until it has no more to say and all is answered.

        A process that answers nothing for as long as an answer may take, and then some, is given up: what is not
        answered by then is answered with an error.
        """
        listening = threading.Thread(target=self._read_servers, daemon=True, name="mcp-pipe")
        listening.start()
        for line in lines:
            if line.strip():
                self._handle_client_line(line if line.endswith(b"\n") else line + b"\n")
        if not self._wait_answered():
            self._fail_all(self._timeout_error())
        with self._state:
            self._closed = True
            self._state.notify_all()
        with self._sending:  # held for so long at most as `_limit_s` says: see `_connect`
            connection = self._socket
            if connection is not None:
                self._shutdown_socket(connection)
        if connection is not None:
            listening.join(_FLUSH_TIMEOUT_S)

    def _wait_answered(self) -> bool:
        """Wait until nothing is unanswered, or nothing has come of it for too long; returns which."""
        with self._state:
            while not self._closed and self._unanswered:
                if not self._state.wait(self._limit_s):  # told of each answer and of each process that is met
                    return False
            return True

    def _timeout_error(self) -> NotServed:
        return not_served(self._home, f"it has answered nothing for {self._limit_s:g} s")

    def _handle_client_line(self, line: bytes) -> None:
        request = _parse_json(line)
        if request is None:
            self._reply_error(None, _PARSE_ERROR, "this is no JSON")
            return
        if not request.keys() & {"method", "result", "error"}:
            self._reply_error(None, _INVALID_REQUEST, "this is no single JSON-RPC message")
            return
        method, key = request.get("method"), _request_key(request)
        if len(line) > LINE_BYTES:
            why = f"a message is at most {LINE_BYTES >> 20} MiB long"
            self._reply_error(None if key is None else json.loads(key), _INVALID_REQUEST, why)
            return
        with self._sending:
            with self._state:
                if method == "initialize":
                    self._handshake = [line]
                elif method == "notifications/initialized":
                    self._handshake.append(line)
                elif method == "notifications/cancelled":  # nobody waits for it any more, and it may stay unanswered
                    parameters = request.get("params")
                    cancelled = parameters.get("requestId") if isinstance(parameters, dict) else None
                    self._unanswered.pop(json.dumps(cancelled), None)
                if method is not None and key is not None:
                    self._unanswered[key] = (line, 0 if self._socket is None else 1)
                self._state.notify_all()
            if self._socket is not None:  # else it goes to the next process, with all that is unanswered
                self._write_to_server(self._socket, line)

    def _write_to_server(self, connection: socket.socket, line: bytes) -> None:
        try:
            connection.sendall(line)
        except BlockingIOError:  # it is there, and has read nothing for too long; half a line is said
            _log.warning("the process takes nothing: giving it up")
            self._fail_all(self._timeout_error())
            self._shutdown_socket(connection, socket.SHUT_RDWR)
        except OSError as error:  # `_read_servers` meets it too, and says all that is unanswered to the next process
            _log.info("the process went while it was told something (%s)", type(error).__name__)

    def _shutdown_socket(self, connection: socket.socket, how: int = socket.SHUT_WR) -> None:
        try:
            connection.shutdown(how)
        except OSError as error:
            _log.info("the process went first (%s)", type(error).__name__)

    def _read_servers(self) -> None:
        try:
            while self._wait_until_needed():
                self._connect_and_read()
        finally:  # whatever it met: the assistant must not wait for nobody
            with self._state:
                self._closed = True
                self._state.notify_all()

    def _wait_until_needed(self) -> bool:
        """Wait until a process is: the first one at once, so that it is ready when it is asked; another one when it is
        needed. Returns whether that ever comes.
        """
        with self._state:
            self._state.wait_for(lambda: self._closed or not self._met or bool(self._unanswered))
            return not self._closed

    def _connect_and_read(self) -> None:
        """Meet a process, and hear what it says until its end."""
        try:
            info = ensure_running(self._home, self._clock)
            try:
                connection = self._connect(info)
            except (OSError, *REPLACED) as error:
                _log.info("the process went before it said anything (%s)", type(error).__name__)
                self._count_attempt()
                wait_replaced(self._home, info, self._clock, error)
                return
        except MnemicError as error:
            self._fail_all(error)
            return
        finally:
            self._met = True
        with connection, connection.makefile("rb") as said:
            try:
                for line in said:
                    self._handle_server_line(line)
            except OSError as error:
                _log.info("the process went while it was listened to (%s)", type(error).__name__)
            with self._state:
                self._socket = None
        wait_exited(info, self._clock)

    def _handle_server_line(self, line: bytes) -> None:
        answer = _parse_json(line) or {}
        key = _request_key(answer)
        if key is None or "method" in answer:
            self._write_to_client(line)
            return
        with self._state:
            if key not in self._unanswered:
                return  # it answers the handshake that was said again, or what nobody waits for any more
        self._write_to_client(line)  # before it counts as answered, after which `run` may end
        with self._state:
            self._unanswered.pop(key, None)
            self._state.notify_all()

    def _write_to_client(self, line: bytes) -> None:
        with self._saying:
            try:
                rest = memoryview(line)
                while rest:
                    written = self._said.write(rest)
                    if written is None:  # the assistant made it so that nobody waits there
                        select.select([], [self._said], [])
                    rest = rest[written or 0 :]
            except OSError as error:  # it has gone, and its standard input is about to end as well
                _log.info("the assistant hears no more (%s)", type(error).__name__)

    def _reply_error(self, request: Any, code: int, why: str) -> None:
        """Answer a request, or what is none, with an error."""
        error = {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": why}}
        self._write_to_client(json.dumps(error, separators=(",", ":")).encode() + b"\n")

    def _connect(self, info: ServerInfo) -> socket.socket:
        """Connect to a process, and say to it what is not answered.

        Raises:
            MnemicError: it refuses.
            OSError: it went at once.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # A limit for writing alone: the process may say nothing for days, but it reads what it is told.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(self._limit_s))
        try:
            connection.connect(info.mcp_socket)
            connection.sendall(json.dumps(self._preface).encode() + b"\n")
            greeting = _parse_json(_read_line(connection)) or {}
            if "error" in greeting:
                error = decode_error(greeting["error"])
                raise ServerDraining("it is leaving") if error.code == "draining" else error
            if "session" not in greeting:
                raise ConnectionResetError("it said nothing")
            self._preface["session"] = greeting["session"]
            self._sending.acquire()
            try:
                self._count_attempt()
                with self._state:
                    lines = self._unanswered_lines()
                    self._socket = connection
                    self._state.notify_all()
                # Beside this thread, which has to hear what is answered meanwhile, lest both sides wait to write.
                threading.Thread(target=self._resend, args=(connection, lines), daemon=True).start()
            except BaseException:
                self._sending.release()
                raise
        except BaseException:
            connection.close()
            raise
        return connection

    def _unanswered_lines(self) -> list[bytes]:
        """The handshake and all that is not answered."""
        lines = list(self._handshake)
        if lines:
            first = _parse_json(lines[0]) or {}
            if _request_key(first) not in self._unanswered:
                lines[0] = json.dumps(first | {"id": _REPLAY_ID}).encode() + b"\n"
        return lines + [line for line, _ in self._unanswered.values() if line not in lines]

    def _resend(self, connection: socket.socket, lines: list[bytes]) -> None:
        """Say to a process what it missed; what the assistant says meanwhile comes after."""
        try:
            for line in lines:
                self._write_to_server(connection, line)
        finally:
            self._sending.release()

    def _count_attempt(self) -> None:
        """Count one more process for all that waits; what too many were given is answered with an error."""
        with self._state:
            for key, (line, times) in self._unanswered.items():
                self._unanswered[key] = (line, times + 1)
        self._fail_after(_MAX_ATTEMPTS, not_served(self._home, "it ends before it answers"))

    def _fail_all(self, error: MnemicError) -> None:
        """Answer all that waits with an error; what comes later is tried again."""
        self._fail_after(-1, error)

    def _fail_after(self, times: int, error: MnemicError) -> None:
        """Answer what was given to more than so many processes with an error."""
        with self._state:
            lost = [key for key, (_, given) in self._unanswered.items() if given > times]
        for key in lost:
            self._reply_error(json.loads(key), _INTERNAL_ERROR, f"{error.code}: {error} {error.remedy_text}")
        with self._state:
            for key in lost:
                self._unanswered.pop(key, None)
            self._state.notify_all()


def _ask_timeout_s(home: Path) -> float:
    """How long an answer may take, as the home's settings say; what is wrong with them, the process says."""
    try:
        return float(parse_toml((home / "mnemic.toml").read_bytes())["runtime"]["ask_timeout_s"])
    except (OSError, ValueError, LookupError, TypeError):
        return _ASK_TIMEOUT_S


def _timeval(seconds: float) -> bytes:
    whole = int(seconds)
    return struct.pack("ll", whole, int(1e6 * (seconds - whole)))


def _read_line(connection: socket.socket) -> bytes:
    """One line, and not a byte of the next."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            return b""
        line += byte
    return bytes(line)


def _parse_json(line: bytes) -> dict[str, Any] | None:
    """A line as JSON, ``None`` where it is none; of what is no object, nothing."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    except RecursionError:  # it may be JSON, as deep as nobody's
        return {}
    return value if isinstance(value, dict) else {}


def _request_key(message: dict[str, Any]) -> str | None:
    """The id of a request or of an answer, as something to look up; what is no id, no answer can carry."""
    request = message.get("id")
    return json.dumps(request) if isinstance(request, str | int) and not isinstance(request, bool) else None
