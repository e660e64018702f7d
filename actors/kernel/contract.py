"""The actor contract: what an actor is, what it is given, and what it may rely on.

An actor is a plain class. It knows no engine and reads no clock; it handles one message at a time, in the order one
sender sent them. Exceptions of the tree in `mnemic.actors.kernel.errors` are answers; any other one is a failure,
after which the supervisor makes a new instance.
"""

from __future__ import annotations

import hashlib
import random
import traceback
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

import msgspec

from mnemic.actors.kernel.message import AnswerT, Request
from mnemic.actors.kernel.ports import Ports
from mnemic.actors.kernel.times import Zone

CONTRACT = 1
"""Version of the contract; an actor made for another one is refused at start."""


class Setting(msgspec.Struct, frozen=True):
    """One knob: a line of ``mnemic.toml``, of the documentation and of ``--help``."""

    name: str
    """Section and key, such as ``recall.k``."""
    default: Any
    """Its value where nothing is set; its type is the setting's type."""
    unit: str
    """Unit, or ``-``."""
    help: str
    """One sentence."""
    minimum: float | None = None
    """Smallest value that is taken."""
    choices: tuple[str, ...] = ()
    """The values that are taken, where only some are."""
    maximum: float | None = None
    """Greatest value that is taken."""
    multiple: int = 1
    """Of a whole number: what it has to be a multiple of."""


class Clock(Zone, Protocol):
    """Time as an argument, with the zone that a clock on the wall is set by."""

    def now_us(self) -> int:
        """World time, microseconds since 1970 UTC."""

    def monotonic_s(self) -> float:
        """Seconds that never go back, from an arbitrary start."""


class Context:
    """What an actor is given with each message."""

    def __init__(
        self,
        *,
        trace: str,
        now: int,
        clock: Clock,
        seed: bytes,
        ask: Callable[[Any, float], Any],
        tell: Callable[[Any], None],
        progress: Callable[[int, int | None], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self.trace = trace
        """Shared by everything one request sets off."""
        self.now = now
        """World time of the request, microseconds: what is written carries this time."""
        self.clock = clock
        """For measuring how long something took."""
        self.seed = seed
        """What `random` draws from, 32 bytes."""
        self._ask = ask
        self._tell = tell
        self._progress = progress
        self._cancelled = cancelled

    def ask(self, message: Request[AnswerT], timeout_s: float = 60.0) -> AnswerT:
        """Send a message to whoever takes it and wait for the answer.

        Raises: what the other actor answers with; `DeadlineExceeded`, `InboxFull`, `ActorFailed`, `ActorStopped`.
        """
        answer: AnswerT = self._ask(message, timeout_s)
        return answer

    def tell(self, message: Any) -> None:
        """Send a message to all who take it and go on; what cannot be delivered is kept as a dead letter."""
        self._tell(message)

    def random(self, salt: bytes = b"") -> random.Random:
        """A generator that depends on the mind's seed, the actor, the message's kind and `salt` alone."""
        return random.Random(hashlib.sha256(self.seed + salt).digest())

    def progress(self, done: int, total: int | None) -> None:
        """Report how far a long job is; whoever asked for it may show it."""
        self._progress(done, total)

    def cancelled(self) -> bool:
        """Whether the process is stopping, or the night that is asked for was woken: finish what is begun and take up
        nothing more.
        """
        return self._cancelled()


class Actor(Protocol):
    """A part of the actor system.

    A class may also have ``close(self)``, called when an instance goes; ``pinned = True``, where it must run on the
    machine that holds the home; and a static ``foresees(message) -> tuple``, the messages it will surely ask for while
    it handles this one, so that an engine may fetch their answers beforehand.
    """

    contract: ClassVar[int]
    """The version of the contract it was written for."""
    takes: ClassVar[tuple[type, ...]]
    """The messages it handles."""
    settings: ClassVar[tuple[Setting, ...]]
    """The knobs it reads."""

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Make an instance, at start and after each failure, in the process it is to run in."""

    def handle(self, message: Any, context: Context) -> Any:
        """Handle one message and give its answer, or ``None`` for an event."""


def raise_location(error: BaseException) -> str:
    """Where it was raised, such as ``handle (embedder.py:12)``; empty where it never was."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return ""
    code, line = frames[-1][0].f_code, frames[-1][1]
    return f"{code.co_name} ({code.co_filename.rsplit('/', 1)[-1]}:{line})"
