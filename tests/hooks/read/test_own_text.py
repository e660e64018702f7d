"""This memory's own words are taken out of what a host wrote, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.brief.compose import FRAME_END, FRAME_START
from mnemic.hooks.read.own_text import put_block, strip_own_output


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", ""),
        ("theirs", "theirs"),
        (f"{FRAME_START}\nold\n{FRAME_END}", ""),
        (f"{FRAME_START}\nold\n{FRAME_END}\n", ""),
        (f"a\n{FRAME_START}\nold\n{FRAME_END}\nb\n{FRAME_START}\nolder\n{FRAME_END}\nc", "a\nb\nc"),
        (f"a: {FRAME_START}\nwas cut off by the ho", "a: "),
        (f"{FRAME_END} alone", f"{FRAME_END} alone"),
        (put_block("# Rules\n", "Ask the memory."), "# Rules\n"),
    ],
)
def test_frames_and_marked_blocks_are_cut(text: str, left: str) -> None:
    assert strip_own_output(text) == left


@given(st.text(), st.text(alphabet="ab\n"), st.text())
def test_what_stands_around_a_frame_stays(before: str, inside: str, after: str) -> None:
    assert strip_own_output(f"{before}\n{FRAME_START}\n{inside}\n{FRAME_END}\n{after}") == f"{before}\n{after}"


@given(st.text())
def test_a_text_without_any_is_itself(text: str) -> None:
    assert strip_own_output(text) == text
