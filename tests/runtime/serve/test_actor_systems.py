"""The societies of a process: none stays open that nobody uses, none goes that has something to do, all are shown."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.embedder import EmbedderActor
from mnemic.actors.protocol.changes import EncoderName
from mnemic.actors.protocol.errors import ActorFailed
from mnemic.actors.protocol.messages import EmbedPending, EncoderNamed, NameEncoder
from mnemic.actors.protocol.ports import Ports
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.embedded import EmbeddedEngine
from mnemic.runtime.serve.actor_systems import Societies
from mnemic.runtime.serve.metrics import Metrics
from tests.faces import until
from tests.hosted import together

SOON = "[runtime]\nidle_exit_s = 0.1\nsleep_after_s = 0.1\n"
CLOCK = SystemClock()


class Slow(EmbedderActor):
    """Has a model, and embeds nothing for as long as a test looks on."""

    settings = ()

    @classmethod
    def make(cls, ports: Ports) -> Any:
        return cls(ports.load_encoder, ports.open_snapshots(), 1, 1)

    def handle(self, message: Any, context: Any) -> Any:
        return EncoderNamed(encoder=EncoderName("slow", "0")) if isinstance(message, NameEncoder) else None


class Failing(EmbedderActor):
    """Fails on what it is asked to embed."""

    def handle(self, message: Any, context: Any) -> Any:
        if isinstance(message, EmbedPending):
            raise ZeroDivisionError
        return super().handle(message, context)


@contextmanager
def running(home: Path, lines: str) -> Iterator[tuple[Societies, Metrics]]:
    """Societies of a home with these settings besides its own; they end with the block."""
    path = home / "mnemic.toml"
    path.write_text(f"{path.read_text('utf-8')}{lines}\n", "utf-8")
    metrics = Metrics()
    societies = Societies(home, CLOCK, lambda folder, keys: EmbeddedEngine(CLOCK), metrics, lambda: {"degraded": []})
    try:
        yield societies, metrics
    finally:
        societies.minds.close(10.0)


def remember(societies: Societies, text: str, mind: str = "default") -> bool:
    with societies.minds.use(mind, True) as opened:
        return opened.remember(text, session=text).created


def shown(metrics: Metrics, mind: str = "default") -> bool:
    """Whether `/metrics` speaks of a mind."""
    return f'mind="{mind}"' in metrics.exposition().decode()


def left_alone_twice(societies: Societies) -> None:
    """Wait until a mind's watch has seen twice that nobody wants anything of it."""
    looks: list[int] = []
    leave_alone = societies._leave_alone

    def noted(name: str, one: Mind) -> None:
        leave_alone(name, one)
        looks.append(1)

    societies._leave_alone = noted  # type: ignore[method-assign]
    until(lambda: len(looks) >= 2)


def test_a_mind_that_nobody_uses_is_closed_while_others_are_used_and_a_next_use_opens_it(home: Path) -> None:
    with running(home, SOON) as (societies, metrics):
        assert remember(societies, "an otter")
        with societies.minds.use("other", True) as other:
            until(lambda: not shown(metrics))
            assert set(societies.minds.open_ones()) == {"other"}
            assert shown(metrics, "other")
            with societies.minds.use("default", False) as mind:
                assert [hit.text for hit in mind.recall("otter").hits] == [b"an otter"]
                assert shown(metrics)
            assert other.remember("a heron").created
        until(lambda: len(societies.minds.open_ones()) == 1)  # the last one is ready for whoever comes next
        until(lambda: len([one for one in threading.enumerate() if one.name == "mnemic-watch"]) == 1)
        until(societies.quiet)


def test_no_request_is_lost_however_often_a_mind_is_closed_meanwhile(home: Path) -> None:
    with running(home, SOON) as (societies, _):
        remember(societies, "the first")
        done = threading.Event()
        times = []

        def close() -> None:
            while not done.is_set():
                for name, mind in societies.minds.open_ones().items():
                    if societies.minds.close_unused(name, mind, lambda: True):
                        times.append(name)

        closing = threading.Thread(target=close)
        closing.start()
        kept = together(
            [lambda who=who: [remember(societies, f"{who} says {n}") for n in range(15)] for who in ("ada", "bea")]  # type: ignore[misc]
        )
        done.set()
        closing.join()
        assert kept == [[True] * 15] * 2
        with societies.minds.use("default", False) as mind:
            assert mind.counts().memories == 31
        assert times


def test_a_mind_with_an_embedding_to_come_is_not_closed(home: Path) -> None:
    with running(home, f'{SOON}[actors]\nembedder = "{__name__}:Slow"') as (societies, metrics):
        remember(societies, "an otter")
        (mind,) = societies.minds.open_ones().values()
        assert mind.counts().pending == 1
        with societies.minds.use("other", True):
            left_alone_twice(societies)
        assert societies.minds.open_ones()["default"] is mind
        assert shown(metrics)
        assert societies.quiet(), "a process that was started on demand may leave all the same"


def test_a_mind_stays_open_while_it_shows_why_an_actor_was_set_aside(home: Path) -> None:
    with running(home, f'{SOON}[actors]\nembedder = "{__name__}:Failing"') as (societies, _):
        with societies.minds.use("default", True) as mind:
            while not any(actor.quarantined for actor in mind.society.report().actors):
                with pytest.raises(ActorFailed):
                    mind.society.ask(EmbedPending())
        with societies.minds.use("other", True):
            left_alone_twice(societies)
            assert societies.minds.open_ones()["default"] is mind
            mind.society.release()
            until(lambda: "default" not in societies.minds.open_ones())


def test_a_mind_is_shown_from_when_it_is_opened_until_all_are_closed(home: Path) -> None:
    with running(home, "") as (societies, metrics):
        for end in (societies.minds.reopen, societies.minds.close):
            remember(societies, f"an otter for {end.__name__}")
            assert shown(metrics)
            end(10.0)
            assert not shown(metrics)
