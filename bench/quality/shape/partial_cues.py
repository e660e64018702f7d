"""Patterns that are partly wrong: is the memory that was meant found all the same? Beside plain columns.

Memories are drawn, and of each four roles that it has, whose fillers together no more than `_MOST_ALIKE` memories have.
Then one or two of the four are told wrong (another filler of the role, drawn as often as memories have it), left out,
told nearly (a day or an hour beside) or misspelt (one letter missing, doubled, swapped or another). What was meant is
found where a memory that truly has all four is among the first ten. Where more than ten have all that was told right,
nothing tells it from the others: those are counted apart.

Beside it counts of matching columns, as any table gives them, with the very same nearness: how many cues each memory
fits, a near one by its nearness and a misspelt name by its letters; of equals the newest.
"""

from __future__ import annotations

import string
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mnemic.actors.shape.messages import Shape, Shaped
from mnemic.actors.shape.queries import MOST_SHIFT
from mnemic.bench.harness.homes import MIND_NAME
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.statistics import mean_interval, paired_test
from mnemic.hd.algebra import default_algebra
from mnemic.hd.encoders import RecordEncoder, match_kind
from mnemic.hd.letters import SpellingEncoder
from mnemic.hd.space import Space
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader

GOAL_ONE_WRONG = 0.95
_CUES, _MOST_ALIKE, _K = 4, 3, 10
_DRAWN = 300
_ATTEMPTS = 40
_LEFT_OUT = ("size",)  # nobody remembers how many words it had
_FORMS = ("all right", "one wrong", "two wrong", "one left out", "one near", "one misspelt", "one misspelt, one wrong")
_SHORTEST = 4
"""Letters of a name that is misspelt; of a shorter one too little is left."""
_BASELINES = ("count of columns, as typed", "count of columns, with the same nearness")


class _Table(NamedTuple):
    ids: list[bytes]
    """Of each memory, the oldest first."""
    fillers: list[dict[str, frozenset[str]]]
    """What each has, by role."""
    having: dict[tuple[str, str], frozenset[int]]
    """Which have a filler of a role."""
    space: Space
    """Of the mind."""


class _Question(NamedTuple):
    pattern: dict[str, str]
    meant: frozenset[bytes]
    tellable: bool
    """Whether no more than the first ten memories have all of it that is right."""


def cue_rows(home: Any, of: str, actors: Supervisor, seed: int) -> Iterator[Row]:
    """How often the memory that was meant is among the first ten, for each form of error and each way of asking.

    Args:
        home: the folder of the home that the actors serve.
        of: what the mind is made of.
    """
    table = _read(home)
    rng = np.random.default_rng(seed)
    columns = _Columns(table)
    truths = _draw(table, rng)
    for form in _FORMS:
        asked = [one for one in (_err(table, columns, truth, form, rng) for truth in truths) if one is not None]
        if not asked:
            continue
        found: dict[str, list[bool]] = defaultdict(list)
        for question in asked:
            shaped = actors.ask(Shape(pattern=question.pattern, k=_K, observe=False))
            assert isinstance(shaped, Shaped)
            found["shape"].append(any(hit.id in question.meant for hit in shaped.hits))
            for name, near in zip(_BASELINES, (False, True), strict=True):
                best = columns.best(question.pattern, near=near)
                found[name].append(any(table.ids[place] in question.meant for place in best))
        for name, right in found.items():
            low, high = mean_interval(np.array(right, np.float64))
            row: Row = {"what": f"cues: {form}", "of": of, "by": name, "questions": len(asked)}
            row |= {"any@10": float(np.mean(right)), "any@10_low": low, "any@10_high": high}
            these = np.array([one.tellable for one in asked])
            row |= {"tellable": int(these.sum()), "any@10_of_these": float(np.array(right)[these].mean())}
            if name == "shape" and form == "one wrong":
                row |= {"goal_any@10": GOAL_ONE_WRONG, "met": row["any@10_of_these"] >= GOAL_ONE_WRONG}
            if name != "shape":
                both = (np.array(found[one], np.float64) for one in ("shape", name))
                row["shape_minus_this"], row["p"] = paired_test(*both, seed=1, rounds=4000)
            yield row


