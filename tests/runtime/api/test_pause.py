"""While the memory is paused nothing is captured by itself, by no way, and everyone who looks is told."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.kernel.errors import InvalidValue, PausesUnreadable
from mnemic.actors.kernel.times import to_iso
from mnemic.runtime.api.pause import parse_duration_us
from mnemic.runtime.capture.pauses import CAPTURE_OFF_NOTICE, read_pauses
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind
from tests.mnemic.test_session_start import alone as session_start
from tests.paths import built_hook
from tests.processes.faces import Outcome, git_project, lines, name_scope, run
from tests.processes.hosted import tool_call
from tests.processes.serving import Assistant, serving
from tests.waiting import BOUND_S, until

PAUSED = "The memory is paused, since "
HEEDED = ("MNEMIC_OFF", "CLAUDE_CODE_ENTRYPOINT")


def hook(home: Path, event: str, payload: dict[str, Any], *options: str, **environment: str) -> str:
    """Run a hook as a host does, with such an environment besides; what it printed."""
    command = [built_hook(), "claude-code", event, "--home", str(home), *options]
    own = {name: value for name, value in os.environ.items() if name not in HEEDED}
    ended = subprocess.run(
        command,
        input=json.dumps(payload).encode(),
        capture_output=True,
        timeout=BOUND_S,
        check=True,
        env=own | environment,
    )
    assert ended.stderr == b""
    return ended.stdout.decode()


def prompt(home: Path, text: str, project: Path, session: str = "s1", **environment: str) -> None:
    about = {"session_id": session, "hook_event_name": "UserPromptSubmit", "cwd": str(project), "prompt": text}
    hook(home, "prompt", about, **environment)


def started(project: Path, session: str = "new", source: str = "startup", **more: str) -> dict[str, Any]:
    about = {"session_id": session, "hook_event_name": "SessionStart", "source": source, "cwd": str(project)}
    return about | more


def kept(home: Path) -> list[str]:
    """Every text that a mind holds, in order; what hooks kept and what is due is taken in first."""
    with mnemic.open(home) as mind:
        mind.drain_spool()
        return sorted(hit.text for hit in mind.recall("otter", 1000, signals=("lexical",)).hits)


def claude_line(text: str, number: int, at: str, session: str, cwd: Path, **more: Any) -> dict[str, Any]:
    """A line of a transcript."""
    about = {"type": "user", "sessionId": session, "uuid": f"u{number}", "timestamp": at, "cwd": str(cwd)}
    return about | {"message": {"role": "user", "content": text}} | more


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return git_project(tmp_path / "shelf")


@pytest.fixture
def made(home: Path) -> Path:
    create_mind(home, "default", SystemClock())
    return home


def paused_span(home: Path) -> tuple[int, int]:
    """The one pause that there was, microseconds."""
    ((since, until_),) = read_pauses(home / "minds" / "default")
    assert until_ is not None
    return since, until_


def iso(at: int) -> str:
    return str(to_iso(at))


# --- the commands ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2h", 7200), ("30m", 1800), ("1d12h", 129_600), ("1.5h", 5400), (" 90 S ", 90), ("1w", 604_800)],
)
def test_a_span_is_read(text: str, seconds: int) -> None:
    assert parse_duration_us(text) == seconds * 1_000_000


@pytest.mark.parametrize("text", ["", "2", "h", "2x", "-2h", "0h", "1h30", "1e3h", "99999w", "nan"])
def test_what_is_no_span_is_refused_in_one_sentence(made: Path, text: str) -> None:
    with pytest.raises(InvalidValue, match="the time to pause for"):
        parse_duration_us(text)
    assert read_pauses(made / "minds" / "default") == []


def test_a_pause_is_said_by_the_commands_that_look_and_ends_when_somebody_resumes(
    made: Path, command: Any, project: Path
) -> None:
    answer = command("pause", "--for", "2h", "--home", made, "--json").json
    assert answer["paused"]["told"].startswith(PAUSED)
    assert list(answer["paused"]) == ["since", "until", "told"]
    told = answer["paused"]["told"]
    shown = command("status", "--home", made).out
    assert (f"PAUSED: {told}" in shown, shown.count("is paused")) == (True, 1)
    assert command("doctor", "--home", made).out.count("is paused") == 1
    assert command("--home", made).out.count("is paused") == 1
    status = command("status", "--home", made, "--json").json
    assert (status["paused"], told in status["degraded"]) == (answer["paused"], True)
    assert told in command("recall", "otter", "--scope", "*", "--home", made, "--json").json["degraded"]
    (check,) = [one for one in command("doctor", "--home", made, "--json").json["checks"] if one["name"] == "pause"]
    assert (check["state"], check["remedy"]) == ("advice", f"`mnemic resume --home {made}` ends that.")
    assert command("resume", "--home", made, "--json").json["ended"] == answer["paused"]
    assert "was not paused" in command("resume", "--home", made).out
    assert PAUSED not in command("status", "--home", made).out + command("recall", "otter", "--home", made).out


def test_where_there_is_no_mind_or_no_span_nothing_is_written(home: Path, command: Any) -> None:
    refused: Outcome = command("pause", "--home", home)
    assert refused.code != 0
    assert refused.err.startswith("mnemic: There is no mind 'default' in")
    assert command("init", "--home", home).code == 0
    refused = command("pause", "--for", "soon", "--home", home)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert not (home / "minds" / "default" / "pauses").exists()


def test_python_pauses_and_resumes_too_and_what_its_owner_says_is_kept(made: Path) -> None:
    with mnemic.open(made) as mind:
        assert (mind.paused(), mind.resume()) == (None, None)
        held = mind.pause(for_s=60)
        assert mind.paused() == held
        assert mind.remember("the otter is well").created
        assert mind.status().paused == held.view()
        with pytest.raises(InvalidValue):
            mind.pause(for_s=float("nan"))
        assert mind.resume() == held
    assert kept(made) == ["the otter is well"]


# --- what is not captured --------------------------------------------------------------------------------------------


def test_what_happens_in_a_pause_is_captured_neither_then_nor_later_unless_its_owner_asks(
    made: Path, project: Path, tmp_path: Path, command: Any
) -> None:
    prompt(made, "the otter before", project)
    assert command("pause", "--home", made).code == 0
    prompt(made, "the otter in it", project)
    assert command("resume", "--home", made).code == 0
    prompt(made, "the otter after", project)
    since, until_ = paused_span(made)
    times = {"before": since - 1_000_000, "in it": (since + until_) // 2, "after": until_ + 1_000_000}
    said = [claude_line(f"the otter {name}", n, iso(at), "s1", project) for n, (name, at) in enumerate(times.items())]
    path = lines(tmp_path / "s1.jsonl", *said)
    ended = {"session_id": "s1", "hook_event_name": "SessionEnd", "cwd": str(project), "transcript_path": str(path)}
    hook(made, "session-end", ended)
    assert kept(made) == ["the otter after", "the otter before"]
    with mnemic.open(made) as mind:
        mind.queue_transcripts([(path, "claude-code")])
    assert kept(made) == ["the otter after", "the otter before"], "nor from what lay there"
    assert command("capture", path, "--home", made, "--no-meaning", "--json").json["new"] == 1
    assert kept(made) == ["the otter after", "the otter before", "the otter in it"]


@pytest.mark.parametrize("value", ["1", "capture"])
def test_a_session_that_its_shell_switched_off_is_not_read_from_its_transcript_either(
    made: Path, project: Path, tmp_path: Path, value: str, command: Any
) -> None:
    prompt(made, "the otter is switched off", project, MNEMIC_OFF=value)
    prompt(made, "the otter is on", project, session="s2")
    main = [claude_line("the otter is switched off", 1, "2026-11-21T14:05:00Z", "s1", project)]
    agent = claude_line(
        "the otter of an agent", 2, "2026-11-21T14:05:00Z", "s1", project, isSidechain=True, agentId="a"
    )
    paths = [lines(tmp_path / "s1.jsonl", *main), lines(tmp_path / "agent.jsonl", agent)]
    with mnemic.open(made) as mind:
        mind.drain_spool()  # as a process would have, long before somebody has transcripts taken in
        mind.queue_transcripts([(path, "claude-code") for path in paths])
    assert kept(made) == ["the otter is on"]
    assert command("capture", *paths, "--home", made, "--no-meaning", "--json").json["new"] == 2


def test_projects_and_kinds_of_session_that_the_settings_name_stay_out(
    home: Path, tmp_path: Path, command: Any
) -> None:
    secret, fine = git_project(tmp_path / "secret"), git_project(tmp_path / "fine")
    settings = home / "mnemic.toml"
    left = f'[capture]\ndeny = ["{secret}"]\nleave_out = ["headless", "subagents"]\n'
    settings.write_text(settings.read_text("utf-8") + left, "utf-8")
    assert command("init", "--home", home).code == 0
    prompt(home, "the otter of a secret", secret)
    prompt(home, "the otter of a program", fine, session="s2", CLAUDE_CODE_ENTRYPOINT="sdk-cli")
    prompt(home, "the otter at hand", fine, session="s3", CLAUDE_CODE_ENTRYPOINT="cli")
    written = [
        claude_line("the otter of a secret", 1, "2026-11-21T14:05:00Z", "s4", secret),
        claude_line("the otter of a program", 2, "2026-11-21T14:05:00Z", "s4", fine, entrypoint="sdk-py"),
        claude_line("the otter of an agent", 3, "2026-11-21T14:05:00Z", "s4", fine, isSidechain=True, agentId="a"),
        claude_line("the otter by hand", 4, "2026-11-21T14:05:00Z", "s4", fine, entrypoint="cli"),
    ]
    told = command("capture", lines(tmp_path / "s4.jsonl", *written), "--home", home, "--no-meaning")
    assert "3 left out, as the settings say" in told.out
    assert kept(home) == ["the otter at hand", "the otter by hand"]
    named = f"left out by the settings: the projects {secret}; headless sessions; sessions of subagents"
    assert named in command("status", "--home", home).out


def test_headless_sessions_and_those_of_subagents_are_counted(
    made: Path, project: Path, tmp_path: Path, command: Any
) -> None:
    prompt(made, "the otter of a program", project, CLAUDE_CODE_ENTRYPOINT="sdk-cli")
    agent = claude_line(
        "the otter of an agent", 2, "2026-11-21T14:05:00Z", "s1", project, isSidechain=True, agentId="a"
    )
    assert command("capture", lines(tmp_path / "a.jsonl", agent), "--home", made, "--no-meaning").code == 0
    assert len(kept(made)) == 2
    assert "of the sessions 1 headless, 1 of subagents" in command("status", "--home", made).out
    counts = command("status", "--home", made, "--json").json["counts"]
    assert (counts["headless"], counts["subagents"]) == (1, 1)


# --- the start of a session ------------------------------------------------------------------------------------------


def context(printed: str) -> tuple[str, str]:
    """What the model reads, and what its user is shown."""
    answer = json.loads(printed)
    return answer["hookSpecificOutput"]["additionalContext"], answer["systemMessage"]


def asked(home: Path, project: Path, **environment: str) -> tuple[str, str]:
    """What a session's start is told where a process serves the home; a hook waits a second and is then silent."""
    return context(until(lambda: hook(home, "session-start", started(project), "--ask", **environment)))


