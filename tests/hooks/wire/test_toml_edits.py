"""Edits of TOML: a table goes in and out, and comments, order and everything else stay."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.hooks.wire.json_edits import ParseError, value_at
from mnemic.hooks.wire.toml_edits import dotted_key, put_table, read_toml, remove_table

TABLES = [
    "# a comment\n",
    'model = "x"  # [not] a table\n',
    "list = [\n  1, # one ]\n  2,\n]\n",
    "[a]\nb = '''\n[mcp.own]\n'''\n# about a\n",
    '[a."b.c"]\nd = { e = "}#" }\n',
    "[[many]]\nx = 1\n[[many]]\n",
    'text = """\\\n  "quoted" \\""" """\n',
    "\n\n",
    "[ spaced . name ]\t# here\n  k  =  1979-05-27\n",
]
NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), min_size=1, max_size=5), min_size=1, max_size=3
)


def usable(parts: list[str]) -> str:
    """The parts as one text, pairs before tables, if it is TOML."""
    text = "".join(sorted(parts, key=lambda part: "[" in part.split("=")[0].split("#")[0]))
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return "model = 1\n"
    return text


@settings(max_examples=150)
@given(st.lists(st.sampled_from(TABLES), max_size=6, unique=True), NAMES, st.text(max_size=8))
def test_a_table_that_goes_in_and_out_leaves_every_byte_as_it_was(
    parts: list[str], name: list[str], value: str
) -> None:
    text = usable(parts)
    key = ("own", *name)
    edited = put_table(text, key, {"command": value, "args": [value, "b"]})
    assert value_at(read_toml(edited), key) == {"command": value, "args": [value, "b"]}
    assert edited.startswith(text)
    edited = put_table(edited, key, {"command": "c"})
    assert value_at(read_toml(edited), key) == {"command": "c", "args": [value, "b"]}
    assert remove_table(edited, key) == text


def test_comments_and_tables_of_others_around_it_stay() -> None:
    own = ("m", "own")
    text = put_table("# top\na = 1\n", own, {"x": 1, "y": "z"})
    text = text.replace("x = 1\n", "# theirs, inside\nx = 1\n") + "# about later\n[later]\nq = 2\n"
    text += '[m.own.tools]\nmode = "ask"\n# the end\n'
    again = put_table(text, own, {"x": 2, "new": [True]})
    assert value_at(read_toml(again), own) == {"x": 2, "y": "z", "new": [True], "tools": {"mode": "ask"}}
    assert "# theirs, inside\n" in again
    assert remove_table(again, own) == "# top\na = 1\n# about later\n[later]\nq = 2\n# the end\n"


def test_a_file_without_a_final_newline_gets_one_before_the_table() -> None:
    assert put_table("a = 1", ("own",), {"x": 1}) == "a = 1\n\n[own]\nx = 1\n"
    assert put_table("a = 1\r\n", ("own",), {"x": 1}) == "a = 1\r\n\r\n[own]\r\nx = 1\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "m = { a = 1 }\n",
        "m = 1\n",
        "[m]\nown = { x = 1 }\n",
        "[m.own]\ny = [\n  1,\n]\n",
    ],
)
def test_what_cannot_be_added_to_is_said_and_left_alone(text: str) -> None:
    with pytest.raises(ParseError, match=r"its m\.own cannot be edited; write it"):
        put_table(text, ("m", "own"), {"y": 2})


def test_a_table_inside_another_is_not_taken_out_by_halves() -> None:
    with pytest.raises(ParseError, match=r"its m\.own cannot be edited"):
        remove_table("[m]\nown = { x = 1 }\n", ("m", "own"))


def test_what_is_no_toml_is_said() -> None:
    with pytest.raises(ParseError, match="Invalid value"):
        read_toml("a = ")


@given(NAMES)
def test_a_name_is_written_as_it_is_read(name: list[str]) -> None:
    held: Any = tomllib.loads(f"[{dotted_key(name)}]\n")
    for key in name:
        assert list(held) == [key]
        held = held[key]
