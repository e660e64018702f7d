"""Runs the server's HTTP (Unix socket, TCP) and MCP listeners on one asyncio event loop.

The sockets come bound and listening, so that whoever starts the process decides who may open them, and whoever comes
early waits. Signals are the process's own affair.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import threading
from collections.abc import Iterator
from typing import Any

import anyio.to_thread
import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from mnemic.actors.kernel.errors import BadBody
from mnemic.runtime.client.wire import encode_error
from mnemic.runtime.engine.engine import redacted_line
from mnemic.runtime.serve.http.readable import ReadableAnswers
from mnemic.runtime.serve.http.tcp import BACKLOG, TcpGuard, TcpListener
from mnemic.runtime.serve.mcp.stream import McpSocketServer
from mnemic.runtime.serve.server_control import MAX_CONCURRENT_VERBS

_log = logging.getLogger("mnemic.faces")

_BACKLOG = 512
_KEEP_ALIVE_S = 60
HEADERS_TIMEOUT_S = 10.0
"""Over TCP a request's headers are whole within it, counted from the connection's start or from the answer before."""
BODY_TIMEOUT_S = 60.0
"""From then on, its body is. The longest one that is taken (64 MiB) comes in time at 9 Mbit/s."""
ANSWER_TIMEOUT_S = 60.0
"""So long a caller may leave unread what it was answered."""
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
        self._servers = [(_server(ReadableAnswers(app), lifespan="on"), http)]
        if tcp is not None:
            guarded = ReadableAnswers(TcpGuard(app, tcp.hosts, tcp.token_file))
            tls: dict[str, Any] = {}
            if tcp.certificate is not None:
                tls = {"ssl_certfile": tcp.certificate, "ssl_keyfile": tcp.key}
            self._servers.append((_server(guarded, _TcpServer, lifespan="off", **tls), tcp.listening))
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


class _TimedH11Protocol(H11Protocol):
    """HTTP over TCP: gives up a request which does not come whole, and an answer that is not read."""

    _awaited: Any = None  # what of a request was awaited last, as h11 calls it
    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Whatever is left unread counts, also when it is closed. TLS pauses at its mark, and plain TCP above it.
        self.transport.set_write_buffer_limits(high=int(self.scheme == "https"))
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._late, self._unread):
            if timer is not None:
                timer.cancel()

    def handle_events(self) -> None:
        """Take what has come, and wait for what is missing."""
        super().handle_events()
        self._await_request()

    def on_response_complete(self) -> None:
        """Take the next request; or close, where an answer came before all of the body: nobody waits for the rest."""
        if self.conn.their_state is h11.SEND_BODY and not self.transport.is_closing():
            self.conn.send(h11.ConnectionClosed())
            self.transport.close()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for a caller who does not read."""
        super().pause_writing()
        self._unread = self.loop.call_later(ANSWER_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def _await_request(self) -> None:
        awaited = self.conn.their_state
        if awaited is self._awaited:  # and still is: what comes in drops gains no time
            return
        self._awaited = awaited
        if self._late is not None:
            self._late.cancel()
        timeout_s = {h11.IDLE: HEADERS_TIMEOUT_S, h11.SEND_BODY: BODY_TIMEOUT_S}.get(awaited)
        self._late = None if timeout_s is None else self.loop.call_later(timeout_s, self._give_up, timeout_s)

    def _give_up(self, timeout_s: float) -> None:
        begun = self._awaited is h11.SEND_BODY or self.conn.trailing_data[0]
        if begun and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            expected = "all of a request at once"
            error = encode_error(BadBody(why=f"the request was not whole within {timeout_s:g} s", expected=expected))
            said = json.dumps(error).encode()
            named = {"Content-Type": "application/json", "Content-Length": str(len(said)), "Connection": "close"}
            head = h11.Response(status_code=408, headers=list(named.items()), reason=b"Request Timeout")
            self.transport.write(self.conn.send(head))
            self.transport.write(self.conn.send(h11.Data(data=said)) + self.conn.send(h11.EndOfMessage()))
        if self.cycle is not None:  # whoever reads the body hears that no more comes
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()


class _TcpServer(_Server):
    """A server whose callers have a limited time, for shaking hands over TLS too."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections. There is no lifespan: that of the first server is for all."""
        loop, config = asyncio.get_running_loop(), self.config
        timeout_s = None if config.ssl is None else HEADERS_TIMEOUT_S
        self.servers = [
            await loop.create_server(
                lambda: _TimedH11Protocol(config, self.server_state, {}),
                sock=listening,
                ssl=config.ssl,
                backlog=BACKLOG,
                ssl_handshake_timeout=timeout_s,
                ssl_shutdown_timeout=timeout_s,
            )
            for listening in sockets or ()
        ]
        self.started = True


def _server(app: ASGIApp, kind: type[_Server] = _Server, **options: Any) -> _Server:
    return kind(
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
