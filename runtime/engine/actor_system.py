"""Composes the actors of one mind with their ports and starts them under a supervisor.

The root (`mnemic.runtime.api.mind`) hands in what reads transcripts; benches start an actor system of their own on the
same parts. A `ActorFactory` is all it takes to make one of the actors, in this process or in another one that sees the
same files.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel.contract import Actor, Clock
from mnemic.actors.kernel.errors import ActorRefused, InvalidValue, MnemicError, StoreError, UnreadableRecord
from mnemic.actors.kernel.events import HookEvent, HookRecord
from mnemic.actors.kernel.ports import EchoTest, Encoder, Ports, RecordReader, TranscriptOpener, no_echo
from mnemic.actors.kernel.times import Zone
from mnemic.runtime.capture.allow_deny import AllowDenyRules
from mnemic.runtime.capture.pauses import read_pauses
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.engine import EmbeddedEngine, Engine, Placement, safe_cause
from mnemic.runtime.engine.idleness import idle_policy_from
from mnemic.runtime.engine.plugins import BUILT_IN_ACTORS, class_path, load_actor
from mnemic.runtime.engine.reports import Observer
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.engine.supervisor import ActorSpec, Supervisor
from mnemic.runtime.files.file_stat import stat_transcript
from mnemic.runtime.files.writable import unwritable_reason
from mnemic.runtime.keys.key_slots import is_locked, read_keys_by_file
from mnemic.runtime.keys.keys import Keys, random_id
from mnemic.runtime.minds.homes import MindFolder, read_key_header
from mnemic.runtime.minds.projects import PassedOver, is_gone_folder, is_ignored, resolve_scope
from mnemic.runtime.minds.scope_trust import unconfirmed_sentence
from mnemic.runtime.models.cross_encoders import cross_encoder_from_settings
from mnemic.runtime.models.encoders import encoder_from_settings, may_use_torch
from mnemic.runtime.secrets.secrets import drop_private, load_scrub
from mnemic.runtime.spool.spool import Spool
from mnemic.runtime.store.reader import PendingReader, open_reader
from mnemic.runtime.store.scopes.read import has_project
from mnemic.runtime.store.store import Store, TransactionMetadata

_log = logging.getLogger("mnemic.projects")
_BACKGROUND = ("communities", "knowledge", "consolidator")  # slots whose work nobody waits for: it goes behind all else


def refuse_record(record: HookRecord) -> list[HookEvent]:
    """Understand none: for an actor system that no assistant's hooks write to."""
    raise UnreadableRecord(assistant=record.assistant, event=record.event, why="nobody reads records here")


class ActorFactory(msgspec.Struct, frozen=True, kw_only=True):
    """How to make the actors of one mind in any process that sees its files.

    It pickles, and holds no secret; but for a mind that no key file opens, for which there is `held`.
    """

    folder: MindFolder
    """The mind's files; the key is read there, and never travels."""
    check: str
    """The key's check value, which lies in clear beside it."""
    actors: dict[str, str]
    """For every slot the class that fills it, as ``module:Class``."""
    settings: dict[str, Any]
    """The settings in force, by full name."""
    stamp: TransactionMetadata
    """What the writer marks its transactions with."""
    open_transcript: TranscriptOpener | str
    """Reads transcripts: a function of a module, or ``module:function``."""
    read_record: RecordReader | str = refuse_record
    """Understands what hooks kept: a function of a module, or ``module:function``."""
    is_own_echo: EchoTest | str = no_echo
    """Tells what is this memory's own: a function of a module, or ``module:function``."""
    load_encoder: Callable[[Mapping[str, Any]], Encoder] | None = None
    """Loads what embeds, as settings say; `encoder_from_settings` where absent."""
    fence: str | None = None
    """Slot of the writer's fence; ``None`` where nothing is fenced."""
    zone: Zone | None = None
    """By which days are told; the machine's where absent."""
    locked_mind_keys: Keys | None = None
    """The keys of a mind that no key file opens; with them it does not pickle, and works in this process alone."""

    def make(self, slot: str) -> Actor:
        """Make the actor of a slot, in this process.

        Raises:
            ActorRefused: somebody's own class is not there, or cannot be made.
            StoreError: the mind cannot be opened.
        """
        path, own = self.actors[slot], BUILT_IN_ACTORS[slot]
        kind = own if path == class_path(own) else load_actor(path, slot)
        ports = self.ports()
        try:
            return kind.make(ports)
        except Exception as error:  # whatever a stranger's code does; a `StoreError` is the mind's own trouble
            if kind is own or isinstance(error, StoreError):
                raise
            raise ActorRefused(name=path, slot=slot, why=f"its make() failed: {_reason(error)}") from error

    def ports(self) -> Ports:
        """What the actors need from outside.

        Raises:
            KeyMissing, KeyMismatch: the key file is not there, or is not this mind's.
        """
        home = self.folder.home
        keys = self.locked_mind_keys or read_keys_by_file(self.folder.key, self.folder.key_header, self.check)
        return Ports(
            settings=self.settings,
            open_store=lambda: Store.open(self.folder.store, keys, self.stamp, self.fence),
            open_snapshots=lambda: PendingReader(lambda: open_reader(self.folder.store, keys, self.zone)),
            load_encoder=lambda: (self.load_encoder or encoder_from_settings)(self.settings),
            load_cross_encoder=lambda: cross_encoder_from_settings(self.settings),
            open_transcript=_load_function(self.open_transcript),
            resolve_scope=partial(
                resolve_scope,
                home=home,
                passed_over=_log_once(home),
                is_project=partial(has_project, self.folder.store, keys),
            ),
            is_gone_folder=is_gone_folder,
            is_ignored_folder=is_ignored,
            pauses=lambda: read_pauses(self.folder.path),
            unwritable=lambda: unwritable_reason(self.folder.path),
            is_allowed=AllowDenyRules(self.settings["capture.allow"], self.settings["capture.deny"]).allows,
            stat_file=stat_transcript,
            open_spool=lambda: Spool(self.folder.spool, keys.spool_private, SystemClock(), keys.earlier_spool_privates),
            read_record=_load_function(self.read_record),
            is_own_echo=_load_function(self.is_own_echo),
            scrub=load_scrub(self.settings["capture.secret_allow"]) if self.settings["capture.scrub"] else drop_private,
            identity=keys.identity_hash(),
            seed=keys.seed,
            extract=_load_extractor(self.settings, "binder.extractor", "mine:triples"),
            extract_statements=_load_extractor(self.settings, "knowledge.extractor", "mine:statements"),
        )


