"""Drawn sessions of work: a call and what came of it belong together, and what is asked of them can be answered."""

from __future__ import annotations

from itertools import pairwise

from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import AddMemory
from mnemic.bench.speed.hd.mind import BRANCHES, make_work_memory, work_patterns


def dressed(count: int) -> list[AddMemory]:
    return [
        make_work_memory(
            AddMemory(
                id=number.to_bytes(16, "big"),
                identity=number.to_bytes(32, "big"),
                assistant="bench",
                session="one",
                place=ScopeRef(path="bench", project=None, found="named"),
                kind="turn",
                role="system",
                text=b"nothing but words",
                said_at=2_000_000_000_000_000 + 1_000_000 * number,
            ),
            number,
        )
        for number in range(count)
    ]


def test_what_comes_of_a_call_has_its_tool_its_file_and_how_it_ended() -> None:
    memories = dressed(800)
    calls = [(one, two) for one, two in pairwise(memories) if one.kind == "tool_call"]
    assert len(calls) == 300
    for call, result in calls:
        assert (call.role, result.role, result.kind) == ("assistant", "tool", "tool_result")
        assert (call.tool, call.files, call.branch) == (result.tool, result.files, result.branch)
        assert call.outcome is None
        assert result.outcome in ("ok", "failed")
        assert call.text.split(b"\n")[0].decode() == call.tool
    assert {result.outcome for _, result in calls} == {"ok", "failed"}
    assert {call.tool for call, _ in calls} == {"Edit", "Bash", "Read"}


def test_sessions_go_on_in_order_of_time_and_the_same_number_is_the_same_memory() -> None:
    memories = dressed(80)
    times = [memory.said_at for memory in memories if memory.said_at is not None]
    assert times == sorted(times)
    assert times[-1] - times[0] == 79 * 300_000_000
    assert memories == dressed(80)
    assert [memory.role for memory in memories[:3]] == ["user", "assistant", "assistant"]


def test_what_is_asked_names_what_some_have() -> None:
    memories = dressed(4000)
    files = {file for memory in memories for file in memory.files}
    people = {memory.speaker for memory in memories} - {None}
    branches = {memory.branch for memory in memories}
    asked = [kind(number) for kind in work_patterns(["a word"], model=True).values() for number in range(50)]
    assert {pattern["file"] for pattern in asked if "file" in pattern} <= files
    assert {pattern["who"] for pattern in asked if "who" in pattern} <= people
    assert {pattern["branch"] for pattern in asked if "branch" in pattern} - {"?"} <= branches
    assert len(branches) == BRANCHES
    assert not any("about" in kind(0) for kind in work_patterns([], model=False).values())
