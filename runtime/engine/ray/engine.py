"""The Ray actor engine: each actor in its own Ray process, with its mailbox in this one.

A place's instance is a proxy. Its `handle` is a conversation with the actor's process
(`mnemic.runtime.engine.ray.worker`), call after call, in which whatever the actor asks comes back here and is routed by
the supervisor. A process that dies is `InstanceDied`, and what follows from it is decided where it is for every engine:
in places and by the supervisor.

An actor that is not pinned goes where Ray puts it. Where it cannot be made there, for want of the home's files or of
the package, it is kept from then on on the node of this process, which can.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mnemic.actors.protocol.contract import Actor, Clock
from mnemic.actors.protocol.errors import ActorStopped, EngineLost, MnemicError
from mnemic.runtime.engine.engine import ANYWHERE, InstanceDied, Placement, RemoteFailure, SupervisorPort, error_kind
from mnemic.runtime.engine.mailbox import MailboxEngine
from mnemic.runtime.engine.ray.instance import RayInstance
from mnemic.runtime.engine.ray.sealing import SealRecipe

if TYPE_CHECKING:  # importing it imports Ray, which only `mnemic.runtime.engine.ray.local` may set off
    from mnemic.runtime.engine.ray.cluster import Cluster

__all__ = ["RayEngine"]

_log = logging.getLogger("mnemic.engine")


class RayEngine(MailboxEngine):
    """Places actors in processes of their own."""

    name = "ray"

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        seal: SealRecipe,
        *,
        namespace: str,
        stop_timeout_s: float = 30.0,
        make_timeout_s: float = 30.0,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        """Make an engine on a connection.

        Args:
            seal: of this run; every process opens it for itself.
            namespace: the mind's; names of actors are unique in it.
            stop_timeout_s: how long an actor may take to finish its mailbox when it is stopped.
            make_timeout_s: how long an actor's process and the actor in it may take to be there.
            on_close: called when the engine is closed.
        """
        super().__init__(clock, stop_timeout_s)
        self._cluster = cluster
        self._recipe = seal
        self._seal = seal.make_seal()
        self._namespace = namespace
        self._make_timeout_s = make_timeout_s
        self._on_close = on_close
        self._instances: dict[str, RayInstance] = {}
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
        """See `mnemic.runtime.engine.engine.Engine.stop`. The process of an actor that does not finish in time is
        killed.
        """
        super().stop(name)
        self._abandoned.add(name)
        instance = self._instances.pop(name, None)
        if instance is not None:
            instance.kill()

    def close(self) -> None:
        """Kill what is left of the actors; the connection is whose who made it."""
        while self._instances:
            name, instance = self._instances.popitem()
            self._abandoned.add(name)
            instance.kill()
        self._on_close()

    def _start_anywhere(self, name: str, factory: bytes, placement: Placement) -> RayInstance:
        """Make an instance; in the thread of its place, but for the first one."""
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

    def _start_instance(self, name: str, factory: bytes, placement: Placement) -> RayInstance:
        if name in self._abandoned:  # the place is still at a message that nobody waits for any more
            raise ActorStopped(actor=name, message="-")
        instance = RayInstance(name, self._cluster, self._recipe, self._seal, self._stop_timeout_s)
        self._instances[name] = instance
        try:
            instance.make(self._namespace, factory, placement, self._make_timeout_s)
        except BaseException:
            instance.kill()
            raise
        return instance
