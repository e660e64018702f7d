"""The in-process actor engine: one thread and one mailbox per actor."""

from __future__ import annotations

from collections.abc import Callable

from mnemic.actors.protocol.contract import Actor, Clock
from mnemic.runtime.engine.engine import ANYWHERE, Placement, SupervisorPort
from mnemic.runtime.engine.mailbox import MailboxEngine

__all__ = ["EmbeddedEngine"]


class EmbeddedEngine(MailboxEngine):
    """Places actors in threads of this process."""

    name = "embedded"

    def __init__(self, clock: Clock, *, stop_timeout_s: float = 30.0) -> None:
        """Make an engine.

        Args:
            stop_timeout_s: how long an actor may take to finish its mailbox when it is stopped.
        """
        super().__init__(clock, stop_timeout_s)

    def start(
        self,
        name: str,
        factory: Callable[[], Actor],
        capacity: int,
        overseer: SupervisorPort,
        placement: Placement = ANYWHERE,
    ) -> None:
        """Make the actor and its thread. What the factory raises is raised here, and nothing is started."""
        self._add_mailbox(name, factory, capacity, overseer)

    def close(self) -> None:
        """Nothing is held beyond the actors themselves."""
