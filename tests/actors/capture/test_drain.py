"""What hooks kept becomes memories exactly once, whoever is killed when; what is odd is quarantined, whole."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.messages import (
    CaptureProgress,
    Drained,
    DrainSpool,
    GetCaptureProgress,
    QuarantineRetried,
    RetryQuarantined,
)
from mnemic.actors.kernel.errors import ActorFailed, DiskFull, UnreadableRecord
from mnemic.actors.kernel.events import HookEvent, HookRecord, SelfTestEvent, TranscriptRef, to_bytes
from mnemic.actors.kernel.ports import FileStat, Scrubbed, SpoolBatch, UndecodedRecord
from tests.built import event
from tests.harness import START_US, ActorHarness, ListSpool, turns
from tests.processes.faces import name_scope
from tests.waiting import until

_numbers = itertools.count(1)
FILE = b"a file of a hook"
MINE = "<private>mine</private>"


def record(said: Any, *, at: int = START_US, cwd: str | None = None, event: str = "prompt") -> HookRecord:
    """A record that stands for what is said: texts, or ``{"text": …}`` with other fields of an event."""
    return HookRecord(
        id=next(_numbers).to_bytes(16, "big"),
        assistant="t",
        event=event,
        at=at,
        cwd=cwd,
        branch="main",
        payload=json.dumps(said).encode(),
    )


def read(one: HookRecord) -> list[HookEvent]:
    """What the records of these tests stand for."""
    found: list[HookEvent] = []
    for said in json.loads(one.payload):
        if isinstance(said, str):
            said = {"text": said}
        if "raise" in said:
            raise {"unreadable": UnreadableRecord(assistant="t", event="prompt", why="it has no prompt")}.get(
                said["raise"], KeyError(said["raise"])
            )
        if "transcript" in said:
            found.append(TranscriptRef(path=said["transcript"], format="list", ended=said["ended"]))
        elif "nonce" in said:
            found.append(SelfTestEvent(assistant=one.assistant, nonce=said["nonce"]))
        else:
            text = said.pop("text")
            found.append(event(text, **said))
    return found


def drained(actor_system: ActorHarness, **options: Any) -> Drained:
    """Drain until nothing is left, and no file that was taken in; the counts of all of it."""
    parts = []

    def step() -> bool:
        part = actor_system.ask(DrainSpool(**options))
        assert isinstance(part, Drained)
        parts.append(part)
        return not part.more and not taken_whole(actor_system)

    until(step)  # a reader may keep a checkpoint from being complete for a moment, and a file from going
    counted = ("records", "new", "known", "quarantined", "left_out", "torn")
    sums = {name: sum(getattr(part, name) for part in parts) for name in counted}
    return Drained(**sums, next_due_at=parts[-1].next_due_at)


def taken_whole(actor_system: ActorHarness) -> bool:
    """Whether there is a file that was taken in to its end."""
    offsets = actor_system.look(lambda snapshot: snapshot.spool_offsets())
    return any(offsets.get(file) == len(records) for file, records in actor_system.spool.files.items())


def waiting(actor_system: ActorHarness) -> CaptureProgress:
    answer = actor_system.ask(GetCaptureProgress())
    assert isinstance(answer, CaptureProgress)
    return answer


def opened(home: Path, **options: Any) -> ActorHarness:
    actor_system = ActorHarness(home, **options)
    actor_system.read_record = read
    return actor_system


# --- once ------------------------------------------------------------------------------------------------------------


def test_what_hooks_kept_becomes_memories_and_again_it_adds_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        actor_system.spool.write(record(["one", "two"], cwd="/x/shelf"), record(["three"]))
        answer = drained(actor_system)
        assert (answer.records, answer.new, answer.known) == (2, 3, 0)
        assert actor_system.texts() == [b"one", b"two", b"three"]
        first = actor_system.look(lambda snapshot: snapshot.load_memories([1]))[0]
        assert (first.scope, first.branch, first.said_at) == ("shelf", "main", START_US)
        assert drained(actor_system).records == 0
        assert actor_system.texts() == [b"one", b"two", b"three"]
        assert actor_system.spool.cleared == [FILE]
        assert (waiting(actor_system).offsets, waiting(actor_system).records) == ({}, 2)


def test_who_asks_what_waits_is_told_when_the_oldest_of_it_was_written(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        assert waiting(actor_system).oldest_at is None
        actor_system.spool.write(record(["one"], at=START_US + 5))
        drained(actor_system)
        assert waiting(actor_system).oldest_at is None
        actor_system.spool.write(record(["two"], at=START_US + 9), file=b"another file 123")
        actor_system.spool.write(record(["three"], at=START_US + 7), file=b"one more file 12")
        assert waiting(actor_system).oldest_at == START_US + 7


def test_yes_said_twice_is_two_memories_and_the_transcript_adds_only_what_hooks_missed(tmp_path: Path) -> None:
    sources = {"a": turns(["yes", "no", "yes", "yes", "maybe"])}
    with opened(tmp_path, sources=sources) as actor_system:
        actor_system.spool.write(record(["yes"]))
        drained(actor_system)
        actor_system.spool.write(record(["yes"]), file=b"another file 123")
        assert drained(actor_system).new == 1
        taken = actor_system.take("a")
        assert (taken[0].new, taken[0].known) == (3, 2)
        actor_system.spool.write(record(["yes"]), file=b"a third file 123")
        assert (drained(actor_system).known, sorted(actor_system.texts())) == (
            1,
            [b"maybe", b"no", b"yes", b"yes", b"yes"],
        )


def test_a_hosts_own_id_makes_hook_and_transcript_one_however_often_it_comes(tmp_path: Path) -> None:
    sources = {"a": turns(["ls"], host_id="1", kind="tool_call", role="assistant")}
    with opened(tmp_path, sources=sources) as actor_system:
        call = {"text": "ls", "host_id": "1", "kind": "tool_call", "role": "assistant"}
        actor_system.spool.write(record([call]), record([call]))
        assert (drained(actor_system).new, actor_system.take("a")[0].known) == (1, 1)
        assert actor_system.texts() == [b"ls"]


@settings(max_examples=12)
@given(
    said=st.lists(st.lists(st.sampled_from(["yes", "no", " yes"]), max_size=3), max_size=12),
    split=st.integers(1, 3),
    batch=st.sampled_from([1, 2, 256]),
    killed=st.sets(st.integers(0, 11)),
)
def test_however_files_are_cut_and_whoever_is_killed_each_is_kept_once(
    said: list[list[str]], split: int, batch: int, killed: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as home, opened(Path(home), batch_events=batch) as actor_system:
        for number, texts in enumerate(said):
            actor_system.spool.write(record(texts), file=b"file %d" % (number % split))
        step = 0
        while True:
            if step in killed:  # the Store has it, and Capture dies before it knows
                kill_after_apply(actor_system)
            else:
                part = actor_system.ask(DrainSpool())
                if not part.more:
                    break
            step += 1
        assert sorted(actor_system.texts()) == sorted(to_bytes(text) for texts in said for text in texts)
        assert waiting(actor_system).records == len(said)
        transcript = turns([text for texts in said for text in texts])
        actor_system.sources["a"] = transcript
        assert sum(part.new for part in actor_system.take("a")) == 0


def kill_after_apply(actor_system: ActorHarness) -> None:
    """Have the next part drained by a Capture that fails as soon as the Store has answered it."""
    clear = actor_system.spool.remove_consumed
    honest = actor_system.spool.read

    def die(*_: Any) -> Any:
        raise RuntimeError("killed")

    actor_system.ask(DrainSpool())
    actor_system.spool.read = die  # type: ignore[method-assign]
    with pytest.raises(ActorFailed):
        actor_system.ask(DrainSpool())
    actor_system.spool.read, actor_system.spool.remove_consumed = honest, clear  # type: ignore[method-assign]
    actor_system.supervisor.release_quarantined()


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
    with opened(tmp_path) as actor_system:
        actor_system.spool.write(record(["one"]), record(["two"]))
        actor_system.ask(DrainSpool())
        offsets = waiting(actor_system).offsets
        assert offsets == {FILE: 2}
        honest = actor_system.spool.read
        cut = [SpoolBatch(file=FILE, records=(), offset=0, torn=1)]
        actor_system.spool.files[FILE] = [record(["three"])]
        actor_system.spool.read = lambda offsets, records, size: cut.pop() if cut else honest(offsets, records, size)  # type: ignore[method-assign]
        drained(actor_system)
        assert actor_system.texts() == [b"one", b"two", b"three"]
        assert waiting(actor_system).torn == 1


def test_a_store_that_cannot_write_keeps_nothing_and_the_part_comes_again(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        actor_system.spool.write(record(["one"]))
        honest = actor_system.spool.read

        def full(*_: Any) -> Any:
            raise DiskFull(path="/x")

        actor_system.spool.read = full  # type: ignore[method-assign]
        with pytest.raises(DiskFull):
            actor_system.ask(DrainSpool())
        actor_system.spool.read = honest  # type: ignore[method-assign]
        assert drained(actor_system).new == 1
        assert actor_system.texts() == [b"one"]


def test_of_many_sessions_whose_files_are_gone_no_row_is_left_but_the_sums(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        for number in range(100):
            actor_system.spool.write(record([f"said {number}"]), file=b"%d" % number)
        assert drained(actor_system).new == 100
        told = waiting(actor_system)
        assert (told.offsets, told.records) == ({}, 100)
        assert actor_system.look(lambda snapshot: snapshot._db.execute("SELECT count(*) FROM spool").get) == 1


def test_a_file_that_went_before_anybody_could_say_so_is_forgotten_later(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        actor_system.spool.write(record(["one"]))
        actor_system.ask(DrainSpool())
        assert waiting(actor_system).offsets == {FILE: 1}
        actor_system.spool.files.clear()  # its reader removed it, and died
        assert drained(actor_system).records == 0
        assert (waiting(actor_system).offsets, waiting(actor_system).records) == ({}, 1)


def test_a_copy_of_a_file_that_was_forgotten_keeps_nobody_waiting(tmp_path: Path) -> None:
    call = {"text": "ls", "host_id": "1", "kind": "tool_call", "role": "assistant"}
    copy = [record([call]), record([call | {"host_id": "2"}])]
    with opened(tmp_path) as actor_system:
        actor_system.spool.write(*copy)
        drained(actor_system)
        actor_system.spool.write(*copy, record(["new"]))
        drained(actor_system)
        assert actor_system.texts() == [b"ls", b"ls", b"new"]
        assert actor_system.spool.files == {}


# --- quarantine ------------------------------------------------------------------------------------------------------


def test_what_is_not_understood_is_quarantined_whole_and_the_rest_goes_on(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        odd = UndecodedRecord(id=bytes(16), why="its meta is no JSON", body=b"\0\0")
        actor_system.spool.write(record(["one"]), record([{"raise": "unreadable"}]), odd, record([{"raise": "defect"}]))
        actor_system.spool.write(record(["two"]))
        answer = drained(actor_system)
        assert (answer.records, answer.new, answer.quarantined) == (5, 2, 3)
        assert actor_system.texts() == [b"one", b"two"]
        told = waiting(actor_system)
        assert told.quarantined_count == 3
        assert told.quarantined == (
            ("t", "prompt", "reading it failed (KeyError)"),
            ("", "", "its meta is no JSON"),
            ("t", "prompt", "it has no prompt"),
        )
        assert not any(actor.failures for actor in actor_system.supervisor.report().actors)


@pytest.mark.parametrize(
    "event",
    [
        {"text": "x", "said_at": 10**30},
        {"text": "x", "kind": "bogus"},
        {"text": "x", "speaker": 5},
        {"text": 5},
    ],
)
def test_an_event_that_no_store_can_keep_is_quarantined_and_no_actor_fails(
    tmp_path: Path, event: dict[str, Any]
) -> None:
    with opened(tmp_path) as actor_system:
        actor_system.spool.write(record(["one"]), record([event]), record(["two"]))
        answer = drained(actor_system)
        assert (answer.new, answer.quarantined) == (2, 1)
        assert actor_system.texts() == [b"one", b"two"]
        assert not any(actor.failures for actor in actor_system.supervisor.report().actors)


@pytest.mark.parametrize("port", ["resolve_scope", "scrub", "identity", "stat_file"])
def test_whatever_a_record_raises_quarantines_it_and_no_actor_fails(tmp_path: Path, port: str) -> None:
    def poisoned(honest: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            if any(word in str(given) for word in ("poison", "transcript.jsonl")):
                raise RecursionError("what it said")
            return honest(*given, **more)

        return call

    with ActorHarness(tmp_path / "other") as other:
        ports = {} if port == "scrub" else {port: poisoned(getattr(other.ports, port))}
    with opened(tmp_path, ports=ports) as actor_system:
        if port == "scrub":
            actor_system.scrub = poisoned(actor_system.scrub)
        for number in range(7):  # more than a supervisor takes of failures
            bad = {"transcript": "/transcript.jsonl", "ended": True} if port == "stat_file" else "poison"
            actor_system.spool.write(record([f"text {number}"]), record([bad], cwd=f"/poison/{number}"))
        answer = drained(actor_system)
        assert (answer.new, answer.quarantined, answer.records) == (7, 7, 14)
        assert actor_system.texts() == [b"text %d" % number for number in range(7)]
        for _, _, why in waiting(actor_system).quarantined:
            assert "(RecursionError)" in why
            assert "what it said" not in why
        assert not any(actor.failures for actor in actor_system.supervisor.report().actors)


def test_a_record_that_the_store_refuses_is_found_one_by_one_and_quarantined(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        texts = ["one", "poison", "two", "one"]
        actor_system.spool.write(*(record([text]) for text in texts))
        # A text that is no UTF-8 gets past no adapter: only the scrubber makes one here.
        actor_system.scrub = lambda text: Scrubbed(b"\xff" if text == b"poison" else text, ())
        answer = drained(actor_system)
        assert (answer.new, answer.quarantined, answer.records) == (3, 1, 4)
        assert actor_system.texts() == [b"one", b"two", b"one"]
        assert waiting(actor_system).quarantined[0][2].startswith("the store refused it")
        assert 1 in actor_system.spool.limits
        actor_system.spool.write(record(["later"]), file=b"another")
        drained(actor_system)
        assert actor_system.spool.limits[-1] == 256, "the next ones go together again"


@pytest.mark.parametrize("at", [START_US, 0])  # 0: of a machine whose clock stood before 1970
def test_what_was_quarantined_is_read_again_once_it_is_understood_and_then_let_go_of(tmp_path: Path, at: int) -> None:
    with opened(tmp_path) as actor_system:
        actor_system.scrub = hide
        odd = f"the key is hunter2 {MINE}and that is all \ud800"
        actor_system.spool.write(record([{"raise": "unreadable", "text": odd}], at=at), record(["no"]))
        assert drained(actor_system).quarantined == 1
        assert actor_system.ask(RetryQuarantined()) == QuarantineRetried(readmitted=0, after=1, queued=0, more=False)
        (quarantined,) = actor_system.look(lambda snapshot: snapshot.quarantined_records(0, 9))
        assert json.loads(quarantined.payload)[0]["text"] == "the key is [token] and that is all \ud800"
        actor_system.read_record = lambda one: turns(said["text"] for said in json.loads(one.payload))
        assert actor_system.ask(RetryQuarantined()).readmitted == 1
        assert actor_system.texts() == [b"no", to_bytes("the key is [token] and that is all \ud800")]
        assert (waiting(actor_system).quarantined_count, actor_system.ask(RetryQuarantined()).readmitted) == (0, 0)
        bodies = "SELECT count(*) FROM texts"
        assert actor_system.look(lambda snapshot: snapshot._db.execute(bodies).get) == 2


def test_a_folder_whose_file_is_half_written_keeps_no_word_back_and_the_log_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    project = name_scope(tmp_path / "home", tmp_path / "project", "work")
    (project / ".mnemic.toml").write_text("scope = [", "utf-8")
    said = turns(["from the transcript"], cwd=str(project))
    with opened(tmp_path / "home", sources={"/a": said}) as actor_system:
        actor_system.extents = {"/a": FileStat(1000, START_US)}
        actor_system.spool.write(record(["yes", "no", {"transcript": "/a", "ended": True}], cwd=str(project)))
        assert drained(actor_system).quarantined == 0
        assert waiting(actor_system).transcripts_failed == ()
        records = actor_system.look(lambda snapshot: snapshot.load_memories([1, 2, 3]))
        assert [one.scope for one in records] == ["project"] * 3
        told = [one.getMessage() for one in caplog.records if one.name == "mnemic.capture"]
        assert len(told) == 2, "once for each part"
        assert all("no TOML" in one for one in told)


def test_a_repository_that_is_made_later_is_the_place_of_what_is_said_from_then_on(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    (shelf / "src").mkdir(parents=True)
    with opened(tmp_path / "home", sources={"a": turns(["three"], cwd=str(shelf / "src"))}) as actor_system:
        actor_system.spool.write(record(["one"], cwd=str(shelf / "src")))
        drained(actor_system)
        for name in ("HEAD", "objects", "refs"):
            (shelf / ".git" / name).mkdir(parents=True)
        actor_system.spool.write(record(["two"], cwd=str(shelf / "src")), file=b"2")
        drained(actor_system)
        actor_system.take("a")
        assert [one.scope for one in actor_system.look(lambda snapshot: snapshot.load_memories([1, 2, 3]))] == [
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
    with opened(tmp_path, sources={"a": turns(["the key is hunter2", MINE, "nothing"])}) as actor_system:
        actor_system.scrub = hide
        actor_system.spool.write(record(["the key is hunter2", MINE, "nothing"]))
        assert drained(actor_system).new == 2
        assert actor_system.texts() == [b"the key is [token]", b"nothing"]
        (taken,) = actor_system.take("a")
        assert (taken.new, taken.known) == (0, 2)
        assert waiting(actor_system).scrubbed == {"token": 1}
        kept = actor_system.keep(f"hunter2 and {MINE} hunter2")
        assert kept.created
        assert waiting(actor_system).scrubbed == {"private": 1, "token": 3}


def test_originals_are_kept_apart_only_where_that_is_asked_for_and_nothing_of_them_is_private(tmp_path: Path) -> None:
    def originals(actor_system: ActorHarness) -> Any:
        rows = "SELECT body FROM originals o JOIN texts t ON t.id = o.text ORDER BY o.memory"
        return actor_system.look(lambda snapshot: [text for (text,) in snapshot._db.execute(rows)])

    with opened(tmp_path / "plain") as actor_system:
        actor_system.scrub = hide
        actor_system.spool.write(record(["hunter2"]))
        drained(actor_system)
        assert originals(actor_system) == []
    with opened(tmp_path / "kept", **{"capture.keep_originals": True}) as actor_system:
        actor_system.scrub = hide
        actor_system.spool.write(record(["the key is hunter2", f"{MINE} hunter2", "nothing"]))
        drained(actor_system)
        actor_system.spool.write(
            record([{"text": "hunter2", "host_id": "1"}, {"text": "hunter2", "host_id": "1"}]), file=b"2"
        )
        drained(actor_system)
        assert originals(actor_system) == [b"the key is hunter2", b" hunter2", b"hunter2"]
        assert b"hunter2" not in b"".join(actor_system.texts())


# --- beside memories -------------------------------------------------------------------------------------------------


def test_the_last_trial_event_of_a_host_is_known(tmp_path: Path) -> None:
    with opened(tmp_path) as actor_system:
        actor_system.spool.write(record([{"nonce": "1"}]), record([{"nonce": "2"}]))
        drained(actor_system)
        assert waiting(actor_system).checks == {"t": "2"}


def test_a_transcript_that_a_hook_told_of_is_taken_when_its_session_ends_or_falls_silent(tmp_path: Path) -> None:
    sources = {"/a": turns(["one", "two"]), "/b": turns(["three"], session="b")}
    with opened(tmp_path, sources=sources) as actor_system:
        actor_system.extents = {path: FileStat(1000, START_US) for path in sources}
        actor_system.spool.write(record(["one", {"transcript": "/a", "ended": False}]))
        actor_system.spool.write(record([{"transcript": "/b", "ended": True}]))
        answer = drained(actor_system)
        assert sorted(actor_system.texts()) == [b"one", b"three"]
        assert answer.next_due_at == START_US + 600_000_000
        told = waiting(actor_system)
        assert (told.transcripts, told.transcripts_later) == (0, 1)
        actor_system.clock.advance(601)
        assert waiting(actor_system).transcripts_bytes == 1000
        assert drained(actor_system, transcripts=False).new == 0
        assert drained(actor_system).next_due_at is None
        assert sorted(actor_system.texts()) == [b"one", b"three", b"two"]
        assert waiting(actor_system).transcripts == 0
