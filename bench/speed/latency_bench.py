"""The latency bench: recalls with meaning on minds of several sizes, beside what else finds texts and vectors.

Each mind is written through the store itself, bound by the Binder, and asked in a process of its own
(`mnemic.bench.speed.latency.mind`), through the actors as `mnemic.open` asks them. Its texts are LoCoMo's turns where
the file is given, else drawn ones whose words come as often as Zipf has them. Its vectors crowd around the embeddings
of some of these texts, since to embed them all takes minutes; questions are embedded by the model itself. The
competitors find the same questions among the same texts and vectors.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec
import numpy as np
import sqlite_vec
from numpy.typing import NDArray

from mnemic.actors.kernel.ports import Encoder
from mnemic.actors.log.changes import AddMemory
from mnemic.bench.harness.homes import (
    MIND_NAME,
    SyntheticCorpus,
    actors_of,
    bind_all,
    fill_home,
    store_of,
    stored_texts,
)
from mnemic.bench.harness.measure import Row, goal, milliseconds, quantiles, skipped
from mnemic.bench.harness.mem0 import mem0 as filled_mem0
from mnemic.bench.harness.palace import check_installed
from mnemic.bench.harness.palace import mempalace as mined_palace
from mnemic.bench.harness.plot import Line, draw_lines
from mnemic.bench.quality.locomo import convert, read_questions
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.models.models import default_model_folder
from mnemic.runtime.store.reader import open_reader

MILLION = 1_000_000
K = 10
QUESTIONS = 120
"""Of each kind; the first `WARM` are not counted."""
WARM = 20
GOAL_P95_MS = {1_000: 5.0, 10_000: 8.0, 100_000: 20.0, MILLION: 80.0}
GOAL_OPEN_S = {100_000: 2.0}
GOAL_RSS_MIB = {10_000: 200.0, 100_000: 450.0}
GOAL_DISK_BYTES = 4608.0  # 4.5 KB a memory, and its text
_MOST_BOUND = 100_000  # of more, to bind takes the better part of an hour
_CENTRES = 256  # texts that are embedded
_NEAR = 0.8  # a memory's cosine with the centre it is drawn around
_APART_US = 300_000_000  # between two memories: 100,000 of them are said in a year
_BUDGET_S = 5.0  # for the questions of one competitor
_FEWEST = 3
_MOST_MINED = 10_000
_TOO_LONG = f"it takes in more than {_MOST_MINED} texts for longer than a bench takes"
_TURNS = 100  # of a conversation

Floats = NDArray[np.float32]


class Corpus(SyntheticCorpus):
    """Texts that were given, or drawn ones; and vectors like those that they would have."""

    def __init__(self, seed: int, encoder: Encoder, turns: Sequence[str] = ()) -> None:
        super().__init__(seed)
        self._encoder, self._turns = encoder, turns
        self._centres = np.empty((0, 0), np.float32)

    def texts(self, count: int) -> list[str]:
        """So many turns; of more than there are, later ones have two words of another, so that none comes twice."""
        texts = super().texts(count) if not self._turns else [self._turn(number) for number in range(count)]
        chosen = self._random.choice(count, min(count, _CENTRES), replace=False)
        windows = [self._encoder.windows(texts[number], 1)[0][0] for number in chosen]
        self._centres = np.concatenate(
            [self._encoder.encode(windows[at : at + 16]) for at in range(0, len(windows), 16)]
        )
        return texts

    def vectors(self, count: int, dimensions: int) -> Floats:
        """``(count, dimensions) float32`` of unit length, around the embeddings of some of the texts."""
        around = self._centres[self._random.integers(0, len(self._centres), count)]
        drawn = _NEAR * around + np.sqrt(1 - _NEAR**2).astype(np.float32) * super().vectors(count, dimensions)
        unit: Floats = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype("<f4")
        return unit

    def _turn(self, number: int) -> str:
        text = self._turns[number % len(self._turns)]
        if number < len(self._turns):
            return text
        other = self._turns[int(self._random.integers(len(self._turns)))].split()
        return " ".join([text, *self._random.choice(other, min(2, len(other)), replace=False)])


class Asked(NamedTuple):
    """What all find the same questions in."""

    questions: list[str]
    """The questions."""
    vectors: Floats
    """``(questions, d)``: their embeddings."""
    texts: list[str]
    """Those of the `n` memories."""
    memories: Floats
    """``(n, d)``: their vectors."""


def run(
    *,
    memories: tuple[int, ...] = (1_000, 10_000, 100_000),
    million: bool = False,
    data: Path | None = None,
    plot: Path | None = None,
    seed: int = 0,
    mempalace: Path | None = None,
    mem0: Path | None = None,
) -> Iterator[Row]:
    """Measure a mind of each size.

    Args:
        mempalace: the interpreter of an environment with MemPalace in it, which is asked as well, of minds that it
            embeds within minutes.
        mem0: likewise of one with mem0.

    Raises:
        MnemicError: there is no model, or a home cannot be made.
        ValueError: a memory was not bound, or a process that asks has failed.
        OSError: there is no room, or the plot cannot be written.
    """
    competitors = COMPETITORS
    if mempalace is not None:
        check_installed()
        competitors += (partial(palace, mempalace),)
    encoder = load_encoder(None)
    if mem0 is not None:
        competitors += (partial(store, mem0, encoder),)
    turns = [str(turn["text"]) for turn in convert(data)] if data is not None else []
    rows: list[Row] = []
    for count in (*memories, *((MILLION,) if million else ())):
        with tempfile.TemporaryDirectory(prefix="mnemic-latency-") as folder:
            home = Path(folder)
            corpus = Corpus(seed, encoder, turns)
            texts = fill_home(home, count, seed=seed, encoder=encoder, corpus=corpus, dress=_dress)
            questions = SyntheticCorpus(seed).questions(texts, QUESTIONS) if data is None else _questions(data)
            for row in _measured(home, count, questions, encoder, competitors):
                rows.append({"what": row.pop("what"), "memories": count, **row})
                yield rows[-1]
    if plot is not None:
        draw_lines(plot, "milliseconds, 95th percentile", "memories", _lines(rows))


def _measured(
    home: Path, count: int, questions: list[str], encoder: Encoder, competitors: Sequence[Competitor]
) -> Iterator[Row]:
    bound = count <= _MOST_BOUND
    if bound:
        _bind(home, count)
    store = home / "minds" / MIND_NAME / "store.db"
    with store_of(home) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        said = int(connection.execute("SELECT sum(length(body)) FROM texts").get)
    for row in _asked(home, questions, bound=bound):
        limits = {"open": GOAL_OPEN_S, "recall": GOAL_P95_MS, "resident memory": GOAL_RSS_MIB}
        unit = {"open": "s", "recall": "p95_ms", "resident memory": "mib"}.get(row["what"])
        most = limits.get(row["what"], {}).get(count)
        yield row | (goal(unit, row[unit], most) if unit is not None and most is not None else {})
    each = (store.stat().st_size - said) / count
    yield {"what": "disk", "bytes": each, "of_a_text": said / count, "bound": bound} | goal(
        "bytes", each, GOAL_DISK_BYTES
    )
    given = _given(home, questions, encoder)
    for competitor in competitors:
        yield from competitor(given)


def _questions(data: Path) -> list[str]:
    questions = [one.text for one in read_questions(data)]
    return questions[:: max(1, len(questions) // QUESTIONS)][:QUESTIONS]


def _bind(home: Path, count: int) -> None:
    with actors_of(home) as actors:
        bind_all(actors)
    with store_of(home) as connection:
        there = int(connection.execute("SELECT count(*) FROM bound").get)
    if there != count:
        raise ValueError(f"{there} of {count} memories were bound")


def _asked(home: Path, questions: list[str], *, bound: bool) -> list[Row]:
    """What a process of its own measures, which has held nothing else in memory."""
    asked = {"home": str(home), "questions": questions, "warm": min(WARM, len(questions) - 1), "kept": bound}
    done = subprocess.run(
        [sys.executable, "-m", "mnemic.bench.speed.latency.mind"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ValueError(f"the process that asks failed: {done.stderr.strip().splitlines()[-1]}")
    rows: list[Row] = json.loads(done.stdout)
    return rows


def _dress(memory: AddMemory, number: int) -> AddMemory:
    """Said so far apart that a mind spans a year or so; they come a second apart."""
    assert memory.said_at is not None
    return msgspec.structs.replace(memory, said_at=memory.said_at - (_APART_US - 1_000_000) * (MILLION - number))


def _given(home: Path, questions: list[str], encoder: Encoder) -> Asked:
    folder, keys = open_mind(home, MIND_NAME)
    with closing(open_reader(folder.store, keys)) as reader, reader.snapshot() as snapshot:
        memories = snapshot.vectors(snapshot.encoders()[0], 0).vectors
    vectors = np.concatenate([encoder.encode(encoder.windows(one, 1, is_question=True)[0]) for one in questions])
    return Asked(questions, vectors, [text.decode() for text in stored_texts(home)], memories)


# --- competitors -----------------------------------------------------------------------------------------------------


class Fts5:
    """A plain full-text index of SQLite's in memory."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter unicode61')")
        with self._connection:
            self._connection.executemany("INSERT INTO t(text) VALUES(?)", ((text,) for text in texts))

    def find(self, question: str) -> list[Any]:
        """The rows that hold any of the words, best first, by SQLite's own BM25."""
        words = "".join(sign if sign.isalnum() else " " for sign in question).split()
        match = " OR ".join(f'"{word}"' for word in words)
        ranked = f"SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT {K}"
        return self._connection.execute(ranked, (match,)).fetchall()

    def close(self) -> None:
        """Let go of it."""
        self._connection.close()


