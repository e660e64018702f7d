"""What a damaged write-ahead log took is told by status and doctor, and what hooks kept of it is taken in again; what
replaces a mind's files in order raises no alarm.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import mnemic
from mnemic.actors.capture.forget_messages import Selection
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.restore import restore
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.doctor.mind import check_commits
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.spool.files import spool_files
from mnemic.runtime.spool.spool import IDLE_S
from tests.paths import HOOK
from tests.processes.faces import Outcome
from tests.runtime.building import child, wait_for_release
from tests.runtime.targets import target_of
from tests.waiting import BOUND_S

Command = Callable[..., Outcome]
SAID = 5


def say(home: Path, number: int) -> None:
    """What a hook keeps of a prompt."""
    told = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": f"otter {number}", "cwd": "/nowhere"}
    hook = [HOOK, "claude-code", "prompt", "--home", home]
    subprocess.run(hook, input=json.dumps(told).encode(), check=True, timeout=BOUND_S)


def drain_and_wait(home: str) -> None:
    """In a process: take in one prompt after the other, and wait to be killed."""
    with mnemic.open(home) as mind:
        for number in range(SAID):
            say(Path(home), number)
            mind.drain_spool()
        wait_for_release()


def drain_silent_and_wait(home: str) -> None:
    """In a process: take in prompts of a session that has been silent since, and wait to be killed."""
    with mnemic.open(home) as mind:
        for number in range(SAID):
            say(Path(home), number)
        mind.drain_spool()
        (name,) = spool_files(Path(home) / "minds" / "default" / "spool")
        long_ago_s = SystemClock().now_us() / 1e6 - 2 * IDLE_S
        os.utime(Path(home) / "minds" / "default" / "spool" / name, (long_ago_s, long_ago_s))
        mind.update_facts()
        while spool_files(Path(home) / "minds" / "default" / "spool"):  # while an actor reads, the log is not cut
            mind.drain_spool()
        wait_for_release()


@pytest.fixture(scope="module")
def left_by(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The minds that a process left which was killed once it had done what a function does."""
    made: dict[str, Path] = {}

    def left(function: str) -> Path:
        if function not in made:
            home = tmp_path_factory.mktemp("killed")
            (home / "mnemic.toml").write_text(f'[embedder]\nmodel = "{home / "no model"}"\n', "utf-8")
            create_mind(home, "default", SystemClock())
            process = child(f"runtime.api.test_lost_commits:{function}", home)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.kill()
            process.communicate()
            made[function] = home / "minds"
        return made[function]

    return left


