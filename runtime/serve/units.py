"""What a service manager is told of a home's process: a unit and a socket for systemd, an agent for launchd.

Texts in, texts out; `mnemic.runtime.serve.service` writes them and talks to the manager. systemd.service(5),
systemd.socket(5) and systemd.syntax(7) say how a path is written there, launchd.plist(5) what an agent holds.
"""

from __future__ import annotations

import hashlib
import os
import plistlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.runtime.client.service_socket import SERVICE_SOCKET
from mnemic.runtime.minds.homes import default_home
from mnemic.runtime.minds.run_dir import RunDir

MARK = "# Written by `mnemic service install`"
"""What a unit begins with."""
LABEL = "dev.mnemic.serve"
"""What the agents of launchd are called, the one of the usual home exactly so."""

_SOCKET_PATH_BYTES = 107  # unix(7): 108 with the NUL
_UNQUOTABLE = re.compile(r"[\x00-\x1f\x7f\"'\\]")  # systemd starts no program whose path has one of these

_SERVICE = """\
{mark}, which writes it anew. What you change belongs into
# `systemctl --user edit {name}.service`.
[Unit]
Description=Mnemic, a long-term memory for AI assistants
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
ExecStart={command}
Restart=on-failure
RestartSec=5
# Refused: to start it again changes nothing.
RestartPreventExitStatus=2
# Ray's processes are told to end by the one that started them, once it has finished what was begun.
KillMode=mixed
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native

[Install]
WantedBy=default.target
"""
_SOCKET = """\
{mark}, which writes it anew.
[Unit]
Description=Starts Mnemic once an assistant or a command asks for it

[Socket]
ListenStream={path}
SocketMode=0600
DirectoryMode=0700
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
"""


class UnitFile(msgspec.Struct, frozen=True):
    """A file that a service manager reads."""

    path: Path
    """Where it looks for it."""
    content: bytes
    """What is to stand in it."""


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """The service of one home."""

    manager: str
    """``systemd`` or ``launchd``."""
    name: str
    """What it is called there, without an ending."""
    home: Path
    """The home that it serves."""
    entry: str
    """The unit that has to be active: the socket where there is one, else the process's; launchd's label."""
    files: tuple[UnitFile, ...]
    """Its files."""

    @property
    def start(self) -> tuple[tuple[str, ...], ...]:
        """The commands that have a manager read its files, and begin."""
        if self.manager == "launchd":
            return (("launchctl", "bootstrap", _domain(), str(self.files[0].path)),)
        return (
            ("systemctl", "--user", "daemon-reload"),
            ("systemctl", "--user", "try-restart", f"{self.name}.service"),
            ("systemctl", "--user", "enable", "--now", self.entry),
        )

    @property
    def stop(self) -> tuple[tuple[str, ...], ...]:
        """The commands that end it, before its files go."""
        if self.manager == "launchd":
            return (("launchctl", "bootout", f"{_domain()}/{self.name}"),)
        return (("systemctl", "--user", "stop", *(file.path.name for file in reversed(self.files))),)

    @property
    def forget(self) -> tuple[tuple[str, ...], ...]:
        """The commands that have a manager see that its files are gone."""
        return () if self.manager == "launchd" else (("systemctl", "--user", "daemon-reload"),)


def make_service(home: Path, environment: Mapping[str, str], platform: str = sys.platform) -> Service:
    """Say what the service of a home is on a platform.

    Raises:
        InvalidValue: no unit can hold the path of the home or of Python, or no user's folder is known.
    """
    home = home.absolute()
    if not environment.get("HOME"):
        raise InvalidValue(name="$HOME", value="", why="nothing says where your services are", expected="it")
    usual = home == default_home({}).absolute()
    suffix = "" if usual else f"-{hashlib.sha256(os.fsencode(home)).hexdigest()[:8]}"
    command = [sys.executable, "-P", "-m", "mnemic", "serve", "--home", str(home)]
    _require_writable("the home", str(home), r"[\x00-\x1f\x7f]")
    if platform == "darwin":
        return _launchd(home, f"{LABEL}{suffix}", command, Path(environment["HOME"]))
    _require_writable("the path of Python", sys.executable, _UNQUOTABLE.pattern)
    given = environment.get("XDG_CONFIG_HOME", "")
    configuration = Path(given) if os.path.isabs(given) else Path(environment["HOME"]) / ".config"
    return _systemd(home, f"mnemic{suffix}", command, configuration / "systemd" / "user")


def program_of(service: Service, content: bytes) -> str | None:
    """The program that a file of the service starts; ``None`` where it names none that this understands."""
    if service.manager == "launchd":
        try:
            arguments = plistlib.loads(content)["ProgramArguments"]
        except (plistlib.InvalidFileException, ValueError, KeyError, TypeError):
            return None
        return arguments[0] if isinstance(arguments, list) and arguments and isinstance(arguments[0], str) else None
    found = re.search(rb'^ExecStart=:"([^"\n]+)"', content, re.MULTILINE)
    return None if found is None else os.fsdecode(found[1]).replace("%%", "%")


def is_own(service: Service, content: bytes) -> bool:
    """Whether Mnemic wrote what is in a file of the service, this version or another."""
    if service.manager == "launchd":
        try:
            written = plistlib.loads(content)
        except (plistlib.InvalidFileException, ValueError):
            return False
        return isinstance(written, dict) and written.get("Label") == service.name and "ProgramArguments" in written
    return content.startswith(MARK.encode())


def _systemd(home: Path, name: str, command: list[str], folder: Path) -> Service:
    path = RunDir(home).folder / SERVICE_SOCKET
    # ":" has systemd put nothing in place of a $; the program is quoted as the other words are, and % is its own sign.
    words = [
        f":{_quoted(command[0])}",
        *(word if re.fullmatch(r"[\w-]+", word) else _quoted(word) for word in command[1:]),
    ]
    unit = _SERVICE.format(mark=MARK, name=name, command=" ".join(words))
    files = [UnitFile(folder / f"{name}.service", unit.encode())]
    entry = files[0].path.name
    if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES:
        entry = f"{name}.socket"
        text = _SOCKET.format(mark=MARK, path=str(path).replace("%", "%%"))
        files.append(UnitFile(folder / entry, text.encode()))
    return Service(manager="systemd", name=name, home=home, entry=entry, files=tuple(files))


def _launchd(home: Path, label: str, command: list[str], user_home: Path) -> Service:
    agent: dict[str, Any] = {
        "Label": label,
        "ProgramArguments": command,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "Umask": 0o077,
        "StandardErrorPath": str(RunDir(home).folder / "service.err"),
    }
    path = user_home / "Library" / "LaunchAgents" / f"{label}.plist"
    file = UnitFile(path, plistlib.dumps(agent, sort_keys=False))
    return Service(manager="launchd", name=label, home=home, entry=label, files=(file,))


def _quoted(word: str) -> str:
    """A word of a command line in a unit."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _require_writable(name: str, path: str, unfit: str) -> None:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        expected = "one that a unit can hold"
        raise InvalidValue(name=name, value=path, why="it is not UTF-8", expected=expected) from None
    if re.search(unfit, path):
        why = "no unit can hold a control character, nor a program with a quote or a backslash in its path"
        raise InvalidValue(name=name, value=path, why=why, expected="one without")
