"""Starts, measures and kills `mnemic serve` and all its child processes, for benches.

What belongs to a process is what descends from it and whoever is in a session that one of these leads: Ray's helpers
outlive those who started them, and then only their session tells whose they were.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from mnemic.actors.kernel.errors import NotServed
from mnemic.runtime.client.unix_http import call
from mnemic.runtime.minds.run_dir import RunDir, ServerInfo

COMMAND = (sys.executable, "-m", "mnemic")
"""The command, as the benches start it."""
START_S = 90.0
"""So long one may take to answer."""
END_S = 15.0
"""So long a process may take to leave, or to be gone."""
_POLL_S = 0.02


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = START_S) -> None:
    """Wait for a condition that nothing signals.

    Raises:
        TimeoutError: it did not come to that.
    """
    pause, limit = threading.Event(), time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > limit:
            raise TimeoutError(f"{what} took longer than {timeout_s:g} s")
        pause.wait(_POLL_S)


def run_mnemic(home: Path, *arguments: object) -> list[Any]:
    """Run the command on a home, which is made; returns what it printed with ``--json``, a value for each line.

    Raises:
        ValueError: it failed. That some lines of what is captured cannot be read is no failure: the report counts them.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = [*COMMAND, *map(str, arguments), "--home", str(home), "--json"]
    environment = {name: value for name, value in os.environ.items() if name not in ("MNEMIC_HOME", "MNEMIC_OFF")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=environment
    )
    if done.returncode and not (done.returncode == 1 and arguments[0] == "capture"):
        raise ValueError(f"mnemic {arguments[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def name_models(home: Path, model: Path | None, reranker: Path | None = None) -> None:
    """Have the settings of a home name the folders of models; where one is absent, they name none."""
    named = {"embedder": model, "rerank": reranker}
    text = "".join(f"[{part}]\nmodel = {json.dumps(str(one.absolute()))}\n" for part, one in named.items() if one)
    if text:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / "mnemic.toml").write_text(text, "utf-8")


def serve(home: Path, engine: str, before: Sequence[str] = (), options: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Start `mnemic serve`, in a session of its own.

    Args:
        before: a command that runs it, such as ``unshare``.
        options: further ones of `mnemic serve`.
    """
    with open(home / "bench.err", "ab") as errors:
        return subprocess.Popen(
            [*before, *COMMAND, "serve", "--engine", engine, "--home", str(home), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )


def ready_info(home: Path) -> ServerInfo | None:
    """The info file of the process of a home, once that answers."""
    info = RunDir(home).read_info()
    if info is None or not info.is_alive():
        return None
    try:
        call(info.http_socket, "GET", "/healthz", b"", {}, limit_s=START_S)
    except (OSError, ValueError, NotServed):  # nobody is there yet, or nobody any more
        return None
    return info


@contextmanager
def served(home: Path, engine: str, before: Sequence[str] = (), options: Sequence[str] = ()) -> Iterator[ServerInfo]:
    """A home that is served, until the end of the block; nothing of it runs then. The arguments are those of `serve`.

    Raises:
        ValueError: it cannot be served.
    """
    process = serve(home, engine, before, options)
    try:
        found: list[ServerInfo] = []

        def answers() -> bool:
            if process.poll() is not None:
                said = (home / "bench.err").read_text("utf-8", "replace").strip()
                raise ValueError(f"mnemic serve --engine {engine} ended with {process.returncode}: {said}")
            info = ready_info(home)
            if info is not None and info.engine == engine:
                found.append(info)
            return bool(found)

        wait_until(answers, f"the start on {engine}")
        yield found[0]
    finally:
        stop_process(process)


def stop_process(process: subprocess.Popen[bytes]) -> None:
    """Tell a process to leave, and kill it and its family where they do not."""
    known = process_family(process.pid)
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    kill(known)
    psutil.wait_procs(known, END_S)


def process_family(pid: int) -> list[psutil.Process]:
    """A process, all that descend from it, and all in a session that one of them leads; itself first."""
    try:
        root = psutil.Process(pid)
        found = {one.pid: one for one in (root, *root.children(recursive=True))}
    except psutil.NoSuchProcess:
        return []
    own = os.getsid(0)
    for process in psutil.process_iter():
        try:
            session = os.getsid(process.pid)
        except ProcessLookupError:
            continue  # it went meanwhile
        if session in found and session != own:
            found.setdefault(process.pid, process)
    return list(found.values())


def role_of(process: psutil.Process) -> str:
    """What a process is in a home's family: ``actor``, ``gcs_server``, ``raylet``, ``helper``, ``process``, ``parent``.

    On Ray ``process`` is the one that drives it, and ``parent`` the one that holds the sockets.
    """
    try:
        line = process.cmdline()
    except psutil.Error:
        return "gone"
    program = os.path.basename(line[0]) if line else ""
    if program.startswith("ray::"):
        helps = any(name in program for name in ("IDLE", "Agent", "SPILL", "RESTORE"))
        return "helper" if helps else "actor"
    if program in ("gcs_server", "raylet"):
        return program
    if "mnemic" in line and "serve" in line:
        return "process" if "--child" in line or "ray" not in line else "parent"
    return "helper"


class ProcessCensus:
    """Remembers every process that ever belonged to a home."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, float], psutil.Process] = {}

    def record_family(self, pid: int) -> list[psutil.Process]:
        """Count the family of a process; returns it."""
        found = process_family(pid)
        for process in found:
            try:
                self._seen[process.pid, process.create_time()] = process
            except psutil.NoSuchProcess:
                continue  # it went meanwhile
        return found

    def survivors(self, besides: Iterable[psutil.Process] = ()) -> list[psutil.Process]:
        """Whoever still runs of all that were counted, besides these."""
        living = {process.pid for process in besides}
        return [one for one in self._seen.values() if one.pid not in living and _runs(one)]


def pss_bytes(processes: Iterable[psutil.Process]) -> int:
    """Memory of processes together, each shared page counted once over those who share it (Linux)."""
    return sum(_rollup(process.pid, "Pss:") for process in processes)


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill processes with SIGKILL; who is gone already is."""
    for process in processes:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _rollup(pid: int, name: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it went meanwhile
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(name))
