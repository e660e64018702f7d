"""What was exported and imported is what it was; twice is once; two minds become one; what was erased stays so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.changes import (
    CountOccurrences,
    IgnoreSession,
    KeepOriginal,
    OccurrenceCount,
    QuarantineRecord,
    ReleaseRecord,
    SetSessionMode,
)
from mnemic.actors.capture.prepare import identity_of
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.errors import BadInput, NotAnExport
from mnemic.actors.kernel.events import Event
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.knowledge.changes import AddStatements, MemoryReading, MentionRow, MergeEntities, SettleStatements
from mnemic.actors.log.changes import DeliveredSpan, RecordDelivery, Retire, Supersede, Unretire
from mnemic.actors.scopes.changes import MergeScopes, MoveProject, RenameScope
from mnemic.actors.transfer.changes import RecordBackup, Tombstone
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from mnemic.runtime.transfer import export_source
from mnemic.runtime.transfer.export import export_to
from mnemic.runtime.transfer.export_format import FILES, MANIFEST, FileEntry, IdentityBasis, Manifest
from mnemic.runtime.transfer.export_source import ExportSource
from mnemic.runtime.transfer.import_history import ImportReport
from mnemic.runtime.transfer.import_memories import import_into
from tests.built import added
from tests.paths import ROOT
from tests.runtime.building import KEYS, answers, apply, delivery, held, id_of, keys_of, said

OTHER_KEYS = keys_of(bytes(range(1, 33)))
PLACES = (
    ScopeRef(path="work/shelf", project=None, found="named"),
    ScopeRef(path="shelf", project="/a/shelf", found="git"),
    ScopeRef(path="shelf", project="/b/shelf", found="git"),
    ScopeRef(path="", project=None, found="none"),
)
MEMORIES = 6
TEXTS = st.sampled_from(
    [b"the shelf holds nine books", b"yes", "nö \ud83d\ude00".encode("utf-8", "surrogatepass"), b"a\0b"]
)

ids = st.integers(1, MEMORIES).map(id_of)
sessions = st.sampled_from(["s", "another"])


def quarantined(number: int, text: bytes) -> QuarantineRecord:
    return QuarantineRecord(
        record=number.to_bytes(16, "big"), assistant="t", event="prompt", why="odd", text=text, at=number, cwd="/a"
    )


CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(
        added,
        st.integers(1, MEMORIES),
        TEXTS,
        session=sessions,
        place=st.sampled_from(PLACES),
        said_at=st.sampled_from([None, 0, 77]),
        files=st.sampled_from([(), ("a.py", "b.py")]),
        scrubbed=st.sampled_from([(), (("token", 2),)]),
        speaker=st.sampled_from([None, "Bea"]),
    ),
    st.builds(Supersede, old=ids, new=ids),
    st.builds(Retire, memory=ids, reason=st.sampled_from(["", "wrong"])),
    st.builds(Unretire, memory=ids),
    st.builds(
        lambda memories, asked: RecordDelivery(
            scope="shelf", parts=tuple(DeliveredSpan(one, 0, 3, "dense") for one in memories), **asked
        ),
        st.lists(ids, max_size=2, unique=True),
        st.fixed_dictionaries(
            {
                "query": st.sampled_from(["shelf?", ""]),
                "assistant": st.sampled_from(["", "claude-code"]),
                "occasion": st.sampled_from(["recall", "session-start", "prompt"]),
                "session": sessions,
                "tokens": st.integers(0, 9),
            }
        ),
    ),
    st.builds(RenameScope, path=st.just("shelf"), to=st.sampled_from(["lib", "work/lib"])),
    st.builds(MergeScopes, path=st.sampled_from(["shelf~2", "shelf"]), into=st.just("work/shelf")),
    st.builds(MoveProject, path=st.just("shelf"), project=st.just("/c/shelf"), was=st.just("/a/shelf")),
    st.builds(
        SetSessionMode, assistant=st.just("test"), session=sessions, mode=st.sampled_from(["headless", "subagent"])
    ),
    st.builds(IgnoreSession, assistant=st.just("test"), session=sessions),
    st.builds(quarantined, st.integers(1, 2), st.sampled_from([b"odd", b"\xff odd".decode("latin-1").encode()])),
    st.builds(ReleaseRecord, record=st.just((1).to_bytes(16, "big"))),
    st.builds(
        SettleStatements,
        older=ids,
        older_start=st.just(4),
        newer=ids,
        newer_start=st.integers(0, 1),
        verdict=st.sampled_from(["newer", "older", "both", "unrelated", "open"]),
        by=st.sampled_from(["user", "mcp:codex"]),
    ),
    st.builds(KeepOriginal, memory=ids, text=st.just(b"my token is 12")),
    st.builds(
        lambda number, hooks: CountOccurrences(
            counts=(OccurrenceCount(identity=number.to_bytes(32, "big"), hooks=hooks),)
        ),
        st.integers(1, MEMORIES),
        st.integers(1, 3),
    ),
    st.builds(RecordBackup, path=st.just("/b/k"), what=st.sampled_from(["backup", "export"]), size_bytes=st.just(9)),
)
HISTORIES = st.lists(CHANGES, max_size=25)
WHOLE: list[Change] = [
    *(added(number + 1, b"in %d" % number, place=place) for number, place in enumerate(PLACES)),
    KeepOriginal(memory=id_of(1), text=b"my token is 12"),
    MergeScopes(path="shelf~2", into="shelf"),
    MergeScopes(path="shelf", into="work/shelf"),
]
"""What chance seldom makes."""


class Stores:
    """Stores and exports of one test, each under a name of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0

    def new(self) -> Path:
        self._count += 1
        return self.folder / f"{self._count}"

    def store(self, changes: list[Change], keys: Keys = KEYS, start: int = 0) -> Path:
        """A store of its own, in which a history came to pass, a second between two things."""
        folder = self.new()
        folder.mkdir()
        with closing(Store.create(folder / "store.db", keys)) as store:
            for number, change in enumerate(changes, start):
                try:
                    apply(store, change, at=1_000_000 * (number + 1))
                except BadInput:  # it names what is not there
                    continue
        return folder / "store.db"

    def export(self, path: Path, keys: Keys = KEYS) -> Path:
        target = self.new()
        with closing(connect(path, keys)) as connection:
            export_to(connection, path, keys, target, mind="default", mnemic="0", made_at=1)
        return target

    def take(self, path: Path, exported: Path, keys: Keys = KEYS) -> ImportReport:
        with closing(Store.open(path, keys)) as store:
            run = f"run {self.new().name}"
            return import_into(store, ExportSource.open(exported), keys, run=run, now=9_000_000_000)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("moving"))


