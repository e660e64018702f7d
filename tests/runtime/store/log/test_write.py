"""What each change does: scopes, corrections, both clocks; every change is carried out again from the log."""

from __future__ import annotations

import uuid
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
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
    MemoryLabels,
    OccurrenceCount,
    QuarantineRecord,
    QueueTranscript,
    RecordSelfTest,
    Relabel,
    ReleaseRecord,
    SetSessionMode,
)
from mnemic.actors.communities.changes import (
    CommunityRow,
    LineageEvent,
    MarkBoundary,
    PlaceMembers,
    SetCommunities,
    SetPrototypes,
)
from mnemic.actors.kernel.changes import Change, Logged
from mnemic.actors.kernel.errors import InvalidValue, NoSuchMemory
from mnemic.actors.kernel.scope_paths import SCOPES_AUTHOR, SCOPES_UNDO_AUTHOR, ScopeRef
from mnemic.actors.knowledge.changes import (
    AddStatements,
    GradedPair,
    GradeStatements,
    MemoryReading,
    MentionRow,
    MergeEntities,
    SettleStatements,
    StatementRow,
)
from mnemic.actors.log.changes import AddMemory, RecordDelivery, Retire, Supersede, Unretire
from mnemic.actors.meaning.changes import AddEncoder, AddVectors, DropEncoder, EncoderName
from mnemic.actors.scopes.changes import MergeScopes, MoveMemories, MoveProject, RenameScope, SplitScope
from mnemic.actors.shape.changes import AddCodes, AddSpace
from mnemic.actors.sleep.changes import (
    BeginNight,
    DerivedItem,
    EndNight,
    KeepDerived,
    KeepVerdict,
    SourceSpan,
    TakeBackNights,
)
from mnemic.actors.transfer.changes import RecordBackup
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import _HANDLERS, Store
from tests.built import added
from tests.runtime.building import (
    ENCODER,
    KEYS,
    add_encoder,
    add_space,
    apply,
    as_of_then,
    codes,
    delivery,
    held,
    id_of,
    rows_with,
    said,
    vectors,
    without_derived,
)

OTHER = EncoderName(implementation="other-int8", model="f" * 64)
THIRD = EncoderName(implementation="third-int8", model="3" * 64)


# --- scopes ----------------------------------------------------------------------------------------------------------


def test_two_projects_of_one_name_have_two_scopes_and_are_found_again(store: Store) -> None:
    ours = ScopeRef(path="shelf", project="/a/shelf/.git", found="git")
    theirs = ScopeRef(path="shelf", project="/b/shelf/.git", found="git")
    thirds = ScopeRef(path="shelf", project="/c/shelf/.git", found="git")
    named = ScopeRef(path="shelf", project=None, found="named")
    second = ScopeRef(path="shelf~2", project=None, found="named")
    places = [ours, theirs, thirds, theirs, ours, named, second]
    kept = apply(store, *(added(n, place=place) for n, place in enumerate(places, start=1))).kept
    expected = ["shelf", "shelf~2", "shelf~3", "shelf~2", "shelf", "shelf", "shelf~2"]
    assert [one.scope for one in kept] == expected


def test_a_project_does_not_move_into_a_scope_that_was_named(store: Store) -> None:
    named = ScopeRef(path="shelf", project=None, found="named")
    project = ScopeRef(path="shelf", project="/a/shelf", found="folder")
    kept = apply(store, added(1, place=named), added(2, place=project), added(3, place=named)).kept
    assert [one.scope for one in kept] == ["shelf", "shelf~2", "shelf"]


@pytest.mark.parametrize(("known", "expected"), [("work/secret", "work~2"), ("work", "work~2"), ("workshop", "work")])
def test_a_project_gets_no_name_of_what_is_known_or_lies_above_it(store: Store, known: str, expected: str) -> None:
    named = ScopeRef(path=known, project=None, found="named")
    project = ScopeRef(path="work", project="/a/work/.git", found="git")
    kept = apply(store, added(1, place=named), added(2, place=project), added(3, place=project)).kept
    assert [one.scope for one in kept] == [known, expected, expected]


NAMES = st.sampled_from(["a", "a/b", "a/b/c", "b", "b/c", "c"])


