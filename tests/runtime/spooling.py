"""A writer of spool files of its own, by `docs/spool.md` and nothing else: what the reader's laws are tested with.

Unlike a hook it draws nothing: the same number gives the same bytes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from mnemic.actors.kernel.events import HookRecord
from mnemic.actors.kernel.ports import SpoolBatch, UndecodedRecord
from mnemic.runtime.spool.spool import Spool
from tests.runtime.building import KEYS

PRIVATE = KEYS.spool_private
PUBLIC = KEYS.spool_public()
CREATED_US = 1_795_000_000_000_000


def digest(*parts: object) -> bytes:
    """32 bytes that follow from the parts."""
    return hashlib.sha256(repr(parts).encode()).digest()


def file_header(number: int = 0, public: bytes = PUBLIC, version: int = 1) -> bytes:
    """The 48 bytes a file starts with."""
    fields = b"MNSPOOL" + bytes([version]) + file_id(number) + hashlib.sha256(public).digest()[:8]
    return with_sum(fields + (CREATED_US + number).to_bytes(8, "little") + bytes(4))


def file_id(number: int = 0) -> bytes:
    """The id of the file of that number."""
    return digest("file", number)[:16]


def with_sum(data: bytes) -> bytes:
    """Data and its CRC-32."""
    return data + zlib.crc32(data).to_bytes(4, "little")


def record(number: int, payload: bytes = b"", **fields: object) -> HookRecord:
    """The record of that number."""
    given: dict[str, object] = {"assistant": "codex", "event": "tool", "at": CREATED_US + number, "cwd": "/a"}
    return HookRecord(**{"id": digest("record", number)[:16], "branch": None, "payload": payload} | given | fields)  # type: ignore[arg-type]


def plain(one: HookRecord) -> bytes:
    """A record before it is sealed."""
    about = msgspec.structs.asdict(one)
    meta = {"v": 1, "assistant": one.assistant, "event": one.event, "at_us": one.at}
    told = json.dumps(meta | {name: about[name] for name in ("cwd", "branch")}).encode()
    return len(told).to_bytes(4, "little") + told + one.payload


@cache
def shared(id: bytes, public: bytes) -> tuple[bytes, ChaCha20Poly1305]:
    """The public half of a record's key, and its cipher."""
    drawn = X25519PrivateKey.from_private_bytes(digest("ephemeral", id))
    ephemeral = drawn.public_key().public_bytes_raw()
    secret = drawn.exchange(X25519PublicKey.from_public_bytes(public))
    extracted = hmac.digest(ephemeral + public, secret, "sha256")
    return ephemeral, ChaCha20Poly1305(hmac.digest(extracted, b"mnemic/1/spool\x01", "sha256"))


def frame(
    id: bytes, index: int, content: bytes, last: bool, public: bytes = PUBLIC, version: int = 1, cipher: int = 1
) -> bytes:
    """One frame of the record of that id."""
    ephemeral, aead = shared(id, public)
    fields = bytes.fromhex("f34d9c1ea752e06b") + bytes([version, last]) + cipher.to_bytes(2, "little")
    fields += index.to_bytes(4, "little") + (len(content) + 16).to_bytes(4, "little")
    header = with_sum(fields + hashlib.sha256(public).digest()[:8] + id + ephemeral)
    return header + aead.encrypt(index.to_bytes(4, "little") + bytes(8), content, header)


def frames(one: HookRecord, cuts: Sequence[int] = (), public: bytes = PUBLIC) -> list[bytes]:
    """The frames of a record, cut at such offsets, and wherever a frame would be too long."""
    return frames_of(one.id, plain(one), cuts, public)


def frames_of(id: bytes, body: bytes, cuts: Sequence[int] = (), public: bytes = PUBLIC) -> list[bytes]:
    """The frames of whatever is sealed as a record."""
    most = (1 << 20) - 96
    bounds = sorted({0, *(cut for cut in cuts if 0 < cut < len(body)), *range(0, len(body), most)})
    contents = [body[start:end] for start, end in zip(bounds, [*bounds[1:], len(body)], strict=True)]
    return [frame(id, index, one, index == len(contents) - 1, public) for index, one in enumerate(contents)]


def sealed(one: HookRecord, cuts: Sequence[int] = ()) -> bytes:
    """A record as it lies in a file."""
    return b"".join(frames(one, cuts))


def write(folder: Path, name: str, *parts: bytes, number: int = 0) -> Path:
    """Write a spool file: its header and such parts."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{name}.spool"
    path.write_bytes(file_header(number) + b"".join(parts))
    return path


def on_disk() -> bool:
    """A checkpoint that has moved every offset to the disk."""
    return True


def drain(
    spool: Spool, offsets: dict[bytes, int] | None = None, limit_records: int = 100, limit_bytes: int = 1 << 20
) -> tuple[list[HookRecord | UndecodedRecord], int]:
    """Take in what waits, as long as something does; returns the records and how many places were torn."""
    known = {} if offsets is None else offsets
    taken: list[HookRecord | UndecodedRecord] = []
    torn = 0
    while (part := spool.read(known, limit_records, limit_bytes)) is not None:
        assert isinstance(part, SpoolBatch)
        assert part.records or part.torn
        taken += part.records
        torn += part.torn
        known[part.file] = part.offset
    return taken, torn
