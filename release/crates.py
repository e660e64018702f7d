"""The crates that are linked into the native code and the hook, from `cargo metadata`: for licences and the SBOM."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHIPPED = {"mnemic-hook", "mnemic-python"}
"""The crates of Mnemic that become a file of the wheel."""
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin")
"""What is linked differs by processor and system; what any of these has is named."""


@dataclass(frozen=True, slots=True, order=True)
class Crate:
    """A crate that is linked in."""

    name: str
    version: str
    licence: str
    """An SPDX expression."""
    folder: Path
    """Where its sources lie, its licences among them."""
    needs: tuple[str, ...]
    """The crates it links itself, each as ``name version``."""

    @property
    def licence_files(self) -> list[Path]:
        """The texts of its licences, by their names."""
        names = ("LICEN", "COPYING", "UNLICEN", "NOTICE")
        return sorted(path for path in self.folder.iterdir() if path.name.upper().startswith(names))


def linked_crates(*, offline: bool = False) -> list[Crate]:
    """All crates that become a part of what the wheel ships, Mnemic's own excepted, by name.

    What only builds or tests (build scripts, macros, dev-dependencies) is not linked.

    Args:
        offline: fetch nothing: what was not fetched for a build before is an error.

    Raises:
        subprocess.CalledProcessError: cargo could not tell, and has said why.
    """
    asked = ["cargo", "metadata", "--locked", "--format-version", "1"]
    asked += [word for target in TARGETS for word in ("--filter-platform", target)]
    asked += ["--offline"] if offline else []
    told = json.loads(subprocess.run(asked, cwd=ROOT / "native", check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in told["packages"]}
    needs = {node["id"]: list(_linked(node, packages)) for node in told["resolve"]["nodes"]}
    todo = [package for package in packages if packages[package]["name"] in SHIPPED]
    found: set[str] = set()
    while todo:
        package = todo.pop()
        if package not in found:
            found.add(package)
            todo += needs[package]
    return sorted(_crate(packages, one, needs[one]) for one in found if packages[one]["source"] is not None)


def _linked(node: Any, packages: dict[str, Any]) -> Iterator[str]:
    for needed in node["deps"]:
        macro = any("proc-macro" in target["kind"] for target in packages[needed["pkg"]]["targets"])
        if not macro and any(kind["kind"] is None for kind in needed["dep_kinds"]):
            yield needed["pkg"]


def _crate(packages: dict[str, Any], one: str, needs: list[str]) -> Crate:
    told = packages[one]
    named = tuple(sorted(f"{packages[needed]['name']} {packages[needed]['version']}" for needed in needs))
    licence = told["license"].replace("/", " OR ")  # as crates wrote it before SPDX
    return Crate(told["name"], told["version"], licence, Path(told["manifest_path"]).parent, named)
