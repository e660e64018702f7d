"""What is read from memories is kept in place of what was read before; verdicts and merges stand in the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.errors import NoSuchMemory
from mnemic.actors.kernel.scope_paths import ScopeRef
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
from mnemic.actors.log.changes import Retire, Unretire
from mnemic.actors.scopes.changes import MergeScopes, RenameScope
from mnemic.runtime.store.knowledge.write import forget_readings
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from tests.built import SCOPE, added
from tests.runtime.building import KEYS, apply, held, id_of, look

BOAT = ScopeRef(path="boat", project=None, found="named")


def text_of(number: int) -> bytes:
    """What a memory says: of the lamp, or each third of the rope."""
    return b"the %s is shade-%d" % (b"rope" if number % 3 == 0 else b"lamp", number)


def statement(text: bytes, subject: str, value: bytes, **fields: Any) -> StatementRow:
    """What a text says of something."""
    start, first = text.index(value), max(0, text.find(subject.encode()))
    given: dict[str, Any] = {
        "subject": subject,
        "subject_span": (first, first + len(subject)),
        "relation": "be",
        "value": (start, start + len(value)),
        "clause": (0, len(text)),
        "negative": False,
        "modality": "asserted",
        "holds_from": None,
        "holds_to": None,
        "single": True,
        "rule": "plain",
    }
    return StatementRow(**(given | fields))


def mention(text: bytes, key: str, name: bytes, kind: str = "thing") -> MentionRow:
    """A name in a text."""
    start = text.index(name)
    return MentionRow(key=key, name=name.decode(), span=(start, start + len(name)), kind=kind)


def reading_of(number: int, **fields: Any) -> MemoryReading:
    """What is read from one of the memories: its shade, and the name of what it is of."""
    text, subject = text_of(number), text_of(number).split()[1]
    said = statement(text, subject.decode(), b"shade-%d" % number, **fields)
    return MemoryReading(row=number, statements=(said,), mentions=(mention(text, subject.decode(), subject),))


class Kept:
    """A store with memories of rows 1 to 6 that are said one after the other, the last two in another scope."""

    def __init__(self, path: Path) -> None:
        self.path = path
        Store.create(path, KEYS).close()
        self.store = Store.open(path, KEYS)
        places = {n: SCOPE if n < 5 else BOAT for n in range(1, 7)}
        self.apply(*(added(n, text_of(n), place=place, said_at=n) for n, place in places.items()))

    def apply(self, *changes: Change) -> tuple[bool, ...]:
        return tuple(apply(self.store, *changes).changed)

    def look(self, what: Any) -> Any:
        return look(self.path, what)

    def rows(self, sql: str) -> list[Any]:
        with closing(connect(self.path, KEYS)) as db:
            return db.execute(sql).fetchall()

    def generation(self) -> int:
        return int(self.look(lambda now: now.generation))

    def read(self, *memories: MemoryReading | int, by: str = "first", generation: int = 0) -> bool:
        """Keep what was read from memories, or from those of some numbers."""
        read = tuple(one if isinstance(one, MemoryReading) else reading_of(one) for one in memories)
        change = AddStatements(generation=generation or self.generation(), reading=by, memories=read)
        return self.apply(change)[0]

    def numbers(self) -> dict[int, int]:
        """Number of the first statement of each memory, by row."""
        return dict(self.rows("SELECT memory, id FROM statements WHERE place = 0 ORDER BY memory"))

    def grade(
        self,
        *pairs: tuple[int, int],
        grade: str = "conflict",
        rows: Sequence[int] = (),
        generation: int = 0,
        why: str = "so it is",
    ) -> bool:
        """Keep that the first statements of memories, by row, were graded."""
        number = self.numbers()
        graded = tuple(
            GradedPair(older=number.get(one, 99), newer=number.get(two, 99), grade=grade, probability=0.5, why=why)  # type: ignore[arg-type]
            for one, two in pairs
        )
        waiting = tuple(rows) or tuple({row for pair in pairs for row in pair})
        return self.apply(
            GradeStatements(generation=generation or self.generation(), seq=1 << 40, rows=waiting, pairs=graded)
        )[0]

    def settle(self, older: int, newer: int, verdict: str = "newer", by: str = "user") -> bool:
        """Say what the statements of two memories are to each other."""
        return self.apply(verdict_of(older, newer, verdict, by))[0]

    def marks(self) -> dict[str, bytes]:
        """The mark of each name, by its key."""
        return {one.key: one.mark for one in self.look(lambda now: now.entities())}

    def waiting(self) -> tuple[list[int], list[int]]:
        """Rows that wait to be read, and to be graded."""
        unread = self.look(lambda now: [one.row for one in now.unread_memories(100, 1)])
        return unread, self.look(lambda now: now.ungraded_rows(100))

    def pairs(self) -> list[tuple[int, int, str, str]]:
        """All pairs that are told: the memories' rows, grade and verdict."""
        row_of = {number: row for row, number in self.numbers().items()}
        found = self.look(lambda now: [*now.pairs(None, is_open=True), *now.pairs(None, is_open=False)])
        return sorted((row_of[one.older], row_of[one.newer], one.grade, one.verdict) for one in found)


