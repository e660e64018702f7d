"""What an assistant asks the memory in its shell, from the hook's event to the erasing of what was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.hook_contract import finished
from tests.hooks.shells import hook_payload
from tests.paths import built_hook
from tests.processes.faces import Outcome

Command = Callable[..., Outcome]
WORDS = "The mast of the Heron is 14.2 m high."


def hook(home: Path, line: str, printed: str, call: str) -> None:
    """Have the hook told of a command in Claude Code's shell."""
    event, payload = hook_payload("claude-code", line, printed, call)
    arguments = [built_hook(), "claude-code", event, "--home", str(home)]
    finished(arguments, json.dumps(payload | {"cwd": str(home)}).encode(), home)


def kept(command: Command, home: Path) -> list[dict[str, Any]]:
    """All memories of the mind."""
    told = command("log", "-n", "100", "--scope", "*", "--json", "--home", home)
    return [json.loads(line) for line in told.out.splitlines()]


def test_nothing_the_memory_answers_in_a_shell_comes_back_and_what_is_erased_is_gone(
    command: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = command("remember", WORDS, "--scope", "boats", "--json", "--home", home).json
    monkeypatch.setenv("CLAUDECODE", "1")
    asked = ("recall", "how high is the mast", "--scope", "*", "--home", home)
    plain, as_json = command(*asked).out, command(*asked, "--json").out
    monkeypatch.delenv("CLAUDECODE")
    assert plain.startswith("<mnemic-memory>\n")
    assert plain.endswith("\n</mnemic-memory>\n")
    assert "<mnemic-memory>" not in as_json
    line = "mnemic recall 'how high is the mast' --scope '*'"
    hook(home, line, plain, "c1")
    hook(home, f"{line} --json | jq .", as_json, "c2")
    hook(home, f"git log -1; {line}; make", f"commit 1: paint the rudder\n{plain}built the lantern\n", "c3")
    hook(home, f"git log -1; {line} --json; make", f"commit 2: paint the keel\n{as_json}built the buoy\n", "c4")
    hook(home, "./ask.sh", f"the script says:\n{plain}", "c5")
    told = command("recall", "rudder lantern", "--scope", "*", "--kind", "tool_result", "--json", "--home", home)
    texts = [hit["text"] for hit in json.loads(told.out)["hits"]]
    assert "commit 1: paint the rudder\nbuilt the lantern\n" in texts
    everything = kept(command, home)
    assert [one["scope"] for one in everything if "14.2" in json.dumps(one)] == ["boats"]
    assert not [one for one in everything if "how high" in one["text"] or "keel" in one["text"]]
    erased = command("forget", "--erase", noted["id"], "--yes", "--home", home)
    assert erased.code == 0, erased
    assert not [one for one in kept(command, home) if "14.2" in json.dumps(one)]
    for kind in ("note", "turn", "tool_call", "tool_result"):
        found = command("recall", "14.2 m high mast", "--scope", "*", "--kind", kind, "--json", "--home", home)
        assert "14.2" not in json.dumps(json.loads(found.out)["hits"])
