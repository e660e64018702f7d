"""Encodes records, sets of role and filler pairs, as hypervectors; one encoder for each kind of filler.

``symbol``: names, unlike each other; ``path``: the same, in their own case. ``number``: levels of magnitudes. ``date``:
the nearer two days, the more alike. ``hour``, ``weekday``: circular. ``meaning``: projections of embeddings on random
hyperplanes. Further ones register by name. Below stand the codebook and the algebra; the Binder and the queries stand
above.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import ClassVar, Literal, NoReturn, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mnemic.hd.algebra import Algebra, default_algebra
from mnemic.hd.codebook import PathEncoder, SymbolEncoder, draw_bytes, draw_hypervector
from mnemic.hd.levels import DateEncoder, HourEncoder, NumberEncoder, WeekdayEncoder
from mnemic.hd.records import Pair, Record
from mnemic.hd.roles import role_named, unknown_role_error
from mnemic.hd.space import Space

MatchKind = Literal["exact", "near", "meaning"]

_LEVELS = 127
_MAX_CACHED_PAIRS = 8192
"""Bound pairs that are kept, the latest used ones: 11 MB."""
_BATCH_RECORDS = 1024
"""Records that are bundled at once: of a dozen pairs each, they take some 15 MB."""
_Key = tuple[str, str | int, int]
"""A role, a name or the number of an embedding in this batch, and a shift."""


class RoleEncoder(Protocol):
    """Makes hypervectors of the fillers of one role."""

    match: ClassVar[MatchKind]
    """How fillers are compared: the same or not, by how near they are, or by meaning."""

    def __init__(self, space: Space, namespace: str) -> None:
        """Make one; `namespace` is the role's own in the codebook."""

    @classmethod
    def canonical(cls, filler: str) -> str:
        """A filler in the one form in which it is kept; ValueError, with what is expected, where it is none."""

    def encode(self, fillers: Sequence[str]) -> NDArray[np.uint64]:
        """The hypervectors of canonical fillers, ``(n, space.words) uint64``."""


class NearEncoder(RoleEncoder, Protocol):
    """One whose fillers are compared by how near they are."""

    def similarities(self, fillers: Sequence[str], filler: str) -> NDArray[np.float64]:
        """How similar the hypervectors of canonical fillers are to that of one, but for chance: ``(n,)``, 0 to 1."""


