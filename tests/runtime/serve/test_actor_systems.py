"""The actor systems of a process: none stays open that nobody uses, none goes that has something to do, all are
shown.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.errors import ActorFailed, MindMissing
from mnemic.actors.meaning.embedder import EmbedderActor
from mnemic.actors.meaning.messages import EmbedPending
from mnemic.compose import open_actor_system
from mnemic.open_mind import mind_over
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.engine import EmbeddedEngine
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import create_mind, mind_names
from mnemic.runtime.serve.actor_systems import ActorSystems
from mnemic.runtime.serve.metrics import Metrics
from tests.processes.hosted import together
from tests.waiting import until

SOON = "[runtime]\nidle_exit_s = 0.1\nsleep_after_s = 0.1\n"
CLOCK = SystemClock()


class Failing(EmbedderActor):
    """Fails on what it is asked to embed."""

    def handle(self, message: Any, context: Any) -> Any:
        if isinstance(message, EmbedPending):
            raise ZeroDivisionError
        return super().handle(message, context)


@contextmanager
def running(home: Path, lines: str) -> Iterator[tuple[ActorSystems, Metrics]]:
    """Actor systems of a home with these settings besides its own; they end with the block."""
    path = home / "mnemic.toml"
    path.write_text(f"{path.read_text('utf-8')}{lines}\n", "utf-8")
    metrics = Metrics()

    def start(home: Path, mind: str, **more: Any) -> Supervisor:
        return open_actor_system(home, mind, lambda folder, keys: EmbeddedEngine(CLOCK), **more)

    actor_systems = ActorSystems(home, CLOCK, start, mind_over, metrics, lambda: {"degraded": []})
    try:
        yield actor_systems, metrics
    finally:
        actor_systems.open_minds.close(10.0)


def remember(actor_systems: ActorSystems, text: str, mind: str = "default") -> bool:
    with actor_systems.open_minds.use(mind, True) as opened:
        return opened.remember(text, session=text).created


def shown(metrics: Metrics, mind: str = "default") -> bool:
    """Whether `/metrics` speaks of a mind."""
    return f'mind="{mind}"' in metrics.exposition().decode()


def left_alone_twice(actor_systems: ActorSystems) -> None:
    """Wait until a mind's watch has seen twice that nobody wants anything of it."""
    looks: list[int] = []
    leave_alone = actor_systems._close_if_idle

    def noted(name: str, one: Mind) -> None:
        leave_alone(name, one)
        looks.append(1)

    actor_systems._close_if_idle = noted  # type: ignore[method-assign]
    until(lambda: len(looks) >= 2)


def test_a_mind_that_nobody_uses_is_closed_while_others_are_used_and_a_next_use_opens_it(home: Path) -> None:
    with running(home, SOON) as (actor_systems, metrics):
        assert remember(actor_systems, "an otter")
        create_mind(home, "other", CLOCK)
        with actor_systems.open_minds.use("other", True) as other:
            until(lambda: not shown(metrics))
            assert set(actor_systems.open_minds.open_minds()) == {"other"}
            assert shown(metrics, "other")
            with actor_systems.open_minds.use("default", False) as mind:
                assert [hit.data for hit in mind.recall("otter").hits] == [b"an otter"]
                assert shown(metrics)
            assert other.remember("a heron").created
        until(lambda: len(actor_systems.open_minds.open_minds()) == 1)  # the last one is ready for whoever comes next
        until(lambda: len([one for one in threading.enumerate() if one.name == "mnemic-watch"]) == 1)
        until(actor_systems.all_idle)


def test_a_mind_that_is_not_there_is_made_by_a_request_where_it_is_the_default_one_and_no_other(home: Path) -> None:
    with running(home, SOON) as (actor_systems, _):
        with pytest.raises(MindMissing), actor_systems.open_minds.use("deflaut", True):
            pass
        with pytest.raises(MindMissing), actor_systems.open_minds.use("default", False):
            pass
        assert mind_names(home) == []
        assert remember(actor_systems, "an otter")
        assert mind_names(home) == ["default"]


def test_no_request_is_lost_however_often_a_mind_is_closed_meanwhile(home: Path) -> None:
    with running(home, SOON) as (actor_systems, _):
        remember(actor_systems, "the first")
        done = threading.Event()
        times = []

        def close() -> None:
            while not done.is_set():
                for name, mind in actor_systems.open_minds.open_minds().items():
                    if actor_systems.open_minds.close_if_unused(name, mind, lambda: True):
                        times.append(name)

        closing = threading.Thread(target=close)
        closing.start()
        kept = together(
            [lambda who=who: [remember(actor_systems, f"{who} says {n}") for n in range(15)] for who in ("ada", "bea")]  # type: ignore[misc]
        )
        done.set()
        closing.join()
        assert kept == [[True] * 15] * 2
        with actor_systems.open_minds.use("default", False) as mind:
            assert mind.counts().memories == 31
        assert times


def test_a_mind_stays_open_while_it_shows_why_an_actor_is_quarantined(home: Path) -> None:
    with running(home, f'{SOON}[actors]\nembedder = "{__name__}:Failing"') as (actor_systems, _):
        with actor_systems.open_minds.use("default", True) as mind:
            while not any(actor.quarantined for actor in mind.actor_system.report().actors):
                with pytest.raises(ActorFailed):
                    mind.actor_system.ask(EmbedPending())
        create_mind(home, "other", CLOCK)
        with actor_systems.open_minds.use("other", True):
            left_alone_twice(actor_systems)
            assert actor_systems.open_minds.open_minds()["default"] is mind
            mind.actor_system.release_quarantined()
            until(lambda: "default" not in actor_systems.open_minds.open_minds())


def test_a_mind_is_shown_from_when_it_is_opened_until_all_are_closed(home: Path) -> None:
    with running(home, "") as (actor_systems, metrics):
        for end in (actor_systems.open_minds.close_when_unused, actor_systems.open_minds.close):
            remember(actor_systems, f"an otter for {end.__name__}")
            assert shown(metrics)
            end(10.0)
            assert not shown(metrics)
