"""Applying changes of memories: adding, replacing, hiding, relabelling, and what is left of those that were erased.

Below `mnemic.runtime.store.store`, which gives the transaction and keeps the log.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import apsw
import msgspec

from mnemic.actors.brief.statement_cues import holds_cue
from mnemic.actors.capture.changes import MemoryLabels, Relabel
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.events import author_of, to_text
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import MEMORY_FIELDS, AddMemory, Retire, Supersede, Unretire
from mnemic.actors.store.messages import AddOutcome
from mnemic.actors.transfer.changes import RedactedChange, Tombstone
from mnemic.runtime.store.apply_context import CHANGED, UNCHANGED, ApplyContext, ChangeResult, Handler
from mnemic.runtime.store.knowledge.read import IS_READ
from mnemic.runtime.store.knowledge.write import enqueue_grading, forget_readings
from mnemic.runtime.store.meaning.write import reopen_completeness
from mnemic.runtime.store.memory_terms import add_terms, memory_terms, remove_terms
from mnemic.runtime.store.scopes.read import project_scope
from mnemic.runtime.store.scopes.write import bump_generation, free_path, move_found_scope
from mnemic.runtime.store.supersession import current_successor, set_successor, superseded_ids, supersession_chain
from mnemic.runtime.store.texts import load_text, store_text

_KINDS_WITH_IDS = ("tool_call", "tool_result")
"""Kinds that hosts give ids: one of them that is said once more is another one, and is kept."""
_HOSTS_WITHOUT_IDS = ("gemini-cli",)
"""Hosts that give them none: their calls are told apart by their words, as everything else is."""

_KNOWN = (
    "SELECT m.id, m.uuid, t.digest, s.path, m.retired_at FROM memories m JOIN texts t ON t.id = m.text"
    " JOIN scopes s ON s.id = m.scope"
)
_INSERTED = (
    *("id", "uuid", "identity", "session", "scope", "text", "words", "language", "cued", "files", "valid_from"),
    *("recorded_at", *MEMORY_FIELDS),
)
_INSERT = f"INSERT INTO memories({', '.join(_INSERTED)}) VALUES({', '.join('?' * len(_INSERTED))})"
_READ_KINDS = ("turn", "decision", "note")
"""Kinds that are read for what they state, unless they are nobody's word: see `IS_READ`."""


def _add_memory(context: ApplyContext, change: AddMemory, at: int) -> ChangeResult:
    db = context.db
    known = _known_memory(context, change)
    if known is not None:
        row, uuid, digest, path, retired_at = known
        newer = current_successor(db, row)
        kept = AddOutcome(
            id=uuid,
            created=False,
            same_text=digest == context.identity(b"text", change.text),
            scope=path,
            superseded_by=None if newer is None else newer.id,
            retired_at=retired_at,
        )
        return ChangeResult(changed=False, kept=kept)
    if not context.is_replaying and _is_erased(context, change):
        gone = AddOutcome(id=change.id, created=False, same_text=True, scope=change.place.path, erased=True)
        return ChangeResult(changed=False, kept=gone)
    moved = None if context.is_replaying else move_found_scope(context, change.place, at)
    scope, path = _scope_row(db, change.place)
    text = store_text(db, change.text, context.identity)
    terms, language = memory_terms(change.text, change.speaker)
    db.execute(
        _INSERT,
        (
            _next_memory_row(db),
            change.id,
            change.identity,
            _session_row(db, change.assistant, change.session),
            scope,
            text,
            terms.words,
            language.code,
            _is_cued(change.kind, change.role, change.author, change.text),
            json.dumps(change.files),
            at if change.said_at is None else change.said_at,
            at,
            *(getattr(change, name) for name in MEMORY_FIELDS),
        ),
    )
    row = db.last_insert_rowid()
    add_terms(db, row, terms)
    for type, count in change.scrubbed:
        db.execute("INSERT INTO scrubbed(memory, type, count) VALUES(?, ?, ?)", (row, type, count))
    context.rebind_queue.memory_added(row)
    kept = AddOutcome(id=change.id, created=True, same_text=True, scope=path)
    # The log names the scope it came into, so that it makes that again, whatever else is erased.
    place = msgspec.structs.replace(change.place, path=path)
    logged = msgspec.structs.replace(change, place=place, formerly=None, part_of=None)
    return ChangeResult(text=text, kept=kept, logged=logged, before=moved)


def _known_memory(context: ApplyContext, change: AddMemory) -> Any:
    """The memory of the same identity; of a host's text, also the longer one of its session that it is a part of."""
    known = context.db.execute(
        f"{_KNOWN} WHERE m.identity IN (?1, ?2) ORDER BY m.identity != ?1", (change.identity, change.formerly)
    ).fetchone()
    if known is None and change.part_of is not None and change.kind == "injected":
        known = context.db.execute(
            f"{_KNOWN} JOIN sessions n ON n.id = m.session WHERE t.digest = ? AND n.assistant = ? AND n.name = ?",
            (context.identity(b"text", change.part_of), change.assistant, change.session),
        ).fetchone()
    return known


