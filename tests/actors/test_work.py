"""A call is read with its result and the calls around it, from wherever in the session one looks."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.messages import Memory
from mnemic.actors.snapshot import Neighbour, Unbound
from mnemic.actors.work import Done, Work

MEMORY = Memory(
    id=bytes(16),
    source_id=None,
    text=b"",
    assistant="claude-code",
    session="s",
    scope="slipway",
    found="named",
    kind="turn",
    role="assistant",
    speaker=None,
    branch=None,
    tool=None,
    outcome=None,
    files=(),
    said_at=None,
    valid_from=0,
    valid_to=None,
    recorded_at=0,
    superseded_by=None,
    supersedes=(),
)


def call(tool: str, text: str = "", *files: str) -> Neighbour:
    return Neighbour(kind="tool_call", tool=tool, outcome=None, files=files, text=f"{tool}\n{text}".encode())


def result(tool: str, outcome: str, text: str = "", *files: str) -> Neighbour:
    return Neighbour(kind="tool_result", tool=tool, outcome=outcome, files=files, text=text.encode())


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


def at(session: list[Neighbour], place: int) -> Unbound:
    own = session[place]
    memory = msgspec.structs.replace(
        MEMORY, kind=own.kind, tool=own.tool, outcome=own.outcome, files=own.files, text=own.text
    )
    before, after = tuple(session[:place][::-1]), tuple(session[place + 1 :])
    return Unbound(
        row=1, memory=memory, words=2, meaning=b"", previous=b"", next=b"", speakers=(), before=before, after=after
    )


def work_at(place: int) -> Work:
    work = Work.around(at(SESSION, place))
    assert work is not None
    return work


def test_a_turn_is_no_work() -> None:
    assert Work.around(msgspec.structs.replace(at(SESSION, 0), memory=MEMORY)) is None


@pytest.mark.parametrize("place", [4, 5])
def test_a_call_and_its_result_tell_the_same(place: int) -> None:
    work = work_at(place)
    assert work.programs() == ("pytest",)
    assert work.outcome() == "failed"
    assert work.files() == ["tests/test_a.py"]
    assert work.worked() is False


def test_the_calls_before_come_nearest_first() -> None:
    assert work_at(6).done(2) == [
        Done("edit", "python", "Edit", "ok"),
        Done("test", "python", "pytest", "failed"),
        Done("edit", "python", "Edit", "ok"),
    ]
    assert work_at(0).done(3) == [Done("read", "python", "Read", "ok")]


def test_whether_it_worked_is_told_by_what_comes_after() -> None:
    assert [work_at(place).worked() for place in (2, 4, 6, 8)] == [False, False, True, True]


def test_a_result_without_its_call_keeps_what_it_says_itself() -> None:
    work = Work.around(at([result("Edit", "ok", "", "b.py")], 0))
    assert work is not None
    assert (work.programs(), work.outcome(), work.files()) == ((), None, ["b.py"])
    assert (work.done(3), work.worked()) == ([], None)


def test_a_call_whose_result_is_not_there_has_no_outcome() -> None:
    work = Work.around(at([call("Bash", "command: pytest")], 0))
    assert work is not None
    assert (work.programs(), work.outcome(), work.worked()) == (("pytest",), None, None)
    assert work.done(3) == [Done("test", "python", "pytest", "")]


@given(st.lists(st.sampled_from(SESSION), min_size=1, max_size=9), st.data())
def test_any_neighbourhood_can_be_read(session: list[Neighbour], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(session) - 1))
    work = Work.around(at(session, place))
    assert work is not None
    assert len(work.done(3)) <= 4
    if session[place].kind == "tool_call":
        assert work.done(0)
