"""What `mnemic hooks export` writes, given to the programs it is for: Claude Code, Codex, and the CLI of mcpb.

The plugin has three sessions of Claude Code with a scripted model: one before Mnemic is set up, one that decides
something, and one that asks. Where a program is not there, its tests are skipped.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from mnemic.hooks.wire.exports import PLUGIN_PLACE
from mnemic.hooks.wire.host import INSTRUCTIONS
from tests.assistants.model import words
from tests.assistants.programs import ASSISTANTS, COMMAND, TIMEOUT_S, World, programs
from tests.paths import ROOT
from tests.system.test_assistants import DECISION, TOLD, kept, settled

pytestmark = pytest.mark.system

SERVER = "mcp__plugin_mnemic_mnemic__"
KEPT = "Lamps of the pier are bought from Bea."
REMEMBER = f"/mnemic:remember {KEPT}"
QUESTION = "Who sells lamps of the pier?"
MISSING = "Mnemic is not set up on this machine"


class Story(NamedTuple):
    """What Claude Code went through with the plugin."""

    world: World
    validated: list[str]
    """What it says of the marketplace and of the plugin."""
    first: list[Any]
    """Bodies of the requests of the session before Mnemic was set up."""
    setup: dict[str, Any]
    """What `mnemic setup` says then."""
    remembered: list[Any]
    """Bodies of the requests of a session that is told to remember something."""
    recalled: list[Any]
    """Bodies of the requests of one that asks."""
    prompted: list[Any]
    """Bodies of the requests of one that begins with the MCP prompt."""


def plugin_world(folder: Path) -> World:
    """A user of Claude Code who is asked about every tool of Mnemic's, and whose memory is where a variable says."""
    claude = ASSISTANTS["claude-code"]
    mine = {"permissions": {"allow": ["Bash"]}, "includeCoAuthoredBy": False}
    return World(
        folder,
        claude._replace(
            tools=SERVER,
            settings=lambda home, project: {home / ".claude" / "settings.json": json.dumps(mine)},
            environment=lambda home: claude.environment(home) | {"MNEMIC_HOME": str(folder / "the memory's home")},
        ),
    )


