"""Hostile folders: a hook keeps what is said there, in a scope of that folder, and a neighbour is not touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.bench.faults import hostile_folders
from mnemic.bench.faults.audit import Attack, attack_row


@pytest.fixture
def folders(attacked_home: Path, tmp_path: Path) -> dict[str, Attack]:
    return {attack.name: attack for attack in hostile_folders.attacks(lambda: attacked_home, tmp_path)}


def number_of(name: str, what: str) -> int:
    return list(hostile_folders.trees()[name]).index(what) + 1


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (".git", "it points at the neighbour's"),
        (".git", "a worktree whose commondir is the neighbour's"),
        (".git", "its HEAD has no end"),
        (".mnemic.toml", "it names the neighbour's"),
        (".mnemic.toml", "nested"),
        (".mnemicignore", "a FIFO"),
    ],
)
def test_a_hostile_folder_is_a_project_of_its_own_and_its_neighbour_is_left_alone(
    folders: dict[str, Attack], name: str, what: str
) -> None:
    row = attack_row(folders[f"folder/{name}"], number_of(name, what))
    assert (row["state"], row["tried"]) == ("ok", 1), row


@pytest.mark.system
def test_what_reaches_the_neighbour_would_be_seen(
    attacked_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def owned(folder: Path, neighbour: Path) -> None:
        folder.rmdir()
        folder.symlink_to(neighbour)  # the owner's own word: it is the neighbour's folder

    monkeypatch.setattr(hostile_folders, "trees", lambda: {".git": {"the owner's": owned}})
    (attack,) = hostile_folders.attacks(lambda: attacked_home, tmp_path)
    row = attack_row(attack)
    assert (row["state"], row["lost"]) == ("failed", 0)
    assert row["silent"] >= 2, row


def test_a_folder_that_is_not_there_is_said(folders: dict[str, Attack]) -> None:
    with pytest.raises(ValueError, match=r"there are 8 folders with a bad \.mnemicignore, and none of the number 9"):
        attack_row(folders["folder/.mnemicignore"], 9)
