"""`mnemic service`: what would be written is shown, what is written goes again, and what is wrong with it is said.

No manager is there: with a real one, tests/system/test_service.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes.faces import Outcome
from tests.processes.users import everything

Command = Callable[..., Outcome]

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="units of systemd are not for macOS")


@pytest.fixture(autouse=True)
def _no_manager(monkeypatch: pytest.MonkeyPatch, user: Path) -> None:
    monkeypatch.setenv("PATH", str(user))


def units(user: Path) -> list[Path]:
    return sorted((user / ".config" / "systemd" / "user").glob("mnemic-*"))


def checks(command: Command, home: Path) -> list[tuple[str, str]]:
    """What the doctor says of the service."""
    seen = command("doctor", "--home", home, "--json").json["checks"]
    return [(one["state"], one["detail"]) for one in seen if one["name"] == "service"]


def test_nothing_is_written_unless_it_is_applied(command: Command, user: Path, home: Path) -> None:
    shown = command("service", "install", "--home", home, "--diff")
    assert shown.code == 0
    assert "+Restart=on-failure" in shown.out
    assert shown.out.splitlines()[-1] == "nothing was written; --apply does it"
    assert everything(user) == {}
    assert command("service", "status", "--home", home).out.startswith("no service is installed for this home")
    assert command("service", "uninstall", "--home", home).out == "no service is installed for this home\n"
    assert checks(command, home) == []


def test_without_a_manager_the_units_are_written_and_it_is_said_what_to_run(
    command: Command, user: Path, home: Path
) -> None:
    done = command("service", "install", "--home", home, "--apply")
    assert done.code == 1  # done in part
    service, socket = units(user)
    assert "not run: systemctl is not on this machine; run this once systemd answers:" in done.out
    assert done.out.splitlines()[-1] == f"  systemctl --user enable --now {socket.name}"
    assert [path.stat().st_mode & 0o777 for path in (service, socket)] == [0o600, 0o600]
    again = command("service", "install", "--home", home, "--json").json
    assert [file["change"] for file in again["files"]] == ["unchanged", "unchanged"]
    seen = command("service", "status", "--home", home, "--json").json
    assert (seen["state"], seen["program"], seen["process"]) == ("unknown", sys.executable, None)
    assert set(seen["files"].values()) == {"as written"}
    assert [state for state, _ in checks(command, home)] == ["advice"]


def test_a_unit_of_another_version_and_one_whose_program_is_gone_are_named(
    command: Command, user: Path, home: Path
) -> None:
    command("service", "install", "--home", home, "--apply")
    service, _ = units(user)
    written = service.read_text("utf-8")
    service.write_text(written.replace("RestartSec=5", "RestartSec=1"), "utf-8")
    seen = command("service", "status", "--home", home)
    assert (seen.code, "differs" in seen.out) == (0, True)
    assert (
        f"{service.stem} is not what this version of Mnemic writes -> Run `mnemic service install --apply`." in seen.out
    )
    service.write_text(written.replace(sys.executable, "/gone/python"), "utf-8")
    seen = command("service", "status", "--home", home)
    assert (seen.code, "starts /gone/python, which is not there any more" in seen.out) == (1, True)
    assert ("wrong", f"{service.stem} starts /gone/python, which is not there any more") in checks(command, home)
    command("service", "install", "--home", home, "--apply")
    assert service.read_text("utf-8") == written


def test_a_unit_that_mnemic_did_not_write_is_neither_replaced_nor_removed(
    command: Command, user: Path, home: Path
) -> None:
    command("service", "install", "--home", home, "--apply")
    service, socket = units(user)
    service.write_text("[Service]\nExecStart=/bin/true\n", "utf-8")
    held = everything(user)
    refused = command("service", "install", "--home", home, "--apply")
    assert refused.code == 2
    assert "Mnemic did not write it" in refused.err
    assert everything(user) == held
    command("service", "uninstall", "--home", home, "--apply")
    assert (service.exists(), socket.exists()) == (True, False)


@pytest.mark.parametrize("words", [("service", "uninstall", "--apply"), ("uninstall", "--yes")])
def test_uninstalling_leaves_nothing_not_even_the_link_that_enables_it(
    command: Command, user: Path, home: Path, words: tuple[str, ...]
) -> None:
    command("service", "install", "--home", home, "--apply")
    _, socket = units(user)
    link = socket.parent / "sockets.target.wants" / socket.name
    link.parent.mkdir()
    link.symlink_to(socket)
    planned = command("uninstall", "--home", home)
    assert f"the service {socket.stem} would be stopped and removed" in planned.out
    assert len(units(user)) == 2
    done = command(*words, "--home", home)
    assert done.code == 1  # its manager was not told
    assert f"  systemctl --user stop {socket.name}" in done.out
    assert "  systemctl --user daemon-reload\n" in done.out
    assert everything(user) == {}
    assert not link.is_symlink()
