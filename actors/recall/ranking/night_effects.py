"""What nights add to recalls: strengths of memories by their use, and groups of those that say the same.

Part of `mnemic.actors.recall.recaller`. Taken up is what stood of each stage when it passed its exam last; of one that
is examined, what stands now. What a memory's use adds is never less than 0, and ages count back from the newest use in
the mind: in a mind that nobody uses, nothing fades.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.sleep.effects import RECENT_USES, Trial, decode_groups, decode_weights
from mnemic.actors.sleep.queries import DerivedRecord
from mnemic.algorithms.sleep.activation import base_level, wanted_again

_STATES = 3  # kept: the usual one, and both of a stage that is examined
COPIES = 4
"""So many copies of one text are ranked for themselves: those that fit best."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class _Weights(NamedTuple):
    """Of `n` memories what was derived of their use; a row stands as often as stages weigh it."""

    row: Ints
    """``(n,)``, ascending."""
    weight: Floats
    uses: Ints
    first_at: Ints
    recent: Ints
    """``(n, RECENT_USES)``; -1 for none."""


class _State(NamedTuple):
    """What recalls go by."""

    weights: _Weights
    row: Ints
    """``(m,)``, ascending: memories that are in a group."""
    group: Ints
    """``(m,)``: which."""


class NightEffects:
    """Follows what passed."""

    def __init__(self, index: RecallIndex, use_weight: float, use_decay: float) -> None:
        """Make one.

        Args:
            use_weight: of the log-odds, what a memory that is surely wanted again gains.
            use_decay: the power of its age by which a use fades.
        """
        self._index = index
        self._use_weight, self._use_decay = use_weight, use_decay
        self._states: dict[object, _State] = {}  # the usual one, and two of a stage that is examined
        self._state = _read_state((), ())
        self._placed: tuple[object, object, Ints] = None, None, self._state.row

    def sync(self, snapshot: Snapshot, trial: Trial | None) -> None:
        """Take up what passed by a snapshot; the index is as of it, too."""
        going = {
            stage: (one.effect, one.night if one.passed else 0, one.seq) for stage, one in snapshot.verdicts().items()
        }
        if trial is not None:
            going[trial.stage] = trial.effect, trial.night, 0
        known = snapshot.generation, trial is not None, tuple(going.items())
        if known not in self._states:
            found: dict[str, list[DerivedRecord]] = {"weigh": [], "fold": []}
            for stage, (effect, night, _) in going.items():
                found[effect] += snapshot.derived_after(stage, night) if night else ()
            while len(self._states) >= _STATES:
                self._states.pop(next(iter(self._states)))
            self._states[known] = _read_state(found["weigh"], found["fold"])
        self._state = self._states[known]

    def added(self, positions: Ints, as_of: int | None, *, by_use: bool) -> Floats:
        """What is added to the log-odds of some memories, ``(m,)``.

        Args:
            positions: ``(m,)``: theirs in the index.
            as_of: later uses are unknown.
            by_use: whether uses count, and not only what stages add for good.
        """
        known, gained = self._state.weights, np.zeros(len(positions))
        times = known.recent if as_of is None else known.recent[known.recent <= as_of]
        newest = int(times.max(initial=-1))
        rows = self._index.columns.row[positions]
        place = np.flatnonzero(np.isin(known.row, rows)) if len(known.row) else known.row
        if not len(place):
            return gained
        added = known.weight[place]
        if newest >= 0 and by_use:
            uses, first_at, recent = known.uses[place], known.first_at[place], known.recent[place]
            level = base_level(uses, first_at, recent, newest, self._use_decay)
            added += self._use_weight * wanted_again(level, self._use_decay)
        order = np.argsort(rows)
        np.add.at(gained, order[np.searchsorted(rows, known.row[place], sorter=order)], added)
        return gained

    def group_of(self, as_of: int | None) -> Ints:
        """The group of each memory of the index, ``(n,)``; -1 of one that stands for itself, as all do that replace
        something or are replaced.
        """
        rows, state = self._index.columns.row, self._state
        if self._placed[0] is not rows or self._placed[1] is not state:
            of = np.full(len(rows), -1)
            at = np.searchsorted(rows, state.row)
            here = at < len(rows)
            here[here] = rows[at[here]] == state.row[here]
            scopes = self._index.columns.scope[at[here]]  # what was moved since stands for itself
            of[at[here]] = np.unique(np.stack((state.group[here], scopes)), axis=1, return_inverse=True)[1].ravel()
            self._placed = rows, state, of
        of = self._placed[2]
        linked = np.concatenate(self._index.superseded(as_of))
        if len(linked) and len(state.row):
            of = of.copy()
            of[linked] = -1
        return of


def surplus_copies(
    groups: Ints, visible: NDArray[np.bool_], scores: NDArray[np.floating[Any]], times: Ints
) -> NDArray[np.bool_]:
    """Which visible memories are copies of better ones, ``(n,) bool``: of each group the best `COPIES` are none, and
    the newest is none, which may stand for something that it replaced.

    Args:
        groups: ``(n,)``: of each memory, -1 for none.
        visible: ``(n,)``.
        scores: ``(n,)``.
        times: ``(n,)``, when each was said: of equal ones the newest are better.
    """
    surplus = np.zeros(len(visible), np.bool_)
    own = np.flatnonzero(visible & (groups >= 0))
    sizes = np.bincount(groups[own]) if len(own) else own
    if sizes.max(initial=0) <= COPIES:
        return surplus
    own = own[sizes[groups[own]] > COPIES]
    order = own[np.lexsort((own, ~times[own], -scores[own], groups[own]))]
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    within = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    surplus[order[within >= COPIES]] = True
    newest = own[np.lexsort((own, times[own], groups[own]))]
    surplus[newest[np.flatnonzero(np.diff(groups[newest], append=-1))]] = False
    return surplus


def _read_state(weighing: Sequence[DerivedRecord], folding: Sequence[DerivedRecord]) -> _State:
    groups = [rows for one in folding for rows in decode_groups(one.value, one.sources)]
    row = np.array([one for rows in groups for one in rows], np.int64)
    group = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
    order = np.argsort(row, kind="stable")
    row, first = np.unique(row[order], return_index=True)  # of two groups of two stages the first counts
    return _State(_weights(weighing), row, group[order][first])


def _weights(items: Sequence[DerivedRecord]) -> _Weights:
    found = [
        (span.row, one)
        for item in items
        for span, one in zip(item.sources, decode_weights(item.value, item.sources), strict=True)
    ]
    found.sort(key=lambda one: one[0])
    recent = np.full((len(found), RECENT_USES), -1)
    for place, (_, one) in enumerate(found):
        recent[place, : len(one.recent)] = one.recent
    return _Weights(
        np.array([row for row, _ in found], np.int64),
        np.array([one.weight for _, one in found], np.float64),
        np.array([one.uses for _, one in found], np.int64),
        np.array([one.first_at for _, one in found], np.int64),
        recent,
    )
