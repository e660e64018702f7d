"""Queries for scopes: which one a project belongs to, which there are, and how to undo their last change.

Part of `mnemic.runtime.store.reader.StoreSnapshot`. `mnemic.runtime.store.scopes.write` writes what is read here.
What an assistant is told at its start is read with this too, so that nothing is imported here that is slow to load.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import msgspec

from mnemic.actors.capture.changes import Relabel
from mnemic.actors.kernel.events import escape_surrogates
from mnemic.actors.kernel.scope_paths import SCOPES_AUTHOR, SCOPES_UNDO_AUTHOR, ScopeChange, ScopeRef
from mnemic.actors.scopes.changes import RenameScope
from mnemic.actors.scopes.messages import ScopeInfo
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.store.schema import SAID_OR_KEPT, check_schema, connect, translate_errors

_decode = msgspec.msgpack.Decoder(ScopeChange).decode
_decode_undoable = msgspec.msgpack.Decoder(ScopeChange | Relabel).decode


class ScopeQueries:
    """What a snapshot tells of scopes; see `mnemic.actors.kernel.snapshot.Snapshot`."""

    _db: apsw.Connection

    def scopes(self) -> dict[int, str]:
        return dict(self._db.execute("SELECT id, path FROM scopes"))

    def scope_path_of(self, place: ScopeRef) -> str | None:
        return scope_path_of(self._db, place)

    def scopes_of_conversation(self, assistant: str, session: str) -> list[ScopeRef]:
        found: list[Any] = self._db.execute(
            "SELECT DISTINCT s.path, s.project, s.found FROM sessions n JOIN memories m ON m.session = n.id"
            " JOIN scopes s ON s.id = m.scope WHERE s.path != '' AND n.assistant = ?1"
            " AND (n.name = ?2 OR (n.name > ?2 || '/' AND n.name < ?2 || '0')) ORDER BY s.path",  # 0 follows the slash
            (assistant, session),
        ).fetchall()
        return [_place(*one) for one in found]

    def scopes_of_identities(self, identities: Sequence[bytes]) -> dict[bytes, ScopeRef]:
        query = (
            "SELECT s.path, s.project, s.found FROM memories m JOIN scopes s ON s.id = m.scope"
            " WHERE m.identity = ? AND s.path != ''"
        )
        found = ((one, self._db.execute(query, (one,)).fetchone()) for one in identities)
        return {identity: _place(*place) for identity, place in found if place is not None}

    def list_scopes(self) -> list[ScopeInfo]:
        others: dict[int, list[str]] = {}
        for project, scope in self._db.execute("SELECT project, scope FROM projects ORDER BY project"):
            others.setdefault(scope, []).append(project)
        found: list[Any] = self._db.execute(
            f"SELECT s.id, s.path, s.found, s.project, count(m.id), max({SAID_OR_KEPT})"
            " FROM scopes s LEFT JOIN memories m ON m.scope = s.id GROUP BY s.id ORDER BY s.path"
        ).fetchall()
        return [
            ScopeInfo(
                path=path,
                found=how,
                project=project,
                projects=tuple(others.get(row, ())),
                memories=count,
                last_at=last_at,
            )
            for row, path, how, project, count, last_at in found
        ]

    def scope_undo(self) -> tuple[ScopeChange, ...]:
        rows = self._db.execute("SELECT undo FROM log WHERE seq = ? ORDER BY id DESC", (seq_to_undo(self._db),))
        return tuple(_decode(undo) for (undo,) in rows)


def _place(path: str, project: str | None, found: str) -> ScopeRef:
    """A scope as what is kept in it names it: one without a project is known by its path."""
    return ScopeRef(path=path, project=project, found="named" if project is None else found)


def seq_to_undo(connection: apsw.Connection) -> int | None:
    """Number of the last change of scopes that is not taken back yet."""
    undone = 0
    for seq, author in connection.execute(
        "SELECT seq, author FROM applies WHERE author IN (?, ?) ORDER BY seq DESC",
        (SCOPES_AUTHOR, SCOPES_UNDO_AUTHOR),
    ):
        if author == SCOPES_UNDO_AUTHOR:
            undone += 1
        elif undone:
            undone -= 1
        else:
            return int(seq)
    return None


def made_way_since(connection: apsw.Connection, seq: int | None) -> list[RenameScope]:
    """Renames after a transaction that nobody asked for: projects that made way for what was captured or imported."""
    rows = connection.execute(
        "SELECT l.change FROM log l JOIN applies a ON a.seq = l.seq"
        " WHERE l.seq > ? AND l.undo IS NOT NULL AND a.author NOT IN (?, ?) ORDER BY l.id",
        (seq, SCOPES_AUTHOR, SCOPES_UNDO_AUTHOR),
    )
    changes = [_decode_undoable(change) for (change,) in rows]
    return [change for change in changes if isinstance(change, RenameScope)]


def project_scope(connection: apsw.Connection, project: str) -> tuple[int, str] | None:
    """Number and path of the scope that a project belongs to: it is its own, or was merged into it."""
    found = connection.execute("SELECT id, path FROM scopes WHERE project = ?", (project,)).fetchone()
    if found is None:
        found = connection.execute(
            "SELECT s.id, s.path FROM projects p JOIN scopes s ON s.id = p.scope WHERE p.project = ?", (project,)
        ).fetchone()
    return None if found is None else (int(found[0]), str(found[1]))


def has_project(store: Path, keys: Keys, project: str) -> bool:
    """Say whether a mind has a scope for a project; it is asked seldom, and opens the store for that."""
    with translate_errors(store), closing(connect(store, keys, words_only=True)) as connection:
        check_schema(connection, store)
        return project_scope(connection, project) is not None


def has_folder_name(connection: apsw.Connection, path: str) -> bool:
    """Whether a scope is called as its project's folder is: by one name, which its owner never chose."""
    return "/" not in path and bool(
        connection.execute(
            "SELECT 1 FROM scopes WHERE path = ? AND project IS NOT NULL AND found IN ('git', 'folder')", (path,)
        ).get
    )


def scope_path_of(connection: apsw.Connection, place: ScopeRef) -> str | None:
    """The path of a place's scope, or ``None`` where no memory is in it.

    What a ``.mnemic.toml`` names is never the scope of a project that only has its folder's name.
    """
    if place.project is not None:
        found = project_scope(connection, str(escape_surrogates(place.project)))
        return None if found is None else found[1]
    path = str(escape_surrogates(place.path))
    if connection.execute("SELECT 1 FROM scopes WHERE path = ?", (path,)).get is None:
        return None
    return None if place.found == ".mnemic.toml" and has_folder_name(connection, path) else path


def scopes_below(connection: apsw.Connection, path: str) -> list[tuple[int, str]]:
    """Numbers and paths of a scope and of those below it, by number; the path need be no scope itself."""
    found: list[Any] = connection.execute(
        "SELECT id, path FROM scopes WHERE path = ?1 OR substr(path, 1, length(?1) + 1) = ?1 || '/' ORDER BY id",
        (path,),
    ).fetchall()
    return [(int(row), str(at)) for row, at in found]
