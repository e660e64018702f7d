"""Communities are listed and shown with their phrases, members, parts, lineage and neighbours, scope by scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.communities.changes import LineageEvent, SetPrototypes
from mnemic.actors.communities.community_views import list_communities, show_community
from mnemic.actors.communities.messages import CommunitiesListed, CommunityShown, ListCommunities, ShowCommunity
from mnemic.actors.kernel.errors import InvalidValue, UnknownCommunity, UnknownScope
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import Retire
from mnemic.actors.scopes.changes import MergeScopes
from mnemic.actors.shape.changes import AddCodes, CodeInfo
from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.grouped import group
from tests.runtime.building import KEYS, add_space, apply, id_of, look

TIDES = ["the tide import fails at night", "Ida mended the tide import", "a tide import takes an hour"]
CRANES = ["the harbour crane is rusty", "who paints the harbour crane", "the harbour crane and the tide import"]
OTTERS = ["the otter PIN is secret", "an otter PIN again"]
SHELF, BANK = "work/shelf", "bank"


class Grouped:
    """A store, what is in it, and questions of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = Store.create(path, KEYS)

    def group(self, topics: dict[int, Sequence[int]], **more: Any) -> None:
        group(lambda *changes: apply(self.store, *changes), lambda what: look(self.path, what), topics, **more)

    def list(self, scope: Any = "*", k: int = 20, why_not: str = "") -> CommunitiesListed:
        asked = ListCommunities(scope=scope, k=k)
        found: CommunitiesListed = look(self.path, lambda now: list_communities(asked, now, why_not))
        return found

    def show(self, number: int, scope: Any = "*", k: int = 10) -> CommunityShown:
        asked = ShowCommunity(id=number, scope=scope, k=k)
        found: CommunityShown = look(self.path, lambda now: show_community(asked, now))
        return found


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Grouped]:
    made = Grouped(tmp_path / "store.db")
    yield made
    made.store.close()


def place(path: str) -> ScopeRef:
    return ScopeRef(path=path, project=None, found="named")


def fill(made: Grouped) -> None:
    """Rows 1 to 3 are of tides, 4 to 6 of cranes, 7 and 8 of another project's otters."""
    texts = [(text, SHELF) for text in (*TIDES, *CRANES)] + [(text, BANK) for text in OTTERS]
    for number, (text, scope) in enumerate(texts, start=1):
        said = added(number, text.encode(), place=place(scope), speaker="Ida", said_at=number * 1_000_000)
        apply(made.store, said, at=number * 1_000_000)


@pytest.fixture
def made(empty: Grouped) -> Grouped:
    fill(empty)
    near = {1: [2, 4], 2: [5, 7], 3: [2, -1], 4: [1, 5]}
    empty.group({1: [1, 2, 3], 2: [4, 5, 6], 3: [7, 8]}, parts={4: (1, [1, 2]), 5: (1, [3])}, near=near)
    return empty


# --- the list --------------------------------------------------------------------------------------------------------


def test_what_was_last_spoken_of_comes_first_with_phrases_size_and_days(made: Grouped) -> None:
    listed = made.list()
    assert [one.id for one in listed.communities] == [3, 2, 1]
    assert [one.phrases[0] for one in listed.communities] == ["otter pin", "harbour crane", "tide import"]
    cranes = listed.communities[1]
    assert (cranes.scope, cranes.size, cranes.placed) == (SHELF, 3, 0)
    assert (cranes.first_at, cranes.last_at) == (4_000_000, 6_000_000)
    assert (listed.total, listed.memories, listed.waiting, listed.degraded) == (3, 8, 0, ())


def test_who_spoke_is_no_phrase(made: Grouped) -> None:
    assert all("ida" not in phrase for one in made.list().communities for phrase in one.phrases)


def test_no_phrase_goes_on_in_the_next_line_or_names_an_argument(empty: Grouped) -> None:
    calls = [b"Bash\ncommand: make velvet\ndescription: %s" % what for what in (b"paint it", b"dry it")]
    apply(empty.store, *(added(number, text) for number, text in enumerate(calls, start=1)))
    empty.group({1: [1, 2]})
    (one,) = empty.list().communities
    assert "velvet" in one.phrases
    assert not any("description" in phrase for phrase in one.phrases)


def test_a_scope_holds_what_is_below_it_and_at_most_k_are_listed(made: Grouped) -> None:
    assert [one.id for one in made.list("work").communities] == [2, 1]
    assert [one.id for one in made.list(("work", BANK), 1).communities] == [3]
    assert made.list("work", 1).total == 2


