"""`mnemic facts`, `timeline`, `conflicts`, `entities` and `entity`: lines for a person and JSON; what waits is read
first.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.kernel.errors import ActorFailed
from mnemic.cli.derived.facts import (
    conflict_list_lines,
    entity_lines,
    fact_lines,
    merged_lines,
    settled_lines,
    timeline_lines,
)
from mnemic.cli.terminal.output import plain
from mnemic.runtime.api.mind import Mind
from tests.graded import grade_pair
from tests.processes.faces import Outcome, lines, turn

Command = Callable[..., Outcome]
NOON = "2026-11-01T12:00:00Z"

FACT: dict[str, Any] = {
    "memory": "019a",
    "subject": "the database",
    "text": "the database is\nSQLite",
    "times": 1,
    "value": "SQLite",
    "state": "holds",
    "said_at": "2026-11-01T10:00:00Z",
    "holds_from": "2026-11-01T10:00:00Z",
    "holds_to": None,
    "replaced_by": None,
    "speaker": None,
    "role": "user",
    "scope": "boat",
}
BY = {"memory": "019b", "value": "Postgres 17", "at": "2026-11-05T08:00:00Z", "why": "it says so", "id": "e20668c6"}
REPLACED = FACT | {"state": "replaced", "holds_to": "2026-11-05T08:00:00Z", "replaced_by": BY, "speaker": "Ida"}
NEWER = FACT | {"memory": "019b", "text": "it is Postgres 17", "said_at": "2026-11-05T08:00:00Z"}
NEWER |= {"holds_from": "2026-11-05T08:00:00Z"}
PAIR: dict[str, Any] = {"id": "e20668c6", "older": FACT, "newer": NEWER, "grade": "conflict", "probability": 0.612}
PAIR |= {"why": "one value at a time", "verdict": "", "by": ""}
LISTED: dict[str, Any] = {"facts": [FACT], "total": 1, "entity": "", "also_called": [], "conflicts": [], "waiting": 0}
LISTED |= {"scope": "boat", "scope_found": "named"}
THING = {"name": "SQLite", "kind": "tool", "memories": 2, "also_called": [], "last_at": "2026-11-05T08:00:00Z"}


# --- lines -----------------------------------------------------------------------------------------------------------


def test_a_fact_is_told_in_one_line_with_its_memory_below() -> None:
    assert list(map(plain, fact_lines(LISTED))) == [
        "1 statement in boat (named)",
        "  2026-11-01  the database is SQLite  (user)",
        "     019a",
    ]


def test_a_fact_is_told_with_how_often_it_was_said_and_with_a_subject_that_its_clause_does_not_name() -> None:
    told = {"facts": [FACT | {"text": "runs beside the api", "times": 3}]}
    assert [plain(line) for line in fact_lines(LISTED | told)][1] == (
        "  2026-11-01  the database … runs beside the api  (user, said 3 times)"
    )


def test_a_list_says_whose_facts_they_are_what_replaced_them_what_contradicts_and_what_waits() -> None:
    told = {"facts": [REPLACED], "total": 4, "entity": "database", "also_called": ["DB"], "conflicts": [PAIR]}
    assert list(map(plain, fact_lines(LISTED | told | {"waiting": 2}))) == [
        "1 of 4 statements about database (also DB) in boat (named)",
        "  2026-11-01 to 2026-11-05  the database is SQLite  [replaced]  (Ida)",
        "     replaced on 2026-11-05 by: Postgres 17  (it says so; e20668c6)",
        "     019a",
        "contradicting:",
        *PAIR_LINES,
        "2 memories are not read yet, in the whole mind",
    ]


PAIR_LINES = [
    "  e20668c6  unsettled  (61 %, one value at a time)",
    "    older: 2026-11-01  the database is SQLite  (user)",
    "    newer: 2026-11-05  it is Postgres 17  (user)",
]


def test_what_is_in_question_is_marked_and_a_correction_has_no_number_of_a_pair() -> None:
    told = {"facts": [FACT | {"in_question": True}, REPLACED | {"replaced_by": BY | {"why": "corrected", "id": ""}}]}
    assert list(map(plain, fact_lines(LISTED | told | {"total": 2}))) == [
        "2 statements in boat (named)",
        "  2026-11-01  the database is SQLite  [in question]  (user)",
        "     019a",
        "  2026-11-01 to 2026-11-05  the database is SQLite  [replaced]  (Ida)",
        "     replaced on 2026-11-05 by: Postgres 17  (corrected)",
        "     019a",
    ]


def test_a_timeline_begins_with_the_oldest_and_tells_until_when_each_held() -> None:
    assert list(timeline_lines(LISTED | {"facts": [NEWER, REPLACED], "total": 2, "entity": "database"})) == [
        "2 statements about database in boat (named)",
        "  2026-11-01 – 2026-11-05  the database is SQLite  [replaced]",
        "  2026-11-05 –             it is Postgres 17",
    ]


def test_pairs_are_listed_with_the_command_that_settles_the_first() -> None:
    view = {"conflicts": [PAIR], "total": 2, "waiting": 0, "scope": "*", "scope_found": "asked for"}
    assert list(conflict_list_lines(view)) == [
        "1 of 2 pairs of statements in everything",
        *PAIR_LINES,
        "`mnemic conflicts e20668c6 newer` (or older, both, unrelated, open) settles the first",
    ]
    assert list(conflict_list_lines(view | {"conflicts": [], "total": 0})) == ["0 pairs of statements in everything"]


def test_what_was_settled_says_by_whom_and_whether_it_was_so_before() -> None:
    first, pair, *_ = settled_lines({"conflict": PAIR | {"verdict": "older", "by": "mcp:codex"}, "changed": True})
    assert (first, pair) == ("settled", "  e20668c6  settled  (mcp:codex said: older)")
    assert next(settled_lines({"conflict": PAIR, "changed": False})) == "it is so already"


def test_a_thing_is_told_with_what_is_known_of_it_and_without_empty_headings() -> None:
    names = [{"name": "SQLite", "why": ""}, {"name": "sqlite3", "why": "you merged them"}]
    beside = [{"name": "database", "kind": "service", "memories": 1}]
    view = {"entity": THING, "names": names, "facts": [FACT, REPLACED], "neighbours": beside, "memories": ["019a"]}
    assert list(map(plain, entity_lines(view))) == [
        "SQLite (tool), 2 memories, last on 2026-11-05",
        *("names:", "  sqlite3  (you merged them)"),
        *("holds:", "  2026-11-01  the database is SQLite  (user)", "     019a"),
        "held, planned or unsure:",
        "  2026-11-01 to 2026-11-05  the database is SQLite  [replaced]  (Ida)",
        "     replaced on 2026-11-05 by: Postgres 17  (it says so; e20668c6)",
        "     019a",
        *("named beside:", "  database (service), 1 memory"),
        *("memories:", "  019a"),
    ]
    bare = {"entity": THING, "names": names[:1], "facts": [], "neighbours": [], "memories": []}
    assert list(map(plain, entity_lines(bare))) == ["SQLite (tool), 2 memories, last on 2026-11-05"]
    unnamed = bare | {"entity": THING | {"memories": 0, "last_at": None}}
    assert list(map(plain, entity_lines(unnamed))) == ["SQLite (tool), 0 memories"]
    (same,) = merged_lines({"entity": THING | {"also_called": ["sqlite3"]}, "changed": False})
    assert same == "it is so already: SQLite (tool, also sqlite3), 2 memories, last on 2026-11-05"


# --- the commands ----------------------------------------------------------------------------------------------------


SAID = [
    ("boat", "2026-11-01", "Our database is SQLite."),
    ("boat", "2026-11-05", "Our database becomes Postgres 17."),
    ("boat", "2026-11-06", "Nadia works in Porto."),
    ("boat", "2026-11-07", "Nadia works in Lisbon."),
    ("bank", "2026-11-08", "Our database is MySQL."),
]


@pytest.fixture
def known(home: Path, tmp_path: Path) -> Path:
    """A home of two projects, in one of which a statement replaced another and two contradict."""
    turns = [turn(text, scope=scope, id=text, said_at=at) for scope, at, text in SAID]
    with mnemic.open(home) as mind:
        mind.capture(lines(tmp_path / "a.jsonl", *turns), embed=False)
        grade_pair(mind, home, "Nadia works in Porto", "Nadia works in Lisbon")
    return home


def test_a_timeline_follows_what_was_said_on_one_day_in_the_order_in_which_it_was_said(
    command: Command, home: Path, tmp_path: Path
) -> None:
    values = ("Redis", "Memcached", "Valkey")
    said = [f"From now on the cache is {value}." for value in values]
    said.insert(1, "The cache is small.")
    turns = [
        turn(text, scope="boat", id=text, said_at=f"2026-11-01T{9 + number:02d}:00:00Z")
        for number, text in enumerate(said)
    ]
    with mnemic.open(home) as mind:
        mind.capture(lines(tmp_path / "a.jsonl", *turns), embed=False)
    told = command("timeline", "cache", "--scope", "boat", "--home", home).out
    places = [told.index(text.rstrip(".")) for text in said]
    assert places == sorted(places)


def test_a_common_noun_finds_what_is_stated_of_things_with_a_longer_name(
    command: Command, home: Path, tmp_path: Path
) -> None:
    said = {
        "boat": ("The staging host is perran.", "The host for builds is lamorna.", "The window is open."),
        "bank": ("The vault host is zennor.",),
    }
    turns = [turn(text, scope=scope, id=text, said_at=NOON) for scope, some in said.items() for text in some]
    with mnemic.open(home) as mind:
        mind.capture(lines(tmp_path / "a.jsonl", *turns), embed=False)
    for asked in ("facts", "timeline"):
        told = command(asked, "host", "--scope", "boat", "--home", home).out
        assert told.startswith("2 statements about host for builds, staging host in boat (named)\n")
        assert "perran" in told
        assert "lamorna" in told
        assert "zennor" not in told
    one = command("timeline", "staging", "host", "--scope", "boat", "--home", home).out
    assert one.startswith("1 statement about staging host in boat (named)\n")
    assert command("entity", "host", "--scope", "boat", "--home", home).code == 2  # no name to merge or to show


def test_a_conflict_is_listed_settled_and_opened_again(command: Command, known: Path) -> None:
    listed = command("conflicts", "--scope", "boat", "--home", known, "--json").json
    (pair,) = listed["conflicts"]
    assert (pair["older"]["value"], pair["newer"]["value"], listed["total"]) == ("Porto", "Lisbon", 1)
    assert f"`mnemic conflicts {pair['id']} newer`" in command("conflicts", "--scope", "*", "--home", known).out
    settled = command("conflicts", pair["id"], "older", "--home", known)
    assert settled.out.startswith("settled\n")
    assert command("facts", "nadia", "--scope", "boat", "--home", known, "--json").json["facts"][0]["value"] == "Porto"
    again = command("conflicts", pair["id"], "older", "--home", known, "--json").json
    assert (again["changed"], again["conflict"]["by"]) == (False, "user")
    assert command("conflicts", "--scope", "*", "--home", known, "--json").json["total"] == 0
    replaced = command("conflicts", "--replaced", "--scope", "*", "--home", known, "--json").json["conflicts"]
    assert {(one["grade"], one["verdict"]) for one in replaced} == {("conflict", "older"), ("replaced", "")}
    command("conflicts", pair["id"], "open", "--home", known)
    assert command("conflicts", "--scope", "*", "--home", known, "--json").json["conflicts"] == [pair]


def test_what_waits_is_read_before_the_answer(command: Command, known: Path) -> None:
    with mnemic.open(known) as mind:
        mind.remember("Nadia likes tea.", scope="bank")
    view = command("facts", "nadia", "--scope", "bank", "--home", known, "--json").json
    assert ([one["value"] for one in view["facts"]], view["waiting"]) == (["tea"], 0)


def test_where_reading_fails_that_is_said_and_what_is_known_is_told(
    command: Command, known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ActorFailed(actor="knowledge", message="UpdateFacts", cause="it fell over")

    monkeypatch.setattr(Mind, "update_facts", fail)
    told = command("facts", "database", "--scope", "bank", "--home", known)
    assert (told.code, told.out.splitlines()[0]) == (0, "1 statement about database in bank (named)")
    assert told.err.startswith("mnemic: facts: ")
    assert "it fell over" in told.err
