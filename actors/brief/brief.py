"""Handles `Brief`: what an assistant is told at session start or with a prompt, without having asked.

At the start of a session everything that is known of the project is composed. For one prompt the memories that a recall
finds are told only where they are surely about it (`mnemic.actors.brief.relevance_gate`), and each to a session once.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from mnemic.actors.brief.compose import (
    BUDGET_TOKENS,
    compose_prompt,
    compose_session_start,
    prompt_reason,
    quote_inline,
    session_start_reasons,
)
from mnemic.actors.brief.relevance_gate import is_relevant, rarity
from mnemic.actors.protocol.ambient_messages import Brief, Briefed
from mnemic.actors.protocol.briefing_sources import Quote
from mnemic.actors.protocol.changes import RecordBriefing, idempotency_key
from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.errors import RuntimeFault, StoreError
from mnemic.actors.protocol.events import escape_surrogates, to_bytes, to_text
from mnemic.actors.protocol.messages import Apply, Recall, Recalled, SignalName
from mnemic.actors.protocol.scopes import existing_scope
from mnemic.actors.protocol.snapshot import SnapshotSource
from mnemic.actors.recall.hits import densest_excerpt, token_count
from mnemic.actors.recall.query import search_terms

__all__ = ["MOST_RECALLED", "RECALLED_BYTES", "BriefSettings", "answer_brief", "briefing_record"]

MOST_RECALLED = 3
"""So many memories at most are told beside a prompt."""
RECALLED_BYTES = 600
"""Of a longer memory the best stretch; only what it holds counts for whether it is told."""
_CANDIDATES = 12
_SIGNALS: tuple[SignalName, ...] = ("dense", "lexical", "session")  # with these it was measured how often it is right
_MOST_TERMS = 96  # no stretch of so few bytes covers half of more
_RECORD_TIMEOUT_S = 0.5  # an assistant waits for the answer, and it has one already


class BriefSettings(NamedTuple):
    """What the settings say of telling unasked."""

    budget_tokens: int = BUDGET_TOKENS
    """How long it may be."""
    subagents: bool = False
    """Whether subagents are told anything."""
    tracked_scopes: bool = False
    """Whether a scope is heeded that a file of the repository itself names."""

    def budget(self, asked: Brief) -> int:
        """How long the answer to a brief may be: as it asks itself, else as the settings say; 0 where none is told."""
        if "/" in asked.session and not self.subagents:  # `<session>/<agent>`, as it is captured
            return 0
        if asked.scope_from_repository and not self.tracked_scopes:
            return 0
        return max(0, self.budget_tokens if asked.budget_tokens is None else asked.budget_tokens)


class Recaller(Protocol):
    """What the Retriever has for this beside its snapshots."""

    def recall(self, recall: Recall, context: Context) -> Recalled:
        """Carry out a recall."""
        ...

    def memory_count(self) -> int:
        """How many memories there are, as of the last recall."""
        ...


def answer_brief(
    asked: Brief, habits: BriefSettings, source: SnapshotSource, retriever: Recaller, context: Context
) -> Briefed:
    """Compose what an assistant should know, and keep in the log what that was."""
    budget = habits.budget(asked)
    if not budget:
        return Briefed(text="", memories=(), tokens=0)
    degraded: list[str] = []
    if asked.occasion == "session-start":
        with source.snapshot() as snapshot:
            scope, material = existing_scope(snapshot, asked.place), snapshot.briefing_sources(asked)
        text, memories = compose_session_start(material, budget, asked.notices)
        why = session_start_reasons(material, memories)
    else:
        about, degraded = _relevant_memories(asked, source, retriever, context)
        scope = about.scope
        text, memories = compose_prompt(about.quotes, budget)
        why = tuple(about.why[memory] for memory in memories)
    tokens = token_count(text.encode())
    if memories:
        degraded += _write_log(briefing_record(asked, scope, text, memories, why), context)
    return Briefed(text=text, memories=memories, tokens=tokens, degraded=tuple(degraded))


def briefing_record(
    asked: Brief, scope: str | None, text: str, memories: tuple[bytes, ...], why: tuple[str, ...], at: int | None = None
) -> RecordBriefing:
    """What the log keeps of what an assistant is told.

    Args:
        scope: path of the scope where it works.
        why: why each of the memories was chosen.
        at: system time it is told, where that is not when the log is written.
    """
    return RecordBriefing(
        assistant=escape_surrogates(asked.assistant),
        session=escape_surrogates(asked.session),
        occasion=asked.occasion,
        memories=memories,
        tokens=token_count(text.encode()),
        scope=scope or "",
        why=tuple(map(escape_surrogates, why)),
        text=text.encode(),
        at=at,
    )


class _RelevantMemories(NamedTuple):
    """What is surely about a prompt."""

    scope: str | None = None
    """Path of the scope that was looked through."""
    quotes: tuple[Quote, ...] = ()
    """Best first."""
    why: Mapping[bytes, str] = MappingProxyType({})
    """Why each is told, by id."""


def _relevant_memories(
    asked: Brief, source: SnapshotSource, retriever: Recaller, context: Context
) -> tuple[_RelevantMemories, list[str]]:
    """The memories that are surely about a prompt and not known to its session, best first; and what took no part."""
    degraded: list[str] = []
    with source.snapshot() as snapshot:
        scope = existing_scope(snapshot, asked.place) if asked.place.path else None
        terms = search_terms(asked.prompt, snapshot, degraded) if scope else []
        if scope is None or not 0 < len(terms) <= _MOST_TERMS:
            return _RelevantMemories(), degraded
        known = snapshot.delivered_ids(asked.assistant, asked.session)
    question = Recall(query=asked.prompt, k=_CANDIDATES, scope=scope, signals=_SIGNALS, observe=False, trace=True)
    found = retriever.recall(question, context)
    cosines = {one.id: one.raw.get("dense") for one in found.candidates}
    own, prompt = escape_surrogates(asked.session), quote_inline(to_bytes(asked.prompt))
    quotes: list[Quote] = []
    why: dict[bytes, str] = {}
    with source.snapshot() as snapshot:
        memories = retriever.memory_count()
        rarities = {term: rarity(memories, len(snapshot.postings(term).row)) for term in terms}
        for hit in found.hits:
            if len(quotes) == MOST_RECALLED:
                break
            if hit.id in known or hit.superseded_by is not None or hit.session.partition("/")[0] == own:
                continue
            if quote_inline(hit.data) in prompt:
                continue
            part = densest_excerpt(hit.data, RECALLED_BYTES, rarities)
            held = set(snapshot.stems(snapshot.split_words(f"{hit.speaker or ''} {to_text(part)}")))
            if is_relevant(cosines.get(hit.id), rarities, held):
                why[hit.id] = prompt_reason(cosines.get(hit.id), rarities, held)
                quotes.append(
                    Quote(
                        id=hit.id,
                        text=part,
                        size_bytes=hit.size_bytes,
                        at=hit.said_at,
                        role=hit.role,
                        kind=hit.kind,
                    )
                )
    return _RelevantMemories(scope, tuple(quotes), why), [*degraded, *found.degraded]


def _write_log(change: RecordBriefing, context: Context) -> list[str]:
    """Keep in the log what was given, before it is: it is then never given twice. Says what went wrong, if it did."""
    key = idempotency_key("given", context.trace, change.assistant.encode(), change.session.encode(), *change.memories)
    apply = Apply(changes=(change,), key=key, author="retriever", run=context.trace)
    try:
        context.ask(apply, _RECORD_TIMEOUT_S)
    except (StoreError, RuntimeFault) as error:
        return [f"what was given is not in the log: {error}"]
    return []
