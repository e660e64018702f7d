"""Edits of JSON: what is put in is there, what is taken out is gone, and no other byte moves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.hooks.wire.json_edits import JsonEditor, ParseError

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)
LAYOUTS = st.sampled_from([None, 0, 1, 4, "\t"])
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


def read(text: str) -> JsonEditor:
    return JsonEditor(text, comments=True, trailing_commas=True)


@settings(max_examples=150)
@given(OBJECTS, LAYOUTS, COMMENTS, VALUES)
def test_a_member_that_goes_in_and_out_leaves_every_byte_as_it_was(
    value: dict[str, Any], layout: int | str | None, between: list[str], put: Any
) -> None:
    value.pop("own", None)
    text = written(value, layout, between)
    edited = read(text)
    edited.set(["own"], put)
    assert edited.value == value | {"own": put}
    edited.remove(["own"])
    assert edited.value == value
    if value:  # in an empty object only white space may go
        assert edited.text == text
    else:
        assert "".join(edited.text.split()) == "".join(text.split())


@settings(max_examples=150)
@given(st.lists(VALUES, max_size=4), LAYOUTS, COMMENTS, VALUES)
def test_an_element_that_goes_in_and_out_leaves_every_byte_as_it_was(
    values: list[Any], layout: int | str | None, between: list[str], put: Any
) -> None:
    text = written({"a": 1, "list": values}, layout, between)
    edited = read(text)
    edited.append(["list"], put)
    assert edited.value == {"a": 1, "list": [*values, put]}
    edited.remove(["list", len(values)])
    assert edited.value == {"a": 1, "list": values}
    assert edited.text == text or not values


@settings(max_examples=100)
@given(OBJECTS, LAYOUTS, COMMENTS, st.data())
def test_any_member_can_be_taken_out_or_replaced_and_the_rest_is_what_it_was(
    value: dict[str, Any], layout: int | str | None, between: list[str], data: st.DataObject
) -> None:
    text = written(value, layout, between)
    for name in value:
        edited = read(text)
        edited.remove([name])
        assert edited.value == {key: one for key, one in value.items() if key != name}
        changed, new = read(text), data.draw(VALUES)
        changed.set([name], new)
        assert changed.value == value | {name: new}


def test_new_entries_look_like_those_around_them() -> None:
    edited = JsonEditor('{\n    "a": {\n        "b": 1\n    }\n}\n')
    edited.set(["a", "c"], {"d": [1]})
    assert edited.text == (
        '{\n    "a": {\n        "b": 1,\n        "c": {\n            "d": [\n                1\n'
        "            ]\n        }\n    }\n}\n"
    )
    short = JsonEditor('{"a": [1]}')
    short.append(["a"], {"b": 2})
    assert short.text == '{"a": [1, {"b": 2}]}'
    carriage = JsonEditor('{\r\n\t"a": 1\r\n}')
    carriage.set(["b"], {"c": 2})
    assert carriage.text == '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 2\r\n\t}\r\n}'


def test_an_empty_file_stands_for_an_empty_object_and_a_mark_at_its_start_stays() -> None:
    edited = JsonEditor("")
    edited.set(["a"], 1)
    assert edited.text == '{\n  "a": 1\n}\n'
    marked = JsonEditor('\ufeff{"a": 1}')
    marked.set(["b"], 2)
    assert marked.text == '\ufeff{"a": 1, "b": 2}'


def test_of_a_name_that_is_there_twice_the_last_one_counts() -> None:
    edited = JsonEditor('{"a": 1, "a": 2}')
    edited.set(["a"], 3)
    assert edited.text == '{"a": 1, "a": 3}'


@pytest.mark.parametrize(
    "text",
    [
        *("{", '{"a"', '{"a":', '{"a":1', '{"a":1,', "}", "[]", '"a"', "1", '{"a":1}}', '{"a":1,}', "{,}"),
        *('{"a" 1}', "{a: 1}", "{'a': 1}", '{"a": 01}', '{"a": nan}', '{"a": "\n"}', '{"a": "\\x"}', '{"a":[1 2]}'),
        *('{"a":1 "b":2}', '{"a":[,]}', '{"a"::1}', "// only\n", "{} // behind", '{"a":' + "[" * 1000),
    ],
)
def test_what_is_no_json_is_said_with_its_line(text: str) -> None:
    with pytest.raises(ParseError):
        JsonEditor(text)


@given(st.text('{}[]",:/*\\ \n01.eEtrufalsn-', max_size=30))
def test_what_the_standard_library_reads_is_read_and_nothing_else(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=lambda name: 1 / 0)
    except (ValueError, ZeroDivisionError):
        expected = None
    try:
        held: Any = JsonEditor(text).value
    except ParseError:
        held = None
    if text.strip():
        assert held == (expected if isinstance(expected, dict) else None)
