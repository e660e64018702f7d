"""The resource ``mnemic://night/{made}``: the digest, the procedures or the profile that nights made of a project.

Told is what concerns the caller's own project, as communities are (`mnemic.runtime.serve.mcp.community_resources`), and
what was given of memories is kept. Above is `mnemic.runtime.serve.mcp.tools`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mnemic.actors.protocol.changes import DeliveredSpan
from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.recall.messages import Scopes
from mnemic.actors.protocol.sleep.messages import DigestsListed, ProceduresListed, ProfileShown
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.views import knowledge_view

NightListed = DigestsListed | ProceduresListed | ProfileShown
_MADE: Mapping[str, Callable[[Mind, Scopes], NightListed]] = {
    "digest": lambda mind, scope: mind.digests("project", scope=scope),
    "procedures": lambda mind, scope: mind.procedures(scope=scope),
    "profile": lambda mind, scope: mind.profile(scope=scope),
}
_NOT_TOLD = ("projects", "conversations", "first_at", "example")
"""What counts other projects too, and what a call says word for word."""


def deliver_made(
    name: str, mind: Mind, assistant: str, session: str, scope: Scopes, found: str, unknown: str | None
) -> dict[str, Any]:
    """What nights made of the caller's own project; that it was given is kept.

    Args:
        name: ``digest``, ``procedures`` or ``profile``.
        scope: the project's, and in `found` how it was found.
        unknown: what is said where nothing is known of the project.

    Raises:
        InvalidValue: nights make nothing of that name.
    """
    if name not in _MADE:
        raise InvalidValue(name="what nights made", value=name, why="it is not known", expected=", ".join(_MADE))
    if unknown is not None:
        return {"scope": scope, "scope_found": found, "degraded": [unknown]}
    listed = _MADE[name](mind, scope)
    parts = [
        DeliveredSpan(memory=memory, start=start, stop=stop, why=f"it asked for the {name}")
        for memory, start, stop in _given(listed)
    ]
    if parts:
        mind.note_delivery(assistant, session, parts)
    view = knowledge_view(listed, strict=True, scope=scope, found=found)
    for one in (*view.get("entries", ()), *view.get("procedures", ())):
        for other in _NOT_TOLD:
            one.pop(other, None)
    return view


def _given(listed: NightListed) -> Iterable[tuple[bytes, int, int]]:
    """The stretches of memories that are told."""
    if isinstance(listed, DigestsListed):
        for digest in listed.digests:
            yield from ((one.memory, one.start_byte, one.start_byte + len(one.data)) for one in digest.sentences)
    elif isinstance(listed, ProfileShown):
        yield from ((one.memory, one.start_byte, one.start_byte + len(one.data)) for one in listed.entries)
    else:
        yield from ((id, 0, 0) for one in listed.procedures for id in one.examples)  # no word of them is given
