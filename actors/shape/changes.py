"""Changes of shape: a space of hypervectors, and the codes in it."""

from __future__ import annotations

import msgspec

from mnemic.actors.kernel.message import ChangeBase


class AddSpace(ChangeBase, frozen=True, kw_only=True, tag="add_space"):
    """Say in which space hypervectors are made from now on: all memories wait to be bound in it.

    One that was the newest before stays so.
    """

    stamp: str
    """What tells the space from others; see `mnemic.hd.space.Space.stamp`."""
    dimensions: int
    """Bits of a hypervector."""
    version: int
    """Of the encoders."""
    roles: tuple[str, ...]
    """Names of the roles that are bound."""
    model: str
    """SHA-256 of the weights whose embeddings are bound, hexadecimal; ``""`` for none."""
    embedding: int
    """Length of those embeddings."""
    reading: str = ""
    """How records are read out of memories; another way has all of them bound again, in the same space."""


class CodeInfo(msgspec.Struct, frozen=True, array_like=True):
    """What one hypervector is of."""

    tier: str
    """``episode``, ``fact`` or ``step``; see `mnemic.hd.roles`."""
    pairs: int
    """How many pairs of role and filler are bundled in it."""
    fillers: tuple[tuple[str, str, int], ...]
    """Role, filler and shift of those that have a name (`mnemic.hd.records.Pair`): what is matched exactly."""


class AddCodes(ChangeBase, frozen=True, kw_only=True, tag="add_codes"):
    """Keep the hypervectors of some memories, in place of those that they had."""

    stamp: str
    """The space they are of; where it is not the newest any more, nothing is kept."""
    seq: int
    """The store's number when the memories were read: what was to be bound again since then still is."""
    memories: tuple[bytes, ...]
    """Ids of the memories."""
    items: bytes
    """For each memory its records in order, as MessagePack of ``tuple[tuple[CodeInfo, ...], ...]``."""
    codes: bytes
    """All records' hypervectors in that order: ``(records, dimensions / 64) uint64``, little-endian, row-major."""
    unread: tuple[bytes, ...] = ()
    """Of the memories those of which something could not be found or bound. They are taken up again once they say
    something else, or when they are asked for (`mnemic.actors.shape.messages.RetryBinding`)."""
