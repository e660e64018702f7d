"""A conversation had all of a pattern where each part of it was in some memory of it; a wrong part costs rank."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.shape.messages import Shaped
from tests.harness import ActorHarness
from tests.shaped import MINUTE_US, call, event, shape, shaped


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    events = []
    for number, (tool, file, who) in enumerate(
        (
            ("cargo", "/p/oar.rs", "ana"),
            ("cargo", "/p/keel.rs", "ana"),
            ("npm", "/p/oar.rs", "ben"),
            ("npm", "/p/a.rs", "eve"),
        )
    ):
        start, session = 1_440 * number, f"s{number}"
        events += call(start, session, "Bash", f"Bash\ncommand: {tool} build", "/p/Makefile", "ok")
        events += call(start + 2, session, "Edit", f"Edit\nfile_path: {file}", file, "ok")
        events.append(event(start + 4, "user", f"{who} lives in Oslo", session, speaker=who))
    events.append(event(9_000, "user", "ana lives in Rome", "far", speaker="ana", scope="far"))
    with shaped(tmp_path_factory.mktemp("mind"), events) as actor_system:
        yield actor_system


def asked(mind: ActorHarness, pattern: dict[str, str], **more: object) -> Shaped:
    return shape(mind, {**pattern, "session": "?"}, **({"strict": False} | more))


def names(found: Shaped) -> list[str]:
    assert all(one.role == "session" for one in found.answers)
    return [one.filler for one in found.answers]


def test_what_stands_in_several_memories_of_a_conversation_is_found_together(mind: ActorHarness) -> None:
    pattern = {"tool": "cargo", "file": "oar.rs", "who": "ana"}
    assert shape(mind, pattern).hits == (), "no memory has all of it"
    found = asked(mind, pattern)
    assert names(found)[0] == "s0"
    assert found.degraded == ()
    best = found.hits[0]
    assert (best.session, best.score) == ("s0", 1.0)
    assert best.why == {"tool": 1.0, "file": 1.0, "who": 1.0}
    assert names(asked(mind, pattern, strict=True)) == ["s0"]
    assert found.answers[0].support == 5


def test_facts_and_steps_go_together_here(mind: ActorHarness) -> None:
    found = asked(mind, {"subject": "ben", "action": "edit", "tool": "npm"})
    assert names(found)[0] == "s2"
    assert found.hits[0].score == 1.0


def test_a_wrong_cue_costs_rank_and_is_said(mind: ActorHarness) -> None:
    found = asked(mind, {"tool": "cargo", "file": "keel.rs", "who": "eve"})
    assert names(found)[0] == "s1"
    assert "session: no conversation had all of that: these had most of it" in found.degraded
    assert found.hits[0].why == {"tool": 1.0, "file": 1.0, "who": 0.0}
    assert asked(mind, {"tool": "cargo", "who": "eve"}, strict=True).answers == ()


def test_only_what_is_looked_through_counts(mind: ActorHarness) -> None:
    assert names(asked(mind, {"who": "ana"}, scope="far")) == ["far"]
    late = asked(mind, {"who": "ana"}, since=1_760_000_000_000_000 + 1_440 * MINUTE_US, scope="work")
    assert "s0" not in names(late)
    assert sum(one.confidence for one in asked(mind, {"who": "ana"}).answers) <= 1.001


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ({"session": "s0", "tool": "npm"}, "only asks which conversation"),
        ({"session": "?"}, "nothing is said of the conversation"),
        ({"session": "?", "file": "?"}, "another role is asked for beside it"),
        ({"session": "?", "about": "oars"}, "told by names, days and numbers"),
    ],
)
def test_what_is_no_such_question_is_refused(mind: ActorHarness, pattern: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        shape(mind, pattern)
