"""Two versions of Mnemic on one home, both complete and real: neither cuts the other off, nor reads what it cannot."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import OlderProcess
from mnemic.runtime.client.client import RemoteActorSystem
from mnemic.runtime.client.launcher import request_drain
from mnemic.runtime.client.unix_http import call, held_request
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.run_dir import PROTOCOL
from mnemic.runtime.store.schema import LATEST_SCHEMA
from mnemic.runtime.version import __version__
from tests.paths import FIXTURES
from tests.processes.another import AnotherMnemic
from tests.processes.faces import Outcome
from tests.processes.hosted import tool_call
from tests.processes.serving import Assistant, end, gone, info_of, ready
from tests.waiting import BOUND_S, until

pytestmark = pytest.mark.system

Command = Callable[..., Outcome]
ADDED = "CREATE TABLE extra(id INTEGER PRIMARY KEY) STRICT; INSERT INTO extra VALUES(1);"


@pytest.fixture
def home(tmp_path: Path, command: Command) -> Iterator[Path]:
    """A home with a mind in it; whoever serves it is ended."""
    assert command("init", "--home", tmp_path / "home").code == 0
    yield tmp_path / "home"
    end(tmp_path / "home")


class Hurried(SystemClock):
    """A clock on which time flies."""

    def monotonic_s(self) -> float:
        return 100 * super().monotonic_s()


def contents(folder: Path) -> dict[str, bytes]:
    """What stands in a mind's files, but for what SQLite keeps for those who have it open."""
    kept = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-shm", "lock")))
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


# --- the wire --------------------------------------------------------------------------------------------------------


def test_a_newer_process_is_refused_in_one_sentence_with_both_versions(
    home: Path, tmp_path: Path, command: Command
) -> None:
    newer = AnotherMnemic(tmp_path / "newer", "0.3.0", protocol=PROTOCOL + 1)
    with newer.start("serve", "--engine", "embedded", "--home", home) as process:
        info = ready(home)
        before = contents(home / "minds")
        refused = command("remember", "--home", home, "an otter")
        assert (refused.code, refused.out, refused.err.count("\n")) == (5, "", 1)
        told = f"Mnemic 0.3.0, is newer (protocol {PROTOCOL + 1}) than this command, Mnemic {__version__} "
        assert told in refused.err
        assert f"Update Mnemic here, or use the one it was started with; or end it: kill {info.pid}." in refused.err
        assert contents(home / "minds") == before
        seen = json.loads(command("doctor", "--json", "--home", home).out)["checks"]
        (check,) = [one for one in seen if one["name"] == "process"]
        assert check["state"] == "wrong"
        assert "Mnemic 0.3.0" in check["detail"]
        assert f"Mnemic {__version__}" in check["detail"]
        assert process.poll() is None
        process.kill()


def test_a_pipe_of_an_older_version_is_served_by_a_newer_process(home: Path, tmp_path: Path) -> None:
    newer = AnotherMnemic(tmp_path / "newer", "0.3.0", protocol=PROTOCOL + 1)
    with newer.start("serve", "--engine", "embedded", "--home", home) as process:
        ready(home)
        with Assistant(home) as assistant:
            assert assistant.tool(tool_call(2, "memory_capture", text="an otter under the pier"))["id"]
            assert assistant.close() == (0, [])
        process.kill()


