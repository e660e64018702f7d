"""Keeping and moving, through the faces: a mind that is backed up, exported, restored or imported answers as it did."""

from __future__ import annotations

import io
import itertools
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemic
from mnemic.actors.capture.forget_messages import Selection
from mnemic.actors.kernel.errors import (
    AlreadyThere,
    BackupLocked,
    DiskFull,
    InvalidValue,
    KeyMismatch,
    MindLocked,
    NotABackup,
    NotAnExport,
    SourceUnreadable,
    WrongPassphrase,
    WrongRecoveryKey,
)
from mnemic.actors.kernel.message import format_id, parse_id
from mnemic.actors.transfer.changes import Tombstone
from mnemic.open_mind import open_served
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.restore import restore
from mnemic.runtime.capture.hook_files import install_hook_files
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys.key_slots import format_recovery_key
from mnemic.runtime.keys.keys import write_private
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from tests.clocks import ManualClock
from tests.processes.faces import EXAMPLE, Outcome, lines, turn
from tests.processes.serving import info_of, ready, serving
from tests.runtime.building import said

Command = Callable[..., Outcome]
WORDS = "nine books on a shelf"
OTHER = "ten jars on a sill"
START_US = 1_760_000_000_000_000
RECOVERY = bytes(range(32))


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes homes without a model."""
    folder, numbers = tmp_path_factory.mktemp("homes"), itertools.count()

    def make() -> Path:
        home = folder / f"{next(numbers)}"
        home.mkdir(mode=0o700)
        (home / "mnemic.toml").write_text(f'[embedder]\nmodel = "{home / "no model"}"\n', "utf-8")
        return home

    return make


def key_of(home: Path) -> Path:
    return home / "minds" / "default" / "key"


def texts(home: Path, **options: Any) -> list[bytes]:
    """What a mind holds, by its words."""
    with mnemic.open(home, **options) as mind:
        return sorted(hit.data for hit in mind.recall("otter", 100, observe=False).hits)


def otters(home: Path, *kept: str, **options: Any) -> Path:
    """A home whose mind holds texts."""
    with mnemic.open(home, **options) as mind:
        for text in kept:
            mind.remember(f"otter {text}")
    return home


def raises(kind: type[Exception], call: Callable[[], object]) -> str:
    """What is said of a refusal."""
    with pytest.raises(kind) as refused:
        call()
    return said(refused.value)  # type: ignore[arg-type]


# --- laws ------------------------------------------------------------------------------------------------------------

LETTERS = st.text(st.characters(codec=None), max_size=20)
STEPS = st.lists(
    st.tuples(st.sampled_from(["say", "again", "correct", "forget", "recover", "ask"]), st.integers(0, 5), LETTERS),
    max_size=8,
)
QUERIES = ("otter", "word0x", "word1x otter")


def lived(mind: Mind, home: Path, clock: ManualClock, steps: list[tuple[str, int, str]]) -> None:
    """Have a mind live through some steps, a second apart."""
    ids: list[bytes] = []
    for number, (step, which, text) in enumerate(steps):
        clock.advance(1.0)
        one = ids[which % len(ids)] if ids else None
        if step == "say" or one is None:
            kept = mind.remember(f"otter word{number}x {text}", scope=f"p/{which}", session=f"s{which % 2}")
            ids.append(kept.id)
        elif step == "again":
            path = lines(home / f"{number}.jsonl", turn("otter yes"), turn("otter yes"), turn(f"otter {text}"))
            mind.capture(path, embed=False)
        elif step == "correct":
            ids.append(mind.remember(f"otter rather word{number}x {text}", supersedes=one).id)
        elif step == "forget":
            mind.forget([one], "no more")
        elif step == "recover":
            mind.recover([one])
        else:
            mind.recall("otter", 3)


def answers(mind: Mind) -> list[Any]:
    """What a mind answers to the same questions, now and as of earlier times."""
    told: list[Any] = []
    for query, as_of in itertools.product(QUERIES, (None, START_US + 2_500_000, START_US + 5_500_000)):
        found = mind.recall(query, 50, as_of=as_of, observe=False)
        told.append((found.hits, found.searched, found.used_tokens))
    ids = [hit.id for hit in mind.recall("otter", 50, observe=False).hits]
    counts = mind.counts()
    told += [mind.get(ids), counts.memories, counts.retired, counts.sessions, counts.scopes, counts.text_bytes]
    return told


@settings(max_examples=3)
@given(steps=STEPS)
def test_backed_up_and_restored_exported_and_imported_a_mind_gives_the_same_answers(
    fresh: Callable[[], Path], steps: list[tuple[str, int, str]]
) -> None:
    home, clock = fresh(), ManualClock(START_US)
    with mnemic.open(home, clock=clock) as mind:
        lived(mind, home, clock, steps)
        before = answers(mind)
        kept = mind.backup(home / "kept.mnemic")
        mind.export(home / "exported")
        mind.remember("otter since then")
    assert kept.memories == before[-5]
    restored = restore(home / "kept.mnemic", home, replace=True)
    assert restored.memories == kept.memories
    with mnemic.open(home, clock=clock) as mind:
        assert answers(mind) == before
    other = fresh()
    with mnemic.open(other, clock=clock) as mind:
        mind.import_from(home / "exported")
        assert answers(mind) == before
        mind.import_from(home / "exported")
        assert answers(mind) == before


@pytest.mark.system
def test_two_machines_that_captured_the_same_transcripts_merge_without_doubles(fresh: Callable[[], Path]) -> None:
    one, two = fresh(), fresh()
    for home, own in ((one, "of the first"), (two, "of the second")):
        with mnemic.open(home) as mind:
            mind.capture(EXAMPLE, embed=False)
            mind.remember(f"otter {own}")
            mind.export(home / "exported")
            memories = mind.counts().memories
    for home, exported in ((one, two), (two, one)):
        with mnemic.open(home) as mind:
            done = mind.import_from(exported / "exported")
            assert (done.same_key, done.new, done.known) == (False, 1, memories - 1)
            assert mind.capture(EXAMPLE, embed=False).new == 0
    assert texts(one) == texts(two) == [b"otter of the first", b"otter of the second"]


# --- what opens a backup ---------------------------------------------------------------------------------------------


@pytest.fixture
def recoverable(home: Path) -> Path:
    """A home whose mind has a recovery key, and holds a memory."""
    create_mind(home, "default", ManualClock(1), recovery=RECOVERY)
    return otters(home, "one")


def test_the_key_file_that_is_there_opens_it_and_elsewhere_a_copy_does(recoverable: Path, tmp_path: Path) -> None:
    with mnemic.open(recoverable) as mind:
        mind.backup(tmp_path / "k")
    other = tmp_path / "other"
    told = raises(BackupLocked, lambda: restore(tmp_path / "k", other))
    assert told == f"Nothing that is here opens the backup {tmp_path / 'k'}."
    write_private(tmp_path / "wrong", bytes(32))
    raises(KeyMismatch, lambda: restore(tmp_path / "k", other, key_file=tmp_path / "wrong"))
    raises(SourceUnreadable, lambda: restore(tmp_path / "k", other, key_file=tmp_path / "none"))
    assert not list(other.rglob("minds/*"))
    done = restore(tmp_path / "k", other, key_file=key_of(recoverable))
    assert (done.key, done.new_key) == (str(key_of(other)), False)
    assert key_of(other).read_bytes() == key_of(recoverable).read_bytes()
    assert stat.S_IMODE(key_of(other).stat().st_mode) == 0o600
    assert texts(other) == [b"otter one"]


def test_opened_by_its_recovery_key_a_mind_gets_a_new_key_file_and_goes_on_having_that(
    recoverable: Path, tmp_path: Path
) -> None:
    with mnemic.open(recoverable) as mind:
        mind.backup(tmp_path / "k")
    other = tmp_path / "other"
    raises(WrongRecoveryKey, lambda: restore(tmp_path / "k", other, passphrase=format_recovery_key(bytes(32))))
    raises(InvalidValue, lambda: restore(tmp_path / "k", other, passphrase=WORDS))
    done = restore(tmp_path / "k", other, passphrase=format_recovery_key(RECOVERY))
    assert done.new_key
    assert key_of(other).read_bytes() != key_of(recoverable).read_bytes()
    assert texts(other) == [b"otter one"]
    key_of(other).unlink()
    assert (
        open_mind(other, "default", format_recovery_key(RECOVERY))[1].store_key
        == open_mind(recoverable, "default")[1].store_key
    )


def test_what_was_not_to_be_captured_is_known_to_a_mind_restored_elsewhere(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with mnemic.open(otters(home, "one")) as mind:
        mind.pause(for_s=3600.0)
        mind.resume()
        mind.backup(tmp_path / "k")
    restore(tmp_path / "k", other, key_file=key_of(home))
    kept = key_of(other).with_name("pauses")
    assert kept.read_bytes() == key_of(home).with_name("pauses").read_bytes() != b""
    kept.write_text("1 2\n")
    restore(tmp_path / "k", other, replace=True)
    assert kept.read_text() == "1 2\n", "a mind that is there keeps its own"


def test_a_passphrase_of_its_own_opens_a_backup_beside_what_opens_the_mind(home: Path, tmp_path: Path) -> None:
    with mnemic.open(otters(home, "one")) as mind:
        raises(InvalidValue, lambda: mind.backup(tmp_path / "short", passphrase="short"))
        mind.backup(tmp_path / "k", passphrase=WORDS)
    assert not (tmp_path / "short").exists()
    raises(WrongPassphrase, lambda: restore(tmp_path / "k", tmp_path / "other", passphrase=OTHER))
    assert restore(tmp_path / "k", tmp_path / "other", passphrase=WORDS).new_key
    assert texts(tmp_path / "other") == [b"otter one"]
    kept = restore(tmp_path / "k", home, replace=True, passphrase=WORDS)  # its key file is there, and stays
    assert (kept.new_key, kept.key) == (False, str(key_of(home)))
    assert texts(home) == [b"otter one"]


def test_a_mind_that_a_passphrase_locks_stays_locked_by_it_whatever_opened_the_backup(
    home: Path, tmp_path: Path
) -> None:
    with mnemic.open(otters(home, "one", passphrase=WORDS), passphrase=WORDS) as mind:
        mind.backup(tmp_path / "k", passphrase=OTHER)
    raises(BackupLocked, lambda: restore(tmp_path / "k", tmp_path / "other"))
    for said_ in (WORDS, OTHER):
        done = restore(tmp_path / "k", tmp_path / "other", replace=True, passphrase=said_)
        assert (done.key, done.new_key) == (None, False)
        raises(MindLocked, lambda: open_mind(tmp_path / "other", "default"))
        raises(WrongPassphrase, lambda: open_mind(tmp_path / "other", "default", OTHER))
        assert texts(tmp_path / "other", passphrase=WORDS) == [b"otter one"]


# --- what is not replaced --------------------------------------------------------------------------------------------


def test_nothing_is_replaced_unless_that_is_said(home: Path, tmp_path: Path) -> None:
    with mnemic.open(otters(home, "one")) as mind:
        (tmp_path / "k").write_bytes(b"mine")
        raises(AlreadyThere, lambda: mind.backup(tmp_path / "k"))
        raises(AlreadyThere, lambda: mind.backup(tmp_path, replace=True))
        raises(AlreadyThere, lambda: mind.export(tmp_path))
        assert (tmp_path / "k").read_bytes() == b"mine"
        mind.backup(tmp_path / "k", replace=True)
        raises(AlreadyThere, lambda: mind.restore(tmp_path / "k"))
        mind.remember("otter two")
        assert mind.counts().memories == 2
        mind.restore(tmp_path / "k", replace=True)
        assert mind.counts().memories == 1
        assert [hit.data for hit in mind.recall("otter").hits] == [b"otter one"]


def test_what_is_no_backup_leaves_the_mind_as_it_was(home: Path, tmp_path: Path) -> None:
    otters(home, "one")
    (tmp_path / "k").write_bytes(b"PK")
    raises(NotABackup, lambda: restore(tmp_path / "k", home, replace=True))
    raises(NotABackup, lambda: restore(tmp_path / "k", tmp_path / "other"))
    with mnemic.open(home) as mind:
        raises(NotAnExport, lambda: mind.import_from(tmp_path))
        mind.backup(tmp_path / "k", replace=True)
    whole = (tmp_path / "k").read_bytes()
    (tmp_path / "k").write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])  # within the store
    raises(NotABackup, lambda: restore(tmp_path / "k", home, replace=True))
    assert texts(home) == [b"otter one"]
    assert not (tmp_path / "other" / "minds" / "default").exists()


def test_a_mind_is_not_replaced_by_another_one_of_another_name(
    command: Command, home: Path, tmp_path: Path, typed: Callable[[str], None]
) -> None:
    otters(home, "one")
    with mnemic.open(home, mind="work") as mind:
        mind.remember("otter at work")
        mind.backup(tmp_path / "k", passphrase=WORDS)
    typed(WORDS)
    refused = command("restore", tmp_path / "k", "--replace", "--passphrase", "--home", home)
    assert refused.code != 0
    assert "it is of the mind 'work', and 'default', which it would replace, is another one" in refused.err
    assert "--mind work" in refused.err
    assert texts(home) == [b"otter one"]
    assert restore(tmp_path / "k", home, "trial", passphrase=WORDS).memories == 1
    done = restore(tmp_path / "k", home, "trial", replace=True, passphrase=WORDS)  # the same mind by another name
    assert (done.replaced, texts(home, mind="trial")) == (True, [b"otter at work"])


def test_backups_and_exports_that_were_made_are_known_to_the_mind_and_to_what_was_restored_from_them(
    home: Path, tmp_path: Path
) -> None:
    with mnemic.open(otters(home, "one")) as mind:
        mind.backup(tmp_path / "k")
        mind.export(tmp_path / "e")
    assert copies(home) == [(str(tmp_path / "k"), "backup"), (str(tmp_path / "e"), "export")]
    restore(tmp_path / "k", home, replace=True)
    assert copies(home) == [(str(tmp_path / "k"), "backup"), (str(tmp_path / "e"), "export")]
    restore(tmp_path / "k", tmp_path / "elsewhere", key_file=key_of(home))
    assert copies(tmp_path / "elsewhere") == [(str(tmp_path / "k"), "backup")]


def copies(home: Path) -> list[tuple[str, str]]:
    folder, keys = open_mind(home, "default")
    with closing(connect(folder.store, keys)) as connection:
        found: list[Any] = connection.execute("SELECT path, what FROM backups ORDER BY id").fetchall()
    return found


def test_what_was_erased_since_a_backup_is_named_and_what_it_never_held_stays_erased(
    home: Path, tmp_path: Path
) -> None:
    with mnemic.open(otters(home, "one", "two")) as mind:
        mind.backup(tmp_path / "k")
        one = mind.recall("one").hits[0].id
    folder, keys = open_mind(home, "default")
    with closing(Store.open(folder.store, keys)) as store, store.transaction() as (carry, connection):
        identity = connection.execute("SELECT identity FROM memories WHERE uuid = ?", (one,)).get
        marks = [Tombstone(identity=identity), Tombstone(identity=bytes(32))]
        carry(marks, at=1, key=b"e", author="test", run="", also=(Tombstone,))
    done = restore(tmp_path / "k", home, replace=True)
    assert done.erased == (one,)
    with closing(connect(folder.store, keys)) as connection:
        assert connection.execute("SELECT identity FROM erased").fetchall() == [(bytes(32),)]


def erased_marks(home: Path, passphrase: str | None = None) -> set[bytes]:
    folder, keys = open_mind(home, "default", passphrase)
    with closing(connect(folder.store, keys)) as connection:
        return {identity for (identity,) in connection.execute("SELECT identity FROM erased").fetchall()}


def erased_since(home: Path, backup: Path, **opened: Any) -> set[bytes]:
    """Back up a mind, erase something that is not in the backup, and give the marks that are left of it."""
    with mnemic.open(otters(home, "one", **opened), **opened) as mind:
        mind.backup(backup)
        mind.erase(Selection(ids=(mind.remember("otter two").id,)))
    marks = erased_marks(home, **opened)
    assert marks
    return marks


def test_what_was_erased_in_a_locked_mind_stays_erased_when_a_backup_takes_its_place(
    home: Path, tmp_path: Path
) -> None:
    marks = erased_since(home, tmp_path / "k", passphrase=WORDS)
    assert restore(tmp_path / "k", home, replace=True, passphrase=WORDS).marks_lost is None
    assert marks <= erased_marks(home, WORDS)
    with mnemic.open(home, passphrase=WORDS) as mind:
        mind.rekey(passphrase=OTHER)
        assert mind.restore(tmp_path / "k", replace=True, passphrase=WORDS).marks_lost is None
    assert marks <= erased_marks(home, WORDS), "the object knew what opened the mind that was replaced"


def test_where_nobody_knows_what_was_erased_that_is_said(command: Command, home: Path, tmp_path: Path) -> None:
    erased_since(home, tmp_path / "k")
    copy = tmp_path / "copy"
    write_private(copy, key_of(home).read_bytes())
    with mnemic.open(home) as mind:
        mind.rekey(passphrase=WORDS)
    told = command("restore", tmp_path / "k", "--replace", "--key-file", copy, "--home", home)
    assert "What was erased in the mind that was replaced is not known" in told.out
    assert "is locked" in told.out


def test_an_object_that_knows_the_passphrase_restores_by_it(home: Path, tmp_path: Path) -> None:
    with mnemic.open(otters(home, "one", passphrase=WORDS), passphrase=WORDS) as mind:
        mind.backup(tmp_path / "k", passphrase=OTHER)
        assert mind.restore(tmp_path / "k", replace=True).memories == 1
        assert mind.restore(tmp_path / "k", replace=True, passphrase=OTHER).memories == 1
        assert mind.recall("otter").hits, "what opens the backup alone did not take the place of what opens the mind"
        mind.rekey(passphrase=OTHER + OTHER)
        raises(BackupLocked, lambda: mind.restore(tmp_path / "k", replace=True))
        raises(MindLocked, lambda: mind.restore(tmp_path / "k", replace=True, passphrase=OTHER))
    assert texts(home, passphrase=WORDS) == [b"otter one"]


def test_a_mind_that_a_key_file_opened_is_restored_beneath_an_object_that_knew_a_passphrase(
    home: Path, tmp_path: Path
) -> None:
    with mnemic.open(otters(home, "one")) as mind:
        mind.backup(tmp_path / "k", passphrase=OTHER)
        mind.rekey(passphrase=WORDS)
        assert mind.restore(tmp_path / "k", replace=True, passphrase=OTHER).new_key
        assert mind.recall("otter").hits
        mind.rekey()
    assert texts(home) == [b"otter one"]


def test_no_copy_is_made_among_the_files_of_the_minds(home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home / "minds" / "default")
    with mnemic.open(otters(home, "one")) as mind:
        for inside in (home / "minds" / "default" / "store.db", tmp_path / "link" / "k"):
            raises(InvalidValue, lambda: mind.backup(inside, replace=True))  # noqa: B023
            raises(InvalidValue, lambda: mind.export(inside))  # noqa: B023
        assert [hit.data for hit in mind.recall("otter").hits] == [b"otter one"]


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has a line on standard input, which is no terminal."""
    return lambda line: monkeypatch.setattr("sys.stdin", io.StringIO(f"{line}\n"))


