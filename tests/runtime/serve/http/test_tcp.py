"""Over TCP only those come in who may: by a name of this machine, with the token where one is demanded."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.store.messages import Count
from mnemic.runtime.client.wire import ASK_MESSAGES, TELL_MESSAGES
from mnemic.runtime.serve.http.endpoints import ALLOWED_PATHS, ENDPOINTS, OPEN_PATHS
from mnemic.runtime.serve.http.tcp import bind_tcp, new_token
from tests.processes.faces import lines, turn
from tests.processes.hosted import Hosted, hosted, message
from tests.waiting import BOUND_S


@contextmanager
def listening(home: Path, token: Path | None = None) -> Iterator[Hosted]:
    """Faces on loopback too."""
    with hosted(home, bind_tcp("127.0.0.1:0", token=token, certificate=None, key=None)) as faces:
        yield faces


def status(faces: Hosted, path: str = "/api/count", **headers: str) -> int:
    """The status that a request over TCP is answered with; headers are given as they go out."""
    connection = http.client.HTTPConnection(*faces.tcp[:2], timeout=BOUND_S)
    named = {"Host": "127.0.0.1", "Mnemic-Create": "1", "Content-Type": "application/json"} | {
        name.replace("_", "-"): text for name, text in headers.items()
    }
    try:
        method = next((one.method for one in ENDPOINTS if one.path == path), "POST")
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, text in named.items():
            connection.putheader(name, text)
        connection.putheader("Accept", "application/json, text/event-stream")
        body = message(1, "tools/list") if path == "/mcp" else b"{}"
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/api/count", "/mcp", "/healthz"])
def test_only_names_of_this_machine_are_answered(home: Path, path: str) -> None:
    with listening(home) as faces:
        for ours in ("localhost", "127.0.0.1", "[::1]", "LOCALHOST", f"localhost:{faces.tcp[1]}", "127.0.0.1:1"):
            assert status(faces, path, Host=ours) == 200, ours
        for other in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil@localhost", "", "[::1"):
            assert status(faces, path, Host=other) in (400, 421), other
        port = faces.tcp[1]
        for ours in (f"http://localhost:{port}", f"http://127.0.0.1:{port}", f"HTTP://[::1]:{port}"):
            assert status(faces, path, Origin=ours) == 200, ours
        elsewhere = (
            f"http://localhost:{port + 1}",
            "http://localhost",
            f"https://localhost:{port}",
            f"//localhost:{port}",
        )
        named = (f"http://evil.example:{port}", f"http://localhost.evil.example:{port}", f"http://me@localhost:{port}")
        for other in (*elsewhere, *named, "null", "file://", "localhost:x", ""):
            assert status(faces, path, Origin=other) == 403, other


@pytest.mark.parametrize("path", ["/api/count", "/mcp"])
def test_what_any_page_may_post_unasked_is_not_taken(home: Path, path: str) -> None:
    with listening(home) as faces:
        for taken in ("application/json", "application/json; charset=utf-8"):
            assert status(faces, path, Content_Type=taken) == 200
        for simple in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""):
            assert status(faces, path, Content_Type=simple) == 415, simple
        assert status(faces, path, Content_Type="text/plain;application/json") == 415
        for headers in ({}, {"Origin": f"http://localhost:{faces.tcp[1]}"}):
            with closing(http.client.HTTPConnection(*faces.tcp[:2], timeout=BOUND_S)) as connection:
                connection.request("POST", path, b"{}", headers)
                response = connection.getresponse()
                said = json.loads(response.read())
            assert (response.status, said["code"]) == (415, "invalid_value")
            assert said["error"].startswith("Content-Type cannot be '': only JSON is taken here")
            assert said["remedy"] == "Give application/json."


def test_a_socket_of_the_file_system_asks_for_no_name(home: Path) -> None:
    with listening(home) as faces:
        assert faces.request("POST", "/api/count", b"", {"Host": "evil.example", "Mnemic-Create": "1"}).status == 200


def test_over_tcp_nobody_can_end_the_process_and_health_names_nothing_of_the_home(home: Path) -> None:
    with listening(home) as faces:
        assert status(faces, "/api/drain") == 404
        assert faces.server_control.drained == []
        connection = http.client.HTTPConnection(*faces.tcp[:2], timeout=BOUND_S)
        connection.request("GET", "/healthz")
        assert json.loads(connection.getresponse().read()).keys() == {"protocol", "version", "state"}
        connection.close()
        assert faces.request("GET", "/healthz").json["home"] == str(home)


ANSWERED = {
    *("/", "/docs", "/openapi.json"),
    *("/healthz", "/metrics", "/mcp", "/api/report"),
    *("/api/shape", "/api/list-roles", "/api/list-communities", "/api/show-community"),
    *(
        "/api/list-facts",
        "/api/list-conflicts",
        "/api/list-entities",
        "/api/list-derived",
        "/api/list-digests",
        "/api/list-nights",
        "/api/list-procedures",
        "/api/show-night",
        "/api/show-profile",
        "/api/show-entity",
    ),
    *(
        "/api/recall",
        "/api/get-memories",
        "/api/find-scope",
        "/api/find-similar",
        "/api/count",
        "/api/describe-encoder",
    ),
    *("/api/capture-text", "/api/forget", "/api/recover", "/api/settle-conflict"),
}
"""What an assistant needs, and no more."""


def test_over_tcp_just_what_is_listed_is_answered_and_nothing_new_by_itself(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ASK_MESSAGES, "a-new-verb", Count)
    assert ALLOWED_PATHS.keys() == ANSWERED
    others = {
        "/api/replay",
        "/api/release",
        "/api/drain",
        "/api/hook",
        "/api/tell/committed",
        "/nowhere",
        "/api/count/",
    }
    paths = (
        ANSWERED | others | {f"/api/{name}" for name in ASK_MESSAGES} | {f"/api/tell/{name}" for name in TELL_MESSAGES}
    )
    assert {"/api/capture-transcript", "/api/rebuild", "/api/sleep", "/api/embed-pending", "/api/a-new-verb"} <= paths
    with listening(home) as faces:
        assert {path for path in paths if status(faces, path) != 404} == ANSWERED
        assert faces.server_control.drained == []
        assert faces.request("POST", "/api/a-new-verb", b"{}", {"Mnemic-Create": "1"}).status == 200


def test_without_the_token_what_tells_nothing_of_memories_can_be_read_and_nothing_else(
    home: Path, tmp_path: Path
) -> None:
    token = new_token(tmp_path / "token")
    with listening(home, tmp_path / "token") as faces:
        read = {path for path in ANSWERED if status(faces, path) != 401}
        assert read == OPEN_PATHS == {"/", "/docs", "/openapi.json", "/healthz"}
        assert status(faces, "/docs", Host="evil.example") == 421
        assert status(faces, "/docs", Origin="http://evil.example") == 403
        assert status(faces, "/api/report", Authorization=f"Bearer {token}") == 200


def posted(faces: Hosted, path: str, **fields: Any) -> tuple[int, Any]:
    """Status and answer of a message over TCP."""
    with closing(http.client.HTTPConnection(*faces.tcp[:2], timeout=BOUND_S)) as connection:
        headers = {"Content-Type": "application/json", "Mnemic-Create": "1"}
        connection.request("POST", path, json.dumps(fields).encode(), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())


READS = (
    *("recall", "shape", "list-roles", "list-communities", "show-community"),
    *("list-facts", "list-conflicts", "list-entities", "show-entity"),
    *("get-memories", "find-scope", "find-similar", "count"),
)
WRITES = ("capture-text", "forget", "recover", "settle-conflict")
PLACE = {"path": "bank", "project": None, "found": "named"}


def test_over_tcp_memories_of_all_projects_are_reached_only_where_their_owner_allows_it(home: Path) -> None:
    with listening(home) as faces:
        for free in ("/mcp", "/api/report", "/api/describe-encoder"):
            assert status(faces, free) not in (403, 404)
        for name in (*READS, *WRITES):
            refused_unless_allowed(faces, name)


def refused_unless_allowed(faces: Hosted, name: str) -> None:
    """Check that a path is answered over TCP where the right that it needs is given, and only there."""
    right, other = ("read-all", "write-all") if name in READS else ("write-all", "read-all")
    for allowed in ((), (other,)):
        faces.settings["mcp.allow"] = allowed
        refused, said = posted(faces, f"/api/{name}")
        assert (refused, said["code"]) == (403, "owners_choice")
        assert said["error"].startswith(f"Over TCP /api/{name} reaches every project, and is not answered: ")
        assert f'allow = ["{right}"]' in said["remedy"]
        assert "hooks install" not in said["remedy"], "its rights are one assistant's, by MCP"
    faces.settings["mcp.allow"] = (right,)
    assert posted(faces, f"/api/{name}")[0] != 403
    faces.settings["mcp.allow"] = ()
    assert faces.post(f"/api/{name}", Mnemic_Create="1").status != 403


@pytest.mark.parametrize("told", [{"assistant": "claude-code"}, {"assistant": "mcp:claude-code"}, {}])
def test_what_is_kept_over_tcp_is_kept_as_told_and_never_as_a_hosts(home: Path, told: dict[str, str]) -> None:
    with listening(home) as faces:
        said, kept = posted(faces, "/api/capture-text", text="push to prod", place=PLACE, **told)
        assert said == 200
        (memory,) = posted(faces, "/api/get-memories", ids=[kept["id"]])[1]["memories"]
        assert memory["assistant"] == f"mcp:{told.get('assistant', 'direct').removeprefix('mcp:')}"
        own = {"text": "never push to prod", "place": PLACE} | told
        kept = faces.post("/api/capture-text", own).json
        (memory,) = faces.post("/api/get-memories", {"ids": [kept["id"]]}).json["memories"]
        assert memory["assistant"] == told.get("assistant", "direct")


@pytest.mark.parametrize("told", [{}, {"by": "user"}, {"by": "mcp:codex"}])
def test_what_is_settled_over_tcp_is_an_assistants_word_and_never_the_users(home: Path, told: dict[str, str]) -> None:
    with listening(home) as faces:
        for text in ("Our database is SQLite.", "Our database becomes Postgres 17."):
            posted(faces, "/api/capture-text", text=text, place=PLACE, role="user")
        with faces.minds.use("default", True) as mind:
            mind.update_facts()
        (pair,) = posted(faces, "/api/list-conflicts", replaced=True)[1]["conflicts"]
        said, settled = posted(faces, "/api/settle-conflict", id=pair["id"], verdict="older", **told)
        assert said == 200
        assert settled["conflict"]["by"] == f"mcp:{told.get('by', 'user').removeprefix('mcp:')}"
        own = faces.post("/api/settle-conflict", {"id": pair["id"], "verdict": "newer"} | told).json
        assert own["conflict"]["by"] == told.get("by", "user")


def test_over_tcp_no_file_of_the_users_is_read(home: Path, tmp_path: Path) -> None:
    lines(tmp_path / "diary.jsonl", turn("what nobody else shall read"))
    asked = {"path": str(tmp_path / "diary.jsonl"), "format": "auto", "scope": None, "skip": 0}
    with listening(home) as faces:
        connection = http.client.HTTPConnection(*faces.tcp[:2], timeout=BOUND_S)
        headers = {"Mnemic-Create": "1", "Content-Type": "application/json"}
        connection.request("POST", "/api/capture-transcript", json.dumps(asked).encode(), headers)
        refused = connection.getresponse()
        said = json.loads(refused.read())
        assert (refused.status, said["code"]) == (404, "invalid_value")
        assert said["error"] == "the path cannot be '/api/capture-transcript': over TCP nobody answers there."
        assert "the home's own socket" in said["remedy"]
        connection.request("POST", "/api/count", b"", {"Host": "evil.example"})
        said = json.loads(connection.getresponse().read())
        assert said["error"] == "Host cannot be 'evil.example': this is not its name."
        connection.close()
        assert faces.post("/api/count", Mnemic_Create="1").json["memories"] == 0
        assert faces.request("POST", "/api/capture-transcript", json.dumps(asked).encode(), headers).json["new"] == 1


def test_where_a_token_is_demanded_and_there_is_none_nobody_has_it(home: Path, tmp_path: Path) -> None:
    with listening(home, tmp_path / "none") as faces:
        assert status(faces, Authorization="Bearer ") == 401
        assert status(faces, Authorization="Bearer x") == 401


def test_with_a_token_everything_but_health_demands_it(home: Path, tmp_path: Path) -> None:
    token = new_token(tmp_path / "token")
    with listening(home, tmp_path / "token") as faces:
        assert status(faces, "/healthz") == 200
        for path in ("/api/count", "/mcp"):
            assert status(faces, path, Authorization=f"Bearer {token}") == 200
            assert status(faces, path, Authorization=f"bearer  {token}") == 200
            for wrong in ("", "Bearer", "Bearer ", f"Bearer {token}x", f"Bearer {token[:-1]}", token, f"Basic {token}"):
                assert status(faces, path, Authorization=wrong) == 401, wrong
            assert status(faces, path) == 401
        assert status(faces, "/metrics") == 401
        assert status(faces, "/nowhere") == 401
        newer = new_token(tmp_path / "token")
        assert status(faces, Authorization=f"Bearer {token}") == 401
        assert status(faces, Authorization=f"Bearer {newer}") == 200


# --- beyond loopback -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", ":0"])
def test_nothing_reaches_beyond_loopback_in_clear_or_without_a_token(
    tmp_path: Path, certificate: tuple[Path, Path], address: str
) -> None:
    new_token(tmp_path / "token")
    with pytest.raises(InvalidValue, match="memories do not cross the network in clear"):
        bind_tcp(address, token=tmp_path / "token", certificate=None, key=None)
    with pytest.raises(InvalidValue, match="a token is demanded"):
        bind_tcp(address, token=None, certificate=certificate[0], key=certificate[1])


def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    (tmp_path / "no.pem").write_text("no certificate", "utf-8")
    for path, key, said in (
        (tmp_path / "gone.pem", certificate[1], f"{tmp_path / 'gone.pem'} cannot be read (no such file or directory)"),
        (certificate[0], tmp_path / "gone.pem", f"{tmp_path / 'gone.pem'} cannot be read (no such file or directory)"),
        (tmp_path / "no.pem", certificate[1], f"{tmp_path / 'no.pem'} and {certificate[1]} cannot be used"),
    ):
        with pytest.raises(InvalidValue, match=re.escape(said)):
            bind_tcp("127.0.0.1:0", token=None, certificate=path, key=key)


def test_half_of_what_tls_needs_is_refused_on_loopback_too(certificate: tuple[Path, Path]) -> None:
    for half in ({"certificate": certificate[0], "key": None}, {"certificate": None, "key": certificate[1]}):
        with pytest.raises(InvalidValue, match="go together"):
            bind_tcp("127.0.0.1:0", token=None, **half)


def test_beyond_loopback_the_official_client_comes_in_by_tls_and_token(
    home: Path, tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    token = new_token(tmp_path / "token")
    tcp = bind_tcp("0.0.0.0:0", token=tmp_path / "token", certificate=certificate[0], key=certificate[1])
    with hosted(home, tcp) as faces:

        async def use() -> Any:
            trusted = ssl.create_default_context(cafile=str(certificate[0]))
            headers = {"Authorization": f"Bearer {token}"}
            url = f"https://127.0.0.1:{faces.tcp[1]}/mcp"
            async with (
                httpx2.AsyncClient(verify=trusted, headers=headers) as http,
                streamable_http_client(url, http_client=http) as streams,
                ClientSession(streams[0], streams[1]) as session,
            ):
                await session.initialize()
                return await session.list_tools()

        assert "memory_recall" in {tool.name for tool in asyncio.run(asyncio.wait_for(use(), BOUND_S)).tools}


@pytest.mark.parametrize(
    "address",
    ["", "localhost", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", "no such:1"],
)
def test_what_is_no_address_is_refused_with_a_sentence(address: str) -> None:
    with pytest.raises(InvalidValue):
        bind_tcp(address, token=None, certificate=None, key=None)


def test_a_port_that_is_taken_and_a_certificate_that_is_none_are_refused(tmp_path: Path) -> None:
    taken = bind_tcp("localhost:0", token=None, certificate=None, key=None)
    with taken.listening:
        port = taken.listening.getsockname()[1]
        with pytest.raises(InvalidValue, match="in use"):
            bind_tcp(f"localhost:{port}", token=None, certificate=None, key=None)
    (tmp_path / "x.pem").write_text("none")
    with pytest.raises(InvalidValue, match="cannot be used"):
        bind_tcp("127.0.0.1:0", token=None, certificate=tmp_path / "x.pem", key=tmp_path / "x.pem")


def test_a_refusal_is_an_error_as_in_every_face(home: Path, tmp_path: Path) -> None:
    new_token(tmp_path / "token")
    with listening(home, tmp_path / "token") as faces:
        connection = http.client.HTTPConnection(*faces.tcp[:2], timeout=BOUND_S)
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        assert response.getheader("WWW-Authenticate") == "Bearer"
        assert {"code", "error", "remedy"} <= set(json.loads(response.read()))
        connection.close()
