"""A file's format is told by its first line that belongs to one, and what cannot be opened says why."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import AmbiguousFormat, InvalidValue, SourceUnreadable
from mnemic.actors.kernel.events import Event
from mnemic.hooks import FORMATS, find_transcripts, open_transcript
from mnemic.hooks.imports.importers import IMPORTERS
from mnemic.hooks.read import formats
from mnemic.hooks.read import lines as read_lines
from mnemic.hooks.read.formats import find_sources

GENERIC = b'{"session":"s","role":"user","text":"hello"}\n'
CLAUDE = b'{"type":"mode","mode":"normal","sessionId":"s"}\n'
CODEX = b'{"type":"session_meta","payload":{"id":"t"}}\n'
GEMINI = b'{"sessionId":"s","projectHash":"p","kind":"main"}\n'
OPENCODE = b'{\n  "info": {\n    "id": "ses_1"\n  },\n  "messages": []\n}\n'
UNKNOWN = b'{"from":"somewhere else"}\n'


HAS = "(the first has from; a line of jsonl has a role and a text)"
JSON = "it is JSON; jsonl is one object a line, each with a role and a text"


def format_of(path: str) -> str:
    source = open_transcript(path, "auto")
    source.close()
    return source.format


def standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("lines", "name", "format"),
    [
        ([GENERIC], "a.jsonl", "jsonl"),
        ([CLAUDE], "a.jsonl", "claude-code"),
        ([b'{"type":"summary","summary":"title","leafUuid":"u"}\n'], "a.jsonl", "claude-code"),
        ([CODEX], "a.jsonl", "codex"),
        ([b'{"id":"t","timestamp":"2025-05-01","instructions":null}\n'], "a.jsonl", "codex"),
        ([GEMINI], "a.jsonl", "gemini-cli"),
        ([b'{"torn\n', b'{"$set":{"lastUpdated":"now"}}\n'], "a.jsonl", "gemini-cli"),
        ([OPENCODE], "a.json", "opencode"),
        ([b"\xef\xbb\xbf", OPENCODE], "a", "opencode"),
        ([b'{"info":{"id":"ses_1"},"messages":[]}\n'], "a", "opencode"),
        ([b"\xef\xbb\xbf", GENERIC], "a", "jsonl"),
        ([b"\r\n", GENERIC], "a", "jsonl"),
        ([UNKNOWN, CODEX], "a", "codex"),
        ([b'{"torn\n', CLAUDE], "a", "claude-code"),
        ([b"\xff\n", CLAUDE], "a.jsonl", "claude-code"),
        ([b"A note.\n", GENERIC], "a.txt", "text"),
        ([b"# Title\n\n{}\n"], "a.md", "markdown"),
        ([GENERIC], "a.markdown", "markdown"),
        ([b"# Title\n\n{}\n"], "a.txt", "text"),
        ([b"[a link](b) is text\n"], "a.txt", "text"),
        ([b'{"role":"user","content":"x"}\n'], "a.json", "jsonl"),
        ([b'{"role":"user","content":"x"}\n', CODEX], "a.jsonl", "codex"),
        ([], "a.txt", "text"),
        ([], "a.jsonl", "jsonl"),
        ([b"\n\n"], "a.txt", "text"),
        ([b'{"x":"' + b"y" * 2_000_000 + b'","sessionId":"s","type":"user"}\n'], "a", "claude-code"),
    ],
)
def test_the_first_line_that_belongs_to_a_format_decides(
    write: Any, lines: list[bytes], name: str, format: str
) -> None:
    assert format_of(write(*lines, name=name)) == format


@pytest.mark.parametrize(
    ("data", "name", "why"),
    [
        (UNKNOWN, "a.json", f"none of its first lines is a line of one {HAS}"),
        (UNKNOWN, "a.jsonl", f"none of its first lines is a line of one {HAS}"),
        (b"words\n", "a.jsonl", "none of its first lines is a line of one"),
        (b"words\n", "a.json", "none of its first lines is a line of one"),
        (b'{\n "info": {}\n}\n', "a.json", JSON),
        (b'[{"role":"user","content":"x"}]', "a.json", JSON),
        (b'[1]\n["two"]\n', "a.jsonl", JSON),
        (b"\x89PNG\xff\n", "a.png", "it is neither JSON Lines nor UTF-8 text"),
    ],
)
def test_a_file_of_no_known_format_says_so_and_names_the_known(write: Any, data: bytes, name: str, why: str) -> None:
    path = write(data, name=name)
    with pytest.raises(AmbiguousFormat) as caught:
        open_transcript(path, "auto")
    assert str(caught.value) == f"{path} is no transcript of a known format: {why}."
    assert caught.value.remedy_text == f"Name its format with --format ({', '.join(FORMATS[1:])})."


@pytest.mark.parametrize(
    "data", [b"[1, 2]\n", b"\xef\xbb\xbf [\n{}\n]\n", b"[]", b"[" * 100_000 + b"]", b'["a"]\n\n["b"]\n']
)
def test_json_without_a_name_that_says_so_is_no_text_unless_somebody_says_that_it_is(
    write: Any, read: Any, data: bytes
) -> None:
    path = write(data, name="a.txt")
    with pytest.raises(AmbiguousFormat, match=JSON):
        read(path)
    (note,) = read(path, "text")[:1]
    assert data.startswith(note.text)


@pytest.mark.parametrize("data", [b"[draft] the shelf\n", b"[1, 2] and more\n", b"[1, 2\n", b"7\n", b'"seven"\n'])
def test_what_only_begins_like_json_is_text(write: Any, read: Any, data: bytes) -> None:
    (note,) = read(write(data, name="a.txt"))
    assert (note.kind, note.text) == ("note", data)


def test_of_many_fields_the_first_are_named(write: Any) -> None:
    line = {f"field {number}": number for number in range(20)} | {"x": 1}
    with pytest.raises(AmbiguousFormat) as caught:
        open_transcript(write(line), "auto")
    shown = ", ".join(f"field {number}" for number in range(8))
    assert f"(the first has {shown}, …; " in str(caught.value)


def test_a_format_is_told_by_the_beginning_of_a_file(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    class Counting(io.FileIO):
        def readinto(self, buffer: Any) -> int:
            counts.append(super().readinto(buffer))
            return counts[-1]

    monkeypatch.setattr(formats, "DETECTION_BYTES", 1 << 12)
    monkeypatch.setattr(formats, "open_regular", lambda path: io.BufferedReader(Counting(path), 1 << 12))
    with pytest.raises(AmbiguousFormat):
        open_transcript(write(b"{\n" * (1 << 16)), "auto")
    assert 0 < sum(counts) <= 1 << 13


@pytest.mark.parametrize("format", ["text", "markdown", "opencode"])
def test_what_is_read_whole_is_read_to_a_bound(write: Any, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    monkeypatch.setattr(read_lines, "MOST_LINE_BYTES", 1000)
    source = open_transcript(write(b"\n" * 1001), format)
    with pytest.raises(SourceUnreadable, match="it is longer than 1,000 bytes"):
        list(source)
    source.close()


def test_looking_ahead_loses_no_line(write: Any, read: Any) -> None:
    assert len(read(write(UNKNOWN, b"\n", GENERIC, GENERIC))) == 4  # of the unknown one its field, and why not


def test_a_named_format_is_not_doubted(write: Any, read: Any) -> None:
    (note,) = read(write(GENERIC), "text")
    assert (note.kind, note.text) == ("note", GENERIC)


def test_an_unknown_format_names_the_known(write: Any) -> None:
    with pytest.raises(InvalidValue) as caught:
        open_transcript(write(GENERIC), "yaml")
    assert str(caught.value) == "format cannot be 'yaml': no transcript is read by that name."
    assert caught.value.remedy_text == f"Give one of {', '.join(FORMATS)}."
    hosts = ("claude-code", "codex", "gemini-cli", "opencode")
    assert ("auto", *hosts, "jsonl", *IMPORTERS, "markdown", "text") == FORMATS


def test_sizes_are_known_of_files_and_not_of_pipes(write: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = open_transcript(write(GENERIC), "jsonl")
    source.close()
    assert source.size_bytes == len(GENERIC)
    standard_input(monkeypatch, GENERIC)
    assert open_transcript("-", "auto").size_bytes is None


def test_standard_input_is_read_like_a_file_and_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input(monkeypatch, GENERIC + GENERIC)
    source = open_transcript("-", "auto")
    assert source.format == "jsonl"
    assert len(list(source)) == 2
    source.close()
    assert not sys.stdin.buffer.closed


def test_texts_session_is_its_absolute_path_or_its_content(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, read: Any
) -> None:
    (tmp_path / "notes.txt").write_text("a note")
    monkeypatch.chdir(tmp_path)
    (note,) = read("notes.txt")
    assert note.session == str(tmp_path / "notes.txt")
    standard_input(monkeypatch, b"a note")
    (note,) = read("-")
    assert note.session.startswith("stdin-")
    standard_input(monkeypatch, b"another note")
    (other,) = read("-")
    assert other.session != note.session


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("absent.jsonl", "No such file or directory"),
        (".", "it is no regular file"),
        ("a\x00b", "embedded null byte"),
    ],
)
def test_what_cannot_be_opened_says_why(tmp_path: Path, name: str, why: str) -> None:
    path = f"{tmp_path}/{name}"
    with pytest.raises(SourceUnreadable) as caught:
        open_transcript(path, "auto")
    assert str(caught.value) == f"{path} cannot be read: {why}."


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR)
    try:
        os.write(writer, GENERIC)
        with pytest.raises(SourceUnreadable, match="it is no regular file"):
            open_transcript(str(path), "jsonl")
    finally:
        os.close(writer)


def test_a_link_to_itself_says_so(tmp_path: Path) -> None:
    path = tmp_path / "circle"
    path.symlink_to(path)
    with pytest.raises(SourceUnreadable, match="Too many levels of symbolic links"):
        open_transcript(str(path), "auto")


@given(
    data=st.binary(max_size=80)
    | st.lists(st.sampled_from([GENERIC, CLAUDE, CODEX, GEMINI, OPENCODE, UNKNOWN, b"\n", b"x\n"])).map(b"".join)
)
def test_telling_a_format_depends_on_the_bytes_alone(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    def told(path: str) -> object:
        try:
            source = open_transcript(path, "auto")
        except AmbiguousFormat as error:
            return error.operands["why"]
        try:
            return source.format, list(source)
        except SourceUnreadable as error:
            return error.operands["why"]
        finally:
            source.close()

    def without_session(found: object) -> object:
        if not isinstance(found, tuple) or found[0] != "text":
            return found
        return [event.text for event in found[1] if isinstance(event, Event)]

    path = tmp_path_factory.getbasetemp() / "same"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        standard_input(patch, data)
        piped = told("-")
    assert without_session(told(str(path))) == without_session(told(str(path))) == without_session(piped)


def test_a_folder_stands_for_its_transcripts_at_any_depth_in_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/subagents/agent-1.jsonl", "a.jsonl", "a/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(GENERIC)
    found = [os.path.relpath(path, tmp_path) for path in find_transcripts(str(tmp_path))]
    assert found == ["a.jsonl", "a/subagents/agent-1.jsonl", "b.jsonl"]  # a session before its subagents


def test_whatever_is_no_folder_stands_for_itself(write: Any) -> None:
    path = write(GENERIC)
    assert find_transcripts(path) == [path]
    assert find_transcripts("-") == ["-"]
    assert find_transcripts("absent") == ["absent"]


def test_every_real_transcript_is_told_by_its_host(transcripts: Path) -> None:
    for path in find_transcripts(str(transcripts)):
        assert format_of(path) == Path(path).relative_to(transcripts).parts[0]
        with open(path, encoding="utf-8") as lines:
            assert all(isinstance(json.loads(line), dict) for line in lines)


# --- notes beside transcripts ----------------------------------------------------------------------------------------


def found(folder: Path, format: str) -> tuple[list[str], int]:
    told = find_sources(str(folder), format)
    return [os.path.relpath(path, folder) for path in told.paths], told.notes_left


def test_a_folder_stands_for_its_transcripts_or_where_it_has_none_for_its_notes(tmp_path: Path) -> None:
    for name in ("a.md", "b/c.markdown", "b/d.txt", ".hidden/e.md", "b/node_modules/f.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("words")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    assert found(tmp_path, "auto") == (["a.md", "b/c.markdown"], 0)
    assert found(tmp_path, "jsonl") == ([], 0)
    (tmp_path / ".hidden" / "s.jsonl").write_bytes(GENERIC)
    assert found(tmp_path, "auto") == ([".hidden/s.jsonl"], 2)
    assert found(tmp_path, "jsonl") == ([".hidden/s.jsonl"], 0)
    assert found(tmp_path, "markdown") == (["a.md", "b/c.markdown"], 0)
    assert find_sources(str(tmp_path / "a.md"), "auto") == ([str(tmp_path / "a.md")], 0, [])
