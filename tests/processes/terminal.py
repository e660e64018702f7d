"""A shell in a pseudo-terminal, and the screen that a person would see."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte

from tests.waiting import BOUND_S

_PROMPT = re.compile(r"\[(\d+)\]> $")
_ROWS = 200
"""So high that nothing scrolls off."""


class Shell:
    """A shell at work in a terminal.

    Args:
        screen: what its terminal shows.
        descriptor: our end of the pseudo-terminal.
    """

    def __init__(self, screen: pyte.Screen, descriptor: int) -> None:
        self._screen, self._descriptor = screen, descriptor
        self._stream = pyte.ByteStream(screen)
        self.written = bytearray()
        """All that was ever written to the terminal."""

    def run(self, command: str, *answers: tuple[str, str]) -> tuple[int, list[str]]:
        """Type a command, answer what it asks, and wait for its end.

        Args:
            answers: each the end of a question, and what is typed then.

        Returns:
            Its exit code, and the lines that the screen shows of it, its own typing included.
        """
        self._screen.reset()
        self._type(f"{command}\n")
        for question, answer in answers:
            self._wait_for(re.compile(re.escape(question) + r"\s*$"))
            self._type(f"{answer}\n")
        code = int(self._wait_for(_PROMPT)[1])
        lines = [line.rstrip() for line in self._screen.display]
        while lines and (not lines[-1] or _PROMPT.search(f"{lines[-1]} ")):
            lines.pop()
        return code, [f"$ {command}", *lines[1:]]

    def wait_for_prompt(self) -> None:
        """Wait until a command can be typed."""
        self._wait_for(_PROMPT)

    def _type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def _wait_for(self, what: re.Pattern[str]) -> re.Match[str]:
        """Read until the line of the cursor is what is waited for."""
        until = time.monotonic() + BOUND_S
        while True:
            line = self._screen.display[self._screen.cursor.y][: self._screen.cursor.x]
            if (found := what.search(line)) is not None and not select.select([self._descriptor], [], [], 0)[0]:
                return found
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"{what.pattern!r} never came; the screen:\n" + "\n".join(self._screen.display).rstrip()
            part = os.read(self._descriptor, 65536)
            self.written += part
            self._stream.feed(part)


@contextmanager
def shell(columns: int, environment: dict[str, str], folder: Path) -> Iterator[Shell]:
    """A shell in a terminal of so many columns; it ends with the context."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    started = environment | {"PS1": "[$?]> ", "TERM": "linux"}
    process = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "--noediting", "-i"],
        env=started,
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
    )
    os.close(theirs)
    try:
        at_work = Shell(pyte.Screen(columns, _ROWS), ours)
        at_work.wait_for_prompt()
        yield at_work
    finally:
        process.kill()
        process.wait()
        os.close(ours)
