"""Values are cut out of a JSON list wherever it is split into pieces; what is broken is told, and never held whole."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.kernel.events import to_text
from mnemic.hooks.imports.json_values import chunks, has_key, values
from mnemic.hooks.read.lines import InvalidInput

texts = st.text(st.sampled_from('ab"\\[]{},: \n\u00e4\ud83d'), max_size=6)
leaves = st.none() | st.integers(-9, 9) | texts
trees = leaves | st.lists(leaves | st.lists(texts, max_size=2), max_size=2)
objects = st.dictionaries(texts, trees | st.dictionaries(texts, trees, max_size=1), max_size=2)
lists = st.lists(objects, max_size=3)
few = settings(max_examples=50)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def cut(data: bytes, size: int = 1 << 20, **more: Any) -> list[Any]:
    """What is cut out, parsed; of what cannot be, why."""
    found = [one if isinstance(one, InvalidInput) else to_text(one) for one in values(pieces(data, size), **more)]
    return [json.loads(one) if isinstance(one, str) else str(one) for one in found]


@few
@given(lists, st.integers(1, 9), st.booleans(), st.sampled_from([None, 1]))
def test_a_list_gives_its_objects_wherever_it_is_split(listed: Any, size: int, ascii: bool, indent: Any) -> None:
    data = json.dumps(listed, ensure_ascii=ascii, indent=indent).encode("utf-8", "surrogatepass")
    assert cut(data, size) == listed


@few
@given(objects, st.integers(1, 9))
def test_a_document_that_is_one_object_is_that_object(one: Any, size: int) -> None:
    assert cut(json.dumps(one).encode(), size) == [one]


@few
@given(lists, st.integers(1, 9))
def test_nul_padding_around_a_document_changes_nothing(listed: Any, size: int) -> None:
    assert cut(bytes(7) + json.dumps(listed).encode() + b"\n" + bytes(40), size) == listed


@few
@given(st.binary(max_size=60) | st.text(st.sampled_from('[]{}",\\a ')).map(str.encode), st.integers(1, 9))
def test_of_any_bytes_the_same_is_told_wherever_they_are_split(data: bytes, size: int) -> None:
    told = [one if isinstance(one, bytes) else str(one) for one in values(pieces(data, size))]
    assert told == [one if isinstance(one, bytes) else str(one) for one in values([data])]


@few
@given(lists.filter(bool), st.integers(1, 40))
def test_a_list_that_is_cut_off_gives_what_came_before_and_says_so(listed: list[Any], missing: int) -> None:
    data = json.dumps(listed).encode()
    found = cut(data[:-missing])
    whole = [one for one in found if not isinstance(one, str)]
    assert whole == listed[: len(whole)]
    assert [one for one in found if isinstance(one, str)] in (
        ["the file ends in the middle of it"],
        ["the file ends before its list does"],
        ["it holds no JSON"],
    )


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", ["it holds no JSON"]),
        (b"words", ["it holds no JSON"]),
        (b"[]", []),
        (b"[1, 2]", ["not a JSON object"]),
        (b'[{"a": 1}, null, {"b": 2}, "c"]', [{"a": 1}, "not a JSON object", {"b": 2}, "not a JSON object"]),
        (b'[{"a": 1}]]{"b": 2}', [{"a": 1}, "not a JSON object"]),
        (b'[{"a": 1}][{"b": 2}]', [{"a": 1}, {"b": 2}]),
    ],
)
def test_what_is_no_object_is_told_in_its_place(data: bytes, told: list[Any]) -> None:
    assert cut(data) == told


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_value_that_is_too_long_is_passed_over_and_the_rest_is_read(size: int) -> None:
    data = b'[{"a": 1}, {"b": "' + b"x" * 500 + b'"}, {"c": [' + b"[],\\" * 100 + b']}, {"d": 2}]'
    longer = "it is longer than 100 bytes"
    assert cut(data, size, most_bytes=100) == [{"a": 1}, longer, longer, {"d": 2}]


def test_a_string_without_an_end_is_read_to_its_end_and_not_held() -> None:
    read = 0

    def endless() -> Iterator[bytes]:
        nonlocal read
        yield b'[{"a": "'
        for _ in range(300):
            read += 1
            yield b"x" * 1_000

    assert cut_sizes(endless()) == ["the file ends in the middle of it"]
    assert read == 300


def cut_sizes(some: Iterator[bytes]) -> list[Any]:
    return [str(one) if isinstance(one, InvalidInput) else len(one) for one in values(some, most_bytes=5_000)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_tells_how_it_is_encoded(encoding: str) -> None:
    text = '[{"a": "\u00e4\U0001f9a6"}]'
    marked = text if encoding in ("utf-8", "utf-8-sig", "utf-16") else f"\ufeff{text}"
    stream = io.BytesIO(marked.encode(encoding))
    assert b"".join(chunks(stream)) == text.encode()


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b'[{"title": "mapping", "x": {"mapping": 1}, "chat_messages": [', "chat_messages"),
        (b'{"mapping": {', "mapping"),
        (b'[{"mapping" : {', "mapping"),
        (b'[{"title": "a \\" {[", "mapping": 1', "mapping"),
        (b'[["mapping", 1], {"a": ["mapping"]', None),
        (b"", None),
    ],
)
def test_a_key_counts_where_a_conversation_has_it(head: bytes, found: str | None) -> None:
    assert has_key(head, ("mapping", "chat_messages")) == found


def test_a_string_that_is_cut_off_is_looked_at_once() -> None:
    head = b'[{"mapping": {"a":"' + b'\\"' * (1 << 19)
    assert has_key(head, ["mapping"]) == "mapping"
    assert has_key(b'[{"a":"' + b'\\"' * (1 << 19) + b"\\", ["mapping"]) is None
