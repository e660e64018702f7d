"""The Ray actor engine: each actor in its own Ray process, with its mailbox in this one.

A mailbox's instance is a proxy. Its `handle` is a conversation with the actor's process
(`mnemic.runtime.engine.ray.worker`), call after call, in which whatever the actor asks comes back here and is routed by
the supervisor. A process that dies is `InstanceDied`, and what follows from it is decided where it is for every engine:
in mailboxes and by the supervisor. Whatever happens there, a mailbox is never left waiting: Ray says when a process is
gone, and every wait here ends now and then to see whether the instance was given up.

An actor that is not pinned goes where Ray puts it. Where it cannot be made there, for want of the home's files or of
the package, it is kept from then on on the node of this process, which can.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mnemic.actors.kernel.contract import Actor, Clock, Context
from mnemic.actors.kernel.errors import ActorStopped, EngineLost, MnemicError
from mnemic.runtime.engine.engine import (
    ANYWHERE,
    Engine,
    InstanceDied,
    Placement,
    RemoteFailure,
    SupervisorPort,
    error_kind,
)
from mnemic.runtime.engine.ray.protocol import (
    FROM_WORKER,
    TO_WORKER,
    Call,
    Close,
    LogLine,
    Make,
    MindSealRecipe,
    ProgressReport,
    Resume,
    Seal,
    Step,
    ToldMessage,
)

if TYPE_CHECKING:  # importing it imports Ray, which only `mnemic.runtime.engine.ray.local` may set off
    from mnemic.runtime.engine.ray.cluster import Cluster

_log = logging.getLogger("mnemic.engine")

_POLL_S = 0.25
"""A long call is looked after so often: whether it was given up here, and whether the actor is to be told to finish."""
_PREFETCH_TIMEOUT_S = 10.0
"""What is fetched beforehand may not take all the time that an actor has to do without it."""
_GPU_TIMEOUT_S = 10.0
"""So long an actor waits for its GPU, which others may hold or a lost node may have had, before it does without."""


class RayEngine(Engine):
    """Places actors in processes of their own."""

    name = "ray"

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        seal: MindSealRecipe,
        *,
        namespace: str,
        stop_timeout_s: float = 30.0,
        make_timeout_s: float = 30.0,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        """Make an engine on a connection, which stays open when it is closed; see `Engine`.

        Args:
            seal: of this run; every process opens it for itself.
            namespace: the mind's; names of actors are unique in it.
            make_timeout_s: how long an actor's process and the actor in it may take to be there.
        """
        super().__init__(clock, stop_timeout_s=stop_timeout_s, on_close=on_close)
        self._cluster = cluster
        self._recipe = seal
        self._seal = seal.make_seal()
        self._namespace = namespace
        self._make_timeout_s = make_timeout_s
        self._instances: dict[str, _RayInstance] = {}
        self._abandoned: set[str] = set()
        self._forced_local: set[str] = set()

    def start(
        self,
        name: str,
        factory: Callable[[], Actor],
        capacity: int,
        overseer: SupervisorPort,
        placement: Placement = ANYWHERE,
    ) -> None:
        """Start the actor's process and make the actor in it, by a factory that can be pickled.

        Raises:
            EngineLost: there was no process to be had in time, or it died.
            Exception: what the factory raised, as `RemoteFailure` unless it is Mnemic's or Python's own.
        """
        self._abandoned.discard(name)
        factory_pickled = self._cluster.pickle(factory)
        try:
            self._add_mailbox(name, partial(self._start_anywhere, name, factory_pickled, placement), capacity, overseer)
        except RemoteFailure as failure:
            raised = failure.error or failure
        except InstanceDied as error:
            raised = EngineLost(why=f"it did not make {name}: {error}")
        else:
            return
        raise raised  # out here, where the wrapping is not its context

    def stop(self, name: str) -> None:
        """See `Engine.stop`. The process of an actor that does not finish in time is killed."""
        super().stop(name)
        self._abandoned.add(name)
        instance = self._instances.pop(name, None)
        if instance is not None:
            instance.kill()

    def close(self) -> None:
        """Kill what is left of the actors."""
        while self._instances:
            name, instance = self._instances.popitem()
            self._abandoned.add(name)
            instance.kill()
        super().close()

    def _start_anywhere(self, name: str, factory: bytes, placement: Placement) -> _RayInstance:
        """Make an instance; in the thread of its mailbox, but for the first one."""
        if name in self._forced_local:
            placement = msgspec.structs.replace(placement, pinned=True)
        try:
            return self._start_instance(name, factory, placement)
        except (MnemicError, RemoteFailure, InstanceDied) as error:  # at home the same comes again, if it is no node's
            if placement.pinned or name in self._abandoned or self._cluster.is_single_node():
                raise
            why = error.code if isinstance(error, MnemicError) else error_kind(error)
            _log.warning("%s runs on the home's machine: where it was put first, %s", name, why)
        self._forced_local.add(name)
        return self._start_instance(name, factory, msgspec.structs.replace(placement, pinned=True))

    def _start_instance(self, name: str, factory: bytes, placement: Placement) -> _RayInstance:
        if name in self._abandoned:  # the mailbox is still at a message that nobody waits for any more
            raise ActorStopped(actor=name, message="-")
        instance = _RayInstance(name, self._cluster, self._recipe, self._seal, self._stop_timeout_s)
        self._instances[name] = instance
        try:
            instance.make(self._namespace, factory, placement, self._make_timeout_s)
        except BaseException:
            instance.kill()
            raise
        return instance


class _RayInstance:
    """A process with an actor in it."""

    def __init__(self, name: str, cluster: Cluster, recipe: MindSealRecipe, seal: Seal, stop_timeout_s: float) -> None:
        self._name = name
        self._cluster = cluster
        self._recipe = recipe
        self._seal = seal
        self._stop_timeout_s = stop_timeout_s
        self._process: Any = None
        self._gone = False
        self._given_up = False
        self._cancel_sent = False
        self._foresees: Callable[[Any], tuple[Any, ...]] | None = None

    def make(self, namespace: str, factory: bytes, placement: Placement, timeout_s: float) -> None:
        """Start the process and make the actor in it.

        Raises:
            InstanceDied: it was not there in time, or died.
            MnemicError: the factory, or opening the seal there, raised it.
            RemoteFailure: the factory raised anything else.
        """
        gpus = placement.gpus if placement.gpus <= self._cluster.gpus(pinned=placement.pinned) else 0.0
        if gpus:
            try:
                return self._start(namespace, factory, placement, gpus, min(_GPU_TIMEOUT_S, timeout_s))
            except InstanceDied as error:
                _log.warning("%s does without a GPU: %s", self._name, error)
        return self._start(namespace, factory, placement, 0.0, timeout_s)

    def _start(self, namespace: str, factory: bytes, placement: Placement, gpus: float, timeout_s: float) -> None:
        self._process = self._cluster.spawn(
            self._name, namespace, self._recipe, pinned=placement.pinned, gpus=gpus, timeout_s=timeout_s
        )
        level = logging.getLogger().getEffectiveLevel()
        step = self._exchange_once(Make(factory, level, placement.background), timeout_s)
        if step is None:
            self._cluster.kill(self._process)
            raise InstanceDied(f"it was not made within {timeout_s:g} s")
        self._apply_outputs(step, None)
        self._foresees = self._result(step)

    def handle(self, message: Any, context: Context) -> Any:
        """Have the actor handle a message.

        Raises:
            InstanceDied: its process is gone.
            ActorStopped: the instance was given up meanwhile.
            MnemicError: the actor answered with it.
            RemoteFailure: the actor raised anything else.
        """
        try:
            step = self._exchange(
                Call(
                    message,
                    context.trace,
                    context.now,
                    context.seed,
                    context.cancelled(),
                    self._prefetch(message, context),
                ),
                context,
            )
            while step.kind in ("ask", "output"):
                outcome = _ask(context, *step.value) if step.kind == "ask" else Resume(None, None, context.cancelled())
                step = self._exchange(outcome, context)
        except BaseException:  # the conversation broke off, and the actor may wait for a word that does not come
            self._end()
            if self._given_up:
                raise ActorStopped(actor=self._name, message=type(message).__name__) from None
            raise
        return self._result(step)

    def close(self) -> None:
        """Close the actor and end its process; nothing, where that is gone.

        Raises:
            Exception: closing it failed, or took too long; it is gone all the same.
        """
        if self._gone:
            return
        try:
            step = self._exchange_once(Close(), self._stop_timeout_s)
            if step is None:
                raise InstanceDied(f"it was not closed within {self._stop_timeout_s:g} s")
            self._apply_outputs(step, None)
            self._result(step)
        finally:
            self._end()

    def kill(self) -> None:
        """End the process at once, whatever it is at; whoever is in `handle` comes out of it with `ActorStopped`."""
        self._given_up = True
        self._end()

    def _end(self) -> None:
        self._gone = True
        if self._process is not None:
            self._cluster.kill(self._process)

    def _exchange(self, word: Call | Resume, context: Context) -> Step:
        if self._gone:
            raise InstanceDied("it is gone")
        call = self._send(word)
        step = None
        while step is None:
            step = self._receive(call, _POLL_S)
            if self._given_up:
                raise InstanceDied("it was given up")
            if step is None and context.cancelled() and not self._cancel_sent:
                self._cancel_sent = True
                self._cluster.cancel(self._process)
        self._apply_outputs(step, context)
        return step

    def _exchange_once(self, word: Make | Close, timeout_s: float) -> Step | None:
        return self._receive(self._send(word), timeout_s)

    def _send(self, word: Make | Call | Resume | Close) -> Any:
        data = pickle.dumps(word, pickle.HIGHEST_PROTOCOL)
        return self._cluster.send(self._process, self._seal.seal(data, TO_WORKER))

    def _receive(self, call: Any, timeout_s: float) -> Step | None:
        sealed = self._cluster.receive(call, timeout_s)
        if sealed is None:
            return None
        if not isinstance(sealed, bytes):  # it has no seal, and says why
            raise sealed
        step = pickle.loads(self._seal.open(sealed, FROM_WORKER))
        assert isinstance(step, Step)
        return step

    def _apply_outputs(self, step: Step, context: Context | None) -> None:
        """Pass on what came before a step; in making and closing there is nobody to tell anything to."""
        for item in step.outputs:
            match item:
                case LogLine():
                    logging.getLogger(item.logger).log(item.level, "%s", item.text, extra=item.fields)
                case ToldMessage() if context is not None:
                    context.tell(pickle.loads(item.message))
                case ProgressReport() if context is not None:
                    context.progress(item.done, item.total)

    def _result(self, step: Step) -> Any:
        if step.kind == "error":
            assert isinstance(step.value, MnemicError | RemoteFailure)
            raise step.value
        return step.value

    def _prefetch(self, message: Any, context: Context) -> tuple[tuple[Any, Resume], ...]:
        if self._foresees is None:
            return ()
        return tuple((one, _ask(context, one, _PREFETCH_TIMEOUT_S)) for one in self._foresees(message))


def _ask(context: Context, message: Any, timeout_s: float) -> Resume:
    try:
        return Resume(context.ask(message, timeout_s), None, context.cancelled())
    except MnemicError as error:
        return Resume(None, error, context.cancelled())
