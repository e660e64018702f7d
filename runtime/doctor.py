"""The doctor: has everything about a home and one of its minds looked at, and mends what can be mended safely.

Below stand the modules that look; above, the command that prints what they saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from mnemic.actors.contract import Clock
from mnemic.actors.errors import MnemicError
from mnemic.runtime import (
    examine_capture,
    examine_home,
    examine_machine,
    examine_mind,
    examine_process,
    examine_shape,
    examine_society,
)
from mnemic.runtime.checks import Check, guarded
from mnemic.runtime.examine_machine import LoadEncoder
from mnemic.runtime.keys import Keys
from mnemic.runtime.settings import load_settings

__all__ = ["Check", "Mended", "examine", "repair"]


class Mended(msgspec.Struct, frozen=True):
    """One repair."""

    name: str
    """Of the check that asked for it."""
    done: bool
    """Whether it was carried out."""
    told: str
    """What was done, or why not."""


def examine(
    home: Path,
    mind: str,
    clock: Clock,
    load_encoder: LoadEncoder,
    looks: Mapping[str, Callable[[], Iterable[Check]]] = MappingProxyType({}),
    keys: Keys | None = None,
) -> list[Check]:
    """Look at everything; no check hides another. Nothing is changed, started or kept waiting.

    Args:
        keys: of a mind that is locked, where somebody said its passphrase.
        looks: what stands above looks at besides, by name, such as how the assistants are wired.
    """
    checks: list[Check] = []

    def look(name: str, looks: Callable[..., Iterable[Check]], *given: Any, **more: Any) -> bool:
        found = list(guarded(name, lambda: looks(*given, **more)))
        checks.extend(found)
        return all(check.state == "ok" for check in found)

    look("key", examine_mind.key, home, mind, keys)
    look("settings", examine_home.settings, home)
    look("permissions", examine_home.permissions, home)
    look("leftovers", examine_home.leftovers, home, clock)
    unlocked = examine_mind.unlocked(home, mind, keys)
    look("store", examine_mind.store, home, mind, keys)
    readable = unlocked is not None and any((check.name, check.state) == ("store", "ok") for check in checks)
    look("pause", examine_capture.pause, home, mind, clock)
    look("clock", examine_mind.clock, home, mind, clock, readable=readable, keys=keys)
    if unlocked is not None:
        look("wal", examine_mind.log_size, home, mind)
    able = look("model", examine_machine.model, home, load_encoder)
    look("native", examine_machine.native)
    look("device", examine_machine.device)
    look("disk", examine_home.disk, home)
    look("engine", examine_process.engine, home)
    look("process", examine_process.process, home, clock)
    answering = all(check.state != "wrong" for check in checks if check.name == "process")
    served = examine_society.serving(home, mind) if answering and readable else None
    if served is not None:
        look("actors", examine_society.society, served)
    if unlocked is not None and readable:
        folder, keys = unlocked
        waiting = lambda: examine_mind.waiting(folder, keys)  # noqa: E731 - a name for what is asked again and again
        look("meaning", examine_society.meaning, waiting, served is not None, able)
        look("shape", lambda: examine_shape.shape(folder, keys, able, load_settings(home / "mnemic.toml")))
        look("capture", examine_capture.capture, folder, keys, clock, serving=served is not None)
    for name, one in looks.items():
        look(name, one)
    return checks


def repair(
    home: Path,
    mind: str,
    clock: Clock,
    checks: Iterable[Check],
    rebuild: Callable[[], object],
    read_again: Callable[[], str],
    bind_again: Callable[[], str],
    keys: Keys | None = None,
) -> list[Mended]:
    """Mend what can be mended without losing anything; one repair that fails keeps no other from being tried.

    Args:
        checks: what was seen.
        rebuild: makes the word index again from the log, by way of the home's process where one serves.
        read_again: tries again what could not be understood, in the same way; says what came of it.
        bind_again: binds again that of which something could not be bound, and says what came of it.
        keys: of a mind that is locked, where somebody said its passphrase.
    """

    def words() -> str:
        rebuild()
        return "made the word index again from the log"

    def asked(verb: str) -> str:
        served = examine_society.serving(home, mind)
        return str(getattr(served, verb)()) if served is not None else "the process went meanwhile, and they with it"

    repairs: dict[str, Callable[[], str]] = {
        "permissions": lambda: examine_home.take_rights(home),
        "mind": lambda: examine_mind.remake_card(home, mind),
        "leftovers": lambda: examine_home.remove_drafts(home, clock),
        "engine": lambda: examine_process.end_ray(home),
        "process": lambda: examine_process.clear(home),
        "words": words,
        "records": read_again,
        "transcripts": read_again,
        "shape": bind_again,
        "wal": lambda: examine_mind.checkpoint(home, mind, keys),
        "actors": lambda: asked("release"),
        "letters": lambda: asked("replay"),
    }
    broken = {check.name for check in checks if check.repairable}
    return [_mended(name, mend) for name, mend in repairs.items() if name in broken]


def _mended(name: str, mend: Callable[[], str]) -> Mended:
    try:
        return Mended(name, True, mend())
    except MnemicError as error:
        return Mended(name, False, str(error))
    except OSError as error:
        return Mended(name, False, f"{error.filename or 'it'}: {error.strerror or type(error).__name__}")
