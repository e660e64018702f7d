"""What communities cost: from nothing beside igraph and leidenalg, brought up to date, over very many boundaries.

The communities bench yields these rows. All is measured on planted graphs of uneven communities and weights; of each
change a part is new structure of the same kind, so that there is as much to be found after it. The process's own time
is counted, so that what else the machine does weighs little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from random import Random

import numpy as np
from numpy.typing import NDArray

from mnemic.algorithms.graph.identity import match
from mnemic.algorithms.graph.mosaic import CommunityGraph, carried_labels
from mnemic.bench.harness.measure import Row, goal, milliseconds, skipped, take_turns
from mnemic.bench.quality.communities.partitions import Ints, PlantedGraph

RESOLUTION = 0.05
"""Of the planted graphs, whose communities are denser than that and the space between them is not."""
NEW_NODES, EDGES_OF_ONE = 50, 15
_PASSES = 2  # of igraph and leidenalg: their own default
_AS_LONG = f"mosaic, {_PASSES} passes"
_FASTER = {"50 new nodes": 20.0, "1 % of edges": 3.0}
"""How many times faster than from nothing an update is to be."""
_LEAST_OF_COLD = 0.99
"""What is to be left of the objective that a run from nothing reaches."""
_MATCH_MS = 100.0
_CLOCK = time.process_time
_SLOW_MS = 10_000.0  # what takes longer is run once


def cold_rows(nodes: int, edges: int, rounds: int, seed: int) -> Iterator[Row]:
    """Detection alone, in turns, each on a graph that it has made before; and what the labels are worth."""
    drawn = PlantedGraph(nodes, edges, seed).graph
    ours = CommunityGraph(_keys(nodes), drawn.sources, drawn.targets, drawn.weights)
    found: dict[str, Ints] = {}
    about = {"what": "from nothing", "nodes": nodes, "edges": ours.edges}

    def keep(arm: str, detect: Callable[[], Ints]) -> Callable[[], None]:
        def run() -> None:
            found[arm] = detect()

        return run

    tasks = {
        "mosaic": lambda: ours.detect(RESOLUTION, seed),
        _AS_LONG: lambda: ours.detect(RESOLUTION, seed, iterations=_PASSES),
    }
    missing = []
    try:
        import igraph
    except ModuleNotFoundError:
        missing = ["igraph", "leidenalg"]
    else:
        theirs = igraph.Graph(nodes, np.stack([drawn.sources, drawn.targets], 1).tolist())
        theirs.es["weight"] = drawn.weights.tolist()
        igraph.set_random_number_generator(Random(seed))
        tasks["competitor: igraph, CPM"] = lambda: np.array(
            theirs.community_leiden("CPM", "weight", resolution=RESOLUTION, n_iterations=_PASSES).membership
        )
        try:
            import leidenalg
        except ModuleNotFoundError:
            missing = ["leidenalg"]
        else:
            model = leidenalg.CPMVertexPartition
            tasks["competitor: leidenalg, CPM"] = lambda: np.array(
                leidenalg.find_partition(
                    theirs, model, weights="weight", resolution_parameter=RESOLUTION, n_iterations=_PASSES, seed=seed
                ).membership
            )
    taken = take_turns(
        {arm: keep(arm, detect) for arm, detect in tasks.items()}, rounds, clock=_CLOCK, slow_ms=_SLOW_MS
    )
    worth = {arm: ours.quality(labels, RESOLUTION) for arm, labels in found.items()}
    for arm, each in taken.items():
        row: Row = about | {"of": arm, "p50_ms": float(np.median(each)), "best_ms": min(each), "n": len(each)}
        row |= {"objective": worth[arm], "of_best": worth[arm] / max(worth.values())}
        if arm == _AS_LONG and "competitor: igraph, CPM" in taken:
            row |= goal("ms", row["p50_ms"], float(np.median(taken["competitor: igraph, CPM"])))
        yield row
    for package in missing:
        yield about | skipped(f"competitor: {package}, CPM", f"{package} is not installed: mnemic[research]")


def update_rows(nodes: int, edges: int, rounds: int, seed: int) -> Iterator[Row]:
    """Each change, made and followed, beside our own run from nothing on the graph as it is then."""
    for change, act in _changes(edges).items():
        life = _Life(nodes, edges, seed)
        making, following, cold, of_cold = [], [], [], []
        for _ in range(rounds):
            making.append(milliseconds(act, life, clock=_CLOCK))
            following.append(milliseconds(life.follow, clock=_CLOCK))
            anew: list[Ints] = []
            cold.append(milliseconds(lambda life=life, anew=anew: anew.append(life.detect()), clock=_CLOCK))
            of_cold.append(life.quality(life.labels) / life.quality(anew[0]))
        spent = float(np.median(following))
        row: Row = {"what": "update", "nodes": nodes, "edges": life.graph.edges, "change": change, "n": rounds}
        row |= {"change_ms": float(np.median(making)), "update_ms": spent, "cold_ms": float(np.median(cold))}
        row |= {"times_faster": row["cold_ms"] / spent, "of_cold_objective": min(of_cold)}
        if change in _FASTER:
            row |= goal("update_ms", spent, row["cold_ms"] / _FASTER[change])
        yield row


def boundary_rows(nodes: int, boundaries: int, seed: int) -> Iterator[Row]:
    """Some new nodes and a hundredth of the edges changed at each boundary: what the updated labels are worth then."""
    life = _Life(nodes, nodes * EDGES_OF_ONE // 2, seed)
    of_cold = []
    for number in range(1, boundaries + 1):
        life.add_nodes(nodes // 1000 + 1)
        life.change_edges(len(life.graph_edges) // 100)
        life.follow()
        if number % max(1, boundaries // 10) == 0:
            of_cold.append(life.quality(life.labels) / life.quality(life.detect()))
    row: Row = {"what": "after boundaries", "boundaries": boundaries, "nodes_at_first": nodes}
    row |= {"nodes": len(life.labels), "of_cold_objective": of_cold[-1], "least_of_cold_objective": min(of_cold)}
    yield row | goal("lost", 1 - min(of_cold), 1 - _LEAST_OF_COLD)


def identity_rows(members: int, communities: int, changed: int, seed: int) -> Iterator[Row]:
    """Ids carried over a boundary at which some communities lost a fifth of their members to others."""
    rng = np.random.default_rng(seed)
    of = rng.permutation(np.arange(members) % communities)
    before = dict(enumerate(_groups(of)))
    moving = np.flatnonzero((of < changed) & (rng.random(members) < 0.2))
    of[moving] = rng.integers(0, communities, len(moving))
    after = _groups(of)
    (taken,) = take_turns({"match": lambda: match(before, after, next_id=communities)}, 5, clock=_CLOCK).values()
    row: Row = {"what": "ids", "members": members, "communities": communities, "changed": changed}
    row |= {"p50_ms": float(np.median(taken)), "best_ms": min(taken), "n": len(taken)}
    yield row | goal("ms", row["p50_ms"], _MATCH_MS)


class _Life:
    """A planted graph that changes, and the labels that followed it."""

    def __init__(self, nodes: int, edges: int, seed: int) -> None:
        self._planted = PlantedGraph(nodes, edges, seed)
        drawn = self._planted.graph
        self._seed, self._rng = seed, np.random.default_rng(seed)
        self.graph = CommunityGraph(_keys(nodes), drawn.sources, drawn.targets, drawn.weights)
        self.graph_edges = np.stack([drawn.sources, drawn.targets], 1)
        self.labels = self.detect()
        self._known = self.graph.keys
        self._changed: list[NDArray[np.uint64]] = []

    def detect(self) -> Ints:
        """From nothing."""
        return self.graph.detect(RESOLUTION, self._seed)

    def quality(self, labels: Ints) -> float:
        """What labels are worth now."""
        return self.graph.quality(labels, RESOLUTION)

    def add_nodes(self, count: int) -> None:
        """New ones, with edges to any."""
        new = self._planted.add_nodes(count)
        self.graph.add_nodes(new.astype(np.uint64))
        self._set(new, count * EDGES_OF_ONE)

    def change_edges(self, count: int) -> None:
        """Half of so many are taken away, and as many drawn anew."""
        chosen = self._rng.choice(len(self.graph_edges), count // 2, replace=False)
        gone = self.graph_edges[chosen].astype(np.uint64)
        self.graph_edges = np.delete(self.graph_edges, chosen, 0)
        self._changed.append(self.graph.set_edges(gone[:, 0], gone[:, 1], np.zeros(len(gone))))
        self._set(np.arange(self.graph.nodes), count - count // 2)

    def follow(self) -> None:
        """Bring the labels up to date with all that changed since."""
        carried = carried_labels(self._known, self.labels, self.graph.keys)
        changed = np.concatenate(self._changed)
        self.labels = self.graph.update(carried, changed, RESOLUTION, self._seed)
        self._known, self._changed = self.graph.keys, []

    def _set(self, nodes: Ints, edges: int) -> None:
        one, other, weights = self._planted.draw(nodes, edges)
        self._changed.append(self.graph.set_edges(one.astype(np.uint64), other.astype(np.uint64), weights))
        self.graph_edges = np.concatenate([self.graph_edges, np.stack([one, other], 1)])


def _changes(edges: int) -> dict[str, Callable[[_Life], None]]:
    return {
        f"{NEW_NODES} new nodes": lambda life: life.add_nodes(NEW_NODES),
        "0.1 % of edges": lambda life: life.change_edges(edges // 1000),
        "1 % of edges": lambda life: life.change_edges(edges // 100),
        "10 % of edges": lambda life: life.change_edges(edges // 10),
    }


def _keys(nodes: int) -> NDArray[np.uint64]:
    return np.arange(nodes, dtype=np.uint64)


def _groups(of: Ints) -> list[Ints]:
    """The members of each community that has any."""
    order = np.argsort(of, kind="stable")
    return [one for one in np.split(order, np.cumsum(np.bincount(of))[:-1]) if len(one)]
