"""A folder belongs to one project, the one git would say; a file may name another; and nothing is guessed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import BadInput, BadSettings, InvalidValue
from mnemic.actors.kernel.scope_paths import ScopeRef, normalize_scope_path
from mnemic.runtime.minds.projects import NO_SCOPE, resolve_scope
from tests.processes.faces import name_scope
from tests.runtime.building import said

Git = Callable[..., None]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Run the real git, untouched by the user's own settings."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    quiet = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(tmp_path)}
    environment = {"PATH": os.environ["PATH"]} | names | quiet

    def run(*words: object, inside: Path = tmp_path) -> None:
        command = ["git", "-c", "protocol.file.allow=always", *map(str, words)]
        subprocess.run(command, cwd=inside, env=environment, check=True, capture_output=True)

    return run


def checkout(git: Git, folder: Path) -> Path:
    folder.mkdir(parents=True)
    git("init", "-q", inside=folder)
    git("commit", "-q", "--allow-empty", "-m", "first", inside=folder)
    return folder


def place_of(folder: object, home: Path | None = None, *, anyway: bool = False) -> ScopeRef:
    return resolve_scope(None, str(folder), home=home, anyway=anyway)


def test_a_checkout_and_its_subfolders_are_one_project(git: Git, tmp_path: Path) -> None:
    shelf = checkout(git, tmp_path / "shelf")
    (shelf / "src" / "deep").mkdir(parents=True)
    expected = ScopeRef(path="shelf", project=str(shelf / ".git"), found="git")
    for folder in (shelf, shelf / "src", shelf / "src" / "deep", shelf / ".git", shelf / "gone" / "away"):
        assert place_of(folder) == expected


def test_a_worktree_is_its_checkouts_project(git: Git, tmp_path: Path) -> None:
    shelf = checkout(git, tmp_path / "shelf")
    git("worktree", "add", "-q", tmp_path / "elsewhere" / "trial", inside=shelf)
    (tmp_path / "elsewhere" / "trial" / "src").mkdir()
    assert place_of(tmp_path / "elsewhere" / "trial" / "src") == place_of(shelf)


def test_a_submodule_is_a_project_of_its_own(git: Git, tmp_path: Path) -> None:
    checkout(git, tmp_path / "upstream")
    shelf = checkout(git, tmp_path / "shelf")
    git("submodule", "add", "-q", tmp_path / "upstream", "parts", inside=shelf)
    place = place_of(shelf / "parts")
    assert place == ScopeRef(path="parts", project=str(shelf / ".git" / "modules" / "parts"), found="git")
    assert place != place_of(shelf)


def test_a_bare_repository_and_its_worktrees_are_one_project(git: Git, tmp_path: Path) -> None:
    checkout(git, tmp_path / "origin")
    git("clone", "-q", "--bare", tmp_path / "origin", tmp_path / "shelf.git")
    git("worktree", "add", "-q", tmp_path / "trial", inside=tmp_path / "shelf.git")
    expected = ScopeRef(path="shelf", project=str(tmp_path / "shelf.git"), found="git")
    assert place_of(tmp_path / "trial") == expected
    assert place_of(tmp_path / "shelf.git").project == expected.project


def test_a_hidden_bare_repository_is_named_for_the_folder_it_is_in(git: Git, tmp_path: Path) -> None:
    checkout(git, tmp_path / "origin")
    git("clone", "-q", "--bare", tmp_path / "origin", tmp_path / "shelf" / ".bare")
    (tmp_path / "shelf" / ".git").write_text("gitdir: ./.bare\n")
    git("worktree", "add", "-q", "main2", inside=tmp_path / "shelf")
    expected = ScopeRef(path="shelf", project=str(tmp_path / "shelf" / ".bare"), found="git")
    assert place_of(tmp_path / "shelf") == place_of(tmp_path / "shelf" / "main2") == expected


def test_a_git_folder_kept_elsewhere_counts_where_it_names_the_folder(git: Git, tmp_path: Path) -> None:
    for folder in ("shelf", "kept"):
        (tmp_path / folder).mkdir()
    shelf, kept = tmp_path / "shelf", tmp_path / "kept" / "shelf.git"
    git("init", "-q", "--separate-git-dir", kept, inside=shelf)
    (shelf / "src").mkdir()
    assert place_of(shelf) == place_of(shelf / "src") == ScopeRef("shelf", str(shelf), "folder")
    git("config", "core.worktree", shelf, inside=shelf)
    assert place_of(shelf / "src") == ScopeRef("shelf", str(kept), "git")


# --- somebody else's -------------------------------------------------------------------------------------------------


def at_the_repository(own: Path, shelf: Path) -> None:
    own.write_text(f"gitdir: {shelf / '.git'}\n")


def at_a_worktree(own: Path, shelf: Path) -> None:
    own.write_text(f"gitdir: {shelf / '.git' / 'worktrees' / 'trial'}\n")


def at_a_submodule(own: Path, shelf: Path) -> None:
    own.write_text(f"gitdir: {shelf / '.git' / 'modules' / 'parts'}\n")


def by_a_link(own: Path, shelf: Path) -> None:
    own.symlink_to(shelf / ".git")


def by_a_link_to_a_worktree(own: Path, shelf: Path) -> None:
    own.symlink_to(shelf.parent / "trial" / ".git")


def by_a_commondir(own: Path, shelf: Path) -> None:
    own.mkdir()
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "commondir").write_text(str(shelf / ".git"))


def by_a_commondir_without_git(own: Path, shelf: Path) -> None:
    (own.parent / "commondir").write_text(str(shelf / ".git"))


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize(
    "lead",
    [
        *(at_the_repository, at_a_worktree, at_a_submodule, by_a_link, by_a_link_to_a_worktree),
        *(by_a_commondir, by_a_commondir_without_git),
    ],
)
def test_no_file_of_a_folder_makes_it_another_project(
    git: Git, tmp_path: Path, lead: Callable[[Path, Path], None], committed: bool
) -> None:
    checkout(git, tmp_path / "upstream")
    shelf = checkout(git, tmp_path / "shelf")
    git("worktree", "add", "-q", tmp_path / "trial", inside=shelf)
    git("submodule", "add", "-q", tmp_path / "upstream", "parts", inside=shelf)
    theirs = {place_of(one).project for one in (shelf, tmp_path / "trial", shelf / "parts")}
    repository = checkout(git, tmp_path / "hostile") if committed else tmp_path / "hostile"
    folder = repository / "sub"
    (folder / "src").mkdir(parents=True)
    lead(folder / ".git", shelf)
    for one in (folder, folder / "src", folder / "gone"):
        assert place_of(one).project not in theirs
        assert Path(str(place_of(one).project)).is_relative_to(repository)


NAMES = st.sampled_from(["work", "secret", "shelf", "a"])
TREES = st.recursive(st.just({}), lambda below: st.dictionaries(NAMES, below, max_size=3), max_leaves=8)
LEADS = (at_the_repository, by_a_link, by_a_commondir, by_a_commondir_without_git)


def grow(place: Path, tree: dict[str, Any]) -> list[Path]:
    place.mkdir()
    return [place, *(folder for name, below in tree.items() for folder in grow(place / name, below))]


@given(tree=TREES, repositories=st.sets(st.integers(0, 20)), data=st.data())
def test_in_any_tree_a_folder_is_of_itself_or_of_what_it_lies_in(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, Any], repositories: set[int], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("tree")
    folders = grow(root / "top", tree)
    for number in repositories:
        if number < len(folders):
            for name in ("objects", "refs"):
                (folders[number] / ".git" / name).mkdir(parents=True)
            (folders[number] / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for folder in folders:
        if not (folder / ".git").exists() and data.draw(st.booleans()):
            data.draw(st.sampled_from(LEADS))(folder / ".git", data.draw(st.sampled_from(folders)))
        if data.draw(st.booleans()):
            (folder / ".mnemic.toml").write_text('scope = "neighbour"')
    trusted = [folder for folder in folders if data.draw(st.integers(0, 3)) == 3]
    for number, folder in enumerate(trusted):
        name_scope(root / "home", folder, f"trusted/{number}")
    for folder in folders:
        assert folder.is_relative_to(Path(str(place_of(folder).project).removesuffix("/.git")))
        place = place_of(folder, root / "home")
        if place.found == ".mnemic.toml":
            assert place.path == f"trusted/{max(n for n, one in enumerate(trusted) if folder.is_relative_to(one))}"
        else:
            assert folder.is_relative_to(Path(str(place.project).removesuffix("/.git")))


def test_two_folders_of_one_name_are_two_projects(git: Git, tmp_path: Path) -> None:
    ours, theirs = (place_of(checkout(git, tmp_path / owner / "shelf")) for owner in ("a", "b"))
    assert ours.path == theirs.path == "shelf"
    assert ours.project != theirs.project


def test_a_link_leads_to_the_project_it_points_into(git: Git, tmp_path: Path) -> None:
    shelf = checkout(git, tmp_path / "shelf")
    (shelf / "src").mkdir()
    (tmp_path / "short").symlink_to(shelf / "src")
    assert place_of(tmp_path / "short") == place_of(shelf)
    assert place_of(f"{shelf}/src/../../shelf/src/./") == place_of(shelf)


@pytest.mark.parametrize("content", ["", "gitdir: /nowhere/at/all", "something else", "\0"])
def test_a_git_file_that_leads_nowhere_makes_no_project(tmp_path: Path, content: str) -> None:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / ".git").write_text(content)
    assert place_of(tmp_path / "shelf") == ScopeRef("shelf", str(tmp_path / "shelf"), "folder")


def test_an_empty_git_folder_makes_no_project(tmp_path: Path) -> None:
    (tmp_path / "shelf" / ".git").mkdir(parents=True)
    assert place_of(tmp_path / "shelf").found == "folder"


def test_a_folder_without_git_is_its_own_project_there_or_not(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert place_of(tmp_path / "notes") == ScopeRef("notes", str(tmp_path / "notes"), "folder")
    assert place_of("/long/gone/shelf/") == ScopeRef("shelf", "/long/gone/shelf", "folder")
    assert place_of("/") == ScopeRef("unnamed", "/", "folder")


@pytest.mark.parametrize("folder", ["shelf", "./shelf", "C:\\work\\shelf", "~/shelf", ".."])
def test_a_folder_of_another_machine_is_not_looked_up_here(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(checkout(git, tmp_path / "here"))
    place = place_of(folder)
    assert (place.project, place.found) == (str(Path(folder)), "folder")
    assert place.path == normalize_scope_path(place.path) != ""


@pytest.mark.parametrize("name", ["x" * 300, "é" * 700, "a\0b", "\ud800", "*", "a*b", "...", "..", " ", "\x07"])
def test_any_folder_a_transcript_names_gives_a_scope(name: str) -> None:
    place = place_of(f"/work/{name}")
    assert normalize_scope_path(place.path) == place.path != ""
    assert len(place.path.encode()) <= 255
    assert place.project is not None
    place.project.encode()


def test_a_deep_folder_is_asked_about_once_for_each_folder_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    look = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path, **options: asked.append(path) or look(path, **options))
    assert place_of("/a" * 2000).found == "folder"
    assert 2000 <= len(asked) <= 5 * 2000


def test_a_folder_whose_name_no_system_takes_is_refused_and_is_none_where_nobody_looks_on() -> None:
    longest = "/a" * 2047 + "/"
    assert len(longest) == 4095
    assert place_of(longest).found == "folder"
    for folder in (f"{longest}a", "/" + "é" * 2048, "/a" * 10_000, "a/" * 10_000):
        with pytest.raises(InvalidValue, match=r"the folder cannot be .*: no path is so long") as caught:
            place_of(folder)
        assert len(str(caught.value)) < 300
        assert resolve_scope(None, folder, anyway=True) == NO_SCOPE
        assert resolve_scope("work", folder).path == "work"


def test_a_file_in_the_folder_names_the_scope(git: Git, tmp_path: Path) -> None:
    shelf, home = checkout(git, tmp_path / "shelf"), tmp_path / "home"
    name_scope(home, shelf / "part", "/work/shelf/")
    expected = ScopeRef(path="work/shelf", project=None, found=".mnemic.toml")
    assert place_of(shelf / "part", home) == place_of(shelf / "part" / "below", home) == expected
    assert place_of(shelf, home).found == "git"


@pytest.mark.parametrize(
    "content",
    [
        b"scope = ",
        b"scope = 3",
        b"scope = 0x" + b"f" * 4000,
        b"",
        b'scope = "/"',
        b'scope = "a/../b"',
        b"\xff",
        b'scope = "a*"',
        b'scope = "everywhere"',
        b'scope = "everywhere/tools"',
    ],
)
def test_a_file_that_names_no_scope_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    home = tmp_path / "home"
    name_scope(home, tmp_path, "work")
    (tmp_path / ".mnemic.toml").write_bytes(content)
    with pytest.raises((BadSettings, InvalidValue)) as caught:
        place_of(tmp_path / "below", home)
    assert str(tmp_path / ".mnemic.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def a_link_to_zeros(file: Path) -> None:
    file.symlink_to("/dev/zero")


def a_long_file(file: Path) -> None:
    file.touch()
    os.truncate(file, 1 << 20)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (Path.mkdir, "it is no regular file"),
        (os.mkfifo, "it is no regular file"),
        (a_link_to_zeros, "it is no regular file"),
        (a_long_file, "it is longer than 4,096 bytes"),
        (lambda file: file.write_bytes(b"a" + b".a" * 2000 + b"=1"), "one of its keys has more than 16 dots"),
        (lambda file: file.write_bytes(b"scope = " + b"[" * 500), "it is nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_clear_error(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    home = tmp_path / "home"
    name_scope(home, tmp_path, "work")
    (tmp_path / ".mnemic.toml").unlink()
    make(tmp_path / ".mnemic.toml")
    with pytest.raises(BadSettings) as caught:
        place_of(tmp_path, home)
    assert said(caught.value).startswith(f"The settings in {tmp_path / '.mnemic.toml'} cannot be read: {why}")
    assert place_of(tmp_path, home, anyway=True).found == "folder"


@pytest.mark.parametrize("make", [os.mkfifo, a_link_to_zeros, a_long_file])
def test_a_git_file_that_never_ends_makes_no_project(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / ".git")
    assert place_of(tmp_path).found == "folder"


def test_a_scope_that_is_named_wins_and_no_folder_is_no_place(tmp_path: Path) -> None:
    assert resolve_scope("work/shelf/", str(tmp_path)) == ScopeRef(path="work/shelf", project=None, found="named")
    assert resolve_scope("", str(tmp_path)) == ScopeRef(path="", project=None, found="named")
    assert resolve_scope(None, None) == resolve_scope(None, "") == NO_SCOPE


def test_what_is_made_later_counts_from_then_on(git: Git, tmp_path: Path) -> None:
    folder = tmp_path / "shelf"
    folder.mkdir()
    assert place_of(folder).found == "folder"
    git("init", "-q", inside=folder)
    assert place_of(folder).found == "git"
    name_scope(tmp_path / "home", folder, "named since")
    assert place_of(folder, tmp_path / "home").path == "named since"


@pytest.mark.parametrize("text", ["scope = [", "", 'scope = "a//b"'])
def test_a_file_that_says_nothing_is_passed_over_where_something_has_to_be_found(tmp_path: Path, text: str) -> None:
    home = tmp_path / "home"
    folder = name_scope(home, tmp_path / "shelf" / "src", "src")
    (folder / ".mnemic.toml").write_text(text)
    with pytest.raises(BadInput):
        place_of(folder, home)
    assert place_of(folder, home, anyway=True) == ScopeRef(path="src", project=str(folder), found="folder")
    name_scope(home, tmp_path / "shelf", "work/shelf")
    assert place_of(folder, home, anyway=True).path == "work/shelf"


@given(st.text())
def test_a_scope_is_taken_as_it_is_or_refused(scope: str) -> None:
    try:
        path = normalize_scope_path(scope)
    except InvalidValue:
        return
    assert path == scope.strip("/")
    assert normalize_scope_path(path) == path


@pytest.mark.parametrize("scope", ["a//b", "a/./b", "../a", "a/*", "*", "a\nb", "a\0", " ", "a/ /b", "\ud800"])
def test_what_is_no_path_is_refused(scope: str) -> None:
    with pytest.raises(InvalidValue, match="it is no path"):
        normalize_scope_path(scope)


@pytest.mark.parametrize("scope", ["a" * 512, "é" * 256, "/".join("a" * 16)])
def test_a_path_has_512_bytes_and_16_names_at_most(tmp_path: Path, scope: str) -> None:
    assert normalize_scope_path(f"/{scope}/") == scope
    longer = f"{scope}a" if "/" not in scope else f"{scope}/a"
    name_scope(tmp_path / "home", tmp_path, scope)
    (tmp_path / ".mnemic.toml").write_text(f'scope = "{longer}"')
    for refused in (lambda: normalize_scope_path(longer), lambda: place_of(tmp_path, tmp_path / "home")):
        with pytest.raises(InvalidValue, match="it is too long") as caught:
            refused()
        assert caught.value.operands["expected"] == "a path of at most 512 bytes and 16 names"


@pytest.mark.parametrize("scope", [3, None, b"a", ["a"]])
def test_what_is_no_text_is_refused(scope: Any) -> None:
    with pytest.raises(InvalidValue, match="it is no text"):
        normalize_scope_path(scope)


@pytest.mark.parametrize(("scope", "path"), [("/", ""), ("", ""), ("/a/b/", "a/b"), ("É ñ/ü", "É ñ/ü"), ("a~2", "a~2")])
def test_a_path_is_taken_without_its_outer_slashes(scope: str, path: str) -> None:
    assert normalize_scope_path(scope) == path


# --- the user's own home folder --------------------------------------------------------------------------------------


@pytest.fixture
def user_home(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose home folder is a repository of dotfiles."""
    monkeypatch.setenv("HOME", str(tmp_path / "ines"))
    return checkout(git, tmp_path / "ines")


