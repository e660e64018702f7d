"""What does not fit its type is told by the place it has, what is there and what belongs there."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
import pytest

from mnemic.actors.kernel.field_checks import invalid_value_from


class Part(msgspec.Struct):
    """What stands in another."""

    path: str
    words: dict[str, int] = {}


class Whole(msgspec.Struct):
    """Fields of each sort that messages have."""

    text: bytes = b""
    k: int | None = None
    share: float = 0.0
    sure: bool = False
    kind: Literal["note", "turn"] = "note"
    pair: tuple[int, str] = (0, "")
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    counts: dict[str, int] = {}


def told(given: dict[str, Any]) -> str:
    """What is said of fields that do not fit."""
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert(given, Whole)
    found = invalid_value_from(error.value, given)
    return f"{found} {found.remedy_text}"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"k": "many"}, "k cannot be 'many': it is a text. Give a whole number."),
        ({"k": 1.5}, "k cannot be 1.5: it is a decimal number. Give a whole number."),
        ({"share": None}, "share cannot be None: it is nothing. Give a number."),
        ({"sure": 1}, "sure cannot be 1: it is a whole number. Give a boolean."),
        ({"kind": "song"}, "kind cannot be 'song': it is not known. Give one that is."),
        ({"text": "%"}, "text cannot be '%': it is no base64. Give base64."),
        ({"pair": [1]}, "pair cannot be '[1]': its length is 1. Give a list of length 2."),
        ({"pair": [1, 2]}, "pair[1] cannot be 2: it is a whole number. Give a text."),
        ({"part": {}}, "part cannot be '{}': it lacks path. Give path, too."),
        ({"parts": [{"path": "a"}, {"path": []}]}, "parts[1].path cannot be '[]': it is a list. Give a text."),
        ({"parts": 3}, "parts cannot be 3: it is a whole number. Give a list."),
        (
            {"counts": {"a": "b"}},
            "counts cannot be \"{'a': 'b'}\": of something in it, it is a text. Give a whole number.",
        ),
        ({"counts": {1: 2}}, "counts cannot be '{1: 2}': of something in it, it is a whole number. Give a text."),
        ({"part": {"path": "a", "words": {"b": None}}}, "part.words cannot be \"{'b': None}\": of something in it, "),
    ],
)
def test_it_is_named_by_its_place_and_in_words(given: dict[str, Any], said: str) -> None:
    assert told(given).startswith(said)


def test_what_is_long_is_quoted_by_its_beginning() -> None:
    assert len(told({"parts": "x" * 100_000})) < 500
    assert len(told({"k": ["x"] * 100_000})) < 500


@pytest.mark.parametrize(
    "body", ["{}", '{"path": 1}', '{"path": "a", "words": {"b": "c"}}', '{"path": "a", "words": [1]}']
)
def test_nothing_of_the_checks_own_language_is_said(body: str) -> None:
    text = told({"part": json.loads(body)})
    assert not set("`$") & set(text)
    assert "Expected" not in text
