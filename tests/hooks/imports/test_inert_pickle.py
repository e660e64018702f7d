"""Of a pickle the plain values are read, and nothing of it is imported, called or made."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from mnemic.hooks.imports.inert_pickle import Inert, read_inert
from mnemic.hooks.read.lines import InvalidInput

plain = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text() | some.binary(),
    lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner),
    max_leaves=20,
)


class Calls:
    """Pickled, it is a call."""

    def __init__(self, function: Any, *arguments: object) -> None:
        self._call = (function, arguments)

    def __reduce__(self) -> Any:
        return self._call


class Holds:
    """Pickled, it is an object with a state."""

    def __init__(self, state: object) -> None:
        self.state = state


@given(plain, some.integers(3, pickle.HIGHEST_PROTOCOL))  # before, bytes are made by a call
def test_plain_values_are_what_python_reads(value: object, protocol: int) -> None:
    assert read_inert(pickle.dumps(value, protocol=protocol)) == value


@given(plain)
def test_an_object_is_inert_and_has_its_state(value: object) -> None:
    made = read_inert(pickle.dumps(Holds(value)))
    assert type(made) is Inert
    assert made.state == {"state": value}


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_what_a_pickle_would_do_is_not_done(tmp_path: Path, protocol: int) -> None:
    made = tmp_path / "made"
    data = pickle.dumps({"call": Calls(os.mkdir, str(made)), "text": "hello"}, protocol=protocol)
    found = read_inert(data)
    assert (type(found["call"]), found["text"]) == (Inert, "hello")
    assert not made.exists()
    pickle.loads(data)
    assert made.exists()


@given(some.binary(max_size=200))
def test_any_bytes_are_a_value_or_no_pickle(data: bytes) -> None:
    for given_data in (data, b"\x80\x04" + data + b"."):
        try:
            read_inert(given_data)
        except InvalidInput:
            continue


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is no whole pickle"),
        (pickle.dumps("a text")[:-1], "it is no whole pickle"),
        (b"\x80\x04" + b"X" + (1 << 31).to_bytes(4, "little") + b"x.", "it is no whole pickle"),
        (b"ios\nsystem\n.", "it needs INST, which no plain value does"),
        (b"\x82\x01.", "it needs EXT1, which no plain value does"),
        (b"Pname\n.", "it needs PERSID, which no plain value does"),
        (b"(.", "a mark stands where a value should"),
    ],
)
def test_what_is_none_says_why(data: bytes, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        read_inert(data)


def test_a_large_place_in_the_memo_takes_no_room() -> None:
    assert read_inert(b"\x80\x04\x8c\x01xr" + (0xFFFFFFFF).to_bytes(4, "little") + b".") == "x"


@pytest.mark.parametrize("part", [b"\x94", b"}", b")", b"\x85", b"NN\x81"])
def test_a_pickle_of_more_parts_than_any_store_writes_is_refused_before_they_are_made(part: bytes) -> None:
    with pytest.raises(InvalidInput, match="it has more than 131,072 parts"):
        read_inert(b"\x80\x04]" + part * (1 << 22) + b".")
    assert len(read_inert(pickle.dumps([0.5] * 65_536))) == 65_536
