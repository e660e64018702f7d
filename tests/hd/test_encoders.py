"""Encoders bind pairs and bundle records: what is in one can be read from it, the same bits however it was made."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import comb
from random import Random
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.hd import encoders
from mnemic.hd.algebra import NATIVE, algebra_named, default_algebra
from mnemic.hd.codebook import draw_hypervector
from mnemic.hd.encoders import ENCODERS, Projection, RecordEncoder, canonical, match_kind, quantise, register_encoder
from mnemic.hd.packing import pack, unpack
from mnemic.hd.records import Pair, Record
from mnemic.hd.roles import ROLES, Role, register_role
from mnemic.hd.space import Space
from tests.hd.spaces import NOISE, similarity, space
from tests.paths import ROOT

SPACE = space(8)
VECTORS = np.random.default_rng(5).normal(size=(6, 8)).astype(np.float32)
NAMED = {
    "who": ["ada", "bob", "tool"],
    "file": ["a.py", "docs/README.md"],
    "date": ["2026-05-01", "2026-05-02", "1970-01-01"],
    "hour": ["0", "23"],
    "weekday": ["monday", "sunday"],
    "size": ["0", "12", "300"],
}


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    shift = draw(st.sampled_from([0, 0, 1, 2, -1]))
    role = draw(st.sampled_from([*NAMED, "about", "next"]))
    if role in NAMED:
        return Pair(role, draw(st.sampled_from(NAMED[role])), shift)
    return Pair(role, VECTORS[draw(st.integers(0, len(VECTORS) - 1))], shift)


def key(pair: Pair) -> tuple[str, object, int]:
    return pair.role, pair.filler if isinstance(pair.filler, str) else pair.filler.tobytes(), pair.shift


RECORDS = st.lists(pairs(), max_size=8, unique_by=key).map(tuple)


@pytest.fixture(params=["native", "numpy"], scope="module")
def bound(request: pytest.FixtureRequest) -> RecordEncoder:
    if request.param == "native" and not NATIVE:
        pytest.skip("the native extension is not built")
    return RecordEncoder(SPACE, algebra_named(request.param))


def by_hand(space: Space, record: Record) -> NDArray[np.uint64]:
    """A record's hypervector bit by bit, by the definition."""
    fresh = RecordEncoder(space, algebra_named("numpy"))
    votes = np.zeros(space.dimensions, int)
    all_bound = np.zeros(space.dimensions, bool)
    for role, filler, shift in record:
        code = (
            fresh.encode_fillers(role, [filler]) if isinstance(filler, str) else fresh.project_embeddings(filler[None])
        )
        pair = np.roll(unpack(code[0] ^ draw_hypervector(space, "role", role)), shift)
        votes += np.where(pair, 1, -1)
        all_bound ^= pair
    tie = np.roll(all_bound, 1) ^ unpack(draw_hypervector(space, "tie", ""))
    return pack(np.where(votes == 0, tie, votes > 0))


@settings(max_examples=20)
@given(records=st.lists(RECORDS, max_size=4))
def test_a_record_is_the_majority_of_its_bound_pairs(bound: RecordEncoder, records: list[Record]) -> None:
    codes = bound.encode_records(records)
    assert codes.shape == (len(records), 160)
    for record, code in zip(records, codes, strict=True):
        assert np.array_equal(code, by_hand(SPACE, record))


@given(record=RECORDS, chance=st.randoms(use_true_random=False))
def test_the_order_of_its_pairs_makes_no_difference(bound: RecordEncoder, record: Record, chance: Random) -> None:
    mixed = list(record)
    chance.shuffle(mixed)
    assert np.array_equal(bound.encode_records([record]), bound.encode_records([tuple(mixed)]))


