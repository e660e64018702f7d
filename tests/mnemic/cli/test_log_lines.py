"""Lines for a person: a table as wide as the terminal, what was given word for word, all that belongs to a memory."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mnemic.cli import log
from mnemic.cli.terminal.output import plain

ID = "0199c82c-c3e8-7d04-8447-b63be0967784"
ENTRY: dict[str, Any] = {
    "cursor": "1-1",
    "id": ID,
    "at": "2026-11-21T14:05:00Z",
    "said_at": "2026-11-21T14:04:00Z",
    "recorded_at": "2026-11-21T14:05:00Z",
    "kind": "turn",
    "role": "user",
    "speaker": None,
    "author": "owner",
    "assistant": "codex",
    "session": "s",
    "mode": "",
    "scope": "work/shelf",
    "tool": None,
    "outcome": None,
    "text": "the pier is 40 m long",
    "size_bytes": 21,
    "replaced": False,
    "retired_at": None,
    "retired_reason": None,
}


def entry(**fields: Any) -> dict[str, Any]:
    return ENTRY | fields


def log_lines(entries: list[dict[str, Any]], width: int) -> list[str]:
    """A page of the log as it is printed on a terminal so wide."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        view = {"entries": entries, "more": False, "filtered": False, "by": "captured"}
        return [plain(line) for line in log.log_lines(view)]


def delivery_lines(delivery: dict[str, Any]) -> list[str]:
    return [plain(line) for line in log.delivery_lines(delivery)]


def columns(line: str) -> int:
    return cell_len(line)


def test_in_a_wide_terminal_an_entry_is_one_line() -> None:
    head, row = log_lines([entry()], 120)
    assert head.split() == ["CAPTURED", "WHAT", "SCOPE", "TEXT", "ID"]
    assert row.startswith("@1  2026-11-21 14:05  user  work/shelf  the pier is 40 m long ")
    assert row.endswith(f"  {ID[-8:]}")
    assert head.index("TEXT") == row.index("the pier")
    assert head.index("ID") == row.index(ID[-8:])


def test_in_a_narrow_one_it_is_two() -> None:
    _, row, text = log_lines([entry()], 80)
    assert row.split() == ["@1", "2026-11-21", "14:05", "user", "work/shelf", ID[-8:]]
    assert text == "    the pier is 40 m long"


def test_of_a_long_scope_the_end_is_shown() -> None:
    _, row, _ = log_lines([entry(scope="work/somewhere/far/away/shelf")], 80)
    assert "  …here/far/away/shelf  " in row
    _, row, _ = log_lines([entry(scope="work/somewhere/far/away/\x1bf")], 80)
    assert r"  …here/far/away/\x1bf  " in row


def test_no_entry_is_no_table() -> None:
    assert log_lines([], 80) == ["no memory is here"]


@pytest.mark.parametrize(
    ("fields", "what", "text"),
    [
        ({"speaker": "Ada"}, "Ada", ENTRY["text"]),
        ({"kind": "tool_call", "tool": "Bash"}, "call Bash", ENTRY["text"]),
        ({"kind": "decision"}, "decision", ENTRY["text"]),
        ({"author": "other", "speaker": "Rae"}, "other: Rae", ENTRY["text"]),
        ({"author": "other"}, "other", ENTRY["text"]),
        ({"author": "unknown"}, "unknown", ENTRY["text"]),
        ({"kind": "note", "author": "other", "speaker": "Rae"}, "note by Rae", ENTRY["text"]),
        ({"kind": "note", "author": "unknown"}, "note, unknown", ENTRY["text"]),
        ({"size_bytes": 99}, "user", f"{ENTRY['text']} …"),
        ({"replaced": True}, "user", f"(replaced) {ENTRY['text']}"),
        ({"said_at": None}, "user", ENTRY["text"]),
        ({"said_at": "2019-05-01T10:00:00Z"}, "user", f"(said 2019-05-01) {ENTRY['text']}"),
        ({"said_at": "2019-05-01T10:00:00Z", "at": "2019-05-01T10:00:00Z"}, "user", ENTRY["text"]),
        ({"retired_at": "2026-11-22T00:00:00Z"}, "user", f"(forgotten) {ENTRY['text']}"),
        ({"retired_at": "x", "retired_reason": "wrong"}, "user", f"(forgotten: wrong) {ENTRY['text']}"),
        ({"text": "one\n\n two\tthree ", "size_bytes": 16}, "user", "one two three"),
        ({"text": "red \x1b[31m", "size_bytes": 9}, "user", "red \\x1b[31m"),
        ({"text": "red \u202eder", "size_bytes": 10}, "user", "red \\u202eder"),
    ],
)
def test_what_it_is_and_how_it_stands_is_seen(fields: dict[str, Any], what: str, text: str) -> None:
    _, row, second = log_lines([entry(**fields)], 80)
    assert row.split("  ")[2] == what
    assert second == f"    {text}"


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=200) | st.text("日本語のe\u0301 ", max_size=80)


