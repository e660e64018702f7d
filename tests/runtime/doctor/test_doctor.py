"""Every check of the doctor can be well and can be ill, says what to do, and what --repair mends is mended."""

from __future__ import annotations

import getpass
import importlib.util
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import ModelMissing
from mnemic.actors.kernel.message import format_id
from mnemic.actors.sleep.changes import EndNight, StageReport
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.doctor import home as home_checks
from mnemic.runtime.doctor import mind as mind_checks
from mnemic.runtime.doctor.checks import Check, run_check
from mnemic.runtime.doctor.doctor import RepairResult, examine, repair
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.store import schema
from mnemic.runtime.store.schema import LATEST_SCHEMA, connect
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.clocks import ManualClock
from tests.processes.faces import Outcome
from tests.runtime.building import add_encoder, add_space, apply, codes, files_of, held, vectors
from tests.runtime.targets import target_of

OF_THE_MACHINE = {"model", "native", "disk", "engine", "process"}
OF_THE_HOME = {"settings", "trust", "permissions", "leftovers", "pause"}
OF_THE_CAPTURE = {"hooks", "spool", "losses", "strange", "records", "transcripts"}
ALL = {
    "key",
    "store",
    "words",
    "meaning",
    "shape",
    "clock",
    "wal",
    "commits",
    "backups",
    "labels",
    "nights",
    *OF_THE_HOME,
    *OF_THE_MACHINE,
    *OF_THE_CAPTURE,
}
DAY_S = 86_400


