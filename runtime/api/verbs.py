"""Base class of a mind's verbs: its actors, its keys, and exclusive access to its files.

Above stand the verbs, by what they are for (`mnemic.runtime.api.questions`, `mnemic.runtime.api.communities`,
`mnemic.runtime.api.correct`, `mnemic.runtime.api.erase`, `mnemic.runtime.api.pause`, `mnemic.runtime.api.transfer`,
`mnemic.runtime.api.lock`), and `mnemic.runtime.api.mind`, which has them all.

Having a mind for oneself, to replace its files: the home's process lets go of it, and other commands wait.

Below are `mnemic.runtime.files.atomic_replace`, which locks and replaces, and `mnemic.runtime.serve.http.responses`,
the process's part.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import NotServed
from mnemic.actors.kernel.message import AnswerT, Request, answer_type
from mnemic.actors.knowledge.messages import FactsProgress
from mnemic.actors.meaning.messages import EmbedProgress
from mnemic.actors.shape.messages import BindProgress
from mnemic.runtime.api.reports import HostPorts
from mnemic.runtime.client.launcher import REPLACED, ensure_running, wait_replaced
from mnemic.runtime.client.unix_http import held_request
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.reports import ActorSystemPort
from mnemic.runtime.files.atomic_replace import finish_commit, lock_exclusive
from mnemic.runtime.files.writable import unwritable_reason
from mnemic.runtime.keys.keys import Keys, random_id
from mnemic.runtime.minds.homes import MindFolder, mind_folder, missing_mind
from mnemic.runtime.minds.run_dir import PROTOCOL, not_served

MethodT = TypeVar("MethodT", bound=Callable[..., Any])
StepT = TypeVar("StepT", EmbedProgress, BindProgress, FactsProgress)

Progress = Callable[[str, int, int | None], None]
"""Told what is being done (``words`` or ``meaning``), how much of it is done, and how much there is."""

_MAX_ATTEMPTS = 5


@contextmanager
def exclusive_mind(home: Path, mind: str, clock: Clock) -> Iterator[MindFolder]:
    """Hold a mind alone: no other process has its store open, or opens it, until the context ends.

    Hooks go on writing to its spool meanwhile, and what they write is taken in afterwards.

    Raises:
        MindMissing: there is no such mind.
        StoreBusy: somebody else works on it for long.
        StoreReadOnly: there can be no lock here.
        NotServed: the home's process does not let go of it.
    """
    folder = mind_folder(home, mind)
    if not folder.path.is_dir():
        raise missing_mind(home, mind)
    finish_commit(folder.path)
    with ExitStack() as stack:
        _request_release(stack, home, mind, clock)
        stack.enter_context(lock_exclusive(folder.path))
        yield folder


def _request_release(stack: ExitStack, home: Path, mind: str, clock: Clock) -> None:
    """Have the home's process let go of a mind, if there is one: it may be replaced by another one meanwhile."""
    headers = {"Mnemic-Protocol": str(PROTOCOL), "Mnemic-Mind": mind, "Mnemic-Trace": f"x{random_id()}"}
    for _ in range(_MAX_ATTEMPTS):
        try:
            info = ensure_running(home, clock, start=False)
        except NotServed:
            return
        try:
            stack.enter_context(held_request(info.http_socket, "/api/let-go", headers))
            return
        except REPLACED as error:
            wait_replaced(home, info, clock, error)
    raise not_served(home, "it does not let go of the mind")


def fields_as_parameters(kind: type[msgspec.Struct], *lacks: str) -> Callable[[MethodT], MethodT]:
    """Give a method, which takes ``**asked``, the fields of a message as parameters, as `help` and editors show them.

    Args:
        lacks: fields that it does not take.
    """

    def shown(method: MethodT) -> MethodT:
        *own, asked = inspect.signature(method).parameters.values()
        fields = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.required else field.default,
                annotation=field.type,
            )
            for field in msgspec.structs.fields(kind)
            if field.name not in {*lacks, *(one.name for one in own)}
        ]
        method.__signature__ = inspect.Signature([*own, *fields])  # type: ignore[attr-defined]
        del method.__annotations__[asked.name]
        method.__annotations__ |= {field.name: field.annotation for field in fields}
        return method

    return shown


