"""The Binder actor: encodes each memory's roles and fillers as hypervectors, in small background steps.

It follows the log, after the Embedder: a memory waits for its vectors, and is bound again when what it was read from
changes (the turn after it comes, its scope moves, the settings say otherwise). Steps are short and questions pass
between them. What is kept is decided by the memories alone, so a kill costs a step and loses nothing. Where no memory
waits, it bundles the prototypes of communities and places new memories by them (`mnemic.actors.shape.prototypes`).
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Self

import msgspec

from mnemic.actors.communities.messages import CommunitiesChanged
from mnemic.actors.kernel.background import BackgroundWorker, MindOpened, WorkOn
from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.errors import ModelError, ModelOff, RuntimeFault
from mnemic.actors.kernel.ports import Ports
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.meaning.messages import DescribeEncoder
from mnemic.actors.shape.bind import (
    BOUND_DIMENSIONS,
    MAX_DIMENSIONS,
    WORD_BITS,
    RecordBinder,
    algebra_from_settings,
    extraction_version,
    space_from_settings,
)
from mnemic.actors.shape.changes import AddSpace
from mnemic.actors.shape.messages import BindPending, BindProgress, RetryBinding, VectorsChanged
from mnemic.actors.shape.ports import TripleExtractor
from mnemic.actors.shape.prototypes import PrototypeWork
from mnemic.actors.shape.queries import SpaceRow, Unbound
from mnemic.actors.store.messages import Committed
from mnemic.algorithms.knowledge.triples import triples
from mnemic.hd.algebra import BACKENDS

_FETCH = 32  # memories bound by one step
_COUNT_EVERY_STEPS = 16  # steps: to count at each, in a large mind, would take longer than to bind
_TEXT_BYTES = 8192  # of a text so much is read for topics and facts

_log = logging.getLogger("mnemic.binder")


class BinderActor:
    """Binds what waits."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (
        BindPending,
        RetryBinding,
        VectorsChanged,
        Committed,
        CommunitiesChanged,
        MindOpened,
        WorkOn,
    )
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting(
            "binder.backend",
            "",
            "-",
            f"Who computes: {', '.join(BACKENDS)}; empty means native code where it is built, else NumPy.",
            choices=("", *BACKENDS),
        ),
        Setting(
            "binder.dimensions",
            BOUND_DIMENSIONS,
            "bits",
            f"Length of a hypervector, a multiple of {WORD_BITS}, up to {MAX_DIMENSIONS}.",
            WORD_BITS,
            maximum=MAX_DIMENSIONS,
            multiple=WORD_BITS,
        ),
        Setting("binder.leave_out", ("workspace",), "-", "Roles that are not bound; `mnemic shape --roles` lists all."),
        Setting("binder.topics", 5, "phrases", "At most so many key phrases of a text are bound.", 0),
        Setting(
            "binder.extractor",
            "",
            "function",
            "What finds subject, relation and object in a text: module:function; empty is the built-in.",
        ),
    )
    pinned: ClassVar[bool] = True

    def __init__(self, ports: Ports) -> None:
        """Open the store for reading, to bind in a space whose model is not known yet.

        Raises:
            InvalidValue: a setting names a role that there is none of, a length that is none, or a backend that is not
                there.
        """
        settings = ports.settings
        self._space = space_from_settings(ports.seed, settings)
        self._algebra = algebra_from_settings(settings)
        self._extract: TripleExtractor = ports.extract or triples
        self._topics = settings["binder.topics"]
        self._reading = extraction_version(settings)
        self._source = ports.open_snapshots()
        self._prototypes = PrototypeWork(self._algebra)
        self._binding: RecordBinder | None = None
        self._encoder: EncoderName | None = None  # whose vectors are bound
        self._waiting = True  # whether memories wait for them
        self._encoders_when_asked: list[EncoderName] | None = None  # whose vectors there were, when it was asked
        self._cached_progress: BindProgress | None = None  # what there was when it was counted
        self._bound_since_count = 0  # bound since then
        self._announced: set[tuple[str, str]] = set()
        self._yields = False  # whether another process binds otherwise, and this one leaves it to it
        self._cursor = 0  # the last row that was looked at
        self._retry_cursor: int | None = None  # the last row of what failed that was tried again; None: none is
        self._worker = BackgroundWorker("binder", self._step, leaves_to_caller=True)

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Open the store for reading. Raises as `__init__`."""
        return cls(ports)

    def handle(self, message: Any, context: Context) -> BindProgress | None:
        """Take one step, or follow the log in the background."""
        if isinstance(message, BindPending | RetryBinding):
            if isinstance(message, RetryBinding):
                self._retry_cursor, self._cached_progress = 0, None
            self._step(context)
            bound = self._progress()
            self._worker.caller_stepped(bound.pending, context)
            return bound
        if isinstance(message, Committed | VectorsChanged | CommunitiesChanged):
            if isinstance(message, CommunitiesChanged):
                self._prototypes.communities_changed()
            self._cached_progress = None
            if not self._waiting:  # there may be a model by now
                self._encoders_when_asked = None
            self._worker.wake(context)
        elif isinstance(message, WorkOn):
            self._worker.work_on(context)
        elif self._has_backlog():
            self._worker.wake(context)
        return None

    def close(self) -> None:
        """Let go of the store."""
        self._source.close()

    def _has_backlog(self) -> bool:
        """Whether a mind that was just opened has something to do, as a step cut short or other settings leave it.

        What waits for its meaning has to wait for the Embedder, which embeds once something is committed. Where
        memories are bound without any, none waits for that.
        """
        with self._source.snapshot() as snapshot:
            kept = snapshot.space()
            ready = any(snapshot.pending_bindings(name, True, 0, 1, 1) for name in snapshot.encoders())
            if kept is not None and not kept.model:
                ready = ready or bool(snapshot.pending_bindings(None, False, 0, 1, 1))
            ready = ready or (kept is not None and self._prototypes.pending(snapshot) > 0)
        return ready or (kept is not None and not self._matches_settings(kept))

    def _step(self, context: Context) -> bool:
        """Bind the next few memories, else do the next for communities; returns whether there may be more."""
        with self._source.snapshot() as snapshot:
            kept, waits = snapshot.space(), bool(snapshot.pending_bindings(None, False, 0, 1, 1))
            encoders, seq = snapshot.encoders(), snapshot.seq
        self._retry_cursor = None if kept is None else self._retry_cursor
        waits = waits or self._retry_cursor is not None
        if context.cancelled():
            return False
        if not (waits or (kept is not None and not self._matches_settings(kept))):
            return self._step_communities(context)
        self._refresh_encoder(kept, encoders, context)
        if context.cancelled():  # while it was asked for, the model may have been loaded
            return False
        space = self._space
        if kept is None or (kept.stamp, kept.reading) != (space.stamp, self._reading):
            return self._register_space(kept, seq, context)
        self._yields = False
        with self._source.snapshot() as snapshot:
            seq = snapshot.seq
            found = self._fetch(snapshot)
        if not found:
            return self._step_communities(context)
        self._write_codes(found, seq, context)
        return True

    def _step_communities(self, context: Context) -> bool:
        """Bundle the next prototypes, else place the next memories; returns whether there may be more."""
        with self._source.snapshot() as snapshot:
            kept, seq = snapshot.space(), snapshot.seq
            if kept is None or not self._matches_settings(kept):
                return False
            step = self._prototypes.step(snapshot, self._space, kept.stamp, self._encoder)
        if step is None:
            return False
        self._worker.apply([step.change], seq, context)
        self._bound_since_count += step.done
        return True

    def _matches_settings(self, kept: SpaceRow) -> bool:
        """Whether what is kept was bound as the settings say; the model is not looked at, since its vectors tell."""
        space = self._space
        is_same = (kept.dimensions, kept.version, kept.roles) == (space.dimensions, space.version, space.roles)
        return is_same and kept.reading == self._reading

    def _refresh_encoder(self, kept: SpaceRow | None, encoders: list[EncoderName], context: Context) -> None:
        """Find the model whose vectors are bound. Where none can be used, those that were kept before still are.

        Who embeds is asked once, and again when vectors of another one appear; where it fails, at the next event.
        """
        if self._encoders_when_asked == encoders:
            return
        try:
            named = context.ask(DescribeEncoder())
            self._encoder, self._waiting = named.encoder, True
            model, embedding = named.encoder.model, named.dimensions
        except (ModelError, RuntimeFault) as error:
            model, embedding = ("", 0) if kept is None else (kept.model, kept.embedding)
            self._encoder = next((name for name in reversed(encoders) if name.model == model), None)
            if self._waiting and not isinstance(error, ModelOff):
                _log.warning("memories are bound without their meaning: %s", error.code, extra={"code": error.code})
            self._waiting = False
        if (self._space.model, self._space.embedding_dimensions) != (model, embedding):
            self._space = msgspec.structs.replace(self._space, model=model, embedding_dimensions=embedding)
        self._encoders_when_asked = encoders

    def _register_space(self, kept: SpaceRow | None, seq: int, context: Context) -> bool:
        """Say in which space is bound from now on; all that is there waits then. Returns whether there is to do."""
        space, named = self._space, (self._space.stamp, self._reading)
        if kept is not None and named in self._announced:  # two who each undo what the other does would never end
            if not self._yields:
                _log.warning("another process binds otherwise, by its settings or model: this one leaves it to that")
            self._yields = True
            return False
        change = AddSpace(
            stamp=space.stamp,
            dimensions=space.dimensions,
            version=space.version,
            roles=space.roles,
            model=space.model,
            embedding=space.embedding_dimensions,
            reading=self._reading,
        )
        self._worker.apply([change], seq, context)
        self._announced.add(named)  # not before: what the Store was too busy to keep is asked for again
        self._cursor = 0
        return True

    def _fetch(self, snapshot: Snapshot) -> list[Unbound]:
        """The next memories that can be bound; from the start again once the end is reached."""
        if self._retry_cursor is not None:
            found = snapshot.failed_bindings(self._encoder, self._retry_cursor, _FETCH, _TEXT_BYTES)
            self._retry_cursor = found[-1].row if found else None
            if found:
                return found
        for cursor in {self._cursor: None, 0: None}:
            found = snapshot.pending_bindings(self._encoder, self._waiting, cursor, _FETCH, _TEXT_BYTES)
            self._cursor = found[-1].row if found else 0
            if found:
                return found
        return []

    def _write_codes(self, found: list[Unbound], seq: int, context: Context) -> None:
        if self._binding is None or self._binding.space != self._space:
            self._binding = RecordBinder(self._space, self._algebra, self._extract, self._topics)
        change = self._binding.bind(found, seq)
        self._worker.apply([change], seq, context)
        self._prototypes.rows_bound(min(one.row for one in found))
        self._bound_since_count += len(found)

    def _progress(self) -> BindProgress:
        """How far it is; between countings `done` is as it was counted last. What is left to another is not pending."""
        if (
            self._cached_progress is None
            or self._cached_progress.pending - self._bound_since_count <= 0
            or self._bound_since_count >= _COUNT_EVERY_STEPS * _FETCH
        ):
            with self._source.snapshot() as snapshot:
                done, pending = snapshot.bound_counts(self._encoder, self._waiting)
                pending += self._prototypes.pending(snapshot)
            self._cached_progress, self._bound_since_count = BindProgress(done=done, pending=pending), 0
        tried = int(self._retry_cursor is not None)  # how many those are is not looked at
        pending = 0 if self._yields else max(self._cached_progress.pending - self._bound_since_count, tried)
        return BindProgress(done=self._cached_progress.done, pending=pending)
