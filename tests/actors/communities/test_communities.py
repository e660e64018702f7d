"""What belongs together is found, boundary by boundary; the same comes from the log again; no scope is left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.forget_messages import Forget, Recover
from mnemic.actors.communities import boundary_work
from mnemic.actors.communities.boundary_work import BoundaryWork
from mnemic.actors.communities.communities import CommunitiesActor
from mnemic.actors.communities.messages import CommunitiesListed, CommunityProgress, ListCommunities, UpdateCommunities
from mnemic.actors.kernel.background import WorkOn
from mnemic.actors.kernel.errors import DeviceExhausted, ModelMissing
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.recall.messages import Recall
from mnemic.actors.store.messages import Committed, Rebuild
from mnemic.algorithms.graph import backends, mosaic
from tests.harness import NOWHERE, ActorHarness, turns
from tests.waiting import until

SUBJECTS = {
    "boats": "mooring dinghy harbour sail rudder anchor tide keel",
    "bread": "flour yeast oven crust dough loaf baker salt",
    "music": "choir organ verse tenor hymn chord tempo score",
}
SEEDED = {"seed": bytes(range(32))}
SHELF = ScopeRef(path="work/shelf", project=None, found="named")
BOARD = ScopeRef(path="work/board", project=None, found="named")


def sayings(subject: str, count: int) -> list[str]:
    """So many texts of a subject, each of five of its eight words."""
    words = SUBJECTS[subject].split()
    return [" ".join(words[(start + step) % 8] for step in range(5)) + f" n{start}" for start in range(count)]


def talk(one: ActorHarness, count: int, place: ScopeRef = NOWHERE, subjects: Sequence[str] = tuple(SUBJECTS)) -> None:
    """Each text in a session of its own, the subjects in turn: only meaning tells them apart."""
    for number in range(count):
        for subject in subjects:
            one.keep(sayings(subject, count)[number], session=f"{place.path} {subject} {number}", place=place)


def up_to_date(one: ActorHarness) -> CommunityProgress:
    """Have communities found of all that is there."""
    one.embed()
    progress = one.ask(UpdateCommunities(mark="asked"))
    while progress.pending:
        progress = one.ask(UpdateCommunities())
    assert isinstance(progress, CommunityProgress)
    return progress


def topics(one: ActorHarness) -> dict[int, set[str]]:
    """The texts of each topic."""

    def read(now: Any) -> dict[int, set[str]]:
        members, found = now.members(), defaultdict(set)
        for row, topic in zip(members.row.tolist(), members.topic.tolist(), strict=True):
            found[topic].add(now.load_memories([row])[0].text)
        return dict(found)

    found: dict[int, set[str]] = one.look(read)
    return found


def kept(one: ActorHarness) -> dict[str, Any]:
    """All that is kept of communities, but for times."""

    def read(now: Any) -> dict[str, Any]:
        listed = now.list_communities(None, 1000)[0]
        numbers = [record.id for record in listed]
        return {
            "members": [column.tolist() for column in now.members()],
            "neighbours": [column.tolist() for column in now.saved_neighbours()],
            "sizes": [(record.id, record.scope, record.size) for record in listed],
            "parts": {number: [(part.id, part.size) for part in now.community_parts(number)] for number in numbers},
            "lineage": {number: [(event.kind, event.others) for event in now.lineage(number)] for number in numbers},
            "next": now.next_community_number(),
            "boundaries": [(b.number, b.done) for b in now.boundaries(0)],
            "scales": now.graph_scales(),
        }

    found: dict[str, Any] = one.look(read)
    return found


def seq(one: ActorHarness) -> int:
    found: int = one.look(lambda now: now.seq)
    return found


def subject_of(text: str) -> str:
    return next(subject for subject, words in SUBJECTS.items() if text.split()[0] in words.split())


def without_meaning(home: Path) -> ActorHarness:
    """Three memories that cannot be embedded yet, though the model is there."""
    one = ActorHarness(home, sources={"a": turns(f"text {number}" for number in range(3))})
    one.encoder.chokes_on = lambda text: DeviceExhausted(implementation="bag", why="it is held up")
    one.take_quietly("a")
    return one


def _missing() -> Any:
    raise ModelMissing(path="/nowhere", why="it is gone")


# --- what is found ---------------------------------------------------------------------------------------------------


def test_what_is_of_one_subject_is_one_topic(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        talk(one, 8)
        progress = up_to_date(one)
        assert (progress.done, progress.pending, progress.why_not) == (1, 0, "")
        found = topics(one)
        assert sorted({subject_of(text) for text in texts}.pop() for texts in found.values()) == sorted(SUBJECTS)
        assert all(len({subject_of(text) for text in texts}) == 1 for texts in found.values())
        listed = one.ask(ListCommunities())
        assert isinstance(listed, CommunitiesListed)
        assert (listed.total, listed.memories, listed.waiting) == (3, 24, 0)


def test_with_nothing_new_nothing_is_written(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        talk(one, 4)
        up_to_date(one)
        one.bind()
        before = seq(one), kept(one)
        assert up_to_date(one).changes == 0
        one.bind()
        assert (seq(one), kept(one)) == before


def test_topics_keep_their_numbers_as_they_grow(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        talk(one, 6)
        up_to_date(one)
        before = {subject_of(min(texts)): number for number, texts in topics(one).items()}
        for text in sayings("bread", 8)[6:]:
            one.keep(text, session=text)
        assert up_to_date(one).done == 2
        after = topics(one)
        assert {subject_of(min(texts)): number for number, texts in after.items()} == before
        assert sayings("bread", 8)[7] in after[before["bread"]]


def test_so_many_commits_bring_a_boundary_by_themselves(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, **{"communities.every": 12}) as one:
        talk(one, 4)
        one.embed()
        until(lambda: one.look(lambda now: now.last_done_boundary()) is not None)
        assert one.look(lambda now: now.boundaries(0)[0].reason) == "commits"
        until(lambda: len(topics(one)) == 3)


def test_without_a_model_sessions_are_what_hangs_together(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        one.load = _missing
        for session in ("a", "b"):
            for number in range(4):
                one.keep(f"{session} {number}", session=session)
        progress = one.ask(UpdateCommunities(mark="asked"))
        while progress.pending:
            progress = one.ask(UpdateCommunities())
        assert len(topics(one)) >= 2
        assert all(len({text[0] for text in texts}) == 1 for texts in topics(one).values())


def test_what_waits_for_its_meaning_is_waited_for(tmp_path: Path) -> None:
    with without_meaning(tmp_path) as one:
        progress = one.ask(UpdateCommunities(mark="asked"))
        assert (progress.done, progress.pending) == (0, 0)
        assert "meaning" in progress.why_not
        assert "meaning" in " ".join(one.ask(ListCommunities()).degraded)
        one.encoder.chokes_on = lambda text: None
        assert up_to_date(one).done == 1


def test_the_reason_for_waiting_is_told_until_a_step_finds_that_it_is_over(tmp_path: Path) -> None:
    class Asking:
        trace = "t"
        tell = list[Any]().append

        def ask(self, message: Any, timeout_s: float = 60.0) -> Any:
            return one.ask(message)

        def cancelled(self) -> bool:
            return False

    context: Any = Asking()
    with without_meaning(tmp_path) as one, closing(CommunitiesActor.make(one.ports)) as actor:
        why_not = actor.handle(UpdateCommunities(mark="asked"), context).why_not
        actor.handle(Committed(seq=seq(one)), context)
        assert why_not in actor.handle(ListCommunities(), context).degraded
        one.encoder.chokes_on = lambda text: None
        one.embed()
        actor.handle(WorkOn(), context)
        assert why_not not in actor.handle(ListCommunities(), context).degraded


def test_what_got_its_meaning_late_is_joined_by_whoever_goes_on_as_by_whoever_begins_anew(tmp_path: Path) -> None:
    found = []
    for name, anew in (("on", False), ("anew", True)):
        one = ActorHarness(tmp_path / name, ports=SEEDED, sources={"a": turns(sayings("boats", 6), session="s")})
        one.take_quietly("a")
        load, one.load = one.load, _missing
        for mark in ("asked", "asked"):  # a boundary without meaning is done, and one more waits
            one.keep(f"{mark} {len(one.texts())}", session="other")
            one.ask(UpdateCommunities(mark="asked"))
        until(lambda one=one: one.look(lambda now: now.open_boundaries()) == 0)  # type: ignore[misc]
        one.load = load
        if anew:
            one.__exit__()
            one = ActorHarness(tmp_path / name, ports=SEEDED, clock=one.clock)
        for text in sayings("boats", 8)[6:]:
            one.keep(text, session=text)
        up_to_date(one)
        found.append(kept(one))
        one.__exit__()
    assert found[0] == found[1]
    assert found[0]["neighbours"][0] != []


def test_recalled_together_is_joined(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        for text in ("mooring dinghy", "flour yeast"):
            one.keep(text, session=text)
        up_to_date(one)
        assert topics(one) == {}
        one.recall("mooring flour", observe=True)
        one.keep("choir", session="c")
        up_to_date(one)
        assert list(topics(one).values()) == [{"mooring dinghy", "flour yeast"}]


# --- what is gone ----------------------------------------------------------------------------------------------------


def test_what_is_forgotten_is_in_no_topic_at_once_and_back_at_the_next_boundary(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        talk(one, 6)
        up_to_date(one)
        text = sayings("music", 6)[2]
        gone = one.ask(Forget(ids=(one.keep(text, session=" music 2").id,), reason=""))
        assert gone.memories[0].changed
        assert all(text not in texts for texts in topics(one).values())
        up_to_date(one)
        assert all(text not in texts for texts in topics(one).values())
        one.ask(Recover(ids=(gone.memories[0].id,)))
        up_to_date(one)
        assert sum(text in texts for texts in topics(one).values()) == 1


# --- the same again --------------------------------------------------------------------------------------------------


def test_a_rebuild_finds_the_same_under_the_same_numbers(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        talk(one, 4)
        up_to_date(one)
        ids = [one.keep(text, session=text).id for text in sayings("boats", 8)[4:]]
        up_to_date(one)
        one.ask(Forget(ids=tuple(ids[:2]), reason=""))
        one.recall("dinghy rudder", observe=True)
        talk(one, 2, SHELF, ("music",))
        up_to_date(one)
        before = kept(one)
        one.ask(Rebuild())
        assert one.look(lambda now: now.open_boundaries()) in range(4), "they wait, or are found again already"
        until(lambda: one.look(lambda now: now.open_boundaries()) == 0)
        assert kept(one) == before


@settings(max_examples=3, deadline=None)
@given(st.lists(st.sampled_from(["boats", "bread", "music", "forget", "shelf"]), min_size=4, max_size=10), st.data())
def test_who_begins_anew_at_a_boundary_finds_what_one_finds_that_went_on(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], data: st.DataObject
) -> None:
    found = []
    stops = data.draw(st.sets(st.integers(0, len(steps) - 1)))
    for ends in (set(), stops):
        home = tmp_path_factory.mktemp("home")
        one, ids = ActorHarness(home, ports=SEEDED), []
        try:
            for number, step in enumerate(steps):
                if step == "forget" and ids:
                    one.ask(Forget(ids=(ids.pop(0),), reason=""))
                else:
                    subject = step if step in SUBJECTS else "bread"
                    place = SHELF if step == "shelf" else NOWHERE
                    for text in sayings(subject, 8)[number % 4 : number % 4 + 3]:
                        ids.append(one.keep(f"{text} {number}", session=f"{number}", place=place).id)
                up_to_date(one)
                if number in ends:
                    one.__exit__()
                    one = ActorHarness(home, ports=SEEDED, clock=one.clock)
            found.append(kept(one))
        finally:
            one.__exit__()
    assert found[0] == found[1]


# --- walls -----------------------------------------------------------------------------------------------------------


def test_the_same_words_in_two_scopes_are_two_topics(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        for place in (SHELF, BOARD):
            talk(one, 6, place, ("boats", "bread"))
        up_to_date(one)

        def scopes(now: Any) -> list[set[str]]:
            members = now.members()
            rows = [members.row[members.topic == topic].tolist() for topic in np.unique(members.topic).tolist()]
            return [{memory.scope for memory in now.load_memories(some)} for some in rows]

        found = one.look(scopes)
        assert len(found) >= 4
        assert all(len(within) == 1 for within in found)
        assert one.ask(ListCommunities(scope="work/shelf")).total == len(found) / 2


# --- who finds them --------------------------------------------------------------------------------------------------


def test_a_scope_finds_what_it_would_find_alone_whatever_stands_beside_it(tmp_path: Path) -> None:
    def shelf(one: ActorHarness) -> tuple[list[set[str]], list[Any]]:
        def read(now: Any) -> tuple[list[int], list[Any]]:
            scope = next(number for number, path in now.scopes().items() if path == SHELF.path)
            scales = [(of.resolution, of.floor, of.chosen_at) for of in now.graph_scales() if of.scope == scope]
            return [record.id for record in now.list_communities([scope], 1000)[0]], scales

        found, scales = one.look(read)
        every = topics(one)
        return sorted((every[topic] for topic in found), key=sorted), scales

    with ActorHarness(tmp_path / "alone", ports=SEEDED) as one:
        talk(one, 8, SHELF)
        up_to_date(one)
        alone = shelf(one)
        with ActorHarness(tmp_path / "beside", ports=SEEDED) as other:
            for number in range(6):
                place = ScopeRef(path=f"work/other-{number}", project=None, found="named")
                talk(other, 8, place, ("bread", "music"))
            talk(other, 8, SHELF)
            up_to_date(other)
            assert shelf(other) == alone


def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have it noted which scopes are looked at, and how."""
    noted: list[str] = []
    for name in ("_find", "_update"):

        def noting(self: Any, state: Any, scope: int, *rest: Any, name: str = name) -> Any:
            noted.append(f"{name} {scope}")
            return whole[name](self, state, scope, *rest)

        whole[name] = getattr(BoundaryWork, name)
        monkeypatch.setattr(BoundaryWork, name, noting)
    return noted


