"""A process notices that another installation stands where its own stood, once that one is complete."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from mnemic.runtime.version import Installation, install_command


def test_files_that_stay_as_they_were_are_never_taken_for_replaced(tmp_path: Path) -> None:
    file = tmp_path / "version.py"
    file.write_text("old", "utf-8")
    installation = Installation(file)
    assert not installation.is_replaced(0.0)
    assert not installation.is_replaced(1e6)


def test_a_file_that_was_replaced_counts_once_an_installer_must_be_done(tmp_path: Path) -> None:
    file = tmp_path / "version.py"
    file.write_text("old", "utf-8")
    installation = Installation(file)
    file.unlink()
    assert not installation.is_replaced(100.0), "an installer removes first"
    file.write_text("new, and longer", "utf-8")
    assert not installation.is_replaced(109.0)
    assert not installation.is_replaced(118.9)
    assert installation.is_replaced(119.0)


def test_an_installation_that_was_removed_counts_too(tmp_path: Path) -> None:
    file = tmp_path / "version.py"
    file.write_text("old", "utf-8")
    installation = Installation(file)
    file.unlink()
    assert not installation.is_replaced(5.0)
    assert installation.is_replaced(15.0)


def test_the_same_version_installed_again_is_another_installation(tmp_path: Path) -> None:
    file = tmp_path / "version.py"
    file.write_text("same", "utf-8")
    installation = Installation(file)
    (tmp_path / "again").write_text("same", "utf-8")
    (tmp_path / "again").replace(file)
    assert not installation.is_replaced(0.0)
    assert installation.is_replaced(10.0)


@pytest.mark.parametrize(
    ("mark", "command"),
    [
        ("pipx_metadata.json", "pipx runpip mnemic install --no-deps 'mnemic[ray]'"),
        ("uv-receipt.toml", f"uv pip install --python {sys.executable} --no-deps 'mnemic[ray]'"),
        ("pyvenv.cfg", f"{sys.executable} -m pip install --no-deps 'mnemic[ray]'"),
    ],
)
def test_what_installed_mnemic_installs_more_beside_it(mark: str, command: str, tmp_path: Path) -> None:
    (tmp_path / mark).touch()
    assert install_command("--no-deps", "mnemic[ray]", prefix=tmp_path) == command


def test_an_environment_without_pip_is_left_to_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert install_command("numpy", prefix=tmp_path).startswith("uv pip install --python ")
