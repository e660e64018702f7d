"""Callers: every way into a home's process gives the same answers and tells the same refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.bench.harness.callers import McpHttpClient, McpPipe, McpSocketClient, ToolCaller, UnixHttp
from mnemic.bench.harness.homes import fill_home, lexical_settings
from mnemic.bench.harness.processes import served
from mnemic.runtime.minds.run_dir import ServerInfo


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[str], ServerInfo]]:
    home = tmp_path_factory.mktemp("callers")
    texts = fill_home(home, 30, seed=5, encoder=None, settings=lexical_settings(home))
    with served(home, "embedded") as info:
        yield home, texts, info


@pytest.mark.parametrize("way", ["stream", "HTTP", "pipe"])
def test_a_tool_answers_by_every_way(filled: tuple[Path, list[str], ServerInfo], way: str) -> None:
    home, texts, info = filled
    caller: ToolCaller = {
        "stream": lambda: McpSocketClient(info),
        "HTTP": lambda: McpHttpClient(info),
        "pipe": lambda: McpPipe(home),
    }[way]()
    try:
        found = caller.call("memory_recall", query=" ".join(texts[7].split()[:6]), scope="*")
        assert texts[7] in [hit["text"] for hit in found["hits"]]
        with pytest.raises(ConnectionError, match=r"no_such_memory|invalid_value"):
            caller.call("memory_get", ids=["0" * 32])
        assert "30" in str(caller.call("memory_status"))
    finally:
        caller.close()


def test_the_api_answers_on_a_connection_that_stays(filled: tuple[Path, list[str], ServerInfo]) -> None:
    http = UnixHttp(filled[2].http_socket)
    try:
        assert b'"memories":30' in http.ask("POST", "/api/count", {})
        with pytest.raises(ConnectionError, match="/api/tide was answered with status 404"):
            http.ask("POST", "/api/tide", {})
        assert b'"memories":30' in http.ask("POST", "/api/count", {})
    finally:
        http.close()
