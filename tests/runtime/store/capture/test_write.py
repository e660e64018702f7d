"""What is known of the capture outlasts a rebuild to the last row, and a fork holds what was kept by then."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.changes import (
    AdvanceSpool,
    CountOccurrences,
    DiscardSpoolFile,
    FinishTranscript,
    IgnoreSession,
    KeepOriginal,
    OccurrenceCount,
    QuarantineRecord,
    QueueTranscript,
    RecordSelfTest,
    ReleaseRecord,
    SetSessionMode,
    TranscriptState,
)
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.errors import NoSuchMemory
from mnemic.runtime.store.capture.read import TOTALS_ROW
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import KEYS, apply, as_of_then, delivery, held, id_of, without_derived

FILE = b"f" * 16


def quarantined(number: int, text: bytes = b"odd") -> QuarantineRecord:
    record = number.to_bytes(16, "big")
    return QuarantineRecord(record=record, assistant="t", event="prompt", why="odd", text=text, at=number)


CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(added, st.integers(1, 3), scrubbed=st.sampled_from([(), (("token", 2),)])),
    st.builds(
        AdvanceSpool,
        file=st.sampled_from([FILE, b"g" * 16]),
        offset=st.integers(0, 9),
        records=st.integers(0, 2),
        torn=st.integers(0, 1),
    ),
    st.builds(DiscardSpoolFile, file=st.sampled_from([FILE, b"g" * 16, TOTALS_ROW])),
    st.builds(
        CountOccurrences,
        counts=st.lists(
            st.builds(
                OccurrenceCount,
                identity=st.sampled_from([b"1", b"2"]),
                hooks=st.integers(0, 3),
                missed=st.integers(0, 1),
                read_at=st.integers(1, 2),
            ),
            max_size=3,
        ).map(tuple),
    ),
    st.builds(quarantined, st.integers(1, 3), st.sampled_from([b"odd", b"the shelf holds nine books"])),
    st.builds(ReleaseRecord, record=st.integers(1, 3).map(lambda number: number.to_bytes(16, "big"))),
    st.builds(
        QueueTranscript,
        path=st.sampled_from(["/a", "/b"]),
        format=st.just("text"),
        due_at=st.integers(0, 99),
        changed_at=st.integers(0, 9),
    ),
    st.builds(
        FinishTranscript,
        path=st.sampled_from(["/a", "/b"]),
        size_bytes=st.integers(0, 9),
        why=st.sampled_from(["", "it went"]),
    ),
    st.builds(
        KeepOriginal, memory=st.just(id_of(1)), text=st.sampled_from([b"hunter2", b"the shelf holds nine books"])
    ),
    st.builds(RecordSelfTest, assistant=st.sampled_from(["a", "b"]), nonce=st.sampled_from(["1", "2"])),
    st.builds(IgnoreSession, assistant=st.just("t"), session=st.sampled_from(["s", "s2"])),
    st.builds(
        SetSessionMode,
        assistant=st.just("test"),
        session=st.sampled_from(["s", "nobody's"]),
        mode=st.sampled_from(["", "headless", "subagent"]),
    ),
    st.builds(
        delivery,
        st.just(1),
        query=st.sampled_from(["", "how many?"]),
        assistant=st.sampled_from(["", "codex"]),
        occasion=st.sampled_from(["recall", "prompt"]),
        tokens=st.integers(0, 9),
    ),
)


@settings(max_examples=12)
@given(asked=st.lists(st.lists(CHANGES, min_size=1, max_size=4), max_size=6), cut=st.integers(0, 6))
def test_rebuilt_it_is_the_same_and_a_fork_is_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, asked: list[list[Change]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("law")
    path = folder / "store.db"
    with closing(Store.create(path, KEYS)) as store:
        apply(store, added(1), at=1)
        then, seq = held(path), 1
        for number, changes in enumerate(asked):
            answer = apply(store, *changes, at=10 * number + 2)
            if number < cut:
                then, seq = held(path), answer.seq
        before = held(path)
        store.rebuild(lambda done, total: None, meaning=False)
        assert without_derived(held(path)) == without_derived(before)
        store.fork(folder / "fork.db", seq)
    assert without_payloads(held(folder / "fork.db")) == without_payloads(then)


def without_payloads(tables: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What a fork holds, but for the words and the state of quarantined records: those readmitted since are gone."""
    used = {row[8] for row in tables["memories"]} | {row[1] for row in tables["originals"]}
    return as_of_then(tables) | {
        "texts": [row for row in tables["texts"] if row[0] in used],
        "aside": [(*row[:5], *row[6:10], row[11]) for row in tables["aside"]],
    }


