"""Conversion of plain values into structs, safe where several threads do it for the first time at once.

msgspec lays out a struct's fields at its first conversion, and two threads that do so at one moment crash the process
(seen with 0.22.0: the second one reads what the first has not finished). So whoever is in several threads uses
`convert` and `decode`; a `Decoder` that a module makes as it is imported has done so by then.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_laid_out: set[Any] = set()
_laying_out = threading.Lock()


def convert(value: Any, kind: type[T]) -> T:
    """What a plain value stands for, as `msgspec.convert` has it.

    Raises:
        msgspec.ValidationError: it is none of that type.
    """
    _lay_out(kind)
    return msgspec.convert(value, kind)


def decode(data: bytes, kind: type[T]) -> T:
    """What JSON stands for, as `msgspec.json.decode` has it.

    Raises:
        msgspec.DecodeError: it is none, or none of that type.
    """
    _lay_out(kind)
    return msgspec.json.decode(data, type=kind)


def _lay_out(kind: Any) -> None:
    if kind not in _laid_out:
        with _laying_out:
            msgspec.json.Decoder(kind)  # and with it all that it is made of
            _laid_out.add(kind)
