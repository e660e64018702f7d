"""What is asked by structure, as programs give it: taken where it can be read, else refused in a sentence. Pure.

Below `mnemic.actors.shaping` and the faces; `mnemic.actors.patterns` reads what a pattern says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mnemic.actors.errors import InvalidValue
from mnemic.actors.shapes import Shape

__all__ = ["check", "names", "texts"]

_THREE = "three names: A is to B as C is to what is asked"


def check(asked: Shape) -> None:
    """Refuse what is no question, whatever is in memory.

    Raises:
        InvalidValue: it is none.
    """
    for field in msgspec.structs.fields(Shape):
        given = getattr(asked, field.name)
        try:
            msgspec.convert(given, field.type)
        except msgspec.ValidationError as error:
            raise InvalidValue(
                name=f"the argument {field.name}",
                value=_shown(given),
                why=str(error)[:1].lower() + str(error)[1:],
                expected="one of the type that `Shape` says",
            ) from None
    if bool(asked.pattern) == bool(asked.analogy):
        raise InvalidValue(
            name="the question",
            value="a pattern and an analogy" if asked.pattern else "nothing",
            why="these are two questions" if asked.pattern else "it asks for nothing",
            expected="a pattern, such as file=?, or an analogy of three names",
        )
    if asked.analogy and (len(asked.analogy) != 3 or not all(one.strip() for one in asked.analogy)):
        raise InvalidValue(
            name="the analogy",
            value=" ".join(asked.analogy),
            why=f"it has {len([one for one in asked.analogy if one.strip()])} names",
            expected=_THREE,
        )
    if asked.k is not None and asked.k < 1:
        raise InvalidValue(name="k", value=asked.k, why="it is less than 1", expected="a number from 1")


def names(analogy: Any) -> tuple[str, ...]:
    """The names of an analogy as programs give them.

    Raises:
        InvalidValue: they are one text, which has letters and no names, or nothing that could be gone through.
    """
    if isinstance(analogy, str | bytes) or not isinstance(analogy, Iterable):
        raise InvalidValue(name="the analogy", value=_shown(analogy), why="it is no list of names", expected=_THREE)
    return tuple(analogy)


def texts(pattern: Any) -> dict[str, str]:
    """A pattern as programs give it: numbers are taken as their text, and true and false as yes and no.

    Raises:
        InvalidValue: it is no mapping, or a filler is none of these.
    """
    if not isinstance(pattern, Mapping):
        raise InvalidValue(
            name="the pattern",
            value=_shown(pattern),
            why="it is no mapping of roles to fillers",
            expected='one, such as {"tool": "pytest", "file": "?"}',
        )
    return {_text("a role", role): _text(f"the role {role}", filler) for role, filler in pattern.items()}


def _text(name: str, given: Any) -> str:
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if not isinstance(given, str | int | float):
        raise InvalidValue(name=name, value=_shown(given), why="it is no text", expected="a filler, or ? to ask for it")
    return str(given)


def _shown(given: Any) -> Any:
    """What was given, as an error may tell it in another process too."""
    return given if given is None or isinstance(given, str | int | float) else repr(given)
