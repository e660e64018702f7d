"""The memory as an assistant meets it: the official client, over the socket that `mnemic mcp` pipes to."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from mcp import ClientSession, MCPError
from mcp.types import TextContent, TextResourceContents

import mnemic
from mnemic.runtime.serve.mcp.memory_tools import PAGE_BYTES
from mnemic.runtime.serve.mcp.recall_tools import HIT_BYTES
from mnemic.runtime.serve.mcp.tools import INSTRUCTIONS
from tests.paths import ROOT
from tests.processes.faces import claude_turn, git_project, lines, turn
from tests.processes.hosted import Hosted, hosted
from tests.processes.mcp_client import Client, Transport, over_http, over_stream, with_client
from tests.waiting import BOUND_S

SCHEMA_TOKENS = 1_090  # of four bytes, for all tools
OFFERED_TOKENS = 1_360  # with resources and instructions
TOOLS = {
    "memory_recall": {
        "query",
        "k",
        "scope",
        "budget_tokens",
        "hit_bytes",
        "since",
        "until",
        "at",
        "as_of",
        "session",
        "kinds",
        "files",
        "explain",
    },
    "memory_shape": {"pattern", "like", "analogy", "here", "k", "scope", "session", "since", "until"},
    "memory_capture": {"text", "role", "session", "scope", "said_at", "kind", "supersedes"},
    "memory_get": {"ids", "offset", "limit"},
    "memory_forget": {"id", "reason"},
    "memory_facts": {"entity", "at", "history", "scope"},
    "memory_settle": {"id", "verdict", "scope"},
    "memory_sleep": {"dry_run"},
    "memory_status": set(),
}
WRITERS = ("memory_capture", "memory_forget", "memory_settle", "memory_sleep")


@pytest.fixture
def faces(home: Path) -> Iterator[Hosted]:
    """Faces of a home without a model."""
    with hosted(home) as faces:
        yield faces


def capture(faces: Hosted, source: Path) -> None:
    """Take in a transcript."""
    with faces.minds.use("default", True) as mind:
        mind.capture(source)


# --- what is offered -------------------------------------------------------------------------------------------------


def test_the_tools_are_the_promised_ones_and_cost_little(faces: Hosted, tmp_path: Path) -> None:
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
            assert tool.annotations.read_only_hint is (tool.name not in WRITERS)
            assert tool.annotations.open_world_hint is False
            assert tool.output_schema is not None
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        always = {name: tool.output_schema.get("required") for name, tool in client.tools.items() if tool.output_schema}
        assert always["memory_shape"] == ["hits", "answers"]
        assert always["memory_capture"] == ["id", "created", "scope", "similar"]
        for name in WRITERS:
            writes = client.tools[name].annotations
            assert writes is not None
            assert (writes.destructive_hint, writes.idempotent_hint) == (False, True)

    with_client(faces, tmp_path, use)


def test_every_tool_and_parameter_is_documented() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text("utf-8")
    for tool, parameters in TOOLS.items():
        section = page.partition(f"\n### `{tool}`")[2].partition("\n##")[0]
        assert section, f"docs/mcp.md has no section on {tool}"
        for parameter in parameters:
            assert f"`{parameter}" in section, f"docs/mcp.md does not tell of {tool}'s {parameter}"


# --- the verbs -------------------------------------------------------------------------------------------------------


def test_what_is_captured_is_recalled_and_a_correction_outranks_it_at_once(faces: Hosted, tmp_path: Path) -> None:
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
        assert [hit.get("superseded_by") for hit in found["hits"]] == [None, new["id"]]
        assert [hit.get("supersedes") for hit in found["hits"]] == [[old["id"]], None]
        assert found["hits"][0]["why"]["prior"] > 0
        assert (found["scope"], found["scope_found"]) == ("pier", "git")
        (record,) = (await client.good("memory_get", ids=[new["id"]]))["memories"]
        assert record["supersedes"] == [old["id"]]
        assert (record["text"], record["said_at"]) == ("After the storm it is 38.", "2026-11-21T13:05:00Z")
        assert record["utc_offset_min"] == 60, "it keeps the offset that its time names"
        assert (record["kind"], record["role"], record["assistant"][:4]) == ("note", "user", "mcp:")
        assert record["session"].startswith("mcp-")

    with_client(faces, project, use)


def test_what_is_forgotten_is_found_no_more_and_the_answer_says_how_to_take_it_back(
    faces: Hosted, tmp_path: Path
) -> None:
    async def use(client: Client) -> None:
        old = await client.good("memory_capture", text="The pier is 40 m long.")
        new = await client.good("memory_capture", text="The pier is 4 m long.", supersedes=old["id"])
        gone = await client.good("memory_forget", id=new["id"], reason="a slip of the tongue")
        retired = gone["retired"]
        assert (retired["id"], retired["text"], retired["changed"]) == (new["id"], "The pier is 4 m long.", True)
        assert retired["reason"] == "a slip of the tongue"
        (hit,) = (await client.good("memory_recall", query="pier", scope="*"))["hits"]
        assert (hit["id"], "superseded_by" in hit) == (old["id"], False)
        again = await client.good("memory_forget", id=new["id"], reason="asked twice")
        assert again == gone | {"retired": retired | {"changed": False}}
        said = await client.good("memory_capture", text="The pier is 4 m long.", supersedes=old["id"])
        assert said == {
            "id": new["id"],
            "created": False,
            "scope": new["scope"],
            "retired_at": retired["retired_at"],
            "similar": [],
        }
        (record,) = (await client.good("memory_get", ids=[new["id"]]))["memories"]
        assert (record["retired_at"], record["retired_reason"]) == (retired["retired_at"], retired["reason"])
        counts = (await client.good("memory_status"))["counts"]
        assert (counts["memories"], counts["retired"]) == (2, 1)
        undo = shlex.split(gone["undo"])
        assert undo == ["mnemic", "forget", "--undo", new["id"], "--home", str(faces.home)]
        for unknown in ("nonsense", "0" * 32):
            failed = await client.call("memory_forget", {"id": unknown, "reason": ""})
            assert (failed.failed, failed.text.partition(":")[0]) == (True, "no_such_memory")

    with_client(faces, tmp_path, use)


def test_another_projects_memories_are_given_only_when_asked_for(faces: Hosted, tmp_path: Path) -> None:
    pier, shelf = git_project(tmp_path / "pier"), git_project(tmp_path / "shelf")
    source = lines(
        tmp_path / "a.jsonl", claude_turn("an otter on the pier", pier), claude_turn("an otter on the shelf", shelf)
    )
    capture(faces, source)

    async def use(client: Client) -> None:
        assert await client.texts("otter") == ["an otter on the pier"]
        assert await client.texts("otter", scope="shelf") == ["an otter on the shelf"]
        assert len(await client.texts("otter", scope="*")) == 2
        unknown = await client.call("memory_recall", {"query": "otter", "scope": "cellar"})
        assert unknown.failed
        assert unknown.text.startswith("unknown_scope: No memory is in the scope 'cellar'. ")
        assert "otter" not in unknown.text

    with_client(faces, pier, use)

    async def elsewhere(client: Client) -> None:
        assert (await client.good("memory_recall", query="otter"))["hits"] == []

    with_client(faces, git_project(tmp_path / "cellar"), elsewhere)


def test_a_recall_is_narrowed_as_on_the_command_line(example_home: Path, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        narrowed: list[tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]] = [
            ({"scope": "slipway"}, lambda hit: hit["scope"] == "slipway"),
            ({"session": "call-2026-10-11"}, lambda hit: hit["session"] == "call-2026-10-11"),
            ({"until": "2026-10-01"}, lambda hit: hit["said_at"] < "2026-10-01"),
            ({"since": "2026-10-01"}, lambda hit: hit["said_at"] >= "2026-10-01"),
            ({"since": "2026-10-11", "until": "2026-10-11"}, lambda hit: hit["said_at"].startswith("2026-10-11")),
            ({"kinds": ["tool_result"]}, lambda hit: hit["kind"] == "tool_result"),
        ]
        for arguments, holds in narrowed:
            found = await client.good("memory_recall", query="session token", **({"scope": "*"} | arguments))
            assert found["hits"]
            ids = [hit["id"] for hit in found["hits"]]
            assert all(map(holds, (await client.good("memory_get", ids=ids))["memories"])), arguments
        assert (await client.good("memory_recall", query="token", scope="*", as_of="2026-01-01"))["hits"] == []
        lasts = "how long does the session token last?"
        held = {day: await client.texts(lasts, scope="slipway", at=day) for day in ("2026-10-06", "2026-10-25")}
        day, idle = "Make the session token last 24 hours.", "The session token lasts 30 minutes of idling"
        orders = {at: [which for text in texts for which in (day, idle) if which in text] for at, texts in held.items()}
        assert orders == {"2026-10-06": [day, idle], "2026-10-25": [idle, day]}, "what held that day"
        dated = await client.good("memory_recall", query=lasts, scope="slipway", at="2026-10-06")
        assert dated["held_on"] == "2026-10-06"
        for budget in (100, 200, 400, 800):
            short = await client.good("memory_recall", query="session token", scope="*", budget_tokens=budget)
            sent = -(-len(msgspec.json.encode(short)) // 4)
            assert (short["used_tokens"], sent <= budget) == (sent, True), "as it goes out, ids and fields included"
            assert bool(short["hits"]) is (budget > 100)
            assert short["left_out"]
        meant = await client.texts("Who struggles with poor eyesight?", scope="*", k=1)
        assert "I can't read them without my glasses" in meant[0]

    with hosted(example_home) as faces:
        with_client(faces, tmp_path, use)


def test_what_waits_for_its_meaning_gets_it_in_the_background(tmp_path: Path) -> None:
    home, source = tmp_path / "home", lines(tmp_path / "a.jsonl", turn("an otter asleep"), turn("a heron awake"))
    with mnemic.open(home) as mind:
        mind.capture(source, embed=False)

    async def use(client: Client) -> None:
        await client.good("memory_capture", text="an owl on the pier")
        for _ in range(round(BOUND_S / 0.01)):
            counts = (await client.good("memory_status"))["counts"]
            if counts["embedded"] == 3:
                break
            await asyncio.sleep(0.01)
        assert (counts["embedded"], counts["pending"]) == (3, 0)
        assert (await client.good("memory_recall", query="animal at rest", scope="*"))["degraded"] == []

    with hosted(home) as faces:
        with_client(faces, tmp_path, use)


def test_a_long_text_comes_in_pages_that_make_it_up_byte_for_byte(faces: Hosted, tmp_path: Path) -> None:
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

    with_client(faces, tmp_path, use)


def test_of_a_long_memory_the_stretch_that_answers_is_told_and_more_where_more_is_asked_for(
    faces: Hosted, tmp_path: Path
) -> None:
    around = "The tide was low and the gulls were loud that day. " * 30
    text = f"{around}The otter sleeps in the blue boat. {around}"

    async def use(client: Client) -> None:
        kept = await client.good("memory_capture", text=text)
        wishes: list[tuple[dict[str, int], int]] = [({}, HIT_BYTES), ({"hit_bytes": 100}, 100)]
        for given, most in (*wishes, ({"hit_bytes": 999}, 999)):
            answer = await client.good("memory_recall", query="where does the otter sleep?", **given)
            (hit,) = answer["hits"]
            assert most - 8 < len(hit["text"]) <= most
            assert "otter sleeps in the blue boat." in hit["text"]
            assert text[hit["start_byte"] :].startswith(hit["text"])
            assert (hit["size_bytes"], answer["used_tokens"]) == (len(text), -(-len(msgspec.json.encode(answer)) // 4))
        (whole,) = (await client.good("memory_recall", query="otter", hit_bytes=1 << 20))["hits"]
        assert whole["text"] == text
        assert "size_bytes" not in whole
        (record,) = (await client.good("memory_get", ids=[kept["id"]]))["memories"]
        assert record["text"] == text
        refused = await client.call("memory_recall", {"query": "otter", "hit_bytes": 63})
        assert refused.text.startswith("invalid_value: the length of a hit cannot be 63: it is less than 64.")

    with_client(faces, git_project(tmp_path / "pier"), use)


def test_ten_hits_are_told_in_few_bytes_and_their_text_is_the_answer_once_more(
    example_home: Path, tmp_path: Path
) -> None:
    async def use(client: Client) -> None:
        result = await client.session.call_tool("memory_recall", {"query": "session token", "scope": "*"})
        found = result.structured_content
        assert found is not None
        assert len(found["hits"]) == 10
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert json.loads(content.text) == found
        texts = sum(len(hit["text"].encode()) for hit in found["hits"])
        assert len(content.text.encode()) - texts < 10 * 220 + 250
        always = {"id", "text", "kind", "role", "assistant", "said_at", "score"}
        assert all(hit.keys() >= always for hit in found["hits"])
        assert not any(None in hit.values() or hit.keys() & {"session", "source_id"} for hit in found["hits"])

    with hosted(example_home) as faces:
        with_client(faces, tmp_path, use)


def test_text_that_the_protocol_cannot_carry_is_written_out_and_said_to_be(faces: Hosted, tmp_path: Path) -> None:
    source = lines(
        tmp_path / "a.jsonl", turn("an otter, half \ud83d, \x00 and \x1b[1m", session="\ud800s", id="\udfff")
    )
    capture(faces, source)

    async def use(client: Client) -> None:
        (hit,) = (await client.good("memory_recall", query="otter", scope="*"))["hits"]
        assert hit["text"] == "an otter, half \\ud83d, \x00 and \x1b[1m"
        assert hit["escaped"] is True
        (record,) = (await client.good("memory_get", ids=[hit["id"]]))["memories"]
        assert (record["session"], record["source_id"]) == ("\\ud800s", "\\udfff")
        assert (record["text"], record["escaped"]) == (hit["text"], True)

    with_client(faces, tmp_path, use)


# --- errors, crowds, ends --------------------------------------------------------------------------------------------

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("memory_recall", {}, "missing_argument"),
    ("memory_forget", {"reason": "a slip"}, "missing_argument"),
    ("memory_recall", {"query": "x", "scope": "*", "kind": ["note"]}, "unknown_argument"),
    ("memory_status", {"mind": "other"}, "unknown_argument"),
    ("memory_recall", {"query": "", "scope": "*"}, "invalid_value"),
    ("memory_recall", {"query": "x", "scope": "*", "k": 0}, "invalid_value"),
    ("memory_recall", {"query": "x", "k": "many"}, "invalid_value: k cannot be 'many'"),
    ("memory_recall", {"query": "x", "scope": "a/../b"}, "invalid_value"),
    ("memory_recall", {"query": "x", "scope": "nowhere"}, "unknown_scope"),
    ("memory_recall", {"query": "x", "scope": "*", "session": "nobody"}, "unknown_session"),
    ("memory_recall", {"query": "x", "scope": "*", "kinds": ["rumour"]}, "invalid_value"),
    ("memory_recall", {"query": "x", "scope": "*", "kinds": []}, "invalid_value"),
    ("memory_recall", {"query": "x", "scope": "*", "as_of": "yesterday"}, "bad_time"),
    ("memory_recall", {"query": "x", "scope": "*", "at": "yesterday"}, "bad_time"),
    ("memory_recall", {"query": "x", "scope": "*", "budget_tokens": 0}, "invalid_value"),
    ("memory_capture", {"text": " \n"}, "invalid_value"),
    ("memory_capture", {"text": "x", "kind": "rumour"}, "invalid_value"),
    ("memory_capture", {"text": "x", "scope": "*"}, "invalid_value"),
    ("memory_capture", {"text": "x", "said_at": "soon"}, "bad_time"),
    ("memory_capture", {"text": "x", "supersedes": "nothing"}, "no_such_memory"),
    ("memory_capture", {"text": "x", "supersedes": "00010203-0405-0607-0809-0a0b0c0d0e0f"}, "no_such_memory"),
    ("memory_get", {"ids": ["00010203-0405-0607-0809-0a0b0c0d0e0f"]}, "no_such_memory"),
    ("memory_facts", {"scope": "*", "at": "yesterday"}, "bad_time"),
    ("memory_facts", {"scope": "nowhere"}, "unknown_scope"),
    ("memory_facts", {"relation": "be"}, "unknown_argument"),
    ("memory_settle", {"id": "00000000"}, "missing_argument"),
    ("memory_settle", {"id": "00000000", "verdict": "maybe"}, "invalid_value"),
    ("memory_settle", {"id": "00000000", "verdict": "newer", "scope": "*"}, "unknown_conflict"),
    ("memory_get", {"ids": [], "limit": 3}, "invalid_value"),
    ("memory_get", {"ids": [], "offset": -1}, "invalid_value"),
]


def test_errors_carry_a_code_a_sentence_and_a_remedy(faces: Hosted, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        for tool, arguments, code in WRONG:
            answer = await client.call(tool, arguments)
            assert answer.failed, (tool, arguments)
            assert answer.structured is None, "other SDKs hold it against the output schema"
            assert re.fullmatch(f"{code}: [^\n]+\\. [^\n]+\\.", answer.text), answer.text
        assert (await client.good("memory_status"))["counts"]["memories"] == 0

    with_client(faces, tmp_path, use)


def test_a_memory_may_be_forgotten_without_a_reason(faces: Hosted, tmp_path: Path) -> None:
    unsaid: tuple[dict[str, Any], ...] = ({}, {"reason": None}, {"reason": ""})

    async def use(client: Client) -> None:
        for number, arguments in enumerate(unsaid):
            kept = await client.good("memory_capture", text=f"The pier is {number} m wide.")
            retired = (await client.good("memory_forget", id=kept["id"], **arguments))["retired"]
            assert (retired["changed"], retired["reason"]) == (True, "")

    with_client(faces, tmp_path, use)


def test_an_argument_that_a_tool_does_not_take_is_named_with_the_one_that_was_meant(
    faces: Hosted, tmp_path: Path
) -> None:
    async def use(client: Client) -> None:
        told = (await client.call("memory_recall", {"query": "x", "kind": ["note"]})).text
        assert "memory_recall takes no argument 'kind'. Did you mean 'kinds'? What may be given: query, k, " in told
        told = (await client.call("memory_status", {"colour": 1})).text
        assert told == "unknown_argument: memory_status takes no argument 'colour'. What may be given: nothing."
        told = (await client.call("memory_get", {})).text
        assert "memory_get was called without 'ids', which it needs." in told

    with_client(faces, tmp_path, use)


def test_what_may_be_left_out_may_be_null(faces: Hosted, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        await client.good("memory_capture", text="an otter", session=None, scope=None, said_at=None, supersedes=None)
        nulls = dict.fromkeys(("scope", "budget_tokens", "since", "until", "as_of", "session", "kinds"))
        assert await client.texts("otter", **nulls) == ["an otter"]

    with_client(faces, tmp_path, use)


def test_twenty_calls_at_once_are_all_answered(faces: Hosted, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        kept = await asyncio.gather(
            *(client.good("memory_capture", text=f"otter number {number}") for number in range(20))
        )
        assert len({one["id"] for one in kept}) == 20
        found = await asyncio.gather(*(client.texts(f"otter {number}", k=1) for number in range(20)))
        assert found == [[f"otter number {number}"] for number in range(20)]

    with_client(faces, tmp_path, use)


# --- callers ---------------------------------------------------------------------------------------------------------


def test_a_caller_without_a_folder_is_given_nothing_of_any_project_and_is_told_so(
    faces: Hosted, tmp_path: Path
) -> None:
    capture(faces, lines(tmp_path / "a.jsonl", claude_turn("an otter on the pier", git_project(tmp_path / "pier"))))

    async def use(client: Client) -> None:
        nothing = await client.good("memory_recall", query="otter")
        assert (nothing["hits"], nothing["scope"], nothing["scope_found"]) == ([], "", "unknown")
        (why,) = nothing["degraded"]
        assert why == "this caller has named no folder, and so no project; scope='*' looks through everything"
        assert await client.texts("otter", scope="*") == ["an otter on the pier"]
        assert (await client.good("memory_capture", text="a heron"))["scope"] == ""

    with_client(faces, None, use)
    with_client(faces, None, use, over_http)


@pytest.mark.parametrize("over", [over_stream, over_http])
def test_a_folder_whose_name_no_system_takes_is_refused_with_a_sentence(faces: Hosted, over: Transport) -> None:
    async def use(client: Client) -> None:
        for name, given in (("memory_recall", {"query": "otter"}), ("memory_capture", {"text": "an otter"})):
            refused = await client.call(name, given)
            assert refused.failed
            assert "the folder cannot be '/a/a" in refused.text
            assert "no path is so long. Give a path of at most 4095 bytes." in refused.text

    with_client(faces, Path("/a" * 10_000), use, over)


@pytest.mark.parametrize("over", [over_stream, over_http])
def test_each_caller_has_its_own_folder_and_session(faces: Hosted, tmp_path: Path, over: Transport) -> None:
    folders = [git_project(tmp_path / name) for name in ("pier", "sh elf", "dépôt")]

    for folder in folders:

        async def use(client: Client, name: str = folder.name) -> None:
            assert (await client.good("memory_capture", text=f"an otter on the {name}"))["scope"] == name
            assert await client.texts("otter") == [f"an otter on the {name}"]

        with_client(faces, folder, use, over)


@pytest.mark.parametrize("over", [over_stream, over_http])
def test_progress_is_told_to_a_client_that_asks_for_it(faces: Hosted, tmp_path: Path, over: Transport) -> None:
    async def use(client: Client) -> None:
        heard: list[tuple[float, float | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            heard.append((done, total))

        arguments = {"query": "otter", "scope": "*"}
        result = await client.session.call_tool("memory_recall", arguments, progress_callback=progress)
        assert not result.is_error
        for _ in range(round(BOUND_S / 0.01)):  # the client hands it on in a task of its own
            if heard:
                break
            await asyncio.sleep(0.01)
        assert heard
        assert all(0 <= done <= (total or 0) for done, total in heard)

    with_client(faces, tmp_path, use, over)


@pytest.mark.parametrize("over", [over_stream, over_http])
def test_the_status_and_each_memory_are_resources(faces: Hosted, tmp_path: Path, over: Transport) -> None:
    async def use(client: Client) -> None:
        listed = (await client.session.list_resources()).resources
        templates = (await client.session.list_resource_templates()).resource_templates
        assert [str(one.uri) for one in listed] == ["mnemic://status", "mnemic://communities"]
        assert [one.uri_template for one in templates] == [
            *("mnemic://memory/{id}", "mnemic://community/{id}", "mnemic://night/{made}")
        ]
        kept = await client.good("memory_capture", text="an otter, ä€𝄞")
        for uri, check in (
            ("mnemic://status", lambda value: value["counts"]["memories"] == 1),
            ("mnemic://communities", lambda value: value["communities"] == []),
            (f"mnemic://memory/{kept['id']}", lambda value: value["text"] == "an otter, ä€𝄞"),
        ):
            (content,) = (await client.session.read_resource(uri)).contents
            assert content.mime_type == "application/json"
            assert isinstance(content, TextResourceContents)
            assert check(json.loads(content.text))
        for wrong in ("nothing", "00010203-0405-0607-0809-0a0b0c0d0e0f"):
            with pytest.raises(MCPError, match="no_such_memory: There is no memory"):
                await client.session.read_resource(f"mnemic://memory/{wrong}")
            with pytest.raises(MCPError, match="unknown_community: There is no community"):
                await client.session.read_resource(f"mnemic://community/{wrong}")
        with pytest.raises(MCPError, match="Unknown resource"):
            await client.session.read_resource("mnemic://everything")

    with_client(faces, tmp_path, use, over)


def test_all_that_is_offered_costs_a_session_little(faces: Hosted, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        offered = [*client.tools.values(), *(await client.session.list_resources()).resources]
        offered += (await client.session.list_resource_templates()).resource_templates
        shown = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in offered]
        assert len(json.dumps([*shown, INSTRUCTIONS], separators=(",", ":")).encode()) / 4 <= OFFERED_TOKENS

    with_client(faces, tmp_path, use)


def test_a_client_of_the_newest_protocol_needs_no_handshake(faces: Hosted, tmp_path: Path) -> None:
    async def use(over: Transport) -> None:
        async with AsyncExitStack() as stack:
            streams = await stack.enter_async_context(over(faces, tmp_path))
            session = await stack.enter_async_context(ClientSession(*streams))
            await session.discover()
            kept = await session.call_tool("memory_capture", {"text": "an otter"})
            assert not kept.is_error
            found = await session.call_tool("memory_recall", {"query": "otter", "scope": "*"})
            assert found.structured_content is not None
            assert found.structured_content["hits"][0]["text"] == "an otter"

    for over in (over_stream, over_http):
        asyncio.run(asyncio.wait_for(use(over), BOUND_S))


@pytest.mark.parametrize("over", [over_stream, over_http])
def test_a_large_answer_arrives_whole(faces: Hosted, tmp_path: Path, over: Transport) -> None:
    text = "\x01" * (PAGE_BYTES - 8)  # six bytes each in JSON, more in JSON within JSON

    async def use(client: Client) -> None:
        kept = await client.good("memory_capture", text=text)
        (memory,) = (await client.good("memory_get", ids=[kept["id"]]))["memories"]
        assert memory["text"] == text

    with_client(faces, tmp_path, use, over)


def test_a_night_is_had_and_says_of_other_projects_only_to_who_may_read_them(faces: Hosted, tmp_path: Path) -> None:
    said = [f"The booking API listens on port 8443, and Lukas reviews it before deploy {n}." for n in range(3)]
    capture(faces, lines(tmp_path / "said.jsonl", *(turn(one, id=one, scope="boat") for one in said)))

    async def use(client: Client) -> None:
        dry = await client.good("memory_sleep", dry_run=True)
        assert dry["finished"]
        night = await client.good("memory_sleep")
        assert night["finished"]
        assert ("changes" in night) is everything

    for everything in (False, True):
        faces.settings = {"mcp.allow": ("read-all",) if everything else ()}
        with_client(faces, tmp_path, use)
    with faces.minds.use("default", False) as mind:
        assert mind.digests("session").digests
