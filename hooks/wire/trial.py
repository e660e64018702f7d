"""Proves an assistant's wiring: a trial event through the command in its own file, and a question as at a start.

Below stands `mnemic.hooks.wire.status`, which looks at the wiring; above stands the command.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import MnemicError
from mnemic.hooks.read.hook_reply import check_reply_pid
from mnemic.hooks.wire.commands import Wiring, make_wiring
from mnemic.hooks.wire.edits import Hook, hook_commands
from mnemic.hooks.wire.host import Host
from mnemic.hooks.wire.hosts import named_hosts, plugin_command
from mnemic.hooks.wire.record import InstallRecord
from mnemic.hooks.wire.status import HostStatus, capture_blockers, examine_host, recorded_wiring
from mnemic.hooks.wire.versions import ask_versions, version_notes
from mnemic.hooks.wire.wiring import read_text
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.keys.keys import random_id
from mnemic.runtime.minds.run_dir import RunDir, ServerInfo

_TRIAL_S = 20.0
_ARRIVES_S, _POLL_S = 20.0, 0.25
_MAX_QUESTIONS = 3  # a process that has just been started may need longer for the first than a hook waits


def check_hosts(
    home: Path,
    names: Sequence[str],
    environment: Mapping[str, str],
    clock: Clock,
    opened: Callable[[str], AbstractContextManager[Mind]],
    *,
    trial: bool = True,
) -> list[HostStatus]:
    """How hosts are wired; each that is, and can work, is proved by trials through its own commands.

    Args:
        opened: opens a mind by its name.

    Raises:
        InvalidValue: there is no such host.
        BadConfiguration: what was wired is not known.
    """
    base = make_wiring(home, environment)
    record = InstallRecord(base.home, clock)
    found = []
    hosts = named_hosts(names)
    versions = ask_versions(hosts, environment)
    for host in hosts:
        known = record.hosts.get(host.name)
        wiring = recorded_wiring(base, known)
        status = examine_host(host, wiring, clock, installed=known is not None)
        if trial and status.wired and status.other_home is None and not capture_blockers(wiring, clock):
            nonce = random_id()
            status.trial = _trial_event(host, wiring, clock, opened, nonce)
            if status.trial == "arrived":
                status.asked, status.asked_ms = _trial_question(host, wiring, clock, nonce)
        if asked := versions.get(host.name):
            status.version = asked.version
            status.notes += version_notes(host, asked)
        found.append(status)
    return found


def _trial_event(
    host: Host, wiring: Wiring, clock: Clock, opened: Callable[[str], AbstractContextManager[Mind]], nonce: str
) -> str:
    """Fire an event and look for it in the store."""
    why, _ = run_trial(host, wiring, "prompt", nonce)
    if why:
        return why
    pause, until = threading.Event(), clock.monotonic_s() + _ARRIVES_S
    try:
        with opened(wiring.mind) as mind:
            while mind.capture_progress().checks.get(host.name) != nonce:
                if clock.monotonic_s() > until:
                    return "it ran, and nothing of it reached the store"
                if _live_server(wiring.home) is None:  # a process that serves takes it in by itself
                    mind.drain_spool(transcripts=False)
                pause.wait(_POLL_S)
    except MnemicError as error:
        return f"whether it arrived is not known: {error}"
    return "arrived"


def _trial_question(host: Host, wiring: Wiring, clock: Clock, nonce: str) -> tuple[str, float | None]:
    """Ask as at a session's start: where a process serves, it is this process that has to answer.

    Returns what came of it, and how many milliseconds the answer took.
    """
    why = ""
    for _ in range(_MAX_QUESTIONS):
        info, begun_s = _live_server(wiring.home), clock.monotonic_s()
        why, pid = run_trial(host, wiring, "session-start", nonce)
        took_ms = round(1e3 * (clock.monotonic_s() - begun_s), 1)
        if pid is not None and (info is None or info.state != "ready" or info.pid == pid):
            return "answered", took_ms
        if pid is None:
            why = why or "it ran, and nobody answered it"
        elif info is not None:
            why = f"process {info.pid}, which serves the home, did not take part; serve.log says more"
    return why, None


def _live_server(home: Path) -> ServerInfo | None:
    """The info file of the process that serves a home."""
    info = RunDir(home).read_info()
    return info if info is not None and info.is_alive() else None


def run_trial(host: Host, wiring: Wiring, event: str, nonce: str) -> tuple[str, int | None]:
    """Run the command that stands in a host's configuration for an event, on a trial that a nonce tells from others.

    Returns why it could not be run, and the number of the process that answered: only a session's start is answered.
    """
    command = next(_commands(host, wiring, event), None)
    if command is None:
        return f"no command for a {event.replace('-', ' ')} is in its configuration", None
    told = {"session_id": "mnemic-check", "cwd": str(wiring.home), "hook_event_name": host.events[event]}
    try:
        ended = subprocess.run(
            command,
            input=json.dumps({**told, "mnemic_check": nonce}).encode(),
            env=dict(wiring.environment),
            cwd=wiring.home,
            capture_output=True,
            timeout=_TRIAL_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the command did not end within {_TRIAL_S:g} s", None
    except OSError as error:
        return f"the command could not be run ({error.strerror or type(error).__name__})", None
    if ended.returncode:
        return f"the command ended with {ended.returncode}", None
    return "", check_reply_pid(ended.stdout, nonce)


def _commands(host: Host, wiring: Wiring, event: str) -> Iterator[list[str]]:
    """The commands that stand in a host's configuration for an event."""
    for file in host.file_edits(wiring):
        text = read_text(file) if file.format == "whole" or any(isinstance(one, Hook) for one in file.edits) else None
        if text is None:  # a file without hooks may be broken, and is none of this
            continue
        words = plugin_command(text, event) if file.format == "whole" else None
        yield from [] if words is None else [words]
        yield from (["/bin/sh", "-c", told] for found, told in hook_commands(text, file, host.name) if found == event)
