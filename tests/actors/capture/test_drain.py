"""What hooks kept becomes memories exactly once, whoever is killed when; what is not understood is set aside, whole."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.protocol.ambient_messages import Drained, DrainSpool, ReadAgain, Reread, Waiting, WaitingCounts
from mnemic.actors.protocol.errors import ActorFailed, DiskFull, UnreadableRecord
from mnemic.actors.protocol.events import Check, Event, Happening, Record, TranscriptAt, to_bytes
from mnemic.actors.protocol.ports import Extent, Scrubbed, SpoolPart, Unreadable
from tests.society import START_US, ListSpool, Society, turns

_numbers = itertools.count(1)
FILE = b"a file of a hook"
MINE = "<private>mine</private>"


def record(said: Any, *, at: int = START_US, cwd: str | None = None, event: str = "prompt") -> Record:
    """A record that stands for what is said: texts, or ``{"text": …}`` with other fields of an event."""
    return Record(
        id=next(_numbers).to_bytes(16, "big"),
        assistant="t",
        event=event,
        at=at,
        cwd=cwd,
        branch="main",
        payload=json.dumps(said).encode(),
    )


def read(one: Record) -> list[Happening]:
    """What the records of these tests stand for."""
    found: list[Happening] = []
    for said in json.loads(one.payload):
        if isinstance(said, str):
            said = {"text": said}
        if "raise" in said:
            raise {"unreadable": UnreadableRecord(assistant="t", event="prompt", why="it has no prompt")}.get(
                said["raise"], KeyError(said["raise"])
            )
        if "transcript" in said:
            found.append(TranscriptAt(path=said["transcript"], format="list", ended=said["ended"]))
        elif "nonce" in said:
            found.append(Check(assistant=one.assistant, nonce=said["nonce"]))
        else:
            text = said.pop("text")
            plain = {"assistant": "t", "session": "s", "kind": "turn", "role": "user"}
            found.append(Event(**(plain | said), text=to_bytes(text) if isinstance(text, str) else text))
    return found


def drained(society: Society, **options: Any) -> Drained:
    """Drain until nothing is left; the counts of all of it."""
    parts = []
    while not parts or parts[-1].more:
        part = society.ask(DrainSpool(**options))
        assert isinstance(part, Drained)
        parts.append(part)
        assert len(parts) < 1000
    counted = ("records", "new", "known", "set_aside", "left_out", "torn")
    sums = {name: sum(getattr(part, name) for part in parts) for name in counted}
    return Drained(**sums, next_due_at=parts[-1].next_due_at)


def waiting(society: Society) -> WaitingCounts:
    answer = society.ask(Waiting())
    assert isinstance(answer, WaitingCounts)
    return answer


def opened(home: Path, **options: Any) -> Society:
    society = Society(home, **options)
    society.read_record = read
    return society


# --- once ------------------------------------------------------------------------------------------------------------


def test_what_hooks_kept_becomes_memories_and_again_it_adds_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        society.spool.write(record(["one", "two"], cwd="/x/shelf"), record(["three"]))
        answer = drained(society)
        assert (answer.records, answer.new, answer.known) == (2, 3, 0)
        assert society.texts() == [b"one", b"two", b"three"]
        first = society.look(lambda snapshot: snapshot.records([1]))[0]
        assert (first.scope, first.branch, first.said_at) == ("shelf", "main", START_US)
        assert drained(society).records == 0
        assert society.texts() == [b"one", b"two", b"three"]
        assert society.spool.cleared == [FILE]
        assert (waiting(society).offsets, waiting(society).records) == ({}, 2)


def test_who_asks_what_waits_is_told_when_the_oldest_of_it_was_written(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        assert waiting(society).oldest_at is None
        society.spool.write(record(["one"], at=START_US + 5))
        drained(society)
        assert waiting(society).oldest_at is None
        society.spool.write(record(["two"], at=START_US + 9), file=b"another file 123")
        society.spool.write(record(["three"], at=START_US + 7), file=b"one more file 12")
        assert waiting(society).oldest_at == START_US + 7


def test_yes_said_twice_is_two_memories_and_the_transcript_adds_only_what_hooks_missed(tmp_path: Path) -> None:
    sources = {"a": turns(["yes", "no", "yes", "yes", "maybe"])}
    with opened(tmp_path, sources=sources) as society:
        society.spool.write(record(["yes"]))
        drained(society)
        society.spool.write(record(["yes"]), file=b"another file 123")
        assert drained(society).new == 1
        taken = society.take("a")
        assert (taken[0].new, taken[0].known) == (3, 2)
        society.spool.write(record(["yes"]), file=b"a third file 123")
        assert (drained(society).known, sorted(society.texts())) == (1, [b"maybe", b"no", b"yes", b"yes", b"yes"])


def test_a_hosts_own_id_makes_hook_and_transcript_one_however_often_it_comes(tmp_path: Path) -> None:
    sources = {"a": turns(["ls"], host_id="1", kind="tool_call", role="assistant")}
    with opened(tmp_path, sources=sources) as society:
        call = {"text": "ls", "host_id": "1", "kind": "tool_call", "role": "assistant"}
        society.spool.write(record([call]), record([call]))
        assert (drained(society).new, society.take("a")[0].known) == (1, 1)
        assert society.texts() == [b"ls"]


@settings(max_examples=25)
@given(
    said=st.lists(st.lists(st.sampled_from(["yes", "no", " yes"]), max_size=3), max_size=12),
    split=st.integers(1, 3),
    batch=st.sampled_from([1, 2, 256]),
    killed=st.sets(st.integers(0, 11)),
)
def test_however_files_are_cut_and_whoever_is_killed_each_is_kept_once(
    said: list[list[str]], split: int, batch: int, killed: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as home, opened(Path(home), batch_events=batch) as society:
        for number, texts in enumerate(said):
            society.spool.write(record(texts), file=b"file %d" % (number % split))
        step = 0
        while True:
            if step in killed:  # the Store has it, and Capture dies before it knows
                kill_after_apply(society)
            else:
                part = society.ask(DrainSpool())
                if not part.more:
                    break
            step += 1
        assert sorted(society.texts()) == sorted(to_bytes(text) for texts in said for text in texts)
        assert waiting(society).records == len(said)
        transcript = turns([text for texts in said for text in texts])
        society.sources["a"] = transcript
        assert sum(part.new for part in society.take("a")) == 0


def kill_after_apply(society: Society) -> None:
    """Have the next part drained by a Capture that fails as soon as the Store has answered it."""
    clear = society.spool.clear
    honest = society.spool.read

    def die(*_: Any) -> Any:
        raise RuntimeError("killed")

    society.ask(DrainSpool())
    society.spool.read = die  # type: ignore[method-assign]
    with pytest.raises(ActorFailed):
        society.ask(DrainSpool())
    society.spool.read, society.spool.clear = honest, clear  # type: ignore[method-assign]
    society.supervisor.release()


def test_a_part_that_two_processes_take_at_once_is_taken_once(tmp_path: Path) -> None:
    with opened(tmp_path) as first, opened(tmp_path) as second:
        second.spool = first.spool
        first.spool.write(record(["yes"]), record(["no"]))

        def late(offsets: Any, limit_records: int, limit_bytes: int) -> Any:
            """Between the second's look at the store and at the spool, the first takes all and more comes."""
            behind.clear()
            assert first.ask(DrainSpool()).new == 2
            first.spool.write(record(["yes"]))
            return ListSpool.read(first.spool, offsets, limit_records, limit_bytes)

        behind = [late]
        slow = ListSpool()
        slow.read = lambda *given: (behind[0] if behind else first.spool.read)(*given)  # type: ignore[method-assign]
        second.spool = slow
        drained(second)
        assert sorted(second.texts()) == [b"no", b"yes", b"yes"]
        assert waiting(second).records == 3


