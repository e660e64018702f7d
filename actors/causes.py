"""Where an error comes from, in the code: what can be logged of it, since its own words may quote a memory."""

from __future__ import annotations

import traceback

__all__ = ["raised_at"]


def raised_at(error: BaseException) -> str:
    """Where it was raised, such as ``handle (embedder.py:12)``; empty where it never was."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return ""
    code, line = frames[-1][0].f_code, frames[-1][1]
    return f"{code.co_name} ({code.co_filename.rsplit('/', 1)[-1]}:{line})"
