"""Steps: what the call of a tool does and to what kind of thing, whose a result is, and whether it worked. Pure.

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
    commands,
    is_file,
    is_program,
    language_of,
    main_command,
    program_of,
    target_of,
)

__all__ = ["CHECKS", "Happened", "Step", "blamed", "partners", "step_of", "worked"]

CHECKS = frozenset(("test", "build", "lint"))
"""Actions that tell how things are: what they say counts for whatever was done before them."""
MUTE = frozenset(("read", "search", "list", "inspect", "fetch", "plan", "ask", "edit", "delegate"))
"""Actions whose end says nothing of what was done before: nothing was found, or a text had changed meanwhile."""
LOOKS_AHEAD = 4
"""So many later steps may tell whether one worked; what comes after those is about something else."""
MOST_PROGRAMS = 3
"""Of one line so many programs are named."""


class Happened(NamedTuple):
    """A call of a tool, or what came of one, as it stands in a session."""

    call: bool
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
_STRING = re.compile(r"\"((?:\\.|[^\"\\])*)(?:\"|\Z)", re.DOTALL)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def step_of(tool: str, text: str, files: Sequence[str] = ()) -> Step:
    """What a call does, from the tool's name and how its text begins.

    Args:
        tool: its name as the host writes it.
        text: the tool's name, then ``name: value`` for each argument.
        files: files that its host says it touched.
    """
    action = _action_of(tool)
    patched = _PATCHED.findall(text) if "*** Begin Patch" in text else []
    if patched and action in ("shell", "edit"):
        return Step("edit", target_of([*files, *patched]), (), tuple(patched))
    if is_program(tool) and (action == "call" or (" " in tool and tool.islower())):
        found = _program_line(tool, text)
    elif action != "shell":
        return Step(action, target_of(files))
    else:
        found = commands(_shell_line(tool, text))
    main = main_command(found)
    if main is None:
        return Step("run", target_of(files))
    programs = dict.fromkeys([main.program, *(one.program for one in found)])
    named = tuple(file for word in main.words if (file := word.partition("::")[0]) and is_file(file))
    return Step(main.action, _target(main, [*files, *named]), tuple(programs)[:MOST_PROGRAMS], named)


def blamed(text: str) -> list[str]:
    """The files that the output of a check names with a line or as failed, each once, in order."""
    found = (one[1] or one[2] for one in _BLAMED.finditer(text))
    return list(dict.fromkeys(path for path in found if is_file(path)))


def partners(happened: Sequence[Happened], *, more_before: bool = False, more_after: bool = False) -> list[int | None]:
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
    calls = [one.call for one in happened] + [True]
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


def _pair(found: list[int | None], happened: Sequence[Happened], place: int, waiting: list[int], end: int) -> bool:
    """Give a result to a call that waits for its own: of those that it may be of the first (0), or the last (-1)."""
    one = happened[place]
    same = [other for other in waiting if _may_be(happened[other], one)]
    if not same:
        return False
    other = next((other for other in same if one.files and happened[other].files == one.files), same[end])
    found[place], found[other] = other, place
    waiting.remove(other)
    return True


def worked(step: Step, outcome: str | None, later: Sequence[tuple[Step, str | None]]) -> bool | None:
    """Whether things were well after a step; ``None`` where nothing tells.

    What failed did not work, and a check that ended well did. Anything else did if the next check, or the same program
    run again, ends well within `LOOKS_AHEAD` steps, before anything that matters has failed.

    Args:
        step: the step.
        outcome: how it ended.
        later: the steps after it, the nearest first, and how each ended.
    """
    if outcome == "failed":
        return False
    if step.action in CHECKS:
        return True if outcome == "ok" else None
    for other, ended in later[:LOOKS_AHEAD]:
        again = step.action not in MUTE and (other.action, other.programs[:1]) == (step.action, step.programs[:1])
        if ended == "ok" and (again or other.action in CHECKS):
            return True
        if ended == "failed" and other.action not in MUTE:
            return False
    return None


def _may_be(call: Happened, result: Happened) -> bool:
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
    if program_of(line) == program_of(tool) or program_of(tool) in (one.program for one in commands(line)):
        return commands(line)
    return commands(f"{tool} {line}")[:1]


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
    named, known = target_of(files), language_of(command.program)
    return known or named if command.action in CHECKS else named or known
