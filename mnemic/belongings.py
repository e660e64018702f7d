"""What in a home is Mnemic's, told by the names that it gives: nothing else is ever removed.

A home may be a folder that others keep something in, so no folder is Mnemic's as a whole. Above stands
`mnemic.leaving`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from mnemic.actors.errors import InvalidValue
from mnemic.hooks.wiring_record import BACKUP
from mnemic.runtime.hook_files import placed_hook_files

__all__ = ["check_home", "own_files", "own_folders"]

_HOME = {  # not hooks.json: leaving removes the one that it can read, and others' assistants have one too
    ".": re.compile(r"(mnemic|serve)\.log(\.[0-9])?|mnemic\.toml|http-token(\.new)?"),
    "backups": BACKUP,
    "run": re.compile(r"serve\.(lock|json|new|err)|start\.lock|hook-start|queued-[\w.-]+|(http|mcp)\.sock"),
}
_WHOLE = (
    r"key|lock|pauses|\.?mind\.json|mind\.json\.copy|\.?store(\.schema-\d+)?\.db(-wal|-shm|-journal)?|spool\.json"
    r"|\.(pauses|mind\.json|mind\.json\.copy|spool\.json)-\w+"
)
_MIND = {
    ".": re.compile(_WHOLE),
    "spool": re.compile(r"[0-9a-f]{32}(\.\d+)?\.spool|losses|\.losses-\w+|\.new-\w+"),
    "spool/aside": re.compile(r"[0-9a-f]{32}\.spool"),
    ".next": re.compile(_WHOLE),  # what was to take their place, and what is about to
    ".swap": re.compile(rf"{_WHOLE}|swap\.json"),
}
_CARD = "mind.json"


def check_home(home: Path) -> None:
    """Refuse a folder that holds nothing by which a home is known.

    Raises:
        InvalidValue: there is no mind in it, and nothing that an install has left.
    """
    if not (home / "hooks.json").is_file() and not any((mind / _CARD).is_file() for mind in _minds(home)):
        raise InvalidValue(
            name="--home",
            value=str(home),
            why="it holds no mind that Mnemic made, and nothing that an install left",
            expected="the home whose data is to go",
        )


def own_files(home: Path) -> list[Path]:
    """Mnemic's files, in an order to remove them: keys first, and the cards by which minds are known last."""
    found = [path for mind in _minds(home) for path in _named(mind, _MIND)]
    found += [*placed_hook_files(home), *_named(home, _HOME)]
    return sorted(found, key=lambda path: (path.name != "key", path.name == _CARD))


def own_folders(home: Path) -> list[Path]:
    """The folders that Mnemic makes, the innermost first and the home last; others may have put something in them."""
    minds = [mind / inside for mind in _minds(home) for inside in reversed(_MIND)]
    own = [*minds, home / "run" / "ray", *(home / name for name in ("minds", "backups", "bin", "run")), home]
    return [folder for folder in own if folder.is_dir() and not folder.is_symlink()]


def _minds(home: Path) -> list[Path]:
    """The folders of minds, and those of minds that were never finished."""
    folders = sorted((home / "minds").iterdir()) if (home / "minds").is_dir() else []
    return [path for path in folders if (path / _CARD).is_file() or (path.is_dir() and path.name.startswith(".new-"))]


def _named(folder: Path, names: Mapping[str, re.Pattern[str]]) -> Iterator[Path]:
    for inside, name in names.items():
        place = folder / inside
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            if name.fullmatch(path.name) and (path.is_symlink() or not path.is_dir()):
                yield path
