"""What is told of a project: where its last session ended and what holds, whatever order things were captured in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.brief.gather import gather_sources
from mnemic.actors.brief.messages import NO_SOURCES, Brief, BriefingSources, LastSession
from mnemic.actors.brief.statement_cues import directive_start
from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.kernel.events import Event, to_text
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import DeliveredSpan, RecordDelivery
from mnemic.actors.recall.messages import GetMemories
from mnemic.actors.store.messages import Apply
from tests import built
from tests.harness import NOWHERE, START_US, ActorHarness
from tests.waiting import until

PLACE = ScopeRef(path="shelf", project=None, found="named")
BASH = "Bash\ncommand: "


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as actor_system:
        yield actor_system


def event(text: str, at: int = 0, **fields: Any) -> Event:
    given = {"assistant": "claude-code", "session": "one", "scope": "shelf", "said_at": START_US + at}
    return built.event(text, **(given | fields))


def reply(text: str, at: int = 0, **fields: Any) -> Event:
    return event(text, at, role="assistant", **fields)


def ran(command: str, at: int, outcome: str | None = "ok", tool: str = "Bash", **fields: Any) -> list[Event]:
    call = event(f"{tool}\ncommand: {command}", at, kind="tool_call", role="assistant", tool=tool, **fields)
    result = event(
        f"{command}: {outcome}", at + 1, kind="tool_result", role="tool", tool=tool, outcome=outcome, **fields
    )
    return [call] if outcome is None else [call, result]


def keep(actor_system: ActorHarness, *events: Event) -> None:
    name = f"{len(actor_system.sources)}"
    actor_system.sources[name] = events
    actor_system.take(name)


def material(actor_system: ActorHarness, place: ScopeRef = PLACE, **fields: Any) -> BriefingSources:
    given = {"occasion": "session-start", "assistant": "claude-code", "session": "new", "place": place}
    found = actor_system.look(
        lambda snapshot: gather_sources(snapshot, Brief(**(given | fields)), START_US, actor_system.clock)
    )
    assert isinstance(found, BriefingSources)
    return found


def left(actor_system: ActorHarness, **fields: Any) -> LastSession:
    found = material(actor_system, **fields).last_session
    assert found is not None
    return found


EVERYWHERE = ScopeRef(path="everywhere", project=None, found="named")


def test_what_is_kept_everywhere_is_told_first_in_every_project_and_where_nothing_is_known(
    actor_system: ActorHarness,
) -> None:
    actor_system.keep("Always write the tests first.", place=EVERYWHERE, kind="note", said_at=START_US)
    keep(actor_system, event("We decided to keep the lantern.", 5, kind="decision"), event("where is it?", 6))
    found = material(actor_system)
    assert [(to_text(one.text), one.is_everywhere) for one in found.in_force] == [
        ("Always write the tests first.", True),
        ("We decided to keep the lantern.", False),
    ]
    assert left(actor_system).at == START_US + 6
    for place in (ScopeRef(path="new", project="/a/new/.git", found="git"), NOWHERE):
        alone = material(actor_system, place)
        assert [to_text(one.text) for one in alone.in_force] == ["Always write the tests first."]
        assert alone.last_session is None


def test_a_conversation_that_was_put_everywhere_is_no_project_s_last_session(actor_system: ActorHarness) -> None:
    keep(actor_system, event("what now?", 9, scope="everywhere"), reply("The lantern.", 10, scope="everywhere"))
    assert material(actor_system).last_session is None


def words(left_off: LastSession) -> tuple[str | None, list[str]]:
    prompt = None if left_off.prompt is None else to_text(left_off.prompt.text)
    return prompt, [to_text(one.text) for one in left_off.replies]


def held(actor_system: ActorHarness, **fields: Any) -> list[str]:
    return [to_text(quote.text) for quote in material(actor_system, **fields).in_force]


# --- where we left off -----------------------------------------------------------------------------------------------


def test_the_last_session_is_the_one_in_which_something_was_said_last_however_late_it_was_captured(
    actor_system: ActorHarness,
) -> None:
    keep(actor_system, event("new prompt", 100, session="late"), reply("new reply", 101, session="late"))
    keep(actor_system, event("old prompt", 10, session="early"), reply("old reply", 11, session="early"))
    found = left(actor_system)
    assert words(found) == ("new prompt", ["new reply"])
    assert (found.assistant, found.at, found.answered) == ("claude-code", START_US + 101, True)


def test_it_is_of_this_project_and_what_is_below_it_and_of_no_other(actor_system: ActorHarness) -> None:
    keep(actor_system, event("of the shelf", 1), event("elsewhere", 9, session="two", scope="shelf2"))
    assert words(left(actor_system))[0] == "of the shelf"
    keep(actor_system, event("below", 5, session="three", scope="shelf/deep"))
    assert words(left(actor_system))[0] == "below"
    assert material(actor_system, ScopeRef(path="shel", project=None, found="named")) == NO_SOURCES
    assert material(actor_system, ScopeRef(path="shelf", project="/somebody/else", found="git")) == NO_SOURCES


def test_where_no_project_is_there_is_nothing(actor_system: ActorHarness) -> None:
    keep(actor_system, event("From now on use tabs.", scope=""))
    assert material(actor_system, NOWHERE) == NO_SOURCES
    assert material(actor_system) == NO_SOURCES


def test_neither_this_session_nor_one_of_a_subagent_is_the_last(actor_system: ActorHarness) -> None:
    keep(actor_system, event("mine", 1), reply("yes", 2))
    keep(actor_system, event("find all tests", 50, session="one/agent-1"), reply("42", 51, session="one/agent-1"))
    keep(actor_system, event("hello", 90, session="new"), event("look", 91, session="new/agent-2"))
    assert words(left(actor_system)) == ("mine", ["yes"])
    assert words(left(actor_system, session="one"))[0] == "hello"
    keep(actor_system, event("another host's", 95, session="new", assistant="codex"))
    assert words(left(actor_system))[0] == "another host's"  # of the same name, and not the same


def test_a_session_whose_name_holds_a_slash_and_has_no_parent_is_nobodys_subagent(actor_system: ActorHarness) -> None:
    keep(actor_system, event("hello", 1, session="talks/monday", assistant="generic"))
    assert words(left(actor_system))[0] == "hello"


def test_the_newest_replies_come_first_and_a_prompt_behind_them_has_none(actor_system: ActorHarness) -> None:
    keep(actor_system, *(reply(f"reply {number}", number) for number in range(5)), event("and now?", 9))
    found = left(actor_system)
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
    actor_system: ActorHarness, steps: list[tuple[str, str | None]], failed: str | None
) -> None:
    events = [one for number, (command, how) in enumerate(steps) for one in ran(command, 10 * number + 10, how)]
    keep(actor_system, event("go", 1), *events)
    failure = left(actor_system).failure
    if failed is None:
        assert failure is None
    else:
        assert failure is not None
        assert failure.call is not None
        assert (failure.tool, to_text(failure.call.text)) == ("Bash", BASH + failed)
        assert actor_system.ask(GetMemories(ids=(failure.answer,))).memories[0].text == f"{failed}: failed"


def test_calls_that_ran_at_once_are_told_apart_by_their_order(actor_system: ActorHarness) -> None:
    first, failed = ran("make", 10, "failed")
    second, fine = ran("pytest", 11, "ok")
    keep(actor_system, event("go", 1), first, second, failed, fine)
    failure = left(actor_system).failure
    assert failure is not None
    assert failure.call is not None
    assert to_text(failure.call.text) == BASH + "make"


def test_a_result_without_its_call_is_told_alone(actor_system: ActorHarness) -> None:
    keep(actor_system, event("go", 1), ran("make", 2, "failed")[1])
    failure = left(actor_system).failure
    assert failure is not None
    assert failure.call is None


def test_of_a_very_long_text_only_the_start_is_read_whole_in_letters(actor_system: ActorHarness) -> None:
    noise = "".join(random.Random(0).choices("abcdefghij é", k=300_000))
    keep(actor_system, event("go", 1), reply(noise, 2))
    keep(actor_system, event("é" * 200_000, 4, session="two"))
    (said,) = left(actor_system, session="two").replies
    assert said.size_bytes == len(noise.encode())
    assert 8_000 < len(said.text) <= 16 << 10
    assert noise.startswith(to_text(said.text))
    prompt = left(actor_system).prompt
    assert prompt is not None
    assert set(to_text(prompt.text)) == {"é"}


# --- what holds ------------------------------------------------------------------------------------------------------


def test_what_tells_most_surely_and_is_newest_comes_first_and_nothing_that_was_corrected(
    actor_system: ActorHarness,
) -> None:
    keep(actor_system, event("From now on use tabs.", 1), event("Always run make check.", 5), event("nothing of it", 6))
    note = {"place": PLACE, "kind": "note"}
    actor_system.keep("a note", **note, said_at=START_US + 9)
    actor_system.keep("paint it green", place=PLACE, kind="decision", said_at=START_US + 2)
    wrong = actor_system.keep("two metres", **note, said_at=START_US + 3)
    actor_system.keep("three metres", **note, said_at=START_US + 4, supersedes=wrong.id)
    assert held(actor_system) == [
        "Always run make check.",
        "a note",
        "three metres",
        "From now on use tabs.",
        "paint it green",
    ]
    assert [quote.is_correction for quote in material(actor_system).in_force] == [False, False, True, False, False]


def test_what_was_replaced_or_forgotten_does_not_hold_and_holds_again_when_that_is_taken_back(
    actor_system: ActorHarness,
) -> None:
    old = actor_system.keep("We decided on SQLite. Decision: SQLite.", place=PLACE, said_at=START_US)
    new = actor_system.keep("Postgres it is", place=PLACE, kind="decision", supersedes=old.id, said_at=START_US + 1)
    assert held(actor_system) == ["Postgres it is"]
    actor_system.ask(Forget(ids=(new.id,)))
    assert held(actor_system) == ["We decided on SQLite. Decision: SQLite."]
    actor_system.ask(Forget(ids=(old.id,)))
    assert material(actor_system) == NO_SOURCES


def test_only_the_users_own_turns_are_asked_for_what_holds(actor_system: ActorHarness) -> None:
    text = "From now on use tabs."
    keep(
        actor_system,
        reply(text, 1),
        event(text, 2, kind="summary", role="system"),
        event(text, 3, kind="injected", role="system"),
        event(text, 4, kind="thinking", role="assistant"),
        event(text, 5, session="one/agent"),
        *ran(text, 6),
    )
    assert held(actor_system) == []


def test_what_this_session_said_itself_is_told_only_once_it_was_lost(actor_system: ActorHarness) -> None:
    keep(actor_system, event("From now on use tabs.", 1, session="new"), event("hello", 2, session="old"))
    assert held(actor_system) == []
    assert held(actor_system, repeat=True) == ["From now on use tabs."]
    assert words(left(actor_system, repeat=True))[0] == "hello"


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
def test_all_that_the_rules_take_is_found_by_its_words(actor_system: ActorHarness, text: str) -> None:
    assert directive_start(text) == 0
    keep(actor_system, event(text))
    assert held(actor_system) == [text]


def test_the_sentence_that_stands_is_told_and_not_the_whole_turn(actor_system: ActorHarness) -> None:
    keep(actor_system, event("Ünglaublich, it works. From now on use tabs. Now lunch."))
    (quote,) = material(actor_system).in_force
    assert (to_text(quote.text), quote.start_byte) == ("From now on use tabs.", 24)


def often(actor_system: ActorHarness, **fields: Any) -> list[tuple[str, int, int]]:
    """What holds: the words, how often they were said, and when last."""
    found = material(actor_system, **fields).in_force
    return [(to_text(quote.text), quote.times, (quote.at or 0) - START_US) for quote in found]


def test_what_was_said_often_takes_one_place_of_what_holds(actor_system: ActorHarness) -> None:
    rule, others = "Always run the linter.", [f"Rule: shelf {number}." for number in range(39)]
    keep(actor_system, *(event(text, at, session=text) for at, text in enumerate(others)))
    keep(actor_system, *(event(rule, 100 + at, session=f"rule {at}") for at in range(450)))
    assert often(actor_system) == [
        (rule, 450, 549),
        *((text, 1, at) for at, text in reversed([*enumerate(others)][-21:])),
    ]


def test_the_same_words_count_as_said_again_and_another_value_stands_for_them(actor_system: ActorHarness) -> None:
    said = ["Always use port 3000.", "please always use port 3000", "ALWAYS use port 3000!", "Always use port 3400."]
    keep(actor_system, *(event(text, at, session=text) for at, text in enumerate(said[:3])))
    assert often(actor_system) == [(said[2], 3, 2)]
    keep(actor_system, event(said[3], 3, session="later"))
    assert often(actor_system) == [(said[3], 1, 3)]


def test_lines_that_a_fork_copied_were_said_once(actor_system: ActorHarness) -> None:
    for session in ("one", "a fork", "a fork of it"):
        keep(actor_system, event("Always run the linter.", 1, session=session), reply("I will.", 2, session=session))
        keep(actor_system, event("Decision: SQLite.", 3, session=session, kind="decision"))
    keep(actor_system, event("Always run the linter.", 9, session="two"))
    assert often(actor_system) == [("Always run the linter.", 2, 9), ("Decision: SQLite.", 1, 3)]


def test_what_nobody_dated_counts_each_time(actor_system: ActorHarness) -> None:
    keep(actor_system, *(event("Always run the linter.", said_at=None, session=f"{n}") for n in range(3)))
    ((_, times, last_at),) = often(actor_system)
    assert (times, last_at >= 0) == (3, True)


def test_the_users_own_words_stand_for_what_an_assistant_kept_of_them(actor_system: ActorHarness) -> None:
    kept = {"place": PLACE, "kind": "note", "assistant": "mcp:codex"}
    actor_system.keep("always run the linter", **kept, role="assistant", said_at=START_US + 8)
    actor_system.keep("Use tabs.", **kept, role="assistant", said_at=START_US + 7)
    actor_system.keep("Ask first.", **kept, role="user", said_at=START_US + 6)
    actor_system.keep("Ask first.", place=PLACE, kind="note", said_at=START_US + 3)
    keep(actor_system, *(event("Always run the linter.", at, session=f"{at}") for at in (1, 2)))
    assert often(actor_system) == [("Always run the linter.", 2, 2), ("Ask first.", 1, 3), ("Use tabs.", 1, 7)]


def test_a_rule_whose_last_saying_was_corrected_is_not_told_for_its_earlier_ones(actor_system: ActorHarness) -> None:
    keep(actor_system, *(event("Always use port 3000.", at, session=f"{at}") for at in (1, 2)))
    last = actor_system.keep("Always use port 3000.", place=PLACE, said_at=START_US + 3)
    right = {"place": PLACE, "kind": "decision", "said_at": START_US + 4}
    actor_system.keep("Port 3400.", **right, supersedes=last.id)
    assert often(actor_system) == [("Port 3400.", 1, 4)]
    keep(actor_system, event("Always use port 3000.", 5, session="5"))
    assert often(actor_system) == [("Always use port 3000.", 4, 5)], "the newest of each thing"


def test_what_subagents_were_told_is_not_counted(actor_system: ActorHarness) -> None:
    keep(actor_system, event("Always run the linter.", 1), event("hello", 2))
    keep(actor_system, *(event("Always run the linter.", at, session=f"one/{at}") for at in (5, 6)))
    assert often(actor_system) == [("Always run the linter.", 1, 1)]


# --- what stands now -------------------------------------------------------------------------------------------------


def test_a_plain_statement_of_the_user_stands_until_a_newer_one_of_the_thing(actor_system: ActorHarness) -> None:
    keep(actor_system, event("our database is postgres 16, in a container", 1), event("lunch was good", 2))
    keep(actor_system, event("staging listens on port 4010", 3), event("production listens on port 4000", 4))
    assert set(held(actor_system)) == {
        "our database is postgres 16, in a container",
        "staging listens on port 4010",
        "production listens on port 4000",
    }
    keep(actor_system, event("staging has port 4120 from today, and the database is mysql 9 now", 9, session="two"))
    assert set(held(actor_system)) == {
        "staging has port 4120 from today, and the database is mysql 9 now",
        "production listens on port 4000",
    }


def test_what_stands_for_something_replaced_is_told(actor_system: ActorHarness) -> None:
    keep(actor_system, event("We use Redis for the queue.", 1))
    keep(actor_system, event("We moved from Redis to Valkey, the tests are green.", 9, session="two"))
    until(lambda: actor_system.look(lambda snapshot: snapshot.knowledge_waiting()) == (0, 0))
    assert held(actor_system) == ["We moved from Redis to Valkey, the tests are green."]


# --- what is open ----------------------------------------------------------------------------------------------------


def still_open(actor_system: ActorHarness) -> list[str]:
    return [to_text(one.text) for one in material(actor_system).open]


def test_open_items_of_the_last_sessions_are_told_until_a_later_turn_says_they_are_done(
    actor_system: ActorHarness,
) -> None:
    keep(actor_system, event("todo: move the lantern to the pier", 1), reply("Open: the paint for the boathouse.", 2))
    assert still_open(actor_system) == ["Open: the paint for the boathouse.", "todo: move the lantern to the pier"]
    keep(actor_system, event("the lantern is moved to the pier, done", 9, session="two"))
    assert still_open(actor_system) == ["Open: the paint for the boathouse."]


def test_an_open_item_is_told_for_two_weeks_and_for_five_sessions_at_least(actor_system: ActorHarness) -> None:
    day = 86_400_000_000
    keep(actor_system, *(event(text, -20 * day + at) for at, text in enumerate(("hi", "todo: paint the pier", "bye"))))
    for number in range(4):
        keep(actor_system, *(event(f"lamp {number} {at}", -8 * day + at, session=f"s{number}") for at in range(3)))
    assert still_open(actor_system) == ["todo: paint the pier"], "the fifth of the last sessions, however old"
    keep(actor_system, *(event(f"lamp 9 {at}", -7 * day + at, session="s9") for at in range(3)))
    assert still_open(actor_system) == [], "neither one of the last sessions nor of the last days"
    keep(actor_system, event("todo: sand the rail", -9 * day, session="early"))
    assert still_open(actor_system) == ["todo: sand the rail"], "of the last days, though six sessions followed"


def test_what_an_open_question_came_to_ends_it(actor_system: ActorHarness) -> None:
    keep(actor_system, event("hello", 1), reply("Open: whether the 502 comes from the proxy.", 2))
    keep(actor_system, event("never mind, it was the lantern", 9, session="two"))
    assert still_open(actor_system) == ["Open: whether the 502 comes from the proxy."]
    keep(actor_system, event("never mind, it was the proxy", 10, session="two"))
    assert still_open(actor_system) == []


def test_what_is_to_be_done_is_open_though_one_of_its_words_is_told_of(actor_system: ActorHarness) -> None:
    keep(actor_system, event("TODO: rewrite the proxy configuration for staging.", 1), event("bye", 2))
    keep(actor_system, reply("I found the proxy. Turned out it was the proxy.", 9, session="two"))
    assert still_open(actor_system) == ["TODO: rewrite the proxy configuration for staging."]


def test_what_the_session_itself_has_done_is_not_open_once_it_starts_anew(actor_system: ActorHarness) -> None:
    keep(actor_system, event("todo: move the lantern to the pier", 1), reply("Shall I paint it?", 2))
    keep(actor_system, event("the lantern is moved to the pier, done", 9, session="new"))
    assert still_open(actor_system) == []
    assert not left(actor_system).asks, "its user has heard the question"


@pytest.mark.parametrize(
    ("answer", "asks"),
    [
        (None, True),
        (event("yes, thanks", 3), False),
        (event("The request goes through the corporate proxy.", 9, session="kept", kind="note"), False),
        (event("From now on the lantern is red.", 9, session="kept", kind="note"), True),
        (event("Which corporate proxy is it?", 9, session="kept", kind="note"), True),
        (event("The request goes through the corporate proxy.", 0, session="kept", kind="note"), True),
    ],
)
def test_a_question_has_no_answer_until_its_user_says_or_keeps_one(
    actor_system: ActorHarness, answer: Event | None, asks: bool
) -> None:
    keep(actor_system, event("the deploy fails", 1), reply("Does it go through the corporate proxy?", 2))
    if answer is not None:
        keep(actor_system, answer)
    assert left(actor_system).asks is asks


def test_the_last_prompt_that_tells_something_is_where_the_session_ended(actor_system: ActorHarness) -> None:
    keep(actor_system, event("please paint the lantern red", 1), reply("Painted.", 2), event("thanks, bye!", 3))
    found = left(actor_system)
    assert (words(found), found.answered) == (("please paint the lantern red", ["Painted."]), True)


# --- both ------------------------------------------------------------------------------------------------------------


def test_the_order_in_which_equal_times_were_captured_does_not_matter_to_a_second_reading(
    actor_system: ActorHarness,
) -> None:
    keep(actor_system, *(event(f"Rule: number {number}.", 7, session=f"s{number}") for number in range(5)))
    assert material(actor_system) == material(actor_system)
    assert held(actor_system) == [f"Rule: number {number}." for number in (4, 3, 2, 1, 0)]


def test_what_a_session_was_given_is_known_by_host_and_session(actor_system: ActorHarness) -> None:
    kept = actor_system.keep("a", place=PLACE)
    parts = (DeliveredSpan(memory=kept.id, start=0, stop=1, why="near"),)
    given = RecordDelivery(assistant="codex", session="new", occasion="prompt", scope="", parts=parts, tokens=1)
    actor_system.ask(Apply(changes=(given,), key=b"given", author="test", run="test"))
    assert actor_system.look(lambda snapshot: snapshot.delivered_spans("codex", "new")).keys() == {kept.id}
    assert actor_system.look(lambda snapshot: snapshot.delivered_spans("codex", "\ud800")) == {}
    assert actor_system.look(lambda snapshot: snapshot.delivered_spans("claude-code", "new")) == {}


def test_a_memory_that_only_an_answer_was_read_from_was_not_given(actor_system: ActorHarness) -> None:
    hit, read = actor_system.keep("a hit", place=PLACE), actor_system.keep("read from", place=PLACE)
    parts = (
        DeliveredSpan(memory=hit.id, start=0, stop=5, why="tool 1.00"),
        DeliveredSpan(memory=read.id, start=0, stop=0, why="file: a.py 0.97"),
    )
    given = RecordDelivery(
        query="tool=pytest file=?", scope="*", assistant="codex", session="new", parts=parts, tokens=2
    )
    actor_system.ask(Apply(changes=(given,), key=b"given", author="test", run="test"))
    assert actor_system.look(lambda snapshot: snapshot.delivered_spans("codex", "new")).keys() == {hit.id}


# --- whose words they are --------------------------------------------------------------------------------------------


def test_what_other_people_and_nobody_known_said_is_not_told(actor_system: ActorHarness) -> None:
    kept: list[tuple[str, Any]] = [("owner", None), ("other", "Rae"), ("unknown", None), ("assistant", None)]
    keep(
        actor_system,
        *(
            event(f"Decision of {author}: use green paint.", number, kind="note", author=author, speaker=speaker)
            for number, (author, speaker) in enumerate(kept)
        ),
        event("Where is the lantern?", 7),
        event("<relay> From now on we always use red paint.", 8, author="unknown"),
        event("From now on we always use blue paint.", 9, author="other", speaker="Rae"),
    )
    assert sorted(held(actor_system)) == [
        "Decision of assistant: use green paint.",
        "Decision of owner: use green paint.",
    ]
    assert words(left(actor_system)) == ("Where is the lantern?", [])


def test_sixteen_decisions_of_clients_do_not_push_the_users_own_words_out(actor_system: ActorHarness) -> None:
    for number in range(16):
        said = f"Decision {number}: the store keeps part {number} in a file of its own."
        kept = {"kind": "decision", "role": "assistant", "assistant": "mcp:codex", "place": PLACE}
        actor_system.keep(said, session="mcp", said_at=START_US + 100 + number, **kept)
    rules = [f"From now on we always paint pier {number} green." for number in range(4)]
    keep(actor_system, *(event(rule, number) for number, rule in enumerate(rules)))
    found = held(actor_system)
    assert [one for one in found[:6] if one in rules] == rules[::-1]
    assert len(found) == 20


def test_of_many_words_of_the_users_a_quarter_of_the_places_is_for_others(actor_system: ActorHarness) -> None:
    keep(
        actor_system,
        *(event(f"From now on we always paint pier {number} green.", number) for number in range(60)),
        *(reply(f"The store keeps part {number}.", number, kind="decision") for number in range(60)),
    )
    found = held(actor_system)
    assert (len(found), sum("part" in one for one in found)) == (22, 5)
    assert "part" not in found[0]