def verdict_of(older: int, newer: int, verdict: str = "newer", by: str = "user") -> SettleStatements:
    """What is said of the statements of two memories."""
    start = text_of(older).index(b"shade")
    return SettleStatements(
        older=id_of(older),
        older_start=start,
        newer=id_of(newer),
        newer_start=start,
        verdict=verdict,  # type: ignore[arg-type]
        by=by,
    )


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    found = Kept(tmp_path / "store")
    yield found
    found.store.close()


# --- what waits ------------------------------------------------------------------------------------------------------


def test_turns_decisions_and_notes_wait_to_be_read_and_nothing_else(kept: Kept) -> None:
    kinds = ("decision", "note", "tool_call", "tool_result", "summary", "edit")
    kept.apply(*(added(n, b"%d" % n, kind=kind) for n, kind in enumerate(kinds, start=10)))
    assert kept.waiting() == ([1, 2, 3, 4, 5, 6, 7, 8], [])
    assert kept.look(lambda now: (now.read_count(), now.knowledge_waiting())) == (8, (8, 0))


def test_what_is_read_waits_to_be_graded_where_it_is_of_a_thing_or_of_a_value_that_others_may_have(kept: Kept) -> None:
    told = {2: {}, 4: {"over_key": 7}, 5: {"value_key": 7}}
    read = [
        MemoryReading(row, (statement(text_of(row), "", b"shade-%d" % row, **fields),), ())
        for row, fields in told.items()
    ]
    assert kept.read(1, *read, MemoryReading(3, (), ()))
    assert kept.waiting() == ([6], [1, 4, 5])
    assert kept.grade(rows=[1, 4, 5])
    assert kept.waiting() == ([6], [])
    kept.apply(MergeScopes(path="boat", into=SCOPE.path))
    assert kept.waiting()[1] == [5]


def test_what_moves_to_another_scope_moves_with_its_statements_and_is_graded_again(kept: Kept) -> None:
    kept.read(1, 5)
    kept.grade(rows=[1, 5])
    kept.apply(RenameScope(path="boat", to="ship"))
    assert kept.waiting()[1] == [], "a scope of another name is the same one"
    kept.apply(MergeScopes(path="ship", into=SCOPE.path))
    assert kept.waiting()[1] == [5]
    assert [one.path for one in kept.look(lambda now: now.statements_of([1, 5]))] == [SCOPE.path] * 2


def test_what_is_remembered_again_waits_to_be_graded(kept: Kept) -> None:
    kept.read(1, 2)
    kept.grade(rows=[1, 2])
    kept.apply(Retire(memory=id_of(1), reason=""))
    assert kept.waiting()[1] == []
    kept.apply(Unretire(memory=id_of(1)))
    assert kept.waiting()[1] == [1]


# --- statements and names --------------------------------------------------------------------------------------------


def test_of_two_memories_that_name_one_thing_the_name_is_kept_once_as_the_first_writes_it(kept: Kept) -> None:
    text = text_of(2)
    kept.read(1, MemoryReading(row=2, statements=(), mentions=(mention(text, "lamp", b"the lamp"),)))
    (one,) = kept.look(lambda now: now.entities())
    assert (one.key, one.name, len(one.mark)) == ("lamp", "lamp", 32)
    assert [record.row for record in kept.look(lambda now: now.mentions(None, None, named=False))] == [1, 2]


