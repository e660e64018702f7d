"""The marked block: put at the end, found by its marks, and gone without a trace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.hooks.read.own_text import has_block, put_block, remove_block

BEGIN, END = "<!-- mnemic: begin -->", "<!-- mnemic: end -->"
LINES = st.lists(st.sampled_from(["", "# Title", "- a rule", "<!-- theirs -->", "é"]), max_size=6)
PROSE = st.lists(
    st.sampled_from(["", "- a rule", BEGIN, f"`{BEGIN}` starts it, `{END}` ends it", f"  {BEGIN}", f"{END} too"]),
    max_size=8,
)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_block_goes_in_once_and_comes_out_whole(lines: list[str], eol: str, ended: bool) -> None:
    text = eol.join(lines) + (eol if ended and lines else "")
    marked = put_block(text, "one")
    assert marked.startswith(text)
    assert put_block(marked, "one") == marked
    assert has_block(marked, "one")
    assert not has_block(marked, "two")
    assert remove_block(put_block(marked, "two")) == remove_block(marked)
    taken = remove_block(marked)
    if not text or text.endswith("\n"):
        assert taken == text
    else:  # a text without a final newline has one now
        assert taken.rstrip("\r\n") == text.rstrip("\r\n")


def test_what_stands_around_it_stays() -> None:
    marked = put_block("above\n", "one") + "below\n"
    assert remove_block(marked) == "above\nbelow\n"
    assert remove_block(put_block(marked, "two")) == "above\nbelow\n"


@given(PROSE.filter(bool), PROSE, st.sampled_from(["\n", "\r\n"]))
def test_what_is_said_of_the_marks_before_and_behind_it_stays(above: list[str], below: list[str], eol: str) -> None:
    before, behind = ("".join(line + eol for line in lines) for lines in (above, below))
    marked = put_block(before, "one") + behind
    assert put_block(marked, "one") == marked
    assert put_block(marked, "two").replace("two", "one") == marked
    assert remove_block(marked) == before + behind


def test_a_beginning_without_an_end_is_not_its_own() -> None:
    text = f"{BEGIN}\nmine\n"
    assert remove_block(text) == text
    assert remove_block(put_block(text, "one")) == text
    assert remove_block(put_block(text, "one") + text) == text * 2


def test_of_several_blocks_the_last_is_its_own() -> None:
    sample = f"{BEGIN}\nsample\n{END}\n"
    assert put_block(f"{sample}{sample}", "one") == f"{sample}{BEGIN}\none\n{END}\n"
    assert remove_block(f"{sample}- a rule\n{sample}") == f"{sample}- a rule\n"


def test_lines_that_were_moved_up_to_it_are_not_joined() -> None:
    marked = put_block("above\n", "one").replace("\n\n", "\n") + "below\n"
    assert remove_block(marked) == "above\nbelow\n"
