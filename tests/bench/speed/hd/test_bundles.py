"""Bundles hold each record once, and lead to the records that a probe is like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.bench.speed.hd import bundles
from mnemic.bench.speed.hd.bundles import MAX_MEMBERS, bundle_groups_of
from mnemic.hd.algebra import default_algebra
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.space import Space

ALGEBRA = default_algebra()
SPACE = Space(seed=bytes(32), dimensions=10_240)
TIE = draw_hypervector(SPACE, "tie", "session")


def drawn(count: int, words: int = 160, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    return np.random.default_rng(seed).integers(0, 2**64, (count, words), np.uint64)


@given(st.lists(st.integers(0, 5), max_size=200), st.integers(0, 3))
def test_each_record_is_a_member_once_and_a_bundle_is_of_one_group(groups: list[int], seed: int) -> None:
    vectors = drawn(len(groups), seed=seed)
    found = bundle_groups_of(vectors, np.array(groups, np.int64), TIE, ALGEBRA)
    assert sorted(found.members.tolist()) == list(range(len(groups)))
    starts = [0, *found.ends.tolist()][:-1] if len(found.ends) else []
    for code, start, end in zip(found.codes, starts, found.ends.tolist(), strict=True):
        members = found.members[start:end]
        assert 0 < len(members) <= MAX_MEMBERS
        assert len({groups[one] for one in members.tolist()}) == 1
        assert (code == ALGEBRA.bundle(vectors[members], TIE)).all()


def test_a_probe_is_led_to_what_it_is_like_and_to_nothing_that_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, groups = drawn(2_000), np.arange(2_000) // 40
    found = bundle_groups_of(vectors, groups, TIE, ALGEBRA)
    monkeypatch.setattr(bundles, "MOST_BUNDLES", 3)
    seen = np.ones(2_000, np.bool_)
    for place in range(0, 2_000, 97):
        led = found.route(vectors[place], seen, ALGEBRA)
        assert len(led) == 120
        assert place in led
    seen[groups == 3] = False
    led = found.route(vectors[130], seen, ALGEBRA)
    assert len(led) == 120
    assert not np.isin(led, np.flatnonzero(~seen)).any()
    seen[:] = False
    assert len(found.route(vectors[130], seen, ALGEBRA)) == 0


def test_of_no_records_there_are_no_bundles() -> None:
    found = bundle_groups_of(drawn(0), np.empty(0, np.int64), TIE, ALGEBRA)
    assert len(found.codes) == len(found.members) == len(found.ends) == 0
    assert len(found.route(TIE, np.empty(0, np.bool_), ALGEBRA)) == 0
