"""Doctor checks of the process that serves a home, and of its engine; it starts none.

What a dead one left behind is cleared while its lock is held, and in no other way: so nothing is taken from a process
that is just starting.
"""

from __future__ import annotations

import http.client
import importlib.metadata
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemic.actors.protocol.contract import Clock
from mnemic.runtime.client.unix_http import ServerDraining, call
from mnemic.runtime.doctor.checks import Check, pluralize
from mnemic.runtime.engine.ray.local import clean_up_dead, clean_up_home, leftover_folders
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo, log_path, not_served

__all__ = ["check_engine", "check_process", "end_ray", "remove_stale_files"]

_PATIENCE_S = 10.0
_STARTING_S = 120.0
_LOST = (OSError, http.client.HTTPException)


# --- the process -----------------------------------------------------------------------------------------------------


def check_process(home: Path, clock: Clock) -> Iterator[Check]:
    """Whether a process serves, and how it is; whether one left something behind."""
    meeting = RunDir(home)
    card = meeting.read_info()
    if card is None or not card.is_alive():
        yield _no_process(meeting, card)
    elif card.protocol != PROTOCOL:
        yield _other_protocol(card)
    elif card.state == "restarting":
        told = f"process {card.pid} is bringing its engine back (restart {card.restarts}: {card.cause})"
        yield Check("process", "wrong", told, f"Look again in a moment; {log_path(home)} says more.")
    elif card.state == "starting":
        yield _starting(meeting, card, clock)
    else:
        yield _check_health(meeting, card)


def remove_stale_files(home: Path) -> str:
    """Clear what a dead process left; returns what was done.

    Raises:
        NotServed: a process holds the lock.
    """
    with _hold_lock(home) as meeting:
        left = [path for path in _process_files(meeting) if path.exists()]
        for path in left:
            path.unlink()
    return f"cleared what a dead process left ({', '.join(path.name for path in left) or 'its card'})"


def _no_process(meeting: RunDir, card: ServerInfo | None) -> Check:
    if _is_lock_held(meeting):
        return Check("process", "ok", "a process is just starting or leaving")
    if card is None and not any(path.exists() for path in _process_files(meeting)):
        return Check("process", "ok", "none serves this home; one is started when it is needed")
    told = f"process {card.pid} is gone, and its card is there" if card else "card or sockets of no process are there"
    return Check("process", "wrong", told, "--repair clears them; so does the next process.", True)


def _starting(meeting: RunDir, card: ServerInfo, clock: Clock) -> Check:
    if not card.since_us or clock.now_us() - card.since_us < _STARTING_S * 1e6:  # else an older version's: not known
        return Check("process", "ok", f"process {card.pid}, {card.mode}, {card.engine} engine, is starting")
    told = f"process {card.pid} was started more than {_STARTING_S:g} s ago, and is not ready"
    remedy = f"{log_path(meeting.home)} says more; or end it: kill {card.pid}."
    return Check("process", "wrong", told, remedy)


def _other_protocol(card: ServerInfo) -> Check:
    told = f"process {card.pid}, Mnemic {card.version}, speaks protocol {card.protocol}, and this command {PROTOCOL}"
    if card.protocol < PROTOCOL:
        return Check("process", "advice", told, "It is older: the next command has it replaced.")
    return Check("process", "wrong", told, f"Use the Mnemic it was started with, or end it: kill {card.pid}.")


def _check_health(meeting: RunDir, card: ServerInfo) -> Check:
    try:
        said = call(card.http_socket, "GET", "/healthz", b"", {}, limit_s=_PATIENCE_S)
    except ServerDraining:
        return Check("process", "ok", f"process {card.pid} is leaving")
    except TimeoutError:
        told = f"process {card.pid} has said nothing for {_PATIENCE_S:g} s"
        return Check("process", "wrong", told, f"End it: kill -9 {card.pid}; the next command starts another one.")
    except _LOST as error:
        if meeting.read_info() != card:
            return Check("process", "ok", "a process is just starting or leaving")
        told = f"nobody answers at the socket of process {card.pid} ({type(error).__name__})"
        if not _is_lock_held(meeting):
            return Check("process", "wrong", told, "--repair clears it; so does the next process.", True)
        return Check("process", "wrong", told, f"End it: kill {card.pid}; the next command starts another one.")
    told = f"process {card.pid}, {card.mode}, {card.engine} engine, {card.state}, Mnemic {card.version}"
    if said.get("degraded"):
        return Check(
            "process", "advice", f"{told}; {'; '.join(said['degraded'])}", "Mend it, and kill -HUP the process."
        )
    if card.restarts:
        told += f"; its engine was brought back {pluralize(card.restarts, 'time')}, last because: {card.cause}"
        return Check("process", "advice", told, f"{log_path(meeting.home)} says more.")
    return Check("process", "ok", told)


def _process_files(meeting: RunDir) -> list[Path]:
    return [meeting.info_path, meeting.folder / "http.sock", meeting.folder / "mcp.sock"]


def _is_lock_held(meeting: RunDir) -> bool:
    """Whether a process has the lock; one that takes it at this very moment tries again."""
    if not (meeting.folder / "serve.lock").exists():
        return False
    descriptor = meeting.acquire_lock("serve.lock")
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None


@contextmanager
def _hold_lock(home: Path) -> Iterator[RunDir]:
    """Be the home's process for a moment; taking its place clears the card of a dead one."""
    meeting = RunDir(home)
    if not meeting.acquire_server_lock():
        raise not_served(home, "a process holds its lock")
    try:
        yield meeting
    finally:
        meeting.release_server_lock()


# --- the engine ------------------------------------------------------------------------------------------------------


def check_engine(home: Path) -> Iterator[Check]:
    """Whether both engines can be had, and whether a Ray was left behind."""
    left = [folder for folder in leftover_folders(home) if folder.name != "ray" or not _is_lock_held(RunDir(home))]
    if left:
        told = f"a Ray in {left[0]} was left behind by a process that is gone"
        yield Check("engine", "wrong", told, "--repair ends it; so does the next `mnemic serve`.", True)
    elif importlib.util.find_spec("ray") is None:
        remedy = "pip install ray, or serve with --engine embedded."
        yield Check("engine", "advice", "embedded; Ray is not installed", remedy)
    else:
        yield Check("engine", "ok", f"embedded, or Ray {importlib.metadata.version('ray')}")


def end_ray(home: Path) -> str:
    """End the Ray that a dead process left, and remove its files; returns what was done.

    Raises:
        NotServed: a process holds the lock, and the Ray that is left may be its own.
    """
    clean_up_dead(home)
    if leftover_folders(home):
        with _hold_lock(home):
            clean_up_home(home)
    return "ended the Ray of a dead process"
