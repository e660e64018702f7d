"""The wire: messages, answers and errors as JSON, for those who ask a home's process from outside.

Only what a face may say is known here: nobody outside tells the Store to `Apply`. JSON goes through the standard
library's, since a text may hold a lone surrogate, which strict encoders refuse; bytes are base64. An answer names its
type, an error carries its operands, so that whoever asks gets the same objects as inside the process.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

from mnemic.actors.protocol import errors
from mnemic.actors.protocol.ambient_messages import (
    Brief,
    Briefed,
    Drained,
    DrainSpool,
    Queued,
    QueueTranscripts,
    ReadAgain,
    Reread,
    Waiting,
    WaitingCounts,
)
from mnemic.actors.protocol.errors import (
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
from mnemic.actors.protocol.log_messages import (
    CountUse,
    GivenListed,
    ListGiven,
    ListMemories,
    MemoriesListed,
    NoteGiven,
    ShowMemories,
    ShownMemories,
    UseCounted,
)
from mnemic.actors.protocol.messages import (
    CaptureText,
    Committed,
    CopyNoted,
    Count,
    Counts,
    Embedded,
    EmbedPending,
    EncoderNamed,
    FindScope,
    FindSimilar,
    Forget,
    Forgotten,
    GetMemories,
    Memories,
    NameEncoder,
    NightReport,
    NoteCopy,
    Preempt,
    Rebuild,
    Rebuilt,
    Recall,
    Recalled,
    Recover,
    ScopeFound,
    SimilarFound,
    Sleep,
    Take,
    Taken,
    TextCaptured,
)
from mnemic.actors.protocol.scope_messages import ListScopes, Rescope, Rescoped, Scopes, Survey, Surveyed, Sweep, Swept
from mnemic.actors.protocol.shape_messages import BindAgain, BindPending, Bound, ListRoles, RolesListed, Shape, Shaped
from mnemic.actors.protocol.validation_text import misfit, shown
from mnemic.actors.shape.arguments import names, texts

__all__ = ["ASKED", "TOLD", "decode", "decode_error", "decode_message", "encode", "encode_error", "path_of"]


def path_of(message: Any) -> str:
    """A message's name in a path: ``capture-text`` for `CaptureText`; of a message or of its type."""
    kind = message if isinstance(message, type) else type(message)
    return re.sub(r"(?<!^)(?=[A-Z])", "-", kind.__name__).lower()


ASKED: dict[str, type[msgspec.Struct]] = {
    path_of(kind): kind
    for kind in (
        Take,
        CaptureText,
        Forget,
        Recover,
        Rebuild,
        EmbedPending,
        NameEncoder,
        Recall,
        GetMemories,
        FindScope,
        Count,
        ListMemories,
        ListGiven,
        ShowMemories,
        CountUse,
        Brief,
        Sleep,
        DrainSpool,
        QueueTranscripts,
        Waiting,
        ReadAgain,
        NoteCopy,
        FindSimilar,
        ListScopes,
        Rescope,
        Survey,
        Sweep,
        Shape,
        ListRoles,
        BindPending,
        BindAgain,
    )
}
"""What a face may ask, by path."""
TOLD: dict[str, type[msgspec.Struct]] = {path_of(kind): kind for kind in (Committed, Preempt, NoteGiven)}
"""What a face may tell, by path."""
_ANSWERS: dict[str, type[msgspec.Struct]] = {
    kind.__name__: kind
    for kind in (
        Taken,
        TextCaptured,
        Forgotten,
        Rebuilt,
        Embedded,
        EncoderNamed,
        Recalled,
        Memories,
        ScopeFound,
        Counts,
        MemoriesListed,
        GivenListed,
        ShownMemories,
        UseCounted,
        Briefed,
        NightReport,
        Drained,
        Queued,
        WaitingCounts,
        Reread,
        CopyNoted,
        SimilarFound,
        Scopes,
        Rescoped,
        Surveyed,
        Swept,
        Shaped,
        RolesListed,
        Bound,
    )
}
_ERRORS: dict[str, type[MnemicError]] = {getattr(errors, name).code: getattr(errors, name) for name in errors.__all__}
_FAMILIES: dict[str, type[MnemicError]] = {
    kind.__name__: kind for kind in (BadInput, StoreError, ModelError, RuntimeFault, MnemicError)
}
_OBJECT = "one JSON object"
_LONGEST = 60  # characters of a field's name that are told back
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1  # what an integer of the store or of NumPy can be


