"""Generic JSON Lines: what is promised comes back byte for byte, and what is wrong says so."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.events import KINDS, ROLES, Event, MalformedLine, SourceItem, UnknownFields, to_text
from mnemic.hooks.read.generic import OTHER_FIELDS, GenericReader, is_generic, names_session
from mnemic.hooks.read.lines import LineSource, RawLines

FULL = {
    "session": "monday",
    "role": "tool",
    "text": "ok\r\n",
    "speaker": "Ana",
    "said_at": "2026-11-21T10:00:00+01:00",
    "scope": "work/shelf",
    "id": "m-1",
    "kind": "tool_result",
    "tool": "pytest",
    "outcome": "failed",
    "files": ["a.py", "b.py"],
}
# Any text, lone surrogates, NUL and every newline style included.
TEXTS = st.text(alphabet=st.characters() | st.sampled_from("\x00\r\n\u2028\ud800\udfff"))


def read(line: object, ensure_ascii: bool = True, session: str | None = None) -> SourceItem:
    (item,) = read_all([line], ensure_ascii, session)
    return item


def read_all(lines: list[Any], ensure_ascii: bool = True, session: str | None = None) -> list[SourceItem]:
    dumped = (json.dumps(one, ensure_ascii=ensure_ascii) for one in lines)
    data = b"".join(one.encode("utf-8", "surrogatepass") + b"\n" for one in dumped)
    return list(LineSource("jsonl", RawLines("x", io.BytesIO(data), len(data)), GenericReader(session)))


def event_of(**changed: Any) -> Event:
    """The event of a line with a session, a role and a text, changed in some fields; those that are `None` go."""
    line = {"session": "s", "role": "user", "text": "x"} | changed
    event = read({name: value for name, value in line.items() if value is not None})
    assert isinstance(event, Event)
    return event


@given(text=TEXTS, session=TEXTS.filter(bool), role=st.sampled_from(ROLES), escaped=st.booleans())
def test_every_text_comes_back_byte_for_byte(text: str, session: str, role: str, escaped: bool) -> None:
    event = read({"session": session, "role": role, "text": text}, escaped)
    assert isinstance(event, Event)
    assert event.text == text.encode("utf-8", "surrogatepass")
    assert to_text(event.text) == text
    assert (event.session, event.role, event.assistant) == (session, role, "generic")


def test_every_field_is_taken() -> None:
    assert read(FULL) == Event(
        assistant="generic",
        session="monday",
        kind="tool_result",
        role="tool",
        text=b"ok\r\n",
        host_id="m-1",
        source_id="m-1",
        speaker="Ana",
        said_at=1795251600000000,
        utc_offset_min=60,
        scope="work/shelf",
        tool="pytest",
        outcome="failed",
        files=("a.py", "b.py"),
    )


def test_a_tools_words_are_a_result_and_everybody_elses_a_turn_unless_the_line_says_otherwise() -> None:
    kinds = {}
    for role in ROLES:
        event = read({"session": "s", "role": role, "text": "x"})
        assert isinstance(event, Event)
        kinds[role] = event.kind
    assert kinds == {"user": "turn", "assistant": "turn", "tool": "tool_result", "system": "turn"}
    for kind in KINDS:
        event = read({"session": "s", "role": "user", "text": "x", "kind": kind})
        assert isinstance(event, Event)
        assert event.kind == kind


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"session": None}, "session is missing, and what comes through a pipe has no name that could stand for it"),
        ({"session": 7}, "session is no string"),
        ({"session": ""}, "session is empty"),
        ({"role": None}, "role is missing"),
        ({"text": None}, "text is missing"),
        ({"text": 7}, "text is no string"),
        ({"role": "narrator"}, "role is none of user, assistant, tool, system"),
        ({"kind": "rumour"}, f"kind is none of {', '.join(KINDS)}"),
        ({"outcome": "maybe"}, "outcome is none of ok, failed"),
        ({"said_at": "yesterday"}, "said_at is no time: neither ISO 8601 nor seconds or milliseconds since 1970"),
        ({"said_at": True}, "said_at is no time: neither ISO 8601 nor seconds or milliseconds since 1970"),
        ({"said_at": 1e14}, "said_at is no time: neither ISO 8601 nor seconds or milliseconds since 1970"),
        ({"said_at": float("nan")}, "said_at is no time: neither ISO 8601 nor seconds or milliseconds since 1970"),
        ({"said_at": None, "time": "soon"}, "time is no time: neither ISO 8601 nor seconds or milliseconds since 1970"),
        ({"text": None, "content": []}, "content has no part that is text"),
        ({"text": None, "content": [{"type": "image"}]}, "content has no part that is text"),
        ({"role": None, "author": {"name": "Ana"}}, "role is missing"),
        ({"role": None, "author": 7}, "role is no string"),
        ({"id": 7}, "id is no string"),
        ({"files": "a.py"}, "files is no list of strings"),
        ({"files": [1]}, "files is no list of strings"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], why: str) -> None:
    assert read({**FULL, **change}) == MalformedLine(line=1, why=why)


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (FULL, True),
        ({"role": "user", "content": "x"}, True),
        ({"author": {"role": "user"}, "content": ["x"]}, True),
        ({"session": "s", "role": "user", "text": None}, False),
        ({"role": "user", "message": {"content": "x"}}, False),
        ({"text": "x"}, False),
    ],
)
def test_a_line_is_known_by_what_it_must_have(line: dict[str, Any], known: bool) -> None:
    assert is_generic(line) == known


# --- the names of others ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "said_at"),
    [
        ("2026-11-21T10:00:00+01:00", 1795251600_000000),
        ("2026-11-21", 1795219200_000000),
        (1795251600, 1795251600_000000),
        (1795251600.25, 1795251600_250000),
        (1795251600250, 1795251600_250000),
        (0, 0),
        (-86400, -86400_000000),
    ],
)
@pytest.mark.parametrize("name", ["said_at", "time", "timestamp", "created_at"])
def test_a_time_is_iso_8601_or_seconds_or_milliseconds_by_any_of_its_names(
    name: str, written: object, said_at: int
) -> None:
    assert event_of(**{name: written}).said_at == said_at


def test_of_two_names_for_the_same_the_first_counts() -> None:
    event = event_of(said_at="2026-11-21", timestamp=0, content="y", session_id="t", author="Ana")
    assert (event.said_at, event.text, event.session, event.role, event.speaker) == (
        1795219200_000000,
        b"x",
        "s",
        "user",
        "Ana",
    )


def test_the_same_words_at_two_times_are_two_however_the_time_is_written() -> None:
    told = [event_of(time=1), event_of(time=2), event_of(time="1970-01-01T00:00:01Z")]
    assert [one.disambiguator for one in told] == ["1", "2", "1970-01-01T00:00:01Z"]
    assert event_of(id="m-1", time=1).disambiguator is None


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", b"plain"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], b"one\ntwo"),
        ([{"type": "input_text", "text": "one"}, {"type": "image_url", "image_url": "x"}, "two"], b"one\ntwo"),
        ([{"text": "one"}, {"type": "tool_use", "text": "no"}, {"type": "text", "text": 7}], b"one"),
    ],
)
def test_a_text_may_be_called_content_and_come_in_parts(content: object, text: bytes) -> None:
    assert event_of(text=None, content=content).text == text


@pytest.mark.parametrize(
    ("author", "role", "speaker"),
    [
        ("human", "user", None),
        ("assistant", "assistant", None),
        ("model", "assistant", None),
        ("Ana", "user", "Ana"),
        ({"role": "tool", "name": "pytest"}, "tool", "pytest"),
        ({"role": "developer"}, "system", None),
    ],
)
def test_an_author_is_a_role_or_a_person(author: object, role: str, speaker: str | None) -> None:
    event = event_of(role=None, author=author)
    assert (event.role, event.speaker) == (role, speaker)
    assert event_of(role=None, author=author, speaker="Max").speaker == "Max"


@pytest.mark.parametrize("name", ["session", "session_id", "conversation_id", "thread_id"])
def test_a_line_without_a_session_is_of_its_files(name: str) -> None:
    lines = [{"role": "user", "text": "x"}, {"role": "user", "text": "x", name: "own"}]
    assert [names_session(line) for line in lines] == [False, True]
    sessions = [event.session for event in read_all(lines, session="/a.jsonl") if isinstance(event, Event)]
    assert sessions == ["/a.jsonl", "own"]


def test_what_means_nothing_is_named_before_what_it_stands_with() -> None:
    line = {"session": "s", "role": "user", "text": "x", "mood": "glad", "a\ud800": 1}
    told, event, bad, malformed = read_all([line, {"mood": "sad"}])
    assert told == UnknownFields(("mood", "a\\ud800"))
    assert isinstance(event, Event)
    assert bad == UnknownFields(("mood",))
    assert isinstance(malformed, MalformedLine)


def test_of_too_many_names_or_too_long_ones_no_more_is_told_than_can_be_read() -> None:
    names = ["n" * 1000, *(f"field {number}" for number in range(99))]
    told, _ = read_all([{"session": "s", "role": "user", "text": "x", **dict.fromkeys(names, 1)}])
    assert isinstance(told, UnknownFields)
    assert told.names == ("n" * 60 + "…", *names[1:50], OTHER_FIELDS)


@pytest.mark.parametrize(
    ("fields", "author", "speaker"),
    [
        ({}, None, None),
        ({"speaker": "Ana"}, None, "Ana"),
        ({"author": "Rae"}, None, "Rae"),
        ({"author": "Rae", "role": None}, "other", "Rae"),
        ({"author": "other", "speaker": "Rae"}, "other", "Rae"),
        ({"author": "unknown"}, "unknown", None),
        ({"author": {"role": "user", "name": "Rae"}, "role": None}, None, "Rae"),
    ],
)
def test_a_person_of_whom_no_line_says_that_they_are_the_user_is_another_one(
    fields: dict[str, Any], author: str | None, speaker: str | None
) -> None:
    event = event_of(**fields)
    assert (event.role, event.author, event.speaker) == ("user", author, speaker)
