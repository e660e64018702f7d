"""The Embedder gives everything its meaning in the end, once, and lets a question pass before all that waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.actors.capture.forget_messages import Forget, Recover
from mnemic.actors.kernel.errors import ActorFailed, DeviceExhausted, ModelMissing, NotEmbeddable, StoreBusy
from mnemic.actors.kernel.ports import Window
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.meaning.embedder import EmbedderActor
from mnemic.actors.meaning.messages import EmbedPending, EmbedQuery, EmbedWords, QueryEmbedded
from mnemic.actors.store.messages import Apply, Committed, Count, Rebuild
from mnemic.runtime.engine.actor_health import RestartPolicy
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.store.reader import StoreSnapshot
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.harness import ActorHarness, BagEncoder, turns
from tests.runtime.building import apply, id_of
from tests.waiting import BOUND_S, until


class Held(BagEncoder):
    """Waits for a turn with each window."""

    def __init__(self, name: str = "bag") -> None:
        super().__init__(name)
        self.gate = threading.Semaphore(0)


def missing() -> Any:
    raise ModelMissing(path="/nowhere", why="it is gone")


def windows(actor_system: ActorHarness, encoder: BagEncoder | None = None) -> list[tuple[int, int]]:
    """Row and start of every window the store holds of an encoder."""
    chosen = encoder or actor_system.encoder

    def read(snapshot: Any) -> list[tuple[int, int]]:
        for name in snapshot.encoders():
            if name.implementation == chosen.implementation:
                block = snapshot.vectors(name, 0)
                return sorted(zip(block.row.tolist(), block.start.tolist(), strict=True))
        return []

    found = actor_system.look(read)
    assert isinstance(found, list)
    return found


def idle(actor_system: ActorHarness) -> None:
    """Wait until the background has embedded everything."""
    until(lambda: not actor_system.ask(Count()).pending)


def until_asked(actor_system: ActorHarness, question: type = EmbedQuery) -> None:
    """Wait until a question waits for the Embedder; what else does, such as the Binder's, may come and go."""
    mailbox = actor_system.supervisor._engine._mailboxes["embedder"]  # type: ignore[attr-defined]
    until(lambda: any(isinstance(one.envelope.message, question) for one in tuple(mailbox._queue)))


# --- words at once, meaning later ------------------------------------------------------------------------------------


def test_what_was_captured_is_found_by_its_words_at_once_and_by_meaning_later(tmp_path: Path) -> None:
    with ActorHarness(
        tmp_path, encoder=Held(), sources={"a": turns(["the tide is high", "the kettle is on"])}
    ) as actor_system:
        actor_system.take("a")
        counts = actor_system.ask(Count())
        assert (counts.memories, counts.embedded, counts.pending) == (2, 0, 2)
        words = actor_system.recall("kettle", signals=("lexical",))
        assert [hit.data for hit in words.hits] == [b"the kettle is on"]
        actor_system.encoder.gate.release(100)
        assert actor_system.embed().done == 2
        counts = actor_system.ask(Count())
        assert (counts.embedded, counts.pending) == (2, 0)
        meaning = actor_system.recall("kettle", signals=("dense",))
        assert meaning.hits[0].data == b"the kettle is on"


def test_what_is_committed_is_embedded_in_the_background_unasked(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns([f"text {n}" for n in range(150)])}) as actor_system:
        actor_system.take("a")
        idle(actor_system)
        assert windows(actor_system) == [(row, 0) for row in range(1, 151)]
        assert actor_system.encoder.encoded == [f"text {n}" for n in range(150)]
        assert actor_system.supervisor.report().dead_letters == 0


def test_counts_add_up_to_all_memories_at_every_step_and_nothing_is_done_before_it_is_kept(tmp_path: Path) -> None:
    with ActorHarness(
        tmp_path, encoder=Held(), sources={"a": turns([f"text {n}" for n in range(140)])}
    ) as actor_system:
        actor_system.take_quietly("a")
        actor_system.encoder.gate = None
        done = []
        while True:
            answer = actor_system.ask(EmbedPending())
            assert answer.done + answer.pending == 140
            done.append(answer.done)
            if not answer.pending:
                break
        assert done == sorted(done)
        assert len(windows(actor_system)) == 140
        assert len(actor_system.encoder.encoded) == 140


