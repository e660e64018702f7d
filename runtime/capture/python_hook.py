"""The hook where no Rust one was built: ``ASSISTANT EVENT [--ask|--updates] --home HOME [--mind NAME]``.

``python -m mnemic.runtime.capture.python_hook`` does what ``native/hook`` does, slower; one contract suite runs both,
and docs/spool.md says what each does. Whatever happens it ends with 0: what could not be kept is counted in the
spool's ``losses``, since there is nobody to tell. Bytes throughout: what a host writes need not be JSON, nor whole, nor
UTF-8.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import InvalidValue
from mnemic.runtime.capture.pauses import current_pause
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys.keys import disable_core_dumps
from mnemic.runtime.minds.homes import mind_folder
from mnemic.runtime.minds.projects import disabled_by_environment, existing_part, is_ignored
from mnemic.runtime.minds.run_dir import RunDir
from mnemic.runtime.spool.append import append_record, count_loss
from mnemic.runtime.version import __version__

_PROBE_S, _ASK_S, _UPDATES_S, _ANSWER_S, _RESTART_S = 0.1, 1.0, 0.03, 2.0, 60.0
_UNAVAILABLE = (404, 426, 503)  # it knows no hooks, it is of another version, or it is leaving
_SILENCED, _SILENCED_AT = b"silenced", ("session-start", "prompt", "session-end")
_ENTRIES = {"claude-code": b"CLAUDE_CODE_ENTRYPOINT"}  # in which a host tells its hooks how it was started
_SILENCE_S = 4.0
"""So long a host may pause before what it wrote is all: it may forget to close the pipe."""
_CHUNK_BYTES = 1 << 20
_SPACE = re.compile(r"[ \t\r\n,\ufeff]*")
_COMMIT = re.compile(rb"[0-9a-fA-F]{40}")


def main(arguments: Sequence[str], clock: Clock) -> None:
    """Do what the command line says with what the host writes on the standard input."""
    command = _parse(arguments)
    if command.version:
        _print(f"mnemic-hook {__version__} in Python, spool format 1\n".encode())
        return
    payload, is_all = read_input(0)  # in any case: the host is not to be left writing to nobody
    if not os.path.isabs(command.home):  # the working folder says neither what runs nor where it lies
        return
    home = Path(command.home)
    try:
        mind = mind_folder(home, command.mind)
    except InvalidValue:
        return
    off = disabled_by_environment(os.environ)
    unkept, untold = off in ("capture", "both"), off in ("recall", "both")
    session, cwd = session_and_folder(payload)
    if _is_foreign(mind.path) or (cwd is not None and is_ignored(os.fsdecode(cwd))):
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
            append_record(
                mind.spool,
                clock,
                payload,
                assistant=os.fsencode(command.assistant),
                event=os.fsencode(command.event),
                session=session,
                cwd=cwd,
                branch=None if cwd is None else branch_of(cwd),
                main_folder=None if cwd is None else _main_folder(cwd),
                entry=os.environb.get(_ENTRIES.get(command.assistant, b""), b""),
            )
        kept = quiet or is_all
    finally:
        if not kept:
            count_loss(mind.spool, clock, len(payload))
        if command.ask and not untold:
            _answer(command, home, clock, cwd or b"", payload, unkept)
        elif not quiet:
            _start_process(home, clock, only_if_silent=True)


def _is_foreign(mind: Path) -> bool:
    """Whether a mind belongs to another user: root's hooks in somebody's home would leave files there that its owner
    cannot read.
    """
    try:
        return mind.stat().st_uid != os.geteuid()
    except OSError:  # there is none
        return False


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the arguments; nothing that it is told is an error, and an option that it does not know is passed over."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--ask", action="store_true")
    parser.add_argument("--updates", action="store_true")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--home", nargs="?", default="", const="")
    parser.add_argument("--mind", nargs="?", default="default", const="default")
    command, rest = parser.parse_known_args(arguments)
    command.ask, command.updates = command.ask or command.updates, command.updates and not command.ask
    command.assistant, command.event = (*(word for word in rest if not word.startswith("--")), "", "")[:2]
    return command


def _print(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


# --- what it is given and finds ---------------------------------------------------------------------------------------


def read_input(descriptor: int, silence_s: float = _SILENCE_S) -> tuple[bytes, bool]:
    """What a host writes, and whether nothing went wrong; a pipe that does not block is waited for like any other."""
    chunks = []
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    try:
        while waiting.poll(1000 * silence_s):
            try:
                chunk = os.read(descriptor, _CHUNK_BYTES)
            except BlockingIOError:  # somebody else has read it
                continue
            if not chunk:
                break
            chunks.append(chunk)
    except OSError:
        return b"".join(chunks), False
    return b"".join(chunks), True


def session_and_folder(payload: bytes) -> tuple[bytes, bytes | None]:
    """The session that a payload names, and the folder: it, else the hook's own; ``None`` where that is gone."""
    found: dict[str, str] = {}
    for key, value in _members(payload.decode("utf-8", "surrogateescape")):
        if key == "workspace_roots" and isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, str) and value:
            found.setdefault(key, value)
    session = found.get("session_id") or found.get("conversation_id") or ""
    named = _to_bytes(found.get("cwd") or found.get("workspace_roots") or "")
    try:
        own = os.getcwdb()
    except OSError:
        return _to_bytes(session), named or None
    return _to_bytes(session), os.path.join(own, named) if named else own


