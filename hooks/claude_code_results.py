"""What a tool of Claude Code answered, as text: a hook is given data where the transcript has what the model reads.

The text is the transcript's where the data says enough for it, so that the same memory results whichever comes first.
It is not for a command in the background, an agent (its answer alone, without the line on how to go on with it), a
part of a file beyond its end, and tools that are not named here: their data stands as it is. A long output is the
first 30,000 characters here, and there its first two kilobytes.
"""

from __future__ import annotations

from collections.abc import Callable

from mnemic.hooks.claude_code import blocks_text
from mnemic.hooks.lines import Json, render_call, text_of

__all__ = ["result_text"]

CURRENT = " (file state is current in your context — no need to Read it back)"


def result_text(tool: str, answer: object) -> str:
    """An answer as text; nothing of one that no rule knows is left out."""
    if not isinstance(answer, dict):
        return blocks_text(answer)
    known = TOOLS[tool](answer) if tool in TOOLS else None
    return render_call("", answer).strip() if known is None else known


def _agent(answer: Json) -> str | None:
    content = answer.get("content")
    return blocks_text(content) if isinstance(content, list) else None


def _bash(answer: Json) -> str | None:
    printed = [answer.get("stdout"), answer.get("stderr")]
    if not all(isinstance(text, str) for text in printed) or "backgroundTaskId" in answer:
        return None
    if answer.get("isImage"):
        return f"[image: {str(printed[0]).removeprefix('data:').partition(';')[0]}]"
    return "\n".join(filter(None, map(str, printed))) or "(Bash completed with no output)"


def _read(answer: Json) -> str | None:
    file = answer.get("file")
    if not isinstance(file, dict):
        return None
    if "base64" in file:
        return f"[{': '.join(filter(None, (text_of(answer.get('type')), text_of(file.get('type')))))}]"
    content, first = file.get("content"), file.get("startLine")
    if not isinstance(content, str) or not content or not isinstance(first, int):
        return None
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(content.split("\n"), first))


def _edit(answer: Json) -> str | None:
    path = answer.get("filePath")
    if not isinstance(path, str) or answer.get("userModified"):
        return None
    if answer.get("replaceAll"):
        return f"The file {path} has been updated. All occurrences were successfully replaced.{CURRENT}"
    return f"The file {path} has been updated successfully.{CURRENT}"


def _write(answer: Json) -> str | None:
    if answer.get("type") == "create" and isinstance(path := answer.get("filePath"), str):
        return f"File created successfully at: {path}{CURRENT}"
    return _edit(answer)


def _glob(answer: Json) -> str | None:
    names = _names(answer)
    return None if names is None or answer.get("truncated") else "\n".join(names) or "No files found"


def _grep(answer: Json) -> str | None:
    names, content = _names(answer), answer.get("content")
    if "appliedLimit" in answer or "appliedOffset" in answer:
        return None
    if answer.get("mode") == "content" and isinstance(content, str):
        return content or "No matches found"
    if answer.get("mode") != "files_with_matches" or names is None:
        return None
    plural = "" if len(names) == 1 else "s"
    return "\n".join([f"Found {len(names)} file{plural}", *names]) if names else "No files found"


def _names(answer: Json) -> list[str] | None:
    names = answer.get("filenames")
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else None


TOOLS: dict[str, Callable[[Json], str | None]] = {
    "Agent": _agent,
    "Bash": _bash,
    "Edit": _edit,
    "Glob": _glob,
    "Grep": _grep,
    "Read": _read,
    "Task": _agent,
    "Write": _write,
}
"""How each tool's data becomes the text that the model read; ``None`` where it says too little."""
