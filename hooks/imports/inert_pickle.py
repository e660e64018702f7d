"""Reads the plain values out of a pickle without running anything of it.

Python's own unpickler imports what a pickle names and calls it, so a pickle that somebody else made is a program. This
reads its opcodes (`pickletools.genops` takes them apart and does no more): texts, numbers, lists and dictionaries
become themselves, and whatever would be imported, called or made becomes an `Inert` that holds its state.
https://docs.python.org/3/library/pickletools.html lists the opcodes.
"""

from __future__ import annotations

import pickletools
import struct
from typing import Any

from mnemic.hooks.read.lines import InvalidInput

_MARK = object()
_MOST_STEPS = 1 << 17  # a vector has up to 65,536 numbers; each takes microseconds
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY = ("EMPTY_TUPLE", "EMPTY_LIST", "EMPTY_DICT", "EMPTY_SET")
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_CALLS = {"REDUCE": 2, "NEWOBJ": 2, "NEWOBJ_EX": 3, "STACK_GLOBAL": 2}
"""What takes a name, or what is named and what it is given."""
_PASSED_OVER = ("PROTO", "FRAME", "STOP")
_NAMING = ("INST", "PERSID", "EXT1", "EXT2", "EXT4")
"""They have an argument as texts and numbers do, which names what would be made."""


class Inert:
    """What stands for an object: nothing of it was imported, called or made."""

    def __init__(self) -> None:
        self.state: Any = None
        """What it was to be filled with, plain."""


def read_inert(data: bytes) -> Any:
    """The value of a pickle, with an `Inert` for each object of it. A set is a list.

    Raises:
        InvalidInput: it is no pickle, or it needs what no plain value or object does.
    """
    machine = _Machine()
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if number >= _MOST_STEPS:
                raise InvalidInput(f"it has more than {_MOST_STEPS:,} parts")
            machine.step(opcode.name, argument)
        return machine.pop()
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error) as error:
        why = str(error) if isinstance(error, InvalidInput) else "it is no whole pickle"
        raise InvalidInput(why) from None


class _Machine:
    """The stack and the memo of a pickle that is read."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}  # a list as long as the largest number would be made by a few bytes

    def pop(self) -> Any:
        """Take the last value; a mark is none."""
        value = self._stack.pop()
        if value is _MARK:
            raise InvalidInput("a mark stands where a value should")
        return value

    def step(self, name: str, argument: Any) -> None:
        """Take one opcode."""
        stack = self._stack
        if name == "BINFLOAT":  # a vector has hundreds
            stack.append(argument)
            return
        if name in _PASSED_OVER:
            return
        if name == "MARK":
            stack.append(_MARK)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = stack[-1]
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self._memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self._memo[argument])
        elif name in _EMPTY:
            stack.append({} if name == "EMPTY_DICT" else [])
        elif name == "BUILD":
            state = self.pop()
            if isinstance(stack[-1], Inert):
                stack[-1].state = state
        elif name == "GLOBAL":
            stack.append(Inert())
        elif name in _CALLS:
            for _ in range(_CALLS[name]):
                self.pop()
            stack.append(Inert())
        elif not self._collect(name):
            if isinstance(argument, str | bytes | int | float) and name not in _NAMING:
                stack.append(argument)
            else:
                raise InvalidInput(f"it needs {name}, which no plain value does")

    def _collect(self, name: str) -> bool:
        """Take an opcode that puts values together; says whether it was one."""
        if name in _TUPLES:
            values = [self.pop() for _ in range(_TUPLES[name])]
            self._stack.append(values[::-1])
        elif name in ("TUPLE", "LIST"):
            self._stack.append(self._marked())
        elif name == "DICT":
            self._stack.append(_pairs(self._marked()))
        elif name in ("APPENDS", "ADDITEMS"):
            values = self._marked()
            self._stack[-1].extend(values)
        elif name == "APPEND":
            value = self.pop()
            self._stack[-1].append(value)
        elif name == "SETITEMS":
            pairs = _pairs(self._marked())
            self._stack[-1].update(pairs)
        elif name == "SETITEM":
            value, key = self.pop(), self.pop()
            self._stack[-1].update(_pairs([key, value]))
        else:
            return False
        return True

    def _marked(self) -> list[Any]:
        """Take what stands above the last mark, and the mark."""
        values = []
        while (value := self._stack.pop()) is not _MARK:
            values.append(value)
        return values[::-1]


def _pairs(values: list[Any]) -> dict[Any, Any]:
    """A dictionary of keys and values in turn; what is no name of a field is left out."""
    return {key: value for key, value in zip(values[::2], values[1::2], strict=True) if isinstance(key, str)}
