"""A database of another program is read as it is, or refused in a sentence; nothing of it is run."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.hooks.read import database as guards
from mnemic.hooks.read.database import ForeignDatabase, as_utf8, decode, is_database, path_below, read_beginning
from mnemic.hooks.read.lines import InvalidInput
from tests.foreign_stores import change


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with a table of two rows, the second longer than a page."""
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE t (id TEXT, data BLOB)")
    change(path, "INSERT INTO t VALUES ('abcd', ?), ('long', ?)", b"Q" * 100, b"L" * 20_000)
    return path


def varint(value: int) -> bytes:
    """A number as SQLite writes it: seven bits a byte, the first of them the highest."""
    groups = [value >> shift & 0x7F for shift in range(28, -1, -7)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def test_rows_are_given_as_they_are(file: Path) -> None:
    assert is_database(str(file))
    database = ForeignDatabase(str(file), ("t",))
    database.require_sound(("t",))
    assert database.rows("SELECT id, length(data) FROM t ORDER BY id") == [("abcd", 100), ("long", 20_000)]
    assert database.rows("SELECT id FROM t WHERE id = ?1", "none") == []
    assert database.size_bytes == file.stat().st_size
    database.close()


def test_nothing_can_be_written_through_it(file: Path) -> None:
    database = ForeignDatabase(str(file), ("t",))
    with pytest.raises(SourceUnreadable, match="readonly"):
        database.rows("DELETE FROM t")
    database.close()


def test_a_blob_that_claims_two_gigabytes_takes_no_room_and_is_refused(file: Path) -> None:
    data = bytearray(file.read_bytes())
    at = data.index(b"abcd" + b"Q" * 100)
    header = bytes([7, 0]) + varint(12 + 2 * (1 << 31))  # its own length, NULL, and a blob of so many bytes
    data[at - 4 : at - 4 + len(header)] = header
    file.write_bytes(data)
    database = ForeignDatabase(str(file), ("t",))
    with pytest.raises(SourceUnreadable):
        database.rows("SELECT data FROM t")
    database.close()


def test_a_row_longer_than_may_be_held_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MOST_LINE_BYTES", 10_000)
    database = ForeignDatabase(str(file), ("t",))
    with pytest.raises(SourceUnreadable, match="too big"):
        database.rows("SELECT data FROM t")
    database.close()


def test_pages_that_are_damaged_are_found_before_they_are_read(file: Path) -> None:
    data = bytearray(file.read_bytes())
    overflow = data.index(b"L" * 1000, len(data) - 3 * 4096) // 4096 * 4096
    data[overflow : overflow + 4] = (99_999).to_bytes(4, "big")  # the page on which the text would go on
    file.write_bytes(data)
    database = ForeignDatabase(str(file), ("t",))
    with pytest.raises(SourceUnreadable, match="it is damaged: "):
        database.require_sound(("t",))
    database.close()


def test_a_text_that_is_no_utf8_is_told_by_itself_and_other_types_are_nothing(file: Path) -> None:
    change(file, "DELETE FROM t")
    change(file, "INSERT INTO t VALUES (CAST(x'ff' AS TEXT), 7), ('東', 'text')")
    database = ForeignDatabase(str(file), ("t",))
    (bad, number), (good, text) = database.rows(f"SELECT {as_utf8('id')}, {as_utf8('data')} FROM t")
    database.close()
    with pytest.raises(InvalidInput, match="a text in it is no UTF-8"):
        decode(bad)
    assert (number, decode(good), decode(text), decode(None)) == (None, "東", "text", None)


def test_what_cannot_be_opened_begins_with_nothing_and_says_why(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "nul\0", Path("/dev/zero")):
        assert read_beginning(str(path), 16) == b""
        assert not is_database(str(path))
    with pytest.raises(SourceUnreadable, match="No such file"):
        ForeignDatabase(str(tmp_path / "nowhere"), ())
    (tmp_path / "text").write_text("no database at all")
    with pytest.raises(SourceUnreadable, match="not a database"):
        ForeignDatabase(str(tmp_path / "text"), ("t",))


def test_below_a_folder_no_link_is_followed_whether_it_is_a_file_or_a_folder(file: Path, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "link.db").symlink_to(file)
    (tmp_path / "c").symlink_to(tmp_path / "a")
    assert path_below(str(tmp_path / "c"), "b") == str(tmp_path / "c" / "b")  # the folder itself was named
    for names in (("c", "b"), ("a", "b", "link.db")):
        with pytest.raises(SourceUnreadable, match="it is a link"):
            path_below(str(tmp_path), *names)


def test_a_writer_that_holds_the_file_is_waited_for_and_told_of(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_BUSY_MS", 1)
    writer = apsw.Connection(str(file))
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(SourceUnreadable, match="locked"):
        ForeignDatabase(str(file), ("t",))
    writer.execute("ROLLBACK")
    writer.close()