class Home:
    """A mind with two embedded memories, and a machine that has everything."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock: Clock = SystemClock()
        self.folder: MindFolder = create_mind(path, "default", ManualClock(0))
        self.keys: Keys = open_mind(path, "default")[1]
        self.model: Callable[[], Any] = lambda: SimpleNamespace(implementation="test-float32", model="0" * 64)
        with closing(Store.open(self.folder.store, self.keys)) as store:
            kept = added(1, author="owner"), added(2, b"another", speaker="Ada", author="owner")
            apply(store, *kept, add_encoder(), vectors(1, 2))
            apply(store, add_space(), codes(1, 2))

    def examine(self) -> dict[str, Check]:
        checks = examine(target_of(self.path, clock=self.clock))
        found = {check.name: check for check in checks}
        assert len(found) == len(checks), "a check is made once"
        for check in checks:
            assert check.state in ("ok", "advice", "wrong")
            assert "\n" not in check.detail
            assert bool(check.remedy) == (check.state != "ok"), "what is not well has a remedy"
            assert not (check.repairable and check.state == "ok")
        return found

    def states(self) -> dict[str, str]:
        return {name: check.state for name, check in self.examine().items()}

    def repair(self) -> dict[str, RepairResult]:
        target = target_of(self.path, clock=self.clock, open_mind=self.opened)
        return {one.name: one for one in repair(target, examine(target))}

    @contextmanager
    def opened(self) -> Iterator[Any]:
        with closing(Store.open(self.folder.store, self.keys)) as store:
            yield SimpleNamespace(rebuild=lambda progress: store.rebuild(progress, meaning=False))

    def change(self, sql: str) -> None:
        with closing(connect(self.folder.store, self.keys)) as db:
            db.execute(sql)

    def held(self) -> dict[str, Any]:
        return held(self.folder.store, self.keys)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(home_checks, "NATIVE", True)
    monkeypatch.setattr(home_checks, "backend", lambda: "native-avx2")
    monkeypatch.setattr(home_checks, "accelerator", lambda: None)
    made = Home(tmp_path)
    monkeypatch.setattr(home_checks, "encoder_from_settings", lambda settings: made.model())
    return made


def test_a_healthy_mind_is_well_and_nothing_is_changed(home: Home) -> None:
    before = files_of(home.path)
    assert home.states() == dict.fromkeys(ALL, "ok")
    assert home.repair() == {}
    assert files_of(home.path) == before


def test_what_hooks_need_is_told_as_missing_and_only_a_repair_makes_it(home: Home) -> None:
    config = home.folder.spool_config
    kept = config.read_bytes()
    config.unlink()
    before = files_of(home.path)
    assert home.states() == dict.fromkeys(ALL, "ok") | {"hooks": "wrong"}
    assert files_of(home.path) == before
    assert home.repair()["hooks"].succeeded
    assert config.read_bytes() == kept
    assert home.states() == dict.fromkeys(ALL, "ok")


def test_a_check_that_fails_itself_is_said_and_hides_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> Iterator[Check]:
        yield Check("leftovers", "ok", "so far")
        raise ZeroDivisionError("with a text")

    seen, *crashed = list(run_check("leftovers", broken))
    assert seen.detail == "so far"
    assert [check.state for check in crashed] == ["wrong"]
    assert "ZeroDivisionError at" in crashed[0].detail
    assert "with a text" not in crashed[0].detail
    assert {check.name for check in examine(target_of(home.path))} == ALL


def test_what_the_system_refuses_to_show_is_said_in_a_sentence() -> None:
    def refused() -> Iterator[Check]:
        os.listdir("/nowhere")
        yield Check("disk", "ok", "never")

    (check,) = run_check("disk", refused)
    assert (check.state, check.detail) == ("wrong", "it could not be looked at (/nowhere: No such file or directory)")


# --- key and key header ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [bytes(32), bytes(31), b""])
def test_a_wrong_key_is_named_and_all_else_is_looked_at_all_the_same(home: Home, key: bytes) -> None:
    home.folder.key.write_bytes(key)
    others = dict.fromkeys(OF_THE_HOME | OF_THE_MACHINE, "ok")
    assert home.states() == {"key": "wrong", **others}
    assert home.repair() == {}


def test_a_missing_key_a_missing_card_and_a_missing_mind_are_told_apart(home: Home) -> None:
    home.folder.key.unlink()
    assert "is not there" in home.examine()["key"].detail
    home.folder.key_header.unlink()
    assert "is damaged" in home.examine()["mind"].detail
    assert home.repair() == {}
    shutil.rmtree(home.folder.path)
    assert "There is no mind" in home.examine()["mind"].detail


@pytest.mark.parametrize("content", [None, "{", "[]", '{"version": 1, "check": "another"}'])
def test_a_card_that_is_lost_is_written_again_for_a_key_that_opens_the_store(home: Home, content: str | None) -> None:
    if content is None:
        home.folder.key_header.unlink()
    else:
        home.folder.key_header.write_text(content, "utf-8")
    seen = home.examine()
    assert (seen["mind"].state, seen["mind"].repairable) == ("wrong", True)
    assert {name: check.state for name, check in seen.items() if name != "mind"} == dict.fromkeys(
        [name for name in ALL if name != "backups"], "ok"
    )
    assert home.repair()["mind"].succeeded
    assert home.states() == dict.fromkeys(ALL, "ok")
    assert open_mind(home.path, "default")[1].check == home.keys.check
    assert stat.S_IMODE(home.folder.key_header.stat().st_mode) == 0o600


def test_a_card_of_a_newer_version_is_left_alone(home: Home) -> None:
    home.folder.key_header.write_text('{"version": 9, "check": ""}', "utf-8")
    check = home.examine()["mind"]
    assert (check.state, check.repairable) == ("wrong", False)


# --- the home's files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("recall.k = -", "it is no TOML"),
        ("[recall]\nk = 'ten'", "it is not a whole number"),
        ("[recall]\nkk = 1\n[elsewhere]\nx = 2", "names what is no setting: recall.kk, elsewhere.x"),
        ("[actors]\nconsolidator = 'no.such:Actor'", "no.such"),
        ("[capture]\nsecret_rules = '~/rules.toml'", "is no longer a setting: files of rules for secrets"),
    ],
)
def test_settings_that_cannot_be_used_are_wrong_and_hide_nothing(home: Home, content: str, told: str) -> None:
    (home.path / "mnemic.toml").write_text(content, "utf-8")
    seen = home.examine()
    assert seen["settings"].state == "wrong"
    assert told in seen["settings"].detail
    assert (seen["model"].state, seen["store"].state) == ("advice", "ok")


def test_settings_that_can_be_read_are_well(home: Home) -> None:
    (home.path / "mnemic.toml").write_text("[recall]\nk = 3\n", "utf-8")
    assert home.states() == dict.fromkeys(ALL, "ok")


NAMES = [
    *("minds/default/key", "minds/default/mind.json", "minds/default/store.db", "minds/default", "minds", "."),
    *(
        "mnemic.log",
        "trusted-folders.json",
        "serve.log",
        "serve.log.1",
        "http-token",
        "run",
        "run/serve.err",
        "run/serve.lock",
    ),
]


def test_a_file_that_others_may_read_is_wrong_and_is_repaired(home: Home) -> None:
    for name in NAMES:
        found_and_repaired(home, home.path / name)


def found_and_repaired(home: Home, path: Path) -> None:
    """Check that a file of the home is found where others may read it, and that a repair takes that from them."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir() if path.suffix == "" and "-" not in path.name else path.touch()
    for folder in path.relative_to(home.path).parents[:-1]:
        (home.path / folder).chmod(0o700)
    path.chmod(0o755)
    check = home.examine()["permissions"]
    assert (check.state, check.repairable) == ("wrong", True)
    assert f"{path} has mode 0755" in check.detail
    count = "2 files" if path.name == "store.db" else "1 file"  # what SQLite makes beside it too
    assert home.repair()["permissions"].detail == f"took the others' rights from {count}"
    assert home.states()["permissions"] == "ok"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_settings_may_be_read_where_nobody_gets_to_them_and_written_by_nobody_else(home: Home) -> None:
    settings = home.path / "mnemic.toml"
    settings.touch()
    settings.chmod(0o644)
    assert home.states()["permissions"] == "ok"
    home.path.chmod(0o755)
    assert "and 1 more" in home.examine()["permissions"].detail
    home.repair()
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    settings.chmod(0o662)
    assert home.states()["permissions"] == "wrong"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_files_of_another_user_are_wrong_and_named_with_what_gives_them_back(home: Home) -> None:
    left = home.folder.spool / "left.spool"
    left.touch(0o600)
    os.chown(left, 65533, 65533)
    check = home.examine()["permissions"]
    owner = getpass.getuser()
    assert (check.state, check.repairable) == ("wrong", False)
    assert check.detail == f"files in the home that do not belong to {owner}: 1, such as {left} (65533's)"
    assert check.remedy == f"A command ran as 65533. `sudo chown -R {owner} {home.path}` gives them back."


