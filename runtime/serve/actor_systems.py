"""The running actor systems of the server: started when a mind is opened, closed after idleness.

Below are `mnemic.runtime.serve.open_minds`, which knows who uses which mind, and `mnemic.compose`, which starts the
actors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import ActorRefused, InvalidValue
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import DEFAULT_MIND
from mnemic.runtime.serve.metrics import Metrics
from mnemic.runtime.serve.open_minds import OpenMinds

_log = logging.getLogger("mnemic.runtime.serve.actor_systems")

StartActors = Callable[..., Supervisor]
"""Starts the actors of one mind, given home, name and what `mnemic.compose.open_actor_system` takes by name."""
MakeMind = Callable[[Supervisor, Path, str, Callable[[], dict[str, Any]]], Mind]
"""Makes a mind over its supervisor, given its home, its name, and what its process says of itself."""

_FENCE = "serve"


class ActorSystems:
    """All open minds of a home with their actors."""

    def __init__(
        self,
        home: Path,
        clock: Clock,
        start: StartActors,
        make_mind: MakeMind,
        metrics: Metrics,
        info: Callable[[], dict[str, Any]],
        held: Callable[[str], Keys | None] = lambda name: None,
        reread: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start none yet.

        Args:
            start: starts the actors of one mind; `mnemic.compose.open_actor_system` on an engine.
            make_mind: makes the mind over actors that run.
            metrics: counts what the actors do, and shows how they are.
            info: what the process says of itself.
            held: the keys of a mind that somebody unlocked.
            reread: takes the settings from the file anew, if that was edited since; says whether it was.

        Raises:
            BadSettings, InvalidValue, ActorRefused: the home's settings are wrong.
        """
        self._home = home
        self._clock = clock
        self._start_actors = start
        self._make_mind = make_mind
        self._metrics = metrics
        self._info = info
        self._held = held
        self._reread = reread
        self._requests_when_idle: dict[str, int] = {}  # of those that want to do nothing more
        self.settings = load_settings(home / "mnemic.toml")
        """Hold for every mind that is opened from now on."""
        self.open_minds = OpenMinds(self._open, self._closed)
        """Who uses which."""

    def all_idle(self) -> bool:
        """Whether none of those that are open has anything to do or to wait for."""
        quiet = self._requests_when_idle
        return all(
            quiet.get(name) == mind.actor_system.report().requests
            for name, mind in self.open_minds.open_minds().items()
        )

    def _open(self, name: str, create: bool) -> Mind:
        try:
            supervisor = self._start(name, create)
        except (InvalidValue, ActorRefused):
            if not self._reread():  # what was wrong in the settings may have been mended meanwhile
                raise
            supervisor = self._start(name, create)
        mind = self._make_mind(supervisor, self._home, name, self._info)
        try:
            self._metrics.add_mind(name, supervisor.report)
            mind.embed_in_background()
        except BaseException:
            mind.close()
            self._closed(name)
            raise
        supervisor.start_ticking(on_idle_exit=lambda: self._close_if_idle(name, mind))
        return mind

    def _start(self, name: str, create: bool) -> Supervisor:
        """Start a mind's actors; of those that are not there only the default one is made, whoever asks."""
        return self._start_actors(
            self._home,
            name,
            clock=self._clock,
            create=create and name == DEFAULT_MIND,
            settings=self.settings,
            observer=self._metrics,
            fence=_FENCE,
            held=lambda: self._held(name),
        )

    def _closed(self, name: str) -> None:
        self._metrics.remove_mind(name)
        self._requests_when_idle.pop(name, None)

    def _close_if_idle(self, name: str, mind: Mind) -> None:
        """Close a mind that nobody has wanted anything of for long, in the thread that watches it, but not the last one
        that is open: whoever comes next is to find it ready, and opening takes seconds on Ray.
        """
        report = mind.actor_system.report()
        requests = report.requests
        self._requests_when_idle[name] = requests
        if len(self.open_minds.open_minds()) < 2:
            return
        if any(actor.quarantined for actor in report.actors):
            return  # why an actor is quarantined would go with the mind

        def idle() -> bool:  # asked once nobody can come or go: of two that look at once, one stays
            return len(self.open_minds.open_minds()) > 1 and mind.actor_system.report().requests == requests

        if self.open_minds.close_if_unused(name, mind, idle):
            _log.info("closed the mind %s: nobody has used it for long", name)