def test_an_older_process_goes_on_until_nobody_waits_for_it_and_then_makes_room(
    home: Path, tmp_path: Path, command: Command
) -> None:
    older = AnotherMnemic(tmp_path / "older", "0.1.9", protocol=PROTOCOL - 1)
    with older.start("serve", "--on-demand", "--home", home) as process:
        info = ready(home)
        seen = json.loads(command("doctor", "--json", "--home", home).out)["checks"]
        (check,) = [one for one in seen if one["name"] == "process"]
        assert (check["state"], "Mnemic 0.1.9" in check["detail"]) == ("advice", True)
        headers = {"Mnemic-Protocol": str(PROTOCOL - 1), "Mnemic-Mind": "default", "Mnemic-Create": "0"}
        with held_request(info.http_socket, "/api/let-go", headers):  # work of others: a restore holds the mind so
            request_drain(info, "an older process")
            for _ in range(20):
                assert call(info.http_socket, "GET", "/healthz", b"", headers)["state"] == "ready"
            asking = RemoteActorSystem(home, "default", False, Hurried())
            told = r"Mnemic 0\.1\.9, is older .* and leaves as soon as nobody"
            with pytest.raises(OlderProcess, match=told) as caught:
                asking.report()
            assert caught.value.remedy_text == f"Try again in a moment; or end it: kill {process.pid}."
            assert process.poll() is None
        assert command("status", "--home", home).code == 0
        assert process.wait(BOUND_S) == 0
    after = info_of(home)
    assert after is None or (after.version, after.protocol) == (__version__, PROTOCOL)


# --- an installation that is replaced --------------------------------------------------------------------------------


def test_a_process_whose_installation_was_replaced_leaves_and_the_next_one_is_the_new_version(
    home: Path, tmp_path: Path
) -> None:
    installed = AnotherMnemic(tmp_path / "installed", __version__)
    with Assistant(home, env=installed.environment) as assistant:
        first = ready(home)
        assert (first.version, first.mode) == (__version__, "on-demand")
        installed.change("runtime/version.py", r'__version__ = ".*"', '__version__ = "0.2.9"')
        until(lambda: gone(first.pid))
        assert assistant.tool(tool_call(2, "memory_capture", text="kept by the new version"))["id"]
        assert ready(home).version == "0.2.9"
        assert assistant.close() == (0, [])


@pytest.mark.parametrize("engine", ["embedded", "ray"])
def test_a_process_in_the_foreground_starts_again_by_the_new_version(
    home: Path, tmp_path: Path, command: Command, engine: str
) -> None:
    installed = AnotherMnemic(tmp_path / "installed", __version__)
    with installed.start("serve", "--engine", engine, "--home", home) as process:
        assert ready(home).pid == process.pid
        installed.change("runtime/version.py", r'__version__ = ".*"', '__version__ = "0.2.9"')
        until(lambda: (info := info_of(home)) is not None and info.version == "0.2.9" and info.state == "ready")
        assert ready(home).pid == process.pid
        seen = json.loads(command("doctor", "--json", "--home", home).out)["checks"]
        (check,) = [one for one in seen if one["name"] == "process"]
        assert check["state"] == "advice"
        assert f"Mnemic 0.2.9; this command is Mnemic {__version__}" in check["detail"]
        assert check["remedy"].endswith(f"kill {process.pid}, and start `mnemic serve` again.")
        assert ", of Mnemic 0.2.9: `mnemic doctor` says what to do" in command("status", "--home", home).out
        process.terminate()
        assert process.wait(BOUND_S) == 0
    assert gone(process.pid)


