"""The drawers of a palace are told file by file and in order, word for word, and nothing of the palace is run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import MalformedLine, in_world_time, to_text
from mnemic.actors.kernel.times import FixedZone
from mnemic.hooks.imports.importers import recognize
from mnemic.hooks.imports.mempalace import PalaceSource
from mnemic.hooks.read import database as guards
from tests.foreign_stores import change, copy_store

Read = Callable[..., list[Any]]
Store = Callable[[str], Path]

TALK, NOTE = "/tmp/ana/talks/ferry.jsonl", "/tmp/ana/notes/boats.md"
FERRY = (
    "> When does the ferry to Brannay leave in winter, and who sells the tickets for it?\n"
    "In winter it leaves at seven. The kiosk by the lighthouse sells tickets until half past six."
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A copy of a store of the fixtures, by its name."""
    return lambda name: copy_store(name, tmp_path)


def at(event: Any) -> str:
    """When a memory was said."""
    return datetime.fromtimestamp(event.said_at // 1_000_000, UTC).isoformat(sep=" ")[:16]


def edit(palace: Path, *made: str) -> Path:
    """Do something to a palace's database, and give the palace."""
    for one in made:
        change(palace / "chroma.sqlite3", one)
    return palace


def refusal(read: Read, path: Path) -> str:
    """Why a palace cannot be read."""
    with pytest.raises(SourceUnreadable) as refused:
        read(path, "mempalace")
    return str(refused.value)


def test_drawers_are_told_file_by_file_in_the_order_in_which_they_were_cut(read: Read, store: Store) -> None:
    events = read(store("mempalace-later"))
    assert [one.session for one in events] == [NOTE] * 2 + [TALK] * 5
    assert to_text(events[2].text) == FERRY
    assert {one.kind for one in events} == {"note"}
    assert {(one.session, one.scope) for one in events} == {(NOTE, "harbour"), (TALK, "ferry")}


def test_the_slices_of_a_long_exchange_are_the_whole(read: Read, store: Store) -> None:
    talk = [to_text(one.text) for one in read(store("mempalace")) if one.session == TALK]
    piers = [f"On pier {pier} two ropes hold each boat, and book {pier} has their names." for pier in range(1, 31)]
    asked = "> Write down how the boats are tied, pier by pier, for the new harbour master.\n"
    assert talk[0] == FERRY
    assert "".join(talk[1:]) == asked + " ".join(piers)


def test_a_conversation_was_said_when_it_was_last_added_to_and_a_file_on_its_day(read: Read, store: Store) -> None:
    events = read(store("mempalace"))
    assert {(one.session, at(one)) for one in events} == {
        (TALK, "2026-03-02 09:04"),
        (NOTE, "2026-11-27 00:00"),
    }


def test_what_has_no_other_time_was_said_when_it_was_mined_by_a_clock_on_the_wall(read: Read, store: Store) -> None:
    palace = edit(
        store("mempalace"),
        "DELETE FROM embedding_metadata WHERE key IN ('authored_at', 'content_date')",
        "UPDATE embedding_metadata SET string_value = '2026-11-27T21:15:00.5' WHERE key = 'filed_at'",
    )
    assert {(at(one), one.is_local) for one in read(palace)} == {("2026-11-27 21:15", True)}
    assert {at(in_world_time(one, FixedZone(60))) for one in read(palace)} == {"2026-11-27 20:15"}


def test_a_swept_turn_has_its_role_and_its_time(read: Read, store: Store) -> None:
    palace = edit(
        store("mempalace"),
        "UPDATE embedding_metadata SET key = 'role', string_value = 'assistant' WHERE id = 1 AND key = 'hall'",
        "UPDATE embedding_metadata SET key = 'timestamp', string_value = '2026-01-02T03:04:05Z' WHERE id = 1"
        " AND key = 'room'",
    )
    (swept,) = [one for one in read(palace) if one.role == "assistant"]
    assert at(swept) == "2026-01-02 03:04"


def test_a_palace_is_known_by_its_folder_the_folder_it_lies_in_or_its_database(
    read: Read, store: Store, tmp_path: Path
) -> None:
    palace = store("mempalace")
    events = read(palace)
    (palace / "mempalace_embedder.json").unlink()  # older versions write none
    assert recognize(str(palace)) == recognize(str(palace / "chroma.sqlite3")) == "mempalace"
    assert read(palace / "chroma.sqlite3") == events
    own = tmp_path / ".mempalace"
    own.mkdir()
    palace.rename(own / "palace")
    assert recognize(str(own)) == "mempalace"
    assert read(own) == events
    moved = (own / "palace").rename(tmp_path / "elsewhere")
    (own / "palace").symlink_to(moved)
    assert "it is a link" in refusal(read, own)


def test_what_the_palace_derives_and_notes_for_itself_is_no_memory(read: Read, store: Store) -> None:
    palace = store("mempalace")
    count = len(read(palace))
    edit(palace, "UPDATE embedding_metadata SET string_value = 'registry' WHERE id = 1 AND key = 'ingest_mode'")
    events = read(palace)
    assert len(events) == count - 1
    assert not any("drawer_" in to_text(one.text) for one in events)


def test_drawers_that_lack_what_they_need_are_named_and_the_rest_goes_on(read: Read, store: Store) -> None:
    palace = store("mempalace")
    count = len(read(palace))
    edit(
        palace,
        "DELETE FROM embedding_metadata WHERE id = 1 AND key = 'chroma:document'",
        "UPDATE embedding_metadata SET string_value = NULL, int_value = 7 WHERE id = 2 AND key = 'chroma:document'",
        "DELETE FROM embedding_metadata WHERE id = 3 AND key <> 'chroma:document'",
        "UPDATE embedding_metadata SET string_value = 'no: scope / at // all' WHERE id = 4 AND key = 'wing'",
        "UPDATE embedding_metadata SET string_value = CAST(x'ff' AS TEXT) WHERE id = 5 AND key = 'wing'",
        "UPDATE embedding_metadata SET string_value = x'ff00' WHERE id = 4 AND key IN ('authored_at', 'source_file')",
    )
    events = read(palace)
    bad = [one.why for one in events if isinstance(one, MalformedLine)]
    assert sorted(bad) == ["a drawer without its id or text"] * 2 + ["a text in it is no UTF-8"]
    kept = [one for one in events if not isinstance(one, MalformedLine)]
    assert len(kept) == count - 3
    assert {(one.session, one.scope) for one in kept if one.session == "mempalace"} == {("mempalace", None)}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("DROP TABLE embedding_metadata", "it has no such table: embedding_metadata"),
        ("ALTER TABLE embeddings RENAME COLUMN embedding_id TO other", "no such column: e.embedding_id"),
        ("DELETE FROM collections WHERE name = 'mempalace_drawers'", "it has no collection mempalace_drawers"),
        (
            "ALTER TABLE collections RENAME TO other; CREATE VIEW collections AS SELECT * FROM other",
            "it has no such table: collections",
        ),
        (
            "ALTER TABLE segments ADD COLUMN x AS (printf('%9999999d', 1))",
            "it has no such table: segments",
        ),
    ],
)
def test_a_palace_that_is_made_otherwise_says_so(read: Read, store: Store, made: str, why: str) -> None:
    assert why in refusal(read, edit(store("mempalace"), made))


