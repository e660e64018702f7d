"""What several facts together relate is followed from the third name, as probably as a walk along them ends there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.shape.messages import Shaped
from mnemic.actors.shape.questions.fact_paths import path_name
from mnemic.algorithms.knowledge.triples import Triple
from tests.harness import ActorHarness
from tests.shaped import event, shape, shaped

FACTS = [
    *("oslo | is | capital of norway", "lima | is | capital of peru"),
    *("ana | live in | oslo", "bob | live in | lima", "bob | live in | cusco", "cusco | is in | peru"),
    *("harbour | use | postgres", "postgres | run on | heron", "heron | stand in | attic"),
    *("quay | use | redis", "redis | run on | kestrel", "quay | use | kafka", "kafka | run on | wren"),
    *("ana's sister | live in | rome", "bob's sister | live in | bonn"),
    "kestrel | stand in | cellar",
]


def facts(text: str, speaker: str | None) -> Sequence[Triple]:
    """A text that says one fact in three parts."""
    parts = text.split(" | ")
    return [Triple(*parts)] if len(parts) == 3 else []


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    events = [event(number, "user", text, f"s{number}") for number, text in enumerate(FACTS)]
    events.append(event(100, "user", "wren | stand in | belfry", "far", scope="far"))
    with shaped(tmp_path_factory.mktemp("mind"), events, extract=facts) as actor_system:
        yield actor_system


def solved(mind: ActorHarness, names: str, **more: object) -> Shaped:
    return shape(mind, analogy=tuple(names.split()), **more)


def answered(mind: ActorHarness, names: str, **more: object) -> dict[str, float]:
    return {one.filler: one.confidence for one in solved(mind, names, **more).answers}


def test_a_name_that_is_a_part_of_another_is_related_by_it(mind: ActorHarness) -> None:
    found = solved(mind, "oslo norway lima")
    assert [(one.role, one.filler, one.confidence) for one in found.answers] == [("is, of capital", "peru", 1.0)]
    assert [hit.text for hit in found.hits] == ["lima | is | capital of peru"]
    assert answered(mind, "norway oslo peru") == {"lima": 1.0}
    assert answered(mind, "ana rome bob") == {"bonn": 1.0}


def test_several_facts_are_gone_along_in_their_order_and_their_memories_told(mind: ActorHarness) -> None:
    found = solved(mind, "harbour heron quay")
    assert {one.filler: one.confidence for one in found.answers} == {"kestrel": 0.5, "wren": 0.5}
    assert {one.support for one in found.answers} == {2}
    assert len(found.hits) == 4
    assert answered(mind, "harbour attic quay", scope="work") == {"cellar": 0.5}


def test_only_what_is_looked_through_is_gone_along(mind: ActorHarness) -> None:
    assert answered(mind, "harbour attic quay", scope="*") == {"belfry": 0.5, "cellar": 0.5}
    assert answered(mind, "harbour heron quay", session="s9") == {}


def test_where_no_path_joins_the_names_nothing_is_guessed(mind: ActorHarness) -> None:
    found = solved(mind, "oslo kestrel lima")
    assert found.answers == ()
    assert found.degraded == (
        "analogy: nothing in memory relates the first two in a way in which the third has anything",
    )
    with pytest.raises(InvalidValue, match="no memory"):
        solved(mind, "oslo norway nowhere")


def test_a_path_is_told_in_words() -> None:
    assert path_name((("live in", True), ("is", True), ("capital", False))) == "live in, is, of capital"
