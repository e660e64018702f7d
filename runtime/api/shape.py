"""Verbs of a mind for structural queries, and the list of roles they can use.

Verbs of `mnemic.runtime.api.mind.Mind`; `mnemic.runtime.api.pause` below has what every answer says first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from mnemic.actors.protocol.messages import Recalled
from mnemic.actors.protocol.shape_messages import ListRoles, RolesListed, Shape, Shaped, analogy_names, pattern_texts
from mnemic.runtime.api.log import question
from mnemic.runtime.api.pause import PauseVerbs
from mnemic.runtime.api.verbs import fields_as_parameters

__all__ = ["ShapeVerbs"]

FoundT = TypeVar("FoundT", Recalled, Shaped)


class ShapeVerbs(PauseVerbs):
    """The verbs."""

    _drain_warnings: Sequence[str]

    @fields_as_parameters(Shape)
    def shape(
        self,
        pattern: Mapping[str, str | float] | None = None,
        k: int | None = None,
        *,
        analogy: Sequence[str] = (),
        progress: Callable[[int, int | None], None] | None = None,
        **asked: Any,
    ) -> Shaped:
        """Find memories by their structure, and what fills the roles that are asked for with ``?``.

        See `mnemic.actors.protocol.shape_messages.Shape` for what each argument means; `roles` says what can be asked
        for.

        Args:
            pattern: role to filler, or to ``?``; none where an analogy is asked. Numbers are taken as their text, and
                true and false as yes and no.
            progress: told how far the work is, where it takes long: at first, all hypervectors are loaded.

        Raises:
            UnknownRole, UnknownScope, InvalidValue: what was asked for cannot be.
        """
        roles = pattern_texts({} if pattern is None else pattern)
        message = question(Shape, pattern=roles, analogy=analogy_names(analogy), k=k, **asked)
        return self._with_notices(self._ask(message, progress=progress))

    def roles(self) -> RolesListed:
        """Say what memories can be asked for by: each role, how its fillers match, and the most frequent of them."""
        return self._ask(ListRoles())

    def _with_notices(self, answer: FoundT) -> FoundT:
        """An answer that also says what every answer says first."""
        more: tuple[str, ...] = (*self._drain_warnings, *self._notices())
        return msgspec.structs.replace(answer, degraded=(*answer.degraded, *more)) if more else answer
