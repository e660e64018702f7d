"""JSON views of memories, hits and errors, the same in the command line, HTTP and MCP.

A text may hold a lone surrogate. Python's JSON carries it; strict encoders refuse it, so for them (`strict`) it is
written out, as ``\udc80``, and ``escaped`` beside the text says so.

Views of shapes: what was found by its structure, what fills a role, and the roles. Beside `mnemic.runtime.api.views`.

Views of what is seen: entries of the log, what was given, one memory whole, use. Beside `mnemic.runtime.api.views`.

They go to a program as JSON, and `mnemic.cli.log_lines` makes lines for a person of them.
"""

from __future__ import annotations

import uuid
from typing import Any

import msgspec

from mnemic.actors.protocol.errors import MnemicError, NoSuchMemory
from mnemic.actors.protocol.events import escape_surrogates, to_text
from mnemic.actors.protocol.log_messages import Delivery, MemoryDetail, MemoryEntry, RelatedMemory, Use, UseCounted
from mnemic.actors.protocol.messages import Hit, Memory, Recalled, Retirement, Similar
from mnemic.actors.protocol.shape_messages import Answer, RolesListed, Shaped
from mnemic.actors.protocol.times import to_iso

__all__ = [
    "answer_view",
    "delivery_view",
    "error_view",
    "format_id",
    "hit_view",
    "memory_detail_view",
    "memory_entry_view",
    "memory_view",
    "parse_id",
    "recall_view",
    "retirement_view",
    "roles_view",
    "shape_view",
    "similar_view",
    "text_view",
    "usage_view",
]


def format_id(memory: bytes | None) -> str | None:
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
    if not strict or (written := escape_surrogates(whole)) == whole:
        return {"text": whole}
    return {"text": written, "escaped": True}


def hit_view(hit: Hit, *, strict: bool, explain: bool) -> dict[str, Any]:
    """A hit; without `explain`, its score without the reasons."""
    view: dict[str, Any] = {
        "id": format_id(hit.id),
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
        "superseded_by": format_id(hit.superseded_by),
    }
    if hit.supersedes:
        view["supersedes"] = [format_id(one) for one in hit.supersedes]
    if len(hit.text) < hit.size_bytes:
        view |= {"start_byte": hit.start_byte, "size_bytes": hit.size_bytes}
    if explain:
        view["why"] = {name: round(share, 4) for name, share in hit.why.items()}
    return view


def similar_view(similar: Similar, *, strict: bool) -> dict[str, Any]:
    """A near-duplicate, with the beginning of its text or its best stretch."""
    view: dict[str, Any] = msgspec.structs.asdict(similar)
    return view | {
        "id": format_id(similar.id),
        **text_view(similar.text, strict),
        "said_at": to_iso(similar.said_at),
        "score": round(similar.score, 4),
        "why": {name: round(share, 4) for name, share in similar.why.items()},
        "superseded_by": format_id(similar.superseded_by),
    }


def recall_view(recalled: Recalled, *, strict: bool, found: str, took_ms: float, explain: bool) -> dict[str, Any]:
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
        "id": format_id(memory.id),
        **text_view(part, strict),
        "size_bytes": len(memory.text),
        "files": list(memory.files),
        "said_at": to_iso(memory.said_at),
        "valid_from": to_iso(memory.valid_from),
        "valid_to": to_iso(memory.valid_to),
        "recorded_at": to_iso(memory.recorded_at),
        "retired_at": to_iso(memory.retired_at),
        "superseded_by": format_id(memory.superseded_by),
        "supersedes": [format_id(one) for one in memory.supersedes],
    }


def retirement_view(retirement: Retirement, *, strict: bool) -> dict[str, Any]:
    """How a memory stands that was forgotten or found again, with the beginning of its text."""
    view: dict[str, Any] = msgspec.structs.asdict(retirement)
    return view | {
        "id": format_id(retirement.id),
        "retired_at": to_iso(retirement.retired_at),
        **text_view(retirement.text, strict),
        "said_at": to_iso(retirement.said_at),
    }