def test_what_cannot_be_asked_is_refused(made: Grouped) -> None:
    with pytest.raises(UnknownScope):
        made.list("wor")
    with pytest.raises(UnknownScope):
        made.show(1, "nowhere")
    for ask in (lambda: made.list(k=0), lambda: made.show(1, k=0), lambda: made.list(())):
        with pytest.raises(InvalidValue):
            ask()


def test_a_mind_without_memories_has_no_communities_and_lacks_nothing(empty: Grouped) -> None:
    assert empty.list() == CommunitiesListed(communities=(), total=0, memories=0, waiting=0)


def test_what_was_not_found_yet_and_why_is_said(empty: Grouped) -> None:
    fill(empty)
    listed = empty.list(why_not="communities need a model")
    assert listed.degraded == ("communities need a model", "no communities were found yet")
    assert listed.waiting == 8


def test_that_many_memories_wait_is_said_and_that_few_do_is_not(made: Grouped) -> None:
    apply(made.store, added(9, b"one more", place=place(SHELF)))
    (said,) = made.list().degraded
    assert "a tenth" in said
    assert made.list().waiting == 1
    others = range(10, 40)
    apply(made.store, *(added(number, b"of books", place=place("books")) for number in others))
    made.group({6: list(others)})
    apply(made.store, added(40, b"one more", place=place(SHELF)))
    assert (made.list().degraded, made.list().waiting) == ((), 1)


# --- one community ---------------------------------------------------------------------------------------------------


def test_a_topic_is_shown_with_its_parts_and_a_part_with_its_topic(made: Grouped) -> None:
    shown = made.show(1)
    assert [(part.id, part.size) for part in shown.parts] == [(4, 2), (5, 1)]
    assert shown.parent == 0
    part = made.show(4)
    assert (part.parent, part.parts, len(part.members)) == (1, (), 2)
    assert made.show(2).parts == ()


def test_the_phrases_of_a_topic_are_those_it_is_listed_by(made: Grouped) -> None:
    by_number = {one.id: one.phrases for one in made.list(SHELF).communities}
    assert {number: made.show(number).community.phrases for number in (1, 2)} == by_number


@pytest.mark.skipif(not NATIVE, reason="the native extension is not built")
def test_neighbours_are_the_topics_of_the_same_scope_that_walks_end_in(made: Grouped) -> None:
    for number, other in ((1, 2), (2, 1)):
        (found,) = made.show(number).neighbours
        assert found.community.id == other, "7 is another project's"
        assert 0 < found.share < 0.5
    assert made.show(3).neighbours == ()


def test_members_without_a_hypervector_come_by_recency(made: Grouped) -> None:
    shown = made.show(1, k=2)
    assert [hit.text for hit in shown.members] == [TIDES[2], TIDES[1]]
    assert [hit.score for hit in shown.members] == [0.0, 0.0]


def bind(made: Grouped, codes: dict[int, int]) -> None:
    """Give memories hypervectors of 64 bits; each has one filler of its own and one that all have."""
    fillers = [(("topic", "tide"), ("who", f"w{number}"), ("project", SHELF)) for number in codes]
    named = [[CodeInfo(tier="episode", pairs=3, fillers=tuple((*each, 0) for each in one))] for one in fillers]
    apply(
        made.store,
        add_space(),
        AddCodes(
            stamp="first",
            seq=1 << 40,
            memories=tuple(map(id_of, codes)),
            items=msgspec.msgpack.encode(named),
            codes=np.array(list(codes.values()), "<u8").tobytes(),
        ),
    )


def set_prototype(made: Grouped, topic: int, code: int) -> None:
    prototypes = np.array([code], "<u8").tobytes()
    change = SetPrototypes(
        stamp="first", generation=1, seq=1 << 40, communities=(topic,), bundled=(2,), prototypes=prototypes
    )
    apply(made.store, change)


def test_the_most_central_member_comes_first_and_its_score_is_how_near_it_is(made: Grouped) -> None:
    bind(made, {1: 0xFFFF, 2: 0xFF})
    set_prototype(made, 1, 0xFF)
    shown = made.show(1).members
    assert [hit.text for hit in shown] == [TIDES[1], TIDES[0], TIDES[2]]
    assert [hit.score for hit in shown] == [1.0, 1 - 2 * 8 / 64, 0.0]


def test_a_member_that_is_unlike_the_prototype_scores_nothing(made: Grouped) -> None:
    bind(made, {1: 0xFFFFFFFFFFFFFFFF})
    set_prototype(made, 1, 0)
    assert [hit.score for hit in made.show(1).members] == [0.0] * 3


def test_a_part_has_its_own_centre(made: Grouped) -> None:
    bind(made, {1: 0xFF, 2: 0xFF, 3: 0xFFFF0000})
    set_prototype(made, 1, 0)
    assert [hit.score for hit in made.show(4).members] == [1.0, 1.0]