def sheets(exported: Path) -> dict[str, list[Any]]:
    """What an export says; of scopes and sessions, whose order nobody sees, in one that can be compared."""
    found = {name: [json.loads(line) for line in (exported / name).read_bytes().splitlines()] for name in FILES}
    for name in ("scopes.jsonl", "sessions.jsonl"):
        found[name].sort(key=json.dumps)
    return found


# --- laws ------------------------------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(history=HISTORIES)
@example(history=WHOLE)
def test_what_was_exported_and_imported_exports_the_same_and_answers_the_same(
    place: Stores, history: list[Change]
) -> None:
    first, second = place.store(history), place.store([])
    exported = place.export(first)
    place.take(second, exported)
    assert sheets(place.export(second)) == sheets(exported)
    with closing(open_reader(first, KEYS)) as one, closing(open_reader(second, KEYS)) as other:
        before, after = answers(one), answers(other)
    for told in (before, after):
        del told["memories"][2]  # the number of the scope, which nobody sees
    for name in ("records", "projects", "words", "memories", "superseded", "retired", "pending"):
        assert after[name] == before[name], name


@settings(max_examples=15)
@given(history=HISTORIES, own=HISTORIES, other=st.booleans())
def test_imported_twice_is_imported_once(place: Stores, history: list[Change], own: list[Change], other: bool) -> None:
    keys = OTHER_KEYS if other else KEYS
    exported, target = place.export(place.store(history)), place.store(own, keys, start=100)
    place.take(target, exported, keys)
    before = held(target, keys)
    again = place.take(target, exported, keys)
    assert held(target, keys) == before
    assert (again.new, again.given, again.forgotten, again.superseded) == (0, 0, 0, 0)