whole: dict[str, Any] = {}


def numbers(one: ActorHarness) -> dict[str, int]:
    found: dict[str, int] = one.look(lambda now: {path: number for number, path in now.scopes().items()})
    return found


def test_only_scopes_are_looked_at_in_which_something_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundary_work, "_FEW", 6)
    noted = looked_at(monkeypatch)
    with ActorHarness(tmp_path, ports=SEEDED) as one:
        talk(one, 8, SHELF, ("bread", "music"))
        talk(one, 8, BOARD, ("bread", "music"))
        up_to_date(one)
        shelf, board = numbers(one)[SHELF.path], numbers(one)[BOARD.path]
        assert sorted(noted) == sorted([f"_find {shelf}", f"_find {board}"])
        noted.clear()
        before = kept(one)
        one.keep(sayings("boats", 1)[0], session="new", place=BOARD)
        up_to_date(one)
        assert noted == [f"_update {board}"]
        after = kept(one)
        assert after["scales"] == before["scales"]
        assert [of for of in after["sizes"] if of[1] == shelf] == [of for of in before["sizes"] if of[1] == shelf]
        noted.clear()
        one.ask(Recall(query="flour yeast", scope=SHELF.path, k=3))  # what was given together is joined
        one.keep(sayings("boats", 2)[1], session="newer", place=BOARD)
        up_to_date(one)
        assert sorted(noted) == sorted([f"_update {shelf}", f"_update {board}"])
        noted.clear()
        one.keep(f"{sayings('music', 8)[0]} again", session="newest", place=BOARD)
        up_to_date(one)
        assert noted == [f"_update {board}"]  # a recall is taken up once
        assert all(len(set(map(subject_of, texts))) == 1 for texts in topics(one).values())
        assert sum(f"{sayings('music', 8)[0]} again" in texts for texts in topics(one).values()) == 1
        assert len(topics(one)) == 5  # of boats there are two memories now
        gone = one.look(lambda now: [m.id for m in now.load_memories(range(1, 36)) if m.scope == BOARD.path])
        one.ask(Forget(ids=tuple(gone), reason=""))
        up_to_date(one)
        assert [of.scope for of in kept(one)["scales"]] == [shelf]  # a scope of which nothing is left has none


