"""HTTP response that keeps a mind closed in the server for as long as the caller's connection stays open.

Beside `mnemic.runtime.serve.http.routes`; the caller is `mnemic.runtime.api.verbs`. The connection is the right: once
it is closed, however the caller ended, the process opens the mind again for whoever wants it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import anyio
import anyio.to_thread
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mnemic.actors.protocol.errors import MnemicError
from mnemic.runtime.client.wire import encode_error

__all__ = ["ReleaseMindResponse"]


class ReleaseMindResponse(Response):
    """Says that the mind is free once it is, and ends when its caller is gone."""

    media_type = "application/x-ndjson"

    def __init__(self, held: Callable[[], AbstractContextManager[None]]) -> None:
        """Let go of nothing yet.

        Args:
            held: holds the mind closed; entered and left in one thread.
        """
        super().__init__()
        del self.headers["content-length"]
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request."""
        free, gone = anyio.Event(), threading.Event()
        refused: list[MnemicError] = []

        def hold() -> None:
            try:
                with self._held():
                    anyio.from_thread.run_sync(free.set)
                    gone.wait()
            except MnemicError as error:
                refused.append(error)
                anyio.from_thread.run_sync(free.set)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, hold)
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await free.wait()
                said = {"error": encode_error(refused[0])} if refused else {"free": True}
                line = json.dumps(said).encode() + b"\n"
                await send({"type": "http.response.body", "body": line, "more_body": not refused})
                while not refused and (await receive())["type"] != "http.disconnect":
                    pass  # the rest of the request's body
            finally:
                gone.set()