@settings(max_examples=15)
@given(one=HISTORIES, other=HISTORIES)
def test_two_minds_become_one_whichever_is_imported_into_the_other(
    place: Stores, one: list[Change], other: list[Change]
) -> None:
    first, second = place.store(one), place.store(other, start=100)
    exported = place.export(first), place.export(second)
    place.take(first, exported[1])
    place.take(second, exported[0])
    merged = [place.export(first), place.export(second)]
    known = [{line["identity"] for line in sheets(export)["memories.jsonl"]} for export in merged]
    brought = [{line["identity"] for line in sheets(export)["memories.jsonl"]} for export in exported]
    assert known[0] == known[1] == brought[0] | brought[1]
    hidden = [
        {line["identity"] for line in sheets(e)["memories.jsonl"] if "retired_at" in line} for e in (*merged, *exported)
    ]
    assert hidden[0] == hidden[1] == hidden[2] | hidden[3]


@settings(max_examples=15)
@given(history=HISTORIES, erased=st.sets(st.integers(1, MEMORIES), min_size=1))
def test_what_was_erased_here_is_not_brought_back(place: Stores, history: list[Change], erased: set[int]) -> None:
    words = {number: b"only memory %d says so, and nobody else" % number for number in erased}
    said_so = [added(number, text) for number, text in words.items()]
    given_ = delivery(*erased, query=f"who says: {words[min(erased)].decode()}?", session="s")
    kept = quarantined(9, b'{"prompt": "' + words[min(erased)] + b'"}')
    exported = place.export(place.store([*said_so, *history, given_, kept]))
    target = place.store([])
    with closing(Store.open(target, KEYS)) as store, store.transaction() as (carry, _):
        marks = [Tombstone(identity=number.to_bytes(32, "big")) for number in sorted(erased)]
        carry(marks, at=1, key=b"erased", author="test", run="", also=(Tombstone,))
    assert place.take(target, exported).erased == len(erased)
    found = sheets(place.export(target))
    everything = json.dumps(found).encode()
    assert not [text for text in words.values() if text in everything]
    assert {one["identity"] for one in found["erased.jsonl"]} == {n.to_bytes(32, "big").hex() for n in erased}


@pytest.mark.parametrize("keys", [KEYS, OTHER_KEYS])
def test_merged_names_come_along_where_nothing_is_said_of_them_here(place: Stores, keys: Keys) -> None:
    names = ("boat", "otter")
    mentions = tuple(MentionRow(key=one, name=one, span=(0, 1), kind="thing") for one in names)
    marks = {of: [of.identity_hash()(b"entity", one.encode()) for one in names] for of in (KEYS, keys)}
    read = AddStatements(generation=1, reading="test", memories=(MemoryReading(1, (), mentions),))
    merge = MergeEntities(entity=marks[KEYS][0], into=marks[KEYS][1])
    exported = place.export(place.store([added(1), read, merge]))
    (line,) = sheets(exported)["merges.jsonl"]
    assert (line["mark"], line["name"], line["into"]) == (marks[KEYS][0].hex(), "boat", "otter")
    target = place.store([], keys)
    place.take(target, exported, keys)
    with closing(open_reader(target, keys)) as reader, reader.snapshot() as now:
        assert now.entity_merges() == [tuple(marks[keys])]
    other = place.store([MergeEntities(entity=marks[keys][0], into=bytes(32))], keys)
    place.take(other, exported, keys)
    with closing(open_reader(other, keys)) as reader, reader.snapshot() as now:
        assert now.entity_merges() == [(marks[keys][0], bytes(32))], "what is said here stands"


