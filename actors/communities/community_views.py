"""Communities as they are listed and shown."""

from __future__ import annotations

from mnemic.actors.protocol.community_messages import (
    CommunitiesListed,
    CommunityShown,
    ListCommunities,
    ShowCommunity,
)
from mnemic.actors.protocol.errors import UnknownCommunity
from mnemic.actors.protocol.snapshot import Snapshot


def list_communities(asked: ListCommunities, snapshot: Snapshot, why_not: str) -> CommunitiesListed:
    return CommunitiesListed(communities=(), total=0, memories=0, waiting=snapshot.graph_waiting()[0])


def show_community(asked: ShowCommunity, snapshot: Snapshot) -> CommunityShown:
    raise UnknownCommunity(id=asked.id)
