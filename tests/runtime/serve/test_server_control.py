"""A verb runs beside the event loop, tells how far it is, and outlives whoever asked for it."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import DiskFull
from mnemic.runtime.engine.reports import Progress
from mnemic.runtime.serve.server_control import run_in_thread
from tests.waiting import BOUND_S


def test_a_verb_gives_its_answer_and_raises_its_error() -> None:
    def fail(_: Progress | None) -> None:
        raise DiskFull(path="/nowhere")

    async def report(done: int, total: int | None) -> None:
        """Hear nothing."""

    assert asyncio.run(run_in_thread(lambda progress: progress)) is None
    for told in (None, report):
        with pytest.raises(DiskFull):
            asyncio.run(run_in_thread(fail, told))


@given(st.lists(st.integers(0, 100), max_size=20))
def test_of_all_progress_the_last_is_told_before_the_answer(steps: list[int]) -> None:
    told: list[tuple[int, int | None]] = []

    async def report(done: int, total: int | None) -> None:
        await asyncio.sleep(0)
        told.append((done, total))

    def verb(progress: Progress | None) -> str:
        assert progress is not None
        for step in steps:
            progress(step, 100)
        return "done"

    assert asyncio.run(run_in_thread(verb, report)) == "done"
    assert told[-1:] == [(step, 100) for step in steps[-1:]]
    rest = iter(steps)
    assert all(done in rest for done, _ in told), "in the order it was told"


@pytest.mark.parametrize("heard", [True, False])
def test_whoever_gives_up_goes_at_once_and_the_verb_runs_to_its_end(heard: bool) -> None:
    entered, go, done = threading.Event(), threading.Event(), threading.Event()

    async def report(done: int, total: int | None) -> None:
        """Hear nothing."""

    def verb(progress: Progress | None) -> None:
        entered.set()
        assert go.wait(BOUND_S)
        if progress is not None:
            progress(1, 1)
        done.set()

    async def give_up() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(run_in_thread, verb, report if heard else None)
            while not entered.is_set():
                await asyncio.sleep(0)
            group.cancel_scope.cancel()
        assert not done.is_set()
        go.set()
        await asyncio.to_thread(done.wait, BOUND_S)

    asyncio.run(asyncio.wait_for(give_up(), BOUND_S))
    assert done.is_set()
