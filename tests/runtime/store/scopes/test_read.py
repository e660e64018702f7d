"""Which scope a project belongs to, in this schema and in one from before, and what was last said of scopes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.actors.kernel.scope_paths import SCOPES_AUTHOR, ScopeRef
from mnemic.actors.scopes.changes import MergeScopes, RenameScope
from mnemic.actors.scopes.messages import ScopeInfo
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.scopes.read import project_scope, scopes_below
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import KEYS, apply

SHELF = ScopeRef(path="shelf", project="/p/shelf", found="git")
LAMP = ScopeRef(path="shelf/lamp", project="/p/lamp", found="git")
BOAT = ScopeRef(path="shelf%", project=None, found="named")


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store.create(path, KEYS)) as made:
        apply(
            made,
            added(1, place=SHELF, said_at=70),
            added(2, place=LAMP, said_at=50),
            added(3, place=BOAT),
            at=90,
        )
        apply(made, added(4, place=SHELF, said_at=60))
        yield made


def test_a_project_belongs_to_its_scope_or_to_the_one_it_was_merged_into(store: Store, path: Path) -> None:
    with closing(connect(path, KEYS)) as db:
        assert project_scope(db, "/p/lamp") == (2, "shelf/lamp")
        assert project_scope(db, "/p/elsewhere") is None
        apply(store, MergeScopes(path="shelf/lamp", into="shelf"))
        assert project_scope(db, "/p/lamp") == project_scope(db, "/p/shelf") == (1, "shelf")


def test_below_is_what_starts_with_the_path_and_a_slash_and_nothing_else(store: Store, path: Path) -> None:
    with closing(connect(path, KEYS)) as db:
        assert scopes_below(db, "shelf") == [(1, "shelf"), (2, "shelf/lamp")]
        assert scopes_below(db, "shelf%") == [(3, "shelf%")]
        assert scopes_below(db, "she") == []


def test_scopes_are_listed_by_path_with_what_they_hold(store: Store, path: Path) -> None:
    apply(store, MergeScopes(path="shelf/lamp", into="shelf"))
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        assert now.list_scopes() == [
            ScopeInfo(path="shelf", found="git", project="/p/shelf", projects=("/p/lamp",), memories=3, last_at=70),
            ScopeInfo(path="shelf%", found="named", project=None, memories=1, last_at=90),
        ]


def test_only_what_somebody_said_of_scopes_is_taken_back(store: Store, path: Path) -> None:
    store.apply([RenameScope(path="shelf", to="books")], at=1, key=b"by hand", author=SCOPES_AUTHOR, run="r")
    store.apply([RenameScope(path="books", to="import")], at=1, key=b"otherwise", author="another", run="r")
    with closing(open_reader(path, KEYS)) as reader, reader.snapshot() as now:
        assert now.scope_undo() == (RenameScope(path="books", to="shelf"),)
