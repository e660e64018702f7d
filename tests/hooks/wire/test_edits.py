"""Whatever a configuration holds and whatever others do to it: what goes in comes out, and all else stays."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.hooks.wire.commands import Wiring
from mnemic.hooks.wire.edits import FileEdits, apply_edits, edit_states, edit_summary, remove_edits
from mnemic.hooks.wire.hosts import HOSTS
from mnemic.hooks.wire.settings_formats import ParseError, read_json

WIRING = Wiring(home=Path("/home/ada/it's a home"), environment={"HOME": "/home/ada"})
FILES = [
    (name, file) for name, host in HOSTS.items() for file in host.file_edits(WIRING) if file.format.startswith("json")
]
NAMES = st.sampled_from(["hooks", "mcpServers", "mcp", "permissions", "version", "$schema", "model", "", "é"])
EVENTS = st.sampled_from(["SessionStart", "Stop", "sessionStart", "stop", "BeforeAgent", "Other"])
COMMANDS = st.sampled_from(["say hi", "mnemic-hook", "~/x/mnemic-hook claude-code"])
HANDLERS = st.fixed_dictionaries({"type": st.just("command"), "command": COMMANDS}, optional={"timeout": st.integers()})
GROUPS = (
    st.fixed_dictionaries({"hooks": st.lists(HANDLERS, max_size=2)}, optional={"matcher": st.just("Bash")}) | HANDLERS
)
SERVERS = st.dictionaries(
    st.sampled_from(["github", "mnemic"]), st.fixed_dictionaries({"command": COMMANDS}), max_size=2
)
HOOKS = st.dictionaries(EVENTS, st.lists(GROUPS, max_size=3), max_size=3)
OTHER = st.none() | st.integers() | st.text(max_size=4) | st.lists(st.integers(), max_size=2)
CONFIGURATIONS = st.fixed_dictionaries(
    {},
    optional={
        "model": OTHER,
        "hooks": HOOKS,
        "mcpServers": SERVERS,
        "mcp": SERVERS,
        "é": OTHER,
        "permissions": st.fixed_dictionaries({}, optional={"allow": st.lists(st.text(max_size=3), max_size=2)}),
        "version": st.just(1),
    },
)
LAYOUTS = st.sampled_from([None, 1, 2, 4, "\t"])


def edited_by_others(value: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """What others make of a configuration, here and there, but not of what is Mnemic's."""
    value = copy.deepcopy(value)
    for _ in range(data.draw(st.integers(0, 4))):
        match data.draw(st.sampled_from(["set", "front", "behind", "server"])):
            case "set":
                value[data.draw(st.sampled_from(["model", "theirs", "é"]))] = data.draw(OTHER)
            case "server":
                for name in ("mcpServers", "mcp"):
                    if name in value:
                        value[name][data.draw(st.sampled_from(["theirs", "github"]))] = {"command": "theirs"}
            case where:
                for event in list(value.get("hooks", {})):
                    handler = {"hooks": [{"type": "command", "command": "theirs"}]}
                    value["hooks"][event].insert(0 if where == "front" else len(value["hooks"][event]), handler)
    return value


@settings(max_examples=80)
@given(st.sampled_from(FILES), CONFIGURATIONS, LAYOUTS)
def test_what_goes_into_any_configuration_comes_out_of_it(
    one: tuple[str, FileEdits], value: dict[str, Any], layout: int | str | None
) -> None:
    name, file = one
    text = json.dumps(value, indent=layout, ensure_ascii=False)
    wired = apply_edits(text, file, name)
    assert all(state == "wired" for _, state in edit_states(wired, file, name))
    assert apply_edits(wired, file, name) == wired
    assert remove_edits(wired, file, WIRING, name, text) == text


def test_what_is_put_into_a_file_is_said_in_a_few_words_and_so_is_what_it_lacked() -> None:
    told = {}
    for name, host in HOSTS.items():
        for file in host.file_edits(WIRING):
            wired = apply_edits("", file, name)
            told[f"{name} {file.path.name}"] = edit_summary("", wired, file, name)
            assert edit_summary(wired, "", file, name) == told[f"{name} {file.path.name}"]
            assert file.format in ("block", "whole") or edit_summary(wired, wired, file, name) == []
    assert told == {
        "claude-code settings.json": ["9 hooks", "5 reading tools allowed"],
        "claude-code .claude.json": ["the MCP server"],
        "claude-code CLAUDE.md": ["instructions"],
        "codex hooks.json": ["8 hooks"],
        "codex config.toml": ["the MCP server"],
        "codex AGENTS.md": ["instructions"],
        "gemini-cli settings.json": ["5 hooks", "the MCP server"],
        "gemini-cli mnemic.toml": ["5 reading tools allowed"],
        "gemini-cli GEMINI.md": ["instructions"],
        "cursor hooks.json": ["8 hooks"],
        "cursor mcp.json": ["the MCP server"],
        "opencode mnemic.js": ["a plugin"],
        "opencode opencode.json": ["the MCP server"],
        "opencode AGENTS.md": ["instructions"],
    }
    file = HOSTS["claude-code"].file_edits(WIRING)[0]
    allowed = json.dumps({"permissions": {"allow": ["mcp__mnemic__memory_get"]}})
    assert edit_summary(allowed, apply_edits(allowed, file, "claude-code"), file, "claude-code")[1].startswith("4 ")


@settings(max_examples=80)
@given(st.sampled_from(FILES), CONFIGURATIONS, LAYOUTS, LAYOUTS, st.data())
def test_what_others_do_to_it_in_between_survives(
    one: tuple[str, FileEdits],
    value: dict[str, Any],
    layout: int | str | None,
    theirs: int | str | None,
    data: st.DataObject,
) -> None:
    name, file = one
    text = json.dumps(value, indent=layout)
    wired = apply_edits(text, file, name)
    own = json.loads(wired)
    changed = edited_by_others(own, data)
    taken = json.loads(remove_edits(json.dumps(changed, indent=theirs), file, WIRING, name, text))
    assert "it's a home" not in json.dumps(taken)
    for name_ in ("model", "theirs", "é"):
        assert taken.get(name_, ...) == changed.get(name_, ...)
    assert json.dumps(taken).count('"theirs"') == json.dumps(changed).count('"theirs"')
    if changed == own:
        assert taken == value


@settings(max_examples=100)
@given(st.sampled_from(FILES), st.dictionaries(NAMES, OTHER, max_size=3))
def test_a_configuration_of_another_shape_is_refused_or_wired_and_never_half(
    one: tuple[str, FileEdits], value: dict[str, Any]
) -> None:
    name, file = one
    text = json.dumps(value)
    try:
        wired = apply_edits(text, file, name)
    except ParseError:
        assert not all(isinstance(value.get(edit.path[0], {}), dict) for edit in file.edits)
        return
    held = read_json(wired)
    assert {key: held[key] for key in value if key in ("model", "", "é")} == {
        key: one for key, one in value.items() if key in ("model", "", "é")
    }
