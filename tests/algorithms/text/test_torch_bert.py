"""The torch encoder agrees with NumPy's on any model, pads little, and halves what a device has no room for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.algorithms.text.bert import Bert, BertConfig
from tests.algorithms.text.test_bert_native import configs, windows_of
from tests.modelling import draw

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="torch is not installed; install mnemic[torch] for this test")

from mnemic.algorithms.text import torch_bert  # noqa: E402
from mnemic.algorithms.text.torch_bert import BUCKET_TOKENS, DeviceOutOfMemory, TorchBert, _buckets, find_device  # noqa: E402

SMALL = BertConfig(vocabulary=50, hidden=12, layers=2, heads=3, intermediate=20, positions=9)


def on_the_cpu(config: BertConfig = SMALL, dtype: str = "float32") -> TorchBert:
    return TorchBert(config, draw(config), device="cpu", dtype=dtype)


class TestAgreement:
    @settings(max_examples=60)
    @given(config=configs(), seed=st.integers(0, 2**32 - 1), data=st.data())
    def test_any_small_model_agrees(self, config: BertConfig, seed: int, data: st.DataObject) -> None:
        windows = data.draw(windows_of(config))
        tensors = draw(config, seed)
        reference = Bert(config, tensors)
        found = TorchBert(config, tensors, device="cpu", dtype="float32").encode(windows)
        assert (found.shape, found.dtype) == ((len(windows), config.hidden), np.float32)
        for vector, window in zip(found, windows, strict=True):
            np.testing.assert_allclose(vector, reference.encode(window), atol=1e-4)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    @pytest.mark.parametrize("pooling", ["mean", "cls"])
    def test_in_half_precision_a_model_points_the_same_way(self, dtype: str, pooling: str) -> None:
        config = replace(SMALL, hidden=96, heads=6, intermediate=200, positions=64, pooling=pooling)
        tensors = draw(config, spread=0.1)
        rng = np.random.default_rng(2)
        windows = [rng.integers(0, 50, size).tolist() for size in (1, 2, 30, 64, 64, 17)]
        found = TorchBert(config, tensors, device="cpu", dtype=dtype).encode(windows)
        assert found.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
        for vector, window in zip(found, windows, strict=True):
            assert float(vector @ Bert(config, tensors).encode(window)) >= 0.999

    def test_what_is_padded_changes_nothing(self) -> None:
        bert = on_the_cpu()
        windows = [[7], [1, 2, 3, 4, 5, 6, 7, 8, 9], [7], [3, 4]]
        alone = np.concatenate([bert.encode([window]) for window in windows])
        np.testing.assert_allclose(bert.encode(windows), alone, atol=1e-6)


class TestBuckets:
    @given(st.lists(st.integers(1, 512), max_size=300))
    def test_each_window_is_in_one_and_none_is_too_large_or_padded_for_nothing(self, sizes: list[int]) -> None:
        lengths = np.array(sorted(sizes, reverse=True), np.int64)
        buckets = list(_buckets(lengths))
        assert [row for bucket in buckets for row in range(bucket.start, bucket.stop)] == list(range(len(sizes)))
        for bucket in buckets:
            inside = lengths[bucket]
            assert len(inside) * inside[0] <= BUCKET_TOKENS
            assert (2 * inside[16:] >= inside[0]).all()


class TestRefusals:
    @given(st.lists(st.lists(st.integers(-(2**70), 2**70) | st.integers(-2, 60), max_size=12), max_size=4))
    def test_any_windows_are_embedded_or_a_value_error(self, windows: list[list[int]]) -> None:
        good = all(1 <= len(window) <= 9 and all(0 <= id < 50 for id in window) for window in windows)
        if good:
            assert np.isfinite(on_the_cpu().encode(windows)).all()
        else:
            with pytest.raises(ValueError, match=r"window of|outside the vocabulary|whole number"):
                on_the_cpu().encode(windows)

    def test_a_tensor_that_is_absent_is_named(self) -> None:
        tensors = draw(SMALL)
        del tensors["embeddings.LayerNorm.bias"]
        with pytest.raises(ValueError, match=r"embeddings\.LayerNorm\.bias is absent"):
            TorchBert(SMALL, tensors, device="cpu", dtype="float32")


def cpu_full() -> None:
    torch.empty(1 << 50)


def cuda_full() -> None:
    raise torch.OutOfMemoryError("17 GiB are asked for")


def pinned_full() -> None:
    raise RuntimeError("CUDA error: out of memory")


def mps_full() -> None:
    raise RuntimeError("MPS backend out of memory (MPS allocated: 17.00 GB, max allowed: 18.13 GB)")


FULL = pytest.mark.parametrize("full", [cpu_full, cuda_full, pinned_full, mps_full])


class TestMemory:
    @FULL
    @pytest.mark.parametrize("room", [1, 2, 5, 100])
    def test_what_there_is_no_room_for_is_halved_until_there_is(
        self, monkeypatch: pytest.MonkeyPatch, room: int, full: Callable[[], None]
    ) -> None:
        bert = on_the_cpu()
        rng = np.random.default_rng(4)
        windows = [rng.integers(0, 50, size).tolist() for size in rng.integers(1, 10, 37)]
        expected = bert.encode(windows)
        real, tried = TorchBert._forward, []

        def forward(self: TorchBert, ids: Any, starts: Any, lengths: Any) -> Any:
            tried.append(len(lengths))
            if len(lengths) > room:
                full()
            return real(self, ids, starts, lengths)

        monkeypatch.setattr(TorchBert, "_forward", forward)
        np.testing.assert_allclose(bert.encode(windows), expected, atol=1e-6)
        assert sum(count for count in tried if count <= room) == 37
        assert max(tried) <= 37

    @FULL
    def test_one_window_that_there_is_no_room_for_is_an_error_of_its_own(
        self, monkeypatch: pytest.MonkeyPatch, full: Callable[[], None]
    ) -> None:
        bert = on_the_cpu()
        monkeypatch.setattr(TorchBert, "_forward", lambda *given: full())
        with pytest.raises(DeviceOutOfMemory, match="cpu has no room for a window of 3 tokens"):
            bert.encode([[1], [1, 2, 3], [2]])

    @FULL
    def test_a_model_that_there_is_no_room_for_is_one_too(
        self, monkeypatch: pytest.MonkeyPatch, full: Callable[[], None]
    ) -> None:
        monkeypatch.setattr(torch, "tensor", lambda *given: full())
        with pytest.raises(DeviceOutOfMemory, match="cpu has no room for the model"):
            on_the_cpu()

    @pytest.mark.parametrize("name", ["cuda", "mps"])
    def test_what_a_device_keeps_of_a_failed_attempt_is_let_go(
        self, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        let_go: list[str] = []
        for module in (torch.cuda, torch.mps):
            monkeypatch.setattr(module, "empty_cache", lambda module=module: let_go.append(module.__name__))

        def forward(self: TorchBert, ids: Any, starts: Any, lengths: Any) -> Any:
            if len(lengths) > 1:
                mps_full()
            return torch.zeros(len(lengths), SMALL.hidden)

        bert = on_the_cpu()
        bert.device = torch.device(name)
        monkeypatch.setattr(TorchBert, "_forward", forward)
        assert bert.encode([[1], [2]]).shape == (2, SMALL.hidden)
        assert let_go == [f"torch.{name}"]

    def test_no_other_failure_of_a_device_is_taken_for_that(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*given: Any) -> None:
            raise RuntimeError("the device went away")

        bert = on_the_cpu()
        monkeypatch.setattr(TorchBert, "_forward", broken)
        with pytest.raises(RuntimeError, match="the device went away"):
            bert.encode([[1], [2]])
        monkeypatch.setattr(torch, "tensor", broken)
        with pytest.raises(RuntimeError, match="the device went away"):
            on_the_cpu()


class TestDevice:
    @pytest.mark.parametrize(
        ("cuda", "mps", "found"), [(True, True, "cuda"), (False, True, "mps"), (False, False, None)]
    )
    def test_cuda_comes_before_mps_and_the_cpu_is_none(
        self, monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, found: str | None
    ) -> None:
        monkeypatch.setattr(torch_bert.torch.cuda, "is_available", lambda: cuda)
        monkeypatch.setattr(torch_bert.torch.backends.mps, "is_available", lambda: mps)
        assert find_device() == found

    @pytest.mark.gpu
    def test_a_batch_beyond_the_memory_of_a_gpu_is_embedded_in_pieces(self) -> None:
        if not torch.cuda.is_available():
            pytest.skip("torch sees no CUDA device here")
        config = replace(SMALL, hidden=384, heads=12, intermediate=1536, positions=512)
        bert = TorchBert(config, draw(config, spread=0.05), device="cuda", dtype="float16")
        windows = [[row % 50] * 512 for row in range(32)]
        expected = bert.encode(windows)
        _, total = torch.cuda.mem_get_info()
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_allocated() + (24 << 20)) / total)
        try:
            np.testing.assert_allclose(bert.encode(windows), expected, atol=5e-3)
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
