"""`mnemic capture` takes the stores of mem0 and MemPalace, once; what was changed there replaces what was captured."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.foreign_stores import change, copy_store
from tests.processes.faces import Outcome

Command = Callable[..., Outcome]


def counts(command: Command, home: Path, path: Path, *more: str) -> tuple[int, int]:
    """Capture; says how many memories are new and how many known."""
    captured = command("capture", path, *more, "--no-meaning", "--home", home, "--json")
    assert captured.code == 0, captured
    return captured.json["new"], captured.json["known"]


def memories(command: Command, home: Path) -> list[dict[str, Any]]:
    """What is kept, newest first."""
    listed = command("log", "-n", 1000, "--scope", "*", "--home", home, "--json")
    return [json.loads(line) for line in listed.out.splitlines()]


def kept(command: Command, home: Path) -> dict[str, bool]:
    """The texts that are kept, and whether each was replaced."""
    return {one["text"]: one["replaced"] for one in memories(command, home)}


def test_a_store_of_mem0_is_taken_once_by_any_way_and_an_update_replaces(
    command: Command, home: Path, tmp_path: Path
) -> None:
    before, later = (copy_store(name, tmp_path) for name in ("mem0", "mem0-later"))
    assert counts(command, home, before / "qdrant") == (5, 0)
    assert counts(command, home, before / "qdrant") == (0, 5)
    assert counts(command, home, before / "get_all.json") == (0, 5)
    assert counts(command, home, later / "get_all.json") == (2, 3)
    assert counts(command, home, later / "qdrant", "--format", "mem0") == (0, 5)
    texts = kept(command, home)
    assert [text for text, replaced in texts.items() if replaced] == ["The ferry to Brannay leaves at six."]
    assert texts["The spare key hangs behind the stove."] is False  # deleted there since; what was captured stays
    hits = command("recall", "ferry Brannay winter", "--scope", "*", "--home", home, "--json").json["hits"]
    assert hits[0]["text"] == "The ferry to Brannay leaves at seven in winter."


def test_a_history_of_mem0s_is_taken_once_and_an_update_replaces(command: Command, home: Path, tmp_path: Path) -> None:
    assert counts(command, home, copy_store("mem0", tmp_path)) == (5, 0)
    later = copy_store("mem0-later", tmp_path) / "history.db"
    assert counts(command, home, later) == (2, 3)
    assert counts(command, home, later) == (0, 5)
    assert [text for text, replaced in kept(command, home).items() if replaced] == [
        "The ferry to Brannay leaves at six."
    ]


def test_a_palace_is_taken_once_and_what_was_mined_again_replaces(command: Command, home: Path, tmp_path: Path) -> None:
    assert counts(command, home, copy_store("mempalace", tmp_path)) == (6, 0)
    later = copy_store("mempalace-later", tmp_path)
    assert counts(command, home, later) == (2, 5)
    assert counts(command, home, later) == (0, 7)
    (replaced,) = [text for text, replaced in kept(command, home).items() if replaced]
    assert "a new keel before May" in replaced
    assert {one["scope"] for one in memories(command, home)} == {"ferry", "harbour"}
    asked = command("recall", "key of the lighthouse in summer", "--scope", "ferry", "--home", home, "--json").json
    assert "the drawer below the tide tables" in asked["hits"][0]["text"]


def test_a_scope_that_is_named_is_that_of_all_of_a_palace(command: Command, home: Path, tmp_path: Path) -> None:
    assert counts(command, home, copy_store("mempalace", tmp_path), "--scope", "old") == (6, 0)
    assert {one["scope"] for one in memories(command, home)} == {"old"}


class Program:
    """Pickled, it makes a folder where Python reads it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._folder),)


def test_a_program_in_a_store_of_mem0_is_named_and_not_run(command: Command, home: Path, tmp_path: Path) -> None:
    store = copy_store("mem0", tmp_path) / "qdrant"
    file = store / "collection" / "mem0" / "storage.sqlite"
    change(file, "INSERT INTO points VALUES ('x', ?)", pickle.dumps(Program(tmp_path / "made")))
    captured = command("capture", store, "--no-meaning", "--home", home)
    assert captured.code == 1
    assert "1 line could not be read:\n" in captured.out
    assert "it is no point with a payload" in captured.out
    assert not (tmp_path / "made").exists()
    assert len(kept(command, home)) == 4  # two of the five have the same text


@pytest.mark.parametrize(
    ("name", "file", "format"),
    [
        ("mem0", "history.db", "mem0"),
        ("mem0", "qdrant/collection/mem0/storage.sqlite", "mem0"),
        ("mem0", "get_all.json", "mem0"),
        ("mempalace", "chroma.sqlite3", "mempalace"),
    ],
)
def test_of_a_store_that_is_cut_off_nothing_is_kept_and_a_sentence_says_why(
    command: Command, home: Path, tmp_path: Path, name: str, file: str, format: str
) -> None:
    store = copy_store(name, tmp_path)
    torn = store / file
    torn.write_bytes(torn.read_bytes()[: torn.stat().st_size // 3])
    path = store / "qdrant" if "qdrant" in file else torn
    captured = command("capture", path, "--format", format, "--no-meaning", "--home", home)
    assert (captured.code, captured.out) == (2, "")
    assert captured.err.startswith("mnemic: ")
    assert captured.err.count("\n") == 1
    assert not (home / "minds").exists() or memories(command, home) == []
