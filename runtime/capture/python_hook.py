"""The hook where no Rust one was built: ``ASSISTANT EVENT [--ask] --home HOME [--mind NAME]``.

``python -m mnemic.runtime.capture.python_hook`` does what ``native/hook`` does, slower; one contract suite runs both,
and docs/spool.md says what each does. Whatever happens it ends with 0: what could not be kept is counted in the
spool's ``losses``, since there is nobody to tell.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote_from_bytes

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import InvalidValue
from mnemic.runtime.capture.hook_input import branch_of, read_input, session_and_folder
from mnemic.runtime.capture.pauses import current_pause
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import mind_folder
from mnemic.runtime.minds.projects import disabled_by_environment, is_ignored
from mnemic.runtime.minds.run_dir import RunDir
from mnemic.runtime.spool.append import append_record, count_loss

__all__ = ["main"]

_PROBE_S, _ASK_S, _ANSWER_S, _RESTART_S = 0.1, 1.0, 2.0, 60.0
_UNAVAILABLE = (404, 426, 503)  # it knows no hooks, it is of another version, or it is leaving
_SILENCED, _SILENCED_AT = b"silenced", ("session-start", "prompt", "session-end")
_ENTRIES = {"claude-code": b"CLAUDE_CODE_ENTRYPOINT"}  # in which a host tells its hooks how it was started


class _Command(NamedTuple):
    """What the hook is told to do; nothing that it is told is an error."""

    assistant: str
    event: str
    ask: bool
    home: str
    mind: str
    version: bool


def main(arguments: Sequence[str], clock: Clock) -> None:
    """Do what the command line says with what the host writes on the standard input."""
    command = _parse(arguments)
    if command.version:
        _print(b"mnemic-hook in Python, spool format 1\n")
        return
    payload, is_all = read_input(0)  # in any case: the host is not to be left writing to nobody
    if not command.home:
        return
    home = Path(command.home)
    try:
        mind = mind_folder(home, command.mind)
    except InvalidValue:
        return
    off = disabled_by_environment(os.environ)
    unkept, untold = off in ("capture", "both"), off in ("recall", "both")
    session, cwd = session_and_folder(payload)
    if cwd is not None and is_ignored(os.fsdecode(cwd)):
        return
    quiet = unkept or current_pause(mind.path, clock.now_us()) is not None
    kept = False
    try:
        if unkept:
            if session and command.event in _SILENCED_AT:
                told = json.dumps({"session_id": session.decode("utf-8", "backslashreplace")}, ensure_ascii=False)
                assistant = os.fsencode(command.assistant)
                append_record(mind.spool, clock, told.encode(), assistant=assistant, event=_SILENCED, session=session)
        elif not quiet:
            _keep(command, mind.spool, clock, session, cwd, payload)
        kept = quiet or is_all
    finally:
        if not kept:
            count_loss(mind.spool, clock, len(payload))
        if command.ask and not untold:
            _answer(command, home, clock, cwd or b"", payload, unkept)
        elif not quiet:
            _start_process(home, clock, only_if_silent=True)


def _parse(arguments: Sequence[str]) -> _Command:
    """Read the arguments; an option that this version does not know is passed over."""
    names, ask, home, mind, version = [], False, "", "default", False
    rest = iter(arguments)
    for argument in rest:
        option, is_joined, value = argument.partition("=")
        if not argument.startswith("--"):
            names.append(argument)
        elif option == "--ask":
            ask = True
        elif option == "--version":
            version = True
        elif option == "--home":
            home = value if is_joined else next(rest, "")
        elif option == "--mind":
            mind = value if is_joined else next(rest, mind)
    assistant, event = (*names, "", "")[:2]
    return _Command(assistant, event, ask, home, mind, version)


def _keep(command: _Command, spool: Path, clock: Clock, session: bytes, cwd: bytes | None, payload: bytes) -> None:
    append_record(
        spool,
        clock,
        payload,
        assistant=os.fsencode(command.assistant),
        event=os.fsencode(command.event),
        session=session,
        cwd=cwd,
        branch=None if cwd is None else branch_of(cwd),
        entry=os.environb.get(_ENTRIES.get(command.assistant, b""), b""),
    )


def _print(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


# --- asking ----------------------------------------------------------------------------------------------------------


def _answer(command: _Command, home: Path, clock: Clock, cwd: bytes, payload: bytes, unkept: bool) -> None:
    """Print what the memory has to say; where no process does, one is started, and nobody waits for it."""
    reply = _ask(command, home, cwd, payload, unkept)
    if reply is None:
        _start_process(home, clock)
        if command.event == "session-start":
            reply = _slow_answer(command, home, cwd, payload, unkept)
    _print(reply or b"")


def _ask(command: _Command, home: Path, cwd: bytes, payload: bytes, unkept: bool) -> bytes | None:
    """What the home's process answers; nothing where it has nothing to say in time, ``None`` where there is none."""
    fields = {"Assistant": os.fsencode(command.assistant), "Event": os.fsencode(command.event), "Cwd": cwd}
    headers = {f"Mnemic-{name}": quote_from_bytes(value) for name, value in fields.items()}
    headers |= {"Mnemic-Mind": command.mind, "Mnemic-Create": "0", "Content-Type": "application/json"}
    headers |= {"Mnemic-Off": "capture"} if unkept else {}
    with closing(http.client.HTTPConnection("mnemic")) as connection:
        signal.signal(signal.SIGALRM, _raise_timeout)
        signal.setitimer(signal.ITIMER_REAL, _ASK_S)  # for all of it, however slowly it comes
        try:
            connection.sock = _connect(home)
            if connection.sock is None:
                return None
            with suppress(BrokenPipeError, ConnectionResetError):  # who answers without reading it all has an answer
                connection.request("POST", "/api/hook", payload, headers)
            response = connection.getresponse()
            body = response.read()
        except (ConnectionResetError, http.client.IncompleteRead):  # it was killed meanwhile
            return None
        except (OSError, http.client.HTTPException):
            return b""
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    if response.status in _UNAVAILABLE:
        return None
    return body if response.status == 200 else b""


