"""A key proves itself before a store is touched, and every use has a key of its own."""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import pickle
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import DiskFailed, KeyMismatch, KeyMissing
from mnemic.runtime.keys.keys import KEY_BYTES, Keys, Secrets, generate_key, random_id, read_key, write_private
from tests.runtime.building import keys_of, said

ROOT_KEY = bytes(range(32))


def hkdf(root: bytes, info: bytes) -> bytes:
    """RFC 5869 with SHA-256, no salt and 32 bytes of output, written out."""
    extracted = hmac.digest(bytes(32), root, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


@given(st.binary(min_size=32, max_size=32))
def test_keys_are_derived_as_the_rfc_says(root: bytes) -> None:
    keys = keys_of(root)
    assert keys.store_key == hkdf(root, b"mnemic/1/store")
    assert keys.seed == hkdf(root, b"mnemic/1/seed")
    assert keys.check == hkdf(root, b"mnemic/1/check").hex()
    assert keys.spool_private == hkdf(root, b"mnemic/1/spool")
    assert keys.spool_name_key == hkdf(root, b"mnemic/1/spool-names")
    hashed = hashlib.blake2b(key=hkdf(root, b"mnemic/1/identities"), digest_size=32)
    hashed.update((2).to_bytes(8, "little") + b"ab")
    assert keys.identity_hash()(b"ab") == hashed.digest()


def test_keys_stay_what_they_were_in_every_release() -> None:
    keys = keys_of(ROOT_KEY)
    assert keys.store_key.hex() == "2d3079e850b8a91c4f8244e833d3df41defe1d9d56920a033a609f6c575583a5"
    assert keys.seed.hex() == "b3783160e121e1958f0ad8531d0486d41aa19f9a57295bfab7267e75d0223b54"
    assert keys.check == "be6a0975bddf7d8efb9f749c942ac901a7e2112e6ec4ecbc76a2e6ae187d8440"
    assert keys.identity_hash()(b"text", b"a word") == bytes.fromhex(
        "c969495b1a626a0ce1dff5a1fe1c38da694a3345a62a55c94671badb79e3bcdd"
    )


def test_each_use_has_a_key_of_its_own() -> None:
    keys = keys_of(ROOT_KEY)
    uses = {
        keys.store_key,
        keys.seed,
        bytes.fromhex(keys.check),
        keys.identity_hash()(),
        keys.spool_private,
        keys.spool_name_key,
    }
    assert len({ROOT_KEY, keys.spool_public()} | uses) == 8


parts = st.lists(st.binary(max_size=4), max_size=4)


@given(parts, parts)
def test_two_sequences_have_one_identity_only_if_they_are_equal(one: list[bytes], other: list[bytes]) -> None:
    identity = keys_of(ROOT_KEY).identity_hash()
    assert (identity(*one) == identity(*other)) == (one == other)


def test_where_a_part_ends_is_part_of_the_identity() -> None:
    identity = keys_of(ROOT_KEY).identity_hash()
    assert identity(b"ab", b"c") != identity(b"a", b"bc")
    assert identity(b"abc") != identity(b"abc", b"")


def test_another_mind_gives_other_identities() -> None:
    assert keys_of(ROOT_KEY).identity_hash()(b"a") != keys_of(bytes(32)).identity_hash()(b"a")


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_key_of_another_length_is_none(length: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"32 bytes, not {length}"):
        keys_of(bytes(length))
    (tmp_path / "key").write_bytes(bytes(length))
    with pytest.raises(KeyMismatch) as caught:
        read_key(tmp_path / "key")
    assert f"it holds {length} bytes, and a key has 32" in said(caught.value)


def test_a_key_file_is_read(tmp_path: Path) -> None:
    write_private(tmp_path / "key", ROOT_KEY)
    assert read_key(tmp_path / "key") == ROOT_KEY


def test_another_root_of_the_same_mind_changes_all_but_identities_and_chance() -> None:
    keys = Keys(Secrets.generate())
    new = keys.with_new_root()
    assert (new.seed, new.identity_hash()(b"a"), new.identity_key_id) == (
        keys.seed,
        keys.identity_hash()(b"a"),
        keys.identity_key_id,
    )
    assert not {new.store_key, new.spool_private, new.spool_name_key, new.check} & {
        keys.store_key,
        keys.spool_private,
        keys.spool_name_key,
        keys.check,
    }
    assert new.engine_key("run") != keys.engine_key("run")
    assert new.earlier_spool_publics() == [keys.spool_public()]


def test_earlier_keys_of_the_spool_are_kept_as_far_as_a_hook_may_still_have_one() -> None:
    all_of_them = [Keys(Secrets.generate())]
    for _ in range(10):
        all_of_them.append(all_of_them[-1].with_new_root())
    assert all_of_them[-1].earlier_spool_privates == tuple(keys.spool_private for keys in all_of_them[-9:-1])


def test_keys_neither_travel_nor_print_themselves() -> None:
    keys = keys_of(ROOT_KEY)
    with pytest.raises(TypeError, match="do not travel"):
        pickle.dumps(keys)
    assert repr(keys.secrets) == str(keys.secrets) == "Secrets(…)"


def test_a_missing_key_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(KeyMissing) as caught:
        read_key(tmp_path / "key")
    assert str(tmp_path / "key") in said(caught.value)


def test_a_key_that_cannot_be_read_is_said_not_to_be(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    with pytest.raises(KeyMismatch) as caught:
        read_key(tmp_path / "key")
    assert "it cannot be read" in said(caught.value)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_private_file_is_only_its_owners_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_private(tmp_path / "key", ROOT_KEY)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert (tmp_path / "key").read_bytes() == ROOT_KEY


def test_a_private_file_is_never_written_over(tmp_path: Path) -> None:
    write_private(tmp_path / "key", ROOT_KEY)
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "key", bytes(32))
    assert (tmp_path / "key").read_bytes() == ROOT_KEY


def test_a_disk_that_fails_is_no_word_about_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(path: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr(Path, "read_bytes", failing)
    with pytest.raises(DiskFailed) as failed:
        read_key(tmp_path / "key")
    assert said(failed.value) == f"The disk that holds {tmp_path / 'key'} failed: Input/output error."
    assert "writable" not in failed.value.remedy_text


def test_keys_and_runs_are_made_once_each() -> None:
    assert len({generate_key() for _ in range(100)}) == 100
    assert {len(generate_key()) for _ in range(10)} == {KEY_BYTES}
    assert len({random_id() for _ in range(100)}) == 100
