"""Names are linked where only one answer is possible, and every key is known under one that is known under itself."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.entities.aliases import AliasLink, EntitySeen, alias_links, resolve
from mnemic.algorithms.knowledge.entities.keys import entity_key

KEYS = st.sampled_from("abcdef")
PAIRS = st.lists(st.tuples(KEYS, KEYS), max_size=12)
NAMES = st.sampled_from(
    """Nadia|Nadia Keller|Nadia Roth|SM|San Marco|Santa Maria|auth.py|src/auth.py|lib/src/auth.py|Postgres|Postgres 17
    |Postgres 16|SLIP-4|slip|server 2|NK|it""".replace("\n    ", "").split("|")
)
SEEN = st.dictionaries(
    NAMES,
    st.tuples(st.sampled_from(("person", "thing", "tool", "file")), st.frozensets(st.integers(1, 3))),
    max_size=12,
).map(lambda found: [seen(name, kind, sessions) for name, (kind, sessions) in found.items()])


def seen(name: str, kind: str = "thing", sessions: frozenset[int] | set[int] = frozenset((1,))) -> EntitySeen:
    return EntitySeen(entity_key(name), name, kind, frozenset(sessions))


def linked(*entities: EntitySeen) -> dict[str, str]:
    return {link.key: link.into for link in alias_links(entities)}


def test_initials_are_of_the_one_name_that_has_them() -> None:
    assert linked(seen("SM"), seen("San Marco")) == {"sm": "san marco"}
    assert linked(seen("SM"), seen("San Marco"), seen("Santa Maria")) == {}
    assert linked(seen("BOE"), seen("Bank of England")) == {"boe": "bank of england"}
    assert linked(seen("BE"), seen("Bank of England")) == {"be": "bank of england"}


def test_two_initials_need_a_session_in_common_and_three_do_not() -> None:
    assert linked(seen("SM", sessions={1}), seen("San Marco", sessions={2})) == {}
    assert linked(seen("SMB", sessions={1}), seen("San Marco Bay", sessions={2})) == {"smb": "san marco bay"}


def test_initials_of_another_kind_or_in_small_letters_are_none() -> None:
    assert linked(seen("SM", "person"), seen("San Marco", "place")) == {}
    assert linked(seen("sm"), seen("San Marco")) == {}


def test_a_first_name_is_of_the_one_full_name_in_its_sessions() -> None:
    nadia, keller = seen("Nadia", "person", {1, 2}), seen("Nadia Keller", "person", {2})
    assert linked(nadia, keller) == {"nadia": "nadia keller"}
    assert linked(nadia, keller, seen("Nadia Roth", "person", {9})) == {}
    assert linked(nadia, seen("Nadia Keller", "person", {3})) == {}


@pytest.mark.parametrize(
    "entities",
    [
        (seen("Google"), seen("Google Maps")),
        (seen("Paris", "place"), seen("Paris Hilton", "person")),
        (seen("Nadia", "person"), seen("Nadia's car", "person")),
        (seen("Nadia", "person"), seen("Nadia Keller", "service")),
    ],
)
def test_what_is_of_no_person_has_no_first_name(entities: tuple[EntitySeen, ...]) -> None:
    assert linked(*entities) == {}


def test_a_file_is_of_the_one_path_that_ends_with_it() -> None:
    base, path = seen("auth.py", "file"), seen("src/auth.py", "file")
    assert linked(base, path) == {"auth.py": "src/auth.py"}
    assert linked(base, path, seen("lib/auth.py", "file")) == {}
    assert linked(base, path, seen("app/src/auth.py", "file")) == {
        "auth.py": "app/src/auth.py",
        "src/auth.py": "app/src/auth.py",
    }
    assert linked(base, seen("src/oauth.py", "file")) == {}


def test_a_version_is_of_the_name_without_it() -> None:
    entities = seen("Postgres 17", "tool"), seen("Postgres 16", "tool"), seen("Postgres", "tool")
    assert linked(*entities) == {"postgresql 17": "postgresql", "postgresql 16": "postgresql"}
    assert linked(*entities[:2]) == {}


def test_tickets_and_numbered_things_are_no_versions() -> None:
    assert linked(seen("SLIP-44"), seen("slip")) == {}
    assert linked(seen("server 2", "service"), seen("server", "service")) == {}
    assert linked(seen("Room 12", "place"), seen("room", "place")) == {}


def test_each_link_says_why() -> None:
    assert alias_links([seen("SM"), seen("San Marco")]) == [
        AliasLink("sm", "san marco", 'initials of "San Marco" and of no other name')
    ]


@given(SEEN, st.randoms(use_true_random=False))
def test_links_are_few_known_and_the_same_in_any_order(entities: list[EntitySeen], chance: random.Random) -> None:
    links = alias_links(entities)
    keys = {one.key for one in entities}
    assert len({link.key for link in links}) == len(links)
    assert all(link.key in keys and link.into in keys and link.key != link.into for link in links)
    mixed = list(entities)
    chance.shuffle(mixed)
    assert alias_links(mixed) == links == sorted(links)


def test_of_nothing_there_is_no_link() -> None:
    assert alias_links([]) == []
    assert resolve([], []) == {}


def link(key: str, into: str) -> AliasLink:
    return AliasLink(key, into, "")


def test_links_are_followed_to_their_end() -> None:
    assert resolve([link("a", "b"), link("b", "c")], []) == {"a": "c", "b": "c", "c": "c"}


def test_what_a_person_merged_goes_before_what_rules_tell() -> None:
    assert resolve([link("a", "b")], [("a", "c")]) == {"a": "c", "b": "b", "c": "c"}
    assert resolve([link("a", "b")], [("b", "a")]) == {"a": "a", "b": "a"}


def test_the_later_merge_counts() -> None:
    assert resolve([], [("a", "b"), ("a", "c")])["a"] == "c"
    assert resolve([], [("a", "b"), ("b", "a")]) == {"a": "a", "b": "a"}


def test_a_key_merged_into_itself_stays_by_itself() -> None:
    assert resolve([link("a", "b")], [("a", "a")]) == {"a": "a", "b": "b"}


@given(PAIRS, PAIRS)
def test_every_key_is_known_under_one_that_is_known_under_itself(
    links: list[tuple[str, str]], merges: list[tuple[str, str]]
) -> None:
    known = resolve([link(*one) for one in links], merges)
    assert known.keys() == {key for pair in links + merges for key in pair}
    assert all(known[into] == into for into in known.values())
    if merges:
        key, into = merges[-1]
        assert known[key] == known[into]
