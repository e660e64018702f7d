"""A command's exit code says whether all was done, a part, or nothing; commands that see one fault say it alike."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT
from tests.processes.faces import Outcome, lines, turn

Command = Callable[..., Outcome]
GOOD, BAD = turn("an otter"), {"session": "s", "role": "narrator", "text": "he pauses"}


def test_the_page_names_each_code() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    (table,) = re.findall(r"\n\| exit \| \|\n\|---\|---\|\n(.*?)\n\n", page, re.DOTALL)
    assert re.findall(r"^\| ([0-9, ]+) \|", table, re.MULTILINE) == ["0", "1", "2", "3", "4", "5", "130, 143"]


# --- capture ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "code", "kept"),
    [
        ({"a.jsonl": [GOOD]}, 0, 1),
        ({"a.jsonl": [GOOD | {"mood": "glad"}]}, 0, 1),
        ({"a.jsonl": []}, 0, 0),
        ({"a.jsonl": [GOOD], "b.jsonl": [{"from": "elsewhere"}]}, 1, 1),
        ({"a.jsonl": [GOOD, BAD]}, 1, 1),
        ({"a.jsonl": [BAD]}, 2, 0),
        ({"a.jsonl": [BAD], "b.jsonl": [{"from": "elsewhere"}]}, 2, 0),
        ({"b.jsonl": [{"from": "elsewhere"}]}, 2, 0),
        ({"a.json": [[GOOD]]}, 2, 0),
    ],
)
def test_a_capture_of_which_a_part_was_kept_is_neither_done_nor_refused(
    command: Command, home: Path, tmp_path: Path, files: dict[str, list[Any]], code: int, kept: int
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    named = [lines(folder / name, *content) for name, content in files.items()]
    told = command("capture", *named, "--no-meaning", "--home", home)
    assert told.code == code
    is_made = (home / "minds").exists()  # no mind is made for what cannot be read at all
    assert (len(command("log", "--home", home, "--json").out.splitlines()) if is_made else 0) == kept
    again = command("capture", *named, "--no-meaning", "--home", home)
    assert again.code == code, "what is known already is as good as kept"


def test_one_unreadable_file_of_several_is_named_and_the_rest_is_kept(
    command: Command, home: Path, tmp_path: Path
) -> None:
    source, missing = lines(tmp_path / "a.jsonl", GOOD), tmp_path / "b.jsonl"
    told = command("capture", source, missing, "--no-meaning", "--home", home)
    assert told.code == 1
    assert "1 new memory from 1 transcript" in told.out
    assert f"not read: {missing} cannot be read: No such file or directory." in told.out
    assert command("capture", missing, "--no-meaning", "--home", home).code == 2


# --- assistants' settings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path", "text", "fault"),
    [
        ("claude-code", ".claude/settings.json", '{"a": }', "JSON: Expecting value: line 1 column 7 (char 6)"),
        ("codex", ".codex/config.toml", "x = [\n", "TOML: it is no TOML: Invalid value (at end of document)"),
        ("cursor", ".cursor/mcp.json", "\xff", "JSON: it is not UTF-8 from byte 0 on"),
    ],
)
@pytest.mark.parametrize("wired", [False, True])
def test_settings_that_are_invalid_are_named_by_all_in_the_same_words(
    command: Command, user: Path, home: Path, name: str, path: str, text: str, fault: str, wired: bool
) -> None:
    (user / path).parent.mkdir()
    (user / ".gemini").mkdir()
    command("init", "--home", home)
    if wired:
        command("hooks", "install", "--assistant", name, "--apply", "--home", home)
    (user / path).write_bytes(text.encode("latin-1"))
    install = command("hooks", "install", "--assistant", "all", "--home", home)
    status = command("hooks", "status", "--no-trial", "--home", home)
    doctor = command("doctor", "--home", home)
    said = f"{user / path} cannot be edited as {fault}"
    for told in (install, status, doctor):
        assert said in re.sub(r"\s+", " ", told.out), told.out
        assert "Correct the file, then run the command again" in re.sub(r"\s+", " ", told.out), told.out
        assert told.code == 1
    view = command("hooks", "status", "--no-trial", "--home", home, "--json").json["hosts"]
    checks = command("doctor", "--home", home, "--json").json["checks"]
    states = {one["name"].removeprefix("hooks "): one["state"] for one in checks if one["name"].startswith("hooks ")}
    assert states[name] == view[name]["state"] == "wrong"
    assert states["gemini-cli"] == view["gemini-cli"]["state"] == "advice"
    alone = command("hooks", "install", "--assistant", name, "--home", home)
    assert (alone.code, said in alone.err) == (2, True)
