"""A rule that was said 40 times takes one line of a session's start, and all else that was told is still told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemic.actors.brief.messages import Brief, Briefed
from mnemic.actors.kernel.errors import ModelMissing
from mnemic.actors.kernel.events import Event, to_bytes
from mnemic.actors.kernel.scope_paths import ScopeRef
from tests.clocks import ManualClock
from tests.harness import ActorHarness
from tests.waiting import until

DATA = Path(__file__).parents[2] / "fixtures/developers"
AFTER_US = 1_830_000_000_000_000
HOUR_US = 3_600_000_000
RULE = "Always run the linter before you commit, and tell me what it said about the files you touched."
SAID = (RULE, f"Please {RULE[0].lower()}{RULE[1:]}", RULE.lower(), RULE.replace(".", "!"))


def conversations(project: str) -> list[Event]:
    """What was said, as transcripts hold it: in turns alone."""
    return [
        Event(
            assistant=session["assistant"],
            session=session["id"],
            kind="turn" if turn["kind"] in ("decision", "note") else turn["kind"],
            role=turn["role"],
            text=to_bytes(turn["text"]),
            said_at=int(datetime.fromisoformat(turn["at"]).timestamp()) * 1_000_000,
            scope=project,
        )
        for session in json.loads((DATA / f"{project}.json").read_text())["sessions"]
        for turn in session["turns"]
    ]


def ruled(project: str, last_us: int, times: range) -> Iterator[Event]:
    """The rule, in conversations of their own before the last one, and what was replied."""
    for number in times:
        given: dict[str, Any] = {"assistant": "claude-code", "session": f"rule {number}", "kind": "turn"}
        at = last_us - 2 * number * HOUR_US
        yield Event(**given, role="user", text=to_bytes(SAID[number % 4]), said_at=at, scope=project)
        yield Event(**given, role="assistant", text=b"I will.", said_at=at + 1_000_000, scope=project)


def start(mind: ActorHarness, project: str, source: str, events: list[Event]) -> Briefed:
    """Take in more, and start a session."""
    mind.sources[source] = events
    mind.take(source)
    until(lambda: not mind.supervisor.is_busy())
    place = ScopeRef(path=project, project=None, found="named")
    told = mind.ask(Brief(occasion="session-start", place=place, assistant="codex", session="new"))
    assert isinstance(told, Briefed)
    return told


def lines(told: Briefed) -> tuple[list[str], list[str]]:
    """What was told of the rule, and of all else."""
    found = [line for line in told.text.splitlines() if line.startswith("- ")]
    of_rule = [line for line in found if "linter before you commit" in line.lower()]
    return of_rule, [line for line in found if line not in of_rule]


def missing() -> Any:
    raise ModelMissing(path="/nowhere", why="meaning tells nothing here")


@pytest.mark.parametrize("project", ["atlas", "ferry"])
def test_a_rule_that_was_said_forty_times_takes_one_line_and_nothing_from_the_rest(
    tmp_path: Path, project: str
) -> None:
    said = conversations(project)
    last_us = max(event.said_at or 0 for event in said) - HOUR_US
    fork = [msgspec.structs.replace(event, session="a fork") for event in said if event.session == said[-1].session]
    with ActorHarness(tmp_path, clock=ManualClock(AFTER_US)) as mind:
        mind.load = missing
        once = start(mind, project, "once", [*said, *ruled(project, last_us, range(1))])
        often = start(mind, project, "often", [*ruled(project, last_us, range(1, 40)), *fork])
    (rule,), rest = lines(once)
    assert len(rest) >= 2
    assert f'the user said: "{SAID[0]}"' in rule
    assert lines(often) == ([rule.replace("said:", "said 40 times:")], rest)
    assert once.tokens < often.tokens <= once.tokens + 3
