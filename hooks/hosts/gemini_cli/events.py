"""Turns payloads of Gemini CLI's hooks into events.

https://geminicli.com/docs/hooks/reference describes the events. What was seen with 0.61.0, and what follows from it:

* No event names a call or says that a subagent made it: calls and results are the session's, told apart by their bytes.
* ``AfterAgent``'s ``prompt_response`` is not what was said: of an answer that was streamed it joins the pieces with
  spaces and repeats the first. So answers come from the transcript, which is written by then and read at once.
* ``PreCompress`` comes before every call of the model; only one that the user asked for (``manual``) is a compression.
* ``BeforeAgent``'s ``prompt`` begins with what hooks told at the session's start.
"""

from __future__ import annotations

from collections.abc import Iterator

from mnemic.actors.protocol.events import HookEvent, HookRecord
from mnemic.hooks.hosts.gemini_cli.shapes import result_text, tool_events, user_message_events
from mnemic.hooks.read.lines import InvalidInput, Json, nonblank_text
from mnemic.hooks.read.records import RecordEventFactory, required_text

__all__ = ["hook_events"]

IGNORED_EVENTS = {"AfterModel", "BeforeModel", "BeforeTool", "BeforeToolSelection", "Notification"}
"""Events of this version that tell nothing said or done, or nothing that another does not tell."""


def hook_events(record: HookRecord, payload: Json) -> Iterator[HookEvent]:
    """What one payload tells, in order. Raises `InvalidInput` where it lacks what it must have."""
    event = required_text(payload, "hook_event_name")
    if event in IGNORED_EVENTS:
        return
    make = RecordEventFactory(record, payload)
    if event == "SessionStart":
        yield from make.transcript_events(ended=False)
    elif event == "PreCompress":
        if payload.get("trigger") == "manual":
            yield from make.transcript_events(ended=False)
    elif event == "BeforeAgent":
        prompt = payload.get("prompt")
        if not isinstance(prompt, str):
            raise InvalidInput("prompt is missing")
        # What stands around the typed words is the host's; the transcript has it.
        yield from (told for told in user_message_events(make, prompt) if told.kind == "turn")
    elif event == "AfterTool":
        yield from _tool(make, payload)
    elif event == "AfterAgent":
        if nonblank_text(payload.get("transcript_path")):
            yield from make.transcript_events(ended=True)
        elif text := nonblank_text(payload.get("prompt_response")):  # damaged, but nothing else tells it
            yield make("turn", "assistant", text)
    elif event == "SessionEnd":
        yield from make.transcript_events(ended=True)
    else:
        raise InvalidInput("no event of that name is known")


def _tool(make: RecordEventFactory, payload: Json) -> Iterator[HookEvent]:
    response = payload.get("tool_response")
    response = response if isinstance(response, dict) else {}
    error = response.get("error")
    failed = isinstance(error, dict) or nonblank_text(error) is not None
    # The model reads the error's message in the place of what the tool says of it, and so does the transcript.
    said = error.get("message") if isinstance(error, dict) else None
    text = said if isinstance(said, str) and said else result_text(response.get("llmContent"))
    yield from tool_events(make, required_text(payload, "tool_name"), payload.get("tool_input"), text, failed)
