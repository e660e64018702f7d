"""Inside an actor's Ray process: runs the actor in a thread and exchanges messages with the driver.

An actor waits for the answers to what it asks, and Ray delivers nothing to an actor that waits. So each message is a
conversation: every call of `Worker.exchange` gives the thread the next word and comes back with its next `Step`, which
is the answer, or a question that the driver (`mnemic.runtime.engine.ray.engine`) has routed and goes on with. What an
actor tells, logs and reports travels with the steps, in order.

Ray writes exceptions and prints into its own logs, in clear. Hence all that crosses is sealed, nothing is raised out of
`cross`, and what is written to stdout or stderr goes nowhere.
"""

from __future__ import annotations

import logging
import os
import pickle
import threading
from queue import SimpleQueue
from typing import Any

from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import ActorStopped, MnemicError
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.engine import RemoteFailure, error_kind, error_location, redacted_line
from mnemic.runtime.engine.ray.protocol import (
    FROM_WORKER,
    TO_WORKER,
    Call,
    Close,
    Kind,
    LogLine,
    Make,
    MindSealRecipe,
    ProgressReport,
    Resume,
    Seal,
    Step,
    ToldMessage,
)
from mnemic.runtime.keys.keys import disable_core_dumps
from mnemic.runtime.logs import FIELDS

_FLUSH_EVERY_S = 0.05
"""So long may pass before what was told, logged and reported is on its way: a crossing takes about a millisecond."""

_FOREIGN_LOGGER = "mnemic.engine"
"""Under this name the lines of other loggers are logged: that is where somebody looks."""
_BACKGROUND_NICENESS = 15
"""Added to the niceness of a process that nobody waits for: a recall beside a heavy night took half as long with it."""


