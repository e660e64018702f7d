"""The commands of keys: what they ask, what they print once, and what a locked memory still does for an assistant."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.kernel.errors import NotOnRay
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys.key_slots import format_recovery_key
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from tests.mnemic.test_session_start import alone
from tests.paths import built_hook
from tests.processes.faces import COMMAND, Outcome, finish
from tests.processes.hosted import tool_call
from tests.processes.serving import Assistant, end, info_of, ready, serving
from tests.waiting import BOUND_S, until

Command = Callable[..., Outcome]
Say = Callable[..., Outcome]
WORDS = "nine books on a shelf"
OTHER = "ten jars on a sill"
RECOVERY = re.compile(r"([A-Z2-7]{4}-){13}[A-Z2-7]{4}")
PAYLOAD = json.dumps({"session_id": "new", "source": "startup", "hook_event_name": "SessionStart"}).encode()


@pytest.fixture
def say(command: Command, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Run the command in this process, with lines on its standard input, which is no terminal."""

    def call(*arguments: object, given: bytes = b"") -> Outcome:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        return command(*arguments)

    return call


@pytest.fixture
def locked(home: Path) -> Path:
    """A home whose mind is locked by `WORDS`, and holds a memory."""
    with mnemic.open(home, passphrase=WORDS) as mind:
        mind.remember("the heron stands on the pier")
    return home


def folder(home: Path) -> MindFolder:
    return MindFolder(home / "minds" / "default")


