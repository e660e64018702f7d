"""The OpenAPI document of the HTTP API, made from the table of endpoints, the messages and the errors.

`mnemic.runtime.serve.http.page` makes a page of it for people.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from mnemic.actors.kernel import errors
from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.kernel.message import answer_type
from mnemic.runtime.client.wire import ASK_MESSAGES, TELL_MESSAGES
from mnemic.runtime.serve.http.endpoints import (
    ENDPOINTS,
    HEADERS,
    JSON,
    NDJSON,
    PAGES,
    PROTOCOL_HEADER,
    Endpoint,
    RequestHeaders,
)
from mnemic.runtime.serve.http.schemas import Schema, Schemas, field_docs
from mnemic.runtime.version import __version__

_TOKEN = "token"
_ABOUT = """A long-term memory for AI assistants, on your own machine.

A message's fields go in as a JSON object, its answer comes out. `curl` and browsers are given JSON indented and \
without the fields that are null; programs that send `Accept: application/json`, or no `Accept`, all on one line; \
`?pretty` and `?pretty=no` ask for either. Ids are UUIDs, times ISO 8601. Every error is an `Error`: what happened, \
why, and what to do."""
_OVER_TCP = """

Over TCP a caller shows the home's token, and is answered what is listed here; the rest is for the home's own socket."""
_STATUS = {
    400: "It cannot be; nothing was changed.",
    401: "No token was shown, or a wrong one.",
    403: "Its owner has not allowed it; or a page of another origin asks.",
    404: "There is no such message, path or mind.",
    405: "The path takes another method: `Allow` names it.",
    409: "A process in the foreground does not leave.",
    413: "The body is too long.",
    415: "The body is not declared as JSON.",
    421: "The name of the host is none of this machine.",
    423: "A passphrase locks the mind, and nobody has unlocked it.",
    426: "Caller and process speak another protocol.",
    500: "The store, the model, or a part of Mnemic failed.",
    503: "The same may do later: `Retry-After` says when.",
}
"""What the statuses of errors mean."""
_ONLY_TCP = (401, 403, 415, 421)
_ERROR: Schema = {
    "type": "object",
    "description": "What happened, why, and what to do; the same in every face.",
    "properties": {
        "code": {"type": "string", "description": "What programs tell it by."},
        "error": {"type": "string", "description": "One sentence."},
        "remedy": {"type": "string", "description": "What to do."},
        "kind": {"type": "string", "description": "Its family."},
        "operands": {"type": "object", "description": "What the sentence names."},
    },
    "required": ["code", "error", "remedy", "kind", "operands"],
}


@cache
def document(over_tcp: bool) -> dict[str, Any]:
    """The document of what is answered on the home's own socket, or over TCP; it is not to be changed."""
    asked = {*ASK_MESSAGES.values(), *TELL_MESSAGES.values()}
    schemas = Schemas(named=asked | {answer_type(kind) for kind in ASK_MESSAGES.values()}, closed=asked)
    paths: dict[str, Any] = {}
    rooms: dict[str, None] = {}
    for endpoint in ENDPOINTS:
        if not (over_tcp and endpoint.access == "socket"):
            paths[endpoint.path] = {endpoint.method.lower(): _operation(endpoint, schemas, over_tcp)}
            rooms[endpoint.room] = None
    schemas.components["Error"] = _ERROR
    components: dict[str, Any] = {
        "schemas": dict(sorted(schemas.components.items())),
        "parameters": _parameters(),
        "responses": {f"Error{status}": _error(status) for status in _STATUS if over_tcp or status not in _ONLY_TCP},
    }
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Mnemic",
            "version": __version__,
            "description": _ABOUT + (_OVER_TCP if over_tcp else ""),
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": room} for room in rooms],
        "paths": paths,
        "components": components,
    }
    if over_tcp:
        scheme = {"type": "http", "scheme": "bearer", "description": "What stands in the home's file `http-token`."}
        components["securitySchemes"] = {_TOKEN: scheme}
        made["security"] = [{_TOKEN: []}]
    return made


