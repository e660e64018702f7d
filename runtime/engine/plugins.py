"""Loads and validates actor classes, built-in or third-party, before any of them starts.

A slot is a place in the actor system that can be filled with another class. Below stands the contract in
`mnemic.actors`; `mnemic.runtime.engine.settings` reads who fills which slot, and `mnemic.runtime.engine.actor_system`
starts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import msgspec

from mnemic.actors.communities.messages import CommunitiesChanged
from mnemic.actors.kernel.background import MindOpened, WorkOn
from mnemic.actors.kernel.contract import CONTRACT, Actor, Setting
from mnemic.actors.kernel.errors import ActorRefused
from mnemic.actors.shape.messages import VectorsChanged
from mnemic.actors.store.messages import Committed

ENTRY_POINT_GROUP = "mnemic.actors"
"""The entry-point group by which a package offers actors."""
_SHARED = (Committed, VectorsChanged, CommunitiesChanged, MindOpened, WorkOn)  # several actors may take each


class _BuiltInActors(MutableMapping[str, "type[Actor]"]):
    """Classes by slot, in the order in which they start; each is loaded when it is asked for first."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._kinds: dict[str, str | type[Actor]] = dict(paths)

    def __getitem__(self, slot: str) -> type[Actor]:
        kind = self._kinds[slot]
        if isinstance(kind, str):
            module, _, name = kind.partition(":")
            kind = self._kinds[slot] = getattr(import_module(module), name)
            assert isinstance(kind, type)
        return kind

    def __setitem__(self, slot: str, kind: type[Actor]) -> None:
        self._kinds[slot] = kind

    def __delitem__(self, slot: str) -> None:
        del self._kinds[slot]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


BUILT_IN_ACTORS: MutableMapping[str, type[Actor]] = _BuiltInActors(
    {
        "store": "mnemic.actors.store.store:StoreActor",
        "embedder": "mnemic.actors.meaning.embedder:EmbedderActor",
        "binder": "mnemic.actors.shape.binder:BinderActor",
        "retriever": "mnemic.actors.recall.retriever:RetrieverActor",
        "capture": "mnemic.actors.capture.capture:CaptureActor",
        "communities": "mnemic.actors.communities.communities:CommunitiesActor",
        "knowledge": "mnemic.actors.knowledge.knowledge:KnowledgeActor",
        "consolidator": "mnemic.actors.sleep.consolidator:ConsolidatorActor",
    }
)
"""Who fills a slot where nobody else is named."""
SLOTS: tuple[str, ...] = tuple(BUILT_IN_ACTORS)
"""The slots, in the order in which they start."""
ASKED_SLOTS = ("store", "embedder", "retriever", "capture")
"""Those that answer what is asked of memories; the others work on what was captured."""


def slot_messages(slot: str) -> tuple[type, ...]:
    """What a slot is sent by faces and by other actors, events aside."""
    return tuple(one for one in BUILT_IN_ACTORS[slot].takes if one not in _SHARED)


