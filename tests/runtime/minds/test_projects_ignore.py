"""A project that asks for silence is silent from that moment on, and only it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnemic.runtime.minds.projects import IGNORE_FILE, is_ignored


def test_a_folder_is_silent_with_all_below_it_as_long_as_the_file_is_there(tmp_path: Path) -> None:
    project = tmp_path / "project"
    folders = [project, project / "src" / "deep", project / "gone" / "away"]
    (project / "src" / "deep").mkdir(parents=True)
    assert not any(is_ignored(str(folder)) for folder in folders)
    (project / IGNORE_FILE).touch()
    assert all(is_ignored(str(folder)) for folder in folders)
    assert not is_ignored(str(tmp_path))
    assert not is_ignored(str(tmp_path / "project2"))
    (project / IGNORE_FILE).unlink()
    assert not any(is_ignored(str(folder)) for folder in folders)


def test_a_link_that_leads_nowhere_and_a_folder_of_that_name_count_too(tmp_path: Path) -> None:
    for name in ("link", "folder"):
        (tmp_path / name).mkdir()
    (tmp_path / "link" / IGNORE_FILE).symlink_to("nowhere")
    (tmp_path / "folder" / IGNORE_FILE).mkdir()
    assert is_ignored(str(tmp_path / "link"))
    assert is_ignored(str(tmp_path / "folder"))


@pytest.mark.parametrize("folder", [None, "", ".", "shelf", "C:\\shelf", "/a\0b", "/\ud800", "/nowhere"])
def test_what_is_no_folder_here_is_not_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    (tmp_path / IGNORE_FILE).touch()
    monkeypatch.chdir(tmp_path)
    assert not is_ignored(folder)


def test_of_a_name_that_no_system_takes_only_the_folders_are_looked_up_that_may_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "silent").mkdir()
    (tmp_path / "silent" / IGNORE_FILE).touch()
    asked: list[object] = []
    look = os.path.lexists
    monkeypatch.setattr(os.path, "lexists", lambda path: asked.append(path) or look(path))
    assert is_ignored(f"{tmp_path}/silent" + "/a" * 10_000)
    assert not is_ignored(f"{tmp_path}/loud" + "/a" * 10_000)
    assert 0 < len(asked) <= 4096