def test_the_command_keeps_and_brings_back(command: Command, home: Path, tmp_path: Path) -> None:
    otters(home, "one")
    kept = command("backup", tmp_path / "k", "--home", home)
    assert kept.code == 0
    assert f"1 memory in {tmp_path / 'k'}" in kept.out
    assert "opened and looked through" in kept.out
    again = command("backup", tmp_path / "k", "--home", home, "--json")
    assert (again.code, again.json["code"]) == (2, "already_there")
    assert "--replace" in again.json["remedy"]
    view = command("backup", tmp_path / "k", "--home", home, "--replace", "--json").json
    assert view.keys() == {"path", "memories", "size_bytes", "behind", "passphrase", "took_s"}
    otters(home, "two")
    refused = command("restore", tmp_path / "k", "--home", home)
    assert (refused.code, "--replace" in refused.err) == (2, True)
    restored = command("restore", tmp_path / "k", "--home", home, "--replace", "--json").json
    assert restored["memories"] == 1
    keys = {
        "mind",
        "folder",
        "memories",
        "made_at",
        "replaced",
        "key",
        "new_key",
        "erased",
        "hooked",
        "options",
        "marks_lost",
        "orphaned",
        "unread",
    }
    assert restored.keys() == {*keys, "took_s"}
    assert texts(home) == [b"otter one"]
    there = command("restore", tmp_path / "k", "--home", tmp_path / "o", "--key-file", key_of(home))
    assert "which was not there" in there.out


