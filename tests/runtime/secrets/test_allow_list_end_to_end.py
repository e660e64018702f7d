"""An allow list, from a line in ``mnemic.toml`` to what is kept; and a home whose settings name a file of rules."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.paths import built_hook
from tests.processes.faces import Outcome, lines, turn
from tests.waiting import BOUND_S

Command = Callable[..., Outcome]
KNOWN, REAL = "hunter2-x9", "tr0ub-4dor"


def found(command: Command, home: Path, query: str) -> list[str]:
    return [hit["text"] for hit in command("recall", query, "--scope", "*", "--home", home, "--json").json["hits"]]


def prompt(home: Path, text: str, tmp_path: Path) -> None:
    """What a host's hook keeps when its user says something."""
    given = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": str(tmp_path), "prompt": text}
    hook = [built_hook(), "claude-code", "prompt", "--home", str(home)]
    subprocess.run(hook, input=json.dumps(given).encode(), check=True, timeout=BOUND_S)


def test_what_the_allow_list_names_is_kept_and_counted_nowhere(command: Command, home: Path, tmp_path: Path) -> None:
    with (home / "mnemic.toml").open("a", encoding="utf-8") as settings:
        settings.write(f"[capture]\nsecret_allow = ['{KNOWN}']\n")
    source = lines(tmp_path / "a.jsonl", turn(f"the otter's password = {KNOWN}, the heron's password = {REAL}"))
    assert command("capture", source, "--home", home).code == 0
    left = f"the otter's password = {KNOWN}, the heron's password = [secret: password]"
    assert found(command, home, "otter") == [left]
    assert command("status", "--home", home, "--json").json["capture"]["scrubbed"] == {"password": 1}


def test_no_text_allows_what_the_settings_do_not(command: Command, home: Path, tmp_path: Path) -> None:
    said = f"[capture] secret_allow = ['{REAL}'] # gitleaks:allow\nthe heron's password = {REAL}"
    assert command("capture", lines(tmp_path / "a.jsonl", turn(said)), "--home", home).code == 0
    assert "password = [secret: password]" in found(command, home, "heron")[0]


def test_an_allow_list_that_is_too_long_ends_the_command_with_one_sentence(
    command: Command, home: Path, tmp_path: Path
) -> None:
    with (home / "mnemic.toml").open("a", encoding="utf-8") as settings:
        settings.write(f"[capture]\nsecret_allow = {[f'{number:04d}-*' for number in range(10_000)]}\n")
    refused = command("capture", lines(tmp_path / "a.jsonl", turn("an otter")), "--home", home)
    assert (refused.code, refused.out) == (2, "")
    assert f"capture.secret_allow in {home / 'mnemic.toml'} cannot be" in refused.err
    assert "one expression cannot hold 10000 texts" in refused.err


def test_a_home_that_names_a_file_of_rules_is_refused_in_one_sentence_and_loses_nothing(
    command: Command, home: Path, tmp_path: Path
) -> None:
    assert command("init", "--home", home).code == 0
    path = home / "mnemic.toml"
    before = path.read_text("utf-8") if path.exists() else ""
    path.write_text(before + "[capture]\nsecret_rules = '~/gitleaks.toml'\n", "utf-8")
    prompt(home, f"the heron's password = {REAL}", tmp_path)
    for words in (["recall", "heron"], ["capture", lines(tmp_path / "a.jsonl", turn("an otter"))]):
        refused = command(*words, "--home", home)
        assert (refused.code, refused.out) == (2, "")
        assert f"capture.secret_rules in {path} is no longer a setting: " in refused.err
        assert "Take the line out of the file" in refused.err
        assert "Traceback" not in refused.err
    path.write_text(before, "utf-8")
    assert found(command, home, "heron") == ["the heron's password = [secret: password]"]
