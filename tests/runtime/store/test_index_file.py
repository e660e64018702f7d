"""While a store is open, its locks stay, whatever is read beside SQLite; afterwards no descriptor is left."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.runtime.store.index_file import connection_closed, connection_opens, read_index
from mnemic.runtime.store.schema import connect, create_file, migrate
from tests.runtime.building import KEYS

LOCKS = Path("/proc/locks")


def locks_on(path: Path) -> list[str]:
    """What this process has locked of a file, as Linux lists it."""
    inode = f":{path.stat().st_ino}"
    lines = (line.split() for line in LOCKS.read_text("utf-8").splitlines())
    return sorted(" ".join(line[1:]) for line in lines if line[5].endswith(inode) and line[4] == str(os.getpid()))


def open_files(path: Path) -> int:
    return sum(os.path.realpath(one) == str(path) for one in Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(not LOCKS.exists(), reason="no /proc/locks here tells who has locked what")
def test_a_log_is_proved_without_letting_go_of_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    index = tmp_path / "store.db-shm"
    create_file(path)
    with closing(connect(path, KEYS, new=True)) as writer:
        migrate(writer, path, KEYS, new=True)
        with closing(connect(path, KEYS)) as reader, closing(connect(path, KEYS)) as prover:
            reader.execute("BEGIN; SELECT count(*) FROM memories").fetchall()
            writer.execute("BEGIN IMMEDIATE; INSERT INTO graph_waiting VALUES(1)")
            before = locks_on(index)
            assert len(before) >= 3  # that it is open, what the reader reads, that the writer writes
            prover.prove_log()
            assert locks_on(index) == before
            writer.execute("COMMIT")
            reader.execute("COMMIT")
        assert locks_on(index), "the other one has it open"
        assert writer.execute("SELECT count(*) FROM graph_waiting").get == 1
    assert (locks_on(index), open_files(index), open_files(path)) == ([], 0, 0)


def test_another_file_of_the_name_is_read_and_all_are_closed_with_the_last_connection(tmp_path: Path) -> None:
    index = tmp_path / "store.db-shm"
    index.write_bytes(b"first")
    for _ in range(2):
        connection_opens(index)
    assert read_index(index) == b"first"
    index.rename(tmp_path / "gone")
    index.write_bytes(b"another")
    assert read_index(index) == b"another"
    connection_closed(index)
    assert read_index(index) == b"another"
    connection_closed(index)
    left = {os.path.realpath(one) for one in Path("/proc/self/fd").iterdir()} if LOCKS.exists() else set()
    assert left.isdisjoint({str(index), str(tmp_path / "gone")})
