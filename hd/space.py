"""Encoding parameters (seed, dimensions, roles, version, model): only equal ones can be compared.

Two hypervectors can be compared where their spaces have one stamp; each is kept with it. Another dimension, seed, set
of roles, version of the encoders or model makes another space, and everything is bound anew.
"""

from __future__ import annotations

import hashlib
from functools import cached_property

import msgspec

from mnemic.hd.roles import ROLES, unknown_role_error

DIMENSIONS = 10_240
_MOST_DIMENSIONS = 1 << 20
"""128 KB a hypervector, and below 2^24, up to which float32 counts exactly."""
SEED_BYTES = 32
VERSION = 1
"""Of everything in this folder that decides a bit: it grows when a filler would get other bits than before."""


class Space(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What decides what a hypervector means."""

    seed: bytes
    """What all codebooks follow from, 32 bytes; a secret of the mind, never stored with the hypervectors."""
    dimensions: int = DIMENSIONS
    """Bits of a hypervector, a multiple of 64; 1,048,576 at most."""
    version: int = VERSION
    """Of the encoders."""
    roles: tuple[str, ...] = msgspec.field(default_factory=lambda: tuple(ROLES))
    """Names of the roles that are bound, in the order of `mnemic.hd.roles.ROLES`; all that there are, unless said."""
    model: str = ""
    """SHA-256 of the weights whose embeddings are projected, hexadecimal; ``""`` where there is no model."""
    embedding_dimensions: int = 0
    """Length of those embeddings; 0 where there is no model."""

    def __post_init__(self) -> None:
        """Check it.

        Raises:
            ValueError: something of it cannot be; the message says what.
        """
        if len(self.seed) != SEED_BYTES:
            raise ValueError(f"the seed of a space is {SEED_BYTES} bytes, not {len(self.seed)}")
        if self.dimensions < 64 or self.dimensions % 64:
            raise ValueError(f"a hypervector has a multiple of 64 bits, not {self.dimensions}")
        if self.dimensions > _MOST_DIMENSIONS:
            raise ValueError(f"a hypervector has at most {_MOST_DIMENSIONS} bits, not {self.dimensions}")
        if self.embedding_dimensions < 0:
            raise ValueError(f"an embedding is not shorter than 0, and here {self.embedding_dimensions}")
        for name in self.roles:
            if name not in ROLES:
                raise unknown_role_error(name)
        if len(set(self.roles)) < len(self.roles):
            raise ValueError("a role is named twice in this space")

    @cached_property
    def stamp(self) -> str:
        """What tells this space from any other, 32 hexadecimal digits; it gives nothing of the seed away."""
        digest = hashlib.sha256(b"mnemic space\0")
        encoders = [f"{name}:{ROLES[name].encoder}" for name in self.roles]
        for part in (self.dimensions, self.version, self.model, self.embedding_dimensions, *encoders):
            digest.update(str(part).encode() + b"\0")
        digest.update(hashlib.sha256(b"mnemic space seed\0" + self.seed).digest())
        return digest.hexdigest()[:32]

    @property
    def words(self) -> int:
        """64-bit words of a hypervector."""
        return self.dimensions // 64
