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

from mnemic.actors.capture.forget_messages import Forget, Recover
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.shape import shape_index
from mnemic.actors.shape.queries import filler_term
from mnemic.actors.shape.shape_index import ShapeIndex
from mnemic.actors.store.messages import Rebuild
from mnemic.hd.roles import TIERS
from mnemic.runtime.store.store import Store
from tests.harness import ActorHarness
from tests.shaped import bind, event, shape, shaped, work

Held = dict[str, list[tuple[int, int, bytes]]]


class Follower:
    """A shape memory, and the columns that it stands beside."""

    def __init__(self, actor_system: ActorHarness) -> None:
        self.memory, self.recollection = ShapeIndex(actor_system.keys.seed), RecallIndex()

    def follow(self, snapshot: Snapshot) -> Held:
        """Of each record that is looked through the row, how many pairs it has, what fills them and its bits, by tier;
        and which records have each filler of some roles.
        """
        self.recollection.sync(snapshot, None)
        self.memory.sync(snapshot, self.recollection.columns, retired=self.recollection.retired_count)
        found: Held = {"pending": [(self.memory.pending, 0, b"")]}
        for tier in TIERS:
            records, visible = self.memory.records[tier], ~self.recollection.retired_mask(None)
            places, codes = records.visible(visible), self.memory.vectors(tier, snapshot)
            rows = records.row[places].tolist()
            bits = [bytes(codes[place]) + bytes(records.terms_of(np.array([place]))[1]) for place in places]
            found[tier] = sorted((row, 0, one) for row, one in zip(rows, bits, strict=True))
            for role in ("who", "file", "subject") if self.memory.encoders else ():
                items = self.memory.items(role, snapshot)
                for name, numbers in zip(items.names, items.numbers, strict=True):
                    having = records.among(records.having([filler_term(one, 0) for one in numbers]), visible)
                    which, terms = records.terms_of(places)
                    own = self.memory.of_role(role, terms) & np.isin(terms // 8, numbers)
                    assert having.tolist() == np.unique(places[which[own]]).tolist()
                    count = items.count_by_lowercase[name.lower()]
                    found[f"{tier} {role} {name}"] = [(row, count, b"") for row in sorted(records.row[having].tolist())]
        return found


def assert_as_new(actor_system: ActorHarness, follower: Follower) -> Held:
    held = actor_system.look(follower.follow)
    assert held == actor_system.look(Follower(actor_system).follow)
    assert isinstance(held, dict)
    return held


@settings(max_examples=6, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["keep", "forget", "recover", "bind", "look", "rebuild"]), st.integers(0, 9)),
        max_size=9,
    )
)
def test_whatever_happens_it_holds_what_a_fresh_look_gives(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as home, ActorHarness(Path(home)) as actor_system:
        follower, kept = Follower(actor_system), []
        for step, number in steps:
            if step == "keep":
                place = ScopeRef(path=f"p{number % 3}", project=None, found="named")
                kept.append(actor_system.keep(f"text {number}", place=place, speaker=f"s{number % 2}").id)
            elif step in ("forget", "recover") and kept:
                chosen = (kept[number % len(kept)],)
                actor_system.ask(Forget(ids=chosen) if step == "forget" else Recover(ids=chosen))
            elif step == "bind":
                actor_system.embed()
                bind(actor_system)
            elif step == "look":
                actor_system.look(follower.follow)
            elif step == "rebuild":
                actor_system.ask(Rebuild())
        actor_system.embed()
        bind(actor_system)
        held = assert_as_new(actor_system, follower)
        assert held["pending"][0][0] == 0
        assert len(held["episode"]) == actor_system.look(lambda snapshot: snapshot.bound_counts(None, False)[0])


def test_facts_and_steps_go_with_the_memory_that_is_bound_anew(tmp_path: Path) -> None:
    with shaped(tmp_path, [*work(0), event(50, "user", "Bob lives in Paris", "s0")]) as actor_system:
        follower = Follower(actor_system)
        before = assert_as_new(actor_system, follower)
        assert (len(before["step"]), len(before["fact"])) == (4, 1)
        actor_system.keep("the next turn", session="s0", place=ScopeRef(path="work/auth", project=None, found="named"))
        actor_system.embed()
        bind(actor_system)
        after = assert_as_new(actor_system, follower)
        assert (len(after["step"]), len(after["fact"])) == (4, 1)
        assert len(after["episode"]) == len(before["episode"]) + 1


def test_what_is_bound_again_to_the_same_bits_waits_no_more_though_the_log_says_nothing_of_it(tmp_path: Path) -> None:
    with shaped(tmp_path, work(0)) as actor_system:
        follower = Follower(actor_system)
        with closing(Store.open(actor_system.folder.store, actor_system.keys)) as store:
            store.rebuild(lambda done, total: None, meaning=False)  # the actors are not told
        assert actor_system.look(follower.follow)["pending"][0][0] > 0
        bind(actor_system)
        assert assert_as_new(actor_system, follower)["pending"][0][0] == 0


def test_another_space_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    with shaped(tmp_path, work(0)) as actor_system:
        follower = Follower(actor_system)
        assert_as_new(actor_system, follower)
    with ActorHarness(tmp_path, **{"binder.dimensions": 2048, "binder.leave_out": ("hour",)}) as actor_system:
        actor_system.look(follower.follow)
        actor_system.embed()
        bind(actor_system)
        held = assert_as_new(actor_system, follower)
        assert {len(bits[:-4]) // 256 for _, _, bits in held["episode"]} == {1}, "2,048 bits and some terms"
        assert shape(actor_system, {"who": "user", "outcome": "?"}, k=5).degraded == ()


def test_what_is_bound_by_another_seed_or_another_version_is_not_read(tmp_path: Path) -> None:
    with shaped(tmp_path, work(0)) as actor_system:
        follower = Follower(actor_system)
        follower.memory = ShapeIndex(bytes(32))
        held = actor_system.look(follower.follow)
        assert follower.memory.encoders is None
        assert (held["episode"], held["step"]) == ([], [])
        row = actor_system.look(lambda snapshot: snapshot.space())
        assert shape_index._space(row, actor_system.keys.seed) is not None
        for other in ({"version": row.version + 1}, {"roles": (*row.roles, "colour")}):
            assert shape_index._space(msgspec.structs.replace(row, **other), actor_system.keys.seed) is None


def test_a_look_at_nothing_new_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shaped(tmp_path, work(0)) as actor_system:
        follower = Follower(actor_system)
        held = actor_system.look(follower.follow)
        monkeypatch.setattr(ShapeIndex, "_append_blocks", None)
        assert actor_system.look(follower.follow) == held


def test_hypervectors_are_read_once_something_asks_for_them_and_exact_questions_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [*work(0), event(9, "user", "Ana lives in Oslo", "s0", speaker="ana")]
    asked = [
        {"who": "ana", "date": "?"},
        {"subject": "ana", "object": "?"},
        {"after": "edit, test failed", "then": "?"},
    ]
    asked += [{"date": "2026-05-01", "who": "?"}, {"tool": "pytest", "hour": "3"}]
    with shaped(tmp_path, events) as actor_system:
        with monkeypatch.context() as patched:
            patched.setattr(ShapeIndex, "vectors", None)
            found = [shape(actor_system, one) for one in asked]
            assert [bool(one.hits) for one in found[:4]] == [True] * 4
        assert shape(actor_system, {"previous": "token rotation"}).hits
        assert [shape(actor_system, one) for one in asked] == found


def test_paths_that_differ_by_their_case_alone_are_one(tmp_path: Path) -> None:
    events = [event(n, "user", "tea", "s", scope=scope) for n, scope in enumerate(("Work/A", "Work/A", "work/a"))]
    with shaped(tmp_path, events) as actor_system:
        (one,) = shape(actor_system, {"project": "?"}).answers
        assert (one.filler, one.support) == ("Work/A", 3)
        assert one.confidence == pytest.approx(1.0, abs=0.01)
        assert len(shape(actor_system, {"project": "WORK/a"}).hits) == 3


def test_records_that_are_dead_are_let_go_of_once_they_are_most(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        follower = Follower(actor_system)
        actor_system.keep("tea")
        for number in range(6):  # each has the one before bound anew
            actor_system.keep(f"cake {number}")
            actor_system.embed()
            bind(actor_system)
            actor_system.look(follower.follow)
        assert len(assert_as_new(actor_system, follower)["episode"]) == 7
        assert len(follower.memory.records["episode"].row) <= 14
        assert np.unique(follower.memory.records["episode"].row).size == 7
