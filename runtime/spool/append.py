"""Appending to the spool: seals a record to the mind's public key, and writes it into the file of its session.

The counterpart of `mnemic.runtime.spool.spool`, for whoever has no private key: the hook in Python, and whoever leaves
a note for the log. The Rust hook (``native/hook``) writes the same (docs/spool.md).
"""

from __future__ import annotations

import errno
import fcntl
import hmac
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from mnemic.actors.protocol.contract import Clock
from mnemic.runtime.files.atomic_replace import LOCKS_UNSUPPORTED
from mnemic.runtime.keys.keys import generate_key
from mnemic.runtime.spool.files import SUFFIX
from mnemic.runtime.spool.frames import (
    FRAME_HEADER_BYTES,
    MAX_FRAME_BYTES,
    TAG_BYTES,
    derive_cipher,
    file_header_bytes,
    frame_header_bytes,
    key_id,
)

_CONTENT_BYTES = MAX_FRAME_BYTES - FRAME_HEADER_BYTES - TAG_BYTES
_RETRY_S = (0.02, 0.04, 0.08, 0.16)  # a disk may be full for a moment only
_LOCK_TIMEOUT_S, _POLL_S = 0.25, 0.002
_MAX_FILES = 65  # of one session: where one is locked for too long, the next takes the record
_MAX_REMOVALS = 16  # of a file, by its reader, between being opened and being locked

T = TypeVar("T")


def append_record(
    spool: Path,
    clock: Clock,
    payload: bytes,
    *,
    assistant: bytes,
    event: bytes,
    session: bytes,
    cwd: bytes | None = None,
    branch: bytes | None = None,
    main_folder: bytes | None = None,
    entry: bytes = b"",
) -> None:
    """Seal a record into its session's file. When this returns it survives any kill, not a power cut.

    Raises:
        OSError: it cannot be written, or ``spool.json`` cannot be read.
        ValueError, LookupError, TypeError: ``spool.json`` does not say what to seal to.
    """
    card = json.loads((spool.parent / "spool.json").read_bytes())
    if card["version"] != 1:
        raise ValueError(f"spool.json is of version {card['version']}")
    public, names = bytes.fromhex(card["public"]), bytes.fromhex(card["names"])
    about: dict[str, object] = {"v": 1, "assistant": _text(assistant), "event": _text(event), "at_us": clock.now_us()}
    about |= {"cwd": _text(cwd), "branch": _text(branch)}
    about |= {"main_folder": _text(main_folder)} if main_folder else {}
    about |= {"entry": _text(entry)} if entry else {}
    told = json.dumps(about, ensure_ascii=False, separators=(",", ":")).encode()
    stem = hmac.digest(names, assistant + b"\0" + session, "sha256")[:16].hex()
    frames = seal_record(public, len(told).to_bytes(4, "little") + told, payload)
    descriptor = _retry(lambda: _open_locked(spool, stem, key_id(public), clock))
    try:
        for frame in frames:
            _retry(lambda frame=frame: _write_whole(descriptor, frame))  # type: ignore[misc]
    finally:
        os.close(descriptor)


def seal_record(public: bytes, head: bytes, payload: bytes) -> Iterator[bytes]:
    """The frames of a record, one after the other; only the private key opens them."""
    half = X25519PrivateKey.from_private_bytes(generate_key())
    ephemeral, record = half.public_key().public_bytes_raw(), generate_key()[:16]
    cipher = derive_cipher(half, X25519PublicKey.from_public_bytes(public), ephemeral + public)
    key, number, rest = key_id(public), 0, memoryview(payload)
    start, head = head[:_CONTENT_BYTES], head[_CONTENT_BYTES:]
    while True:
        room = _CONTENT_BYTES - len(start)
        content, rest = start + bytes(rest[:room]), rest[room:]
        last = not rest and not head
        header = frame_header_bytes(number, last, len(content) + TAG_BYTES, key, record, ephemeral)
        yield header + cipher.encrypt(number.to_bytes(4, "little") + bytes(8), content, header)
        if last:
            return
        start, head, number = head[:_CONTENT_BYTES], head[_CONTENT_BYTES:], number + 1


