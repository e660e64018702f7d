"""Every check of the doctor can be well and can be ill, says what to do, and what --repair mends is mended."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mnemic.actors.errors import ModelMissing
from mnemic.runtime import doctor
from mnemic.runtime.clock import ManualClock
from mnemic.runtime.doctor import Check, accelerator, examine, repair_permissions
from mnemic.runtime.homes import MindFolder, make_mind, open_mind
from mnemic.runtime.keys import Keys
from mnemic.runtime.schema import connect
from mnemic.runtime.store import Store
from tests.runtime.building import add_encoder, apply, files_of, held, memory, vectors

ALL = {"key", "permissions", "store", "words", "meaning", "model", "native", "device", "disk"}


class Home:
    """A mind with two embedded memories, and a machine that has everything."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder: MindFolder = make_mind(path, "default", ManualClock(0))
        self.keys: Keys = open_mind(path, "default")[1]
        self.model: Callable[[], Any] = lambda: SimpleNamespace(implementation="test-float32", model="0" * 64)
        with closing(Store.open(self.folder.store, self.keys)) as store:
            apply(store, memory(1), memory(2, b"another", speaker="Ada"), add_encoder(), vectors(1, 2))

    def examine(self) -> dict[str, Check]:
        checks = examine(self.path, "default", self.model)
        found = {check.name: check for check in checks}
        assert len(found) == len(checks), "a check is made once"
        for check in checks:
            assert check.state in ("ok", "advice", "wrong")
            assert "\n" not in check.detail
            assert bool(check.remedy) == (check.state != "ok"), "what is not well has a remedy"
        return found

    def states(self) -> dict[str, str]:
        return {name: check.state for name, check in self.examine().items()}

    def change(self, sql: str) -> None:
        with closing(connect(self.folder.store, self.keys)) as db:
            db.execute(sql)

    def held(self) -> dict[str, Any]:
        return held(self.folder.store, self.keys)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(doctor, "NATIVE", True)
    monkeypatch.setattr(doctor, "backend", lambda: "avx2")
    monkeypatch.setattr(doctor, "accelerator", lambda: None)
    return Home(tmp_path)


def test_a_healthy_mind_is_well_and_nothing_is_changed(home: Home) -> None:
    before = files_of(home.path)
    assert home.states() == dict.fromkeys(ALL - {"device"}, "ok")
    assert files_of(home.path) == before


@pytest.mark.parametrize("key", [bytes(32), bytes(31), b""])
def test_a_wrong_key_is_named_and_the_machine_is_looked_at_all_the_same(home: Home, key: bytes) -> None:
    home.folder.key.write_bytes(key)
    assert home.states() == {"key": "wrong", "model": "ok", "native": "ok", "disk": "ok"}


def test_a_missing_key_a_missing_card_and_a_missing_mind_are_told_apart(home: Home) -> None:
    home.folder.key.unlink()
    assert "is not there" in home.examine()["key"].detail
    home.folder.card.unlink()
    assert "is damaged" in home.examine()["mind"].detail
    shutil.rmtree(home.folder.path)
    assert "There is no mind" in home.examine()["mind"].detail


