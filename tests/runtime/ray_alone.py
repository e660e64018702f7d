"""Run as a program: a process with a Ray of its own, which a test may do its worst to.

Says what it does in lines of JSON, and goes on when it is given a line.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import msgspec
import psutil

import mnemic
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import InvalidValue, KeyMissing, MindMissing, MnemicError
from mnemic.runtime.engine.engine import Placement, RemoteFailure
from mnemic.runtime.engine.ray.engine import RayEngine
from mnemic.runtime.engine.ray.local import LocalRay, connect
from mnemic.runtime.engine.ray.protocol import Seal
from tests.clocks import ManualClock
from tests.contract.engine_contract import Echo, ProbeActor, Raise, Say, Watch, letter
from tests.processes.ray_fixture import OpenSeal
from tests.runtime.engine.ray.test_engine import Die, MortalActor, Pid
from tests.waiting import BOUND_S

MARK = b"the tea is in the blue tin of Ada"
CONTROL = b"nothing of this is a memory"


class Blurt(msgspec.Struct, frozen=True):
    """Let the text out wherever it can go."""

    text: str


class Blabber(MortalActor):
    """An actor that says what it should not."""

    def handle(self, message: Any, context: Context) -> Any:
        if not isinstance(message, Blurt):
            return super().handle(message, context)
        print(message.text, flush=True)
        print(message.text, file=sys.stderr, flush=True)
        os.write(1, message.text.encode())
        os.write(2, message.text.encode())
        logging.getLogger("mnemic.blabber").error(message.text)
        logging.getLogger("ray").error(message.text)
        warnings.warn(message.text, stacklevel=1)
        dying = threading.Thread(target=lambda: {}[message.text])
        dying.start()
        dying.join()
        return None

    def close(self) -> None:
        raise RuntimeError(MARK.decode())


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def leak(folder: Path) -> None:
    """Send a memory through in every way there is."""
    logging.getLogger().addHandler(logging.NullHandler())
    ray = LocalRay.start(folder)
    engine = RayEngine(ray.cluster, ManualClock(0), OpenSeal(), namespace="mind")
    mark = MARK.decode()

    def broken() -> Any:
        raise OSError(mark)

    def odd() -> Any:
        raise type("OddError", (Exception,), {})(mark)

    for make in (broken, odd):
        try:
            engine.start("probe", make, 10, Watch(engine))
        except (OSError, RemoteFailure) as error:
            say(raised=type(error).__name__)
    engine.start("probe", Blabber, 10, Watch(engine))
    large = MARK * (50_000_000 // len(MARK))
    errors = [ValueError(mark), SystemExit(mark), InvalidValue(name=mark, value=mark, why=mark, expected=mark)]
    for message in (
        *(Echo(large[:size]) for size in (100, 150_000, 5_000_000, 50_000_000)),
        *(Raise(error) for error in errors),
        Blurt(mark),
        Die(folder / "lines", 1),
        Echo({mark: large[:200_000]}),
    ):
        try:
            engine.send("probe", letter(message), timeout_s=BOUND_S).get()
        except MnemicError as error:
            say(answered=error.code)
    import ray as in_clear  # what the search must find, to be believed

    kept = in_clear.put(CONTROL * 50_000)
    say(head=ray.cluster.head_pids(), worker=engine.send("probe", letter(Pid()), timeout_s=BOUND_S).get())
    engine.send("probe", letter(Echo(large)), timeout_s=BOUND_S)
    sys.stdin.readline()
    del kept


def lost(folder: Path) -> None:
    """Be robbed of a process of Ray's, say so, and stop."""
    ray = LocalRay.start(folder)
    engine = RayEngine(ray.cluster, ManualClock(0), OpenSeal(), namespace="mind", stop_timeout_s=5.0)
    engine.start("probe", MortalActor, 10, Watch(engine, on_failure=lambda actor: None))
    pid = engine.send("probe", letter(Pid()), timeout_s=BOUND_S).get()
    say(head=ray.cluster.head_pids(), worker=pid, lost=ray.lost_reason())
    sys.stdin.readline()
    say(lost=ray.lost_reason())
    os.kill(pid, signal.SIGKILL)  # it would live on for a while
    try:
        engine.send("probe", letter(Say(1)), timeout_s=BOUND_S).get()
    except MnemicError as error:
        say(answered=error.code)
    engine.stop("probe")
    ray.stop()
    say(stopped=True, token=os.environ.get("RAY_AUTH_TOKEN_PATH"))
    os._exit(0)  # Ray would end it otherwise


