"""Handles `Brief`: what an assistant is told at session start or with a prompt, without having asked.

At the start of a session everything that is known of the project is composed. For one prompt the memories that a recall
finds are told only where they are surely about it, and each to a session once. The score of a recall is relative: the
best of what was looked through is 1, however little it has to do with the question. What is told unasked must be right
on its own, and no cosine alone tells that: of prompts on LoCoMo's conversations, at most two thirds of what any
threshold lets through comes from a session that holds the answer. Shared words do, where they are many and rare
(docs/decisions/0009-prompt-recall.md has the figures).

A briefing that is given while no process could write the log leaves a note in the spool (`mnemic.session_start`), as a
hook leaves what happened; `mnemic.actors.capture.drain` takes it in, so that it is known what was given then, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mnemic.actors.brief.compose import (
    BUDGET_TOKENS,
    FAILURE_TOKENS,
    compose_failure,
    compose_prompt,
    compose_session_start,
)
from mnemic.actors.brief.gather import gather_sources
from mnemic.actors.brief.messages import Brief, Briefed, Quote, QuotedPair
from mnemic.actors.brief.page import quote_inline
from mnemic.actors.brief.reasons import session_start_reasons
from mnemic.actors.brief.relevance import RECALLED_BYTES, Prompt, is_rare_key, rarity, relevant_answer
from mnemic.actors.brief.updates import replaced_since
from mnemic.actors.index.hits import densest_excerpt, token_count
from mnemic.actors.index.query import MOST_CHARS, asked_scope_numbers, known_or_everywhere, question_words
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import NoSuchMemory, RuntimeFault, StoreError
from mnemic.actors.kernel.events import HookRecord, escape_surrogates, to_bytes, to_text
from mnemic.actors.kernel.message import idempotency_key
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.log.changes import DeliveredSpan, RecordDelivery
from mnemic.actors.recall.messages import Hit, Recall, Recalled, SignalName
from mnemic.actors.store.messages import Apply
from mnemic.algorithms.knowledge.answering import read_wanted
from mnemic.algorithms.text.exact_keys import exact_keys, shared_keys
from mnemic.algorithms.text.same_words import word_form
from mnemic.algorithms.text.terms import index_terms, stem_of

if TYPE_CHECKING:  # a session's start without a process loads this module, and no NumPy
    from mnemic.actors.shape.questions.failures import FailureHint

MOST_RECALLED = 3
"""So many memories at most are told beside a prompt."""
_CANDIDATES = 12
_CANDIDATES_OF_REPEATS = 96  # where most of those say the same in the same words
_HEARD_BYTES = 4_096  # of what a session was told; a longer text is known by its id alone
_SIGNALS: tuple[SignalName, ...] = ("dense", "lexical", "session", "answer")  # it was measured how often they are right
_MOST_TERMS = 96  # no stretch of so few bytes covers half of more
_decode_note = msgspec.json.Decoder(RecordDelivery).decode
_RECORD_TIMEOUT_S = 0.5  # an assistant waits for the answer, and it has one already


class BriefSettings(NamedTuple):
    """What the settings say of telling unasked."""

    budget_tokens: int = BUDGET_TOKENS
    """How long it may be."""
    subagents: bool = False
    """Whether subagents are told anything."""
    updates: bool = True
    """Whether a prompt is told what replaced something that its session was told."""

    def budget(self, asked: Brief) -> int:
        """How long the answer to a brief may be: as it asks itself, else as the settings say; 0 where none is told."""
        if "/" in asked.session and not self.subagents:  # `<session>/<agent>`, as it is captured
            return 0
        return max(0, self.budget_tokens if asked.budget_tokens is None else asked.budget_tokens)


CountMemories = Callable[[Sequence[Sequence[str]]], tuple[int, list[int]]]
"""Of some words, each by its stems: how many memories there are, and how many of them hold each."""


def answer_brief(
    asked: Brief,
    settings: BriefSettings,
    source: SnapshotSource,
    recall: Callable[[Recall, Context], Recalled],
    count_memories: CountMemories,
    find_hint: Callable[[Brief, Context], tuple[str, FailureHint] | None],
    context: Context,
) -> Briefed:
    """Compose what an assistant should know, and keep what that was.

    Args:
        recall: carries out a recall.
        find_hint: finds what helped against a failure before, and the scope where that was.
        count_memories: as of the last recall.
    """
    budget = settings.budget(asked)
    if not budget:
        return Briefed(text="", memories=(), tokens=0)
    degraded: list[str] = []
    if asked.occasion == "session-start":
        with source.snapshot() as snapshot:
            scope = snapshot.scope_path_of(asked.place)
            material = gather_sources(snapshot, asked, context.clock.now_us(), context.clock)
        text, parts = compose_session_start(material, budget, asked.notices, context.clock)
        why: Mapping[bytes, str] = session_start_reasons(material, context.clock)
    elif asked.occasion == "tool-failed":
        found = find_hint(asked, context)
        if found is None:
            return Briefed(text="", memories=(), tokens=0)
        scope, hint = found
        tokens = min(budget, FAILURE_TOKENS)
        text, parts = compose_failure(hint.quote, hint.times, hint.fix.worked, hint.fix.tried, tokens, context.clock)
        why = {hint.quote.id: f"it helped when it failed like this ({hint.fix.probability:.2f})"}
    else:
        quotes: list[Quote] = []
        scope, why = None, {}
        if not asked.updates_only:
            scope, why, quotes, degraded = _relevant_memories(asked, source, recall, count_memories, context)
        scope, updates = _updates(asked, scope, source, context) if settings.updates else (scope, [])
        text, parts = compose_prompt(quotes, budget, updates, context.clock)
        why |= {pair.older.id: "this session was told so, and it holds no more" for pair in updates}
        why |= {pair.newer.id: "it replaces what this session was told" for pair in updates}
    if asked.answer_by is not None and context.clock.now_us() > asked.answer_by:  # nobody waits for it any longer
        return Briefed(text="", memories=(), tokens=0)
    if parts:
        change = briefing_record(asked, scope, text, parts, why)
        if asked.updates_only:  # whoever asks waits no longer than it takes to answer
            context.tell(_apply(change, context))
        else:
            degraded += _record(change, asked, context)
    return briefed(text, parts, degraded)


def _updates(
    asked: Brief, scope: str | None, source: SnapshotSource, context: Context
) -> tuple[str | None, list[QuotedPair]]:
    """Return what replaced something that the session was told, with the scope where it works.

    Args:
        scope: that scope's path, where it is known.
    """
    with source.snapshot() as snapshot:
        own_scope = snapshot.scope_path_of(asked.place) if asked.place.path else None
        scope = scope or known_or_everywhere(own_scope, snapshot)
        told = snapshot.delivered_spans(asked.assistant, asked.session) if scope and asked.session else {}
        within = asked_scope_numbers(scope, snapshot) if scope and told else None
        own, now_us = str(escape_surrogates(asked.session)), context.clock.now_us()
        return scope, replaced_since(told, own, within, now_us, snapshot) if within else []


def briefed(text: str, parts: Sequence[DeliveredSpan], degraded: Sequence[str] = ()) -> Briefed:
    """The answer to a brief."""
    memories = tuple(dict.fromkeys(part.memory for part in parts))
    return Briefed(text=text, memories=memories, tokens=token_count(text.encode()), degraded=tuple(degraded))


def briefing_record(
    asked: Brief, scope: str | None, text: str, parts: Sequence[DeliveredSpan], why: Mapping[bytes, str]
) -> RecordDelivery:
    """What is kept of what an assistant is told.

    Args:
        scope: path of the scope where it works.
        why: why each of the memories was chosen, by id.
    """
    return RecordDelivery(
        assistant=escape_surrogates(asked.assistant),
        session=escape_surrogates(asked.session),
        occasion=asked.occasion,
        tokens=token_count(text.encode()),
        scope=scope or "",
        parts=tuple(
            msgspec.structs.replace(part, why=str(escape_surrogates(why.get(part.memory, "")))) for part in parts
        ),
    )


def _relevant_memories(
    asked: Brief,
    source: SnapshotSource,
    recall: Callable[[Recall, Context], Recalled],
    count_memories: CountMemories,
    context: Context,
) -> tuple[str | None, dict[bytes, str], list[Quote], list[str]]:
    """What is surely about a prompt and not known to its session.

    Returns the scope looked through, why each memory is told, the memories, best first, and what took no part.
    """
    degraded: list[str] = []
    with source.snapshot() as snapshot:
        scope = known_or_everywhere(snapshot.scope_path_of(asked.place) if asked.place.path else None, snapshot)
        words = question_words(asked.prompt, snapshot, degraded) if scope else []
        if scope is None or not 0 < len(words) <= _MOST_TERMS:
            return None, {}, [], degraded
        known = snapshot.delivered_spans(asked.assistant, asked.session)
    distinct: dict[str, Hit] = {}
    for k in (_CANDIDATES, _CANDIDATES_OF_REPEATS):
        question = Recall(query=asked.prompt, k=k, scope=scope, signals=_SIGNALS, observe=False, trace=True)
        found = recall(question, context)
        for hit in found.hits:
            distinct.setdefault(word_form(to_text(hit.data)), hit)
        if len(found.hits) < k or 2 * len(distinct) > k:
            break
    keys = _rare_keys(asked.prompt, count_memories)
    if keys:  # what holds one comes first, however little else it shares
        question = Recall(query=" ".join(keys), k=_CANDIDATES, scope=scope, signals=("lexical",), observe=False)
        holders = (hit for hit in recall(question, context).hits if shared_keys(keys, to_text(hit.data)))
        distinct = {word_form(to_text(hit.data)): hit for hit in holders} | distinct
    cosines = {one.id: one.raw.get("dense") for one in found.candidates}
    own, prompt = escape_surrogates(asked.session), quote_inline(to_bytes(asked.prompt[:MOST_CHARS]))
    quotes: list[Quote] = []
    why: dict[bytes, str] = {}
    with source.snapshot() as snapshot:
        heard: set[str] | None = None
        memories, holding = count_memories([one.terms for one in words])
        rarities = {stem_of(one.terms[0]): rarity(memories, count) for one, count in zip(words, holding, strict=True)}
        about = Prompt(words, rarities, keys, read_wanted(asked.prompt).remedy)
        for hit in islice(distinct.values(), _CANDIDATES):
            if len(quotes) == MOST_RECALLED:
                break
            if hit.session.partition("/")[0] == own or quote_inline(hit.data) in prompt:
                continue
            hit, reason = relevant_answer(hit, cosines.get(hit.id), about, found.hits)
            if not reason or hit.id in known or hit.id in why or hit.superseded_by is not None:
                continue
            if heard is None:
                rows = snapshot.rows_of(sorted(known))
                heard = {word_form(to_text(one)) for one in snapshot.text_prefixes(rows, _HEARD_BYTES)}
            if word_form(to_text(hit.data)) in heard:
                continue
            why[hit.id] = reason
            part, first = densest_excerpt(hit.data, RECALLED_BYTES, rarities)
            first += hit.start_byte
            (whole,) = snapshot.load_memories(snapshot.rows_of([hit.id]))
            quote = Quote.of(whole, first, first + len(part))
            who = {"author": whole.author, "speaker": whole.speaker}
            quotes.append(msgspec.structs.replace(quote, size_bytes=hit.size_bytes, **who))
    return scope, why, quotes, [*degraded, *found.degraded]


def _rare_keys(prompt: str, count_memories: CountMemories) -> list[str]:
    """The exact keys of a prompt that hardly any memory holds."""
    keys = exact_keys(prompt[:MOST_CHARS])
    return [key for key in keys if is_rare_key(*count_memories([[stem] for stem in index_terms(key)]))]


def _record(change: RecordDelivery, asked: Brief, context: Context) -> list[str]:
    """Keep what was given, before it is: it is then never given twice. Says what went wrong, if it did."""
    left_s = _RECORD_TIMEOUT_S
    if asked.answer_by is not None:  # the store takes up nothing once nobody waits
        left_s = max(0.0, min(left_s, (asked.answer_by - context.clock.now_us()) / 1e6))
    try:
        context.ask(_apply(change, context), left_s)
    except (StoreError, RuntimeFault) as error:
        return [f"what was given is not kept: {error}"]
    return []


def _apply(change: RecordDelivery, context: Context) -> Apply:
    given = (b"%s %d" % (part.memory, part.start) for part in change.parts)
    key = idempotency_key("given", context.trace, change.assistant.encode(), change.session.encode(), *given)
    return Apply(changes=(change,), key=key, author="retriever", run=context.trace)


BRIEFING_NOTE = "told"
"""What the record is called; no host has such an event."""


def encode_note(change: RecordDelivery) -> bytes:
    """What is left in the spool of it."""
    return msgspec.json.encode(change)


def decode_note(record: HookRecord) -> RecordDelivery | str:
    """What was told, of the host and at the time that the record says; or why that cannot be read."""
    try:
        change = _decode_note(record.payload)
    except msgspec.DecodeError:
        return "it is no note of what was told"
    return msgspec.structs.replace(
        change,
        assistant=str(escape_surrogates(record.assistant)),
        session=str(escape_surrogates(change.session)),
        scope=str(escape_surrogates(change.scope)),
        parts=tuple(msgspec.structs.replace(part, why=str(escape_surrogates(part.why))) for part in change.parts),
        at=record.at,
    )


def drop_missing(change: RecordDelivery, snapshot: Snapshot) -> RecordDelivery:
    """The change without memories that are not there any more."""
    return msgspec.structs.replace(
        change, parts=tuple(part for part in change.parts if _is_there(part.memory, snapshot))
    )


def _is_there(memory: bytes, snapshot: Snapshot) -> bool:
    try:
        snapshot.rows_of([memory])
    except NoSuchMemory:
        return False
    return True