def test_what_is_forgotten_while_it_waits_is_not_embedded_until_it_is_found_again(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["the tide is high", "the kettle is on"])}) as actor_system:
        actor_system.take_quietly("a")
        (gone,) = actor_system.look(lambda snapshot: snapshot.load_memories([1]))
        actor_system.ask(Forget(ids=(gone.id,)))
        assert actor_system.embed().done == 1
        assert actor_system.encoder.encoded == ["the kettle is on"]
        counts = actor_system.ask(Count())
        assert (counts.memories, counts.retired, counts.embedded, counts.pending) == (2, 1, 1, 0)
        actor_system.ask(Recover(ids=(gone.id,)))
        idle(actor_system)
        assert actor_system.encoder.encoded == ["the kettle is on", "the tide is high"]


def test_whoever_waits_for_the_backlog_does_not_wait_for_what_was_forgotten_meanwhile(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns([f"text {n}" for n in range(20)])}) as actor_system:
        actor_system.take_quietly("a")
        assert actor_system.ask(EmbedPending()).pending == 19
        later = actor_system.look(lambda snapshot: snapshot.load_memories(range(15, 21)))
        actor_system.ask(Forget(ids=tuple(memory.id for memory in later)))
        assert actor_system.embed().done == 14
        assert actor_system.encoder.encoded == [f"text {n}" for n in range(14)]


def test_whoever_waits_comes_to_an_end_though_the_last_that_was_counted_was_forgotten(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["the tide is high"])}) as actor_system:
        actor_system.take_quietly("a")
        ask = actor_system.supervisor._router.send

        def keep_another(message: Any, *args: Any, **options: Any) -> Any:
            answer = ask(message, *args, **options)
            if isinstance(message, Apply) and message.author == "embedder":
                answer.get()  # another process keeps one just then, and nobody here is told
                with closing(Store.open(actor_system.folder.store, actor_system.keys)) as other:
                    apply(other, added(7))
            return answer

        actor_system.supervisor._router.send = keep_another  # type: ignore[method-assign]
        answer = actor_system.ask(EmbedPending())
        assert (answer.done, answer.pending) == (1, 1)
        actor_system.ask(Forget(ids=(id_of(7),)))
        answer = actor_system.ask(EmbedPending())
        assert (answer.done, answer.pending) == (1, 0)


def test_with_nothing_to_do_a_step_says_so(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        answer = actor_system.ask(EmbedPending())
        assert (answer.done, answer.pending, answer.partly) == (0, 0, 0)


# --- a question passes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["in the background", "for somebody who waits", "for both"])
def test_a_question_waits_for_the_one_window_in_progress_and_no_other(tmp_path: Path, how: str) -> None:
    with ActorHarness(
        tmp_path, encoder=Held(), sources={"a": turns([f"text {n}" for n in range(100)])}
    ) as actor_system:
        if how == "for somebody who waits":
            actor_system.take_quietly("a")
        else:
            actor_system.take("a")
        with ThreadPoolExecutor(2) as pool:
            if how != "in the background":
                pool.submit(actor_system.embed)
                for _ in range(3):  # until the background leaves it to whoever waits
                    actor_system.encoder.gate.release(1)
                    assert actor_system.encoder.entered.acquire(timeout=BOUND_S)
            for _ in range(3):
                assert actor_system.encoder.entered.acquire(timeout=BOUND_S)  # a window has begun
                before = len(actor_system.encoder.encoded)
                question = pool.submit(actor_system.ask, EmbedQuery(text="question"))
                until_asked(actor_system)
                actor_system.encoder.gate.release(1)  # that window ends
                assert actor_system.encoder.entered.acquire(timeout=BOUND_S)
                actor_system.encoder.gate.release(1)  # and whatever comes next: it must be the question
                question.result(BOUND_S)
                assert actor_system.encoder.encoded[before + 1 :] == ["question"]
            actor_system.encoder.gate.release(10_000)


def test_whoever_stops_asking_for_steps_leaves_the_rest_to_the_next_commit(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns([f"text {n}" for n in range(100)])}) as actor_system:
        actor_system.take_quietly("a")
        for _ in range(3):
            actor_system.ask(EmbedPending())
        actor_system.keep("one more")
        idle(actor_system)
        assert len(windows(actor_system)) == 101


