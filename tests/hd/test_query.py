"""Structural queries find the records that have what is asked for, and say how sure they are of what fills a role."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra, algebra_named, default_algebra
from mnemic.hd.evidence import expected_weights
from mnemic.hd.query import (
    FillerProbabilities,
    Matches,
    RecordVectors,
    StructuralQuery,
    decode_fillers,
    find_matches,
    match_weights,
    sample_rows,
)

ALGEBRA = default_algebra()


def drawn(rng: np.random.Generator, *shape: int) -> NDArray[np.uint64]:
    return rng.integers(0, 2**64, shape, dtype=np.uint64)


class World:
    """Records of some roles, each of which has one filler or none, as a mind that nobody has tuned anything on.

    How many pairs a record has says nothing about which: others, that nobody asks for, make it up.
    """

    def __init__(
        self, seed: int, records: int, words: int, roles: int = 4, fillers: int = 3, more: int = 0, fill: float = 0.8
    ) -> None:
        rng = np.random.default_rng(seed)
        self.pairs = drawn(rng, roles, fillers, words)
        self.share = rng.dirichlet(np.ones(fillers), roles) * fill
        none = 1 - self.share.sum(axis=1)
        self.truth = np.array(
            [rng.choice(fillers + 1, records, p=[*self.share[role], none[role]]) for role in range(roles)]
        ).T
        self.truth[self.truth == fillers] = -1
        bundled, offsets = [], [0]
        for record in self.truth:
            has = [self.pairs[role, filler] for role, filler in enumerate(record) if filler >= 0]
            others = drawn(rng, roles + int(rng.integers(0, more + 1)) - len(has), words)
            bundled.append(np.array([*has, *others], np.uint64).reshape(-1, words))
            offsets.append(offsets[-1] + len(bundled[-1]))
        ties = drawn(rng, records, words)
        codes = ALGEBRA.bundle_groups(np.concatenate(bundled), np.array(offsets, np.int64), ties)
        self.codes = RecordVectors.from_vectors(codes, np.diff(offsets).astype(np.int64))
        self.all = np.arange(records)

    def asked(self, *known: tuple[int, int]) -> StructuralQuery:
        exact = np.array([self.pairs[one] for one in known], np.uint64).reshape(-1, self.pairs.shape[2])
        priors = np.array([self.share[one] for one in known], np.float64)
        return StructuralQuery(exact, priors, exact[:0], np.zeros(0, np.bool_))

    def having(self, *known: tuple[int, int]) -> list[int]:
        has = np.ones(len(self.truth), np.bool_)
        for role, filler in known:
            has &= self.truth[:, role] == filler
        return np.flatnonzero(has).tolist()


# --- which records ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algebra", [default_algebra(), algebra_named("numpy")], ids=["best", "numpy"])
@pytest.mark.parametrize("known", [[(0, 1)], [(0, 0), (2, 1)], [(0, 2), (1, 0), (3, 1)]])
def test_exactly_the_records_that_have_all_pairs_match(algebra: Algebra, known: list[tuple[int, int]]) -> None:
    world = World(1, 300, 160, more=4)
    matches = find_matches(world.codes, world.all, world.asked(*known), algebra)
    assert sorted(matches.row[matches.probability > 0.5].tolist()) == world.having(*known)
    assert ((matches.probability > 0.999) | (matches.probability < 0.001)).all()
    assert (matches.nearness == 1).all()


def test_of_records_that_match_equally_the_one_that_was_kept_last_comes_first() -> None:
    world = World(2, 200, 160)
    matches = find_matches(world.codes, world.all, world.asked((0, 0)), ALGEBRA)
    found = matches.row[: len(world.having((0, 0)))].tolist()
    assert found == sorted(found, reverse=True)


def test_no_other_record_is_looked_through() -> None:
    world = World(3, 200, 160)
    places = np.arange(0, 200, 3)
    matches = find_matches(world.codes, places, world.asked((0, 0)), ALGEBRA)
    assert set(matches.row.tolist()) == set(places.tolist())


def test_comparing_a_part_of_the_bits_first_loses_no_record() -> None:
    world = World(4, 9_000, 64, more=3)
    for places in (world.all, world.all[:8_500:1], np.delete(world.all, slice(0, 700))):
        known = [(0, 1), (1, 1), (2, 1)]
        matches = find_matches(world.codes, places, world.asked(*known), ALGEBRA, most=2000)
        expected = sorted(set(world.having(*known)) & set(places.tolist()))
        assert sorted(matches.row[matches.probability > 0.5].tolist()) == expected


@pytest.mark.parametrize("records", [3_000, 9_000])
def test_of_more_matches_than_are_wanted_the_last_and_some_of_all_others_are_found(records: int) -> None:
    world = World(5, records, 64, fillers=1, fill=0.9)
    matches = find_matches(world.codes, world.all, world.asked((0, 0)), ALGEBRA, most=500)
    having = world.having((0, 0))
    assert matches.row[:20].tolist() == having[::-1][:20]
    assert len(matches.row) <= 500
    assert np.median(matches.row) == pytest.approx(records / 2, abs=records / 20)


def test_what_a_part_of_the_bits_cannot_tell_from_a_match_crowds_no_match_out() -> None:
    world = World(15, 12_000, 48, roles=14, fillers=60)
    having = world.having((0, 0))
    assert 20 < len(having) < 500
    matches = find_matches(world.codes, world.all, world.asked((0, 0)), ALGEBRA, most=1_000)
    assert set(having) <= set(matches.row.tolist())
    assert set(matches.row[: len(having)].tolist()) == set(having)


def test_the_nearer_a_records_filler_is_the_better_it_matches_and_one_without_it_not_at_all() -> None:
    rng = np.random.default_rng(6)
    target = drawn(rng, 160)
    flips = [0, 800, 1600, 2400, 5120]
    near = np.array([np.packbits(np.unpackbits(target.view(np.uint8)) ^ (rng.permutation(10_240) < n)) for n in flips])
    near = np.ascontiguousarray(near).view(np.uint64)
    codes = np.array([ALGEBRA.bundle(np.concatenate([one[None], drawn(rng, 6, 160)]), target) for one in near])
    asked = StructuralQuery(target[None][:0], np.zeros(0), target[None], np.zeros(1, np.bool_))
    matches = find_matches(RecordVectors.from_vectors(codes, np.full(5, 7)), np.arange(5), asked, ALGEBRA)
    assert matches.row.tolist() == [0, 1, 2, 3, 4]
    assert matches.nearness[:4] == pytest.approx([1 - 2 * n / 10_240 for n in flips[:4]], abs=0.1)
    assert matches.nearness[4] == 0
    assert (matches.probability == 1).all()


def test_of_many_records_those_that_have_something_near_are_found_by_a_part_of_the_bits() -> None:
    world = World(14, 9_000, 64, fillers=40)
    asked = world.asked((1, 0))
    near = StructuralQuery(asked.exact_pairs[:0], asked.priors[:0], asked.exact_pairs, np.zeros(1, np.bool_))
    having = world.having((1, 0))
    assert 20 < len(having) < 500
    found = find_matches(world.codes, world.all, near, ALGEBRA, most=1000)
    assert set(having) <= set(found.row.tolist())
    assert set(found.row[: len(having)].tolist()) == set(having)


@pytest.mark.parametrize("records", [1, 300, 10_000])
def test_where_nothing_is_near_no_record_is_taken_for_near_but_in_one_question_of_a_hundred(records: int) -> None:
    rng = np.random.default_rng(records)
    codes = RecordVectors.from_vectors(drawn(rng, records, 160), np.full(records, 9))
    questions = 60 if records > 300 else 400
    taken = 0
    for _ in range(questions):
        near = StructuralQuery(drawn(rng, 0, 160), np.empty(0), drawn(rng, 1, 160), np.zeros(1, np.bool_))
        taken += int(find_matches(codes, np.arange(records), near, ALGEBRA).nearness.any())
    assert taken <= questions / 50


def test_one_record_that_is_near_is_found_among_many_that_are_not() -> None:
    rng = np.random.default_rng(4)
    target = drawn(rng, 160)
    half = np.packbits(np.unpackbits(target.view(np.uint8)) ^ (rng.permutation(10_240) < 2_560)).view(np.uint64)
    vectors = drawn(rng, 20_000, 160)
    vectors[7_777] = ALGEBRA.bundle(np.concatenate([half[None], drawn(rng, 8, 160)]), target)
    near = StructuralQuery(vectors[:0], np.empty(0), target[None], np.zeros(1, np.bool_))
    matches = find_matches(RecordVectors.from_vectors(vectors, np.full(20_000, 9)), np.arange(20_000), near, ALGEBRA)
    assert matches.row[matches.nearness > 0].tolist() == [7_777]
    assert matches.nearness[0] == pytest.approx(0.5, abs=0.15)


def test_nearness_of_angles_is_their_cosine() -> None:
    rng = np.random.default_rng(7)
    target = drawn(rng, 1, 160)
    turned = np.packbits(np.unpackbits(target.view(np.uint8)) ^ (rng.permutation(10_240) < 10_240 // 3)).view(np.uint64)
    asked = StructuralQuery(target[:0], np.zeros(0), target, np.ones(1, np.bool_))
    matches = find_matches(RecordVectors.from_vectors(turned[None], np.ones(1, np.int64)), np.arange(1), asked, ALGEBRA)
    assert matches.nearness[0] == pytest.approx(0.5, abs=0.02)  # an angle of a third of a half-turn


@pytest.mark.parametrize("records", [0, 1])
@pytest.mark.parametrize("words", [1, 2, 160])
def test_none_or_one_record_of_any_size_is_looked_through_as_well(records: int, words: int) -> None:
    world = World(8, 3, words)
    places = world.all[:records]
    matches = find_matches(world.codes, places, world.asked((0, 0), (1, 1)), ALGEBRA)
    assert len(matches.row) == records
    assert matches.pair_scores.shape == (records, 2)
    filled = decode_fillers(world.codes, places, world.pairs[2], world.share[2], False, ALGEBRA)
    assert answers(matches, filled).shape == filled.candidate.shape


def test_nothing_has_a_pair_that_is_known_of_nothing() -> None:
    world = World(9, 50, 160)
    asked = world.asked((0, 0))._replace(priors=np.zeros(1))
    assert (find_matches(world.codes, world.all, asked, ALGEBRA).probability == 0).all()


def answers(matches: Matches, filled: FillerProbabilities) -> NDArray[np.float64]:
    """The probability of each candidate to fill the role of a record that is meant."""
    return np.asarray(expected_weights(match_weights(matches)) @ filled.probability)


# --- what fills a role -----------------------------------------------------------------------------------------------


def test_each_record_gives_back_what_it_was_made_of() -> None:
    world = World(10, 200, 160, fillers=6, more=3)
    for many in (False, True):
        filled = decode_fillers(world.codes, world.all, world.pairs[1], world.share[1], many, ALGEBRA)
        for record, row in zip(world.truth[:, 1], filled.probability, strict=True):
            likely = filled.candidate[row > 0.5].tolist()
            assert likely == ([] if record < 0 else [record])


def test_too_many_candidates_are_tried_on_some_records_and_those_proposed_on_all() -> None:
    rng = np.random.default_rng(11)
    candidates = drawn(rng, 60_000, 16)
    codes = np.array(
        [ALGEBRA.bundle(np.concatenate([candidates[n : n + 1], drawn(rng, 2, 16)]), candidates[0]) for n in range(20)]
    )
    coded, places, priors = RecordVectors.from_vectors(codes, np.full(20, 3)), np.arange(20), np.full(60_000, 1e-4)
    alone = decode_fillers(coded, places, candidates, priors, True, ALGEBRA)
    helped = decode_fillers(coded, places, candidates, priors, True, ALGEBRA, proposed=np.arange(15, 20))
    assert set(range(8)) <= set(alone.candidate[alone.probability.max(axis=0) > 0.5].tolist())
    found = {int(c): p for c, p in zip(helped.candidate, helped.probability.T, strict=True)}
    assert all(found[n][n] > 0.9 for n in (*range(8), *range(15, 20)))


def test_what_is_meant_is_what_matches_and_the_nearest_of_it() -> None:
    world = World(12, 4, 160)
    matches = find_matches(world.codes, world.all, world.asked(), ALGEBRA)
    near = matches._replace(probability=np.array([1.0, 1.0, 1.0, 0.0]), nearness=np.array([0.8, 0.75, 0.0, 0.9]))
    assert match_weights(near) == pytest.approx([1.0, np.exp(-1), 0.0, 0.0])


@pytest.mark.parametrize("members", [20, 40])
def test_of_many_candidates_only_those_are_compared_with_all_that_a_record_might_have(members: int) -> None:
    rng = np.random.default_rng(13)
    candidates, count = drawn(rng, 10_000, 160), 60
    rows = rng.integers(0, len(candidates), members * count)
    offsets = np.arange(count + 1) * members
    codes = RecordVectors.from_vectors(
        ALGEBRA.bundle_groups(candidates, offsets, drawn(rng, count, 160), rows), np.full(count, members)
    )
    filled = decode_fillers(codes, np.arange(count), candidates, np.full(10_000, 1e-3), True, ALGEBRA)
    assert len(filled.candidate) < 2_500  # with the first bits alone, nearly all would be
    sure = filled.candidate[filled.probability[:40].max(axis=0) > 0.9]
    assert set(rows[: 40 * members]) <= set(sure.tolist())


@given(length=st.integers(0, 400), most=st.integers(1, 200), last=st.integers(0, 80))
def test_a_sample_keeps_the_last_and_is_no_longer_than_it_may_be(length: int, most: int, last: int) -> None:
    places = np.arange(length) * 3
    found = sample_rows(places, most, last)
    assert len(found) <= max(most, 0)
    assert np.isin(found, places).all()
    assert (np.diff(found) > 0).all()
    if length <= most:
        assert found.tolist() == places.tolist()
    else:
        kept = min(last, most)
        assert found[len(found) - kept :].tolist() == places[length - kept :].tolist()


# --- calibration -----------------------------------------------------------------------------------------------------


def right(confidence: NDArray[np.float64], truth: NDArray[np.float64], low: float, high: float) -> tuple[float, float]:
    """Of the answers of a confidence, how many are right, and what they were given."""
    among = (confidence >= low) & (confidence < high)
    assert among.sum() > 200, f"too few answers to judge: {among.sum()}"
    return float(truth[among].mean()), float(confidence[among].mean())


@pytest.mark.parametrize("many", [False, True], ids=["one filler", "several"])
@pytest.mark.parametrize(("words", "more"), [(2, 8), (4, 30), (16, 120)])
def test_of_fillers_given_nine_tenths_nine_in_ten_are_in_the_record(words: int, more: int, many: bool) -> None:
    confidence, truth = [], []
    for seed in range(150):  # of one mind's few fillers, two may be alike by chance: it takes many minds
        world = World(100 + seed, 80, words, roles=3, fillers=4, more=more)
        for role in range(3):
            filled = decode_fillers(world.codes, world.all, world.pairs[role], world.share[role], many, ALGEBRA)
            confidence.append(filled.probability.ravel())
            truth.append((world.truth[:, role, None] == filled.candidate).ravel())
    given, had = np.concatenate(confidence), np.concatenate(truth).astype(np.float64)
    for low, high in ((0.1, 0.3), (0.4, 0.6), (0.85, 0.95), (0.95, 1.01)):
        found, promised = right(given, had, low, high)
        assert found == pytest.approx(promised, abs=0.03)


def test_of_answers_given_nine_tenths_nine_in_ten_are_right() -> None:
    confidence: list[float] = []
    truth: list[float] = []
    for seed in range(1_500):
        world = World(1_000 + seed, 6, 2, roles=4, fillers=2, more=3)
        for known in [((0, 0), (1, 0)), ((0, 1), (1, 0)), ((0, 0), (2, 1)), ((3, 1),), ((0, 1),)]:
            matches = find_matches(world.codes, world.all, world.asked(*known), ALGEBRA)
            having = world.having(*known)
            role = next(one for one in (1, 2, 3) if one not in [role for role, _ in known])
            filled = decode_fillers(world.codes, matches.row, world.pairs[role], world.share[role], False, ALGEBRA)
            confidence += answers(matches, filled).tolist()
            has = [world.truth[having, role] == one for one in filled.candidate]
            truth += [float(one.mean()) if len(having) else 0.0 for one in has]
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 0.9), (0.85, 0.95), (0.95, 1.01)):
        found, promised = right(np.array(confidence), np.array(truth), low, high)
        assert found == pytest.approx(promised, abs=0.03)


@pytest.mark.parametrize("most", [50, 4096])
def test_a_judge_is_asked_only_about_what_may_have_the_exact_pairs_and_ranks_it(most: int) -> None:
    world = World(7, 9000, 16, fillers=6)
    seen: list[NDArray[np.int64]] = []

    def judge(places: NDArray[np.int64]) -> NDArray[np.float64]:
        seen.append(places)
        return np.asarray((places % 97) / 97)

    asked = world.asked((0, 0), (1, 0))
    plain, judged = (
        find_matches(world.codes, world.all, asked, ALGEBRA),
        find_matches(world.codes, world.all, asked, ALGEBRA, most, judge),
    )
    having = world.having((0, 0), (1, 0))
    (looked,) = seen
    assert set(having) <= set(looked.tolist())
    assert len(looked) < len(world.all) / 2
    assert judged.nearness.tolist() == judged.pair_scores[:, 2].tolist() == (judged.row % 97 / 97).tolist()
    rank = np.argsort(plain.row)[np.searchsorted(np.sort(plain.row), judged.row)]
    assert judged.probability.tolist() == plain.probability[rank].tolist()
    best = max((place for place in having), key=lambda place: (place % 97, place))
    assert int(judged.row[0]) % 97 == best % 97
    assert len(judged.row) <= most


def test_a_judge_alone_ranks_all_records() -> None:
    world = World(3, 40, 16)
    found = find_matches(world.codes, world.all, world.asked(), ALGEBRA, judge=lambda places: places / 40)
    assert found.row.tolist() == list(range(39, -1, -1))
    assert (found.probability == 1).all()
    many = World(4, 9000, 16)
    found = find_matches(many.codes, many.all, many.asked(), ALGEBRA, 10, lambda places: places / 9000)
    assert found.row.tolist() == list(range(8999, 8989, -1))