@settings(max_examples=30)
@given(named=st.lists(NAMES, unique=True), projects=st.lists(st.sampled_from(["a", "b", "c"])))
def test_what_its_owner_named_first_lies_below_no_folder(
    tmp_path_factory: pytest.TempPathFactory, named: list[str], projects: list[str]
) -> None:
    with closing(Store.create(tmp_path_factory.mktemp("store") / "store.db", KEYS)) as store:
        places = [ScopeRef(path=path, project=None, found="named") for path in named]
        places += [ScopeRef(path=path, project=f"/{n}/{path}", found="folder") for n, path in enumerate(projects)]
        kept = apply(store, *(added(n, place=place) for n, place in enumerate(places, start=1))).kept
    scopes = [str(one.scope) for one in kept]
    assert scopes[: len(named)] == named
    found = scopes[len(named) :]
    assert len(set(found)) == len(found)
    assert not any(f"{one}/".startswith(f"{path}/") for one in named for path in found)


# --- two clocks, corrections -----------------------------------------------------------------------------------------


def record(path: Path, number: int) -> Any:
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        return now.load_memories(now.rows_of([id_of(number)]))[0]


def test_world_time_and_system_time_are_kept_apart(store: Store, path: Path) -> None:
    apply(store, added(1, said_at=100), at=5000)
    apply(store, added(2), at=6000)
    apply(store, added(3, said_at=300), at=7000)
    apply(store, Supersede(old=id_of(1), new=id_of(3)), at=8000)
    first, second = record(path, 1), record(path, 2)
    assert (first.said_at, first.valid_from, first.valid_to, first.recorded_at) == (100, 100, 300, 5000)
    assert (second.said_at, second.valid_from, second.valid_to, second.recorded_at) == (None, 6000, None, 6000)
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        assert now.superseded().at.tolist() == [8000]


def test_a_correction_from_before_leaves_the_old_no_time_at_all(store: Store, path: Path) -> None:
    apply(store, added(1, said_at=300), added(2, said_at=100), Supersede(old=id_of(1), new=id_of(2)))
    assert (record(path, 1).valid_from, record(path, 1).valid_to) == (300, 300)


def test_what_was_replaced_is_replaced_at_the_end_of_its_chain(store: Store, path: Path) -> None:
    apply(store, *(added(n) for n in (1, 2, 3)))
    apply(store, Supersede(old=id_of(1), new=id_of(2)))
    apply(store, Supersede(old=id_of(1), new=id_of(3)))
    assert record(path, 1).superseded_by == id_of(2)
    assert record(path, 2).superseded_by == id_of(3)
    assert record(path, 3).supersedes == (id_of(2),)
    before = held(path)
    apply(store, Supersede(old=id_of(1), new=id_of(3)), Supersede(old=id_of(1), new=id_of(2)))
    assert held(path) == before, "it is so already"


@pytest.mark.parametrize(("old", "new"), [(1, 1), (2, 1), (3, 1), (3, 2), (5, 5), (3, 4)])
def test_a_memory_never_replaces_itself(store: Store, path: Path, old: int, new: int) -> None:
    apply(store, *(added(n) for n in (1, 2, 3, 4, 5)))
    for pair in ((1, 2), (2, 3), (4, 3)):
        apply(store, Supersede(old=id_of(pair[0]), new=id_of(pair[1])))
    before = held(path)
    with pytest.raises(InvalidValue) as caught:
        apply(store, Supersede(old=id_of(old), new=id_of(new)))
    assert "would replace itself" in said(caught.value)
    assert held(path) == before


# --- retired ---------------------------------------------------------------------------------------------------------


def test_what_is_retired_is_kept_with_the_time_and_the_reason(store: Store, path: Path) -> None:
    apply(store, added(1, b"nine", said_at=100), at=5000)
    before = record(path, 1)
    assert apply(store, Retire(memory=id_of(1), reason="it was wrong"), at=6000).changed == (True,)
    after = record(path, 1)
    assert (after.retired_at, after.retired_reason) == (6000, "it was wrong")
    assert (after.data, after.recorded_at, after.valid_from) == (b"nine", 5000, 100)
    held_then = held(path)
    assert apply(store, Retire(memory=id_of(1), reason="again"), at=7000).changed == (False,)
    assert held(path) == held_then, "it is so already"
    assert apply(store, Unretire(memory=id_of(1)), Unretire(memory=id_of(1)), at=8000).changed == (True, False)
    assert record(path, 1) == before