def test_what_a_power_cut_took_back_and_what_came_instead_is_taken_too(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        society.spool.write(record(["one"]), record(["two"]))
        society.ask(DrainSpool())
        offsets = waiting(society).offsets
        assert offsets == {FILE: 2}
        honest = society.spool.read
        cut = [SpoolPart(file=FILE, records=(), offset=0, torn=1)]
        society.spool.files[FILE] = [record(["three"])]
        society.spool.read = lambda offsets, records, size: cut.pop() if cut else honest(offsets, records, size)  # type: ignore[method-assign]
        drained(society)
        assert society.texts() == [b"one", b"two", b"three"]
        assert waiting(society).torn == 1


def test_a_store_that_cannot_write_keeps_nothing_and_the_part_comes_again(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        society.spool.write(record(["one"]))
        honest = society.spool.read

        def full(*_: Any) -> Any:
            raise DiskFull(path="/x")

        society.spool.read = full  # type: ignore[method-assign]
        with pytest.raises(DiskFull):
            society.ask(DrainSpool())
        society.spool.read = honest  # type: ignore[method-assign]
        assert drained(society).new == 1
        assert society.texts() == [b"one"]


def test_of_hundreds_of_sessions_whose_files_are_gone_no_row_is_left_but_the_sums(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        for number in range(300):
            society.spool.write(record([f"said {number}"]), file=b"%d" % number)
        assert drained(society).new == 300
        told = waiting(society)
        assert (told.offsets, told.records) == ({}, 300)
        assert society.look(lambda snapshot: snapshot._db.execute("SELECT count(*) FROM spool").get) == 1


def test_a_file_that_went_before_anybody_could_say_so_is_forgotten_later(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        society.spool.write(record(["one"]))
        society.ask(DrainSpool())
        assert waiting(society).offsets == {FILE: 1}
        society.spool.files.clear()  # its reader removed it, and died
        assert drained(society).records == 0
        assert (waiting(society).offsets, waiting(society).records) == ({}, 1)


def test_a_copy_of_a_file_that_was_forgotten_keeps_nobody_waiting(tmp_path: Path) -> None:
    call = {"text": "ls", "host_id": "1", "kind": "tool_call", "role": "assistant"}
    copy = [record([call]), record([call | {"host_id": "2"}])]
    with opened(tmp_path) as society:
        society.spool.write(*copy)
        drained(society)
        society.spool.write(*copy, record(["new"]))
        drained(society)
        assert society.texts() == [b"ls", b"ls", b"new"]
        assert society.spool.files == {}


# --- set aside -------------------------------------------------------------------------------------------------------


def test_what_is_not_understood_is_set_aside_whole_and_the_rest_goes_on(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        odd = Unreadable(id=bytes(16), why="its meta is no JSON", body=b"\0\0")
        society.spool.write(record(["one"]), record([{"raise": "unreadable"}]), odd, record([{"raise": "defect"}]))
        society.spool.write(record(["two"]))
        answer = drained(society)
        assert (answer.records, answer.new, answer.set_aside) == (5, 2, 3)
        assert society.texts() == [b"one", b"two"]
        told = waiting(society)
        assert told.set_aside_count == 3
        assert told.set_aside == (
            ("t", "prompt", "reading it failed (KeyError)"),
            ("", "", "its meta is no JSON"),
            ("t", "prompt", "it has no prompt"),
        )
        assert not any(actor.failures for actor in society.supervisor.report().actors)


@pytest.mark.parametrize(
    "event",
    [
        {"text": "x", "said_at": 10**30},
        {"text": "x", "kind": "bogus"},
        {"text": "x", "speaker": 5},
        {"text": 5},
    ],
)
def test_an_event_that_no_store_can_keep_is_set_aside_and_no_actor_fails(tmp_path: Path, event: dict[str, Any]) -> None:
    with opened(tmp_path) as society:
        society.spool.write(record(["one"]), record([event]), record(["two"]))
        answer = drained(society)
        assert (answer.new, answer.set_aside) == (2, 1)
        assert society.texts() == [b"one", b"two"]
        assert not any(actor.failures for actor in society.supervisor.report().actors)


def test_a_record_that_the_store_refuses_is_found_one_by_one_and_set_aside(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        texts = ["one", "poison", "two", "one"]
        society.spool.write(*(record([text]) for text in texts))
        # A text that is no UTF-8 gets past no adapter: only the scrubber makes one here.
        society.scrub = lambda text: Scrubbed(b"\xff" if text == b"poison" else text, ())
        answer = drained(society)
        assert (answer.new, answer.set_aside, answer.records) == (3, 1, 4)
        assert society.texts() == [b"one", b"two", b"one"]
        assert waiting(society).set_aside[0][2].startswith("the store refused it")
        assert 1 in society.spool.limits
        society.spool.write(record(["later"]), file=b"another")
        drained(society)
        assert society.spool.limits[-1] == 256, "the next ones go together again"


def test_what_was_set_aside_is_read_again_once_it_is_understood_and_then_let_go_of(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        society.scrub = hide
        odd = f"the key is hunter2 {MINE}and that is all \ud800"
        society.spool.write(record([{"raise": "unreadable", "text": odd}]), record(["no"]))
        assert drained(society).set_aside == 1
        assert society.ask(ReadAgain()) == Reread(readmitted=0, after=1, queued=0, more=False)
        (aside,) = society.look(lambda snapshot: snapshot.aside(0, 9))
        assert json.loads(aside.payload)[0]["text"] == "the key is [token] and that is all \ud800"
        society.read_record = lambda one: turns(said["text"] for said in json.loads(one.payload))
        assert society.ask(ReadAgain()).readmitted == 1
        assert society.texts() == [b"no", to_bytes("the key is [token] and that is all \ud800")]
        assert (waiting(society).set_aside_count, society.ask(ReadAgain()).readmitted) == (0, 0)
        bodies = "SELECT count(*) FROM texts"
        assert society.look(lambda snapshot: snapshot._db.execute(bodies).get) == 2


def test_a_folder_whose_file_is_half_written_keeps_no_word_back_and_the_log_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".mnemic.toml").write_text("scope = [", "utf-8")
    said = turns(["from the transcript"], cwd=str(project))
    with opened(tmp_path / "home", sources={"/a": said}) as society:
        society.extents = {"/a": Extent(1000, START_US)}
        society.spool.write(record(["yes", "no", {"transcript": "/a", "ended": True}], cwd=str(project)))
        assert drained(society).set_aside == 0
        assert waiting(society).transcripts_failed == ()
        records = society.look(lambda snapshot: snapshot.records([1, 2, 3]))
        assert [one.scope for one in records] == ["project"] * 3
        told = [one.getMessage() for one in caplog.records if one.name == "mnemic.capture"]
        assert len(told) == 2, "once for each part"
        assert all("no TOML" in one for one in told)


def test_a_repository_that_is_made_later_is_the_place_of_what_is_said_from_then_on(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    (shelf / "src").mkdir(parents=True)
    with opened(tmp_path / "home", sources={"a": turns(["three"], cwd=str(shelf / "src"))}) as society:
        society.spool.write(record(["one"], cwd=str(shelf / "src")))
        drained(society)
        for name in ("HEAD", "objects", "refs"):
            (shelf / ".git" / name).mkdir(parents=True)
        society.spool.write(record(["two"], cwd=str(shelf / "src")), file=b"2")
        drained(society)
        society.take("a")
        assert [one.scope for one in society.look(lambda snapshot: snapshot.records([1, 2, 3]))] == [
            "src",
            "shelf",
            "shelf",
        ]


# --- what must not be kept -------------------------------------------------------------------------------------------


def hide(text: bytes) -> Scrubbed:
    """Takes out two words."""
    found = tuple(
        (kind, text.count(word)) for kind, word in (("private", b"<private>mine</private>"), ("token", b"hunter2"))
    )
    text = text.replace(b"<private>mine</private>", b"").replace(b"hunter2", b"[token]")
    return Scrubbed(text, tuple((kind, count) for kind, count in found if count))


def test_secrets_are_taken_out_counted_and_known_again_by_the_bytes_before(tmp_path: Path) -> None:
    with opened(tmp_path, sources={"a": turns(["the key is hunter2", MINE, "nothing"])}) as society:
        society.scrub = hide
        society.spool.write(record(["the key is hunter2", MINE, "nothing"]))
        assert drained(society).new == 2
        assert society.texts() == [b"the key is [token]", b"nothing"]
        (taken,) = society.take("a")
        assert (taken.new, taken.known) == (0, 2)
        assert waiting(society).scrubbed == {"token": 1}
        kept = society.keep(f"hunter2 and {MINE} hunter2")
        assert kept.created
        assert waiting(society).scrubbed == {"private": 1, "token": 3}


def test_originals_are_kept_apart_only_where_that_is_asked_for_and_nothing_of_them_is_private(tmp_path: Path) -> None:
    def originals(society: Society) -> Any:
        rows = "SELECT body FROM originals o JOIN texts t ON t.id = o.text ORDER BY o.memory"
        return society.look(lambda snapshot: [text for (text,) in snapshot._db.execute(rows)])

    with opened(tmp_path / "plain") as society:
        society.scrub = hide
        society.spool.write(record(["hunter2"]))
        drained(society)
        assert originals(society) == []
    with opened(tmp_path / "kept", **{"capture.keep_originals": True}) as society:
        society.scrub = hide
        society.spool.write(record(["the key is hunter2", f"{MINE} hunter2", "nothing"]))
        drained(society)
        society.spool.write(
            record([{"text": "hunter2", "host_id": "1"}, {"text": "hunter2", "host_id": "1"}]), file=b"2"
        )
        drained(society)
        assert originals(society) == [b"the key is hunter2", b" hunter2", b"hunter2"]
        assert b"hunter2" not in b"".join(society.texts())


# --- beside memories -------------------------------------------------------------------------------------------------


def test_the_last_trial_event_of_a_host_is_known(tmp_path: Path) -> None:
    with opened(tmp_path) as society:
        society.spool.write(record([{"nonce": "1"}]), record([{"nonce": "2"}]))
        drained(society)
        assert waiting(society).checks == {"t": "2"}


def test_a_transcript_that_a_hook_told_of_is_taken_when_its_session_ends_or_falls_silent(tmp_path: Path) -> None:
    sources = {"/a": turns(["one", "two"]), "/b": turns(["three"], session="b")}
    with opened(tmp_path, sources=sources) as society:
        society.extents = {path: Extent(1000, START_US) for path in sources}
        society.spool.write(record(["one", {"transcript": "/a", "ended": False}]))
        society.spool.write(record([{"transcript": "/b", "ended": True}]))
        answer = drained(society)
        assert sorted(society.texts()) == [b"one", b"three"]
        assert answer.next_due_at == START_US + 600_000_000
        told = waiting(society)
        assert (told.transcripts, told.transcripts_later) == (0, 1)
        society.clock.advance(601)
        assert waiting(society).transcripts_bytes == 1000
        assert drained(society, transcripts=False).new == 0
        assert drained(society).next_due_at is None
        assert sorted(society.texts()) == [b"one", b"three", b"two"]
        assert waiting(society).transcripts == 0
