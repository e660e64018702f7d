"""`mnemic capture` takes what hosts keep in other forms, each once, and names what looks like a session and is not."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from tests.hooks.opencode_stores import FIRST, SECOND, Store
from tests.processes.faces import Outcome

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Command = Callable[..., Outcome]


def texts(command: Command, home: Path) -> list[str]:
    """What is kept, oldest first."""
    listed = command("log", "-n", 100, "--home", home, "--json")
    return [json.loads(line)["text"] for line in reversed(listed.out.splitlines())]


def test_opencodes_tables_of_both_kinds_are_taken_once_and_said_to_be_untried(
    command: Command, home: Path, tmp_path: Path
) -> None:
    store = Store(tmp_path / "opencode-stable.db", FIRST, SECOND)
    store.run("INSERT INTO session VALUES ('ses_1', NULL, '/src', 1)")
    store.first("msg_1", "The quay has 3 bollards.", made=1_780_000_000_000)
    first = command("capture", store.path, "--no-meaning", "--home", home, "--json").json
    assert first["new"] == 1
    store.session()
    store.say("user", "msg_1", text="The quay has 3 bollards.")
    store.say("assistant", content=[{"type": "text", "text": "It has 4 now."}], made=1_790_000_000_000)
    shown = command("capture", "--preview", tmp_path, "--home", home)
    assert "opencode, 2 memories of 1 conversation" in shown.out
    assert "OpenCode 2: no test has run it, only a stand-in made after its published source\n" in shown.out
    for new in (1, 0):
        again = command("capture", tmp_path, "--no-meaning", "--home", home, "--json").json
        assert (again["new"], again["known"], again["differing"]) == (new, 2 - new, 0)
    assert texts(command, home) == ["The quay has 3 bollards.", "It has 4 now."]


def test_a_rollout_that_was_packed_after_it_was_taken_adds_nothing(
    command: Command, home: Path, tmp_path: Path
) -> None:
    header = {"timestamp": "2026-11-10T10:00:00Z", "type": "session_meta", "payload": {"id": "t", "cwd": "/pier"}}
    prompt = {"type": "event_msg", "payload": {"type": "user_message", "message": "The valve is a DN50."}}
    data = "".join(f"{json.dumps(line)}\n" for line in (header, prompt, prompt))
    path = tmp_path / "sessions" / "rollout-1.jsonl"
    path.parent.mkdir()
    path.write_text(data)
    assert command("capture", path.parent, "--no-meaning", "--home", home, "--json").json["new"] == 2
    path.with_suffix(".jsonl.zst").write_bytes(zstd.compress(data.encode()))
    path.unlink()
    packed = command("capture", path.parent, "--no-meaning", "--home", home, "--json").json
    assert (packed["files"], packed["new"], packed["known"], packed["formats"]) == (1, 0, 2, ["codex"])


def test_what_looks_like_a_session_and_is_not_read_is_named_before_and_after(
    command: Command, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "rollout-0.json").write_text("{}")
    named = f"1 file looks like a session and is not read: {folder / 'rollout-0.json'}. Unpack what is compressed"
    alone = command("capture", "--preview", folder, "--home", home)
    assert named in alone.out
    assert "nothing is there" in alone.out
    (folder / "a.jsonl").write_text('{"session": "s", "role": "user", "text": "The quay is wet."}\n')
    assert named in command("capture", "--preview", folder, "--home", home).out
    assert named in command("capture", folder, "--no-meaning", "--home", home).out
    for preview in ([], ["--preview"]):
        told = command("capture", folder, "--no-meaning", "--home", home, "--json", *preview)
        assert (told.code, told.json["unread_files"]) == (0, [str(folder / "rollout-0.json")])


def test_a_kind_of_message_that_nobody_knows_is_counted_before_and_after(
    command: Command, home: Path, tmp_path: Path
) -> None:
    store = Store(tmp_path / "opencode.db", SECOND)
    store.session()
    store.say("user", text="The quay is wet.")
    store.say("hologram")
    told = "fields that mean nothing here, and were passed over: message of type hologram (1 line)"
    for preview in (["--preview"], []):
        assert told in command("capture", store.path, "--no-meaning", "--home", home, *preview).out
