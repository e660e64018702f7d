"""Telling unasked: what the Retriever does with a `Brief`. Snapshots read, and `mnemic.actors.brief.compose` words.

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
    compose_start,
    inline,
    why_at_start,
    why_beside_prompt,
)
from mnemic.actors.brief.relevance_gate import rarity, sure
from mnemic.actors.protocol.ambient_messages import Brief, Briefed
from mnemic.actors.protocol.briefing_sources import Quote
from mnemic.actors.protocol.changes import RecordGiven, named_once
from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.errors import RuntimeFault, StoreError
from mnemic.actors.protocol.events import printable, to_bytes, to_text
from mnemic.actors.protocol.messages import Apply, Recall, Recalled, Signal
from mnemic.actors.protocol.scopes import existing_scope
from mnemic.actors.protocol.snapshot import SnapshotSource
from mnemic.actors.recall.hits import densest, tokens_of
from mnemic.actors.recall.query import terms_of

__all__ = ["MOST_RECALLED", "RECALLED_BYTES", "Telling", "given", "tell_unasked"]

MOST_RECALLED = 3
"""So many memories at most are told beside a prompt."""
RECALLED_BYTES = 600
"""Of a longer memory the best stretch; only what it holds counts for whether it is told."""
_CANDIDATES = 12
_SIGNALS: tuple[Signal, ...] = ("dense", "lexical", "session")  # with these it was measured how often it is right
_MOST_TERMS = 96  # no stretch of so few bytes covers half of more
_RECORD_TIMEOUT_S = 0.5  # an assistant waits for the answer, and it has one already


class Telling(NamedTuple):
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
        if asked.tracked and not self.tracked_scopes:
            return 0
        return max(0, self.budget_tokens if asked.budget_tokens is None else asked.budget_tokens)


class Recalling(Protocol):
    """What the Retriever has for this beside its snapshots."""

    def recall(self, recall: Recall, context: Context) -> Recalled:
        """Carry out a recall."""
        ...

    def memories(self) -> int:
        """How many memories there are, as of the last recall."""
        ...


def tell_unasked(
    asked: Brief, habits: Telling, source: SnapshotSource, retriever: Recalling, context: Context
) -> Briefed:
    """Compose what an assistant should know, and keep in the log what that was."""
    budget = habits.budget(asked)
    if not budget:
        return Briefed(text="", memories=(), tokens=0)
    degraded: list[str] = []
    if asked.occasion == "session-start":
        with source.snapshot() as snapshot:
            scope, material = existing_scope(snapshot, asked.place), snapshot.start_material(asked)
        text, memories = compose_start(material, budget, asked.notices)
        why = why_at_start(material, memories)
    else:
        about, degraded = _surely_about(asked, source, retriever, context)
        scope = about.scope
        text, memories = compose_prompt(about.quotes, budget)
        why = tuple(about.why[memory] for memory in memories)
    tokens = tokens_of(text.encode())
    if memories:
        degraded += _record(given(asked, scope, text, memories, why), context)
    return Briefed(text=text, memories=memories, tokens=tokens, degraded=tuple(degraded))


def given(
    asked: Brief, scope: str | None, text: str, memories: tuple[bytes, ...], why: tuple[str, ...], at: int | None = None
) -> RecordGiven:
    """What the log keeps of what an assistant is told.

    Args:
        scope: path of the scope where it works.
        why: why each of the memories was chosen.
        at: system time it is told, where that is not when the log is written.
    """
    return RecordGiven(
        assistant=printable(asked.assistant),
        session=printable(asked.session),
        occasion=asked.occasion,
        memories=memories,
        tokens=tokens_of(text.encode()),
        scope=scope or "",
        why=tuple(map(printable, why)),
        text=text.encode(),
        at=at,
    )


class _About(NamedTuple):
    """What is surely about a prompt."""

    scope: str | None = None
    """Path of the scope that was looked through."""
    quotes: tuple[Quote, ...] = ()
    """Best first."""
    why: Mapping[bytes, str] = MappingProxyType({})
    """Why each is told, by id."""


def _surely_about(
    asked: Brief, source: SnapshotSource, retriever: Recalling, context: Context
) -> tuple[_About, list[str]]:
    """The memories that are surely about a prompt and not known to its session, best first; and what took no part."""
    degraded: list[str] = []
    with source.snapshot() as snapshot:
        scope = existing_scope(snapshot, asked.place) if asked.place.path else None
        terms = terms_of(asked.prompt, snapshot, degraded) if scope else []
        if scope is None or not 0 < len(terms) <= _MOST_TERMS:
            return _About(), degraded
        known = snapshot.given(asked.assistant, asked.session)
    question = Recall(query=asked.prompt, k=_CANDIDATES, scope=scope, signals=_SIGNALS, observe=False, trace=True)
    found = retriever.recall(question, context)
    cosines = {one.id: one.raw.get("dense") for one in found.candidates}
    own, prompt = printable(asked.session), inline(to_bytes(asked.prompt))
    quotes: list[Quote] = []
    why: dict[bytes, str] = {}
    with source.snapshot() as snapshot:
        memories = retriever.memories()
        rarities = {term: rarity(memories, len(snapshot.postings(term).row)) for term in terms}
        for hit in found.hits:
            if len(quotes) == MOST_RECALLED:
                break
            if hit.id in known or hit.superseded_by is not None or hit.session.partition("/")[0] == own:
                continue
            if inline(hit.text) in prompt:
                continue
            part = densest(hit.text, RECALLED_BYTES, rarities)
            held = set(snapshot.stems(snapshot.words(f"{hit.speaker or ''} {to_text(part)}")))
            if sure(cosines.get(hit.id), rarities, held):
                why[hit.id] = why_beside_prompt(cosines.get(hit.id), rarities, held)
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
    return _About(scope, tuple(quotes), why), [*degraded, *found.degraded]


def _record(change: RecordGiven, context: Context) -> list[str]:
    """Keep in the log what was given, before it is: it is then never given twice. Says what went wrong, if it did."""
    key = named_once("given", context.trace, change.assistant.encode(), change.session.encode(), *change.memories)
    apply = Apply(changes=(change,), key=key, author="retriever", run=context.trace)
    try:
        context.ask(apply, _RECORD_TIMEOUT_S)
    except (StoreError, RuntimeFault) as error:
        return [f"what was given is not in the log: {error}"]
    return []
