"""Where the home folder is: MNEMIC_HOME or the platform's data folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import platformdirs

from mnemic.actors.protocol.errors import InvalidValue

__all__ = ["default_home", "expand_home"]


def default_home(environment: Mapping[str, str]) -> Path:
    """``MNEMIC_HOME``, else the platform's folder for a user's data."""
    named = environment.get("MNEMIC_HOME")
    return Path(named) if named else Path(platformdirs.user_data_dir("mnemic", appauthor=False))


def expand_home(home: Path) -> Path:
    """A home with its ``~`` resolved.

    Raises:
        InvalidValue: it names a user that is not there.
    """
    try:
        folder = home.expanduser()
        if folder.exists() and not folder.is_dir():
            raise InvalidValue(name="the home", value=str(home), why="it is a file", expected="the path of a folder")
        return folder
    except RuntimeError:
        raise InvalidValue(
            name="the home", value=str(home), why="there is no such user", expected="the path of a folder"
        ) from None
