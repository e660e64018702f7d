"""Records whose fillers are as near are equally near, whatever else is in them, and the nearer one is nearer."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.hd.algebra import default_algebra
from mnemic.hd.encoders import RecordEncoder
from mnemic.hd.evidence import KnownFillers, decode_nearness
from mnemic.hd.query import Matches, RecordVectors, StructuralQuery, find_matches, match_weights
from mnemic.hd.records import Pair
from tests.hd.spaces import space

ALGEBRA = default_algebra()


def drawn(rng: np.random.Generator, *shape: int) -> NDArray[np.uint64]:
    return rng.integers(0, 2**64, shape, dtype=np.uint64)


class Days:
    """Records that each have one of some days, or none, among as many other pairs as may be."""

    def __init__(self, seed: int, days: list[str | None], dimensions: int = 10_240) -> None:
        rng = np.random.default_rng(seed)
        self.encoders = RecordEncoder(space(dimensions=dimensions))
        self.names = sorted({day for day in days if day is not None})
        share = [days.count(name) / max(2, len(days)) for name in self.names]
        self.priors = np.array([min(one, 0.99) for one in share], np.float64)
        self.bound = self.encoders.encode_pairs([Pair("date", name) for name in self.names])
        records = [
            np.concatenate([self._own(day), drawn(rng, int(rng.integers(1, 16)), dimensions // 64)]) for day in days
        ]
        tie = drawn(rng, dimensions // 64)
        codes = np.array([ALGEBRA.bundle(one, tie) for one in records], np.uint64).reshape(-1, dimensions // 64)
        self.codes, self.all = (
            RecordVectors.from_vectors(codes, np.array([len(one) for one in records], np.int64)),
            np.arange(len(days)),
        )

    def _own(self, day: str | None) -> NDArray[np.uint64]:
        return self.encoders.encode_pairs([Pair("date", day)] if day else [])

    def near(self, day: str) -> Matches:
        pair = self.encoders.encode_pairs([Pair("date", day)])
        graded = KnownFillers(0, self.bound, self.priors, self.encoders.similarities("date", self.names, day))
        asked = StructuralQuery(pair[:0], np.zeros(0), pair, np.zeros(1, np.bool_), (graded,))
        return find_matches(self.codes, self.all, asked, ALGEBRA)


@given(
    days=st.lists(st.sampled_from([None, "2026-05-01", "2026-05-02", "2026-05-05", "2026-08-01"]), max_size=12),
    asked=st.sampled_from(["2026-05-01", "2026-05-03", "2026-07-20"]),
)
def test_records_of_one_filler_are_equally_near_and_those_without_one_are_not(
    days: list[str | None], asked: str
) -> None:
    matches = Days(1, days).near(asked)
    assert sorted(matches.row.tolist()) == list(range(len(days)))
    near: dict[str | None, float] = {}
    for place, share in zip(matches.row.tolist(), matches.nearness.tolist(), strict=True):
        assert share == pytest.approx(near.setdefault(days[place], share), abs=1e-3)
    assert near.get(None, 0.0) == pytest.approx(0.0, abs=1e-3)
    assert near.get(asked, 1.0) == pytest.approx(1.0, abs=1e-3)
    assert (np.diff(matches.nearness.round(6)) <= 0).all()


def test_the_nearer_of_two_days_is_nearer_and_two_on_either_side_are_as_near() -> None:
    found = Days(2, ["2026-05-01", "2026-05-05", "2026-05-04", "2026-05-06", None]).near("2026-05-05")
    near = dict(zip(found.row.tolist(), found.nearness.tolist(), strict=True))
    assert near[1] > near[2] > near[0] > near[4] == pytest.approx(0.0, abs=1e-6)
    assert near[2] == pytest.approx(near[3], abs=1e-6)


def test_what_is_near_to_nothing_is_not_near() -> None:
    days: list[str | None] = ["2026-05-01", "2026-05-02"] * 5
    assert (Days(3, days).near("3026-05-01").nearness == 0).all()


@pytest.mark.parametrize("dimensions", [64, 128, 256])
def test_how_probable_it_is_that_a_record_is_of_the_day_is_kept_however_short_the_hypervectors(dimensions: int) -> None:
    days: list[str | None] = ["2026-05-01", "2026-05-02", "2026-05-05", "2026-08-01"]
    told, right = [], []
    for seed in range(80):
        own = [days[which] for which in np.random.default_rng(1000 + seed).integers(0, 4, 40)]
        found = Days(seed, own, dimensions=dimensions).near("2026-05-01")
        for place, probability, near in zip(found.row, found.probability, found.nearness, strict=True):
            if near == 1.0:
                told.append(probability)
                right.append(own[place] == "2026-05-01")
    sure = np.array(told) > 0.9
    assert np.mean(told) == pytest.approx(np.mean(right), abs=0.03)
    assert np.mean(np.array(told)[sure]) == pytest.approx(np.mean(np.array(right)[sure]), abs=0.03)


def test_of_very_many_records_and_fillers_those_of_the_nearest_day_are_found_and_equal() -> None:
    first = date(2020, 1, 1)
    days: list[str | None] = [(first + timedelta(n % 600)).isoformat() for n in range(9_000)]
    found = Days(5, days, dimensions=4096).near("2020-01-20")
    having = {place for place, day in enumerate(days) if day == "2020-01-20"}
    assert set(found.row[: len(having)].tolist()) == having
    assert match_weights(found)[: len(having)] == pytest.approx(np.ones(len(having)), abs=0.05)
    assert match_weights(found)[len(having) :].max() < 0.1
    assert len(found.row) <= 1024


def test_without_records_or_fillers_nothing_is_near() -> None:
    world = Days(6, ["2026-05-01", None])
    none = KnownFillers(0, world.bound[:0], np.zeros(0), np.zeros(0))
    some = KnownFillers(0, world.bound, world.priors, np.ones(1))
    whole, pairs = world.codes.join(world.all), world.codes.pairs
    assert [part.tolist() for part in decode_nearness(whole, pairs, none, ALGEBRA)] == [[0.0, 0.0], [1.0, 1.0]]
    assert [part.tolist() for part in decode_nearness(whole[:0], pairs[:0], some, ALGEBRA)] == [[], []]


@pytest.mark.parametrize("records", [5_000, 9_000])
def test_of_more_records_of_one_day_than_are_compared_some_of_all_times_are(records: int) -> None:
    found = Days(7, ["2026-05-01", "2026-05-01", "2026-05-01", "2026-08-01"] * (records // 4), dimensions=2048)
    matches = found.near("2026-05-01")
    assert len(matches.row) > 900
    assert (matches.row % 4 < 3).mean() > 0.99
    assert matches.row[:20].tolist() == sorted(matches.row.tolist(), reverse=True)[:20]
    early = (matches.row < records / 2).mean()
    assert early == pytest.approx(0.5, abs=0.05)
