"""The resources ``mnemic://communities`` and ``mnemic://community/{id}``: groups of memories for an assistant.

A community lies in one scope, so what `mnemic.runtime.serve.mcp.access` says of that scope goes for all of it. Above is
`mnemic.runtime.serve.mcp.tools`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mnemic.actors.communities.messages import CommunitiesListed
from mnemic.actors.index.hits import delivered_span
from mnemic.actors.kernel.errors import UnknownCommunity
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.views import communities_view, community_view
from mnemic.runtime.serve.mcp.access import Access

_MOST_DIGITS = 18  # of a number that the store has room for


def communities_of(mind: Mind, scope: Scopes, found: str, unknown: str | None) -> dict[str, Any]:
    """What communities there are in the caller's own project; how much waits in others is not told.

    Args:
        scope: the project's, and in `found` how it was found.
        unknown: what is said where nothing is known of the project.
    """
    if unknown is None:
        listed = mind.communities(scope=scope)
    else:
        listed = CommunitiesListed(communities=(), total=0, memories=0, waiting=0, degraded=(unknown,))
    view = communities_view(listed, strict=True, scope=scope, found=found)
    del view["waiting"]
    return view


def deliver_community(mind: Mind, assistant: str, session: str, access: Access, id: str) -> dict[str, Any]:
    """A community of a scope that the caller may read, and that its members were given is kept.

    Raises:
        UnknownCommunity: there is none, or it is not for this caller.
    """
    scopes: Scopes = "*"
    if not access.can_read("*"):
        scopes = tuple(one.path for one in mind.scopes().scopes if access.can_read(one.path))
    if not scopes or len(id) > _MOST_DIGITS or not (id.isascii() and id.isdecimal()):
        raise UnknownCommunity(id=id)
    shown = mind.community(int(id), scope=scopes)
    told = [msgspec.structs.replace(delivered_span(hit), why=f"it asked for community {id}") for hit in shown.members]
    if told:
        mind.note_delivery(assistant, session, told)
    return community_view(shown, strict=True)
