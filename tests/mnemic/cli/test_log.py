"""`mnemic log`, `mnemic show` and the use in `mnemic status`: at the command line, alone and by way of the process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.kernel.message import format_id
from mnemic.actors.log.changes import DeliveredSpan
from tests.processes.faces import EXAMPLE, Outcome, finish, lines, start, turn
from tests.processes.serving import serving
from tests.waiting import until

Command = Callable[..., Outcome]


def entries(outcome: Outcome) -> list[dict[str, Any]]:
    """What was printed, one JSON object a line."""
    assert outcome.code == 0, outcome
    return [json.loads(line) for line in outcome.out.splitlines()]


def captured(command: Command, home: Path, source: Path, *turns: dict[str, Any]) -> None:
    assert command("capture", lines(source, *turns), "--home", home, "--no-meaning").code == 0


@pytest.fixture
def shelf(command: Command, home: Path, tmp_path: Path) -> Path:
    """A home of three turns and a decision."""
    captured(
        command,
        home,
        tmp_path / "a.jsonl",
        turn("the shelf holds nine books", scope="work/shelf", said_at="2026-11-01T10:00:00Z"),
        turn("it has two doors", scope="work/shelf", said_at="2026-11-02T10:00:00Z", kind="decision"),
        turn("the pier is 40 m", session="p", scope="work/pier", said_at="2026-11-03T10:00:00Z"),
        turn("line one\nline \x1b[31mtwo", session="p", said_at="2026-11-04T10:00:00Z"),
    )
    return home


# --- log -------------------------------------------------------------------------------------------------------------


def test_the_log_is_json_lines_for_a_program_newest_first(command: Command, shelf: Path) -> None:
    found = entries(command("log", "--home", shelf, "--json"))
    assert [one["text"] for one in found] == [
        "line one\nline \x1b[31mtwo",
        "the pier is 40 m",
        "it has two doors",
        "the shelf holds nine books",
    ]
    assert found[1] == {
        "cursor": found[1]["cursor"],
        "id": found[1]["id"],
        "at": found[1]["recorded_at"],
        "said_at": "2026-11-03T10:00:00Z",
        "recorded_at": found[1]["recorded_at"],
        "kind": "turn",
        "role": "user",
        "speaker": None,
        "author": "owner",
        "assistant": "generic",
        "session": "p",
        "mode": "",
        "scope": "work/pier",
        "tool": None,
        "outcome": None,
        "text": "the pier is 40 m",
        "size_bytes": 16,
        "replaced": False,
        "retired_at": None,
        "retired_reason": None,
    }


def test_the_log_is_asked_by_scope_session_date_and_kind(command: Command, shelf: Path) -> None:
    asked: list[tuple[list[str], list[str]]] = [
        (["--scope", "work"], ["the pier is 40 m", "it has two doors", "the shelf holds nine books"]),
        (["--scope", "work/shelf", "--kind", "turn"], ["the shelf holds nine books"]),
        (["--by", "said", "--session", "p", "--until", "2026-11-04"], ["the pier is 40 m"]),
        (["--by", "said", "--since", "2026-11-02", "--until", "2026-11-03T10:00:00Z"], ["it has two doors"]),
        (["--until", "2026-11-01"], []),
        (["--kind", "decision"], ["it has two doors"]),
        (["--session", "nobody's"], []),
        (["--forgotten"], []),
    ]
    for options, expected in asked:
        assert [one["text"] for one in entries(command("log", *options, "--home", shelf, "--json"))] == expected


def test_what_was_captured_last_stands_first_however_old_it_is(command: Command, shelf: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    captured(command, shelf, old, turn("the first shelf was of oak", said_at="2019-05-01T10:00:00Z"), turn("undated"))
    assert [one["text"] for one in entries(command("log", "-n", 2, "--home", shelf, "--json"))] == [
        "undated",
        "the first shelf was of oak",
    ]
    said = entries(command("log", "--by", "said", "--home", shelf, "--json"))
    assert said[-1]["text"] == "the first shelf was of oak"
    assert ("undated", None) in [(one["text"], one["said_at"]) for one in said]
    dated = entries(command("log", "--by", "said", "--since", "2001-01-01", "--home", shelf, "--json"))
    assert len(dated) == len(said) - 1
    assert "undated" not in [one["text"] for one in dated]


def test_the_log_comes_in_pages(command: Command, shelf: Path) -> None:
    first = command("log", "-n", 3, "--home", shelf)
    *_, last = first.out.splitlines()
    cursor = last.removeprefix("there are more: the same with --after ")
    rest = entries(command("log", "-n", 3, "--after", cursor, "--home", shelf, "--json"))
    assert [one["text"] for one in rest] == ["the shelf holds nine books"]
    assert entries(command("log", "-n", 3, "--home", shelf, "--json"))[-1]["cursor"] == cursor
    assert command("log", "--after", rest[-1]["cursor"], "--home", shelf).out == (
        "no memory is here that fits what was asked\n"
    )


def test_the_log_is_a_table_for_a_person_that_nothing_in_it_can_steer(
    command: Command, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "130")
    head, first, *_ = command("log", "--by", "said", "--home", shelf).out.splitlines()
    assert head.split() == ["SAID", "WHAT", "SCOPE", "TEXT", "ID"]
    assert first.startswith("@1  2026-11-04 10:00  user      -           line one line \\x1b[31mtwo  ")
    monkeypatch.setenv("COLUMNS", "80")
    shown = command("log", "--home", shelf).out.splitlines()
    assert len(shown) == 9
    assert all(len(line) <= 80 for line in shown)


def test_an_empty_mind_has_an_empty_log(command: Command, home: Path) -> None:
    assert command("init", "--home", home).code == 0
    assert command("log", "--home", home).out == "no memory is here\n"
    assert command("log", "--injected", "--home", home).out == "nothing that was given is here\n"
    assert command("log", "--home", home, "--json").out == ""


# --- what was given --------------------------------------------------------------------------------------------------


def test_what_an_assistant_was_given_is_printed_word_for_word(command: Command, shelf: Path) -> None:
    with mnemic.open(shelf) as mind:
        told = mind.brief(scope="work/shelf", assistant="codex", session="new")
        asker = {"assistant": "claude-code", "asking_session": "mcp-1"}
        (hit,) = mind.recall("nine books", k=1, scope="work/shelf", **asker).hits
        mind.recall("my own question", k=1)
        part = DeliveredSpan(memory=hit.id, start=4, stop=9, why="it named it")
        mind.note_delivery("claude-code", "mcp-1", [part], named=True)
        until(lambda: len(mind.log_given().deliveries) == 3 and len(mind.log_given(own=True).deliveries) == 1)
    got, recalled, start_ = entries(command("log", "--injected", "--home", shelf, "--json"))
    assert (start_["tokens"], start_["assistant"]) == (told.tokens, "codex")
    assert "the shelf holds nine books" in [one["text"] for one in start_["memories"]]
    assert all(one["text"] in told.text for one in start_["memories"])
    assert (start_["occasion"], start_["session"], start_["scope"]) == ("session-start", "new", "work/shelf")
    assert {one["id"]: one["why"] for one in start_["memories"]}[format_id(hit.id)] == (
        "what the user said last in the last session of this project (2026-11-01, generic)"
    )
    assert (recalled["occasion"], recalled["query"]) == ("recall", "nine books")
    assert [(one["text"], one["start_byte"]) for one in recalled["memories"]] == [("the shelf holds nine books", 0)]
    assert "lexical 1.36" in recalled["memories"][0]["why"]
    assert (got["occasion"], got["memories"][0]["text"], got["memories"][0]["why"]) == ("get", "shelf", "it named it")
    (own,) = entries(command("log", "--recalls", "--home", shelf, "--json"))
    assert (own["query"], own["assistant"]) == ("my own question", "")
    shown = command("log", "--injected", "--scope", "work/shelf", "--session", "new", "--home", shelf).out
    assert all(f"    | {one['text']}\n" in shown for one in start_["memories"])
    assert f"to codex, session new: at the start of its session, in work/shelf, {told.tokens} tokens" in shown
    page = command("log", "--injected", "-n", 1, "--home", shelf).out
    assert page.endswith(f"there are more: the same with --after {got['cursor']}\n")


def test_a_hook_that_told_something_is_in_the_log_of_what_was_given(home: Path, command: Command) -> None:
    command("capture", EXAMPLE, "--home", home, "--no-meaning")
    payload = json.dumps({"session_id": "new", "source": "startup", "hook_event_name": "SessionStart"}).encode()
    with mnemic.open(home) as mind:
        told = json.loads(mind.hook_reply("claude-code", "session-start", "/home/ines/slipway", payload))
    (delivery,) = entries(command("log", "--injected", "--home", home, "--json"))
    text = told["hookSpecificOutput"]["additionalContext"]
    assert all(" ".join(one["text"].split())[:30] in text for one in delivery["memories"])
    assert (delivery["assistant"], delivery["session"], delivery["scope"]) == ("claude-code", "new", "slipway")
    assert delivery["tokens"] == -(-len(text.encode()) // 4)
    assert all(one["why"] for one in delivery["memories"])


# --- show ------------------------------------------------------------------------------------------------------------


def test_a_memory_is_shown_whole_with_what_superseded_it(command: Command, shelf: Path) -> None:
    with mnemic.open(shelf) as mind:
        old = mind.recall("pier", k=1, assistant="codex").hits[0].id
        new = mind.remember("the pier is 38 m", supersedes=old).id
        mind.forget([mind.log(kinds=("decision",)).memories[0].id], "it was wrong")
        until(lambda: mind.show([old])[0].uses != ())
    ids = [one["id"] for one in entries(command("log", "--scope", "work/pier", "--home", shelf, "--json"))]
    newer, older = command("show", *ids, "--home", shelf, "--json").json["memories"]
    assert older["text"] == "the pier is 40 m"
    assert (older["superseded_by"], [one["id"] for one in older["newer"]]) == (newer["id"], [newer["id"]])
    assert newer["supersedes"] == [older["id"]] == [one["id"] for one in newer["older"]]
    assert older["valid_to"] == newer["valid_from"]
    assert (older["assistant"], older["session"], older["found"]) == ("generic", "p", "named")
    assert older["kept_by"]["author"] == "transcript"
    assert [(use["occasion"], use["own"], use["times"]) for use in older["uses"]] == [("recall", False, 1)]
    shown = command("show", ids[1], "--home", shelf).out
    assert f"  superseded by: {ids[0][-8:]} (since " in shown
    assert shown.endswith("  text, 16 bytes:\n    the pier is 40 m\n")
    assert format_id(new) == ids[0]
    (gone,) = entries(command("log", "--forgotten", "--home", shelf, "--json"))
    assert (gone["text"], gone["retired_reason"]) == ("it has two doors", "it was wrong")
    assert "  forgotten: 20" in command("show", gone["id"], "--home", shelf).out


def test_what_was_said_around_a_memory_is_shown_in_order_and_itself_is_marked(command: Command, shelf: Path) -> None:
    said = ["which key?", "the key is under the mat", "thanks", "where is the mat?"]
    with mnemic.open(shelf) as mind:
        ids = [str(format_id(mind.remember(text, session="keys", scope="work").id)) for text in said]
    (shown,) = command("show", ids[1], "--context", "1", "--home", shelf, "--json").json["memories"]
    assert [(one["text"], one["itself"]) for one in shown["around"]] == [
        ("which key?", False),
        ("the key is under the mat", True),
        ("thanks", False),
    ]
    lines = command("show", ids[1], "--context", "2", "--home", shelf).out.split("  said around it:\n")[1].splitlines()
    assert [line[2] for line in lines] == [" ", " ", ">", ">", " ", " ", " ", " "]
    assert [line[4:].strip() for line in lines[1::2]] == said
    assert all(line.endswith(one[-8:]) for line, one in zip(lines[::2], ids, strict=True))
    assert "around" not in command("show", ids[1], "--home", shelf, "--json").json["memories"][0]
    refused = command("show", ids[1], "--context", "-1", "--home", shelf)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "mnemic: the context cannot be -1: it is no such number. Give 0 to 100.\n"


# --- status ----------------------------------------------------------------------------------------------------------


def test_the_status_tells_memories_bytes_and_tokens_by_project_and_by_week(command: Command, shelf: Path) -> None:
    with mnemic.open(shelf) as mind:
        (hit,) = mind.recall("nine books", k=1, scope="work/shelf", assistant="codex").hits
        used = -(-len(hit.data) // 4)
        mind.recall("my own question", scope="work/shelf")
        until(lambda: len(mind.log_given(own=True).deliveries) == 1 == len(mind.log_given().deliveries))
        use = mind.status().use
        assert [set(project) for project in mind.status_view()["use"]["projects"]] == [
            {"path", "memories", "text_bytes", "given", "tokens"}
        ] * 3
    none, pier, books = use["projects"]
    assert (none["path"], pier["path"], books["path"]) == ("", "work/pier", "work/shelf")
    assert {name: books[name] for name in ("memories", "text_bytes", "given", "tokens")} == {
        "memories": 2,
        "text_bytes": 42,
        "given": 1,
        "tokens": used,
    }
    assert len(use["weeks"]) == len(books["weeks"]) == 8
    assert (use["weeks"][0]["given"], use["weeks"][0]["tokens"]) == (1, used)
    shown = command("status", "--home", shelf).out
    assert f"  work/shelf: 2 memories, 42 bytes, {used} tokens given (1 time) (named)\n" in shown
    assert "by week, from Monday on:\n" in shown
    assert command("status", "--home", shelf, "--json").json["use"] == use


# --- by way of the process -------------------------------------------------------------------------------------------


@pytest.mark.system
def test_it_is_the_same_by_way_of_the_process(command: Command, shelf: Path) -> None:
    with mnemic.open(shelf) as mind:
        mind.brief(scope="work/shelf", assistant="codex", session="new")
        until(lambda: len(mind.log_given().deliveries) == 1)
    ids = [one["id"] for one in entries(command("log", "--home", shelf, "--json"))]
    asked = [["log"], ["log", "-n", "2", "--scope", "work"], ["log", "--injected"], ["show", *ids]]
    alone = [command(*one, "--home", shelf, "--json") for one in asked]
    with serving(shelf):
        served = [finish(start(*one, "--home", shelf, "--json")) for one in asked]
        refused = finish(start("log", "--after", "x", "--home", shelf))
        assert "served by process" in finish(start("status", "--home", shelf)).out
        with mnemic.open(shelf) as mind:  # a library works on the files itself
            assert mind.use(1).projects[2].total.given == 1
    assert [(one.code, one.out) for one in served] == [(one.code, one.out) for one in alone]
    assert (refused.code, "the cursor" in refused.err) == (2, True)