def test_merged_names_that_no_memory_tells_come_along_by_their_hashes(place: Stores) -> None:
    target = place.store([])
    place.take(target, place.export(place.store([MergeEntities(entity=bytes(32), into=bytes(31) + b"1")])))
    with closing(open_reader(target, KEYS)) as reader, reader.snapshot() as now:
        assert now.entity_merges() == [(bytes(32), bytes(31) + b"1")]


def test_what_was_taken_back_here_is_not_imported_again(place: Stores) -> None:
    said = {"older": id_of(1), "older_start": 0, "newer": id_of(2), "newer_start": 0, "by": "user"}
    merge = MergeEntities(entity=bytes(32), into=bytes(31) + b"1")
    exported = place.export(place.store([added(1), added(2), SettleStatements(**said, verdict="newer"), merge]))
    target = place.store([added(1), added(2)])
    place.take(target, exported)
    with closing(Store.open(target, KEYS)) as store:
        apply(store, SettleStatements(**said, verdict="open"), MergeEntities(entity=bytes(32)))
    place.take(target, exported)
    assert [sheets(place.export(target))[name] for name in ("verdicts.jsonl", "merges.jsonl")] == [[], []]


def test_a_verdict_of_here_stands_against_one_of_there(place: Stores) -> None:
    said = {"older": id_of(1), "older_start": 0, "newer": id_of(2), "newer_start": 0}
    both = [added(1), added(2)]
    exported = place.export(place.store([*both, SettleStatements(**said, verdict="newer", by="user")]))
    target = place.store([*both, SettleStatements(**said, verdict="both", by="user")])
    place.take(target, exported)
    assert [one["verdict"] for one in sheets(place.export(target))["verdicts.jsonl"]] == ["both"]


def test_what_was_erased_there_is_said_and_stays_away_where_it_never_was(place: Stores) -> None:
    source, target = place.store([added(1)]), place.store([added(2)])
    with closing(Store.open(source, KEYS)) as store, store.transaction() as (carry, _):
        marks = [Tombstone(identity=number.to_bytes(32, "big")) for number in (2, 3)]
        carry(marks, at=1, key=b"erased", author="test", run="", also=(Tombstone,))
    done = place.take(target, place.export(source))
    assert (done.new, done.erased_there) == (1, (id_of(2),))
    with closing(Store.open(target, KEYS)) as store:
        assert [one.erased for one in apply(store, added(3)).kept] == [True]
        done_again = [one.id for one in apply(store, added(2)).kept]
    assert done_again == [id_of(2)]


def test_what_replaced_an_erased_memory_replaces_what_that_replaced(place: Stores) -> None:
    history: list[Change] = [added(1, b"a"), added(2, b"b"), added(3, b"c")]
    history += [Supersede(old=id_of(1), new=id_of(2)), Supersede(old=id_of(2), new=id_of(3))]
    target = place.store([])
    with closing(Store.open(target, KEYS)) as store, store.transaction() as (carry, _):
        carry([Tombstone(identity=(2).to_bytes(32, "big"))], at=1, key=b"e", author="test", run="", also=(Tombstone,))
    place.take(target, place.export(place.store(history)))
    first, last = sheets(place.export(target))["memories.jsonl"]
    assert first["superseded_by"] == last["id"]


def test_minds_that_say_the_contrary_keep_what_they_said(place: Stores) -> None:
    both: list[Change] = [added(1), added(2)]
    there = place.store([*both, Supersede(old=id_of(1), new=id_of(2))])
    here = place.store([*both, Supersede(old=id_of(2), new=id_of(1))])
    done = place.take(here, place.export(there))
    assert (done.contrary, done.superseded) == (((id_of(1), id_of(2)),), 0)
    assert [("superseded_by" in line) for line in sheets(place.export(here))["memories.jsonl"]] == [False, True]


def standing(place: Stores, path: Path) -> set[int]:
    """Numbers of the memories that nothing replaces."""
    found = sheets(place.export(path))["memories.jsonl"]
    return {int(line["id"].replace("-", ""), 16) for line in found if "superseded_by" not in line}


