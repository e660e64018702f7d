"""The token that its owner can read opens the door, and nothing else does."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mnemic.runtime.serve.http.tcp import has_token, new_token, verify_token


def test_the_token_that_was_made_is_the_one_that_fits(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = new_token(path)
    assert verify_token(path, token)
    assert len(token) == 43


def test_it_is_kept_for_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = new_token(path)
    assert path.read_text() == f"{token}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["token"]


def test_the_hash_that_an_older_version_kept_is_no_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{'0' * 64}\n")
    assert not has_token(path)
    assert not verify_token(path, "0" * 64)
    new_token(path)
    assert has_token(path)


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


@pytest.mark.parametrize("kept", [None, b"", b"x", b"\xff\xfe"])
def test_without_a_token_that_can_be_read_nothing_fits(tmp_path: Path, kept: bytes | None) -> None:
    path = tmp_path / "token"
    if kept is not None:
        path.write_bytes(kept)
    assert not verify_token(path, "")
    assert not verify_token(path, "x")
