"""OpenCode's database in the form of OpenCode 2, and in both forms at once: each message is told once.

The rows are made here, after OpenCode's published source; no test has run OpenCode 2 itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.capture.prepare import identity_of
from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, HookRecord, MalformedLine, UnknownFields, to_text
from mnemic.hooks import open_transcript
from mnemic.hooks.hosts.opencode_database import UNTRIED
from mnemic.hooks.read.formats import find_transcripts
from mnemic.hooks.read.records import read_record
from tests.hooks.opencode_stores import FIRST, SECOND, Store

Read = Callable[..., list[Any]]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A database of OpenCode 2 with a session."""
    made = Store(tmp_path / "opencode.db", SECOND)
    made.session()
    return made


def tool(name: str, status: str, **state: object) -> dict[str, object]:
    return {"type": "tool", "id": "call_1", "name": name, "state": {"status": status, "input": {"a": 1}, **state}}


def said(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("kind", "data", "rows"),
    [
        ("user", {"text": "The quay has 3 bollards."}, ["turn user | The quay has 3 bollards."]),
        ("user", {"text": "<task>Tar it.</task>"}, ["turn user | <task>Tar it.</task>"]),
        ("synthetic", {"text": "<task>Tar it.</task>"}, ["injected system | <task>Tar it.</task>"]),
        ("user", {"text": " "}, []),
        ("synthetic", {"text": "Plan mode is on."}, ["injected system | Plan mode is on."]),
        ("system", {"text": "The date is known."}, ["injected system | The date is known."]),
        ("skill", {"skill": "s", "name": "s", "text": "How to tar."}, ["injected system | How to tar."]),
        ("synthetic", {"text": "<mnemic-memory>\nx\n</mnemic-memory>"}, []),
        (
            "assistant",
            {"content": [{"type": "reasoning", "text": "hm"}, said("Three.")]},
            ["thinking assistant | hm", "turn assistant | Three."],
        ),
        (
            "assistant",
            {"content": [tool("read", "completed", content=[said("one"), {"type": "file", "uri": "u"}, said("two")])]},
            ["tool_call assistant read | read⏎a: 1", "tool_result tool read ok | one⏎two"],
        ),
        (
            "assistant",
            {"content": [tool("shell", "completed", content=[said("no")], metadata={"exit": 2})]},
            ["tool_call assistant shell | shell⏎a: 1", "tool_result tool shell failed | no"],
        ),
        (
            "assistant",
            {"content": [tool("edit", "error", error={"type": "x", "message": "it is not there"})]},
            ["tool_call assistant edit | edit⏎a: 1", "tool_result tool edit failed | it is not there"],
        ),
        ("assistant", {"content": [tool("edit", "running")]}, ["tool_call assistant edit | edit⏎a: 1"]),
        ("assistant", {"content": [{**tool("edit", "streaming"), "state": {"status": "streaming", "input": "{"}}]}, []),
        ("assistant", {"content": [tool("mnemic_memory_recall", "completed", content=[said("told")])]}, []),
        (
            "assistant",
            {
                "content": [
                    tool(
                        "execute",
                        "completed",
                        input={"code": "await tools.mnemic.memory_recall({})"},
                        content=[said("t")],
                    )
                ]
            },
            [],
        ),
        (
            "shell",
            {"command": "ls quay", "status": "exited", "exit": 1, "output": {"output": "none\n"}},
            ["tool_call assistant shell | shell⏎command: ls quay", "tool_result tool shell failed | none⏎"],
        ),
        ("compaction", {"status": "completed", "summary": "We tarred."}, ["summary system | We tarred."]),
        ("compaction", {"status": "running", "summary": "We"}, []),
        ("idle", {"outcome": "succeeded"}, []),
        ("model-switched", {"model": {}}, []),
        ("assistant", {"content": [{"type": "tool"}]}, ["malformed 1 | a tool call without its name or state"]),
    ],
)
def test_each_kind_of_message_of_opencode_2_is_told_as_what_it_is(
    table: Any, store: Store, kind: str, data: dict[str, object], rows: list[str]
) -> None:
    store.say(kind, **data)
    assert table(store.path) == rows


def test_a_prompt_that_the_plugin_told_is_the_one_in_the_database(read: Read, store: Store) -> None:
    store.say("user", "msg_1", text="The quay has 3 bollards.")
    payload = {
        "hook_event_name": "prompt",
        "session_id": "ses_1",
        "message": {"id": "msg_1", "role": "user"},
        "parts": [{"id": "msg_1", "type": "text", "text": "The quay has 3 bollards."}],
    }
    raw = json.dumps(payload).encode()
    hook = HookRecord(id=bytes(16), assistant="opencode", event="", at=7, cwd="/src", branch=None, payload=raw)
    (told,) = read_record(hook)
    (kept,) = read(store.path)
    assert isinstance(told, Event)
    assert identity_of(told, 1, lambda *parts: b"|".join(parts)) == identity_of(
        kept, 1, lambda *parts: b"|".join(parts)
    )
    assert (told.text, told.cwd) == (kept.text, kept.cwd)


def test_sessions_come_newest_first_with_folder_time_and_parent(read: Read, store: Store) -> None:
    store.session("ses_2", parent="ses_1", made=9, folder="/quay")
    store.say("user", text="Old.", time={"created": 7})
    store.say("user", session="ses_2", text="New.", made=8)
    told = [(event.session, event.cwd, event.said_at, to_text(event.text)) for event in read(store.path)]
    assert told == [("ses_1/ses_2", "/quay", 8000, "New."), ("ses_1", "/src", 7000, "Old.")]
    assert [to_text(event.text) for event in read(f"{store.path}#ses_1")] == ["Old."]