def claude(world: World, *arguments: object) -> str:
    """Run `claude plugin`; returns what it says."""
    ran = subprocess.run(
        [programs() / "claude", "plugin", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=world.environment,
        cwd=world.project,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def install_plugin(world: World, folder: Path) -> list[str]:
    """Write the plugin, and have Claude Code take it from the marketplace that the folder is then."""
    written = world.mnemic("hooks", "export", "claude-code-plugin", folder, "--apply")
    assert written.returncode == 0, written.stderr
    validated = [claude(world, "validate", place) for place in (folder, folder / PLUGIN_PLACE)]
    claude(world, "marketplace", "add", folder)
    claude(world, "install", "mnemic@mnemic")
    return validated


def transcript(world: World) -> str:
    """All that Claude Code has written of its sessions."""
    return "".join(path.read_text("utf-8") for path in world.home.glob(".claude/projects/**/*.jsonl"))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    programs()
    folder = tmp_path_factory.mktemp("plugin")
    world = plugin_world(folder / "world")
    validated = install_plugin(world, folder / "exported")
    try:
        first = world.say("Anybody there? [[say Yes.]]")
        setup = world.mnemic("setup", "--yes", "--no-backfill", "--json")
        assert setup.returncode == 0, setup.stderr
        # In it Claude Code (2.1.197) keeps which servers of plugins failed, and tries none of them for 15 minutes.
        (world.home / ".claude" / "mcp-needs-auth-cache.json").unlink(missing_ok=True)
        keeps = f"[[do {SERVER}memory_capture {json.dumps({'text': KEPT})}]] [[say Kept.]]"
        world.say(f"{DECISION} [[say So it is.]]")
        remembered = world.say(f"{REMEMBER} {keeps}")
        settled(world)
        asks = f"[[do {SERVER}memory_recall {json.dumps({'query': QUESTION})}]] [[say Bea.]]"
        recalled = world.say(f"/mnemic:recall {QUESTION} {asks}")
        settled(world)
        prompted = world.say("/mcp__plugin_mnemic_mnemic__session_context")
        settled(world)
        said = [[one["body"] for one in part] for part in (first, remembered, recalled, prompted)]
        yield Story(world, validated, said[0], json.loads(setup.stdout), *said[1:])
    finally:
        world.mnemic("uninstall", "--yes")


def test_claude_code_accepts_the_marketplace_and_the_plugin(story: Story) -> None:
    assert ["Validation passed" in told for told in story.validated] == [True, True]


def test_before_mnemic_is_set_up_a_session_goes_on_and_its_user_is_told_what_to_install(story: Story) -> None:
    assert any("Anybody there?" in json.dumps(body) for body in story.first)
    assert MISSING in transcript(story.world)


def test_setup_leaves_to_the_plugin_what_it_does(story: Story) -> None:
    assert story.setup["hosts"]["claude-code"]["by_plugin"]
    settings = json.loads((story.world.home / ".claude" / "settings.json").read_text("utf-8"))
    assert "hooks" not in settings
    status = json.loads(story.world.mnemic("hooks", "status", "claude-code", "--json").stdout)
    assert (status["hosts"]["claude-code"]["plugin"], status["hosts"]["claude-code"]["state"]) == (True, "ok")


def test_its_hooks_keep_each_turn_once(story: Story) -> None:
    found = Counter((one.role, one.text.partition(" [[")[0]) for one in kept(story.world) if one.kind == "turn")
    assert found["user", DECISION] == 1
    assert found["assistant", "So it is."] == 1


def test_a_session_is_told_what_the_one_before_decided(story: Story) -> None:
    assert any(TOLD in body and "38 lumen" in body for body in map(json.dumps, story.recalled))


def test_remember_and_recall_run_without_asking(story: Story) -> None:
    assert [(one.text, one.assistant) for one in kept(story.world) if one.kind == "note"] == [(KEPT, "mcp:claude-code")]
    answered = [body for body in map(json.dumps, story.recalled) if "scope_found" in body]
    assert answered
    assert KEPT in answered[-1]


def test_the_mcp_prompt_gives_what_a_sessions_start_is_told(story: Story) -> None:
    users = [words(one["content"]) for one in story.prompted[-1]["messages"] if one["role"] == "user"]
    assert any(TOLD in text and "38 lumen" in text for text in users)


def test_what_it_asked_the_memory_is_not_in_it(story: Story) -> None:
    texts = [one.text for one in kept(story.world)]
    assert [text for text in texts if TOLD in text or "scope_found" in text] == []


def test_beside_an_install_the_hooks_of_the_plugin_stand_back(tmp_path: Path) -> None:
    programs()
    world = plugin_world(tmp_path / "world")
    assert world.mnemic("hooks", "install", "claude-code", "--no-backfill", "--apply").returncode == 0
    install_plugin(world, tmp_path / "exported")
    try:
        world.say(f"{DECISION} [[say So it is.]]")
        settled(world)
        second = world.say("Which lamp? [[say That one.]]")
        settled(world)
        found = Counter((one.role, one.text.partition(" [[")[0]) for one in kept(world) if one.kind == "turn")
        assert found["user", DECISION] == found["assistant", "So it is."] == 1
        (asked,) = [text for text in map(json.dumps, (one["body"] for one in second)) if "Which lamp?" in text]
        assert asked.count(TOLD) == 1
        status = json.loads(world.mnemic("hooks", "status", "claude-code", "--json").stdout)
        assert any("its plugin is enabled too" in note for note in status["hosts"]["claude-code"]["notes"])
    finally:
        world.mnemic("uninstall", "--yes")


def test_codex_reads_the_block_of_a_projects_agents_md(tmp_path: Path) -> None:
    programs()
    world = World(tmp_path / "world", ASSISTANTS["codex"])
    written = world.mnemic("hooks", "export", "agents-md", world.project / "AGENTS.md", "--apply")
    assert written.returncode == 0, written.stderr
    heard = world.say("Hello. [[say Hello.]]")
    told = [text for one in heard for text in _texts(one["body"])]
    assert any(INSTRUCTIONS.strip() in text for text in told)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def test_mcpb_accepts_the_bundle(tmp_path: Path) -> None:
    mcpb = shutil.which("mcpb") or ROOT / "build" / "assistants" / "node_modules" / ".bin" / "mcpb"
    if not Path(mcpb).exists():
        pytest.skip("mcpb is not installed: npm install @anthropic-ai/mcpb")
    packed, unpacked = tmp_path / "mnemic.mcpb", tmp_path / "unpacked"
    subprocess.run([COMMAND, "hooks", "export", "mcpb", packed, "--apply"], check=True, capture_output=True)
    for arguments in (["unpack", packed, unpacked], ["validate", unpacked], ["info", packed]):
        ran = subprocess.run([mcpb, *arguments], capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_server_in_the_bundle_starts_as_its_manifest_says_and_lists_its_tools(tmp_path: Path) -> None:
    home, unpacked = tmp_path / "home", tmp_path / "unpacked"
    home.mkdir(mode=0o700)
    packed = tmp_path / "mnemic.mcpb"
    subprocess.run([COMMAND, "hooks", "export", "mcpb", packed, "--apply"], check=True, capture_output=True)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(unpacked)
    manifest = json.loads((unpacked / "manifest.json").read_text("utf-8"))
    config = _filled(manifest["server"]["mcp_config"], unpacked, {"home": str(home), "mind": "default"})
    environment = {"HOME": str(tmp_path), "PATH": f"{COMMAND.parent}:/usr/bin:/bin"} | config["env"]
    server = StdioServerParameters(command=config["command"], args=config["args"], env=environment, cwd=tmp_path)

    async def ask() -> tuple[set[str], set[str], Any]:
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            tools, prompts = await session.list_tools(), await session.list_prompts()
            kept_now = await session.call_tool("memory_capture", {"text": KEPT})
            return {one.name for one in tools.tools}, {one.name for one in prompts.prompts}, kept_now

    try:
        tools, prompts, captured = asyncio.run(ask())
    finally:
        subprocess.run([COMMAND, "uninstall", "--yes", "--home", home], check=False, capture_output=True)
    assert {"memory_recall", "memory_capture"} <= tools
    assert prompts == {"session_context"}
    assert captured.structured_content["created"]
    assert (home / "minds" / "default").is_dir()


def _filled(value: Any, folder: Path, chosen: dict[str, str]) -> Any:
    """A part of a manifest with its variables as a host fills them in."""
    text = json.dumps(value).replace("${__dirname}", str(folder))
    for name, one in chosen.items():
        text = text.replace(f"${{user_config.{name}}}", one)
    return json.loads(text)
