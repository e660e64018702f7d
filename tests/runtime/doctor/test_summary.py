"""What can be said of a mind at once: how much is in it, when it was added to, and what is plainly wrong."""

from __future__ import annotations

import struct
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.runtime.capture.pauses import pause
from mnemic.runtime.doctor.summary import MindSummary, summarize_mind
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.clocks import ManualClock
from tests.runtime import spooling
from tests.runtime.building import apply

NOW_US = spooling.CREATED_US + 60_000_000
CLOCK = ManualClock(NOW_US)


@pytest.fixture
def folder(tmp_path: Path) -> MindFolder:
    return create_mind(tmp_path, "default", CLOCK)


def summary(folder: MindFolder) -> MindSummary:
    found = summarize_mind(folder.home, folder.path.name, CLOCK)
    assert found is not None
    return found


def test_a_mind_says_how_much_it_holds_and_when_the_newest_came(folder: MindFolder) -> None:
    assert summary(folder) == MindSummary(memories=0, has_recovery=False)
    with closing(Store.open(folder.store, open_mind(folder.home, "default")[1])) as store:
        apply(store, added(1), at=5_000_000)
        apply(store, added(2), added(3), at=9_000_000)
        assert summary(folder) == MindSummary(
            memories=3, captured_at=9_000_000, has_recovery=False
        )  # while another writes


def test_what_hooks_wrote_and_nobody_took_in_is_counted(folder: MindFolder) -> None:
    public = open_mind(folder.home, "default")[1].spool_public()
    written = spooling.frames(spooling.record(1, b"an otter"), public=public)
    (folder.spool / f"{'0a' * 16}.spool").write_bytes(b"".join([spooling.file_header(1, public), *written]))
    assert summary(folder).waiting_bytes == sum(map(len, written))


def test_a_mind_that_is_not_there_has_none_and_a_name_that_cannot_be_is_refused(tmp_path: Path) -> None:
    assert summarize_mind(tmp_path, "default", CLOCK) is None
    with pytest.raises(InvalidValue, match="it names a folder"):
        summarize_mind(tmp_path, "../x", CLOCK)
    assert list(tmp_path.iterdir()) == []


def test_a_locked_mind_is_said_to_be_locked_and_nothing_is_wrong_with_it(tmp_path: Path) -> None:
    folder = create_mind(tmp_path, "default", CLOCK, passphrase="a heron at the weir")
    assert summary(folder) == MindSummary(locked=True, has_recovery=False)


def test_what_is_wrong_is_said_with_what_to_do(folder: MindFolder) -> None:
    pause(folder.home, "default", NOW_US, None)
    folder.losses.write_bytes(struct.pack("<QQQ", 3, NOW_US, 2_000_000).ljust(64, b"\0"))
    keys = open_mind(folder.home, "default")[1]
    with closing(Store.open(folder.store, keys)) as store, store.transaction() as (_, db):
        db.execute("INSERT INTO lost(last, count, until, power_cut) VALUES(9, 2, 5, 0), (8, 4, 4, 1)")
    seen = summary(folder)
    paused, (missing, lost) = seen.paused, seen.wrong
    assert missing.startswith("2 transactions that were acknowledged")
    assert "mnemic resume" in paused
    assert lost.startswith("hooks could not write 3 events")
    folder.key.unlink()
    found = summary(folder)
    assert found.memories is None
    assert str(folder.key) in found.wrong[0]
