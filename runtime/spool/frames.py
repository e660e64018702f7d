"""The format of spool files (docs/spool.md): file header, frame header, what is sealed in a frame, record. No I/O.

Frames are sealed with X25519, HKDF-SHA256 and ChaCha20-Poly1305. `mnemic.runtime.spool.walk` finds its way from frame
to frame with it, and `mnemic.runtime.spool.spool` reads the files.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from mnemic.actors.kernel.events import HookRecord
from mnemic.actors.kernel.ports import UndecodedRecord
from mnemic.actors.kernel.typed import convert

if TYPE_CHECKING:  # the ciphers are loaded by who seals or opens: a command that only asks is not to wait for them
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

FILE_HEADER_BYTES = 48
FRAME_HEADER_BYTES = 80
MAX_FRAME_BYTES = 1 << 20
"""The longest frame, header included."""
TAG_BYTES = 16
"""By how much what is sealed is longer than what was said."""
FRAME_MAGIC = bytes.fromhex("f34d9c1ea752e06b")
"""What a frame starts with; in what is sealed, it occurs once in 2**64 bytes."""

_MAGIC = b"MNSPOOL"
_VERSION = 1
_CHACHA20_POLY1305 = 1
_INFO = b"mnemic/1/spool"
_FILE = struct.Struct("<7sB16s8sQ4sI")
_FRAME = struct.Struct("<8sBBHII8s16s32sI")


class FileHeader(NamedTuple):
    """What the first bytes of a spool file say."""

    file: bytes
    """Its id, 16 bytes; it stays when the file is renamed."""
    key: bytes
    """Id of the key it is sealed to, 8 bytes."""
    created_us: int
    """World time at which it was made, microseconds."""
    version_known: bool
    """Whether this version can read on."""


class FrameHeader(NamedTuple):
    """The header of a frame."""

    version_known: bool
    """Whether this version can open it."""
    last: bool
    """Whether its record ends with it."""
    number: int
    """Its number in its record, from 0."""
    sealed_bytes: int
    """Length of what is sealed, in bytes."""
    key: bytes
    """Id of the key it is sealed to, 8 bytes."""
    record: bytes
    """Id of its record, 16 bytes."""
    ephemeral: bytes
    """The record's own public key, 32 bytes."""
    header: bytes
    """All 80 bytes: they are authenticated with what is sealed."""

    @property
    def total_bytes(self) -> int:
        """Its length, header included."""
        return FRAME_HEADER_BYTES + self.sealed_bytes


def key_id(public: bytes) -> bytes:
    """The name of a public key, 8 bytes."""
    return hashlib.sha256(public).digest()[:8]


def parse_file_header(data: bytes) -> FileHeader | None:
    """Read the first 48 bytes of a file; ``None`` where they are no header, or not as they were written."""
    if len(data) < FILE_HEADER_BYTES:
        return None
    magic, version, file, key, created_us, _, crc = _FILE.unpack(data[:FILE_HEADER_BYTES])
    if magic != _MAGIC or crc != zlib.crc32(data[: FILE_HEADER_BYTES - 4]):
        return None
    return FileHeader(file, key, created_us, version == _VERSION)


def file_header_bytes(file: bytes, key: bytes, created_us: int) -> bytes:
    """The first 48 bytes of a file; what `parse_file_header` reads."""
    return _with_crc(_FILE.pack(_MAGIC, _VERSION, file, key, created_us, bytes(4), 0))


def frame_header_bytes(
    number: int, last: bool, sealed_bytes: int, key: bytes, record: bytes, ephemeral: bytes
) -> bytes:
    """The 80 bytes before what is sealed; what `parse_frame_header` reads."""
    fields = (_VERSION, int(last), _CHACHA20_POLY1305, number, sealed_bytes, key, record, ephemeral)
    return _with_crc(_FRAME.pack(FRAME_MAGIC, *fields, 0))


def _with_crc(header: bytes) -> bytes:
    return header[:-4] + zlib.crc32(header[:-4]).to_bytes(4, "little")


