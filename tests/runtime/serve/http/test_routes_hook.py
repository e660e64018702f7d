"""A hook asks the home's process on its own socket, is answered in the host's words, and never sees an error."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.errors import StoreBusy
from mnemic.hooks.read.hook_reply import check_reply_pid
from mnemic.runtime.clock import SystemClock
from tests.paths import built_hook
from tests.processes.faces import git_project, name_scope
from tests.processes.hosted import Answer, Hosted, hosted
from tests.waiting import BOUND_S

TURN = {"role": "user", "session": "old", "assistant": "claude-code"}


@pytest.fixture
def faces(home: Path) -> Iterator[Hosted]:
    with hosted(home) as faces:
        yield faces


@pytest.fixture
def project(faces: Hosted, tmp_path: Path) -> Path:
    """A project, in a folder with a space and a percent sign, of which something is known."""
    folder = git_project(tmp_path / "a %41 project")
    with faces.minds.use("default", True) as mind:
        mind.remember("From now on use tabs.", kind="turn", scope=mind.folder_scope(str(folder))[1], **TURN)
    return folder


def ask(faces: Hosted, folder: Path | None, payload: Any = None, **headers: str) -> Answer:
    body = json.dumps({"session_id": "new", "source": "startup"} if payload is None else payload).encode()
    said = {"Mnemic-Mind": "default", "Mnemic-Create": "0"}
    said |= {"Mnemic-Assistant": "claude-code", "Mnemic-Event": "session-start"}
    if folder is not None:
        said["Mnemic-Cwd"] = "".join(f"%{byte:02X}" for byte in str(folder).encode())
    return faces.request("POST", "/api/hook", body, said | {f"Mnemic-{name}": value for name, value in headers.items()})


def test_the_answer_is_the_bytes_for_the_hooks_standard_output(faces: Hosted, project: Path) -> None:
    told = ask(faces, project)
    assert told.status == 200
    assert told.headers["content-length"] == str(len(told.body))
    assert "use tabs" in told.json["hookSpecificOutput"]["additionalContext"]
    assert told.json["systemMessage"].startswith("Mnemic: 1 memory, ")
    assert ask(faces, project, Assistant="opencode").json["shown"] == told.json["systemMessage"]
    assert faces.server_control.touched[-1] == "hook"


def test_a_subfolder_is_the_same_project_and_another_folder_is_none(
    faces: Hosted, project: Path, tmp_path: Path
) -> None:
    assert ask(faces, project / "src").body == ask(faces, project).body != b""
    assert ask(faces, tmp_path / "elsewhere").body == b""
    assert ask(faces, None).body == b""


def test_whatever_is_wrong_the_hook_is_told_nothing_and_no_error(faces: Hosted, project: Path) -> None:
    wrong: list[dict[str, str]] = [
        {"Mind": "no such mind"},
        {"Mind": "../up"},
        {"Assistant": "somebody"},
        {"Assistant": "%FF%00"},
        {"Event": "reply"},
        {"Event": ""},
        {"Trace": "no name at all!"},
        {"Timeout": "never"},
    ]
    for headers in wrong:
        told = ask(faces, project, **headers)
        assert (told.status, told.body) == (200, b""), headers


def test_what_a_host_would_not_take_is_not_asked_for(
    faces: Hosted, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faces.minds.use("default", False) as mind:
        monkeypatch.setattr(mind, "_brief_after_drain", None)  # it would fail
    assert ask(faces, project, Assistant="cursor", Event="prompt").body == b"{}\n"
    assert ask(faces, project, Assistant="somebody").body == b""


@pytest.mark.parametrize("payload", ["", [], {"source": "resume"}])
def test_a_payload_that_asks_for_nothing_is_told_nothing(faces: Hosted, project: Path, payload: Any) -> None:
    expected = b"" if isinstance(payload, dict) else ask(faces, project, {}).body  # of no session that is known
    assert ask(faces, project, payload).body == expected


def test_a_trial_is_told_by_which_process_it_was_answered_and_nothing_else(faces: Hosted, project: Path) -> None:
    pid = check_reply_pid(ask(faces, project, {"mnemic_check": "n0nce"}).body, "n0nce")
    assert pid == os.getpid()


def test_a_mind_that_is_not_there_is_not_made(faces: Hosted, project: Path) -> None:
    ask(faces, project, Mind="other")
    assert not (faces.home / "minds" / "other").exists()


def test_what_hooks_kept_a_moment_ago_is_told(faces: Hosted, project: Path) -> None:
    prompt = {"session_id": "before", "cwd": str(project), "hook_event_name": "UserPromptSubmit"}
    hook = [built_hook(), "claude-code", "prompt", "--home", str(faces.home)]
    given = json.dumps(prompt | {"prompt": "paint the pier"}).encode()
    subprocess.run(hook, input=given, timeout=BOUND_S, check=True)
    told = ask(faces, project).json["hookSpecificOutput"]["additionalContext"]
    assert 'the user last said (no reply): "paint the pier"' in told


def test_a_spool_that_cannot_be_taken_in_leaves_what_is_known(
    faces: Hosted, project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with faces.minds.use("default", False) as mind:

        def fail(*_: Any, **__: Any) -> Any:
            raise StoreBusy(path="store.db", waited_s=1.0)

        monkeypatch.setattr(mind, "drain_spool", fail)
    assert "use tabs" in ask(faces, project).json["hookSpecificOutput"]["additionalContext"]
    assert "store_busy" in caplog.text


def test_a_broken_scope_file_is_logged_and_the_hook_told_nothing(
    faces: Hosted, home: Path, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (project / ".mnemic.toml").write_text("scope = 7", "utf-8")
    assert "use tabs" in ask(faces, project).json["hookSpecificOutput"]["additionalContext"], "it says nothing yet"
    name_scope(home, project, "work")
    (project / ".mnemic.toml").write_text("scope = 7", "utf-8")
    told = ask(faces, project)
    assert (told.status, told.body) == (200, b"")
    assert "invalid_value" in caplog.text


def test_a_folder_whose_name_no_system_takes_is_refused_and_the_hook_told_nothing(
    faces: Hosted, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = ask(faces, Path("/a" * 10_000))
    assert (told.status, told.body) == (200, b"")
    assert "invalid_value" in caplog.text


def test_a_hook_that_asked_more_than_a_second_ago_is_told_nothing_and_the_next_all(
    faces: Hosted, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowClock:
        def now_us(self) -> int:
            return SystemClock().now_us() - 1_000_000

    with monkeypatch.context() as slow:
        slow.setattr("mnemic.runtime.serve.http.routes._CLOCK", SlowClock())
        assert ask(faces, project).body == b""
    with faces.minds.use("default", False) as mind:
        assert not mind.log_given().deliveries, "nothing is kept as told"
    assert b"use tabs" in ask(faces, project).body
    with faces.minds.use("default", False) as mind:
        assert mind.log_given().deliveries
