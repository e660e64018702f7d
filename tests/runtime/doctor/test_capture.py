"""The doctor says what waits, what was lost and what was not understood, and mends what can be tried again."""

from __future__ import annotations

import struct
from contextlib import closing, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from mnemic.actors.capture.changes import AdvanceSpool, FinishTranscript, QuarantineRecord, QueueTranscript
from mnemic.actors.capture.messages import QuarantineRetried
from mnemic.runtime.doctor.capture import check_capture, read_again
from mnemic.runtime.doctor.checks import Check
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.store.store import Store
from tests.clocks import ManualClock
from tests.runtime import spooling
from tests.runtime.building import apply, keys_of
from tests.runtime.targets import target_of

NOW_US = spooling.CREATED_US + 60_000_000


class Examined:
    def __init__(self, home: Path) -> None:
        create_mind(home, "default", ManualClock(NOW_US))
        self.home = home
        self.folder: MindFolder
        self.keys: Keys
        self.folder, self.keys = open_mind(home, "default")
        self.clock = ManualClock(NOW_US)

    def checks(self, *, serving: bool = False) -> dict[str, Check]:
        target = target_of(self.home, clock=self.clock, keys=self.keys, serving=serving, states={"store": "ok"})
        found = {check.name: check for check in check_capture(target)}
        for check in found.values():
            assert "\n" not in check.detail
            assert bool(check.remedy) == (check.state != "ok"), "what is not well has a remedy"
        return found

    def write(self, name: str, *payloads: bytes, key: bytes | None = None) -> bytes:
        """Write a file as a hook does; returns its id."""
        public = self.keys.spool_public() if key is None else key
        parts = [spooling.file_header(len(name), public)]
        for number, payload in enumerate(payloads):
            parts += spooling.frames(spooling.record(number, payload), public=public)
        (self.folder.spool / f"{name}.spool").write_bytes(b"".join(parts))
        return spooling.file_id(len(name))

    def apply(self, *changes: object) -> None:
        with closing(Store.open(self.folder.store, self.keys)) as store:
            apply(store, *changes)  # type: ignore[arg-type]


@pytest.fixture
def examined(tmp_path: Path) -> Examined:
    return Examined(tmp_path)


def test_where_nothing_happened_all_is_well(examined: Examined) -> None:
    assert {check.state for check in examined.checks().values()} == {"ok"}


def test_what_waits_is_well_for_a_while_and_wrong_where_a_process_should_have_taken_it_in(examined: Examined) -> None:
    file = examined.write("a", b"x" * 200)
    assert examined.checks(serving=True)["spool"].state == "ok"
    assert "the oldest for 1 minute" in examined.checks()["spool"].detail
    examined.clock.advance(600)
    assert (examined.checks()["spool"].state, examined.checks(serving=True)["spool"].state) == ("advice", "wrong")
    examined.apply(AdvanceSpool(file=file, offset=(examined.folder.spool / "a.spool").stat().st_size, records=1))
    assert examined.checks(serving=True)["spool"].detail == "all that hooks wrote is taken in"
    assert examined.checks()["records"].detail == "1 record of hooks taken in"


def test_lost_events_are_wrong_for_a_week_and_told_for_good(examined: Examined) -> None:
    examined.folder.losses.write_bytes(struct.pack("<QQQ", 3, NOW_US, 2_000_000).ljust(64, b"\0"))
    check = examined.checks()["losses"]
    assert (check.state, "3 events (2.0 MB)" in check.detail) == ("wrong", True)
    examined.clock.advance(8 * 86_400)
    assert examined.checks()["losses"].state == "advice"


def test_a_file_of_another_key_is_named(examined: Examined) -> None:
    examined.write("strange", b"x", key=keys_of(bytes(32)).spool_public())
    check = examined.checks()["strange"]
    assert (check.state, "strange.spool" in check.detail) == ("wrong", True)


def test_a_quarantined_file_is_told_of(examined: Examined) -> None:
    (examined.folder.spool / "aside").mkdir()
    examined.write("a", b"x")
    (examined.folder.spool / "a.spool").rename(examined.folder.spool / "aside" / "a.spool")
    assert examined.checks()["strange"].state == "advice"


def test_records_that_were_not_understood_are_shown_with_host_event_and_reason(examined: Examined) -> None:
    quarantined = [
        QuarantineRecord(
            record=bytes([n]) * 16, assistant="codex", event="prompt", why=f"reason {n}\nand more", text=b"secret"
        )
        for n in range(5)
    ]
    examined.apply(*quarantined, AdvanceSpool(file=bytes(16), offset=9, torn=2))
    check = examined.checks()["records"]
    assert (check.state, check.repairable) == ("wrong", True)
    assert check.detail.startswith("5 records could not be understood (codex prompt: reason 4 and more; codex prompt:")
    assert "2 places of the spool held no whole record" in check.detail
    assert "secret" not in check.detail


def test_a_transcript_that_could_not_be_read_is_named_once(examined: Examined) -> None:
    for path, why in (("/t/one", "/t/one cannot be read: it went"), ("/t/two", "it went")):
        examined.apply(QueueTranscript(path=path, format="codex", due_at=0, changed_at=0))
        examined.apply(FinishTranscript(path=path, size_bytes=0, why=why))
    check = examined.checks()["transcripts"]
    assert sorted(check.detail[check.detail.index("(") + 1 : check.detail.index(")")].split("; ")) == [
        "/t/one cannot be read: it went",
        "/t/two: it went",
    ]


def test_torn_places_alone_are_told_of(examined: Examined) -> None:
    examined.apply(AdvanceSpool(file=bytes(16), offset=9, records=4, torn=1))
    check = examined.checks()["records"]
    assert (check.state, check.repairable) == ("advice", False)
    assert check.detail == "4 records taken in; 1 place of the spool held no whole record"


def test_transcripts_that_could_not_be_read_are_shown_with_the_reason(examined: Examined) -> None:
    examined.apply(QueueTranscript(path="/a", format="codex", due_at=NOW_US - 1, changed_at=1))
    assert examined.checks()["transcripts"].detail == "1 wait to be taken in now, 0 later"
    examined.apply(FinishTranscript(path="/a", size_bytes=0, why="it went"))
    check = examined.checks()["transcripts"]
    assert (check.state, check.repairable, "/a: it went" in check.detail) == ("advice", True, True)


def test_a_repair_says_what_of_the_transcripts_was_read_and_what_was_dropped(examined: Examined) -> None:
    answer = QuarantineRetried(readmitted=1, after=0, queued=2, gone=5, more=False)
    mind = SimpleNamespace(retry_quarantined=lambda: answer, drain_spool=lambda: None)
    target = target_of(examined.home, open_mind=lambda: nullcontext(mind))
    told = "understood 1 of the records now, and read 2 transcripts again"
    assert read_again(target) == f"{told}; dropped 5 transcripts of files that are gone"


@pytest.mark.parametrize("written", [None, b"no json", b'{"public": "00"}'])
def test_hooks_that_cannot_write_or_seal_to_another_key_are_wrong(examined: Examined, written: bytes | None) -> None:
    examined.folder.spool_config.unlink()
    if written is not None:
        examined.folder.spool_config.write_bytes(written)
    assert examined.checks()["hooks"].state == "wrong"


def test_without_a_folder_hooks_cannot_write(examined: Examined) -> None:
    examined.folder.losses.unlink()
    examined.folder.spool.rmdir()
    assert examined.checks()["hooks"].state == "wrong"
