"""Nights settle what says the same: a recall finds what it found before, and more where one text hid all others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.recall.messages import Recalled
from mnemic.actors.recall.ranking.night_effects import COPIES, NightEffects
from mnemic.actors.scopes.changes import RenameScope
from mnemic.actors.scopes.messages import ChangeScopes
from mnemic.actors.sleep import duplicates
from mnemic.actors.sleep.effects import decode_groups
from mnemic.actors.store.messages import Rebuild
from tests.actors.sleep.sleeping import SHELF, whole_night
from tests.harness import ActorHarness, turns

STAGES = ("fingerprints", "duplicates")
BOARD = ScopeRef(path="board", project=None, found="named")


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as mind:
        yield mind


def told(found: Recalled) -> list[tuple[bytes, list[bytes]]]:
    """Hits with what they stand for."""
    return [(hit.id, sorted(one.id for one in hit.same)) for hit in found.hits]


def test_a_text_said_more_often_than_a_recall_compares_hides_nothing_after_a_night(
    mind: ActorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [one for n in range(1010) for one in turns(["Run the tests again."], session=str(n), scope=SHELF.path)]
    mind.sources["said"] = said
    mind.take("said")
    mind.embed()
    copies = mind.look(lambda now: now.ids_of(now.memory_columns(0).row.tolist()))
    assert len(copies) == 1010
    others = [mind.keep(f"Run the tests again with option {n}", place=SHELF).id for n in range(12)]
    signals = ("lexical", "session")
    assert len(mind.recall("run the tests again", signals=signals).hits) == 1
    whole_night(mind, stages=STAGES)
    found = mind.recall("run the tests again", signals=signals)
    assert len(found.hits) == 10
    assert found.searched == len(copies) + len(others)
    (stands,) = (hit for hit in found.hits if hit.same)
    assert {stands.id, *(one.id for one in stands.same)} == set(copies)


def test_the_groups_are_told_with_the_words_they_rest_on(mind: ActorHarness) -> None:
    for n in range(3):
        mind.keep("the kettle is on" if n else "The kettle is on.", session=str(n), place=SHELF)
    mind.keep("the kettle is off", place=SHELF)
    report = whole_night(mind, stages=STAGES)
    assert [(one.stage, one.changes) for one in report.stages] == [("fingerprints", 1), ("duplicates", 1)]
    (item,) = mind.look(lambda now: now.derived("duplicates"))
    assert [one.row for one in item.sources] == [1, 2, 3]


@settings(max_examples=5)
@given(
    said=st.lists(
        st.tuples(
            *(
                st.sampled_from(
                    ("The crane is broken", "the crane is broken.", "fix the crane", "the crane moved today")
                ),
            ),
            *(st.sampled_from((SHELF, BOARD)), st.sampled_from(("user", "assistant")), st.booleans()),
        ),
        min_size=2,
        max_size=14,
    )
)
def test_where_no_text_is_said_often_a_recall_is_what_it_was(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, ScopeRef, str, bool]]
) -> None:
    with ActorHarness(tmp_path_factory.mktemp("same")) as mind:
        kept: list[bytes] = []
        for number, (text, place, role, corrects) in enumerate(said):
            fields = {"supersedes": kept[-1]} if corrects and kept else {}
            kept.append(mind.keep(text, session=str(number), place=place, role=role, **fields).id)
        mind.embed()
        asked = [("what about the crane", "*"), ("crane broken", "shelf"), ("what happened to the crane today", "*")]
        asked = [one for one in asked if one[1] == "*" or any(place == SHELF for _, place, *_ in said)]
        before = [mind.recall(query, scope=scope, k=50) for query, scope in asked]
        whole_night(mind, stages=STAGES)
        after = [mind.recall(query, scope=scope, k=50) for query, scope in asked]
        few = max(sum(one[:3] == other[:3] for other in said) for one in said) <= COPIES
        for one, other in zip(before, after, strict=True):
            assert {id for hit, same in told(other) for id in (hit, *same)} == {
                id for hit, same in told(one) for id in (hit, *same)
            }, "nothing is hidden"
            if few:
                assert told(one) == told(other)


def test_what_is_forgotten_moved_or_corrected_since_is_not_folded(mind: ActorHarness) -> None:
    ids = [mind.keep("the crane is broken", session=str(n), place=SHELF).id for n in range(9)]
    whole_night(mind, stages=STAGES)
    mind.ask(Forget(ids=(ids[0],), reason="test"))
    corrected = mind.keep("the crane works", session="9", place=SHELF, supersedes=ids[1]).id
    found = dict(told(mind.recall("what about the crane", k=50)))
    assert sorted(map(len, found.values())) == [0, 0, 6]
    assert {corrected, ids[1]} <= found.keys()
    assert ids[0] not in {id for one in found.items() for id in (one[0], *one[1])}


def test_two_projects_that_become_one_do_not_mix_before_the_next_night(mind: ActorHarness) -> None:
    for n in range(6):
        mind.keep("the crane is broken", session=str(n), place=SHELF if n % 2 else BOARD)
    whole_night(mind, stages=STAGES)
    assert sorted(len(same) for _, same in told(mind.recall("crane", k=50))) == [2, 2]
    mind.ask(ChangeScopes(changes=(RenameScope(path="board", to="attic"),)))
    assert sorted(len(same) for _, same in told(mind.recall("crane", k=50))) == [2, 2]
    mind.ask(Rebuild())
    assert sorted(len(same) for _, same in told(mind.recall("crane", k=50))) == [2, 2]


def test_a_question_for_a_day_folds_no_two_days(mind: ActorHarness) -> None:
    day_us = 86_400_000_000
    for n in range(8):
        mind.keep("the crane is broken", session=str(n), place=SHELF, said_at=mind.clock.now_us() - n % 2 * day_us)
    whole_night(mind, stages=STAGES)
    assert [len(same) for _, same in told(mind.recall("what about the crane", k=50))] == [7]
    assert [len(same) for _, same in told(mind.recall("what about the crane yesterday", k=50))] == [3, 3]


def test_what_was_replaced_never_passes_what_stands_for_it_by_being_copied(mind: ActorHarness) -> None:
    for number in range(6):
        mind.keep("Our database becomes Postgres 17.", session=str(number), place=SHELF)
    mind.keep("Our database becomes SQLite.", session="6", place=SHELF)
    mind.keep("Our database becomes Postgres 17.", session="7", place=SHELF)
    whole_night(mind, stages=("meaning", "facts"))
    asked = ("Which database is our database, SQLite?", "what is our database now")
    before = [[hit.text for hit in mind.recall(one).hits] for one in asked]
    whole_night(mind)
    assert [[hit.text for hit in mind.recall(one).hits] for one in asked] == before


def test_copies_of_two_scopes_are_no_group_even_where_a_night_made_one_of_them() -> None:
    index = RecallIndex()
    scopes = np.array([1, 2, 1, 2, 1], np.int64)
    row = np.arange(1, 6)
    index.columns = index.columns._replace(row=row, scope=scopes)
    effects = NightEffects(index, 0.25, 0.5)
    effects._state = effects._state._replace(row=row, group=np.zeros(5, np.int64))
    groups = effects.group_of(None)
    assert groups[0] == groups[2] == groups[4] != groups[1] == groups[3]


@settings(max_examples=40)
@given(hashes=st.lists(st.integers(0, 9), max_size=60), most=st.integers(2, 9))
def test_equal_hashes_are_groups_of_so_many_at_most_in_their_order(hashes: list[int], most: int) -> None:
    hashed = np.array([(row, one) for row, one in enumerate(hashes, 1)], duplicates._HASHED)
    snapshot: Any = SimpleNamespace(derived_values=lambda stage: {b"rows:0": hashed.tobytes()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_MOST_ALIKE", most)
        stage = duplicates.Duplicates()
        found = [stage.plan(stage.read(key, snapshot)) for key in stage.sources(snapshot)]
    groups = [tuple(group) for one in found for group in decode_groups(one.value, one.sources)]
    wanted = []
    for one in set(hashes):
        rows = [row for row, other in enumerate(hashes, 1) if other == one]
        wanted += [tuple(rows[at : at + most]) for at in range(0, len(rows), most) if len(rows[at : at + most]) > 1]
    assert sorted(groups) == sorted(wanted)