def test_what_is_said_behind_a_move_belongs_to_the_new_folder(read: Read, store: Store) -> None:
    store.say("user", text="Here.")
    store.say("location-switched", location={"directory": "/quay"})
    store.say("user", text="There.")
    assert [event.cwd for event in read(store.path)] == ["/src", "/quay"]


def test_the_end_of_an_answer_that_is_still_written_waits(table: Any, store: Store) -> None:
    unfinished = {"time": {"created": 1}, "content": [said("Whole."), said("Hal")]}
    store.say("assistant", "msg_a", **unfinished)
    assert table(store.path) == ["turn assistant | Whole."]
    store.run("UPDATE session_message SET data = json_set(data, '$.time.completed', 2)")
    assert table(store.path) == ["turn assistant | Whole.", "turn assistant | Hal"]
    store.run("UPDATE session_message SET data = json_remove(data, '$.time.completed')")
    store.say("idle", outcome="interrupted")
    assert table(store.path) == ["turn assistant | Whole.", "turn assistant | Hal"], "nothing is written there any more"


def test_of_both_kinds_of_tables_all_is_told_and_nothing_twice(read: Read, tmp_path: Path) -> None:
    store = Store(tmp_path / "opencode.db", FIRST, SECOND)
    store.run("INSERT INTO session VALUES ('ses_1', NULL, '/src', 1), ('ses_old', NULL, '/src', 2)")
    store.first("msg_1", "The quay has 3 bollards.")
    store.first("msg_2", "Called the Read tool", synthetic=True, made=6)
    store.first("msg_3", "Later, in OpenCode 1.", "ses_old")
    store.session()
    store.say("user", "msg_1", text="The quay has 3 bollards.")
    store.say("synthetic", "msg_2copy", text="Called the Read tool", made=6)
    store.say("user", "msg_9", text="It has 4 now.", made=9)
    store.session("ses_new", made=3)
    store.say("user", session="ses_new", text="A new one.")
    assert [to_text(event.text) for event in read(store.path)] == [
        *("A new one.", "Later, in OpenCode 1."),
        *("The quay has 3 bollards.", "Called the Read tool", "It has 4 now."),
    ]
    ids = [event.host_id for event in read(store.path)]
    assert len(set(ids)) == len(ids)


def test_a_kind_that_nobody_knows_is_counted_by_its_name(read: Read, store: Store) -> None:
    store.say("hologram", text="x")
    store.say("h" * 100, text="x")
    names = [f"message of type {name}" for name in ("hologram", "h" * 40)]
    assert read(store.path) == [UnknownFields(names=(name,)) for name in names]


def test_a_row_that_is_no_json_is_named_and_the_rest_goes_on(table: Any, store: Store) -> None:
    store.say("user", text="Kept.")
    store.run("INSERT INTO session_message VALUES ('msg_x', 'ses_1', 'user', 0, 1, '[')")
    assert table(store.path) == ["malformed 1 | a message whose data is no JSON object", "turn user | Kept."]


def test_whoever_opens_one_of_opencode_2_is_told_that_no_test_has_run_it(tmp_path: Path, store: Store) -> None:
    def note(path: Path) -> str:
        source = open_transcript(str(path), "auto")
        source.close()
        return str(source.note)  # type: ignore[attr-defined]

    assert note(store.path) == ""
    store.say("user", text="x")
    assert note(store.path) == UNTRIED
    assert note(Store(tmp_path / "first.db", FIRST).path) == ""


def test_a_view_in_the_place_of_a_table_is_refused(read: Read, store: Store) -> None:
    store.run("ALTER TABLE session_message RENAME TO other")
    with pytest.raises(SourceUnreadable, match="it has no such table: session_message"):
        read(store.path)
    store.run("CREATE VIEW session_message AS SELECT * FROM other")
    with pytest.raises(SourceUnreadable, match="it has no such table: session_message"):
        read(store.path)


def test_progress_ends_at_the_length_of_the_file(store: Store) -> None:
    for number in range(9):
        store.say("user", text=f"{number} bollards")
    source = open_transcript(str(store.path), "opencode")
    seen = [source.position_bytes for _ in source]
    source.close()
    assert seen == sorted(seen)
    assert source.position_bytes == source.size_bytes == store.path.stat().st_size


def test_databases_of_other_channels_are_transcripts_too(tmp_path: Path) -> None:
    for name in ("opencode.db", "opencode-stable.db", "opencode.db-wal", "other.db"):
        (tmp_path / name).touch()
    assert [Path(path).name for path in find_transcripts(str(tmp_path))] == ["opencode-stable.db", "opencode.db"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["text", "content", "type", "name", "state", "status", "input", "time", "created", "output"]
            ),
            inner | st.sampled_from(["text", "tool", "completed", "error", "running"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(["user", "assistant", "synthetic", "shell", "compaction", "location-switched"]) | st.text()


@given(kind=KINDS, data=VALUES)
def test_any_row_is_read_or_named(tmp_path_factory: pytest.TempPathFactory, kind: str, data: object) -> None:
    path = tmp_path_factory.getbasetemp() / "opencode-any.db"
    path.unlink(missing_ok=True)
    store = Store(path, SECOND)
    store.session()
    store.run("INSERT INTO session_message VALUES ('msg_1', 'ses_1', ?, 1, 1, ?)", kind, json.dumps(data))
    source = open_transcript(str(path), "opencode")
    try:
        found = list(source)
    finally:
        source.close()
    assert all(isinstance(one, Event | UnknownFields | MalformedLine) for one in found)
    assert not [one for one in found if isinstance(one, MalformedLine) and one.why.startswith("reading it failed")]
