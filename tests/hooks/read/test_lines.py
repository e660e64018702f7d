"""Lines as they are found on disk: whatever they hold, reading goes on, and nothing is lost or invented."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, MalformedLine, UnknownFields, to_text
from mnemic.hooks import find_transcripts
from mnemic.hooks.hosts.claude_code import ClaudeReader
from mnemic.hooks.hosts.codex import CodexReader
from mnemic.hooks.read.generic import GenericReader
from mnemic.hooks.read.lines import LineSource, RawLines, parse_time_us, render_call
from mnemic.hooks.read.own_calls import is_own_tool
from tests.paths import FIXTURES

READERS = {"claude-code": ClaudeReader, "codex": CodexReader, "jsonl": GenericReader}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
    max_leaves=6,
)
TRANSCRIPTS = FIXTURES / "transcripts"
GENERIC = {
    "session": "s",
    "role": "tool",
    "text": "x",
    "said_at": "2026-11-21",
    "kind": "note",
    "files": ["a"],
    "id": "i",
}


def real_lines(format: str) -> list[Any]:
    """Every line of the real transcripts of a format; of generic lines, one that has all fields."""
    paths = find_transcripts(str(TRANSCRIPTS / format)) if format != "jsonl" else []
    return [json.loads(line) for path in paths for line in Path(path).read_text("utf-8").splitlines()] or [GENERIC]


LINES = {format: real_lines(format) for format in READERS}


def damaged(node: Any, draw: Callable[[Any], Any]) -> Any:
    """A copy with one thing in it, at any depth, replaced by anything, or taken out."""
    if not isinstance(node, dict | list) or not node or draw(st.integers(0, 4)) == 0:
        return draw(VALUES)
    key = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
    if isinstance(node, list):
        return [damaged(value, draw) if place == key else value for place, value in enumerate(node)]
    if draw(st.integers(0, 4)) == 0:
        return {name: value for name, value in node.items() if name != key}
    return {**node, key: damaged(node[key], draw)}


def reading(format: str, data: bytes) -> tuple[list[Event | MalformedLine], LineSource]:
    source = LineSource(format, RawLines("x", io.BytesIO(data), len(data)), READERS[format]())
    return [item for item in source if not isinstance(item, UnknownFields)], source


def generic(data: bytes) -> list[str]:
    rows = []
    for event in reading("jsonl", data)[0]:
        rows.append(f"{event.line}: {event.why}" if isinstance(event, MalformedLine) else to_text(event.text))
    return rows


def told(text: str) -> bytes:
    return json.dumps({"session": "s", "role": "user", "text": text}).encode()


@pytest.mark.parametrize("format", READERS)
@given(data=st.data())
def test_no_damage_to_a_real_line_raises_and_every_event_is_whole(format: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(LINES[format]) - 1))
    before = [LINES[format][0], *LINES[format][max(0, place - 3) : place]]
    lines = [*before, damaged(LINES[format][place], data.draw), LINES[format][place]]
    raw = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    events, source = reading(format, raw)
    assert source.position_bytes == len(raw)
    for event in events:
        if isinstance(event, MalformedLine):
            assert 1 <= event.line <= len(lines)
            assert not event.why.startswith("reading it failed")
            continue
        assert isinstance(event.text, bytes)
        assert isinstance(event.session, str) and event.session  # noqa: PT018 - one fact
        for name in ("host_id", "source_id", "speaker", "cwd", "branch", "scope", "tool"):
            assert isinstance(getattr(event, name), str | None)
        assert all(isinstance(name, str) for name in event.files)


@pytest.mark.parametrize("format", READERS)
@given(data=st.binary(max_size=200))
def test_no_bytes_raise(format: str, data: bytes) -> None:
    events, source = reading(format, data)
    assert source.position_bytes == len(data)
    assert len([event for event in events if isinstance(event, MalformedLine)]) <= data.count(b"\n") + 1


def test_damaged_lines_are_counted_by_number_and_the_rest_goes_on() -> None:
    data = b"\n".join(
        [
            told("a"),
            b"{",
            b"\xff\xfe",
            b'"text"',
            b"[" * 200_000,
            b'{"session": "a\x01"}',
            b'{"n":' + b"9" * 5000 + b"}",
            told("b"),
            told("c")[:-3],
        ]
    )
    assert generic(data) == [
        "a",
        "2: not JSON: Expecting property name enclosed in double quotes at character 1",
        "3: not UTF-8",
        "4: not a JSON object",
        "5: not JSON that can be read: nested too deeply",
        "6: not JSON: Invalid control character at character 14",
        "7: not JSON that can be read: a number is too long",
        "b",
        f"9: not JSON: Unterminated string starting at character {len(told('c')) - 4}"
        " (the last line, perhaps still being written)",
    ]


@pytest.mark.parametrize("format", READERS)
@given(data=st.data())
def test_padding_around_a_record_changes_nothing(format: str, data: st.DataObject) -> None:
    lines = [json.dumps(line).encode() for line in LINES[format][:12]]
    padding = st.sampled_from(
        [b"", b"\0", bytes(4096), b"\0\r", b" \t\0", b"\0\n\0\0\n", b"\xef\xbb\xbf", b"\0\xef\xbb\xbf\0"]
    )
    before, after = data.draw(padding), data.draw(padding.filter(lambda mark: b"\xef" not in mark))
    padded = b"".join(before + line + after + b"\n" for line in lines)
    assert reading(format, padded)[0] == reading(format, b"".join(line + b"\n" for line in lines))[0]


def test_a_line_of_nothing_but_nul_is_blank_and_nul_inside_a_record_is_damage() -> None:
    data = (
        told("a")
        + bytes(9000)
        + b"\n"
        + bytes(400)
        + told("b")
        + b"\n"
        + bytes(300)
        + b"\n"
        + b'{"x\0": 1}\n'
        + bytes(7)
    )
    assert generic(data) == ["a", "b", "4: not JSON: Invalid control character at character 3"]


def test_a_line_at_which_a_reader_fails_is_malformed_and_no_other_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(GenericReader):
        def read(self, line: Any) -> Any:
            yield from super().read(line)
            if line["text"] == "b":
                raise RecursionError("quoting a secret")

        def finish(self) -> Any:
            raise MemoryError

    data = b"\n".join(map(told, "abc"))
    first, second, failed, third, at_end = LineSource("jsonl", RawLines("x", io.BytesIO(data), None), Failing())
    assert [to_text(event.text) for event in (first, second, third) if isinstance(event, Event)] == ["a", "b", "c"]
    assert failed == MalformedLine(line=2, why="reading it failed (RecursionError)")
    assert at_end == MalformedLine(line=3, why="reading it failed (MemoryError)")
    assert "a line of a transcript failed: RecursionError at read (test_lines.py:" in caplog.text
    assert "secret" not in caplog.text


def test_a_byte_order_mark_carriage_returns_and_blank_lines_are_no_matter() -> None:
    assert generic(b"\xef\xbb\xbf" + told("a") + b"\r\n\r\n  \n" + told("b") + b"\r\n" + told("c")) == ["a", "b", "c"]


def test_lone_surrogates_pass_written_either_way() -> None:
    escaped = told("\ud83d")
    raw = escaped.replace(b"\\ud83d", b"\xed\xa0\xbd")
    assert generic(escaped + b"\n" + raw) == ["\ud83d", "\ud83d"]


def test_the_position_follows_the_reading_line_by_line() -> None:
    lines = [told("a") + b"\n", told("b") + b"\n"]
    source = LineSource("jsonl", RawLines("x", io.BytesIO(b"".join(lines)), None), GenericReader())
    positions = [source.position_bytes for _ in source]
    assert positions == [len(lines[0]), len(lines[0]) + len(lines[1])]


def test_a_line_of_fifty_megabytes_is_read_whole() -> None:
    text = "wörter " * 7_000_000
    (event,), _ = reading("jsonl", told(text))
    assert isinstance(event, Event)
    assert event.text == text.encode()


def test_a_file_that_stops_being_readable_is_one_clear_sentence(tmp_path: Path) -> None:
    class Failing(io.BytesIO):
        def readline(self, *_: Any) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(SourceUnreadable, match=r"x cannot be read: Input/output error\."):
        list(LineSource("jsonl", RawLines("x", Failing(), None), GenericReader()))


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01.000001", 1_000_001),
        ("1969-12-31T23:59:59Z", -1_000_000),
        ("0001-01-01T00:00:00+14:00", -62135647200000000),
        ("yesterday", None),
        ("\ud83d", None),
        (5, None),
        (None, None),
    ],
)
def test_a_time_without_a_zone_is_utc_and_what_is_no_time_is_none(value: object, moment: int | None) -> None:
    assert parse_time_us(value) == moment


def test_a_call_is_rendered_readable_and_whole() -> None:
    arguments = {"command": "a\nb", "n": 3, "deep": {"é": ["x"]}, "empty": ""}
    assert render_call("Bash", arguments) == 'Bash\ncommand: a\nb\nn: 3\ndeep: {"é": ["x"]}\nempty: '
    assert render_call("f", None) == "f"
    assert render_call("f", "free text") == "f\nfree text"


@pytest.mark.parametrize(
    ("tool", "own"),
    [
        ("mcp__mnemic__memory_recall", True),
        ("mcp__plugin_memory_mnemic__memory_get", True),
        ("mnemic__memory_recall", True),
        ("mcp__other__memory_recall", False),
        ("mnemic", False),
        ("mcp__notmnemic__memory_get", False),
        ("mcp__docs__search_mnemic_pages", False),
    ],
)
def test_own_tools_are_known_by_their_server(tool: str, own: bool) -> None:
    assert is_own_tool(tool) is own