# --- several at once -------------------------------------------------------------------------------------------------


class Batches(BagEncoder):
    """Notes how many windows it is given at once."""

    def __init__(self, batch: int) -> None:
        super().__init__(batch=batch)
        self.sizes: list[int] = []

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        self.sizes.append(len(windows))
        return super().encode(windows)


@pytest.mark.parametrize("batch", [1, 2, 7, 64, 1000])
def test_a_step_embeds_as_many_windows_as_the_encoder_takes_at_once(tmp_path: Path, batch: int) -> None:
    texts = [f"text {n} " + "x" * (300 * (n % 3)) for n in range(90)]
    encoder = Batches(batch)
    with ActorHarness(tmp_path, encoder=encoder, sources={"a": turns(texts)}) as actor_system:
        actor_system.take_quietly("a")
        assert actor_system.embed().done == 90
        expected = [(row, start) for row, text in enumerate(texts, 1) for start in range(0, len(text), 200)]
        assert windows(actor_system) == expected
        assert sum(encoder.sizes) == len(expected)
        assert set(encoder.sizes[:-1]) <= {batch}
        assert encoder.sizes[-1] <= batch


class Words(Batches):
    """A window has as many tokens as words."""

    def windows(self, text: str, limit: int, *, is_question: bool = False) -> tuple[list[Window], int]:
        windows, covered = super().windows(text, limit)
        spoken = [(one, len(text[one.start : one.end].split())) for one in windows]
        return [Window(one.start, one.end, one.token_ids * count) for one, count in spoken], covered

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        self.steps.append([len(one.token_ids) for one in windows])
        return super().encode(windows)

    steps: list[list[int]]
    """Tokens of the windows of each step."""


def test_a_step_takes_as_many_tokens_as_pay_and_a_longer_window_alone(tmp_path: Path) -> None:
    encoder = Words(6)
    encoder.steps = []
    texts = ["a b c", "d e", "f " * 20, "g", "h i j k", "l m"]
    with ActorHarness(tmp_path, encoder=encoder, sources={"a": turns(texts)}) as actor_system:
        actor_system.take_quietly("a")
        assert actor_system.embed().done == 6
    assert encoder.steps == [[3, 2], [20], [1, 4], [2]]


def test_a_step_is_larger_where_somebody_waits_for_what_was_captured(tmp_path: Path) -> None:
    sizes = []
    for waits in (False, True):
        encoder = Batches(2)
        encoder.bulk_tokens = 5
        texts = [f"text {n}" for n in range(20)]
        with ActorHarness(tmp_path / str(waits), encoder=encoder, sources={"a": turns(texts)}) as actor_system:
            if waits:
                actor_system.take_quietly("a")
                assert actor_system.embed().done == 20
            else:
                actor_system.take("a")
                idle(actor_system)
        sizes.append(set(encoder.sizes))
    assert sizes == [{2}, {5}]


def test_a_mind_is_not_counted_once_more_for_each_bundle_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []
    count = StoreSnapshot.embed_progress

    def note(self: StoreSnapshot, encoder: EncoderName) -> Any:
        counted.append(encoder)
        return count(self, encoder)

    monkeypatch.setattr(StoreSnapshot, "embed_progress", note)
    texts = [f"text {n}" for n in range(700)]
    with ActorHarness(tmp_path, encoder=BagEncoder(batch=50), sources={"a": turns(texts)}) as actor_system:
        actor_system.take_quietly("a")
        answer = actor_system.embed()
    assert (answer.done, answer.pending) == (700, 0)
    assert len(counted) <= 3, "once at the start, and once more where nothing seems to wait"


