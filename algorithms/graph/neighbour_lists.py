"""The nearest others of every memory, kept up to date as memories come, go and move, and the edges that follow.

Whatever came, went and moved, the lists end up equal to those that `mnemic.algorithms.graph.neighbours.code_neighbours`
finds among what is there: a new memory's list is asked for once, and the same pass tells whose lists it belongs into; a
memory that goes is taken out of the lists that hold it, and those that were full are asked for anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mnemic.algorithms.graph.edges import Edges
from mnemic.algorithms.graph.neighbours import Codes, Floats, Groups, Ints, code_neighbours

_ROWS_A_PASS = 1024  # bounds are read anew for each pass, so that few of many new rows are offered in vain
_EDGES_AT_ONCE = 1 << 16


class _Table(NamedTuple):
    """One row for each memory, by row number."""

    rows: Ints
    codes: Codes
    scales: Floats
    groups: Groups
    neighbours: Ints  # row numbers, -1 behind the last one
    cosines: Floats
    pending: NDArray[np.bool_]  # whose list is to be asked for
    changed: NDArray[np.bool_]  # whose list is another than when that was last told


class NeighbourLists:
    """The `k` nearest of each memory within its group. Memories are known by row numbers, ascending, with gaps.

    Appending, removing and moving only note what is to be done; `update` does it, as much at a time as the caller
    wants. Until it returns 0 the lists of some rows are short or lack what is new; never do they hold what is gone or
    of another group. One thread at a time.
    """

    def __init__(self, dimensions: int, k: int, threads: int = 1) -> None:
        """Empty lists.

        Args:
            dimensions: values of a row of codes.
            k: the length of a list, 1 or more.
            threads: the most that share the work of one `update`.

        Raises:
            ValueError: `k` is below 1.
        """
        if k < 1:
            raise ValueError(f"k is {k}; it must be 1 or more")
        self.k = k
        self._threads = threads
        self._room = self._table = _Table(
            np.empty(0, np.int64),
            np.empty((0, dimensions), np.int8),
            np.empty(0, np.float32),
            np.empty(0, np.int32),
            np.empty((0, k), np.int64),
            np.empty((0, k), np.float32),
            np.empty(0, np.bool_),
            np.empty(0, np.bool_),
        )

    @classmethod
    def restore(
        cls,
        rows: Ints,
        codes: Codes,
        scales: Floats,
        groups: Groups,
        neighbours: Ints,
        cosines: Floats,
        pending: Ints | None = None,
        threads: int = 1,
    ) -> Self:
        """Take up lists that were saved, without computing them again; none counts as changed.

        Saved lists are believed, but for entries that are no row of the same group: they are taken out as if they had
        been removed or moved.

        Args:
            rows, codes, scales, groups: as for `append`.
            neighbours: ``(n, k) int64``: row numbers, -1 behind the last one.
            cosines: ``(n, k) float32``, 0 behind the last one.
            pending: the rows that `pending` named when the lists were saved.

        Raises:
            ValueError: as for `append`, or the shapes of the lists are others, or a row has no place in them.
        """
        if neighbours.ndim != 2 or neighbours.shape != cosines.shape or len(neighbours) != len(rows):
            raise ValueError(f"lists {neighbours.shape} and {cosines.shape} are not of {len(rows)} rows")
        lists = cls(codes.shape[-1], neighbours.shape[1], threads)
        lists.append(rows, codes, scales, groups)
        table = lists._table
        table.neighbours[:], table.cosines[:] = neighbours, cosines
        table.pending[:] = False if pending is None else np.isin(rows, pending)
        table.changed[:] = False
        if len(rows):
            at = np.minimum(np.searchsorted(rows, neighbours), len(rows) - 1)
            lists._take_out((rows[at] != neighbours) | (groups[at] != groups[:, None]))
        return lists

    @property
    def rows(self) -> Ints:
        """``(n,)``: the rows that are there, ascending. Not to be changed, as are the other arrays."""
        return self._table.rows

    @property
    def groups(self) -> Groups:
        """``(n,) int32``: the group of each."""
        return self._table.groups

    @property
    def codes(self) -> Codes:
        """``(n, d) int8``: the codes of each."""
        return self._table.codes

    @property
    def scales(self) -> Floats:
        """``(n,) float32``: the scale of each one's codes."""
        return self._table.scales

    @property
    def neighbours(self) -> Ints:
        """``(n, k)``: row numbers, the nearest first, then the lower row; -1 behind the last one."""
        return self._table.neighbours

    @property
    def cosines(self) -> Floats:
        """``(n, k)``: with each of them; 0 behind the last one."""
        return self._table.cosines

    @property
    def pending(self) -> Ints:
        """The rows whose lists `update` has yet to ask for, ascending."""
        return self._table.rows[self._table.pending]

    def append(self, rows: Ints, codes: Codes, scales: Floats, groups: Groups) -> None:
        """Have further rows; their arrays are copied. Rows below the last one that is there cost a copy of all.

        Args:
            rows: ``(m,) int64``, ascending, 0 or more, none of them there.
            codes: ``(m, d) int8``, none of them -128.
            scales: ``(m,) float32``, 0 to 1.
            groups: ``(m,) int32``, 0 or more.

        Raises:
            ValueError: The shapes or dtypes are others, or a value is.
        """
        table, m = self._table, len(rows)
        if rows.shape != (m,) or codes.shape != (m, table.codes.shape[1]) or not scales.shape == groups.shape == (m,):
            raise ValueError(f"{codes.shape}, {scales.shape} and {groups.shape} are not {m} rows, scales and groups")
        dtypes = [array.dtype for array in (rows, codes, scales, groups)]
        if dtypes != [array.dtype for array in table[:4]]:
            raise ValueError(f"rows, codes, scales and groups are {dtypes}")
        if (rows[1:] <= rows[:-1]).any() or (rows < 0).any() or np.isin(rows, table.rows).any():
            raise ValueError("rows must ascend from 0 or more, and none of them be there already")
        if (codes == -128).any() or not ((scales >= 0) & (scales <= 1)).all() or (groups < 0).any():
            raise ValueError("a code is -128, a scale is not within 0 to 1, or a group is negative")
        size = len(table.rows)
        if size + m > len(self._room.rows):
            self._room = _Table._make(_widened(array, max(m, size // 4)) for array in table)
        self._table = _Table._make(array[: size + m] for array in self._room)
        new = _Table._make(array[size:] for array in self._table)
        new.rows[:], new.codes[:], new.scales[:], new.groups[:] = rows, codes, scales, groups
        new.neighbours[:], new.cosines[:], new.pending[:], new.changed[:] = -1, 0, True, True
        if size and m and rows[0] < table.rows[-1]:
            order = np.argsort(self._table.rows)
            self._room = self._table = _Table._make(array[order] for array in self._table)

    def remove(self, rows: Ints) -> None:
        """Take rows away with all that is kept of them, at the cost of a copy of the rest; those not there are passed
        over.
        """
        gone = np.isin(self._table.rows, rows)
        if gone.any():
            taken = self._table.rows[gone]
            self._room = self._table = _Table._make(array[~gone] for array in self._table)
            self._take_out(np.isin(self._table.neighbours, taken))

    def move(self, rows: Ints, groups: Groups) -> None:
        """Put rows into other groups, ``(m,) int32`` and 0 or more; rows that are not there are passed over.

        Raises:
            ValueError: The shapes disagree, a group is negative, or a row stands twice.
        """
        if rows.shape != groups.shape or (groups < 0).any() or len(np.unique(rows)) != len(rows):
            raise ValueError("rows to move must be different ones, each with a group from 0")
        table = self._table
        there = np.isin(rows, table.rows)
        at, wanted = np.searchsorted(table.rows, rows[there]), groups[there]
        others = table.groups[at] != wanted
        moved = at[others]
        if len(moved):
            table.groups[moved] = wanted[others]
            gone = np.isin(table.neighbours, table.rows[moved])
            gone[moved] = True
            self._take_out(gone)
            table.pending[moved] = True

    def update(self, limit_rows: int) -> int:
        """Ask for the lists of up to so many rows, the lowest first, and put these rows into the lists of others.

        Returns:
            How many rows are left to be asked for; at 0 all lists are what a computation from nothing gives.
        """
        waiting = np.flatnonzero(self._table.pending)
        for start in range(0, min(max(limit_rows, 0), len(waiting)), _ROWS_A_PASS):
            self._ask(waiting[start : min(start + _ROWS_A_PASS, limit_rows)])
        return int(np.count_nonzero(self._table.pending))

    def take_changed(self) -> Ints:
        """The rows whose lists are others than when this was last asked, ascending; removed rows are not among them."""
        changed = self._table.rows[self._table.changed]
        self._table.changed[:] = False
        return changed

    def _ask(self, at: Ints) -> None:
        """Compute the lists at some positions, and offer these rows to all others."""
        table = self._table
        last, least = table.neighbours[:, -1], table.cosines[:, -1]
        # What ties with the last of a full list comes before it where its row is lower.
        bounds = np.where(last < table.rows[at[0]], least, np.nextafter(least, np.float32(-np.inf)))
        bounds[last < 0] = -np.inf
        bounds[table.pending] = np.inf
        found = code_neighbours(table.codes, table.scales, table.groups, at, self.k, bounds, self._threads)
        named = np.where(found.neighbours < 0, np.int64(-1), table.rows[found.neighbours])
        self._put(at, named, found.cosines)
        table.pending[at] = False
        if len(found.hit_rows):
            self._offer(found.hit_rows, table.rows[at[found.hit_queries]], found.hit_cosines)

    def _offer(self, hit: Ints, offered: Ints, cosines: Floats) -> None:
        """Merge rows into the lists at some positions, which may hold them already."""
        table, at = self._table, np.unique(hit)
        owners = np.concatenate([np.repeat(at, self.k), hit])
        others = np.concatenate([table.neighbours[at].ravel(), offered])
        values = np.concatenate([table.cosines[at].ravel(), cosines])
        order = np.lexsort((others, -values, owners))
        order = order[others[order] >= 0]
        owners, others, values = owners[order], others[order], values[order]
        # A row that stands twice has the same cosine both times, so the two are neighbours here.
        single = np.ones(len(owners), np.bool_)
        single[1:] = (owners[1:] != owners[:-1]) | (others[1:] != others[:-1])
        owners, others, values = owners[single], others[single], values[single]
        place = np.arange(len(owners)) - np.searchsorted(owners, owners)
        kept = place < self.k
        line, place = np.searchsorted(at, owners[kept]), place[kept]
        merged, beside = np.full((len(at), self.k), -1, np.int64), np.zeros((len(at), self.k), np.float32)
        merged[line, place], beside[line, place] = others[kept], values[kept]
        self._put(at, merged, beside)

    def _put(self, at: Ints, neighbours: Ints, cosines: Floats) -> None:
        table = self._table
        differs = (table.neighbours[at] != neighbours) | (table.cosines[at] != cosines)
        table.changed[at] |= differs.any(axis=1)
        table.neighbours[at], table.cosines[at] = neighbours, cosines

    def _take_out(self, gone: NDArray[np.bool_]) -> None:
        """Take entries ``(n, k)`` out of the lists. One that was not full had all there are, and stays right."""
        table = self._table
        gone &= table.neighbours >= 0
        at = np.flatnonzero(gone.any(axis=1))
        table.changed[at] = True
        table.pending[at] |= table.neighbours[at, -1] >= 0
        order = np.argsort(gone[at], axis=1, kind="stable")
        behind = np.take_along_axis(gone[at], order, axis=1)
        kept = np.take_along_axis(table.neighbours[at], order, axis=1)
        table.neighbours[at] = np.where(behind, np.int64(-1), kept)
        table.cosines[at] = np.where(behind, np.float32(0), np.take_along_axis(table.cosines[at], order, axis=1))


def mutual_edges(lists: NeighbourLists, group: int, floor: float) -> Edges:
    """Join the rows of a group that are in each other's lists with a cosine above a floor, such as
    `mnemic.algorithms.graph.neighbours.background_floor` gives.

    Returns:
        Edges by row numbers; strength ``(cosine - floor) / (1 - floor)``, above 0 and at most 1.

    Raises:
        ValueError: The floor is not from 0 to below 1.
    """
    if not 0 <= floor < 1:
        raise ValueError(f"the floor is {floor}; it must be from 0 to below 1")
    own_rows = np.flatnonzero(lists.groups == group)
    rows, neighbours = lists.rows[own_rows], lists.neighbours[own_rows]
    cosines = lists.cosines[own_rows].astype(np.float64)
    line, column = np.nonzero((cosines > floor) & (neighbours > rows[:, None]))  # of a pair the end of the lower row
    own, other = rows[line], neighbours[line, column]
    at = np.searchsorted(rows, other)
    # In parts: each edge looks through a whole list.
    parts = [slice(start, start + _EDGES_AT_ONCE) for start in range(0, len(line), _EDGES_AT_ONCE)]
    back = [(neighbours[at[part]] == own[part, None]).any(axis=1) for part in parts]
    kept = np.flatnonzero(np.concatenate([np.empty(0, np.bool_), *back]))
    strengths = np.minimum((cosines[line[kept], column[kept]] - floor) / (1 - floor), 1.0)
    sources, targets = own[kept], other[kept]
    order = np.lexsort((targets, sources))
    return Edges(sources[order], targets[order], strengths[order])


def _widened(array: NDArray[Any], more: int) -> NDArray[Any]:
    """A copy with room for more rows."""
    wide = np.empty((len(array) + more, *array.shape[1:]), array.dtype)
    wide[: len(array)] = array
    return wide
