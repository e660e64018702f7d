"""Changes of communities: where a boundary is, what was found at it, and what is made from that.

Part of the closed list in `mnemic.actors.kernel.changes`. Only `MarkBoundary` is logged: at a boundary the graph of
memories is what it is after the log's line that says so, and everything else follows from the graphs of all boundaries,
in order. So a log that is replayed brings the same communities, under the same ids.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemic.actors.kernel.message import ChangeBase

BoundaryReason = Literal["commits", "night", "asked"]
"""Why a boundary is where it is: so many memories had changed, the mind slept, or its owner wanted it."""
EventKind = Literal["born", "died", "continued", "split", "merged"]
"""What became of a community between two boundaries; see `mnemic.algorithms.graph.identity`."""


class MarkBoundary(ChangeBase, frozen=True, kw_only=True, tag="mark_boundary"):
    """Have communities brought up to date with all that is kept by now; nothing where nothing has changed."""

    reason: BoundaryReason
    """Why now."""


class CommunityRow(msgspec.Struct, frozen=True, array_like=True):
    """A community as it is after a boundary."""

    id: int
    """Its number, from 1; it stays its number for as long as it lives, and no other one gets it, until all are found
    anew."""
    level: int
    """0: a topic. 1: a part of a topic."""
    parent: int
    """Of a part, the topic it is of; 0 of a topic."""
    scope: int
    """Number of the scope that all its members are in."""
    size: int
    """How many members it has."""


class LineageEvent(msgspec.Struct, frozen=True, array_like=True):
    """What became of a community at a boundary."""

    kind: EventKind
    """What."""
    community: int
    """Its number: of a split the one that fell apart, of a merge the one that others went into."""
    others: tuple[int, ...] = ()
    """Of a split what it fell apart into, of a merge what went into it: numbers, itself among them if it lives on."""


class GraphScale(msgspec.Struct, frozen=True, array_like=True):
    """What the communities of a scope are found by; a scope is a graph of its own."""

    scope: int
    """Number of the scope."""
    resolution: float
    """Of the constant Potts model."""
    floor: float
    """Cosine above which memories that are mutually near are joined."""
    chosen_at: int
    """How many memories the scope had when the two were chosen; 0: it has none any more."""
    embedded: int = 0
    """How many of these had a vector."""


class SetCommunities(ChangeBase, frozen=True, kw_only=True, tag="set_communities"):
    """Keep the communities of a boundary, as what has changed since the one before it.

    Nothing where the store was made anew since they were found, or the boundary is not the next one. Arrays are
    little-endian.
    """

    generation: int
    """The store's generation when they were found."""
    boundary: int
    """Number of the boundary."""
    encoder: str = ""
    """Whose vectors told what is near, as one name; empty where there were none."""
    scales: tuple[GraphScale, ...]
    """Of the scopes for which they were chosen anew, or which are left without a memory."""
    neighbour_rows: bytes
    """``(n,) int64``: rows of the memories whose nearest neighbours have changed."""
    neighbours: bytes
    """``(n, k) int64``: rows of these, the nearest first, -1 where there are fewer."""
    cosines: bytes
    """``(n, k) float32``: how near they are."""
    rows: bytes
    """``(m,) int64``: rows of the memories that belong elsewhere than before."""
    topics: bytes
    """``(m,) int64``: number of the topic each belongs to; 0 for none any more."""
    parts: bytes
    """``(m,) int64``: the same of the part of that topic."""
    communities: tuple[CommunityRow, ...]
    """Those that are new or have changed."""
    ended: tuple[int, ...]
    """Numbers of those that are no more."""
    events: tuple[LineageEvent, ...]
    """What became of communities; that one goes on unchanged is not told."""


class PlaceMembers(ChangeBase, frozen=True, kw_only=True, tag="place_members"):
    """Say which community's prototype new memories are nearest to, until the next boundary says where they belong.

    A memory that belongs somewhere already stays there.
    """

    generation: int
    """The store's generation when it was decided."""
    rows: bytes
    """``(n,) int64``, little-endian: rows of the memories."""
    topics: bytes
    """``(n,) int64``: number of the topic of each; one that is no more is passed over."""


class SetPrototypes(ChangeBase, frozen=True, kw_only=True, tag="set_prototypes"):
    """Keep the prototypes of communities: the bundle of their members' hypervectors, and the mean of their vectors.

    Nothing where the store was made anew since the members were read.
    """

    generation: int
    """The store's generation when they were read."""
    stamp: str
    """The space they are of; where it is not the newest any more, nothing is kept."""
    seq: int
    """The store's number when the members were read: what has changed since then is bundled again."""
    communities: tuple[int, ...]
    """Their numbers."""
    bundled: tuple[int, ...]
    """How many hypervectors are in each; none is kept of one without any."""
    prototypes: bytes
    """``(n, dimensions / 64) uint64``, little-endian, row-major."""
    means: bytes = b""
    """``(n, d) float32``, little-endian, of unit length; zeros where none has a vector. Empty without a model."""