def test_rights_that_cannot_be_taken_away_are_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    home.folder.key.chmod(0o644)
    monkeypatch.setattr(Path, "chmod", refuse)
    mended = home.repair()["permissions"]
    assert (mended.succeeded, mended.detail) == (False, f"{home.folder.key}: Operation not permitted")


def old(*paths: Path) -> None:
    """Make files as if nobody had written to them for a day."""
    for path in paths:
        then = SystemClock().now_us() / 1e6 - DAY_S
        os.utime(path, (then, then))


def test_drafts_that_nobody_finished_are_named_and_removed(home: Home) -> None:
    mind = home.path / "minds" / ".new-abc"
    mind.mkdir(mode=0o700)
    (mind / "key").touch(0o600)
    copy = home.folder.path / ".store.schema-1.db"
    copy.touch(0o600)
    assert home.states()["leftovers"] == "ok", "they are being made"
    old(mind / "key", mind)
    check = home.examine()["leftovers"]
    assert (check.state, check.repairable) == ("advice", True)
    assert "1 draft of a mind, never finished (minds/.new-abc" in check.detail
    old(copy)
    assert home.repair()["leftovers"].detail == "removed 2 drafts: .new-abc, .store.schema-1.db"
    assert not mind.exists()
    assert not copy.exists()
    assert home.states() == dict.fromkeys(ALL, "ok")


# --- the store -------------------------------------------------------------------------------------------------------


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
        assert check.detail.count(".") == check.detail.endswith(".") + str(home.folder.store).count(".")
        assert "***" not in check.detail
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


def test_a_newer_store_is_wrong(home: Home) -> None:
    home.change("PRAGMA user_version = 7")
    newer = f"was written by a newer Mnemic (schema 7; this one knows {LATEST_SCHEMA})."
    assert home.examine()["store"].detail.endswith(newer)


DAMAGE = [
    "DELETE FROM memory_terms WHERE memory = 2",
    "DELETE FROM memory_terms",
    "UPDATE memory_terms SET codes = zeroblob(length(codes))",
    "UPDATE memory_terms SET codes = substr(codes, 8) WHERE memory = 1",
    "UPDATE memory_terms SET codes = x'00' WHERE memory = 1",
    "PRAGMA foreign_keys = OFF; INSERT INTO memory_terms VALUES(77, x'')",
    "UPDATE term_totals SET checksum = checksum + 1",
    "UPDATE term_totals SET memories = 0",
    "DELETE FROM term_totals",
]


