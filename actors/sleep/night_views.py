"""Answers what nights there were, what one changed, and what its stages derived.

Part of the retriever, so that it is answered whoever fills the consolidator's slot. What a forgotten memory says, or
one that is in another scope by now, is not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from mnemic.actors.index.query import scopes_below
from mnemic.actors.kernel.contract import Context, raise_location
from mnemic.actors.kernel.errors import InvalidValue, UnknownNight
from mnemic.actors.kernel.events import to_text
from mnemic.actors.kernel.scope_paths import Scopes, asked_scopes
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.knowledge.facts import MOSTLY, over_clauses, share_over
from mnemic.actors.recall.messages import Memory
from mnemic.actors.sleep.changes import DIGEST_STAGES, PROFILE_STAGE, SourceSpan
from mnemic.actors.sleep.digests import decode_digest
from mnemic.actors.sleep.duplicates import Duplicates, Fingerprints
from mnemic.actors.sleep.messages import (
    DerivedListed,
    DerivedView,
    Digest,
    DigestSentence,
    DigestsListed,
    ListDerived,
    ListDigests,
    ListNights,
    ListProcedures,
    NightChange,
    NightShown,
    NightsListed,
    NightView,
    ProfileEntry,
    ProfileShown,
    ShowNight,
    ShowProfile,
)
from mnemic.actors.sleep.profile import decode_profile
from mnemic.actors.sleep.queries import DerivedRecord, NightRecord
from mnemic.actors.sleep.registry import BUILT_IN_STAGES, MORE_STAGES, find_stage
from mnemic.actors.sleep.stages import Told
from mnemic.actors.sleep.uses import Strengths, Uses

NIGHT_MESSAGES = (ListNights, ShowNight, ListDigests, ListProcedures, ListDerived, ShowProfile)
"""The messages that are handled here."""
NightAnswer = NightsListed | NightShown | DigestsListed | DerivedListed | ProfileShown
"""What they are answered with."""

_SCOPED = (b"session", b"topic", b"project")  # kinds of keys that end with the number of a scope
_STAGES = {
    PROFILE_STAGE: "something that a user says of themselves",
    Fingerprints.name: "hashes of what some memories say",
    Duplicates.name: "some memories that say the same",
    Uses.name: "what a conversation used of what it was given",
    Strengths.name: "how often some memories were of use",
}
"""What items are of that are of no scope."""
_QUOTE_CHARS, _QUOTES = 160, 3
_MOST = 1_000


def answer_nights(message: Any, source: SnapshotSource, context: Context) -> NightAnswer:
    """List nights, show one, or give what they derived.

    Raises:
        UnknownScope, InvalidValue: what was asked for cannot be.
    """
    with source.snapshot() as snapshot:
        if isinstance(message, ListNights):
            _check("k", message.k)
            return NightsListed(nights=tuple(_view(one) for one in snapshot.nights(message.k)))
        if isinstance(message, ShowNight):
            return _show(message, snapshot)
        if isinstance(message, ListProcedures):
            return _derived(message, snapshot)
        if isinstance(message, ShowProfile):
            return _profile(message, snapshot, context.clock.now_us())
        return _digests(message, snapshot, context.clock.now_us())


def _check(name: str, value: int) -> None:
    if not 1 <= value <= _MOST:
        raise InvalidValue(name=name, value=value, why="it is no such number", expected=f"1 to {_MOST}")


def _view(night: NightRecord) -> NightView:
    return NightView(
        id=night.number,
        run=night.run,
        at=night.at,
        reason=night.reason,
        ended_at=night.ended_at,
        why=night.why,
        undone_at=night.undone_at,
        stages=night.stages,
    )


def _last_night(snapshot: Snapshot) -> str:
    """What there is to say to who finds nothing."""
    newest = snapshot.nights(1)
    return "never" if not newest else "stands" if newest[0].undone_at is None else "undone"


def _show(message: ShowNight, snapshot: Snapshot) -> NightShown:
    night = snapshot.night_numbered(message.id)
    if night is None:
        raise UnknownNight(id=message.id, which="")
    _check("k", message.k)
    items = snapshot.derived_at(message.id)
    made = {(one.stage, one.key) for one in items if one.made == message.id}
    before = {(one.stage, one.key): one for one in items if one.gone == message.id}
    changed = [
        one
        for one in items
        if (one.made == message.id or (one.stage, one.key) not in made)
        and (one.sources or ((one.stage, one.key) in before and before[one.stage, one.key].sources))
    ]
    shown = changed[: message.k]
    paths = snapshot.scopes()
    memories = _current_memories((span for one in shown for span in one.sources[:_QUOTES]), snapshot)
    return NightShown(
        night=_view(night),
        changes=tuple(
            NightChange(
                stage=one.stage,
                what=_in_words(one, paths, memories),
                did="ended" if one.made != message.id else "changed" if (one.stage, one.key) in before else "made",
                quotes=_quotes(
                    sorted(one.sources[:_QUOTES], key=lambda span: (span.row, span.start)),
                    _there(one, memories, paths),
                ),
                sources=len(one.sources),
            )
            for one in shown
        ),
        total=len(changed),
    )


def _there(item: DerivedRecord, memories: Mapping[int, Memory], paths: Mapping[int, str]) -> dict[int, Memory]:
    """Pick the memories that an item points to, by row; for an item of a scope those that are in it."""
    found = {span.row: memories[span.row] for span in item.sources if span.row in memories}
    return {row: one for row, one in found.items() if one.scope == paths.get(_scope(item), one.scope)}


def _in_words(item: DerivedRecord, paths: Mapping[int, str], memories: Mapping[int, Memory]) -> str:
    """What an item is of, from its key."""
    kind, *numbers = item.key.decode("ascii", "replace").split(":")
    scope = paths.get(_scope(item))
    within = "" if scope is None else f" in {scope or 'no project'}"
    if kind == "session":
        named = next((memories[one.row].session for one in item.sources if one.row in memories), None)
        return f"{'a conversation' if named is None else f'conversation {named}'}{within}"
    if kind == "topic":
        return f"topic #{numbers[0]}{within}"
    if kind == "project" and scope is not None:
        return f"project {scope}" if scope else "what is in no project"
    return _STAGES.get(item.stage, item.key.decode("ascii", "replace"))


def _digests(message: ListDigests, snapshot: Snapshot, now_us: int) -> DigestsListed:
    _check("k", message.k)
    _check("sentences", message.sentences)
    items = _items_in(find_stage(DIGEST_STAGES[message.of]).name, message.scope, snapshot)
    found = sorted(
        (one for one in digests_of(items, message.sentences, snapshot, now_us) if one.sentences),
        key=lambda one: (-max(said.at for said in one.sentences), one.of),
    )
    return DigestsListed(digests=tuple(found[: message.k]), last_night=_last_night(snapshot))


def _items_in(stage: str, scope: Scopes, snapshot: Snapshot) -> list[DerivedRecord]:
    """What stands of a stage in some scopes, and points anywhere."""
    paths = asked_scopes(scope)
    within = None if paths is None else set(scopes_below(snapshot, paths))
    return [one for one in snapshot.derived(stage) if one.sources and (within is None or _scope(one) in within)]


def digests_of(items: Sequence[DerivedRecord], most: int, snapshot: Snapshot, now_us: int) -> list[Digest]:
    """Digests in words, each with so many of its sentences at most; in the order of the items.

    A sentence of a memory that is forgotten, corrected, or in another scope by now is left out, and so is one that says
    what was replaced; one that says more besides is told with a mark.
    """
    memories = _current_memories((span for one in items for span in one.sources), snapshot)
    replaced = {row: clauses for row, (_, clauses) in over_clauses(sorted(memories), now_us, snapshot)}
    paths = snapshot.scopes()
    found = []
    for item in items:
        scope = paths.get(_scope(item), "")
        told: list[DigestSentence] = []
        for span in item.sources:
            memory = memories.get(span.row)
            if memory is None or memory.scope != scope or len(told) == most:
                continue
            over = share_over((span.start, span.stop), replaced.get(span.row, ()))
            if over < MOSTLY:
                told.append(_sentence(memory, span, replaced=over > 0.0))
        told.sort(key=lambda one: (one.at, one.memory, one.start_byte))
        found.append(
            Digest(
                of=_in_words(item, paths, memories),
                scope=scope,
                memories=decode_digest(item.value).memories,
                night=item.made,
                sentences=tuple(told),
            )
        )
    return found


def _derived(message: ListProcedures, snapshot: Snapshot) -> DerivedListed:
    """Give what a stage derived: in its own words, or else item by item what that points to."""
    _check("k", message.k)
    name = message.stage if isinstance(message, ListDerived) else "procedures"
    if ":" in name:  # whoever may ask may not have a module loaded by its name
        raise InvalidValue(name="a stage", value=name, why="what it derived is not found so", expected="its own name")
    tell, own, is_known = None, name, name in {*BUILT_IN_STAGES, *MORE_STAGES}
    if not is_known and not snapshot.derived_stamps(name):  # likewise
        why = "no night has derived anything by a stage of that name"
        raise InvalidValue(name="a stage", value=name, why=why, expected=f"{', '.join(BUILT_IN_STAGES)}, or another's")
    try:
        stage = find_stage(name)
        tell, own = getattr(stage, "tell", None), stage.name
    except InvalidValue:
        if is_known:
            raise  # one that is not of a package is named by `module:Class`, which nobody here knows
    items, paths = _items_in(own, message.scope, snapshot), snapshot.scopes()
    memories = _current_memories((span for one in items for span in one.sources), snapshot)
    found: list[tuple[float, DerivedView]] = []
    for item in items:
        there = _there(item, memories, paths)
        standing = tuple(one for one in item.sources if one.row in there)
        try:
            told = [Told("", standing)] if tell is None else list(tell(item, there))
        except Exception as error:  # a stranger's may do anything; it is told, without its words
            why = f"it cannot tell what it derived ({type(error).__name__} in {raise_location(error)})"
            raise InvalidValue(name="a stage", value=name, why=why, expected="another one") from error
        for one in told:
            if one.sources and all(span.row in there for span in one.sources):
                view = DerivedView(
                    of=_in_words(item, paths, there),
                    text=one.text,
                    scope=paths.get(_scope(item), ""),
                    night=item.made,
                    memories=tuple(dict.fromkeys(there[span.row].id for span in one.sources)),
                    quotes=_quotes(one.sources, there),
                )
                found.append((one.weight, view))
    found.sort(key=lambda one: -one[0])
    shown = tuple(view for _, view in found[: message.k])
    return DerivedListed(stage=name, derived=shown, last_night=_last_night(snapshot))


def _quotes(sources: Iterable[SourceSpan], memories: Mapping[int, Memory]) -> tuple[str, ...]:
    """Quote how the first stretches begin."""
    quoted = ((memories[span.row], span) for span in sources if span.row in memories)
    return tuple(to_text(_span(one, span) or one.data)[:_QUOTE_CHARS] for one, span in islice(quoted, _QUOTES))


def _profile(message: ShowProfile, snapshot: Snapshot, now_us: int) -> ProfileShown:
    _check("k", message.k)
    asked = asked_scopes(message.scope)
    within = None if asked is None else {snapshot.scopes()[one] for one in scopes_below(snapshot, asked)}
    items = snapshot.derived(PROFILE_STAGE)
    memories = _current_memories((span for one in items for span in one.sources), snapshot)
    replaced = {row: clauses for row, (_, clauses) in over_clauses(sorted(memories), now_us, snapshot)}
    found = []
    for item in items:
        for span in item.sources:  # the newest first
            memory = memories.get(span.row)
            over = share_over((span.start, span.stop), replaced.get(span.row, ()))
            if memory is None or over >= MOSTLY or (within is not None and memory.scope not in within):
                continue
            value = decode_profile(item.value)
            found.append(
                ProfileEntry(
                    memory=memory.id,
                    data=_span(memory, span),
                    start_byte=span.start,
                    at=memory.recorded_at if memory.said_at is None else memory.said_at,
                    first_at=value.first_at,
                    speaker=memory.speaker,
                    conversations=value.conversations,
                    projects=value.projects,
                    scope=memory.scope,
                )
            )
            break
    found.sort(key=lambda one: (-one.projects, -one.conversations, -one.at, one.memory, one.start_byte))
    return ProfileShown(entries=tuple(found[: message.k]), last_night=_last_night(snapshot))


def _sentence(memory: Memory, span: SourceSpan, *, replaced: bool) -> DigestSentence:
    return DigestSentence(
        memory=memory.id,
        data=_span(memory, span),
        start_byte=span.start,
        at=memory.recorded_at if memory.said_at is None else memory.said_at,
        role=memory.role,
        speaker=memory.speaker,
        replaced=replaced,
    )


def _current_memories(spans: Iterable[SourceSpan], snapshot: Snapshot) -> dict[int, Memory]:
    """The memories that are pointed to and neither forgotten nor corrected, by row."""
    rows = sorted({one.row for one in spans})
    loaded = zip(rows, snapshot.load_memories(rows), strict=True)
    return {row: memory for row, memory in loaded if memory.retired_at is None and memory.superseded_by is None}


def _span(memory: Memory, span: SourceSpan) -> bytes:
    return memory.data[span.start : span.stop]


def _scope(item: DerivedRecord) -> int:
    """Number of the scope that an item is of; -1 of one that is of none."""
    kind, _, numbers = item.key.partition(b":")
    scope = numbers.rpartition(b":")[2]
    return int(scope) if kind in _SCOPED and scope.isdigit() else -1
