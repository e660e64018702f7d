"""What says nearly the same is named, by its meaning and by its words; what does not, or is elsewhere, is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.kernel.errors import InvalidValue, ModelMissing, UnknownScope
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.recall.messages import FindSimilar, SimilarFound
from mnemic.actors.recall.similarity import LEAST_COSINE, LEAST_RESEMBLANCE, resemblance
from tests.harness import NOWHERE, ActorHarness

TOKEN = "The session token lasts thirty minutes for everybody."
SHELF = ScopeRef(path="shelf", project=None, found="named")
LAMP = ScopeRef(path="shelf/lamp", project=None, found="named")


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as actor_system:
        yield actor_system


def similar(actor_system: ActorHarness, text: str, scope: str = "", **options: Any) -> SimilarFound:
    answer = actor_system.ask(FindSimilar(text=text, scope=scope, **options))
    assert isinstance(answer, SimilarFound)
    return answer


def unembedded(actor_system: ActorHarness) -> None:
    """Let the model be gone."""

    def missing() -> Any:
        raise ModelMissing(path="/nowhere", why="it is gone")

    actor_system.load = missing


def test_a_changed_value_is_named_by_meaning_and_by_words(actor_system: ActorHarness) -> None:
    old = actor_system.keep(TOKEN, kind="note")
    actor_system.keep("The ferry to the island leaves at seven.", kind="note")
    actor_system.embed()
    (found,) = similar(actor_system, TOKEN.replace("thirty", "fifteen")).similar
    assert (found.id, found.data, found.kind, found.superseded_by) == (old.id, TOKEN.encode(), "note", None)
    assert found.why["meaning"] >= LEAST_COSINE
    assert found.why["words"] >= LEAST_RESEMBLANCE
    assert found.score == max(found.why.values()) <= 1


def test_the_same_in_other_words_is_named_by_its_meaning_alone(actor_system: ActorHarness) -> None:
    old = actor_system.keep("tide " * 30 + "harbour", kind="note")
    actor_system.embed()
    (found,) = similar(actor_system, "tide " * 30 + "kettle roof lantern").similar
    assert found.id == old.id
    assert found.why["words"] < LEAST_RESEMBLANCE <= LEAST_COSINE <= found.why["meaning"]


def test_without_a_model_words_name_it_and_the_answer_says_so(actor_system: ActorHarness) -> None:
    unembedded(actor_system)
    old = actor_system.keep(TOKEN, kind="decision")
    answer = similar(actor_system, TOKEN.replace("thirty", "fifteen"))
    assert [(one.id, list(one.why)) for one in answer.similar] == [(old.id, ["words"])]
    assert [line for line in answer.degraded if "words alone" in line]


def test_what_is_only_about_the_same_is_not_named(actor_system: ActorHarness) -> None:
    actor_system.keep(TOKEN, kind="note")
    actor_system.embed()
    assert similar(actor_system, "The session of the choir lasts until everybody is hoarse.").similar == ()
    assert similar(actor_system, "yes").similar == ()
    assert similar(actor_system, "  ").similar == ()


def test_a_word_alone_is_no_near_duplicate(actor_system: ActorHarness) -> None:
    actor_system.keep("yes", kind="turn")
    actor_system.embed()
    assert similar(actor_system, "yes").similar == ()


def test_the_past_is_named_with_what_replaced_it(actor_system: ActorHarness) -> None:
    old = actor_system.keep(TOKEN, kind="note")
    new = actor_system.keep("Sessions end after a quarter of an hour.", kind="note", supersedes=old.id)
    actor_system.embed()
    assert [(one.id, one.superseded_by) for one in similar(actor_system, TOKEN).similar] == [(old.id, new.id)]


def test_what_is_replaced_by_the_text_itself_is_not_named_nor_what_that_had_replaced(
    actor_system: ActorHarness,
) -> None:
    first = actor_system.keep(TOKEN, kind="note")
    second = actor_system.keep(TOKEN.replace("thirty", "twenty"), kind="note", supersedes=first.id)
    third = actor_system.keep(TOKEN.replace("thirty", "fifteen"), kind="note", supersedes=second.id)
    actor_system.embed()
    assert similar(actor_system, TOKEN.replace("thirty", "fifteen"), exclude=(third.id, second.id)).similar == ()
    assert similar(actor_system, TOKEN.replace("thirty", "fifteen"), exclude=(third.id,)).similar == ()


def test_what_was_forgotten_and_what_tools_said_are_not_named(actor_system: ActorHarness) -> None:
    gone = actor_system.keep(TOKEN, kind="note")
    actor_system.ask(Forget(ids=(gone.id,)))
    actor_system.keep(TOKEN, kind="tool_call", session="t")
    actor_system.embed()
    assert similar(actor_system, TOKEN).similar == ()


def test_only_the_scope_and_what_is_below_it_is_looked_through(actor_system: ActorHarness) -> None:
    actor_system.keep(TOKEN, kind="note", place=NOWHERE)
    below = actor_system.keep(TOKEN, kind="note", place=LAMP, session="l")
    actor_system.keep("Postgres it is.", kind="decision", place=SHELF)
    actor_system.embed()
    (found,) = similar(actor_system, TOKEN, scope="shelf").similar
    assert (found.id, found.scope) == (below.id, "shelf/lamp")
    with pytest.raises(UnknownScope):
        similar(actor_system, TOKEN, scope="boat")


def test_no_more_are_named_than_asked_for_the_nearest_first(actor_system: ActorHarness) -> None:
    for number, word in enumerate(["thirty", "twenty", "ten", "fifty"]):
        actor_system.keep(TOKEN.replace("thirty", word), kind="note", session=f"{number}")
    actor_system.embed()
    found = similar(actor_system, TOKEN, limit=2).similar
    assert found[0].data == TOKEN.encode()
    assert len(found) == 2
    assert found[0].score > found[1].score
    with pytest.raises(InvalidValue):
        similar(actor_system, TOKEN, limit=0)


def test_a_long_text_that_holds_the_note_is_named_by_its_window_and_shown_there(actor_system: ActorHarness) -> None:
    long = ("A wave. " * 250)[:2000] + TOKEN + " " * (200 - len(TOKEN)) + "Another wave. " * 200
    old = actor_system.keep(long, kind="note")
    actor_system.embed()
    (found,) = similar(actor_system, TOKEN).similar
    assert (found.id, found.size_bytes, list(found.why)) == (old.id, len(long), ["meaning"])
    assert b"session token" in found.data
    assert long.encode()[found.start_byte :].startswith(found.data)
    assert found.start_byte > 0
    assert len(found.data) <= 400


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")))
def test_resemblance_is_symmetric_one_for_the_same_and_zero_for_nothing_shared(one: set[str], other: set[str]) -> None:
    value = resemblance(one, other)
    assert value == resemblance(other, one)
    assert 0 <= value <= 1
    assert (value == 1) == (one == other != set())
    assert (value == 0) == (not one & other)
