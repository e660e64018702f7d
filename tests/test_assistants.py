"""The real assistants, wired by their own commands to the real `mnemic mcp`, offline, with a scripted model.

They run in a network namespace of their own; the prompt is the script. Where the programs or the scripts that run them
are not there, these tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.hooks import find_transcripts
from tests.faces import git_project, run

SCRIPTS = Path(__file__).parents[2] / "shared" / "assistants"
PORT = "19078"
ANSWER = "The pier is 38 m long since the storm."
KEEP = '@@CALL {0}memory_capture {{"text":"The pier is 38 m long since the storm.","kind":"decision"}}@@'
ASK = '@@CALL {0}memory_recall {{"query":"length of the pier"}}@@ @@SAY It is 38 m.@@'
MISS = '@@CALL {0}memory_get {{"ids":["nothing"]}}@@'
PROMPT = f"Remember the pier. {KEEP} {ASK} {MISS}"

Make = Callable[[Path], list[Any]]


def programs() -> Path:
    """The folder of the programs; skips where something is missing."""
    folder = os.environ.get("ASSISTANTS_BIN")
    if not folder:
        pytest.skip("ASSISTANTS_BIN does not name the folder of the real assistants")
    if not SCRIPTS.is_dir():
        pytest.skip(f"{SCRIPTS}, which runs the real assistants, is not there")
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    return Path(folder)


def mnemic_command() -> str:
    """The command as it is installed."""
    return str(Path(sys.executable).parent / "mnemic")


def alone(command: list[Any], **environment: str) -> None:
    """Run a program once without a network."""
    clean = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    subprocess.run(
        ["unshare", "-n", *command], env=clean | environment, check=True, capture_output=True, timeout=120, input=b""
    )


def wire_claude(work: Path) -> None:
    add = ["mcp", "add", "mnemic", "--scope", "user", "-e", f"MNEMIC_HOME={work / 'memory'}"]
    (work / "home").mkdir()
    alone([programs() / "claude", *add, "--", mnemic_command(), "mcp"], HOME=str(work / "home"))


def ask_claude(work: Path, prompt: str) -> list[Any]:
    tools = "mcp__mnemic__memory_capture,mcp__mnemic__memory_recall,mcp__mnemic__memory_get"
    return [SCRIPTS / "run_claude.sh", work, PORT, "-p", "--allowedTools", tools, "--", prompt]


def wire_codex(work: Path) -> None:
    settings = (SCRIPTS / "conf" / "codex.config.toml").read_text("utf-8").split("[mcp_servers")[0]
    settings = "\n".join(line for line in settings.splitlines() if not line.startswith("notify"))
    config = work / "codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(settings.replace("@PORT@", PORT), "utf-8")
    add = ["mcp", "add", "mnemic", "--env", f"MNEMIC_HOME={work / 'memory'}"]
    alone([programs() / "codex", *add, "--", mnemic_command(), "mcp"], CODEX_HOME=str(work / "codex"))
    written = config.read_text("utf-8")
    # Required, or on a busy machine the first turn begins before the server is there.
    approve = '[mcp_servers.mnemic]\ndefault_tools_approval_mode = "approve"\nrequired = true\nstartup_timeout_sec = 60'
    config.write_text(written.replace("[mcp_servers.mnemic]", approve, 1), "utf-8")


def ask_codex(work: Path, prompt: str) -> list[Any]:
    return [SCRIPTS / "run_codex.sh", work, "exec", "--json", prompt]


def wire_gemini(work: Path) -> None:
    settings = json.loads((SCRIPTS / "conf" / "gemini.settings.json").read_text("utf-8"))
    del settings["hooks"]
    server = {"command": mnemic_command(), "args": ["mcp", "--home", str(work / "memory")], "trust": True}
    path = work / "home" / ".gemini" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(settings | {"mcpServers": {"mnemic": server}}), "utf-8")


def ask_gemini(work: Path, prompt: str) -> list[Any]:
    return [SCRIPTS / "run_gemini.sh", work, PORT, "-p", prompt, "--output-format", "json"]


def wire_opencode(work: Path) -> None:
    settings = json.loads((SCRIPTS / "conf" / "opencode.json").read_text("utf-8").replace("@PORT@", PORT))
    command = [mnemic_command(), "mcp", "--home", str(work / "memory")]
    settings["mcp"] = {"mnemic": {"type": "local", "command": command, "enabled": True}}
    (work / "proj" / "opencode.json").write_text(json.dumps(settings), "utf-8")


def ask_opencode(work: Path, prompt: str) -> list[Any]:
    return ["env", f"PROMPT={prompt}", SCRIPTS / "run_opencode.sh", work, "run", "--format", "json"]


ASSISTANTS = {
    "claude": (wire_claude, ask_claude, "mcp__mnemic__"),
    "codex": (wire_codex, ask_codex, "mcp__mnemic__"),
    "gemini": (wire_gemini, ask_gemini, "mcp_mnemic_"),
    "opencode": (wire_opencode, ask_opencode, "mnemic_"),
}


def converse(name: str, work: Path, prompt: str = PROMPT) -> list[dict[str, Any]]:
    """Wire an assistant, let it hold the scripted conversation; returns what reached its model."""
    programs()
    wire, ask, prefix = ASSISTANTS[name]
    git_project(work / "proj")
    wire(work)
    requests = work / "requests.jsonl"
    subprocess.run(
        [SCRIPTS / "offline.sh", PORT, requests, *ask(work, prompt.format(prefix))],
        check=True,
        capture_output=True,
        timeout=240,
    )
    return [json.loads(line) for line in requests.read_text("utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("name", ASSISTANTS)
def test_an_assistant_keeps_a_memory_and_its_model_gets_it_back(name: str, tmp_path: Path) -> None:
    requests = converse(name, tmp_path)
    bodies = [json.dumps(request["body"]) for request in requests]
    assert any("scope_found" in body and body.count(ANSWER) > 1 for body in bodies), "recall's answer reached no model"
    assert any("no_such_memory" in body for body in bodies), "the error reached no model"
    home = tmp_path / "memory"
    kept = run("recall", "length of the pier", "--home", home, "--scope", "proj", "--json").json["hits"]
    assert [(hit["text"], hit["kind"], hit["scope"]) for hit in kept] == [(ANSWER, "decision", "proj")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "transcripts"), [("claude", "home/.claude/projects"), ("codex", "codex/sessions")])
def test_the_transcript_of_it_is_captured_without_the_memorys_own_echo(
    name: str, transcripts: str, tmp_path: Path
) -> None:
    converse(name, tmp_path)
    home = tmp_path / "memory"
    assert len(find_transcripts(str(tmp_path / transcripts))) == 1
    captured = run("capture", tmp_path / transcripts, "--home", home, "--json")
    assert (captured.code, captured.json["malformed"], captured.json["scopes"]) == (0, 0, ["proj"])
    hits = run("recall", "length of the pier since the storm", "--home", home, "--scope", "proj", "--json").json["hits"]
    turns = [hit["text"] for hit in hits if hit["kind"] == "turn"]
    assert [text for text in turns if text.startswith("Remember the pier.")]
    assert "It is 38 m." in turns
    assert ANSWER in [hit["text"] for hit in hits], "the memory that the assistant kept itself"
    echo = [hit for hit in hits if hit["kind"] != "turn" and hit["text"] != ANSWER]
    assert echo == [], "what the memory was asked, or what it answered, is recalled"
