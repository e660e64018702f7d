"""A text comes back byte for byte, whatever is in it, and is kept once."""

from __future__ import annotations

import random
from collections.abc import Iterator

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.runtime.store.texts import drop_text_if_unused, load_text, store_text, text_prefix, to_index_text
from tests.runtime.building import KEYS

DIGEST = KEYS.identity_hash()
TABLES = """
CREATE TABLE texts(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, size INTEGER, packed INTEGER, body BLOB);
CREATE TABLE memories(text INTEGER);
CREATE TABLE log(text INTEGER);
CREATE TABLE aside(text INTEGER);
CREATE TABLE originals(text INTEGER);
CREATE TABLE givings(text INTEGER);
"""
any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)


@pytest.fixture(scope="module")
def db() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(TABLES)
    yield connection
    connection.close()


@given(text=any_text, times=st.sampled_from([1, 1, 30]))
@example(text="", times=1)
@example(text="\0", times=1)
@example(text="a\r\nb\rc\nd\x85e\u2028f\x0b\x0c\x1c", times=1)
@example(text="\ud800 alone, \udfff\ud800 the wrong way round", times=100)
@example(text="\ufeffmarked \ufffd \U0010ffff", times=1)
def test_any_text_comes_back_byte_for_byte(db: apsw.Connection, text: str, times: int) -> None:
    given_bytes = (text * times).encode("utf-8", "surrogatepass")
    row = store_text(db, given_bytes, DIGEST)
    assert load_text(db, row) == given_bytes
    assert store_text(db, given_bytes, DIGEST) == row
    assert db.execute("SELECT size FROM texts WHERE id = ?", (row,)).get == len(given_bytes)


def test_ten_megabytes_come_back_and_are_kept_once(db: apsw.Connection) -> None:
    text = ("a line with a \0, a \ud800 and a number %d\r\n" * 250_000).encode("utf-8", "surrogatepass")[: 10 << 20]
    before = db.execute("SELECT count(*) FROM texts").get
    row = store_text(db, text, DIGEST)
    assert store_text(db, text, DIGEST) == row
    assert load_text(db, row) == text
    assert db.execute("SELECT count(*) FROM texts").get == before + 1
    assert db.execute("SELECT length(body) FROM texts WHERE id = ?", (row,)).get < len(text) // 50


def test_what_compression_would_lengthen_is_kept_as_it_is(db: apsw.Connection) -> None:
    text = random.Random(1).randbytes(5000)  # no text, but the table asks for none
    row = store_text(db, text, DIGEST)
    assert db.execute("SELECT packed, length(body) FROM texts WHERE id = ?", (row,)).fetchall() == [(0, 5000)]
    assert load_text(db, row) == text


def test_a_text_goes_when_neither_a_memory_nor_the_log_has_it(db: apsw.Connection) -> None:
    row = store_text(db, b"held twice", DIGEST)
    db.execute("INSERT INTO memories VALUES(?1); INSERT INTO log VALUES(?1)", (row, row))
    for table in ("memories", "log"):
        drop_text_if_unused(db, row)
        assert load_text(db, row) == b"held twice"
        db.execute(f"DELETE FROM {table} WHERE text = ?", (row,))
    drop_text_if_unused(db, row)
    assert db.execute("SELECT count(*) FROM texts WHERE id = ?", (row,)).get == 0


@given(any_text)
def test_the_index_gets_every_character_it_can_hold(text: str) -> None:
    cleaned = to_index_text(text.encode("utf-8", "surrogatepass"))
    assert len(cleaned) == len(text)
    assert all(
        b == ("?" if "\ud800" <= a <= "\udfff" else " " if a == "\0" else a) for a, b in zip(text, cleaned, strict=True)
    )


def test_what_is_no_text_is_refused_without_showing_it() -> None:
    with pytest.raises(ValueError, match="no UTF-8 at byte 6") as caught:
        to_index_text(b"secret\xff")
    assert "secret" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@given(text=any_text, times=st.sampled_from([1, 1, 40]), limit=st.integers(0, 700))
def test_the_start_of_a_text_is_as_much_of_it_as_fits_in_whole_characters(
    db: apsw.Connection, text: str, times: int, limit: int
) -> None:
    whole = text.encode("utf-8", "surrogatepass") * times
    start, size = text_prefix(db, store_text(db, whole, DIGEST), limit)
    assert size == len(whole)
    assert whole.startswith(start)
    start.decode("utf-8", "surrogatepass")
    assert len(start) <= limit
    if len(start) < len(whole):
        following = len(whole[len(start) :].decode("utf-8", "surrogatepass")[0].encode("utf-8", "surrogatepass"))
        assert len(start) + following > limit
