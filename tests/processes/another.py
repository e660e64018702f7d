"""Another version of Mnemic, complete and installed: a copy of the code, changed, that is found before this one.

What it starts is of that version, too, since the environment says where it is. So a test has an older command beside a
newer process, or replaces an installation under a process that runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.paths import ROOT
from tests.waiting import BOUND_S

_FOLDERS = ("actors", "algorithms", "bench", "hd", "hooks", "runtime")


class AnotherMnemic:
    """One installation."""

    def __init__(
        self, folder: Path, version: str, *, protocol: int | None = None, migrations: Sequence[str] = ()
    ) -> None:
        """Install it into a folder that is not there yet.

        Args:
            protocol: what it speaks, where that is another one.
            migrations: what it has one or more of.
        """
        self.package = folder / "mnemic"
        """Where its code is."""
        self.environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        """What makes a Python find it."""
        # With what is compiled, which is what most of a start takes; not with what another process is just writing.
        ignored = shutil.ignore_patterns("*.pyc.*")
        shutil.copytree(ROOT / "mnemic", self.package, ignore=ignored)
        for name in _FOLDERS:
            shutil.copytree(ROOT / name, self.package / name, ignore=ignored)
        self.change("runtime/version.py", r'__version__ = ".*"', f'__version__ = "{version}"')
        if protocol is not None:
            self.change("runtime/minds/run_dir.py", r"^PROTOCOL = \d+", f"PROTOCOL = {protocol}")
        if migrations:
            told = f"LATEST_SCHEMA = 1 + len(MIGRATIONS := (*MIGRATIONS, *{tuple(migrations)!r}))"
            self.change("runtime/store/schema.py", r"^LATEST_SCHEMA = 1 \+ len\(MIGRATIONS\)$", told)

    def change(self, file: str, pattern: str, text: str) -> None:
        """Write a file anew, as an installer does, with one thing in it changed."""
        path = self.package / file
        said, count = re.subn(pattern, lambda _: text, path.read_text("utf-8"), flags=re.MULTILINE)
        assert count == 1, f"{file} has {count} places like {pattern}"
        path.unlink()
        path.write_text(said, "utf-8")

    def start(self, *arguments: object) -> subprocess.Popen[bytes]:
        """Its command, started."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(self._command(arguments), env=self.environment, **pipes)

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Its command, to its end."""
        return subprocess.run(
            self._command(arguments), env=self.environment, capture_output=True, text=True, timeout=BOUND_S
        )

    def _command(self, arguments: Sequence[object]) -> list[str]:
        return [sys.executable, "-P", "-m", "mnemic", *map(str, arguments)]
