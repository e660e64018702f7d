"""What a user makes of answers to several roles at once: how far to believe each, and which of them go together."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from mnemic.actors.events import Event
from tests.shaped import answers, event, shape, shaped, work
from tests.society import Society

PEOPLE, BRANCHES, PLACES = (
    ("ana", "bob", "cy"),
    ("main", "oars", "sails", "tides"),
    ("pier", "shed", "boat", "slip", "mast"),
)
TURNS, QUESTIONS = 400, 60
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
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Society]:
    with shaped(tmp_path_factory.mktemp("mind"), [one for number in range(4) for one in work(number)]) as society:
        yield society


@pytest.mark.parametrize("dimensions", [768, 10_240])
def test_of_answers_given_nine_tenths_nine_in_ten_are_right_however_many_roles_are_asked_at_once(
    tmp_path: Path, dimensions: int
) -> None:
    turns, drawn = list(crew()), random.Random(9)
    known = [fields(one) for one in turns]
    given: list[tuple[float, float]] = []
    with shaped(tmp_path, turns, **{"binder.dimensions": dimensions}) as society:
        for _ in range(QUESTIONS):
            own, told = drawn.choice(known), drawn.sample(("who", "branch", "project"), drawn.randint(1, 2))
            pattern = {role: own[role] for role in told}
            meant = [one for one in known if all(one[role] == filler for role, filler in pattern.items())]
            found = shape(society, pattern | {role: "?" for role in ROLES if role not in told}, k=50)
            for answer in found.answers:
                share = np.mean([one[answer.role] == answer.filler for one in meant])
                given.append((answer.confidence, float(share)))
    confidence, right = np.array(given).T
    for low, high in ((0.02, 0.15), (0.15, 0.3), (0.3, 0.6), (0.6, 1.01)):
        within = (confidence >= low) & (confidence < high)
        assert within.sum() > 20
        assert confidence[within].mean() == pytest.approx(right[within].mean(), abs=0.03)


def test_a_role_is_answered_as_alone_whatever_else_is_asked(mind: Society) -> None:
    asked = {"tool": "pytest", "outcome": "failed"}
    together = shape(mind, asked | {"file": "?", "date": "?", "who": "?"})
    for role in ("file", "date", "who"):
        assert answers(together, role) == answers(shape(mind, asked | {role: "?"}), role)


def test_of_equally_probable_answers_those_of_the_best_memory_come_first_in_each_role(mind: Society) -> None:
    found = shape(mind, {"kind": "turn", "who": "assistant", "date": "?", "weekday": "?"}, k=9)
    dates, weekdays = answers(found, "date"), answers(found, "weekday")
    assert [round(one.confidence, 3) for one in dates.values()] == [0.25] * 4
    for told in (dates, weekdays):
        assert [one.memories[0] for one in told.values()] == [hit.id for hit in found.hits]
    assert [np.datetime64(day).astype(object).strftime("%A").lower() for day in dates] == list(weekdays)


def test_a_memory_that_says_several_facts_counts_once(tmp_path: Path) -> None:
    said = event(0, "user", "Ana lives in Oslo, Ana works at Kin, Ana lives in Bergen", "s")
    with shaped(tmp_path, [said]) as society:
        (who,) = answers(shape(society, {"subject": "ana", "who": "?"}), "who").values()
    assert (who.filler, who.support, len(who.memories)) == ("user", 1, 1)


def test_probabilities_have_no_more_places_than_tell_anything(mind: Society) -> None:
    found = shape(mind, {"then": "?"}, k=50)
    numbers = [one for answer in found.answers for one in (answer.confidence, answer.worked) if one is not None]
    assert any(answer.worked == 0 for answer in found.answers)
    assert [one for one in numbers if one != round(one, 6)] == []
