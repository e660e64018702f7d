"""What a user makes of answers to several roles at once: how far to believe each, and which of them go together."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from mnemic.actors.kernel.events import Event
from tests.harness import START_US, ActorHarness
from tests.shaped import MINUTE_US, answers, event, shape, shaped, work

PEOPLE, BRANCHES, PLACES = (
    ("ana", "bob", "cy"),
    ("main", "oars", "sails", "tides"),
    ("pier", "shed", "boat", "slip", "mast"),
)
TURNS, QUESTIONS, STEPS = 400, 60, 90
ROLES = ("who", "branch", "project", "hour")


def crew() -> Iterator[Event]:
    """Turns of a crew, whose people are mostly on branches of their own."""
    drawn = random.Random(8)
    for number in range(TURNS):
        who = drawn.randrange(len(PEOPLE))
        branch = who if drawn.random() < 0.7 else drawn.randrange(len(BRANCHES))
        minute, place = drawn.randrange(8) * 60 + number * 1440, drawn.choice(PLACES)
        said = event(minute, "user", f"turn {number}", f"s{number % 9}", speaker=PEOPLE[who], scope=place)
        yield msgspec.structs.replace(said, branch=BRANCHES[branch])


def fields(one: Event) -> dict[str, str]:
    """What fills the roles of a turn."""
    hour = (one.said_at or 0) // 3_600_000_000 % 24
    return {"who": one.speaker or "", "branch": one.branch or "", "project": one.scope or "", "hour": str(hour)}


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    with shaped(tmp_path_factory.mktemp("mind"), [one for number in range(4) for one in work(number)]) as actor_system:
        yield actor_system


@pytest.mark.parametrize("dimensions", [768, 10_240])
def test_of_answers_given_nine_tenths_nine_in_ten_are_right_however_many_roles_are_asked_at_once(
    tmp_path: Path, dimensions: int
) -> None:
    turns, drawn = list(crew()), random.Random(9)
    known = [fields(one) for one in turns]
    given: list[tuple[float, float]] = []
    with shaped(tmp_path, turns, **{"binder.dimensions": dimensions}) as actor_system:
        for _ in range(QUESTIONS):
            own, told = drawn.choice(known), drawn.sample(("who", "branch", "project"), drawn.randint(1, 2))
            pattern = {role: own[role] for role in told}
            meant = [one for one in known if all(one[role] == filler for role, filler in pattern.items())]
            found = shape(actor_system, pattern | {role: "?" for role in ROLES if role not in told}, k=50)
            for answer in found.answers:
                share = np.mean([one[answer.role] == answer.filler for one in meant])
                given.append((answer.confidence, float(share)))
    confidence, right = np.array(given).T
    for low, high in ((0.02, 0.15), (0.15, 0.3), (0.3, 0.6), (0.6, 1.01)):
        within = (confidence >= low) & (confidence < high)
        assert within.sum() > 20
        assert confidence[within].mean() == pytest.approx(right[within].mean(), abs=0.03)


def test_a_role_is_answered_as_alone_whatever_else_is_asked(mind: ActorHarness) -> None:
    asked = {"tool": "pytest", "outcome": "failed"}
    together = shape(mind, asked | {"file": "?", "date": "?", "who": "?"})
    for role in ("file", "date", "who"):
        assert answers(together, role) == answers(shape(mind, asked | {role: "?"}), role)


def test_of_equally_probable_answers_those_of_the_best_memory_come_first_in_each_role(mind: ActorHarness) -> None:
    found = shape(mind, {"kind": "turn", "who": "assistant", "date": "?", "weekday": "?"}, k=9)
    dates, weekdays = answers(found, "date"), answers(found, "weekday")
    assert [round(one.confidence, 3) for one in dates.values()] == [0.25] * 4
    for told in (dates, weekdays):
        assert [one.memories[0] for one in told.values()] == [hit.id for hit in found.hits]
    assert [np.datetime64(day).astype(object).strftime("%A").lower() for day in dates] == list(weekdays)


def test_a_memory_that_says_several_facts_counts_once(tmp_path: Path) -> None:
    said = event(0, "user", "Ana lives in Oslo, Ana works at Kin, Ana lives in Bergen", "s")
    with shaped(tmp_path, [said]) as actor_system:
        (who,) = answers(shape(actor_system, {"subject": "ana", "who": "?"}), "who").values()
    assert (who.filler, who.support, len(who.memories)) == ("user", 1, 1)


def steps() -> Iterator[Event]:
    """Calls of several sessions: of some nothing says what they were done to, or how they ended, or by what."""
    drawn = random.Random(3)
    for number in range(STEPS):
        ends, outcome = drawn.choice(("py", "md", "js", None)), drawn.choice(("ok", "failed", None))
        files = (f"/p/x{number}.{ends}",) if ends else ()
        more: dict[str, Any] = {"tool": drawn.choice(("Edit", "oars", None)), "files": files, "outcome": outcome}
        yield event(number, "assistant", "no tool", f"s{number // 30}", "tool_call", **more)


def told(one: Event) -> dict[str, str]:
    """What a step of `steps` is, by role, and in words."""
    action = "edit" if one.tool == "Edit" else "call"
    target = {"py": "python", "md": "docs", "js": "javascript"}[one.files[0][-2:]] if one.files else ""
    tool = "" if target or one.tool != "oars" else "oars"
    return {
        "target": target,
        "outcome": one.outcome or "",
        "then": " ".join(word for word in (action, target, tool, one.outcome or "") if word),
    }


@pytest.mark.parametrize("dimensions", [2048, 10_240])
def test_where_steps_lack_something_nothing_stands_in_its_place_whichever_set_is_asked(
    tmp_path: Path, dimensions: int
) -> None:
    known = list(steps())
    sets = {session: [told(one) for one in known if session in (None, one.session)] for session in (None, "s0", "s1")}
    with shaped(tmp_path, known, **{"binder.dimensions": dimensions}) as actor_system:
        for session, own in sets.items():
            for role in ("target", "outcome", "then"):
                found = answers(shape(actor_system, {role: "?"}, session=session, k=50), role)
                right = Counter(one[role] for one in own if one[role])
                assert set(found) == set(right)
                for name, count in right.items():
                    assert found[name].confidence == pytest.approx(count / len(own), abs=0.02)


@pytest.mark.parametrize("role", ["action", "target", "tool", "outcome", "then"])
def test_of_a_step_it_is_told_of_how_many_it_is_known_whether_things_were_well(tmp_path: Path, role: str) -> None:
    worked = {"s1": "ok", "s2": "failed", "s3": None}  # how the same program ended, when it was run once more
    calls = [
        event(minute, "assistant", "oars", session, "tool_call", tool="oars", files=("/p/a.py",), outcome=outcome)
        for session, later in worked.items()
        for minute, outcome in ((1, "ok"), (2, later))
        if outcome
    ]
    with shaped(tmp_path, calls) as actor_system:
        one = shape(actor_system, {"action": "call", "outcome": "ok", role: "?"}).answers[0]
        assert (one.support, one.worked_of) == (4, 2)
        assert one.worked == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("role", ["branch", "project", "date", "who", "file", "worked"])
def test_whether_things_were_well_after_it_is_told_of_nothing_but_steps(mind: ActorHarness, role: str) -> None:
    found = shape(mind, {"action": "edit", role: "?"})
    assert found.answers
    assert {(one.worked, one.worked_of) for one in found.answers} == {(None, 0)}


def test_what_would_be_shown_as_impossible_is_no_answer_and_where_all_is_that_is_said(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(250)]
    events = [event(n, "user", name, "s", speaker=name) for n, name in enumerate(names)]
    with shaped(tmp_path, events) as actor_system:
        found = shape(actor_system, {"who": "?", "kind": "?"}, k=50)
        assert [one.filler for one in found.answers] == ["turn"]
        assert found.degraded == ("who: nothing that fills it is as probable as 0.5 %",)
        assert len(answers(shape(actor_system, {"who": "?"}, k=50, until=START_US + 100 * MINUTE_US), "who")) == 50


def test_probabilities_have_no_more_places_than_tell_anything(mind: ActorHarness) -> None:
    found = shape(mind, {"then": "?"}, k=50)
    numbers = [one for answer in found.answers for one in (answer.confidence, answer.worked) if one is not None]
    assert any(answer.worked == 0 for answer in found.answers)
    assert [one for one in numbers if one != round(one, 6)] == []


def test_exact_patterns_find_exactly_the_memories_whose_fields_say_so_and_tell_their_shares(tmp_path: Path) -> None:
    turns, drawn = list(crew()), random.Random(4)
    known = [(one.text.decode(), fields(one)) for one in turns]
    with shaped(tmp_path, turns, **{"binder.dimensions": 64}) as actor_system:  # however short: no bit is asked
        for _ in range(QUESTIONS):
            own = drawn.choice(known)[1]
            told = drawn.sample(("who", "branch", "project"), drawn.randint(1, 3))
            pattern = {role: own[role] for role in told}
            meant = [(text, one) for text, one in known if all(one[role] == filler for role, filler in pattern.items())]
            found = shape(actor_system, pattern | {"hour": "?"}, k=TURNS)
            assert {hit.text for hit in found.hits} == {text for text, _ in meant}
            shares = Counter(one["hour"] for _, one in meant)
            assert {name: round(one.confidence * len(meant)) for name, one in answers(found, "hour").items()} == shares
