"""How a host is wired: what is missing, what differs, what keeps it from working, and a trial through its command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemic.hooks.wire.commands import ASSISTANTS, Wiring, make_wiring
from mnemic.hooks.wire.status import (
    NO_UPDATES,
    HostStatus,
    examine_host,
    executable_state,
    recorded_wiring,
    wiring_checks,
)
from mnemic.hooks.wire.trial import run_trial
from mnemic.runtime.capture.hook_files import required_hook_files
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.version import __version__
from tests.hooks.wirings import User, user

CLOCK = SystemClock()
KEEPS = '#!/bin/sh\nprintf "%s\\n" "$@" > "$(dirname "$0")/given"\ncat > "$(dirname "$0")/payload"\n'


def executable(one: User, content: str = KEEPS) -> Path:
    path = one.wiring.executable
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, "utf-8")
    path.chmod(0o700)
    return path


def status(one: User, wiring: Wiring | None = None) -> HostStatus:
    return examine_host(one.host, wiring or one.wiring, CLOCK, installed=one.host.name in one.record.hosts)


@pytest.mark.parametrize("name", ASSISTANTS)
def test_a_host_is_told_as_wired_once_it_is_and_not_before(tmp_path: Path, name: str) -> None:
    one = user(tmp_path, name)
    executable(one)
    before = status(one)
    assert (before.wired, before.mcp, set(before.events.values())) == (False, "missing", {"missing"})
    one.install()
    after = status(one)
    assert (after.wired, after.missing_parts, after.wrong) == (True, [], [])
    assert after.instructions == (None if name == "cursor" else "wired")


@pytest.mark.parametrize("name", ASSISTANTS)
@pytest.mark.parametrize("home", ["memory", "two words", "it's home", "ünï"])
def test_the_trial_goes_through_the_command_as_it_stands(tmp_path: Path, name: str, home: str) -> None:
    one = user(tmp_path, name, home=home)
    path = executable(one)
    one.again(mind="work").install()
    assert run_trial(one.host, one.wiring, "prompt", "n0nce") == ("", None)
    given = (path.parent / "given").read_text("utf-8").splitlines()
    asks = ["--updates"] if name in ("claude-code", "codex", "gemini-cli") else []  # a trial of a plugin's is its own
    assert given == [name, "prompt", *asks, "--home", str(one.wiring.home), "--mind", "work"]
    payload = json.loads((path.parent / "payload").read_bytes())
    assert payload["mnemic_check"] == "n0nce"


def test_a_trial_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    one = user(tmp_path, "claude-code")
    assert run_trial(one.host, one.wiring, "prompt", "n")[0] == "no command for a prompt is in its configuration"
    one.install()
    path = one.folder / ".claude" / "settings.json"
    path.write_text(path.read_text("utf-8").replace(" || cat >/dev/null", ""), "utf-8")
    assert run_trial(one.host, one.wiring, "prompt", "n")[0] == "the command ended with 1"


@pytest.mark.parametrize("name", ASSISTANTS)
def test_a_question_goes_through_the_command_for_a_sessions_start(tmp_path: Path, name: str) -> None:
    one = user(tmp_path, name, home="it's home")
    path = executable(one, f"{KEEPS}printf 'mnemic-check n0nce 42\\n'\n")
    one.again(mind="work").install()
    assert run_trial(one.host, one.wiring, "session-start", "n0nce") == ("", 42)
    given = (path.parent / "given").read_text("utf-8").splitlines()
    assert given == [name, "session-start", "--ask", "--home", str(one.wiring.home), "--mind", "work"]
    assert json.loads((path.parent / "payload").read_bytes())["mnemic_check"] == "n0nce"


@pytest.mark.parametrize("said", ["", "mnemic-check other 42", "mnemic-check n0nce", "mnemic-check n0nce x", "{}"])
def test_what_is_no_answer_to_this_question_is_told_as_none(tmp_path: Path, said: str) -> None:
    one = user(tmp_path, "cursor")
    executable(one, f"#!/bin/sh\ncat >/dev/null\nprintf '%s' '{said}'\n")
    assert (
        run_trial(one.host, one.wiring, "session-start", "n0nce")[0]
        == "no command for a session start is in its configuration"
    )
    one.install()
    assert run_trial(one.host, one.wiring, "session-start", "n0nce") == ("", None)


def test_a_missing_executable_and_a_silencing_variable_are_said(tmp_path: Path) -> None:
    one = user(tmp_path, "cursor")
    one.install()
    assert any("is missing" in why for why in status(one).wrong)
    executable(one)
    off = msgspec.structs.replace(one.wiring, environment={**one.wiring.environment, "MNEMIC_OFF": "1"})
    assert any("MNEMIC_OFF" in why and "keep nothing" in why for why in status(one, off).wrong)
    told = msgspec.structs.replace(one.wiring, environment={**one.wiring.environment, "MNEMIC_OFF": "recall"})
    assert any("MNEMIC_OFF" in why and "tell nothing" in why for why in status(one, told).wrong)
    assert status(one).wrong == []


@pytest.mark.parametrize(
    ("users", "silent"),
    [
        ({"mind": 4201}, "root"),
        ({"mind": 4201, "home": 4201}, "root"),
        ({"home": 4201}, "4201"),
        ({".": 4201}, "4201"),
        ({".": 4201, "home": 4202}, "4201 and 4202"),
        ({}, ""),
    ],
)
def test_users_whose_hooks_keep_nothing_in_anothers_mind_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, users: dict[str, int], silent: str
) -> None:
    one = user(tmp_path, "cursor")
    one.install()
    executable(one)
    mind = one.wiring.home / "minds" / "default"
    mind.mkdir(parents=True)
    places = {"mind": mind, "home": one.wiring.home, ".": Path(one.wiring.environment["HOME"])}
    owners = {places[name]: number for name, number in users.items()}
    monkeypatch.setattr("mnemic.hooks.wire.status.os.geteuid", lambda: 0)
    monkeypatch.setattr("mnemic.hooks.wire.status._owner", lambda path: owners.get(path, 0) if path.exists() else None)
    said = status(one).wrong
    owner = "root" if "mind" not in users else "4201"
    expected = f"the mind belongs to {owner}, and hooks that run as {silent} keep nothing in it: "
    assert [why.startswith(expected) for why in said] == ([True] if silent else [])


def test_a_memory_that_is_paused_is_said_and_not_tried(tmp_path: Path) -> None:
    one = user(tmp_path, "cursor")
    one.install()
    executable(one)
    mind = one.wiring.home / "minds" / "default"
    mind.mkdir(parents=True)
    (mind / "pauses").write_text("1 -\n")
    (why,) = status(one).wrong
    assert why.startswith("The memory is paused, since 1970-01-01 ")
    assert "and until somebody resumes: nothing is captured." in why
    (mind / "pauses").write_text("1 2\n")
    assert status(one).wrong == []


def test_what_somebody_edited_is_told_from_what_is_missing(tmp_path: Path) -> None:
    one = user(tmp_path, "claude-code")
    executable(one)
    one.install()
    path = one.folder / ".claude" / "settings.json"
    held = json.loads(path.read_text("utf-8"))
    held["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 1
    del held["hooks"]["SessionEnd"]
    path.write_text(json.dumps(held), "utf-8")
    (one.folder / ".claude" / "CLAUDE.md").unlink()
    seen = status(one)
    assert (seen.events["reply"], seen.events["session-end"], seen.events["prompt"]) == ("differs", "missing", "wired")
    assert seen.missing_parts == ["reply", "session-end", "instructions"]
    assert seen.remedy == f"mnemic hooks install claude-code --apply --home {one.wiring.home}"
    assert status(one, one.again(recall_prompts=True, recall_failures=False, mind="w").wiring).remedy.endswith(
        f"--recall-prompts --no-recall-failures --home {one.wiring.home} --mind w"
    )


@pytest.mark.parametrize("name", ASSISTANTS)
def test_a_prompt_hook_from_before_updates_is_said_with_what_to_type(tmp_path: Path, name: str) -> None:
    one = user(tmp_path, name)
    executable(one)
    one.install()
    assert NO_UPDATES not in status(one).notes
    for path in one.folder.rglob("*"):
        if path.is_file() and path.suffix in (".json", ".js", ".toml"):
            text = path.read_text("utf-8")
            path.write_text(text.replace("--updates ", "").replace('"--updates", ', ""), "utf-8")
    seen = status(one)
    assert (NO_UPDATES in seen.notes) is (name != "cursor"), "which takes nothing beside a prompt"
    if name != "cursor":
        assert (seen.events["prompt"], seen.state) == ("differs", "advice")
        assert seen.remedy == f"mnemic hooks install {name} --apply --home {one.wiring.home}"
        (check,) = [
            one for one in wiring_checks(one.wiring.home, one.wiring.environment, CLOCK) if one.name == f"hooks {name}"
        ]
        assert NO_UPDATES in check.detail
        assert seen.remedy == check.remedy
        one.install()
        assert NO_UPDATES not in status(one).notes


def test_a_broken_file_is_said_and_the_rest_is_looked_at(tmp_path: Path) -> None:
    one = user(tmp_path, "claude-code")
    executable(one)
    one.install()
    (one.folder / ".claude.json").write_text("{", "utf-8")
    seen = status(one)
    (why,) = seen.wrong
    assert ".claude.json cannot be edited as JSON: Expecting property name" in why
    assert seen.remedy.startswith("Correct the file, then run the command again: mnemic hooks install ")
    assert (seen.events["prompt"], seen.state) == ("wired", "wrong")


def trust(one: User, folder: Path, **states: str) -> Wiring:
    """A wiring whose `codex` says of each event what it says; of those not named, that it trusts them."""
    (folder / "bin").mkdir(exist_ok=True)
    hooks = [
        {
            "key": event,
            "command": one.wiring.hook_command("codex", event),
            "currentHash": "h",
            "trustStatus": states.get(event.replace("-", "_"), "trusted"),
        }
        for event in one.host.events
    ]
    answers = [{"id": 1, "result": {}}, {"id": 2, "result": {"data": [{"hooks": hooks}]}}]
    said = "".join(
        f"read -r line\n{'read -r line' if at else ':'}\ncat <<'E'\n{json.dumps(one)}\nE\n"
        for at, one in enumerate(answers)
    )
    (folder / "bin" / "codex").write_text(f"#!/bin/sh\n{said}", "utf-8")
    (folder / "bin" / "codex").chmod(0o755)
    path = f"{folder / 'bin'}:/usr/bin:/bin"
    return msgspec.structs.replace(one.wiring, environment={**one.wiring.environment, "PATH": path})


def test_hooks_that_codex_does_not_trust_are_told_from_working_ones(tmp_path: Path) -> None:
    one = user(tmp_path, "codex")
    executable(one)
    one.install()
    assert status(one, trust(one, tmp_path)).wrong == []
    edited = status(one, trust(one, tmp_path, reply="modified", session_end="untrusted"))
    assert edited.wrong == ["Codex does not trust, and so does not run: reply, session-end"]
    assert any("could not be asked" in note for note in status(one).notes)


def test_what_it_is_told_beyond_a_sessions_start_is_said(tmp_path: Path) -> None:
    one = user(tmp_path, "claude-code")
    executable(one)
    one.install()
    failures = "it is told what helped, once a call failed, too"
    assert [note for note in status(one).notes if "it is told" in note] == [failures]
    less = one.again(recall_failures=False)
    less.install()
    assert not any("it is told" in note for note in status(less).notes)
    more = one.again(recall_prompts=True)
    more.install()
    told = ["it is told memories with prompts, too", failures]
    assert [note for note in status(more).notes if "it is told" in note] == told


def test_what_was_wired_is_looked_at_as_it_was_wired(tmp_path: Path) -> None:
    one = user(tmp_path, "gemini-cli")
    executable(one)
    one.again(recall_prompts=True, recall_failures=False, mind="work").install()
    again = one.again()
    known = again.record.hosts["gemini-cli"]
    assert status(one).missing_parts != []
    wiring = recorded_wiring(one.wiring, known)
    assert (wiring.mind, wiring.recall_prompts, wiring.recall_failures) == (
        "work",
        True,
        False,
    )
    assert status(one, wiring).missing_parts == []


# --- for the doctor --------------------------------------------------------------------------------------------------


def checks(one: User, **arrived: str) -> dict[str, Any]:
    found = wiring_checks(
        one.wiring.home, one.wiring.environment, CLOCK, {k.replace("_", "-"): v for k, v in arrived.items()}
    )
    return {check.name: check for check in found}


def test_the_doctor_names_hosts_that_are_here_and_not_wired(tmp_path: Path) -> None:
    one = user(tmp_path, "cursor", "plain")
    found = checks(one)
    assert {name: check.state for name, check in found.items()} == {"hooks cursor": "advice"}
    assert found["hooks cursor"].remedy == f"mnemic hooks install cursor --apply --home {one.wiring.home}"


def test_the_doctor_names_what_looks_like_a_session_and_is_not_read(tmp_path: Path) -> None:
    one = user(tmp_path, "codex", "plain")
    path = one.folder / ".codex" / "sessions" / "rollout-1.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    found = checks(one)["transcripts codex"]
    assert (found.state, found.detail) == ("advice", f"1 file looks like a session and is not read: {path}")
    assert "mnemic capture FILE" in found.remedy
    path.unlink()
    assert "transcripts codex" not in checks(one)


def test_a_pause_that_another_check_tells_of_is_no_fault_of_the_wiring(tmp_path: Path) -> None:
    one = user(tmp_path, "cursor")
    one.install()
    executable(one)
    mind = one.wiring.home / "minds" / "default"
    mind.mkdir(parents=True)
    assert checks(one)["hooks cursor"].state == "ok"
    (mind / "pauses").write_text("1 -\n")
    assert checks(one)["hooks cursor"].state == "wrong"
    (told,) = status(one).wrong
    found = wiring_checks(one.wiring.home, one.wiring.environment, CLOCK, {}, told)
    assert {check.name: check.state for check in found}["hooks cursor"] == "ok"


@pytest.mark.parametrize("name", ASSISTANTS)
def test_a_home_from_which_nothing_was_installed_is_well_while_another_one_is_wired(tmp_path: Path, name: str) -> None:
    one = user(tmp_path, name, home="it's home")
    one.install()
    other = User(one.host, make_wiring(tmp_path / "other", one.wiring.environment), one.record)
    assert status(other).state == "wrong", "what its hooks call is not there, in whichever home"
    executable(one)
    seen = status(other)
    assert (seen.state, seen.other_home, seen.wrong) == ("advice", str(one.wiring.home), [])
    found = checks(other)[f"hooks {name}"]
    assert (found.state, str(one.wiring.home) in found.detail) == ("advice", True)
    assert "hooks install" not in found.remedy
    assert status(one).other_home is None


def test_the_doctor_sees_a_whole_wiring_and_a_broken_one(tmp_path: Path) -> None:
    one = user(tmp_path, "cursor", "plain")
    one.install()
    assert {name: check.state for name, check in checks(one).items()} == {
        "hook executable": "wrong",
        "hooks cursor": "wrong",
    }
    for file in required_hook_files(one.wiring.home):
        file.path.parent.mkdir(exist_ok=True)
        file.path.write_bytes(file.content)
        file.path.chmod(file.mode)
    whole = checks(one, cursor="n0nce")
    assert {check.state for check in whole.values()} == {"ok"}
    assert "a trial event arrived" in whole["hooks cursor"].detail
    assert "proves it by a trial" in checks(one)["hooks cursor"].detail
    (one.folder / ".cursor" / "mcp.json").unlink()
    assert (checks(one)["hooks cursor"].state, status(one).state) == ("advice", "advice")
    (one.folder / ".cursor" / "hooks.json").unlink()
    assert (checks(one)["hooks cursor"].state, status(one).state) == ("wrong", "wrong"), "nothing is captured any more"
    one.wiring.executable.write_bytes(b"older")
    assert executable_state(one.wiring.home).state == "advice"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("#!/bin/sh\necho 'mnemic-hook 0.1.9, spool format 1'\n", "mnemic-hook 0.1.9, spool format 1"),
        ("#!/bin/sh\nexit 0\n", "nothing"),
        ("no program", "nothing (OSError)"),
    ],
)
def test_a_hook_executable_of_another_version_is_named_by_it_with_one_remedy(
    tmp_path: Path, content: str, says: str
) -> None:
    one = user(tmp_path, "cursor", "plain")
    one.install()
    executable(one, content)
    seen = executable_state(one.wiring.home)
    assert seen.state == "advice"
    assert f"comes from another Mnemic than this one, {__version__}; mnemic-hook says: {says}" in seen.detail
    assert seen.remedy.endswith(" renews it.")
    assert seen.remedy.count("mnemic hooks install") == 1


def test_hooks_that_call_what_is_not_there_any_more_are_named_by_its_path(tmp_path: Path) -> None:
    one = user(tmp_path, "codex")
    one.install()
    other = User(one.host, make_wiring(tmp_path / "other", one.wiring.environment), one.record)
    (tmp_path / "other").mkdir()
    executable(other)
    seen = status(other)
    told = f"its hooks call {one.wiring.executable}, which is not there: they are silent, and keep nothing"
    assert told in seen.wrong
    assert (seen.state, seen.remedy.split()[:3]) == ("wrong", ["mnemic", "hooks", "install"])
