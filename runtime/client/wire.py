"""JSON encoding of messages, answers and errors between clients and the server process.

Only what a face may say is known here: nobody outside tells the Store to `Apply`. Fields stand in JSON as in every face
(`mnemic.actors.kernel.message`). JSON goes through the standard library's, since a text may hold a lone surrogate,
which strict encoders refuse. An answer names its type, an error carries its operands, so that whoever asks gets the
same objects as inside the process.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

from mnemic.actors.brief import messages as brief_messages
from mnemic.actors.capture import forget_messages
from mnemic.actors.capture import messages as capture_messages
from mnemic.actors.communities import messages as community_messages
from mnemic.actors.kernel import errors
from mnemic.actors.kernel.errors import (
    BadBody,
    BadInput,
    InvalidValue,
    MissingArgument,
    MnemicError,
    ModelError,
    RuntimeFault,
    StoreError,
    UnknownArgument,
)
from mnemic.actors.kernel.field_checks import invalid_value_from
from mnemic.actors.kernel.message import Message, Verb, answer_type, from_json, safe_operand, to_json
from mnemic.actors.kernel.times import UTC_ZONE, Zone
from mnemic.actors.kernel.typed import convert
from mnemic.actors.knowledge import messages as knowledge_messages
from mnemic.actors.log import messages as log_messages
from mnemic.actors.meaning import messages as meaning_messages
from mnemic.actors.recall import messages as recall_messages
from mnemic.actors.scopes import messages as scope_messages
from mnemic.actors.shape import messages as shape_messages
from mnemic.actors.shape.messages import Shape, analogy_names, pattern_texts
from mnemic.actors.sleep import messages as sleep_messages
from mnemic.actors.store import messages as store_messages


def message_path(message: Any) -> str:
    """A message's name in a path: ``capture-text`` for `CaptureText`; of a message or of its type."""
    kind = message if isinstance(message, type) else type(message)
    return re.sub(r"(?<!^)(?=[A-Z])", "-", kind.__name__).lower()


ASK_MESSAGES: dict[str, type[Verb[Any]]] = {
    message_path(kind): kind
    for module in (
        *(recall_messages, capture_messages, store_messages, meaning_messages, brief_messages, log_messages),
        *(scope_messages, forget_messages, shape_messages, community_messages, knowledge_messages, sleep_messages),
    )
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Verb) and kind is not Verb
}
"""What a face may ask, by path: every verb."""
TELL_MESSAGES: dict[str, type[Message]] = {
    message_path(kind): kind for kind in (store_messages.Committed, sleep_messages.Preempt, log_messages.NoteDelivery)
}
"""What a face may tell, by path."""
_ANSWERS = {answer_type(kind).__name__: answer_type(kind) for kind in ASK_MESSAGES.values()}
_ERRORS: dict[str, type[MnemicError]] = {getattr(errors, name).code: getattr(errors, name) for name in errors.__all__}
_FAMILIES: dict[str, type[MnemicError]] = {
    kind.__name__: kind for kind in (BadInput, StoreError, ModelError, RuntimeFault, MnemicError)
}
_OBJECT = "one JSON object"
_MAX_NAME_CHARS = 60  # characters of a field's name that are told back
_MIN_INTEGER, _MAX_INTEGER = -(1 << 63), (1 << 63) - 1  # what an integer of the store or of NumPy can be


def encode(struct: msgspec.Struct | None) -> bytes:
    """A message or an answer as JSON, its type named in ``type``."""
    if struct is None:
        return b"null"
    return json.dumps({"type": type(struct).__name__, **to_json(struct, exact=True)}, separators=(",", ":")).encode()


def decode(value: Any) -> Any:
    """The answer that a JSON value stands for.

    Raises:
        ValueError: it is none that a face gives.
    """
    if value is None:
        return None
    if not isinstance(value, dict) or value.get("type") not in _ANSWERS:
        raise ValueError("this is no answer that a face gives")
    kind = _ANSWERS[value["type"]]
    return convert(from_json(kind, value), kind)


