"""Doctor checks of the process that serves a home, its service, engine and actors; they start none.

What a dead one left behind is cleared while its lock is held, and in no other way: so nothing is taken from a process
that is just starting.
"""

from __future__ import annotations

import http.client
import importlib.metadata
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.kernel.typed import convert
from mnemic.runtime.api.reports import pluralize
from mnemic.runtime.client.unix_http import ServerDraining, call
from mnemic.runtime.doctor.checks import Check, Target
from mnemic.runtime.engine.ray.local import clean_up_home, leftover_rays, ray_missing
from mnemic.runtime.engine.reports import ActorSystemReport
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo, log_path, not_served
from mnemic.runtime.serve.service import service_status
from mnemic.runtime.version import __version__

_PATIENCE_S = 10.0
_STARTING_S = 120.0
_OPENING_S = 60.0  # the first who asks about a mind waits until it is open: on Ray, until its actors have processes
_LOST = (OSError, http.client.HTTPException)


def check_process(target: Target) -> Iterator[Check]:
    """Whether a process serves, and how it is; whether one left something behind."""
    run = target.run_dir
    info = run.read_info()
    if info is None or not info.is_alive():
        yield _no_process(run, info)
    elif info.protocol != PROTOCOL:
        told = f"process {info.pid}, Mnemic {info.version}, speaks protocol {info.protocol}, this command {PROTOCOL}"
        told += f" (Mnemic {__version__})"
        if info.protocol < PROTOCOL:
            remedy = (
                f"It is older: the next command has it leave, once nobody waits for its answer; or kill {info.pid}."
            )
            yield Check("process", "advice", told, remedy)
        else:
            remedy = f"Use the Mnemic it was started with, or end it: kill {info.pid}."
            yield Check("process", "wrong", told, remedy)
    elif info.state == "restarting":
        told = f"process {info.pid} is bringing its engine back (restart {info.restarts}: {info.cause})"
        yield Check("process", "wrong", told, f"Look again in a moment; {log_path(target.home)} says more.")
    elif info.state == "starting" and target.clock.now_us() - info.since_us < _STARTING_S * 1e6:
        yield Check("process", "ok", f"process {info.pid}, {info.mode}, {info.engine} engine, is starting")
    elif info.state == "starting":
        told = f"process {info.pid} was started more than {_STARTING_S:g} s ago, and is not ready"
        yield Check("process", "wrong", told, f"{log_path(target.home)} says more; or end it: kill {info.pid}.")
    else:
        yield _health(run, info)


def check_service(target: Target) -> Iterator[Check]:
    """Whether systemd or launchd has the home's service, and can start it; nothing where none is installed."""
    seen = service_status(target.home, os.environ) if os.environ.get("HOME") else None
    if seen is None or not seen.installed:
        return
    yield from (Check("service", one.state, one.detail, one.remedy) for one in seen.problems)
    if not seen.problems:
        yield Check("service", "ok", f"{seen.manager} has {seen.name}")


def remove_stale_files(target: Target) -> str:
    """Clear what a dead process left; returns what was done.

    Raises:
        NotServed: a process holds the lock.
    """
    with _hold_lock(target) as run:
        left = [path for path in _process_files(run) if path.exists()]
        for path in left:
            path.unlink()
    return f"cleared what a dead process left ({', '.join(path.name for path in left) or 'its info file'})"


def _no_process(run: RunDir, info: ServerInfo | None) -> Check:
    if run.is_server_locked():
        return Check("process", "ok", "a process is just starting or leaving")
    if info is None and not any(path.exists() for path in _process_files(run)):
        return Check("process", "ok", "none serves this home; one is started when it is needed")
    told = f"process {info.pid} is gone and left its info file" if info else "files of no process are there"
    return Check("process", "wrong", told, "--repair clears them; so does the next process.", True)


def _health(run: RunDir, info: ServerInfo) -> Check:
    try:
        said = call(info.http_socket, "GET", "/healthz", b"", {}, limit_s=_PATIENCE_S)
    except ServerDraining:
        return Check("process", "ok", f"process {info.pid} is leaving")
    except TimeoutError:
        told = f"process {info.pid} has said nothing for {_PATIENCE_S:g} s"
        return Check("process", "wrong", told, f"End it: kill -9 {info.pid}; the next command starts another one.")
    except _LOST as error:
        if run.read_info() != info:
            return Check("process", "ok", "a process is just starting or leaving")
        told = f"nobody answers at the socket of process {info.pid} ({type(error).__name__})"
        if not run.is_server_locked():
            return Check("process", "wrong", told, "--repair clears it; so does the next process.", True)
        return Check("process", "wrong", told, f"End it: kill {info.pid}; the next command starts another one.")
    told = f"process {info.pid}, {info.mode}, {info.engine} engine, {info.state}, Mnemic {info.version}"
    if said.get("degraded"):
        told += f"; {'; '.join(said['degraded'])}"
        return Check("process", "advice", told, "Mend it, and kill -HUP the process.")
    if info.version != __version__:
        again = (
            ", and start `mnemic serve` again" if info.mode == "foreground" else "; the next command starts this one"
        )
        told += f"; this command is Mnemic {__version__}"
        return Check(
            "process", "advice", told, f"They understand each other. To have one version: kill {info.pid}{again}."
        )
    if info.restarts:
        told += f"; its engine was brought back {pluralize(info.restarts, 'time')}, last because: {info.cause}"
        return Check("process", "advice", told, f"{log_path(run.home)} says more.")
    return Check("process", "ok", told)