def alone(home: Path, project: Path, source: str = "startup", **more: str) -> str:
    """What it is told where none does."""
    given = json.dumps(started(project, source=source)).encode()
    return session_start(home, cwd=str(project), payload=given, **more).out


@pytest.mark.parametrize("served", [False, pytest.param(True, marks=pytest.mark.system)])
def test_the_start_of_a_session_says_so_with_a_process_and_without_and_the_same(
    made: Path, project: Path, command: Any, served: bool
) -> None:
    prompt(made, "We decided: the otter sleeps in drawer nine from now on.", project)
    assert len(kept(made)) == 1
    before = alone(made, project)
    assert "paused" not in before
    told = command("pause", "--for", "1h", "--home", made, "--json").json["paused"]["told"]
    text, shown = context(alone(made, project))
    assert text.startswith(f"<mnemic-memory>\n{told}\n")
    assert "drawer nine" in text
    assert shown.startswith(f"Mnemic: {told} 1 memory, ")
    assert context(alone(made, project, source="resume")) == (
        f"<mnemic-memory>\n{told}\n</mnemic-memory>",
        f"Mnemic: {told}",
    ), "one that goes on has the rest"
    with serving(made) if served else mnemic.open(made) as mind:

        def answer() -> str:
            if served:
                return until(lambda: hook(made, "session-start", started(project), "--ask"))
            given = json.dumps(started(project)).encode()
            return str(mind.hook_reply("claude-code", "session-start", str(project), given).decode())

        assert context(answer()) == (text, shown)
        assert command("resume", "--home", made).code == 0
        assert answer() == before


