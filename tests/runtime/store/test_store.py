"""The store: one transaction or none, everything once, everything undone, and nothing lost whoever is killed."""

from __future__ import annotations

import random
import shutil
import tempfile
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mnemic.actors.capture.changes import MemoryLabels, Relabel
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.errors import DiskFull, InvalidValue, MindExists, NewerSchema, NoSuchMemory, StoreBusy
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import Retire, Supersede, Unretire
from mnemic.actors.meaning.changes import AddVectors, DropEncoder, EncoderName
from mnemic.actors.transfer.changes import RedactedChange, Tombstone
from mnemic.runtime.store import schema
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store, TransactionMetadata
from tests.built import added
from tests.runtime import building
from tests.runtime.building import (
    ENCODER,
    KEYS,
    add_encoder,
    answers,
    apply,
    as_of_then,
    delivery,
    files_of,
    held,
    id_of,
    keys_of,
    rows_with,
    said,
    vectors,
)

OTHER = EncoderName(implementation="other-int8", model="f" * 64)


# --- one transaction, once -------------------------------------------------------------------------------------------


def test_an_error_in_the_third_change_leaves_nothing(store: Store, path: Path) -> None:
    apply(store, added(1), add_encoder(), vectors(1))
    before = held(path)
    with pytest.raises(NoSuchMemory) as caught:
        apply(
            store,
            added(2),
            DropEncoder(encoder=ENCODER),
            add_encoder(OTHER),
            Supersede(old=id_of(9), new=id_of(2)),
        )
    assert str(uuid.UUID(bytes=id_of(9))) in said(caught.value)
    assert held(path) == before
    assert apply(store, added(3)).seq == 2, "there is no gap"


def test_vectors_of_another_size_are_refused_whole(store: Store, path: Path) -> None:
    apply(store, added(1), add_encoder())
    before = held(path)
    good = vectors(1)
    bad = AddVectors(encoder=ENCODER, meanings=good.meanings, vectors=good.vectors[:-4])
    for change in (bad, vectors(1, encoder=OTHER)):
        with pytest.raises(ValueError, match=r"are not 1 vectors of 4|no encoder other-int8"):
            apply(store, added(2), change)
    assert held(path) == before


def test_the_same_key_gives_the_same_answer_and_does_nothing(store: Store, path: Path) -> None:
    first = apply(store, added(1), added(2), key=b"once")
    before = held(path)
    apply(store, added(3))
    again = apply(store, added(1), added(2), key=b"once")
    assert again == first
    assert [kept.created for kept in first.kept] == [True, True]
    assert apply(store, added(4), key=b"once") == first, "the key decides"
    assert held(path)["memories"][:2] == before["memories"]
    assert len(held(path)["memories"]) == 3


def test_a_known_identity_is_kept_once_and_the_first_text_stands(store: Store, path: Path) -> None:
    apply(store, added(1, b"first"))
    before = held(path)
    same, other = apply(store, added(1, b"first", id=id_of(7)), added(1, b"second", id=id_of(8))).kept
    assert (same.id, same.created, same.same_text, same.scope) == (id_of(1), False, True, "work/shelf")
    assert (other.id, other.created, other.same_text) == (id_of(1), False, False)
    assert held(path) == before, "what was all known leaves nothing in the log"


def test_a_correction_said_twice_is_one_though_its_id_is_new(store: Store, path: Path) -> None:
    apply(store, added(1, b"nine"))
    apply(store, added(2, b"ten"), Supersede(old=id_of(1), new=id_of(2)))
    before = held(path)
    apply(store, added(2, b"ten", id=id_of(5)), Supersede(old=id_of(1), new=id_of(5)))
    assert held(path) == before


def test_a_text_said_twice_is_two_memories_and_kept_once(store: Store, path: Path) -> None:
    long = b"the same long line, again and again\n" * 30_000
    apply(store, added(1, long), added(2, long))
    found = held(path)
    assert len(found["memories"]) == 2
    ((_, _, size, _, body),) = found["texts"]
    assert size == len(long) > 50 * len(body)


@pytest.mark.parametrize(
    "text",
    [b"", b"\0", b"a\0b", "\ud83d alone".encode("utf-8", "surrogatepass"), b"\r\n\r\n\n", "\x85\u2028\x0b".encode()],
    ids=repr,
)
def test_a_memory_is_read_as_it_was_given(store: Store, path: Path, text: bytes) -> None:
    apply(store, added(1, text))
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        assert now.load_memories([1])[0].data == text


def test_ten_megabytes_in_one_turn_are_kept_and_found(store: Store, path: Path) -> None:
    text = (b"line %d of a build that went on and on\r\n" * 10) * 27_000 + b"and then the needle"
    assert len(text) > 10 << 20
    apply(store, added(1, text))
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        assert now.load_memories([1])[0].data == text
        assert rows_with(now, "needl") == [1]


