"""Plain text: cut into notes, and nothing lost."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event
from mnemic.hooks.read.generic import TextSource, paragraphs
from mnemic.hooks.read.lines import RawLines

PIECES = st.sampled_from(
    [b"a", b"word", b" ", b"\t", b"\n", b"\r\n", b"\r", b"\n\n", b"\x00", "é\ud800".encode("utf-8", "surrogatepass")]
)


@given(st.lists(PIECES).map(b"".join))
def test_the_notes_joined_are_the_file(data: bytes) -> None:
    notes = list(paragraphs(data))
    assert b"".join(notes) == data
    assert all(notes)
    if data.strip(b" \t\r\n"):
        assert all(note.strip(b" \t\r\n") for note in notes)


@pytest.mark.parametrize(
    ("data", "notes"),
    [
        (b"", []),
        (b"one", [b"one"]),
        (b"one\ntwo", [b"one\ntwo"]),
        (b"one\n\ntwo\n", [b"one\n\n", b"two\n"]),
        (b"one\r\ntwo\r\n\r\nthree", [b"one\r\ntwo\r\n\r\n", b"three"]),
        (b"one\r\rtwo", [b"one\r\r", b"two"]),
        (b"one\n \t\n\n\ntwo", [b"one\n \t\n\n\n", b"two"]),
        (b"\n\n one\n\n", [b"\n\n one\n\n"]),
        (b"\n\n\n", [b"\n\n\n"]),
    ],
)
def test_blank_lines_end_a_note_whatever_the_newline(data: bytes, notes: list[bytes]) -> None:
    assert list(paragraphs(data)) == notes


def test_a_note_knows_its_session_and_where_it_stood() -> None:
    source = TextSource("/notes.txt", RawLines("notes.txt", io.BytesIO(b"one\n\ntwo"), 8))
    assert list(source) == [
        Event(assistant="generic", session="/notes.txt", kind="note", role="user", text=b"one\n\n", source_id="byte 0"),
        Event(assistant="generic", session="/notes.txt", kind="note", role="user", text=b"two", source_id="byte 5"),
    ]
    assert source.position_bytes == source.size_bytes == 8


def test_what_is_no_utf_8_leaves_nothing_behind() -> None:
    source = TextSource("/notes.txt", RawLines("notes.txt", io.BytesIO(b"one\n\n\xff"), None))
    taken = []
    with pytest.raises(SourceUnreadable, match=r"notes\.txt cannot be read: byte 5 is no UTF-8\."):
        taken.extend(source)
    assert taken == []
