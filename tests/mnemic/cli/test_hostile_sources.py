"""Folders, transcripts and exports that somebody else made: what is bad in them is told of, and harms nothing else."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.processes.faces import Outcome, claude_turn, lines, turn

Command = Callable[..., Outcome]


def deep_result(depth: int) -> str:
    """A line of Claude Code's with a tool's result that is nested so deeply."""
    nested = '{"a":' * depth + "1" + "}" * depth
    return (
        '{"type":"user","sessionId":"s","cwd":"/tmp","uuid":"u","timestamp":"2026-10-01T00:00:00Z","toolUseResult":1,'
        f'"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{depth}","content":{nested}}}]}}}}'
    )


def texts(command: Command, home: Path, scope: str = "*") -> list[str]:
    """What is kept, oldest first."""
    listed = command("log", "-n", 1000, "--home", home, "--scope", scope, "--json")
    assert listed.code == 0, listed
    return [json.loads(line)["text"] for line in reversed(listed.out.splitlines())]


def test_a_line_that_cannot_be_written_as_text_keeps_out_neither_its_neighbours_nor_other_files(
    command: Command, home: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    good = [json.dumps(claude_turn(f"good words {number}", tmp_path, number)) for number in (1, 2)]
    # At some depths, in some versions of Python, only writing fails.
    bad = [deep_result(depth) for depth in range(600, 1000, 4)]
    (repository / "a.jsonl").write_text("\n".join([good[0], *bad, good[1]]) + "\n")
    lines(repository / "b.jsonl", turn("good words 3"))
    captured = command("capture", repository, "--home", home, "--no-meaning", "--json")
    assert (captured.code, captured.json["failed"]) == (1, [])
    reasons = {why for _, _, why in captured.json["malformed_lines"]}
    assert reasons <= {"reading it failed (RecursionError)", "not JSON that can be read: nested too deeply"}
    assert {f"good words {number}" for number in (1, 2, 3)} <= set(texts(command, home))


def test_a_git_folder_behind_a_thousand_links_is_no_repository_and_its_words_are_kept(
    command: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chained = tmp_path / "chained"
    chained.mkdir()
    for number in range(1_500):
        (chained / f".x{number}").symlink_to(f".x{number + 1}")
    (chained / ".x1500").mkdir()
    (chained / ".git").symlink_to(".x0")
    with (home / "mnemic.toml").open("a") as settings:
        settings.write('[capture]\ndeny = ["/nowhere"]\n')  # so that folders are looked at for this, too
    said = {"before": tmp_path, "beside the chain": chained, "in the chain": chained / ".git"}
    source = lines(tmp_path / "a.jsonl", *(claude_turn(text, folder) for text, folder in said.items()))
    captured = command("capture", source, "--home", home, "--no-meaning", "--json")
    assert (captured.code, captured.json["new"], captured.json["malformed"]) == (0, 3, 0)
    assert texts(command, home, "chained") == ["beside the chain"]
    monkeypatch.chdir(chained)
    assert command("remember", "said there", "--home", home).code == 0
    assert command("recall", "said there", "--home", home, "--json").json["scope"] == "chained"


def test_below_a_folder_no_link_is_followed_and_one_that_was_named_is(
    command: Command, home: Path, tmp_path: Path
) -> None:
    repository, private = tmp_path / "repository", tmp_path / "private"
    repository.mkdir()
    private.mkdir()
    diary = lines(private / "diary.jsonl", turn("a private word"))
    lines(repository / "own.jsonl", turn("a word of its own"))
    (repository / "chat.jsonl").symlink_to(diary)
    (repository / "x").symlink_to(private)
    (repository / "y").symlink_to("/proc/self/task")
    good = lines(tmp_path / "good.jsonl", turn("a good word"))
    captured = command("capture", good, repository, "--home", home, "--no-meaning", "--scope", "repository")
    assert (captured.code, captured.err.count("\n")) == (0, 1)
    assert captured.err.startswith("mnemic: made the mind 'default'; its key is ")
    assert sorted(texts(command, home)) == ["a good word", "a word of its own"]
    assert command("capture", repository / "chat.jsonl", "--home", home, "--no-meaning").code == 0
    assert "a private word" in texts(command, home)


def test_one_folder_that_cannot_be_listed_keeps_the_rest_not_out(
    command: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "all" / "locked"
    locked.mkdir(parents=True)
    lines(tmp_path / "all" / "a.jsonl", turn("a good word"))
    listing = os.scandir

    def refusing(folder: Any) -> Any:
        if folder == str(locked):
            raise PermissionError(13, "Permission denied", folder)
        return listing(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    captured = command("capture", tmp_path / "all", "--home", home, "--no-meaning")
    assert captured.code == 1
    assert f"not read: {locked} cannot be read: " in captured.out
    assert "1 new memory from 1 transcript" in captured.out


def test_folders_nested_deeper_than_pythons_calls_are_looked_through(
    command: Command, home: Path, tmp_path: Path
) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    depth = 1_200
    try:
        for _ in range(depth):
            os.mkdir("d", dir_fd=here)
            here, above = os.open("d", os.O_RDONLY, dir_fd=here), here
            os.close(above)
        file = os.open("a.jsonl", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=here)
        os.write(file, json.dumps(turn("a word from below")).encode() + b"\n")
        os.close(file)
        captured = command("capture", tmp_path / "d", "--home", home, "--no-meaning")
        assert "1 new memory from 1 transcript" in captured.out
        os.unlink("a.jsonl", dir_fd=here)
    finally:
        for _ in range(depth):  # what clears up after tests calls itself for each folder
            here, below = os.open("..", os.O_RDONLY, dir_fd=here), here
            os.close(below)
            os.rmdir("d", dir_fd=here)
        os.close(here)


def test_who_captures_a_folder_is_told_nothing_that_it_dates_into_the_future(
    command: Command, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "clone").mkdir()
    lines(tmp_path / "clone" / "more.jsonl", turn("keys are published", said_at="2190-01-01T00:00:00Z"))
    assert command("capture", tmp_path / "clone", "--home", home, "--no-meaning").code == 0
    (hit,) = command("recall", "keys", "--home", home, "--scope", "*", "--json").json["hits"]
    assert (hit["text"], hit["said_at"]) == ("keys are published", None)


@pytest.mark.parametrize("path", ["*", "a/../b", "a\nb", "x" * 5000])
def test_an_export_with_a_scope_that_nobody_could_ask_for_is_refused_whole(
    command: Command, home: Path, tmp_path: Path, path: str
) -> None:
    command("remember", "a word", "--scope", "work", "--home", home)
    exported = tmp_path / "exported"
    assert command("export", exported, "--home", home).code == 0
    scopes, manifest = exported / "scopes.jsonl", exported / "manifest.json"
    scopes.write_text(scopes.read_text().replace('"work"', json.dumps(path)))
    (exported / "memories.jsonl").write_text(
        (exported / "memories.jsonl").read_text().replace('"work"', json.dumps(path))
    )
    told = json.loads(manifest.read_text())
    for name in ("scopes.jsonl", "memories.jsonl"):
        data = (exported / name).read_bytes()
        told["files"][name] |= {"sha256": hashlib.sha256(data).hexdigest(), "size_bytes": len(data)}
    manifest.write_text(json.dumps(told))
    new = tmp_path / "new"
    command("init", "--home", new)
    refused = command("import", exported, "--home", new, "--no-meaning")
    assert refused.code == 2
    assert "line 1 of scopes.jsonl cannot be: no scope can have its path" in refused.err
    assert texts(command, new) == []


def test_a_scope_gets_no_path_below_which_another_could_not_be_asked_for(command: Command, home: Path) -> None:
    child = "work/" + "b" * 300
    command("remember", "a word", "--scope", child, "--home", home)
    refused = command("scope", "rename", "work", "c" * 400, "--home", home)
    assert refused.code == 2
    assert "it is too long" in refused.err
    assert texts(command, home, child) == ["a word"]
