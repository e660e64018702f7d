"""What waits is said with its age, also of a mind that is locked; what is lost, foreign or kept is never silent."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.spool import spool as spool_module
from mnemic.runtime.spool.files import QUARANTINE, Backlog, Losses, measure_backlog, read_losses
from mnemic.runtime.spool.frames import FrameDecryptor
from mnemic.runtime.spool.spool import Spool
from tests.runtime.spooling import (
    CREATED_US,
    PRIVATE,
    PUBLIC,
    drain,
    file_header,
    file_id,
    frames,
    record,
    sealed,
    write,
)

NOTHING = Backlog(files=0, size_bytes=0, oldest_at=None, unreadable=())
NO_LOSSES = Losses(lost=0, lost_bytes=0, lost_at=None, foreign=(), foreign_bytes=0, quarantined=(), quarantined_bytes=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A spool, beside it what says whose it is."""
    (tmp_path / "spool.json").write_text(f'{{"version": 1, "public": "{PUBLIC.hex()}", "names": "00"}}')
    (tmp_path / "spool").mkdir()
    return tmp_path / "spool"


def test_where_nothing_waits_nothing_is_said(folder: Path, tmp_path: Path) -> None:
    for place in (folder, tmp_path / "nowhere"):
        assert measure_backlog(place, {}) == NOTHING
        assert read_losses(place) == NO_LOSSES


def test_what_waits_is_counted_as_long_as_it_is_not_taken_in(folder: Path) -> None:
    one, two = (write(folder, name, sealed(record(number)), number=number) for number, name in enumerate("ab"))
    start = 48
    found = measure_backlog(folder, {})
    assert (found.files, found.size_bytes) == (2, one.stat().st_size + two.stat().st_size - 2 * start)
    offsets: dict[bytes, int] = {file_id(0): one.stat().st_size}
    assert measure_backlog(folder, offsets).files == 1
    drain(Spool(folder, PRIVATE, SystemClock()), offsets)
    assert measure_backlog(folder, offsets) == NOTHING


def test_the_age_is_that_of_the_first_record_that_waits(folder: Path) -> None:
    first, second = record(1_000_000), record(2_000_000, b"x" * 50)
    path = write(folder, "one", sealed(first), *frames(second, [150]))
    write(folder, "two", sealed(record(9_000_000)), number=1)
    os.utime(path, (7e9, 7e9))
    behind_first = {file_id(): 48 + len(sealed(first)), file_id(1): 10_000}
    assert measure_backlog(folder, {}, FrameDecryptor(PRIVATE)).oldest_at == first.at
    assert measure_backlog(folder, behind_first, FrameDecryptor(PRIVATE)).oldest_at == second.at


def test_without_the_key_the_file_tells_the_age(folder: Path) -> None:
    path = write(folder, "one", sealed(record(1)), sealed(record(2)))
    os.utime(path, (7e9, 7e9))
    assert measure_backlog(folder, {}).oldest_at == CREATED_US
    assert measure_backlog(folder, {file_id(): 48 + len(sealed(record(1)))}).oldest_at == 7_000_000_000_000_000


@pytest.mark.parametrize("torn", [b"garbage", sealed(record(1))[:90], sealed(record(1))[:-1] + b"\0"])
def test_what_is_torn_has_an_age_too(folder: Path, torn: bytes) -> None:
    path = write(folder, "one", torn)
    os.utime(path, (7e9, 7e9))
    assert measure_backlog(folder, {}, FrameDecryptor(PRIVATE)).oldest_at == CREATED_US
    assert measure_backlog(folder, {file_id(): 49}, FrameDecryptor(PRIVATE)).oldest_at == 7_000_000_000_000_000


def test_a_file_of_another_key_does_not_wait_and_is_named(folder: Path) -> None:
    (folder / "foreign.spool").write_bytes(file_header(1, bytes(31) + b"\x09") + bytes(52))
    (folder / "newer.spool").write_bytes(file_header(2, version=2))
    write(folder, "own", sealed(record(1)))
    assert measure_backlog(folder, {}).files == 1
    found = read_losses(folder)
    assert (found.foreign, found.foreign_bytes) == (("foreign.spool", "newer.spool"), 148)


def test_where_nothing_says_whose_a_spool_is_every_file_waits(folder: Path) -> None:
    write(folder, "own", sealed(record(1)))
    for content in (b"", b"[]", b'{"public": "zz"}'):
        (folder.parent / "spool.json").write_bytes(content)
        assert measure_backlog(folder, {}).files == 1
        assert read_losses(folder).foreign == ()


def test_what_is_quarantined_is_named(folder: Path) -> None:
    path = write(folder, "one", sealed(record(1))[:-1] + b"\0")
    drain(Spool(folder, PRIVATE, SystemClock()))
    found = read_losses(folder)
    assert (found.quarantined, found.quarantined_bytes) == ((f"{file_id().hex()}.spool",), path.stat().st_size)
    assert (folder / QUARANTINE / found.quarantined[0]).read_bytes() == path.read_bytes()


def test_what_hooks_could_not_write_is_said(folder: Path) -> None:
    (folder / "losses").write_bytes(struct.pack("<QQQ", 3, CREATED_US, 5000) + bytes(40))
    found = read_losses(folder)
    assert (found.lost, found.lost_at, found.lost_bytes) == (3, CREATED_US, 5000)
    (folder / "losses").write_bytes(b"half")
    assert read_losses(folder) == NO_LOSSES


def test_a_file_that_cannot_be_opened_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "one", sealed(record(1)))

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(spool_module.os, "open", refuse)
    assert measure_backlog(folder, {}).unreadable == ("one.spool",)
    assert read_losses(folder).foreign == ()


def test_a_mind_s_spool_is_looked_at_without_its_private_key(tmp_path: Path) -> None:
    made: MindFolder = create_mind(tmp_path, "default", SystemClock())
    keys: Keys = open_mind(tmp_path, "default")[1]
    write(made.spool, "one", sealed(record(1)))
    assert read_losses(made.spool).foreign == ("one.spool",)
    assert measure_backlog(made.spool, {}) == NOTHING
    assert keys.spool_public() != PUBLIC
