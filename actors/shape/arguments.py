"""Validates structural queries as callers pass them in; rejects malformed ones with a readable error.

Below `mnemic.actors.shape.shape_recall` and the faces; `mnemic.actors.shape.patterns` reads what a pattern says.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.shape_messages import Shape
from mnemic.actors.protocol.validation_text import invalid_value_from, safe_operand

__all__ = ["analogy_names", "pattern_texts", "validate_shape"]

_MAX_ROLE_CHARS = 120
"""Characters of a role's name that are told back."""
_THREE = "three names: A is to B as C is to what is asked"
_PLACES = ("first", "second", "third")


def validate_shape(asked: Shape) -> None:
    """Refuse what is no question, whatever is in memory.

    Raises:
        InvalidValue: it is none.
    """
    given = msgspec.structs.asdict(asked)
    try:
        msgspec.convert(given, Shape)
    except msgspec.ValidationError as error:
        raise invalid_value_from(error, given) from None
    if bool(asked.pattern) == bool(asked.analogy):
        raise InvalidValue(
            name="the question",
            value="a pattern and an analogy" if asked.pattern else "nothing",
            why="these are two questions" if asked.pattern else "it asks for nothing",
            expected="one of them" if asked.pattern else 'a pattern, such as {"file": "?"}',
        )
    if asked.analogy and len(asked.analogy) != 3:
        count = len(asked.analogy)
        raise InvalidValue(
            name="the analogy",
            value=shlex.join(asked.analogy),
            why=f"it has {count} name{'s' * (count > 1)}",
            expected=_THREE,
        )
    empty = [place for place, one in zip(_PLACES, asked.analogy, strict=False) if not one.strip()]
    if empty:
        raise InvalidValue(
            name="the analogy",
            value=shlex.join(asked.analogy),
            why=f"its {' and '.join(empty)} name{'s are' if len(empty) > 1 else ' is'} empty",
            expected=_THREE,
        )
    if asked.k is not None and asked.k < 1:
        raise InvalidValue(name="k", value=asked.k, why="it is less than 1", expected="a number from 1")


def analogy_names(analogy: Any) -> tuple[str, ...]:
    """The names of an analogy as programs give them.

    Raises:
        InvalidValue: they are one text, which has letters and no names, or nothing that could be gone through.
    """
    if isinstance(analogy, str | bytes | Mapping) or not isinstance(analogy, Iterable):
        raise InvalidValue(
            name="the analogy", value=safe_operand(analogy), why="it is no list of names", expected=_THREE
        )
    return tuple(analogy)


def pattern_texts(pattern: Any) -> dict[str, str]:
    """A pattern as programs give it: numbers are taken as their text, and true and false as yes and no.

    Raises:
        InvalidValue: it is no mapping, or a filler is none of these.
    """
    if not isinstance(pattern, Mapping):
        raise InvalidValue(
            name="the pattern",
            value=safe_operand(pattern),
            why="it is no mapping of roles to fillers",
            expected='one, such as {"tool": "pytest", "file": "?"}',
        )
    return {
        _text("a role", role): _text(f"the role {str(role)[:_MAX_ROLE_CHARS]}", filler)
        for role, filler in pattern.items()
    }


def _text(name: str, given: Any) -> str:
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if not isinstance(given, str | int | float):
        raise InvalidValue(
            name=name, value=safe_operand(given), why="it is no text", expected="a filler, or ? to ask for it"
        )
    return str(given)