def test_a_repository_at_the_home_folder_is_no_project(git: Git, user_home: Path) -> None:
    (user_home / "notes" / "src").mkdir(parents=True)
    checkout(git, user_home / "shelf")
    assert place_of(user_home) == ScopeRef("ines", str(user_home), "folder")
    assert place_of(user_home / "notes" / "src") == ScopeRef("src", str(user_home / "notes" / "src"), "folder")
    assert place_of(user_home / "shelf") == ScopeRef("shelf", str(user_home / "shelf" / ".git"), "git")


def test_nor_are_its_worktrees_or_its_folder_where_that_is_kept_elsewhere(git: Git, user_home: Path) -> None:
    trial = user_home.parent / "trial"
    git("worktree", "add", "-q", trial, inside=user_home)
    assert place_of(trial) == ScopeRef("trial", str(trial), "folder")
    git("worktree", "remove", trial, inside=user_home)
    (user_home / ".git").rename(user_home / ".dotfiles")
    for worktree in (str(user_home), "/elsewhere"):
        (user_home / ".git").write_text("gitdir: .dotfiles\n")
        git("config", "core.worktree", worktree, inside=user_home / ".dotfiles")
        assert place_of(user_home / "notes") == ScopeRef("notes", str(user_home / "notes"), "folder")


def test_what_lies_above_it_counts_as_if_it_was_not_there(git: Git, user_home: Path) -> None:
    git("init", "-q", inside=user_home.parent)
    outer = str(user_home.parent / ".git")
    assert place_of(user_home / "notes").project == outer


def test_it_is_one_where_a_scope_exists_for_it_or_its_owner_says_so(user_home: Path, tmp_path: Path) -> None:
    asked: list[str] = []
    own = ScopeRef("ines", str(user_home / ".git"), "git")

    def is_project(project: str) -> bool:
        asked.append(project)
        return True

    assert resolve_scope(None, str(user_home / "notes"), is_project=is_project) == own
    assert resolve_scope(None, str(tmp_path / "boat"), is_project=is_project).path == "boat"
    assert asked == [own.project]
    name_scope(tmp_path / "home", user_home, "dotfiles")
    assert place_of(user_home / "notes", tmp_path / "home") == ScopeRef("dotfiles", None, ".mnemic.toml")


@pytest.mark.parametrize("named", ["", "relative", "/nowhere"])
def test_a_home_folder_that_nobody_can_find_hides_no_repository(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    shelf = checkout(git, tmp_path / "shelf")
    monkeypatch.setenv("HOME", named)
    assert place_of(shelf).found == "git"
