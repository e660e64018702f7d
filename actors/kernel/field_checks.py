"""Whether a message's fields are of the types that they are declared with, and in words what is wrong with one.

The wire and the faces check with it what programs give.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.message import safe_operand
from mnemic.actors.kernel.typed import convert

_LOCATION = re.compile(r"(.*) - at (`key` in )?`\$\.?(.*?)(\[\.\.\..*)?`")
_EXPECTED = re.compile(r"Expected (.*?)(?:, got (.*))?")
_LACKS = re.compile(r"Object missing required field `(.*)`")
_STEP = re.compile(r"(\w+)|\[(\d+)\]")
_TYPE = re.compile(r"`([\w |]+)`")
_WORDS = {
    "array": "a list",
    "bool": "a boolean",
    "bytes": "bytes",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "an object",
    "str": "a text",
}


def check_fields(message: msgspec.Struct) -> None:
    """Refuse a message that a program has made with fields of other types than they are declared with.

    Raises:
        InvalidValue: one is.
    """
    given = msgspec.structs.asdict(message)
    try:
        convert(given, type(message))
    except msgspec.ValidationError as error:
        raise invalid_value_from(error, given) from None


def invalid_value_from(error: msgspec.ValidationError, given: dict[str, Any]) -> InvalidValue:
    """What is wrong with the first field that does not fit.

    Args:
        given: the fields.
    """
    place = _LOCATION.fullmatch(str(error))
    said, key, path, within = place.groups() if place else (str(error), None, "", None)
    why, expected = _describe_mismatch(said)
    if key or within:  # which of them is not said
        why = f"of something in it, {why}"
    return InvalidValue(name=path or "a field", value=safe_operand(_value_at(given, path)), why=why, expected=expected)


def _value_at(given: Any, path: str) -> Any:
    """What stands at a place such as ``place.path`` or ``kinds[1]``."""
    for name, index in _STEP.findall(path):
        given = given[name] if name else given[int(index)]
    return given


def _describe_mismatch(said: str) -> tuple[str, str]:
    """Why something does not fit, and what would."""
    if lacks := _LACKS.fullmatch(said):
        return f"it lacks {lacks[1]}", f"{lacks[1]}, too"
    if said.startswith("Invalid base64"):
        return "it is no base64", "base64"
    if said.startswith("Invalid enum value"):
        return "it is not known", "one that is"
    found = _EXPECTED.fullmatch(said)
    if found is None:
        return said[:1].lower() + said[1:], "another one"
    got = found[2] or "none"
    got = got.replace("`float`", "a decimal number")
    it_is = f"its length is {got}" if got.isdigit() else f"it is {_TYPE.sub(_in_words, got)}"
    return it_is, _TYPE.sub(_in_words, found[1])


def _in_words(types: re.Match[str]) -> str:
    """Types such as ``int | null``; that a field may be left out is no remedy."""
    names = types[1].split(" | ")
    return " or ".join(_WORDS.get(name, name) for name in names if name != "null" or len(names) == 1)
