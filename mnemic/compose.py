"""Composition root: opens a mind's actors in this process, on the chosen engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.actors.kernel.background import MindOpened
from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import (
    InvalidValue,
    KeyMismatch,
    KeyMissing,
    MindExists,
    MindMissing,
    NotOnRay,
    Rekeyed,
)
from mnemic.runtime.engine.actor_system import start_actor_system
from mnemic.runtime.engine.engine import EmbeddedEngine, Engine, EngineFactory
from mnemic.runtime.engine.reports import Observer
from mnemic.runtime.engine.settings import Settings, load_asked_settings, load_settings, with_settings_path
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.keys.key_slots import check_passphrase, is_locked
from mnemic.runtime.keys.keys import Keys, random_id
from mnemic.runtime.minds.homes import MindFolder, create_mind, mind_folder, open_mind, read_key_header
from mnemic.runtime.version import __version__

if TYPE_CHECKING:
    from mnemic.runtime.engine.ray.cluster import Cluster

_OPENER, _READER = "mnemic.hooks.read.formats:open_transcript", "mnemic.hooks.read.records:read_record"
"""Loaded when a transcript, or what a hook kept, is read first."""
_ECHO = "mnemic.hooks.read.own_calls:is_own_echo"
"""Loaded when what was kept before memories had labels is looked at first."""
_MAX_ATTEMPTS = 3
"""So often a mind is opened whose key is changed at that very moment."""


def open_actor_system(
    home: Path,
    mind: str,
    make_engine: EngineFactory,
    *,
    clock: Clock,
    seed: bytes | None = None,
    create: bool,
    settings: Settings | None = None,
    observer: Observer | None = None,
    fence: str | None = None,
    passphrase: str | None = None,
    held: Callable[[], Keys | None] = lambda: None,
    asked_only: bool = False,
) -> Supervisor:
    """Start the actors of a mind.

    Args:
        asked_only: whether only memories are asked for: then those alone are started that answer, unless the settings
            name actors or are of others.
        passphrase: of a mind that is locked by one, or that is to be made so.
        held: gives the keys of a mind that was unlocked before, if it was.
        settings: those in force; read from the home where absent.
        observer: told what the actors do.
        fence: see `mnemic.runtime.engine.actor_system.start_actor_system`.

    Raises:
        MindMissing: there is no such mind, and it is not to be made.
        MindLocked: it is locked by a passphrase, and nobody said it.
        NotOnRay: so is one on Ray, whoever says it.
        BadInput, StoreError, EngineMissing: nothing runs.
    """
    if settings is None:
        settings = (load_asked_settings if asked_only else load_settings)(home / "mnemic.toml")
    tries = _MAX_ATTEMPTS
    while True:
        tries -= 1
        keys = held()
        folder = mind_folder(home, mind)
        if keys is None:
            folder, keys = open_or_make_mind(home, mind, clock, create=create, passphrase=passphrase)
        engine = make_engine(folder, keys)
        try:
            actor_system = start_actor_system(
                folder,
                keys,
                settings,
                clock,
                opener=_OPENER,
                reader=_READER,
                is_own_echo=_ECHO,
                code=__version__,
                seed=seed,
                engine=engine,
                observer=observer,
                fence=fence,
            )
            if any(MindOpened in kind.takes for kind in settings.actors.values()):
                actor_system.tell(MindOpened())
            return actor_system
        except BaseException as error:
            engine.close()
            if isinstance(error, InvalidValue):
                raise with_settings_path(error, home / "mnemic.toml") from error
            # What opened it a moment ago: the key of now does.
            if not (tries and isinstance(error, KeyMissing | KeyMismatch | Rekeyed)):
                raise


def engine_factory(name: str, clock: Clock) -> EngineFactory:
    """An engine of this process's own.

    Raises:
        InvalidValue: there is no such engine.
        EngineMissing: Ray is not installed, or does not start.
    """
    if name == EmbeddedEngine.name:
        return lambda folder, keys: EmbeddedEngine(clock)
    if name != "ray":
        raise InvalidValue(name="engine", value=name, why="there is no such engine", expected="'embedded' or 'ray'")
    return _local_ray_factory(clock)


def _local_ray_factory(clock: Clock) -> EngineFactory:
    from mnemic.runtime.engine.ray.local import LocalRay  # here: only whoever asks for Ray needs it

    def make(folder: MindFolder, keys: Keys) -> Engine:
        _require_key_file(folder)  # before Ray is started
        local = LocalRay.start(folder.path.parents[1])
        try:
            return ray_engine_factory(local.cluster, clock, on_close=local.stop)(folder, keys)
        except BaseException:
            local.stop()
            raise

    return make


def ray_engine_factory(
    cluster: Cluster, clock: Clock, *, stop_timeout_s: float = 30.0, on_close: Callable[[], None] = lambda: None
) -> EngineFactory:
    """Engines on one connection to Ray, one for each mind.

    Args:
        stop_timeout_s: how long an actor may take to finish its mailbox when it is stopped.
        on_close: called when an engine is closed.
    """
    from mnemic.runtime.engine.ray.engine import RayEngine
    from mnemic.runtime.engine.ray.protocol import MindSealRecipe

    def make(folder: MindFolder, keys: Keys) -> Engine:
        _require_key_file(folder)
        return RayEngine(
            cluster,
            clock,
            MindSealRecipe(key=folder.key, key_header=folder.key_header, check=keys.check, run=random_id()),
            namespace=f"mnemic-{keys.check[:16]}",
            stop_timeout_s=stop_timeout_s,
            on_close=on_close,
        )

    return make


def _require_key_file(folder: MindFolder) -> None:
    """Refuse a mind whose keys would have to travel: each process on Ray reads the key file by itself."""
    if is_locked(read_key_header(folder)):
        raise NotOnRay(mind=folder.path.name)


def open_or_make_mind(
    home: Path, mind: str, clock: Clock, *, create: bool, passphrase: str | None = None
) -> tuple[MindFolder, Keys]:
    """Find a mind and its keys, and make it where there is none.

    Raises:
        MindMissing: there is no such mind, and it is not to be made.
        MindLocked: it is locked by a passphrase, and none is given.
    """
    try:
        return open_mind(home, mind, passphrase)
    except MindMissing:
        if not create:
            raise
        with contextlib.suppress(MindExists):  # another process made it meanwhile, whole: open that one
            create_mind(home, mind, clock, passphrase=None if passphrase is None else check_passphrase(passphrase))
        return open_mind(home, mind, passphrase)
