"""A consolidator after J. S. Park et al., "Generative Agents: Interactive Simulacra of Human Behavior" (2023),
section 4, without a language model: importance, recency and relevance find a memory, and reflections sum up.

Nights are as Mnemic has them, without `strengths`, and with three stages more: `Importance` grades what was said,
`Reflections` cites what each stretch of a scope says again and again, and `RetrievalWeights` adds importance and
recency to the log-odds by which a recall, which knows the relevance, ranks a memory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.contract import Setting
from mnemic.actors.kernel.events import KINDS, to_text
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.sleep.changes import SourceSpan
from mnemic.actors.sleep.consolidator import ConsolidatorActor
from mnemic.actors.sleep.effects import MemoryWeight, RecallEffect, encode_effect
from mnemic.actors.sleep.stages import Derivation
from mnemic.actors.sleep.uses import Strengths
from mnemic.algorithms.retrieval.term_codes import CODE_BYTES
from mnemic.algorithms.sleep.digest import Sentence, covering_sentences, digest_sentences

THRESHOLD = Setting(
    "generative_agents.threshold", 150, "-", "A scope reflects once the importance of what is new exceeds this.", 1
)
DECAY = Setting(
    "generative_agents.decay", 0.995, "-", "What is left of a memory's recency after each hour.", 0.0, maximum=1.0
)
IMPORTANCE = Setting(
    "generative_agents.importance", 1.0, "log-odds", "From the least important memory to the most.", 0.0, maximum=1.0
)
RECENCY = Setting(
    "generative_agents.recency", 1.0, "log-odds", "From what is long past to what is new.", 0.0, maximum=1.0
)
LEAST, MOST = 1, 10
"""Importance, as the paper grades it."""
CITED = 2
"""What a memory that a reflection cites gains of it."""
STEPS = 8
"""Recency goes down in so many steps, so a memory's weight is derived so often at most, however many days pass."""
_BLOCK = 64  # rows
_BEFORE = 16  # blocks that a word may be rare among: what is forgotten changes no more than these
_READ = 8_192  # characters, of a reflection's bytes: of a longer text no more counts
_NEWEST = 100  # memories that a reflection looks at, as in the paper
_REFLECTION_BYTES = 600  # three to five sentences, as the paper has three questions and five insights
_DAY_US = 86_400_000_000
_SAID = [KINDS.index(kind) for kind in ("turn", "decision", "note")]
_GRADED = np.dtype([("row", "<i8"), ("importance", "<i8")])

_STANDING = re.compile(r"\b(?:always|never|from now on|no longer|decided|decision|agreed|must)\b", re.IGNORECASE)
_FEELING = re.compile(
    r"\b(?:I|we)(?:'m|'re)?\s(?:[\w']+\s){0,2}(?:love|like|hate|enjoy|prefer|miss|hope|wish|fear|feel|felt|afraid|glad"
    r"|happy|sad|sorry|worried|angry|excited|proud|tired)\b"
)
_NAME = re.compile(r"(?<=[a-z,;:]\s)[A-Z][a-z]+")
_NUMBER = re.compile(r"\d")
_encode = msgspec.msgpack.Encoder().encode


class Consolidator(ConsolidatorActor):
    """Nights as Mnemic has them, where the paper's weights stand in place of how often a memory was of use."""

    settings = (*ConsolidatorActor.settings, THRESHOLD, DECAY, IMPORTANCE, RECENCY)

    def stage_names(self) -> Sequence[str]:
        """What the settings name but `strengths`, then those of this module; `uses` stays, by which exams ask."""
        own = (f"{__name__}:{kind.__name__}" for kind in (Importance, Reflections, RetrievalWeights))
        return [*(name for name in super().stage_names() if name != Strengths.name), *own]


# --- decisions -------------------------------------------------------------------------------------------------------


def importance(text: str, rarity: float, role: str = "user", kind: str = "turn") -> int:
    """How important a memory is, from 1 to 10, by its words alone; of feelings, names and what stands, in English.

    It has 1, up to 3 for the rarity of its terms, 3 where it says what stands (a decision, always, never, from now on
    …), and 1 each where its user says what they feel, where it names somebody or something, and where it has a number.

    Args:
        rarity: of its terms, from 0 to 1; see `rarities`.
        role: who said it: an assistant that is happy to help feels nothing.
    """
    stands = kind == "decision" or _STANDING.search(text) is not None
    feels = role == "user" and _FEELING.search(text) is not None
    has = feels + (_NAME.search(text) is not None) + (_NUMBER.search(text) is not None)
    return LEAST + round(3 * rarity) + 3 * stands + has