def test_what_gets_its_meaning_late_has_its_scope_looked_at_whoever_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = looked_at(monkeypatch)
    with ActorHarness(tmp_path, ports=SEEDED) as one:
        talk(one, 8, SHELF, ("bread", "music"))
        up_to_date(one)
    one = ActorHarness(tmp_path, ports=SEEDED, clock=one.clock)
    one.load = _missing
    late = f"{sayings('bread', 8)[3]} again"
    one.keep(late, session="late", place=SHELF)
    one.ask(UpdateCommunities(mark="asked"))
    until(lambda: one.look(lambda now: now.open_boundaries()) == 0)
    one.__exit__()
    noted.clear()
    with ActorHarness(tmp_path, ports=SEEDED, clock=one.clock) as again:
        again.keep(sayings("boats", 1)[0], session="elsewhere", place=BOARD)
        up_to_date(again)
        assert f"_find {numbers(again)[SHELF.path]}" in noted
        assert any({late, sayings("bread", 8)[3]} <= texts for texts in topics(again).values())


def test_memories_without_a_neighbour_are_gone_on_with(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, ports=SEEDED) as one:
        one.keep(sayings("bread", 1)[0], session="alone", place=SHELF)
        up_to_date(one)
    with ActorHarness(tmp_path, ports=SEEDED, clock=one.clock) as again:
        talk(again, 4, SHELF, ("bread",))
        up_to_date(again)
        assert len(topics(again)) == 1


