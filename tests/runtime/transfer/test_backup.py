"""A backup is one file that opens as what it was made of, and says in words where it does not."""

from __future__ import annotations

import errno
import io
import shutil
import stat
import struct
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import (
    DamagedStore,
    DiskFailed,
    DiskFull,
    MnemicError,
    NewerSchema,
    NotABackup,
    StoreReadOnly,
)
from mnemic.runtime.keys.key_slots import open_by_passphrase
from mnemic.runtime.keys.keys import Keys, Secrets
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.store.store import Store
from mnemic.runtime.transfer import backup as module
from mnemic.runtime.transfer.backup import open_backup, verify_store, write_backup
from tests.built import added
from tests.clocks import ManualClock
from tests.runtime.building import apply, held, said

PASSPHRASE = "a long passphrase"


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> tuple[MindFolder, Keys]:
    home = tmp_path_factory.mktemp("home")
    create_mind(home, "default", ManualClock(1))
    folder, keys = open_mind(home, "default")
    with closing(Store.open(folder.store, keys)) as store:
        apply(store, *(added(number, b"what number %d says" % number) for number in range(1, 41)))
    return folder, keys


def archive(mind: tuple[MindFolder, Keys], path: Path, passphrase: str | None = None) -> Path:
    made = write_backup(path, *mind, mind="default", mnemic="0.1.0", made_at=5, passphrase=passphrase)
    assert made == 40
    return path


@pytest.fixture(scope="module")
def made(mind: tuple[MindFolder, Keys], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return archive(mind, tmp_path_factory.mktemp("made") / "mind.mnemic")


def unpacked(path: Path, target: Path, keys: Keys) -> int:
    with open_backup(path) as archive:
        archive.extract_store(target, keys)
    return verify_store(target, keys)


def test_what_is_in_it_is_what_was_in_the_store(mind: tuple[MindFolder, Keys], made: Path, tmp_path: Path) -> None:
    assert unpacked(made, tmp_path / "store.db", mind[1]) == 40
    assert held(tmp_path / "store.db", mind[1]) == held(mind[0].store, mind[1])
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_nothing_of_the_memories_is_in_clear(mind: tuple[MindFolder, Keys], made: Path) -> None:
    everything = made.read_bytes()
    assert b"number" not in everything
    assert mind[0].key.read_bytes() not in everything


def test_what_it_says_of_itself_needs_no_key(made: Path) -> None:
    with open_backup(made) as archive:
        manifest = archive.manifest
        assert archive.passphrase_header is None
    assert (manifest.mind, manifest.mnemic, manifest.made_at, manifest.version) == ("default", "0.1.0", 5, 1)


def test_a_passphrase_of_its_own_opens_the_same(mind: tuple[MindFolder, Keys], tmp_path: Path) -> None:
    path = archive(mind, tmp_path / "k", PASSPHRASE)
    with open_backup(path) as opened:
        assert opened.passphrase_header is not None
        assert open_by_passphrase(opened.passphrase_header, PASSPHRASE, path).store_key == mind[1].store_key


def test_it_is_made_while_others_write(mind: tuple[MindFolder, Keys], tmp_path: Path) -> None:
    with closing(Store.open(*((mind[0].store, mind[1])))) as store, store.transaction():
        archive(mind, tmp_path / "k")


def test_a_file_that_is_there_stays_until_the_new_one_is_whole(
    mind: tuple[MindFolder, Keys], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k"
    path.write_bytes(b"the one before")

    def damaged(store: Path, keys: Keys) -> int:
        raise DamagedStore(path=str(store), why="a page of it")

    with monkeypatch.context() as patch:
        patch.setattr(module, "verify_store", damaged)
        with pytest.raises(DamagedStore):
            archive(mind, path)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("k", b"the one before")]
    archive(mind, path)
    assert path.read_bytes() != b"the one before"


@pytest.mark.parametrize(("number", "kind"), [(28, DiskFull), (30, StoreReadOnly)])
def test_where_it_cannot_be_written_nothing_is_left(
    mind: tuple[MindFolder, Keys], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[MnemicError]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr("mnemic.runtime.transfer.backup.os.replace", refuse)
    with pytest.raises(kind):
        archive(mind, tmp_path / "k")
    assert list(tmp_path.iterdir()) == []


def test_what_an_earlier_try_left_is_in_nobodys_way(mind: tuple[MindFolder, Keys], tmp_path: Path) -> None:
    (tmp_path / ".k.part").mkdir()
    (tmp_path / ".k.part" / "store.db").write_bytes(b"half")
    archive(mind, tmp_path / "k")
    assert [path.name for path in tmp_path.iterdir()] == ["k"]


@settings(max_examples=40)
@given(data=st.data())
def test_cut_or_altered_anywhere_it_is_refused_in_words(
    mind: tuple[MindFolder, Keys], made: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole, folder = made.read_bytes(), tmp_path_factory.mktemp("altered")
    # Half of the places are where the archive's own words stand; the store is far longer.
    tail = st.integers(len(whole) - 3000, len(whole) - 1)
    place = data.draw(st.one_of(st.integers(0, len(whole) - 1), tail))
    cut = data.draw(st.booleans())
    altered = whole[:place] if cut else whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :]
    (folder / "k").write_bytes(altered)
    with pytest.raises((NotABackup, NewerSchema)) as refused:
        unpacked(folder / "k", folder / "store.db", mind[1])
    assert str(folder / "k") in said(refused.value)
    assert not (folder / "store.db").exists()


def packed_again(made: Path, path: Path, **entries: bytes | None) -> None:
    """An archive as ours is, with other entries in it; ``None`` leaves one out."""
    with zipfile.ZipFile(made) as ours, zipfile.ZipFile(path, "w") as other:
        other.comment = ours.comment
        names = [*ours.namelist(), *(name for name in entries if name not in ours.namelist())]
        for name in names:
            data = entries.get(name, ours.read(name) if name in ours.namelist() else None)
            if data is not None:
                other.writestr(zipfile.ZipInfo(name), data)


def test_with_more_in_it_or_less_or_something_else_it_is_refused(mind: tuple[MindFolder, Keys], tmp_path: Path) -> None:
    mind[0].pauses.write_bytes(b"1 2\n")
    try:
        made = archive(mind, tmp_path / "made", PASSPHRASE)
    finally:
        mind[0].pauses.unlink()
    with zipfile.ZipFile(made) as ours:
        manifest = ours.read("backup.json")
    forged = tmp_path / "k"

    def refused() -> None:
        with pytest.raises(NotABackup) as told:
            unpacked(forged, tmp_path / "store.db", mind[1])
        assert str(forged) in said(told.value)
        assert not (tmp_path / "store.db").exists()

    for more in (b"\n", b"more", bytes(100_000)):
        forged.write_bytes(made.read_bytes() + more)
        refused()
        forged.write_bytes(more + made.read_bytes())
        refused()
    shutil.copy(made, forged)
    with zipfile.ZipFile(forged, "a") as more_entries:
        more_entries.writestr("more", b"x")
    refused()
    assert b'"default"' in manifest
    changes: list[dict[str, bytes | None]] = [
        {"backup.json": manifest.replace(b'"default"', b'"another"')},
        {"backup.json": manifest.replace(b'"made_at": 5', b'"made_at": 6')},
        {"pauses": None},
        {"passphrase.json": None},
        {"pauses": b"1 -\n"},
    ]
    for change in changes:
        packed_again(made, forged, **change)
        refused()
    assert unpacked(made, tmp_path / "store.db", mind[1]) == 40


def test_what_another_key_wrote_is_refused(made: Path, tmp_path: Path) -> None:
    with pytest.raises(NotABackup, match="altered"):
        unpacked(made, tmp_path / "store.db", Keys(Secrets.generate()))


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        (None, "there is no backup.json in it"),
        (b"{", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"format": "other"}', "something else's"),
        (b'{"format": "mnemic-backup", "version": 1}', "cannot be read"),
    ],
)
def test_an_archive_of_something_else_is_no_backup(tmp_path: Path, manifest: bytes | None, why: str) -> None:
    with zipfile.ZipFile(tmp_path / "k", "w") as file:
        file.writestr("other.txt", b"other")
        if manifest is not None:
            file.writestr("backup.json", manifest)
    with pytest.raises(NotABackup) as refused, open_backup(tmp_path / "k"):
        pytest.fail("it is none")
    assert why in said(refused.value)