def count_loss(spool: Path, clock: Clock, lost_bytes: int) -> None:
    """Count one record that is lost; the bytes for it are on the disk from the beginning, so that a full one takes it.

    Raises:
        OSError: it cannot be counted.
    """
    descriptor = os.open(spool / "losses", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor, clock, _LOCK_TIMEOUT_S)  # without the lock two losses may be counted as one, but none as none
        known = os.pread(descriptor, 64, 0).ljust(64, b"\0")
        before, before_bytes = (int.from_bytes(known[at : at + 8], "little") for at in (0, 16))
        numbers = (before + 1, clock.now_us(), before_bytes + lost_bytes)
        os.pwrite(descriptor, b"".join(min(one, 2**64 - 1).to_bytes(8, "little") for one in numbers) + known[24:], 0)
    finally:
        os.close(descriptor)


def _text(name: bytes | None) -> str | None:
    """A name as text; bytes that are no UTF-8 are written out."""
    return None if name is None else name.decode("utf-8", "backslashreplace")


def _retry(attempt: Callable[[], T]) -> T:
    """Try again what fails, after growing pauses; its last error, if it goes on failing, is the caller's."""
    for pause_s in _RETRY_S:
        try:
            return attempt()
        except OSError:
            threading.Event().wait(pause_s)
    return attempt()


def _write_whole(descriptor: int, data: bytes) -> None:
    """One write, and anything but all of it is an error: a frame is then written again, whole."""
    if os.write(descriptor, data) != len(data):
        raise BlockingIOError(errno.EAGAIN, "only a part of it was written")


def _open_locked(spool: Path, stem: str, key: bytes, clock: Clock) -> int:
    """The session's file, or one beside it, open and locked."""
    for number in range(_MAX_FILES):
        path = spool / f"{stem}{f'.{number}' if number else ''}{SUFFIX}"
        descriptor = _open_file_locked(path, key, clock, 0.0 if number else _LOCK_TIMEOUT_S)
        if descriptor is not None:
            return descriptor
    raise BlockingIOError(errno.EAGAIN, "all files of the session are locked")


def _open_file_locked(path: Path, key: bytes, clock: Clock, timeout_s: float) -> int | None:
    """A file, made where there is none, open and locked; ``None`` where another user owns it or the lock is held for
    too long.
    """
    for _ in range(_MAX_REMOVALS):
        try:
            descriptor = _open_to_append(path, key, clock)
        except PermissionError:
            if not path.exists():
                raise
            return None  # another user's: the record goes into one beside it
        kept = False
        try:
            locked = _lock(descriptor, clock, timeout_s)
            if locked is False:
                return None
            kept = locked is None or os.path.samestat(os.stat(path), os.fstat(descriptor))
        except FileNotFoundError:  # its reader has removed it before it was locked
            continue
        finally:
            if not kept:
                os.close(descriptor)
        if kept:
            return descriptor
    raise FileNotFoundError(errno.ENOENT, "its reader removes it again and again", str(path))


def _lock(descriptor: int, clock: Clock, timeout_s: float) -> bool | None:
    """Lock a file until it is closed; false where somebody else holds it all the time, ``None`` without locks."""
    until = clock.monotonic_s() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic_s() >= until:
                return False
            threading.Event().wait(_POLL_S)
        except OSError as error:
            if error.errno not in LOCKS_UNSUPPORTED:
                raise
            return None
        else:
            return True


def _open_to_append(path: Path, key: bytes, clock: Clock) -> int:
    """Open a file; one that is not there gets its name when its header is in it."""
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND)
    except FileNotFoundError:
        _create(path, key, clock)
    return os.open(path, os.O_WRONLY | os.O_APPEND)


def _create(path: Path, key: bytes, clock: Clock) -> None:
    """Make a file with its header; whoever was faster keeps the name."""
    file = generate_key()[:16]
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_name(f".new-{file.hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _write_whole(descriptor, file_header_bytes(file, key, clock.now_us()))
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        os.close(descriptor)
        draft.unlink()