class Projection:
    """The planes of one space, for embeddings of `space.embedding_dimensions` components.

    Each bit says on which side of one plane through the origin an embedding lies. Two embeddings at an angle a differ
    in a bit with probability a / pi, so that the similarity of their codes is ``1 - 2 a / pi``, give or take
    ``1 / sqrt(dimensions)``. The planes' normals are of +1 and -1 instead of Gaussian, which needs no floating point:
    an embedding is rounded to 8 bits first, and sums of integers are the same on any machine, in any order.

    Charikar 2002, "Similarity estimation techniques from rounding algorithms"; Achlioptas 2003, "Database-friendly
    random projections". What is lost: for embeddings with nearly all their weight in one or two components the law does
    not hold.
    """

    def __init__(self, space: Space) -> None:
        """Draw them.

        Raises:
            ValueError: the space has no model, and so no embeddings.
        """
        if space.embedding_dimensions <= 0:
            raise ValueError("this space has no model: embeddings cannot be bound in it; make one with a model")
        self.space = space
        count = space.dimensions * space.embedding_dimensions
        drawn = np.frombuffer(draw_bytes(space, "plane", str(space.embedding_dimensions), (count + 7) // 8), np.uint8)
        signs = np.unpackbits(drawn, count=count, bitorder="little").view(np.int8)
        signs *= 2  # in place: copies of 4 MB cost more than what is done to them
        signs -= 1
        self.planes: NDArray[np.int8] = signs.reshape(space.dimensions, space.embedding_dimensions)
        """``(space.dimensions, space.embedding) int8``, of -1 and +1."""
        self.tie = draw_hypervector(space, "plane", "tie")
        """``(space.words,) uint64``: the bits of embeddings that lie in a plane."""

    def project(self, embeddings: NDArray[np.float32], algebra: Algebra) -> NDArray[np.uint64]:
        """Project embeddings, ``(n, space.embedding) float32`` of any length, to ``(n, space.words) uint64``.

        Raises:
            ValueError: the shape is another, or a component is not finite.
        """
        if embeddings.ndim != 2 or embeddings.shape[1] != self.space.embedding_dimensions:
            raise ValueError(f"embeddings must be (n, {self.space.embedding_dimensions}), not {embeddings.shape}")
        return algebra.project(quantise(embeddings), self.planes, self.tie)


class MeaningEncoder:
    """Of roles that are filled with embeddings, which have no names."""

    match: ClassVar[Literal["exact", "near", "meaning"]] = "meaning"

    def __init__(self, space: Space, namespace: str) -> None:
        """Keep nothing: all such roles are projected on the same planes, so that they can be compared."""

    @staticmethod
    def canonical(filler: str) -> str:
        """A text as it is, to be embedded.

        Raises:
            ValueError: it has no words.
        """
        if not filler.strip():
            raise ValueError("a text is expected, and there is none")
        return filler.strip()

    def encode(self, fillers: Sequence[str]) -> NoReturn:
        """Refuse: a text is embedded by the model, and then projected.

        Raises:
            ValueError: always.
        """
        raise ValueError("what is matched by meaning has no named fillers: embed the text and project that")


def quantise(embeddings: NDArray[np.float32]) -> NDArray[np.int8]:
    """Round embeddings to 8 bits by their largest component, ``(n, d)`` to ``(n, d) int8``, -127 to 127.

    The angle to what it was is about 0.4 degrees for 384 components; all-zero ones stay so.

    Raises:
        ValueError: a component is not finite.
    """
    if not np.isfinite(embeddings).all():
        raise ValueError("an embedding has components that are not finite: the model failed on this text")
    ends = embeddings.max(axis=1, keepdims=True, initial=0), embeddings.min(axis=1, keepdims=True, initial=0)
    largest = np.maximum(ends[0], -ends[1]).astype(np.float64)
    scales = np.divide(_LEVELS, largest, out=np.zeros_like(largest), where=largest > 0)
    scaled = embeddings * scales
    rounded: NDArray[np.int8] = np.rint(scaled, out=scaled).astype(np.int8)
    return rounded


ENCODERS: dict[str, type[RoleEncoder]] = {
    "symbol": SymbolEncoder,
    "path": PathEncoder,
    "number": NumberEncoder,
    "date": DateEncoder,
    "hour": HourEncoder,
    "weekday": WeekdayEncoder,
    "meaning": MeaningEncoder,
}
"""All encoders, by name."""


def register_encoder(name: str, encoder: type[RoleEncoder]) -> None:
    """Have a further encoder, for roles to name. It must give the same bits for ever: nothing tells when it changes.

    Raises:
        ValueError: there is one of that name, or it compares by nearness and does not say how near: `NearEncoder`.
    """
    if name in ENCODERS:
        raise ValueError(f"there is an encoder named {name!r} already; take another name")
    if encoder.match == "near" and not callable(getattr(encoder, "similarities", None)):
        raise ValueError(
            f"the encoder {name!r} compares by nearness: give it a method `similarities` that says how near"
        )
    ENCODERS[name] = encoder


def canonical(role: str, filler: str) -> str:
    """A filler as records hold it: of a symbol its words in lower case, of a date ``2026-05-01``, and so on.

    Raises:
        ValueError: there is no such role, or it is no filler of it; the message says what is expected.
    """
    return _encoder_of(role).canonical(filler)


def match_kind(role: str) -> MatchKind:
    """How fillers of a role are compared.

    Raises:
        ValueError: there is no such role.
    """
    return _encoder_of(role).match


def _encoder_of(name: str) -> type[RoleEncoder]:
    role = role_named(name)
    if role is None:
        raise unknown_role_error(name)
    if role.encoder not in ENCODERS:
        raise ValueError(f"the role {name} names no encoder: {role.encoder!r}; there are {', '.join(ENCODERS)}")
    return ENCODERS[role.encoder]


class RecordEncoder:
    """The encoders of one space. Not for use by two threads at once."""

    def __init__(self, space: Space, algebra: Algebra | None = None) -> None:
        """Make them; what they draw is drawn when it is needed.

        Args:
            algebra: the backend; the best for small batches unless one is given. The bits are the same with any.
        """
        self.space = space
        self.algebra = default_algebra() if algebra is None else algebra
        self._projection: Projection | None = None
        self._roles: dict[str, NDArray[np.uint64]] = {}
        self._encoders: dict[str, RoleEncoder] = {}
        self._pairs: OrderedDict[_Key, NDArray[np.uint64]] = OrderedDict()
        self._tie = draw_hypervector(space, "tie", "")

    def role_vector(self, name: str) -> NDArray[np.uint64]:
        """The hypervector of a role, ``(space.words,) uint64``.

        Raises:
            ValueError: it is not bound in this space.
        """
        if name not in self._roles:
            if name not in self.space.roles:
                raise unknown_role_error(name, self.space.roles)
            self._roles[name] = draw_hypervector(self.space, "role", name)
        return self._roles[name]

    def encode_fillers(self, role: str, fillers: Sequence[str]) -> NDArray[np.uint64]:
        """The hypervectors of canonical fillers, not bound to the role: what cleanup compares with.

        Returns:
            ``(n, space.words) uint64``.

        Raises:
            ValueError: there is no such role, its fillers are embeddings, or one is none of its fillers.
        """
        return self._encoder(role).encode(fillers)

    def similarities(self, role: str, fillers: Sequence[str], filler: str) -> NDArray[np.float64]:
        """How near canonical fillers of a role that compares by nearness are to one, ``(n,)``, 0 to 1.

        Raises:
            ValueError: as of `fillers`.
        """
        return cast(NearEncoder, self._encoder(role)).similarities(fillers, filler)

    def project_embeddings(self, embeddings: NDArray[np.float32]) -> NDArray[np.uint64]:
        """The projections of embeddings, ``(n, space.embedding) float32`` to ``(n, space.words) uint64``.

        Raises:
            ValueError: the space has no model, the shape is another, or a component is not finite.
        """
        if self._projection is None:
            self._projection = Projection(self.space)
        return self._projection.project(embeddings, self.algebra)

    def encode_pairs(self, pairs: Sequence[Pair]) -> NDArray[np.uint64]:
        """Each pair bound, and permuted by its shift, ``(n, space.words) uint64``.

        Raises:
            ValueError: as of `fillers`, `meanings` and `role`.
        """
        vectors, rows = self._bind_unique(pairs)
        return vectors[rows]

    def encode_records(self, records: Sequence[Record]) -> NDArray[np.uint64]:
        """Each record's hypervector, ``(n, space.words) uint64``: its pairs bundled; the order does not matter.

        Where as many pairs have a bit as have it not, the pairs themselves decide, all of them bound with each other
        and permuted: by one tie for all, the records of even length would lean to one side and look alike.

        Raises:
            ValueError: as of `pairs`.
        """
        codes = np.empty((len(records), self.space.words), np.uint64)
        for start in range(0, len(records), _BATCH_RECORDS):
            part = records[start : start + _BATCH_RECORDS]
            vectors, rows = self._bind_unique([pair for record in part for pair in record])
            offsets = np.cumsum([0, *map(len, part)], dtype=np.int64)
            whole = self.algebra.bind_groups(vectors, offsets, rows)
            ties = self.algebra.bind(self.algebra.permute(whole), self._tie)
            codes[start : start + _BATCH_RECORDS] = self.algebra.bundle_groups(vectors, offsets, ties, rows)
        return codes

    def _encoder(self, role: str) -> RoleEncoder:
        if role not in self._encoders:
            self._encoders[role] = _encoder_of(role)(self.space, f"filler {role}")
        return self._encoders[role]

    def _bind_unique(self, pairs: Sequence[Pair]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Each different pair bound, ``(u, words)``, and which of them each pair is, ``(p,)``."""
        places: dict[_Key, int] = {}
        rows: list[int] = []
        numbers: dict[bytes, int] = {}
        embeddings: list[NDArray[np.float32]] = []
        for role, filler, shift in pairs:
            if isinstance(filler, str):
                key: _Key = (role, filler, shift)
            else:  # each is projected once: a memory's own is that before and after its neighbours, too
                number = numbers.setdefault(filler.tobytes(), len(embeddings))
                if number == len(embeddings):
                    embeddings.append(filler)
                key = (role, number, shift)
            rows.append(places.setdefault(key, len(places)))
        vectors = np.empty((len(places), self.space.words), np.uint64)
        unknown: dict[tuple[str, int], list[_Key]] = {}
        for key, place in places.items():
            known = self._pairs.get(key)
            if known is None:
                unknown.setdefault((key[0], key[2]), []).append(key)
            else:
                vectors[place] = known
                self._pairs.move_to_end(key)
        projected = self.project_embeddings(np.stack(embeddings)) if embeddings else vectors[:0]
        for (role, shift), keys in unknown.items():
            bound = self.algebra.bind(self._encode_keys(role, keys, projected), self.role_vector(role))
            vectors[[places[key] for key in keys]] = bound = self.algebra.permute(bound, shift) if shift else bound
            if isinstance(keys[0][1], str):
                # Copies one by one, or the last of them that is kept would keep them all in memory.
                self._pairs.update((key, vector.copy()) for key, vector in zip(keys, bound, strict=True))
        while len(self._pairs) > _MAX_CACHED_PAIRS:
            self._pairs.popitem(last=False)
        return vectors, np.array(rows, np.int64)

    def _encode_keys(self, role: str, keys: Sequence[_Key], projected: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """What fills these pairs of one role, ``(n, words)``."""
        named = [filler for _, filler, _ in keys if isinstance(filler, str)]
        numbers = [filler for _, filler, _ in keys if isinstance(filler, int)]
        if match_kind(role) == "meaning" and not named:
            return projected[numbers]
        if match_kind(role) != "meaning" and not numbers:
            return self.encode_fillers(role, named)
        expected = "an embedding, and a name" if named else "a name, and an embedding"
        raise ValueError(f"the role {role} is filled with {expected} was given")
