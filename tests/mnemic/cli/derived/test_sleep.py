"""`mnemic sleep`, `nights` and `digest`: a night now, what it changed, what it made, and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.cli.derived.sleep import derived_lines, digest_lines, list_lines, night_lines, profile_lines, shown_lines
from mnemic.cli.terminal.output import plain
from tests.processes.faces import Outcome, lines, turn

Command = Callable[..., Outcome]

TALK = (
    "The booking API listens on port 8443 in production since Lukas moved it.",
    "Lukas reviews the booking API on Thursdays before we deploy it to production.",
    "The weather was lovely over the harbour all day.",
    "Nadia wants the booking API reviewed by Lukas before each production deploy.",
)
STAGE: dict[str, Any] = {"stage": "topic-digests", "changes": 2, "took_us": 1_250_000, "note": "", "state": "done"}
FAILED = STAGE | {"stage": "facts", "changes": 0, "took_us": 10, "note": "the disk is full", "state": "failed"}
NIGHT: dict[str, Any] = {"id": 3, "run": "n", "at": "2026-11-26T02:00:00Z", "reason": "idle", "why": "woken"}
NIGHT |= {"ended_at": "2026-11-26T02:01:00Z", "undone_at": None, "stages": [STAGE, FAILED]}


@pytest.fixture
def known(home: Path, tmp_path: Path, command: Command) -> Path:
    """A home with a talk about one project."""
    said = [
        turn(text, id=f"{n}", session="one", scope="boat", said_at=f"2026-11-0{n + 1}T10:00:00Z")
        for n, text in enumerate(TALK)
    ]
    assert command("capture", lines(tmp_path / "said.jsonl", *said), "--home", home).code == 0
    return home


def test_a_night_says_what_each_stage_did() -> None:
    view = {"changes": 2, "finished": True, "stages": [STAGE, FAILED], "dry_run": False, "number": 7}
    assert list(night_lines(view)) == [
        "The night #7 changed 2 things",
        "  topic-digests: 2 changes, 1.2 s",
        "  facts: failed: the disk is full",
    ]
    unfinished = list(night_lines(view | {"changes": 0, "finished": False, "dry_run": True}))
    assert unfinished[0].startswith("The night would change nothing as things stand")
    assert unfinished[-1] == "its time was used up before all was done: the next night goes on"


def test_nights_are_listed_with_when_why_and_what() -> None:
    undone = NIGHT | {"id": 2, "undone_at": "2026-11-26T08:00:00Z", "why": "", "reason": "asked", "stages": []}
    assert list(list_lines({"nights": [NIGHT, undone]})) == [
        "#3  2026-11-26 02:00  while nobody wanted anything, woken: 2 changes (topic-digests 2)",
        "#2  2026-11-26 02:00  asked for, broken off, taken back 2026-11-26: 0 changes",
    ]
    assert list(list_lines({"nights": []})) == ["no night has changed anything yet"]


def test_a_night_is_shown_with_each_change_and_nothing_in_it_can_move_the_cursor() -> None:
    change = {"stage": "topic-digests", "what": "topic #4 in boat", "did": "made", "quotes": ["a\nb \x1b[2J"]}
    told = list(map(plain, shown_lines({"night": NIGHT, "changes": [change | {"sources": 3}], "total": 2})))
    assert told[-4:] == [
        "  made: digest of topic #4 in boat",
        '    "a b \\x1b[2J"',
        "    and 2 more",
        "  and 1 change more (-k)",
    ]
    undone = list(shown_lines({"night": NIGHT | {"undone_at": NIGHT["at"]}, "changes": [], "total": 0}))
    assert undone[-1] == "  what it changed went when it was taken back"


def test_a_digest_tells_days_and_speakers_and_what_is_partly_replaced() -> None:
    said = {"at": "2026-11-01T10:00:00Z", "speaker": None, "role": "user", "replaced": True, "text": "It is\nso."}
    digest = {"of": "project boat", "memories": 4, "night": 3, "sentences": [said]}
    view = {"digests": [digest], "scope": "boat", "scope_found": "named", "asked": "project"}
    assert list(digest_lines(view)) == [
        "project boat, 4 memories, night #3",
        "  2026-11-01  user, in part replaced since: It is so.",
    ]
    for last, why in (
        ("never", "no night was had yet, and `mnemic sleep` has one now"),
        ("stands", "nights found none so far, or what it rested on was erased; `mnemic sleep` looks again"),
    ):
        (none,) = digest_lines(view | {"digests": [], "last_night": last, "asked": "session"})
        assert none == f"no digest of a conversation in boat (named): {why}"


def test_a_night_is_had_seen_and_taken_back(command: Command, known: Path) -> None:
    assert command("nights", "--home", known).out == "no night has changed anything yet\n"
    dry = command("sleep", "--dry-run", "--home", known)
    assert dry.out.startswith("The night would change ")
    assert command("nights", "--home", known, "--json").json == {"nights": []}
    slept = command("sleep", "--home", known, "--json").json
    assert slept["finished"]
    assert "session-digests" in slept["steps"]
    assert command("sleep", "--home", known).out.startswith("The night changed nothing\n")
    (night,) = command("nights", "--home", known, "--json").json["nights"]
    assert (night["id"], night["reason"], night["why"]) == (1, "asked", "finished")
    shown = command("nights", "show", "1", "--home", known).out
    assert "made: digest of project boat" in shown
    assert "last night #1  " in command("status", "--home", known).out
    (digest,) = command("digest", "--scope", "boat", "--home", known, "--json").json["digests"]
    assert {one["text"] for one in digest["sentences"]} <= set(TALK)
    assert command("digest", "--of", "session", "--scope", "boat", "--home", known).out.startswith("conversation one")
    assert command("sleep", "undo", "--home", known).out.startswith("taken back: #1\n")
    assert command("digest", "--scope", "boat", "--home", known, "--json").json["digests"] == []
    assert "`mnemic sleep --again` derives anew" in command("digest", "--scope", "boat", "--home", known).out
    assert command("sleep", "--home", known).out.startswith("The night changed nothing\n")
    assert command("sleep", "--again", "--home", known, "--json").json["changes"]
    assert command("sleep", "undo", "2", "--home", known).out.startswith("taken back: #2\n")
    assert "taken back" in command("nights", "--home", known).out


def test_what_a_stage_derived_is_told_in_its_words_or_else_in_those_it_points_to(command: Command, known: Path) -> None:
    one = {"of": "project boat", "text": "after a: b, 9 times", "scope": "boat", "quotes": ["uv run\npytest"]}
    bare = one | {"of": "conversation s in boat", "text": "", "quotes": []}
    view = {"derived": [one, one | {"scope": ""}, bare], "stage": "habits", "scope": "boat", "scope_found": "named"}
    assert list(derived_lines(view)) == [
        "  after a: b, 9 times  [boat]",
        '    "uv run pytest"',
        "  after a: b, 9 times  [no scope]",
        '    "uv run pytest"',
        "  conversation s in boat",
    ]
    asked = ("derived", "session-digests", "--scope", "boat", "--home", known)
    none = command(*asked).out
    assert none.startswith("the stage session-digests derived nothing in boat (named): nights have the stage ")
    (options,) = re.findall(r"`mnemic sleep (.*)`", none)
    assert command("sleep", *options.split(), "--home", known, "--json").json["changes"]
    told = command(*asked).out.splitlines()
    assert told[0] == "  conversation one in boat"
    assert {quote.strip(' "') for quote in told[1:]} <= set(TALK)
    assert command(*asked, "--json").json["derived"][0]["night"] == 1


def test_a_profile_is_told_a_line_each(command: Command, known: Path) -> None:
    one = {"at": "2026-11-01T10:00:00Z", "speaker": None, "text": "I hate\nbarrel files", "scope": "boat"}
    one |= {"memory": "01"}
    view = {"entries": [one | {"conversations": 4, "projects": 3}], "scope": "*", "scope_found": "asked for"}
    (told,) = profile_lines(view)
    assert told == "  2026-11-01: I hate barrel files  (in 4 conversations of 3 projects; boat; 01)"
    (other,) = profile_lines(
        view | {"entries": [one | {"conversations": 1, "projects": 1, "speaker": "Ida", "scope": ""}]}
    )
    assert other == "  2026-11-01, Ida: I hate barrel files  (in 1 conversation; no scope; 01)"
    assert command("profile", "--home", known).out.startswith("nothing that anybody says of themselves in everything")


def test_one_stage_alone_is_had(command: Command, known: Path) -> None:
    slept = command("sleep", "--stage", "session-digests", "--home", known, "--json").json
    assert [one["stage"] for one in slept["stages"]] == ["session-digests"]
