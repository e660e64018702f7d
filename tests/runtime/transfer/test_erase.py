"""What is erased is in no byte of the store, and it is one that rebuild, fork and capture go on with."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.changes import AdvanceSpool, KeepOriginal, QuarantineRecord, Relabel
from mnemic.actors.capture.forget_messages import Selection, Surveyed
from mnemic.actors.communities.changes import MarkBoundary, PlaceMembers
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.errors import BadInput, DamagedStore, DiskFull
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.knowledge.changes import (
    AddStatements,
    GradedPair,
    GradeStatements,
    MemoryReading,
    MergeEntities,
    SettleStatements,
)
from mnemic.actors.log.changes import AddMemory, DeliveredSpan, RecordDelivery, Retire, Supersede, Unretire
from mnemic.actors.log.messages import ListDeliveries
from mnemic.actors.meaning.changes import AddVectors, EmbeddedWindows
from mnemic.actors.scopes.changes import MergeScopes, RenameScope
from mnemic.actors.shape.changes import AddCodes, CodeInfo
from mnemic.actors.sleep.changes import BeginNight, DerivedItem, KeepDerived, SourceSpan
from mnemic.actors.transfer.changes import RedactedChange, Tombstone
from mnemic.runtime.files.atomic_replace import finish_commit
from mnemic.runtime.minds.homes import MindFolder
from mnemic.runtime.store.communities.write import FOUND_TABLES, GRAPH_TABLES
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from mnemic.runtime.store.texts import load_text
from mnemic.runtime.transfer.erase import Erasure, erase
from mnemic.runtime.transfer.redact_log import QUOTE_BYTES
from tests.built import added
from tests.grouped import group
from tests.runtime.building import (
    ENCODER,
    KEYS,
    add_encoder,
    add_space,
    apply,
    codes,
    delivery,
    held,
    id_of,
    look,
    vectors,
)
from tests.runtime.spooling import file_id, record, sealed, write
from tests.runtime.store.knowledge.test_write import mention, statement
from tests.runtime.store.log.test_write import labels_of

WORDS = ("otter", "heron", "the shelf holds nine books and no lamp", "the harbour is closed until the tide comes back")
PLACES = (
    ScopeRef(path="work/shelf", project=None, found="named"),
    ScopeRef(path="shelf", project="/p/shelf/.git", found="git"),
    ScopeRef(path="shelf", project="/q/shelf/.git", found="git"),
)


def own(number: int) -> str:
    """What only one memory says, in 16 bytes and more, and in one word that is as long."""
    return f"only-{number:04}-says-this {hashlib.sha256(b'%d' % number).hexdigest()[:20]}k"


class Mind:
    """A store in a mind's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = MindFolder(folder)
        folder.mkdir(exist_ok=True)
        if not self.folder.store.exists():
            Store.create(self.folder.store, KEYS).close()

    def apply(self, *changes: Change, at: int = 1_000_000) -> Any:
        with closing(Store.open(self.folder.store, KEYS)) as store:
            return apply(store, *changes, at=at)

    def survey(self, selection: Selection) -> Surveyed:
        with closing(open_reader(self.folder.store, KEYS)) as reader, reader.snapshot() as now:
            return now.survey(selection, 3)

    def erase(self, *numbers: int, selection: Selection | None = None) -> Erasure:
        chosen = selection or Selection(ids=tuple(id_of(n) for n in numbers))
        return erase(self.folder, KEYS, chosen, self.survey(chosen), lambda what, done, total: None)

    def held(self) -> dict[str, list[Any]]:
        return held(self.folder.store)

    def log(self) -> list[Any]:
        from mnemic.runtime.transfer.redact_log import _decode

        with closing(connect(self.folder.store, KEYS)) as db:
            return [_decode(change) for (change,) in db.execute("SELECT change FROM log ORDER BY id").fetchall()]

    def replacements(self) -> dict[bytes, bytes]:
        with closing(connect(self.folder.store, KEYS)) as db:
            return dict(
                db.execute(
                    "SELECT o.uuid, n.uuid FROM memories o JOIN memories n ON n.id = o.superseded_by ORDER BY o.id"
                ).fetchall()
            )


@pytest.fixture
def mind(tmp_path: Path) -> Mind:
    return Mind(tmp_path / "mind")


def opened(path: Path) -> bytes:
    """All bytes of a store, opened with its key: its pages, and each text unpacked."""
    with closing(connect(path, KEYS)) as db:
        rows: list[Any] = db.execute("SELECT packed, body FROM texts").fetchall()
        return b"\xff".join(
            [db.serialize("main"), *(zlib.decompress(body) if packed else body for packed, body in rows)]
        )


def runs(texts: Sequence[bytes]) -> set[bytes]:
    return {text[start : start + QUOTE_BYTES] for text in texts for start in range(len(text) - QUOTE_BYTES + 1)}


# --- the law ---------------------------------------------------------------------------------------------------------

numbers = st.integers(1, 9)
some = st.lists(numbers, max_size=3, unique=True)


