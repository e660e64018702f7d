"""Writing a note to the spool: one record, sealed to the mind's public key, in a file of its own (docs/spool.md).

For a process that answers an assistant and does not write the store itself. What hooks keep, the executable in
`native/hook` writes; `mnemic.runtime.spool.spool` reads both.
"""

from __future__ import annotations

import json
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from mnemic.actors.kernel.contract import Clock
from mnemic.runtime.keys.keys import generate_key, replace_private
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


def write_note(spool: Path, clock: Clock, payload: bytes, *, assistant: str, event: str) -> None:
    """Seal a record into a new file of the spool; it appears whole, and survives any kill from then on.

    Raises:
        OSError: it cannot be written, or ``spool.json`` cannot be read.
        ValueError, LookupError, TypeError: ``spool.json`` does not say what to seal to.
    """
    config = json.loads((spool.parent / "spool.json").read_bytes())
    if config["version"] != 1:
        raise ValueError(f"spool.json is of version {config['version']}")
    public, file, at_us = bytes.fromhex(config["public"]), generate_key()[:16], clock.now_us()
    about = {"v": 1, "assistant": assistant, "event": event, "at_us": at_us, "cwd": None, "branch": None}
    told = json.dumps(about).encode()
    frames = _seal(public, len(told).to_bytes(4, "little") + told + payload)
    spool.mkdir(mode=0o700, exist_ok=True)
    replace_private(spool / f"{file.hex()}{SUFFIX}", file_header_bytes(file, key_id(public), at_us) + frames)


def _seal(public: bytes, body: bytes) -> bytes:
    """The frames of a record, one after the other; only the private key opens them."""
    half = X25519PrivateKey.from_private_bytes(generate_key())
    ephemeral, record = half.public_key().public_bytes_raw(), generate_key()[:16]
    cipher = derive_cipher(half, X25519PublicKey.from_public_bytes(public), ephemeral + public)
    parts = [body[start : start + _CONTENT_BYTES] for start in range(0, len(body), _CONTENT_BYTES)]
    sealed = b""
    for number, part in enumerate(parts):
        is_last, size = number == len(parts) - 1, len(part) + TAG_BYTES
        header = frame_header_bytes(number, is_last, size, key_id(public), record, ephemeral)
        sealed += header + cipher.encrypt(number.to_bytes(4, "little") + bytes(8), part, header)
    return sealed
