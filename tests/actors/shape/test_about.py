"""What a memory is about is told by its vector and by its words, on scales that mean the same in every question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import ModelMissing
from mnemic.actors.shape.about import WordScores, nearness
from mnemic.actors.shape.messages import Shaped
from tests.actors.shape.test_shape_recall import said
from tests.harness import ActorHarness, BagEncoder
from tests.shaped import answers, call, event, shape, shaped

TEA, GARDEN = "the tea is in the tin on the shelf", "the garden needs water"
TALK = [
    event(0, "user", TEA, "s", speaker="Zoe"),
    event(1, "user", GARDEN, "t", speaker="Max"),
    event(2, "user", "Bob lives in Paris", "u", speaker="Zoe"),
    event(3, "user", "Bob works at Acme", "v", speaker="Max"),
]
signals = st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 30), st.floats(0, 30)), max_size=8)


def words(memory: Any, session: Any, whole: float, known: float) -> WordScores:
    return WordScores(np.array(memory, np.float64), np.array(session, np.float64), whole, known)


# --- what the signals come to ----------------------------------------------------------------------------------------


@given(signals, st.floats(0.1, 20), st.floats(0.01, 1), st.booleans())
def test_a_nearness_is_0_to_1_and_never_falls_as_a_signal_grows(
    drawn: list[tuple[float, float, float]], whole: float, known: float, meaning: bool
) -> None:
    cosines, own, session = np.array(drawn, np.float64).reshape(-1, 3).T
    near = nearness(cosines if meaning else None, words(own, session, whole, known))
    assert near.shape == (len(drawn),)
    assert ((near >= 0) & (near <= 1 + 1e-12)).all()
    for more in (words(own + 1, session, whole, known), words(own, session + 1, whole, known)):
        assert (nearness(cosines if meaning else None, more) >= near - 1e-12).all()
    if meaning:
        assert (nearness(cosines + 0.1, words(own, session, whole, known)) >= near - 1e-12).all()


@given(signals, st.floats(0.1, 20), st.floats(0.01, 1))
def test_what_a_memory_gets_does_not_hang_on_the_others(
    drawn: list[tuple[float, float, float]], whole: float, known: float
) -> None:
    cosines, own, session = np.array(drawn, np.float64).reshape(-1, 3).T
    together = nearness(cosines, words(own, session, whole, known))
    for place, one in enumerate(drawn):
        alone = nearness(np.array(one[:1]), words([one[1]], [one[2]], whole, known))
        assert alone[0] == pytest.approx(together[place], abs=1e-12)


def test_where_no_memory_has_a_word_of_it_the_nearness_is_the_cosine() -> None:
    near = nearness(np.array([0.8, -0.2, np.nan]), words([0, 0, 0], [0, 0, 0], 0.0, 0.0))
    assert near.tolist() == [0.8, 0.0, 0.0]


def test_where_meaning_tells_nothing_apart_words_do_and_the_other_way_round() -> None:
    by_words = nearness(np.array([0.5, 0.5]), words([1, 2], [0, 0], 4.0, 1.0))
    by_meaning = nearness(np.array([0.5, 0.6]), words([2, 2], [1, 1], 4.0, 1.0))
    assert by_words[0] < by_words[1]
    assert by_meaning[0] < by_meaning[1]


# --- in a mind -------------------------------------------------------------------------------------------------------


def test_the_exact_cosine_and_the_words_say_how_near_a_memory_is(tmp_path: Path) -> None:
    with shaped(tmp_path, TALK) as actor_system:
        (hit, *_) = shape(actor_system, {"who": "zoe", "about": TEA}).hits
        assert said(shape(actor_system, {"who": "zoe", "about": TEA}, k=1)) == [TEA]
        assert hit.why["about"] > 0.8  # the cosine is 1, and BM25 of so short a text a little less than full marks
        assert said(shape(actor_system, {"about": "water for the garden", "kind": "turn"}, k=1)) == [GARDEN]
        assert next(iter(answers(shape(actor_system, {"about": "water for the garden", "who": "?"}), "who"))) == "max"


def test_facts_are_judged_by_the_memory_that_says_them(tmp_path: Path) -> None:
    with shaped(tmp_path, TALK) as actor_system:
        found = shape(actor_system, {"subject": "bob", "relation": "?", "about": "what he works at"})
        assert said(found)[0] == "Bob works at Acme"
        assert next(iter(answers(found, "relation"))) == "works at"


def test_patterns_without_texts_are_answered_without_reading_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shaped(tmp_path, TALK) as actor_system:
        asked = {"who": "zoe", "date": "2025-10-09", "kind": "?"}
        before = shape(actor_system, asked)

        def never(*arguments: Any) -> Any:
            raise AssertionError("words were read")

        monkeypatch.setattr(WordScores, "score", never)
        assert shape(actor_system, asked) == before


def test_where_no_memory_has_any_of_its_words_that_is_said(tmp_path: Path) -> None:
    told = "about: no memory has a word of it that tells anything, so its meaning alone told how near they are"
    with shaped(tmp_path, TALK) as actor_system:
        assert told in shape(actor_system, {"about": "quantum chromodynamics", "who": "?"}).degraded
        assert shape(actor_system, {"about": "chromodynamics of Paris", "who": "?"}).degraded == ()


def asked_without_a_model(home: Path, pattern: dict[str, str]) -> Shaped:
    def missing() -> Any:
        raise ModelMissing(path="/nowhere", why="it is gone")

    with shaped(home, TALK):
        pass
    with ActorHarness(home) as actor_system:
        actor_system.load = missing
        return shape(actor_system, pattern)


class Held(BagEncoder):
    """Another implementation of the same model, which embeds what is asked and nothing else."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self.implementation, self.model = "held", model

    def encode(self, windows: Any) -> Any:
        texts = [self._texts[window.token_ids[0]] for window in windows]
        if any(text in {to_hold.text.decode() for to_hold in TALK} for text in texts):
            raise OSError("held")
        return super().encode(windows)


