"""What is read of scopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mnemic.actors.kernel.scope_paths import ScopeChange, ScopeRef
from mnemic.actors.scopes.messages import ScopeInfo


class ScopeSnapshot(Protocol):
    """What a snapshot tells of scopes."""

    def scopes(self) -> dict[int, str]:
        """Scope numbers and their paths."""

    def scope_path_of(self, place: ScopeRef) -> str | None:
        """The path of a place's scope, its project's own or the one that was merged into; ``None`` where no memory is
        in it.
        """

    def scopes_of_conversation(self, assistant: str, session: str) -> list[ScopeRef]:
        """The scopes that memories of a conversation are in, its subagents' among them; not what is in no scope."""

    def scopes_of_identities(self, identities: Sequence[bytes]) -> dict[bytes, ScopeRef]:
        """The scopes of memories by their identities, as far as they are kept; not what is in no scope."""

    def list_scopes(self) -> list[ScopeInfo]:
        """All scopes, by path."""

    def scope_undo(self) -> tuple[ScopeChange, ...]:
        """What takes back the last change of scopes that is not taken back yet; empty where there is none."""
