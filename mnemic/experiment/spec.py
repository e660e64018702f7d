"""Reads what an experiment is: one life, arms, questions, measures and seeds, as TOML; refuses what cannot be.

A refusal names the key and what would do, and comes before anything runs.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel.errors import BadSettings, InvalidValue, SourceUnreadable
from mnemic.actors.kernel.typed import convert

VERSION = 1
"""Of specs; a newer one is refused."""
LIFE_KINDS = ("generated", "locomo", "transcripts", "log")
"""The lives there are; ``package:object`` names another one."""
DEFAULT_MEASURES = ("mrr", "hit@1", "hit@10")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_AT = re.compile(r"^(.*) - at `\$(.*)`$", re.DOTALL)


class LifeSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is lived through."""

    kind: str
    """One of `LIFE_KINDS`, or ``package:object``: `mnemic.experiment.lives` says what that is."""
    path: str = ""
    """Of ``locomo`` the file, of ``transcripts`` the folder; from the spec's own folder on."""
    mind: str = "default"
    """Of ``log`` the mind, in the home that the command is given."""
    size: int = 1
    """Of ``generated``, how many lives there are, each in a scope of its own."""
    first_night: float = 0.0
    """What share of the life, 0 to 1, comes before the first night, and is the same in all arms."""
    options: dict[str, Any] = {}
    """What a life of somebody's own is given besides."""


class NightsSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When nights are had: at the end of each day on which something is said, and after the life."""

    after: int = 0
    """So many more, a day apart, after the life's last."""


class ProbesSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked, and when."""

    source: str = "life"
    """``life``, where that comes with questions, a file of JSON Lines, or ``package:object``."""
    kinds: tuple[str, ...] = ()
    """Which kinds of questions; all where empty."""
    every: int = 1
    """Each so many-th alone."""
    at: tuple[int, ...] = ()
    """After so many nights, each; before the first is 0. Empty is before the first and after the last."""
    used: float = 0.0
    """What share of the questions, drawn by the seed, an assistant asks in the course of the nights, opening what
    answers; these are not measured."""
    depth: int = 50
    """How many hits are asked for."""


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to be."""

    name: str
    """What it is called."""
    settings: dict[str, Any] = {}
    """As in ``mnemic.toml``, by full name: ``"sleep.stages" = ""``, ``"actors.consolidator" = "package:Class"``."""
    nights: bool = True
    """Whether it has nights."""


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One experiment."""

    version: int
    """`VERSION`."""
    name: str
    """What it is called; its runs lie in a folder of that name."""
    life: LifeSpec
    """What is lived through."""
    arms: tuple[Arm, ...]
    """Two at least."""
    base: str = ""
    """The arm that the others are compared with; the first where empty."""
    about: str = ""
    """What is asked, in a sentence or two; told in the report."""
    seeds: tuple[int, ...] = (1,)
    """Each arm lives once for each."""
    nights: NightsSpec = NightsSpec()
    """When nights are had."""
    probes: ProbesSpec = ProbesSpec()
    """What is asked."""
    measures: tuple[str, ...] = DEFAULT_MEASURES
    """By name (`mnemic.experiment.measures`), or ``package:object``."""

    @property
    def base_arm(self) -> str:
        """The arm that the others are compared with."""
        return self.base or self.arms[0].name


class SpecFile(msgspec.Struct, frozen=True):
    """A spec, and where each part of it stands, for what is found wrong later."""

    spec: Spec
    """What it says."""
    path: Path
    """The file."""
    text: str
    """As it stands there."""

    def wrong(self, where: str, value: Any, why: str, expected: str) -> InvalidValue:
        """An error of one value, which names its key.

        Args:
            where: such as ``arms[1].settings.recall.k``.
        """
        return _wrong(self.path, where, value, why, expected)


def load_spec(path: Path) -> SpecFile:
    """Read a spec.

    Raises:
        SourceUnreadable: there is no such file.
        BadSettings: it is no TOML.
        InvalidValue: a value cannot be; its key is named.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise SourceUnreadable(path=str(path), why=why) from error
    return parse_spec(text, path)


