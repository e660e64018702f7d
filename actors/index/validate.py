"""Refuses a recall that nothing could answer, in a sentence; below `mnemic.actors.recall.recaller`."""

from __future__ import annotations

from typing import get_args

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.events import KINDS
from mnemic.actors.kernel.field_checks import check_fields
from mnemic.actors.recall.messages import Recall, SignalName

SIGNALS: tuple[SignalName, ...] = get_args(SignalName)
"""What may find a memory, or weigh it."""
LEAST_HIT_BYTES = 64
"""A shorter stretch of a longer memory says nothing."""


def check_count(k: int) -> None:
    """Raise `InvalidValue` where none is asked for."""
    if k < 1:
        raise InvalidValue(name="k", value=k, why="it is less than 1", expected="a number from 1")


def validate_recall(recall: Recall) -> None:
    """Check what the types do not tell.

    Raises:
        InvalidValue: something in it is out of range, unknown or empty.
    """
    check_fields(recall)
    if not recall.query.strip():
        raise InvalidValue(name="the query", value=recall.query, why="it is empty", expected="some words")
    if recall.k is not None:
        check_count(recall.k)
    if recall.budget_tokens is not None and recall.budget_tokens < 1:
        raise InvalidValue(
            name="the budget", value=recall.budget_tokens, why="no text fits", expected="1 or more tokens"
        )
    if recall.hit_bytes is not None and recall.hit_bytes < LEAST_HIT_BYTES:
        why, expected = f"it is less than {LEAST_HIT_BYTES}", f"a number of bytes from {LEAST_HIT_BYTES}"
        raise InvalidValue(name="the length of a hit", value=recall.hit_bytes, why=why, expected=expected)
    for name, given, known in (("a kind", recall.kinds, KINDS), ("a signal", recall.signals, SIGNALS)):
        unknown = [one for one in given if one not in known]
        if unknown or not given:
            raise InvalidValue(
                name=name,
                value=unknown[0] if unknown else "",
                why="it is not known" if unknown else "none is given",
                expected=f"one or more of {', '.join(known)}",
            )
