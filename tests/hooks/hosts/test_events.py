"""Hooks and transcripts of the same real sessions: what both tell is one event, and what one alone tells is listed.

The law: every identity that a session's hooks give is one that its transcripts give. So a transcript that is taken
after its hooks adds what they missed and doubles nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.prepare import identity_of
from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, MalformedLine, TranscriptRef, to_text
from mnemic.hooks import find_transcripts
from mnemic.hooks.read.records import read_record
from tests.paths import FIXTURES

SESSIONS = [("claude-code", "hooks"), ("codex", "hooks"), ("claude-code", "transcripts"), ("codex", "transcripts")]

# What transcripts add to the hooks of the whole sessions, and how often: an answer's earlier blocks and the model's
# thinking, refused and broken-off calls, a prompt typed while the assistant worked, prompts of subagents, a summary.
ADDED = {
    "claude-code": """
 1 injected system | <command-name>/compact</command-name>⏎
 1 injected system | <local-command-caveat>…</local-command-cavea
 1 injected system | <local-command-stdout>Compacted (ctrl+o to s
 1 injected system | API Error: 400 the stub refuses
 1 injected system | Continue from where you left off.
 2 injected system | No response requested.
 1 injected system | Plan this change in three steps: lend  DVDs
 1 injected system | Plan this change in three steps: x⏎
 1 injected system | [Request interrupted by user for tool use]
 1 summary system | This session is being continued from a previ
27 thinking assistant | The rule is in loans.py.
 1 tool_call assistant Bash | Bash⏎command: sleep 30
 1 tool_call assistant Edit | Edit⏎replace_all: false⏎file_path: /home/ana
 1 tool_result tool Bash failed | The user doesn't want to proceed with this t
 1 tool_result tool Edit failed | <tool_use_error>File has not been read yet.
 1 turn assistant | Books are due
26 turn assistant | I will look.
 1 turn user | [[RUN]] Count the books. [[CALL Bash {"comma
 1 turn user | [[RUN]] Count. [[CALL Bash {"command":"sleep
 1 turn user | yes
""",
    "codex": """
 1 injected system | <environment_context>…</environment_context>
 1 injected system | <permissions instructions>…</permissions ins
 1 injected system | <subagent_notification>⏎{"agent_path":"01a20
 1 summary system | Another language model started to solve this
 2 tool_call assistant exec_command | exec_command⏎cmd: apply_patch <<"EOF"⏎*** Be
 1 tool_call assistant exec_command | exec_command⏎cmd: sleep 3; echo late⏎yield_t
 1 tool_call assistant mcp__probe__fail | mcp__probe__fail⏎query: q
 1 tool_result tool exec_command failed | Chunk ID: 9ed6bf⏎Wall time: 0.0000 seconds⏎P
 1 tool_result tool exec_command failed | apply_patch verification failed: Failed to r
 1 tool_result tool exec_command ok | Chunk ID: 80ebf9⏎Wall time: 0.0000 seconds⏎P
 1 tool_result tool exec_command ok | Chunk ID: 9a6db8⏎Wall time: 0.0000 seconds⏎P
 1 tool_result tool exec_command ok | Chunk ID: a7886c⏎Wall time: 0.0000 seconds⏎P
 1 tool_result tool exec_command ok | Chunk ID: b8b9b4⏎Wall time: 2.8916 seconds⏎P
 1 tool_result tool exec_command ok | Chunk ID: bd0644⏎Wall time: 0.0000 seconds⏎P
 1 tool_result tool exec_command ok | Chunk ID: d73bdc⏎Wall time: 0.0000 seconds⏎P
 1 tool_result tool exec_command ok | Wall time: 0.0000 seconds⏎Output:⏎Exit code:
 1 tool_result tool exec_command | Chunk ID: 834b0d⏎Wall time: 0.5008 seconds⏎P
 1 tool_result tool mcp__probe__fail failed | Wall time: 0.0061 seconds⏎Output:⏎Error exec
 1 tool_result tool multi_agent_v1__spawn_agent ok | {"agent_id":"01a202cd-6e73-7420-87f7-42d70d1
 1 tool_result tool view_image | [image: image/png]
""",
}

# Where both tell it, but differently: what came first stays. Turns differ in the white space around them at most.
DIFFERING = {
    "claude-code": """
tool_result Grep | mode: count⏎numFiles: 1⏎filenames: []⏎conten | loans.py:1⏎⏎Found 1 total occurrence across
tool_result Skill | success: true⏎commandName: plan-change | Launching skill: plan-change
tool_call Agent | Agent⏎description: count books⏎prompt: [[RUN | Agent⏎description: count books⏎subagent_type
tool_result Agent | Two books. | Two books.⏎agentId: afc4629e95a441722 (use S
tool_result Bash | stdout: ⏎stderr: ⏎interrupted: false⏎isImage | Command running in background with ID: bj2uh
tool_call Agent | Agent⏎description: count⏎prompt: [[RUN]] Cou | Agent⏎description: count⏎subagent_type: gene
tool_result Agent | isAsync: true⏎status: async_launched⏎agentId | Async agent launched successfully.⏎agentId:
""",
    "codex": """
tool_call exec_command, its folder | /tmp | /home/ana/shelf
tool_call exec_command | exec_command⏎cmd: echo x | exec_command⏎cmd: echo x⏎workdir: /tmp
tool_result mcp__probe__recall | {"result":"PROBE-MEMORY-ANSWER for q"} | Wall time: 0.0047 seconds⏎Output:⏎{"result":
tool_result mcp__probe__blocks | one q⏎[image: image/png]⏎two | Wall time: 0.0048 seconds⏎Output:⏎one q⏎[ima
tool_result mcp__probe__plain | plain q | Wall time: 0.0039 seconds⏎Output:⏎plain q
""",
}


def digest(*parts: bytes) -> bytes:
    return sha256(b"\0".join(parts)).digest()


def identities(happenings: Iterable[HookEvent | MalformedLine]) -> dict[bytes, Event]:
    """The events of one channel by their identities: texts without a host's id are counted from its start."""
    occurred: Counter[bytes] = Counter()
    found: dict[bytes, Event] = {}
    for event in happenings:
        if isinstance(event, Event):
            first = identity_of(event, 1, digest)
            occurred[first] += event.host_id is None
            found.setdefault(identity_of(event, max(1, occurred[first]), digest), event)
    return found


def kept(host: str, folder: str) -> list[HookRecord]:
    """What the hooks of a recorded session were given."""
    path = FIXTURES / folder / host
    whole = path / "hooks.jsonl"
    told = [
        json.loads(line) for line in (whole if whole.exists() else path / "hooks.log").read_text("utf-8").splitlines()
    ]
    return [
        HookRecord(
            id=bytes(16),
            assistant=host,
            event="",
            at=one.get("at", 0),
            cwd=None,
            branch="main",
            payload=json.dumps(one.get("payload", one)).encode(),
        )
        for one in told
    ]


@pytest.fixture
def channels(read: Callable[..., Any]) -> Callable[..., tuple[dict[bytes, Event], dict[bytes, Event]]]:
    """A recorded session as its hooks and as its transcripts tell it."""

    def both(host: str, folder: str) -> tuple[dict[bytes, Event], dict[bytes, Event]]:
        hooks = identities(one for record in kept(host, folder) for one in read_record(record))
        transcripts: dict[bytes, Event] = {}
        for path in find_transcripts(str(FIXTURES / folder / host)):
            if not path.endswith("hooks.jsonl"):
                transcripts = identities(read(path, host)) | transcripts
        return hooks, transcripts

    return both


def row(event: Event) -> str:
    head = " ".join(part for part in (event.kind, event.role, event.tool, event.outcome) if part)
    return f"{head} | {to_text(event.text)[:44]}".replace("\n", "⏎").rstrip(" ")


@pytest.mark.parametrize(("host", "folder"), SESSIONS)
def test_what_hooks_tell_transcripts_tell_too(channels: Any, host: str, folder: str) -> None:
    hooks, transcripts = channels(host, folder)
    assert len(hooks) > 20
    assert [row(event) for identity, event in hooks.items() if identity not in transcripts] == []


@pytest.mark.parametrize("host", ADDED)
def test_what_only_transcripts_tell(channels: Any, host: str) -> None:
    hooks, transcripts = channels(host, "hooks")
    added = Counter(row(event) for identity, event in transcripts.items() if identity not in hooks)
    assert [f"{count:2} {what}" for what, count in sorted(added.items())] == ADDED[host].strip("\n").split("\n")


@pytest.mark.parametrize("host", DIFFERING)
def test_the_same_memory_results_whichever_comes_first_but_where_a_hook_says_too_little(
    channels: Any, host: str
) -> None:
    hooks, transcripts = channels(host, "hooks")
    differing = []
    for hooked, read in ((event, transcripts[identity]) for identity, event in hooks.items()):
        assert [hooked.tool, hooked.files, hooked.speaker] == [read.tool, read.files, read.speaker]
        assert (hooked.outcome, hooked.branch) == (read.outcome, read.branch)
        if hooked.cwd != read.cwd:
            differing.append(f"{hooked.kind} {hooked.tool}, its folder | {hooked.cwd} | {read.cwd}")
        texts = [to_text(event.text) for event in (hooked, read)]
        if hooked.kind == "turn":
            texts = [text.strip() for text in texts]
        if texts[0] != texts[1]:
            short = [text[:44].replace("\n", "⏎").rstrip(" ") for text in texts]
            differing.append(f"{hooked.kind} {hooked.tool} | {short[0]} | {short[1]}")
    assert differing == DIFFERING[host].strip("\n").split("\n")


@pytest.mark.parametrize("host", ADDED)
def test_transcripts_are_announced_all_of_them_and_in_the_end_as_ended(host: str) -> None:
    told = [one for record in kept(host, "hooks") for one in read_record(record) if isinstance(one, TranscriptRef)]
    assert {one.format for one in told} == {host}
    there = {Path(path).name for path in find_transcripts(str(FIXTURES / "hooks" / host))} - {"hooks.jsonl"}
    assert {Path(one.path).name for one in told} == there
    assert {Path(one.path).name for one in told if one.ended} == there
    assert {Path(one.path).name for one in told if not one.ended} == there, "one that is killed has no end"
