"""What a hook wrote comes back byte for byte; what is altered anywhere does not, and says so without a word of it."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.events import Record
from mnemic.actors.ports import Unreadable
from mnemic.runtime.frames import (
    FILE_HEADER_BYTES,
    FRAME_BYTES,
    HEADER_BYTES,
    Opener,
    file_header,
    frame_header,
    key_id,
    record_of,
    told_at,
)
from mnemic.runtime.spool_walk import walk
from tests.runtime import spooling
from tests.runtime.spooling import CREATED_US, PRIVATE, PUBLIC, plain, record

VECTOR = Path(__file__).parents[1] / "fixtures" / "spool" / "vector-1.json"


def opened(frame: bytes, opener: Opener | None = None) -> bytes | None:
    header = frame_header(frame)
    assert header is not None
    return (opener or Opener(PRIVATE)).open(header, frame[HEADER_BYTES:])


@pytest.mark.skipif(not VECTOR.exists(), reason="the test vector of the spool's format is not there")
def test_the_format_s_test_vector_opens() -> None:
    vector: dict[str, Any] = json.loads(VECTOR.read_bytes())
    data = bytes.fromhex(vector["file"])
    opener = Opener(bytes.fromhex(vector["private"]))
    header = file_header(data)
    assert header is not None
    assert header.key == opener.key == key_id(bytes.fromhex(vector["public"]))
    found = walk(
        lambda position, length: data[position : position + length],
        len(data),
        True,
        FILE_HEADER_BYTES,
        1000,
        1 << 30,
        opener,
    )
    assert (found.offset, found.torn, found.strange) == (len(data), 0, False)
    assert len(found.records) == len(vector["records"]) > 0
    for one, said in zip(found.records, vector["records"], strict=True):
        assert isinstance(one, Record)
        assert as_said(one, said) == said


def as_said(one: Record, said: dict[str, Any]) -> dict[str, Any]:
    """A record in the words of the test vector."""
    body = plain(one)
    told = {"id": one.id.hex(), "record_id": one.id.hex(), "payload": one.payload.hex()}
    told |= {"assistant": one.assistant, "event": one.event, "cwd": one.cwd, "branch": one.branch}
    told |= {"at_us": one.at, "meta": body[4 : len(body) - len(one.payload)].decode()}  # type: ignore[dict-item]
    return {name: told.get(name) for name in said}


def test_a_file_s_header_says_whose_it_is() -> None:
    header = file_header(spooling.file_header(7))
    assert header is not None
    assert header.file == spooling.file_id(7)
    assert header.key == key_id(PUBLIC) == Opener(PRIVATE).key
    assert (header.created_us, header.known) == (CREATED_US + 7, True)


@given(st.integers(0, 8 * FILE_HEADER_BYTES - 1))
def test_one_wrong_bit_of_a_file_s_header_is_mended(bit: int) -> None:
    whole = spooling.file_header()
    damaged = (int.from_bytes(whole, "little") ^ 1 << bit).to_bytes(FILE_HEADER_BYTES, "little")
    assert file_header(damaged) == file_header(whole)


def test_a_newer_version_s_file_is_known_as_that() -> None:
    header = file_header(spooling.file_header(version=2))
    assert header is not None
    assert not header.known


@given(st.binary(max_size=100))
def test_other_bytes_are_no_header(data: bytes) -> None:
    assert file_header(data) is None
    assert frame_header(data) is None


@pytest.mark.parametrize("length", range(0, FILE_HEADER_BYTES, 5))
def test_half_a_header_is_none(length: int) -> None:
    assert file_header(spooling.file_header()[:length]) is None
    assert frame_header(spooling.sealed(record(1))[:length]) is None


@given(st.binary(max_size=300), st.booleans(), st.integers(0, 2**32 - 1))
def test_what_is_sealed_opens(content: bytes, last: bool, number: int) -> None:
    whole = spooling.frame(bytes(16), number, content, last)
    header = frame_header(whole)
    assert header is not None
    assert (header.last, header.number, header.total, header.record) == (last, number, len(whole), bytes(16))
    assert opened(whole) == content


@given(st.data())
def test_a_wrong_bit_anywhere_in_a_frame_is_seen(data: st.DataObject) -> None:
    whole = spooling.sealed(record(1, b"a payload"))
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    damaged = (int.from_bytes(whole, "little") ^ 1 << bit).to_bytes(len(whole), "little")
    assert frame_header(damaged) is None if bit < 8 * HEADER_BYTES else opened(damaged) is None


def test_another_key_does_not_open() -> None:
    whole = spooling.sealed(record(1))
    assert opened(whole, Opener(bytes(31) + b"\1")) is None


def test_a_key_that_gives_no_secret_does_not_open() -> None:
    header = frame_header(spooling.sealed(record(1)))
    assert header is not None
    assert Opener(PRIVATE).open(header._replace(ephemeral=bytes(32)), bytes(20)) is None


@pytest.mark.parametrize("fields", [{"version": 2}, {"cipher": 2}])
def test_a_newer_version_s_frame_is_a_frame_and_does_not_open(fields: dict[str, int]) -> None:
    whole = spooling.frame(bytes(16), 0, b"", True, **fields)  # type: ignore[arg-type]
    assert frame_header(whole) is not None
    assert opened(whole) is None


@pytest.mark.parametrize("size", [0, 15, FRAME_BYTES - HEADER_BYTES + 1, 2**32 - 1])
def test_a_length_that_no_frame_has_is_no_header(size: int) -> None:
    whole = spooling.frame(bytes(16), 0, b"", True)
    header = spooling.with_sum(whole[:16] + size.to_bytes(4, "little") + whole[20:76])
    assert frame_header(header) is None


@given(st.binary(max_size=300), st.lists(st.integers(0, 400), max_size=4))
def test_a_record_is_what_the_host_wrote_wherever_it_is_cut(payload: bytes, cuts: list[int]) -> None:
    one = record(1, payload, cwd="/a/ü", branch="fix/it")
    body = plain(one)
    bounds = sorted({0, *(cut for cut in cuts if cut < len(body)), len(body)})
    parts = [body[start:end] for start, end in pairwise(bounds)]
    assert record_of(one.id, parts) == one
    assert told_at(b"".join(parts)) == one.at


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
    found = record_of(bytes(16), [ODD[what], b"the rest"])
    assert isinstance(found, Unreadable)
    assert found.body == ODD[what] + b"the rest"
    assert found.why
    assert "secret" not in found.why
    assert told_at(ODD[what]) is None


def test_what_a_newer_hook_says_besides_is_passed_over() -> None:
    found = record_of(bytes(16), [told(host_version="7", cwd=None)])
    assert isinstance(found, Record)
    assert (found.cwd, found.branch, found.payload) == (None, None, b"")
