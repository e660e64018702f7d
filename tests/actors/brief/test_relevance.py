"""Beside a prompt an exact key makes sure in a small mind too, and what only asks or reports the same is no answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.brief.messages import Brief, Briefed
from mnemic.actors.kernel.scope_paths import ScopeRef
from tests.harness import START_US, ActorHarness

MINUTE_US = 60_000_000
PLACE = ScopeRef(path="tide", project=None, found="named")
TALK = (
    ("user", "the unit dies at start with 217/USER, any idea"),
    ("tool", "tide.service: Main process exited, code=exited, status=217/USER"),
    ("assistant", "Let me look whether 217/USER is about the home folder."),
    ("assistant", "217/USER means that the account of User= is not there: I made the account tide, and the unit runs."),
    ("user", "that's it, it runs again"),
)


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as mind:
        for number in range(12):
            keep(mind, number, f"we painted boat {number} today", session="paint")
        yield mind


def keep(mind: ActorHarness, minute: int, text: str, **fields: Any) -> bytes:
    given = {"place": PLACE, "session": "old", "said_at": START_US + minute * MINUTE_US}
    kept: bytes = mind.keep(text, **(given | fields)).id
    mind.embed()
    return kept


def talk(mind: ActorHarness, *parts: int) -> list[bytes]:
    """Keep some turns of the talk; what a tool says is its answer."""
    return [
        keep(mind, 100 + part, TALK[part][1], role=TALK[part][0], kind="tool_result" if part == 1 else "turn")
        for part in parts
    ]


def prompted(mind: ActorHarness, prompt: str, session: str = "new") -> Briefed:
    told = mind.ask(Brief(occasion="prompt", place=PLACE, assistant="codex", session=session, prompt=prompt))
    assert isinstance(told, Briefed)
    return told


def test_what_tells_of_an_exact_key_is_told_and_not_who_reports_or_tries_it(mind: ActorHarness) -> None:
    ids = talk(mind, 0, 1, 2, 3)
    assert prompted(mind, "deploy: 217/USER again, help").memories == (ids[3],)
    assert prompted(mind, "deploy: 217/USER again, help").text == "", "once a session"
    assert prompted(mind, "deploy: 203/EXEC, help", "other").text == "", "another key"
    assert prompted(mind, "does the USER of 217 boats paint again", "third").text == "", "its words alone"


def test_a_report_alone_is_no_answer(mind: ActorHarness) -> None:
    talk(mind, 0, 1, 2)
    assert prompted(mind, "deploy: 217/USER again, help").text == ""


def test_who_asks_what_helped_is_told_what_followed_the_report(mind: ActorHarness) -> None:
    talk(mind, 0)
    mended = keep(mind, 103, "The account of the unit was missing: I made it, and the unit runs.", role="assistant")
    talk(mind, 4)
    assert prompted(mind, "how did we fix the 217/USER of the unit?").memories == (mended,)
    assert prompted(mind, "217/USER again, help", "other").text == "", "who does not ask that is not"


def test_a_key_that_many_memories_hold_makes_nothing_sure(mind: ActorHarness) -> None:
    talk(mind, 3)
    for number in range(12):
        keep(mind, 200 + number, f"217/USER came up in review {number}")
    assert prompted(mind, "deploy: 217/USER again, help").text == ""