def test_vectors_are_the_same_whatever_is_embedded_at_once(tmp_path: Path) -> None:
    kept = []
    for batch in (1, 5):
        texts = [f"otter {n} " * (n % 90 + 1) for n in range(60)]
        with ActorHarness(
            tmp_path / str(batch), encoder=BagEncoder(batch=batch), sources={"a": turns(texts)}
        ) as actor_system:
            actor_system.take_quietly("a")
            actor_system.embed()
            name = EncoderName(actor_system.encoder.implementation, actor_system.encoder.model)
            block = actor_system.look(lambda snapshot, name=name: snapshot.vectors(name, 0))
            kept.append((block.row.tolist(), block.start.tolist(), block.vectors.tobytes()))
    assert kept[0] == kept[1]


def test_a_question_waits_for_one_step_and_no_other(tmp_path: Path) -> None:
    encoder = Held()
    encoder.batch_tokens = encoder.bulk_tokens = 4
    with ActorHarness(
        tmp_path, encoder=encoder, sources={"a": turns([f"text {n}" for n in range(100)])}
    ) as actor_system:
        actor_system.take("a")
        with ThreadPoolExecutor(1) as pool:
            assert encoder.entered.acquire(timeout=BOUND_S)  # a step has begun
            question = pool.submit(actor_system.ask, EmbedQuery(text="question"))
            until_asked(actor_system)
            encoder.gate.release(5)
            question.result(BOUND_S)
            assert encoder.encoded[:5] == ["text 0", "text 1", "text 2", "text 3", "question"]
        encoder.gate.release(10_000)


@pytest.mark.parametrize("how", ["raises", "no number"])
def test_among_several_the_one_that_the_model_fails_on_is_singled_out(tmp_path: Path, how: str) -> None:
    texts = ["one", "two", "fine " * 100 + "poison", "three", "poison", "fine " * 100 + "poison " * 50, "four"]
    with ActorHarness(tmp_path, encoder=BagEncoder(batch=8), sources={"a": turns(texts)}) as actor_system:
        if how == "no number":
            actor_system.encoder.encode = bad_vector(actor_system.encoder)  # type: ignore[method-assign]
        else:
            actor_system.encoder.chokes_on = choke_on_poison
        actor_system.take_quietly("a")
        answer = actor_system.embed()
        assert (answer.done, answer.pending, answer.partly) == (7, 0, 3)
        assert windows(actor_system) == [(1, 0), (2, 0), (4, 0), (7, 0)]
        assert all(one.failures == 0 for one in actor_system.supervisor.report().actors)


def test_a_device_that_is_full_loses_nothing_and_the_next_step_goes_on(tmp_path: Path) -> None:
    full = DeviceExhausted(implementation="bag", why="there is no room")
    with ActorHarness(
        tmp_path, encoder=BagEncoder(batch=3), sources={"a": turns([f"text {n}" for n in range(10)])}
    ) as actor_system:
        actor_system.encoder.chokes_on = lambda text: full if text == "text 4" else None
        actor_system.take("a")
        for _ in range(10):  # more often than a failure may be
            with pytest.raises(DeviceExhausted):
                actor_system.embed()
        assert actor_system.supervisor.report().actors[1].failures == 0
        actor_system.encoder.chokes_on = lambda text: None
        assert actor_system.embed().done == 10
        assert windows(actor_system) == [(row, 0) for row in range(1, 11)]


@pytest.mark.parametrize("room", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "error", [DeviceExhausted(implementation="bag", why="there is no room"), RuntimeError("too many at once")]
)
def test_what_there_is_no_room_for_at_once_is_embedded_in_smaller_parts(
    tmp_path: Path, room: int, error: Exception
) -> None:
    class Small(Batches):
        def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
            if len(windows) > room:
                raise error
            return super().encode(windows)

    encoder = Small(8)
    with ActorHarness(
        tmp_path, encoder=encoder, sources={"a": turns([f"text {n}" for n in range(50)])}
    ) as actor_system:
        actor_system.take("a")
        idle(actor_system)
        assert windows(actor_system) == [(row, 0) for row in range(1, 51)]
        assert encoder.encoded == [f"text {n}" for n in range(50)]
        assert actor_system.supervisor.report().actors[1].failures == 0


# --- nothing lost, nothing doubled -----------------------------------------------------------------------------------


