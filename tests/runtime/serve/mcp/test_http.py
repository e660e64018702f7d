"""What an assistant sends is made readable by the SDK, and is otherwise as it was."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.serve.mcp.http import escape_line_surrogates

TEXTS = st.text(st.characters())  # lone surrogates too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_every_line_can_be_read_strictly_afterwards(value: Any) -> None:
    line = escape_line_surrogates(json.dumps(value).encode() + b"\n")
    json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8")
    assert line.count(b"\n") == 1


@given(VALUES)
def test_a_line_without_lone_surrogates_means_the_same(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    if text.encode("utf-8", "ignore").decode() == text:
        assert json.loads(escape_line_surrogates(json.dumps(value).encode() + b"\n")) == value


def test_half_a_pair_is_written_out_and_a_whole_one_stays() -> None:
    assert json.loads(escape_line_surrogates(rb'["half \ud83d", "whole \ud83d\ude00"]' + b"\n")) == [
        r"half \ud83d",
        "whole \U0001f600",
    ]


def test_what_is_no_json_or_nested_beyond_reason_is_left_to_the_sdk() -> None:
    deep = b"[" * 100_000 + b'"\\ud83d"' + b"]" * 100_000 + b"\n"
    assert escape_line_surrogates(deep) == deep
    assert escape_line_surrogates(b"garbage{\\ud83d\n") == b"garbage{\\ud83d\n"