@pytest.mark.parametrize("sql", DAMAGE)
def test_a_damaged_word_index_is_wrong_and_is_made_again(home: Home, sql: str) -> None:
    before = home.held()
    home.change(sql)
    check = home.examine()["words"]
    assert (check.state, check.repairable) == ("wrong", True)
    assert home.repair()["words"].succeeded
    assert home.states()["words"] == "ok"
    assert home.held() | {"unbound": []} == before, "what is bound answers, until it is bound again"


def test_what_waits_for_its_meaning_is_advice(home: Home) -> None:
    with closing(Store.open(home.folder.store, home.keys)) as store:
        apply(store, added(3), added(4))
    check = home.examine()["meaning"]
    assert (check.state, check.detail) == ("advice", "2 memories wait to be embedded")


def test_what_the_model_fails_on_is_named(home: Home) -> None:
    assert "unembeddable" not in home.examine()
    with closing(Store.open(home.folder.store, home.keys)) as store:
        apply(store, added(3), vectors(3, windows=0))
    check = home.examine()["unembeddable"]
    named = format_id(added(3).id)
    assert (check.state, check.detail) == ("advice", f"1 memory is found by words only: the model fails on {named}")
    assert home.examine()["meaning"].state == "ok", "it holds up no other"


def test_what_waits_for_its_hypervector_is_advice_and_what_could_get_none_says_so(home: Home) -> None:
    with closing(Store.open(home.folder.store, home.keys)) as store:
        apply(store, added(3), vectors(3))
        check = home.examine()["shape"]
        assert (check.state, check.detail) == ("advice", "2 memories wait to be bound"), "it, and the turn before it"
        nothing = msgspec.structs.replace(codes(3), items=msgspec.msgpack.encode([[]]), codes=b"")
        apply(store, codes(2), nothing)
    check = home.examine()["shape"]
    assert (check.state, check.detail) == ("advice", "1 memory could not be bound, and cannot be found by shape")


def test_without_a_model_all_that_is_not_bound_waits_to_be(home: Home) -> None:
    with closing(Store.open(home.folder.store, home.keys)) as store:
        apply(store, added(3))
    assert home.examine()["shape"].detail == "1 memory waits to be bound", "the turn before it: it has its meaning"
    home.model = lambda: (_ for _ in ()).throw(ModelMissing(path="/model", why="it is gone"))
    assert home.examine()["shape"].detail == "2 memories wait to be bound"


def test_a_missing_model_is_wrong(home: Home) -> None:
    def missing() -> Any:
        raise ModelMissing(path="/model", why="there is no such folder")

    home.model = missing
    assert home.states()["model"] == "wrong"


def test_missing_native_code_is_advice(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_checks, "NATIVE", False)
    assert home.states()["native"] == "advice"


def test_a_device_without_torch_is_advice(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_checks, "accelerator", lambda: "an NVIDIA GPU")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find(name))
    check = home.examine()["device"]
    assert (check.state, check.remedy) == ("advice", "pip install 'mnemic[torch]'")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name == "torch" else find(name))
    assert "device" not in home.states()


def test_a_disk_that_is_nearly_full_is_wrong(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_checks.shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000_000))
    assert home.states()["disk"] == "wrong"


def test_a_home_that_cannot_be_written_is_wrong(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_checks.shutil, "disk_usage", lambda path: SimpleNamespace(free=1 << 40))
    monkeypatch.setattr(home_checks, "unwritable_reason", lambda folder: f"{folder} is on a read-only file system")
    check = home.examine()["disk"]
    assert (check.state, check.remedy) == ("wrong", "Make it writable.")
    assert check.detail.endswith("is on a read-only file system: memories are read, and nothing is kept")


def test_a_home_that_is_not_there_is_looked_at_too(tmp_path: Path, home: Home) -> None:
    checks = examine(target_of(tmp_path / "no" / "home"))
    states = {check.name: check.state for check in checks}
    assert states == {"mind": "wrong", **dict.fromkeys(OF_THE_HOME | OF_THE_MACHINE, "ok")}
    assert not (tmp_path / "no").exists()


