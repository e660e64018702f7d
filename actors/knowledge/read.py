"""Reads memories: what they state, and what they name; and makes of what is kept what grading asks for.

Below `mnemic.actors.knowledge.knowledge`. Offsets of what is kept are bytes, those of the algorithms characters.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import accumulate

from mnemic.actors.kernel.events import to_bytes, to_text
from mnemic.actors.kernel.times import DAY_US, day_of
from mnemic.actors.knowledge.changes import MemoryReading, MentionRow, StatementRow
from mnemic.actors.knowledge.queries import UNSTORABLE, StatementExtractor, StatementRecord, UnreadMemory
from mnemic.algorithms.knowledge.contradiction import kind_slot
from mnemic.algorithms.knowledge.entities.keys import entity_key, subject_key
from mnemic.algorithms.knowledge.entities.mentions import mentions
from mnemic.algorithms.knowledge.extraction.statements import Statement
from mnemic.algorithms.knowledge.replacement import is_served, told_as_over
from mnemic.algorithms.knowledge.said import Said, change_cue, read_said, value_name

_log = logging.getLogger("mnemic.knowledge")
_EPOCH = date(1970, 1, 1)


def read_memory(memory: UnreadMemory, extract: StatementExtractor) -> MemoryReading:
    """What a memory states and names."""
    text, at = _characters(memory.text)
    failed = False
    try:
        statements, named = _read_statements(memory, text, at, extract), tuple(_mentions(text, at))
    except Exception as error:  # whatever a stranger's function does or gives; of the text nothing is logged
        _log.warning("the extractor fails at a memory: %s", type(error).__name__, extra={"code": "extractor_failed"})
        statements, named, failed = (), (), True
    return MemoryReading(row=memory.row, statements=statements, mentions=named, failed=failed)


def _mentions(text: str, at: Sequence[int]) -> Iterator[MentionRow]:
    """The names in a text; `at` tells the byte at which each character begins."""
    for one in mentions(text):
        if key := entity_key(one.name):
            yield MentionRow(key=key, name=one.name, span=(at[one.start], at[one.end]), kind=one.kind)


def _read_statements(
    memory: UnreadMemory, text: str, at: Sequence[int], extract: StatementExtractor
) -> tuple[StatementRow, ...]:
    found = extract(text, memory.speaker, day_of(memory.said_at, memory.utc_offset_min))
    subjects = [subject_key(one.subject, memory.speaker, memory.role) for one in found]
    return tuple(
        _row(each, None if each.statement.replaces is None else found[each.statement.replaces], at)
        for each in read_said(text, memory.said_at, found, subjects)
    )


def _row(said: Said, old: Statement | None, at: Sequence[int]) -> StatementRow:
    """A statement as it is kept.

    Args:
        old: the one of the same memory that it takes the place of, if there is one.
        at: the byte at which each character begins.
    """
    one = said.statement
    is_asserted = one.modality == "asserted" and not one.negative
    kind = f"kind: {slot}" if (slot := kind_slot(said)) else ""
    return StatementRow(
        subject=said.subject,
        subject_span=(at[one.subject_start], at[one.subject_end]),
        relation=one.relation or "",
        value=(at[one.start], at[one.end]),
        clause=(at[one.clause_start], at[one.clause_end]),
        negative=one.negative,
        modality=one.modality,
        holds_from=_day_start(one.holds_from),
        holds_to=_day_start(one.holds_to),
        single=one.single,
        rule=one.rule,
        instead_of=(0, 0) if old is None else (at[old.start], at[old.end]),
        is_change=bool(said.cue or told_as_over(said)),
        value_key=_key(value_name(one.value)) if is_asserted else 0,
        over_key=_key(value_name(told_as_over(said)) or kind),
        own_key=_key(value_name(one.subject) if is_asserted and is_served(said) else kind),
    )


def _key(value: str) -> int:
    """What equal values have in common: 64 bits of a hash, 0 for none."""
    if not value:
        return 0
    return int.from_bytes(hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


def said_of(record: StatementRecord) -> Said:
    """A statement as grading takes it."""
    text, offsets = _characters(record.text)
    at = {byte: place for place, byte in enumerate(offsets)}
    said = record.said
    spans = (said.value, said.clause, said.subject_span, said.instead_of)
    (start, end), (clause_start, clause_end), (first, last), (old, old_end) = ((at[a], at[b]) for a, b in spans)
    statement = Statement(
        subject=text[first:last],
        relation=said.relation or None,
        value=text[start:end],
        start=start,
        end=end,
        clause_start=clause_start,
        clause_end=clause_end,
        negative=said.negative,
        modality=said.modality,  # type: ignore[arg-type]  # as it was read
        holds_from=_day(said.holds_from),
        holds_to=_day(said.holds_to),
        rule=said.rule,
        speaker=record.speaker,
        single=said.single,
        replaces=None,
        subject_start=first,
        subject_end=last,
    )
    return Said(statement, said.subject, text, record.said_at, change_cue(text, statement), text[old:old_end])


def _characters(data: bytes) -> tuple[str, list[int]]:
    """A text, with spaces for what no column of the store can hold, and the byte at which each character begins, with
    the one after the last.
    """
    text = to_text(data)
    if text.isascii():
        offsets = list(range(len(text) + 1))
    else:
        offsets = list(accumulate((len(to_bytes(one)) for one in text), initial=0))
    return UNSTORABLE.sub(" ", text), offsets


def _day_start(day: date | None) -> int | None:
    return None if day is None else (day - _EPOCH).days * DAY_US


def _day(at: int | None) -> date | None:
    return None if at is None else day_of(at, 0)
