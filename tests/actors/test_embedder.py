"""The Embedder gives everything its meaning in the end, once, and lets a question pass before all that waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.actors.embedder import EmbedderActor
from mnemic.actors.protocol.changes import EncoderName
from mnemic.actors.protocol.errors import ActorFailed, DeviceExhausted, ModelMissing, NotEmbeddable, StoreBusy
from mnemic.actors.protocol.messages import (
    Apply,
    Committed,
    Count,
    EmbedPending,
    EmbedQuery,
    Forget,
    QueryEmbedded,
    Rebuild,
    Recover,
)
from mnemic.actors.protocol.ports import Window
from mnemic.runtime.engine.actor_health import Policy
from mnemic.runtime.store.store import Store
from tests.runtime.building import apply, id_of, memory
from tests.society import BOUND_S, BagEncoder, Society, turns


class Held(BagEncoder):
    """Waits for a turn with each window."""

    def __init__(self, name: str = "bag") -> None:
        super().__init__(name)
        self.gate = threading.Semaphore(0)


def missing() -> Any:
    raise ModelMissing(path="/nowhere", why="it is gone")


def windows(society: Society, encoder: BagEncoder | None = None) -> list[tuple[int, int]]:
    """Row and start of every window the store holds of an encoder."""
    chosen = encoder or society.encoder

    def read(snapshot: Any) -> list[tuple[int, int]]:
        for name in snapshot.encoders():
            if name.implementation == chosen.implementation:
                block = snapshot.vectors(name, 0)
                return sorted(zip(block.row.tolist(), block.start.tolist(), strict=True))
        return []

    found = society.look(read)
    assert isinstance(found, list)
    return found


def idle(society: Society) -> None:
    """Wait until the background has embedded everything."""
    pause = threading.Event()
    for _ in range(round(BOUND_S / 0.005)):
        if not society.ask(Count()).pending:
            return
        pause.wait(0.005)
    raise AssertionError("it never came to rest")


def waiting(society: Society) -> int:
    """How many messages wait for the Embedder."""
    return society.supervisor.report().actors[1].waiting


def until_asked(society: Society, before: int = 0) -> None:
    """Wait until more messages wait for the Embedder than did before: the Binder may have asked who embeds."""
    pause = threading.Event()
    for _ in range(round(BOUND_S / 0.001)):
        if waiting(society) > before:
            return
        pause.wait(0.001)
    raise AssertionError("nobody asked")


# --- words at once, meaning later ------------------------------------------------------------------------------------


def test_what_was_captured_is_found_by_its_words_at_once_and_by_meaning_later(tmp_path: Path) -> None:
    with Society(tmp_path, encoder=Held(), sources={"a": turns(["the tide is high", "the kettle is on"])}) as society:
        society.take("a")
        counts = society.ask(Count())
        assert (counts.memories, counts.embedded, counts.pending) == (2, 0, 2)
        words = society.recall("kettle", signals=("lexical",))
        assert [hit.text for hit in words.hits] == [b"the kettle is on"]
        society.encoder.gate.release(100)
        assert society.embed().done == 2
        counts = society.ask(Count())
        assert (counts.embedded, counts.pending) == (2, 0)
        meaning = society.recall("kettle", signals=("dense",))
        assert meaning.hits[0].text == b"the kettle is on"


def test_what_is_committed_is_embedded_in_the_background_unasked(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns([f"text {n}" for n in range(150)])}) as society:
        society.take("a")
        idle(society)
        assert windows(society) == [(row, 0) for row in range(1, 151)]
        assert society.encoder.encoded == [f"text {n}" for n in range(150)]
        assert society.supervisor.report().dead_letters == 0


def test_counts_add_up_to_all_memories_at_every_step_and_nothing_is_done_before_it_is_kept(tmp_path: Path) -> None:
    with Society(tmp_path, encoder=Held(), sources={"a": turns([f"text {n}" for n in range(140)])}) as society:
        society.take_quietly("a")
        society.encoder.gate = None
        done = []
        while True:
            answer = society.ask(EmbedPending())
            assert answer.done + answer.pending == 140
            done.append(answer.done)
            if not answer.pending:
                break
        assert done == sorted(done)
        assert len(windows(society)) == 140
        assert len(society.encoder.encoded) == 140


def test_what_is_forgotten_while_it_waits_is_not_embedded_until_it_is_found_again(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns(["the tide is high", "the kettle is on"])}) as society:
        society.take_quietly("a")
        (gone,) = society.look(lambda snapshot: snapshot.records([1]))
        society.ask(Forget(ids=(gone.id,)))
        assert society.embed().done == 1
        assert society.encoder.encoded == ["the kettle is on"]
        counts = society.ask(Count())
        assert (counts.memories, counts.retired, counts.embedded, counts.pending) == (2, 1, 1, 0)
        society.ask(Recover(ids=(gone.id,)))
        idle(society)
        assert society.encoder.encoded == ["the kettle is on", "the tide is high"]


def test_whoever_waits_for_the_backlog_does_not_wait_for_what_was_forgotten_meanwhile(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns([f"text {n}" for n in range(20)])}) as society:
        society.take_quietly("a")
        assert society.ask(EmbedPending()).pending == 19
        later = society.look(lambda snapshot: snapshot.records(range(15, 21)))
        society.ask(Forget(ids=tuple(memory.id for memory in later)))
        assert society.embed().done == 14
        assert society.encoder.encoded == [f"text {n}" for n in range(14)]


def test_whoever_waits_comes_to_an_end_though_the_last_that_was_counted_was_forgotten(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns(["the tide is high"])}) as society:
        society.take_quietly("a")
        ask = society.supervisor._post.send

        def keep_another(message: Any, *args: Any, **options: Any) -> Any:
            answer = ask(message, *args, **options)
            if isinstance(message, Apply) and message.author == "embedder":
                answer.get()  # another process keeps one just then, and nobody here is told
                with closing(Store.open(society.folder.store, society.keys)) as other:
                    apply(other, memory(7))
            return answer

        society.supervisor._post.send = keep_another  # type: ignore[method-assign]
        answer = society.ask(EmbedPending())
        assert (answer.done, answer.pending) == (1, 1)
        society.ask(Forget(ids=(id_of(7),)))
        answer = society.ask(EmbedPending())
        assert (answer.done, answer.pending) == (1, 0)


def test_with_nothing_to_do_a_step_says_so(tmp_path: Path) -> None:
    with Society(tmp_path) as society:
        answer = society.ask(EmbedPending())
        assert (answer.done, answer.pending, answer.partly) == (0, 0, 0)


# --- a question passes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["in the background", "for somebody who waits", "for both"])
def test_a_question_waits_for_the_one_window_in_progress_and_no_other(tmp_path: Path, how: str) -> None:
    with Society(tmp_path, encoder=Held(), sources={"a": turns([f"text {n}" for n in range(1000)])}) as society:
        if how == "for somebody who waits":
            society.take_quietly("a")
        else:
            society.take("a")
        with ThreadPoolExecutor(2) as pool:
            if how != "in the background":
                pool.submit(society.embed)
                for _ in range(3):  # until the background leaves it to whoever waits
                    society.encoder.gate.release(1)
                    assert society.encoder.entered.acquire(timeout=BOUND_S)
            for _ in range(3):
                assert society.encoder.entered.acquire(timeout=BOUND_S)  # a window has begun
                before, asked = len(society.encoder.encoded), waiting(society)
                question = pool.submit(society.ask, EmbedQuery(text="question"))
                until_asked(society, asked)
                society.encoder.gate.release(1)  # that window ends
                assert society.encoder.entered.acquire(timeout=BOUND_S)
                society.encoder.gate.release(1)  # and whatever comes next: it must be the question
                question.result(BOUND_S)
                assert society.encoder.encoded[before + 1 :] == ["question"]
            society.encoder.gate.release(10_000)


def test_whoever_stops_asking_for_steps_leaves_the_rest_to_the_next_commit(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns([f"text {n}" for n in range(100)])}) as society:
        society.take_quietly("a")
        for _ in range(3):
            society.ask(EmbedPending())
        society.keep("one more")
        idle(society)
        assert len(windows(society)) == 101


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
    with Society(tmp_path, encoder=encoder, sources={"a": turns(texts)}) as society:
        society.take_quietly("a")
        assert society.embed().done == 90
        expected = [(row, start) for row, text in enumerate(texts, 1) for start in range(0, len(text), 200)]
        assert windows(society) == expected
        assert sum(encoder.sizes) == len(expected)
        assert set(encoder.sizes[:-1]) <= {batch}
        assert encoder.sizes[-1] <= batch


def test_vectors_are_the_same_whatever_is_embedded_at_once(tmp_path: Path) -> None:
    kept = []
    for batch in (1, 5):
        texts = [f"otter {n} " * (n % 90 + 1) for n in range(60)]
        with Society(tmp_path / str(batch), encoder=BagEncoder(batch=batch), sources={"a": turns(texts)}) as society:
            society.take_quietly("a")
            society.embed()
            name = EncoderName(society.encoder.implementation, society.encoder.model)
            block = society.look(lambda snapshot, name=name: snapshot.vectors(name, 0))
            kept.append((block.row.tolist(), block.start.tolist(), block.vectors.tobytes()))
    assert kept[0] == kept[1]


def test_a_question_waits_for_one_step_and_no_other(tmp_path: Path) -> None:
    encoder = Held()
    encoder.batch = 4
    with Society(tmp_path, encoder=encoder, sources={"a": turns([f"text {n}" for n in range(100)])}) as society:
        society.take("a")
        with ThreadPoolExecutor(1) as pool:
            assert encoder.entered.acquire(timeout=BOUND_S)  # a step has begun
            question = pool.submit(society.ask, EmbedQuery(text="question"))
            until_asked(society)
            encoder.gate.release(5)
            question.result(BOUND_S)
            assert encoder.encoded[:5] == ["text 0", "text 1", "text 2", "text 3", "question"]
        encoder.gate.release(10_000)


@pytest.mark.parametrize("how", ["raises", "no number"])
def test_among_several_the_one_that_the_model_fails_on_is_singled_out(tmp_path: Path, how: str) -> None:
    texts = ["one", "two", "fine " * 100 + "poison", "three", "poison", "fine " * 100 + "poison " * 50, "four"]
    with Society(tmp_path, encoder=BagEncoder(batch=8), sources={"a": turns(texts)}) as society:
        if how == "no number":
            society.encoder.encode = bad_vector(society.encoder)  # type: ignore[method-assign]
        else:
            society.encoder.chokes_on = choke_on_poison
        society.take_quietly("a")
        answer = society.embed()
        assert (answer.done, answer.pending, answer.partly) == (7, 0, 3)
        assert windows(society) == [(1, 0), (2, 0), (4, 0), (7, 0)]
        assert all(one.failures == 0 for one in society.supervisor.report().actors)


def test_a_device_that_is_full_loses_nothing_and_the_next_step_goes_on(tmp_path: Path) -> None:
    full = DeviceExhausted(implementation="bag", why="there is no room")
    with Society(
        tmp_path, encoder=BagEncoder(batch=3), sources={"a": turns([f"text {n}" for n in range(10)])}
    ) as society:
        society.encoder.chokes_on = lambda text: full if text == "text 4" else None
        society.take("a")
        for _ in range(10):  # more often than a failure may be
            with pytest.raises(DeviceExhausted):
                society.embed()
        assert society.supervisor.report().actors[1].failures == 0
        society.encoder.chokes_on = lambda text: None
        assert society.embed().done == 10
        assert windows(society) == [(row, 0) for row in range(1, 11)]


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
    with Society(tmp_path, encoder=encoder, sources={"a": turns([f"text {n}" for n in range(50)])}) as society:
        society.take("a")
        idle(society)
        assert windows(society) == [(row, 0) for row in range(1, 51)]
        assert encoder.encoded == [f"text {n}" for n in range(50)]
        assert society.supervisor.report().actors[1].failures == 0


# --- nothing lost, nothing doubled -----------------------------------------------------------------------------------


def test_a_backlog_is_taken_up_again_after_a_stop_and_no_window_is_lost_or_doubled(tmp_path: Path) -> None:
    texts = [f"text {n} " + "x" * (300 * (n % 3)) for n in range(90)]
    with Society(tmp_path, encoder=Held(), sources={"a": turns(texts)}) as society:
        society.take("a")
        society.encoder.gate.release(70)
        for _ in range(70):
            assert society.encoder.entered.acquire(timeout=BOUND_S)
    with Society(tmp_path) as society:
        answer = society.embed()
        assert (answer.done, answer.pending) == (90, 0)
        expected = [(row, start) for row, text in enumerate(texts, 1) for start in range(0, len(text), 200)]
        assert windows(society) == expected


def test_what_is_embedded_when_everything_stops_is_kept(tmp_path: Path) -> None:
    with Society(tmp_path, encoder=Held(), sources={"a": turns([f"text {n}" for n in range(30)])}) as society:
        society.take("a")
        society.encoder.gate.release(10)
        for _ in range(11):
            assert society.encoder.entered.acquire(timeout=BOUND_S)  # ten are done, and one is begun
    assert len(society.encoder.encoded) == 11
    with Society(tmp_path) as society:
        assert len(windows(society)) == 11


@pytest.mark.parametrize("dies_at", [1, 63, 64, 65, 100])
def test_an_embedder_that_dies_goes_on_by_itself_and_no_window_is_lost_or_doubled(tmp_path: Path, dies_at: int) -> None:
    deaths = [RuntimeError("the device went away")] * 2  # for a plain window as well

    def die(text: str) -> BaseException | None:
        return deaths.pop() if deaths and len(society.encoder.encoded) >= dies_at else None

    with Society(tmp_path, sources={"a": turns([f"text {n}" for n in range(150)])}) as society:
        society.encoder.chokes_on = die
        society.take("a")
        idle(society)
        assert not deaths
        assert society.supervisor.report().actors[1].failures == 1
        assert windows(society) == [(row, 0) for row in range(1, 151)]


def test_a_bundle_that_the_store_refuses_is_kept_the_next_time(tmp_path: Path) -> None:
    refusals = [StoreBusy(path="x", waited_s=1.0)] * 2
    with Society(tmp_path, sources={"a": turns([f"text {n}" for n in range(70)])}) as society:
        society.take_quietly("a")
        ask = society.supervisor._post.send

        def refuse(message: Any, *args: Any, **options: Any) -> Any:
            if isinstance(message, Apply) and message.author == "embedder" and refusals:
                raise refusals.pop()
            return ask(message, *args, **options)

        society.supervisor._post.send = refuse  # type: ignore[method-assign]
        for _ in range(2):
            with pytest.raises(StoreBusy):
                society.embed()
        assert society.embed().done == 70
        assert len(society.encoder.encoded) == 70
        assert windows(society) == [(row, 0) for row in range(1, 71)]


def test_after_the_vectors_were_given_up_everything_is_embedded_again(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns([f"text {n}" for n in range(80)])}) as society:
        society.take("a")
        society.embed()
        before = windows(society)
        for _ in range(2):
            society.ask(Rebuild(meaning=True))
            assert society.embed().done == 80
            assert windows(society) == before


def test_vectors_that_are_kept_just_after_all_were_given_up_find_room(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns(["one", "two"])}) as society:
        society.take_quietly("a")
        society.embed()
        ask, rebuilt = society.supervisor._post.send, []

        def give_up_first(message: Any, *args: Any, **options: Any) -> Any:
            if isinstance(message, Apply) and message.author == "embedder" and not rebuilt:
                rebuilt.append(ask(Rebuild(meaning=True), *args, **options).get())
            return ask(message, *args, **options)

        society.supervisor._post.send = give_up_first  # type: ignore[method-assign]
        society.keep("three")
        idle(society)
        assert len(rebuilt) == 1
        assert society.embed().done == 3
        assert windows(society) == [(1, 0), (2, 0), (3, 0)]
        assert all(one.failures == 0 for one in society.supervisor.report().actors)


# --- another model ---------------------------------------------------------------------------------------------------


def test_another_model_embeds_everything_anew_in_the_background_while_words_and_then_the_old_vectors_go(
    tmp_path: Path,
) -> None:
    sources = {"a": turns([f"text {n}" for n in range(100)])}
    with Society(tmp_path, sources=sources) as society:
        society.take("a")
        society.embed()
    other = Held("other")
    with Society(tmp_path, encoder=other) as society:
        society.supervisor.tell(Committed(seq=0))
        other.gate.release(70)
        for _ in range(71):
            assert other.entered.acquire(timeout=BOUND_S)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(society.recall, "text 7")
            until_asked(society)
            other.gate.release(2)
            recalled = asked.result(BOUND_S)
        assert recalled.hits[0].text == b"text 7"
        assert any("are found by their words only so far" in line for line in recalled.degraded)
        assert len(windows(society, BagEncoder())) == 100  # the old ones stand until the new ones are whole
    last = BagEncoder("other")
    with Society(tmp_path, encoder=last) as society:
        assert len(windows(society)) >= 64
        society.embed()
        assert windows(society) == [(row, 0) for row in range(1, 101)]
        assert windows(society, BagEncoder()) == []
        assert len(last.encoded) <= 37  # what was kept before the stop was not made again


def test_going_back_to_the_first_model_makes_its_vectors_again(tmp_path: Path) -> None:
    sources = {"a": turns(["one", "two"])}
    for name in ("bag", "other", "bag", "other"):
        with Society(tmp_path, encoder=BagEncoder(name), sources=sources) as society:
            society.take("a")
            assert society.embed().done == 2
            assert windows(society) == [(1, 0), (2, 0)]
            assert [one.implementation for one in society.look(lambda snapshot: snapshot.encoders())] == [name]


def test_vectors_that_another_process_dropped_are_made_again(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns(["one", "two", "three"])}) as society:
        society.take("a")
        society.embed()
        with Society(tmp_path, encoder=BagEncoder("other")) as rival:
            rival.embed()
            assert windows(rival) == [(1, 0), (2, 0), (3, 0)]
            assert windows(society) == []
            assert society.embed().done == 3
            assert windows(society) == [(1, 0), (2, 0), (3, 0)]


# --- no model, odd texts ---------------------------------------------------------------------------------------------


def test_without_a_model_words_answer_and_the_reply_and_the_dead_letter_say_so(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns(["the kettle is on"])}) as society:
        society.load = missing
        society.take("a")
        with pytest.raises(ModelMissing):
            society.embed()
        recalled = society.recall("kettle")
        assert [hit.text for hit in recalled.hits] == [b"the kettle is on"]
        assert recalled.degraded == (
            "meaning: The embedding model is not at /nowhere: it is gone. Words alone answered.",
        )
        letters = society.supervisor.report().last_dead_letters
        assert [(one.message, one.reason) for one in letters] == [("EmbedMore", "model_missing")]
        assert all(one.failures == 0 for one in society.supervisor.report().actors)
        society.load = lambda: society.encoder  # it is put there: no restart is needed
        assert society.embed().done == 1


def test_a_long_text_is_embedded_so_far_and_the_rest_is_counted_as_partly(tmp_path: Path) -> None:
    long = "word " * 1000
    sources = {"a": [*turns([long, "short"]), *turns([long], kind="tool_result", role="tool")]}
    with Society(tmp_path, sources=sources, max_windows=3) as society:
        society.take("a")
        answer = society.embed()
        assert (answer.done, answer.partly) == (3, 2)
        assert windows(society) == [(1, 0), (1, 200), (1, 400), (2, 0), (3, 0), (3, 200)]


def test_a_speakers_name_is_embedded_with_the_text_and_does_not_shift_its_places(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns(["x" * 450], speaker="Maud")}) as society:
        society.take("a")
        society.embed()
        assert society.encoder.encoded[0].startswith("Maud: xxx")
        assert windows(society) == [(1, 0), (1, 194), (1, 394)]


def test_a_name_longer_than_all_windows_is_no_trouble(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns(["text"], speaker="M" * 900)}, max_windows=2) as society:
        society.take("a")
        assert society.embed().partly == 1


def test_bulk_comes_after_everything_else(tmp_path: Path) -> None:
    items = [*turns([f"bulk {n}" for n in range(5)], kind="tool_result"), *turns([f"said {n}" for n in range(100)])]
    with Society(tmp_path, sources={"a": items}) as society:
        society.take_quietly("a")
        society.embed()
        assert society.encoder.encoded == [f"said {n}" for n in range(100)] + [f"bulk {n}" for n in range(5)]


def choke_on_poison(text: str) -> BaseException | None:
    return ValueError("the tea is in the blue tin") if "poison" in text else None


def break_on_poison(text: str) -> BaseException | None:
    return RuntimeError("the tea is in the blue tin") if "poison" in text else None


def bad_vector(encoder: BagEncoder) -> Callable[[Any], Any]:
    encode = encoder.encode

    def encoded(windows: Any) -> Any:
        vectors = encode(windows)
        for vector, text in zip(vectors, encoder.encoded[-len(windows) :], strict=True):
            vector[:] = np.nan if "poison" in text else vector
        return vectors

    return encoded


@pytest.mark.parametrize("batch", [1, 2, 3, 16])
@pytest.mark.parametrize("how", ["raises", "raises later", "breaks", "no number"])
def test_a_text_that_the_model_fails_on_holds_up_no_other_and_is_counted_and_logged_without_its_words(
    tmp_path: Path, how: str, batch: int, caplog: pytest.LogCaptureFixture
) -> None:
    poison = "fine " * 50 + "poison" if how == "raises later" else "poison"
    sources = {"a": turns(["one", poison, "two", poison + "!"])}
    with Society(tmp_path, encoder=BagEncoder(batch=batch), sources=sources) as society:
        if how == "no number":
            society.encoder.encode = bad_vector(society.encoder)  # type: ignore[method-assign]
        else:
            society.encoder.chokes_on = break_on_poison if how == "breaks" else choke_on_poison
        society.take("a")
        answer = society.embed()
        assert (answer.done, answer.pending, answer.partly) == (4, 0, 2)
        assert windows(society) == [(1, 0), (3, 0)]
        assert society.recall("poison", signals=("lexical",)).hits[0].text.endswith(b"poison")
        assert caplog.text.count("found by its words only") == 2
        assert "blue tin" not in caplog.text
        assert all(one.failures == 0 for one in society.supervisor.report().actors)
    with Society(tmp_path) as society:  # it is not tried again and again
        society.embed()
        assert society.encoder.encoded == []


@pytest.mark.parametrize("batch", [1, 4])
def test_a_fault_that_passes_costs_no_text_its_meaning(tmp_path: Path, batch: int) -> None:
    faults = [RuntimeError("a cosmic ray")]
    sources = {"a": turns([f"text {n}" for n in range(10)])}
    with Society(tmp_path, encoder=BagEncoder(batch=batch), sources=sources) as society:
        society.encoder.chokes_on = lambda text: faults.pop() if text == "text 6" and faults else None
        society.take("a")
        assert society.embed().partly == 0
        assert windows(society) == [(row, 0) for row in range(1, 11)]
        assert society.supervisor.report().actors[1].failures == 0


def test_where_nothing_at_all_can_be_embedded_it_comes_to_an_end(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns([f"poison {n}" for n in range(200)])}) as society:
        society.encoder.chokes_on = choke_on_poison
        society.take("a")
        answer = society.embed()
        assert (answer.done, answer.pending, answer.partly) == (200, 0, 200)


@pytest.mark.parametrize("choke", [choke_on_poison, break_on_poison])
def test_a_question_that_the_model_fails_on_is_answered_by_words_and_is_no_failure(
    tmp_path: Path, choke: Callable[[str], BaseException | None]
) -> None:
    with Society(tmp_path, sources={"a": turns(["one poison"])}) as society:
        society.take("a")
        society.embed()
        society.encoder.chokes_on = choke
        with pytest.raises(NotEmbeddable):
            society.ask(EmbedQuery(text="poison"))
        for _ in range(10):
            recalled = society.recall("poison")
            assert [hit.text for hit in recalled.hits] == [b"one poison"]
            assert "Words alone answered." in recalled.degraded[0]
        assert society.supervisor.report().actors[1].failures == 0


def test_a_model_that_keeps_dying_is_set_aside_with_its_reason_and_words_go_on(tmp_path: Path) -> None:
    policy = Policy(failures=3, first_delay_s=0.0)
    with Society(tmp_path, sources={"a": turns(["the kettle is on"])}, policy=policy) as society:
        society.encoder.chokes_on = lambda text: RuntimeError("the tea is in the blue tin")
        society.take("a")
        pause = threading.Event()
        while not society.supervisor.report().actors[1].quarantined:
            pause.wait(0.001)
        recalled = society.recall("kettle")
        assert [hit.text for hit in recalled.hits] == [b"the kettle is on"]
        assert "embedder failed 3 times and was set aside: RuntimeError at encode" in recalled.degraded[0]
        society.keep("captured all the same")


def test_whoever_waits_for_the_backlog_is_told_when_the_embedder_dies(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"a": turns(["one"])}) as society:
        society.take_quietly("a")
        society.encoder.chokes_on = lambda text: RuntimeError("gone")
        with pytest.raises(ActorFailed):
            society.embed()


def test_a_question_is_embedded_as_one_window_of_unit_length(tmp_path: Path) -> None:
    with Society(tmp_path) as society:
        answer = society.ask(EmbedQuery(text="word " * 1000))
        assert isinstance(answer, QueryEmbedded)
        assert society.encoder.encoded == [("word " * 40)]
        assert np.linalg.norm(np.frombuffer(answer.vector, "<f4")) == pytest.approx(1.0)
        assert answer.encoder.implementation == "bag"


def test_closing_lets_go_of_the_store() -> None:
    closed: list[bool] = []

    class Source:
        def close(self) -> None:
            closed.append(True)

    EmbedderActor(missing, Source(), 1, 1).close()  # type: ignore[arg-type]
    assert closed == [True]