@given(record=RECORDS)
def test_pairs_are_roles_bound_with_fillers_and_permuted(bound: RecordEncoder, record: Record) -> None:
    found = bound.encode_pairs(record)
    assert found.shape == (len(record), 160)
    for (role, filler, shift), code in zip(record, found, strict=True):
        unbound = default_algebra().permute(code, -shift) ^ bound.role_vector(role)
        filled = (
            bound.encode_fillers(role, [filler]) if isinstance(filler, str) else bound.project_embeddings(filler[None])
        )
        assert np.array_equal(unbound, filled[0])


def topics(count: int, name: str = "") -> Record:
    return tuple(Pair("topic", f"{name}{number}") for number in range(count))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 12, 20, 41])
def test_each_pair_of_a_bundle_agrees_with_it_in_as_many_bits_as_the_law_says(bound: RecordEncoder, count: int) -> None:
    record = topics(count)
    (code,) = bound.encode_records([record])
    law = comb(count - 1, (count - 1) // 2) / 2 ** (count - 1)
    for pair in bound.encode_pairs(record):
        assert similarity(pair, code) == pytest.approx(law, abs=NOISE)
    assert abs(similarity(bound.encode_pairs(topics(1, "other"))[0], code)) < NOISE


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 12])
def test_records_with_nothing_in_common_are_unlike_also_where_their_pairs_tie(bound: RecordEncoder, count: int) -> None:
    one, other = bound.encode_records([topics(count, "a"), topics(count, "b")])
    if count:
        assert abs(similarity(one, other)) < NOISE
    else:
        assert np.array_equal(one, other)


def test_a_filler_is_found_again_by_unbinding_its_role_and_cleanup(bound: RecordEncoder) -> None:
    record = (*topics(10), Pair("who", "ada"), Pair("size", "300"), Pair("about", VECTORS[0]), Pair("tool", "edit", 2))
    (code,) = bound.encode_records([record])
    for role, filler, shift, others in (
        ("who", "ada", 0, [f"somebody {number}" for number in range(500)]),
        ("size", "300", 0, ["150", "600", "10", "1000"]),
        ("tool", "edit", 2, ["read", "search", "run"]),
    ):
        items = bound.encode_fillers(role, [*others, filler])
        asked = default_algebra().permute(code, -shift) ^ bound.role_vector(role)
        indices, _ = bound.algebra.cleanup(items, asked[None], 1)
        assert indices[0, 0] == len(others)


def test_what_was_a_step_before_is_not_taken_for_the_step_itself(bound: RecordEncoder) -> None:
    now, before = bound.encode_pairs([Pair("tool", "edit"), Pair("tool", "edit", 1)])
    assert abs(similarity(now, before)) < NOISE
    assert np.array_equal(default_algebra().permute(now), before)


def test_many_records_at_once_are_the_same_as_one_by_one(bound: RecordEncoder) -> None:
    records = [
        (Pair("topic", str(number)), Pair("who", "ada"), Pair("about", VECTORS[number % 6])) for number in range(2100)
    ]
    codes = bound.encode_records(records)
    for number in (0, 1, 1023, 1024, 1025, 2048, 2099):
        assert np.array_equal(bound.encode_records([records[number]])[0], codes[number])


def test_no_more_pairs_are_kept_than_allowed_and_what_went_is_bound_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = RecordEncoder(SPACE)
    first = fresh.encode_pairs(topics(5))
    monkeypatch.setattr(encoders, "_MAX_CACHED_PAIRS", 3)
    assert np.array_equal(fresh.encode_pairs([*topics(9), *topics(9)])[9:14], first)
    assert np.array_equal(fresh.encode_pairs(topics(5)), first)
    assert len(fresh._pairs) == 3


def test_the_pairs_that_are_kept_are_those_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "_MAX_CACHED_PAIRS", 3)
    fresh = RecordEncoder(SPACE)
    for number in (0, 1, 2, 0, 3):
        fresh.encode_pairs([Pair("topic", str(number))])
    assert [name for _, name, _ in fresh._pairs] == ["2", "0", "3"]