class ActorThread:
    """One actor, the thread that it lives in, and what it has to say."""

    def __init__(self, name: str, recipe: MindSealRecipe) -> None:
        self._name = name
        self._recipe = recipe
        self._clock = SystemClock()
        self._seal: Seal
        self._actor: Any = None
        self._requests: SimpleQueue[bytes] = SimpleQueue()
        self._steps: SimpleQueue[bytes | MnemicError | RemoteFailure] = SimpleQueue()
        self._exchange_lock = threading.RLock()  # an actor may have threads of its own, and there is one conversation
        self._handling = False
        self._outputs: list[ToldMessage | LogLine | ProgressReport] = []
        self._last_progress: ProgressReport | None = None
        self._crossed_s = 0.0
        self.cancelled = threading.Event()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def exchange(self, sealed: bytes) -> bytes | MnemicError | RemoteFailure:
        """Give the actor's thread the next word and wait for its next step.

        Returns the step, sealed; where there is no seal to be had, in clear, what says so.
        """
        self._requests.put(sealed)
        return self._steps.get()

    def _run(self) -> None:
        try:
            self._seal = self._recipe.make_seal()
        except Exception as error:  # said in clear: ours name a file at most, which the recipe did before
            self._requests.get()
            unknown = RemoteFailure(error_kind(error), "the seal of its process")
            self._steps.put(error if isinstance(error, MnemicError) else unknown)
            return
        while True:
            self._steps.put(self._answer(self._requests.get()))

    def _answer(self, sealed: bytes) -> bytes:
        kind: Kind = "answer"
        try:
            value = self._dispatch(self._opened(sealed))
        except MnemicError as error:
            kind, value = "error", error
        except BaseException as error:  # whatever an actor raises is the supervisor's to judge
            kind, value = "error", _failure(error, making=self._actor is None)
        with self._exchange_lock:  # a thread of the actor's that still speaks is heard first
            self._handling = False
            try:
                return self._sealed(kind, value)
            except Exception as error:  # whatever a stranger's class does when it is pickled
                return self._sealed("error", _failure(error, making=False))

    def _dispatch(self, word: Make | Call | Close) -> Any:
        match word:
            case Make():
                root = logging.getLogger()
                root.handlers = [_LogForwarder(self._outputs)]
                root.setLevel(word.log_level)
                if word.background:
                    os.nice(_BACKGROUND_NICENESS)
                self._actor = pickle.loads(word.factory)()
                return _picklable_or_none(getattr(type(self._actor), "foresees", None))
            case Call():
                self._handling = True
                self._crossed_s = self._clock.monotonic_s()
                return self._actor.handle(word.message, self._context(word))
            case Close():
                return getattr(self._actor, "close", lambda: None)()

    def _context(self, call: Call) -> Context:
        foreseen = list(call.prefetched)
        if call.cancelled:
            self.cancelled.set()

        def ask(message: Any, timeout_s: float) -> Any:
            for place, (known, _) in enumerate(foreseen):
                if known == message:
                    return _unwrap(foreseen.pop(place)[1])
            return _unwrap(self._ask_driver("ask", (message, timeout_s)))

        return Context(
            trace=call.trace,
            now=call.now,
            clock=self._clock,
            seed=call.seed,
            ask=ask,
            tell=self._tell,
            progress=self._progress,
            cancelled=self.cancelled.is_set,
        )

    def _tell(self, message: Any) -> None:
        told = ToldMessage(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
        with self._exchange_lock:
            self._require_handling(type(message).__name__)  # first: what is refused is not sent
            self._outputs.append(told)
            self._flush_if_due()

    def _progress(self, done: int, total: int | None) -> None:
        with self._exchange_lock:
            if self._handling:  # else it is of a message that is done, and nobody watches that any more
                self._last_progress = ProgressReport(done, total)
                self._flush_if_due()

    def _flush_if_due(self) -> None:
        if self._clock.monotonic_s() - self._crossed_s >= _FLUSH_EVERY_S:
            self._ask_driver("output", None)

    def _ask_driver(self, kind: Kind, value: Any) -> Resume:
        """Let the driver know, and wait until it says to go on."""
        with self._exchange_lock:
            self._require_handling(kind)
            self._steps.put(self._sealed(kind, value))
            resume = self._opened(self._requests.get())
            assert isinstance(resume, Resume)
            if resume.cancelled:
                self.cancelled.set()
            return resume

    def _require_handling(self, message: str) -> None:
        """Refuse what a thread of the actor's says after its message was answered: nobody is there to route it."""
        if not self._handling:
            raise ActorStopped(actor=self._name, message=message)

    def _opened(self, sealed: bytes) -> Any:
        return pickle.loads(self._seal.open(sealed, TO_WORKER))

    def _sealed(self, kind: Kind, value: Any) -> bytes:
        outputs = tuple(self._outputs)
        late = () if self._last_progress is None else (self._last_progress,)
        data = pickle.dumps(Step(kind, value, (*outputs, *late)), pickle.HIGHEST_PROTOCOL)  # raises: nothing is lost
        del self._outputs[: len(outputs)]
        self._last_progress = None
        self._crossed_s = self._clock.monotonic_s()
        return self._seal.seal(data, FROM_WORKER)


class Worker(ActorThread):
    """The Ray actor: an actor's thread, alone in a process. It knows nothing of Ray, which makes an actor of it."""

    def __init__(self, name: str, recipe: MindSealRecipe) -> None:
        os.umask(0o077)
        disable_core_dumps()
        silence = os.open(os.devnull, os.O_WRONLY)
        for standard in (1, 2):
            os.dup2(silence, standard)
        os.close(silence)
        super().__init__(name, recipe)

    def cancel(self) -> None:
        """Say that the process of the supervisor is stopping."""
        self.cancelled.set()


class _LogForwarder(logging.Handler):
    """Puts lines among the outputs: Mnemic's own, and of anybody else's where they come from and no word.

    What a line says of an exception stays here, since that may quote a memory.
    """

    def __init__(self, outputs: list[ToldMessage | LogLine | ProgressReport]) -> None:
        super().__init__()
        self._lines = outputs

    def emit(self, record: logging.LogRecord) -> None:
        try:
            own = record.name.partition(".")[0] == "mnemic"
            self._lines.append(
                LogLine(record.name, record.levelno, record.getMessage(), _fields(record))
                if own
                else LogLine(_FOREIGN_LOGGER, record.levelno, redacted_line(record), {})
            )
        except Exception as error:  # a line that cannot be written fails nobody, but is missed: stderr goes nowhere
            lost = f"a line of {record.name} at {record.funcName} could not be written: {error_kind(error)}"
            self._lines.append(LogLine(_FOREIGN_LOGGER, logging.ERROR, lost, {}))


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """What a line says by name, of what any process can read."""
    said = {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
    plain = (str, int, float, type(None))
    return {name: value if isinstance(value, plain) else type(value).__name__ for name, value in said.items()}


def _unwrap(resume: Resume) -> Any:
    if resume.error is not None:
        raise resume.error
    return resume.answer


def _failure(error: BaseException, *, making: bool) -> RemoteFailure:
    """What may be known of a failure: kind and place; in making an actor, the error too, if Python's own."""
    itself = _picklable_or_none(error) if making and type(error).__module__ == "builtins" else None
    return RemoteFailure(error_kind(error), error_location(error), itself)


def _picklable_or_none(value: Any) -> Any:
    """The value, or ``None`` if it cannot be pickled and read by whoever knows the same modules."""
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:  # whatever a stranger's class does when it is pickled
        return None
    return value
