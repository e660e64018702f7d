"""The Knowledge actor: reads what memories state and name, notices what was replaced, and answers what holds.

It follows the log: a memory is read once it is committed, and its statements are graded against earlier ones about the
same thing. Steps are short, and questions pass between them. What is kept follows from the
memories alone, so who is killed goes on where it was, and a log that is replayed brings the same. Decisions are in
`mnemic.algorithms.knowledge`; what a person settled stands above them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ClassVar, Self

import msgspec

from mnemic.actors.kernel.background import BackgroundWorker, MindOpened, WorkOn
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.field_checks import check_fields
from mnemic.actors.kernel.message import Message, idempotency_key
from mnemic.actors.kernel.ports import Ports
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.knowledge.changes import AddStatements, GradedPair, GradeStatements
from mnemic.actors.knowledge.entity_views import EntityNames, merge_names
from mnemic.actors.knowledge.fact_views import FACT_QUESTIONS, settle, settled
from mnemic.actors.knowledge.messages import (
    ConflictSettled,
    FactsProgress,
    MergeNames,
    NamesMerged,
    SettleConflict,
    UpdateFacts,
)
from mnemic.actors.knowledge.queries import READ_BYTES, StatementExtractor, StatementRecord
from mnemic.actors.knowledge.read import read_memory, said_of
from mnemic.actors.store.messages import Apply, Committed
from mnemic.algorithms.knowledge.extraction.statements import statements
from mnemic.algorithms.knowledge.replacement import grade
from mnemic.algorithms.knowledge.said import Said

_READING = "statements/4"  # by which version of the built-in extractor; what was read by another is read again
_AT_ONCE = 32  # memories read, or graded, by one step
_log = logging.getLogger("mnemic.knowledge")
_BESIDE = 32  # statements of each sort before one, the nearest in time, that it is graded against


class KnowledgeActor:
    """Reads, grades, answers."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (
        *FACT_QUESTIONS,
        UpdateFacts,
        SettleConflict,
        MergeNames,
        Committed,
        MindOpened,
        WorkOn,
    )
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting(
            "knowledge.extractor",
            "",
            "function",
            "What finds the statements of a text: module:function; empty is the built-in.",
        ),
    )

    def __init__(self, ports: Ports) -> None:
        """Open the store for reading."""
        self._source = ports.open_snapshots()
        self._extract: StatementExtractor = ports.extract_statements or statements
        self._reading = f"{_READING} {ports.settings['knowledge.extractor']}".strip()
        self._names = EntityNames()
        self._worker = BackgroundWorker("knowledge", self._step)
        self._announced = False  # whether it has said by which extractor memories are read
        self._yields = False  # whether another process reads otherwise, and this one leaves it to that

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Open the store for reading."""
        return cls(ports)

    def handle(self, message: Any, context: Context) -> Message | None:
        """Answer what holds, settle what contradicts, take one step, or follow the log in the background.

        Raises:
            UnknownScope, UnknownEntity, UnknownConflict, InvalidValue: what was asked for cannot be.
        """
        question = FACT_QUESTIONS.get(type(message))
        if question is not None:
            check_fields(message)
            with self._source.snapshot() as snapshot:
                return question(message, snapshot, self._names, context.clock)
        if isinstance(message, SettleConflict | MergeNames):
            check_fields(message)
            return self._decide(message, context)
        if isinstance(message, UpdateFacts):
            self._step(context)
            with self._source.snapshot() as snapshot:
                progress = self._progress(snapshot)
            self._worker.caller_stepped(progress.pending, context)
            return progress
        if isinstance(message, WorkOn):
            self._worker.work_on(context)
        else:
            assert isinstance(message, Committed | MindOpened)
            self._worker.wake(context)
        return None

    def close(self) -> None:
        """Let go of the store."""
        self._source.close()

    def _progress(self, snapshot: Snapshot) -> FactsProgress:
        unread, ungraded = snapshot.knowledge_waiting()
        pending = 0 if self._yields else unread + ungraded  # what is left to another is not pending
        return FactsProgress(done=max(0, snapshot.read_count() - unread), pending=pending)

    def _step(self, context: Context) -> bool:
        """Grade the next few memories that were read, else read the next few; returns whether there may be more.

        Texts are read and graded outside of the snapshot: while one is held, the write-ahead log cannot be cut.
        """
        if context.cancelled():
            return False
        with self._source.snapshot() as snapshot:
            is_read, seq = snapshot.knowledge_reading() == self._reading, snapshot.seq
            work = (self._grading, self._unread)[:: 1 if is_read else -1]
            found = work[0](snapshot) or work[1](snapshot)
        if found is None:
            return False
        change = found()
        done = any(self._worker.apply([change], seq, context).changed)
        self._announced |= done and isinstance(change, AddStatements)  # not where a replay came first
        return done

    def _unread(self, snapshot: Snapshot) -> Callable[[], Change] | None:
        """What reads the next few memories; ``None`` where none waits."""
        kept = snapshot.knowledge_reading()
        if kept != self._reading and not snapshot.seq:
            return None
        if kept != self._reading and self._announced:  # two who each undo what the other does would never end
            if not self._yields:
                _log.warning("another process reads statements by another extractor: this one leaves it to that")
            self._yields = True
            return None
        self._yields = False
        unread, generation = snapshot.unread_memories(_AT_ONCE, READ_BYTES), snapshot.generation
        if not unread and kept == self._reading:
            return None
        return lambda: AddStatements(
            generation=generation,
            reading=self._reading,
            memories=tuple(read_memory(one, self._extract) for one in unread),
        )

    def _grading(self, snapshot: Snapshot) -> Callable[[], Change] | None:
        """What grades the next few memories; ``None`` where none waits."""
        waiting, generation, seq = snapshot.ungraded_rows(_AT_ONCE), snapshot.generation, snapshot.seq
        if not waiting:
            return None
        # A pair is the later memory's. What comes between others is graded, and so are those that come after it.
        rows = sorted({*waiting, *snapshot.rows_graded_after(waiting, _BESIDE)})
        found = snapshot.gradable_pairs(rows, _BESIDE)
        # What was corrected is graded as well: else what replaced what would hang on when it is graded.
        records = {one.number: one for one in snapshot.successors(sorted({one for pair in found for one in pair}))}

        def graded() -> Change:
            said = {number: said_of(one) for number, one in records.items()}
            pairs = [
                _graded(records[older], records[newer], said)
                for older, newer in found
                if older in said and newer in said  # neither is forgotten
            ]
            kept = tuple(pair for pair in pairs if pair is not None)
            return GradeStatements(generation=generation, seq=seq, rows=tuple(rows), pairs=kept)

        return graded

    def _decide(self, message: SettleConflict | MergeNames, context: Context) -> ConflictSettled | NamesMerged:
        with self._source.snapshot() as snapshot:
            now_us = context.clock.now_us()
            if isinstance(message, SettleConflict):
                settling, pair = settle(message, snapshot)
                change: Change = settling
            else:
                change = merge_names(message, snapshot, self._names)
        key = idempotency_key("settle", context.trace, msgspec.msgpack.encode(change))
        changed = any(context.ask(Apply(changes=(change,), key=key, author="knowledge", run=context.trace)).changed)
        with self._source.snapshot() as snapshot:
            if isinstance(message, SettleConflict):
                return settled(pair, snapshot, now_us, changed)
            return self._names.merged(message, snapshot, changed)


def _weight(role: str) -> int:
    """Whose word weighs more than whose."""
    return 2 if role == "user" else 0 if role == "other" else 1


def _graded(older: StatementRecord, newer: StatementRecord, said: dict[int, Said]) -> GradedPair | None:
    """What two statements are to each other, if anything."""
    found = grade(said[older.number], said[newer.number])
    if found is None:
        return None
    # What an assistant says replaces nothing that its user said, and what a stranger says nothing of either's: the
    # user is asked.
    is_sure = found.verdict == "replaced" and _weight(newer.role) >= _weight(older.role)
    return GradedPair(
        older=older.number,
        newer=newer.number,
        grade="replaced" if is_sure else "conflict",
        probability=found.probability,
        why=found.why,
    )
