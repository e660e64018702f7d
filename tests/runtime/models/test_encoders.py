"""Each encoder keeps the encoders' contract; the one that pays is chosen, and what cannot be had is one sentence."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.actors.kernel.errors import DeviceExhausted, ImplementationMissing, InvalidValue, ModelError, ModelUnusable
from mnemic.actors.kernel.ports import IMPLEMENTATIONS, Window
from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.algorithms.text.bert import NativeBert
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.models import encoders
from mnemic.runtime.models.encoders import accelerator, encoder_from_settings, load_encoder, may_use_torch
from tests.contract.encoder_contract import EncoderContract
from tests.modelling import write_model

needs_native = pytest.mark.skipif(not NATIVE, reason="the native extension is not built")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


@pytest.fixture
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "accelerator", lambda: None)


class TestNumpyFloat32(EncoderContract):
    implementation = "numpy-float32"


@needs_native
class TestNativeFloat32(EncoderContract):
    implementation = "native-float32"


@needs_native
class TestNativeInt8(EncoderContract):
    implementation = "native-int8"
    agreement = 0.99


@pytest.mark.torch
class TestTorchOnTheCpu(EncoderContract):
    implementation = "torch-float32"
    exact = False

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def on_the_cpu(cls) -> Any:
        pytest.importorskip("torch", reason="torch is not installed; install mnemic[torch] for this test")
        from mnemic.algorithms.text import torch_bert

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch_bert, "find_device", lambda: None)
            yield


@pytest.mark.torch
class OnADevice(EncoderContract):
    """torch, where it sees a device."""

    exact = False
    agreement = 0.999

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def on_a_device(cls) -> None:
        pytest.importorskip("torch", reason="torch is not installed; install mnemic[torch] for this test")
        from mnemic.algorithms.text.torch_bert import find_device

        if find_device() is None:
            pytest.skip("torch sees neither CUDA nor MPS here")


@pytest.mark.gpu
class TestTorchFloat16(OnADevice):
    implementation = "torch-float16"


@pytest.mark.gpu
class TestTorchBfloat16(OnADevice):
    implementation = "torch-bfloat16"


@pytest.mark.gpu
class TestTorchFloat32OnADevice(OnADevice):
    implementation = "torch-float32"
    agreement = 0.99999


class TestChoice:
    def test_without_a_device_native_bytes_are_chosen_and_without_native_code_numpy(
        self, folder: Path, no_device: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert load_encoder(folder).implementation == ("native-int8" if NATIVE else "numpy-float32")
        monkeypatch.setattr(encoders, "NATIVE", False)
        assert load_encoder(folder).implementation == "numpy-float32"

    def test_without_a_device_torch_is_not_even_imported(
        self, folder: Path, no_device: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "torch", None)
        monkeypatch.delitem(sys.modules, "mnemic.algorithms.text.torch_bert", raising=False)
        assert not load_encoder(folder).implementation.startswith("torch")

    @pytest.mark.torch
    @pytest.mark.parametrize("device", ["cuda", "mps"])
    def test_with_a_device_torch_computes_in_half_precision(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, device: str
    ) -> None:
        pytest.importorskip("torch", reason="torch is not installed; install mnemic[torch] for this test")
        from mnemic.algorithms.text import torch_bert

        made: dict[str, Any] = {}

        def on_the_cpu(*given: Any, **named: Any) -> Any:
            made.update(named)
            return real(*given, **named | {"device": "cpu"})

        real = torch_bert.TorchBert
        monkeypatch.setattr(encoders, "accelerator", lambda: "a device")
        monkeypatch.setattr(torch_bert, "find_device", lambda: device)
        monkeypatch.setattr(torch_bert, "TorchBert", on_the_cpu)
        encoder = load_encoder(folder)
        assert encoder.implementation == "torch-float16"
        assert made == {"device": device, "dtype": "float16"}
        (vector,) = encoder.encode([Window(0, 0, (2, 4, 3))])
        assert vector.dtype == np.float32

    @pytest.mark.torch
    def test_a_device_that_torch_does_not_see_is_not_used(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("torch", reason="torch is not installed; install mnemic[torch] for this test")
        from mnemic.algorithms.text import torch_bert

        monkeypatch.setattr(encoders, "accelerator", lambda: "a device")
        monkeypatch.setattr(torch_bert, "find_device", lambda: None)
        assert not load_encoder(folder).implementation.startswith("torch")

    def test_a_torch_that_does_not_load_is_logged_and_left_alone(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(encoders, "accelerator", lambda: "a device")
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
        monkeypatch.setitem(sys.modules, "torch", None)
        monkeypatch.delitem(sys.modules, "mnemic.algorithms.text.torch_bert", raising=False)
        with caplog.at_level(logging.WARNING):
            assert not load_encoder(folder).implementation.startswith("torch")
        assert "torch is installed and does not load" in caplog.text

    def test_an_unknown_name_is_one_sentence_that_lists_the_known_ones(self, folder: Path) -> None:
        with pytest.raises(InvalidValue, match="implementation cannot be 'jax': there is none") as caught:
            load_encoder(folder, "jax")
        assert all(name in caught.value.remedy_text for name in IMPLEMENTATIONS)

    @pytest.mark.parametrize("name", ["native-int8", "native-float32"])
    def test_native_code_that_is_not_built_is_one_sentence(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setattr(encoders, "NATIVE", False)
        with pytest.raises(ImplementationMissing, match=f"{name} cannot embed: the native code") as caught:
            load_encoder(folder, name)
        assert isinstance(caught.value, ModelError)

    @pytest.mark.parametrize("name", ["torch-float16", "torch-bfloat16", "torch-float32"])
    def test_torch_that_is_not_installed_is_one_sentence(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setitem(sys.modules, "torch", None)
        monkeypatch.delitem(sys.modules, "mnemic.algorithms.text.torch_bert", raising=False)
        with pytest.raises(ImplementationMissing, match=f"{name} cannot embed: torch ") as caught:
            load_encoder(folder, name)
        assert "pip install 'mnemic[torch]'" in caught.value.remedy_text

    @needs_native
    def test_an_instruction_set_that_cannot_be_is_one_sentence_and_no_text_is_blamed(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from mnemic.runtime.models import models

        def refuse() -> str:
            raise ValueError('MNEMIC_INSTRUCTIONS is "x", which is no instruction set; unset it, or name one of a, b')

        monkeypatch.setattr(models, "backend", refuse)
        with pytest.raises(InvalidValue) as caught:
            load_encoder(folder, "native-int8")
        assert str(caught.value) == "MNEMIC_INSTRUCTIONS cannot be 'x': it is no instruction set."
        assert caught.value.remedy_text == "Unset it, or name one of a, b."

    def test_the_settings_name_folder_implementation_and_threads(self, folder: Path) -> None:
        named = {"embedder.model": str(folder), "embedder.implementation": "numpy-float32", "embedder.threads": 3}
        encoder = encoder_from_settings(Settings(named).values())
        assert (encoder.implementation, encoder.dimensions) == ("numpy-float32", 8)

    def test_whether_torch_would_embed_is_known_without_its_import(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def asked(name: str, installed: bool) -> bool:
            monkeypatch.setattr(importlib.util, "find_spec", lambda _: object() if installed else None)
            return may_use_torch({"embedder.implementation": name})

        assert asked("torch-float16", False)
        assert asked("", True)
        assert not asked("", False)
        assert not asked("native-int8", True)


class TestBatches:
    @needs_native
    def test_native_code_takes_more_at_once_the_more_threads_it_has(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(encoders, "_cores", lambda: 8)
        for threads in (1, 2, 7):
            assert load_encoder(folder, "native-int8", threads).batch_tokens == 256 * threads
            assert load_encoder(folder, "native-float32", threads).batch_tokens == 128 * threads

    @needs_native
    @pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (3, 1), (16, 8)])
    def test_unless_told_it_takes_half_of_the_cores(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, cores: int, threads: int
    ) -> None:
        monkeypatch.setattr(encoders, "_cores", lambda: cores)
        assert load_encoder(folder, "native-float32").batch_tokens == 128 * threads

    @needs_native
    @pytest.mark.parametrize("threads", [0, 1000, 10**9, 2**63 - 1])
    @pytest.mark.parametrize("name", ["native-int8", "native-float32"])
    def test_a_question_waits_for_2048_tokens_at_most_however_many_threads_and_cores(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, threads: int
    ) -> None:
        monkeypatch.setattr(encoders, "_cores", lambda: 96)
        assert load_encoder(folder, name, threads).batch_tokens == 2048

    @needs_native
    def test_there_are_no_more_threads_than_cores(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        given: list[int] = []

        class Noting(NativeBert):
            def encode(self, windows: Sequence[Sequence[int]], threads: int = 1) -> NDArray[np.float32]:
                given.append(threads)
                return super().encode(windows, threads)

        monkeypatch.setattr(encoders, "NativeBert", Noting)
        monkeypatch.setattr(encoders, "_cores", lambda: 3)
        for threads in (0, 2, 3, 4, 2**63 - 1):
            load_encoder(folder, "native-int8", threads).encode([Window(0, 0, (2, 4, 3))])
        assert given[::3] == [1, 2, 3, 3, 3], "between them stand the texts that it is centred by"

    @needs_native
    @pytest.mark.parametrize(("named", "usual", "most"), [(0, 2, 5), (1, 1, 1), (4, 4, 4)])
    def test_all_cores_work_only_on_what_somebody_waits_for_and_no_more_than_were_named(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, named: int, usual: int, most: int
    ) -> None:
        given: list[int] = []

        class Noting(NativeBert):
            def encode(self, windows: Sequence[Sequence[int]], threads: int = 1) -> NDArray[np.float32]:
                given.append(threads)
                return super().encode(windows, threads)

        monkeypatch.setattr(encoders, "NativeBert", Noting)
        monkeypatch.setattr(encoders, "_cores", lambda: 5)
        encoder = load_encoder(folder, "native-int8", named)
        assert (encoder.batch_tokens, encoder.bulk_tokens) == (256 * usual, 256 * most)
        windows = [Window(0, 0, (2, 4, 3))] * (encoder.batch_tokens // 3)
        encoder.encode(windows)
        encoder.encode([*windows, windows[0]])
        assert [given[0], given[-1]] == [usual, most]

    @pytest.mark.parametrize(
        ("share", "cores"),
        [
            ("max 100000", 8),
            ("200000 100000", 2),
            ("250000 100000", 2),
            ("50000 100000", 1),
            ("6400000 100000", 8),
            ("", 8),
            (None, 8),
        ],
    )
    def test_a_containers_share_of_time_counts_as_so_many_cores(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: str | None, cores: int
    ) -> None:
        monkeypatch.setattr(encoders.os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
        if share is not None:
            (tmp_path / "cpu.max").write_text(f"{share}\n", "ascii")
        assert encoders._cores(tmp_path / "cpu.max") == cores

    def test_numpy_takes_the_tokens_of_one_window_at_a_time(self, folder: Path) -> None:
        encoder = load_encoder(folder, "numpy-float32")
        assert encoder.batch_tokens == encoder.window_tokens  # type: ignore[attr-defined]


class TestTokenizer:
    def without_unknown(self, folder: Path, known: str) -> Path:
        """A model whose tokenizer has one more word and no token for all others."""
        path = folder / "tokenizer.json"
        tokenizer = json.loads(path.read_text("utf-8"))
        tokenizer["model"]["unk_token"] = "[NONE]"
        tokenizer["model"]["vocab"][known] = tokenizer["model"]["vocab"].pop("tea")
        path.write_text(json.dumps(tokenizer), "utf-8")
        return folder

    def test_a_word_that_it_has_no_token_for_is_a_value_error_of_its_text_alone(self, folder: Path) -> None:
        encoder = load_encoder(self.without_unknown(folder, known="a"), "numpy-float32")
        with pytest.raises(ValueError, match="its tokenizer fails"):
            encoder.windows("zebra", 1)
        assert encoder.windows("a cup", 1)[1] == 5

    def test_one_without_a_token_for_a_letter_is_one_sentence(self, folder: Path) -> None:
        with pytest.raises(ModelUnusable, match="its tokenizer fails"):
            load_encoder(self.without_unknown(folder, known="tee"), "numpy-float32")


class TestDevice:
    @pytest.mark.torch
    def test_a_device_that_is_full_is_one_sentence(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        torch = pytest.importorskip("torch", reason="torch is not installed; install mnemic[torch] for this test")
        from mnemic.algorithms.text import torch_bert

        def full(*given: Any) -> None:
            raise torch.OutOfMemoryError("17 GiB are asked for")

        monkeypatch.setattr(torch_bert, "find_device", lambda: None)
        encoder = load_encoder(folder, "torch-float32")
        with monkeypatch.context() as patch:
            patch.setattr(torch_bert.TorchBert, "_forward", full)
            with pytest.raises(DeviceExhausted, match="cpu has no room for a window of 3 tokens") as caught:
                encoder.encode([Window(0, 0, (2, 4, 3))])
        assert isinstance(caught.value, ModelError)
        monkeypatch.setattr(torch, "tensor", full)
        with pytest.raises(DeviceExhausted, match="cpu has no room for the model"):
            load_encoder(folder, "torch-float32")

    def test_it_is_seen_by_its_file_or_its_platform(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(encoders.platform, "system", lambda: "Linux")
        (tmp_path / "nvidiactl").touch()
        assert accelerator(tmp_path) is None
        (tmp_path / "nvidia0").touch()
        assert accelerator(tmp_path) == "an NVIDIA GPU"
        monkeypatch.setattr(encoders.platform, "system", lambda: "Darwin")
        monkeypatch.setattr(encoders.platform, "machine", lambda: "arm64")
        assert accelerator(tmp_path / "none") == "Apple silicon"
