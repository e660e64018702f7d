"""What was kept before memories had labels gets them in a night, once, and the night's undoing takes that back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.changes import MemoryLabels, Relabel
from mnemic.actors.capture.labels import taken_back
from mnemic.actors.kernel.errors import UnknownNight
from mnemic.actors.kernel.events import to_text
from mnemic.actors.sleep.messages import ListNights, NightReport, Sleep, UndoNights
from mnemic.actors.store.messages import Apply
from mnemic.hooks.read.own_calls import is_own_echo
from tests.actors.sleep.sleeping import forget_labels
from tests.harness import ActorHarness, turns

TEAM = "<teammate-message teammate_id='lead'>\nFrom now on we use SQLite.\n</teammate-message>"
ASKED = "<template> why does this not render?"
PLAIN = "We keep the lantern in the shed."


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as mind:
        yield mind


def keep(mind: ActorHarness, *texts: str, **fields: Any) -> None:
    path = f"/{len(mind.sources)}"
    mind.sources[path] = turns(texts, **({"assistant": "claude-code"} | fields))
    mind.take(path)


def night(mind: ActorHarness, run: str, **fields: Any) -> NightReport:
    while True:
        report: NightReport = mind.ask(Sleep(run=run, budget_s=60.0, stages=("labels",), **fields))
        if report.finished or report.ended:
            return report


def labels(mind: ActorHarness) -> dict[str, tuple[str, str, str]]:
    rows = mind.look(lambda snapshot: snapshot.load_memories(snapshot.memory_columns(0).row.tolist()))
    return {to_text(one.data): (one.kind, one.role, one.author) for one in rows}


def waiting(mind: ActorHarness) -> int:
    return int(mind.look(lambda snapshot: snapshot.unlabelled_count()))


def test_a_night_labels_what_was_kept_before_and_says_how_many_changed(mind: ActorHarness) -> None:
    keep(mind, TEAM, ASKED, PLAIN)
    keep(mind, "Drop the pier", assistant="git", kind="note", speaker="Odo")
    keep(mind, "Count the boats.", session="s/a1", subagent=True)
    forget_labels(mind)
    assert waiting(mind) == 5
    before = mind.texts()
    report = night(mind, "first")
    assert [(one.stage, one.changes, one.state) for one in report.stages] == [("labels", 4, "done")]
    assert labels(mind) == {
        TEAM: ("injected", "system", "unknown"),
        ASKED: ("turn", "user", "unknown"),
        PLAIN: ("turn", "user", "owner"),
        "Drop the pier": ("note", "user", "other"),
        "Count the boats.": ("turn", "user", "assistant"),
    }
    assert (waiting(mind), mind.texts()) == (0, before)
    assert night(mind, "second").changes == 0
    assert [one.run for one in mind.ask(ListNights()).nights] == ["first"]


def test_taking_the_night_back_takes_the_labels_back_and_no_night_gives_them_again(mind: ActorHarness) -> None:
    keep(mind, TEAM, PLAIN)
    forget_labels(mind)
    night(mind, "first")
    assert mind.ask(UndoNights()).nights == (1,)
    stood = {TEAM: ("turn", "user", "owner"), PLAIN: ("turn", "user", "owner")}
    assert (labels(mind), waiting(mind)) == (stood, 0)
    assert night(mind, "second").changes == 0
    assert labels(mind) == stood


def test_a_night_that_is_asked_for_again_gives_the_labels_that_were_taken_back(mind: ActorHarness) -> None:
    keep(mind, TEAM, ASKED, PLAIN)
    forget_labels(mind, utc_offset_min=None)
    night(mind, "first")
    given = labels(mind)
    mind.ask(UndoNights())
    assert night(mind, "second").stages[0].note == ""
    assert night(mind, "planned", dry_run=True, again=True).stages[0].note == "3 to look at"
    assert (night(mind, "third", again=True).changes, labels(mind)) == (2, given)
    assert night(mind, "fourth", again=True).changes == 0
    mind.ask(UndoNights())
    assert set(labels(mind).values()) == {("turn", "user", "owner")}, "the night that was taken back stays so"


def test_what_was_said_of_a_memory_since_stands_when_its_night_is_taken_back(mind: ActorHarness) -> None:
    keep(mind, TEAM, ASKED, PLAIN)
    forget_labels(mind)
    night(mind, "first")
    ids = {to_text(one.data): one.id for one in mind.look(lambda now: now.load_memories([1, 2, 3]))}
    said = {"kind": "turn", "role": "user", "speaker": None, "said_at": None, "utc_offset_min": 0}
    told = Relabel(labels=(MemoryLabels(memory=ids[ASKED], author="other", **said),))
    mind.ask(Apply(changes=(told,), key=b"told", author="test", run="test"))
    mind.ask(UndoNights())
    assert labels(mind) == {
        TEAM: ("turn", "user", "owner"),
        ASKED: ("turn", "user", "other"),
        PLAIN: ("turn", "user", "owner"),
    }


def test_many_labels_are_taken_back_in_parts_by_the_night_itself_last(
    mind: ActorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.actors.capture.labels.STEP_MEMORIES", 2)
    keep(mind, *(f"<teammate-message>{number}</teammate-message>" for number in range(5)))
    forget_labels(mind)
    night(mind, "first")
    assert {one[0] for one in labels(mind).values()} == {"injected"}
    mind.ask(UndoNights())
    assert set(labels(mind).values()) == {("turn", "user", "owner")}
    with pytest.raises(UnknownNight, match="There is no night 1 that stands"):
        mind.ask(UndoNights(id=1))


def test_an_undo_that_was_stopped_between_two_parts_goes_on_where_it_stopped(mind: ActorHarness) -> None:
    keep(mind, TEAM, ASKED)
    forget_labels(mind)
    night(mind, "first")
    ((given, had),) = mind.look(lambda now: now.relabelled_since(1))
    one, other = (
        taken_back([(given, had)], {label.memory: label}) for label in given.labels
    )  # each of one memory alone
    assert [len(part.labels) for part in (*one, *other)] == [1, 1]
    mind.ask(Apply(changes=tuple(one), key=b"part", author="capture", run="test"))
    assert labels(mind) == {TEAM: ("turn", "user", "owner"), ASKED: ("turn", "user", "unknown")}
    mind.ask(UndoNights())
    assert set(labels(mind).values()) == {("turn", "user", "owner")}


def test_a_night_that_is_only_planned_says_how_many_wait_and_changes_nothing(mind: ActorHarness) -> None:
    keep(mind, TEAM, PLAIN)
    forget_labels(mind)
    assert night(mind, "first", dry_run=True).stages[0].note == "2 to look at"
    assert waiting(mind) == 2


def test_where_no_label_says_anything_else_no_night_is_told_of(mind: ActorHarness) -> None:
    keep(mind, PLAIN, *(f"Boat {number} is dry." for number in range(600)))
    forget_labels(mind)
    assert (night(mind, "first").changes, waiting(mind)) == (0, 0)
    assert mind.ask(ListNights()).nights == ()


def test_what_is_captured_again_after_a_night_adds_nothing(mind: ActorHarness) -> None:
    keep(mind, TEAM, ASKED)
    forget_labels(mind)
    night(mind, "first")
    assert [part.new for part in mind.take("/0")] == [0]


def test_what_the_memory_answered_in_a_shell_is_nobodys_word_any_more(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, ports={"is_own_echo": is_own_echo}) as mind:
        steps = [
            ("tool_call", "Bash\ncommand: mnemic recall tar"),
            ("tool_result", "1  0.93  We keep the tar in the shed."),
        ]
        steps += [("tool_call", "Bash\ncommand: ls"), ("tool_result", "tar.txt")]
        mind.sources["/0"] = [
            event
            for kind, text in steps
            for event in turns(
                [text],
                assistant="claude-code",
                kind=kind,
                role="assistant" if kind == "tool_call" else "tool",
                tool="Bash",
            )
        ]
        mind.take("/0")
        forget_labels(mind)
        assert night(mind, "first").changes == 2
        assert list(labels(mind).values()) == [
            *[("injected", "system", "unknown")] * 2,
            ("tool_call", "assistant", "assistant"),
            ("tool_result", "tool", "unknown"),
        ]


def test_a_night_also_says_by_which_clock_it_was_said(mind: ActorHarness) -> None:
    keep(mind, PLAIN)
    forget_labels(mind, utc_offset_min=None)
    assert night(mind, "first").changes == 0, "an offset says nothing of its words"
    rows = mind.look(lambda snapshot: snapshot.load_memories(snapshot.memory_columns(0).row.tolist()))
    assert [one.utc_offset_min for one in rows] == [0]
