"""Parses texts, tool outputs and outcomes in the forms that different versions of Codex write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from mnemic.actors.protocol.events import Outcome
from mnemic.hooks.read.lines import Json, nonblank_text, render_call

__all__ = [
    "IMAGE_MARK",
    "is_capability_listing",
    "is_host_text",
    "parse_outcome",
    "parse_output",
    "render_codex_call",
    "texts",
]

# What Codex writes into the user's place. New rollouts say so (`content_item_kinds`), older ones show it.
HOST_TEXT = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|subagent_notification|turn_aborted|user_shell_command|"
    r"skill|permissions instructions)>|# AGENTS\.md instructions for )"
)
IMAGE_MARK = re.compile(r"<image(?: name=[^>]*)?>|</image>")
"""What stands around an image in a message: nobody's words."""
CAPABILITY_LISTING = re.compile(r"\s*<(skills_instructions|apps_instructions|plugins_instructions)>")
PATCHED_FILE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
FAILED_PATCH = "apply_patch verification failed"


def texts(blocks: object) -> Iterator[str]:
    """The texts of a message's content (or a summary's): blocks with a ``text``, or plain strings."""
    for block in blocks if isinstance(blocks, list) else [blocks]:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str):
            yield text


def is_host_text(kind: object, text: str) -> bool:
    """Whether a text in the user's place was written by Codex: by the kind it notes beside it, else by its look."""
    if isinstance(kind, str) and kind != "unknown":
        return not kind.startswith("user.")
    return HOST_TEXT.match(text) is not None


def is_capability_listing(text: str) -> bool:
    """Whether a text lists what Codex offers the model: the same in every session, and nobody's memory."""
    return CAPABILITY_LISTING.match(text) is not None


def render_codex_call(tool: str, arguments: object) -> tuple[str, tuple[str, ...]]:
    """A call as text, and the files it names."""
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments)
        except (ValueError, RecursionError):  # free-form input, such as a patch
            parsed = None
        arguments = parsed if isinstance(parsed, dict) else arguments
    text = render_call(tool, arguments)
    files = _patched_files(text)
    if isinstance(arguments, dict) and (path := nonblank_text(arguments.get("path"))):
        files = (*files, path)
    return text, files


def parse_outcome(end: Json) -> Outcome | None:
    """How a call ended, from the item or event that tells of its end."""
    result = end.get("result")
    if isinstance(result, dict):
        inner = result.get("Ok", result)
        if "Err" in result or (isinstance(inner, dict) and (inner.get("isError") or inner.get("is_error"))):
            return "failed"
    for name, good in (("exit_code", 0), ("success", True), ("status", "completed")):
        value = end.get(name)
        if value is not None and value != "in_progress":
            return "ok" if value == good else "failed"
    return "ok" if isinstance(result, dict) else None


def parse_output(output: object) -> tuple[str, Outcome | None]:
    """A call's output as text, and its outcome where the text or its wrapper says it."""
    if isinstance(output, dict) and "content" in output:
        success = output.get("success")
        text, _ = parse_output(output["content"])
        return text, None if success is None else "ok" if success else "failed"
    if isinstance(output, list):
        return "\n".join(_block(block) for block in output), None
    if not isinstance(output, str):
        return render_call("", output).strip(), None
    return output, _outcome_in(output)


def _patched_files(text: str) -> tuple[str, ...]:
    """The files that a patch names, in order, each once."""
    return tuple(dict.fromkeys(PATCHED_FILE.findall(text)))


def _block(block: object) -> str:
    for text in texts([block]):
        return text
    kind = block.get("type") if isinstance(block, dict) else None
    return f"[{kind}]"  # an image or sound, as data


def _outcome_in(output: str) -> Outcome | None:
    if output.startswith(FAILED_PATCH):
        return "failed"
    if output.startswith('{"output":'):  # the shell tool until 2025
        try:
            metadata = json.loads(output).get("metadata")
        except (ValueError, RecursionError):
            return None
        return parse_outcome(metadata) if isinstance(metadata, dict) else None
    head, output_follows, _ = output.partition("Output:\n")
    code = EXIT_CODE.search(head) if output_follows else None
    return parse_outcome({"exit_code": int(code[1])}) if code else None