def rarities(terms: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """How rare the terms of texts are among those that stand before them: ``(n,)``, from 0 for those that all have to 1
    for those that none has. What comes later changes nothing, as a memory is graded when it is written in the paper.

    Args:
        terms: ``(t,)``: numbers of the terms of one text after the other.
        sizes: ``(n,)``: how many each has.
    """
    text = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(terms, kind="stable")
    starts = np.flatnonzero(np.diff(terms[order], prepend=-1))
    holding = np.empty(len(terms), np.int64)  # how many texts before hold each
    holding[order] = np.arange(len(terms)) - np.repeat(starts, np.diff(starts, append=len(terms)))
    rare = np.log((text + 1) / (holding + 1)) / np.log1p(np.maximum(text, 1))
    mean = np.bincount(text, rare, len(sizes)) / np.maximum(sizes, 1)
    return np.clip(mean, 0.0, 1.0)  # a term that occurs more than 255 times stands again


def stretches(importances: Iterable[int], threshold: int) -> list[slice]:
    """Where a scope reflects: its memories in order, cut after each with which what is new exceeds a threshold. What
    comes later moves no cut; what is left at the end is in none.
    """
    found, start, new = [], 0, 0
    for stop, one in enumerate(importances, 1):
        new += one
        if new > threshold:
            found.append(slice(start, stop))
            start, new = stop, 0
    return found


# --- stages ----------------------------------------------------------------------------------------------------------


class Importance:
    """How important each memory is of what was said; a block of rows at a time."""

    name: ClassVar[str] = "importance"
    version: ClassVar[int] = 1

    def __init__(self) -> None:
        self._said: NDArray[np.int64] = np.empty(0, np.int64)

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All blocks of rows, each with the state of those before it among which its words may be rare."""
        columns = snapshot.memory_columns(0)
        hidden = np.concatenate((snapshot.retired().row, snapshot.superseded().old))
        self._said = columns.row[np.isin(columns.kind, _SAID) & ~np.isin(columns.row, hidden)]
        stamps = snapshot.row_blocks(_BLOCK)
        return {
            b"rows:%d" % block: b"".join(stamps.get(one, b"-") for one in range(block - _BEFORE, block + 1))
            for block in stamps
        }

    def read(self, key: bytes, snapshot: Snapshot) -> list[tuple[int, int]]:
        """Rows of a block, and how important each memory is."""
        block = int(key.partition(b":")[2])
        start, first, stop = (_BLOCK * one for one in (max(0, block - _BEFORE), block, block + 1))
        found = snapshot.memory_terms(start - 1, stop - start)
        codes = np.frombuffer(found.codes, np.uint8).reshape(-1, CODE_BYTES)
        numbers = np.zeros((len(codes), 8), np.uint8)
        numbers[:, : CODE_BYTES - 1] = codes[:, :-1]
        sizes = np.diff(found.end // CODE_BYTES, prepend=0)
        is_said = np.isin(found.row, self._said) & (found.row < stop)
        terms = numbers.view("<i8").ravel()[np.repeat(is_said, sizes)]
        rows, rare = found.row[is_said], rarities(terms, sizes[is_said])
        own = rows >= first
        memories = snapshot.load_memories(rows[own].tolist())
        return [
            (row, importance(one.text[:_READ], by, one.role, one.kind))
            for row, by, one in zip(rows[own].tolist(), rare[own].tolist(), memories, strict=True)
        ]

    def plan(self, state: Sequence[tuple[int, int]]) -> Derivation:
        """Their importance."""
        return Derivation(np.array(state, _GRADED).tobytes(), tuple(SourceSpan(row, 0, 0) for row, _ in state))


class _Stretch(NamedTuple):
    """What a reflection is made of."""

    graded: NDArray[Any]
    """Rows of its memories with their importance."""
    rows: Sequence[int]
    """Those that it looks at."""
    sentences: Sequence[Sentence]
    """What these say; `text` of each is a place in `rows`."""


class Reflections:
    """What each stretch of a scope says again and again: places in memories, which it cites, and no words."""

    name: ClassVar[str] = "reflections"
    version: ClassVar[int] = 1
    settings: ClassVar[tuple[Setting, ...]] = (THRESHOLD,)

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._stretches: dict[bytes, NDArray[Any]] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls(settings[THRESHOLD.name])

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All stretches, scope by scope, in the order in which memories were kept."""
        graded = np.concatenate([np.empty(0, _GRADED), *_graded(snapshot).values()])
        graded.sort(order="row")
        columns = snapshot.memory_columns(0)
        scopes = columns.scope[np.searchsorted(columns.row, graded["row"])]
        self._stretches = {}
        for scope in np.unique(scopes).tolist():
            of = graded[scopes == scope]
            for number, stretch in enumerate(stretches(of["importance"].tolist(), self._threshold)):
                self._stretches[b"scope:%d:%d" % (scope, number)] = of[stretch]
        return {key: hashlib.sha256(of.tobytes()).digest()[:16] for key, of in self._stretches.items()}

    def read(self, key: bytes, snapshot: Snapshot) -> _Stretch:
        """The sentences of a stretch."""
        graded = self._stretches[key]
        rows = graded["row"][-_NEWEST:].tolist()
        return _Stretch(graded, rows, digest_sentences(map(to_text, snapshot.text_prefixes(rows, _READ))))

    def plan(self, state: _Stretch) -> Derivation:
        """What it says again and again; kept beside are how many memories it is of, and their importance."""
        chosen = [state.sentences[one] for one in covering_sentences(state.sentences, _REFLECTION_BYTES)]
        value = _encode((len(state.graded), int(state.graded["importance"].sum())))
        return Derivation(value, tuple(SourceSpan(state.rows[one.text], one.start, one.stop) for one in chosen))


class RetrievalWeights:
    """What importance and recency add to the log-odds that a memory answers: each by half of its setting at most, to
    either side, so that a weight lies between -1 and 1.

    Ages are whole days back from the day of the newest memory: while nothing is said, nothing fades.
    """

    name: ClassVar[str] = "retrieval-weights"
    version: ClassVar[int] = 1
    effect: ClassVar[RecallEffect] = "weigh"
    settings: ClassVar[tuple[Setting, ...]] = (DECAY, IMPORTANCE, RECENCY)

    def __init__(self, decay: float, by_importance: float, by_recency: float) -> None:
        self._decay, self._by_importance, self._by_recency = decay, by_importance, by_recency
        self._blocks: Mapping[bytes, NDArray[np.int64]] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls(*(settings[one.name] for one in cls.settings))

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """The blocks that are graded, each with the importance and the recency of its memories."""
        graded = _graded(snapshot)
        columns = snapshot.memory_columns(0)
        days = {key: columns.said_at[np.searchsorted(columns.row, of["row"])] // _DAY_US for key, of in graded.items()}
        newest = max((int(one.max()) for one in days.values() if len(one)), default=0)
        cited = [span.row for item in snapshot.derived(Reflections.name) for span in item.sources]
        self._blocks = {
            key: np.stack(
                (
                    of["row"],
                    np.minimum(of["importance"] + CITED * np.isin(of["row"], cited), MOST),
                    np.rint(STEPS * self._decay ** (24.0 * (newest - days[key]))).astype(np.int64),
                ),
                axis=1,
            )
            for key, of in graded.items()
        }
        return {key: hashlib.sha256(of.tobytes()).digest()[:16] for key, of in self._blocks.items()}

    def read(self, key: bytes, snapshot: Snapshot) -> NDArray[np.int64]:
        """Rows of a block, ``(n, 3)``, with the importance of each and its recency in steps."""
        return self._blocks[key]

    def plan(self, state: NDArray[np.int64]) -> Derivation:
        """Their weights."""
        rows, grades, steps = state.T
        weights = self._by_importance * ((grades - LEAST) / (MOST - LEAST) - 0.5)
        weights = weights + self._by_recency * (steps / STEPS - 0.5)
        return Derivation(
            encode_effect(tuple(MemoryWeight(weight=one) for one in weights.tolist())),
            tuple(SourceSpan(row, 0, 0) for row in rows.tolist()),
        )


def _graded(snapshot: Snapshot) -> dict[bytes, NDArray[Any]]:
    """Rows with their importance, by block."""
    return {key: np.frombuffer(one, _GRADED) for key, one in snapshot.derived_values(Importance.name).items()}
