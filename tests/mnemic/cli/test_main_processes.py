"""The command as a process: signals, pipes, terminals, and several at once on one home."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mnemic
from mnemic.actors.store.messages import Counts
from mnemic.algorithms.retrieval.scan import NATIVE
from tests.processes.faces import COMMAND, EXAMPLE, Outcome, finish, lines, run, start, turn
from tests.processes.serving import serving
from tests.waiting import BOUND_S, until

pytestmark = pytest.mark.system

TURNS = 1000
BATCH = 256  # events that one transaction keeps


def counts(home: Path) -> Counts:
    """What another process sees."""
    with mnemic.open(home) as mind:
        return mind.counts()


def line(number: int) -> bytes:
    return json.dumps(turn(f"turn {number} about the otter")).encode() + b"\n"


def capture_held_in_the_middle(home: Path) -> subprocess.Popen[bytes]:
    """A capture that has committed two transactions and waits for more input."""
    process = start("capture", "-", "--format", "jsonl", "--no-meaning", "--home", home)
    assert process.stdin is not None
    process.stdin.write(b"".join(line(number) for number in range(2 * BATCH + 10)))
    process.stdin.flush()
    with mnemic.open(home) as mind:
        until(lambda: mind.counts().memories == 2 * BATCH)
    return process


def all_turns(path: Path) -> Path:
    path.write_bytes(b"".join(line(number) for number in range(TURNS)))
    return path


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [  # the codes that shells give a command that a signal ended
        pytest.param(
            *(signal.SIGINT, 130, "mnemic: Interrupted: what was acknowledged is kept. Run it again to go on.\n"),
            marks=pytest.mark.system,
        ),
        (signal.SIGTERM, 143, "mnemic: Terminated: what was acknowledged is kept. Run it again to go on.\n"),
        (signal.SIGKILL, -9, ""),
    ],
)
def test_a_capture_that_is_ended_keeps_what_it_acknowledged_and_is_finished_by_a_second_one(
    home: Path, tmp_path: Path, sent: signal.Signals, code: int, said: str
) -> None:
    process = capture_held_in_the_middle(home)
    process.send_signal(sent)
    process.wait(timeout=BOUND_S)  # standard input is still open: nothing waits for it
    ended = finish(process)
    assert (ended.code, ended.out, ended.err.lstrip("\n")) == (code, "", said)

    # A home without a model is no sound one for the doctor; everything else about it is.
    checks = run("doctor", "--home", home, "--json").json["checks"]
    assert [check["name"] for check in checks if check["state"] == "wrong"] == ["model"]
    assert counts(home).memories == 2 * BATCH

    again = run("capture", all_turns(tmp_path / "all.jsonl"), "--no-meaning", "--home", home, "--json").json
    assert (again["known"], again["new"]) == (2 * BATCH, TURNS - 2 * BATCH)
    with mnemic.open(home) as mind:
        found = mind.recall("otter", TURNS + 1, signals=("lexical",), observe=False).hits
    assert sorted(hit.data for hit in found) == sorted(b"turn %d about the otter" % number for number in range(TURNS))


def test_embedding_that_is_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    home, sources = tmp_path / "home", sorted((EXAMPLE / "claude").glob("*.jsonl"))[:4]
    with mnemic.open(home) as mind:
        process = start("capture", *sources, "--home", home)
        until(lambda: mind.counts().embedded > 0)
        process.send_signal(signal.SIGINT)
        assert finish(process).code == 130
        begun = mind.counts()
    assert 0 < begun.embedded < begun.memories
    again = run("capture", *sources, "--home", home, "--json").json
    assert (again["new"], again["embedded"], again["pending"]) == (0, begun.memories, 0)
    assert run("doctor", "--home", home).code == 0


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_mcp_ends_on_a_signal_while_its_client_is_there(home: Path, sent: signal.Signals) -> None:
    process = start("mcp", "--home", home)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(sent)
    assert process.wait(timeout=BOUND_S) == 128 + sent
    finish(process)


def test_a_pipe_is_read_by_its_own_command_and_keeps_nobody_waiting(home: Path, tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe", all_turns(tmp_path / "a.jsonl")
    os.mkfifo(pipe)
    options = ("--no-meaning", "--home", home, "--json")
    with serving(home):
        reading = start("capture", pipe, *options)
        with pipe.open("wb") as written:  # open once the command reads it
            assert run("capture", file, *options).json["new"] == TURNS
            written.write(line(TURNS))
        assert finish(reading).json["new"] == 1


def test_several_pipes_are_refused_before_any_is_read(home: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused = run("capture", tmp_path / "pipe", "-", "--home", home)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "a command reads one pipe" in refused.err
    assert not (home / "minds").exists()


@pytest.mark.parametrize("arguments", [["capture", "-"], ["mcp"]])
def test_a_closed_standard_input_is_told(home: Path, arguments: list[str]) -> None:
    command = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *COMMAND, *arguments, "--home", home],
        capture_output=True,
        text=True,
        check=False,
    )
    assert command.returncode == 2
    assert "standard input is closed" in command.stderr
    assert command.stderr.count("\n") == 1


def test_whoever_reads_may_stop_reading(example_home: Path) -> None:
    recall = [*COMMAND, "recall", "session", "-k", "200", "--home", example_home]
    shown = subprocess.run(
        ["sh", "-c", '"$@" | head -n 1', "sh", *recall],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.count("\n") == 1
    assert shown.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_behind_standard_output_is_told(home: Path, options: list[str]) -> None:
    run("init", "--home", home)
    with open("/dev/full", "wb") as full:
        ended = run("status", "--home", home, *options, stdout=full)
    assert ended.code == 1
    assert ended.err.startswith("mnemic: The answer cannot be written: No space left on device.")
    assert ended.err.count("\n") == 1


def test_a_locale_without_the_letters_is_no_reason_to_fail(home: Path, tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", turn("an otter says “ä” and \ud800"))
    run("capture", source, "--home", home)
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    asked = run("recall", "otter", "--home", home, env=environment)
    assert (asked.code, asked.err) == (0, "")
    assert "an otter says" in asked.out


def test_python_prints_nothing_that_it_was_not_asked_for(home: Path) -> None:
    code = "import sys, mnemic\nwith mnemic.open(sys.argv[1]) as mind: mind.remember('otter'); mind.recall('otter')"
    command = [sys.executable, "-W", "error", "-c", code, home]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")


# --- terminals -------------------------------------------------------------------------------------------------------


def on_a_terminal(*arguments: object) -> tuple[Outcome, str]:
    """Run a command whose standard error is a terminal; returns how it ended and what the terminal was sent."""
    ours, theirs = pty.openpty()
    process = start(*arguments, stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    sent = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not block:
            break
        sent += block
    os.close(ours)
    return finish(process), sent.decode()


def test_progress_is_shown_on_a_terminal_and_nowhere_else(home: Path, tmp_path: Path) -> None:
    source = all_turns(tmp_path / "all.jsonl")
    ended, shown = on_a_terminal("capture", source, "--home", home)
    assert ended.code == 0
    size = source.stat().st_size
    assert "   words " in shown
    assert f"{size}/{size}" in shown
    assert ended.out.startswith(f"{TURNS} new memories from 1 transcript, in ")
    assert run("capture", source, "--home", home).err == ""
    assert on_a_terminal("capture", source, "--home", home, "--json")[1] == ""


def test_progress_needs_no_size(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    ended, _ = on_a_terminal("capture", "-", tmp_path / "empty", "--format", "jsonl", "--home", home)
    assert ended.code == 0
    assert ended.out.startswith("0 new memories from 2 transcripts")


# --- several at once -------------------------------------------------------------------------------------------------


def test_two_processes_capture_into_one_home_while_a_third_recalls(home: Path, tmp_path: Path) -> None:
    sources = [
        lines(tmp_path / f"{name}.jsonl", *(turn(f"{name} {number}", session=name) for number in range(600)))
        for name in ("otter", "heron")
    ]
    captures = [start("capture", source, "--no-meaning", "--home", home, "--json") for source in sources]
    seen: list[int] = []
    while any(process.poll() is None for process in captures):
        asked = run("recall", "otter", "-k", 1000, "--home", home, "--json")
        assert asked.code in (0, 2), asked
        if asked.code == 0:
            seen.append(len(asked.json["hits"]))
        else:
            assert asked.json["code"] == "mind_missing"
    assert [finish(process).json["new"] for process in captures] == [600, 600]
    assert seen == sorted(seen)
    assert len(run("recall", "otter", "-k", 1000, "--home", home, "--json").json["hits"]) == 600
    assert counts(home).memories == 1200


@pytest.mark.skipif(not NATIVE, reason="the native extension is not built")
@pytest.mark.parametrize("name", ["capture", "recall", "doctor", "demo"])
def test_an_instruction_set_that_cannot_be_is_one_sentence(tmp_path: Path, name: str) -> None:
    given = {"capture": [EXAMPLE], "recall": ["otter"]}
    (tmp_path / "home").mkdir()
    home = [] if name == "demo" else ["--home", tmp_path / "home"]
    ended = run(name, *given.get(name, []), *home, env=os.environ | {"MNEMIC_INSTRUCTIONS": "sse9"})
    assert ended.code == (1 if name == "doctor" else 2)
    said = ended.out if name == "doctor" else ended.err
    assert "MNEMIC_INSTRUCTIONS cannot be 'sse9': it is no instruction set. " in said.replace(" -> ", " ")
    assert "Unset it, or name one of " in said
    assert not (tmp_path / "home" / "minds").exists()


def test_a_log_that_cannot_be_written_is_said_once_and_stops_nothing(home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "mnemic.log").mkdir()
    ended = run("remember", "an otter's note", "--home", home)
    assert ended.code == 0
    told, made = ended.err.splitlines()
    assert told == f"mnemic: The log {home / 'mnemic.log'} cannot be written: Is a directory."
    assert made.startswith("mnemic: made the mind 'default'; its key is ")
    assert "an otter's note" in run("recall", "otter", "--scope", "*", "--home", home).out
