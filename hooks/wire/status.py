"""Looks at how Mnemic is installed in an assistant, for `mnemic hooks status` and the doctor; changes nothing.

Below stand the host's declarations and `mnemic.hooks.wire.wiring`; above, `mnemic.hooks.wire.trial` proves by an event
that what is wired works.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import HookNotBuilt, InvalidSettings
from mnemic.hooks.read.names import UNREAD_REMEDY, unread_sentence
from mnemic.hooks.read.own_text import has_block, remove_block
from mnemic.hooks.wire.codex_trust import list_codex_hooks
from mnemic.hooks.wire.commands import TOLD_WITH_PROMPTS, Wiring, home_in_command, make_wiring
from mnemic.hooks.wire.edits import FileEdits, Hook, Member, edit_states, hook_commands
from mnemic.hooks.wire.host import Host, unread_sessions
from mnemic.hooks.wire.hosts import HOSTS, absence_reason, plugin_command
from mnemic.hooks.wire.record import HostInstall, InstallRecord
from mnemic.hooks.wire.wiring import naming_parse_errors, read_text
from mnemic.runtime.capture.hook_files import required_hook_files
from mnemic.runtime.capture.pauses import current_pause
from mnemic.runtime.doctor.checks import Check, State
from mnemic.runtime.files.users import user_name
from mnemic.runtime.minds.homes import mind_folder, mind_options
from mnemic.runtime.version import __version__

_VERSION_S = 5.0  # of a program that says its version: at most so long

BOTH_WAYS = (
    "its plugin is enabled too: what happens is kept once, but the MCP server is there twice; `claude plugin uninstall"
    " mnemic@mnemic` or `mnemic hooks uninstall claude-code --apply` leaves one"
)
"""What is said where an assistant is wired and has the plugin."""
NO_UPDATES = 'its prompt hook asks nothing, so a session never hears "You were told X; now Y"'
"""What is said where an older Mnemic wired an assistant that takes updates."""


class HostStatus(msgspec.Struct, kw_only=True):
    """How one host is wired."""

    name: str
    """The host."""
    here: bool
    """Whether it seems to be on this machine at all."""
    events: dict[str, str]
    """Each event: ``wired``, ``differs`` (another home's, or older) or ``missing``."""
    mcp: str = "missing"
    """The same of the MCP server."""
    instructions: str | None = None
    """The same of the instructions; ``None`` where it has no file for them."""
    trial: str | None = None
    """``arrived``, why it did not, or nothing where none was made."""
    asked: str | None = None
    """``answered`` where a question as at a session's start was, why it was not, or nothing where none was asked."""
    asked_ms: float | None = None
    """How long the answer took."""
    wrong: list[str] = msgspec.field(default_factory=list)
    """What keeps it from working, a sentence each."""
    notes: list[str] = msgspec.field(default_factory=list)
    """What can be known and is no fault."""
    version: str | None = None
    """What its program says its version is; ``None`` where it does not, or was not asked."""
    other_home: str | None = None
    """The home that its hooks call, where that is another one, and what they call is there."""
    plugin: bool = False
    """Whether Mnemic's plugin is enabled in it, which does what an install would."""
    allow: tuple[str, ...] = ()
    """What it may do by MCP beyond its own project, as it was given when it was wired."""
    installed: bool = False
    """Whether this home wired it, and nobody took that back."""
    remedy: str
    """What wires it as it was wired: the command, after what has to be done first."""

    @property
    def wired(self) -> bool:
        """Whether any of its events is, if only by another home or an older Mnemic."""
        return set(self.events.values()) != {"missing"}

    @property
    def state(self) -> State:
        """``wrong`` where something of it is, or of what it is to tell something is never told; ``advice`` where it is
        here and not wired, or not as an install would have it.
        """
        lacks_events = "missing" in self.events.values() and (self.wired or self.installed) and not self.other_home
        if self.wrong or lacks_events or self.trial not in (None, "arrived") or self.asked not in (None, "answered"):
            return "wrong"
        if self.other_home or (self.missing_parts if self.wired else self.here and not self.plugin):
            return "advice"
        return "ok"

    @property
    def missing_parts(self) -> list[str]:
        """What is not as an install would have it."""
        parts = {**self.events, "MCP": self.mcp, "instructions": self.instructions or "wired"}
        return [part for part, state in parts.items() if state != "wired"]

    def view(self) -> dict[str, Any]:
        """As JSON."""
        told = msgspec.structs.asdict(self)
        seen = {"here": told.pop("here"), "wired": self.wired, "state": self.state, "missing": self.missing_parts}
        return seen | {name: one for name, one in told.items() if name != "name"}


def recorded_wiring(wiring: Wiring, known: HostInstall | None) -> Wiring:
    """What a host was wired to be, where that was recorded; else what it would be."""
    if known is None:
        return wiring
    environment = {**wiring.environment, **known.places}
    return msgspec.structs.replace(
        wiring,
        mind=known.mind,
        recall_prompts=known.recall_prompts,
        recall_failures=not known.without_failures,
        allow=known.allow,
        environment=environment,
    )


def examine_host(host: Host, wiring: Wiring, clock: Clock, *, installed: bool, ask_codex: bool = True) -> HostStatus:
    """Look at a host's configuration, at what its hooks call, and whether it lets them run.

    Args:
        installed: whether this home's record says that it was wired.
        ask_codex: whether Codex, started for it, is asked if it trusts its hooks; else nothing is started.
    """
    again = ["mnemic", "hooks", "install", host.name, "--apply"]
    again += ["--recall-prompts"] if wiring.recall_prompts else []
    again += ["--no-recall-failures"] if host.name == "claude-code" and not wiring.recall_failures else []
    again += [word for right in wiring.allow for word in ("--allow", right)]
    command = " ".join(again) + mind_options(mind_folder(wiring.home, wiring.mind))
    status = HostStatus(
        name=host.name,
        here=not absence_reason(host, wiring.environment),
        events=dict.fromkeys(host.events, "missing"),
        plugin=host.has_plugin(wiring.environment),
        allow=wiring.allow,
        installed=installed,
        remedy=command,
    )
    called: set[Path] = set()
    for file in host.file_edits(wiring):
        try:
            with naming_parse_errors(file):
                called |= _examine_file(file, host, status)
        except InvalidSettings as error:
            status.wrong.append(str(error).removesuffix("."))
            status.remedy = f"{error.remedy_text.removesuffix('.')}: {command}"
    others = sorted(str(home) for home in called if os.access(home / "bin" / "mnemic-hook", os.X_OK))
    if others and wiring.home not in called:
        status.other_home = others[0]
    elif status.plugin and not status.wired:
        status.notes.append("its plugin hands over what happens and starts the MCP server; no trial is made of it")
        status.remedy = f"mnemic setup --yes{mind_options(mind_folder(wiring.home, wiring.mind))}"
        status.wrong += capture_blockers(wiring, clock)
    elif status.wired:
        if called and wiring.home not in called:
            gone = min(called) / "bin" / "mnemic-hook"
            status.wrong.append(f"its hooks call {gone}, which is not there: they are silent, and keep nothing")
        status.notes += [BOTH_WAYS] if status.plugin else []
        told = {"memories with prompts": wiring.recall_prompts}
        told["what helped, once a call failed"] = wiring.tells_failures(host.name)
        status.notes += [f"it is told {what}, too" for what, is_wanted in told.items() if is_wanted]
        status.wrong += capture_blockers(wiring, clock)
        if blocked := host.blocked_reason(wiring.environment):
            status.wrong.append(f"its own settings keep hooks from running: {blocked}")
        if host.name == "codex" and ask_codex:
            _examine_trust(host, wiring, status)
    return status


def _examine_file(file: FileEdits, host: Host, status: HostStatus) -> set[Path]:
    """Enter how what belongs into a file stands there; returns the homes that its hooks call."""
    text = read_text(file)
    commands: list[str] = []
    if file.format == "block":
        text = text or ""
        ours = has_block(text, file.text)
        status.instructions = "wired" if ours else "differs" if remove_block(text) != text else "missing"
    elif text is None:
        return set()
    elif file.format == "whole" and file.path.suffix == ".js":
        state = "wired" if text == file.text else "differs" if plugin_command(text) else "missing"
        status.events = dict.fromkeys(status.events, state)
        commands = [shlex.join(plugin_command(text) or [])]
    names = {name: event for event, name in host.events.items()}
    for edit, state in edit_states(text, file, host.name):
        if isinstance(edit, Hook):
            status.events[names[edit.path[-1]]] = state
        elif isinstance(edit, Member):
            status.mcp = "wired" if state == "wired" else "missing"
    wired = list(hook_commands(text, file, host.name))
    given = [told for event, told in wired if event == "prompt"]
    prompt = " ".join([*given, *re.findall(r"^const GIVEN = .+$", text, re.MULTILINE)])  # of a plugin's script the last
    differs = prompt and status.events.get("prompt") == "differs" and host.name in TOLD_WITH_PROMPTS
    if differs and not re.search(r"--(?:ask|updates)\b", prompt):
        status.notes.append(NO_UPDATES)
    commands += [told for _, told in wired]
    return {home for home in map(home_in_command, commands) if home is not None}


def _examine_trust(host: Host, wiring: Wiring, status: HostStatus) -> None:
    seen = list_codex_hooks(wiring.environment)
    if seen is None:
        status.notes.append("whether Codex trusts its hooks is not known: it could not be asked (no codex in $PATH?)")
        return
    for told, events in (
        ("Codex does not see", set(host.events) - {hook.event for hook in seen}),
        ("Codex does not trust, and so does not run", {hook.event for hook in seen if not hook.trusted}),
        ("switched off in Codex (/hooks)", {hook.event for hook in seen if hook.trusted and not hook.enabled}),
    ):
        if events:
            status.wrong.append(f"{told}: {', '.join(sorted(events))}")


def capture_blockers(wiring: Wiring, clock: Clock) -> list[str]:
    """Why whatever its hooks are given would be kept nowhere, a sentence each."""
    why = []
    if not os.access(wiring.executable, os.X_OK):
        why.append(f"{wiring.executable} is missing: the hooks are silent, and keep nothing")
    if (off := wiring.environment.get("MNEMIC_OFF", "")) not in ("", "0"):
        what = "tell nothing" if off == "recall" else "keep nothing"
        why.append(f"MNEMIC_OFF is set here: hooks that see it {what}")
    mind = wiring.home / "minds" / wiring.mind
    if (held := current_pause(mind, clock.now_us())) is not None:
        why.append(held.sentence())
    return [*why, *_foreign_users(wiring, mind)]


def _foreign_users(wiring: Wiring, mind: Path) -> Iterator[str]:
    """Say which users' hooks are silent since the mind belongs to another one: this user's, and the home's owner's.

    The owner of $HOME runs the assistants that are wired there; in a container it may be root's, and is nobody's.
    """
    owners = [_owner(mind), os.geteuid(), _owner(wiring.home), _owner(Path(wiring.environment.get("HOME", ""))) or None]
    others = {user for user in owners if user not in (None, owners[0])}
    if owners[0] is not None and others:
        silent = " and ".join(sorted(map(user_name, others)))
        told = (
            f"the mind belongs to {user_name(owners[0])}, and hooks that run as {silent} keep nothing in it: use Mnemic"
        )
        yield f"{told} as one user, or `sudo chown -R USER {shlex.quote(str(wiring.home))}` gives all to that one"


def _owner(path: Path) -> int | None:
    return path.stat().st_uid if path.exists() else None


def wiring_checks(
    home: Path,
    environment: Mapping[str, str],
    clock: Clock,
    arrived: Mapping[str, str] | None = None,
    paused: str = "",
) -> Iterator[Check]:
    """How each host is wired that is here or was wired.

    Args:
        paused: the sentence of a pause that another check tells of.
        arrived: the last trial event of each host that reached the store, where that is known.

    Raises:
        BadConfiguration: what was wired is not known.
    """
    record = InstallRecord(home, clock)
    if record.hosts:
        yield executable_state(home)
    for host, status in examine_present(home, environment, clock, record):
        status.wrong = [why for why in status.wrong if why != paused]
        if status.plugin and not (status.installed or status.wired or status.wrong):
            yield Check(f"hooks {host.name}", "ok", f"{host.title}: by its plugin", "")
        elif status.installed or status.wired or status.wrong:
            yield _check(host, status, host.name in (arrived or {}))
        else:
            told = f"{host.title} is here, and nothing of it is remembered by itself"
            yield Check(f"hooks {host.name}", status.state, told, status.remedy)
        for paths in unread_sessions([host], environment).values():
            yield Check(f"transcripts {host.name}", "advice", unread_sentence(paths), UNREAD_REMEDY)


def examine_present(
    home: Path, environment: Mapping[str, str], clock: Clock, record: InstallRecord, *, ask_codex: bool = True
) -> Iterator[tuple[Host, HostStatus]]:
    """Look at each host that is here, or is wired, or whose settings are broken."""
    base = make_wiring(home, environment)
    for name, host in HOSTS.items():
        known = record.hosts.get(name)
        wiring = recorded_wiring(base, known)
        status = examine_host(host, wiring, clock, installed=known is not None, ask_codex=ask_codex)
        if status.installed or status.wired or status.here or status.wrong:
            yield host, status


def executable_state(home: Path) -> Check:
    """Whether what hooks call is there, and is the one that this Mnemic would put there."""
    try:
        files = required_hook_files(home)
    except HookNotBuilt as missing:
        return Check("hook executable", "wrong", str(missing), missing.remedy_text)
    again = f"mnemic hooks install all --apply{mind_options(mind_folder(home, 'default'))}"
    called = next(file for file in files if file.path.name == "mnemic-hook")
    if not os.access(called.path, os.X_OK):
        told = f"{called.path} is missing: hooks are silent, and keep nothing"
        return Check("hook executable", "wrong", told, f"{again} puts it there again.")
    stale = [file.path.name for file in files if not file.is_installed]
    if stale:
        told = f"{', '.join(stale)} in {called.path.parent} comes from another Mnemic than this one, {__version__}"
        if called.path.name in stale:
            told += f"; {called.path.name} says: {_said_version(called.path)}"
        return Check("hook executable", "advice", told, f"{again} renews it.")
    return Check("hook executable", "ok", str(called.path))


def _said_version(executable: Path) -> str:
    """What a hook executable, an older one perhaps, answers when it is asked for its version; one line."""
    try:
        asked = subprocess.run(
            [executable, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_VERSION_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"nothing ({type(error).__name__})"
    lines = asked.stdout.decode("utf-8", "replace").splitlines()
    return lines[0][:80] if lines else "nothing"


def _check(host: Host, status: HostStatus, arrived: bool) -> Check:
    lacks = status.missing_parts
    rights = f"; by MCP it may {' and '.join(status.allow)}" if status.allow else ""
    if status.other_home is not None and status.state != "wrong":
        told = f"{host.title} is wired to another home: {status.other_home}"
        remedy = f"Leave it so, or see to it there: mnemic hooks status --home {shlex.quote(status.other_home)}"
        return Check(f"hooks {host.name}", status.state, told, remedy)
    if status.wrong or lacks:
        is_seen = status.wired or status.installed
        parts = [f"not as they were installed: {', '.join(lacks)}"] if lacks and is_seen else []
        parts += [note for note in status.notes if note == NO_UPDATES]
        return Check(f"hooks {host.name}", status.state, "; ".join([*status.wrong, *parts]) + rights, status.remedy)
    proof = "a trial event arrived" if arrived else "`mnemic hooks status` proves it by a trial"
    return Check(f"hooks {host.name}", "ok", f"{host.title}: {len(status.events)} events, MCP; {proof}{rights}")
