"""The prompt `session_context` as a client meets it: the official one, over the socket and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import MCPError
from mcp.types import INVALID_PARAMS, Implementation, TextContent

from mnemic.actors.brief.compose import FRAME_START
from tests.processes.faces import claude_turn, git_project, lines
from tests.processes.hosted import HELLO, Hosted, Wire, hosted, message
from tests.processes.mcp_client import Client, Transport, over_http, over_stream, with_client
from tests.waiting import until

DECISION = "We decided: the pier lamp has 38 lumen from now on."
NOTHING = "Mnemic has nothing to tell"


@pytest.fixture
def faces(home: Path) -> Iterator[Hosted]:
    """Faces of a home without a model."""
    with hosted(home) as faces:
        yield faces


@pytest.fixture
def pier(faces: Hosted, tmp_path: Path) -> Path:
    """A project about which something was decided."""
    project = git_project(tmp_path / "pier")
    with faces.minds.use("default", True) as mind:
        mind.capture(lines(tmp_path / "one.jsonl", claude_turn(DECISION, project, 1)))
    return project


async def told(client: Client, **arguments: str) -> str:
    """What the prompt gives."""
    got = await client.session.get_prompt("session_context", arguments)
    (message,) = got.messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


async def refused(client: Client, **arguments: str) -> str:
    """Why it gives nothing."""
    with pytest.raises(MCPError) as caught:
        await client.session.get_prompt("session_context", arguments)
    return str(caught.value)


@pytest.mark.parametrize("transport", [over_stream, over_http])
def test_it_is_listed_and_tells_what_a_sessions_start_is_told(faces: Hosted, pier: Path, transport: Transport) -> None:
    async def use(client: Client) -> None:
        (prompt,) = (await client.session.list_prompts()).prompts
        assert prompt.name == "session_context"
        assert prompt.description
        assert [(one.name, one.required) for one in prompt.arguments or ()] == [("scope", False)]
        text = await told(client)
        assert text.startswith(FRAME_START)
        assert DECISION in text
        with faces.minds.use("default", True) as mind:
            start = mind.brief(scope=mind.folder_place(str(pier)), assistant="another", session="s").text
        assert text == start
        assert await told(client) == text  # whoever asks twice is told twice

    with_client(faces, pier, use, transport)


def test_what_it_gives_is_kept_as_given(faces: Hosted, pier: Path) -> None:
    async def use(client: Client) -> None:
        await told(client)

    with_client(faces, pier, use, client_info=Implementation(name="a desktop", version="1"))
    with faces.minds.use("default", True) as mind:
        until(lambda: bool(mind.log_given().deliveries))
        (given,) = mind.log_given().deliveries
    assert (given.assistant, given.occasion, given.scope) == ("a desktop", "session-start", "pier")
    assert DECISION.encode() in [part.data for part in given.parts]


def test_of_another_project_it_tells_only_what_its_owner_allows(faces: Hosted, pier: Path, tmp_path: Path) -> None:
    elsewhere = git_project(tmp_path / "quay")
    faces.settings = {"mcp.allow": (), "mcp.share": ()}

    async def without(client: Client) -> None:
        assert DECISION not in await told(client)
        for scope in ("pier", "no such one", "*"):
            assert "owners_choice: By MCP memories of other projects are not told" in await refused(client, scope=scope)

    async def with_the_right(client: Client) -> None:
        assert DECISION in await told(client, scope="pier")
        assert (await told(client)).startswith(f"{NOTHING} at the start of a session here: no memory is in this folder")
        assert "invalid_value" in await refused(client, scope="*")

    with_client(faces, elsewhere, without)
    faces.settings = {"mcp.allow": ("read-all",), "mcp.share": ()}
    with_client(faces, elsewhere, with_the_right)


def test_an_argument_that_it_does_not_take_is_named(faces: Hosted, pier: Path) -> None:
    async def use(client: Client) -> None:
        for stray, near in (("scop", "Did you mean 'scope'? "), ("context", "")):
            with pytest.raises(MCPError) as caught:
                await client.session.get_prompt("session_context", {stray: "pier"})
            assert caught.value.error.code == INVALID_PARAMS
            assert str(caught.value) == (
                f"unknown_argument: session_context takes no argument {stray!r}. {near}What may be given: scope."
            )

    with_client(faces, pier, use)


def test_whoever_names_no_folder_is_told_why_there_is_nothing(faces: Hosted, pier: Path) -> None:
    async def use(client: Client) -> None:
        assert "this caller has named no folder" in await told(client)

    with_client(faces, None, use)


def test_a_pause_is_said_first(faces: Hosted, pier: Path) -> None:
    with faces.minds.use("default", True) as mind:
        mind.pause()

    async def use(client: Client) -> None:
        text = await told(client)
        assert "paused" in text.partition(DECISION)[0]

    with_client(faces, pier, use)


def test_where_recall_is_switched_off_it_tells_nothing(faces: Hosted, pier: Path) -> None:
    with Wire(faces.mcp, {"folder": str(pier), "off": "recall"}) as wire:
        wire.send(HELLO, message(2, "prompts/get", name="session_context", arguments={}))
        wire.hear()
        assert wire.hear()["error"]["message"].startswith("switched_off: ")
