"""A mind that is sealed anew is the same mind with another key; killed at any moment, it is the old or the new one."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemic.actors.kernel.errors import DamagedStore, KeyMismatch, MindLocked, Rekeyed, WrongRecoveryKey
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.files.atomic_replace import lock_exclusive
from mnemic.runtime.keys import key_slots
from mnemic.runtime.keys.key_slots import format_recovery_key
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds import homes
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.minds.rekey import add_recovery_slot, rekey_mind, replace_key_file
from mnemic.runtime.spool.files import measure_backlog, read_losses
from mnemic.runtime.spool.spool import Spool
from mnemic.runtime.store.schema import connect, copy_database
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import add_encoder, apply, child, files_of, finish, held, vectors
from tests.runtime.spooling import drain, file_header, frames, record

CLOCK = SystemClock()
SECRET = b"the shelf holds nine books and a secret"
RECOVERY = b"r" * 32


def a_mind(home: Path, fence: str | None = None) -> tuple[MindFolder, Keys]:
    """A mind that holds words, vectors and a writer's fence."""
    create_mind(home, "default", CLOCK, recovery=RECOVERY)
    folder, keys = open_mind(home, "default")
    with closing(Store.open(folder.store, keys, fence=fence)) as store:
        apply(store, added(1, SECRET), added(2, SECRET * 99), add_encoder())
        apply(store, vectors(1, total=len(SECRET)))
    return folder, keys


def resealed(folder: MindFolder, keys: Keys, **more: Any) -> Keys:
    with lock_exclusive(folder.path):
        return rekey_mind(folder, keys, **more)


