"""What is told of statements, names and pairs: nothing of what is forgotten or corrected, nor of another scope."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.changes import Change
from mnemic.actors.knowledge.changes import MemoryReading, MentionRow
from mnemic.actors.knowledge.queries import READ_BYTES, PairRecord
from mnemic.actors.log.changes import Retire, Supersede
from mnemic.actors.scopes.changes import MergeScopes
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.store import Store
from tests.built import SCOPE, added
from tests.runtime.building import KEYS, id_of, look
from tests.runtime.store.knowledge.test_write import BOAT, Kept, mention, reading_of, statement, text_of


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """All is read: of the lamp 1, 2, 4, and in another scope 5; of the rope 3, and in the other scope 6."""
    found = Kept(tmp_path / "store")
    found.read(1, 2, 3, 4, 5, 6)
    yield found
    found.store.close()


def scopes(kept: Kept) -> dict[str, int]:
    found: dict[int, str] = kept.look(lambda now: now.scopes())
    return {path: number for number, path in found.items()}


def name(kept: Kept, key: str) -> int:
    found: list[int] = kept.look(lambda now: [one.number for one in now.entities() if one.key == key])
    return found[0]


def after(kept: Kept, row: int, limit: int = 9) -> list[int]:
    """Rows of the memories that may replace what one states, once none waits."""
    kept.grade(rows=range(1, 13))
    found: list[int] = kept.look(lambda now: now.rows_graded_after([row], limit))
    return found


def gradable(kept: Kept, *rows: int, limit: int = 10) -> set[tuple[int, ...]]:
    """Rows of the memories of each pair, of which each memory has one statement."""
    row_of = {number: row for row, number in kept.numbers().items()}
    pairs = kept.look(lambda now: now.gradable_pairs(rows, limit))
    return {tuple(sorted(row_of[number] for number in pair)) for pair in pairs}


def rows_about(kept: Kept, **asked: Any) -> list[int]:
    given: dict[str, Any] = {"entities": None, "scopes": None, "relation": "", "limit": -1}
    found: list[int] = kept.look(lambda now: [one.row for one in now.statements_about(**(given | asked))])
    return found


GONE = [
    pytest.param(Retire(memory=id_of(2), reason=""), id="forgotten"),
    pytest.param(Supersede(old=id_of(2), new=id_of(3)), id="corrected"),
]


def test_of_an_empty_mind_nothing_is_told(tmp_path: Path) -> None:
    Store.create(tmp_path / "store", KEYS).close()

    def told(now: Any) -> list[Any]:
        lists = [now.unread_memories(9, 9), now.ungraded_rows(9), now.statements_of([1]), now.graded_rows([1])]
        lists += [now.statements([1]), now.gradable_pairs([1], 9), now.statements_about(None, None, "", -1)]
        lists += [now.pairs_of([]), now.pairs_of([1]), now.pairs(None, is_open=True), now.pairs([1], is_open=False)]
        lists += [now.entities(), now.mentions(None, None, named=True), now.entity_merges(), now.successors([1])]
        return [*lists, now.knowledge_reading(), now.read_count(), now.knowledge_waiting()]

    assert look(tmp_path / "store", told) == [[]] * 15 + ["", 0, (0, 0)]


def test_what_waits_to_be_read_is_told_in_order_with_how_it_begins(tmp_path: Path) -> None:
    with closing(Kept(tmp_path / "store").store):
        found = look(tmp_path / "store", lambda now: now.unread_memories(2, 5))
        assert [(one.row, one.text, one.role, one.speaker, one.said_at) for one in found] == [
            (1, b"the l", "user", None, 1),
            (2, b"the l", "user", None, 2),
        ]


# --- statements ------------------------------------------------------------------------------------------------------


def test_a_statement_is_told_as_it_was_read_with_what_belongs_to_its_memory(kept: Kept) -> None:
    kept.apply(added(7, "das Öl ist teuer".encode(), role="assistant", speaker="Bea", said_at=70))
    said = statement(
        "das Öl ist teuer".encode(), "", b"teuer", holds_from=5, holds_to=9, instead_of=(0, 3), value_key=5
    )
    kept.read(MemoryReading(row=7, statements=(said, reading_of(1).statements[0]), mentions=()))
    first, second = kept.look(lambda now: now.statements_of([7]))
    assert (first.said, second.said) == (said, reading_of(1).statements[0])
    assert (first.place, first.row, first.memory, first.text) == (0, 7, id_of(7), "das Öl ist teuer".encode())
    assert (first.role, first.speaker, first.said_at, first.path) == ("assistant", "Bea", 70, SCOPE.path)
    assert (second.place, second.scope) == (1, scopes(kept)[SCOPE.path])
    assert kept.look(lambda now: now.statements([second.number, first.number, 77])) == [first, second]


def test_of_a_long_text_no_more_is_told_than_is_read(kept: Kept) -> None:
    text = b"the lamp is on" + b" and on" * READ_BYTES
    kept.apply(added(7, text))
    kept.read(MemoryReading(row=7, statements=(statement(text, "lamp", b"on"),), mentions=()))
    (one,) = kept.look(lambda now: now.statements_of([7]))
    assert one.text == text[:READ_BYTES]


def test_of_one_scope_what_says_the_same_of_one_thing_is_to_be_graded_the_nearest_in_time(kept: Kept) -> None:
    assert [gradable(kept, row) for row in (1, 2, 3, 6, 99)] == [
        set(),
        {(1, 2)},
        set(),
        set(),
        set(),
    ]
    assert gradable(kept, 1, 2, 3, 4) == {(1, 2), (1, 4), (2, 4)}
    assert [gradable(kept, row, limit=1) for row in (2, 4)] == [{(1, 2)}, {(2, 4)}]
    assert [after(kept, row) for row in (1, 2, 3, 4)] == [[2, 4], [4], [], []]
    assert after(kept, 1, limit=1) == [2]
    kept.apply(MergeScopes(path="boat", into=SCOPE.path))
    assert (gradable(kept, 5), gradable(kept, 5, limit=1)) == ({(1, 5), (2, 5), (4, 5)}, {(4, 5)})
    assert after(kept, 4) == [5]


def test_another_verb_is_graded_where_the_later_one_tells_of_a_change_of_the_thing_or_of_the_value(kept: Kept) -> None:
    told = {
        7: ("lamp", 3, {"is_change": True}),
        8: ("lamp", 3, {}),
        9: ("", 9, {"over_key": 70}),
        10: ("oar", 8, {"value_key": 70}),
        11: ("oar", 10, {"value_key": 70, "relation": "hold"}),
        12: ("mast", 7, {"own_key": 70}),
    }
    for row, (subject, at, fields) in told.items():
        kept.apply(added(row, text_of(row), said_at=at))
        said = statement(text_of(row), subject, b"shade-%d" % row, **({"relation": "hang"} | fields))
        kept.read(MemoryReading(row=row, statements=(said,), mentions=()))
    assert gradable(kept, 7) == {(1, 7), (2, 7)}, "8 is said at the same moment, 4 later"
    assert gradable(kept, 4) == {(1, 4), (2, 4)}
    assert gradable(kept, 9) == {(9, 10), (9, 12)}, "11 is said after it is over; what is over did something for others"
    assert [after(kept, row) for row in (1, 10, 11, 12)] == [[2, 4, 7], [9], [], [9]]


def test_statements_of_some_things_are_told_newest_first_by_scope_and_relation_and_not_too_many(kept: Kept) -> None:
    lamp, rope, boat = name(kept, "lamp"), name(kept, "rope"), scopes(kept)["boat"]
    assert rows_about(kept) == [6, 5, 4, 3, 2, 1]
    assert rows_about(kept, limit=2) == [6, 5]
    assert rows_about(kept, entities={lamp}) == [5, 4, 2, 1]
    assert rows_about(kept, entities={lamp, rope}, scopes={boat}) == [6, 5]
    assert rows_about(kept, entities=[]) == rows_about(kept, scopes=[]) == []
    kept.apply(added(7, b"the lamp hangs here", said_at=0))
    hangs = statement(b"the lamp hangs here", "lamp", b"here", relation="Hang")
    nothing = statement(b"the lamp hangs here", "", b"here", relation="hang")
    kept.read(MemoryReading(row=7, statements=(hangs, nothing), mentions=()))
    assert rows_about(kept, relation="hang", limit=1) == [7], "what is said of nothing is not told"


def test_memories_in_a_pair_or_that_tell_an_end_are_graded(kept: Kept) -> None:
    assert kept.look(lambda now: now.graded_rows(range(9))) == []
    kept.grade((1, 2))
    kept.settle(4, 5, "both")
    kept.apply(added(7, text_of(1)))
    ending = statement(text_of(1), "lamp", b"shade-1", holds_to=5)
    kept.read(MemoryReading(row=7, statements=(ending,), mentions=()))
    assert kept.look(lambda now: now.graded_rows([7, 6, 5, 4, 3, 2, 1])) == [1, 2, 4, 5, 7]
    assert kept.look(lambda now: now.graded_rows([3, 2])) == [2]


@pytest.mark.parametrize("change", GONE)
def test_what_a_forgotten_or_corrected_memory_states_is_not_told(kept: Kept, change: Change) -> None:
    kept.grade((1, 2), (2, 4))
    kept.settle(1, 2)
    numbers = kept.numbers()
    kept.apply(change)
    assert kept.look(lambda now: now.statements_of([2])) == []
    assert kept.look(lambda now: now.statements([numbers[2], numbers[4]]))[0].row == 4
    assert 2 not in rows_about(kept)
    still = kept.look(lambda now: now.pairs_of(numbers.values()))
    if isinstance(change, Retire):
        assert still == []
    else:  # what it replaced holds no more for that it was corrected, and it is in no other pair
        assert [(pair.replaced, pair.successor) for pair in still] == [(numbers[1], numbers[2])]
        assert [one.row for one in kept.look(lambda now: now.successors([numbers[2]]))] == [2]


# --- pairs -----------------------------------------------------------------------------------------------------------


def test_pairs_are_open_until_they_are_settled_and_those_of_the_newest_come_first(kept: Kept) -> None:
    kept.grade((1, 2), (2, 4))
    kept.grade((1, 4), grade="replaced", rows=[99])
    kept.settle(1, 2, "both")
    kept.settle(2, 1, "older")  # a pair that nobody graded
    number = kept.numbers()
    row_of = {of: row for row, of in number.items()}

    def told(*, is_open: bool) -> list[tuple[int, int]]:
        found = kept.look(lambda now: now.pairs(None, is_open=is_open))
        assert all(one.is_open == is_open for one in found)
        return [(row_of[one.older], row_of[one.newer]) for one in found]

    assert told(is_open=True) == [(2, 4)]
    assert told(is_open=False) == [(1, 4), (1, 2), (2, 1)]
    found = kept.look(lambda now: now.pairs_of({number[1]}))
    assert [(row_of[one.older], row_of[one.newer], one.grade, one.verdict, one.by) for one in found] == [
        (1, 2, "conflict", "both", "user"),
        (1, 4, "replaced", "", ""),
        (2, 1, "", "older", "user"),
    ]
    assert (found[0].probability, found[0].why) == (0.5, "so it is")


def test_pairs_are_told_by_scope_and_none_reaches_from_one_to_another(kept: Kept) -> None:
    kept.apply(added(7, text_of(5), place=BOAT, said_at=9))
    kept.read(MemoryReading(row=7, statements=reading_of(5).statements, mentions=()))
    kept.grade((1, 2), (5, 7), (4, 5))
    kept.settle(4, 7)
    here, boat = (scopes(kept)[path] for path in (SCOPE.path, "boat"))
    number = kept.numbers()
    assert [one.older for one in kept.look(lambda now: now.pairs([boat], is_open=True))] == [number[5]]
    assert [one.older for one in kept.look(lambda now: now.pairs([here], is_open=True))] == [number[1]]
    assert kept.look(lambda now: now.pairs([], is_open=True)) == []
    assert kept.pairs() == [(1, 2, "conflict", ""), (5, 7, "conflict", "")]
    kept.apply(MergeScopes(path="boat", into=SCOPE.path))
    assert (4, 7, "", "newer") in kept.pairs()


@pytest.mark.parametrize(
    ("grade", "verdict", "replaced", "successor", "is_open"),
    [
        ("replaced", "", 1, 2, False),
        ("conflict", "", 0, 1, True),
        ("", "newer", 1, 2, False),
        ("replaced", "older", 2, 1, False),
        ("replaced", "both", 0, 1, False),
        ("conflict", "unrelated", 0, 1, False),
    ],
)
def test_a_verdict_stands_above_the_grade(
    grade: str, verdict: str, replaced: int, successor: int, is_open: bool
) -> None:
    pair = PairRecord(1, 2, grade, 0.9, "", verdict, "user", 1, 2)
    assert (pair.replaced, pair.is_open) == (replaced, is_open)
    assert not replaced or pair.successor == successor


# --- names -----------------------------------------------------------------------------------------------------------


def test_names_are_told_by_scope_and_thing_and_on_request_as_they_are_written(kept: Kept) -> None:
    text = b"a lantern, the LAMP; a lamp"
    kept.apply(added(7, text, said_at=70))
    names = (
        mention(text, "lamp", b"LAMP", "tool"),
        mention(text, "lantern", b"lantern"),
        mention(text, "lamp", b"lamp"),
    )
    kept.read(MemoryReading(row=7, statements=(), mentions=names))
    lamp, boat = name(kept, "lamp"), scopes(kept)["boat"]
    found = kept.look(lambda now: now.mentions(None, {lamp}, named=True))
    assert [(one.row, one.name, one.kind) for one in found[-3:]] == [
        (5, "lamp", "thing"),
        (7, "LAMP", "tool"),
        (7, "lamp", "thing"),
    ]
    assert found[-1].said_at == 70
    assert {one.name for one in kept.look(lambda now: now.mentions(None, None, named=False))} == {""}
    assert [one.row for one in kept.look(lambda now: now.mentions({boat}, None, named=False))] == [5, 6]
    kept.apply(Retire(memory=id_of(5), reason=""))
    assert [one.row for one in kept.look(lambda now: now.mentions({boat}, None, named=False))] == [6]


def test_a_name_holds_nothing_that_no_face_could_tell(kept: Kept) -> None:
    text = "we met Ada\udc80Bea\0Cy".encode("utf-8", "surrogatepass")
    kept.apply(added(7, text))
    met = MentionRow(key="ada bea cy", name="Ada Bea Cy", span=(7, len(text)), kind="person")
    kept.read(MemoryReading(row=7, statements=(), mentions=(met,)))
    (told,) = kept.look(lambda now: now.mentions(None, {name(kept, "ada bea cy")}, named=True))
    assert told.name == "Ada Bea Cy"


def test_whoever_asks_for_a_few_sees_later_what_came_since(kept: Kept) -> None:
    with closing(open_reader(kept.path, KEYS)) as reader:
        with reader.snapshot() as now:
            before = now.seq
            assert len(now.statements_about(None, None, "", 1)) == 1
            assert len(now.statements_about(None, None, "be", 1)) == 1
        kept.apply(added(7, b"something new"))
        with reader.snapshot() as now:
            assert now.seq > before