def test_a_backlog_is_taken_up_again_after_a_stop_and_no_window_is_lost_or_doubled(tmp_path: Path) -> None:
    texts = [f"text {n} " + "x" * (300 * (n % 3)) for n in range(90)]
    with ActorHarness(tmp_path, encoder=Held(), sources={"a": turns(texts)}) as actor_system:
        actor_system.take("a")
        actor_system.encoder.gate.release(70)
        for _ in range(70):
            assert actor_system.encoder.entered.acquire(timeout=BOUND_S)
    with ActorHarness(tmp_path) as actor_system:
        answer = actor_system.embed()
        assert (answer.done, answer.pending) == (90, 0)
        expected = [(row, start) for row, text in enumerate(texts, 1) for start in range(0, len(text), 200)]
        assert windows(actor_system) == expected


def test_what_is_embedded_when_everything_stops_is_kept(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, encoder=Held(), sources={"a": turns([f"text {n}" for n in range(30)])}) as actor_system:
        actor_system.take("a")
        actor_system.encoder.gate.release(10)
        for _ in range(11):
            assert actor_system.encoder.entered.acquire(timeout=BOUND_S)  # ten are done, and one is begun
    assert len(actor_system.encoder.encoded) == 11
    with ActorHarness(tmp_path) as actor_system:
        assert len(windows(actor_system)) == 11


@pytest.mark.parametrize("dies_at", [1, 63, 64, 65, 100])
def test_an_embedder_that_dies_goes_on_by_itself_and_no_window_is_lost_or_doubled(tmp_path: Path, dies_at: int) -> None:
    deaths = [RuntimeError("the device went away")] * 2  # for a plain window as well

    def die(text: str) -> BaseException | None:
        return deaths.pop() if deaths and len(actor_system.encoder.encoded) >= dies_at else None

    with ActorHarness(tmp_path, sources={"a": turns([f"text {n}" for n in range(150)])}) as actor_system:
        actor_system.encoder.chokes_on = die
        actor_system.take("a")
        idle(actor_system)
        assert not deaths
        assert actor_system.supervisor.report().actors[1].failures == 1
        assert windows(actor_system) == [(row, 0) for row in range(1, 151)]


def test_a_bundle_that_the_store_refuses_is_kept_the_next_time(tmp_path: Path) -> None:
    refusals = [StoreBusy(path="x", waited_s=1.0)] * 2
    with ActorHarness(tmp_path, sources={"a": turns([f"text {n}" for n in range(70)])}) as actor_system:
        actor_system.take_quietly("a")
        ask = actor_system.supervisor._router.send

        def refuse(message: Any, *args: Any, **options: Any) -> Any:
            if isinstance(message, Apply) and message.author == "embedder" and refusals:
                raise refusals.pop()
            return ask(message, *args, **options)

        actor_system.supervisor._router.send = refuse  # type: ignore[method-assign]
        for _ in range(2):
            with pytest.raises(StoreBusy):
                actor_system.embed()
        assert actor_system.embed().done == 70
        assert len(actor_system.encoder.encoded) == 70
        assert windows(actor_system) == [(row, 0) for row in range(1, 71)]


def test_after_the_vectors_were_given_up_everything_is_embedded_again(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns([f"text {n}" for n in range(80)])}) as actor_system:
        actor_system.take("a")
        actor_system.embed()
        before = windows(actor_system)
        for _ in range(2):
            actor_system.ask(Rebuild(meaning=True))
            assert actor_system.embed().done == 80
            assert windows(actor_system) == before


def test_vectors_that_are_kept_just_after_all_were_given_up_find_room(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["one", "two"])}) as actor_system:
        actor_system.take_quietly("a")
        actor_system.embed()
        ask, rebuilt = actor_system.supervisor._router.send, []

        def give_up_first(message: Any, *args: Any, **options: Any) -> Any:
            if isinstance(message, Apply) and message.author == "embedder" and not rebuilt:
                rebuilt.append(ask(Rebuild(meaning=True), *args, **options).get())
            return ask(message, *args, **options)

        actor_system.supervisor._router.send = give_up_first  # type: ignore[method-assign]
        actor_system.keep("three")
        idle(actor_system)
        assert len(rebuilt) == 1
        assert actor_system.embed().done == 3
        assert windows(actor_system) == [(1, 0), (2, 0), (3, 0)]
        assert all(one.failures == 0 for one in actor_system.supervisor.report().actors)


