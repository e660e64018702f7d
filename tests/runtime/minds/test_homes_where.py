"""Which folder is the home: the one that is named, else the platform's, and never a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.runtime.minds.homes import default_home, expand_home


def test_the_home_is_the_one_that_is_named_else_the_platforms() -> None:
    assert default_home({"MNEMIC_HOME": "/a/home"}) == Path("/a/home")
    assert default_home({"MNEMIC_HOME": ""}) == default_home({})
    assert default_home({}).name == "mnemic"


@pytest.mark.parametrize("relative", [".", "data", "~/data"])
def test_a_relative_folder_of_the_platforms_counts_as_none(monkeypatch: pytest.MonkeyPatch, relative: str) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    usual = default_home({})
    monkeypatch.setenv("XDG_DATA_HOME", relative)
    assert default_home({}) == usual


def test_a_tilde_is_resolved_and_one_of_nobody_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert expand_home(Path("~/memory")) == Path("/home/ada/memory")
    assert expand_home(Path("/a/~/b")) == Path("/a/~/b")
    with pytest.raises(InvalidValue, match="there is no such user"):
        expand_home(Path("~nobody of that name/memory"))


def test_a_relative_home_is_told_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    assert expand_home(Path("kept")) == tmp_path / "gone" / "kept"
    (tmp_path / "gone").rmdir()
    with pytest.raises(InvalidValue, match="the working folder was removed"):
        expand_home(Path("kept"))
    assert expand_home(tmp_path) == tmp_path


def test_a_home_need_not_be_there_but_is_no_file(tmp_path: Path) -> None:
    assert expand_home(tmp_path / "not there") == tmp_path / "not there"
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(InvalidValue, match="it is a file"):
        expand_home(tmp_path / "file")
