"""Makes hits of what a recall ranked and folded, within its budget: the last of its stages.

Below `mnemic.actors.recall.recaller`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from mnemic.actors.index.folding import Folding
from mnemic.actors.index.hits import BYTES_PER_TOKEN, excerpt, fitting_length, make_hit, sent_bytes
from mnemic.actors.index.newest import mark_newest
from mnemic.actors.index.query import asked_scope_numbers
from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.recall.messages import Hit
from mnemic.actors.recall.ranking.replaced import read_replacements
from mnemic.actors.recall.ranking.stages import Question, Ranking, Rendered

_LEAST_BEST_BYTES = 96  # of the best, a line's words are given rather than a worse one whole
_LEAST_EXCERPT_BYTES = 256  # a shorter stretch of a longer text tells too little: that text is left out


class Renderer:
    """Makes hits."""

    def __init__(self, index: RecallIndex, folding: Folding, hit_bytes: int) -> None:
        self._index, self._folding, self._hit_bytes = index, folding, hit_bytes

    def render(
        self,
        question: Question,
        snapshot: Snapshot,
        groups: Iterator[tuple[int, list[int]]],
        ranking: Ranking,
        used: int,
    ) -> Rendered:
        """Make hits.

        The best is cut to what is left of the budget, and where that is too little, no worse one takes its place.

        Args:
            groups: positions, best first, each with those that say the same.
            used: bytes of what is beside.
        """
        recall, k = question.recall, question.k
        hits, no_room, about = list[Hit](), "", set[frozenset[bytes]]()
        left_out = 0
        most = None if recall.budget_tokens is None else BYTES_PER_TOKEN * recall.budget_tokens
        within = asked_scope_numbers(recall.scope, snapshot)
        hit_bytes = min(self._hit_bytes, recall.hit_bytes or self._hit_bytes)
        place_of = {int(one): place for place, one in enumerate(ranking.order)}
        numbered = iter(enumerate(groups if most is None else islice(groups, k)))
        while some := list(islice(numbered, k - len(hits))):
            rows = self._index.columns.row[[position for _, (position, _) in some]].tolist()
            memories, linked = snapshot.load_memories(rows), self._index.links(rows, snapshot, recall.as_of, within)
            sought = [] if recall.as_of is not None else rows
            kept = read_replacements(sought, question.when.at_us, snapshot, question.stems)
            about |= kept.about
            for (number, (position, same)), row, memory, links in zip(some, rows, memories, linked, strict=True):
                if no_room:
                    left_out += 1
                    continue
                start = -1 if ranking.found is None else ranking.found.start_of_best(position)
                part, offset = excerpt(memory.data, hit_bytes, start, question.stems)
                why, score = ranking.explain(place_of[position])
                named = self._folding.name(same, snapshot)
                facts = kept.replaced.get(row, ()), kept.contradicts.get(row, ())
                hit = make_hit(memory, part, offset, why, links, score, named, *facts)
                size = sent_bytes(hit)
                if most is not None and (excess := used + size - most) > 0:
                    room = fitting_length(part, len(memory.data), excess)
                    least = min(hit_bytes, _LEAST_EXCERPT_BYTES if number else _LEAST_BEST_BYTES)
                    if room < least:
                        left_out += 1
                        no_room = (
                            "" if number else _told_no_room(min(most + excess, most + least - room), most + excess)
                        )
                        continue
                    part, offset = excerpt(memory.data, room, start, question.stems)
                    hit = msgspec.structs.replace(hit, data=part, start_byte=offset)
                    size = sent_bytes(hit)
                used += size
                hits.append(hit)
        used_tokens = -(-used // BYTES_PER_TOKEN) if hits else 0
        return Rendered(mark_newest(hits, about), left_out, used_tokens, [no_room] if no_room else [])


def _told_no_room(needed: int, whole: int) -> str:
    """Say how many tokens an excerpt of the best memory takes, and the whole of what would be shown."""
    return (
        f"budget: The best memory has no room. An excerpt of it takes {-(-needed // BYTES_PER_TOKEN)} tokens,"
        f" all that is shown of it {-(-whole // BYTES_PER_TOKEN)}."
    )
