"""What the Retriever holds in memory is, after each look at the log, what a new one would hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.forget_messages import Forget, Recover
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.scopes.changes import RenameScope
from mnemic.actors.scopes.messages import ChangeScopes
from mnemic.actors.store.messages import Rebuild
from tests.harness import ActorHarness, BagEncoder, turns

WORDS = ("text", "0", "1", "2", "none")
BAG = EncoderName(BagEncoder().implementation, BagEncoder().model)


def follow(actor_system: ActorHarness, memory: RecallIndex, encoder: EncoderName | None = BAG) -> None:
    actor_system.look(lambda snapshot: memory.sync(snapshot, encoder))


def held(memory: RecallIndex) -> dict[str, Any]:
    coded, of, start = memory.windows()
    parts = zip(of.tolist(), start.tolist(), *(map(bytes, part) for part in coded), strict=True)
    windows = sorted(parts)
    return {
        "columns": [column.tolist() for column in memory.columns],
        "windows": windows,
        "superseded": [positions.tolist() for positions in memory.superseded(None)],
        "retired": memory.retired_mask(None).tolist(),
        "words": [[part.tolist() for part in memory.words.postings([word])] for word in WORDS],
    }


def assert_as_new(actor_system: ActorHarness, memory: RecallIndex, encoder: EncoderName | None = BAG) -> None:
    new = RecallIndex()

    def both(snapshot: Any) -> None:  # at the same moment, whatever is embedded in the background
        memory.sync(snapshot, encoder)
        new.sync(snapshot, encoder)

    actor_system.look(both)
    assert held(memory) == held(new)


@settings(max_examples=6)
@given(
    steps=st.lists(
        st.sampled_from(["keep", "correct", "forget", "recover", "embed", "look", "rebuild", "rebuild all"]),
        max_size=12,
    )
)
def test_following_step_by_step_ends_where_one_look_at_everything_does(steps: list[str], tmp_path_factory: Any) -> None:
    memory = RecallIndex()
    with ActorHarness(tmp_path_factory.mktemp("home")) as actor_system:
        kept: list[bytes] = []
        gone: set[bytes] = set()
        for number, step in enumerate(steps):
            if step == "keep" or (step == "correct" and not kept):
                kept.append(actor_system.keep(f"text {number}").id)
            elif step == "correct":
                kept.append(actor_system.keep(f"text {number}", supersedes=kept[number % len(kept)]).id)
            elif step in ("forget", "recover") and kept:
                chosen = kept[number // 2 % len(kept)]
                actor_system.ask(Forget(ids=(chosen,)) if step == "forget" else Recover(ids=(chosen,)))
                gone = gone | {chosen} if step == "forget" else gone - {chosen}
            elif step == "embed":
                actor_system.embed()
            elif step == "look":
                assert_as_new(actor_system, memory)
            elif step.startswith("rebuild"):
                actor_system.ask(Rebuild(meaning=step == "rebuild all"))
        actor_system.embed()
        assert_as_new(actor_system, memory)
        assert len(memory.columns.row) == len(kept)
        assert [id for id, hidden in zip(kept, memory.retired_mask(None), strict=True) if hidden] == [
            id for id in kept if id in gone
        ]
        embedded = set(memory.windows()[1].tolist())
        assert embedded >= set(np.flatnonzero(~memory.retired_mask(None)).tolist()), "what is forgotten need not be"


def test_an_empty_mind_is_followed(tmp_path: Path) -> None:
    memory = RecallIndex()
    with ActorHarness(tmp_path) as actor_system:
        follow(actor_system, memory)
        assert [len(column) for column in memory.columns] == [0] * 9
        coded, *rest = memory.windows()
        assert [len(part) for part in (*coded, *rest)] == [0] * 5


def test_without_an_encoder_vectors_stay_and_they_catch_up_when_there_is_one(tmp_path: Path) -> None:
    memory = RecallIndex()
    with ActorHarness(tmp_path, sources={"a": turns(["one"]), "b": turns(["two"], "b")}) as actor_system:
        actor_system.take("a")
        actor_system.embed()
        follow(actor_system, memory, None)
        assert len(memory.windows()[1]) == 0
        follow(actor_system, memory)
        assert len(memory.windows()[1]) == 1
        actor_system.take("b")
        actor_system.embed()
        follow(actor_system, memory, None)
        assert len(memory.columns.row) == 2
        assert_as_new(actor_system, memory)
        assert len(memory.windows()[1]) == 2


def test_another_encoders_vectors_take_the_place_of_the_old_ones(tmp_path: Path) -> None:
    memory = RecallIndex()
    other = BagEncoder("other")
    name = EncoderName(other.implementation, other.model)
    with ActorHarness(tmp_path, sources={"a": turns(["one", "two"])}) as actor_system:
        actor_system.take("a")
        actor_system.embed()
        follow(actor_system, memory)
        follow(actor_system, memory, name)
        assert len(memory.windows()[1]) == 0
    with ActorHarness(tmp_path, encoder=other) as actor_system:
        actor_system.embed()
        assert_as_new(actor_system, memory, name)
        assert len(memory.windows()[1]) == 2
    with ActorHarness(tmp_path) as actor_system:  # and back: numbers of windows that were seen before may come again
        actor_system.embed()
        assert_as_new(actor_system, memory)
        assert len(memory.windows()[1]) == 2


def test_a_look_at_nothing_new_reads_nothing(tmp_path: Path) -> None:
    memory = RecallIndex()
    with ActorHarness(tmp_path, sources={"a": turns(["one"])}) as actor_system:
        actor_system.take("a")
        actor_system.embed()
        actor_system.bind()
        follow(actor_system, memory)

        def again(snapshot: Any) -> None:
            class Unread:
                seq, log_row, generation = snapshot.seq, snapshot.log_row, snapshot.generation

            memory.sync(Unread(), BAG)  # type: ignore[arg-type]

        actor_system.look(again)


def test_what_replaces_what_is_given_by_place_and_known_from_its_time_on(tmp_path: Path) -> None:
    memory = RecallIndex()
    with ActorHarness(tmp_path) as actor_system:
        first = actor_system.keep("one")
        actor_system.keep("two", supersedes=first.id)
        at = actor_system.clock.now_us()
        follow(actor_system, memory)
        for as_of, known in ((None, [[0], [1]]), (at, [[0], [1]]), (at - 1, [[], []])):
            assert [positions.tolist() for positions in memory.superseded(as_of)] == known
        assert [memory.replacement(1, as_of) for as_of in (None, at, at - 1)] == [2, 2, None]
        assert memory.replacement(2, None) is None
        assert memory.columns.said_at.dtype == np.int64


def test_what_is_retired_is_so_from_its_time_on_and_replaces_nothing_then(tmp_path: Path) -> None:
    memory = RecallIndex()
    with ActorHarness(tmp_path) as actor_system:
        one = actor_system.keep("one")
        two = actor_system.keep("two", supersedes=one.id)
        actor_system.keep("three", supersedes=two.id)
        follow(actor_system, memory)
        loaded = memory.columns.row
        actor_system.clock.advance(1)
        actor_system.ask(Forget(ids=(two.id,)))
        at = actor_system.clock.now_us()
        follow(actor_system, memory)
        assert np.shares_memory(memory.columns.row, loaded), "what was loaded is not loaded again"
        assert memory.retired_mask(None).tolist() == memory.retired_mask(at).tolist() == [False, True, False]
        assert memory.retired_mask(at - 1).tolist() == [False, False, False]
        assert [memory.replacement(1, as_of) for as_of in (None, at, at - 1)] == [3, 3, 2]
        assert memory.replacement(2, None) == 3
        actor_system.ask(Recover(ids=(two.id,)))
        follow(actor_system, memory)
        assert not memory.retired_mask(None).any()
        assert memory.replacement(1, None) == 2


def test_what_is_made_of_memories_stays_while_lines_of_the_log_bring_none(tmp_path: Path) -> None:
    memory = RecallIndex()
    with ActorHarness(tmp_path) as actor_system:
        one = actor_system.keep("text one").id

        def look(lines: int = 0) -> Any:
            class Later:
                def __init__(self, snapshot: Any) -> None:
                    self.log_row, self._snapshot = snapshot.log_row + lines, snapshot

                def __getattr__(self, name: str) -> Any:
                    return getattr(self._snapshot, name)

            def follow_and_see(snapshot: Any) -> Any:
                memory.sync(Later(snapshot), None)  # type: ignore[arg-type]
                return memory.visible(snapshot)

            return actor_system.look(follow_and_see)

        first = look()
        assert look(lines=1) is first
        actor_system.ask(Forget(ids=(one,)))
        assert look(lines=2).tolist() == [False]
        actor_system.keep("text two")
        assert look(lines=3).tolist() == [False, True]


def test_a_scopes_name_that_another_scope_has_by_now_gives_that_ones_memories(tmp_path: Path) -> None:
    memory = RecallIndex()
    with ActorHarness(tmp_path) as actor_system:
        for text, path in (("of shop", "shop"), ("of wiki", "wiki")):
            actor_system.keep(text, place=ScopeRef(path=path, project=None, found="named"))

        def seen(path: str) -> Any:
            def follow_and_see(snapshot: Any) -> Any:
                memory.sync(snapshot, None)
                return memory.visible(snapshot, path).tolist()

            return actor_system.look(follow_and_see)

        assert seen("shop") == [True, False]
        for path, to in (("shop", "old"), ("wiki", "shop")):
            actor_system.ask(ChangeScopes(changes=(RenameScope(path=path, to=to),)))
        assert seen("shop") == [False, True]
        actor_system.ask(ChangeScopes(changes=(RenameScope(path="old", to="shop/old"),)))
        assert seen("shop") == [True, True]


@given(
    sessions=st.lists(st.integers(0, 3), min_size=1, max_size=20),
    seen=st.lists(st.booleans(), min_size=20, max_size=20),
)
def test_neighbours_are_the_next_visible_of_the_same_conversation(sessions: list[int], seen: list[bool]) -> None:
    memory, count = RecallIndex(), len(sessions)
    memory.columns = memory.columns._replace(session=np.array(sessions))
    visible = np.array(seen[:count])
    before, after = memory.neighbours(np.arange(count), visible)
    for position, session in enumerate(sessions):
        beside = [one for one in range(count) if visible[one] and sessions[one] == session and one != position]
        assert before[position] == max((one for one in beside if one < position), default=-1)
        assert after[position] == min((one for one in beside if one > position), default=-1)
