"""What a clone brought along is told from what its user put there, as git itself keeps the index."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.actors.protocol.changes import ScopeRef
from mnemic.runtime.minds.projects import is_tracked, resolve_scope

Git = Callable[..., None]
NAME = ".mnemic.toml"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Run the real git, untouched by the user's own settings."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    quiet = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(tmp_path)}

    def run(*words: object, inside: Path) -> None:
        subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *map(str, words)],
            cwd=inside,
            env={"PATH": os.environ["PATH"]} | names | quiet,
            check=True,
            capture_output=True,
        )

    return run


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('scope = "work"\n')


@pytest.fixture
def shelf(git: Git, tmp_path: Path) -> Path:
    """A repository that tracks the file in two folders, among others, and has it in others too."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    git("init", "-q", inside=folder)
    tracked = [NAME, f"part/{NAME}", f"é/{NAME}", ".gitignore", f"near{NAME}", f"{NAME}.old", "src/link.py", "z"]
    put(folder, *tracked)
    git("add", "-f", *tracked, inside=folder)
    git("commit", "-q", "-m", "first", inside=folder)
    put(folder, f"own/{NAME}", f"deep/er/{NAME}")
    return folder


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_file_is_tracked_if_the_index_lists_it_and_else_is_not(git: Git, shelf: Path, version: str) -> None:
    if version == "3":
        put(shelf, f"later/{NAME}", "later/other")
        git("add", "-N", f"later/{NAME}", inside=shelf)  # what is only intended to be added needs that version
        assert is_tracked(shelf / "later" / NAME)
    assert (shelf / ".git" / "index").read_bytes()[7:8] == bytes([int(version)])
    assert is_tracked(shelf / NAME)
    assert is_tracked(shelf / "part" / NAME)
    assert is_tracked(shelf / "é" / NAME)
    assert not is_tracked(shelf / "own" / NAME)
    assert not is_tracked(shelf / "deep" / "er" / NAME)
    git("rm", "-q", "--cached", NAME, inside=shelf)
    assert not is_tracked(shelf / NAME)


def test_a_file_that_a_repository_tracks_names_no_scope_and_one_of_its_owners_does(shelf: Path) -> None:
    (shelf / "own" / "below").mkdir()
    (shelf / "short").symlink_to(shelf / "part")
    assert resolve_scope(None, str(shelf / "own" / "below")) == ScopeRef("work", None, NAME)
    for folder in (shelf, shelf / "part", shelf / "part" / "gone", shelf / "short"):
        assert resolve_scope(None, str(folder)) == ScopeRef("shelf", str(shelf / ".git"), "git")


def test_a_file_system_that_knows_no_case_shows_another_spelling(git: Git, tmp_path: Path) -> None:
    git("init", "-q", inside=tmp_path)
    put(tmp_path, "Part/.Mnemic.TOML")
    git("add", "-f", ".", inside=tmp_path)
    assert is_tracked(tmp_path / "part" / NAME)


def test_an_index_full_of_that_name_is_given_up_as_one_that_lists_it(shelf: Path) -> None:
    index = shelf / ".git" / "index"
    content = index.read_bytes()
    assert not is_tracked(shelf / "own" / NAME)
    index.write_bytes(content + f"own/{NAME}\0".encode() * 9_000)  # no entries: nothing before them says so
    assert not is_tracked(shelf / "own" / NAME)
    index.write_bytes(content + f"own/{NAME}\0".encode() * 11_000)
    assert is_tracked(shelf / "own" / NAME)


def test_a_very_long_name_is_found(git: Git, tmp_path: Path) -> None:
    git("init", "-q", inside=tmp_path)
    folder = "/".join(["d" * 200] * 15)
    put(tmp_path, f"{folder}/{NAME}")
    git("add", "-f", ".", inside=tmp_path)
    assert is_tracked(tmp_path / folder / NAME)


def test_a_clone_a_worktree_and_a_submodule_bring_it_along(git: Git, shelf: Path, tmp_path: Path) -> None:
    git("clone", "-q", shelf, tmp_path / "clone", inside=tmp_path)
    git("worktree", "add", "-q", tmp_path / "tree", inside=shelf)
    (tmp_path / "outer").mkdir()
    git("init", "-q", inside=tmp_path / "outer")
    git("submodule", "add", "-q", shelf, "parts", inside=tmp_path / "outer")
    for folder in (tmp_path / "clone", tmp_path / "tree", tmp_path / "outer" / "parts"):
        assert is_tracked(folder / NAME)
        put(folder, f"own/{NAME}")
        assert not is_tracked(folder / "own" / NAME)
    put(tmp_path / "outer", NAME)
    assert not is_tracked(tmp_path / "outer" / NAME)


def test_without_a_repository_or_its_index_nothing_is_tracked(git: Git, tmp_path: Path) -> None:
    put(tmp_path, NAME)
    assert not is_tracked(tmp_path / NAME)
    git("init", "-q", inside=tmp_path)
    assert not is_tracked(tmp_path / NAME)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".git").write_text("gitdir: /nowhere/at/all")
    assert not is_tracked(tmp_path / "other" / NAME)


def version_4(git: Git, folder: Path) -> None:
    git("update-index", "--index-version", "4", inside=folder)


def split(git: Git, folder: Path) -> None:
    git("update-index", "--split-index", inside=folder)


def damaged(git: Git, folder: Path) -> None:
    (folder / ".git" / "index").write_bytes(b"")


def a_folder(git: Git, folder: Path) -> None:
    (folder / ".git" / "index").unlink()
    (folder / ".git" / "index").mkdir()


def endless(git: Git, folder: Path) -> None:
    (folder / ".git" / "index").unlink()
    (folder / ".git" / "index").symlink_to("/dev/zero")


def a_pipe(git: Git, folder: Path) -> None:
    (folder / ".git" / "index").unlink()
    os.mkfifo(folder / ".git" / "index")


@pytest.mark.parametrize("spoil", [version_4, split, damaged, a_folder, endless, a_pipe])
def test_where_it_cannot_be_told_the_file_counts_as_tracked(
    git: Git, shelf: Path, spoil: Callable[[Git, Path], None]
) -> None:
    assert not is_tracked(shelf / "own" / NAME)
    spoil(git, shelf)
    assert is_tracked(shelf / "own" / NAME)