# --- another model ---------------------------------------------------------------------------------------------------


def test_another_model_embeds_everything_anew_in_the_background_while_words_and_then_the_old_vectors_go(
    tmp_path: Path,
) -> None:
    sources = {"a": turns([f"text {n}" for n in range(100)])}
    with ActorHarness(tmp_path, sources=sources) as actor_system:
        actor_system.take("a")
        actor_system.embed()
    other = Held("other")
    with ActorHarness(tmp_path, encoder=other) as actor_system:
        actor_system.supervisor.tell(Committed(seq=0))
        other.gate.release(70)
        for _ in range(71):
            assert other.entered.acquire(timeout=BOUND_S)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(actor_system.recall, "text 7")
            until_asked(actor_system)
            other.gate.release(2)
            until_asked(actor_system, EmbedWords)
            other.gate.release(1)
            recalled = asked.result(BOUND_S)
        assert recalled.hits[0].data == b"text 7"
        assert any("are found by their words only so far" in line for line in recalled.degraded)
        assert len(windows(actor_system, BagEncoder())) == 100  # the old ones stand until the new ones are whole
    last = BagEncoder("other")
    with ActorHarness(tmp_path, encoder=last) as actor_system:
        assert len(windows(actor_system)) >= 64
        actor_system.embed()
        assert windows(actor_system) == [(row, 0) for row in range(1, 101)]
        assert windows(actor_system, BagEncoder()) == []
        assert len(last.encoded) <= 37  # what was kept before the stop was not made again


def test_going_back_to_the_first_model_makes_its_vectors_again(tmp_path: Path) -> None:
    sources = {"a": turns(["one", "two"])}
    for name in ("bag", "other", "bag", "other"):
        with ActorHarness(tmp_path, encoder=BagEncoder(name), sources=sources) as actor_system:
            actor_system.take("a")
            assert actor_system.embed().done == 2
            assert windows(actor_system) == [(1, 0), (2, 0)]
            assert [one.implementation for one in actor_system.look(lambda snapshot: snapshot.encoders())] == [name]


def test_vectors_that_another_process_dropped_are_made_again(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["one", "two", "three"])}) as actor_system:
        actor_system.take("a")
        actor_system.embed()
        with ActorHarness(tmp_path, encoder=BagEncoder("other")) as rival:
            rival.embed()
            assert windows(rival) == [(1, 0), (2, 0), (3, 0)]
            assert windows(actor_system) == []
            assert actor_system.embed().done == 3
            assert windows(actor_system) == [(1, 0), (2, 0), (3, 0)]


# --- no model, odd texts ---------------------------------------------------------------------------------------------


def test_without_a_model_words_answer_and_the_reply_and_the_dead_letter_say_so(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["the kettle is on"])}) as actor_system:
        actor_system.load = missing
        actor_system.take("a")
        with pytest.raises(ModelMissing):
            actor_system.embed()
        recalled = actor_system.recall("kettle")
        assert [hit.data for hit in recalled.hits] == [b"the kettle is on"]
        assert recalled.degraded == (
            "meaning: The embedding model is not at /nowhere: it is gone. Words alone answered.",
        )
        letters = actor_system.supervisor.report().last_dead_letters
        assert [(one.message, one.reason) for one in letters] == [("WorkOn", "model_missing")]
        assert all(one.failures == 0 for one in actor_system.supervisor.report().actors)
        actor_system.load = lambda: actor_system.encoder  # it is put there: no restart is needed
        assert actor_system.embed().done == 1


def test_a_model_that_comes_later_embeds_what_waited_once_something_is_asked(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["the kettle is on"])}) as actor_system:
        actor_system.load = missing
        actor_system.take("a")
        assert actor_system.recall("kettle").degraded
        actor_system.load = lambda: actor_system.encoder
        actor_system.recall("kettle")
        until(lambda: windows(actor_system) == [(1, 0)])


