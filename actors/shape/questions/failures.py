"""Says, after a call of a tool that failed, what helped when it failed like this before. Told unasked, and so seldom.

The call that failed is not bound yet, nor perhaps kept: its host tells it. Which earlier failures are like it, and
what helped, is found as `mnemic shape --here` finds it.
"""

from __future__ import annotations

from typing import NamedTuple

from mnemic.actors.brief.messages import Brief, FailedCall, Quote
from mnemic.actors.kernel.events import to_text
from mnemic.actors.log.queries import Columns
from mnemic.actors.recall.messages import Memory
from mnemic.actors.shape.features import call_outcome
from mnemic.actors.shape.fillers import ShapeSearch
from mnemic.actors.shape.questions.situations import Fix, StepOrder, alike_failures, fixes
from mnemic.algorithms.steps.fixes import DoneStep
from mnemic.algorithms.steps.steps import line_span, parse_step
from mnemic.hd.encoders import canonical

_CALL_BYTES = 2048
"""So much of a call, and of what it answered, is read: an assistant waits, and recalls do."""
LEAST_PROBABLE = 0.5
"""What helps less probably is not told."""


class FailureHint(NamedTuple):
    """What helped when it failed like this before."""

    quote: Quote
    """The call that helped."""
    times: int
    """How often it failed like this before, as far as it is known what came of it."""
    fix: Fix
    """How often that helped, of how often it was tried."""


def failure_hint(asked: Brief, failed: FailedCall, looking: ShapeSearch, columns: Columns) -> FailureHint | None:
    """What helped before; ``None`` where nothing did that is like it, or it was told in this session already."""
    call, result = failed.call[:_CALL_BYTES], failed.result
    if len(result) > _CALL_BYTES:  # as a result is read that is bound: what ended it stands last
        result = result[: _CALL_BYTES // 2] + b"\n" + result[-_CALL_BYTES // 2 :]
    step = parse_step(failed.tool, call.decode("utf-8", "replace"), failed.files)
    done = call_outcome(failed.tool, step, "failed", result.decode("utf-8", "replace"))
    if done.error is None:
        return None
    names = frozenset(one.lower() for one in done.error.names)
    told = DoneStep(done.action, done.target, canonical("tool", done.tool), done.outcome, names)
    found, known = fixes(looking, StepOrder(looking, columns), alike_failures(looking, told))
    if not found or found[0].probability < LEAST_PROBABLE:
        return None
    (memory,) = looking.snapshot.load_memories([int(looking.index.records["step"].row[found[0].place])])
    if memory.id in looking.snapshot.delivered_spans(asked.assistant, asked.session):
        return None
    return FailureHint(_quote(memory), known, found[0])


def _quote(memory: Memory) -> Quote:
    """A call as it is quoted: of a shell's the line that it was given, of others how they begin."""
    return Quote.of(memory, *line_span(memory.tool or "", to_text(memory.data)))
