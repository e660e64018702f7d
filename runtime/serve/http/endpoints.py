"""What the HTTP API answers: one table of paths. Routes, access over TCP and the published document follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from mnemic.actors.kernel.message import answer_type
from mnemic.actors.kernel.scope_paths import MCP_RIGHTS
from mnemic.runtime.client.wire import ASK_MESSAGES, TELL_MESSAGES
from mnemic.runtime.engine.reports import ActorSystemReport
from mnemic.runtime.minds.run_dir import PROTOCOL, ServerInfo
from mnemic.runtime.serve.http.schemas import documentation

JSON = "application/json"
NDJSON = "application/x-ndjson"

Access = Literal["socket", "anyone", "token", "read-all", "write-all"]
"""Who is answered over TCP: nobody, so that only the home's own socket answers; anyone; who shows the token; or who
shows it where the owner has allowed a right, one of `mnemic.actors.kernel.scope_paths.MCP_RIGHTS`."""


class Endpoint(msgspec.Struct, frozen=True):
    """One path and the method that it takes."""

    path: str
    """The path."""
    does: str
    """What it does: a sentence, and what else there is to say on lines of its own."""
    room: str
    """What it has to do with."""
    access: Access = "socket"
    """Who is answered over TCP."""
    method: str = "POST"
    """``GET`` or ``POST``."""
    takes: Any = None
    """The body: a struct, or a JSON Schema; absent where there is none."""
    gives: Any = None
    """The answer: a struct, or a JSON Schema."""
    media: str = JSON
    """Content type of the answer."""
    of_mind: bool = False
    """Whether it is about one mind, which a header names."""


class RequestHeaders(msgspec.Struct, frozen=True):
    """What the headers of a request say, in the order of `HEADERS`."""

    mind: str
    """The mind."""
    create: bool
    """`1` makes the mind where there is none."""
    trace: str | None
    """A name for the request: one that is sent again under the same name writes nothing twice."""
    timeout_s: float | None
    """How long to wait for the answer, seconds; else what the setting runtime.ask_timeout_s says."""
    idle: bool
    """`1`: nobody's wish, so that it keeps the process from neither leaving nor sleeping."""


class ProcessState(ServerInfo, frozen=True, kw_only=True):
    """What the process says of itself; over TCP only `protocol`, `version` and `state`."""

    pid: int = 0
    """Its number."""
    folder: str = ""
    """Where its sockets are."""
    since: str = ""
    """`since_us` as ISO 8601."""
    degraded: tuple[str, ...] = ()
    """What does not work as it should, one sentence each."""
    unlocked: tuple[str, ...] = ()
    """The minds whose passphrase somebody has said."""


HEADERS = ("Mnemic-Mind", "Mnemic-Create", "Mnemic-Trace", "Mnemic-Timeout", "Mnemic-Idle")
"""What the fields of `RequestHeaders` are called."""
PROTOCOL_HEADER = "Mnemic-Protocol"
"""Says what the caller speaks; it holds for every path."""

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_RPC = {"type": "object", "description": "A message of JSON-RPC 2.0, as MCP defines it."}

