"""What a snapshot tells of the graph of memories and of its communities.

Part of `mnemic.actors.kernel.snapshot.Snapshot`; `mnemic.runtime.store.communities.read` holds the real one. Rows and
numbers of scopes mean the same for as long as the store's generation does.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from mnemic.actors.communities.changes import GraphScale
from mnemic.actors.meaning.changes import EncoderName

if TYPE_CHECKING:  # what is told at the start of a session is told without NumPy, which takes 0.1 s to load
    import numpy as np
    from numpy.typing import NDArray


class BoundaryRow(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary."""

    number: int
    """From 1, in order."""
    seq: int
    """Number of the transaction that marked it."""
    at: int
    """System time of that, microseconds."""
    reason: str
    """Why it was marked."""
    done: bool
    """Whether communities were found at it."""
    encoder: str = ""
    """Whose vectors told what is near; empty where there were none, or it is not done."""


class Nodes(NamedTuple):
    """Memories as nodes of the graph, `n` of them."""

    row: NDArray[np.int64]
    """``(n,) int64``: row of the memory, ascending."""
    scope: NDArray[np.int64]
    """``(n,) int64``: number of its scope; 0 where it is hidden, and no node."""
    successor: NDArray[np.int64]
    """``(n,) int64``: row of what replaces it; 0 where nothing does."""


class NodeSource(NamedTuple):
    """What edges are made of, memory by memory, `n` of them."""

    session: NDArray[np.int64]
    """``(n,) int64``: number of the conversation."""
    said_at: NDArray[np.int64]
    """``(n,) int64``: world time it was said, else kept, microseconds."""
    targets: list[tuple[str, ...]]
    """Files it touched."""


class NeighbourRows(NamedTuple):
    """The nearest neighbours by meaning, as they were kept, of `n` memories."""

    row: NDArray[np.int64]
    """``(n,) int64``: row of the memory, ascending."""
    near: NDArray[np.int64]
    """``(n, k) int64``: rows, the nearest first, -1 where there are fewer."""
    cosine: NDArray[np.float32]
    """``(n, k) float32``."""


class Members(NamedTuple):
    """Which memory belongs to which community, `n` of them."""

    row: NDArray[np.int64]
    """``(n,) int64``: row of the memory, ascending."""
    topic: NDArray[np.int64]
    """``(n,) int64``: number of its topic."""
    part: NDArray[np.int64]
    """``(n,) int64``: number of the part of that; 0 where it is only placed."""
    placed: NDArray[np.bool_]
    """``(n,) bool``: whether it came since the last boundary and is only nearest to the topic's prototype."""


class CommunityRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A community as it is kept."""

    id: int
    """Its number."""
    level: int
    """0: a topic. 1: a part of one."""
    parent: int
    """Of a part, its topic; else 0."""
    scope: int
    """Number of its scope."""
    path: str
    """Path of that; empty for what belongs to no project, or where it is no more."""
    size: int
    """Members at the last boundary that changed it."""
    placed: int
    """Memories that are only placed in it."""
    first_at: int | None
    """World time of what was said first in it, microseconds."""
    last_at: int | None
    """The same of what was said last."""
    born_at: int
    """System time of the boundary at which it was found first, microseconds."""
    died_at: int | None
    """The same of the one at which it was no more."""
    bundled: int
    """How many hypervectors are in its prototype; 0: it has none yet."""


class LineageRow(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a community."""

    at: int
    """System time of the boundary, microseconds."""
    kind: str
    """What became of it."""
    community: int
    """Number of the community."""
    others: tuple[int, ...]
    """The other communities of the event."""


class PrototypeBlock(NamedTuple):
    """Prototypes of topics, `n` of them."""

    topic: NDArray[np.int64]
    """``(n,) int64``: number of the topic, ascending."""
    scope: NDArray[np.int64]
    """``(n,) int64``: number of its scope."""
    codes: NDArray[np.uint64]
    """``(n, dimensions / 64) uint64``."""
    means: NDArray[np.float32]
    """``(n, d) float32``: the means of their members' vectors, of unit length; zeros where there is none."""


class MemberCodes(NamedTuple):
    """Hypervectors of the episodes of `n` memories."""

    row: NDArray[np.int64]
    """``(n,) int64``: row of the memory."""
    scope: NDArray[np.int64]
    """``(n,) int64``: number of its scope."""
    codes: NDArray[np.uint64]
    """``(n, dimensions / 64) uint64``."""


