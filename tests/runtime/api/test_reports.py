"""Status is green only where nothing waits for long, was lost, or could not be understood."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemic.actors.capture.messages import CaptureProgress
from mnemic.runtime.api.reports import STALE_S, CaptureStatus, capture_status, format_size, pluralize
from tests.runtime import spooling

NOW_US = spooling.CREATED_US + 1_000_000


def waiting(**fields: Any) -> CaptureProgress:
    given: dict[str, Any] = {
        "offsets": {},
        "records": 7,
        "torn": 0,
        "quarantined": (),
        "quarantined_count": 0,
        "scrubbed": {},
        "transcripts": 0,
        "transcripts_bytes": 0,
        "transcripts_later": 0,
        "transcripts_failed": (),
        "checks": {},
    }
    return CaptureProgress(**(given | fields))


def seen(folder: Path, now: int = NOW_US, **fields: Any) -> CaptureStatus:
    return capture_status(folder, waiting(**fields), now)


def test_where_nothing_waits_there_is_one_line_and_no_complaint(tmp_path: Path) -> None:
    status = seen(tmp_path)
    assert list(status.lines()) == ["hooks: 7 records taken in"]
    assert list(status.warnings()) == []


def test_what_waits_is_told_with_its_age_and_is_a_complaint_once_it_is_old(tmp_path: Path) -> None:
    path = spooling.write(tmp_path, "a", *spooling.frames(spooling.record(1, b"x" * 2000)))
    assert "  2.2 kB wait in the spool, for 1 s" in list(seen(tmp_path).lines())
    assert list(seen(tmp_path).warnings()) == []
    old = seen(tmp_path, NOW_US + round(STALE_S * 1e6))
    assert list(old.warnings()) == ["hooks: 2.2 kB that they kept have waited for 10 minutes; `mnemic doctor` says why"]
    done = seen(tmp_path, offsets={spooling.file_id(): path.stat().st_size})
    assert (done.waits_s, list(done.warnings())) == (None, [])


def test_what_waits_is_as_old_as_the_mind_says_and_a_file_only_where_it_does_not(tmp_path: Path) -> None:
    first = b"".join(spooling.frames(spooling.record(1)))
    path = spooling.write(tmp_path, "a", first, *spooling.frames(spooling.record(2)))
    os.utime(path, (0, 0))
    half_read = {spooling.file_id(): 48 + len(first)}
    assert seen(tmp_path, offsets=half_read, oldest_at=NOW_US - 5_000_000).waits_s == 5
    assert seen(tmp_path, offsets=half_read).waits_s == NOW_US / 1e6
    all_read = {spooling.file_id(): path.stat().st_size}
    assert seen(tmp_path, offsets=all_read, oldest_at=NOW_US - 5_000_000).waits_s is None, "it came in meanwhile"


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"quarantined_count": 2}, "hooks: 2 records could not be understood; `mnemic doctor` shows them"),
        ({"transcripts_failed": (("/a", "it went"),)}, "transcripts: 1 could not be read; `mnemic doctor` shows them"),
    ],
)
def test_what_was_not_understood_is_a_complaint(tmp_path: Path, fields: dict[str, Any], complaint: str) -> None:
    assert list(seen(tmp_path, **fields).warnings()) == [complaint]


def test_what_was_lost_and_what_lies_there_unread_are_complaints(tmp_path: Path) -> None:
    (tmp_path / "losses").write_bytes(struct.pack("<QQQ", 3, NOW_US, 2_000).ljust(64, b"\0"))
    spooling.write(tmp_path / "aside", "a", *spooling.frames(spooling.record(1)))
    lost, quarantined = seen(tmp_path).warnings()
    assert lost.startswith("hooks: 3 events could not be written and were lost, the last at 20")
    assert quarantined == "hooks: 1 spool file held what cannot be opened"


def test_the_rest_is_told_where_there_is_something_to_tell(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"torn": 1, "scrubbed": {"a": 2, "b": 1}, "transcripts": 3, "transcripts_bytes": 4_000_000}
    assert list(seen(tmp_path, **fields).lines())[1:] == [
        "  1 place of the spool held no whole record",
        "  secrets taken out: a 2, b 1",
        "  transcripts to take in: 3 now (4.0 MB), 0 later",
    ]


def test_transcripts_that_wait_for_later_are_told_to_people_and_programs(tmp_path: Path) -> None:
    status = seen(tmp_path, transcripts_later=2)
    assert list(status.lines())[1:] == ["  transcripts to take in: 0 now (0 bytes), 2 later"]
    assert msgspec.json.decode(msgspec.json.encode(status))["transcripts_later"] == 2


@pytest.mark.parametrize(
    ("size_bytes", "told"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (99_000, "99.0 kB"), (100_000, "0.1 MB")],
)
def test_a_size_is_never_nothing_of_something(size_bytes: int, told: str) -> None:
    assert format_size(size_bytes) == told


@pytest.mark.parametrize(
    ("number", "one", "told"), [(1, "memory", "1 memory"), (2, "memory", "2 memories"), (0, "day", "0 days")]
)
def test_a_noun_is_told_in_its_number(number: int, one: str, told: str) -> None:
    assert pluralize(number, one) == told
