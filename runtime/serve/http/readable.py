"""Answers that a person can read: JSON indented, and errors as text in a browser.

Whoever asks for it (``?pretty``) is given it, and so are those who say nothing of JSON: browsers, and whoever sends
``*/*``, as ``curl`` does and many a program's library. Only ``?pretty`` and browsers leave out what is null. What a
host prints for its hook, and MCP, stay as they are.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.runtime.serve.http.endpoints import JSON

_AS_IT_IS = ("/mcp", "/api/hook")
_NO = ("0", "no", "false")
_HTML = "text/html"


class ReadableAnswers:
    """An application whose JSON is laid out for whoever asks."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or not is_for_a_person(scope):
            await self._app(scope, receive, send)
            return
        accept = Headers(scope=scope).get("accept", "")
        start: Message = {}
        body = bytearray()

        async def lay_out(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_json(message):
                start.update(message)
            elif not start or message["type"] != "http.response.body":
                await send(message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    dense = _HTML in accept or _asked_for(scope) is not None
                    said, kind = _laid_out(bytes(body), start["status"], accept, dense)
                    headers = MutableHeaders(raw=list(start["headers"]))
                    headers["content-type"], headers["content-length"] = kind, str(len(said))
                    await send({**start, "headers": headers.raw})
                    await send({**message, "body": said})

        await self._app(scope, receive, lay_out)


def _is_json(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type") == JSON


def is_for_a_person(scope: Scope) -> bool:
    """Whether an answer is to be laid out for a person."""
    if scope["path"] in _AS_IT_IS and scope["method"] == "POST":
        return False
    asked = _asked_for(scope)
    if asked is not None:
        return asked.lower() not in _NO
    accept = Headers(scope=scope).get("accept", "")
    return accept.strip() == "*/*" or _HTML in accept


def _asked_for(scope: Scope) -> str | None:
    """What the address says of ``pretty``."""
    asked = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get("pretty")
    return None if asked is None else asked[-1]


def indented(body: bytes) -> bytes:
    """JSON with two spaces a level, and a newline at its end."""
    try:
        laid_out = msgspec.json.format(body, indent=2)
    except msgspec.DecodeError:  # half a surrogate pair, which only the standard library reads
        laid_out = json.dumps(json.loads(body), indent=2).encode()
    return laid_out + b"\n"


def _laid_out(body: bytes, status: int, accept: str, dense: bool) -> tuple[bytes, str]:
    """An answer for a person, and its content type.

    Args:
        dense: whether fields that are null are left out.
    """
    if not dense:
        return indented(body), JSON
    value = json.loads(body)
    if status >= 400 and _HTML in accept and "error" in value:
        return f"{status}\n\n{value['error']}\n\n{value['remedy']}\n".encode(), "text/plain; charset=utf-8"
    return indented(json.dumps(_without_nulls(value), separators=(",", ":")).encode()), JSON


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