def test_of_two_corrections_of_one_memory_the_later_one_stands_in_both_minds(place: Stores) -> None:
    old = added(1)
    later = place.store([old, added(2), added(2), Supersede(old=id_of(1), new=id_of(2))])
    earlier = place.store([old, added(3), Supersede(old=id_of(1), new=id_of(3))])
    exported = place.export(later), place.export(earlier)
    done = place.take(later, exported[1]), place.take(earlier, exported[0])
    assert [one.apart for one in done] == [((id_of(2), id_of(3)),)] * 2
    assert [one.superseded for one in done] == [1, 1]
    assert standing(place, later) == standing(place, earlier) == {2}
    exported = place.export(later), place.export(earlier)
    again = place.take(later, exported[1]), place.take(earlier, exported[0])
    assert [(one.superseded, one.apart, one.contrary) for one in again] == [(0, (), ())] * 2


@settings(max_examples=15)
@given(
    one=st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True),
    other=st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True),
)
def test_however_often_both_corrected_it_both_come_to_what_was_said_last(
    place: Stores, one: list[int], other: list[int]
) -> None:
    paths = []
    for first, times in ((10, one), (20, other)):
        path, last = place.store([added(1)]), 1
        with closing(Store.open(path, KEYS)) as store:
            for number, at in enumerate(sorted(times), first):
                link = Supersede(old=id_of(last), new=id_of(number))
                apply(store, added(number), link, at=2_000_000 + at)
                last = number
        paths.append(path)
    exported = [place.export(path) for path in paths]
    place.take(paths[0], exported[1])
    place.take(paths[1], exported[0])
    ends = ((max(one), 9 + len(one)), (max(other), 19 + len(other)))
    assert standing(place, paths[0]) == standing(place, paths[1]) == {max(ends)[1]}


def test_what_its_owner_took_back_since_stays_taken_back(place: Stores) -> None:
    exported = place.export(place.store([added(1), Retire(memory=id_of(1), reason="wrong")]))
    target = place.store([added(1)])
    assert place.take(target, exported).forgotten == 1
    with closing(Store.open(target, KEYS)) as store:
        apply(store, Unretire(memory=id_of(1)))
    assert place.take(target, exported).forgotten == 0
    assert "retired_at" not in sheets(place.export(target))["memories.jsonl"][0]


def test_a_project_whose_name_is_taken_here_gets_another_path_and_it_is_said(place: Stores) -> None:
    there = place.store([added(1, place=PLACES[1])])
    here = place.store([added(2, place=PLACES[2])])
    done = place.take(here, place.export(there))
    assert (done.scopes, done.same_projects) == ({"shelf": "shelf~2"}, ())
    with closing(Store.open(here, KEYS)) as store:
        apply(store, MergeScopes(path="shelf~2", into="shelf"))
    assert place.take(here, place.export(there)).scopes == {}
    assert sheets(place.export(here))["scopes.jsonl"] == [
        {"path": "shelf", "found": "git", "project": "/b/shelf", "also": ["/a/shelf"]}
    ]


def test_a_project_that_is_called_otherwise_here_is_said_to_be_the_same(place: Stores) -> None:
    first: list[Change] = [added(1, place=PLACES[1]), added(2, place=PLACES[2])]
    there = place.store([*first, RenameScope(path="shelf", to="boats/slip"), added(3, place=PLACES[1])])
    here = place.store(first)
    done = place.take(here, place.export(there))
    assert (done.new, done.scopes, done.same_projects) == (1, {"boats/slip": "shelf"}, ("boats/slip",))


FOLDERS = [ScopeRef(path=path, project=f"/{n}/{path}", found="git") for n in "12" for path in ("a", "b", "a~2")]
BY_HAND = [ScopeRef(path=path, project=None, found=".mnemic.toml") for path in ("a", "a/x", "b/x/y", "a~2/x")]
NAMED = [ScopeRef(path=path, project=None, found="named") for path in ("a/n", "b/n", "c")]
RENAMES = st.builds(
    RenameScope, path=st.sampled_from(["a", "b", "a~2"]), to=st.sampled_from(["a/x/z", "b/x", "c/d", "a~2/y"])
)


