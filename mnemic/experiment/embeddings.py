"""Embeddings of a life, computed once for each encoder and shared by all arms: in memory, and as a file of the run."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.errors import ModelError
from mnemic.actors.kernel.events import DEFAULT_KINDS, to_text
from mnemic.actors.kernel.ports import Encoder, Window
from mnemic.experiment.lives import Life
from mnemic.runtime.models.encoders import encoder_from_settings

_DIGEST_BYTES = 16
Floats = NDArray[np.float32]


class CachedEncoder:
    """An encoder that looks up what was embedded before. Same windows, same vectors: as that encoder gives them."""

    def __init__(self, encoder: Encoder, known: dict[bytes, Floats]) -> None:
        self.implementation, self.model, self.dimensions = encoder.implementation, encoder.model, encoder.dimensions
        self.batch_tokens, self.bulk_tokens = encoder.batch_tokens, encoder.bulk_tokens
        self._encoder, self._known = encoder, known

    def windows(self, text: str, limit: int, *, is_question: bool = False) -> tuple[list[Window], int]:
        """As the encoder cuts."""
        return self._encoder.windows(text, limit, is_question=is_question)

    def encode(self, windows: Sequence[Window]) -> Floats:
        """As the encoder embeds. Raises as that."""
        keys = [window_key(window) for window in windows]
        new = {key: window for key, window in zip(keys, windows, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self._encoder.encode(list(new.values())), strict=True))
        if not keys:
            return self._encoder.encode(())
        return np.stack([self._known[key] for key in keys])

    def word_vectors(self, words: Sequence[str]) -> Floats:
        """As the encoder gives them. Raises as that."""
        return self._encoder.word_vectors(words)


def window_key(window: Window) -> bytes:
    """What tells the tokens of a window from others, and a question from what is no question, 16 bytes."""
    tokens, person = np.asarray(window.token_ids, "<i4").tobytes(), b"question" if window.is_question else b""
    return hashlib.blake2b(tokens, digest_size=_DIGEST_BYTES, person=person).digest()


class VectorCache:
    """What is known of each encoder."""

    def __init__(self) -> None:
        self._known: dict[str, dict[bytes, Floats]] = {}
        self._encoders: dict[tuple[Any, ...], Encoder | None] = {}

    def name_of(self, settings: Mapping[str, Any]) -> str:
        """What tells an encoder's vectors from others'; empty where settings name none that can be had."""
        encoder = self._encoder(settings)
        return "" if encoder is None else _name(encoder)

    def _encoder(self, settings: Mapping[str, Any]) -> Encoder | None:
        key = tuple(settings[name] for name in ("embedder.model", "embedder.implementation", "embedder.threads"))
        if key not in self._encoders:
            try:
                self._encoders[key] = encoder_from_settings(settings)
            except ModelError:
                self._encoders[key] = None
        return self._encoders[key]

    def encoder_of(self, settings: Mapping[str, Any]) -> Encoder:
        """The encoder that settings name, which looks up what is known. Raises as `encoder_from_settings`."""
        encoder = self._encoder(settings) or encoder_from_settings(settings)
        return CachedEncoder(encoder, self._known.setdefault(_name(encoder), {}))

    def fill(
        self, settings: Mapping[str, Any], life: Life, progress: Callable[[int, int], None] = lambda done, of: None
    ) -> bool:
        """Embed all of a life and its questions that is not known, in their order; says whether anything was new.

        Where the settings name no encoder that can be had, arms go by words alone, as they say themselves.
        """
        encoder = self._encoder(settings)
        if encoder is None:
            return False
        known = self._known.setdefault(_name(encoder), {})
        texts = [(*one, False) for one in _texts(life, settings)] + [(one.text, 1, True) for one in life.questions]
        before = len(known)
        waiting: dict[bytes, Window] = {}
        for done, (text, limit, is_question) in enumerate(texts, 1):
            for window in encoder.windows(text, limit, is_question=is_question)[0]:
                if (key := window_key(window)) not in known:
                    waiting[key] = window
            if sum(len(one.token_ids) for one in waiting.values()) >= encoder.bulk_tokens:
                self._embed(encoder, waiting, known)
                progress(done, len(texts))
        if waiting:
            self._embed(encoder, waiting, known)
        return len(known) > before

    @staticmethod
    def _embed(encoder: Encoder, waiting: dict[bytes, Window], known: dict[bytes, Floats]) -> None:
        known.update(zip(waiting, encoder.encode(list(waiting.values())), strict=True))
        waiting.clear()

    def to_bytes(self) -> bytes:
        """All of it, as NumPy's archive."""
        written = io.BytesIO()
        arrays: dict[str, Any] = {}
        for name, known in self._known.items():
            if known:
                arrays[f"{name} keys"] = np.frombuffer(b"".join(known), np.uint8).reshape(-1, _DIGEST_BYTES)
                arrays[f"{name} vectors"] = np.stack(list(known.values()))
        np.savez(written, **arrays)
        return written.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> VectorCache:
        """What `to_bytes` gave.

        Raises:
            ValueError, KeyError: it is something else.
        """
        cache = cls()
        with np.load(io.BytesIO(data)) as arrays:
            for name in arrays.files:
                if name.endswith(" keys"):
                    encoder = name.removesuffix(" keys")
                    keys = (key.tobytes() for key in arrays[name])
                    cache._known[encoder] = dict(zip(keys, arrays[f"{encoder} vectors"], strict=True))
        return cache

    @classmethod
    def read(cls, path: Path) -> VectorCache:
        """What a file holds; nothing where there is none, or where it is damaged: it is made anew."""
        try:
            return cls.from_bytes(path.read_bytes())
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return cls()


def _texts(life: Life, settings: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    most, bulk = settings["embedder.max_windows"], settings["embedder.bulk_windows"]
    events: Iterable[Any] = life.events
    for one in events:
        yield to_text(one.text), most if one.kind in DEFAULT_KINDS else bulk


def _name(encoder: Encoder) -> str:
    return f"{encoder.implementation} {encoder.model}"
