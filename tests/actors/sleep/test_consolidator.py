"""A night has communities brought up to date step by step, reports it, and is over when nothing is left; it wakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.protocol.community_messages import CommunityProgress, UpdateCommunities
from mnemic.actors.protocol.contract import CONTRACT, Context
from mnemic.actors.protocol.errors import DeadlineExceeded
from mnemic.actors.protocol.messages import NightReport, Preempt, Sleep
from mnemic.actors.sleep.consolidator import ConsolidatorActor
from tests.clocks import ManualClock
from tests.harness import ActorHarness


def nothing(*_: Any) -> Any:
    pytest.fail("it was to do nothing")


def context(ask: Any = nothing) -> Context:
    return Context(
        trace="night-1",
        now=1,
        clock=ManualClock(0),
        seed=b"seed",
        ask=ask,
        tell=nothing,
        progress=nothing,
        cancelled=nothing,
    )


def night(run: str, budget_s: float = 60.0) -> Sleep:
    return Sleep(run=run, seed=bytes(32), budget_s=budget_s)


def test_a_night_marks_one_boundary_and_goes_on_until_nothing_is_left() -> None:
    asked: list[UpdateCommunities] = []
    steps = [CommunityProgress(done=0, pending=1, changes=1), CommunityProgress(done=1, pending=0, changes=1)]

    def ask(message: UpdateCommunities, timeout_s: float) -> CommunityProgress:
        asked.append(message)
        return steps[len(asked) - 1]

    actor = ConsolidatorActor()
    first, second = (actor.handle(night("night-1"), context(ask)) for _ in range(2))
    assert asked == [UpdateCommunities(mark="night"), UpdateCommunities()]
    assert first == NightReport(run="night-1", steps=("communities",), changes=1, finished=False)
    assert second == NightReport(run="night-1", steps=("communities",), changes=2, finished=True)


def test_the_next_night_marks_its_own_boundary_and_counts_anew() -> None:
    asked: list[UpdateCommunities] = []

    def ask(message: UpdateCommunities, timeout_s: float) -> CommunityProgress:
        asked.append(message)
        return CommunityProgress(done=1, pending=0, changes=2 - len(asked))

    actor = ConsolidatorActor()
    actor.handle(night("night-1"), context(ask))
    report = actor.handle(night("night-2"), context(ask))
    assert [one.mark for one in asked] == ["night", "night"]
    assert report == NightReport(run="night-2", steps=(), changes=0, finished=True)


def test_a_step_that_takes_longer_than_the_night_leaves_it_unfinished() -> None:
    budgets: list[float] = []

    def ask(message: UpdateCommunities, timeout_s: float) -> CommunityProgress:
        budgets.append(timeout_s)
        raise DeadlineExceeded(actor="communities", message="UpdateCommunities", timeout_s=timeout_s)

    report = ConsolidatorActor().handle(night("night-1", 0.5), context(ask))
    assert report == NightReport(run="night-1", steps=(), changes=0, finished=False)
    assert budgets == [0.5]


def test_among_the_real_actors_a_second_night_with_nothing_new_changes_nothing(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        for number in range(6):
            one.keep(f"mooring dinghy harbour {number}", session=f"{number}")
        one.embed()
        reports = [one.ask(night("night-1"))]
        while not reports[-1].finished:
            reports.append(one.ask(night("night-1")))
        assert reports[-1].changes == 2, "a boundary, and the communities of it"
        one.bind()
        before = one.look(lambda now: now.seq)
        assert one.ask(night("night-2")) == NightReport(run="night-2", steps=(), changes=0, finished=True)
        assert one.look(lambda now: (now.seq, now.boundaries(0)[0].reason)) == (before, "night")


def test_whoever_wakes_it_gets_no_answer_and_leaves_no_trace() -> None:
    assert ConsolidatorActor().handle(Preempt(run="night-1"), context()) is None


def test_it_keeps_the_contract_and_needs_nothing_of_what_an_actor_system_has() -> None:
    assert ConsolidatorActor.contract == CONTRACT
    assert set(ConsolidatorActor.takes) == {Sleep, Preempt}
    made = ConsolidatorActor.make(None)  # type: ignore[arg-type]
    assert isinstance(made, ConsolidatorActor)
