"""The native encoder agrees with NumPy's on any model, and whatever crosses the boundary is answered or refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.algorithms.text.bert import (
    ACTIVATIONS,
    POOLINGS,
    Bert,
    BertConfig,
    NativeBert,
    expected_shapes,
    pack_windows,
)
from tests.modelling import Tensors, draw
from tests.waiting import BOUND_S

pytestmark = pytest.mark.skipif(not NATIVE, reason="the native extension is not built")

SMALL = BertConfig(vocabulary=50, hidden=12, layers=2, heads=3, intermediate=20, positions=9)
BIG = replace(SMALL, hidden=72, heads=4, intermediate=133, positions=64)


@st.composite
def configs(draw: st.DrawFn) -> BertConfig:
    heads = draw(st.integers(1, 5))
    return BertConfig(
        vocabulary=draw(st.integers(1, 40)),
        hidden=heads * draw(st.sampled_from([1, 2, 3, 8, 16, 17, 33])),
        layers=draw(st.integers(1, 3)),
        heads=heads,
        intermediate=draw(st.integers(1, 70)),
        positions=draw(st.integers(1, 40)),
        epsilon=draw(st.sampled_from([1e-12, 1e-5])),
        activation=draw(st.sampled_from(sorted(ACTIVATIONS))),
        pooling=draw(st.sampled_from(POOLINGS)),
    )


def windows_of(config: BertConfig, most: int = 6) -> st.SearchStrategy[list[list[int]]]:
    window = st.lists(st.integers(0, config.vocabulary - 1), min_size=1, max_size=config.positions)
    return st.lists(window, max_size=most)


class TestAgreement:
    @settings(max_examples=80)
    @given(config=configs(), seed=st.integers(0, 2**32 - 1), data=st.data())
    def test_in_floats_any_small_model_agrees(self, config: BertConfig, seed: int, data: st.DataObject) -> None:
        windows = data.draw(windows_of(config))
        tensors = draw(config, seed)
        reference = Bert(config, tensors)
        found = NativeBert(config, tensors, int8=False).encode(windows)
        assert (found.shape, found.dtype) == ((len(windows), config.hidden), np.float32)
        for vector, window in zip(found, windows, strict=True):
            np.testing.assert_allclose(vector, reference.encode(window), atol=1e-4)

    @settings(max_examples=25)
    @given(config=configs(), seed=st.integers(0, 2**32 - 1), data=st.data())
    def test_in_bytes_any_small_model_points_the_same_way(
        self, config: BertConfig, seed: int, data: st.DataObject
    ) -> None:
        assume(config.hidden >= 12)  # in few dimensions a rounded value turns the whole vector
        windows = data.draw(windows_of(config))
        tensors = draw(config, seed, spread=0.1)
        reference = Bert(config, tensors)
        for vector, window in zip(NativeBert(config, tensors, int8=True).encode(windows), windows, strict=True):
            assert float(vector @ reference.encode(window)) > 0.95

    @pytest.mark.parametrize("int8", [False, True])
    @given(data=st.data())
    def test_a_window_has_the_same_bits_in_any_company_and_on_any_number_of_threads(
        self, int8: bool, data: st.DataObject
    ) -> None:
        bert = NativeBert(SMALL, draw(SMALL), int8=int8)
        windows = data.draw(windows_of(SMALL, most=12))
        alone = b"".join(bert.encode([window]).tobytes() for window in windows)
        for threads in (0, 1, 2, 5, 100):
            assert bert.encode(windows, threads).tobytes() == alone

    @pytest.mark.parametrize("int8", [False, True])
    def test_a_model_of_zeros_has_no_direction(self, int8: bool) -> None:
        tensors: Tensors = {name: np.zeros(shape, np.float32) for name, shape in expected_shapes(SMALL).items()}
        np.testing.assert_array_equal(NativeBert(SMALL, tensors, int8=int8).encode([[1, 2]]), np.zeros((1, 12)))

    @pytest.mark.parametrize("int8", [False, True])
    def test_scores_of_any_size_do_not_overflow_the_softmax(self, int8: bool) -> None:
        tensors = draw(SMALL)
        for name in tensors:
            if "self.query.weight" in name or "self.key.weight" in name:
                tensors[name] = tensors[name] * np.float32(1e4)
        assert np.isfinite(NativeBert(SMALL, tensors, int8=int8).encode([[1, 2, 3]])).all()

    def test_the_arrays_handed_in_are_neither_kept_nor_changed(self) -> None:
        tensors = draw(SMALL)
        before = {name: array.copy() for name, array in tensors.items()}
        bert = NativeBert(SMALL, tensors, int8=True)
        expected = bert.encode([[1, 2]])
        for name, array in tensors.items():
            np.testing.assert_array_equal(array, before[name])
            array[...] = np.nan
        np.testing.assert_array_equal(bert.encode([[1, 2]]), expected)


class TestBytesOnEveryInstructionSet:
    def test_they_give_the_same_bits(self) -> None:
        code = (
            "import hashlib; from tests.algorithms.text.test_bert_native import BIG, draw, NativeBert, np;"
            "rng = np.random.default_rng(1);"
            "windows = [rng.integers(0, BIG.vocabulary, size).tolist() for size in (1, 2, 15, 16, 17, 33, 64)];"
            "found = NativeBert(BIG, draw(BIG, spread=0.1), int8=True).encode(windows, 2);"
            "print(hashlib.sha256(found.tobytes()).hexdigest())"
        )
        said = {}
        for name in ("avx512", "avxvnni", "avx2", "portable"):
            done = subprocess.run(
                [sys.executable, "-c", code],
                env={"MNEMIC_INSTRUCTIONS": name, "PYTHONPATH": ":".join(filter(None, sys.path))},
                capture_output=True,
                text=True,
                timeout=BOUND_S,
            )
            if "is not what this processor has" not in done.stderr:
                assert done.returncode == 0, done.stderr
                said[name] = done.stdout.strip()
        assert "portable" in said
        assert len(set(said.values())) == 1, said


ANYTHING = st.integers(-(2**70), 2**70) | st.integers(-2, 60) | st.floats() | st.none() | st.text()


class TestFuzz:
    @settings(max_examples=200)
    @given(
        windows=st.lists(st.lists(ANYTHING, max_size=12) | st.text(max_size=3), max_size=4), threads=st.integers(0, 3)
    )
    def test_any_windows_are_embedded_or_a_value_error(self, windows: list[Any], threads: int) -> None:
        bert = NativeBert(SMALL, draw(SMALL), int8=True)
        good = all(
            1 <= len(window) <= SMALL.positions and all(type(id) is int and 0 <= id < SMALL.vocabulary for id in window)
            for window in windows
        )
        if good:
            assert np.isfinite(bert.encode(windows, threads)).all()
        else:
            with pytest.raises(ValueError, match=r"window of|outside the vocabulary|whole number"):
                bert.encode(windows, threads)

    @settings(max_examples=60)
    @given(data=st.data(), int8=st.booleans())
    def test_any_tensors_are_taken_or_a_value_error(self, data: st.DataObject, int8: bool) -> None:
        tensors: Tensors = draw(SMALL)
        name = data.draw(st.sampled_from(sorted(tensors)))
        array = tensors[name]
        kinds = ["absent", "short", "wide", "turned", "nan", "inf", "huge", "half", "double", "strided", "whole"]
        kind = data.draw(st.sampled_from(kinds))
        place = data.draw(st.integers(0, array.size - 1))
        with np.errstate(over="ignore"):
            tensors[name] = {
                "short": array[..., :-1],
                "wide": np.concatenate([array, array]),
                "turned": array.T.copy(),
                "half": array.astype(np.float16),
                "double": array.astype(np.float64),
                "strided": np.repeat(array, 2, axis=-1)[..., ::2],
            }.get(kind, array)
        if kind == "absent":
            del tensors[name]
        if kind in ("nan", "inf", "huge"):
            tensors[name] = array.astype(np.float64)
            tensors[name].flat[place] = {"nan": np.nan, "inf": -np.inf, "huge": 1e300}[kind]
        turned = kind == "turned" and array.T.shape != array.shape
        if turned or kind in ("absent", "short", "wide", "nan", "inf", "huge"):
            with pytest.raises(ValueError, match=name):
                NativeBert(SMALL, tensors, int8=int8)
        else:
            assert np.isfinite(NativeBert(SMALL, tensors, int8=int8).encode([[1, 2]])).all()

    @settings(max_examples=100)
    @given(
        ids=st.lists(st.integers(-3, 60), max_size=30),
        lengths=st.lists(st.integers(-2, 12) | st.sampled_from([2**62, -(2**63), 2**63 - 1]), max_size=6),
    )
    def test_lengths_that_do_not_add_up_are_a_value_error(self, ids: list[int], lengths: list[int]) -> None:
        encoder = NativeBert(SMALL, draw(SMALL), int8=False)._encoder
        good = sum(lengths) == len(ids) and all(1 <= length <= SMALL.positions for length in lengths)
        given_arrays = np.array(ids, np.int64), np.array(lengths, np.int64)
        if good and all(0 <= id < SMALL.vocabulary for id in ids):
            assert encoder.encode(*given_arrays, 1).shape == (len(lengths), 12)
        else:
            with pytest.raises(ValueError, match=r"window of|outside the vocabulary|do not add up"):
                encoder.encode(*given_arrays, 1)

    @pytest.mark.parametrize(
        "named",
        [
            {"activation": "silu"},
            {"pooling": "max"},
            {"heads": 5},
            {"heads": 0},
            {"layers": 0},
            {"hidden": 2**40},
            {"vocabulary": 2**62, "hidden": 2**62},
        ],
    )
    def test_a_shape_that_is_none_is_a_value_error(self, named: dict[str, Any]) -> None:
        from mnemic._native import Encoder

        shape = {name: getattr(SMALL, name) for name in SMALL.__slots__} | {"int8": True} | named
        with pytest.raises(ValueError, match=r"not known|sizes must be|values, expected"):
            Encoder(draw(SMALL), **shape)

    def test_other_types_are_a_type_error(self) -> None:
        encoder = NativeBert(SMALL, draw(SMALL), int8=True)._encoder
        ids, lengths = pack_windows([[1, 2], [3]])
        for wrong in (ids.astype(np.int32), ids.reshape(1, -1), ids.tolist(), None):
            with pytest.raises(TypeError):
                encoder.encode(wrong, lengths, 1)  # type: ignore[arg-type]
        with pytest.raises(OverflowError):
            encoder.encode(ids, lengths, -1)
        with pytest.raises(ValueError, match="not contiguous"):
            encoder.encode(np.repeat(ids, 2)[::2], lengths, 1)


class TestPacked:
    @given(windows_of(SMALL))
    def test_windows_lie_one_behind_the_other(self, windows: list[list[int]]) -> None:
        ids, lengths = pack_windows(windows)
        assert ids.dtype == lengths.dtype == np.int64
        assert ids.tolist() == [id for window in windows for id in window]
        assert lengths.tolist() == [len(window) for window in windows]
