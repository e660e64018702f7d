"""Where a home cannot be written, memories are recalled, and every answer says that nothing is kept."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import mnemic
from tests.disks import bound_by_permissions, fill_up, own_disk
from tests.mnemic.test_session_start import alone
from tests.processes.faces import name_scope, run
from tests.processes.hosted import HELLO
from tests.processes.serving import serving
from tests.runtime.building import child, finish
from tests.waiting import BOUND_S

FACT = "The deploy key of the blue server lives in the vault called Heron."
NEWER = "The vault called Heron was moved to the harbour."
HERE = "mnemic.test_unwritable_home"

pytestmark = pytest.mark.system


def remember(home: Path, text: str) -> str:
    """Keep a text by the command; its id."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(run("remember", text, "--scope", "work/pier", "--home", home, "--json").json["id"])


def leave_in_the_log(home: str) -> None:
    """In a process: keep a text and end at once, so that only the write-ahead log has it."""
    mnemic.open(home).remember(NEWER, scope="work/pier")
    os._exit(0)


def ask(home: Path, memory: str, reason: str, texts: set[str]) -> None:
    """Ask every command that reads, and check that each answers and says why nothing is kept."""
    recalled = run("recall", "which vault holds the deploy key?", "--scope", "*", "--home", home, "--json")
    assert recalled.code == 0, recalled
    assert "Traceback" not in recalled.err
    assert {hit["text"] for hit in recalled.json["hits"]} == texts
    (said,) = (line for line in recalled.json["degraded"] if line.startswith("store: "))
    assert said == f"store: nothing new is kept, nor what was asked and given: {reason}"
    shaped = run("shape", "kind=note", "--scope", "*", "--home", home, "--json")
    assert (shaped.code, [line for line in shaped.json["degraded"] if line.startswith("store: ")]) == (0, [said])
    shown = run("show", memory, "--home", home)
    assert (shown.code, FACT in shown.out) == (0, True)
    listed = run("log", "--home", home)
    assert (listed.code, memory[-8:] in listed.out) == (0, True)
    status = run("status", "--home", home, "--json")
    assert (status.code, f"store: nothing new is kept: {reason}" in status.json["degraded"]) == (0, True)
    assert "Traceback" not in shaped.err + shown.err + listed.err + status.err
    kept = run("remember", "one more", "--home", home)
    assert (kept.code, "Traceback" in kept.err) == (3, False), "what is to write says that it cannot"


def use_unwritable(folder: str, how: str) -> None:
    """In a process that has a disk of its own: make a home there, have the disk be full or read-only, and ask."""
    disk = Path(folder)
    home = disk / "home"
    name_scope(home, disk / "pier", "work/pier")
    memory, reason = remember(home, FACT), f"the disk that holds {home / 'minds' / 'default'} is full"
    texts = {FACT}
    if how == "full":
        fill_up(disk)
    else:
        finish(child(f"{HERE}:leave_in_the_log", home))
        texts.add(NEWER)
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        reason = f"{home / 'minds' / 'default'} is on a read-only file system"
    ask(home, memory, reason, texts)
    told = json.loads(alone(home, str(disk / "pier")).out)["hookSpecificOutput"]["additionalContext"]
    assert f"Nothing of this session is captured: {reason}." in told
    assert any(text in told for text in texts)
    refused = run("mcp", "--home", home, given=HELLO).json["error"]["message"]
    assert ("is full" if how == "full" else "Read-only file system") in refused, "no process can be started there"


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_on_a_disk_that_takes_nothing_every_question_is_answered(tmp_path: Path, how: str) -> None:
    disk = tmp_path / "disk"
    finish(child(f"{HERE}:use_unwritable", disk, how, before=own_disk(disk, "32m")), BOUND_S)


def use_full_while_served(folder: str) -> None:
    """In a process that has a disk of its own: have a home served there, fill the disk, and ask."""
    disk = Path(folder)
    home = disk / "home"
    memory = remember(home, FACT)
    with serving(home):
        fill_up(disk)
        ask(home, memory, f"the disk that holds {home / 'minds' / 'default'} is full", {FACT})


def test_the_process_of_a_home_answers_when_its_disk_is_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    finish(child(f"{HERE}:use_full_while_served", disk, before=own_disk(disk, "32m")), BOUND_S)


def recall_forbidden(home: str, memory: str) -> None:
    """In a process that may not write: ask."""
    ask(Path(home), memory, f"you may not write to {Path(home) / 'minds' / 'default'}", {FACT})


def test_a_home_that_one_may_only_read_is_recalled(tmp_path: Path) -> None:
    home = tmp_path / "home"
    memory = remember(home, FACT)
    inside = [home, *home.rglob("*")]
    for path in inside:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        finish(child(f"{HERE}:recall_forbidden", home, memory, before=bound_by_permissions()), BOUND_S)
    finally:
        for path in inside:
            path.chmod(0o700 if path.is_dir() else 0o600)
