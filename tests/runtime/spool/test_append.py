"""What is appended is sealed in frames as long as the format allows, and a loss is counted whoever counts beside it."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.protocol.events import HookRecord
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.spool.append import append_record, count_loss, seal_record
from mnemic.runtime.spool.files import read_losses
from mnemic.runtime.spool.frames import (
    FRAME_HEADER_BYTES,
    MAX_FRAME_BYTES,
    TAG_BYTES,
    FrameDecryptor,
    parse_frame_header,
)
from mnemic.runtime.spool.spool import Spool
from tests.clocks import ManualClock
from tests.runtime.spooling import CREATED_US, PRIVATE, PUBLIC, drain
from tests.waiting import BOUND_S

CONTENT_BYTES = MAX_FRAME_BYTES - FRAME_HEADER_BYTES - TAG_BYTES


def opened(frames: list[bytes]) -> bytes:
    """What is sealed in frames that are numbered and flagged as a record's."""
    opener = FrameDecryptor(PRIVATE)
    parts = []
    for number, frame in enumerate(frames):
        header = parse_frame_header(frame)
        assert header is not None
        assert (header.number, header.last, header.total_bytes) == (number, number == len(frames) - 1, len(frame))
        part = opener.decrypt(header, frame[FRAME_HEADER_BYTES:])
        assert part is not None
        parts.append(part)
    return b"".join(parts)


@given(st.integers(0, 3), st.integers(-2, 2), st.integers(1, 40))
def test_frames_are_as_long_as_the_format_allows_and_no_longer(count: int, more: int, head_bytes: int) -> None:
    size = max(0, count * CONTENT_BYTES - head_bytes + more)
    frames = list(seal_record(PUBLIC, b"h" * head_bytes, b"p" * size))
    assert len(frames) == max(1, -(-(head_bytes + size) // CONTENT_BYTES))
    assert all(len(frame) == MAX_FRAME_BYTES for frame in frames[:-1])
    assert opened(frames) == b"h" * head_bytes + b"p" * size


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_head_longer_than_a_frame_goes_on_in_the_next(more: int) -> None:
    head = b"h" * (2 * CONTENT_BYTES + more)
    assert opened(list(seal_record(PUBLIC, head, b"p" * 10))) == head + b"p" * 10


def test_what_is_appended_is_read_with_all_that_was_said_of_it(tmp_path: Path) -> None:
    mind, clock = create_mind(tmp_path, "default", SystemClock()), ManualClock(CREATED_US)

    def append(payload: bytes, **about: bytes) -> None:
        append_record(mind.spool, clock, payload, assistant=b"codex", event=b"reply", session=b"s", **about)

    append(b"a payload", cwd=b"/a \xff", branch=b"main", entry=b"cli")
    append(b"another")
    keys = open_mind(tmp_path, "default")[1]
    (first, second), torn = drain(Spool(mind.spool, keys.spool_private, SystemClock()))
    assert isinstance(first, HookRecord)
    assert isinstance(second, HookRecord)
    assert (first.assistant, first.event, first.at, first.payload) == ("codex", "reply", CREATED_US, b"a payload")
    assert (first.cwd, first.branch, first.entry) == ("/a \\xff", "main", "cli")
    assert (second.cwd, second.branch, second.entry, second.payload, torn) == (None, None, None, b"another", 0)


def test_what_says_nothing_to_seal_to_is_an_error(tmp_path: Path) -> None:
    mind = create_mind(tmp_path, "default", SystemClock())
    card = json.loads(mind.spool_config.read_bytes())
    mind.spool_config.write_text(json.dumps(card | {"version": 2}))
    with pytest.raises(ValueError, match="version 2"):
        append_record(mind.spool, SystemClock(), b"", assistant=b"codex", event=b"tool", session=b"s")
    assert list(mind.spool.glob("*.spool")) == []


def test_losses_at_once_are_all_counted(tmp_path: Path) -> None:
    (tmp_path / "losses").write_bytes(bytes(64))
    threads = [threading.Thread(target=count_loss, args=(tmp_path, SystemClock(), 100)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)
    lost = read_losses(tmp_path)
    assert (lost.lost, lost.lost_bytes) == (20, 2000)
    assert (tmp_path / "losses").stat().st_size == 64
