"""What a person reads at a terminal: sizes, and bars that leave no line of nothing."""

from __future__ import annotations

import io

import pytest

from mnemic.cli.output import progress_bars

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