def _relabel(context: ApplyContext, change: Relabel, at: int) -> ChangeResult:
    """Give memories other labels, and have what was made of their words by the old ones made again."""
    given, had, is_changed = [], [], False
    for labels in change.labels:
        row = context.memory_row(labels.memory)
        found: Any = context.db.execute(
            "SELECT uuid, kind, role, speaker, author, said_at, utc_offset_min FROM memories WHERE id = ?", (row,)
        ).fetchone()
        before = MemoryLabels(**dict(zip(MemoryLabels.__struct_fields__, found, strict=True)))
        if before == labels:
            continue
        given.append(labels)
        had.append(before)
        if _reads_alike(before, labels):
            context.db.execute(
                "UPDATE memories SET author = ?, utc_offset_min = ? WHERE id = ?",
                (labels.author, labels.utc_offset_min, row),
            )
        else:
            is_changed = True
            _set_labels(context, row, before, labels)
    if not given:
        return UNCHANGED
    if is_changed:
        bump_generation(context.db)
    return ChangeResult(logged=Relabel(labels=tuple(given)), undo=Relabel(labels=tuple(had)))


def _reads_alike(before: MemoryLabels, labels: MemoryLabels) -> bool:
    """Say whether nothing that was made of a memory would be made otherwise by its new labels."""
    if labels.kind in _READ_KINDS and (before.author == "unknown") != (labels.author == "unknown"):
        return False  # without an author, it was read for what it states
    # Without an offset, a memory counts by the machine's zone, which is what a night labels it with.
    offset_min = labels.utc_offset_min if before.utc_offset_min is None else before.utc_offset_min
    was = msgspec.structs.replace(before, author=before.author or author_of(before.role), utc_offset_min=offset_min)
    return was == msgspec.structs.replace(labels, author=labels.author or author_of(labels.role))


def _set_labels(context: ApplyContext, row: int, before: MemoryLabels, labels: MemoryLabels) -> None:
    db = context.db
    text, retired_at = next(db.execute("SELECT text, retired_at FROM memories WHERE id = ?", (row,)))
    is_bound = retired_at is None
    if is_bound:
        context.rebind_queue.memory_leaving(row)  # its old place tells what stands beside it
    words = load_text(db, text)
    db.execute(
        "UPDATE memories SET kind = ?, role = ?, speaker = ?, author = ?, said_at = ?, utc_offset_min = ?,"
        " valid_from = coalesce(?5, recorded_at), cued = ?7 WHERE id = ?8",
        (
            *(labels.kind, labels.role, labels.speaker, labels.author, labels.said_at, labels.utc_offset_min),
            _is_cued(labels.kind, labels.role, labels.author, words),
            row,
        ),
    )
    if before.speaker != labels.speaker:
        terms, _ = memory_terms(words, labels.speaker)
        remove_terms(db, [row])
        add_terms(db, row, terms)
        db.execute("UPDATE memories SET words = ? WHERE id = ?", (terms.words, row))
    if is_bound:
        context.rebind_queue.memory_added(row)
    forget_readings(db, [row])
    db.execute("DELETE FROM unread WHERE memory = ?", (row,))
    db.execute(f"INSERT INTO unread SELECT m.id FROM memories m WHERE m.id = ? AND {IS_READ}", (row,))


def _is_cued(kind: str, role: str, author: str | None, text: bytes) -> bool:
    """Say whether a session's start may quote the text as something that its user stated."""
    return kind == "turn" and role == "user" and author in (None, "owner") and holds_cue(to_text(text))


def _supersede(context: ApplyContext, change: Supersede, at: int) -> ChangeResult:
    for memory in (change.old, change.new):
        context.memory_row(memory)  # which refuses what is not there
    older, newer = (supersession_chain(context.db, one) for one in (change.old, change.new))
    if any(link.row == newer[0].row for link in older[1:]):  # it is so already
        return UNCHANGED
    replaced = older[-1]
    if replaced.row == newer[-1].row:
        raise InvalidValue(
            name="supersedes",
            value=str(uuid.UUID(bytes=change.old)),
            why="the memory would replace itself",
            expected="the id of another memory",
        )
    set_successor(context.db, replaced.row, newer[0].row, at)
    return ChangeResult(logged=Supersede(old=replaced.id, new=change.new))


