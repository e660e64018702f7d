"""The real Claude Code is told, once a call failed, what helped when it failed before; a scripted model on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader
from tests.assistants.programs import ASSISTANTS, World, programs
from tests.system.test_assistants import settled
from tests.waiting import until

pytestmark = pytest.mark.system

READ, WRITE = "cat tide-table.txt", "cp tides/april.txt tide-table.txt"


def do(*commands: str) -> str:
    """A prompt on which the model runs some commands, one after another."""
    return " ".join(f"[[do Bash {json.dumps({'command': command})}]]" for command in commands)


def bound(world: World) -> None:
    """Wait until all that is kept is bound."""

    def done() -> bool:
        folder, keys = open_mind(world.memory, "default")
        reader = open_reader(folder.store, keys)
        try:
            with reader.snapshot() as snapshot:
                return not snapshot.pending_binding_count()
        finally:
            reader.close()

    until(done)


def test_what_helped_before_is_before_the_model_once_a_session_and_in_the_log_word_for_word(tmp_path: Path) -> None:
    programs()
    world = World(tmp_path / "world", ASSISTANTS["claude-code"])
    install = ("hooks", "install", "claude-code", "--no-backfill", "--recall-failures", "--apply")
    assert world.mnemic(*install).returncode == 0
    try:
        (world.project / "tides").mkdir()
        (world.project / "tides" / "april.txt").write_text("6:10 high\n", "utf-8")
        world.say(f"Which tides? {do(READ, WRITE, READ)} [[say High at 6:10.]]")
        settled(world)
        bound(world)
        (world.project / "tide-table.txt").unlink()
        asked = [one["body"] for one in world.say(f"And now? {do(READ, READ)} [[say It is missing.]]")]
        told = [body for body in map(json.dumps, asked) if "failed like this once before" in body]
        assert told
        assert WRITE in told[0]
        assert "its like helped (1 of 1" in told[0]
        assert told[-1].count("failed like this once before") == 1  # of two failures in one session
        listed = world.mnemic("log", "--injected")
        assert listed.returncode == 0, listed.stderr
        assert WRITE in listed.stdout.decode()
    finally:
        world.mnemic("uninstall", "--yes")