def test_what_a_scope_was_found_by_is_chosen_anew_once_its_meaning_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boundary_work, "_FEW", 6)
    with ActorHarness(tmp_path, ports=SEEDED) as one:
        load, one.load = one.load, _missing
        talk(one, 8, SHELF, ("bread", "music"))
        one.ask(UpdateCommunities(mark="asked"))
        until(lambda: one.look(lambda now: now.open_boundaries()) == 0)
        assert [(of.chosen_at, of.embedded) for of in kept(one)["scales"]] == [(16, 0)]
        one.load = load
        one.keep(sayings("bread", 9)[8], session="new", place=SHELF)
        up_to_date(one)
        assert [(of.chosen_at, of.embedded) for of in kept(one)["scales"]] == [(17, 17)]
        assert {frozenset(map(subject_of, texts)) for texts in topics(one).values()} == {
            frozenset({"bread"}),
            frozenset({"music"}),
        }


def test_what_a_scope_was_found_by_is_chosen_anew_once_it_has_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boundary_work, "_FEW", 6)
    with ActorHarness(tmp_path, ports=SEEDED) as one:
        one.load = _missing  # so that nothing but the number of memories can be what has grown
        for count, chosen_at in ((10, 10), (9, 10), (1, 20)):
            for number in range(count):
                one.keep(f"{count} {number} tide", session=f"{count}", place=SHELF)
            one.ask(UpdateCommunities(mark="asked"))
            until(lambda: one.look(lambda now: now.open_boundaries()) == 0)
            assert [(of.chosen_at, of.embedded) for of in kept(one)["scales"]] == [(chosen_at, 0)]


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "add", "forget", "recover", "recall", "wipe"]), st.integers(0, 2)),
        min_size=4,
        max_size=10,
    )
)
def test_a_graph_that_is_loaded_at_each_boundary_is_the_one_that_was_changed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, int]]
) -> None:
    """All boundaries are marked first, so that who goes on finds one after the other by the same graph."""
    step, held, loads = BoundaryWork.step, True, False

    def stepping(self: Any, context: Any) -> Any:
        self.why_not = "held back" if held else ""
        found = None if held else step(self, context)
        if found is not None and loads:
            self._state = None
        return found

    monkeypatch.setattr(boundary_work, "_FEW", 4)
    monkeypatch.setattr(BoundaryWork, "step", stepping)
    places = (NOWHERE, SHELF, BOARD)
    found = []
    for loads in (False, True):  # noqa: B007  `stepping` reads it
        held, here, gone = True, {0: [], 1: [], 2: []}, []
        with ActorHarness(tmp_path_factory.mktemp("home"), ports=SEEDED) as one:
            for number, (what, where) in enumerate([("add", 0), ("add", 1), *steps]):
                if what == "add":
                    for subject in ("boats", "bread"):
                        for text in sayings(subject, 8)[number % 4 : number % 4 + 4]:
                            kept_one = one.keep(f"{text} {number}", session=f"{where}/{number}", place=places[where])
                            here[where].append(kept_one.id)
                elif what == "recall" and here[where]:
                    one.ask(Recall(query="flour yeast anchor", scope=places[where].path or "*", k=4))
                elif what == "recover" and gone:
                    one.ask(Recover(ids=(gone.pop(),)))
                elif what in ("forget", "wipe") and here[where]:
                    some = here[where][:1] if what == "forget" else here[where][:]
                    one.ask(Forget(ids=tuple(some), reason=""))
                    here[where] = here[where][len(some) :]
                    gone += some
                one.embed()
                one.ask(UpdateCommunities(mark="asked"))
            held = False
            up_to_date(one)
            found.append(kept(one))
    assert found[0] == found[1]


