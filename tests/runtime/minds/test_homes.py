"""A mind appears whole or not at all, whoever races and whatever breaks off, and opens with its own key only."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import (
    DamagedStore,
    InvalidValue,
    KeyMismatch,
    KeyMissing,
    MindExists,
    MindLocked,
    MindMissing,
    NewerSchema,
    StoreReadOnly,
    WrongPassphrase,
    WrongRecoveryKey,
)
from mnemic.runtime.keys.key_slots import format_recovery_key
from mnemic.runtime.keys.keys import generate_key
from mnemic.runtime.minds import homes
from mnemic.runtime.minds.homes import (
    MindFolder,
    create_mind,
    fork_mind,
    is_locked_mind,
    mind_names,
    missing_mind,
    open_mind,
)
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.clocks import ManualClock
from tests.runtime.building import apply, child, files_of, held, release, said, wait_for_release
from tests.waiting import BOUND_S

CLOCK = ManualClock(1_795_000_000_000_000)


def opened(home: Path, mind: str = "default") -> Store:
    folder, keys = open_mind(home, mind)
    return Store.open(folder.store, keys)


def test_a_mind_is_a_folder_with_its_key_its_key_header_and_its_store(tmp_path: Path) -> None:
    made = create_mind(tmp_path / "home", "default", CLOCK)
    names = ("key", "mind.json", "mind.json.copy", "spool.json", "spool/losses", "store.db", "store.db-mark")
    assert sorted(files_of(tmp_path)) == [f"home/minds/default/{name}" for name in names]
    folder, keys = open_mind(tmp_path / "home", "default")
    assert folder == made
    header = json.loads(made.key_header.read_bytes())
    assert (header["version"], header["check"], header["made_at_us"]) == (1, keys.check, CLOCK.now_us())
    assert [slot["kind"] for slot in header["slots"]] == ["file"]
    assert made.key_header_copy.read_bytes() == made.key_header.read_bytes()
    assert keys.secrets.root.hex() not in made.key_header.read_text()


def test_each_mind_has_a_key_of_its_own(tmp_path: Path) -> None:
    one, other = (create_mind(tmp_path, name, CLOCK) for name in ("one", "other"))
    assert one.key.read_bytes() != other.key.read_bytes()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_nobody_else_may_look_into_a_home_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        create_mind(tmp_path / "data" / "deep" / "home", "default", CLOCK)
        with closing(opened(tmp_path / "data" / "deep" / "home")) as store:
            apply(store, added(1))
            modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data").rglob("*")}
    finally:
        os.umask(before)
    assert {path.name for path in modes} >= {"home", "minds", "default", "key", "store.db-wal", "store.db-shm"}
    for path, mode in modes.items():
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_home_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    create_mind(tmp_path, "default", CLOCK)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "minds").stat().st_mode) == 0o700


@pytest.mark.parametrize(("mode", "left"), [(0o777, 0o755), (0o720, 0o700), (0o1777, 0o1777), (0o711, 0o711)])
def test_the_first_mind_takes_from_others_the_right_to_write_to_a_home(tmp_path: Path, mode: int, left: int) -> None:
    tmp_path.chmod(mode)
    create_mind(tmp_path, "default", CLOCK)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == left


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_home_of_another_user_that_others_may_write_to_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o777)
    os.chown(tmp_path, 65_534, -1)
    create_mind(tmp_path, "default", CLOCK)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o777
    assert f"Others may write to the home {tmp_path} (mode 0777)" in caplog.text


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a\\b", "a b", "-x", "a\n", "é", "a" * 65, "a\0"])
def test_a_name_that_no_folder_should_have_is_refused(tmp_path: Path, name: str) -> None:
    for use in (lambda: create_mind(tmp_path, name, CLOCK), lambda: open_mind(tmp_path, name)):
        with pytest.raises(InvalidValue) as caught:
            use()
        assert "it names a folder" in str(caught.value)
    assert files_of(tmp_path) == {}


@pytest.mark.parametrize("name", ["a", "default", "My.mind_2-b", "0", "a" * 64])
def test_a_plain_name_is_taken(tmp_path: Path, name: str) -> None:
    assert create_mind(tmp_path, name, CLOCK).path.name == name


def test_a_mind_is_made_once(tmp_path: Path) -> None:
    create_mind(tmp_path, "default", CLOCK)
    before = files_of(tmp_path)
    with pytest.raises(MindExists) as caught:
        create_mind(tmp_path, "default", CLOCK)
    said(caught.value)
    assert files_of(tmp_path) == before


def make_at_once(home: str) -> None:
    """In a process: make a mind at the same moment as others, and say whether it was this one."""
    wait_for_release()
    try:
        create_mind(Path(home), "default", CLOCK)
    except MindExists:
        print("another")
    else:
        print("made")


@pytest.mark.system
def test_of_eight_processes_that_race_one_makes_a_whole_mind(tmp_path: Path) -> None:
    printed = release([child("runtime.minds.test_homes:make_at_once", tmp_path / "home") for _ in range(8)])
    assert sorted(printed) == ["another\n"] * 7 + ["made\n"]
    assert [path.name for path in (tmp_path / "home" / "minds").iterdir()] == ["default"]
    with closing(opened(tmp_path / "home")) as store:
        assert apply(store, added(1)).seq == 1


def crash_half_way(home: str, where: str) -> None:
    """In a process: end without any cleaning up, with the store or the folder half made."""

    def stop(*_: object, **__: object) -> None:
        os._exit(9)

    if where == "store":
        Store.create = stop  # type: ignore[method-assign, assignment]
    else:
        os.rename = stop  # type: ignore[assignment]
    create_mind(Path(home), "default", CLOCK)


@pytest.mark.parametrize("where", ["store", "rename"])
def test_a_crash_half_way_leaves_no_mind_and_the_next_try_makes_one(tmp_path: Path, where: str) -> None:
    process = child("runtime.minds.test_homes:crash_half_way", tmp_path, where)
    process.communicate(timeout=BOUND_S)
    assert process.returncode == 9
    with pytest.raises(MindMissing):
        open_mind(tmp_path, "default")
    create_mind(tmp_path, "default", CLOCK)
    opened(tmp_path).close()


def test_a_failure_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "the key")

    monkeypatch.setattr(homes, "write_private", fail)
    with pytest.raises(StoreReadOnly) as caught:
        create_mind(tmp_path, "default", CLOCK)
    assert said(caught.value) == "the key cannot be written: Permission denied."
    assert list((tmp_path / "minds").iterdir()) == []


def test_a_home_that_is_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "home").write_bytes(b"mine")
    with pytest.raises(StoreReadOnly) as caught:
        create_mind(tmp_path / "home", "default", CLOCK)
    said(caught.value)
    assert files_of(tmp_path) == {"home": b"mine"}


def test_a_mind_that_is_not_there_is_said_not_to_be(tmp_path: Path) -> None:
    with pytest.raises(MindMissing) as caught:
        open_mind(tmp_path, "default")
    assert said(caught.value) == f"There is no mind 'default' in {tmp_path}."
    assert files_of(tmp_path) == {}


def test_a_mind_that_is_not_there_is_told_with_those_that_are_and_with_what_makes_it(tmp_path: Path) -> None:
    for name in ("default", "work"):
        create_mind(tmp_path, name, CLOCK)
    told = missing_mind(tmp_path, "deflaut").remedy_text
    assert told.startswith("Did you mean 'default'? This home has 'default', 'work'; ")
    assert f"`mnemic init --home {tmp_path} --mind deflaut` makes this one" in told
    assert missing_mind(tmp_path / "no home", "work").remedy_text.startswith("This home has none; ")
    new = tmp_path / "new"
    assert missing_mind(new, "default").remedy_text.endswith(f"`mnemic setup --home {new}` makes this one.")
    assert mind_names(tmp_path / "no home") == []


SPOILERS: dict[str, tuple[type[Exception], Callable[[MindFolder], object]]] = {
    "another key": (KeyMismatch, lambda mind: mind.key.write_bytes(bytes(32))),
    "a short key": (KeyMismatch, lambda mind: mind.key.write_bytes(bytes(31))),
    "an empty key": (KeyMismatch, lambda mind: mind.key.write_bytes(b"")),
    "no key": (KeyMissing, lambda mind: mind.key.unlink()),
    "no key header": (DamagedStore, lambda mind: mind.key_header.unlink()),
    "an empty key header": (DamagedStore, lambda mind: mind.key_header.write_bytes(b"")),
    "a key header of something else": (DamagedStore, lambda mind: mind.key_header.write_bytes(b"[]")),
    "a key header without a check": (DamagedStore, lambda mind: mind.key_header.write_bytes(b'{"version": 1}')),
    "a key header that is no text": (DamagedStore, lambda mind: mind.key_header.write_bytes(b"\xff\xfe")),
    "a key header of a newer version": (
        NewerSchema,
        lambda mind: mind.key_header.write_bytes(b'{"version": 2, "check": ""}'),
    ),
    "a key header that nothing opens": (
        DamagedStore,
        lambda mind: mind.key_header.write_bytes(b'{"version": 1, "check": "", "slots": []}'),
    ),
    "another mind's check": (
        DamagedStore,
        lambda mind: mind.key_header.write_text(mind.key_header.read_text().replace(open_mind_check(mind), "00" * 32)),
    ),
}


def open_mind_check(mind: MindFolder) -> str:
    return str(json.loads(mind.key_header.read_bytes())["check"])


@pytest.mark.parametrize("what", SPOILERS)
def test_what_is_wrong_with_a_mind_is_said_and_nothing_is_written(tmp_path: Path, what: str) -> None:
    kind, spoil = SPOILERS[what]
    spoil(create_mind(tmp_path, "default", CLOCK))
    before = files_of(tmp_path)
    with pytest.raises(kind) as caught:
        open_mind(tmp_path, "default")
    assert str(tmp_path) in said(caught.value)  # type: ignore[arg-type]
    assert files_of(tmp_path) == before


def test_a_fork_is_a_mind_of_its_own_with_the_same_key(tmp_path: Path) -> None:
    source = create_mind(tmp_path, "default", CLOCK)
    keys = open_mind(tmp_path, "default")[1]
    with closing(opened(tmp_path)) as store:
        apply(store, added(1))
        apply(store, added(2))
        source.pauses.write_text("5 9\n")
        fork = fork_mind(store, source, keys, tmp_path / "lab", "trial", 1)
        assert fork.key.read_bytes() == source.key.read_bytes()
        with closing(opened(tmp_path / "lab", "trial")) as trial:
            assert apply(trial, added(3)).seq == 2
        for again in ((tmp_path / "lab", "trial", None), (tmp_path, "default", None)):
            with pytest.raises(MindExists):
                fork_mind(store, source, keys, *again)
        with pytest.raises(InvalidValue):
            fork_mind(store, source, keys, tmp_path / "lab", "late", 3)
    assert [path.name for path in (tmp_path / "lab" / "minds").iterdir()] == ["trial"]
    assert len(held(source.store, keys)["memories"]) == 2
    for path in fork.path.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    assert fork.pauses.read_text() == "5 9\n", "what was not to be captured then is not to be now"
    assert fork.spool_config.read_bytes() == source.spool_config.read_bytes()
    assert fork.losses.read_bytes() == bytes(64)


def test_a_mind_that_a_passphrase_locks_has_no_key_file(tmp_path: Path) -> None:
    made = create_mind(tmp_path, "default", CLOCK, passphrase="nine books on a shelf")
    assert is_locked_mind(tmp_path, "default")
    assert not made.key.exists()
    with pytest.raises(MindLocked) as caught:
        open_mind(tmp_path, "default")
    assert "what happens is kept" in said(caught.value)
    with pytest.raises(WrongPassphrase):
        open_mind(tmp_path, "default", "ten books on a shelf")
    folder, keys = open_mind(tmp_path, "default", "nine books on a shelf")
    Store.open(folder.store, keys).close()
    assert json.loads(made.spool_config.read_bytes())["public"] == keys.spool_public().hex()


def test_the_recovery_key_opens_a_mind_whose_key_file_is_lost(tmp_path: Path) -> None:
    recovery = generate_key()
    made = create_mind(tmp_path, "default", CLOCK, recovery=recovery)
    keys = open_mind(tmp_path, "default")[1]
    made.key.unlink()
    assert open_mind(tmp_path, "default", format_recovery_key(recovery))[1].check == keys.check
    with pytest.raises(WrongRecoveryKey):
        open_mind(tmp_path, "default", format_recovery_key(bytes(32)))
    assert not is_locked_mind(tmp_path, "default")


def test_the_copy_of_a_key_header_follows_the_key_header(tmp_path: Path) -> None:
    made = create_mind(tmp_path, "default", CLOCK)
    for spoil in (made.key_header_copy.unlink, lambda: made.key_header_copy.write_bytes(b"of an older header")):
        spoil()
        open_mind(tmp_path, "default")
        assert made.key_header_copy.read_bytes() == made.key_header.read_bytes()


def test_what_hooks_need_says_what_they_seal_to_and_nothing_that_reads(tmp_path: Path) -> None:
    made = create_mind(tmp_path, "default", CLOCK)
    keys = open_mind(tmp_path, "default")[1]
    header = json.loads(made.spool_config.read_bytes())
    assert header == {"version": 1, "public": keys.spool_public().hex(), "names": keys.spool_name_key.hex()}
    assert keys.spool_private.hex() not in made.spool_config.read_text()
    assert made.losses.read_bytes() == bytes(64)


def _forget(mind: MindFolder) -> None:
    mind.spool_config.unlink()
    mind.losses.unlink()
    mind.spool.rmdir()


WITHOUT_SPOOL: dict[str, Callable[[MindFolder], object]] = {
    "of a version without hooks": _forget,
    "without the config": lambda mind: mind.spool_config.unlink(),
    "with half a config": lambda mind: mind.spool_config.write_bytes(mind.spool_config.read_bytes()[:40]),
    "with another key's config": lambda mind: mind.spool_config.write_bytes(
        json.dumps({"version": 1, "public": "00" * 32, "names": "00" * 32}).encode()
    ),
    "without the count of losses": lambda mind: mind.losses.unlink(),
}


@pytest.mark.parametrize("what", WITHOUT_SPOOL)
def test_what_hooks_need_is_made_again_when_a_mind_is_opened(tmp_path: Path, what: str) -> None:
    made = create_mind(tmp_path, "default", CLOCK)
    before = files_of(tmp_path)
    WITHOUT_SPOOL[what](made)
    open_mind(tmp_path, "default")
    assert files_of(tmp_path) == before
    assert {stat.S_IMODE(path.stat().st_mode) for path in (made.spool_config, made.losses)} == {0o600}
    assert stat.S_IMODE(made.spool.stat().st_mode) == 0o700


def test_what_hooks_could_not_write_stays_counted_when_a_mind_is_opened(tmp_path: Path) -> None:
    made = create_mind(tmp_path, "default", CLOCK)
    made.losses.write_bytes(bytes([3]) + bytes(63))
    open_mind(tmp_path, "default")
    assert made.losses.read_bytes()[0] == 3


def test_a_mind_opens_though_what_its_hooks_need_cannot_be_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = create_mind(tmp_path, "default", CLOCK)
    _forget(made)
    made.spool.write_bytes(b"a file where the folder should be")
    open_mind(tmp_path, "default")
    assert "hooks of default" in caplog.text
