"""A command at a terminal: a pseudo terminal of so many columns, what is typed there, and what it shows."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
from types import TracebackType
from typing import Any

from tests.processes.faces import COMMAND
from tests.waiting import BOUND_S

_STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Session:
    """One command, from its start to its end."""

    def __init__(self, *arguments: object, columns: int = 80, lines: int = 24) -> None:
        self._shown = b""
        self._process, self._terminal = pty.fork()
        if self._process == 0:  # this is the command
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execv(COMMAND[0], [*COMMAND, *map(str, arguments)])

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: TracebackType | BaseException | None) -> None:
        os.close(self._terminal)
        if kind is not None and self._process:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)

    def type(self, text: str, end: str = "\n") -> None:
        """Type something."""
        os.write(self._terminal, f"{text}{end}".encode())

    def wait_for(self, text: str) -> None:
        """Wait until it is shown."""
        while text not in self.shown:
            assert self._read(), f"it ended, and did not show {text!r}: {self.shown}"

    def end(self) -> tuple[int, str]:
        """Wait for the command's end; its exit code, and all it showed."""
        while self._read():
            pass
        _, status = os.waitpid(self._process, 0)
        self._process = 0
        return os.waitstatus_to_exitcode(status), self.shown

    @property
    def shown(self) -> str:
        """What it showed so far, without colours."""
        return _STYLES.sub("", self._shown.decode("utf-8", "replace")).replace("\r\n", "\n")

    def _read(self) -> bool:
        """Take in what is shown next; false where nothing follows."""
        ready: Any = select.select([self._terminal], [], [], BOUND_S)[0]
        assert ready, f"it shows nothing more and does not end: {self.shown}"
        try:
            block = os.read(self._terminal, 1 << 16)
        except OSError:  # Linux: the other end is closed
            return False
        self._shown += block
        return bool(block)
