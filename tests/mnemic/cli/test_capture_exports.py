"""`mnemic capture` takes other programs' exports; with `--preview` it tells what it would take, and keeps nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hooks.imports.exports import (
    claude_otter,
    gpt_conversation,
    gpt_message,
    gpt_pier,
    unzipped,
    zipped,
)
from tests.paths import FIXTURES
from tests.processes.faces import Outcome, lines, turn

Command = Callable[..., Outcome]


def texts(command: Command, home: Path) -> list[str]:
    """What is kept, oldest first; nothing, where no mind was made."""
    if not (home / "minds").exists():
        return []
    listed = command("log", "-n", 1000, "--home", home, "--json")
    return [json.loads(line)["text"] for line in reversed(listed.out.splitlines())]


@pytest.mark.parametrize(
    ("conversation", "format", "asked", "answer"),
    [
        (gpt_pier(), "chatgpt", "what does a berth cost", "A berth at the heron pier costs 40 a month."),
        (claude_otter(), "claude-export", "nine kilograms", "A grown otter weighs about nine kilograms."),
    ],
)
def test_an_export_is_previewed_taken_found_and_taken_once(
    command: Command, home: Path, tmp_path: Path, conversation: dict[str, object], format: str, asked: str, answer: str
) -> None:
    path = zipped(tmp_path / "export.zip", {"conversations.json": [conversation]})
    preview = command("capture", "--preview", path, "--home", tmp_path / "no home", "--json")
    (told,) = preview.json["sources"]
    assert (preview.code, told["format"], told["conversations"], told["memories"]) == (0, format, 1, 3)
    assert not (tmp_path / "no home").exists()
    captured = command("capture", path, "--no-meaning", "--home", home, "--json")
    assert (captured.code, captured.json["new"], captured.json["known"]) == (0, 3, 0)
    hits = command("recall", asked, "--home", home, "--scope", "*", "--json").json["hits"]
    assert hits[0]["text"] == answer
    assert hits[0]["said_at"].startswith(told["last"][:10])
    titles = command("recall", "weights fees", "--kind", "summary", "--home", home, "--scope", "*", "--json").json[
        "hits"
    ]
    assert [one["text"] for one in titles] == [conversation.get("title") or conversation["name"]]
    again = command("capture", path, "--no-meaning", "--home", home, "--json").json
    assert (again["new"], again["known"]) == (0, 3)


def test_a_later_export_adds_only_what_is_new_in_whatever_shape_it_comes(
    command: Command, home: Path, tmp_path: Path
) -> None:
    first = gpt_pier()
    command("capture", zipped(tmp_path / "a.zip", {"conversations.json": [first]}), "--no-meaning", "--home", home)
    grown = gpt_conversation(
        *(node["message"] for node in first["mapping"].values() if node["message"]),
        gpt_message("m3", "user", "And in winter?"),
        gpt_message("m4", "assistant", "In winter it costs 20."),
        current_node="m2",
    )
    other = gpt_conversation(gpt_message("n1", "user", "What is a heron?"), own_id="other", title="Herons")
    folder = unzipped(tmp_path / "b", {"conversations-000.json": [other], "conversations-001.json": [grown]})
    captured = command("capture", folder, "--no-meaning", "--home", home, "--json").json
    assert (captured["new"], captured["known"]) == (4, 3)
    assert texts(command, home)[-4:] == ["Herons", "What is a heron?", "And in winter?", "In winter it costs 20."]


def test_an_export_that_ends_in_the_middle_is_kept_so_far_and_the_whole_one_adds_the_rest(
    command: Command, home: Path, tmp_path: Path
) -> None:
    other = gpt_conversation(gpt_message("n1", "user", "What is a heron?"), own_id="other", title="")
    whole = json.dumps([gpt_pier(), other])
    path = tmp_path / "conversations.json"
    path.write_text(whole[:-20])
    cut = command("capture", path, "--no-meaning", "--home", home)
    assert cut.code == 1
    assert cut.out.startswith("3 new memories from 1 export")
    assert f"  {path}:2: the file ends in the middle of it\n" in cut.out
    path.write_text(whole)
    captured = command("capture", path, "--no-meaning", "--home", home, "--json")
    assert (captured.code, captured.json["new"], captured.json["known"]) == (0, 1, 3)


@pytest.mark.parametrize("preview", [(), ("--preview",)])
def test_what_cannot_be_read_is_one_sentence_and_leaves_nothing(
    command: Command, home: Path, tmp_path: Path, preview: tuple[str, ...]
) -> None:
    path = zipped(tmp_path / "a.zip", {"notes/a.txt": "words"})
    refused = command("capture", path, "--no-meaning", "--home", home, *preview)
    assert (refused.code, refused.out) == (2, "")
    (sentence,) = [line for line in refused.err.splitlines() if "a.zip" in line]
    assert "it is a zip file that holds no export known here" in sentence
    assert preview or texts(command, home) == []


# --- preview ---------------------------------------------------------------------------------------------------------


def test_a_preview_tells_a_person_what_each_source_is(command: Command, home: Path, tmp_path: Path) -> None:
    export = zipped(tmp_path / "a.zip", {"conversations.json": [gpt_pier(), 7]})
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("---\ndate: 2026-05-01\n---\n# Boats\n\nwords\n")
    chat = lines(tmp_path / "b.jsonl", turn("an otter"))
    told = command("capture", "--preview", export, tmp_path / "notes", chat, tmp_path / "gone", "--home", home)
    assert told.code == 1
    shown = told.out.splitlines()
    assert shown[:7] == [
        f"{export}: chatgpt, 3 memories of 1 conversation, 93 bytes of text",
        "  from 2025-10-09 to 2025-10-09",
        "  1 line cannot be read:",
        f"    {export}:2: not a JSON object",
        f"{tmp_path / 'notes'}: markdown, 1 memory of 1 file, 12 bytes of text",
        "  from 2026-05-01 to 2026-05-01",
        f"{chat}: jsonl, 1 memory of 1 conversation, 8 bytes of text",
    ]
    assert shown[-2] == f"not read: {tmp_path / 'gone'} cannot be read: No such file or directory."
    assert shown[-1].startswith("nothing was kept; the same command without --preview takes it in (read in ")
    assert [one.name for one in home.iterdir()] == ["mnemic.toml"]


def test_a_preview_reads_a_pipe(command: Command, home: Path) -> None:
    given = json.dumps(turn("an otter")).encode() + b"\n"
    told = command("capture", "-", "--preview", "--home", home, "--json", given=given).json
    assert [(one["source"], one["format"], one["memories"]) for one in told["sources"]] == [("-", "jsonl", 1)]


def test_a_preview_of_an_empty_folder_says_that_nothing_is_there(command: Command, home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    told = command("capture", "--preview", tmp_path / "empty", "--home", home)
    assert told.code == 0
    assert told.out.startswith("nothing is there: ")


def test_a_preview_names_the_folders_in_which_nothing_is(command: Command, home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    chat = lines(tmp_path / "b.jsonl", turn("an otter"))
    told = command("capture", "--preview", tmp_path / "empty", chat, "--home", home)
    assert f"nothing is there: {tmp_path / 'empty'}" in told.out.splitlines()
    assert command("capture", "--preview", tmp_path / "empty", "--home", home, "--json").json["empty"] == [
        str(tmp_path / "empty")
    ]


def test_a_folder_in_which_only_exports_lie_names_them(command: Command, home: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    export = zipped(tmp_path / "a" / "chatgpt.zip", {"conversations.json": [gpt_pier()]})
    for words in (["--no-meaning"], ["--preview"]):
        told = command("capture", tmp_path / "a", *words, "--home", home)
        assert (told.code, f"name this one by itself, it is of chatgpt: {export}" in told.out.splitlines()) == (0, True)
    asked = command("capture", tmp_path / "a", "--no-meaning", "--home", home, "--json")
    assert asked.json["exports_here"] == [[str(export), "chatgpt"]]


@pytest.mark.parametrize("words", [["--git"], ["--format", "mempalace"]])
def test_what_cannot_be_read_leaves_no_mind_behind(
    command: Command, home: Path, tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "x.db").write_bytes(b"none of them")
    refused = command("capture", *words, tmp_path / "none" / "x.db", "--home", home)
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert not (home / "minds").exists()


def test_a_zip_with_two_exports_is_refused(command: Command, home: Path, tmp_path: Path) -> None:
    years = {f"{year}/conversations.json": [gpt_pier()] for year in (2024, 2025)}
    refused = command("capture", zipped(tmp_path / "a.zip", years), "--home", home)
    assert refused.code == 2
    assert "the exports of 2 folders are in it; unzip it, and name each of them" in refused.err


def test_one_note_whose_name_is_no_text_is_kept_with_all_others(command: Command, home: Path, tmp_path: Path) -> None:
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    (tmp_path / "vault" / "boats.md").write_text("# Boats\n\nThe Kittiwake takes in water.\n")
    with open(os.fsencode(tmp_path / "vault") + b"/no\xffte.md", "w") as file:
        file.write("# Pier\n\nThe otter sleeps by the pier.\n")
    captured = command("capture", tmp_path / "vault", "--no-meaning", "--home", home, "--json")
    assert (captured.code, captured.json["new"]) == (0, 2)


SAID = (
    *(turn("yes", session="a"), turn("yes", session="a"), turn("an otter", session="a")),
    {"role": "tool", "session": "a", "text": "", "kind": "tool_call", "tool": "Bash"},
    *(turn("a pier", session="b", id="1"), turn("a pier, longer", session="b", id="1"), turn("\x00", session="b")),
)


@pytest.mark.parametrize("named", ["once", "twice", "by a link", "below itself", "with a copy", "hosts", "notes"])
def test_a_preview_counts_what_the_capture_keeps(command: Command, home: Path, tmp_path: Path, named: str) -> None:
    folder = tmp_path / "said"
    folder.mkdir()
    lines(folder / "a.jsonl", *SAID)
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "boats.md").write_text("# Heron\n\nIt leaks.\n\n# Heron\n\nIt leaks.\n")
    if named == "with a copy":
        lines(folder / "b.jsonl", *SAID[:3], turn("yes", session="a"))
    given = {
        "twice": [folder, folder],
        "by a link": [folder, tmp_path / "link"],
        "below itself": [folder, folder / "a.jsonl"],
        "hosts": [FIXTURES / "transcripts", FIXTURES / "transcripts" / "codex"],
        "notes": [tmp_path / "notes", tmp_path / "notes" / "boats.md"],
    }.get(named, [folder])
    told = command("capture", "--preview", *given, "--home", home, "--json").json["sources"]
    kept = command("capture", *given, "--no-meaning", "--home", home, "--json").json
    counted = (sum(one["memories"] for one in told), sum(one["repeated"] for one in told))
    assert counted == (kept["new"], kept["known"])
    assert kept["new"] > 1
    assert kept["known"] > 0