def test_roles_are_what_half_of_the_members_have_and_not_where_they_are(made: Grouped) -> None:
    bind(made, {1: 1, 2: 2, 3: 3, 4: 4})
    assert [(one.role, one.filler, one.share) for one in made.show(1).roles] == [("topic", "tide", 1.0)]
    assert made.show(2).roles == (), "one of three has it"


def test_a_long_member_is_an_excerpt(empty: Grouped) -> None:
    apply(empty.store, added(1, b"the quay is long. " * 200), added(2, b"the quay"))
    empty.group({1: [1, 2]})
    (long,) = (hit for hit in empty.show(1).members if hit.size_bytes > 1000)
    assert len(long.data) <= 400


def test_what_was_forgotten_is_shown_no_more(made: Grouped) -> None:
    apply(made.store, Retire(memory=id_of(1), reason=""))
    assert TIDES[0] not in {hit.text for hit in made.show(1).members}


def test_what_became_of_it_is_told_and_what_is_no_more_has_no_members(made: Grouped) -> None:
    apply(made.store, added(9, b"a tide import once more", place=place(SHELF)))
    events = [LineageEvent(kind="merged", community=1, others=(1, 2)), LineageEvent(kind="died", community=2)]
    made.group({1: [1, 2, 3, 4, 5, 6, 9]}, events=events, ended=[2])
    assert [(one.kind, one.community, one.others) for one in made.show(1).lineage] == [
        ("born", 1, ()),
        ("merged", 1, (1, 2)),
    ]
    assert [one.kind for one in made.show(1, k=1).lineage] == ["merged"]
    gone = made.show(2)
    assert gone.died_at is not None
    assert (gone.members, gone.neighbours) == ((), ())
    assert [one.id for one in made.list().communities] == [3, 1]


# --- walls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 3, 6, -1, (1 << 62)])
def test_a_community_of_another_scope_is_as_unknown_as_one_that_is_not_there(made: Grouped, number: int) -> None:
    with pytest.raises(UnknownCommunity) as caught:
        made.show(number, "work")
    assert str(caught.value) == f"There is no community {number}."


def test_a_scope_that_is_new_has_no_communities_of_one_that_was_merged_away(made: Grouped) -> None:
    apply(made.store, MergeScopes(path=BANK, into=SHELF), added(9, b"nothing", place=place("new")))
    numbers = look(made.path, lambda now: {path: number for number, path in now.scopes().items()})
    assert numbers["new"] == 3, "no number is given twice"
    assert made.list("new").total == 0
    with pytest.raises(UnknownCommunity):
        made.show(3, "new")


def test_whoever_asks_in_one_scope_sees_no_number_phrase_or_member_of_another(tmp_path: Path) -> None:
    numbers = iter(range(1 << 20))
    words = ["quay", "otter", "ledger", "velvet", "anchor"]

    @settings(max_examples=20)  # each makes a store
    @given(
        st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), min_size=1, max_size=8),
        st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=8),
        st.data(),
    )
    def holds(members: list[tuple[str, int]], links: list[tuple[int, int]], data: st.DataObject) -> None:
        made = Grouped(tmp_path / f"{next(numbers)}.db")
        try:
            topics: dict[int, list[int]] = {}
            for row, (scope, topic) in enumerate(members, start=1):
                text = f"the {scope}{data.draw(st.sampled_from(words))} of {scope}ship".encode()
                apply(made.store, added(row, text, place=place(scope)))
                topics.setdefault(1 + topic + 3 * (scope == "b"), []).append(row)
            near = {1 + one % len(members): [1 + other % len(members)] for one, other in links}
            merged = [LineageEvent(kind="merged", community=number, others=tuple(topics)) for number in topics]
            made.group(topics, near=near, events=merged)
            theirs = {"a": range(4, 7), "b": range(1, 4)}
            for scope in {scope for scope, _ in members}:
                other = "b" if scope == "a" else "a"
                listed = made.list(scope)
                told = [made.show(one, scope) for one in topics if one not in theirs[scope]]
                numbers_told = {one.id for one in listed.communities}
                for shown in told:
                    numbers_told |= {one.community.id for one in shown.neighbours}
                    numbers_told |= {one for event in shown.lineage for one in (event.community, *event.others)}
                assert numbers_told.isdisjoint(theirs[scope])
                texts = [hit.text for shown in told for hit in shown.members]
                phrases = [phrase for one in listed.communities for phrase in one.phrases]
                assert not any(f"{other}{word}" in said for said in (*texts, *phrases) for word in (*words, "ship"))
                for number in theirs[scope]:
                    with pytest.raises(UnknownCommunity):
                        made.show(number, scope)
        finally:
            made.store.close()

    holds()
