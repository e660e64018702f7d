"""Reads memories: what they state, and what they name; and makes of what is kept what grading asks for.

Below `mnemic.actors.knowledge.knowledge`. Offsets of what is kept are bytes, those of the algorithms characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, groupby

from mnemic.actors.protocol.events import to_bytes, to_text
from mnemic.actors.protocol.knowledge.changes import MemoryReading, MentionRow, Span, StatementRow
from mnemic.actors.protocol.knowledge.snapshot import StatementRecord, UnreadMemory
from mnemic.actors.protocol.times import day_of
from mnemic.algorithms.knowledge.entities.keys import entity_key, subject_key
from mnemic.algorithms.knowledge.entities.mentions import mentions
from mnemic.algorithms.knowledge.extraction.statements import Statement
from mnemic.algorithms.knowledge.replacement import Said, read_said

StatementExtractor = Callable[[str, str | None, date], list[Statement]]
"""Finds what a text states: the text, who said it, and on which day; `mnemic.algorithms.knowledge.extraction` has the
built-in one."""
TEXT_BYTES = 8_192
"""Of a longer text no more is read."""
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_EPOCH = date(1970, 1, 1)
_DAY_US = 86_400_000_000


def read_memory(memory: UnreadMemory, extract: StatementExtractor) -> MemoryReading:
    """What a memory states and names."""
    text, at = _characters(memory.text)
    found = extract(text, memory.speaker, day_of(memory.said_at))
    return MemoryReading(
        row=memory.row,
        statements=tuple(
            StatementRow(
                subject=subject_key(one.subject, memory.speaker, memory.role),
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
                replaces=-1 if one.replaces is None else one.replaces,
            )
            for one in found
        ),
        mentions=tuple(
            MentionRow(key=key, name=one.name, span=(at[one.start], at[one.end]), kind=one.kind)
            for one in mentions(text)
            if (key := entity_key(one.name))
        ),
    )


def said_of(records: Sequence[StatementRecord]) -> dict[int, Said]:
    """Statements as grading takes them, by number; of a memory all statements that are kept have to be there."""
    found: dict[int, Said] = {}
    for _, group in groupby(sorted(records, key=lambda one: (one.row, one.place)), key=lambda one: one.row):
        own = list(group)
        text, offsets = _characters(own[0].text)
        at = {byte: place for place, byte in enumerate(offsets)}
        read = [_statement(text, at, one) for one in own]
        said = read_said(text, own[0].said_at, read, [one.said.subject for one in own])
        found.update((one.number, each) for one, each in zip(own, said, strict=True))
    return found


def _statement(text: str, at: dict[int, int], record: StatementRecord) -> Statement:
    said = record.said

    def span(bytes_: Span) -> tuple[int, int]:
        return at[bytes_[0]], at[bytes_[1]]

    (start, end), (clause_start, clause_end), (first, last) = map(span, (said.value, said.clause, said.subject_span))
    return Statement(
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
        replaces=None if said.replaces < 0 else said.replaces,
        subject_start=first,
        subject_end=last,
    )


def _characters(data: bytes) -> tuple[str, list[int]]:
    """A text, with spaces for what no column of the store can hold, and the byte at which each character begins, with
    the one after the last.
    """
    text = to_text(data)
    if text.isascii():
        offsets = list(range(len(text) + 1))
    else:
        offsets = list(accumulate((len(to_bytes(one)) for one in text), initial=0))
    return _UNSTORABLE.sub(" ", text), offsets


def _day_start(day: date | None) -> int | None:
    return None if day is None else (day - _EPOCH).days * _DAY_US


def _day(at: int | None) -> date | None:
    return None if at is None else (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)).date()
