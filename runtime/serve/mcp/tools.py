"""The MCP server: Mnemic's verbs as tools and resources for AI assistants.

It only translates; the verbs are those of `mnemic.runtime.api.mind.Mind`, handed in as a port. One server answers every
caller of a home's process: who calls, and from which folder, goes with each request (`CURRENT_CALLER`), set by what
carries it (`mnemic.runtime.serve.mcp.http`, `mnemic.runtime.serve.mcp.stream`). Every schema costs each session of an
assistant its tokens: what a model does not need is left out of them.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Collection, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import FunctionResource
from pydantic import BeforeValidator

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.capture.messages import CaptureText
from mnemic.actors.index.hits import MOST_SAME, character_start, delivered_span, token_count
from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import (
    BadInput,
    InvalidValue,
    MindMissing,
    MnemicError,
    OwnersChoice,
    SwitchedOff,
    UnknownScope,
)
from mnemic.actors.kernel.events import MCP_PREFIX
from mnemic.actors.kernel.message import format_id, parse_id, to_json
from mnemic.actors.kernel.scope_paths import ScopeRef, Scopes, suggest_scopes
from mnemic.actors.kernel.times import offset_in, to_iso
from mnemic.actors.knowledge.messages import ListFacts, SettleConflict
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.recall.messages import GetMemories, Memory, Recall
from mnemic.actors.shape.messages import Shape, pattern_texts, validate_shape
from mnemic.actors.shape.patterns import parse_pattern
from mnemic.actors.sleep.messages import Sleep
from mnemic.hd.roles import ROLES
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.questions import question
from mnemic.runtime.api.views import (
    memory_view,
    model_view,
    recall_view,
    shape_view,
    similar_view,
)
from mnemic.runtime.capture.allow_deny import Patterns
from mnemic.runtime.engine.reports import Progress
from mnemic.runtime.minds.projects import NO_SCOPE, resolve_scope
from mnemic.runtime.serve.mcp.access import Access
from mnemic.runtime.serve.mcp.community_resources import communities_of, deliver_community
from mnemic.runtime.serve.mcp.fact_tools import deliver_facts, settle_conflict
from mnemic.runtime.serve.mcp.night_resources import deliver_made
from mnemic.runtime.serve.mcp.orders import ORDERS
from mnemic.runtime.serve.mcp.session_prompt import session_prompt, tell_session
from mnemic.runtime.serve.mcp.tool_schemas import (
    IDEMPOTENT_ADD,
    IDEMPOTENT_HIDE,
    READ_ONLY,
    error_text,
    read_arguments,
    takes,
    tool,
)
from mnemic.runtime.serve.open_minds import OpenMinds
from mnemic.runtime.serve.server_control import ServerControl, run_in_thread

INSTRUCTIONS = f"Long-term memory of earlier conversations (memory_shape: who, when, what next). {ORDERS}"
PAGE_BYTES = 256 << 10
HIT_BYTES = 400
"""Of a longer memory, a recall gives so much unless it is asked for more: see docs/decisions/0004-pipe.md."""
_NAME_CHARS = 64
_NIGHT_S = 20.0  # an assistant waits for it
_NOTHING_RECALLED = {"used_tokens": 0, "left_out": 0, "nothing_fits": True}
_SCOPES_PARAMETER = (str | list[str] | None, None)
_SCOPE_PARAMETER = (str | None, None)
_CAPTURE_TOOLS = ("memory_capture",)
_RECALL_TOOLS = (
    *("memory_recall", "memory_shape", "memory_get", "memory_facts", "memory_settle", "memory"),
    *("communities", "community", "night", "session_context"),
)
_UNKNOWN_SCOPE = "no memory is in this folder's project ({path}) yet"
"""The first time that the store can tell: no memory was said before it."""
_UNKNOWN_DEFAULT = (
    "no memory is in the project of mnemic serve's folder ({path}), which counts since this caller has named none"
    " (header Mnemic-Folder)"
)
_NO_FOLDER = "this caller has named no folder, and so no project"
_USERS_OWN = "{id} stands: its user said or kept it, and replaces it by `{command}`"
_EVERYTHING = "scope='*' looks through everything"

_PATTERN = Annotated[
    dict[str, str], BeforeValidator(pattern_texts, json_schema_input_type=dict[str, str | float | bool])
]

T = TypeVar("T")


class Caller(NamedTuple):
    """Who asks."""

    mind: str = "default"
    """Name of the mind."""
    folder: str | None = None
    """Where the assistant works, if it is known: what finds the project."""
    session: str = "mcp"
    """Names what it captures."""
    switched_off: str = ""
    """What is switched off where it was started: ``capture``, ``recall``, ``both``, or nothing."""
    is_default_folder: bool = False
    """Whether it named no folder, so that the one in which `mnemic serve` was started counts."""
    wired: str = ""
    """The assistant that it was wired for, as ``hooks install`` names it; its rights are kept by that name."""


CURRENT_CALLER: ContextVar[Caller] = ContextVar("CALLER", default=Caller())  # noqa: B039 - it cannot be changed
"""Whose request this is; the SDK hands it on with each message."""


def make_server(
    minds: OpenMinds,
    door: ServerControl,
    clock: Clock,
    version: str,
    setting: Callable[[str], Any],
    allowed: Callable[[str], Collection[str]],
) -> MCPServer[Any]:
    """The server, for all callers of the process.

    Args:
        setting: the value of one, as it is in force.
        allowed: the rights that an assistant of a name was given when it was wired.
    """

    def access(mind: Mind, caller: Caller) -> Access:
        given = allowed(caller.wired) if caller.wired else ()
        return Access(
            cache(lambda: "" if caller.folder is None else mind.folder_scope(caller.folder)[0]),
            {*setting("mcp.allow"), *given},
            lambda scope: is_shared(mind, scope),
            lambda scope: any(one.path == scope for one in mind.scopes().scopes),
        )

    def is_shared(mind: Mind, scope: str) -> bool:
        # A folder's name is its maker's choice: what fits a pattern by that alone is nothing the owner has shared.
        if scope == "*":  # which is no scope that a pattern could name
            return False
        return Patterns(setting("mcp.share")).matches([scope], []) and not any(
            one.path == scope and one.has_folder_name for one in mind.scopes().scopes
        )

    async def answer(
        name: str, verb: Callable[[Mind, Caller, Progress | None], T], context: Context[Any, Any] | None = None
    ) -> T:
        caller = CURRENT_CALLER.get()

        def held(progress: Progress | None) -> T:
            _check_switched_off(name, caller.switched_off)
            try:
                return asked_of_mind(progress)
            except MindMissing as error:  # what other minds are called is nothing for an assistant
                raise MindMissing(mind=caller.mind, home=error.operands["home"]) from None

        def asked_of_mind(progress: Progress | None) -> T:
            with door.track_request(name), minds.use(caller.mind, create=True) as mind:
                try:
                    return verb(mind, caller, progress)
                except UnknownScope as error:  # the name that is near may be another project's
                    rights, unknown = access(mind, caller), error.operands["scope"]
                    if rights.can_read("*"):
                        raise
                    near = suggest_scopes(
                        unknown, (one.path for one in mind.scopes().scopes if rights.can_read(one.path))
                    )
                    remedy = f"{near}`memory_status` lists the scopes that you may read"
                    raise UnknownScope(scope=unknown, near=near, remedy=remedy) from None

        async def report(done: int, total: int | None) -> None:
            assert context is not None
            await context.report_progress(done, total)

        wanted = context is not None and "progress_token" in (context.request_context.meta or {})
        return await run_in_thread(held, report if wanted else None)

    @takes(
        Recall,
        *(
            "query",
            "k",
            "scope",
            "budget_tokens",
            "hit_bytes",
            "since",
            "until",
            "at",
            "as_of",
            "session",
            "kinds",
            "files",
            "explain",
        ),
        scope=_SCOPES_PARAMETER,
        hit_bytes=(int, HIT_BYTES),
        explain=(bool, False),
    )
    async def memory_recall(
        context: Context[Any, Any], *, scope: str | list[str] | None, explain: bool, **given: Any
    ) -> dict[str, Any]:
        """Find memories by meaning and words. scope: default this project, '*' all. Times ISO 8601: since/until said,
        at: held then, as_of: known then. A text over hit_bytes is cut: memory_get gives it whole.
        """
        started = clock.monotonic_s()
        asked = read_arguments(Recall, given, clock)

        def recall(mind: Mind, caller: Caller, progress: Progress | None) -> dict[str, Any]:
            place = None
            if scope is not None:
                access(mind, caller).check_question(_paths(scope))
            elif caller.folder is not None:
                place = mind.folder_place(caller.folder)
            else:
                unknown = _unknown_scope(caller, NO_SCOPE, access(mind, caller))
                nothing = _empty_result("", unknown, 1e3 * (clock.monotonic_s() - started))
                return nothing | _NOTHING_RECALLED
            recalled = mind.recall(
                **asked,
                # Beside a place it does not count; an actor that knows of none then tells nothing of other projects.
                scope="" if scope is None else scope,
                place=place,
                assistant=_assistant_name(context),
                asking_session=caller.session,
                private=caller.switched_off == "capture",
                progress=progress,
            )
            took_ms = 1e3 * (clock.monotonic_s() - started)
            found = "named" if place is None else _how_found(caller, place)
            if place is not None and not recalled.scope_known:
                found, unknown = "unknown", _unknown_scope(caller, place, access(mind, caller))
                if not recalled.hits:  # nor is there anything about it that is kept for every project
                    return _empty_result(place.path, unknown, took_ms) | _NOTHING_RECALLED
                recalled = msgspec.structs.replace(recalled, degraded=(*recalled.degraded, unknown))
            view = recall_view(recalled, strict=True, found=found, took_ms=took_ms, explain=explain, same=MOST_SAME)
            return _with_length(model_view(view))

        return await answer("memory_recall", recall, context)

    @takes(
        Shape,
        *("pattern", "like", "analogy", "here", "k", "scope", "session", "since", "until"),
        pattern=(_PATTERN, {}),
        scope=_SCOPES_PARAMETER,
    )
    async def memory_shape(
        context: Context[Any, Any], *, pattern: dict[str, str], scope: str | list[str] | None, **given: Any
    ) -> dict[str, Any]:
        """Find memories by structure. pattern: roles to fillers, ? asks: {tool: pytest, about: login, file: ?},
        {after: edit, then: ?}. like: ids; pattern then says what differs. here: what helped before.
        """
        started = clock.monotonic_s()
        asked = read_arguments(Shape, given, clock)

        def shape(mind: Mind, caller: Caller, progress: Progress | None) -> dict[str, Any]:
            path, found, unknown = _resolve_scope(mind, caller, scope, access)
            if unknown is not None:
                # Looks through nothing, and so only refuses what cannot be asked, whatever is in memory.
                validate_shape(question(Shape, pattern=pattern, **asked))
                if pattern:
                    parse_pattern(pattern, tuple(ROLES), None)
                nothing = _empty_result(path, unknown, 1e3 * (clock.monotonic_s() - started))
                return nothing | {"answers": []}
            shaped = mind.shape(
                pattern,
                **asked,
                scope=path,
                assistant=_assistant_name(context),
                asking_session=caller.session,
                private=caller.switched_off == "capture",
                progress=progress,
            )
            took_ms = 1e3 * (clock.monotonic_s() - started)
            return model_view(shape_view(shaped, strict=True, found=found, took_ms=took_ms, memories=1))

        return await answer("memory_shape", shape, context)

    @takes(
        CaptureText,
        *("text", "role", "session", "scope", "said_at", "kind", "supersedes"),
        role=(Literal["user", "assistant", "system"], "assistant"),
        scope=(str | None, None),
        kind=(Literal["note", "decision", "turn"], "note"),
    )
    async def memory_capture(
        context: Context[Any, Any], *, text: str, session: str | None, scope: str | None, **given: Any
    ) -> dict[str, Any]:
        """Keep a text for good. supersedes: id of what it replaces."""

        def capture(mind: Mind, caller: Caller, _: Progress | None) -> dict[str, Any]:
            told, rights = read_arguments(CaptureText, given, clock), access(mind, caller)
            if "said_at" in told:
                told["utc_offset_min"] = offset_in(given["said_at"])
            replaced = rights.get(mind, [told["supersedes"]], writes=True)[0] if "supersedes" in told else None
            for path in (scope, *(() if replaced is None else (replaced.scope,))):
                rights.check_write(path, role=told["role"], said_at=told.get("said_at"), now=clock.now_us())
            newest = None if replaced is None else _newest(mind, replaced)
            elsewhere = newest is not None and not rights.can_read(newest.scope)
            if newest is not None and not elsewhere:
                rights.check_write(newest.scope, role=told["role"], said_at=told.get("said_at"), now=clock.now_us())
            stands = None if newest is None or elsewhere or rights.can_replace(newest) else newest
            if stands is not None or elsewhere:  # the new text is kept beside it
                del told["supersedes"]
            place: ScopeRef | str | None = scope
            if scope is None and replaced is not None:
                place = ScopeRef(path=replaced.scope, project=None, found="named")
            elif scope is None and caller.folder is not None:
                place = mind.folder_scope(caller.folder)[1]
            kept = mind.remember(
                text,
                session=session or caller.session,
                scope=place,
                **told,
                assistant=f"{MCP_PREFIX}{_assistant_name(context)}",
                folder=caller.folder,
            )
            untold = caller.switched_off == "recall" or not rights.can_read(kept.scope)
            alike = () if untold else kept.similar
            similar = [similar_view(one, strict=True) for one in alike]
            if alike:
                spans = map(delivered_span, alike)
                parts = [msgspec.structs.replace(one, why=f"near to what it kept: {one.why}") for one in spans]
                mind.note_delivery(_assistant_name(context), caller.session, parts)
            captured: dict[str, Any] = {"id": format_id(kept.id), "created": kept.created, "scope": kept.scope}
            if kept.superseded_by is not None:
                if rights.can_read(mind.get([kept.superseded_by])[0].scope):
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
                captured["not_replaced"] = _USERS_OWN.format(id=id, command=mind.command("correct", id, "TEXT"))
            return captured | {"similar": similar}

        return await answer("memory_capture", capture, context)

    @takes(GetMemories, "ids", "offset", "limit", offset=(int, 0), limit=(int, PAGE_BYTES))
    async def memory_get(context: Context[Any, Any], *, offset: int, limit: int, **given: Any) -> dict[str, Any]:
        """Whole records. offset, limit: a page, in bytes."""
        if offset < 0 or not 4 <= limit <= PAGE_BYTES:
            raise InvalidValue(
                name="the page",
                value=(offset, limit),
                why="it is none",
                expected=f"offset >= 0, limit 4 to {PAGE_BYTES}",
            )
        wanted = read_arguments(GetMemories, given)["ids"]

        def get(mind: Mind, caller: Caller, _: Progress | None) -> dict[str, Any]:
            told = _assistant_name(context)
            return {"memories": _deliver_pages(mind, told, caller, access(mind, caller), wanted, offset, limit)}

        return await answer("memory_get", get)

    @takes(Forget, "id", "reason", id=(str, inspect.Parameter.empty))
    async def memory_forget(context: Context[Any, Any], *, id: str, **given: Any) -> dict[str, Any]:
        """Hide what the user wants forgotten. undo brings it back."""
        wanted = [parse_id(id)]

        def forget(mind: Mind, caller: Caller, _: Progress | None) -> dict[str, Any]:
            rights = access(mind, caller)
            (memory,) = rights.get(mind, wanted, writes=True)
            rights.check_write(memory.scope, now=clock.now_us())
            if not rights.can_replace(memory):
                command = mind.command("forget", str(format_id(memory.id)))
                what = f"By MCP nothing is forgotten that its user said or kept (who may, by `{command}`)"
                raise OwnersChoice(what=what, right="write-all")
            (one,) = mind.forget(wanted, **read_arguments(Forget, given)).memories
            if not rights.can_read(one.scope):  # it may forget there, and is told nothing
                return {"retired": {"id": str(format_id(one.id))}, "undo": mind.undo_command(wanted)}
            shown = DeliveredSpan(memory=one.id, start=0, stop=len(one.data), why="it named this one to be forgotten")
            mind.note_delivery(_assistant_name(context), caller.session, [shown])
            return {"retired": to_json(one, strict=True), "undo": mind.undo_command(wanted)}

        return await answer("memory_forget", forget)

    @takes(ListFacts, "entity", "at", "history", "scope", scope=_SCOPE_PARAMETER)
    async def memory_facts(context: Context[Any, Any], *, scope: str | None, **given: Any) -> dict[str, Any]:
        """What holds, of a thing or all. at: a day. history: what held, too."""
        asked = read_arguments(ListFacts, given, clock)

        def facts(mind: Mind, caller: Caller, _: Progress | None) -> dict[str, Any]:
            where = _resolve_scope(mind, caller, scope, access)
            return deliver_facts(mind, _assistant_name(context), caller.session, asked, *where)

        return await answer("memory_facts", facts, context)

    @takes(SettleConflict, "id", "verdict", "scope", scope=_SCOPE_PARAMETER)
    async def memory_settle(context: Context[Any, Any], *, scope: str | None, **given: Any) -> dict[str, Any]:
        """Settle a conflict as the user said."""
        asked = read_arguments(SettleConflict, given)

        def settle(mind: Mind, caller: Caller, _: Progress | None) -> dict[str, Any]:
            path = _resolve_scope(mind, caller, scope, access)[0]
            rights, now = access(mind, caller), clock.now_us()
            return settle_conflict(mind, _assistant_name(context), caller.session, rights, **asked, scope=path, now=now)

        return await answer("memory_settle", settle, context)

    @takes(Sleep, "dry_run")
    async def memory_sleep(context: Context[Any, Any], **given: Any) -> dict[str, Any]:
        """Consolidate now."""

        def sleep(mind: Mind, caller: Caller, progress: Progress | None) -> dict[str, Any]:
            told = None if progress is None else lambda what, done, total: progress(done, total)
            report = mind.sleep(**read_arguments(Sleep, given), budget_s=_NIGHT_S, progress=told)
            view = to_json(report, strict=True)
            if access(mind, caller).can_read("*"):
                return view
            return {name: view[name] for name in ("run", "finished", "ended")}  # the rest counts other projects too

        return await answer("memory_sleep", sleep, context)

    async def memory_status(context: Context[Any, Any]) -> dict[str, Any]:
        """Counts, scopes, health."""
        return await answer("memory_status", lambda mind, caller, _: _status(mind, access(mind, caller)))

    async def read(name: str, verb: Callable[[Mind, Caller], Any]) -> str:
        try:
            return json.dumps(await answer(name, lambda mind, caller, _: verb(mind, caller)))
        except BadInput as error:
            raise ResourceNotFoundError(error_text(error)) from error
        except MnemicError as error:
            raise ResourceError(error_text(error)) from error

    async def status() -> str:
        return await read("status", lambda mind, caller: _status(mind, access(mind, caller)))

    async def memory(context: Context[Any, Any], id: str) -> str:
        def get(mind: Mind, caller: Caller) -> dict[str, Any]:
            told = _assistant_name(context)
            return _deliver_pages(mind, told, caller, access(mind, caller), [parse_id(id)], 0, PAGE_BYTES)[0]

        return await read("memory", get)

    async def communities() -> str:
        def show(mind: Mind, caller: Caller) -> dict[str, Any]:
            return communities_of(mind, *_resolve_scope(mind, caller, None, access))

        return await read("communities", show)

    async def community(context: Context[Any, Any], id: str) -> str:
        def show(mind: Mind, caller: Caller) -> dict[str, Any]:
            return deliver_community(mind, _assistant_name(context), caller.session, access(mind, caller), id)

        return await read("community", show)

    async def night(context: Context[Any, Any], made: str) -> str:
        def show(mind: Mind, caller: Caller) -> dict[str, Any]:
            told = _assistant_name(context)
            return deliver_made(made, mind, told, caller.session, *_resolve_scope(mind, caller, None, access))

        return await read("night", show)

    async def tell(context: Context[Any, Any], scope: str | None) -> str:
        def session(mind: Mind, caller: Caller, _: Progress | None) -> str:
            unkept, unknown = caller.switched_off == "capture", _resolve_scope(mind, caller, scope, access)[2]
            place = None if caller.folder is None else mind.folder_place(caller.folder)
            if scope is not None:
                place = resolve_scope(scope, None)
            return tell_session(mind, _assistant_name(context), caller.session, place, unkept, unknown or "")

        return await answer("session_context", session)

    if not logging.getLogger().handlers:  # else the SDK would put one there that writes to standard error
        logging.getLogger().addHandler(logging.NullHandler())
    server: MCPServer[Any] = MCPServer(
        "mnemic",
        instructions=INSTRUCTIONS,
        version=version,
        log_level="WARNING",
        subscriptions=False,  # nothing here changes while somebody listens, and a process that leaves waits for none
        tools=[
            tool(memory_recall, READ_ONLY, "hits"),
            tool(memory_shape, READ_ONLY, "hits", "answers"),
            tool(memory_capture, IDEMPOTENT_ADD, "id", "created", "scope", "similar"),
            tool(memory_get, READ_ONLY),
            tool(memory_forget, IDEMPOTENT_HIDE),
            tool(memory_facts, READ_ONLY),
            tool(memory_settle, IDEMPOTENT_ADD),
            tool(memory_sleep, IDEMPOTENT_ADD),
            tool(memory_status, READ_ONLY),
        ],
    )
    for name, read_one in (("status", status), ("communities", communities)):
        uri = f"mnemic://{name}"  # made here, since the decorator would list an empty description
        server.add_resource(FunctionResource(uri=uri, name=name, mime_type="application/json", fn=read_one))
    server.resource("mnemic://memory/{id}", mime_type="application/json")(memory)
    server.resource("mnemic://community/{id}", mime_type="application/json")(community)
    server.resource("mnemic://night/{made}", mime_type="application/json")(night)
    server.add_prompt(session_prompt(tell))
    return server


def _resolve_scope(
    mind: Mind, caller: Caller, named: str | list[str] | None, access: Callable[[Mind, Caller], Access]
) -> tuple[Scopes, str, str | None]:
    """The scope to look through, how it was found, and, where nothing is known of it, what to say.

    Args:
        access: what the caller may read, which takes a question to find out.

    Raises:
        OwnersChoice: it is not for this caller.
    """
    if named is not None:
        access(mind, caller).check_question(_paths(named))
        return named if isinstance(named, str) else tuple(named), "named", None
    path, place = (None, NO_SCOPE) if caller.folder is None else mind.folder_scope(caller.folder)
    if path is not None:
        return path, _how_found(caller, place), None
    return place.path, "unknown", _unknown_scope(caller, place, access(mind, caller))


def _paths(named: str | list[str]) -> list[str]:
    return [named] if isinstance(named, str) else named


def _how_found(caller: Caller, place: ScopeRef) -> str:
    """How the scope of a caller's project was found."""
    return f"{place.found} (folder of mnemic serve)" if caller.is_default_folder else place.found