ADDED = st.tuples(st.just("add"), st.tuples(st.sampled_from(PLACES), st.sampled_from("ab"), st.sampled_from(WORDS)))


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """What may happen to nine memories at most, most of it about some that are there."""
    what = st.one_of(
        ADDED,
        st.tuples(st.sampled_from(["supersede", "settle"]), st.tuples(numbers, numbers)),
        st.tuples(st.sampled_from(["retire", "restore", "original", "vectors", "bind", "know", "sleep"]), numbers),
        st.tuples(st.sampled_from(["recall", "asked", "given", "aside"]), some),
        st.tuples(st.sampled_from(["rename", "merge"]), st.permutations(["work/shelf", "shelf", "shelf~2", "boat"])),
    )
    begun = draw(st.lists(ADDED, min_size=2, max_size=5))
    return begun + draw(st.lists(what, max_size=12))


def changes_of(step: int, what: tuple[str, Any], there: dict[int, bytes]) -> list[Change]:
    """What a step of a history asks of the store."""
    name, given = what
    if name == "add":
        number = len(there) + 1
        if number > 9:
            return []
        place, session, words = given
        text = f"{words} {own(number)} {words}" if number % 3 else words  # some say what others say too
        there[number] = text.encode()
        return [added(number, there[number], place=place, session=session)]
    if name in ("rename", "merge"):
        path, to = given[:2]
        return [RenameScope(path=path, to=to) if name == "rename" else MergeScopes(path=path, into=to)]
    if name == "supersede":
        old, new = given
        return [Supersede(old=id_of(old), new=id_of(new))]
    if name == "settle":
        old, new = given
        return [
            SettleStatements(older=id_of(old), older_start=0, newer=id_of(new), newer_start=0, verdict="newer", by="")
        ]
    if name == "know":
        return known(dict(list(there.items())[:given]))
    if name == "sleep":
        return slept(step, dict(list(there.items())[:given]))
    if name in ("retire", "restore"):
        reason = f"as {own(given % 9 + 1)} says"  # who forgets one may quote another
        return [Retire(memory=id_of(given), reason=reason) if name == "retire" else Unretire(memory=id_of(given))]
    if name == "original":
        return [KeepOriginal(memory=id_of(given), text=f"{own(given)} with its secret {own(given + 100)}".encode())]
    if name == "vectors":
        return [add_encoder(), vectors(*sorted({given, *list(there)[:2]}), windows=2)]
    if name == "bind":  # what waits, up to a number
        return [add_space(), *(codes(n, topic=own(n)) for n in there if n <= given)]
    ids = tuple(id_of(n) for n in given)
    quoted = " ".join(own(n) for n in given)
    if name == "recall":
        parts = tuple(DeliveredSpan(memory=one, start=0, stop=1, why="it is near") for one in ids)
        return [RecordDelivery(query=f"what of {quoted}?", scope="*", parts=parts, session="a", tokens=1)]
    if name == "asked":
        return [delivery(query=f"who said {quoted}?", session="c")]
    if name == "given":
        return [delivery(*given, assistant="t", session="b", occasion="prompt")]
    text = f'{{"prompt": "{quoted}"}}'.encode()
    return [QuarantineRecord(record=b"%016d" % step, assistant="t", event="prompt", why="no", text=text)]


def known(texts: Mapping[int, bytes]) -> list[Change]:
    """What some memories state of one of two things, and name it by in their own words; each is graded by the next."""
    read = []
    for row, text in texts.items():
        thing, name = f"thing {row % 2}", own(row).encode() if row % 3 else text
        read.append(MemoryReading(row, (statement(text, thing, name),), (mention(text, thing, name),)))
    pairs = (GradedPair(older=row, newer=row + 1, grade="replaced", probability=0.9, why="it is so") for row in texts)
    return [
        AddStatements(generation=1, reading="first", memories=tuple(read)),
        GradeStatements(generation=1, seq=1 << 40, rows=(), pairs=tuple(pairs)),
        MergeEntities(entity=bytes([len(texts)]) * 32, into=bytes(32)),
    ]


def slept(step: int, texts: Mapping[int, bytes]) -> list[Change]:
    """A night that derives an item of each of some memories, and one of all of them."""
    spans = [SourceSpan(row, 0, len(text)) for row, text in texts.items()]
    each = tuple(DerivedItem(b"session:%d:1" % one.row, b"%d" % step, b"", (one,)) for one in spans)
    whole = DerivedItem(b"project:1", b"%d" % step, b"", tuple(spans))
    run = f"night {step}"
    items = KeepDerived(generation=1, run=run, stage="project-digests", items=(*each, whole))
    return [BeginNight(run=run, reason="idle"), items] if texts else []


def after_all(before: dict[bytes, bytes], gone: set[bytes]) -> dict[bytes, bytes]:
    """What replaces what, once some are gone: the next in the chain that is left."""
    left = {}
    for old, new in before.items():
        while new in gone and new in before:
            new = before[new]
        if old not in gone and new not in gone:
            left[old] = new
    return left