def on_a_terminal(*arguments: object, typed: tuple[str, ...] = ()) -> Outcome:
    """Run a command that has a terminal for standard input and error, and type lines once it asks for each."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    sent, left = b"", list(typed)
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not block:
            break
        sent += block
        if left and sent.rstrip(b" ").endswith(b":"):
            os.write(ours, left.pop(0).encode() + b"\n")
            sent += b"\n"
    os.close(ours)
    done = finish(process)
    return Outcome(done.code, done.out, sent.decode())


# --- init ------------------------------------------------------------------------------------------------------------


def test_init_prints_a_recovery_key_once_and_says_so_where_nobody_reads_it(command: Command, home: Path) -> None:
    made = command("init", "--home", home)
    found = RECOVERY.search(made.out)
    assert (made.code, bool(found)) == (0, True)
    assert made.err.count("\n") == 1
    assert "whoever keeps that, keeps the key" in made.err
    assert found is not None
    folder(home).key.unlink()
    assert open_mind(home, "default", found[0])[0].path.is_dir()
    written = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert found[0].encode() not in written


def test_init_says_that_others_may_not_write_to_the_home_any_more(command: Command, home: Path) -> None:
    home.mkdir(exist_ok=True)
    home.chmod(0o777)
    made = command("init", "--home", home, "--json")
    assert (made.code, made.json["folder"]) == (0, str(folder(home).path))
    assert f"mnemic: Others could write to the home {home} (mode 0777): they may not any more." in made.err
    assert stat.S_IMODE(home.stat().st_mode) == 0o755
    home.chmod(0o1777)
    assert "Others may write to the home" in command("init", "--home", home, "--mind", "two").err
    home.chmod(0o755)
    assert "Others" not in command("init", "--home", home, "--mind", "three").err


def test_init_on_a_terminal_shows_it_without_a_warning(home: Path, say: Say) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [*COMMAND, "init", "--home", str(home)], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert (done.returncode, done.stderr) == (0, b"")
    assert RECOVERY.search(shown)


def test_a_command_that_is_proposed_means_the_same_mind(home: Path, tmp_path: Path, say: Say) -> None:
    line, named = WORDS.encode(), ("--home", home, "--mind", "two")
    way = f"--home {home} --mind two`"
    made = say("init", "--passphrase", *named, given=line)
    assert f"`mnemic unlock {way} asks for it" in made.out
    assert f"`mnemic resume {way} ends that" in say("pause", *named).out
    assert f"`mnemic unlock {way} in a terminal" in say("recall", "x", *named).err
    assert say("backup", tmp_path / "x.bak", *named, given=line).code == 0
    restored = say("restore", tmp_path / "x.bak", "--passphrase", "--replace", *named, given=line)
    assert f"as before: `mnemic unlock {way}." in restored.out
    create_mind(home, "plain", SystemClock())
    refused = say("lock", "--home", home, "--mind", "plain")
    assert f"`mnemic rekey --passphrase --home {home} --mind plain`" in refused.err


def test_init_as_json_has_the_recovery_key_too(command: Command, home: Path) -> None:
    made = command("init", "--home", home, "--json")
    assert RECOVERY.fullmatch(made.json["recovery"])
    assert made.json["key"] == str(folder(home).key)
    assert "keeps the key" in made.err


def test_a_recovery_key_is_added_and_all_that_opened_the_mind_and_its_backups_does_so_still(
    home: Path, tmp_path: Path, command: Command, say: Say
) -> None:
    mnemic.open(home).close()
    assert [slot["kind"] for slot in json.loads(folder(home).key_header.read_bytes())["slots"]] == ["file"]
    key = folder(home).key.read_bytes()
    first = command("rekey", "--recovery", "--home", home, "--json").json
    assert command("backup", tmp_path / "x.bak", "--home", home).code == 0
    second = command("rekey", "--recovery", "--home", home, "--json")
    assert (second.code, second.json["key"]) == (0, str(folder(home).key)), "it is not asked whether"
    assert folder(home).key.read_bytes() == key
    for given in (first, second.json):
        assert (given["unlocked"], given["not_unlocked"]) == (False, None)
        assert RECOVERY.fullmatch(given["recovery"])
        assert open_mind(home, "default", given["recovery"])
    told = command("rekey", "--recovery", "--home", home).out
    assert told.startswith("Added a recovery key to the mind 'default'; all that opened it before opens it still\n")
    assert command("restore", tmp_path / "x.bak", "--replace", "--home", home).code == 0
    elsewhere = ("restore", tmp_path / "x.bak", "--recovery", "--home", tmp_path / "o")
    assert say(*elsewhere, given=first["recovery"].encode()).code == 0


def test_init_with_a_passphrase_reads_a_line_where_there_is_no_terminal(home: Path, say: Say) -> None:
    made = say("init", "--passphrase", "--home", home, "--json", given=WORDS.encode() + b"\nmore\n")
    assert (made.code, made.json["key"]) == (0, None)
    assert not folder(home).key.exists()
    assert open_mind(home, "default", WORDS)
    assert WORDS not in made.out + made.err


@pytest.mark.parametrize(("given", "why"), [(b"", "nothing was said"), (b"short\n", "too short")])
def test_a_passphrase_that_cannot_be_makes_no_mind(home: Path, given: bytes, why: str, say: Say) -> None:
    refused = say("init", "--passphrase", "--home", home, given=given)
    assert refused.code == 2
    assert why in refused.err
    assert "cannot be '" not in refused.err
    assert not (home / "minds").exists()


def test_what_opens_a_mind_is_never_quoted_nor_is_a_mind_a_wrong_value(home: Path, say: Say, command: Command) -> None:
    create_mind(home, "default", SystemClock(), recovery=bytes(32))
    folder(home).key.rename(home / "key")
    unsaid = say("unlock", "--recovery", "--home", home)
    assert unsaid.code == 2
    assert "what opens the mind was to be said there, and nothing was said." in unsaid.err
    (home / "key").rename(folder(home).key)
    refused = command("lock", "--home", home)
    assert refused.code == 2
    assert "The mind 'default' cannot be locked: its key file opens it whenever somebody asks." in refused.err
    assert command("backup", home / "x.bak", "--home", home).code == 0
    word = say("restore", home / "x.bak", "--home", home, "--replace", "--passphrase", given=WORDS.encode())
    assert word.code == 2
    assert "The passphrase cannot be taken: no passphrase opens this backup." in word.err


def test_init_asks_twice_on_a_terminal_and_shows_nothing_of_it(home: Path) -> None:
    differing = on_a_terminal("init", "--passphrase", "--home", home, typed=("short", *(WORDS, OTHER) * 2))
    assert differing.code == 2
    said = " ".join(differing.err.split())
    assert "cannot be taken: it is too short. Give at least 8 letters, better several words. Once more." in said
    assert said.count("The passphrase cannot be taken: the two that were typed differ.") == 2
    assert not folder(home).path.exists()
    made = on_a_terminal("init", "--passphrase", "--home", home, typed=(WORDS, OTHER, WORDS, WORDS))
    assert made.code == 0, made
    assert WORDS not in made.out + made.err
    assert open_mind(home, "default", WORDS)


# --- a locked mind ---------------------------------------------------------------------------------------------------


def test_what_cannot_be_without_the_passphrase_says_so_and_how_to_go_on(locked: Path, say: Say) -> None:
    for arguments in (["recall", "heron"], ["shape", "who=?"], ["shape", "--roles"], ["remember", "x"]):
        refused = say(*arguments, "--home", locked, "--json")
        assert refused.code == 3, refused
        assert refused.json["code"] == "mind_locked"
        assert "mnemic unlock" in refused.json["remedy"]


def test_status_and_doctor_say_that_it_is_locked(locked: Path, command: Command) -> None:
    told = command("status", "--home", locked)
    assert told.code == 0
    assert "locked: The mind 'default' is locked by its passphrase" in told.out
    assert "kept for later" not in told.out, "what of the spool is taken in already only the open mind knows"
    view = command("status", "--home", locked, "--json").json
    assert view["locked"]
    assert view["degraded"]
    checks = {check["name"]: check for check in command("doctor", "--home", locked, "--json").json["checks"]}
    assert checks["key"]["state"] == "advice"
    assert "locked by its passphrase" in checks["key"]["detail"]
    assert "store" not in checks


def test_a_command_on_a_terminal_asks_and_three_wrong_answers_are_enough(locked: Path) -> None:
    asked = on_a_terminal("recall", "heron", "--home", locked, typed=("wrong words", WORDS))
    assert asked.code == 0, asked
    assert "the heron stands on the pier" in asked.out
    assert "That is not the passphrase" in asked.err
    refused = on_a_terminal("recall", "heron", "--home", locked, typed=("wrong words",) * 3)
    assert refused.code == 3
    assert refused.err.count("That is not the passphrase") == 3
    doctor = on_a_terminal("doctor", "--home", locked, "--json", typed=(WORDS,))
    checks = {check["name"]: check["state"] for check in doctor.json["checks"]}
    assert (checks["key"], checks["store"], checks["words"]) == ("ok", "ok", "ok")


@pytest.mark.system
def test_unlocked_once_everybody_is_answered_until_it_is_locked(locked: Path, say: Say) -> None:
    opened = say("unlock", "--home", locked, "--json", given=WORDS.encode() + b"\n")
    assert opened.code == 0, opened
    info = ready(locked)
    told = {"mind": "default", "unlocked": True, "key": None, "pid": info.pid}
    assert {name: opened.json[name] for name in told} == told
    found = say("recall", "heron", "--home", locked, "--json")
    assert [hit["text"] for hit in found.json["hits"]] == ["the heron stands on the pier"]
    assert say("status", "--home", locked, "--json").json["process"]["unlocked"] == ["default"]
    with Assistant(locked, allow="read-all") as assistant:
        recalled = assistant.tool(tool_call(2, "memory_recall", query="heron", scope="*"))
        assert len(recalled["hits"]) == 1
        closed = say("lock", "--home", locked, "--json")
        assert closed.json.items() >= {"mind": "default", "locked": True, "was_unlocked": True}.items()
        assistant.send(tool_call(3, "memory_recall", query="heron", scope="*"))
        refused = assistant.hear()["result"]
        assert refused["isError"]
        assert "mind_locked" in json.dumps(refused)
        assert "mnemic unlock" in json.dumps(refused)
    assert say("lock", "--home", locked, "--json").json["was_unlocked"] is False
    assert say("recall", "heron", "--home", locked).code == 3


@pytest.mark.parametrize("unlocked", [False, pytest.param(True, marks=pytest.mark.system)])
def test_what_works_on_a_whole_mind_takes_its_passphrase_as_a_line(
    locked: Path, tmp_path: Path, unlocked: bool, say: Say
) -> None:
    line = WORDS.encode() + b"\n"
    if unlocked:
        assert say("unlock", "--home", locked, given=line).code == 0
    whole = (
        ("backup", tmp_path / "own.bak"),
        ("export", tmp_path / "out"),
        ("import", tmp_path / "out"),
        ("forget", "--since", "2000-01-01", "--erase", "--yes"),
    )
    for arguments in whole:
        unsaid = say(*arguments, "--home", locked)
        assert unsaid.code == 3, unsaid
        assert "What works on a whole mind asks for its passphrase each time: say it in a terminal" in unsaid.err
        assert "mnemic unlock" not in unsaid.err
        wrong = say(*arguments, "--home", locked, given=b"wrong words\n")
        assert (wrong.code, "not the passphrase" in wrong.err) == (3, True)
        done = say(*arguments, "--home", locked, given=line)
        assert done.code == 0, done
    assert (
        say("backup", tmp_path / "two.bak", "--passphrase", "--home", locked, given=f"{OTHER}\n{WORDS}".encode()).code
        == 0
    )


@pytest.mark.system
def test_the_key_is_in_no_file_and_no_log(locked: Path, say: Say) -> None:
    secrets = open_mind(locked, "default", WORDS)[1].secrets
    assert say("unlock", "--home", locked, given=WORDS.encode()).code == 0
    assert say("recall", "heron", "--home", locked).code == 0
    end(locked)
    for path in locked.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            for secret in (secrets.root, secrets.identities, secrets.seed, WORDS.encode()):
                assert secret not in data, path
                assert secret.hex().encode() not in data, path


def test_a_wrong_passphrase_unlocks_nothing_and_starts_nothing(locked: Path, say: Say) -> None:
    refused = say("unlock", "--home", locked, given=b"wrong words\n")
    assert refused.code == 3
    assert "not the passphrase" in refused.err
    assert info_of(locked) is None


def test_a_mind_with_a_key_file_is_neither_locked_nor_unlocked(home: Path, command: Command) -> None:
    create_mind(home, "default", SystemClock())
    assert "is not locked" in command("unlock", "--home", home).out
    refused = command("lock", "--home", home)
    assert refused.code == 2
    assert "rekey --passphrase" in refused.err
    for name in ("unlock", "lock", "rekey"):
        assert command(name, "--home", home, "--mind", "nobody").code == 2


def test_on_ray_a_locked_mind_is_refused(locked: Path) -> None:
    with pytest.raises(NotOnRay) as caught:
        mnemic.open(locked, engine="ray", passphrase=WORDS)
    assert "--key-file" in caught.value.remedy_text


# --- hooks meanwhile -------------------------------------------------------------------------------------------------


def hook(home: Path, event: str, payload: bytes, *options: str) -> Outcome:
    command = [built_hook(), "claude-code", event, *options, "--home", str(home)]
    done = subprocess.run(command, input=payload, capture_output=True, timeout=BOUND_S, check=False)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def told_at_start(home: Path) -> Outcome:
    """What a session's start is told where a process serves; a hook waits a second and is then silent."""

    def answered() -> Outcome | None:
        told = hook(home, "session-start", PAYLOAD, "--ask")
        return told if told.out else None

    told = until(answered)
    assert told is not None
    return told