def fts5(given: Asked) -> Iterator[Row]:
    """Any of the words, by SQLite's own BM25."""
    with closing(Fts5(given.texts)) as index:
        yield _times("competitor: SQLite FTS5, words alone", index.find, given.questions)


def vec(given: Asked) -> Iterator[Row]:
    """The nearest vectors, by sqlite-vec."""
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    size = given.memories.shape[1]
    connection.execute(f"CREATE VIRTUAL TABLE v USING vec0(of float[{size}] distance_metric=cosine)")
    with connection:
        connection.executemany(
            "INSERT INTO v(rowid, of) VALUES(?, ?)", ((row, one.tobytes()) for row, one in enumerate(given.memories))
        )

    def find(vector: Floats) -> list[Any]:
        found = f"SELECT rowid FROM v WHERE of MATCH ? AND k = {K}"
        return connection.execute(found, (vector.tobytes(),)).fetchall()

    yield _times("competitor: sqlite-vec, meaning alone, embedded before", find, given.vectors)
    connection.close()


def numpy(given: Asked) -> Iterator[Row]:
    """The nearest vectors, by a product of matrices."""

    def find(vector: Floats) -> NDArray[np.int64]:
        products = given.memories @ vector
        best = np.argpartition(-products, min(K, len(products) - 1))[:K]
        return best[np.argsort(-products[best])]

    yield _times("competitor: NumPy, meaning alone, embedded before", find, given.vectors)


