"""MCP over HTTP: whose folder counts, and what an assistant sends is readable by the SDK and otherwise as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.serve.mcp.http import escape_line_surrogates
from tests.processes.faces import git_project
from tests.processes.hosted import Hosted, hosted
from tests.processes.mcp_client import Client, over_http, over_stream, with_client

TEXTS = st.text(st.characters())  # lone surrogates too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_every_line_can_be_read_strictly_afterwards(value: Any) -> None:
    line = escape_line_surrogates(json.dumps(value).encode() + b"\n")
    json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8")
    assert line.count(b"\n") == 1


@given(VALUES)
def test_a_line_without_lone_surrogates_means_the_same(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    if text.encode("utf-8", "ignore").decode() == text:
        assert json.loads(escape_line_surrogates(json.dumps(value).encode() + b"\n")) == value


def test_half_a_pair_is_written_out_and_a_whole_one_stays() -> None:
    assert json.loads(escape_line_surrogates(rb'["half \ud83d", "whole \ud83d\ude00"]' + b"\n")) == [
        r"half \ud83d",
        "whole \U0001f600",
    ]


def test_what_is_no_json_or_nested_beyond_reason_is_left_to_the_sdk() -> None:
    deep = b"[" * 100_000 + b'"\\ud83d"' + b"]" * 100_000 + b"\n"
    assert escape_line_surrogates(deep) == deep
    assert escape_line_surrogates(b"garbage{\\ud83d\n") == b"garbage{\\ud83d\n"


# --- whose folder counts ---------------------------------------------------------------------------------------------


def remember(faces: Hosted, folder: Path, text: str) -> None:
    """Keep a text for a folder's project, as a command does that is given there."""
    with faces.minds.use("default", True) as mind:
        mind.remember(text, scope=mind.folder_place(str(folder)), session="s")


def test_who_names_no_folder_looks_where_a_command_would_that_is_given_where_serve_was(
    home: Path, tmp_path: Path
) -> None:
    pier, lake = git_project(tmp_path / "pier é"), git_project(tmp_path / "lake")

    async def unnamed(client: Client) -> None:
        found = await client.good("memory_recall", query="otter")
        assert [hit["text"] for hit in found["hits"]] == ["an otter at the pier"]
        assert (found["scope"], found["scope_found"]) == ("pier é", "git (folder of mnemic serve)")
        facts = await client.good("memory_facts")
        assert (facts["scope"], facts["scope_found"]) == ("pier é", "git (folder of mnemic serve)")
        assert (await client.good("memory_capture", text="a heron"))["scope"] == "pier é"
        assert (await client.call("memory_recall", {"query": "otter", "scope": "lake"})).failed

    async def named(client: Client) -> None:
        found = await client.good("memory_recall", query="otter")
        assert [hit["text"] for hit in found["hits"]] == ["an otter at the lake"]
        assert (found["scope"], found["scope_found"]) == ("lake", "git")

    async def none(client: Client) -> None:
        assert (await client.good("memory_recall", query="otter"))["scope_found"] == "unknown"

    with hosted(home, started_in=quote(str(pier))) as faces:
        faces.settings = {"mcp.allow": (), "mcp.share": ()}
        remember(faces, pier, "an otter at the pier")
        remember(faces, lake, "an otter at the lake")
        with_client(faces, None, unnamed, over_http)
        with_client(faces, lake, named, over_http)
        with_client(faces, None, none, over_stream)  # `mnemic mcp` says where it was started


@pytest.mark.parametrize(("allow", "said"), [((), ""), (("read-all",), "; scope='*' looks through everything")])
def test_where_nothing_is_known_of_that_folder_it_is_said_and_how_to_name_another(
    home: Path, tmp_path: Path, allow: tuple[str, ...], said: str
) -> None:
    async def use(client: Client) -> None:
        nothing = await client.good("memory_recall", query="otter")
        assert (nothing["hits"], nothing["scope"], nothing["scope_found"]) == ([], "empty", "unknown")
        assert nothing["degraded"] == [
            "no memory is in the project of mnemic serve's folder (empty), which counts since this caller has named"
            f" none (header Mnemic-Folder){said}"
        ]

    with hosted(home, started_in=quote(str(tmp_path / "empty"))) as faces:
        faces.settings = {"mcp.allow": allow, "mcp.share": ()}
        with_client(faces, None, use, over_http)
