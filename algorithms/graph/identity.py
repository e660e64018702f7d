"""The identity of communities: which community of one boundary is which of the boundary before, and what happened.

Above it stands whatever stores communities and their lineage; below it stand
`mnemic.algorithms.graph.assignment` and NumPy.

How far two communities are the same is the Jaccard index, what they share over what either holds, of the rows that
both boundaries hold. A plain sum of what is shared would let a few strays of a large community weigh more than the
whole of a small one; a ratio counts each community once. Rows that came or went count for neither side: a community
that grows by what is new, or loses what was erased, has not become another; members that move make it so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.algorithms.graph.assignment import assign

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LEAST_SCORE = 0.1
"""What shares less is never the same community. Without it, a community whose few members all go into a half of a large
one would give that half its id. Of ten equal communities that become one, one still keeps its id."""
LEAST_PART = 0.25
"""Nor is what makes up less of both, all rows counted: the last members of one that was erased do not give its id to
what they join."""
MOST = 0.5
"""An id is merged into a community that gets more than this share of its weight, and a community was split from an id
that more than this share of its own weight comes from. So each has at most one such origin or end."""
_SCALE = 1 << 32  # scores as whole numbers, so that totals that are equal are equal to the last bit


class Event(msgspec.Struct, frozen=True):
    """What happened to one id between two boundaries.

    Every id of either boundary is told of by at least one event: its own, or as one of another's `others`.
    """

    kind: Literal["born", "died", "continued", "split", "merged"]
    """``born``: most of its weight came from no one id. ``died``: most of its weight went into no one community.
    ``continued``: it is on both sides, without a split or merger of its own. ``split``: the others came out of it.
    ``merged``: the others went into it."""
    id: int
    """Whose event it is."""
    others: tuple[int, ...] = ()
    """Of ``split`` the ids of the other parts, of ``merged`` those of the others that went into it; ascending."""


class Matched(NamedTuple):
    """The ids of the communities after a boundary."""

    ids: Ints
    """``(m,) int64``: of each community, in the order they were given in."""
    scores: Floats
    """``(m,) float64``: the Jaccard index with that id before, from `LEAST_SCORE` to 1; 0 of a new id."""
    next_id: int
    """The least id that was never given; hand it to the next `match`."""
    events: tuple[Event, ...]
    """What happened, by id; of one id a split stands before a merger."""


class _Overlap(NamedTuple):
    """Two partitions held against each other; communities by number, before by id and after by smallest row."""

    before: Ints  # (p,) of each pair that shares a row
    after: Ints  # (p,)
    shared: Floats  # (p,) weight
    score: Floats  # (p,) Jaccard index over the rows that both hold
    weight_before: Floats  # (b,) of each community, all rows
    weight_after: Floats  # (m,)


class _Side(NamedTuple):
    """One partition, its rows ascending."""

    rows: Ints
    of: Ints  # the number of the community of each
    weights: Floats
    sizes: Ints  # of each community


def match(
    before: Mapping[int, Ints], after: Sequence[Ints], weights: Floats | None = None, *, next_id: int = 0
) -> Matched:
    """Give each community the id of the one before that it is, or a new one.

    The sum of the scores is the greatest that any matching has, each score taken to 2⁻³³. Where several have it, the
    choice hangs on ids and smallest members alone: neither the order of `after` nor that of members changes an id.
    New ids are the next numbers, in the order of the smallest members.

    Args:
        before: of each id its members, ``(k,) int64`` row numbers, each in one community; ids are 0 or more.
        after: of each community its members, ``(k,) int64``, one or more, each in one community.
        weights: ``(n,) float64``: what each row weighs, by its number, more than 0; 1 each where it is ``None``.
        next_id: the `Matched.next_id` of the boundary before, so that the id of what died long ago is not given again.

    Raises:
        ValueError: a row is in two communities or has no weight, a weight is not above 0 and finite, a community of
            `after` is empty, an id or row is negative.
    """
    known = sorted(before)
    if known and known[0] < 0:
        raise ValueError(f"an id is {known[0]}; ids are 0 or more")
    if any(not len(one) for one in after):
        raise ValueError("a community after the boundary has no members")
    old = _side([before[one] for one in known], weights, "before")
    new, order = _by_smallest_row(_side(after, weights, "after"))
    overlap = _overlap(old, new)
    partner = _matching(overlap, len(known), len(after))

    ids = np.full(len(after), -1, np.int64)
    numbered = np.array(known, np.int64)
    ids[partner[partner >= 0]] = numbered[partner >= 0]
    fresh = np.flatnonzero(ids < 0)
    start = max(next_id, known[-1] + 1 if known else 0)
    ids[fresh] = start + np.arange(len(fresh))
    scores = np.zeros(len(after), np.float64)
    own = partner[overlap.before] == overlap.after
    scores[overlap.after[own]] = overlap.score[own]
    events = tuple(_events(overlap, numbered, ids, partner))
    number = np.argsort(order)
    return Matched(ids[number], scores[number], start + len(fresh), events)


def _side(communities: Sequence[Ints], weights: Floats | None, when: str) -> _Side:
    sizes = np.array([len(one) for one in communities], np.int64)
    rows = np.concatenate(communities) if communities else np.empty(0, np.int64)
    if rows.dtype.kind not in "iu":
        raise ValueError(f"the members {when} are row numbers; these are {rows.dtype}")
    of = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(rows, kind="stable")
    rows, of = rows[order].astype(np.int64), of[order]
    if twice := rows[1:][rows[1:] == rows[:-1]].tolist():
        raise ValueError(f"row {twice[0]} is twice in the communities {when}")
    if len(rows) and rows[0] < 0:
        raise ValueError(f"a row is {rows[0]}; rows are 0 or more")
    if weights is None:
        return _Side(rows, of, np.ones(len(rows)), sizes)
    if len(rows) and rows[-1] >= len(weights):
        raise ValueError(f"row {rows[-1]} has no weight; there are {len(weights)}")
    weighed = weights[rows].astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(weighed) & (weighed > 0)))
    if len(wrong):
        raise ValueError(f"row {rows[wrong[0]]} weighs {weighed[wrong[0]]}; weights are finite and above 0")
    return _Side(rows, of, weighed, sizes)


def _by_smallest_row(side: _Side) -> tuple[_Side, Ints]:
    """The same with communities numbered by their smallest rows, and which each was; none is empty."""
    first = np.empty(len(side.sizes), np.int64)
    first[side.of[::-1]] = side.rows[::-1]  # rows ascend, and the last one written stays
    order = np.argsort(first)
    number = np.argsort(order)
    return side._replace(of=number[side.of], sizes=side.sizes[order]), order


def _overlap(old: _Side, new: _Side) -> _Overlap:
    at = np.minimum(np.searchsorted(old.rows, new.rows), max(0, len(old.rows) - 1))
    held = old.rows[at] == new.rows if len(old.rows) else np.zeros(len(new.rows), bool)
    was, is_now, weights = old.of[at[held]] if len(old.rows) else at[held], new.of[held], new.weights[held]
    # Sums add one row after the other, by row number: the order of members changes no bit of them.
    pairs, of = np.unique(was * max(1, len(new.sizes)) + is_now, return_inverse=True)
    shared = _sums(of, weights, len(pairs))
    left, joined = np.divmod(pairs, max(1, len(new.sizes)))
    held_before = _sums(was, weights, len(old.sizes))
    held_after = _sums(is_now, weights, len(new.sizes))
    score = np.minimum(1.0, shared / (held_before[left] + held_after[joined] - shared))
    weight_before = _sums(old.of, old.weights, len(old.sizes))
    weight_after = _sums(new.of, new.weights, len(new.sizes))
    return _Overlap(left, joined, shared, score, weight_before, weight_after)


def _sums(of: Ints, weights: Floats, count: int) -> Floats:
    """What each of some groups weighs, added one after the other."""
    found: Floats = np.bincount(of, weights, count).astype(np.float64, copy=False)
    return found


def _matching(overlap: _Overlap, communities_before: int, communities_after: int) -> Ints:
    """For each community before the one after that it is matched with, or -1; see `match`."""
    partner = np.full(communities_before, -1, np.int64)
    lighter = np.minimum(overlap.weight_before[overlap.before], overlap.weight_after[overlap.after])
    may_be = (overlap.score >= LEAST_SCORE) & (overlap.shared >= LEAST_PART * lighter)
    left, joined = overlap.before[may_be], overlap.after[may_be]
    score = np.rint(overlap.score[may_be] * _SCALE).astype(np.int64)
    while len(score):
        # What scores more than the best other choices of its two ends together is in every optimal matching: with
        # these taken, most boundaries leave only what split or merged.
        certain = score > _best_other(left, score, communities_before) + _best_other(joined, score, communities_after)
        if not certain.any():
            break
        partner[left[certain]] = joined[certain]
        gone_before, gone_after = np.zeros(communities_before, bool), np.zeros(communities_after, bool)
        gone_before[left[certain]] = gone_after[joined[certain]] = True
        stays = ~gone_before[left] & ~gone_after[joined]
        left, joined, score = left[stays], joined[stays], score[stays]
    for edges in _components(left, joined):
        rows, row = np.unique(left[edges], return_inverse=True)
        columns, column = np.unique(joined[edges], return_inverse=True)
        scores = np.zeros((len(rows), len(columns)), np.int64)
        scores[row, column] = score[edges]
        if len(rows) <= len(columns):
            chosen_rows, chosen_columns = np.arange(len(rows)), assign(scores)
        else:
            chosen_rows, chosen_columns = assign(scores.T), np.arange(len(columns))
        real = scores[chosen_rows, chosen_columns] > 0
        partner[rows[chosen_rows[real]]] = columns[chosen_columns[real]]
    return partner


def _best_other(ends: Ints, score: Ints, count: int) -> Ints:
    """For each edge the best score of another edge of the same end; 0 where there is none."""
    order = np.lexsort((-score, ends))
    best, second = np.zeros(count, np.int64), np.zeros(count, np.int64)
    heads = np.flatnonzero(np.diff(ends[order], prepend=-1))
    best[ends[order[heads]]] = score[order[heads]]
    following = heads + 1
    following = following[following < len(order)]
    following = following[ends[order[following]] == ends[order[following - 1]]]
    second[ends[order[following]]] = score[order[following]]
    is_best = np.zeros(len(ends), bool)
    is_best[order[heads]] = True
    return np.where(is_best, second[ends], best[ends])


def _components(left: Ints, joined: Ints) -> Iterator[Ints]:
    """The edges of each connected component of a bipartite graph, by its lowest left end."""
    edges_of_left: dict[int, list[int]] = {}
    edges_of_right: dict[int, list[int]] = {}
    ends = list(zip(left.tolist(), joined.tolist(), strict=True))
    for edge, (one, other) in enumerate(ends):
        edges_of_left.setdefault(one, []).append(edge)
        edges_of_right.setdefault(other, []).append(edge)
    seen: set[int] = set()
    for start in sorted(edges_of_left):
        if start in seen:
            continue
        seen.add(start)
        found, waiting = [], [start]
        while waiting:
            for edge in edges_of_left[waiting.pop()]:
                found.append(edge)
                for back in edges_of_right.pop(ends[edge][1], ()):
                    if ends[back][0] not in seen:
                        seen.add(ends[back][0])
                        waiting.append(ends[back][0])
        yield np.array(found, np.int64)


def _events(overlap: _Overlap, known: Ints, ids: Ints, partner: Ints) -> Iterator[Event]:
    own = partner[overlap.before] == overlap.after
    went = (overlap.shared / overlap.weight_before[overlap.before] > MOST) & ~own
    came = (overlap.shared / overlap.weight_after[overlap.after] > MOST) & ~own
    into, parts = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for pair in np.flatnonzero(went | came).tolist():
        source, target = int(known[overlap.before[pair]]), int(ids[overlap.after[pair]])
        if went[pair]:
            into[target].add(source)
        if came[pair]:
            parts[source].add(target)
    before, after = set(known.tolist()), set(ids.tolist())
    told = set().union(*into.values(), *parts.values())
    for one in sorted(before | after):
        if one in parts:
            yield Event("split", one, tuple(sorted(parts[one])))
        if one in into:
            yield Event("merged", one, tuple(sorted(into[one])))
        if one not in parts and one not in into:
            if one in before and one in after:
                yield Event("continued", one)
            elif one not in told:
                yield Event("born" if one in after else "died", one)
