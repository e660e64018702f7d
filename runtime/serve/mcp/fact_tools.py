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
from mnemic.actors.knowledge.messages import Conflict, Fact, FactsListed
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.recall.messages import FactRef
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.views import knowledge_view, seconds
from mnemic.runtime.serve.mcp.access import Access

_FACT = ("memory", "text", "state", "said_at", "holds_from", "holds_to", "replaced_by", "speaker", "role", "scope")
_REF = ("memory", "value", "at", "why", "id")
_ALL = 1 << 31
_CONFLICT = ("id", "older", "newer", "grade", "probability", "why", "verdict", "by")


def deliver_facts(
    mind: Mind,
    assistant: str,
    session: str,
    asked: dict[str, Any],
    scope: Scopes,
    found: str,
    unknown: str | None,
) -> dict[str, Any]:
    """What holds in a scope that the caller may read, and that it was given is kept.

    Args:
        unknown: what is said where nothing is known of the caller's project.
    """
    if unknown is not None:
        listed = FactsListed(facts=(), total=0, waiting=0)
        return _slim(knowledge_view(listed, strict=True, scope=scope, found=found)) | {"degraded": [unknown]}
    try:
        listed = mind.facts(scope=scope, **asked)
    except UnknownEntity as error:
        listed = FactsListed(facts=(), total=0, waiting=0)
        said = f"{error} {error.remedy_text}"
        return _slim(knowledge_view(listed, strict=True, scope=scope, found=found)) | {"degraded": [said]}
    _note(mind, assistant, session, listed.facts, listed.conflicts)
    return _slim(knowledge_view(listed, strict=True, scope=scope, found=found))


def settle_conflict(
    mind: Mind, assistant: str, session: str, access: Access, id: str, verdict: Verdict, scope: Scopes, now: int
) -> dict[str, Any]:
    """Settle a pair of statements of a scope that the caller may write to, as its word.

    Raises:
        UnknownConflict: there is no such pair there.
        OwnersChoice: it may not write there, or its user has settled it.
    """
    for path in [scope] if isinstance(scope, str) else scope:
        access.check_write(path, now=now)
    settled = () if "write-all" in access.rights else mind.conflicts(replaced=True, scope=scope, k=_ALL).conflicts
    if any(one.id == id.strip().casefold() and one.by and not one.by.startswith(MCP_PREFIX) for one in settled):
        command = mind.command("conflicts", id, verdict)
        what = f"By MCP nothing is settled that its user settled (who may, by `{command}`)"
        raise OwnersChoice(what=what, right="write-all")
    kept = mind.settle(id, verdict, scope=scope, by=f"{MCP_PREFIX}{assistant}")
    _note(mind, assistant, session, (), (kept.conflict,))
    view = knowledge_view(kept, strict=True, scope=scope, found="")
    return {
        "conflict": _conflict(view["conflict"], scope),
        "changed": view["changed"],
        "undo": mind.command("conflicts", id, "open"),
    }


def _note(mind: Mind, assistant: str, session: str, facts: tuple[Fact, ...], conflicts: tuple[Conflict, ...]) -> None:
    told = [*facts, *(one for pair in conflicts for one in (pair.older, pair.newer))]
    spans = [_span(one.memory, one.text_byte, one.text, "it asked for what holds") for one in told]
    refs: list[FactRef] = [one.replaced_by for one in facts if one.replaced_by is not None]
    spans += [_span(one.memory, one.start_byte, one.value, "it stands for what was asked for") for one in refs]
    unique = {(one.memory, one.start): one for one in spans}
    if unique:
        mind.note_delivery(assistant, session, list(unique.values()))


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
