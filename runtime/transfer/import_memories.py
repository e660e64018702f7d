"""Importing an export into a store in one transaction: each memory once, with its original times.

In one transaction on a copy of the store, which takes its place afterwards: whole, or not at all. Times are those of
the export, so that who asks what was known then is answered as the other mind would answer. What was erased here
stays erased.

What replaces what, where two minds say it of the same memory: the later correction stands, in both of them.

A link that was made is never taken out. Where a memory is replaced by one thing here and by another there, what was
said earlier is replaced by what was said later, from the time of that on; of one time, the higher id stands. So both
minds come to the same end, whichever is imported into the other first.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import NamedTuple

import apsw
import msgspec

from mnemic.actors.kernel.errors import InvalidValue, NotAnExport
from mnemic.actors.kernel.scope_paths import ScopeRef, normalize_scope_path
from mnemic.actors.kernel.times import is_ahead
from mnemic.actors.log.changes import MEMORY_FIELDS, AddMemory, Retire, Supersede
from mnemic.actors.scopes.changes import MergeScopes, SplitScope
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.store.scopes.read import project_scope
from mnemic.runtime.store.scopes.write import rename_that_makes_way
from mnemic.runtime.store.store import Store
from mnemic.runtime.store.supersession import supersession_chain
from mnemic.runtime.transfer.export_format import ExportedMemory, ExportedScope, text_bytes
from mnemic.runtime.transfer.export_source import ExportSource
from mnemic.runtime.transfer.import_history import HistoryImporter, ImportReport, idempotency_key_of


class SupersessionDecision(NamedTuple):
    """What is to be done so that it is so here."""

    change: Supersede | None
    """The change; nothing where it is so already, or cannot be."""
    at: int
    """Since when."""
    loser: bytes | None = None
    """What gives way, where both minds said something else of the same memory."""
    is_contradiction: bool = False
    """Whether it cannot be: here the one that it would replace stands for the other one."""


def decide_supersession(connection: apsw.Connection, old: bytes, new: bytes, at: int) -> SupersessionDecision:
    """Decide what an export that says ``old`` is replaced by ``new`` since `at` means here."""
    chain, other = supersession_chain(connection, old), supersession_chain(connection, new)
    here, there = chain[-1].id, other[-1].id
    if here == there:
        return SupersessionDecision(None, at, is_contradiction=here == old)
    if len(chain) == 1:
        return SupersessionDecision(Supersede(old=old, new=new), at)
    said_here, said_there = max(link.since for link in chain), max(at, *(link.since for link in other))
    if (said_here, here) > (said_there, there):
        return SupersessionDecision(Supersede(old=there, new=here), said_here, loser=there)
    return SupersessionDecision(Supersede(old=here, new=there), said_there, loser=here)


_TIMES = ("said_at", "recorded_at", "superseded_at", "retired_at")
_BATCH = 256  # memories that were kept at one moment; as many as a transaction of Capture's


def import_into(
    store: Store,
    source: ExportSource,
    keys: Keys,
    *,
    run: str,
    now: int,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> ImportReport:
    """Take an export into a store that nobody else writes to.

    Args:
        run: marks what is written.
        now: system time, microseconds.

    Raises:
        NotAnExport: a line is not what it should be; nothing was changed.
        StoreError: nothing was changed.
    """
    with store.transaction() as (apply, connection):
        importing = _Importer(apply, connection, source, keys, run, now)
        try:
            importing.take_memories(progress)
            importing.import_history()
        except (ValueError, OverflowError, apsw.ConstraintError) as error:  # no line that we write is like this
            name, number = importing.position
            why = f"at line {number} of {name}, or shortly before, is what cannot be kept ({type(error).__name__})"
            raise NotAnExport(path=str(source.folder), why=why) from error
        return importing.report


class _Importer(HistoryImporter):
    """One import, within the transaction of the caller's."""

    def take_memories(self, progress: Callable[[int, int | None], None]) -> None:
        """Take in memories with their scopes, and what was said of them."""
        self._successors_of_erased: dict[str, str] = {}  # of what is erased here: what replaced it there
        self._places = places = {self._scope_path(scope): scope for scope in self._lines("scopes.jsonl", ExportedScope)}
        projects = {scope.path: scope.project for scope in places.values() if scope.project is not None}
        known = {path for path, project in projects.items() if project_scope(self._db, project) is not None}
        links = self._take_memories(places, progress)
        self.report.same_projects = tuple(sorted(known & self.report.scopes.keys()))
        self._merge_projects(places)
        self._link(links)

    def _take_memories(
        self, places: dict[str, ExportedScope], progress: Callable[[int, int | None], None]
    ) -> list[ExportedMemory]:
        """Keep those that are not there; gives those that are replaced or forgotten, without their texts."""
        total = self._source.line_count("memories.jsonl")
        links: list[ExportedMemory] = []
        batch: list[AddMemory] = []
        at = 0
        for number, line in enumerate(self._lines("memories.jsonl", ExportedMemory), start=1):
            line = self._dated(line)
            memory = self._memory(line, places)
            if line.superseded_by is not None or line.retired_at is not None:
                links.append(msgspec.structs.replace(line, text="", text_base64=""))
            if memory is not None:
                if batch and (line.recorded_at != at or len(batch) == _BATCH):
                    self._write_batch(batch, at)
                    batch = []
                batch.append(memory)
                at = line.recorded_at
            if number % _BATCH == 0 or number == total:
                progress(number, total)
        if batch:
            self._write_batch(batch, at)
        return links

    def _scope_path(self, scope: ExportedScope) -> str:
        """The path of a scope, which has to be one by which it can be asked for."""
        try:
            is_path = normalize_scope_path(scope.path) == scope.path
        except InvalidValue:
            is_path = False
        if not is_path:
            raise self._source.line_error(*self.position, "no scope can have its path")
        return scope.path

    def _dated(self, line: ExportedMemory) -> ExportedMemory:
        """A memory without times that are none: what is said to be kept or changed long from now is so now."""
        late = [name for name in _TIMES if is_ahead(getattr(line, name), self._now)]
        times = {name: None if name == "said_at" else self._now for name in late}
        return msgspec.structs.replace(line, **times) if late else line

    def _memory(self, line: ExportedMemory, places: dict[str, ExportedScope]) -> AddMemory | None:
        """What keeps a memory; nothing where it is there, or was erased."""
        id, text, scope = uuid.UUID(line.id).bytes, text_bytes(line), places.get(line.scope)
        if scope is None:
            raise self._source.line_error(*self.position, "it names a scope that the export does not hold")
        match = self._matching.match(line, id, text)
        if not self.report.same_key:
            self._identities[line.identity] = match.identity
        if match.erased:
            self._ids[line.id] = None
            self._erased_texts.append(text)
            if line.superseded_by is not None:
                self._successors_of_erased[line.id] = line.superseded_by
            self.report.erased += 1
            return None
        if match.existing_id is not None:
            self._ids[line.id] = match.existing_id
            self.report.known += 1
            return None
        self._ids[line.id] = id
        self.report.new += 1
        return AddMemory(
            id=id,
            identity=match.identity,
            assistant=line.assistant,
            session=line.session,
            place=ScopeRef(path=scope.path, project=scope.project, found=scope.found),
            text=text,
            files=line.files,
            scrubbed=line.scrubbed,
            **{name: getattr(line, name) for name in MEMORY_FIELDS},
        )

    def _write_batch(self, batch: list[AddMemory], at: int) -> None:
        for place in {memory.place.path: memory.place for memory in batch}.values():
            self._make_way(place)
        applied = self._apply(at, *batch)
        for memory, kept in zip(batch, applied.kept, strict=True):
            if kept.scope != memory.place.path:
                self.report.scopes[memory.place.path] = kept.scope

    def _make_way(self, place: ScopeRef) -> None:
        """Have a project of this mind that has its folder's name not be told what comes to lie below that.

        What lay below the same project there stays so, and so does what is there already.
        """
        change = rename_that_makes_way(self._db, place.path) if "/" in place.path else None
        if change is None:
            return
        above = self._places.get(change.path)
        same = above is not None and above.project is not None and project_scope(self._db, above.project)
        there = self._is_scope(place.path) if place.project is None else project_scope(self._db, place.project)
        if not there and not (same and same[1] == change.path):
            self._apply(self._now, change)
            self.report.made_way[change.path] = change.to

    def _merge_projects(self, places: dict[str, ExportedScope]) -> None:
        """Have projects that were merged into a scope there come into the same scope here."""
        for scope in places.values():
            into = self.report.scopes.get(scope.path, scope.path)
            for project in scope.also:
                if project_scope(self._db, project) is not None or not self._is_scope(into):
                    continue
                # It comes as an empty scope of its own, and is merged at once.
                path = f"{into}~{self._run}"
                own = SplitScope(path=path, found=scope.found, project=project, projects=(), into=into, memories=())
                self._apply(self._now, own, MergeScopes(path=path, into=into))

    def _link(self, links: list[ExportedMemory]) -> None:
        """Say what replaced what, and what is forgotten, at the times it was said."""
        said: list[tuple[int, Supersede | Retire]] = []
        apart: list[bytes] = []  # what gives way to what was said later, here or there
        for line in links:
            memory = self._ids[line.id]
            if memory is None:
                continue
            newer = self._local_successor(line)
            if newer is not None and line.superseded_at is not None and newer != memory:
                said.append((line.superseded_at, Supersede(old=memory, new=newer)))
            if line.retired_at is not None:
                said.append((line.retired_at, Retire(memory=memory, reason=line.retired_reason)))
        for at, change in sorted(said, key=lambda one: one[0]):
            key = idempotency_key_of(at, change)
            if self._db.execute("SELECT 1 FROM applies WHERE key = ?", (key,)).get is not None:
                continue  # an owner who took it back since is not contradicted by what was imported before
            if isinstance(change, Supersede):
                self._replace(change, at, key, apart)
            elif self._apply(at, change, key=key).changed == (True,):
                self.report.forgotten += 1
        self.report.apart = tuple((supersession_chain(self._db, one)[-1].id, one) for one in dict.fromkeys(apart))

    def _replace(self, change: Supersede, at: int, key: bytes, apart: list[bytes]) -> None:
        """Have a memory replaced as the export says, unless what was said here is later, or the contrary."""
        said = decide_supersession(self._db, change.old, change.new, at)
        if said.is_contradiction:
            self.report.contrary += ((change.old, change.new),)
        if said.loser is not None:
            apart.append(said.loser)
        if said.change is not None and self._apply(said.at, said.change, key=key).changed == (True,):
            self.report.superseded += 1

    def _local_successor(self, line: ExportedMemory) -> bytes | None:
        """What replaces a memory here: what did there, or what replaced that where it is erased."""
        newer, seen = line.superseded_by, {line.id}
        while newer is not None and newer not in seen:
            if newer not in self._ids:
                why = "a memory in it is replaced by one that it does not hold"
                raise NotAnExport(path=str(self._source.folder), why=why)
            if self._ids[newer] is not None:
                return self._ids[newer]
            seen.add(newer)
            newer = self._successors_of_erased.get(newer)
        return None

    def _is_scope(self, path: str) -> bool:
        return self._db.execute("SELECT 1 FROM scopes WHERE path = ?", (path,)).get is not None
