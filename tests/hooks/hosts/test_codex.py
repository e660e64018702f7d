"""Codex's rollouts: real ones, line for line, and the shapes that older versions write."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.events import to_text
from mnemic.hooks.hosts.codex import MAX_HELD_EVENTS
from mnemic.hooks.read.own_calls import is_own_tool

MAIN = "rollout-2026-11-21T23-39-06-01a2007a-543b-7ce0-a412-b59ce53ae4fd.jsonl"
SUBAGENT = "rollout-2026-11-21T23-39-22-01a2007a-9106-7550-b662-ccc1b7dfc47f.jsonl"
FORK = "rollout-2026-11-21T23-39-53-01a2007b-0c9d-70c0-88d1-3bd06a7b4f93.jsonl"
THREAD, AGENT, FORKED = (name[28:-6] for name in (MAIN, SUBAGENT, FORK))

# A real thread of six runs: shell calls that end well and badly, this memory's own tool (which is not taken), a patch
# applied and one refused, an image, a subagent that was given the history, a compaction.
MAIN_TABLE = r"""
injected system | <permissions instructions>…</permissions ins
injected system | # AGENTS.md instructions for /home/ana/shelf
injected system | <environment_context>⏎  <cwd>/home/ana/shelf
injected system | MARK-PLAIN-SessionStart
turn user |   When is a book due? ⏎@@THINK Read the rule
injected system | MARK-JSON-UserPromptSubmit
thinking assistant | Read the rule first.
tool_call assistant exec_command | exec_command⏎cmd: cat loans.py
tool_result tool exec_command ok | Chunk ID: f5f03c⏎Wall time: 0.0000 seconds⏎P
thinking assistant | Read the rule first.
tool_call assistant exec_command | exec_command⏎cmd: python3 -m pytest -q nowhe
tool_result tool exec_command failed | Chunk ID: f25be6⏎Wall time: 0.0000 seconds⏎P
thinking assistant | Read the rule first.
thinking assistant | Read the rule first.
turn assistant |  After 21 days.⏎
injected system | MARK-PLAIN-SessionStart
turn user | Patch it. @@TOGETHER@@ @@CALL exec_command {
injected system | MARK-JSON-UserPromptSubmit
tool_call assistant exec_command | exec_command⏎cmd: apply_patch <<"EOF"⏎*** Be
tool_call assistant exec_command | exec_command⏎cmd: apply_patch <<"EOF"⏎*** Be
tool_result tool exec_command ok | Wall time: 0.0000 seconds⏎Output:⏎Exit code:
tool_result tool exec_command failed | apply_patch verification failed: Failed to r
turn assistant | patched
injected system | MARK-PLAIN-SessionStart
turn user | Send a helper. @@CALL multi_agent_v1__spawn_
injected system | MARK-JSON-UserPromptSubmit
tool_call assistant multi_agent_v1__spawn_agent | multi_agent_v1__spawn_agent⏎fork_context: tr
tool_result tool multi_agent_v1__spawn_agent ok | {"agent_id":"01a2007a-9106-7550-b662-ccc1b7d
tool_call assistant exec_command | exec_command⏎cmd: sleep 3
tool_result tool exec_command ok | Chunk ID: eb3a81⏎Wall time: 2.9856 seconds⏎P
injected system | <subagent_notification>⏎{"agent_path":"01a20
turn assistant | sent
injected system | MARK-PLAIN-SessionStart
turn user | Fill up. @@TOKENS 250000@@ @@CALL exec_comma
injected system | MARK-JSON-UserPromptSubmit
tool_call assistant exec_command | exec_command⏎cmd: echo a
tool_result tool exec_command ok | Chunk ID: 993ce1⏎Wall time: 0.0014 seconds⏎P
summary system | Another language model started to solve this
injected system | MARK-PLAIN-SessionStart
turn assistant | Stub reply after compaction.
injected system | MARK-PLAIN-SessionStart
turn user | yes
injected system | MARK-JSON-UserPromptSubmit
turn assistant | Stub reply after compaction.
injected system | MARK-PLAIN-SessionStart
turn user | yes
injected system | MARK-JSON-UserPromptSubmit
turn assistant | Stub reply after compaction.
"""

# Its subagent: what was copied from its parent belongs to the parent, where it is known already.
SUBAGENT_TABLE = r"""
injected system | <permissions instructions>…</permissions ins
injected system | # AGENTS.md instructions for /home/ana/shelf
injected system | <environment_context>⏎  <cwd>/home/ana/shelf
injected system | MARK-PLAIN-SessionStart
turn user |   When is a book due? ⏎@@THINK Read the rule
injected system | MARK-JSON-UserPromptSubmit
injected system | MARK-PLAIN-SessionStart
turn user | Patch it. @@TOGETHER@@ @@CALL exec_command {
injected system | MARK-JSON-UserPromptSubmit
injected system | MARK-PLAIN-SessionStart
turn user | Send a helper. @@CALL multi_agent_v1__spawn_
injected system | MARK-JSON-UserPromptSubmit
injected system | MARK-JSON-SubagentStart
turn user | [[RUN]] Count. [[CALL exec_command {"cmd":"e
injected system | MARK-JSON-UserPromptSubmit
tool_call assistant exec_command | exec_command⏎cmd: echo two
tool_result tool exec_command ok | Chunk ID: f0466b⏎Wall time: 0.0000 seconds⏎P
turn assistant | Two books.
"""

# A fork of it, which keeps the history where it is; the second prompt was typed while the first was worked on.
FORK_TABLE = r"""
injected system | MARK-PLAIN-SessionStart
turn user | now on the fork
injected system | MARK-JSON-UserPromptSubmit
turn assistant | Stub reply after compaction.
turn user | Slow. @@CALL exec_command {"cmd":"sleep 3"}@
injected system | MARK-JSON-UserPromptSubmit
tool_call assistant exec_command | exec_command⏎cmd: sleep 3
tool_result tool exec_command ok | Chunk ID: 2d1f0e⏎Wall time: 2.9613 seconds⏎P
summary system | Another language model started to solve this
injected system | MARK-PLAIN-SessionStart
turn user | and mind the DVDs
injected system | MARK-JSON-UserPromptSubmit
turn assistant | Stub reply after compaction.
"""


def row(kind: str, payload: object, **more: object) -> dict[str, Any]:
    """A line as Codex writes it."""
    return {"timestamp": "2026-11-21T10:00:00Z", "type": kind, "payload": payload, **more}


META = row("session_meta", {"id": "t", "cwd": "/work", "git": {"branch": "main"}})


def message(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return row(
        "response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": t} for t in texts]}
    )


def shown(kind: str, text: str) -> dict[str, Any]:
    return row("event_msg", {"type": kind, "message": text})


@pytest.mark.parametrize(("name", "expected"), [(MAIN, MAIN_TABLE), (SUBAGENT, SUBAGENT_TABLE), (FORK, FORK_TABLE)])
def test_a_real_rollout_is_read_whole_and_once(table: Any, transcripts: Path, name: str, expected: str) -> None:
    assert table(transcripts / "codex" / name) == expected.strip("\n").split("\n")


def test_a_subagents_own_events_have_a_session_below_the_thread_and_copied_ones_the_threads(
    read: Any, transcripts: Path
) -> None:
    copied, own = [], []
    for event in read(transcripts / "codex" / SUBAGENT):
        (copied if event.session == THREAD else own).append(event)
    assert {event.session for event in own} == {f"{THREAD}/{AGENT}"}
    known = Counter((e.kind, e.role, e.text) for e in read(transcripts / "codex" / MAIN))
    assert not Counter((e.kind, e.role, e.text) for e in copied) - known


def test_a_line_gives_its_time_folder_and_id(read: Any, transcripts: Path) -> None:
    prompt = next(event for event in read(transcripts / "codex" / MAIN) if event.kind == "turn")
    assert (prompt.assistant, prompt.session, prompt.cwd) == ("codex", THREAD, "/home/ana/shelf")
    assert prompt.host_id is None
    assert prompt.source_id.startswith("01a2007a-")
    assert prompt.said_at // 1_000_000 == 1795304347


def test_hooks_and_rollouts_tell_the_same_prompts_calls_and_answers(read: Any, transcripts: Path) -> None:
    """The rule of identity; and why a turn's id is none: the fork's last two prompts share one."""
    events = {e for name in (MAIN, SUBAGENT, FORK) for e in read(transcripts / "codex" / name)}
    hooks = [json.loads(told) for told in (transcripts / "codex" / "hooks.log").read_text("utf-8").splitlines()]

    def session(hook: dict[str, Any]) -> str:
        return "/".join(filter(None, (hook["session_id"], hook.get("agent_id"))))

    turns = [e for name in (MAIN, FORK) for e in read(transcripts / "codex" / name) if e.kind == "turn"]
    turns += [e for e in read(transcripts / "codex" / SUBAGENT) if e.kind == "turn" and e.session != THREAD]
    asked = Counter((session(hook), hook["prompt"]) for hook in hooks if "prompt" in hook)
    assert asked == Counter((e.session, to_text(e.text)) for e in turns if e.role == "user")
    assert len({hook["turn_id"] for hook in hooks if "prompt" in hook}) == asked.total() - 1

    for hook_name, role in (("PreToolUse", "assistant"), ("PostToolUse", "tool")):
        for hook in (hook for hook in hooks if hook["hook_event_name"] == hook_name):
            key = (hook["tool_use_id"], role, session(hook))
            matching = [e for e in events if (e.host_id, e.role, e.session) == key]
            assert len(matching) == (0 if is_own_tool(hook["tool_name"]) else 1)

    answers = {(e.session, to_text(e.text)) for e in turns if e.role == "assistant"}
    told = {(session(h), h["last_assistant_message"]) for h in hooks if h.get("last_assistant_message")}
    assert told == answers


def test_rollouts_from_before_items_were_completed_are_read_once(table: Any, write: Any) -> None:
    path = write(
        META,
        message("user", "<environment_context>\n<cwd>/work</cwd>\n</environment_context>"),
        message("user", "hello"),
        shown("user_message", "hello"),
        shown("agent_reasoning", "hm"),
        row("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}),
        shown("agent_message", "hi"),
        message("assistant", "hi"),
        message("user", "yes"),
        shown("user_message", "yes"),
    )
    assert table(path) == [
        "injected system | <environment_context>⏎<cwd>/work</cwd>⏎</env",
        "turn user | hello",
        "thinking assistant | hm",
        "turn assistant | hi",
        "turn user | yes",
    ]


def test_a_prompt_that_looks_like_the_hosts_is_read_once_though_it_is_shown_too(table: Any, write: Any) -> None:
    typed = "<turn_aborted>why?</turn_aborted>"
    path = write(
        META,
        message("user", "hello"),
        shown("user_message", "hello"),
        message("user", typed),
        shown("user_message", typed),
    )
    assert table(path) == ["turn user | hello", f"injected system | {typed}"]


def test_rollouts_that_only_hold_what_the_model_read_are_read_in_order(table: Any, write: Any) -> None:
    bare = [told["payload"] for told in (message("user", "hello"), message("assistant", "hi"))]
    call = {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c"}
    output = {"type": "function_call_output", "call_id": "c", "output": '{"output":"a","metadata":{"exit_code":2}}'}
    first = {"id": "t", "timestamp": "2025-05-01T10:00:00Z", "instructions": None, "git": {}}
    path = write(first, {"record_type": "state"}, bare[0], call, output, bare[1])
    assert table(path) == [
        "turn user | hello",
        'tool_call assistant shell | shell⏎command: ["ls"]',
        'tool_result tool shell failed | {"output":"a","metadata":{"exit_code":2}}',
        "turn assistant | hi",
    ]


def test_turns_are_not_held_back_for_ever(write: Any, table: Any) -> None:
    developer = [message("developer", f"note {n}") for n in range(MAX_HELD_EVENTS + 5)]
    rows = table(write(META, message("user", "hello"), *developer, message("assistant", "hi")))
    assert rows[0] == "turn user | hello"
    assert rows[-1] == "turn assistant | hi"
    assert len(rows) == MAX_HELD_EVENTS + 7


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nx", "ok"),
        ("Exit code: 127\nWall time: 0 seconds\nOutput:\nnot found", "failed"),
        ("Process running with session ID 3\nOutput:\n", None),
        ("it said Exit code: 1", None),
        ('{"output":"","metadata":{"exit_code":0}}', "ok"),
        ('{"output":', None),
        ("apply_patch verification failed: no", "failed"),
        ({"content": "x", "success": False}, "failed"),
        ({"content": [{"type": "input_text", "text": "x"}], "success": True}, "ok"),
        ([{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "data:"}], None),
        (None, None),
    ],
)
def test_a_calls_outcome_is_taken_from_its_output(read: Any, write: Any, output: object, outcome: str | None) -> None:
    told = row("response_item", {"type": "function_call_output", "call_id": "c", "output": output})
    (event,) = read(write(META, told))
    assert (event.kind, event.outcome, event.host_id) == ("tool_result", outcome, "c")


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        ({"type": "exec_command_end", "exit_code": 1}, "failed"),
        ({"type": "patch_apply_end", "success": True}, "ok"),
        ({"type": "mcp_tool_call_end", "result": {"Ok": {"content": []}}}, "ok"),
        ({"type": "mcp_tool_call_end", "result": {"Ok": {"isError": True}}}, "failed"),
        ({"type": "mcp_tool_call_end", "result": {"Err": "no"}}, "failed"),
    ],
)
def test_what_the_program_showed_of_a_calls_end_decides(read: Any, write: Any, end: Any, outcome: str) -> None:
    told = row("response_item", {"type": "function_call_output", "call_id": "c", "output": "x"})
    (event,) = read(write(META, row("event_msg", {**end, "call_id": "c"}), told))
    assert event.outcome == outcome


def test_calls_of_every_type_are_rendered_with_their_names_and_files(read: Any, write: Any) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py \t\n+x\n*** Add File: c d.py\n*** End Patch"
    calls = read(
        write(
            META,
            row("response_item", {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "1"}),
            row("response_item", {"type": "local_shell_call", "call_id": "2", "action": {"command": ["ls", "-l"]}}),
            row("response_item", {"type": "web_search_call", "id": "3", "action": {"query": "weather"}}),
            row(
                "response_item",
                {"type": "function_call", "name": "view_image", "arguments": '{"path":"p.png"}', "call_id": "4"},
            ),
            row("response_item", {"type": "function_call", "name": "f", "arguments": "torn {", "call_id": "5"}),
        )
    )
    assert [(event.tool, event.host_id, event.files) for event in calls] == [
        ("apply_patch", "1", ("a.py", "b.py", "c d.py")),
        ("local_shell", "2", ()),
        ("web_search", None, ()),
        ("view_image", "4", ("p.png",)),
        ("f", "5", ()),
    ]
    assert to_text(calls[0].text) == f"apply_patch\n{patch}"
    assert to_text(calls[4].text) == "f\ntorn {"


def test_what_this_memory_told_is_not_taken_and_a_users_own_words_never_cut(table: Any, write: Any) -> None:
    told = "<mnemic-memory>\nlast time\n</mnemic-memory>"
    rules = "# AGENTS.md instructions for /work\nTabs.\n\n<!-- mnemic: begin -->\nAsk.\n<!-- mnemic: end -->\nNo more."
    path = write(
        META,
        message("developer", told),
        message("user", rules),
        message("developer", f"{told}\nother"),
        message("developer", "<mnemic-memory>\nand cut off by the ho"),
        shown("user_message", f"why did you say {told}"),
    )
    assert table(path) == [
        "injected system | # AGENTS.md instructions for /work⏎Tabs.⏎No",
        "injected system | other",
        "turn user | why did you say <mnemic-memory>⏎last time⏎</",
    ]


def test_lines_that_lack_what_they_need_are_malformed_and_the_rest_goes_on(table: Any, write: Any) -> None:
    path = write(
        message("user", "before there was a session"),
        row("session_meta", {"id": 3}),
        META,
        row("response_item", None),
        row("response_item", {"type": "message", "role": "narrator", "content": []}),
        row("response_item", {"type": "function_call_output", "output": "whose?"}),
        row("brand_new", {"any": "thing"}),
        shown("user_message", "hello"),
    )
    assert table(path, "codex") == [
        "malformed 1 | no session was named before it",
        "malformed 2 | a session without its id",
        "malformed 5 | a message without role or content",
        "malformed 6 | a tool's result without its call's id",
        "turn user | hello",
    ]


def test_copied_history_ends_at_the_first_turn_younger_than_the_thread(read: Any, write: Any) -> None:
    old, new, later = ("01a2007a-0000-7000-8000-00000000000" + digit for digit in "123")
    path = write(
        row("session_meta", {"id": new, "forked_from_id": old}),
        row("session_meta", {"id": old}),
        row("turn_context", {"turn_id": old, "cwd": "/work"}),
        message("user", "before"),
        row("turn_context", {"turn_id": later, "cwd": "/work"}),
        message("user", "after"),
    )
    assert [(event.session, to_text(event.text)) for event in read(path)] == [(old, "before"), (new, "after")]
