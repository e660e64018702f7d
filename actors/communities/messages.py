"""Messages of the communities actor: have communities brought up to date, list them, show one.

A community is a group of memories of one scope
that belong together; which ones do is found at boundaries (`mnemic.actors.communities.changes`).
"""

from __future__ import annotations

from mnemic.actors.communities.changes import BoundaryReason
from mnemic.actors.kernel.message import Message, Time, Verb
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.recall.messages import Hit


class CommunitiesChanged(Message, frozen=True, kw_only=True):
    """Event: communities were found anew at a boundary; whoever makes something of them may follow."""

    seq: int
    """Number of the newest transaction then."""


class UpdateCommunities(Verb["CommunityProgress"], frozen=True, kw_only=True):
    """Bring communities up to date with the boundaries that are marked: one bounded step, then on in the background."""

    mark: BoundaryReason | None = None
    """Where given, a boundary is marked first, if anything has changed since the last one."""


class CommunityProgress(Message, frozen=True, kw_only=True):
    """Answer to `UpdateCommunities`."""

    done: int
    """Boundaries that communities are up to date with."""
    pending: int
    """Boundaries that wait, as far as they could be worked on now."""
    changes: int = 0
    """How many changes the Store was asked for since the last such answer, in the background too."""
    why_not: str = ""
    """Why those that wait cannot be worked on now, in one sentence; empty where they can."""


class ListCommunities(Verb["CommunitiesListed"], frozen=True, kw_only=True):
    """List the groups of memories that belong together, the ones last spoken of first."""

    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them."""
    k: int = 20
    """At most so many."""


class CommunityView(Message, frozen=True, kw_only=True):
    """A community as it is listed."""

    id: int
    """Its number; it keeps it for as long as it lives."""
    phrases: tuple[str, ...]
    """Key phrases of what its members say, the most telling first."""
    scope: str
    """The scope that its members are in."""
    size: int
    """How many members it has."""
    placed: int = 0
    """So many more memories came since, and are nearest to it for now."""
    first_at: Time | None = None
    """World time of what was said first in it."""
    last_at: Time | None = None
    """World time of what was said last in it."""
    born_at: Time | None = None
    """System time of the boundary at which it was found first."""


class CommunitiesListed(Message, frozen=True, kw_only=True):
    """Answer to `ListCommunities`."""

    communities: tuple[CommunityView, ...]
    """Those asked for."""
    total: int
    """How many there are in the scope, of two members at least."""
    memories: int
    """How many memories of the scope are in one of these."""
    waiting: int
    """How many memories came or changed since the last boundary, in the whole mind."""
    degraded: tuple[str, ...] = ()
    """What did not take part, and why, one sentence each."""


class ShowCommunity(Verb["CommunityShown"], frozen=True, kw_only=True):
    """Show a community: its members, its parts, what it came from, what it is like."""

    id: int
    """Its number."""
    scope: Scopes = "*"
    """Where it has to be: a scope's path, it and what is below it; ``*`` for anywhere. Several paths: any of them."""
    k: int = 10
    """At most so many members, the most central first, and as many of whatever else is listed."""


class CommunityEvent(Message, frozen=True, kw_only=True):
    """What became of a community at a boundary."""

    at: Time
    """System time of the boundary."""
    kind: str
    """``born``, ``died``, ``split`` or ``merged``; of one that others came out of or went into, as of these."""
    community: int
    """Of a split the one that fell apart, of a merge the one that others went into."""
    others: tuple[int, ...] = ()
    """Of a split what it fell apart into, of a merge what went into it."""


class CommunityNeighbour(Message, frozen=True, kw_only=True):
    """A community that is related to another one."""

    community: CommunityView
    """Which."""
    share: float
    """So many of all random walks that begin at the other's members, over nearest neighbours, end in it: 0 to 1."""


class CommunityRole(Message, frozen=True, kw_only=True):
    """What members of a community have in common."""

    role: str
    """A role, as `mnemic shape --roles` lists them."""
    filler: str
    """What fills it."""
    share: float
    """In which part of the members, 0 to 1."""


class CommunityShown(Message, frozen=True, kw_only=True):
    """Answer to `ShowCommunity`."""

    community: CommunityView
    """Itself; one that is no more has no members."""
    parent: int = 0
    """Of a part of a topic that topic; else 0."""
    died_at: Time | None = None
    """System time of the boundary at which it was no more."""
    members: tuple[Hit, ...]
    """The most central first; `Hit.score` is how near a member is to the prototype, 0 to 1."""
    parts: tuple[CommunityView, ...] = ()
    """Of a topic its parts, the largest first; none where it is of one piece."""
    lineage: tuple[CommunityEvent, ...] = ()
    """What became of it, the oldest first."""
    neighbours: tuple[CommunityNeighbour, ...] = ()
    """The communities it is related to most, of the same scope."""
    roles: tuple[CommunityRole, ...] = ()
    """What most of its members have in common: its prototype is a bundle of these."""
