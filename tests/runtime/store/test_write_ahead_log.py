"""Damage to a write-ahead log costs nothing while what has it open can still read it; where that is not so, nothing
more is acknowledged, and what was committed before the damage is there again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from mnemic.actors.kernel.errors import DamagedStore, StoreBusy
from mnemic.runtime.store import schema
from mnemic.runtime.store.high_water import lost_transactions
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from mnemic.runtime.store.write_ahead_log import first_damaged_frame
from tests.built import added
from tests.runtime.building import KEYS, apply, held

PAGE_BYTES = 4096
FRAME_BYTES = 24 + PAGE_BYTES
COMMITS = 8
LATER = 3
NUMBER, SIZE, CHECKSUM, IMAGE = 3, 7, 17, 24 + 1024
"""Bytes of a frame: of its page's number, of the database's size, of the checksum, of the page."""


def log_of(path: Path) -> Path:
    return path.with_name("store.db-wal")


def frames_of(path: Path) -> list[int]:
    """The number of the page that each frame of a log holds."""
    written = log_of(path).read_bytes()
    return [int.from_bytes(written[at : at + 4], "big") for at in range(32, len(written), FRAME_BYTES)]


def flip_bit(log: Path, at: int) -> None:
    """Flip a bit of a file in place, as it goes on being open."""
    with log.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 8]))


def flip_frame(path: Path, frame: int, at: int = IMAGE) -> None:
    flip_bit(log_of(path), 32 + (frame - 1) * FRAME_BYTES + at)


# --- the proof -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["little", "big"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of 300 frames and more that SQLite wrote, with checksums of either byte order, and its index."""
    path = tmp_path_factory.mktemp("written") / "store.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(b BLOB)"
        ).fetchall()
        for number in range(300):
            connection.execute("INSERT INTO t VALUES(?)", (bytes([number % 251]) * 3000,))
        copy = Path(shutil.copytree(path.parent, path.parent / "copy")) / path.name
    if request.param == "big":
        log_of(copy).write_bytes(in_big_endian(log_of(copy).read_bytes()))
    return copy


@pytest.fixture
def plain(written: Path, tmp_path: Path) -> Path:
    """A copy of that database, whose log a test may damage."""
    return Path(shutil.copytree(written.parent, tmp_path / "plain")) / written.name


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


def found_in(path: Path, after: int, last: int) -> int | None:
    return first_damaged_frame(log_of(path), path.with_name("store.db-shm").read_bytes(), PAGE_BYTES, after, last)


def test_a_log_as_sqlite_writes_it_is_proved_from_any_frame_on(plain: Path) -> None:
    last = len(frames_of(plain))
    assert last > 300
    for after in (0, 1, 7, 255, 256, 257, last - 1, last, last + 1):
        assert found_in(plain, after, last) is None


@pytest.mark.parametrize("frame", [1, 2, 3, 256, 257])
@pytest.mark.parametrize("at", [0, NUMBER, SIZE, 16, 23, 24, FRAME_BYTES - 1])
def test_a_frame_with_a_flipped_bit_is_named_unless_a_later_one_of_its_page_replaces_it(
    plain: Path, frame: int, at: int
) -> None:
    pages = frames_of(plain)
    flip_frame(plain, frame, at)
    assert found_in(plain, 0, frame) == frame
    assert found_in(plain, frame - 1, frame) == frame
    assert found_in(plain, 0, frame - 1) is None
    for last in (frame + 1, frame + 2, 300):
        replaced = pages[frame - 1] in pages[frame:last] or at in (16, 23)  # the next frame's checksum tells the right
        assert found_in(plain, 0, last) == (None if replaced else frame)


def test_a_damaged_frame_is_not_replaced_by_another_one_that_is_damaged(plain: Path) -> None:
    pages = frames_of(plain)
    frame = next(n for n, page in enumerate(pages, 1) if pages.count(page) > 2)
    again = [n for n, page in enumerate(pages, 1) if page == pages[frame - 1]]
    flip_frame(plain, again[0])
    assert found_in(plain, 0, again[1]) is None
    flip_frame(plain, again[1])
    assert found_in(plain, 0, again[1]) == again[0]
    assert found_in(plain, 0, again[2]) is None


