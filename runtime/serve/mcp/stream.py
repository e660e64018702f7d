"""MCP as JSON Lines over a Unix socket: the server's end of `mnemic mcp`.

A connection begins with one line that says who calls (``{"protocol", "mind", "folder", "session"}``) and one that
answers it; from then on both sides write JSON-RPC messages, one a line. The framing is our own, and not the SDK's: it
answers what is no message, bounds what waits, and knows what is being answered when the process is to leave. A line
longer than `LINE_BYTES`, which the pipe refuses, ends the connection.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections import Counter
from typing import Any

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.mcpserver import MCPServer
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from mnemic.actors.kernel.errors import ActorStopped, EngineLost, InvalidValue, MnemicError
from mnemic.runtime.client.wire import encode_error
from mnemic.runtime.engine.engine import safe_cause
from mnemic.runtime.keys.keys import random_id
from mnemic.runtime.minds.run_dir import LINE_BYTES, OLDEST_PIPE, PROTOCOL
from mnemic.runtime.serve.http.responses import check_protocol, draining_error
from mnemic.runtime.serve.mcp.calls import CURRENT_CALLER, Caller
from mnemic.runtime.serve.mcp.http import escape_line_surrogates
from mnemic.runtime.serve.server_control import ServerControl

_log = logging.getLogger("mnemic.mcp")

_HANDSHAKE_TIMEOUT_S = 10.0
_MAX_IN_FLIGHT = 256  # requests of one connection that may be on their way; more are not read until some are answered
_SHUTDOWN_CODES = (f"{ActorStopped.code}:", f"{EngineLost.code}:")
_SHUTDOWN_TIMEOUT_S = 10.0  # a process or an engine that goes has gone by then
_ACCEPT_TURNS = 4  # of the loop, from a connection that is accepted to its callback
_FLUSH_TIMEOUT_S = 0.5  # for what the SDK still says to a client whose requests it gives up


class McpSocketServer:
    """Serves MCP on a socket, to many connections at once."""

    def __init__(self, server: MCPServer[Any], server_control: ServerControl, version: str) -> None:
        self._server = server
        self._server_control = server_control
        self._version = version
        self._listening: asyncio.Server | None = None
        self._connections: dict[_Connection, asyncio.Task[Any]] = {}

    async def start(self, listening: socket.socket) -> None:
        """Take connections, from now on, on a socket that is bound."""
        self._listening = await asyncio.start_server(self._take_connection, sock=listening, limit=LINE_BYTES)

    async def stop(self, timeout_s: float) -> None:
        """Take no more connections and no more requests, answer those that are begun, and close.

        Args:
            timeout_s: how long the answers may take; what is not answered then is given up.
        """
        if self._listening is not None:
            # No more are accepted, and what was just now is taken first: asyncio loses what is between the two.
            for listening in self._listening.sockets:
                asyncio.get_running_loop().remove_reader(listening.fileno())
            for _ in range(_ACCEPT_TURNS):
                await asyncio.sleep(0)
            self._listening.close()
        for connection in self._connections:
            connection.stop_reading()
        if self._connections:
            await asyncio.wait(self._connections.values(), timeout=timeout_s)
        left = list(self._connections.values())
        for connection, task in self._connections.items():
            connection.stop_writing()
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_FLUSH_TIMEOUT_S)

    def _take_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Have a connection handled; it is known, and closed in the end, also where the end comes before its task."""
        connection = _Connection(reader, writer)
        task = asyncio.get_running_loop().create_task(self._handle_connection(connection))
        self._connections[connection] = task

        def end(_: asyncio.Task[None]) -> None:
            del self._connections[connection]
            writer.close()

        task.add_done_callback(end)

    async def _handle_connection(self, connection: _Connection) -> None:
        try:
            caller = await self._handshake(connection)
            if caller is not None:
                CURRENT_CALLER.set(caller)
                await connection.serve(self._server)
        except ConnectionError as error:
            _log.info("a connection broke (%s)", type(error).__name__)
        except Exception as error:  # one connection's trouble is not the others': said, and only it ends
            _log.error("a connection failed: %s", safe_cause(error))

    async def _handshake(self, connection: _Connection) -> Caller | None:
        """Hear who calls and answer; ``None`` where the caller is refused."""
        try:
            async with asyncio.timeout(_HANDSHAKE_TIMEOUT_S):
                line = await connection.reader.readline()
        except TimeoutError:
            line = b"too late"
        if not line:  # somebody looked whether anybody is here
            return None
        try:
            refusal = draining_error(self._server_control)
            caller = _parse_caller(line, self._server_control)
        except MnemicError as error:
            refusal = encode_error(error)
        if refusal is not None:
            await connection.write({"error": refusal})
            return None
        await connection.write({"protocol": PROTOCOL, "session": caller.session, "version": self._version})
        return caller


