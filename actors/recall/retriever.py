"""The Retriever actor: recalls, shows, lists and counts what is kept, and says what to tell an assistant unasked.

It hands each message to what answers it: `mnemic.actors.recall.recaller` recalls. All look at one index, which follows
the store by `seq`.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from mnemic.actors.brief.brief import BriefSettings, answer_brief
from mnemic.actors.brief.compose import BUDGET_TOKENS
from mnemic.actors.brief.messages import Brief, Briefed
from mnemic.actors.capture.capture_filter import is_paused_at
from mnemic.actors.capture.forget_messages import Survey, Surveyed
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.index.validate import LEAST_HIT_BYTES
from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.errors import PausesUnreadable
from mnemic.actors.kernel.ports import Ports
from mnemic.actors.log.list_memories import BROWSE_MESSAGES, BrowseAnswer, browse
from mnemic.actors.meaning.messages import EmbedQuery
from mnemic.actors.recall.messages import FindSimilar, GetMemories, Memories, Recall, Recalled, SimilarFound
from mnemic.actors.recall.recaller import Recaller
from mnemic.actors.recall.similarity import find_similar
from mnemic.actors.scopes.messages import FindScope, ListScopes, ScopeFound, ScopesListed
from mnemic.actors.shape.messages import ListRoles, RolesListed, Shape, Shaped
from mnemic.actors.sleep.night_views import NIGHT_MESSAGES, NightAnswer, answer_nights
from mnemic.actors.store.messages import Count, Counts
from mnemic.algorithms.retrieval.scan import backend

if TYPE_CHECKING:
    from mnemic.actors.shape.shape_recall import ShapeQueryEngine


class RetrieverActor:
    """Answers recalls."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (
        Recall,
        GetMemories,
        FindScope,
        ListScopes,
        FindSimilar,
        Survey,
        Count,
        *BROWSE_MESSAGES,
        *NIGHT_MESSAGES,
        Brief,
        Shape,
        ListRoles,
    )
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("recall.k", 10, "memories", "How many hits a recall gives unless it says.", 1),
        Setting(
            "recall.hit_bytes",
            8192,
            "bytes",
            "Of a longer memory the best stretch is given, with its place.",
            LEAST_HIT_BYTES,
        ),
        Setting(
            "recall.use_weight",
            0.25,
            "log-odds",
            "What a memory that was of use before gains at most (docs/sleep.md); 0 is nothing.",
            0.0,
            maximum=10.0,
        ),
        Setting(
            "recall.use_decay",
            0.5,
            "-",
            "How fast a use fades: by this power of its age in days (ACT-R's decay).",
            0.05,
            maximum=0.95,
        ),
        Setting(
            "brief.budget_tokens",
            BUDGET_TOKENS,
            "tokens",
            "An assistant is told at most so much unasked, at the start of a session; 0 is nothing.",
            0,
        ),
        Setting("brief.subagents", False, "-", "Whether the subagents of an assistant are told anything, too."),
        Setting("brief.updates", True, "-", "Whether a prompt is told what replaced something its session was told."),
    )
    pinned: ClassVar[bool] = True

    def __init__(self, ports: Ports) -> None:
        settings = ports.settings
        self._source = ports.open_snapshots()
        self._pauses = ports.pauses
        self._unwritable = ports.unwritable
        self._brief_settings = BriefSettings(*(settings[f"brief.{name}"] for name in BriefSettings._fields))
        self._index = RecallIndex()
        self._recaller = Recaller(ports, self._source, self._index, self._paused)
        self._ports = ports

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Open the store for reading."""
        return cls(ports)

    @staticmethod
    def foresees(message: Any) -> tuple[Any, ...]:
        """A recall by meaning will ask for its question's vector, and what is told beside a prompt for the prompt's."""
        if isinstance(message, Recall) and "dense" in message.signals:
            return (EmbedQuery(text=message.query),)
        if isinstance(message, Brief) and message.occasion == "prompt" and not message.updates_only:
            return (EmbedQuery(text=message.prompt),)
        if isinstance(message, FindSimilar):
            return (EmbedQuery(text=message.text, is_question=False),)
        if isinstance(message, Shape):
            from mnemic.actors.shape.shape_recall import foreseen

            return foreseen(message)
        return ()

    @cached_property
    def _shaper(self) -> ShapeQueryEngine:
        """Made when a shape is asked for: to load what it is made of takes longer than to answer a recall."""
        from mnemic.actors.shape.shape_recall import ShapeQueryEngine

        ports = self._ports
        return ShapeQueryEngine(self._source, self._index, ports.seed, ports.settings, ports.unwritable)

    def handle(
        self, message: Any, context: Context
    ) -> (
        Recalled
        | Memories
        | ScopeFound
        | ScopesListed
        | SimilarFound
        | Surveyed
        | Counts
        | Briefed
        | BrowseAnswer
        | Shaped
        | RolesListed
        | NightAnswer
        | None
    ):
        """Recall, ask for shapes, give memories whole, find a scope, count, show, or say what to tell unasked.

        Raises:
            UnknownScope, UnknownSession, UnknownRole, InvalidValue, NoSuchMemory: what was asked for cannot be.
        """
        if isinstance(message, Recall):
            return self._recaller.recall(message, context)
        if isinstance(message, BROWSE_MESSAGES):
            return browse(message, self._source, context)
        if isinstance(message, NIGHT_MESSAGES):
            return answer_nights(message, self._source, context)
        if isinstance(message, Brief):
            count = self._index.words.count_memories  # as of the recall that comes first
            recall = partial(self._recaller.recall, reads_again=False)  # somebody waits for it before each prompt
            hint = self._shaper.failure_hint
            return answer_brief(message, self._brief_settings, self._source, recall, count, hint, context)
        if isinstance(message, FindSimilar):
            return find_similar(message, self._index, self._source, context)
        if isinstance(message, Shape):
            return self._shaper.shape(message, context, lambda: self._paused(context.clock.now_us()))
        with self._source.snapshot() as snapshot:
            if isinstance(message, ListRoles):
                from mnemic.actors.shape.fillers import list_roles

                return list_roles(snapshot)
            if isinstance(message, Survey):
                return snapshot.survey(message.selection, message.shown)
            if isinstance(message, ListScopes):
                return ScopesListed(scopes=tuple(snapshot.list_scopes()), undo=snapshot.scope_undo())
            if isinstance(message, GetMemories):
                return Memories(memories=tuple(snapshot.load_memories(snapshot.rows_of(message.ids))))
            if isinstance(message, FindScope):
                return ScopeFound(path=snapshot.scope_path_of(message.place))
            return msgspec.structs.replace(snapshot.counts(None), scan=backend())

    def close(self) -> None:
        """Let go of the store."""
        self._source.close()

    def _paused(self, at: int) -> bool:
        """Whether the memory is paused; where nobody can tell, no question is kept, as no hook keeps anything."""
        try:
            return is_paused_at(self._pauses(), at)
        except PausesUnreadable:
            return True
