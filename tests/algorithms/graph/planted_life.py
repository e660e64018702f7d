"""A made-up life of communities: each snapshot with what was planted in it, under names of the plan's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

KINDS = ("born", "died", "continued", "split", "merged")
TURNOVER = 0.1
"""The share of members that change places at each snapshot, so that about a tenth of every community is new."""
_COMMUNITIES, _SMALLEST, _LARGEST = 40, 20, 80


class Planted(NamedTuple):
    """One event: which names of the snapshot before it concerns, and which of this one."""

    kind: str
    before: frozenset[int]
    after: frozenset[int]


class _Plan:
    """What lives, and the next names."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.live: dict[int, list[int]] = {}
        self.next_name = self.next_row = 0

    def name(self, members: list[int]) -> int:
        self.live[self.next_name] = members
        self.next_name += 1
        return self.next_name - 1

    def new_rows(self, count: int) -> list[int]:
        self.next_row += count
        return list(range(self.next_row - count, self.next_row))

    def born(self) -> Planted:
        size = int(self.rng.integers(_SMALLEST, _LARGEST))
        return Planted("born", frozenset(), frozenset({self.name(self.new_rows(size))}))

    def step(self) -> list[Planted]:
        """Plant: births, deaths by erasure and by dispersal, splits in two or three, mergers of two or three."""
        names = [int(one) for one in self.rng.permutation(list(self.live))]
        told: list[Planted] = []
        for erased in (True, False):
            died = names.pop()
            gone = self.live.pop(died)
            if not erased:
                for row in gone:
                    self.live[int(self.rng.choice(names))].append(row)
            told.append(Planted("died", frozenset({died}), frozenset()))
        for parts in (2, 3):
            source = next(one for one in names if len(self.live[one]) >= parts * 15)
            names.remove(source)
            members = self.rng.permutation(self.live.pop(source)).tolist()
            cuts = [len(members) * part // parts + int(self.rng.integers(-3, 4)) for part in range(1, parts)]
            pieces = [self.name(piece.tolist()) for piece in np.split(np.array(members), cuts)]
            told.append(Planted("split", frozenset({source}), frozenset(pieces)))
        for count in (2, 3):
            sources = [names.pop() for _ in range(count)]
            whole = self.name([row for one in sources for row in self.live.pop(one)])
            told.append(Planted("merged", frozenset(sources), frozenset({whole})))
        for name in names:
            members = self.live[name]
            changed = int(self.rng.integers(0, len(members) // 3 + 1))
            self.live[name] = members + self.new_rows(changed) if len(members) < _LARGEST else members[changed:]
            told.append(Planted("continued", frozenset({name}), frozenset({name})))
        told += [self.born() for _ in range(max(2, _COMMUNITIES - len(self.live)))]
        return told

    def turn_over(self) -> None:
        names = np.repeat(list(self.live), [len(members) for members in self.live.values()])
        rows = np.concatenate([np.array(members) for members in self.live.values()])
        moving = np.flatnonzero(self.rng.random(len(rows)) < TURNOVER)
        rows[moving] = self.rng.permutation(rows[moving])
        self.live = {name: rows[names == name].tolist() for name in self.live}


def planted_life(seed: int, snapshots: int) -> Iterator[tuple[dict[int, NDArray[np.int64]], list[Planted]]]:
    """Yield the communities of each snapshot by name, and what happened since the one before; of the first only births.

    Turnover comes on top of the plan, and stays.
    """
    plan = _Plan(np.random.default_rng(seed))
    told = [plan.born() for _ in range(_COMMUNITIES)]
    for number in range(snapshots):
        if number:
            told = plan.step()
            plan.turn_over()
        yield {name: np.array(members, np.int64) for name, members in plan.live.items()}, told
