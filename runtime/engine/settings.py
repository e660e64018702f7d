"""The table of all settings, and reading mnemic.toml against it.

Documentation (`as_markdown`) and the hash that the log carries are made from the table.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mnemic.actors.kernel.contract import Actor, Setting
from mnemic.actors.kernel.errors import BadSettings, InvalidValue, RemovedSetting, SourceUnreadable
from mnemic.actors.kernel.scope_paths import MCP_RIGHTS
from mnemic.runtime.engine import idleness
from mnemic.runtime.engine.plugins import ASKED_SLOTS, BUILT_IN_ACTORS, SLOTS, load_actors
from mnemic.runtime.files.foreign import parse_toml
from mnemic.runtime.logs import LEVELS
from mnemic.runtime.models.models import check_instruction_set

_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_EXAMPLES = {
    "class": "module:Class",
    "function": "module:function",
    "path": "~/models/mine",
}
"""By unit, an example of what is empty by default."""
ENGINES = ("embedded", "ray")
"""The engines by name; the first is the default."""
_RUNTIME = (
    Setting(
        "runtime.engine",
        ENGINES[0],
        "-",
        "Where actors of every process of the home run: embedded, in its threads, or ray, under Ray (docs/serve.md).",
        choices=ENGINES,
    ),
    Setting("runtime.ask_timeout_s", 60.0, "seconds", "How long a face waits for one answer.", 0.1),
    Setting(
        "runtime.log_level",
        LEVELS[0],
        "-",
        "What serve.log holds: info is what failed or took a second, debug is each request and message besides.",
        choices=LEVELS,
    ),
    Setting("runtime.inbox_messages", 256, "messages", "How many messages may wait for one actor.", 1),
    Setting(
        "runtime.other_nodes",
        False,
        "-",
        "On a Ray of several machines, whether actors that are not pinned may run on others with the home's files.",
    ),
    Setting(
        "mcp.allow",
        (),
        "-",
        "What every assistant may do by MCP beyond its own project: read-all, write-all (docs/mcp.md).",
        choices=MCP_RIGHTS,
    ),
    Setting("mcp.share", (), "patterns", "Scopes whose memories every assistant may read by MCP (docs/mcp.md)."),
    *idleness.SETTINGS,
    Setting("embedder.gpus", 0.1, "GPUs", "So much of a GPU is asked of Ray, where it has one and torch embeds.", 0.0),
)
_ACTORS = tuple(
    Setting(f"actors.{slot}", "", "class", f"Who is the {slot}: module:Class or an entry point; empty is the built-in.")
    for slot in SLOTS
)
_REMOVED = {
    "capture.secret_rules": {
        "why": "files of rules for secrets are no longer read, and the built-in rules may miss what yours found",
        "then": "what hooks keep waits in the spool until then (docs/privacy.md)",
    }
}
"""Settings of earlier versions: why each is refused, and what its owner should know besides."""
STAGES = "sleep.stages"
"""The setting that names what nights do."""


@cache
def settings_table(slots: tuple[str, ...] = SLOTS) -> tuple[Setting, ...]:
    """All settings of Mnemic's own, by name; of actors those that fill some slots.

    An actor that `[actors]` names brings its own besides.
    """
    own = (setting for slot in slots for setting in BUILT_IN_ACTORS[slot].settings)
    return tuple(sorted((*_RUNTIME, *_ACTORS, *own), key=lambda setting: setting.name))


class Settings:
    """The settings in force."""

    def __init__(self, values: Mapping[str, Any] | None = None, slots: tuple[str, ...] = SLOTS) -> None:
        """Take values that are in the table of some slots.

        Raises:
            ActorRefused: an actor that is named cannot be used.
        """
        given = dict(values or {})
        self.actors: dict[str, type[Actor]] = _actors(given, slots)
        """Who fills each slot, in the order in which they start."""
        table = _table(self.actors, given.get(STAGES, ""), slots)
        self._values = {name: setting.default for name, setting in table.items()} | given

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def values(self) -> dict[str, Any]:
        """All of them, by full name."""
        return dict(self._values)

    def hash(self) -> str:
        """A name for these values, 16 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self._values, sort_keys=True).encode()).hexdigest()[:16]


def load_settings(path: Path) -> Settings:
    """Read ``mnemic.toml``; where there is none, everything has its default.

    Raises:
        InvalidValue: the environment names an instruction set that cannot be used.
        SourceUnreadable, BadSettings: the home or the file cannot be read, or it is no TOML.
        InvalidValue: it holds an unknown name, or a value of another type or size.
        RemovedSetting: it holds a setting of an earlier version.
        ActorRefused: an actor that it names cannot be used.
    """
    check_instruction_set()
    return check_settings(_read(path), path)


def load_asked_settings(path: Path) -> Settings:
    """The same with the actors alone that are asked, where the file holds nothing that is others', nor names any.

    Raises: as `load_settings`.
    """
    check_instruction_set()
    given = _read(path)
    known = {setting.name: setting for setting in settings_table(ASKED_SLOTS) if setting not in _ACTORS}
    if not given.keys() <= known.keys():
        return check_settings(given, path)
    return Settings({name: _checked(known[name], value, path) for name, value in given.items()}, ASKED_SLOTS)


