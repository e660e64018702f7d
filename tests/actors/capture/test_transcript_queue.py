"""Transcripts are taken by themselves, newest first, once; one that cannot be read keeps no other waiting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.protocol.ambient_messages import DrainSpool, Queued, QueueTranscripts, ReadAgain
from mnemic.actors.protocol.errors import AmbiguousFormat, InvalidValue, SourceUnreadable
from mnemic.actors.protocol.ports import Extent
from mnemic.runtime.minds.projects import IGNORE
from tests.actors.capture.test_drain import drained, opened, record, waiting
from tests.society import START_US, ListSource, Society, turns


def queue(society: Society, *paths: str) -> Queued:
    answer = society.ask(QueueTranscripts(paths=tuple((path, "list") for path in paths)))
    assert isinstance(answer, Queued)
    return answer


@pytest.fixture
def sources() -> dict[str, Any]:
    return {f"/{name}": turns([f"{name} {n}" for n in range(4)], session=name) for name in "abc"}


def test_those_that_lie_there_are_taken_newest_first_and_not_again_until_they_change(
    tmp_path: Path, sources: dict[str, Any]
) -> None:
    with opened(tmp_path, sources=sources, batch_events=3) as society:
        society.extents = {"/a": Extent(1000, 10), "/b": Extent(1000, 30), "/c": Extent(1000, 20)}
        assert queue(society, "/a", "/b", "/c", "/gone") == Queued(queued=3, known=0)
        assert waiting(society).transcripts == 3
        drained(society)
        assert [text.split()[0] for text in society.texts()] == [b"b"] * 4 + [b"c"] * 4 + [b"a"] * 4
        assert queue(society, "/a", "/b", "/c") == Queued(queued=0, known=3)
        society.extents["/a"] = Extent(1000, 40)
        society.sources["/a"] = [*society.sources["/a"], *turns(["new"], session="a")]
        assert queue(society, "/a", "/b") == Queued(queued=1, known=1)
        assert drained(society).new == 1


def test_one_that_cannot_be_read_is_shown_with_the_reason_and_the_others_go_on(
    tmp_path: Path, sources: dict[str, Any]
) -> None:
    with opened(tmp_path, sources=sources) as society:
        society.extents = {path: Extent(1000, n) for n, path in enumerate(sources)}
        honest = society.open_source

        def odd(path: str, format: str) -> Any:
            if path == "/a":
                raise SourceUnreadable(path=path, why="it went")
            if path == "/b":
                raise ValueError("a defect of the reader")
            return honest(path, format)

        society.open_source = odd
        queue(society, "/a", "/b", "/c")
        assert drained(society).new == 4
        failed = dict(waiting(society).transcripts_failed)
        assert failed["/a"] == str(SourceUnreadable(path="/a", why="it went"))
        assert failed["/b"] == "reading it failed (ValueError)"
        assert not any(actor.failures for actor in society.supervisor.report().actors)
        society.open_source = honest
        assert society.ask(ReadAgain()).queued == 2
        assert drained(society).new == 8
        assert waiting(society).transcripts_failed == ()


def test_one_of_an_unknown_format_is_finished_with_the_reason(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": []}) as society:
        society.extents = {"/a": Extent(1, 1)}

        def unknown(path: str, format: str) -> Any:
            raise AmbiguousFormat(path=path, why="nothing fits", known="x")

        society.open_source = unknown
        queue(society, "/a")
        drained(society)
        assert "nothing fits" in waiting(society).transcripts_failed[0][1]


def test_one_with_lines_that_belong_nowhere_is_shown_and_the_others_of_its_lines_are_kept(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": [*turns(["one"], scope="a//b"), *turns(["two"])]}) as society:
        society.extents = {"/a": Extent(1000, 1)}
        queue(society, "/a")
        drained(society)
        assert society.texts() == [b"two"]
        assert waiting(society).transcripts_failed[0][1].startswith("item not kept: ")


def test_a_capture_that_dies_in_a_transcript_takes_it_from_the_start_and_keeps_it_once(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": turns(["yes"] * 7)}, batch_events=2) as society:
        society.extents = {"/a": Extent(1000, 1)}
        queue(society, "/a")
        for _ in range(2):
            assert society.ask(DrainSpool()).new == 2
        honest = society.spool.read

        def die(*_: Any) -> Any:
            raise RuntimeError("killed")

        society.spool.read = die  # type: ignore[method-assign]
        with pytest.raises(Exception, match="failed"):
            society.ask(DrainSpool())
        society.spool.read = honest  # type: ignore[method-assign]
        answer = drained(society)
        assert (answer.new, answer.known) == (3, 4)
        assert len(society.texts()) == 7


def test_what_hooks_keep_goes_before_transcripts(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": turns(["yes"] * 4)}, batch_events=2) as society:
        society.extents = {"/a": Extent(1000, 1)}
        queue(society, "/a")
        society.ask(DrainSpool())
        society.spool.write(record(["between"]))
        assert society.ask(DrainSpool()).records == 1


def test_a_session_that_goes_on_puts_its_transcript_off_now_and_then_and_not_at_every_word(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": turns(["one"])}) as society:
        society.extents = {"/a": Extent(1000, 1)}

        def seq() -> int:
            return int(society.look(lambda snapshot: snapshot.seq))

        society.spool.write(record([{"transcript": "/a", "ended": False}]))
        due = drained(society).next_due_at
        before = seq()
        society.clock.advance(10)
        later = society.clock.now_us()
        society.spool.write(record([{"transcript": "/a", "ended": False}], at=later), file=b"2")
        assert drained(society).next_due_at == due
        assert seq() == before + 2, "only how far the spool is taken in, and that its file is gone"
        society.clock.advance(600)
        later = society.clock.now_us()
        society.spool.write(record([{"transcript": "/a", "ended": False}], at=later), file=b"3")
        assert drained(society).next_due_at == later + 600_000_000
        society.spool.write(record([{"transcript": "/a", "ended": True}], at=later), file=b"4")
        assert drained(society).new == 1


def test_one_that_was_taken_as_it_is_now_is_not_queued_by_a_hook_either(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"/a": turns(["one"])}) as society:
        society.extents = {"/a": Extent(1000, 1)}
        queue(society, "/a")
        drained(society)
        society.spool.write(record([{"transcript": "/a", "ended": True}]))
        drained(society)
        assert len(society.opened) == 1


def test_one_that_went_is_finished_with_the_reason(tmp_path: Path) -> None:
    with opened(tmp_path) as society:

        def gone(path: str, format: str) -> ListSource:
            raise SourceUnreadable(path=path, why="No such file or directory")

        society.open_source = gone
        society.spool.write(record([{"transcript": "/a", "ended": True}]))
        drained(society)
        assert "No such file" in waiting(society).transcripts_failed[0][1]


def test_a_relative_path_is_refused_and_nothing_is_queued(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        society.extents = {"/a": Extent(1, START_US), "a": Extent(1, START_US)}
        with pytest.raises(InvalidValue):
            queue(society, "/a", "a")
        assert waiting(society).transcripts == 0


def test_what_is_silenced_between_two_takings_is_passed_over_from_then_on(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    inside, outside = turns(["one", "two"], cwd=str(project)), turns(["three"], cwd=str(tmp_path))
    with opened(tmp_path / "home", sources={"/a": [*inside[:1], *outside]}) as society:
        society.extents = {"/a": Extent(1000, 1)}
        queue(society, "/a")
        assert drained(society).new == 2
        (project / IGNORE).touch()
        society.sources["/a"] = [*inside, *outside, *turns(["four"], cwd=str(tmp_path))]
        society.extents["/a"] = Extent(2000, 2)
        queue(society, "/a")
        assert drained(society).new == 1
        assert society.texts() == [b"one", b"three", b"four"]


def test_a_transcript_of_a_silent_project_is_passed_over_and_nothing_of_it_is_known(tmp_path: Path) -> None:
    (tmp_path / IGNORE).touch()
    with opened(tmp_path / "home", sources={"/a": turns(["one", "two"], cwd=str(tmp_path / "src"))}) as society:
        society.extents = {"/a": Extent(1000, 1)}
        queue(society, "/a")
        drained(society)
        assert (society.texts(), waiting(society).transcripts_failed) == ([], ())
        assert society.look(lambda snapshot: snapshot._db.execute("SELECT count(*) FROM occurrences").get) == 0
