"""Classifies tool calls: action and target, which result belongs to which call, did it succeed.

Above it stands `mnemic.actors.shape.features`. Each host names its tools in its own words (``Edit``, ``write_file``,
``apply_patch``, ``replace``); a step names what is done: ``edit``. What a shell runs is told from its line, and so is
what is done by a tool that is named as a program (``pytest``, ``cargo``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from mnemic.algorithms.steps.shell import (
    Command,
    file_kind,
    is_program,
    looks_like_file,
    main_command,
    parse_commands,
    program_language,
    program_of,
)

CHECK_ACTIONS = frozenset(("test", "build", "lint"))
"""Actions that tell how things are: what they say counts for whatever was done before them."""
NEUTRAL_ACTIONS = frozenset(("read", "search", "list", "inspect", "fetch", "plan", "ask", "edit", "delegate"))
"""Actions whose end says nothing of what was done before: nothing was found, or a text had changed meanwhile."""
LOOKAHEAD_STEPS = 4
"""So many later steps may tell whether one worked; what comes after those is about something else."""
MAX_PROGRAMS = 3
"""Of one line so many programs are named."""


class ToolEvent(NamedTuple):
    """A call of a tool, or what came of one, as it stands in a session."""

    is_call: bool
    """Whether it is a call; else it is a result."""
    tool: str
    """The tool's name as its host writes it, or ``""``."""
    outcome: str | None
    """``ok`` or ``failed``, where that is said of it."""
    files: tuple[str, ...]
    """Files it touched."""
    text: str
    """Of a call the tool's name and then one argument a line, or its start."""


class Step(NamedTuple):
    """What a call does."""

    action: str
    """``edit``, ``test``, ``read``, ``search``, ``commit``, … or ``call`` where all that is known is its tool."""
    target: str
    """The kind of thing it is done to (``python``, ``docs``, ``config``, …), or ``""``."""
    programs: tuple[str, ...] = ()
    """What a shell runs for it, the main one first."""
    files: tuple[str, ...] = ()
    """Files that its text names, beside those that its host names."""


_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_VERBS = {
    word: action
    for action, words in (
        ("shell", "bash shell exec command cmd terminal powershell"),
        ("edit", "edit write replace patch update insert create"),
        ("search", "grep glob search find codebase"),
        ("list", "ls list"),
        ("fetch", "web fetch browse browser"),
        ("read", "read view open"),
        ("delete", "delete remove"),
        ("test", "test tests"),
        ("plan", "todo todos plan"),
        ("delegate", "agent task subagent"),
        ("ask", "ask question"),
    )
    for word in words.split()
}
"""What a word in a tool's name says of the tool, the first of `_ORDER` that is there."""
_ORDER = ("shell", "plan", "delegate", "ask", "fetch", "test", "delete", "edit", "search", "list", "read")
_WHOLE = {
    **dict.fromkeys(("webfetch", "websearch"), "fetch"),
    **dict.fromkeys(("todowrite", "todoread"), "plan"),
    **dict.fromkeys(("bashoutput", "readlints"), "read"),
    **dict.fromkeys(("killbash", "killshell", "slashcommand", "write_stdin", "complete_task"), "call"),
    "multiedit": "edit",
}
"""Names whose words say nothing, or something else."""
_ARGUMENT = re.compile(r"(?:\A|\n)(?:command|cmd|script|input): ")
_NEXT_ARGUMENT = re.compile(
    r"\n(?:description|timeout|timeout_ms|workdir|cwd|directory|dir_path|run_in_background|is_background|justification"
    r"|explanation|yield_time_ms|max_output_tokens|sandbox_permissions|with_escalated_permissions|login|shell|tty"
    r"|prefix_rule|dangerouslyDisableSandbox|required_permissions|block_until_ms): "
)
_BLAMED = re.compile(
    r"^(?:FAILED|ERROR|FAIL:?)\s+([\w./\\-]+)|(?<![\w./\\-])([\w./\\-]+\.\w{1,5})(?::\d+|\(\d+,\d+\))", re.MULTILINE
)
_STRING = re.compile(r"\"((?:\\.|[^\"\\]++)*+)(?:\"|\\?\Z)", re.DOTALL)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def parse_step(tool: str, text: str, files: Sequence[str] = ()) -> Step:
    """What a call does, from the tool's name and how its text begins.

    Args:
        tool: its name as the host writes it.
        text: the tool's name, then ``name: value`` for each argument.
        files: files that its host says it touched.
    """
    action = _action_of(tool)
    patched = _PATCHED.findall(text) if "*** Begin Patch" in text else []
    if patched and action in ("shell", "edit"):
        return Step("edit", file_kind([*files, *patched]), (), tuple(patched))
    if is_program(tool) and (action == "call" or (" " in tool and tool.islower())):
        found = _program_line(tool, text)
    elif action != "shell":
        return Step(action, file_kind(files))
    else:
        found = parse_commands(_shell_line(tool, text))
    main = main_command(found)
    if main is None:
        return Step("run", file_kind(files))
    programs = dict.fromkeys([main.program, *(one.program for one in found)])
    named = tuple(file for word in main.arguments if (file := word.partition("::")[0]) and looks_like_file(file))
    return Step(main.action, _target(main, [*files, *named]), tuple(programs)[:MAX_PROGRAMS], named)