class GraphSnapshot(Protocol):
    """What actors ask of the graph and its communities."""

    def boundaries(self, after: int) -> list[BoundaryRow]:
        """Boundaries of numbers after one, in order."""

    def last_done_boundary(self) -> BoundaryRow | None:
        """The newest boundary at which communities were found; ``None`` where there is none."""

    def open_boundaries(self) -> int:
        """How many boundaries wait."""

    def graph_waiting(self) -> tuple[int, int]:
        """How many memories came or changed since the last boundary, and how many nodes there were at it."""

    def boundary_changes(self, boundary: int) -> Nodes:
        """Nodes that came or changed at a boundary, as they were then."""

    def nodes_at(self, boundary: int) -> Nodes:
        """All nodes as they were at a boundary, without those that were hidden."""

    def node_sources(self, rows: NDArray[np.int64]) -> NodeSource:
        """What the edges of memories are made of, in the order asked for."""

    def graph_scales(self) -> list[GraphScale]:
        """What communities are found by, scope by scope, as of the last boundary that is done."""

    def given_together(self, until_seq: int, after_seq: int = 0) -> list[list[int]]:
        """Of each recall in transactions after one and up to another: rows of the memories that it gave, best first."""

    def mean_vectors(
        self, encoder: EncoderName, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The mean of the vectors of each of some memories that has any, of unit length.

        Returns rows ``(n,) int64``, ascending, and ``(n, dimensions) float32``.
        """

    def saved_neighbours(self) -> NeighbourRows:
        """All neighbours that were kept."""

    def neighbours_of(self, rows: Sequence[int]) -> NeighbourRows:
        """Those of some memories, as far as there are any."""

    def members(self) -> Members:
        """Which memory belongs where; none that is hidden or has moved to another scope."""

    def kept_members(self) -> Members:
        """Which memory belonged where at the last boundary that is done, whatever became of it since."""

    def next_community_number(self) -> int:
        """The least number that no community ever had, from 1."""

    def list_communities(self, scopes: Collection[int] | None, limit: int) -> tuple[list[CommunityRecord], int, int]:
        """Topics of two members at least, the ones last spoken of first, at most so many; how many there are, and how
        many memories are in them.

        Args:
            scopes: numbers of the scopes that count; ``None`` for all.
        """

    def community(self, number: int) -> CommunityRecord | None:
        """One community, whether it lives or not."""

    def community_parts(self, topic: int) -> list[CommunityRecord]:
        """The parts of a topic, the largest first."""

    def members_of(self, community: int, limit: int) -> list[int]:
        """Rows of the members of a topic or of a part, ascending; of more than `limit`, evenly drawn ones."""

    def speakers_of(self, rows: Sequence[int]) -> list[str]:
        """Names of who spoke, in the order of the rows asked for; empty where there is none."""

    def lineage(self, community: int) -> list[LineageRow]:
        """What became of a community, the oldest first."""

    def community_counts(self) -> int:
        """How many topics of two members at least there are."""

    def stale_prototypes(self, limit: int) -> list[int]:
        """Numbers of topics whose prototype is to be bundled."""

    def stale_prototype_count(self) -> int:
        """How many those are."""

    def member_codes(self, topic: int, limit: int) -> MemberCodes:
        """Hypervectors of what belongs to a topic, by row; of the newest space, without what is only placed.

        Of more than `limit` evenly drawn ones. None of what is hidden or has moved to another scope.
        """

    def prototypes(self) -> PrototypeBlock:
        """All prototypes of topics of two members at least, of the newest space."""

    def prototype(self, topic: int) -> NDArray[np.uint64] | None:
        """The prototype of one of these, ``(dimensions / 64,) uint64``; ``None`` where there is none."""

    def unplaced(self, after_row: int, limit: int) -> MemberCodes:
        """Memories of rows after one that are bound and belong nowhere yet, with their hypervectors, where there are
        prototypes in their scope.
        """

    def unplaced_count(self, after_row: int) -> int:
        """How many those are."""

    def topics_of(self, rows: Sequence[int]) -> dict[int, int]:
        """Numbers of the topics, of two members at least, that some memories belong to or are placed in, by row."""

    def common_fillers(self, community: int, limit: int) -> list[tuple[str, str, int]]:
        """Role and filler that most members of a community have, and how many have it."""
