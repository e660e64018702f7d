"""The best are looked at again: by words near in meaning, by what stands beside them, by what is written as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.actors.index.vocabulary import compounds
from mnemic.actors.kernel.errors import ModelUnusable
from mnemic.actors.meaning.messages import EmbedWords
from mnemic.actors.recall.messages import Recalled, SignalName
from mnemic.actors.store.messages import Rebuild
from mnemic.algorithms.retrieval.calibration import FULL, MEANING, WORDS
from tests.harness import START_US, ActorHarness, BagEncoder

NEAR = {"choir": "sings", "vessel": "boat", "rowers": "boat"}


class WordNetEncoder(BagEncoder):
    """Takes some words for near to others: their vectors have a cosine of .8."""

    fails = False

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        if self.fails:
            raise ModelUnusable(path="model", why="it is gone")
        own = super().word_vectors(words)
        other = super().word_vectors([NEAR.get(word, word) for word in words])
        mixed = 0.6 * own + 0.8 * other
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        mixed[[word.isalpha() and not set(word) & set("aeiou") for word in words]] *= 0.5  # as of pieces
        return mixed


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path, encoder=WordNetEncoder()) as actor_system:
        yield actor_system


def keep(actor_system: ActorHarness, *said: tuple[str, str]) -> None:
    """Keep texts of sessions, a minute apart, embedded."""
    for number, (session, text) in enumerate(said):
        actor_system.keep(text, session=session, said_at=START_US + number * 60_000_000)
    actor_system.embed()


def shares(recalled: Recalled, text: str) -> dict[str, float]:
    """What each signal contributed to a text."""
    (hit,) = [hit for hit in recalled.hits if hit.text == text]
    assert hit.score == pytest.approx(1 / (1 + np.exp(-sum(hit.why.values()))))
    curve = MEANING if hit.why.keys() == {"base", "dense"} else FULL
    assert hit.why["base"] == curve.intercept
    return {name: share / curve.slope for name, share in hit.why.items() if name != "base"}


def test_a_word_is_met_by_one_of_nearly_the_same_meaning(actor_system: ActorHarness) -> None:
    keep(actor_system, ("a", "Nadia sings on Tuesdays"), ("b", "Nadia paints on Fridays"))
    recalled = actor_system.recall("the choir of Nadia")
    near, far = (shares(recalled, text)["lexical"] for text in ("Nadia sings on Tuesdays", "Nadia paints on Fridays"))
    assert near > far > 0
    assert recalled.degraded == ()


@pytest.mark.parametrize("question", ["how heavy is Vessel", "how heavy is vessel9"])
def test_names_and_numbers_are_met_by_themselves_alone(actor_system: ActorHarness, question: str) -> None:
    NEAR["vessel9"] = "boat"
    keep(actor_system, ("a", "the boat is new"), ("b", "the mast is new"))
    recalled = actor_system.recall(question)
    assert shares(recalled, "the boat is new")["lexical"] == 0
    assert shares(actor_system.recall("how heavy is the vessel"), "the boat is new")["lexical"] > 0


def test_a_capital_makes_no_name_where_nouns_are_written_so(actor_system: ActorHarness) -> None:
    keep(actor_system, ("a", "das ist ein boat und es ist neu"), ("b", "das ist ein Mast und er ist neu"))
    recalled = actor_system.recall("Wie schwer ist das Vessel?")
    assert shares(recalled, "das ist ein boat und es ist neu")["lexical"] > 0


def test_what_is_written_as_one_is_met_as_one(actor_system: ActorHarness) -> None:
    keep(
        actor_system,
        ("a", "the booking by boat has a start, a boat and a start"),
        ("b", "an index booking_by_boat_and_start made it fast"),
    )
    recalled = actor_system.recall("booking_by_boat_and_start")
    parts, whole = (
        shares(recalled, hit.text)["lexical"] for hit in sorted(recalled.hits, key=lambda hit: -len(hit.text))
    )
    assert whole > parts > 0


def test_a_reply_counts_with_what_it_replies_to_as_far_as_both_are_of_one_matter(actor_system: ActorHarness) -> None:
    keep(
        actor_system,
        ("a", "should the club boat have a new keel this winter"),
        ("a", "yes the club boat gets one this winter"),
        ("b", "the kettle whistles"),
        ("b", "the stove is warm today"),
        ("c", "bread and jam"),
    )
    recalled = actor_system.recall("new keel")
    reply = shares(recalled, "yes the club boat gets one this winter")
    assert reply["lexical"] == 0
    assert reply["session"] > shares(recalled, "the stove is warm today")["session"]
    assert "session" not in shares(actor_system.recall("new keel", signals=("dense", "lexical")), "bread and jam")


def test_a_word_counts_wherever_it_stands_in_a_long_text_and_a_stop_word_that_is_asked_for(
    actor_system: ActorHarness,
) -> None:
    late = "word " * 5_000 + "zebrafish"
    keep(actor_system, ("a", late), ("b", "the kettle whistles"), ("c", "we met at the harbour"))
    (found,) = [hit for hit in actor_system.recall("zebrafish").hits if hit.size_bytes == len(late)]
    assert found.why["lexical"] > 0
    assert shares(actor_system.recall("the"), "the kettle whistles")["lexical"] > 0


def test_a_question_that_is_pasted_is_looked_at_in_part(actor_system: ActorHarness) -> None:
    keep(actor_system, ("a", "the boat is at src/boats/boat_7.py"), ("b", "the kettle whistles"))
    pasted = " ".join(f"src/boats/boat_{number}.py boat{number}" for number in range(3_000))
    assert actor_system.recall(pasted).hits[0].text == "the boat is at src/boats/boat_7.py"
    assert len(actor_system.recall("x" * 200_000 + " kettle").hits) == 2


def test_words_alone_speak_by_their_own_curve_until_meaning_is_there(actor_system: ActorHarness) -> None:
    actor_system.encoder.chokes_on = lambda text: ValueError() if "in March" in text or "cutlery" in text else None
    actor_system.keep("the harbour pump was replaced in March", session="a")
    actor_system.embed()
    recalled = actor_system.recall("when was the harbour pump replaced by Nadia", trace=True)
    assert recalled.hits[0].why["base"] == WORDS.intercept
    assert not recalled.nothing_fits
    assert "dense" not in recalled.candidates[0].raw
    keep(actor_system, ("b", "the harbour pump is loud"))
    keep(actor_system, ("c", "xylophone and cutlery"))
    traced = actor_system.recall("the harbour pump", trace=True).candidates
    assert sorted("dense" in one.raw for one in traced) == [False, False, True]


def test_nothing_of_a_neighbour_counts_that_is_not_looked_through(actor_system: ActorHarness) -> None:
    keep(actor_system, ("a", "should the boat have a new keel"), ("a", "yes the boat gets one"))
    recalled = actor_system.recall("new keel", since=START_US + 1)
    assert [hit.text for hit in recalled.hits] == ["yes the boat gets one"]
    assert shares(recalled, "yes the boat gets one")["session"] == pytest.approx(0.0)


def test_meaning_alone_is_the_plain_cosine(actor_system: ActorHarness) -> None:
    texts = ["should the boat have a new keel", "yes the boat gets one", "the kettle whistles"]
    keep(actor_system, *(("a", text) for text in texts))
    recalled = actor_system.recall("the boat gets", signals=("dense",))
    encoder = actor_system.encoder
    windows = [encoder.windows(text, 1)[0][0] for text in ["the boat gets", *texts]]
    asked, *vectors = encoder.encode(windows)
    for text, vector in zip(texts, vectors, strict=True):
        assert shares(recalled, text) == {"dense": pytest.approx(2 * float(asked @ vector), abs=1e-3)}


def test_without_the_vectors_of_words_the_same_ones_count_and_it_is_said(actor_system: ActorHarness) -> None:
    keep(actor_system, ("a", "Nadia sings on Tuesdays"), ("b", "Nadia paints on Fridays"))
    assert isinstance(actor_system.encoder, WordNetEncoder)
    actor_system.encoder.fails = True
    recalled = actor_system.recall("the choir of Nadia")
    assert [
        one for one in recalled.degraded if one.startswith("words: ") and one.endswith("Only the same words counted.")
    ]
    near, far = (shares(recalled, text)["lexical"] for text in ("Nadia sings on Tuesdays", "Nadia paints on Fridays"))
    assert near == far > 0
    actor_system.encoder.fails = False
    assert actor_system.recall("the choir of Nadia").degraded == ()


def test_a_question_of_words_that_nobody_knows_is_less_probably_answered_by_all(actor_system: ActorHarness) -> None:
    keep(actor_system, ("a", "Nadia sings on Tuesdays"), ("b", "zxcv is a name, Nadia says"), ("c", "a kettle"))

    def base(question: str) -> float:
        (told,) = {hit.why["base"] for hit in actor_system.recall(question).hits}
        return told

    assert base("the choir of Nadia") == FULL.intercept
    assert base("sdfgh qwrty") == pytest.approx(FULL.intercept - 1)  # pieces alone, and no memory holds them
    assert FULL.intercept - 1 < base("the sdfgh of Nadia") < FULL.intercept
    assert base("zxcv") == FULL.intercept  # which a memory holds
    actor_system.encoder.fails = True  # vectors that are known stay
    assert base("hjklhjkl") == FULL.intercept
    actor_system.encoder.fails = False


@pytest.mark.parametrize("signals", [("lexical",), ("lexical", "session"), ("dense", "lexical", "session")])
def test_words_that_most_memories_hold_speak_for_hardly_any(
    actor_system: ActorHarness, signals: tuple[SignalName, ...]
) -> None:
    texts = ["the boat is new", "the kettle is loud", "the crane is slow", "the office is shut", "a Walrus sleeps"]
    keep(actor_system, *((str(number), text) for number, text in enumerate(texts)))
    common, rare = (actor_system.recall(word, signals=signals).hits[0] for word in ("the", "walrus"))
    assert common.why["lexical"] < 0.3 * rare.why["lexical"]


def test_a_word_is_embedded_once(actor_system: ActorHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    before = WordNetEncoder.word_vectors

    def spy(self: WordNetEncoder, words: Sequence[str]) -> NDArray[np.float32]:
        asked.extend(words)
        return before(self, words)

    monkeypatch.setattr(WordNetEncoder, "word_vectors", spy)
    keep(actor_system, ("a", "Nadia sings on Tuesdays"))
    for _ in range(2):
        actor_system.recall("the choir of Nadia")
    keep(actor_system, ("b", "Nadia paints on Tuesdays"))
    actor_system.recall("the choir of Nadia")
    assert sorted(asked) == ["choir", "nadia", "paints", "sings", "tuesdays"]


def test_what_was_erased_or_rebuilt_is_read_anew(actor_system: ActorHarness) -> None:
    keep(actor_system, ("a", "Nadia sings on Tuesdays"))
    before = actor_system.recall("the choir of Nadia")
    actor_system.ask(Rebuild())
    actor_system.embed()
    assert shares(actor_system.recall("the choir of Nadia"), "Nadia sings on Tuesdays") == pytest.approx(
        shares(before, "Nadia sings on Tuesdays")
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see runtime/store/Reader.py", ["runtime/store/reader.py", "reader.py"]),
        ("SLP-4093 at 04:10 in /var/log", ["slp-4093", "04:10", "var/log"]),
        ("a plain sentence, with an end.", []),
        ("snake_case and camelCase", ["snake_case"]),
        ("_private/x and a/_b", ["private/x", "a/_b"]),
    ],
)
def test_what_is_written_as_one(text: str, found: list[str]) -> None:
    assert compounds(text) == found


def test_the_embedder_gives_words_by_themselves(actor_system: ActorHarness) -> None:
    answer = actor_system.ask(EmbedWords(words=("boat", "vessel", "")))
    boat, vessel, _ = np.frombuffer(answer.vectors, np.float32).reshape(3, -1)
    assert boat @ vessel == pytest.approx(0.8)
    assert answer.encoder.implementation == actor_system.encoder.implementation
