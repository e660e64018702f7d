"""Load generator: client threads that capture and recall, and remember what was acknowledged.

Each client says once what it has to say and goes on when it is answered; what was acknowledged is kept here, to be
compared with what the store holds in the end. What was refused may be kept or not, and never twice.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

from mnemic.actors.protocol.errors import MnemicError
from mnemic.actors.protocol.messages import CaptureText, Recall, TextCaptured
from mnemic.bench.harness.callers import McpPipe
from mnemic.bench.harness.homes import BENCH_SCOPE, MIND_NAME
from mnemic.runtime.client.client import RemoteActorSystem
from mnemic.runtime.clock import SystemClock

__all__ = ["Load", "capture_text"]

_ASK_S = 20.0
_PAUSE_S = 0.1


def capture_text(actor_system: RemoteActorSystem, text: bytes) -> TextCaptured:
    """Have a text kept.

    Raises:
        MnemicError: whether it was nobody knows.
    """
    kept = actor_system.ask(CaptureText(text=text, role="user", session="load", place=BENCH_SCOPE), timeout_s=_ASK_S)
    assert isinstance(kept, TextCaptured)
    return kept


class Load:
    """Clients in threads of this process, from the start of a block to its end."""

    def __init__(self, home: Path, *, writers: int = 2, pipes: int = 1, readers: int = 1) -> None:
        """Make clients that say nothing yet.

        Args:
            writers: who capture through the client of commands.
            pipes: who capture through `mnemic mcp`.
            readers: who recall.
        """
        self._home = home
        self._ended = threading.Event()
        self._state = threading.Lock()  # over all below
        self.acknowledged: list[bytes] = []
        """Texts that are kept, as their clients were told."""
        self.refused: Counter[str] = Counter()
        """How often a client was told something else, by code."""
        self.recalls = 0
        """How many recalls were answered."""
        self.broken: list[str] = []
        """What ended a client: a defect, wherever it lies."""
        kinds: list[tuple[str, int, Callable[[str], None]]] = [
            ("writer", writers, self._write),
            ("pipe", pipes, self._write_by_pipe),
            ("reader", readers, self._read),
        ]
        self._threads = [
            threading.Thread(target=self._run_client, args=(act, f"{kind}-{number}"), name=f"load-{kind}-{number}")
            for kind, count, act in kinds
            for number in range(count)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def acknowledge(self, text: bytes) -> None:
        """A text was acknowledged, to whomever."""
        with self._state:
            self.acknowledged.append(text)

    # --- clients -----------------------------------------------------------------------------------------------------

    def _run_client(self, act: Callable[[str], None], name: str) -> None:
        try:
            act(name)
        except Exception as error:  # shown in the bench's rows, and fails it
            with self._state:
                self.broken.append(f"{name}: {type(error).__name__}: {error}")

    def _write(self, name: str) -> None:
        actor_system, number = RemoteActorSystem(self._home, MIND_NAME, True, SystemClock()), 0
        while not self._ended.wait(_PAUSE_S):
            number += 1
            text = _text(name, number)
            try:
                capture_text(actor_system, text)
            except MnemicError as error:
                self._refuse(error.code)
            else:
                self.acknowledge(text)

    def _write_by_pipe(self, name: str) -> None:
        number = 0
        with closing(McpPipe(self._home)) as pipe:
            while not self._ended.wait(_PAUSE_S):
                number += 1
                text = _text(name, number)
                try:
                    pipe.call("memory_capture", text=text.decode(), scope=BENCH_SCOPE.path)
                except ConnectionError as error:
                    self._refuse(f"mcp: {str(error).partition(':')[0]}")
                    if pipe.process.poll() is not None:
                        raise
                else:
                    self.acknowledge(text)

    def _read(self, name: str) -> None:
        actor_system = RemoteActorSystem(self._home, MIND_NAME, True, SystemClock())
        while not self._ended.wait(_PAUSE_S):
            try:
                actor_system.ask(Recall(query="what did the writers say", observe=True), timeout_s=_ASK_S)
            except MnemicError as error:
                self._refuse(error.code)
            else:
                with self._state:
                    self.recalls += 1

    def _refuse(self, code: str) -> None:
        with self._state:
            self.refused[code] += 1


def _text(name: str, number: int) -> bytes:
    return f"{name} says number {number}, which is {number * 7919 % 10007} in other words".encode()
