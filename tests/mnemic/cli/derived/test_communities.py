"""`mnemic communities`: the list and one of them, as lines for a person and as JSON; what waits is taken up first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.cli.derived.communities import community_lines, list_lines
from mnemic.cli.terminal.output import plain
from tests.grouped import group_scopes
from tests.processes.faces import Outcome, lines, turn

Command = Callable[..., Outcome]

COMMUNITY: dict[str, Any] = {
    "id": 12,
    "phrases": ["tide import", "stations"],
    "scope": "slipway",
    "size": 9,
    "placed": 0,
    "first_at": "2026-09-21T18:17:13Z",
    "last_at": "2026-10-26T10:00:00Z",
    "born_at": "2026-11-01T00:00:00Z",
}
LINE = "  #12  tide import, stations  [9 memories, 2026-09-21 to 2026-10-26, slipway]"
SHOWN: dict[str, Any] = {
    "community": COMMUNITY,
    "parent": 0,
    "died_at": None,
    "members": [],
    "parts": [],
    "lineage": [],
    "neighbours": [],
    "roles": [],
}


def told(**more: Any) -> list[str]:
    return list(community_lines(SHOWN | more))


def event(kind: str, community: int, *others: int) -> dict[str, Any]:
    return {"at": "2026-11-01T00:00:00Z", "kind": kind, "community": community, "others": list(others)}


# --- lines -----------------------------------------------------------------------------------------------------------


def test_a_list_says_how_many_there_are_where_and_what_waits() -> None:
    one = COMMUNITY | {"id": 3, "phrases": [], "placed": 2, "size": 2, "last_at": COMMUNITY["first_at"], "scope": ""}
    view = {"communities": [COMMUNITY, one], "total": 5, "memories": 20, "waiting": 1, "degraded": ["no model"]}
    view |= {"scope": "slipway", "scope_found": "named"}
    assert list(map(plain, list_lines(view))) == [
        "2 of 5 communities, 20 memories in them, in slipway (named)",
        LINE,
        "  #3  (no phrase is common to it)  [2 memories (+2), 2026-09-21, no scope]",
        "1 memory came or changed since the last boundary, in the whole mind",
        "degraded: no model",
    ]
    nothing = {"communities": [], "total": 0, "memories": 0, "waiting": 0, "degraded": []}
    everything = {"scope": "*", "scope_found": "asked for"}
    (none,) = list_lines(nothing | everything)
    assert none == "0 communities, 0 memories in them, in everything"


def test_what_is_not_known_of_a_community_has_no_heading() -> None:
    assert told() == [LINE]


def test_a_part_names_its_topic_and_what_is_no_more_says_so() -> None:
    assert told(parent=4, died_at="2026-11-05T01:00:00Z") == [LINE, "a part of #4", "it is no more since 2026-11-05"]


def test_parts_neighbours_and_roles_stand_under_their_headings() -> None:
    role = {"role": "tool", "filler": "pytest", "share": 2 / 3}
    assert told(parts=[COMMUNITY], neighbours=[{"community": COMMUNITY, "share": 0.25}], roles=[role]) == [
        LINE,
        "its parts:",
        LINE,
        "joined with:",
        f"{LINE}  25 %",
        "what most of its members have:",
        "  tool=pytest  67 %",
    ]


@pytest.mark.parametrize(
    ("happened", "words"),
    [
        (event("born", 12), "was found first"),
        (event("died", 12), "was no more"),
        (event("split", 12, 12, 13, 14), "fell apart into #13, #14 and went on"),
        (event("split", 12, 13, 14), "fell apart into #13, #14"),
        (event("split", 3, 3, 12), "came out of #3"),
        (event("merged", 12, 12, 5), "took in #5"),
        (event("merged", 3, 3, 12), "went into #3"),
    ],
)
def test_what_became_of_it_is_said_as_seen_from_it(happened: dict[str, Any], words: str) -> None:
    assert told(lineage=[happened])[1:] == ["what became of it:", f"  2026-11-01  {words}"]


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def grouped(home: Path, tmp_path: Path) -> Path:
    """A home of two projects with a community each."""
    said = {"shelf": ("the velvet shelf", "paint the velvet shelf"), "boat": ("the otter cabin", "an otter cabin")}
    turns = [turn(text, scope=scope, id=text, said_at="2026-11-21") for scope, texts in said.items() for text in texts]
    with mnemic.open(home) as mind:
        mind.capture(lines(tmp_path / "a.jsonl", *turns), embed=False)
        group_scopes(mind, home, "shelf", "boat")
    return home


def test_the_command_lists_and_shows_those_of_a_scope(command: Command, grouped: Path) -> None:
    listed = command("communities", "--scope", "shelf", "--home", grouped)
    assert (listed.code, listed.err) == (0, "")
    first, one = listed.out.splitlines()
    assert first == "1 community, 2 memories in them, in shelf (named)"
    assert one.startswith("  #1  velvet shelf")
    view = command("communities", "--json", "--scope", "*", "-k", "1", "--home", grouped).json
    assert (len(view["communities"]), view["total"], view["scope"], view["degraded"]) == (1, 2, "*", [])
    shown = command("communities", "1", "--home", grouped).out
    assert "the velvet shelf" in shown
    assert "was found first" in shown
    assert command("communities", "1", "--json", "--home", grouped).json["community"]["size"] == 2
    assert "2 communities of memories; `mnemic communities` lists them" in command("status", "--home", grouped).out


def test_what_waits_is_taken_up_before_the_list(
    command: Command, grouped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.cli.derived.communities._UPDATE_S", 0.0)  # a boundary is marked whatever time there is
    with mnemic.open(grouped) as mind:
        mind.remember("a third velvet shelf", scope="shelf")
        assert mind.communities().waiting == 1
    assert command("communities", "--json", "--scope", "*", "--home", grouped).json["waiting"] == 0