def line_span(tool: str, text: str) -> tuple[int, int]:
    """Where the line stands that a shell is given by a call, in bytes of its text; of another tool's call all of it."""
    line = _shell_line(tool, text) if _action_of(tool) == "shell" else ""
    start = text.find(line) if line else -1
    if start < 0:
        return 0, len(text.encode("utf-8", "surrogatepass"))
    first = len(text[:start].encode("utf-8", "surrogatepass"))
    return first, first + len(line.encode("utf-8", "surrogatepass"))


MAX_LINE_CHARS = 160
"""A call is told in so many characters."""


def call_line(tool: str, text: str, files: Sequence[str] = ()) -> str:
    """A call in one line: what a shell is given, else the tool and the file it is called for.

    Args:
        tool: its name as the host writes it.
        text: the tool's name, then ``name: value`` for each argument.
        files: files that its host says it touched.
    """
    shell = _action_of(tool) == "shell" or is_program(tool)
    line = _shell_line(tool, text) if shell else " ".join([tool, *files[:1]])
    line = " ".join(line.split())
    return line if len(line) <= MAX_LINE_CHARS else f"{line[: MAX_LINE_CHARS - 1]}…"


def failing_files(text: str) -> list[str]:
    """The files that the output of a check names with a line or as failed, each once, in order."""
    found = (one[1] or one[2] for one in _BLAMED.finditer(text))
    return list(dict.fromkeys(path for path in found if looks_like_file(path)))


def pair_calls_with_results(
    happened: Sequence[ToolEvent], *, more_before: bool = False, more_after: bool = False
) -> list[int | None]:
    """Of each call the place of its result, and of each result that of its call; ``None`` where it is not there.

    Hosts run calls side by side, so results come in the order of the calls of one round, unless their files tell more.
    A call whose result never came keeps to itself: what comes in later rounds goes to the calls of those.

    Of a part of a session, the first round may lack its first calls: its last calls then have the last results, and
    where the last results may be missing too, nothing tells whose any of them is.

    Args:
        happened: a session, or a part of it.
        more_before: whether there may be more before it.
        more_after: whether there may be more after it.
    """
    found: list[int | None] = [None] * len(happened)
    calls = [one.is_call for one in happened] + [True]
    came = calls.index(False) if False in calls else len(happened)  # the first result
    ended = calls.index(True, came)  # the call after it
    rounds: list[list[int]] = []
    start = 0
    if more_before and came:
        if more_after and ended == len(happened):
            return found
        if ended - came > came:
            rounds, start = [list(range(came))], ended
            for place in range(ended - 1, came - 1, -1):
                _pair(found, happened, place, rounds[0], -1)
    for place in range(start, len(happened)):
        if not calls[place]:
            any(_pair(found, happened, place, waiting, 0) for waiting in reversed(rounds))
            continue
        if not place or not calls[place - 1]:
            rounds.append([])
        rounds[-1].append(place)
    return found


