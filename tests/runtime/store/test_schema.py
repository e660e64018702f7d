"""Migrations keep a copy and are whole or not at all; what is wrong with a file is said in one sentence each."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemic.actors.kernel.errors import DamagedStore, MindExists, MnemicError, NewerSchema, OtherSchema, StoreReadOnly
from mnemic.runtime.keys.keys import KEY_BYTES
from mnemic.runtime.minds.homes import create_mind
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import (
    LATEST_SCHEMA,
    MIGRATIONS,
    connect,
    copy_database,
    create_file,
    migrate,
    write_transaction,
)
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.clocks import ManualClock
from tests.disks import fill_up, own_disk
from tests.runtime.building import (
    KEYS,
    add_encoder,
    answers,
    apply,
    child,
    files_of,
    finish,
    held,
    keys_of,
    release,
    said,
    vectors,
    wait_for_release,
)

NOW = LATEST_SCHEMA
COPY = f"store.schema-{NOW}.db"
NEXT = (*MIGRATIONS, "CREATE TABLE extra(id INTEGER PRIMARY KEY) STRICT; INSERT INTO extra VALUES(1);")
FAILING = (*MIGRATIONS, "CREATE TABLE extra(id INTEGER) STRICT; UPDATE memories SET role = 'system'; SELECT no_such();")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of the newest schema with something in it, closed."""
    with closing(Store.create(tmp_path / "store.db", KEYS)) as store:
        apply(
            store,
            added(1),
            added(2, b"a second text, that is long enough " * 400),
            add_encoder(),
            vectors(1, 2),
        )
    return tmp_path / "store.db"


def version(path: Path) -> Any:
    with closing(connect(path, KEYS)) as db:
        return db.execute("PRAGMA user_version").get


# --- migrations ------------------------------------------------------------------------------------------------------


def test_a_migration_keeps_a_sealed_copy_first(path: Path) -> None:
    before = held(path)
    with closing(connect(path, KEYS)) as db:
        migrate(db, path, KEYS, NEXT)
        assert db.execute("SELECT * FROM extra").fetchall() == [(1,)]
    assert version(path) == NOW + 1
    copy = path.with_name(COPY)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert b"SQLite format" not in copy.read_bytes()
    assert version(copy) == NOW
    assert held(copy) == before == held(path)


def test_a_migration_that_fails_leaves_the_old_schema_whole(path: Path) -> None:
    before = held(path)
    with closing(connect(path, KEYS)) as db, pytest.raises(DamagedStore):
        migrate(db, path, KEYS, FAILING)
    assert version(path) == NOW
    assert held(path) == before
    with closing(connect(path, KEYS)) as db:
        migrate(db, path, KEYS, NEXT)
    assert held(path.with_name(COPY)) == before, "the copy of the first try is replaced"


def test_a_copy_that_cannot_be_made_stops_the_migration(path: Path) -> None:
    path.with_name(COPY).mkdir()
    before = held(path)
    with closing(connect(path, KEYS)) as db, pytest.raises(StoreReadOnly) as caught:
        migrate(db, path, KEYS, NEXT)
    assert "directory" in said(caught.value)
    assert sorted(files_of(path.parent)) == ["store.db", "store.db-mark"]
    assert version(path) == NOW
    assert held(path) == before


def migrate_at_once(path: str) -> None:
    """In a process: bring a store to an invented next schema at the same moment as others."""
    with closing(connect(Path(path), KEYS)) as db:
        wait_for_release()
        migrate(db, Path(path), KEYS, NEXT)


@pytest.mark.system
def test_processes_that_race_migrate_once_and_keep_the_old_schemas_copy(path: Path) -> None:
    before = held(path)
    release([child("runtime.store.test_schema:migrate_at_once", path) for _ in range(4)])
    assert version(path) == NOW + 1
    assert held(path) == before
    assert held(path.with_name(COPY)) == before
    assert version(path.with_name(COPY)) == NOW
    assert sorted(files_of(path.parent)) == ["store.db", "store.db-mark", COPY]