def test_an_empty_memory_that_is_paused_says_so_too(made: Path, project: Path, command: Any) -> None:
    settings = made / "mnemic.toml"
    settings.write_text(f"{settings.read_text('utf-8')}[brief]\nbudget_tokens = 0\n", "utf-8")
    assert alone(made, project) == ""
    told = command("pause", "--home", made, "--json").json["paused"]["told"]
    assert context(alone(made, project)) == (f"<mnemic-memory>\n{told}\n</mnemic-memory>", f"Mnemic: {told}")


@pytest.mark.system
def test_a_session_whose_shell_switched_the_capture_off_is_told_that_it_is_not_remembered(
    made: Path, project: Path
) -> None:
    assert context(alone(made, project, off="capture"))[0] == f"<mnemic-memory>\n{CAPTURE_OFF_NOTICE}\n</mnemic-memory>"
    with serving(made):
        assert (
            asked(made, project, MNEMIC_OFF="capture")[0] == f"<mnemic-memory>\n{CAPTURE_OFF_NOTICE}\n</mnemic-memory>"
        )
        for value in ("1", "recall"):
            assert hook(made, "session-start", started(project), "--ask", MNEMIC_OFF=value) == ""


def test_what_hooks_kept_waits_where_nobody_can_tell_when_it_was_paused(made: Path, project: Path) -> None:
    prompt(made, "the otter before it", project)
    pauses = made / "minds" / "default" / "pauses"
    pauses.mkdir()
    with mnemic.open(made) as mind:
        with pytest.raises(PausesUnreadable, match="cannot be read"):
            mind.drain_spool()
        assert mind.remember("the otter of its owner").created
    pauses.rmdir()
    assert kept(made) == ["the otter before it", "the otter of its owner"]


