"""What nights derive is kept night by night: each can be taken back, with every later one, as if it had never been."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import UnknownNight
from mnemic.actors.log.changes import Retire, Supersede
from mnemic.actors.sleep.changes import (
    NIGHTS_KEPT,
    BeginNight,
    DerivedItem,
    EndNight,
    KeepDerived,
    KeepVerdict,
    SourceSpan,
    StageReport,
    TakeBackNights,
)
from mnemic.actors.sleep.queries import NightRecord
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.sleep.write import erase_sources
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import KEYS, apply, held, id_of, look

_folders = itertools.count()


class Slept:
    """A store with five memories, and nights in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        Store.create(path, KEYS).close()
        self.store = Store.open(path, KEYS)
        apply(self.store, *(added(n, b"memory %d says something" % n) for n in range(1, 6)))

    def look(self, what: Any) -> Any:
        return look(self.path, what)

    def night(self, run: str, *items: DerivedItem, ended: tuple[bytes, ...] = (), stage: str = "digests") -> bool:
        """A night that keeps some items; says whether it kept anything."""
        generation = self.look(lambda now: now.generation)
        kept = KeepDerived(generation=generation, run=run, stage=stage, items=items, ended=ended)
        return bool(apply(self.store, BeginNight(run=run, reason="asked"), kept).changed[1])

    def take_back(self, night: int) -> None:
        apply(self.store, TakeBackNights(night=night), at=2_000_000)

    def standing(self) -> dict[str, Any]:
        """What stands, without what only tells of the past."""
        state = held(self.path)
        return {
            "derived": [(*row[:4], row[4]) for row in state["derived"] if row[5] is None],
            "sources": state["derived_sources"],
        }

    def nights(self) -> list[NightRecord]:
        found: list[NightRecord] = self.look(lambda now: now.nights(100))
        return found


@pytest.fixture
def slept(tmp_path: Path) -> Iterator[Slept]:
    """A store to have nights in."""
    made = Slept(tmp_path / "mind.db")
    with closing(made.store):
        yield made


def item(key: bytes, value: bytes = b"v", *rows: int, stamp: bytes = b"") -> DerivedItem:
    """An item that points to the first bytes of some memories."""
    return DerivedItem(
        key=key, stamp=stamp or b"of " + value, value=value, sources=tuple(SourceSpan(row, 0, 6) for row in rows)
    )


def test_what_a_night_kept_stands(slept: Slept) -> None:
    assert slept.night("first", item(b"a", b"1", 1, 2), item(b"b", b"2", 3))
    (a, b) = slept.look(lambda now: now.derived("digests"))
    assert (a.key, a.value, [one.row for one in a.sources], a.made, a.gone) == (b"a", b"1", [1, 2], 1, None)
    assert b.key == b"b"
    assert slept.look(lambda now: now.derived_stamps("digests")) == {b"a": b"of 1", b"b": b"of 2"}


def test_where_the_same_is_derived_again_its_stamp_alone_is_new(slept: Slept) -> None:
    slept.night("first", item(b"a", b"1", 1))
    kept = KeepDerived(
        generation=slept.look(lambda now: now.generation), run="2", stage="digests", restamped=((b"a", b"newer"),)
    )
    assert apply(slept.store, kept).changed[0]
    (a,) = slept.look(lambda now: now.derived("digests"))
    assert (a.made, a.stamp) == (1, b"newer")
    assert len(slept.nights()) == 1


def test_failures_of_a_stage_are_counted_by_night_until_it_is_done(slept: Slept) -> None:
    def end(run: str, state: str) -> bool:
        told = StageReport(stage="digests", note="no way", state=state)
        return apply(slept.store, EndNight(run=run, why="finished", stages=(told,))).changed[0]

    assert [end("1", "failed"), end("1", "failed"), end("2", "failed"), end("3", "")] == [True, True, True, False]
    assert slept.look(lambda now: now.stage_failures()) == {"digests": (2, "no way")}
    assert slept.nights() == []
    assert [end("4", "done"), end("5", "done")] == [True, False]
    assert slept.look(lambda now: now.stage_failures()) == {}


