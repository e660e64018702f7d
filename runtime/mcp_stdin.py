r"""Standard input for MCP: what an assistant sends, so that the SDK can read all of it.

The SDK's JSON reader refuses a line that holds half a surrogate pair, and nobody is answered. Real transcripts hold
such halves, so each one is written out (as the six characters ``\ud83d``, the way the answers write it) before the
SDK sees the line.
"""

from __future__ import annotations

import json
import os
import re
import threading
from typing import Any

from mnemic.actors.events import printable

__all__ = ["mend", "mend_stdin"]

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def mend_stdin() -> None:
    """Put a filter before descriptor 0: a thread reads what was there, and what it passes on is there from now on."""
    before = os.dup(0)
    heard, said = os.pipe()
    os.dup2(heard, 0)
    os.close(heard)

    def pass_on() -> None:
        with os.fdopen(before, "rb") as source, os.fdopen(said, "wb") as sink:
            for line in source:
                sink.write(mend(line))
                sink.flush()  # through a buffer: a bare write that a signal interrupts may be a short one

    threading.Thread(target=pass_on, daemon=True, name="mcp-stdin").start()


def mend(line: bytes) -> bytes:
    """A line of JSON without lone surrogates; one that has none, or is no JSON, as it is."""
    if not _SURROGATE.search(line):
        return line
    try:
        return json.dumps(_printable(json.loads(line))).encode() + b"\n"
    except (ValueError, RecursionError):  # the SDK's to refuse
        return line


def _printable(value: Any) -> Any:
    if isinstance(value, dict):
        return {printable(name): _printable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return printable(value)
