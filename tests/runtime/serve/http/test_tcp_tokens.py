"""A token opens the door, its hash does not, and neither does anything else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mnemic.runtime.serve.http.tcp import new_token, verify_token


def test_the_token_that_was_made_is_the_one_that_fits(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = new_token(path)
    assert verify_token(path, token)
    assert len(token) == 43


def test_only_the_hash_is_kept_and_for_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = new_token(path)
    kept = path.read_text()
    assert token not in kept
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not verify_token(path, kept.strip())
    assert [file.name for file in tmp_path.iterdir()] == ["token"]


def test_a_new_token_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "token"
    old, new = new_token(path), new_token(path)
    assert old != new
    assert (verify_token(path, old), verify_token(path, new)) == (False, True)


@pytest.mark.parametrize("given", ["", " ", "x" * 43, "ä", "\ud800", "x" * 100_000])
def test_what_is_no_token_does_not_fit(tmp_path: Path, given: str) -> None:
    path = tmp_path / "token"
    new_token(path)
    assert not verify_token(path, given)


@pytest.mark.parametrize("kept", [None, b"", b"\xff\xfe"])
def test_without_a_hash_that_can_be_read_nothing_fits(tmp_path: Path, kept: bytes | None) -> None:
    path = tmp_path / "token"
    if kept is not None:
        path.write_bytes(kept)
    assert not verify_token(path, "")
    assert not verify_token(path, "x")
