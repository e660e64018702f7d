"""What every message is, and how a request names its answer: the faces and the wire go by that.

Above stand the messages themselves (`mnemic.actors.protocol.messages` and those beside it).
"""

from __future__ import annotations

import sys
from typing import Any, Generic, TypeVar, get_args

import msgspec

__all__ = ["AnswerT", "Message", "Request", "Verb", "answer_type"]

AnswerT = TypeVar("AnswerT")


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A payload: a request, its answer, an event, or a part of one."""


class Request(Message, Generic[AnswerT], frozen=True, kw_only=True):
    """What is asked of the one actor that takes it; answered with the type that it is declared with."""


class Verb(Request[AnswerT], frozen=True, kw_only=True):
    """A request that the faces may make too: its fields are the verb's parameters, and its docstrings the help.

    The HTTP API answers it under its name, the client carries it to the home's process, and what the Python method, the
    command and the MCP tool of the verb offer is built from it or held against it.
    """


def answer_type(kind: type[Request[Any]]) -> type[msgspec.Struct]:
    """The type of a request's answer, as it is declared: ``class Count(Verb["Counts"])``."""
    (named,) = get_args(kind.__orig_bases__[0])  # type: ignore[attr-defined]
    answer = named if isinstance(named, type) else getattr(sys.modules[kind.__module__], named.__forward_arg__)
    assert isinstance(answer, type)
    return answer
