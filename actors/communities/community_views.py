"""Communities as they are listed and shown, read from one snapshot.

A caller who asks in some scopes is told of the communities of these alone: one of another scope is unknown, and no
lineage, part or neighbour names one. A community lies in exactly one scope, so its members need no look of their own.
Nothing that is kept of a community holds words: its phrases are made when it is asked for, from some of its members'
texts (`mnemic.algorithms.text.topic_phrases`), and differ a little with what is listed beside it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.communities.messages import (
    CommunitiesListed,
    CommunityEvent,
    CommunityNeighbour,
    CommunityRole,
    CommunityShown,
    CommunityView,
    ListCommunities,
    ShowCommunity,
)
from mnemic.actors.communities.queries import CommunityRecord, Members
from mnemic.actors.index.hits import Links, excerpt, make_hit
from mnemic.actors.index.query import asked_scope_numbers
from mnemic.actors.index.validate import check_count
from mnemic.actors.kernel.errors import UnknownCommunity
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.recall.messages import Hit, Memory
from mnemic.algorithms.graph.mosaic import CommunityGraph
from mnemic.algorithms.graph.regroup import carried
from mnemic.algorithms.graph.related import related_communities
from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.algorithms.text.languages.table import BY_CODE, DEFAULT
from mnemic.algorithms.text.terms import stem_of
from mnemic.algorithms.text.topic_phrases import topic_phrases
from mnemic.hd.algebra import default_algebra

_PHRASES = 4
_NAMED_BY = 24  # members whose texts name a community: as many more name it hardly better, and each is read
_NAME_BYTES = 4_000  # what a text is about, it says soon
_LISTED_BESIDE = 20  # communities of the scope against which one that is shown is named
_SHOWN_BYTES = 400
_COMPARED = 4096  # members of a larger topic are not all compared with its prototype
_ROLES_PLACE = ("project", "workspace", "kind")  # which all memories of a scope share, or nearly
_FILLERS_LOOKED_AT = 256
_FILLERS_OF_A_ROLE = 2
_LEAST_HOLDERS = 2
_LEAST_SIZE = 2  # one memory alone is no topic
_LINE = re.compile(r"\n(?:\w+:)?")
"""The end of a line, and what the next one begins with where that may be the name of a call's argument."""
_MANY = 10  # one in so many memories waits: then it is said
_MANY_WAIT = "more than a tenth of all memories came or changed since the last boundary, and are in no community yet"
_NONE_YET = "no communities were found yet"


def list_communities(asked: ListCommunities, snapshot: Snapshot, why_not: str) -> CommunitiesListed:
    """List the topics of some scopes, the ones last spoken of first.

    Args:
        why_not: why no communities are found just now; empty where they are.

    Raises:
        UnknownScope, InvalidValue: what was asked for cannot be.
    """
    check_count(asked.k)
    found, total, memories = snapshot.list_communities(asked_scope_numbers(asked.scope, snapshot), asked.k)
    waiting, members = snapshot.graph_waiting()
    degraded = [why_not] if why_not else []
    if snapshot.last_done_boundary() is None:
        degraded += [_NONE_YET] if waiting or snapshot.open_boundaries() else []
    elif _MANY * waiting > members + waiting:
        degraded.append(_MANY_WAIT)
    return CommunitiesListed(
        communities=tuple(_views(found, snapshot)),
        total=total,
        memories=memories,
        waiting=waiting,
        degraded=tuple(degraded),
    )


