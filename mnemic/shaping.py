"""Shaping: memories asked for by their structure, and what can be asked for.

Verbs of `mnemic.mind.Mind`; `mnemic.pausing` below has what every answer says first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from mnemic.actors.shape_asked import names, texts
from mnemic.actors.shapes import ListRoles, RolesListed, Shape, Shaped
from mnemic.pausing import Pausing
from mnemic.runtime.projects import clean_scope
from mnemic.seeing import check_span

__all__ = ["Shaping"]


class Shaping(Pausing):
    """The verbs."""

    _behind: Sequence[str]

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
        asking: str = "",
        progress: Callable[[int, int | None], None] | None = None,
    ) -> Shaped:
        """Find memories by their structure, and what fills the roles that are asked for with ``?``.

        See `mnemic.actors.shapes.Shape` for what each argument means; `roles` says what can be asked for.

        Args:
            pattern: role to filler, or to ``?``; none where an analogy is asked. Numbers are taken as their text, and
                true and false as yes and no.
            analogy: three names.
            progress: told how far the work is, where it takes long: at first, all hypervectors are loaded.

        Raises:
            UnknownRole, UnknownScope, InvalidValue: what was asked for cannot be.
        """
        check_span(since, until)
        answer = self._ask(
            Shape(
                pattern=texts({} if pattern is None else pattern),
                analogy=names(analogy),
                k=k,
                scope=scope if scope == "*" else clean_scope(scope),
                session=session,
                since=since,
                until=until,
                observe=observe,
                private=private,
                assistant=assistant,
                asking=asking,
            ),
            progress,
        )
        assert isinstance(answer, Shaped)
        more = (*self._behind, *self._notices())
        return msgspec.structs.replace(answer, degraded=(*answer.degraded, *more)) if more else answer

    def roles(self) -> RolesListed:
        """Say what memories can be asked for by: each role, how its fillers match, and the most frequent of them."""
        answer = self._ask(ListRoles())
        assert isinstance(answer, RolesListed)
        return answer
