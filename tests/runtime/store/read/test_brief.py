"""What is told of a project: where its last session ended and what holds, whatever order things were captured in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.brief.statement_cues import standing
from mnemic.actors.protocol.ambient_messages import Brief
from mnemic.actors.protocol.briefing_sources import NOTHING, LeftOff, Material
from mnemic.actors.protocol.changes import Part, Place, RecordGiven, RecordRecall
from mnemic.actors.protocol.events import Event, to_bytes, to_text
from mnemic.actors.protocol.messages import Apply, Forget
from tests.society import NOWHERE, START_US, Society

PLACE = Place(path="shelf", project=None, found="named")
BASH = "Bash\ncommand: "


@pytest.fixture
def society(tmp_path: Path) -> Iterator[Society]:
    with Society(tmp_path) as society:
        yield society


def event(text: str, at: int = 0, **fields: Any) -> Event:
    given = {"assistant": "claude-code", "session": "one", "kind": "turn", "role": "user", "scope": "shelf"}
    return Event(**(given | {"text": to_bytes(text), "said_at": START_US + at} | fields))


def reply(text: str, at: int = 0, **fields: Any) -> Event:
    return event(text, at, role="assistant", **fields)


def ran(command: str, at: int, outcome: str | None = "ok", tool: str = "Bash", **fields: Any) -> list[Event]:
    call = event(f"{tool}\ncommand: {command}", at, kind="tool_call", role="assistant", tool=tool, **fields)
    result = event(
        f"{command}: {outcome}", at + 1, kind="tool_result", role="tool", tool=tool, outcome=outcome, **fields
    )
    return [call] if outcome is None else [call, result]


def keep(society: Society, *events: Event) -> None:
    name = f"{len(society.sources)}"
    society.sources[name] = events
    society.take(name)


def material(society: Society, place: Place = PLACE, **fields: Any) -> Material:
    given = {"occasion": "session-start", "assistant": "claude-code", "session": "new", "place": place}
    found = society.look(lambda snapshot: snapshot.start_material(Brief(**(given | fields))))
    assert isinstance(found, Material)
    return found


def left(society: Society, **fields: Any) -> LeftOff:
    found = material(society, **fields).left_off
    assert found is not None
    return found


def words(left_off: LeftOff) -> tuple[str | None, list[str]]:
    prompt = None if left_off.prompt is None else to_text(left_off.prompt.text)
    return prompt, [to_text(one.text) for one in left_off.replies]


def held(society: Society, **fields: Any) -> list[str]:
    return [to_text(quote.text) for quote in material(society, **fields).holds]


# --- where we left off -----------------------------------------------------------------------------------------------


def test_the_last_session_is_the_one_in_which_something_was_said_last_however_late_it_was_captured(
    society: Society,
) -> None:
    keep(society, event("new prompt", 100, session="late"), reply("new reply", 101, session="late"))
    keep(society, event("old prompt", 10, session="early"), reply("old reply", 11, session="early"))
    found = left(society)
    assert words(found) == ("new prompt", ["new reply"])
    assert (found.assistant, found.at, found.answered) == ("claude-code", START_US + 101, True)


def test_it_is_of_this_project_and_what_is_below_it_and_of_no_other(society: Society) -> None:
    keep(society, event("of the shelf", 1), event("elsewhere", 9, session="two", scope="shelf2"))
    assert words(left(society))[0] == "of the shelf"
    keep(society, event("below", 5, session="three", scope="shelf/deep"))
    assert words(left(society))[0] == "below"
    assert material(society, Place(path="shel", project=None, found="named")) == NOTHING
    assert material(society, Place(path="shelf", project="/somebody/else", found="git")) == NOTHING


def test_where_no_project_is_there_is_nothing(society: Society) -> None:
    keep(society, event("From now on use tabs.", scope=""))
    assert material(society, NOWHERE) == NOTHING
    assert material(society) == NOTHING


def test_neither_this_session_nor_one_of_a_subagent_is_the_last(society: Society) -> None:
    keep(society, event("mine", 1), reply("yes", 2))
    keep(society, event("find all tests", 50, session="one/agent-1"), reply("42", 51, session="one/agent-1"))
    keep(society, event("hello", 90, session="new"), event("look", 91, session="new/agent-2"))
    assert words(left(society)) == ("mine", ["yes"])
    assert words(left(society, session="one"))[0] == "hello"
    keep(society, event("another host's", 95, session="new", assistant="codex"))
    assert words(left(society))[0] == "another host's"  # of the same name, and not the same


def test_a_session_whose_name_holds_a_slash_and_has_no_parent_is_nobodys_subagent(society: Society) -> None:
    keep(society, event("hello", 1, session="talks/monday", assistant="generic"))
    assert words(left(society))[0] == "hello"


def test_the_newest_replies_come_first_and_a_prompt_behind_them_has_none(society: Society) -> None:
    keep(society, *(reply(f"reply {number}", number) for number in range(5)), event("and now?", 9))
    found = left(society)
    assert words(found) == ("and now?", ["reply 4", "reply 3", "reply 2"])
    assert not found.answered


@pytest.mark.parametrize(
    ("steps", "failed"),
    [
        ([("pytest -q", "failed")], "pytest -q"),
        ([("pytest -q", "failed"), ("pytest tests/one.py", "ok")], None),
        ([("pytest -q", "failed"), ("git status", "ok")], "pytest -q"),
        ([("pytest -q", "failed"), ("cd src && pytest", "ok")], None),
        ([("pytest -q", "failed"), ("CI=1 pytest", "ok")], None),
        ([("make", "failed"), ("pytest", "failed"), ("pytest", "ok")], "make"),
        ([("pytest", "ok"), ("pytest", "failed")], "pytest"),
        ([("pytest", "failed"), ("pytest", None)], "pytest"),
        ([("pytest", "ok")], None),
        ([], None),
    ],
)
def test_a_call_that_failed_is_open_until_one_of_the_same_kind_succeeds(
    society: Society, steps: list[tuple[str, str | None]], failed: str | None
) -> None:
    events = [one for number, (command, how) in enumerate(steps) for one in ran(command, 10 * number + 10, how)]
    keep(society, event("go", 1), *events)
    failure = left(society).failure
    if failed is None:
        assert failure is None
    else:
        assert failure is not None
        assert failure.call is not None
        assert (failure.tool, to_text(failure.call.text)) == ("Bash", BASH + failed)
        assert to_text(failure.result.text) == f"{failed}: failed"


def test_calls_that_ran_at_once_are_told_apart_by_their_order(society: Society) -> None:
    first, failed = ran("make", 10, "failed")
    second, fine = ran("pytest", 11, "ok")
    keep(society, event("go", 1), first, second, failed, fine)
    failure = left(society).failure
    assert failure is not None
    assert failure.call is not None
    assert to_text(failure.call.text) == BASH + "make"


def test_a_result_without_its_call_is_told_alone(society: Society) -> None:
    keep(society, event("go", 1), ran("make", 2, "failed")[1])
    failure = left(society).failure
    assert failure is not None
    assert failure.call is None


def test_of_a_very_long_result_only_the_start_is_read_whole_in_letters(society: Society) -> None:
    noise = "".join(random.Random(0).choices("abcdefghij é", k=300_000))
    keep(society, event("go", 1), ran("make", 2, "failed")[0])
    keep(society, event(noise, 3, kind="tool_result", role="tool", tool="Bash", outcome="failed"))
    keep(society, event("é" * 200_000, 4, session="two"))
    failure = left(society, session="two").failure
    assert failure is not None
    assert failure.result.size_bytes == len(noise.encode())
    assert 30_000 < len(failure.result.text) <= 64 << 10
    assert noise.startswith(to_text(failure.result.text))
    prompt = left(society).prompt
    assert prompt is not None
    assert set(to_text(prompt.text)) == {"é"}


# --- what holds ------------------------------------------------------------------------------------------------------


def test_what_was_kept_on_purpose_comes_first_and_of_each_the_newest(society: Society) -> None:
    keep(society, event("From now on use tabs.", 1), event("Always run make check.", 5), event("nothing of it", 6))
    note = {"place": PLACE, "kind": "note"}
    society.keep("a note", **note, said_at=START_US + 9)
    society.keep("a decision", place=PLACE, kind="decision", said_at=START_US + 2)
    wrong = society.keep("two metres", **note, said_at=START_US + 3)
    society.keep("three metres", **note, said_at=START_US + 4, supersedes=wrong.id)
    assert held(society) == [
        "three metres",
        "a decision",
        "a note",
        "Always run make check.",
        "From now on use tabs.",
    ]
    assert [quote.corrects for quote in material(society).holds] == [True, False, False, False, False]


def test_what_was_replaced_or_forgotten_does_not_hold_and_holds_again_when_that_is_taken_back(society: Society) -> None:
    old = society.keep("We decided on SQLite. Decision: SQLite.", place=PLACE, said_at=START_US)
    new = society.keep("Postgres it is", place=PLACE, kind="decision", supersedes=old.id, said_at=START_US + 1)
    assert held(society) == ["Postgres it is"]
    society.ask(Forget(ids=(new.id,)))
    assert held(society) == ["We decided on SQLite. Decision: SQLite."]
    society.ask(Forget(ids=(old.id,)))
    assert material(society) == NOTHING


def test_only_the_users_own_turns_are_asked_for_what_holds(society: Society) -> None:
    text = "From now on use tabs."
    keep(
        society,
        reply(text, 1),
        event(text, 2, kind="summary", role="system"),
        event(text, 3, kind="injected", role="system"),
        event(text, 4, kind="thinking", role="assistant"),
        event(text, 5, session="one/agent"),
        *ran(text, 6),
    )
    assert held(society) == []


def test_what_this_session_said_itself_is_told_only_once_it_was_lost(society: Society) -> None:
    keep(society, event("From now on use tabs.", 1, session="new"), event("hello", 2, session="old"))
    assert held(society) == []
    assert held(society, again=True) == ["From now on use tabs."]
    assert words(left(society, again=True))[0] == "hello"


@pytest.mark.parametrize(
    "text",
    [
        "Always run the linter.",
        "never push to main",
        "don't ever commit the key",
        "I prefer short functions",
        "our preference is tabs",
        "FROM NOW ON use tabs",
        "answer in German going forward",
        "henceforth no emoji",
        "In future, ask first.",
        "For the future: ask first.",
        "remember: Bea has the key",
        "Decision: SQLite",
        "We finally decided on SQLite",
        "agreed: no cache",
        "house rule: no mocks",
        "note it down as declined",
        "our convention is snake case",
        "the policy here is squash",
        "my default is tabs",
        "the team standard is pytest",
        "stop using mocks",
    ],
)
def test_all_that_the_rules_take_is_found_by_its_words(society: Society, text: str) -> None:
    assert standing(text) == 0
    keep(society, event(text))
    assert held(society) == [text]


def test_the_quote_starts_where_the_standing_sentence_does(society: Society) -> None:
    keep(society, event("It works. From now on use tabs."))
    assert material(society).holds[0].start == 10


# --- both ------------------------------------------------------------------------------------------------------------


def test_the_order_in_which_equal_times_were_captured_does_not_matter_to_a_second_reading(society: Society) -> None:
    keep(society, *(event(f"Rule: number {number}.", 7, session=f"s{number}") for number in range(5)))
    assert material(society) == material(society)
    assert held(society) == [f"Rule: number {number}." for number in (4, 3, 2, 1, 0)]


def test_what_a_session_was_given_is_known_by_host_and_session(society: Society) -> None:
    kept = society.keep("a", place=PLACE)
    given = RecordGiven(assistant="codex", session="new", occasion="prompt", memories=(kept.id,), tokens=1)
    society.ask(Apply(changes=(given,), key=b"given", author="test", run="test"))
    assert society.look(lambda snapshot: snapshot.given("codex", "new")) == {kept.id}
    assert society.look(lambda snapshot: snapshot.given("codex", "\ud800")) == frozenset()
    assert society.look(lambda snapshot: snapshot.given("claude-code", "new")) == frozenset()


def test_a_memory_that_only_an_answer_was_read_from_was_not_given(society: Society) -> None:
    hit, read = society.keep("a hit", place=PLACE), society.keep("read from", place=PLACE)
    parts = (
        Part(memory=hit.id, start=0, stop=5, why="tool 1.00"),
        Part(memory=read.id, start=0, stop=0, why="file: a.py 0.97"),
    )
    given = RecordRecall(
        query="tool=pytest file=?", scope="*", returned=(hit.id,), assistant="codex", session="new", parts=parts
    )
    society.ask(Apply(changes=(given,), key=b"given", author="test", run="test"))
    assert society.look(lambda snapshot: snapshot.given("codex", "new")) == {hit.id}
