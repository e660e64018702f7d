"""The OpenAPI document says what is answered, and what is answered is as it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from mnemic.actors.kernel import errors
from mnemic.actors.kernel.message import field_help
from mnemic.runtime.client.wire import ASK_MESSAGES, TELL_MESSAGES
from mnemic.runtime.serve.http.endpoints import ENDPOINTS, JSON, NDJSON
from mnemic.runtime.serve.http.openapi import document
from mnemic.runtime.serve.http.page import example_of
from mnemic.runtime.serve.http.schemas import readable
from mnemic.runtime.version import __version__
from tests.processes.hosted import Answer, Hosted, hosted

STATUSES = set(range(200, 600))
PLACE = {"path": "pier", "project": None, "found": "named"}


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """Faces of a home without a model, with a memory in it."""
    home = tmp_path_factory.mktemp("openapi") / "home"
    home.mkdir(mode=0o700)
    (home / "mnemic.toml").write_text('[embedder]\nmodel = "/nowhere"\n', "utf-8")
    with hosted(home) as faces:
        kept = {"text": "an otter at the pier", "role": "user", "session": "s", "place": PLACE}
        assert faces.post("/api/capture-text", kept, Mnemic_Create="1").status == 200
        yield faces


def operations(made: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Each path with its method and what is said of it."""
    return [(path, method, one) for path, methods in made["paths"].items() for method, one in methods.items()]


def references(value: Any) -> Iterator[str]:
    """What is referred to, anywhere."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def with_components(schema: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """A schema that can be checked alone."""
    return {**schema, "components": made["components"]}


@pytest.mark.parametrize("over_tcp", [False, True])
def test_the_document_is_one_of_openapi(over_tcp: bool) -> None:
    made = json.loads(json.dumps(document(over_tcp)))
    assert made["openapi"] == "3.1.0"
    assert made.keys() <= {"openapi", "info", "servers", "tags", "paths", "components", "security"}
    assert (made["info"]["title"], made["info"]["version"]) == ("Mnemic", __version__)
    for reference in references(made):
        found = made
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        assert found
    for name, schema in made["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema.get("description"), name
    for parameter in made["components"]["parameters"].values():
        assert parameter.keys() == {"name", "in", "description", "schema"}
        assert parameter["in"] == "header"
    names = [one["operationId"] for _, _, one in operations(made)]
    assert len(names) == len(set(names))
    rooms = {tag["name"] for tag in made["tags"]}
    for path, method, one in operations(made):
        assert path.startswith("/"), path
        assert method in ("get", "post"), path
        assert set(one["tags"]) <= rooms
        assert one["summary"]
        assert one["responses"].keys() <= {"4XX", *map(str, STATUSES)}
        for answer in one["responses"].values():
            assert answer.keys() == {"$ref"} or answer["description"]
        for media in one.get("requestBody", {"content": {}})["content"].values():
            assert media.keys() == {"schema"}


def test_every_path_is_in_the_document_and_over_tcp_those_that_are_answered_there() -> None:
    every = {(one.path, one.method.lower()) for one in ENDPOINTS}
    assert {(path, method) for path, method, _ in operations(document(False))} == every
    assert {f"/api/{name}" for name in ASK_MESSAGES} <= {path for path, _ in every}
    assert {f"/api/tell/{name}" for name in TELL_MESSAGES} <= {path for path, _ in every}
    over_tcp = {(one.path, one.method.lower()) for one in ENDPOINTS if one.access != "socket"}
    assert {(path, method) for path, method, _ in operations(document(True))} == over_tcp


def test_over_tcp_the_token_is_asked_for_but_where_nothing_is_told_of_a_memory() -> None:
    made = document(True)
    assert made["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert made["security"] == [{"token": []}]
    open_ = {path for path, _, one in operations(made) if one.get("security") == []}
    assert open_ == {"/", "/docs", "/openapi.json", "/healthz"}
    assert "securitySchemes" not in document(False)["components"]


@pytest.mark.parametrize("name", sorted(ASK_MESSAGES))
def test_each_field_of_a_message_is_there_with_what_the_message_says_of_it(name: str) -> None:
    kind = ASK_MESSAGES[name]
    schema = document(False)["components"]["schemas"][kind.__name__]
    assert schema["properties"].keys() - {"type"} == set(kind.__struct_encode_fields__)
    for field, said in field_help(kind).items():
        encoded = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))[field]
        assert schema["properties"][encoded]["description"] == readable(said)


def test_every_status_that_errors_have_is_there_with_their_codes() -> None:
    told = document(True)["components"]["responses"]
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert f"`{kind.code}`" in told[f"Error{kind.http_status}"]["description"], name


def call(faces: Hosted, path: str, method: str, body: Any, accept: str) -> Answer:
    """One request; ``None`` is no body."""
    given = None if body is None else json.dumps(body).encode()
    return faces.request(method.upper(), path, given, {"Accept": accept, "Content-Type": JSON})


def test_every_path_of_the_document_answers_and_as_it_says(faces: Hosted) -> None:
    served = faces.request("GET", "/openapi.json").json
    assert served == json.loads(json.dumps(document(False)))
    seen = set()
    for path, method, one in operations(served):
        if path == "/api/let-go":  # answers for as long as it is listened to
            continue
        body = None
        if "requestBody" in one:
            schema = one["requestBody"]["content"][JSON]["schema"]
            body = example_of(served, schema)
            jsonschema.validate(body, with_components(schema, served))
        answer = call(faces, path, method, body, "application/json, text/event-stream")
        seen.add(answer.status)
        told = one["responses"].get(str(answer.status)) or one["responses"].get(f"{answer.status // 100}XX")
        assert told is not None, (path, answer)
        if path in ("/mcp", "/api/hook") or answer.status not in (200, 400):
            continue
        for media, content in told.get("content", {}).items():
            if media == JSON:
                jsonschema.validate(answer.json, with_components(content["schema"], served))
        if answer.status == 400:
            assert answer.json["code"] not in ("missing_argument", "unknown_argument", "bad_body"), (path, answer)
    assert {200, 307, 400} <= seen


def test_what_a_recall_answers_fits_its_schema_to_the_last_field(faces: Hosted) -> None:
    answer = faces.post("/api/recall", {"query": "otter"}).json
    made = document(False)
    jsonschema.validate(answer, with_components({"$ref": "#/components/schemas/Recalled"}, made))
    assert answer["hits"][0].keys() == made["components"]["schemas"]["Hit"]["properties"].keys()
    lines = faces.request("POST", "/api/recall", b'{"query": "otter"}', {"Accept": NDJSON}).body.splitlines()
    content = made["paths"]["/api/recall"]["post"]["responses"]["200"]["content"][NDJSON]
    for line in lines:
        jsonschema.validate(json.loads(line), with_components(content["schema"], made))


def test_what_is_no_field_is_refused_by_the_schema_as_by_the_process(faces: Hosted) -> None:
    schema = with_components({"$ref": "#/components/schemas/Recall"}, document(False))
    for wrong in ({"query": "x", "shape": "round"}, {"k": 3}, {"query": 3}, {"query": "x", "since": 5}):
        assert faces.post("/api/recall", wrong).status == 400
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
