"""A backup is an orphan where nothing that opens its mind opens it; which a rekey makes so is known before."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from mnemic.actors.protocol.changes import RecordBackup
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.doctor.backups import check_backups
from mnemic.runtime.doctor.checks import Check
from mnemic.runtime.files.atomic_replace import lock_exclusive
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind, read_key_header
from mnemic.runtime.minds.rekey import add_recovery_slot, rekey_mind, replace_key_file
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from mnemic.runtime.transfer.backup import write_backup
from mnemic.runtime.transfer.orphans import backups_to_orphan, orphaned_backups
from tests.runtime.building import apply, memory
from tests.runtime.targets import target_of

CLOCK = SystemClock()


def a_mind(home: Path, name: str = "default") -> tuple[MindFolder, Keys]:
    create_mind(home, name, CLOCK, recovery=b"r" * 32)
    folder, keys = open_mind(home, name)
    with closing(Store.open(folder.store, keys)) as store:
        apply(store, memory(1))
    return folder, keys


def backed_up(folder: MindFolder, keys: Keys, path: Path, passphrase: str | None = None) -> str:
    """A backup of a mind, and that the mind knows where it is."""
    write_backup(path, folder, keys, mind="default", mnemic="0.1.0", made_at=5, passphrase=passphrase)
    with closing(Store.open(folder.store, keys)) as store:
        apply(store, RecordBackup(path=str(path), what="backup", size_bytes=1))
    return str(path)


def orphans(folder: MindFolder, keys: Keys) -> list[str]:
    with closing(connect(folder.store, keys)) as connection:
        return orphaned_backups(connection, read_key_header(folder))


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
    assert backups_to_orphan(folder, keys, read_key_header(folder)) == [first]
    new = rekeyed(folder, keys)
    second = backed_up(folder, new, tmp_path / "second.bak")
    assert orphans(folder, new) == [first]
    assert backups_to_orphan(folder, new, read_key_header(folder)) == [second], "the other one is an orphan already"
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
    assert backups_to_orphan(folder, keys, read_key_header(folder)) == sorted([gone, text, other])
    Path(gone).unlink()
    Path(text).write_bytes(b"something else")
    shutil.copy(another, other)
    assert backups_to_orphan(folder, keys, read_key_header(folder)) == []
    new = rekeyed(folder, keys)
    assert orphans(folder, new) == []
