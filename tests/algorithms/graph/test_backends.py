"""Every detector keeps the contract; one whose package is missing says so in a sentence."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from mnemic.algorithms.graph.backends import BACKENDS, BackendMissing, Detector, detector
from mnemic.algorithms.retrieval.scan import NATIVE
from tests.contract.communities_contract import CLIQUES, CommunitiesContract, keys

NO_RESEARCH = "it comes with the extra research"


@pytest.mark.skipif(not NATIVE, reason="the native extension is not built")
class TestMosaic(CommunitiesContract):
    name = "mosaic"


@pytest.mark.research
class TestLeidenalg(CommunitiesContract):
    name = "leidenalg"

    @pytest.fixture(scope="class")
    @classmethod
    def backend(cls) -> Detector:
        pytest.importorskip("leidenalg", reason=NO_RESEARCH)
        return detector(cls.name)


@pytest.mark.research
class TestIgraph(CommunitiesContract):
    name = "igraph"

    @pytest.fixture(scope="class")
    @classmethod
    def backend(cls) -> Detector:
        pytest.importorskip("igraph", reason=NO_RESEARCH)
        return detector(cls.name)

    def test_python_s_own_random_numbers_are_left_alone(self, backend: Detector) -> None:
        random.seed(5)
        expected = random.random()
        random.seed(5)
        self.detect(backend, 15, CLIQUES)
        assert random.random() == expected


@pytest.mark.research
class TestNetworkxLouvain(CommunitiesContract):
    name = "networkx-louvain"
    resolution = 1.0
    connected = False

    @pytest.fixture(scope="class")
    @classmethod
    def backend(cls) -> Detector:
        pytest.importorskip("networkx", reason=NO_RESEARCH)
        return detector(cls.name)


def test_every_backend_has_a_suite() -> None:
    suites = {one.name for one in (TestMosaic, TestLeidenalg, TestIgraph, TestNetworkxLouvain)}
    assert suites == set(BACKENDS)


@pytest.mark.parametrize(
    ("name", "package"), [("leidenalg", "leidenalg"), ("igraph", "igraph"), ("networkx-louvain", "networkx")]
)
def test_a_package_that_is_not_there_is_one_sentence(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    edges = np.array([0]), np.array([1]), np.ones(1)
    with pytest.raises(BackendMissing) as refused:
        detector(name).detect(keys(2), *edges, 1.0, 1)
    told = f"The package {package} is not installed; it comes with pip install 'mnemic[research]'."
    assert str(refused.value) == told


def test_there_are_no_other_names_and_no_passes_below_one() -> None:
    with pytest.raises(KeyError, match="louvain"):
        detector("louvain")
    with pytest.raises(ValueError, match="0 iterations"):
        detector("mosaic", 0)
