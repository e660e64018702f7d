"""A user's own rules for secrets, from a line in ``mnemic.toml`` to what is kept, by a command and by way of a hook."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.paths import PYTHON_HOOK
from tests.processes.faces import Outcome, lines, turn
from tests.waiting import BOUND_S

Command = Callable[..., Outcome]
SECRET = "acme-9f8a7d6c5b4e"
RULES = "[[rules]]\nid = 'Acme Key'\nregex = 'acme-[0-9a-f]{12}'\nkeywords = ['acme']\n"


@pytest.fixture
def rules(home: Path, tmp_path: Path) -> Path:
    """A file of rules that the home's settings name."""
    path = tmp_path / "rules.toml"
    path.write_text(RULES, "utf-8")
    with (home / "mnemic.toml").open("a", encoding="utf-8") as settings:
        settings.write(f"[capture]\nsecret_rules = '{path}'\n")
    return path


def found(command: Command, home: Path, query: str) -> list[str]:
    return [hit["text"] for hit in command("recall", query, "--scope", "*", "--home", home, "--json").json["hits"]]


def prompt(home: Path, text: str, tmp_path: Path) -> None:
    """What a host's hook keeps when its user says something."""
    given = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": str(tmp_path), "prompt": text}
    hook = [*PYTHON_HOOK, "claude-code", "prompt", "--home", str(home)]
    subprocess.run(hook, input=json.dumps(given).encode(), check=True, timeout=BOUND_S)


def test_what_a_rule_of_the_users_finds_is_not_kept(command: Command, home: Path, rules: Path, tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", turn(f"the otter's key is {SECRET}, and that is all"))
    assert command("capture", source, "--home", home).code == 0
    assert found(command, home, "otter") == ["the otter's key is [secret: acme-key], and that is all"]
    assert command("status", "--home", home, "--json").json["capture"]["scrubbed"] == {"acme-key": 1}
    assert command("capture", source, "--home", home, "--json").json["new"] == 0


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read: No such file or directory"),
        ("[[rules]", "it is no TOML"),
        (RULES.replace("{12}", "{12}(?=x)"), "RE2 refuses a regex of its rule 'Acme Key' (invalid perl operator: (?=)"),
        ("title = 'none'", "there is no rule in it"),
    ],
)
def test_a_file_that_cannot_be_used_ends_the_command_with_one_sentence(
    command: Command, home: Path, rules: Path, tmp_path: Path, content: str | None, why: str
) -> None:
    rules.unlink() if content is None else rules.write_text(content, "utf-8")
    refused = command("capture", lines(tmp_path / "a.jsonl", turn(SECRET)), "--home", home)
    assert (refused.code, refused.out) == (2, "")
    assert f"capture.secret_rules in {home / 'mnemic.toml'} cannot be '{rules}': " in refused.err
    assert why in refused.err
    assert "gitleaks' format" in refused.err
    assert "Traceback" not in refused.err


def test_what_hooks_keep_meanwhile_waits_and_is_cleaned_by_the_mended_rules(
    command: Command, home: Path, rules: Path, tmp_path: Path
) -> None:
    assert command("init", "--home", home).code == 0
    rules.write_text("[[rules]", "utf-8")
    prompt(home, f"the heron's key is {SECRET}", tmp_path)
    assert command("recall", "heron", "--home", home).code == 2
    rules.write_text(RULES, "utf-8")
    assert found(command, home, "heron") == ["the heron's key is [secret: acme-key]"]


def test_without_scrubbing_nobody_asks_for_the_rules(command: Command, home: Path, rules: Path, tmp_path: Path) -> None:
    rules.unlink()
    with (home / "mnemic.toml").open("a", encoding="utf-8") as settings:
        settings.write("scrub = false\n")
    command("capture", lines(tmp_path / "a.jsonl", turn(f"an otter {SECRET}")), "--home", home)
    assert found(command, home, "otter") == [f"an otter {SECRET}"]
