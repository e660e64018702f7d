"""Marks the newest of several hits that are about one thing.

Below `mnemic.actors.recall.recaller`. About one thing are hits of which one replaces another, since somebody said so or
a statement of it stands for one of the other's, and hits whose statements contradict each other: what is kept of them
(`mnemic.actors.recall.ranking.replaced`), and nothing that is only likely.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import msgspec

from mnemic.actors.recall.messages import FactRef, Hit


def mark_newest(hits: Sequence[Hit], about: Container[frozenset[bytes]] | None = None) -> list[Hit]:
    """The same hits; of those that are about one thing the newest says so.

    That is the one that no other of them replaces; of several the one said last, and none where that is not known.

    Args:
        about: pairs of ids of memories whose statements count, as `Replacements.about` has them; all where absent.
    """
    given = {hit.id: hit for hit in hits}
    successors = {hit.id: {one for one in _successors(hit, about) if one in given} for hit in hits}
    group = {id: {id} for id in given}
    for id in given:
        against = _counted(id, given[id].contradicts, about)
        for other in successors[id] | {one for one in against if one in given}:
            joined = group[id] | group[other]
            group.update(dict.fromkeys(joined, joined))
    newest = set()
    for members in {frozenset(one) for one in group.values() if len(one) > 1}:
        current = sorted((one for one in members if not successors[one]), key=lambda one: given[one].said_at or 0)
        times = [given[one].said_at for one in current]
        if len(times) == 1 or (None not in times and len(times) > 1 and times[-1] != times[-2]):
            newest.add(current[-1])
    return [msgspec.structs.replace(hit, newest=True) if hit.id in newest else hit for hit in hits]


def _successors(hit: Hit, about: Container[frozenset[bytes]] | None) -> set[bytes]:
    """What replaces a hit, or one of its statements."""
    replaced_by = set() if hit.superseded_by is None else {hit.superseded_by}
    return replaced_by | _counted(hit.id, hit.replaced, about)


def _counted(id: bytes, refs: Sequence[FactRef], about: Container[frozenset[bytes]] | None) -> set[bytes]:
    return {one.memory for one in refs if about is None or frozenset((id, one.memory)) in about}
