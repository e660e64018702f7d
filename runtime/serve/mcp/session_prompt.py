"""The prompt ``session_context``: what a session's start hook tells, for hosts that have no hooks.

A prompt is chosen by the user (https://modelcontextprotocol.io/specification/2025-11-25/server/prompts), so it costs no
session any tokens until then. What may be told is what `mnemic.runtime.serve.mcp.access` says, as for the tools; above
is `mnemic.runtime.serve.mcp.tools`.
"""

from __future__ import annotations

from typing import Annotated, Any

from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts import Prompt
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import Field

from mnemic.actors.kernel.errors import BadInput, MnemicError
from mnemic.runtime.minds.projects import resolve_scope
from mnemic.runtime.serve.mcp.calls import Answerer, Call
from mnemic.runtime.serve.mcp.tool_schemas import assistant_name, error_text, find_unknown

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


def session_prompt(calls: Answerer) -> Prompt:
    """The prompt."""

    async def session_context(context: Context[Any, Any], scope: _Scope = None) -> str:
        try:
            return await calls.answer("session_context", lambda call: _tell(call, scope), assistant_name(context))
        except MnemicError as error:
            code = INVALID_PARAMS if isinstance(error, BadInput) else INTERNAL_ERROR
            raise MCPError(code, error_text(error)) from error

    return _Prompt.from_function(session_context, title="Session context", description=_DESCRIPTION)


def _tell(call: Call, scope: str | None) -> str:
    """What the start hook of a session would tell in a project, or a sentence that there is nothing."""
    unknown, folder = call.resolve_scope(scope)[2], call.caller.folder
    place = None if folder is None else call.mind.folder_place(folder)
    if scope is not None:
        place = resolve_scope(scope, None)
    told = ""
    if place is not None:
        asking = {"assistant": call.assistant, "session": call.caller.session}
        told = call.mind.session_briefing(place, **asking, unkept=call.is_private).text
    return told or f"{_NOTHING}{f': {unknown}' if unknown else ''}."
