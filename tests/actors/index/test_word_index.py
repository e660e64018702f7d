"""Words are found in memory as the store has them, whatever happened to either; damage in the store is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.index import word_index
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.index.word_index import WORDS_DAMAGED, WordIndex
from mnemic.actors.store.messages import Rebuild
from mnemic.algorithms.retrieval.inverted_index import NumpyInvertedIndex
from mnemic.algorithms.retrieval.term_codes import encode_terms
from mnemic.runtime.store.memory_terms import add_terms, remove_terms
from mnemic.runtime.store.schema import connect
from tests.harness import ActorHarness, turns

READ_ANEW = "the word index in memory is not as the store's: it is read anew"


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as actor_system:
        yield actor_system


def found(actor_system: ActorHarness, query: str) -> list[str]:
    recalled = actor_system.recall(query, signals=("lexical", "session"), k=10)
    assert recalled.degraded == ()
    return sorted(hit.text for hit in recalled.hits if hit.why.get("lexical"))


def change(actor_system: ActorHarness, act: Callable[[Any], Any]) -> None:
    """Change the store behind the actors' backs."""
    with closing(connect(actor_system.folder.store, actor_system.keys)) as db:
        act(db)


def test_words_are_found_as_they_come_and_not_where_they_are_forgotten(actor_system: ActorHarness) -> None:
    first = actor_system.keep("green tea", speaker="Mia")
    assert found(actor_system, "tea") == ["green tea"]
    actor_system.keep("teas and milk")
    assert found(actor_system, "the tea") == ["green tea", "teas and milk"]
    assert found(actor_system, "Mia") == ["green tea"], "who spoke is found, too"
    actor_system.ask(Forget(ids=(first.id,)))
    assert found(actor_system, "tea") == ["teas and milk"]
    actor_system.ask(Rebuild(meaning=False))
    actor_system.keep("no tea")
    assert found(actor_system, "tea") == ["no tea", "teas and milk"]


def test_what_memory_has_otherwise_than_the_store_is_read_anew_and_the_log_says_so(
    actor_system: ActorHarness, caplog: pytest.LogCaptureFixture
) -> None:
    actor_system.keep("green tea")
    assert found(actor_system, "tea") == ["green tea"]

    def say_otherwise(db: Any) -> None:  # a memory that was read already, without a new generation
        remove_terms(db, [1])
        add_terms(db, 1, encode_terms(["coffe"]))

    change(actor_system, say_otherwise)
    assert READ_ANEW not in caplog.text
    actor_system.keep("milk")
    assert found(actor_system, "coffee") == ["green tea"]
    assert found(actor_system, "tea") == []
    assert caplog.text.count(READ_ANEW) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM memory_terms WHERE memory = 1",
        "UPDATE memory_terms SET codes = zeroblob(9) WHERE memory = 1",
    ],
)
def test_where_the_store_itself_is_damaged_recall_answers_and_says_so_and_the_log_once(
    actor_system: ActorHarness, caplog: pytest.LogCaptureFixture, sql: str
) -> None:
    actor_system.keep("green tea")
    actor_system.keep("black tea")
    change(actor_system, lambda db: db.execute(sql))
    for text in ("tea", "more tea"):
        recalled = actor_system.recall("black", signals=("lexical",))
        assert [hit.text for hit in recalled.hits] == ["black tea"]
        assert recalled.degraded == (WORDS_DAMAGED,)
        actor_system.keep(text)
    assert caplog.text.count(WORDS_DAMAGED) == 1
    actor_system.ask(Rebuild(meaning=False))
    assert found(actor_system, "tea") == ["black tea", "green tea", "more tea", "tea"]


def test_without_native_code_the_same_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answers() -> list[tuple[str, float]]:
        with ActorHarness(tmp_path) as actor_system:
            recalled = actor_system.recall("the green tea of Mia")
            return [(hit.text, pytest.approx(hit.score, abs=1e-6)) for hit in recalled.hits]

    with ActorHarness(tmp_path, sources={"a": turns(["green tea", "black tea", "Mia drinks green juice"])}) as before:
        before.take("a")
        before.embed()
    native = answers()
    monkeypatch.setattr(word_index, "make_inverted_index", NumpyInvertedIndex)
    assert answers() == native


def test_many_memories_are_read_page_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "_PAGE", 2)
    memory = RecallIndex()
    with ActorHarness(tmp_path, sources={"a": turns(["tea", "milk", "?!", "tea tea", "juice"])}) as actor_system:
        actor_system.take("a")
        actor_system.look(lambda snapshot: memory.sync(snapshot, None))
    positions, counts = memory.words.postings(["tea"])
    assert (positions.tolist(), counts.tolist()) == ([0, 3], [1.0, 2.0])
    assert memory.words.count_memories([["tea"], ["juic"], ["none"], ["juic", "tea"]]) == (5, [2, 1, 0, 3])


def test_a_word_of_several_stems_is_found_by_any_of_them(tmp_path: Path) -> None:
    memory = RecallIndex()
    with ActorHarness(tmp_path, sources={"a": turns(["tea", "milk tea", "juice"])}) as actor_system:
        actor_system.take("a")
        actor_system.look(lambda snapshot: memory.sync(snapshot, None))
    words: WordIndex = memory.words
    positions, counts = words.postings(["tea", "milk"])
    assert (positions.tolist(), counts.tolist()) == ([0, 1], [1.0, 2.0])
    assert words.holds([["tea", "milk"], ["juic"]], np.arange(3)).tolist() == [
        [True, True, False],
        [False, False, True],
    ]
    asked = words.search([["tea", "milk"]], np.ones(3, np.bool_), memory.columns, by_session=False)
    assert asked.holding.tolist() == [2]
    assert asked.scores[1] > asked.scores[0] > asked.scores[2] == 0
