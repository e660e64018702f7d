"""The marked block: put at the end, found by its marks, and gone without a trace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.hooks.marked_text import has_block, put_block, take_block

LINES = st.lists(st.sampled_from(["", "# Title", "- a rule", "<!-- theirs -->", "é"]), max_size=6)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_block_goes_in_once_and_comes_out_whole(lines: list[str], eol: str, ended: bool) -> None:
    text = eol.join(lines) + (eol if ended and lines else "")
    marked = put_block(text, "one")
    assert marked.startswith(text)
    assert put_block(marked, "one") == marked
    assert has_block(marked, "one")
    assert not has_block(marked, "two")
    assert take_block(put_block(marked, "two")) == take_block(marked)
    taken = take_block(marked)
    if not text or text.endswith("\n"):
        assert taken == text
    else:  # a text without a final newline has one now
        assert taken.rstrip("\r\n") == text.rstrip("\r\n")


def test_what_stands_around_it_stays() -> None:
    marked = put_block("above\n", "one") + "below\n"
    assert take_block(marked) == "above\nbelow\n"
    assert take_block(put_block(marked, "two")) == "above\nbelow\n"
