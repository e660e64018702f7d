"""Names that are spelt alike have codes that are alike, and others have not."""

from __future__ import annotations

import string

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.hd.algebra import algebra_named, default_algebra
from mnemic.hd.letters import SpellingEncoder
from tests.hd.spaces import space

NAMES = st.text(string.ascii_lowercase + "/._- ", min_size=1, max_size=30)
SPELLING = SpellingEncoder(space(), default_algebra())


def alike(name: str, other: str) -> float:
    return float(SPELLING.similarities(SPELLING.encode([name]), other)[0])


@settings(max_examples=30)
@given(names=st.lists(NAMES, max_size=5))
def test_a_name_is_the_same_as_itself_in_any_company_order_and_case(names: list[str]) -> None:
    codes = SPELLING.encode(names)
    assert codes.shape == (len(names), space().words)
    assert SPELLING.encode(names[::-1])[::-1].tolist() == codes.tolist()
    assert SpellingEncoder(space(), algebra_named("numpy")).encode(names).tolist() == codes.tolist()
    for code, name in zip(codes, names, strict=True):
        assert SPELLING.similarities(code[None], name.upper()).tolist() == [1.0]


@settings(max_examples=30)
@given(name=NAMES, other=NAMES)
def test_likeness_is_mutual_and_from_0_to_1(name: str, other: str) -> None:
    assert alike(name, other) == alike(other, name)
    assert 0 <= alike(name, other) <= 1


def test_a_name_with_a_letter_wrong_is_nearer_than_other_names_are() -> None:
    names = ["auth.py", "tides.py", "bookings.py", "slipway/auth.py", "docs/decisions.md"]
    codes = SPELLING.encode(names)
    for wrong, meant in (("auht.py", 0), ("tidse.py", 1), ("boookings.py", 2), ("slipwy/auth.py", 3)):
        assert int(np.argmax(SPELLING.similarities(codes, wrong))) == meant


def test_what_shares_no_pair_of_letters_is_not_alike_and_what_shares_more_is_more() -> None:
    assert alike("bob", "ines") < 0.15
    assert alike("the db", "xylophone") < 0.3 < alike("bsah", "bash") < alike("pytset", "pytest")
    assert alike("database", "databases") > alike("database", "data") > alike("database", "bass") > 0


def test_of_a_name_longer_than_any_the_end_counts() -> None:
    assert alike("a/" * 400 + "auth.py", "b/" * 400 + "auth.py") > 0
