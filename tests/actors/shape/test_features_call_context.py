"""A call is read with its result and the calls around it, from wherever in the session one looks."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.shape.features import CallContext, CallOutcome
from mnemic.actors.shape.queries import NEAR_CALLS, NearbyCall, Unbound
from mnemic.algorithms.steps.errors import ErrorKind
from tests.built import memory

MEMORY = memory(assistant="claude-code", scope="slipway", role="assistant")


def call(tool: str, text: str = "", *files: str) -> NearbyCall:
    return NearbyCall(kind="tool_call", tool=tool, outcome=None, files=files, text=f"{tool}\n{text}".encode())


def result(tool: str, outcome: str, text: str = "", *files: str) -> NearbyCall:
    return NearbyCall(kind="tool_result", tool=tool, outcome=outcome, files=files, text=text.encode())


SESSION = [
    call("Read", "file_path: a.py", "a.py"),
    result("Read", "ok"),
    call("Edit", "file_path: a.py", "a.py"),
    result("Edit", "ok"),
    call("Bash", "command: pytest -q"),
    result("Bash", "failed", "FAILED tests/test_a.py::test_it"),
    call("Edit", "file_path: a.py", "a.py"),
    result("Edit", "ok"),
    call("Bash", "command: pytest -q tests/test_a.py"),
    result("Bash", "ok"),
]


def at(session: list[NearbyCall], place: int) -> Unbound:
    own = session[place]
    memory = msgspec.structs.replace(
        MEMORY, kind=own.kind, tool=own.tool, outcome=own.outcome, files=own.files, data=own.text
    )
    before, after = tuple(session[:place][::-1]), tuple(session[place + 1 :])
    return Unbound(
        row=1, memory=memory, words=2, meaning=b"", previous=b"", next=b"", speakers=(), before=before, after=after
    )


def window(session: list[NearbyCall], place: int) -> Unbound:
    """As the store tells it: so many calls and results on each side, and not more."""
    whole = at(session, place)
    return msgspec.structs.replace(whole, before=whole.before[:NEAR_CALLS], after=whole.after[:NEAR_CALLS])


def work_at(place: int) -> CallContext:
    work = CallContext.from_unbound(at(SESSION, place))
    assert work is not None
    return work


def test_a_turn_is_no_work() -> None:
    assert CallContext.from_unbound(msgspec.structs.replace(at(SESSION, 0), memory=MEMORY)) is None


@pytest.mark.parametrize("place", [4, 5])
def test_a_call_and_its_result_tell_the_same(place: int) -> None:
    work = work_at(place)
    assert work.programs() == ("pytest",)
    assert work.outcome() == "failed"
    assert work.files() == ["tests/test_a.py"]
    assert work.worked() is False


def test_the_calls_before_come_nearest_first() -> None:
    assert work_at(6).recent_calls(2) == [
        CallOutcome("edit", "python", "Edit", "ok"),
        CallOutcome("test", "python", "pytest", "failed", ErrorKind("", "", "…::test_it", "tests/test_a.py::test_it")),
        CallOutcome("edit", "python", "Edit", "ok"),
    ]
    assert work_at(0).recent_calls(3) == [CallOutcome("read", "python", "Read", "ok")]


def test_whether_it_worked_is_told_by_what_comes_after() -> None:
    assert [work_at(place).worked() for place in (2, 4, 6, 8)] == [False, False, True, True]


def test_a_result_without_its_call_keeps_what_it_says_itself() -> None:
    work = CallContext.from_unbound(at([result("Edit", "ok", "", "b.py")], 0))
    assert work is not None
    assert (work.programs(), work.outcome(), work.files()) == ((), None, ["b.py"])
    assert (work.recent_calls(3), work.worked()) == ([], None)


def test_a_call_whose_result_is_not_there_has_no_outcome() -> None:
    work = CallContext.from_unbound(at([call("Bash", "command: pytest")], 0))
    assert work is not None
    assert (work.programs(), work.outcome(), work.worked()) == (("pytest",), None, None)
    assert work.recent_calls(3) == [CallOutcome("test", "python", "pytest", "")]


@given(st.lists(st.sampled_from(SESSION), min_size=1, max_size=9), st.data())
def test_any_neighbourhood_can_be_read(session: list[NearbyCall], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(session) - 1))
    work = CallContext.from_unbound(at(session, place))
    assert work is not None
    assert len(work.recent_calls(3)) <= 4
    if session[place].kind == "tool_call":
        assert work.recent_calls(0)


def test_a_call_that_says_itself_how_it_ended_needs_no_result() -> None:
    ended = [
        NearbyCall(kind="tool_call", tool="Bash", outcome=outcome, files=(), text=f"Bash\ncommand: {line}".encode())
        for line, outcome in (("pytest -q", "failed"), ("pytest -q", "ok"))
    ]
    works = [CallContext.from_unbound(at(ended, place)) for place in (0, 1)]
    assert [work.outcome() for work in works if work] == ["failed", "ok"]
    assert [work.worked() for work in works if work] == [False, True]
    assert [one.outcome for one in works[1].recent_calls(3)] == ["ok", "failed"] if works[1] else False


def test_what_a_result_says_counts_before_what_its_call_says() -> None:
    said = NearbyCall(kind="tool_call", tool="Bash", outcome="ok", files=(), text=b"Bash\ncommand: pytest -q")
    silent = NearbyCall(kind="tool_result", tool="Bash", outcome=None, files=(), text=b"")
    outcomes = []
    for came in (result("Bash", "failed"), silent):
        work = CallContext.from_unbound(at([said, came], 1))
        outcomes.append(work and work.outcome())
    assert outcomes == ["failed", "ok"]


@given(st.lists(st.lists(st.sampled_from(("ok", "failed")), min_size=1, max_size=12), min_size=1, max_size=5))
def test_of_calls_side_by_side_none_is_taken_for_another_where_not_all_are_near(rounds: list[list[str]]) -> None:
    truth = {f"tool{turn}x{n}": ended for turn, ends in enumerate(rounds) for n, ended in enumerate(ends)}
    names = [[name for name in truth if name.startswith(f"tool{turn}x")] for turn in range(len(rounds))]
    session = [
        one
        for turn in names
        for one in (
            *(call("Bash", f"command: {name}") for name in turn),
            *(result("Bash", truth[name]) for name in turn),
        )
    ]
    for place, name in enumerate(name for turn in names for name in (*turn, *turn)):
        work = CallContext.from_unbound(window(session, place))
        assert work is not None
        assert work.programs() in ((), (name,))
        assert all(done.outcome in ("", truth[done.tool]) for done in work.recent_calls(3))
        if max(map(len, rounds)) <= 4:
            assert work.programs() == (name,)
            assert work.outcome() == truth[name]


def test_calls_of_anybody_s_tools_are_steps_that_tell_what_worked() -> None:
    session = [
        NearbyCall(kind="tool_call", tool="Edit", outcome="ok", files=("auth.py",), text=b"shorter tokens"),
        NearbyCall(kind="tool_call", tool="pytest", outcome=None, files=(), text=b"pytest -q tests/test_auth.py"),
        NearbyCall(kind="tool_result", tool="pytest", outcome="failed", files=(), text=b"FAILED tests/test_auth.py::x"),
        NearbyCall(kind="tool_call", tool="Edit", outcome="ok", files=("auth.py",), text=b"longer ones"),
        NearbyCall(kind="tool_call", tool="pytest", outcome="ok", files=(), text=b"31 passed"),
    ]
    works = [CallContext.from_unbound(at(session, place)) for place in (0, 1, 3, 4)]
    assert [work and work.recent_calls(0) for work in works] == [
        [CallOutcome("edit", "python", "Edit", "ok")],
        [CallOutcome("test", "python", "pytest", "failed", ErrorKind("", "", "…::x", "tests/test_auth.py::x"))],
        [CallOutcome("edit", "python", "Edit", "ok")],
        [CallOutcome("test", "python", "pytest", "ok")],
    ]
    assert [work and work.worked() for work in works] == [False, False, True, True]
