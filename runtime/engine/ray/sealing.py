"""Authenticated encryption (AES-256-GCM) of what is exchanged with Ray processes.

AES-256-GCM (NIST SP 800-38D). A nonce is 8 random bytes of the process and a counter of 4: by the birthday bound two
of a million processes share a prefix with a chance of 3e-8, and one that comes to 2**32 messages takes a new prefix.
A seal holds a key and never travels: what travels is a recipe, and each process makes its own seal from it.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NoReturn, Protocol

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mnemic.runtime.keys.key_slots import read_keys_by_file
from mnemic.runtime.keys.keys import nonce_prefix

__all__ = ["MindSealRecipe", "Seal", "SealRecipe"]

_NONCE_BYTES = 12
_COUNTER_BYTES = 4


class Seal:
    """Seals and opens byte strings under one key. Threads may share it; it does not pickle."""

    def __init__(self, key: bytes) -> None:
        """Make a seal of a key of 32 bytes."""
        self._aead = AESGCM(key)
        self._drawing = threading.Lock()
        self._prefix = b""
        self._numbers = iter(range(0))

    def seal(self, data: bytes, use: bytes) -> bytes:
        """Seal data for one use; it opens for no other. 28 bytes longer.

        Raises:
            OverflowError: 2 GiB or more.
        """
        nonce = self._nonce()
        return nonce + self._aead.encrypt(nonce, data, use)

    def open(self, sealed: bytes, use: bytes) -> bytes:
        """Open what was sealed for this use.

        Raises:
            cryptography.exceptions.InvalidTag: it was altered, cut short, or sealed by another key or for another use.
        """
        whole = memoryview(sealed)  # slices without copying: there may be 50 MB
        return self._aead.decrypt(whole[:_NONCE_BYTES], whole[_NONCE_BYTES:], use)

    def _nonce(self) -> bytes:
        with self._drawing:
            number = next(self._numbers, None)
            if number is None:
                self._prefix = nonce_prefix()
                self._numbers = iter(range(1 << 8 * _COUNTER_BYTES))
                number = next(self._numbers)
            return self._prefix + number.to_bytes(_COUNTER_BYTES, "big")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a seal holds a key, which does not travel: send its recipe")


class SealRecipe(Protocol):
    """How to make a seal in any process. Pickles, and holds no secret."""

    def make_seal(self) -> Seal:
        """Make the seal, in this process."""
        ...


class MindSealRecipe(msgspec.Struct, frozen=True):
    """The seal of one run of an engine over a mind, by the mind's own key file."""

    key: Path
    """The key file."""
    card: Path
    """The card beside it; see `mnemic.runtime.keys.key_slots`."""
    check: str
    """Its check value, which tells whether the mind still has the key of before."""
    run: str
    """Name of the run; see `mnemic.runtime.keys.keys.random_id`."""

    def make_seal(self) -> Seal:
        """Read the key file and derive the run's key.

        Raises:
            KeyMissing, KeyMismatch: the key file is not there, or is not this mind's.
        """
        return Seal(read_keys_by_file(self.key, self.card, self.check).engine_key(self.run))
