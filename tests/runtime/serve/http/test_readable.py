"""JSON is laid out for a person, and is on one line for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.serve.http.readable import indented
from tests.processes.hosted import Hosted, hosted, message

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 60), 1 << 60) | st.text(st.characters()),  # lone surrogates too
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ANYTHING = {"Accept": "*/*"}
PERSON = [{"Accept": "text/html"}, {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}]
PROGRAM: list[dict[str, str]] = [{}, {"Accept": "application/json"}, {"Accept": "application/json, */*"}]


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """Faces of a home without a model, with a memory in it."""
    home = tmp_path_factory.mktemp("readable") / "home"
    home.mkdir(mode=0o700)
    (home / "mnemic.toml").write_text('[embedder]\nmodel = "/nowhere"\n', "utf-8")
    with hosted(home) as faces:
        place = {"path": "pier", "project": None, "found": "named"}
        kept = {"text": "an otter \ud83d", "role": "user", "session": "s", "place": place}
        assert faces.post("/api/capture-text", kept, Mnemic_Create="1").status == 200
        yield faces


def recalled(faces: Hosted, headers: dict[str, str], query: str = "") -> str:
    """What a recall answers, as it stands there."""
    answer = faces.request("POST", f"/api/recall{query}", b'{"query": "otter"}', headers)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert int(answer.headers["content-length"]) == len(answer.body)
    return answer.body.decode()


@given(VALUES)
def test_laid_out_it_is_the_same(value: Any) -> None:
    assert json.loads(indented(json.dumps(value).encode())) == value


def test_whoever_takes_anything_gets_every_field_indented(faces: Hosted) -> None:
    said = recalled(faces, ANYTHING)
    assert said.startswith('{\n  "type": "Recalled",\n')
    assert json.loads(said)["hits"][0] == json.loads(recalled(faces, {}))["hits"][0]
    assert '"source_id": null' in said
    assert "null" not in recalled(faces, ANYTHING, "?pretty")
    assert "\n" not in recalled(faces, ANYTHING, "?pretty=no")


@pytest.mark.parametrize("headers", PERSON)
def test_a_person_gets_it_indented_and_without_nulls(faces: Hosted, headers: dict[str, str]) -> None:
    said = recalled(faces, headers)
    assert said.startswith('{\n  "type": "Recalled",\n  "hits": [\n    {\n')
    assert "null" not in said
    (hit,) = json.loads(said)["hits"]
    assert (hit["text"], hit["said_at"][-1]) == ("an otter \ud83d", "Z")
    assert "\n" not in recalled(faces, headers, "?pretty=no")


@pytest.mark.parametrize("headers", PROGRAM)
def test_a_program_gets_every_field_on_one_line(faces: Hosted, headers: dict[str, str]) -> None:
    said = recalled(faces, headers)
    assert "\n" not in said
    assert '"source_id":null' in said
    for query in ("?pretty", "?pretty=1", "?pretty=true"):
        pretty = recalled(faces, headers, query)
        assert pretty.startswith('{\n  "type"')
        assert "null" not in pretty


def test_the_fields_of_both_are_the_same_but_for_nulls(faces: Hosted) -> None:
    (read,), (whole,) = (json.loads(recalled(faces, one))["hits"] for one in (PERSON[0], PROGRAM[0]))
    assert read == {name: value for name, value in whole.items() if value is not None}


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/nowhere", 404, "the path cannot be '/nowhere': nobody answers there."),
        ("GET", "/api/recall", 405, "the method cannot be 'GET': /api/recall does not take it."),
        ("POST", "/api/recall", 400, "recall was called without 'query', which it needs."),
    ],
)
def test_a_browser_is_told_what_is_wrong_in_words(
    faces: Hosted, method: str, path: str, status: int, said: str
) -> None:
    answer = faces.request(method, path, None if method == "GET" else b"{}", PERSON[1])
    assert (answer.status, answer.headers["content-type"]) == (status, "text/plain; charset=utf-8")
    number, sentence, remedy = answer.body.decode().strip().split("\n\n")
    assert (number, sentence) == (str(status), said)
    assert remedy
    told = faces.request(method, path, None if method == "GET" else b"{}", ANYTHING)
    assert (told.json["error"], told.json["remedy"]) == (sentence, remedy)


def test_mcp_and_hooks_get_the_bytes_that_they_got_before(faces: Hosted) -> None:
    for path, body in (("/mcp", message(1, "tools/list")), ("/api/hook", b"{}")):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        plain = faces.request("POST", path, body, headers)
        assert faces.request("POST", f"{path}?pretty", body, headers).body == plain.body
