"""Dead letters: messages that were told and not handled, kept in memory so that they can be sent again.

Bounded twice, by number and by size: what there is no room for is no longer kept whole, then no longer shown, and
always counted. The content of a letter leaves here only to be sent again.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Mapping
from typing import Any

import msgspec

from mnemic.actors.messages import Envelope
from mnemic.runtime.reports import DeadLetter

__all__ = ["DeadLetters", "size_bytes"]


class DeadLetters:
    """All dead letters of one process. Any thread may use it."""

    def __init__(self, most: int = 256, most_bytes: int = 64 << 20, most_shown: int = 1024) -> None:
        """Make room.

        Args:
            most: so many letters are kept whole, the last ones.
            most_bytes: those are together at most so large, by estimate.
            most_shown: of so many it is known what they were.
        """
        self._most = most
        self._most_bytes = most_bytes
        self._most_shown = most_shown
        self._gate = threading.Lock()
        self._numbers = itertools.count()
        self._letters: dict[int, DeadLetter] = {}  # in the order in which they came
        self._whole: dict[int, tuple[Envelope, int]] = {}  # with the size of each; those of `_letters` or fewer
        self._bytes = 0
        self._count = 0

    @property
    def count(self) -> int:
        """All that ever came."""
        return self._count

    def bury(self, actor: str | None, envelope: Envelope, reason: str) -> DeadLetter:
        """Keep a message for the actor that did not handle it; one that nobody takes is not kept whole."""
        letter = DeadLetter(
            actor=actor or "-",
            message=type(envelope.message).__name__,
            trace=envelope.trace,
            reason=reason,
            id=envelope.id,
            replayable=actor is not None,
        )
        size = size_bytes(envelope.message) if actor is not None else 0
        with self._gate:
            self._count += 1
            number = next(self._numbers)
            self._letters[number] = letter
            if actor is not None and size <= self._most_bytes:
                self._whole[number] = (envelope, size)
                self._bytes += size
            while len(self._whole) > self._most or self._bytes > self._most_bytes:
                self._drop(next(iter(self._whole)))
            while len(self._letters) > self._most_shown:
                oldest = next(iter(self._letters))
                self._drop(oldest)
                del self._letters[oldest]
            return self._seen(number)

    def shown(self) -> tuple[DeadLetter, ...]:
        """What is known of the last ones, oldest first."""
        with self._gate:
            return tuple(self._seen(number) for number in self._letters)

    def take(self) -> list[tuple[str, Envelope]]:
        """Hand out those that can be sent again, oldest first, with the actors they are for: they are dead no more."""
        with self._gate:
            taken = [(self._letters.pop(number).actor, envelope) for number, (envelope, _) in self._whole.items()]
            self._whole.clear()
            self._bytes = 0
            return taken

    def _drop(self, number: int) -> None:
        _, size = self._whole.pop(number, (None, 0))
        self._bytes -= size

    def _seen(self, number: int) -> DeadLetter:
        letter = self._letters[number]
        return letter if number in self._whole else msgspec.structs.replace(letter, replayable=False)


def size_bytes(value: Any) -> int:
    """About how much memory a message holds, bytes: what its fields reach is counted once."""
    total = 0
    seen: set[int] = set()
    left = [value]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        total += max(
            sys.getsizeof(one), getattr(one, "nbytes", 0)
        )  # an array's view owns no data and holds it all the same
        if isinstance(one, msgspec.Struct):
            left.extend(getattr(one, name) for name in one.__struct_fields__)
        elif isinstance(one, Mapping):
            left.extend(one.keys())
            left.extend(one.values())
        elif isinstance(one, tuple | list | set | frozenset):
            left.extend(one)
    return total
