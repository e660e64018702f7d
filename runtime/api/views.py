r"""JSON views of memories, hits and errors, the same in the command line, HTTP and MCP.

Fields stand as `mnemic.actors.kernel.message` writes them; a view leaves out what nobody needs there, and adds what
the face knows. A text may hold a lone surrogate: Python's JSON carries it; strict encoders refuse it, so for them
(`strict`) it is written out, as ``\udc80``, and ``escaped`` beside the text says so.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mnemic.actors.communities.messages import CommunitiesListed, CommunityShown
from mnemic.actors.index.hits import ref_view
from mnemic.actors.kernel.errors import BadTime, MnemicError
from mnemic.actors.kernel.message import format_id, to_json
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.kernel.times import parse_time, to_local_iso
from mnemic.actors.log.messages import Delivery, MemoryDetail, UseCounted
from mnemic.actors.recall.messages import Hit, Memory, Recalled
from mnemic.actors.shape.messages import Answer, Shaped
from mnemic.runtime.clock import SystemClock

_NOT_FOR_MODELS = {"source_id", "session"}
_CLOCK = SystemClock()
_NOT_OF_SIMILAR = {
    *("source_id", "speaker", "session", "supersedes", "newest", "same", "replaced", "contradicts", "differs"),
    "author",
}


def hit_view(hit: Hit, *, strict: bool, explain: bool, same: int | None = None) -> dict[str, Any]:
    """A hit; without `explain`, its score without the reasons.

    Args:
        same: so many at most of those that say the same are named, and ``same_count`` says how many there are; where
            absent, all.
    """
    view = to_json(hit, strict=strict)
    for name in (
        "supersedes",
        "superseded_elsewhere",
        "replaced",
        "contradicts",
        "differs",
        "newest",
        "same",
        "author",
    ):
        if not view[name]:
            del view[name]
    if len(hit.data) == hit.size_bytes:
        del view["start_byte"], view["size_bytes"]
    if not explain:
        del view["why"]
    if same is not None and len(hit.same) > same:
        view |= {"same": view["same"][:same], "same_count": len(hit.same)}
    for name in ("replaced", "contradicts"):
        if name in view:
            view[name] = _shortened(view[name])
    return _rounded(view)


def similar_view(similar: Hit, *, strict: bool) -> dict[str, Any]:
    """A near-duplicate, with the beginning of its text or its best stretch."""
    view = _rounded(to_json(similar, strict=strict))
    hidden = _NOT_OF_SIMILAR | (set() if similar.superseded_elsewhere else {"superseded_elsewhere"})
    return {name: value for name, value in view.items() if name not in hidden}


def recall_view(
    recalled: Recalled, *, strict: bool, found: str, took_ms: float, explain: bool, same: int | None = None
) -> dict[str, Any]:
    """A whole answer.

    Args:
        found: how the scope was found.
        same: as in `hit_view`.
    """
    return {
        "hits": [hit_view(hit, strict=strict, explain=explain, same=same) for hit in recalled.hits],
        "scope": recalled.scope,
        "scope_found": found,
        "searched": recalled.searched,
        "used_tokens": recalled.used_tokens,
        "left_out": recalled.left_out,
        "nothing_fits": recalled.nothing_fits,
        **({"held_on": recalled.held_on} if recalled.held_on else {}),
        **({"said_near": list(recalled.said_near)} if recalled.said_near else {}),
        "degraded": list(recalled.degraded),
        "took_ms": round(took_ms, 1),
    }


def model_view(view: dict[str, Any]) -> dict[str, Any]:
    """An answer as a model is given it, which pays for every word: of each hit what tells it whether to read on.

    Left out are the host's own ids, which `memory_view` has, what is nothing, a scope that is the answer's own, and
    fractions of a second. Times are local, with their offset.
    """

    def slim(hit: dict[str, Any]) -> dict[str, Any]:
        told = {name: one for name, one in hit.items() if one is not None and name not in _NOT_FOR_MODELS}
        if told["scope"] == view["scope"]:
            del told["scope"]
        for one in (told, *told.get("same", ())):
            if one.get("said_at"):
                one["said_at"] = seconds(one["said_at"])
        for name in ("replaced", "contradicts"):
            if name in told:
                told[name] = [ref_view(one) for one in told[name]]
        return told

    return view | {"hits": [slim(hit) for hit in view["hits"]]}


def seconds(time: str) -> str:
    """A time of an answer to the second, with the machine's offset: a model takes the date in it for the day."""
    try:
        return to_local_iso(parse_time(time, _CLOCK), _CLOCK)
    except (BadTime, OverflowError):  # a time that no calendar holds is written as its number
        return time


