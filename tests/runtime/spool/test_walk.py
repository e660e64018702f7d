"""However a file is damaged, what is lost is what was touched; the rest comes once, in order, in whatever parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.events import HookRecord
from mnemic.actors.kernel.ports import UndecodedRecord
from mnemic.runtime.spool import walk as walk_module
from mnemic.runtime.spool.frames import FRAME_MAGIC, FrameDecryptor
from mnemic.runtime.spool.walk import ScanResult, scan_records
from tests.runtime import spooling
from tests.runtime.spooling import PRIVATE, frames, plain, record, sealed

OPENER = FrameDecryptor(PRIVATE)
EVERYTHING = 1 << 40


def go(
    data: bytes, offset: int = 0, limit_records: int = EVERYTHING, limit_bytes: int = EVERYTHING, settled: bool = True
) -> ScanResult:
    return scan_records(
        lambda position, length: data[position : position + length],
        len(data),
        settled,
        offset,
        limit_records,
        limit_bytes,
        OPENER,
    )


def in_parts(data: bytes, limit_records: int, limit_bytes: int) -> Iterator[ScanResult]:
    """Walk through, each time as after a restart."""
    offset = 0
    while offset < len(data):
        part = go(data, offset, limit_records, limit_bytes)
        assert part.offset > offset
        yield part
        offset = part.offset


written = st.lists(
    st.tuples(st.binary(max_size=40), st.lists(st.integers(1, 160), max_size=3)), min_size=1, max_size=5
).map(lambda drawn: [(record(number, payload), cuts) for number, (payload, cuts) in enumerate(drawn)])
"""Records, each with where it is cut into frames."""
limits = st.tuples(st.integers(1, 4), st.integers(1, 200))


def extents(given: Sequence[tuple[HookRecord, list[int]]]) -> list[tuple[int, int]]:
    """Where each record lies in a file without a header."""
    return list(pairwise(accumulate((len(sealed(*one)) for one in given), initial=0)))


def joined(given: Sequence[tuple[HookRecord, list[int]]]) -> bytes:
    return b"".join(sealed(*one) for one in given)


@given(written, limits)
def test_what_is_whole_comes_once_and_in_order_in_whatever_parts(
    given: list[tuple[HookRecord, list[int]]], limits: tuple[int, int]
) -> None:
    data = joined(given)
    whole = go(data)
    assert whole == ScanResult(tuple(one for one, _ in given), len(data), 0, False)
    parts = list(in_parts(data, *limits))
    assert sum((part.records for part in parts), ()) == whole.records
    for part in parts:
        assert len(part.records) <= limits[0]
        assert sum(len(plain(one)) for one in part.records[:-1] if isinstance(one, HookRecord)) < limits[1]


@given(written, limits, st.data())
def test_damage_loses_the_records_that_it_touches_and_no_other(
    given: list[tuple[HookRecord, list[int]]], limits: tuple[int, int], data: st.DataObject
) -> None:
    whole = joined(given)
    position = data.draw(st.integers(0, len(whole) - 1))
    kind = data.draw(st.sampled_from(["truncation", "bit", "garbage", "hole"]))
    if kind == "truncation":
        damaged, end = whole[:position], len(whole)
    elif kind == "bit":
        wrong = bytes([whole[position] ^ 1 << data.draw(st.integers(0, 7))])
        damaged, end = whole[:position] + wrong + whole[position + 1 :], position + 1
    elif kind == "garbage":
        damaged, end = whole[:position] + data.draw(garbage) + whole[position:], position
    else:
        end = data.draw(st.integers(position, min(position + 300, len(whole))))
        damaged = whole[:position] + whole[end:]
    spared = [
        one for (one, _), (start, stop) in zip(given, extents(given), strict=True) if stop <= position or start >= end
    ]
    found = go(damaged)
    touched = [one for one, _ in given if one not in spared]
    assert [one for one in found.records if one not in touched] == spared
    assert len(found.records) == len(set(found.records))
    assert set(found.records) <= {one for one, _ in given}
    assert found.offset == len(damaged)
    parts = list(in_parts(damaged, *limits))
    assert sum((part.records for part in parts), ()) == found.records
    assert sum(part.torn for part in parts) == found.torn
    assert any(part.has_undecryptable for part in parts) == found.has_undecryptable


garbage = st.lists(
    st.one_of(st.binary(max_size=200), st.just(FRAME_MAGIC), st.just(sealed(record(99))[:79]), st.just(bytes(2000))),
    min_size=1,
    max_size=3,
).map(b"".join)


@given(st.lists(garbage, max_size=4), limits)
def test_bytes_that_are_no_frames_are_passed_and_counted(stretches: list[bytes], limits: tuple[int, int]) -> None:
    stretches = [one for one in stretches if one]
    data = b"".join(stretch + sealed(record(number)) for number, stretch in enumerate(stretches))
    parts = list(in_parts(data, *limits))
    assert sum((part.records for part in parts), ()) == tuple(record(number) for number in range(len(stretches)))
    assert sum(part.torn for part in parts) == len(stretches)


@given(written, st.lists(st.integers(0, 10_000), max_size=5))
def test_a_short_write_that_is_repeated_costs_no_record(
    given: list[tuple[HookRecord, list[int]]], cuts: list[int]
) -> None:
    data, short = b"", iter(cuts)
    tears = 0
    for one in (frame for written in given for frame in frames(*written)):
        cut = next(short, 0) % len(one)
        data += one[:cut] + one
        tears += cut > 0
    found = go(data)
    assert found == ScanResult(tuple(one for one, _ in given), len(data), tears, False)


def test_a_frame_that_was_written_twice_counts_once() -> None:
    for cuts in ([], [10, 20]):
        whole = frames(record(1, b"payload"), cuts)
        for number in range(len(whole)):
            data = b"".join(whole[: number + 1] + whole[number:]) + sealed(record(2))
            for limit in (1, 2):
                parts = list(in_parts(data, limit, EVERYTHING))
                assert sum((part.records for part in parts), ()) == (record(1, b"payload"), record(2))


life = st.lists(
    st.tuples(
        st.sampled_from(["whole", "killed", "slow"]),
        st.binary(max_size=40),
        st.lists(st.integers(1, 160), max_size=2),
        st.integers(0, 10_000),
        limits,
    ),
    max_size=6,
)


@given(life)
def test_a_file_that_grows_gives_each_record_once_however_the_reader_comes_in_between(
    life: list[tuple[str, bytes, list[int], int, tuple[int, int]]],
) -> None:
    data, offset, torn = b"", 0, 0
    taken: list[HookRecord | UndecodedRecord] = []
    expected = []

    def read(settled: bool, limits: tuple[int, int]) -> None:
        nonlocal offset, torn
        part = go(data, offset, *limits, settled=settled)
        taken.extend(part.records)
        assert offset <= part.offset <= len(data)
        assert not part.has_undecryptable
        offset, torn = part.offset, torn + part.torn

    for number, (how, payload, cuts, cut, bounds) in enumerate(life):
        one = record(number, payload)
        bytes_ = sealed(one, cuts)
        if how == "killed":
            data += bytes_[: cut % len(bytes_)]
        elif how == "slow":  # the reader sees half of it while its hook has the lock
            data += bytes_[: cut % len(bytes_)]
            read(False, bounds)
            data += bytes_[cut % len(bytes_) :]
        else:
            data += bytes_
        if how != "killed":
            expected.append(one)
        read(True, bounds)
    while offset < len(data):
        read(True, (1, 1))
    assert taken == expected
    assert torn <= sum(how == "killed" for how, *_ in life)


@given(st.binary(max_size=40), st.lists(st.integers(1, 160), max_size=2), st.data())
def test_what_a_hook_is_still_writing_waits(payload: bytes, cuts: list[int], data: st.DataObject) -> None:
    whole = sealed(record(1, payload), cuts)
    begun = sealed(record(0)) + whole[: data.draw(st.integers(0, len(whole) - 1))]
    start = len(sealed(record(0)))
    assert go(begun, settled=False) == ScanResult((record(0),), start, 0, False)
    assert go(begun, start, settled=False) == ScanResult((), start, 0, False)
    torn = int(len(begun) > start)
    assert go(begun, start) == ScanResult((), len(begun), torn, False)


def test_what_came_since_is_another_walk_s() -> None:
    data = sealed(record(1)) + sealed(record(2, b"x" * 100), [60]) + sealed(record(3))
    for size in range(len(data)):
        for settled in (True, False):
            found = scan_records(
                lambda position, length: data[position : position + length], size, settled, 0, 9, EVERYTHING, OPENER
            )
            assert found == go(data[:size], settled=settled)


@pytest.mark.parametrize("damaged", [sealed(record(1))[:-1] + b"\0", b"garbage", sealed(record(1))[:100]])
def test_what_looks_torn_while_somebody_writes_is_looked_at_again(damaged: bytes) -> None:
    data = sealed(record(0)) + damaged + sealed(record(2))
    assert go(data, settled=False) == ScanResult((record(0),), len(sealed(record(0))), 0, False)
    assert go(data).records == (record(0), record(2))


def test_a_record_whose_hook_was_killed_is_one_place_however_many_frames_it_had() -> None:
    parts = frames(record(1, b"x" * 100), [20, 40, 60])
    for kept in (parts[:1], parts[:3], [*parts[:2], parts[2][:50]], parts[1:], parts[2:]):
        data = b"".join(kept) + sealed(record(2))
        assert go(data) == ScanResult((record(2),), len(data), 1, False)
    two = b"".join([*parts[:2], *frames(record(3, b"y" * 50), [10])[:1]]) + sealed(record(2))
    assert go(two).torn == 2
    assert go(b"garbage" + b"".join(parts[1:]) + sealed(record(2))).torn == 1


@pytest.mark.parametrize(
    "strange",
    [
        spooling.frame(bytes(16), 0, b"", True, version=2),
        spooling.frame(bytes(16), 0, b"", True, cipher=7),
        spooling.frame(bytes(16), 0, b"", True, public=bytes(31) + b"\x09"),
        sealed(record(1))[:-1] + b"\0",
    ],
    ids=["a newer version", "another cipher", "another key", "a forgery"],
)
def test_what_is_there_from_end_to_end_and_does_not_open_is_said_to_be_strange(strange: bytes) -> None:
    data = sealed(record(2)) + strange + sealed(record(3))
    assert go(data) == ScanResult((record(2), record(3)), len(data), 1, True)
    assert go(sealed(record(2)) + strange).has_undecryptable


def test_a_record_longer_than_any_is_passed_and_said_to_be_strange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_module, "MAX_RECORD_BYTES", 300)
    data = sealed(record(1, b"x" * 400), [100, 200]) + sealed(record(2))
    assert go(data) == ScanResult((record(2),), len(data), 1, True)


def test_a_record_that_cannot_be_taken_apart_is_one_all_the_same() -> None:
    data = b"".join(spooling.frames_of(bytes(16), b"\xff")) + sealed(record(2))
    found = go(data)
    assert [type(one) for one in found.records] == [UndecodedRecord, HookRecord]
    assert (found.offset, found.torn) == (len(data), 0)


def test_an_empty_file_holds_nothing() -> None:
    assert go(b"") == ScanResult((), 0, 0, False)
