"""Which version the files name, and whether they name the same one."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version(root: Path = ROOT) -> str:
    """The version that pyproject.toml names."""
    return str(tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"])


def named_versions(root: Path = ROOT) -> dict[str, str]:
    """What each file names as the version: empty where it names none."""
    cargo = tomllib.loads((root / "native" / "Cargo.toml").read_text("utf-8"))
    runtime = re.search(r'^__version__ = "([^"]+)"', (root / "runtime" / "version.py").read_text("utf-8"), re.M)
    return {
        "pyproject.toml": version(root),
        "native/Cargo.toml": str(cargo["workspace"]["package"]["version"]),
        "runtime/version.py": runtime[1] if runtime else "",
    }


def first_section(root: Path = ROOT) -> str:
    """The first heading of the changelog, without its number signs."""
    heading = re.search(r"^## (.+)$", (root / "CHANGELOG.md").read_text("utf-8"), re.M)
    return heading[1] if heading else ""