def said(number: int, text: str, session: str = "s1") -> bytes:
    return json.dumps({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": text}).encode()


@pytest.mark.system
def test_hooks_write_to_a_locked_mind_and_all_of_it_is_taken_in_once_it_is_unlocked(locked: Path, say: Say) -> None:
    assert hook(locked, "prompt", said(1, "an otter swims below it")).code == 0
    waits = say("status", "--home", locked, "--json").json["capture"]["backlog"]
    assert waits["files"] == 1
    assert say("unlock", "--home", locked, given=WORDS.encode()).code == 0

    def taken() -> bool:
        return len(say("recall", "otter", "--home", locked, "--json", "--scope", "*").json["hits"]) == 1

    until(taken)


@pytest.mark.parametrize("served", [False, pytest.param(True, marks=pytest.mark.system)])
def test_a_session_s_start_is_told_that_the_memory_is_locked_with_a_process_and_without(
    locked: Path, served: bool
) -> None:
    def read(answer: dict[str, Any]) -> tuple[str, str]:
        return answer["hookSpecificOutput"]["additionalContext"], answer["systemMessage"]

    with serving(locked) if served else nullcontext():
        told = told_at_start(locked) if served else alone(locked, cwd="/", payload=PAYLOAD)
        if served:
            assert "locked" not in hook(locked, "prompt", said(2, "what swims?"), "--ask").out
    sentence = (
        "Mnemic's memory is locked by its passphrase: nothing from before can be recalled here, and what happens is"
        f" kept for later. Its owner opens it with `mnemic unlock --home {locked}` in a terminal."
    )
    assert read(json.loads(told.out)) == (f"<mnemic-memory>\n{sentence}\n</mnemic-memory>", f"Mnemic: {sentence}")


@pytest.mark.system
def test_a_session_of_a_mind_that_is_locked_and_paused_is_shown_both(locked: Path, say: Say) -> None:
    paused = say("pause", "--home", locked, "--json").json["paused"]["told"]
    with serving(locked):
        shown = told_at_start(locked).json["systemMessage"]
    assert shown.startswith(f"Mnemic: {paused} Mnemic's memory is locked by its passphrase")
    assert "kept for later" not in shown


@pytest.mark.system
def test_a_session_that_is_to_be_told_nothing_is_not_told_that_it_is_locked(locked: Path) -> None:
    (locked / "mnemic.toml").write_text("[brief]\nbudget_tokens = 0\n")
    with serving(locked):
        assert "locked" not in hook(locked, "session-start", PAYLOAD, "--ask").out


# --- recovery --------------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_the_recovery_key_unlocks_what_a_passphrase_locks(home: Path, say: Say) -> None:
    recovery = bytes(range(32))
    create_mind(home, "default", SystemClock(), passphrase=WORDS, recovery=recovery)
    slip = format_recovery_key(recovery)[:-1] + "2"
    refused = say("unlock", "--recovery", "--home", home, given=slip.encode())
    assert (refused.code, "mistyped" in refused.err) == (3, True)
    assert say("unlock", "--recovery", "--home", home, given=format_recovery_key(recovery).encode()).code == 0
    assert say("recall", "x", "--home", home).code == 0


@pytest.mark.parametrize("lost", [True, False])
def test_the_recovery_key_writes_a_new_key_file_for_a_lost_or_wrong_one(
    home: Path, lost: bool, command: Command, say: Say
) -> None:
    made = command("init", "--home", home, "--json").json
    folder(home).key.unlink()
    if not lost:
        folder(home).key.write_bytes(bytes(32))
    missing = command("recall", "x", "--home", home)
    assert (missing.code, "mnemic unlock --recovery" in missing.err) == (3, lost)
    done = say("unlock", "--recovery", "--home", home, "--json", given=made["recovery"].lower().encode())
    assert done.json["key"] == str(folder(home).key)
    assert stat.S_IMODE(folder(home).key.stat().st_mode) == 0o600
    assert command("recall", "x", "--home", home).code == 0


# --- rekey -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(home: Path, say: Say) -> Iterator[Path]:
    """A home that a process serves, whose mind holds a memory."""
    with mnemic.open(home) as mind:
        mind.remember("the heron stands on the pier")
    with serving(home):
        assert say("recall", "heron", "--home", home).code == 0
        yield home


@pytest.mark.system
def test_rekey_changes_the_key_beneath_a_process_that_serves_on(served: Path, say: Say) -> None:
    old = folder(served).key.read_bytes()
    pid = ready(served).pid
    done = say("rekey", "--home", served, "--json")
    key = str(folder(served).key)
    told = {"mind": "default", "options": f" --home {served}", "orphaned": [], "unread": []}
    assert done.json == told | {"key": key, "recovery": None, "unlocked": False, "not_unlocked": None}
    assert done.err == ""
    assert folder(served).key.read_bytes() != old
    found = say("recall", "heron", "--home", served, "--json").json["hits"]
    assert [hit["text"] for hit in found] == ["the heron stands on the pier"]
    assert ready(served).pid == pid
    assert hook(served, "prompt", said(1, "an otter swims below it")).code == 0

    def taken() -> bool:
        return len(say("recall", "otter", "--home", served, "--json", "--scope", "*").json["hits"]) == 1

    until(taken)


def test_from_a_key_file_to_a_passphrase_to_another_and_back(home: Path, command: Command, say: Say) -> None:
    made = command("init", "--home", home, "--json").json
    with mnemic.open(home) as mind:
        kept = mind.remember("the heron stands on the pier")
    first = say("rekey", "--passphrase", "--home", home, "--json", given=WORDS.encode())
    assert (first.code, first.json["key"]) == (0, None)
    assert RECOVERY.fullmatch(first.json["recovery"])
    assert first.json["recovery"] != made["recovery"]
    assert "keeps the key" in first.err
    second = say("rekey", "--home", home, "--json", given=f"{WORDS}\n{OTHER}\n".encode())
    assert second.code == 0, second
    assert say("rekey", "--key-file", "--home", home, given=WORDS.encode()).code == 3
    same = say("rekey", "--recovery", "--home", home, "--json", given=OTHER.encode())
    assert same.code == 0, same
    assert (same.json["unlocked"], same.json["not_unlocked"]) == (False, None)
    assert say("unlock", "--home", home, given=OTHER.encode()).code == 0, "the passphrase is as it was"
    assert say("lock", "--home", home).code == 0
    by_recovery = f"{same.json['recovery']}\n{WORDS}\n".encode()
    assert say("rekey", "--home", home, given=by_recovery).code == 0
    back = say("rekey", "--key-file", "--home", home, "--json", given=WORDS.encode())
    assert back.json["key"] == str(folder(home).key)
    with mnemic.open(home) as mind:
        assert mind.recall("heron").hits[0].id == kept.id
    assert command("rekey", "--passphrase", "--key-file", "--home", home).code == 2


def test_a_rekey_names_the_backups_that_it_orphans_and_asks_and_the_doctor_names_them_afterwards(
    home: Path, tmp_path: Path, command: Command
) -> None:
    mnemic.open(home).close()
    backup = tmp_path / "x.bak"
    assert command("backup", backup, "--home", home).code == 0
    key = folder(home).key.read_bytes()
    asked = command("rekey", "--home", home)
    assert asked.code == 2
    assert f"  {backup}\n" in asked.out
    assert "keep a copy of its key file first" in asked.out
    assert "nothing was changed: nobody is there to be asked; --yes does it" in asked.out
    view = command("rekey", "--home", home, "--json")
    assert (view.code, view.json["applied"], view.json["orphaned"]) == (2, False, [str(backup)])
    assert folder(home).key.read_bytes() == key
    done = command("rekey", "--yes", "--home", home, "--json")
    assert (done.code, done.json["orphaned"]) == (0, [str(backup)])
    assert command("restore", backup, "--replace", "--home", home).code == 3
    checks = {check["name"]: check for check in command("doctor", "--home", home, "--json").json["checks"]}
    assert checks["backups"]["state"] == "advice"
    assert str(backup) in checks["backups"]["detail"]
    assert command("rekey", "--home", home).code == 0, "it is an orphan already: there is nothing to ask"


def test_a_restore_names_the_backups_that_it_orphans_and_asks_and_the_doctor_names_them_afterwards(
    home: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    mnemic.open(home).close()
    first, second, copy = tmp_path / "a.bak", tmp_path / "b.bak", tmp_path / "key"
    assert command("backup", first, "--home", home).code == 0
    copy.write_bytes(folder(home).key.read_bytes())
    copy.chmod(0o600)
    assert command("rekey", "--yes", "--home", home).code == 0
    assert command("backup", second, "--home", home).code == 0
    key = folder(home).key.read_bytes()
    restore = ("restore", first, "--replace", "--key-file", copy, "--home", home)
    asked = command(*restore)
    assert asked.code == 2
    assert f"  {second}\n" in asked.out
    assert f"  {first}\n" not in asked.out, "the key file from before opens it"
    assert "keep a copy of its key file first" in asked.out
    assert "nothing was changed: nobody is there to be asked; --yes does it" in asked.out
    view = command(*restore, "--json")
    assert (view.code, view.json["applied"], view.json["orphaned"]) == (2, False, [str(second)])
    assert folder(home).key.read_bytes() == key
    second.rename(tmp_path / "moved")
    second.symlink_to(second)  # which nobody can look into
    unread = command(*restore, "--json").json["unread"]
    assert [one["path"] for one in unread] == [str(second)]
    assert "symbolic links" in unread[0]["why"]
    assert "These backups cannot be looked into" in command("rekey", "--home", home).out
    second.unlink()
    (tmp_path / "moved").rename(second)
    with monkeypatch.context() as patch:
        given = io.StringIO("n\n")
        given.isatty = lambda: True  # type: ignore[method-assign]
        patch.setattr("sys.stdin", given)
        declined = command(*restore)
    assert declined.code == 0
    assert "Replace the mind all the same?" in declined.out
    assert "nothing was changed" in declined.out
    assert folder(home).key.read_bytes() == key
    done = command(*restore, "--yes")
    assert done.code == 0
    assert f"  {second}\n" in done.out
    assert folder(home).key.read_bytes() == copy.read_bytes()
    checks = {check["name"]: check for check in command("doctor", "--home", home, "--json").json["checks"]}
    assert checks["backups"]["state"] == "advice"
    assert str(second) in checks["backups"]["detail"]
    again = command("restore", first, "--replace", "--home", home, "--json")
    assert (again.code, again.json["orphaned"], again.json["unread"]) == (0, [], []), "all that opens it stays"


def test_a_process_that_had_it_unlocked_has_it_unlocked_after_a_rekey(locked: Path, say: Say) -> None:
    assert say("unlock", "--home", locked, given=WORDS.encode()).code == 0
    done = say("rekey", "--passphrase", "--home", locked, "--json", given=f"{WORDS}\n{OTHER}\n".encode())
    assert done.json["unlocked"] is True
    assert say("recall", "heron", "--home", locked).code == 0
    assert say("lock", "--home", locked).code == 0
    assert say("unlock", "--home", locked, given=WORDS.encode()).code == 3
    assert say("unlock", "--home", locked, given=OTHER.encode()).code == 0


@pytest.mark.system
def test_rekey_on_a_terminal_asks_for_the_old_and_twice_for_the_new(locked: Path) -> None:
    done = on_a_terminal("rekey", "--home", locked, typed=(WORDS, OTHER, OTHER))
    assert done.code == 0, done
    assert open_mind(locked, "default", OTHER)
    assert OTHER not in done.out + done.err
