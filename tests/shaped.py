"""A small mind for questions about shapes: four sessions of work on tokens, in which the same was tried each time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mnemic.actors.kernel.events import Event, Kind, Outcome, Role
from mnemic.actors.shape.messages import Answer, BindPending, BindProgress, Shape, Shaped
from mnemic.algorithms.knowledge.triples import Triple
from tests import built
from tests.harness import START_US, ActorHarness

__all__ = ["AUTH", "MINUTE_US", "TESTS", "answers", "bind", "shape", "shaped", "work"]

MINUTE_US = 60_000_000
AUTH, TESTS = "/p/src/auth.py", "/p/tests/test_auth.py"


def lives_in(text: str, speaker: str | None) -> Sequence[Triple]:
    """Facts of one kind: where somebody lives, or works."""
    return [Triple(*found) for found in re.findall(r"(\w+) (lives in|works at) (\w+)", text)]


def event(minute: int, role: Role, text: str, session: str, kind: Kind = "turn", **more: Any) -> Event:
    return built.event(
        text,
        assistant="claude-code",
        session=session,
        kind=kind,
        role=role,
        said_at=START_US + minute * MINUTE_US,
        branch="main",
        host_id=f"{session} {minute} {kind}",
        **({"scope": "work/auth"} | more),
    )


def call(minute: int, session: str, tool: str, text: str, file: str, outcome: Outcome) -> list[Event]:
    """A call of a tool and its result."""
    files = (file,)
    return [
        event(minute, "assistant", text, session, "tool_call", tool=tool, files=files),
        event(minute, "tool", outcome, session, "tool_result", tool=tool, files=files, outcome=outcome),
    ]


def work(number: int) -> list[Event]:
    """One session: an edit, a test that fails, then in three of four another edit, in one a look, and a test again."""
    session, start, helps = f"s{number}", 1440 * number, number < 3
    edit, look = (f"{tool}\nfile_path: {AUTH}" for tool in ("Edit", "Read"))
    run = f"Bash\ncommand: pytest {TESTS}"
    return [
        event(start, "user", "please fix the token rotation in the session store", session),
        event(start + 1, "assistant", "the garden needs water, and the harbour a crane", session),
        *call(start + 2, session, "Edit", edit, AUTH, "ok"),
        *call(start + 3, session, "Bash", run, TESTS, "failed"),
        *call(start + 4, session, "Edit" if helps else "Read", edit if helps else look, AUTH, "ok"),
        *call(start + 5, session, "Bash", run, TESTS, "ok" if helps else "failed"),
        event(start + 6, "user", "thank you", session),
    ]


def shaped(
    home: Path, events: Sequence[Event], extract: Callable[..., Sequence[Triple]] = lives_in, **more: Any
) -> ActorHarness:
    """An actor system whose mind holds these events, bound."""
    actor_system = ActorHarness(home, sources={"x": events}, ports={"extract": extract}, **more)
    actor_system.clock.advance(400 * 86_400)  # after all that was said
    actor_system.take("x")
    actor_system.embed()
    bind(actor_system)
    return actor_system


def bind(actor_system: ActorHarness) -> BindProgress:
    """Bind all that can be."""
    while True:
        answer = actor_system.ask(BindPending())
        assert isinstance(answer, BindProgress)
        if not answer.pending:
            return answer


def shape(actor_system: ActorHarness, pattern: Mapping[str, str] | None = None, **more: Any) -> Shaped:
    """Ask by shape; only what has all of the pattern, unless it is asked for otherwise."""
    answer = actor_system.ask(
        Shape(pattern=dict(pattern or {}), **({"observe": False, "strict": "like" not in more} | more))
    )
    assert isinstance(answer, Shaped)
    return answer


def answers(shaped: Shaped, role: str) -> dict[str, Answer]:
    """What fills a role, by name, in order."""
    return {one.filler: one for one in shaped.answers if one.role == role}
