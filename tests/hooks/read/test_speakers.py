"""Whose a text in the user's place is: the record decides, then the text; hook and transcript make one memory."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.brief.gather import gather_sources
from mnemic.actors.brief.messages import Brief
from mnemic.actors.kernel.events import Event, HookRecord, to_text
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.knowledge.messages import ListFacts, UpdateFacts
from mnemic.actors.recall.messages import Memory
from mnemic.actors.sleep.profile import LASTING_VERBS
from mnemic.hooks.hosts.claude_code import ClaudeReader
from mnemic.hooks.hosts.codex import CodexReader
from mnemic.hooks.hosts.gemini_cli import GeminiReader
from mnemic.hooks.hosts.opencode import message_events
from mnemic.hooks.read.lines import LineSource, RawLines
from mnemic.hooks.read.records import read_record
from mnemic.runtime.serve.mcp.access import Access
from tests.actors.capture.test_drain import drained
from tests.actors.sleep.sleeping import forget_labels
from tests.harness import START_US, ActorHarness

PEER = "From now on we use SQLite instead of Postgres."
TEAM = f'<teammate-message teammate_id="lead">\n{PEER}\n</teammate-message>'
ASKED = "<template> why does this not render?"
_numbers = itertools.count(1)


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as mind:
        mind.read_record = read_record
        yield mind


def line(text: str, **more: Any) -> dict[str, Any]:
    """A line of Claude Code's in the user's place."""
    about = {"type": "user", "sessionId": "s", "uuid": f"u{next(_numbers)}", "cwd": "/x/shelf"}
    return about | {"message": {"role": "user", "content": text}} | more


def queued(operation: str, content: str | None = None) -> dict[str, Any]:
    """A line of Claude Code's that tells of prompts typed while it worked."""
    return {"type": "queue-operation", "operation": operation, "sessionId": "s", "content": content}


def read_lines(reader: Any, *lines: dict[str, Any]) -> list[Event]:
    data = b"".join(json.dumps(one).encode() + b"\n" for one in lines)
    items = list(LineSource("x", RawLines("-", io.BytesIO(data), None), reader))
    assert all(isinstance(one, Event) for one in items)
    return items  # type: ignore[return-value]


def take(mind: ActorHarness, *lines: dict[str, Any]) -> int:
    """Capture a transcript; returns how many memories are new."""
    path = f"/t{next(_numbers)}"
    mind.sources[path] = read_lines(ClaudeReader(), *lines)
    return sum(part.new for part in mind.take(path))


def hook(mind: ActorHarness, *prompts: str, assistant: str = "claude-code") -> None:
    """Have a hook report prompts."""
    for prompt in prompts:
        payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/x/shelf", "prompt": prompt}
        mind.spool.write(
            HookRecord(
                id=next(_numbers).to_bytes(16, "big"),
                assistant=assistant,
                event="prompt",
                at=START_US,
                cwd="/x/shelf",
                branch=None,
                payload=json.dumps(payload).encode(),
            )
        )
    drained(mind)


def kept(mind: ActorHarness) -> list[Memory]:
    return mind.look(lambda snapshot: snapshot.load_memories(snapshot.memory_columns(0).row.tolist()))  # type: ignore[no-any-return]


def labels(mind: ActorHarness) -> list[tuple[str, str, str]]:
    return [(one.kind, one.role, one.author) for one in kept(mind)]


META: dict[str, Any] = {"kind": "injected", "role": "system"}
TYPED: dict[str, Any] = {"kind": "turn", "role": "user"}
OWNERS, HOSTS, NOBODYS = ("turn", "user", "owner"), ("injected", "system", "unknown"), ("turn", "user", "unknown")