def test_what_was_done_is_marked_with_who_did_it_where(path: Path) -> None:
    with closing(Store.create(path, KEYS, TransactionMetadata(machine="desk", version="0.1.0"))) as store:
        store.apply([added(1)], at=5, key=b"k", author="capture", run="r1")
    (row,) = held(path)["applies"]
    assert row[1:7] == (b"k", 5, "desk", "0.1.0", "capture", "r1")


@pytest.mark.parametrize(
    "change", [Tombstone(identity=bytes(32)), RedactedChange()], ids=lambda change: type(change).__name__
)
def test_no_actor_can_take_a_memory_away(store: Store, path: Path, change: Any) -> None:
    apply(store, added(1))
    before = held(path)
    with pytest.raises(ValueError, match="only the store"):
        apply(store, change)
    assert held(path) == before


# --- forked, rebuilt -----------------------------------------------------------------------------------------


_RETIRED_AT = -6  # of a memory's columns: the reason, whether it is cued, language, author and offset stand behind


class AnyLife(RuleBasedStateMachine):
    """Random lives of a store: at the end, what it was at each moment is what a fork to that moment holds."""

    @initialize()
    def born(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "store.db"
        self.store = Store.create(self.path, KEYS)
        self.count = 0
        self.ends: dict[int, Any] = {0: held(self.path)}
        self.encoders: list[EncoderName] = []

    def _apply(self, *changes: Change) -> None:
        seq = apply(self.store, *changes, at=1000 + self.count).seq
        self.ends[seq] = held(self.path)

    @rule(
        texts=st.lists(
            st.sampled_from([b"", b"the shelf", b"nine books, a shelf", b"x" * 3000]), min_size=1, max_size=3
        ),
        session=st.sampled_from(["s1", "s2"]),
        project=st.sampled_from([None, "/a/shelf", "/b/shelf"]),
        known=st.booleans(),
        speaker=st.sampled_from([None, "Ada"]),
    )
    def keeps(self, texts: list[bytes], session: str, project: str | None, known: bool, speaker: str | None) -> None:
        place = ScopeRef(path="shelf", project=project, found="git" if project else "named")
        numbers = [self.count + 1 + n for n in range(len(texts))]
        self.count += len(texts)
        if known:
            numbers[0] = max(1, numbers[0] // 2)
        self._apply(
            *(
                added(n, text, session=session, place=place, speaker=speaker)
                for n, text in zip(numbers, texts, strict=True)
            )
        )

    @precondition(lambda self: self.count >= 1)
    @rule(data=st.data())
    def replaces(self, data: st.DataObject) -> None:
        pair = [data.draw(st.integers(1, self.count)) for _ in range(2)]
        try:
            self._apply(Supersede(old=id_of(pair[0]), new=id_of(pair[1])))
        except (InvalidValue, NoSuchMemory):
            assert held(self.path) == self.ends[max(self.ends)]

    @precondition(lambda self: self.ends[max(self.ends)]["memories"])
    @rule(data=st.data(), reason=st.sampled_from(["", "it was wrong"]))
    def retires_and_restores(self, data: st.DataObject, reason: str) -> None:
        known = st.sampled_from([row[1] for row in self.ends[max(self.ends)]["memories"]])
        change = st.one_of(st.builds(Retire, memory=known, reason=st.just(reason)), st.builds(Unretire, memory=known))
        self._apply(*data.draw(st.lists(change, min_size=1, max_size=3)))

    @precondition(lambda self: self.ends[max(self.ends)]["memories"])
    @rule(
        data=st.data(),
        kind=st.sampled_from(["turn", "injected"]),
        speaker=st.sampled_from([None, "Ada", "Bo"]),
        author=st.sampled_from([None, "owner", "other", "unknown"]),
        said_at=st.sampled_from([None, 7]),
    )
    def relabels(self, data: st.DataObject, kind: Any, speaker: str | None, author: Any, said_at: int | None) -> None:
        known = [row[1] for row in self.ends[max(self.ends)]["memories"]]
        chosen = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
        said = {"kind": kind, "role": "user", "speaker": speaker, "author": author, "said_at": said_at}
        self._apply(Relabel(labels=tuple(MemoryLabels(memory=one, utc_offset_min=60, **said) for one in chosen)))

    @rule(encoder=st.sampled_from([ENCODER, OTHER]))
    def meets_an_encoder(self, encoder: EncoderName) -> None:
        self._apply(add_encoder(encoder))
        if encoder not in self.encoders:
            self.encoders.append(encoder)

    @precondition(lambda self: self.encoders and self.ends[max(self.ends)]["memories"])
    @rule(data=st.data(), windows=st.integers(0, 3))
    def embeds(self, data: st.DataObject, windows: int) -> None:
        known = [int.from_bytes(row[1], "big") for row in self.ends[max(self.ends)]["memories"]]
        numbers = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
        encoder = data.draw(st.sampled_from(self.encoders))
        self._apply(vectors(*numbers, windows=windows, encoder=encoder))

    @precondition(lambda self: self.encoders)
    @rule(data=st.data())
    def retires_an_encoder(self, data: st.DataObject) -> None:
        encoder = data.draw(st.sampled_from(self.encoders))
        self.encoders.remove(encoder)
        self._apply(DropEncoder(encoder=encoder))

    @rule()
    def recalls(self) -> None:
        self._apply(delivery(query="books?"))

    @precondition(lambda self: self.count)
    @rule()
    def fails(self) -> None:
        before = held(self.path)
        with pytest.raises(NoSuchMemory):
            apply(self.store, added(10_000), add_encoder(), Supersede(old=id_of(20_000), new=id_of(10_000)))
        assert held(self.path) == before

    @invariant()
    def numbers_transactions_without_a_gap(self) -> None:
        last = self.ends[max(self.ends)]  # what each rule has read, or found unchanged, at its end
        assert [row[0] for row in last["applies"]] == list(range(1, max(self.ends) + 1))

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        now, last = held(self.path), max(self.ends)
        chosen = random.Random(last)
        for asked in {0, last, *(chosen.randint(0, last) for _ in range(3))}:
            copy = self.folder / f"at-{asked}.db"
            self.store.fork(copy, asked)
            forked = held(copy)
            assert as_of_then(forked) == as_of_then(self.ends[asked])
            self._check_derived(forked, now)
        copy = self.folder / "again.db"
        self.store.fork(copy)
        with closing(Store.open(copy, KEYS)) as again, closing(open_reader(copy, KEYS)) as reader:
            before, told = answers(reader), []
            again.rebuild(lambda done, total: told.append((done, total)), meaning=False)
            assert held(copy) == now
            assert answers(reader) == before
            logged = len(now["log"])
            assert told == ([(logged, logged)] if logged else [])
        assert held(self.path) == now, "the original is as it was"
        self.store.close()
        shutil.rmtree(self.folder)

    def _check_derived(self, forked: dict[str, Any], now: dict[str, Any]) -> None:
        """What is there has the vectors that it has now, and nothing else has any; all of it waits to be bound."""
        there = {row[0] for row in forked["memories"]}
        assert forked["encoders"] == now["encoders"]
        for table in ("meanings", "windows"):
            at = 1 if table == "meanings" else 2
            assert forked[table] == [row for row in now[table] if row[at] in there]
        windows = {row[0] for row in forked["windows"]}
        for number, *_ in now["encoders"]:
            assert forked[f"vectors_{number}"] == [row for row in now[f"vectors_{number}"] if row[0] in windows]
        retired = {row[0] for row in forked["memories"] if row[_RETIRED_AT] is not None}
        assert {row[0] for row in forked["unbound"]} == there - retired


AnyLife.TestCase.settings = settings(max_examples=16, stateful_step_count=14)
TestAnyLife = AnyLife.TestCase


def test_a_fork_to_now_holds_all_of_it(store: Store, path: Path, tmp_path: Path) -> None:
    apply(store, added(1), add_encoder(), vectors(1), delivery(1))
    store.fork(tmp_path / "fork.db", 1)
    assert held(tmp_path / "fork.db") == held(path)


def test_a_fork_lives_on_and_the_original_does_not_notice(store: Store, path: Path, tmp_path: Path) -> None:
    apply(store, added(1))
    apply(store, added(2))
    before = held(path)
    store.fork(tmp_path / "fork.db", 1)
    with closing(Store.open(tmp_path / "fork.db", KEYS)) as fork:
        assert apply(fork, added(3)).seq == 2
    assert held(path) == before


@pytest.mark.parametrize("at_seq", [-1, 2])
def test_a_moment_that_was_not_cannot_be_forked(store: Store, tmp_path: Path, at_seq: int) -> None:
    apply(store, added(1))
    with pytest.raises(InvalidValue) as caught:
        store.fork(tmp_path / "fork.db", at_seq)
    assert "the store has no such number" in said(caught.value)
    assert not (tmp_path / "fork.db").exists()


def test_a_fork_never_writes_over_a_file(store: Store, path: Path, tmp_path: Path) -> None:
    (tmp_path / "fork.db").write_bytes(b"mine")
    with pytest.raises(MindExists):
        store.fork(tmp_path / "fork.db")
    assert (tmp_path / "fork.db").read_bytes() == b"mine"
    with pytest.raises(MindExists):
        Store.create(path, KEYS)


def test_a_fork_to_each_moment_has_retired_what_was_retired_then(store: Store, path: Path, tmp_path: Path) -> None:
    moments = [held(path)]
    changes: list[Change] = [
        added(1),
        added(2),
        Supersede(old=id_of(1), new=id_of(2)),
        Retire(memory=id_of(2), reason="first"),
        Unretire(memory=id_of(2)),
        Retire(memory=id_of(2), reason="second"),
        Retire(memory=id_of(1), reason="too"),
        Unretire(memory=id_of(2)),
    ]
    for number, change in enumerate(changes, start=1):
        assert apply(store, change, at=1000 + number).seq == number
        moments.append(held(path))
    for at_seq, then in enumerate(moments):
        copy = tmp_path / f"{at_seq}.db"
        store.fork(copy, at_seq)
        assert held(copy) == then
        with closing(Store.open(copy, KEYS)) as again:
            again.rebuild(lambda done, total: None, meaning=False)
        assert held(copy) == then


def test_rebuilding_the_meaning_lets_the_vectors_go_and_nothing_else(store: Store, path: Path) -> None:
    apply(store, added(1), added(2, b"two"), Supersede(old=id_of(1), new=id_of(2)), add_encoder(), vectors(1, 2))
    before = held(path)
    with closing(open_reader(path, KEYS)) as reader:
        with reader.snapshot() as now:
            generation = now.generation
        assert store.rebuild(lambda done, total: None, meaning=True) == 1
        with reader.snapshot() as now:
            assert now.generation > generation
            assert now.encoders() == []
    after = held(path)
    gone = {"encoders", "meanings", "windows", "vectors_1", "vector tables"}
    assert {name for name, rows in before.items() if rows != after.get(name, [])} == {*gone, "unbound"}
    assert not any(after.get(name) for name in gone)
    apply(store, add_encoder(), vectors(1, 2))
    assert held(path)["vectors_1"] == before["vectors_1"]


def test_a_fork_to_before_the_meaning_was_rebuilt_has_its_memories(store: Store, path: Path, tmp_path: Path) -> None:
    apply(store, added(1))
    apply(store, add_encoder(), vectors(1))
    before = held(path)
    store.rebuild(lambda done, total: None, meaning=True)
    apply(store, add_encoder(), vectors(1))
    for at_seq in (1, 2, 3):
        store.fork(tmp_path / f"{at_seq}.db", at_seq)
        assert held(tmp_path / f"{at_seq}.db")["memories"] == before["memories"]


# --- faults ----------------------------------------------------------------------------------------------------------


def test_a_store_that_is_full_says_so_and_keeps_what_it_had(store: Store, path: Path) -> None:
    apply(store, added(1), add_encoder(), vectors(1))
    before = held(path)
    pages = store._db.execute("PRAGMA page_count").get
    store._db.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(DiskFull) as caught:
        apply(store, added(2), added(3, random.Random(1).randbytes(40_000).hex().encode()))
    assert str(path) in said(caught.value)
    assert held(path) == before
    store._db.execute("PRAGMA max_page_count = 100000")
    assert apply(store, added(2)).seq == 2


def test_a_store_that_another_process_writes_to_says_so(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_S", 0.05)
    with closing(Store.open(path, KEYS)) as impatient, closing(connect(path, KEYS)) as other:
        other.execute("BEGIN IMMEDIATE")
        for busy in (
            lambda: apply(impatient, added(1)),
            lambda: impatient.rebuild(lambda d, t: None, meaning=False),
        ):
            with pytest.raises(StoreBusy) as caught:
                busy()
            assert "Another process has been writing" in said(caught.value)
        with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
            assert now.seq == 0, "a reader waits for nobody"
        other.execute("ROLLBACK")
        assert apply(impatient, added(1)).seq == 1


def test_a_store_that_became_newer_is_neither_written_nor_read_by_who_has_it_open(store: Store, path: Path) -> None:
    apply(store, added(1))
    with closing(open_reader(path, KEYS)) as reader:
        with closing(connect(path, KEYS)) as newer:
            newer.execute(f"PRAGMA user_version = {schema.LATEST_SCHEMA + 1}")
        with pytest.raises(NewerSchema):
            apply(store, added(2))
        with pytest.raises(NewerSchema), reader.snapshot():
            pass
        with closing(connect(path, KEYS)) as newer:
            newer.execute("PRAGMA user_version = 1")
        with reader.snapshot() as now:
            assert now.seq == 1


def test_a_store_of_another_key_is_not_opened_nor_touched(store: Store, path: Path) -> None:
    apply(store, added(1))
    store.close()
    before = files_of(path.parent)
    with pytest.raises(building.MnemicError) as caught:
        Store.open(path, keys_of(bytes(32)))
    assert caught.value.code == "damaged_store"
    assert files_of(path.parent) == before