def test_a_backend_whose_package_is_not_there_says_so_and_all_else_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any) -> Any:
        raise backends.BackendMissing("igraph")

    monkeypatch.setitem(backends._FIND, "igraph", missing)
    with ActorHarness(tmp_path, **{"communities.backend": "igraph"}) as one:
        one.keep("a dinghy")
        assert one.recall("dinghy").hits
        progress = up_to_date(one)
        assert (progress.done, progress.pending) == (0, 0)
        assert "pip install 'mnemic[research]'" in progress.why_not
        assert progress.why_not in one.ask(ListCommunities()).degraded


def test_another_backend_finds_them_at_each_boundary_without_native_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connected(graph: Any, *_: Any) -> Any:
        labels = np.arange(len(graph.keys))
        for _ in labels:
            np.minimum.at(labels, graph.sources, labels[graph.targets])
            np.minimum.at(labels, graph.targets, labels[graph.sources])
        return labels

    monkeypatch.setitem(backends._FIND, "igraph", connected)
    monkeypatch.setattr(mosaic, "NATIVE", False)
    with ActorHarness(tmp_path, **{"communities.backend": "igraph"}) as one:
        talk(one, 6)
        up_to_date(one)
        one.keep(sayings("bread", 8)[7], session="more")
        assert up_to_date(one).done == 2
        assert sum({sayings("bread", 8)[7], sayings("bread", 6)[3]} <= texts for texts in topics(one).values()) == 1


def test_without_native_code_communities_say_why_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mosaic, "NATIVE", False)
    with ActorHarness(tmp_path) as one:
        one.keep("text")
        progress = up_to_date(one)
        assert (progress.done, progress.pending) == (0, 0)
        assert "native code" in progress.why_not
        assert any("native code" in line for line in one.ask(ListCommunities()).degraded)
