"""Minimal MCP clients (socket, HTTP, pipe) for benchmarks, so that the server is timed and not an SDK.

The SDK's own client takes milliseconds for a call, which `SdkPipe` is there to show.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from anyio.from_thread import start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from mnemic.bench.harness.processes import COMMAND
from mnemic.runtime.minds.run_dir import PROTOCOL, ServerInfo

_WAIT_S = 120.0
_HELLO: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class ToolCaller(Protocol):
    """Calls the tools of MCP."""

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call one; returns its structured answer."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


class UnixHttp(http.client.HTTPConnection):
    """HTTP over a Unix socket, kept open."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_WAIT_S)
        self._path = path

    def connect(self) -> None:
        """Connect."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_WAIT_S)
        self.sock.connect(self._path)

    def ask(self, method: str, target: str, fields: Any = None, **headers: str) -> bytes:
        """One request; returns the body.

        Raises:
            ConnectionError: it was refused, with what status.
        """
        body = None if fields is None else json.dumps(fields).encode()
        self.request(method, target, body, {"Content-Type": "application/json", **headers})
        response = self.getresponse()
        answer = response.read()
        if response.status >= 400:
            raise ConnectionError(f"{target} was answered with status {response.status}")
        return answer


class _JsonRpcLines:
    """JSON-RPC, one message a line, on two streams."""

    def __init__(self, said: Any, heard: Any) -> None:
        self._said = said
        self._heard = heard
        self._number = 0

    def initialize(self) -> dict[str, Any]:
        """Shake hands."""
        answer = self.request("initialize", _HELLO)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def send(self, message: dict[str, Any]) -> None:
        """Write one line."""
        self._said.write(json.dumps(message).encode() + b"\n")
        self._said.flush()

    def receive(self) -> dict[str, Any]:
        """The next line.

        Raises:
            ConnectionError: there is none.
        """
        line = self._heard.readline()
        if not line:
            raise ConnectionError("nobody is there any more")
        value = json.loads(line)
        assert isinstance(value, dict)
        return value

    def request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """One request, and its result."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        while (answer := self.receive()).get("id") != self._number:
            continue  # a notification
        return _result(answer)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool."""
        return _structured(self.request("tools/call", {"name": tool, "arguments": arguments}))


class McpSocketClient(_JsonRpcLines):
    """The raw stream on ``mcp.sock``, as of an assistant that works in a folder."""

    def __init__(self, info: ServerInfo, folder: Path | None = None) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_WAIT_S)
        self._socket.connect(info.mcp_socket)
        self._both = self._socket.makefile("rwb")
        super().__init__(self._both, self._both)
        named = None if folder is None else str(folder)
        self.send({"protocol": PROTOCOL, "mind": "default", "folder": named, "session": "bench"})
        self.receive()
        self.initialize()

    def close(self) -> None:
        """Hang up."""
        self._both.close()
        self._socket.close()


class McpHttpClient:
    """Streamable HTTP at ``/mcp`` on ``http.sock``."""

    def __init__(self, info: ServerInfo) -> None:
        self._http = UnixHttp(info.http_socket)
        self._number = 0

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool."""
        self._number += 1
        request = {
            "jsonrpc": "2.0",
            "id": self._number,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        return _structured(_result(json.loads(self._http.ask("POST", "/mcp", request, **headers))))

    def close(self) -> None:
        """Hang up."""
        self._http.close()


class McpPipe(_JsonRpcLines):
    """`mnemic mcp`, as an assistant starts it in a folder; it finds or starts the home's process."""

    def __init__(self, home: Path, folder: Path = Path("/")) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "mcp", "--home", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        super().__init__(self.process.stdin, self.process.stdout)
        self.initialize()

    def close(self) -> None:
        """Let it end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.close()
        finally:
            self.process.stdout.close()
            self.process.terminate()
            self.process.wait(_WAIT_S)


class SdkPipe:
    """`mnemic mcp` by the client of the official SDK, in an event loop of its own."""

    def __init__(self, home: Path, folder: Path) -> None:
        command, *options = [*COMMAND, "mcp", "--home", str(home)]
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            errors = stack.enter_context(open(os.devnull, "w"))
            server = StdioServerParameters(command=command, args=options, env=dict(os.environ), cwd=folder)
            streams = stack.enter_context(self._portal.wrap_async_context_manager(stdio_client(server, errors)))
            self._session = stack.enter_context(self._portal.wrap_async_context_manager(ClientSession(*streams)))
            self._portal.call(self._session.initialize)
            self._open = stack.pop_all()

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool."""
        return _structured(self._portal.call(self._session.call_tool, tool, arguments).model_dump(by_alias=True))

    def close(self) -> None:
        """Let it end."""
        self._open.close()


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise ConnectionError(str(answer["error"].get("message", "an error without a message")))
    result = answer["result"]
    assert isinstance(result, dict)
    return result


def _structured(result: dict[str, Any]) -> dict[str, Any]:
    if result.get("isError"):
        raise ConnectionError(str(result["content"][0]["text"]))
    content = result["structuredContent"]
    assert isinstance(content, dict)
    return content
