"""A process notices that another installation stands where its own stood, once that one is complete."""

from __future__ import annotations

from pathlib import Path

from mnemic.runtime.version import Installation


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
