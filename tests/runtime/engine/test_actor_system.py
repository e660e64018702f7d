"""A factory makes every actor in any process and carries no secret; an actor system is the one that the settings
name.
"""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.messages import CaptureText
from mnemic.actors.communities.messages import ListCommunities
from mnemic.actors.kernel.errors import Fenced, KeyMismatch, KeyMissing, MnemicError
from mnemic.actors.kernel.ports import Source
from mnemic.actors.knowledge.messages import UpdateFacts
from mnemic.actors.recall.messages import Recall
from mnemic.actors.sleep.messages import NightReport, Sleep
from mnemic.actors.store.messages import Count
from mnemic.hooks.read.formats import open_transcript
from mnemic.runtime.engine import actor_system
from mnemic.runtime.engine.actor_system import ActorFactory, start_actor_system
from mnemic.runtime.engine.engine import EmbeddedEngine, Placement
from mnemic.runtime.engine.plugins import BUILT_IN_ACTORS, SLOTS, class_path
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.engine.supervisor import ActorSpec, Supervisor
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.store.store import TransactionMetadata
from tests.clocks import ManualClock
from tests.harness import NOWHERE, START_US
from tests.runtime.building import child, finish

SECRET = b"the tea is in the blue tin"


def no_transcripts(path: str, format: str) -> Source:
    """A transcript opener that another process can import."""
    raise AssertionError(path)


@pytest.fixture
def mind(tmp_path: Path) -> tuple[MindFolder, Keys]:
    create_mind(tmp_path / "home", "default", ManualClock(START_US))
    return open_mind(tmp_path / "home", "default")


def started(mind: tuple[MindFolder, Keys], settings: Settings | None = None, **options: Any) -> Supervisor:
    """An actor system whose model is not there."""
    settings = settings or Settings({"embedder.model": "/nowhere"})
    given: dict[str, Any] = {"opener": no_transcripts, "code": "test"} | options
    return start_actor_system(*mind, settings, ManualClock(START_US), **given)


@pytest.fixture
def specs(monkeypatch: pytest.MonkeyPatch) -> list[ActorSpec]:
    """What is given to the supervisor."""
    given: list[ActorSpec] = []

    class Watched(Supervisor):
        def __init__(self, engine: Any, specs: Any, **options: Any) -> None:
            given.extend(specs)
            super().__init__(engine, specs, **options)

    monkeypatch.setattr(actor_system, "Supervisor", Watched)
    return given


def recipe_of(specs: list[ActorSpec]) -> ActorFactory:
    recipe = specs[0].make.func.__self__  # type: ignore[attr-defined]
    assert isinstance(recipe, ActorFactory)
    return recipe


def keep(actor_system: Supervisor, text: bytes = SECRET) -> None:
    actor_system.ask(CaptureText(text=text, role="user", session="s", place=NOWHERE))


def test_the_slots_start_in_order_with_their_built_in_actors_on_the_embedded_engine(
    mind: tuple[MindFolder, Keys], specs: list[ActorSpec]
) -> None:
    running = started(mind)
    assert [actor.actor for actor in running.report().actors] == list(SLOTS)
    running.stop()
    assert [(spec.name, spec.kind) for spec in specs] == list(BUILT_IN_ACTORS.items())
    assert isinstance(running._engine, EmbeddedEngine)
    assert {spec.capacity for spec in specs} == {256}


def test_who_needs_the_homes_files_is_pinned_the_embedder_asks_for_gpus_and_nights_yield(
    mind: tuple[MindFolder, Keys], specs: list[ActorSpec]
) -> None:
    torch = {"embedder.implementation": "torch-float16", "embedder.model": "/nowhere"}
    started(mind, Settings({"embedder.gpus": 0.5, "runtime.other_nodes": True, **torch})).stop()
    assert {spec.name: spec.placement for spec in specs} == {
        "store": Placement(pinned=True),
        "embedder": Placement(pinned=True, gpus=0.5),
        "binder": Placement(pinned=True),
        "retriever": Placement(pinned=True),
        "capture": Placement(pinned=True),
        "communities": Placement(background=True),
        "knowledge": Placement(background=True),
        "consolidator": Placement(background=True),
    }


def test_nobody_leaves_the_homes_machine_unless_the_settings_say_so(
    mind: tuple[MindFolder, Keys], specs: list[ActorSpec]
) -> None:
    started(mind).stop()
    assert all(spec.placement.pinned for spec in specs)