def test_one_whose_list_of_files_has_no_end_is_refused_before_it_is_held(tmp_path: Path) -> None:
    with open(tmp_path / "k", "wb") as file:
        file.truncate(1 << 34)  # takes no room
        file.seek(0, io.SEEK_END)
        file.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, (1 << 32) - 2, 1 << 33 & 0xFFFFFFFF, 0))
    with pytest.raises(NotABackup, match="damaged, or something else"), open_backup(tmp_path / "k"):
        pytest.fail("it is none")


def test_one_that_is_packed_as_none_of_ours_is_refused(made: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(made) as ours, zipfile.ZipFile(tmp_path / "k", "w", zipfile.ZIP_DEFLATED) as packed:
        for name in ours.namelist():
            packed.writestr(name, ours.read(name))
    with pytest.raises(NotABackup), open_backup(tmp_path / "k"):
        pytest.fail("it is none")


def test_a_newer_one_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "k", "w") as file:
        file.writestr("backup.json", b'{"format": "mnemic-backup", "version": 2}')
    with pytest.raises(NewerSchema), open_backup(tmp_path / "k"):
        pytest.fail("it is newer")


def test_what_is_not_there_or_is_a_folder_is_no_backup(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(NotABackup), open_backup(path):
            pytest.fail("it is none")


@pytest.mark.parametrize("failing", range(6))
def test_a_disk_that_fails_while_a_backup_is_read_is_no_word_about_the_backup(
    mind: tuple[MindFolder, Keys], made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    reads = iter(range(1000))

    class Failing(io.FileIO):
        """A file of which one read fails."""

        def readinto(self, buffer: Any) -> int | None:
            if next(reads) == failing:
                raise OSError(errno.EIO, "Input/output error")
            return super().readinto(buffer)

    monkeypatch.setattr(module, "open_regular", lambda path: io.BufferedReader(Failing(path), 64))
    with pytest.raises(DiskFailed) as failed:
        unpacked(made, tmp_path / "store.db", mind[1])
    assert said(failed.value) == f"The disk that holds {made} failed: Input/output error."
    assert not (tmp_path / "store.db").exists()