def test_what_waits_no_longer_is_passed_over(kept: Kept) -> None:
    assert kept.read(1, 2)
    before = held(kept.path)
    assert not kept.read(reading_of(1, modality="planned"), 2, MemoryReading(99, (), ()))
    assert not kept.read()
    assert held(kept.path) == before


def test_what_is_read_again_takes_the_place_of_what_was_read_before(kept: Kept) -> None:
    kept.read(1, 3)
    kept.grade((1, 3))
    with closing(connect(kept.path, KEYS)) as db:
        db.execute("INSERT INTO unread VALUES(1)")
    told = statement(text_of(1), "shade", b"shade-1")
    assert kept.read(MemoryReading(row=1, statements=(told,), mentions=()))
    assert [one.said.subject for one in kept.look(lambda now: now.statements_of([1, 3]))] == ["rope", "shade"]
    assert [one.key for one in kept.look(lambda now: now.entities())] == ["rope", "shade"]
    assert kept.rows("SELECT count(*) FROM grades") == [(0,)]


def test_another_way_to_read_has_all_read_again_and_leaves_what_a_person_said(kept: Kept) -> None:
    kept.read(1, 2, 5)
    kept.grade((1, 2))
    kept.settle(1, 2)
    mark = kept.marks()["lamp"]
    kept.apply(MergeEntities(entity=mark, into=mark[::-1]))
    assert kept.read(2, by="second")
    assert kept.look(lambda now: now.knowledge_reading()) == "second"
    assert kept.waiting() == ([1, 3, 4, 5, 6], [2])
    assert [len(kept.rows(f"SELECT 1 FROM {one}")) for one in ("statements", "mentions", "entities")] == [1, 1, 1]
    assert kept.pairs() == []
    kept.read(1, by="second")
    assert kept.pairs() == [(1, 2, "", "newer")]
    assert kept.marks() == {"lamp": mark}
    assert kept.look(lambda now: now.entity_merges()) == [(mark, mark[::-1])]


def test_a_name_goes_with_the_last_that_has_it_and_is_else_written_as_the_next_writes_it(kept: Kept) -> None:
    first = MemoryReading(row=1, statements=(), mentions=(mention(text_of(1), "lamp", b"the lamp"),))
    second = MemoryReading(row=2, statements=(), mentions=(mention(text_of(2), "lamp", b"lamp"),))
    kept.read(first, second, MemoryReading(row=4, statements=reading_of(4).statements, mentions=()), 3)
    names = []
    for row in (1, 2, 4, 3):
        names.append([one.name for one in kept.look(lambda now: now.entities())])
        with closing(connect(kept.path, KEYS)) as db, db:
            forget_readings(db, [row])
    assert names == [["the lamp", "rope"], ["lamp", "rope"], ["lamp", "rope"], ["rope"]]
    assert kept.look(lambda now: now.entities()) == []


# --- grades ----------------------------------------------------------------------------------------------------------


def test_grades_of_a_memory_are_replaced_and_those_of_others_stay(kept: Kept) -> None:
    kept.read(1, 2, 4)
    assert kept.grade((1, 2), (1, 4), (2, 4))
    assert kept.grade((1, 4), grade="replaced", rows=[4]), "a pair is the later memory's"
    assert kept.pairs() == [(1, 2, "conflict", ""), (1, 4, "replaced", "")]
    assert kept.grade((1, 2), grade="replaced", rows=[99]), "one that is there is graded anew"
    assert kept.pairs() == [(1, 2, "replaced", ""), (1, 4, "replaced", "")]


def test_a_pair_whose_statement_is_not_there_any_more_is_not_kept(kept: Kept) -> None:
    kept.read(1, 2)
    assert kept.grade((1, 2), (1, 77), (77, 2), rows=[1, 2])
    assert kept.pairs() == [(1, 2, "conflict", "")]
    assert not kept.grade((1, 77), rows=[77])