def test_all_are_retired_or_none(store: Store, path: Path) -> None:
    apply(store, added(1), added(2))
    apply(store, Retire(memory=id_of(2), reason=""))
    before = held(path)
    for change in (Retire(memory=id_of(9), reason=""), Unretire(memory=id_of(9))):
        with pytest.raises(NoSuchMemory) as caught:
            apply(store, Retire(memory=id_of(1), reason=""), Unretire(memory=id_of(2)), change)
        assert str(uuid.UUID(bytes=id_of(9))) in said(caught.value)
    assert held(path) == before


def test_what_is_captured_again_stays_retired_and_says_so(store: Store, path: Path) -> None:
    apply(store, added(1, b"nine"), added(2, b"ten"), Supersede(old=id_of(1), new=id_of(2)))
    apply(store, Retire(memory=id_of(2), reason=""), at=6000)
    before = held(path)
    nine, ten = apply(store, added(1, b"nine", id=id_of(7)), added(2, b"ten", id=id_of(8))).kept
    assert (nine.id, nine.created, nine.retired_at, nine.superseded_by) == (id_of(1), False, None, None)
    assert (ten.id, ten.created, ten.retired_at) == (id_of(2), False, 6000)
    assert held(path) == before


# --- from the log ---------------------------------------------------------------------------------------------------


def rows_of(*rows: int) -> bytes:
    return np.array(rows, "<i8").tobytes()


def found(boundary: int, *rows: int) -> SetCommunities:
    """At a boundary, one topic of some rows."""
    return SetCommunities(
        generation=1,
        boundary=boundary,
        scales=(),
        neighbour_rows=rows_of(1),
        neighbours=rows_of(2),
        cosines=np.ones(1, "<f4").tobytes(),
        rows=rows_of(*rows),
        topics=rows_of(*(1 for _ in rows)),
        parts=rows_of(*(0 for _ in rows)),
        communities=(CommunityRow(id=1, level=0, parent=0, scope=1, size=len(rows)),),
        ended=(),
        events=(LineageEvent(kind="born", community=1),),
    )


def derived(run: str, value: bytes) -> KeepDerived:
    """That a night derived something of the first memory."""
    item = DerivedItem(key=b"a", stamp=b"s", value=value, sources=(SourceSpan(1, 0, 3),))
    return KeepDerived(generation=1, run=run, stage="digests", items=(item,))


def read(*rows: int) -> AddStatements:
    """That each of some rows says and names the same."""
    stated = StatementRow(
        subject="shelf",
        subject_span=(4, 9),
        relation="hold",
        value=(16, 26),
        clause=(0, 26),
        negative=False,
        modality="asserted",
        holds_from=None,
        holds_to=None,
        single=True,
        rule="plain",
    )
    named = MentionRow(key="shelf", name="shelf", span=(4, 9), kind="thing")
    return AddStatements(
        generation=1, reading="first", memories=tuple(MemoryReading(row, (stated,), (named,)) for row in rows)
    )


def labels_of(number: int, **fields: Any) -> MemoryLabels:
    """Labels of the memory of that number: those it was made with, unless others are named."""
    given: dict[str, Any] = {"kind": "turn", "role": "user", "speaker": None, "author": None, "said_at": None}
    return MemoryLabels(memory=id_of(number), **(given | {"utc_offset_min": None} | fields))


