"""Capture keeps each event once, by the identity rule, however a transcript is cut, repeated, grown or interrupted."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.capture_filter import CaptureFilter
from mnemic.actors.capture.changes import CountOccurrences
from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.capture.gone_folders import GoneFolders
from mnemic.actors.capture.messages import CaptureTranscript, TranscriptCaptured
from mnemic.actors.capture.prepare import ChangeBuilder, identity_of, new_id
from mnemic.actors.capture.transcripts import TranscriptCapture
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import ActorFailed, InvalidValue, NoSuchMemory, SourceUnreadable
from mnemic.actors.kernel.events import Event, MalformedLine, SourceItem, UnknownFields, to_bytes
from mnemic.actors.kernel.ports import Scrubbed
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import AddMemory
from mnemic.actors.store.messages import AddOutcome, Applied, Apply
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.minds.projects import is_gone_folder, is_ignored, resolve_scope
from tests import built
from tests.clocks import ManualClock
from tests.harness import START_US, ActorHarness, ListSource, turns
from tests.runtime.building import keys_of

HASH = keys_of(bytes(32)).identity_hash()
KEEPING = ChangeBuilder(resolve_scope, HASH, lambda text: Scrubbed(text, ()), originals=False)


class EmptyStore:
    """Gives snapshots in which nothing was ever counted."""

    def snapshot(self) -> Any:
        return nullcontext(self)

    def occurrences(self, identities: Any) -> dict[bytes, Any]:
        return {}

    def labels_of(self, identities: Any) -> dict[bytes, Any]:
        return {}

    def close(self) -> None:
        pass


def transcribing(source: Callable[[], ListSource]) -> TranscriptCapture:
    snapshots: Any = EmptyStore()
    leaving_out = CaptureFilter(snapshots, lambda: (), is_ignored, lambda scopes, folders: True, Settings().values())
    folders = partial(GoneFolders, KEEPING, snapshots, is_gone_folder, {})
    return TranscriptCapture(lambda path, format: source(), KEEPING, leaving_out, snapshots, folders, 256, 1 << 20)


def event(**fields: Any) -> Event:
    return built.event(**({"assistant": "claude-code"} | fields))


def counts(parts: list[TranscriptCaptured]) -> tuple[int, int, int]:
    return sum(p.new for p in parts), sum(p.known for p in parts), sum(p.differing for p in parts)


# --- the identity of an event ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"assistant": "codex"},
        {"session": "s2"},
        {"kind": "note"},
        {"role": "assistant"},
        {"text": b"no"},
        {"host_id": "1"},
    ],
)
def test_assistant_session_kind_role_text_and_host_id_each_make_another_identity(changed: dict[str, Any]) -> None:
    assert identity_of(event(), 1, HASH) != identity_of(event(**changed), 1, HASH)


def test_a_host_id_wins_over_the_bytes_and_over_the_count() -> None:
    first = identity_of(event(host_id="toolu_1", text=b"a"), 1, HASH)
    assert identity_of(event(host_id="toolu_1", text=b"b"), 7, HASH) == first
    assert identity_of(event(host_id="toolu_2", text=b"a"), 1, HASH) != first


def test_the_count_matters_and_the_white_space_around_the_text_does_not() -> None:
    first = identity_of(event(text=b"yes"), 1, HASH)
    assert identity_of(event(text=b"yes"), 2, HASH) != first
    assert identity_of(event(text=" \n\u00a0yes\r\n".encode()), 1, HASH) == first
    assert identity_of(event(text=b"y es"), 1, HASH) != first


@pytest.mark.parametrize(
    "changed",
    [
        {"speaker": "Ana"},
        {"said_at": 5},
        {"cwd": "/elsewhere"},
        {"branch": "main"},
        {"scope": "a/b"},
        {"tool": "Bash"},
        {"outcome": "ok"},
        {"files": ("a.py",)},
        {"source_id": "line 7"},
    ],
)
def test_what_only_describes_an_event_is_no_part_of_its_identity(changed: dict[str, Any]) -> None:
    assert identity_of(event(), 1, HASH) == identity_of(event(**changed), 1, HASH)


@given(st.lists(st.tuples(*[st.text(st.characters(), max_size=3)] * 3), min_size=2, max_size=2, unique=True))
def test_no_two_names_run_into_each_other_lone_surrogates_included(names: list[tuple[str, str, str]]) -> None:
    keys = [identity_of(event(assistant=a, session=b, host_id=c), 1, HASH) for a, b, c in names]
    assert keys[0] != keys[1]


def test_another_mind_gives_another_identity() -> None:
    assert identity_of(event(), 1, HASH) != identity_of(event(), 1, keys_of(bytes(31) + b"1").identity_hash())


# --- ids -------------------------------------------------------------------------------------------------------------


def context(now: int, seed: bytes = b"seed", ask: Callable[[Any, float], Any] | None = None) -> Context:
    return Context(
        trace="t",
        now=now,
        clock=ManualClock(now),
        seed=hashlib.sha256(seed).digest(),
        ask=ask or (lambda message, timeout_s: None),
        tell=lambda message: None,
        progress=lambda done, total: None,
        cancelled=lambda: False,
    )


@given(now=st.integers(0, 2**48 * 1000 - 1), identity=st.binary(min_size=32, max_size=32))
def test_ids_are_uuids_of_version_7_that_carry_the_millisecond(now: int, identity: bytes) -> None:
    made = uuid.UUID(bytes=new_id(context(now), identity))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert made.int >> 80 == now // 1000


@given(st.lists(st.tuples(st.integers(0, 10**15), st.binary(max_size=4)), min_size=2, max_size=2, unique=True))
def test_ids_sort_by_time_and_differ_where_time_or_identity_does(made: list[tuple[int, bytes]]) -> None:
    (now, identity), (later, other) = sorted(made)
    one, two = new_id(context(now), identity), new_id(context(later), other)
    if now // 1000 != later // 1000:
        assert one < two
    elif identity != other:
        assert one != two
    assert new_id(context(now), identity) == one
    assert new_id(context(now, b"another seed"), identity) != one


# --- taking in -------------------------------------------------------------------------------------------------------


def test_yes_said_twice_is_two_memories_and_the_same_transcript_again_adds_nothing(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["yes", "no", "yes"])}) as actor_system:
        assert counts(actor_system.take("a")) == (3, 0, 0)
        assert counts(actor_system.take("a")) == (0, 3, 0)
        assert actor_system.texts() == [b"yes", b"no", b"yes"]


def test_a_transcript_that_grew_adds_only_what_is_new(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["yes", "no"])}) as actor_system:
        actor_system.take("a")
        actor_system.sources["a"] = turns(["yes", "no", "yes", "maybe"])
        assert counts(actor_system.take("a")) == (2, 2, 0)
        assert actor_system.texts() == [b"yes", b"no", b"yes", b"maybe"]


def test_the_same_words_of_user_and_assistant_are_two_memories(tmp_path: Path) -> None:
    sources = {"a": turns(["yes"]) + turns(["yes"], role="assistant")}
    with ActorHarness(tmp_path, sources=sources) as actor_system:
        assert counts(actor_system.take("a")) == (2, 0, 0)


def test_a_known_id_with_another_text_is_counted_as_differing_and_the_first_text_stands(tmp_path: Path) -> None:
    with ActorHarness(
        tmp_path, sources={"a": turns(["first"], host_id="1"), "b": turns(["second"], host_id="1")}
    ) as actor_system:
        actor_system.take("a")
        assert counts(actor_system.take("b")) == (0, 1, 1)
        assert actor_system.texts() == [b"first"]


def test_a_text_that_differs_only_in_the_white_space_around_it_is_known_and_not_differing(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["yes\n"]), "b": turns(["yes"])}) as actor_system:
        actor_system.take("a")
        assert counts(actor_system.take("b")) == (0, 1, 0)
        assert actor_system.texts() == [b"yes\n"]


@settings(max_examples=8)
@given(
    said=st.lists(st.tuples(st.sampled_from(["yes", "no", " yes"]), st.sampled_from(["a", "b"])), max_size=20),
    batch=st.sampled_from([1, 7, 256]),
    again=st.sampled_from([1, 7, 256]),
)
def test_how_a_transcript_is_cut_into_parts_never_changes_what_is_kept(
    said: list[tuple[str, str]], batch: int, again: int
) -> None:
    items: list[SourceItem] = []
    for number, (text, session) in enumerate(said):
        items += turns([text], session)
        items += [UnknownFields(("mood",))] * (number % 3 == 2)
        if number % 5 == 4:
            items.append(MalformedLine(line=number, why="torn"))
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        kept = []
        for home, size in ((one, batch), (other, 256)):
            with ActorHarness(Path(home), sources={"a": items}, batch_events=size) as actor_system:
                parts = actor_system.take("a")
                assert counts(parts) == (len(said), 0, 0)
                assert sum(len(part.malformed) for part in parts) == len(said) // 5
                told = [count for part in parts for _, count in part.unknown_fields]
                assert sum(told) == len(said) // 3
                kept.append(actor_system.texts())
        assert kept[0] == kept[1] == [to_bytes(text) for text, _ in said]
        with ActorHarness(Path(one), sources={"a": items}, batch_events=again) as actor_system:
            assert counts(actor_system.take("a")) == (0, len(said), 0)


def test_two_minds_of_one_key_seed_and_clock_give_the_same_ids_for_the_same_log(tmp_path: Path) -> None:
    homes = [tmp_path / "one", tmp_path / "two"]
    with ActorHarness(homes[0]):
        pass
    shutil.copytree(homes[0] / "minds", homes[1] / "minds")
    ids = []
    for home in homes:
        with ActorHarness(
            home, clock=ManualClock(START_US), sources={"a": turns(["yes", "no", "yes"])}
        ) as actor_system:
            actor_system.take("a")
            actor_system.keep("a note")
            ids.append(actor_system.look(lambda snapshot: [one.id for one in snapshot.load_memories([1, 2, 3, 4])]))
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 4


def test_names_with_lone_surrogates_are_kept_written_out_and_the_text_as_it_was(tmp_path: Path) -> None:
    lone = "\udc80x"
    odd = event(
        session=lone,
        assistant=lone,
        speaker=lone,
        source_id=lone,
        branch=lone,
        tool=lone,
        files=(lone,),
        cwd=f"/nowhere/{lone}",
        text=to_bytes(f"{lone} said"),
    )
    with ActorHarness(tmp_path, sources={"a": [odd]}) as actor_system:
        assert counts(actor_system.take("a")) == (1, 0, 0)
        assert counts(actor_system.take("a")) == (0, 1, 0)
        (memory,) = actor_system.look(lambda snapshot: snapshot.load_memories([1]))
        assert memory.data == to_bytes(f"{lone} said")
        names = (memory.session, memory.assistant, memory.speaker, memory.source_id, memory.branch, memory.tool)
        assert set(names) == {"\\udc80x"}
        assert [hit.id for hit in actor_system.recall("said", session=lone).hits] == [memory.id]


def test_a_line_whose_own_scope_is_no_path_is_malformed_and_the_rest_is_kept(tmp_path: Path) -> None:
    items = [*turns(["one"], scope="a/b"), *turns(["two"], scope="a//b"), *turns(["three"], scope="*")]
    with ActorHarness(tmp_path, sources={"a": items}) as actor_system:
        (part,) = actor_system.take("a")
        assert [line for line, _ in part.malformed] == [2, 3]
        assert all(why.startswith("item not kept: a scope cannot be ") for _, why in part.malformed)
        assert part.scopes == ("a/b",)
        with pytest.raises(InvalidValue):
            actor_system.take("a", scope="a//b")


def test_the_scope_that_is_named_wins_over_that_of_the_lines(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["one"], scope="a/b")}) as actor_system:
        assert actor_system.take("a", scope="c/d")[0].scopes == ("c/d",)


@pytest.mark.parametrize("blank", ["", " \r\n\t", "\u00a0\u3000\u2028"])
@pytest.mark.parametrize("kind", ["turn", "note", "thinking", "tool_result"])
def test_a_blank_text_is_no_memory_and_what_stands_beside_it_is(tmp_path: Path, blank: str, kind: str) -> None:
    items = turns([blank, "yes", blank], kind=kind)
    with ActorHarness(tmp_path, sources={"a": items}, batch_events=1) as actor_system:
        parts = actor_system.take("a")
        assert (counts(parts), sum(part.taken for part in parts[-1:]), parts[-1].malformed) == ((1, 0, 0), 3, ())
        assert actor_system.texts() == [b"yes"]


@pytest.mark.parametrize("told", [{"tool": "Bash"}, {"outcome": "failed"}, {"files": ("a.py",)}])
def test_a_blank_text_that_comes_with_something_else_is_kept(tmp_path: Path, told: dict[str, Any]) -> None:
    with ActorHarness(tmp_path, sources={"a": turns([""], kind="tool_result", role="tool", **told)}) as actor_system:
        assert actor_system.take("a")[0].new == 1
        assert actor_system.texts() == [b""]


def test_an_empty_transcript_is_done_at_once(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": []}) as actor_system:
        (part,) = actor_system.take("a")
        assert (part.taken, part.new, part.done) == (0, 0, True)


def test_a_part_that_ends_with_the_source_is_followed_by_an_empty_one(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["yes"] * 4)}, batch_events=2) as actor_system:
        parts = actor_system.take("a")
        assert [part.new for part in parts] == [2, 2, 0]
        assert [part.done for part in parts] == [False, False, True]
        assert actor_system.opened[0].closed


def test_what_a_text_cannot_be_is_refused_and_no_actor_fails(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        for wrong in ({"kind": "bogus"}, {"role": "bogus"}, {"said_at": 10**30}, {"speaker": 5}):
            with pytest.raises(InvalidValue):
                actor_system.keep("a word", **wrong)  # type: ignore[arg-type]
        assert all(actor.failures == 0 for actor in actor_system.supervisor.report().actors)


def test_equal_texts_that_say_when_they_were_said_are_told_apart_across_files(tmp_path: Path) -> None:
    noon, later = turns(["yes"], disambiguator="2026-10-01T12:00"), turns(["yes"], disambiguator="2026-10-02T12:00")
    with ActorHarness(tmp_path, sources={"a": noon, "b": later}) as actor_system:
        assert [actor_system.take("a")[0].new, actor_system.take("b")[0].new, actor_system.take("b")[0].new] == [
            1,
            1,
            0,
        ]


def test_who_says_again_what_was_replaced_is_told_by_what(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        first = actor_system.keep("the port is 8080")
        second = actor_system.keep("the port is 9090", supersedes=first.id)
        again = actor_system.keep("the port is 8080")
        assert (again.id, again.created, again.superseded_by) == (first.id, False, second.id)


def test_what_was_forgotten_is_not_brought_back_by_capturing_it_again_and_is_said_to_be_so(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["yes", "no", "maybe"])}) as actor_system:
        assert actor_system.take("a")[0].retired == 0
        told = actor_system.keep("the port is 8080")
        (no,) = actor_system.look(lambda snapshot: snapshot.load_memories([2]))
        actor_system.ask(Forget(ids=(no.id, told.id)))
        at = actor_system.clock.now_us()
        (again,) = actor_system.take("a")
        assert (again.new, again.known, again.retired) == (0, 3, 1)
        kept = actor_system.keep("the port is 8080")
        assert (kept.id, kept.created, kept.retired_at) == (told.id, False, at)
        assert actor_system.recall("port", signals=("lexical",)).hits == ()


# --- interruptions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fails_at", [0, 1, 3])
def test_a_capture_that_dies_in_the_middle_loses_and_doubles_nothing(tmp_path: Path, fails_at: int) -> None:
    items = turns(["yes", "no"] * 5)
    with ActorHarness(tmp_path, sources={"a": items}, batch_events=3) as actor_system:
        skip = 0
        for _ in range(fails_at):
            skip = actor_system.take_part("a", skip).taken
        honest = actor_system.open_source

        def broken(path: str, format: str) -> Any:
            raise RuntimeError("no")

        actor_system.open_source = broken
        with pytest.raises(ActorFailed):
            actor_system.take_part("another")  # the instance goes, and with it what it had half read
        actor_system.open_source = honest
        while not (part := actor_system.take_part("a", skip)).done:
            skip = part.taken
        assert actor_system.texts() == [one.text for one in items]
        assert counts(actor_system.take("a")) == (0, 10, 0)
        assert all(source.closed for source in actor_system.opened)


def test_a_part_that_is_sent_again_because_its_answer_was_lost_adds_nothing(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["yes"] * 6)}, batch_events=2) as actor_system:
        first = actor_system.take_part("a")
        assert counts([actor_system.take_part("a")]) == (0, 2, 0)
        assert actor_system.take_part("a", first.taken).new == 2
        assert actor_system.texts() == [b"yes"] * 4


def test_two_who_take_the_same_transcript_by_turns_keep_it_once(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["yes"] * 5)}, batch_events=2) as actor_system:
        mine = theirs = 0
        for _ in range(3):
            mine = actor_system.take_part("a", mine).taken
            theirs = actor_system.take_part("a", theirs).taken
        assert (mine, theirs) == (5, 5)
        assert actor_system.texts() == [b"yes"] * 5


def test_a_pipe_that_broke_off_is_not_read_on_from_the_wrong_place(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"-": turns(["yes"] * 5)}, batch_events=2) as actor_system:
        actor_system.open_source = lambda path, format: ListSource(actor_system.sources[path], size_bytes=None)
        first = actor_system.take_part("-")
        with pytest.raises(SourceUnreadable, match="cannot be read again"):
            actor_system.take_part("-", first.taken + 1)
        assert len(actor_system.take("-")) == 3


def test_a_source_that_cannot_be_read_to_its_end_is_closed_and_what_was_kept_stays(tmp_path: Path) -> None:
    class Torn(ListSource):
        def __iter__(self) -> Any:
            yield from turns(["one", "two", "three"])
            raise SourceUnreadable(path="a", why="it went")

    torn = Torn([])
    with ActorHarness(tmp_path, batch_events=2) as actor_system:
        actor_system.open_source = lambda path, format: torn
        first = actor_system.take_part("a")
        with pytest.raises(SourceUnreadable):
            actor_system.take_part("a", first.taken)
        assert torn.closed
        assert actor_system.texts() == [b"one", b"two"]
        assert not any(actor.failures for actor in actor_system.supervisor.report().actors)


def test_where_the_store_refuses_the_part_is_not_counted_as_taken() -> None:
    source = ListSource(turns(["one"]))
    actor = transcribing(lambda: source)

    def refuse(message: Any, timeout_s: float) -> Any:
        raise NoSuchMemory(id="x")

    with pytest.raises(NoSuchMemory):
        actor.capture_part(CaptureTranscript(path="a", format="auto", scope=None, skip=0), context(0, ask=refuse))
    assert source.closed


def test_what_is_asked_of_the_store_is_the_same_however_often_it_is_asked() -> None:
    asked: list[Apply] = []

    def keep(message: Any, timeout_s: float) -> Applied:
        asked.append(message)
        added = (one for one in message.changes if isinstance(one, AddMemory))
        kept = [AddOutcome(id=one.id, created=True, same_text=True, scope="") for one in added]
        return Applied(seq=1, kept=tuple(kept))

    for _ in range(2):
        actor = transcribing(lambda: ListSource(turns(["a", "b"])))
        actor.capture_part(CaptureTranscript(path="a", format="auto", scope=None, skip=0), context(START_US, ask=keep))
    assert asked[0] == asked[1]
    assert [type(change) for change in asked[0].changes] == [AddMemory, AddMemory, CountOccurrences]


# --- single texts ----------------------------------------------------------------------------------------------------


def test_a_text_is_kept_with_the_time_of_the_message_and_again_it_is_known(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        first = actor_system.keep("the tide table is in the drawer", place=ScopeRef("home", None, "named"))
        assert (first.created, first.scope) == (True, "home")
        again = actor_system.keep("the tide table is in the drawer", place=ScopeRef("home", None, "named"))
        assert (again.created, again.id) == (False, first.id)
        (memory,) = actor_system.look(lambda snapshot: snapshot.load_memories([1]))
        assert memory.said_at == memory.recorded_at == START_US + 1_000_000


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_text_without_words_is_refused(tmp_path: Path, text: str) -> None:
    with ActorHarness(tmp_path) as actor_system, pytest.raises(InvalidValue):
        actor_system.keep(text)


def test_what_would_replace_a_memory_that_is_not_there_is_refused_and_not_kept(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        with pytest.raises(NoSuchMemory) as caught:
            actor_system.keep("ten minutes", supersedes=bytes(16))
        assert caught.value.operands == {"id": str(uuid.UUID(int=0))}
        assert actor_system.texts() == []


def test_a_correction_said_twice_is_kept_once(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        old = actor_system.keep("twenty minutes")
        new = actor_system.keep("ten minutes", supersedes=old.id)
        again = actor_system.keep("ten minutes", supersedes=old.id)
        assert (new.created, again.created, again.id) == (True, False, new.id)
        assert actor_system.texts() == [b"twenty minutes", b"ten minutes"]


def test_whoever_goes_back_to_an_earlier_word_says_something_new(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        first = actor_system.keep("ten minutes")
        second = actor_system.keep("twenty minutes", supersedes=first.id)
        third = actor_system.keep("ten minutes", supersedes=second.id)
        assert third.created
        memories = actor_system.look(lambda snapshot: snapshot.load_memories([1, 2, 3]))
        assert [one.superseded_by for one in memories] == [second.id, third.id, None]
