"""OpenCode: a real session as its plugin, its database and its export tell it, and the shapes that all of them have."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.capture.prepare import identity_of
from mnemic.actors.kernel.errors import SourceUnreadable, UnreadableRecord
from mnemic.actors.kernel.events import Event, HookEvent, HookRecord, TranscriptRef, to_text
from mnemic.hooks import find_transcripts, open_transcript
from mnemic.hooks.read import database as guards
from mnemic.hooks.read.records import read_record
from tests.paths import FIXTURES

FIXTURE = FIXTURES / "hooks" / "opencode"
SESSION = "ses_dfd303730ffeGmoNKP3GoXo9UY"
CHILD = "ses_dfd2d1f94ffe29YpDdke21vV4v"

CHILDS = """
turn user | [[RUN]] Count the books. [[CALL bash {"comma
tool_call assistant bash | bash⏎command: ls -1; false⏎description: list
tool_result tool bash failed | loans.py⏎opencode.json⏎
turn assistant | Two books.
"""
MAINS = """
turn user | We decided: books are lent for 28 days. @@CA
tool_call assistant bash | bash⏎command: cat nowhere.txt⏎description: l
tool_result tool bash failed | cat: nowhere.txt: No such file or directory⏎
tool_call assistant read | read⏎filePath: /home/ana/shelf/absent.py
tool_result tool read failed | File not found: /home/ana/shelf/absent.py
tool_call assistant read | read⏎filePath: /home/ana/shelf/loans.py
tool_result tool read ok | <path>/home/ana/shelf/loans.py</path>⏎<type>
turn assistant | Books are due after 28 days.
turn user | yes
turn assistant | Books are due after 28 days.
turn user | yes
turn assistant | Books are due after 28 days.
turn user | Send a helper. @@CALL task {"description":"c
tool_call assistant task | task⏎description: count books⏎subagent_type:
tool_result tool task ok | <task id="ses_dfd2d1f94ffe29YpDdke21vV4v" st
turn assistant | The helper counted two.
injected system | Called the Read tool with the following inpu
injected system | <path>/home/ana/shelf/loans.py</path>⏎<type>
turn user | What does it say?
turn assistant | The helper counted two.
turn user | Fill up. @@TOKENS 99000@@ @@CALL bash {"comm
tool_call assistant bash | bash⏎command: echo a⏎description: say
tool_result tool bash ok | a⏎
summary system | Books are due after 28 days.
injected system | Continue if you have next steps, or stop and
turn assistant | Stub reply: noted.
"""

# What the database adds to the plugin's calls: the host's own words after a compaction, which are no prompt.
ADDED = ["injected system | Continue if you have next steps, or stop and"]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """The database of the recorded session."""
    path = tmp_path / "opencode.db"
    connection = apsw.Connection(str(path))
    connection.execute((FIXTURE / "opencode.sql").read_text("utf-8"))
    connection.close()
    return path


def record(payload: object) -> HookRecord:
    raw = json.dumps(payload).encode()
    return HookRecord(id=bytes(16), assistant="opencode", event="", at=7, cwd="/src", branch="main", payload=raw)


def tell(event: str, **fields: Any) -> list[HookEvent]:
    return read_record(record({"hook_event_name": event, "session_id": "s", "transcript_path": "/o.db#s", **fields}))


def called() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FIXTURE / "hooks.jsonl").read_text("utf-8").splitlines()]


def hooked() -> list[HookEvent]:
    return [one for call in called() for one in read_record(record(call["payload"]))]


def identities(happenings: Any) -> dict[bytes, Event]:
    """By identity; all of OpenCode's events have an id, so that nothing is counted."""
    events = [event for event in happenings if isinstance(event, Event)]
    assert all(event.host_id is not None for event in events)
    return {identity_of(event, 1, lambda *parts: b"\0".join(parts)): event for event in events}


def row(event: Event) -> str:
    head = " ".join(part for part in (event.kind, event.role, event.tool, event.outcome) if part)
    return f"{head} | {to_text(event.text)[:44]}".replace("\n", "⏎").rstrip(" ")


def lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


def test_a_database_is_read_whole_and_once_newest_session_first(table: Any, read: Any, database: Path) -> None:
    assert table(database) == lines(CHILDS) + lines(MAINS)
    assert [event.session for event in read(database)] == [f"{SESSION}/{CHILD}"] * 4 + [SESSION] * 26
    assert {event.cwd for event in read(database)} == {"/home/ana/shelf"}


def test_a_path_may_name_one_session_of_a_database(table: Any, database: Path) -> None:
    assert table(f"{database}#{CHILD}", "opencode") == table(f"{database}#{CHILD}") == lines(CHILDS)
    assert table(f"{database}#{SESSION}") == lines(MAINS)
    assert table(f"{database}#ses_that_went") == []


def test_an_export_tells_what_the_database_tells(read: Any, database: Path) -> None:
    assert read(FIXTURE / "export.json") == read(f"{database}#{SESSION}")
    assert read(FIXTURE / "export.json", "opencode") == read(FIXTURE / "export.json")


def test_what_the_plugin_tells_the_database_tells_too_and_what_it_adds_is_known(read: Any, database: Path) -> None:
    hooks, transcript = identities(hooked()), identities(read(database))
    assert len(hooks) == 29
    assert [row(event) for identity, event in hooks.items() if identity not in transcript] == []
    assert [row(event) for identity, event in transcript.items() if identity not in hooks] == ADDED
    for identity, event in hooks.items():
        other = transcript[identity]
        assert (event.text, event.session, event.cwd) == (other.text, other.session, other.cwd)
        assert (event.tool, event.outcome, event.files) == (other.tool, other.outcome, other.files)


def test_nothing_that_this_memory_told_or_was_asked_is_in_either(read: Any, database: Path) -> None:
    for events in (hooked(), read(database)):
        texts = "\n".join(to_text(event.text) for event in events if isinstance(event, Event))
        assert "FRAMED" not in texts
        assert "PROBE-MEMORY-ANSWER" not in texts
        assert "mnemic_recall\n" not in texts


def test_transcripts_are_announced_and_in_the_end_as_ended() -> None:
    told = [one for one in hooked() if isinstance(one, TranscriptRef)]
    paths = {f"/home/ana/.local/share/opencode/opencode.db#{session}" for session in (SESSION, CHILD)}
    assert {one.path for one in told if one.ended} == {one.path for one in told if not one.ended} == paths
    assert {one.format for one in told} == {"opencode"}


def test_the_plugin_calls_with_the_event_and_asks_once_a_session_and_at_prompts_where_it_is_told_to() -> None:
    arguments = Counter(tuple(call["arguments"][1:3]) for call in called())
    assert arguments == Counter(
        {
            ("session-start", "--ask"): 6,
            ("prompt", "--ask"): 6,
            ("prompt", "--home"): 1,  # a subagent's
            ("tool", "--home"): 6,
            ("tool-failed", "--home"): 1,
            ("reply", "--home"): 8,
            ("compaction", "--home"): 1,
            ("compacted", "--home"): 1,
            ("subagent", "--home"): 1,
            ("session-end", "--home"): 6,
        }
    )
    assert all(call["payload"]["hook_event_name"] == call["arguments"][1] for call in called())


def test_a_damaged_database_and_one_of_something_else_say_so(read: Any, tmp_path: Path, database: Path) -> None:
    other = tmp_path / "other.db"
    apsw.Connection(str(other)).execute("CREATE TABLE t(x)")
    with pytest.raises(SourceUnreadable, match="no such table"):
        read(other)
    database.write_bytes(database.read_bytes()[:5000])
    with pytest.raises(SourceUnreadable):
        read(database)


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"


def refusal(read: Any, database: Path, made: str) -> str:
    """Why a database cannot be read once somebody has done something to it."""
    connection = apsw.Connection(str(database))
    connection.execute(made)
    connection.close()
    with pytest.raises(SourceUnreadable) as refused:
        read(database)
    return str(refused.value).removeprefix(f"{database} cannot be read: ").removesuffix(".")


@pytest.mark.parametrize(
    ("table", "made"),
    [
        (
            "session",
            "ALTER TABLE session RENAME TO other; CREATE VIEW session AS"
            f" {ENDLESS} SELECT n AS id, n AS parent_id, n AS directory, n AS time_created FROM r",
        ),
        (
            "message",
            "ALTER TABLE message RENAME TO other; CREATE VIRTUAL TABLE message"
            " USING fts5(id, session_id, time_created, data)",
        ),
        ("part", "ALTER TABLE part DROP COLUMN data; ALTER TABLE part ADD COLUMN data AS (printf('%9999999d', 1))"),
    ],
)
def test_what_computes_its_rows_is_no_table_of_the_host(read: Any, database: Path, table: str, made: str) -> None:
    assert refusal(read, database, made) == f"it has no such table: {table}"


def test_a_query_that_takes_more_steps_than_its_file_needs_is_ended(
    read: Any, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "_LEAST_STEPS", 0)
    monkeypatch.setattr(guards, "_STEPS_PER_BYTE", 1)
    monkeypatch.setattr(guards, "_STEPS_BETWEEN_LOOKS", 1000)
    many = f"{ENDLESS} INSERT INTO part SELECT n, '', '', n, n, '' FROM r LIMIT 2000"  # each message looks at all
    assert refusal(read, database, many) == "its rows take too long to be found for its size"


def test_rows_that_belong_together_are_held_up_to_a_bound(
    read: Any, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "MOST_LINE_BYTES", 40_000)
    many = f"{ENDLESS} INSERT INTO message SELECT n, '{SESSION}', n, n, '' FROM r LIMIT 200"
    assert refusal(read, database, many) == "what belongs together in it is longer than 40,000 bytes"


def test_values_of_other_types_are_no_events_and_a_text_that_is_none_says_so(
    read: Any, table: Any, tmp_path: Path
) -> None:
    path = tmp_path / "opencode.db"
    connection = apsw.Connection(str(path))
    connection.execute(
        "CREATE TABLE session(id, parent_id, directory, time_created);"
        "CREATE TABLE message(id, session_id, time_created, data);"
        "CREATE TABLE part(id, message_id, session_id, data);"
        "INSERT INTO session VALUES ('s', 1, 2, 3); INSERT INTO message VALUES ('m', 's', 0, NULL), (NULL, 's', 0, 7);"
        "INSERT INTO part VALUES (1, 'm', 's', NULL)"
    )
    assert table(path) == [f"malformed {number} | a message without its info and parts" for number in (1, 2)]
    connection.execute("UPDATE message SET id = x'ff'")
    connection.close()
    with pytest.raises(SourceUnreadable, match="a text in it is no UTF-8"):
        read(path)


def test_rows_that_cannot_be_used_are_named_and_the_rest_goes_on(table: Any, database: Path) -> None:
    connection = apsw.Connection(str(database))
    ids = connection.execute("SELECT id FROM message WHERE session_id = ? ORDER BY id", (CHILD,)).fetchall()
    (first,), (second,), *_ = ids
    connection.execute("UPDATE message SET data = '[' WHERE id = ?", (first,))
    connection.execute('UPDATE part SET data = \'{"type":"tool"}\' WHERE message_id = ?', (second,))
    connection.close()
    assert table(f"{database}#{CHILD}") == [
        "malformed 1 | a message without its info and parts",
        "malformed 2 | a tool call without its name or state",
        "turn assistant | Two books.",
    ]


def test_a_database_that_is_written_to_meanwhile_is_read(read: Any, database: Path) -> None:
    writer = apsw.Connection(str(database))
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE session SET title = 'x'")
    assert len(read(database)) == 30
    writer.execute("ROLLBACK")
    writer.close()


def test_a_folder_stands_for_the_database_in_it(database: Path) -> None:
    assert find_transcripts(str(database.parent)) == [str(database)]
    assert find_transcripts(f"{database}#{CHILD}") == [f"{database}#{CHILD}"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{\n", "not JSON"),
        (b'{"info": {}}', "it is no document of opencode"),
        (b"", "it is empty"),
        (b"[]", "not a JSON object"),
    ],
)
def test_a_file_that_is_no_export_says_so(tmp_path: Path, read: Any, data: bytes, why: str) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(data)
    with pytest.raises(SourceUnreadable, match=why):
        read(path, "opencode")


def export(*messages: object) -> dict[str, Any]:
    return {"info": {"id": "ses_1", "directory": "/src"}, "messages": list(messages)}


def message(role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    numbered = [{"id": f"prt_{number}", **part} for number, part in enumerate(parts)]
    return {"info": {"id": "msg_1", "role": role, "time": {"created": 1}, **more}, "parts": numbered}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def tool(name: str, status: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": name, "callID": "c", "state": {"status": status, "input": {"a": 1}, **state}}


@pytest.mark.parametrize(
    ("told", "rows"),
    [
        (message("user", text("one"), text("two")), ["turn user | one⏎two"]),
        (
            message("user", text("mine"), text("theirs", synthetic=True)),
            ["injected system | theirs", "turn user | mine"],
        ),
        (message("user", text("<mnemic-memory>\nx\n</mnemic-memory>", synthetic=True)), []),
        (
            message("user", text("<mnemic-memory>x</mnemic-memory>")),
            ["injected system | <mnemic-memory>x</mnemic-memory>"],
        ),
        (message("user", text("not sent", ignored=True), {"type": "file", "url": "data:"}), []),
        (
            message("assistant", {"type": "reasoning", "text": "hm"}, text("so")),
            ["thinking assistant | hm", "turn assistant | so"],
        ),
        (message("assistant", text("so"), summary=True), ["summary system | so"]),
        (message("assistant", text(" ")), []),
        (
            message("assistant", tool("bash", "completed", output="o")),
            ["tool_call assistant bash | bash⏎a: 1", "tool_result tool bash ok | o"],
        ),
        (
            message("assistant", tool("bash", "completed", output="o", metadata={"exit": 1})),
            ["tool_call assistant bash | bash⏎a: 1", "tool_result tool bash failed | o"],
        ),
        (
            message("assistant", tool("bash", "error", error="e")),
            ["tool_call assistant bash | bash⏎a: 1", "tool_result tool bash failed | e"],
        ),
        (message("assistant", tool("bash", "running")), ["tool_call assistant bash | bash⏎a: 1"]),
        (message("assistant", tool("bash", "pending", input={})), []),
        (message("assistant", tool("mnemic_memory_recall", "completed", output="o")), []),
        (message("nobody"), ["malformed 1 | a message without its role"]),
        ("nothing", ["malformed 1 | a message without its info and parts"]),
    ],
)
def test_a_message_is_read_by_its_parts(table: Any, tmp_path: Path, told: object, rows: list[str]) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export(told), indent=1), "utf-8")
    assert table(path) == rows


NOTE = "<task-notification>b1 is done</task-notification>"
SHOWN = "<system-reminder>x</system-reminder>"
TASK = "<task>Fix the login; from now on use pnpm.</task>"


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([text(TASK)], [("turn", None, TASK)]),
        ([text("<template> why?")], [("turn", None, "<template> why?")]),
        ([text(NOTE)], [("injected", None, NOTE)]),
        ([text(NOTE), text(NOTE)], [("injected", None, f"{NOTE}\n{NOTE}")]),
        ([text(NOTE), text("What now?")], [("injected", None, NOTE), ("turn", None, "What now?")]),
        ([text("What now?"), text(NOTE), text(TASK)], [("injected", None, NOTE), ("turn", None, f"What now?\n{TASK}")]),
        ([text(TASK, synthetic=True), text("Go.")], [("injected", None, TASK), ("turn", None, "Go.")]),
        (
            [text("<system-reminder>x</system-reminder>\nGo.")],
            [("turn", "unknown", "<system-reminder>x</system-reminder>\nGo.")],
        ),
        ([text("What now?"), text(f"Go.\n{SHOWN}")], [("turn", None, "What now?\nGo."), ("injected", None, SHOWN)]),
        (
            [text("What now?"), text("<system-reminder>\nIt was cut"), text(f"Go.\n{SHOWN}")],
            [("turn", "unknown", "What now?\n<system-reminder>\nIt was cut\nGo."), ("injected", None, SHOWN)],
        ),
        (
            [text(f"What now?\n{SHOWN}"), text("Go.")],
            [("turn", "unknown", f"What now?\n{SHOWN}\nGo.")],
        ),
    ],
)
def test_what_is_not_marked_as_the_hosts_is_the_persons_part_by_part_for_plugin_and_export_alike(
    read: Any, tmp_path: Path, parts: list[dict[str, Any]], told: list[tuple[str, str | None, str]]
) -> None:
    said = message("user", *parts)
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export(said), indent=1), "utf-8")
    read_back = read(path)
    hook = [one for one in tell("prompt", message=said["info"], parts=said["parts"]) if isinstance(one, Event)]
    for events in (read_back, hook):
        assert [(one.kind, one.author, to_text(one.text)) for one in events] == told
    assert [one.host_id for one in read_back] == [one.host_id for one in hook]
    assert [one.reported_as for one in read_back] == [one.reported_as for one in hook]


def test_an_export_on_one_line_is_told_too(table: Any, tmp_path: Path) -> None:
    path = tmp_path / "export"
    path.write_text(json.dumps(export(message("user", text("one")))), "utf-8")
    assert table(path) == ["turn user | one"]


def test_a_deleted_session_has_no_transcript() -> None:
    assert tell("session-end", reason="deleted") == []
    assert tell("session-end", reason="exit") == [TranscriptRef(path="/o.db#s", format="opencode", ended=True)]


def test_a_reply_without_a_part_has_the_database_read_at_once() -> None:
    assert tell("reply") == [TranscriptRef(path="/o.db#s", format="opencode", ended=True)]


@pytest.mark.parametrize(
    ("event", "fields", "why"),
    [
        ("prompt", {}, "parts are missing"),
        ("prompt", {"parts": []}, "message is missing"),
        ("reply", {"part": None}, "part is missing"),
        ("reply", {"part": {"type": "text", "text": "x"}}, "without its id"),
        ("tool", {"part": {"type": "tool"}}, "without its name or state"),
        ("after-dinner", {}, "no event of that name is known"),
    ],
)
def test_what_lacks_what_it_needs_is_refused(event: str, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableRecord, match=why):
        tell(event, **fields)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "text", "tool", "state", "status", "input", "time", "created", "path", "x"]),
            inner | st.sampled_from(["text", "tool", "reasoning", "completed", "error"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)
EVENTS = ["session-start", "prompt", "reply", "tool", "tool-failed", "subagent", "compacted", "session-end", "x"]


@given(
    payload=st.dictionaries(st.sampled_from(["message", "part", "parts", "reason"]), VALUES),
    event=st.sampled_from(EVENTS),
)
def test_any_payload_is_understood_or_refused(payload: dict[str, Any], event: str) -> None:
    with contextlib.suppress(UnreadableRecord):
        tell(event, **payload)


@given(info=VALUES, messages=st.lists(VALUES | st.fixed_dictionaries({"info": VALUES, "parts": VALUES}), max_size=3))
def test_any_export_is_read_or_its_messages_named(
    tmp_path_factory: pytest.TempPathFactory, info: Any, messages: list[Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    told = {**info, "id": "ses_1"} if isinstance(info, dict) else {"id": "ses_1"}
    path.write_text(json.dumps({"info": told, "messages": messages}), "utf-8")
    source = open_transcript(str(path), "opencode")
    try:
        malformed = [found for found in source if not isinstance(found, Event)]
        assert all(not one.why.startswith("reading it failed") for one in malformed)
    finally:
        source.close()


@pytest.mark.parametrize("session", ["", f"#{CHILD}"])
def test_a_database_is_as_long_as_its_file_whichever_session_is_named(database: Path, session: str) -> None:
    source = open_transcript(f"{database}{session}", "opencode")
    seen = [source.position_bytes for _ in source]
    source.close()
    assert seen == sorted(seen)
    assert source.position_bytes == source.size_bytes == database.stat().st_size
