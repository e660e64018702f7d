"""The default consolidator fills its slot: it answers every night that nothing was to be done, and heeds a waking."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.protocol.contract import CONTRACT, Context
from mnemic.actors.protocol.messages import NightReport, Preempt, Sleep
from mnemic.actors.sleep.consolidator import ConsolidatorActor
from tests.clocks import ManualClock


def nothing(*_: Any) -> Any:
    pytest.fail("it was to do nothing")


CONTEXT = Context(
    trace="night-1",
    now=1,
    clock=ManualClock(0),
    seed=b"seed",
    ask=nothing,
    tell=nothing,
    progress=nothing,
    cancelled=nothing,
)


@given(run=st.text(min_size=1), seed=st.binary(min_size=32, max_size=32), budget_s=st.floats(0.0, 1e6))
def test_every_night_is_finished_at_once_without_a_step_and_without_a_change(
    run: str, seed: bytes, budget_s: float
) -> None:
    actor = ConsolidatorActor()
    for _ in range(2):
        report = actor.handle(Sleep(run=run, seed=seed, budget_s=budget_s), CONTEXT)
        assert report == NightReport(run=run, steps=(), changes=0, finished=True)


def test_whoever_wakes_it_gets_no_answer_and_leaves_no_trace() -> None:
    actor = ConsolidatorActor()
    assert actor.handle(Preempt(run="night-1"), CONTEXT) is None


def test_it_keeps_the_contract_and_needs_nothing_of_what_a_actor_system_has() -> None:
    assert ConsolidatorActor.contract == CONTRACT
    assert set(ConsolidatorActor.takes) == {Sleep, Preempt}
    made = ConsolidatorActor.make(None)  # type: ignore[arg-type]
    assert isinstance(made, ConsolidatorActor)
