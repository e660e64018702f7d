"""Which memories wait to be bound, and what is kept of those that are: nothing that is read changes unmarked."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.errors import InvalidValue, NoSuchMemory, UnknownScope
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.kernel.times import UTC_ZONE
from mnemic.actors.log.changes import AddMemory, Retire, Unretire
from mnemic.actors.meaning.changes import DropEncoder, EncoderName
from mnemic.actors.scopes.changes import MergeScopes, RenameScope
from mnemic.actors.shape.queries import NEAR_CALLS, Unbound, filler_term
from mnemic.runtime.store.reader import StoreSnapshot, open_reader
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import (
    ENCODER,
    KEYS,
    add_encoder,
    add_space,
    apply,
    codes,
    held,
    id_of,
    look,
    plain,
    vectors,
)


def waiting(path: Path, encoder: EncoderName | None = None) -> list[int]:
    """The numbers of the memories that wait to be bound; of those that an encoder has embedded, where one is named."""
    found = look(path, lambda now: now.pending_bindings(encoder, encoder is not None, 0, 1000, 100))
    return [int.from_bytes(one.memory.id, "big") for one in found]


def fillers(path: Path, role: str) -> list[tuple[str, int]]:
    """What fills a role, and how many memories have it."""
    return [(one.name, one.memories) for one in look(path, lambda now: now.fillers(role))]


def bind_all(store: Store, path: Path) -> None:
    numbers = waiting(path)
    seq = look(path, lambda now: now.seq)
    if numbers:
        apply(store, codes(*numbers, seq=seq))


# --- what waits ------------------------------------------------------------------------------------------------------


def test_what_is_added_waits_and_what_is_bound_does_not(store: Store, path: Path) -> None:
    assert waiting(path) == []
    apply(store, added(1), added(2), add_space())
    assert waiting(path) == [1, 2]
    apply(store, codes(1))
    assert waiting(path) == [2]
    assert look(path, lambda now: now.bound_counts(None, False)) == (1, 1)


def test_what_could_not_be_read_whole_is_kept_apart_from_what_waits_until_it_is_to_be_bound_again(
    store: Store, path: Path
) -> None:
    def unread() -> list[int]:
        found = look(path, lambda now: now.failed_bindings(None, 0, 10, 100))
        assert look(path, lambda now: now.failed_binding_rows().tolist()) == [one.row for one in found]
        return [int.from_bytes(one.memory.id, "big") for one in found]

    apply(store, added(1), added(2), add_space())
    apply(store, msgspec.structs.replace(codes(1, 2, seq=look(path, lambda now: now.seq)), unread=(id_of(2),)))
    assert (waiting(path), unread()) == ([], [2])
    counts = look(path, lambda now: now.counts(None))
    assert (counts.bound, counts.unbound, counts.unread) == (2, 0, 1)
    assert look(path, lambda now: now.pending_binding_count()) == 0
    apply(store, added(3))
    assert (waiting(path), unread()) == ([2, 3], []), "a turn came after it: it is tried again"
    bind_all(store, path)
    assert (waiting(path), unread()) == ([], [])
    apply(store, added(4))
    apply(store, msgspec.structs.replace(codes(3, 4, seq=look(path, lambda now: now.seq)), unread=(id_of(4),)))
    apply(store, codes(4, seq=look(path, lambda now: now.seq)))
    assert (waiting(path), unread()) == ([], []), "once it is read whole, it is as any other"
    apply(store, Retire(memory=id_of(4), reason=""))
    assert unread() == []


def test_what_was_marked_meanwhile_waits_though_it_could_not_be_read(store: Store, path: Path) -> None:
    apply(store, added(1), add_space())
    before = look(path, lambda now: now.seq)
    apply(store, added(2))
    apply(store, msgspec.structs.replace(codes(1, seq=before), unread=(id_of(1),)))
    assert waiting(path) == [1, 2]


def test_whoever_has_vectors_of_the_encoder_can_be_bound_with_them(store: Store, path: Path) -> None:
    other = EncoderName(implementation="other", model="1" * 64)
    apply(store, added(1), added(2), add_encoder(), vectors(2), add_space())
    assert (waiting(path, ENCODER), waiting(path, other), waiting(path)) == ([2], [], [1, 2])
    assert look(path, lambda now: (now.bound_counts(ENCODER, True), now.bound_counts(other, True))) == ((0, 1), (0, 0))
    apply(store, add_encoder(other), vectors(2, encoder=other))
    assert waiting(path, other) == [2]
    apply(store, DropEncoder(encoder=other))
    assert (waiting(path, ENCODER), waiting(path, other)) == ([2], [])


def test_the_turns_beside_a_new_one_and_the_calls_near_a_new_call_are_bound_again(store: Store, path: Path) -> None:
    kinds = ["turn", "turn", *["tool_call"] * (NEAR_CALLS + 2), "turn"]
    apply(store, add_space(), *(added(n, kind=kind, said_at=10 * n) for n, kind in enumerate(kinds, start=1)))
    bind_all(store, path)
    last = len(kinds)
    apply(store, added(100, said_at=10 * last + 1))
    assert waiting(path) == [last, 100], "the turn before it; calls do not look ahead to turns"
    bind_all(store, path)
    apply(store, added(101, kind="tool_result", said_at=10 * last + 2))
    assert waiting(path) == [*range(last - NEAR_CALLS, last), 101]
    bind_all(store, path)
    apply(store, added(102, said_at=15))
    assert waiting(path) == [1, 2, 102], "one that comes late stands between two"
    bind_all(store, path)
    apply(store, added(103, said_at=16, session="another"))
    assert waiting(path) == [103]


READ = ("memory", "words", "meaning", "previous", "next", "speakers", "before", "after")


def readings(path: Path) -> dict[bytes, dict[str, Any]]:
    """What each memory that is not forgotten would be bound from, whether it waits or not."""
    with closing(open_reader(path, KEYS)) as reader:
        db: apsw.Connection = reader._db
        db.execute("BEGIN")
        try:
            db.execute("INSERT OR IGNORE INTO unbound SELECT id, 0, 1 FROM memories WHERE retired_at IS NULL")
            snapshot = StoreSnapshot(db, UTC_ZONE)
            found: list[Unbound] = snapshot.pending_bindings(ENCODER, False, 0, 1000, 100)
        finally:
            db.execute("ROLLBACK")
    return {one.memory.id: {name: getattr(one, name) for name in READ} for one in found}


NUMBERS = st.integers(1, 12)
MADE = st.builds(
    lambda number, kind, at, session, speaker, scope: added(
        number,
        b"text %d" % number,
        kind=kind,
        said_at=at,
        session=session,
        speaker=speaker,
        tool="Bash" if kind != "turn" else None,
        place=ScopeRef(path=scope, project=None, found="named"),
    ),
    NUMBERS,
    st.sampled_from(["turn", "turn", "tool_call", "tool_result", "note"]),
    st.integers(0, 6),
    st.sampled_from(["s", "t"]),
    st.sampled_from([None, "ann", "bob", "cy", "dee", "eve", "fay"]),
    st.sampled_from(["a", "a/b"]),
)
CHANGES: st.SearchStrategy[Change] = st.one_of(
    MADE,
    MADE,
    st.builds(vectors, NUMBERS),
    st.builds(lambda number: Retire(memory=id_of(number), reason=""), NUMBERS),
    st.builds(lambda number: Unretire(memory=id_of(number)), NUMBERS),
    st.just(RenameScope(path="a", to="c")),
    st.just(MergeScopes(path="a/b", into="a")),
)


@settings(max_examples=8)
@given(
    st.lists(MADE, min_size=6, max_size=10, unique_by=lambda one: one.id),
    st.lists(CHANGES, min_size=6, max_size=12),
)
def test_nothing_that_a_record_is_read_from_changes_without_its_memory_being_bound_again(
    tmp_path_factory: pytest.TempPathFactory, memories: list[AddMemory], changes: list[Change]
) -> None:
    path = tmp_path_factory.mktemp("law") / "store.db"
    with closing(Store.create(path, KEYS)) as store:
        embedded = [vectors(int.from_bytes(one.id, "big")) for one in memories]
        apply(store, add_space(), add_encoder(), *memories, *embedded)
        bind_all(store, path)
        for change in changes:
            before = readings(path)
            try:
                apply(store, change)
            except (NoSuchMemory, UnknownScope, InvalidValue):  # there is no such one yet
                continue
            marked = {id_of(number) for number in waiting(path)}
            after = readings(path)
            # All that is compared is what is read: of the memory itself, not when it was replaced or recorded.
            changed = {one for one, read in after.items() if before.get(one) != read}
            assert changed <= marked
            assert marked <= after.keys(), "what is forgotten waits for nothing"
            bind_all(store, path)
            assert waiting(path) == []


def test_what_changes_between_reading_and_keeping_still_waits(store: Store, path: Path) -> None:
    apply(store, added(1), added(2), add_space())
    seq = look(path, lambda now: now.seq)
    apply(store, added(3))
    apply(store, codes(1, 2, seq=seq))
    assert waiting(path) == [2, 3], "the second's next turn came meanwhile"
    assert look(path, lambda now: now.bound_counts(None, False)) == (2, 2), "what was kept answers until then"


def test_many_changes_of_one_transaction_are_read_as_of_its_end(store: Store, path: Path) -> None:
    apply(store, add_space(), *(added(n) for n in range(1, 20)))
    apply(store, codes(*range(1, 20), seq=look(path, lambda now: now.seq)))
    assert waiting(path) == []


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_hypervectors_are_read_by_tier_in_the_order_in_which_they_were_kept(store: Store, path: Path) -> None:
    assert look(path, lambda now: (now.space(), now.codes("episode", 0).codes.shape)) == (None, (0, 0))
    apply(store, added(1), added(2), add_space())
    assert look(path, lambda now: now.codes("episode", 0).codes.shape) == (0, 1)
    apply(store, codes(1, 2))
    first = look(path, lambda now: now.codes("episode", 0))
    assert plain(first) == [[1, 3], [1, 2], [3, 3], [[3000], [3002]]]
    assert plain(look(path, lambda now: now.codes("fact", 0))) == [[2, 4], [1, 2], [2, 2], [[3001], [3003]]]
    assert plain(look(path, lambda now: now.codes("episode", 1)))[0] == [3]
    assert look(path, lambda now: now.codes("step", 0).codes.shape) == (0, 1)
    space = look(path, lambda now: now.space())
    assert (space.stamp, space.dimensions, space.roles) == ("first", 64, ("who", "topic"))


def test_what_is_bound_again_takes_the_place_of_what_was_under_new_numbers(store: Store, path: Path) -> None:
    apply(store, added(1), added(2), add_space(), codes(1, 2))
    apply(store, added(3))
    apply(store, codes(2, topic="tide"))
    assert plain(look(path, lambda now: now.codes("episode", 0)))[:2] == [[1, 5], [1, 2]]
    assert fillers(path, "topic") == [("shelf", 1), ("tide", 1)]


def test_the_item_memory_holds_what_memories_have_and_how_many(store: Store, path: Path) -> None:
    apply(store, added(1), added(2), added(3), add_space(), codes(1, 2), codes(3, topic="tide"))
    assert fillers(path, "topic") == [("shelf", 2), ("tide", 1)]
    assert look(path, lambda now: now.filler_counts()) == {"topic": 2, "who": 3}
    assert fillers(path, "colour") == []
    apply(store, Retire(memory=id_of(3), reason=""))
    assert fillers(path, "topic") == [("shelf", 2)], "what nobody has any more is gone"
    assert look(path, lambda now: now.filler_counts()) == {"topic": 1, "who": 2}
    apply(store, Unretire(memory=id_of(3)), codes(3, topic="tide"))
    assert fillers(path, "topic") == [("shelf", 2), ("tide", 1)]


def test_what_fills_a_record_is_read_by_numbers_that_no_other_filler_ever_has(store: Store, path: Path) -> None:
    apply(store, added(1), added(2), added(3), add_space(), codes(1), codes(2, topic="tide"))
    block = look(path, lambda now: now.records("episode", 0))
    assert plain(block)[:4] == [[1, 3], [1, 2], [3, 3], [2, 4]]
    numbers, roles = look(path, lambda now: now.filler_roles(0))
    by_number = dict(zip(numbers.tolist(), roles, strict=True))
    assert sorted(by_number.values()) == ["topic", "topic", "who", "who"]
    for start, who, topic in ((0, "w1", "shelf"), (2, "w2", "tide")):
        own = [term // 8 for term in plain(block)[4][start : start + 2]]
        told = {by_number[one.number]: one.name for one in look(path, lambda now, own=own: now.named_fillers(own))}
        assert told == {"who": who, "topic": topic}
    assert plain(look(path, lambda now: now.records("episode", 1)))[0] == [3]
    assert plain(look(path, lambda now: now.records("step", 0))) == [[], [], [], [], []]
    (tide,) = look(path, lambda now: now.filler_numbers("topic", "TIDE"))
    assert by_number[tide] == "topic"
    apply(store, Retire(memory=id_of(2), reason=""), codes(3, topic="Tide"))
    (again,) = look(path, lambda now: now.filler_numbers("topic", "tide"))
    assert again > max(by_number), "a number that somebody may still hold is not another one's"
    assert look(path, lambda now: now.filler_numbers("who", "tide")) == []


def test_a_pair_is_permuted_as_often_as_terms_have_room_for() -> None:
    assert [filler_term(3, shift) for shift in (0, 7)] == [24, 31]
    for shift in (-1, 8):
        with pytest.raises(ValueError, match="permuted 0 to 7 times"):
            filler_term(3, shift)


def test_a_forgotten_memory_has_no_hypervector_until_it_is_recovered(store: Store, path: Path) -> None:
    apply(store, added(1), added(2), add_space(), codes(1, 2))
    apply(store, Retire(memory=id_of(2), reason=""))
    assert plain(look(path, lambda now: now.codes("episode", 0)))[1] == [1]
    assert waiting(path) == [1], "the turn beside it is bound without it"
    apply(store, codes(1, 2), Unretire(memory=id_of(2)))
    assert waiting(path) == [1, 2]
    assert [row[1] for row in held(path)["codes"]] == [1, 1], "what is forgotten is not bound either"


def test_hypervectors_of_another_space_are_not_kept_and_those_of_before_are_not_given(store: Store, path: Path) -> None:
    apply(store, added(1), added(2), add_space(), codes(1, 2))
    apply(store, add_space("second", dimensions=128, roles=("who",)))
    assert waiting(path) == [1, 2]
    assert apply(store, codes(1)).changed == (False,)
    assert look(path, lambda now: now.codes("episode", 0).codes.shape) == (0, 2)
    assert look(path, lambda now: now.bound_counts(None, False)) == (0, 2)
    wide = msgspec.structs.replace(codes(1), stamp="second", codes=bytes(2 * 16))
    assert apply(store, wide, add_space("second", dimensions=128, roles=("who",))).changed == (True, False)
    apply(store, add_space())
    assert look(path, lambda now: now.space().stamp) == "first"
    assert look(path, lambda now: now.bound_counts(None, False)) == (0, 2), "nothing of then may be out of date"


def test_another_way_of_reading_has_all_of_it_bound_again_in_the_same_space(store: Store, path: Path) -> None:
    apply(store, added(1), add_space(reading="one"), codes(1))
    assert apply(store, add_space(reading="one")).changed == (False,)
    apply(store, add_space(reading="two"))
    assert waiting(path) == [1]
    assert look(path, lambda now: (now.space().reading, now.bound_counts(None, False))) == ("two", (1, 1))


def test_hypervectors_that_do_not_fit_their_space_are_refused_whole(store: Store, path: Path) -> None:
    apply(store, added(1), added(2), add_space())
    before = held(path)
    for broken in (
        msgspec.structs.replace(codes(1, 2), codes=bytes(8)),
        msgspec.structs.replace(codes(1, 2), memories=(id_of(1),)),
    ):
        with pytest.raises(ValueError, match="are not"):
            apply(store, broken)
    assert held(path) == before


def test_the_log_keeps_neither_hypervectors_nor_fillers(store: Store, path: Path) -> None:
    apply(store, added(1), add_space(), codes(1, topic="a phrase that was said"))
    assert not any(b"phrase" in bytes(row[2]) for row in held(path)["log"])


# --- made again ------------------------------------------------------------------------------------------------------


def test_a_copy_as_it_was_has_all_of_it_waiting_to_be_bound(store: Store, path: Path, tmp_path: Path) -> None:
    apply(store, added(1), added(2), add_space(), codes(1))
    then = apply(store, codes(2)).seq
    apply(store, added(3), codes(3))
    for at, left in ((then, [1, 2]), (0, [])):
        copy = tmp_path / f"copy {at}"
        store.fork(copy, at)
        state = held(copy)
        assert [state[table] for table in ("spaces", "codes", "bound", "fillers")] == [[]] * 4
        assert waiting(copy) == left
    store.fork(tmp_path / "copy")
    assert held(tmp_path / "copy") == held(path), "a copy of today is what is there today"


@pytest.mark.parametrize("meaning", [False, True])
def test_a_rebuild_has_all_bound_again_and_what_was_bound_answers_unless_its_vectors_go(
    store: Store, path: Path, meaning: bool
) -> None:
    apply(store, added(1), added(2), Retire(memory=id_of(2), reason=""), add_encoder(), vectors(1), add_space())
    apply(store, codes(1))
    before = held(path)
    store.rebuild(lambda done, total: None, meaning=meaning)
    assert waiting(path) == [1]
    assert held(path)["codes"] == ([] if meaning else before["codes"])
    assert held(path)["bound"] == ([] if meaning else before["bound"])
    apply(store, add_encoder(), vectors(1), add_space())
    apply(store, codes(1, seq=look(path, lambda now: now.seq)))
    assert waiting(path) == []
    assert held(path)["codes"] == before["codes"]


def test_what_is_bound_again_to_the_same_bits_is_no_change_and_waits_no_more(store: Store, path: Path) -> None:
    apply(store, added(1), added(2), add_space(), codes(1, 2))
    store.rebuild(lambda done, total: None, meaning=False)
    before = held(path)
    assert waiting(path) == [1, 2]
    assert apply(store, codes(1, 2)).changed == (False,)
    assert held(path) == before | {"unbound": []}
