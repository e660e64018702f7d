"""Generic JSON Lines: what is promised comes back byte for byte, and what is wrong says so."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.protocol.events import KINDS, ROLES, Event, MalformedLine, to_text
from mnemic.hooks.read.generic import GenericReader, is_generic
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
    "anything": {"else": 1},
}
# Any text, lone surrogates, NUL and every newline style included.
TEXTS = st.text(alphabet=st.characters() | st.sampled_from("\x00\r\n\u2028\ud800\udfff"))


def read(line: object, ensure_ascii: bool = True) -> Event | MalformedLine:
    data = json.dumps(line, ensure_ascii=ensure_ascii).encode("utf-8", "surrogatepass")
    (event,) = LineSource("jsonl", RawLines("x", io.BytesIO(data), len(data)), GenericReader())
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
        ({"session": None}, "session is missing"),
        ({"session": ""}, "session is empty"),
        ({"role": None}, "role is missing"),
        ({"text": None}, "text is missing"),
        ({"text": 7}, "text is no string"),
        ({"role": "narrator"}, "role is none of user, assistant, tool, system"),
        ({"kind": "rumour"}, f"kind is none of {', '.join(KINDS)}"),
        ({"outcome": "maybe"}, "outcome is none of ok, failed"),
        ({"said_at": "yesterday"}, "said_at is no ISO 8601 time"),
        ({"said_at": 1795255200}, "said_at is no string"),
        ({"id": 7}, "id is no string"),
        ({"files": "a.py"}, "files is no list of strings"),
        ({"files": [1]}, "files is no list of strings"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], why: str) -> None:
    assert read({**FULL, **change}) == MalformedLine(line=1, why=why)


def test_a_line_is_known_by_what_it_must_have() -> None:
    assert is_generic(FULL)
    assert not is_generic({"session": "s", "role": "user", "text": None})
