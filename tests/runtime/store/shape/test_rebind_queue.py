"""What is enqueued beside memories that come and leave, in few steps however many stand between two turns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.changes import MemoryLabels, Relabel
from mnemic.actors.kernel.changes import Change
from mnemic.actors.log.changes import Retire, Unretire
from mnemic.actors.shape.queries import NEAR_CALLS
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import KEYS, apply, id_of

KINDS = ("turn", "injected", "tool_call", "note")
_STEP = 20


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[], closing[Store]]:
    count = iter(range(1_000))
    return lambda: closing(Store.create(tmp_path / f"{next(count)}", KEYS))


def labelled(number: int, kind: Any, role: Any = "user") -> MemoryLabels:
    return MemoryLabels(
        memory=id_of(number), kind=kind, role=role, speaker=None, author="unknown", said_at=number, utc_offset_min=0
    )


def relabelled(numbers: list[int], kind: Any) -> tuple[Change, ...]:
    return (Relabel(labels=tuple(labelled(number, kind) for number in numbers)),)


def steps(store: Store, *changes: Change) -> int:
    """How many times twenty instructions SQLite takes for changes."""
    counted = 0

    def count() -> bool:
        nonlocal counted
        counted += 1
        return False

    store._db.set_progress_handler(count, _STEP)
    apply(store, *changes)
    store._db.set_progress_handler(None)
    return counted


def kept(store: Store, kinds: list[str]) -> None:
    said = [added(n, kind=kind, said_at=n, utc_offset_min=0) for n, kind in enumerate(kinds, start=1)]
    apply(store, *said)


@pytest.mark.parametrize("order", [1, -1], ids=["first to last", "last to first"])
@pytest.mark.parametrize(("was", "becomes"), [("injected", "turn"), ("turn", "injected"), ("tool_call", "injected")])
def test_relabelling_twice_as_many_texts_of_a_session_takes_twice_the_steps(
    opened: Callable[[], closing[Store]], was: str, becomes: str, order: int
) -> None:
    taken = []
    for size in (200, 400, 800):
        with opened() as store:
            kept(store, [was] * size)
            taken.append(steps(store, *relabelled([*range(1, size + 1)][::order], becomes)))
    assert taken[1] < 2.3 * taken[0], taken
    assert taken[2] < 2.3 * taken[1], taken


@pytest.mark.parametrize("change", [lambda one: Retire(memory=one, reason=""), lambda one: Unretire(memory=one)])
def test_twice_as_many_turns_before_twice_as_many_other_texts_take_twice_the_steps(
    opened: Callable[[], closing[Store]], change: Callable[[bytes], Change]
) -> None:
    taken = []
    for size in (100, 200, 400):
        with opened() as store:
            kept(store, ["turn"] * size + ["injected"] * size)
            turns = [id_of(number) for number in range(size, 0, -1)]
            if isinstance(change(b""), Unretire):
                apply(store, *(Retire(memory=one, reason="") for one in turns))
                turns.reverse()
            taken.append(steps(store, *map(change, turns)))
    assert taken[1] < 2.3 * taken[0], taken
    assert taken[2] < 2.3 * taken[1], taken


def enqueued(store: Store, *changes: Change) -> set[int]:
    store._db.execute("DELETE FROM unbound")
    apply(store, *changes)
    return {row for (row,) in store._db.execute("SELECT memory FROM unbound")}


def readings(kinds: list[str | None]) -> dict[int, tuple[object, ...]]:
    """What the record of each memory says of others beside it; ``None`` is a memory that is forgotten."""
    said: dict[int, tuple[object, ...]] = {}
    for place, kind in enumerate(kinds):
        before, after = range(place - 1, -1, -1), range(place + 1, len(kinds))
        turns = [next((one for one in side if kinds[one] == "turn"), None) for side in (before, after)]
        calls = [[one for one in side if kinds[one] == "tool_call"][:NEAR_CALLS] for side in (before, after)]
        said[place + 1] = (
            kind,
            turns[0],
            turns[1] if kind == "turn" else None,
            calls if kind == "tool_call" else None,
        )
    return said


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=14),
    st.lists(st.tuples(st.integers(1, 14), st.sampled_from([*KINDS, None])), min_size=1, max_size=8),
)
def test_all_whose_records_say_something_else_are_enqueued(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], given_kinds: list[tuple[int, str | None]]
) -> None:
    given_kinds = [(place, kind) for place, kind in given_kinds if place <= len(kinds)]
    with closing(Store.create(tmp_path_factory.mktemp("mind") / "store", KEYS)) as store:
        kept(store, kinds)
        now: list[str | None] = list(kinds)
        changes: list[Change] = []
        for place, kind in given_kinds:
            if kind is None:
                changes.append(Retire(memory=id_of(place), reason=""))
            elif now[place - 1] is not None:
                changes += relabelled([place], kind)
            else:
                continue
            now[place - 1] = kind
        if not changes:
            return
        found = enqueued(store, *changes)
    was, is_now = readings(list(kinds)), readings(now)
    changed = {row for row in was if was[row] != is_now[row] and now[row - 1] is not None}
    assert changed <= found
    assert not any(now[row - 1] is None for row in found)
