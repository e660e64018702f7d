"""The faces as a home's process hosts them, in a thread of the test: real minds and sockets, a recorded control."""

from __future__ import annotations

import asyncio
import http.client
import inspect
import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvicorn.server
from mcp.server.mcpserver.tools import Tool

import mnemic
from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import AlreadyServed
from mnemic.actors.kernel.scope_paths import MCP_RIGHTS
from mnemic.open_mind import open_here
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.run_dir import PROTOCOL
from mnemic.runtime.minds.unlocking import UnlockedKeys
from mnemic.runtime.serve.http.http_server import FaceServer
from mnemic.runtime.serve.http.routes import make_app
from mnemic.runtime.serve.http.tcp import TcpListener
from mnemic.runtime.serve.mcp.http import McpHttp
from mnemic.runtime.serve.mcp.stream import McpSocketServer
from mnemic.runtime.serve.mcp.tools import make_server
from tests.waiting import BOUND_S


class OpenMinds:
    """The minds of a home, opened when they are asked for and open from then on."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._opening = threading.Lock()
        self._minds: dict[str, Mind] = {}

    @contextmanager
    def use(self, name: str, create: bool) -> Iterator[Mind]:
        with self._opening:
            if name not in self._minds:
                self._minds[name] = open_here(self._home, name, create=create)
        yield self._minds[name]

    def close(self) -> None:
        for mind in self._minds.values():
            mind.close()


class RecordingServerControl:
    """A server control that says what a test wants and keeps what it is told."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = "ready"
        self.mode = "on-demand"
        self.touched: list[str] = []
        self.drained: list[tuple[str, int]] = []

    def server_info(self) -> dict[str, Any]:
        return {
            "protocol": PROTOCOL,
            "version": "0",
            "pid": 1,
            "state": self.state,
            "mode": self.mode,
            "home": str(self.home),
        }

    def drain(self, reason: str, their_protocol: int) -> None:
        if self.mode == "foreground":
            raise AlreadyServed(home=str(self.home), pid=1, engine="embedded")
        self.drained.append((reason, their_protocol))

    @contextmanager
    def track_request(self, verb: str, trace: str | None = None, *, idle: bool = False) -> Iterator[None]:
        if not idle:
            self.touched.append(verb)
        yield


class Answer(NamedTuple):
    """What HTTP answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Hosted:
    """Faces that run."""

    def __init__(
        self,
        home: Path,
        minds: Any,
        server_control: RecordingServerControl,
        folder: Path,
        tcp: TcpListener | None,
        clock: Clock,
        started_in: str = "",
    ) -> None:
        self.home = home
        self.minds = minds
        self.server_control = server_control
        self.http = folder / "http.sock"
        self.mcp = folder / "mcp.sock"
        self.tcp = None if tcp is None else tcp.listening.getsockname()
        self.settings: dict[str, Any] = {"mcp.allow": MCP_RIGHTS, "mcp.share": ()}

        self.allowed: dict[str, Sequence[str]] = {}
        """The rights of assistants, by the name they are wired under."""

        def setting(name: str) -> Any:
            return self.settings[name]

        self.server = make_server(
            minds, server_control, clock, mnemic.__version__, setting, lambda name: self.allowed.get(name, ())
        )
        app = make_app(
            minds,
            server_control,
            metrics=lambda: ("text/plain; version=9", b"mnemic_up 1\n"),
            mcp=McpHttp(self.server, started_in),
            unlocked=UnlockedKeys(home),
            setting=setting,
        )
        self.stream = McpSocketServer(self.server, server_control, mnemic.__version__)
        self.faces = FaceServer(app, self.stream, bound(self.http), bound(self.mcp), tcp)
        self.thread = threading.Thread(target=self.faces.run, name="faces")

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """One request over the Unix socket, on a connection of its own."""
        connection = UnixConnection(self.http)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def post(self, path: str, fields: Any = None, **headers: str) -> Answer:
        """Post JSON; a header ``Mnemic_Mind`` is written as Python can."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.request("POST", path, json.dumps({} if fields is None else fields).encode(), named)

    def call(self, *lines: bytes, preface: dict[str, Any] | None = None, until: int = 1) -> list[Any]:
        """Write lines to the raw stream, wait for so many answers, and leave."""
        with Wire(self.mcp, preface) as wire:
            wire.send(*lines)
            return [wire.hear() for _ in range(until)]


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=BOUND_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(BOUND_S)
        self.sock.connect(str(self._path))


class Wire:
    """A raw connection to the stream, its preface said and answered."""

    def __init__(self, path: Path, preface: dict[str, Any] | bytes | None = None) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(BOUND_S)
        self.socket.connect(str(path))
        self._file = self.socket.makefile("rb")
        said = preface if isinstance(preface, bytes) else json.dumps({"protocol": PROTOCOL} | (preface or {})).encode()
        self.send(said + b"\n")
        self.greeting = self.hear()

    def send(self, *lines: bytes) -> None:
        self.socket.sendall(b"".join(lines))

    def hear(self) -> Any:
        """The next line; ``None`` at the end."""
        line = self._file.readline()
        return json.loads(line) if line else None

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()


def bound(path: Path) -> socket.socket:
    """A listening Unix socket."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen(512)
    return listening


class _ShortPauses:
    """asyncio for uvicorn, which looks ten times a second whether it is to end: here a hundred times."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(min(delay_s, 0.01))


_tools: dict[Any, Tool] = {}


def _tool_once(made: type[Tool], verb: Callable[..., Any], **options: Any) -> Tool:
    """What the SDK makes of a tool's function, made once for all servers: schemas and models take 5 ms a tool."""
    known = (made, verb.__code__, verb.__doc__, str(inspect.signature(verb)), repr(options))
    if known not in _tools:
        _tools[known] = _from_function(made, verb, **options)
    return _tools[known].model_copy(update={"fn": verb})


_from_function = Tool.from_function.__func__  # type: ignore[attr-defined]


@contextmanager
def hosted(home: Path, tcp: TcpListener | None = None, minds: Any = None, started_in: str = "") -> Iterator[Hosted]:
    """Host the faces of a home; all is answered and closed in the end."""
    folder = Path(tempfile.mkdtemp(prefix="mnemic-", dir="/tmp"))
    own = minds is None
    minds = OpenMinds(home) if own else minds
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.server, "asyncio", _ShortPauses())
        patch.setattr(Tool, "from_function", classmethod(_tool_once))
        faces = Hosted(home, minds, RecordingServerControl(home), folder, tcp, SystemClock(), started_in)
        faces.thread.start()
        try:
            assert faces.faces.ready.wait(BOUND_S)
            yield faces
        finally:
            faces.faces.stop(5.0)
            faces.thread.join(BOUND_S)
            if own:
                minds.close()
            shutil.rmtree(folder)
    assert not faces.thread.is_alive()


def message(number: Any, method: str, **parameters: Any) -> bytes:
    """One request of JSON-RPC, as a line."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}).encode() + b"\n"


def note(method: str, **parameters: Any) -> bytes:
    """One notification of JSON-RPC, as a line."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": parameters}).encode() + b"\n"


def tool_call(number: Any, name: str, _meta: Any = None, **arguments: Any) -> bytes:
    """One call of a tool, as a line."""
    return message(number, "tools/call", name=name, arguments=arguments, **({"_meta": _meta} if _meta else {}))


HELLO = message(
    1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
) + note("notifications/initialized")


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run calls at once, each in a thread; returns what they gave, in order."""

    async def gathered() -> list[Any]:
        return await asyncio.gather(*(asyncio.to_thread(call) for call in calls))

    return asyncio.run(gathered())
