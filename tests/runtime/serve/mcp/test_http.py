"""What an assistant sends is read line by line, readable by the SDK, and otherwise as it was."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.serve.mcp.http import LineReader, LineTooLong, escape_line_surrogates

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


def read_all(parts: list[bytes], longest_bytes: int) -> list[bytes | None]:
    """All lines of a stream that comes in parts; ``None`` stands for one that was too long."""

    async def read() -> list[bytes | None]:
        reader = asyncio.StreamReader()
        for part in parts:
            reader.feed_data(part)
        reader.feed_eof()
        lines, found = LineReader(reader, longest_bytes), []
        while True:
            try:
                line = await lines.read_line()
            except LineTooLong:
                found.append(None)
                continue
            if line is None:
                return found
            found.append(line)

    return asyncio.run(read())


@given(st.lists(st.binary(max_size=12).map(lambda text: text.replace(b"\n", b"")), max_size=6), st.integers(1, 20))
def test_lines_come_whole_however_they_are_cut(texts: list[bytes], size: int) -> None:
    whole = b"".join(text + b"\n" for text in texts) + b"half a line"
    parts = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert read_all(parts, 1 << 20) == [text + b"\n" for text in texts]


@given(st.lists(st.integers(0, 200_000), max_size=5))
def test_a_line_that_is_too_long_is_skipped_and_the_next_one_read(sizes: list[int]) -> None:
    longest = 100_000
    found = read_all([b"x" * size + b"\n" for size in sizes], longest)
    assert [None if line is None else len(line) - 1 for line in found] == [
        size if size < longest else None for size in sizes
    ]