SAMPLES: dict[type, Change] = {
    AddMemory: added(
        3,
        b"brought, and a speaker",
        speaker="Ada",
        place=ScopeRef(path="x", project="/x", found="git"),
        scrubbed=(("aws-key", 2), ("private", 1)),
    ),
    Supersede: Supersede(old=id_of(1), new=id_of(2)),
    Retire: Retire(memory=id_of(1), reason="it was wrong"),
    Unretire: Unretire(memory=id_of(4)),
    Relabel: Relabel(labels=(labels_of(1, kind="injected", role="system", author="unknown", said_at=3),)),
    AddEncoder: add_encoder(OTHER),
    DropEncoder: DropEncoder(encoder=ENCODER),
    AddVectors: vectors(2, windows=3),
    AddSpace: add_space("second"),
    AddCodes: codes(1, 2),
    RecordDelivery: delivery(1, query="how many?", assistant="codex-mcp-client"),
    AdvanceSpool: AdvanceSpool(file=b"f" * 16, offset=900, records=3, torn=1),
    CountOccurrences: CountOccurrences(
        counts=(OccurrenceCount(identity=b"1" * 32, hooks=3), OccurrenceCount(identity=b"2" * 32, missed=1, read_at=9))
    ),
    DiscardSpoolFile: DiscardSpoolFile(file=b"f" * 16),
    QuarantineRecord: QuarantineRecord(
        record=b"r" * 16, assistant="t", event="prompt", why="odd", text=b"\xff" * 999, at=5, cwd="/x"
    ),
    ReleaseRecord: ReleaseRecord(record=b"q" * 16),
    QueueTranscript: QueueTranscript(path="/a", format="codex", due_at=70, changed_at=60),
    FinishTranscript: FinishTranscript(path="/a", size_bytes=12),
    KeepOriginal: KeepOriginal(memory=id_of(1), text=b"the key is hunter2"),
    RecordSelfTest: RecordSelfTest(assistant="t", nonce="second"),
    RecordBackup: RecordBackup(path="/t/kept", what="backup", size_bytes=9),
    IgnoreSession: IgnoreSession(assistant="t", session="s"),
    SetSessionMode: SetSessionMode(assistant="t", session="s", mode="headless"),
    RenameScope: RenameScope(path="work", to="home"),
    MergeScopes: MergeScopes(path="boat", into="work/shelf"),
    SplitScope: SplitScope(
        path="books", found="named", project=None, projects=(), into="work/shelf", memories=(id_of(2),)
    ),
    MoveProject: MoveProject(path="boat", project="/b/boat/.git", was="/a/boat/.git"),
    MoveMemories: MoveMemories(memories=(id_of(1), id_of(6)), path="work/shelf", to="everywhere"),
    MarkBoundary: MarkBoundary(reason="night"),
    SetCommunities: found(2, 1, 2, 5),
    PlaceMembers: PlaceMembers(generation=1, rows=rows_of(6), topics=rows_of(1)),
    SetPrototypes: SetPrototypes(
        stamp="first", generation=1, seq=1 << 40, communities=(1,), bundled=(2,), prototypes=b"prototyp"
    ),
    AddStatements: read(3, 4),
    GradeStatements: GradeStatements(
        generation=1,
        seq=9,
        rows=(1, 2),
        pairs=(GradedPair(older=1, newer=2, grade="replaced", probability=0.9, why="said"),),
    ),
    SettleStatements: SettleStatements(
        older=id_of(1), older_start=16, newer=id_of(2), newer_start=16, verdict="newer", by="user"
    ),
    MergeEntities: MergeEntities(entity=b"e" * 32, into=b"f" * 32),
    BeginNight: BeginNight(run="second", reason="asked"),
    KeepDerived: derived("first", b"again"),
    KeepVerdict: KeepVerdict(run="first", stage="digests", effect="weigh", night=1, questions=0, passed=True, why=""),
    EndNight: EndNight(run="first", why="finished", stages=()),
    TakeBackNights: TakeBackNights(night=1),
}


def test_every_change_has_a_sample_and_is_carried_out(store: Store) -> None:
    assert SAMPLES.keys() == set(get_args(Change))
    assert _HANDLERS.keys() == {*get_args(Change), *get_args(Logged)}


@pytest.mark.parametrize("change", SAMPLES.values(), ids=lambda change: type(change).__name__)
def test_a_copy_from_before_a_change_is_as_it_was_and_a_rebuild_does_it_again(
    store: Store, path: Path, tmp_path: Path, change: Change
) -> None:
    apply(store, added(1), added(2), add_encoder(), add_encoder(THIRD), vectors(1), vectors(1, encoder=THIRD))
    apply(store, added(4), Retire(memory=id_of(4), reason="it was retired before"), at=40)
    apply(store, added(6, place=ScopeRef(path="boat", project="/a/boat/.git", found="git")))
    counted = CountOccurrences(counts=(OccurrenceCount(identity=b"1" * 32, hooks=2),))
    apply(store, AdvanceSpool(file=b"f" * 16, offset=500, records=2), counted)
    apply(store, QuarantineRecord(record=b"q" * 16, assistant="t", event="prompt", why="odd", text=b"1"))
    apply(
        store,
        QueueTranscript(path="/a", format="text", due_at=1, changed_at=1),
        RecordSelfTest(assistant="t", nonce="1"),
    )
    apply(store, delivery(1, occasion="prompt"))
    apply(store, add_space())
    apply(store, MarkBoundary(reason="asked"), found(1, 1, 2))
    apply(store, added(7, b"seven"), MarkBoundary(reason="commits"))
    apply(store, added(8, b"eight"), read(1, 2))
    apply(store, BeginNight(run="first", reason="idle"), derived("first", b"what it made"))
    before = held(path)
    seq = apply(store, change, at=50).seq
    after = held(path)
    assert after != before
    store.fork(tmp_path / "copy.db", seq - 1)
    forked, then = as_of_then(held(tmp_path / "copy.db")), as_of_then(before)
    if isinstance(change, ReleaseRecord):  # what a quarantined record had said is let go of for good
        for state in (forked, then):
            del state["aside"], state["texts"]
    assert forked == then
    store.rebuild(lambda done, total: None, meaning=False)
    assert without_derived(held(path)) == without_derived(after)


