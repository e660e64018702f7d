"""The socket on which a service manager listens for a home's service: who needs the process connects, and waits.

systemd keeps ``HOME/run/service.sock`` and starts ``mnemic serve`` at the first connection, handing the socket over as
sd_listen_fds(3) says. Nothing is asked there: the process binds its own sockets (`mnemic.runtime.minds.run_dir`), and
from when its info file is written until it leaves it closes what waits; so does one that cannot serve. Who connected
then reads the info file; who connects while it leaves has systemd start the next one.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from mnemic.actors.kernel.errors import InvalidValue

_log = logging.getLogger("mnemic.serve")

SERVICE_SOCKET = "service.sock"
"""Its name in the home's ``run``."""

_FIRST_PASSED = 3  # SD_LISTEN_FDS_START
_PASSED = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
_START_TIMEOUT_S = 45.0  # less than a client waits for the process that it started


def wake_service(run: Path) -> bool:
    """Have the home's service started, where one is listened for; returns whether it has served or given up by then.

    Args:
        run: the home's ``run``.
    """
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as caller:
        caller.settimeout(_START_TIMEOUT_S)
        try:
            caller.connect(str(run / SERVICE_SOCKET))
            caller.recv(1)  # nothing is ever sent
        except OSError:  # nobody listens, the path is too long for a socket, or it takes too long
            return False
    return True


@contextmanager
def release_waiting() -> Iterator[Callable[[], None]]:
    """Take over the socket that a service manager has passed, if it has; gives what lets those go who wait there.

    They are let go at an error as well: nobody is to wait for a process that does not serve, and a service manager
    would start it again and again for them.
    """
    passed = _take_passed_socket()

    def release() -> None:
        while passed is not None:
            try:
                passed.accept()[0].close()
            except BlockingIOError:
                return

    try:
        yield release
    except BaseException:
        release()
        raise
    finally:
        if passed is not None:
            passed.close()


def _take_passed_socket() -> socket.socket | None:
    """The socket that was passed to this very process; what says so is taken out of the environment.

    Raises:
        InvalidValue: what was passed is no Unix socket that listens.
    """
    told = {name: os.environ.pop(name, "") for name in _PASSED}
    if told["LISTEN_PID"] != str(os.getpid()) or told["LISTEN_FDS"] in ("", "0"):
        return None
    try:
        os.set_inheritable(_FIRST_PASSED, False)
        passed = socket.socket(fileno=_FIRST_PASSED)
        if passed.family == socket.AF_UNIX and passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            passed.setblocking(False)
            return passed
        passed.close()
    except OSError as error:  # nothing is open there, or no socket
        _log.debug("descriptor 3: %s", error.strerror)
    why, expected = "descriptor 3 is no Unix socket that listens", "what a service manager passes, or none of it"
    raise InvalidValue(name="LISTEN_FDS", value=told["LISTEN_FDS"], why=why, expected=expected)