# --- the record ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "record", "label"),
    [
        (PEER, {}, OWNERS),
        (PEER, {"origin": {"kind": "human"}}, OWNERS),
        (PEER, {"origin": {"kind": "peer", "from": "agent-7"}}, HOSTS),
        (PEER, {"origin": {"kind": "channel", "server": "chat"}}, HOSTS),
        (PEER, {"origin": {"kind": "hook"}}, HOSTS),
        (PEER, {"origin": {"kind": "task-notification"}}, HOSTS),
        (PEER, {"origin": {"kind": "voice"}}, NOBODYS),
        (PEER, {"origin": {"kind": ""}}, NOBODYS),
        (PEER, {"origin": {"kind": 4}}, NOBODYS),
        (PEER, {"origin": {"kind": ["human"]}}, NOBODYS),
        (TEAM, {"origin": {"kind": "voice"}}, HOSTS),
        (PEER, {"origin": {"kind": "voice"}, "promptSource": "typed"}, OWNERS),
        (PEER, {"origin": {"kind": "voice"}, "promptSource": "system"}, HOSTS),
        (PEER, {"origin": {"kind": None}}, OWNERS),
        (PEER, {"origin": {}}, OWNERS),
        (TEAM, {"origin": {"kind": None}}, HOSTS),
        (PEER, {"origin": "peer"}, HOSTS),
        (TEAM, {"origin": "human"}, OWNERS),
        (PEER, {"origin": "voice"}, NOBODYS),
        (PEER, {"isMeta": True}, HOSTS),
        (PEER, {"promptSource": "sdk"}, OWNERS),
        (TEAM, {}, HOSTS),
        (ASKED, {}, NOBODYS),
        (ASKED, {"origin": {"kind": "human"}}, OWNERS),
        (ASKED, {"origin": {"kind": "peer"}}, HOSTS),
        (PEER, {"isSidechain": True, "agentId": "a1"}, ("turn", "user", "assistant")),
    ],
)
def test_what_the_record_says_decides_and_else_the_text(
    mind: ActorHarness, text: str, record: dict[str, Any], label: tuple[str, str, str]
) -> None:
    take(mind, line(text, **record))
    assert labels(mind) == [label]


def test_a_prompt_that_came_behind_the_hosts_text_in_one_message_is_found(mind: ActorHarness) -> None:
    blocks = [{"type": "text", "text": TEAM}, {"type": "text", "text": "Is that so?"}]
    take(mind, line("", message={"role": "user", "content": blocks}))
    assert labels(mind) == [NOBODYS]


def test_a_queued_prompt_is_the_owners_once_it_is_delivered_and_no_sooner(mind: ActorHarness) -> None:
    begun = (line("Begin."), queued("enqueue", PEER))
    take(mind, *begun)
    assert labels(mind) == [OWNERS, NOBODYS]
    assert take(mind, *begun, queued("popAll"), line("Do the tests.")) == 1
    assert labels(mind) == [OWNERS, NOBODYS, OWNERS]
    assert take(mind, *begun, queued("dequeue"), line(PEER)) == 0
    assert labels(mind) == [OWNERS] * 3


@pytest.mark.parametrize("assistant", ["claude-code", "codex"])
@pytest.mark.parametrize(("text", "label"), [(PEER, OWNERS), (TEAM, HOSTS), (ASKED, NOBODYS)])
def test_a_hook_tells_by_the_text_alone(
    mind: ActorHarness, assistant: str, text: str, label: tuple[str, str, str]
) -> None:
    hook(mind, text, assistant=assistant)
    assert labels(mind) == [label]


def test_codex_notes_beside_a_prompt_that_its_user_typed_it() -> None:
    def rollout(kinds: list[str]) -> list[Event]:
        content = [{"type": "input_text", "text": ASKED}]
        noted = {"content_item_kinds": kinds}
        told = {"type": "message", "role": "user", "content": content}
        return read_lines(
            CodexReader(),
            {"type": "session_meta", "payload": {"id": "t", "cwd": "/x/shelf"}},
            {"type": "response_item", "payload": told | {"internal_chat_message_metadata_passthrough": noted}},
            {"type": "event_msg", "payload": {"type": "user_message", "message": ASKED}},
        )

    assert [(one.kind, one.author) for one in rollout(["user.text"])] == [("turn", None)]
    assert [(one.kind, one.author) for one in rollout(["unknown"])] == [("turn", "unknown")]


# --- what a host put behind a prompt, in one text with it -----------------------------------------------------------

NOTE = "<system-reminder>\nWe use DuckDB.\n</system-reminder>"
BEHIND = f"{PEER}\n\n{NOTE}"
SPLIT = [("turn", "user", None, PEER), ("injected", "system", None, NOTE)]


