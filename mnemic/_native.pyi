"""The native extension, built from native/python; absent where there was no cargo.

Every function raises ValueError where ``MNEMIC_INSTRUCTIONS`` names an instruction set that is none, or that this
processor has not got.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

class Encoder:
    """A BERT-family model, ready to encode; any thread may use it."""

    def __init__(
        self,
        tensors: Mapping[str, NDArray[np.float32]],
        *,
        vocabulary: int,
        hidden: int,
        layers: int,
        heads: int,
        intermediate: int,
        positions: int,
        epsilon: float,
        activation: str,
        pooling: str,
        int8: bool,
    ) -> None:
        """Lay out a model's weights, the GIL released. Nothing of `tensors` is kept.

        Args:
            tensors: a ``dict`` by the names, and of the sizes, of `mnemic.algorithms.text.bert.expected_shapes`,
                ``float32``, C-contiguous.
            vocabulary, hidden, layers, heads, intermediate, positions, epsilon, activation, pooling: as in
                `mnemic.algorithms.text.bert.BertConfig`.
            int8: whether weights and activations are quantised to bytes, rather than computed in float32.

        Raises:
            TypeError: A tensor has another type.
            ValueError: The shape is none, or a tensor is absent, of another size, not contiguous or not finite.
        """

    def encode(self, ids: NDArray[np.int64], lengths: NDArray[np.int64], threads: int) -> NDArray[np.float32]:
        """Embed windows, the GIL released.

        Args:
            ids: ``(t,) int64``, the token ids of all windows, one behind the other.
            lengths: ``(n,) int64``, how many tokens each window has.
            threads: the most threads that share the work.

        Returns:
            ``(n, hidden) float32`` of unit length, unless pooling is ``unscaled``. The same window gives the same bits,
            whatever it is embedded with; with bytes, on every instruction set.

        Raises:
            TypeError: The arrays have another type or number of dimensions.
            ValueError: The lengths do not add up, a window is empty or longer than the model's positions, or a token
                is outside the vocabulary.
        """

class Graph:
    """An undirected graph with weights; see `mnemic.algorithms.graph.mosaic`, which says what each call does.

    Each call releases the GIL. One that changes the graph while another thread is in a call raises RuntimeError, as
    does any while it is being changed. Arrays must be C-contiguous, and a TypeError says where one has another dtype or
    number of dimensions, an OverflowError where a seed or a number of iterations is negative or beyond 64 bits.
    """

    def __init__(
        self,
        keys: NDArray[np.uint64],
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> None:
        """Make a graph of keys ``(n,)`` and edges ``(m,)``, whose ends are positions in `keys`.

        Raises:
            ValueError: A key is there twice, lengths differ, or an end or a weight is none.
        """

    @property
    def nodes(self) -> int:
        """How many nodes there are."""

    @property
    def edges(self) -> int:
        """How many edges there are, loops included."""

    def keys(self) -> NDArray[np.uint64]:
        """Of all nodes, ``(n,)``, in the order in which they were added: the rows."""

    def add_nodes(self, keys: NDArray[np.uint64]) -> None:
        """Add nodes, ``(k,)``.

        Raises:
            ValueError: A key is there already, or twice; nothing is added.
        """

    def remove_nodes(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Remove nodes, ``(k,)``; returns the keys of their neighbours, ascending.

        Raises:
            ValueError: A key is no node; nothing is removed.
        """

    def set_edges(
        self, sources: NDArray[np.uint64], targets: NDArray[np.uint64], weights: NDArray[np.float64]
    ) -> NDArray[np.uint64]:
        """Set the weights of edges ``(m,)``, by keys; returns the keys of the ends of those that changed, ascending.

        Raises:
            ValueError: Lengths differ, a key is no node, or a weight is none; nothing is set.
        """

    def detect(self, resolution: float, seed: int, iterations: int) -> NDArray[np.int64]:
        """Find communities; returns labels ``(n,)``.

        Raises:
            ValueError: The resolution is out of its range.
        """

    def update(
        self,
        previous: NDArray[np.int64],
        changed: NDArray[np.uint64],
        resolution: float,
        seed: int,
        iterations: int,
    ) -> NDArray[np.int64]:
        """Bring labels ``(n,)``, negative for new nodes, up to date after the nodes ``(k,)`` changed.

        Raises:
            ValueError: There are other numbers of labels and nodes, or the resolution is out of its range.
        """

    def quality(self, labels: NDArray[np.int64], resolution: float) -> float:
        """The quality of labels ``(n,)``.

        Raises:
            ValueError: As for `update`.
        """

    def pagerank(
        self, seeds: NDArray[np.uint64], weights: NDArray[np.float64], damping: float, epsilon: float
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Personalised PageRank: keys and probabilities ``(r,)``, the most probable first.

        Raises:
            ValueError: The lengths differ, a seed is no node, or a number is out of its range.
        """

class InvertedIndex:
    """Where each term occurs; see `mnemic.algorithms.retrieval.inverted_index`. One thread at a time may append."""

    def __init__(self) -> None:
        """An empty one."""

    @property
    def documents(self) -> int:
        """How many documents were appended."""

    @property
    def checksum(self) -> int:
        """The sum over all documents of ``2 row + 1`` times their codes, read as one number modulo 2**61 - 1; modulo
        2**62.
        """

    def append(self, rows: NDArray[np.int64], ends: NDArray[np.int64], codes: bytes) -> None:
        """Append documents, the GIL released.

        Args:
            rows: ``(m,) int64``, the number of each for the checksum.
            ends: ``(m,) int64``, where in `codes` each one's terms end.
            codes: of each term its number, six bytes, the low one first, and one for how often it occurs; of one that
                stands twice the counts add up. What is left of a document behind whole terms does not count.

        Raises:
            TypeError: An array has another type or number of dimensions.
            ValueError: There are other numbers of rows and ends, or the ends do not rise to the number of bytes, or an
                array is not contiguous, or there would be more than 2**31 documents.
        """

    def postings(self, terms: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Find where any of some terms occurs, the GIL released.

        Returns:
            Positions, ascending, and how often all of the terms together occur there, ``(m,)`` each.

        Raises:
            OverflowError: A number is negative or beyond 64 bits.
        """

    def counts_at(self, words: Sequence[Sequence[int]], positions: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Count any of the terms of each word in some documents, the GIL released.

        Returns:
            ``(words, m) uint32``; 0 for a position that is none.

        Raises:
            TypeError, ValueError, OverflowError: As for `append` and `postings`.
        """

    def search(
        self,
        words: Sequence[Sequence[int]],
        visible: NDArray[np.bool_],
        k1: float,
        lengths: NDArray[np.int64],
        groups: NDArray[np.int64] | None,
        group_count: int,
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.int64],
        list[tuple[NDArray[np.int64], NDArray[np.float32]]],
        NDArray[np.float64],
        NDArray[np.bool_],
    ]:
        """Score a question by BM25 without correction for length, the GIL released.

        Args:
            words: of each word the numbers of its terms.
            visible: ``(n,) bool``: the other documents neither score nor count.
            k1: saturation.
            lengths: ``(n,) int64``, how many words each document holds.
            groups: ``(n,) int64``, the group of each; ``None`` to ask for none.
            group_count: how many groups there are.

        Returns:
            Scores ``(n,)``; how many visible documents hold each word, ``(words,)``; of each word the groups that hold
            it, ascending, and how often, ``(m,)`` each; how many words each group's visible documents hold, ``(g,)``,
            and whether it has one, ``(g,)``. Without groups the last three are empty.

        Raises:
            TypeError: As for `append`.
            ValueError: A length is not the number of documents, the group of a visible document is none, or an array is
                not contiguous.
        """

class Planes:
    """Hyperplanes through the origin, laid out for projections; any thread may use them."""

    def __init__(self, normals: NDArray[np.int8]) -> None:
        """Lay out ``(D, d) int8``, C-contiguous, each value 1 or -1; the GIL released. Nothing of them is kept.

        Raises:
            TypeError: The array has another type or number of dimensions.
            ValueError: D is no multiple of 64, or 0, or d is 0, or a value is another, or it is not contiguous.
        """

    def project(self, embeddings: NDArray[np.int8], tie: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Say on which side of each plane each embedding lies, the GIL released.

        Args:
            embeddings: ``(n, d) int8``.
            tie: ``(D / 64,) uint64``, the bits of an embedding that lies in a plane.

        Returns:
            ``(n, D / 64) uint64``; the same bits on every instruction set.

        Raises:
            TypeError, ValueError: As for `bind_bits`.
        """

def bind_bits(vectors: NDArray[np.uint64], others: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Write the exclusive or of hypervectors with as many others, or of each with one, the GIL released.

    This and the other functions for bits take their arrays C-contiguous; `mnemic.hd.algebra` says what they mean.

    Args:
        vectors: ``(n, w) uint64``.
        others: ``(n, w)`` or ``(1, w) uint64``.
        out: ``(n, w) uint64``.

    Raises:
        TypeError: The arrays have another type or number of dimensions, or `out` is one of the others.
        ValueError: The shapes disagree, w is 0, or an array is not C-contiguous.
    """

def bind_groups(
    vectors: NDArray[np.uint64], offsets: NDArray[np.int64], rows: NDArray[np.int64] | None = None
) -> NDArray[np.uint64]:
    """Bind the rows of each group with each other, the GIL released; an empty group gives zeros.

    Args:
        vectors: ``(n, w) uint64``.
        offsets: ``(g + 1,) int64``, rising from 0 to the number of members: group i is from ``offsets[i]`` on.
        rows: the members, ``(m,) int64``, each a row of `vectors`; ``None``: all of these, in order.

    Returns:
        ``(g, w) uint64``.

    Raises:
        TypeError: As for `bind_bits`.
        ValueError: As for `bind_bits`, or the offsets do not rise so, or a member is no row.
    """

def bundle_bits(vectors: NDArray[np.uint64], tie: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Take the bits that most rows of ``(n, w) uint64`` have; where it is half of them, those of `tie`.

    Args:
        vectors: ``(n, w) uint64``.
        tie: ``(w,) uint64``.

    Returns:
        ``(w,) uint64``.

    Raises:
        TypeError, ValueError: As for `bind_bits`.
    """

def bundle_groups(
    vectors: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    ties: NDArray[np.uint64],
    rows: NDArray[np.int64] | None = None,
) -> NDArray[np.uint64]:
    """Bundle the rows of each group, as `bundle_bits` does, the GIL released.

    Args:
        vectors, offsets, rows: as for `bind_groups`.
        ties: ``(g, w) uint64``.

    Returns:
        ``(g, w) uint64``.

    Raises:
        TypeError, ValueError: As for `bind_groups`.
    """

def code_neighbours(
    codes: NDArray[np.int8],
    scales: NDArray[np.float32],
    groups: NDArray[np.int32],
    rows: NDArray[np.int64],
    k: int,
    bounds: NDArray[np.float32] | None,
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Find the nearest others of some rows, each within its group, the GIL released.

    Args:
        codes: ``(n, d) int8``, C-contiguous, as are all arrays.
        scales: ``(n,) float32``, 0 to 1.
        groups: ``(n,) int32``; negative: the row is not there.
        rows: ``(q,) int64``, which rows are asked for.
        k: from 0.
        bounds: ``(n,) float32``, above which cosine a row that is not asked for is a hit of a query; ``None``: no hits.
        threads: the most threads that share the work.

    Returns:
        Neighbours ``(q, k) int64``, -1 where there are fewer, by cosine, then by row; their cosines ``(q, k) float32``,
        0 where there are fewer; of each hit the query, counted from 0, the row, and the cosine, ``(m,)`` each, by row,
        then by query. The same bits on every instruction set and on however many threads.

    Raises:
        TypeError: The arrays have another type or number of dimensions.
        ValueError: Shapes disagree, an array is not contiguous, there are more than 65,536 dimensions, a scale is not
            within 0 to 1, there is no such row, or a code of one asked for is -128.
        OverflowError: `k` or `threads` is negative.
        MemoryError: There is no room for so many neighbours.
    """

def count_bits(vectors: NDArray[np.uint64], weight: int, counters: NDArray[np.int32]) -> None:
    """Add to each counter in how many rows its bit is set, times the weight, the GIL released.

    Args:
        vectors: ``(n, w) uint64``.
        weight: in int32.
        counters: ``(64 w,) int32``, changed in place.

    Raises:
        TypeError: As for `bind_bits`, or another call is counting in these counters.
        ValueError: As for `bind_bits`, or a counter might leave int32.
        OverflowError: The weight is beyond int32.
    """

def hamming_distances(vectors: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Measure the Hamming distance of each row of ``(n, w) uint64`` from ``(w,) uint64``, the GIL released.

    Returns:
        ``(n,) int64``.

    Raises:
        TypeError, ValueError: As for `bind_bits`.
    """

def hamming_distances_of(vectors: NDArray[np.uint64], queries: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Measure the Hamming distance of each row of ``(n, w)`` from each of ``(q, w) uint64``, the GIL released.

    Returns:
        ``(n, q) int32``; each row is read once.

    Raises:
        TypeError, ValueError: As for `bind_bits`.
    """

def hamming_nearest(
    vectors: NDArray[np.uint64], query: NDArray[np.uint64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the `k` rows nearest to the query, the GIL released.

    Args:
        vectors: ``(n, w) uint64``.
        query: ``(w,) uint64``.
        k: from 0.

    Returns:
        Rows and distances, ``(m,) int64`` each, by distance, then by row.

    Raises:
        TypeError, ValueError: As for `bind_bits`.
        OverflowError: `k` is negative or beyond 64 bits.
    """

def instruction_set() -> str:
    """Name the code path in use: ``avx512``, ``avxvnni``, ``avx2`` or ``portable``."""

def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Make each row's codes and scale, the GIL released.

    Args:
        vectors: ``(n, d) float32``, C-contiguous.

    Returns:
        Codes ``(n, d) int8``, -127 to 127, and scales ``(n,) float32``; the same bits on every instruction set.

    Raises:
        TypeError: The array has another type or number of dimensions.
        ValueError: It is not contiguous, or a value is not finite.
        MemoryError: There is no room for the codes.
    """

def score_vectors(
    vectors: NDArray[np.float32],
    codes: NDArray[np.int8],
    scales: NDArray[np.float32],
    query: NDArray[np.float32],
    allowed: NDArray[np.uint64] | None,
    exact: int,
) -> NDArray[np.float32]:
    """Score each allowed row by the inner product of the codes, and the best of them exactly, the GIL released.

    Args:
        vectors: ``(n, d) float32``, C-contiguous, as are all arrays.
        codes: ``(n, d) int8``, and
        scales: ``(n,) float32``, as `quantise` gives them.
        query: ``(d,) float32``.
        allowed: ``(ceil(n / 64),) uint64``: bit ``row % 64`` of word ``row // 64``; ``None`` allows all rows.
        exact: how many of the best are scored exactly; all that tie with the last of them by the codes are, too.

    Returns:
        ``(n,) float32``, NaN for rows that are not allowed. What the codes give is never above the least exact score,
        and else the same bits on every instruction set; an exact score depends on its row and the query alone.

    Raises:
        TypeError: The arrays have another type or number of dimensions.
        ValueError: Shapes disagree, an array is not contiguous, there are more than 65,536 dimensions, or the query
            or a score is not finite.
        OverflowError: `exact` is negative.
    """

def majority_bits(counters: NDArray[np.int32], total: int, tie: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Take the bits whose counters are over half of `total`, and where they are half of it those of `tie`.

    Args:
        counters: ``(64 w,) int32``.
        total: in int32.
        tie: ``(w,) uint64``.

    Returns:
        ``(w,) uint64``.

    Raises:
        TypeError, ValueError: As for `bind_bits`.
        OverflowError: The total is beyond int32.
    """

def rotate_bits(vectors: NDArray[np.uint64], shift: int, out: NDArray[np.uint64]) -> None:
    """Write the rows of ``(n, w) uint64`` with bit i moved to bit ``(i + shift) % (64 w)``, the GIL released.

    Args:
        vectors: ``(n, w) uint64``.
        shift: in int64.
        out: ``(n, w) uint64``.

    Raises:
        TypeError, ValueError: As for `bind_bits`.
        OverflowError: The shift is beyond int64.
    """
