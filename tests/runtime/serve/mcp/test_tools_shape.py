"""`memory_shape` as an assistant meets it: the official client, over both of the sockets that a home's process has."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp.types import Implementation

from mnemic.actors.kernel.message import format_id
from tests.grouped import group_scopes
from tests.processes.faces import git_project, lines, name_scope, turn
from tests.processes.hosted import HELLO, Hosted, Wire, hosted, tool_call
from tests.processes.mcp_client import Client, over_http, over_stream, with_client
from tests.waiting import until

FAILED = {"tool": "pytest", "outcome": "failed"}


@pytest.fixture
def faces(home: Path, tmp_path: Path) -> Iterator[Hosted]:
    """Faces of a home without a model, in which a test failed in one project and passed in another."""
    call = {"role": "assistant", "kind": "tool_call", "tool": "pytest", "said_at": "2026-11-03T10:00:00Z"}
    source = lines(
        tmp_path / "a.jsonl",
        turn("the pier's test", "p", scope="pier", outcome="failed", files=["tests/test_pier.py"], **call),
        turn("the pier is 40 m", "p", scope="pier"),
        turn("the shelf's test", "s", scope="work/shelf", outcome="failed", files=["tests/test_shelf.py"], **call),
    )
    with hosted(home) as faces:
        with faces.minds.use("default", True) as mind:
            mind.capture(source)
        yield faces


@pytest.mark.parametrize("over", [over_stream, over_http])
def test_a_pattern_is_answered_for_the_callers_project_and_for_all_where_asked(
    faces: Hosted, home: Path, tmp_path: Path, over: Any
) -> None:
    folder = name_scope(home, tmp_path / "folder", "pier")

    async def use(client: Client) -> None:
        own = await client.good("memory_shape", pattern=FAILED | {"file": "?"}, k=1)
        assert own.keys() == {"hits", "answers", "scope", "scope_found", "searched", "degraded", "took_ms"}
        assert (own["scope"], own["scope_found"]) == ("pier", ".mnemic.toml")
        (hit,) = own["hits"]
        assert hit["text"] == "the pier's test"
        assert hit["why"].keys() == FAILED.keys()
        (answer,) = own["answers"]
        assert answer["filler"].endswith("test_pier.py")
        assert answer["confidence"] > 0.9
        assert answer["memories"] == [hit["id"]]
        everything = await client.good("memory_shape", pattern=FAILED, scope="*")
        texts = [hit["text"] for hit in everything["hits"] if hit["score"] > 0.5]
        assert sorted(texts) == ["the pier's test", "the shelf's test"]
        named = await client.good("memory_shape", pattern=FAILED, scope="work")
        assert (named["scope_found"], [hit["text"] for hit in named["hits"]]) == ("named", ["the shelf's test"])

    with_client(faces, folder, use, over)


def test_a_community_narrows_and_is_asked_for_within_the_callers_project_alone(
    faces: Hosted, home: Path, tmp_path: Path
) -> None:
    folder = name_scope(home, tmp_path / "folder", "pier")
    with faces.minds.use("default", True) as mind:
        group_scopes(mind, home, "pier", "work/shelf")

    async def use(client: Client) -> None:
        asked = await client.good("memory_shape", pattern={"who": "assistant", "community": "?"})
        assert [(one["role"], one["filler"]) for one in asked["answers"]] == [("community", "1")]
        own = await client.good("memory_shape", pattern={"community": 1})
        assert sorted(hit["text"] for hit in own["hits"]) == ["the pier is 40 m", "the pier's test"]
        for number in (2, 99):
            other = await client.good("memory_shape", pattern={"community": number})
            assert other["hits"] == []
            assert other["degraded"] == [
                f"community: no memory looked through is in a community of the number {number}"
            ]

    with_client(faces, folder, use)


def test_a_caller_whose_project_is_not_known_is_given_nothing_and_told_so(faces: Hosted, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        nothing = await client.good("memory_shape", pattern=FAILED)
        assert (nothing["hits"], nothing["answers"], nothing["scope_found"]) == ([], [], "unknown")
        assert nothing["degraded"] == [
            "no memory is in this folder's project (cellar) yet; scope='*' looks through everything"
        ]

    with_client(faces, git_project(tmp_path / "cellar"), use)


def test_what_cannot_be_asked_is_refused_where_the_project_is_not_known_too(faces: Hosted, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        wrong: list[dict[str, Any]] = [
            {"pattern": {}},
            {"pattern": {"worked": "maybe"}},
            {"pattern": {"after": "edit,,test"}},
            {"pattern": FAILED, "k": 0},
        ]
        for arguments in wrong:
            failed = await client.call("memory_shape", arguments)
            assert (failed.failed, failed.text.partition(":")[0]) == (True, "invalid_value"), arguments
        unknown = await client.call("memory_shape", {"pattern": {"flie": "?"}})
        assert "Did you mean 'file'?" in unknown.text
        steps = await client.good("memory_shape", pattern={"after": "pytest, pytest failed", "then": "?"})
        assert "yet; scope='*' looks through everything" in steps["degraded"][0]
        # nothing of other projects is told: no step, no conversation, no memory
        for asked in (
            {"pattern": {"after": "zork", "then": "?"}},
            {"pattern": {"who": "?"}, "session": "nobody's"},
            {"pattern": {"who": "?"}, "since": "2026-10-01"},
            {"like": [str(uuid.UUID(int=7))]},
        ):
            nothing = await client.good("memory_shape", **asked)
            assert (nothing["hits"], nothing["answers"], len(nothing["degraded"])) == ([], [], 1)

    with_client(faces, git_project(tmp_path / "cellar"), use)
    with faces.minds.use("default", False) as mind:
        assert mind.log_given().deliveries == (), "nothing was given"


def test_what_is_like_a_memory_is_found_by_its_id_in_its_session_and_time_alone(faces: Hosted, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        first = (await client.good("memory_shape", pattern=FAILED, scope="*"))["hits"][0]
        alike = await client.good("memory_shape", like=[first["id"]], pattern={"outcome": "?"}, scope="*")
        assert first["id"] not in {hit["id"] for hit in alike["hits"]}
        assert alike["hits"]
        assert {"shape"} <= alike["hits"][0]["why"].keys()
        assert {one["role"] for one in alike["answers"]} <= {"outcome"}
        none = await client.good("memory_shape", like=[first["id"]], scope="*", until="1999-01-01")
        assert none["hits"] == []
        names = ["tests/test_pier.py", "pier", "tests/test_shelf.py"]
        (where,) = (await client.good("memory_shape", analogy=names, scope="*"))["answers"]
        assert (where["role"], where["filler"]) == ("project", "work/shelf")
        unknown = await client.call("memory_shape", {"like": [str(uuid.UUID(int=7))], "scope": "*"})
        assert unknown.text.startswith("invalid_value: a memory cannot be")

    with_client(faces, tmp_path, use)


def test_earlier_moments_like_the_last_steps_are_told(faces: Hosted, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        found = await client.good("memory_shape", here=True, scope="*")
        assert found["hits"]
        assert all(hit["why"].keys() == {"here"} for hit in found["hits"])
        assert {one["role"] for one in found["answers"]} <= {"here", "then", "helped"}
        refused = await client.call("memory_shape", {"here": True, "pattern": {"tool": "?"}, "scope": "*"})
        assert refused.text.startswith("invalid_value: the question cannot be 'here, a pattern'")

    with_client(faces, tmp_path, use)


def test_the_schema_lets_through_all_that_is_taken_and_no_error_names_what_the_tool_does_not_take(
    faces: Hosted, tmp_path: Path
) -> None:
    async def use(client: Client) -> None:
        schema = client.tools["memory_shape"].input_schema
        for filler in ("9", 9, 0.5, True):
            jsonschema.validate({"pattern": {"hour": filler}}, schema)
        for filler in (None, [9]):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate({"pattern": {"hour": filler}}, schema)
        nothing = await client.call("memory_shape", {"pattern": {}, "scope": "*"})
        assert nothing.text == (
            "invalid_value: the question cannot be 'nothing': it asks for nothing. "
            'Give a pattern, such as {"file": "?"}.'
        )

    with_client(faces, tmp_path, use)


def test_numbers_and_booleans_are_taken_as_their_text_and_what_is_neither_is_named(
    faces: Hosted, tmp_path: Path
) -> None:
    async def use(client: Client) -> None:
        for given, text in ((9, "9"), (9.0, "9"), (2026, "2026")):
            role = "date" if given == 2026 else "hour"
            number, word = [
                await client.good("memory_shape", pattern={role: one, "who": "?"}, scope="*") for one in (given, text)
            ]
            assert [hit["id"] for hit in number["hits"]] == [hit["id"] for hit in word["hits"]]
            assert (number["searched"], number["degraded"]) == (word["searched"], word["degraded"])
        steps = await client.good("memory_shape", pattern={"worked": True, "action": "?"}, scope="*")
        assert "hits" in steps
        nothing = await client.call("memory_shape", {"pattern": {"who": None}, "scope": "*"})
        assert nothing.text.startswith("invalid_value: the role who cannot be None: it is no text.")
        listed = await client.call("memory_shape", {"pattern": {"hour": [9]}, "scope": "*"})
        assert listed.text.startswith("invalid_value: the role hour cannot be '[9]': it is no text.")

    with_client(faces, tmp_path, use)


def test_what_cannot_be_asked_is_an_error_that_says_what_can(faces: Hosted, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        for arguments, code in (
            ({"pattern": {"fil": "?"}}, "unknown_role"),
            ({"pattern": {"about": "?"}}, "invalid_value"),
            ({"pattern": {}}, "invalid_value"),
            ({"pattern": FAILED, "k": 0}, "invalid_value"),
            ({"pattern": "file=?"}, "invalid_value"),
            ({"pattern": FAILED, "scope": "cellar"}, "unknown_scope"),
            ({}, "invalid_value"),
            ({"patern": FAILED}, "unknown_argument"),
        ):
            failed = await client.call("memory_shape", {"scope": "*"} | arguments)
            assert (failed.failed, failed.text.partition(":")[0]) == (True, code)
        unknown = await client.call("memory_shape", {"scope": "*", "pattern": {"fil": "?"}})
        assert ", file, " in unknown.text

    with_client(faces, tmp_path, use)


def test_what_it_gave_is_in_the_log_word_for_word_under_the_assistants_name(faces: Hosted, tmp_path: Path) -> None:
    shown: list[Any] = []

    async def use(client: Client) -> None:
        shown.append(await client.good("memory_shape", pattern=FAILED | {"file": "?"}, k=1, scope="pier"))

    with_client(faces, tmp_path, use, client_info=Implementation(name="an assistant", version="1"))
    with faces.minds.use("default", False) as mind:
        until(lambda: bool(mind.log_given().deliveries))
        (delivery,) = mind.log_given().deliveries
    assert (delivery.assistant, delivery.occasion, delivery.scope) == ("an assistant", "shape", "pier")
    assert delivery.query == "tool=pytest outcome=failed 'file=?'"
    (hit,) = shown[0]["hits"]
    part = delivery.parts[0]
    assert (format_id(part.id), part.data) == (hit["id"], b"the pier's test")
    assert part.why.startswith("tool ")
    assert any(shown[0]["answers"][0]["filler"] in one.why for one in delivery.parts), "an answer was given, too"


def test_a_session_that_was_switched_off_is_told_nothing_and_one_that_is_not_kept_asks_without_a_trace(
    faces: Hosted,
) -> None:
    call = tool_call(2, "memory_shape", pattern=FAILED, scope="*")
    for off in ("recall", "both"):
        with Wire(faces.mcp, {"off": off}) as wire:
            wire.send(HELLO, call)
            refused = {answer["id"]: answer for answer in (wire.hear() for _ in range(2))}[2]["result"]
        assert refused["isError"]
        assert refused["content"][0]["text"].startswith("switched_off: ")
    with Wire(faces.mcp, {"off": "capture", "session": "abc"}) as wire:
        wire.send(HELLO, call)
        answered = {answer["id"]: answer for answer in (wire.hear() for _ in range(2))}[2]["result"]
    assert answered["structuredContent"]["hits"]
    with faces.minds.use("default", False) as mind:
        until(lambda: bool(mind.log_given().deliveries))
        (delivery,) = mind.log_given().deliveries
    assert (delivery.session, delivery.query) == ("abc", "")


def test_http_answers_a_shape_and_lists_the_roles(faces: Hosted) -> None:
    answer = faces.post("/api/shape", {"pattern": FAILED | {"file": "?"}, "observe": False})
    assert (answer.status, answer.json["type"]) == (200, "Shaped")
    assert answer.json["answers"][0]["role"] == "file"
    listed = faces.post("/api/list-roles")
    assert (listed.status, listed.json["bound"]) == (200, 3)
    wrong = faces.post("/api/shape", {"pattern": {"fil": "?"}})
    assert (wrong.status, wrong.json["code"]) == (400, "unknown_role")


@pytest.mark.parametrize("filler", [10, 10.0, True])
def test_http_takes_numbers_and_booleans_in_a_pattern_as_every_face_does(faces: Hosted, filler: Any) -> None:
    role, text = ("worked", "yes") if filler is True else ("hour", "10")
    given, told = [
        faces.post("/api/shape", {"pattern": {role: one, "who": "?"}, "observe": False}) for one in (filler, text)
    ]
    assert given.status == told.status == 200
    assert given.json == told.json


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"pattern": {"hour": None}}, "invalid_value", "the role hour cannot be None: it is no text."),
    ({"pattern": {"hour": [9]}}, "invalid_value", "the role hour cannot be '[9]': it is no text."),
    ({"pattern": "who=ida"}, "invalid_value", "the pattern cannot be 'who=ida': it is no mapping of roles"),
    ({"analogy": "auth.py"}, "invalid_value", "the analogy cannot be 'auth.py': it is no list of names."),
    ({"analogy": {"a": 1}}, "invalid_value", "the analogy cannot be \"{'a': 1}\": it is no list of names."),
    ({"analogy": ["a", 3, "c"]}, "invalid_value", "analogy[1] cannot be 3: it is a whole number."),
    ({"since": 2026}, "invalid_value", "a time cannot be '2026': it is no text."),
    ({"patern": {}}, "unknown_argument", "shape takes no argument 'patern'."),
]


def test_http_names_what_is_wrong_in_a_sentence(faces: Hosted) -> None:
    for fields, code, said in WRONG:
        refused = faces.post("/api/shape", {"pattern": FAILED} | fields)
        assert (refused.status, refused.json["code"]) == (400, code), fields
        assert refused.json["error"].startswith(said)
