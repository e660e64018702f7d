"""The MCP server: Mnemic's verbs as tools and resources for AI assistants, in one table.

It only translates; the verbs are those of `mnemic.runtime.api.mind.Mind`, handed in as a port. One server answers every
caller of a home's process: who calls, and from which folder, goes with each request (`CURRENT_CALLER` of
`mnemic.runtime.serve.mcp.calls`), set by what carries it (`mnemic.runtime.serve.mcp.http`,
`mnemic.runtime.serve.mcp.stream`). Every schema costs each session of an assistant its tokens: what a model does not
need is left out of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any

from mcp.server.mcpserver import Context, MCPServer

from mnemic.actors.kernel.contract import Clock
from mnemic.runtime.serve.mcp.calls import Answerer
from mnemic.runtime.serve.mcp.fact_tools import FACT_TOOLS
from mnemic.runtime.serve.mcp.memory_tools import MEMORY_TOOLS
from mnemic.runtime.serve.mcp.orders import ORDERS
from mnemic.runtime.serve.mcp.recall_tools import RECALL_TOOLS
from mnemic.runtime.serve.mcp.resources import add_resources
from mnemic.runtime.serve.mcp.session_prompt import session_prompt
from mnemic.runtime.serve.mcp.status_tools import STATUS_TOOLS
from mnemic.runtime.serve.mcp.tool_schemas import ToolRow, assistant_name, make_tool
from mnemic.runtime.serve.open_minds import OpenMinds
from mnemic.runtime.serve.server_control import ServerControl

INSTRUCTIONS = f"Long-term memory of earlier conversations (memory_shape: who, when, what next). {ORDERS}"
TOOLS = (*RECALL_TOOLS, *MEMORY_TOOLS, *FACT_TOOLS, *STATUS_TOOLS)
"""All tools, in the order in which they are listed."""


def make_server(
    minds: OpenMinds,
    server_control: ServerControl,
    clock: Clock,
    version: str,
    setting: Callable[[str], Any],
    allowed: Callable[[str], Collection[str]],
) -> MCPServer[Any]:
    """The server, for all callers of the process.

    Args:
        setting: the value of one, as it is in force.
        allowed: the rights that an assistant of a name was given when it was wired.
    """
    calls = Answerer(minds, server_control, clock, setting, allowed)

    async def answer_tool(row: ToolRow, context: Context[Any, Any], given: dict[str, Any]) -> dict[str, Any]:
        asked = row.read(row.verb, given, clock)
        wanted = "progress_token" in (context.request_context.meta or {})
        return await calls.answer(
            row.answer.__name__,
            lambda call: row.answer(call, **asked),
            assistant_name(context),
            context.report_progress if wanted else None,
        )

    if not logging.getLogger().handlers:  # else the SDK would put one there that writes to standard error
        logging.getLogger().addHandler(logging.NullHandler())
    server: MCPServer[Any] = MCPServer(
        "mnemic",
        instructions=INSTRUCTIONS,
        version=version,
        log_level="WARNING",
        subscriptions=False,  # nothing here changes while somebody listens, and a process that leaves waits for none
        tools=[make_tool(row, answer_tool) for row in TOOLS],
    )
    add_resources(server, calls)
    server.add_prompt(session_prompt(calls))
    return server
