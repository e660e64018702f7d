"""`mnemic remember`, `mnemic correct` and `mnemic scope`: what they print, alone and by way of the home's process."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.brief.messages import Brief
from mnemic.runtime.minds.projects import resolve_scope
from mnemic.session_start import brief_without_server
from tests.clocks import ManualClock
from tests.harness import START_US
from tests.processes.faces import Outcome, claude_turn, git_project, lines, name_scope
from tests.processes.hosted import hosted
from tests.processes.mcp_client import Client, with_client
from tests.processes.serving import ready, serving

Command = Callable[..., Outcome]
TOKEN = "The session token lasts 30 minutes for everybody."
SHORTER = TOKEN.replace("30", "15")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository to work in."""
    folder = git_project(tmp_path / "slipway")
    monkeypatch.chdir(folder)
    return folder


def hits(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.code == 0, outcome
    found = outcome.json["hits"]
    assert isinstance(found, list)
    return found


# --- remember --------------------------------------------------------------------------------------------------------


def test_a_text_is_kept_for_the_project_of_the_folder_and_found(command: Command, home: Path, project: Path) -> None:
    kept = command("remember", TOKEN, "--home", home, "--json").json
    assert kept.keys() == {
        *("id", "created", "scope", "scope_found", "superseded_by", "retired_at", "erased", "made_way", "similar"),
        "degraded",
        *("advice", "undo"),
    }
    assert (kept["created"], kept["scope"], kept["scope_found"], kept["similar"]) == (True, "slipway", "git", [])
    (hit,) = hits(command("recall", "token", "--home", home, "--json"))
    assert (hit["id"], hit["kind"], hit["role"], hit["session"]) == (kept["id"], "note", "user", "direct")
    assert f"known already: {kept['id'][-8:]} in slipway (git)" in command("remember", TOKEN, "--home", home).out
    elsewhere = command("remember", TOKEN, "--scope", "another", "--home", home).out
    assert elsewhere.startswith("remembered: ")
    assert " in another (named)" in elsewhere


def test_what_is_named_is_kept_so(command: Command, home: Path) -> None:
    named = ["--scope", "work/shelf/", "--kind", "decision", "--session", "monday"]
    kept = command("remember", TOKEN, *named, "--home", home, "--json").json
    assert (kept["scope"], kept["scope_found"]) == ("work/shelf", "named")
    (hit,) = hits(command("recall", "token", "--session", "monday", "--kind", "decision", "--home", home, "--json"))
    assert (hit["id"], hit["scope"]) == (kept["id"], "work/shelf")


def test_near_duplicates_are_named_in_lines_and_nothing_is_refused(command: Command, home: Path, project: Path) -> None:
    old = command("remember", TOKEN, "--home", home, "--json").json
    out = command("remember", SHORTER, "--home", home).out
    assert "remembered: " in out
    assert "nearly the same is kept already; `mnemic correct ID TEXT` replaces one:\n" in out
    assert f" {old['id'][-8:]} (note, slipway) {TOKEN[:40]}" in out
    assert "degraded: meaning: " in out, "this home has no model, and words alone told"
    assert len(hits(command("recall", "token", "--home", home, "--json"))) == 2


def test_standard_input_is_kept_byte_for_byte(command: Command, home: Path) -> None:
    text = "a heron\n\non the pier ☂\n"
    kept = command("remember", "-", "--scope", "x", "--home", home, "--json", given=text.encode()).json
    with mnemic.open(home) as mind:
        (hit,) = mind.recall("heron").hits
    assert (hit.text, kept["created"]) == (text, True)


@pytest.mark.parametrize(("given", "told"), [(b"\xff", "it is no UTF-8 at byte 0"), (b" \n", "nothing to keep")])
def test_standard_input_that_is_no_text_keeps_nothing(command: Command, home: Path, given: bytes, told: str) -> None:
    ended = command("remember", "-", "--scope", "x", "--home", home, given=given)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert ended.err.count("\n") == 1


def test_what_was_forgotten_says_so_and_how_it_is_found_again(command: Command, home: Path, project: Path) -> None:
    kept = command("remember", TOKEN, "--home", home, "--json").json
    command("forget", kept["id"], "--home", home)
    again = command("remember", TOKEN, "--home", home)
    assert f"`mnemic forget --undo {kept['id']} --home {home}` has it found again" in again.out


# --- correct ---------------------------------------------------------------------------------------------------------


def test_a_correction_outranks_at_once_and_recall_says_which_is_which(
    command: Command, home: Path, project: Path, tmp_path: Path
) -> None:
    with mnemic.open(home, clock=ManualClock(START_US)) as mind:
        old = str(mnemic_id(mind.remember(TOKEN, scope=mind.folder_scope(str(project))[1], kind="decision").id))
    ended = command("correct", old, SHORTER, "--home", home, "--json").json
    new = ended["id"]
    assert (ended["created"], ended["scope"], ended["supersedes"]) == (True, "slipway", [old])
    assert (ended["corrects"]["id"], ended["corrects"]["text"], ended["similar"]) == (old, TOKEN, [])

    found = hits(command("recall", "token", "--home", home, "--json"))
    assert [(hit["id"], hit["superseded_by"], hit.get("supersedes")) for hit in found] == [
        (new, None, [old]),
        (old, new, None),
    ]
    shown = command("recall", "token", "--home", home).out
    assert f"supersedes: {old[-8:]}\n" in shown
    assert f"  superseded by {new[-8:]}\n" in shown
    (then,) = hits(command("recall", "token", "--as-of", "2025-10-10", "--home", home, "--json"))
    assert (then["id"], then["text"], then["superseded_by"]) == (old, TOKEN, None)

    # At the start of a session, with the mind open and read by itself: the correction, and not the old word.
    asked = Brief(occasion="session-start", place=resolve_scope(None, str(project)), assistant="t", session="now")
    told = brief_without_server(home, "default", asked).text
    assert f'corrected: "{SHORTER}"' in told
    assert TOKEN not in told
    with mnemic.open(home) as mind:
        assert mind.brief(scope=asked.place, assistant="t", session="now").text == told

    undo = shlex.split(ended["undo"])
    assert command(*undo[1:]).code == 0
    (hit,) = hits(command("recall", "token", "--home", home, "--json"))
    assert (hit["id"], hit["superseded_by"]) == (old, None)


def mnemic_id(memory: bytes) -> str:
    from mnemic.actors.kernel.message import format_id

    return str(format_id(memory))


def test_a_correction_of_what_is_corrected_already_says_what_it_replaces_too(
    command: Command, home: Path, project: Path
) -> None:
    old = command("remember", TOKEN, "--home", home, "--json").json["id"]
    between = command("correct", old, SHORTER, "--home", home, "--json").json["id"]
    out = command("correct", old, "No token any more.", "--home", home).out
    assert f"it replaces: {old[-8:]} (note, slipway) {TOKEN[:40]}" in out
    assert f"that had been replaced by {between[-8:]}, which it replaces too\n" in out
    best = hits(command("recall", "token", "--home", home, "--json"))[0]
    assert best["text"] == "No token any more."


def test_a_correction_that_was_forgotten_is_not_said_to_hold(command: Command, home: Path, project: Path) -> None:
    old = command("remember", TOKEN, "--home", home, "--json").json["id"]
    new = command("correct", old, SHORTER, "--home", home, "--json").json["id"]
    command("forget", new, "--home", home)
    ended = command("correct", old, SHORTER, "--home", home)
    assert (ended.code, ended.out) == (2, "")
    assert f"it was forgotten. Give other words, or have it hold again: mnemic forget --undo {new} --home {home}" in (
        ended.err
    )
    assert command("show", old, "--home", home, "--json").json["memories"][0]["superseded_by"] is None


def test_what_is_remembered_everywhere_is_told_in_every_project_and_goes_to_one_and_back(
    command: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(git_project(tmp_path / "boat"))
    command("remember", "the boat leaks", "--home", home)
    told = command("remember", "--everywhere", "I", "like", "tabs", "--home", home).out
    assert re.match(r"remembered: \w{8} in everywhere \(told in every project\)\n", told)
    both = command("recall", "tabs leaks", "--home", home, "--json").json
    assert {hit["text"] for hit in both["hits"]} == {"the boat leaks", "I like tabs"}
    assert both["scope"] == "boat"
    assert command("remember", "x", "--everywhere", "--scope", "a", "--home", home).code == 2
    (mine,) = (hit["id"] for hit in both["hits"] if hit["text"] == "I like tabs")
    moved = command("scope", "assign", mine[-8:], "notes", "--home", home)
    assert moved.out.startswith("moved: everywhere -> notes (1 memory)\n")
    assert len(command("recall", "tabs leaks", "--home", home, "--json").json["hits"]) == 1
    command("scope", "undo", "--home", home)
    assert len(command("recall", "tabs leaks", "--home", home, "--json").json["hits"]) == 2


def test_what_is_in_no_scope_gets_one(command: Command, home: Path, tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", {"session": "s", "role": "user", "text": "an otter"})
    command("capture", source, "--home", home, "--no-meaning")
    listed = command("scope", "list", "--home", home).out
    assert "(no scope): 1 memory (none)" in listed
    assert "`mnemic scope assign --unscoped SCOPE` gives them one" in listed
    moved = command("scope", "assign", "--unscoped", "notes", "--home", home, "--json").json["moved"]
    assert [(one["what"], one["path"], one["to"], one["memories"]) for one in moved] == [("assigned", "", "notes", 1)]
    assert "notes: 1 memory (named)" in command("scope", "list", "--home", home).out
    for wrong in (("notes",), ("019ab3c2", "--unscoped", "notes")):
        assert command("scope", "assign", *wrong, "--home", home).code == 2


def test_no_correction_makes_a_mind(command: Command, home: Path) -> None:
    assert command("correct", "019ab3c2-0000-7000-8000-000000000000", "x", "--home", home).code == 2
    assert command("scope", "list", "--home", home).code == 2
    assert not (home / "minds").exists()


# --- scopes ----------------------------------------------------------------------------------------------------------


def test_scopes_are_listed_with_what_finds_them(command: Command, home: Path, project: Path) -> None:
    command("remember", TOKEN, "--home", home)
    command("remember", SHORTER, "--scope", "work/lamp", "--home", home)
    ended = command("scope", "list", "--home", home, "--json").json
    assert [(one["path"], one["found"], one["project"], one["memories"]) for one in ended["scopes"]] == [
        ("slipway", "git", str(project / ".git"), 1),
        ("work/lamp", "named", None, 1),
    ]
    assert ended["undo"] is None
    out = command("scope", "list", "--home", home).out
    assert "slipway: 1 memory (git), the last of 20" in out
    assert f"\n  {project / '.git'}\n" in out
    assert "Usage: mnemic scope" in command("scope").out


@pytest.mark.parametrize("served", [False, pytest.param(True, marks=pytest.mark.system)])
def test_a_project_is_renamed_moved_merged_and_all_of_it_taken_back(
    command: Command, home: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: bool
) -> None:
    def story() -> None:
        def capture(folder: Path, number: int) -> list[str]:
            source = lines(tmp_path / f"{number}.jsonl", claude_turn(f"otter {number}", folder, number))
            ended = command("capture", source, "--no-meaning", "--home", home, "--json")
            assert ended.code == 0, ended
            return list(ended.json["scopes"])

        def found(scope: str) -> set[str]:
            ended = command("recall", "otter", "--scope", scope, "--home", home, "--json")
            return {hit["text"] for hit in ended.json["hits"]} if ended.code == 0 else set()

        def change(*arguments: object) -> dict[str, Any]:
            ended = command("scope", *arguments, "--home", home, "--json")
            assert ended.code == 0, ended
            view = ended.json
            assert isinstance(view, dict)
            return view

        assert capture(project, 1) == ["slipway"]
        renamed = change("rename", "slipway", "boats/slip")
        assert [(one["what"], one["path"], one["to"]) for one in renamed["moved"]] == [
            ("renamed", "slipway", "boats/slip")
        ]
        assert capture(project, 2) == ["boats/slip"]
        assert (found("boats"), found("slipway")) == ({"otter 1", "otter 2"}, set())

        new = project.rename(tmp_path / "elsewhere")
        monkeypatch.chdir(new)
        (moved,) = change("move", "boats/slip", ".")["moved"]
        assert (moved["was"], moved["project"]) == (str(project / ".git"), str(new / ".git"))
        assert capture(new, 3) == ["boats/slip"]

        other = git_project(tmp_path / "tiller")
        assert capture(other, 4) == ["tiller"]
        merged = change("merge", "tiller", "boats/slip")
        assert capture(other, 5) == ["boats/slip"]
        assert found("boats/slip") == {f"otter {n}" for n in (1, 2, 3, 4, 5)}

        assert command(*shlex.split(merged["undo"])[1:]).code == 0
        assert found("tiller") == {"otter 4"}
        assert capture(other, 6) == ["tiller"]
        assert change("undo")["moved"][0]["what"] == "moved"
        new.rename(project)
        assert capture(project, 7) == ["boats/slip"]
        assert change("undo")["undo"] is None
        assert found("slipway") == {f"otter {n}" for n in (1, 2, 3, 5, 7)}
        assert change("undo") == {"moved": [], "undo": None}

    if not served:
        story()
        return
    with serving(home):
        ready(home)
        story()


@pytest.fixture
def keep(command: Command, home: Path, tmp_path: Path) -> Callable[[str, str], Outcome]:
    """Capture one turn in the repository of a name, which is made where it is not there."""

    def capture(name: str, text: str) -> Outcome:
        folder = tmp_path / name if (tmp_path / name).exists() else git_project(tmp_path / name)
        source = lines(tmp_path / f"{name}.jsonl", claude_turn(text, folder))
        return command("capture", source, "--no-meaning", "--home", home)

    return capture


def told_in(home: Path, folder: Path) -> str:
    """What a session in a folder is told at its start."""
    with mnemic.open(home) as mind:
        return mind.brief(scope=resolve_scope(None, str(folder))).text


def test_a_clone_is_told_nothing_of_what_is_renamed_below_its_folders_name(
    command: Command, home: Path, tmp_path: Path, keep: Callable[[str, str], Outcome]
) -> None:
    keep("boats", "a clone has a name")
    keep("slipway", "the secret is lemon")
    assert command("scope", "rename", "slipway", "boats/slip", "--home", home).out.splitlines()[:2] == [
        "renamed: boats -> boats~2 (1 memory)",
        "renamed: slipway -> boats/slip (1 memory)",
    ]
    assert "lemon" not in told_in(home, tmp_path / "boats")
    assert "lemon" in told_in(home, tmp_path / "slipway")
    command("scope", "undo", "--home", home)
    assert command("recall", "clone", "--scope", "boats", "--home", home).code == 0


def test_a_project_that_makes_way_is_told_with_the_capture_and_no_undo_reaches_behind_that(
    command: Command, home: Path, tmp_path: Path, keep: Callable[[str, str], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep("proj", "the project was first")
    command("scope", "rename", "proj", "work", "--home", home)
    name_scope(home, git_project(tmp_path / "named"), "work")
    assert keep("named", "the owner named it").out.splitlines()[2:4] == [
        "work is work~2 from now on: a .mnemic.toml names that path, or one below it",
        f"  if both are one project: mnemic scope merge 'work~2' work --home {home}",
    ]
    monkeypatch.chdir(git_project(tmp_path / "more"))
    command("remember", "a second project", "--home", home)
    monkeypatch.chdir(name_scope(home, tmp_path / "more" / "deep", "more/deep"))
    assert "more is more~2 from now on: the .mnemic.toml here names" in command("remember", "x", "--home", home).out
    listed = command("scope", "list", "--home", home, "--json").json["scopes"]
    refused = command("scope", "undo", "--home", home)
    assert refused.code == 2
    assert "what was called so made way since, and is 'work~2'" in refused.err
    assert command("scope", "list", "--home", home, "--json").json["scopes"] == listed


def test_an_import_opens_no_folder_and_says_which_project_makes_way(
    command: Command, home: Path, tmp_path: Path, keep: Callable[[str, str], Outcome]
) -> None:
    other = tmp_path / "other"
    with mnemic.open(other) as mind:
        mind.remember("the secret is lemon", scope="boats/slip")
    command("export", tmp_path / "export", "--home", other)
    keep("boats", "a clone has a name")
    done = command("import", tmp_path / "export", "--no-meaning", "--home", home)
    assert "boats is boats~2 from now on: what was imported is named so, or lies below it\n" in done.out
    assert "lemon" not in told_in(home, tmp_path / "boats")
    again = command("import", tmp_path / "export", "--no-meaning", "--home", home, "--json").json
    assert (again["new"], again["made_way"]) == (0, {})


def test_after_a_merge_a_folder_that_is_gone_is_let_go_by_the_command_that_is_printed(
    command: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "shelf", tmp_path / "bookshelf"
    for folder, text in ((old, TOKEN), (new, SHORTER)):
        git_project(folder) if folder is old else old.rename(new)
        monkeypatch.chdir(folder)
        command("remember", text, "--home", home)
    monkeypatch.chdir(tmp_path)
    refused = command("scope", "move", "shelf", "bookshelf", "--home", home).err
    assert "'bookshelf': it is the project of 'bookshelf'" in refused
    (merge,) = (part for part in refused.split("`") if part.startswith("mnemic "))
    merged = command(*shlex.split(merge)[1:]).out.splitlines()
    assert merged[1] == (f"{old} stays a folder of 'shelf', and nothing is there; if {new} is the same project, moved:")
    moved = command(*shlex.split(merged[2])[1:]).out.splitlines()
    assert moved == [
        f"moved: shelf: {old / '.git'} -> {new / '.git'}",
        f"to take it back: mnemic scope undo --home {home}",
    ]
    assert command("scope", "move", "shelf", new, "--home", home).out == "it is so already\n"


# --- by MCP ----------------------------------------------------------------------------------------------------------


def test_an_assistant_is_told_what_is_similar_and_its_correction_names_no_old_word(home: Path, project: Path) -> None:
    async def use(client: Client) -> None:
        old = await client.good("memory_capture", text=TOKEN)
        assert old["similar"] == []
        again = await client.good("memory_capture", text=SHORTER)
        (similar,) = again["similar"]
        assert (similar["id"], similar["text"], similar["superseded_by"]) == (old["id"], TOKEN, None)
        assert similar["score"] == similar["why"]["words"] >= 0.6
        new = await client.good("memory_capture", text="No token at all for anybody.", supersedes=old["id"])
        found = await client.good("memory_recall", query="token for everybody")
        order = [hit["id"] for hit in found["hits"]]
        assert order.index(new["id"]) < order.index(old["id"])
        by_id = {hit["id"]: hit for hit in found["hits"]}
        assert by_id[new["id"]]["supersedes"] == [old["id"]]
        assert by_id[old["id"]]["superseded_by"] == new["id"]
        third = await client.good("memory_capture", text=TOKEN, session="another")
        named = {one["id"]: one["superseded_by"] for one in third["similar"]}
        assert named[old["id"]] == new["id"]

    with hosted(home) as faces:
        with_client(faces, project, use)


def test_a_text_may_hold_what_no_terminal_should_be_told(command: Command, home: Path, project: Path) -> None:
    old = command("remember", f"\x1b[2J{TOKEN}", "--home", home, "--json").json["id"]
    for ended in (
        command("remember", f"\x1b[2J{SHORTER}", "--home", home),
        command("correct", old, f"\x1b[2J{SHORTER}", "--home", home),
    ):
        assert "\\x1b[2J" in ended.out
        assert "\x1b" not in ended.out
