"""A question that its user typed minutes ago is no answer to the recall that it led to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clocks import ManualClock
from tests.harness import START_US, ActorHarness

MINUTE_US = 60_000_000
NOW_US = START_US + 1_000 * MINUTE_US
ASKED = "which lock does the north gate need?"


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path, clock=ManualClock(NOW_US)) as mind:
        keep(mind, "the north gate has a brass lock since the flood", 900)
        yield mind


def keep(mind: ActorHarness, text: str, minutes_ago: float, role: str = "user") -> None:
    mind.keep(text, role=role, session=f"{minutes_ago}", said_at=NOW_US - round(minutes_ago * MINUTE_US))
    mind.embed()


def found(mind: ActorHarness, question: str = ASKED) -> list[str]:
    return [hit.data.decode() for hit in mind.recall(question).hits]


@pytest.mark.parametrize(
    "question",
    [ASKED, "north gate lock", "which brass lock does the north gate by the river need?"],
    ids=["equal", "all its words in the prompt", "all of the prompt's words in it"],
)
def test_a_prompt_of_the_last_minutes_that_only_asks_is_left_out(mind: ActorHarness, question: str) -> None:
    keep(mind, ASKED, 2)
    assert found(mind, question) == ["the north gate has a brass lock since the flood"]


@pytest.mark.parametrize(
    ("text", "minutes_ago", "role"),
    [
        (ASKED, 16, "user"),
        (ASKED, -1, "user"),
        (ASKED, 2, "assistant"),
        ("which lock does the north gate need? the gate needs the iron one", 2, "user"),
        ("the north gate needs the iron lock", 2, "user"),
        ("which lock does the south door need?", 2, "user"),
    ],
    ids=["earlier", "later", "another speaker", "it tells something", "it asks nothing", "other words"],
)
def test_whatever_else_was_said_is_found(mind: ActorHarness, text: str, minutes_ago: float, role: str) -> None:
    keep(mind, text, minutes_ago, role)
    assert text in found(mind)
