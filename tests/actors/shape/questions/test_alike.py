"""The same kind of thing is found again, whoever it happened to, whenever and wherever, in whatever words."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mnemic.actors.capture.forget_messages import Forget, Recover
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.recall.messages import Hit
from mnemic.actors.shape.messages import Shape, Shaped
from mnemic.actors.shape.questions.typed import as_typed
from tests.harness import ActorHarness
from tests.shaped import answers, call, event, shape, shaped, work


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    events = [one for number in range(4) for one in work(number)]
    for number, (tool, file) in enumerate((("Write", "/q/oars.js"), ("Write", "/q/mast.js"), ("Read", "/q/keel.js"))):
        text = f"{tool}\nfile_path: {file}"
        events += call(50_000 + 1_440 * number, f"q{number}", tool, text, file, "ok")
    for number, (who, where, by) in enumerate((("Ana", "Oslo", "cem"), ("Bob", "Lima", "dot"), ("Eve", "Rome", "fay"))):
        said = f"{who} lives in {where}"
        events.append(event(60_000 + number, "user", said, f"t{number}", speaker=by, scope=f"far/{number}"))
    events.append(event(60_010, "user", "Ana works at Kin", "t9", speaker="cem", scope="far/0"))
    with shaped(tmp_path_factory.mktemp("mind"), events) as actor_system:
        yield actor_system


def first(mind: ActorHarness, **pattern: str) -> Hit:
    return shape(mind, pattern).hits[0]


def like(mind: ActorHarness, *hits: Hit, pattern: dict[str, str] | None = None, **more: object) -> Shaped:
    return shape(mind, pattern, like=tuple(hit.id for hit in hits), **more)


def shapes(found: Shaped) -> dict[bytes, float]:
    """How much of the structure each memory shares."""
    return {hit.id: hit.why["shape"] for hit in found.hits}


def test_the_same_kind_of_step_is_most_alike_and_the_memory_itself_is_not_told(mind: ActorHarness) -> None:
    failed = shape(mind, {"kind": "tool_call", "tool": "pytest", "outcome": "failed"}, k=20).hits[-1]
    found = like(mind, failed, k=40)
    assert failed.id not in {hit.id for hit in found.hits}
    same = {hit.id for hit in shape(mind, {"action": "test", "outcome": "failed"}, k=20).hits}
    shared = shapes(found)
    assert max(shared, key=lambda one: shared[one]) in same
    scores = [round(hit.score, 5) for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= one <= 1 for hit in found.hits for one in (hit.score, *hit.why.values()))
    assert set(found.hits[0].why) == {"shape", "about"}


def test_who_when_and_where_make_nothing_less_alike(mind: ActorHarness) -> None:
    written = first(mind, kind="tool_call", tool="write", file="oars.js")
    assert like(mind, written, k=1).hits[0].text == "Write\nfile_path: /q/mast.js"
    ana = first(mind, subject="ana", relation="lives in")
    found = like(mind, ana, k=40)
    shared = {hit.text: hit.why["shape"] for hit in found.hits}
    other = max(share for text, share in shared.items() if " lives in " not in text and "Ana" not in text)
    assert min(shared["Bob lives in Lima"], shared["Eve lives in Rome"]) > other


def test_what_is_to_be_otherwise_takes_the_place_of_what_it_has(mind: ActorHarness) -> None:
    failed = shape(mind, {"kind": "tool_call", "tool": "pytest", "outcome": "failed"}, k=20).hits[-1]
    ok = {hit.id for hit in shape(mind, {"outcome": "ok"}, k=90).hits}
    otherwise = like(mind, failed, pattern={"outcome": "ok"}, k=60)
    assert {hit.id for hit in otherwise.hits} <= ok
    shared = shapes(otherwise)
    best = {hit.id for hit in shape(mind, {"action": "test", "outcome": "ok"}, k=20).hits}
    assert max(shared, key=lambda one: shared[one]) in best
    nothing = like(mind, failed, pattern={"tool": "cargo"})
    assert nothing.hits == ()
    assert nothing.degraded == (
        "tool: no memory has 'cargo' as its tool",
        "no memory looked through is otherwise in this way",
    )
    elsewhere = like(mind, failed, pattern={"project": "far/0"})
    assert {hit.scope for hit in elsewhere.hits} == {"far/0"}


def test_what_fills_a_role_is_read_from_those_that_are_most_alike(mind: ActorHarness) -> None:
    written = first(mind, kind="tool_call", tool="write", file="oars.js")
    found = answers(like(mind, written, pattern={"action": "?", "tool": "?"}, k=5), "tool")
    assert next(iter(found)) == "write"
    assert sum(one.confidence for one in found.values()) <= 1.01


def test_of_several_what_they_have_in_common_counts(mind: ActorHarness) -> None:
    written = [first(mind, kind="tool_call", tool="write", file=name) for name in ("oars.js", "mast.js")]
    found = like(mind, *written, k=1)
    assert found.hits[0].text == "Read\nfile_path: /q/keel.js"


def test_only_what_is_looked_through_is_found_and_nothing_outside_the_scope_is_a_probe(mind: ActorHarness) -> None:
    ana = first(mind, subject="ana", relation="lives in")
    assert [hit.text for hit in like(mind, ana, scope="far", session="t2").hits] == ["Eve lives in Rome"]
    with pytest.raises(InvalidValue, match="no memory in the scope looked through has this id") as outside:
        like(mind, ana, scope="work/auth")
    with pytest.raises(InvalidValue) as unknown:
        shape(mind, like=(bytes(16),))
    told, other = (
        str(one.value).replace(str(uuid.UUID(bytes=id)), "") for one, id in ((outside, ana.id), (unknown, bytes(16)))
    )
    assert told == other, "that it is in another scope is not told"


def test_what_was_forgotten_and_recovered_is_a_probe_again_before_it_is_bound_anew(tmp_path: Path) -> None:
    with shaped(tmp_path, [*work(0), event(90, "user", "a quokka on the pier", "q", speaker="ida")]) as actor_system:
        (ida,) = shape(actor_system, {"who": "ida"}).hits
        actor_system.ask(Forget(ids=(ida.id,)))
        actor_system.ask(Recover(ids=(ida.id,)))
        assert ida.id not in {hit.id for hit in like(actor_system, ida, k=50).hits}


def test_without_a_model_the_structure_alone_tells(mind: ActorHarness) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("mnemic.runtime.store.reader.StoreSnapshot.encoders", lambda snapshot: [])
        patched.setattr(
            "mnemic.actors.index.recall_index.RecallIndex.first_vectors",
            lambda index, places: np.full((len(places), 1), np.nan),
        )
        found = like(mind, first(mind, kind="tool_call", tool="write", file="oars.js"), k=1)
    assert found.hits[0].text == "Write\nfile_path: /q/mast.js"
    assert set(found.hits[0].why) == {"shape"}


def test_what_cannot_be_asked_is_refused(mind: ActorHarness) -> None:
    ana = first(mind, subject="ana", relation="lives in")
    with pytest.raises(InvalidValue, match="no text in its place"):
        like(mind, ana, pattern={"about": "boats"})
    with pytest.raises(InvalidValue, match="two questions"):
        shape(mind, like=(ana.id,), analogy=("a", "b", "c"))


def test_it_is_kept_as_it_is_typed() -> None:
    asked = Shape(like=(bytes(16),), pattern={"tool": "cargo"})
    assert as_typed(asked) == "tool=cargo --like 00000000-0000-0000-0000-000000000000"
