"""Record of what was installed in which settings file (HOME/hooks.json), with backups, for uninstalling.

A file's bytes from before lie under ``HOME/backups``, for nobody but the user: a configuration may hold tokens.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import BadConfiguration
from mnemic.actors.kernel.typed import decode
from mnemic.hooks.wire.commands import ASSISTANTS
from mnemic.hooks.wire.edits import Format
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.keys.keys import replace_private, write_private

BACKUP = re.compile(rf"\d{{8}}T\d{{6}}\.\d{{6}}Z-({'|'.join(ASSISTANTS)})-.+")
"""What the files under ``backups`` are called."""

_VERSION = 1


class InstalledFile(msgspec.Struct, frozen=True):
    """One file that was changed."""

    format: Format
    """What it is: a host may read another file by the time it is to be as it was."""
    backup: str
    """The file under ``backups`` that holds it as it was; empty where it was not there."""


class HostInstall(msgspec.Struct):
    """What was done for one host."""

    mind: str
    """The mind its hooks fill."""
    recall_prompts: bool
    """Whether memories are given with prompts too."""
    places: dict[str, str]
    """The variables that said where its configuration is."""
    files: dict[str, InstalledFile] = msgspec.field(default_factory=dict)
    """By path."""
    folders: list[str] = msgspec.field(default_factory=list)
    """Folders that were made for them."""
    allow: tuple[str, ...] = ()
    """What it may do by MCP beyond its own project."""
    without_failures: bool = False
    """Whether its user has switched off that it is told what helped before, once a call failed."""
    trusted: dict[str, str] = msgspec.field(default_factory=dict)
    """The hooks that were marked as trusted in Codex: its key of each, and its hash."""


class _RecordFile(msgspec.Struct):
    version: int
    hosts: dict[str, HostInstall]


class _RecordVersion(msgspec.Struct):
    version: int


class InstallRecord:
    """The record of one home."""

    def __init__(self, home: Path, clock: Clock) -> None:
        """Read what there is.

        Raises:
            BadConfiguration: it cannot be read, or a newer version wrote it.
        """
        self._home, self._clock = home, clock
        self.path = home / "hooks.json"
        """Its file."""
        self.hosts: dict[str, HostInstall] = {}
        """By the host's name."""
        try:
            content = self.path.read_bytes()
            self._check_version(content)
            written = decode(content, _RecordFile)
        except FileNotFoundError:
            return
        except OSError as error:
            why, remedy = f"it says what was wired, and cannot be read ({error.strerror})", "Make it readable for you"
            raise BadConfiguration(path=str(self.path), why=why, remedy=remedy) from error
        except msgspec.DecodeError as error:
            remedy = "Remove it; an uninstall then takes out what it recognises, and an install writes it anew"
            why = "it is no record any more"
            raise BadConfiguration(path=str(self.path), why=why, remedy=remedy) from error
        self.hosts = written.hosts

    def _check_version(self, content: bytes) -> None:
        """Refuse what a newer Mnemic wrote, first of all: whatever else is in it may be of another form."""
        version = decode(content, _RecordVersion).version
        if version > _VERSION:
            why = f"a newer Mnemic wrote it (version {version}; this one knows {_VERSION})"
            raise BadConfiguration(path=str(self.path), why=why, remedy="Update Mnemic; nothing was changed")

    def save(self) -> None:
        """Write it, whole or not at all; without a host there is no file.

        Raises:
            StoreReadOnly, DiskFull: it cannot be written.
        """
        try:
            if not self.hosts:
                self.path.unlink(missing_ok=True)
                return
            written = msgspec.json.encode(_RecordFile(_VERSION, self.hosts))
            replace_private(self.path, msgspec.json.format(written, indent=1))
        except OSError as error:
            raise write_error(self.path, error) from error

    def save_backup(self, assistant: str, path: Path, content: bytes) -> str:
        """Keep the bytes of a configuration; returns the name they are kept under.

        Raises:
            StoreReadOnly, DiskFull: they cannot be kept; then the configuration must not be touched.
        """
        stamp = datetime.fromtimestamp(self._clock.now_us() / 1e6, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        folder = self._home / "backups"
        name = f"{stamp}-{assistant}-{path.name.lstrip('.')}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(folder / name, content)
        except OSError as error:
            raise write_error(folder, error) from error
        return name

    def read_backup(self, name: str) -> bytes | None:
        """The bytes kept under a name; ``None`` where the user has removed them."""
        try:
            return (self._home / "backups" / name).read_bytes()
        except FileNotFoundError:
            return None

    def remove_backup(self, name: str) -> None:
        """Forget the bytes kept under a name: they are in their file again."""
        (self._home / "backups" / name).unlink(missing_ok=True)