def test_what_a_caller_does_to_the_pairs_it_was_given_changes_no_later_one() -> None:
    fresh = RecordEncoder(SPACE)
    first = fresh.encode_pairs(topics(2))
    kept = first.copy()
    first[:] = 0
    assert np.array_equal(fresh.encode_pairs(topics(2)), kept)


@pytest.mark.parametrize("dimensions", [64, 1024])
def test_records_are_bound_in_any_dimensions(dimensions: int) -> None:
    small = space(8, dimensions=dimensions)
    record = (Pair("who", "ada"), Pair("date", "2026-05-01"), Pair("size", "3"), Pair("about", VECTORS[0]))
    assert np.array_equal(RecordEncoder(small).encode_records([record])[0], by_hand(small, record))


def test_an_unknown_role_is_told_with_all_that_there_are(bound: RecordEncoder) -> None:
    said = "there is no role named 'whom'; there are who, to, date, .*worked"
    for ask in (
        lambda: canonical("whom", "ada"),
        lambda: match_kind("whom"),
        lambda: canonical("whom", "ada"),
        lambda: bound.role_vector("whom"),
        lambda: bound.encode_fillers("whom", ["ada"]),
        lambda: bound.encode_pairs([Pair("whom", "ada")]),
        lambda: bound.encode_records([(Pair("whom", "ada"),)]),
    ):
        with pytest.raises(ValueError, match=said):
            ask()


def test_a_role_that_this_space_leaves_out_is_told_with_those_it_has() -> None:
    few = RecordEncoder(space(roles=("who", "date")))
    with pytest.raises(ValueError, match=r"no role named 'tool'; there are who, date$"):
        few.encode_records([(Pair("tool", "edit"),)])


def test_a_filler_of_the_wrong_kind_is_told(bound: RecordEncoder) -> None:
    with pytest.raises(ValueError, match="about is filled with an embedding, and a name was given"):
        bound.encode_pairs([Pair("about", "token rotation")])
    with pytest.raises(ValueError, match="who is filled with a name, and an embedding was given"):
        bound.encode_pairs([Pair("who", VECTORS[0])])
    with pytest.raises(ValueError, match="a day is expected"):
        bound.encode_pairs([Pair("date", "soon")])


class Vowels:
    """Names by how many vowels they have."""

    match: ClassVar[Literal["exact", "near", "meaning"]] = "near"

    def __init__(self, space: Space, namespace: str) -> None:
        self.space, self.namespace = space, namespace

    @staticmethod
    def canonical(filler: str) -> str:
        return "".join(letter for letter in filler if letter in "aeiou")

    def encode(self, fillers: Sequence[str]) -> NDArray[np.uint64]:
        return np.stack([draw_hypervector(self.space, self.namespace, str(len(filler))) for filler in fillers])

    def similarities(self, fillers: Sequence[str], filler: str) -> NDArray[np.float64]:
        return np.array([float(len(one) == len(filler)) for one in fillers])


@pytest.fixture
def researcher() -> Iterator[None]:
    register_encoder("vowels", Vowels)
    register_role(Role(name="rhyme", encoder="vowels", tiers=("episode",), help="How it sounds."))
    yield
    del ENCODERS["vowels"]
    del ROLES["rhyme"]


@pytest.mark.usefixtures("researcher")
def test_a_registered_role_of_a_registered_encoder_is_bound_and_read() -> None:
    made = RecordEncoder(space())
    (code,) = made.encode_records(
        [(Pair("who", "ada"), Pair("rhyme", canonical("rhyme", "banana")), Pair("kind", "turn"))]
    )
    items = made.encode_fillers("rhyme", ["o", "aaa", "eiei"])
    indices, _ = made.algebra.cleanup(items, (code ^ made.role_vector("rhyme"))[None], 1)
    assert indices[0, 0] == 1
    assert match_kind("rhyme") == "near"


def test_an_encoder_is_not_replaced_by_another_of_its_name() -> None:
    with pytest.raises(ValueError, match="an encoder named 'symbol' already"):
        register_encoder("symbol", Vowels)


