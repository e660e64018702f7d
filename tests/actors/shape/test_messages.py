"""What programs ask by structure is taken where it can be read, and refused by the name of what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.shape.messages import Shape, analogy_names, pattern_texts, validate_shape


@given(st.dictionaries(st.text(), st.text()))
def test_a_pattern_of_texts_is_taken_as_it_is(pattern: dict[str, str]) -> None:
    assert pattern_texts(pattern) == pattern


@given(st.integers())
def test_a_number_is_taken_as_its_text_whole_or_not(number: int) -> None:
    assert pattern_texts({"size": number}) == {"size": str(number)}
    assert pattern_texts({"size": 0.5}) == {"size": "0.5"}
    assert pattern_texts({"hour": 14.0}) == {"hour": "14"}
    assert pattern_texts({"worked": True, "x": False}) == {"worked": "yes", "x": "no"}


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("who=maya", "the pattern cannot be 'who=maya': it is no mapping"),
        (None, "the pattern cannot be None: it is no mapping"),
        ([("who", "maya")], "it is no mapping"),
        ({"who": None}, "the role who cannot be None: it is no text"),
        ({"who": ["maya"]}, "the role who cannot be \"['maya']\": it is no text"),
        ({None: "maya"}, "a role cannot be None: it is no text"),
    ],
)
def test_what_is_no_pattern_is_refused_by_what_is_wrong_with_it(pattern: Any, said: str) -> None:
    with pytest.raises(InvalidValue) as error:
        pattern_texts(pattern)
    assert str(error.value).find(said) >= 0


def test_what_is_not_text_is_quoted_by_its_beginning_too() -> None:
    with pytest.raises(InvalidValue) as error:
        pattern_texts({"who": ["maya"] * 100_000})
    assert len(str(error.value)) < 500


def test_a_role_is_quoted_by_its_beginning_too() -> None:
    with pytest.raises(InvalidValue) as error:
        pattern_texts({"who" * 100_000: None})
    assert len(str(error.value)) < 500


def test_what_asks_for_nothing_is_told_of_a_pattern_alone_for_not_every_face_takes_an_analogy() -> None:
    with pytest.raises(InvalidValue) as error:
        validate_shape(Shape())
    assert error.value.remedy_text == 'Give a pattern, such as {"file": "?"}.'


@pytest.mark.parametrize("given", ["auth.py", b"abc", 3, None, {"a": 1, "b": 2, "c": 3}])
def test_names_are_several_texts_and_not_one(given: Any) -> None:
    with pytest.raises(InvalidValue, match="it is no list of names"):
        analogy_names(given)
    assert analogy_names(["a", "b", "c"]) == analogy_names(one for one in "abc") == ("a", "b", "c")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "the question cannot be 'nothing': it asks for nothing."),
        (
            {"pattern": {"who": "?"}, "analogy": ("a", "b", "c")},
            "the question cannot be 'a pattern and an analogy': these are two questions.",
        ),
        ({"analogy": ("a", "b")}, "the analogy cannot be 'a b': it has not three names, or an empty one."),
        ({"analogy": ("a",)}, "the analogy cannot be 'a': it has not three names, or an empty one."),
        (
            {"analogy": ("", "b c", "d")},
            "the analogy cannot be \"'' 'b c' d\": it has not three names, or an empty one.",
        ),
        ({"analogy": ("a", " ", "c")}, "it has not three names, or an empty one."),
        ({"analogy": ("a", "", "")}, "it has not three names, or an empty one."),
        ({"pattern": {"who": "?"}, "k": 0}, "k cannot be 0: it is less than 1."),
        ({"pattern": {"who": 3}}, "pattern cannot be \"{'who': 3}\": of something in it, it is a whole number."),
        ({"pattern": {"who": "?"}, "session": 3}, "session cannot be 3: it is a whole number."),
    ],
)
def test_what_is_no_question_is_refused_whatever_is_in_memory(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue) as error:
        validate_shape(Shape(**asked))
    assert said in str(error.value)


def test_a_question_is_let_through() -> None:
    validate_shape(Shape(pattern={"who": "?"}, k=1, session="s", since=0, until=1))
    validate_shape(Shape(analogy=("a", "b", "c")))