def _pair(found: list[int | None], happened: Sequence[ToolEvent], place: int, waiting: list[int], end: int) -> bool:
    """Give a result to a call that waits for its own: of those that it may be of the first (0), or the last (-1)."""
    one = happened[place]
    same = [other for other in waiting if _can_match(happened[other], one)]
    if not same:
        return False
    other = next((other for other in same if one.files and happened[other].files == one.files), same[end])
    found[place], found[other] = other, place
    waiting.remove(other)
    return True


def step_succeeded(step: Step, outcome: str | None, later: Sequence[tuple[Step, str | None]]) -> bool | None:
    """Whether things were well after a step; ``None`` where nothing tells.

    What failed did not work, and a check that ended well did. Anything else did if the next check, or the same program
    run again, ends well within `LOOKAHEAD_STEPS` steps, before anything that matters has failed.

    Args:
        step: the step.
        outcome: how it ended.
        later: the steps after it, the nearest first, and how each ended.
    """
    if outcome == "failed":
        return False
    if step.action in CHECK_ACTIONS:
        return True if outcome == "ok" else None
    for other, ended in later[:LOOKAHEAD_STEPS]:
        again = step.action not in NEUTRAL_ACTIONS and (other.action, other.programs[:1]) == (
            step.action,
            step.programs[:1],
        )
        if ended == "ok" and (again or other.action in CHECK_ACTIONS):
            return True
        if ended == "failed" and other.action not in NEUTRAL_ACTIONS:
            return False
    return None


def _can_match(call: ToolEvent, result: ToolEvent) -> bool:
    return call.tool == result.tool or not result.tool or not call.tool


def _action_of(tool: str) -> str:
    """What a tool does, as far as its name says; ``shell`` for what runs a line. A server's tool is just called."""
    if tool.lower().startswith(("mcp__", "mcp:")) or tool.count("__") > 1:
        return "call"
    name = tool.rpartition("__")[2].rpartition(".")[2]
    words = {word.lower() for word in _PARTS.findall(name)}
    known = {_WHOLE[name.lower()]} if name.lower() in _WHOLE else {_VERBS[word] for word in words if word in _VERBS}
    return next((action for action in _ORDER if action in known), "call")


def _shell_line(tool: str, text: str) -> str:
    """The line that a shell is given: the argument of that name, else all after the tool's name."""
    started = _ARGUMENT.search(text)
    line = text[started.end() :] if started else text.removeprefix(tool).lstrip("\n")
    ended = _NEXT_ARGUMENT.search(line)
    line = line[: ended.start()] if ended else line
    if not line.startswith('["'):
        return line
    words = _listed(line)
    return words[-1] if len(words) > 2 and re.fullmatch(r"-\w*c", words[-2]) else " ".join(words)


def _program_line(tool: str, text: str) -> list[Command]:
    """What is run by a tool that is named as a program, or as a command: ``cargo``, ``cargo test``.

    The argument that holds a line, else the first line of what is said of the call, is the line that runs it, if it is
    in there; else its arguments.
    """
    said = text[len(tool) :] if re.match(re.escape(tool) + r"(?:\n|\Z)", text) else text
    line = _shell_line("", said) if _ARGUMENT.search(said) else said.strip().partition("\n")[0]
    if program_of(line) == program_of(tool) or program_of(tool) in (one.program for one in parse_commands(line)):
        return parse_commands(line)
    return parse_commands(f"{tool} {line}")[:1]


def _listed(line: str) -> list[str]:
    """The strings of a list in JSON, which may be cut off."""
    try:
        words = json.loads(line)
    except (ValueError, RecursionError):
        words = [word.replace('\\"', '"').replace("\\n", "\n") for word in _STRING.findall(line)]
    return [word for word in words if isinstance(word, str)]


def _target(command: Command, files: Sequence[str]) -> str:
    """The kind of what a command is done to: by its files, else by what its program is for.

    A check looks at more than the files it names, so there its program comes first.
    """
    named, known = file_kind(files), program_language(command.program)
    return known or named if command.action in CHECK_ACTIONS else named or known