@pytest.mark.parametrize("name", ["key", "mind.json", "store.db", "."])
def test_a_file_that_others_may_read_is_wrong_and_is_repaired(home: Home, name: str) -> None:
    path = home.folder.path / name
    path.chmod(0o755)
    check = home.examine()["permissions"]
    assert (check.state, check.repairable) == ("wrong", True)
    assert "0755" in check.detail
    repair_permissions(home.folder)
    assert home.states()["permissions"] == "ok"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_damaged_page_is_wrong_and_is_not_repaired_away(home: Home) -> None:
    with closing(connect(home.folder.store, home.keys)) as db:
        root = int(db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'log'").get)
    whole = home.folder.store.read_bytes()
    for page in (0, root - 1):
        flipped = bytearray(whole)
        flipped[4096 * page + 1000] ^= 1
        home.folder.store.write_bytes(flipped)
        check = home.examine()["store"]
        assert (check.state, check.repairable) == ("wrong", False)
        assert "words" not in home.examine()
        assert home.folder.store.read_bytes() == flipped


def test_every_page_that_is_damaged_is_seen_or_is_not_in_use(home: Home) -> None:
    whole = home.folder.store.read_bytes()
    well = [page for page in range(len(whole) // 4096) if home_with_flipped(home, whole, page)["store"] == "ok"]
    home.folder.store.write_bytes(whole)
    with closing(connect(home.folder.store, home.keys)) as db:
        unused = int(db.execute("PRAGMA freelist_count").get)
    assert len(well) <= unused


def home_with_flipped(home: Home, whole: bytes, page: int) -> dict[str, str]:
    """The checks' states where one bit of a page is another."""
    flipped = bytearray(whole)
    flipped[4096 * page + 2000] ^= 1
    home.folder.store.write_bytes(flipped)
    return home.states()


@pytest.mark.parametrize("size", [0, 100, 20_000])
def test_a_store_cut_short_is_wrong(home: Home, size: int) -> None:
    home.folder.store.write_bytes(home.folder.store.read_bytes()[:size])
    assert home.states()["store"] == "wrong"


def test_a_missing_store_is_wrong_and_is_not_made(home: Home) -> None:
    home.folder.store.unlink()
    assert home.states()["store"] == "wrong"
    assert not home.folder.store.exists()


def test_a_newer_store_is_wrong_and_an_older_one_is_to_be_migrated(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MIGRATIONS", ("one", "two"))
    before = files_of(home.path)
    check = home.examine()["store"]
    assert (check.state, check.detail) == ("advice", "schema 1 is to become 2")
    assert files_of(home.path) == before
    home.change("PRAGMA user_version = 7")
    assert home.examine()["store"].detail.endswith("was written by a newer Mnemic (schema 7; this one knows 1).")


DAMAGE = [
    "DELETE FROM words WHERE rowid = 2",
    "DELETE FROM words",
    "DELETE FROM words_docsize WHERE id = 1",
    "DELETE FROM words_data WHERE id > 10",
    "UPDATE words_data SET block = zeroblob(length(block)) WHERE id > 10",
    "DELETE FROM words_data",
    "INSERT INTO words(rowid, text, speaker) VALUES(77, 'of no memory', '')",
    "DELETE FROM words WHERE rowid = 1; INSERT INTO words(rowid, text, speaker) VALUES(1, 'too few', '')",
]


@pytest.mark.parametrize("sql", DAMAGE)
def test_a_damaged_word_index_is_wrong_and_is_made_again(home: Home, sql: str) -> None:
    before = home.held()
    home.change(sql)
    check = home.examine()["words"]
    assert (check.state, check.repairable) == ("wrong", True)
    with closing(Store.open(home.folder.store, home.keys)) as store:
        store.rebuild(lambda done, total: None, meaning=False)
    assert home.states()["words"] == "ok"
    assert home.held() == before


def test_what_waits_for_its_meaning_is_advice(home: Home) -> None:
    with closing(Store.open(home.folder.store, home.keys)) as store:
        apply(store, memory(3), memory(4))
    check = home.examine()["meaning"]
    assert (check.state, check.detail) == ("advice", "2 memories wait to be embedded")


def test_a_missing_model_is_wrong(home: Home) -> None:
    def missing() -> Any:
        raise ModelMissing(path="/model", why="there is no such folder")

    home.model = missing
    assert home.states()["model"] == "wrong"


def test_missing_native_code_is_advice(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NATIVE", False)
    assert home.states()["native"] == "advice"


def test_a_device_without_torch_is_advice(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "accelerator", lambda: "an NVIDIA GPU")
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    check = home.examine()["device"]
    assert (check.state, check.remedy) == ("advice", "pip install 'mnemic[torch]'")
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: object())
    assert "device" not in home.states()


def test_a_device_is_seen_by_its_file_or_its_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.platform, "system", lambda: "Linux")
    (tmp_path / "nvidiactl").touch()
    assert accelerator(tmp_path) is None
    (tmp_path / "nvidia0").touch()
    assert accelerator(tmp_path) == "an NVIDIA GPU"
    monkeypatch.setattr(doctor.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(doctor.platform, "machine", lambda: "arm64")
    assert accelerator(tmp_path / "none") == "Apple silicon"


def test_a_disk_that_is_nearly_full_is_wrong(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000_000))
    assert home.states()["disk"] == "wrong"


def test_a_home_that_is_not_there_is_looked_at_too(tmp_path: Path, home: Home) -> None:
    checks = {check.name: check.state for check in examine(tmp_path / "no" / "home", "default", home.model)}
    assert checks == {"mind": "wrong", "model": "ok", "native": "ok", "disk": "ok"}
    assert not (tmp_path / "no").exists()


def test_a_writer_does_not_keep_the_doctor_waiting(home: Home) -> None:
    with closing(connect(home.folder.store, home.keys)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert home.states()["words"] == "ok"
        writer.execute("ROLLBACK")