def test_a_night_is_told_with_what_its_stages_did(slept: Slept) -> None:
    slept.night("first", item(b"a"))
    for changes in (1, 2):
        told = StageReport(stage="digests", changes=changes, took_us=10, note="so far")
        apply(slept.store, EndNight(run="first", why="finished", stages=(told,)), at=5_000_000)
    (night,) = slept.nights()
    assert (night.number, night.run, night.reason, night.why, night.ended_at) == (
        *(1, "first", "asked", "finished", 5_000_000),
    )
    assert night.stages == (StageReport(stage="digests", changes=3, took_us=20, note="so far"),)
    assert not apply(slept.store, EndNight(run="never", why="finished", stages=())).changed[0]


def test_what_was_read_before_a_rebuild_is_not_kept(slept: Slept) -> None:
    before = slept.look(lambda now: now.generation)
    slept.store.rebuild(lambda done, total: None, meaning=False)
    kept = KeepDerived(generation=before, run="late", stage="digests", items=(item(b"a"),))
    assert not apply(slept.store, BeginNight(run="late", reason="idle"), kept).changed[1]


def test_what_was_taken_back_stays_so_and_a_late_step_of_it_keeps_nothing(slept: Slept) -> None:
    slept.night("first", item(b"a", b"1"))
    slept.night("second", item(b"a", b"2"), item(b"b", b"3"))
    slept.take_back(2)
    assert not slept.night("second", item(b"a", b"2"))
    assert [one.value for one in slept.look(lambda now: now.derived("digests"))] == [b"1"]


def test_nights_are_held_until_something_new_is_captured_through_a_rebuild_too(slept: Slept) -> None:
    slept.night("first", item(b"a"))
    assert not slept.look(lambda now: now.are_nights_held())
    slept.take_back(1)
    assert slept.look(lambda now: now.are_nights_held())
    slept.store.rebuild(lambda done, total: None, meaning=False)
    assert slept.look(lambda now: now.are_nights_held())
    apply(slept.store, added(6))
    assert not slept.look(lambda now: now.are_nights_held())


def test_that_something_ended_is_taken_back_too(slept: Slept) -> None:
    slept.night("first", item(b"a"))
    slept.night("second", ended=(b"a", b"never there"))
    assert slept.look(lambda now: now.derived("digests")) == []
    slept.take_back(2)
    assert [one.key for one in slept.look(lambda now: now.derived("digests"))] == [b"a"]


def test_what_a_night_made_and_ended_itself_leaves_nothing(slept: Slept) -> None:
    slept.night("first", item(b"a"))
    assert slept.night("first", ended=(b"a",))
    assert held(slept.path)["derived"] == []


@pytest.mark.parametrize("night", [0, 2, -1])
def test_a_night_that_does_not_stand_is_not_taken_back(slept: Slept, night: int) -> None:
    slept.night("first", item(b"a"))
    before = held(slept.path)
    with pytest.raises(UnknownNight, match=f"There is no night {night} that stands"):
        slept.take_back(night)
    assert held(slept.path) == before


def test_a_night_that_was_taken_back_is_not_taken_back_again_with_those_after_it(slept: Slept) -> None:
    for number in range(1, 3):
        slept.night(f"night {number}", item(b"a", b"%d" % number))
    slept.take_back(2)
    slept.night("night 3", item(b"a", b"3"))
    with pytest.raises(UnknownNight, match="There is no night 2 that stands"):
        slept.take_back(2)
    assert [one.value for one in slept.look(lambda now: now.derived("digests"))] == [b"3"]


def test_what_made_way_long_ago_is_let_go_of(slept: Slept) -> None:
    for number in range(1, NIGHTS_KEPT + 4):
        slept.night(f"night {number}", item(b"a", b"%d" % number, 1))
    (kept,) = (held(slept.path)["derived"][:1],)
    assert kept[0][5] > 3  # when it made way
    with pytest.raises(UnknownNight, match="among the last 30"):
        slept.take_back(3)
    slept.take_back(4)
    assert [one.value for one in slept.look(lambda now: now.derived("digests"))] == [b"3"]


def test_what_points_into_an_erased_memory_goes_whichever_night_made_it(slept: Slept) -> None:
    slept.night("first", item(b"a", b"1", 1, 2), item(b"b", b"1", 3))
    slept.night("second", item(b"a", b"2", 2))
    with closing(connect(slept.path, KEYS)) as db:
        erase_sources(db, [1])
    assert [row[1:4] for row in held(slept.path)["derived"]] == [(b"a", b"of 2", b"2"), (b"b", b"of 1", b"1")]


