"""The resource ``mnemic://night/{made}``: the digest, the profile, or what a stage derived of a project in nights.

Told is what concerns the caller's own project, as communities are (`mnemic.runtime.serve.mcp.community_resources`), and
what was given of memories is kept. Above is `mnemic.runtime.serve.mcp.tools`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.sleep.messages import DerivedListed, DigestsListed, ProfileShown
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.views import knowledge_view

NightListed = DigestsListed | DerivedListed | ProfileShown
_MADE: Mapping[str, Callable[[Mind, Scopes], NightListed]] = {
    "digest": lambda mind, scope: mind.digests("project", scope=scope),
    "profile": lambda mind, scope: mind.profile(scope=scope),
}
_NOT_TOLD = ("projects", "conversations", "first_at", "quotes")
"""What counts other projects too, and words that a stage of anybody's points to."""


def deliver_made(
    name: str, mind: Mind, assistant: str, session: str, scope: Scopes, found: str, unknown: str | None
) -> dict[str, Any]:
    """What nights made of the caller's own project; that it was given is kept.

    Args:
        name: ``digest``, ``profile``, or the name of a stage, such as ``procedures``.
        scope: the project's, and in `found` how it was found.
        unknown: what is said where nothing is known of the project.

    Raises:
        InvalidValue: there is no stage of that name.
    """
    if unknown is not None:
        return {"scope": scope, "scope_found": found, "degraded": [unknown]}
    listed = _MADE[name](mind, scope) if name in _MADE else mind.derived(name, scope=scope)
    parts = [
        DeliveredSpan(memory=memory, start=start, stop=stop, why=f"it asked for the {name}")
        for memory, start, stop in _given(listed)
    ]
    if parts:
        mind.note_delivery(assistant, session, parts)
    view = knowledge_view(listed, strict=True, scope=scope, found=found)
    for one in (*view.get("entries", ()), *view.get("derived", ())):
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
        yield from ((id, 0, 0) for one in listed.derived for id in one.memories)  # no word of them is given