def test_an_encoder_that_compares_by_nearness_has_to_say_how_near() -> None:
    class Dumb(Vowels):
        similarities: Any = None

    with pytest.raises(ValueError, match="'dumb' compares by nearness: give it a method `similarities`"):
        register_encoder("dumb", Dumb)
    assert "dumb" not in ENCODERS


@pytest.mark.parametrize(
    ("role", "fillers"),
    [
        ("date", ["2026-05-01", "2026-05-02", "2026-05-06", "2026-04-20", "2026-08-01", "2020-01-01"]),
        ("hour", ["0", "1", "5", "12", "23"]),
        ("weekday", ["monday", "tuesday", "friday", "sunday"]),
        ("size", ["300", "301", "330", "9000", "0", "-300"]),
    ],
)
def test_how_alike_fillers_are_is_how_alike_their_codes_are_but_for_chance(
    bound: RecordEncoder, role: str, fillers: list[str]
) -> None:
    told = bound.similarities(role, fillers, fillers[0])
    codes = bound.encode_fillers(role, fillers)
    assert told[0] == 1.0
    assert told == pytest.approx(bound.algebra.similarity(codes, codes[0]), abs=NOISE)


def test_a_role_whose_encoder_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROLES, "mood", Role(name="mood", encoder="gone", tiers=("episode",), help="How it was said."))
    with pytest.raises(ValueError, match="role mood names no encoder: 'gone'; there are symbol, path"):
        canonical("mood", "glad")


def test_numbers_in_records_are_read_by_nearness(bound: RecordEncoder) -> None:
    (code,) = bound.encode_records([(Pair("size", "300"), Pair("who", "ada"), Pair("kind", "turn"))])
    candidates = bound.encode_fillers("size", ["300", "330", "450", "900", "9000"])
    likeness = [similarity(one, code ^ bound.role_vector("size")) for one in candidates]
    assert all(former > latter for former, latter in pairwise(likeness))


# --- projection -------------------------------------------------------------------------------------------------------

MINILM = ROOT / "tests" / "golden" / "minilm.json"
RECORD_ENCODER = RecordEncoder(space(384))


