"""Parses prompts, tool calls and results as Gemini CLI writes them in hooks and in transcripts.

Its hooks name no call: what tells calls and results apart is their bytes, so both channels must give the same. Seen
with 0.61.0; the events are described at https://geminicli.com/docs/hooks/reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mnemic.actors.protocol.events import Event, Outcome
from mnemic.hooks.read.lines import EventFactory, Json, nonblank_text, render_call
from mnemic.hooks.read.own_text import strip_own_output

__all__ = [
    "hook_context_events",
    "is_own_call",
    "result_text",
    "split_hook_contexts",
    "tool_events",
    "user_message_events",
]

# What hooks told the model: the host escapes < and > inside, so the first end is the end.
CONTEXT = r"<hook_context>(.*?)</hook_context>"
LEADING_CONTEXT = re.compile(rf"\s*{CONTEXT}[ \t]*(?:\n\n|\Z)", re.DOTALL)
TRAILING_CONTEXT = re.compile(r"\s*<hook_context>[^<>]*</hook_context>\s*\Z")
ONLY_CONTEXT = re.compile(rf"\s*{CONTEXT}\s*", re.DOTALL)
# A prompt that names files (`@loans.py`) goes on with what is in them.
REFERENCED = re.compile(r"\n--- Content from referenced files ---\n")
SNAPSHOT = "<state_snapshot>"
SESSION_CONTEXT = "<session_context>"
# What the program itself says in the user's place.
HOST_TEXTS = ("Please continue.", "You have stopped calling tools without finishing.")
SHELL = "run_shell_command"
EXIT_CODE = re.compile(r"^Exit Code: (-?\d+)$", re.MULTILINE)
OWN_CALL = re.compile(r"mcp_(?:\w+_)?mnemic_")
FILE_ARGUMENTS = ("file_path", "absolute_path", "path")


def user_message_events(make: EventFactory, text: str) -> Iterator[Event]:
    """The events of a text in the user's place: what was typed, and what the host put before and behind it.

    Whose words they are is decided by the bytes alone, so that a hook and a transcript decide alike.
    """
    while found := LEADING_CONTEXT.match(text):
        yield from hook_context_events(make, found[1])
        text = text[found.end() :]
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
        yield make("turn", "user", typed)
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


def is_own_call(tool: str) -> bool:
    """Whether a tool is this memory's own (``mcp_mnemic_memory_recall``: server and tool, joined by one line)."""
    return OWN_CALL.match(tool) is not None


def tool_events(
    make: EventFactory, tool: str, arguments: object, text: str | None, failed: bool, source_id: str | None = None
) -> Iterator[Event]:
    """A call and, where it is there, its result; nothing where the tool is this memory's own."""
    if is_own_call(tool):
        return
    files = _files(arguments)
    yield make("tool_call", "assistant", render_call(tool, arguments), tool=tool, files=files, source_id=source_id)
    if text is not None:
        outcome: Outcome = "failed" if failed or _exit_code(tool, text) else "ok"
        yield make("tool_result", "tool", text, tool=tool, outcome=outcome, files=files, source_id=source_id)


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
    return render_call("", response).strip()


def _strip_hook_context(text: str) -> str:
    """A result without what hooks told behind it."""
    while found := TRAILING_CONTEXT.search(text):
        text = text[: found.start()]
    return text


def _exit_code(tool: str, text: str) -> int:
    codes = EXIT_CODE.findall(text) if tool == SHELL else []
    return int(codes[-1][:9]) if codes else 0


def _files(arguments: object) -> tuple[str, ...]:
    if not isinstance(arguments, dict):
        return ()
    return tuple(value for name in FILE_ARGUMENTS if (value := nonblank_text(arguments.get(name))))


def message_texts(content: object) -> Iterator[str]:
    """The texts of a message's content: a string, or the parts that have one and are no thought."""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and isinstance(part.get("text"), str) and not part.get("thought"):
            yield part["text"]


def is_compression_summary(message: Json) -> bool:
    """Whether a message is what a compression left of those before it."""
    return message.get("type") == "user" and "".join(message_texts(message.get("content"))).lstrip().startswith(
        SNAPSHOT
    )
