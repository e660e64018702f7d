"""Whatever a host writes, a hook reads it to its end and finds the session and the folder, as far as they are there."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.capture.hook_input import read_input, session_and_folder


def test_what_the_host_never_ends_is_what_came_of_it_in_time() -> None:
    reader, writer = os.pipe()
    with open(reader, "rb"), open(writer, "wb", buffering=0) as host:
        host.write(b"an event")
        assert read_input(reader, 0.05) == (b"an event", True)
        assert read_input(reader, 0.05) == (b"", True)


def test_what_breaks_off_is_not_all() -> None:
    folder = os.open("/", os.O_RDONLY)
    try:
        assert read_input(folder) == (b"", False)
    finally:
        os.close(folder)


@given(st.binary(max_size=300))
def test_any_bytes_route_somewhere(payload: bytes) -> None:
    session, folder = session_and_folder(payload)
    assert isinstance(session, bytes)
    assert folder


@given(st.binary(max_size=300))
def test_what_follows_the_fields_changes_nothing(rest: bytes) -> None:
    assert session_and_folder(b'{"session_id":"s","cwd":"/p","' + rest) == (b"s", b"/p")


def test_what_is_nested_deeper_than_anybody_needs_costs_the_fields_behind_it_alone() -> None:
    deep = b'{"session_id":"s","deep":' + b"[" * 200_000 + b"]" * 200_000 + b',"cwd":"/p"}'
    assert session_and_folder(deep) == (b"s", os.getcwdb())


def test_bytes_that_are_no_utf_8_and_half_pairs_come_back() -> None:
    payload = b'{"session_id":"\xff\\udcfe","cwd":"/\\ud83d \\udcfe"}'
    assert session_and_folder(payload) == (b"\xff\xfe", b"/\xed\xa0\xbd \xfe")