def check_settings(given: Mapping[str, Any], where: Path) -> Settings:
    """Settings by their full names, as they were given; everything else has its default.

    Args:
        where: what errors name.

    Raises:
        InvalidValue, ActorRefused: as `load_settings`.
    """
    known, values = _known(given, where), {}
    for name, value in given.items():
        if name in _REMOVED:
            if not value:  # as it was where nobody had set it
                continue
            raise RemovedSetting(name=name, path=str(where), **_REMOVED[name])
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            expected = f"{near[0] if near else 'a name'}, as docs/settings.md has it"
            raise InvalidValue(
                name=f"{name} in {where}", value=value, why="there is no such setting", expected=expected
            )
        values[name] = _checked(known[name], value, where)
    return Settings(values)


def with_settings_path(error: InvalidValue, path: Path) -> InvalidValue:
    """The same error of a setting that only its actor could see, with the file that holds it; another one as it is."""
    name = error.operands.get("name")
    if type(error) is not InvalidValue or name not in {setting.name for setting in settings_table()}:
        return error
    return InvalidValue(**(error.operands | {"name": f"{name} in {path}"}))


def unknown_settings(path: Path) -> list[str]:
    """The names in a file that no setting has or had, in the order in which they stand there.

    Raises:
        BadSettings, InvalidValue, ActorRefused: as `load_settings`.
    """
    given = _read(path)
    known = _known(given, path)
    return [name for name in given if name not in known and name not in _REMOVED]


def as_markdown() -> str:
    """The table as documentation."""
    rows = [f"| `{s.name}` | `{_toml_default(s.default)}` | {s.unit} | {s.help} |" for s in settings_table()]
    return "\n".join(["| setting | default | unit | what it does |", "|---|---|---|---|", *rows]) + "\n"


def _toml_default(default: Any) -> str:
    """A default as TOML has it, where that differs from Python."""
    return repr(list(default) if isinstance(default, tuple) else default)


def _read(path: Path) -> dict[str, Any]:
    """What a file gives, unchecked."""
    try:
        document = parse_toml(path.read_bytes())
    except FileNotFoundError:
        document = {}
    except OSError as error:
        try:
            path.stat()
        except OSError as whole:  # the file may be there or not: nobody gets as far
            seen = error if isinstance(whole, FileNotFoundError) else whole
            raise SourceUnreadable(path=str(path.parent), why=seen.strerror or type(seen).__name__) from error
        raise BadSettings(path=str(path), why=error.strerror or type(error).__name__) from error
    except ValueError as error:
        raise BadSettings(path=str(path), why=str(error)) from error
    return dict(_flatten(document))


def _known(given: Mapping[str, Any], path: Path) -> dict[str, Setting]:
    """What settings there are, those of the actors and stages that are named included."""
    own = {setting.name: setting for setting in settings_table() if setting in _ACTORS or setting.name == STAGES}
    named = {name: _checked(own[name], value, path) for name, value in given.items() if name in own}
    known = _table(_actors(named), named.get(STAGES, ""))  # who is named brings settings of its own
    from mnemic.actors.sleep.registry import MORE_SETTINGS  # here: as in `_table`

    return {one.name: one for one in MORE_SETTINGS if one.name in given} | known


def _actors(values: Mapping[str, Any], slots: tuple[str, ...] = SLOTS) -> dict[str, type[Actor]]:
    return load_actors({slot: values.get(f"actors.{slot}", "") for slot in slots}, settings_table(slots))


def _table(actors: Mapping[str, type[Actor]], stages: str, slots: tuple[str, ...] = SLOTS) -> dict[str, Setting]:
    brought = [one for kind in actors.values() for one in kind.settings]
    found = {setting.name: setting for setting in (*settings_table(slots), *brought)}
    if "consolidator" in slots:
        from mnemic.actors.sleep.registry import settings_of_stages  # here: who is asked has no stages, and no need

        for one in settings_of_stages(stages.split()):
            found.setdefault(one.name, one)
    return found


def _flatten(document: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _checked(setting: Setting, value: Any, path: Path) -> Any:
    kind = type(setting.default)
    if kind is tuple:
        return _checked_list(setting, value, path)
    expected = f"a value such as {setting.default or _EXAMPLES.get(setting.unit, setting.default)!r}"
    if setting.choices:
        expected = f"one of {', '.join(map(repr, setting.choices))}"
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        why = f"it is not {_KINDS[kind]}"
    elif setting.minimum is not None and not value >= setting.minimum:  # nan is not
        why = f"it is not {setting.minimum:g} or more"
    elif setting.maximum is not None and value > setting.maximum:
        why, expected = f"it is more than {setting.maximum:,.12g}", f"{setting.maximum:.12g} at most, {expected}"
    elif setting.multiple > 1 and value % setting.multiple:
        why = f"it is no multiple of {setting.multiple}"
    elif setting.choices and value not in setting.choices:
        why = "there is no such one"
    else:
        return value
    raise InvalidValue(name=f"{setting.name} in {path}", value=value, why=why, expected=expected)


def _checked_list(setting: Setting, value: Any, path: Path) -> tuple[str, ...]:
    """A list of texts, each of them one that the setting takes."""
    such = [value] if isinstance(value, str) and value.strip() and not setting.choices else setting.choices
    expected = f"a list such as {list(such or setting.default) or ['work/*', '~/notes']!r}"
    if not isinstance(value, list):
        why = "it is no list"
    elif not all(isinstance(one, str) and one.strip() for one in value):
        why = "it does not hold texts alone"
    elif setting.choices and (unknown := [one for one in value if one not in setting.choices]):
        why, expected = f"there is no {unknown[0]!r}", f"a list of {' and '.join(map(repr, setting.choices))}"
    else:
        return tuple(dict.fromkeys(value))
    raise InvalidValue(name=f"{setting.name} in {path}", value=value, why=why, expected=expected)
