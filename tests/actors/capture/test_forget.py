"""Forgetting hides all that is named or nothing, once, says what it was, and is taken back whole."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.forget import REASON_BYTES
from mnemic.actors.capture.forget_messages import Forget, Forgotten, Recover
from mnemic.actors.kernel.errors import InvalidValue, NoSuchMemory
from mnemic.actors.recall.messages import GetMemories
from mnemic.runtime.store.schema import connect
from tests.harness import ActorHarness


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as actor_system:
        yield actor_system


def log_of(actor_system: ActorHarness) -> list[tuple[str, str, bytes]]:
    """Who asked for each change, in which run, and the change; what is embedded meanwhile is left out."""
    db = connect(actor_system.folder.store, actor_system.keys)
    try:
        return db.execute(
            "SELECT a.author, a.run, l.change FROM log l JOIN applies a ON a.seq = l.seq WHERE a.author = 'capture'"
            " ORDER BY l.seq"
        ).fetchall()
    finally:
        db.close()


def test_what_is_forgotten_is_described_and_said_to_be_so_once(actor_system: ActorHarness) -> None:
    long = "the otter sleeps. " * 40 + "\ud83d"
    first, second = actor_system.keep("a heron", speaker="Ada"), actor_system.keep(long, kind="note")
    actor_system.clock.advance(1)
    answer = actor_system.ask(Forget(ids=(second.id, first.id, second.id), reason="both were\ud800 wrong"))
    assert isinstance(answer, Forgotten)
    otter, heron = answer.memories
    assert (otter.id, otter.changed, otter.kind, otter.reason) == (second.id, True, "note", "both were\\ud800 wrong")
    assert (heron.id, heron.data, heron.size_bytes, heron.speaker) == (first.id, b"a heron", 7, "Ada")
    assert heron.retired_at == otter.retired_at == actor_system.clock.now_us()
    assert long.encode("utf-8", "surrogatepass").startswith(otter.data)
    assert len(otter.data) <= 200 < otter.size_bytes
    actor_system.clock.advance(1)
    (again,) = actor_system.ask(Forget(ids=(first.id,), reason="another")).memories
    assert (again.changed, again.retired_at, again.reason) == (False, heron.retired_at, heron.reason)


def test_a_request_that_is_sent_again_by_its_key_gives_the_first_answer(actor_system: ActorHarness) -> None:
    kept = actor_system.keep("a heron")
    first = actor_system.ask(Forget(ids=(kept.id,), reason="r"), trace="one")
    logged = log_of(actor_system)
    assert actor_system.ask(Forget(ids=(kept.id,), reason="r"), trace="one") == first
    assert first.memories[0].changed
    assert log_of(actor_system) == logged
    assert logged[-1][:2] == ("capture", "one"), "who asked for it, and in which run"
    other = actor_system.keep("an otter")
    (another,) = actor_system.ask(Forget(ids=(other.id,)), trace="one").memories
    assert (another.id, another.changed) == (other.id, True), "what is asked for is part of the key"


def test_one_unknown_id_and_nothing_is_changed(actor_system: ActorHarness) -> None:
    kept, gone = actor_system.keep("a heron"), actor_system.keep("an otter")
    actor_system.ask(Forget(ids=(gone.id,)))
    before = log_of(actor_system)
    for message in (Forget(ids=(kept.id, bytes(16))), Recover(ids=(gone.id, bytes(16)))):
        with pytest.raises(NoSuchMemory) as caught:
            actor_system.ask(message)
        assert caught.value.operands == {"id": str(uuid.UUID(int=0))}
    found = actor_system.ask(GetMemories(ids=(kept.id, gone.id))).memories
    assert [memory.retired_at is None for memory in found] == [True, False]
    assert log_of(actor_system) == before


@pytest.mark.parametrize("message", [Forget(ids=()), Recover(ids=())])
def test_to_name_nothing_is_refused(actor_system: ActorHarness, message: Forget | Recover) -> None:
    with pytest.raises(InvalidValue, match="no memory is named"):
        actor_system.ask(message)


def test_a_reason_has_an_end(actor_system: ActorHarness) -> None:
    kept = actor_system.keep("a heron")
    with pytest.raises(InvalidValue, match="too long"):
        actor_system.ask(Forget(ids=(kept.id,), reason="é" * (REASON_BYTES // 2 + 1)))
    actor_system.ask(Forget(ids=(kept.id,), reason="é" * (REASON_BYTES // 2)))


@settings(max_examples=8)
@given(named=st.lists(st.integers(0, 3), min_size=1, max_size=5), before=st.sets(st.integers(0, 3)))
def test_to_forget_and_to_recover_is_nothing_but_what_was_forgotten_before_is_found_again(
    named: list[int], before: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder, ActorHarness(Path(folder)) as actor_system:
        ids = [actor_system.keep(f"the tide, part {number}").id for number in range(4)]
        if before:
            actor_system.ask(Forget(ids=tuple(ids[number] for number in before), reason="before"))
        then = actor_system.ask(GetMemories(ids=tuple(ids))).memories
        chosen = tuple(ids[number] for number in named)
        forgotten = actor_system.ask(Forget(ids=chosen)).memories
        assert [one.id for one in forgotten] == list(dict.fromkeys(chosen))
        assert [one.changed for one in forgotten] == [ids.index(one.id) not in before for one in forgotten]
        hidden = before | set(named)
        assert {hit.id for hit in actor_system.recall("tide").hits} == {ids[n] for n in range(4) if n not in hidden}
        assert all(one.changed and one.retired_at is None for one in actor_system.ask(Recover(ids=chosen)).memories)
        after = actor_system.ask(GetMemories(ids=tuple(ids))).memories
        for number in range(4):
            assert (after[number] == then[number]) == (number not in before & set(named))
        assert {hit.id for hit in actor_system.recall("tide").hits} == {
            ids[n] for n in range(4) if n not in before - set(named)
        }
