"""The tools ``memory_recall`` and ``memory_shape``: what matters to a question, and what has a structure.

Above is `mnemic.runtime.serve.mcp.tools`.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from pydantic import BeforeValidator

from mnemic.actors.index.hits import MOST_SAME, token_count
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.recall.messages import Recall
from mnemic.actors.shape.messages import Shape, pattern_texts, validate_shape
from mnemic.actors.shape.patterns import parse_pattern
from mnemic.hd.roles import ROLES
from mnemic.runtime.api.questions import question
from mnemic.runtime.api.views import model_view, recall_view, shape_view
from mnemic.runtime.minds.projects import NO_SCOPE
from mnemic.runtime.serve.mcp.calls import Call
from mnemic.runtime.serve.mcp.tool_schemas import READ_ONLY, SCOPES, ToolRow

HIT_BYTES = 400
"""Of a longer memory, a recall gives so much unless it is asked for more: see docs/decisions/0004-pipe.md."""
_PATTERN = Annotated[
    dict[str, str], BeforeValidator(pattern_texts, json_schema_input_type=dict[str, str | float | bool])
]
_NOTHING_RECALLED = {"used_tokens": 0, "left_out": 0, "nothing_fits": True}


def memory_recall(
    call: Call, *, scope: str | list[str] | None = None, explain: bool = False, **asked: Any
) -> dict[str, Any]:
    """Find memories by meaning and words. scope: default this project, '*' all. Times ISO 8601: since/until said,
    at: held then, as_of: known then. A text over hit_bytes is cut: memory_get gives it whole.
    """
    place = None
    if scope is not None:
        call.access.check_question([scope] if isinstance(scope, str) else scope)
    elif call.caller.folder is not None:
        place = call.mind.folder_place(call.caller.folder)
    else:
        return _empty_result(call, "", call.unknown_scope(NO_SCOPE)) | _NOTHING_RECALLED
    # Beside a place the scope does not count; an actor that knows of none then tells nothing of other projects.
    recalled = call.mind.recall(**asked, **call.asking, scope="" if scope is None else scope, place=place)
    found = "named" if place is None else call.how_found(place)
    if place is not None and not recalled.scope_known:
        found, unknown = "unknown", call.unknown_scope(place)
        if not recalled.hits:  # nor is there anything about it that is kept for every project
            return _empty_result(call, place.path, unknown) | _NOTHING_RECALLED
        recalled = msgspec.structs.replace(recalled, degraded=(*recalled.degraded, unknown))
    view = recall_view(recalled, strict=True, found=found, took_ms=call.took_ms, explain=explain, same=MOST_SAME)
    return _with_length(model_view(view))


def memory_shape(
    call: Call, *, pattern: dict[str, str], scope: str | list[str] | None = None, **asked: Any
) -> dict[str, Any]:
    """Find memories by structure. pattern: roles to fillers, ? asks: {tool: pytest, about: login, file: ?},
    {after: edit, then: ?}. like: ids; pattern then says what differs. here: what helped before.
    """
    path, found, unknown = call.resolve_scope(scope)
    if unknown is not None:
        # Looks through nothing, and so only refuses what cannot be asked, whatever is in memory.
        validate_shape(question(Shape, pattern=pattern, **asked))
        if pattern:
            parse_pattern(pattern, tuple(ROLES), None)
        return _empty_result(call, path, unknown) | {"answers": []}
    shaped = call.mind.shape(pattern, **asked, **call.asking, scope=path)
    return model_view(shape_view(shaped, strict=True, found=found, took_ms=call.took_ms, memories=1))


def _empty_result(call: Call, path: Scopes, why: str) -> dict[str, Any]:
    """What every answer has where nothing is looked through."""
    nothing = {"hits": [], "scope": path, "scope_found": "unknown", "searched": 0, "degraded": [why]}
    return nothing | {"took_ms": round(call.took_ms, 1)}


def _with_length(view: dict[str, Any]) -> dict[str, Any]:
    """An answer that says how long it is itself, in tokens."""
    for _ in range(2):  # the number is a part of what it counts
        view = view | {"used_tokens": token_count(msgspec.json.encode(view))}
    return view


RECALL_TOOLS = (
    ToolRow(
        memory_recall,
        READ_ONLY,
        Recall,
        "query k scope budget_tokens hit_bytes since until at as_of session kinds files explain",
        {"scope": SCOPES, "hit_bytes": (int, HIT_BYTES), "explain": (bool, False)},
        answered="hits",
    ),
    ToolRow(
        memory_shape,
        READ_ONLY,
        Shape,
        "pattern like analogy here k scope session since until",
        {"pattern": (_PATTERN, {}), "scope": SCOPES},
        answered="hits answers",
    ),
)
