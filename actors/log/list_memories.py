"""Handles the browsing messages: lists memories and deliveries, shows memories in full, counts usage.

Snapshots read; here it is checked what is asked for, and what was given to whoever asked is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from mnemic.actors.index.hits import BYTES_PER_TOKEN, delivered_span, token_count
from mnemic.actors.index.query import scopes_below
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import AmbiguousId, InvalidValue, NoSuchMemory
from mnemic.actors.kernel.events import KINDS, escape_surrogates, to_bytes, to_text
from mnemic.actors.kernel.message import format_id, idempotency_key
from mnemic.actors.kernel.scope_paths import asked_scopes
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.log.changes import DeliveredSpan, RecordDelivery
from mnemic.actors.log.messages import (
    MOST_AROUND,
    MOST_LISTED,
    CountUse,
    DeliveriesListed,
    FindIds,
    IdsFound,
    ListDeliveries,
    ListMemories,
    MemoriesListed,
    MemoriesShown,
    NoteDelivery,
    ShowMemories,
    UseCounted,
)
from mnemic.actors.recall.messages import Hit, Recall
from mnemic.actors.shape.messages import Shape
from mnemic.actors.store.messages import Apply
from mnemic.algorithms.secrets.private import drop_private

BROWSE_MESSAGES = (ListMemories, ListDeliveries, ShowMemories, FindIds, CountUse, NoteDelivery)
"""The messages that are handled here."""
BrowseAnswer = MemoriesListed | DeliveriesListed | MemoriesShown | IdsFound | UseCounted
"""What they are answered with."""

_MOST_WEEKS = 520
_MOST_ALIKE = 5
"""So many memories are named whose ids end alike."""
_DIGITS = re.compile(r"[0-9a-f]{4,32}")
"""Fewer digits would name a memory by a slip of the hand."""


def browse(
    message: ListMemories | ListDeliveries | ShowMemories | FindIds | CountUse | NoteDelivery,
    source: SnapshotSource,
    context: Context,
) -> BrowseAnswer | None:
    """List, show or count what is there.

    Raises:
        UnknownScope, InvalidValue, NoSuchMemory: what was asked for cannot be.
    """
    if isinstance(message, NoteDelivery):
        _record_delivery(message, context)
        return None
    with source.snapshot() as snapshot:
        if isinstance(message, ListMemories):
            return _listed(message, snapshot)
        if isinstance(message, ListDeliveries):
            _check_page(message)
            session = None if message.session is None else escape_surrogates(message.session)  # as it is kept
            return snapshot.list_deliveries(msgspec.structs.replace(message, session=session))
        if isinstance(message, ShowMemories):
            if not 0 <= message.context <= MOST_AROUND:
                why, expected = "it is no such number", f"0 to {MOST_AROUND}"
                raise InvalidValue(name="the context", value=message.context, why=why, expected=expected)
            rows = snapshot.rows_of(message.ids)
            return MemoriesShown(memories=tuple(snapshot.memory_details(row, message.context) for row in rows))
        if isinstance(message, FindIds):
            return IdsFound(ids=tuple(_only_id(snapshot, end) for end in message.ends))
        if not 1 <= message.weeks <= _MOST_WEEKS:
            raise InvalidValue(
                name="weeks", value=message.weeks, why="it is no such number", expected=f"1 to {_MOST_WEEKS}"
            )
        return snapshot.count_usage(message, context.now)


def _listed(message: ListMemories, snapshot: Snapshot) -> MemoriesListed:
    _check_page(message)
    unknown = next((kind for kind in message.kinds if kind not in KINDS), None)
    if unknown is not None:
        raise InvalidValue(
            name="a kind", value=unknown, why="it is not known", expected=f"one or more of {', '.join(KINDS)}"
        )
    if message.text_bytes < 0:
        raise InvalidValue(name="text_bytes", value=message.text_bytes, why="it is less than 0", expected="0 or more")
    paths = asked_scopes(message.scope)
    scopes = None if paths is None else scopes_below(snapshot, paths)
    sessions = None if message.session is None else snapshot.session_rows(escape_surrogates(message.session))
    return snapshot.list_memories(message, scopes, sessions)


def _only_id(snapshot: Snapshot, end: str) -> bytes:
    """The id that ends so.

    Raises:
        NoSuchMemory: none does, or these are no digits.
        AmbiguousId: several do.
    """
    digits = end.replace("-", "").lower()
    found = snapshot.ids_ending(digits, _MOST_ALIKE) if _DIGITS.fullmatch(digits) else []
    if not found:
        raise NoSuchMemory(id=end)
    if len(found) > 1:
        many = f"{_MOST_ALIKE} or more" if len(found) == _MOST_ALIKE else str(len(found))
        raise AmbiguousId(count=many, id=end, ids=", ".join(str(format_id(one)) for one in found))
    return found[0]


def _check_page(message: ListMemories | ListDeliveries) -> None:
    if not 1 <= message.limit <= MOST_LISTED:
        raise InvalidValue(
            name="the number of entries",
            value=message.limit,
            why="it is no such number",
            expected=f"1 to {MOST_LISTED}",
        )


def _record_delivery(message: NoteDelivery, context: Context) -> None:
    size = sum(part.stop - part.start for part in message.parts)
    record = RecordDelivery(
        scope="*",
        assistant=str(escape_surrogates(message.assistant)),
        session=str(escape_surrogates(message.session)),
        parts=message.parts,
        tokens=-(-size // BYTES_PER_TOKEN),
        occasion="get" if message.named else "read",
    )
    _keep(record, context, *(b"%s %d %d" % (part.memory, part.start, part.stop) for part in message.parts))


def record_question(
    occasion: str,
    asked: Recall | Shape,
    text: str,
    hits: Sequence[Hit],
    context: Context,
    *,
    unkept: bool,
    unwritable: str | None,
    answers: Iterable[DeliveredSpan] = (),
) -> list[str]:
    """Keep what a question was answered with.

    Args:
        text: the question; with `unkept`, it is not kept.
        unwritable: why nothing can be kept; see `mnemic.actors.kernel.ports.Ports`.
        answers: what was given beside the hits.

    Returns what is said of it where it is left out.
    """
    if unwritable is not None:
        return [f"store: nothing new is kept, nor what was asked and given: {unwritable}"]
    record = RecordDelivery(
        query="" if unkept else to_text(drop_private(to_bytes(escape_surrogates(text)))[0]),
        scope="\n".join(asked_scopes(asked.scope) or ("*",)),
        assistant=escape_surrogates(asked.assistant),
        session=escape_surrogates(asked.asking_session),
        parts=(*map(delivered_span, hits), *answers),
        tokens=sum(token_count(hit.data) for hit in hits),
        occasion=occasion,
    )
    _keep(record, context)
    return []


def _keep(record: RecordDelivery, context: Context, *named: bytes) -> None:
    """Ask for it once for each request, by who asked what, and by what else is named."""
    told = (one.encode() for one in (record.query, record.scope, record.assistant, record.session))
    key = idempotency_key(record.occasion, context.trace, *told, *named)
    context.tell(Apply(changes=(record,), key=key, author="retriever", run=context.trace))
