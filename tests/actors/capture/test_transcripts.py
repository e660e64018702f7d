"""Whatever hooks miss and whenever transcripts are read: each text is there as often as it was said, once both told."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.kernel.events import HookRecord
from mnemic.actors.kernel.ports import Scrubbed
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.runtime.minds.projects import resolve_scope
from tests.actors.capture.test_drain import drained, opened, record
from tests.harness import ActorHarness, turns
from tests.processes.faces import name_scope

SAY = st.tuples(
    st.sampled_from(["yes", "no"]),
    st.sampled_from(["missed", "kept", "kept", "late"]),  # what becomes of the hook's record
    st.integers(0, 1_000_000),  # so much later than the transcript's line it is, microseconds
)
STEP = st.one_of(SAY, st.sampled_from(["drain", "read", "find"]))


class Session:
    """A session that is told by two channels, and what each has told so far."""

    def __init__(self, actor_system: ActorHarness) -> None:
        self.actor_system = actor_system
        self.said: list[str] = []
        self.told: set[int] = set()
        """Which of those have come to the store by now, whichever way."""
        self._spooled: list[int] = []
        self._held_up: list[tuple[int, HookRecord]] = []
        self._drained = 0

    def say(self, text: str, fate: str, delay_us: int) -> None:
        self.actor_system.clock.advance(10)
        number = len(self.said)
        self.said.append(text)
        one = record([text], at=self.actor_system.clock.now_us() + delay_us)
        if fate == "kept":
            self._spooled.append(number)
            self.actor_system.spool.write(one, file=b"%d" % self._drained)
        elif fate == "late":  # aside, or in a file beside the session's
            self._held_up.append((number, one))

    def find(self) -> None:
        """What was held up comes, after what came in order."""
        self.drain()
        for number, one in self._held_up:
            self._spooled.append(number)
            self.actor_system.spool.write(one, file=b"%d" % self._drained)
        self._held_up.clear()

    def drain(self) -> None:
        drained(self.actor_system)
        self.told.update(self._spooled)
        self._spooled.clear()
        self._drained += 1

    def read(self) -> None:
        self.actor_system.clock.advance(1)
        self.actor_system.sources["/a"] = turns(self.said)
        self.actor_system.take("/a")
        self.told.update(range(len(self.said)))

    def do(self, step: Any) -> None:
        if isinstance(step, tuple):
            self.say(*step)
        else:
            {"drain": self.drain, "read": self.read, "find": self.find}[step]()

    def check(self) -> None:
        kept = Counter(text.decode() for text in self.actor_system.texts())
        assert kept == Counter(self.said[number] for number in self.told)


@settings(max_examples=12)
@given(steps=st.lists(STEP, max_size=14), batch=st.sampled_from([1, 2, 256]))
def test_what_hooks_and_transcripts_told_is_there_as_often_as_it_was_said(steps: list[Any], batch: int) -> None:
    with tempfile.TemporaryDirectory() as home, opened(Path(home), batch_events=batch) as actor_system:
        session = Session(actor_system)
        for step in steps:
            session.do(step)
            session.check()
        session.drain()
        session.read()
        session.check()
        assert len(actor_system.texts()) == len(session.said)


def test_a_hook_that_was_wired_in_the_middle_of_a_session_is_believed(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        session = Session(actor_system)
        for step in [("yes", "missed", 0), "read", ("yes", "kept", 0), "drain"]:
            session.do(step)
        assert actor_system.texts() == [b"yes", b"yes"]
        session.read()
        assert actor_system.texts() == [b"yes", b"yes"]


def test_a_hook_that_runs_just_after_its_transcript_was_read_tells_nothing_new(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": turns(["yes"])}) as actor_system:
        actor_system.take("/a")
        actor_system.spool.write(record(["yes"], at=actor_system.clock.now_us() + 1_900_000))
        assert drained(actor_system).known == 1


@pytest.mark.parametrize("before", [[], ["wait"]], ids=["new words", "words said before"])
def test_a_queued_prompt_that_was_read_and_is_delivered_after_all_is_one_memory(
    tmp_path: Path, before: list[str]
) -> None:
    queued = [*turns(before), *turns(["wait"], undelivered=True)]
    with opened(tmp_path, sources={"/a": queued}) as actor_system:
        actor_system.take("/a")
        actor_system.take("/a")
        said = [text.encode() for text in [*before, "wait"]]
        assert actor_system.texts() == said
        actor_system.clock.advance(60)
        actor_system.spool.write(record(["wait"], at=actor_system.clock.now_us()))
        assert drained(actor_system).known == 1
        actor_system.sources["/a"] = turns([*before, "wait"])
        actor_system.take("/a")
        assert actor_system.texts() == said


def test_what_a_source_dates_itself_is_counted_by_nobody_else(tmp_path: Path) -> None:
    with opened(
        tmp_path, sources={"/a": [*turns(["one"], disambiguator="noon"), *turns(["two"], host_id="2")]}
    ) as actor_system:
        actor_system.take("/a")
        assert actor_system.look(lambda snapshot: snapshot._db.execute("SELECT count(*) FROM occurrences").get) == 0


def test_a_transcript_that_tells_nothing_more_is_counted_once(tmp_path: Path) -> None:
    counted = "SELECT count(*) FROM log WHERE instr(change, CAST('count_occurrences' AS BLOB))"
    with opened(tmp_path, sources={"/a": turns(["one", "two", "one"])}) as actor_system:
        for _ in range(2):
            actor_system.take("/a")
            assert actor_system.look(lambda snapshot: snapshot._db.execute(counted).get) == 1
            actor_system.clock.advance(100)


@pytest.mark.parametrize("failing", ["resolve_scope", "scrub"])
def test_an_item_at_which_something_fails_is_one_line_and_the_rest_is_kept(tmp_path: Path, failing: str) -> None:
    def locate(scope: str | None, folder: str | None, *, anyway: bool = False) -> ScopeRef:
        if folder == "/bad" and failing == "resolve_scope":
            raise RecursionError("the words of somebody")
        return resolve_scope(scope, folder, anyway=anyway)

    def scrub(text: bytes) -> Scrubbed:
        if text == b"two" and failing == "scrub":
            raise RecursionError("the words of somebody")
        return Scrubbed(text, ())

    said = [*turns(["one"]), *turns(["two"], cwd="/bad"), *turns(["three"])]
    with opened(tmp_path, sources={"/a": said}, ports={"resolve_scope": locate, "scrub": scrub}) as actor_system:
        (taken,) = actor_system.take("/a")
        assert (taken.new, taken.malformed) == (2, ((2, "item not kept: reading it failed (RecursionError)"),))
        assert actor_system.texts() == [b"one", b"three"]


def test_a_folder_whose_file_names_a_number_as_its_scope_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    work = name_scope(tmp_path / "home", tmp_path / "work", "work")
    (work / ".mnemic.toml").write_text("scope = 0x" + "f" * 4000)
    said = [*turns(["one"]), *turns(["two"], cwd=str(work)), *turns(["three"])]
    with opened(tmp_path / "home", sources={"/a": said}) as actor_system:
        (taken,) = actor_system.take("/a")
        ((line, why),) = taken.malformed
        assert (line, taken.new) == (2, 2)
        assert f"scope in {work / '.mnemic.toml'} cannot be 'int': it names no scope" in why
