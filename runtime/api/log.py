"""Verbs of a mind that list memories, deliveries to assistants, one memory in detail, and usage.

Verbs of `mnemic.runtime.api.mind.Mind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from mnemic.actors.protocol.changes import DeliveredSpan
from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.log_messages import (
    CountUse,
    DeliveriesListed,
    ListDeliveries,
    ListMemories,
    MemoriesListed,
    MemoryDetail,
    NoteDelivery,
    ShowMemories,
    UseCounted,
)
from mnemic.actors.protocol.message import safe_operand
from mnemic.actors.protocol.scopes import normalize_scope_path
from mnemic.actors.protocol.times import to_iso
from mnemic.runtime.api.verbs import MindVerbs, fields_as_parameters

__all__ = ["InspectionVerbs", "question"]

QuestionT = TypeVar("QuestionT", bound=msgspec.Struct)

_MAX_TIME_US = 2**63
"""Microseconds that a column of the store has no room for: 292,000 years."""


class InspectionVerbs(MindVerbs):
    """The verbs."""

    @fields_as_parameters(ListMemories)
    def log(self, **asked: Any) -> MemoriesListed:
        """List what was captured, newest first; see `mnemic.actors.protocol.log_messages.ListMemories` for what each
        argument means.

        Raises:
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        return self._ask(question(ListMemories, **asked))

    @fields_as_parameters(ListDeliveries)
    def log_given(self, **asked: Any) -> DeliveriesListed:
        """List what assistants were given, word for word, newest first; see
        `mnemic.actors.protocol.log_messages.ListDeliveries`.

        Raises:
            InvalidValue: what was asked for cannot be.
        """
        return self._ask(question(ListDeliveries, **asked))

    def show(self, ids: Sequence[bytes]) -> tuple[MemoryDetail, ...]:
        """Give memories whole, with links, source, use, and what superseded each, in the order asked for.

        Raises:
            NoSuchMemory: one of them is not there.
        """
        answer = self._ask(ShowMemories(ids=tuple(ids)))
        return answer.memories

    def use(self, weeks: int = 8) -> UseCounted:
        """Count memories, bytes and the tokens that assistants were given, by project and by week.

        Raises:
            InvalidValue: it is no number of weeks.
        """
        return self._ask(CountUse(weeks=weeks), idle=True)

    def note_delivery(self, assistant: str, session: str, parts: Sequence[DeliveredSpan]) -> None:
        """Keep in the log that an assistant was given memories that it named itself.

        Args:
            assistant: who asked, as it names itself.
            session: the conversation, where it is known.
            parts: what was given of each, and why.
        """
        self.actor_system.tell(NoteDelivery(assistant=assistant, session=session, parts=tuple(parts)))


def question(kind: type[QuestionT], **asked: Any) -> QuestionT:
    """A question of what is given of its fields: the scope a path, any sequence a tuple.

    Raises:
        InvalidValue: the scope is none, or the span of time holds nothing.
    """
    _check_time_range(asked.get("since"), asked.get("until"))
    if asked.get("scope", "*") != "*":
        asked["scope"] = normalize_scope_path(asked["scope"])
    lists = {name: tuple(one) for name, one in asked.items() if isinstance(one, Sequence) and not isinstance(one, str)}
    return kind(**asked | lists)


def _check_time_range(since: int | None, until: int | None) -> None:
    """Refuse a span of time that holds nothing, or that no store can tell.

    Raises:
        InvalidValue: it is one, or an end of it is no number.
    """
    for name, at in (("since", since), ("until", until)):
        given: Any = at  # by programs, it may be anything
        whole = isinstance(given, int)
        if given is not None and not (whole and -_MAX_TIME_US <= given < _MAX_TIME_US):
            raise InvalidValue(
                name=name,
                value=safe_operand(given),
                why="no time is as far from 1970 as that" if whole else "it is no whole number",
                expected="microseconds since 1970 UTC, as `mnemic.actors.protocol.times.parse_time` gives them",
            )
    if since is not None and until is not None and until <= since:
        raise InvalidValue(
            name="until",
            value=to_iso(until),
            why=f"nothing lies at or after {to_iso(since)} and before this",
            expected="a time after the one of since",
        )