def test_a_long_text_is_embedded_so_far_and_the_rest_is_counted_as_partly(tmp_path: Path) -> None:
    long = "word " * 1000
    sources = {"a": [*turns([long, "short"]), *turns([long], kind="tool_result", role="tool")]}
    with ActorHarness(tmp_path, sources=sources, max_windows=3) as actor_system:
        actor_system.take("a")
        answer = actor_system.embed()
        assert (answer.done, answer.partly) == (3, 2)
        assert windows(actor_system) == [(1, 0), (1, 200), (1, 400), (2, 0), (3, 0), (3, 200)]


def test_a_speakers_name_is_embedded_with_the_text_and_does_not_shift_its_places(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["x" * 450], speaker="Maud")}) as actor_system:
        actor_system.take("a")
        actor_system.embed()
        assert actor_system.encoder.encoded[0].startswith("Maud: xxx")
        assert windows(actor_system) == [(1, 0), (1, 194), (1, 394)]


def test_a_name_longer_than_all_windows_is_no_trouble(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["text"], speaker="M" * 900)}, max_windows=2) as actor_system:
        actor_system.take("a")
        assert actor_system.embed().partly == 1


def test_bulk_comes_after_everything_else(tmp_path: Path) -> None:
    items = [*turns([f"bulk {n}" for n in range(5)], kind="tool_result"), *turns([f"said {n}" for n in range(100)])]
    with ActorHarness(tmp_path, sources={"a": items}) as actor_system:
        actor_system.take_quietly("a")
        actor_system.embed()
        assert actor_system.encoder.encoded == [f"said {n}" for n in range(100)] + [f"bulk {n}" for n in range(5)]


def choke_on_poison(text: str) -> BaseException | None:
    return ValueError("the tea is in the blue tin") if "poison" in text else None


def break_on_poison(text: str) -> BaseException | None:
    return RuntimeError("the tea is in the blue tin") if "poison" in text else None


def puzzle_over_poison(text: str) -> BaseException | None:
    return KeyError("the tea is in the blue tin") if "poison" in text else None


def no_windows(encoder: BagEncoder) -> Callable[..., Any]:
    """As a tokenizer without a token for what it does not know."""
    windows = encoder.windows

    def cut(text: str, limit: int, *, is_question: bool = False) -> Any:
        if "poison" in text:
            raise Exception("the tea is in the blue tin")
        return windows(text, limit, is_question=is_question)

    return cut


def bad_vector(encoder: BagEncoder) -> Callable[[Any], Any]:
    encode = encoder.encode

    def encoded(windows: Any) -> Any:
        vectors = encode(windows)
        for vector, text in zip(vectors, encoder.encoded[-len(windows) :], strict=True):
            vector[:] = np.nan if "poison" in text else vector
        return vectors

    return encoded


@pytest.mark.parametrize("batch", [1, 2, 3, 16])
@pytest.mark.parametrize("how", ["raises", "raises later", "breaks", "is strange", "no windows", "no number"])
def test_a_text_that_the_model_fails_on_holds_up_no_other_and_is_counted_and_logged_without_its_words(
    tmp_path: Path, how: str, batch: int, caplog: pytest.LogCaptureFixture
) -> None:
    poison = "fine " * 50 + "poison" if how == "raises later" else "poison"
    sources = {"a": turns(["one", poison, "two", poison + "!"])}
    with ActorHarness(tmp_path, encoder=BagEncoder(batch=batch), sources=sources) as actor_system:
        if how == "no number":
            actor_system.encoder.encode = bad_vector(actor_system.encoder)  # type: ignore[method-assign]
        elif how == "no windows":
            actor_system.encoder.windows = no_windows(actor_system.encoder)  # type: ignore[method-assign]
        else:
            chokes = {"breaks": break_on_poison, "is strange": puzzle_over_poison}
            actor_system.encoder.chokes_on = chokes.get(how, choke_on_poison)
        actor_system.take("a")
        answer = actor_system.embed()
        assert (answer.done, answer.pending, answer.partly) == (4, 0, 2)
        assert windows(actor_system) == [(1, 0), (3, 0)]
        assert actor_system.recall("poison", signals=("lexical",)).hits[0].data.endswith(b"poison")
        kinds = {
            "breaks": "RuntimeError",
            "is strange": "KeyError",
            "no windows": "Exception",
            "no number": "no finite",
        }
        assert caplog.text.count(f"the model fails on it ({kinds.get(how, 'ValueError')}") == 2
        assert "blue tin" not in caplog.text
        assert all(one.failures == 0 for one in actor_system.supervisor.report().actors)
    with ActorHarness(tmp_path) as actor_system:  # it is not tried again and again
        actor_system.embed()
        assert actor_system.encoder.encoded == []


