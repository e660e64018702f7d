"""Memories by the ends of their ids, and by their place in the last list."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import AmbiguousId, NoSuchMemory
from mnemic.actors.kernel.message import format_id
from mnemic.open_mind import open_here
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys.keys import Secrets
from mnemic.runtime.minds.homes import create_mind
from tests.processes.faces import Outcome, lines, run, turn

Command = Callable[..., Outcome]


@pytest.fixture
def shelf(command: Command, home: Path, tmp_path: Path) -> Path:
    said = [turn(f"book {number} is about otters", said_at=f"2026-11-0{number}T10:00:00Z") for number in (1, 2, 3)]
    assert command("capture", lines(tmp_path / "a.jsonl", *said), "--home", home).code == 0
    return home


def text(shown: Outcome) -> str:
    (memory,) = shown.json["memories"]
    return str(memory["text"])


def test_what_is_printed_of_an_id_names_its_memory(command: Command, shelf: Path) -> None:
    newest = json.loads(command("log", "--home", shelf, "--json").out.splitlines()[0])["id"]
    printed = command("log", "--home", shelf).out.splitlines()[1].split()[-1]
    assert newest.endswith(printed)
    for name in (printed, newest, newest.replace("-", ""), newest[-5:], newest[-14:]):
        assert text(command("show", name, "--home", shelf, "--json")) == "book 3 is about otters"


def test_a_place_of_the_last_list_names_its_memory_in_every_command(command: Command, shelf: Path) -> None:
    command("log", "--home", shelf)
    assert text(command("show", "@2", "--home", shelf, "--json")) == "book 2 is about otters"
    command("recall", "which", "book", "is", "number", "1", "-n", 2, "--home", shelf)
    first = text(command("show", "@1", "--home", shelf, "--json"))
    assert command("forget", "@1", "--home", shelf).out.startswith("forgotten: ")
    assert command("correct", "@2", "book 2 is about herons", "--home", shelf).out.startswith("corrected: ")
    assert text(command("show", "@1", "--home", shelf, "--json")) == "book 2 is about herons"
    hits = command("shape", "--like", "@1", "--home", shelf, "--json").json["hits"]
    assert first not in [hit["text"] for hit in hits]


def test_a_program_that_asks_for_json_moves_no_place(command: Command, shelf: Path) -> None:
    command("log", "--home", shelf)
    command("log", "-n", 1, "--since", "2026-11-01", "--until", "2026-11-02", "--home", shelf, "--json")
    assert text(command("show", "@1", "--home", shelf, "--json")) == "book 3 is about otters"


def test_the_list_is_for_its_owner_its_terminal_and_its_mind_alone(command: Command, shelf: Path) -> None:
    command("log", "--home", shelf)
    kept = shelf / "run" / f"listed-{os.getsid(0)}.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    elsewhere = run("log", "-n", 1, "--home", shelf, start_new_session=True)
    assert elsewhere.code == 0
    assert text(command("show", "@3", "--home", shelf, "--json")) == "book 1 is about otters"
    command("log", "--home", shelf)
    assert {*kept.parent.glob("listed-*")} == {kept}, "the other terminal is closed"
    kept.rename(kept.with_name("listed-1.json"))
    refused = command("show", "@1", "--home", shelf)
    assert (refused.code, "no list of the mind 'default' was printed in this terminal" in refused.err) == (2, True)


def test_no_list_is_left_of_what_was_erased(command: Command, shelf: Path) -> None:
    command("log", "--home", shelf)
    assert command("forget", "@1", "--erase", "--yes", "--home", shelf).code == 0
    assert [*(shelf / "run").glob("listed-*")] == []


def test_a_place_that_the_last_list_has_not_names_no_memory(command: Command, shelf: Path) -> None:
    command("log", "--home", shelf)
    for verb in (("show", "@4"), ("forget", "@0"), ("correct", "@4", "x")):
        refused = command(*verb, "--home", shelf)
        assert (refused.code, refused.out) == (2, "")
        assert "the last list has 3" in refused.err


def test_an_end_that_several_have_is_refused_and_they_are_named(home: Path, tmp_path: Path) -> None:
    secrets = Secrets(root=b"r" * 32, identities=b"i" * 32, seed=b"s" * 32)  # with these, books 14 and 207 end alike
    create_mind(home, "default", SystemClock(), secrets=secrets)
    books = lines(tmp_path / "a.jsonl", *(turn(f"book {number}", id=f"{number}") for number in (14, 33, 207)))
    with open_here(home, create=False) as mind:
        mind.capture(books, embed=False)
        ids = [entry.id for entry in mind.log().memories]
        alike = [one for one in ids if one.hex().endswith("4af5")]
        assert (len(ids), len(alike)) == (3, 2)
        with pytest.raises(AmbiguousId) as refused:
            mind.find_ids(["4af5"])
        assert all(str(format_id(one)) in str(refused.value) for one in alike)
        assert mind.find_ids([one.hex()[-12:] for one in alike]) == tuple(alike)
        with pytest.raises(NoSuchMemory):
            mind.find_ids([ids[0].hex()[-3:]])  # so few digits may be a slip of the hand
