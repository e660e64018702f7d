"""What belongs to a transcript of Gemini CLI and lies in other files: its subagents', and results that were cut short.

A session's subagents are read with it: its hooks don't tell them apart, and how often a call of the same bytes occurred
can only be counted over all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from mnemic.actors.errors import SourceUnreadable
from mnemic.actors.events import Event, Malformed
from mnemic.hooks.gemini_cli import ASSISTANT, GeminiReader
from mnemic.hooks.lines import LineSource, Raw

__all__ = ["GeminiSource"]

SESSION_FILE = re.compile(r"session-.*-(?P<begin>[^-]{8})\.jsonl")
OUTPUTS = "tool-outputs"


class GeminiSource:
    """An opened session with its subagents; fulfils `mnemic.actors.ports.Source`.

    It is as long as the session's own file, by which it is known; what lies beside counts as a part of that.
    """

    format = ASSISTANT

    def __init__(self, raw: Raw) -> None:
        self._parts = [_source(raw)]
        self.size_bytes = raw.size_bytes
        self.position_bytes = 0
        try:
            for path in _beside(raw.path):
                self._add(path)
        except SourceUnreadable:
            self.close()
            raise

    def _add(self, path: str) -> None:
        try:
            stream = open(path, "rb")  # noqa: SIM115 - closed with the others
        except FileNotFoundError:  # its user may delete a session at any time
            return
        except OSError as error:
            raise SourceUnreadable(path=path, why=error.strerror or type(error).__name__) from error
        self._parts.append(_source(Raw(path, stream, os.fstat(stream.fileno()).st_size)))

    def __iter__(self) -> Iterator[Event | Malformed]:
        whole = sum(part.size_bytes or 0 for part in self._parts)
        for part in self._parts:
            for found in part:
                read = sum(one.position_bytes for one in self._parts)
                self.position_bytes = read * self.size_bytes // whole if self.size_bytes else read
                yield found
        if self.size_bytes is not None:
            self.position_bytes = self.size_bytes

    def close(self) -> None:
        """Let go of the files."""
        for part in self._parts:
            part.close()


def _source(raw: Raw) -> LineSource:
    path = "" if raw.path == "-" else os.path.abspath(raw.path)
    return LineSource(ASSISTANT, raw, GeminiReader(path, lambda named: _whole(path, named)))


def _beside(path: str) -> list[str]:
    """The files of a session's subagents: in folders named like the session, whose file has the beginning of its id."""
    found = SESSION_FILE.fullmatch(os.path.basename(path))
    if found is None:
        return []
    folder = os.path.dirname(os.path.abspath(path))
    names = [name for name in _listed(folder) if name.startswith(found["begin"])]
    below = [os.path.join(folder, name) for name in names if os.path.isdir(os.path.join(folder, name))]
    return [os.path.join(one, name) for one in below for name in _listed(one) if name.endswith(".jsonl")]


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise SourceUnreadable(path=folder, why=error.strerror or type(error).__name__) from error


def _whole(path: str, named: str) -> str | None:
    """A result that was cut short, from the file that the transcript names for it.

    Only a file where the host puts them is read, below the transcript's own project: a transcript holds what tools
    answered, and must not have other files taken in.
    """
    if not path:
        return None
    below = os.path.dirname(path)
    while os.path.basename(below) not in ("chats", ""):
        below = os.path.dirname(below)
    outputs = os.path.realpath(os.path.join(os.path.dirname(below), OUTPUTS))
    if not os.path.realpath(named).startswith(outputs + os.sep):
        return None
    try:
        with open(named, encoding="utf-8", newline="") as text:
            return text.read()
    except (OSError, ValueError):  # it went, or is no text any more; what is left of it stands in the transcript
        return None