def test_a_newer_schema_is_refused_and_not_touched(path: Path) -> None:
    with closing(connect(path, KEYS)) as db:
        migrate(db, path, KEYS, NEXT)
    before = files_of(path.parent)
    with pytest.raises(NewerSchema) as caught:
        Store.open(path, KEYS)
    assert said(caught.value).endswith(f"was written by a newer Mnemic (schema {NOW + 1}; this one knows {NOW}).")
    assert files_of(path.parent) == before


def test_a_store_of_other_tables_is_refused_and_not_touched(path: Path) -> None:
    with closing(connect(path, KEYS)) as db:
        db.execute("PRAGMA application_id = 7")
    before = files_of(path.parent)
    with pytest.raises(OtherSchema) as caught:
        Store.open(path, KEYS)
    assert said(caught.value).endswith("was made by another development version of Mnemic, with other tables.")
    assert files_of(path.parent) == before


# --- one transaction -------------------------------------------------------------------------------------------------


def _break_off(db: apsw.Connection) -> None:
    with write_transaction(db):
        db.execute("DELETE FROM log")
        raise KeyboardInterrupt


def test_a_lease_that_breaks_off_leaves_nothing(path: Path) -> None:
    before = held(path)
    with closing(connect(path, KEYS)) as db:
        with pytest.raises(KeyboardInterrupt):
            _break_off(db)
        assert not db.in_transaction
    assert held(path) == before


def told(use: Callable[[], object]) -> list[str]:
    """What a user is told: the class, the sentence; nothing where there is nothing to tell."""
    try:
        use()
    except MnemicError as error:
        return [type(error).__name__, said(error)]
    return []


# --- damage ----------------------------------------------------------------------------------------------------------


def everything(path: Path) -> dict[str, Any]:
    with closing(open_reader(path, KEYS)) as reader:
        return answers(reader)