# --- labels ----------------------------------------------------------------------------------------------------------


def undo_of_last(path: Path) -> Any:
    """What takes back the last change of a store's log."""
    with closing(connect(path, KEYS)) as db:
        return msgspec.msgpack.decode(db.execute("SELECT undo FROM log ORDER BY id DESC LIMIT 1").get, type=Relabel)


def test_a_relabelled_memory_keeps_words_and_identity_and_its_former_labels_come_back(store: Store, path: Path) -> None:
    apply(store, added(1, b"From now on we use pnpm.", speaker="Ada"), added(2))
    before = held(path)["memories"]
    other = labels_of(1, kind="injected", role="system", author="unknown", said_at=9, utc_offset_min=-480)
    apply(store, Relabel(labels=(other, labels_of(2))))
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        (found,) = now.load_memories([1])
        assert rows_with(now, "ada") == []
    assert (found.data, found.kind, found.role, found.speaker) == (
        b"From now on we use pnpm.",
        "injected",
        "system",
        None,
    )
    assert (found.author, found.said_at, found.valid_from, found.utc_offset_min) == ("unknown", 9, 9, -480)
    assert apply(store, added(1, b"From now on we use pnpm.", id=id_of(7))).kept[0].id == id_of(1)
    apply(store, undo_of_last(path))
    assert held(path)["memories"] == before


def test_what_becomes_nobodys_word_loses_its_statements_and_is_quoted_no_more(store: Store, path: Path) -> None:
    apply(store, added(1, b"From now on we use pnpm."), added(2))
    apply(store, read(1, 2))
    apply(store, Relabel(labels=(labels_of(1, author="unknown"), labels_of(2, author="owner"))))
    with closing(connect(path, KEYS)) as db:
        assert db.execute("SELECT memory FROM statements").fetchall() == [(2,)], "it was the owner's before, too"
        assert db.execute("SELECT memory FROM unread").fetchall() == []
        assert db.execute("SELECT id, cued FROM memories").fetchall() == [(1, 0), (2, 0)]
    apply(store, Relabel(labels=(labels_of(1, author="owner"),)))
    with closing(connect(path, KEYS)) as db:
        assert db.execute("SELECT cued FROM memories WHERE id = 1").get == 1


def test_a_note_of_the_systems_was_read_without_an_author_and_states_nothing_with_it(store: Store, path: Path) -> None:
    apply(store, added(1, b"We use pnpm.", kind="note", role="system"))
    apply(store, read(1))
    apply(store, Relabel(labels=(labels_of(1, kind="note", role="system", author="unknown"),)))
    with closing(connect(path, KEYS)) as db:
        assert db.execute("SELECT memory FROM statements UNION SELECT memory FROM unread").fetchall() == []


def test_labels_that_a_memory_has_change_nothing(store: Store, path: Path) -> None:
    apply(store, added(1))
    before = held(path)
    assert apply(store, Relabel(labels=(labels_of(1),))).changed == (False,)
    assert held(path) == before


def test_a_memory_known_by_its_former_identity_is_not_kept_twice(store: Store, path: Path) -> None:
    apply(store, added(1))
    (again,) = apply(store, added(2, identity=b"n" * 32, formerly=added(1).identity)).kept
    assert (again.id, again.created) == (id_of(1), False)


def test_a_change_of_scopes_is_taken_back_past_labels_that_came_since(store: Store) -> None:
    apply(store, added(1, place=ScopeRef(path="boat", project="/a/boat/.git", found="git")))
    changes = [RenameScope(path="boat", to="ship")]
    store.apply(changes, at=5, key=b"rename", author=SCOPES_AUTHOR, run="r")
    apply(store, Relabel(labels=(labels_of(1, author="other"),)))
    undone = store.apply([RenameScope(path="ship", to="boat")], at=6, key=b"back", author=SCOPES_UNDO_AUTHOR, run="r")
    assert undone.changed == (True,)
