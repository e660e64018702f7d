"""The laws of `BackgroundWorker`, for every actor that has one: the same comes whatever the batches, failures and
stops are; a question waits for one step; who asks for steps is not in a question's way.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.actors.communities import boundary_work
from mnemic.actors.communities.communities import CommunitiesActor
from mnemic.actors.communities.messages import UpdateCommunities
from mnemic.actors.kernel.background import MindOpened, WorkOn
from mnemic.actors.kernel.contract import Actor
from mnemic.actors.kernel.errors import StoreBusy
from mnemic.actors.kernel.ports import Ports
from mnemic.actors.knowledge import knowledge
from mnemic.actors.knowledge.knowledge import KnowledgeActor
from mnemic.actors.knowledge.messages import UpdateFacts
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.meaning.embedder import EmbedderActor
from mnemic.actors.meaning.messages import DescribeEncoder, EmbedPending, EncoderDescribed
from mnemic.actors.shape import binder
from mnemic.actors.shape.binder import BinderActor
from mnemic.actors.shape.messages import BindPending
from mnemic.actors.store.messages import Apply, Committed
from mnemic.runtime.engine.plugins import BUILT_IN_ACTORS
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.clocks import ManualClock
from tests.harness import START_US, BagEncoder
from tests.runtime.building import KEYS, apply, held, without_derived

SAID = (
    "The office is in Berlin.",
    "The mooring is at the harbour, by the keel of the dinghy.",
    "The oven bakes a loaf of flour and yeast.",
    "The office is in Hamburg now.",
    "The dinghy has a rudder and an anchor at the mooring.",
    "Ada Lovelace lives in Lisbon.",
    "The crust of the loaf is dough from the oven.",
    "Ada Lovelace lives in Porto now.",
)


class Worker(NamedTuple):
    """An actor that works in the background, and what a test needs of it."""

    slot: str
    kind: type[Actor]
    step: Any
    """Asks for a step."""
    sizes: tuple[tuple[Any, str], ...]
    """The constants that say how much a step does."""
    leaves_to_caller: bool
    after_opening: bool
    """Whether it goes on when the mind is opened."""


WORKERS = (
    Worker("embedder", EmbedderActor, EmbedPending(), (), True, False),
    Worker("binder", BinderActor, BindPending(), ((binder, "_FETCH"),), True, True),
    Worker(
        "communities",
        CommunitiesActor,
        UpdateCommunities(),
        ((boundary_work, "_STEP_PRODUCTS"), (boundary_work, "_STEP_EDGES")),
        False,
        True,
    ),
    Worker("knowledge", KnowledgeActor, UpdateFacts(), ((knowledge, "_AT_ONCE"),), False, True),
)
each_worker = pytest.mark.parametrize("worker", WORKERS, ids=[one.slot for one in WORKERS])


class Killed(Exception):
    """Stands for whatever ends an instance in the middle of a step."""


class Alone:
    """One actor, the store that it has written to, and the messages that it sends to itself."""

    trace = "t"

    def __init__(self, store: Path, kind: type[Actor], batch: int = 1) -> None:
        self.path = store
        self.told: list[Any] = []
        self.applied = 0
        self.stopping = False
        self.faults: list[str] = []
        """What becomes of the next changes, one after the other."""
        self._kind = kind
        self._encoder = BagEncoder(window_chars=30, batch=batch)
        self.store = Store.open(store, KEYS)
        unused: Any = None
        self._ports = Ports(
            settings=Settings({"communities.every": 1}).values(),
            open_store=unused,
            open_snapshots=lambda: open_reader(store, KEYS, ManualClock(START_US)),
            load_encoder=lambda: self._encoder,
            open_transcript=unused,
            resolve_scope=unused,
            stat_file=unused,
            open_spool=unused,
            read_record=unused,
            scrub=unused,
            is_ignored_folder=unused,
            identity=unused,
            seed=KEYS.seed,
        )
        self.actor: Any = kind.make(self._ports)

    def close(self) -> None:
        self.actor.close()
        self.store.close()

    def restart(self) -> None:
        """Have another instance take the place of this one."""
        self.actor.close()
        self.actor = self._kind.make(self._ports)

    def cancelled(self) -> bool:
        return self.stopping

    def tell(self, message: Any) -> None:
        assert message == WorkOn()
        self.told.append(message)

    def ask(self, message: Any, timeout_s: float = 60.0) -> Any:
        if isinstance(message, DescribeEncoder):
            name = EncoderName(self._encoder.implementation, self._encoder.model)
            return EncoderDescribed(encoder=name, dimensions=self._encoder.dimensions)
        assert isinstance(message, Apply)
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "busy":
            raise StoreBusy(path="x", waited_s=1.0)
        if fault == "killed before":
            raise Killed
        answer = self.store.apply(message.changes, at=START_US, key=message.key, author=message.author, run=message.run)
        self.applied += 1
        if fault == "killed after":
            raise Killed
        return answer

    def handle(self, message: Any) -> Any:
        return self.actor.handle(message, self)

    def work_on(self) -> None:
        """Take steps until the last."""
        while self.told:
            self.told.pop()
            self.handle(WorkOn())

    def work(self, restarts: list[bool] | None = None) -> None:
        """Work to the end, over all faults and restarts; a commit comes where a failed step left nothing under way."""
        left = [] if restarts is None else list(restarts)
        self.told.clear()
        message: Any = Committed(seq=1)
        while True:
            try:
                self.handle(message)
            except StoreBusy:
                assert self.told == [], "it waits for the next event"
                message = Committed(seq=1)
                continue
            except Killed:
                self.restart()
                message = self.told.pop() if self.told else Committed(seq=1)
                continue
            if not self.told:
                return
            (message,) = self.told
            self.told.clear()
            if left and left.pop():  # the next process begins when the mind is opened, or something comes
                self.restart()
                message = MindOpened() if MindOpened in self._kind.takes and self.applied else Committed(seq=1)


def derived(store: Path) -> dict[str, Any]:
    """All that actors made of the memories."""
    found = held(store)
    return {name: rows for name, rows in found.items() if name not in without_derived(found)}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Worker], Path]:
    """Gives a worker a store of its own, with a few memories on which everything that goes before it was done."""
    folder = tmp_path_factory.mktemp("background")
    plain, embedded = folder / "plain", folder / "embedded"
    plain.mkdir()
    with closing(Store.create(plain / "store.db", KEYS)) as store:
        apply(store, *(added(at, text.encode(), said_at=START_US + at) for at, text in enumerate(SAID, 1)))
    shutil.copytree(plain, embedded)
    with closing(Alone(embedded / "store.db", EmbedderActor)) as alone:
        alone.work()
    copies = count()

    def copy(worker: Worker) -> Path:
        source = embedded if worker.slot in ("binder", "communities") else plain
        return Path(shutil.copytree(source, folder / f"{next(copies)}")) / "store.db"

    return copy


@pytest.fixture(scope="module")
def finished(stores: Callable[[Worker], Path]) -> dict[str, dict[str, Any]]:
    """What each worker makes when nothing is in its way."""
    found = {}
    for worker in WORKERS:
        path = stores(worker)
        with closing(Alone(path, worker.kind, batch=1000)) as alone:
            alone.work()
            assert alone.applied
        found[worker.slot] = derived(path)
    return found


def test_every_actor_that_works_on_by_itself_is_held_to_these_laws() -> None:
    assert {slot for slot, kind in BUILT_IN_ACTORS.items() if WorkOn in kind.takes} == {one.slot for one in WORKERS}
    assert all(one.after_opening == (MindOpened in one.kind.takes) for one in WORKERS)


@each_worker
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    size=st.integers(1, 5),
    faults=st.lists(st.sampled_from(["", "busy", "killed before", "killed after"]), max_size=6),
    restarts=st.lists(st.booleans(), max_size=8),
)
def test_the_same_comes_whatever_the_batches_are_and_whoever_is_stopped_or_fails(
    stores: Callable[[Worker], Path],
    finished: dict[str, dict[str, Any]],
    worker: Worker,
    size: int,
    faults: list[str],
    restarts: list[bool],
) -> None:
    path = stores(worker)
    with pytest.MonkeyPatch.context() as patched:
        for module, name in worker.sizes:
            patched.setattr(module, name, size)
        with closing(Alone(path, worker.kind, batch=size)) as alone:
            alone.faults = faults
            alone.work(restarts)
            assert alone.handle(worker.step).pending == 0
    assert derived(path) == finished[worker.slot]


@pytest.fixture
def alone(stores: Callable[[Worker], Path], worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A worker that takes small steps."""
    for module, name in worker.sizes:
        monkeypatch.setattr(module, name, 1)
    with closing(Alone(stores(worker), worker.kind)) as alone:
        yield alone


