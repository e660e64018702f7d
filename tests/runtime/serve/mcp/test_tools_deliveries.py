"""What an assistant is given by a tool or a resource is in the log, word for word, under the name it gives itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.types import Implementation

from mnemic.actors.kernel.message import format_id, parse_id
from mnemic.actors.log.messages import Delivery
from tests.processes.hosted import HELLO, Hosted, Wire, hosted, message, tool_call
from tests.processes.mcp_client import Client, over_http, over_stream, with_client
from tests.waiting import until

BOOKS = "the shelf holds nine books"


@pytest.fixture
def faces(home: Path) -> Iterator[Hosted]:
    """Faces of a home that holds two memories."""
    with hosted(home) as faces:
        with faces.minds.use("default", True) as mind:
            mind.remember(BOOKS, scope="work/shelf")
            mind.remember("the pier is long; " * 2000, scope="work/pier", session="p")
        yield faces


def given(faces: Hosted, count: int) -> tuple[Delivery, ...]:
    """What was given, oldest first, once so much is in the log."""
    with faces.minds.use("default", False) as mind:
        until(lambda: len(mind.log_given().deliveries) >= count)
        return tuple(reversed(mind.log_given().deliveries))


@pytest.mark.parametrize("over", [over_stream, over_http])
def test_every_tool_that_gives_memories_says_what_it_gave(faces: Hosted, tmp_path: Path, over: Any) -> None:
    shown: list[Any] = []

    async def use(client: Client) -> None:
        recalled = await client.good("memory_recall", query="how long is the pier?", k=1, scope="*")
        (hit,) = recalled["hits"]
        shown.append(recalled)
        page = (await client.good("memory_get", ids=[hit["id"]], offset=18, limit=180))["memories"][0]
        shown.append(page)
        assert (await client.good("memory_get", ids=[hit["id"]], offset=1 << 20))["memories"][0]["text"] == ""
        (books,) = (await client.good("memory_recall", query="books", k=1, scope="work/shelf"))["hits"]
        await client.session.read_resource(f"mnemic://memory/{books['id']}")
        shown.append((await client.good("memory_forget", id=books["id"]))["retired"])

    with_client(faces, tmp_path, use, over, client_info=Implementation(name="an assistant", version="1"))
    recalled, page, retired = shown
    pier, got, books, whole, forgotten = given(faces, 5)
    name = "an assistant" if over is over_stream else "mcp"  # over HTTP each request stands alone
    assert {one.assistant for one in (pier, got, books, whole, forgotten)} == {name}
    assert (pier.occasion, pier.scope, pier.query) == ("recall", "*", "how long is the pier?")
    assert [part.data for part in pier.parts] == [hit["text"].encode() for hit in recalled["hits"]]
    assert pier.tokens == sum(-(-len(hit["text"].encode()) // 4) for hit in recalled["hits"]) < recalled["used_tokens"]
    assert [part.why for part in pier.parts] != [""]
    assert (books.scope, [part.data for part in books.parts]) == ("work/shelf", [BOOKS.encode()])
    (part,) = got.parts
    assert (got.occasion, part.start_byte, part.data) == ("get", page["offset"], page["text"].encode())
    assert (part.why, got.tokens) == ("it asked for this one by its id", 45)
    assert [(part.data, part.why) for part in whole.parts] == [(BOOKS.encode(), "it asked for this one by its id")]
    assert [(format_id(part.id), part.data) for part in forgotten.parts] == [(retired["id"], BOOKS.encode())]
    assert [use.times for use in _uses(faces, retired["id"])] == [1, 1, 1]


def _uses(faces: Hosted, memory: str) -> tuple[Any, ...]:
    with faces.minds.use("default", False) as mind:
        (shown,) = mind.show([parse_id(memory)])
        return tuple(sorted(shown.uses, key=lambda use: -use.times))


def test_the_conversation_is_told_where_the_caller_names_it(faces: Hosted) -> None:
    with Wire(faces.mcp, {"session": "abc"}) as wire:
        wire.send(HELLO, tool_call(2, "memory_recall", query="books", scope="*", k=1))
        assert [wire.hear()["id"] for _ in range(2)] == [1, 2]
    (delivery,) = given(faces, 1)
    assert (delivery.assistant, delivery.session) == ("t", "abc")


def test_what_is_near_to_what_an_assistant_keeps_is_given_to_it(faces: Hosted) -> None:
    call = tool_call(2, "memory_capture", text=f"{BOOKS}!", scope="work/shelf")
    with Wire(faces.mcp) as wire:
        wire.send(HELLO, call)
        (similar,) = {answer["id"]: answer for answer in (wire.hear() for _ in range(2))}[2]["result"][
            "structuredContent"
        ]["similar"]
    (delivery,) = given(faces, 1)
    (part,) = delivery.parts
    assert (format_id(part.id), part.data, similar["text"]) == (similar["id"], BOOKS.encode(), BOOKS)
    assert part.why.startswith("near to what it kept: ")
    assert similar["start_byte"] == part.start_byte == 0
    with Wire(faces.mcp, {"off": "recall"}) as wire:
        wire.send(HELLO, tool_call(2, "memory_capture", text=f"{BOOKS}?", scope="work/shelf"))
        (answer,) = (answer for answer in (wire.hear() for _ in range(2)) if answer["id"] == 2)
    assert answer["result"]["structuredContent"]["similar"] == []


def test_what_was_refused_was_not_given(faces: Hosted) -> None:
    with Wire(faces.mcp) as wire:
        wire.send(
            HELLO,
            tool_call(2, "memory_recall", query="books", scope="nowhere"),
            tool_call(3, "memory_get", ids=["0199c82c-c3e8-7d04-8447-b63be0967784"]),
            message(4, "resources/read", uri="mnemic://memory/none"),
        )
        answers = {answer["id"]: answer for answer in (wire.hear() for _ in range(4))}
    assert answers[2]["result"]["isError"]
    assert answers[3]["result"]["isError"]
    assert "error" in answers[4]
    with faces.minds.use("default", False) as mind:
        mind.counts()
        assert mind.log_given().deliveries == ()