@given(entries=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4), width=st.integers(80, 200))
def test_no_line_is_wider_than_the_terminal(entries: list[tuple[str, str, str]], width: int) -> None:
    rows = [entry(text=text, speaker=speaker, scope=scope) for text, speaker, scope in entries]
    shown = log_lines(rows, width)
    assert all(columns(line) <= width for line in shown)
    assert sum(line.endswith(ID[-8:]) for line in shown) == len(rows)


DELIVERY: dict[str, Any] = {
    "cursor": "1-1",
    "at": "2026-11-21T14:05:00Z",
    "occasion": "session-start",
    "assistant": "codex",
    "session": "s",
    "scope": "work/shelf",
    "query": "",
    "tokens": 9,
    "erased": 0,
    "memories": [{"id": ID, "why": "a decision", "start_byte": 0, "text": "nine books  ", "size_bytes": 12}],
}


def test_what_was_told_is_printed_word_for_word_with_who_when_how_much_and_why() -> None:
    lines = delivery_lines(DELIVERY)
    assert lines[0] == ("2026-11-21 14:05  to codex, session s: at the start of its session, in work/shelf, 9 tokens")
    assert lines[1:] == [f"  {ID[-8:]}  a decision", "    | nine books  "]


def test_what_was_asked_for_is_printed_memory_by_memory() -> None:
    part = {"id": ID, "why": "lexical 1.00", "start_byte": 3, "text": "nine\n books", "size_bytes": 40}
    asked = DELIVERY | {"occasion": "recall", "scope": "*", "query": "how\nmany?", "tokens": 1}
    assert (delivery_lines(asked | {"memories": [part], "session": ""})) == [
        "2026-11-21 14:05  to codex: as it asked, of everything, 1 token",
        "  asked: how",
        "         many?",
        f"  {ID[-8:]}  lexical 1.00",
        "    bytes 3 to 14 of 40",
        "    | nine",
        "    |  books",
    ]
    assert (delivery_lines(asked | {"memories": [], "query": "", "tokens": 0}))[1:] == ["  nothing was found"]


def test_an_answer_stands_beside_what_it_was_read_from_without_a_word_of_that() -> None:
    hit = {"id": ID, "why": "tool 1.00", "start_byte": 0, "text": "nine books", "size_bytes": 10}
    answer = hit | {"why": "file: a.py 0.97", "text": ""}
    asked = DELIVERY | {"occasion": "shape", "query": "tool=pytest file=?", "tokens": 3}
    assert (delivery_lines(asked | {"memories": [hit, answer]})) == [
        "2026-11-21 14:05  to codex, session s: as it asked by structure, in work/shelf, 3 tokens",
        "  asked: tool=pytest file=?",
        f"  {ID[-8:]}  tool 1.00",
        "    | nine books",
        f"  {ID[-8:]}  file: a.py 0.97",
    ]


def test_what_was_erased_since_is_said_to_have_been_and_not_that_nothing_was_found() -> None:
    assert (delivery_lines(DELIVERY))[-1] == "    | nine books  "
    assert (delivery_lines(DELIVERY | {"erased": 1}))[-1] == "  the rest of it was erased since"
    gone = DELIVERY | {"erased": 2, "memories": []}
    assert (delivery_lines(gone))[1:] == ["  what was given was erased since"]


def test_of_what_is_shown_everything_that_is_known_is_there() -> None:
    link = {"id": "newer", "at": "a", "since": "2026-11-22", "retired_at": "x", "text": "it is\n38 m", "size_bytes": 10}
    shown = entry(
        found="git",
        said_at="2026-11-21T14:05:00Z",
        branch="main",
        files=["a.py", "b.py"],
        source_id="7",
        recorded_at="2026-11-21T14:05:01Z",
        kept_by={"seq": 4, "author": "hook", "run": "r", "machine": "m", "code": "1"},
        scrubbed={"token": 2},
        original_kept=True,
        valid_from="2026-11-21T14:05:00Z",
        valid_to="2026-11-22T00:00:00Z",
        retired_at="2026-11-23T00:00:00Z",
        retired_reason="wrong",
        newer=[link],
        older=[],
        previous="before",
        next="after",
        uses=[{"occasion": "recall", "own": False, "times": 2, "last_at": "2026-11-24"}],
        mode="headless",
        outcome="ok",
    )
    assert [plain(line) for line in log.memory_detail_lines(shown)] == [
        f"{ID}  user, in work/shelf (git)",
        "  said: 2026-11-21 14:05",
        "  from: codex, session s (headless), branch main, outcome ok, files a.py b.py, source id 7",
        "  kept: 2026-11-21 14:05, let in by a hook of its host in transaction 4, Mnemic 1, on m",
        "  secrets taken out: token 2; its text from before is kept too",
        "  holds: from 2026-11-21 14:05 to 2026-11-22 00:00",
        "  forgotten: 2026-11-23 00:00: wrong",
        "  superseded by: newer (since 2026-11-22 00:00, forgotten) it is 38 m",
        "  before it in the session: before",
        "  after it in the session: after",
        "  used: given to an assistant (recall) 2 times, last at 2026-11-24 00:00",
        "  text, 21 bytes:",
        "    the pier is 40 m long",
    ]
