"""Of a write-ahead log that was damaged nothing is taken over; what was committed before the damage is there again."""

from __future__ import annotations

import logging
import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from mnemic.actors.protocol.errors import DamagedStore
from mnemic.runtime.store import schema
from mnemic.runtime.store.high_water import lost_transactions
from mnemic.runtime.store.read.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from mnemic.runtime.store.write_ahead_log import first_damaged_frame
from tests.runtime.building import KEYS, apply, held, memory

PAGE_BYTES = 4096
FRAME_BYTES = 24 + PAGE_BYTES
COMMITS = 8
LATER = 3


def log_of(path: Path) -> Path:
    return path.with_name("store.db-wal")


def frames_of(path: Path) -> int:
    return (log_of(path).stat().st_size - 32) // FRAME_BYTES


def flip_bit(log: Path, at: int) -> None:
    """Flip a bit of a file in place, as it goes on being open."""
    with log.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 8]))


# --- the proof -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["little", "big"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of 300 frames and more that SQLite wrote, with checksums of either byte order."""
    path = tmp_path_factory.mktemp("written") / "store.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(b BLOB)"
        ).fetchall()
        for number in range(300):
            connection.execute("INSERT INTO t VALUES(?)", (bytes([number % 251]) * 3000,))
        log = Path(shutil.copy(log_of(path), path.with_name("log")))
    if request.param == "big":
        log.write_bytes(in_big_endian(log.read_bytes()))
    return log


@pytest.fixture
def plain(written: Path, tmp_path: Path) -> Path:
    """A copy of that log, which a test may damage."""
    return Path(shutil.copy(written, tmp_path))


def in_big_endian(written: bytes) -> bytes:
    """The same log as a machine of the other byte order writes it: a word at a time, as SQLite's page says it."""

    def checksum(content: bytes, s0: int, s1: int) -> tuple[int, int]:
        for at in range(0, len(content), 8):
            s0 = (s0 + int.from_bytes(content[at : at + 4], "big") + s1) % 2**32
            s1 = (s1 + int.from_bytes(content[at + 4 : at + 8], "big") + s0) % 2**32
        return s0, s1

    def packed(sums: tuple[int, int]) -> bytes:
        return b"".join(one.to_bytes(4, "big") for one in sums)

    head = b"\x37\x7f\x06\x83" + written[4:24]
    sums = checksum(head, 0, 0)
    parts = [head, packed(sums)]
    for at in range(32, len(written), FRAME_BYTES):
        frame = written[at : at + FRAME_BYTES]
        sums = checksum(frame[:8] + frame[24:], *sums)
        parts += [frame[:16], packed(sums), frame[24:]]
    return b"".join(parts)


def test_a_log_as_sqlite_writes_it_is_proved_from_any_frame_on(plain: Path) -> None:
    last = (plain.stat().st_size - 32) // FRAME_BYTES
    assert last > 300
    for after in (0, 1, 7, 255, 256, 257, last - 1, last, last + 1):
        assert first_damaged_frame(plain, PAGE_BYTES, after, last) is None


@pytest.mark.parametrize("frame", [1, 2, 256, 257, 300])
@pytest.mark.parametrize("at", [0, 7, 16, 23, 24, FRAME_BYTES - 1])
def test_the_first_frame_with_a_flipped_bit_is_named(plain: Path, frame: int, at: int) -> None:
    flip_bit(plain, 32 + (frame - 1) * FRAME_BYTES + at)
    assert first_damaged_frame(plain, PAGE_BYTES, 0, 300) == frame
    assert first_damaged_frame(plain, PAGE_BYTES, frame - 1, 300) == frame
    assert first_damaged_frame(plain, PAGE_BYTES, 0, frame - 1) is None


@pytest.mark.parametrize("size", [0, 10, 32, 32 + 2 * FRAME_BYTES, 32 + 3 * FRAME_BYTES - 1])
def test_a_log_that_was_cut_lacks_the_frame_behind_its_last(plain: Path, size: int) -> None:
    plain.write_bytes(plain.read_bytes()[:size])
    assert first_damaged_frame(plain, PAGE_BYTES, 0, 300) == max(size - 32, 0) // FRAME_BYTES + 1


# --- a living store --------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "mind"
    folder.mkdir()
    return folder / "store.db"


