"""Verbs of communities: list them, show one, bring them up to date.

Verbs of `mnemic.runtime.api.mind.Mind`; `mnemic.runtime.api.questions` below has those that ask for memories.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from mnemic.actors.communities.changes import BoundaryReason
from mnemic.actors.communities.messages import (
    CommunitiesListed,
    CommunityProgress,
    CommunityShown,
    ListCommunities,
    ShowCommunity,
    UpdateCommunities,
)
from mnemic.actors.kernel.errors import ModelError, RuntimeFault
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.meaning.messages import EmbedPending
from mnemic.runtime.api.questions import QuestionVerbs, question
from mnemic.runtime.api.verbs import Progress

_log = logging.getLogger("mnemic.runtime.api.communities")


class CommunityVerbs(QuestionVerbs):
    """The verbs."""

    def communities(self, *, scope: Scopes = "*", k: int = 20) -> CommunitiesListed:
        """List the groups of memories that belong together, the ones last spoken of first; see
        `mnemic.actors.communities.messages.ListCommunities` for what each argument means.

        Raises:
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        return self._with_notices(self._ask(question(ListCommunities, scope=scope, k=k)))

    def community(self, id: int, *, scope: Scopes = "*", k: int = 10) -> CommunityShown:
        """Show a community; see `mnemic.actors.communities.messages.ShowCommunity` for what each argument
        means.

        Raises:
            UnknownCommunity: there is none of that number in the scopes.
            UnknownScope, InvalidValue: what was asked for cannot be.
        """
        return self._ask(question(ShowCommunity, id=id, scope=scope, k=k))

    def update_communities(
        self,
        mark: BoundaryReason | None = "asked",
        progress: Progress | None = None,
        more: Callable[[], bool] = lambda: True,
    ) -> CommunityProgress:
        """Bring communities up to date with every boundary that is marked.

        What waits for its meaning is embedded first, since a boundary waits for it.

        Args:
            mark: why a boundary is marked first, if anything has changed since the last one; ``None`` for none.
            progress: told how many boundaries are done.
            more: asked before each bounded step, but the first towards a boundary, whether there is time for it.

        Returns how far they are; `changes` in it counts those of all steps.
        """
        try:
            if more():
                self._until_done(EmbedPending(), "meaning", None, more)
        except (ModelError, RuntimeFault) as error:  # they are found without meaning, or say what they wait for
            _log.info("communities come before meaning: %s", error.code, extra={"code": error.code})
        answer = self._ask(UpdateCommunities(mark=mark))
        changes = answer.changes
        while answer.pending and more():
            if progress is not None:
                progress("topics", answer.done, answer.done + answer.pending)
            answer = self._ask(UpdateCommunities())
            changes += answer.changes
        return msgspec.structs.replace(answer, changes=changes)
