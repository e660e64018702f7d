"""What stands for a memory is what a walk along the links finds, whatever is retired, in the store and in memory."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.log.changes import Retire, Supersede, Unretire
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from mnemic.runtime.store.supersession import Successor, current_successor, superseded_ids
from tests.built import added
from tests.runtime.building import KEYS, apply, held, id_of

COUNT = 6
numbers = st.integers(1, COUNT)


@settings(max_examples=10)
@given(links=st.lists(st.tuples(numbers, numbers), max_size=8), retired=st.sets(numbers))
def test_the_next_in_the_chain_that_is_not_retired_stands_for_a_memory(
    links: list[tuple[int, int]], retired: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with closing(Store.create(path, KEYS)) as store:
            apply(store, *(added(n, b"%d" % n, said_at=10 * n) for n in range(1, COUNT + 1)))
            for old, new in links:
                try:
                    apply(store, Supersede(old=id_of(old), new=id_of(new)))
                except InvalidValue:
                    continue
            before = held(path)
            apply(store, *(Retire(memory=id_of(n), reason="") for n in retired))
            with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
                follows = dict(zip(now.superseded().old.tolist(), now.superseded().new.tolist(), strict=True))
                records = {n: now.load_memories([n])[0] for n in range(1, COUNT + 1)}
                known = RecallIndex()
                known.sync(now, None)

            def stands_for(row: int) -> int | None:
                later = follows.get(row)
                while later in retired:
                    later = follows.get(later)
                return later

            for n, record in records.items():
                later = stands_for(n)
                assert known.replacement(n, None) == later
                assert record.superseded_by == (None if later is None else id_of(later))
                assert record.valid_to == (None if later is None else max(10 * n, 10 * later))
                earlier = [id_of(m) for m in records if stands_for(m) == n and n not in retired]
                assert list(record.supersedes) == earlier
            apply(store, *(Unretire(memory=id_of(n)) for n in retired))
            after = held(path)
        assert after["memories"] == before["memories"], "to retire and to restore is nothing"


def test_what_nothing_replaces_stands_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(Store.create(path, KEYS)) as store:
        apply(store, added(1, said_at=5), added(2, said_at=7))
        with closing(connect(path, KEYS)) as db:
            assert (current_successor(db, 1), superseded_ids(db, 1)) == (None, ())
            apply(store, Supersede(old=id_of(1), new=id_of(2)))
            assert current_successor(db, 1) == Successor(id_of(2), 7)
            assert superseded_ids(db, 2) == (id_of(1),)
            apply(store, Retire(memory=id_of(2), reason=""))
            assert (current_successor(db, 1), superseded_ids(db, 2)) == (None, ())


def test_what_a_memory_stands_for_is_found_without_going_through_the_others(tmp_path: Path) -> None:
    steps: list[int] = []
    with (
        closing(Store.create(tmp_path / "store.db", KEYS)) as store,
        closing(connect(tmp_path / "store.db", KEYS)) as db,
    ):
        for count in (4, 400):
            apply(store, *(added(n, b"%d" % n, said_at=n) for n in range(count // 100 + 1, count + 1)))
            if count == 4:
                apply(store, Supersede(old=id_of(1), new=id_of(2)))
            taken = [0]

            def step(taken: list[int] = taken) -> bool:
                taken[0] += 1
                return False

            db.set_progress_handler(step, 1)
            assert superseded_ids(db, 2) == (id_of(1),)
            assert current_successor(db, 1) == Successor(id_of(2), 2)
            steps += taken
    assert steps[1] <= steps[0] + 20
