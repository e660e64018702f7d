"""``memory_facts`` and ``memory_settle``: of the caller's project alone, and what it settles its user takes back."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.message import format_id
from mnemic.runtime.minds.projects import resolve_scope
from tests.graded import grade_pair
from tests.processes.faces import Outcome, git_project
from tests.processes.hosted import HELLO, Hosted, Wire, hosted, tool_call
from tests.waiting import until

BOTH = ("read-all", "write-all")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return git_project(tmp_path / "boat")


@pytest.fixture
def faces(home: Path, project: Path) -> Iterator[Hosted]:
    """Faces of a home with two projects, in each of which a statement replaced another and two contradict."""
    with hosted(home) as faces:
        faces.settings = {"mcp.allow": (), "mcp.share": ()}
        with faces.minds.use("default", True) as mind:
            own = resolve_scope(None, str(project))
            said = ((own, "SQLite", "Postgres 17", "Nadia"), ("bank", "MySQL", "Oracle", "Marta"))
            for scope, old, new, name in said:
                mind.remember(f"Our database is {old}.", scope=scope)
                mind.remember(f"Our database becomes {new}.", scope=scope)
                mind.remember(f"{name} works in Porto.", scope=scope)
                mind.remember(f"{name} works in Lisbon.", scope=scope)
                grade_pair(mind, home, f"{name} works in Porto", f"{name} works in Lisbon")
        yield faces


def asked(
    faces: Hosted, project: Path | None, name: str, allow: tuple[str, ...] = (), off: str = "", **arguments: Any
) -> Any:
    """What a tool answers to an assistant in a project: its result, or the text of its refusal."""
    faces.allowed = {"codex": allow}
    preface = {"folder": None if project is None else str(project), "assistant": "codex", "off": off}
    with Wire(faces.mcp, preface) as wire:
        wire.send(HELLO, tool_call(2, name, **arguments))
        wire.hear()
        result = wire.hear()["result"]
    return result["content"][0]["text"] if result.get("isError") else result["structuredContent"]


def pair_in(faces: Hosted, scope: str, *, replaced: bool = False) -> str:
    """The number of the one pair of a scope that is open, or that is not."""
    with faces.minds.use("default", True) as mind:
        (pair,) = mind.conflicts(scope=scope, replaced=replaced).conflicts
    return pair.id


# --- facts -----------------------------------------------------------------------------------------------------------


def test_what_holds_in_its_own_project_is_told_in_few_words(faces: Hosted, project: Path) -> None:
    told = asked(faces, project, "memory_facts", entity="database")
    assert (told["entity"], told["total"], told["scope"], told["scope_found"]) == ("database", 1, "boat", "git")
    (fact,) = told["facts"]
    assert fact.keys() == {"memory", "text", "state", "said_at", "holds_from", "role"}
    assert (fact["text"], fact["state"]) == ("Our database becomes Postgres 17", "holds")
    assert "." not in fact["said_at"], "no fractions of a second"
    past = asked(faces, project, "memory_facts", entity="database", history=True)["facts"][1]
    assert (past["state"], past["holds_to"], past["replaced_by"]["value"]) == (
        "replaced",
        past["replaced_by"]["at"],
        "Postgres 17",
    )
    assert past["replaced_by"].keys() == {"memory", "value", "at", "why", "id"}


def test_a_fact_tells_how_often_it_was_said_and_of_what_where_its_clause_does_not(faces: Hosted, project: Path) -> None:
    with faces.minds.use("default", True) as mind:
        scope = mind.folder_scope(str(project))[1]
        for text in ("The lantern is a beacon, and runs on oil.", "The lantern runs on oil."):
            mind.remember(text, kind="turn", scope=scope)
        mind.update_facts()
    oil, beacon = asked(faces, project, "memory_facts", entity="lantern")["facts"]
    assert (oil["text"], oil["times"]) == ("The lantern runs on oil", 2)
    assert {"times", "subject"}.isdisjoint(beacon)
    with faces.minds.use("default", True) as mind:
        mind.remember("The pier is new, and has been painted green.", kind="turn", scope=scope)
        mind.update_facts()
    (green, _) = asked(faces, project, "memory_facts", entity="pier")["facts"]
    assert (green["subject"], green["text"]) == ("The pier", "has been painted green")


def test_what_contradicts_is_told_beside_the_facts_with_the_number_that_settles_it(
    faces: Hosted, project: Path
) -> None:
    told = asked(faces, project, "memory_facts")
    (pair,) = told["conflicts"]
    assert (pair["id"], pair["grade"], pair["older"]["text"]) == (
        pair_in(faces, "boat"),
        "conflict",
        "Nadia works in Porto",
    )
    assert "verdict" not in pair
    assert "waiting" not in told, "it counts what waits in other projects, too"


def test_on_a_day_that_is_named_is_told_what_held_then(faces: Hosted, project: Path) -> None:
    assert asked(faces, project, "memory_facts", at="2020-01-01")["facts"] == []
    assert asked(faces, project, "memory_facts", at="soon").startswith("bad_time: ")


@pytest.mark.parametrize("scope", [None, "boat", "boat/"])
def test_no_fact_conflict_or_name_of_another_project_is_told(faces: Hosted, project: Path, scope: str | None) -> None:
    with faces.minds.use("default", True) as mind:
        mind.merge_entities("Porto", "Oracle")
        mind.remember("Lunch is at noon.", scope="boat")
        mind.update_facts()
        mind.merge_entities("lunch", "Marta")
    answers = [asked(faces, project, "memory_facts", scope=scope, history=history) for history in (False, True)]
    names = ("Porto", "lunch", "database")
    answers += [asked(faces, project, "memory_facts", scope=scope, entity=name) for name in names]
    assert tuple(told["entity"] for told in answers[2:]) == names
    for told in answers:
        assert told["facts"] or told["entity"] == "Porto", told
        assert not any(name in str(told) for name in ("bank", "MySQL", "Oracle", "Marta")), told
    for name in ("Mart", "Zeppelin"):
        nothing = asked(faces, project, "memory_facts", scope=scope, entity=name)
        assert (nothing["facts"], nothing["conflicts"]) == ([], [])
        (why,) = nothing["degraded"]
        assert why.startswith(f"No memory names {name!r} in boat. ")
        assert "Marta" not in why


def test_facts_of_another_project_are_refused_unless_its_owner_allows_them(faces: Hosted, project: Path) -> None:
    for scope in ("*", "bank", "/bank/", "bo", ""):
        refused = asked(faces, project, "memory_facts", scope=scope)
        assert refused.startswith("owners_choice: By MCP memories of other projects are not told"), scope
        refused = asked(faces, project, "memory_facts", ("write-all",), scope=scope)
        assert refused.startswith("owners_choice: "), scope
    for scope in ("*", "bank"):
        told = asked(faces, project, "memory_facts", ("read-all",), scope=scope)
        assert "Our database becomes Oracle" in str(told)
        assert [one.get("scope") for one in told["facts"]].count("bank") == (3 if scope == "*" else 0)


def test_facts_of_a_shared_project_are_told_and_not_settled(faces: Hosted, project: Path) -> None:
    faces.settings = {"mcp.allow": (), "mcp.share": ("bank",)}
    (pair,) = asked(faces, project, "memory_facts", scope="bank")["conflicts"]
    refused = asked(faces, project, "memory_settle", id=pair["id"], verdict="older", scope="bank")
    assert refused.startswith("owners_choice: By MCP nothing is kept or forgotten in another project")
    assert pair_in(faces, "bank") == pair["id"]


def test_who_names_no_folder_or_a_project_that_is_not_known_is_told_nothing(faces: Hosted, tmp_path: Path) -> None:
    for folder, why in ((None, "named no folder"), (git_project(tmp_path / "shelf"), "no memory is in this folder's")):
        told = asked(faces, folder, "memory_facts")
        assert (told["facts"], told["conflicts"], told["scope_found"]) == ([], [], "unknown")
        assert why in told["degraded"][0]
        assert "'*'" not in told["degraded"][0], "it is nothing for this caller"


def test_what_was_given_is_kept_by_the_memories_that_it_came_from(faces: Hosted, project: Path) -> None:
    asked(faces, project, "memory_facts", entity="database", history=True)
    pair = pair_in(faces, "boat")
    asked(faces, project, "memory_settle", id=pair, verdict="newer")
    with faces.minds.use("default", True) as mind:
        until(lambda: len(mind.log_given().deliveries) == 2)  # it is noted behind the answer
        settled, given = mind.log_given().deliveries
        assert {delivery.assistant for delivery in (settled, given)} == {"t"}
        texts = {part.id: mind.get([part.id])[0].data.decode() for part in (*settled.parts, *given.parts)}
    assert {texts[part.id] for part in given.parts} == {
        "Our database is SQLite.",
        "Our database becomes Postgres 17.",
    }
    assert "it asked for what holds" in {part.why for part in given.parts}
    clauses = {"Our database is SQLite", "Our database becomes Postgres 17"}
    assert {part.text for part in given.parts} == clauses | {"Postgres 17"}, "the value of what stands for the other"
    assert {texts[part.id] for part in settled.parts} == {"Nadia works in Porto.", "Nadia works in Lisbon."}


def test_nothing_is_told_or_settled_where_recall_is_switched_off(faces: Hosted, project: Path) -> None:
    pair = pair_in(faces, "boat")
    for off in ("recall", "both"):
        assert asked(faces, project, "memory_facts", off=off).startswith("switched_off: ")
        settled = asked(faces, project, "memory_settle", off=off, id=pair, verdict="newer")
        assert settled.startswith("switched_off: ")
    assert pair_in(faces, "boat") == pair


# --- settling --------------------------------------------------------------------------------------------------------


def test_what_it_settles_is_its_word_and_its_user_opens_it_again(
    faces: Hosted, project: Path, command: Callable[..., Outcome]
) -> None:
    pair = pair_in(faces, "boat")
    kept = asked(faces, project, "memory_settle", id=pair, verdict="newer")
    assert (kept["changed"], kept["conflict"]["verdict"], kept["conflict"]["by"]) == (True, "newer", "mcp:t")
    assert [kept["conflict"][name]["state"] for name in ("older", "newer")] == ["replaced", "holds"]
    assert asked(faces, project, "memory_facts")["conflicts"] == []
    again = asked(faces, project, "memory_settle", id=pair, verdict="older")
    assert (again["changed"], again["conflict"]["older"]["state"]) == (True, "holds"), "its own word it takes back"
    program, *undo = shlex.split(kept["undo"])
    assert (program, undo[:3]) == ("mnemic", ["conflicts", pair, "open"])
    assert command(*undo).code == 0
    assert pair_in(faces, "boat") == pair


def test_a_pair_of_another_project_is_as_unknown_as_one_that_is_not_there(faces: Hosted, project: Path) -> None:
    there = pair_in(faces, "bank")
    for id in (there, "00000000"):
        refused = asked(faces, project, "memory_settle", id=id, verdict="newer")
        assert refused.startswith(f"unknown_conflict: There is no pair of statements {id!r} in boat. ")
    for allow in ((), ("read-all",), ("write-all",)):
        refused = asked(faces, project, "memory_settle", allow, id=there, verdict="newer", scope="bank")
        assert refused.startswith("owners_choice: By MCP ")
    assert pair_in(faces, "bank") == there
    kept = asked(faces, project, "memory_settle", BOTH, id=there, verdict="newer", scope="*")
    assert (kept["conflict"]["by"], kept["conflict"]["newer"]["scope"]) == ("mcp:t", "bank")


def test_what_its_user_settled_is_settled_by_them_alone(faces: Hosted, project: Path) -> None:
    pair = pair_in(faces, "boat")
    with faces.minds.use("default", True) as mind:
        mind.settle(pair, "older")
    why = "owners_choice: By MCP nothing is settled that its user settled (who may, by `mnemic "
    for id, verdict in ((pair, "newer"), (pair.upper(), "open"), (f" {pair}", "both")):
        assert asked(faces, project, "memory_settle", id=id, verdict=verdict).startswith(why)
    with faces.minds.use("default", True) as mind:
        assert {(one.verdict, one.by) for one in mind.conflicts(replaced=True, scope="boat").conflicts} == {
            ("older", "user"),
            ("", ""),
        }
    kept = asked(faces, project, "memory_settle", ("write-all",), id=pair, verdict="newer")
    assert (kept["conflict"]["verdict"], kept["conflict"]["by"]) == ("newer", "mcp:t")


def test_a_verdict_that_is_none_is_refused(faces: Hosted, project: Path) -> None:
    pair = pair_in(faces, "boat")
    assert asked(faces, project, "memory_settle", id=pair, verdict="maybe").startswith("invalid_value: ")
    assert asked(faces, project, "memory_settle", id=pair).startswith("missing_argument: ")
    assert pair_in(faces, "boat") == pair


def test_a_recall_names_what_replaced_a_hit_by_four_words(faces: Hosted, project: Path) -> None:
    hits = {hit["text"]: hit for hit in asked(faces, project, "memory_recall", query="Our database")["hits"]}
    (by,) = hits["Our database is SQLite."]["replaced"]
    assert by.keys() == {"memory", "value", "at", "id"}
    assert (by["value"], by["id"]) == ("Postgres 17", pair_in(faces, "boat", replaced=True))
    with faces.minds.use("default", True) as mind:
        (memory,) = mind.get([by["memory"]])
    assert (memory.data, str(format_id(memory.id))) == (b"Our database becomes Postgres 17.", by["memory"])
