"""The version of this code, in one place: the package, the log and the processes all name it.

And what installs more beside it. And whether the code on the disk is still the one that a process was started from:
what is imported later would come from another version. `mnemic.process` asks every half second, and leaves where it is
not.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

__version__ = "0.2.0"
EXIT_REPLACED = 75
"""What a process in the foreground ends with that is to be started again, by what is installed and set now."""

_SETTLED_S = 10.0  # an installer writes file by file: so long after the last change of this one, it is done


def install_command(*packages: str, prefix: Path | None = None) -> str:
    """The command that installs packages beside Mnemic, by what installed Mnemic.

    Args:
        packages: the words after ``install``.
        prefix: the environment, whose marks pipx and uv leave in it; this one's where none is given.
    """
    from importlib.util import find_spec  # here: only errors need it

    prefix, words = Path(sys.prefix) if prefix is None else prefix, shlex.join(packages)
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx runpip mnemic install {words}"
    python = shlex.quote(sys.executable)
    if (prefix / "uv-receipt.toml").exists() or find_spec("pip") is None:
        return f"uv pip install --python {python} {words}"
    return f"{python} -m pip install {words}"


class Installation:
    """The files of this Mnemic, as they were when a process began."""

    def __init__(self, path: Path = Path(__file__)) -> None:
        """Look for the first time.

        Args:
            path: a file that every installer writes anew.
        """
        self._path = path
        self._first = self._last = self._stamp()
        self._last_s = 0.0

    def is_replaced(self, now_s: float) -> bool:
        """Whether another installation has been in this one's place, or none, for so long that it is complete.

        Args:
            now_s: monotonic time.
        """
        stamp = self._stamp()
        if stamp == self._first:
            return False
        if stamp != self._last:
            self._last, self._last_s = stamp, now_s
        return now_s - self._last_s >= _SETTLED_S

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            seen = os.stat(self._path)
        except OSError:
            return None
        return seen.st_ino, seen.st_mtime_ns, seen.st_size
