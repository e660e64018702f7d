"""The real Claude Code, Codex, Gemini CLI and OpenCode, wired by one command, with a scripted model on loopback.

Each has two sessions: in the first a decision, a tool call that fails, one that succeeds and an answer; in the second
the model asks the memory itself. Then what reached the model, what the store holds, and what uninstalling leaves.
Where the programs are not there, these tests are skipped.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mnemic.actors.recall.messages import Memory
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader
from tests.assistants.programs import ASSISTANTS, SENT, World, programs
from tests.waiting import until

pytestmark = pytest.mark.system

DECISION = "We decided: the pier lamp has 38 lumen from now on."
QUESTION = "How bright is the lamp?"
ANSWER = "It has 38 lumen, as you decided."
AGAIN = "And which lamp is it?"
TOLD = "Where we left off"
ECHO, LAMP = re.compile("echo (?:dark|lit)"), re.compile(r"\b(?:dark|lit)\b")


class Story(NamedTuple):
    """What an assistant went through, and what came of it."""

    world: World
    before: dict[Path, bytes]
    """Its settings before anything was installed."""
    untouched: dict[Path, bytes]
    """The same after a preview."""
    second: list[Any]
    """Bodies of the requests of the second session."""
    compacted: list[Any]
    """Bodies of the requests of its compaction, and of a prompt after it."""


def settings_of(world: World) -> dict[Path, bytes]:
    """The assistant's own settings, those that somebody else makes meanwhile included."""
    return {path: path.read_bytes() for path in world.assistant.settings(world.home, world.project)}


def settled(world: World) -> None:
    """Wait until all that hooks kept, and every transcript of a session that is over, is in the store."""

    def quiet() -> bool:
        said = world.mnemic("status", "--json")
        assert said.returncode == 0, said.stderr
        capture = json.loads(said.stdout)["capture"]
        return not capture["backlog"]["size_bytes"] and not capture["transcripts"]

    until(quiet)


def kept(world: World) -> list[Memory]:
    """Everything that the store holds."""
    folder, keys = open_mind(world.memory, "default")
    reader = open_reader(folder.store, keys)
    try:
        with reader.snapshot() as snapshot:
            return snapshot.load_memories([int(row) for row in snapshot.memory_columns(0).row])
    finally:
        reader.close()


@pytest.fixture(scope="module", params=ASSISTANTS)
def story(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """The two sessions of one assistant."""
    programs()
    world = World(tmp_path_factory.mktemp(request.param) / "world", ASSISTANTS[request.param])
    before = settings_of(world)
    install = ("hooks", "install", world.assistant.name, "--no-backfill")
    assert world.mnemic(*install).returncode == 0
    untouched = settings_of(world)
    applied = world.mnemic(*install, "--apply")
    assert applied.returncode == 0, applied.stderr
    tool, argument = world.assistant.shell
    fails, works = ({argument: command} for command in ("echo dark; exit 3", "echo lit"))
    try:
        world.say(f"{DECISION} [[do {tool} {json.dumps(fails)}]] [[do {tool} {json.dumps(works)}]] [[say It is lit.]]")
        settled(world)
        asks = f'[[do {world.assistant.tools}memory_recall {{"query": "how bright is the lamp of the pier"}}]]'
        second = world.say(f"{QUESTION} {asks} [[say {ANSWER}]]")
        if world.assistant.subagent:
            world.say(world.assistant.subagent, resume=True)
        compacted = world.say(world.assistant.compact, resume=True) + world.say(AGAIN, resume=True)
        settled(world)
        yield Story(world, before, untouched, *([one["body"] for one in part] for part in (second, compacted)))
    finally:
        world.mnemic("uninstall", "--yes")


def test_a_preview_changes_nothing(story: Story) -> None:
    assert story.untouched == story.before


def test_the_decision_is_before_the_model_when_the_second_session_starts(story: Story) -> None:
    (first, *_) = [body for body in map(json.dumps, story.second) if QUESTION in body]
    assert "38 lumen" in first
    assert TOLD in first


def test_what_the_model_asks_the_memory_is_answered(story: Story) -> None:
    answered = [body for body in map(json.dumps, story.second) if "scope_found" in body]
    assert answered
    assert "38 lumen" in answered[-1].partition("scope_found")[0] + answered[-1].partition("scope_found")[2]


def test_the_store_holds_each_prompt_reply_call_and_result_once(story: Story) -> None:
    found = Counter((one.kind, one.role, one.text.partition(" [[")[0]) for one in kept(story.world))
    assert found["turn", "user", DECISION] == 1
    assert found["turn", "user", QUESTION] == 1
    assert found["turn", "assistant", "It is lit."] == 1
    assert found["turn", "assistant", ANSWER] == 1
    memories = kept(story.world)
    calls = [one for one in memories if one.kind == "tool_call" and ECHO.search(one.text)]
    results = [one for one in memories if one.kind == "tool_result" and LAMP.search(one.text)]
    assert [("exit 3" in one.text, "echo lit" in one.text) for one in calls] == [
        (True, False),
        (False, True),
    ]
    assert [("dark" in one.text, one.outcome) for one in results] == [(True, "failed"), (False, "ok")]
    assert {(one.scope, one.branch) for one in memories if (one.kind, one.role) == ("turn", "user")} == {
        ("pier", "jetty")
    }


def test_its_transcripts_captured_once_more_add_nothing(story: Story) -> None:
    again = story.world.mnemic("capture", story.world.home / story.world.assistant.transcripts, "--json")
    assert again.returncode == 0, again.stderr
    captured = json.loads(again.stdout)
    assert captured["known"] > 0
    assert captured["new"] == 0


def test_what_the_memory_was_asked_or_gave_is_not_in_it(story: Story) -> None:
    texts = [one.text for one in kept(story.world)]
    assert [text for text in texts if TOLD in text] == []
    assert [text for text in texts if "scope_found" in text] == []
    assert sum(DECISION in text for text in texts) == 1


def test_a_subagents_words_are_kept_in_a_session_of_its_own(story: Story) -> None:
    if not story.world.assistant.subagent:
        pytest.skip(f"{story.world.assistant.name} sends no subagent by a script of one step")
    memories = kept(story.world)
    (sent,) = [one for one in memories if one.text == SENT and one.role == "assistant" and one.kind == "turn"]
    parents = {one.session for one in memories if one.text == QUESTION or one.text.startswith("Have")}
    assert sent.session.partition("/")[0] in parents
    assert sent.session not in parents


def test_after_a_compaction_the_model_is_told_again_and_the_session_goes_on_once(story: Story) -> None:
    told = any(TOLD in body and AGAIN in body for body in map(json.dumps, story.compacted))
    assert told or not story.world.assistant.told_again
    found = Counter(one.text for one in kept(story.world) if one.kind == "turn" and one.role == "user")
    assert found[AGAIN] == 1


def test_uninstalling_leaves_the_settings_as_they_were(story: Story) -> None:
    undone = story.world.mnemic("hooks", "uninstall", story.world.assistant.name, "--apply")
    assert undone.returncode == 0, undone.stderr
    assert settings_of(story.world) == story.before
