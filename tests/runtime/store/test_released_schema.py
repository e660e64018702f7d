"""The schema of a release is never edited, and what follows is a migration: sealed copy first, whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.errors import DiskFull
from mnemic.runtime.minds.run_dir import PROTOCOL
from mnemic.runtime.store import schema
from mnemic.runtime.store.schema import LATEST_SCHEMA, MIGRATIONS, connect, migrate
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.disks import fill_up, own_disk
from tests.runtime.building import KEYS, apply, child, finish, held
from tests.waiting import BOUND_S

NOW = LATEST_SCHEMA
COPY = f"store.schema-{NOW}.db"
ADDED = "CREATE TABLE extra(id INTEGER PRIMARY KEY) STRICT; INSERT INTO extra VALUES(1);"
NEXT = (*MIGRATIONS, ADDED)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of the newest schema with something in it, closed."""
    with closing(Store.create(tmp_path / "store.db", KEYS)) as store:
        apply(store, added(1), added(2, b"a second text, that is long enough " * 400))
    return tmp_path / "store.db"


def version(path: Path) -> Any:
    with closing(connect(path, KEYS)) as db:
        return db.execute("PRAGMA user_version").get


RELEASED = {1: "0f2ca34cbc8fc9f6d3d147c8a56240bdfaead7ce743956f6a24938ec33d87c42"}
"""SHA-256 of the SQL of each schema that a release has had: the first one whole, then what each migration does."""


def test_a_schema_that_was_released_is_never_edited() -> None:
    steps = dict(enumerate((schema._SCHEMA, *MIGRATIONS), start=1))
    edited = [one for one, digest in RELEASED.items() if hashlib.sha256(steps[one].encode()).hexdigest() != digest]
    assert not edited, (
        f"the SQL of schema {edited} differs from what minds out there have: take the edit back, and append what is to "
        "change to MIGRATIONS; CONTRIBUTING.md, 'Changing the schema', says how"
    )


def test_a_schema_that_is_new_comes_with_a_new_protocol() -> None:
    assert (PROTOCOL, LATEST_SCHEMA) == (7, 2), (
        "a process of the version before could neither read nor write what a command of this one has migrated: a new "
        "schema has PROTOCOL rise too, so that such a process leaves first (docs/decisions/0031-versions.md)"
    )


# --- migrations that are broken off ----------------------------------------------------------------------------------


def migrate_and_be_killed(path: str, moment: str) -> None:
    """In a process: be killed while a store is brought to the next schema, at the copy or in what changes it."""

    def kill(*_: object) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    if moment == "copy":
        schema.copy_database = kill  # type: ignore[assignment]
    with closing(connect(Path(path), KEYS)) as db:
        db.create_scalar_function("killed", kill)
        migrate(db, Path(path), KEYS, (*MIGRATIONS, f"{ADDED} UPDATE memories SET role = 'system'; SELECT killed();"))


@pytest.mark.system
@pytest.mark.parametrize("moment", ["copy", "change"])
def test_a_migration_that_is_killed_has_changed_nothing_and_is_made_by_who_comes_next(path: Path, moment: str) -> None:
    before = held(path)
    killed = child("runtime.store.test_released_schema:migrate_and_be_killed", path, moment)
    killed.communicate(timeout=BOUND_S)
    assert killed.returncode == -signal.SIGKILL
    assert (version(path), held(path)) == (NOW, before)
    with closing(connect(path, KEYS)) as db:
        migrate(db, path, KEYS, NEXT)
    assert (version(path), held(path)) == (NOW + 1, before)
    assert held(path.with_name(COPY)) == before


def migrate_on_a_full_disk(source: str, disk: str) -> None:
    """In a process that has a small disk to itself: without room the store stays as it was, with room it migrates."""
    path = Path(disk) / "store.db"
    shutil.copyfile(source, path)
    before, taken = held(path), fill_up(Path(disk))
    with closing(connect(path, KEYS)) as db, pytest.raises(DiskFull):
        migrate(db, path, KEYS, NEXT)
    taken.unlink()
    assert (version(path), held(path)) == (NOW, before)
    assert not path.with_name(COPY).exists()
    with closing(connect(path, KEYS)) as db:
        migrate(db, path, KEYS, NEXT)
    assert (version(path), held(path)) == (NOW + 1, before)


@pytest.mark.system
def test_on_a_full_disk_nothing_is_migrated(path: Path, tmp_path: Path) -> None:
    disk = own_disk(tmp_path / "disk", "8m")
    finish(child("runtime.store.test_released_schema:migrate_on_a_full_disk", path, tmp_path / "disk", before=disk))
