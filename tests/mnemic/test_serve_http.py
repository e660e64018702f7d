"""`mnemic serve --http` from outside: it says where it answers, and what stands there can be read and asked."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import shlex
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.processes.faces import git_project, run
from tests.processes.serving import ready, serving
from tests.waiting import BOUND_S


def told(process: subprocess.Popen[bytes]) -> list[str]:
    """What a process says until it has said where it answers."""
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line.decode().rstrip("\n"))
        if said[-1].startswith("it answers at "):
            return said
    raise AssertionError(said)


@pytest.mark.system
def test_it_prints_the_addresses_that_can_be_opened(home: Path) -> None:
    with serving(home, "--http", "127.0.0.1:0") as process:
        info = ready(home)
        address = f"http://{info.tcp}"
        said = told(process)
        assert said[-2:] == [
            f"serving {home} on the embedded engine, process {process.pid}; Ctrl-C ends it",
            f"it answers at {address} and {info.http_socket}; what can be asked: {address}/docs",
        ]
        with closing(http.client.HTTPConnection(info.tcp or "", timeout=BOUND_S)) as connection:
            connection.request("GET", "/docs")
            page = connection.getresponse()
            assert (page.status, b"GET /openapi.json" in page.read()) == (200, True)


@pytest.mark.system
def test_without_a_port_it_prints_the_socket_and_a_command_that_reads_what_can_be_asked(home: Path) -> None:
    with serving(home) as process:
        line = told(process)[-1]
        socket, asked = re.fullmatch(r"it answers at (.*); what can be asked: (.*)", line).groups()  # type: ignore[union-attr]
        assert socket == ready(home).http_socket
        read = subprocess.run([*shlex.split(asked), "-s"], capture_output=True, timeout=BOUND_S, check=True)
        assert json.loads(read.stdout)["openapi"] == "3.1.0"


@pytest.mark.system
def test_mcp_over_http_looks_where_a_command_does_that_is_given_where_serve_was(home: Path, tmp_path: Path) -> None:
    pier, lake = git_project(tmp_path / "pier"), git_project(tmp_path / "lake")
    for folder in (pier, lake):
        assert run("remember", f"an otter at the {folder.name}", "--home", home, cwd=folder).code == 0

    async def asked(address: str) -> Any:
        headers = {"Authorization": f"Bearer {(home / 'http-token').read_text().strip()}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=BOUND_S) as client,
            streamable_http_client(f"http://{address}/mcp", http_client=client) as (reading, writing, *_),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            return (await session.call_tool("memory_recall", {"query": "otter"})).structured_content

    with serving(home, "--http", "127.0.0.1:0", cwd=pier):
        found = asyncio.run(asked(ready(home).tcp or ""))
        by_command = json.loads(run("recall", "otter", "--json", "--home", home, cwd=pier).out)
    assert [hit["id"] for hit in found["hits"]] == [hit["id"] for hit in by_command["hits"]]
    assert (found["scope"], by_command["scope"]) == ("pier", "pier")
    assert (found["scope_found"], by_command["scope_found"]) == ("git (folder of mnemic serve)", "git")
    assert [hit["text"] for hit in found["hits"]] == ["an otter at the pier"]
