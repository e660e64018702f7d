"""What is taken in is wiped from the spool, whoever writes to it meanwhile; what waits is still there to be read."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from mnemic.runtime.clock import SystemClock
from mnemic.runtime.spool.frames import FILE_HEADER_BYTES, FrameDecryptor
from mnemic.runtime.spool.spool import Spool
from mnemic.runtime.transfer.erase import quarantined_files, wipe_consumed
from tests.runtime.building import keys_of
from tests.runtime.spooling import PRIVATE, drain, file_id, record, sealed, write

OWN = FrameDecryptor(PRIVATE).key_ids
FIRST, SECOND = sealed(record(1, b"first")), sealed(record(2, b"second"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def test_a_file_that_is_taken_in_to_its_end_is_gone(folder: Path) -> None:
    path = write(folder, "a", FIRST, SECOND)
    assert wipe_consumed(folder, {file_id(): path.stat().st_size}, OWN) == 1
    assert not path.exists()
    assert wipe_consumed(folder, {}, OWN) == 0


def test_of_a_file_that_goes_on_what_waits_is_still_read(folder: Path) -> None:
    path = write(folder, "a", FIRST, SECOND)
    taken = FILE_HEADER_BYTES + len(FIRST)
    before = path.read_bytes()
    assert wipe_consumed(folder, {file_id(): taken}, OWN) == 1
    assert path.read_bytes() == before[:FILE_HEADER_BYTES] + bytes(len(FIRST)) + SECOND
    read, torn = drain(Spool(folder, PRIVATE, SystemClock()), {file_id(): taken})
    assert ([one.id for one in read], torn) == ([record(2).id], 0)


def test_a_hook_that_holds_the_file_keeps_it_there_and_empty(folder: Path) -> None:
    path = write(folder, "a", FIRST)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        wipe_consumed(folder, {file_id(): path.stat().st_size}, OWN)
        assert path.read_bytes()[FILE_HEADER_BYTES:] == bytes(len(FIRST))
        fcntl.flock(file, fcntl.LOCK_UN)
    with path.open("ab") as file:
        file.write(SECOND)
    read, _ = drain(Spool(folder, PRIVATE, SystemClock()), {file_id(): FILE_HEADER_BYTES + len(FIRST)})
    assert [one.id for one in read] == [record(2).id]


def test_what_is_not_taken_in_or_another_keys_is_left_alone(folder: Path) -> None:
    waits = write(folder, "waits", FIRST, number=1)
    foreign = write(folder, "foreign", SECOND, number=2)
    before = waits.read_bytes(), foreign.read_bytes()
    assert wipe_consumed(folder, {file_id(2): 10_000}, FrameDecryptor(keys_of(bytes(32)).spool_private).key_ids) == 0
    assert wipe_consumed(folder, {}, OWN) == 0
    assert (waits.read_bytes(), foreign.read_bytes()) == before


def test_a_second_name_of_it_is_wiped_with_it_and_named(folder: Path) -> None:
    path = write(folder, "a", FIRST, SECOND)
    (folder / "aside").mkdir()
    kept = folder / "aside" / "kept.spool"
    os.link(path, kept)
    assert quarantined_files(folder) == ["aside/kept.spool"]
    wipe_consumed(folder, {file_id(): path.stat().st_size}, OWN)
    assert not any(kept.read_bytes()[FILE_HEADER_BYTES:])
