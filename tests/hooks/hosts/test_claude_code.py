"""Claude Code's transcripts: real ones, line for line, and the shapes that other versions write."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.events import Event, to_text
from mnemic.hooks.read.own_calls import is_own_tool

SESSION = "5e55101e-0000-4000-8000-0000000000f1"
AGENT = "aec622a038c235cdc"

# A real session of nine runs: thinking, parallel calls, this memory's own tool (which is not taken), a subagent, a
# command, a compaction, an error of the model's host, an image, a message typed while the assistant worked, an
# interruption.
MAIN = r"""
injected system | MARK-PLAIN-SessionStart
turn user | When is a book due back? @@THINK The rule is
injected system | MARK-JSON-UserPromptSubmit
thinking assistant | The rule is in loans.py.
turn assistant | I will read the loan rule.
tool_call assistant Read | Read⏎file_path: /home/ana/shelf/loans.py
tool_result tool Read ok | 1	def due(book):⏎2	    return book.lent_on +
thinking assistant | The rule is in loans.py.
turn assistant | I will read the loan rule.
tool_call assistant Edit | Edit⏎replace_all: false⏎file_path: /home/ana
tool_result tool Edit ok | The file /home/ana/shelf/loans.py has been u
thinking assistant | The rule is in loans.py.
turn assistant | Books are due after 28 days now.
turn user | Check it. @@TOGETHER@@ @@CALL Bash {"command
injected system | MARK-JSON-UserPromptSubmit
tool_call assistant Bash | Bash⏎command: cat loans.py⏎grep -c 28 loans.
tool_call assistant Bash | Bash⏎command: python3 -m pytest -q nowhere.p
tool_result tool Bash ok | def due(book):⏎    return book.lent_on + 28⏎
tool_result tool Bash failed | Exit code 1⏎/usr/bin/python3: No module name
turn assistant | pytest is not installed.
turn user | Send a helper. @@CALL Agent {"description":"
injected system | MARK-JSON-UserPromptSubmit
tool_call assistant Agent | Agent⏎description: count books⏎subagent_type
tool_result tool Agent ok | Two books.⏎agentId: aec622a038c235cdc (use S
turn assistant | The helper counted two.
turn user | /plan-change lend DVDs too
injected system | Plan this change in three steps: lend DVDs t
injected system | MARK-JSON-UserPromptSubmit
turn assistant | The helper counted two.
turn user | yes
injected system | MARK-JSON-UserPromptSubmit
turn assistant | The helper counted two.
summary system | This session is being continued from a previ
injected system | <local-command-caveat>…</local-command-cavea
injected system | <command-name>/compact</command-name>⏎
injected system | <local-command-stdout>Compacted (ctrl+o to s
injected system | MARK-PLAIN-SessionStart
injected system | Continue from where you left off.
injected system | No response requested.
turn user | yes
injected system | MARK-JSON-UserPromptSubmit
turn assistant | Stub reply: noted.
turn user | this fails @@ERR@@
injected system | MARK-JSON-UserPromptSubmit
injected system | API Error: 400 the stub refuses this request
injected system | Continue from where you left off.
injected system | No response requested.
turn user | What is in this picture?⏎@@CALL Read {"file_
injected system | MARK-JSON-UserPromptSubmit
tool_call assistant Read | Read⏎file_path: /home/ana/shelf/pixel.png
tool_result tool Read ok | [image: image/png]
tool_call assistant Bash | Bash⏎command: sleep 5
tool_result tool Bash ok | (Bash completed with no output)
turn user | and mind the DVDs
turn assistant | A red pixel.
turn user | Wait long. @@CALL Bash {"command":"sleep 30"
injected system | MARK-JSON-UserPromptSubmit
tool_call assistant Bash | Bash⏎command: sleep 30
tool_result tool Bash failed | The user doesn't want to proceed with this t
injected system | [Request interrupted by user for tool use]
"""

# Its subagent.
SUBAGENT = r"""
turn user | [[RUN]] Count the books. [[CALL Bash {"comma
injected system | MARK-JSON-SubagentStart
tool_call assistant Bash | Bash⏎command: ls -1; false
tool_result tool Bash failed | Exit code 1⏎README.md⏎loans.py⏎pixel.png
turn assistant | Two books.
"""


def line(role: str, content: object, **more: object) -> dict[str, Any]:
    """A line as Claude Code writes it."""
    return {"type": role, "sessionId": "s", "uuid": "u", "message": {"role": role, "content": content}, **more}


def main_file(transcripts: Path) -> Path:
    return transcripts / "claude-code" / f"{SESSION}.jsonl"


def test_a_real_session_is_read_whole_and_once(table: Any, transcripts: Path) -> None:
    assert table(main_file(transcripts)) == MAIN.strip("\n").split("\n")


def test_a_subagent_has_a_session_below_its_parents(table: Any, read: Any, transcripts: Path) -> None:
    path = transcripts / "claude-code" / SESSION / "subagents" / f"agent-{AGENT}.jsonl"
    assert table(path) == SUBAGENT.strip("\n").split("\n")
    assert {event.session for event in read(path)} == {f"{SESSION}/{AGENT}"}


def test_a_line_gives_its_time_folder_branch_and_id(read: Any, transcripts: Path) -> None:
    prompt = next(event for event in read(main_file(transcripts)) if event.kind == "turn")
    lines = main_file(transcripts).read_text("utf-8").splitlines()
    told = next(told for told in map(json.loads, lines) if told["type"] == "user")
    assert prompt.assistant == "claude-code"
    assert (prompt.session, prompt.cwd, prompt.branch) == (SESSION, "/home/ana/shelf", "main")
    assert (prompt.host_id, prompt.source_id, prompt.speaker) == (None, told["uuid"], None)
    assert prompt.said_at % 1_000_000 == int(told["timestamp"][20:23]) * 1000


def test_calls_name_their_files_and_results_their_calls(read: Any, transcripts: Path) -> None:
    events = read(main_file(transcripts))
    edit, edited = (event for event in events if event.tool == "Edit")
    assert edit.files == edited.files == ("/home/ana/shelf/loans.py",)
    assert edit.host_id is not None
    assert edit.host_id == edited.host_id
    assert "old_string: 21\nnew_string: 28" in to_text(edit.text)


def test_hooks_and_transcript_tell_the_same_prompts_calls_and_answers(read: Any, transcripts: Path) -> None:
    """The rule of identity: calls by their id, turns by their bytes and how often they occurred."""
    events = read(main_file(transcripts)) + read(
        transcripts / "claude-code" / SESSION / "subagents" / f"agent-{AGENT}.jsonl"
    )
    lines = (transcripts / "claude-code" / "hooks.log").read_text("utf-8").splitlines()
    hooks = [json.loads(told) for told in lines]
    asked = Counter(hook["prompt"] for hook in hooks if "prompt" in hook)
    said = Counter(to_text(e.text) for e in events if (e.kind, e.role, e.session) == ("turn", "user", SESSION))
    assert said - asked == Counter(["and mind the DVDs"])  # no hook tells what is typed while the assistant works
    assert asked - said == Counter()

    for hook_name, role in (("PreToolUse", "assistant"), ("PostToolUse", "tool"), ("PostToolUseFailure", "tool")):
        for hook in (hook for hook in hooks if hook["hook_event_name"] == hook_name):
            session = "/".join(filter(None, (hook["session_id"], hook.get("agent_id"))))
            matching = [e for e in events if (e.host_id, e.role, e.session) == (hook["tool_use_id"], role, session)]
            assert len(matching) == (0 if is_own_tool(hook["tool_name"]) else 1)

    answers = {to_text(e.text).strip() for e in events if (e.kind, e.role) == ("turn", "assistant")}
    assert {hook["last_assistant_message"] for hook in hooks if hook["hook_event_name"] == "Stop"} <= answers


@pytest.mark.parametrize(
    ("content", "row"),
    [
        ("plain words", "turn user | plain words"),
        (
            "<system-reminder>\nbe brief\n</system-reminder>\n",
            "injected system | <system-reminder>⏎be brief⏎</system-reminder",
        ),
        ("<system-reminder>a</system-reminder> and mine", "turn user | <system-reminder>a</system-reminder> and min"),
        ("<bash-input>ls</bash-input>", "injected system | <bash-input>ls</bash-input>"),
        (
            "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>",
            "injected system | <bash-stdout>a</bash-stdout><bash-stderr></b",
        ),
        ("<b>bold</b>", "turn user | <b>bold</b>"),
        ("[Request interrupted by user]", "injected system | [Request interrupted by user]"),
        ("[Request interrupted by user] was odd", "turn user | [Request interrupted by user] was odd"),
        ("<command-message>fix</command-message>\n<command-name>/fix</command-name>", "turn user | /fix"),
        (
            "<command-message>fix</command-message>\n<command-name>/fix</command-name>\n<command-args>a\nb</command-args>",
            "turn user | /fix a⏎b",
        ),
        (
            "<command-name>/clear</command-name>\n  <command-message>clear</command-message>",
            "injected system | <command-name>/clear</command-name>⏎  <comma",
        ),
    ],
)
def test_a_users_words_are_told_from_the_hosts(table: Any, write: Any, content: str, row: str) -> None:
    assert table(write(line("user", content))) == [row]


def test_the_texts_of_one_message_are_one_turn_and_what_the_host_put_between_them_is_not(
    table: Any, write: Any
) -> None:
    blocks = [
        {"type": "text", "text": "look"},
        {"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        {"type": "text", "text": "at this"},
    ]
    assert table(write(line("user", blocks))) == [
        "injected system | <ide_opened_file>a.py</ide_opened_file>",
        "turn user | look⏎at this",
    ]


def test_a_message_is_taken_whatever_its_type_and_other_lines_are_skipped(table: Any, write: Any) -> None:
    path = write(
        {**line("user", "hello"), "type": "new-in-3.0"},
        {"type": "new-bookkeeping", "sessionId": "s"},
        {"type": "summary", "summary": "a title", "leafUuid": "u"},
        {"type": "progress", "sessionId": "s", "data": {"message": {"role": "user", "content": "told elsewhere"}}},
        {"type": "attachment", "sessionId": "s", "attachment": {"type": "nested_memory", "content": "from a file"}},
    )
    assert table(path) == ["turn user | hello"]


def test_lines_that_lack_what_they_need_are_malformed_and_the_rest_goes_on(table: Any, write: Any) -> None:
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    path = write(
        line("user", "first"),
        {"type": "user", "sessionId": "s"},
        {"type": "user", "message": {"role": "user", "content": "whose?"}},
        line("user", 7),
        line("assistant", [{**call, "name": None}]),
        line("assistant", [{**call, "id": 3}]),
        {"type": "attachment", "sessionId": "s"},
        {"sessionId": "s"},
        line("user", "last"),
    )
    assert table(path) == [
        "turn user | first",
        "malformed 2 | a message without its role",
        "malformed 3 | a message without sessionId",
        "malformed 4 | a message without content",
        "malformed 5 | a tool call without its name",
        "malformed 6 | a tool call or result without its id",
        "malformed 7 | an attachment without content",
        "malformed 8 | a line without its type",
        "turn user | last",
    ]


def test_a_line_copied_by_a_fork_belongs_to_the_session_it_was_said_in(read: Any, write: Any) -> None:
    copied = line("user", "before", forkedFrom={"sessionId": "parent", "messageUuid": "first"})
    events: list[Event] = read(write(copied, line("user", "after")))
    assert [(event.session, event.source_id) for event in events] == [("parent", "first"), ("s", "u")]


def test_subagents_without_a_name_inside_the_main_file_have_sessions_of_their_own(read: Any, write: Any) -> None:
    side = {"isSidechain": True}
    events = read(
        write(
            line("user", "one", **side, uuid="a", parentUuid=None),
            line("user", "two", **side, uuid="b", parentUuid=None),
            line("assistant", "one's answer", **side, uuid="c", parentUuid="a"),
            line("assistant", "main", uuid="d", parentUuid=None),
        )
    )
    assert [event.session for event in events if event.role == "user"] == ["s/a", "s/b"]


def test_texts_that_other_hooks_print_never_reached_the_model(table: Any, write: Any) -> None:
    def hook(event: str, content: str) -> dict[str, Any]:
        attachment = {"type": "hook_success", "hookEvent": event, "content": content}
        return {"type": "attachment", "sessionId": "s", "uuid": "u", "attachment": attachment}

    path = write(hook("SessionStart", "remember"), hook("PostToolUse", "formatted"), hook("UserPromptSubmit", ""))
    assert table(path) == ["injected system | remember"]


def queue(operation: str, content: object = None) -> dict[str, Any]:
    """A line that tells of the queue of prompts; it names no folder."""
    told = {"type": "queue-operation", "operation": operation, "sessionId": "s", "timestamp": "2026-11-21T09:00:00Z"}
    return told | ({} if content is None else {"content": content})


def delivered(prompt: object, mode: str = "prompt") -> dict[str, Any]:
    """A prompt that the model got while it worked."""
    attachment = {"type": "queued_command", "prompt": prompt, "commandMode": mode}
    return {"type": "attachment", "sessionId": "s", "uuid": "u", "attachment": attachment}


BUILT_IN = (
    "<command-name>/{0}</command-name>\n            <command-message>{0}</command-message>\n"
    "            <command-args>{1}</command-args>"
)
NOTIFICATION = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>"


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([queue("enqueue", "one"), queue("enqueue", "two")], ["one", "two"]),
        ([queue("enqueue", "one"), queue("dequeue"), line("user", "one")], []),
        ([queue("enqueue", "one"), line("user", "one ")], []),
        ([queue("enqueue", "one"), delivered("one")], []),
        ([queue("enqueue", "one"), queue("remove"), delivered([{"type": "text", "text": "one"}])], []),
        ([queue("enqueue", "one"), queue("enqueue", "two"), queue("remove", "two")], ["one"]),
        ([queue("enqueue", "one"), queue("enqueue", "one"), queue("dequeue"), line("user", "one")], ["one"]),
        ([queue("enqueue", "one"), queue("enqueue", "one"), line("user", "one")], ["one"]),
        ([queue("enqueue", "one"), queue("popAll"), queue("enqueue", "two")], ["two"]),
        ([queue("enqueue", "one"), line("assistant", "one")], ["one"]),
        (
            [
                queue("enqueue", "/fix a"),
                queue("dequeue"),
                line(
                    "user",
                    "<command-message>fix</command-message>\n<command-name>/fix</command-name>\n<command-args>a</command-args>",
                ),
            ],
            [],
        ),
        ([queue("enqueue"), queue("enqueue", ["one"]), queue("dequeue"), queue("new-in-3.0", "two")], []),
        ([queue("enqueue", NOTIFICATION), delivered(NOTIFICATION, "task-notification")], []),
        # A killed session's prompt stands before the next session's.
        ([queue("enqueue", "one"), queue("enqueue", "two"), queue("dequeue"), line("user", "two")], ["one"]),
        ([queue("enqueue", "one"), queue("enqueue", "two"), queue("remove"), delivered("two")], ["one"]),
        # Killed before the message.
        ([queue("enqueue", "one"), queue("dequeue")], ["one"]),
        ([queue("enqueue", "one"), queue("dequeue"), queue("enqueue", "two")], ["one", "two"]),
        ([queue("enqueue", "draft"), queue("remove"), line("user", "final")], []),
        ([queue("enqueue", "one\n")], ["one\n"]),
        # Several in one message.
        ([queue("enqueue", "one"), queue("enqueue", "two"), line("user", "one\ntwo")], []),
        ([queue("enqueue", "one"), queue("enqueue", "two"), *[queue("dequeue")] * 2, line("user", "one\ntwo")], []),
        ([queue("enqueue", "one"), queue("enqueue", "one"), line("user", "one\ntwo")], ["one"]),
        ([queue("enqueue", "on"), line("user", "go on\non it")], ["on"]),
        (
            [
                *(queue("enqueue", "go on"), queue("dequeue"), line("user", "go on\nand more")),
                *(queue("enqueue", "go on"), delivered("go on")),
            ],
            [],
        ),
        ([queue("enqueue", "/compact"), line("user", BUILT_IN.format("compact", ""))], []),
        ([queue("enqueue", "/compact the plan"), line("user", BUILT_IN.format("compact", "the plan"))], []),
        ([queue("enqueue", "/clear"), line("user", BUILT_IN.format("compact", ""))], ["/clear"]),
    ],
)
def test_a_prompt_that_is_queued_and_not_delivered_is_a_turn_and_nobodys_word(
    read: Any, write: Any, lines: list[Any], left: list[str]
) -> None:
    events = read(write(line("user", "begin", cwd="/home/ana/shelf", gitBranch="main"), *lines))
    pending = [event for event in events if event.undelivered]
    assert [to_text(event.text) for event in pending] == left
    assert all(
        (event.kind, event.role, event.author, event.session) == ("turn", "user", "unknown", "s") for event in pending
    )


def test_a_queued_prompt_has_its_sessions_folder_and_its_own_time_and_a_hosts_text_stays_the_hosts(
    read: Any, write: Any
) -> None:
    place = {"cwd": "/home/ana/shelf", "gitBranch": "main", "entrypoint": "sdk-cli"}
    path = write(queue("enqueue", "one"), queue("enqueue", NOTIFICATION), line("user", "begin", **place))
    begin, prompt, notification = read(path)
    assert (prompt.cwd, prompt.branch, prompt.headless) == (begin.cwd, begin.branch, begin.headless)
    assert prompt.said_at == 1_795_251_600_000_000
    assert (notification.kind, notification.role) == ("injected", "system")


def test_what_is_no_text_in_a_result_is_named(table: Any, write: Any) -> None:
    content = [
        {"type": "text", "text": "two pictures"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "tool_reference", "tool_name": "Read"},
    ]
    result = {"type": "tool_result", "tool_use_id": "t", "content": content}
    assert table(write(line("user", [result]))) == [
        "tool_result tool ok | two pictures⏎[image: image/png]⏎tool_referen"
    ]


def test_own_tools_are_known_however_they_are_installed_and_not_taken(table: Any, write: Any) -> None:
    def call(tool: str) -> list[dict[str, Any]]:
        called = {"type": "tool_use", "id": tool, "name": tool, "input": {"query": "q"}}
        answered = {"type": "tool_result", "tool_use_id": tool, "content": "a"}
        return [line("assistant", [called]), line("user", [answered])]

    path = write(
        *call("mcp__mnemic__memory_recall"), *call("mcp__plugin_mnemic_mnemic__memory_get"), *call("mcp__other__mnemic")
    )
    assert table(path) == [
        "tool_call assistant mcp__other__mnemic | mcp__other__mnemic⏎query: q",
        "tool_result tool mcp__other__mnemic ok | a",
    ]


def test_what_this_memory_told_is_not_taken_and_a_users_own_words_never_cut(table: Any, write: Any) -> None:
    told = "<mnemic-memory>\nlast time\n</mnemic-memory>"

    def hook(content: object) -> dict[str, Any]:
        attachment = {"type": "hook_additional_context", "hookEvent": "SessionStart", "content": content}
        return {"type": "attachment", "sessionId": "s", "uuid": "u", "attachment": attachment}

    path = write(
        hook([told]),
        hook([f"before\n{told}\nafter", "other"]),
        line("user", f"<system-reminder>{told}and theirs</system-reminder>", isMeta=True),
        line("user", f"why did you say {told}"),
    )
    assert table(path) == [
        "injected system | before⏎after",
        "injected system | other",
        "injected system | <system-reminder>and theirs</system-reminder",
        "turn user | why did you say <mnemic-memory>⏎last time⏎</",
    ]
