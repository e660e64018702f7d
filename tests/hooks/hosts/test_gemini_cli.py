"""Gemini CLI: a real session as its hooks and as its transcript tell it, and the shapes that both write."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.capture.prepare import identity_of
from mnemic.actors.kernel.errors import SourceUnreadable, UnreadableRecord
from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, MalformedLine, TranscriptRef, to_text
from mnemic.hooks import open_transcript
from mnemic.hooks.hosts.gemini_cli_events import IGNORED_EVENTS
from mnemic.hooks.read.records import read_record
from tests.paths import FIXTURES

FIXTURE = FIXTURES / "hooks" / "gemini-cli"
SESSION = "e174f603-6692-47f9-8f37-2daefd2abc49"
AGENT = "6f2650e9-6ebd-40bc-84d1-82734a00734b"
MAIN = "session-2026-11-22T10-31-e174f603.jsonl"

# The session of seven runs, then its subagent's: what it did belongs to the session, what was said to the subagent.
TABLE = r"""
turn user | We decided: books are lent for 28 days. @@TH
injected system | MARK-OTHER
thinking assistant | Loans⏎The rule is in loans.py.
turn assistant | I will look.
tool_call assistant run_shell_command | run_shell_command⏎command: cat nowhere.txt
tool_result tool run_shell_command failed | <untrusted_context>⏎Output: cat: nowhere.txt
thinking assistant | Loans⏎The rule is in loans.py.
turn assistant | I will look.
tool_call assistant read_file | read_file⏎file_path: absent.py
tool_result tool read_file failed | File not found: /home/ana/shelf/absent.py
thinking assistant | Loans⏎The rule is in loans.py.
turn assistant | I will look.
tool_call assistant read_file | read_file⏎file_path: loans.py
tool_result tool read_file ok | def due(book):⏎    return book.lent_on + 21
thinking assistant | Loans⏎The rule is in loans.py.
turn assistant | I will look.
turn assistant | Books are due after 28 days.
turn user | yes
injected system | MARK-OTHER
turn assistant | Stub reply: noted.
turn user | Change it. @@CALL replace {"file_path":"loan
injected system | MARK-OTHER
tool_call assistant replace | replace⏎file_path: loans.py⏎instruction: 28
tool_result tool replace ok | Successfully modified file: /home/ana/shelf/
tool_call assistant run_shell_command | run_shell_command⏎command: seq 150
tool_result tool run_shell_command ok | <untrusted_context>⏎Output: 1⏎2⏎3⏎4⏎5⏎6⏎7⏎8⏎
tool_call assistant write_file | write_file⏎file_path: loans.py
tool_result tool write_file failed | params must have required property 'content'
turn assistant | It is 28 days now.
turn user | Send a helper. @@CALL invoke_agent {"agent_n
injected system | MARK-OTHER
tool_call assistant invoke_agent | invoke_agent⏎agent_name: generalist⏎prompt:
tool_result tool invoke_agent ok | Subagent 'generalist' finished.⏎Termination
turn assistant | The helper counted two.
turn user | yes
injected system | MARK-OTHER
turn assistant | Stub reply: noted.
turn user | Fill up. @@TOKENS 900000@@ @@CALL read_file
injected system | MARK-OTHER
tool_call assistant read_file | read_file⏎file_path: loans.py
tool_result tool read_file ok | def due(book):⏎    return book.lent_on + 28
summary system | <state_snapshot>⏎<overall_goal>Lend books.</
tool_call assistant run_shell_command | run_shell_command⏎command: echo ok⏎descripti
tool_result tool run_shell_command ok | <untrusted_context>⏎Output: ok⏎Process Group
turn assistant | It was much.
turn user | What does @loans.py say?
injected system | ⏎--- Content from referenced files ---⏎Conte
injected system | MARK-OTHER
turn assistant | Stub reply: noted.
turn user | [[RUN]] Count the books. [[CALL run_shell_co
tool_call assistant run_shell_command | run_shell_command⏎command: ls -1; false
tool_result tool run_shell_command failed | <untrusted_context>⏎Output: loans.py⏎Exit Co
tool_call assistant read_file | read_file⏎file_path: loans.py
tool_result tool read_file ok | def due(book):⏎    return book.lent_on + 28
tool_call assistant complete_task | complete_task⏎result: {"response": "Two book
tool_result tool complete_task ok | Output submitted and task completed.
"""

# What it adds to the hooks: answers (theirs are damaged), thinking, what was injected, a call that was refused, a
# compression's summary, the subagent's prompt.
ADDED = r"""
 1 injected system | ⏎--- Content from referenced files ---⏎Conte
 7 injected system | MARK-OTHER
 1 summary system | <state_snapshot>⏎<overall_goal>Lend books.</
 4 thinking assistant | Loans⏎The rule is in loans.py.
 1 tool_call assistant write_file | write_file⏎file_path: loans.py
 1 tool_result tool write_file failed | params must have required property 'content'
 1 turn assistant | Books are due after 28 days.
 4 turn assistant | I will look.
 1 turn assistant | It is 28 days now.
 1 turn assistant | It was much.
 3 turn assistant | Stub reply: noted.
 1 turn assistant | The helper counted two.
 1 turn user | [[RUN]] Count the books. [[CALL run_shell_co
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The recorded session, under paths that are there."""
    for path in FIXTURE.rglob("*"):
        if path.is_file():
            copy = tmp_path / ".gemini" / "tmp" / "shelf" / path.relative_to(FIXTURE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text("utf-8").replace("/home/ana/.gemini", str(tmp_path / ".gemini")), "utf-8")
    return tmp_path / ".gemini" / "tmp" / "shelf"


def record(payload: object, **more: Any) -> HookRecord:
    raw = json.dumps(payload).encode()
    told: dict[str, Any] = {"id": bytes(16), "event": "", "at": 7, "cwd": "/src", "branch": "main"} | more
    return HookRecord(assistant="gemini-cli", payload=raw, **told)


def tell(event: str, **fields: Any) -> list[HookEvent]:
    return read_record(record({"hook_event_name": event, "session_id": "s", "transcript_path": "/t.jsonl", **fields}))


def hooked(home: Path) -> list[HookEvent]:
    lines = (home / "hooks.jsonl").read_text("utf-8").splitlines()
    return [one for line in lines for one in read_record(record(json.loads(line)["payload"]))]


def digest(*parts: bytes) -> bytes:
    return sha256(b"\0".join(parts)).digest()


def identities(happenings: Iterable[HookEvent | MalformedLine]) -> dict[bytes, Event]:
    """The events of one channel by their identities, texts without a host's id counted from its start."""
    occurred: Counter[bytes] = Counter()
    found: dict[bytes, Event] = {}
    for event in happenings:
        if isinstance(event, Event):
            first = identity_of(event, 1, digest)
            occurred[first] += event.host_id is None
            found.setdefault(identity_of(event, max(1, occurred[first]), digest), event)
    return found


def row(event: Event) -> str:
    head = " ".join(part for part in (event.kind, event.role, event.tool, event.outcome) if part)
    return f"{head} | {to_text(event.text)[:44]}".replace("\n", "⏎").rstrip(" ")


def test_a_real_session_is_read_whole_and_once_with_its_subagent(table: Any, home: Path) -> None:
    assert table(home / "chats" / MAIN) == TABLE.strip("\n").split("\n")


def test_what_a_subagent_did_is_the_sessions_and_what_was_said_is_its_own(read: Any, home: Path) -> None:
    events = read(home / "chats" / MAIN)
    alone = read(home / "chats" / SESSION / f"{AGENT}.jsonl")
    assert [event.text for event in alone] == [event.text for event in events[-7:]]
    for told in (events[-7:], alone):
        assert [event.session for event in told] == [f"{SESSION}/{AGENT}", *[SESSION] * 6]
    assert {event.session for event in events[:-7]} == {SESSION}


def test_what_hooks_tell_the_transcript_tells_too_and_what_it_adds_is_known(read: Any, home: Path) -> None:
    hooks, transcript = identities(hooked(home)), identities(read(home / "chats" / MAIN))
    assert len(hooks) == 29
    assert [row(event) for identity, event in hooks.items() if identity not in transcript] == []
    added = Counter(row(event) for identity, event in transcript.items() if identity not in hooks)
    assert [f"{count:2} {what}" for what, count in sorted(added.items())] == sorted(
        ADDED.strip("\n").split("\n"), key=lambda line: line[3:]
    )


def test_the_same_memory_results_whichever_comes_first(read: Any, home: Path) -> None:
    hooks, transcript = identities(hooked(home)), identities(read(home / "chats" / MAIN))
    for identity, event in hooks.items():
        other = transcript[identity]
        assert (to_text(event.text).strip(), event.session) == (to_text(other.text).strip(), other.session)
        assert (event.tool, event.outcome, event.files) == (other.tool, other.outcome, other.files)
        assert (event.cwd, other.cwd) == ("/home/ana/shelf", "/home/ana/shelf")


def test_the_transcript_is_announced_and_read_at_once_after_every_answer(home: Path) -> None:
    told = [one for one in hooked(home) if isinstance(one, TranscriptRef)]
    assert {(one.format, one.path) for one in told} == {("gemini-cli", str(home / "chats" / MAIN))}
    assert Counter(one.ended for one in told) == Counter({True: 14, False: 7})


def test_nothing_that_this_memory_told_or_was_asked_is_in_either(read: Any, home: Path) -> None:
    for events in (hooked(home), read(home / "chats" / MAIN)):
        texts = "\n".join(to_text(event.text) for event in events if isinstance(event, Event))
        assert "FRAMED" not in texts
        assert "PROBE-MEMORY-ANSWER" not in texts
        assert "mcp_mnemic_recall\n" not in texts


def test_a_result_that_was_cut_short_is_whole_while_its_file_is_there(read: Any, home: Path) -> None:
    def counted() -> str:
        (result,) = (event for event in read(home / "chats" / MAIN) if b"\n149\n" in event.text)
        return to_text(result.text)

    assert counted().endswith("\n149\n150\nProcess Group PGID: 2645\n</untrusted_context>")
    assert "\n75\n" in counted()
    shutil.rmtree(home / "tool-outputs")
    assert "characters omitted" in counted()


@pytest.mark.parametrize(
    "named", ["secret.txt", "tool-outputs/../secret.txt", "tool-outputs/", "tool-outputs/a\0b", "\0/tool-outputs/a"]
)
def test_no_other_file_is_read_for_a_result_that_names_it(read: Any, write: Any, tmp_path: Path, named: str) -> None:
    (tmp_path / "secret.txt").write_text("not a tool's")
    (tmp_path / "tool-outputs").mkdir()
    text = f"Output too large. Showing first 1 and last 1 characters. For full output see: {tmp_path}/{named}\nx"
    call = {"id": "c", "name": "run_shell_command", "args": {}, "status": "success", "result": text}
    path = write(HEADER, message("gemini", "", toolCalls=[call]), name="chats/session-1-aaaaaaaa.jsonl")
    assert to_text(read(path)[1].text) == text


@pytest.mark.parametrize("link", ["tool-outputs", "tool-outputs/s", "tool-outputs/s/secret.txt"])
def test_no_file_is_read_by_way_of_a_link_below_the_project(read: Any, write: Any, tmp_path: Path, link: str) -> None:
    named = "tool-outputs/s/secret.txt"
    secret = tmp_path / "private" / named
    secret.parent.mkdir(parents=True)
    secret.write_text("not a tool's")
    project = tmp_path / "shelf"
    (project / link).parent.mkdir(parents=True)
    (project / link).symlink_to(tmp_path / "private" / link)
    text = f"Output too large. Showing first 1 and last 1 characters. For full output see: {project / named}\nx"
    call = {"id": "c", "name": "run_shell_command", "args": {}, "status": "success", "result": text}
    path = write(HEADER, message("gemini", "", toolCalls=[call]), name="shelf/chats/session-1-aaaaaaaa.jsonl")
    assert to_text(read(path)[1].text) == text
    (project / link).unlink()
    (tmp_path / "private" / link).rename(project / link)
    assert to_text(read(path)[1].text) == "not a tool's", "it is read where it is really there"


HEADER = {"sessionId": "s", "projectHash": "p", "startTime": "2026-11-22T10:00:00Z", "kind": "main"}


def message(kind: str, content: object, own_id: str = "m", **more: Any) -> dict[str, Any]:
    return {"id": own_id, "timestamp": "2026-11-22T10:00:00Z", "type": kind, "content": content, **more}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write lines to a file and give its path."""

    def put(*lines: object, name: str = "session-1-aaaaaaaa.jsonl") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        return str(path)

    return put


def test_a_held_back_message_that_fails_takes_no_other_with_it(
    read: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(text: str) -> str:
        if text == "bad":
            raise RecursionError
        return text

    monkeypatch.setattr("mnemic.hooks.hosts.gemini_cli.result_text", refusing)
    call = {"id": "c", "name": "ls", "args": {}, "status": "success", "result": "bad"}
    lines = [HEADER, message("user", "first", "1"), message("gemini", "", "2", toolCalls=[call])]
    for more in ([message("user", "last", "3")], [{**HEADER, "sessionId": "t"}, message("user", "last", "3")], []):
        found = read(write(*lines, *more))
        assert [to_text(one.text) for one in found if isinstance(one, Event)] == ["first", *(["last"] if more else [])]
        assert [one.why for one in found if isinstance(one, MalformedLine)] == ["reading it failed (RecursionError)"]


def test_no_link_beside_a_session_is_a_subagents(read: Any, write: Any, tmp_path: Path) -> None:
    path = write(HEADER, message("user", "own"), name="session-1-aaaaaaaa.jsonl")
    diary = write({**HEADER, "kind": "subagent"}, message("user", "private"), name="private/diary.jsonl")
    (tmp_path / "aaaaaaaa-1").mkdir()
    (tmp_path / "aaaaaaaa-1" / "a.jsonl").symlink_to(diary)
    (tmp_path / "aaaaaaaa-2").symlink_to(tmp_path / "private")
    assert [to_text(event.text) for event in read(path)] == ["own"]
    (tmp_path / "aaaaaaaa-1" / "a.jsonl").unlink()
    Path(diary).rename(tmp_path / "aaaaaaaa-1" / "a.jsonl")
    assert [to_text(event.text) for event in read(path)] == ["own", "private"]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("plain words", ["turn user | plain words"]),
        ([{"text": "one "}, {"text": "two"}], ["turn user | one two"]),
        ([{"text": "<hook_context>a</hook_context>\n\nmine"}], ["injected system | a", "turn user | mine"]),
        (
            [{"text": "<hook_context>&lt;mnemic-memory&gt;a&lt;/mnemic-memory&gt;</hook_context>\n\nmine"}],
            ["turn user | mine"],
        ),
        ([{"text": "mine"}, {"text": "<hook_context>a</hook_context>"}], ["turn user | mine", "injected system | a"]),
        ([{"text": "<hook_context>a</hook_context>"}], ["injected system | a"]),
        ("about <hook_context>x</hook_context>", ["turn user | about <hook_context>x</hook_context>"]),
        ("<session_context>\nlisting\n</session_context>", []),
        ("<state_snapshot>s</state_snapshot>", ["summary system | <state_snapshot>s</state_snapshot>"]),
        ("Please continue.", ["injected system | Please continue."]),
        ([{"functionResponse": {"id": "c", "response": {"output": "o"}}}], []),
        ("  ", []),
    ],
)
def test_a_users_words_are_told_from_the_hosts(table: Any, write: Any, content: object, rows: list[str]) -> None:
    assert table(write(HEADER, message("user", content))) == rows


def test_the_last_line_of_a_message_counts_and_what_the_history_repeats_does_not(table: Any, write: Any) -> None:
    call = {"id": "c", "name": "glob", "args": {"pattern": "*"}, "status": "success", "result": [{"text": "a.py"}]}
    path = write(
        HEADER,
        message("gemini", "I will look"),
        message("gemini", "I will look.", toolCalls=[{**call, "result": None}]),
        {"$set": {"lastUpdated": "now"}},
        message("gemini", "I will look.", toolCalls=[call]),
        {"$rewindTo": "m"},
        message("info", "a note of the program's", "i"),
        {"$set": {"messages": [message("gemini", [{"text": "I will look."}], "other")]}},
        message("gemini", "told again", "m"),
    )
    assert table(path) == [
        "turn assistant | I will look.",
        "tool_call assistant glob | glob⏎pattern: *",
        "tool_result tool glob ok | a.py",
    ]


def test_what_stands_in_a_change_alone_is_told_once_and_what_it_repeats_is_not(table: Any, write: Any) -> None:
    history = [
        message("user", [{"text": "The tide turns at six."}], "other-1"),
        message("gemini", [{"text": "At six."}], "2"),
        message("user", [{"text": "The tide turns at six."}], "other-3"),
        message("user", [{"text": "The anchor is in locker 2."}], "4"),
        message("info", "a note of the program's", "5"),
        {"type": "user", "content": "no id"},
    ]
    path = write(
        HEADER,
        message("user", "The tide turns at six.", "1"),
        message("gemini", "At six.", "2"),
        {"$set": {"messages": history}},
        {"$set": {"messages": history}},
        message("user", "The anchor is in locker 2.", "4"),
        message("user", "And the flag?", "6"),
    )
    assert table(path) == [
        "turn user | The tide turns at six.",
        "turn assistant | At six.",
        "turn user | The tide turns at six.",
        "turn user | The anchor is in locker 2.",
        "turn user | And the flag?",
    ]


@pytest.mark.parametrize("told", ["<state_snapshot>s</state_snapshot>", "The lamp was mended."])
def test_a_compressions_summary_in_whatever_words_is_nobodys_prompt(table: Any, write: Any, told: str) -> None:
    summary = message("user", told, "1")
    thanks = message("gemini", "Got it. Thanks for the additional context!", "2")
    path = write(HEADER, {"$set": {"messages": [summary, thanks, message("user", "Go on.", "3")]}})
    assert table(path) == [f"summary system | {told}", "turn user | Go on."]


CALL = {"id": "c", "name": "glob", "args": {"pattern": "*"}, "status": "success", "result": [{"text": "a.py"}]}
DOCUMENT = {
    **HEADER,
    "messages": [
        message("user", "yes", "1"),
        message("gemini", "I will look.", "2", toolCalls=[CALL]),
        message("user", "yes", "3"),
    ],
}
TOLD = [
    "turn user | yes",
    "turn assistant | I will look.",
    "tool_call assistant glob | glob⏎pattern: *",
    "tool_result tool glob ok | a.py",
    "turn user | yes",
]


@pytest.mark.parametrize("indent", [2, None])
@pytest.mark.parametrize("format", ["auto", "gemini-cli"])
@pytest.mark.parametrize("beginning", ["", "\ufeff"])
def test_a_session_of_one_document_is_told_as_its_lines_are(
    table: Any, tmp_path: Path, indent: int | None, format: str, beginning: str
) -> None:
    path = tmp_path / "session-1-aaaaaaaa.json"
    path.write_text(beginning + json.dumps(DOCUMENT, indent=indent), "utf-8")
    assert table(path, format) == TOLD
    source = open_transcript(str(path), format)
    assert [*source][-1].said_at is not None  # type: ignore[union-attr]
    assert source.position_bytes == source.size_bytes == path.stat().st_size
    source.close()


def test_a_document_that_went_on_in_lines_is_the_same_session_twice(read: Any, write: Any, tmp_path: Path) -> None:
    before = tmp_path / "session-1-aaaaaaaa.json"
    before.write_text(json.dumps(DOCUMENT, indent=2), "utf-8")
    after = write(HEADER, *DOCUMENT["messages"], {"$set": {"sessionId": "s"}}, message("user", "Go on.", "4"))
    assert identities(read(before)).keys() < identities(read(after)).keys()


def test_a_document_is_read_with_its_subagents_and_a_damaged_one_says_so(
    table: Any, read: Any, write: Any, tmp_path: Path
) -> None:
    path = tmp_path / "session-1-aaaaaaaa.json"
    path.write_text(json.dumps(DOCUMENT, indent=2), "utf-8")
    write({**HEADER, "kind": "subagent"}, message("user", "Count."), name="aaaaaaaa-1/a.jsonl")
    assert table(path) == [*TOLD, "turn user | Count."]
    path.write_text(json.dumps({**DOCUMENT, "messages": [1, message("user", "x"), {"type": "user"}]}, indent=2))
    assert table(path)[:3] == [
        "malformed 2 | not a JSON object",
        "malformed 4 | a message without its id",
        "turn user | x",
    ]
    path.write_text(json.dumps(DOCUMENT, indent=2)[:-9])
    with pytest.raises(SourceUnreadable, match="not JSON"):
        read(path)


def test_lines_that_lack_what_they_need_are_malformed_and_the_rest_goes_on(table: Any, write: Any) -> None:
    path = write(
        message("user", "whose?"),
        HEADER,
        {"type": "user", "content": "no id"},
        message("gemini", "x", toolCalls=[{"args": {}}]),
        message("user", "said", "n"),
    )
    assert table(path, "gemini-cli") == [
        "malformed 1 | no session was named before it",
        "malformed 3 | a message without its id",
        "malformed 4 | a tool call without its name",
        "turn user | said",
    ]


def test_a_prompt_is_what_was_typed() -> None:
    told = "<hook_context>MARK</hook_context>\n\n"
    (turn,) = tell("BeforeAgent", prompt=f"{told} @a.py x\n--- Content from referenced files ---\nsecret")
    assert isinstance(turn, Event)
    assert (to_text(turn.text), turn.role, turn.branch, turn.said_at) == (" @a.py x", "user", "main", 7)
    assert tell("BeforeAgent", prompt=told) == []


def test_an_answer_comes_from_the_transcript_and_from_the_hook_only_where_there_is_none() -> None:
    assert tell("AfterAgent", prompt_response="x  y") == [
        TranscriptRef(path="/t.jsonl", format="gemini-cli", ended=True)
    ]
    (turn,) = tell("AfterAgent", prompt_response="x  y", transcript_path="")
    assert isinstance(turn, Event)
    assert (turn.kind, turn.role, to_text(turn.text)) == ("turn", "assistant", "x  y")


def test_only_a_compression_that_was_asked_for_is_one() -> None:
    assert tell("PreCompress", trigger="auto") == []
    assert tell("PreCompress", trigger="manual") == [TranscriptRef(path="/t.jsonl", format="gemini-cli", ended=False)]


@pytest.mark.parametrize(
    ("response", "text", "outcome"),
    [
        ({"llmContent": "a"}, "a", "ok"),
        ({"llmContent": [{"text": "a"}, "b"]}, "a\nb", "ok"),
        ({"llmContent": [{"inlineData": {}}, {"fileData": {}}]}, "Binary content provided (2 item(s)).", "ok"),
        ({"llmContent": "Output: x\nExit Code: 2"}, "Output: x\nExit Code: 2", "failed"),
        ({"llmContent": "Output: x\nExit Code: 0"}, "Output: x\nExit Code: 0", "ok"),
        ({"llmContent": "it is not there", "error": {"message": "not found"}}, "not found", "failed"),
        ({"llmContent": "a\n\n<hook_context>b</hook_context>"}, "a", "ok"),
        ({"llmContent": "a\n<hook_context>b</hook_context> \n<hook_context>c</hook_context>\n"}, "a", "ok"),
        ({"llmContent": "a" + " " * 9_000 + "b"}, "a" + " " * 9_000 + "b", "ok"),
        (None, "", "ok"),
    ],
)
def test_a_call_is_told_with_its_result_and_outcome(response: object, text: str, outcome: str) -> None:
    call, result = tell("AfterTool", tool_name="run_shell_command", tool_input={"command": "x"}, tool_response=response)
    assert isinstance(call, Event)
    assert isinstance(result, Event)
    assert to_text(call.text) == "run_shell_command\ncommand: x"
    assert (to_text(result.text), result.outcome) == (text, outcome)


def test_this_memorys_own_tools_are_not_told() -> None:
    assert tell("AfterTool", tool_name="mcp_mnemic_memory_recall", tool_input={"query": "q"}) == []


@pytest.mark.parametrize("event", sorted(IGNORED_EVENTS))
def test_events_that_tell_nothing_are_known(event: str) -> None:
    assert tell(event) == []


def test_an_event_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnreadableRecord, match="no event of that name is known"):
        tell("AfterDinner")


FIELDS = [
    "session_id",
    "prompt",
    "prompt_response",
    "tool_name",
    "tool_input",
    "tool_response",
    "trigger",
    "transcript_path",
]
EVENTS = ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd", "x"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("<hook_context>"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["llmContent", "error", "text", "message", "inlineData", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(payload=st.dictionaries(st.sampled_from(FIELDS), VALUES), event=st.sampled_from(EVENTS))
def test_any_payload_is_understood_or_refused(payload: dict[str, Any], event: str) -> None:
    with contextlib.suppress(UnreadableRecord):
        read_record(record({"hook_event_name": event, "session_id": "s", **payload}))


LINES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["user", "gemini", "info"]) | VALUES,
        "id": st.sampled_from(["a", "b"]) | VALUES,
        "content": VALUES,
        "thoughts": VALUES,
        "toolCalls": st.lists(
            st.fixed_dictionaries({"name": VALUES}, optional={"result": VALUES, "args": VALUES}), max_size=2
        ),
        "$set": st.fixed_dictionaries({"messages": VALUES}),
        "sessionId": VALUES,
        "projectHash": VALUES,
    },
)


@given(lines=st.lists(LINES, max_size=5))
def test_any_lines_are_read_or_named_malformed(tmp_path_factory: pytest.TempPathFactory, lines: list[Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "session-1-bbbbbbbb.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [HEADER, *lines]), "utf-8")
    source = open_transcript(str(path), "gemini-cli")
    try:
        malformed = [found for found in source if not isinstance(found, Event)]
        assert all(not one.why.startswith("reading it failed") for one in malformed)
    finally:
        source.close()


def test_a_session_is_as_long_as_its_own_file_and_is_read_to_its_end(home: Path) -> None:
    path = home / "chats" / MAIN
    source = open_transcript(str(path), "auto")
    seen = [source.position_bytes for _ in source]
    source.close()
    assert seen == sorted(seen)
    assert source.position_bytes == source.size_bytes == path.stat().st_size >= seen[-1] > seen[0]
