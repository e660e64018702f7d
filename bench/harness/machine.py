"""Which code was measured, and on what."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

_ASKED = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"


def commit() -> str:
    """The commit of this checkout, with ``-dirty`` where it was changed since; ``unknown`` outside one."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def machine() -> str:
    """Processor, cores and memory, in words."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text("utf-8").splitlines() if told.exists() else []
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
    memory_gib = round(psutil.virtual_memory().total / 2**30)
    return f"{os.cpu_count()} cores of {model}, {memory_gib} GiB, {platform.system()}"


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Those of the packages that are installed here."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def version_there(python: Path, package: str) -> str:
    """That of a package in the environment of another interpreter.

    Raises:
        ValueError: the interpreter cannot be started, or the package is not installed there.
    """
    try:
        done = subprocess.run([python, "-I", "-c", _ASKED, package], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ValueError(f"{python} cannot be started: {error.strerror}") from error
    if done.returncode:
        raise ValueError(f"{package} is not installed for {python}: pip install {package} there")
    return done.stdout.strip()