def test_groups_have_another_stamp_once_a_memory_comes_goes_or_is_corrected(slept: Slept) -> None:
    (before,) = slept.look(lambda now: now.group_states("session"))
    assert slept.look(lambda now: now.group_rows("session", before.group, before.scope)) == [1, 2, 3, 4, 5]
    apply(slept.store, added(6))
    (after,) = slept.look(lambda now: now.group_states("session"))
    assert (after.group, after.mark, after.scope) == (before.group, before.mark, before.scope)
    stamps = [before.stamp, after.stamp]
    for change in (Supersede(old=id_of(1), new=id_of(6)), Retire(memory=id_of(3), reason="")):
        apply(slept.store, change)
        stamps.append(slept.look(lambda now: now.group_states("session"))[0].stamp)
    assert len(set(stamps)) == 4
    assert slept.look(lambda now: now.group_rows("session", before.group, before.scope)) == [2, 4, 5, 6]


def test_a_copy_of_an_earlier_moment_has_what_nights_had_derived_by_then(slept: Slept, tmp_path: Path) -> None:
    slept.night("first", item(b"a", b"1", 1))
    seq, then = slept.look(lambda now: now.seq), slept.standing()
    apply(slept.store, added(6))
    slept.night("first", item(b"c", b"3", 6))  # the same night goes on with what came meanwhile
    slept.night("second", item(b"a", b"2", 2), item(b"b", b"2"))
    slept.store.fork(tmp_path / "copy.db", seq)
    copy = look(tmp_path / "copy.db", lambda now: (now.derived("digests"), now.nights(10)))
    assert [(one.key, one.value) for one in copy[0]] == [(b"a", b"1")]
    assert [one.number for one in copy[1]] == [1]
    assert [row[1:4] for row in then["derived"]] == [(b"a", b"of 1", b"1")]


_KEYS = st.sampled_from([b"a", b"b", b"c"])
_ITEMS = st.builds(item, _KEYS, st.sampled_from([b"1", b"2", b"3"]), st.integers(1, 5))
_NIGHT = st.tuples(st.just("night"), st.lists(_ITEMS, max_size=3, unique_by=lambda one: one.key), st.sets(_KEYS))
_UNDO = st.tuples(st.just("undo"), st.integers(0, 10))
_REBUILD = st.tuples(st.just("rebuild"))


@settings(max_examples=6)
@given(steps=st.lists(st.one_of(_NIGHT, _NIGHT, _UNDO, _REBUILD), max_size=9))
def test_taking_nights_back_leaves_what_stood_before_them(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]]
) -> None:
    slept = Slept(tmp_path_factory.mktemp("nights") / f"{next(_folders)}.db")
    stood: dict[int, dict[str, Any]] = {}  # by night, what stood before it
    with closing(slept.store):
        for place, step in enumerate(steps):
            if step[0] == "night":
                _, items, ended = step
                before = slept.standing()
                slept.night(f"night {place}", *items, ended=tuple(ended - {one.key for one in items}))
                stood[slept.nights()[0].number] = before
            elif step[0] == "rebuild":
                before, nights = slept.standing(), held(slept.path)["nights"]
                slept.store.rebuild(lambda done, total: None, meaning=False)
                assert (slept.standing(), held(slept.path)["nights"]) == (before, nights)
            else:
                standing = sorted(one.number for one in slept.nights() if one.undone_at is None)
                if not standing:
                    continue
                night = standing[step[1] % len(standing)]
                slept.take_back(night)
                assert slept.standing()["derived"] == stood[night]["derived"]
                assert all(one.undone_at is not None for one in slept.nights() if one.number >= night)
    assert held(slept.path)  # checks the file, and that nothing points nowhere


# --- exams -----------------------------------------------------------------------------------------------------------


def say_of(slept: Slept, run: str, night: int, passed: bool, stage: str = "digests", effect: Any = "weigh") -> bool:
    """Keep what an exam said in a night of what stands after another, or the same."""
    verdict = KeepVerdict(
        run=run, stage=stage, effect=effect, night=night, questions=20, passed=passed, why=f"{night}: {passed}"
    )
    return bool(apply(slept.store, verdict).changed[0])


