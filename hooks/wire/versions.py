"""Asks an assistant's program for its version, and says where no test has run that one.

Below stands `mnemic.hooks.wire.hosts`, which names the versions that the tests run.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec

from mnemic.hooks.hosts.opencode_database import UNTRIED
from mnemic.hooks.wire.host import Host
from mnemic.hooks.wire.hosts import absence_reason
from mnemic.runtime.files.programs import find_program

_ANSWERS_S = 5.0
_VERSION = re.compile(r"(?<![\w.])v?(\d{1,6}\.\d{1,6}(?:\.[\w.+-]{1,40})?)")
_OPENCODE_1 = re.compile(r"1\.|0\.(?!0\.0-)")
"""Betas of OpenCode 2 were called ``0.0.0-beta-19381``."""


class HostVersion(msgspec.Struct, frozen=True):
    """What a program said of its version."""

    version: str | None = None
    """The version; ``None`` where it is not known."""
    why: str = ""
    """Why it is not."""


def ask_version(host: Host, environment: Mapping[str, str]) -> HostVersion:
    """Ask a host's program for its version; whatever comes of that is no error."""
    program = find_program(host.program, environment)
    if program is None:
        return HostVersion(why=f"there is no {host.program} in $PATH")
    asked = f"`{host.program} --version`"
    try:
        ended = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environment),
            cwd="/",
            timeout=_ANSWERS_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return HostVersion(why=f"{asked} did not end within {_ANSWERS_S:g} s")
    except OSError as error:
        return HostVersion(why=f"{asked} could not be run ({error.strerror or type(error).__name__})")
    if ended.returncode:
        return HostVersion(why=f"{asked} ended with {ended.returncode}")
    found = _VERSION.search(ended.stdout.decode("utf-8", "replace"))
    return HostVersion(version=found[1]) if found else HostVersion(why=f"{asked} printed none")


def ask_versions(hosts: Iterable[Host], environment: Mapping[str, str]) -> dict[str, HostVersion]:
    """Ask those that are here and that a test runs, all at once."""
    here = [host for host in hosts if host.tested and not absence_reason(host, environment)]
    with ThreadPoolExecutor(max_workers=max(1, len(here))) as threads:
        answers = threads.map(lambda host: ask_version(host, environment), here)
        return {host.name: answer for host, answer in zip(here, answers, strict=True)}


def version_notes(host: Host, asked: HostVersion) -> list[str]:
    """What there is to say of a host's version; nothing where it is the one that the tests run."""
    if asked.version == host.tested:
        return []
    told = f"its version is {asked.version}, which no test has run: they run {host.tested}"
    unknown = f"its version is not known: {asked.why} (the tests run {host.tested})"
    return [told if asked.version else unknown, *filter(None, [untried_note(host, asked)])]


def untried_note(host: Host, asked: HostVersion) -> str:
    """What of a host is only written after its source, where this version of it may be meant; else nothing."""
    is_first = _OPENCODE_1.match(asked.version or "")
    return "" if host.name != "opencode" or is_first else UNTRIED