def class_path(kind: type) -> str:
    """How a class is named: ``module:Class``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def load_actors(names: Mapping[str, str], known: Iterable[Setting]) -> dict[str, type[Actor]]:
    """The class for each of some slots, in the order in which they start.

    Args:
        names: who is to fill a slot, by ``module:Class`` or an entry point; the built-in one where it is empty.
        known: the settings there are without them.

    Raises:
        ActorRefused: a class does not keep the contract, or does not go with the others.
    """
    slots = [slot for slot in SLOTS if slot in names]
    kinds = {slot: load_actor(names[slot], slot) if names[slot] else BUILT_IN_ACTORS[slot] for slot in slots}
    takers: dict[type, str] = {}
    settings = {setting.name: setting for setting in known}
    sections = {name.partition(".")[0] for name in settings}
    for slot in sorted(slots, key=lambda slot: bool(names.get(slot))):  # strangers last: what clashes is theirs
        kind, name = kinds[slot], names.get(slot) or slot
        for message in kind.takes:
            if message in _SHARED:
                continue
            if message in takers:
                why = f"it takes {message.__name__}, and the {takers[message]} is asked for that"
                raise ActorRefused(name=name, slot=slot, why=why)
            takers[message] = slot
        if not names.get(slot):
            continue
        for setting in kind.settings:
            if settings.get(setting.name, setting) != setting:  # a built-in's own, inherited, is no clash
                raise ActorRefused(name=name, slot=slot, why=f"there is a setting {setting.name!r} already")
            if setting.name not in settings and setting.name.partition(".")[0] in sections:
                why = f"its setting {setting.name!r} is in a section that is not its own"
                raise ActorRefused(name=name, slot=slot, why=why)
            settings[setting.name] = setting
    return kinds


def load_actor(name: str, slot: str) -> type[Actor]:
    """Somebody's own class, checked by itself.

    Args:
        name: ``module:Class``, or the name of an entry point of the group `ENTRY_POINT_GROUP`.

    Raises:
        ActorRefused: it is not there, or does not keep the contract.
    """
    kind = find_class(name, slot)
    why = contract_violation(kind, slot)
    if why:
        raise ActorRefused(name=name, slot=slot, why=why)
    found: type[Actor] = kind
    return found


def find_class(name: str, slot: str) -> Any:
    """The class of a name, whatever it is like.

    Raises:
        ActorRefused: there is none.
    """

    def refused(why: str) -> ActorRefused:
        return ActorRefused(name=name, slot=slot, why=why)

    path = name
    if ":" not in name:
        points = {(point.module, point.attr) for point in entry_points(group=ENTRY_POINT_GROUP, name=name)}
        if not points:
            offered = ", ".join(sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)})) or "none"
            raise refused(f"no installed package offers an actor of that name (offered: {offered})")
        if len(points) > 1:
            raise refused("several installed packages offer an actor of that name; name one by module:Class")
        path = ":".join(points.pop())
    module, _, below = path.partition(":")
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:  # whatever the stranger's module does when it is imported
        raise refused(f"{module or 'its module'} cannot be imported ({_on_one_line(error)})") from error
    for part in below.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise refused(f"there is no class {below!r} in {module}")
    return found


def contract_violation(kind: Any, slot: str) -> str | None:
    """What keeps a class from filling a slot, one clause, or ``None``. Nothing of it is called."""
    return next((why for look in CONTRACT_CHECKS.values() if (why := look(kind, slot))), None)


def _check_contract(kind: Any, slot: str) -> str | None:
    if not hasattr(kind, "contract"):
        return f"it does not say which contract it keeps (contract = {CONTRACT})"
    kept = kind.contract == CONTRACT
    return None if kept else f"it keeps contract {kind.contract!r}, and this is contract {CONTRACT}"


def _check_messages(kind: Any, slot: str) -> str | None:
    takes = getattr(kind, "takes", ())
    if not isinstance(takes, tuple) or not takes:
        return "it takes no messages (takes is a tuple of message types)"
    for one in takes:
        if not isinstance(one, type) or not issubclass(one, msgspec.Struct) or not one.__struct_config__.frozen:
            return f"it takes {getattr(one, '__name__', one)!r}, which is no message type (a frozen msgspec.Struct)"
    missing = [message.__name__ for message in slot_messages(slot) if message not in takes]
    return f"it does not take {', '.join(missing)}" if missing else None


def _check_settings(kind: Any, slot: str) -> str | None:
    settings = getattr(kind, "settings", None)
    if not isinstance(settings, tuple) or not all(isinstance(one, Setting) for one in settings):
        return "its settings are no tuple of Setting"
    for one in settings:
        section, dot, key = one.name.partition(".")
        if not (dot and section.isidentifier() and key.isidentifier()):
            return f"its setting {one.name!r} has no name such as section.key"
        if section == "actors":
            return f"its setting {one.name!r} is in the section that names actors"
        texts = isinstance(one.default, tuple) and all(isinstance(text, str) for text in one.default)
        if type(one.default) not in (bool, int, float, str) and not texts:
            return f"its setting {one.name!r} has a default that is no number, text, truth value or tuple of texts"
    if len({one.name for one in settings}) < len(settings):
        return "two of its settings have one name"
    return None


def _check_methods(kind: Any, slot: str) -> str | None:
    if not callable(getattr(kind, "handle", None)):
        return "it has no handle(message, context)"
    return None if callable(getattr(kind, "make", None)) else "it has no classmethod make(ports)"


CONTRACT_CHECKS: dict[str, Callable[[Any, str], str | None]] = {
    "contract": _check_contract,
    "messages": _check_messages,
    "settings": _check_settings,
    "methods": _check_methods,
}
"""What is looked at in a class, in this order."""


def _on_one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".: ")
