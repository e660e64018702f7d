"""`mnemic capture` takes a repository's commits and a vault's notes, each once, and what is new or edited is added."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.cli.capture import _source_word
from mnemic.hooks.imports.git_log import NO_EMAIL
from mnemic.hooks.imports.importers import IMPORTERS
from tests.processes.faces import Outcome

Command = Callable[..., Outcome]


def git(folder: Path, *arguments: str) -> None:
    who = {f"GIT_{who}_{what}": "Ines" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, env=os.environ | who)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of two commits."""
    folder = tmp_path / "boats"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for name in ("heron", "pier"):
        (folder / "src" / f"{name}.py").write_text("1")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"Mend the {name}", "-m", f"The {name} leaked.")
    return folder


def test_commits_are_found_by_words_file_author_and_branch(
    command: Command, home: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "src")
    captured = command("capture", "--git", "--no-meaning", "--home", home)
    assert captured.code == 0
    assert captured.out.startswith("2 new memories from 1 repository, in ")
    assert "scopes: boats\n" in captured.out
    asked = ("--file", "src/heron.py", "--speaker", "ines", "--branch", "main", "--assistant", "git")
    (hit,) = command("recall", "what leaked", *asked, "--home", home, "--json").json["hits"]
    assert hit["text"] == "Mend the heron\n\nThe heron leaked.\n\nfiles: src/heron.py (new)"
    assert (hit["kind"], hit["session"]) == ("note", str(repository / ".git"))


def test_commits_are_taken_once_and_rewritten_ones_again(command: Command, home: Path, repository: Path) -> None:
    def capture(*how: object) -> tuple[int, int]:
        view = command("capture", *how, "--no-meaning", "--home", home, "--json").json
        assert (view["differing"], view["formats"], view["documents"]) == (0, ["git"], 0)
        return view["new"], view["known"]

    assert capture("--git", repository) == (2, 0)
    assert capture("--format", "git", repository / "src") == (0, 2)
    git(repository, "commit", "-q", "--allow-empty", "-m", "third")
    assert capture("--git", "--format", "git", repository) == (1, 2)
    git(repository, "commit", "-q", "--amend", "--allow-empty", "-m", "third, in other words")
    assert capture("--git", repository) == (1, 2)


def test_who_configured_no_address_is_told_whose_the_commits_are_and_a_later_capture_mends_it(
    command: Command, home: Path, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "gitconfig"
    config.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    git(repository, "config", "user.email", "Ines")
    asked = ("capture", "--git", repository, "--home", home)
    assert command(*asked, "--preview").out.count(NO_EMAIL) == 1
    assert command(*asked, "--no-meaning").out.count(f"{NO_EMAIL}\n") == 1
    assert command(*asked, "--no-meaning", "--json").json["notes"] == [NO_EMAIL]

    def authors() -> list[str]:
        told = command("log", "--scope", "*", "--json", "--home", home).out.splitlines()
        return [json.loads(one)["author"] for one in told]

    assert authors() == ["other", "other"]
    config.write_text("[user]\nemail = Ines\n")
    assert NO_EMAIL not in command(*asked, "--no-meaning").out
    assert authors() == ["owner", "owner"]


def test_a_repository_that_is_none_is_refused_and_nothing_is_kept(
    command: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    refused = command("capture", "--git", tmp_path / "notes", "--home", home)
    assert (refused.code, refused.out) == (2, "")
    assert "cannot be read: git says: not a git repository" in refused.err
    other = command("capture", "--git", "--format", "text", tmp_path, "--home", home)
    assert (other.code, "--git reads repositories" in other.err) == (2, True)
    assert command("capture", "--home", home).code == 2


def test_a_folder_of_somebody_else_has_no_other_repositorys_commits_kept(
    command: Command, home: Path, repository: Path, tmp_path: Path
) -> None:
    for name in ("reads", "fills"):
        (tmp_path / name).mkdir()
    (tmp_path / "reads" / ".git").write_text(f"gitdir: {repository / '.git'}\n")
    git(tmp_path / "fills", "init", "-q", "-b", "main")
    git(tmp_path / "fills", "commit", "-q", "--allow-empty", "-m", "The heron is mine")
    git(tmp_path / "fills", "config", "core.worktree", str(repository))
    for name in ("reads", "fills"):
        refused = command("capture", "--git", tmp_path / name, "--no-meaning", "--home", home)
        assert (refused.code, refused.out) == (2, "")
        assert f"{tmp_path / name} cannot be read: " in refused.err
    view = command("capture", "--git", repository, "--no-meaning", "--home", home, "--json").json
    assert (view["new"], view["known"]) == (2, 0)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault of three notes, two of which link to each other."""
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / "club").mkdir()
    (folder / "boats.md").write_text("See [[Pier]].\n\n# Repairs\n\nThe heron leaks.\n")
    (folder / "club" / "Pier.md").write_text("It costs 40. [[boats]]\n")
    (folder / "lone.md").write_text("Rain all day.\n")
    return folder


def test_linked_notes_are_found_by_each_others_file(command: Command, home: Path, vault: Path) -> None:
    captured = command("capture", vault, "--no-meaning", "--home", home)
    assert captured.out.startswith("4 new memories from 1 vault, in ")
    hits = command("recall", "pier", "--file", "club/Pier.md", "--scope", "*", "--home", home, "--json").json["hits"]
    assert sorted(one["text"].split("\n")[0] for one in hits) == ["Pier", "boats"]


def test_a_vault_is_taken_once_and_an_edited_section_stands_for_what_it_was(
    command: Command, home: Path, vault: Path
) -> None:
    def capture(path: Path) -> tuple[int, int]:
        view = command("capture", path, "--no-meaning", "--home", home, "--json").json
        return view["new"], view["known"]

    assert capture(vault) == (4, 0)
    assert capture(vault) == (0, 4)
    assert capture(vault / "lone.md") == (0, 1)
    (vault / "club" / "Pier.md").write_text("It costs 45. [[boats]]\n")
    (vault / "new.md").write_text("An otter.\n")
    (vault / "torn.md").write_bytes(b"\xff")
    partly = command("capture", vault, "--no-meaning", "--home", home)
    assert (partly.code, "torn.md: byte 0 is no UTF-8" in partly.out) == (1, True)
    assert partly.out.startswith("2 new memories from 1 vault, 3 known already")
    hits = command("recall", "pier costs", "--scope", "*", "--home", home, "--json").json["hits"]
    pier = {one["text"].split()[3]: one for one in hits if "costs" in one["text"]}
    assert pier["40."]["superseded_by"] == pier["45."]["id"]


def test_each_source_has_its_word() -> None:
    words = {name: _source_word([name]) for name in ("markdown", "codex", *IMPORTERS)}
    assert words["codex"] == "transcript"
    assert [name for name, word in words.items() if word == "transcript"] == ["codex"]
    assert (words["markdown"], words["git"], words["mem0"]) == ("Markdown file", "repository", "store")
    assert _source_word([]) == _source_word(["git", "markdown"]) == "source"
