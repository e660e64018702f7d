"""What an assistant may read and write by MCP: the memories of its own project, and what their owner allows besides.

A text that an assistant read somewhere may talk it into asking for another project's memories, or into keeping words as
if the user had said them. So neither is its own choice: `mcp.allow` and `mcp.share` are settings of the owner's, and
what one assistant is allowed besides is kept in the home, by the name that it was wired under, and in no settings file
of the assistant's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mnemic.actors.capture.capture import OWNER
from mnemic.actors.kernel.errors import NoSuchMemory, OwnersChoice
from mnemic.actors.kernel.events import MCP_PREFIX
from mnemic.actors.kernel.scope_paths import is_everywhere
from mnemic.actors.recall.messages import Memory

if TYPE_CHECKING:
    from mnemic.runtime.api.mind import Mind

_NOT_TOLD = "By MCP memories of other projects are not told"
_MAYBE_ELSEWHERE = (
    "Take the id from a hit of a recall; one of another project is not told here unless the owner of this memory allows"
    " read-all"
)


class Access(NamedTuple):
    """What one caller may do."""

    find_own: Callable[[], str | None]
    """Gives the scope of its project: ``""`` where it has named no folder, ``None`` where nothing is known of it. It
    may take a question, and is called where the answer depends on it."""
    rights: Collection[str]
    """Of `mnemic.actors.kernel.scope_paths.MCP_RIGHTS`, those that it has."""
    is_shared: Callable[[str], bool]
    """Whether all may read a scope."""
    is_there: Callable[[str], bool]
    """Whether there is a scope of a path."""

    def can_read(self, scope: str) -> bool:
        """Whether it may be told the memories of a scope; ``*`` is every scope."""
        return "read-all" in self.rights or self._is_own(scope) or is_everywhere(scope) or self.is_shared(scope)

    def get(self, mind: Mind, ids: Sequence[bytes], *, writes: bool = False) -> tuple[Memory, ...]:
        """Memories by their ids. One that it may not be told is as unknown as one that never was: nobody finds out by
        trying which ids other projects have.

        Args:
            writes: whether it is to replace or forget them, which ``write-all`` allows wherever they are.

        Raises:
            NoSuchMemory: one of them is not there, or not for this caller.
        """
        if self.can_read("*"):
            return mind.get(ids)
        try:
            memories = mind.get(ids)
        except NoSuchMemory as error:
            raise NoSuchMemory(**error.operands, remedy=_MAYBE_ELSEWHERE) from None
        for memory in memories:
            if not (self.can_read(memory.scope) or (writes and "write-all" in self.rights)):
                raise NoSuchMemory.of(memory.id, remedy=_MAYBE_ELSEWHERE)
        return memories

    def check_question(self, scopes: Sequence[str]) -> None:
        """Refuse a question that names a scope whose memories it may not be told: the whole of it.

        Raises:
            OwnersChoice: that is it.
        """
        denied = next((scope for scope in scopes if not self.can_read(scope.strip("/"))), None)
        if denied is not None:
            which = f", and of {len(scopes)} scopes {denied!r} is another project's" if len(scopes) > 1 else ""
            raise OwnersChoice(what=f"{_NOT_TOLD}{which}", right="read-all")

    def check_write(self, scope: str | None, *, role: str = "assistant", said_at: int | None = None, now: int) -> None:
        """Refuse what it may not keep or forget.

        Args:
            scope: where; ``None`` is where it works.
            role: whose words they are to be.
            said_at: when they are to have been said, microseconds since 1970 UTC.
            now: the time, likewise.

        Raises:
            OwnersChoice: that is it.
        """
        if "write-all" in self.rights:
            return
        if scope is not None and is_everywhere(scope):
            raise OwnersChoice(what="By MCP nothing is kept or forgotten for every project", right="write-all")
        if scope is not None and not self._is_own(scope):
            raise OwnersChoice(what="By MCP nothing is kept or forgotten in another project", right="write-all")
        if scope is not None and scope != self.find_own() and not self.is_there(scope):  # it may become somebody's
            raise OwnersChoice(what="By MCP no scope is made below a project's own", right="write-all")
        if role != "assistant":
            raise OwnersChoice(what=f"By MCP nothing is kept as words of the {role}", right="write-all")
        if said_at is not None and said_at > now:
            raise OwnersChoice(what="By MCP nothing is kept that was said in the future", right="write-all")

    def can_replace(self, memory: Memory) -> bool:
        """Say whether it may replace or forget what somebody said: what a person said, or the owner kept, is theirs."""
        told = memory.assistant.startswith(MCP_PREFIX)
        is_a_persons = memory.author in ("owner", "other") or memory.assistant == OWNER
        return "write-all" in self.rights or told or not is_a_persons

    def _is_own(self, scope: str) -> bool:
        own = self.find_own()
        return scope == own or (bool(own) and scope.startswith(f"{own}/"))
