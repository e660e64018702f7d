"""A seal opens what it sealed and nothing else, and its key does not travel."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import KeyMismatch, KeyMissing
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.ray import protocol
from mnemic.runtime.engine.ray.protocol import MindSealRecipe, Seal
from mnemic.runtime.keys.keys import generate_key, write_private
from mnemic.runtime.minds.homes import create_mind, open_mind
from tests.runtime.building import keys_of

KEY = bytes(range(32))


@given(st.binary(max_size=200), st.binary(max_size=8))
def test_what_was_sealed_opens_to_itself_and_is_28_bytes_longer(data: bytes, use: bytes) -> None:
    sealed = Seal(KEY).seal(data, use)
    assert len(sealed) == len(data) + 28
    assert Seal(KEY).open(sealed, use) == data


@given(st.binary(min_size=16, max_size=64))
def test_what_was_sealed_is_not_to_be_seen(data: bytes) -> None:
    assert data not in Seal(KEY).seal(data, b"")


@given(st.binary(max_size=40), st.data())
def test_a_bit_flipped_anywhere_or_a_byte_less_is_noticed(data: bytes, draw: st.DataObject) -> None:
    sealed = bytearray(Seal(KEY).seal(data, b"use"))
    place = draw.draw(st.integers(0, 8 * len(sealed) - 1))
    sealed[place // 8] ^= 1 << place % 8
    with pytest.raises(InvalidTag):
        Seal(KEY).open(bytes(sealed), b"use")


@pytest.mark.parametrize("length", [0, 1, 12, 27])
def test_what_is_cut_short_is_noticed(length: int) -> None:
    with pytest.raises((InvalidTag, ValueError)):
        Seal(KEY).open(Seal(KEY).seal(b"", b"use")[:length], b"use")


def test_another_use_or_another_key_does_not_open_it() -> None:
    sealed = Seal(KEY).seal(b"data", b"to worker")
    with pytest.raises(InvalidTag):
        Seal(KEY).open(sealed, b"from worker")
    with pytest.raises(InvalidTag):
        Seal(bytes(32)).open(sealed, b"to worker")


def test_no_nonce_is_drawn_twice_by_two_seals_of_one_key_that_threads_share() -> None:
    seals = [Seal(KEY), Seal(KEY)]
    with ThreadPoolExecutor(8) as pool:
        sealed = list(pool.map(lambda number: seals[number % 2].seal(b"same", b""), range(2000)))
    assert len({one[:12] for one in sealed}) == 2000


def test_a_seal_whose_counter_is_used_up_takes_another_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_COUNTER_BYTES", 1)
    seal = Seal(KEY)
    prefixes = [seal.seal(b"", b"")[:8] for _ in range(257)]
    assert len(set(prefixes[:256])) == 1
    assert prefixes[256] != prefixes[0]


def test_a_seal_does_not_pickle() -> None:
    with pytest.raises(TypeError, match="recipe"):
        pickle.dumps(Seal(KEY))


def test_every_process_that_reads_the_minds_key_makes_the_same_seal_and_another_run_another(tmp_path: Path) -> None:
    folder = create_mind(tmp_path, "default", SystemClock())
    keys = open_mind(tmp_path, "default")[1]
    recipe = MindSealRecipe(folder.key, folder.key_header, keys.check, "run")
    travelled = pickle.dumps(recipe)
    assert keys.secrets.root not in travelled
    assert folder.key.read_bytes() not in travelled
    sealed = recipe.make_seal().seal(b"data", b"use")
    assert pickle.loads(travelled).make_seal().open(sealed, b"use") == b"data"
    with pytest.raises(InvalidTag):
        MindSealRecipe(folder.key, folder.key_header, keys.check, "later").make_seal().open(sealed, b"use")


def test_without_the_minds_key_there_is_no_seal(tmp_path: Path) -> None:
    folder = create_mind(tmp_path, "default", SystemClock())
    check = open_mind(tmp_path, "default")[1].check
    with pytest.raises(KeyMismatch):
        MindSealRecipe(folder.key, folder.key_header, keys_of(generate_key()).check, "run").make_seal()
    folder.key.unlink()
    with pytest.raises(KeyMissing):
        MindSealRecipe(folder.key, folder.key_header, check, "run").make_seal()
    write_private(folder.key, generate_key())
    with pytest.raises(KeyMismatch):
        MindSealRecipe(folder.key, folder.key_header, check, "run").make_seal()