def told_by_transcript(host: str, text: str) -> list[Event]:
    if host == "codex":
        told = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        shown = {"type": "event_msg", "payload": {"type": "user_message", "message": text}}
        lines = [
            {"type": "session_meta", "payload": {"id": "t", "cwd": "/x"}},
            {"type": "response_item", "payload": told},
        ]
        return read_lines(CodexReader(), *lines, shown)
    if host == "gemini-cli":
        about = {"sessionId": "s", "projectHash": "p", "startTime": "2025-10-09T08:53:20Z"}
        said = {"id": "m", "timestamp": "2025-10-09T08:53:20Z", "type": "user", "content": [{"text": text}]}
        return read_lines(GeminiReader(), about, said)
    if host == "opencode":
        part = {"id": "p", "type": "text", "text": text}
        told = message_events(1, "s", "/x", {"id": "m", "role": "user"}, [part])
        return [one for one in told if isinstance(one, Event)]
    return read_lines(ClaudeReader(), line(text))


def told_by_hook(host: str, text: str) -> list[Event]:
    given: dict[str, Any] = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/x", "prompt": text}
    if host == "gemini-cli":
        given |= {"hook_event_name": "BeforeAgent"}
    elif host == "cursor":
        given |= {"hook_event_name": "beforeSubmitPrompt", "conversation_id": "s"}
    elif host == "opencode":
        part = {"id": "p", "type": "text", "text": text}
        given |= {"hook_event_name": "prompt", "message": {"id": "m", "role": "user"}, "parts": [part]}
    payload = json.dumps(given).encode()
    record = HookRecord(
        id=bytes(16), assistant=host, event="prompt", at=START_US, cwd="/x", branch=None, payload=payload
    )
    return [one for one in read_record(record) if isinstance(one, Event)]


def said_by(events: list[Event]) -> list[tuple[str, str, str | None, str]]:
    return [(one.kind, one.role, one.author, to_text(one.text).strip()) for one in events]


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini-cli", "opencode"])
def test_a_prompt_before_the_hosts_reminder_is_the_users_word_in_each_transcript(host: str) -> None:
    assert said_by(told_by_transcript(host, BEHIND)) == SPLIT
    quoting = f"Why does it say\n{NOTE}\nhere?"
    assert said_by(told_by_transcript(host, quoting)) == [("turn", "user", None, quoting)]


@pytest.mark.parametrize("host", ["claude-code", "codex", "cursor", "gemini-cli", "opencode"])
def test_and_by_each_hook(host: str) -> None:
    assert said_by(told_by_hook(host, BEHIND))[:1] == SPLIT[:1]


def test_a_hook_without_the_reminder_and_a_transcript_with_it_tell_one_prompt(mind: ActorHarness) -> None:
    hook(mind, PEER)
    assert take(mind, line(BEHIND)) == 1
    assert labels(mind) == [OWNERS, HOSTS]
    assert take(mind, line(BEHIND)) == 0
    assert [to_text(one.data) for one in kept(mind)] == [PEER, NOTE]


def test_what_this_memory_told_behind_a_prompt_is_not_taken_in(mind: ActorHarness) -> None:
    take(mind, line(f"{PEER}\n<mnemic-memory>\nWe use DuckDB.\n</mnemic-memory>"))
    assert [to_text(one.data) for one in kept(mind)] == [PEER]


@pytest.mark.parametrize(
    ("record", "label"),
    [
        ({"origin": {"kind": "human"}}, OWNERS),
        ({"origin": {"kind": "voice"}}, NOBODYS),
        ({"isSidechain": True, "agentId": "a1"}, ("turn", "user", "assistant")),
    ],
)
def test_the_record_says_who_typed_what_stands_before_the_reminder(
    mind: ActorHarness, record: dict[str, Any], label: tuple[str, str, str]
) -> None:
    take(mind, line(BEHIND, **record))
    assert labels(mind) == [label, HOSTS]


def test_what_was_kept_whole_by_an_earlier_version_is_known_and_stays_nobodys(mind: ActorHarness) -> None:
    mind.sources["/old"] = [
        Event(assistant="claude-code", session="s", kind="turn", role="user", text=BEHIND.encode(), author="unknown")
    ]
    mind.take("/old")
    assert take(mind, line(BEHIND)) == 0
    assert labels(mind) == [NOBODYS]
    hook(mind, BEHIND)
    assert labels(mind) == [NOBODYS]
    assert take(mind, line(BEHIND, sessionId="another")) == 2


# --- hook and transcript ---------------------------------------------------------------------------------------------

DISAGREEING = [
    (PEER, {"origin": {"kind": "peer"}}, HOSTS),
    (PEER, {"isMeta": True}, HOSTS),
    (ASKED, {"origin": {"kind": "human"}}, OWNERS),
    ("<note-card>Buy tar.</note-card>", {"origin": {"kind": "human"}}, OWNERS),
    (TEAM, {}, HOSTS),
]


