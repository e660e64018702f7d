"""What is Mnemic's in a home goes, file by file; what anybody else keeps there stays, whatever folder it is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.cli.hooks.uninstall import (
    erase_data,
    mnemic_files,
    mnemic_folders,
    remaining_files,
    require_home,
)
from mnemic.errors import InvalidValue
from mnemic.hooks.wire.commands import ASSISTANTS
from mnemic.hooks.wire.record import InstallRecord
from mnemic.runtime.capture.hook_files import install_hook_files
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.run_dir import RunDir, ServerInfo
from mnemic.runtime.serve.http.tcp import new_token

CLOCK = SystemClock()
FOREIGN = (
    "mine.txt",
    "server.log",
    "mnemic.log.old",
    "models/one.bin",
    "bin/mytool",
    "backups/tax.tar",
    "backups/20260101-notes.txt",
    "run/mine.pid",
    "run/ray/mine",
    "minds/notes.txt",
    "minds/theirs/key",
    "minds/theirs/store.db",
    "minds/default/notes.txt",
    "minds/default/store.db.mine",
    "minds/default/spool/mine.spool",
    "minds/default/spool/aside/mine.spool",
)
WRITTEN = (
    "mnemic.toml",
    "trusted-folders.json",
    ".trusted-folders.json-0a0a0a0a0a0a0a0a",
    "mnemic.log",
    "mnemic.log.3",
    "serve.log",
    "run/serve.lock",
    "run/serve.err",
    "run/drain.lock",
    "run/start.lock",
    "run/hook-start",
    "run/http.sock",
    "bin/.mnemic-hook.new",
    "minds/.new-abc/key",
    "minds/default/store.db-wal",
    "minds/default/lock",
    "minds/default/mind.json.copy",
    "minds/default/.mind.json.copy-0a0a0a0a0a0a0a0a",
    "minds/default/.next/store.db",
    "minds/default/.swap/swap.json",
    "minds/default/pauses",
    "minds/default/store.schema-3.db",
    "minds/default/.store.schema-3.db-journal",
    f"minds/default/spool/{'0a' * 16}.spool",
    f"minds/default/spool/{'0a' * 16}.2.spool",
    f"minds/default/spool/.new-{'0a' * 16}",
    f"minds/default/spool/aside/{'0a' * 16}.spool",
)


def put(home: Path, *paths: str) -> set[Path]:
    for path in paths:
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text("something", "utf-8")
    return {home / path for path in paths}


def files(home: Path) -> set[Path]:
    return {path for path in home.rglob("*") if not path.is_dir()}


@pytest.fixture
def lived_in(home: Path) -> Path:
    """A home with all that is ever written to one."""
    install_hook_files(home, "default", CLOCK)
    install_hook_files(home, "work", CLOCK)
    RunDir(home).prepare()
    RunDir(home).publish(ServerInfo(protocol=0, pid=0, folder=str(home / "run")))
    new_token(home / "http-token")
    record = InstallRecord(home, CLOCK)
    for assistant in ASSISTANTS:
        for path in (Path(".claude.json"), Path("mnemic.js")):
            record.save_backup(assistant, path, b"{}")
    put(home, *WRITTEN)
    return home


def test_of_a_home_that_is_mnemics_alone_nothing_is_left(lived_in: Path) -> None:
    assert set(mnemic_files(lived_in)) == files(lived_in)
    erase_data(lived_in)
    assert not lived_in.exists()


def test_what_others_keep_in_any_of_its_folders_stays(lived_in: Path) -> None:
    foreign = put(lived_in, *FOREIGN)
    sizes = dict(remaining_files(lived_in))
    assert sizes[lived_in / "bin"] == sum(
        one.stat().st_size for one in mnemic_files(lived_in) if one.parent.name == "bin"
    )
    removed, stays = erase_data(lived_in)
    assert files(lived_in) == foreign
    assert lived_in / "mnemic.toml" in removed
    assert stays == sorted({lived_in / path.relative_to(lived_in).parts[0] for path in foreign})
    assert not set(stays) & set(removed)
    assert list(remaining_files(lived_in)) == []
    with pytest.raises(InvalidValue):
        require_home(lived_in)


def test_a_folder_that_nobody_made_a_home_is_refused_and_nothing_in_it_is_known(tmp_path: Path) -> None:
    put(
        tmp_path,
        "bin/mytool",
        "bin/mnemic",
        "bin/mnemic-hook",
        "backups/tax.tar",
        "models/m",
        "server.log",
        "minds/a/key",
    )
    with pytest.raises(InvalidValue, match="it holds no mind that Mnemic made, and nothing that an install left"):
        require_home(tmp_path)
    assert mnemic_files(tmp_path) == []
    with pytest.raises(InvalidValue):
        require_home(tmp_path / "nowhere")


def test_keys_go_first_and_what_a_home_is_known_by_goes_last(lived_in: Path) -> None:
    order = [path.name for path in mnemic_files(lived_in)]
    assert order[:3] == ["key"] * 3
    assert order[-2:] == ["mind.json"] * 2
    for path in mnemic_files(lived_in)[:-1]:
        path.unlink()
    require_home(lived_in)
    erase_data(lived_in)
    assert files(lived_in) == set()


def test_a_link_is_removed_and_what_it_leads_to_is_not(lived_in: Path, tmp_path: Path) -> None:
    (theirs,) = put(tmp_path, "theirs.toml")
    (lived_in / "mnemic.toml").unlink()
    (lived_in / "mnemic.toml").symlink_to(theirs)
    (lived_in / "bin" / "mnemic").unlink()
    (lived_in / "bin" / "mnemic").symlink_to(theirs)
    erase_data(lived_in)
    assert theirs.exists()
    assert files(lived_in) == {lived_in / "bin" / "mnemic"}
    assert mnemic_folders(lived_in)[-1] == lived_in
