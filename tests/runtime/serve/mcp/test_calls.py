"""What a call may do before its mind is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mnemic.actors.kernel.errors import SwitchedOff
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.serve.mcp.calls import CURRENT_CALLER, Answerer, Caller


class Nothing:
    """A process with a mind in which there is nothing."""

    @contextmanager
    def track_request(self, *_: Any) -> Iterator[None]:
        yield

    @contextmanager
    def use(self, *_: Any, create: bool) -> Iterator[None]:
        yield


def answer(name: str, off: str) -> str:
    """Ask what answers with its own name, where something is switched off."""
    nothing: Any = Nothing()
    calls = Answerer(nothing, nothing, SystemClock(), lambda _: (), lambda _: ())
    token = CURRENT_CALLER.set(Caller(switched_off=off))
    try:
        return asyncio.run(calls.answer(name, lambda call: f"{name} for {call.assistant}", "an assistant"))
    finally:
        CURRENT_CALLER.reset(token)


@pytest.mark.parametrize("name", ["memory_recall", "community", "memory_that_is_new"])
def test_whatever_is_not_known_to_tell_no_memory_is_refused_where_recall_is_switched_off(name: str) -> None:
    for off in ("recall", "both"):
        with pytest.raises(SwitchedOff):
            answer(name, off)
    assert answer(name, "capture") == f"{name} for an assistant"


def test_what_tells_no_memory_is_answered_where_recall_is_switched_off() -> None:
    for name in ("memory_forget", "memory_sleep", "memory_status", "status", "memory_capture"):
        assert answer(name, "recall") == f"{name} for an assistant"
    with pytest.raises(SwitchedOff):
        answer("memory_capture", "both")
