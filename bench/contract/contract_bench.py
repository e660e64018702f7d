"""The contract bench: whether somebody's own actor keeps what an actor must, one row for each point.

A class is looked at, then made and asked in a process of its own (`mnemic.bench.contract.trial`), then run in a real
actor system on a real engine. What fails says why; what could not be looked at because of it is ``skipped``.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal

from mnemic.actors.capture.messages import CaptureText, TextCaptured
from mnemic.actors.kernel.errors import ActorRefused, MnemicError
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.recall.messages import GetMemories, Memories
from mnemic.bench.contract.trial import TRIALS, TrialJob, check_answer
from mnemic.bench.contract.trial_messages import valid_messages
from mnemic.bench.contract.world import ContractViolation, open_lines
from mnemic.bench.harness.measure import Row
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.actor_system import ActorFactory, start_actor_system
from mnemic.runtime.engine.engine import EmbeddedEngine, Engine
from mnemic.runtime.engine.plugins import CONTRACT_CHECKS, SLOTS, class_path, find_class, slot_messages
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.keys.keys import Keys, random_id
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.store.store import TransactionMetadata

CHECKS: dict[str, str] = {
    "class": "it can be imported by its name",
    "contract": "it says which version of the contract it keeps, and it is ours",
    "messages": "it takes messages, and all that its slot is asked for",
    "settings": "its settings have names, types and defaults",
    "methods": "it has handle and make",
    "company": "it takes no other actor's messages or settings",
    "made": "it is made in another process, from a recipe that was pickled",
    "answers": "it answers each message with what that is answered with, and the answer can be pickled",
    "errors": "what cannot be is answered by an error of mnemic.errors, and never a failure",
    "chance": "the same messages with the same seed have the same answers and changes: no clock, no unseeded chance",
    "restarts": "it may be made anew before any message",
    "twice": "a message that comes again, to a new instance, changes nothing more",
    "nights": "it holds no Sleep longer than its budget, and wakes at Preempt (consolidators)",
    "actor_system": "it works among the real actors on a real engine, and fails at nothing",
}
"""Every point, in order, and what it means."""
TIMEOUT_S = 60.0
"""How long all trials of one process may take; those of the built-in actors take 2 s."""
_TEXTS = (
    "We moored the ferry at the north pier.",
    "The harbour wall is two metres high.",
    "The tide table hangs in the shed.",
    "Maud keeps the spare key behind the barometer.",
    "The lamp is lit at dusk, and put out at dawn.",
)
_SHELF = ScopeRef(path="work/shelf", project=None, found="named")
_SHIFT_DAYS = 400
_ASK_S = 60.0
_KEPT = b"The dinghy is called Plover."


def run(subject: str, *, engine: Literal["embedded", "ray"] = "embedded") -> Iterator[Row]:
    """Try one class, by ``module:Class`` or the name of an entry point."""
    found: dict[str, str | None] = dict(_static_checks(subject))
    if not any(found.values()):
        with tempfile.TemporaryDirectory(prefix="mnemic-contract-") as folder:
            found |= _run_trials(subject, Path(folder), engine)
    for check, means in CHECKS.items():
        why = found.get(check)
        state = "skipped" if why is None else "failed" if why else "ok"
        yield {"check": check, "state": state, "why": why or means}


def _static_checks(name: str) -> Iterator[tuple[str, str]]:
    """What is to be seen without making it: a point, and what is wrong with it; empty where nothing is."""
    try:
        kind = find_class(name, "an actor")
    except ActorRefused as error:
        yield "class", error.operands["why"]
        return
    yield "class", ""
    slot = _slot_of(kind)
    flaws = {check: look(kind, slot) or "" for check, look in CONTRACT_CHECKS.items()}
    yield from flaws.items()
    if not any(flaws.values()):
        try:
            Settings({f"actors.{slot}": name})
        except ActorRefused as error:
            yield "company", error.operands["why"]
        else:
            yield "company", ""


def _slot_of(kind: Any) -> str:
    """The slot that a class is for, by what it takes; where it takes of none, the one that is most often replaced."""
    takes = getattr(kind, "takes", ())
    takes = takes if isinstance(takes, tuple) else ()
    asked = {slot: slot_messages(slot) for slot in SLOTS}
    shares = {slot: sum(message in takes for message in of) / len(of) for slot, of in asked.items()}
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] else "consolidator"


# --- trials in processes of their own --------------------------------------------------------------------------------


def _run_trials(name: str, folder: Path, engine: str) -> dict[str, str | None]:
    slot = _slot_of(find_class(name, "an actor"))
    # Words alone, but where the model itself is looked at: that takes a while to load.
    model = "" if slot == "embedder" else str(folder / "no model")
    settings = Settings({f"actors.{slot}": name, "embedder.model": model})
    lines = folder / "lines"
    lines.write_text("The boiler needs a new valve.\nThe choir sings on Thursdays.\n", "utf-8")
    found, keys = _make_mind(folder / "home")
    recipe = ActorFactory(
        folder=found,
        check=keys.check,
        actors={one: class_path(kind) for one, kind in settings.actors.items()},
        settings=settings.values(),
        stamp=TransactionMetadata(machine=platform.node(), version="contract"),
        open_transcript=open_lines,
    )
    trials = tuple(trial for trial in TRIALS if trial != "nights" or slot == "consolidator")
    first, answered = _in_a_process(
        folder / "1", TrialJob(recipe, slot, str(lines), trials, _copies(found, folder / "1", trials), 0), 1
    )
    again = ("answers",)
    why: dict[str, str | None] = dict(first)
    if first.get("answers") == "":
        second, other = _in_a_process(
            folder / "2", TrialJob(recipe, slot, str(lines), again, _copies(found, folder / "2", again), _SHIFT_DAYS), 2
        )
        why["chance"] = second.get("answers") or _difference(answered, other)
    if not any(why.values()):
        with _ENGINES[engine](found, keys) as placed:
            why["actor_system"] = _run_in_actor_system(slot, settings, found, keys, str(lines), placed)
    if slot != "consolidator":
        why["nights"] = None
    return why


def _make_mind(home: Path) -> tuple[MindFolder, Keys]:
    """A mind with a few lines, kept by the built-in actors."""
    create_mind(home, "default", SystemClock())
    found, keys = open_mind(home, "default")
    actor_system = start_actor_system(found, keys, Settings(), SystemClock(), opener=open_lines, code="contract")
    try:
        for text in _TEXTS:
            actor_system.ask(CaptureText(text=text.encode(), role="user", session="kept", place=_SHELF, kind="turn"))
    finally:
        actor_system.stop()
    return found, keys


def _copies(mind: MindFolder, folder: Path, trials: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(shutil.copytree(mind.path, folder / trial)) for trial in trials)


def _in_a_process(folder: Path, job: TrialJob, hash_seed: int) -> tuple[dict[str, str | None], list[Any]]:
    """What came of each trial, and what the answers were."""
    (folder / "job").write_bytes(pickle.dumps(job))
    code = "import sys; from mnemic.bench.contract.trial import main; main(*sys.argv[1:])"
    command = [sys.executable, "-c", code, str(folder / "job"), str(folder / "out")]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    ended = ""
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            ended = f"its process ended by itself ({done.returncode})"
    except subprocess.TimeoutExpired:
        ended = f"it was not done after {TIMEOUT_S:g} s"
    why: dict[str, str | None] = {}
    answered: list[Any] = []
    at = handled = ""
    for line in (folder / "out").read_text("utf-8").splitlines() if (folder / "out").exists() else ():
        said = json.loads(line)
        handled = said.get("message", handled)
        if "why" in said:
            why[said["trial"]], answered, at = said["why"], said.get("record") or answered, ""
        elif "trial" in said:
            at, handled = said["trial"], ""
    if ended:
        why[at or job.trials[0]] = ended + (f", at a {handled}" if handled else "")
    return why, answered


def _difference(one: list[Any], other: list[Any]) -> str:
    """Where two records of answers differ; empty where they do not."""
    for (message, answer, calls), (_, other_answer, other_calls) in zip(one, other, strict=True):
        if answer != other_answer:
            return f"it answers the same {message} differently in another process"
        if calls != other_calls:
            return f"what it asks for at the same {message} is not the same in another process"
    return ""


# --- among the real actors -------------------------------------------------------------------------------------------


@contextmanager
def _embedded(mind: MindFolder, keys: Keys) -> Iterator[Engine]:
    yield EmbeddedEngine(SystemClock(), stop_timeout_s=10.0)


@contextmanager
def _ray(mind: MindFolder, keys: Keys) -> Iterator[Engine]:
    from mnemic.runtime.engine.ray.local import LocalRay  # here: not everybody has Ray
    from mnemic.runtime.engine.ray.protocol import MindSealRecipe

    ray = LocalRay.start(mind.path.parents[1])  # says so where there is none
    try:
        from mnemic.runtime.engine.ray.engine import RayEngine

        seal = MindSealRecipe(key=mind.key, key_header=mind.key_header, check=keys.check, run=random_id())
        engine = RayEngine(ray.cluster, SystemClock(), seal, namespace="mnemic-contract", stop_timeout_s=10.0)
        yield engine
        engine.close()
    finally:
        ray.stop()


def _run_in_actor_system(
    slot: str, settings: Settings, mind: MindFolder, keys: Keys, lines: str, engine: Engine
) -> str:
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
    kept = actor_system.ask(CaptureText(text=_KEPT, role="user", session="new", place=_SHELF))
    assert isinstance(kept, TextCaptured)
    for message in valid_messages(takes, lines, (kept.id,)):
        if type(message) not in slot_messages(slot):
            actor_system.tell(message)
            continue
        try:
            answer = actor_system.ask(message, timeout_s=_ASK_S)
        except MnemicError as error:
            answer = error
        try:
            check_answer(message, answer)
        except ContractViolation as broken:
            return str(broken)
    found = actor_system.ask(GetMemories(ids=(kept.id,)))
    assert isinstance(found, Memories)
    if found.memories[0].data != _KEPT:
        return "a memory does not come back as it was kept"
    for actor in actor_system.report().actors:
        if actor.failures:
            return f"the {actor.actor} failed: {actor.cause}"
    return ""


_ENGINES: dict[str, Callable[[MindFolder, Keys], AbstractContextManager[Engine]]] = {"embedded": _embedded, "ray": _ray}
