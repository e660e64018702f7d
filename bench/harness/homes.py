"""Generates synthetic homes for benches: a mind of any size in seconds, the same for the same seed.

To embed 10,000 texts takes the real model minutes, so the vectors are drawn, and only the words are real: what is
scanned, kept and paged is as large as it would be. Above stand the benches; below it the store itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec
import numpy as np

from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.ports import Encoder, Source
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import AddMemory
from mnemic.actors.meaning.changes import AddEncoder, AddVectors, EmbeddedWindows, EncoderName
from mnemic.actors.shape.messages import BindPending
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.actor_system import start_actor_system
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.store.reader import open_reader
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store

MemoryDecorator = Callable[[AddMemory, int], AddMemory]
"""Makes of a memory of plain words, the one of that number from 0, the one that is kept."""

MIND_NAME = "default"
"""The mind that benches fill and ask."""
BENCH_SCOPE = ScopeRef(path="bench", project=None, found="named")
"""The scope of all its memories."""
IDLE_SETTINGS = """\
[runtime]
sleep_after_s = 86400.0
idle_exit_s = 86400.0
[mcp]
allow = ["read-all", "write-all"]
"""
"""Settings of a home in which nothing happens unasked."""
_VOCABULARY = 4000
_SYLLABLES = tuple(a + b for a in "bdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "ol", "us"))
_TURN_WORDS = (12, 60)
_SESSION_TURNS = 40
_BATCH = 500
_BIND_TIMEOUT_S = 60.0


class SyntheticCorpus:
    """Texts and questions about them, all drawn from one seed; words come as often as Zipf has them."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        words = {"".join(self._random.choice(_SYLLABLES, self._random.integers(2, 5))) for _ in range(2 * _VOCABULARY)}
        self._words = np.array(sorted(words)[:_VOCABULARY])
        self._random.shuffle(self._words)
        share = 1.0 / np.arange(1, len(self._words) + 1)
        self._share = share / share.sum()

    def texts(self, count: int) -> list[str]:
        """So many turns of a conversation."""
        return [self._text(size) for size in self._random.integers(*_TURN_WORDS, count)]

    def questions(self, texts: list[str], count: int, words: int = 8) -> list[str]:
        """So many questions, each of words that one of the texts holds."""
        chosen = [texts[index].split() for index in self._random.integers(0, len(texts), count)]
        return [" ".join(self._random.choice(text, min(words, len(text)), replace=False)) for text in chosen]

    def vectors(self, count: int, dimensions: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        """``(count, dimensions) float32`` of unit length."""
        drawn = self._random.standard_normal((count, dimensions)).astype("<f4")
        unit: np.ndarray[Any, np.dtype[np.float32]] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit

    def _text(self, size: int) -> str:
        return " ".join(self._random.choice(self._words, size, p=self._share))


def fill_home(
    home: Path,
    memories: int,
    *,
    seed: int,
    encoder: Encoder | None,
    settings: str | None = None,
    projects: int = 1,
    dress: MemoryDecorator = lambda memory, _: memory,
    corpus: SyntheticCorpus | None = None,
) -> list[str]:
    """Make a home with a mind of so many memories; returns their texts, as they were before they were dressed.

    Args:
        encoder: whose vectors they pretend to have; where absent, they have none.
        settings: its ``mnemic.toml``; where absent, nothing happens unasked, and without an encoder words answer alone.
        projects: how many scopes they are in, each of as many in a row; where more than one, below that of
            `BENCH_SCOPE`.
        dress: gives each its kind, tool, files and so on, where they are to be more than turns.
        corpus: gives texts and vectors; one drawn from the seed where absent.

    Raises:
        MindExists: there is one already.
        DiskFull, StoreReadOnly: it cannot be written.
    """
    clock = SystemClock()
    create_mind(home, MIND_NAME, clock)
    if settings is None:
        settings = lexical_settings(home) if encoder is None else IDLE_SETTINGS
    (home / "mnemic.toml").write_text(settings, "utf-8")
    among = bench_scopes(projects)
    places = [among[number * projects // memories] for number in range(memories)]
    return extend_home(home, places, 0, encoder=encoder, dress=dress, corpus=corpus or SyntheticCorpus(seed))


def bench_scopes(projects: int) -> list[ScopeRef]:
    """The scopes of a home with so many projects: `BENCH_SCOPE`, or where there are more, as many below that."""
    if projects == 1:
        return [BENCH_SCOPE]
    return [msgspec.structs.replace(BENCH_SCOPE, path=f"{BENCH_SCOPE.path}/{number}") for number in range(projects)]


def extend_home(
    home: Path,
    places: Sequence[ScopeRef],
    known: int,
    *,
    encoder: Encoder | None,
    corpus: SyntheticCorpus,
    dress: MemoryDecorator = lambda memory, _: memory,
) -> list[str]:
    """Add memories to the mind of such a home, one in each of some places; returns their texts.

    Args:
        known: how many there are already.
        encoder, corpus, dress: as for `fill_home`.

    Raises:
        DiskFull, StoreReadOnly: it cannot be written.
    """
    clock, name = SystemClock(), None
    folder, keys = open_mind(home, MIND_NAME)
    texts = corpus.texts(len(places))
    store = Store.open(folder.store, keys)
    try:
        if encoder is not None:
            name = EncoderName(encoder.implementation, encoder.model)
            room: tuple[Change, ...] = (AddEncoder(encoder=name, dimensions=encoder.dimensions),)
            store.apply(room, at=clock.now_us(), key=b"bench/encoder", author="bench", run="bench")
        for start in range(0, len(places), _BATCH):
            part = slice(start, start + _BATCH)
            plain = _memories(texts[part], known + start, clock.now_us(), places[part])
            added = [dress(memory, number) for number, memory in enumerate(plain, known + start)]
            changes: list[Change] = [*added]
            if name is not None and encoder is not None:
                meanings = tuple(_meaning(one) for one in added)
                packed = corpus.vectors(len(added), encoder.dimensions).tobytes()
                changes.append(AddVectors(encoder=name, meanings=meanings, vectors=packed))
            key = b"bench/%d" % (known + start)
            store.apply(changes, at=clock.now_us(), key=key, author="bench", run="bench")
    finally:
        store.close()
    return texts


def lexical_settings(home: Path) -> str:
    """Settings of a home whose words answer alone, so that it is ready at once."""
    return f'{IDLE_SETTINGS}[embedder]\nmodel = "{home / "no model"}"\n'


@contextmanager
def actors_of(home: Path, clock: Clock | None = None) -> Iterator[Supervisor]:
    """The actors of a home, in this process, with its settings, by the system's clock or another; they read no
    transcripts.
    """

    def refuse(path: str, format: str) -> Source:
        raise ValueError("a bench captures by the command")

    folder, keys = open_mind(home, MIND_NAME)
    settings = load_settings(home / "mnemic.toml")
    actor_system = start_actor_system(folder, keys, settings, clock or SystemClock(), opener=refuse, code="bench")
    try:
        yield actor_system
    finally:
        actor_system.stop()


def bind_all(actors: Supervisor) -> None:
    """Have every memory bound that waits for it."""
    while actors.ask(BindPending(), _BIND_TIMEOUT_S).pending:
        pass


@contextmanager
def store_of(home: Path) -> Iterator[apsw.Connection]:
    """The sealed file of a home's memories, to be asked in SQL."""
    folder, keys = open_mind(home, MIND_NAME)
    with closing(connect(folder.store, keys)) as connection:
        yield connection


def stored_texts(home: Path) -> list[bytes]:
    """The text of every memory of a home that nobody serves."""
    folder, keys = open_mind(home, MIND_NAME)
    with closing(open_reader(folder.store, keys)) as reader, reader.snapshot() as snapshot:
        rows = [int(row) for row in snapshot.memory_columns(0).row]
        return [memory.data for memory in snapshot.load_memories(rows)]


def quick_check(home: Path) -> str:
    """What SQLite says of the store: ``ok``, or what is wrong with it."""
    with store_of(home) as connection:
        return "; ".join(str(row[0]) for row in connection.execute("PRAGMA quick_check").fetchall())


def _memories(texts: list[str], first: int, now_us: int, places: Sequence[ScopeRef]) -> Iterator[AddMemory]:
    for number, (text, place) in enumerate(zip(texts, places, strict=True), first):
        digest = hashlib.sha256(b"bench/%d" % number).digest()
        said_at = now_us - (1_000_000 - number) * 1_000_000
        yield AddMemory(
            id=(said_at // 1000).to_bytes(6, "big") + b"\x70" + digest[:1] + b"\x80" + digest[1:8],
            identity=digest,
            assistant="bench",
            session=f"session-{number // _SESSION_TURNS}",
            place=place,
            kind="turn",
            role="user" if number % 2 else "assistant",
            text=text.encode(),
            said_at=said_at,
        )


def _meaning(memory: AddMemory) -> EmbeddedWindows:
    size = len(memory.text)
    return EmbeddedWindows(memory=memory.id, spans=((0, size),), covered=size, total=size)
