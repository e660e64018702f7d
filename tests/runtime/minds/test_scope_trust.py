"""A file that names a scope counts where the home's owner confirmed that very scope for that very folder."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import BadSettings, InvalidValue
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.runtime.minds.projects import TRUST_FILE, read_trusted, resolve_scope
from mnemic.runtime.minds.scope_trust import distrust_folder, list_trusted, trust_folder, unconfirmed_sentence
from tests.processes.faces import git_project, name_scope

SECRET = "work/secret"
NAMED = ScopeRef(path=SECRET, project=None, found=".mnemic.toml")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose owner trusts one folder."""
    name_scope(tmp_path / "home", tmp_path / "ours", SECRET)
    return tmp_path / "home"


def place_of(folder: Path, home: Path) -> ScopeRef:
    return resolve_scope(None, str(folder), home=home)


def write(folder: Path, scope: str = SECRET) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".mnemic.toml").write_text(f'scope = "{scope}"\n', "utf-8")
    return folder


def unpacked(place: Path, ours: Path) -> Path:
    return write(place / "unpacked")


def ignored(place: Path, ours: Path) -> Path:
    folder = write(git_project(place / "clone"))
    (folder / ".gitignore").write_text(".mnemic.toml\n")
    return folder


def untracked(place: Path, ours: Path) -> Path:
    return write(git_project(place / "clone") / "part")


def copied(place: Path, ours: Path) -> Path:
    return Path(shutil.copytree(ours, place / "copy"))


def moved(place: Path, ours: Path) -> Path:
    return Path(shutil.move(ours, place / "moved"))


def linked_file(place: Path, ours: Path) -> Path:
    folder = place / "linked"
    folder.mkdir()
    (folder / ".mnemic.toml").symlink_to(ours / ".mnemic.toml")
    return folder


def changed(place: Path, ours: Path) -> Path:
    trust_folder(place / "home", str(write(place / "theirs", "theirs")))
    return write(place / "theirs")


def below_a_trusted_one(place: Path, ours: Path) -> Path:
    name_scope(place / "home", place / "theirs", "theirs")
    return write(place / "theirs" / "below")


@pytest.mark.parametrize(
    "attack", [unpacked, ignored, untracked, copied, moved, linked_file, changed, below_a_trusted_one]
)
def test_a_file_that_its_owner_did_not_confirm_names_nothing(
    home: Path, tmp_path: Path, attack: Callable[[Path, Path], Path]
) -> None:
    folder = attack(tmp_path, tmp_path / "ours")
    for one in (folder, folder / "src"):
        assert place_of(one, home).path not in ("work", SECRET)
    assert resolve_scope(None, str(folder)) != NAMED, "nor without a home"


def test_a_file_counts_as_long_as_it_names_what_was_confirmed(home: Path, tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    (tmp_path / "short").symlink_to(ours)
    assert place_of(ours / "src", home) == place_of(tmp_path / "short", home) == NAMED
    write(ours, "other")
    assert place_of(ours, home).found == "folder"
    write(ours, f"/{SECRET}/")
    assert place_of(ours, home) == NAMED
    assert place_of(ours, tmp_path / "another home").found == "folder"
    assert distrust_folder(home, str(ours)) == (str(ours), SECRET)
    assert place_of(ours, home).found == "folder"
    with pytest.raises(InvalidValue, match="it is not trusted"):
        distrust_folder(home, str(ours))


def test_a_folder_is_trusted_by_where_it_is_and_not_by_the_link_that_led_there(home: Path, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(write(tmp_path / "real", "a"))
    assert trust_folder(home, str(tmp_path / "short")) == (str(tmp_path / "real"), "a")
    (tmp_path / "short").unlink()
    (tmp_path / "short").symlink_to(write(tmp_path / "theirs", "a"))
    assert place_of(tmp_path / "short", home).found == "folder"
    assert list_trusted(home) == [(str(tmp_path / "ours"), SECRET), (str(tmp_path / "real"), "a")]


def test_the_nearest_file_that_is_passed_over_is_told_once_and_a_broken_one_is_not(home: Path, tmp_path: Path) -> None:
    folder = write(write(tmp_path / "a", "far") / "b", "near") / "c"
    write(folder)
    (folder / ".mnemic.toml").write_text("scope = [", "utf-8")
    told: list[tuple[Path, str]] = []
    for one in (folder, tmp_path / "ours"):
        resolve_scope(None, str(one), home=home, passed_over=lambda *what: told.append(what))
    assert told == [(folder.parent, "near")]
    assert unconfirmed_sentence(home, tmp_path / "a b", "near") == (
        f"{tmp_path}/a b/.mnemic.toml names the scope 'near' and is passed over until you trust it:"
        f" mnemic scope trust '{tmp_path}/a b' --home {home}"
    )


def test_a_folder_of_any_name_is_trusted(home: Path, tmp_path: Path) -> None:
    folders = [
        write(Path(os.fsdecode(os.fsencode(tmp_path) + name))) for name in (b"/\xff", b"/\\xff", b"/a\nb", b'/"')
    ]
    trust_folder(home, str(folders[0]))
    assert [place_of(folder, home) == NAMED for folder in folders] == [True, False, False, False]
    assert (str(tmp_path / "\\udcff"), SECRET) in list_trusted(home)
    for folder in folders[1:]:
        trust_folder(home, str(folder))
        assert place_of(folder, home) == NAMED


@pytest.mark.parametrize("content", [None, "", "scope = [", 'scope = "a*"'])
def test_a_folder_that_names_no_scope_cannot_be_trusted(home: Path, tmp_path: Path, content: str | None) -> None:
    before = read_trusted(home)
    (tmp_path / "folder").mkdir()
    if content is not None:
        (tmp_path / "folder" / ".mnemic.toml").write_text(content)
    with pytest.raises((BadSettings, InvalidValue)):
        trust_folder(home, str(tmp_path / "folder"))
    assert read_trusted(home) == before


def test_a_record_of_a_newer_mnemic_is_named_as_that_and_not_written_over(home: Path, tmp_path: Path) -> None:
    content = b'{"version": 2, "folders": [{"folder": "/"}]}'
    (home / TRUST_FILE).write_bytes(content)
    for refused in (lambda: trust_folder(home, str(tmp_path / "ours")), lambda: list_trusted(home)):
        with pytest.raises(BadSettings, match=r"newer Mnemic wrote it \(version 2; this one knows 1\)") as caught:
            refused()
        assert caught.value.remedy_text == "Update Mnemic."
    assert (home / TRUST_FILE).read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"version": 1}', b'{"version": "2"}'),
        b'{"version": 1, "folders": {"/": 1}}',
    ],
)
def test_a_record_that_is_damaged_trusts_nothing_and_is_not_written_over(
    home: Path, tmp_path: Path, content: bytes
) -> None:
    (home / TRUST_FILE).write_bytes(content)
    assert place_of(tmp_path / "ours", home).found == "folder"
    for refused in (lambda: trust_folder(home, str(tmp_path / "ours")), lambda: list_trusted(home)):
        with pytest.raises(BadSettings, match=r"no list of trusted folders, and until it is, no \.mnemic\.toml counts"):
            refused()
    assert (home / TRUST_FILE).read_bytes() == content


def test_the_record_is_its_users_alone(home: Path, tmp_path: Path) -> None:
    path = home / TRUST_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_bytes()) == {"version": 1, "folders": {str(tmp_path / "ours"): SECRET}}