def test_no_gpu_is_asked_for_where_torch_does_not_embed(mind: tuple[MindFolder, Keys], specs: list[ActorSpec]) -> None:
    named = {"embedder.implementation": "numpy-float32", "embedder.model": "/nowhere"}
    started(mind, Settings({"embedder.gpus": 0.5, **named})).stop()
    assert {spec.placement.gpus for spec in specs} == {0.0}


def test_a_recipe_makes_every_actor_in_another_process_and_carries_neither_key_nor_memory(
    mind: tuple[MindFolder, Keys], specs: list[ActorSpec], tmp_path: Path
) -> None:
    running = started(mind, opener=open_transcript, fence="home")
    keep(running)
    pickled = pickle.dumps([(spec.name, spec.make) for spec in specs])
    folder, keys = mind
    for secret in (SECRET, keys.store_key, keys.seed, folder.key.read_bytes(), keys.store_key.hex().encode()):
        assert secret not in pickled
    running.stop()
    (tmp_path / "recipe").write_bytes(pickled)
    made = finish(child("runtime.engine.test_actor_system:make_all", tmp_path / "recipe"))
    assert made.split() == [f"{slot}={class_path(kind)}" for slot, kind in BUILT_IN_ACTORS.items()]


def make_all(path: str) -> None:
    """In a process of its own: make each actor, have the retriever answer, and say what was made."""
    for slot, make in pickle.loads(Path(path).read_bytes()):
        actor = make()
        if slot == "retriever":
            assert actor.handle(Count(), None).memories == 1
        if hasattr(actor, "close"):
            actor.close()
        print(f"{slot}={class_path(type(actor))}")


def test_an_opener_may_be_named_by_its_module(mind: tuple[MindFolder, Keys], tmp_path: Path) -> None:
    folder, keys = mind
    made = ActorFactory(
        folder=folder,
        check=keys.check,
        actors={slot: class_path(kind) for slot, kind in BUILT_IN_ACTORS.items()},
        settings=Settings().values(),
        stamp=TransactionMetadata(),
        open_transcript="mnemic.hooks.read.formats:open_transcript",
    )
    transcript = tmp_path / "a.jsonl"
    transcript.write_text('{"session": "s", "role": "user", "text": "hello"}\n', "utf-8")
    for opener in (made.ports().open_transcript, open_transcript):
        with contextlib.closing(opener(str(transcript), "auto")) as source:
            assert source.format == "jsonl"
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_key_that_is_gone_or_another_minds_is_said_when_an_actor_is_made(
    mind: tuple[MindFolder, Keys], specs: list[ActorSpec]
) -> None:
    started(mind).stop()
    recipe = recipe_of(specs)
    for content, error in ((bytes(32), KeyMismatch), (None, KeyMissing)):
        mind[0].key.unlink()
        if content is not None:
            mind[0].key.write_bytes(content)
        for slot in SLOTS:
            with pytest.raises(error):
                recipe.make(slot)
            with pytest.raises(MnemicError):
                started(mind)


def test_every_slot_answers(mind: tuple[MindFolder, Keys]) -> None:
    running = started(mind)
    keep(running)
    assert running.ask(Recall(query="tea", observe=False)).hits[0].data == SECRET
    night = running.ask(Sleep(run="n1", seed=bytes(32), budget_s=60.0))
    assert isinstance(night, NightReport)
    assert (night.run, night.steps, night.changes, night.finished) == ("n1", ("fingerprints",), 1, False)
    assert running.ask(ListCommunities()).total == 0
    assert running.ask(UpdateFacts()).done == 1
    running.stop()


def test_a_actor_system_that_takes_over_fences_the_writer_of_the_one_before(mind: tuple[MindFolder, Keys]) -> None:
    before, alone = started(mind, fence="home"), started(mind)
    keep(before)
    after = started(mind, fence="home")
    with pytest.raises(Fenced, match="replaced by a newer one"):
        keep(before, b"one")
    for other in (after, alone):  # whoever has no fence is nobody's rival
        keep(other, b"two")
    assert after.ask(Count()).memories == 2
    assert not any(actor.failures for running in (before, after, alone) for actor in running.report().actors)
    for running in (before, after, alone):
        running.stop()
