"""Grades in a store without anybody who grades: what two statements are to each other is said by the test."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

from mnemic.actors.knowledge.changes import Grade, GradedPair, GradeStatements
from mnemic.actors.store.messages import Apply
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader


def grade_pair(
    mind: Mind, home: Path, older: str, newer: str, *, grade: Grade = "conflict", scope: str | None = None
) -> None:
    """Grade the statements of two memories against each other, in place of all that was graded of these.

    Args:
        mind: open here; what waits there is read first.
        older: the clause of the one said earlier, and in `newer` of the one said later.
        scope: the path of both; whichever has them, where absent.
    """
    mind.update_facts()
    folder, keys = open_mind(home, "default", looking=True)
    with closing(open_reader(folder.store, keys)) as reader, reader.snapshot() as now:
        said = [one for one in now.statements_about(None, None, "", -1) if scope in (None, one.path)]
        generation = now.generation
    by_clause = {one.text[slice(*one.said.clause)].decode(): one for one in said}
    first, last = by_clause[older], by_clause[newer]
    pair = GradedPair(older=first.number, newer=last.number, grade=grade, probability=0.61234, why="a test said so")
    change = GradeStatements(
        generation=generation, seq=1 << 40, rows=tuple(sorted({first.row, last.row})), pairs=(pair,)
    )
    key = hashlib.sha256(repr(change).encode()).digest()
    mind.actor_system.ask(Apply(changes=(change,), key=key, author="test", run="test"))
