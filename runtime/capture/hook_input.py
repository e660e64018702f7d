"""What a hook is given and finds: standard input, the session and folder in the host's JSON, the branch checked out.

For the hook in Python; the Rust hook does the same (``native/hook``, docs/spool.md). Bytes throughout: what a host
writes need not be JSON, nor whole, nor UTF-8.
"""

from __future__ import annotations

import json
import os
import re
import select
import stat
from collections.abc import Iterator
from typing import Any

__all__ = ["branch_of", "read_input", "session_and_folder"]

_SILENCE_S = 4.0
"""So long a host may pause before what it wrote is all: it may forget to close the pipe."""
_CHUNK_BYTES = 1 << 20
_SPACE = re.compile(r"[ \t\r\n,\ufeff]*")
_COMMIT = re.compile(rb"[0-9a-fA-F]{40}")


def read_input(descriptor: int, silence_s: float = _SILENCE_S) -> tuple[bytes, bool]:
    """What a host writes, and whether nothing went wrong; a pipe that does not block is waited for like any other."""
    chunks = []
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    try:
        while waiting.poll(1000 * silence_s):
            try:
                chunk = os.read(descriptor, _CHUNK_BYTES)
            except BlockingIOError:  # somebody else has read it
                continue
            if not chunk:
                break
            chunks.append(chunk)
    except OSError:
        return b"".join(chunks), False
    return b"".join(chunks), True


def session_and_folder(payload: bytes) -> tuple[bytes, bytes | None]:
    """The session that a payload names, and the folder: it, else the hook's own; ``None`` where that is gone."""
    found: dict[str, str] = {}
    for key, value in _members(payload.decode("utf-8", "surrogateescape")):
        if key == "workspace_roots" and isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, str) and value:
            found.setdefault(key, value)
    session = found.get("session_id") or found.get("conversation_id") or ""
    named = _to_bytes(found.get("cwd") or found.get("workspace_roots") or "")
    try:
        own = os.getcwdb()
    except OSError:
        return _to_bytes(session), named or None
    return _to_bytes(session), os.path.join(own, named) if named else own


def _members(text: str) -> Iterator[tuple[str, Any]]:
    """The members of the outermost object, as far as the text is one."""
    decoder = json.JSONDecoder(strict=False)

    def after(at: int) -> int:
        found = _SPACE.match(text, at)
        return found.end() if found else at

    at = after(0)
    if text[at : at + 1] != "{":
        return
    try:
        while text[(at := after(at + 1)) : at + 1] == '"':
            key, at = decoder.raw_decode(text, at)
            at = after(at)
            if text[at : at + 1] != ":":
                return
            value, at = decoder.raw_decode(text, after(at + 1))
            yield key, value
            at = after(at) - 1
    except (ValueError, RecursionError):  # it breaks off here, or is nested deeper than anybody needs
        return


def _to_bytes(text: str) -> bytes:
    """The bytes that a text of JSON stands for; those that were no UTF-8 come back."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        how = {False: "surrogatepass", True: "surrogateescape"}
        return b"".join(one.encode("utf-8", how["\udc80" <= one <= "\udcff"]) for one in text)


def branch_of(folder: bytes) -> bytes | None:
    """The branch that is checked out in a folder; ``None`` outside of a repository, and where no branch is."""
    head = None
    while (head := _head_of(folder)) is None and (above := os.path.dirname(folder)) != folder:
        folder = above
    name = head[4:].lstrip() if head is not None and head.startswith(b"ref:") else b""
    # Where git keeps its references in tables, HEAD holds that name, which no branch can have.
    is_branch = name.startswith(b"refs/heads/") and name[11:] not in (b"", b".invalid")
    return name[11:] if is_branch else None


def _head_of(folder: bytes) -> bytes | None:
    """What the repository in a folder has checked out; ``None`` where there is none, and one above may be the one."""
    git = os.path.join(folder, b".git")
    if os.path.isfile(git):  # of a worktree or submodule; as with git, nothing above counts, wherever it leads
        line = _short_file(git) or b""
        led = os.path.join(folder, line[7:].lstrip(), b"HEAD") if line.startswith(b"gitdir:") else None
        return (_short_file(led) if led else None) or b""
    head = _short_file(os.path.join(git, b"HEAD"))
    if head is None:
        return None
    # What git would not take for a HEAD makes no repository.
    is_reference = head.startswith(b"ref:") and head[4:].lstrip().startswith(b"refs/")
    return head if is_reference or _COMMIT.match(head) else None


def _short_file(path: bytes) -> bytes | None:
    """What a short file says, without the white space at its end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):  # ValueError: the path holds NUL
        return None
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, 4096).rstrip() if is_file else None
    except OSError:
        return None
    finally:
        os.close(descriptor)
