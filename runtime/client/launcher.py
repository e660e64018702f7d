"""Finds the server process of a home, starts it if none runs, and asks one to shut down.

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
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.actors.kernel.errors import OlderProcess
from mnemic.runtime.client.unix_http import CONNECTION_LOST, MalformedAnswer, ServerDraining, call
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.files.writable import unwritable_reason
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo, not_served

if TYPE_CHECKING:
    from mnemic.actors.kernel.contract import Clock

REPLACED = (OlderProcess, *CONNECTION_LOST)
"""What is met where a process is being replaced or was killed: after `wait_replaced`, ask the next one the same."""

_log = logging.getLogger("mnemic.starting")

_START_TIMEOUT_S = 60.0
_EXIT_TIMEOUT_S = 0.3
_DRAIN_TIMEOUT_S = 12.0  # a process that was told to leave is gone within 10
_POLL_S = 0.02
_ERROR_PREFIX = "mnemic: "  # so the command begins an error of its own, which says what to do
_COMMAND = (sys.executable, "-P", "-m", "mnemic", "serve", "--on-demand")  # -P: no module of a folder one is in


def ensure_running(home: Path, clock: Clock, *, start: bool = True) -> ServerInfo:
    """The info file of the process that serves a home; it is started where there is none.

    It may still be getting ready, and takes requests all the same.

    Args:
        start: whether to start one.

    Raises:
        NotServed: there is none, or none could be started.
    """
    run_dir = RunDir(home)
    info = _find_listening(run_dir)
    if info is None and not start:
        raise not_served(home, "none is running")
    return info or _start(run_dir, clock)


def _find_listening(run_dir: RunDir) -> ServerInfo | None:
    """The info file of a process that takes connections."""
    info = run_dir.read_info()
    if info is None:
        return None
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        try:
            probe.connect(info.http_socket)
        except OSError:
            return None
    return info


def _start(run_dir: RunDir, clock: Clock) -> ServerInfo:
    """Start the process; of many who do so at once, one does, and the others find it."""
    run_dir.prepare()
    lock = run_dir.acquire_lock("start.lock", wait=True)
    assert lock is not None
    try:
        return _find_listening(run_dir) or _start_alone(run_dir, clock)
    finally:
        os.close(lock)


def _start_alone(run_dir: RunDir, clock: Clock) -> ServerInfo:
    process = _spawn(run_dir)
    # A pipe may outlive the process by days: it must not keep its remains.
    threading.Thread(target=process.wait, daemon=True, name="mnemic-started").start()
    found: ServerInfo | None = None

    def up_or_ended() -> bool:
        nonlocal found
        ended = process.poll() is not None  # first: it ends by itself where somebody else serves
        found = _find_listening(run_dir)
        return ended or found is not None

    if not _wait_until(up_or_ended, clock, _START_TIMEOUT_S):
        process.kill()
    if found is not None:
        return found
    said = startup_error(run_dir) or unwritable_reason(run_dir.home)  # where that is so, it cannot say so itself
    raise not_served(run_dir.home, f"it does not start: {said}" if said else "it was started and did not come up")


def _spawn(run_dir: RunDir) -> subprocess.Popen[bytes]:
    try:
        run_dir.errors_path.unlink(missing_ok=True)  # whoever leaves may still write into the one before
        with open(os.open(run_dir.errors_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as errors:
            return subprocess.Popen(
                [*_COMMAND, "--home", str(run_dir.home)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                cwd="/",
            )
    except OSError as error:
        raise write_error(run_dir.errors_path, error) from error


def startup_error(run_dir: RunDir) -> str:
    """What a process that was started on demand said last of what went wrong, without the full stop."""
    try:
        lines = run_dir.errors_path.read_text("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return (lines[-1] if lines else "").removeprefix(_ERROR_PREFIX).removesuffix(".")


def request_drain(info: ServerInfo, reason: str) -> None:
    """Ask a process to finish and leave; one that is gone has done so."""
    body = json.dumps({"reason": reason, "protocol": PROTOCOL}).encode()
    try:
        call(info.http_socket, "POST", "/api/drain", body, {"Content-Type": "application/json"})
    except CONNECTION_LOST as error:
        _log.info("process %s left before it was asked to (%s)", info.pid, type(error).__name__)
    except MalformedAnswer:
        _log.warning("process %s was asked to leave, and what it answers cannot be read", info.pid)


def wait_unpublished(home: Path, info: ServerInfo, clock: Clock, limit_s: float = _DRAIN_TIMEOUT_S) -> bool:
    """Wait until a process that leaves has removed or changed its info file; returns whether it did."""
    return _wait_until(lambda: RunDir(home).read_info() != info, clock, limit_s)


def wait_exited(info: ServerInfo, clock: Clock, limit_s: float = _EXIT_TIMEOUT_S) -> None:
    """Wait, briefly, until a process that broke off is gone: while it ends, its sockets still take connections."""
    _wait_until(lambda: not info.is_alive(), clock, limit_s)


def _wait_until(condition: Callable[[], bool], clock: Clock, limit_s: float) -> bool:
    pause, until = threading.Event(), clock.monotonic_s() + limit_s
    while not condition():
        if clock.monotonic_s() > until:
            return False
        pause.wait(_POLL_S)
    return True


def wait_replaced(home: Path, info: ServerInfo, clock: Clock, error: BaseException) -> None:
    """Wait until a process that answered with one of `REPLACED` has made room; an older one is asked to first."""
    if isinstance(error, OlderProcess):
        request_drain(info, "an older process")
    if isinstance(error, OlderProcess | ServerDraining):
        wait_unpublished(home, info, clock)
    else:
        wait_exited(info, clock)
