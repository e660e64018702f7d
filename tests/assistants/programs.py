"""The four assistants as the tests drive them: where they are, how each is set up, run, and read.

Each has a HOME of its own, with a model on loopback and nothing else configured; hooks and MCP servers are for
`mnemic hooks install` to add. The programs come from npm (`make assistants`), or from the folder that
``ASSISTANTS_BIN`` names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.paths import ROOT

REPOSITORY = ROOT
PORT = 19090
TIMEOUT_S = 180.0
COMMAND = Path(sys.executable).parent / "mnemic"

SENT = "I count two lamps."
"""What a subagent says."""

Environment = dict[str, str]


class World:
    """One assistant's world: its user's home, a project, and what reached its model."""

    def __init__(self, folder: Path, assistant: Assistant) -> None:
        self.assistant = assistant
        self.home = folder / "home"
        self.project = folder / "pier"
        self.requests = folder / "requests.jsonl"
        self.memory = folder / "the memory's home"  # with what a shell would cut
        self.home.mkdir(parents=True)
        self.project.mkdir()
        git = {"HOME": str(self.home), "PATH": _path()}
        subprocess.run(["git", "init", "-q", "-b", "jetty", self.project], check=True, env=git)
        for path, text in assistant.settings(self.home, self.project).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")

    @property
    def environment(self) -> Environment:
        """What the assistant and the command are started with; nothing of the tester's own."""
        common = {"HOME": str(self.home), "PATH": _path(), "TERM": "dumb", "LANG": "C.UTF-8"}
        return common | self.assistant.environment(self.home)

    def mnemic(self, *arguments: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run the command as the user does, on a folder that is there."""
        Path(self.memory).mkdir(mode=0o700, parents=True, exist_ok=True)
        return subprocess.run(
            [COMMAND, *map(str, arguments), "--home", self.memory],
            input=given,
            capture_output=True,
            env=self.environment,
            cwd=self.project,
            timeout=TIMEOUT_S,
            check=False,
        )

    def say(self, prompt: str, *, resume: bool = False) -> list[dict[str, Any]]:
        """Have a session, a new one or the last one gone on with; returns the requests that reached the model."""
        before = len(self.heard())
        command, given = self.assistant.command(prompt, resume)
        inside = [sys.executable, "-m", "tests.assistants.isolated", str(PORT), str(self.requests)]
        ran = subprocess.run(
            [*_unshare(), *inside, "env", "-C", str(self.project), *map(str, command)],
            input=given,
            capture_output=True,
            env=self.environment,
            cwd=REPOSITORY,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert ran.returncode == 0, (ran.stdout[-2000:] + ran.stderr[-2000:]).decode("utf-8", "replace")
        return self.heard()[before:]

    def heard(self) -> list[dict[str, Any]]:
        """All requests so far."""
        if not self.requests.exists():
            return []
        return [json.loads(line) for line in self.requests.read_text("utf-8").splitlines()]


class Assistant(NamedTuple):
    """One program."""

    name: str
    """As Mnemic calls it."""
    tools: str
    """What its model's names of this memory's tools begin with."""
    shell: tuple[str, str]
    """The tool that runs a command, and the argument that holds it."""
    settings: Callable[[Path, Path], dict[Path, str]]
    """Its user's own settings before anything is installed: files and their texts."""
    environment: Callable[[Path], Environment]
    """What it wants of the environment."""
    command: Callable[[str, bool], tuple[list[Any], bytes]]
    """The command line for a prompt, and what it reads on standard input."""
    transcripts: str
    """Where it keeps its sessions, below the user's home."""
    subagent: str
    """The prompt that has it send a subagent, which says `SENT`; empty where the program has none."""
    compact: str
    """The prompt that has it compact the session."""
    told_again: bool
    """Whether a session that was compacted in one run is told again what it lost: Gemini CLI has no event for that, and
    OpenCode's next run cannot tell it from any other session that goes on."""


def programs() -> Path:
    """The folder of the programs; skips, aloud, where something is missing."""
    folder = Path(os.environ.get("ASSISTANTS_BIN") or REPOSITORY / "build" / "assistants" / "node_modules" / ".bin")
    if not (folder / "claude").exists():
        pytest.skip("the assistants are not installed: make assistants, or name their folder in ASSISTANTS_BIN")
    _unshare()
    return folder


def _unshare() -> list[str]:
    for command in (["unshare", "--net"], ["unshare", "--net", "--map-root-user"]):
        if shutil.which("unshare") and not subprocess.run([*command, "true"], capture_output=True).returncode:
            return command
    pytest.skip("no network of its own can be made here (unshare --net)")


def _path() -> str:
    folders = [Path(found).parent for tool in ("node", "git", "sh") if (found := shutil.which(tool))]
    return os.pathsep.join(dict.fromkeys(map(str, [programs(), *folders, "/usr/local/bin", "/usr/bin", "/bin"])))


# --- Claude Code -----------------------------------------------------------------------------------------------------


def _claude_settings(home: Path, project: Path) -> dict[Path, str]:
    mine = {"permissions": {"allow": ["Bash", "Agent", "mcp__mnemic"]}, "includeCoAuthoredBy": False}
    return {home / ".claude" / "settings.json": json.dumps(mine, indent=4) + "\n"}


def _claude_environment(home: Path) -> Environment:
    return {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _claude(prompt: str, resume: bool) -> tuple[list[Any], bytes]:
    return [programs() / "claude", "-p", *(["--continue"] if resume else []), "--", prompt], b""


# --- Codex -----------------------------------------------------------------------------------------------------------


def _codex_settings(home: Path, project: Path) -> dict[Path, str]:
    return {
        home / ".codex" / "config.toml": f"""# my own
model = "scripted"   # on this machine
model_provider = "loopback"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.loopback]
name = "loopback"
base_url = "http://127.0.0.1:{PORT}/v1"
wire_api = "responses"
env_key = "LOOPBACK_KEY"

[projects.{json.dumps(str(project))}]
trust_level = "trusted"
"""
    }


def _codex_environment(home: Path) -> Environment:
    return {"CODEX_HOME": str(home / ".codex"), "LOOPBACK_KEY": "none"}


def _codex(prompt: str, resume: bool) -> tuple[list[Any], bytes]:
    return [programs() / "codex", "exec", "--json", *(["resume", "--last"] if resume else []), prompt], b""


# --- Gemini CLI ------------------------------------------------------------------------------------------------------


def _gemini_settings(home: Path, project: Path) -> dict[Path, str]:
    return {
        home / ".gemini" / "settings.json": """{
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
  "tools": { "allowed": ["run_shell_command"] }
}
"""
    }


def _gemini_environment(home: Path) -> Environment:
    return {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{PORT}",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "NO_BROWSER": "true",
    }


def _gemini(prompt: str, resume: bool) -> tuple[list[Any], bytes]:
    program = programs().parent / "@google" / "gemini-cli" / "bundle" / "gemini.js"
    return ["node", program, "-p", prompt, *(["--resume", "latest"] if resume else []), "--approval-mode=yolo"], b""


# --- OpenCode --------------------------------------------------------------------------------------------------------


def _opencode_settings(home: Path, project: Path) -> dict[Path, str]:
    model = {"name": "Scripted", "tool_call": True, "limit": {"context": 100_000, "output": 4_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Loopback",
        "options": {"baseURL": f"http://127.0.0.1:{PORT}/v1", "apiKey": "none"},
        "models": {"scripted": model},
    }
    mine = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": "loopback/scripted",
        "small_model": "loopback/scripted",
        "enabled_providers": ["loopback"],
        "provider": {"loopback": provider},
    }
    folder = home / ".config" / "opencode"
    return {folder / "opencode.json": json.dumps(mine, indent="\t") + "\n"} | _opencode_library(folder)


def _opencode_library(folder: Path) -> dict[Path, str]:
    """What a plugin's folder holds once OpenCode has fetched its library there: without it, and without a network, each
    start waits for a minute.
    """
    library, inside = "@opencode-ai/plugin", "node_modules/@opencode-ai/plugin"
    version = json.loads((programs().parent / "opencode-ai" / "package.json").read_text("utf-8"))["version"]
    locked = {"name": "opencode", "lockfileVersion": 3, "requires": True}
    own = {"": {"dependencies": {library: version}}}
    return {
        folder / "package.json": json.dumps(own[""]),
        folder / "package-lock.json": json.dumps(locked | {"packages": own | {inside: {"version": version}}}),
        folder / "node_modules" / ".package-lock.json": json.dumps(
            locked | {"packages": {inside: {"version": version}}}
        ),
        folder / inside / "package.json": json.dumps({"name": library, "version": version}),
    }


def _opencode_environment(home: Path) -> Environment:
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {"npm_config_offline": "true"} | {f"OPENCODE_DISABLE_{name}": "1" for name in off}


def _opencode(prompt: str, resume: bool) -> tuple[list[Any], bytes]:
    inside = [path for path in programs().parent.glob("opencode-*/bin/opencode") if "musl" not in str(path)]
    # On standard input, since an argument would be put in quotation marks.
    return [inside[0], "run", "--format", "json", *(["--continue"] if resume else [])], prompt.encode()


def _sends(tool: str, kind: str) -> str:
    """A prompt that sends a subagent; what the main session says stands first, for the same mark ends both."""
    order = {"description": "count lamps", "subagent_type": kind, "prompt": f"Count the lamps. [[say {SENT}]]"}
    return f"Have them counted. [[say They are.]] [[do {tool} {json.dumps(order)}]]"


ASSISTANTS: dict[str, Assistant] = {
    one.name: one
    for one in (
        Assistant(
            name="claude-code",
            tools="mcp__mnemic__",
            shell=("Bash", "command"),
            settings=_claude_settings,
            environment=_claude_environment,
            command=_claude,
            transcripts=".claude/projects",
            subagent=_sends("Agent", "general-purpose"),
            compact="/compact",
            told_again=True,
        ),
        Assistant(
            name="codex",
            tools="mcp__mnemic__",
            shell=("exec_command", "cmd"),
            settings=_codex_settings,
            environment=_codex_environment,
            command=_codex,
            transcripts=".codex/sessions",
            subagent="",
            compact='Fill up. [[claim 250000]] [[do exec_command {"cmd": "echo full"}]] [[say Full.]]',
            told_again=True,
        ),
        Assistant(
            name="gemini-cli",
            tools="mcp_mnemic_",
            shell=("run_shell_command", "command"),
            settings=_gemini_settings,
            environment=_gemini_environment,
            command=_gemini,
            transcripts=".gemini/tmp",
            subagent="",
            compact="/compress",
            told_again=False,
        ),
        Assistant(
            name="opencode",
            tools="mnemic_",
            shell=("bash", "command"),
            settings=_opencode_settings,
            environment=_opencode_environment,
            command=_opencode,
            transcripts=".local/share/opencode/opencode.db",
            subagent=_sends("task", "general"),
            compact='Fill up. [[claim 99000]] [[do bash {"command": "echo full", "description": "x"}]] [[say Full.]]',
            told_again=False,
        ),
    )
}