def _unknown_scope(caller: Caller, place: ScopeRef, access: Access) -> str:
    """What to say where nothing is known of a caller's project."""
    unknown = _UNKNOWN_DEFAULT if caller.is_default_folder else _UNKNOWN_SCOPE
    why = _NO_FOLDER if caller.folder is None else unknown.format(path=place.path or "none")
    return f"{why}; {_EVERYTHING}" if access.can_read("*") else why


def _newest(mind: Mind, memory: Memory) -> Memory:
    """What would be replaced in the place of a memory that is replaced already: the last of its corrections."""
    while memory.superseded_by is not None:
        (memory,) = mind.get([memory.superseded_by])
    return memory


def _status(mind: Mind, access: Access) -> dict[str, Any]:
    """The state of a mind; of the projects, those that the caller may read, no count or rule of others."""
    view = mind.status_view()
    if access.can_read("*"):
        return view
    counts, capture = view["counts"], view["capture"]
    scopes = [one for one in counts["scopes"] if access.can_read(one["path"])]
    memories = sum(one["memories"] for one in scopes)
    view["counts"] = {"memories": memories, "scopes": scopes, "scan": counts["scan"], "lost": counts["lost"]}
    view["use"] = {"projects": [one for one in view["use"]["projects"] if access.can_read(one["path"])]}
    del capture["left_out"], capture["scrubbed"]
    return view


