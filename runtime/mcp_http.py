"""MCP over HTTP: the SDK's streamable transport, stateless, one request at a time.

A call that asks for progress is answered as a stream of events, any other one as JSON: the SDK's own client refuses an
event of more than 1 MiB, and JSON is quicker besides.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import unquote

from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from mnemic.runtime.http_face import BODY_BYTES, read_body
from mnemic.runtime.mcp_face import CALLER, Caller
from mnemic.runtime.mcp_lines import mend

__all__ = ["McpHttp"]


class McpHttp:
    """Serves MCP as an ASGI application.

    The caller's headers: ``Mnemic-Folder`` (percent-encoded) is where it works, ``Mnemic-Mind`` the mind,
    ``Mcp-Session-Id`` the conversation.
    """

    def __init__(self, server: MCPServer[Any]) -> None:
        # Host and Origin are checked for all paths alike by `mnemic.runtime.tcp_face`; a Unix socket needs no check.
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
        """Serve one request."""
        if scope["method"] != "POST":  # nothing is ever said unasked, and there is no session to end
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        body = mend(await read_body(Request(scope, receive)))
        heard = False

        async def hear() -> Message:
            nonlocal heard
            if heard:
                return await receive()
            heard = True
            return {"type": "http.request", "body": body, "more_body": False}

        token = CALLER.set(_caller(Headers(scope=scope)))
        try:
            manager = self._events if b'"progressToken"' in body else self._json
            # What a lone surrogate was mended into may be longer: the length that was declared says nothing any more.
            headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
            await manager.asgi_app({**scope, "headers": headers}, hear, send)
        finally:
            CALLER.reset(token)


def _caller(headers: Headers) -> Caller:
    folder = headers.get("mnemic-folder")
    return Caller(
        mind=headers.get("mnemic-mind", Caller().mind),
        folder=None if folder is None else unquote(folder, errors="surrogateescape"),
        session=headers.get("mcp-session-id", Caller().session),
    )
