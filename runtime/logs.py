"""Log files as JSON Lines, readable by their owner only; they never contain the text of a memory.

What a line says beyond its sentence is given through ``extra``, by the names in `FIELDS`; a trace leads through all
lines of one request. Of an exception only its kind is written: what it says may quote a memory.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

LEVELS = ("info", "debug")
"""How much the process that serves a home writes: what is of note, or each request and message as well."""
FIELDS = ("trace", "actor", "message_type", "message_id", "took_ms", "code")
"""What a line may say by name, in the order in which it is written."""

_SLOW_S = 1.0
_MAX_BYTES = 1 << 20
_BACKUPS = 3
_MODE = 0o600


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object, ASCII only, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line; its time is the record's, in UTC."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
        return json.dumps(line, default=lambda value: type(value).__name__)


def outcome_level(outcome: str, took_s: float) -> int:
    """The level at which it is logged that something was done: what went well and quickly is of no note."""
    return logging.DEBUG if outcome == "ok" and took_s < _SLOW_S else logging.INFO


def set_level(level: str) -> None:
    """Log as much as one of `LEVELS` says, until the block of `log_to` ends."""
    logging.getLogger("mnemic").setLevel(level.upper())


@contextmanager
def log_to(path: Path, *, rotate: bool = True) -> Iterator[None]:
    """Write what Mnemic logs into a file of mode 0600, until the block ends.

    Args:
        rotate: whether this process turns the file over once it holds 1 MiB, and keeps three older ones. Any process
            follows a file that another one turns over.
    """
    handler = _LogFile(path, rotate)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("mnemic")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
        handler.close()


class _LogFile(logging.handlers.RotatingFileHandler):
    """A file to which several processes append."""

    def __init__(self, path: Path, rotate: bool) -> None:
        most = _MAX_BYTES if rotate else 0  # 0: never
        super().__init__(path, maxBytes=most, backupCount=_BACKUPS, encoding="utf-8", delay=True)
        self._complained = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Say once, in a sentence, that the file cannot be written; the library would print a traceback each time."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            self._complain(error)
        else:
            super().handleError(record)

    def close(self) -> None:
        """Let go of the file; what could not be written before is tried once more, and given up where it cannot be."""
        try:
            super().close()
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        if not self._complained and sys.stderr is not None:
            self._complained = True
            why = error.strerror or type(error).__name__
            print(f"mnemic: The log {self.baseFilename} cannot be written: {why}.", file=sys.stderr)

    def shouldRollover(self, record: logging.LogRecord) -> int:  # noqa: N802 - the library's name
        """Say whether to turn the file over before this record; follows one that was turned over meanwhile."""
        if self.stream is not None and self._was_rotated(self.stream.fileno()):
            rotated, self.stream = self.stream, None  # the library opens it where it finds none
            rotated.close()
        return int(super().shouldRollover(record))

    def _was_rotated(self, descriptor: int) -> bool:
        try:
            there = os.stat(self.baseFilename)
        except FileNotFoundError:
            return True
        return not os.path.samestat(there, os.fstat(descriptor))

    def _open(self) -> Any:
        return open(self.baseFilename, "a", encoding="utf-8", opener=_open_private)


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, _MODE)
    os.fchmod(descriptor, _MODE)  # also where an older Mnemic has made it
    return descriptor