def _read(home: Any) -> _Table:
    folder, keys = open_mind(home, MIND_NAME)
    reader = open_reader(folder.store, keys)
    try:
        with reader.snapshot() as snapshot:
            block, row = snapshot.records("episode", 0), snapshot.space()  # in the order in which they were bound
            in_order = np.argsort(block.row, kind="stable")
            assert row is not None
            numbers, roles = snapshot.filler_roles(0)
            names = {one.number: one.name.lower() for one in snapshot.named_fillers(numbers.tolist())}
            ids = snapshot.ids_of(block.row[in_order].tolist())
    finally:
        reader.close()
    role_of = dict(zip(numbers.tolist(), roles, strict=True))
    parts = np.split(block.terms // (MOST_SHIFT + 1), block.ends[:-1])
    fillers, having = [], defaultdict(set)
    for place, part in enumerate(parts[one] for one in in_order.tolist()):
        own: dict[str, set[str]] = defaultdict(set)
        for number in part.tolist():
            own[role_of[number]].add(names[number])
            having[role_of[number], names[number]].add(place)
        fillers.append({role: frozenset(each) for role, each in own.items()})
    space = Space(seed=keys.seed, dimensions=row.dimensions, roles=row.roles)
    return _Table(list(ids), fillers, {pair: frozenset(each) for pair, each in having.items()}, space)


def _draw(table: _Table, rng: np.random.Generator) -> list[dict[str, str]]:
    """Four cues of some memories, which few others have together."""
    drawn: list[dict[str, str]] = []
    for place in rng.permutation(len(table.ids))[: 4 * _DRAWN].tolist():
        roles = [role for role in sorted(table.fillers[place]) if role not in _LEFT_OUT]
        if len(roles) < _CUES or len(drawn) == _DRAWN:
            continue
        for _ in range(_ATTEMPTS):
            chosen = rng.choice(roles, _CUES, replace=False).tolist()
            cues = {role: str(rng.choice(sorted(table.fillers[place][role]))) for role in chosen}
            if len(_meant(table, cues)) <= _MOST_ALIKE:
                drawn.append(cues)
                break
    return drawn


def _meant(table: _Table, cues: dict[str, str]) -> frozenset[int]:
    first, *rest = (table.having[pair] for pair in cues.items())
    return first.intersection(*rest)


def _err(
    table: _Table, columns: _Columns, truth: dict[str, str], form: str, rng: np.random.Generator
) -> _Question | None:
    """A question of a form; ``None`` where the cues allow none."""
    pattern, roles, also = dict(truth), rng.permutation(sorted(truth)).tolist(), set[str]()
    for error in form.split(", ") if "misspelt" in form else [form]:
        count = 2 if error == "two wrong" else 1
        kinds = {"one near": columns.beside, "one misspelt": _misspelt, "one left out": lambda *_: ""}
        act = kinds.get(error, columns.wrong)
        for _ in range(count if error != "all right" else 0):
            for role in list(roles):
                told = act(role, truth[role], rng)
                if told is not None:
                    pattern[role] = told
                    roles.remove(role)
                    also |= {role} if error in ("one near", "one misspelt") else set()
                    break
            else:
                return None
    meant = frozenset(table.ids[place] for place in _meant(table, truth))
    right = {role: filler for role, filler in truth.items() if pattern[role] == filler or role in also}
    tellable = bool(right) and len(_meant(table, right)) <= _K
    return _Question({role: filler for role, filler in pattern.items() if filler}, meant, tellable)


def _misspelt(role: str, name: str, rng: np.random.Generator) -> str | None:
    if match_kind(role) != "exact" or len(name) < _SHORTEST:
        return None
    at = int(rng.integers(1, len(name) - 1))
    letter = str(rng.choice(list(string.ascii_lowercase)))
    edits = (
        name[:at] + name[at + 1 :],
        name[:at] + name[at] + name[at:],
        name[:at] + name[at + 1] + name[at] + name[at + 2 :],
        name[:at] + letter + name[at + 1 :],
    )
    told = str(rng.choice(edits))
    return None if told == name or role in ("kind", "outcome") else told


class _Columns:
    """What any table of columns tells: which memories have which fillers, and how near fillers are to each other."""

    def __init__(self, table: _Table) -> None:
        self._table = table
        self._encoders = RecordEncoder(table.space)
        self._spelling = SpellingEncoder(table.space, default_algebra())
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for (role, name), having in table.having.items():
            counts[role][name] = len(having)
        self._names = {role: sorted(each) for role, each in counts.items()}
        self._shares = {role: np.array([each[name] for name in sorted(each)], float) for role, each in counts.items()}
        self._codes = {
            role: self._spelling.encode(names) for role, names in self._names.items() if match_kind(role) == "exact"
        }

    def wrong(self, role: str, name: str, rng: np.random.Generator) -> str | None:
        """Another filler of a role."""
        names, shares = self._names[role], self._shares[role].copy()
        shares[names.index(name)] = 0.0
        return str(rng.choice(names, p=shares / shares.sum())) if shares.any() else None

    def beside(self, role: str, name: str, rng: np.random.Generator) -> str | None:
        """A day or an hour beside it."""
        step = int(rng.choice([-1, 1]))
        if role == "hour":
            return str((int(name) + step) % 24)
        return str(np.datetime64(name) + step) if role == "date" else None

    def best(self, pattern: dict[str, str], *, near: bool) -> list[int]:
        """The memories that fit most cues, the newest of equals first."""
        fit = np.zeros(len(self._table.ids))
        for role, name in pattern.items():
            own = np.zeros(len(fit))
            for other, alike in self._like(role, name) if near else [(name, 1.0)]:
                places = list(self._table.having.get((role, other), ()))
                own[places] = np.maximum(own[places], alike)
            fit += own
        order: list[int] = np.lexsort((-np.arange(len(fit)), -np.round(fit, 6)))[:_K].tolist()
        return order

    def _like(self, role: str, name: str) -> Sequence[tuple[str, float]]:
        names = self._names[role]
        if match_kind(role) == "near":
            alike = self._encoders.similarities(role, names, name)
        elif name in names:
            return [(name, 1.0)]
        else:
            alike = self._spelling.similarities(self._codes[role], name)
        return [(names[place], float(alike[place])) for place in np.flatnonzero(alike > 0).tolist()]
