"""A program is found where PATH leads by absolute paths, and never in the folder that somebody is in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnemic.runtime.files.programs import find_program


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return path


@pytest.mark.parametrize("relative", ["", ".", "./bin", "bin", "..", "node_modules/.bin"])
def test_a_relative_part_of_the_path_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: str
) -> None:
    program(tmp_path / "work" / relative / "git")
    own = program(tmp_path / "own" / "git")
    (tmp_path / "work").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PATH", os.pathsep.join([relative, str(tmp_path / "own"), relative]))
    assert find_program("git") == str(own)
    assert find_program("git", {"PATH": relative}) is None
    own.unlink()
    assert find_program("git") is None


def test_without_a_path_the_systems_own_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert find_program("sh") == find_program("sh", {}) is not None
    assert find_program("sh", {"PATH": ""}) is None
