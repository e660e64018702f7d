"""Verbs of what holds: facts, what contradicts, the things they are about.

Verbs of `mnemic.runtime.api.mind.Mind`; `mnemic.runtime.api.communities` below has those of communities.
"""

from __future__ import annotations

from collections.abc import Callable

from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.knowledge.changes import Verdict
from mnemic.actors.knowledge.messages import (
    ConflictSettled,
    EntityShown,
    FactsListed,
    FactsProgress,
    ListConflicts,
    ListEntities,
    ListFacts,
    MergeNames,
    NamesMerged,
    SettleConflict,
    ShowEntity,
    UpdateFacts,
)
from mnemic.runtime.api.communities import CommunityVerbs
from mnemic.runtime.api.questions import question, verb
from mnemic.runtime.api.verbs import Progress


class FactVerbs(CommunityVerbs):
    """The verbs. What each argument means, its message says in `mnemic.actors.knowledge.messages`."""

    conflicts = verb(ListConflicts, "conflicts")
    entities = verb(ListEntities, "entities")

    def facts(
        self,
        entity: str = "",
        *,
        relation: str = "",
        at: int | None = None,
        history: bool = False,
        scope: Scopes = "*",
        k: int = 20,
    ) -> FactsListed:
        """List what holds, of a thing or of all, the newest first.

        Raises:
            UnknownEntity: no memory in the scopes names the thing.
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        asked = question(ListFacts, entity=entity, relation=relation, at=at, history=history, scope=scope, k=k)
        return self._ask(asked)

    def settle(self, id: str, verdict: Verdict, *, scope: Scopes = "*", by: str = "user") -> ConflictSettled:
        """Say which of two statements holds, or take that back.

        Raises:
            UnknownConflict: there is no such pair.
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        return self._ask(question(SettleConflict, id=id, verdict=verdict, scope=scope, by=by))

    def entity(self, name: str, *, scope: Scopes = "*", k: int = 10) -> EntityShown:
        """Show a thing: what holds of it, what held, what it is named beside.

        Raises:
            UnknownEntity: no memory in the scopes names it.
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        return self._ask(question(ShowEntity, name=name, scope=scope, k=k))

    def merge_entities(self, name: str, into: str = "") -> NamesMerged:
        """Say that two names are of one thing; without the other name, take that back.

        Raises:
            UnknownEntity: one of them is not known.
            InvalidValue: they are the same name.
        """
        return self._ask(question(MergeNames, name=name, into=into))

    def update_facts(self, progress: Progress | None = None, more: Callable[[], bool] = lambda: True) -> FactsProgress:
        """Read what waits to be read, and grade what waits for that.

        Args:
            progress: told how many memories are read.
            more: asked before each bounded step but the first whether there is time for it.
        """
        answer = self._ask(UpdateFacts())
        if not answer.pending or not more():
            return answer
        return self._until_done(UpdateFacts(), "facts", progress, more)