def seen(store: Store, look: Any) -> Any:
    with closing(open_reader(store._path, KEYS)) as reader, reader.snapshot() as now:
        return look(now)


def test_what_was_understood_after_all_is_let_go_of_unless_a_memory_says_the_same(store: Store, tmp_path: Path) -> None:
    apply(
        store,
        quarantined(1, b"an odd payload"),
        quarantined(2, b"the shelf holds nine books"),
        quarantined(3, b""),
        added(1),
    )
    assert [one.payload for one in seen(store, lambda now: now.quarantined_records(0, 10))][2] == b""
    apply(store, *(ReleaseRecord(record=number.to_bytes(16, "big")) for number in (1, 2, 3)))
    assert [row[1:] for row in bodies(tmp_path / "store.db")] == [(b"the shelf holds nine books",)]
    assert seen(store, lambda now: now.load_memories([1]))[0].data == b"the shelf holds nine books"
    store.rebuild(lambda done, total: None, meaning=False)
    assert seen(store, lambda now: (now.quarantined_records(0, 10), now.load_memories([1])[0].data)) == (
        [],
        b"the shelf holds nine books",
    )


def bodies(path: Path) -> list[Any]:
    with closing(connect(path, KEYS)) as db:
        return db.execute("SELECT id, body FROM texts").fetchall()


def test_a_record_is_quarantined_once_until_it_is_readmitted(store: Store) -> None:
    assert apply(store, quarantined(1, b"\xff" * 2000), quarantined(1, b"other"), quarantined(2)).changed == (
        True,
        False,
        True,
    )
    first, second = seen(store, lambda now: now.quarantined_records(0, 10))
    assert (first.payload, first.at, second.row) == (b"\xff" * 2000, 1, 2)
    assert seen(store, lambda now: now.quarantined_records(1, 10)) == [second]
    assert apply(store, ReleaseRecord(record=first.record), ReleaseRecord(record=b"none")).changed == (True, False)
    assert seen(store, lambda now: now.quarantined_records(0, 10)) == [second]
    assert seen(store, lambda now: now.capture_progress(0).quarantined_count) == 1


def test_of_the_transcripts_that_are_due_the_one_written_last_comes_first(store: Store) -> None:
    assert seen(store, lambda now: (now.due_transcript(99), now.next_due_at(), now.transcript("/a"))) == (None,) * 3
    for path, due_at, changed_at in (("/a", 10, 1), ("/b", 20, 3), ("/c", 90, 9)):
        apply(store, QueueTranscript(path=path, format=path[1:], due_at=due_at, changed_at=changed_at), at=5)
    assert seen(store, lambda now: now.due_transcript(9)) is None
    assert seen(store, lambda now: (now.due_transcript(30), now.next_due_at())) == (("/b", "b"), 10)
    assert seen(store, lambda now: now.waiting_transcripts(30)) == ["/a", "/b"]
    apply(store, FinishTranscript(path="/b", size_bytes=7), FinishTranscript(path="/a", size_bytes=0, why="no"), at=30)
    assert seen(store, lambda now: (now.due_transcript(30), now.next_due_at())) == (None, 90)
    assert seen(store, lambda now: now.transcript("/b")) == TranscriptState("b", None, 3, 7, 30, "")
    assert seen(store, lambda now: now.failed_transcripts()) == [("/a", "a")]
    apply(store, FinishTranscript(path="/c", size_bytes=7), at=30)
    assert seen(store, lambda now: now.next_due_at()) == 90, "put off meanwhile, it comes again"
    assert apply(store, FinishTranscript(path="/unknown", size_bytes=7)).changed == (False,)


def test_the_original_of_a_memory_known_before_goes_to_the_one_that_was_kept(store: Store) -> None:
    apply(store, added(1))
    again = added(1, id=id_of(7))
    assert apply(store, again, KeepOriginal(memory=id_of(7), text=b"hunter2")).changed == (False, True)
    assert apply(store, again, KeepOriginal(memory=id_of(7), text=b"other")).changed == (False, False)
    with pytest.raises(NoSuchMemory):
        apply(store, KeepOriginal(memory=id_of(9), text=b"x"))