def parse_frame_header(data: bytes) -> FrameHeader | None:
    """Read the 80 bytes before what is sealed; ``None`` where they are no header."""
    if len(data) < FRAME_HEADER_BYTES or not data.startswith(FRAME_MAGIC):
        return None
    header = bytes(data[:FRAME_HEADER_BYTES])
    _, version, flags, cipher, index, size, key, record, ephemeral, crc = _FRAME.unpack(header)
    if crc != zlib.crc32(header[:-4]) or not TAG_BYTES <= size <= MAX_FRAME_BYTES - FRAME_HEADER_BYTES:
        return None
    known = version == _VERSION and cipher == _CHACHA20_POLY1305
    return FrameHeader(known, bool(flags & 1), index, size, key, record, ephemeral, header)


class FrameDecryptor:
    """Opens frames that are sealed to one mind."""

    def __init__(self, private: bytes, earlier: Sequence[bytes] = ()) -> None:
        """Take the mind's X25519 private key, 32 bytes, and those that were it before."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        self._pairs: dict[bytes, tuple[X25519PrivateKey, bytes]] = {}
        for one in (*earlier, private):
            half = X25519PrivateKey.from_private_bytes(one)
            public = half.public_key().public_bytes_raw()
            self._pairs[key_id(public)] = (half, public)
        self.key_ids = frozenset(self._pairs)
        """Ids of the keys that open."""
        self._ephemeral = b""
        self._aead = ChaCha20Poly1305(bytes(32))

    def decrypt(self, frame: FrameHeader, sealed: bytes) -> bytes | None:
        """What is sealed in a frame; ``None`` where it was not sealed like this, or is not whole."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        if not frame.version_known or frame.key not in self._pairs:
            return None
        try:
            if frame.key + frame.ephemeral != self._ephemeral:  # one key a record, of however many frames
                private, public = self._pairs[frame.key]
                ephemeral = X25519PublicKey.from_public_bytes(frame.ephemeral)
                self._aead = derive_cipher(private, ephemeral, frame.ephemeral + public)
                self._ephemeral = frame.key + frame.ephemeral
            return self._aead.decrypt(frame.number.to_bytes(4, "little") + bytes(8), sealed, frame.header)
        except (InvalidTag, ValueError):  # ValueError: a public key that gives no secret, which no hook makes
            return None


def derive_cipher(half: X25519PrivateKey, other: X25519PublicKey, salt: bytes) -> ChaCha20Poly1305:
    """The cipher of a record: from one side's private key and the other's public one, salted with both public keys.

    Raises:
        ValueError: the public key gives no secret.
    """
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derive = HKDF(algorithm=SHA256(), length=32, salt=salt, info=_INFO)
    return ChaCha20Poly1305(derive.derive(half.exchange(other)))


class _RecordMetadata(msgspec.Struct):
    """What a hook says of a record besides what its host gave it."""

    v: int
    assistant: str
    event: str
    at_us: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
    cwd: str | None = None
    branch: str | None = None
    main_folder: str | None = None
    entry: str | None = None


def parse_record(record: bytes, parts: Sequence[bytes]) -> HookRecord | UndecodedRecord:
    """Take a record apart; its frames are opened and in order. What is long is joined once."""
    told = _parse_metadata(parts[0])
    if isinstance(told, str) and len(parts) > 1:  # a hook has room for what it says in the first frame
        parts = [b"".join(parts)]
        told = _parse_metadata(parts[0])
    if isinstance(told, str):
        return UndecodedRecord(record, told, b"".join(parts))
    about, start = told
    payload = b"".join([memoryview(parts[0])[start:], *parts[1:]])
    return HookRecord(
        id=record,
        assistant=about.assistant,
        event=about.event,
        at=about.at_us,
        cwd=about.cwd,
        branch=about.branch,
        main_folder=about.main_folder,
        entry=about.entry,
        payload=payload,
    )


def record_time(part: bytes) -> int | None:
    """World time at which a record was written, by its first frame, opened; ``None`` where it does not say."""
    told = _parse_metadata(part)
    return None if isinstance(told, str) else told[0].at_us


def _parse_metadata(part: bytes) -> tuple[_RecordMetadata, int] | str:
    """What the first frame of a record says of it, and where the payload starts; or what is wrong with it."""
    start = 4 + int.from_bytes(part[:4], "little")
    if len(part) < 4 or start > len(part):
        return "it is shorter than it says"
    try:
        about: Mapping[str, object] = msgspec.json.decode(part[4:start], type=dict[str, object])
        version = about.get("v")
        if version != 1:
            return f"it is of version {version}" if isinstance(version, int) else "it does not say its version"
        return convert(about, _RecordMetadata), start
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"what the hook says of it cannot be read ({type(error).__name__})"