def _raise_timeout(*_: object) -> None:
    raise TimeoutError


def _connect(home: Path, timeout_s: float | None = None) -> socket.socket | None:
    """A connection to the home's process; ``None`` where there is none.

    Raises:
        OSError: there is one, and it does not take what it is told.
    """
    card = RunDir(home).read_info()
    if card is None:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    try:
        connection.connect(card.http_socket)
    except (ConnectionRefusedError, FileNotFoundError):
        connection.close()
        return None
    except BaseException:
        connection.close()
        raise
    return connection


# --- programs --------------------------------------------------------------------------------------------------------


def _program(home: Path, use: str) -> list[str]:
    """What a hook may start for a use, as the installer wrote it down; nothing where it did not."""
    try:
        command = json.loads((home / "bin" / "hook.json").read_bytes())[use]
    except (OSError, ValueError, LookupError, TypeError):
        return []
    return command if isinstance(command, list) and all(isinstance(word, str) for word in command) else []


def _start_process(home: Path, clock: Clock, *, only_if_silent: bool = False) -> None:
    """Start the home's process in the background, unless that was done within a minute.

    Args:
        only_if_silent: whether to look first whether one takes connections.
    """
    serve, stamp = _program(home, "serve"), home / "run" / "hook-start"
    # A stamp from the future, before a clock was set, is none.
    if not serve or (stamp.exists() and 0 <= clock.now_us() / 1e6 - stamp.stat().st_mtime < _RESTART_S):
        return
    if only_if_silent:
        try:
            connection = _connect(home, _PROBE_S)
        except OSError:  # it is there, and busy
            return
        if connection is not None:
            connection.close()
            return
    none = subprocess.DEVNULL
    with suppress(OSError):  # the home cannot be written, or what the installer wrote down is gone
        stamp.parent.mkdir(0o700, exist_ok=True)
        stamp.touch(0o600)
        subprocess.Popen(serve, cwd="/", stdin=none, stdout=none, stderr=none, start_new_session=True)


def _slow_answer(command: _Command, home: Path, cwd: bytes, payload: bytes, unkept: bool) -> bytes:
    """What a program of its own prints for a payload, if it ends well in time; it is killed else."""
    program = _program(home, "answer")
    if not program:
        return b""
    told = {"--assistant": command.assistant, "--event": command.event, "--home": command.home, "--mind": command.mind}
    told |= {"--cwd": os.fsdecode(cwd), "--off": "capture" if unkept else ""}
    options = [word for option, value in told.items() if value for word in (option, value)]
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen([*program, *options], stdin=pipe, stdout=pipe, stderr=none, start_new_session=True)
    try:
        printed, _ = process.communicate(payload, timeout=_ANSWER_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return b""
    return printed if process.returncode == 0 else b""


if __name__ == "__main__":
    with suppress(BaseException):  # counted where a record was at stake; a host shows its user what a hook says
        main(sys.argv[1:], SystemClock())
    os._exit(0)