@pytest.mark.system
def test_a_locked_memory_is_paused_without_its_passphrase_and_promises_nothing(
    home: Path, project: Path, command: Any
) -> None:
    assert run("init", "--passphrase", "--home", home, given=b"a heron at dusk\n").code == 0
    told = command("pause", "--home", home, "--json").json["paused"]["told"]
    text, _ = context(alone(home, project))
    assert told in text
    assert "locked" in text
    assert "kept for later" not in text
    prompt(home, "the otter in it", project)
    assert list((home / "minds" / "default" / "spool").glob("*.spool")) == []
    assert command("resume", "--home", home).code == 0
    assert "kept for later" in context(alone(home, project))[0]


# --- assistants ------------------------------------------------------------------------------------------------------


def refused(answer: Any) -> str:
    """What a tool said that refused."""
    assert answer["result"]["isError"]
    return str(answer["result"]["content"][0]["text"])


@pytest.mark.system
def test_what_an_assistant_hands_over_in_a_pause_is_refused_and_it_is_told_why(
    made: Path, project: Path, command: Any
) -> None:
    with serving(made), Assistant(made, project, allow="read-all") as assistant:
        assert assistant.tool(tool_call(2, "memory_capture", text="the otter before"))["created"]
        assert command("pause", "--for", "1h", "--home", made).code == 0
        assistant.send(tool_call(3, "memory_capture", text="the otter in it"))
        sentence = refused(assistant.hear())
        assert sentence.startswith("paused: The memory is paused until ")
        assert "`mnemic resume`" in sentence
        recalled = assistant.tool(tool_call(4, "memory_recall", query="otter", scope="*"))
        assert [hit["text"] for hit in recalled["hits"]] == ["the otter before"]
        assert any(line.startswith(PAUSED) for line in recalled["degraded"])
        assert assistant.tool(tool_call(5, "memory_status"))["paused"]["told"].startswith(PAUSED)
        assert command("remember", "the otter by hand", "--home", made).code == 0
    assert kept(made) == ["the otter before", "the otter by hand"]


@pytest.mark.system
def test_an_assistant_hands_nothing_over_from_a_project_that_is_left_out(made: Path, project: Path) -> None:
    name_scope(made, project, "work/shelf")
    (made / "mnemic.toml").write_text(f'[capture]\ndeny = ["{project}"]\n')
    prompt(made, "the otter of a hook", project)
    with mnemic.open(made) as mind:
        assert mind.drain_spool().left_out == 1
    with serving(made), Assistant(made, project, allow="write-all") as assistant:
        for number, given in enumerate(({}, {"scope": "elsewhere"}), start=2):
            assistant.send(tool_call(number, "memory_capture", text="the otter", **given))
            assert refused(assistant.hear()).startswith("left_out: The settings leave the project 'work/shelf' out")
    assert kept(made) == []


@pytest.mark.parametrize(
    ("value", "captures", "recalls"),
    [
        ("1", False, False),
        pytest.param("capture", False, True, marks=pytest.mark.system),
        pytest.param("recall", True, False, marks=pytest.mark.system),
    ],
)
def test_an_assistant_whose_shell_switched_it_off_has_no_such_tools(
    made: Path, project: Path, value: str, captures: bool, recalls: bool
) -> None:
    environment = os.environ | {"MNEMIC_OFF": value}
    with Assistant(made, project, allow="read-all", env=environment) as assistant:
        for name, works, given in (
            ("memory_capture", captures, {"text": "the otter"}),
            ("memory_recall", recalls, {"query": "otter", "scope": "*"}),
            ("memory_shape", recalls, {"pattern": {"who": "?"}, "scope": "*"}),
        ):
            assistant.send(tool_call(name, name, **given))
            answer = assistant.hear()
            assert answer["result"].get("isError", False) != works, answer
            if not works:
                assert refused(answer).startswith("switched_off: MNEMIC_OFF is set where this session was started")