def test_a_flipped_bit_on_any_page_is_found_when_it_is_read_or_changes_nothing(path: Path, tmp_path: Path) -> None:
    whole, expected = path.read_bytes(), everything(path)
    found = []
    (tmp_path / "damaged").mkdir()
    damaged = tmp_path / "damaged" / "store.db"
    for page in range(len(whole) // 4096):
        flipped = bytearray(whole)
        flipped[4096 * page + 1000] ^= 1
        damaged.write_bytes(flipped)
        failure = told(lambda: everything(damaged))
        if failure:
            assert failure[0] == "DamagedStore"
            assert str(damaged) in failure[1]
            found.append(page)
        else:
            assert everything(damaged) == expected
        assert damaged.read_bytes() == flipped
    assert found[0] == 0
    assert len(found) > 20


def test_damage_is_found_before_anything_is_written(path: Path) -> None:
    flipped = bytearray(path.read_bytes())
    with closing(connect(path, KEYS)) as db:
        root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'memories'").get
    flipped[4096 * (root - 1) + 2000] ^= 0x40
    path.write_bytes(flipped)
    with closing(Store.open(path, KEYS)) as store:
        for use in (lambda: apply(store, added(3)), lambda: store.rebuild(lambda d, t: None, meaning=False)):
            with pytest.raises(DamagedStore) as caught:
                use()
            said(caught.value)
    assert path.read_bytes() == flipped


@pytest.mark.parametrize("kept", [0, 1, 2, 100, 4095, 4096, 0.5, 0.9])
def test_a_store_cut_short_is_said_to_be_damaged(path: Path, kept: float) -> None:
    whole = path.read_bytes()
    part = whole[: kept if isinstance(kept, int) else int(len(whole) * kept)]
    path.write_bytes(part)
    assert (told(lambda: Store.open(path, KEYS).close()) or told(lambda: everything(path)))[0] == "DamagedStore"
    assert path.read_bytes() == part


@pytest.mark.parametrize("length", [KEY_BYTES, KEY_BYTES + 4096])
def test_what_is_no_store_is_refused(path: Path, length: int) -> None:
    path.write_bytes(b"\x00" * length)
    with pytest.raises(DamagedStore):
        Store.open(path, KEYS)


def test_a_wrong_key_reads_nothing_and_touches_nothing(path: Path) -> None:
    before = files_of(path.parent)
    for use in (lambda: Store.open(path, keys_of(bytes(32))), lambda: open_reader(path, keys_of(bytes(32)))):
        with pytest.raises(DamagedStore) as caught:
            use()
        said(caught.value)
    assert files_of(path.parent) == before


def test_a_store_that_is_not_there_is_said_not_to_be_and_not_made(tmp_path: Path) -> None:
    for use in (lambda: Store.open(tmp_path / "store.db", KEYS), lambda: open_reader(tmp_path / "store.db", KEYS)):
        with pytest.raises(DamagedStore) as caught:
            use()
        assert "the file is not there" in said(caught.value)
    assert files_of(tmp_path) == {}


def test_a_sealed_file_that_holds_no_memory_is_not_made_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    create_file(path)
    with closing(connect(path, KEYS, new=True)) as db:
        db.execute("CREATE TABLE t(x)")
    with pytest.raises(DamagedStore) as caught:
        Store.open(path, KEYS)
    assert "it holds no memory" in said(caught.value)


def test_a_folder_that_is_not_there_is_said_not_to_be(path: Path) -> None:
    with pytest.raises(StoreReadOnly) as caught:
        Store.create(path.parent / "none" / "store.db", KEYS)
    assert "No such file or directory" in said(caught.value)
    with closing(connect(path, KEYS)) as db, pytest.raises(StoreReadOnly):
        copy_database(db, path.parent / "none" / "store.db", KEYS)


def test_a_copy_is_sealed_and_never_written_over_a_file(path: Path, tmp_path: Path) -> None:
    with closing(connect(path, KEYS)) as db:
        copy_database(db, tmp_path / "copy.db", KEYS)
        with pytest.raises(MindExists):
            copy_database(db, tmp_path / "copy.db", KEYS)
    assert held(tmp_path / "copy.db") == held(path)
    with pytest.raises(apsw.NotADBError), closing(apsw.Connection(str(tmp_path / "copy.db"))) as unsealed:
        unsealed.execute("SELECT * FROM sqlite_schema")


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_every_file_of_a_store_is_its_owners_alone(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with closing(Store.create(tmp_path / "store.db", KEYS)) as store:
            apply(store, added(1))
            store.fork(tmp_path / "fork.db")
            with closing(connect(tmp_path / "fork.db", KEYS)) as db:
                migrate(db, tmp_path / "fork.db", KEYS, NEXT)
                modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    names = {
        "store.db",
        "store.db-wal",
        "store.db-shm",
        "store.db-mark",
        "fork.db",
        "fork.db-wal",
        "fork.db-shm",
        "fork.db-mark",
        f"fork.schema-{NOW}.db",
        "lock",
    }
    assert modes == dict.fromkeys(names, 0o600)


# --- disks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def on_small_disk(tmp_path: Path) -> Callable[[str], list[Any]]:
    """Run a function of this module in a process that sees a disk of 2 MB at the folder it is given."""
    folder = tmp_path / "disk"
    shell = own_disk(folder, "2m")

    def run(function: str) -> list[Any]:
        report = json.loads(finish(child(f"runtime.store.test_schema:{function}", folder, before=shell)))
        assert isinstance(report, list)
        return report

    return run


def noise(number: int) -> bytes:
    return bytes((n * n * 7 + number * n) % 95 + 32 for n in range(20_000))


def fill_the_disk(folder: str) -> None:
    """In a process: fill a disk and go on, then free it again."""
    path, spare = Path(folder) / "store.db", Path(folder) / "spare"
    spare.write_bytes(bytes(100_000))
    report: list[Any] = []
    with closing(Store.create(path, KEYS)) as store:
        number = 0
        keep = lambda: apply(store, added(number, noise(number)))  # noqa: E731
        while not (full := told(keep)):
            number += 1
        report += [full, told(keep), number]
        with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
            report.append(now.counts(None).memories)
        report += [told(lambda: store.fork(path.with_name("fork.db"))), path.with_name("fork.db").exists()]
        report.append(told(lambda: Store.create(path.with_name("two.db"), KEYS)))
        report.append(told(lambda: create_mind(Path(folder) / "home", "default", ManualClock(0))))
        minds = Path(folder) / "home" / "minds"
        report.append([file.name for file in minds.iterdir()] if minds.exists() else [])
        report.append(path.with_name("two.db").exists())
        spare.unlink()
        report.append(apply(store, added(number, b"small")).kept[0].created)
    report.append(len(held(path)["memories"]))
    print(json.dumps(report))


def test_a_full_disk_is_said_to_be_full_and_loses_nothing(on_small_disk: Callable[[str], list[Any]]) -> None:
    full, again, number, seen, fork, forked, create, mind, minds, made, created, kept = on_small_disk("fill_the_disk")
    for failure in (full, again, fork, create, mind):
        assert failure[0] == "DiskFull"
        assert "is full" in failure[1]
    assert number > 3
    assert seen == number, "what was acknowledged, no more and no less"
    assert (forked, minds, made) == (False, [], False), "what could not be made whole is not there"
    assert created
    assert kept == number + 1


def open_on_a_full_disk(folder: str) -> None:
    """In a process: open a closed store where there is no room for anything."""
    path = Path(folder) / "store.db"
    with closing(Store.create(path, KEYS)) as store:
        apply(store, added(1))
    before = path.read_bytes()
    taken = fill_up(Path(folder))
    report: list[Any] = [memories_read(path)]
    with closing(Store.open(path, KEYS)) as store:
        report.append(told(lambda: apply(store, added(2, noise(2)))))
    shared = path.with_name("store.db-shm")
    os.truncate(shared, 3)  # as SQLite does when it opens a store; now another one takes the room
    fill_up(Path(folder))
    report += [memories_read(path), memories_read(path, words_only=True), shared.stat().st_size]
    with closing(Store.open(path, KEYS)) as store:
        report.append(told(lambda: apply(store, added(2, noise(2)))))
    report.append(path.read_bytes() == before)
    taken.unlink()
    report.append(len(held(path)["memories"]))
    print(json.dumps(report))


def memories_read(path: Path, *, words_only: bool = False) -> int:
    """How many memories a new reader finds."""
    with closing(connect(path, KEYS, words_only=words_only)) as db:
        return int(db.execute("SELECT count(*) FROM memories").get)


def test_a_store_on_a_full_disk_is_read_and_says_that_it_is_full(on_small_disk: Callable[[str], list[Any]]) -> None:
    seen, write, again, words, index, late, same, kept = on_small_disk("open_on_a_full_disk")
    assert (seen, again, words) == (1, 1, 1)
    assert index < 32_768, "there was no room for what the processes share, and nobody needed it"
    assert write[0] == "DiskFull"
    assert late[0] == "StoreReadOnly", "it was opened for reading alone"
    assert (same, kept) == (True, 1)


def use_a_read_only_disk(folder: str) -> None:
    """In a process: make a store, and find its disk read-only, with a write-ahead log that holds the newest."""
    path = Path(folder) / "store.db"
    with closing(Store.create(path, KEYS)) as store:
        apply(store, added(1))
    finish(child("runtime.store.test_schema:write_and_die", path))
    (Path(folder) / "apart").mkdir()
    shutil.copy(path, Path(folder) / "apart")
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    before = files_of(Path(folder))
    report: list[Any] = [memories_read(path), memories_read(path, words_only=True)]
    with closing(Store.open(path, KEYS)) as store:
        report.append(told(lambda: apply(store, added(3))))
    report += [
        told(lambda: Store.create(path.with_name("two.db"), KEYS)),
        told(lambda: create_mind(Path(folder) / "home", "default", ManualClock(0))),
        told(lambda: open_reader(Path(folder) / "apart" / "store.db", KEYS)),
    ]
    report.append(files_of(Path(folder)) == before)
    subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
    report.append(len(held(path)["memories"]))
    print(json.dumps(report))


def write_and_die(store: str) -> None:
    """In a process: leave what is committed in the write-ahead log."""
    writer = Store.open(Path(store), KEYS)
    apply(writer, added(2), key=b"of another process")
    os._exit(0)


def test_a_store_on_a_read_only_disk_is_read_to_its_last_commit(on_small_disk: Callable[[str], list[Any]]) -> None:
    seen, words, *failures, same, kept = on_small_disk("use_a_read_only_disk")
    assert (seen, words) == (2, 2), "what only the log holds, too"
    assert [failure[0] for failure in failures] == ["StoreReadOnly"] * 4
    assert all("cannot be" in failure[1] for failure in failures)
    assert "store.db-shm is not there" in failures[-1][1], "a copy without its companions"
    assert (same, kept) == (True, 2)