@pytest.mark.parametrize("size", [0, 10, 32, 32 + 2 * FRAME_BYTES, 32 + 3 * FRAME_BYTES - 1])
def test_a_log_that_was_cut_lacks_what_stood_behind_its_end(plain: Path, size: int) -> None:
    log_of(plain).write_bytes(log_of(plain).read_bytes()[:size])
    named = found_in(plain, 0, 300)
    assert named is not None
    assert named <= max(size - 32, 0) // FRAME_BYTES + 1


# --- a living store --------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "mind"
    folder.mkdir()
    Store.create(folder / "store.db", KEYS).close()
    return folder / "store.db"


def commit(store: Store, first: int, last: int) -> None:
    for number in range(first, last + 1):
        apply(store, added(number, b"text %d" % number), at=1000 * number)


def forget_pages(store: Store) -> None:
    """Have the store read again from its files whatever it wants next."""
    store._db.execute("PRAGMA shrink_memory")


def newest_frame_of(path: Path, table: str) -> int:
    """The newest frame of a table's first page, which nothing but the log has."""
    with closing(connect(path, KEYS)) as connection:
        page = int(connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get)
    pages = frames_of(path)
    return len(pages) - pages[::-1].index(page)


def assert_whole(path: Path, memories: int) -> None:
    """That a store lacks nothing, for whoever opens it next."""
    Store.open(path, KEYS).close()
    assert len(held(path)["memories"]) == memories
    with closing(connect(path, KEYS)) as connection:
        assert lost_transactions(connection) == ()
        assert connection.execute("PRAGMA integrity_check").get == "ok"


def close_at_once(path: Path, store: Store) -> None:
    store.close()


def checkpoint_first(path: Path, store: Store) -> None:
    assert store.checkpoint()
    assert log_of(path).stat().st_size == 0
    commit(store, 100, 100)
    store.close()


def close_beside_a_reader(path: Path, store: Store) -> None:
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot():
        store.close()