def parse_spec(text: str, path: Path) -> SpecFile:
    """Read a spec from its text; `path` is what errors name, and where paths in it start from. Raises as `load_spec`,
    but for the file.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSettings(path=str(path), why=str(error)) from error
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        why = "it is missing" if version is None else "it is no version of specs that this Mnemic knows"
        raise _wrong(path, "version", version, why, f"version = {VERSION}")
    _flatten_settings(document)
    try:
        spec = convert(document, Spec)
    except msgspec.ValidationError as error:
        found = _AT.match(str(error))
        why, where = (found[1], found[2].lstrip(".")) if found else (str(error), "")
        missing = re.search(r"missing required field `(\w+)`", why)
        unknown = re.search(r"unknown field `(\w+)`", why)
        known = _fields_at(where)
        where = ".".join(one for one in (where, (missing or unknown or [None, ""])[1]) if one)
        expected = "what docs/experiments.md has there"
        if missing:
            raise _wrong(path, where, "", "it is missing", expected) from error
        if unknown:
            near = difflib.get_close_matches(unknown[1], known, n=1)
            expected = f"{near[0] if near else 'one of ' + ', '.join(known)}"
            raise _wrong(path, where, _value_at(document, where), "there is no such key", expected) from error
        raise _wrong(path, where or "the spec", _value_at(document, where), why, expected) from error
    file = SpecFile(spec, path, text)
    _check(file)
    return file


def _check(file: SpecFile) -> None:
    spec = file.spec
    if not _NAME.fullmatch(spec.name):
        raise file.wrong("name", spec.name, "it names a folder", "letters, digits, spaces and -._")
    if ":" not in spec.life.kind and spec.life.kind not in LIFE_KINDS:
        known = f"one of {', '.join(LIFE_KINDS)}, or package:object"
        raise file.wrong("life.kind", spec.life.kind, "there is no such life", known)
    if spec.life.kind in ("locomo", "transcripts") and not spec.life.path:
        raise file.wrong("life.path", "", f"a life of the kind {spec.life.kind} is read from there", "a path")
    names = [arm.name for arm in spec.arms]
    if len(names) < 2:
        raise file.wrong("arms", len(names), "one alone compares with nothing", "two [[arms]] or more")
    for number, name in enumerate(names):
        if not _NAME.fullmatch(name):
            raise file.wrong(f"arms[{number}].name", name, "it is no name", "letters, digits, spaces and -._")
        if name in names[:number]:
            raise file.wrong(f"arms[{number}].name", name, "another arm is called so", "a name of its own")
    if spec.base_arm not in names:
        raise file.wrong("base", spec.base, "no arm is called so", f"one of {', '.join(names)}")
    if (
        not spec.seeds
        or len(set(spec.seeds)) < len(spec.seeds)
        or not 0 <= min(spec.seeds) <= max(spec.seeds) < 1 << 32
    ):
        raise file.wrong(
            "seeds", list(spec.seeds), "they are no different numbers from 0 to 4294967295", "such as [1, 2, 3]"
        )
    if len(set(spec.measures)) < len(spec.measures):
        raise file.wrong("measures", list(spec.measures), "one is there twice", "each once")
    if not spec.measures:
        raise file.wrong("measures", [], "nothing would be measured", f"such as {list(DEFAULT_MEASURES)}")
    for where, value, least, most in (
        ("life.first_night", spec.life.first_night, 0, 1),
        ("life.size", spec.life.size, 1, 1000),
        ("nights.after", spec.nights.after, 0, 10_000),
        ("probes.used", spec.probes.used, 0, 0.9),
        ("probes.every", spec.probes.every, 1, 10_000),
        ("probes.depth", spec.probes.depth, 1, 1000),
        *(("probes.at", one, 0, 100_000) for one in spec.probes.at),
    ):
        if not least <= value <= most:
            raise file.wrong(where, value, "it is out of bounds", f"{least} to {most}")


def _flatten_settings(document: Mapping[str, Any]) -> None:
    """Have settings of arms by their full names, however they are written."""
    arms = document.get("arms")
    for arm in arms if isinstance(arms, list) else ():
        if isinstance(arm, dict) and isinstance(arm.get("settings"), dict):
            arm["settings"] = dict(_full_names(arm["settings"], ""))


def _full_names(given: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    return [
        pair
        for name, value in given.items()
        for pair in (
            _full_names(value, f"{prefix}{name}.") if isinstance(value, dict) else [(f"{prefix}{name}", value)]
        )
    ]


def _wrong(path: Path, where: str, value: Any, why: str, expected: str) -> InvalidValue:
    return InvalidValue(name=f"{where} in {path}", value=value, why=why, expected=expected)


def _fields_at(where: str) -> tuple[str, ...]:
    kinds: dict[str, type[msgspec.Struct]] = {"": Spec, "life": LifeSpec, "nights": NightsSpec, "probes": ProbesSpec}
    return kinds.get(where, Arm).__struct_fields__


def _value_at(document: Any, where: str) -> Any:
    found: Any = document
    for part in re.findall(r"\w+", where):
        try:
            found = found[int(part)] if isinstance(found, list) else found[part]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return found if isinstance(found, str | int | float | bool) else type(found).__name__
