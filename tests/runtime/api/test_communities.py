"""The verbs of communities from Python: listed, shown, brought up to date, and where that fails it is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.communities.messages import CommunityProgress, UpdateCommunities
from mnemic.actors.kernel.errors import ActorFailed, InvalidValue, UnknownCommunity, UnknownScope
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.views import communities_view, community_view
from tests.grouped import group_scopes
from tests.processes.faces import lines, turn

SAID = {
    "shelf": ("the velvet shelf", "paint the velvet shelf"),
    "boat": ("the otter cabin", "an otter cabin", "otters"),
}


@pytest.fixture
def mind(home: Path, tmp_path: Path) -> Iterator[Mind]:
    """A mind without a model, of two projects with a community each."""
    turns = [turn(text, scope=scope, id=text, said_at="2026-11-21") for scope, texts in SAID.items() for text in texts]
    with mnemic.open(home) as mind:
        mind.capture(lines(tmp_path / "a.jsonl", *turns))
        group_scopes(mind, home, "shelf", "boat")
        yield mind


def test_communities_are_listed_in_a_scope_or_everywhere(mind: Mind) -> None:
    assert {one.id: (one.scope, one.size) for one in mind.communities().communities} == {
        1: ("shelf", 2),
        2: ("boat", 3),
    }
    assert [one.id for one in mind.communities(scope="boat/").communities] == [2]
    assert [one.id for one in mind.communities(scope=["boat", "shelf"], k=1).communities] == [2], "the larger of equals"
    assert mind.counts().communities == 2


def test_one_is_shown_with_its_members(mind: Mind) -> None:
    shown = mind.community(1)
    assert shown.community.phrases[0] == "velvet shelf"
    assert {hit.text for hit in shown.members} == set(SAID["shelf"])
    assert len(mind.community(2, k=1).members) == 1


def test_what_is_not_there_or_cannot_be_is_refused(mind: Mind) -> None:
    cases: list[tuple[Any, ...]] = [
        ({"id": 2, "scope": "shelf"}, UnknownCommunity),
        ({"id": 9}, UnknownCommunity),
        ({"id": 1, "scope": "nowhere"}, UnknownScope),
        ({"id": 1 << 70}, InvalidValue),
        ({"id": 1, "k": 0}, InvalidValue),
    ]
    for asked, error in cases:
        with pytest.raises(error):
            mind.community(**asked)


def test_the_views_have_the_promised_names(mind: Mind) -> None:
    listed = communities_view(mind.communities(scope="boat"), strict=True, scope=("boat",), found="named")
    assert (listed["scope"], listed["scope_found"], listed["waiting"]) == (["boat"], "named", 0)
    (one,) = listed["communities"]
    assert (one["id"], one["first_at"], one["last_at"]) == (2, "2026-11-21T00:00:00Z", "2026-11-21T00:00:00Z")
    view = community_view(mind.community(2), strict=True)
    assert view["community"] == one
    assert {hit["text"] for hit in view["members"]} == set(SAID["boat"])
    assert [event["kind"] for event in view["lineage"]] == ["born"]
    assert (view["parent"], view["died_at"], view["parts"], view["neighbours"]) == (0, None, [], [])
    assert all(one.keys() == {"role", "filler", "share"} and one["share"] >= 0.5 for one in view["roles"])


class Steps:
    """What an actor answers, step by step, in the place of the real one."""

    def __init__(self, mind: Mind, *answers: CommunityProgress | Exception) -> None:
        self.asked: list[UpdateCommunities] = []
        self._answers, self._ask = list(answers), mind.actor_system.ask

    def ask(self, message: Any, *more: Any, **options: Any) -> Any:
        if not isinstance(message, UpdateCommunities):
            return self._ask(message, *more, **options)
        self.asked.append(message)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def progress(done: int, pending: int, changes: int = 0) -> CommunityProgress:
    return CommunityProgress(done=done, pending=pending, changes=changes)


def test_they_are_brought_up_to_date_step_by_step(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(mind, progress(1, 2, 1), progress(2, 1, 1), progress(3, 0, 1))
    monkeypatch.setattr(mind.actor_system, "ask", steps.ask)
    told: list[Any] = []
    answer = mind.update_communities(progress=lambda *one: told.append(one))
    assert answer == progress(3, 0, 3)
    assert [one.mark for one in steps.asked] == ["asked", None, None]
    assert told == [("topics", 1, 3), ("topics", 2, 3)]


def test_before_a_question_no_more_steps_are_taken_than_there_is_time_for(
    mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(mind, progress(1, 2), progress(1, 1), progress(1, 1))
    monkeypatch.setattr(mind.actor_system, "ask", steps.ask)
    left = iter((True, True, False))  # what waits for its meaning would come first
    mind.catch_up("communities", lambda: next(left))
    assert len(steps.asked) == 2


def test_what_fails_before_a_question_is_said_in_the_answer(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = ActorFailed(actor="communities", message="UpdateCommunities", cause="it fell over")
    monkeypatch.setattr(mind.actor_system, "ask", Steps(mind, failed).ask)
    mind.catch_up("communities", lambda: True)
    (said,) = mind.communities().degraded
    assert said.startswith("communities: ")
    assert "it fell over" in said


def test_nothing_is_written_before_a_question_where_nothing_can_be(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(mind)
    monkeypatch.setattr(mind.actor_system, "ask", steps.ask)
    monkeypatch.setattr("mnemic.runtime.api.verbs.unwritable_reason", lambda folder: "the disk is read-only")
    mind.catch_up("communities", lambda: True)
    assert steps.asked == []