def test_the_command_takes_what_opens_a_backup_from_a_line(
    command: Command, recoverable: Path, tmp_path: Path, typed: Callable[[str], None]
) -> None:
    typed(WORDS)
    assert command("backup", tmp_path / "k", "--passphrase", "--home", recoverable, "--json").json["passphrase"]
    typed(WORDS)
    restored = command("restore", tmp_path / "k", "--passphrase", "--home", tmp_path / "a")
    assert "Its key is new" in restored.out
    typed(format_recovery_key(RECOVERY))
    assert command("restore", tmp_path / "k", "--recovery", "--home", tmp_path / "b", "--json").json["new_key"]
    both = command("restore", tmp_path / "k", "--recovery", "--passphrase", "--home", tmp_path / "c")
    assert (both.code, "one thing opens a backup" in both.err) == (2, True)
    alone = command("restore", tmp_path / "k", "--home", tmp_path / "c", "--json")
    assert (alone.code, alone.json["code"]) == (3, "backup_locked")
    assert "--recovery" in alone.json["remedy"]
    assert texts(tmp_path / "a") == texts(tmp_path / "b") == [b"otter one"]


def test_the_command_exports_in_clear_for_its_owner_alone_and_imports(
    command: Command, home: Path, tmp_path: Path
) -> None:
    otters(home, "one", "two")
    told = command("export", tmp_path / "e", "--home", home)
    assert "It is in clear" in told.out
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "e").iterdir()}
    assert (stat.S_IMODE((tmp_path / "e").stat().st_mode), modes) == (0o700, {0o600})
    other = tmp_path / "other"
    other.mkdir()
    taken = command("import", tmp_path / "e", "--home", other, "--no-meaning")
    assert "2 new memories" in taken.out
    assert "2 memories wait for the meaning" in taken.out
    again = command("import", tmp_path / "e", "--home", other, "--no-meaning", "--json").json
    assert (again["new"], again["known"], again["given"]) == (0, 2, 0)
    assert texts(other) == texts(home)
    none = command("import", tmp_path / "none", "--home", other, "--json")
    assert (none.code, none.json["code"]) == (2, "not_an_export")


