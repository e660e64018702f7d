"""A deterministic test harness: the actors of one mind in a single thread, with fake clock and encoder.

The other slots are filled by the recipe's actors; the model is a small one, the clock ticks by itself.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.contract import Clock, Context
from mnemic.actors.kernel.errors import MnemicError, SourceUnreadable
from mnemic.actors.kernel.events import Event, MalformedLine
from mnemic.actors.kernel.ports import Source, Window
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.kernel.times import FixedZone
from mnemic.runtime.engine.actor_system import ActorFactory
from mnemic.runtime.engine.engine import safe_cause
from mnemic.runtime.engine.plugins import load_actor

_START_US = 1_760_000_000_000_000
_MAX_DELIVERIES = 500  # more messages than this, one setting off the other, end nowhere


class ContractViolation(Exception):
    """The actor did what it must not, in one clause."""


class _LineSource:
    format = "lines"

    def __init__(self, path: str) -> None:
        self._texts = Path(path).read_bytes().splitlines()
        self.size_bytes: int | None = sum(map(len, self._texts))
        self.position_bytes = 0

    def __iter__(self) -> Iterator[Event | MalformedLine]:
        for text in self._texts:
            self.position_bytes += len(text)
            yield Event(assistant="contract", session="lines", kind="turn", role="user", text=text, scope="work/shelf")

    def close(self) -> None:
        """Nothing is held."""


def open_lines(path: str, format: str) -> Source:
    """A transcript opener: every line of a file is a turn."""
    try:
        return _LineSource(path)
    except OSError as error:
        raise SourceUnreadable(path=path, why=error.strerror or type(error).__name__) from None


class _LetterEncoder:
    """An encoder that counts letters: small, exact, the same everywhere."""

    implementation = "contract-letters"
    model = "0" * 64
    dimensions = 32
    batch_tokens = bulk_tokens = 1

    def windows(self, text: str, limit: int, *, is_question: bool = False) -> tuple[list[Window], int]:
        """One window of at most 200 characters after the other."""
        starts = range(0, max(1, len(text)), 200)[:limit]
        cut = [Window(n, min(len(text), n + 200), tuple(map(ord, text[n : n + 200]))) for n in starts]
        return cut, cut[-1].end

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """How often each letter stands in each window."""
        vectors = np.full((len(windows), 32), 0.01, np.float32)
        for row, window in zip(vectors, windows, strict=True):
            row += np.bincount(np.array(window.token_ids, int) % 32, minlength=32).astype(np.float32)
            row /= np.float32(np.linalg.norm(row))
        return vectors

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The same of each word."""
        return self.encode([self.windows(word, 1)[0][0] for word in words])


class _TickingClock(FixedZone):
    """A clock that goes on by a millisecond whenever it is read, the same in every process."""

    def __init__(self) -> None:
        super().__init__()
        self._read = 0

    def now_us(self) -> int:
        """World time."""
        self._read += 1
        return _START_US + 1000 * self._read

    def monotonic_s(self) -> float:
        """Seconds since the start."""
        self._read += 1
        return self._read / 1000