class MindVerbs:
    """A mind as its verbs see it."""

    def __init__(
        self,
        actor_system: ActorSystemPort,
        home: Path,
        name: str,
        ports: HostPorts,
        process: Callable[[], dict[str, Any] | None] = lambda: None,
        reopen: Callable[[str | None], ActorSystemPort] | None = None,
        passphrase: str | None = None,
    ) -> None:
        """Speak to an actor system; `mnemic.open` and `mnemic.open_mind` are the ways in.

        Args:
            ports: what knows the hosts.
            process: what the home's process says of itself, where the actor system is in it.
            reopen: starts the actors again, where they are this object's own; given the passphrase, if there is one.
            passphrase: what opened the mind, where it is locked by one and this object was told.
        """
        self.actor_system = actor_system
        """The actors."""
        self._home = home
        self._name = name
        self._ports = ports
        self._server_info = process
        self._reopen = reopen
        self._passphrase = passphrase
        self._read_secret: Callable[[], str | None] = lambda: None
        self._warnings: dict[str, str] = {}  # by what could not be done before a question, why; until it can

    @contextmanager
    def _exclusive_mind(self) -> Iterator[MindFolder]:
        """Hold the mind alone, its actors stopped, and start them again at the end.

        Raises: as `mnemic.runtime.api.verbs.exclusive_mind`; and whatever keeps the mind from being opened again.
        """
        if self._reopen is not None:
            self.actor_system.stop()
        try:
            with exclusive_mind(self._home, self._name, SystemClock()) as folder:
                yield folder
        finally:
            if self._reopen is not None:
                self.actor_system = self._reopen(self._passphrase)

    def _keys(self) -> tuple[MindFolder, Keys]:
        """The mind's files and keys, for what works on the files themselves; asks for a passphrase that is not known.

        Raises: as `mnemic.runtime.minds.ask_passphrase.keys_for`.
        """
        from mnemic.runtime.minds.ask_passphrase import keys_for

        return keys_for(self._home, self._name, passphrase=self._passphrase, line=self._read_secret)

    def set_secret_reader(self, line: Callable[[], str | None]) -> None:
        """Have a passphrase that is not known given by this, without a terminal; ``None`` where nobody says it."""
        self._read_secret = line

    def command(self, *parts: str) -> str:
        """A command line for this mind, whichever home the shell is set to."""
        from mnemic.runtime.minds.homes import mind_folder, mind_options

        return shlex.join(["mnemic", *parts]) + mind_options(mind_folder(self._home, self._name))

    def _ask(
        self,
        message: Request[AnswerT],
        timeout_s: float | None = None,
        progress: Callable[[int, int | None], None] | None = None,
        *,
        idle: bool = False,
    ) -> AnswerT:
        """Ask the actors; the answer is of the type that the message is declared with."""
        answer = self.actor_system.ask(message, timeout_s, progress, idle=idle)
        assert isinstance(answer, answer_type(type(message)))
        return answer

    def _until_done(
        self, step: Request[StepT], what: str, progress: Progress | None, more: Callable[[], bool] = lambda: True
    ) -> StepT:
        """Ask for a bounded step again and again, until nothing waits, or there is no more time."""
        while True:
            answer = self._ask(step)
            if progress is not None:
                progress(what, answer.done, answer.done + answer.pending)
            if not answer.pending or not more():
                return answer

    def _unwritable(self) -> str | None:
        """Why nothing can be written to the mind just now; ``None`` where something can."""
        return unwritable_reason(self._home / "minds" / self._name)
