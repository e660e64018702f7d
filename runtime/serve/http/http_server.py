"""Runs the server's HTTP (Unix socket, TCP) and MCP listeners on one asyncio event loop.

The sockets come bound and listening, so that whoever starts the process decides who may open them, and whoever comes
early waits. Signals are the process's own affair.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Iterator
from typing import Any

import anyio.to_thread
import uvicorn
from starlette.types import ASGIApp

from mnemic.runtime.engine.engine import redacted_line
from mnemic.runtime.serve.http.tcp import TcpGuard, TcpListener
from mnemic.runtime.serve.mcp.stream import McpSocketServer
from mnemic.runtime.serve.server_control import MAX_CONCURRENT_VERBS

_log = logging.getLogger("mnemic.faces")

_BACKLOG = 512
_KEEP_ALIVE_S = 60
_REDACTED_LOGGERS = ("mcp", "uvicorn", "asyncio")
_TICK_S = 0.02


class FaceServer:
    """Serves until it is stopped; in the main thread or in any other one."""

    def __init__(
        self,
        app: ASGIApp,
        stream: McpSocketServer,
        http: socket.socket,
        mcp: socket.socket,
        tcp: TcpListener | None = None,
    ) -> None:
        """Serve nothing yet; `run` does.

        Args:
            app: see `mnemic.runtime.serve.http.routes.make_app`.
            http, mcp, tcp: bound; they are closed in the end, and their paths stay.
        """
        self._stream = stream
        self._mcp = mcp
        self._servers = [(_server(app, lifespan="on"), http)]
        if tcp is not None:
            guarded = TcpGuard(app, tcp.hosts, tcp.token_file)
            tls: dict[str, Any] = {}
            if tcp.certificate is not None:
                tls = {"ssl_certfile": tcp.certificate, "ssl_keyfile": tcp.key}
            self._servers.append((_server(guarded, lifespan="off", **tls), tcp.listening))
        self._state = threading.Lock()  # over the two below
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timeout_s: float | None = None  # to stop within; None while it serves
        self._wake = asyncio.Event()
        self.ready = threading.Event()
        """Set once it answers."""

    def run(self) -> None:
        """Serve; returns when `stop` has been called and everything is answered, or its time is over."""
        asyncio.run(self._run())

    def stop(self, timeout_s: float) -> None:
        """Have `run` come to its end: no new requests, and what is begun is answered within the time. Does not wait."""
        with self._state:
            self._timeout_s = timeout_s
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._wake.set)

    async def _run(self) -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = MAX_CONCURRENT_VERBS
        with self._state:
            self._loop = asyncio.get_running_loop()
            if self._timeout_s is not None:
                self._wake.set()
        with _redacted_library_logs():
            await self._stream.start(self._mcp)
            async with asyncio.TaskGroup() as group:
                for server, listening in self._servers:
                    group.create_task(server.serve(sockets=[listening]))
                    while not server.started:  # one after the other: the first one's lifespan is for all
                        await asyncio.sleep(_TICK_S)
                self.ready.set()
                await self._wake.wait()
                timeout_s = self._timeout_s or 0.0
                group.create_task(self._stream.stop(timeout_s))
                for server, _ in reversed(self._servers):
                    server.config.timeout_graceful_shutdown = max(1, int(timeout_s))
                    server.should_exit = True


class _Server(uvicorn.Server):
    """A server that leaves signals alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _server(app: ASGIApp, **options: Any) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            loop="none",
            http="h11",
            ws="none",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_S,
            **options,
        )
    )


class _RedactingHandler(logging.Handler):
    """Says where a library had something to say, and not what: its words may quote a memory."""

    def emit(self, record: logging.LogRecord) -> None:
        _log.log(record.levelno, "%s", redacted_line(record))


@contextlib.contextmanager
def _redacted_library_logs() -> Iterator[None]:
    """Have the libraries' logs pass through `_RedactingHandler` alone."""
    handler, before = _RedactingHandler(logging.WARNING), {}
    for name in _REDACTED_LOGGERS:
        logger = logging.getLogger(name)
        before[name] = (logger.propagate, logger.level)
        logger.propagate = False
        logger.setLevel(logging.WARNING)
        logger.addHandler(handler)
    try:
        yield
    finally:
        for name, (propagate, level) in before.items():
            logger = logging.getLogger(name)
            logger.removeHandler(handler)
            logger.propagate = propagate
            logger.setLevel(level)
