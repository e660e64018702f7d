"""Turns payloads of Gemini CLI's hooks into events.

https://geminicli.com/docs/hooks/reference describes the events. What was seen with 0.61.0, and what follows from it:

* No event names a call or says that a subagent made it: calls and results are the session's, told apart by their bytes.
* ``AfterAgent``'s ``prompt_response`` is not what was said: of an answer that was streamed it joins the pieces with
  spaces and repeats the first. So answers come from the transcript, which is written by then and read at once.
* ``PreCompress`` comes before every call of the model; only one that the user asked for (``manual``) is a compression.
* ``BeforeAgent``'s ``prompt`` begins with what hooks told at the session's start.

Since its hooks name no call, what tells calls and results apart is their bytes: both channels must give the same, by
what is parsed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mnemic.actors.kernel.events import Event, HookEvent, HookRecord
from mnemic.hooks.read.lines import EventFactory, InvalidInput, Json, call_events, nonblank_text, render_call
from mnemic.hooks.read.media import name_media
from mnemic.hooks.read.own_calls import TypedCommands
from mnemic.hooks.read.own_text import strip_own_output
from mnemic.hooks.read.records import RecordEventFactory, required_text
from mnemic.hooks.read.speakers import user_text_events

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
        # What stands around the typed words is the host's; the transcript has it.
        told = user_message_events(make, make.prompt())
        yield from (one for one in told if one.kind == "turn" or one.reported_as)
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


# What hooks told the model: the host escapes < and > inside, so the first end is the end.
CONTEXT = r"<hook_context>(.*?)</hook_context>"
LEADING_CONTEXT = re.compile(rf"\s*{CONTEXT}[ \t]*(?:\n\n|\Z)", re.DOTALL)
TRAILING_CONTEXT = re.compile(r"<hook_context>[^<>]*</hook_context>\s*\Z")
ONLY_CONTEXT = re.compile(rf"\s*{CONTEXT}\s*", re.DOTALL)
# A prompt that names files (`@loans.py`) goes on with what is in them.
REFERENCED = re.compile(r"\n--- Content from referenced files ---\n")
SNAPSHOT = "<state_snapshot>"
_SUMMARY_TAKEN = "Got it. Thanks for the additional context!"
SESSION_CONTEXT = "<session_context>"
# What the program itself says in the user's place.
HOST_TEXTS = ("Please continue.", "You have stopped calling tools without finishing.")
SHELL_MODE = "I ran the following shell command:"
SHELL = "run_shell_command"
EXIT_CODE = re.compile(r"^Exit Code: (-?\d+)$", re.MULTILINE)


def user_message_events(make: EventFactory, text: str) -> Iterator[Event]:
    """The events of a text in the user's place: what was typed, and what the host put before and behind it.

    Whose words they are is decided by the bytes alone, so that a hook and a transcript decide alike.
    """
    if text.startswith(SHELL_MODE) and not nonblank_text(text := TypedCommands().kept(text)):
        return
    begin = 0
    while found := LEADING_CONTEXT.match(text, begin):
        yield from hook_context_events(make, found[1])
        begin = found.end()
    text = text[begin:]
    if text.lstrip().startswith(SESSION_CONTEXT):  # the folder's listing: nobody's memory
        return
    if text.lstrip().startswith(SNAPSHOT):
        yield make("summary", "system", text)
        return
    if text.strip() == HOST_TEXTS[0] or text.startswith(HOST_TEXTS[1:]):
        yield make("injected", "system", text)
        return
    referenced = REFERENCED.search(text)
    typed = text[: referenced.start()] if referenced else text
    if nonblank_text(typed):
        yield from user_text_events(make, typed)
    if referenced:
        yield make("injected", "system", text[referenced.start() :])


def hook_context_events(make: EventFactory, text: str) -> Iterator[Event]:
    """What a hook told the model, without what this memory told it."""
    plain = text.replace("&lt;", "<").replace("&gt;", ">")
    if nonblank_text(rest := strip_own_output(plain)):
        yield make("injected", "system", rest)


def split_hook_contexts(parts: Iterable[str]) -> tuple[str, list[str]]:
    """The parts of a message as one text, and what hooks told in parts of their own."""
    said, told = [], []
    for part in parts:
        whole = ONLY_CONTEXT.fullmatch(part)
        if whole and part.count("<hook_context>") == 1:
            told.append(whole[1])
        else:
            said.append(part)
    return "".join(said), told


def tool_events(
    make: EventFactory, tool: str, arguments: object, text: str | None, failed: bool, source_id: str | None = None
) -> Iterator[Event]:
    """A call and, where it is there, its result; a shell command fails by its exit code."""
    codes = EXIT_CODE.findall(text) if tool == SHELL and text else []
    failed = failed or (codes != [] and int(codes[-1][:9]) != 0)
    yield from call_events(make, tool, arguments, text, failed, source_id=source_id)


def result_text(parts: object) -> str:
    """What a tool answered, as the host puts it before the model: a text, parts, or nothing but pictures."""
    if isinstance(parts, str):
        return _strip_hook_context(parts)
    texts, others = [], 0
    for part in parts if isinstance(parts, list) else [parts]:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            if isinstance(text := part.get("text"), str):
                texts.append(text)
            elif isinstance(response := part.get("functionResponse"), dict):
                return _response_text(response.get("response"))
            else:
                others += "inlineData" in part or "fileData" in part
    if not texts and others:
        return f"Binary content provided ({others} item(s))."
    return _strip_hook_context("\n".join(texts))


def _response_text(response: object) -> str:
    if not isinstance(response, dict):
        return ""
    for name in ("output", "error"):
        if isinstance(text := response.get(name), str):
            return _strip_hook_context(text)
    return render_call("", name_media(response)).strip()


def _strip_hook_context(text: str) -> str:
    """A result without what hooks told behind it."""
    end = len(text)
    while (start := text.rfind("<hook_context>", 0, end)) >= 0 and TRAILING_CONTEXT.match(text, start, end):
        end = start
    return text if end == len(text) else text[:end].rstrip()


def message_texts(content: object) -> Iterator[str]:
    """The texts of a message's content: a string, or the parts that have one and are no thought."""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and isinstance(part.get("text"), str) and not part.get("thought"):
            yield part["text"]


def is_compression_summary(message: Json, following: Json) -> bool:
    """Say whether a message is what a compression left of those before it: a model may summarise in words of any form.

    Args:
        following: the message after it, which the host writes itself behind a summary; empty where there is none.
    """
    if message.get("type") != "user":
        return False
    text, answer = ("".join(message_texts(one.get("content"))).strip() for one in (message, following))
    return text.startswith(SNAPSHOT) or (following.get("type") == "gemini" and answer == _SUMMARY_TAKEN)
