"""The resources: the state of the mind, one memory, groups of memories, and what nights made, for an assistant.

A community lies in one scope, so what `mnemic.runtime.serve.mcp.access` says of that scope goes for all of it. Of
nights, what concerns the caller's own project is told. What was given of memories is kept. Above is
`mnemic.runtime.serve.mcp.tools`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import FunctionResource

from mnemic.actors.communities.messages import CommunitiesListed
from mnemic.actors.index.hits import delivered_span
from mnemic.actors.kernel.errors import BadInput, MnemicError, UnknownCommunity
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.sleep.messages import DerivedListed, DigestsListed, ProfileShown
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.views import communities_view, community_view, knowledge_view
from mnemic.runtime.serve.mcp.calls import Answerer, Call
from mnemic.runtime.serve.mcp.memory_tools import deliver_memory
from mnemic.runtime.serve.mcp.status_tools import memory_status
from mnemic.runtime.serve.mcp.tool_schemas import assistant_name, error_text

NightListed = DigestsListed | DerivedListed | ProfileShown
_MADE: Mapping[str, Callable[[Mind, Scopes], NightListed]] = {
    "digest": lambda mind, scope: mind.digests("project", scope=scope),
    "profile": lambda mind, scope: mind.profile(scope=scope),
}
_NOT_TOLD = ("projects", "conversations", "first_at", "quotes")
"""What counts other projects too, and words that a stage of anybody's points to."""
_MOST_DIGITS = 18  # of a number that the store has room for


def communities_of(call: Call) -> dict[str, Any]:
    """What communities there are in the caller's own project; how much waits in others is not told."""
    scope, found, unknown = call.resolve_scope(None)
    if unknown is None:
        listed = call.mind.communities(scope=scope)
    else:
        listed = CommunitiesListed(communities=(), total=0, memories=0, waiting=0, degraded=(unknown,))
    view = communities_view(listed, strict=True, scope=scope, found=found)
    del view["waiting"]
    return view


def deliver_community(call: Call, id: str) -> dict[str, Any]:
    """A community of a scope that the caller may read, and that its members were given is kept.

    Raises:
        UnknownCommunity: there is none, or it is not for this caller.
    """
    scopes: Scopes = "*"
    if not call.access.can_read("*"):
        scopes = tuple(one.path for one in call.mind.scopes().scopes if call.access.can_read(one.path))
    if not scopes or len(id) > _MOST_DIGITS or not (id.isascii() and id.isdecimal()):
        raise UnknownCommunity(id=id)
    shown = call.mind.community(int(id), scope=scopes)
    spans = map(delivered_span, shown.members)
    call.note_delivery([msgspec.structs.replace(one, why=f"it asked for community {id}") for one in spans])
    return community_view(shown, strict=True)


def deliver_made(call: Call, name: str) -> dict[str, Any]:
    """What nights made of the caller's own project; that it was given is kept.

    Args:
        name: ``digest``, ``profile``, or the name of a stage, such as ``procedures``.

    Raises:
        InvalidValue: the project is known, and no night has derived anything by a stage of that name.
    """
    scope, found, unknown = call.resolve_scope(None)
    if unknown is not None:
        return {"scope": scope, "scope_found": found, "degraded": [unknown]}
    listed = _MADE[name](call.mind, scope) if name in _MADE else call.mind.derived(name, scope=scope)
    call.note_delivery(list(_spans(listed, f"it asked for the {name}")))
    view = knowledge_view(listed, strict=True, scope=scope, found=found)
    for one in (*view.get("entries", ()), *view.get("derived", ())):
        for other in _NOT_TOLD:
            one.pop(other, None)
    return view


def _spans(listed: NightListed, why: str) -> Iterator[DeliveredSpan]:
    """The stretches of memories that are told."""
    if isinstance(listed, DerivedListed):  # no word of them is given
        yield from (DeliveredSpan(memory=id, start=0, stop=0, why=why) for one in listed.derived for id in one.memories)
        return
    parts: list[Sequence[Any]] = [listed.entries] if isinstance(listed, ProfileShown) else []
    parts += [digest.sentences for digest in listed.digests] if isinstance(listed, DigestsListed) else []
    for one in chain.from_iterable(parts):
        yield DeliveredSpan(memory=one.memory, start=one.start_byte, stop=one.start_byte + len(one.data), why=why)


def add_resources(server: MCPServer[Any], calls: Answerer) -> None:
    """Offer the resources."""

    async def read(name: str, verb: Callable[[Call], Any], context: Context[Any, Any] | None = None) -> str:
        try:
            return json.dumps(await calls.answer(name, verb, "" if context is None else assistant_name(context)))
        except BadInput as error:
            raise ResourceNotFoundError(error_text(error)) from error
        except MnemicError as error:
            raise ResourceError(error_text(error)) from error

    async def status() -> str:
        return await read("status", memory_status)

    async def communities() -> str:
        return await read("communities", communities_of)

    async def memory(context: Context[Any, Any], id: str) -> str:
        return await read("memory", lambda call: deliver_memory(call, id), context)

    async def community(context: Context[Any, Any], id: str) -> str:
        return await read("community", lambda call: deliver_community(call, id), context)

    async def night(context: Context[Any, Any], made: str) -> str:
        return await read("night", lambda call: deliver_made(call, made), context)

    for read_one in (status, communities):
        name = read_one.__name__  # made here, since the decorator would list an empty description
        made = FunctionResource(uri=f"mnemic://{name}", name=name, mime_type="application/json", fn=read_one)
        server.add_resource(made)
    for uri, read_any in (("memory/{id}", memory), ("community/{id}", community), ("night/{made}", night)):
        server.resource(f"mnemic://{uri}", mime_type="application/json")(read_any)
