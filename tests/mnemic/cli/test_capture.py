"""`mnemic capture` takes transcripts and notes, names what it does not know, and keeps nothing of foreign JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes.faces import Outcome, lines, turn

Command = Callable[..., Outcome]


def texts(command: Command, home: Path) -> list[str]:
    """What is kept, oldest first; nothing, where no mind was made."""
    if not (home / "minds").exists():
        return []
    listed = command("log", "-n", 1000, "--home", home, "--json")
    return [json.loads(line)["text"] for line in reversed(listed.out.splitlines())]


# --- Markdown --------------------------------------------------------------------------------------------------------


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder of two notes."""
    folder = tmp_path / "notes"
    (folder / "club").mkdir(parents=True)
    front = "---\ntitle: Boats\ndate: 2026-05-01\ntags: [club]\n---\n"
    (folder / "club" / "boats.md").write_text(
        f"{front}Kept by Ines.\n\n## Repairs\n\nThe heron leaks.\n\n## Pier\n\nIt costs 40 a month.\n"
    )
    (folder / "2026-04-02.md").write_text("# Log\n\nRain all day.\n")
    return folder


def test_a_folder_of_notes_is_taken_section_by_section(command: Command, home: Path, notes: Path) -> None:
    captured = command("capture", notes, "--no-meaning", "--home", home)
    assert captured.code == 0
    assert captured.out.startswith("4 new memories from 2 Markdown files, in ")
    assert "scopes: notes\n" in captured.out
    again = command("capture", notes, "--no-meaning", "--home", home, "--json").json
    assert (again["new"], again["known"], again["documents"]) == (0, 4, 2)
    hits = command("recall", "boats repairs", "--scope", "*", "--home", home, "--json").json["hits"]
    assert (hits[0]["text"], hits[0]["said_at"]) == ("Boats > Repairs\n\nThe heron leaks.", "2026-05-01T00:00:00Z")
    since = command("recall", "rain", "--until", "2026-04-30", "--scope", "*", "--home", home, "--json").json["hits"]
    assert [one["text"] for one in since] == ["Log\n\nRain all day."]


def test_an_edited_section_stands_for_what_it_was(command: Command, home: Path, notes: Path) -> None:
    command("capture", notes, "--no-meaning", "--home", home)
    file = notes / "club" / "boats.md"
    file.write_text(file.read_text().replace("40 a month", "45 a month"))
    edited = command("capture", notes, "--no-meaning", "--home", home, "--json").json
    assert (edited["new"], edited["known"]) == (1, 3)
    hits = command("recall", "pier costs", "--scope", "*", "--home", home, "--json").json["hits"][:2]
    assert [one["text"].split()[-3] for one in hits] == ["45", "40"]
    assert hits[1]["superseded_by"] == hits[0]["id"]


def test_notes_beside_transcripts_are_left_and_named_unless_they_are_asked_for(
    command: Command, home: Path, notes: Path
) -> None:
    lines(notes / "a.jsonl", turn("an otter"))
    captured = command("capture", notes, "--no-meaning", "--home", home)
    assert (captured.code, texts(command, home)) == (0, ["an otter"])
    assert "2 Markdown files lie beside transcripts" in captured.out
    asked = command("capture", notes, "--format", "markdown", "--no-meaning", "--home", home)
    assert asked.out.startswith("4 new memories from 2 Markdown files")


def test_a_note_comes_through_a_pipe_too(command: Command, home: Path) -> None:
    given = b"intro\n\n# A\n\nwords\n"
    assert command("capture", "-", "--format", "markdown", "--no-meaning", "--home", home, given=given).code == 0
    assert texts(command, home) == ["intro", "A\n\nwords"]


def test_front_matter_that_cannot_be_read_is_said_and_the_notes_are_kept(
    command: Command, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "a.md"
    file.write_text("---\ndate: soon\n---\nwords\n")
    captured = command("capture", file, "--no-meaning", "--home", home)
    assert captured.code == 1
    assert f"  {file}:1: its front matter: its date is no ISO 8601 time\n" in captured.out
    assert texts(command, home) == ["a\ndate: soon\n\nwords"]


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_fields_that_mean_nothing_are_named_once_with_how_many_lines_have_them(
    command: Command, home: Path, tmp_path: Path
) -> None:
    told = [{"role": "user", "content": f"otter {number}", "time": number, "mood": "glad"} for number in range(3)]
    source = lines(tmp_path / "a.jsonl", *told, told[0] | {"content": "heron", "\x1bx": 1})
    captured = command("capture", source, "--no-meaning", "--home", home)
    assert captured.code == 0
    assert captured.out.count("mood") == 1
    assert "passed over: \\x1bx (1 line), mood (4 lines)\n" in captured.out
    view = command("capture", source, "--no-meaning", "--home", home, "--json").json
    assert (view["known"], view["unknown_fields"]) == (4, {"mood": 4, "\x1bx": 1})
    assert texts(command, home) == ["otter 0", "otter 1", "otter 2", "heron"]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a", "-"])
@pytest.mark.parametrize(
    "data", [b'[{"role": "user", "content": "x"}]', b'{\n "messages": ["x"]\n}\n', b'{"of": "nobody"}\n']
)
def test_json_of_which_nothing_is_known_is_refused_and_nothing_is_kept(
    command: Command, home: Path, tmp_path: Path, name: str, data: bytes
) -> None:
    if name == "-":
        refused = command("capture", name, "--no-meaning", "--home", home, given=data)
    else:
        (tmp_path / name).write_bytes(data)
        refused = command("capture", tmp_path / name, "--no-meaning", "--home", home)
    assert (refused.code, refused.out) == (2, "")
    assert "is no transcript of a known format: " in refused.err
    assert refused.err.count("\n") == 1
    assert texts(command, home) == []