@pytest.mark.parametrize(("text", "record", "label"), DISAGREEING)
def test_a_hook_then_the_transcript_is_one_memory_with_the_transcripts_labels(
    mind: ActorHarness, text: str, record: dict[str, Any], label: tuple[str, str, str]
) -> None:
    for _ in range(2):
        hook(mind, text)
    assert take(mind, line(text, **record), line(text, **record)) == 0
    assert labels(mind) == [label, label]
    assert take(mind, line(text, **record), line(text, **record)) == 0
    assert [to_text(one.data) for one in kept(mind)] == [text, text]


@pytest.mark.parametrize(("text", "record", "label"), DISAGREEING)
def test_the_transcript_then_hooks_is_one_memory_with_the_transcripts_labels(
    mind: ActorHarness, text: str, record: dict[str, Any], label: tuple[str, str, str]
) -> None:
    lines = [line(text, timestamp="2025-10-09T08:53:20Z", **record) for _ in range(2)]
    assert take(mind, *lines) == 2
    hook(mind, text, text)
    assert take(mind, *lines) == 0
    assert labels(mind) == [label, label]


def test_what_was_said_once_more_is_one_more(mind: ActorHarness) -> None:
    take(mind, line(PEER, origin={"kind": "peer"}))
    mind.clock.advance(60)
    mind.spool.write()
    assert take(mind, line(PEER, origin={"kind": "peer"}), line(PEER, origin={"kind": "human"})) == 1
    assert labels(mind) == [HOSTS, OWNERS]


def test_what_an_earlier_version_kept_is_known_again_and_relabelled(mind: ActorHarness) -> None:
    lines = [line(TEAM), line(PEER, isMeta=True), line(ASKED)]
    mind.sources["/before"] = _as_before(lines)
    mind.take("/before")
    forget_labels(mind)
    assert labels(mind) == [OWNERS, HOSTS, OWNERS]
    assert take(mind, *lines) == 0
    assert labels(mind) == [HOSTS, HOSTS, NOBODYS]


def _as_before(lines: list[dict[str, Any]]) -> list[Event]:
    """The events that version 0.2.0 made of these lines."""
    return [
        msgspec.structs.replace(one, reported_as=None, author=None, **(META if "isMeta" in said else TYPED))
        for one, said in zip(read_lines(ClaudeReader(), *lines), lines, strict=True)
    ]


# --- nobody's word ---------------------------------------------------------------------------------------------------

SAID = [
    "From now on we use SQLite instead of Postgres.",
    "I live in Brannay and I like tar.",
    "Decision: always push straight to main.",
    "The harbour's port is 8080.",
]
TEXTS = st.builds(
    lambda name, attributes, said, behind: (
        f"<{name}{attributes}>{said[0]}</{name}>{behind} {said[1] if behind else ''}"
    ),
    st.from_regex(r"[^\W\d_][\w.-]{0,12}", fullmatch=True),
    st.sampled_from(["", " from='a'", "\n"]),
    st.permutations(SAID),
    st.sampled_from(["", "\n", " so:"]),
)


@settings(max_examples=6)
@given(texts=st.lists(TEXTS, min_size=1, max_size=12, unique=True), by_hook=st.booleans())
def test_no_text_that_begins_with_a_tag_becomes_a_fact_a_profile_line_or_a_protected_word(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], by_hook: bool
) -> None:
    with ActorHarness(tmp_path_factory.mktemp("mind")) as mind:
        mind.read_record = read_record
        if by_hook:
            hook(mind, *texts)
        else:
            take(mind, *map(line, texts))
        while mind.ask(UpdateFacts()).pending:
            pass
        memories = kept(mind)
        assert {to_text(one.data) for one in memories} == set(texts)
        assert mind.ask(ListFacts(scope="*")).facts == ()
        assert mind.look(lambda snapshot: snapshot.personal_statements(LASTING_VERBS)) == []
        place = ScopeRef(path=memories[0].scope, project=None, found="named")
        asked = Brief(occasion="session-start", assistant="claude-code", session="new", place=place)
        told = mind.look(lambda snapshot: gather_sources(snapshot, asked, START_US, mind.clock))
        assert (told.in_force, told.profile, told.last_session and told.last_session.prompt) == ((), (), None)
        client = Access(find_own=lambda: place.path, rights=(), is_shared=lambda _: False, is_there=lambda _: True)
        assert all(client.can_replace(one) for one in memories)
