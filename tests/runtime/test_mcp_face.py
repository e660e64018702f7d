"""The memory as an assistant meets it: the official client, over standard input and output, with the real command."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import InitializeResult, ListToolsResult

import mnemic
from mnemic.runtime.mcp_face import INSTRUCTIONS, PAGE_BYTES
from tests.faces import BOUND_S, COMMAND, claude_turn, finish, git_project, lines, run, start, turn

SCHEMA_TOKENS = 650  # of four bytes; the promise is 1,000 for all seven tools
TOOLS = {
    "memory_recall": {
        "query",
        "k",
        "scope",
        "budget_tokens",
        "since",
        "until",
        "as_of",
        "session",
        "kinds",
        "explain",
    },
    "memory_capture": {"text", "role", "session", "scope", "said_at", "kind", "supersedes"},
    "memory_get": {"ids", "offset", "limit"},
    "memory_status": set(),
}


class Answer(NamedTuple):
    """What a tool answered."""

    failed: bool
    text: str
    structured: Any


class Client:
    """A connected client that checks every answer against the tool's own output schema."""

    def __init__(self, session: ClientSession, initialized: InitializeResult, listed: ListToolsResult) -> None:
        self._session = session
        self.initialized = initialized
        self.tools = {tool.name: tool for tool in listed.tools}

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Answer:
        result = await self._session.call_tool(name, dict(arguments or {}))
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


def with_client(home: Path, folder: Path, use: Callable[[Client], Awaitable[None]]) -> None:
    """Connect to a new process that works in a folder, and use it."""

    async def connected() -> None:
        command, *arguments = COMMAND
        server = StdioServerParameters(command=command, args=[*arguments, "mcp", "--home", str(home)], cwd=folder)
        async with AsyncExitStack() as stack:
            streams = await stack.enter_async_context(stdio_client(server))
            session = await stack.enter_async_context(ClientSession(*streams))
            client = Client(session, await session.initialize(), await session.list_tools())
            await asyncio.wait_for(use(client), BOUND_S)

    asyncio.run(connected())


# --- what is offered -------------------------------------------------------------------------------------------------


def test_the_tools_are_the_promised_ones_and_cost_little(home: Path, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        assert client.initialized.server_info.name == "mnemic"
        assert client.initialized.server_info.version == mnemic.__version__
        assert client.initialized.instructions == INSTRUCTIONS
        assert {name: set(tool.input_schema["properties"]) for name, tool in client.tools.items()} == TOOLS
        shown = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in client.tools.values()]
        assert len(json.dumps(shown, separators=(",", ":")).encode()) / 4 <= SCHEMA_TOKENS
        for tool in client.tools.values():
            assert tool.description
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is (tool.name != "memory_capture")
            assert tool.annotations.open_world_hint is False
            assert tool.output_schema is not None
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        capture = client.tools["memory_capture"].annotations
        assert capture is not None
        assert (capture.destructive_hint, capture.idempotent_hint) == (False, True)

    with_client(home, tmp_path, use)


def test_every_tool_and_parameter_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
    for tool, parameters in TOOLS.items():
        section = page.partition(f"\n### `{tool}`")[2].partition("\n##")[0]
        assert section, f"docs/mcp.md has no section on {tool}"
        for parameter in parameters:
            assert f"`{parameter}" in section, f"docs/mcp.md does not tell of {tool}'s {parameter}"


# --- the verbs -------------------------------------------------------------------------------------------------------


def test_what_is_captured_is_recalled_and_a_correction_outranks_it_at_once(home: Path, tmp_path: Path) -> None:
    project = git_project(tmp_path / "pier")

    async def use(client: Client) -> None:
        nothing = await client.good("memory_recall", query="how long is the pier?")
        assert (nothing["hits"], nothing["scope_found"]) == ([], "unknown")
        assert nothing["degraded"] == [
            "no memory is in this folder's project (pier) yet; scope='*' looks through everything"
        ]
        old = await client.good("memory_capture", text="The pier is 40 m long.", kind="decision")
        assert (old["created"], old["scope"]) == (True, "pier")
        assert await client.good("memory_capture", text="The pier is 40 m long.", kind="decision") == old | {
            "created": False
        }
        new = await client.good(
            "memory_capture",
            text="After the storm it is 38.",
            role="user",
            said_at="2026-11-21T14:05:00+01:00",
            supersedes=old["id"],
        )
        found = await client.good("memory_recall", query="how long is the pier?", explain=True)
        assert [hit["id"] for hit in found["hits"]] == [new["id"], old["id"]]
        assert [hit["superseded_by"] for hit in found["hits"]] == [None, new["id"]]
        assert found["hits"][0]["why"]["prior"] > 0
        assert (found["scope"], found["scope_found"]) == ("pier", "git")
        (record,) = (await client.good("memory_get", ids=[new["id"]]))["memories"]
        assert record["supersedes"] == [old["id"]]
        assert (record["text"], record["said_at"]) == ("After the storm it is 38.", "2026-11-21T13:05:00Z")
        assert (record["kind"], record["role"], record["assistant"]) == ("note", "user", "mcp")
        assert record["session"].startswith("mcp-")

    with_client(home, project, use)