def show_community(asked: ShowCommunity, snapshot: Snapshot) -> CommunityShown:
    """Show one community; of a topic its parts and what it is joined with, too.

    Raises:
        UnknownCommunity: there is none of the number in the scopes asked for.
        UnknownScope, InvalidValue: what was asked for cannot be.
    """
    check_count(asked.k)
    within = asked_scope_numbers(asked.scope, snapshot)
    record = snapshot.community(asked.id)
    if record is None or (within is not None and record.scope not in within):
        raise UnknownCommunity(id=asked.id)
    (view,) = _views([record], snapshot)
    everywhere = snapshot.members()
    belonging = (everywhere.part if record.level else everywhere.topic) == record.id
    rows, held = everywhere.row[belonging & ~everywhere.placed], int(belonging.sum())
    parts = [] if record.level else snapshot.community_parts(record.id)
    return CommunityShown(
        community=view,
        parent=record.parent,
        died_at=record.died_at,
        members=_members(record, view.phrases, rows, asked.k, within, snapshot),
        parts=tuple(_views(parts[: asked.k] if len(parts) > 1 else [], snapshot)),
        lineage=_lineage(record, asked.k, snapshot),
        neighbours=tuple(_neighbours(record, rows, everywhere, asked.k, snapshot)),
        roles=tuple(_roles(record.id, held, asked.k, snapshot)),
    )


def _views(records: Sequence[CommunityRecord], snapshot: Snapshot) -> Iterator[CommunityView]:
    for record, phrases in zip(records, _phrases(records, snapshot), strict=True):
        yield CommunityView(
            id=record.id,
            phrases=phrases,
            scope=record.path,
            size=record.size,
            placed=record.placed,
            first_at=record.first_at,
            last_at=record.last_at,
            born_at=record.born_at,
        )


def _phrases(records: Sequence[CommunityRecord], snapshot: Snapshot) -> list[tuple[str, ...]]:
    """Key phrases of each; one that is named alone is weighed against what else is listed of its scope."""
    if not records:
        return []
    beside: list[CommunityRecord] = []
    if len(records) == 1:
        (only,) = records
        listed, _, _ = snapshot.list_communities({only.scope}, _LISTED_BESIDE)
        near = snapshot.community_parts(only.parent)[:_LISTED_BESIDE] if only.level else listed
        beside = [one for one in near if one.id != only.id]
    drawn = [snapshot.members_of(record.id, _NAMED_BY) for record in (*records, *beside)]
    rows = [row for some in drawn for row in some]
    speakers = dict(zip(rows, snapshot.speakers_of(rows), strict=True))
    starts = dict(zip(rows, snapshot.text_starts(rows, _NAME_BYTES), strict=True))
    ignored = {word for name in set(speakers.values()) for word in name.lower().split()}
    for language in snapshot.languages():
        ignored |= frozenset() if language == DEFAULT.code else BY_CODE[language].stop_words
    # Who spoke stands before the text. No phrase goes on in the next line, which may be another argument of a call.
    topics = [[_LINE.sub("\n\n", starts[row][len(speakers[row]) :]) for row in some] for some in drawn]
    return topic_phrases(topics, _PHRASES, ignored)[: len(records)]


def _members(
    record: CommunityRecord,
    phrases: Sequence[str],
    rows: NDArray[np.int64],
    k: int,
    within: frozenset[int] | None,
    snapshot: Snapshot,
) -> tuple[Hit, ...]:
    """Members, the most central first; those without a hypervector last, the ones kept last first."""
    scores = _centrality(record, rows, snapshot)
    unbound = sorted((int(row) for row in rows if int(row) not in scores), reverse=True)
    central = sorted(scores, key=lambda row: (-scores[row], row))
    shown = [*central, *unbound][:k]
    memories = snapshot.load_memories(shown)
    stems = [stem_of(word) for phrase in phrases for word in phrase.split()]
    hits = []
    for row, memory, links in zip(shown, memories, _links(memories, within, snapshot), strict=True):
        part, offset = excerpt(memory.data, _SHOWN_BYTES, -1, stems)
        hits.append(make_hit(memory, part, offset, {}, links, scores.get(row, 0.0)))
    return tuple(hits)


def _centrality(record: CommunityRecord, rows: NDArray[np.int64], snapshot: Snapshot) -> dict[int, float]:
    """How near each member is to the prototype, 0 to 1, by row: 1 - 2 d / bits, at a Hamming distance of d; that of a
    part, for which none is kept, is bundled here. Without a prototype there is none.
    """
    bound = snapshot.member_codes(record.parent or record.id, _COMPARED)
    mine = np.isin(bound.row, rows)
    codes = bound.codes[mine]
    if not len(codes):
        return {}
    prototype = default_algebra().bundle(codes, codes[0]) if record.level else snapshot.prototype(record.id)
    if prototype is None:
        return {}
    near = np.clip(default_algebra().similarity(codes, prototype), 0.0, 1.0)
    return dict(zip(bound.row[mine].tolist(), near.tolist(), strict=True))


