"""Installs a home's process as a service of the user's own systemd or launchd, looks at it, and removes it.

`mnemic.runtime.serve.units` says what the manager is told. Above stand `mnemic service`, `mnemic uninstall` and
`mnemic doctor`. Where the manager does not answer (a container, a session without one) the files are written all the
same, and what is left to run is said.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from mnemic.actors.kernel.errors import BadConfiguration
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.files.programs import find_program
from mnemic.runtime.keys.keys import replace_private
from mnemic.runtime.minds.run_dir import RunDir
from mnemic.runtime.serve.units import Service, UnitFile, is_own, make_service, program_of

_COMMAND_TIMEOUT_S = 60.0
_WANTS = ("default.target.wants", "sockets.target.wants")
"""Where systemd keeps its links to what is enabled, beside the units."""


class ServiceChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes, or became, of one file of a service."""

    path: str
    """The file."""
    change: str
    """``made``, ``changed``, ``removed`` or ``unchanged``."""
    before: str
    """What is in it so far."""
    after: str
    """What is to be in it."""


class ServiceResult(msgspec.Struct, frozen=True, kw_only=True):
    """What installing or removing a service does, or did."""

    name: str
    """What the service is called."""
    manager: str
    """``systemd`` or ``launchd``."""
    applied: bool
    """Whether it was done, not only shown."""
    files: list[ServiceChange]
    """Its files."""
    commands: list[str]
    """What is run, or was; or, where one failed, what is left to run."""
    error: str = ""
    """Why a command failed."""

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.commands) or any(file.change != "unchanged" for file in self.files)


class ServiceProblem(msgspec.Struct, frozen=True):
    """What is not as it should be with a service."""

    state: Literal["wrong", "advice"]
    """``wrong``: it does not start."""
    detail: str
    """What was seen."""
    remedy: str
    """What to do."""


class ServiceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a service is."""

    name: str
    """What it is called."""
    manager: str
    """``systemd`` or ``launchd``."""
    installed: bool
    """Whether a file of it is there."""
    files: dict[str, str]
    """By path: ``as written``, ``differs`` from what this version writes, ``missing``, or ``not Mnemic's``."""
    program: str | None
    """What it starts; ``None`` where nothing says so."""
    state: str
    """``active``: the manager listens for it, or runs it; ``failed``: its last start did; ``inactive``; ``unknown``
    where the manager does not answer."""
    process: int | None
    """The process that serves the home just now."""
    problems: list[ServiceProblem]
    """What is not as it should be."""


def install_service(home: Path, environment: Mapping[str, str], *, write: bool) -> ServiceResult:
    """Have the home served by a service.

    Raises:
        InvalidValue: no unit can hold its path.
        BadConfiguration: a file of its name is there that Mnemic did not write.
        StoreReadOnly, DiskFull: a file cannot be written.
    """
    service = make_service(home, environment)
    changes = [_plan(service, file) for file in service.files]
    kept = all(change.change == "unchanged" for change in changes)
    commands = () if kept and _manager_state(service) == "active" else service.start
    if not kept and service.manager == "launchd" and changes[0].change == "changed":
        commands = (*service.stop, *commands)  # it reads no file of an agent that it has
    if write:
        for file, change in zip(service.files, changes, strict=True):
            if change.change != "unchanged":
                _write(file)
    return _carried_out(service, changes, commands, write=write)


def remove_service(home: Path, environment: Mapping[str, str], *, write: bool) -> ServiceResult | None:
    """Stop the home's service and remove it; ``None`` where none is installed.

    Raises:
        InvalidValue, BadConfiguration, StoreReadOnly: as of `install_service`.
    """
    service = make_service(home, environment)
    found = [(file, _read(file.path)) for file in service.files]
    own = [(file, held) for file, held in found if held is not None and is_own(service, held)]
    if not own:
        return None
    changes = [ServiceChange(path=str(file.path), change="removed", before=_text(held), after="") for file, held in own]
    stopped = _carried_out(service, changes, service.stop, write=write)
    if write:
        for file, _ in own:
            _unlink(file.path)
    told = _carried_out(service, changes, service.forget, write=write and not stopped.error)
    return msgspec.structs.replace(
        told, applied=write, commands=[*stopped.commands, *told.commands], error=stopped.error or told.error
    )