def _retire(context: ApplyContext, change: Retire, at: int) -> ChangeResult:
    row = context.memory_row(change.memory)
    if context.db.execute("SELECT retired_at FROM memories WHERE id = ?", (row,)).get is not None:
        return UNCHANGED
    context.rebind_queue.memory_leaving(row)
    corrected = superseded_ids(context.db, row)
    context.db.execute("UPDATE memories SET retired_at = ?, retired_reason = ? WHERE id = ?", (at, change.reason, row))
    # What it corrected stands for itself again, and was not graded while it did not.
    enqueue_grading(context.db, [context.memory_row(one) for one in corrected])
    return CHANGED


def _unretire(context: ApplyContext, change: Unretire, at: int) -> ChangeResult:
    row = context.memory_row(change.memory)
    if context.db.execute("SELECT retired_at FROM memories WHERE id = ?", (row,)).get is None:
        return UNCHANGED
    context.db.execute("UPDATE memories SET retired_at = NULL, retired_reason = NULL WHERE id = ?", (row,))
    reopen_completeness(context.db, row)
    context.rebind_queue.memory_added(row)
    return CHANGED


def _session_row(db: apsw.Connection, assistant: str, name: str) -> int:
    row = db.execute("SELECT id FROM sessions WHERE assistant = ? AND name = ?", (assistant, name)).get
    if row is None:
        db.execute("INSERT INTO sessions(assistant, name) VALUES(?, ?)", (assistant, name))
        row = db.last_insert_rowid()
    return int(row)


def _scope_row(db: apsw.Connection, place: ScopeRef) -> tuple[int, str]:
    if place.project is None:
        found = db.execute("SELECT id, path FROM scopes WHERE path = ?", (place.path,)).fetchone()
    else:
        found = project_scope(db, place.project)
    if found is not None:
        return int(found[0]), str(found[1])
    # A folder's name is nobody's word: what has it is neither what is known by that name nor what that lies in.
    path = place.path if place.project is None else free_path(db, place.path)
    db.execute("INSERT INTO scopes(path, project, found) VALUES(?, ?, ?)", (path, place.project, place.found))
    return db.last_insert_rowid(), path


def _next_memory_row(db: apsw.Connection) -> int:
    """The row after all that are there, and all that were erased."""
    return int(
        db.execute("SELECT 1 + max(coalesce((SELECT max(id) FROM memories), 0), (SELECT last FROM erased_rows))").get
    )


def _add_tombstone(context: ApplyContext, change: Tombstone, at: int) -> ChangeResult:
    context.db.execute("INSERT OR IGNORE INTO erased(identity) VALUES(?)", (change.identity,))
    is_new = bool(context.db.changes())
    context.db.execute("UPDATE erased_rows SET last = max(last, ?)", (change.row,))
    if change.place is not None:
        _scope_row(context.db, change.place)
    return ChangeResult(changed=is_new)


def _relink(context: ApplyContext, change: RedactedChange, at: int) -> ChangeResult:
    for old, new in change.links:
        set_successor(context.db, context.memory_row(old), context.memory_row(new), at)
    return CHANGED


def _is_erased(context: ApplyContext, change: AddMemory) -> bool:
    """Whether a memory that is to be added was erased, so that it is not kept again."""
    told = [change]
    if change.part_of is not None:
        told.append(msgspec.structs.replace(change, kind="turn", role="user", text=change.part_of))
    words = (mark for one in told for mark in text_tombstones(one, context.identity))
    marks = (change.identity, change.formerly, *words)
    asked = f"SELECT 1 FROM erased WHERE identity IN ({', '.join('?' * len(marks))}) LIMIT 1"
    return context.db.execute(asked, marks).get is not None


def text_tombstones(memory: Any, identity: Callable[..., bytes]) -> tuple[bytes, ...]:
    """Keyed hashes of the words of a memory in its session; none for what is told apart by its host's ids alone.

    A host that gives no ids may tell the same words again, from a spool file that was put back, say, and they are
    counted as said once more; so of what was erased the words themselves are known too, in that session. A hook tells
    words as its user's that a transcript knows to be the host's: the first hash is the same for both, and is what an
    erasure keeps. The second names the kind and role as they are, as erasures before labels did.

    Args:
        memory: what has the fields of `AddMemory` that say who said it, and its text.
    """
    if memory.kind in _KINDS_WITH_IDS and memory.assistant not in _HOSTS_WITHOUT_IDS:
        return ()
    said = to_text(memory.text).strip().encode("utf-8", "surrogatepass")
    named = (memory.kind, memory.role)
    return tuple(
        identity(b"erased", *(part.encode("utf-8", "surrogatepass") for part in who), said)
        for kind, role in dict.fromkeys((("turn", "user") if named == ("injected", "system") else named, named))
        for who in ((memory.assistant, memory.session, kind, role),)
    )


MEMORY_HANDLERS: dict[type, Handler] = {
    AddMemory: _add_memory,
    Supersede: _supersede,
    Retire: _retire,
    Relabel: _relabel,
    Unretire: _unretire,
    Tombstone: _add_tombstone,
    RedactedChange: _relink,
}
