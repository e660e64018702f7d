"""mem0's memories are told alike by its local store and its export, by its history as far as that knows them."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, MalformedLine, UnknownFields, to_text
from mnemic.hooks.imports.importers import recognize
from mnemic.hooks.imports.mem0 import open_mem0
from tests.foreign_stores import change, copy_store

Read = Callable[..., list[Any]]
Store = Callable[[str], Path]

FERRY = "The ferry to Brannay leaves at seven in winter."
NOTED = "Noted: the ferry leaves at six."
BOAT = "My boat lies in the north harbour."
GREETINGS = "Grüße an die Hafenmeisterin: 東の灯台 ist geschlossen."
LATER = {
    ("trip", "user", "ana", FERRY),
    ("trip", "assistant", "helper", NOTED),
    ("ana", "user", "ana", BOAT),
    ("ben", "user", "ben", BOAT),
    ("ben", "user", "ben", GREETINGS),
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A copy of a store of the fixtures, by its name."""
    return lambda name: copy_store(name, tmp_path)


def told(events: list[Any]) -> set[tuple[str, str, str | None, str]]:
    """Session, role, speaker and text of each memory."""
    return {(one.session, one.role, one.speaker, to_text(one.text)) for one in events if isinstance(one, Event)}


def points(store: Path) -> Path:
    """The file that has the memories of a local store."""
    return store / "qdrant" / "collection" / "mem0" / "storage.sqlite"


def refusal(read: Read, path: Path, format: str = "mem0") -> str:
    """Why what lies there cannot be read."""
    with pytest.raises(SourceUnreadable) as refused:
        read(path, format)
    return str(refused.value)


def test_a_local_store_tells_what_holds_now_newest_first(read: Read, store: Store) -> None:
    folder = store("mem0-later") / "qdrant"
    assert recognize(str(folder)) == "mem0"
    events = read(folder)
    assert told(events) == LATER
    assert to_text(events[0].text) == GREETINGS
    assert {(one.assistant, one.kind) for one in events} == {("mem0", "note")}


def test_an_export_tells_the_same_under_the_same_ids(read: Read, store: Store, tmp_path: Path) -> None:
    folder = store("mem0-later")
    export = folder / "get_all.json"
    assert recognize(str(export)) == "mem0"
    events = read(export)
    assert [one for one in events if isinstance(one, UnknownFields)] == [UnknownFields(("metadata",))]
    by_id = {one.source_id: one for one in events if isinstance(one, Event)}
    assert by_id == {one.source_id: one for one in read(folder / "qdrant")}
    bare = tmp_path / "bare.json"  # as the platform's older interface gives it
    bare.write_text(json.dumps(json.loads(export.read_text())["results"]))
    assert recognize(str(bare)) == "mem0"
    assert read(bare) == events


def test_a_history_tells_what_is_not_deleted_and_no_users(read: Read, store: Store) -> None:
    folder = store("mem0-later")
    assert recognize(str(folder)) == recognize(str(folder / "history.db")) == "mem0"
    events = read(folder)
    assert [to_text(one.text) for one in events] == [NOTED, BOAT, BOAT, FERRY, GREETINGS]
    assert {one.session for one in events} == {"mem0"}
    local = {one.source_id: (one.text, one.said_at) for one in read(folder / "qdrant")}
    assert {one.source_id: (one.text, one.said_at) for one in events} == local


def test_what_is_updated_was_said_when_it_was_updated(read: Read, store: Store) -> None:
    before = {one.source_id: one for one in read(store("mem0") / "qdrant")}
    after = {one.source_id: one for one in read(store("mem0-later") / "qdrant")}
    changed = [own_id for own_id, one in after.items() if own_id in before and one != before[own_id]]
    assert [to_text(after[one].text) for one in changed] == [FERRY]
    assert after[changed[0]].said_at > before[changed[0]].said_at


