"""Texts of settings: JSON is read as its host reads it and keeps its layout; of TOML whole tables go in and out."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.hooks.wire.settings_formats import (
    ParseError,
    dotted_key,
    put_table,
    read_json,
    read_toml,
    remove_table,
    rewrite_json,
    value_at,
)

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)
LAYOUTS = st.sampled_from([None, 1, 4, "\t"])
COMMENTS = st.lists(st.sampled_from(["", " ", " // c, }\n", '/* " { */', "\n\n\t", "\r\n"]), max_size=40)


def written(value: Any, layout: int | str | None, between: list[str]) -> str:
    """A value as somebody may have written it: its own indentation, and comments between the tokens."""
    plain = json.dumps(value, indent=layout, ensure_ascii=False)
    if not between:
        return plain
    pieces, in_string, escaped = [], False, False
    for letter in plain:
        pieces.append(letter)
        if in_string:
            in_string = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            in_string, escaped = True, False
        elif letter in "{}[],:":
            pieces.append(between[len(pieces) % len(between)])
    return "".join(pieces)


@settings(max_examples=60)
@given(OBJECTS, LAYOUTS, COMMENTS)
def test_comments_and_their_places_change_nothing_of_what_is_read(
    value: dict[str, Any], layout: int | str | None, between: list[str]
) -> None:
    text = written(value, layout, between)
    assert read_json(text, comments=True, trailing_commas=True) == value


@settings(max_examples=60)
@given(OBJECTS, LAYOUTS, OBJECTS, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\n"]))
def test_a_text_is_rewritten_in_its_own_layout(
    value: dict[str, Any], layout: int | str | None, other: dict[str, Any], eol: str, ending: str
) -> None:
    text = (json.dumps(value, indent=layout, ensure_ascii=False) + ending).replace("\n", eol)
    assert read_json(rewrite_json(text, other)) == other
    if (value and "\r\n" in text) or (eol == "\n" and value):
        assert rewrite_json(text, value) == text


def test_layouts_and_what_stands_around_an_object_stay() -> None:
    assert rewrite_json("", {"a": 1}) == '{\n  "a": 1\n}\n'
    assert rewrite_json("{}", {"a": 1}) == '{\n  "a": 1\n}'
    assert rewrite_json('\ufeff{"a": 1}', {"a": 1, "b": [2]}) == '\ufeff{"a": 1, "b": [2]}'
    assert rewrite_json('{"a":1}\n', {"a": 1, "b": [2, 3]}) == '{"a":1,"b":[2,3]}\n'
    assert rewrite_json('{\r\n\t"a": 1\r\n}', {"b": "\n"}) == '{\r\n\t"b": "\\n"\r\n}'


@pytest.mark.parametrize("text", ['{"a": 1} // mine', '{/* mine */"a": 1}', '// "\n{}'])
def test_a_text_with_comments_is_refused_and_one_that_only_looks_so_is_not(text: str) -> None:
    with pytest.raises(ParseError, match="line 1 has a comment, which an edit would lose: take it out"):
        rewrite_json(text, {"a": 2}, comments=True)
    assert rewrite_json('{"url": "https://x"}', {"a": 2}, comments=True) == '{"a": 2}'


@pytest.mark.parametrize("value", [{"a": float("inf")}, {"a": "\ud800"}])
def test_what_no_host_could_read_is_not_written(value: dict[str, Any]) -> None:
    with pytest.raises(ParseError):
        rewrite_json("{}", value)


@pytest.mark.parametrize(
    "text",
    [
        *("{", '{"a"', '{"a":', '{"a":1', '{"a":1,', "}", "[]", '"a"', "1", '{"a":1}}', '{"a":1,}', "{,}"),
        *('{"a" 1}', "{a: 1}", "{'a': 1}", '{"a": 01}', '{"a": nan}', '{"a": "\n"}', '{"a": "\\x"}', '{"a":[1 2]}'),
        *('{"a":1 "b":2}', '{"a":[,]}', '{"a"::1}', "// only\n", "{} // behind", '{"a":' + "[" * 1000),
    ],
)
def test_what_is_no_json_is_said(text: str) -> None:
    with pytest.raises(ParseError):
        read_json(text)


@given(st.text('{}[]",:/*\\ \n01.eEtrufalsn-', max_size=30))
def test_what_the_standard_library_reads_is_read_and_nothing_else(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=lambda name: 1 / 0)
    except (ValueError, ZeroDivisionError):
        expected = None
    try:
        held: Any = read_json(text)
    except ParseError:
        held = None
    if text.strip():
        assert held == (expected if isinstance(expected, dict) else None)


# --- TOML ------------------------------------------------------------------------------------------------------------


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