def asked_of_a_held_model(home: Path, model: str, about: str) -> Shaped:
    with ActorHarness(home, encoder=Held(model)) as actor_system:
        return shape(actor_system, {"kind": "turn", "about": about})


def test_where_there_is_no_vector_yet_words_alone_say_it(tmp_path: Path) -> None:
    asked = "the water that it needs"
    with shaped(tmp_path, TALK) as actor_system:
        whole = shape(actor_system, {"kind": "turn", "about": asked})
    by_words = asked_without_a_model(tmp_path, {"kind": "turn", "about": asked})
    told = "about: 4 memories have no vectors yet; words alone spoke there"
    for model in (BagEncoder().model, BagEncoder("other").model):
        held = asked_of_a_held_model(tmp_path, model, asked)
        assert [hit.why for hit in held.hits] == [hit.why for hit in by_words.hits]
        assert told in held.degraded
    assert told not in whole.degraded


def test_what_was_said_before_and_after_is_told_by_the_turns_there_whatever_stands_between(tmp_path: Path) -> None:
    said_so = ("the tide is high", "mind the gate", "a lamp on the pier")
    talk = [event(number, "user", text, "s") for number, text in enumerate(said_so)]
    talk[1:1] = call(0, "s", "Bash", "Bash\ncommand: ls", "/p/a", "ok")
    with shaped(tmp_path, talk) as actor_system:
        (after,) = shape(actor_system, {"kind": "turn", "previous": "tide is high"}, k=1).hits
        assert after.text == "mind the gate"
        assert shape(actor_system, {"kind": "turn", "next": "a lamp on the pier"}, k=1).hits[0].text == "mind the gate"
        between = shape(
            actor_system, {"kind": "turn", "previous": "the tide is high", "next": "a lamp on the pier"}, k=3
        )
        assert between.hits[0].text == "mind the gate"
        assert between.hits[0].why.keys() == {"kind", "previous", "next"}
        assert shape(actor_system, {"kind": "turn", "previous": "mind the gate", "who": "nobody"}).hits == ()


def test_where_nothing_has_what_is_exact_nothing_is_near(tmp_path: Path) -> None:
    with shaped(tmp_path, TALK) as actor_system:
        for more in ({"subject": "alice"}, {"who": "nobody"}):
            found = shape(actor_system, {"about": "tea", "project": "?"} | more)
            assert (found.hits, found.answers) == ((), ())
        nowhere = shape(actor_system, {"about": "tea", "who": "?"}, until=1)
        assert (nowhere.hits, nowhere.answers, nowhere.searched) == ((), (), 0)