def damage_log(home: Path, where: float) -> None:
    """Flip a bit in the write-ahead log that a killed process left; in what it left of an empty one, there is none."""
    log = home / "minds" / "default" / "store.db-wal"
    data = bytearray(log.read_bytes())
    if data:
        data[32 + int((len(data) - 32) // 4120 * where) * 4120 + 100] ^= 1
        log.write_bytes(data)


def texts(mind: Mind) -> list[str]:
    return sorted(str(hit.text) for hit in mind.recall("otter", 100, observe=False).hits)


EVERYTHING = [f"otter {number}" for number in range(SAID)]


@pytest.mark.parametrize("where", [0.0, 0.4, 0.8])
def test_what_hooks_kept_is_taken_in_again_and_nothing_twice(
    home: Path, left_by: Callable[[str], Path], where: float
) -> None:
    shutil.copytree(left_by("drain_and_wait"), home / "minds")
    damage_log(home, where)
    with mnemic.open(home) as mind:
        before = texts(mind)
        assert len(before) < SAID
        (lost,) = mind.counts().lost
        assert lost.count > 0
        mind.drain_spool()
        assert texts(mind) == EVERYTHING
        mind.drain_spool()
        assert texts(mind) == EVERYTHING
        assert mind.counts().lost == (lost,)


@pytest.mark.parametrize("where", [0.0, 0.4, 0.8])
def test_a_spool_file_goes_only_once_no_damage_to_the_log_can_take_what_it_held(
    home: Path, left_by: Callable[[str], Path], where: float
) -> None:
    shutil.copytree(left_by("drain_silent_and_wait"), home / "minds")
    assert spool_files(home / "minds" / "default" / "spool") == []
    damage_log(home, where)
    with mnemic.open(home) as mind:
        mind.drain_spool()
        assert texts(mind) == EVERYTHING


def test_a_loss_is_told_by_status_and_doctor_until_a_repair_has_taken_in_what_there_is(
    home: Path, left_by: Callable[[str], Path], command: Command
) -> None:
    shutil.copytree(left_by("drain_and_wait"), home / "minds")
    damage_log(home, 0.0)
    at = ("--home", home)
    (check,) = [one for one in command("doctor", *at, "--json").json["checks"] if one["name"] == "commits"]
    assert (check["state"], check["repairable"]) == ("wrong", True)
    assert "transactions are missing" in check["detail"]
    status = command("status", *at, "--json").json
    (lost,) = status["counts"]["lost"]
    assert lost["count"] >= SAID
    (line,) = [one for one in status["degraded"] if one.startswith("store: ")]
    assert f"its last {lost['count']} transactions are missing" in line
    assert "`mnemic doctor`" in line
    assert f"degraded: {line}" in command("status", *at).out
    (again,) = [one for one in command("doctor", *at, "--json").json["checks"] if one["name"] == "commits"]
    assert again == check
    repaired = command("doctor", *at, "--repair", "--json").json
    assert "commits" in repaired["repaired"]
    assert [one["state"] for one in repaired["checks"] if one["name"] == "commits"] == ["ok"]
    assert command("status", *at, "--json").json["counts"]["lost"] == []
    with mnemic.open(home) as mind:
        assert texts(mind) == EVERYTHING


def test_a_mark_that_is_damaged_is_told_until_somebody_takes_note(home: Path, command: Command) -> None:
    with mnemic.open(home) as mind:
        mind.remember("otter")
    mark = home / "minds" / "default" / "store.db-mark"
    data = bytearray(mark.read_bytes())
    data[10] ^= 1
    mark.write_bytes(data)

    def check(*options: str) -> tuple[str, str, bool]:
        found = command("doctor", "--home", home, "--json", *options).json["checks"]
        (one,) = [one for one in found if one["name"] == "commits"]
        return one["state"], one["detail"], one["repairable"]

    state, told, repairable = check()
    assert (state, repairable) == ("advice", True)
    assert "are missing is not known: its high-water mark was damaged" in told
    (line,) = [one for one in command("status", "--home", home, "--json").json["degraded"] if one.startswith("store: ")]
    assert line == f"store: {told}; `mnemic doctor` says what to do"
    assert check() == (state, told, repairable)
    assert check("--repair")[0] == "ok"
    assert check()[0] == "ok"


# --- what raises no alarm --------------------------------------------------------------------------------------------


@contextmanager
def _opened(home: Path) -> Iterator[Mind]:
    with mnemic.open(home) as mind:
        yield mind


def copied(home: Path) -> Path:
    with _opened(home):
        return Path(shutil.copytree(home, home.with_name("copy"), ignore=shutil.ignore_patterns("run")))


def restored_from_before(home: Path) -> Path:
    with _opened(home) as mind:
        mind.backup(home.with_name("kept"))
        for number in range(5):
            mind.remember(f"otter later {number}")
    restore(home.with_name("kept"), home, replace=True)
    return home


def restored_elsewhere(home: Path) -> Path:
    with _opened(home) as mind:
        mind.backup(home.with_name("kept"))
    restore(home.with_name("kept"), home.with_name("new"), key_file=home / "minds" / "default" / "key")
    return home.with_name("new")


def rekeyed(home: Path) -> Path:
    with _opened(home) as mind:
        mind.rekey()
    return home


def erased(home: Path) -> Path:
    with _opened(home) as mind:
        mind.erase(Selection(ids=(mind.recall("otter", 1, observe=False).hits[0].id,)))
    return home


def imported(home: Path) -> Path:
    with _opened(home) as mind:
        mind.export(home.with_name("exported"))
    other = home.with_name("other")
    shutil.copytree(home, other, ignore=shutil.ignore_patterns("run", "minds"))
    with mnemic.open(other) as mind:
        mind.import_from(home.with_name("exported"))
    return other


def forked(home: Path) -> Path:
    with _opened(home) as mind:
        mind.fork(home.with_name("fork"), at_seq=2)
    return home.with_name("fork")


def rebuilt(home: Path) -> Path:
    with _opened(home) as mind:
        mind.rebuild(meaning=True)
    return home


@pytest.mark.parametrize(
    "way", [copied, restored_from_before, restored_elsewhere, rekeyed, erased, imported, forked, rebuilt]
)
def test_what_is_moved_or_replaced_in_order_raises_no_alarm(home: Path, way: Callable[[Path], Path]) -> None:
    with mnemic.open(home) as mind:
        for number in range(4):
            mind.remember(f"otter {number}")
    there = way(home)
    for _ in range(2):
        target = target_of(there, keys=open_mind(there, "default")[1], states={"store": "ok"})
        assert {check.state for check in check_commits(target)} <= {"ok"}
        with mnemic.open(there) as mind:
            assert mind.counts().lost == ()
            mind.remember("it goes on being written to")
