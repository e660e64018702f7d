"""MCP over HTTP: the SDK's stateless streamable transport, mounted as an ASGI app at /mcp.

A call that asks for progress is answered as a stream of events, any other one as JSON: the SDK's own client refuses an
event of more than 1 MiB, and JSON is quicker besides.

The SDK's JSON reader refuses a line that holds half a surrogate pair, and nobody is answered. Real transcripts hold
such halves, so each one is written out (as the six characters ``\ud83d``, the way the answers write it) before the
SDK sees the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import unquote

from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from mnemic.actors.kernel.events import escape_surrogates
from mnemic.runtime.serve.http.responses import BODY_BYTES, read_body
from mnemic.runtime.serve.mcp.calls import CURRENT_CALLER, Caller

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def escape_line_surrogates(line: bytes) -> bytes:
    """A line of JSON without lone surrogates; one that has none, or is no JSON, as it is."""
    if not _SURROGATE.search(line):
        return line
    try:
        return json.dumps(_escape_value(json.loads(line))).encode() + b"\n"
    except (ValueError, RecursionError):  # the SDK's to refuse
        return line


def _escape_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {escape_surrogates(name): _escape_value(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_escape_value(item) for item in value]
    return escape_surrogates(value)


class McpHttp:
    """Serves MCP as an ASGI application.

    The caller's headers: ``Mnemic-Folder`` (percent-encoded) is where it works, ``Mnemic-Mind`` the mind,
    ``Mcp-Session-Id`` the conversation.
    """

    def __init__(self, server: MCPServer[Any], folder: str = "") -> None:
        """Serve nothing yet.

        Args:
            folder: percent-encoded, the one that counts for a caller who names none: a command that is given where
                `mnemic serve` was looks there, too. Empty is none.
        """
        self._folder = folder
        # Host and Origin are checked for all paths alike by `mnemic.runtime.serve.http.tcp`; a Unix socket needs no
        # check.
        self._json, self._events = (
            StreamableHTTPSessionManager(
                server._lowlevel_server, json_response=json, stateless=True, max_request_body_size=BODY_BYTES
            )
            for json in (True, False)
        )

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Held while requests are served; once only."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._json.run())
            await stack.enter_async_context(self._events.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, a POST: nothing is ever said unasked, and there is no session to end."""
        body = escape_line_surrogates(await read_body(Request(scope, receive)))
        heard = False

        async def hear() -> Message:
            nonlocal heard
            if heard:
                return await receive()
            heard = True
            return {"type": "http.request", "body": body, "more_body": False}

        token = CURRENT_CALLER.set(_caller(Headers(scope=scope), self._folder))
        try:
            manager = self._events if b'"progressToken"' in body else self._json
            # What a lone surrogate was mended into may be longer: the length that was declared says nothing any more.
            headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
            await manager.asgi_app({**scope, "headers": headers}, hear, send)
        finally:
            CURRENT_CALLER.reset(token)


def _caller(headers: Headers, default: str) -> Caller:
    named = headers.get("mnemic-folder")
    folder = default or None if named is None else named
    return Caller(
        mind=headers.get("mnemic-mind", Caller().mind),
        folder=None if folder is None else unquote(folder, errors="surrogateescape"),
        session=headers.get("mcp-session-id", Caller().session),
        is_default_folder=named is None and folder is not None,
    )