class ActorHarness:
    """The actors of one mind in one thread; the one under trial may be made anew at any time."""

    def __init__(
        self, recipe: ActorFactory, slot: str, note: Callable[[str], None], clock: Clock | None = None
    ) -> None:
        """Make nothing yet.

        Args:
            slot: where the actor under trial stands.
            note: told the name of each message before the actor under trial is given it.
        """
        self.recipe = recipe
        self.slot = slot
        self.clock = clock or _TickingClock()
        self.longest_s: dict[str, float] = {}
        """By message, how long the actor under trial held one at most, seconds."""
        self._on_message = note
        # The model itself is not what is tried here.
        self._ports = msgspec.structs.replace(self.recipe.ports(), load_encoder=_LetterEncoder)
        self.calls: list[str] = []
        """What the actor under trial asked for and told, in order."""
        self._actors: dict[str, Any] = {}
        self._pending: deque[tuple[Any, str]] = deque()
        self._number = 0

    def close(self) -> None:
        """Let go of all actors."""
        while self._actors:
            self._close(next(iter(self._actors)))

    def restart(self) -> None:
        """Have the actor under trial made anew before its next message."""
        if self.slot in self._actors:
            self._close(self.slot)

    def ask(self, message: Any, trace: str | None = None, *, settle: bool = True) -> Any:
        """Have a message handled, and then all that was told meanwhile. The error it was answered with is returned.

        Args:
            trace: another one than last time, where absent.
            settle: whether to deliver what was told.

        Raises:
            Broken: the actor under trial failed.
        """
        self._number += 1
        trace = trace or f"t{self._number}"
        try:
            answer = self._deliver(self._receiver(type(message)), message, trace)
        except MnemicError as error:
            answer = error
        if settle:
            self.deliver_pending()
        return answer

    def deliver_pending(self) -> None:
        """Deliver what was told."""
        for _ in range(_MAX_DELIVERIES):
            if not self._pending:
                return
            message, trace = self._pending.popleft()
            for slot in (slot for slot in self.recipe.actors if type(message) in self._actor(slot).takes):
                try:
                    self._deliver(slot, message, trace)
                except MnemicError:
                    continue  # a dead letter
        raise ContractViolation(f"{type(message).__name__} and what it sets off never come to an end")

    def seq(self) -> int:
        """The log's highest number."""
        return int(self.read_snapshot(lambda now: now.seq))

    def read_snapshot(self, what: Callable[[Snapshot], Any]) -> Any:
        """Look at the mind as it is."""
        with closing(self._ports.open_snapshots()) as reader, reader.snapshot() as now:
            return what(now)

    def _deliver(self, slot: str, message: Any, trace: str) -> Any:
        name = type(message).__name__
        context = Context(
            trace=trace,
            now=_START_US,
            clock=self.clock,
            seed=f"{slot} {name}".encode().ljust(32, b"\0"),
            ask=lambda asked, timeout_s: self._ask(slot, asked, trace),
            tell=lambda told: self._tell(slot, told, trace),
            progress=lambda done, total: None,
            cancelled=lambda: False,
        )
        if slot == self.slot:
            self._on_message(name)
        begun = time.perf_counter()
        try:
            return self._actor(slot).handle(message, context)
        except (MnemicError, ContractViolation):
            raise
        except Exception as error:
            self._actors.pop(slot, None)
            who = "it" if slot == self.slot else f"the {slot}"
            raise ContractViolation(f"{who} failed on {name}: {safe_cause(error)}") from error
        finally:
            if slot == self.slot:
                self.longest_s[name] = max(self.longest_s.get(name, 0.0), time.perf_counter() - begun)

    def _ask(self, slot: str, message: Any, trace: str) -> Any:
        self._note(slot, message)
        return self._deliver(self._receiver(type(message)), message, trace)

    def _tell(self, slot: str, message: Any, trace: str) -> None:
        self._note(slot, message)
        self._pending.append((message, trace))

    def _note(self, slot: str, message: Any) -> None:
        if slot == self.slot:
            try:
                pickle.dumps(message)
            except Exception as error:
                raise ContractViolation(f"it sends a {type(message).__name__} that cannot be pickled") from error
            self.calls.append(repr(message))

    def _receiver(self, message: type) -> str:
        takers = [slot for slot in self.recipe.actors if message in self._actor(slot).takes]
        if self.slot in takers and len(takers) > 1:  # an event: the others are told of it, and not tried
            return self.slot
        if len(takers) != 1:
            raise ContractViolation(f"{len(takers)} actors take a {message.__name__}, which is asked for")
        return takers[0]

    def _actor(self, slot: str) -> Any:
        if slot not in self._actors:
            self._actors[slot] = load_actor(self.recipe.actors[slot], slot).make(self._ports)
        return self._actors[slot]

    def _close(self, slot: str) -> None:
        close_actor(self._actors.pop(slot))


def close_actor(actor: Any) -> None:
    """Close an actor, where it has anything to close.

    Raises:
        ContractViolation: it failed at that.
    """
    close = getattr(actor, "close", None)
    if close is not None:
        try:
            close()
        except Exception as error:
            raise ContractViolation(f"its close() failed: {safe_cause(error)}") from error
