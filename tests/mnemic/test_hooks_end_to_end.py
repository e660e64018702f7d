"""From a host's hook to an answer: what happens in a session is found, once, whoever serves and whoever is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.kernel.errors import DiskFull
from mnemic.runtime.minds.run_dir import RunDir
from tests.paths import built_hook
from tests.processes.faces import Outcome, git_project, lines, run, turn
from tests.processes.serving import end, gone, ready, serving
from tests.waiting import BOUND_S, until

pytestmark = pytest.mark.system

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "MNEMIC_OFF"}


def hook(home: Path, event: str, payload: dict[str, Any], assistant: str = "claude-code") -> None:
    """Run a hook as a host does: a process of its own that is given JSON, and always ends with 0."""
    command = [built_hook(), assistant, event, "--home", str(home)]
    given = json.dumps(payload).encode()
    ended = subprocess.run(command, input=given, capture_output=True, timeout=BOUND_S, check=True, env=ENVIRONMENT)
    assert ended.stderr == b""


def prompt(home: Path, text: str, project: Path, session: str = "s1") -> None:
    """The user says something."""
    about = {"session_id": session, "hook_event_name": "UserPromptSubmit", "cwd": str(project)}
    hook(home, "prompt", about | {"prompt": text})


def found(home: Path, query: str) -> list[str]:
    """Texts that a command finds; nothing is asked of a model."""
    return [hit["text"] for hit in run("recall", query, "--scope", "*", "--home", home, "--json").json["hits"]]


def kept(home: Path) -> list[str]:
    """Every text of a mind that nobody serves."""
    with mnemic.open(home) as mind:
        return [memory.text for memory in mind.log(limit=1000).memories]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return git_project(tmp_path / "shelf")


@pytest.fixture
def made(home: Path) -> Path:
    assert run("init", "--home", home).code == 0
    return home


# --- alone -----------------------------------------------------------------------------------------------------------


def test_a_command_that_works_alone_finds_what_a_hook_kept_without_its_secrets(made: Path, project: Path) -> None:
    prompt(made, "the otter sleeps in drawer nine <private>psst</private> " + "AKIA" + "IOSFODNN7EXAMPLQ", project)
    answer = run("recall", "otter", "--home", made, "--json", cwd=project).json
    assert [hit["text"] for hit in answer["hits"]] == ["the otter sleeps in drawer nine  [secret: aws-access-token]"]
    assert (answer["hits"][0]["scope"], answer["scope"]) == ("shelf", "shelf")
    capture = run("status", "--home", made, "--json").json["capture"]
    assert (capture["records"], capture["scrubbed"]) == (1, {"aws-access-token": 1, "private": 1})
    assert (capture["waits_s"], capture["backlog"]["size_bytes"]) == (None, 0)
    told = run("status", "--home", made).out
    assert "hooks: 1 record taken in" in told
    assert "secrets taken out: aws-access-token 1, private 1" in told


def test_what_is_not_understood_is_shown_by_status_and_doctor_and_the_rest_is_found(
    made: Path, project: Path, command: Callable[..., Outcome]
) -> None:
    hook(made, "prompt", {"session_id": "s", "hook_event_name": "Unheard"})
    prompt(made, "the otter is well", project)
    assert found(made, "otter") == ["the otter is well"]
    assert any(
        "1 record could not be understood" in line for line in run("status", "--home", made, "--json").json["degraded"]
    )
    checks = {check["name"]: check for check in command("doctor", "--home", made, "--json").json["checks"]}
    assert checks["records"]["state"] == "wrong"
    assert "claude-code prompt: its event is none that is known" in checks["records"]["detail"]
    assert checks["spool"]["state"] == "ok"
    repaired = command("doctor", "--repair", "--home", made, "--json").json
    assert "records" in repaired["repaired"]
    assert found(made, "otter") == ["the otter is well"], "what is not understood still waits, and doubles nothing"


def nested(file: Path) -> None:
    file.write_text(f"scope = {'[' * 500}")


def endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


@pytest.mark.parametrize("name", [".mnemic.toml", ".git"])
def test_no_file_of_a_project_stops_the_capture_of_any(
    made: Path, project: Path, tmp_path: Path, command: Callable[..., Outcome], name: str
) -> None:
    for make in (nested, endless, os.mkfifo):
        folder = tmp_path / make.__name__
        folder.mkdir()
        make(folder / name)
        prompt(made, f"number {make.__name__}", folder, session=make.__name__)
        prompt(made, f"number after {make.__name__}", project)
    transcript = tmp_path / "transcript.jsonl"
    os.mkfifo(transcript)
    about = {"session_id": "t", "hook_event_name": "SessionEnd", "transcript_path": str(transcript)}
    hook(made, "session-end", about | {"cwd": str(project)})
    assert len(found(made, "number")) == 6

    def looked_at() -> dict[str, Any]:
        checks = command("doctor", "--home", made, "--json").json["checks"]
        return {check["name"]: check["detail"] for check in checks if check["state"] != "ok"}

    with serving(made):
        until(lambda: f"{transcript} cannot be read: it is no regular file" in looked_at().get("transcripts", ""))
    assert "records" not in looked_at()


def test_a_command_waits_for_nobody_who_drains_at_this_moment(made: Path, project: Path) -> None:
    prompt(made, "the otter is well", project)
    run_dir = RunDir(made)
    run_dir.prepare()
    held = run_dir.acquire_lock("drain.lock")
    assert held is not None
    try:
        assert found(made, "otter") == []
    finally:
        os.close(held)
    assert found(made, "otter") == ["the otter is well"]


def test_status_says_how_long_the_oldest_event_waits_and_not_for_how_long_its_file_lay_still(
    made: Path, project: Path
) -> None:
    prompt(made, "the otter is well", project)
    assert found(made, "otter") == ["the otter is well"]
    prompt(made, "the otter sleeps", project)
    (file,) = (made / "minds" / "default" / "spool").glob("*.spool")
    os.utime(file, (0, 0))
    held = RunDir(made).acquire_lock("drain.lock")  # nobody takes it in while it is looked at
    assert held is not None
    try:
        told = run("status", "--home", made, "--json").json
    finally:
        os.close(held)
    assert told["capture"]["waits_s"] is not None
    assert not any("have waited" in line for line in told["degraded"])


def test_transcripts_that_lay_there_are_queued_counted_and_taken_once(made: Path, tmp_path: Path) -> None:
    paths = [lines(tmp_path / f"{name}.jsonl", turn(f"otter number {name}", session=name)) for name in "ab"]
    with mnemic.open(made) as mind:
        answer = mind.queue_transcripts([(path, "jsonl") for path in [*paths, tmp_path / "gone.jsonl"]])
        assert (answer.queued, answer.known) == (2, 0)
        assert mind.capture_progress().transcripts == 2
        told = "\n".join(mind.status().capture.lines())
        assert f"transcripts to take in: 2 now ({sum(path.stat().st_size for path in paths)} bytes)" in told
        assert mind.drain_spool(transcripts=False).new == 0
        asked: list[int] = []
        stopped = mind.drain_spool(lambda: not asked.append(1) and len(asked) < 2)  # type: ignore[func-returns-value]
        assert (stopped.new, stopped.more) == (1, True)
        assert mind.drain_spool().new == 1
        again = mind.queue_transcripts([(os.path.relpath(path), "jsonl") for path in paths])
        assert (again.queued, again.known) == (0, 2)


def test_a_spool_that_cannot_be_taken_in_keeps_no_question_from_being_answered_and_is_said(
    made: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt(made, "the otter is well", project)

    def full(*_: Any, **__: Any) -> Any:
        raise DiskFull(path="/x")

    with mnemic.open(made) as mind:
        mind.remember("the otter is known")
        monkeypatch.setattr(mind, "drain_spool", full)
        mind.catch_up("spool", lambda: True)
        recalled = mind.recall("otter")
        assert [hit.text for hit in recalled.hits] == ["the otter is known"]
        assert any("could not be taken in" in why and "full" in why for why in recalled.degraded)
        assert any("could not be taken in" in why for why in mind.status().degraded)


# --- served ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["embedded", pytest.param("ray", marks=pytest.mark.system)])
def test_the_homes_process_takes_in_what_hooks_keep_by_itself_and_transcripts_add_what_they_missed(
    made: Path, project: Path, tmp_path: Path, engine: str
) -> None:
    transcript = tmp_path / "s1.jsonl"
    with serving(made, engine=engine):
        prompt(made, "the otter is number one", project)
        until(lambda: found(made, "otter") == ["the otter is number one"])
        line = {"sessionId": "s1", "cwd": str(project), "timestamp": "2026-11-21T14:05:00Z", "type": "user"}
        said = ["the otter is number one", "the otter is number two"]
        written = [line | {"uuid": str(n), "message": {"role": "user", "content": text}} for n, text in enumerate(said)]
        transcript.write_text("".join(json.dumps(one) + "\n" for one in written), "utf-8")
        about = {"session_id": "s1", "cwd": str(project), "transcript_path": str(transcript)}
        hook(made, "session-end", about | {"hook_event_name": "SessionEnd", "reason": "exit"})
        until(lambda: len(found(made, "otter")) == 2)
        prompt(made, "the otter is number three", project)
        until(lambda: len(found(made, "otter")) == 3)
        assert sorted(found(made, "otter")) == sorted([*said, "the otter is number three"])
        status = run("status", "--home", made, "--json").json
        assert (status["capture"]["records"], status["capture"]["transcripts"]) == (3, 0)
        assert status["process"]["engine"] == engine


def test_whoever_is_killed_when_every_event_is_kept_once(made: Path, project: Path) -> None:
    draw = random.Random(6)
    with ThreadPoolExecutor(4) as pool:
        writing = [
            pool.submit(prompt, made, f"event number {number % 7}", project, f"s{number % 3}") for number in range(40)
        ]
        for _ in range(3):
            with serving(made) as process:
                enough = min(40, sum(one.done() for one in writing) + draw.randrange(3, 15))
                until(lambda enough=enough: sum(one.done() for one in writing) >= enough)  # type: ignore[misc]
                os.kill(process.pid, signal.SIGKILL)
                until(lambda: gone(process.pid))
        for one in writing:
            one.result()
    with mnemic.open(made) as mind:
        mind.drain_spool()
        capture = mind.status().capture
    assert (capture.records, capture.quarantined, capture.torn, capture.losses.lost) == (40, 0, 0, 0)
    expected = Counter(f"event number {number % 7}" for number in range(40))
    assert Counter(kept(made)) == expected


def test_a_process_that_was_started_on_demand_leaves_though_files_of_hooks_are_still_there(
    home: Path, project: Path
) -> None:
    settings = home / "mnemic.toml"
    settings.write_text(f"{settings.read_text('utf-8')}[runtime]\nidle_exit_s = 0.5\nsleep_after_s = 0.1\n", "utf-8")
    assert run("init", "--home", home).code == 0
    with subprocess.Popen([sys.executable, "-m", "mnemic", "serve", "--on-demand", "--home", str(home)]) as process:
        try:
            prompt(home, "the otter is well", project)
            until(lambda: process.poll() is not None or ready(home).pid == process.pid)
            until(lambda: process.poll() is not None)
        finally:
            process.kill()
    end(home)
    assert list((home / "minds" / "default" / "spool").glob("*.spool"))
    assert found(home, "otter") == ["the otter is well"]


def test_no_process_leaves_before_it_looked_whether_hooks_kept_something(made: Path, project: Path) -> None:
    settings = made / "mnemic.toml"
    settings.write_text(f"{settings.read_text('utf-8')}[runtime]\nidle_exit_s = 0.1\n", "utf-8")
    prompt(made, "the otter is well", project)
    subprocess.run([sys.executable, "-m", "mnemic", "serve", "--on-demand", "--home", str(made)], check=True)
    with mnemic.open(made) as mind:
        assert [hit.text for hit in mind.recall("otter", signals=("lexical",)).hits] == ["the otter is well"]
