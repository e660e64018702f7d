"""What the tests of the wiring share: a user's folder from a fixture, hosts wired in it, and other people's edits."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mnemic.hooks.wire.commands import Wiring, make_wiring
from mnemic.hooks.wire.host import Host
from mnemic.hooks.wire.hosts import HOSTS
from mnemic.hooks.wire.record import InstallRecord
from mnemic.hooks.wire.wiring import FileChange, apply_install, apply_uninstall, plan_install, plan_uninstall
from tests.clocks import ManualClock
from tests.paths import FIXTURES

FIXTURES = FIXTURES / "wiring"
CASES = sorted((host.name, case.name) for host in FIXTURES.iterdir() for case in host.iterdir() if case.is_dir()) + [
    (name, "nothing") for name in HOSTS
]
"""Each host and what it may find; ``nothing`` is a user who never started it."""
START_US = 1_790_000_000_000_000

ENDINGS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda content: content,
    "CRLF": lambda content: content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "no final newline": lambda content: content.rstrip(b"\r\n"),
}
"""How the same configuration may come from another editor."""


class User(NamedTuple):
    """A user's folder, and a home in it."""

    host: Host
    wiring: Wiring
    record: InstallRecord

    @property
    def folder(self) -> Path:
        return self.wiring.user_home

    def files(self) -> dict[str, bytes]:
        """Everything in the user's folder but the home, by path."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not path.is_relative_to(self.wiring.home)
        }

    def again(self, **options: object) -> User:
        """The same, read anew, perhaps with other options."""
        given = {"mind": self.wiring.mind, "recall_prompts": self.wiring.recall_prompts} | options
        wiring = make_wiring(self.wiring.home, self.wiring.environment, **given)  # type: ignore[arg-type]
        return User(self.host, wiring, InstallRecord(self.wiring.home, ManualClock(START_US)))

    def planned(self) -> list[FileChange]:
        return plan_install(self.host, self.wiring)

    def install(self) -> list[str]:
        """Wire it; returns what became of each file."""
        changes = self.planned()
        apply_install(self.host, changes, self.wiring, self.record)
        return [change.action for change in changes]

    def uninstall(self) -> list[str]:
        changes = plan_uninstall(self.host, self.wiring, self.record)
        apply_uninstall(self.host, changes, self.record)
        return [change.action for change in changes]


def user(folder: Path, host: str, case: str = "nothing", ending: str = "as it is", home: str = "memory") -> User:
    """A user who has what a fixture holds."""
    folder = folder / "user"
    source = FIXTURES / host / case
    if source.is_dir():
        shutil.copytree(source, folder)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(ENDINGS[ending](path.read_bytes()))
    place = folder / home
    place.mkdir(parents=True)
    wiring = make_wiring(place, {"HOME": str(folder), "PATH": "/usr/bin:/bin"})
    return User(HOSTS[host], wiring, InstallRecord(place, ManualClock(START_US)))
