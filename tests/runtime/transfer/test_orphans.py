"""A backup is an orphan where nothing that opens its mind opens it; which a rekey makes so is known before."""

from __future__ import annotations

import errno
import json
import shutil
import zipfile
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import pytest

from mnemic.actors.transfer.changes import RecordBackup
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.doctor.backups import check_backups
from mnemic.runtime.doctor.checks import Check
from mnemic.runtime.files.atomic_replace import lock_exclusive
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind, read_key_header
from mnemic.runtime.minds.rekey import add_recovery_slot, rekey_mind, replace_key_file
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from mnemic.runtime.transfer import backup
from mnemic.runtime.transfer.backup import write_backup
from mnemic.runtime.transfer.orphans import Orphans, UnreadBackup, backups_to_orphan, orphaned_backups
from tests.built import added
from tests.runtime.building import apply
from tests.runtime.targets import target_of

CLOCK = SystemClock()


def a_mind(home: Path, name: str = "default") -> tuple[MindFolder, Keys]:
    create_mind(home, name, CLOCK, recovery=b"r" * 32)
    folder, keys = open_mind(home, name)
    with closing(Store.open(folder.store, keys)) as store:
        apply(store, added(1))
    return folder, keys


def backed_up(folder: MindFolder, keys: Keys, path: Path, passphrase: str | None = None) -> str:
    """A backup of a mind, and that the mind knows where it is."""
    write_backup(path, folder, keys, mind="default", mnemic="0.1.0", made_at=5, passphrase=passphrase)
    with closing(Store.open(folder.store, keys)) as store:
        apply(store, RecordBackup(path=str(path), what="backup", size_bytes=1))
    return str(path)


def orphans(folder: MindFolder, keys: Keys) -> list[str]:
    with closing(connect(folder.store, keys)) as connection:
        return list(orphaned_backups(connection, read_key_header(folder)).orphaned)


def to_orphan(folder: MindFolder, keys: Keys) -> list[str]:
    return list(backups_to_orphan(folder, keys, read_key_header(folder)).orphaned)


def rekeyed(folder: MindFolder, keys: Keys) -> Keys:
    with lock_exclusive(folder.path):
        return rekey_mind(folder, keys)


def said_by_the_doctor(home: Path, keys: Keys) -> Check:
    target = target_of(home, keys=keys)
    target.states["store"] = "ok"
    (check,) = check_backups(target)
    return check


def test_a_rekey_orphans_the_backups_from_before_and_a_recovery_key_that_is_added_none(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path / "home")
    first = backed_up(folder, keys, tmp_path / "first.bak")
    with lock_exclusive(folder.path):
        add_recovery_slot(folder, keys, b"s" * 32)
    with lock_exclusive(folder.path):
        replace_key_file(folder, keys)  # of before, its recovery key opens it still
    assert orphans(folder, keys) == []
    assert said_by_the_doctor(tmp_path / "home", keys).state == "ok"
    assert to_orphan(folder, keys) == [first]
    new = rekeyed(folder, keys)
    second = backed_up(folder, new, tmp_path / "second.bak")
    assert orphans(folder, new) == [first]
    assert to_orphan(folder, new) == [second], "the other one is an orphan already"
    told = said_by_the_doctor(tmp_path / "home", new)
    assert told.state == "advice"
    assert first in told.detail
    assert second not in told.detail


def test_what_has_a_passphrase_of_its_own_or_is_gone_or_is_another_minds_is_no_orphan(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path / "home")
    backed_up(folder, keys, tmp_path / "own.bak", passphrase="nine books on a shelf")
    gone = backed_up(folder, keys, tmp_path / "gone.bak")
    text = backed_up(folder, keys, tmp_path / "text.bak")
    other = backed_up(folder, keys, tmp_path / "other.bak")
    another = backed_up(*a_mind(tmp_path / "home", "another"), tmp_path / "another.bak")
    assert to_orphan(folder, keys) == sorted([gone, text, other])
    Path(gone).unlink()
    Path(text).write_bytes(b"something else")
    shutil.copy(another, other)
    assert to_orphan(folder, keys) == []
    new = rekeyed(folder, keys)
    assert orphans(folder, new) == []


@pytest.mark.parametrize(
    ("raised", "why"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "Permission denied"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (OSError(errno.ESTALE, "Stale file handle"), "Stale file handle"),
    ],
)
def test_a_backup_that_cannot_be_read_just_now_is_named_with_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: OSError, why: str
) -> None:
    folder, keys = a_mind(tmp_path / "home")
    path = backed_up(folder, keys, tmp_path / "away.bak")
    assert said_by_the_doctor(tmp_path / "home", keys).state == "ok"

    def fails(path: Path) -> BinaryIO:
        raise raised

    monkeypatch.setattr(backup, "open_regular", fails)
    found = backups_to_orphan(folder, keys, read_key_header(folder))
    assert found == Orphans(unread=(UnreadBackup(path=path, why=why),))
    told = said_by_the_doctor(tmp_path / "home", keys)
    assert (told.state, told.detail) == ("advice", f"1 backup that cannot be looked into: {path} ({why})")


def test_a_read_that_fails_within_the_archive_is_no_sign_of_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, keys = a_mind(tmp_path / "home")
    backed_up(folder, keys, tmp_path / "away.bak")

    def fails(file: BinaryIO) -> None:
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(backup.zipfile, "ZipFile", fails)
    (unread,) = backups_to_orphan(folder, keys, read_key_header(folder)).unread
    assert unread.why == "Stale file handle"


def test_a_backup_that_a_newer_version_made_is_named_and_a_folder_in_its_place_is_none(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path / "home")
    newer, gone = (backed_up(folder, keys, tmp_path / name) for name in ("newer.bak", "was.bak"))
    Path(gone).unlink()
    Path(gone).mkdir()
    with zipfile.ZipFile(newer, "w") as archive:
        archive.writestr("backup.json", json.dumps({"format": "mnemic-backup", "version": 1000}))
    found = backups_to_orphan(folder, keys, read_key_header(folder))
    assert [one.path for one in found.unread] == [newer]
    assert "newer Mnemic" in found.unread[0].why
    assert found.orphaned == ()


def test_where_all_that_opens_the_mind_goes_on_opening_it_no_backup_is_looked_into(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path / "home")
    backed_up(folder, keys, tmp_path / "a.bak")
    header = read_key_header(folder)
    with lock_exclusive(folder.path):
        add_recovery_slot(folder, keys, b"s" * 32)
    more = read_key_header(folder)
    assert backups_to_orphan(folder, keys, header, more) == Orphans()
    assert backups_to_orphan(folder, keys, more, header) == Orphans(), "the key file opens it before and afterwards"
