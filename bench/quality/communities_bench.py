"""The communities bench: what is found beside leidenalg, igraph and networkx, how fast, and how well it lasts.

Rows: on graphs with known communities the agreement of each detector with them, those of the constant Potts model all
at the resolution that `mnemic.algorithms.graph.resolution` chose by ours; then what
`mnemic.bench.quality.communities.speed` measures. A package that is missing is a row that says so.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from mnemic.algorithms.graph.backends import BackendMissing, detector
from mnemic.algorithms.graph.mosaic import CommunityGraph
from mnemic.algorithms.graph.resolution import choose_resolution
from mnemic.bench.harness.measure import Row, goal, skipped
from mnemic.bench.harness.plot import Line, draw_lines
from mnemic.bench.quality.communities.mind import memory_rows
from mnemic.bench.quality.communities.partitions import (
    Ints,
    Labelled,
    adjusted_rand_index,
    lfr_graph,
    normalised_mutual_information,
)
from mnemic.bench.quality.communities.size import mind_lines, mind_rows
from mnemic.bench.quality.communities.speed import boundary_rows, cold_rows, identity_rows, update_rows

Part = Literal["lfr", "karate", "cold", "update", "boundaries", "identity", "memories", "mind"]
MIXING = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
WORSE_AT_MOST = 0.01
"""How much less normalised mutual information than the best other detector of the same model is let pass."""
_GRAPHS = 5
_TRIES = 40  # seeds, at some of which networkx finds no graph
_MODULARITY = "competitor: leidenalg, modularity"
_LOUVAIN = "competitor: networkx, Louvain"
_OTHER_CPM = ("competitor: leidenalg, CPM", "competitor: igraph, CPM")
_ARMS = {"mosaic": "mosaic", "leidenalg": _OTHER_CPM[0], "igraph": _OTHER_CPM[1], "networkx-louvain": _LOUVAIN}


class _Found(NamedTuple):
    """What each detector found in one graph."""

    resolution: float
    labels: dict[str, Ints]
    missing: dict[str, str]  # and why


def run(
    *,
    parts: tuple[Part, ...] = get_args(Part),
    quick: bool = False,
    data: Path | None = None,
    plot: Path | None = None,
    seed: int = 0,
) -> Iterator[Row]:
    """Run the parts.

    Args:
        data: a file of LoCoMo's, whose conversations' communities are looked at; without one they are left out.
        quick: smaller graphs: of LFR those of 1,000 nodes alone, and a tenth of the large one.
        plot: an SVG file to draw into: the agreement of each detector on LFR graphs of the largest size, by mixing; of
            the part ``mind`` alone, seconds by size.
        seed: of what is drawn.

    Raises:
        OSError: the plot cannot be written.
    """
    nodes, edges = (10_000, 74_500) if quick else (100_000, 745_000)
    rows: dict[Part, Callable[[], Iterator[Row]]] = {
        "lfr": lambda: lfr_rows((1_000,) if quick else (1_000, 5_000, 10_000), _GRAPHS, seed),
        "karate": lambda: karate_rows(seed),
        "cold": lambda: cold_rows(nodes, edges, 3, seed),
        "update": lambda: update_rows(nodes, edges, 3, seed),
        "boundaries": lambda: boundary_rows(1_000 if quick else 10_000, 100, seed),
        "identity": lambda: identity_rows(nodes, nodes // 20, 50, seed),
        "memories": lambda: _memory_rows(data, seed),
        "mind": lambda: mind_rows((300,) if quick else (1_000, 10_000, 100_000), (1, 16), seed),
    }
    curves: dict[str, dict[float, float]] = {}
    minds: list[Row] = []
    for part in parts:
        for row in rows[part]():
            yield row
            if row["what"] == "LFR" and "nmi" in row:  # later rows are of larger graphs
                curves.setdefault(row["of"].removeprefix("competitor: "), {})[row["mixing"]] = row["nmi"]
            elif row["what"] == "mind":
                minds.append(row)
    if plot is not None and curves:
        lines = [Line(arm, sorted(points.items())) for arm, points in curves.items()]
        draw_lines(
            plot, "normalised mutual information", "mixing: share of edges between communities", lines, share=True
        )
    elif plot is not None and minds:
        draw_lines(plot, "seconds", "memories", mind_lines(minds))


def _memory_rows(data: Path | None, seed: int) -> Iterator[Row]:
    if data is None:
        yield {"what": "what belongs together"} | skipped("all", "no file of LoCoMo's is given: --data FILE")
        return
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        yield from memory_rows(data, Path(folder), seed)


def lfr_rows(sizes: tuple[int, ...], graphs: int, seed: int, mixing: tuple[float, ...] | None = None) -> Iterator[Row]:
    """The mean agreement of each detector, by size and mixing, and over all."""
    all_scores: dict[str, list[float]] = {}
    for nodes in sizes:
        for share in MIXING if mixing is None else mixing:
            drawn = list(_lfr_graphs(nodes, share, graphs, seed))
            if not drawn:
                yield {"what": "LFR", "nodes": nodes} | skipped("all", "networkx is not installed: mnemic[research]")
                return
            about = {"what": "LFR", "nodes": nodes, "mixing": share, "graphs": len(drawn)}
            found = [_find(one, seed) for one in drawn]
            for row in _agreement_rows(drawn, found):
                yield about | row
                if "nmi" in row:
                    all_scores.setdefault(row["of"], []).append(row["nmi"])
    means = {arm: float(np.mean(scores)) for arm, scores in all_scores.items()}
    for arm, mean in means.items():
        yield {"what": "LFR, all", "of": arm, "nmi": mean, "mosaic_minus_this_nmi": means["mosaic"] - mean}


def _lfr_graphs(nodes: int, mixing: float, graphs: int, seed: int) -> Iterator[Labelled]:
    made = 0
    for attempt in range(_TRIES):
        try:
            yield lfr_graph(nodes, mixing, seed * _TRIES + attempt)
        except ModuleNotFoundError:
            return
        except ValueError:
            continue
        made += 1
        if made == graphs:
            return


def karate_rows(seed: int) -> Iterator[Row]:
    """Zachary's club, and the two it broke into; no package at hand ships the football league."""
    try:
        import networkx
    except ModuleNotFoundError:
        yield {"what": "karate club"} | skipped("all", "networkx is not installed: mnemic[research]")
        return
    club = networkx.karate_club_graph()
    ends = np.array(club.edges, np.int64)
    sides = np.array([club.nodes[one]["club"] == "Officer" for one in club]).astype(np.int64)
    drawn = Labelled(ends[:, 0].copy(), ends[:, 1].copy(), np.ones(len(ends)), sides)
    for row in _agreement_rows([drawn], [_find(drawn, seed)]):
        yield {"what": "karate club"} | row