@settings(max_examples=12)
@given(histories(), st.sets(numbers, min_size=1, max_size=6), st.sets(numbers, max_size=3))
def test_erased_is_in_no_byte_and_the_store_goes_on(
    history: list[tuple[str, Any]], chosen: set[int], later: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        mind = Mind(Path(place) / "mind")
        there: dict[int, bytes] = {}
        by_number: dict[int, AddMemory] = {}
        with closing(Store.open(mind.folder.store, KEYS)) as store:
            for step, what in enumerate(history):
                changes = changes_of(step, what, there)
                by_number |= {len(there): one for one in changes if isinstance(one, AddMemory)}
                try:
                    apply(store, *changes, at=1_000_000 + step)
                except BadInput:  # it is about something that is not there
                    assert not any(isinstance(one, AddMemory) for one in changes)
        gone: set[int] = set()
        for wave in (chosen, later):  # what is erased after something else was
            wave = wave & by_number.keys() - gone
            if not wave:
                continue
            gone |= wave
            before = mind.replacements()
            assert mind.erase(*wave).memories == len(wave)
            check_whole(mind, by_number, gone)
            assert mind.replacements() == after_all(before, {id_of(n) for n in wave})
        check_kept_out(mind, by_number, gone)


BOUND = {"codes", "bound", "fillers", "unbound"}
READ = {"unread", "ungraded", "statements", "mentions", "grades"}


def check_whole(mind: Mind, by_number: dict[int, AddMemory], gone: set[int]) -> None:
    """Nothing of what is gone is there, all else is, and what the log says makes the same again."""
    left = [one.text for number, one in by_number.items() if number not in gone]
    secret = runs([by_number[number].text for number in gone] + [own(number + 100).encode() for number in gone]) - runs(
        left
    )
    there = opened(mind.folder.store)
    assert not [run for run in secret if run in there]
    now = mind.held()
    assert [row[1] for row in now["memories"]] == [id_of(n) for n in sorted(by_number) if n not in gone]
    with closing(Store.open(mind.folder.store, KEYS)) as store:
        store.rebuild(lambda done, total: None, meaning=False)
    again = mind.held()
    for table in (
        *now.keys()
        - {"sessions", "scopes", "memories", "givings", "given_parts", "projects", "texts"}
        - BOUND
        - READ
        - {"entities"},
    ):
        assert again[table] == now[table], table
    for table in BOUND - {"unbound"}:  # who was forgotten in between waits to be bound again
        assert set(again[table]) <= set(now[table]), table
    assert {row[0] for row in now["unbound"]} <= {row[0] for row in again["unbound"]}
    rows = {row[0] for row in now["memories"]}
    assert {row[4] for row in now["derived_sources"]} <= rows
    assert {row[1] for row in now["derived"]} == {row[1] for row in now["derived_sources"]}, "no item has lost a source"
    assert {row[0] for table in READ for row in now[table]} <= rows
    assert {row[0] for row in again["unread"]} == rows, "all is read again"
    assert named(again) == named(now)


def named(state: dict[str, list[Any]]) -> dict[str, Any]:
    """What a store holds, numbers that may change when it is made again left out."""
    scopes = {row[0]: row[1:3] for row in state["scopes"]}
    sessions = {row[0]: row[1:] for row in state["sessions"]}
    memories = [(*row[:4], sessions[row[4]], scopes[row[5]], *row[6:]) for row in state["memories"]]
    order = {row[0]: number for number, row in enumerate(state["givings"])}
    return {
        "memories": memories,
        "scopes": sorted(map(repr, scopes.values())),
        "sessions": sorted(sessions.values()),
        "givings": [row[1:] for row in state["givings"]],
        "parts": sorted((order[row[0]], *row[1:]) for row in state["given_parts"]),
        "projects": sorted((row[0], scopes[row[1]]) for row in state["projects"]),
        "texts": sorted(row[1:] for row in state["texts"]),
    }


def check_kept_out(mind: Mind, by_number: dict[int, AddMemory], gone: set[int]) -> None:
    """What is erased is not kept again, nor what is said of it; copies of any moment can be made, and are whole."""
    now = mind.held()
    for number in gone:
        again = mind.apply(by_number[number], KeepOriginal(memory=id_of(number), text=b"once more"))
        assert (again.kept[0].erased, again.kept[0].created, again.changed) == (True, False, (False, False))
    assert mind.held() == now
    seqs = [row[0] for row in now["applies"]]
    for seq in seqs[:: max(1, len(seqs) // 4)]:
        copy = mind.folder.path / f"copy-{seq}.db"
        with closing(Store.open(mind.folder.store, KEYS)) as store:
            store.fork(copy, seq)
        forked = held(copy)
        with closing(Store.open(copy, KEYS)) as store:
            store.rebuild(lambda done, total: None, meaning=False)
            assert named(held(copy)) == named(forked)
            kept = apply(store, added(50, b"something new")).kept[0]
            assert kept.created
        copy.unlink()


# --- what the law does not reach -------------------------------------------------------------------------------------


def test_vectors_of_whole_chunks_go_and_the_others_stay_as_they_are(mind: Mind) -> None:
    count, windows = 12, 200  # sqlite-vec keeps 1,024 vectors together
    mind.apply(add_encoder(), *(added(n, own(n).encode()) for n in range(1, count + 1)))
    values = np.random.default_rng(0).standard_normal((count * windows, 4)).astype("<f4")
    spans = tuple((w, w + 1) for w in range(windows))
    meanings = tuple(EmbeddedWindows(memory=id_of(n), spans=spans, covered=1, total=1) for n in range(1, count + 1))
    mind.apply(AddVectors(encoder=ENCODER, meanings=meanings, vectors=values.tobytes()))
    gone = {1, 2, 3, 4, 5, 6, 9}
    mind.erase(*gone)
    there = opened(mind.folder.store)
    with closing(connect(mind.folder.store, KEYS)) as db:  # a page may end in the midst of a vector
        there += b"".join(blob for (blob,) in db.execute("SELECT vectors FROM vectors_1_vector_chunks00").fetchall())
    with closing(open_reader(mind.folder.store, KEYS)) as reader, reader.snapshot() as now:
        block = now.vectors(ENCODER, 0)
        assert sorted(set(block.row.tolist())) == sorted(set(range(1, count + 1)) - gone)
    for number in range(1, count + 1):
        mine = values[(number - 1) * windows : number * windows]
        assert all((vector.tobytes() in there) == (number not in gone) for vector in mine)
        if number not in gone:
            assert np.array_equal(block.vectors[block.row == number], mine)
    mind.apply(added(20, b"a new one"), vectors(20))
    with closing(open_reader(mind.folder.store, KEYS)) as reader, reader.snapshot() as now:
        assert now.vectors(ENCODER, 0).row.tolist()[-1] == count + 1, "no row is given twice"


def code_of(number: int) -> bytes:
    """A hypervector that no other memory has, 64 bytes."""
    return hashlib.sha512(b"code %d" % number).digest()


def bind(mind: Mind, *numbers: int) -> None:
    one = [[CodeInfo(tier="episode", pairs=1, fillers=(("who", own(number), 0),))] for number in numbers]
    mind.apply(
        AddCodes(
            stamp="wide",
            seq=1 << 40,
            memories=tuple(id_of(number) for number in numbers),
            items=msgspec.msgpack.encode(one),
            codes=b"".join(code_of(number) for number in numbers),
        )
    )


def test_hypervectors_go_with_it_and_those_of_what_stood_beside_it_are_bound_again(mind: Mind) -> None:
    kinds = {**dict.fromkeys(range(1, 6), "turn"), 6: "tool_call", 7: "tool_result", 8: "turn"}
    mind.apply(*(added(n, own(n).encode(), kind=kind, said_at=n) for n, kind in kinds.items()))
    mind.apply(added(9, said_at=3, session="another"), add_space("wide", dimensions=512))
    bind(mind, *range(1, 10))
    assert [row[0] for row in mind.held()["unbound"]] == []
    mind.erase(3, 7)
    there = opened(mind.folder.store)
    left = [1, 5, 8, 9]
    assert [number for number in range(1, 10) if code_of(number) in there] == left
    state = mind.held()
    assert [row[0] for row in state["unbound"]] == [2, 4, 6]
    assert [filler for _, filler in state["fillers"]] == sorted(own(number) for number in left)
    bind(mind, 2, 4, 6)
    mind.erase(*(n for n in range(1, 10) if n not in (3, 7)))
    assert [mind.held()[table] for table in BOUND] == [[]] * 4


def test_it_goes_out_of_all_graphs_and_communities_are_found_again_at_all_boundaries(mind: Mind) -> None:
    mind.apply(add_space(), *(added(n, f"{WORDS[n % 2]} {own(n)}".encode()) for n in range(1, 7)))
    group(mind.apply, lambda what: look(mind.folder.store, what), {1: [1, 2, 3], 2: [4, 5]}, near={3: [1], 1: [3]})
    mind.apply(codes(6), Supersede(old=id_of(2), new=id_of(3)), Retire(memory=id_of(5), reason=""))
    mind.apply(MarkBoundary(reason="night"))
    mind.apply(added(7), Supersede(old=id_of(4), new=id_of(3)))  # 4 and 7 wait for the next boundary
    generation = look(mind.folder.store, lambda now: now.generation)
    mind.apply(PlaceMembers(generation=generation, rows=_row(6), topics=_row(1)))
    mind.erase(3, 7)
    with closing(connect(mind.folder.store, KEYS)) as db:
        for table in GRAPH_TABLES:
            named = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})").fetchall()]
            for column in {"memory", "successor"} & set(named):
                left = f"SELECT count(*) FROM {table} WHERE {column} IS NOT NULL AND {column} NOT IN"
                assert db.execute(f"{left} (SELECT id FROM memories)").get == 0, (table, column)
        assert {table: db.execute(f"SELECT count(*) FROM {table}").get for table in FOUND_TABLES} == dict.fromkeys(
            FOUND_TABLES, 0
        )
        assert db.execute("SELECT done, encoder FROM boundaries ORDER BY id").fetchall() == [(0, None), (0, None)]
        assert db.execute("SELECT count(*) FROM graph_scales").get == 0
        changed = db.execute("SELECT boundary, memory, successor FROM boundary_changes ORDER BY 1, 2").fetchall()
    assert changed == [*((1, row, None) for row in (1, 2, 4, 5, 6)), (2, 2, None), (2, 5, None)]
    with closing(Store.open(mind.folder.store, KEYS)) as store:
        store.rebuild(lambda done, total: None, meaning=True)
    boundaries = look(mind.folder.store, lambda now: now.boundaries(0))
    assert [(one.reason, one.done) for one in boundaries] == [("asked", False), ("night", False)]


def test_what_it_states_goes_and_what_it_had_replaced_stands_again(mind: Mind) -> None:
    mind.apply(*(added(n, text.encode(), said_at=n) for n, text in HARBOURS.items()))
    mind.apply(
        AddStatements(generation=1, reading="first", memories=tuple(harbour(n) for n in HARBOURS)),
        GradeStatements(
            generation=1,
            seq=9,
            rows=tuple(HARBOURS),
            pairs=tuple(
                GradedPair(older=old, newer=new, grade="replaced", probability=0.9, why="it is so")
                for old, new in ((1, 2), (2, 3), (1, 3))
            ),
        ),
        *(verdict(old, new) for old, new in ((1, 2), (2, 3), (1, 3))),
        Supersede(old=id_of(1), new=id_of(2)),
    )
    assert look(mind.folder.store, lambda now: len(now.pairs(None, is_open=False))) == 1, "1 is corrected"
    assert mind.erase(2).memories == 1
    state, log = mind.held(), mind.log()
    assert [row[:2] for row in state["statements"]] == [(1, 0), (3, 0)]
    assert {row[0] for row in state["mentions"]} == {1, 3}
    assert [row[:4] for row in state["grades"]] == [(1, 0, 3, 0)]
    assert [(row[0], row[2]) for row in state["verdicts"]] == [(1, 3)]
    assert [row[:1] for row in state["ungraded"]] == [(1,)], (
        "it stands again, and is graded against all that came meanwhile"
    )
    assert [one for one in log if isinstance(one, SettleStatements)] == [verdict(1, 3)]
    (pair,) = look(mind.folder.store, lambda now: now.pairs(None, is_open=False))
    assert (pair.grade, pair.verdict) == ("replaced", "newer")
    mind.erase(3)
    assert look(mind.folder.store, lambda now: now.pairs(None, is_open=False)) == []
    assert [mind.held()[table] for table in ("grades", "verdicts")] == [[], []]
    mind.erase(1)
    assert [mind.held()[table] for table in READ | {"entities"}] == [[]] * 6


def test_no_letter_of_a_name_is_left_that_only_it_wrote_so_though_it_was_merged(mind: Mind) -> None:
    mind.apply(*(added(n, text.encode()) for n, text in HARBOURS.items()))
    mind.apply(AddStatements(generation=1, reading="first", memories=tuple(harbour(n) for n in (1, 2))))
    marks = {one.key: one.mark for one in look(mind.folder.store, lambda now: now.entities())}
    mind.apply(MergeEntities(entity=marks["harbour of skagen"], into=marks["hull"]))
    mind.erase(1)
    there = opened(mind.folder.store)
    assert b"THE-HARBOUR-OF-SKAGEN" not in there
    assert b"harbour of skagen" in there
    names = look(mind.folder.store, lambda now: {one.key: one.name for one in now.entities()})
    assert names["harbour of skagen"] == "harbour of skagen"
    mind.erase(2, 3)
    there = opened(mind.folder.store)
    assert b"skagen" not in there.lower()
    assert [one for one in mind.log() if isinstance(one, MergeEntities)] == [
        MergeEntities(entity=marks["harbour of skagen"], into=marks["hull"])
    ]
    assert look(mind.folder.store, lambda now: now.entities()) == []


HARBOURS = {
    1: "the hull lies in THE-HARBOUR-OF-SKAGEN",
    2: "the hull lies in harbour of skagen",
    3: "the hull lies in another place",
}


def harbour(row: int) -> MemoryReading:
    """Where the hull lies, and by what name."""
    text = HARBOURS[row].encode()
    place = text[len("the hull lies in ") :]
    key = "harbour of skagen" if row < 3 else "another place"
    return MemoryReading(
        row, (statement(text, "hull", place),), (mention(text, "hull", b"hull"), mention(text, key, place, "place"))
    )


def verdict(older: int, newer: int) -> SettleStatements:
    """That the newer one holds."""
    start = len("the hull lies in ")
    return SettleStatements(
        older=id_of(older), older_start=start, newer=id_of(newer), newer_start=start, verdict="newer", by="user"
    )


def test_one_that_was_only_placed_goes_and_the_communities_stay(mind: Mind) -> None:
    mind.apply(*(added(n, own(n).encode()) for n in range(1, 5)))
    group(mind.apply, lambda what: look(mind.folder.store, what), {1: [1, 2], 2: [3, 4]})
    mind.apply(added(7, own(7).encode()))
    generation = look(mind.folder.store, lambda now: now.generation)
    mind.apply(PlaceMembers(generation=generation, rows=_row(5), topics=_row(1)))
    assert look(mind.folder.store, lambda now: now.community(1).placed) == 1
    mind.erase(7)
    assert look(mind.folder.store, lambda now: now.members().row.tolist()) == [1, 2, 3, 4]
    with closing(connect(mind.folder.store, KEYS)) as db:
        assert db.execute("SELECT count(*) FROM members WHERE memory = 5").get == 0
    assert look(mind.folder.store, lambda now: now.boundaries(0)[0].done)


def _row(number: int) -> bytes:
    return np.array([number], "<i8").tobytes()


def test_what_was_bound_when_it_still_stood_beside_it_and_waits_since_goes_too(mind: Mind) -> None:
    mind.apply(*(added(n, own(n).encode(), said_at=10 * n) for n in (1, 2, 3)), add_space("wide", dimensions=512))
    bind(mind, 1, 2, 3)
    mind.apply(added(4, b"between them", said_at=15))
    mind.erase(2)
    there = opened(mind.folder.store)
    assert [number for number in (1, 2, 3) if code_of(number) in there] == [], "the first was bound with it as its next"
    assert [row[0] for row in mind.held()["unbound"]] == [1, 3, 4]


def test_who_says_nothing_any_more_is_spoken_to_by_nobody(mind: Mind) -> None:
    names = {1: "Ann", 2: "Ann", **dict.fromkeys(range(3, 8), "Bob")}
    mind.apply(*(added(n, own(n).encode(), said_at=n, speaker=name) for n, name in names.items()))
    mind.apply(added(8, own(8).encode(), session="another"), add_space("wide", dimensions=512))
    bind(mind, *range(1, 9))
    mind.erase(1)
    assert [row[0] for row in mind.held()["unbound"]] == [2], "the others speak to her still"
    bind(mind, 2)
    mind.erase(2)
    there = opened(mind.folder.store)
    assert [number for number in range(1, 9) if code_of(number) in there] == [8]
    assert [row[0] for row in mind.held()["unbound"]] == [3, 4, 5, 6, 7]
    assert [filler for _, filler in mind.held()["fillers"]] == [own(8)]


def test_whose_words_are_erased_all_at_once_is_spoken_to_by_nobody_either(mind: Mind) -> None:
    names = {1: "Ann", 2: "Bob", 3: "Bob", 4: "Bob", 5: "Ann"}
    mind.apply(*(added(n, own(n).encode(), said_at=n, speaker=name) for n, name in names.items()))
    mind.apply(add_space("wide", dimensions=512))
    bind(mind, *names)
    mind.erase(1, 5)
    there = opened(mind.folder.store)
    assert [number for number in names if code_of(number) in there] == []
    assert [row[0] for row in mind.held()["unbound"]] == [2, 3, 4]


def test_a_correction_of_a_correction_stands_for_the_first_word_once_the_one_between_is_gone(mind: Mind) -> None:
    mind.apply(*(added(n, own(n).encode()) for n in (1, 2, 3, 4)))
    mind.apply(Supersede(old=id_of(1), new=id_of(2)), Supersede(old=id_of(4), new=id_of(2)), at=5)
    mind.apply(Supersede(old=id_of(2), new=id_of(3)), at=9)
    mind.erase(2)
    assert mind.replacements() == {id_of(1): id_of(3), id_of(4): id_of(3)}
    assert [row[17:20] for row in mind.held()["memories"] if row[1] != id_of(3)] == [(1_000_000, 3, 9)] * 2
    stubs = [one for one in mind.log() if isinstance(one, RedactedChange)]
    assert [sorted(one.links) for one in stubs] == [[], [], [(id_of(1), id_of(3)), (id_of(4), id_of(3))]]


def test_a_reason_that_quotes_what_is_erased_goes_and_the_others_stay(mind: Mind) -> None:
    mind.apply(*(added(n, own(n).encode()) for n in (1, 2, 3, 4)))
    mind.apply(*(Retire(memory=id_of(n), reason=f"as {own(1)}") for n in (2, 3)), Retire(memory=id_of(4), reason="why"))
    mind.apply(Unretire(memory=id_of(3)))
    assert mind.erase(1).quoted == 1
    assert own(1).encode() not in opened(mind.folder.store)
    assert len(mind.held()["memories"]) == 3
    reasons = [one.reason for one in mind.log() if isinstance(one, Retire)]
    assert reasons == ["", "", "why"]


def test_the_log_keeps_a_keyed_hash_and_its_numbers(mind: Mind) -> None:
    mind.apply(added(1, b"the first"), added(2, b"the second"), Retire(memory=id_of(1), reason="why"))
    before = [row[0] for row in mind.held()["log"]]
    mind.erase(1)
    assert [row[0] for row in mind.held()["log"]] == before
    assert mind.log()[0] == Tombstone(identity=(1).to_bytes(32, "big"), row=1)
    assert mind.log()[2] == RedactedChange()
    answers = [row[7] for row in mind.held()["applies"]]
    assert not any(id_of(1) in answer for answer in answers)
    assert any(id_of(2) in answer for answer in answers)


def test_two_projects_of_one_name_keep_their_paths_when_the_first_is_erased(mind: Mind) -> None:
    mind.apply(added(1, b"one", place=PLACES[1]), added(2, b"two", place=PLACES[2]))
    mind.erase(selection=Selection(scope="shelf"))
    for _ in range(2):
        assert [row[1] for row in mind.held()["scopes"]] == ["shelf~2"]
        with closing(Store.open(mind.folder.store, KEYS)) as store:
            store.rebuild(lambda done, total: None, meaning=False)
    assert mind.apply(added(3, b"three", place=PLACES[1])).kept[0].scope == "shelf"


def test_the_same_words_in_the_same_session_stay_out_unless_the_host_tells_them_apart(mind: Mind) -> None:
    mind.apply(added(1, b"the same"), added(2, b"a call", kind="tool_call"))
    mind.erase(1, 2)
    told = mind.apply(
        added(3, b" the same\n"),
        added(4, b"the same", session="another"),
        added(5, b"a call", kind="tool_call"),
    )
    assert [one.erased for one in told.kept] == [True, False, False]


@pytest.mark.parametrize("told", ["hook", "transcript"])
def test_words_that_were_relabelled_stay_out_as_their_hook_and_as_their_transcript_tell_them(
    mind: Mind, told: str
) -> None:
    mind.apply(added(1, b"use nets of hemp", session="s"))
    mind.apply(Relabel(labels=(labels_of(1, kind="injected", role="system", author="unknown"),)))
    mind.erase(1)
    who = {"kind": "injected", "role": "system"} if told == "transcript" else {}
    assert [one.erased for one in mind.apply(added(2, b"use nets of hemp", session="s", **who)).kept] == [True]
    assert [one.erased for one in mind.apply(added(3, b"use nets of hemp", session="t", **who)).kept] == [False]


def test_what_an_erasure_marked_by_its_kind_and_role_as_they_were_stays_out(mind: Mind) -> None:
    said = added(1, b"use nets of hemp", kind="injected", role="system")
    named = (said.assistant, said.session, said.kind, said.role, "use nets of hemp")
    mark = KEYS.identity_hash()(b"erased", *(part.encode() for part in named))
    with closing(connect(mind.folder.store, KEYS)) as db:
        db.execute("INSERT INTO erased(identity) VALUES(?)", (mark,))
    assert [one.erased for one in mind.apply(said).kept] == [True]
    assert [one.erased for one in mind.apply(added(2, b"use nets of hemp")).kept] == [False]


def test_what_is_said_of_what_was_erased_is_passed_over_with_it(mind: Mind) -> None:
    mind.apply(added(1, b"old"), added(2, b"new"))
    mind.erase(2)
    done = mind.apply(added(2, b"new"), Supersede(old=id_of(1), new=id_of(2)), added(3, b"another"))
    assert done.changed == (False, False, True)
    assert mind.replacements() == {}


def test_what_came_after_it_was_shown_is_not_erased(mind: Mind) -> None:
    mind.apply(added(1, b"shown"))
    selection = Selection(scope="*")
    seen = mind.survey(selection)
    mind.apply(added(2, b"came later"))
    erase(mind.folder, KEYS, selection, seen, lambda what, done, total: None)
    assert [row[1] for row in mind.held()["memories"]] == [id_of(2)]
    with closing(Store.open(mind.folder.store, KEYS)) as store:
        store.rebuild(lambda done, total: None, meaning=False)
    with pytest.raises(DamagedStore, match="look again"):
        erase(mind.folder, KEYS, selection, seen, lambda what, done, total: None)
    assert len(mind.held()["memories"]) == 1


def test_a_disk_that_is_full_leaves_all_as_it_was(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    mind.apply(added(1, own(1).encode()))
    before, there = mind.held(), sorted(path.name for path in mind.folder.path.iterdir())

    def full(*_: object) -> None:
        raise DiskFull(path="the disk")

    monkeypatch.setattr("mnemic.runtime.transfer.redact_log.LogRedactor.run", full)
    with pytest.raises(DiskFull):
        mind.erase(1)
    assert mind.held() == before
    assert sorted(path.name for path in mind.folder.path.iterdir()) == there


def test_copies_from_before_a_migration_and_quarantined_files_go_at_the_same_moment(mind: Mind) -> None:
    mind.apply(added(1, b"kept"), added(2, b"gone"))
    quarantined = mind.folder.spool / "aside" / "ab.spool"
    quarantined.parent.mkdir(parents=True)
    copies = ["store.schema-3.db", ".store.schema-3.db"]
    for path in (quarantined, *(mind.folder.path / name for name in copies)):
        path.write_bytes(b"whatever")
    done = mind.erase(2)
    assert (done.migration_copies, done.quarantined) == (tuple(sorted(copies)), ("aside/ab.spool",))
    assert not quarantined.exists()
    assert sorted(path.name for path in mind.folder.path.iterdir() if path.is_file()) == ["lock", "store.db"]


def test_what_quotes_them_loses_the_words_and_what_quotes_others_keeps_them(mind: Mind) -> None:
    quotes, others = f"who said: {own(1)}?", f"who said: {own(2)}?"
    mind.apply(added(1, own(1).encode(), session="a"), added(2, own(2).encode(), session="b"))
    for number, said in enumerate((quotes, others)):
        odd = QuarantineRecord(record=b"%016d" % number, assistant="t", event="prompt", why="odd", text=said.encode())
        mind.apply(delivery(query=said, session="c"), odd)
    mind.apply(delivery(1, 2, query="which?", session="c"), delivery(1, query="one?", session="c"))
    mind.apply(delivery(query="its own question", session="a"))
    assert mind.erase(1).quoted == 2
    there = opened(mind.folder.store)
    assert not [run for run in runs([own(1).encode()]) if run in there]
    with closing(open_reader(mind.folder.store, KEYS)) as reader, reader.snapshot() as now:
        listed = now.list_deliveries(ListDeliveries(own=True)).deliveries
        assert now.capture_progress(0).quarantined_count == 1, "what lost its words cannot be understood: nobody waits"
    assert [(one.query, [part.id for part in one.parts], one.erased) for one in reversed(listed)] == [
        ("", [], 0),
        (others, [], 0),
        ("", [id_of(2)], 1),
        ("", [], 1),
    ]
    assert [row[5] is None for row in mind.held()["aside"]] == [True, False]
    assert not any(one.session == "a" for one in listed), "a session of which nothing is left was told nothing"


def test_texts_that_others_hold_too_stay(mind: Mind) -> None:
    shared = b"said twice, in full, by two"
    mind.apply(added(1, shared, session="a"), added(2, shared, session="b"))
    mind.erase(1)
    with closing(connect(mind.folder.store, KEYS)) as db:
        (row,) = [text for (text,) in db.execute("SELECT text FROM memories").fetchall()]
        assert load_text(db, row) == shared


# --- killed ----------------------------------------------------------------------------------------------------------


def erase_and_die(mind: Mind, step: int) -> bool:
    """Erase in a process of its own that is killed before so many steps are done; says whether it came to the end."""
    child = os.fork()
    if child == 0:
        left = [step]

        def dying(call: Callable[..., Any]) -> Callable[..., Any]:
            def do(*given: Any, **named: Any) -> Any:
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1
                return call(*given, **named)

            return do

        for name in ("rename", "replace", "unlink", "rmdir", "fsync", "pwrite"):
            setattr(os, name, dying(getattr(os, name)))
        chosen = Selection(ids=(id_of(1),))
        erase(mind.folder, KEYS, chosen, mind.survey(chosen), dying(lambda what, done, total: None))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return os.waitstatus_to_exitcode(status) == 0


def test_killed_at_any_step_it_leaves_the_old_state_or_the_new_one_whole(tmp_path: Path) -> None:
    first = Mind(tmp_path / "first")
    first.apply(add_encoder(), added(1, own(1).encode()), added(2, b"stays"), vectors(1, 2))
    first.apply(Supersede(old=id_of(2), new=id_of(1)))
    spooled = write(first.folder.spool, "a", sealed(record(1, b"payload")))
    (first.folder.path / "store.schema-3.db").write_bytes(b"whatever")
    first.apply(AdvanceSpool(file=file_id(0), offset=spooled.stat().st_size, records=1))
    old = first.held()
    ended, seen = False, []
    for step in range(100):
        mind = Mind(Path(shutil.copytree(first.folder.path, tmp_path / str(step))))
        ended = erase_and_die(mind, step)
        finish_commit(mind.folder.path)
        now = mind.held()
        erased = [row[1] for row in now["memories"]] == [id_of(2)]
        assert erased or now == old
        secret = [run for run in runs([own(1).encode()]) if run in opened(mind.folder.store)]
        copy = (mind.folder.path / "store.schema-3.db").exists()
        assert (bool(secret), copy) == (not erased, not erased)
        seen.append(erased)
        if erased:
            assert not (mind.folder.spool / "a.spool").exists(), "what is taken in is wiped before the new state holds"
        if ended:
            break
        mind.erase(*() if erased else (1,), selection=Selection(scope="*") if erased else None)
        assert id_of(1) not in [row[1] for row in mind.held()["memories"]], "what a killed one left is in nobody's way"
    assert ended
    assert seen == sorted(seen)
    assert {True, False} == set(seen)
