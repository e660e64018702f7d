"""Headers and records are what docs/spool.md says; what is damaged or odd is none, and says so without a word of it."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.events import HookRecord
from mnemic.actors.kernel.ports import UndecodedRecord
from mnemic.runtime.spool.frames import (
    FILE_HEADER_BYTES,
    FRAME_HEADER_BYTES,
    MAX_FRAME_BYTES,
    key_id,
    parse_file_header,
    parse_frame_header,
    parse_record,
    record_time,
)
from tests.runtime import spooling
from tests.runtime.spooling import CREATED_US, PUBLIC, plain, record


def test_a_file_s_header_says_whose_it_is() -> None:
    header = parse_file_header(spooling.file_header(7))
    assert header is not None
    assert header.file == spooling.file_id(7)
    assert header.key == key_id(PUBLIC)
    assert (header.created_us, header.version_known) == (CREATED_US + 7, True)


@given(st.integers(0, 8 * FILE_HEADER_BYTES - 1))
def test_one_wrong_bit_of_a_file_s_header_makes_it_none(bit: int) -> None:
    whole = spooling.file_header()
    damaged = (int.from_bytes(whole, "little") ^ 1 << bit).to_bytes(FILE_HEADER_BYTES, "little")
    assert parse_file_header(damaged) is None


def test_a_newer_version_s_file_is_known_as_that() -> None:
    header = parse_file_header(spooling.file_header(version=2))
    assert header is not None
    assert not header.version_known


@given(st.binary(max_size=100))
def test_other_bytes_are_no_header(data: bytes) -> None:
    assert parse_file_header(data) is None
    assert parse_frame_header(data) is None


@pytest.mark.parametrize("length", range(0, FILE_HEADER_BYTES, 5))
def test_half_a_header_is_none(length: int) -> None:
    assert parse_file_header(spooling.file_header()[:length]) is None
    assert parse_frame_header(spooling.sealed(record(1))[:length]) is None


@given(st.binary(max_size=300), st.booleans(), st.integers(0, 2**32 - 1))
def test_a_frame_s_header_says_what_it_holds(content: bytes, last: bool, number: int) -> None:
    whole = spooling.frame(bytes(16), number, content, last)
    header = parse_frame_header(whole)
    assert header is not None
    assert (header.last, header.number, header.total_bytes, header.record) == (last, number, len(whole), bytes(16))


@given(st.integers(0, 8 * FRAME_HEADER_BYTES - 1))
def test_one_wrong_bit_of_a_frame_s_header_makes_it_none(bit: int) -> None:
    whole = spooling.sealed(record(1))[:FRAME_HEADER_BYTES]
    assert (
        parse_frame_header((int.from_bytes(whole, "little") ^ 1 << bit).to_bytes(FRAME_HEADER_BYTES, "little")) is None
    )


@pytest.mark.parametrize("size", [0, 15, MAX_FRAME_BYTES - FRAME_HEADER_BYTES + 1, 2**32 - 1])
def test_a_length_that_no_frame_has_is_no_header(size: int) -> None:
    whole = spooling.frame(bytes(16), 0, b"", True)
    header = spooling.with_sum(whole[:16] + size.to_bytes(4, "little") + whole[20:76])
    assert parse_frame_header(header) is None


@given(st.binary(max_size=300), st.lists(st.integers(0, 400), max_size=4))
def test_a_record_is_what_the_host_wrote_wherever_it_is_cut(payload: bytes, cuts: list[int]) -> None:
    one = record(1, payload, cwd="/a/ü", branch="fix/it")
    body = plain(one)
    bounds = sorted({0, *(cut for cut in cuts if cut < len(body)), len(body)})
    parts = [body[start:end] for start, end in pairwise(bounds)]
    assert parse_record(one.id, parts) == one
    assert record_time(b"".join(parts)) == one.at


def told(**fields: object) -> bytes:
    meta = json.dumps({"v": 1, "assistant": "codex", "event": "tool", "at_us": 5} | fields).encode()
    return len(meta).to_bytes(4, "little") + meta


ODD: dict[str, bytes] = {
    "nothing": b"",
    "half a length": b"\x05\x00",
    "a length beyond the end": b"\xff\xff\xff\xffsecret",
    "no JSON": b"\x06\x00\x00\x00secret",
    "no object": b"\x02\x00\x00\x00[]secret",
    "no UTF-8": b'\x0b\x00\x00\x00{"v":1,"\xff"',
    "nested without end": b"\xa0\x86\x01\x00" + b"[" * 100_000,
    "another version": told(v=2) + b"secret",
    "no version": told(v=None) + b"secret",
    "no assistant": told(assistant=None) + b"secret",
    "no time": told(at_us="secret"),
    "a time before all time": told(at_us=-1),
    "a time after all time": told(at_us=2**63),
}


@pytest.mark.parametrize("what", ODD)
def test_a_record_that_cannot_be_taken_apart_is_kept_whole_and_its_text_is_not_said(what: str) -> None:
    found = parse_record(bytes(16), [ODD[what], b"the rest"])
    assert isinstance(found, UndecodedRecord)
    assert found.body == ODD[what] + b"the rest"
    assert found.why
    assert "secret" not in found.why
    assert record_time(ODD[what]) is None


def test_what_a_newer_hook_says_besides_is_passed_over() -> None:
    found = parse_record(bytes(16), [told(host_version="7", cwd=None)])
    assert isinstance(found, HookRecord)
    assert (found.cwd, found.branch, found.payload) == (None, None, b"")
