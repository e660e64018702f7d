"""Of the writers that were opened for one slot only the newest writes, in whatever order they come; others go on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import DiskFull, Fenced
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.disks import fill_up, own_disk
from tests.runtime.building import KEYS, apply, child, finish, held, said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Store.create(tmp_path / "store.db", KEYS).close()
    return tmp_path / "store.db"


@pytest.fixture
def first(path: Path) -> Iterator[Store]:
    """The first writer of the slot ``home``."""
    with closing(Store.open(path, KEYS, fence="home")) as store:
        yield store


def fences(path: Path) -> dict[str, int]:
    with closing(connect(path, KEYS)) as db:
        return dict(db.execute("SELECT slot, epoch FROM fences"))


def nothing(done: int, total: int | None) -> None:
    pass


def test_a_writer_that_was_replaced_writes_nothing_and_says_by_whom(first: Store, path: Path) -> None:
    apply(first, added(1), key=b"one")
    with closing(Store.open(path, KEYS, fence="home")) as second:
        before = held(path)
        with pytest.raises(Fenced) as caught:
            apply(first, added(2))
        assert said(caught.value) == (
            f"This writer of {path} was replaced by a newer one (epoch 1, now 2), and writes no more."
        )
        with pytest.raises(Fenced):
            first.rebuild(nothing, meaning=True)
        with pytest.raises(Fenced):
            apply(first, added(1), key=b"one")  # nor does it answer for what it wrote when it could
        assert held(path) == before
        assert apply(second, added(2)).kept[0].created
        assert second.rebuild(nothing, meaning=False) == 2


def test_a_writer_without_a_fence_replaces_nobody_and_is_not_replaced(first: Store, path: Path) -> None:
    with closing(Store.open(path, KEYS)) as free, closing(Store.open(path, KEYS, fence="home")) as second:
        assert apply(free, added(1)).kept[0].created
        assert apply(second, added(2)).kept[0].created
        assert free.rebuild(nothing, meaning=False) == 2


def test_slots_do_not_fence_each_other(first: Store, path: Path) -> None:
    with closing(Store.open(path, KEYS, fence="other")) as other:
        assert apply(first, added(1)).kept[0].created
        assert apply(other, added(2)).kept[0].created


def test_a_fork_carries_no_fence(first: Store, path: Path, tmp_path: Path) -> None:
    apply(first, added(1))
    first.fork(tmp_path / "fork.db")
    assert fences(tmp_path / "fork.db") == {}
    assert fences(path) == {"home": 1}
    assert apply(first, added(2)).kept[0].created


def test_a_rebuild_keeps_the_fence(first: Store, path: Path) -> None:
    apply(first, added(1))
    first.rebuild(nothing, meaning=False)
    assert fences(path) == {"home": 1}


def test_a_writer_whose_fence_is_gone_writes_no_more(first: Store, path: Path) -> None:
    with closing(connect(path, KEYS)) as db:
        db.execute("DELETE FROM fences")
    with pytest.raises(Fenced, match="epoch 1, now 0"):
        apply(first, added(1))


def write_in_turn(path: str) -> None:
    """In a process: write, say so, and write again when told to."""
    with closing(Store.open(Path(path), KEYS, fence="home")) as store:
        apply(store, added(1), key=b"first")
        print("ready", flush=True)
        input()
        try:
            apply(store, added(2), key=b"second")
            print("kept")
        except Fenced as error:
            print(error.code, error.operands["own"], error.operands["current"])


def test_a_process_believed_dead_cannot_write_once_another_took_over(path: Path) -> None:
    process = child("runtime.store.test_store_fences:write_in_turn", path)
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    with closing(Store.open(path, KEYS, fence="home")) as second:
        process.stdin.write("go\n")
        process.stdin.flush()
        assert finish(process) == "fenced 1 2\n"
        assert len(held(path)["memories"]) == 1
        assert apply(second, added(3)).seq == 2


SLOTS = ("a", "b", None)


@settings(max_examples=15)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 7)), max_size=25))
def test_whatever_the_order_of_opening_and_writing_only_the_newest_of_a_slot_writes(
    steps: list[tuple[bool, int]],
) -> None:
    folder = Path(tempfile.mkdtemp())
    path = folder / "store.db"
    Store.create(path, KEYS).close()
    writers: list[tuple[str | None, Store]] = []
    expected = set()
    for number, (opens, which) in enumerate(steps):
        if opens or not writers:
            slot = SLOTS[which % len(SLOTS)]
            writers.append((slot, Store.open(path, KEYS, fence=slot)))
            continue
        slot, store = writers[which % len(writers)]
        newest = [one for other, one in writers if other == slot][-1]
        if slot is None or store is newest:
            assert apply(store, added(number)).kept[0].created
            expected.add(number)
        else:
            with suppress(Fenced):
                apply(store, added(number))
                pytest.fail("a writer that was replaced wrote")
    assert {int.from_bytes(row[1], "big") for row in held(path)["memories"]} == expected
    for _, store in writers:
        store.close()
    shutil.rmtree(folder)


def replace_on_a_full_disk(folder: str) -> None:
    """In a process that has a disk of its own: replace a writer where there is no room to say so."""
    path = Path(folder) / "store.db"
    Store.create(path, KEYS).close()
    with closing(Store.open(path, KEYS, fence="home")) as first:
        taken = fill_up(Path(folder))
        with closing(Store.open(path, KEYS, fence="home")) as second:
            try:
                apply(second, added(1))
            except DiskFull:
                print("full")
            taken.unlink()
            print(apply(second, added(1)).kept[0].created)
            try:
                apply(first, added(2))
            except Fenced as error:
                print(error.operands["own"], error.operands["current"])


def test_where_the_disk_is_full_a_writer_replaces_the_others_with_its_first_transaction(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    before = own_disk(disk)
    printed = finish(child("runtime.store.test_store_fences:replace_on_a_full_disk", disk, before=before))
    assert printed == "full\nTrue\n1 2\n"
