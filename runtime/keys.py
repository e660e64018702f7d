"""Keys: 32 random bytes in a file of mode 0600, and from them one key per use by HKDF-SHA256.

A check value beside the key (in ``mind.json``) tells a wrong key from a damaged store before the store is touched.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from mnemic.actors.errors import KeyMismatch, KeyMissing

__all__ = ["KEY_BYTES", "Keys", "load_keys", "make_key", "nonce_prefix", "run_name", "write_private"]

KEY_BYTES = 32


class Keys:
    """The keys of one mind."""

    def __init__(self, root: bytes) -> None:
        if len(root) != KEY_BYTES:
            raise ValueError(f"a key is {KEY_BYTES} bytes, not {len(root)}")
        self._root = root
        self.store = self._derive(b"store")
        """Seals the database, 32 bytes."""
        self.seed = self._derive(b"seed")
        """Seeds every generator of the mind, 32 bytes."""
        self.check = self._derive(b"check").hex()
        """Kept in clear beside the key: tells whether a key belongs to a mind."""
        self.spool = self._derive(b"spool")
        """Opens what hooks seal: an X25519 private key, 32 bytes."""
        self.spool_names = self._derive(b"spool-names")
        """Names the spool's files, 32 bytes; no secret from whoever may write there."""
        self._identities = self._derive(b"identities")

    def spool_public(self) -> bytes:
        """What hooks seal to: the X25519 public key of `spool`, 32 bytes."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        return X25519PrivateKey.from_private_bytes(self.spool).public_key().public_bytes_raw()

    def _derive(self, use: bytes) -> bytes:
        from cryptography.hazmat.primitives.hashes import SHA256  # here: who only needs a run's name need not load it
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"mnemic/1/" + use).derive(self._root)

    def identity(self) -> Callable[..., bytes]:
        """A keyed hash of a sequence of byte strings, 32 bytes; no two sequences share an encoding."""
        key = self._identities

        def hash_parts(*parts: bytes) -> bytes:
            digest = hashlib.blake2b(key=key, digest_size=32)
            for part in parts:
                digest.update(len(part).to_bytes(8, "little"))
                digest.update(part)
            return digest.digest()

        return hash_parts

    def engine(self, run: str) -> bytes:
        """The key that seals what an engine's processes say to each other in one run, 32 bytes."""
        return self._derive(b"engine/" + run.encode())


def make_key() -> bytes:
    """32 bytes from the operating system."""
    return os.urandom(KEY_BYTES)


def run_name() -> str:
    """A name that no other run of a process has, 16 hexadecimal digits."""
    return os.urandom(8).hex()


def nonce_prefix() -> bytes:
    """What a process's nonces start with, 8 bytes: no other process that seals with the same key has it."""
    return os.urandom(8)


def load_keys(path: Path, check: str) -> Keys:
    """Read a key file and prove that it belongs to the mind whose check value is given.

    Raises:
        KeyMissing: there is no such file.
        KeyMismatch: the file holds another key, or no key at all.
    """
    try:
        root = path.read_bytes()
    except FileNotFoundError:
        raise KeyMissing(path=str(path)) from None
    except OSError as error:
        raise KeyMismatch(path=str(path), why=f"it cannot be read ({error.strerror})") from error
    if len(root) != KEY_BYTES:
        raise KeyMismatch(path=str(path), why=f"it holds {len(root)} bytes, and a key has {KEY_BYTES}")
    keys = Keys(root)
    if keys.check != check:  # no secret: it lies in clear beside the key
        raise KeyMismatch(path=str(path), why="the mind was made with another one")
    return keys


def write_private(path: Path, data: bytes) -> None:
    """Write a new file of mode 0600, whatever the umask; an existing one is an error."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
