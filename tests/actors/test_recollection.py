"""What the Retriever holds in memory is, after each look at the log, what a new one would hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.changes import EncoderName
from mnemic.actors.messages import Rebuild
from mnemic.actors.recollection import Recollection
from tests.society import BagEncoder, Society, turns

BAG = EncoderName(BagEncoder().implementation, BagEncoder().model)


def follow(society: Society, memory: Recollection, encoder: EncoderName | None = BAG) -> None:
    society.look(lambda snapshot: memory.follow(snapshot, encoder))


def held(memory: Recollection) -> dict[str, Any]:
    vectors, of, start = memory.windows()
    windows = sorted((int(o), int(s), v.tobytes()) for o, s, v in zip(of, start, vectors, strict=True))
    return {
        "columns": [column.tolist() for column in memory.columns],
        "windows": windows,
        "superseded": list(memory.superseded()),
    }


def assert_as_new(society: Society, memory: Recollection, encoder: EncoderName | None = BAG) -> None:
    new = Recollection()
    for one in (memory, new):
        follow(society, one, encoder)
    assert held(memory) == held(new)


@settings(max_examples=15)
@given(steps=st.lists(st.sampled_from(["keep", "correct", "embed", "look", "rebuild", "rebuild all"]), max_size=12))
def test_following_step_by_step_ends_where_one_look_at_everything_does(steps: list[str], tmp_path_factory: Any) -> None:
    memory = Recollection()
    with Society(tmp_path_factory.mktemp("home")) as society:
        kept: list[bytes] = []
        for number, step in enumerate(steps):
            if step == "keep" or (step == "correct" and not kept):
                kept.append(society.keep(f"text {number}").id)
            elif step == "correct":
                kept.append(society.keep(f"text {number}", supersedes=kept[number % len(kept)]).id)
            elif step == "embed":
                society.embed()
            elif step == "look":
                assert_as_new(society, memory)
            else:
                society.ask(Rebuild(meaning=step == "rebuild all"))
        society.embed()
        assert_as_new(society, memory)
        assert len(memory.columns.row) == len(kept)
        assert len(memory.windows()[0]) == len(kept)


def test_an_empty_mind_is_followed(tmp_path: Path) -> None:
    memory = Recollection()
    with Society(tmp_path) as society:
        follow(society, memory)
        assert [len(column) for column in memory.columns] == [0] * 7
        assert [len(part) for part in memory.windows()] == [0, 0, 0]


def test_without_an_encoder_vectors_stay_and_they_catch_up_when_there_is_one(tmp_path: Path) -> None:
    memory = Recollection()
    with Society(tmp_path, sources={"a": turns(["one"]), "b": turns(["two"], "b")}) as society:
        society.take("a")
        society.embed()
        follow(society, memory, None)
        assert len(memory.windows()[0]) == 0
        follow(society, memory)
        assert len(memory.windows()[0]) == 1
        society.take("b")
        society.embed()
        follow(society, memory, None)
        assert len(memory.columns.row) == 2
        assert_as_new(society, memory)
        assert len(memory.windows()[0]) == 2


def test_another_encoders_vectors_take_the_place_of_the_old_ones(tmp_path: Path) -> None:
    memory = Recollection()
    other = BagEncoder("other")
    name = EncoderName(other.implementation, other.model)
    with Society(tmp_path, sources={"a": turns(["one", "two"])}) as society:
        society.take("a")
        society.embed()
        follow(society, memory)
        follow(society, memory, name)
        assert len(memory.windows()[0]) == 0
    with Society(tmp_path, encoder=other) as society:
        society.embed()
        assert_as_new(society, memory, name)
        assert len(memory.windows()[0]) == 2
    with Society(tmp_path) as society:  # and back: numbers of windows that were seen before may come again
        society.embed()
        assert_as_new(society, memory)
        assert len(memory.windows()[0]) == 2


def test_a_look_at_nothing_new_reads_nothing(tmp_path: Path) -> None:
    memory = Recollection()
    with Society(tmp_path, sources={"a": turns(["one"])}) as society:
        society.take("a")
        society.embed()
        follow(society, memory)

        def again(snapshot: Any) -> None:
            class Unread:
                seq, generation = snapshot.seq, snapshot.generation

            memory.follow(Unread(), BAG)  # type: ignore[arg-type]

        society.look(again)


def test_postings_are_placed_in_the_columns(tmp_path: Path) -> None:
    memory = Recollection()
    with Society(tmp_path, sources={"a": turns(["tea", "milk", "tea tea"])}) as society:
        society.take("a")
        follow(society, memory)
        where, often = society.look(lambda snapshot: memory.located(snapshot.postings("tea")))
        assert (where.tolist(), often.tolist()) == ([0, 2], [1.0, 2.0])


def test_what_replaces_what_is_given_by_place_and_known_from_its_time_on(tmp_path: Path) -> None:
    memory = Recollection()
    with Society(tmp_path) as society:
        first = society.keep("one")
        society.keep("two", supersedes=first.id)
        at = society.clock.now_us()
        follow(society, memory)
        assert list(memory.superseded()) == [(0, 1, at)]
        assert [memory.known(1, as_of) for as_of in (None, at, at - 1)] == [True, True, False]
        assert not memory.known(2, None)
        assert memory.columns.said_at.dtype == np.int64