def test_a_slip_in_the_recovery_key_is_said_to_be_one(
    command: Command, recoverable: Path, tmp_path: Path, typed: Callable[[str], None]
) -> None:
    with mnemic.open(recoverable) as mind:
        mind.backup(tmp_path / "k", passphrase=WORDS)
    typed(f"x{format_recovery_key(RECOVERY)[1:]}")
    refused = command("restore", tmp_path / "k", "--recovery", "--home", tmp_path / "a", "--json")
    assert (refused.code, refused.json["code"]) == (3, "wrong_recovery_key")
    assert "mistyped" in refused.json["error"]
    assert f"the backup {tmp_path / 'k'}" in refused.json["error"]
    assert not (tmp_path / "a").exists()


def test_what_is_no_export_makes_no_mind(command: Command, tmp_path: Path) -> None:
    refused = command("import", tmp_path / "none", "--home", tmp_path / "a", "--json")
    assert (refused.code, refused.json["code"]) == (2, "not_an_export")
    assert not (tmp_path / "a").exists()


def test_what_was_erased_is_known_though_the_info_file_of_the_replaced_mind_is_damaged(
    home: Path, tmp_path: Path
) -> None:
    marks = erased_since(home, tmp_path / "k")
    (home / "minds" / "default" / "mind.json").write_text("{")
    assert restore(tmp_path / "k", home, replace=True).marks_lost is None
    assert marks <= erased_marks(home)


