"""What the settings of binding ask for, and whether what is kept was bound so.

`mnemic.actors.binder` binds as they say; the Retriever tells whoever asks while they say otherwise than what is bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnemic.actors.errors import InvalidValue
from mnemic.actors.features import READING
from mnemic.actors.snapshot import SpaceRow
from mnemic.hd.algebra import BACKENDS, Algebra, algebra_named
from mnemic.hd.roles import ROLES
from mnemic.hd.space import Space

__all__ = ["LONGEST", "WORD", "algebra_of", "reading_of", "space_of", "unlike"]

LONGEST = 65_536
"""Bits of the longest hypervectors that a mind is bound in: a record takes 8 KiB then, on disk and in memory."""
WORD = 64
"""The length of a hypervector is a multiple of it."""


def space_of(seed: bytes, settings: Mapping[str, Any]) -> Space:
    """The space in which is bound, without a model.

    Raises:
        InvalidValue: a setting names a role that there is none of, or a length that is none.
    """
    roles, dimensions = _roles(settings["binder.leave_out"]), settings["binder.dimensions"]
    try:
        return Space(seed=seed, dimensions=dimensions, roles=roles)
    except ValueError as error:
        raise InvalidValue(
            name="binder.dimensions", value=dimensions, why=str(error), expected="a multiple of 64, such as 10240"
        ) from error


def reading_of(settings: Mapping[str, Any]) -> str:
    """A name for how records are read out of memories: under another one all of them are bound again."""
    return f"{READING} {settings['binder.topics']} {settings['binder.extractor']}"


def algebra_of(settings: Mapping[str, Any]) -> Algebra:
    """Who computes.

    Raises:
        InvalidValue: it is not there.
    """
    backend = settings["binder.backend"]
    try:
        return algebra_named(backend)
    except ValueError as error:
        raise InvalidValue(
            name="binder.backend", value=backend, why=str(error), expected=f"one of {', '.join(BACKENDS)} that is there"
        ) from error


def unlike(kept: SpaceRow | None, settings: Mapping[str, Any]) -> str | None:
    """What the settings say otherwise than what is bound, in a sentence; ``None`` where they say the same.

    Nothing is said of somebody's own Binder: which settings it goes by is its own affair.
    """
    if kept is None or settings["actors.binder"]:
        return None
    said = []
    if kept.dimensions != settings["binder.dimensions"]:
        said.append(f"binder.dimensions is {settings['binder.dimensions']}, and {kept.dimensions} are bound")
    wanted = {name for name in ROLES if name not in settings["binder.leave_out"]}
    missing, more = sorted(wanted - set(kept.roles)), sorted(set(kept.roles) - wanted)
    if missing:
        said.append(f"binder.leave_out leaves {', '.join(missing)} in, and nothing bound has it")
    if more:
        said.append(f"binder.leave_out leaves {', '.join(more)} out, and it is bound")
    if kept.reading != reading_of(settings):
        said.append("binder.topics, binder.extractor or this version of Mnemic reads memories in another way")
    if not said:
        return None
    return f"shape: the settings say otherwise than what is bound: {'; '.join(said)}; `mnemic capture` binds it anew"


def _roles(left_out: tuple[str, ...]) -> tuple[str, ...]:
    for name in left_out:
        if name not in ROLES:
            known = ", ".join(ROLES)
            raise InvalidValue(
                name="binder.leave_out", value=name, why="there is no such role", expected=f"some of {known}"
            )
    return tuple(name for name in ROLES if name not in left_out)
