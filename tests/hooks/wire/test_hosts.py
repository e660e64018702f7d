"""Which hosts are meant, what each wires, and what its own settings say about hooks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.hooks.read.records import ADAPTERS
from mnemic.hooks.wire.commands import ASSISTANTS, event_in_command
from mnemic.hooks.wire.edits import FileEdits, Hook, Member
from mnemic.hooks.wire.host import READ_ONLY_TOOLS
from mnemic.hooks.wire.hosts import HOSTS, plugin_command, select_hosts
from mnemic.runtime.serve.mcp.fact_tools import FACT_TOOLS
from mnemic.runtime.serve.mcp.memory_tools import MEMORY_TOOLS
from mnemic.runtime.serve.mcp.recall_tools import RECALL_TOOLS
from mnemic.runtime.serve.mcp.status_tools import STATUS_TOOLS
from mnemic.runtime.serve.mcp.tool_schemas import READ_ONLY
from tests.hooks.wirings import user
from tests.paths import ROOT

EVENTS = {
    "session-start",
    "prompt",
    "tool",
    "tool-failed",
    "subagent",
    "compaction",
    "compacted",
    "reply",
    "session-end",
}
HERE = ROOT


def test_an_unknown_assistant_is_told_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue) as raised:
        select_hosts(["claude"], {"HOME": str(tmp_path)})
    assert all(name in raised.value.remedy_text for name in (*ASSISTANTS, "all"))


def test_all_are_those_whose_folder_or_program_is_here(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "bin" / "codex").chmod(0o755)
    hosts, left_out = select_hosts(["all"], {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")})
    assert [host.name for host in hosts] == ["codex", "cursor"]
    assert left_out["claude-code"] == "there is no ~/.claude, and no claude in $PATH"
    assert set(left_out) == {"claude-code", "gemini-cli", "opencode"}
    named, none = select_hosts(["opencode", "opencode"], {"HOME": str(tmp_path)})
    assert ([host.name for host in named], none) == (["opencode"], {})


@pytest.mark.parametrize("name", ASSISTANTS)
def test_a_host_wires_the_main_events_under_their_own_names_and_no_tool_before_it_runs(name: str) -> None:
    host = HOSTS[name]
    assert {"session-start", "prompt", "tool", "reply", "session-end"} <= host.events.keys() <= EVENTS
    assert len(set(host.events.values())) == len(host.events)
    assert not {"PreToolUse", "preToolUse", "BeforeTool"} & set(host.events.values())
    assert name in ADAPTERS


@pytest.mark.parametrize("name", ASSISTANTS)
def test_what_gives_memories_is_asked_at_a_sessions_start_and_at_prompts_only_where_that_is_wanted(
    tmp_path: Path, name: str
) -> None:
    for wanted in (False, True):
        one = user(tmp_path / str(wanted), name).again(recall_prompts=wanted)
        hooks = [edit for file in one.host.file_edits(one.wiring) for edit in file.edits if isinstance(edit, Hook)]
        asking = {
            event_in_command(hook.handler["command"], name) for hook in hooks if " --ask " in hook.handler["command"]
        }
        updates = [event for event in one.host.events if "--updates" in one.wiring.asks(name, event)]
        assert updates == ([] if wanted or name == "cursor" else ["prompt"]), "what replaced something, unless all is"
        if hooks:
            assert asking - {"tool-failed"} == {"session-start"} | ({"prompt"} if wanted else set())
        else:
            one.install()
            plugin = one.files()[".config/opencode/plugins/mnemic.js"].decode()
            given = re.findall(r"^const GIVEN = .*$", plugin, re.MULTILINE)[0]
            assert ('"--ask"' in given, '"--updates"' in given) == (wanted, not wanted)


@pytest.mark.parametrize("name", ASSISTANTS)
def test_claude_code_alone_asks_what_helped_once_a_call_failed_unless_that_is_off(tmp_path: Path, name: str) -> None:
    assert not user(tmp_path / "off", name).again(recall_failures=False).wiring.asks(name, "tool-failed")
    one = user(tmp_path, name)
    hooks = [edit for file in one.host.file_edits(one.wiring) for edit in file.edits if isinstance(edit, Hook)]
    asking = {event_in_command(one.handler["command"], name) for one in hooks if " --ask " in one.handler["command"]}
    assert asking == ({"session-start"} if hooks else set()) | ({"tool-failed"} if name == "claude-code" else set())


@pytest.mark.parametrize("name", ASSISTANTS)
def test_every_host_gets_the_mcp_server_and_every_one_with_a_file_for_it_the_instructions(
    tmp_path: Path, name: str
) -> None:
    one = user(tmp_path, name)
    files = one.host.file_edits(one.wiring)
    servers = [edit for file in files for edit in file.edits if isinstance(edit, Member) and edit.path[-1] == "mnemic"]
    assert len(servers) == 1
    blocks = [file for file in files if file.format == "block"]
    assert len(blocks) == (0 if name == "cursor" else 1)
    assert bool(blocks) or any(
        "Rules" in note for note in one.host.notes(one.wiring, one.host.folder(one.wiring.environment))
    )


@pytest.mark.parametrize("name", ASSISTANTS)
def test_each_hosts_file_cites_its_documentation(name: str) -> None:
    source = (HERE / "hooks" / "wire" / "hosts.py").read_text("utf-8")
    _, found, part = source.partition(f"# --- {HOSTS[name].title} ---")
    assert found
    assert len(re.findall(r"https://\S+", part.partition("\n# --- ")[0])) >= 3


def test_the_tools_that_pass_without_asking_are_those_that_only_read() -> None:
    rows = (*RECALL_TOOLS, *MEMORY_TOOLS, *FACT_TOOLS, *STATUS_TOOLS)
    assert {row.answer.__name__ for row in rows if row.annotations is READ_ONLY} == set(READ_ONLY_TOOLS)


@pytest.mark.parametrize(
    ("name", "path", "content", "blocked"),
    [
        ("claude-code", ".claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("claude-code", ".claude/settings.json", '{"disableAllHooks": false}', ""),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n", "false in features.hooks"),
        ("codex", ".codex/config.toml", "[features]\nother = false\n", ""),
        ("gemini-cli", ".gemini/settings.json", '{"hooksConfig": {"enabled": false}} // off', "hooksConfig.enabled"),
        ("gemini-cli", ".gemini/settings.json", '{"hooksConfig": {"disabled": ["mnemic"]}}', "hooksConfig.disabled"),
        ("gemini-cli", ".gemini/settings.json", '{"hooksConfig": {"disabled": ["other"]}}', ""),
        ("gemini-cli", ".gemini/settings.json", "{", ""),
    ],
)
def test_a_setting_of_the_hosts_own_that_keeps_hooks_from_running_is_seen(
    tmp_path: Path, name: str, path: str, content: str, blocked: str
) -> None:
    one = user(tmp_path, name)
    (one.folder / path).parent.mkdir(parents=True)
    (one.folder / path).write_text(content, "utf-8")
    said = one.host.blocked_reason(one.wiring.environment)
    assert blocked in said
    assert bool(said) is bool(blocked)


def test_timeouts_are_in_the_hosts_own_unit_and_within_what_it_allows(tmp_path: Path) -> None:
    timeouts = {
        (name, edit.path[-1]): edit.handler["timeout"]
        for name in ASSISTANTS
        for file in HOSTS[name].file_edits(user(tmp_path / name, name).wiring)
        for edit in file.edits
        if isinstance(edit, Hook)
    }
    assert timeouts["codex", "SessionEnd"] <= 3
    assert timeouts["claude-code", "SessionEnd"] == 5
    assert all((timeout >= 1000) is (name == "gemini-cli") for (name, _), timeout in timeouts.items())


def paths(files: list[FileEdits], folder: Path) -> set[str]:
    return {str(file.path.relative_to(folder)) for file in files}


def test_folders_that_variables_name_are_used(tmp_path: Path) -> None:
    moved = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "user" / "c"),
        "CODEX_HOME": str(tmp_path / "user" / "x"),
        "GEMINI_CLI_HOME": str(tmp_path / "user" / "g"),
        "XDG_CONFIG_HOME": str(tmp_path / "user" / "o"),
    }
    one = user(tmp_path, "codex")
    wiring = one.wiring.__class__(home=one.wiring.home, environment={**one.wiring.environment, **moved})
    found = {name: paths(host.file_edits(wiring), one.folder) for name, host in HOSTS.items()}
    assert found["claude-code"] == {"c/settings.json", "c/.claude.json", "c/CLAUDE.md"}
    assert found["codex"] == {"x/hooks.json", "x/config.toml", "x/AGENTS.md"}
    assert found["gemini-cli"] == {"g/.gemini/settings.json", "g/.gemini/policies/mnemic.toml", "g/.gemini/GEMINI.md"}
    assert found["opencode"] == {"o/opencode/plugins/mnemic.js", "o/opencode/opencode.json", "o/opencode/AGENTS.md"}


def test_instructions_go_into_the_file_that_the_host_reads(tmp_path: Path) -> None:
    gemini, codex = user(tmp_path / "g", "gemini-cli", "renamed"), user(tmp_path / "c", "codex", "bare")
    assert ".gemini/AGENTS.md" in paths(gemini.host.file_edits(gemini.wiring), gemini.folder)
    assert ".codex/AGENTS.override.md" in paths(codex.host.file_edits(codex.wiring), codex.folder)


def test_opencode_is_not_kept_from_the_instructions_it_borrows(tmp_path: Path) -> None:
    one = user(tmp_path, "opencode")
    claudes = one.folder / ".claude" / "CLAUDE.md"
    claudes.parent.mkdir()
    claudes.write_text("# Mine\n", "utf-8")
    assert ".config/opencode/AGENTS.md" not in paths(one.host.file_edits(one.wiring), one.folder)
    assert any("CLAUDE.md" in note for note in one.host.notes(one.wiring, one.host.folder(one.wiring.environment)))
    user_of_claude = user(tmp_path / "other", "claude-code")
    user_of_claude.install()
    assert ".config/opencode/AGENTS.md" in paths(
        HOSTS["opencode"].file_edits(user_of_claude.wiring), user_of_claude.folder
    )


def test_opencodes_settings_are_the_file_that_is_there(tmp_path: Path) -> None:
    one = user(tmp_path, "opencode", "plain")
    assert ".config/opencode/opencode.jsonc" in paths(one.host.file_edits(one.wiring), one.folder)


def test_the_plugin_says_what_it_runs_and_other_plugins_do_not(tmp_path: Path) -> None:
    one = user(tmp_path, "opencode", home='it\'s "x" \u2028\\').again(recall_prompts=True)
    one.install()
    plugin = one.files()[".config/opencode/plugins/mnemic.js"].decode()
    assert plugin_command(plugin) == [one for one in one.wiring.hook_argv("opencode", "prompt") if one != "--ask"]
    for other in ("", "const HOOK = 1\nconst GIVEN = 2\n", 'const HOOK = "x"\nconst GIVEN = [\n'):
        assert plugin_command(other) is None


def test_geminis_policy_lets_the_reading_tools_of_this_server_pass_and_no_other(tmp_path: Path) -> None:
    one = user(tmp_path, "gemini-cli")
    one.install()
    (rule,) = tomllib.loads(one.files()[".gemini/policies/mnemic.toml"].decode())["rule"]
    assert (rule["mcpName"], rule["toolName"], rule["decision"]) == ("mnemic", list(READ_ONLY_TOOLS), "allow")
