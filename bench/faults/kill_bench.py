"""The kill bench: kills processes of a home under load, measures recovery, checks that nothing is lost.

After every kill the bench waits until the home has an answer for a capture and a recall, and, where more than an actor
was killed, until what was killed is there anew: Ray's head may be dead for seconds before anybody notices. In the end
every text that was acknowledged has to be in the store once, no process of a dead session may run, and SQLite has to
find the file whole.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
import psutil

from mnemic.actors.capture.messages import CaptureText, TextCaptured
from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.recall.messages import Recall, Recalled
from mnemic.bench.harness.callers import McpPipe
from mnemic.bench.harness.homes import (
    BENCH_SCOPE,
    IDLE_SETTINGS,
    MIND_NAME,
    lexical_settings,
    quick_check,
    stored_texts,
)
from mnemic.bench.harness.measure import Row, goal, verdict
from mnemic.bench.harness.processes import (
    END_S,
    ProcessCensus,
    kill,
    ready_info,
    role_of,
    serve,
    stop_process,
    wait_until,
)
from mnemic.runtime.client.client import RemoteActorSystem
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.ray.local import clean_up_home
from mnemic.runtime.minds.homes import create_mind
from mnemic.runtime.minds.run_dir import RunDir, ServerInfo

KINDS = {
    "embedded": {"process": (1.0, 3.0)},
    "ray": {
        "actor": (0.5, 15.0),
        "gcs_server": (0.125, 40.0),
        "raylet": (0.125, 40.0),
        "process": (0.125, 40.0),
        "parent": (0.125, 40.0),
    },
}
"""For each engine what is killed: how often, and in how many seconds the service has to be back."""
_RECOVERY_TIMEOUT_S = 120.0
_PROBE_S = 10.0
_ASK_S = 20.0
_PAUSE_S = 0.1
_PROBE_HITS = 100  # whichever of the probes it takes for the nearest
_POLL_S = 0.05
_LOOKS = 5  # for a process to kill
_MAX_PAUSE_S = 1.0
_EXIT_TIMEOUT_S = 30.0
_WITHOUT_MODEL = "Words alone answered."


def run(
    *,
    engine: Literal["both", "embedded", "ray"] = "both",
    kills: int = 200,
    seed: int = 0,
    no_model: bool = False,
) -> Iterator[Row]:
    """Kill on every engine that is named.

    Raises:
        TimeoutError: the service did not come back.
    """
    engines = tuple(KINDS) if engine == "both" else (engine,)
    for number, one in enumerate(engines):
        share = kills // len(engines) + (number < kills % len(engines))
        with tempfile.TemporaryDirectory(prefix="mnemic-kill-") as folder:
            home = Path(folder) / "home"
            home.mkdir(mode=0o700)
            settings = lexical_settings(home) if no_model else IDLE_SETTINGS
            yield from kill_repeatedly(home, one, share, seed, settings)


def kill_repeatedly(
    home: Path, engine: str, kills: int, seed: int, settings: str, killed: Sequence[str] | None = None
) -> list[Row]:
    """Serve a new home on an engine, kill so many times, and look at what is left.

    Args:
        settings: the home's ``mnemic.toml``.
        killed: what is killed, one after the other; drawn where absent.

    Returns:
        A row for each kind of process: how long until the service was back. In the last one ``lost`` counts texts that
        were acknowledged and are not in the store, ``doubled`` those that are there more than once; ``left`` names
        processes of dead sessions that still run, ``broken`` what ended a client; of these there may be none.
        ``refused`` is what clients were told instead of an answer, by code, ``released`` how many actors were
        quarantined for failing too often, and released by the bench, ``restarted`` how often the service
        was started again.

    Raises:
        TimeoutError: the service did not come back.
    """
    (home / "mnemic.toml").write_text(settings, "utf-8")
    create_mind(home, MIND_NAME, SystemClock())
    campaign = Campaign(home, engine, seed)
    load = Load(home)
    try:
        campaign.serve()
        with load.running():
            for number in range(kills):
                campaign.kill_one(number, load, None if killed is None else killed[number])
        campaign.probe("the end", load, time.monotonic() + _RECOVERY_TIMEOUT_S)
    finally:
        left = campaign.stop()
    rows: list[Row] = []
    for kind, taken_s in sorted(campaign.back_s.items()):
        row = {"what": "back after a kill", "engine": engine, "killed": kind, "kills": len(taken_s)}
        row |= {"median_s": float(np.median(taken_s)), "worst_s": max(taken_s)}
        rows.append(row | goal("s", max(taken_s), KINDS[engine][kind][1]))
    kept, check = Counter(stored_texts(home)), quick_check(home)
    lost = [text.decode() for text in load.acknowledged if not kept[text]]
    doubled = [text.decode() for text, count in kept.items() if count > 1]
    last: Row = {
        "what": "what is left",
        **verdict(lost=lost, doubled=doubled, left=left, broken=load.broken, check=check if check != "ok" else ""),
        "engine": engine,
        "acknowledged": len(load.acknowledged),
        "lost": len(lost),
        "doubled": len(doubled),
        "left": left,
        "check": check,
        "refused": dict(load.refused),
        "recalls": load.recalls,
        "released": campaign.released,
        "restarted": campaign.restarted,
        "broken": load.broken,
    }
    return [*rows, last]


class Load:
    """Two clients that capture as commands do, one that captures through `mnemic mcp`, and one that recalls.

    Each says once what it has to say and goes on when it is answered. What was acknowledged is kept here, to be
    compared with what the store holds in the end; what was refused may be kept or not, and never twice.
    """

    def __init__(self, home: Path) -> None:
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

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have them work in threads of this process, from the start of a block to its end."""
        clients = {"writer-0": self._write, "writer-1": self._write, "pipe": self._write_by_pipe, "reader": self._read}
        threads = [threading.Thread(target=self._run_client, args=(act, name)) for name, act in clients.items()]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def acknowledge(self, text: bytes) -> None:
        """A text was acknowledged, to whomever."""
        with self._state:
            self.acknowledged.append(text)

    def _run_client(self, act: Callable[[str], None], name: str) -> None:
        try:
            act(name)
        except Exception as error:  # shown in the bench's rows, and fails it
            with self._state:
                self.broken.append(f"{name}: {type(error).__name__}: {error}")

    def _texts(self, name: str) -> Iterator[bytes]:
        number = 0
        while not self._ended.wait(_PAUSE_S):
            number += 1
            yield f"{name} says number {number}, which is {number * 7919 % 10007} in other words".encode()

    def _write(self, name: str) -> None:
        actor_system = RemoteActorSystem(self._home, MIND_NAME, True, SystemClock())
        for text in self._texts(name):
            try:
                _capture(actor_system, text)
            except MnemicError as error:
                self._refuse(error.code)
            else:
                self.acknowledge(text)

    def _write_by_pipe(self, name: str) -> None:
        with closing(McpPipe(self._home)) as pipe:
            for text in self._texts(name):
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


