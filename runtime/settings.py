"""Settings: one table of names, types, defaults and units; ``mnemic.toml`` in the home sets them.

Documentation (`as_markdown`) and the hash that the log carries are made from the table.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mnemic.actors.capture import CaptureActor
from mnemic.actors.contract import Setting
from mnemic.actors.embedder import EmbedderActor
from mnemic.actors.errors import BadSettings, InvalidValue
from mnemic.actors.retriever import RetrieverActor
from mnemic.actors.store import StoreActor

__all__ = ["TABLE", "Settings", "as_markdown", "load_settings"]

_RUNTIME = (
    Setting("runtime.ask_timeout_s", 60.0, "seconds", "How long a face waits for one answer.", 0.1),
    Setting("runtime.inbox_messages", 256, "messages", "How many messages may wait for one actor.", 1),
)
TABLE: tuple[Setting, ...] = tuple(
    sorted(
        (*_RUNTIME, *StoreActor.settings, *CaptureActor.settings, *EmbedderActor.settings, *RetrieverActor.settings),
        key=lambda setting: setting.name,
    )
)
"""All settings, by name."""


class Settings:
    """The settings in force."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = {setting.name: setting.default for setting in TABLE} | dict(values or {})

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def model_folder(self) -> Path | None:
        """The folder of the user's own model; ``None`` means the default one."""
        named = self._values["embedder.model"]
        return Path(named).expanduser() if named else None

    def hash(self) -> str:
        """A name for these values, 16 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self._values, sort_keys=True).encode()).hexdigest()[:16]


def load_settings(path: Path) -> Settings:
    """Read ``mnemic.toml``; where there is none, everything has its default.

    Raises:
        BadSettings: the file cannot be read, or is no TOML.
        InvalidValue: it holds an unknown name, or a value of another type or size.
    """
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise BadSettings(path=str(path), why=error.strerror or type(error).__name__) from error
    except ValueError as error:
        raise BadSettings(path=str(path), why=f"it is no TOML: {error}") from error
    known = {setting.name: setting for setting in TABLE}
    values = {}
    for name, value in _flatten(document):
        if name not in known:
            raise InvalidValue(
                name=f"{name} in {path}", value=value, why="there is no such setting", expected=", ".join(known)
            )
        values[name] = _checked(known[name], value, path)
    return Settings(values)


def as_markdown() -> str:
    """The table as documentation."""
    rows = [f"| `{s.name}` | `{s.default!r}` | {s.unit} | {s.help} |" for s in TABLE]
    return "\n".join(["| setting | default | unit | what it does |", "|---|---|---|---|", *rows]) + "\n"


def _flatten(document: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _checked(setting: Setting, value: Any, path: Path) -> Any:
    kind = type(setting.default)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        why = f"it is no {kind.__name__}"
    elif setting.minimum is not None and not value >= setting.minimum:  # nan is not
        why = f"it is not {setting.minimum:g} or more"
    else:
        return value
    raise InvalidValue(
        name=f"{setting.name} in {path}", value=value, why=why, expected=f"a value such as {setting.default!r}"
    )
