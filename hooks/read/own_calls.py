"""Tells this memory's own calls, and what they answered, from all else that an assistant's tools do.

Its own are its tools (MCP) and its command in a shell, whatever stands around that: a pipe, `sudo`, a path, ``python
-m``. Of a shell line that runs other commands too, those are kept. Of what the line printed, the stretches go that the
command marked as its own (`mnemic.cli.terminal.output`); where a mark may be missing, all of it goes. A command that
prints no memory (``mnemic --version``) takes nothing of the others' with it.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from mnemic.algorithms.steps.program_calls import Calls, Program, names_call, program_calls
from mnemic.hooks.read.own_text import cut_marked

# Hosts put the server's name before the tool's, and one or two lines between; Cursor says `MCP:` and the tool alone.
OWN_TOOL = re.compile(
    r"(?:mcp_(?!_)(?:\w+_)?)?mnemic_.|.*_mnemic__.|MCP:(?:mnemic:|memory_(?:capture|facts|forget|get|recall|settle|shape|sleep|status)$)"
)
COMMANDS = """
backup capture communities completions conflicts correct demo derived digest doctor entities entity experiment export
facts forget help hooks import init lock log mcp minds model nights pause procedures profile recall rekey remember
restore resume scope serve service setup shape show sleep status timeline uninstall unlock
"""
OPTIONS = "--home --mind --json --version --help -h"
# What prints no memory's words. `hooks export` does, and `capture --preview`.
_HARMLESS = re.compile(
    r"(?:--(?:home|mind)(?: |=)\S+ |--json )*"
    r"(?:(?P<bare>--version|(?:help|completions)(?: [\w-]+)*|(?:[a-z][\w-]* ){0,2}(?:--help|-h))"
    r"|(?:doctor|hooks (?:install|status|uninstall)|lock|minds|model|pause|resume|serve|service|status|unlock)(?: .*)?)"
)
OWN_PROGRAM = Program(frozenset({"mnemic", "mnemic-hook"}), frozenset(f"{COMMANDS} {OPTIONS}".split()), _HARMLESS)
SHELL_ARGUMENTS = ("command", "cmd", "chars")
"""Arguments that hold a shell line, in any host's tool, as a text or as a list of words."""
_RENDERED = re.compile(rf"^(?:{'|'.join(SHELL_ARGUMENTS)}): (.*)", re.MULTILINE | re.DOTALL)
_OTHER_ARGUMENT = re.compile(r"[A-Za-z_]\w*: ")
_FILE_OR_PROMPT = re.compile(r"^(?:content|file_?text|file_?path|\w+_string|prompt): ", re.MULTILINE | re.IGNORECASE)
"""Arguments of tools that are no shell; a file's text may hold anything."""
OUTPUT_FILE = re.compile(r"/tasks/(\w+)\.output")
"""Where Claude Code puts what a command in the background prints."""
_BACKGROUND = re.compile(r"running in background with ID: (\w+)|Process running with session ID (\w+)")


def is_own_tool(tool: str) -> bool:
    """Say whether a tool is this memory's own, as any host names it (``mcp__mnemic__memory_recall``)."""
    return OWN_TOOL.match(tool) is not None


class Share(NamedTuple):
    """What of a call is not this memory's own."""

    arguments: object
    """The call's arguments, without the commands that are its own."""
    marks: int | None = 0
    """How many stretches of the result must be marked as its own; ``None`` where nothing of it may be kept."""

    def result(self, text: str) -> str | None:
        """What of the call's result is kept; ``None`` for nothing."""
        kept, marked = cut_marked(text)
        if self.marks is None or marked < self.marks or (marked and not kept.strip()):
            return None
        return kept


def call_share(tool: str, arguments: object) -> Share | None:
    """What of a call is kept; ``None`` where all of it is this memory's own."""
    if is_own_tool(tool):
        return None
    if isinstance(arguments, str):  # a program that calls tools, or a patch
        return None if tool != "apply_patch" and names_call(arguments, OWN_PROGRAM) else Share(arguments)
    if not isinstance(arguments, dict):
        return Share(arguments)
    share = Share(arguments)
    for name in SHELL_ARGUMENTS:
        calls = program_calls(_line(arguments.get(name)), OWN_PROGRAM)
        if calls.times and not calls.others:
            return None
        if calls.times:
            share = Share({**arguments, name: "\n".join(calls.others)}, _marks(calls))
    return share


def _marks(calls: Calls) -> int | None:
    """Count the marked stretches that a line has to print; ``None`` where they cannot show that all is there."""
    if calls.harmless == calls.times:
        return 0
    return calls.times - calls.bare if calls.in_view else None


