"""Each topic has a prototype of what its members are now, and what comes between boundaries is placed by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.actors.capture.forget_messages import Forget, Recover, Selection
from mnemic.actors.communities.changes import PlaceMembers, SetPrototypes
from mnemic.actors.communities.messages import CommunitiesChanged
from mnemic.actors.communities.queries import MemberCodes
from mnemic.actors.kernel.background import MindOpened, WorkOn
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import Supersede
from mnemic.actors.scopes.changes import MergeScopes
from mnemic.actors.shape.binder import BinderActor
from mnemic.actors.shape.messages import BindPending, BindProgress
from mnemic.actors.shape.prototypes import ScopeTopics, bundle_prototypes, nearest_topics
from mnemic.actors.store.messages import Apply
from mnemic.hd.algebra import algebra_named
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.packing import unpack_unchecked
from mnemic.hd.space import Space
from mnemic.runtime.store.store import Store
from mnemic.runtime.transfer.erase import erase
from tests.actors.shape.test_binder import Asked
from tests.grouped import group
from tests.harness import ActorHarness
from tests.runtime.building import apply
from tests.shaped import answers, bind, shape
from tests.waiting import until

SMALL = {"binder.dimensions": 2048}
TIDE, BREAD = "the tide of the harbour rises by {} metres", "bread needs yeast and flour and {} hours"
BOAT, BANK = (ScopeRef(path=path, project=None, found="named") for path in ("boat", "bank"))


def keep(one: ActorHarness, text: str, number: int, place: ScopeRef = BOAT) -> int:
    """Keep a text; returns its row."""
    kept = one.keep(text.format(number), session=f"{text[:4]} {number}", place=place)
    found: int = one.look(lambda now: now.rows_of([kept.id]))[0]
    return found


def settled(one: ActorHarness) -> BindProgress:
    """Embed and bind all, and wait for what others make of it."""
    one.embed()
    found = bind(one)
    until(lambda: not one.supervisor.is_busy())
    return found


def grouped(one: ActorHarness, topics: Mapping[int, Sequence[int]], **more: Any) -> None:
    """Have a boundary found at which topics are of these rows."""
    count = one.look(lambda now: now.seq)

    def carry_out(*changes: Any) -> None:
        one.ask(Apply(changes=changes, key=b"%d" % count, author="test", run="test"))

    group(carry_out, one.look, topics, **more)


def prototypes(one: ActorHarness) -> dict[int, bytes]:
    block = one.look(lambda now: now.prototypes())
    return {topic: code.tobytes() for topic, code in zip(block.topic.tolist(), block.codes, strict=True)}


def placed(one: ActorHarness) -> dict[int, int]:
    members = one.look(lambda now: now.members())
    return {row: topic for row, topic, by in zip(members.row, members.topic, members.placed, strict=True) if by}


def majority(codes: NDArray[np.uint64], space: Space) -> bytes:
    """The bundle of hypervectors, as it is said to be."""
    bits = unpack_unchecked(codes).astype(int)
    tie = unpack_unchecked(draw_hypervector(space, "tie", "community")[None])[0]
    tie = tie ^ np.roll(np.bitwise_xor.reduce(bits, axis=0), 1)
    counted = 2 * bits.sum(axis=0)
    set_bits = np.where(counted == len(bits), tie, counted > len(bits))
    return np.packbits(set_bits.astype(np.uint8), bitorder="little").tobytes()


def check(one: ActorHarness, topics: Mapping[int, Sequence[int]]) -> None:
    """See that the prototypes are those of topics of these rows, and no others are there."""
    block = one.look(lambda now: now.codes("episode", 0))
    newest = dict(zip(block.row.tolist(), block.codes, strict=True))  # what is bound anew comes later
    kept = one.look(lambda now: now.space())
    space = Space(seed=one.ports.seed, dimensions=kept.dimensions, roles=kept.roles)
    expected = {topic: majority(np.array([newest[row] for row in rows]), space) for topic, rows in topics.items()}
    assert prototypes(one) == expected
    for topic, rows in topics.items():
        found = one.look(lambda now, topic=topic: now.community(topic))
        assert found.bundled == len(rows)


Two = tuple[ActorHarness, list[int], list[int]]


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    """A mind in whose scope are two topics, 1 of tides and 2 of bread, bundled."""
    with ActorHarness(tmp_path, **SMALL) as one:
        tides, breads = ([keep(one, text, n) for n in range(4)] for text in (TIDE, BREAD))
        settled(one)
        grouped(one, {1: tides, 2: breads})
        assert bind(one).pending == 0
        yield one, tides, breads


def ids(one: ActorHarness, *rows: int) -> tuple[bytes, ...]:
    return tuple(one.look(lambda now: now.ids_of(list(rows))))


# --- prototypes ------------------------------------------------------------------------------------------------------


def test_a_prototype_is_the_bundle_of_the_members_and_near_to_each(two: Two) -> None:
    one, tides, breads = two
    check(one, {1: tides, 2: breads})
    block = one.look(lambda now: now.codes("episode", 0))
    near = np.frombuffer(prototypes(one)[1], np.uint64)
    apart = dict(zip(block.row.tolist(), np.bitwise_count(block.codes ^ near).sum(axis=1).tolist(), strict=True))
    assert max(apart[row] for row in tides) < min(apart[row] for row in breads)


def test_what_comes_is_placed_in_the_nearest_topic_and_changes_no_prototype(two: Two) -> None:
    one, tides, breads = two
    before = prototypes(one)
    new = {keep(one, TIDE, 9): 1, keep(one, BREAD, 9): 2}
    settled(one)
    assert placed(one) == new
    assert prototypes(one) == before
    check(one, {1: tides, 2: breads})


def test_where_nothing_changes_a_further_step_writes_nothing(two: Two) -> None:
    one, _, _ = two
    keep(one, TIDE, 9)
    settled(one)
    seq = one.look(lambda now: now.seq)
    for _ in range(3):
        one.ask(BindPending())
    binder, context = BinderActor.make(one.ports), Asked(one.ask)
    try:
        for message in (MindOpened(), WorkOn(), CommunitiesChanged(seq=seq), WorkOn(), WorkOn()):
            binder.handle(message, context)  # type: ignore[arg-type]
    finally:
        binder.close()
    assert (context.asked, context.told) == ([], [WorkOn()])
    assert one.look(lambda now: now.seq) == seq


def test_a_forgotten_member_is_in_no_prototype_and_is_again_once_it_is_taken_back(two: Two) -> None:
    one, tides, breads = two
    (gone,) = ids(one, tides[0])
    one.ask(Forget(ids=(gone,)))
    settled(one)
    check(one, {1: tides[1:], 2: breads})
    one.ask(Recover(ids=(gone,)))
    settled(one)
    check(one, {1: tides, 2: breads})


def test_of_one_member_that_is_left_there_is_no_prototype(two: Two) -> None:
    one, tides, breads = two
    one.ask(Forget(ids=ids(one, *tides[1:])))
    assert settled(one).pending == 0
    check(one, {2: breads})
    assert one.look(lambda now: now.community(1)).bundled == 0


def test_a_correction_is_placed_and_what_it_corrects_stays_a_member(two: Two) -> None:
    one, tides, breads = two
    old, new = ids(one, tides[0], keep(one, TIDE, 7))
    one.ask(Apply(changes=(Supersede(old=old, new=new),), key=b"correct", author="test", run="test"))
    settled(one)
    assert list(placed(one).values()) == [1]
    check(one, {1: tides, 2: breads})


def test_of_other_settings_prototypes_are_bundled_anew(two: Two) -> None:
    one, tides, breads = two
    one.supervisor.stop()
    with ActorHarness(one.home, **{"binder.dimensions": 1024}) as other:
        assert settled(other).pending == 0
        assert {len(code) for code in prototypes(other).values()} == {128}
        check(other, {1: tides, 2: breads})


def test_what_has_moved_to_another_scope_is_in_no_prototype_and_no_longer_placed_where_it_was(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, **SMALL, **{"binder.leave_out": ("project", "workspace")}) as one:  # the same bits then
        tides = [keep(one, TIDE, n) for n in range(3)]
        breads = [keep(one, BREAD, n, BANK) for n in range(3)]
        settled(one)
        grouped(one, {1: tides, 2: breads})
        new = keep(one, TIDE, 9)
        settled(one)
        assert placed(one) == {new: 1}
        one.ask(Apply(changes=(MergeScopes(path="boat", into="bank"),), key=b"merge", author="test", run="test"))
        assert settled(one).pending == 0
        check(one, {2: breads})
        assert placed(one) == {new: 2}, "it is placed anew, where it is now"


def test_after_an_erase_no_prototype_is_left_until_communities_are_found_again(two: Two) -> None:
    one, tides, _ = two
    gone = ids(one, tides[0])
    survey = one.look(lambda now: now.survey(Selection(ids=gone), 3))
    one.supervisor.stop()
    erase(one.folder, one.keys, Selection(ids=gone), survey, lambda what, done, total: None)
    assert prototypes(one) == {}
    assert one.look(lambda now: now.stale_prototype_count()) == 0
    assert one.look(lambda now: len(now.members().row)) == 0
    assert not any(boundary.done for boundary in one.look(lambda now: now.boundaries(0)))


def test_a_binder_that_is_killed_leaves_the_rest_to_the_next(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, **SMALL) as one:
        tides, breads = ([keep(one, text, n) for n in range(3)] for text in (TIDE, BREAD))
        settled(one)
    with closing(Store.open(one.folder.store, one.keys)) as store:  # no Binder is there that would begin at once
        group(partial(apply, store), one.look, {1: tides, 2: breads})
    with ActorHarness(tmp_path, **SMALL) as one:
        binder, context = BinderActor.make(one.ports), Asked(_fails_on_apply)
        with pytest.raises(ZeroDivisionError):
            binder.handle(WorkOn(), context)  # type: ignore[arg-type]
        binder.close()
        assert context.told == [WorkOn()]
        assert bind(one).pending == 0
        check(one, {1: tides, 2: breads})


def test_members_that_are_bound_after_the_boundary_are_bundled_then(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, **SMALL) as one:
        tides = [keep(one, TIDE, n) for n in range(3)]
        grouped(one, {1: tides})
        assert settled(one).pending == 0
        check(one, {1: tides})


# --- pure ------------------------------------------------------------------------------------------------------------

WORDS = 4
CODES = st.lists(st.binary(min_size=8 * WORDS, max_size=8 * WORDS), min_size=1, max_size=6)


@given(st.lists(CODES, max_size=4), st.randoms(use_true_random=False))
def test_a_bundle_depends_on_the_members_and_not_on_their_order(groups: list[list[bytes]], random: Any) -> None:
    space, algebra = Space(seed=bytes(32), dimensions=64 * WORDS), algebra_named("")
    members = [np.array([np.frombuffer(code, np.uint64) for code in group]) for group in groups]
    found = bundle_prototypes(members, space, algebra)
    assert [code.tobytes() for code in found] == [majority(codes, space) for codes in members]
    shuffled = [codes[random.sample(range(len(codes)), len(codes))] for codes in members]
    assert (bundle_prototypes(shuffled, space, algebra) == found).all()


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), max_size=5), st.lists(st.integers(1, 4), max_size=5))
def test_a_memory_is_placed_in_its_own_scope_alone_and_of_equals_in_the_lower_number(
    topics: list[tuple[int, int]], memories: list[int]
) -> None:
    held: dict[int, list[tuple[int, int]]] = {}
    for number, (scope, bits) in enumerate(topics, 1):
        held.setdefault(scope, []).append((number, bits))
    blocks = {
        scope: ScopeTopics(
            np.array([number for number, _ in own]),
            np.array([[2**bits - 1] for _, bits in own], np.uint64),
            np.zeros((len(own), 2), np.float32),
        )
        for scope, own in held.items()
    }
    codes = MemberCodes(np.arange(len(memories)), np.array(memories, np.int64), np.zeros((len(memories), 1), np.uint64))
    found = nearest_topics(codes, np.zeros((len(memories), 2), np.float32), blocks, algebra_named(""))
    expected = [min(held.get(scope, [(0, 0)]), key=lambda one: (one[1], one[0]))[0] for scope in memories]
    assert found.tolist() == expected


def test_a_memory_with_a_vector_goes_by_the_means_and_one_without_by_the_prototypes() -> None:
    codes = np.array([[0], [2**64 - 1]], np.uint64)
    means = np.array([[0, 1], [1, 0]], np.float32)
    topics = {1: ScopeTopics(np.array([7, 9]), codes, means)}
    asked = MemberCodes(np.arange(3), np.ones(3, np.int64), np.array([[1], [1], [2**63 - 1]], np.uint64))
    vectors = np.array([[0.9, 0.1], [0, 0], [0.1, 0.9]], np.float32)
    algebra = algebra_named("")
    assert nearest_topics(asked, vectors, topics, algebra).tolist() == [9, 7, 7]
    none = np.empty((3, 0), np.float32)
    assert nearest_topics(asked, none, topics, algebra).tolist() == [7, 7, 9]
    half = {1: topics[1]._replace(means=np.array([[0, 1], [0, 0]], np.float32))}
    assert nearest_topics(asked, vectors, half, algebra).tolist() == [7, 7, 7]


# --- questions -------------------------------------------------------------------------------------------------------


def said(one: ActorHarness, pattern: Mapping[str, str], **more: Any) -> list[str]:
    return [hit.text.split()[1 if hit.text.startswith("the") else 0] for hit in shape(one, pattern, k=50, **more).hits]


def test_a_community_that_is_named_narrows_to_its_members_placed_ones_too(two: Two) -> None:
    one, tides, _ = two
    keep(one, TIDE, 9)
    settled(one)
    found = shape(one, {"community": "1"}, k=50)
    assert {hit.text for hit in found.hits} == {TIDE.format(n) for n in (0, 1, 2, 3, 9)}
    assert all(hit.why.keys() == {"community"} for hit in found.hits)
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert (found.degraded, found.searched) == ((), len(tides) + 1)
    assert set(said(one, {"community": "2", "who": "user"})) == {"bread"}
    assert set(said(one, {"community": " #2 ", "about": "the tide"})) <= {"bread"}


def test_a_part_is_asked_for_by_its_own_number(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, **SMALL) as one:
        rows = [keep(one, TIDE, n) for n in range(4)]
        settled(one)
        grouped(one, {1: rows}, parts={2: (1, rows[:2]), 3: (1, rows[2:])})
        bind(one)
        assert {hit.text for hit in shape(one, {"community": "3"}).hits} == {TIDE.format(n) for n in (2, 3)}


def test_which_communities_the_memories_are_of_is_answered_by_share(two: Two) -> None:
    one, _, breads = two
    keep(one, TIDE, 9)
    settled(one)
    found = answers(shape(one, {"community": "?"}), "community")
    assert {name: one.confidence for name, one in found.items()} == pytest.approx({"1": 5 / 9, "2": 4 / 9}, abs=1e-4)
    assert [one.support for one in found.values()] == [5, 4]
    assert set(found["2"].memories) <= set(ids(one, *breads))
    about = answers(shape(one, {"community": "?", "about": "bread and yeast"}), "community")
    assert next(iter(about)) == "2"
    assert about["2"].confidence > 0.5
    assert list(answers(shape(one, {"community": "1", "who": "?"}), "who")) == ["user"]


def test_outside_its_scope_a_community_is_as_unknown_as_one_that_never_was(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, **SMALL) as one:
        tides = [keep(one, TIDE, n) for n in range(3)]
        breads = [keep(one, BREAD, n, BANK) for n in range(3)]
        settled(one)
        grouped(one, {1: tides, 2: breads})
        bind(one)
        for number in ("2", "77"):
            found = shape(one, {"community": number}, scope="boat")
            assert found.hits == ()
            assert found.degraded == (f"community: no memory looked through is in a community of the number {number}",)
        assert list(answers(shape(one, {"community": "?"}, scope="boat"), "community")) == ["1"]
        assert set(answers(shape(one, {"community": "?"}), "community")) == {"1", "2"}


def test_a_forgotten_member_answers_no_question(two: Two) -> None:
    one, tides, _ = two
    one.ask(Forget(ids=ids(one, *tides)))
    settled(one)
    assert list(answers(shape(one, {"community": "?"}), "community")) == ["2"]
    assert shape(one, {"community": "1"}).hits == ()


def test_what_is_no_number_of_a_community_is_refused(two: Two) -> None:
    for number in ["tide", "0", "-1", "1.5", "9" * 19, "²"]:
        with pytest.raises(InvalidValue, match="it is no number of a community"):
            shape(two[0], {"community": number})


def _fails_on_apply(message: Any) -> Any:
    assert isinstance(message, Apply)
    assert isinstance(message.changes[0], SetPrototypes | PlaceMembers)
    raise ZeroDivisionError
