"""Verbs of a mind for structural queries, and the list of roles they can use.

Verbs of `mnemic.runtime.api.mind.Mind`; `mnemic.runtime.api.pause` below has what every answer says first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from mnemic.actors.protocol.scopes import normalize_scope_path
from mnemic.actors.protocol.shape_messages import ListRoles, RolesListed, Shape, Shaped
from mnemic.actors.shape.arguments import analogy_names, pattern_texts
from mnemic.runtime.api.log import check_time_range
from mnemic.runtime.api.pause import PauseVerbs

__all__ = ["ShapeVerbs"]


class ShapeVerbs(PauseVerbs):
    """The verbs."""

    _drain_warnings: Sequence[str]

    def shape(
        self,
        pattern: Mapping[str, str | float] | None = None,
        k: int | None = None,
        *,
        scope: str = "*",
        session: str | None = None,
        since: int | None = None,
        until: int | None = None,
        analogy: Sequence[str] = (),
        observe: bool = True,
        private: bool = False,
        assistant: str = "",
        asking_session: str = "",
        progress: Callable[[int, int | None], None] | None = None,
    ) -> Shaped:
        """Find memories by their structure, and what fills the roles that are asked for with ``?``.

        See `mnemic.actors.protocol.shape_messages.Shape` for what each argument means; `roles` says what can be asked
        for.

        Args:
            pattern: role to filler, or to ``?``; none where an analogy is asked. Numbers are taken as their text, and
                true and false as yes and no.
            analogy: three names.
            progress: told how far the work is, where it takes long: at first, all hypervectors are loaded.

        Raises:
            UnknownRole, UnknownScope, InvalidValue: what was asked for cannot be.
        """
        check_time_range(since, until)
        answer = self._ask(
            Shape(
                pattern=pattern_texts({} if pattern is None else pattern),
                analogy=analogy_names(analogy),
                k=k,
                scope=scope if scope == "*" else normalize_scope_path(scope),
                session=session,
                since=since,
                until=until,
                observe=observe,
                private=private,
                assistant=assistant,
                asking_session=asking_session,
            ),
            progress=progress,
        )
        more = (*self._drain_warnings, *self._notices())
        return msgspec.structs.replace(answer, degraded=(*answer.degraded, *more)) if more else answer

    def roles(self) -> RolesListed:
        """Say what memories can be asked for by: each role, how its fillers match, and the most frequent of them."""
        return self._ask(ListRoles())