def expected(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    cosine = float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    return float(1 - 2 * np.arccos(np.clip(cosine, -1, 1)) / np.pi)


@given(st.integers(0, 2**32 - 1), st.floats(0, np.pi))
def test_similarity_is_1_less_twice_the_angle_by_pi(seed: int, angle: float) -> None:
    one, other = np.random.default_rng(seed).normal(size=(2, 384))
    one /= np.linalg.norm(one)
    other -= one * (one @ other)
    turned = np.cos(angle) * one + np.sin(angle) * other / np.linalg.norm(other)
    codes = RECORD_ENCODER.project_embeddings(np.stack([one, turned]).astype(np.float32))
    assert similarity(*codes) == pytest.approx(1 - 2 * angle / np.pi, abs=NOISE + 0.01)


def test_of_real_embeddings_too() -> None:
    texts = json.loads(MINILM.read_bytes())["texts"]
    raw = [base64.b64decode(window["vector"]) for text in texts for window in text["windows"]]
    embeddings = np.stack([np.frombuffer(one, "<f4") for one in raw])
    codes = RECORD_ENCODER.project_embeddings(embeddings)
    measured = [
        (similarity(codes[i], codes[j]), expected(embeddings[i], embeddings[j]))
        for i in range(len(codes))
        for j in range(i)
    ]
    assert len(measured) > 20
    assert np.ptp([law for _, law in measured]) > 0.3, "near ones and far ones are among them"
    assert max(abs(found - law) for found, law in measured) < NOISE + 0.01


@given(st.integers(0, 2**32 - 1), st.floats(1e-30, 1e30))
def test_how_long_an_embedding_is_makes_no_difference(seed: int, length: float) -> None:
    one = np.random.default_rng(seed).normal(size=(1, 384)).astype(np.float32)
    scaled = (one.astype(np.float64) * 2.0 ** int(np.log2(length))).astype(np.float32)
    assert np.array_equal(RECORD_ENCODER.project_embeddings(one), RECORD_ENCODER.project_embeddings(scaled))


@given(st.integers(0, 2**32 - 1), st.integers(0, 9))
def test_each_embedding_is_projected_as_if_it_were_alone(seed: int, count: int) -> None:
    embeddings = np.random.default_rng(seed).normal(size=(count, 384)).astype(np.float32)
    codes = RECORD_ENCODER.project_embeddings(embeddings)
    assert codes.shape == (count, 160)
    for embedding, code in zip(embeddings, codes, strict=True):
        assert np.array_equal(RECORD_ENCODER.project_embeddings(embedding[None])[0], code)


@pytest.mark.parametrize("width", [1, 2, 5, 383, 1024])
def test_bits_are_the_sides_of_the_planes_whatever_the_length_of_embeddings(width: int) -> None:
    projection = Projection(space(width))
    embeddings = np.random.default_rng(0).normal(size=(3, width)).astype(np.float32)
    sums = quantise(embeddings).astype(np.int64) @ projection.planes.T.astype(np.int64)
    tie = np.unpackbits(projection.tie.view(np.uint8), bitorder="little")
    sides = np.where(sums == 0, tie, sums > 0).astype(np.uint8)
    assert np.array_equal(
        projection.project(embeddings, default_algebra()), np.packbits(sides, axis=1, bitorder="little").view("<u8")
    )


def test_planes_have_as_many_of_either_sign() -> None:
    planes = Projection(space(384)).planes
    assert set(np.unique(planes)) == {-1, 1}
    assert abs(planes.mean()) < 5 / np.sqrt(planes.size)


def test_an_embedding_of_zeros_is_the_tie_and_like_no_other() -> None:
    zeros, other = RECORD_ENCODER.project_embeddings(np.stack([np.zeros(384), np.ones(384)]).astype(np.float32))
    assert np.array_equal(zeros, Projection(space(384)).tie)
    assert abs(similarity(zeros, other)) < NOISE


def test_every_algebra_projects_to_the_same_bits() -> None:
    embeddings = np.random.default_rng(1).normal(size=(20, 384)).astype(np.float32)
    projection = Projection(space(384))
    assert np.array_equal(
        projection.project(embeddings, algebra_named("numpy")), projection.project(embeddings, default_algebra())
    )


@given(st.integers(0, 2**32 - 1))
def test_rounding_turns_an_embedding_by_less_than_a_degree(seed: int) -> None:
    one = np.random.default_rng(seed).normal(size=(1, 384)).astype(np.float32)
    rounded = quantise(one)
    assert np.abs(rounded).max() == 127
    cosine = float(one[0] @ rounded[0]) / float(np.linalg.norm(one) * np.linalg.norm(rounded.astype(np.float32)))
    assert np.degrees(np.arccos(min(1.0, cosine))) < 1


def test_embeddings_that_cannot_be_projected_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be \(n, 384\), not \(1, 3\)"):
        RECORD_ENCODER.project_embeddings(np.zeros((1, 3), np.float32))
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="not finite"):
            RECORD_ENCODER.project_embeddings(np.full((1, 384), wrong, np.float32))
    with pytest.raises(ValueError, match="has no model"):
        RecordEncoder(space()).project_embeddings(np.zeros((1, 384), np.float32))


def test_a_text_to_be_embedded_stays_as_it_is_and_has_no_hypervector_of_its_own() -> None:
    assert canonical("about", " Token Rotation ") == "Token Rotation"
    with pytest.raises(ValueError, match="a text is expected"):
        canonical("about", " ")
    with pytest.raises(ValueError, match="embed the text"):
        RECORD_ENCODER.encode_fillers("about", ["token rotation"])
