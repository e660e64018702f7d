"""The best of a recall are ordered by the user's own cross-encoder, where one is set, and by none where it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.actors.brief.messages import Brief
from mnemic.actors.kernel.errors import NotRerankable, RerankerUnusable
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.meaning.messages import Rerank
from mnemic.actors.recall.ranking.second_reading import READ_AGAIN
from tests.harness import ActorHarness, BagEncoder

TEXTS = [f"boat {'oar ' * (number % 5)}number{number}" for number in range(30)]
PLACE = ScopeRef(path="quay", project=None, found="named")
SET: dict[str, Any] = {"rerank.model": "/the/reader"}


class Reader:
    """Says how well a text answers by a rule, and remembers what it was given."""

    def __init__(self, rule: Callable[[str], float]) -> None:
        self.rule = rule
        self.given: list[tuple[str, list[str]]] = []

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.given.append((question, list(texts)))
        return np.array([self.rule(text) for text in texts], np.float32)


def number_of(text: str) -> int:
    return int(text.rpartition("number")[2])


def recalled(folder: Path, reader: Any = None, texts: Sequence[str] = TEXTS, **asked: Any) -> Any:
    """What a recall answers; with a reader where one is given, or what loads one."""
    load = reader if callable(reader) else lambda: reader
    more = SET if reader is not None else {}
    with ActorHarness(folder, encoder=BagEncoder(), ports={"load_cross_encoder": load}, **more) as system:
        for text in texts:
            system.keep(text)
        system.embed()
        return system.recall("boat oar", **({"k": 30} | asked))


def told(answer: Any) -> list[str]:
    return [hit.data.decode() for hit in answer.hits]


def test_the_best_stand_in_its_order_and_the_others_beneath_as_before(tmp_path: Path) -> None:
    plain = told(recalled(tmp_path / "plain"))
    reader = Reader(lambda text: number_of(text) / 30)
    answer = recalled(tmp_path / "read", reader)
    best = sorted(plain[:READ_AGAIN], key=number_of, reverse=True)
    assert told(answer) == best + plain[READ_AGAIN:]
    assert best != plain[:READ_AGAIN]
    assert reader.given == [("boat oar", plain[:READ_AGAIN])]
    assert not answer.degraded


def test_it_is_asked_before_the_answer_is_cut(tmp_path: Path) -> None:
    plain = told(recalled(tmp_path / "plain"))[:READ_AGAIN]
    answer = recalled(tmp_path / "read", Reader(lambda text: -plain.index(text)), k=1)
    assert told(answer) == plain[:1]
    answer = recalled(tmp_path / "again", Reader(plain.index), k=1)
    assert told(answer) == plain[-1:]


def test_a_hit_has_the_score_of_its_place_and_says_what_it_gained(tmp_path: Path) -> None:
    plain = recalled(tmp_path / "plain")
    answer = recalled(tmp_path / "read", Reader(lambda text: number_of(text) / 30))
    assert [hit.score for hit in answer.hits] == pytest.approx([hit.score for hit in plain.hits])
    assert any(hit.why["rerank"] > 0 for hit in answer.hits)
    assert any(hit.why["rerank"] < 0 for hit in answer.hits)
    for hit in answer.hits:
        assert sum(hit.why.values()) == pytest.approx(log(hit.score / (1 - hit.score)))
    assert all("rerank" not in hit.why for hit in plain.hits)


def test_equal_scores_leave_the_order_as_it_was(tmp_path: Path) -> None:
    assert told(recalled(tmp_path / "read", Reader(lambda _: 0.5))) == told(recalled(tmp_path / "plain"))


def test_of_a_long_memory_it_reads_the_stretch_that_answers(tmp_path: Path) -> None:
    reader = Reader(lambda _: 0.5)
    recalled(tmp_path, reader, texts=["filler words. " * 400 + "The boat has an oar. " + "More words. " * 400])
    ((_, (read,)),) = reader.given
    assert len(read) <= 1024
    assert "boat has an oar" in read


def test_of_nothing_found_nothing_is_read(tmp_path: Path) -> None:
    reader = Reader(lambda _: 0.5)
    assert not recalled(tmp_path, reader, texts=[]).hits
    assert not reader.given


class TestWithout:
    @staticmethod
    def missing() -> Any:
        raise RerankerUnusable(path="/the/reader", why="there is no such folder")

    def test_a_broken_model_is_one_sentence_and_the_recall_answers(self, tmp_path: Path) -> None:
        answer = recalled(tmp_path / "read", self.missing)
        (why,) = answer.degraded
        assert why.startswith("rerank: The cross-encoder at /the/reader cannot be used: there is no such folder.")
        assert why.endswith("The order is the one without it.")
        assert told(answer) == told(recalled(tmp_path / "plain"))

    @pytest.mark.parametrize("value", [float("nan"), None])
    def test_one_that_fails_is_told_without_a_word_of_a_memory(self, tmp_path: Path, value: float | None) -> None:
        def rule(text: str) -> float:
            if value is None:
                raise ValueError(text)
            return value

        (why,) = recalled(tmp_path, Reader(rule)).degraded
        assert why.startswith("rerank: The cross-encoder failed on what was found (")
        assert "number" not in why

    def test_one_that_is_installed_later_is_used(self, tmp_path: Path) -> None:
        made: list[Any] = []

        def load() -> Any:
            return made[0] if made else self.missing()

        with ActorHarness(tmp_path, encoder=BagEncoder(), ports={"load_cross_encoder": load}, **SET) as system:
            with pytest.raises(RerankerUnusable):
                system.ask(Rerank(query="q", texts=("a",)))
            made.append(Reader(lambda _: 0.25))
            assert system.ask(Rerank(query="q", texts=("a", "b"))).scores == (0.25, 0.25)
            made[0].rule = lambda _: 1 / 0
            with pytest.raises(NotRerankable):
                system.ask(Rerank(query="q", texts=("a",)))


def test_nothing_is_read_again_where_words_alone_are_asked_for_nor_beside_a_prompt(tmp_path: Path) -> None:
    reader = Reader(lambda text: 0.0)
    recalled(tmp_path / "words", reader, signals=("lexical",))
    ports: dict[str, Any] = {"load_cross_encoder": lambda: reader}
    with ActorHarness(tmp_path / "prompt", encoder=BagEncoder(), ports=ports, **SET) as system:
        for number in range(12):
            system.keep(f"we painted boat {number} today", place=PLACE, session="old")
        text = "217/USER means that the account of User= is not there: I made it, and the unit runs."
        kept = system.keep(text, place=PLACE, session="old", role="assistant").id
        system.embed()
        asked = Brief(occasion="prompt", place=PLACE, assistant="codex", session="new", prompt="217/USER again, help")
        assert system.ask(asked).memories == (kept,)
    assert reader.given == []