@settings(max_examples=40)
@given(
    st.lists(st.one_of(st.sampled_from([*FOLDERS[:3], *BY_HAND]), RENAMES), min_size=1, max_size=6),
    st.lists(st.one_of(st.sampled_from([*FOLDERS[3:], *BY_HAND, *NAMED]), RENAMES), min_size=1, max_size=8),
)
def test_no_folder_here_is_told_what_is_imported_and_who_made_way_is_said(
    place: Stores, here: list[ScopeRef | Change], there: list[ScopeRef | Change]
) -> None:
    def made(history: list[ScopeRef | Change], first: int) -> Path:
        changes = [added(n, place=one) if isinstance(one, ScopeRef) else one for n, one in enumerate(history, first)]
        return place.store(changes)

    def folders(path: Path) -> dict[str, tuple[str, int]]:
        """Of each project of this mind that has its folder's name: its path, and how many memories are told in it."""
        with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
            known = now.list_scopes()
        return {
            str(one.project): (one.path, sum(o.memories for o in known if f"{o.path}/".startswith(f"{one.path}/")))
            for one in known
            if one.has_folder_name and str(one.project).startswith("/1/")
        }

    target = made(here, 1)
    before = folders(target)
    done = place.take(target, place.export(made(there, 50)))
    after = folders(target)
    assert {one: told for one, (_, told) in after.items()} == {one: told for one, (_, told) in before.items()}
    assert done.made_way == {was: after[one][0] for one, (was, _) in before.items() if after[one][0] != was}


# --- another key -----------------------------------------------------------------------------------------------------


def test_a_mind_of_another_key_knows_the_same_events_again(place: Stores) -> None:
    """As hooks and transcripts of both machines would tell them: by the host's id, by text and count, by time."""
    events = [
        Event(assistant="o", session="s", kind="tool_call", role="assistant", text=b"ls", host_id="1", source_id="1"),
        Event(assistant="o", session="s", kind="turn", role="user", text=b" yes\n"),
        Event(assistant="o", session="s", kind="turn", role="user", text=b"yes"),
        Event(
            assistant="o",
            session="s",
            kind="turn",
            role="user",
            text=b"now",
            disambiguator="1970-01-01T00:00:07Z",
            said_at=7_000_000,
        ),
        Event(
            assistant="o", session="s", kind="tool_call", role="assistant", text=b"cat", host_id="2", source_id="line 2"
        ),
    ]

    def history(keys: Keys, first_id: int) -> list[Change]:
        made: list[Change] = []
        for number, event in enumerate(events):
            occurrence = 2 if number == 2 else 1
            made.append(
                added(
                    first_id + number,
                    event.text,
                    identity=identity_of(event, occurrence, keys.identity_hash()),
                    assistant="o",
                    session="s",
                    kind=event.kind,
                    role=event.role,
                    source_id=event.source_id,
                    said_at=event.said_at,
                )
            )
        return made

    source, target = (
        place.store(history(KEYS, 1)),
        place.store(history(OTHER_KEYS, 50)[:3] + history(OTHER_KEYS, 50)[4:], OTHER_KEYS),
    )
    exported = place.export(source)
    rules = [line["known_by"] for line in sheets(exported)["memories.jsonl"]]
    assert rules == [
        {"rule": "id"},
        {"rule": "text", "occurrence": 1},
        {"rule": "text", "occurrence": 2},
        {"rule": "text", "occurrence": 1, "occasion": "1970-01-01T00:00:07Z"},
        {"rule": "other"},
    ]
    done = place.take(target, exported, OTHER_KEYS)
    assert (done.new, done.known, done.same_key) == (1, 4, False)
    with closing(Store.open(target, OTHER_KEYS)) as store:  # captured here after all, it is there already
        again = apply(store, history(OTHER_KEYS, 90)[3]).kept[0]
    assert (again.created, again.id) == (False, id_of(4))