def _line(value: object) -> str:
    if isinstance(value, list):
        return shlex.join(map(str, value))
    return value if isinstance(value, str) else ""


def is_own_echo(kind: str, tool: str | None, text: str, call: str = "") -> bool:
    """Say whether a text that was kept is a call of this memory's own, or an answer of it.

    Args:
        call: the text of the call that a result answers, where it is known.
    """
    if is_own_tool(tool or ""):
        return True
    if kind == "tool_call":
        share = call_share(tool or "", _rendered_arguments(text))
        return share is None or share.marks != 0
    if kind == "tool_result":
        return cut_marked(text)[1] > 0 or (bool(call) and is_own_echo("tool_call", tool, call))
    typed = TypedCommands()
    typed.kept(call)
    return kind == "injected" and typed.kept(text) != text


def _rendered_arguments(text: str) -> object:
    """The shell line of a call as `mnemic.hooks.read.lines.render_call` wrote it; else the input that has no names."""
    given = text.partition("\n")[2]
    found = _RENDERED.search(given)
    if found is None or _FILE_OR_PROMPT.search(given, 0, found.start()):
        return {} if found or _OTHER_ARGUMENT.match(given) else given
    lines = found[1].split("\n")
    while len(lines) > 1 and _OTHER_ARGUMENT.match(lines[-1]):
        lines.pop()
    line = "\n".join(lines)
    try:
        words = json.loads(line) if line.startswith("[") else line
    except (ValueError, RecursionError):
        words = line
    return {"command": words}


class CallShares:
    """What of the calls of one transcript is kept; remembers which of them go on in the background."""

    def __init__(self) -> None:
        self._calls: dict[str | None, Share | None] = {}
        self._shells: dict[str, Share | None] = {}

    def call(self, call: str | None, tool: str, arguments: object) -> Share | None:
        """What of a call is kept."""
        share = call_share(tool, arguments)
        for shell in self._shells.keys() & set(_named_shells(arguments) if self._shells else ()):
            started = self._shells[shell]
            share = share and started and Share(share.arguments, started.marks)
        self._calls[call] = share and Share(None, share.marks)
        return share

    def result(self, call: str | None, text: str) -> str | None:
        """What of its result is kept; ``None`` for nothing."""
        share = self._calls.get(call, Share(None))
        if share is None or share.marks != 0:
            self._shells |= {one[1] or one[2]: share for one in _BACKGROUND.finditer(text)}
        return None if share is None else share.result(text)


def _named_shells(arguments: object) -> Iterator[str]:
    """Names that a call may give to a shell in the background: a whole argument, or the file of its output."""
    for value in arguments.values() if isinstance(arguments, dict) else ():
        if isinstance(value, str):
            yield from OUTPUT_FILE.findall(value)
        yield str(value)


_TYPED = re.compile(
    r"<bash-input>(?P<typed>(?:(?!</?bash-input>).)*)</bash-input>"
    r"|<(?P<channel>bash-stdout|bash-stderr)>(?P<printed>(?:(?!</?(?P=channel)>).)*)</(?P=channel)>"
    r"|<user_shell_command>\s*<command>(?P<codex>(?:(?!</?command>).)*)</command>"
    r"(?P<told>(?:(?!</?user_shell_command>).)*)</user_shell_command>"
    r"|\AI ran the following shell command:\s*```sh\n(?P<gemini>(?:(?!\n```\s).)*)\n```\s+"
    r"This produced the following result:\s*```\n(?P<answer>.*)```\s*\Z"
    r"|<summary>Background command \"(?P<background>(?:(?!</?summary>).)*)\" [^\n\"<]*</summary>",
    re.DOTALL,
)


class TypedCommands:
    """Commands that the user had the host run (``!mnemic recall``) and what they printed, as hosts write them down."""

    def __init__(self) -> None:
        self._share: Share | None = Share(None)

    def kept(self, text: str) -> str:
        """A text of a host's making without this memory's own commands and their answers; blank if it was no more."""
        return _TYPED.sub(self._kept, text)

    def _kept(self, found: re.Match[str]) -> str:
        lines = [found[name] for name in ("typed", "codex", "gemini", "background") if found[name] is not None]
        if lines:
            self._share = call_share("", {"command": html.unescape(lines[0]).strip()})
        printed = next((found[name] for name in ("printed", "told", "answer") if found[name] is not None), None)
        share = self._share
        if share is None:
            return ""
        kept = found[0] if printed is None else found[0].replace(printed, share.result(printed) or "")
        if lines and share.marks != 0 and isinstance(share.arguments, dict):
            kept = kept.replace(lines[0], share.arguments["command"])
        return kept