def test_what_a_command_proposes_names_the_mind(command: Command, home: Path, tmp_path: Path) -> None:
    with mnemic.open(home, "work") as mind:
        one = mind.remember("otter one").id
        mind.backup(tmp_path / "k")
        mind.export(tmp_path / "e")
        mind.erase(Selection(ids=(one,)))
    told = command("restore", tmp_path / "k", "--replace", "--home", home, "--mind", "work").out
    proposed = f"mnemic forget --home {home} --mind work --erase {format_id(one)}"
    assert proposed in told
    assert command(*proposed.split()[1:], "--yes").code == 0


def test_the_command_says_what_came_otherwise(command: Command, home: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "a" / "shelf", tmp_path / "b" / "shelf"
    for folder, into in ((one, tmp_path / "other"), (two, home)):
        folder.mkdir(parents=True)
        with mnemic.open(into) as mind:
            kept = mind.remember("otter old", scope=mind.folder_scope(str(folder))[1])
            mind.remember("otter new", supersedes=kept.id)
            mind.forget([mind.remember("otter gone").id])
    command("export", tmp_path / "e", "--home", tmp_path / "other")
    told = command("import", tmp_path / "e", "--home", home).out
    assert "what was in shelf there is in shelf~2 here" in told
    assert f"mnemic scope merge --home {home} shelf~2 shelf" in told
    assert "\n1 replaced there is so here too\n" in told
    assert "another key" in told


def test_of_two_corrections_the_command_names_the_one_that_stands_in_both_minds(
    command: Command, home: Path, tmp_path: Path
) -> None:
    with mnemic.open(home) as mind:
        old = mind.remember("otter old").id
        mind.backup(tmp_path / "k")
    other = tmp_path / "other"
    restore(tmp_path / "k", other, key_file=key_of(home))
    ids = []
    for place, text in ((other, "earlier"), (home, "later")):
        with mnemic.open(place) as mind:
            ids.append(str(format_id(mind.correct(old, f"otter {text}").id)))
            mind.export(tmp_path / text)
    earlier, later = ids
    for place, text in ((home, "earlier"), (other, "later")):
        view = command("import", tmp_path / text, "--home", place, "--no-meaning", "--json").json
        assert (view["apart"], view["contrary"]) == ([[later, earlier]], [])
        with mnemic.open(place) as mind:
            assert [one.superseded_by for one in mind.get([parse_id(earlier), parse_id(later)])] == [
                parse_id(later),
                None,
            ]
    with mnemic.open(home) as mind:
        mind.correct(old, "otter last")
        mind.export(tmp_path / "last")
    third = tmp_path / "third"
    restore(tmp_path / "k", third, key_file=key_of(home))
    with mnemic.open(third) as mind:
        last = str(format_id(mind.correct(old, "otter at last").id))
    told = command("import", tmp_path / "last", "--home", third, "--no-meaning").out
    assert f"corrected here and there: {last} was said later and stands, and replaces" in told


def test_a_project_that_was_renamed_there_is_said_to_be_the_same(command: Command, home: Path, tmp_path: Path) -> None:
    folder, other = tmp_path / "shelf", tmp_path / "other"
    folder.mkdir()
    for into in (other, home):
        with mnemic.open(into) as mind:
            mind.remember(f"otter {into.name}", scope=mind.folder_scope(str(folder))[1])
    with mnemic.open(other) as mind:
        mind.rename_scope("shelf", "boats/shelf")
        mind.export(tmp_path / "e")
    told = command("import", tmp_path / "e", "--home", home, "--no-meaning").out
    assert "what was in boats/shelf there is in shelf here: the same project is called shelf here" in told
    assert "scope merge" not in told


def test_a_restore_says_that_hooks_are_not_there_unless_they_are(command: Command, home: Path, tmp_path: Path) -> None:
    with mnemic.open(otters(home, "one")) as mind:
        mind.backup(tmp_path / "k")
    other, proposed = tmp_path / "o o", "mnemic hooks install all --apply --home"
    told = command("restore", tmp_path / "k", "--home", other, "--key-file", key_of(home)).out
    assert f"{proposed} '{other}'\n" in told
    install_hook_files(other, "default", SystemClock())
    again = command("restore", tmp_path / "k", "--home", other, "--replace")
    assert (again.code, proposed in again.out) == (0, False)


def test_what_is_wrong_with_a_restore_is_said_of_the_file_that_it_is_wrong_with(
    command: Command, recoverable: Path, tmp_path: Path, typed: Callable[[str], None]
) -> None:
    with mnemic.open(recoverable) as mind:
        mind.backup(tmp_path / "k", passphrase=WORDS)
    none = command("restore", tmp_path / "k", "--key-file", tmp_path / "none", "--home", tmp_path / "a", "--json")
    assert (none.code, none.json["code"]) == (2, "source_unreadable")
    assert f"{tmp_path / 'none'} cannot be read: there is no such file" in none.json["error"]
    missing = command("restore", tmp_path / "no file", "--home", recoverable, "--json")
    assert (missing.code, missing.json["code"]) == (2, "not_a_backup")
    for option, said_, code in (
        ("--recovery", format_recovery_key(bytes(32)), "wrong_recovery_key"),
        ("--passphrase", OTHER, "wrong_passphrase"),
    ):
        typed(said_)
        refused = command("restore", tmp_path / "k", option, "--home", tmp_path / "a", "--mind", "copy3", "--json")
        assert (refused.code, refused.json["code"]) == (3, code)
        assert f"the backup {tmp_path / 'k'}" in refused.json["error"]
        assert "copy3" not in refused.json["error"]


@pytest.mark.parametrize("verb", ["backup", "export"])
def test_where_there_is_no_folder_for_a_copy_that_is_said(
    command: Command, home: Path, tmp_path: Path, verb: str
) -> None:
    otters(home, "one")
    refused = command(verb, tmp_path / "nodir" / "x", "--home", home, "--json")
    assert (refused.code, refused.json["code"]) == (2, "invalid_value")
    assert f"there is no folder {tmp_path / 'nodir'}" in refused.json["error"]


def test_on_a_full_disk_nothing_is_written_and_that_is_said(
    command: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mnemic.open(otters(home, "one")) as mind:
        mind.backup(tmp_path / "k")

    def full(*arguments: object, **named: object) -> None:
        raise DiskFull(path="deep/within")

    monkeypatch.setattr("mnemic.runtime.transfer.backup.copy_database", full)
    monkeypatch.setattr("mnemic.runtime.transfer.backup.create_file", full)
    monkeypatch.setattr("mnemic.runtime.transfer.export._write", full)
    monkeypatch.setattr("mnemic.runtime.minds.homes.write_key_header", full)
    for words in (
        ("backup", tmp_path / "b"),
        ("export", tmp_path / "e"),
        ("restore", tmp_path / "k", "--replace"),
        ("init", "--mind", "new"),
    ):
        refused = command(*words, "--home", home, "--json")
        assert (refused.code, refused.json["code"]) == (3, "disk_full"), words
        assert "what was there is as it was" in refused.json["error"]
    assert texts(home) == [b"otter one"]


# --- through the home's process --------------------------------------------------------------------------------------


@pytest.fixture
def served(home: Path) -> Iterator[Path]:
    otters(home, "one")
    with serving(home):
        ready(home)
        yield home


@pytest.mark.system
def test_beneath_a_process_that_serves_it_a_mind_is_kept_moved_and_replaced(
    command: Command, served: Path, tmp_path: Path
) -> None:
    process = ready(served).pid
    assert command("backup", tmp_path / "k", "--home", served, "--json").json["memories"] == 1
    assert command("remember", "otter two", "--home", served).code == 0
    assert command("export", tmp_path / "e", "--home", served, "--json").json["memories"] == 2
    assert command("restore", tmp_path / "k", "--home", served, "--replace").code == 0

    def asked() -> list[str]:
        hits = command("recall", "otter", "--scope", "*", "--home", served, "--json").json["hits"]
        return sorted(hit["text"] for hit in hits)

    assert asked() == ["otter one"]
    assert command("import", tmp_path / "e", "--home", served, "--json").json["new"] == 1
    assert asked() == ["otter one", "otter two"]
    mind = open_served(served, "default", SystemClock(), create=False)
    assert mind is not None
    with mind:
        mind.restore(tmp_path / "k", replace=True)
        assert mind.import_from(tmp_path / "e").new == 1
        assert mind.counts().memories == 2
    info = info_of(served)
    assert info is not None
    assert info.pid == process
