"""What is committed gets its hypervector, the same bits whatever happened on the way, and nobody waits for it."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.actors.capture.forget_messages import Forget, Recover
from mnemic.actors.kernel.background import MindOpened, WorkOn
from mnemic.actors.kernel.errors import InvalidValue, MnemicError, ModelMissing, StoreBusy
from mnemic.actors.kernel.events import Event
from mnemic.actors.kernel.ports import Window
from mnemic.actors.meaning.messages import DescribeEncoder
from mnemic.actors.shape.binder import BinderActor
from mnemic.actors.shape.features import EXTRACTION_VERSION, extract_records
from mnemic.actors.shape.messages import BindPending, BindProgress, RetryBinding
from mnemic.actors.store.messages import Apply, Committed, Counts, Rebuild
from mnemic.algorithms.knowledge.triples import Triple
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.roles import ROLES
from mnemic.hd.space import Space
from mnemic.runtime.engine.plugins import BUILT_IN_ACTORS
from mnemic.runtime.minds.homes import fork_mind, open_mind
from mnemic.runtime.store.store import Store
from tests.harness import ActorHarness, BagEncoder, turns
from tests.runtime.building import child
from tests.shaped import bind
from tests.waiting import BOUND_S, until

SEED = bytes(range(32))
SMALL = {"binder.dimensions": 1024}
"""Of the tests in which bits are compared: as good as long ones for that."""


class OtherEncoder(BagEncoder):
    """Another model: the same texts have other vectors."""

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        return np.ascontiguousarray(super().encode(windows)[:, ::-1])


def actor_system(home: Path, **more: Any) -> ActorHarness:
    given: dict[str, Any] = {"encoder": BagEncoder(batch=8), "ports": {"seed": SEED}, **SMALL}
    return ActorHarness(home, **(given | more))


def talk(count: int, session: str = "s") -> list[Event]:
    """Turns of two people, and calls with their results between them."""
    found: list[Event] = []
    for number in range(count):
        text = f"word{number} and word{number % 5} of the harbour wall"
        at = 1_700_000_000_000_000 + number * 60_000_000
        if number % 3 == 0:
            found += turns([text], session, said_at=at, speaker=("Ann", "Bob")[number % 2], scope="work/shelf")
        else:
            kind = ("tool_call", "tool_result")[number % 3 - 1]
            call: dict[str, Any] = {"kind": kind, "tool": "Bash", "role": "tool", "files": ("tests/test_auth.py",)}
            outcome = ("ok", "failed")[number % 2] if kind == "tool_result" else None
            found += turns([text], session, said_at=at, outcome=outcome, scope="work/shelf", **call)
    return found


def settled(actor_system: ActorHarness) -> BindProgress:
    actor_system.embed()
    return bind(actor_system)


Codes = dict[tuple[str, bytes], list[tuple[int, bytes]]]


def bound(actor_system: ActorHarness) -> Codes:
    """The hypervectors of each memory by tier, with how many pairs are in each."""

    def read(now: Any) -> Codes:
        found: Codes = {}
        for tier in ("episode", "fact", "step"):
            block = now.codes(tier, 0)
            ids = now.ids_of(block.row.tolist())
            for memory, pairs, code in zip(ids, block.pairs.tolist(), block.codes, strict=True):
                found.setdefault((tier, memory), []).append((pairs, code.tobytes()))
        return found

    found: Codes = actor_system.look(read)
    return found


def texts_bound(actor_system: ActorHarness, tier: str = "episode") -> dict[bytes, list[tuple[int, bytes]]]:
    """The same by text: ids are drawn anew for each home."""
    by_id = {id: codes for (one, id), codes in bound(actor_system).items() if one == tier}
    return actor_system.look(
        lambda now: {
            record.data: by_id[record.id]
            for record in now.load_memories(now.rows_of(list(by_id)))
            if record.id in by_id
        }
    )


def counts(actor_system: ActorHarness) -> tuple[int, int]:
    found: Counts = actor_system.look(lambda now: now.counts(None))
    return found.bound, found.unbound


def missing() -> Any:
    """What loading a model that is not there does."""
    raise ModelMissing(path="/nowhere", why="it is gone")


def idle(actor_system: ActorHarness) -> None:
    """Wait until no actor has anything to do."""
    actor_system.supervisor.tell(Committed(seq=0))
    for _ in range(3):  # whatever the first finds in the mailboxes has told its last by then
        actor_system.embed()
        bind(actor_system)


# --- what is bound ---------------------------------------------------------------------------------------------------


def test_what_was_captured_is_bound_in_the_background_once_it_is_embedded(tmp_path: Path) -> None:
    with actor_system(tmp_path, sources={"a": talk(40)}) as one:
        one.take("a")
        idle(one)
        assert counts(one) == (40, 0)
        space = one.look(lambda now: now.space())
        assert (space.dimensions, space.model, space.embedding) == (1024, one.encoder.model, one.encoder.dimensions)
        assert space.roles == tuple(name for name in ROLES if name != "workspace"), "it is left out by default"
        tiers = {tier for tier, _ in bound(one)}
        assert {"episode", "step"} <= tiers
        assert one.look(lambda now: {found.name: found.memories for found in now.fillers("who")})["ann"] > 0


def test_a_bound_memory_is_alike_what_it_says_and_unlike_what_it_does_not(tmp_path: Path) -> None:
    with actor_system(tmp_path, sources={"a": talk(9)}, **{"binder.dimensions": 10_240}) as one:
        one.take("a")
        settled(one)
        space = one.look(lambda now: now.space())
        encoders = RecordEncoder(
            Space(seed=SEED, roles=space.roles, model=space.model, embedding_dimensions=space.embedding)
        )
        for text, ((pairs, code),) in texts_bound(one).items():
            said = encoders.encode_fillers("kind", ["turn", "tool_call", "tool_result"]) ^ encoders.role_vector("kind")
            agree = 1 - np.bitwise_count(said ^ np.frombuffer(code, np.uint64)).sum(axis=1) / 10_240
            number = int(text.split()[0].removeprefix(b"word"))
            assert int(agree.argmax()) == number % 3, pairs
            assert sorted(agree)[1] < 0.53 < agree.max()


def test_nothing_is_bound_where_nothing_is_kept_and_an_empty_text_is_bound_like_any(tmp_path: Path) -> None:
    with actor_system(tmp_path) as one:
        assert one.ask(BindPending()) == BindProgress(done=0, pending=0)
        assert one.look(lambda now: now.space()) is None
        one.keep("\u00a0.")
        assert settled(one) == BindProgress(done=1, pending=0)
    with actor_system(tmp_path) as again:
        assert bind(again) == BindProgress(done=1, pending=0)


def test_what_is_not_embedded_yet_waits_and_is_not_counted_as_what_can_be_bound(tmp_path: Path) -> None:
    with actor_system(tmp_path, sources={"a": turns([f"text {n}" for n in range(100)])}) as one:
        one.take_quietly("a")
        one.embed()
        bind(one)
        one.encoder.chokes_on = lambda text: RuntimeError("not now")
        kept = one.keep("one more")
        answer = one.ask(BindPending())
        assert kept.id not in {id for _, id in bound(one)}
        assert answer.pending == 0


def test_a_text_that_the_model_fails_on_is_bound_without_its_meaning(tmp_path: Path) -> None:
    with actor_system(tmp_path) as one:
        one.encoder.chokes_on = lambda text: ValueError("no") if "poison" in text else None
        one.keep("poison")
        one.keep("a drink", session="another")
        settled(one)
        pairs = {text: codes[0][0] for text, codes in texts_bound(one).items()}
        assert pairs.keys() == {b"poison", b"a drink"}
        assert not one.look(lambda now: now.bound_counts(None, False)[1])


# --- the same bits ---------------------------------------------------------------------------------------------------


def test_rebuilding_forking_and_binding_again_give_the_same_bits(tmp_path: Path) -> None:
    with actor_system(tmp_path / "one", sources={"a": talk(30)}) as one:
        one.take("a")
        settled(one)
        before = bound(one)
        assert len(before) >= 30
        for meaning in (False, True):
            one.ask(Rebuild(meaning=meaning))
            assert settled(one) == BindProgress(done=30, pending=0)
            assert bound(one) == before
    folder, keys = open_mind(tmp_path / "one", "default")
    store = Store.open(folder.store, keys)
    fork_mind(store, folder, keys, tmp_path / "two", "default", None)
    store.close()
    with actor_system(tmp_path / "two") as two:
        assert bound(two) == before, "a copy needs nothing bound again"
        two.ask(Rebuild())
        settled(two)
        assert bound(two) == before


@settings(max_examples=3)
@given(st.permutations(range(6)), st.sets(st.integers(0, 17), max_size=4))
def test_in_whatever_order_sessions_come_and_whatever_is_forgotten_meanwhile_the_bits_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, order: Sequence[int], forgotten: set[int]
) -> None:
    parts = {str(n): talk(18, f"s{n % 2}")[3 * n : 3 * n + 3] for n in range(6)}
    homes = []
    for numbers in (range(6), order):
        with actor_system(tmp_path_factory.mktemp("home"), sources=parts) as one:
            for number in numbers:
                one.take(str(number))
                ids = one.look(lambda now: now.ids_of(now.memory_columns(0).row.tolist()))
                chosen = tuple(ids[place] for place in sorted(forgotten) if place < len(ids))
                if chosen and numbers is order:
                    one.ask(Forget(ids=chosen))
                    bind(one)
                    one.ask(Recover(ids=chosen))
            settled(one)
            homes.append([texts_bound(one, tier) for tier in ("episode", "fact", "step")])
    assert len(homes[0][0]) == 18
    assert homes[0] == homes[1]


def test_without_a_model_all_is_bound_without_its_meaning_and_again_once_there_is_one(tmp_path: Path) -> None:
    with actor_system(tmp_path / "with", sources={"a": talk(12)}) as one:
        one.take("a")
        settled(one)
        expected = texts_bound(one)

    with actor_system(tmp_path / "without", sources={"a": talk(12)}) as two:
        load, two.load = two.load, missing
        two.take("a")
        assert bind(two) == BindProgress(done=12, pending=0)
        bare = texts_bound(two)
        assert bare.keys() == expected.keys()
        assert all(bare[text][0][0] < expected[text][0][0] for text in bare), "fewer pairs: no meaning"
        two.load = load
        two.supervisor.tell(Committed(seq=0))
        settled(two)
        assert texts_bound(two) == expected
        assert two.look(lambda now: now.space().model) == two.encoder.model


def test_a_model_that_goes_takes_no_meaning_from_what_was_bound_with_it(tmp_path: Path) -> None:
    with actor_system(tmp_path, sources={"a": talk(12), "b": talk(15)}) as one:
        one.take("a")
        settled(one)
        space, before = one.look(lambda now: now.space()), texts_bound(one)

    with actor_system(tmp_path, sources={"b": talk(15)}) as again:
        load, again.load = again.load, missing
        again.take("b")
        assert bind(again) == BindProgress(done=15, pending=0)
        assert again.look(lambda now: now.space()) == space
        after = texts_bound(again)
        kept = [text for text in before if after[text][0] == before[text][0]]
        assert len(kept) >= 3, "what stands far from the new ones is as it was"
        changed = [text for text in before if text not in kept]
        assert all(after[text][0][0] >= before[text][0][0] for text in changed if b"word9" not in text)
        again.load = load
        again.supervisor.tell(Committed(seq=0))
        settled(again)
        whole = texts_bound(again)
    with actor_system(tmp_path.with_name("whole"), sources={"b": talk(15)}) as fresh:
        fresh.take("b")
        settled(fresh)
        assert texts_bound(fresh) == whole


@pytest.mark.parametrize("knew_the_old_one", [False, True])
def test_another_model_has_everything_bound_anew_with_its_meaning(tmp_path: Path, knew_the_old_one: bool) -> None:
    with actor_system(tmp_path / "one", sources={"a": talk(12)}) as one:
        one.take("a")
        settled(one)
        before = texts_bound(one)
    longer = {"b": talk(15)}
    with actor_system(tmp_path / "one", encoder=OtherEncoder("other", batch=8), sources=longer) as other:
        load = other.load
        other.load = missing if knew_the_old_one else load
        other.take("b")
        if knew_the_old_one:  # it binds with the old model's vectors before the new one can be loaded
            assert bind(other) == BindProgress(done=15, pending=0)
            other.load = load
            other.supervisor.tell(Committed(seq=0))
        assert settled(other) == BindProgress(done=15, pending=0)
        assert other.look(lambda now: now.space().model) == other.encoder.model
        after = texts_bound(other)
    assert all(after[text] != before[text] for text in before)
    with actor_system(tmp_path / "fresh", encoder=OtherEncoder("other", batch=8), sources=longer) as fresh:
        fresh.take("b")
        settled(fresh)
        assert after == texts_bound(fresh)


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ({"binder.dimensions": 512}, lambda space: space.dimensions == 512),
        ({"binder.leave_out": ("date", "about")}, lambda space: not {"date", "about"} & set(space.roles)),
        ({"binder.topics": 1}, lambda space: space.reading.split(" ")[1] == "1"),
    ],
)
def test_other_settings_have_everything_bound_anew_and_back_again(
    tmp_path: Path, changed: dict[str, Any], differs: Callable[[Any], bool]
) -> None:
    with actor_system(tmp_path, sources={"a": talk(12)}) as one:
        one.take("a")
        settled(one)
        before = bound(one)
        assert not differs(one.look(lambda now: now.space()))
    with actor_system(tmp_path, **changed) as other:
        assert settled(other) == BindProgress(done=12, pending=0)
        assert differs(other.look(lambda now: now.space()))
        assert bound(other) != before or "binder.topics" in changed
    with actor_system(tmp_path) as back:
        settled(back)
        assert bound(back) == before


def test_records_that_are_read_otherwise_by_a_newer_version_have_everything_bound_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with actor_system(tmp_path, sources={"a": talk(6)}) as one:
        one.take("a")
        settled(one)
        before, reading = one.look(lambda now: (now.seq, now.space().reading))
    with actor_system(tmp_path) as same:
        settled(same)
        assert same.look(lambda now: now.seq) == before
    monkeypatch.setattr("mnemic.actors.shape.bind.EXTRACTION_VERSION", EXTRACTION_VERSION + 1)
    monkeypatch.setattr("mnemic.actors.shape.bind.extract_records", lambda *given: extract_records(*given)[:1])
    with actor_system(tmp_path) as newer:
        assert settled(newer) == BindProgress(done=6, pending=0)
        assert newer.look(lambda now: now.space().reading) != reading
        assert {tier for tier, _ in bound(newer)} == {"episode"}


def test_two_who_bind_otherwise_do_not_undo_each_other_for_ever(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with actor_system(tmp_path, sources={"a": talk(6)}) as one:
        one.take("a")
        settled(one)
        with actor_system(tmp_path, **{"binder.dimensions": 512}) as other:
            for _ in range(5):
                bind(one)
                bind(other)
            assert settled(other).pending == 0
            seq = one.look(lambda now: now.seq)
            for _ in range(5):
                bind(one)
                bind(other)
            assert one.look(lambda now: now.seq) == seq
    assert "this one leaves it to that" in caplog.text


# --- killed ----------------------------------------------------------------------------------------------------------


def bind_and_die(home: str, steps: str) -> None:
    """In a process: bind, and be killed as soon as the store has carried out so many of its changes."""
    with actor_system(Path(home)) as one:
        left = int(steps)
        carried = one.supervisor._router.send

        def send(message: Any, timeout_s: float, **more: Any) -> Any:
            nonlocal left
            reply = carried(message, timeout_s, **more)
            if isinstance(message, Apply) and message.author == "binder":
                reply.get()
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
            return reply

        one.supervisor._router.send = send  # type: ignore[method-assign]
        settled(one)


@pytest.mark.parametrize("steps", [2, *(pytest.param(steps, marks=pytest.mark.system) for steps in (1, 3))])
def test_killed_at_any_step_it_goes_on_where_it_was_and_the_bits_are_the_same(tmp_path: Path, steps: int) -> None:
    with actor_system(tmp_path / "whole", sources={"a": talk(80)}) as one:
        one.take("a")
        settled(one)
        expected = texts_bound(one)
    with actor_system(tmp_path / "killed", sources={"a": talk(80)}) as two:
        two.load = missing
        two.take("a")
    process = child("actors.shape.test_binder:bind_and_die", tmp_path / "killed", steps)
    process.communicate(timeout=BOUND_S)
    assert process.returncode == -signal.SIGKILL
    with actor_system(tmp_path / "killed") as after:
        assert settled(after) == BindProgress(done=80, pending=0)
        assert texts_bound(after) == expected


# --- what goes wrong -------------------------------------------------------------------------------------------------


def test_an_extractor_that_fails_on_a_text_costs_its_facts_alone_and_the_log_does_not_quote_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def extract(text: str, speaker: str | None) -> list[Triple]:
        if "poison" in text:
            raise RuntimeError(text)
        return [Triple("the wall", "is", "high")]

    with actor_system(tmp_path, ports={"seed": SEED, "extract": extract}) as one:
        one.keep("the poison is in the blue tin", session="a")
        one.keep("a drink", session="b")
        assert settled(one) == BindProgress(done=2, pending=0)
        assert {tier: len(texts_bound(one, tier)) for tier in ("episode", "fact")} == {"episode": 2, "fact": 1}
        assert one.look(lambda now: [found[1:] for found in now.fillers("object")]) == [("high", 1)]
        assert counts(one) == (2, 0)
    line = extract.__code__.co_firstlineno + 2
    told = f"is bound without facts: finding them failed (RuntimeError at extract (test_binder.py:{line}))"
    assert caplog.text.count(told) == 1
    assert "blue tin" not in caplog.text


def test_what_an_extractor_failed_on_is_counted_and_gets_its_facts_once_that_is_mended_and_it_is_asked_for(
    tmp_path: Path,
) -> None:
    is_broken = True

    def extract(text: str, speaker: str | None) -> list[Triple]:
        if is_broken and "lamp" not in text:
            raise RuntimeError(text)
        return [Triple("the wall", "is", text)]

    def unread(one: ActorHarness) -> int:
        found: Counts = one.look(lambda now: now.counts(None))
        return found.unread

    with actor_system(tmp_path, ports={"seed": SEED, "extract": extract}) as one:
        for text in ("a high wall", "a lamp", "a low wall"):
            one.keep(text, session=text)
        settled(one)
        assert (counts(one), unread(one)) == ((3, 0), 2)
        assert settled(one) == BindProgress(done=3, pending=0), "they are tried no second time by themselves"
        one.ask(RetryBinding())
        assert bind(one) == BindProgress(done=3, pending=0)
        assert (unread(one), len(texts_bound(one, "fact"))) == (2, 1), "nothing was mended"
        one.ask(Rebuild())
        assert settled(one) == BindProgress(done=3, pending=0)
        assert unread(one) == 2
        is_broken = False
        assert bind(one) == BindProgress(done=3, pending=0)
        assert unread(one) == 2, "nobody asked for it"
        one.ask(RetryBinding())
        assert bind(one) == BindProgress(done=3, pending=0)
        assert (unread(one), texts_bound(one, "fact").keys()) == (0, {b"a high wall", b"a lamp", b"a low wall"})
        before = one.look(lambda now: now.seq)
        one.ask(RetryBinding())
        assert one.look(lambda now: now.seq) == before, "where nothing failed, nothing is done again"


def test_what_failed_is_tried_again_when_it_says_something_else_and_waits_for_nothing_once_it_is_forgotten(
    tmp_path: Path,
) -> None:
    failed: list[str] = []

    def extract(text: str, speaker: str | None) -> list[Triple]:
        failed.append(text)
        raise RuntimeError(text)

    with actor_system(tmp_path, ports={"seed": SEED, "extract": extract}) as one:
        kept = [one.keep(text).id for text in ("the first", "the second")]
        settled(one)
        failed.clear()
        kept.append(one.keep("the third").id)
        settled(one)
        assert {"the second", "the third"} <= set(failed), "it stands beside something else"
        one.ask(Forget(ids=tuple(kept)))
        bind(one)
        found: Counts = one.look(lambda now: now.counts(None))
        assert (found.bound, found.unbound, found.unread) == (0, 0, 0)


@pytest.mark.parametrize("changed", [{"binder.dimensions": 512}, {"binder.topics": 1}])
def test_a_mind_that_is_opened_under_other_settings_is_bound_anew_though_nothing_comes(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    with actor_system(tmp_path, sources={"a": talk(12)}) as one:
        one.take("a")
        settled(one)
        kept = one.look(lambda now: now.space())
    with actor_system(tmp_path) as same:
        binder, asked = BinderActor.make(same.ports), Asked(same.ask)
        binder.handle(MindOpened(), asked)
        binder.close()
        assert (asked.asked, asked.told) == ([], []), "under the same settings there is nothing to do"
    with actor_system(tmp_path, **changed) as other:
        other.supervisor.tell(MindOpened())
        until(lambda: counts(other) == (12, 0) and other.look(lambda now: now.space()) != kept)


def test_a_mind_without_a_model_that_is_opened_goes_on_with_what_a_step_cut_short_left(tmp_path: Path) -> None:
    with actor_system(tmp_path, sources={"a": talk(12)}) as one:
        one.load = missing
        one.take("a")
        assert bind(one) == BindProgress(done=12, pending=0)
    with closing(Store.open(one.folder.store, one.keys)) as store:  # no Binder is there that would begin at once
        store.rebuild(lambda done, total: None, meaning=False)
    with actor_system(tmp_path) as again:
        again.load = missing
        assert counts(again) == (12, 12)
        again.supervisor.tell(MindOpened())
        until(lambda: counts(again) == (12, 0))


def test_opening_a_mind_does_not_have_what_waits_for_its_meaning_embedded(tmp_path: Path) -> None:
    with actor_system(tmp_path, sources={"a": talk(9)}) as one:
        one.take_quietly("a")
    with actor_system(tmp_path) as again:
        binder = BinderActor.make(again.ports)
        asked = Asked(again.ask)
        binder.handle(MindOpened(), asked)
        binder.close()
        assert again.encoder.encoded == []


@pytest.mark.parametrize("error", [ValueError, KeyError, AttributeError])
def test_a_filler_that_its_encoder_fails_on_costs_that_memory_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    whole = RecordEncoder.encode_records

    def refuse(self: RecordEncoder, records: Sequence[Any]) -> Any:
        if any(pair.role == "who" and pair.filler == "eve" for record in records for pair in record):
            raise error("eve is none")
        return whole(self, records)

    monkeypatch.setattr(RecordEncoder, "encode_records", refuse)
    with actor_system(tmp_path) as one:
        one.keep("one", session="a", speaker="Eve")
        one.keep("two", session="b", speaker="Ann")
        assert settled(one) == BindProgress(done=1, pending=0)
        assert texts_bound(one).keys() == {b"two"}
    assert f"is not bound: encoding it failed ({error.__name__} at refuse (test_binder.py:" in caplog.text
    assert "eve is none" not in caplog.text


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("binder.leave_out", ("date", "colour"), "binder.leave_out cannot be 'colour': there is no such role."),
        ("binder.dimensions", 1000, "binder.dimensions cannot be 1000: a hypervector has a multiple of 64 bits"),
        ("binder.backend", "abacus", "binder.backend cannot be 'abacus': "),
    ],
)
def test_settings_that_cannot_be_are_refused_in_a_sentence(tmp_path: Path, setting: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidValue) as caught, actor_system(tmp_path, **{setting: value}):
        pass
    assert str(caught.value).startswith(said)
    assert caught.value.remedy_text.endswith(".")


class Asked:
    """What an actor is given, written down."""

    trace = "t"

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.asked: list[Any] = []
        self.told: list[Any] = []
        self._answer = answer

    def ask(self, message: Any, timeout_s: float = 60.0) -> Any:
        self.asked.append(message)
        return self._answer(message)

    def tell(self, message: Any) -> None:
        self.told.append(message)

    def cancelled(self) -> bool:
        return False


class Idle(BinderActor):
    """One that leaves everything to another."""

    def handle(self, message: Any, context: Any) -> None:
        return None


def test_it_continues_once_however_many_commits_there_are_and_leaves_it_to_whoever_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BUILT_IN_ACTORS, "binder", Idle)
    with actor_system(tmp_path, sources={"a": talk(40)}) as one:
        one.take("a")
        one.embed()
        binder, context = BinderActor.make(one.ports), Asked(one.ask)
        try:
            for _ in range(3):
                binder.handle(Committed(seq=1), context)  # type: ignore[arg-type]
            assert context.told == [WorkOn()]
            answer = binder.handle(BindPending(), context)  # type: ignore[arg-type]
            assert answer is not None
            assert answer.pending
            binder.handle(WorkOn(), context)  # type: ignore[arg-type]
            assert context.told == [WorkOn()], "whoever waits for the end drives it"
        finally:
            binder.close()


def test_what_fails_in_a_step_is_taken_up_by_the_instance_that_comes_after(tmp_path: Path) -> None:
    def fail(message: Any) -> Any:
        raise ZeroDivisionError if isinstance(message, Apply) else MnemicError

    with actor_system(tmp_path, sources={"a": talk(3)}) as one:
        one.take("a")
    folder, keys = open_mind(tmp_path, "default")
    store = Store.open(folder.store, keys)
    store.rebuild(lambda done, total: None, meaning=False)  # no actor is told, so that none binds beside this one
    store.close()
    with actor_system(tmp_path) as one:
        binder, context = BinderActor.make(one.ports), Asked(fail)
        try:
            with pytest.raises(MnemicError):
                binder.handle(WorkOn(), context)  # type: ignore[arg-type]
            assert context.told == [], "an error of the tree is an answer: it comes again with the next commit"
            assert [type(message) for message in context.asked] == [DescribeEncoder]
            context = Asked(lambda message: fail(message) if isinstance(message, Apply) else one.ask(message))
            with pytest.raises(ZeroDivisionError):
                binder.handle(WorkOn(), context)  # type: ignore[arg-type]
            assert context.told == [WorkOn()]
        finally:
            binder.close()


def test_other_settings_that_the_store_was_too_busy_to_keep_are_not_left_to_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def busy(message: Any) -> Any:
        if isinstance(message, Apply):
            raise StoreBusy(path="x", waited_s=1.0)
        return one.ask(message)

    with actor_system(tmp_path, sources={"a": talk(3)}) as one:
        one.take("a")
        settled(one)
    monkeypatch.setitem(BUILT_IN_ACTORS, "binder", Idle)
    with actor_system(tmp_path, **{"binder.dimensions": 512}) as one:
        binder = BinderActor.make(one.ports)
        with closing(binder):
            with pytest.raises(StoreBusy):
                binder.handle(WorkOn(), Asked(busy))  # type: ignore[arg-type]
            binder.handle(WorkOn(), Asked(one.ask))  # type: ignore[arg-type]
        assert one.look(lambda now: now.space()).dimensions == 512
    assert "another process" not in caplog.text


def test_the_reason_for_binding_without_meaning_is_in_the_log_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), actor_system(tmp_path, sources={"a": talk(70)}) as one:
        one.load = missing
        one.take("a")
        bind(one)
    said = [record for record in caplog.records if record.name == "mnemic.binder"]
    assert [record.getMessage() for record in said] == ["memories are bound without their meaning: model_missing"]
