"""The tools ``memory_capture``, ``memory_get`` and ``memory_forget``, and the resource ``mnemic://memory/{id}``.

Above is `mnemic.runtime.serve.mcp.tools`.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from typing import Any, Literal

import msgspec

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.capture.messages import CaptureText, TextCaptured
from mnemic.actors.index.hits import character_start, delivered_span
from mnemic.actors.kernel.errors import InvalidValue, OwnersChoice
from mnemic.actors.kernel.events import MCP_PREFIX
from mnemic.actors.kernel.message import format_id, parse_id, to_json
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.kernel.times import Zone, offset_in, to_iso
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.recall.messages import GetMemories, Memory
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.views import memory_view, similar_view
from mnemic.runtime.serve.mcp.calls import Call
from mnemic.runtime.serve.mcp.tool_schemas import IDEMPOTENT_ADD, READ_ONLY, SCOPE, ToolRow, read_arguments

PAGE_BYTES = 256 << 10
_USERS_OWN = "{id} stands: its user said or kept it, and replaces it by `{command}`"


def memory_capture(
    call: Call, *, text: str, session: str | None = None, scope: str | None = None, **given: Any
) -> dict[str, Any]:
    """Keep a text for good. supersedes: id of what it replaces."""
    told = read_arguments(CaptureText, given, call.clock)
    if "said_at" in told:
        told["utc_offset_min"] = offset_in(given["said_at"])

    def check_write(path: str | None) -> None:
        now = call.clock.now_us()
        call.access.check_write(path, role=told["role"], said_at=told.get("said_at"), now=now)

    replaced = newest = None
    if "supersedes" in told:
        (replaced,) = call.access.get(call.mind, [told["supersedes"]], writes=True)
    check_write(scope)
    if replaced is not None:
        check_write(replaced.scope)
        newest = _newest(call.mind, replaced)
    elsewhere = newest is not None and not call.access.can_read(newest.scope)
    if newest is not None and not elsewhere:
        check_write(newest.scope)
    stands = None if newest is None or elsewhere or call.access.can_replace(newest) else newest
    if stands is not None or elsewhere:  # the new text is kept beside it
        del told["supersedes"]
    place: ScopeRef | str | None = scope
    if scope is None and replaced is not None:
        place = ScopeRef(path=replaced.scope, project=None, found="named")
    elif scope is None and call.caller.folder is not None:
        place = call.mind.folder_scope(call.caller.folder)[1]
    kept = call.mind.remember(
        text,
        session=session or call.caller.session,
        scope=place,
        **told,
        assistant=f"{MCP_PREFIX}{call.assistant}",
        folder=call.caller.folder,
    )
    return _captured(call, kept, stands, elsewhere)


def _captured(call: Call, kept: TextCaptured, stands: Memory | None, elsewhere: bool) -> dict[str, Any]:
    """What was kept, and what is near to it; that this was told is kept.

    Args:
        stands: what it was to replace, and did not, since that is its user's own.
        elsewhere: whether what it was to replace is replaced in a project that the caller may not read.
    """
    untold = call.caller.switched_off == "recall" or not call.access.can_read(kept.scope)
    alike = () if untold else kept.similar
    spans = map(delivered_span, alike)
    call.note_delivery([msgspec.structs.replace(one, why=f"near to what it kept: {one.why}") for one in spans])
    captured: dict[str, Any] = {"id": format_id(kept.id), "created": kept.created, "scope": kept.scope}
    if kept.superseded_by is not None:
        if call.access.can_read(call.mind.get([kept.superseded_by])[0].scope):
            captured["superseded_by"] = str(format_id(kept.superseded_by))
        else:
            elsewhere = True
    if elsewhere:
        captured["superseded_elsewhere"] = True
    if kept.retired_at is not None:
        captured["retired_at"] = str(to_iso(kept.retired_at))
    if kept.erased:
        captured["erased"] = True
    if stands is not None:
        id = str(format_id(stands.id))
        captured["not_replaced"] = _USERS_OWN.format(id=id, command=call.mind.command("correct", id, "TEXT"))
    return captured | {"similar": [similar_view(one, strict=True) for one in alike]}


def _newest(mind: Mind, memory: Memory) -> Memory:
    """What would be replaced in the place of a memory that is replaced already: the last of its corrections."""
    while memory.superseded_by is not None:
        (memory,) = mind.get([memory.superseded_by])
    return memory


def _read_page(verb: type[msgspec.Struct], given: dict[str, Any], zone: Zone) -> dict[str, Any]:
    if given["offset"] < 0 or not 4 <= given["limit"] <= PAGE_BYTES:
        raise InvalidValue(
            name="the page",
            value=(given["offset"], given["limit"]),
            why="it is none",
            expected=f"offset >= 0, limit 4 to {PAGE_BYTES}",
        )
    return read_arguments(verb, given, zone)


def memory_get(call: Call, *, ids: Sequence[bytes], offset: int, limit: int) -> dict[str, Any]:
    """Whole records. offset, limit: a page, in bytes."""
    return {"memories": _deliver_pages(call, ids, offset, limit)}


def deliver_memory(call: Call, id: str) -> dict[str, Any]:
    """The first page of one memory, and that it was given is kept.

    Raises:
        NoSuchMemory: it is not there, or not for this caller.
    """
    return _deliver_pages(call, [parse_id(id)], 0, PAGE_BYTES)[0]


def _deliver_pages(call: Call, ids: Sequence[bytes], offset: int, limit: int) -> list[dict[str, Any]]:
    """A page of each memory's text, and that it was given is kept; together they are no longer than one page.

    Raises:
        NoSuchMemory: one of them is not there, or not for this caller.
    """
    pages, parts = [], []
    memories = call.access.get(call.mind, ids)
    hidden = _hidden_ids(call, memories)
    for memory in memories:
        page = _page(_without_links(memory, hidden), offset, limit)
        if memory.superseded_by in hidden:
            page["superseded_elsewhere"] = True
        pages.append(page)
        end = len(memory.data) if page["next_offset"] is None else page["next_offset"]
        if end > page["offset"]:
            why = "it asked for this one by its id"
            parts.append(DeliveredSpan(memory=memory.id, start=page["offset"], stop=end, why=why))
        limit -= end - page["offset"]
    call.note_delivery(parts, named=True)
    return pages


def _hidden_ids(call: Call, memories: Sequence[Memory]) -> frozenset[bytes]:
    """Ids of what replaces memories, or is replaced by them, that the caller may not be told of."""
    linked = {id for memory in memories for id in (memory.superseded_by, *memory.supersedes) if id is not None}
    if not linked or call.access.can_read("*"):
        return frozenset()
    return frozenset(one.id for one in call.mind.get(sorted(linked)) if not call.access.can_read(one.scope))


def _without_links(memory: Memory, hidden: Collection[bytes]) -> Memory:
    return msgspec.structs.replace(
        memory,
        superseded_by=None if memory.superseded_by in hidden else memory.superseded_by,
        supersedes=tuple(id for id in memory.supersedes if id not in hidden),
    )


def _page(memory: Memory, offset: int, limit: int) -> dict[str, Any]:
    """A record with the page of its text that starts at `offset`; a page starts and ends on a whole character."""
    start = character_start(memory.data, min(offset, len(memory.data)), -1)
    end = character_start(memory.data, min(start + limit, len(memory.data)), -1)
    view = memory_view(memory, memory.data[start:end], strict=True)
    return view | {"offset": start, "next_offset": end if end < len(memory.data) else None}


def _read_id(verb: type[msgspec.Struct], given: dict[str, Any], zone: Zone) -> dict[str, Any]:
    return read_arguments(verb, given, zone) | {"id": parse_id(given["id"])}


def memory_forget(call: Call, *, id: bytes, **given: Any) -> dict[str, Any]:
    """Hide what the user wants forgotten. undo brings it back."""
    (memory,) = call.access.get(call.mind, [id], writes=True)
    call.access.check_write(memory.scope, now=call.clock.now_us())
    if not call.access.can_replace(memory):
        command = call.mind.command("forget", str(format_id(memory.id)))
        what = f"By MCP nothing is forgotten that its user said or kept (who may, by `{command}`)"
        raise OwnersChoice(what=what, right="write-all")
    (one,) = call.mind.forget([id], **given).memories
    undo = call.mind.undo_command([id])
    if not call.access.can_read(one.scope):  # it may forget there, and is told nothing
        return {"retired": {"id": str(format_id(one.id))}, "undo": undo}
    why = "it named this one to be forgotten"
    call.note_delivery([DeliveredSpan(memory=one.id, start=0, stop=len(one.data), why=why)])
    return {"retired": to_json(one, strict=True), "undo": undo}


MEMORY_TOOLS = (
    ToolRow(
        memory_capture,
        IDEMPOTENT_ADD,
        CaptureText,
        "text role session scope said_at kind supersedes",
        {
            "role": (Literal["user", "assistant", "system"], "assistant"),
            "scope": SCOPE,
            "kind": (Literal["note", "decision", "turn"], "note"),
        },
        answered="id created scope similar",
        read=lambda verb, given, zone: given,  # once the mind is open: whether it may be kept is said first
    ),
    ToolRow(
        memory_get,
        READ_ONLY,
        GetMemories,
        "ids offset limit",
        {"offset": (int, 0), "limit": (int, PAGE_BYTES)},
        read=_read_page,
    ),
    ToolRow(memory_forget, IDEMPOTENT_ADD, Forget, "id reason", {"id": (str, inspect.Parameter.empty)}, read=_read_id),
)