@pytest.mark.parametrize("batch", [1, 4])
def test_a_fault_that_passes_costs_no_text_its_meaning(tmp_path: Path, batch: int) -> None:
    faults = [RuntimeError("a cosmic ray")]
    sources = {"a": turns([f"text {n}" for n in range(10)])}
    with ActorHarness(tmp_path, encoder=BagEncoder(batch=batch), sources=sources) as actor_system:
        actor_system.encoder.chokes_on = lambda text: faults.pop() if text == "text 6" and faults else None
        actor_system.take("a")
        assert actor_system.embed().partly == 0
        assert windows(actor_system) == [(row, 0) for row in range(1, 11)]
        assert actor_system.supervisor.report().actors[1].failures == 0


def test_where_nothing_at_all_can_be_embedded_it_comes_to_an_end(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns([f"poison {n}" for n in range(200)])}) as actor_system:
        actor_system.encoder.chokes_on = choke_on_poison
        actor_system.take("a")
        answer = actor_system.embed()
        assert (answer.done, answer.pending, answer.partly) == (200, 0, 200)


@pytest.mark.parametrize("choke", [choke_on_poison, break_on_poison, puzzle_over_poison])
def test_a_question_that_the_model_fails_on_is_answered_by_words_and_is_no_failure(
    tmp_path: Path, choke: Callable[[str], BaseException | None]
) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["one poison"])}) as actor_system:
        actor_system.take("a")
        actor_system.embed()
        actor_system.encoder.chokes_on = choke
        with pytest.raises(NotEmbeddable):
            actor_system.ask(EmbedQuery(text="poison"))
        for _ in range(10):
            recalled = actor_system.recall("poison")
            assert [hit.data for hit in recalled.hits] == [b"one poison"]
            assert "Words alone answered." in recalled.degraded[0]
        assert actor_system.supervisor.report().actors[1].failures == 0


def test_a_model_that_keeps_dying_is_quarantined_with_its_reason_and_words_go_on(tmp_path: Path) -> None:
    policy = RestartPolicy(failures=3, first_delay_s=0.0)
    with ActorHarness(tmp_path, sources={"a": turns(["the kettle is on"])}, policy=policy) as actor_system:
        actor_system.encoder.chokes_on = lambda text: RuntimeError("the tea is in the blue tin")
        actor_system.take("a")
        until(lambda: actor_system.supervisor.report().actors[1].quarantined)
        recalled = actor_system.recall("kettle")
        assert [hit.data for hit in recalled.hits] == [b"the kettle is on"]
        assert "embedder failed 3 times and was set aside: RuntimeError at encode" in recalled.degraded[0]
        actor_system.keep("captured all the same")


def test_whoever_waits_for_the_backlog_is_told_when_the_embedder_dies(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["one"])}) as actor_system:
        actor_system.take_quietly("a")
        actor_system.encoder.chokes_on = lambda text: RuntimeError("gone")
        with pytest.raises(ActorFailed):
            actor_system.embed()


def test_a_question_is_embedded_as_one_window_of_unit_length(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        answer = actor_system.ask(EmbedQuery(text="word " * 1000))
        assert isinstance(answer, QueryEmbedded)
        assert actor_system.encoder.encoded == [("word " * 40)]
        assert np.linalg.norm(np.frombuffer(answer.vector, "<f4")) == pytest.approx(1.0)
        assert answer.encoder.implementation == "bag"


def test_closing_lets_go_of_the_store() -> None:
    closed: list[bool] = []

    class Source:
        def close(self) -> None:
            closed.append(True)

    ports: Any = SimpleNamespace(
        settings=Settings().values(), load_encoder=missing, load_cross_encoder=missing, open_snapshots=Source
    )
    EmbedderActor.make(ports).close()
    assert closed == [True]