def _empty_result(path: Scopes, why: str, took_ms: float) -> dict[str, Any]:
    """What every answer has where nothing is looked through."""
    return {
        "hits": [],
        "scope": path,
        "scope_found": "unknown",
        "searched": 0,
        "degraded": [why],
        "took_ms": round(took_ms, 1),
    }


def _with_length(view: dict[str, Any]) -> dict[str, Any]:
    """An answer that says how long it is itself, in tokens."""
    for _ in range(2):  # the number is a part of what it counts
        view = view | {"used_tokens": token_count(msgspec.json.encode(view))}
    return view


def _check_switched_off(name: str, off: str) -> None:
    """Refuse what the user of a session has switched off.

    Raises:
        SwitchedOff: that is it.
    """
    if name in _CAPTURE_TOOLS and off in ("capture", "both"):
        raise SwitchedOff(what="nothing of it is captured")
    if name in _RECALL_TOOLS and off in ("recall", "both"):
        raise SwitchedOff(what="nothing is told to it")


def _assistant_name(context: Context[Any, Any]) -> str:
    """What the assistant calls itself."""
    told = context.session.client_params
    name = told.client_info.name if told is not None else ""
    return "".join(letter for letter in name if letter.isprintable())[:_NAME_CHARS] or "mcp"


def _deliver_pages(
    mind: Mind, assistant: str, caller: Caller, access: Access, ids: list[bytes], offset: int, limit: int
) -> list[dict[str, Any]]:
    """A page of each memory's text, and that it was given is kept; together they are no longer than one page.

    Raises:
        NoSuchMemory: one of them is not there, or not for this caller.
    """
    pages, parts = [], []
    memories = access.get(mind, ids)
    hidden = _hidden_ids(mind, access, memories)
    for memory in memories:
        page = _page(_without_links(memory, hidden), offset, limit)
        if memory.superseded_by in hidden:
            page["superseded_elsewhere"] = True
        pages.append(page)
        end = len(memory.data) if page["next_offset"] is None else page["next_offset"]
        if end > page["offset"]:
            parts.append(
                DeliveredSpan(memory=memory.id, start=page["offset"], stop=end, why="it asked for this one by its id")
            )
        limit -= end - page["offset"]
    if parts:
        mind.note_delivery(assistant, caller.session, parts, named=True)
    return pages


def _hidden_ids(mind: Mind, access: Access, memories: Sequence[Memory]) -> frozenset[bytes]:
    """Ids of what replaces memories, or is replaced by them, that the caller may not be told of."""
    linked = {id for memory in memories for id in (memory.superseded_by, *memory.supersedes) if id is not None}
    if not linked or access.can_read("*"):
        return frozenset()
    return frozenset(one.id for one in mind.get(sorted(linked)) if not access.can_read(one.scope))


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
    view["offset"] = start
    view["next_offset"] = end if end < len(memory.data) else None
    return view
