"""A folder of somebody else's that names a scope of its reader's: by a hook, at a session's start, and by commands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import mnemic
from mnemic.runtime.minds.projects import TRUST_FILE
from mnemic.runtime.minds.scope_trust import trust_folder
from tests.disks import bound_by_permissions
from tests.mnemic.test_hooks_end_to_end import prompt
from tests.mnemic.test_session_start import PAYLOAD, alone
from tests.processes.faces import COMMAND, Outcome, name_scope
from tests.runtime.minds import test_scope_trust as attacks
from tests.waiting import BOUND_S

Command = Callable[..., Outcome]
SECRET = attacks.SECRET


@pytest.fixture
def ours(home: Path, tmp_path: Path, command: Command) -> Path:
    """A folder that its owner trusts to name a scope in which something is known."""
    folder = name_scope(home, tmp_path / "ours", SECRET)
    told = ("From now on the vault is behind the otter.", "--scope", SECRET, "--kind", "decision")
    assert command("remember", *told, "--home", home).code == 0
    return folder


def told_at_session_start(home: Path, folder: Path) -> str:
    """What a session's start is told by a process, which is what it is told without one."""
    with mnemic.open(home) as mind:
        told = mind.hook_reply("claude-code", "session-start", str(folder), PAYLOAD).decode()
    assert alone(home, cwd=str(folder)) == Outcome(0, told, "")
    return told


def passed_over(home: Path) -> list[str]:
    """What the log says of files that do not count."""
    lines = map(json.loads, (home / "mnemic.log").read_text("utf-8").splitlines())
    return [line["message"] for line in lines if line["logger"] == "mnemic.projects"]


@pytest.mark.parametrize(
    "attack",
    [
        attacks.unpacked,
        *(
            pytest.param(attack, marks=pytest.mark.system)
            for attack in (attacks.ignored, attacks.untracked, attacks.changed, attacks.moved, attacks.linked_file)
        ),
    ],
)
def test_who_may_write_into_a_folder_gets_nothing_of_a_scope_that_a_file_there_names(
    home: Path,
    ours: Path,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    attack: Callable[[Path, Path], Path],
) -> None:
    assert "otter" in told_at_session_start(home, ours)
    folder = attack(tmp_path, ours)
    assert told_at_session_start(home, folder) == ""
    for number in (1, 2):
        prompt(home, f"the buoy is number {number}", folder)
    sentence = f"{folder}/.mnemic.toml names the scope {SECRET!r} and is passed over until you trust it:"
    sentence += f" mnemic scope trust {folder} --home {home}"
    monkeypatch.chdir(folder)
    recalled = command("recall", "buoy otter vault", "--home", home, "--json")
    assert recalled.err == f"mnemic: {sentence}\n"
    assert sorted(hit["text"] for hit in recalled.json["hits"]) == [f"the buoy is number {n}" for n in (1, 2)]
    assert (recalled.json["scope"], recalled.json["scope_found"]) != (SECRET, ".mnemic.toml")
    assert passed_over(home) == [sentence]
    kept = command("remember", "a lamp", "--home", home, "--json")
    assert (kept.err, kept.json["scope"]) == (recalled.err, recalled.json["scope"])
    assert "otter" not in told_at_session_start(home, folder)

    assert command("scope", "trust", ".", "--home", home).code == 0
    assert "otter" in told_at_session_start(home, folder)
    kept = command("remember", "a lens", "--home", home, "--json")
    assert (kept.err, kept.json["scope"], kept.json["scope_found"]) == ("", SECRET, ".mnemic.toml")


