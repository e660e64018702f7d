"""What hooks wrote is read once, whoever renames, locks or appends; a file goes only when nothing could be lost."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.events import HookRecord
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.spool import spool as spool_module
from mnemic.runtime.spool.files import QUARANTINE, measure_backlog, read_losses
from mnemic.runtime.spool.frames import FILE_HEADER_BYTES
from mnemic.runtime.spool.spool import IDLE_S, Spool
from tests.clocks import ManualClock
from tests.paths import HOOK, built_hook
from tests.runtime import spooling
from tests.runtime.building import child, finish
from tests.runtime.spooling import PRIVATE, drain, file_id, frames, on_disk, record, sealed, write
from tests.waiting import BOUND_S

OTHER = bytes(31) + b"\x09"
"""Another mind's public key."""
EVERYTHING = (1 << 40, 1 << 40)


@pytest.fixture
def clock() -> ManualClock:
    """It starts now, as files do."""
    return ManualClock(SystemClock().now_us())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "spool"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def spool(folder: Path, clock: ManualClock) -> Spool:
    return Spool(folder, PRIVATE, clock)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be a hook that is writing."""
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_an_empty_spool_has_nothing_and_neither_has_one_that_is_not_there(tmp_path: Path, clock: ManualClock) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        empty = Spool(place, PRIVATE, clock)
        assert empty.read({}, 1, 1) is None
        assert empty.remove_consumed({}, on_disk) == []


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=4),
    st.integers(1, 4),
    st.integers(1, 300),
    st.integers(0, 20),
)
def test_every_record_comes_once_and_in_its_file_s_order_though_the_reader_is_made_anew(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[list[int]],
    limit_records: int,
    limit_bytes: int,
    restart: int,
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    expected: dict[bytes, list[HookRecord]] = {}
    for number, sizes in enumerate(files):
        given = [record(100 * number + at, b"x" * size) for at, size in enumerate(sizes)]
        write(folder, f"{number}", *map(sealed, given), number=number)
        expected[file_id(number)] = given
    offsets: dict[bytes, int] = {}
    taken: dict[bytes, list[object]] = {name: [] for name in expected}
    reader = Spool(folder, PRIVATE, SystemClock())
    for turn in range(1000):
        if turn == restart:
            reader = Spool(folder, PRIVATE, SystemClock())
        part = reader.read(offsets, limit_records, limit_bytes)
        if part is None:
            break
        assert part.torn == 0
        assert 1 <= len(part.records) <= limit_records
        assert part.offset > offsets.get(part.file, 0)
        offsets[part.file] = part.offset
        taken[part.file] += part.records
    assert taken == expected


def test_the_oldest_event_that_waits_is_told_whatever_the_files_say(folder: Path, spool: Spool) -> None:
    assert spool.oldest_at({}) is None
    first, second = record(1_000_000), record(2_000_000)
    path = write(folder, "one", sealed(first), sealed(second))
    write(folder, "two", sealed(record(3_000_000)), number=1)
    for name in ("one", "two"):
        os.utime(folder / f"{name}.spool", (7e9, 7e9))
    assert spool.oldest_at({}) == first.at
    assert spool.oldest_at({file_id(): 48 + len(sealed(first))}) == second.at
    assert spool.oldest_at({file_id(): path.stat().st_size}) == record(3_000_000).at
    offsets: dict[bytes, int] = {}
    drain(spool, offsets)
    assert spool.oldest_at(offsets) is None


def test_the_file_with_the_oldest_unread_record_comes_first(folder: Path, spool: Spool) -> None:
    write(folder, "b", sealed(record(10)), sealed(record(40)), number=0)
    write(folder, "a", sealed(record(20)), sealed(record(30)), number=15)
    offsets: dict[bytes, int] = {}
    at = []
    while (part := spool.read(offsets, 1, 1)) is not None:
        offsets[part.file] = part.offset
        at += [one.at - spooling.CREATED_US for one in part.records if isinstance(one, HookRecord)]
    assert at == [10, 40, 20, 30]  # after the first, the file that is read has its next one at 10 or later


def test_a_file_that_was_renamed_keeps_its_place(folder: Path, spool: Spool) -> None:
    path = write(folder, "one", sealed(record(1)), sealed(record(2)))
    offsets: dict[bytes, int] = {}
    part = spool.read(offsets, 1, 1)
    assert part is not None
    offsets[part.file] = part.offset
    path.rename(folder / "rotated.spool")
    assert drain(spool, offsets) == ([record(2)], 0)
    write(folder, "one", sealed(record(3)), number=1)
    assert drain(spool, offsets) == ([record(3)], 0)


@pytest.mark.parametrize("begun", [b"", b"half", sealed(record(5))[:100], *frames(record(5, b"x" * 20), [60])[:1]])
def test_what_a_hook_is_writing_waits_until_it_is_there_or_its_hook_is_dead(
    folder: Path, spool: Spool, begun: bytes
) -> None:
    path = write(folder, "one", sealed(record(1)), begun)
    offsets: dict[bytes, int] = {}
    with locked(path):
        assert drain(spool, offsets) == ([record(1)], 0)
        assert spool.read(offsets, *EVERYTHING) is None
    assert drain(spool, offsets) == ([], int(begun != b""))
    assert offsets[file_id()] == path.stat().st_size
    append(path, sealed(record(2)))
    assert drain(spool, offsets) == ([record(2)], 0)


def test_a_file_that_waits_keeps_no_other_from_being_read(folder: Path, spool: Spool) -> None:
    path = write(folder, "one", b"half")
    write(folder, "two", sealed(record(2)), number=1)
    with locked(path):
        assert drain(spool) == ([record(2)], 0)


@pytest.mark.parametrize(
    "header",
    [spooling.file_header(public=OTHER), spooling.file_header(version=2)],
    ids=["another key's", "a newer version's"],
)
def test_a_file_of_somebody_else_is_not_touched(folder: Path, spool: Spool, clock: ManualClock, header: bytes) -> None:
    path = folder / "one.spool"
    path.write_bytes(header + sealed(record(1)))
    clock.advance(10 * IDLE_S)
    assert spool.read({}, *EVERYTHING) is None
    assert spool.remove_consumed({file_id(): path.stat().st_size}, on_disk) == []
    assert path.read_bytes() == header + sealed(record(1))
    assert not (folder / QUARANTINE).exists()


@pytest.mark.parametrize("at", [0, 7, 8, 24, 32, 44])
def test_a_file_whose_header_is_damaged_is_quarantined_unread_and_nothing_of_it_comes_twice(
    folder: Path, clock: ManualClock, at: int
) -> None:
    path = write(folder, "one", sealed(record(1)), sealed(record(2)))
    offsets: dict[bytes, int] = {}
    spool = Spool(folder, PRIVATE, clock)
    part = spool.read(offsets, 1, 1)
    assert part is not None
    offsets[part.file] = part.offset
    damaged = bytearray(path.read_bytes())
    damaged[at] ^= 1
    path.write_bytes(damaged)
    assert measure_backlog(folder, offsets).unreadable == ("one.spool",)
    with path.open("rb") as held:  # its hook is at work
        fcntl.flock(held, fcntl.LOCK_EX)
        assert drain(Spool(folder, PRIVATE, clock), offsets) == ([], 0)
        assert path.exists()
    assert drain(Spool(folder, PRIVATE, clock), offsets) == ([], 0)
    assert not path.exists()
    assert [kept.read_bytes() for kept in (folder / QUARANTINE).iterdir()] == [damaged]
    assert len(read_losses(folder).quarantined) == 1


def test_of_files_whose_damaged_headers_are_the_same_bytes_each_is_quarantined(folder: Path, spool: Spool) -> None:
    contents = [bytes(FILE_HEADER_BYTES) + sealed(record(number)) for number in range(3)]
    for number, content in enumerate(contents):  # as a power cut may leave them
        (folder / f"{number}.spool").write_bytes(content)
    assert drain(spool) == ([], 0)
    assert sorted(kept.read_bytes() for kept in (folder / QUARANTINE).iterdir()) == sorted(contents)
    assert len(read_losses(folder).quarantined) == 3


def test_a_file_with_what_does_not_open_is_kept_whole_when_it_is_removed(
    folder: Path, spool: Spool, clock: ManualClock
) -> None:
    forged = sealed(record(1))[:-1] + b"\0"
    path = write(folder, "one", forged, sealed(record(2)))
    offsets: dict[bytes, int] = {}
    assert drain(spool, offsets, limit_records=1) == ([record(2)], 1)
    append(path, sealed(record(3)))
    assert drain(spool, offsets) == ([record(3)], 0)
    whole = path.read_bytes()
    clock.advance(2 * IDLE_S)
    assert spool.remove_consumed(offsets, on_disk) == [file_id()]
    assert not path.exists()
    (kept,) = (folder / QUARANTINE).iterdir()
    assert kept.read_bytes() == whole


def test_a_file_whose_hooks_were_killed_is_not_kept(folder: Path, spool: Spool) -> None:
    write(folder, "one", sealed(record(1))[:100], sealed(record(2)), sealed(record(3))[:30])
    assert drain(spool) == ([record(2)], 2)
    assert not (folder / QUARANTINE).exists()


def test_a_file_is_removed_when_it_is_taken_in_and_has_been_silent(
    folder: Path, spool: Spool, clock: ManualClock
) -> None:
    path = write(folder, "one", sealed(record(1)))
    offsets: dict[bytes, int] = {}
    clock.advance(2 * IDLE_S)
    assert spool.remove_consumed(offsets, on_disk) == []
    drain(spool, offsets)
    assert spool.remove_consumed({file_id(): offsets[file_id()] - 1}, on_disk) == []
    with locked(path):
        assert spool.remove_consumed(offsets, on_disk) == []
    assert spool.remove_consumed(offsets, on_disk) == [file_id()]
    assert list(folder.iterdir()) == []


def test_no_file_goes_before_the_disk_has_what_it_held(folder: Path, spool: Spool, clock: ManualClock) -> None:
    asked: list[bool] = []

    def checkpoint(complete: bool) -> bool:
        asked.append(complete)
        return complete

    paths = [write(folder, f"{number}", sealed(record(number)), number=number) for number in (1, 2)]
    offsets: dict[bytes, int] = {}
    drain(spool, offsets)
    assert spool.remove_consumed(offsets, lambda: checkpoint(True)) == []
    assert asked == [], "there was none to remove"
    clock.advance(2 * IDLE_S)
    assert spool.remove_consumed(offsets, lambda: checkpoint(False)) == []
    assert all(path.exists() for path in paths)
    assert asked == [False], "once for all of them"
    assert spool.remove_consumed(offsets, lambda: checkpoint(True)) == [file_id(1), file_id(2)]
    assert not any(path.exists() for path in paths)


def test_a_file_that_went_before_is_told_of_only_where_all_that_is_there_could_be_seen(
    folder: Path, spool: Spool, clock: ManualClock
) -> None:
    write(folder, "one", sealed(record(1)))
    offsets = {b"gone" * 4: 99}
    drain(spool, offsets)
    assert spool.remove_consumed(offsets, on_disk) == [b"gone" * 4]
    (folder / "two.spool").symlink_to("one.spool")
    assert spool.remove_consumed(offsets, on_disk) == []
    (folder / "two.spool").unlink()
    assert Spool(folder / "nowhere", PRIVATE, clock).remove_consumed(offsets, on_disk) == []
    clock.advance(2 * IDLE_S)
    assert spool.remove_consumed(offsets, on_disk) == [file_id(), b"gone" * 4]


def test_what_the_disk_may_not_know_yet_is_not_told_of(
    folder: Path, spool: Spool, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = write(folder, "one", sealed(record(1)))
    offsets: dict[bytes, int] = {}
    drain(spool, offsets)
    clock.advance(2 * IDLE_S)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        assert spool.remove_consumed(offsets, on_disk) == []
    assert not path.exists()
    assert spool.remove_consumed(offsets, on_disk) == [file_id()]


def test_what_comes_at_the_very_moment_of_removing_keeps_the_file(
    folder: Path, spool: Spool, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder, "one", sealed(record(1)))
    offsets: dict[bytes, int] = {}
    drain(spool, offsets)
    clock.advance(2 * IDLE_S)
    real = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        """Whoever takes the lock finds that a hook had it just before."""
        if how & fcntl.LOCK_EX:
            append(path, sealed(record(2)))
        real(descriptor, how)

    with monkeypatch.context() as patch:
        patch.setattr(spool_module.fcntl, "flock", late)
        assert spool.remove_consumed(offsets, on_disk) == []
    assert drain(spool, offsets) == ([record(2)], 0)


def test_a_file_that_took_another_s_name_at_the_very_moment_of_removing_stays(
    folder: Path, spool: Spool, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder, "one", sealed(record(1)))
    offsets: dict[bytes, int] = {}
    drain(spool, offsets)
    clock.advance(2 * IDLE_S)
    real = fcntl.flock

    def replaced(descriptor: int, how: int) -> None:
        """Whoever takes the lock finds that another process removed the file, and a hook made a new one."""
        if how & fcntl.LOCK_EX:
            path.unlink()
            write(folder, "one", sealed(record(2)), number=1)
        real(descriptor, how)

    with monkeypatch.context() as patch:
        patch.setattr(spool_module.fcntl, "flock", replaced)
        assert spool.remove_consumed(offsets, on_disk) == []
    assert drain(spool, offsets) == ([record(2)], 0)


@pytest.mark.parametrize("set_by_s", [-10_000_000, 10_000_000], ids=["back", "forth"])
def test_a_clock_that_was_set_keeps_no_file_for_ever(
    folder: Path, spool: Spool, clock: ManualClock, set_by_s: int
) -> None:
    path = write(folder, "one", sealed(record(1)))
    at_s = clock.now_us() / 1e6 - set_by_s
    os.utime(path, (at_s, at_s))
    offsets: dict[bytes, int] = {}
    assert drain(spool, offsets) == ([record(1)], 0)
    assert spool.remove_consumed(offsets, on_disk) == [file_id()]


def test_what_comes_while_a_file_is_looked_at_starts_its_silence_anew(
    folder: Path, spool: Spool, clock: ManualClock
) -> None:
    path = write(folder, "one", sealed(record(1)))
    offsets: dict[bytes, int] = {}
    for number in range(2, 5):
        drain(spool, offsets)
        assert spool.remove_consumed(offsets, on_disk) == []
        clock.advance(IDLE_S - 1)
        append(path, sealed(record(number)))
        at_s = clock.now_us() / 1e6
        os.utime(path, (at_s, at_s))


def test_a_file_without_a_record_and_a_draft_of_a_dead_hook_go(folder: Path, spool: Spool, clock: ManualClock) -> None:
    write(folder, "bare")
    (folder / "empty.spool").touch()
    (folder / "short.spool").write_bytes(spooling.file_header()[:20])
    (folder / ".new-00").write_bytes(b"draft")
    assert drain(spool) == ([], 1)
    clock.advance(2 * IDLE_S)
    assert len(spool.remove_consumed({}, on_disk)) == 2
    assert {path.name for path in folder.iterdir()} == {QUARANTINE, ".new-00"}
    assert [path.read_bytes() for path in (folder / QUARANTINE).iterdir()] == [spooling.file_header()[:20]]
    clock.advance(3600)
    spool.remove_consumed({}, on_disk)
    assert {path.name for path in folder.iterdir()} == {QUARANTINE}


@pytest.mark.parametrize("length", [1, 8, FILE_HEADER_BYTES - 1])
def test_files_that_are_cut_within_their_header_are_counted_once_each_and_quarantined(
    folder: Path, spool: Spool, length: int
) -> None:
    write(folder, "whole", sealed(record(1)))
    for name, number in (("cut", 1), ("another", 2)):
        write(folder, name, sealed(record(number + 1)), number=number)
        os.truncate(folder / f"{name}.spool", length)
    offsets: dict[bytes, int] = {}
    assert drain(spool, offsets) == ([record(1)], 2)
    assert drain(spool, offsets) == ([], 0)
    assert [path.name for path in folder.glob("*.spool")] == ["whole.spool"]
    assert sorted(path.stat().st_size for path in (folder / QUARANTINE).iterdir()) == [length] * 2
    assert len(spool.remove_consumed(offsets, on_disk)) == 2
    write(folder, "cut", sealed(record(4)), number=3)
    assert drain(spool, offsets) == ([record(4)], 0)


def test_what_is_no_file_is_passed_over(folder: Path, spool: Spool, clock: ManualClock) -> None:
    (folder / "folder.spool").mkdir()
    os.mkfifo(folder / "pipe.spool")
    (folder / "link.spool").symlink_to(write(folder.parent / "elsewhere", "one", sealed(record(1))))
    (folder / "losses").write_bytes(bytes(64))
    clock.advance(10 * IDLE_S)
    before = {path.name for path in folder.iterdir()}
    assert spool.read({}, *EVERYTHING) is None
    assert spool.remove_consumed({}, on_disk) == []
    assert {path.name for path in folder.iterdir()} == before


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_read_and_is_said_once(
    folder: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad = write(folder, "a", sealed(record(1)))
    write(folder, "b", sealed(record(2)), number=1)
    real = os.open

    def refuse(path: str | Path, *rest: int) -> int:
        if path == bad:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(spool_module.os, "open", refuse)
        offsets: dict[bytes, int] = {}
        assert drain(spool, offsets) == ([record(2)], 0)
        assert spool.remove_consumed(offsets, on_disk) == []
    assert caplog.text.count("has to wait") == 1
    assert drain(spool, offsets) == ([record(1)], 0)


def test_a_file_that_cannot_be_quarantined_is_not_read_past(
    folder: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "one", sealed(record(1))[:-1] + b"\0", sealed(record(2)))

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(spool_module.os, "link", refuse)
        assert spool.read({}, *EVERYTHING) is None
    assert drain(spool) == ([record(2)], 1)


def test_a_file_that_a_power_cut_made_shorter_takes_what_comes_now(folder: Path, spool: Spool) -> None:
    path = write(folder, "one", sealed(record(1)), sealed(record(2)))
    offsets: dict[bytes, int] = {}
    drain(spool, offsets)
    os.truncate(path, path.stat().st_size - len(sealed(record(2))))
    assert drain(spool, offsets) == ([], 1)
    append(path, sealed(record(3)))
    assert drain(spool, offsets) == ([record(3)], 0)


def test_where_there_are_no_locks_a_file_is_settled_once_it_has_been_silent_and_never_removed(
    folder: Path, spool: Spool, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(spool_module.fcntl, "flock", none)
    path = write(folder, "one", sealed(record(1)), b"half")
    offsets: dict[bytes, int] = {}
    assert drain(spool, offsets) == ([record(1)], 0)
    clock.advance(2 * IDLE_S)
    assert drain(spool, offsets) == ([], 1)
    assert spool.remove_consumed(offsets, on_disk) == []
    assert path.exists()


def test_no_file_stays_open(folder: Path, spool: Spool, clock: ManualClock) -> None:
    descriptors = Path("/dev/fd")
    for number in range(20):
        write(folder, f"{number}", sealed(record(number)), b"half", number=number)
    (folder / "foreign.spool").write_bytes(spooling.file_header(99, OTHER))
    before = len(list(descriptors.iterdir()))
    offsets: dict[bytes, int] = {}
    drain(spool, offsets)
    clock.advance(2 * IDLE_S)
    assert len(spool.remove_consumed(offsets, on_disk)) == 20
    assert len(list(descriptors.iterdir())) == before


def test_a_long_file_is_read_in_little_memory_and_a_long_record_is_joined_once(
    folder: Path, clock: ManualClock
) -> None:
    payload = bytes(range(256)) * (40 << 12)  # 40 MiB
    write(folder, "long", bytes(40 << 20), sealed(record(1, payload)), *map(sealed, map(record, range(2, 30))))
    reader = Spool(folder, PRIVATE, clock)
    tracemalloc.start()
    try:
        found = reader.read({}, 1, 1)
        _, most = tracemalloc.get_traced_memory()
        assert found is not None
        assert (found.records, found.torn) == ((record(1, payload),), 1)
        assert most < 2.3 * len(payload)
        del found
        tracemalloc.reset_peak()
        offsets: dict[bytes, int] = {file_id(): 48 + (40 << 20) + len(payload)}
        drain(reader, offsets)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


# --- racing ----------------------------------------------------------------------------------------------------------

REMOVALS = 25


def keep_on(mind: str, writer: str, enough: str) -> None:
    """In a process: be one hook of a session after the other, until there is a file of that name; say how many."""
    hook = [HOOK, "codex", "tool", "--home", Path(mind).parents[1]]
    number = 0
    while not os.path.exists(enough):
        payload = f"{writer}/{number}/".encode() + b"x" * (number % 7 * 1000)
        subprocess.run(hook, input=payload, check=True, timeout=BOUND_S, env=os.environ | {"MNEMIC_OFF": ""})
        number += 1
    print(number)


@pytest.mark.system
@pytest.mark.parametrize("writers", [1, 3])
def test_nothing_is_lost_when_files_are_removed_at_the_very_moment_hooks_write(tmp_path: Path, writers: int) -> None:
    create_mind(tmp_path, "default", SystemClock())
    folder, keys = open_mind(tmp_path, "default")
    always_silent = ManualClock(SystemClock().now_us() + 600_000_000)
    spool = Spool(folder.spool, keys.spool_private, always_silent)
    enough = tmp_path / "enough"
    processes = [child("runtime.spool.test_spool:keep_on", folder.path, writer, enough) for writer in range(writers)]
    offsets: dict[bytes, int] = {}
    taken: list[HookRecord] = []
    removed = 0
    until_s = time.monotonic() + 100
    while True:
        if removed >= REMOVALS or time.monotonic() > until_s:
            enough.touch()
        is_over = all(process.poll() is not None for process in processes)
        records, torn = drain(spool, offsets, limit_records=7, limit_bytes=10_000)
        assert torn == 0
        taken += [one for one in records if isinstance(one, HookRecord)]
        for gone in spool.remove_consumed(offsets, on_disk):
            offsets.pop(gone, None)
            removed += 1
        if is_over:
            break
    counts = [int(finish(process)) for process in processes]
    found = Counter(one.payload.rstrip(b"x") for one in taken)
    assert found == Counter(f"{one}/{number}/".encode() for one in range(writers) for number in range(counts[one]))
    assert len({one.id for one in taken}) == len(taken)
    if writers == 1:  # others may keep a hook from its session's file, and then it takes one beside it
        assert [one.payload.split(b"/")[1] for one in taken] == [b"%d" % number for number in range(counts[0])]
    assert removed >= REMOVALS
    assert read_losses(folder.spool).lost == 0


def test_a_lock_that_is_held_keeps_no_hook_from_writing(tmp_path: Path) -> None:
    made = create_mind(tmp_path, "default", SystemClock())
    _, keys = open_mind(tmp_path, "default")
    run = [built_hook(), "codex", "tool", "--home", str(tmp_path)]
    for number in range(2):
        subprocess.run(run, input=b"%d" % number, check=True, timeout=BOUND_S, env=os.environ | {"MNEMIC_OFF": ""})
    with locked(next(made.spool.glob("*.spool"))):
        subprocess.run(run, input=b"2", check=True, timeout=BOUND_S, env=os.environ | {"MNEMIC_OFF": ""})
    taken, torn = drain(Spool(made.spool, keys.spool_private, SystemClock()))
    assert torn == 0
    assert sorted(one.payload for one in taken if isinstance(one, HookRecord)) == [b"0", b"1", b"2"]
    assert len(list(made.spool.glob("*.1.spool"))) == 1
