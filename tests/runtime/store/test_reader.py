"""A snapshot shows one state of the store, whole, and says of each memory what was kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from mnemic.actors.index.word_index import WordIndex
from mnemic.actors.kernel.errors import NoSuchMemory
from mnemic.actors.kernel.events import DEFAULT_KINDS, KINDS
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.log.changes import Retire, Supersede, Unretire
from mnemic.actors.log.queries import MemoryAttributes
from mnemic.actors.meaning.changes import AddVectors, EmbeddedWindows, EncoderName
from mnemic.actors.store.messages import ScopeCount
from mnemic.algorithms.retrieval.term_codes import TermTotals, encode_terms
from mnemic.algorithms.text.terms import index_terms
from mnemic.runtime.store.reader import PendingReader, Reader, open_reader
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.clocks import NamedZone
from tests.runtime.building import ENCODER, KEYS, add_encoder, apply, id_of, rows_with, said, vectors

GIT = ScopeRef(path="shelf", project="/a/shelf/.git", found="git")


@pytest.fixture
def reader(store: Store, tmp_path: Path) -> Iterator[Reader]:
    with closing(open_reader(tmp_path / "store.db", KEYS)) as opened:
        yield opened


def test_an_empty_store_answers_everything(reader: Reader) -> None:
    source: SnapshotSource = reader
    with source.snapshot() as snapshot:
        now: Snapshot = snapshot
        assert (now.seq, now.generation) == (0, 1)
        assert [len(column) for column in now.memory_columns(0)] == [0] * 9
        assert [len(column) for column in now.superseded()] == [0] * 3
        assert [len(column) for column in now.retired()] == [0] * 2
        assert (
            now.scopes(),
            now.scope_path_of(ScopeRef(path="a", project="/a", found="git")),
            now.session_rows("s"),
            now.session_names([1]),
            now.encoders(),
        ) == ({}, None, [], [], [])
        assert now.vectors(ENCODER, 0).vectors.shape == (0, 0)
        assert (now.memory_terms(0, 9).codes, now.term_totals()) == (b"", TermTotals(0, 0))
        assert (now.load_memories([]), now.rows_of([]), now.pending_embeddings(ENCODER, 0, False, 9)) == ([], [], [])
        assert (now.counts(None).memories, now.counts(ENCODER).pending, now.counts(ENCODER).partly) == (0, 0, 0)


def test_a_reader_that_is_asked_for_nothing_opens_nothing(store: Store, path: Path) -> None:
    opened: list[Reader] = []

    def open_now() -> Reader:
        opened.append(open_reader(path, KEYS))
        return opened[-1]

    with closing(PendingReader(open_now)) as reader:
        assert opened == []
        apply(store, added(1))
        for _ in range(2):
            with reader.snapshot() as now:
                assert now.seq == 1
        assert len(opened) == 1
    with pytest.raises(apsw.ConnectionClosedError):
        opened[0]._db.execute("SELECT 1")
    PendingReader(open_now).close()
    assert len(opened) == 1


def test_a_snapshot_does_not_see_what_is_written_after_it_began(store: Store, reader: Reader) -> None:
    apply(store, added(1))
    with reader.snapshot() as then:
        apply(store, added(2), Supersede(old=id_of(1), new=id_of(2)))
        assert then.seq == 1
        assert then.memory_columns(0).row.tolist() == [1]
        assert then.superseded().old.tolist() == []
        assert rows_with(then, "shelf") == [1]
        with pytest.raises(NoSuchMemory):
            then.rows_of([id_of(2)])
    with reader.snapshot() as now:
        assert now.seq == 2
        assert now.memory_columns(1).row.tolist() == [2]


def test_a_snapshot_that_breaks_off_lets_the_next_one_begin(store: Store, reader: Reader) -> None:
    apply(store, added(1))
    with pytest.raises(NoSuchMemory) as caught, reader.snapshot() as now:
        now.rows_of([id_of(1), id_of(9)])
    said(caught.value)
    with reader.snapshot() as now:
        assert now.rows_of([id_of(1)]) == [1]


def test_a_record_holds_all_that_was_given(store: Store, reader: Reader) -> None:
    given = added(
        1,
        b"text",
        place=GIT,
        session="s",
        assistant="codex",
        kind="tool_call",
        role="assistant",
        source_id="line 7",
        speaker="Ada",
        said_at=77,
        branch="main",
        tool="Bash",
        outcome="failed",
        files=("a b.py", "é.py"),
    )
    apply(store, given, added(2), Supersede(old=id_of(1), new=id_of(2)), at=99)
    with reader.snapshot() as now:
        (record,) = now.load_memories([1])
    for name in ("id", "session", "assistant", "kind", "role", "source_id", "speaker", "said_at", "branch"):
        assert getattr(record, name) == getattr(given, name)
    assert record.data == given.text
    assert (record.tool, record.outcome, record.files) == ("Bash", "failed", ("a b.py", "é.py"))
    assert (record.scope, record.found) == ("shelf", "git")
    assert (record.valid_from, record.recorded_at, record.valid_to) == (77, 99, 99)
    assert (record.superseded_by, record.supersedes) == (id_of(2), ())


def test_attributes_are_given_from_one_row_to_another(store: Store, reader: Reader) -> None:
    call: dict[str, Any] = {"role": "assistant", "assistant": "codex", "branch": "main", "tool": "Bash"}
    apply(
        store,
        added(1),
        added(2, speaker="Ada", files=("a b.py", "é.py"), **call),
        added(3),
        added(4),
    )
    with reader.snapshot() as now:
        plain = MemoryAttributes("user", None, added(1).assistant, None, None, ())
        ada = MemoryAttributes("assistant", "Ada", "codex", "main", "Bash", ("a b.py", "é.py"))
        assert now.memory_attributes(2, 3) == [ada, plain]
        assert now.memory_attributes(1, 4) == [plain, ada, plain, plain]
        assert now.memory_attributes(5, 9) == []


def test_records_come_in_the_order_asked_for(store: Store, reader: Reader) -> None:
    apply(store, *(added(n, b"%d" % n) for n in range(1, 6)))
    with reader.snapshot() as now:
        assert [record.data for record in now.load_memories([3, 1, 3, 5])] == [b"3", b"1", b"3", b"5"]
        assert now.rows_of([id_of(5), id_of(2)]) == [5, 2]


def test_columns_say_what_is_known_of_each_memory(store: Store, reader: Reader) -> None:
    apply(store, added(1, b"three plain words", said_at=7, speaker="Ada Byron", place=GIT), at=50)
    apply(store, added(2, b"", kind="injected", session="another"), at=60)
    with reader.snapshot() as now:
        columns = now.memory_columns(0)
        paths = now.scopes()
        assert [paths[scope] for scope in columns.scope.tolist()] == ["shelf", "work/shelf"]
        assert columns.session.tolist() == now.session_rows("s") + now.session_rows("another")
        assert now.session_names(columns.session.tolist() * 2) == ["another", "s"]
    assert [KINDS[kind] for kind in columns.kind] == ["turn", "injected"]
    assert columns.words.tolist() == [5, 0], "the speaker's name is indexed with the text"
    assert columns.said_at.tolist() == [7, 60]
    assert columns.recorded_at.tolist() == [50, 60]
    assert columns.dated.tolist() == [1, 0]
    assert all(column.dtype == np.int64 and column.flags.c_contiguous for column in columns)


def test_the_languages_of_texts_are_told_once_each(store: Store, reader: Reader) -> None:
    with reader.snapshot() as now:
        assert now.languages() == ["en"]
    texts = ["Wo ist der Schlüssel?", "the key is there", "¿Dónde está la llave?", "Der Schlüssel ist weg", "猫"]
    apply(store, *(added(n, text.encode()) for n, text in enumerate(texts, start=1)))
    with reader.snapshot() as now:
        assert now.languages() == ["en", "de", "es"]


def test_words_are_found_by_their_stem_in_text_and_speaker(store: Store, reader: Reader) -> None:
    texts = [b"The shelves, shelved; a SHELF!", "Le caf\u00e9 na\u00efve".encode(), b"caf\0e \xed\xa0\x80 shelves"]
    apply(store, *(added(n, text, speaker="Shelves") for n, text in enumerate(texts, start=1)))
    with reader.snapshot() as now:
        (stem,) = index_terms("shelves")
        columns = now.memory_columns(0)
        words = WordIndex()
        words.sync(now, columns.row)
        positions, counts = words.postings([stem])
        assert positions.tolist() == [0, 1, 2]
        assert counts.tolist() == [3.0, 1.0, 2.0], "the speaker is counted, a shelf has another stem"
        assert rows_with(now, index_terms(texts[1].decode())[-1]) == [2]
        terms = {stem} | {term for text in texts for term in index_terms(text.decode("utf-8", "surrogatepass"))}
        total = sum(words.postings([term])[1].sum() for term in terms)
    assert total == columns.words.sum(), "a memory is as long as it has words in the index"


def test_terms_are_read_page_by_page(store: Store, reader: Reader) -> None:
    apply(store, *(added(n, b"tea " * n) for n in range(1, 6)), added(6, b""))
    with reader.snapshot() as now:
        whole, first, rest = now.memory_terms(0, 9), now.memory_terms(0, 4), now.memory_terms(4, 4)
    assert (first.row.tolist(), rest.row.tolist()) == ([1, 2, 3, 4], [5, 6])
    expected = b"".join(encode_terms(["tea"] * n).codes for n in range(1, 6))
    assert first.codes + rest.codes == whole.codes == expected
    assert (whole.end.tolist(), rest.end.tolist()) == ([7, 14, 21, 28, 35, 35], [7, 7])


def test_vectors_follow_the_window_asked_after(store: Store, reader: Reader) -> None:
    other = EncoderName(implementation="other", model="1" * 64)
    apply(store, added(1), added(2), add_encoder(), add_encoder(other))
    apply(store, vectors(1, windows=2), vectors(2, encoder=other), vectors(2))
    with reader.snapshot() as now:
        assert now.encoders() == [ENCODER, other]
        block = now.vectors(ENCODER, 0)
        assert block.window.tolist() == [1, 2, 4]
        assert block.row.tolist() == [1, 1, 2]
        assert block.start.tolist() == [0, 5, 0]
        assert block.vectors.dtype == np.float32
        assert block.vectors[:, 0].tolist() == [1000.0, 1004.0, 2000.0]
        assert now.vectors(ENCODER, 2).window.tolist() == [4]
        assert now.vectors(ENCODER, 4).vectors.shape == (0, 4)


def test_vectors_come_back_in_order_beyond_one_block_of_the_index(store: Store, reader: Reader) -> None:
    apply(store, added(1), add_encoder(), vectors(1, windows=2500))
    with reader.snapshot() as now:
        block = now.vectors(ENCODER, 0)
    assert block.window.tolist() == list(range(1, 2501))
    assert np.array_equal(block.vectors.ravel(), np.arange(10_000, dtype=np.float32) + 1000)


def test_what_waits_for_its_meaning_is_given_in_order_and_bulk_apart(store: Store, reader: Reader) -> None:
    apply(store, *(added(n, b"%d" % n, kind=kind, speaker="Ada") for n, kind in enumerate(KINDS, start=1)))
    with reader.snapshot() as now:
        plain = now.pending_embeddings(ENCODER, 0, False, 100)
        bulk = now.pending_embeddings(ENCODER, 0, True, 100)
        assert [one.kind for one in plain] == [kind for kind in KINDS if kind in DEFAULT_KINDS]
        assert [one.kind for one in bulk] == [kind for kind in KINDS if kind not in DEFAULT_KINDS]
        assert [one.row for one in now.pending_embeddings(ENCODER, plain[0].row, False, 2)] == [
            one.row for one in plain[1:3]
        ]
        assert (plain[0].id, plain[0].text, plain[0].speaker) == (id_of(1), b"1", "Ada")
    apply(store, add_encoder(), vectors(1))
    with reader.snapshot() as now:
        assert now.pending_embeddings(ENCODER, 0, False, 100) == plain[1:]


def test_nobody_looks_again_through_what_has_its_meaning_and_nothing_that_waits_is_passed_over(
    store: Store, reader: Reader
) -> None:
    def complete() -> Any:
        return store._db.execute("SELECT complete_to FROM encoders").get

    def waiting() -> list[int]:
        with reader.snapshot() as now:
            return [one.row for one in now.pending_embeddings(ENCODER, 0, False, 9)]

    apply(store, *(added(n, b"%d" % n) for n in range(1, 7)), add_encoder(), vectors(1, 2))
    assert (complete(), waiting()) == (2, [3, 4, 5, 6])
    apply(store, vectors(4))
    assert (complete(), waiting()) == (2, [3, 5, 6])
    apply(store, Retire(memory=id_of(5), reason=""), vectors(3))
    assert (complete(), waiting()) == (5, [6])
    apply(store, vectors(6))
    assert (complete(), waiting()) == (6, [])
    apply(store, Unretire(memory=id_of(5)))
    assert (complete(), waiting()) == (4, [5])
    apply(store, vectors(5), added(7))
    assert (complete(), waiting()) == (6, [7])
    store.rebuild(lambda done, total: None, meaning=False)
    assert (complete(), waiting()) == (0, [7])


def test_counts_say_what_is_there(store: Store, reader: Reader) -> None:
    long = b"x" * 10_000
    apply(store, added(1, long, place=GIT), added(2, long), added(3, b"abc", kind="note"))
    apply(store, add_encoder(), vectors(1, total=5), vectors(2))
    with reader.snapshot() as now:
        counts = now.counts(ENCODER)
        assert counts == now.counts(None)
        assert counts.partly == 1
        assert now.counts(EncoderName(implementation="none", model="")).embedded == 0
    assert (counts.seq, counts.memories, counts.sessions, counts.embedded, counts.pending) == (2, 3, 1, 2, 1)
    assert counts.text_bytes == 20_003
    assert counts.kept_bytes < 200
    assert counts.scopes == (
        ScopeCount(path="shelf", found="git", memories=1),
        ScopeCount(path="work/shelf", found="named", memories=2),
    )
    assert counts.kinds == {"note": 1, "turn": 2}


def test_a_memory_without_windows_is_embedded_all_the_same(store: Store, reader: Reader) -> None:
    empty = AddVectors(encoder=ENCODER, meanings=(EmbeddedWindows(id_of(1), (), 0, 0),), vectors=b"")
    apply(store, added(1, b""), add_encoder(), empty)
    with reader.snapshot() as now:
        assert now.pending_embeddings(ENCODER, 0, False, 10) == []
        assert now.counts(None).embedded == 1
        assert now.vectors(ENCODER, 0).vectors.shape == (0, 4)


def test_what_is_retired_is_given_apart_waits_for_no_meaning_and_is_counted(store: Store, reader: Reader) -> None:
    apply(store, *(added(n, b"%d" % n) for n in range(1, 6)), add_encoder(), vectors(1, 2, total=5))
    apply(store, *(Retire(memory=id_of(n), reason="") for n in (4, 1)), at=70)
    with reader.snapshot() as now:
        assert now.retired().row.tolist() == [1, 4]
        assert now.retired().at.tolist() == [70, 70]
        assert [one.row for one in now.pending_embeddings(ENCODER, 0, False, 9)] == [3, 5]
        counts = now.counts(ENCODER)
        assert (counts.memories, counts.retired, counts.embedded, counts.pending, counts.partly) == (5, 2, 1, 2, 0)
        assert now.memory_columns(0).row.tolist() == [1, 2, 3, 4, 5], "what a recall as of earlier finds is there"
    apply(store, Unretire(memory=id_of(4)), Unretire(memory=id_of(1)))
    with reader.snapshot() as now:
        assert now.retired().row.tolist() == []
        counts = now.counts(ENCODER)
        assert (counts.memories, counts.retired, counts.embedded, counts.pending) == (5, 0, 2, 3)


def test_what_was_kept_without_an_offset_has_the_one_of_the_machine_then(tmp_path: Path) -> None:
    switch = 1_741_514_400_000_000  # the clocks of California go forward
    times = [switch - 1, switch, switch + 86_400_000_000 * 200, switch - 86_400_000_000]
    with closing(Store.create(tmp_path / "zone.db", KEYS)) as store:
        for number, at in enumerate(times, 1):
            apply(store, added(number, b"%d" % number, said_at=at), at=at)
        apply(store, added(5, b"5", said_at=switch, utc_offset_min=60), at=switch)
    pacific = NamedZone("America/Los_Angeles")
    with closing(open_reader(tmp_path / "zone.db", KEYS, pacific)) as opened, opened.snapshot() as now:
        columns = now.memory_columns(0)
        told = [one.utc_offset_min for one in now.load_memories(columns.row.tolist())]
    assert columns.utc_offset_min.tolist() == told == [-480, -420, -420, -480, 60]