def decode_message(kind: type[msgspec.Struct], body: bytes, zone: Zone = UTC_ZONE) -> Any:
    """The message of a type that a body gives the fields of.

    Args:
        zone: that a time without an offset is in.

    Raises:
        BadBody: it is no JSON object.
        MissingArgument, UnknownArgument, InvalidValue: its fields are not the message's.
    """
    value = _parse_strict(body or b"{}")
    if not isinstance(value, dict):
        raise BadBody(why="it is no JSON object", expected=_OBJECT)
    message, named = message_path(kind), value.pop("type", kind.__name__)
    fields = msgspec.structs.fields(kind)
    known = ", ".join(field.name for field in fields) or "nothing"
    stray = min(value.keys() - {field.name for field in fields}, default=None)
    if stray is not None:
        near = difflib.get_close_matches(stray[:_MAX_NAME_CHARS], [field.name for field in fields], n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise UnknownArgument(tool=message, name=stray[:_MAX_NAME_CHARS], near=hint, known=known)
    if named != kind.__name__:
        raise InvalidValue(name="type", value=safe_operand(named), why=f"{message} is asked", expected=kind.__name__)
    for field in fields:
        if field.required and field.name not in value:
            raise MissingArgument(tool=message, name=field.name, known=known)
    try:
        taken = value | {name: take(value[name]) for name, take in _field_converters(kind, value)}
        return convert(from_json(kind, taken, zone), kind)
    except msgspec.ValidationError as error:
        raise invalid_value_from(error, value) from None
    except UnicodeEncodeError:
        raise BadBody(why="it has half a surrogate pair where base64 belongs", expected="base64 there") from None


def encode_error(error: MnemicError) -> dict[str, Any]:
    """An error: code, sentence, remedy, family and operands."""
    family = next(name for name, kind in _FAMILIES.items() if isinstance(error, kind))
    return {
        "code": error.code,
        "error": str(error),
        "remedy": error.remedy_text,
        "kind": family,
        "operands": {name: _json_operand(operand) for name, operand in error.operands.items()},
    }


def decode_error(value: Any) -> MnemicError:
    """The error that a JSON value stands for; one of a code that is not known here keeps its sentence and remedy."""
    if not isinstance(value, dict):
        value = {}
    sentence, remedy = str(value.get("error", MnemicError.sentence)), str(value.get("remedy", MnemicError.remedy))
    operands = value.get("operands")
    kind = _ERRORS.get(str(value.get("code")))
    if kind is not None and isinstance(operands, dict):
        try:
            error = kind(**operands)
            if (str(error), error.remedy_text) == (sentence, remedy):
                return error
        except (KeyError, IndexError, ValueError, TypeError):  # another version's operands
            pass
    family = kind or _FAMILIES.get(str(value.get("kind")), MnemicError)
    said = {
        "code": str(value.get("code", family.code)),
        "sentence": _escape_braces(sentence),
        "remedy": _escape_braces(remedy),
        "__reduce__": lambda error: (decode_error, (encode_error(error),)),
    }
    error = type(family.__name__, (family,), said)(**(operands if isinstance(operands, dict) else {}))
    assert isinstance(error, MnemicError)
    return error


def _escape_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _json_operand(operand: Any) -> Any:
    """An operand as JSON carries it; what it does not carry is written as text."""
    if operand is None or isinstance(operand, str | bool | int):
        return operand
    if isinstance(operand, float):
        return operand if math.isfinite(operand) else str(operand)
    if isinstance(operand, list | tuple):
        return [_json_operand(one) for one in operand]
    return str(operand)


def _parse_strict(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_refuse_constant, parse_int=_parse_integer, parse_float=_parse_float)
    except (ValueError, RecursionError) as error:
        why = "it is no JSON" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else str(error)
        raise BadBody(why=why, expected=_OBJECT) from None


def _field_converters(kind: type[msgspec.Struct], value: dict[str, Any]) -> list[tuple[str, Callable[[Any], Any]]]:
    """The fields that are given and taken as programs give them, as in every face, and what takes each."""
    taken = {"pattern": pattern_texts, "analogy": analogy_names} if kind is Shape else {}
    return [(name, take) for name, take in taken.items() if name in value]


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _parse_integer(digits: str) -> int:
    number = int(digits)
    if not _MIN_INTEGER <= number <= _MAX_INTEGER:
        raise ValueError("a number in it is larger than 64 bits")
    return number


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number in it is larger than 64 bits")
    return number
