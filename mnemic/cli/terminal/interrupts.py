"""Handling of SIGTERM and Ctrl-C, questions to a person, and a standard input whose reading they can interrupt.

A signal wakes the main thread alone. What blocks elsewhere is reading a transcript on standard input.
"""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

import click

from mnemic.actors.kernel.errors import SourceUnreadable

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

T = TypeVar("T")


class Terminated(SystemExit):
    """SIGTERM: ends the command as Ctrl-C does."""


def install_sigterm_handler() -> None:
    """Raise `Terminated` in the main thread where SIGTERM comes."""
    signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated(128 + number)


def ask(question: Callable[[], T]) -> T | None:
    """What a person answers; ``None`` where the input ended. Ctrl-C ends the command."""
    try:
        return question()
    except click.Abort as ended:
        if isinstance(ended.__context__, KeyboardInterrupt):
            raise
        click.echo()
        return None


def require_stdin() -> None:
    """Make sure that there is a standard input.

    Raises:
        SourceUnreadable: whoever started the command closed it; its number may be another file's by now.
    """
    if sys.stdin is None:
        raise SourceUnreadable(path="-", why="standard input is closed")


@contextmanager
def interruptible_stdin(pipe: str | None = None) -> Iterator[None]:
    """Let a signal break off what reads standard input, in whatever thread: it gets an `OSError`.

    Args:
        pipe: a named pipe that takes the place of standard input; waits until somebody writes to it.

    Raises:
        SourceUnreadable: there is no standard input, or the pipe cannot be opened.
    """
    if pipe is None:
        require_stdin()
        fd = sys.stdin.fileno()
    else:
        try:
            fd = os.open(pipe, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise SourceUnreadable(path=pipe, why=error.strerror or type(error).__name__) from error
    heard, said = os.pipe()
    os.set_blocking(said, False)
    before, stdin = signal.set_wakeup_fd(said), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_InterruptibleStdin(fd, heard)), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = stdin
        signal.set_wakeup_fd(before)
        if pipe is not None:
            os.close(fd)
        os.close(said)
        os.close(heard)


class _InterruptibleStdin(io.RawIOBase):
    def __init__(self, fd: int, heard: int) -> None:
        self._fd = fd
        self._heard = heard

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        ready, _, _ = select.select([self._fd, self._heard], [], [])
        if self._heard in ready:  # not EINTR: for that, Python's buffer would read again
            raise OSError(errno.ECANCELED, "the reading was interrupted")
        view = memoryview(buffer).cast("B")
        data = os.read(self._fd, len(view))
        view[: len(data)] = data
        return len(data)
