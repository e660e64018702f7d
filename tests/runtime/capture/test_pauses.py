"""A pause holds from when it is said until it ends, its past is remembered, and what cannot be read pauses."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.capture_filter import is_paused_at
from mnemic.actors.kernel.errors import InvalidValue, MindMissing, PausesUnreadable
from mnemic.runtime.capture import pauses
from mnemic.runtime.capture.pauses import (
    CAPTURE_OFF_NOTICE,
    Pause,
    current_pause,
    pause,
    read_pauses,
    resume,
    session_notices,
)
from mnemic.runtime.doctor.capture import check_pause
from tests.clocks import ManualClock
from tests.runtime.targets import target_of

PAUSES = "pauses"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a mind: nothing of it is opened."""
    (tmp_path / "minds" / "m").mkdir(parents=True)
    return tmp_path


def test_a_pause_is_said_and_ends_by_itself_or_by_hand(home: Path) -> None:
    mind = home / "minds" / "m"
    assert (current_pause(mind, 5), read_pauses(mind), resume(home, "m", 5)) == (None, [], None)
    named = f" --home {home} --mind m"
    assert pause(home, "m", 10, 5) == current_pause(mind, 14) == Pause(since=10, until=15, mind_options=named)
    assert current_pause(mind, 15) is None
    assert pause(home, "m", 20, None) == Pause(since=20, until=None, mind_options=named)
    assert pause(home, "m", 25, 5) == Pause(since=20, until=30, mind_options=named), "it goes on, and ends anew"
    assert resume(home, "m", 27) == Pause(since=20, until=30, mind_options=named)
    assert (current_pause(mind, 27), resume(home, "m", 28)) == (None, None)
    assert read_pauses(mind) == [(10, 15), (20, 27)]
    assert stat.S_IMODE((mind / PAUSES).stat().st_mode) == 0o600
    assert [path.name for path in mind.iterdir()] == [PAUSES], "no draft is left"


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["pause", "for", "resume"]), st.integers(1, 9)), max_size=8))
def test_the_past_is_remembered_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, int]]
) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "minds" / "m").mkdir(parents=True)
    now, ends, expected = 0, None, {}
    for what, length in said:  # `ends`: when the pause that holds ends; 99 where nobody knows
        if what == "pause":
            pause(home, "m", now, None)
            ends = 99
        elif what == "for":
            pause(home, "m", now, length)
            ends = now + length
        else:
            resume(home, "m", now)
            ends = None
        for at in range(now, now + length):
            expected[at] = ends is not None and at < ends
            assert (current_pause(home / "minds" / "m", at) is not None) == expected[at]
        now += length
    spans = read_pauses(home / "minds" / "m")
    assert {at: is_paused_at(spans, at) for at in expected} == expected


@pytest.mark.parametrize("text", ["x", "1 2\n5", "1 2\n5 6 7\n", "1 2\n-5 -\n"])
def test_what_is_no_pause_pauses_from_when_it_was_written_and_can_be_ended(home: Path, text: str) -> None:
    mind = home / "minds" / "m"
    (mind / PAUSES).write_text(text)
    written_at = (mind / PAUSES).stat().st_mtime_ns // 1000
    held = current_pause(mind, written_at + 9)
    assert held is not None
    assert (held.since, held.until) == (written_at, None)
    assert "is damaged: nothing is captured" in held.sentence()
    (check,) = check_pause(target_of(home, "m", clock=ManualClock(written_at + 9)))
    assert check.state == "wrong"
    assert resume(home, "m", written_at + 9) == held
    assert current_pause(mind, written_at + 9) is None
    assert read_pauses(mind) == [*([(1, 2)] if text[0] == "1" else []), (written_at, written_at + 9)]


def test_a_file_that_cannot_be_read_pauses_and_says_nothing_of_the_past(home: Path) -> None:
    mind = home / "minds" / "m"
    (mind / PAUSES).mkdir()
    held = current_pause(mind, 7)
    assert held is not None
    assert "cannot be read" in held.sentence()
    assert held.sentence().endswith("ends that, or says what is in the way.")
    with pytest.raises(PausesUnreadable, match="cannot be told"):
        read_pauses(mind)
    for act in (lambda: pause(home, "m", 7, None), lambda: resume(home, "m", 7)):
        with pytest.raises(PausesUnreadable, match="cannot be told"):  # to write it anew would forget what was
            act()
    assert (mind / PAUSES).is_dir()


def test_where_there_is_no_mind_there_is_nothing_to_pause(home: Path) -> None:
    for act in (lambda: pause(home, "none", 1, None), lambda: resume(home, "none", 1)):
        with pytest.raises(MindMissing):
            act()
    with pytest.raises(InvalidValue):
        pause(home, "../m", 1, None)
    assert not (home / "minds" / "none").exists()


def test_who_pauses_at_the_same_moment_loses_no_pause(home: Path) -> None:
    def pause_and_resume(number: int) -> None:
        pause(home, "m", 10 * number, None)
        resume(home, "m", 10 * number + 5)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(pause_and_resume, range(1, 40)))
    spans = read_pauses(home / "minds" / "m")
    assert all(until is not None and since <= until for since, until in spans)
    assert (home / "minds" / "m" / PAUSES).read_text().count("\n") == len(spans)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_what_a_session_is_told_of_it(home: Path) -> None:
    mind, clock = home / "minds" / "m", ManualClock(1_800_000_000_123_456)
    assert session_notices(mind, clock.now_us()) == ()
    assert [check.state for check in check_pause(target_of(home, "m", clock=clock))] == ["ok"]
    pause(home, "m", clock.now_us(), 7_200_000_000)
    told = (
        "The memory is paused, since 2027-01-15 09:00 and until 2027-01-15 11:00: nothing is captured."
        f" `mnemic resume --home {home} --mind m` ends that."
    )
    assert session_notices(mind, clock.now_us(), unkept=True) == (told, CAPTURE_OFF_NOTICE)
    (check,) = check_pause(target_of(home, "m", clock=clock))
    assert (check.state, f"{check.detail}. {check.remedy}") == ("advice", told)
    pause(home, "m", clock.now_us(), None)
    assert "and until somebody resumes: nothing is captured" in session_notices(mind, clock.now_us())[0]


def test_a_session_is_told_that_nothing_can_be_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "unwritable_reason", lambda folder: f"the disk that holds {folder} is full")
    mind = home / "minds" / "m"
    assert session_notices(mind, 0) == (f"Nothing of this session is captured: the disk that holds {mind} is full.",)
