"""Decrypting spool frames: X25519, HKDF-SHA256 and ChaCha20-Poly1305 (docs/spool.md).

Beside `mnemic.runtime.spool.frames`, and apart from it, since whoever only looks at a spool needs no cipher.
"""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mnemic.runtime.spool.frames import FrameHeader, key_id

__all__ = ["FrameDecryptor", "derive_cipher"]

_INFO = b"mnemic/1/spool"


class FrameDecryptor:
    """Opens frames that are sealed to one mind."""

    def __init__(self, private: bytes, earlier: Sequence[bytes] = ()) -> None:
        """Take the mind's X25519 private key, 32 bytes, and those that were it before."""
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
    derive = HKDF(algorithm=SHA256(), length=32, salt=salt, info=_INFO)
    return ChaCha20Poly1305(derive.derive(half.exchange(other)))
