"""Messages of the Binder and of structural queries (find memories by role and filler), and what is refused as none.

The Binder binds what the log brings; the Retriever
answers.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.field_checks import check_fields
from mnemic.actors.kernel.message import Id, Message, Time, Verb, safe_operand
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.recall.messages import Hit

UNKNOWN = "?"
"""The filler that asks what fills the role."""


class VectorsChanged(Message, frozen=True, kw_only=True):
    """Event: vectors were kept, or went, memories were forgotten, or scopes changed; whoever binds them may follow."""

    seq: int
    """Number of the newest transaction then."""


class BindPending(Verb["BindProgress"], frozen=True, kw_only=True):
    """Bind the next few memories that are not bound yet, or not any more: one bounded step.

    Where none is left that can be, the next prototypes of communities are bundled, and then the next memories that are
    bound and belong to no community are placed in the nearest one.
    """


class BindProgress(Message, frozen=True, kw_only=True):
    """Answer to `BindPending`."""

    done: int
    """Memories that have their hypervector."""
    pending: int
    """Memories that can be bound now, and still wait, prototypes that are to be bundled, and memories that are bound
    and can be placed in a community; what waits for its meaning first is not among them.
    """


class RetryBinding(Verb["BindProgress"], frozen=True, kw_only=True):
    """Have the memories of which something could not be bound wait again, and bind the next few: since then what reads
    them may have been mended. Answered with `BindProgress`; `BindPending` goes on.
    """


class Shape(Verb["Shaped"], frozen=True, kw_only=True):
    """Find memories by their structure, and what fills the roles that are asked for."""

    pattern: dict[str, str] = msgspec.field(default_factory=dict)
    """Role to filler, or to ``?``; an analogy has none."""
    analogy: tuple[str, ...] = ()
    """Three names A, B, C: A is to B as C is to what? Empty where a pattern is asked."""
    like: tuple[Id, ...] = ()
    """Ids of memories: others in which the same kind of thing happened are found, whoever, whenever and wherever. The
    pattern then says what is to be otherwise, and what is asked for."""
    here: bool = False
    """Whether the last steps of a conversation are the question: found are earlier moments like them, what was done
    next there, and against a failure what helped. ``session`` then names the conversation; the newest, where absent."""
    k: int | None = None
    """At most so many memories, and answers for each role; 10, or what the setting ``recall.k`` says, where absent."""
    scope: Scopes = "*"
    """A scope's path: it and what is below it; ``*`` for everything. Several paths: what is in any of them. Exact."""
    session: str | None = None
    """Only this conversation. Exact."""
    since: Time | None = None
    """Said at or after; what its source gave no time is left out. Exact."""
    until: Time | None = None
    """Said before; what its source gave no time is left out. Exact."""
    strict: bool = False
    """Whether only memories are found that have all that is exact; else those that have most of the pattern come after
    them."""
    observe: bool = True
    """Whether it is kept what was given; measuring leaves no trace."""
    private: bool = False
    """Whether the question itself is not kept, only what was given."""
    assistant: str = ""
    """The assistant that asks, as it names itself; empty where its owner does."""
    asking_session: str = ""
    """The conversation it asks from, where it is known."""


class Answer(Message, frozen=True, kw_only=True):
    """What fills an unknown role."""

    role: str
    """The role."""
    filler: str
    """What fills it."""
    confidence: float
    """How probable it is that a memory of this shape, any of them, has that filler: the share of those that match which
    have it, 0 to 1, each counting as it is probable to be meant."""
    support: int
    """How many of the memories that match it was read from."""
    worked: float | None = None
    """Of what tells a step, in which part of the cases of which it is known things were well after it; ``None`` where
    it is known of none."""
    worked_of: int = 0
    """Of how many of the memories that it was read from that is known."""
    memories: tuple[Id, ...] = ()
    """Ids of memories that it was read from, the best first, at most five."""


class Shaped(Message, frozen=True, kw_only=True):
    """Answer to `Shape`."""

    hits: tuple[Hit, ...]
    """Memories that match, best first; `Hit.why` has a share for each role of the pattern, 0 to 1. `Hit.score` is how
    much of what the pattern tells speaks for the memory, 1 where it has all of it, and `Hit.differs` says where it
    differs; of one cue alone, or strictly, how near it is. Where roles are only asked for, the score is how typical the
    memory is of all that were looked through, and `Hit.why` says so."""
    answers: tuple[Answer, ...]
    """By role in the order asked, the most confident first."""
    scope: Scopes
    """What was looked through, as it was asked for."""
    searched: int
    """How many records were looked through."""
    degraded: tuple[str, ...]
    """What did not take part, and why, one sentence each."""


class ListRoles(Verb["RolesListed"], frozen=True, kw_only=True):
    """Say what can be asked for."""


class RoleView(Message, frozen=True, kw_only=True):
    """One role."""

    name: str
    """What it is asked for by."""
    help: str
    """One sentence."""
    match: str
    """``exact``, ``near`` or ``meaning``."""
    decodes: bool
    """Whether it can be asked for with ``?``."""
    fillers: int = 0
    """How many different fillers the mind knows."""
    samples: tuple[str, ...] = ()
    """The most frequent of them, at most five."""


class RolesListed(Message, frozen=True, kw_only=True):
    """Answer to `ListRoles`."""

    roles: tuple[RoleView, ...]
    """All of them, in the order of `mnemic.hd.roles.ROLES`; after them those that only questions have."""
    bound: int
    """Memories that have their hypervector."""
    pending: int
    """Memories that wait for it."""


_MAX_ROLE_CHARS = 120
"""Characters of a role's name that are told back."""
_THREE = "three names: A is to B as C is to what is asked"


def validate_shape(asked: Shape) -> None:
    """Refuse what is no question, whatever is in memory.

    Raises:
        InvalidValue: it is none.
    """
    check_fields(asked)
    if asked.here and (asked.pattern or asked.analogy or asked.like or asked.strict):
        why = "the last steps of a conversation are the question, and nothing beside them"
        given = {
            "a pattern": asked.pattern,
            "an analogy": asked.analogy,
            "a likeness": asked.like,
            "strictly": asked.strict,
        }
        more = ", ".join(["here", *(name for name, one in given.items() if one)])
        raise InvalidValue(name="the question", value=more, why=why, expected="here alone, with a session or a time")
    if not (asked.pattern or asked.analogy or asked.like or asked.here):
        raise InvalidValue(
            name="the question", value="nothing", why="it asks for nothing", expected='a pattern, such as {"file": "?"}'
        )
    if asked.analogy and (asked.pattern or asked.like):
        other = "a pattern" if asked.pattern else "a likeness"
        raise InvalidValue(
            name="the question", value=f"{other} and an analogy", why="these are two questions", expected="one of them"
        )
    if asked.like and "session" in asked.pattern:
        why = "which conversation had all of these is a question of its own"
        raise InvalidValue(name="the question", value="a likeness, and session=?", why=why, expected="one of them")
    if asked.like and asked.strict:
        why = "what is like something has more or less of it, and not all"
        raise InvalidValue(name="the question", value="a likeness, strictly", why=why, expected="one of them")
    if asked.analogy and not (len(asked.analogy) == 3 and all(one.strip() for one in asked.analogy)):
        why = "it has not three names, or an empty one"
        raise InvalidValue(name="the analogy", value=shlex.join(asked.analogy), why=why, expected=_THREE)
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
