"""The real assistants, paused and switched off: what they say then is captured neither by hooks nor from transcripts.

Each has four sessions: one in a pause, one whose shell has switched the capture off, one that is told nothing, and one
as usual; then all that it has kept itself is taken in. Where the programs are not there, these tests are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader
from tests.assistants.programs import ASSISTANTS, World, programs
from tests.system.test_assistants import kept, settled

pytestmark = pytest.mark.system

KNOWN = "We decided: the pier lamp has 38 lumen from now on."
IN_IT, SWITCHED_OFF, UNTOLD = "Whisper in a pause.", "Whisper with the capture off.", "Say it, and be told nothing."
TOLD, PAUSED, UNKEPT = "Where we left off", "The memory is paused", "Nothing of this session is captured"
HEADLESS = ("claude-code", "codex", "opencode")
"""Those that say that nobody sits in front."""


@contextmanager
def switched(world: World, value: str) -> Iterator[None]:
    """Whatever is started meanwhile has this in its environment."""
    before = world.assistant
    environment = before.environment
    world.assistant = before._replace(environment=lambda home: {**environment(home), "MNEMIC_OFF": value})
    try:
        yield
    finally:
        world.assistant = before


def bodies(requests: list[dict[str, Any]]) -> str:
    return json.dumps([one["body"] for one in requests])


@pytest.mark.parametrize("name", ASSISTANTS)
def test_what_is_said_in_a_pause_or_with_the_capture_off_is_nowhere(name: str, tmp_path_factory: Any) -> None:
    programs()
    world = World(tmp_path_factory.mktemp(name) / "world", ASSISTANTS[name])
    assert world.mnemic("hooks", "install", name, "--no-backfill", "--apply").returncode == 0
    try:
        world.say(f"{KNOWN} [[say It is noted.]]")
        settled(world)
        assert world.mnemic("pause", "--for", "1h").returncode == 0
        paused = bodies(world.say(f"{IN_IT} [[say Hush.]]"))
        assert world.mnemic("resume").returncode == 0
        with switched(world, "capture"):
            unkept = bodies(world.say(f"{SWITCHED_OFF} [[say Hush.]]"))
        with switched(world, "recall"):
            untold = bodies(world.say(f"{UNTOLD} [[say Yes.]]"))
        settled(world)
        taken = world.mnemic("hooks", "install", name, "--backfill", "--apply")
        assert taken.returncode == 0, taken.stderr
        settled(world)
        prompts = {one.text.partition(" [[")[0] for one in kept(world) if (one.kind, one.role) == ("turn", "user")}
        assert prompts == {KNOWN, UNTOLD}
        assert (PAUSED in paused, TOLD in paused) == (True, True)
        assert (UNKEPT in unkept, TOLD in unkept) == (True, True)
        assert TOLD not in untold
        assert modes(world) == ({"headless"} if name in HEADLESS else {""})
        again = world.mnemic("capture", world.home / world.assistant.transcripts, "--json")
        assert again.returncode == 0, again.stderr
        assert json.loads(again.stdout)["new"] > 0, "its owner asks for it"
    finally:
        world.mnemic("uninstall", "--yes")


def modes(world: World) -> set[str]:
    """How the sessions of a world are held."""
    folder, keys = open_mind(world.memory, "default")
    reader = open_reader(folder.store, keys)
    try:
        with reader.snapshot() as snapshot:
            rows = snapshot._db.execute("SELECT DISTINCT mode FROM sessions").fetchall()
            return {str(mode) for (mode,) in rows}
    finally:
        reader.close()
