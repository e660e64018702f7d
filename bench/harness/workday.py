"""Generates synthetic coding sessions: turns, tool calls and their results, and structural queries on them.

It dresses the homes of `mnemic.bench.harness.homes`, so that there is something to ask by shape; and what is asked is
here too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec

from mnemic.actors.protocol.changes import AddMemory
from mnemic.actors.protocol.events import Outcome

__all__ = ["BRANCHES", "PatternMaker", "make_work_memory", "work_patterns"]

PatternMaker = Callable[[int], dict[str, str]]
"""The question of a number."""
BRANCHES = 5
_PEOPLE, _FILES, _TOOLS = 7, 60, 30
_APART_US = 300_000_000
_TURN = 8  # user, assistant, an edit, what came of it, a test, what came of it, something read, what came of it
_CALLS = {2: ("Edit", "file_path: {}"), 4: ("Bash", "command: pytest tests/test_{}"), 6: ("Read", "file_path: {}")}
_FAILED = 60  # of 256


def make_work_memory(memory: AddMemory, number: int) -> AddMemory:
    """One of a session in which something is made and tested, with its tool, its file, and how it ended."""
    drawn = hashlib.sha256(b"at work %d" % (number // 2)).digest()  # a call and its result have it in common
    if memory.said_at is not None:
        apart = (_APART_US - 1_000_000) * (1_000_000 - number)  # they are said a second apart
        memory = msgspec.structs.replace(memory, said_at=memory.said_at - apart)
    memory = msgspec.structs.replace(memory, branch=f"branch-{drawn[3] % BRANCHES}")
    place = number % _TURN
    if place == 0:
        said = memory.text + b". I use tool %d." % (drawn[5] % _TOOLS)
        return msgspec.structs.replace(memory, role="user", speaker=f"person {drawn[4] % _PEOPLE}", text=said)
    if place == 1:
        return msgspec.structs.replace(memory, role="assistant")
    tool, call = _CALLS[place // 2 * 2]
    name = f"part_{int.from_bytes(drawn[:2], 'little') % _FILES}.py"
    path = name if tool == "Bash" else f"src/{name}"
    files = () if tool == "Bash" else (path,)
    if place % 2:
        outcome: Outcome = "failed" if drawn[2] < _FAILED else "ok"
        return msgspec.structs.replace(memory, kind="tool_result", role="tool", tool=tool, outcome=outcome, files=files)
    text = f"{tool}\n{call.format(path)}".encode()
    return msgspec.structs.replace(memory, kind="tool_call", role="assistant", tool=tool, text=text, files=files)


def work_patterns(words: list[str], *, model: bool) -> dict[str, PatternMaker]:
    """Questions by their kind: a number gives one, whose fillers some of these memories have.

    Args:
        words: what is asked for by meaning.
        model: whether anything is.
    """

    def words_of(number: int) -> str:
        return words[number % len(words)]

    def file(number: int) -> str:
        return f"src/part_{number * 7 % _FILES}.py"

    kinds: dict[str, PatternMaker] = {
        "exact roles": lambda n: {
            "tool": "pytest",
            "outcome": ("ok", "failed")[n % 2],
            "branch": f"branch-{n % BRANCHES}",
        },
        "exact roles, one unknown": lambda n: {"tool": "edit", "file": file(n), "outcome": "?"},
        "nearness and an unknown": lambda n: {"hour": str(n % 24), "who": f"person {n % _PEOPLE}", "topic": "?"},
        "facts, one unknown": lambda n: {"subject": f"person {n % _PEOPLE}", "relation": "use", "object": "?"},
        "steps, what followed": lambda n: {"after": ("edit, test failed", "read, edit", "test ok")[n % 3], "then": "?"},
    }
    if model:
        kinds["meaning and exact roles"] = lambda n: {"about": words_of(n), "who": f"person {n % _PEOPLE}"}
        kinds["meaning, one unknown"] = lambda n: {"about": words_of(n), "kind": "turn", "branch": "?"}
    return kinds
