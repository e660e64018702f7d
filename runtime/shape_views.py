"""Views of shapes: what was found by its structure, what fills a role, and the roles. Beside `mnemic.runtime.views`."""

from __future__ import annotations

from typing import Any

import msgspec

from mnemic.actors.events import printable
from mnemic.actors.shapes import Answer, RolesListed, Shaped
from mnemic.runtime.views import hit_view, show_id

__all__ = ["answer_view", "roles_view", "shaped_view"]


def answer_view(answer: Answer, *, strict: bool, memories: int | None = None) -> dict[str, Any]:
    """What fills a role; ``worked`` and ``worked_of`` are there where it is known.

    Args:
        memories: so many ids at most of those that it was read from; all that are given, where absent.
    """
    view: dict[str, Any] = {
        "role": answer.role,
        "filler": printable(answer.filler) if strict else answer.filler,
        "confidence": round(answer.confidence, 4),
        "support": answer.support,
    }
    if answer.worked is not None:
        view |= {"worked": round(answer.worked, 4), "worked_of": answer.worked_of}
    return view | {"memories": [show_id(one) for one in answer.memories[:memories]]}


def shaped_view(
    shaped: Shaped, *, strict: bool, found: str, took_ms: float, memories: int | None = None
) -> dict[str, Any]:
    """A whole answer.

    Args:
        found: how the scope was found.
        memories: as in `answer_view`.
    """
    return {
        "hits": [hit_view(hit, strict=strict, explain=True) for hit in shaped.hits],
        "answers": [answer_view(one, strict=strict, memories=memories) for one in shaped.answers],
        "scope": shaped.scope,
        "scope_found": found,
        "searched": shaped.searched,
        "degraded": list(shaped.degraded),
        "took_ms": round(took_ms, 1),
    }


def roles_view(listed: RolesListed) -> dict[str, Any]:
    """What can be asked for."""
    view: dict[str, Any] = msgspec.to_builtins(listed)
    return view