def test_another_projects_memories_are_given_only_when_asked_for(home: Path, tmp_path: Path) -> None:
    pier, shelf = git_project(tmp_path / "pier"), git_project(tmp_path / "shelf")
    source = lines(
        tmp_path / "a.jsonl", claude_turn("an otter on the pier", pier), claude_turn("an otter on the shelf", shelf)
    )
    run("capture", source, "--home", home)

    async def use(client: Client) -> None:
        assert await client.texts("otter") == ["an otter on the pier"]
        assert await client.texts("otter", scope="shelf") == ["an otter on the shelf"]
        assert len(await client.texts("otter", scope="*")) == 2
        unknown = await client.call("memory_recall", {"query": "otter", "scope": "cellar"})
        assert unknown.failed
        assert unknown.text.startswith("unknown_scope: No memory is in the scope 'cellar'. ")
        assert "otter" not in unknown.text

    with_client(home, pier, use)

    async def elsewhere(client: Client) -> None:
        assert (await client.good("memory_recall", query="otter"))["hits"] == []

    with_client(home, git_project(tmp_path / "cellar"), elsewhere)


def test_a_recall_is_narrowed_as_on_the_command_line(example_home: Path, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        everything = (await client.good("memory_recall", query="session token", scope="*", k=300))["hits"]
        narrowed: list[tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]] = [
            ({"scope": "slipway"}, lambda hit: hit["scope"] == "slipway"),
            ({"session": "call-2026-10-11"}, lambda hit: hit["session"] == "call-2026-10-11"),
            ({"until": "2026-10-01"}, lambda hit: hit["said_at"] < "2026-10-01"),
            ({"since": "2026-10-01"}, lambda hit: hit["said_at"] >= "2026-10-01"),
            ({"kinds": ["tool_result"]}, lambda hit: hit["kind"] == "tool_result"),
        ]
        for arguments, holds in narrowed:
            hits = (await client.good("memory_recall", query="session token", **({"scope": "*"} | arguments)))["hits"]
            assert hits
            assert all(map(holds, hits)), arguments
        assert (await client.good("memory_recall", query="token", scope="*", as_of="2026-01-01"))["hits"] == []
        short = await client.good("memory_recall", query="session token", scope="*", budget_tokens=100)
        assert short["used_tokens"] <= 100 < sum(len(hit["text"]) for hit in everything) / 4
        meant = await client.texts("Who struggles with poor eyesight?", scope="*", k=1)
        assert "I can't read them without my glasses" in meant[0]

    with_client(example_home, tmp_path, use)


def test_what_waits_for_its_meaning_gets_it_in_the_background(tmp_path: Path) -> None:
    home, source = tmp_path / "home", lines(tmp_path / "a.jsonl", turn("an otter asleep"), turn("a heron awake"))
    run("capture", source, "--no-meaning", "--home", home)

    async def use(client: Client) -> None:
        for _ in range(round(BOUND_S / 0.01)):
            counts = (await client.good("memory_status"))["counts"]
            if counts["embedded"] == 2:
                break
            await asyncio.sleep(0.01)
        assert (counts["embedded"], counts["pending"]) == (2, 0)
        assert (await client.good("memory_recall", query="animal at rest", scope="*"))["degraded"] == []

    with_client(home, tmp_path, use)


