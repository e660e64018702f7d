"""Several processes at one store, one of them killed, and what all of them leave on the disk."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import (
    KEYS,
    add_encoder,
    apply,
    child,
    delivery,
    files_of,
    finish,
    held,
    rows_with,
    vectors,
    wait_for_release,
)

# --- several processes -----------------------------------------------------------------------------------------------


def write_triples(path: str, writer: str, times: str) -> None:
    """In a process: transactions of three new memories and one that every writer brings."""
    with closing(Store.open(Path(path), KEYS)) as store:
        wait_for_release()
        for n in range(int(times)):
            base = 1_000_000 * (int(writer) + 1) + 10 * n
            triple = [added(base + i, b"of a triple", session=f"{writer}-{n}") for i in range(3)]
            shared = added(n, b"everybody's", session="shared")
            store.apply([*triple, shared], at=1, key=f"{writer}/{n}".encode(), author=writer, run="r")


@pytest.mark.system
def test_four_writers_lose_and_double_nothing_and_a_reader_sees_whole_transactions(store: Store, path: Path) -> None:
    writers, times = 4, 40
    processes = [child("runtime.store.test_store_processes:write_triples", path, n, times) for n in range(writers)]
    seen = set()
    with closing(open_reader(path, KEYS)) as reader:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        running = True
        while running:
            running = any(process.poll() is None for process in processes)
            with reader.snapshot() as now:
                columns = now.memory_columns(0)
                sizes = Counter(columns.session.tolist())
                shared = now.session_rows("shared")
                assert all(size == 3 for session, size in sizes.items() if session not in shared)
                assert len(rows_with(now, "tripl")) == 3 * (len(sizes) - len(shared))
                assert now.counts(None).memories == len(columns.row)
                seen.add(len(columns.row))
    for process in processes:
        finish(process)
    assert len(seen) > 1
    found = held(path)
    assert len(found["memories"]) == writers * times * 3 + times
    assert [row[0] for row in found["log"]] == list(range(1, len(found["log"]) + 1))
    assert len(found["applies"]) == writers * times


def write_until_killed(path: str, seed: str) -> None:
    """In a process: acknowledge each transaction on a line of its own."""
    draw = random.Random(int(seed))
    with closing(Store.open(Path(path), KEYS)) as store:
        for n in range(100_000):
            number = int(seed) * 1_000_000 + n
            texts = [draw.randbytes(draw.choice([10, 20_000])).hex().encode() for _ in range(2)]
            two = [added(2 * number, texts[0]), added(2 * number + 1, texts[1])]
            store.apply(two, at=n, key=b"%d" % number, author="a", run="r")
            print(number, flush=True)


@pytest.mark.system
def test_what_was_acknowledged_survives_kill_9(store: Store, path: Path) -> None:
    draw = random.Random(9)
    acknowledged: list[int] = []
    for seed in range(6):
        process = child("runtime.store.test_store_processes:write_until_killed", path, seed)
        assert process.stdout is not None
        for _ in range(draw.randint(1, 40)):
            acknowledged.append(int(process.stdout.readline()))
        process.kill()
        acknowledged += [int(line) for line in process.stdout.read().split()]
        process.communicate()
        found = held(path)
        ids = {int.from_bytes(row[1], "big") for row in found["memories"]}
        assert ids >= {2 * number + i for number in acknowledged for i in (0, 1)}
        assert all(number ^ 1 in ids for number in ids), "both of a transaction, or none"
        assert [row[0] for row in found["log"]] == list(range(1, len(found["log"]) + 1))
    assert apply(store, added(77_777_777)).kept[0].created


# --- what is on the disk ---------------------------------------------------------------------------------------------


def shows(data: bytes, *secrets: bytes) -> bool:
    """Whether 16 bytes in a row of a secret may stand in the data: they would hold 8 that are looked for."""
    pieces = {secret[start : start + 8] for secret in secrets for start in range(0, len(secret) - 7, 8)}
    return any(data[at : at + 8] in pieces for at in range(len(data) - 7))


def test_no_file_of_a_store_shows_what_is_in_it(store: Store, path: Path) -> None:
    draw = random.Random(3)
    words = [bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz", k=24)) for _ in range(40)]
    texts = [b" ".join(draw.choices(words, k=60)) for _ in range(8)]
    names = [b"speaker-" + words[0], b"session-" + words[1], b"scope-" + words[2], b"tool-" + words[3]]
    speaker, session, scope, tool = (name.decode() for name in names)
    place = ScopeRef(path=scope, project=f"/home/{scope}/.git", found="git")
    for number, text in enumerate(texts, start=1):
        apply(store, added(number, text, speaker=speaker, session=session, place=place, tool=tool))
    apply(store, add_encoder(), vectors(*range(1, 9), windows=8))
    apply(store, delivery(query=texts[0].decode(), scope=scope))
    store.fork(path.with_name("fork.db"), 5)
    secrets = [*texts, *names, *(zlib.compress(text, 6) for text in texts), vectors(*range(1, 9), windows=8).vectors]
    living = files_of(path.parent)
    living |= {file.name: file.read_bytes() for file in path.parent.glob("*-shm")}
    assert {"store.db", "store.db-wal", "store.db-shm", "fork.db"} <= living.keys()
    store.close()
    for data in (*living.values(), *files_of(path.parent).values()):
        assert not shows(data, *secrets)
        assert b"SQLite format" not in data
    with closing(apsw.Connection(":memory:")) as unsealed:  # the same look finds it where it is not sealed
        unsealed.execute("CREATE TABLE t(body BLOB); INSERT INTO t VALUES(?)", (b"before " + texts[0],))
        assert shows(unsealed.serialize("main"), texts[0])
