"""The command line, called in this process: what it takes, what it prints, how it ends."""

from __future__ import annotations

import json
import math
import re
import shlex
import stat
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest

import mnemic
from mnemic.actors.kernel.events import DEFAULT_KINDS
from mnemic.algorithms.retrieval.scan import NATIVE, backend
from mnemic.cli.context import cli
from mnemic.hooks.read.formats import FORMATS
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.models.models import DEFAULT_SHA256
from tests.paths import ROOT
from tests.processes.faces import EXAMPLE, Outcome, claude_turn, git_project, lines, turn

Command = Callable[..., Outcome]
DOCS = ROOT / "docs" / "cli.md"
WHERE_KNOWN = {"newest", "replaced"}
HIT = {
    "id",
    "source_id",
    "text",
    "kind",
    "role",
    "speaker",
    "assistant",
    "session",
    "scope",
    "said_at",
    "score",
    "superseded_by",
}
ANSWER = {"hits", "scope", "scope_found", "searched", "used_tokens", "left_out", "nothing_fits", "degraded", "took_ms"}


def texts(outcome: Outcome) -> list[str]:
    """The texts of the hits, best first."""
    assert outcome.code == 0, outcome
    return [hit["text"] for hit in outcome.json["hits"]]


# --- what is offered -------------------------------------------------------------------------------------------------


def test_the_version_is_the_packages(command: Command) -> None:
    assert command("--version").out == f"mnemic, version {mnemic.__version__}\n"


@pytest.mark.parametrize("name", sorted(cli.load_all()))
def test_every_command_has_help_and_the_common_options(command: Command, name: str) -> None:
    shown = command(name, "--help").out
    assert cli.load_all()[name].help
    common = {"--home", "--mind", "--json"}
    has = {"demo": {"--json"}, "help": set(), "completions": set()}.get(name, common)
    assert common & set(re.findall(r"--[a-z-]+", shown)) == has


