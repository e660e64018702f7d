"""Which of a Codex rollout's tellings of a turn is taken, so that each is taken once.

A turn may be told up to three times: as an item completed (since 2026), as a message shown (before), and as what the
model reads (always). The model also reads what nobody said: a compaction asks it for a summary and gets an answer, as
messages like any other. So what was shown decides, and what the model reads is taken only where nothing is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from mnemic.actors.events import Event

__all__ = ["HELD_EVENTS", "Telling", "Turns"]

Telling = Literal["completed", "shown", "read", "copied"]
"""``copied``: read by the model, in history copied from another thread, where nothing is shown."""

HELD_EVENTS = 256
"""A prompt is shown within a line or two of being read; a rollout silent for this long never shows one."""


class Turns:
    """Lets each turn through once and everything else as it comes, in order."""

    def __init__(self) -> None:
        self._taken: Telling | None = None
        self._held: list[tuple[Event, bool]] = []

    def other(self, events: list[Event]) -> Iterable[Event]:
        """Pass what is no turn, behind turns that are held back."""
        if not self._held:
            return events
        self._held += [(event, False) for event in events]
        return self._release(self._taken) if len(self._held) > HELD_EVENTS else ()

    def told(self, telling: Telling, event: Event) -> Iterable[Event]:
        """Pass a turn, hold it until it is known which telling is taken, or drop it."""
        if telling == "copied":
            return self.other([event])
        if telling == "read":
            if self._taken is None:
                self._held.append((event, True))
                return ()
            return [event] if self._taken == "read" else ()
        if self._taken == "read" or (telling == "shown" and self._taken == "completed"):
            return ()
        return [*self._release(telling), event]

    def finish(self) -> Iterable[Event]:
        """What is still held at the end: nothing was shown, so what was read is taken."""
        return self._release(self._taken)

    def _release(self, taken: Telling | None) -> Iterable[Event]:
        self._taken = taken or "read"
        held, self._held = self._held, []
        return [event for event, is_turn in held if not is_turn or self._taken == "read"]
