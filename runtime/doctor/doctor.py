"""`mnemic doctor`: runs every check of a home and one of its minds, and the repairs that lose nothing.

Below stand the modules that look; above, the command that prints what they saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import MnemicError
from mnemic.runtime.doctor import actors as actors_checks
from mnemic.runtime.doctor import capture as capture_checks
from mnemic.runtime.doctor import home as home_checks
from mnemic.runtime.doctor import mind as mind_checks
from mnemic.runtime.doctor import process as process_checks
from mnemic.runtime.doctor.checks import Check, run_check
from mnemic.runtime.doctor.home import LoadEncoder
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.keys.keys import Keys

__all__ = ["Check", "RepairResult", "examine", "repair"]


class RepairResult(msgspec.Struct, frozen=True):
    """One repair."""

    name: str
    """Of the check that asked for it."""
    succeeded: bool
    """Whether it was carried out."""
    detail: str
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
        found = list(run_check(name, lambda: looks(*given, **more)))
        checks.extend(found)
        return all(check.state == "ok" for check in found)

    look("key", mind_checks.check_key, home, mind, keys)
    look("settings", home_checks.check_settings, home)
    look("permissions", home_checks.check_permissions, home)
    look("leftovers", home_checks.check_leftovers, home, clock)
    unlocked = mind_checks.open_if_possible(home, mind, keys)
    look("store", mind_checks.check_store, home, mind, keys)
    readable = unlocked is not None and any((check.name, check.state) == ("store", "ok") for check in checks)
    look("pause", capture_checks.check_pause, home, mind, clock)
    look("clock", mind_checks.check_clock, home, mind, clock, readable=readable, keys=keys)
    if unlocked is not None:
        look("wal", mind_checks.check_wal, home, mind)
    able = look("model", home_checks.check_model, home, load_encoder)
    look("native", home_checks.check_native)
    look("device", home_checks.check_device)
    look("disk", home_checks.check_disk, home)
    look("engine", process_checks.check_engine, home)
    look("process", process_checks.check_process, home, clock)
    answering = all(check.state != "wrong" for check in checks if check.name == "process")
    served = actors_checks.find_served_mind(home, mind) if answering and readable else None
    if served is not None:
        look("actors", actors_checks.check_actors, served)
    if unlocked is not None and readable:
        folder, keys = unlocked
        waiting = lambda: mind_checks.unembedded_count(folder, keys)  # noqa: E731 - a name for what is asked again and again
        look("meaning", actors_checks.check_embeddings, waiting, served is not None, able)
        look("shape", lambda: mind_checks.check_codes(folder, keys, able, load_settings(home / "mnemic.toml")))
        look("capture", capture_checks.check_capture, folder, keys, clock, serving=served is not None)
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
) -> list[RepairResult]:
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
        served = actors_checks.find_served_mind(home, mind)
        return str(getattr(served, verb)()) if served is not None else "the process went meanwhile, and they with it"

    repairs: dict[str, Callable[[], str]] = {
        "permissions": lambda: home_checks.restrict_permissions(home),
        "mind": lambda: mind_checks.rewrite_key_header(home, mind),
        "leftovers": lambda: home_checks.remove_drafts(home, clock),
        "engine": lambda: process_checks.end_ray(home),
        "process": lambda: process_checks.remove_stale_files(home),
        "words": words,
        "records": read_again,
        "transcripts": read_again,
        "shape": bind_again,
        "wal": lambda: mind_checks.checkpoint(home, mind, keys),
        "actors": lambda: asked("release"),
        "letters": lambda: asked("replay"),
    }
    broken = {check.name for check in checks if check.repairable}
    return [_run_repair(name, mend) for name, mend in repairs.items() if name in broken]


def _run_repair(name: str, mend: Callable[[], str]) -> RepairResult:
    try:
        return RepairResult(name, True, mend())
    except MnemicError as error:
        return RepairResult(name, False, str(error))
    except OSError as error:
        return RepairResult(name, False, f"{error.filename or 'it'}: {error.strerror or type(error).__name__}")