def test_a_query_that_takes_more_steps_than_its_file_needs_is_ended(
    read: Read, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
    palace = edit(
        store("mempalace"),
        "ALTER TABLE embedding_metadata RENAME TO other",
        "CREATE TABLE embedding_metadata (id, key, string_value, int_value)",  # each drawer looks at all
        f"{endless} INSERT INTO embedding_metadata SELECT 7, '', '', n FROM r LIMIT 5000",
        f"{endless} INSERT INTO embeddings SELECT n + 99, (SELECT segment_id FROM embeddings), n, n, 0 FROM r LIMIT 99",
    )
    monkeypatch.setattr(guards, "_LEAST_STEPS", 0)
    monkeypatch.setattr(guards, "_STEPS_PER_BYTE", 1)
    monkeypatch.setattr(guards, "_STEPS_BETWEEN_LOOKS", 1000)
    assert "take too long to be found for its size" in refusal(read, palace)


def test_a_trigger_of_the_foreign_file_changes_nothing_and_no_file_is_left(read: Read, store: Store) -> None:
    palace = edit(store("mempalace"), "CREATE TRIGGER t AFTER INSERT ON embeddings BEGIN DELETE FROM embeddings; END")
    before = (palace / "chroma.sqlite3").read_bytes()
    assert len(read(palace)) == 6
    assert (palace / "chroma.sqlite3").read_bytes() == before
    assert sorted(one.name for one in palace.iterdir()) == ["chroma.sqlite3", "mempalace_embedder.json"]


def test_a_palace_that_is_written_to_meanwhile_is_read(read: Read, store: Store) -> None:
    palace = store("mempalace")
    writer = apsw.Connection(str(palace / "chroma.sqlite3"))
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM embeddings")
    assert len(read(palace)) == 6
    writer.execute("ROLLBACK")
    writer.close()


def test_damaged_files_links_and_what_is_none_say_so(read: Read, store: Store, tmp_path: Path) -> None:
    palace = store("mempalace")
    file = palace / "chroma.sqlite3"
    moved = file.rename(tmp_path / "elsewhere")
    file.symlink_to(moved)
    assert "it is a link" in refusal(read, palace)
    assert len(read(file)) == 6
    file.unlink()
    damaged = bytearray(moved.read_bytes())
    at = damaged.index(b"sells tickets until")
    damaged[at - at % 4096 : at - at % 4096 + 12] = b"x" * 12
    file.write_bytes(damaged)
    assert "it is damaged" in refusal(read, palace) or "malformed" in refusal(read, palace)
    file.write_bytes(moved.read_bytes()[:20_000])
    assert "malformed" in refusal(read, palace)
    file.write_bytes(b"no database")
    assert "not a database" in refusal(read, palace)
    file.unlink()
    assert "it holds no chroma.sqlite3" in refusal(read, palace)
    assert "No such file" in refusal(read, tmp_path / "nowhere")
    assert recognize(str(palace)) is recognize(str(tmp_path / "nul\0")) is None
    refusal(read, tmp_path / "nul\0")


def test_how_far_the_reading_is_ends_at_the_whole(store: Store) -> None:
    source = PalaceSource(str(store("mempalace")))
    assert len(list(source)) == 6
    assert source.position_bytes == source.size_bytes
    source.close()
