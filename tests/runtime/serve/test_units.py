"""What systemd and launchd are told: any home's path comes back as it was, and a home has its own unit."""

from __future__ import annotations

import plistlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidValue
from mnemic.runtime.minds.homes import default_home
from mnemic.runtime.serve.units import is_own, make_service, program_of

USER = {"HOME": "/home/ada"}
COMMAND = [sys.executable, "-P", "-m", "mnemic", "serve", "--home"]
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cc",), exclude_characters="/"), min_size=1).filter(
    lambda name: name not in (".", "..")
)
PLACES = ("linux", "darwin")
AGENT: dict[str, type] = {
    "Label": str,
    "ProgramArguments": list,
    "RunAtLoad": bool,
    "KeepAlive": dict,
    "ThrottleInterval": int,
    "Umask": int,
    "StandardErrorPath": str,
}
"""Keys of launchd.plist(5), and what each holds there."""


def words_of(line: str) -> list[str]:
    """The words of a command line in a unit, by the rules of systemd.syntax(7): quotes, C escapes, and %% for %."""
    words, at = [], 0
    while at < len(line):
        if line[at] == " ":
            at += 1
            continue
        word, quoted = "", False
        while at < len(line) and (quoted or line[at] != " "):
            if line[at] == '"':
                quoted = not quoted
            elif line[at] == "\\":
                at += 1
                word += {"\\": "\\", '"': '"'}[line[at]]
            else:
                word += line[at]
            at += 1
        words.append(re.sub("%(.)", lambda found: {"%": "%"}[found[1]], word))
    return words


def told(content: bytes, key: str) -> str:
    """The value of a key in a unit."""
    return re.findall(rf"^{key}=(.*)$", content.decode(), re.MULTILINE)[0]


@given(NAMES)
def test_systemd_reads_the_command_of_any_home(name: str) -> None:
    home = Path("/srv") / name
    service, *rest = make_service(home, USER, "linux").files
    said = told(service.content, "ExecStart")
    assert said[0] == ":"  # nothing is put in place of a $
    assert words_of(said[1:]) == [*COMMAND, str(home)]
    assert all(told(one.content, "ListenStream").replace("%%", "%") == f"{home}/run/service.sock" for one in rest)


@given(NAMES)
def test_launchd_reads_the_command_of_any_home_and_knows_every_key(name: str) -> None:
    home = Path("/srv") / name
    (file,) = make_service(home, USER, "darwin").files
    agent: dict[str, Any] = plistlib.loads(file.content)
    assert agent["ProgramArguments"] == [*COMMAND, str(home)]
    assert agent["Label"] == file.path.stem
    assert file.path.parent == Path("/home/ada/Library/LaunchAgents")
    assert {key: type(value) for key, value in agent.items()} == AGENT
    assert agent["KeepAlive"] == {"SuccessfulExit": False}


@pytest.mark.parametrize("platform", PLACES)
def test_a_home_has_its_own_service_and_the_usual_one_the_plain_name(platform: str) -> None:
    usual, one, other = (make_service(home, USER, platform) for home in (default_home({}), Path("/a"), Path("/b")))
    assert usual.name == {"linux": "mnemic", "darwin": "dev.mnemic.serve"}[platform]
    assert len({usual.name, one.name, other.name}) == 3
    assert one.name.startswith(f"{usual.name}-")
    assert one == make_service(Path("/a"), USER, platform)


@pytest.mark.parametrize("platform", PLACES)
def test_what_was_written_is_known_again_and_what_others_wrote_is_not(platform: str) -> None:
    service = make_service(Path("/a"), USER, platform)
    assert all(is_own(service, file.content) for file in service.files)
    assert program_of(service, service.files[0].content) == sys.executable
    for others in (b"", b"[Service]\nExecStart=/bin/true\n", plistlib.dumps({"Label": "x"}), plistlib.dumps([])):
        assert not is_own(service, others)
        assert program_of(service, others) is None


def test_units_lie_where_the_users_configuration_is() -> None:
    def folder(**more: str) -> str:
        return str(make_service(Path("/a"), USER | more, "linux").files[0].path.parent)

    assert folder() == folder(XDG_CONFIG_HOME="not/absolute") == "/home/ada/.config/systemd/user"
    assert folder(XDG_CONFIG_HOME="/x") == "/x/systemd/user"


def test_a_home_too_deep_for_a_socket_has_a_process_from_login_on() -> None:
    service = make_service(Path(f"/{'d' * 100}"), USER, "linux")
    assert [file.path.suffix for file in service.files] == [".service"]
    assert service.entry == f"{service.name}.service"
    assert service.start[-1][-1] == service.entry
    assert make_service(Path("/d"), USER, "linux").entry.endswith(".socket")


@pytest.mark.parametrize(
    ("home", "environment", "why"),
    [
        ("/a\nExecStart=/bin/sh", USER, "control character"),
        ("/\udcff", USER, "not UTF-8"),
        ("/a", {}, "where your services are"),
    ],
)
def test_what_no_unit_can_hold_is_refused(home: str, environment: dict[str, str], why: str) -> None:
    for platform in PLACES:
        with pytest.raises(InvalidValue, match=why):
            make_service(Path(home), environment, platform)


def test_a_python_that_systemd_would_not_start_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/home/ada/it's/python")
    with pytest.raises(InvalidValue, match="a quote or a backslash"):
        make_service(Path("/a"), USER, "linux")
