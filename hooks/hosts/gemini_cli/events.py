"""Gemini CLI's hooks: what each of them stands for. Above: `mnemic.hooks.read.records`.

https://geminicli.com/docs/hooks/reference describes the events. What was seen with 0.61.0, and what follows from it:

* No event names a call or says that a subagent made it: calls and results are the session's, told apart by their bytes.
* ``AfterAgent``'s ``prompt_response`` is not what was said: of an answer that was streamed it joins the pieces with
  spaces and repeats the first. So answers come from the transcript, which is written by then and read at once.
* ``PreCompress`` comes before every call of the model; only one that the user asked for (``manual``) is a compression.
* ``BeforeAgent``'s ``prompt`` begins with what hooks told at the session's start.
"""

from __future__ import annotations

from collections.abc import Iterator

from mnemic.actors.protocol.events import Happening, Record
from mnemic.hooks.hosts.gemini_cli.shapes import call_and_result, result_text, said_by_user
from mnemic.hooks.read.lines import Bad, Json, text_of
from mnemic.hooks.read.records import RecordEvents, required

__all__ = ["happenings"]

UNWANTED = {"AfterModel", "BeforeModel", "BeforeTool", "BeforeToolSelection", "Notification"}
"""Events of this version that tell nothing said or done, or nothing that another does not tell."""


def happenings(record: Record, payload: Json) -> Iterator[Happening]:
    """What one payload tells, in order. Raises `Bad` where it lacks what it must have."""
    event = required(payload, "hook_event_name")
    if event in UNWANTED:
        return
    make = RecordEvents(record, payload)
    if event == "SessionStart":
        yield from make.transcript(ended=False)
    elif event == "PreCompress":
        if payload.get("trigger") == "manual":
            yield from make.transcript(ended=False)
    elif event == "BeforeAgent":
        prompt = payload.get("prompt")
        if not isinstance(prompt, str):
            raise Bad("prompt is missing")
        # What stands around the typed words is the host's; the transcript has it.
        yield from (told for told in said_by_user(make, prompt) if told.kind == "turn")
    elif event == "AfterTool":
        yield from _tool(make, payload)
    elif event == "AfterAgent":
        if text_of(payload.get("transcript_path")):
            yield from make.transcript(ended=True)
        elif text := text_of(payload.get("prompt_response")):  # damaged, but nothing else tells it
            yield make("turn", "assistant", text)
    elif event == "SessionEnd":
        yield from make.transcript(ended=True)
    else:
        raise Bad("no event of that name is known")


def _tool(make: RecordEvents, payload: Json) -> Iterator[Happening]:
    response = payload.get("tool_response")
    response = response if isinstance(response, dict) else {}
    error = response.get("error")
    failed = isinstance(error, dict) or text_of(error) is not None
    # The model reads the error's message in the place of what the tool says of it, and so does the transcript.
    said = error.get("message") if isinstance(error, dict) else None
    text = said if isinstance(said, str) and said else result_text(response.get("llmContent"))
    yield from call_and_result(make, required(payload, "tool_name"), payload.get("tool_input"), text, failed)