def palace(python: Path, given: Asked) -> Iterator[Row]:
    """MemPalace, which mines the texts as conversations; its searches embed the question, as a recall does."""
    about = "competitor: MemPalace, union"
    if len(given.texts) > _MOST_MINED:
        yield {"what": "find"} | skipped(about, _TOO_LONG)
        return
    for padded in (True, False):
        with (
            tempfile.TemporaryDirectory(prefix="mnemic-palace-") as folder,
            mined_palace(python, default_model_folder(), _turns(given), Path(folder), padded=padded) as mined,
        ):
            of = about + (", as it ships" if padded else ", questions and texts without padding")
            yield _times(of, lambda question: mined.search(question, None, K, "union"), given.questions)


def store(python: Path, encoder: Encoder, given: Asked) -> Iterator[Row]:
    """mem0, which keeps the texts as they are; its searches embed the question, as a recall does."""
    about = "competitor: mem0, infer=False"
    if len(given.texts) > _MOST_MINED:
        yield {"what": "find"} | skipped(about, _TOO_LONG)
        return
    with (
        tempfile.TemporaryDirectory(prefix="mnemic-mem0-") as folder,
        filled_mem0(python, encoder, _turns(given), Path(folder)) as filled,
    ):
        yield _times(about, lambda question: filled.search(question, None, K), given.questions)


def _turns(given: Asked) -> list[dict[str, Any]]:
    """The texts as turns of conversations."""
    return [
        {
            "session": f"s{number // _TURNS}",
            "id": str(number),
            "scope": "all",
            "role": ("user", "assistant")[number % 2],
            "said_at": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z",
            "text": text,
        }
        for number, text in enumerate(given.texts)
    ]


Competitor = Callable[[Asked], Iterator[Row]]
COMPETITORS: tuple[Competitor, ...] = (fts5, vec, numpy)
"""Each yields rows of the same questions; one that is not installed yields `mnemic.bench.harness.measure.skipped`."""


def _times(of: str, find: Callable[[Any], Any], asked: Sequence[Any] | Floats) -> Row:
    took: list[float] = []
    for number, one in enumerate(asked):
        taken = milliseconds(find, one)
        if number >= min(WARM, len(asked) - 1):
            took.append(taken)
        if sum(took) > 1e3 * _BUDGET_S and len(took) >= _FEWEST:
            break
    return {"what": "find", "of": of} | quantiles(took)


def _lines(rows: list[Row]) -> list[Line]:
    """The 95th percentile of each against the size."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if "p95_ms" in row:
            name = row["of"] if row["what"] == "find" else f"mnemic, {row['what']}"
            lines.setdefault(name, []).append((row["memories"], row["p95_ms"]))
    return [Line(name, points) for name, points in lines.items()]
