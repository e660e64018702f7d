"""The real Claude Code and Codex, end to end: what their script says is exactly what is read.

They talk to a scripted model on loopback, in a network namespace of their own; the prompt is the script. Where the
programs and the scripts that run them are not there, these tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mnemic.hooks import find_transcripts

SCRIPTS = Path(__file__).parents[3] / "shared" / "assistants"
PORT = "19077"
CALLS = '@@CALL {0} {{"{1}":"echo one"}}@@ @@CALL {0} {{"{1}":"exit 3"}}@@ @@SAY Both were tried.@@'


@pytest.fixture(scope="module")
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


def run(script: str, work: Path, *arguments: str) -> None:
    """Run one assistant once, offline."""
    (work / "proj").mkdir(exist_ok=True)
    command = [SCRIPTS / "offline.sh", PORT, work / "requests.jsonl", SCRIPTS / script, work, *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=180)


def said_and_done(read: Any, table: Any, folder: Path) -> list[str]:
    """The rows of the one transcript in a folder, without what the host injected."""
    (path,) = find_transcripts(str(folder))
    sessions = {event.session for event in read(path)}
    assert len(sessions) == 1
    return [row for row in table(path) if not row.startswith("injected")]


def test_a_scripted_session_of_claude_code_is_read_exactly(
    programs: Path, tmp_path: Path, read: Any, table: Any
) -> None:
    session = "5e55101e-0000-4000-8000-00000000e2e0"
    prompt = "Try it. " + CALLS.format("Bash", "command")
    run("run_claude.sh", tmp_path, PORT, "-p", "--session-id", session, "--allowedTools", "Bash", "--", prompt)
    run("run_claude.sh", tmp_path, PORT, "-p", "--resume", session, "--", "yes")
    assert said_and_done(read, table, tmp_path / "home" / ".claude" / "projects") == [
        'turn user | Try it. @@CALL Bash {"command":"echo one"}@@',
        "tool_call assistant Bash | Bash⏎command: echo one",
        "tool_result tool Bash ok | one",
        "tool_call assistant Bash | Bash⏎command: exit 3",
        "tool_result tool Bash failed | Exit code 3",
        "turn assistant | Both were tried.",
        "turn user | yes",
        "turn assistant | Both were tried.",
    ]


def test_a_scripted_session_of_codex_is_read_exactly(programs: Path, tmp_path: Path, read: Any, table: Any) -> None:
    settings = (SCRIPTS / "conf" / "codex.config.toml").read_text("utf-8").split("[mcp_servers")[0]
    settings = "\n".join(line for line in settings.splitlines() if not line.startswith("notify"))
    (tmp_path / "codex").mkdir()
    (tmp_path / "codex" / "config.toml").write_text(settings.replace("@PORT@", PORT), "utf-8")
    prompt = "Try it. " + CALLS.format("exec_command", "cmd")
    run("run_codex.sh", tmp_path, "exec", "--json", "--skip-git-repo-check", prompt)
    run("run_codex.sh", tmp_path, "exec", "--json", "--skip-git-repo-check", "resume", "--last", "yes")
    rows = said_and_done(read, table, tmp_path / "codex" / "sessions")
    results = [row.split(" | ")[0] for row in rows if row.startswith("tool_result")]
    assert results == ["tool_result tool exec_command ok", "tool_result tool exec_command failed"]
    assert [row for row in rows if not row.startswith("tool_result")] == [
        'turn user | Try it. @@CALL exec_command {"cmd":"echo one',
        "tool_call assistant exec_command | exec_command⏎cmd: echo one",
        "tool_call assistant exec_command | exec_command⏎cmd: exit 3",
        "turn assistant | Both were tried.",
        "turn user | yes",
        "turn assistant | Both were tried.",
    ]
