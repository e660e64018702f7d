"""What says nearly the same is named, by its meaning and by its words; what does not, or is elsewhere, is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.protocol.changes import Place
from mnemic.actors.protocol.errors import InvalidValue, ModelMissing, UnknownScope
from mnemic.actors.protocol.messages import FindSimilar, Forget, SimilarFound
from mnemic.actors.recall.similarity import LEAST_MEANING, LEAST_WORDS, resemblance
from tests.society import NOWHERE, Society

TOKEN = "The session token lasts thirty minutes for everybody."
SHELF = Place(path="shelf", project=None, found="named")
LAMP = Place(path="shelf/lamp", project=None, found="named")


@pytest.fixture
def society(tmp_path: Path) -> Iterator[Society]:
    with Society(tmp_path) as society:
        yield society


def similar(society: Society, text: str, scope: str = "", **options: Any) -> SimilarFound:
    answer = society.ask(FindSimilar(text=text, scope=scope, **options))
    assert isinstance(answer, SimilarFound)
    return answer


def unembedded(society: Society) -> None:
    """Let the model be gone."""

    def missing() -> Any:
        raise ModelMissing(path="/nowhere", why="it is gone")

    society.load = missing


def test_a_changed_value_is_named_by_meaning_and_by_words(society: Society) -> None:
    old = society.keep(TOKEN, kind="note")
    society.keep("The ferry to the island leaves at seven.", kind="note")
    society.embed()
    (found,) = similar(society, TOKEN.replace("thirty", "fifteen")).similar
    assert (found.id, found.text, found.kind, found.superseded_by) == (old.id, TOKEN.encode(), "note", None)
    assert found.why["meaning"] >= LEAST_MEANING
    assert found.why["words"] >= LEAST_WORDS
    assert found.score == max(found.why.values()) <= 1


def test_the_same_in_other_words_is_named_by_its_meaning_alone(society: Society) -> None:
    old = society.keep("tide " * 30 + "harbour", kind="note")
    society.embed()
    (found,) = similar(society, "tide " * 30 + "kettle roof lantern").similar
    assert found.id == old.id
    assert found.why["words"] < LEAST_WORDS <= LEAST_MEANING <= found.why["meaning"]


def test_without_a_model_words_name_it_and_the_answer_says_so(society: Society) -> None:
    unembedded(society)
    old = society.keep(TOKEN, kind="decision")
    answer = similar(society, TOKEN.replace("thirty", "fifteen"))
    assert [(one.id, list(one.why)) for one in answer.similar] == [(old.id, ["words"])]
    assert [line for line in answer.degraded if "words alone" in line]


def test_what_is_only_about_the_same_is_not_named(society: Society) -> None:
    society.keep(TOKEN, kind="note")
    society.embed()
    assert similar(society, "The session of the choir lasts until everybody is hoarse.").similar == ()
    assert similar(society, "yes").similar == ()
    assert similar(society, "  ").similar == ()


def test_a_word_alone_is_no_near_duplicate(society: Society) -> None:
    society.keep("yes", kind="turn")
    society.embed()
    assert similar(society, "yes").similar == ()


def test_the_past_is_named_with_what_replaced_it(society: Society) -> None:
    old = society.keep(TOKEN, kind="note")
    new = society.keep("Sessions end after a quarter of an hour.", kind="note", supersedes=old.id)
    society.embed()
    assert [(one.id, one.superseded_by) for one in similar(society, TOKEN).similar] == [(old.id, new.id)]


def test_what_is_replaced_by_the_text_itself_is_not_named_nor_what_that_had_replaced(society: Society) -> None:
    first = society.keep(TOKEN, kind="note")
    second = society.keep(TOKEN.replace("thirty", "twenty"), kind="note", supersedes=first.id)
    third = society.keep(TOKEN.replace("thirty", "fifteen"), kind="note", supersedes=second.id)
    society.embed()
    assert similar(society, TOKEN.replace("thirty", "fifteen"), but=(third.id, second.id)).similar == ()
    assert similar(society, TOKEN.replace("thirty", "fifteen"), but=(third.id,)).similar == ()


def test_what_was_forgotten_and_what_tools_said_are_not_named(society: Society) -> None:
    gone = society.keep(TOKEN, kind="note")
    society.ask(Forget(ids=(gone.id,)))
    society.keep(TOKEN, kind="tool_call", session="t")
    society.embed()
    assert similar(society, TOKEN).similar == ()


def test_only_the_scope_and_what_is_below_it_is_looked_through(society: Society) -> None:
    society.keep(TOKEN, kind="note", place=NOWHERE)
    below = society.keep(TOKEN, kind="note", place=LAMP, session="l")
    society.keep("Postgres it is.", kind="decision", place=SHELF)
    society.embed()
    (found,) = similar(society, TOKEN, scope="shelf").similar
    assert (found.id, found.scope) == (below.id, "shelf/lamp")
    with pytest.raises(UnknownScope):
        similar(society, TOKEN, scope="boat")


def test_no_more_are_named_than_asked_for_the_nearest_first(society: Society) -> None:
    for number, word in enumerate(["thirty", "twenty", "ten", "fifty"]):
        society.keep(TOKEN.replace("thirty", word), kind="note", session=f"{number}")
    society.embed()
    found = similar(society, TOKEN, limit=2).similar
    assert found[0].text == TOKEN.encode()
    assert len(found) == 2
    assert found[0].score > found[1].score
    with pytest.raises(InvalidValue):
        similar(society, TOKEN, limit=0)


def test_a_long_text_that_holds_the_note_is_named_by_its_window_and_shown_there(society: Society) -> None:
    long = ("A wave. " * 250)[:2000] + TOKEN + " " * (200 - len(TOKEN)) + "Another wave. " * 200
    old = society.keep(long, kind="note")
    society.embed()
    (found,) = similar(society, TOKEN).similar
    assert (found.id, found.size_bytes, list(found.why)) == (old.id, len(long), ["meaning"])
    assert b"session token" in found.text
    assert long.encode()[found.start_byte :].startswith(found.text)
    assert found.start_byte > 0
    assert len(found.text) <= 400


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")))
def test_resemblance_is_symmetric_one_for_the_same_and_zero_for_nothing_shared(one: set[str], other: set[str]) -> None:
    value = resemblance(one, other)
    assert value == resemblance(other, one)
    assert 0 <= value <= 1
    assert (value == 1) == (one == other != set())
    assert (value == 0) == (not one & other)
