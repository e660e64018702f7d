"""The contract of detectors of communities: `tests/algorithms/graph/test_backends.py` runs it for each backend.

It asks nothing of quality: what a detector finds in an easy graph is asked, how well it does in a hard one is the
communities bench's.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.algorithms.graph.backends import Detector, detector

Ints = NDArray[np.int64]
Edges = list[tuple[int, int, float]]

# One law is run for several classes, which is what a contract is for.
laws = settings(max_examples=20, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow])
CLIQUES = [(base + one, base + other, 1.0) for base in (0, 5, 10) for other in range(5) for one in range(other)]
TIED_CLIQUES = [*CLIQUES, (4, 5, 1.0), (9, 10, 1.0), (14, 0, 1.0)]
PLANTED = [0] * 5 + [1] * 5 + [2] * 5


def keys(nodes: int) -> NDArray[np.uint64]:
    return np.arange(nodes, dtype=np.uint64) * np.uint64(2**61 + 1)  # they wrap around: not ascending


def by_smallest_key(labels: list[int], of: NDArray[np.uint64]) -> list[int]:
    number: dict[int, int] = {}
    for row in np.argsort(of).tolist():
        number.setdefault(labels[row], len(number))
    return [number[label] for label in labels]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    nodes = draw(st.integers(0, 12))
    ends = st.integers(0, max(0, nodes - 1))
    edge = st.tuples(ends, ends, st.sampled_from([0.0, 0.25, 0.3, 1.0, 7.5]))
    return nodes, draw(st.lists(edge, max_size=30 if nodes else 0))


class CommunitiesContract:
    """What every detector keeps."""

    name: ClassVar[str]
    resolution: ClassVar[float] = 0.3
    """At which it keeps cliques of five apart that are tied by single edges."""
    connected: ClassVar[bool] = True
    """Whether it promises that communities are connected."""

    @pytest.fixture(scope="class")
    @classmethod
    def backend(cls) -> Detector:
        return detector(cls.name)

    def detect(self, backend: Detector, nodes: int, edges: Edges, seed: int = 1, of: Any = None) -> list[int]:
        one, other, weights = zip(*edges, strict=True) if edges else ((), (), ())
        ends = np.array(one, np.int64), np.array(other, np.int64)
        named = keys(nodes) if of is None else of
        found = backend.detect(named, *ends, np.array(weights, np.float64), self.resolution, seed)
        assert (found.shape, found.dtype) == ((nodes,), np.int64)
        labels: list[int] = found.tolist()
        assert labels == by_smallest_key(labels, named)
        return labels

    def test_cliques_that_single_edges_tie_are_the_communities(self, backend: Detector) -> None:
        assert self.detect(backend, 15, TIED_CLIQUES) == by_smallest_key(PLANTED, keys(15))

    @laws
    @given(graphs(), st.integers(0, 2**64 - 1), st.randoms(use_true_random=False))
    def test_the_order_of_nodes_and_edges_and_their_direction_change_no_label(
        self, backend: Detector, graph: tuple[int, Edges], seed: int, random: Any
    ) -> None:
        nodes, edges = graph
        plain = self.detect(backend, nodes, edges, seed)
        order = random.sample(range(nodes), nodes)
        place = {row: at for at, row in enumerate(order)}
        again = [(place[other], place[one], weight) for one, other, weight in random.sample(edges, len(edges))]
        shuffled = self.detect(backend, nodes, again, seed, keys(nodes)[np.array(order, np.int64)])
        assert [plain[row] for row in order] == shuffled

    @laws
    @given(graphs())
    def test_communities_are_connected_or_at_least_within_one_component(
        self, backend: Detector, graph: tuple[int, Edges]
    ) -> None:
        """A node without edges is alone for that reason, whatever loops it has."""
        nodes, edges = graph
        labels = self.detect(backend, nodes, edges)
        part = list(range(nodes))
        for one, other, weight in edges:
            if weight > 0 and (not self.connected or labels[one] == labels[other]):
                part = [part[one] if each == part[other] else each for each in part]
        assert len(set(labels)) == len(set(zip(labels, part, strict=True)))

    def test_parallel_edges_add_up_and_loops_and_zeros_change_nothing(self, backend: Detector) -> None:
        halves = [(*ends, 0.5) for *ends, _ in TIED_CLIQUES]
        more = [*halves, *halves, (3, 3, 100.0), (2, 12, 0.0)]
        assert self.detect(backend, 15, more) == self.detect(backend, 15, TIED_CLIQUES)

    def test_nothing_and_one_node_and_nodes_without_edges(self, backend: Detector) -> None:
        assert self.detect(backend, 0, []) == []
        assert self.detect(backend, 1, []) == [0]
        assert self.detect(backend, 1, [(0, 0, 3.0)]) == [0]
        assert sorted(self.detect(backend, 3, [(0, 1, 0.0)])) == [0, 1, 2]

    def test_what_is_disconnected_stays_so_and_the_isolated_are_alone(self, backend: Detector) -> None:
        found = self.detect(backend, 17, CLIQUES)
        assert found == by_smallest_key([*PLANTED, 3, 4], keys(17))

    @pytest.mark.parametrize(
        ("edge", "why"),
        [
            ((0, 1, -0.5), "edge 1, from 0 to 1, cannot be used: its weight is -0.5"),
            ((0, 1, float("nan")), "edge 1, from 0 to 1, cannot be used: its weight is nan"),
            ((0, 1, float("inf")), "edge 1, from 0 to 1, cannot be used: its weight is inf"),
            ((0, 3, 1.0), "edge 1, from 0 to 3, cannot be used: there are 3 nodes"),
            ((-1, 2, 1.0), "edge 1, from -1 to 2, cannot be used: there are 3 nodes"),
        ],
    )
    def test_an_edge_that_cannot_be_used_is_named(
        self, backend: Detector, edge: tuple[int, int, float], why: str
    ) -> None:
        with pytest.raises(ValueError, match=why):
            self.detect(backend, 3, [(0, 2, 1.0), edge])

    def test_what_is_no_graph_is_refused(self, backend: Detector) -> None:
        ends, weights = np.zeros(1, np.int64), np.ones(1)
        with pytest.raises(ValueError, match="the key 7 is there twice"):
            backend.detect(np.array([7, 3, 7], np.uint64), ends, ends, weights, 1.0, 1)
        with pytest.raises(ValueError, match="there are 1 sources, 2 targets and 1 weights"):
            backend.detect(keys(2), ends, np.zeros(2, np.int64), weights, 1.0, 1)
        for resolution in (0.0, -1.0, float("nan"), float("inf")):
            with pytest.raises(ValueError, match="the resolution is"):
                backend.detect(keys(2), ends, ends, weights, resolution, 1)
