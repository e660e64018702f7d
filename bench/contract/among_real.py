"""Contract bench, last part: runs an actor among the real ones, on a real engine."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from mnemic.actors.protocol.changes import ScopeRef
from mnemic.actors.protocol.errors import ActorRefused, MnemicError
from mnemic.actors.protocol.messages import CaptureText, GetMemories, Memories, TextCaptured
from mnemic.bench.contract.samples import check_answer, valid_messages
from mnemic.bench.contract.world import ContractViolation, open_lines
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.actor_system import start_actor_system
from mnemic.runtime.engine.embedded import EmbeddedEngine
from mnemic.runtime.engine.engine import Engine
from mnemic.runtime.engine.plugins import SLOTS
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.keys.keys import Keys, random_id
from mnemic.runtime.minds.homes import MindFolder

__all__ = ["ENGINES", "run_in_actor_system"]

_TIMEOUT_S = 60.0
_SHELF = ScopeRef(path="work/shelf", project=None, found="named")
_TEXT = b"The dinghy is called Plover."


@contextmanager
def _embedded(mind: MindFolder, keys: Keys) -> Iterator[Engine]:
    yield EmbeddedEngine(SystemClock(), stop_timeout_s=10.0)


@contextmanager
def _ray(mind: MindFolder, keys: Keys) -> Iterator[Engine]:
    from mnemic.runtime.engine.ray.local import LocalRay  # here: not everybody has Ray
    from mnemic.runtime.engine.ray.sealing import MindSealRecipe

    place = Path(tempfile.mkdtemp(prefix="mnemic-"))  # short: the paths of Ray's sockets lie below it
    try:
        ray = LocalRay.start(place)  # says so where there is none
    except BaseException:
        shutil.rmtree(place)
        raise
    try:
        from mnemic.runtime.engine.ray.engine import RayEngine

        seal = MindSealRecipe(key=mind.key, card=mind.key_header, check=keys.check, run=random_id())
        engine = RayEngine(ray.cluster, SystemClock(), seal, namespace="mnemic-contract", stop_timeout_s=10.0)
        yield engine
        engine.close()
    finally:
        ray.stop()
        shutil.rmtree(place, ignore_errors=True)


def run_in_actor_system(slot: str, settings: Settings, mind: MindFolder, keys: Keys, lines: str, engine: Engine) -> str:
    """Start an actor system with the actor that the settings name, and ask it; returns what was wrong, if anything
    was.
    """
    try:
        actor_system = start_actor_system(
            mind, keys, settings, SystemClock(), opener=open_lines, code="contract", engine=engine, fence="contract"
        )
    except ActorRefused as error:
        return str(error.operands["why"])
    try:
        return _asked(actor_system, slot, settings.actors[slot].takes, lines)
    finally:
        actor_system.stop()


def _asked(actor_system: Supervisor, slot: str, takes: tuple[type, ...], lines: str) -> str:
    """Ask what the slot is asked for, and see that nothing failed meanwhile."""
    kept = actor_system.ask(CaptureText(text=_TEXT, role="user", session="new", place=_SHELF))
    assert isinstance(kept, TextCaptured)
    for message in valid_messages(takes, lines, (kept.id,)):
        if type(message) not in SLOTS[slot]:
            actor_system.tell(message)
            continue
        try:
            answer = actor_system.ask(message, timeout_s=_TIMEOUT_S)
        except MnemicError as error:
            answer = error
        try:
            check_answer(message, answer)
        except ContractViolation as broken:
            return str(broken)
    found = actor_system.ask(GetMemories(ids=(kept.id,)))
    assert isinstance(found, Memories)
    if found.memories[0].data != _TEXT:
        return "a memory does not come back as it was kept"
    for actor in actor_system.report().actors:
        if actor.failures:
            return f"the {actor.actor} failed: {actor.cause}"
    return ""


ENGINES: dict[str, Callable[[MindFolder, Keys], AbstractContextManager[Engine]]] = {"embedded": _embedded, "ray": _ray}
"""By name, what gives an engine for as long as its context lasts."""