def _operation(endpoint: Endpoint, schemas: Schemas, over_tcp: bool) -> dict[str, Any]:
    summary, _, more = endpoint.does.partition("\n")
    first, stop, rest = summary.partition(". ")
    if stop:
        summary, more = f"{first}.", f"{rest}\n{more}".strip()
    if endpoint.access in ("read-all", "write-all"):
        needs = f"Over TCP it reaches every project, and needs `{endpoint.access}` in `mcp.allow`."
        more = f"{more}\n{needs}".strip()
    operation: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "-", endpoint.path.removeprefix("/api/")).strip("-") or "root",
        "tags": [endpoint.room],
        "summary": summary,
    }
    if more:
        operation["description"] = more
    if endpoint.of_mind:
        operation["parameters"] = [{"$ref": f"#/components/parameters/{name}"} for name in (*HEADERS, PROTOCOL_HEADER)]
    if endpoint.takes is not None:
        schema = _schema(endpoint.takes, schemas)
        needed = isinstance(endpoint.takes, type) and any(
            one.required for one in msgspec.structs.fields(endpoint.takes)
        )
        operation["requestBody"] = {"required": needed, "content": {JSON: {"schema": schema}}}
    operation["responses"] = _responses(endpoint, schemas, over_tcp)
    if over_tcp and endpoint.access == "anyone":
        operation["security"] = []
    return operation


def _responses(endpoint: Endpoint, schemas: Schemas, over_tcp: bool) -> dict[str, Any]:
    if endpoint.path == "/":
        return {"307": {"description": "It is at `/docs`.", "headers": {"Location": {"schema": {"type": "string"}}}}}
    given = {"type": "string"} if endpoint.gives is None else _schema(endpoint.gives, schemas)
    content = {endpoint.media: {"schema": given}}
    if isinstance(endpoint.takes, type) and isinstance(endpoint.gives, type):
        content[NDJSON] = {
            "schema": {
                "description": "Where `Accept` asks for it, a line each: how far it is, then the answer or the error.",
                "type": "object",
                "properties": {
                    "progress": {"type": "array", "items": {"type": ["integer", "null"]}},
                    "answer": given,
                    "error": {"$ref": "#/components/schemas/Error"},
                },
            }
        }
    answers: dict[str, Any] = {"200": {"description": "The answer.", "content": content}}
    if endpoint.path == "/mcp":  # the SDK's own
        answers["4XX"] = {"description": "An error of JSON-RPC.", "content": content}
    for status in _statuses(endpoint, over_tcp):
        answers[str(status)] = {"$ref": f"#/components/responses/Error{status}"}
    return answers


def _schema(given: Any, schemas: Schemas) -> Schema:
    return schemas.of(given) if isinstance(given, type) else dict(given)


def _parameters() -> dict[str, Any]:
    said = field_docs(RequestHeaders)
    flag = {"type": "string", "enum": ["0", "1"]}
    schemas: dict[str, Schema] = {
        "mind": {"type": "string", "default": "default"},
        "create": flag,
        "timeout_s": {"type": "number", "exclusiveMinimum": 0},
        "idle": flag,
    }
    named = zip(HEADERS, RequestHeaders.__struct_fields__, strict=True)
    told = [(header, said[name], schemas.get(name, {"type": "string"})) for header, name in named]
    told.append((PROTOCOL_HEADER, "What the caller speaks; without it, anything goes.", {"type": "integer"}))
    return {
        header: {"name": header, "in": "header", "description": words, "schema": schema}
        for header, words, schema in told
    }


def _statuses(endpoint: Endpoint, over_tcp: bool) -> list[int]:
    """The statuses of errors that a path may answer with, in order."""
    found = {403, 421} if over_tcp else set[int]()
    if over_tcp and endpoint.access != "anyone":
        found.add(401)
    if over_tcp and endpoint.method == "POST":
        found.add(415)
    if endpoint not in PAGES:
        found |= {500, 503}
    if endpoint.takes is not None:
        found.add(413)
    if endpoint.of_mind:
        found |= {400, 404, 423, 426}
    if endpoint.path == "/api/drain":
        found |= {400, 409}
    return sorted(found)


def _error(status: int) -> dict[str, Any]:
    kinds: list[type[MnemicError]] = [getattr(errors, name) for name in errors.__all__]
    codes = sorted({kind.code for kind in kinds if kind.http_status == status})
    named = f" Codes: {', '.join(f'`{code}`' for code in codes)}." if codes else ""
    return {
        "description": f"{_STATUS[status]}{named}",
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
