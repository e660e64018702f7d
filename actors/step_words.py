"""Steps in words: ``after="edit, test failed"`` and ``then="edit python"`` as pairs of role and filler. Pure.

Below `mnemic.actors.patterns`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

from mnemic.actors.errors import InvalidValue
from mnemic.hd.records import Pair
from mnemic.hd.symbols import LONGEST

__all__ = ["AFTER", "SAYS", "STEPS_BACK", "THEN", "Known", "step_pairs"]

AFTER, THEN = "after", "then"
SAYS: tuple[str, ...] = ("action", "target", "tool", "outcome")
"""What a step is told by, in this order."""
STEPS_BACK = 3
"""A step remembers so many before it."""
_APART = re.compile(r"[;|>&]|\bthen\b")
"""What people write between steps, beside a comma."""
_MOST_WORDS = LONGEST // 2
"""No name has more."""
_LONGEST = 60
"""Characters of a word that is told back."""
_STEPS_LIKE = 'after="edit, test failed"'


class Known(NamedTuple):
    """One pair that the records sought have."""

    asked: str
    """The role it was asked by: its own, or ``after`` or ``then``."""
    pair: Pair
    """The pair."""


def step_pairs(name: str, filler: str, fillers: Callable[[str], Collection[str]] | None) -> list[Known]:
    """The pairs that say which steps came before, or which step it is.

    Args:
        name: `AFTER` or `THEN`.
        filler: what was asked for by it.
        fillers: the fillers of a role that any memory has; ``None`` where nobody can tell: there are no pairs then.

    Raises:
        InvalidValue: they are no steps, or not told by words that steps here have.
    """
    told = [one.strip() for one in filler.split(",")]
    if name == THEN and len(told) > 1:
        raise InvalidValue(
            name="the role then",
            value=filler,
            why="it is one step, and a comma stands between two",
            expected=f"the words of one step; those before it go into after, as in {_STEPS_LIKE}",
        )
    if not all(told):
        raise InvalidValue(name=f"the role {name}", value=filler, why="a step is empty", expected="words for each step")
    if len(told) > STEPS_BACK:
        raise InvalidValue(
            name="the role after",
            value=filler,
            why=f"a step remembers {STEPS_BACK} steps before it, and these are {len(told)}",
            expected=f"the last {STEPS_BACK}",
        )
    return [
        Known(name, pair._replace(shift=shift))
        for shift, step in zip(range(len(told), 0, -1) if name == AFTER else (0,), told, strict=True)
        for pair in (_resolved(name, step, fillers) if fillers is not None else ())
    ]


def _resolved(name: str, step: str, fillers: Callable[[str], Collection[str]]) -> list[Pair]:
    """What the words of a step say of it: the longest names first, each role once."""
    words, found, start = step.lower().split(), {}, 0
    while start < len(words):
        for end in range(min(len(words), start + _MOST_WORDS), start, -1):
            phrase = " ".join(words[start:end])
            role = next((one for one in SAYS if one not in found and phrase in fillers(one)), None)
            if role is not None:
                found[role], start = Pair(role, phrase), end
                break
        else:
            known = [filler for role in SAYS for filler in list(fillers(role))[:4]]
            word = words[start][:_LONGEST]
            again = next((role for role in found if word in fillers(role)), None)
            why = f"the step is told by {word!r} twice" if again else f"no step here is told by {word!r}"
            if again and found[again].filler != word:
                why = f"{word!r} and {str(found[again].filler)!r} are both a step's {again}"
            if name == AFTER and _APART.search(step):
                expected = f"a comma between two steps, as in {_STEPS_LIKE}"
            elif known:
                expected = f"words that tell steps here: {', '.join(dict.fromkeys(known))}"
            else:
                expected = "another question: no step of a tool is bound yet"
            raise InvalidValue(name=f"the role {name}", value=step, why=why, expected=expected)
    return list(found.values())