def test_counts_and_marks_of_another_key_are_translated_or_counted_as_lost(place: Stores) -> None:
    counts = CountOccurrences(counts=tuple(OccurrenceCount(identity=n.to_bytes(32, "big"), hooks=3) for n in (1, 9)))
    source = place.store([added(1), counts])
    with closing(Store.open(source, KEYS)) as store, store.transaction() as (carry, _):
        carry([Tombstone(identity=(8).to_bytes(32, "big"))], at=1, key=b"e", author="test", run="", also=(Tombstone,))
    target = place.store([], OTHER_KEYS)
    assert place.take(target, place.export(source), OTHER_KEYS).untold == 2
    found = sheets(place.export(target, OTHER_KEYS))
    assert [one["hooks"] for one in found["occurrences.jsonl"]] == [3]
    assert found["occurrences.jsonl"][0]["identity"] == found["memories.jsonl"][0]["identity"]
    assert found["erased.jsonl"] == []


# --- what is no export -----------------------------------------------------------------------------------------------


def _without(name: str) -> Callable[[Path], None]:
    return lambda exported: (exported / name).unlink()


def _cut(exported: Path) -> None:
    (exported / MANIFEST).write_text("{")


def _changed(exported: Path) -> None:
    path = exported / "memories.jsonl"
    path.write_bytes(path.read_bytes().replace(b"nine", b"five"))


