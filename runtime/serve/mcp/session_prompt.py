"""The prompt ``session_context``: what a session's start hook tells, for hosts that have no hooks.

A prompt is chosen by the user (https://modelcontextprotocol.io/specification/2025-11-25/server/prompts), so it costs no
session any tokens until then. What may be told is what `mnemic.runtime.serve.mcp.access` says, as for the tools; above
is `mnemic.runtime.serve.mcp.tools`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts import Prompt
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import Field

from mnemic.actors.kernel.errors import BadInput, MnemicError
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.serve.mcp.tool_schemas import error_text, find_unknown

_DESCRIPTION = "What this project's memory has from earlier sessions: where it was left off, and what holds"
_NOTHING = "Mnemic has nothing to tell at the start of a session here"
_Scope = Annotated[str | None, Field(description="A project by its scope; unless given, the one of this folder")]


class _Prompt(Prompt):
    """A prompt that says which argument it does not take; the SDK says only that something failed."""

    async def render(self, arguments: dict[str, Any] | None, context: Context[Any, Any]) -> Any:
        stray = find_unknown(self.name, arguments or (), [one.name for one in self.arguments or ()])
        if stray is not None:
            raise MCPError(INVALID_PARAMS, error_text(stray))
        return await super().render(arguments, context)


def session_prompt(tell: Callable[[Context[Any, Any], str | None], Awaitable[str]]) -> Prompt:
    """The prompt.

    Args:
        tell: says it, given the scope that was named; it may raise `MnemicError`.
    """

    async def session_context(context: Context[Any, Any], scope: _Scope = None) -> str:
        try:
            return await tell(context, scope)
        except MnemicError as error:
            code = INVALID_PARAMS if isinstance(error, BadInput) else INTERNAL_ERROR
            raise MCPError(code, error_text(error)) from error

    return _Prompt.from_function(session_context, title="Session context", description=_DESCRIPTION)


def tell_session(mind: Mind, assistant: str, session: str, place: ScopeRef | None, unkept: bool, unknown: str) -> str:
    """What the start hook of a session would tell in a project, or a sentence that there is nothing.

    Args:
        place: the project; ``None`` where none is known.
        unkept: whether the capture is switched off where the assistant was started.
        unknown: why nothing is known of the project, where that is so.
    """
    told = ""
    if place is not None:
        told = mind.session_briefing(place, assistant=assistant, session=session, unkept=unkept).text
    return told or f"{_NOTHING}{f': {unknown}' if unknown else ''}."
