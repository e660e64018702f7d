"""Patterns: what is asked of a memory's structure, read from roles and fillers as people write them. Pure.

``who=assistant tool=pytest outcome=failed file=?``: roles that are known, and roles that are asked for. Which roles are
asked tells which records are looked through: episodes, facts or steps. ``after`` and ``then`` are roles of steps that
only a question has: the steps before one, oldest first, and the step itself. `mnemic.actors.shaping` answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import msgspec

from mnemic.actors.errors import InvalidValue, UnknownRole
from mnemic.actors.shapes import UNKNOWN
from mnemic.actors.times import parse_days
from mnemic.hd.encoders import canonical, match_of
from mnemic.hd.records import Pair
from mnemic.hd.roles import ROLES, TIERS, Tier

__all__ = ["AFTER", "SAYS", "STEPS_BACK", "THEN", "Known", "Question", "meanings", "read"]

AFTER, THEN = "after", "then"
SAYS: tuple[str, ...] = ("action", "target", "tool", "outcome")
"""What a step is told by, in this order."""
STEPS_BACK = 3
"""A step remembers so many before it."""
_WHOLES: dict[Tier, str] = {"episode": "memories", "fact": "facts", "step": "steps"}


class Known(NamedTuple):
    """One pair that the records sought have."""

    asked: str
    """The role it was asked by: its own, or ``after`` or ``then``."""
    pair: Pair
    """The pair."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern, read."""

    tier: Tier
    """Which records are looked through."""
    exact: tuple[Known, ...] = ()
    """What they have or have not."""
    near: tuple[Known, ...] = ()
    """What they have the more of the nearer it is."""
    meanings: tuple[tuple[str, str], ...] = ()
    """Roles of meaning, and the texts that they are near to."""
    unknown: tuple[str, ...] = ()
    """Roles that are asked for, in order."""
    since: int | None = None
    """World time, microseconds: said at or after."""
    until: int | None = None
    """World time, microseconds: said before."""


def meanings(pattern: Mapping[str, str]) -> dict[str, str]:
    """The roles of a pattern whose fillers are texts that must be embedded, and the texts."""
    return {
        role: text
        for role, text in pattern.items()
        if role in ROLES and match_of(role) == "meaning" and text.strip() not in ("", UNKNOWN)
    }


def read(
    pattern: Mapping[str, str],
    bound: Collection[str],
    fillers: Callable[[str], Collection[str]],
) -> Question:
    """Read a pattern.

    Args:
        bound: names of the roles that are bound.
        fillers: the fillers of a role that any memory has.

    Raises:
        UnknownRole: there is no role of a name.
        InvalidValue: a filler is none for its role, a role cannot be asked for, or roles don't go together.
    """
    if not pattern:
        raise InvalidValue(name="the pattern", value="", why="it asks for nothing", expected="a role, such as file=?")
    for name, filler in pattern.items():
        _check(name, filler, bound)
    tier = _tier(pattern)
    exact: list[Known] = []
    near: list[Known] = []
    since = until = None
    for name, filler in pattern.items():
        if filler.strip() == UNKNOWN or (name in ROLES and match_of(name) == "meaning"):
            continue
        if name in (AFTER, THEN):
            exact += _steps(name, filler, fillers)
        elif name == "date" and (span := parse_days("the role date", filler)) is not None:
            since, until = span
        else:
            try:
                pair = Pair(name, canonical(name, filler))
            except ValueError as error:
                raise InvalidValue(
                    name=f"the role {name}", value=filler, why=str(error), expected=f"another filler of {name}"
                ) from None
            (exact if match_of(name) == "exact" else near).append(Known(name, pair))
    return Question(
        tier=tier,
        exact=tuple(exact),
        near=tuple(near),
        meanings=tuple(meanings(pattern).items()),
        unknown=tuple(name for name, filler in pattern.items() if filler.strip() == UNKNOWN),
        since=since,
        until=until,
    )


def _check(name: str, filler: str, bound: Collection[str]) -> None:
    if name not in ROLES and name not in (AFTER, THEN):
        raise UnknownRole(role=name, known=", ".join([*bound, AFTER, THEN]))
    if name in ROLES and name not in bound:
        raise InvalidValue(
            name="a role",
            value=name,
            why="the setting binder.leave_out leaves it out of what is bound",
            expected=f"one of {', '.join(bound)}",
        )
    if not filler.strip():
        raise InvalidValue(name=f"the role {name}", value=filler, why="it is empty", expected="a filler, or ?")
    if filler.strip() != UNKNOWN:
        return
    if name in ROLES and not ROLES[name].decodes:
        raise InvalidValue(
            name=f"the role {name}",
            value=UNKNOWN,
            why="what something is about has no name that could be told",
            expected=f'some words that it is near to, such as {name}="token rotation", or ask for topic=?',
        )
    if name == AFTER:
        raise InvalidValue(
            name="the role after",
            value=UNKNOWN,
            why="what came before is not asked for",
            expected='the steps before, oldest first, such as after="edit, test failed", and ask for then=?',
        )


def _tier(pattern: Mapping[str, str]) -> Tier:
    """Which records are asked for: those that all roles are roles of, where only some records have one."""
    telling: dict[Tier, list[str]] = {tier: [] for tier in TIERS}
    for name in pattern:
        if name in (AFTER, THEN):
            telling["step"].append(name)
        elif "episode" not in ROLES[name].tiers:
            telling[ROLES[name].tiers[0]].append(name)
    facts, steps = telling["fact"], telling["step"]
    if facts and steps:
        raise InvalidValue(
            name="the pattern",
            value=", ".join([*facts, *steps]),
            why=f"{facts[0]} is a role of facts and {steps[0]} one of steps",
            expected="roles of one of them",
        )
    tier: Tier = "step" if steps else "fact" if facts else "episode"
    for name in pattern:
        if name in ROLES and tier not in ROLES[name].tiers:
            has = [one.name for one in ROLES.values() if tier in one.tiers]
            raise InvalidValue(
                name="the pattern",
                value=name,
                why=f"{(facts or steps)[0]} asks for {_WHOLES[tier]}, which have no role {name}",
                expected=f"roles of {_WHOLES[tier]}: {', '.join(has)}",
            )
    return tier


def _steps(name: str, filler: str, fillers: Callable[[str], Collection[str]]) -> list[Known]:
    """The pairs that say which steps came before, or which step it is."""
    told = [one.strip() for one in filler.split(",")] if name == AFTER else [filler.strip()]
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
        for pair in _resolved(name, step, fillers)
    ]


def _resolved(name: str, step: str, fillers: Callable[[str], Collection[str]]) -> list[Pair]:
    """What the words of a step say of it: the longest names first, each role once."""
    words, found, start = step.lower().split(), {}, 0
    while start < len(words):
        for end in range(len(words), start, -1):
            phrase = " ".join(words[start:end])
            role = next((one for one in SAYS if one not in found and phrase in fillers(one)), None)
            if role is not None:
                found[role], start = Pair(role, phrase), end
                break
        else:
            known = [filler for role in SAYS for filler in list(fillers(role))[:4]]
            raise InvalidValue(
                name=f"the role {name}",
                value=step,
                why=f"no step has {words[start]!r} that the other words have not said already",
                expected=f"words that tell steps here: {', '.join(dict.fromkeys(known))}"
                if known
                else "another question: no step of a tool is bound yet",
            )
    return list(found.values())
