"""What follows what is told of steps that do something, with whether it worked, and added up over sessions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.sleep.procedures import Follows, count_procedures, step_name, steps_that_follow
from mnemic.algorithms.steps.steps import ToolEvent


def ran(command: str, outcome: str = "ok") -> list[ToolEvent]:
    """A shell's call and its result."""
    return [
        ToolEvent(True, "Bash", None, (), f"Bash\ncommand: {command}"),
        ToolEvent(False, "Bash", outcome, (), ""),
    ]


def used(tool: str, file: str) -> list[ToolEvent]:
    """A call of a tool on a file and its result."""
    call = ToolEvent(True, tool, None, (file,), f"{tool}\nfile_path: {file}")
    return [call, ToolEvent(False, tool, "ok", (file,), "")]


def test_a_step_is_named_by_what_it_does_to_what_and_by_which_program() -> None:
    assert step_name("Bash", "Bash\ncommand: pytest tests/test_a.py") == "test python (pytest)"
    assert step_name("Edit", "Edit\nfile_path: src/a.py", ("src/a.py",)) == "edit python"
    assert step_name("mcp__tracker__close", "mcp__tracker__close\nid: 4") == "call (mcp__tracker__close)"


def test_after_a_failed_test_the_next_step_that_does_something_is_told_and_whether_it_worked() -> None:
    happened = [
        *ran("pytest tests/test_a.py", "failed"),
        *used("Read", "src/a.py"),
        *used("Edit", "src/a.py"),
        *ran("pytest tests/test_a.py"),
        *ran("git commit -m done"),
    ]
    assert steps_that_follow(happened) == [
        Follows(before=0, failed=True, then=4, worked=True),
        Follows(before=4, failed=False, then=6, worked=True),
        Follows(before=6, failed=False, then=8, worked=None),
    ]


def test_that_reading_follows_reading_is_told_by_nobody() -> None:
    assert steps_that_follow([*used("Read", "a.py"), *used("Grep", "b.py"), *used("Read", "c.py")]) == []
    assert steps_that_follow([]) == []


def test_what_is_too_far_behind_does_not_follow() -> None:
    happened = [*ran("pytest", "failed"), *(event for _ in range(7) for event in used("Read", "a.py")), *ran("make")]
    assert steps_that_follow(happened) == []


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 5), st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_counts_add_up_and_the_newest_example_is_the_last(seen: list[tuple[str, int, int, int]]) -> None:
    found = count_procedures(seen, 3)
    for what in "ab":
        own = [(place, one) for place, one in enumerate(seen) if one[0] == what]
        times = sum(one[1] for _, one in own)
        assert (what in found) is (times >= 3)
        if what in found:
            assert found[what] == (times, sum(o[2] for _, o in own), sum(o[3] for _, o in own), own[-1][0])
