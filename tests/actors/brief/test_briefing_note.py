"""A note of what was told where nobody could write the log is in the log when the spool is taken in, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.actors.brief.briefing_note import TOLD, note, told_by
from mnemic.actors.protocol.ambient_messages import Drained, DrainSpool
from mnemic.actors.protocol.changes import RecordGiven
from mnemic.actors.protocol.events import Record
from mnemic.actors.protocol.log_messages import GivenListed, ListGiven
from tests.society import START_US, Society

CHANGE = RecordGiven(
    assistant="codex",
    session="new",
    occasion="session-start",
    memories=(b"m" * 16,),
    tokens=9,
    scope="work/shelf",
    why=("a decision",),
    text=b"nine books",
)


def record(payload: bytes, at: int = START_US - 5) -> Record:
    return Record(id=b"r" * 16, assistant="codex", event=TOLD, at=at, cwd=None, branch=None, payload=payload)


@pytest.fixture
def society(tmp_path: Path) -> Iterator[Society]:
    with Society(tmp_path) as society:
        yield society


def test_a_note_says_what_was_told_when_and_by_whom() -> None:
    told = told_by(record(note(CHANGE)))
    assert isinstance(told, RecordGiven)
    assert (told.text, told.memories, told.why, told.at) == (
        b"nine books",
        CHANGE.memories,
        ("a decision",),
        START_US - 5,
    )


@pytest.mark.parametrize("payload", [b"", b"{}", b"[]", b"\xff", b'{"change": "drop_given", "count": 1}'])
def test_what_is_no_note_is_said_to_be_none(payload: bytes) -> None:
    assert told_by(record(payload)) == "it is no note of what was told"


def test_it_is_in_the_log_when_it_is_taken_in_and_what_is_gone_since_is_left_out(society: Society) -> None:
    kept = society.keep("nine books").id
    told = RecordGiven(
        assistant="somebody else",
        session="new\\ud800",
        occasion="session-start",
        memories=(b"m" * 16, kept),
        tokens=9,
        scope="work/shelf",
        why=("gone", "a decision"),
        text=b"nine books",
    )
    society.spool.write(record(note(told)), record(b"nonsense"))
    drained = society.ask(DrainSpool())
    assert isinstance(drained, Drained)
    assert (drained.records, drained.new, drained.set_aside) == (2, 0, 1)
    listed = society.ask(ListGiven())
    assert isinstance(listed, GivenListed)
    (giving,) = listed.givings
    assert (giving.at, giving.assistant, giving.session) == (START_US - 5, "codex", "new\\ud800")
    assert (giving.scope, giving.tokens, giving.text) == ("work/shelf", 9, b"nine books")
    assert [(part.id, part.why) for part in giving.parts] == [(kept, "a decision")]
    assert society.look(lambda snapshot: snapshot.given("codex", "new\\ud800")) == {kept}
