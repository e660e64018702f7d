"""Edits of TOML: a table goes in and out, and comments, order and everything else stay."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.hooks.wire.json_edits import ParseError
from mnemic.hooks.wire.toml_edits import TomlEditor, dotted_key

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
    edited = TomlEditor(text)
    edited.merge(key, {"command": value, "args": [value, "b"]})
    assert edited.get(key) == {"command": value, "args": [value, "b"]}
    assert edited.text.startswith(text)
    edited.merge(key, {"command": "c"})
    assert edited.get(key) == {"command": "c", "args": [value, "b"]}
    edited.remove(key)
    assert edited.text == text


def test_comments_and_tables_of_others_around_it_stay() -> None:
    edited = TomlEditor("# top\na = 1\n")
    edited.merge(("m", "own"), {"x": 1, "y": "z"})
    text = edited.text.replace("x = 1\n", "# theirs, inside\nx = 1 # why\n") + "# about later\n[later]\nq = 2\n"
    text += '[m.own.tools]\nmode = "ask"\n# the end\n'
    again = TomlEditor(text)
    again.merge(("m", "own"), {"x": 2, "new": [True]})
    assert again.get(("m", "own")) == {"x": 2, "y": "z", "new": [True], "tools": {"mode": "ask"}}
    assert "x = 2 # why\n" in again.text
    again.remove(("m", "own"))
    assert again.text == "# top\na = 1\n# about later\n[later]\nq = 2\n# the end\n"


def test_a_file_without_a_final_newline_gets_one_before_the_table() -> None:
    edited = TomlEditor("a = 1")
    edited.merge(("own",), {"x": 1})
    assert edited.text == "a = 1\n\n[own]\nx = 1\n"
    carriage = TomlEditor("a = 1\r\n")
    carriage.merge(("own",), {"x": 1})
    assert carriage.text == "a = 1\r\n\r\n[own]\r\nx = 1\r\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [("m = { a = 1 }\n", ("m", "own")), ("m = 1\n", ("m", "own")), ("[m]\nown = { x = 1 }\n", ("m", "own"))],
)
def test_what_cannot_be_added_to_is_said_and_left_alone(text: str, name: tuple[str, ...]) -> None:
    edited = TomlEditor(text)
    with pytest.raises(ParseError, match="write it as"):
        edited.merge(name, {"y": 2})
    assert edited.text == text


def test_what_is_no_toml_is_said() -> None:
    with pytest.raises(ParseError, match="Invalid value"):
        TomlEditor("a = ")


@given(NAMES)
def test_a_name_is_written_as_it_is_read(name: list[str]) -> None:
    held: Any = tomllib.loads(f"[{dotted_key(name)}]\n")
    for key in name:
        assert list(held) == [key]
        held = held[key]