def _members(text: str) -> Iterator[tuple[str, Any]]:
    """The members of the outermost object, as far as the text is one."""
    decoder = json.JSONDecoder(strict=False)

    def after(at: int) -> int:
        found = _SPACE.match(text, at)
        return found.end() if found else at

    at = after(0)
    if text[at : at + 1] != "{":
        return
    try:
        while text[(at := after(at + 1)) : at + 1] == '"':
            key, at = decoder.raw_decode(text, at)
            at = after(at)
            if text[at : at + 1] != ":":
                return
            value, at = decoder.raw_decode(text, after(at + 1))
            yield key, value
            at = after(at) - 1
    except (ValueError, RecursionError):  # it breaks off here, or is nested deeper than anybody needs
        return


def _to_bytes(text: str) -> bytes:
    """The bytes that a text of JSON stands for; those that were no UTF-8 come back."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        how = {False: "surrogatepass", True: "surrogateescape"}
        return b"".join(one.encode("utf-8", how["\udc80" <= one <= "\udcff"]) for one in text)


def branch_of(folder: bytes) -> bytes | None:
    """The branch that is checked out in a folder; ``None`` outside of a repository, and where no branch is."""
    folder, head = os.fsencode(existing_part(os.fsdecode(folder))), None
    while (head := _head_of(folder)) is None and (above := os.path.dirname(folder)) != folder:
        folder = above
    name = head[4:].lstrip() if head is not None and head.startswith(b"ref:") else b""
    # Where git keeps its references in tables, HEAD holds that name, which no branch can have.
    is_branch = name.startswith(b"refs/heads/") and name[11:] not in (b"", b".invalid")
    return name[11:] if is_branch else None


def _main_folder(folder: bytes) -> bytes | None:
    """The main folder of the repository where a folder lies in a worktree of it that the repository names in turn."""
    folder = os.fsencode(existing_part(os.fsdecode(folder)))
    while not os.path.lexists(git := os.path.join(folder, b".git")) and (above := os.path.dirname(folder)) != folder:
        folder = above
    line = _short_file(git) or b""
    if not line.startswith(b"gitdir:"):
        return None
    with suppress(ValueError):  # a path holds NUL, and leads nowhere
        own = os.path.realpath(os.path.join(folder, line[7:].lstrip()))
        common, worktrees = os.path.split(os.path.dirname(own))
        named = _short_file(os.path.join(own, b"gitdir"))
        if named and worktrees == b"worktrees" and os.path.basename(common) == b".git":
            is_known = os.path.realpath(os.path.join(own, named)) == os.path.realpath(git)
            return os.path.dirname(common) if is_known else None
    return None


def _head_of(folder: bytes) -> bytes | None:
    """What the repository in a folder has checked out; ``None`` where there is none, and one above may be the one."""
    git = os.path.join(folder, b".git")
    if os.path.isfile(git):  # of a worktree or submodule; as with git, nothing above counts, wherever it leads
        line = _short_file(git) or b""
        led = os.path.join(folder, line[7:].lstrip(), b"HEAD") if line.startswith(b"gitdir:") else None
        return (_short_file(led) if led else None) or b""
    head = _short_file(os.path.join(git, b"HEAD"))
    if head is None:
        return None
    # What git would not take for a HEAD makes no repository.
    is_reference = head.startswith(b"ref:") and head[4:].lstrip().startswith(b"refs/")
    return head if is_reference or _COMMIT.match(head) else None


def _short_file(path: bytes) -> bytes | None:
    """What a short file says, without the white space at its end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):  # ValueError: the path holds NUL
        return None
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, 4096).rstrip() if is_file else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


# --- asking ----------------------------------------------------------------------------------------------------------


def _answer(command: argparse.Namespace, home: Path, clock: Clock, cwd: bytes, payload: bytes, unkept: bool) -> None:
    """Print what the memory has to say; where no process does, one is started, and nobody waits for it."""
    reply = _ask(command, home, cwd, payload, unkept)
    if reply is None:
        _start_process(home, clock)
        if command.event == "session-start":
            reply = _slow_answer(command, home, cwd, payload, unkept)
    _print(reply or b"")


def _ask(command: argparse.Namespace, home: Path, cwd: bytes, payload: bytes, unkept: bool) -> bytes | None:
    """What the home's process answers; nothing where it has nothing to say in time, ``None`` where there is none."""
    fields = {"Assistant": os.fsencode(command.assistant), "Event": os.fsencode(command.event), "Cwd": cwd}
    headers = {f"Mnemic-{name}": quote_from_bytes(value) for name, value in fields.items()}
    headers |= {"Mnemic-Mind": command.mind, "Mnemic-Create": "0", "Content-Type": "application/json"}
    headers |= {"Mnemic-Off": "capture"} if unkept else {}
    headers |= {"Mnemic-Updates": "1"} if command.updates else {}
    with closing(http.client.HTTPConnection("mnemic")) as connection:
        signal.signal(signal.SIGALRM, _raise_timeout)
        signal.setitimer(
            signal.ITIMER_REAL, _UPDATES_S if command.updates else _ASK_S
        )  # for all of it, however slowly it comes
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
        try:
            stamp.touch(0o600)
        except PermissionError:  # another user's, in a folder of this one's
            stamp.unlink()
            stamp.touch(0o600)
        subprocess.Popen(serve, cwd="/", stdin=none, stdout=none, stderr=none, start_new_session=True)


def _slow_answer(command: argparse.Namespace, home: Path, cwd: bytes, payload: bytes, unkept: bool) -> bytes:
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
        disable_core_dumps()
        main(sys.argv[1:], SystemClock())
    os._exit(0)