def lost_of(path: Path) -> list[tuple[int, int]]:
    with closing(connect(path, KEYS)) as connection:
        return [(one.last, one.count) for one in lost_transactions(connection)]


def commit(store: Store, first: int, last: int) -> None:
    for number in range(first, last + 1):
        apply(store, memory(number, b"text %d" % number), at=1000 * number)


@pytest.mark.parametrize("way", ["close", "checkpoint and close", "with a reader"])
@pytest.mark.parametrize("where", [0.15, 0.4, 0.7, 1.0])
def test_a_bit_flipped_in_the_log_of_a_living_store_costs_nothing_before_it_and_is_told(
    path: Path, where: float, way: str
) -> None:
    Store.create(path, KEYS).close()
    store = Store.open(path, KEYS)
    ends: list[int] = []
    for number in range(1, COMMITS + 1):
        commit(store, number, number)
        ends.append(frames_of(path))
    frame = max(1, round(ends[-1] * where))
    flip_bit(log_of(path), 32 + (frame - 1) * FRAME_BYTES + 1024)
    commit(store, COMMITS + 1, COMMITS + LATER)
    if way == "checkpoint and close":
        with pytest.raises(DamagedStore, match=f"frame {frame} of its write-ahead log is not as it was written"):
            store.checkpoint()
    if way == "with a reader":
        with closing(open_reader(path, KEYS)):
            store.close()
    store.close()
    Store.open(path, KEYS).close()
    whole = sum(end < frame for end in ends)
    assert len(held(path)["memories"]) == whole
    assert lost_of(path) == [(whole, COMMITS + LATER - whole)]


def test_a_damaged_frame_that_the_file_has_already_costs_nothing(path: Path) -> None:
    with closing(Store.create(path, KEYS)) as store:
        commit(store, 1, COMMITS)
        with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
            assert now.counts(None).memories == COMMITS
            assert store.checkpoint()  # all of it; the log stays for the one who reads
            flip_bit(log_of(path), 32 + 5 * FRAME_BYTES + 1024)
            commit(store, COMMITS + 1, COMMITS + LATER)
    Store.open(path, KEYS).close()
    assert len(held(path)["memories"]) == COMMITS + LATER
    assert lost_of(path) == []


def test_a_long_log_is_taken_over_after_a_commit_unless_it_is_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(schema, "_CHECKPOINT_PAGES", 10)
    Store.create(path, KEYS).close()
    with closing(Store.open(path, KEYS)) as store:
        commit(store, 1, 20)
        alone = Path(shutil.copy(path, path.with_name("alone.db")))
        assert frames_of(path) < 60  # it began anew, again and again
        assert len(held(alone)["memories"]) >= 1
        store.checkpoint()
        before = path.read_bytes()
        commit(store, 21, 21)
        flip_bit(log_of(path), 32 + 1024)
        commit(store, 22, 41)
        assert path.read_bytes() == before
    said = [line for line in caplog.messages if "could not be taken over" in line]
    assert "frame 1 of its write-ahead log" in said[0]


def test_whoever_else_has_the_store_open_takes_no_damaged_log_over(path: Path) -> None:
    with closing(Store.create(path, KEYS)) as store, closing(connect(path, KEYS)) as connection:
        commit(store, 1, COMMITS)
        flip_bit(log_of(path), 32 + 1024)
        with pytest.raises(DamagedStore) as refused:
            connection.empty_log()
    assert "End what has the mind open" in refused.value.remedy_text


def test_what_only_reads_leaves_the_log_as_it_is(path: Path) -> None:
    with closing(Store.create(path, KEYS)) as store:
        commit(store, 1, 2)
        folder = Path(shutil.copytree(path.parent, path.parent.with_name("copy")))
    written = log_of(folder / "store.db").read_bytes()
    with closing(connect(folder / "store.db", KEYS, words_only=True)) as connection:
        assert connection.execute("SELECT count(*) FROM memories").get == 2
    assert log_of(folder / "store.db").read_bytes() == written


def test_closing_a_damaged_log_is_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store.create(path, KEYS)
    commit(store, 1, 2)
    flip_bit(log_of(path), 32 + 1024)
    with caplog.at_level(logging.ERROR):
        store.close()
    assert "the write-ahead log is left as it is" in caplog.text