PAGES = (
    Endpoint("/", "Lead to `/docs`.", "reading", "anyone", method="GET", media="text/html"),
    Endpoint("/docs", "This page: what can be asked.", "reading", "anyone", method="GET", media="text/html"),
    Endpoint(
        "/openapi.json",
        "The same for programs: an OpenAPI 3.1 document.",
        "reading",
        "anyone",
        method="GET",
        gives={"type": "object"},
    ),
)
_PROCESS = (
    Endpoint(
        "/healthz",
        "What the process says of itself; 503 once it is leaving.",
        "process",
        "anyone",
        method="GET",
        gives=ProcessState,
    ),
    Endpoint(
        "/metrics", "Counters and latencies, for Prometheus.", "process", "token", method="GET", media="text/plain"
    ),
    Endpoint(
        "/api/report",
        "How the actors of a mind are.",
        "process",
        "token",
        method="GET",
        gives=ActorSystemReport,
        of_mind=True,
    ),
    Endpoint("/api/replay", "Send dead letters again.", "process", gives=_object(replayed=_NUMBER), of_mind=True),
    Endpoint(
        "/api/release",
        "Make quarantined actors anew.",
        "process",
        gives=_object(released={"type": "array", "items": _TEXT}),
        of_mind=True,
    ),
    Endpoint(
        "/api/drain",
        "Finish, and leave.",
        "process",
        takes={
            "type": "object",
            "properties": {
                "reason": _TEXT | {"description": "Why; one that is not known is not passed on."},
                "protocol": _NUMBER | {"description": "What the caller speaks.", "default": PROTOCOL},
            },
        },
        gives=ProcessState,
    ),
    Endpoint(
        "/api/unlock",
        "Hold a locked mind's secrets in memory.",
        "process",
        takes={"type": "object", "description": "The secrets, as a client makes them of a passphrase."},
        gives=ProcessState,
        of_mind=True,
    ),
    Endpoint(
        "/api/lock",
        "Forget the secrets of a mind that is unlocked.",
        "process",
        gives=_object(unlocked={"type": "boolean", "description": "Whether it was unlocked."}),
        of_mind=True,
    ),
    Endpoint(
        "/api/let-go",
        "Keep a mind closed for as long as the connection stays open; a line says so once it is.",
        "process",
        gives={"type": "object", "description": "A line: `free`, or `error`."},
        media=NDJSON,
        of_mind=True,
    ),
    Endpoint(
        "/api/hook",
        "Say what an assistant's hook is to print; see docs/http.md.",
        "assistants",
        takes={"description": "What the host gave its hook, byte for byte."},
        gives={"description": "The bytes for the hook's standard output; there may be none."},
        of_mind=True,
    ),
    Endpoint(
        "/mcp",
        "MCP by streamable HTTP, without sessions; see docs/mcp.md.",
        "assistants",
        "token",
        takes=_RPC,
        gives=_RPC,
    ),
)
FIXED = (*PAGES, *_PROCESS)
"""All but the messages."""

_READ = (
    *("recall", "shape", "list-roles", "list-communities", "show-community", "list-facts", "list-conflicts"),
    *("list-entities", "show-entity", "list-digests", "list-nights", "list-procedures", "show-night", "show-profile"),
    "list-derived",
    *("get-memories", "find-scope", "find-similar", "count"),
)
_WRITE = ("capture-text", "forget", "recover", "settle-conflict")
_MESSAGE_ACCESS: Mapping[str, Access] = {
    "describe-encoder": "token",
    **dict.fromkeys(_READ, "read-all"),
    **dict.fromkeys(_WRITE, "write-all"),
}
"""A message names no project that is its caller's own, so that it reaches all of them; who has no such right has
``/mcp``, which does. ``capture-transcript`` is not among them: it reads any file of the home's user."""


def _room(kind: type) -> str:
    """The folder of its module: ``recall``, ``scopes``, ``log``."""
    return kind.__module__.removeprefix("mnemic.actors.").partition(".")[0]


ENDPOINTS: tuple[Endpoint, ...] = (
    *(
        Endpoint(
            f"/api/{name}",
            documentation(kind),
            _room(kind),
            _MESSAGE_ACCESS.get(name, "socket"),
            takes=kind,
            gives=answer_type(kind),
            of_mind=True,
        )
        for name, kind in ASK_MESSAGES.items()
    ),
    *(
        Endpoint(
            f"/api/tell/{name}", documentation(kind), _room(kind), takes=kind, gives={"type": "null"}, of_mind=True
        )
        for name, kind in TELL_MESSAGES.items()
    ),
    *FIXED,
)
"""All that is answered."""
ALLOWED_PATHS: Mapping[str, str | None] = {
    one.path: one.access if one.access in MCP_RIGHTS else None for one in ENDPOINTS if one.access != "socket"
}
"""All that is answered over TCP, with the right that it needs."""
OPEN_PATHS = frozenset(one.path for one in ENDPOINTS if one.access == "anyone")
"""What is answered there without a token: it tells nothing of any memory."""
