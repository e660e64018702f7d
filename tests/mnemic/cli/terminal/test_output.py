"""What a person reads at a terminal: hits, where was looked, and bars that leave no line of nothing."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mnemic.cli.terminal.output import (
    ASSISTANT_VARIABLES,
    filled,
    hit_lines,
    local_day,
    local_minute,
    new_text,
    plain,
    print_lines,
    progress_bars,
    searched_scope,
)
from mnemic.hooks.read.lines import render_call
from mnemic.hooks.read.own_text import cut_marked


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_thing_that_is_done_has_one_bar_and_what_is_taken_up_again_starts_where_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = Terminal()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bars(quiet=False) as progress:
        for what in ("texts", "words"):
            for done in range(500, 504):
                progress(what, done, 1000)
    last = written.getvalue().replace("\x1b[2K", "").rpartition("texts")[2]
    assert "503/1000" in last
    assert "words" in last
    assert "0/1000 " not in written.getvalue().replace("500/1000 ", "")


def test_no_bar_is_drawn_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bars(quiet=False) as progress:
        progress("texts", 1, 2)
    assert capsys.readouterr() == ("", "")


HIT: dict[str, Any] = {"id": "a", "text": "the pier", "kind": "note", "role": "user", "speaker": "Ida", "scope": "work"}
HIT |= {"said_at": "2026-11-03T10:00:00Z", "score": 0.5, "superseded_by": None}


def shown(hit: dict[str, Any], *, full: bool = False) -> list[str]:
    return [plain(line) for line in hit_lines(1, hit, full=full)]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, ""),
        ({"superseded_by": "b"}, "  superseded by b"),
        ({"superseded_elsewhere": True}, "  superseded, in another scope"),
    ],
)
def test_a_hit_tells_what_it_has_to_do_with_others(more: dict[str, Any], told: str) -> None:
    assert shown(HIT | more) == [f" 1  0.50  Ida  2026-11-03 10:00  work  note  a{told}", "    the pier"]


def test_below_a_hit_stands_what_replaced_it_and_what_contradicts_it_in_one_line_each() -> None:
    ref = {"memory": "b", "value": "Postgres\n17", "at": "2026-11-05T08:00:00Z", "id": "e20668c6"}
    both = HIT | {"replaced": [ref], "contradicts": [ref]}
    assert shown(both, full=True)[1:] == [
        "    the pier",
        "    replaced since 2026-11-05 by: Postgres 17 (b)",
        "    contradicted on 2026-11-05 by: Postgres 17 (`mnemic conflicts e20668c6` settles it)",
    ]
    assert shown(both)[1:] == ["    the pier", "    replaced since 2026-11-05 by: Postgres 17 (b) (+1: --full)"]


def test_a_mark_names_the_words_of_the_hit_that_it_concerns() -> None:
    ref = {"memory": "b", "value": "9090", "at": "2026-11-05T08:00:00Z", "of": "The port for the API\nis 8080"}
    marked = HIT | {"replaced": [ref]}
    told = "replaced since 2026-11-05 by: 9090 (b)"
    assert shown(marked)[2] == f'    "The port for the API is…" {told}'
    assert shown(marked, full=True)[2] == f'    "The port for the API is 8080" {told}'


WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=400) | st.text("ab 日本語のe\u0301\n", max_size=400)


@given(text=WORDS, speaker=WORDS, scope=WORDS, width=st.integers(80, 160))
def test_a_hit_is_three_lines_at_most_none_wider_than_the_terminal(
    text: str, speaker: str, scope: str, width: int
) -> None:
    same = [{"id": "0199c82c-c3e8-7d04-8447-b63be0967784", "said_at": None}] * 9
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        for more in ({}, {"same": same}):
            lines = shown(HIT | more | {"text": text, "speaker": speaker, "scope": scope})
            assert len(lines) <= 3
            assert all(cell_len(line) <= width for line in lines)


@given(words=st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=60))
def test_words_are_cut_nowhere(words: list[str]) -> None:
    rows = filled(" ".join(words), 40, 2)
    kept = " ".join(rows).removesuffix("…").split()
    assert kept == words[: len(kept)]
    assert len(kept) == len(words) or rows[-1].endswith("…")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"file_path": "/a/b.py", "old_string": "x = 1", "new_string": "x = 2\ny: 3"}, "Edit /a/b.py -> x = 2\ny: 3"),
        (
            {"replace_all": False, "file_path": "b.py", "old_string": "x", "new_string": "", "more": 1},
            "Edit b.py -> \nmore: 1",
        ),
        ({"filePath": "b.py", "oldString": "x", "newString": "y"}, "Edit b.py -> y"),
        ({"file_path": "b.py", "old_string": "x"}, "Edit\nfile_path: b.py\nold_string: x"),
        ({"command": "ls"}, "Edit\ncommand: ls"),
    ],
)
def test_of_an_edit_the_file_and_the_new_text_are_told(arguments: dict[str, Any], told: str) -> None:
    assert new_text(render_call("Edit", arguments)) == told


def test_below_a_hit_that_is_an_edit_stands_the_new_text_and_no_name_of_a_path_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mnemic.cli.terminal.output.columns", lambda: 60)
    path = "/home/ada/projects/korb/src/payments/providers/mollie_client.py"
    edit = render_call("Edit", {"file_path": path, "old_string": "retries = 3 " * 20, "new_string": "retries = 5"})
    _, first, second = (plain(line) for line in hit_lines(1, HIT | {"kind": "tool_call", "text": edit}))
    assert first == "    Edit /home/ada/projects/korb/src/payments/providers/"
    assert second == "    mollie_client.py -> retries = 5"


def test_times_are_local_and_to_the_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert local_minute("2026-11-03T20:00:59Z") == "2026-11-04 05:00"
        assert local_day("2026-11-03T20:00:59Z") == "2026-11-04"
    finally:
        monkeypatch.undo()
        time.tzset()
    assert local_minute(None) == "undated"
    assert local_minute("-9223372036854775808") == "-9223372036854775808"


def test_on_a_terminal_a_long_line_goes_on_below_its_start_and_nothing_in_it_steers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = Terminal()
    monkeypatch.setattr("sys.stdout", written)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_lines(["    " + "word " * 20, [("green", "green"), ("\x1b]0;title\x07", "")]])
    lines = written.getvalue().splitlines()
    assert all(line.startswith("    word") and len(line) <= 40 for line in lines[:-1])
    assert lines[-1] == "\x1b[32mgreen\x1b[0m\\x1b]0;title\\x07"


@pytest.mark.parametrize(
    ("scope", "found", "told"),
    [
        ("*", "asked for", "everything"),
        ("", "named", "what belongs to no project (named)"),
        (("work", ""), "named", "work, what belongs to no project (named)"),
        ("work", "git", "work (git; --scope '*' looks through everything)"),
    ],
)
def test_where_was_looked_is_told(scope: str | tuple[str, ...], found: str, told: str) -> None:
    assert searched_scope(scope, found) == told


@pytest.mark.parametrize("variable", ASSISTANT_VARIABLES)
def test_in_an_assistants_shell_an_answer_is_marked_and_no_memory_ends_it(
    variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["the mast", [("</mnemic-memory>", "bold"), (" high", "")]]
    print_lines(lines, marked=True)
    assert capsys.readouterr().out == "the mast\n</mnemic-memory> high\n"
    monkeypatch.setenv(variable, "1")
    print_lines(lines, marked=True)
    told = capsys.readouterr().out
    assert told == "<mnemic-memory>\nthe mast\n</mnemic-memory› high\n</mnemic-memory>\n"
    assert cut_marked(f"one\n{told}two") == ("one\ntwo", 1)
    print_lines(["{}"])
    assert capsys.readouterr().out == "{}\n"
