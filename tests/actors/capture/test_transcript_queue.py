"""Transcripts are taken by themselves, newest first, once; one that cannot be read keeps no other waiting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.messages import DrainSpool, Queued, QueueTranscripts, RetryQuarantined
from mnemic.actors.kernel.errors import AmbiguousFormat, InvalidValue, SourceUnreadable
from mnemic.actors.kernel.ports import FileStat
from mnemic.runtime.minds.projects import IGNORE_FILE
from tests.actors.capture.test_drain import drained, opened, record, waiting
from tests.harness import START_US, ActorHarness, turns


def queue(actor_system: ActorHarness, *paths: str) -> Queued:
    answer = actor_system.ask(QueueTranscripts(paths=tuple((path, "list") for path in paths)))
    assert isinstance(answer, Queued)
    return answer


@pytest.fixture
def sources() -> dict[str, Any]:
    return {f"/{name}": turns([f"{name} {n}" for n in range(4)], session=name) for name in "abc"}


def test_those_that_lie_there_are_taken_newest_first_and_not_again_until_they_change(
    tmp_path: Path, sources: dict[str, Any]
) -> None:
    with opened(tmp_path, sources=sources, batch_events=3) as actor_system:
        actor_system.extents = {"/a": FileStat(1000, 10), "/b": FileStat(1000, 30), "/c": FileStat(1000, 20)}
        assert queue(actor_system, "/a", "/b", "/c", "/gone") == Queued(queued=3, known=0)
        assert waiting(actor_system).transcripts == 3
        drained(actor_system)
        assert [text.split()[0] for text in actor_system.texts()] == [b"b"] * 4 + [b"c"] * 4 + [b"a"] * 4
        assert queue(actor_system, "/a", "/b", "/c") == Queued(queued=0, known=3)
        actor_system.extents["/a"] = FileStat(1000, 40)
        actor_system.sources["/a"] = [*actor_system.sources["/a"], *turns(["new"], session="a")]
        assert queue(actor_system, "/a", "/b") == Queued(queued=1, known=1)
        assert drained(actor_system).new == 1


def test_one_that_cannot_be_read_is_shown_with_the_reason_and_the_others_go_on(
    tmp_path: Path, sources: dict[str, Any]
) -> None:
    with opened(tmp_path, sources=sources) as actor_system:
        actor_system.extents = {path: FileStat(1000, n) for n, path in enumerate(sources)}
        honest = actor_system.open_source

        def odd(path: str, format: str) -> Any:
            if path == "/a":
                raise SourceUnreadable(path=path, why="it went")
            if path == "/b":
                raise ValueError("a defect of the reader")
            return honest(path, format)

        actor_system.open_source = odd
        queue(actor_system, "/a", "/b", "/c")
        assert drained(actor_system).new == 4
        failed = dict(waiting(actor_system).transcripts_failed)
        assert failed["/a"] == str(SourceUnreadable(path="/a", why="it went"))
        assert failed["/b"] == "reading it failed (ValueError)"
        assert not any(actor.failures for actor in actor_system.supervisor.report().actors)
        actor_system.open_source = honest
        assert actor_system.ask(RetryQuarantined()).queued == 2
        assert drained(actor_system).new == 8
        assert waiting(actor_system).transcripts_failed == ()


def test_one_of_an_unknown_format_is_finished_with_the_reason(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": []}) as actor_system:
        actor_system.extents = {"/a": FileStat(1, 1)}

        def unknown(path: str, format: str) -> Any:
            raise AmbiguousFormat(path=path, why="nothing fits", known="x")

        actor_system.open_source = unknown
        queue(actor_system, "/a")
        drained(actor_system)
        assert "nothing fits" in waiting(actor_system).transcripts_failed[0][1]


def test_one_with_lines_that_belong_nowhere_is_shown_and_the_others_of_its_lines_are_kept(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": [*turns(["one"], scope="a//b"), *turns(["two"])]}) as actor_system:
        actor_system.extents = {"/a": FileStat(1000, 1)}
        queue(actor_system, "/a")
        drained(actor_system)
        assert actor_system.texts() == [b"two"]
        assert waiting(actor_system).transcripts_failed[0][1].startswith("item not kept: ")


def test_a_capture_that_dies_in_a_transcript_takes_it_from_the_start_and_keeps_it_once(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": turns(["yes"] * 7)}, batch_events=2) as actor_system:
        actor_system.extents = {"/a": FileStat(1000, 1)}
        queue(actor_system, "/a")
        for _ in range(2):
            assert actor_system.ask(DrainSpool()).new == 2
        honest = actor_system.spool.read

        def die(*_: Any) -> Any:
            raise RuntimeError("killed")

        actor_system.spool.read = die  # type: ignore[method-assign]
        with pytest.raises(Exception, match="failed"):
            actor_system.ask(DrainSpool())
        actor_system.spool.read = honest  # type: ignore[method-assign]
        answer = drained(actor_system)
        assert (answer.new, answer.known) == (3, 4)
        assert len(actor_system.texts()) == 7


def test_what_hooks_keep_goes_before_transcripts(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": turns(["yes"] * 4)}, batch_events=2) as actor_system:
        actor_system.extents = {"/a": FileStat(1000, 1)}
        queue(actor_system, "/a")
        actor_system.ask(DrainSpool())
        actor_system.spool.write(record(["between"]))
        assert actor_system.ask(DrainSpool()).records == 1


def test_a_session_that_goes_on_puts_its_transcript_off_now_and_then_and_not_at_every_word(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": turns(["one"])}) as actor_system:
        actor_system.extents = {"/a": FileStat(1000, 1)}

        def seq() -> int:
            return int(actor_system.look(lambda snapshot: snapshot.seq))

        actor_system.spool.write(record([{"transcript": "/a", "ended": False}]))
        due = drained(actor_system).next_due_at
        before = seq()
        actor_system.clock.advance(10)
        later = actor_system.clock.now_us()
        actor_system.spool.write(record([{"transcript": "/a", "ended": False}], at=later), file=b"2")
        assert drained(actor_system).next_due_at == due
        assert seq() == before + 2, "only how far the spool is taken in, and that its file is gone"
        actor_system.clock.advance(600)
        later = actor_system.clock.now_us()
        actor_system.spool.write(record([{"transcript": "/a", "ended": False}], at=later), file=b"3")
        assert drained(actor_system).next_due_at == later + 600_000_000
        actor_system.spool.write(record([{"transcript": "/a", "ended": True}], at=later), file=b"4")
        assert drained(actor_system).new == 1


def test_one_that_was_taken_as_it_is_now_is_not_queued_by_a_hook_either(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": turns(["one"])}) as actor_system:
        actor_system.extents = {"/a": FileStat(1000, 1)}
        queue(actor_system, "/a")
        drained(actor_system)
        actor_system.spool.write(record([{"transcript": "/a", "ended": True}]))
        drained(actor_system)
        assert len(actor_system.opened) == 1


def test_one_that_was_never_written_is_no_failure_and_is_taken_once_it_is_there(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": turns(["one"])}) as actor_system:
        for number, ended in enumerate([False, True, True]):
            told = record([{"transcript": "/a", "ended": ended}], at=actor_system.clock.now_us())
            actor_system.spool.write(told, file=b"%d" % number)
            drained(actor_system)
            assert (waiting(actor_system).transcripts_failed, actor_system.opened) == ((), [])
        actor_system.extents["/a"] = FileStat(1, START_US)
        actor_system.spool.write(record([{"transcript": "/a", "ended": True}]), file=b"9")
        assert drained(actor_system).new == 1


def test_one_that_was_there_and_went_is_told_of_until_a_repair_drops_it(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        actor_system.extents["/a"] = FileStat(1, START_US)
        actor_system.spool.write(record([{"transcript": "/a", "ended": False}]))
        drained(actor_system)
        del actor_system.extents["/a"]
        actor_system.spool.write(record([{"transcript": "/a", "ended": True}]), file=b"2")
        drained(actor_system)
        assert waiting(actor_system).transcripts_failed == (("/a", "/a was there and is gone"),)
        answer = actor_system.ask(RetryQuarantined())
        assert (answer.queued, answer.gone) == (0, 1)
        assert waiting(actor_system).transcripts_failed == ()
        assert actor_system.ask(RetryQuarantined()).gone == 0


def test_a_relative_path_is_refused_and_nothing_is_queued(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        actor_system.extents = {"/a": FileStat(1, START_US), "a": FileStat(1, START_US)}
        with pytest.raises(InvalidValue):
            queue(actor_system, "/a", "a")
        assert waiting(actor_system).transcripts == 0


def test_what_is_ignored_between_two_takings_is_passed_over_from_then_on(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    inside, outside = turns(["one", "two"], cwd=str(project)), turns(["three"], cwd=str(tmp_path))
    with opened(tmp_path / "home", sources={"/a": [*inside[:1], *outside]}) as actor_system:
        actor_system.extents = {"/a": FileStat(1000, 1)}
        queue(actor_system, "/a")
        assert drained(actor_system).new == 2
        (project / IGNORE_FILE).touch()
        actor_system.sources["/a"] = [*inside, *outside, *turns(["four"], cwd=str(tmp_path))]
        actor_system.extents["/a"] = FileStat(2000, 2)
        queue(actor_system, "/a")
        assert drained(actor_system).new == 1
        assert actor_system.texts() == [b"one", b"three", b"four"]


def test_a_transcript_of_a_silent_project_is_passed_over_and_nothing_of_it_is_known(tmp_path: Path) -> None:
    (tmp_path / IGNORE_FILE).touch()
    with opened(tmp_path / "home", sources={"/a": turns(["one", "two"], cwd=str(tmp_path / "src"))}) as actor_system:
        actor_system.extents = {"/a": FileStat(1000, 1)}
        queue(actor_system, "/a")
        drained(actor_system)
        assert (actor_system.texts(), waiting(actor_system).transcripts_failed) == ([], ())
        assert actor_system.look(lambda snapshot: snapshot._db.execute("SELECT count(*) FROM occurrences").get) == 0