def error_view(error: MnemicError) -> dict[str, str]:
    """An error: code, sentence, remedy."""
    return {"code": error.code, "error": str(error), "remedy": error.remedy_text}


def answer_view(answer: Answer, *, strict: bool, memories: int | None = None) -> dict[str, Any]:
    """What fills a role; ``worked`` and ``worked_of`` are there where it is known.

    Args:
        memories: so many ids at most of those that it was read from; all that are given, where absent.
    """
    view: dict[str, Any] = {
        "role": answer.role,
        "filler": escape_surrogates(answer.filler) if strict else answer.filler,
        "confidence": round(answer.confidence, 4),
        "support": answer.support,
    }
    if answer.worked is not None:
        view |= {"worked": round(answer.worked, 4), "worked_of": answer.worked_of}
    return view | {"memories": [format_id(one) for one in answer.memories[:memories]]}


def shape_view(
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


def memory_entry_view(listed: MemoryEntry) -> dict[str, Any]:
    """An entry of the log."""
    view: dict[str, Any] = msgspec.structs.asdict(listed)
    return view | {
        "id": format_id(listed.id),
        "at": to_iso(listed.at),
        "text": text_view(listed.text, strict=False)["text"],
        "retired_at": to_iso(listed.retired_at),
    }


def delivery_view(giving: Delivery) -> dict[str, Any]:
    """What was given at one time."""
    view: dict[str, Any] = msgspec.structs.asdict(giving)
    return view | {
        "at": to_iso(giving.at),
        "text": _text(giving.text),
        "memories": [
            {
                "id": format_id(part.id),
                "why": part.why,
                "start_byte": part.start_byte,
                "text": _text(part.text),
                "size_bytes": part.size_bytes,
            }
            for part in view.pop("parts")
        ],
    }


def memory_detail_view(shown: MemoryDetail) -> dict[str, Any]:
    """A memory with all that belongs to it."""
    return memory_view(shown.memory, shown.memory.text, strict=False) | {
        "mode": shown.mode,
        "kept_by": {
            "seq": shown.seq,
            "author": shown.author,
            "run": shown.run,
            "machine": shown.machine,
            "code": shown.code,
        },
        "scrubbed": shown.scrubbed,
        "original_kept": shown.original,
        "newer": [_related_memory_view(link) for link in shown.newer],
        "older": [_related_memory_view(link) for link in shown.older],
        "previous": format_id(shown.previous),
        "next": format_id(shown.next),
        "uses": [
            {"occasion": use.occasion, "own": use.own, "times": use.times, "last_at": to_iso(use.last_at)}
            for use in shown.uses
        ],
    }


def usage_view(use: UseCounted, *, cross: bool) -> dict[str, Any]:
    """Memories, bytes and tokens given, by project and by week.

    Args:
        cross: whether each project is told week by week, too.
    """
    weeks = [str(to_iso(week))[:10] for week in use.weeks]
    return {
        "weeks": [{"from": week, **_usage(one)} for week, one in zip(weeks, use.all, strict=True)],
        "projects": [
            {"path": project.path, **_usage(project.total)}
            | ({"weeks": [_usage(one) for one in project.weeks]} if cross else {})
            for project in use.projects
        ],
    }


def _usage(use: Use) -> dict[str, Any]:
    view: dict[str, Any] = msgspec.structs.asdict(use)
    return view


def _text(text: bytes | None) -> str | None:
    return None if text is None else str(text_view(text, strict=False)["text"])


def _related_memory_view(link: RelatedMemory) -> dict[str, Any]:
    view: dict[str, Any] = msgspec.structs.asdict(link)
    return view | {
        "id": format_id(link.id),
        "at": to_iso(link.at),
        "since": to_iso(link.since),
        "retired_at": to_iso(link.retired_at),
        "text": _text(link.text),
    }