@each_worker
def test_one_step_is_under_way_however_many_events_come(alone: Alone) -> None:
    for seq in range(3):
        alone.handle(Committed(seq=seq))
    assert alone.told == [WorkOn()]
    alone.handle(WorkOn())
    alone.handle(Committed(seq=4))
    assert alone.told == [WorkOn()] * 2


@each_worker
def test_a_failure_is_raised_and_the_next_instance_goes_on(alone: Alone) -> None:
    alone.handle(Committed(seq=1))
    alone.faults = ["killed before"]
    with pytest.raises(Killed):
        alone.work_on()
    assert alone.told == [WorkOn()]


@each_worker
def test_an_answer_of_the_store_that_keeps_a_step_from_being_kept_ends_the_work_until_the_next_event(
    alone: Alone,
) -> None:
    alone.handle(Committed(seq=1))
    alone.faults = ["busy"]
    with pytest.raises(StoreBusy):
        alone.work_on()
    assert alone.told == []
    alone.handle(Committed(seq=2))
    assert alone.told == [WorkOn()]


@each_worker
def test_whoever_is_to_stop_takes_up_nothing_more(alone: Alone) -> None:
    alone.handle(Committed(seq=1))
    alone.told.clear()
    before, alone.stopping = alone.applied, True
    alone.handle(WorkOn())
    alone.handle(Committed(seq=2))
    assert alone.told == []
    assert alone.applied - before <= 1, "what was begun may be kept"


@each_worker
def test_the_rest_is_left_to_whoever_asks_for_steps_or_goes_on_by_itself(alone: Alone, worker: Worker) -> None:
    alone.handle(Committed(seq=1))
    alone.told.clear()  # as if it were handled later
    assert alone.handle(worker.step).pending > 0
    alone.handle(WorkOn())
    assert alone.told == ([] if worker.leaves_to_caller else [WorkOn()])
    alone.handle(Committed(seq=2))
    assert alone.told == [WorkOn()], "an event ends the rest"


@each_worker
def test_opening_a_mind_has_what_was_left_done(alone: Alone, worker: Worker) -> None:
    if not worker.after_opening:
        assert MindOpened not in worker.kind.takes, "the next commit has it done"
        return
    alone.handle(Committed(seq=1))
    alone.handle(WorkOn())
    alone.restart()
    alone.told.clear()
    alone.handle(MindOpened())
    assert alone.told == [WorkOn()]
