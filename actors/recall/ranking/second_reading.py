"""The second reading of a recall: its best memories, ordered by the user's own cross-encoder where one is set.

The best twenty are given the places that the cross-encoder says, and each the score that the place had before: so the
scores stay what they were calibrated to be, and what is below stays below.
"""

from __future__ import annotations

import numpy as np

from mnemic.actors.index.hits import excerpt
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.index.windows import Cosines
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import ModelError, RuntimeFault
from mnemic.actors.kernel.events import to_text
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.meaning.messages import Rerank
from mnemic.actors.recall.ranking.stages import Floats, Lifted, Question

READ_AGAIN = 20
"""So many of the best are read again."""
_READ_BYTES = 1024  # of a longer memory, the stretch that answers best: as much as a pair's 256 tokens hold
_TIMEOUT_S = 10.0  # one that hangs must leave time for the rest to answer


def read_again(
    question: Question,
    lifted: Lifted,
    found: Cosines | None,
    index: RecallIndex,
    snapshot: Snapshot,
    context: Context,
    degraded: list[str],
) -> tuple[Lifted, Floats]:
    """Order the best by the cross-encoder; return what is ranked, and what each memory gained or lost, ``(n,)``.

    Args:
        found: what meaning knows; says which stretch of a longer memory answers best.
        degraded: told, in a sentence, why it took no part.
    """
    gained = np.zeros(len(lifted.total))
    best = lifted.order[:READ_AGAIN]
    if not len(best):
        return lifted, gained
    texts = []
    for position, memory in zip(best, snapshot.load_memories(index.columns.row[best].tolist()), strict=True):
        start = -1 if found is None else found.start_of_best(int(position))
        texts.append(to_text(excerpt(memory.data, _READ_BYTES, start, question.stems)[0]))
    try:
        answer = context.ask(Rerank(query=question.asks.query, texts=tuple(texts)), _TIMEOUT_S)
    except (ModelError, RuntimeFault) as error:
        degraded.append(f"rerank: {error} The order is the one without it.")
        return lifted, gained
    ordered = best[np.argsort(-np.array(answer.scores), kind="stable")]
    gained[ordered] = lifted.total[best] - lifted.total[ordered]
    order = np.concatenate([ordered, lifted.order[len(best) :]])
    # What a correction takes over is the difference of the two, which stays.
    return lifted._replace(total=lifted.total + gained, before=lifted.before + gained, order=order), gained