def test_no_commands_summary_is_cut_in_a_terminal_of_80_columns(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for group in ([], ["scope"], ["hooks"], ["service"], ["experiment"]):
        listed = command(*group, "--help").out.partition("\nCommands:\n" if group else "\nStart:\n")[2]
        assert listed
        assert "..." not in listed


@pytest.mark.parametrize("name", sorted(cli.load_all()))
def test_every_command_and_each_of_its_options_is_documented(name: str) -> None:
    page = DOCS.read_text("utf-8")
    section = page.partition(f"\n## `mnemic {name}")[2].partition("\n## ")[0]
    assert section, f"docs/cli.md has no section on {name}"
    common = page.partition("\n## For every command")[2].partition("\n## ")[0]
    for parameter in cli.load_all()[name].params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            first = parameter.opts[0]
            assert f"`{first}" in section or f"`{first}" in common, f"{name} {first} is not in docs/cli.md"


def test_what_is_heavy_is_loaded_by_the_command_that_needs_it() -> None:
    heavy = {"numpy", "apsw", "mcp", "cryptography", "tokenizers"}
    code = f"import sys, mnemic.cli.main; print({heavy!r} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # NumPy above all: the command says how many threads it may use before it is loaded; later it takes them all, and
    # embedding the example took 50 s on two busy cores instead of 6.
    assert loaded.stdout == "set()\n"


@pytest.mark.system
def test_a_recall_loads_and_starts_nothing_that_it_is_not_answered_by(home: Path) -> None:
    with mnemic.open(home) as mind:
        mind.remember("the pier is 40 m")
    code = (
        "import sys; from mnemic.cli.main import main;"
        f" main(['recall', 'pier', '--home', {str(home)!r}]); print(*sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "the pier is 40 m" in told
    loaded = set(told.splitlines()[-1].split())
    actors = {"shape.binder", "shape.shape_recall", "knowledge.knowledge", "communities.communities"}
    others = {"mnemic.hooks.read.formats", "mnemic.cli.capture", "mnemic.actors.sleep.consolidator"}
    assert not ({f"mnemic.actors.{one}" for one in actors} | others) & loaded


def test_help_names_every_format(command: Command) -> None:
    shown = " ".join(command("capture", "--help").out.split())
    assert all(re.search(rf"\b{name}\b", shown) for name in FORMATS)


# --- init ------------------------------------------------------------------------------------------------------------


def test_init_makes_a_mind_that_only_its_user_can_read(command: Command, tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    made = command("init", "--home", home, "--json")
    assert made.code == 0
    assert made.json | {"recovery": "…"} == {
        "mind": "default",
        "folder": str(home / "minds" / "default"),
        "key": str(home / "minds" / "default" / "key"),
        "recovery": "…",
        "options": f" --home {home}",
    }
    for path in (home, *home.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_init_leaves_a_mind_that_is_there_alone(command: Command, home: Path) -> None:
    assert "keep a copy elsewhere" in command("init", "--home", home).out
    key = (home / "minds" / "default" / "key").read_bytes()
    again = command("init", "--home", home)
    assert again.code == 3
    assert "exists already" in again.err
    assert (home / "minds" / "default" / "key").read_bytes() == key


def test_two_minds_of_a_home_know_nothing_of_each_other(command: Command, home: Path, tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", turn("a heron on the pier"))
    for mind in ("birds", "boats"):
        command("init", "--home", home, "--mind", mind)
    command("capture", source, "--home", home, "--mind", "birds")
    assert texts(command("recall", "heron", "--home", home, "--mind", "birds", "--json")) == ["a heron on the pier"]
    assert texts(command("recall", "heron", "--home", home, "--mind", "boats", "--json")) == []


def test_the_home_is_the_option_else_the_environments(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MNEMIC_HOME", "~/from environment")  # as an assistant's settings give it: no shell was there
    assert command("init", "--json").json["folder"] == str(tmp_path / "from environment" / "minds" / "default")
    assert command("init", "--json", "--home", "~/o").json["folder"] == str(tmp_path / "o" / "minds" / "default")


@pytest.mark.parametrize("named", [".", ".m", "a/home"])
def test_a_relative_home_is_taken_from_the_command_line_and_not_from_the_environment(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMIC_HOME", named)
    refused = command("status")
    assert (refused.code, refused.out) == (2, "")
    assert f"MNEMIC_HOME cannot be {named!r}: it is no absolute path" in refused.err
    assert "--home takes a relative one" in refused.err
    assert not any(tmp_path.iterdir())
    made = command("init", "--home", named, "--json").json["folder"]
    assert Path(made) == tmp_path / named / "minds" / "default"


# --- capture ---------------------------------------------------------------------------------------------------------


def test_a_folder_of_transcripts_is_taken_in_whole(captured_example: tuple[Path, Outcome]) -> None:
    report = captured_example[1].json
    assert captured_example[1].code == 1, "one line is torn"
    assert (report["new"], report["known"], report["files"]) == (270, 0, 12)
    assert (report["embedded"], report["pending"], report["meaning_error"]) == (270, 0, None)
    assert report["scopes"] == ["", "slipway"]
    assert report["failed"] == []
    ((path, line, why),) = report["malformed_lines"]
    assert (Path(path).parent.name, line, report["malformed"]) == ("claude", 18, 1)
    assert why.startswith("not JSON")


def test_a_second_capture_stores_nothing_new(command: Command, example_home: Path) -> None:
    before = command("status", "--home", example_home, "--json").json["counts"]
    again = command("capture", EXAMPLE, "--home", example_home)
    assert again.code == 1, "one line is torn"
    assert "0 new memories from 12 transcripts, 270 known already" in again.out
    assert "the whole mind: 270 found by words, 270 by meaning too" in again.out
    assert re.search(r"1 line could not be read:\n  \S+\.jsonl:18: not JSON", again.out)
    after = command("status", "--home", example_home, "--json").json["counts"]
    assert after == before


def test_one_transcript_that_cannot_be_read_does_not_keep_the_rest_out(
    command: Command, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    lines(folder / "a.jsonl", turn("the first is fine"))
    (folder / "b.jsonl").write_text('{"of": "nobody"}\n')
    lines(folder / "c.jsonl", turn("the third is fine"))
    captured = command("capture", folder, "--home", home)
    assert captured.code == 1
    assert "2 new memories from 2 transcripts" in captured.out
    assert f"not read: {folder / 'b.jsonl'} " in captured.out
    assert captured.out.count("b.jsonl") == 1
    assert "b.jsonl" not in captured.err


def test_words_alone_are_kept_where_meaning_is_to_wait(command: Command, tmp_path: Path) -> None:
    home, source = tmp_path, lines(tmp_path / "a.jsonl", turn("an otter asleep"), turn("a heron awake"))
    captured = command("capture", source, "--home", home, "--no-meaning", "--json").json
    assert (captured["new"], captured["embedded"], captured["pending"]) == (2, 0, 2)
    said = command("capture", source, "--home", home, "--no-meaning").out
    assert "the whole mind: 2 found by words, 0 by meaning too\n2 memories wait for the meaning" in said
    asked = command("recall", "otter", "--home", home, "--json").json
    assert asked["hits"][0]["text"] == "an otter asleep"
    assert asked["degraded"] == ["meaning: 2 of the memories looked through are found by their words only so far"]
    later = command("capture", source, "--home", home, "--json").json
    assert (later["new"], later["known"], later["embedded"], later["pending"]) == (0, 2, 2, 0)


def test_without_a_model_words_are_kept_and_found_and_it_says_so(command: Command, home: Path, tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", turn("an otter asleep"))
    captured = command("capture", source, "--home", home)
    assert captured.code == 0
    assert "1 new memory from 1 transcript" in captured.out
    assert "no meaning: The embedding model is not at" in captured.out
    asked = command("recall", "otter", "--home", home)
    assert "an otter asleep" in asked.out
    assert "degraded: meaning: The embedding model is not at" in asked.out
    assert "degraded: meaning: The embedding model is not at" in command("status", "--home", home).out
    doctored = command("doctor", "--home", home)
    assert doctored.code == 1
    assert re.search(r"wrong  model: The embedding model is not at .* -> Name the folder of", doctored.out)


def test_the_scope_given_stands_above_the_folders(command: Command, home: Path, tmp_path: Path) -> None:
    project = git_project(tmp_path / "shelf")
    source = lines(tmp_path / "a.jsonl", claude_turn("nine books", project))
    assert command("capture", source, "--home", home, "--json", "--scope", "work/books").json["scopes"] == [
        "work/books"
    ]
    assert texts(command("recall", "books", "--home", home, "--scope", "work", "--json")) == ["nine books"]


def test_a_scope_that_is_none_is_said_once_and_no_mind_is_made_for_it(command: Command, home: Path) -> None:
    refused = command("capture", EXAMPLE, "--home", home, "--scope", "../x")
    assert (refused.code, refused.out, refused.err.count("it is no path")) == (2, "", 1)
    assert not (home / "minds").exists()


def test_an_empty_folder_is_said_to_be_empty(command: Command, home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    captured = command("capture", tmp_path / "empty", "--home", home)
    assert captured.code == 0
    assert "nothing is there: in a folder, transcripts are taken (*.jsonl," in captured.out


def test_a_text_file_is_notes(command: Command, home: Path, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("Bring rope.\n\nFeed the otter.\n", "utf-8")
    assert command("capture", note, "--home", home, "--json").json["new"] == 2
    assert texts(command("recall", "rope", "--home", home, "--json"))[0] == "Bring rope.\n\n"


# --- recall ----------------------------------------------------------------------------------------------------------


def test_json_has_the_promised_names_and_no_others(command: Command, example_home: Path) -> None:
    answer = command("recall", "session token", "--home", example_home, "--json").json
    assert set(answer) == ANSWER
    assert len(answer["hits"]) == 10
    assert all(set(hit) - WHERE_KNOWN == HIT for hit in answer["hits"])
    explained = command("recall", "session token", "--home", example_home, "--json", "--explain").json
    for hit in explained["hits"]:
        assert set(hit) - WHERE_KNOWN == HIT | {"why"}
        assert set(hit["why"]) <= {"base", "dense", "lexical", "session", "answer", "validity", "prior"}
        assert hit["score"] == pytest.approx(1 / (1 + math.exp(-sum(hit["why"].values()))), abs=1e-3)


def test_a_person_reads_who_said_what_when_and_why(command: Command, example_home: Path) -> None:
    shown = command("recall", "Who struggles with poor eyesight?", "-k", 1, "--home", example_home, "--explain").out
    head, hit, text, why = shown.splitlines()
    assert re.fullmatch(r"1 memory of 188 in everything, \d+ ms", head)
    assert re.fullmatch(r" 1  \d\.\d\d  Bea  2026-10-11 15:22  no scope  [0-9a-f]{8}", hit)
    assert text.startswith("    The letters are far too small, I can't read them without my glasses.")
    assert text.endswith("make them bigger.")
    assert re.fullmatch(r"    why: base -5\.30, dense -?\d+\.\d\d, .*", why)


def test_where_nothing_is_likely_to_answer_that_is_said_first(command: Command, example_home: Path) -> None:
    shown = command("recall", "Who won the world cup of 1998?", "-k", 1, "--home", example_home).out
    assert shown.startswith("nothing fits well; the nearest:\n1 memory of 188 in ")
    assert command("recall", "Who won the world cup of 1998?", "--home", example_home, "--json").json["nothing_fits"]


def test_every_option_of_recall_narrows_what_is_found(command: Command, example_home: Path) -> None:
    (example_home / "mnemic.toml").write_text('[embedder]\nmodel = "/no model"\n', "utf-8")  # it takes time to load

    def hits(*options: object) -> list[dict[str, Any]]:
        answer = command("recall", "session token tablet", "--home", example_home, "--json", *options)
        assert answer.code == 0, answer
        found: list[dict[str, Any]] = answer.json["hits"]
        return found

    def ids_of(found: list[dict[str, Any]]) -> set[str]:
        """Of the hits, and of what says the same as one."""
        return {one["id"] for hit in found for one in (hit, *hit.get("same", []))}

    everything = hits("-k", 300)
    assert {hit["kind"] for hit in everything} <= set(DEFAULT_KINDS)
    assert [hit["id"] for hit in hits("-k", 2)] == [hit["id"] for hit in everything[:2]]
    assert {hit["scope"] for hit in hits("--scope", "slipway")} == {"slipway"}
    assert {hit["scope"] for hit in hits("--scope", "")} == {""}
    assert hits("--scope", "*", "-k", 300) == everything
    assert {hit["session"] for hit in hits("--session", "call-2026-10-11")} == {"call-2026-10-11"}
    assert {hit["kind"] for hit in hits("--kind", "tool_result", "--kind", "summary")} <= {"tool_result", "summary"}
    dated = [hit for hit in everything if hit["said_at"]]
    before = hits("--until", "2026-10-01", "-k", 300)
    after = hits("--since", "2026-10-01", "-k", 300)
    assert max(hit["said_at"] for hit in before if hit["said_at"]) < "2026-10-01" <= min(h["said_at"] for h in after)
    assert ids_of([hit for hit in before if hit["said_at"]]) | ids_of(after) == ids_of(dated)
    assert ids_of(before).isdisjoint(ids_of(after))
    assert hits("--as-of", "2026-01-01") == []
    assert len(hits("--as-of", "2100-01-01", "-k", 300)) == len(everything)


def test_a_budget_is_kept_and_what_it_left_out_is_counted(command: Command, example_home: Path) -> None:
    asked = ("recall", "session token", "--home", example_home, "--budget-tokens", 300)
    answer = command(*asked, "--json").json
    assert sum(len(hit["text"].encode()) for hit in answer["hits"]) / 4 < answer["used_tokens"] <= 300
    assert answer["left_out"] > 0
    assert f"{answer['left_out']} more did not fit into the budget" in command(*asked).out
    none = command(*asked[:-1], 60).out.splitlines()
    assert none[1] == "10 did not fit into the budget"
    assert none[2].startswith("degraded: budget: The best memory has no room. An excerpt of it takes ")


def test_the_default_scope_is_this_folders_project_where_it_is_known(
    command: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, pier = git_project(tmp_path / "shelf"), git_project(tmp_path / "pier")
    inside = shelf / "src" / "deep"
    inside.mkdir(parents=True)
    source = lines(tmp_path / "a.jsonl", claude_turn("nine books", shelf), claude_turn("books on the pier", pier))
    command("capture", source, "--home", home)

    monkeypatch.chdir(inside)
    known = command("recall", "books", "--home", home, "--json")
    assert texts(known) == ["nine books"]
    assert (known.json["scope"], known.json["scope_found"]) == ("shelf", "git")
    assert "in shelf (git; --scope" in command("recall", "books", "--home", home).out

    monkeypatch.chdir(git_project(tmp_path / "unknown"))
    unknown = command("recall", "books", "--home", home, "--json")
    assert sorted(texts(unknown)) == ["books on the pier", "nine books"]
    assert (unknown.json["scope"], unknown.json["scope_found"]) == ("*", "this folder's project is not known here")


def test_a_scope_is_recalled_with_what_is_below_it_and_nothing_beside_it(
    command: Command, home: Path, tmp_path: Path
) -> None:
    scopes = ("work", "work/a", "work/a/deep", "work/ab", "workshop")
    source = lines(tmp_path / "a.jsonl", *(turn(f"an otter in {scope}", scope=scope) for scope in scopes))
    command("capture", source, "--home", home)
    for asked in scopes:
        found = texts(command("recall", "otter", "--home", home, "--scope", asked, "--json"))
        below = [scope for scope in scopes if scope == asked or scope.startswith(f"{asked}/")]
        assert sorted(found) == sorted(f"an otter in {scope}" for scope in below)


def test_what_the_memory_knew_then_leaves_out_what_came_later(command: Command, home: Path, tmp_path: Path) -> None:
    command("capture", lines(tmp_path / "a.jsonl", turn("the first otter")), "--home", home)
    then = datetime.now(UTC).isoformat()
    command("capture", lines(tmp_path / "b.jsonl", turn("the second otter")), "--home", home)
    assert texts(command("recall", "otter", "--home", home, "--json", "--as-of", then)) == ["the first otter"]
    assert len(texts(command("recall", "otter", "--home", home, "--json"))) == 2


def test_a_long_memory_is_given_by_its_best_stretch_and_its_place(command: Command, home: Path, tmp_path: Path) -> None:
    text = "\n".join(f"line {number} of the log" for number in range(2000)) + "\nthe otter is here\n"
    command("capture", lines(tmp_path / "a.jsonl", turn(text)), "--home", home)
    (hit,) = command("recall", "otter", "--home", home, "--json").json["hits"]
    part = hit["text"].encode()
    assert len(part) <= 8192
    assert text.encode()[hit["start_byte"] :].startswith(part)
    assert hit["size_bytes"] == len(text.encode())
    told = f"the stretch from byte {hit['start_byte']} of {hit['size_bytes']}"
    assert told in command("recall", "otter", "--home", home).out
    assert told in command("recall", "otter", "--home", home, "--full").out


ODD = "an otter, NUL \x00, half a letter \ud83d, escape \x1b]0;title\x07 \x9b31m, and ä\u2028ö"


def test_text_that_no_terminal_should_see_is_written_out_and_json_carries_it(
    command: Command, home: Path, tmp_path: Path
) -> None:
    command("capture", lines(tmp_path / "a.jsonl", turn(ODD, speaker="\ud800\x1b[1m")), "--home", home)
    shown = command("recall", "otter", "--home", home)
    assert shown.code == 0
    assert r"an otter, NUL \x00, half a letter \ud83d, escape \x1b]0;title\x07 \x9b31m, and ä" in shown.out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown.out)
    assert texts(command("recall", "otter", "--home", home, "--json")) == [ODD]


UNSEEN = "a heron \u202etxt.exe\u202c \u2066x\u2069 a\u200bb \u200f \ufeff \u061c so\xadft \u2060 \U000e0041 \u2029 end"


def test_what_turns_letters_or_is_not_seen_reaches_no_terminal_and_json_is_exact(
    command: Command, home: Path, tmp_path: Path
) -> None:
    about = {"session": f"s{UNSEEN}", "speaker": UNSEEN, "scope": f"work/{UNSEEN}"}
    assert command("capture", lines(tmp_path / "a.jsonl", turn(UNSEEN, **about)), "--home", home).code == 0
    (hit,) = command("recall", "heron", "--home", home, "--json").json["hits"]
    assert (hit["text"], hit["speaker"]) == (UNSEEN, UNSEEN)
    asked = [("recall", "heron"), ("show", hit["id"]), ("log",), ("status",), ("forget", hit["id"])]
    for arguments in asked:
        told = command(*arguments, "--home", home)
        assert told.code == 0
        steering = {one for one in told.out + told.err if unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp")}
        assert steering <= {"\n"}, arguments
    assert r"a heron \u202etxt.exe\u202c \u2066x\u2069 a\u200bb" in command("show", hit["id"], "--home", home).out
    nobody = command("show", f"\u202e{UNSEEN}", "--home", home)
    assert (nobody.code, "\u202e" in nobody.err) == (2, False)


# --- forget ----------------------------------------------------------------------------------------------------------


def test_what_is_forgotten_is_found_no_more_until_it_is_taken_back(
    command: Command, home: Path, tmp_path: Path
) -> None:
    source = lines(tmp_path / "a.jsonl", turn("the first otter"), turn("the second otter\nand its \x1b[1m tail"))
    command("capture", source, "--home", home)
    hits = command("recall", "otter", "--home", home, "--json").json["hits"]
    second = next(hit["id"] for hit in hits if hit["text"].startswith("the second"))

    gone = command("forget", second, "--reason", "it was a heron", "--home", home, "--json")
    assert gone.code == 0
    (memory,) = gone.json["memories"]
    assert (memory["id"], memory["changed"], memory["reason"]) == (second, True, "it was a heron")
    assert memory["retired_at"] > "2025"
    assert texts(command("recall", "otter", "--home", home, "--json")) == ["the first otter"]
    assert texts(command("recall", "otter", "--home", home, "--json", "--as-of", "2020-01-01")) == []
    assert "1 of them forgotten: kept, and not found" in command("status", "--home", home).out
    assert "1 known already was forgotten, and stays so" in command("capture", source, "--home", home).out

    again = command("forget", second, "--home", home)
    assert again.out.splitlines()[0] == f"forgotten already: {second[-8:]} (turn, no scope) the second otter …"
    undo = shlex.split(again.out.splitlines()[1].partition(": ")[2])
    assert undo == shlex.split(gone.json["undo"])
    back = command(*undo[1:])
    assert back.out == f"found again: {second[-8:]} (turn, no scope) the second otter …\n"
    assert len(texts(command("recall", "otter", "--home", home, "--json"))) == 2
    assert command(*undo[1:]).out.startswith(f"was not forgotten: {second[-8:]} ")
    assert command(*undo[1:], "--json").json["undo"] is None


def test_of_several_one_that_is_not_there_keeps_all_from_being_forgotten(
    command: Command, home: Path, tmp_path: Path
) -> None:
    command("capture", lines(tmp_path / "a.jsonl", turn("an otter")), "--home", home)
    (hit,) = command("recall", "otter", "--home", home, "--json").json["hits"]
    for wrong in ("nonsense", "00000000-0000-0000-0000-000000000000"):
        failed = command("forget", hit["id"], wrong, "--home", home, "--json")
        assert (failed.code, failed.json["code"]) == (2, "no_such_memory")
    assert texts(command("recall", "otter", "--home", home, "--json")) == ["an otter"]
    misused = command("forget", hit["id"], "--undo", "--reason", "none", "--home", home)
    assert (misused.code, misused.out) == (2, "")
    assert "--reason" in misused.err
    named_none = command("forget", "--home", home)
    assert named_none.code == 2
    assert "--before, --forgotten-at. Try 'mnemic forget --help'." in named_none.err
    unknown = command("forget", "0" * 32, "--home", home)
    assert "Take the id from `mnemic log`" in unknown.err


# --- status, doctor --------------------------------------------------------------------------------------------------


def test_one_is_told_as_one(command: Command, home: Path, tmp_path: Path) -> None:
    transcript = lines(tmp_path / "one.jsonl", turn("an otter", said_at="2026-10-01T00:00:00Z"))
    command("capture", transcript, "--home", home, "--no-meaning")
    shown = command("status", "--home", home).out
    assert re.search(r"^1 memory in 1 session, 0 found by meaning, [01] by shape\ntexts 8 bytes, kept as ", shown, re.M)
    elsewhere = command("capture", transcript, "--home", home, "--scope", "x", "--no-meaning").out
    assert "1 known already is in another scope or in none, and stays there\n" in elsewhere
    command("forget", "--before", "2100-01-01", "--home", home)
    assert "1 known already was forgotten, and stays so\n" in command("capture", transcript, "--home", home).out
    assert "1 memory erased" in command("forget", "--until", "2100-01-01", "--erase", "--yes", "--home", home).out
    assert "1 was erased, and stays so\n" in command("capture", transcript, "--home", home).out


def test_status_counts_what_is_there(command: Command, example_home: Path) -> None:
    view = command("status", "--home", example_home, "--json").json
    assert (view["mind"], view["version"], view["process"]) == ("default", mnemic.__version__, None)
    counts = view["counts"]
    assert (counts["memories"], counts["sessions"], counts["embedded"], counts["pending"]) == (270, 12, 270, 0)
    assert sum(counts["kinds"].values()) == sum(scope["memories"] for scope in counts["scopes"]) == 270
    shown = command("status", "--home", example_home).out
    assert "270 memories in 12 sessions, 270 found by meaning, 270 by shape\n" in shown
    assert "slipway: 255 memories, 49.8 kB (folder)\n" in shown
    assert view["encoder"].split() == [load_encoder().implementation, DEFAULT_SHA256[:12]]
    assert view["instructions"] == (backend().removeprefix("native-") if NATIVE else None)
    assert f"embedded by {view['encoder']}, vectors compared by {backend()}\n" in shown


def test_what_doctor_looks_at_is_documented(command: Command, home: Path) -> None:
    command("init", "--home", home)
    checks = {one["name"] for one in command("doctor", "--home", home, "--json").json["checks"]}
    documented = (ROOT / "docs" / "cli.md").read_text("utf-8").split("## `mnemic doctor`")[1]
    checks = {"hooks claude-code" if name.startswith("hooks ") else name for name in checks}  # one host for all
    assert {name for name in checks if f"`{name}`" not in documented} == set()
    assert "pause" in checks
    assert "`wiring`, `hooks claude-code`" in documented, "the one where nobody is wired, the other of each that is"


def test_doctor_finds_nothing_wrong_with_a_sound_mind(command: Command, example_home: Path) -> None:
    seen = command("doctor", "--home", example_home, "--json")
    assert seen.code == 0
    assert {check["state"] for check in seen.json["checks"]} <= {"ok", "advice"}
    assert seen.json["repaired"] == []
    assert "repaired: nothing needed it" in command("doctor", "--repair", "--home", example_home).out


def test_doctor_takes_from_others_what_they_could_read(command: Command, home: Path) -> None:
    command("init", "--home", home)
    key = home / "minds" / "default" / "key"
    key.chmod(0o644)
    told = command("doctor", "--home", home)
    assert told.code == 1
    assert f"wrong  permissions: {key} has mode 0644 -> --repair takes the others' rights away." in told.out
    repaired = command("doctor", "--repair", "--home", home, "--json").json
    assert repaired["repaired"] == ["permissions"]
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


# --- wrong input -----------------------------------------------------------------------------------------------------


def sentence(outcome: Outcome) -> str:
    """What a person is told of an error: one line on standard error, no traceback, nothing on standard output."""
    assert outcome.out == ""
    line, end = outcome.err[:-1], outcome.err[-1:]
    assert end == "\n"
    assert "\n" not in line
    assert line.startswith("mnemic: ")
    assert line.endswith((".", "?"))
    return line


SETTINGS = [
    ("recall.k = ", "it is no TOML"),
    ("[recall]\nk = 'ten'", "recall.k in {path} cannot be 'ten': it is not a whole number"),
    ("[recall]\nk = 0", "it is not 1 or more"),
    ("[recall]\nkk = 1", "there is no such setting"),
    ("recall = 1", "there is no such setting"),
]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        *(("status", *one) for one in SETTINGS),
        *((name, *SETTINGS[0]) for name in ("init", "capture", "recall", "serve")),
    ],
)
def test_wrong_settings_are_told_by_every_command_that_reads_them(
    command: Command, tmp_path: Path, name: str, content: str, said: str
) -> None:
    path = tmp_path / "mnemic.toml"
    path.write_text(content, "utf-8")
    more = {"capture": [EXAMPLE], "recall": ["x"]}.get(name, [])
    told = command(name, *more, "--home", tmp_path)
    assert told.code == 2
    assert said.format(path=path) in sentence(told)
    assert not (tmp_path / "minds").exists()


def test_settings_are_read(command: Command, home: Path, tmp_path: Path) -> None:
    with (home / "mnemic.toml").open("a", encoding="utf-8") as settings:
        settings.write("[recall]\nk = 3\n")
    source = lines(tmp_path / "a.jsonl", *(turn(f"otter {number}") for number in range(9)))
    command("capture", source, "--home", home)
    assert len(texts(command("recall", "otter", "--home", home, "--json"))) == 3
    assert len(texts(command("recall", "otter", "--home", home, "--json", "-k", 5))) == 5


DAMAGE: list[tuple[str, Callable[[Path], object], str]] = [
    ("a short key", lambda mind: (mind / "key").write_bytes(b"short"), "is not the key of this mind"),
    ("another key", lambda mind: (mind / "key").write_bytes(bytes(32)), "is not the key of this mind"),
    ("no key", lambda mind: (mind / "key").unlink(), "is not there"),
    ("a torn key header", lambda mind: (mind / "mind.json").write_text("{"), "is damaged"),
    ("a newer key header", lambda mind: (mind / "mind.json").write_text('{"version": 9, "check": ""}'), "newer Mnemic"),
    ("no store", lambda mind: (mind / "store.db").unlink(), "store.db"),
    ("an empty store", lambda mind: (mind / "store.db").write_bytes(b""), "store.db"),
    ("noise for a store", lambda mind: (mind / "store.db").write_bytes(bytes(range(256)) * 64), "is damaged"),
]


@pytest.mark.parametrize(("what", "damage", "said"), DAMAGE, ids=[what for what, _, _ in DAMAGE])
def test_a_mind_that_cannot_be_used_is_told_in_one_sentence(
    command: Command, home: Path, tmp_path: Path, what: str, damage: Callable[[Path], object], said: str
) -> None:
    source = lines(tmp_path / "a.jsonl", turn("an otter"))
    command("capture", source, "--home", home)
    damage(home / "minds" / "default")
    for arguments in (["recall", "otter"], ["status"], ["capture", source]):
        told = command(*arguments, "--home", home)
        assert told.code == 3, arguments
        assert said in sentence(told)
    seen = command("doctor", "--home", home, "--json")
    assert seen.code == 1
    assert any(check["state"] == "wrong" and said in check["detail"] for check in seen.json["checks"])


def test_an_export_is_no_transcript_and_the_command_that_takes_it_is_named(
    command: Command, example_home: Path, tmp_path: Path
) -> None:
    assert command("export", tmp_path / "out", "--home", example_home).code == 0
    refused = command("capture", tmp_path / "out", "--home", tmp_path / "new")
    assert (refused.code, "`mnemic import`" in sentence(refused)) == (2, True)
    assert not (tmp_path / "new").exists()
    (tmp_path / "new").mkdir()
    taken = command("import", tmp_path / "out", "--home", tmp_path / "new", "--no-meaning", "--json").json
    assert taken["meaning_error"] is None
    section = DOCS.read_text("utf-8").partition("\n## `mnemic import")[2].partition("\n## ")[0]
    assert set(taken) <= set(re.findall(r"`(\w+)`", section))


def test_the_fields_of_a_capture_and_of_a_memory_are_documented(
    command: Command, captured_example: tuple[Path, Outcome], example_home: Path
) -> None:
    home, captured = example_home, captured_example[1]
    section = DOCS.read_text("utf-8").partition("\n## `mnemic capture")[2].partition("\n## ")[0]
    assert set(captured.json) <= set(re.findall(r"`(\w+)`", section))
    newest = command("log", "-n", 1, "--home", home, "--json").json["id"]
    (shown,) = command("show", newest, "--home", home, "--json").json["memories"]
    assert "original" not in shown
    section = (ROOT / "docs" / "log.md").read_text("utf-8").partition("\n## One memory")[2].partition("\n## ")[0]
    assert set(shown) <= set(re.findall(r"`(\w+)`", section))


def test_json_errors_name_the_code(command: Command, home: Path) -> None:
    assert command("recall", "x", "--home", home, "--json").json == {
        "code": "mind_missing",
        "error": f"There is no mind 'default' in {home}.",
        "remedy": f"This home has none; `mnemic setup --home {home}` makes this one.",
    }
    assert json.loads(command("wrong", "--json").out)["code"] == "usage"


def test_a_capture_of_which_nothing_can_be_read_fails_and_says_so(
    home: Path, command: Callable[..., Outcome], tmp_path: Path
) -> None:
    (tmp_path / "robot.jsonl").write_text('{"session": "s", "role": "robot", "text": "x"}\n')
    robot = command("capture", tmp_path / "robot.jsonl", "--home", home)
    assert robot.code == 2
    assert "1 line could not be read" in robot.out
    other = command("capture", EXAMPLE / "call.jsonl", "--format", "codex", "--home", home)
    assert "there is nothing in it to remember" in other.out


def test_a_capture_of_what_is_not_there_makes_no_mind(home: Path, command: Callable[..., Outcome]) -> None:
    gone = command("capture", home / "gone.jsonl", home / "nope", "--home", home)
    assert gone.code == 2
    assert f"{home / 'gone.jsonl'}, {home / 'nope'} cannot be read: No such file or directory." in gone.err
    assert not (home / "minds").exists()


def test_a_scope_named_too_late_is_said_to_change_nothing(home: Path, command: Callable[..., Outcome]) -> None:
    command("capture", EXAMPLE / "call.jsonl", "--home", home, "--no-meaning")
    again = command("capture", EXAMPLE / "call.jsonl", "--home", home, "--scope", "work/shelf", "--no-meaning")
    assert "15 known already are in another scope or in none, and stay there" in again.out
