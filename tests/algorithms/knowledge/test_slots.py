"""Short tables tell what has one value at a time, and which values are of one sort."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.slots import (
    are_alike,
    are_equal_amounts,
    are_of_two_kinds,
    are_of_two_ranges,
    are_versions,
    is_slot,
    noun_of_name,
    sort_of,
)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("sqlite", "Postgres 17", True),
        ("Postgres", "Redis", False),
        ("npm", "uv", False),  # package managers of two languages
        ("24 hours", "30min", True),
        ("24 hours", "3 GB", False),
        ("port 3000", "3400", True),
        ("web1", "web3", True),
        ("Bologna", "Ghent", True),
        ("Bologna", "42", False),
        ("slow", "green", False),
        ("", "", False),
    ],
)
def test_values_are_alike_by_what_they_are(one: str, other: str, *, alike: bool) -> None:
    assert are_alike(one, other) == are_alike(other, one) == alike


@pytest.mark.parametrize(
    ("subject", "has_one"),
    [
        ("order cutoff", True),
        ("port of the dev server", True),
        ("package manager", True),
        ("@ines's favourite editor", True),
        ("test runner", True),
        ("build", False),
        ("@we", False),
        ("", False),
    ],
)
def test_the_noun_of_a_subject_tells_whether_it_has_one_value(subject: str, *, has_one: bool) -> None:
    assert is_slot(subject) == has_one


def test_two_versions_are_of_one_name() -> None:
    assert are_versions("Node 18", "node 20")
    assert not are_versions("Node 18", "Node")
    assert not are_versions("Node 18", "Python 3.11")


def test_a_name_of_several_kinds_says_of_none_what_it_is() -> None:
    assert (noun_of_name("MySQL"), noun_of_name("redis"), noun_of_name("Nadia")) == ("database", "", "")
    assert are_of_two_kinds("Postgres", "Kafka")
    assert not are_of_two_kinds("redis", "Kafka")
    assert sort_of("`x`") == "name"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("90 s", "1.5 minutes", True),
        ("2h", "120 min", True),
        ("1,000", "1000", True),
        ("2 TB", "2048 GB", True),
        ("7 days", "1 week", True),
        ("2 hrs", "2 h", True),
        ("9" * 5000, "9" * 5000, False),  # no amount that anyone tells
        ("5 euros", "5 euro", True),
        ("5 euros", "5 dollars", False),
        ("3 GB", "3 h", False),
        ("60 seconds", "60 minutes", False),
        ("", "", False),
        ("Ghent", "Ghent", False),
    ],
)
def test_amounts_are_equal_in_whatever_unit_they_are_told(one: str, other: str, *, equal: bool) -> None:
    assert are_equal_amounts(one, other) == are_equal_amounts(other, one) == equal


@given(st.integers(0, 10**9))
def test_milliseconds_are_equal_to_as_many_thousandths_of_seconds(count: int) -> None:
    assert are_equal_amounts(f"{count} ms", f"{count // 1000}.{count % 1000:03} s")
    assert not are_equal_amounts(f"{count} ms", f"{count // 1000}.{count % 1000:03}1 s")


@pytest.mark.parametrize(
    ("one", "other", "nested"),
    [
        ("Ghent", "Belgium", True),
        ("California", "USA", True),
        ("Belgium", "Europe", True),
        ("Ghent", "Kortrijk", False),
        ("Belgium", "France", False),
        ("", "", False),
    ],
)
def test_a_place_may_lie_in_a_wider_one(one: str, other: str, *, nested: bool) -> None:
    assert are_of_two_ranges(one, other) == are_of_two_ranges(other, one) == nested
