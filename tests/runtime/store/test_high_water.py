"""What a damaged write-ahead log took is told with its number, once and for as long as nobody takes note of it."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import msgspec
import pytest

from mnemic.actors.kernel.errors import DamagedStore, DiskFull
from mnemic.actors.store.messages import LostTransactions
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.store import high_water
from mnemic.runtime.store import store as store_module
from mnemic.runtime.store.high_water import HighWaterMark, MarkWriter, mark_path, read_mark
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import KEYS, apply, child, held, look, wait_for_release

COMMITS = 6
FRAME_BYTES = 24 + 4096
LOG_HEADER_BYTES = 32
NOT_KNOWN = LostTransactions(last=1, count=0, since=1000, until=1000, power_cut=False)


def commit_and_wait(path: str) -> None:
    """In a process: commit some transactions, the time of each its number, and wait to be killed."""
    store = Store.open(Path(path), KEYS)
    for number in range(1, COMMITS + 1):
        apply(store, added(number, b"text %d" % number), at=1000 * number)
    wait_for_release()


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store whose writer was killed: all that it committed stands in the write-ahead log alone."""
    path = tmp_path_factory.mktemp("killed") / "store.db"
    Store.create(path, KEYS).close()
    process = child("runtime.store.test_high_water:commit_and_wait", path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.communicate()
    return path.parent


@pytest.fixture
def left(killed: Path, tmp_path: Path) -> Path:
    """A copy of that store, which a test may damage."""
    return Path(shutil.copytree(killed, tmp_path / "left")) / "store.db"


def log_of(path: Path) -> Path:
    return path.with_name("store.db-wal")


def flip_bit(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def lost(path: Path) -> tuple[LostTransactions, ...]:
    found: tuple[LostTransactions, ...] = look(path, lambda now: now.counts(None).lost)
    return found


def reopen(path: Path) -> None:
    Store.open(path, KEYS).close()


@pytest.mark.parametrize("where", [0.0, 0.3, 0.6, 0.99])
def test_a_flipped_bit_in_the_log_is_told_with_how_much_it_took_and_since_when(left: Path, where: float) -> None:
    frames = (log_of(left).stat().st_size - LOG_HEADER_BYTES) // FRAME_BYTES
    flip_bit(log_of(left), LOG_HEADER_BYTES + int(frames * where) * FRAME_BYTES + 100)
    reopen(left)
    there = len(held(left)["memories"])
    assert there < COMMITS
    assert lost(left) == (
        LostTransactions(
            last=there,
            count=COMMITS - there,
            since=1000 * there if there else None,
            until=1000 * COMMITS,
            power_cut=False,
        ),
    )


def test_a_flipped_bit_in_the_head_of_the_log_takes_all_of_it_and_is_told(left: Path) -> None:
    flip_bit(log_of(left), 20)
    reopen(left)
    assert [(one.last, one.count, one.since) for one in lost(left)] == [(0, COMMITS, None)]


def test_a_loss_is_told_once_whatever_is_committed_after_it_until_somebody_takes_note(left: Path) -> None:
    log_of(left).write_bytes(b"")
    with closing(Store.open(left, KEYS)) as store:
        for number in range(COMMITS + 2):
            apply(store, added(100 + number), at=50_000 + number)
    first = lost(left)
    assert [one.count for one in first] == [COMMITS]
    reopen(left)
    assert lost(left) == first
    with closing(Store.open(left, KEYS)) as store:
        store.accept_losses()
    reopen(left)
    assert lost(left) == ()


@pytest.mark.parametrize("refusal", [apsw.ReadOnlyError, apsw.FullError])
def test_a_store_below_its_mark_is_read_where_nothing_can_be_written_and_its_loss_is_noted_later(
    left: Path, refusal: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(connection: apsw.Connection) -> None:
        raise refusal

    log_of(left).write_bytes(b"")
    with monkeypatch.context() as patched:
        patched.setattr(store_module, "write_transaction", refuse)
        store = Store.open(left, KEYS)
        assert len(held(left)["memories"]) == 0
        store.close()
    mark = read_mark(left, KEYS)
    assert mark is not None
    assert mark.seq == COMMITS
    assert lost(left) == ()
    with monkeypatch.context() as patched:
        patched.setattr(store_module, "write_transaction", refuse)
        store = Store.open(left, KEYS)
    with closing(store):
        apply(store, added(100), at=50_000)
    assert [(one.last, one.count) for one in lost(left)] == [(0, COMMITS)]


def test_two_losses_are_both_told(left: Path) -> None:
    older = left.read_bytes()
    log_of(left).write_bytes(b"")
    with closing(Store.open(left, KEYS)) as store:
        apply(store, added(100), at=50_000)
    assert len(lost(left)) == 1
    with closing(Store.open(left, KEYS)) as store:
        store.accept_losses()
        apply(store, added(101), at=60_000)
    left.write_bytes(older)  # an older file, put in its place by hand
    reopen(left)
    assert [(one.count, one.until) for one in lost(left)] == [(2, 60_000)]
    log_of(left).unlink(missing_ok=True)
    with closing(Store.open(left, KEYS)) as store:
        apply(store, added(102), at=70_000)
        MarkWriter(left, KEYS).write(5, 80_000, 0)
    MarkWriter(left, KEYS).write(5, 80_000, 0)
    reopen(left)
    assert [(one.count, one.until) for one in lost(left)] == [(2, 60_000), (4, 80_000)]


def test_one_that_was_killed_while_it_noted_a_loss_notes_it_once(left: Path) -> None:
    log_of(left).write_bytes(b"")
    mark = mark_path(left).read_bytes()
    reopen(left)
    mark_path(left).write_bytes(mark)  # as if the loss had been written, and the mark not yet
    reopen(left)
    assert [one.count for one in lost(left)] == [COMMITS]


def test_the_log_as_it_was_left_loses_nothing(left: Path) -> None:
    reopen(left)
    assert lost(left) == ()
    assert len(held(left)["memories"]) == COMMITS


# --- a power cut -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("synced", "power_cut"), [(0, True), (3, True), (4, False)])
def test_after_another_start_of_the_machine_only_what_the_disk_had_is_damage(
    path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, synced: int, power_cut: bool
) -> None:
    for number in range(1, 4):
        apply(store, added(number), at=number)
    store.close()
    with monkeypatch.context() as patch:
        patch.setattr(high_water, "current_boot", lambda: b"another start")
        MarkWriter(path, KEYS).write(9, 900, synced)
    reopen(path)
    assert lost(path) == (LostTransactions(last=3, count=6, since=3, until=900, power_cut=power_cut),)


def test_a_checkpoint_says_that_the_disk_has_all_and_a_commit_only_that_it_was_made(path: Path, store: Store) -> None:
    apply(store, added(1), at=10)
    mark = read_mark(path, KEYS)
    assert mark is not None
    assert (mark.seq, mark.at, mark.synced) == (1, 10, 0)
    assert store.checkpoint()
    apply(store, added(2), at=20)
    assert read_mark(path, KEYS) == HighWaterMark(2, 20, 1, high_water.current_boot())


# --- checkpoints -----------------------------------------------------------------------------------------------------


def test_a_checkpoint_empties_the_log_unless_somebody_reads_what_is_older(path: Path, store: Store) -> None:
    apply(store, added(1))
    with closing(open_reader(path, KEYS)) as reader:
        with reader.snapshot() as now:
            assert now.counts(None).memories == 1
            apply(store, added(2))
            assert not store.checkpoint()
        assert store.checkpoint()
    assert log_of(path).stat().st_size == 0


def test_a_reader_of_what_is_newest_keeps_the_log_and_not_the_commits_from_the_file(path: Path, store: Store) -> None:
    apply(store, added(1))
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        assert now.counts(None).memories == 1
        assert store.checkpoint()
        alone = path.with_name("alone.db")
        shutil.copy(path, alone)
        assert len(held(alone)["memories"]) == 1


def test_a_log_that_cannot_be_taken_over_keeps_no_store_from_closing(
    path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> bool:
        raise DamagedStore(path="store.db", why="a test says so")

    apply(store, added(1))
    monkeypatch.setattr(store, "checkpoint", refuse)
    store.close()
    assert "could not be taken over" in caplog.text
    assert len(held(path)["memories"]) == 1


# --- what raises no alarm --------------------------------------------------------------------------------------------


def closed_in_order(path: Path, store: Store) -> Path:
    store.close()
    return path


def copied_while_open(path: Path, store: Store) -> Path:
    return Path(shutil.copytree(path.parent, path.parent.with_name("copy"))) / path.name


def forked(path: Path, store: Store) -> Path:
    store.fork(path.with_name("fork.db"))
    return path.with_name("fork.db")


def forked_from_before(path: Path, store: Store) -> Path:
    store.fork(path.with_name("fork.db"), 1)
    return path.with_name("fork.db")


def rebuilt(path: Path, store: Store) -> Path:
    store.rebuild(lambda done, total: None, meaning=True)
    store.close()
    return path


def said_twice(path: Path, store: Store) -> Path:
    apply(store, added(3))  # known: its number is taken back
    store.close()
    return path


@pytest.mark.parametrize("way", [closed_in_order, copied_while_open, forked, forked_from_before, rebuilt, said_twice])
def test_what_is_in_order_raises_no_alarm(path: Path, store: Store, way: Callable[[Path, Store], Path]) -> None:
    for number in range(1, 4):
        apply(store, added(number))
    there = way(path, store)
    reopen(there)
    assert lost(there) == ()
    mark = read_mark(there, KEYS)
    assert mark is not None
    assert mark.seq == look(there, lambda now: now.seq)


def test_several_writers_by_turns_leave_a_mark_that_is_not_ahead(path: Path, store: Store) -> None:
    with closing(Store.open(path, KEYS)) as other:
        for number in range(1, 6):
            apply(store if number % 2 else other, added(number))
            mark = read_mark(path, KEYS)
            assert mark is not None
            assert mark.seq == number
    reopen(path)
    assert lost(path) == ()


# --- the mark itself -------------------------------------------------------------------------------------------------


def test_a_mark_that_was_altered_or_is_another_minds_is_not_believed(
    path: Path, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    apply(store, added(1), at=1000)
    store.close()
    other = Keys(msgspec.structs.replace(KEYS.secrets, root=bytes(32)))
    with pytest.raises(DamagedStore, match=r"store\.db-mark"):
        read_mark(path, other)
    for at in (0, 8, 20, 40, 111):
        flip_bit(mark_path(path), at)
        with pytest.raises(DamagedStore, match="not as it was written"):
            read_mark(path, KEYS)
        caplog.clear()
        reopen(path)
        assert "not as it was written" in caplog.text
        assert lost(path) == (NOT_KNOWN,)
        assert read_mark(path, KEYS) is not None


def test_that_a_mark_was_damaged_is_told_until_somebody_takes_note_whatever_is_committed_after_it(
    path: Path, store: Store
) -> None:
    apply(store, added(1), at=1000)
    store.close()
    for _ in range(2):  # the second time, nobody has taken note of the first
        flip_bit(mark_path(path), 20)
        with closing(Store.open(path, KEYS)) as again:
            apply(again, added(2), at=2000)
        assert lost(path) == (NOT_KNOWN,)
    with closing(Store.open(path, KEYS)) as again:
        again.accept_losses()
    reopen(path)
    assert lost(path) == ()


def test_what_is_missing_is_told_beside_what_is_not_known(path: Path, store: Store) -> None:
    apply(store, added(1), at=1000)
    store.close()
    flip_bit(mark_path(path), 20)
    reopen(path)
    MarkWriter(path, KEYS).write(3, 3000, 0)
    reopen(path)
    assert [(one.last, one.count) for one in lost(path)] == [(1, 0), (1, 2)]


def test_a_damaged_mark_stays_until_the_store_can_be_written_and_is_noted_then(
    path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(store, added(1), at=1000)
    store.close()
    flip_bit(mark_path(path), 20)

    @contextmanager
    def refuse(connection: apsw.Connection) -> Iterator[None]:
        raise DiskFull(path="store.db")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "write_transaction", refuse)
        again = Store.open(path, KEYS)
        assert again.checkpoint()
        with pytest.raises(DamagedStore):
            read_mark(path, KEYS)
    apply(again, added(2), at=2000)
    again.close()
    assert lost(path) == (NOT_KNOWN,)
    assert read_mark(path, KEYS) is not None


def test_a_pipe_in_the_place_of_the_mark_holds_nobody_up_and_is_told(path: Path, store: Store) -> None:
    apply(store, added(1), at=1000)
    store.close()
    mark_path(path).unlink()
    os.mkfifo(mark_path(path))
    with pytest.raises(OSError, match="no regular file"):
        read_mark(path, KEYS)
    with closing(Store.open(path, KEYS)) as again:
        apply(again, added(2), at=2000)
    reopen(path)
    assert lost(path) == (NOT_KNOWN,)


def test_without_a_mark_the_store_opens_and_has_one(path: Path, store: Store) -> None:
    apply(store, added(1))
    store.close()
    mark_path(path).unlink()
    assert read_mark(path, KEYS) is None
    reopen(path)
    assert read_mark(path, KEYS) is not None


def test_a_mark_that_cannot_be_written_keeps_no_commit_from_being_one(
    path: Path, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.close()
    mark_path(path).unlink()
    mark_path(path).mkdir()
    with caplog.at_level(logging.WARNING), closing(Store.open(path, KEYS)) as again:
        assert apply(again, added(1)).kept[0].created
        assert apply(again, added(2)).kept[0].created
    assert len([line for line in caplog.messages if "cannot be written" in line]) == 1
    mark_path(path).rmdir()
    reopen(path)
    assert [one.count for one in lost(path)] == [0]
