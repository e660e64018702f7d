"""What a hook wrote opens with the mind's key, byte for byte; what is altered anywhere, or another's, does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.events import HookRecord
from mnemic.runtime.spool.frames import (
    FILE_HEADER_BYTES,
    FRAME_HEADER_BYTES,
    FrameDecryptor,
    key_id,
    parse_file_header,
    parse_frame_header,
)
from mnemic.runtime.spool.walk import scan_records
from tests.paths import FIXTURES
from tests.runtime import spooling
from tests.runtime.spooling import PRIVATE, PUBLIC, frames, plain, record

VECTOR: dict[str, Any] = json.loads((FIXTURES / "spool" / "vector-1.json").read_bytes())


def opened(frame: bytes, opener: FrameDecryptor | None = None) -> bytes | None:
    header = parse_frame_header(frame)
    assert header is not None
    return (opener or FrameDecryptor(PRIVATE)).decrypt(header, frame[FRAME_HEADER_BYTES:])


def as_told(one: HookRecord) -> dict[str, Any]:
    """A record in the words of the test vector."""
    body = plain(one)
    told: dict[str, Any] = {"id": one.id.hex(), "record_id": one.id.hex(), "payload": one.payload.hex()}
    told |= {"assistant": one.assistant, "event": one.event, "cwd": one.cwd, "branch": one.branch}
    return told | {"at_us": one.at, "meta": body[4 : len(body) - len(one.payload)].decode()}


def test_the_format_s_test_vector_opens() -> None:
    data = bytes.fromhex(VECTOR["file"])
    opener = FrameDecryptor(bytes.fromhex(VECTOR["private"]))
    header = parse_file_header(data)
    assert header is not None
    assert opener.key_ids == {header.key} == {key_id(bytes.fromhex(VECTOR["public"]))}

    def read(position: int, length: int) -> bytes:
        return data[position : position + length]

    found = scan_records(read, len(data), True, FILE_HEADER_BYTES, 1000, 1 << 30, opener)
    assert (found.offset, found.torn, found.has_undecryptable) == (len(data), 0, False)
    assert len(found.records) == len(VECTOR["records"]) > 0
    for one, expected in zip(found.records, VECTOR["records"], strict=True):
        assert isinstance(one, HookRecord)
        told = as_told(one)
        assert {name: told.get(name) for name in expected} == expected


def test_it_opens_what_is_sealed_to_the_public_half_of_its_key() -> None:
    assert FrameDecryptor(PRIVATE).key_ids == {key_id(PUBLIC)}


@given(st.binary(max_size=300), st.booleans(), st.integers(0, 2**32 - 1))
def test_what_is_sealed_opens(content: bytes, last: bool, number: int) -> None:
    assert opened(spooling.frame(bytes(16), number, content, last)) == content


def test_frames_of_several_records_open_in_any_order() -> None:
    opener = FrameDecryptor(PRIVATE)
    one, other = (frames(record(number, b"x" * 300), [100, 200]) for number in (1, 2))
    mixed = [frame for pair in zip(one, other, strict=True) for frame in pair]
    found = [opened(frame, opener) for frame in mixed]
    assert b"".join(part or b"" for part in found[0::2]) == plain(record(1, b"x" * 300))
    assert b"".join(part or b"" for part in found[1::2]) == plain(record(2, b"x" * 300))


@given(st.data())
def test_a_wrong_bit_anywhere_in_a_frame_is_seen(data: st.DataObject) -> None:
    whole = spooling.sealed(record(1, b"a payload"))
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    damaged = (int.from_bytes(whole, "little") ^ 1 << bit).to_bytes(len(whole), "little")
    assert parse_frame_header(damaged) is None if bit < 8 * FRAME_HEADER_BYTES else opened(damaged) is None


def test_another_key_does_not_open() -> None:
    assert opened(spooling.sealed(record(1)), FrameDecryptor(bytes(31) + b"\1")) is None


def test_a_key_that_gives_no_secret_does_not_open() -> None:
    header = parse_frame_header(spooling.sealed(record(1)))
    assert header is not None
    assert FrameDecryptor(PRIVATE).decrypt(header._replace(ephemeral=bytes(32)), bytes(20)) is None


@pytest.mark.parametrize("fields", [{"version": 2}, {"cipher": 2}])
def test_a_newer_version_s_frame_is_a_frame_and_does_not_open(fields: dict[str, int]) -> None:
    whole = spooling.frame(bytes(16), 0, b"", True, **fields)  # type: ignore[arg-type]
    assert parse_frame_header(whole) is not None
    assert opened(whole) is None