def test_a_writer_does_not_keep_the_doctor_waiting(home: Home) -> None:
    with closing(connect(home.folder.store, home.keys)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert home.states()["words"] == "ok"
        writer.execute("ROLLBACK")


# --- clock and write-ahead log ---------------------------------------------------------------------------------------


def test_a_clock_that_is_behind_is_wrong_and_what_follows_from_it_is_said(home: Home) -> None:
    later_us = SystemClock().now_us() + 2 * DAY_S * 1_000_000
    with closing(Store.open(home.folder.store, home.keys)) as store:
        apply(store, added(3), at=later_us)
    check = home.examine()["clock"]
    assert check.state == "wrong"
    assert check.detail.startswith("the clock is behind: the newest memory was kept 2 days later than it is now")
    assert "counts as older" in check.remedy


def test_a_long_write_ahead_log_is_advice_and_is_taken_over(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mind_checks, "_LONG_LOG_BYTES", 4096)
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_S", 0.05)
    log = home.folder.store.with_name("store.db-wal")
    with closing(connect(home.folder.store, home.keys)) as reading:
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM memories").fetchall()
        with closing(Store.open(home.folder.store, home.keys)) as store:
            apply(store, added(3), added(4))
        check = home.examine()["wal"]
        assert (check.state, check.repairable) == ("advice", True)
        assert not home.repair()["wal"].succeeded, "somebody reads"
        reading.execute("ROLLBACK")
        assert home.repair()["wal"].succeeded
        assert log.stat().st_size == 0
        assert home.states()["wal"] == "ok"


def test_a_log_that_is_damaged_while_it_is_open_is_wrong_until_it_was_written_anew(home: Home) -> None:
    log = home.folder.store.with_name("store.db-wal")
    with closing(Store.open(home.folder.store, home.keys)) as store:
        apply(store, added(3))
        data = bytearray(log.read_bytes())
        data[len(data) - 1000] ^= 1
        with log.open("r+b") as file:  # as it goes on being open
            file.write(data)
        check = home.examine()["store"]
        assert check.state == "wrong"
        assert "of its write-ahead log is not as it was written" in check.detail
        assert "tries to write it anew" in check.remedy
        store.checkpoint()
        assert home.states()["store"] == "ok"


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_says_what_it_mended_and_what_it_could_not(
    home: Home, command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    home.change("DELETE FROM memory_terms")
    home.folder.key.chmod(0o640)
    told = command("doctor", "--repair", "--home", home.path)
    assert "repaired: permissions: took the others' rights from 1 file" in told.out
    assert "repaired: words: made the word index again from the log" in told.out
    assert command("doctor", "--repair", "--home", home.path, "--json").json["repaired"] == []
    home.folder.key.chmod(0o640)

    def refuse(path: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "chmod", refuse)
    told = command("doctor", "--repair", "--home", home.path)
    assert told.code == 1
    assert f"not repaired: permissions: {home.folder.key}: Operation not permitted" in told.out
    assert command("doctor", "--repair", "--home", home.path, "--json").json["repaired"] == []


def test_a_stage_that_fails_is_told_and_one_that_is_quarantined_is_tried_again_once_repaired(home: Home) -> None:
    def fail(run: str) -> None:
        told = StageReport(stage="dreams", note="it is stuck", state="failed")
        with closing(Store.open(home.folder.store, home.keys)) as store:
            apply(store, EndNight(run=run, why="finished", stages=(told,)))

    fail("1")
    check = home.examine()["nights"]
    assert (check.state, check.detail) == ("advice", "the stage dreams failed in 1 night (it is stuck)")
    fail("2")
    fail("3")
    check = home.examine()["nights"]
    assert check.state == "wrong"
    assert "set aside" in check.detail
    assert home.repair() == {"nights": RepairResult("nights", True, "the next night tries every stage again")}
    assert home.examine()["nights"].state == "ok"


def test_a_stage_that_no_installed_package_offers_is_told_with_what_brings_it_back(home: Home) -> None:
    (home.path / "mnemic.toml").write_text('[sleep]\nstages = "profile procedures"\nprocedure_times = 4\n', "utf-8")
    checks = home.examine()
    assert checks["settings"].state == "ok"
    assert checks["nights"].state == "advice"
    assert "nights go on without a stage: a stage cannot be 'procedures': the package mnemic-more-stages has it" in (
        checks["nights"].detail
    )
    assert "pip install ./examples/more_stages" in checks["nights"].remedy


def test_what_was_kept_before_memories_said_whose_words_they_hold_is_counted_until_a_night_looked(home: Home) -> None:
    assert home.states()["labels"] == "ok"
    with closing(Store.open(home.folder.store, home.keys)) as store:
        apply(store, added(3), added(4))
    check = home.examine()["labels"]
    assert check.detail == "2 memories were kept before memories said whose words they hold"
    assert "mnemic sleep --stage labels" in check.remedy
