"""The official MCP client, connected to hosted faces over either of their sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import anyio
import httpx2
import jsonschema
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import InitializeResult, ListToolsResult, jsonrpc_message_adapter

from mnemic.runtime.minds.run_dir import PROTOCOL
from tests.processes.hosted import Hosted
from tests.waiting import BOUND_S


class Answer(NamedTuple):
    """What a tool answered."""

    failed: bool
    text: str
    structured: Any


class Client:
    """A connected client that checks every answer against the tool's own output schema."""

    def __init__(self, session: ClientSession, initialized: InitializeResult, listed: ListToolsResult) -> None:
        self.session = session
        self.initialized = initialized
        self.tools = {tool.name: tool for tool in listed.tools}

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Answer:
        result = await self.session.call_tool(name, dict(arguments or {}))
        text = "".join(block.text for block in result.content if block.type == "text")
        if not result.is_error:
            jsonschema.validate(result.structured_content, self.tools[name].output_schema or {})
        return Answer(bool(result.is_error), text, result.structured_content)

    async def good(self, name: str, **arguments: Any) -> Any:
        """What a call gives that succeeds."""
        answer = await self.call(name, arguments)
        assert not answer.failed, answer.text
        return answer.structured

    async def texts(self, query: str, **arguments: Any) -> list[str]:
        """What a recall finds, best first."""
        return [hit["text"] for hit in (await self.good("memory_recall", query=query, **arguments))["hits"]]


@asynccontextmanager
async def over_stream(faces: Hosted, folder: Path | None) -> AsyncIterator[tuple[Any, Any]]:
    """The client's streams on the raw socket; what is read is what the SDK itself would read from a process."""
    reader, writer = await asyncio.open_unix_connection(str(faces.mcp), limit=64 << 20)
    preface = {
        "protocol": PROTOCOL,
        "mind": "default",
        "folder": None if folder is None else str(folder),
        "session": None,
    }
    writer.write(json.dumps(preface).encode() + b"\n")
    assert json.loads(await reader.readline())["session"].startswith("mcp-")
    heard, to_read = anyio.create_memory_object_stream[Any](0)
    to_write, said = anyio.create_memory_object_stream[SessionMessage](0)

    async def hear() -> None:
        async with heard:
            while line := await reader.readline():
                await heard.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))

    async def say() -> None:
        async with said:
            async for one in said:
                writer.write(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await writer.drain()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(hear)
            group.start_soon(say)
            yield to_read, to_write
            group.cancel_scope.cancel()
    finally:
        writer.close()
        with anyio.CancelScope(shield=True):
            await writer.wait_closed()


@asynccontextmanager
async def over_http(faces: Hosted, folder: Path | None) -> AsyncIterator[tuple[Any, Any]]:
    """The client's streams on ``/mcp``, by the Unix socket."""
    headers = {} if folder is None else {"Mnemic-Folder": quote(str(folder))}
    # No TLS runs over a Unix socket, and to load what verifies it takes 20 ms.
    transport = httpx2.AsyncHTTPTransport(verify=False, uds=str(faces.http))
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, timeout=BOUND_S) as http,
        streamable_http_client("http://mnemic/mcp", http_client=http) as streams,
    ):
        yield streams[0], streams[1]


Transport = Callable[[Hosted, Path | None], Any]


def with_client(
    faces: Hosted,
    folder: Path | None,
    use: Callable[[Client], Awaitable[None]],
    over: Transport = over_stream,
    **options: Any,
) -> None:
    """Connect as an assistant that works in a folder, and use it."""

    async def connected() -> None:
        async with AsyncExitStack() as stack:
            streams = await stack.enter_async_context(over(faces, folder))
            session = await stack.enter_async_context(ClientSession(*streams, **options))
            client = Client(session, await session.initialize(), await session.list_tools())
            await asyncio.wait_for(use(client), BOUND_S)

    asyncio.run(connected())
