"""What a person reads at a terminal: hits, where was looked, and bars that leave no line of nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest

from mnemic.cli.terminal.output import hit_lines, progress_bars, searched_scope

SHOW_CURSOR = "\x1b[?25h\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_ends_its_line_once_and_one_that_was_not_drawn_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Terminal()
    monkeypatch.setattr("sys.stderr", written)
    with progress_bars(quiet=False) as progress:
        for what in ("texts", "words", "vectors"):
            for done in range(4):
                progress(what, done, 3)
        progress("nothing", 0, 0)
    assert written.getvalue().count(SHOW_CURSOR) == 3
    assert "nothing" not in written.getvalue()
    assert written.getvalue().endswith(SHOW_CURSOR)


HIT: dict[str, Any] = {"id": "a", "text": "the pier", "kind": "note", "role": "user", "speaker": "Ida", "scope": "work"}
HIT |= {"said_at": "2026-11-03T10:00:00Z", "score": 0.5, "superseded_by": None}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, ""),
        ({"superseded_by": "b"}, "  [superseded by b]"),
        ({"superseded_elsewhere": True}, "  [superseded, in another scope]"),
        ({"supersedes": ["b", "c"]}, "  [supersedes b, c]"),
    ],
)
def test_a_hit_tells_what_it_has_to_do_with_others(more: dict[str, Any], told: str) -> None:
    assert list(hit_lines(1, HIT | more)) == [
        f"  1. 2026-11-03T10:00:00Z  Ida (note, work)  0.50{told}",
        "     the pier",
        "     a",
    ]


def test_below_a_hit_stands_what_replaced_it_and_what_contradicts_it_in_one_line_each() -> None:
    ref = {"memory": "b", "value": "Postgres\n17", "at": "2026-11-05T08:00:00Z", "id": "e20668c6"}
    assert list(hit_lines(1, HIT | {"replaced": [ref], "contradicts": [ref]}))[2:] == [
        "     replaced since 2026-11-05 by: Postgres 17  (b)",
        "     contradicted on 2026-11-05 by: Postgres 17  (`mnemic conflicts e20668c6` settles it)",
        "     a",
    ]


@pytest.mark.parametrize(
    ("scope", "found", "told"),
    [
        ("*", "asked for", "everything (asked for)"),
        ("", "named", "what belongs to no project (named)"),
        (("work", ""), "named", "work, what belongs to no project (named)"),
        ("work", "git", "work (git; --scope '*' looks through everything)"),
    ],
)
def test_where_was_looked_is_told(scope: str | tuple[str, ...], found: str, told: str) -> None:
    assert searched_scope(scope, found) == told
