"""What is held in memory of hypervectors follows the log: it is what a fresh look at the store gives."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.protocol.changes import Place
from mnemic.actors.protocol.messages import Forget, Rebuild, Recover
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.recall.recall_index import Recollection
from mnemic.actors.shape import shape_index as shape_memory
from mnemic.actors.shape.shape_index import ShapeMemory
from mnemic.hd.roles import TIERS
from mnemic.runtime.store.store import Store
from tests.shaped import bind, event, shape, shaped, work
from tests.society import Society

Held = dict[str, list[tuple[int, int, bytes]]]


class Follower:
    """A shape memory, and the columns that it stands beside."""

    def __init__(self, society: Society) -> None:
        self.memory, self.recollection = ShapeMemory(society.keys.seed), Recollection()

    def follow(self, snapshot: Snapshot) -> Held:
        """Of each record that is looked through the row, how many pairs it has, and its bits, by tier."""
        self.recollection.follow(snapshot, None)
        self.memory.follow(snapshot, self.recollection.columns, retired=self.recollection.gone)
        found: Held = {"pending": [(self.memory.pending, 0, b"")]}
        for tier in TIERS:
            places, codes = self.memory.visible(tier, ~self.recollection.retired(None)), self.memory.codes(tier)
            rows, pairs = self.memory.rows(tier)[places].tolist(), codes.pairs[places].tolist()
            found[tier] = sorted(zip(rows, pairs, map(bytes, codes.whole(places)), strict=True))
        for role in ("who", "file", "subject") if self.memory.encoders else ():
            items = self.memory.items(role, snapshot)
            found[role] = [
                (count, items.having(name), bytes(bound) + name.encode())
                for name, count, bound in zip(items.names, items.counts.tolist(), items.bound, strict=True)
            ]
        return found


def assert_as_new(society: Society, follower: Follower) -> Held:
    held = society.look(follower.follow)
    assert held == society.look(Follower(society).follow)
    assert isinstance(held, dict)
    return held


@settings(max_examples=12, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["keep", "forget", "recover", "bind", "look", "rebuild"]), st.integers(0, 9)),
        max_size=9,
    )
)
def test_whatever_happens_it_holds_what_a_fresh_look_gives(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as home, Society(Path(home)) as society:
        follower, kept = Follower(society), []
        for step, number in steps:
            if step == "keep":
                place = Place(path=f"p{number % 3}", project=None, found="named")
                kept.append(society.keep(f"text {number}", place=place, speaker=f"s{number % 2}").id)
            elif step in ("forget", "recover") and kept:
                chosen = (kept[number % len(kept)],)
                society.ask(Forget(ids=chosen) if step == "forget" else Recover(ids=chosen))
            elif step == "bind":
                society.embed()
                bind(society)
            elif step == "look":
                society.look(follower.follow)
            elif step == "rebuild":
                society.ask(Rebuild())
        society.embed()
        bind(society)
        held = assert_as_new(society, follower)
        assert held["pending"][0][0] == 0
        assert len(held["episode"]) == society.look(lambda snapshot: snapshot.bound_counts(None, False)[0])


def test_facts_and_steps_go_with_the_memory_that_is_bound_anew(tmp_path: Path) -> None:
    with shaped(tmp_path, [*work(0), event(50, "user", "Bob lives in Paris", "s0")]) as society:
        follower = Follower(society)
        before = assert_as_new(society, follower)
        assert (len(before["step"]), len(before["fact"])) == (4, 1)
        society.keep("the next turn", session="s0", place=Place(path="work/auth", project=None, found="named"))
        society.embed()
        bind(society)
        after = assert_as_new(society, follower)
        assert (len(after["step"]), len(after["fact"])) == (4, 1)
        assert len(after["episode"]) == len(before["episode"]) + 1


def test_what_is_bound_again_to_the_same_bits_waits_no_more_though_the_log_says_nothing_of_it(tmp_path: Path) -> None:
    with shaped(tmp_path, work(0)) as society:
        follower = Follower(society)
        with closing(Store.open(society.folder.store, society.keys)) as store:
            store.rebuild(lambda done, total: None, meaning=False)  # the actors are not told
        assert society.look(follower.follow)["pending"][0][0] > 0
        bind(society)
        assert assert_as_new(society, follower)["pending"][0][0] == 0


def test_another_space_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    with shaped(tmp_path, work(0)) as society:
        follower = Follower(society)
        assert_as_new(society, follower)
    with Society(tmp_path, **{"binder.dimensions": 2048, "binder.leave_out": ("hour",)}) as society:
        society.look(follower.follow)
        society.embed()
        bind(society)
        held = assert_as_new(society, follower)
        assert {len(bits) for _, _, bits in held["episode"]} == {256}
        assert shape(society, {"who": "user", "outcome": "?"}, k=5).degraded == ()


def test_what_is_bound_by_another_seed_or_another_version_is_not_read(tmp_path: Path) -> None:
    with shaped(tmp_path, work(0)) as society:
        follower = Follower(society)
        follower.memory = ShapeMemory(bytes(32))
        held = society.look(follower.follow)
        assert follower.memory.encoders is None
        assert (held["episode"], held["step"]) == ([], [])
        row = society.look(lambda snapshot: snapshot.space())
        assert shape_memory._space(row, society.keys.seed) is not None
        for other in ({"version": row.version + 1}, {"roles": (*row.roles, "colour")}):
            assert shape_memory._space(msgspec.structs.replace(row, **other), society.keys.seed) is None


def test_a_look_at_nothing_new_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shaped(tmp_path, work(0)) as society:
        follower = Follower(society)
        held = society.look(follower.follow)
        monkeypatch.setattr(ShapeMemory, "_take", None)
        assert society.look(follower.follow) == held


def test_where_there_are_too_many_fillers_the_most_frequent_are_compared_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.actors.shape.shape_index.MOST_FILLERS", 2)
    monkeypatch.setattr("mnemic.actors.shape.fillers.MOST_FILLERS", 2)
    events = [event(n, "user", "tea", "s", speaker=name) for n, name in enumerate(("ann", "ann", "ben", "ben", "cem"))]
    with shaped(tmp_path, events) as society:
        found = shape(society, {"who": "?"})
        assert sorted(one.filler for one in found.answers) == ["ann", "ben"]
        assert found.degraded == ("who: of its 3 fillers only the 2 most frequent were compared",)
        assert len(shape(society, {"who": "cem"}).hits) == 1


def test_paths_that_differ_by_their_case_alone_are_one(tmp_path: Path) -> None:
    events = [event(n, "user", "tea", "s", scope=scope) for n, scope in enumerate(("Work/A", "Work/A", "work/a"))]
    with shaped(tmp_path, events) as society:
        (one,) = shape(society, {"project": "?"}).answers
        assert (one.filler, one.support) == ("Work/A", 3)
        assert one.confidence == pytest.approx(1.0, abs=0.01)
        assert len(shape(society, {"project": "WORK/a"}).hits) == 3


def test_records_that_are_dead_are_let_go_of_once_they_are_most(tmp_path: Path) -> None:
    with Society(tmp_path) as society:
        follower = Follower(society)
        society.keep("tea")
        for number in range(6):  # each has the one before bound anew
            society.keep(f"cake {number}")
            society.embed()
            bind(society)
            society.look(follower.follow)
        assert len(assert_as_new(society, follower)["episode"]) == 7
        assert len(follower.memory.rows("episode")) <= 14
        assert np.unique(follower.memory.rows("episode")).size == 7