def encode(struct: msgspec.Struct | None) -> bytes:
    """A message or an answer as JSON, its type named in ``type``."""
    if struct is None:
        return b"null"
    return json.dumps({"type": type(struct).__name__, **msgspec.to_builtins(struct)}, separators=(",", ":")).encode()


def decode(value: Any) -> Any:
    """The answer that a JSON value stands for.

    Raises:
        ValueError: it is none that a face gives.
    """
    if value is None:
        return None
    if not isinstance(value, dict) or value.get("type") not in _ANSWERS:
        raise ValueError("this is no answer that a face gives")
    return msgspec.convert(value, _ANSWERS[value["type"]])


def decode_message(kind: type[msgspec.Struct], body: bytes) -> Any:
    """The message of a type that a body gives the fields of.

    Raises:
        BadBody: it is no JSON object.
        MissingArgument, UnknownArgument, InvalidValue: its fields are not the message's.
    """
    value = _strict(body or b"{}")
    if not isinstance(value, dict):
        raise BadBody(why="it is no JSON object", expected=_OBJECT)
    message, named = path_of(kind), value.pop("type", kind.__name__)
    fields = msgspec.structs.fields(kind)
    known = ", ".join(field.name for field in fields) or "nothing"
    stray = min(value.keys() - {field.name for field in fields}, default=None)
    if stray is not None:
        near = difflib.get_close_matches(stray[:_LONGEST], [field.name for field in fields], n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise UnknownArgument(tool=message, name=stray[:_LONGEST], near=hint, known=known)
    if named != kind.__name__:
        raise InvalidValue(name="type", value=shown(named), why=f"{message} is asked", expected=kind.__name__)
    for field in fields:
        if field.required and field.name not in value:
            raise MissingArgument(tool=message, name=field.name, known=known)
    try:
        return msgspec.convert(value | {name: take(value[name]) for name, take in _takers(kind, value)}, kind)
    except msgspec.ValidationError as error:
        raise misfit(error, value) from None
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
        "operands": {name: _plain(operand) for name, operand in error.operands.items()},
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
        "sentence": _literal(sentence),
        "remedy": _literal(remedy),
        "__reduce__": lambda error: (decode_error, (encode_error(error),)),
    }
    error = type(family.__name__, (family,), said)(**(operands if isinstance(operands, dict) else {}))
    assert isinstance(error, MnemicError)
    return error


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _plain(operand: Any) -> Any:
    """An operand as JSON carries it; what it does not carry is written as text."""
    if operand is None or isinstance(operand, str | bool | int):
        return operand
    if isinstance(operand, float):
        return operand if math.isfinite(operand) else str(operand)
    if isinstance(operand, list | tuple):
        return [_plain(one) for one in operand]
    return str(operand)


def _strict(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_refuse, parse_int=_integer, parse_float=_number)
    except (ValueError, RecursionError) as error:
        why = "it is no JSON" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else str(error)
        raise BadBody(why=why, expected=_OBJECT) from None


def _takers(kind: type[msgspec.Struct], value: dict[str, Any]) -> list[tuple[str, Callable[[Any], Any]]]:
    """The fields that are given and taken as programs give them, as in every face, and what takes each."""
    taken = {"pattern": texts, "analogy": names} if kind is Shape else {}
    return [(name, take) for name, take in taken.items() if name in value]


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _integer(digits: str) -> int:
    number = int(digits)
    if not _LEAST <= number <= _MOST:
        raise ValueError("a number in it is larger than 64 bits")
    return number


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number in it is larger than 64 bits")
    return number