def _find(graph: Labelled, seed: int) -> _Found:
    keys = np.arange(graph.nodes, dtype=np.uint64)
    given = graph.sources, graph.targets, graph.weights
    ours = CommunityGraph(keys, *given)
    resolution = choose_resolution(lambda tried: ours.detect(tried, seed), graph.nodes, *given).resolution
    labels: dict[str, Ints] = {}
    missing: dict[str, str] = {}
    for backend, arm in _ARMS.items():
        try:
            found = detector(backend).detect(keys, *given, 1.0 if arm == _LOUVAIN else resolution, seed)
        except BackendMissing as error:
            missing[arm] = str(error)
        else:
            labels[arm] = found
    if _ARMS["leidenalg"] in missing:
        missing[_MODULARITY] = missing[_ARMS["leidenalg"]]
    else:
        labels[_MODULARITY] = _leidenalg_modularity(graph, seed)
    return _Found(resolution, labels, missing)


def _leidenalg_modularity(graph: Labelled, seed: int) -> Ints:
    import igraph
    import leidenalg

    made = igraph.Graph(graph.nodes, np.stack([graph.sources, graph.targets], 1).tolist())
    model, weights = leidenalg.ModularityVertexPartition, graph.weights.tolist()
    return np.array(leidenalg.find_partition(made, model, weights=weights, n_iterations=-1, seed=seed).membership)


def _agreement_rows(graphs: list[Labelled], found: list[_Found]) -> Iterator[Row]:
    scores: dict[str, float] = {}
    rows = []
    for arm in found[0].labels:
        pairs = [(graph.labels, one.labels[arm]) for graph, one in zip(graphs, found, strict=True)]
        scores[arm] = float(np.mean([normalised_mutual_information(*pair) for pair in pairs]))
        row = {"of": arm, "nmi": scores[arm], "ari": float(np.mean([adjusted_rand_index(*pair) for pair in pairs]))}
        row["communities"] = float(np.mean([len(np.unique(labels)) for _, labels in pairs]))
        if arm in _ARMS.values() and arm != _LOUVAIN:
            row["resolution"] = float(np.mean([one.resolution for one in found]))
        rows.append(row)
    best = max((scores[arm] for arm in scores if arm in _OTHER_CPM), default=0.0)
    rows[0] |= {"planted": float(np.mean([len(np.unique(graph.labels)) for graph in graphs]))}
    if best:
        rows[0] |= {"best_other_cpm_nmi": best} | goal("nmi_below_best", best - scores["mosaic"], WORSE_AT_MOST)
    yield from rows
    yield from (skipped(arm, why) for arm, why in found[0].missing.items())
