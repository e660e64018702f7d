"""Decides what labels a kept memory should have: whose words it holds, and of which kind they are.

A transcript tells more of a text than the hook that reported it first, so what it says stands
(`mnemic.actors.capture.transcripts`). What was kept before memories had labels is looked at once, by its words alone:
`mend_labels` takes a bounded step of that for nights (`mnemic.actors.sleep.asking_stages.Labels`). Texts stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from mnemic.actors.capture.changes import MemoryLabels, Relabel
from mnemic.actors.capture.kept_days import with_local_day
from mnemic.actors.capture.messages import LabelsMended, MendLabels
from mnemic.actors.capture.prepare import apply_changes
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.events import COMMITS, author_of, to_text
from mnemic.actors.kernel.message import idempotency_key
from mnemic.actors.kernel.ports import EchoTest
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource
from mnemic.actors.log.changes import AddMemory
from mnemic.actors.log.queries import KeptText
from mnemic.actors.sleep.changes import BeginNight
from mnemic.algorithms.text.voices import voice_of

_HOSTS = ("claude-code", "codex", "cursor", "gemini-cli", "opencode")
"""Assistants whose hosts put texts of their own into the user's place."""
_TOLD_KINDS = ("turn", "injected", "note", "decision")
_STEPS = ("tool_call", "tool_result")
STEP_MEMORIES = 5_000
"""At most so many are looked at in a step: each that changes any has indexes in memory loaded anew."""
_STEP_BYTES = 4 << 20


def mended_labels(kept: KeptText, is_own_echo: EchoTest) -> MemoryLabels:
    """The labels that a memory of before labels should have, by its words and by who kept it; pure."""
    labels = kept.labels
    if labels.author not in (None, author_of(labels.role)):  # somebody said whose it is
        return labels
    if labels.kind in _STEPS and is_own_echo(labels.kind, kept.tool, to_text(kept.text), to_text(kept.call)):
        return msgspec.structs.replace(labels, kind="injected", role="system", author="unknown")
    if labels.role == "user" and kept.assistant == COMMITS:  # its name says whose; only the repository says who is who
        return msgspec.structs.replace(labels, author="other")
    if (labels.kind, labels.role) == ("turn", "user") and kept.assistant in _HOSTS:
        voice = voice_of(to_text(kept.text))
        if voice == "host":
            return msgspec.structs.replace(labels, kind="injected", role="system", author="unknown")
        if voice == "unclear":
            return msgspec.structs.replace(labels, author="unknown")
        if kept.is_subagent:
            return msgspec.structs.replace(labels, author="assistant")
    return msgspec.structs.replace(labels, author=author_of(labels.role))


def told_labels(kept: MemoryLabels, told: AddMemory) -> MemoryLabels:
    """The labels of a memory that a transcript tells again; pure."""
    if kept.kind not in _TOLD_KINDS or told.kind not in _TOLD_KINDS:
        return kept
    if (kept.kind, kept.role, kept.author or author_of(kept.role)) == (told.kind, told.role, told.author):
        return kept
    return msgspec.structs.replace(kept, kind=told.kind, role=told.role, author=told.author)


def relabel_told(told: Iterable[Change], snapshot: Snapshot) -> list[Change]:
    """What gives memories that are kept already the labels by which a transcript tells them."""
    added = [one for one in told if isinstance(one, AddMemory) and one.kind in _TOLD_KINDS]
    kept = snapshot.labels_of([name for one in added for name in (one.identity, one.formerly) if name is not None])
    labels = {}
    for one in added:
        found = kept.get(one.identity) or (kept.get(one.formerly) if one.formerly else None)
        if one.author == "owner" and one.formerly and (one.identity == one.formerly or one.identity not in kept):
            continue  # an earlier version kept the host's words with the owner's, in one text
        if found is not None and (better := told_labels(found, one)) != found:
            labels[found.memory] = better
    return [Relabel(labels=tuple(labels.values()))] if labels else []


def mend_labels(message: MendLabels, source: SnapshotSource, is_own_echo: EchoTest, context: Context) -> LabelsMended:
    """Give the next memories of before labels their labels; their night takes that back.

    Raises:
        StoreError: nothing was changed.
    """
    with source.snapshot() as snapshot:
        kept = snapshot.unlabelled(STEP_MEMORIES, _STEP_BYTES, again=message.again)
        left = snapshot.unlabelled_count(again=message.again) - len(kept)
    if not kept:
        return LabelsMended(changed=0, pending=0)
    labels = tuple(
        with_local_day(mended_labels(one, is_own_echo), one.assistant, one.recorded_at, context.clock) for one in kept
    )
    changed = sum(map(_differs, kept, labels))
    begun: tuple[Change, ...] = (BeginNight(run=message.run, reason=message.reason),) if changed else ()
    key = idempotency_key("labels", message.run, *(one.memory for one in labels))
    apply_changes((*begun, Relabel(labels=labels)), key, context, run=message.run)
    return LabelsMended(changed=changed, pending=left)


def _differs(kept: KeptText, labels: MemoryLabels) -> bool:
    """Say whether labels say something else than what their absence stood for."""
    was = msgspec.structs.replace(kept.labels, author=author_of(kept.labels.role), utc_offset_min=labels.utc_offset_min)
    return was != labels


def taken_back(relabelled: Sequence[tuple[Relabel, Relabel]], now: Mapping[bytes, MemoryLabels]) -> list[Relabel]:
    """Return what takes back relabelling, newest first, in parts; pure.

    What somebody said of a memory since stands. Each memory keeps an author, so that no night does it again unasked.

    Args:
        relabelled: the labels that were given, and those before.
        now: the labels that memories have.
    """
    labels: dict[bytes, MemoryLabels] = {}
    for given, had in relabelled:
        before = {one.memory: one for one in had.labels}
        for one in given.labels:
            if labels.get(one.memory, now.get(one.memory)) == one and one.memory in before:
                labels[one.memory] = before[one.memory]
    given_back = [msgspec.structs.replace(one, author=one.author or author_of(one.role)) for one in labels.values()]
    return [
        Relabel(labels=tuple(given_back[start : start + STEP_MEMORIES]))
        for start in range(0, len(given_back), STEP_MEMORIES)
    ]
