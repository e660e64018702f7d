"""What the driver and an actor's Ray process say to each other, and the seal around all of it.

Every message is pickled and sealed (AES-256-GCM, NIST SP 800-38D) for its direction, so that nothing that was sent one
way is taken for an answer. A nonce is 8 random bytes of the process and a counter of 4: by the birthday bound two of a
million processes share a prefix with a chance of 3e-8, and one that comes to 2**32 messages takes a new prefix. A seal
holds a key and never travels: what travels is a recipe, and each process makes its own seal from it.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal, NoReturn

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mnemic.actors.kernel.errors import MnemicError
from mnemic.runtime.keys.key_slots import read_keys_by_file
from mnemic.runtime.keys.keys import nonce_prefix

TO_WORKER = b"to worker"
FROM_WORKER = b"from worker"

_NONCE_BYTES = 12
_COUNTER_BYTES = 4

Kind = Literal["answer", "ask", "error", "output"]
"""Of a step: an answer, a question (message and seconds), what was raised (a `MnemicError`, or a `RemoteFailure`, whose
text stays where it was raised), or nothing but its outputs.
"""


class Make(msgspec.Struct, frozen=True):
    """Make the actor."""

    factory: bytes
    """Makes it; pickled with all that no module has."""
    log_level: int
    """Of what is logged, this and above is worth its way."""
    background: bool
    """Whether the process yields to others."""


class Resume(msgspec.Struct, frozen=True):
    """Go on: with an answer, or the error it ended in, or with neither where none was asked for."""

    answer: Any
    error: MnemicError | None
    cancelled: bool


class Call(msgspec.Struct, frozen=True):
    """Handle a message; the rest is its context."""

    message: Any
    trace: str
    now: int
    seed: bytes
    cancelled: bool
    prefetched: tuple[tuple[Any, Resume], ...]
    """What the actor will ask, and how that ended."""


class Close(msgspec.Struct, frozen=True):
    """Close the actor."""


class ToldMessage(msgspec.Struct, frozen=True):
    """The actor told a message."""

    message: bytes
    """Pickled when it was told: what cannot be is the teller's failure."""


class LogLine(msgspec.Struct, frozen=True):
    """Something in the process logged a line."""

    logger: str
    level: int
    text: str
    fields: dict[str, Any]
    """What it says by name; see `mnemic.runtime.logs.FIELDS`."""


class ProgressReport(msgspec.Struct, frozen=True):
    """The actor reported how far it is."""

    done: int
    total: int | None


class Step(msgspec.Struct, frozen=True):
    """What a crossing comes back with."""

    kind: Kind
    """What it is."""
    value: Any
    """What goes with its kind."""
    outputs: tuple[ToldMessage | LogLine | ProgressReport, ...]
    """What comes before it."""


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


class MindSealRecipe(msgspec.Struct, frozen=True):
    """The seal of one run of an engine over a mind, by the mind's own key file. Pickles, and holds no secret."""

    key: Path
    """The key file."""
    key_header: Path
    """The key header beside it; see `mnemic.runtime.keys.key_slots`."""
    check: str
    """Its check value, which tells whether the mind still has the key of before."""
    run: str
    """Name of the run; see `mnemic.runtime.keys.keys.random_id`."""

    def make_seal(self) -> Seal:
        """Read the key file and derive the run's key.

        Raises:
            KeyMissing, KeyMismatch: the key file is not there, or is not this mind's.
        """
        return Seal(read_keys_by_file(self.key, self.key_header, self.check).engine_key(self.run))