def test_entities_and_other_points_are_no_memories_and_of_two_rows_the_newer_counts(read: Read, store: Store) -> None:
    folder = store("mem0-later") / "qdrant"
    entities = folder / "collection" / "mem0_entities"
    entities.mkdir()
    change(entities / "storage.sqlite", "CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
    file = points(folder.parent)
    change(file, "INSERT INTO points SELECT 'another key', point FROM points ORDER BY rowid LIMIT 1")
    other = pickle.dumps(Point({"id": "p", "payload": {"data": "Ana", "entity_type": "PERSON"}}))
    change(file, "INSERT INTO points VALUES ('p', ?)", other)
    assert told(read(folder)) == LATER
    assert len(read(folder)) == len(LATER)


class Point:
    """Pickled, it is an object with these fields."""

    def __init__(self, fields: dict[str, object]) -> None:
        self.__dict__.update(fields)


class Program:
    """Pickled, it makes a folder where Python reads it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._folder),)


def test_a_pickle_that_is_a_program_is_not_run(read: Read, store: Store, tmp_path: Path) -> None:
    folder = store("mem0-later")
    payload = {"data": "kept all the same", "hash": Program(tmp_path / "b"), "user_id": "eve"}
    programs = {
        "alone": Program(tmp_path / "a"),
        "beside": Point({"id": "x", "payload": payload, "vector": Program(tmp_path / "c")}),
    }
    for name, one in programs.items():
        change(points(folder), "INSERT INTO points VALUES (?, ?)", name, pickle.dumps(one))
    events = read(folder / "qdrant")
    assert told(events) == LATER | {("eve", "user", "eve", "kept all the same")}
    assert [one for one in events if isinstance(one, MalformedLine)] == [
        MalformedLine(line=2, why="it is no point with a payload")
    ]
    assert not any((tmp_path / name).exists() for name in "abc")


def test_rows_that_are_no_memories_are_named_and_the_rest_goes_on(
    read: Read, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store("mem0-later")
    rows: list[object] = [
        None,
        7,
        "a text",
        b"",
        pickle.dumps([1, 2]),
        pickle.dumps(Point({"id": 7, "payload": {}})),
        pickle.dumps(Point({"id": "x", "payload": {"data": None, "hash": ""}})),
        b"x" * 5000,
    ]
    for row in rows:
        change(points(folder), "INSERT INTO points VALUES (NULL, ?)", row)
    monkeypatch.setattr("mnemic.hooks.imports.mem0._MOST_POINT_BYTES", 4999)
    events = read(folder / "qdrant")
    assert told(events) == LATER
    assert [one.why for one in events if isinstance(one, MalformedLine)] == [
        "it is nothing, or longer than 4,999 bytes",
        "a memory without its text",
        "it is no point whose id is a text",
        "it is no point with a payload",
        "it is no whole pickle",
        "it is no whole pickle",
        "it is no whole pickle",
        "it is nothing, or longer than 4,999 bytes",
    ]


def test_memories_that_lack_what_they_need_are_named_and_the_rest_goes_on(read: Read, tmp_path: Path) -> None:
    export = tmp_path / "export.json"
    whole = {"id": "a", "memory": "It rains.", "created_at": 7, "role": ["user"], "user_id": 3, "run_id": None}
    damaged = [None, {"memory": "x"}, {"id": "", "memory": "x"}, {"id": "b"}, {"id": "b", "memory": ["x"]}]
    export.write_text(json.dumps({"results": [whole, *damaged]}))
    first, *rest = read(export)
    assert (first.session, first.role, first.speaker, first.said_at) == ("mem0", "user", None, None)
    no_id, no_text = "a memory without its id", "a memory without its text"
    assert [one.why for one in rest] == ["a memory that is no object", no_id, no_id, no_text, no_text]


def test_history_rows_of_other_types_are_named(read: Read, store: Store) -> None:
    file = store("mem0-later") / "history.db"
    change(
        file,
        "INSERT INTO history VALUES (NULL, NULL, 1, 2, 3, 4, 5, NULL, 7, 8), ('i', 'm', 1, x'ff', 3, 4, 5, 0, 7, 8),"
        " ('j', 'n', '', CAST(x'ff' AS TEXT), '', '', '', 0, '', '')",
    )
    why = [one.why for one in read(file) if isinstance(one, MalformedLine)]
    assert why == ["a memory without its id", "a memory without its text", "a text in it is no UTF-8"]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("DROP TABLE history", "it has no such table: history"),
        ("ALTER TABLE history DROP COLUMN event", "no such column: event"),
        (
            "ALTER TABLE history RENAME TO other; CREATE VIEW history AS SELECT * FROM other",
            "it has no such table: history",
        ),
    ],
)
def test_a_history_that_is_made_otherwise_says_so(read: Read, store: Store, made: str, why: str) -> None:
    file = store("mem0") / "history.db"
    change(file, made)
    assert why in refusal(read, file)


def test_a_trigger_of_the_foreign_file_changes_nothing(read: Read, store: Store) -> None:
    file = store("mem0-later") / "history.db"
    change(file, "CREATE TRIGGER t AFTER INSERT ON history BEGIN DELETE FROM history; END")
    before = file.read_bytes()
    assert len(read(file)) == len(LATER)
    assert file.read_bytes() == before
    assert sorted(one.name for one in file.parent.iterdir()) == ["get_all.json", "history.db", "qdrant"]


def test_damaged_files_and_what_is_none_say_so(read: Read, store: Store, tmp_path: Path) -> None:
    folder = store("mem0")
    torn = points(folder)
    torn.write_bytes(torn.read_bytes()[:5000])
    assert "malformed" in refusal(read, folder / "qdrant")
    (tmp_path / "empty").mkdir()
    assert "holds neither a local store of qdrant's nor a history.db" in refusal(read, tmp_path / "empty")
    for text, why in {
        "not JSON": "not JSON",
        "{}": "it is no list of memories",
        '{"results": 7}': "it is no list of memories",
        '[{"id":"a","memory":"torn': "not JSON",
        "[" * 200_000: "nested too deeply",
    }.items():
        (tmp_path / "x.json").write_text(text)
        assert why in refusal(read, tmp_path / "x.json")
    assert "No such file" in refusal(read, tmp_path / "nowhere")
    assert "null" in refusal(read, Path("nul\0.json"))


def test_below_a_folder_no_link_is_followed_and_a_file_that_is_named_may_be_one(read: Read, store: Store) -> None:
    folder = store("mem0-later")
    for file in (points(folder), folder / "history.db"):
        moved = file.rename(file.with_name("moved"))
        file.symlink_to(moved)
    assert "it is a link" in refusal(read, folder / "qdrant")
    assert "it is a link" in refusal(read, folder)
    assert len(read(folder / "history.db")) == len(LATER)
    collections = folder / "qdrant" / "collection"
    moved = collections.rename(collections.with_name("moved"))
    collections.symlink_to(moved)
    assert "it is a link" in refusal(read, folder / "qdrant")


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"[{}]", b'[{"id":1,"memory":"x"}]', b"[" * 70_000, b"\xff" * 99]
)
def test_what_is_none_is_not_taken_for_an_export(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    assert recognize(str(tmp_path / "a.json")) is None
    assert recognize(str(tmp_path)) is recognize("-") is recognize(str(tmp_path / "nowhere")) is None


def test_how_far_the_reading_is_ends_at_the_whole(store: Store) -> None:
    folder = store("mem0")
    for path in (folder, folder / "qdrant", folder / "get_all.json"):
        source = open_mem0(str(path))
        assert len(list(source)) >= 5
        assert source.position_bytes == source.size_bytes
        source.close()


@pytest.mark.parametrize(
    ("fields", "author"),
    [
        ({}, "unknown"),
        ({"user_id": "ana"}, "unknown"),
        ({"role": "user", "user_id": "ana"}, "owner"),
        ({"role": "user", "user_id": "ana", "actor_id": "ana"}, "owner"),
        ({"role": "user", "user_id": "ana", "actor_id": "rae"}, "other"),
        ({"role": "assistant", "agent_id": "helper"}, None),
    ],
)
def test_a_memory_is_the_owners_word_only_where_its_user_said_it(
    read: Read, tmp_path: Path, fields: dict[str, str], author: str | None
) -> None:
    export = tmp_path / "all.json"
    export.write_text(json.dumps([{"id": "m1", "memory": FERRY, **fields}]))
    (event,) = read(export)
    assert event.author == author
