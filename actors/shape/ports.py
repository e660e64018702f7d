"""What shape needs from outside: extractors of triples and of fillers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from mnemic.actors.recall.messages import Memory
from mnemic.algorithms.knowledge.triples import Triple


class TripleExtractor(Protocol):
    """Finds triples in a text; the setting ``binder.extractor`` names another one than the built-in."""

    def __call__(self, text: str, speaker: str | None) -> Sequence[Triple]:
        """The triples that a text says, in order.

        Args:
            text: what was said, or its start.
            speaker: who says ``I`` in it: a name, or ``user``, ``assistant``; ``None`` where that is not known.
        """


class FillerExtractor(Protocol):
    """An extractor that has this method as well fills roles of its own (`mnemic.hd.roles.register_role`)."""

    def fillers(self, memory: Memory) -> Iterable[tuple[str, str]]:
        """Roles and what fills them, in the memory's episode, facts and step, whichever have such a role.

        A role that is filled already keeps what it has, and one that holds a single filler takes the first.
        """
