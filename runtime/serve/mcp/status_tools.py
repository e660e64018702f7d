"""The tools ``memory_sleep`` and ``memory_status``: what the mind does, and how it is.

Above is `mnemic.runtime.serve.mcp.tools`.
"""

from __future__ import annotations

from typing import Any

from mnemic.actors.kernel.message import to_json
from mnemic.actors.sleep.messages import Sleep
from mnemic.runtime.serve.mcp.calls import Call
from mnemic.runtime.serve.mcp.tool_schemas import IDEMPOTENT_ADD, READ_ONLY, ToolRow

_NIGHT_S = 20.0  # an assistant waits for it


def memory_sleep(call: Call, **given: Any) -> dict[str, Any]:
    """Consolidate now."""
    progress = call.progress
    told = None if progress is None else lambda what, done, total: progress(done, total)
    report = call.mind.sleep(**given, budget_s=_NIGHT_S, progress=told)
    view = to_json(report, strict=True)
    if call.access.can_read("*"):
        return view
    return {name: view[name] for name in ("run", "finished", "ended")}  # the rest counts other projects too


def memory_status(call: Call) -> dict[str, Any]:
    """Counts, scopes, health."""
    # Of the projects, those that the caller may read, no count or rule of others.
    view = call.mind.status_view()
    if call.access.can_read("*"):
        return view
    counts, capture = view["counts"], view["capture"]
    scopes = [one for one in counts["scopes"] if call.access.can_read(one["path"])]
    memories = sum(one["memories"] for one in scopes)
    view["counts"] = {"memories": memories, "scopes": scopes, "scan": counts["scan"], "lost": counts["lost"]}
    view["use"] = {"projects": [one for one in view["use"]["projects"] if call.access.can_read(one["path"])]}
    del capture["left_out"], capture["scrubbed"]
    return view


STATUS_TOOLS = (ToolRow(memory_sleep, IDEMPOTENT_ADD, Sleep, "dry_run"), ToolRow(memory_status, READ_ONLY))