def test_the_log_says_it_once_and_a_mind_that_is_open_heeds_what_is_trusted_since(
    home: Path, ours: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = attacks.unpacked(tmp_path, ours)
    with mnemic.open(home) as mind:
        for number in (1, 2):
            prompt(home, f"the buoy is number {number}", folder)
            assert mind.drain_spool().new == 1
        assert len([one for one in caplog.records if one.name == "mnemic.projects"]) == 1
        trust_folder(home, str(folder))
        assert b"otter" in mind.hook_reply("claude-code", "session-start", str(folder), PAYLOAD)
        prompt(home, "the buoy is number 3", folder)
        mind.drain_spool()
        assert [hit.text for hit in mind.recall("buoy", scope=SECRET).hits] == ["the buoy is number 3"]


def test_a_folder_is_trusted_listed_and_distrusted(home: Path, ours: Path, tmp_path: Path, command: Command) -> None:
    other = attacks.write(tmp_path / "other folder", "work")
    undo = f"mnemic scope distrust '{other}' --home {home}"
    told = command("scope", "trust", other, "--home", home, "--json").json
    assert told == {"folder": str(other), "scope": "work", "memories": 1, "undo": undo}
    assert command("scope", "trust", other, "--home", home).out.splitlines() == [
        f"trusted: {other} is work: 1 memory so far, which its sessions may be told",
        f"to take it back: {undo}",
    ]
    listed = command("scope", "list", "--home", home)
    assert [line for line in listed.out.splitlines() if line.startswith("trusted")] == [
        f"trusted: {other} is work",
        f"trusted: {ours} is {SECRET}",
    ]
    assert command("scope", "distrust", other, "--home", home).out == f"no longer trusted: {other}, which was work\n"
    assert command("scope", "list", "--home", home, "--json").json["trusted"] == [
        {"folder": str(ours), "scope": SECRET}
    ]
    again = command("scope", "distrust", other, "--home", home)
    assert (again.code, "it is not trusted" in again.err) == (2, True)


def test_before_anything_is_known_a_folder_may_be_trusted(tmp_path: Path, command: Command) -> None:
    folder = attacks.write(tmp_path / "folder")
    refused = command("scope", "trust", folder, "--home", tmp_path / "new", "--json")
    assert (refused.code, refused.json["code"]) == (2, "home_missing")
    (tmp_path / "new").mkdir()
    assert command("scope", "trust", folder, "--home", tmp_path / "new", "--json").json["memories"] == 0


@pytest.mark.parametrize(
    "asked", [("trust", "LINK"), ("distrust", "LINK"), ("move", "LINK", "."), ("move", "a/b", "LINK")]
)
def test_a_folder_behind_a_thousand_links_is_refused_in_a_sentence(
    home: Path, tmp_path: Path, command: Command, asked: tuple[str, ...]
) -> None:
    for number in range(1_500):
        (tmp_path / f".x{number}").symlink_to(f".x{number + 1}")
    (tmp_path / ".x1500").mkdir()
    command("remember", "the otter", "--scope", "a/b", "--home", home)
    refused = command("scope", *(tmp_path / ".x0" if one == "LINK" else one for one in asked), "--home", home)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "its links lead from one to the next too often" in refused.err


def test_a_project_that_only_has_its_folders_name_is_not_counted(
    home: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "boat").mkdir()
    monkeypatch.chdir(tmp_path / "boat")
    command("remember", "the otter", "--home", home)
    folder = attacks.write(tmp_path / "folder", "boat")
    assert command("scope", "trust", folder, "--home", home, "--json").json["memories"] == 0


def test_the_doctor_says_what_is_trusted_and_that_a_damaged_record_trusts_nothing(
    home: Path, ours: Path, command: Command
) -> None:
    def check() -> tuple[str, str]:
        checks = command("doctor", "--home", home, "--json").json["checks"]
        return next((one["state"], one["detail"]) for one in checks if one["name"] == "trust")

    assert check() == ("ok", "1 folder may name a scope by a file")
    (home / TRUST_FILE).write_text("{")
    state, told = check()
    assert (state, f"{TRUST_FILE} cannot be read" in told, "no .mnemic.toml counts" in told) == ("wrong", True, True)
    assert told_at_session_start(home, ours) == ""


def test_where_the_home_cannot_be_written_trusting_says_so(home: Path, ours: Path, tmp_path: Path) -> None:
    before = (home / TRUST_FILE).read_bytes()
    home.chmod(0o500)
    try:
        done = subprocess.run(
            [*bound_by_permissions(), *COMMAND, "scope", "trust", attacks.write(tmp_path / "b"), "--home", home],
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
    finally:
        home.chmod(0o700)
    assert (done.returncode, "Permission denied" in done.stderr, "Traceback" in done.stderr) == (3, True, False)
    assert (home / TRUST_FILE).read_bytes() == before
