"""The store answers every query of a session's start, to a snapshot and to a start without a process alike."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from mnemic.actors.brief import queries
from mnemic.actors.brief.gather import gather_sources
from mnemic.actors.brief.messages import Brief
from mnemic.actors.kernel.message import Query
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.runtime.store.brief import read
from mnemic.runtime.store.schema import connect
from tests.harness import START_US, ActorHarness

SHELF = ScopeRef(path="shelf", project=None, found="named")


def test_every_query_has_a_handler() -> None:
    asked = {one for one in vars(queries).values() if isinstance(one, type) and issubclass(one, Query)} - {Query}
    assert asked == set(read._HANDLERS)


def test_a_start_without_a_process_reads_what_a_snapshot_reads(tmp_path: Path) -> None:
    starts = Brief(place=SHELF, session="new")
    with ActorHarness(tmp_path) as mind:
        mind.keep("We always sort by colour.", place=SHELF, kind="decision", said_at=START_US)
        whole = mind.look(lambda now: gather_sources(now, starts, START_US, mind.clock))
        with closing(connect(mind.folder.store, mind.keys, words_only=True)) as connection:
            light = gather_sources(read.BriefReader(connection, mind.clock), starts, START_US, mind.clock)
    assert whole == light
    assert [one.text for one in whole.in_force] == [b"We always sort by colour."]


def test_memories_of_some_rows_come_in_that_order_without_those_of_other_scopes_and_authors(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as mind:
        for text, role in (("first", "user"), ("second", "assistant"), ("third", "user")):
            mind.keep(text, place=SHELF, role=role, session="one")
        scope = next(number for number, path in mind.look(lambda now: now.scopes()).items() if path == "shelf")
        asked = queries.MemoriesAt((3, 2, 1, 99), (scope,), ("owner",))
        assert [one.row for one in mind.look(lambda now: now.ask(asked))] == [3, 1]
        assert mind.look(lambda now: now.ask(queries.MemoriesAt((1,), (scope + 1,), ("owner",)))) == []