def verdict_of(slept: Slept) -> tuple[int, bool]:
    """Of the stage the night it was examined after, and whether it passed."""
    found = slept.look(lambda now: now.verdicts())["digests"]
    return found.night, found.passed


def values_after(slept: Slept, night: int, stage: str = "digests") -> list[bytes]:
    return [one.value for one in slept.look(lambda now: now.derived_after(stage, night))]


def test_what_passed_last_is_found_as_it_stood_after_its_night(slept: Slept) -> None:
    slept.night("first", item(b"a", b"1", 1), item(b"b", b"2", 2))
    assert say_of(slept, "first", 1, True, effect="fold")
    slept.night("second", item(b"a", b"3", 1), ended=(b"b",))
    assert slept.look(lambda now: now.newest_change("digests")) == 2
    assert verdict_of(slept) == (1, True)
    assert values_after(slept, 1) == [b"1", b"2"]
    assert say_of(slept, "second", 2, False)
    found = slept.look(lambda now: now.verdicts())["digests"]
    assert (found.night, found.passed, found.effect, found.questions, found.why) == (2, False, "weigh", 20, "2: False")
    assert values_after(slept, 2) == [b"3"]
    assert not say_of(slept, "never", 2, True), "there was no such night"
    assert verdict_of(slept) == (2, False)
    assert slept.look(lambda now: now.newest_change("others")) == 0


def test_what_an_exam_said_goes_with_the_night_that_had_it(slept: Slept) -> None:
    for night in (1, 2):
        slept.night(str(night), item(b"a", b"%d" % night, 1))
    say_of(slept, "1", 1, True)
    slept.night("3")  # examines what the second derived
    say_of(slept, "3", 2, False)
    slept.take_back(3)
    assert verdict_of(slept) == (1, True)
    slept.take_back(1)
    assert slept.look(lambda now: now.verdicts()) == {}
    assert not say_of(slept, "1", 1, True), "its night was taken back"


def test_verdicts_are_let_go_of_with_nights_but_for_the_newest_of_each_stage(slept: Slept) -> None:
    slept.night("0", item(b"a", b"0", 1))
    say_of(slept, "0", 1, True)
    say_of(slept, "0", 1, True, stage="others")
    for number in range(1, NIGHTS_KEPT + 9):
        slept.night(str(number), item(b"a", b"%d" % number, 1))
        say_of(slept, str(number), number + 1, False)
    with closing(connect(slept.path, KEYS)) as store:
        assert store.execute("SELECT count(*) FROM verdicts_of_stages").get == NIGHTS_KEPT + 1
    assert verdict_of(slept) == (NIGHTS_KEPT + 9, False)
    assert slept.look(lambda now: now.verdicts())["others"].passed


def test_what_a_night_adds_to_what_was_examined_is_examined_once_more(slept: Slept) -> None:
    slept.night("first", item(b"a", b"1", 1))
    say_of(slept, "first", 1, True)
    slept.night("first", item(b"b", b"2", 2))
    assert slept.look(lambda now: now.verdicts()) == {}


def test_a_rebuild_keeps_what_exams_said_and_one_with_meaning_does_not(slept: Slept) -> None:
    slept.night("first", item(b"a", b"1", 1))
    say_of(slept, "first", 1, True)
    slept.store.rebuild(lambda done, total: None, meaning=False)
    assert verdict_of(slept) == (1, True)
    slept.store.rebuild(lambda done, total: None, meaning=True)
    assert slept.look(lambda now: now.verdicts()) == {}


def test_a_copy_as_of_before_knows_nothing_of_a_later_exam(slept: Slept, tmp_path: Path) -> None:
    slept.night("first", item(b"a", b"1", 1))
    say_of(slept, "first", 1, True)
    seq = slept.look(lambda now: now.seq)
    slept.night("second", item(b"a", b"2", 1))
    say_of(slept, "second", 2, False)
    slept.store.fork(tmp_path / "copy.db", seq)
    found = look(tmp_path / "copy.db", lambda now: now.verdicts())["digests"]
    assert (found.night, found.passed) == (1, True)