class _Connection:
    """One client, from its first line to its last."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer
        self._reading = anyio.CancelScope()
        self._begun: Counter[str | int] = Counter()  # requests by id that have no answer yet
        self._silent = False
        self._settled = asyncio.Event()  # set whenever one of them gets its answer

    def stop_writing(self) -> None:
        """Write no more: what is given up now is not refused, and the next process answers it."""
        self._silent = True

    def stop_reading(self) -> None:
        """Read no more: the connection ends when all that is begun is answered."""
        self._reading.cancel()

    async def serve(self, server: MCPServer[Any]) -> None:
        """Pass messages on in both directions until the client leaves, or `finish` and all is answered."""
        said, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, answers = anyio.create_memory_object_stream[SessionMessage](0)
        low = server._lowlevel_server
        async with anyio.create_task_group() as held:
            async with anyio.create_task_group() as group:
                group.start_soon(self._read_messages, said)
                group.start_soon(self._write_answers, answers, held)
                await low.run(incoming, outgoing, low.create_initialization_options())
            held.cancel_scope.cancel()

    async def write(self, value: Any) -> None:
        """Write one line; to a client that is gone, nothing: its end is met where it is read."""
        if self._silent:
            return
        try:
            self._writer.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")
            await self._writer.drain()
        except ConnectionError:
            _log.debug("a client left before it had its answer")

    async def _read_messages(self, said: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with said:  # once it is closed, the SDK gives up what is still on its way
            with self._reading:
                while await self._read_message(said):
                    await self._wait_until(lambda: self._begun.total() < _MAX_IN_FLIGHT)
            if self._reading.cancelled_caught:
                await self._wait_until(lambda: not self._begun)

    async def _read_message(self, said: MemoryObjectSendStream[SessionMessage | Exception]) -> bool:
        """Take one line; returns whether there may be another."""
        try:
            line = await self.reader.readline()
        except ConnectionError:
            return False
        if not line.endswith(b"\n"):  # the end of the stream, where half a line is none
            return False
        if not line.strip():
            return True
        try:
            message = jsonrpc_message_adapter.validate_json(escape_line_surrogates(line), by_name=False)
        except ValidationError as error:
            if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
                await self._refuse(None, PARSE_ERROR, "this is no JSON")
            else:
                await self._refuse(_find_id(line), INVALID_REQUEST, "this is no single JSON-RPC message")
            return True
        if isinstance(message, JSONRPCNotification) and b'"id"' in line and "id" in json.loads(line):
            await self._refuse(None, INVALID_REQUEST, "a request's id is text or a whole number")
            return True
        with anyio.CancelScope(shield=True):  # what is read is either passed on, or was never read
            self._track(message)
            await said.send(SessionMessage(message))
        return True

    def _track(self, message: Any) -> None:
        if isinstance(message, JSONRPCRequest):
            self._begun[message.id] += 1
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._mark_answered((message.params or {}).get("requestId"))  # by the protocol, it gets no answer

    async def _write_answers(self, answers: MemoryObjectReceiveStream[SessionMessage], held: TaskGroup) -> None:
        async with answers:
            async for one in answers:
                message = one.message
                # Not the model's own JSON writer: it refuses what the standard library's escapes.
                value = message.model_dump(mode="json", by_alias=True, exclude_unset=True)
                if _is_shutdown_error(value):
                    held.start_soon(self._write_later, value)
                else:
                    await self.write(value)
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    self._mark_answered(message.id)

    async def _write_later(self, value: Any) -> None:
        """Keep back that the process leaves: as soon as it has, whoever asked is answered by the next one."""
        await anyio.sleep(_SHUTDOWN_TIMEOUT_S)
        await self.write(value)

    def _mark_answered(self, request: Any) -> None:
        if isinstance(request, str | int) and request in self._begun:
            self._begun[request] -= 1
            self._begun += Counter()  # drops what is down to zero
            self._settled.set()

    async def _wait_until(self, condition: Any) -> None:
        while not condition():
            self._settled.clear()
            await self._settled.wait()

    async def _refuse(self, request: str | int | None, code: int, why: str) -> None:
        error = JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=why))
        await self.write(error.model_dump(mode="json", by_alias=True, exclude_unset=True))


def _is_shutdown_error(answer: dict[str, Any]) -> bool:
    """Whether a call failed because the process, or its engine, is going."""
    result = answer.get("result")
    if not isinstance(result, dict) or not result.get("isError"):
        return False
    return any(str(part.get("text", "")).startswith(_SHUTDOWN_CODES) for part in result.get("content", ()))


def _parse_caller(line: bytes, server_control: ServerControl) -> Caller:
    """Who calls.

    Raises:
        InvalidValue: the line does not say.
        OlderProcess, NewerProcess: it speaks another protocol.
    """
    try:
        preface = json.loads(line)
    except (ValueError, RecursionError):
        preface = None
    if isinstance(preface, dict):
        check_protocol(preface.get("protocol", PROTOCOL), server_control, OLDEST_PIPE)
        mind, off = preface.get("mind", Caller().mind), preface.get("off", Caller().switched_off)
        folder, session = preface.get("folder"), preface.get("session")
        wired = preface.get("assistant", Caller().wired)
        named = isinstance(mind, str) and isinstance(off, str) and isinstance(wired, str)
        if named and isinstance(folder, str | None) and isinstance(session, str | None):
            session = session or f"mcp-{random_id()}"
            return Caller(mind=mind, folder=folder, session=session, switched_off=off, wired=wired)
    raise InvalidValue(
        name="the first line",
        value="this",
        why="it does not say who calls",
        expected=f'{{"protocol": {PROTOCOL}, "mind": "default", "folder": "/a/folder", "session": null}} and a newline',
    )


def _find_id(line: bytes) -> str | int | None:
    """The id of what is no message, where it has one."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    request = value.get("id") if isinstance(value, dict) else None
    return request if isinstance(request, str | int) and not isinstance(request, bool) else None