def nodes(folder: Path) -> None:
    """Lose the second of two nodes, with an actor on it."""
    os.environ.update(RAY_health_check_initial_delay_ms="500", RAY_health_check_period_ms="500")
    from ray.cluster_utils import Cluster as Nodes

    Path("/tmp/ray").mkdir(exist_ok=True)  # where the test cluster notes its address, and does not make the folder
    size = {"num_cpus": 1, "object_store_memory": 80 << 20}
    two = Nodes(initialize_head=True, head_node_args={**size, "temp_dir": str(folder)})
    second = two.add_node(**size, num_gpus=1)
    two.wait_for_nodes()
    cluster = connect(two.address)
    engine = RayEngine(cluster, ManualClock(0), OpenSeal(), namespace="mind", make_timeout_s=30.0)
    watch = Watch(engine)
    logging.basicConfig()
    engine.start("pinned", NodeActor, 10, watch, Placement(pinned=True))
    engine.start("free", NodeActor, 10, watch, Placement(gpus=1.0))

    def ask(name: str, message: Any) -> Any:
        return engine.send(name, letter(message), timeout_s=60.0).get()

    def where() -> dict[str, Any]:
        return {name: ask(name, Where()) == cluster.node for name in ("pinned", "free")}

    say(here=where(), said=[ask(name, Say(1)) for name in ("pinned", "free")])
    raylet = psutil.Process(second.all_processes["raylet"][0].process.pid)
    processes = [raylet, *raylet.children(recursive=True)]
    for process in processes:
        process.kill()
    two.remove_node(second, allow_graceful=False)
    say(free=ask("free", Say(2)), pinned=ask("pinned", Say(2)))
    say(here=where(), failures=watch.failures)
    for name in ("free", "pinned"):
        engine.stop(name)
    say(left=cluster.actors("mind"))
    cluster.close()
    two.shutdown()


class SealAt(msgspec.Struct, frozen=True):
    """The recipe of a seal for one node: the key file is on no other one."""

    node: str

    def make_seal(self) -> Seal:
        if node() != self.node:
            raise KeyMissing(path="/home/key")
        return OpenSeal().make_seal()


def elsewhere(folder: Path) -> None:
    """Start actors that are not pinned and are put on a node without the home's files."""
    from ray.cluster_utils import Cluster as Nodes

    size = {"num_cpus": 1, "object_store_memory": 80 << 20}
    two = Nodes(initialize_head=True, head_node_args={**size, "temp_dir": str(folder)})
    two.add_node(**size, num_gpus=1)
    two.wait_for_nodes()
    cluster = connect(two.address)
    warned: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warned.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("mnemic").addHandler(handler)
    home = cluster.node

    def ports_at_home() -> NodeActor:
        if node() != home:
            raise MindMissing(mind="default", home="/home")
        return NodeActor()

    def nowhere() -> NodeActor:
        raise MindMissing(mind="default", home="/home")

    seals = {"seal": SealAt(home), "ports": OpenSeal(), "free": OpenSeal(), "nowhere": OpenSeal()}
    makes = {"seal": NodeActor, "ports": ports_at_home, "free": NodeActor, "nowhere": nowhere}
    for name, seal in seals.items():
        engine = RayEngine(cluster, ManualClock(0), seal, namespace=name, make_timeout_s=BOUND_S)
        try:
            engine.start(name, makes[name], 10, Watch(engine), Placement(gpus=1.0))
        except MnemicError as error:
            say(name=name, raised=error.code, warned=warned)
        else:
            here = [engine.send(name, letter(Where()), timeout_s=BOUND_S).get() == home]
            engine.restart(name, 0.0)
            here.append(engine.send(name, letter(Where()), timeout_s=BOUND_S).get() == home)
            say(name=name, here=here, warned=warned)
            engine.stop(name)
        warned.clear()
    cluster.close()
    two.shutdown()


def opened(home: Path) -> None:
    """Open a mind on Ray, and have it open."""
    mind = mnemic.open(home, engine="ray")
    mind.remember("an otter")
    say(pid=os.getpid())
    sys.stdin.readline()
    mind.close()
    say(closed=True)


def node() -> str:
    """Id of the node of this process."""
    import ray  # only where there is one

    found: str = ray.get_runtime_context().get_node_id()
    return found


class Where(msgspec.Struct, frozen=True):
    """Answer with the node's id."""


class NodeActor(ProbeActor):
    """A probe that knows where it is."""

    def handle(self, message: Any, context: Context) -> Any:
        if isinstance(message, Where):
            return node()
        return super().handle(message, context)


if __name__ == "__main__":
    from tests.runtime import ray_alone  # under the name by which the actors' processes know it

    getattr(ray_alone, sys.argv[1])(Path(sys.argv[2]))