def test_what_was_read_or_graded_before_the_store_was_made_anew_is_not_kept(kept: Kept) -> None:
    generation = kept.generation() + 1
    kept.read(1, 2)
    before = held(kept.path)
    assert not kept.read(3, generation=generation)
    assert not kept.read(3, by="second", generation=generation)
    assert not kept.grade((1, 2), generation=generation)
    assert held(kept.path) == before


# --- what a person says ----------------------------------------------------------------------------------------------


def test_a_verdict_is_kept_until_another_one_is_said_or_it_is_taken_back(kept: Kept) -> None:
    kept.read(1, 2)
    kept.grade((1, 2))
    assert not kept.settle(1, 2, "open"), "nothing is said of it"
    assert [kept.settle(1, 2), kept.settle(1, 2), kept.settle(1, 2, by="codex")] == [True, False, True]
    assert kept.pairs() == [(1, 2, "conflict", "newer")]
    assert kept.settle(1, 2, "both")
    assert kept.rows("SELECT verdict, by FROM verdicts") == [("both", "user")]
    assert [kept.settle(1, 2, "open"), kept.settle(1, 2, "open")] == [True, False]
    assert kept.pairs() == [(1, 2, "conflict", "")]
    with pytest.raises(NoSuchMemory):
        kept.settle(1, 77)


def test_a_name_goes_by_another_until_that_is_taken_back(kept: Kept) -> None:
    one, two, three = (bytes([n]) * 32 for n in (1, 2, 3))
    merged = MergeEntities(entity=one, into=two)
    assert kept.apply(MergeEntities(entity=one), merged, merged) == (False, True, False)
    assert kept.apply(MergeEntities(entity=one, into=three)) == (True,)
    assert kept.look(lambda now: now.entity_merges()) == [(one, three)]
    assert kept.apply(MergeEntities(entity=one), MergeEntities(entity=one)) == (True, False)
    assert kept.look(lambda now: now.entity_merges()) == []


def test_a_rebuild_keeps_what_a_person_said_and_has_all_else_made_again(kept: Kept, tmp_path: Path) -> None:
    kept.read(1, 2, 3)
    kept.grade((1, 2))
    kept.settle(1, 2)
    kept.settle(1, 3, "both")
    kept.settle(1, 3, "open")
    kept.apply(MergeEntities(entity=kept.marks()["lamp"], into=kept.marks()["rope"]))
    seq, said = kept.look(lambda now: now.seq), ("verdicts", "merges")
    told = {name: held(kept.path)[name] for name in said}
    kept.store.fork(tmp_path / "copy", seq - 1)
    assert [len(held(tmp_path / "copy")[name]) for name in said] == [1, 0]
    kept.store.rebuild(lambda done, total: None, meaning=False)
    assert {name: held(kept.path)[name] for name in said} == told
    assert kept.waiting() == ([1, 2, 3, 4, 5, 6], [])
    assert [len(kept.rows(f"SELECT 1 FROM {one}")) for one in ("statements", "entities", "grades")] == [0, 0, 0]
    kept.read(1, 2)
    assert kept.pairs() == [(1, 2, "", "newer")]


def test_the_log_says_what_a_person_said_and_nothing_of_what_is_read(kept: Kept) -> None:
    before = kept.rows("SELECT count(*) FROM log")
    kept.read(1, 2)
    kept.grade((1, 2))
    assert kept.rows("SELECT count(*) FROM log") == before
    kept.settle(1, 2)
    kept.apply(MergeEntities(entity=kept.marks()["lamp"], into=bytes(32)))
    (settled,), (merged,) = kept.rows("SELECT change FROM log ORDER BY id DESC LIMIT 2")[::-1]
    assert b"settle_statements" in settled
    assert b"merge_entities" in merged
    assert b"lamp" not in settled + merged


def test_what_is_marked_again_while_it_is_graded_waits_on(kept: Kept) -> None:
    kept.read(1, 2)
    seq = kept.look(lambda now: now.seq)
    kept.apply(MergeScopes(path="boat", into="work/shelf"), Retire(memory=id_of(1), reason=""))
    kept.apply(Unretire(memory=id_of(1)))
    kept.apply(GradeStatements(generation=kept.generation(), seq=seq, rows=(1, 2), pairs=()))
    assert kept.look(lambda now: now.ungraded_rows(9)) == [1]
