"""Tells by their names which files of a folder are transcripts, and which only look like sessions of an assistant.

A file that looks like a session and that no reader takes is counted and named, so that nobody takes it for captured.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

TRANSCRIPTS = ("*.jsonl", "*.jsonl.zst", "opencode*.db")
GEMINI_DOCUMENT = "session-*.json"
"""An earlier Gemini CLI kept a session as one JSON document; other programs use names like this too."""
_SESSION_LIKE = ("*.jsonl.*", "rollout-*.json", "session-*.json", "opencode*.db.*")
_SHOWN = 3
UNREAD_REMEDY = "Unpack what is compressed, then capture it; of anything else `mnemic capture FILE` says what it is."


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Say whether a file's name is of one of these patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def looks_like_session(name: str) -> bool:
    """Say whether a file that no reader takes has the name of a session: packed, cut off, or of another version."""
    return matches(name, _SESSION_LIKE)


def unread_sentence(paths: Sequence[str]) -> str:
    """How many files look like sessions and are not read, and which, in a clause."""
    more = f", and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    files = (
        "1 file looks like a session and is" if len(paths) == 1 else f"{len(paths)} files look like sessions and are"
    )
    return f"{files} not read: {', '.join(paths[:_SHOWN])}{more}"
