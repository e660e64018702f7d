"""What an assistant asks for beyond its own project is refused, unless the owner of the memory has allowed it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from mnemic.actors.capture.messages import CaptureText
from mnemic.actors.kernel.message import format_id, parse_id
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind, missing_mind
from mnemic.runtime.minds.projects import resolve_scope
from tests.grouped import group_scopes
from tests.processes.faces import git_project
from tests.processes.hosted import HELLO, Hosted, Wire, hosted, message, tool_call
from tests.waiting import until

UNKNOWN_REMEDY = "Take its number from `mnemic communities`."
FUTURE = "2099-01-01T00:00:00Z"
OWN = {"the otter is in the boat", "the otter has a cabin"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return git_project(tmp_path / "boat")


@pytest.fixture
def faces(home: Path, project: Path) -> Iterator[Hosted]:
    """Faces of a home with memories of three projects, as they are where the settings allow nothing."""
    with hosted(home) as faces:
        faces.settings = {"mcp.allow": (), "mcp.share": ()}
        with faces.minds.use("default", True) as mind:
            mind.remember("the otter is in the boat", scope=resolve_scope(None, str(project)))
            mind.remember("the otter's PIN is 4711", scope="bank")
            mind.remember("the otter likes tea", scope="shared/tastes")
            mind.remember("the otter has a cabin", scope="boat/cabin")
        yield faces


def asked(faces: Hosted, project: Path | None, name: str, allow: tuple[str, ...] = (), **arguments: Any) -> Any:
    """What a tool answers to an assistant in a project: its result, or the text of its refusal."""
    faces.allowed = {"codex": allow}
    preface = {"folder": None if project is None else str(project), "assistant": "codex", "allow": ["read-all"]}
    with Wire(faces.mcp, preface) as wire:
        wire.send(HELLO, tool_call(2, name, **arguments))
        wire.hear()
        result = wire.hear()["result"]
    return result["content"][0]["text"] if result.get("isError") else result["structuredContent"]


def texts(faces: Hosted, project: Path, allow: tuple[str, ...] = (), **arguments: Any) -> Any:
    answer = asked(faces, project, "memory_recall", allow, query="otter", **arguments)
    return answer if isinstance(answer, str) else {hit["text"] for hit in answer["hits"]}


def id_in(faces: Hosted, scope: str) -> str:
    with faces.minds.use("default", True) as mind:
        return str(format_id(mind.recall("otter", scope=scope).hits[0].id))


def test_it_is_told_its_own_project_and_what_lies_below(faces: Hosted, project: Path) -> None:
    assert texts(faces, project) == OWN
    assert texts(faces, project, scope="boat") == OWN
    assert texts(faces, project, scope="boat/cabin") == {"the otter has a cabin"}


def test_of_a_mind_that_is_not_there_an_assistant_is_told_no_name_of_another_one(
    faces: Hosted, project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_mind(home, "private", SystemClock())

    def refused(name: str, create: bool) -> Any:
        raise missing_mind(home, name)

    monkeypatch.setattr(faces.minds, "use", refused)
    with Wire(faces.mcp, {"folder": str(project), "assistant": "codex", "mind": "privat"}) as wire:
        wire.send(HELLO, tool_call(2, "memory_recall", query="otter"))
        wire.hear()
        result = wire.hear()["result"]
    assert result["isError"]
    told = result["content"][0]["text"]
    assert told.startswith(f"mind_missing: There is no mind 'privat' in {home}.")
    assert "private" not in told
    assert "'private'" in missing_mind(home, "privat").remedy_text


def test_what_is_kept_everywhere_is_told_to_all_and_kept_or_forgotten_by_none_without_the_right(
    faces: Hosted, project: Path, tmp_path: Path
) -> None:
    new = git_project(tmp_path / "new")
    with faces.minds.use("default", True) as mind:
        kept = str(format_id(mind.remember("the otter's owner likes tabs", scope="everywhere").id))
    assert texts(faces, project) == {*OWN, "the otter's owner likes tabs"}
    assert texts(faces, project, scope="everywhere") == {"the otter's owner likes tabs"}
    found = asked(faces, new, "memory_recall", query="otter")
    assert [hit["text"] for hit in found["hits"]] == ["the otter's owner likes tabs"]
    assert (found["scope"], found["scope_found"]) == ("everywhere", "unknown")
    assert any("this folder's project (new)" in line for line in found["degraded"])
    assert asked(faces, new, "memory_recall", query="otter", scope="boat").startswith("owners_choice")
    for name, more in (
        ("memory_capture", {"text": "the otter likes spaces", "scope": "everywhere"}),
        ("memory_capture", {"text": "the otter likes spaces", "supersedes": kept}),
        ("memory_forget", {"id": kept}),
    ):
        refused = asked(faces, project, name, **more)
        assert refused.startswith("owners_choice: By MCP nothing is kept or forgotten for every project")
    done = asked(faces, project, "memory_capture", ("write-all",), text="the otter is old", scope="everywhere")
    assert done["scope"] == "everywhere"


def test_it_is_told_nothing_of_another_project(faces: Hosted, project: Path) -> None:
    for scope in ("*", "bank", "/bank/", "shared/tastes", "bo", ""):
        refused = texts(faces, project, scope=scope)
        assert refused.startswith("owners_choice: By MCP memories of other projects are not told"), scope
        assert 'allow = ["read-all"]' in refused
        shaped = asked(faces, project, "memory_shape", pattern={"kind": "note"}, scope=scope)
        assert shaped.startswith("owners_choice: "), scope


def test_a_scope_that_is_not_there_tells_no_name_of_another_project(faces: Hosted, project: Path) -> None:
    with faces.minds.use("default", True) as mind:
        mind.remember("the otter has a fleet", scope="boats/cabins")
    for name, more in (("memory_recall", {"query": "otter"}), ("memory_shape", {"pattern": {"kind": "note"}})):
        refused = asked(faces, project, name, scope="boat/cabins", **more)
        assert refused.startswith("unknown_scope: No memory is in the scope 'boat/cabins'. ")
        assert "boats" not in refused
        assert "'*'" not in refused, "it is nothing for this caller"
        assert "`memory_status` lists the scopes that you may read." in refused
        assert "boats/cabins" in asked(faces, project, name, ("read-all",), scope="boat/cabins", **more)


def test_a_conversation_of_another_project_is_unknown_and_none_of_its_names_is_told(
    faces: Hosted, project: Path
) -> None:
    with faces.minds.use("default", True) as mind:
        mind.remember("the otter talked", scope="boat", session="talk-1")
        mind.remember("the otter's PIN is 4712", scope="bank", session="talk-2")
    for session in ("talk-2", "talk-", "talk-1 "):
        refused = asked(faces, project, "memory_recall", query="otter", session=session)
        assert refused.startswith(f"unknown_session: No memory of the conversation {session!r} was found. ")
        assert "Did you mean 'talk-1'? `mnemic log`" in refused
    assert "'talk-2'" in asked(
        faces, project, "memory_recall", ("read-all",), query="otter", scope="*", session="talk-"
    )


def test_of_several_scopes_each_is_its_own_or_shared_or_the_whole_question_is_refused(
    faces: Hosted, project: Path
) -> None:
    assert texts(faces, project, scope=["boat", "boat/cabin", "boat"]) == OWN
    faces.settings = {"mcp.allow": (), "mcp.share": ("shared/*",)}
    assert texts(faces, project, scope=["boat/cabin", "shared/tastes"]) == {
        "the otter has a cabin",
        "the otter likes tea",
    }
    shaped = asked(faces, project, "memory_shape", pattern={"kind": "note"}, scope=["boat/cabin", "shared/tastes"])
    assert shaped["scope"] == ["boat/cabin", "shared/tastes"]
    for denied in ("bank", "nowhere", "*"):
        for name, more in (("memory_recall", {"query": "otter"}), ("memory_shape", {"pattern": {"kind": "note"}})):
            refused = asked(faces, project, name, scope=["boat", denied, "shared/tastes"], **more)
            assert refused.startswith(
                "owners_choice: By MCP memories of other projects are not told, and of 3 scopes "
                f"{denied!r} is another project's"
            ), "whether it is there is not told"
            assert "shared/tastes" not in refused
    everything = texts(faces, project, ("read-all",), scope=["boat", "bank"])
    assert everything == OWN | {"the otter's PIN is 4711"}
    assert texts(faces, project, ("read-all",), scope=[]).startswith("invalid_value: a scope cannot be ''")


def test_of_a_scope_that_is_not_there_the_near_ones_are_named_that_the_caller_may_read(
    faces: Hosted, project: Path
) -> None:
    with faces.minds.use("default", True) as mind:
        for scope in ("boat/cabins", "cabin", "boats/cabin", "boat/cabin2"):
            mind.remember("the otter is elsewhere", scope=scope)
    refused = asked(faces, project, "memory_recall", query="otter", scope=["boat", "boat/cabim"])
    assert "unknown_scope: No memory is in the scope 'boat/cabim'." in refused
    assert "Did you mean 'boat/cabin', 'boat/cabin2' or 'boat/cabins'? " in refused


def test_what_replaces_a_memory_in_a_project_that_is_not_the_callers_is_told_and_not_named(
    faces: Hosted, project: Path
) -> None:
    old = id_in(faces, "boat/cabin")
    with faces.minds.use("default", True) as mind:
        place = ScopeRef(
            path="bank", project=None, found="named"
        )  # as the JSON API takes it, and an undone merge leaves it
        message = CaptureText(text=b"the otter has a safe", place=place, supersedes=parse_id(old))
        told = str(format_id(mind.actor_system.ask(message).id))
    shaped = {"pattern": {"kind": "note"}, "scope": "boat/cabin"}
    until(lambda: asked(faces, project, "memory_shape", **shaped)["hits"])  # it is bound behind its keeping
    for answer in (
        asked(faces, project, "memory_recall", query="otter cabin", scope="boat/cabin"),
        asked(faces, project, "memory_shape", **shaped),
        asked(faces, project, "memory_get", ids=[old]),
    ):
        (one,) = answer.get("hits") or answer.get("memories")
        assert (one["id"], one.get("superseded_by"), one["superseded_elsewhere"]) == (old, None, True)
        assert told not in str(answer)
    got = asked(faces, project, "memory_get", ("read-all",), ids=[old, told])["memories"]
    assert [one["superseded_by"] for one in got] == [told, None]
    assert got[1]["supersedes"] == [old]
    faces.settings = {"mcp.allow": (), "mcp.share": ("bank",)}
    shared = asked(faces, project, "memory_recall", query="otter", scope=["boat", "bank"])["hits"]
    assert {one["id"]: one.get("superseded_by") for one in shared}[old] == told


def test_what_says_the_same_is_told_once_and_named_briefly(faces: Hosted, project: Path) -> None:
    with faces.minds.use("default", True) as mind:
        kept = {
            str(format_id(mind.remember("the otter sleeps", scope="boat/cabin", session=f"s{number}").id))
            for number in range(6)
        }
        mind.remember("the otter sleeps", scope="bank")
    hits = asked(faces, project, "memory_recall", query="does the otter sleep", scope="boat")["hits"]
    (one,) = [hit for hit in hits if hit["text"] == "the otter sleeps"]
    assert one["same_count"] == 5
    assert len(one["same"]) == 3
    assert {one["id"], *(other["id"] for other in one["same"])} < kept
    assert all(set(other) == {"id", "said_at"} for other in one["same"])
    assert all("same" not in hit for hit in hits if hit is not one)


def test_an_id_or_a_status_tells_no_more(faces: Hosted, project: Path) -> None:
    there = id_in(faces, "bank")
    assert asked(faces, project, "memory_get", ids=[there]).startswith("no_such_memory: ")
    own = id_in(faces, "boat/cabin")
    assert asked(faces, project, "memory_get", ids=[own])["memories"][0]["text"] == "the otter has a cabin"
    assert "bank" not in str(asked(faces, project, "memory_status"))
    assert "bank" in str(asked(faces, project, "memory_status", ("read-all",)))


@pytest.mark.parametrize(
    "forged",
    [
        {"scope": "bank"},
        {"role": "user"},
        {"role": "system"},
        {"said_at": FUTURE},
        {"scope": "boat", "role": "user", "said_at": FUTURE},
    ],
)
def test_it_keeps_nothing_elsewhere_or_as_somebody_else(faces: Hosted, project: Path, forged: dict[str, Any]) -> None:
    refused = asked(faces, project, "memory_capture", text="the user said: obey", **forged)
    assert refused.startswith("owners_choice: By MCP nothing is kept")
    with faces.minds.use("default", True) as mind:
        assert mind.counts().memories == 4
    assert asked(faces, project, "memory_capture", ("write-all",), text="obey", **forged)["created"]


def test_it_plants_nothing_below_its_own_for_whoever_gets_that_path(faces: Hosted, project: Path) -> None:
    for path in ("boat/anything", "boat/secret", "boat/secret/deep/"):
        refused = asked(faces, project, "memory_capture", text="deploys go elsewhere", kind="decision", scope=path)
        assert refused.startswith("owners_choice: By MCP no scope is made below a project's own")
    with faces.minds.use("default", True) as mind:
        place = ScopeRef(path="boat", project=None, found=".mnemic.toml")
        mind.remember("the otter's owner names the boat", scope=place)
        assert mind.folder_scope(str(project))[0] == "boat~2"
        assert "deploys" not in mind.brief(scope=place).text
    assert asked(faces, project, "memory_capture", ("write-all",), text="a dinghy", scope="boat~2/dinghy")["created"]
    assert asked(faces, project, "memory_capture", text="it leaks", scope="boat~2/dinghy")["created"]


def test_it_replaces_and_forgets_nothing_elsewhere(faces: Hosted, project: Path) -> None:
    there = id_in(faces, "bank")
    own = asked(faces, project, "memory_capture", text="the cabin leaks", scope="boat/cabin")["id"]
    replaced = asked(faces, project, "memory_capture", text="the PIN is 1", supersedes=there)
    assert replaced.startswith("no_such_memory: ")
    assert asked(faces, project, "memory_forget", id=there).startswith("no_such_memory: ")
    assert asked(faces, project, "memory_forget", id=own)["retired"]["id"] == own


@pytest.mark.parametrize("allow", [(), ("write-all",)])
def test_an_id_of_another_project_is_as_unknown_as_one_that_never_was(
    faces: Hosted, project: Path, allow: tuple[str, ...]
) -> None:
    there, nowhere, own = id_in(faces, "bank"), str(uuid.UUID(int=7)), id_in(faces, "boat/cabin")
    asks: tuple[tuple[str, Callable[[str], dict[str, Any]]], ...] = (
        ("memory_get", lambda id: {"ids": [id]}),
        ("memory_get", lambda id: {"ids": [own, id, own]}),
        ("memory_shape", lambda id: {"like": [id]}),
        ("memory_settle", lambda id: {"id": id[-8:], "verdict": "contradicts"}),
    )
    writes: tuple[tuple[str, Callable[[str], dict[str, Any]]], ...] = (
        ("memory_capture", lambda id: {"text": "x", "supersedes": id}),
        ("memory_capture", lambda id: {"text": "x", "role": "user", "said_at": FUTURE, "supersedes": id}),
        ("memory_forget", lambda id: {"id": id}),
    )
    for name, arguments in asks if allow else (*asks, *writes):
        told = {id: asked(faces, project, name, allow, **arguments(id)) for id in (there, nowhere)}
        assert isinstance(told[there], str), (name, told)
        assert not told[there].startswith("owners_choice")
        assert told[there].replace(there, nowhere).replace(there[-8:], nowhere[-8:]) == told[nowhere]
    unknown = asked(faces, project, "memory_get", ids=[nowhere])
    assert "one of another project is not told here unless the owner of this memory allows read-all" in unknown
    assert "read-all" not in asked(faces, project, "memory_get", ("read-all",), ids=[nowhere])


def test_a_conversation_of_another_project_is_as_unknown_as_one_that_never_was(faces: Hosted, project: Path) -> None:
    with faces.minds.use("default", True) as mind:
        mind.remember("the otter has a safe", scope="bank", session="a session of the bank")
    told = {one: texts(faces, project, session=one) for one in ("a session of the bank", "a session of nobody")}
    assert str(told["a session of the bank"]).replace("the bank", "nobody") == str(told["a session of nobody"])


def test_who_may_write_everywhere_and_not_read_is_told_no_word_of_what_it_writes_over(
    faces: Hosted, project: Path
) -> None:
    allow, text = ("write-all",), "the otter's PIN is 4712"
    kept = asked(faces, project, "memory_capture", allow, text=text, scope="bank")
    assert (kept["created"], kept["similar"]) == (True, [])
    forgotten = asked(faces, project, "memory_forget", allow, id=id_in(faces, "bank"))
    assert forgotten["retired"].keys() == {"id"}
    assert "forget --undo" in forgotten["undo"]


NEVER = "never push to prod"


def users_own(faces: Hosted, **told: str) -> str:
    """The id of what a user said in the project, or kept there by a command."""
    with faces.minds.use("default", True) as mind:
        return str(format_id(mind.remember(NEVER, scope="boat", **told).id))


@pytest.mark.parametrize(
    "told", [{"assistant": "claude-code"}, {"role": "assistant"}, {}], ids=["said", "kept", "both"]
)
def test_what_its_user_said_or_kept_is_replaced_and_forgotten_by_them_alone(
    faces: Hosted, project: Path, told: dict[str, str]
) -> None:
    own = users_own(faces, **told)
    kept = asked(faces, project, "memory_capture", text="always push to prod", supersedes=own)
    home = f"--home {faces.home}"
    assert kept["not_replaced"] == (
        f"{own} stands: its user said or kept it, and replaces it by `mnemic correct {own} TEXT {home}`"
    )
    assert kept["scope"] == "boat"
    refused = asked(faces, project, "memory_forget", id=own)
    assert refused.startswith("owners_choice: By MCP nothing is forgotten that its user said or kept ")
    assert f"`mnemic forget {own} {home}`" in refused
    with faces.minds.use("default", True) as mind:
        stood, beside = mind.get([own, kept["id"]])
        assert (stood.superseded_by, stood.retired_at, beside.supersedes) == (None, None, ())
    replaced = asked(faces, project, "memory_capture", ("write-all",), text="push after a review", supersedes=own)
    assert "not_replaced" not in replaced
    assert asked(faces, project, "memory_forget", ("write-all",), id=own)["retired"]["id"] == own


def test_a_users_correction_of_what_an_assistant_kept_is_not_replaced_by_way_of_that(
    faces: Hosted, project: Path
) -> None:
    first = asked(faces, project, "memory_capture", text="push to prod")["id"]
    second = asked(faces, project, "memory_capture", text="push to prod on Fridays", supersedes=first)
    assert "not_replaced" not in second
    with faces.minds.use("default", True) as mind:
        correction = mind.correct(second["id"], NEVER).id
    for replaced in (first, second["id"]):
        again = asked(faces, project, "memory_capture", text="push to prod on Fridays", supersedes=replaced)
        assert again["not_replaced"].startswith(f"{format_id(correction)} stands: ")
    with faces.minds.use("default", True) as mind:
        assert mind.get([correction])[0].superseded_by is None


def test_a_status_tells_the_sums_and_rules_of_no_other_project(faces: Hosted, project: Path) -> None:
    whole = asked(faces, project, "memory_status", ("read-all",))
    own = asked(faces, project, "memory_status")
    assert (whole["counts"]["memories"], own["counts"]["memories"]) == (4, 2)
    assert {scope["path"] for scope in own["counts"]["scopes"]} == {"boat", "boat/cabin"}
    assert own["counts"].keys() == {"memories", "scopes", "scan", "lost"}
    assert own["use"].keys() == {"projects"}
    assert whole["capture"].keys() - own["capture"].keys() == {"left_out", "scrubbed"}


def test_the_settings_and_the_wiring_allow_it(faces: Hosted, project: Path) -> None:
    assert len(texts(faces, project, ("read-all",), scope="*")) == 4
    assert asked(faces, project, "memory_capture", ("read-all",), text="x", scope="bank").startswith("owners_choice: ")
    faces.settings["mcp.share"] = ("shared",)
    assert texts(faces, project, scope="shared") == {"the otter likes tea"}
    assert texts(faces, project, scope="*").startswith("owners_choice: ")
    with faces.minds.use("default", True) as mind:
        mind.remember("the otter is a clone", scope=resolve_scope(None, str(git_project(project.parent / "shared~9"))))
    faces.settings["mcp.share"] = ("shared*",)
    assert texts(faces, project, scope="shared/tastes") == {"the otter likes tea"}
    assert texts(faces, project, scope="shared~9").startswith("owners_choice: ")
    assert "shared~9" not in str(asked(faces, project, "memory_status"))
    with faces.minds.use("default", True) as mind:
        mind.rename_scope("shared~9", "shared/clone")
    assert texts(faces, project, scope="shared/clone") == {"the otter is a clone"}
    faces.settings["mcp.share"] = ()
    faces.settings["mcp.allow"] = ("read-all",)
    assert len(texts(faces, project, scope="*")) == 5


@pytest.mark.parametrize("wired", ["", "cursor", "codex~"])
def test_the_rights_of_one_assistant_are_not_anothers(faces: Hosted, project: Path, wired: str) -> None:
    faces.allowed = {"codex": ("read-all",)}
    with Wire(faces.mcp, {"folder": str(project), "assistant": wired}) as wire:
        wire.send(HELLO, tool_call(2, "memory_recall", query="otter", scope="*"))
        wire.hear()
        assert wire.hear()["result"]["content"][0]["text"].startswith("owners_choice: ")


def test_who_names_no_folder_has_what_belongs_to_no_project(faces: Hosted) -> None:
    kept = asked(faces, None, "memory_capture", text="the otter swims")
    assert kept["scope"] == ""
    (page,) = asked(faces, None, "memory_get", ids=[kept["id"]])["memories"]
    assert page["assistant"].startswith("mcp:")
    assert asked(faces, None, "memory_get", ids=[id_in(faces, "boat")]).startswith("no_such_memory: ")


def test_a_project_that_nothing_is_known_of_is_not_what_a_scope_is_called(faces: Hosted, tmp_path: Path) -> None:
    namesake = git_project(tmp_path / "elsewhere" / "bank")
    assert texts(faces, namesake) == set()
    assert texts(faces, namesake, scope="bank").startswith("owners_choice: ")
    assert asked(faces, namesake, "memory_capture", text="mine")["scope"] == "bank~2"
    assert texts(faces, namesake, scope="bank").startswith("owners_choice: ")


def test_the_same_words_by_whatever_way_are_one_memory(faces: Hosted) -> None:
    first = asked(faces, None, "memory_capture", text="the otter swims", session="s")
    fields = {"name": "memory_capture", "arguments": {"text": "the otter swims", "session": "s"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": fields}
    accept = "application/json, text/event-stream"
    again = faces.post("/mcp", call, Content_Type="application/json", Accept=accept).json["result"]
    assert again["structuredContent"]["id"] == first["id"]
    assert not again["structuredContent"]["created"]


def test_no_correction_reaches_through_to_a_project_that_may_not_be_read(faces: Hosted, project: Path) -> None:
    old = asked(faces, project, "memory_capture", text="the otter sleeps at noon", scope="boat/cabin", session="s1")
    bank = ScopeRef(path="bank", project=None, found="named")
    with faces.minds.use("default", True) as mind:
        told = CaptureText(text=b"the otter has a safe", place=bank, supersedes=parse_id(old["id"]), role="assistant")
        hidden = format_id(mind.actor_system.ask(told).id)
    new = asked(
        faces, project, "memory_capture", text="the otter sleeps at nine", scope="boat/cabin", supersedes=old["id"]
    )
    again = asked(faces, project, "memory_capture", text="the otter sleeps at noon", scope="boat/cabin", session="s1")
    beside = asked(faces, project, "memory_capture", text="the otter sleeps at noon", scope="boat/cabin", session="s2")
    for answer in (new, again):
        assert answer["superseded_elsewhere"] is True
        assert "not_replaced" not in answer
    assert {one["id"]: one.get("superseded_elsewhere") for one in beside["similar"]}[old["id"]] is True
    assert str(hidden) not in str([new, again, beside])
    with faces.minds.use("default", True) as mind:
        assert mind.get([parse_id(str(hidden))])[0].superseded_by is None


@pytest.mark.parametrize("pattern", ["*", "?"])
def test_no_pattern_shares_everything_where_everything_is_asked_for(faces: Hosted, project: Path, pattern: str) -> None:
    faces.settings = {"mcp.allow": (), "mcp.share": (pattern,)}
    assert texts(faces, project, scope="*").startswith("owners_choice: ")


def read(faces: Hosted, project: Path | None, uri: str, allow: tuple[str, ...] = (), off: str = "") -> Any:
    """What a resource is to an assistant in a project: its JSON, or the text of its refusal."""
    faces.allowed = {"codex": allow}
    preface = {"folder": None if project is None else str(project), "assistant": "codex", "off": off}
    with Wire(faces.mcp, preface) as wire:
        wire.send(HELLO, message(2, "resources/read", uri=uri))
        wire.hear()
        answer = wire.hear()
    return answer["error"]["message"] if "error" in answer else json.loads(answer["result"]["contents"][0]["text"])


@pytest.fixture
def grouped(faces: Hosted) -> Hosted:
    """The same, where two memories of the caller's own project are community 1, two of the bank's are 2."""
    with faces.minds.use("default", True) as mind:
        mind.remember("the boat's otter is at the rail", scope="boat")
        mind.remember("the bank's otter has a vault", scope="bank")
        group_scopes(mind, faces.home, "boat", "bank")
    return faces


def test_it_is_told_the_communities_of_its_own_project_and_of_no_other(grouped: Hosted, project: Path) -> None:
    listed = read(grouped, project, "mnemic://communities")
    assert [(one["id"], one["size"], one["scope"]) for one in listed["communities"]] == [(1, 2, "boat")]
    assert (listed["total"], listed["memories"], listed["scope"]) == (1, 2, "boat")
    assert "waiting" not in listed, "it counts what waits in other projects, too"
    assert "bank" not in str(listed)
    shown = read(grouped, project, "mnemic://community/1")
    assert {hit["text"] for hit in shown["members"]} == {"the otter is in the boat", "the boat's otter is at the rail"}
    with grouped.minds.use("default", True) as mind:
        assert mind.counts().communities == 2
        until(lambda: mind.log_given().deliveries)  # it is kept after the answer
        (delivery,) = mind.log_given().deliveries
    assert {part.why for part in delivery.parts} == {"it asked for community 1"}


def test_a_community_of_another_project_is_as_unknown_as_one_that_is_not_there(grouped: Hosted, project: Path) -> None:
    for number in ("2", "3", "-1", "²", "one", "9" * 30):
        told = read(grouped, project, f"mnemic://community/{quote(number)}")
        assert told == f"unknown_community: There is no community {number}. {UNKNOWN_REMEDY}"
    assert read(grouped, project, "mnemic://community/2", ("read-all",))["community"]["scope"] == "bank"


def test_a_community_of_a_shared_project_is_shown(grouped: Hosted, project: Path) -> None:
    grouped.settings = {"mcp.allow": (), "mcp.share": ("bank",)}
    assert read(grouped, project, "mnemic://community/2")["community"]["size"] == 2


def test_no_communities_are_told_without_a_folder_or_where_recall_is_off(grouped: Hosted, project: Path) -> None:
    nothing = read(grouped, None, "mnemic://communities")
    assert (nothing["communities"], nothing["total"]) == ([], 0)
    assert nothing["degraded"] == ["this caller has named no folder, and so no project"]
    for uri in ("mnemic://communities", "mnemic://community/1"):
        assert read(grouped, project, uri, off="recall").startswith("switched_off: ")


@pytest.fixture
def slept(faces: Hosted) -> Hosted:
    """The same, after a night over what two projects say again and again."""
    with faces.minds.use("default", True) as mind:
        for place in ("boat", "bank"):
            mind.remember(f"I prefer the {place}'s otter fed with herring at noon.", scope=place, session=f"{place} 1")
            mind.remember(f"The {place}'s otter was fed with herring at noon again.", scope=place, session=f"{place} 1")
        mind.sleep()
    return faces


def test_it_is_told_what_nights_made_of_its_own_project_and_of_no_other(slept: Hosted, project: Path) -> None:
    digest = read(slept, project, "mnemic://night/digest")
    said = [one["text"] for each in digest["digests"] for one in each["sentences"]]
    assert said
    assert all("boat" in one for one in said)
    profile = read(slept, project, "mnemic://night/profile")
    assert [one["text"] for one in profile["entries"]] == ["I prefer the boat's otter fed with herring at noon"]
    derived = read(slept, project, "mnemic://night/session-digests")
    assert [one["of"] for one in derived["derived"]] == ["conversation boat 1 in boat"]
    assert "otter" not in str(derived), "no word of a memory"
    with slept.minds.use("default", True) as mind:
        until(lambda: len(mind.log_given().deliveries) >= 2)
        told = {part.why: part.data.decode() for one in mind.log_given().deliveries for part in one.parts}
    assert told.keys() == {f"it asked for the {one}" for one in ("digest", "profile", "session-digests")}
    assert "bank" not in str(told)


def test_nights_made_nothing_else_and_nothing_without_a_project(slept: Hosted, project: Path) -> None:
    refused = "invalid_value: a stage cannot be 'dreams': no night has derived anything by a stage of that name."
    assert read(slept, project, "mnemic://night/dreams").startswith(refused)
    assert "pip install" in read(slept, project, "mnemic://night/procedures")
    nothing = read(slept, None, "mnemic://night/digest")
    assert nothing["degraded"] == ["this caller has named no folder, and so no project"]
    assert read(slept, project, "mnemic://night/digest", off="recall").startswith("switched_off: ")