def test_a_recovery_key_that_is_added_leaves_all_else_as_it_is(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    before = files_of(folder.path)
    with lock_exclusive(folder.path):
        add_recovery_slot(folder, keys, b"s" * 32)
    changed = {name for name, data in files_of(folder.path).items() if before.get(name) != data}
    assert changed == {"mind.json", "mind.json.copy"}
    for key in (RECOVERY, b"s" * 32):
        assert open_mind(tmp_path, "default", format_recovery_key(key))[1].secrets == keys.secrets
    new = resealed(folder, keys)
    with lock_exclusive(folder.path), pytest.raises(Rekeyed):
        add_recovery_slot(folder, keys, b"t" * 32)
    assert open_mind(tmp_path, "default")[1].secrets == new.secrets


def test_all_that_a_mind_holds_is_there_with_another_key(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path, fence="serve")
    before, files, header = held(folder.store, keys), files_of(folder.path), folder.key_header.read_bytes()
    with closing(connect(folder.store, keys)) as db:
        fences = db.execute("SELECT * FROM fences").fetchall()
    new = resealed(folder, keys)
    assert open_mind(tmp_path, "default")[1].secrets == new.secrets
    assert held(folder.store, new) == before
    with closing(connect(folder.store, new)) as db:
        assert db.execute("SELECT * FROM fences").fetchall() == fences != []
    assert new.identity_hash()(b"a") == keys.identity_hash()(b"a")
    assert new.seed == keys.seed
    after = files_of(folder.path)
    assert after.keys() == files.keys() - {"store.db-mark"}, "the next to open it makes that"
    changed = {name for name in after if after[name] != files[name]}
    assert changed == {"key", "mind.json", "mind.json.copy", "spool.json", "store.db"}
    assert folder.key_header.read_bytes() != header


def test_what_opened_a_mind_before_opens_it_no_more(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    old_file = folder.key.read_bytes()
    new = resealed(folder, keys)
    with pytest.raises(WrongRecoveryKey, match="has no recovery key"):
        open_mind(tmp_path, "default", format_recovery_key(RECOVERY))
    with pytest.raises(Rekeyed):
        connect(folder.store, keys)
    folder.key.write_bytes(old_file)
    with pytest.raises(KeyMismatch):
        open_mind(tmp_path, "default")
    with closing(connect(folder.store, new)):
        assert True


def test_a_passphrase_takes_the_place_of_the_key_file_and_back(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    before = held(folder.store, keys)
    resealed(folder, keys, passphrase="nine books on a shelf", recovery=RECOVERY)
    assert not folder.key.exists()
    with pytest.raises(MindLocked):
        open_mind(tmp_path, "default")
    locked = open_mind(tmp_path, "default", "nine books on a shelf")[1]
    assert open_mind(tmp_path, "default", format_recovery_key(RECOVERY))[1].check == locked.check
    resealed(folder, locked)
    again = open_mind(tmp_path, "default")[1]
    assert held(folder.store, again) == before


def test_what_a_hook_sealed_just_before_is_still_taken_in(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    old = keys.spool_public()
    one = record(1, b"said before")
    written = folder.spool / "0.spool"
    written.write_bytes(file_header(1, old) + b"".join(frames(one, public=old)))
    new = resealed(folder, keys)
    another = resealed(folder, new)
    assert measure_backlog(folder.spool, {}).files == 1
    assert read_losses(folder.spool).foreign == ()
    assert drain(Spool(folder.spool, another.spool_private, CLOCK, another.earlier_spool_privates))[0] == [one]
    assert drain(Spool(folder.spool, another.spool_private, CLOCK))[0] == []


def test_a_key_that_somebody_changed_meanwhile_changes_nothing(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    resealed(folder, keys)
    before = files_of(folder.path)
    with pytest.raises(Rekeyed):
        resealed(folder, keys)
    assert files_of(folder.path) == before


def test_a_store_with_a_page_that_cannot_be_read_stays_as_it_is(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    data = bytearray(folder.store.read_bytes())
    middle = len(data) // 2 // 4096 * 4096 + 99
    data[middle : middle + 64] = bytes(64)
    folder.store.write_bytes(data)
    before = files_of(folder.path)
    with pytest.raises(DamagedStore):
        resealed(folder, keys)
    assert files_of(folder.path) == before


def test_a_lost_key_file_is_written_anew_and_nothing_else_changes(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    old_file = folder.key.read_bytes()
    folder.key.unlink()
    with lock_exclusive(folder.path):
        replace_key_file(folder, open_mind(tmp_path, "default", format_recovery_key(RECOVERY))[1])
    assert open_mind(tmp_path, "default")[1].secrets == keys.secrets
    assert folder.key.read_bytes() != old_file
    assert open_mind(tmp_path, "default", format_recovery_key(RECOVERY))[1].secrets == keys.secrets


def test_no_key_file_is_written_for_keys_that_the_mind_has_no_more(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    resealed(folder, keys)
    before = files_of(folder.path)
    with pytest.raises(Rekeyed), lock_exclusive(folder.path):
        replace_key_file(folder, keys)
    assert files_of(folder.path) == before


def test_a_mind_that_is_sealed_anew_while_it_is_opened_is_opened_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, keys = a_mind(tmp_path)
    make, done = homes.ensure_spool, []

    def late(into: MindFolder, found: Keys) -> None:
        if not done:
            done.append(resealed(folder, keys))
        make(into, found)

    monkeypatch.setattr(homes, "ensure_spool", late)
    assert open_mind(tmp_path, "default")[1].check == done[0].check
    assert folder.spool_config.read_bytes() == homes.spool_config_bytes(done[0])
    assert folder.key_header_copy.read_bytes() == folder.key_header.read_bytes()


def test_a_copy_between_keys_is_never_in_clear(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    with closing(connect(folder.store, keys)) as db:
        copy_database(db, tmp_path / "copy.db", keys.with_new_root())
    copied = (tmp_path / "copy.db").read_bytes()
    assert SECRET not in copied
    assert b"SQLite format 3" not in copied
    with closing(apsw.Connection(str(tmp_path / "copy.db"))) as plain, pytest.raises(apsw.NotADBError):
        plain.execute("SELECT * FROM sqlite_schema")


# --- kills -----------------------------------------------------------------------------------------------------------


def kill_at(home: str, copies: str) -> None:
    """In a process: rekey copies of a home, each by a child that is killed at another of its steps; prints how many."""
    key_slots.SCRYPT = (1 << 4, 8, 1)
    at = 0
    while True:
        copy = Path(copies) / str(at)
        shutil.copytree(home, copy)
        pid = os.fork()
        if not pid:
            _rekey_until(copy, at)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            print(at)
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
        at += 1


def _rekey_until(home: Path, at: int) -> None:
    folder, keys = open_mind(home, "default")
    seen = 0

    def step(event: str, arguments: tuple[Any, ...]) -> None:
        """Die just before the step of that number, of those that change what is on disk."""
        nonlocal seen
        if event not in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"):
            return
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            return
        if seen == at:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    with lock_exclusive(folder.path):
        sys.addaudithook(step)
        rekey_mind(folder, keys, passphrase="nine books on a shelf")


def test_killed_at_any_step_a_mind_is_the_old_one_or_the_new_one_and_never_in_clear(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path / "home")
    before = held(folder.store, keys)
    kills = int(finish(child("runtime.minds.test_rekey:kill_at", tmp_path / "home", tmp_path)))
    assert kills >= 10
    outcomes = []
    for at in range(kills + 1):
        home = tmp_path / str(at)
        assert not any(SECRET in data for data in files_of(home).values())
        try:
            after, found = open_mind(home, "default")
        except MindLocked:
            after, found = open_mind(home, "default", "nine books on a shelf")
            assert not after.key.exists()
        assert held(after.store, found) == before
        assert not (after.path / ".swap").exists()
        outcomes.append(found.check == keys.check)
    assert outcomes == sorted(outcomes, reverse=True), "old up to one step, and new from then on"
    assert outcomes[0]
    assert not outcomes[-1]
    assert outcomes.count(False) > 2, "steps after the decision were killed too"


def test_after_a_kill_the_next_try_goes_through(tmp_path: Path) -> None:
    folder, keys = a_mind(tmp_path)
    (folder.path / ".next").mkdir()
    (folder.path / ".next" / "store.db").write_bytes(b"half a copy")
    new = resealed(folder, keys)
    assert open_mind(tmp_path, "default")[1].check == new.check
    assert not (folder.path / ".next").exists()