def _process_files(run: RunDir) -> list[Path]:
    return [run.info_path, run.folder / "http.sock", run.folder / "mcp.sock"]


@contextmanager
def _hold_lock(target: Target) -> Iterator[RunDir]:
    """Be the home's process for a moment; taking its place clears the info file of a dead one."""
    run = target.run_dir
    if not run.acquire_server_lock():
        raise not_served(target.home, "a process holds its lock")
    try:
        yield run
    finally:
        run.release_server_lock()


def check_engine(target: Target) -> Iterator[Check]:
    """Whether the engine that the settings name can be had, and whether a Ray was left behind."""
    left = leftover_rays(target.home)
    if left:
        told = f"the Ray that {left[0]} names was left behind by a process that is gone"
        yield Check("engine", "wrong", told, "--repair ends it; so does the next `mnemic serve`.", True)
        return
    try:
        named, missing = load_settings(target.home / "mnemic.toml")["runtime.engine"], ray_missing()
    except MnemicError:  # which is said by the check of the settings
        yield Check("engine", "advice", "which one is meant cannot be read in the settings", "Mend the settings.")
        return
    info = target.run_dir.read_info()
    is_served = info is not None and info.is_alive()
    if named == "ray" and missing is not None:
        told = "no process can serve this home" + (" after the one that does" if is_served else "")
        yield Check("engine", "wrong", f"{told}: {missing}", missing.remedy_text)
        return
    told = f"{named}, as the settings name it"
    if info is not None and is_served and info.engine != named:
        told += f"; process {info.pid} serves on {info.engine}"
    ray = "not installed" if missing else importlib.metadata.version("ray")
    yield Check("engine", "ok", f"{told} (Ray: {ray})")


def end_ray(target: Target) -> str:
    """End the Ray that a dead process left, and remove its files; returns what was done."""
    clean_up_home(target.home)
    return "ended the Ray of a dead process"


def check_actors(target: Target) -> Iterator[Check]:
    """Whether an actor is quarantined, whether messages wait to be sent again, and how the last night was."""
    info = target.run_dir.read_info()
    if not target.readable or target.states.get("process") == "wrong" or info is None:
        return
    target.serving = info.is_alive() and info.protocol == PROTOCOL and info.state == "ready"
    if not target.serving:
        return
    try:
        report = convert(_call(target, info, "GET", "report"), ActorSystemReport)
    except (MnemicError, *_LOST) as error:
        why = str(error) if isinstance(error, MnemicError) else type(error).__name__
        remedy = f"See to what is wrong above; {log_path(target.home)} says more."
        yield Check("actors", "wrong", f"the process does not say how they are: {why}", remedy)
    else:
        yield from actor_checks(report, log_path(target.home))


def release_actors(target: Target) -> str:
    """Have quarantined actors made anew; returns what was done."""
    return f"released {', '.join(_ask(target, 'release')['released']) or 'nobody'}"


def replay_dead_letters(target: Target) -> str:
    """Send dead letters again; returns what was done."""
    return f"sent {pluralize(_ask(target, 'replay')['replayed'], 'message')} again"


def _ask(target: Target, verb: str) -> Any:
    info = target.run_dir.read_info()
    if info is None:
        raise not_served(target.home, "the process went meanwhile")
    return _call(target, info, "POST", verb)


def _call(target: Target, info: ServerInfo, method: str, verb: str) -> Any:
    headers = {"Mnemic-Protocol": str(PROTOCOL), "Mnemic-Mind": target.mind, "Mnemic-Create": "0"}
    return call(info.http_socket, method, f"/api/{verb}", b"", headers, limit_s=_OPENING_S)


def actor_checks(report: ActorSystemReport, log: Path) -> Iterator[Check]:
    """What a report says of the actors, of dead letters and of the last night.

    Args:
        log: the file that says more.
    """
    quarantined = [one for one in report.actors if one.quarantined]
    failed = [one for one in report.actors if one.failures]
    if quarantined:
        told = "; ".join(
            f"{one.actor} was set aside after {pluralize(one.failures, 'failure')}: {one.cause}" for one in quarantined
        )
        yield Check("actors", "wrong", told, "Mend the cause; --repair has them made anew.", True)
    elif failed:
        told = "; ".join(f"{one.actor} failed {pluralize(one.failures, 'time')}, last: {one.cause}" for one in failed)
        yield Check("actors", "advice", told, f"They were made anew; {log} says more.")
    else:
        yield Check("actors", "ok", f"{len(report.actors)} are well")

    letters, night = report.last_dead_letters, report.night
    if letters:
        last = letters[-1]
        number = pluralize(len(letters), "message")
        told = f"{number} not delivered, the last {last.message} for {last.actor} ({last.reason})"
        again = any(letter.replayable for letter in letters)
        remedy = "--repair sends again what can be." if again else f"None can be sent again; {log} says more."
        yield Check("letters", "advice", told, remedy, again)
    else:
        yield Check("letters", "ok", "every message was delivered")
    if night is None:
        yield Check("night", "ok", "there was none since the process started")
    elif night.finished:
        yield Check("night", "ok", f"{night.run}: {pluralize(night.changes, 'change')}, finished")
    else:
        told = f"{night.run}: {pluralize(night.changes, 'change')}, not finished"
        yield Check("night", "advice", told, "It goes on when nobody wants anything.")