def _rewritten(name: str = "memories.jsonl", **fields: Any) -> Callable[[Path], None]:
    """Change the first line of a file, and have the manifest say that this is how it was written."""

    def rewrite(exported: Path) -> None:
        path, manifest = exported / name, exported / MANIFEST
        first, *rest = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(json.dumps(json.loads(first) | fields).encode() + b"\n" + b"".join(rest))
        told = json.loads(manifest.read_bytes())
        told["files"][name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        told["files"][name]["size_bytes"] = path.stat().st_size
        manifest.write_text(json.dumps(told))

    return rewrite


def _of_another_length(exported: Path) -> None:
    told = json.loads((exported / MANIFEST).read_bytes())
    told["files"]["memories.jsonl"]["size_bytes"] += 1
    (exported / MANIFEST).write_text(json.dumps(told))


def _manifest(**fields: Any) -> Callable[[Path], None]:
    def rewrite(exported: Path) -> None:
        told = json.loads((exported / MANIFEST).read_bytes())
        (exported / MANIFEST).write_text(json.dumps(told | fields))

    return rewrite


SPOILED: dict[str, tuple[Callable[[Path], None], str]] = {
    "no manifest": (_without(MANIFEST), "there is no manifest.json in it"),
    "a manifest of something else": (_manifest(format="other"), "something else's"),
    "a manifest that is cut": (_cut, "cannot be read"),
    "a manifest without a file": (_manifest(files={}), "does not name scopes.jsonl"),
    "no file": (_without("givings.jsonl"), "givings.jsonl cannot be read"),
    "a changed file": (_changed, "memories.jsonl was changed since it was written"),
    "a file of another length": (_of_another_length, "memories.jsonl was changed since it was written"),
    "no id": (_rewritten(id="none"), "of memories.jsonl"),
    "no hash": (_rewritten(identity="zz"), "of memories.jsonl"),
    "a kind that is none": (_rewritten(kind="dream"), "of memories.jsonl"),
    "a scope that is not there": (_rewritten(scope="elsewhere"), "names a scope that the export does not hold"),
    **{
        f"a scope called {path[:9]!r}": (
            _rewritten("scopes.jsonl", path=path),
            "line 1 of scopes.jsonl cannot be: no scope can have its path",
        )
        for path in ("*", "..", "a/../b", " ", "/a", "a/", "a\nb", "a\x1b[31m", "x" * 5000, "/".join("a" * 300))
    },
    "a time beyond all time": (_rewritten(recorded_at=1 << 80), "of memories.jsonl"),
    "a text that is none": (_rewritten(text="", text_base64="/w=="), "of memories.jsonl"),
    "what replaces it is not there": (
        _rewritten(superseded_by="00000000-0000-0000-0000-0000000000ff", superseded_at=1),
        "is replaced by one that it does not hold",
    ),
    "a type said twice": (_rewritten(scrubbed=[["a", 1], ["a", 2]]), "of memories.jsonl"),
}


@pytest.mark.parametrize("how", SPOILED)
def test_what_is_no_export_is_refused_in_words_and_changes_nothing(place: Stores, how: str) -> None:
    spoil, why = SPOILED[how]
    exported, target = place.export(place.store([added(1), added(2)])), place.store([added(3)])
    before = held(target)
    spoil(exported)
    with pytest.raises(NotAnExport) as refused:
        place.take(target, exported)
    assert why in said(refused.value)
    assert held(target) == before


def test_a_time_that_lies_more_than_a_day_ahead_is_none(place: Stores) -> None:
    now, day = 9_000_000_000, 86_400_000_000
    gone = Retire(memory=id_of(1), reason="")
    changes: list[Change] = [added(1, said_at=now + day + 1), added(2, said_at=now + day), gone]
    exported, target = place.export(place.store(changes)), place.store([])
    _rewritten(recorded_at=now + day + 1, retired_at=1 << 61)(exported)
    for new in (2, 0):
        assert place.take(target, exported).new == new
        with closing(connect(target, KEYS)) as connection:
            rows = connection.execute("SELECT said_at, recorded_at, retired_at FROM memories ORDER BY id").fetchall()
            assert rows == [(None, now, now), (now + day, 2_000_000, None)]


def test_a_line_that_is_too_long_is_not_held(place: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    exported, target = place.export(place.store([added(1)])), place.store([])
    _rewritten(text="x" * 2000)(exported)
    monkeypatch.setattr(export_source, "MOST_LINE_BYTES", 2000)
    with pytest.raises(NotAnExport, match=r"line 1 of memories\.jsonl cannot be: it is longer than 2,000 bytes"):
        place.take(target, exported)


def test_an_export_of_a_newer_version_is_refused(place: Stores) -> None:
    exported = place.export(place.store([]))
    _manifest(version=2)(exported)
    with pytest.raises(NotAnExport) as refused:
        ExportSource.open(exported)
    assert said(refused.value).startswith(
        f"{exported} is no export that can be imported: a newer Mnemic wrote it (version 2;"
    )
    assert refused.value.exit_code == 2


def test_a_folder_that_is_not_there_is_no_export(place: Stores) -> None:
    with pytest.raises(NotAnExport, match="it is no folder"):
        ExportSource.open(place.new())


def test_a_field_that_a_later_version_adds_is_passed_over(place: Stores) -> None:
    exported, target = place.export(place.store([added(1)])), place.store([])
    _rewritten(mood="calm")(exported)
    assert place.take(target, exported).new == 1


def test_a_mind_that_was_imported_is_made_again_from_its_log(place: Stores) -> None:
    history: list[Change] = [added(1), added(2, place=PLACES[1]), added(3, place=PLACES[2])]
    history += [MergeScopes(path="shelf~2", into="shelf"), Retire(memory=id_of(1), reason="")]
    target = place.store([])
    place.take(target, place.export(place.store(history)))
    before = held(target)
    with closing(Store.open(target, KEYS)) as store:
        store.rebuild(lambda done, total: None, meaning=False)
    assert held(target) == before


def test_every_line_of_an_export_is_documented() -> None:
    page = (ROOT / "docs" / "export.md").read_text("utf-8")
    for name, kind in FILES.items():
        section = page.partition(f"\n### `{name}`")[2].partition("\n#")[0]
        assert section, f"docs/export.md has no section on {name}"
        for field in msgspec.structs.fields(kind):
            assert f"`{field.name}`" in section, f"{name}: {field.name} is not in docs/export.md"
    assert all(
        f"`{field.name}`" in page
        for kind in (IdentityBasis, Manifest, FileEntry)
        for field in msgspec.structs.fields(kind)
    )