def memory_view(memory: Memory, part: bytes, *, strict: bool) -> dict[str, Any]:
    """A memory as it is kept, with the part of its text that is given."""
    view = to_json(msgspec.structs.replace(memory, data=part), strict=strict)
    return view | {"size_bytes": len(memory.data)}


def error_view(error: MnemicError) -> dict[str, str]:
    """An error: code, sentence, remedy."""
    return {"code": error.code, "error": str(error), "remedy": error.remedy_text}


def answer_view(answer: Answer, *, strict: bool, memories: int | None = None) -> dict[str, Any]:
    """What fills a role; ``worked`` and ``worked_of`` are there where it is known.

    Args:
        memories: so many ids at most of those that it was read from; all that are given, where absent.
    """
    view = to_json(answer, strict=strict)
    view |= {"confidence": round(answer.confidence, 4), "memories": view["memories"][:memories]}
    if answer.worked is None:
        del view["worked"], view["worked_of"]
    else:
        view["worked"] = round(answer.worked, 4)
    return view


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


def communities_view(listed: CommunitiesListed, *, strict: bool, scope: Scopes, found: str) -> dict[str, Any]:
    """What communities there are.

    Args:
        scope: what was looked through.
        found: how the scope was found.
    """
    looked = scope if isinstance(scope, str) else list(scope)
    return to_json(listed, strict=strict) | {"scope": looked, "scope_found": found}


def community_view(shown: CommunityShown, *, strict: bool) -> dict[str, Any]:
    """A community with all that belongs to it."""
    view = to_json(shown, strict=strict)
    view["members"] = [hit_view(hit, strict=strict, explain=False) for hit in shown.members]
    view["roles"] = [one | {"share": round(one["share"], 4)} for one in view["roles"]]
    return view


def knowledge_view(answer: Any, *, strict: bool, scope: Scopes, found: str) -> dict[str, Any]:
    """Facts, conflicts, or things.

    Args:
        scope: what was looked through.
        found: how the scope was found.
    """
    looked = scope if isinstance(scope, str) else list(scope)
    view: dict[str, Any] = _shortened(to_json(answer, strict=strict))
    return view | {"scope": looked, "scope_found": found}


def _shortened(view: Any) -> Any:
    """A view whose probabilities have four digits, and whose references name no words where all of a hit is meant."""
    if isinstance(view, dict):
        told = {name: one for name, one in view.items() if one or name != "of"}
        return {name: round(one, 4) if name == "probability" else _shortened(one) for name, one in told.items()}
    return [_shortened(one) for one in view] if isinstance(view, list) else view


def delivery_view(delivery: Delivery) -> dict[str, Any]:
    """What was given at one time."""
    view = to_json(delivery)
    return view | {"memories": view.pop("parts")}


def memory_detail_view(shown: MemoryDetail) -> dict[str, Any]:
    """A memory with all that belongs to it; ``around``, where it was asked for, says which of these is itself."""
    view = to_json(shown)
    del view["memory"]
    around = [{name: value for name, value in one.items() if name != "cursor"} for one in view.pop("around")]
    if around:
        itself = format_id(shown.memory.id)
        view["around"] = [one | {"itself": one["id"] == itself} for one in around]
    view["original_kept"] = view.pop("original")
    kept_by = {name: view.pop(name) for name in ("seq", "author", "run", "machine", "code")}
    own = memory_view(shown.memory, shown.memory.data, strict=False)
    return own | view | {"kept_by": kept_by}


def usage_view(use: UseCounted) -> dict[str, Any]:
    """Memories, bytes and tokens given, by project, by week, and by project week by week."""
    view = to_json(use)
    return {
        "weeks": [{"from": week[:10], **one} for week, one in zip(view["weeks"], view["all"], strict=True)],
        "projects": [
            {"path": project["path"], **project["total"], "weeks": project["weeks"]} for project in view["projects"]
        ],
        "told_twice": view["told_twice"],
    }


def _rounded(view: dict[str, Any]) -> dict[str, Any]:
    """A view whose scores are told to four places."""
    view["score"] = round(view["score"], 4)
    if "why" in view:
        view["why"] = {name: round(share, 4) for name, share in view["why"].items()}
    return view
