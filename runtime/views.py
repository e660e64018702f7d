r"""Views: answers as JSON values, the same in every face; names as in DESIGN's tables, times as ISO 8601.

A text may hold a lone surrogate. Python's JSON carries it; strict encoders refuse it, so for them (`strict`) it is
written out, as ``\udc80``, and ``escaped`` beside the text says so.
"""

from __future__ import annotations

import uuid
from typing import Any

import msgspec

from mnemic.actors.alike import Similar
from mnemic.actors.errors import MnemicError, NoSuchMemory
from mnemic.actors.events import printable, to_text
from mnemic.actors.messages import Hit, Memory, Recalled, Retirement
from mnemic.actors.times import to_iso

__all__ = [
    "error_view",
    "hit_view",
    "memory_view",
    "parse_id",
    "recalled_view",
    "retirement_view",
    "show_id",
    "similar_view",
    "text_view",
]


def show_id(memory: bytes | None) -> str | None:
    """An id as people and programs write it."""
    return None if memory is None else str(uuid.UUID(bytes=memory))


def parse_id(text: str) -> bytes:
    """Read an id.

    Raises:
        NoSuchMemory: it is no id at all.
    """
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        raise NoSuchMemory(id=text) from None


def text_view(text: bytes, strict: bool) -> dict[str, Any]:
    """A text; ``escaped`` is there, and true, where it had to be written out for a strict encoder."""
    whole = to_text(text)
    if not strict or (written := printable(whole)) == whole:
        return {"text": whole}
    return {"text": written, "escaped": True}


def hit_view(hit: Hit, *, strict: bool, explain: bool) -> dict[str, Any]:
    """A hit; without `explain`, its score without the reasons."""
    view: dict[str, Any] = {
        "id": show_id(hit.id),
        "source_id": hit.source_id,
        **text_view(hit.text, strict),
        "tier": hit.tier,
        "kind": hit.kind,
        "role": hit.role,
        "speaker": hit.speaker,
        "session": hit.session,
        "scope": hit.scope,
        "said_at": to_iso(hit.said_at),
        "score": round(hit.score, 4),
        "superseded_by": show_id(hit.superseded_by),
    }
    if hit.supersedes:
        view["supersedes"] = [show_id(one) for one in hit.supersedes]
    if len(hit.text) < hit.size_bytes:
        view |= {"start_byte": hit.start_byte, "size_bytes": hit.size_bytes}
    if explain:
        view["why"] = {name: round(share, 4) for name, share in hit.why.items()}
    return view


def similar_view(similar: Similar, *, strict: bool) -> dict[str, Any]:
    """A near-duplicate, with the beginning of its text or its best stretch."""
    view: dict[str, Any] = msgspec.structs.asdict(similar)
    return view | {
        "id": show_id(similar.id),
        **text_view(similar.text, strict),
        "said_at": to_iso(similar.said_at),
        "score": round(similar.score, 4),
        "why": {name: round(share, 4) for name, share in similar.why.items()},
        "superseded_by": show_id(similar.superseded_by),
    }


def recalled_view(recalled: Recalled, *, strict: bool, found: str, took_ms: float, explain: bool) -> dict[str, Any]:
    """A whole answer.

    Args:
        found: how the scope was found.
    """
    return {
        "hits": [hit_view(hit, strict=strict, explain=explain) for hit in recalled.hits],
        "scope": recalled.scope,
        "scope_found": found,
        "searched": recalled.searched,
        "used_tokens": recalled.used_tokens,
        "left_out": recalled.left_out,
        "degraded": list(recalled.degraded),
        "took_ms": round(took_ms, 1),
    }


def memory_view(memory: Memory, part: bytes, *, strict: bool) -> dict[str, Any]:
    """A memory as it is kept, with the part of its text that is given."""
    view: dict[str, Any] = msgspec.structs.asdict(memory)
    return view | {
        "id": show_id(memory.id),
        **text_view(part, strict),
        "size_bytes": len(memory.text),
        "files": list(memory.files),
        "said_at": to_iso(memory.said_at),
        "valid_from": to_iso(memory.valid_from),
        "valid_to": to_iso(memory.valid_to),
        "recorded_at": to_iso(memory.recorded_at),
        "retired_at": to_iso(memory.retired_at),
        "superseded_by": show_id(memory.superseded_by),
        "supersedes": [show_id(one) for one in memory.supersedes],
    }


def retirement_view(retirement: Retirement, *, strict: bool) -> dict[str, Any]:
    """How a memory stands that was forgotten or found again, with the beginning of its text."""
    view: dict[str, Any] = msgspec.structs.asdict(retirement)
    return view | {
        "id": show_id(retirement.id),
        "retired_at": to_iso(retirement.retired_at),
        **text_view(retirement.text, strict),
        "said_at": to_iso(retirement.said_at),
    }


def error_view(error: MnemicError) -> dict[str, str]:
    """An error: code, sentence, remedy."""
    return {"code": error.code, "error": str(error), "remedy": error.remedy_text}
