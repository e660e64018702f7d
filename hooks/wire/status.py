"""Checks how Mnemic is installed in an assistant, and proves it by sending a test event.

Nothing here changes a configuration. The trial goes through the command as it stands in the host's own file; whoever
asks for it looks in the store whether it arrived.

The doctor's look at the hooks: the executable, and each host's wiring. It changes nothing and fires no trial.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import BadConfiguration
from mnemic.hooks.hosts.codex.trust import list_codex_hooks
from mnemic.hooks.hosts.opencode.wiring import plugin_command
from mnemic.hooks.read.hook_reply import check_reply_pid
from mnemic.hooks.read.own_text import remove_block
from mnemic.hooks.wire.commands import Wiring, make_wiring
from mnemic.hooks.wire.edits import FileEdits, HookEntry, JsonMember, MarkedBlock, TomlTable, WholeFile
from mnemic.hooks.wire.file_edits import hook_commands, present_edits
from mnemic.hooks.wire.host import Host
from mnemic.hooks.wire.hosts import HOSTS, absence_reason
from mnemic.hooks.wire.json_edits import ParseError
from mnemic.hooks.wire.record import HostInstall, InstallRecord
from mnemic.hooks.wire.wiring import read_text
from mnemic.runtime.capture.hook_files import required_hook_files
from mnemic.runtime.capture.pauses import current_pause
from mnemic.runtime.doctor.checks import Check
from mnemic.runtime.minds.homes import mind_folder, mind_options

__all__ = [
    "HostStatus",
    "capture_blockers",
    "examine_host",
    "executable_state",
    "recorded_wiring",
    "request_trial_reply",
    "send_trial_event",
    "wiring_checks",
]

_TRIAL_S = 20.0
_GOOD = ("", "answered")


class HostStatus(msgspec.Struct, kw_only=True):
    """How one host is wired."""

    name: str
    """The host."""
    installed: bool
    """Whether it seems to be on this machine at all."""
    events: dict[str, str]
    """Each event: ``wired``, ``differs`` (another home's, or older) or ``missing``."""
    mcp: str
    """The same of the MCP server."""
    instructions: str
    """The same of the instructions; empty where it has no file for them."""
    problems: list[str]
    """What keeps it from working, a sentence each."""
    trial: str = ""
    """``arrived``, why it did not, or nothing where none was made."""
    reply_check: str = ""
    """``answered`` where a question as at a session's start was, why it was not, or nothing where none was asked."""
    reply_ms: float | None = None
    """How long the answer took."""
    notes: list[str] = msgspec.field(default_factory=list)
    """What can be known and is no fault."""
    remedy: str = ""
    """The command that wires it as it was wired."""

    @property
    def wired(self) -> bool:
        """Whether any of its events is, if only by another home or an older Mnemic."""
        return set(self.events.values()) != {"missing"}

    @property
    def is_healthy(self) -> bool:
        """Whether nothing of it is wrong, or it is not wired at all."""
        whole = not self.wired or not (
            self.missing_parts or self.trial not in ("", "arrived") or self.reply_check not in _GOOD
        )
        return whole and not self.problems

    @property
    def missing_parts(self) -> list[str]:
        """What is not as an install would have it."""
        parts = {**self.events, "MCP": self.mcp, "instructions": self.instructions or "wired"}
        return [part for part, state in parts.items() if state != "wired"]


def recorded_wiring(wiring: Wiring, known: HostInstall | None) -> Wiring:
    """What a host was wired to be, where that was recorded; else what it would be."""
    if known is None:
        return wiring
    return msgspec.structs.replace(
        wiring,
        mind=known.mind,
        recall_prompts=known.recall_prompts,
        environment={**wiring.environment, **known.places},
    )


def examine_host(host: Host, wiring: Wiring, clock: Clock) -> HostStatus:
    """Look at a host's configuration, at what its hooks call, and whether it lets them run."""
    status = HostStatus(
        name=host.name,
        installed=not absence_reason(host, wiring.environment),
        events={one.event: "missing" for one in host.events},
        mcp="missing",
        instructions="",
        problems=[],
        remedy=_install_command(host, wiring),
    )
    for file in host.file_edits(wiring):
        try:
            _examine_file(file, host, status)
        except BadConfiguration as error:
            status.problems.append(f"{file.path} cannot be read: {error.operands['why']}")
    if status.wired:
        _examine_environment(host, wiring, clock, status)
    return status


def _install_command(host: Host, wiring: Wiring) -> str:
    words = ["mnemic", "hooks", "install", "--assistant", host.name, "--apply"]
    words += ["--recall-prompts"] if wiring.recall_prompts else []
    return " ".join(words) + mind_options(mind_folder(wiring.home, wiring.mind))


def _examine_file(file: FileEdits, host: Host, status: HostStatus) -> None:
    text = read_text(file)
    if any(isinstance(edit, MarkedBlock) for edit in file.edits):
        status.instructions = "missing"
    if text is None:
        return
    try:
        present = list(present_edits(text, file, host.name))
        written = {event for event, _ in hook_commands(text, file, host.name)}
    except ParseError as error:
        raise BadConfiguration(path=str(file.path), why=str(error)) from error
    names = {one.name: one.event for one in host.events}
    for edit, same in present:
        if isinstance(edit, HookEntry):
            event = names[edit.path[-1]]
            status.events[event] = "wired" if same else "differs" if event in written else "missing"
        elif isinstance(edit, WholeFile) and file.path.suffix == ".js":
            state = "wired" if same else "differs" if plugin_command(text) else "missing"
            status.events = dict.fromkeys(status.events, state)
        elif isinstance(edit, MarkedBlock):
            status.instructions = "wired" if same else "differs" if remove_block(text) != text else "missing"
        elif isinstance(edit, JsonMember) or (isinstance(edit, TomlTable) and edit.name[0] == "mcp_servers"):
            status.mcp = "wired" if same else "missing"


def _examine_environment(host: Host, wiring: Wiring, clock: Clock, status: HostStatus) -> None:
    status.problems += capture_blockers(wiring, clock)
    blocked = host.blocked_reason(wiring.environment)
    if blocked:
        status.problems.append(f"its own settings keep hooks from running: {blocked}")
    if host.name == "codex":
        seen = list_codex_hooks(wiring.environment, clock)
        if seen is None:
            status.notes.append(
                "whether Codex trusts its hooks is not known: it could not be asked (no codex in $PATH?)"
            )
        unseen = {one.event for one in host.events} - {hook.event for hook in seen or ()}
        if seen is not None and unseen:
            status.problems.append(f"Codex does not see: {', '.join(sorted(unseen))}")
        untrusted = sorted(hook.event for hook in seen or () if not hook.trusted)
        off = sorted(hook.event for hook in seen or () if hook.trusted and not hook.enabled)
        if untrusted:
            status.problems.append(f"Codex does not trust, and so does not run: {', '.join(untrusted)}")
        if off:
            status.problems.append(f"switched off in Codex (/hooks): {', '.join(off)}")


# --- the trial -------------------------------------------------------------------------------------------------------


def capture_blockers(wiring: Wiring, clock: Clock) -> list[str]:
    """Why whatever its hooks are given would be kept nowhere, a sentence each."""
    why = []
    if not os.access(wiring.executable, os.X_OK):
        why.append(f"{wiring.executable} is missing: the hooks are silent, and keep nothing")
    if (off := wiring.environment.get("MNEMIC_OFF", "")) not in ("", "0"):
        what = "tell nothing" if off == "recall" else "keep nothing"
        why.append(f"MNEMIC_OFF is set here: hooks that see it {what}")
    if (held := current_pause(wiring.home / "minds" / wiring.mind, clock.now_us())) is not None:
        why.append(held.sentence())
    return why


def send_trial_event(host: Host, wiring: Wiring, nonce: str) -> str:
    """Run the command that stands in a host's configuration for a prompt, on a trial event; returns why it could not.

    Args:
        nonce: tells this trial from others.
    """
    return _run(host, wiring, "prompt", nonce)[0]


def request_trial_reply(host: Host, wiring: Wiring, nonce: str) -> tuple[str, int | None]:
    """Run the command for a session's start; returns why nobody answered, or the number of the process that did."""
    why, said = _run(host, wiring, "session-start", nonce)
    if why:
        return why, None
    pid = check_reply_pid(said, nonce)
    return ("" if pid is not None else "it ran, and nobody answered it"), pid


def _run(host: Host, wiring: Wiring, event: str, nonce: str) -> tuple[str, bytes]:
    command = next(_commands(host, wiring, event), None)
    if command is None:
        return f"no command for a {event.replace('-', ' ')} is in its configuration", b""
    payload = {**host.trial_payload("mnemic-check", str(wiring.home)), "mnemic_check": nonce}
    try:
        ended = subprocess.run(
            command,
            input=json.dumps(payload).encode(),
            env=dict(wiring.environment),
            cwd=wiring.home,
            capture_output=True,
            timeout=_TRIAL_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the command did not end within {_TRIAL_S:g} s", b""
    except OSError as error:
        return f"the command could not be run ({error.strerror or type(error).__name__})", b""
    return (f"the command ended with {ended.returncode}" if ended.returncode else ""), ended.stdout


def _commands(host: Host, wiring: Wiring, event: str) -> Iterator[list[str]]:
    """The commands that stand in a host's configuration for an event."""
    for file in host.file_edits(wiring):
        text = read_text(file)
        if text is None:
            continue
        if file.format == "whole":
            words = plugin_command(text, event)
            if words is not None:
                yield words
        elif file.format.startswith("json"):
            yield from (
                ["/bin/sh", "-c", told] for found, told in hook_commands(text, file, host.name) if found == event
            )


def wiring_checks(
    home: Path, environment: Mapping[str, str], clock: Clock, arrived: Mapping[str, str] | None = None
) -> Iterator[Check]:
    """How each host is wired that is here or was wired.

    Args:
        arrived: the last trial event of each host that reached the store, where that is known.

    Raises:
        BadConfiguration: what was wired is not known.
    """
    record, base = InstallRecord(home, clock), make_wiring(home, environment)
    if record.hosts:
        yield executable_state(home)
    for name, host in HOSTS.items():
        status = examine_host(host, recorded_wiring(base, record.hosts.get(name)), clock)
        if name in record.hosts or status.wired:
            yield _check(host, status, name in (arrived or {}))
        elif status.installed:
            told = f"{host.title} is here, and nothing of it is remembered by itself"
            yield Check(f"hooks {name}", "advice", told, status.remedy)


def executable_state(home: Path) -> Check:
    """Whether what hooks call is there, and is the one that this Mnemic would put there."""
    files = required_hook_files(home)
    again = f"mnemic hooks install --assistant all --apply{mind_options(mind_folder(home, 'default'))}"
    called = next(file for file in files if file.path.name == "mnemic-hook")
    if not os.access(called.path, os.X_OK):
        told = f"{called.path} is missing: hooks are silent, and keep nothing"
        return Check("hook executable", "wrong", told, f"{again} puts it there again.")
    stale = [file.path.name for file in files if not file.is_installed]
    if stale:
        told = f"{', '.join(stale)} in {called.path.parent} comes from another Mnemic than this one"
        return Check("hook executable", "advice", told, f"{again} renews it.")
    slow = any(file.path.suffix == ".py" for file in files)
    told = f"{called.path}{' starts Python, slower: Rust built none' if slow else ''}"
    return Check("hook executable", "ok", told)


def _check(host: Host, status: HostStatus, arrived: bool) -> Check:
    lacks = status.missing_parts
    if status.problems or lacks:
        told = "; ".join([*status.problems, *([f"not as they were installed: {', '.join(lacks)}"] if lacks else [])])
        state: Literal["advice", "wrong"] = "wrong" if status.problems or not status.wired else "advice"
        return Check(f"hooks {host.name}", state, told, status.remedy)
    proof = "a trial event arrived" if arrived else "`mnemic hooks status` proves it by a trial"
    return Check(f"hooks {host.name}", "ok", f"{host.title}: {len(status.events)} events, MCP; {proof}")
