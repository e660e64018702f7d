"""A topic is named by what its texts have in common and others have not, the same way every time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.text.topic_phrases import topic_phrases

WORDS = st.lists(st.sampled_from(["tide", "import", "harbour", "crane", "Ida", "the", "auth.py", "."]), max_size=8)
TOPICS = st.lists(st.lists(WORDS.map(" ".join), max_size=4), max_size=4)

TIDES = ["the tide import fails at night", "I mended the tide import", "a tide import takes an hour"]
CRANES = ["the harbour crane is rusty", "who paints the harbour crane", "a crane driver is ill"]


def test_a_topic_is_named_by_what_several_of_its_texts_say() -> None:
    (tides,) = topic_phrases([TIDES], 4)
    assert tides[0] == "tide import"
    (cranes,) = topic_phrases([CRANES], 4)
    assert cranes[0] == "harbour crane"


def test_what_several_texts_say_stands_before_what_one_repeats() -> None:
    repeats = "the velvet curtain, a velvet curtain, no velvet curtain, one velvet curtain"
    (named,) = topic_phrases([[repeats, "the hinge squeaks", "oil for the hinge"]], 4)
    assert named[:2] == ("hinge", "velvet curtain")


def test_what_every_topic_says_stands_behind_what_one_alone_says() -> None:
    tides, cranes = (
        [f"{text}, and the deployment waits" for text in texts]
        for texts in (["the tide rose"] * 3, ["a crane fell"] * 3)
    )
    first, second = topic_phrases([tides, cranes], 1)
    assert "deployment" not in (*first, *second)
    assert any("tide" in phrase for phrase in first)
    assert any("crane" in phrase for phrase in second)


def test_ignored_words_name_nothing() -> None:
    (named,) = topic_phrases([["Ida Velvet painted it", "Velvet curtain of Ida"]], 9, {"ida", "velvet"})
    assert {"ida", "velvet"}.isdisjoint(word for phrase in named for word in phrase.split())
    assert "curtain" in named


@given(TOPICS, st.integers(0, 5))
def test_phrases_are_few_share_no_word_and_do_not_depend_on_the_order_of_texts(
    topics: list[list[str]], most: int
) -> None:
    named = topic_phrases(topics, most, {"ida"})
    assert len(named) == len(topics)
    for texts, phrases in zip(topics, named, strict=True):
        words = [word for phrase in phrases for word in phrase.split()]
        assert len(phrases) <= most
        assert len(words) == len(set(words))
        assert set(words) <= {word for text in texts for word in text.lower().split()} - {"ida", "the", "."}
    assert topic_phrases([texts[::-1] for texts in topics], most, {"ida"}) == named
    assert topic_phrases(topics[::-1], most, {"ida"}) == named[::-1]


def test_of_no_topics_and_of_one_without_texts_there_are_no_phrases() -> None:
    assert topic_phrases([], 4) == []
    assert topic_phrases([[]], 4) == [()]