def test_a_long_text_comes_in_pages_that_make_it_up_byte_for_byte(home: Path, tmp_path: Path) -> None:
    letters = "aä€𝄞"  # 1 to 4 bytes, so that a page's end falls into each of them
    text = "".join(f"{number} {letters}" for number in range(70_000))
    whole = text.encode()
    assert len(whole) > 1 << 20

    async def use(client: Client) -> None:
        kept = await client.good("memory_capture", text=text)
        for limit in (PAGE_BYTES, PAGE_BYTES - 1, PAGE_BYTES - 2, PAGE_BYTES - 3):
            pages, offset = [], 0
            while offset is not None:
                got = await client.good("memory_get", ids=[kept["id"]], offset=offset, limit=limit)
                (page,) = got["memories"]
                assert page["offset"] == offset
                assert page["size_bytes"] == len(whole)
                pages.append(page["text"].encode())
                assert len(pages[-1]) <= limit
                offset = page["next_offset"]
            assert b"".join(pages) == whole
        middle = whole.index("𝄞".encode()) + 2
        (inside,) = (await client.good("memory_get", ids=[kept["id"]], offset=middle, limit=8))["memories"]
        assert inside["text"].startswith("𝄞")
        assert whole[inside["offset"] : inside["next_offset"]] == inside["text"].encode()
        (beyond,) = (await client.good("memory_get", ids=[kept["id"]], offset=1 << 60))["memories"]
        assert (beyond["text"], beyond["next_offset"]) == ("", None)

    with_client(home, tmp_path, use)


def test_text_that_the_protocol_cannot_carry_is_written_out_and_said_to_be(home: Path, tmp_path: Path) -> None:
    source = lines(
        tmp_path / "a.jsonl", turn("an otter, half \ud83d, \x00 and \x1b[1m", session="\ud800s", id="\udfff")
    )
    run("capture", source, "--home", home)

    async def use(client: Client) -> None:
        (hit,) = (await client.good("memory_recall", query="otter", scope="*"))["hits"]
        assert hit["text"] == "an otter, half \\ud83d, \x00 and \x1b[1m"
        assert hit["escaped"] is True
        assert (hit["session"], hit["source_id"]) == ("\\ud800s", "\\udfff")
        (record,) = (await client.good("memory_get", ids=[hit["id"]]))["memories"]
        assert (record["text"], record["escaped"]) == (hit["text"], True)

    with_client(home, tmp_path, use)


# --- errors, crowds, ends --------------------------------------------------------------------------------------------

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("memory_recall", {}, "invalid_value"),
    ("memory_recall", {"query": "", "scope": "*"}, "invalid_value"),
    ("memory_recall", {"query": "x", "scope": "*", "k": 0}, "invalid_value"),
    ("memory_recall", {"query": "x", "k": "many"}, "invalid_value"),
    ("memory_recall", {"query": "x", "scope": "a/../b"}, "invalid_value"),
    ("memory_recall", {"query": "x", "scope": "nowhere"}, "unknown_scope"),
    ("memory_recall", {"query": "x", "scope": "*", "kinds": ["rumour"]}, "invalid_value"),
    ("memory_recall", {"query": "x", "scope": "*", "kinds": []}, "invalid_value"),
    ("memory_recall", {"query": "x", "scope": "*", "as_of": "yesterday"}, "bad_time"),
    ("memory_recall", {"query": "x", "scope": "*", "budget_tokens": 0}, "invalid_value"),
    ("memory_capture", {"text": " \n"}, "invalid_value"),
    ("memory_capture", {"text": "x", "kind": "rumour"}, "invalid_value"),
    ("memory_capture", {"text": "x", "scope": "*"}, "invalid_value"),
    ("memory_capture", {"text": "x", "said_at": "soon"}, "bad_time"),
    ("memory_capture", {"text": "x", "supersedes": "nothing"}, "no_such_memory"),
    ("memory_capture", {"text": "x", "supersedes": "00010203-0405-0607-0809-0a0b0c0d0e0f"}, "no_such_memory"),
    ("memory_get", {"ids": ["00010203-0405-0607-0809-0a0b0c0d0e0f"]}, "no_such_memory"),
    ("memory_get", {"ids": [], "limit": 3}, "invalid_value"),
    ("memory_get", {"ids": [], "offset": -1}, "invalid_value"),
]


