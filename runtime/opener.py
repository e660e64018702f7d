"""Opening what hooks sealed to a mind: X25519, HKDF-SHA256 and ChaCha20-Poly1305, as docs/spool.md says.

Beside `mnemic.runtime.frames`, and apart from it, since whoever only looks at a spool needs no cipher.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mnemic.runtime.frames import Frame, key_id

__all__ = ["Opener"]

_INFO = b"mnemic/1/spool"


class Opener:
    """Opens frames that are sealed to one mind."""

    def __init__(self, private: bytes) -> None:
        """Take the mind's X25519 private key, 32 bytes."""
        self._private = X25519PrivateKey.from_private_bytes(private)
        self._public = self._private.public_key().public_bytes_raw()
        self.key = key_id(self._public)
        """Id of the key that opens."""
        self._ephemeral = b""
        self._aead = ChaCha20Poly1305(bytes(32))

    def open(self, frame: Frame, sealed: bytes) -> bytes | None:
        """What is sealed in a frame; ``None`` where it was not sealed like this, or is not whole."""
        if not frame.known or frame.key != self.key:
            return None
        try:
            if frame.ephemeral != self._ephemeral:  # one key a record, of however many frames
                self._aead = self._aead_of(frame.ephemeral)
                self._ephemeral = frame.ephemeral
            return self._aead.decrypt(frame.number.to_bytes(4, "little") + bytes(8), sealed, frame.header)
        except (InvalidTag, ValueError):  # ValueError: a public key that gives no secret, which no hook makes
            return None

    def _aead_of(self, ephemeral: bytes) -> ChaCha20Poly1305:
        shared = self._private.exchange(X25519PublicKey.from_public_bytes(ephemeral))
        derive = HKDF(algorithm=SHA256(), length=32, salt=ephemeral + self._public, info=_INFO)
        return ChaCha20Poly1305(derive.derive(shared))
