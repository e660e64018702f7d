"""What says the same is one hit, which names the others; nothing else is folded, and nothing is hidden."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.index.hits import fitting_length, sent_bytes
from mnemic.actors.index.newest import mark_newest
from mnemic.actors.kernel.events import KINDS, to_bytes
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.recall.messages import Recalled
from tests.harness import START_US, ActorHarness, turns

DAY_US = 86_400_000_000


def named(path: str) -> ScopeRef:
    return ScopeRef(path=path, project=None, found="named")


def told(recalled: Recalled) -> list[list[bytes]]:
    """Of each hit its id and the ids that it stands for."""
    return [[hit.id, *(one.id for one in hit.same)] for hit in recalled.hits]


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as actor_system:
        yield actor_system


@pytest.mark.parametrize("embedded", [False, True])
def test_ten_hits_are_ten_different_things(actor_system: ActorHarness, embedded: bool) -> None:
    signals = ("dense", "lexical", "session") if embedded else ("lexical", "session")
    forms = (
        "The gate code is {}",
        "the gate code is {}.",
        "  The gate  code is {}",
    )
    ids = [[actor_system.keep(form.format(number), session=form).id for form in forms] for number in range(12)]
    if embedded:
        actor_system.embed()
    found = actor_system.recall("what is the gate code", k=10, signals=signals)
    assert len(found.hits) == 10
    whole = actor_system.recall("what is the gate code", k=100, signals=signals)
    assert sorted(map(sorted, told(whole))) == sorted(map(sorted, ids))
    assert whole.hits[:10] == found.hits


def test_the_best_stands_for_the_others_and_says_when_they_were_said(actor_system: ActorHarness) -> None:
    said = [
        actor_system.keep("the crane is broken", said_at=START_US + number * DAY_US, session=str(number)).id
        for number in range(3)
    ]
    actor_system.embed()
    (hit,) = actor_system.recall("what about the crane").hits
    assert {hit.id, *(one.id for one in hit.same)} == set(said)
    assert {one.said_at for one in hit.same} == {START_US + said.index(one.id) * DAY_US for one in hit.same}
    undated = actor_system.keep("the kettle is on", session="a")
    actor_system.keep("the kettle is on", session="b")
    (kettle,) = actor_system.recall("kettle", signals=("lexical",)).hits
    assert {kettle.id, kettle.same[0].id} > {undated.id}
    assert START_US < kettle.same[0].said_at <= actor_system.clock.now_us()


def test_what_differs_in_anything_that_tells_stays_apart(actor_system: ActorHarness) -> None:
    text = "the crane is broken"
    actor_system.keep(text)
    for number, unlike in enumerate(
        [
            {"speaker": "Maud"},
            {"speaker": "Tom"},
            {"role": "assistant"},
            {"kind": "decision"},
            {"place": named("work")},
            {"place": named("work/harbour")},
        ]
    ):
        actor_system.keep(text, session=f"other {number}", **unlike)
    actor_system.embed()
    recalled = actor_system.recall("what about the crane", k=20)
    assert len(recalled.hits) == 7
    assert all(not hit.same for hit in recalled.hits)
    calls = turns(["pytest -q"] * 3, kind="tool_call", role="assistant", tool="Bash")
    ends = turns(["1 failed"] * 2, kind="tool_result", role="tool", tool="Bash", outcome="failed")
    ends += turns(["1 failed"], kind="tool_result", role="tool", tool="Bash", outcome="ok")
    actor_system.sources["a"] = [*calls, *ends]
    actor_system.take("a")
    assert [len(hit.same) for hit in actor_system.recall("pytest", signals=("lexical",)).hits] == [2]
    failed = actor_system.recall("failed", kinds=("tool_result",), signals=("lexical",)).hits
    assert sorted(len(hit.same) for hit in failed) == [0, 1]


def test_what_was_corrected_and_what_corrects_it_are_never_one(actor_system: ActorHarness) -> None:
    old = actor_system.keep("the port is 5432", session="a")
    held = actor_system.keep("the port is 5432", session="b")
    actor_system.embed()
    before = actor_system.clock.now_us()
    new = actor_system.keep("The port is 5432.", supersedes=old.id, session="c")
    again = actor_system.keep(" the port is 5432", session="d", supersedes=new.id)
    actor_system.embed()
    assert sorted(told(actor_system.recall("which port"))) == sorted([[one.id] for one in (old, held, new, again)])
    ((one, other),) = told(actor_system.recall("which port", as_of=before))
    assert {one, other} == {old.id, held.id}, "nothing was corrected then"
    actor_system.ask(Forget(ids=(new.id, again.id)))
    assert sorted(map(sorted, told(actor_system.recall("which port")))) == [sorted([old.id, held.id])]


def test_where_a_day_is_asked_for_what_was_said_on_another_day_is_another_matter(actor_system: ActorHarness) -> None:
    for day in (0, 0, 1, 40):
        actor_system.keep(
            "the crane was mended", said_at=START_US + day * DAY_US, session=f"{day} {actor_system.clock.now_us()}"
        )
    actor_system.embed()
    assert [len(hit.same) for hit in actor_system.recall("what about the crane").hits] == [3]
    dated = actor_system.recall("was the crane mended on 9 October 2025?").hits
    assert sorted(len(hit.same) for hit in dated) == [0, 0, 1]


def test_a_budget_pays_once_for_what_is_said_often(actor_system: ActorHarness) -> None:
    for number in range(6):
        actor_system.keep("the crane is broken", session=str(number))
    actor_system.keep("the crane was sold", session="last")
    actor_system.embed()
    recalled = actor_system.recall("what about the crane", budget_tokens=260)
    assert sorted(len(hit.same) for hit in recalled.hits) == [0, 5]
    assert (recalled.used_tokens <= 260, recalled.left_out) == (True, 0)


TEXTS = (
    "the crane is broken",
    "The crane is broken.",
    "ok, the crane is broken",
    "the crane was broken",
    "the crane is not broken",
    "we meet at the crane tomorrow",
    "We meet at the crane tomorrow!",
    "the kettle is on",
)
MEMORY = st.tuples(
    st.sampled_from(TEXTS),
    st.sampled_from(["", "a", "a/b"]),
    st.sampled_from(["x", "y"]),
    st.integers(0, 2),
    st.sampled_from(["turn", "note"]),
    st.none() | st.integers(0, 7),
)


@settings(max_examples=8)
@given(kept=st.lists(MEMORY, min_size=1, max_size=12), embedded=st.booleans(), k=st.integers(1, 5))
def test_folding_hides_nothing_crosses_nothing_and_is_the_same_each_time(
    kept: list[tuple[str, str, str, int, str, int | None]],
    embedded: bool,
    k: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with ActorHarness(tmp_path_factory.mktemp("folding")) as actor_system:
        told_of: dict[bytes, tuple[str, str, str, int, str, int | None]] = {}
        ids: list[bytes] = []
        for text, scope, session, day, kind, corrects in kept:
            supersedes = ids[corrects] if corrects is not None and corrects < len(ids) else None
            one = actor_system.keep(
                text,
                place=named(scope),
                session=session,
                kind=kind,
                said_at=START_US + day * DAY_US,
                supersedes=supersedes,
            )
            ids.append(one.id)
            told_of.setdefault(one.id, (text, scope, session, day, kind, corrects))
        if embedded:
            actor_system.embed()
        signals = ("dense", "lexical", "session", "structural") if embedded else ("lexical",)
        asked = {"kinds": KINDS, "signals": signals}
        whole = actor_system.recall("crane kettle", k=100, trace=True, **asked)
        assert actor_system.recall("crane kettle", k=100, trace=True, **asked) == whole
        groups = told(whole)
        flat = [one for group in groups for one in group]
        assert sorted(flat) == sorted({one.id for one in whole.candidates}), "each is given or named, once"
        place = {one.id: number for number, one in enumerate(whole.candidates)}
        for group, hit in zip(groups, whole.hits, strict=True):
            assert group == sorted(group, key=place.__getitem__), "the best stands for the others"
            assert len({(told_of[one][1], told_of[one][4]) for one in group}) == 1
            if len(group) > 1:
                said = {to_bytes(told_of[one][0]).lower().strip(b".!").removeprefix(b"ok, ") for one in group}
                assert len(said) == 1
                assert b"tomorrow" not in hit.data or len({told_of[one][3] for one in group}) == 1
        first = [msgspec.structs.replace(hit, newest=False) for hit in whole.hits[:k]]  # of these few, and not of all
        assert list(actor_system.recall("crane kettle", k=k, **asked).hits) == mark_newest(first)


LONG = st.tuples(st.integers(1, 40), st.booleans()).map(lambda of: ("the crane " if of[1] else "kettle ") * 4 * of[0])


@settings(max_examples=6)
@given(
    texts=st.lists(LONG, min_size=1, max_size=10),
    asked=st.lists(st.tuples(st.integers(1, 900), st.integers(1, 6)), min_size=1, max_size=6),
    hit_bytes=st.sampled_from([64, 300, 8192]),
)
def test_the_budget_is_exact_and_what_it_leaves_out_is_counted(
    texts: list[str], asked: list[tuple[int, int]], hit_bytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with ActorHarness(tmp_path_factory.mktemp("budget"), hit_bytes=hit_bytes) as actor_system:
        for number, text in enumerate(texts):
            actor_system.keep(text, session=str(number))
        actor_system.embed()
        whole = actor_system.recall("crane kettle", k=100)
        assert len(whole.hits) + sum(len(hit.same) for hit in whole.hits) == len(texts)
        assert (whole.used_tokens, whole.left_out) == (64 + -(-sum(map(sent_bytes, whole.hits)) // 4), 0)
        for budget, k in asked:
            recalled = actor_system.recall("crane kettle", k=k, budget_tokens=budget)
            sent = sum(map(sent_bytes, recalled.hits))
            assert recalled.used_tokens == (64 + -(-sent // 4) if recalled.hits else 0) <= budget
            given, used, left_out = [], 4 * 64, 0
            for place, hit in enumerate(whole.hits[:k]):  # the same, worked out from all that there is
                excess, least = used + sent_bytes(hit) - 4 * budget, min(hit_bytes, 256 if place else 96)
                no_room = excess > 0 and fitting_length(hit.data, hit.size_bytes, excess) < least
                if no_room or (place and not given):  # no worse one takes the best one's place
                    left_out += 1
                    continue
                given.append(hit.id)
                used += sent_bytes(recalled.hits[len(given) - 1])
            assert [hit.id for hit in recalled.hits] == given
            assert recalled.left_out == left_out
            assert [one.split()[0] for one in recalled.degraded] == ([] if given else ["budget:"])
            assert [hit.same for hit in recalled.hits] == [hit.same for hit in whole.hits if hit.id in given]