def test_errors_carry_a_code_a_sentence_and_a_remedy(home: Path, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        for tool, arguments, code in WRONG:
            answer = await client.call(tool, arguments)
            assert answer.failed, (tool, arguments)
            assert answer.structured is None, "other SDKs hold it against the output schema"
            assert re.fullmatch(f"{code}: [^\n]+\\. [^\n]+\\.", answer.text), answer.text
        assert (await client.good("memory_status"))["counts"]["memories"] == 0

    with_client(home, tmp_path, use)


def test_what_may_be_left_out_may_be_null(home: Path, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        await client.good("memory_capture", text="an otter", session=None, scope=None, said_at=None, supersedes=None)
        nulls = dict.fromkeys(("scope", "budget_tokens", "since", "until", "as_of", "session", "kinds"))
        assert await client.texts("otter", **nulls) == ["an otter"]

    with_client(home, tmp_path, use)


def test_twenty_calls_at_once_are_all_answered(home: Path, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        kept = await asyncio.gather(
            *(client.good("memory_capture", text=f"otter number {number}") for number in range(20))
        )
        assert len({one["id"] for one in kept}) == 20
        found = await asyncio.gather(*(client.texts(f"otter {number}", k=1) for number in range(20)))
        assert found == [[f"otter number {number}"] for number in range(20)]

    with_client(home, tmp_path, use)


def message(number: int, method: str, **parameters: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}).encode() + b"\n"


HELLO = message(
    1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
)
GARBAGE = [
    b"\n",
    b"not json\n",
    b"\xff\xfe\x00\n",
    b"[]\n",
    b'{"jsonrpc":"2.0","id":7,"method":"no/such"}\n',
    b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"memory_forget_all"}}\n',
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"memory_recall","arguments":{"query":"\\ud800"}}}\n',
    b"[" * 100_000 + b"\n",
    b'{"half":\n',
]


def test_garbage_on_standard_input_does_not_end_it_and_standard_output_carries_only_the_protocol(
    home: Path, tmp_path: Path
) -> None:
    run("capture", lines(tmp_path / "a.jsonl", turn("a secret otter")), "--home", home)
    asked = message(99, "tools/call", name="memory_recall", arguments={"query": "otter", "scope": "*"})
    process = start("mcp", "--home", home, cwd=tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HELLO + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n' + b"".join(GARBAGE) + asked)
    process.stdin.flush()
    said = []
    while not said or said[-1].get("id") != 99:
        said.append(json.loads(process.stdout.readline()))
    assert all(one["jsonrpc"] == "2.0" for one in said)
    assert "a secret otter" in json.dumps(said[-1])
    assert "a secret otter" not in json.dumps(said[:-1])
    ended = finish(process)
    assert (ended.code, ended.out) == (0, "")
    assert "otter" not in ended.err
    log = home / "mnemic.log"
    assert "otter" not in (log.read_text("utf-8") if log.exists() else "")


def test_half_a_surrogate_pair_is_answered_and_kept_written_out(home: Path, tmp_path: Path) -> None:
    kept = message(2, "tools/call", name="memory_capture", arguments={"text": "half an otter \ud83d", "scope": "s"})
    asked = message(3, "tools/call", name="memory_recall", arguments={"query": "otter \ud83d", "scope": "s"})
    process = start("mcp", "--home", home, cwd=tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    initialized = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    answers = {}
    for said, number in ((HELLO, 1), (initialized + kept, 2), (asked, 3)):
        process.stdin.write(said)
        process.stdin.flush()
        answers[number] = json.loads(process.stdout.readline())
    assert answers[2]["result"]["structuredContent"]["created"]
    assert answers[3]["result"]["structuredContent"]["hits"][0]["text"] == r"half an otter \ud83d"
    assert finish(process).code == 0


@pytest.mark.parametrize("leaving", ["before a word", "in the middle of a message", "with a call on its way"])
def test_the_process_ends_when_its_client_vanishes(home: Path, tmp_path: Path, leaving: str) -> None:
    call = message(2, "tools/call", name="memory_recall", arguments={"query": "otter", "scope": "*"})
    left = {
        "before a word": b"",
        "in the middle of a message": HELLO + call[:20],
        "with a call on its way": HELLO + call,
    }
    process = start("mcp", "--home", home, cwd=tmp_path)
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    assert process.stdin is not None
    process.stdin.write(left[leaving])
    process.stdin.close()
    assert process.wait(timeout=BOUND_S) is not None
    assert run("doctor", "--home", home, "--json").json["checks"][0] == {
        "name": "key",
        "state": "ok",
        "detail": "it is this mind's",
        "remedy": "",
        "repairable": False,
    }