# --- what is on the disk ---------------------------------------------------------------------------------------------


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A copy of what this version leaves."""
    shutil.copytree(FIXTURES / "releases" / __version__, tmp_path / "released")
    for path in (tmp_path / "released").rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    (tmp_path / "released").chmod(0o700)
    return tmp_path / "released"


def test_a_newer_version_migrates_a_mind_of_this_one_and_there_is_a_way_back(
    released: Path, tmp_path: Path, command: Command
) -> None:
    home, mind = released / "home", released / "home" / "minds" / "default"
    assert command("status", "--home", home).code == 0, "it has this version's schema"
    newer = AnotherMnemic(tmp_path / "newer", "0.3.0", protocol=PROTOCOL + 1, migrations=[ADDED])
    answered = newer.run("recall", "--home", home, "--scope", "*", "when does the last ferry leave")
    assert (answered.returncode, "at ten in the evening" in answered.stdout) == (0, True), answered.stderr
    assert newer.run("remember", "--home", home, "kept by the newer version").returncode == 0
    assert (mind / f"store.schema-{LATEST_SCHEMA}.db").exists()
    before = contents(mind)
    new = (("backup", tmp_path / "b"), ("export", tmp_path / "e"))
    for asked in (("recall", "ferry"), ("remember", "an otter"), *new):
        refused = command(*asked, "--home", home)
        assert (refused.code, refused.out, refused.err.count("\n")) == (3, "", 1), refused
        told = f"was written by a newer Mnemic (schema {LATEST_SCHEMA + 1}; this one knows {LATEST_SCHEMA})."
        assert told in refused.err
        assert "Update Mnemic" in refused.err
    assert contents(mind) == before
    assert not {"b", "e"} & set(os.listdir(tmp_path))
    for suffix in ("", "-wal", "-shm", "-mark"):  # as docs/upgrade.md says it
        (mind / f"store.db{suffix}").unlink(missing_ok=True)
    os.rename(mind / f"store.schema-{LATEST_SCHEMA}.db", mind / "store.db")
    back = command("log", "--home", home, "--scope", "*", "--json")
    assert (back.code, "at ten in the evening" in back.out, "newer version" in back.out) == (0, True, False)


def test_a_backup_and_an_export_of_a_newer_version_are_refused_and_nothing_is_made(
    released: Path, tmp_path: Path, command: Command
) -> None:
    newer = AnotherMnemic(tmp_path / "newer", "0.3.0", migrations=[ADDED])
    newer.change("runtime/transfer/export_format.py", r"^VERSION = 1$", "VERSION = 2")
    assert newer.run("backup", "--home", released / "home", tmp_path / "schema.mnemic").returncode == 0
    newer.change("runtime/transfer/backup.py", r"^VERSION = 1$", "VERSION = 2")
    assert newer.run("backup", "--home", released / "home", tmp_path / "form.mnemic").returncode == 0
    assert newer.run("export", "--home", released / "home", tmp_path / "export").returncode == 0
    key, home = released / "home" / "minds" / "default" / "key", tmp_path / "home"
    for asked, told in (
        (
            ("restore", tmp_path / "schema.mnemic", "--key-file", key),
            f"(schema {LATEST_SCHEMA + 1}; this one knows {LATEST_SCHEMA})",
        ),
        (("restore", tmp_path / "form.mnemic", "--key-file", key), "(backup 2; this one knows 1)"),
    ):
        refused = command(*asked, "--home", home)
        assert (refused.code, refused.out, refused.err.count("\n")) == (3, "", 1), refused
        assert told in refused.err
        assert str(asked[1]) in refused.err
        assert not list(home.glob("minds/*"))
    refused = command("restore", tmp_path / "form.mnemic", "--key-file", key, "--home", home, "--json")
    assert json.loads(refused.out)["code"] == "newer_schema"
    assert command("init", "--home", home).code == 0
    before = contents(home)
    refused = command("import", tmp_path / "export", "--home", home)
    assert (refused.code, refused.out) == (2, "")
    assert "a newer Mnemic wrote it (version 2; this one knows 1)" in refused.err
    assert "Update Mnemic; nothing was changed." in refused.err
    assert contents(home) == before


def test_what_a_newer_hook_has_sealed_is_left_whole_and_named(released: Path, command: Command) -> None:
    home = released / "home"
    (file,) = (home / "minds" / "default" / "spool").glob("*.spool")
    written = bytearray(file.read_bytes())
    written[7] = 2
    written[44:48] = zlib.crc32(written[:44]).to_bytes(4, "little")
    file.write_bytes(written)
    assert command("remember", "an otter", "--home", home).code == 0
    assert file.read_bytes() == written
    seen = command("doctor", "--json", "--home", home)
    assert seen.code == 1
    (check,) = [one for one in json.loads(seen.out)["checks"] if one["state"] == "wrong"]
    assert f"{file.name} in {file.parent} is sealed to another key, or by a newer version" in check["detail"]
    assert file.read_bytes() == written