def service_status(home: Path, environment: Mapping[str, str]) -> ServiceStatus:
    """Look at the home's service.

    Raises:
        InvalidValue: no unit can hold its path.
        StoreReadOnly: a file of it cannot be read.
    """
    service = make_service(home, environment)
    states, program = {}, None
    for file in service.files:
        held = _read(file.path)
        program = program or (None if held is None else program_of(service, held))
        states[str(file.path)] = "missing" if held is None else _state(service, file, held)
    there = set(states.values())
    installed = bool(there & {"as written", "differs"})
    state = _manager_state(service) if installed else "inactive"
    info = RunDir(home).read_info()
    return ServiceStatus(
        name=service.name,
        manager=service.manager,
        installed=installed,
        files=states,
        program=program,
        state=state,
        process=info.pid if info is not None and info.is_alive() else None,
        problems=[*_problems(service, there, program, state)] if installed else [],
    )


def _problems(service: Service, there: set[str], program: str | None, state: str) -> Iterator[ServiceProblem]:
    """What is not as it should be with a service that is installed.

    Args:
        there: how its files are.
    """
    manager, again = service.manager, "Run `mnemic service install --apply`."
    if program is not None and not Path(program).is_file():
        yield ServiceProblem("wrong", f"{service.name} starts {program}, which is not there any more", again)
    elif state == "inactive":
        yield ServiceProblem("wrong", f"{service.name} is installed, and {manager} does not have it running", again)
    elif state == "failed":
        log = f"`journalctl --user -u {service.name}` says why; `mnemic doctor` may, too."
        yield ServiceProblem("wrong", f"the last start of {service.name} failed", log)
    if there != {"as written"}:
        yield ServiceProblem("advice", f"{service.name} is not what this version of Mnemic writes", again)
    if state == "unknown":
        detail = f"{manager} does not answer: whether it has {service.name} is not known"
        yield ServiceProblem("advice", detail, "Look again in a session in which it does.")


def _carried_out(
    service: Service, changes: list[ServiceChange], commands: Sequence[Sequence[str]], *, write: bool
) -> ServiceResult:
    """What was done of it: the manager's commands are run in their order, up to the first that fails."""
    error, left = "", [shlex.join(command) for command in commands]
    for number, command in enumerate(commands) if write else ():
        error = _run(command)[1]
        if error:
            left = left[number:]
            break
    name, manager = service.name, service.manager
    return ServiceResult(name=name, manager=manager, applied=write, files=changes, commands=left, error=error)


def _plan(service: Service, file: UnitFile) -> ServiceChange:
    held = _read(file.path)
    if held is not None and _state(service, file, held) == "not Mnemic's":
        why, remedy = "Mnemic did not write it, and would have to replace it", "Move it away"
        raise BadConfiguration(path=str(file.path), why=why, remedy=remedy)
    change = "made" if held is None else "unchanged" if held == file.content else "changed"
    return ServiceChange(path=str(file.path), change=change, before=_text(held or b""), after=_text(file.content))


def _state(service: Service, file: UnitFile, held: bytes) -> str:
    if held == file.content:
        return "as written"
    return "differs" if is_own(service, held) else "not Mnemic's"


def _manager_state(service: Service) -> str:
    """How a service is for its manager, as `ServiceStatus.state` has it."""
    if service.manager == "launchd":
        listed, error = _run(("launchctl", "list"))
        here = any(line.split("\t")[-1] == service.name for line in listed.splitlines())
        return "unknown" if error else "active" if here else "inactive"
    units = (service.entry, f"{service.name}.service")
    shown, error = _run(("systemctl", "--user", "show", "--property=ActiveState", "--value", *units))
    states = shown.split()
    return "unknown" if error else "failed" if "failed" in states else "active" if states[0] == "active" else "inactive"


def _run(command: Sequence[str]) -> tuple[str, str]:
    """What a manager's command prints, and why it failed: a clause; empty where it did not."""
    program = find_program(command[0])
    if program is None:
        return "", f"{command[0]} is not on this machine"
    try:
        done = subprocess.run(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return "", f"{command[0]} did not answer within {_COMMAND_TIMEOUT_S:g} s"
    said = done.stderr.strip().splitlines()
    return done.stdout, "" if done.returncode == 0 else said[0] if said else f"it ended with {done.returncode}"


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise write_error(path, error) from error


def _write(file: UnitFile) -> None:
    try:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        replace_private(file.path, file.content)
    except OSError as error:
        raise write_error(file.path, error) from error


def _unlink(path: Path) -> None:
    """Remove a unit, and the links by which it is enabled: they are removed where systemd does not answer as well."""
    try:
        for link in (path.parent / wants / path.name for wants in _WANTS):
            if link.is_symlink():
                link.unlink()
        path.unlink(missing_ok=True)
    except OSError as error:
        raise write_error(path, error) from error


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")
