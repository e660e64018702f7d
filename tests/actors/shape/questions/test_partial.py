"""A cue that is wrong, misspelt or far off costs rank and not the answer, and the answer says where it differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mnemic.actors.kernel.events import Event
from mnemic.actors.shape.messages import Shape, Shaped
from mnemic.actors.shape.questions.typed import as_typed
from tests.harness import ActorHarness
from tests.shaped import answers, event, shape, shaped, work

LACKING = "no memory has all of that: these have most of it, and say where they differ"


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    events = [one for number in range(4) for one in work(number)]
    events += [
        event(9000 + number, "user", f"note {number} about oars", f"n{number}", speaker=who, scope=scope)
        for number, (who, scope) in enumerate((("ana", "pier"), ("bob", "pier"), ("cem", "boat"), ("ana", "boat")))
    ]
    events.append(event(9100, "user", "Ana lives in Oslo and Bob works at Kin", "n9", speaker="cem", scope="boat"))
    with shaped(tmp_path_factory.mktemp("mind"), events) as actor_system:
        yield actor_system


def partly(mind: ActorHarness, pattern: dict[str, str], **more: object) -> Shaped:
    return shape(mind, pattern, strict=False, **more)


def test_what_has_all_of_it_comes_first_as_if_asked_strictly_and_what_has_most_of_it_after_it(
    mind: ActorHarness,
) -> None:
    pattern = {"who": "ana", "project": "pier", "kind": "turn"}
    found, strict = partly(mind, pattern), shape(mind, pattern)
    (whole,) = strict.hits
    assert found.hits[0] == whole
    assert whole.differs == {}
    assert {tuple(hit.differs.items()) for hit in found.hits[1:]} == {
        (("who", "bob"),),
        (("project", "boat"),),
    }, "a memory that fits neither is told of neither"
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[1] < scores[0] == 1.0
    assert LACKING not in found.degraded
    assert found.answers == strict.answers


def test_no_more_than_k_are_told_and_none_twice(mind: ActorHarness) -> None:
    found = partly(mind, {"who": "assistant", "tool": "pytest", "outcome": "failed"}, k=7)
    assert len(found.hits) == len({hit.id for hit in found.hits}) == 7
    assert shape(mind, {"tool": "pytest", "outcome": "failed"}, k=3) == partly(
        mind, {"tool": "pytest", "outcome": "failed"}, k=3
    ), "where all fit whole, the rest is not looked for"


def test_a_wrong_cue_leaves_the_answer_and_is_told_with_what_stands_there_instead(mind: ActorHarness) -> None:
    pattern = {"who": "bob", "project": "pier", "kind": "decision", "topic": "?"}
    assert not shape(mind, pattern).hits
    found = partly(mind, pattern)
    best = found.hits[0]
    assert best.text.startswith("note 1")
    assert best.differs == {"kind": "turn"}
    assert best.why["kind"] == 0.0
    assert best.why["who"] == 1.0
    assert LACKING in found.degraded
    assert next(iter(answers(found, "topic"))) in ("note", "oars")


@pytest.mark.parametrize(
    ("role", "wrong", "meant"),
    [("who", "anna", "ana"), ("project", "pire", "pier"), ("tool", "pytset", "pytest"), ("file", "auht.py", "auth.py")],
)
def test_a_misspelt_name_finds_the_one_that_is_spelt_like_it(
    mind: ActorHarness, role: str, wrong: str, meant: str
) -> None:
    found = partly(mind, {role: wrong, "kind": "turn" if role in ("who", "project") else "tool_result"}, k=2)
    right = shape(mind, {role: meant, "kind": "turn" if role in ("who", "project") else "tool_result"}, k=2)
    assert [hit.id for hit in found.hits] == [hit.id for hit in right.hits]
    assert all(meant in hit.differs[role].split(", ") for hit in found.hits)
    assert any(line.startswith(f"{role}: no memory has {wrong!r}") for line in found.degraded)


def test_a_day_and_an_hour_beside_cost_little_and_a_day_far_off_costs_the_cue(mind: ActorHarness) -> None:
    (bob,) = shape(mind, {"who": "bob", "date": "?"}).hits
    day = next(iter(answers(shape(mind, {"who": "bob", "date": "?"}), "date")))
    near, far = ({"who": "bob", "date": other} for other in (day[:-2] + f"{int(day[-2:]) - 1:02}", "2031-01-01"))
    assert partly(mind, near).hits[0].id == bob.id
    assert partly(mind, far).hits[0].id == bob.id
    assert partly(mind, near).hits[0].score > partly(mind, far).hits[0].score
    assert partly(mind, near).hits[0].differs == {"date": day}


def test_a_step_and_a_fact_are_found_by_most_of_what_is_told_too(mind: ActorHarness) -> None:
    steps = partly(mind, {"after": "edit, test failed", "action": "commit", "then": "?"})
    assert steps.hits[0].differs["action"] in ("edit", "read")
    then = {name: one.support for name, one in answers(steps, "then").items()}
    assert then == {"edit python ok": 3, "read python ok": 1}
    facts = partly(mind, {"subject": "ana", "relation": "works at", "object": "?"})
    assert set(answers(facts, "object")) >= {"oslo"}
    assert facts.hits[0].differs in ({"relation": "lives in"}, {"subject": "bob"})


def test_what_worked_is_a_filter_too(mind: ActorHarness) -> None:
    found = partly(mind, {"after": "edit, test failed", "action": "commit", "worked": "yes"})
    assert {hit.why["worked"] for hit in found.hits} == {1.0}
    assert {hit.differs.get("worked") for hit in found.hits} == {None}
    assert not partly(mind, {"action": "read", "target": "python", "worked": "yes", "then": "?"}, session="s3").answers


def test_a_text_is_a_cue_among_others(mind: ActorHarness) -> None:
    found = partly(mind, {"about": "token rotation", "who": "user", "kind": "decision"}, k=4)
    assert {hit.text for hit in found.hits} == {"please fix the token rotation in the session store"}
    assert all(hit.differs == {"kind": "turn"} for hit in found.hits)


def test_filters_are_no_cues(mind: ActorHarness) -> None:
    found = partly(mind, {"who": "ana", "kind": "turn"}, scope="pier")
    assert {hit.scope for hit in found.hits} == {"pier"}
    assert not partly(mind, {"who": "ana", "kind": "turn"}, scope="pier", until=0).hits
    assert not partly(mind, {"who": "ana", "community": "77", "kind": "turn"}).hits
    for spelt in partly(mind, {"who": "cen", "kind": "decision"}, scope="pier").hits:
        assert "cem" not in spelt.differs.values(), "a name of another scope is not told"


def test_one_cue_that_nothing_is_like_finds_nothing(mind: ActorHarness) -> None:
    found = partly(mind, {"who": "zzz"})
    assert (found.hits, found.answers) == ((), ())


def test_being_strict_is_kept_with_the_question() -> None:
    assert as_typed(Shape(pattern={"who": "ana"}, strict=True)) == "who=ana --strict"


def test_no_score_and_no_rank_depends_on_what_lies_outside_the_scopes_looked_through(tmp_path: Path) -> None:
    def turns(who: str, file: str, scope: str, count: int, first: int) -> list[Event]:
        return [
            event(first + n, "user", f"{who} {n}", f"{scope}{who}", speaker=who, scope=scope, files=(file,))
            for n in range(count)
        ]

    here = [*turns("bob", "oars.md", "aaa", 40, 0), *turns("ana", "mast.md", "aaa", 1, 100)]
    told = []
    for place, more in enumerate(([], turns("ana", "mast.md", "elsewhere", 100, 200))):
        with shaped(tmp_path / str(place), [*here, *more]) as actor_system:
            found = partly(actor_system, {"who": "ana", "file": "oars.md"}, scope="aaa", k=5)
            told.append([(hit.text, round(hit.score, 6)) for hit in found.hits])
    assert told[0] == told[1]
    assert told[0][0][0] == "ana 0"


@pytest.mark.parametrize(("role", "steps"), [("date", (0, 1, 3, 7, 30, 200)), ("hour", (0, 1, 2, 5))])
def test_the_farther_off_a_day_or_an_hour_is_the_less_it_fits(
    mind: ActorHarness, role: str, steps: tuple[int, ...]
) -> None:
    bob = next(iter(answers(shape(mind, {"who": "bob", role: "?"}), role)))
    told = []
    for step in steps:
        other = str(np.datetime64(bob) + step) if role == "date" else str((int(bob) + step) % 24)
        best = partly(mind, {"who": "bob", role: other}, k=1).hits[0]
        told.append((best.score, best.why[role]))
    assert told[0] == (1.0, 1.0)
    assert [why for _, why in told] == sorted((why for _, why in told), reverse=True)


def test_a_name_that_is_known_of_other_records_alone_is_a_cue_that_does_not_fit(mind: ActorHarness) -> None:
    found = partly(mind, {"subject": "ana", "who": "bob"})  # bob says no fact
    assert found.hits[0].why["who"] == 0.0
    assert found.hits[0].score < 0.9
    assert LACKING in found.degraded


def test_where_one_cue_alone_is_near_the_nearest_are_told_and_steps_are_one_cue(mind: ActorHarness) -> None:
    far = partly(mind, {"date": "2026-01-01", "who": "?"})
    assert [hit.id for hit in far.hits] == [hit.id for hit in shape(mind, {"date": "2026-01-01"}).hits]
    steps = partly(mind, {"after": "edit, test failed", "then": "?"}, k=30)
    assert {hit.why["after"] for hit in steps.hits} == {1.0}
    other = partly(mind, {"after": "read, test failed", "action": "edit", "target": "python"}, k=30)
    assert {hit.why["after"] for hit in other.hits} <= {0.0, 1.0}
