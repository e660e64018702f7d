"""Looking at what is in a host's configuration, where a fault in it is somebody else's to tell."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mnemic.hooks.json_edits import JsonText
from mnemic.hooks.json_tree import Broken

__all__ = ["folder_of", "json_in", "toml_in", "transcripts_below"]


def folder_of(environment: Mapping[str, str], variable: str, below_home: str) -> Path:
    """A host's folder: the one that its variable names, else the one below the user's own."""
    named = environment.get(variable)
    return Path(named).absolute() if named else Path(environment["HOME"]) / below_home


def json_in(path: Path, format: str) -> dict[str, Any]:
    """The object in a file; an empty one where there is none that can be read."""
    try:
        text = path.read_text("utf-8")
        read = JsonText(text, comments=format != "json", trailing_commas=format == "json5-commas").root.plain()
    except (OSError, UnicodeDecodeError, Broken):
        return {}
    assert isinstance(read, dict)
    return read


def toml_in(path: Path) -> dict[str, Any]:
    """The pairs in a file; none where it cannot be read."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}


def transcripts_below(folder: Path, pattern: str, format: str) -> list[tuple[str, str]]:
    """The files of a pattern below a folder, and the format they are read by."""
    return [(str(path), format) for path in sorted(folder.glob(pattern)) if path.is_file()]