def _log_once(home: Path) -> PassedOver:
    """Has the log say once of each ``.mnemic.toml`` that it does not count."""
    told: set[Path] = set()

    def note(folder: Path, scope: str) -> None:
        if folder not in told:
            told.add(folder)
            _log.warning("%s", unconfirmed_sentence(home, folder, scope))

    return note


def start_actor_system(
    folder: MindFolder,
    keys: Keys,
    settings: Settings,
    clock: Clock,
    *,
    opener: TranscriptOpener | str,
    code: str,
    reader: RecordReader | str = refuse_record,
    is_own_echo: EchoTest | str = no_echo,
    load_encoder: Callable[[Mapping[str, Any]], Encoder] | None = None,
    seed: bytes | None = None,
    engine: Engine | None = None,
    observer: Observer | None = None,
    fence: str | None = None,
) -> Supervisor:
    """Start the actors that the settings name, those of `mnemic.runtime.engine.plugins.BUILT_IN_ACTORS` where they name
    none.

    Args:
        opener: reads transcripts; a function of a module, or ``module:function``, where the engine has processes.
        code: version of Mnemic, for the log.
        reader: understands what hooks kept; given as `opener` is.
        is_own_echo: tells what was kept and is this memory's own; given as `opener` is.
        load_encoder: loads what embeds, as settings say; given as `opener` is. `encoder_from_settings` where absent.
        seed: what chance depends on; the mind's own where absent.
        engine: where they run; threads of this process where absent.
        observer: told what the actors do.
        fence: where given, this actor system's writer replaces every earlier one of the same name, which writes no
            more.

    Raises:
        ActorRefused: an actor of somebody's own does not keep the contract, or cannot be made.
        StoreError: the store cannot be opened.
            Nothing runs then.
    """
    recipe = ActorFactory(
        folder=folder,
        check=keys.check,
        actors={slot: class_path(kind) for slot, kind in settings.actors.items()},
        settings=settings.values(),
        stamp=TransactionMetadata(machine=platform.node(), version=code),
        open_transcript=opener,
        read_record=reader,
        is_own_echo=is_own_echo,
        load_encoder=load_encoder,
        fence=fence,
        zone=clock,
        locked_mind_keys=keys if is_locked(read_key_header(folder)) else None,
    )
    return Supervisor(
        engine or EmbeddedEngine(clock),
        [
            ActorSpec(
                slot, kind, partial(recipe.make, slot), settings["runtime.inbox_messages"], _placement(slot, settings)
            )
            for slot, kind in settings.actors.items()
        ],
        clock=clock,
        seed=keys.seed if seed is None else seed,
        run=random_id(),
        observer=observer,
        idle_policy=idle_policy_from(settings.values()),
        ask_timeout_s=settings["runtime.ask_timeout_s"],
    )


def _placement(slot: str, settings: Settings) -> Placement:
    gpus = settings["embedder.gpus"] if slot == "embedder" and may_use_torch(settings.values()) else 0.0
    pinned = bool(getattr(settings.actors[slot], "pinned", False)) or not settings["runtime.other_nodes"]
    return Placement(gpus=gpus, pinned=pinned, background=slot in _BACKGROUND)


def _load_function(function: Any) -> Any:
    """A function, which may be named by ``module:function``; that one is loaded when it is called first."""
    if not isinstance(function, str):
        return function
    return lambda *given: _named_function(function)(*given)


@cache
def _named_function(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _load_extractor(settings: Mapping[str, Any], name: str, example: str) -> Any:
    """The user's own function that finds something in a text, as a setting names it; ``None`` for the built-in."""
    path = settings.get(name, "")
    if not path:
        return None
    module, _, function = path.partition(":")
    found, why = None, "it names no function of a module"
    if module and function:
        try:
            found, why = getattr(import_module(module), function, None), f"{module} has no function {function!r}"
        except (Exception, SystemExit) as error:  # whatever a stranger's module does when it is imported
            absent = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
            failed = _reason(error) if isinstance(error, Exception) else "it ends the process"
            why = f"there is no module {absent!r}" if absent else f"importing {module} failed: {failed}"
    if not callable(found):
        raise InvalidValue(name=name, value=path, why=why, expected=f"module:function, such as {example}")
    return found


def _reason(error: Exception) -> str:
    """A failure in a clause: what it says only where it is one of ours, since any other may quote a memory."""
    return str(error).rstrip(".") if isinstance(error, MnemicError) else safe_cause(error)
