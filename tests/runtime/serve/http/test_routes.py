"""The HTTP face: messages in, answers out, and every wrong request has its own answer."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.messages import TextCaptured
from mnemic.actors.kernel.errors import (
    ActorFailed,
    AlreadyServed,
    BadBody,
    BodyTooLong,
    DamagedStore,
    InboxFull,
    InvalidValue,
    MissingArgument,
    MnemicError,
    ModelMissing,
    NewerProcess,
    NoSuchMemory,
    OlderProcess,
    StoreBusy,
    UnknownArgument,
    UnknownCommunity,
    UnknownConflict,
    UnknownEntity,
    UnknownScope,
    UnknownSession,
)
from mnemic.actors.recall.messages import Recalled
from mnemic.actors.store.messages import Counts
from mnemic.runtime.client.wire import ASK_MESSAGES, TELL_MESSAGES, decode, decode_error
from mnemic.runtime.minds.run_dir import PROTOCOL
from mnemic.runtime.serve.http.endpoints import FIXED, HEADERS, PROTOCOL_HEADER
from mnemic.runtime.serve.http.responses import BODY_BYTES
from tests.paths import ROOT
from tests.processes.hosted import Answer, Hosted, UnixConnection, hosted, together
from tests.waiting import BOUND_S, until


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """Faces of a home without a model, for all tests of this file."""
    home = tmp_path_factory.mktemp("http") / "home"
    home.mkdir(mode=0o700)
    (home / "mnemic.toml").write_text('[embedder]\nmodel = "/nowhere"\n', "utf-8")
    with hosted(home) as faces:
        yield faces


def text_of(text: str, **fields: Any) -> dict[str, Any]:
    """The fields of a text to capture."""
    place = {"path": "pier", "project": None, "found": "named"}
    return {"text": text, "role": "user", "session": "s", "place": place} | fields


def refused(answer: Answer, status: int, kind: type[MnemicError]) -> MnemicError:
    """The error that was answered."""
    assert answer.status == status, answer
    error = decode_error(answer.json)
    assert type(error) is kind
    return error


# --- messages --------------------------------------------------------------------------------------------------------


def test_several_scopes_are_asked_at_once_and_what_says_the_same_is_one_hit(faces: Hosted) -> None:
    for session in ("x", "y"):
        for path in ("quay/a", "quay/b", "quay/c"):
            place = {"path": path, "project": None, "found": "named"}
            faces.post("/api/capture-text", text_of("a heron", session=session + path, place=place), Mnemic_Create="1")
    answer = faces.post("/api/recall", {"query": "heron", "scope": ["quay/a", "quay/c"]}).json
    assert answer["scope"] == ["quay/a", "quay/c"]
    assert sorted((hit["scope"], len(hit["same"])) for hit in answer["hits"]) == [("quay/a", 1), ("quay/c", 1)]
    assert all(one.keys() == {"id", "said_at"} for hit in answer["hits"] for one in hit["same"])
    assert faces.post("/api/recall", {"query": "heron", "scope": "quay"}).json["searched"] == 6
    error = refused(faces.post("/api/recall", {"query": "heron", "scope": ["quay/a", "quays"]}), 400, UnknownScope)
    assert str(error) == "No memory is in the scope 'quays'."
    refused(faces.post("/api/recall", {"query": "heron", "scope": []}), 400, InvalidValue)


def test_what_is_captured_is_recalled(faces: Hosted) -> None:
    kept = decode(faces.post("/api/capture-text", text_of("an otter, half \ud83d"), Mnemic_Create="1").json)
    assert isinstance(kept, TextCaptured)
    found = decode(faces.post("/api/recall", {"query": "otter"}).json)
    assert isinstance(found, Recalled)
    assert [hit.id for hit in found.hits] == [kept.id]
    assert found.hits[0].text == "an otter, half \ud83d"
    assert faces.server_control.touched[-2:] == ["capture-text", "recall"]


def test_communities_are_listed_shown_and_brought_up_to_date(faces: Hosted) -> None:
    faces.post("/api/capture-text", text_of("an otter"), Mnemic_Mind="grouped", Mnemic_Create="1")
    listed = faces.post("/api/list-communities", {"scope": ["pier"], "k": 3}, Mnemic_Mind="grouped").json
    assert (listed["type"], listed["communities"], listed["total"]) == ("CommunitiesListed", [], 0)
    asked = faces.post("/api/show-community", {"id": 7}, Mnemic_Mind="grouped")
    assert str(refused(asked, 400, UnknownCommunity)) == "There is no community 7."
    told = faces.post("/api/update-communities", {"mark": "asked"}, Mnemic_Mind="grouped").json
    assert told["type"] == "CommunityProgress"
    assert told["changes"] >= 1


def test_facts_are_read_listed_settled_and_the_things_they_are_about_merged(faces: Hosted) -> None:
    def post(path: str, **fields: Any) -> Answer:
        return faces.post(f"/api/{path}", fields, Mnemic_Mind="facts", Mnemic_Create="1")

    for text in ("Our database is SQLite.", "Our database becomes Postgres 17."):
        post("capture-text", **text_of(text))
    until(lambda: post("update-facts").json["pending"] == 0)
    assert post("update-facts").json == {"type": "FactsProgress", "done": 2, "pending": 0}
    listed = post("list-facts", entity="database", scope=["pier"], history=True).json
    assert listed["type"] == "FactsListed"
    assert [(one["value"], one["state"]) for one in listed["facts"]] == [
        ("Postgres 17", "holds"),
        ("SQLite", "replaced"),
    ]
    (pair,) = post("list-conflicts", replaced=True).json["conflicts"]
    settled = post("settle-conflict", id=pair["id"], verdict="both").json
    assert (settled["changed"], settled["conflict"]["verdict"], settled["conflict"]["by"]) == (True, "both", "user")
    assert {one["name"] for one in post("list-entities", kind="tool").json["entities"]} == {"SQLite", "Postgres 17"}
    assert post("merge-names", name="SQLite", into="Postgres 17").json["entity"]["also_called"] == ["SQLite"]
    assert post("show-entity", name="sqlite").json["entity"]["name"] == "Postgres 17"
    refused(post("list-facts", entity="Zeppelin"), 400, UnknownEntity)
    refused(post("settle-conflict", id="0", verdict="both"), 400, UnknownConflict)
    wrong = refused(post("settle-conflict", id=pair["id"], verdict="maybe"), 400, InvalidValue)
    assert str(wrong).startswith("verdict cannot be 'maybe'")


def test_each_mind_is_its_own_and_made_only_when_that_is_said(faces: Hosted) -> None:
    missing = faces.post("/api/count", Mnemic_Mind="other")
    assert (missing.status, missing.json["code"]) == (404, "mind_missing")
    counts = decode(faces.post("/api/count", Mnemic_Mind="other", Mnemic_Create="1").json)
    assert isinstance(counts, Counts)
    assert counts.memories == 0


def test_the_same_trace_again_writes_once(faces: Hosted) -> None:
    for _ in range(2):
        faces.post("/api/recall", {"query": "once"}, Mnemic_Trace="a-trace", Mnemic_Mind="t", Mnemic_Create="1")
    until(lambda: faces.post("/api/count", Mnemic_Mind="t").json["seq"] > 0)
    seq = faces.post("/api/count", Mnemic_Mind="t").json["seq"]
    faces.post("/api/recall", {"query": "once"}, Mnemic_Trace="a-trace", Mnemic_Mind="t")
    faces.post("/api/recall", {"query": "twice"}, Mnemic_Trace="another", Mnemic_Mind="t")
    until(lambda: faces.post("/api/count", Mnemic_Mind="t").json["seq"] > seq)
    assert faces.post("/api/count", Mnemic_Mind="t").json["seq"] == seq + 1


def test_a_caller_that_asks_for_it_sees_progress_and_then_the_answer(faces: Hosted) -> None:
    answer = faces.post(
        "/api/recall", {"query": "otter"}, Accept="application/x-ndjson", Mnemic_Mind="p", Mnemic_Create="1"
    )
    *progress, last = map(json.loads, answer.body.splitlines())
    assert progress
    assert all(0 <= done <= total for done, total in (line["progress"] for line in progress))
    assert isinstance(decode(last["answer"]), Recalled)
    wrong = faces.post("/api/recall", {"query": ""}, Accept="application/x-ndjson", Mnemic_Mind="p")
    assert (wrong.status, type(decode_error(json.loads(wrong.body)["error"]))) == (200, InvalidValue)


def test_what_is_told_is_taken_and_the_actors_are_reported_replayed_and_released(faces: Hosted) -> None:
    assert faces.post("/api/tell/committed", {"seq": 1}, Mnemic_Create="1").json is None
    report = faces.request("GET", "/api/report").json
    assert {"store", "retriever"} <= {actor["actor"] for actor in report["actors"]}
    assert isinstance(faces.post("/api/replay").json["replayed"], int)
    assert faces.post("/api/release").json == {"released": []}


def test_health_and_metrics_are_there_for_whoever_watches(faces: Hosted) -> None:
    health = faces.request("GET", "/healthz")
    assert (health.status, health.json["state"]) == (200, "ready")
    metrics = faces.request("GET", "/metrics")
    assert (metrics.body, metrics.headers["content-type"]) == (b"mnemic_up 1\n", "text/plain; version=9")


def test_a_hundred_callers_at_once_are_all_answered(faces: Hosted) -> None:
    kept = together(
        [lambda n=n: faces.post("/api/capture-text", text_of(f"crowd {n}"), Mnemic_Create="1") for n in range(100)]  # type: ignore[misc]
    )
    assert len({decode(answer.json).id for answer in kept}) == 100


def test_a_look_that_is_nobodys_wish_keeps_nobody_awake(faces: Hosted) -> None:
    faces.server_control.touched.clear()
    assert faces.post("/api/count", Mnemic_Create="1", Mnemic_Idle="1").status == 200
    assert faces.server_control.touched == []
    assert faces.post("/api/count", Mnemic_Create="1").status == 200
    assert faces.server_control.touched == ["count"]


# --- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "fields", "headers", "kind"),
    [
        ("/api/recall", {}, {}, MissingArgument),
        ("/api/recall", {"query": "x", "shape": "round"}, {}, UnknownArgument),
        ("/api/recall", {"query": " "}, {}, InvalidValue),
        ("/api/recall", {"query": "x", "scope": "nowhere"}, {}, UnknownScope),
        ("/api/recall", {"query": "x", "session": "nobody"}, {}, UnknownSession),
        ("/api/get-memories", {"ids": [str(uuid.UUID(int=0))]}, {}, NoSuchMemory),
        ("/api/capture-transcript", {"path": "-", "format": "auto", "scope": None, "skip": 0}, {}, InvalidValue),
        ("/api/capture-transcript", {"path": "a.jsonl", "format": "auto", "scope": None, "skip": 0}, {}, InvalidValue),
        ("/api/count", {}, {"Mnemic-Mind": "../etc"}, InvalidValue),
        ("/api/count", {}, {"Mnemic-Trace": "a b"}, InvalidValue),
        ("/api/count", {}, {"Mnemic-Timeout": "soon"}, InvalidValue),
        ("/api/count", {}, {"Mnemic-Timeout": "nan"}, InvalidValue),
        ("/api/count", {}, {"Mnemic-Timeout": "inf"}, InvalidValue),
        ("/api/count", {}, {"Mnemic-Timeout": "-1"}, InvalidValue),
        ("/api/count", {}, {"Mnemic-Protocol": "one"}, InvalidValue),
        ("/api/tell/committed", {"seq": "one"}, {}, InvalidValue),
        ("/api/drain", ["now"], {}, BadBody),
    ],
)
def test_a_request_that_cannot_be_is_refused(
    faces: Hosted, path: str, fields: Any, headers: dict[str, str], kind: type[MnemicError]
) -> None:
    given = {"Mnemic-Create": "1"} | headers
    refused(faces.request("POST", path, json.dumps(fields).encode(), given), 400, kind)


@pytest.mark.parametrize("path", ["/api/apply", "/api/tell/apply", "/api/embed-query", "/api/tell/recall"])
def test_what_no_face_may_say_is_not_found(faces: Hosted, path: str) -> None:
    refused(faces.post(path, {"changes": []}), 404, InvalidValue)


def test_other_paths_and_methods_are_refused(faces: Hosted) -> None:
    refused(faces.request("GET", "/nowhere"), 404, InvalidValue)
    near = refused(faces.post("/api/recal"), 404, InvalidValue)
    assert near.remedy_text == "Give recall, which is near, or another that `/docs` lists."
    assert refused(faces.post("/api/otter"), 404, InvalidValue).remedy_text == "Give one that `/docs` lists."
    wrong = faces.request("GET", "/api/recall")
    refused(wrong, 405, InvalidValue)
    assert (wrong.json["error"], wrong.json["remedy"]) == (
        "the method cannot be 'GET': /api/recall does not take it.",
        "Give POST.",
    )
    for method in ("GET", "DELETE"):
        error = refused(faces.request(method, "/mcp"), 405, InvalidValue)
        assert str(error) == f"the method cannot be '{method}': /mcp does not take it."
    for path in ("/api/report", "/docs", "/healthz"):
        wrong = faces.post(path)
        refused(wrong, 405, InvalidValue)
        assert (wrong.headers["allow"], wrong.json["remedy"]) == ("GET, HEAD", "Give GET, HEAD.")


def test_a_body_that_is_too_long_is_refused_and_the_next_one_is_read(faces: Hosted) -> None:
    refused(faces.request("POST", "/api/recall", b" " * (BODY_BYTES + 1)), 413, BodyTooLong)
    long = faces.post("/api/capture-text", text_of("x" * (20 << 20)), Mnemic_Mind="long", Mnemic_Create="1")
    assert long.json["created"]


# What a message may hold that its type lets pass: no value of it may make an actor fail.
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(), st.text(st.characters(), max_size=5)
)
FIELDS = sorted(
    {name for path in ("recall", "capture-text", "find-scope") for name in ASK_MESSAGES[path].__struct_fields__}
)


@settings(max_examples=60)
@given(
    path=st.sampled_from(["recall", "capture-text", "get-memories", "find-scope", "count"]),
    fields=st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=4),
)
def test_no_odd_value_makes_an_actor_fail(faces: Hosted, path: str, fields: dict[str, Any]) -> None:
    base = {
        "recall": {"query": "otter"},
        "capture-text": text_of("an odd one"),
        "get-memories": {"ids": [str(uuid.UUID(int=0))]},
        "find-scope": {"place": {"path": "p", "project": None, "found": "named"}},
    }.get(path, {})
    known = {name: value for name, value in fields.items() if name in ASK_MESSAGES[path].__struct_fields__}
    answer = faces.post(f"/api/{path}", base | known, Mnemic_Mind="odd", Mnemic_Create="1")
    assert answer.status in (200, 400), (answer, base | known)


# --- versions and leaving --------------------------------------------------------------------------------------------


def test_processes_of_another_version_are_told_so(faces: Hosted) -> None:
    older = refused(faces.post("/api/count", Mnemic_Protocol=str(PROTOCOL + 1)), 426, OlderProcess)
    assert older.operands["theirs"] == PROTOCOL
    newer = refused(faces.post("/api/count", Mnemic_Protocol=str(PROTOCOL - 1)), 426, NewerProcess)
    assert newer.operands["ours"] == PROTOCOL - 1


def test_a_process_that_is_leaving_says_so_and_takes_nothing_more(faces: Hosted) -> None:
    assert faces.post("/api/drain", {"reason": "an older process", "protocol": PROTOCOL}).status == 200
    assert faces.server_control.drained == [("an older process", PROTOCOL)]
    faces.server_control.state = "draining"
    try:
        for path in ("/api/count", "/mcp"):
            answer = faces.post(path)
            assert (answer.status, answer.json["code"], answer.headers["retry-after"]) == (503, "draining", "1")
        assert faces.request("GET", "/healthz").json["code"] == "draining"
        assert faces.post("/api/drain", {"reason": "again", "protocol": PROTOCOL + 1}).status == 200
    finally:
        faces.server_control.state = "ready"


def test_a_reason_of_somebodys_own_is_not_passed_on(faces: Hosted) -> None:
    for reason in ("the otter's secret", ["mnemic serve"], None):
        assert faces.post("/api/drain", {"reason": reason, "protocol": PROTOCOL}).status == 200
        assert faces.server_control.drained.pop() == ("no reason that is known", PROTOCOL)


def test_a_foreground_process_refuses_to_leave(faces: Hosted) -> None:
    faces.server_control.mode = "foreground"
    try:
        refused(faces.post("/api/drain", {"reason": "x", "protocol": PROTOCOL}), 409, AlreadyServed)
    finally:
        faces.server_control.mode = "on-demand"


@pytest.mark.parametrize(
    ("kind", "status"),
    [(InboxFull, 503), (StoreBusy, 503), (ActorFailed, 500), (DamagedStore, 500), (ModelMissing, 500)],
)
def test_trouble_of_our_own_is_told_from_a_bad_request(kind: type[MnemicError], status: int) -> None:
    assert kind.http_status == status


# --- trouble ---------------------------------------------------------------------------------------------------------


class Held:
    """Minds whose actor system waits until it is let go, or fails."""

    def __init__(self) -> None:
        self.entered, self.go = threading.Semaphore(0), threading.Event()
        self.done = threading.Event()
        self.error: Exception | None = None
        self.actor_system = self

    @contextmanager
    def use(self, name: str, create: bool) -> Iterator[Any]:
        yield self

    def ask(self, message: Any, *_: Any, idle: bool) -> None:
        self.entered.release()
        assert self.go.wait(BOUND_S)
        if self.error is not None:
            raise self.error
        self.done.set()


def test_a_failure_is_answered_without_a_word_of_it_and_logged_by_its_place(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    held = Held()
    held.go.set()
    held.error = ZeroDivisionError("a secret otter")
    with hosted(home, minds=held) as faces:
        plain = faces.post("/api/count")
        lines = faces.post("/api/count", Accept="application/x-ndjson")
    assert (plain.status, plain.json["code"]) == (500, "error")
    assert json.loads(lines.body)["error"]["code"] == "error"
    assert b"otter" not in plain.body + lines.body
    assert "ZeroDivisionError at ask (test_routes.py" in caplog.text
    assert "otter" not in caplog.text


def test_what_was_asked_for_is_done_though_its_caller_left(home: Path) -> None:
    held = Held()
    with hosted(home, minds=held) as faces:
        connection = UnixConnection(faces.http)
        connection.request("POST", "/api/count", b"{}")
        assert held.entered.acquire(timeout=BOUND_S)
        connection.close()
        held.go.set()
        assert held.done.wait(BOUND_S)
        assert faces.request("GET", "/healthz").status == 200


def test_of_one_who_leaves_before_it_has_said_all_no_word_is_logged(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with hosted(home, minds=Held()) as faces:
        for path in ("/api/count?otter", "/api/recall", "/mcp", "/api/otter", "/api/drain"):
            connection = UnixConnection(faces.http)
            connection.putrequest("POST", path)
            connection.putheader("Content-Length", "100")
            connection.endheaders(b"otter")
            connection.close()
        until(lambda: "left before it had said what it wants" in caplog.text)
        assert faces.request("GET", "/healthz").status == 200
    assert "otter" not in caplog.text
    assert "/api/" not in caplog.text


def test_health_is_told_while_all_verbs_wait(home: Path) -> None:
    held = Held()
    with hosted(home, minds=held) as faces:
        callers = [threading.Thread(target=faces.post, args=("/api/count",)) for _ in range(20)]
        for caller in callers:
            caller.start()
        for _ in callers:
            assert held.entered.acquire(timeout=BOUND_S)
        assert faces.request("GET", "/healthz").status == 200
        held.go.set()
        for caller in callers:
            caller.join(BOUND_S)


def test_every_path_message_and_header_is_documented() -> None:
    page = (ROOT / "docs" / "http.md").read_text("utf-8")
    for name in (*ASK_MESSAGES, *TELL_MESSAGES):
        assert f"`{name}`" in page, name
    for one in FIXED:
        assert f"{one.method} {one.path}`" in page, one.path
    for header in (*HEADERS, PROTOCOL_HEADER):
        assert f"`{header}`" in page, header
