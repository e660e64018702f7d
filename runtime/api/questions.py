"""Verbs of a mind that only ask: recall, structural queries, the log, one memory in detail, and usage.

Verbs of `mnemic.runtime.api.mind.Mind`; `mnemic.runtime.api.pause` below has what every answer says first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from mnemic.actors.communities.messages import CommunitiesListed
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.message import AnswerT, MemoryId, Request, ids_bytes, safe_operand
from mnemic.actors.kernel.scope_paths import normalize_scopes
from mnemic.actors.kernel.times import to_iso
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.log.messages import (
    CountUse,
    FindIds,
    ListDeliveries,
    ListMemories,
    MemoryDetail,
    NoteDelivery,
    ShowMemories,
    UseCounted,
)
from mnemic.actors.recall.messages import Recall, Recalled
from mnemic.actors.shape.messages import ListRoles, Shape, Shaped, analogy_names, pattern_texts
from mnemic.runtime.api.pause import PauseVerbs
from mnemic.runtime.api.verbs import MindVerbs, fields_as_parameters

FoundT = TypeVar("FoundT", Recalled, Shaped, CommunitiesListed)
AskedP = ParamSpec("AskedP")
QuestionT = TypeVar("QuestionT", bound=msgspec.Struct)

_TWO_63 = 2**63
"""What an integer of the store has no room for; in microseconds, 292,000 years."""


def question(kind: type[QuestionT], /, **asked: Any) -> QuestionT:
    """A question of what is given of its fields: the scopes paths, any sequence a tuple.

    Raises:
        InvalidValue: the scope is none, the span of time holds nothing, or a number is larger than 64 bits.
    """
    _check_time_range(asked.get("since"), asked.get("until"))
    for name, given in asked.items():
        if isinstance(given, int) and not -_TWO_63 <= given < _TWO_63:
            why, expected = "it is larger than 64 bits", "a smaller number"
            raise InvalidValue(name=name, value=given, why=why, expected=expected)
    if "scope" in asked:
        asked["scope"] = normalize_scopes(asked["scope"])
    lists = {name: tuple(one) for name, one in asked.items() if isinstance(one, Sequence) and not isinstance(one, str)}
    return kind(**asked | lists)


def verb(kind: Callable[AskedP, Request[AnswerT]], name: str) -> Callable[Concatenate[Any, AskedP], AnswerT]:
    """Make a method of that name that asks a message of what it is given; its parameters are the message's fields."""
    message: Any = kind

    def method(self: MindVerbs, /, **asked: Any) -> Any:
        return self._ask(question(message, **asked))

    method.__name__ = name
    method.__doc__ = f"""{message.__doc__}

        See `{message.__module__}.{message.__name__}` for what each argument means.

        Raises:
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
    return fields_as_parameters(message)(method)  # type: ignore[return-value]


class QuestionVerbs(PauseVerbs):
    """The verbs."""

    log = verb(ListMemories, "log")
    log_given = verb(ListDeliveries, "log_given")
    roles = verb(ListRoles, "roles")

    @fields_as_parameters(Recall)
    def recall(
        self,
        query: str,
        k: int | None = None,
        *,
        progress: Callable[[int, int | None], None] | None = None,
        **asked: Any,
    ) -> Recalled:
        """Find the memories that matter; `mnemic.actors.recall.messages.Recall` says what each argument is.

        Args:
            progress: told how far the work is, where it takes long: at first, all memories are loaded.

        Raises:
            UnknownScope, UnknownSession, UnknownFilter, InvalidValue: what was asked for cannot be.
        """
        return self._with_notices(self._ask(question(Recall, query=query, k=k, **asked), progress=progress))

    @fields_as_parameters(Shape)
    def shape(
        self,
        pattern: Mapping[str, str | float] | None = None,
        k: int | None = None,
        *,
        analogy: Sequence[str] = (),
        like: Iterable[MemoryId] = (),
        progress: Callable[[int, int | None], None] | None = None,
        **asked: Any,
    ) -> Shaped:
        """Find memories by their structure, and what fills the roles that are asked for with ``?``.

        See `mnemic.actors.shape.messages.Shape` for what each argument means; `roles` says what can be asked
        for.

        Args:
            pattern: role to filler, or to ``?``; none where an analogy is asked. Numbers are taken as their text, and
                true and false as yes and no.
            like: of each memory the 16 bytes, the UUID or its text.
            progress: told how far the work is, where it takes long: at first, what fills all roles is loaded.

        Raises:
            UnknownRole, UnknownScope, UnknownSession, InvalidValue: what was asked for cannot be.
        """
        roles = pattern_texts({} if pattern is None else pattern)
        message = question(Shape, pattern=roles, analogy=analogy_names(analogy), like=ids_bytes(like), k=k, **asked)
        return self._with_notices(self._ask(message, progress=progress))

    def _with_notices(self, answer: FoundT) -> FoundT:
        """An answer that also says what every answer says first."""
        more: tuple[str, ...] = (*self._warnings.values(), *self._pause_notice())
        return msgspec.structs.replace(answer, degraded=(*answer.degraded, *more)) if more else answer

    def show(self, ids: Iterable[MemoryId], context: int = 0) -> tuple[MemoryDetail, ...]:
        """Give memories whole, with links, source, use, and what superseded each, in the order asked for.

        Args:
            ids: of each the 16 bytes, the UUID or its text.
            context: so many turns of the conversation before each and after it come with it.

        Raises:
            NoSuchMemory: one of them is not there.
            InvalidValue: one of them is no id, or the context no number of turns.
        """
        answer = self._ask(ShowMemories(ids=ids_bytes(ids), context=context))
        return answer.memories

    def find_ids(self, ends: Iterable[str]) -> tuple[bytes, ...]:
        """Find memories by the ends of their ids: answers print the last eight digits.

        Raises:
            NoSuchMemory: no id ends so.
            AmbiguousId: several do.
        """
        return self._ask(FindIds(ends=tuple(ends))).ids

    def use(self, weeks: int = 8) -> UseCounted:
        """Count memories, bytes and the tokens that assistants were given, by project and by week.

        Raises:
            InvalidValue: it is no number of weeks.
        """
        return self._ask(CountUse(weeks=weeks), idle=True)

    def note_delivery(
        self, assistant: str, session: str, parts: Sequence[DeliveredSpan], *, named: bool = False
    ) -> None:
        """Keep that an assistant was given memories that it named itself, or read in what is made of them.

        Args:
            assistant: who asked, as it names itself.
            session: the conversation, where it is known.
            parts: what was given of each, and why.
            named: whether it named them by their ids.
        """
        told = NoteDelivery(assistant=assistant, session=session, parts=tuple(parts), named=named)
        self.actor_system.tell(told)


def _check_time_range(since: int | None, until: int | None) -> None:
    """Refuse a span of time that holds nothing, or that no store can tell.

    Raises:
        InvalidValue: it is one, or an end of it is no number.
    """
    for name, at in (("since", since), ("until", until)):
        given: Any = at  # by programs, it may be anything
        whole = isinstance(given, int)
        if given is not None and not (whole and -_TWO_63 <= given < _TWO_63):
            raise InvalidValue(
                name=name,
                value=safe_operand(given),
                why="no time is as far from 1970 as that" if whole else "it is no whole number",
                expected="microseconds since 1970 UTC, as `mnemic.actors.kernel.times.parse_time` gives them",
            )
    if since is not None and until is not None and until <= since:
        raise InvalidValue(
            name="until",
            value=to_iso(until),
            why=f"nothing lies at or after {to_iso(since)} and before this",
            expected="a time after the one of since",
        )