def _links(memories: Sequence[Memory], within: frozenset[int] | None, snapshot: Snapshot) -> list[Links]:
    """What stands for each memory and what it stands for; what lies in no scope asked for is not named."""
    linked = {one for memory in memories for one in (memory.superseded_by, *memory.supersedes) if one is not None}
    others = snapshot.load_memories(snapshot.rows_of(sorted(linked)))
    paths = {path for number, path in snapshot.scopes().items() if within is None or number in within}
    named = {one.id for one in others if one.scope in paths}
    return [
        Links(
            newer=memory.superseded_by if memory.superseded_by in named else None,
            elsewhere=memory.superseded_by is not None and memory.superseded_by not in named,
            older=tuple(one for one in memory.supersedes if one in named),
        )
        for memory in memories
    ]


def _lineage(record: CommunityRecord, k: int, snapshot: Snapshot) -> tuple[CommunityEvent, ...]:
    """The last events, the oldest first; communities of another scope are not named."""

    def is_beside(number: int) -> bool:
        other = snapshot.community(number)
        return other is not None and other.scope == record.scope

    return tuple(
        CommunityEvent(at=one.at, kind=one.kind, community=one.community, others=tuple(filter(is_beside, one.others)))
        for one in snapshot.lineage(record.id)[-k:]
        if is_beside(one.community)
    )


def _neighbours(
    record: CommunityRecord, rows: NDArray[np.int64], everywhere: Members, k: int, snapshot: Snapshot
) -> Iterator[CommunityNeighbour]:
    """The topics of the same scope in which random walks from some memories end most often; none without native code.

    They go over the nearest neighbours of what is two steps away at most: few go further.
    """
    near = snapshot.neighbours_of(rows.tolist())
    near = snapshot.neighbours_of(np.union1d(near.row, near.near[near.near >= 0]).tolist())
    line, column = np.nonzero((near.near >= 0) & (near.cosine > 0))
    pairs = np.sort(np.stack([near.row[line], near.near[line, column]]), axis=0)
    pairs, first = np.unique(pairs, axis=1, return_index=True)
    nodes = np.unique(pairs)
    members = rows[np.isin(rows, nodes)]
    if not (NATIVE and len(members)):
        return
    ends, weights = np.searchsorted(nodes, pairs), near.cosine[line, column][first].astype(np.float64)
    graph = CommunityGraph(nodes.astype(np.uint64), ends[0], ends[1], weights)
    topics = carried(everywhere.row, everywhere.topic, nodes)
    topics[np.isin(nodes, rows)] = record.parent or record.id
    numbers, shares = related_communities(graph, members.astype(np.uint64), topics, len(nodes))
    joined: dict[int, CommunityRecord] = {}
    for number in numbers.tolist():
        other = snapshot.community(number)
        if other is not None and other.died_at is None and other.scope == record.scope and other.size >= _LEAST_SIZE:
            joined[number] = other
        if len(joined) == k:
            break
    share_of = dict(zip(numbers.tolist(), shares.tolist(), strict=True))
    for view in _views(list(joined.values()), snapshot):
        yield CommunityNeighbour(community=view, share=share_of[view.id])


def _roles(community: int, held: int, k: int, snapshot: Snapshot) -> Iterator[CommunityRole]:
    """What at least half of the members have in common, and two of them."""
    of_role: Counter[str] = Counter()
    for role, filler, holders in snapshot.common_fillers(community, _FILLERS_LOOKED_AT):
        if holders < _LEAST_HOLDERS or 2 * holders < held or of_role.total() >= k:
            return
        if role not in _ROLES_PLACE and of_role[role] < _FILLERS_OF_A_ROLE:
            of_role[role] += 1
            yield CommunityRole(role=role, filler=filler, share=holders / held)
