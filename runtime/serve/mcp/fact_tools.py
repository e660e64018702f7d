"""The tools ``memory_facts`` and ``memory_settle``: what holds, and what contradicts, for an assistant.

A fact lies in the scope of its memory, so what `mnemic.runtime.serve.mcp.access` says of that scope goes for it. What
an assistant settles is kept as its word, and its user can take it back. Above is `mnemic.runtime.serve.mcp.tools`.
"""

from __future__ import annotations

from typing import Any

from mnemic.actors.kernel.errors import OwnersChoice, UnknownEntity
from mnemic.actors.kernel.events import MCP_PREFIX
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.knowledge.changes import Verdict
from mnemic.actors.knowledge.messages import Conflict, Fact, FactsListed, ListFacts, SettleConflict
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.recall.messages import FactRef
from mnemic.runtime.api.views import knowledge_view, seconds
from mnemic.runtime.serve.mcp.calls import Call
from mnemic.runtime.serve.mcp.tool_schemas import IDEMPOTENT_ADD, READ_ONLY, SCOPE, ToolRow

_FACT = ("memory", "text", "state", "said_at", "holds_from", "holds_to", "replaced_by", "speaker", "role", "scope")
_REF = ("memory", "value", "at", "why", "id")
_ALL = 1 << 31
_CONFLICT = ("id", "older", "newer", "grade", "probability", "why", "verdict", "by")


def memory_facts(call: Call, *, scope: str | None = None, **asked: Any) -> dict[str, Any]:
    """What holds, of a thing or all. at: a day. history: what held, too."""
    path, found, unknown = call.resolve_scope(scope)
    listed = FactsListed(facts=(), total=0, waiting=0)
    if unknown is None:
        try:
            listed = call.mind.facts(scope=path, **asked)
        except UnknownEntity as error:
            unknown = f"{error} {error.remedy_text}"
    _note(call, listed.facts, listed.conflicts)
    told = _slim(knowledge_view(listed, strict=True, scope=path, found=found))
    return told if unknown is None else told | {"degraded": [unknown]}


def memory_settle(call: Call, *, id: str, verdict: Verdict, scope: str | None = None) -> dict[str, Any]:
    """Settle a conflict as the user said."""
    path = call.resolve_scope(scope)[0]
    for one in [path] if isinstance(path, str) else path:
        call.access.check_write(one, now=call.clock.now_us())
    may_change_all = "write-all" in call.access.rights
    settled = () if may_change_all else call.mind.conflicts(replaced=True, scope=path, k=_ALL).conflicts
    if any(one.id == id.strip().casefold() and one.by and not one.by.startswith(MCP_PREFIX) for one in settled):
        command = call.mind.command("conflicts", id, verdict)
        what = f"By MCP nothing is settled that its user settled (who may, by `{command}`)"
        raise OwnersChoice(what=what, right="write-all")
    kept = call.mind.settle(id, verdict, scope=path, by=f"{MCP_PREFIX}{call.assistant}")
    _note(call, (), (kept.conflict,))
    view = knowledge_view(kept, strict=True, scope=path, found="")
    undo = call.mind.command("conflicts", id, "open")
    return {"conflict": _conflict(view["conflict"], path), "changed": view["changed"], "undo": undo}


def _note(call: Call, facts: tuple[Fact, ...], conflicts: tuple[Conflict, ...]) -> None:
    told = [*facts, *(one for pair in conflicts for one in (pair.older, pair.newer))]
    spans = [_span(one.memory, one.text_byte, one.text, "it asked for what holds") for one in told]
    refs: list[FactRef] = [one.replaced_by for one in facts if one.replaced_by is not None]
    spans += [_span(one.memory, one.start_byte, one.value, "it stands for what was asked for") for one in refs]
    unique = {(one.memory, one.start): one for one in spans}
    call.note_delivery(list(unique.values()))


def _span(memory: bytes, start: int, value: bytes, why: str) -> DeliveredSpan:
    return DeliveredSpan(memory=memory, start=start, stop=start + len(value), why=why)


def _slim(view: dict[str, Any]) -> dict[str, Any]:
    """What a model is given, which pays for every word; how much waits, in other projects too, is not told."""
    scope = view["scope"]
    told = {"facts": [_fact(one, scope) for one in view["facts"]]}
    told["conflicts"] = [_conflict(one, scope) for one in view["conflicts"]]
    told |= {name: view[name] for name in ("entity", "also_called") if view[name]}
    return told | {"total": view["total"], "scope": scope, "scope_found": view["scope_found"]}


def _fact(view: dict[str, Any], scope: Scopes) -> dict[str, Any]:
    told = {name: view[name] for name in _FACT if view[name] is not None}
    if view["subject"].casefold() not in view["text"].casefold():  # it is named earlier in the sentence
        told["subject"] = view["subject"]
    if view["times"] > 1:
        told["times"] = view["times"]
    if told["scope"] == scope:
        del told["scope"]
    if "replaced_by" in told:
        told["replaced_by"] = {name: told["replaced_by"][name] for name in _REF}
        told["replaced_by"]["at"] = seconds(told["replaced_by"]["at"])
    return told | {name: seconds(told[name]) for name in ("said_at", "holds_from", "holds_to") if name in told}


def _conflict(view: dict[str, Any], scope: Scopes) -> dict[str, Any]:
    told = {name: view[name] for name in _CONFLICT if view[name] != ""}
    return told | {name: _fact(view[name], scope) for name in ("older", "newer")}


FACT_TOOLS = (
    ToolRow(memory_facts, READ_ONLY, ListFacts, "entity at history scope", {"scope": SCOPE}),
    ToolRow(memory_settle, IDEMPOTENT_ADD, SettleConflict, "id verdict scope", {"scope": SCOPE}),
)