@pytest.mark.parametrize("later", [0, LATER])
@pytest.mark.parametrize("at", [NUMBER, SIZE, CHECKSUM, IMAGE])
@pytest.mark.parametrize("where", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("way", [close_at_once, checkpoint_first, close_beside_a_reader])
def test_a_bit_flipped_in_the_log_of_a_living_store_costs_nothing(
    path: Path, where: float, at: int, later: int, way: Callable[[Path, Store], None]
) -> None:
    store = Store.open(path, KEYS)
    commit(store, 1, COMMITS)
    flip_frame(path, max(1, round(len(frames_of(path)) * where)), at)
    commit(store, COMMITS + 1, COMMITS + later)
    way(path, store)
    assert_whole(path, COMMITS + later + (way is checkpoint_first))


@pytest.mark.parametrize("at", [0, 3, 9, 17, 25, 30])
def test_a_bit_flipped_in_the_head_of_the_log_costs_nothing(path: Path, at: int) -> None:
    with closing(Store.open(path, KEYS)) as store:
        commit(store, 1, COMMITS)
        flip_bit(log_of(path), at)
        commit(store, COMMITS + 1, COMMITS + LATER)
    assert_whole(path, COMMITS + LATER)


def test_a_page_that_a_newer_frame_holds_is_not_asked_of_the_damaged_one(path: Path) -> None:
    with closing(Store.open(path, KEYS)) as store:
        commit(store, 1, COMMITS)
        frame = newest_frame_of(path, "memories")
        commit(store, COMMITS + 1, COMMITS + 1)
        flip_frame(path, frame)
        forget_pages(store)
        assert store.checkpoint()
        assert not store._db.is_log_damaged
    assert_whole(path, COMMITS + 1)


def test_where_a_page_cannot_be_read_any_more_nothing_is_acknowledged_until_it_can(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(Store.open(path, KEYS)) as store:
        commit(store, 1, COMMITS)
        frame = newest_frame_of(path, "memories")
        flip_frame(path, frame)
        forget_pages(store)
        with pytest.raises(DamagedStore, match=f"frame {frame} of its write-ahead log is not as it was written") as no:
            store.checkpoint()
        assert "keeps nothing new" in no.value.remedy_text
        for _ in range(2):
            with pytest.raises(DamagedStore):
                commit(store, COMMITS + 1, COMMITS + 1)
        flip_frame(path, frame)
        commit(store, COMMITS + 1, COMMITS + LATER)
    assert_whole(path, COMMITS + LATER)


def test_what_was_committed_before_such_damage_is_there_again_and_the_rest_is_told(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store.open(path, KEYS)
    ends = []
    for number in range(1, COMMITS + 1):
        commit(store, number, number)
        ends.append(len(frames_of(path)))
    frame = newest_frame_of(path, "memories")
    flip_frame(path, frame)
    forget_pages(store)
    store.close()
    assert "the write-ahead log is left as it is" in caplog.text
    Store.open(path, KEYS).close()
    whole = sum(end < frame for end in ends)
    assert len(held(path)["memories"]) == whole
    with closing(connect(path, KEYS)) as connection:
        assert [(one.last, one.count) for one in lost_transactions(connection)] == [(whole, COMMITS - whole)]


def test_a_damaged_frame_that_the_file_has_already_costs_nothing(path: Path) -> None:
    with closing(Store.open(path, KEYS)) as store:
        commit(store, 1, COMMITS)
        with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
            assert now.counts(None).memories == COMMITS
            assert store.checkpoint()  # all of it; the log stays for the one who reads
            flip_frame(path, 6)
            commit(store, COMMITS + 1, COMMITS + LATER)
    assert_whole(path, COMMITS + LATER)


def test_who_writes_meanwhile_delays_it_and_no_commit_is_acknowledged_before(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_S", 0.01)
    with closing(Store.open(path, KEYS)) as store, closing(connect(path, KEYS)) as other:
        commit(store, 1, COMMITS)
        flip_frame(path, newest_frame_of(path, "memories"))
        other.execute("BEGIN IMMEDIATE")
        for _ in range(2):
            with pytest.raises(StoreBusy):
                store.checkpoint()
        with pytest.raises(StoreBusy):
            commit(store, COMMITS + 1, COMMITS + 1)
        other.execute("ROLLBACK")
        commit(store, COMMITS + 1, COMMITS + LATER)
    assert_whole(path, COMMITS + LATER)


def test_a_long_log_is_taken_over_after_a_commit_and_its_damage_is_mended_before_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(schema, "_CHECKPOINT_PAGES", 10)
    with closing(Store.open(path, KEYS)) as store:
        commit(store, 1, 20)
        alone = Path(shutil.copy(path, path.with_name("alone.db")))
        assert len(frames_of(path)) < 60  # it began anew, again and again
        assert len(held(alone)["memories"]) >= 1
        store.checkpoint()
        monkeypatch.setattr(schema, "_CHECKPOINT_PAGES", 1000)
        commit(store, 21, 21)
        flip_frame(path, newest_frame_of(path, "memories"))
        monkeypatch.setattr(schema, "_CHECKPOINT_PAGES", 10)
        commit(store, 22, 41)
    assert_whole(path, 41)


def test_whoever_else_has_the_store_open_takes_no_damaged_page_over(path: Path) -> None:
    with closing(Store.open(path, KEYS)) as store, closing(connect(path, KEYS)) as other:
        commit(store, 1, COMMITS)
        flip_frame(path, newest_frame_of(path, "memories"))
        with pytest.raises(DamagedStore):
            other.empty_log()
        assert store.checkpoint()
        other.empty_log()
    assert_whole(path, COMMITS)


def test_what_only_reads_leaves_the_log_as_it_is(path: Path) -> None:
    with closing(Store.open(path, KEYS)) as store:
        commit(store, 1, 2)
        folder = Path(shutil.copytree(path.parent, path.parent.with_name("copy")))
    written = log_of(folder / "store.db").read_bytes()
    with closing(connect(folder / "store.db", KEYS, words_only=True)) as connection:
        assert connection.execute("SELECT count(*) FROM memories").get == 2
    assert log_of(folder / "store.db").read_bytes() == written
