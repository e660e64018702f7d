"""The connection to Ray; the only module that imports it.

What Ray is to do unasked is set in the environment, and Ray reads it when it is imported:
`mnemic.runtime.engine.ray.local` does the one before the other. Nothing that actors say goes through here in clear;
what tasks are given (`Cluster.run_tasks`) does.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import ray
import ray.cloudpickle
from ray.exceptions import (
    ActorAlreadyExistsError,
    GetTimeoutError,
    OutOfMemoryError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from mnemic.actors.kernel.errors import EngineLost, MnemicError
from mnemic.runtime.engine.engine import InstanceDied, RemoteFailure
from mnemic.runtime.engine.ray.protocol import MindSealRecipe
from mnemic.runtime.engine.ray.worker import Worker

_ray: Any = ray  # what its own annotations know is not all that it takes
_RENAME_S = 0.05
_TASK_RETRIES = 3
_MAX_LOG_CHARS = 300  # characters of what Ray has to say; it goes on to print the last lines of its own log

_log = logging.getLogger("mnemic.ray")


class Cluster:
    """This process's connection; there can be one at a time."""

    def __init__(self, **options: Any) -> None:
        """Connect by ``ray.init`` with these options, or start what they describe.

        Raises:
            ConnectionError, RuntimeError, ValueError: Ray's own, where it does not come to that.
        """
        _ray._private.worker.print_to_stdstream = _log_ray_report  # it prints to stdout, which is not its own
        on_term = signal.getsignal(signal.SIGTERM)
        _ray.init(log_to_driver=False, logging_level="ERROR", **options)
        if threading.current_thread() is threading.main_thread():  # Ray took it only there
            signal.signal(signal.SIGTERM, on_term)  # whoever runs this process drains before it ends
        self.node: str = _ray.get_runtime_context().get_node_id()
        """The node of this process."""
        # Ray replays out of order and restarts without a pause; no actor computes enough to be counted in cores.
        self._worker = _ray.remote(max_restarts=0, max_task_retries=0, num_cpus=0, concurrency_groups={"control": 1})(
            Worker
        )

    def spawn(
        self, name: str, namespace: str, recipe: MindSealRecipe, *, pinned: bool, gpus: float, timeout_s: float
    ) -> Any:
        """Start an actor's process and return its handle, at once; whoever had the name is killed first.

        Raises:
            InstanceDied: it was not to be had in time.
        """
        options: dict[str, Any] = {"name": name, "namespace": namespace, "num_gpus": gpus or None}
        if pinned:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(self.node, soft=False)
        pause = threading.Event()
        for _ in range(max(1, round(timeout_s / _RENAME_S))):
            try:
                return self._worker.options(**options).remote(name, recipe)
            except ActorAlreadyExistsError:  # a killed one keeps its name for a moment, and one of a lost driver longer
                self._kill_named(name, namespace)
                pause.wait(_RENAME_S)
            except RayError as error:
                raise InstanceDied(type(error).__name__) from None
        raise InstanceDied("its name is taken")

    def _kill_named(self, name: str, namespace: str) -> None:
        try:
            _ray.kill(_ray.get_actor(name, namespace))
        except (ValueError, RayError):  # it is gone: that is what was wanted, and whoever asked tries again
            return

    def send(self, actor: Any, sealed: bytes) -> Any:
        """Call ``Worker.cross``; returns what `receive` takes."""
        return actor.exchange.remote(sealed)

    def receive(self, call: Any, timeout_s: float) -> bytes | MnemicError | RemoteFailure | None:
        """What a call came back with, ``None`` if that takes longer.

        Raises:
            InstanceDied: the process is gone, or nobody knows.
        """
        try:
            answer: bytes | MnemicError | RemoteFailure = _ray.get(call, timeout=timeout_s)
        except GetTimeoutError:
            return None
        except RayError as error:
            raise InstanceDied(type(error).__name__) from None
        return answer

    def cancel(self, actor: Any) -> None:
        """Call ``Worker.cancel``, past whatever it is at, and wait for nothing."""
        actor.cancel.options(concurrency_group="control").remote()

    def kill(self, actor: Any) -> None:
        """End an actor's process at once; where it has ended, nothing."""
        try:
            _ray.kill(actor)
        except RayError:  # it has no way left to be told so, and Ray's own processes end it
            return

    def pickle(self, thing: Any) -> bytes:
        """Pickle what may hold functions and classes that no module has."""
        data: bytes = _ray.cloudpickle.dumps(thing)
        return data

    def run_tasks(self, act: Callable[[Any], Any], jobs: Iterable[Any], at_once: int) -> Iterator[tuple[Any, Any]]:
        """Have each job done by a function in a process of its own; gives each with what came of it, as they end.

        A process that dies is replaced, and what it was at is done again. Jobs and what comes of them cross in clear.

        Args:
            act: a function of a module that all nodes have.
            jobs: taken one by one, as there is room.
            at_once: so many are under way.

        What comes of a job whose process has died again and again, or which raised, is why, in a sentence.

        Raises:
            EngineLost: Ray itself is lost.
        """
        task = _ray.remote(num_cpus=1, max_retries=_TASK_RETRIES)(act)
        waiting, under_way = iter(jobs), dict[Any, Any]()
        try:
            while True:
                while len(under_way) < at_once and (job := next(waiting, None)) is not None:
                    under_way[task.remote(job)] = job
                if not under_way:
                    return
                (done, *_), _ = _ray.wait(list(under_way), num_returns=1)
                try:
                    found = _ray.get(done)
                except (RayTaskError, WorkerCrashedError, OutOfMemoryError) as error:
                    found = f"its process failed {1 + _TASK_RETRIES} times: {type(error).__name__}"
                yield under_way.pop(done), found
        except RayError as error:
            raise EngineLost(why=f"a task of it failed: {type(error).__name__}") from error

    def cpus(self) -> int:
        """How many tasks can be under way."""
        return max(1, int(_ray.cluster_resources().get("CPU", 1)))

    def gpus(self, *, pinned: bool) -> float:
        """How many GPUs the node has that has the most; the node of this process, where an actor must run there."""
        nodes = [node for node in self._nodes() if not (pinned and node["NodeID"] != self.node)]
        return max((float(node["Resources"].get("GPU", 0.0)) for node in nodes), default=0.0)

    def is_single_node(self) -> bool:
        """Whether an actor can run on the node of this process only."""
        return all(node["NodeID"] == self.node for node in self._nodes())

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in _ray.nodes() if node["Alive"]]

    def actors(self, namespace: str) -> list[str]:
        """Names of the actors that live in a namespace."""
        return [
            one["name"] for one in _ray.util.list_named_actors(all_namespaces=True) if one["namespace"] == namespace
        ]

    def head_pids(self) -> list[int]:
        """Process ids of what every call depends on, where this process started it."""
        node = _ray._private.worker._global_node
        started = node.all_processes if node is not None and node.head else {}
        return [one.process.pid for kind in ("gcs_server", "raylet") for one in started.get(kind, [])]

    def lost_reason(self) -> str | None:
        """Why no call gets through, if none does: the node of this process is gone. Without a head, Ray ends us all."""
        alive = any(node["NodeID"] == self.node for node in self._nodes())
        return None if alive else "the cluster has lost this machine"

    def close(self) -> None:
        """Disconnect, and end what connecting started."""
        _ray.shutdown()


def _log_ray_report(said: Mapping[str, Any], ignore_prefix: bool = False) -> None:
    """Log what Ray reports of its processes and nodes."""
    for line in said["lines"][:1]:
        _log.warning("%s", str(line).partition("\n")[0][:_MAX_LOG_CHARS])
