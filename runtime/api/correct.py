"""Verbs of a mind that store a text on purpose or correct a memory, and name near-duplicates.

Verbs of `mnemic.runtime.api.mind.Mind`; `mnemic.runtime.api.scopes` below has those of scopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mnemic.actors.protocol.changes import ScopeRef
from mnemic.actors.protocol.errors import InvalidValue, MnemicError
from mnemic.actors.protocol.events import to_bytes
from mnemic.actors.protocol.messages import (
    CaptureText,
    FindScope,
    FindSimilar,
    GetMemories,
    Memory,
    SimilarFound,
    TextCaptured,
)
from mnemic.actors.protocol.scopes import normalize_scope_path
from mnemic.runtime.api.scopes import ScopeVerbs
from mnemic.runtime.api.verbs import fields_as_parameters
from mnemic.runtime.minds.projects import resolve_scope

__all__ = ["CorrectionVerbs"]


class CorrectionVerbs(ScopeVerbs):
    """The verbs."""

    @fields_as_parameters(CaptureText, "place", "occurrence")
    def remember(
        self,
        text: str,
        *,
        scope: ScopeRef | str | None = None,
        supersedes: bytes | None = None,
        similar: bool = True,
        **asked: Any,
    ) -> TextCaptured:
        """Keep one text; with `supersedes`, it replaces an earlier memory and outranks it from then on.

        Args:
            scope: where it belongs; where absent, the scope of what it replaces, else none.
            similar: whether what says nearly the same is named with the answer; that takes as long as a recall.

        Raises:
            InvalidValue: the text is empty, an argument is not of its kind, or the memory would replace itself or one
                of another scope.
            NoSuchMemory: there is nothing of the id to replace.
        """
        place = scope if isinstance(scope, ScopeRef) else resolve_scope(scope, None)
        if supersedes is not None:
            there = self._get_memory(supersedes).scope
            if scope is None:
                place = ScopeRef(path=there, project=None, found="named")
            elif self._find_scope_path(place) != there:
                raise InvalidValue(
                    name="scope",
                    value=place.path,
                    why="what is replaced is in another scope, where this would not be seen",
                    expected="the scope of what is replaced, or none",
                )
        kept = self._capture_text(CaptureText(text=to_bytes(text), place=place, supersedes=supersedes, **asked))
        return self._with_similar(kept, text, supersedes) if similar and not kept.erased else kept

    def correct(self, memory: bytes, text: str, **asked: Any) -> TextCaptured:
        """Say what holds instead of a memory: it outranks that one at once, which stays readable as the past.

        It belongs to the same scope; it is a decision where that was one, and else a note. All else is as in
        `remember`.

        Raises:
            NoSuchMemory: there is nothing of the id.
            InvalidValue: the text is empty.
        """
        old = self._get_memory(memory)
        kind = "decision" if old.kind == "decision" else "note"
        return self.remember(text, kind=kind, supersedes=memory, **asked)

    def similar(self, text: str, *, scope: str, exclude: Sequence[bytes] = (), limit: int = 3) -> SimilarFound:
        """Name the memories of a scope, and of those below it, that say nearly the same as a text.

        Args:
            exclude: ids of memories that are not to be named, nor what they replaced.

        Raises:
            UnknownScope: no memory is in the scope.
            InvalidValue: the limit is less than 1.
        """
        return self._ask(FindSimilar(text=text, scope=normalize_scope_path(scope), exclude=tuple(exclude), limit=limit))

    def _capture_text(self, message: CaptureText) -> TextCaptured:
        """Have a text kept: where it belongs, though the same was said elsewhere, and on top of what it replaces."""
        while True:
            kept = self._ask(message)
            if kept.created or kept.erased:
                return kept
            if message.supersedes is None:
                if kept.scope == self._find_scope_path(message.place):
                    return kept
                message = msgspec.structs.replace(message, occurrence=message.occurrence + 1)
            elif kept.superseded_by is None or kept.retired_at is not None:
                return kept
            else:  # it was said before, and is the past by now: whoever says it again means it anew
                message = msgspec.structs.replace(message, supersedes=kept.superseded_by)

    def _with_similar(self, kept: TextCaptured, text: str, supersedes: bytes | None) -> TextCaptured:
        """The answer, with what says nearly the same; the text is kept, whatever becomes of that."""
        but = (kept.id,) if supersedes is None else (kept.id, supersedes)
        try:
            found = self.similar(text, scope=kept.scope, exclude=but)
        except MnemicError as error:
            return msgspec.structs.replace(kept, degraded=(f"nothing was looked for that is similar: {error}",))
        return msgspec.structs.replace(kept, similar=found.similar, degraded=found.degraded)

    def _get_memory(self, memory: bytes) -> Memory:
        answer = self._ask(GetMemories(ids=(memory,)))
        return answer.memories[0]

    def _find_scope_path(self, place: ScopeRef) -> str | None:
        answer = self._ask(FindScope(place=place))
        return answer.path