def _capture(actor_system: RemoteActorSystem, text: bytes) -> TextCaptured:
    """Have a text kept; where it fails, whether it was nobody knows."""
    kept = actor_system.ask(CaptureText(text=text, role="user", session="load", place=BENCH_SCOPE), timeout_s=_ASK_S)
    assert isinstance(kept, TextCaptured)
    return kept


class Campaign:
    """Serves a home and kills what serves it."""

    def __init__(self, home: Path, engine: str, seed: int) -> None:
        self._home = home
        self._engine = engine
        self._random = random.Random(seed)
        self._run_dir = RunDir(home)
        self._census = ProcessCensus()
        self._actor_system = RemoteActorSystem(home, MIND_NAME, True, SystemClock())
        self._rest = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self.back_s: dict[str, list[float]] = defaultdict(list)
        self.released = 0
        self.restarted = -1  # the first start is none again

    def serve(self) -> ServerInfo:
        """Have `mnemic serve` serve the home, on the engine; nothing, where it does."""

        def serves() -> bool:
            if self._process is None or self._process.poll() is not None:
                self.restarted += 1
                self._process = serve(self._home, self._engine)
            info = ready_info(self._home)
            return info is not None and info.engine == self._engine and info.pid == self._process.pid

        wait_until(serves, "the start of mnemic serve", _RECOVERY_TIMEOUT_S)
        info = self._run_dir.read_info()
        assert info is not None
        return info

    def kill_one(self, number: int, load: Load, kind: str | None = None) -> None:
        """Rest a moment, kill one process, of a kind that is drawn where absent, and wait until the service is back."""
        if kind is None:
            kinds = KINDS[self._engine]
            (kind,) = self._random.choices(list(kinds), [share for share, _ in kinds.values()])
        for _ in range(_LOOKS):
            info = self.serve()
            self._release()
            self._rest.wait(self._random.random() * _MAX_PAUSE_S)
            there = [one for one in self._census.record_family(info.pid) if role_of(one) == kind]
            if there:  # else the one that served made way meanwhile for another, which a request had started
                break
        else:
            raise ValueError(f"there is no {kind} to be killed")
        victim = self._random.choice(there)
        started = time.monotonic()
        kill([victim])
        if kind != "actor":
            wait_until(lambda: self._replaced(kind, info, victim), f"a new {kind}", _RECOVERY_TIMEOUT_S)
        self.probe(f"kill {number}", load, started + _RECOVERY_TIMEOUT_S)
        self.back_s[kind].append(time.monotonic() - started)
        found = self._run_dir.read_info()
        if found is not None:
            self._census.record_family(found.pid)

    def probe(self, name: str, load: Load, until_s: float) -> None:
        """Ask until a text is kept, and found by all that should find it."""
        text, kept, why = f"the probe after {name}".encode(), None, ""
        while True:
            try:
                if kept is None:
                    kept = _capture(self._actor_system, text)
                    load.acknowledge(text)
                found = self._actor_system.ask(
                    Recall(query=text.decode(), k=_PROBE_HITS, observe=False), timeout_s=_PROBE_S
                )
                assert isinstance(found, Recalled)
                whole = not any(_WITHOUT_MODEL in said for said in found.degraded) or self._words_only()
                if whole and any(hit.id == kept.id for hit in found.hits):
                    return
                why = "; ".join(found.degraded) if not whole else "it is not found"
            except MnemicError as error:
                why = str(error)
                load.refused[f"probe: {error.code}"] += 1
                if error.code == "quarantined":
                    self._release()
            if time.monotonic() > until_s:
                raise TimeoutError(f"the service was not back within {_RECOVERY_TIMEOUT_S:g} s after {name}: {why}")
            self._rest.wait(_POLL_S)

    def stop(self) -> list[str]:
        """End whatever serves the home; returns who is left."""
        info = self._run_dir.read_info()
        if info is not None and info.is_alive():
            self._census.record_family(info.pid)
            served_by = psutil.Process(info.pid)
            served_by.terminate()
            psutil.wait_procs([served_by], END_S)
        if self._process is not None:
            stop_process(self._process)
        try:
            wait_until(lambda: not self._census.survivors(), "the end of all that was started", _EXIT_TIMEOUT_S)
        except TimeoutError:
            left = self._census.survivors()
            said = [f"{role_of(one)} {one.pid}" for one in left]
            kill(left)
            return said
        finally:
            clean_up_home(self._home)  # what a killed parent's Ray wrote stays until the next one starts
        return []

    def _replaced(self, kind: str, info: ServerInfo, victim: psutil.Process) -> bool:
        """Whether another process is what the killed one was."""
        found = ready_info(self._home)
        if found is None:
            return False
        if found.pid != info.pid:
            return True
        return any(role_of(one) == kind and one.pid != victim.pid for one in self._census.record_family(found.pid))

    def _release(self) -> None:
        try:
            self.released += len(self._actor_system.release_quarantined())
        except MnemicError:  # it is on its way down, and whoever asks next is told the same
            return

    def _words_only(self) -> bool:
        return "no model" in (self._home / "mnemic.toml").read_text("utf-8")
